"""Auto: the default."""

import itertools

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from fitwithin import NoModelInTime, TimeConstrainedClassifier
from fitwithin.backends import Inline, register_early_stopping
from fitwithin.teachers import Auto, Deck, Exam
from fitwithin.testing import FakeClock
from simulated_sessions import a_session
from teacher_driver import driven, every_fifth


def taught(size, answer=every_fifth, *, seed=0, strata=None, **settings):
    return driven(Auto(**settings).teach(Deck(size, np.random.default_rng(seed), strata)), answer)


def data(rows, seed, noise=0.0):
    """Five classes, a boundary that takes many rows to learn; with noise, some labels are drawn by lot."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 6)).astype(np.float32)
    y = ((np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] * 3 + 0.3 * rng.normal(size=rows)) * 2).astype(int).clip(0, 4)
    return X, np.where(rng.random(rows) < noise, rng.integers(0, 5, size=rows), y)


# What it asks for


@pytest.mark.parametrize("size", [1, 2, 49, 500])
def test_a_small_pool_is_taught_whole(size):
    session = taught(size)

    (lesson,) = session.lessons
    assert sorted(lesson.tolist()) == list(range(size))
    assert not session.exams
    assert session.result == "all rows"


@pytest.mark.parametrize(("size", "rows"), [(501, 50), (2500, 250), (50_000, 250), (100_000, 500), (1_000_000, 5000)])
def test_the_first_lesson_is_a_share_of_the_pool_and_some_rows_at_least(size, rows):
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


SETTINGS = [{}, {"emphasis": True}, {"emphasis": False}, {"alpha": 0.0}, {"alpha": 1.0, "emphasis": True}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("size", [501, 3000, 7000, 30_000])
def test_without_a_limit_it_ends_with_all_rows_but_those_that_judge_and_audit(settings, size):
    session = taught(size, **settings)

    kept_back = {
        row for exam in session.exams if exam.purpose in ("validation", "holdout") for row in exam.rows.tolist()
    }
    assert session.result == "all rows"
    assert len(session.lessons[-1]) + len(kept_back) == size


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("size", [501, 7000])
def test_judges_and_auditors_are_never_taught_and_are_not_the_same_rows(settings, size):
    session = taught(size, **settings)

    rows = {row for lesson in session.lessons for row in lesson.tolist()}
    judges = {row for exam in session.exams if exam.purpose == "validation" for row in exam.rows.tolist()}
    auditors = {row for exam in session.exams if exam.purpose == "holdout" for row in exam.rows.tolist()}
    assert judges
    assert auditors
    assert not rows & judges
    assert not rows & auditors
    assert not judges & auditors


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("size", [501, 7000, 30_000])
def test_no_row_comes_twice_in_a_lesson_or_an_exam(settings, size):
    for request in taught(size, **settings).asked:
        assert len(np.unique(request.rows)) == len(request.rows)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_lesson_after_the_trial_holds_the_one_before_it(settings):
    lessons = [set(lesson.tolist()) for lesson in taught(20_000, **settings).lessons]

    on_trial = 3 if settings.get("emphasis", "trial") == "trial" else 0
    for before, after in itertools.pairwise(lessons[on_trial:]):
        assert before < after


def test_every_model_is_judged_by_the_same_rows_in_the_end():
    panels = []
    for request in taught(20_000).asked:
        if not isinstance(request, Exam):
            panels.append([])
        elif request.purpose == "validation":
            panels[-1] = request.rows.tolist()

    assert len(panels) >= 4
    assert all(panel == panels[0] for panel in panels)


@pytest.mark.parametrize("size", [3000, 7000, 20_000])
def test_with_emphasis_the_lesson_that_takes_all_rows_comes_once(size):
    sizes = [len(lesson) for lesson in taught(size, emphasis=True).lessons]

    # The last step is at least half of what there is, and nothing comes between it and everything.
    assert sizes == [len(lesson) for lesson in taught(size, emphasis=False).lessons]


@pytest.mark.parametrize("alpha", [-0.1, 1.5, np.nan, "a fifth", None])
def test_an_alpha_that_is_no_share_is_refused(alpha):
    with pytest.raises(ValueError, match=r"alpha must be a number in \[0, 1\]"):
        taught(100, alpha=alpha)


@pytest.mark.parametrize("emphasis", ["yes", None, 2, ""])
def test_an_emphasis_of_another_kind_is_refused(emphasis):
    with pytest.raises(ValueError, match=f"emphasis must be 'trial', True or False; got {emphasis!r}"):
        taught(100, emphasis=emphasis)


def test_the_best_model_is_returned():
    assert Auto().returns == "best"


# Emphasis


def searches(session):
    """Exams that are for mistakes alone, each with the lesson before it."""
    return [exam for exam in session.exams if exam.purpose == "mistakes"]


def test_without_emphasis_nobody_looks_for_mistakes_and_there_is_no_trial():
    session = taught(20_000, emphasis=False)

    assert all(exam.purpose in ("validation", "holdout") for exam in session.exams)


def test_with_emphasis_there_are_mistakes_in_every_lesson_but_the_first_and_no_trial():
    session = taught(20_000, emphasis=True)

    assert not any(exam.purpose == "score" for exam in session.exams)
    for before, after in itertools.pairwise(session.lessons[:-1]):
        new = np.setdiff1d(after, before)
        assert np.count_nonzero(new % 5 == 0) > 0.3 * len(new)


def test_a_trial_is_judged_twice_by_the_same_rows_which_were_not_taught():
    session = taught(20_000)

    scored = [exam.rows for exam in session.exams if exam.purpose == "score"]
    assert len(scored) == 2
    assert (scored[0] == scored[1]).all()
    assert not np.isin(scored[0], np.concatenate(session.lessons[:3])).any()


class _Grades:
    """Answers that get better with every lesson, or worse from one on."""

    def __init__(self, *errors):
        self.errors = errors
        self.lesson = 0

    def drive(self, **settings):
        steps = Auto(**settings).teach(Deck(60_000, np.random.default_rng(0)))
        return driven(self._counting(steps), self)

    def _counting(self, steps):
        answers = None
        while True:
            try:
                request = steps.send(answers)
            except StopIteration as end:
                return end.value
            self.lesson += not isinstance(request, Exam)
            answers = yield request

    def __call__(self, rows):
        return rows % 1000 < 1000 * self.errors[min(self.lesson, len(self.errors)) - 1]


def test_emphasis_goes_on_while_the_score_does_not_drop():
    assert len(searches(_Grades(0.5, 0.4, 0.3, 0.2).drive(emphasis=True))) >= 3


def test_emphasis_is_given_up_after_the_first_lesson_with_a_lower_score():
    session = _Grades(0.2, 0.4).drive(emphasis=True)

    assert len(session.lessons) >= 4
    assert len(searches(session)) == 1


@pytest.mark.parametrize(("errors", "goes_on"), [((0.5, 0.4, 0.3, 0.2), True), ((0.5, 0.3, 0.4, 0.2), False)])
def test_the_trial_decides_whether_there_are_more_searches_than_its_own(errors, goes_on):
    assert (len(searches(_Grades(*errors).drive())) > 1) is goes_on


class Impressionable(ClassifierMixin, BaseEstimator):
    """Right on rows that are not too hard for it; what hard lessons do to it depends on its temper."""

    def __init__(self, clock, temper):
        self.clock = clock
        self.temper = temper

    def fit(self, X, y):
        self.clock().advance(1e-3 * len(X))
        self.classes_ = np.unique(y)
        self.skill_ = 0.7 + self.temper * (X[:, 1].mean() - 0.5)
        return self

    def predict(self, X):
        return np.where(X[:, 1] < self.skill_, X[:, 0], 1 - X[:, 0]).astype(int)


@pytest.mark.parametrize(("temper", "emphasis"), [(1.0, True), (-1.0, False)], ids=["helped", "hurt"])
def test_a_learner_gets_mistakes_after_the_trial_if_they_help_it_and_none_if_they_hurt(temper, emphasis):
    clock, rng = FakeClock(), np.random.default_rng(0)
    X = np.column_stack([np.arange(40_000) % 2, rng.random(40_000)])

    # For one seed in thirty a model after the trial is a little worse by chance, and emphasis ends there too.
    settings = {"time_limit": 40, "backend": Inline(clock=clock), "progress": False, "random_state": 0}
    model = TimeConstrainedClassifier(Impressionable(lambda: clock, temper), **settings).fit(X, np.arange(40_000) % 2)

    later = model.history_[3:]
    assert later
    assert all((finished.new_mistakes > 0) is emphasis for finished in later)


# Sessions on a clock that only the learner moves


def seconds_a_row(each):
    return lambda X, y: each * len(X)


def by_chance(seed):
    rng = np.random.default_rng(seed)
    return lambda X, y: 4e-4 * len(X) * float(np.exp(rng.normal(0, 0.7)))


COSTS = {
    "quadratic": lambda seed: lambda X, y: 2.5e-8 * len(X) ** 2,
    "two seconds fixed": lambda seed: lambda X, y: 2 + 4e-4 * len(X),
    "random": by_chance,
    "by labels": lambda seed: lambda X, y: 2e-4 * len(X) * (1 + 20 * (y == 4).mean()),
}
LIMITS, SEEDS = (2.5, 5, 10, 20), range(3)


@pytest.fixture(scope="module")
def pools():
    return [data(20_000, seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def unseen():
    return data(20_000, 99)


def test_the_same_seed_and_the_same_clock_give_the_same_history(pools):
    one, other = (a_session(*pools[0], seconds_a_row(2e-4), limit=5, teacher=Auto(), seed=3).history_ for _ in range(2))

    assert len(one) >= 3
    assert one == other


@pytest.mark.parametrize("cost", COSTS)
def test_whatever_lessons_cost_it_is_in_time_and_about_as_good_as_doubling(cost, pools, unseen):
    scores = {"auto": [], "double": []}
    for teacher, limit, seed in itertools.product(scores, LIMITS, SEEDS):
        model = a_session(*pools[seed], COSTS[cost](seed), limit=limit, teacher=teacher, seed=seed)
        assert model.time_used_ <= limit
        scores[teacher].append(model.score(*unseen))

    # Over this grid with five seeds the difference was -0.001, +0.024, 0.000 and +0.003, its standard error up to
    # 0.004: the judges and auditors, 8 % of the rows, are missed where there is time for all of them, and a black box
    # whose cost is not foreseen may run into the deadline with its last lesson.
    assert np.mean(scores["auto"]) >= np.mean(scores["double"]) - 0.006


def flipped(seed, emphasis="trial", **settings):
    """A session with time for a trial and for most of its rows; a label drawn by lot is wrong four times in five."""
    pool = data(30_000, seed, noise=0.25)
    return a_session(*pool, seconds_a_row(2e-4), limit=7, teacher=Auto(emphasis=emphasis), seed=seed, **settings)


@pytest.mark.parametrize("learner", [DecisionTreeClassifier(random_state=0), GaussianNB()], ids=["tree", "bayes"])
def test_flipped_labels_do_no_harm(learner, unseen):
    seeds = range(3)

    on_trial = [flipped(seed, learner=learner).score(*unseen) for seed in seeds]
    plain = [flipped(seed, False, learner=learner).score(*unseen) for seed in seeds]

    # Two trees that learned the same number of rows are about so far apart, by chance.
    assert np.mean(on_trial) >= np.mean(plain) - 0.01


def test_an_overfitting_learner_is_not_fed_with_flipped_labels():
    fed = []
    for seed in range(8):
        _, plain, hard = flipped(seed, on_round=lambda finished: finished.number == 3).history_
        assert plain.rows == hard.rows
        # Both sat the same exams, but for the search for mistakes that follows a trial which was won.
        fed.append(hard.examined > plain.examined)

    # Where the two are close chance decides; most trials must see it.
    assert sum(fed) <= 2


def test_the_interval_holds_the_score_on_unseen_rows_about_19_times_in_20(unseen):
    learner, covered = DecisionTreeClassifier(max_depth=5, random_state=0), []
    for seed in range(200):
        model = a_session(*data(3000, seed), seconds_a_row(1e-3), limit=1.5, teacher=Auto(), seed=seed, learner=learner)
        _, low, high = model.score_estimate_
        covered.append(low <= model.score(*unseen) <= high)

    assert 0.90 <= np.mean(covered) <= 0.99


def test_a_score_of_the_users_own_decides_and_is_estimated(unseen):
    X, y = data(1500, 0)

    model = a_session(X, y, seconds_a_row(1e-3), limit=1.5, teacher=Auto(emphasis=False), scoring="balanced_accuracy")

    value, low, high = model.score_estimate_
    assert low < value < high
    assert [finished.rows for finished in model.history_ if finished.best][-1] == model.n_rows_taught_


def test_a_first_lesson_that_does_not_end_is_no_model_in_time(pools):
    with pytest.raises(NoModelInTime, match="training on 250 rows"):
        a_session(*pools[0], lambda X, y: 100, limit=5, teacher=Auto())


@pytest.mark.parametrize("limit", [0.05, 0.3, 1, 3])
def test_a_limit_that_allows_little_more_than_the_first_lesson_is_kept(pools, limit):
    model = a_session(*pools[0], seconds_a_row(1e-4), limit=limit, teacher=Auto())

    assert model.time_used_ <= limit
    assert model.n_rows_taught_ >= 250


# Learners that can be asked to stop


class Steps(ClassifierMixin, BaseEstimator):
    """A hundred steps over its rows, each as long as there are rows; the more it has seen, the better it is."""

    clock = FakeClock()

    def fit(self, X, y):
        self.go(X, y, lambda: False)
        return self

    def go(self, X, y, is_over):
        self.classes_, self.rows_, self.steps_ = np.unique(y), len(X), 0
        while self.steps_ < 100 and (self.steps_ == 0 or not is_over()):
            self.clock.advance(1e-5 * len(X))
            self.steps_ += 1

    def predict(self, X):
        self.clock.advance(1e-6 * len(X))
        work = self.steps_ * self.rows_ / 1e5
        return np.where(X[:, 1] < 0.5 + 0.4 * work / (1 + work), X[:, 0], 1 - X[:, 0]).astype(int)


def stop_between_steps(learner, X, y, stop_signal, params):
    learner.go(X, y, stop_signal.is_set)
    stop_signal.skipped_seconds = (100 - learner.steps_) * 1e-5 * len(X)


register_early_stopping(Steps, stop_between_steps)


def in_steps(rows, limit):
    X = np.column_stack([np.arange(rows) % 2, np.random.default_rng(0).random(rows)])
    settings = {"time_limit": limit, "backend": Inline(clock=Steps.clock), "progress": False, "random_state": 0}
    return TimeConstrainedClassifier(Steps(), **settings).fit(X, np.arange(rows) % 2)


@pytest.mark.parametrize("rows", [20_000, 200_000])
@pytest.mark.parametrize("limit", [1, 5, 20])
def test_a_learner_that_can_be_stopped_ends_by_itself_and_its_last_model_counts(rows, limit):
    model = in_steps(rows, limit)

    assert model.time_used_ <= limit
    last = model.history_[-1]
    assert last.rows == model.n_rows_taught_
    assert last.best
    assert model.score_estimate_ is not None


def test_a_small_pool_is_no_reason_to_miss_the_deadline():
    model = in_steps(400, limit=0.3)

    assert model.time_used_ <= 0.3
    assert model.n_rows_taught_ == 400
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


def test_a_forest_that_would_take_forever_ends_by_itself_and_its_last_model_counts(rows):
    X, y = rows[0][:5000], rows[1][:5000]
    backend = Inline(clock=TimedTree.clock)

    settings = {"time_limit": 2, "backend": backend, "progress": False, "random_state": 0}
    model = TimeConstrainedClassifier(TimedForest(10**5), **settings).fit(X, y)

    assert model.time_used_ <= 2
    assert model.history_[-1].rows == model.n_rows_taught_
    assert 1 <= len(model.best_estimator_.estimators_) < 10**5
