"""What the next round will take."""

import json
import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.cost import CostModel, LearnerTraits

seconds = st.just(0.0) | st.floats(1e-9, 1e5)


def a_round(rows=100, *, fit=1.0, handover=0.0, exam=0.0, save=0.0):
    """The seconds of a round; those of saving and loading the model together."""
    return SimpleNamespace(rows=rows, fit=fit, handover=handover, exam=exam, save=save)


def a_model(*rounds, is_started=True):
    """What is known after some rounds; by default the learner's process was started before them."""
    model = CostModel()
    if is_started:
        model.observe_handover(1, math.inf)
    for finished in rounds:
        model.observe_fit(finished.rows, finished.fit)
        model.observe_handover(finished.rows, finished.handover)
        if finished.exam:
            model.observe_exam(10, finished.exam)
        if finished.save:
            model.observe_save(finished.rows, finished.save)
    return model


def observe_round(model, finished, load=0.0):
    model.observe_handover(finished.rows, finished.seconds_handover)
    model.observe_exam(finished.examined, finished.seconds_exam, finished.rows)
    if finished.best:
        model.observe_save(finished.rows, finished.seconds_model + load)


def a_learner(*lessons):
    """What is known of a learner after lessons of so many rows and seconds."""
    model = CostModel()
    for rows, seconds in lessons:
        model.observe_fit(rows, seconds)
    return model


def test_little_is_predicted_before_the_first_round():
    assert CostModel().fit_seconds(100) == 0.0
    assert 0.0 < CostModel().other_seconds(100) < 0.1


def test_a_lesson_of_the_same_size_is_expected_to_take_as_long_again():
    model = a_model(a_round(fit=3.0, handover=0.5, exam=0.25, save=0.1875))

    assert model.fit_seconds(100) == 3.0
    assert model.other_seconds(100) == 0.9375


def test_training_grows_a_little_faster_than_the_rows_and_the_rest_with_them():
    model = a_model(a_round(fit=3.0, exam=1.0))

    assert 6.0 < model.fit_seconds(200) < 7.0
    assert model.other_seconds(200) == pytest.approx(2.0, abs=0.05)


def test_the_first_hand_over_is_not_scaled():
    waited_for_a_process = a_model(a_round(handover=5.0, exam=1.0), is_started=False).other_seconds(10_000)
    did_not_wait = a_model(a_round(handover=0.0, exam=1.0), is_started=False).other_seconds(10_000)

    assert waited_for_a_process - did_not_wait <= 5.0


def test_later_hand_overs_are_scaled_beyond_what_any_round_takes():
    rounds = a_round(), a_round(50, handover=0.0, fit=50.0), a_round(handover=5.0, fit=100.0)

    assert a_model(*rounds).other_seconds(200) == pytest.approx(10.0, abs=0.05)


def test_storing_and_loading_stay_in_the_prediction_after_a_round_that_stored_nothing():
    model = a_model(a_round(save=5.0), a_round())

    assert model.other_seconds(100) >= 5.0


MIB = 1 << 20


def test_a_model_takes_as_long_to_save_and_load_as_its_bytes_tell():
    model = CostModel()
    model.observe_save(1000, 1.0, 200 * MIB)
    model.observe_save(2000, 2.0, 400 * MIB)

    assert model.save_and_load_seconds(2000) == pytest.approx(2.0)
    assert model.save_and_load_seconds(8000) == pytest.approx(8.0, rel=0.1)


def test_a_small_model_says_nothing_about_the_seconds_for_each_byte():
    model = CostModel()
    model.observe_save(1000, 5.0, 1000)

    # The 5 s are a pause of the machine: a model of a hundred times the bytes takes no five hundred.
    assert model.save_and_load_seconds(100_000) == pytest.approx(5.0, abs=0.01)


def test_a_model_whose_bytes_do_not_grow_with_the_rows_takes_as_long_whatever_its_rows():
    booster, tree = CostModel(LearnerTraits(model_growing_share=0.0)), CostModel()
    for model in (booster, tree):
        model.observe_save(1000, 2.0, 400 * MIB)

    assert booster.save_and_load_seconds(100_000) == pytest.approx(2.0)
    assert tree.save_and_load_seconds(100_000) == pytest.approx(200.0)


def test_nothing_is_reserved_for_saving_before_a_model_was_saved():
    assert CostModel().save_and_load_seconds(1000) == 0.0


def test_the_exams_of_a_lesson_are_added_up_and_those_of_the_one_before_forgotten():
    model = a_model(a_round(exam=7.0), a_round())
    assert model.other_seconds(100) == pytest.approx(0.0, abs=0.05)

    for seconds in (1.0, 2.0):
        model.observe_exam(10, seconds)

    assert model.other_seconds(100) == pytest.approx(3.0, abs=0.05)
    assert model.other_seconds(200) == pytest.approx(6.0, abs=0.05)


