"""What Auto promises for learners of any cost, in sessions on a fake clock."""

from dataclasses import replace

import numpy as np
import pytest

from fitwithin.teachers import Auto
from recorded_sessions import adversaries, replay

power = adversaries.power

SEEDS = range(2)
NOISY_SEEDS = range(4)

STEPS = 50


def learner(seconds, n_rows, *, setup=None, noise=0.08, steps=None, predict=lambda rows: 1e-6):
    """A learner whose steps take `seconds` and whose set-up takes `setup`, by rows."""
    setup = setup or (lambda rows: 0.0)
    return adversaries.Formulas(
        "a learner",
        lambda rows: setup(rows) + seconds(rows),
        setup=setup,
        predict=predict,
        steps=steps,
        n_rows=n_rows,
        noise=0.0,
        header={"behaviour": {"noise": noise}},
    )


# Learner and limit of each: time for about all rows, or for a part of them.
PLAIN = {
    "linear": (learner(power(10, 1.0, 10**5), 10**5), 20),
    "linear, little time": (learner(power(100, 1.0, 10**6), 10**6), 20),
    "a little more than linear": (learner(power(20, 1.1, 10**5), 10**5), 20),
    "fixed and linear": (learner(lambda rows: 0.5 + 1e-4 * rows, 10**5), 10),
    "stoppable, linear": (learner(lambda rows: 0.5 + 4e-5 * rows, 4 * 10**5, steps=STEPS), 15),
    "stoppable, all rows": (learner(lambda rows: 0.1 + 8e-5 * rows, 5 * 10**4, steps=STEPS), 20),
}

HARD = {
    "quadratic": (learner(power(60, 2.0, 10**5), 10**5), 20),
    "growth of 1.4": (learner(power(40, 1.4, 10**5), 10**5, noise=0.2), 20),
    "noisy": (learner(power(20, 1.1, 10**5), 10**5, noise=0.5), 20),
    "neighbors": (learner(power(0.1, 1.0, 10**5), 10**5, predict=lambda rows: 1e-8 * rows), 10),
    "slow exams": (learner(power(10, 1.0, 10**5), 10**5, predict=lambda rows: 1e-3), 20),
    "a large fixed cost": (learner(lambda rows: 3 + 1e-5 * rows, 10**5), 10),
    "a limit of hours": (learner(power(36_000, 1.2, 10**6), 10**6), 10_000),
}

WIDE = learner(power(10, 1.0, 2 * 10**5), 2 * 10**5, setup=power(60, 1.4, 2 * 10**5), steps=STEPS)

STOPPABLE = {
    "wide data": (WIDE, 30),
    "wide data, more time": (WIDE, 200),
    "quadratic steps": (learner(power(100, 2.0, 10**5), 10**5, steps=STEPS), 20),
    "noisy steps": (learner(power(40, 1.0, 10**5), 10**5, setup=power(2, 1.0, 10**5), steps=STEPS, noise=0.3), 20),
    "a large fixed cost": (learner(lambda rows: 6 + 8e-5 * rows, 5 * 10**4, steps=STEPS), 10),
    "a first lesson that cannot end": (learner(lambda rows: 60 + 1e-3 * rows, 5 * 10**4, steps=STEPS), 10),
    "slow exams": (
        learner(lambda rows: 0.8 + 4e-5 * rows, 4 * 10**5, steps=STEPS, predict=lambda rows: 3e-4),
        20,
    ),
}

STOPPABLE_PLAIN = {name: case for name, case in PLAIN.items() if case[0].steps}


def run(case, seed=0, teacher=None, **settings):
    formulas, limit = case
    session = replay.run_session(formulas.record(), teacher or Auto(), limit, seed=seed, **settings)
    assert session.result is not None
    return session


def has_estimate(session):
    return session.result.record.fresh_estimate is not None


def largest_lesson(case):
    """Return the most rows that a fit could have within the limit, if it was the only one."""
    formulas, limit = case
    sizes = np.unique(np.geomspace(1, formulas.n_rows, 2000).astype(int))
    return max(size for size in sizes if formulas.seconds(size) <= limit)


@pytest.mark.parametrize("oversampling", [True, False])
@pytest.mark.parametrize("name", PLAIN | HARD)
def test_a_session_is_in_time_and_has_a_model_and_an_estimate(name, oversampling):
    case = (PLAIN | HARD)[name]

    for seed in SEEDS:
        outcome = run(case, seed, Auto(oversampling=oversampling))

        assert outcome.seconds <= case[1]
        assert outcome.model.rows >= 250
        assert has_estimate(outcome)


