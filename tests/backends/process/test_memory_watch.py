"""A real process that takes memory is measured with its children, and caught above a limit."""

import io
import os
import subprocess
import sys
import textwrap
import time

import pytest

from fitwithin.backends import OutOfMemory, _memory_use
from fitwithin.backends._memory_use import (
    MemoryWatch,
    find_descendants,
    read_exact_memory,
    read_memory_use,
    reset_peak,
)

MB = 1_000_000

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Talker:
    """A Python process that carries out one line of code after the other, and says when each is done."""

    def __init__(self):
        program = "import sys\nfor line in sys.stdin:\n    exec(line)\n    print(flush=True)"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self.process.pid
        self.do("")

    def begin(self, code):
        self.process.stdin.write(f"exec({textwrap.dedent(code)!r})\n")
        self.process.stdin.flush()

    def do(self, code):
        self.begin(code)
        self.process.stdout.readline()


@pytest.fixture
def talker():
    talker = Talker()
    yield talker
    with talker.process:
        talker.process.kill()


FORK = """
    import os, signal
    child = os.fork()
    if not child:
        signal.pause()
"""


def test_memory_that_is_written_to_counts(talker):
    before = read_memory_use(talker.pid).now

    talker.do("kept = b'x' * 50_000_000")

    assert 50 * MB <= read_memory_use(talker.pid).now - before < 60 * MB
    assert read_exact_memory(talker.pid) == pytest.approx(read_memory_use(talker.pid).now, rel=0.2)


@pytest.mark.parametrize(
    "status", [b"State:\tZ (zombie)\n", b"State:\tZ (zombie)\nVmRSS:\t0 kB\n"], ids=["Linux", "gVisor"]
)
def test_a_process_that_has_ended_has_no_memory(status, monkeypatch):
    monkeypatch.setattr(_memory_use, "open", lambda *_: io.BytesIO(status), raising=False)

    assert read_memory_use(1) is None


def test_a_mapped_file_does_not_count(talker, tmp_path):
    (tmp_path / "rows").write_bytes(b"x" * 50_000_000)
    before = read_memory_use(talker.pid)

    talker.do(
        f"""
        import mmap
        file = open({str(tmp_path / "rows")!r}, "rb")
        rows = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        sum(rows[::4096])
        """
    )

    after = read_memory_use(talker.pid)
    assert after.now - before.now < 10 * MB
    assert after.file_backed - before.file_backed >= 50 * MB


def test_what_came_and_went_between_two_looks_is_in_the_peak(talker):
    watch = MemoryWatch(talker.pid)
    watch.begin()

    talker.do("b'x' * 50_000_000")
    watch.look()

    assert 45 * MB <= watch.peak - watch.before < 70 * MB
    watch.begin()
    watch.look()
    assert watch.peak - watch.before < 10 * MB


def test_children_count(talker):
    watch = MemoryWatch(talker.pid)
    watch.begin()
    before = watch.peak
    code = "kept = b'x' * 50_000_000; print(flush=True); import time; time.sleep(600)"

    talker.do(
        f"""
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", {code!r}], stdout=subprocess.PIPE)
        child.stdout.readline()
        """
    )
    end = time.monotonic() + 5
    while watch.peak - before < 50 * MB and time.monotonic() < end:
        watch.look()

    assert len(find_descendants(talker.pid)) == 1
    assert watch.peak - before >= 50 * MB
    talker.do("child.kill()")


def test_pages_that_forked_children_share_count_once(talker):
    talker.do("kept = b'x' * 100_000_000")
    for _ in range(3):
        talker.do(FORK)

    watch = MemoryWatch(talker.pid, limit=200 * MB)
    watch.begin()

    assert len(find_descendants(talker.pid)) == 3
    assert watch.before is not None
    watch.look()
    with pytest.raises(OutOfMemory):
        MemoryWatch(talker.pid, limit=90 * MB).look()
    for child in find_descendants(talker.pid):
        os.kill(child, 9)


def test_a_process_that_is_gone_is_measured_as_nothing(talker):
    watch = MemoryWatch(talker.pid, limit=1)
    talker.process.kill()
    talker.process.wait()

    watch.begin()

    assert (watch.before, watch.peak) == (None, None)
    assert read_memory_use(talker.pid) is None
    assert read_exact_memory(talker.pid) == 0
    assert find_descendants(talker.pid) == []
    reset_peak(talker.pid)


def test_looks_come_closer_together_near_the_limit(talker):
    watch = MemoryWatch(talker.pid, limit=10_000 * MB)
    assert watch.look_seconds == pytest.approx(0.1)

    watch.limit = 300 * MB
    watch.begin()
    assert 0.005 < watch.look_seconds < 0.03
    assert MemoryWatch(talker.pid).look_seconds == pytest.approx(0.1)


def look_for_ever(watch):
    while True:
        time.sleep(watch.look_seconds)
        watch.look()


@pytest.mark.parametrize("size", [500 * MB, 3000 * MB])
def test_a_process_that_takes_memory_as_fast_as_it_can_is_caught_soon_after_the_limit(talker, size):
    limit = 200 * MB
    watch = MemoryWatch(talker.pid, limit)
    watch.begin()

    talker.begin(f"kept = b'x' * {size}; import time; time.sleep(600)")
    with pytest.raises(OutOfMemory) as caught:
        look_for_ever(watch)

    assert limit < caught.value.n_bytes < limit + 150 * MB
