"""Cores are counted as the process may use them, and shared without overlap."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.cores import count_cores, count_jobs, divide_cores, share_cores


def test_none_is_one_learner_and_a_positive_number_is_taken_as_it_is():
    assert [count_jobs(n_jobs) for n_jobs in (None, 1, 7)] == [1, 1, 7]


def test_negative_numbers_count_from_the_cores_as_in_joblib():
    cores = count_cores()

    assert count_jobs(-1) == cores
    assert count_jobs(-2) == max(1, cores - 1)
    assert count_jobs(-1000) == 1


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True, [2]])
def test_anything_else_is_refused_with_what_came(n_jobs):
    with pytest.raises(ValueError, match=r"n_jobs must be None.*; got") as refusal:
        count_jobs(n_jobs)

    assert repr(n_jobs) in str(refusal.value)


@pytest.mark.skipif(sys.platform != "linux", reason="affinity is set by os.sched_setaffinity")
def test_cores_that_the_process_may_not_use_are_not_counted():
    program = (
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]);"
        "from fitwithin._core.cores import count_jobs; print(count_jobs(-1))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "1\n"


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 80))
def test_every_core_belongs_to_one_learner_and_every_learner_has_one(n_cores, n_usable, n_jobs):
    n_usable = min(n_usable, n_cores)

    shares = divide_cores(tuple(range(n_cores)), n_usable, n_jobs)

    used = [core for share in shares for core in share.cores]
    assert len(shares) == n_jobs
    assert set(used) == set(range(n_cores)) if n_jobs <= n_cores else set(used) <= set(range(n_cores))
    assert all(share.cores for share in shares)
    if n_jobs <= n_cores:
        assert len(used) == n_cores
    if n_jobs <= n_usable:
        assert sum(share.n_threads for share in shares) == n_usable
    else:
        assert {share.n_threads for share in shares} == {1}


def test_where_cores_have_no_numbers_only_threads_are_shared():
    assert [share.cores for share in divide_cores((), 4, 2)] == [(), ()]
    assert [share.n_threads for share in share_cores(1)] == [count_cores()]
