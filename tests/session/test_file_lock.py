"""The lock beside a checkpoint."""

import os
import subprocess
import sys

import pytest

from fitwithin._session.file_lock import FileLock

HOLD = """
import sys
from pathlib import Path
from fitwithin._session.file_lock import FileLock
print(FileLock(Path(sys.argv[1])).acquire(), flush=True)
input()
"""


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path):
    path = tmp_path / "fit.ckpt"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout.readline().strip() == "True"
        lock = FileLock(path)
        assert not lock.acquire()
        holder.kill()
        holder.wait()

        assert lock.acquire()
    lock.release()
    assert not os.listdir(tmp_path)


def test_a_lock_that_was_released_twice_or_lost_its_folder_is_harmless(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    lock = FileLock(folder / "fit.ckpt")
    assert lock.acquire()
    os.unlink(folder / ".fit.ckpt.lock")
    folder.rmdir()

    lock.release()
    lock.release()


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        FileLock(tmp_path / "missing" / "fit.ckpt").acquire()
