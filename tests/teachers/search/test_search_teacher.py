"""The search on a fake clock: who is tried on what, who wins, and what a failing candidate costs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitwithin._core.exceptions import LearnerFailed
from fitwithin._pools.decks.deck import count_validation_rows
from fitwithin.teachers._search.shares import count_search_rows
from fitwithin.teachers._search.space import Choice, FloatRange, Space
from fitwithin.testing import FakeClock
from simulated_search import Simulated, run_search

SKILLS = Space({"skill": FloatRange(0.1, 0.9)}, {"skill": 0.1})


def test_better_settings_are_found_and_taught_more_rows_than_in_the_race():
    found = run_search([(Simulated(), SKILLS)])

    assert found.best.skill > 0.7
    assert found.best_rows > 50_000


def test_the_learners_own_settings_win_where_no_others_are_better():
    found = run_search([(Simulated(skill=0.9), Space({"skill": FloatRange(0.1, 0.6)}, {"skill": 0.1}))], limit=10.0)

    assert found.best.skill == 0.9
    assert found.best_rows > 50_000


def test_settings_that_are_ahead_by_chance_on_few_rows_do_not_take_the_place_of_the_learners_own():
    same = Space({"trouble": Choice((None, "none", "nothing", "no"))}, {"trouble": None})

    won = [run_search([(Simulated(), same)], pool_size=700, seed=seed).returned.has_own_settings for seed in range(10)]

    assert all(won)


def test_the_winner_gets_at_least_four_tenths_of_the_time():
    found = run_search([(Simulated(cost=200.0), SKILLS)], limit=20.0)

    last = found.lessons[-1].candidate.number
    assert found.seconds_of[last] >= 0.35 * 20.0


def test_candidates_are_tried_on_the_same_growing_subsets_with_growing_validation_rows():
    found = run_search([(Simulated(), SKILLS)])

    subsets = {}
    for lesson in found.lessons:
        known = subsets.setdefault(len(lesson.rows), lesson.rows)
        assert np.array_equal(known, lesson.rows)
    sizes = sorted(subsets)
    for smaller, larger in itertools.pairwise(sizes):
        assert np.isin(subsets[smaller], subsets[larger]).all()
    validation_rows = max((exam.rows for exam in found.exams), key=len)
    assert all(np.array_equal(validation_rows[: len(exam.rows)], exam.rows) for exam in found.exams)


def test_validation_and_holdout_rows_are_never_taught_before_the_last_fit():
    found = run_search([(Simulated(), SKILLS)])

    taught = np.zeros(200_000, dtype=bool)
    for lesson in found.lessons:
        taught[lesson.rows] |= not lesson.refit
    assert taught.any()
    assert not taught[found.exams[-1].rows].any()


def test_few_rows_are_raced_whole_and_the_time_is_not_wasted():
    found = run_search([(Simulated(), SKILLS)], pool_size=3_000, limit=5.0)

    assert found.best.skill > 0.7
    n_kept_back = count_search_rows(3_000) + count_validation_rows(3_000)
    assert max(len(lesson.rows) for lesson in found.lessons if not lesson.refit) == 3_000 - n_kept_back
    assert found.best_rows == 3_000


@pytest.mark.parametrize(("cost", "pool_size"), [(5.0, 200_000), (5.0, 3_000)])
def test_models_of_all_rows_are_scored_on_holdout_rows_with_their_lesson(cost, pool_size):
    found = run_search([(Simulated(cost=cost), SKILLS)], pool_size=pool_size, limit=10.0)

    largest = max(len(lesson.rows) for lesson in found.lessons if not lesson.refit)
    late = [lesson for lesson in found.lessons if len(lesson.rows) == largest and not lesson.refit]
    assert len(late) > 1
    assert all({exam.purpose for exam in lesson.exams} == {"validation", "holdout"} for lesson in late)


@pytest.mark.parametrize("cost", [1.0, 5.0, 100.0])
def test_the_time_for_a_fit_with_the_rows_kept_back_is_not_taken_by_trials(cost):
    found = run_search([(Simulated(cost=cost), SKILLS)], pool_size=3_000, limit=5.0)

    assert [len(lesson.rows) for lesson in found.lessons if lesson.refit] == [3_000]


@pytest.mark.parametrize("trouble", ["raises", "dies", "hangs", "refuses"])
def test_a_setting_that_fails_is_out_and_the_search_goes_on(trouble):
    space = Space({"trouble": Choice((trouble, "none"))}, {"trouble": trouble})

    found = run_search([(Simulated(), space)])

    failed = [one for one in found.search.race.contenders if one.settings.get("trouble") == trouble]
    assert [one.failure is not None for one in failed] == [True]
    assert found.best_rows > 50_000
    assert found.seconds <= 20.0


def test_a_setting_that_hangs_costs_its_share_of_the_time_only():
    space = Space({"trouble": Choice(("hangs", "none"))}, {"trouble": "hangs"})

    found = run_search([(Simulated(), space)])

    assert (
        max(lesson.kill_after for lesson in found.lessons if lesson.candidate.estimator.trouble == "hangs") <= 0.16 * 20
    )


def test_a_learner_whose_own_settings_fail_is_searched_all_the_same():
    space = Space({"trouble": Choice((None,)), "skill": FloatRange(0.4, 0.9)}, {"skill": 0.4})

    found = run_search([(Simulated(trouble="raises"), space)])

    assert found.best.trouble is None


def test_if_every_candidate_fails_the_errors_are_told_together():
    with pytest.raises(LearnerFailed, match=r"Every candidate failed\. .*ValueError: no.*SIGKILL"):
        run_search([(Simulated(trouble="raises"), None), (Simulated(trouble="dies"), None)])


def test_the_better_of_two_learners_wins_and_the_other_loses_its_time_early():
    found = run_search([(Simulated(skill=0.3), None), (Simulated(skill=0.8), None)])

    assert found.best.skill == 0.8
    assert found.seconds_of[0] < 0.3 * found.seconds_of[1]


def test_settings_to_begin_with_are_tried_first():
    found = run_search([(Simulated(), SKILLS)], starts={0: [{"skill": 0.77}]})

    assert [one.settings for one in found.search.race.contenders[:2]] == [{}, {"skill": 0.77}]


def test_a_slow_learner_is_not_raced_but_taught():
    found = run_search([(Simulated(cost=2_000.0), SKILLS)], limit=5.0)

    assert {lesson.candidate.number for lesson in found.lessons} == {0}


def test_faster_settings_are_tried_where_the_learners_own_are_stopped_on_few_rows():
    fast = Space({"skill": Choice((0.6,)), "cost": Choice((10.0,))}, {"skill": 0.6, "cost": 10.0})

    found = run_search([(Simulated(skill=0.5, cost=50_000.0, stops=True), fast)], limit=5.0)

    assert found.best.cost == 10.0
    assert found.best_rows > 50_000


@pytest.mark.parametrize("cost", [6_000.0, 8_000.0])
def test_faster_settings_are_tried_in_the_time_that_a_last_fit_of_a_slow_leader_leaves(cost):
    fast = Space({"skill": Choice((0.6,)), "cost": Choice((10.0,))}, {"skill": 0.6, "cost": 10.0})

    found = run_search([(Simulated(skill=0.5, cost=cost), fast)], pool_size=14_000, limit=10.0)

    assert found.best.cost == 10.0
    assert found.best_rows > 10_000


@pytest.mark.parametrize("cost", [5_000.0, 50_000.0])
def test_trials_beside_a_slow_leader_are_killed_while_there_is_time_for_others(cost):
    fast = Space({"cost": Choice((10.0,)), "trouble": Choice(("hangs", "none"))}, {"cost": 10.0, "trouble": "hangs"})

    found = run_search([(Simulated(cost=cost, stops=True), fast)], limit=5.0)

    hanging = [lesson for lesson in found.lessons if lesson.candidate.estimator.trouble == "hangs"]
    assert all(lesson.kill_after <= 0.5 * 5.0 for lesson in hanging)
    assert found.seconds < 5.0


def test_settings_that_are_too_slow_for_all_rows_are_compared_by_the_rows_that_they_can_afford():
    slow = Space({"skill": Choice((0.55,)), "cost": Choice((3_000.0,))}, {"skill": 0.55, "cost": 3_000.0})

    found = run_search([(Simulated(skill=0.5, cost=10.0), slow)])

    assert found.lessons[-1].candidate.has_own_settings


@settings(deadline=None, max_examples=20)
@given(
    pool_size=st.integers(30, 100_000),
    limit=st.floats(0.5, 20.0),
    cost=st.floats(0.1, 1000.0),
    seed=st.integers(0, 5),
    n_learners=st.integers(1, 3),
)
def test_a_search_ends_in_time_with_a_model_whatever_the_learner_takes(pool_size, limit, cost, seed, n_learners):
    learners = [(Simulated(cost=cost * (number + 1)), SKILLS if number else None) for number in range(n_learners)]

    found = run_search(learners, pool_size=pool_size, limit=limit, seed=seed)

    assert found.seconds <= limit + 1e-6 or found.reason == "time"
    assert found.best is not None or learners[0][0].seconds(min(pool_size, 250)) > 0.2 * limit / n_learners


class BusyClock(FakeClock):
    """A clock of a machine on which every look at it takes a while."""

    def __call__(self):
        self.advance(0.02)
        return super().__call__()


@pytest.mark.parametrize("seed", [30, 31, 32])
def test_a_last_fit_whose_time_went_by_while_it_was_chosen_is_left_out(seed):
    found = run_search([(Simulated(cost=200.0), SKILLS)], limit=5 + 0.37 * seed, seed=seed, clock=BusyClock())

    assert all(len(lesson.rows) for lesson in found.lessons)
    assert found.best_rows > 0
