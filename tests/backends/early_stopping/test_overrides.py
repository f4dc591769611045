"""What is borrowed from a learner is given back."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from fitwithin.backends._early_stopping.steps import LastWarned, in_one_go, kept, replaced, rewinding


def test_parameters_come_back_after_an_error():
    forest = RandomForestClassifier(7)

    with pytest.raises(ValueError, match="nothing"), kept(forest, "n_estimators", "warm_start"):
        forest.set_params(n_estimators=1, warm_start=True).set_params(nothing=1)

    assert (forest.n_estimators, forest.warm_start) == (7, False)


def test_a_method_comes_back_after_an_error():
    forest = RandomForestClassifier(7)

    with pytest.raises(ZeroDivisionError), replaced(forest, "fit", lambda: 1 / 0):
        forest.fit()

    assert "fit" not in vars(forest)
    assert forest.fit.__func__ is RandomForestClassifier.fit


@pytest.mark.parametrize("state", [None, np.random.RandomState(3), np.random.RandomState(np.random.PCG64(3))])
def test_a_random_state_can_be_rewound(state):
    generator = np.random if state is None else state
    rewind = rewinding(state)
    first = generator.randint(10**9, size=3)
    rewind()

    np.testing.assert_array_equal(generator.randint(10**9, size=3), first)


def test_a_number_needs_no_rewinding():
    rewinding(np.int64(3))()


def test_only_the_last_call_warns():
    calls = LastWarned()
    for number in range(3):
        calls(lambda number=number: warnings.warn(f"call {number}", UserWarning, stacklevel=1))

    with pytest.warns(UserWarning, match="call 2") as seen:
        calls.repeat()

    assert len(seen) == 1


def test_a_warning_can_be_left_out():
    calls = LastWarned()
    calls(lambda: warnings.warn("about us", UserWarning, stacklevel=1))

    calls.repeat(unless=lambda warning: "us" in str(warning.message))


def test_a_fit_that_goes_on_from_an_earlier_one_is_done_in_one_go():
    forest = RandomForestClassifier(2, warm_start=True)
    assert not in_one_go(forest, 2)

    forest.fit([[0], [1]], [0, 1])

    assert in_one_go(forest, 2)
    assert not in_one_go(forest.set_params(warm_start=False), 2)


@pytest.mark.parametrize("steps", [1, 0, -3, 2.5, "many", None])
def test_a_number_of_steps_that_cannot_be_divided_is_done_in_one_go(steps):
    assert in_one_go(RandomForestClassifier(), steps)
