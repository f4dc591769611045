"""Auto's trial: two lessons of the same size, one of them with mistakes."""

import numpy as np
import pytest

from fitwithin.teachers._auto.mistake_search import MistakeSearch
from fitwithin.teachers._auto.oversampling import compare_oversampling
from teacher_driver import a_state, cost_estimates, driven, every_fifth


def tried(state, alpha=0.2, *, hard_error=0.2, **price):
    """Run a trial whose first model is wrong on every fifth row, the second one on a fraction `hard_error`."""
    scored = []

    def answer(rows):
        scored.append(rows)
        # The search; validation, holdout and exam rows of the first model; the same of the second.
        return every_fifth(rows) if len(scored) <= 4 else rows * 7919 % 1000 < 1000 * hard_error

    driven(state.teach_and_validate(state.lesson))
    return driven(compare_oversampling(state, MistakeSearch(alpha)), answer, **price)


def test_both_lessons_have_the_same_size_and_contain_the_first_lesson():
    state = a_state(20_000)
    first = state.lesson

    plain, hard = tried(state).lessons

    assert len(plain) == len(hard) == len(np.unique(hard)) == 2000
    assert (plain[:250] == first).all()
    assert (hard[:250] == first).all()


def test_one_of_the_lessons_contains_mistakes():
    plain, hard = tried(a_state(20_000)).lessons

    others = np.setdiff1d(hard, plain)
    # Mistakes come by chance, so a few may be missing.
    assert 0.9 * 350 <= len(others) <= 350
    assert every_fifth(others).all()


def test_both_models_are_compared_on_the_same_rows_that_neither_was_taught():
    session = tried(a_state(20_000))

    one, other = (exam.rows for exam in session.exams if exam.purpose == "score")
    assert (one == other).all()
    assert not np.isin(one, np.concatenate(session.lessons)).any()


@pytest.mark.parametrize(("hard_error", "wins"), [(0.1, True), (0.2, True), (0.3, False)])
def test_emphasis_wins_unless_its_score_is_clearly_lower(hard_error, wins):
    assert tried(a_state(20_000), hard_error=hard_error).result is wins


@pytest.mark.parametrize("hard_error", [0.1, 0.3])
def test_the_next_lesson_starts_from_the_rows_of_the_winner_and_no_row_is_lost(hard_error):
    state = a_state(20_000)
    max_rows = state.max_rows

    session = tried(state, hard_error=hard_error)

    plain, hard = session.lessons
    assert set(state.lesson) == (set(plain) | set(hard) if session.result else set(plain))
    assert state.max_rows == max_rows
    assert len(np.unique(np.concatenate([state.lesson, state.deck.deal(20_000)]))) == max_rows


@pytest.mark.parametrize("size", [501, 1000, 3000])
def test_a_pool_that_is_too_small_for_a_trial_has_none_and_no_emphasis(size):
    state = a_state(size, first=min(250, size // 10))

    session = tried(state)

    assert session.result is False
    assert bool(session.asked) is (size // 6 - len(state.lesson) >= size // 10)


def test_a_learner_that_is_slow_on_the_first_lesson_has_no_trial():
    session = tried(a_state(20_000, costs=cost_estimates(100, lessons=[(250, 6.0)])))

    assert not session.asked
    assert session.result is False


def test_a_slower_learner_that_cannot_stop_early_has_a_smaller_trial():
    state = a_state(100_000, costs=cost_estimates(100, lessons=[(250, 0.5)]))

    plain, _ = tried(state).lessons

    assert 1000 < len(plain) < 5000


def test_with_alpha_0_the_two_lessons_are_the_same():
    plain, hard = tried(a_state(20_000), alpha=0.0).lessons

    assert set(plain) == set(hard)
