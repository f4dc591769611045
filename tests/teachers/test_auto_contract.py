"""What Auto promises for learners of any cost, in sessions on a fake clock."""

from dataclasses import replace

import pytest

from fitwithin.teachers import Auto
from simulated_planning import Learner, SimulatedSession, power

SEEDS = range(2)
NOISY_SEEDS = range(4)

# Pool and limit of each: time for about all rows, or for a part of them.
PLAIN = {
    "linear": (Learner(power(10, 1.0, 10**5)), 10**5, 20),
    "linear, little time": (Learner(power(100, 1.0, 10**6)), 10**6, 20),
    "a little more than linear": (Learner(power(20, 1.1, 10**5)), 10**5, 20),
    "fixed and linear": (Learner(lambda rows: 0.5 + 1e-4 * rows), 10**5, 10),
    "stoppable, linear": (Learner(lambda rows: 0.5 + 4e-5 * rows, can_stop_early=True), 4 * 10**5, 15),
    "stoppable, all rows": (Learner(lambda rows: 0.1 + 8e-5 * rows, can_stop_early=True), 5 * 10**4, 20),
}

HARD = {
    "quadratic": (Learner(power(60, 2.0, 10**5)), 10**5, 20),
    "growth of 1.4": (Learner(power(40, 1.4, 10**5), noise=0.2), 10**5, 20),
    "noisy": (Learner(power(20, 1.1, 10**5), noise=0.5), 10**5, 20),
    "neighbors": (Learner(power(0.1, 1.0, 10**5), exam=lambda rows: 1e-8 * rows), 10**5, 10),
    "slow exams": (Learner(power(10, 1.0, 10**5), exam=lambda rows: 1e-3), 10**5, 20),
    "a large fixed cost": (Learner(lambda rows: 3 + 1e-5 * rows), 10**5, 10),
    "a limit of hours": (Learner(power(36_000, 1.2, 10**6)), 10**6, 10_000),
}

STOPPABLE = {
    "wide data": (Learner(power(10, 1.0, 2 * 10**5), power(60, 1.4, 2 * 10**5), can_stop_early=True), 2 * 10**5, 30),
    "wide data, more time": (
        Learner(power(10, 1.0, 2 * 10**5), power(60, 1.4, 2 * 10**5), can_stop_early=True),
        2 * 10**5,
        200,
    ),
    "quadratic steps": (Learner(power(100, 2.0, 10**5), can_stop_early=True), 10**5, 20),
    "noisy steps": (Learner(power(40, 1.0, 10**5), power(2, 1.0, 10**5), can_stop_early=True, noise=0.3), 10**5, 20),
    "a large fixed cost": (Learner(lambda rows: 6 + 8e-5 * rows, can_stop_early=True), 5 * 10**4, 10),
    "a first lesson that cannot end": (Learner(lambda rows: 60 + 1e-3 * rows, can_stop_early=True), 5 * 10**4, 10),
    "slow exams": (
        Learner(lambda rows: 0.8 + 4e-5 * rows, can_stop_early=True, exam=lambda rows: 3e-4),
        4 * 10**5,
        20,
    ),
}

STOPPABLE_PLAIN = {name: case for name, case in PLAIN.items() if case[0].can_stop_early}


def run(case, seed, teacher=None):
    learner, pool_size, limit = case
    return SimulatedSession(learner, pool_size, limit, seed).run(teacher)


@pytest.mark.parametrize("emphasis", ["trial", True, False])
@pytest.mark.parametrize("name", PLAIN | HARD)
def test_a_session_is_in_time_and_has_a_model_and_an_estimate(name, emphasis):
    case = (PLAIN | HARD)[name]

    for seed in SEEDS:
        outcome = run(case, seed, Auto(emphasis=emphasis))

        assert outcome.seconds <= case[2]
        assert outcome.best_rows >= 250
        assert outcome.has_estimate


@pytest.mark.parametrize("emphasis", ["trial", False])
@pytest.mark.parametrize("name", STOPPABLE | STOPPABLE_PLAIN)
def test_a_learner_that_can_stop_early_loses_at_most_a_fifth_of_the_time(name, emphasis):
    case = (STOPPABLE | STOPPABLE_PLAIN)[name]

    for seed in NOISY_SEEDS if case[0].noise else SEEDS:
        outcome = run(case, seed, Auto(emphasis=emphasis))

        assert outcome.seconds <= case[2]
        assert outcome.seconds_lost <= 0.2 * case[2]
        assert outcome.best_rows >= 250
        assert outcome.has_estimate


@pytest.mark.parametrize("name", PLAIN | HARD | STOPPABLE)
def test_a_learner_that_cannot_be_killed_is_never_late_if_its_cost_is_regular(name):
    learner, pool_size, limit = (PLAIN | HARD | STOPPABLE)[name]

    outcome = SimulatedSession(replace(learner, noise=0.0), pool_size, limit, killable=False).run()

    assert outcome.seconds <= limit
    assert outcome.best_rows >= 250


@pytest.mark.parametrize("name", PLAIN | HARD)
@pytest.mark.parametrize("killable", [True, False])
def test_no_lesson_is_asked_for_that_the_session_refuses(name, killable):
    learner, pool_size, limit = (PLAIN | HARD)[name]

    outcome = SimulatedSession(learner, pool_size, limit, killable=killable).run()

    assert not outcome.was_refused


@pytest.mark.parametrize("name", PLAIN)
def test_a_large_part_of_the_rows_that_the_time_allows_is_taught(name):
    learner, pool_size, limit = PLAIN[name]
    largest = learner.largest_lesson(pool_size, limit)

    outcomes = [run(PLAIN[name], seed) for seed in SEEDS]

    assert min(outcome.best_rows for outcome in outcomes) >= 0.3 * largest


def test_neighbors_learn_every_row_although_their_exams_grow_with_them():
    # A whole exam of the largest model would take 3.7 s of 4.
    neighbors = Learner(power(0.1, 1.0, 10**5), exam=lambda rows: 5e-9 * rows)

    for seed in SEEDS:
        outcome = run((neighbors, 10**5, 4), seed)

        assert outcome.best_rows >= 92_000
        assert outcome.has_estimate


def test_the_sooner_all_rows_are_taught_the_sooner_it_ends():
    outcome = run((Learner(power(1, 1.0, 10**5)), 10**5, 1000), 0)

    assert outcome.seconds < 100
    assert outcome.lessons[-1].refit
    assert len(outcome.lessons[-1].rows) == 10**5
