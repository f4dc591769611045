"""Auto's search for mistakes of the last model: how many rows it examines, and where the other rows go."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.teachers._auto.mistake_search import MistakeSearch
from teacher_driver import a_state, cost_estimates, driven


def search_mistakes(state, alpha, new, answer):
    return driven(MistakeSearch(alpha).find_mistakes(state, new), answer)


@given(
    st.floats(0, 1),
    st.integers(0, 3000),
    st.sampled_from([0, 1, 50, 200, 900, 1000]),
    st.integers(501, 4000),
    st.floats(0, 1),
)
def test_a_search_returns_mistakes_only_and_no_more_than_wanted_and_loses_no_row(alpha, new, wrong, size, error):
    state = a_state(size, first=50)
    state.error_rate = error
    before = state.deck.left

    search = search_mistakes(state, alpha, new, lambda rows: rows * 7919 % 1000 < wrong)

    mistakes = search.result
    assert (mistakes * 7919 % 1000 < wrong).all()
    assert len(np.unique(mistakes)) == len(mistakes) <= round(alpha * new)
    assert state.deck.left == before - len(mistakes)
    rest = state.deck.deal(size)
    assert len(np.unique(np.concatenate([rest, mistakes]))) == before


@given(st.floats(0, 1), st.integers(0, 10_000), st.floats(0, 1), st.floats(1e-6, 1))
def test_the_rows_to_examine_fit_in_the_deck_and_in_the_time(alpha, new, error, exam):
    state = a_state(costs=cost_estimates(10, exam=exam))
    state.error_rate = error

    rows = MistakeSearch(alpha).rows_to_examine(state, new)

    assert 0 <= rows <= min(4 * new, state.deck.left)
    assert state.costs.exam_seconds(rows) <= 0.35 * state.costs.seconds_left * (1 + 1e-9)


def test_the_rarer_mistakes_are_the_more_rows_are_examined():
    state, search, rows = a_state(), MistakeSearch(0.2), []

    for error in (0.5, 0.2, 0.1, 0.0):
        state.error_rate = error
        rows.append(search.rows_to_examine(state, 500))

    assert rows == [210, 525, 1050, 2000]


@pytest.mark.parametrize(("alpha", "new"), [(0.0, 500), (0.2, 0)])
def test_without_wanted_mistakes_there_is_no_exam(alpha, new):
    search = search_mistakes(a_state(), alpha, new, lambda rows: rows >= 0)

    assert not search.asked
    assert len(search.result) == 0


def test_a_search_in_a_model_without_mistakes_returns_none():
    state = a_state()

    search = search_mistakes(state, 0.2, 500, lambda rows: rows < 0)

    assert len(search.exams) == 1
    assert len(search.result) == 0
