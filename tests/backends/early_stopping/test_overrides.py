"""Changes to a learner last only as long as its fit."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from fitwithin.backends._early_stopping.several_calls import WarningRecorder, must_fit_in_one_call, save_random_state
from fitwithin.backends._early_stopping.stop_signal import preserve_attributes


def test_attributes_are_restored_after_an_error():
    forest = RandomForestClassifier(7)

    with pytest.raises(ValueError, match="nothing"), preserve_attributes(forest, "n_estimators", "warm_start"):
        forest.set_params(n_estimators=1, warm_start=True).set_params(nothing=1)

    assert (forest.n_estimators, forest.warm_start) == (7, False)


def test_an_overridden_method_is_restored_after_an_error():
    forest = RandomForestClassifier(7)

    def override_and_fail():
        with preserve_attributes(forest, "fit"):
            forest.fit = lambda: 1 / 0
            forest.fit()

    with pytest.raises(ZeroDivisionError):
        override_and_fail()

    assert "fit" not in vars(forest)
    assert forest.fit.__func__ is RandomForestClassifier.fit


@pytest.mark.parametrize("state", [None, np.random.RandomState(3), np.random.RandomState(np.random.PCG64(3))])
def test_a_random_state_is_restored(state):
    generator = np.random if state is None else state
    restore = save_random_state(state)
    first = generator.randint(10**9, size=3)
    restore()

    np.testing.assert_array_equal(generator.randint(10**9, size=3), first)


def test_an_integer_random_state_needs_no_restoring():
    save_random_state(np.int64(3))()


def test_only_warnings_of_the_last_call_are_shown():
    recorder = WarningRecorder()
    for number in range(3):
        recorder.record(lambda number=number: warnings.warn(f"call {number}", UserWarning, stacklevel=1))

    with pytest.warns(UserWarning, match="call 2") as seen:
        recorder.show()

    assert len(seen) == 1


def test_a_recorded_warning_can_be_left_out():
    recorder = WarningRecorder()
    recorder.record(lambda: warnings.warn("about us", UserWarning, stacklevel=1))

    recorder.show(unless=lambda warning: "us" in str(warning.message))


def test_a_fit_that_continues_an_earlier_one_is_made_in_one_call():
    forest = RandomForestClassifier(2, warm_start=True)
    assert not must_fit_in_one_call(forest, 2)

    forest.fit([[0], [1]], [0, 1])

    assert must_fit_in_one_call(forest, 2)
    assert not must_fit_in_one_call(forest.set_params(warm_start=False), 2)


@pytest.mark.parametrize("steps", [1, 0, -3, 2.5, "many", None])
def test_a_fit_with_an_indivisible_number_of_steps_is_made_in_one_call(steps):
    assert must_fit_in_one_call(RandomForestClassifier(), steps)
