"""Memory limits as people write them, and the memory that a share is a share of."""

import math

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.memory_limit import available_memory, format_bytes, parse_memory_limit


@pytest.mark.parametrize(
    ("memory_limit", "n_bytes"),
    [
        (1, 1),
        (8_000_000_000, 8_000_000_000),
        (8e9, 8_000_000_000),
        (np.int64(7), 7),
        ("8GB", 8_000_000_000),
        ("8 gb", 8_000_000_000),
        (" 512MiB ", 512 << 20),
        ("1.5kB", 1500),
        ("2TiB", 2 << 40),
        ("100B", 100),
    ],
)
def test_bytes_and_texts_are_read(memory_limit, n_bytes):
    assert parse_memory_limit(memory_limit) == n_bytes
    assert type(parse_memory_limit(memory_limit)) is int


def test_a_share_is_of_the_available_memory():
    assert parse_memory_limit("50%") == int(available_memory() / 2)
    assert parse_memory_limit("100 %") == available_memory() <= psutil.virtual_memory().total


@pytest.mark.parametrize(
    "memory_limit",
    [
        0,
        -1,
        0.5,
        math.nan,
        math.inf,
        10**400,
        True,
        None,
        [8],
        "",
        "8",
        "8G",
        "8GBs",
        "-8GB",
        "0GB",
        "0%",
        "101%",
        "GB",
    ],
)
def test_anything_else_is_refused_with_what_is_accepted(memory_limit):
    with pytest.raises(ValueError, match=r'memory_limit must be .* "8GB" or "512MiB", or "50%"') as refused:
        parse_memory_limit(memory_limit)

    assert repr(memory_limit) in str(refused.value)


@given(st.integers(1, 10**15))
def test_a_written_size_is_close_to_the_size_and_can_be_read_again(n_bytes):
    assert parse_memory_limit(format_bytes(n_bytes)) == pytest.approx(n_bytes, rel=0.06)


def make_groups(root, *, cgroup, limits):
    """Write the files of the kernel below `root`."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(cgroup)
    for path, limit in limits.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{limit}\n")
    return root


def test_the_smallest_limit_on_the_way_up_counts(tmp_path):
    root = make_groups(
        tmp_path,
        cgroup="0::/a/b/c\n",
        limits={
            "sys/fs/cgroup/a/b/c/memory.max": "max",
            "sys/fs/cgroup/a/b/memory.max": 5_000_000,
            "sys/fs/cgroup/a/memory.max": 3_000_000,
            "sys/fs/cgroup/other/memory.max": 1_000,
        },
    )

    assert available_memory(root) == 3_000_000


def test_a_group_of_the_first_version_counts_too(tmp_path):
    root = make_groups(
        tmp_path,
        cgroup="5:cpu:/x\n4:memory:/jobs/7\n0::/\n",
        limits={
            "sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes": 9_223_372_036_854_771_712,
            "sys/fs/cgroup/memory/jobs/memory.limit_in_bytes": 4_000_000,
            "sys/fs/cgroup/cpu/x/memory.limit_in_bytes": 1_000,
        },
    )

    assert available_memory(root) == 4_000_000


@pytest.mark.parametrize("path", ["/docker/abc", "/", "/docker/abc/inner"])
def test_in_a_container_its_own_group_is_found(tmp_path, path):
    root = make_groups(
        tmp_path,
        cgroup=f"4:memory:{path}\n",
        limits={"sys/fs/cgroup/memory/memory.limit_in_bytes": 2_000_000},
    )

    assert available_memory(root) == 2_000_000


def test_without_groups_the_machine_counts(tmp_path):
    total = psutil.virtual_memory().total

    assert available_memory(tmp_path) == total
    assert available_memory(make_groups(tmp_path, cgroup="0::/\n", limits={})) == total
