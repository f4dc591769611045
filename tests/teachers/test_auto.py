"""Auto, the default teacher."""

import itertools

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fitwithin import NoModelInTime, TimeConstrainedClassifier, TimeConstrainedRegressor
from fitwithin._pools.decks.deck import SMALL_POOL_ROWS
from fitwithin.backends import Inline, register_early_stopping
from fitwithin.teachers import Auto, Deck, Lesson, LessonReport
from fitwithin.teachers._auto.teacher import insure
from fitwithin.teachers._row_order import MIN_SPLIT_ROWS
from fitwithin.testing import FakeClock
from simulated_sessions import CostlyClassifier, KillableInline, a_session
from teacher_driver import a_state, cost_estimates, driven, every_fifth


def taught(size, answer=every_fifth, *, seed=0, strata=None, **settings):
    return driven(Auto(**settings).teach(Deck(size, np.random.default_rng(seed), strata)), answer)


def data(rows, seed, noise=0.0):
    """Five classes with a boundary that takes many rows to learn; `noise` is the fraction of random labels."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 6)).astype(np.float32)
    y = ((np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] * 3 + 0.3 * rng.normal(size=rows)) * 2).astype(int).clip(0, 4)
    return X, np.where(rng.random(rows) < noise, rng.integers(0, 5, size=rows), y)


# Requests


@pytest.mark.parametrize("size", [1, 2, MIN_SPLIT_ROWS - 1])
def test_a_tiny_pool_is_taught_whole_and_has_no_estimate(size):
    session = taught(size)

    (lesson,) = session.lessons
    assert sorted(lesson.tolist()) == list(range(size))
    assert not session.exams
    assert session.result == "all rows"


@pytest.mark.parametrize("size", [MIN_SPLIT_ROWS, 49, 333, SMALL_POOL_ROWS])
def test_a_small_pool_is_split_for_an_estimate_and_then_taught_whole(size):
    session = taught(size, lambda rows: rows % 2 == 0, seed=1)

    lesson, holdout, refit = session.asked
    (validation,), (again,) = lesson.exams, refit.exams
    assert len(lesson.rows) >= 0.9 * size
    assert (holdout.purpose, validation.purpose) == ("holdout", "validation")
    parts = np.concatenate([lesson.rows, holdout.rows, validation.rows])
    assert sorted(parts.tolist()) == sorted(refit.rows.tolist()) == list(range(size))
    assert refit.refit is True
    np.testing.assert_array_equal(again.rows, validation.rows)
    assert session.result == "all rows"


@pytest.mark.parametrize(("size", "rows"), [(501, 50), (2500, 250), (50_000, 250), (100_000, 500), (1_000_000, 2000)])
def test_the_first_lesson_is_a_fraction_of_the_pool_and_has_a_minimum_of_rows(size, rows):
    assert len(next(Auto().teach(Deck(size, np.random.default_rng(0)))).rows) == rows


def test_the_first_lesson_holds_every_class():
    strata = np.zeros(20_000, dtype=np.uint8)
    strata[:4] = [1, 2, 3, 3]

    lesson = taught(len(strata), strata=strata).lessons[0]

    assert set(strata[lesson]) == {0, 1, 2, 3}


@pytest.mark.parametrize("classes", [600, 595, 480])
def test_a_pool_of_hardly_more_rows_than_classes_is_taught(classes):
    strata = np.minimum(np.arange(600), classes - 1).astype(np.uint16)

    session = taught(600, strata=strata)

    assert session.result == "all rows"
    assert set(strata[session.lessons[0]]) == set(range(classes))


SETTINGS = [{}, {"oversampling": True}, {"oversampling": False}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("size", [501, 3000, 7000, 30_000])
def test_without_a_time_limit_it_teaches_all_rows_at_once_and_those_kept_back_last(settings, size):
    session = taught(size, lambda rows: rows % 2 == 0, **settings)

    _, every_row, *oversampled = session.lessons
    (refit,) = session.refits
    assert session.result == "all rows"
    assert len(every_row) + len(set(kept_back(session))) == size
    assert bool(oversampled) is (settings.get("oversampling") is True and size >= 7000)
    assert refit is session.asked[-1]
    assert sorted(refit.rows.tolist()) == list(range(size))


def kept_back(session, *purposes):
    chosen = purposes or ("validation", "holdout")
    return [row for exam in session.exams if exam.purpose in chosen for row in exam.rows.tolist()]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("size", [501, 7000, 30_000])
def test_validation_and_holdout_rows_are_not_taught_before_the_last_fit_and_do_not_overlap(settings, size):
    session = taught(size, **settings)

    rows = {row for lesson in session.lessons for row in lesson.tolist()}
    validation, holdout = set(kept_back(session, "validation")), set(kept_back(session, "holdout"))
    assert validation
    assert holdout
    assert not rows & (validation | holdout)
    assert not validation & holdout


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("size", [501, 7000, 30_000])
def test_no_row_appears_twice_in_a_lesson_or_an_exam(settings, size):
    session = taught(size, **settings)

    assert session.exams
    for request in [*session.asked, *session.exams]:
        assert len(np.unique(request.rows)) == len(request.rows)


def test_every_model_is_examined_on_the_same_validation_rows():
    lessons = [request for request in taught(20_000, oversampling=True).asked if isinstance(request, Lesson)]
    validation_sets = [
        exam.rows.tolist() for lesson in lessons for exam in lesson.exams if exam.purpose == "validation"
    ]

    assert len(validation_sets) == len(lessons) >= 4
    assert all(rows == validation_sets[0] for rows in validation_sets)


@pytest.mark.parametrize("oversampling", ["yes", None, 2, ""])
def test_an_invalid_oversampling_is_refused(oversampling):
    with pytest.raises(ValueError, match=f"oversampling must be 'auto', True or False; got {oversampling!r}"):
        taught(100, oversampling=oversampling)


def test_the_best_model_is_returned():
    assert Auto().returns == "best"


def test_rows_that_the_user_keeps_for_validation_are_never_taught():
    deck = Deck(6000, np.random.default_rng(0))
    deck.hold_out(np.arange(300), np.arange(300, 600), can_refit=False)

    session = driven(Auto().teach(deck))

    assert not session.refits
    assert sorted(session.lessons[-1].tolist()) == list(range(600, 6000))


def test_a_model_that_is_always_right_gets_no_refit():
    assert not taught(20_000, lambda rows: np.zeros(len(rows), dtype=bool)).refits


# The insurance


def insured(*reports, limit=100.0):
    """The lessons of the insurance, which are answered with these reports."""
    state, asked = a_state(costs=cost_estimates(limit, can_stop_early=True)), []
    steps, answers = insure(state), None
    for report in (*reports, None):
        try:
            asked.append(steps.send(answers))
        except StopIteration:
            break
        answers = report
    return asked


def test_the_first_lesson_takes_a_small_part_of_the_time():
    (lesson,) = insured(LessonReport(1.0))

    assert lesson.stop_after == pytest.approx(0.03 * 100.0)


@pytest.mark.parametrize(("steps", "n_lessons"), [(5, 2), (20, 1), (None, 1)])
def test_a_model_of_next_to_no_steps_is_fitted_again_for_longer(steps, n_lessons):
    report = LessonReport(3.0, steps=steps, planned_steps=steps and 100, was_cut_short=True)
    lessons = insured(report, LessonReport(12.0))

    assert len(lessons) == n_lessons
    assert lessons[-1].stop_after == pytest.approx(0.12 * 100.0 if n_lessons == 2 else 3.0)
    np.testing.assert_array_equal(lessons[0].rows, lessons[-1].rows)


# Sessions on a clock that only the learner moves


def per_row(seconds):
    return lambda X, y: seconds * len(X)


def random_seconds(seed):
    rng = np.random.default_rng(seed)
    return lambda X, y: 4e-4 * len(X) * float(np.exp(rng.normal(0, 0.7)))


class CostlyRegressor(RegressorMixin, BaseEstimator):
    """A regressor whose fits and predictions take time by a fake clock."""

    def __init__(self, spend_on_fit, spend_on_predict, learner=None):
        self.spend_on_fit = spend_on_fit
        self.spend_on_predict = spend_on_predict
        self.learner = learner

    def fit(self, X, y):
        self.spend_on_fit(X, y)
        self.model_ = self.learner.fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


class ProbabilisticCostly(CostlyClassifier):
    """A classifier with probabilities whose fits take time by a fake clock."""

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


COSTS = {
    "quadratic": lambda seed: lambda X, y: 2.5e-8 * len(X) ** 2,
    "two seconds fixed": lambda seed: lambda X, y: 2 + 4e-4 * len(X),
    "random": random_seconds,
    "by labels": lambda seed: lambda X, y: 2e-4 * len(X) * (1 + 20 * (y == 4).mean()),
}
LIMITS, SEEDS = (2.5, 5, 10, 20), range(2)


@pytest.fixture(scope="module")
def pools():
    return [data(20_000, seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def unseen():
    return data(20_000, 99)


def test_the_same_seed_and_the_same_clock_give_the_same_history(pools):
    one, other = (a_session(*pools[0], per_row(2e-4), limit=5, teacher=Auto(), seed=3).history_ for _ in range(2))

    assert len(one) >= 3
    assert one == other


@pytest.mark.parametrize("cost", COSTS)
def test_for_any_cost_of_lessons_it_ends_in_time_and_about_as_good_as_doubling(cost, pools, unseen):
    scores = {"auto": [], "double": []}
    for teacher, limit, seed in itertools.product(scores, LIMITS, SEEDS):
        model = a_session(*pools[seed], COSTS[cost](seed), limit=limit, teacher=teacher, seed=seed)
        assert model.time_used_ <= limit
        scores[teacher].append(model.score(*unseen))

    # Validation and holdout rows, a tenth of the rows, are missing where there is time for all rows. A learner with
    # unpredictable costs may lose its last lesson at the deadline.
    assert np.mean(scores["auto"]) >= np.mean(scores["double"]) - 0.006


def test_the_interval_contains_the_score_on_unseen_rows_about_19_times_in_20(unseen):
    learner, covered = DecisionTreeClassifier(max_depth=5, random_state=0), []
    for seed in range(200):
        model = a_session(*data(3000, seed), per_row(1e-3), limit=1.5, teacher=Auto(), seed=seed, learner=learner)
        _, low, high = model.score_estimate_
        covered.append(low <= model.score(*unseen) <= high)

    assert 0.90 <= np.mean(covered) <= 0.99


def test_the_users_score_decides_and_is_estimated(unseen):
    X, y = data(1500, 0)

    model = a_session(X, y, per_row(1e-3), limit=1.5, teacher=Auto(), scoring="balanced_accuracy")

    value, low, high = model.score_estimate_
    assert low < value < high
    assert [finished.rows for finished in model.history_ if finished.best][-1] == model.n_rows_trained_


@pytest.mark.parametrize("scoring", [None, "r2", "neg_mean_absolute_error"])
def test_a_regressor_has_a_model_in_time_and_an_estimate(scoring):
    X, y = data(20_000, 0)
    clock, tree = KillableInline(), DecisionTreeRegressor(max_depth=8)
    learner = CostlyRegressor(lambda X, y: clock.clock.advance(1e-3 * len(X)), lambda X: None, tree)

    model = TimeConstrainedRegressor(
        learner, time_limit=8, scoring=scoring, backend=clock, progress=False, random_state=0
    ).fit(X, y + 0.1 * X[:, 0])

    assert model.time_used_ <= 8
    assert model.n_rows_trained_ >= 2000
    value, low, high = model.score_estimate_
    assert low < value < high


def test_the_area_under_the_curve_is_estimated(unseen):
    X, y = data(20_000, 0)
    costly, clock = ProbabilisticCostly, KillableInline()
    learner = costly(lambda X, y: clock.clock.advance(1e-3 * len(X)), lambda X: None, GaussianNB())

    model = TimeConstrainedClassifier(
        learner, time_limit=8, scoring="roc_auc", backend=clock, progress=False, random_state=0
    ).fit(X, y > 2)

    value, low, high = model.score_estimate_
    assert low < value < high
    assert model.time_used_ <= 8


def test_weights_reach_the_learner_with_their_rows():
    X, y = data(20_000, 0)
    weights = np.where(y == 0, 50.0, 1.0)
    seen = []

    class Weighing(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append((np.asarray(y), np.asarray(sample_weight)))
            return super().fit(X, y, sample_weight)

    TimeConstrainedClassifier(Weighing(), time_limit=30, backend=Inline(), progress=False).fit(
        X, y, sample_weight=weights
    )

    assert len(seen) >= 2
    for labels, given in seen:
        np.testing.assert_array_equal(given > 1, labels == 0)


@pytest.mark.parametrize("how", ["groups", "last"])
def test_groups_and_rows_in_order_of_time_keep_their_validation_rows_from_all_lessons(how):
    X, y = data(6000, 0)
    groups, seen = np.arange(6000) // 10, []
    X = np.column_stack([np.arange(6000), X])

    class Watching(GaussianNB):
        def fit(self, X, y):
            seen.append(X[:, 0].astype(int))
            return super().fit(X, y)

    settings = {"validation": "last"} if how == "last" else {}
    model = TimeConstrainedClassifier(Watching(), time_limit=30, backend=Inline(), progress=False, **settings)
    model.fit(X, y, **({"groups": groups} if how == "groups" else {}))

    every_row = max((rows for rows in seen if len(rows) < 6000), key=len)
    judged = np.setdiff1d(np.arange(6000), every_row)
    assert model.score_estimate_ is not None
    assert len(judged) >= 0.05 * 6000
    assert np.max(every_row) < judged.min() if how == "last" else not np.isin(groups[judged], groups[every_row]).any()


def test_a_first_lesson_that_does_not_end_raises_no_model_in_time(pools):
    with pytest.raises(NoModelInTime, match="training on 250 rows"):
        a_session(*pools[0], lambda X, y: 100, limit=5, teacher=Auto())


@pytest.mark.parametrize("limit", [0.05, 0.3, 1, 3])
def test_a_time_limit_for_little_more_than_the_first_lesson_is_kept(pools, limit):
    model = a_session(*pools[0], per_row(1e-4), limit=limit, teacher=Auto())

    assert model.time_used_ <= limit
    assert model.n_rows_trained_ >= 250


# Learners that can stop early


class StepwiseLearner(ClassifierMixin, BaseEstimator):
    """Learner of a hundred steps, each with a cost proportional to the rows; it improves with rows and steps."""

    clock = FakeClock()

    def fit(self, X, y):
        self.take_steps(X, y, lambda: False)
        return self

    def take_steps(self, X, y, must_stop):
        self.classes_, self.rows_, self.steps_ = np.unique(y), len(X), 0
        while self.steps_ < 100 and (self.steps_ == 0 or not must_stop()):
            self.clock.advance(1e-5 * len(X))
            self.steps_ += 1

    def predict(self, X):
        self.clock.advance(1e-6 * len(X))
        work = self.steps_ * self.rows_ / 1e5
        return np.where(X[:, 1] < 0.5 + 0.4 * work / (1 + work), X[:, 0], 1 - X[:, 0]).astype(int)


def stop_between_steps(learner, X, y, stop_signal, params):
    learner.take_steps(X, y, stop_signal.is_set)
    stop_signal.skipped_seconds = (100 - learner.steps_) * 1e-5 * len(X)


register_early_stopping(StepwiseLearner, stop_between_steps)


def fit_stepwise(rows, limit):
    X = np.column_stack([np.arange(rows) % 2, np.random.default_rng(0).random(rows)])
    backend = Inline(clock=StepwiseLearner.clock)
    settings = {"time_limit": limit, "backend": backend, "progress": False, "random_state": 0}
    return TimeConstrainedClassifier(StepwiseLearner(), **settings).fit(X, np.arange(rows) % 2)


@pytest.mark.parametrize("rows", [20_000, 200_000])
@pytest.mark.parametrize("limit", [1, 5, 20])
def test_a_learner_that_can_stop_early_ends_by_itself_and_its_last_model_wins(rows, limit):
    model = fit_stepwise(rows, limit)

    assert model.time_used_ <= limit
    last = model.history_[-1]
    assert last.rows == model.n_rows_trained_
    assert last.best
    assert model.score_estimate_ is not None
    assert model.lost_seconds_ == 0


def test_a_small_pool_keeps_the_deadline():
    model = fit_stepwise(400, limit=0.3)

    assert model.time_used_ <= 0.3
    assert model.n_rows_trained_ == 360
    assert model.score_estimate_ is not None
    assert 1 <= model.best_estimator_.steps_ < 100


class TimedTree(DecisionTreeClassifier):
    """A tree that takes 10 µs a row by a fake clock."""

    clock = FakeClock()

    # A forest calls no public method of its trees when it fits them.
    def _fit(self, X, *args, **kwargs):
        self.clock.advance(1e-5 * len(X))
        return super()._fit(X, *args, **kwargs)


class TimedForest(RandomForestClassifier):
    """A forest whose trees move a fake clock."""

    def __init__(self, n_estimators=100, *, random_state=None):
        super().__init__(n_estimators, random_state=random_state)
        self.estimator = TimedTree()


def test_a_forest_that_would_take_forever_ends_by_itself_and_its_last_model_wins(rows):
    X, y = rows[0][:5000], rows[1][:5000]
    backend = Inline(clock=TimedTree.clock)

    settings = {"time_limit": 2, "backend": backend, "progress": False, "random_state": 0}
    model = TimeConstrainedClassifier(TimedForest(10**5), **settings).fit(X, y)

    assert model.time_used_ <= 2
    assert model.history_[-1].rows == model.n_rows_trained_
    assert 1 <= len(model.best_estimator_.estimators_) < 10**5