def test_the_price_of_hand_over_and_storing_goes_with_the_rows_only_beyond_what_any_round_takes():
    small = a_model(a_round(handover=0.2))
    large = a_model(a_round(handover=0.2), a_round(10_000, fit=100.0, handover=2.2))

    assert small.overhead_seconds(10_000) == pytest.approx(0.2)
    assert large.overhead_seconds(20_000) == pytest.approx(4.2, abs=0.1)


def test_the_price_beside_training_is_a_part_of_it_at_most():
    model = a_model(a_round(), a_round(handover=0.0), a_round(101, fit=1.0, handover=9.0))

    assert model.overhead_seconds(10_000) <= 9.0 + 0.25 * model.fit_seconds(10_000)


def test_of_two_lessons_of_the_same_size_the_last_one_counts():
    assert a_learner((100, 3.0), (100, 5.0)).fit_seconds(100) == 5.0


def test_nothing_is_said_to_take_no_time_before_the_first_lesson():
    assert CostModel().fit_seconds(100) == 0.0


def test_an_exam_takes_as_long_for_each_row_as_the_last_one_did():
    model = CostModel()
    model.observe_exam(1000, 9.0)
    model.observe_exam(100, 2.0)

    assert model.exam_seconds(50) == pytest.approx(1.0)


rounds = st.builds(
    a_round,
    rows=st.integers(1, 10**6),
    fit=seconds,
    handover=seconds,
    exam=seconds,
    save=seconds,
)


@given(st.lists(rounds, min_size=1, max_size=8), st.booleans(), st.integers(1, 10**7))
def test_a_prediction_is_finite(finished, is_started, rows):
    model = a_model(*finished, is_started=is_started)

    assert 0 <= model.fit_seconds(rows) < math.inf
    assert 0 <= model.other_seconds(rows) < math.inf


@given(st.lists(rounds, min_size=1, max_size=8), st.booleans(), st.integers(1, 10**7), st.integers(0, 10**7))
def test_more_rows_never_take_less_time(finished, is_started, rows, more):
    model = a_model(*finished, is_started=is_started)

    for seconds in (model.fit_seconds, model.other_seconds):
        assert seconds(rows) <= seconds(rows + more) * (1 + 1e-9)


@given(st.lists(rounds, min_size=1, max_size=8), rounds)
def test_a_prediction_follows_the_last_round_unless_a_larger_fit_was_faster(finished, last):
    newest = {one.rows: one.fit for one in [*finished, last] if one.rows >= last.rows}

    assert a_model(*finished, last).fit_seconds(last.rows) == pytest.approx(min(newest.values()))


def test_a_prediction_does_not_change_what_is_learned():
    model = a_model(a_round(10, exam=1.0))

    assert model.fit_seconds(20) == model.fit_seconds(20)
    assert model.other_seconds(20) == model.other_seconds(20)


def test_observations_that_are_restored_predict_the_same():
    cost, other = CostModel(), CostModel()
    for rows, seconds in ((100, 1.0), (1000, 5.0)):
        cost.observe_fit(rows, seconds)
        cost.observe_handover(rows, seconds / 10)
        cost.observe_exam(50, seconds / 5, rows)
        cost.observe_save(rows, seconds / 100, 1000 * rows)

    other.restore(json.loads(json.dumps(cost.observations())))

    for rows in (100, 1000, 3000):
        assert other.fit_seconds(rows) == cost.fit_seconds(rows)
        assert other.other_seconds(rows) == cost.other_seconds(rows)
    assert other.fits.deviation(3000) == cost.fits.deviation(3000)
    assert other.exam_seconds(7) == cost.exam_seconds(7)
    assert other.exam_seconds(7, 3000) == cost.exam_seconds(7, 3000)


def test_exams_take_longer_if_they_did_with_more_training_rows_and_no_longer_otherwise():
    neighbors, sorted_neighbors, tree = CostModel(), CostModel(), CostModel()
    for rows in (1000, 2000):
        neighbors.observe_exam(100, 1e-5 * rows, rows)
        sorted_neighbors.observe_exam(100, 1e-3 * rows**0.5, rows)
        tree.observe_exam(100, 0.01, rows)

    assert neighbors.exam_seconds(100, 1500) == pytest.approx(0.015)
    assert neighbors.exam_seconds(100, 8000) == pytest.approx(0.08)
    assert 1e-3 * 8000**0.5 < sorted_neighbors.exam_seconds(100, 8000) < 1e-3 * 2000**0.5 * 4
    assert tree.exam_seconds(100, 8000) == pytest.approx(0.01)
    assert neighbors.exam_seconds(100) == pytest.approx(0.02), "by default, of the last model"
