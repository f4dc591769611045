"""Double: random rows, twice as many in each round."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.teachers import Deck, Double, Lesson


def lessons(teacher, size, seed=0, strata=None):
    """The rows of all lessons, and the stop reason."""
    taught = []
    requests = teacher.teach(Deck(size, np.random.default_rng(seed), strata))
    while len(taught) < 100:
        try:
            request = next(requests)
        except StopIteration as end:
            return taught, end.value
        assert isinstance(request, Lesson)
        taught.append(request.rows.tolist())
    raise AssertionError("lessons double, so there are fewer than 100")


@given(st.integers(1, 2000), st.integers(1, 100), st.integers(0, 2**32 - 1))
def test_lessons_double_until_they_hold_every_row(size, first, seed):
    taught, reason = lessons(Double(first=first), size, seed)

    sizes = [len(rows) for rows in taught]
    assert sizes == [min(first * 2**number, size) for number in range(len(sizes))]
    assert sorted(taught[-1]) == list(range(size))
    assert all(len(rows) < size for rows in taught[:-1])
    assert all(len(rows) == len(set(rows)) for rows in taught)
    assert reason == "all rows"


def test_a_lesson_begins_with_the_one_before():
    taught, _ = lessons(Double(first=10), 1000)

    assert all(larger[: len(smaller)] == smaller for smaller, larger in pairwise(taught))


def test_rows_are_random_and_depend_on_the_seed():
    assert lessons(Double(first=10), 1000, seed=1) == lessons(Double(first=10), 1000, seed=1)
    assert lessons(Double(first=10), 1000, seed=1) != lessons(Double(first=10), 1000, seed=2)


def test_a_first_size_below_one_is_a_fraction_of_the_pool():
    assert [len(rows) for rows in lessons(Double(), 10_000)[0]][:3] == [50, 100, 200]


def test_a_small_pool_is_taught_whole_at_once():
    assert lessons(Double(), 500) == ([list(range(500))], "all rows")


def test_the_first_lesson_holds_every_class():
    strata = np.array([0] * 990 + [1] * 10, dtype=np.uint8)

    taught, _ = lessons(Double(first=5), 1000, strata=strata)

    assert set(strata[taught[0]].tolist()) == {0, 1}


def test_the_last_model_is_returned():
    assert Double().returns == "last"


def test_an_invalid_first_size_is_refused():
    with pytest.raises(ValueError, match="first"):
        next(Double(first=-1).teach(Deck(1000, np.random.default_rng(0))))