@pytest.mark.parametrize("name", STOPPABLE | STOPPABLE_PLAIN)
def test_a_learner_that_can_stop_early_loses_at_most_a_fifth_of_the_time(name):
    case = (STOPPABLE | STOPPABLE_PLAIN)[name]

    for seed in NOISY_SEEDS if case[0].header["behaviour"]["noise"] else SEEDS:
        outcome = run(case, seed)

        assert outcome.seconds <= case[1]
        assert outcome.result.seconds_lost <= 0.2 * case[1]
        assert outcome.model.rows >= 250
        assert has_estimate(outcome)


@pytest.mark.parametrize("name", PLAIN | HARD | STOPPABLE)
def test_a_learner_that_cannot_be_killed_is_never_late_if_its_cost_is_regular(name):
    formulas, limit = (PLAIN | HARD | STOPPABLE)[name]

    outcome = run((replace(formulas, header={}), limit), killable=False)

    assert outcome.seconds <= limit
    assert outcome.model.rows >= 250


@pytest.mark.parametrize("name", PLAIN | HARD)
@pytest.mark.parametrize("killable", [True, False])
def test_no_lesson_is_asked_for_that_the_session_refuses(name, killable):
    outcome = run((PLAIN | HARD)[name], killable=killable)

    assert outcome.runner.lesson is outcome.log[-1].lesson


@pytest.mark.parametrize("name", PLAIN)
def test_a_large_part_of_the_rows_that_the_time_allows_is_taught(name):
    outcomes = [run(PLAIN[name], seed) for seed in SEEDS]

    assert min(outcome.model.rows for outcome in outcomes) >= 0.3 * largest_lesson(PLAIN[name])


def test_neighbors_learn_every_row_although_their_exams_grow_with_them():
    # A whole exam of the largest model would take 3.7 s of 4.
    neighbors = learner(power(0.1, 1.0, 10**5), 10**5, predict=lambda rows: 5e-9 * rows)

    for seed in SEEDS:
        outcome = run((neighbors, 4), seed)

        assert outcome.model.rows >= 92_000
        assert has_estimate(outcome)


@pytest.mark.parametrize("name", PLAIN)
def test_nor_is_it_with_a_lesson_of_misclassified_rows(name):
    formulas, limit = PLAIN[name]

    outcome = run((replace(formulas, header={}), limit), teacher=Auto(oversampling=True), killable=False)

    assert outcome.seconds <= limit
    assert outcome.runner.lesson is outcome.log[-1].lesson, "the session refused none"


def test_a_limit_that_is_long_enough_for_every_row_ends_with_them_and_long_before_it():
    outcome = run((learner(power(1, 1.0, 10**5), 10**5), 1000))

    assert outcome.seconds < 2
    assert outcome.stop_reason == "all rows"
    assert outcome.model.rows == 10**5 - 2 * 2000


@pytest.mark.parametrize(("growth", "has_refit"), [(-0.2, True), (-0.01, False)])
def test_the_rows_kept_back_are_taught_in_the_end_if_they_promise_a_gain(growth, has_refit):
    formulas = replace(learner(power(1, 1.0, 10**4), 10**4), error=lambda rows: 0.3 * (rows / 250) ** growth)

    outcome = run((formulas, 1000))

    assert outcome.log[-1].lesson.refit is has_refit
    assert outcome.log[-1].rows == (10**4 if has_refit else 10**4 - 2 * 500)
    assert has_estimate(outcome)


GAINS = replace(learner(power(5, 1.0, 10**5), 10**5), gain=0.02)


@pytest.mark.parametrize(("oversampling", "is_oversampled"), [(True, True), (False, False), ("auto", False)])
def test_oversampling_follows_where_time_is_left_if_it_is_asked_for_or_pays_for_this_kind_of_learner(
    oversampling, is_oversampled
):
    outcome = run((GAINS, 30), teacher=Auto(oversampling=oversampling))

    assert any(fit.lesson.oversampled for fit in outcome.log) is is_oversampled
    assert outcome.seconds <= 30


def test_an_oversampled_lesson_with_a_higher_score_wins():
    outcome = run((GAINS, 30), teacher=Auto(oversampling=True))

    assert outcome.model.rows < 10**5 / 2


@pytest.mark.parametrize("n_rows", [2, 19, 20, 49, 500, 501, 1999])
@pytest.mark.parametrize("limit", [1.0, 100.0])
def test_few_rows_leave_a_model_in_time(n_rows, limit):
    outcome = run((learner(power(2.0, 1.0, 2000), n_rows), limit))

    assert outcome.seconds <= limit
    assert outcome.model.rows >= min(0.9 * n_rows, 50)
    assert has_estimate(outcome) is (n_rows >= 20)
    if limit == 100.0:
        # On few validation rows, the last fit with all of them may seem worse.
        assert outcome.stop_reason in ("all rows", "no gain")
        assert outcome.model.rows >= 0.9 * n_rows


def test_a_first_lesson_that_does_not_end_leaves_no_model():
    formulas, limit = learner(lambda rows: 50.0, 10**5), 10

    assert replay.run_session(formulas.record(), Auto(), limit).result is None
