"""The end of a process is seen, by a descriptor or by polling."""

import os
import subprocess
import sys

import pytest

from fitwithin.backends._process import parent_watch
from fitwithin.backends._process.parent_watch import ParentWatch


@pytest.fixture(params=["descriptor", "no pidfd_open", "refused"])
def system(request, monkeypatch):
    monkeypatch.setattr(parent_watch, "PARENT_POLL_SECONDS", 0.01)
    if request.param == "no pidfd_open":
        monkeypatch.delattr(os, "pidfd_open")
    if request.param == "refused":

        def refuse(pid):
            raise PermissionError

        monkeypatch.setattr(os, "pidfd_open", refuse)
    return request.param


def test_the_end_of_a_process_is_seen_before_it_is_reaped(system):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    watch = ParentWatch(process.pid)
    before = watch.has_ended(), len(watch.descriptors), watch.poll_seconds
    process.kill()

    watch.wait()

    assert before == ((False, 1, None) if system == "descriptor" else (False, 0, 0.01))
    assert watch.has_ended()
    watch.close()
    process.communicate()


def test_a_process_that_has_ended_before_is_seen_at_once(system):
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()

    watch = ParentWatch(process.pid)

    watch.wait()
    watch.close()
