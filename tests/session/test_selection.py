"""Which model is best."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.exceptions import ScoringFailed
from fitwithin._core.preference import is_worse, paired_error
from fitwithin._core.records import Answers, Estimate, Lesson
from fitwithin._session.fit_state import ModelRecord
from fitwithin._session.round_tracker import OpenRound
from fitwithin._session.selection import KeptModel, ModelSelector
from fitwithin.backends._metrics import accuracy_interval


def wilson(right, rows):
    """Wilson's score interval, from its textbook formula."""
    z = NormalDist().inv_cdf(0.975)
    share = right / rows
    centre = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    reach = z / (1 + z * z / rows) * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    return centre - reach, centre + reach


def an_estimate(low):
    return Estimate(low + 0.1, low, low + 0.2)


@pytest.mark.parametrize(
    ("right", "rows", "value", "low", "high"),
    [
        # acc - 1.96 sqrt(acc (1 - acc) / n), worked by hand
        (80, 100, 0.8, 0.8 - 1.96 * 0.04, 0.8 + 1.96 * 0.04),
        (50, 100, 0.5, 0.5 - 1.96 * 0.05, 0.5 + 1.96 * 0.05),
        (90, 100, 0.9, 0.9 - 1.96 * 0.03, 0.9 + 1.96 * 0.03),
        (9000, 10_000, 0.9, 0.9 - 1.96 * 0.003, 0.9 + 1.96 * 0.003),
    ],
)
def test_the_bound_is_the_one_of_the_paper(right, rows, value, low, high):
    estimate = accuracy_interval(right, rows)

    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((value, low, high))


@pytest.mark.parametrize("rows", [1, 2, 5, 100, 12_345])
@pytest.mark.parametrize("share", [0, 1])
def test_at_none_and_all_right_the_interval_is_wilsons(rows, share):
    estimate = accuracy_interval(share * rows, rows)

    assert estimate.value == share
    assert (estimate.low, estimate.high) == pytest.approx(wilson(share * rows, rows), abs=1e-12)


def test_where_the_normal_interval_would_leave_the_range_it_is_wilsons():
    estimate = accuracy_interval(9, 10)

    assert (estimate.low, estimate.high) == pytest.approx(wilson(9, 10))


def test_five_right_answers_are_no_proof():
    assert accuracy_interval(5, 5).low < accuracy_interval(95, 100).low


def test_an_exam_without_rows_gives_no_estimate():
    assert accuracy_interval(0, 0) is None


@given(st.integers(1, 10**6).flatmap(lambda rows: st.tuples(st.integers(0, rows), st.just(rows))))
def test_the_value_lies_within_its_interval_which_has_a_width(exam):
    estimate = accuracy_interval(*exam)

    assert estimate.low <= estimate.value <= estimate.high
    assert estimate.low < estimate.high


class Model:
    """A saved model that counts how often it was discarded."""

    save_seconds = load_seconds = 0.0

    def __init__(self):
        self.discarded = 0

    def discard(self):
        self.discarded += 1


N_BEST_ROWS = 10


def a_round(
    n_rows=N_BEST_ROWS + 1, validation=None, *, estimate=None, has_every_row=False, rows=None, oversampled=False
):
    """The round of a model on the first rows of the pool, by default on those of the best one and one more."""
    rows = np.arange(n_rows) if rows is None else np.array(rows)
    lesson = Lesson(rows, oversampled=oversampled)
    scores = {"validation": validation, "estimate": estimate, "is_comparable": estimate is not None}
    return OpenRound(2, lesson, 0, 0, len(rows), None, has_every_row, None, None, 0.0, **scores)


def a_selector(best=None, returns="best", validation=None, *, oversampled=False):
    selector = ModelSelector(returns)
    if best is not None:
        record = ModelRecord(1, N_BEST_ROWS, rows=np.arange(N_BEST_ROWS), estimate=best)
        selector.replace_best(KeptModel(Model(), record, validation, oversampled=oversampled))
    return selector


