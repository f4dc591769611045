"""Auto: the default."""

import itertools

import numpy as np
import pytest

from driving import driven, every_fifth
from fitwithin.teachers import Auto, Deck


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

    kept_back = {row for exam in session.exams if exam.judges or exam.audits for row in exam.rows.tolist()}
    assert session.result == "all rows"
    assert len(session.lessons[-1]) + len(kept_back) == size


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("size", [501, 7000])
def test_judges_and_auditors_are_never_taught_and_are_not_the_same_rows(settings, size):
    session = taught(size, **settings)

    rows = {row for lesson in session.lessons for row in lesson.tolist()}
    judges = {row for exam in session.exams if exam.judges for row in exam.rows.tolist()}
    auditors = {row for exam in session.exams if exam.audits for row in exam.rows.tolist()}
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


def test_every_lesson_is_judged_by_the_same_rows_once_it_is_known_what_they_cost():
    panels = [exam.rows.tolist() for exam in taught(20_000).exams if exam.judges]

    assert all(panel == panels[1] for panel in panels[2:])
    assert panels[1][: len(panels[0])] == panels[0]


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
    return [exam for exam in session.exams if not (exam.judges or exam.audits or exam.scored)]


def test_without_emphasis_nobody_looks_for_mistakes_and_there_is_no_trial():
    session = taught(20_000, emphasis=False)

    assert all(exam.judges or exam.audits for exam in session.exams)


def test_with_emphasis_there_are_mistakes_in_every_lesson_but_the_first_and_no_trial():
    session = taught(20_000, emphasis=True)

    assert not any(exam.scored for exam in session.exams)
    for before, after in itertools.pairwise(session.lessons[:-1]):
        new = np.setdiff1d(after, before)
        assert np.count_nonzero(new % 5 == 0) > 0.3 * len(new)


def test_a_trial_is_judged_twice_by_the_same_rows_which_were_not_taught():
    session = taught(20_000)

    scored = [exam.rows for exam in session.exams if exam.scored]
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
            self.lesson += not hasattr(request, "judges")
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
