"""Models are examined on the held-out rows of the deck, whatever the teacher."""

import numpy as np
import pytest

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import OutOfMemory
from fitwithin._core.rounds import ResumePoint
from fitwithin.teachers import OSCT, SGD, TCT, Auto, Deck, Double, Exam, Full, Lesson, LessonReport, TCTActive
from fitwithin.teachers._validation import examine_held_out
from fitwithin.testing import FakeClock
from teacher_driver import Driver, exams_of

BEST = [TCT(), TCTActive(), OSCT(returns="best", first=40), Auto()]
LAST = [Double(), Full(), OSCT(first=40)]
VALIDATION, HOLDOUT = np.arange(4000, 4500), np.arange(4500, 5000)


def make_deck(costs=None):
    deck = Deck(5000, np.random.default_rng(0), (np.arange(5000) % 3).astype(np.uint8), costs=costs)
    deck.hold_out(VALIDATION, HOLDOUT)
    return deck


def requests_of(teacher, deck):
    """Return the requests of a teacher as a session has them carried out."""
    requests = teacher.teach(deck)
    if deck.validation_rows is None or getattr(teacher, "validates", False):
        return requests
    return examine_held_out([requests], deck, teacher.returns)[0]


def run(teacher, deck, most=60, driver=None):
    """Return the requests of a teacher whose models are wrong on every seventh row."""
    requests, answers, made = requests_of(teacher, deck), None, []
    driver = driver or Driver(lambda rows: rows % 7 == 0)
    while len(made) < most:
        try:
            request = requests.send(answers)
        except StopIteration as end:
            return made, end.value
        made.append(request)
        answers = driver.carry_out(request)
    return made, None


def purposes_by_lesson(made):
    """Return the purposes of the exams of each model, without searches for mistakes."""
    found = []
    for request in made:
        if isinstance(request, Lesson):
            found.append([exam.purpose for exam in request.exams])
        elif request.purpose != "mistakes":
            found[-1].append(request.purpose)
    return found


@pytest.mark.parametrize("teacher", [*BEST, *LAST, SGD()], ids=repr)
def test_no_held_out_row_is_taught_before_the_last_fit_or_searched_for_mistakes(teacher):
    made, _ = run(teacher, make_deck())

    if isinstance(made[-1], Lesson) and made[-1].refit:
        made.pop()
    for request in [*made, *exams_of(made)]:
        if isinstance(request, Lesson) or request.purpose not in ("validation", "holdout"):
            assert request.rows.max() < 4000


@pytest.mark.parametrize("teacher", BEST, ids=repr)
def test_every_model_of_a_teacher_that_returns_its_best_is_examined_on_both(teacher):
    made, _ = run(teacher, make_deck())

    purposes = purposes_by_lesson(made)
    assert len(purposes) > 1
    assert all({"holdout", "validation"} <= set(found) for found in purposes[:-1])
    for exam in exams_of(made):
        if exam.purpose == "validation":
            assert np.isin(exam.rows, VALIDATION).all()
        if exam.purpose == "holdout":
            assert np.isin(exam.rows, HOLDOUT).all()


@pytest.mark.parametrize("teacher", LAST, ids=repr)
def test_the_last_model_is_examined_on_holdout_rows_only(teacher):
    made, _ = run(teacher, make_deck())

    assert all(set(found) == {"holdout"} for found in purposes_by_lesson(made)[:-1])


def test_a_model_that_continues_is_not_examined_in_every_lesson():
    made, _ = run(SGD(), make_deck())

    assert made
    assert all(isinstance(request, Lesson) and not request.exams for request in made)


def test_without_held_out_rows_nothing_is_added():
    deck, other = Deck(5000, np.random.default_rng(0)), Deck(5000, np.random.default_rng(0))
    made, reason = run(Double(), deck)

    assert [request.rows.tolist() for request in made] == [lesson.rows.tolist() for lesson in Double().teach(other)]
    assert reason == "all rows"


def test_with_enough_time_every_model_is_examined_on_all_held_out_rows():
    made, _ = run(TCT(first=100), make_deck())

    for lesson in made:
        if isinstance(lesson, Lesson):
            exams = [(exam.purpose, len(exam.rows), exam.seconds) for exam in lesson.exams]
            assert exams == [("holdout", 500, None), ("validation", 500, None)]


def test_slow_predictions_mean_fewer_rows_and_the_same_for_every_model():
    clock = FakeClock()
    driver = Driver(lambda rows: rows % 7 == 0, exam=0.004, clock=clock)
    made, _ = run(TCT(first=100), make_deck(CostEstimates(Budget(100, clock=clock))), driver=driver)

    exams = [exam for exam in exams_of(made) if exam.purpose == "validation"]
    sizes = [len(exam.rows) for exam in driver.answered if exam.purpose == "validation"]
    # 1.5 seconds are enough for 375 rows; the first 256 leave too little time for as many again.
    assert (len(exams[0].rows), exams[0].seconds) == (500, 1.5)
    assert len(sizes) > 2
    assert set(sizes) == {len(exam.rows) for exam in exams[1:]} == {256}
    assert {exam.seconds for exam in exams[1:]} == {None}


def test_exams_that_a_teacher_asks_for_in_its_lessons_stay():
    class Asking:
        returns = "best"

        def teach(self, deck):
            report = yield Lesson(deck.deal(100), (Exam(deck.deal(700)),))
            answers.append(report.answers["mistakes"])
            yield Lesson(deck.deal(100))
            return "all rows"

    answers = []
    made, _ = run(Asking(), make_deck())

    assert [(exam.purpose, len(exam.rows)) for exam in exams_of(made)] == [
        ("mistakes", 700),
        ("holdout", 500),
        ("validation", 500),
        ("holdout", 500),
        ("validation", 500),
    ]
    np.testing.assert_array_equal(answers[0].wrong, answers[0].rows % 7 == 0)


def test_a_fit_that_goes_on_examines_the_rows_of_the_earlier_fit_at_once():
    deck = make_deck()
    deck.resume_point = ResumePoint(np.arange(100), VALIDATION[:350], HOLDOUT[200:350])
    (lesson, *_), _ = run(TCT(first=100), deck)

    assert [(exam.purpose, len(exam.rows)) for exam in lesson.exams] == [("holdout", 350), ("validation", 350)]


def test_a_lack_of_memory_reaches_the_teacher_from_its_lessons_and_from_its_exams():
    class Frugal:
        returns = "best"

        def teach(self, deck):
            size = 1000
            while size > 200:
                try:
                    yield Lesson(deck.rows[:size])
                    yield Exam(deck.rows[size : 2 * size])
                    return "all rows"
                except OutOfMemory:
                    size //= 2
            return "memory"

    requests = requests_of(Frugal(), make_deck())
    error = OutOfMemory(2, 1)

    lesson = next(requests)
    assert len(lesson.rows) == 1000
    assert [exam.purpose for exam in lesson.exams] == ["holdout", "validation"]
    assert len(requests.throw(error).rows) == 500
    assert requests.send(LessonReport(0.0)).purpose == "mistakes"
    assert len(requests.throw(error).rows) == 250
    with pytest.raises(StopIteration, match="memory"):
        requests.throw(error)