@pytest.mark.parametrize(
    ("candidate", "best", "wins"),
    [
        (an_estimate(0.5), None, True),
        (an_estimate(0.51), an_estimate(0.5), True),
        (an_estimate(0.5), an_estimate(0.5), False),
        (an_estimate(0.49), an_estimate(0.5), False),
        (Estimate(0.9, 0.4, 1.0), Estimate(0.6, 0.5, 0.7), False),
    ],
)
def test_the_best_is_replaced_on_a_strictly_better_bound_only(candidate, best, wins):
    assert a_selector(best).prefers(a_round(estimate=candidate)) is wins


@pytest.mark.parametrize("best", [None, an_estimate(0.0), an_estimate(0.9)])
def test_a_model_that_sat_no_exam_is_never_the_best(best):
    assert a_selector(best).prefers(a_round()) is False


@pytest.mark.parametrize("candidate", [None, an_estimate(0.1)])
@pytest.mark.parametrize("best", [None, an_estimate(0.9)])
def test_a_model_taught_every_row_is_accepted_without_an_exam(candidate, best):
    assert a_selector(best).prefers(a_round(has_every_row=True, estimate=candidate)) is True


@pytest.mark.parametrize("candidate", [None, an_estimate(0.1)])
@pytest.mark.parametrize("best", [None, an_estimate(0.9)])
@pytest.mark.parametrize("whole", [False, True])
def test_a_teacher_that_returns_its_last_model_takes_every_model(candidate, best, whole):
    assert a_selector(best, "last").prefers(a_round(has_every_row=whole, estimate=candidate)) is True


def answers(score, influence, rows=range(4)):
    rows = np.array(rows)
    influence = None if influence is None else np.array(influence, np.float32)
    return Answers(rows, np.zeros(len(rows), dtype=bool), None, score, influence)


def around(value):
    return Estimate(value, value - 0.02, value + 0.02)


BEST = Estimate(0.80, 0.78, 0.82)
BEST_INFLUENCE = [0.006, -0.006, 0.006, -0.006]
# The scores of two such models differ with a standard error of 0.004.
CLOSE_INFLUENCE = [0.004, -0.004, 0.004, -0.004]
BEST_ANSWERS = answers(BEST, BEST_INFLUENCE)


def close_answers(value):
    return answers(around(value), CLOSE_INFLUENCE)


@pytest.mark.parametrize(("value", "worse"), [(0.77, True), (0.80, False), (0.81, False), (math.nan, True)])
def test_without_a_paired_error_a_model_is_worse_by_the_errors_of_both_scores(value, worse):
    # Each has a standard error of 0.0102, their difference one of 0.0144.
    error = paired_error(answers(around(0.8), None), answers(BEST, None))

    assert error == pytest.approx(0.0144, abs=1e-4)
    assert is_worse(around(value), BEST, error) is worse


@given(st.floats(0, 1), st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_model_is_never_worse_than_one_that_is_just_as_good(value, reach, error):
    estimate = Estimate(value, value - reach, value + reach)

    assert not is_worse(estimate, estimate, error)


def test_a_score_with_an_unknown_error_is_not_clearly_worse():
    unknown = Estimate(0.1, -math.inf, math.inf)

    assert not is_worse(unknown, BEST, paired_error(answers(unknown, None), BEST_ANSWERS))


@pytest.mark.parametrize(("value", "wins"), [(0.80, True), (0.793, True), (0.791, False), (0.78, False), (0.90, True)])
def test_a_model_with_more_rows_wins_unless_its_paired_score_is_clearly_lower(value, wins):
    selector = a_selector(BEST, validation=BEST_ANSWERS)

    assert selector.prefers(a_round(11, close_answers(value))) is wins


@pytest.mark.parametrize(("value", "wins"), [(0.80, False), (0.799, False), (0.801, True)])
def test_a_model_with_as_many_rows_wins_only_if_its_score_is_higher(value, wins):
    selector = a_selector(BEST, validation=BEST_ANSWERS)

    assert selector.prefers(a_round(10, close_answers(value))) is wins


@pytest.mark.parametrize(("value", "wins"), [(0.80, False), (0.801, False), (0.807, False), (0.809, True)])
def test_a_model_of_some_of_the_best_models_rows_wins_only_if_its_paired_score_is_clearly_higher(value, wins):
    selector = a_selector(BEST, validation=BEST_ANSWERS)

    assert selector.prefers(a_round(5, close_answers(value))) is wins


@pytest.mark.parametrize(
    ("rows", "ties"),
    [
        (range(11), True),
        ([11, *reversed(range(10))], True),
        (range(1, 12), False),
        (range(10, 40), False),
        ([*range(9), 20, 21], False),
    ],
    ids=["begins with them", "in another order", "one is missing", "others only", "the last is missing"],
)
@pytest.mark.parametrize("value", [0.799, 0.80, 0.801])
def test_only_a_model_with_all_rows_of_the_best_one_wins_a_tie(rows, ties, value):
    selector = a_selector(BEST, validation=BEST_ANSWERS)

    assert selector.prefers(a_round(validation=close_answers(value), rows=rows)) is (ties or value > BEST.value)


@pytest.mark.parametrize(("new", "best"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("value", [0.799, 0.80, 0.801])
def test_an_oversampled_lesson_is_compared_by_its_score_alone(new, best, value):
    selector = a_selector(BEST, validation=BEST_ANSWERS, oversampled=best)

    assert selector.prefers(a_round(11, close_answers(value), oversampled=new)) is (value > BEST.value)


@pytest.mark.parametrize(
    "other",
    [
        lambda score: answers(score, None),
        lambda score: answers(score, CLOSE_INFLUENCE, range(4, 8)),
        lambda score: answers(score, [0.1], [0]),
    ],
    ids=["no influence", "other rows", "one row"],
)
@pytest.mark.parametrize(("value", "wins"), [(0.79, True), (0.77, False)])
def test_without_an_exam_on_the_same_rows_the_errors_of_both_scores_count(other, value, wins):
    for new, old in ((other(around(value)), BEST_ANSWERS), (close_answers(value), other(BEST))):
        assert a_selector(BEST, validation=old).prefers(a_round(11, new)) is wins


@pytest.mark.parametrize(("only_best_is_right", "wins"), [(3, True), (5, False)])
@pytest.mark.parametrize("n_rows", [20, 200, 5000])
def test_a_few_rows_do_not_decide_against_a_model_with_more_rows(n_rows, only_best_is_right, wins):
    def validated(n_correct):
        by_row = (np.arange(n_rows) < n_correct) - n_correct / n_rows
        return answers(accuracy_interval(n_correct, n_rows), by_row / n_rows, range(n_rows))

    best, new = validated(n_rows - 2), validated(n_rows - 2 - only_best_is_right)

    assert a_selector(best.score, validation=best).prefers(a_round(11, new)) is wins


def test_the_last_answers_of_the_best_model_on_validation_rows_count():
    selector = a_selector(BEST, validation=answers(BEST, [0.1, 0.1], range(2)))
    again = a_round(10, BEST_ANSWERS)
    again.saved, again.estimate = selector.best.model, BEST
    selector.update_best(again)

    assert not selector.prefers(a_round(11, close_answers(0.79)))


def test_a_model_without_an_estimate_is_replaced_by_any_that_has_one():
    selector = a_selector()
    selector.replace_best(KeptModel(Model(), ModelRecord(1, 10)))

    assert selector.prefers(a_round(estimate=an_estimate(0.1)))
    assert selector.prefers(a_round(validation=answers(an_estimate(0.1), None)))


@pytest.mark.parametrize(("value", "wins"), [(0.80, False), (0.801, True)])
def test_a_best_model_without_answers_on_validation_rows_is_replaced_on_a_better_bound_only(value, wins):
    assert a_selector(BEST).prefers(a_round(11, close_answers(value))) is wins


UNDEFINED = Estimate(math.nan, -math.inf, math.inf)


def prefers(selector, score, *, validated, **kind):
    """Whether a model with this score is preferred; the score is by validation rows, or by other exams."""
    if validated:
        return selector.prefers(a_round(validation=answers(score, None), **kind))
    return selector.prefers(a_round(**kind, estimate=score))


@pytest.mark.parametrize("validated", [False, True])
@pytest.mark.parametrize("has_every_row", [False, True])
def test_a_model_whose_score_is_not_finite_never_replaces_another(validated, has_every_row):
    selector = a_selector(an_estimate(0.1))

    assert not prefers(selector, UNDEFINED, validated=validated, has_every_row=has_every_row)


@pytest.mark.parametrize("validated", [False, True])
def test_a_model_whose_score_is_not_finite_is_better_than_none_and_worse_than_any_other(validated):
    selector = a_selector()
    assert prefers(selector, UNDEFINED, validated=validated)

    selector.replace_best(KeptModel(Model(), ModelRecord(1, 10, estimate=UNDEFINED)))

    assert prefers(selector, an_estimate(0.1), validated=validated)


@pytest.mark.parametrize("validated", [False, True])
@pytest.mark.parametrize(("n_rows", "wins"), [(N_BEST_ROWS + 1, True), (N_BEST_ROWS, False), (N_BEST_ROWS - 1, False)])
def test_of_models_without_a_finite_score_the_one_with_the_most_rows_wins(validated, n_rows, wins):
    assert prefers(a_selector(UNDEFINED), UNDEFINED, validated=validated, n_rows=n_rows) is wins


def test_of_models_without_an_interval_the_one_with_the_most_rows_wins_where_the_lower_end_decides():
    known, unknown = an_estimate(0.2), Estimate(0.9, -math.inf, math.inf)

    assert prefers(a_selector(unknown), Estimate(0.1, -math.inf, math.inf), validated=False)
    assert prefers(a_selector(unknown), known, validated=False)
    assert not prefers(a_selector(known), unknown, validated=False)


def describe_problem(estimate, fresh_estimate, n_rows=100, problem="a class is missing", n_examined=50):
    selector = a_selector()
    selector.note_problem(n_rows, n_examined, None, problem)
    selector.replace_best(KeptModel(Model(), ModelRecord(1, 10, estimate=estimate, fresh_estimate=fresh_estimate)))
    return selector.describe_problem()


def test_a_score_that_is_unknown_is_told_about_if_it_made_a_difference():
    known = an_estimate(0.5)

    assert "No model could be compared" in describe_problem(UNDEFINED, None)
    assert "score_estimate_ is None: a class is missing." in describe_problem(known, None)
    assert "a model of 100 rows, which could not become the best: a class" in describe_problem(known, known)
    assert describe_problem(known, known, n_rows=9) is None
    assert describe_problem(UNDEFINED, None, problem=None) is None
    assert describe_problem(UNDEFINED, None, n_examined=10) is None


def test_a_metric_that_is_not_known_to_work_must_give_a_score():
    selector = ModelSelector("best", is_scoring_proven=False)
    selector.note_problem(10, 9, an_estimate(0.5), "too few rows for an interval")

    with pytest.raises(ScoringFailed, match="it returned nan"):
        selector.note_problem(10, 9, UNDEFINED, "it returned nan")


def test_a_finite_score_proves_the_metric_for_later_models():
    selector = ModelSelector("best", is_scoring_proven=False)
    selector.note_problem(100, 50, an_estimate(0.5), None)

    # It does not raise, as it would without the score before it.
    selector.note_problem(200, 50, UNDEFINED, "it returned nan")


def test_the_best_model_and_the_one_before_are_kept_until_the_selector_closes():
    selector, (first, second, third) = a_selector(), (Model(), Model(), Model())

    selector.replace_best(KeptModel(first, ModelRecord(1, 10)))
    selector.replace_best(KeptModel(second, ModelRecord(1, 20)))
    assert (first.discarded, second.discarded) == (0, 0)
    selector.replace_best(KeptModel(third, ModelRecord(1, 30)))
    assert (first.discarded, second.discarded, third.discarded) == (1, 0, 0)
    selector.close()
    assert (first.discarded, second.discarded, third.discarded) == (1, 1, 1)


def test_the_standard_error_is_the_one_of_the_interval():
    assert accuracy_interval(80, 100).standard_error == pytest.approx(0.04)
