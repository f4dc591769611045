import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fitwithin.teachers._search.space import Choice, FloatRange, IntRange, Space, make_parameter

SEEDS = st.integers(0, 2**32 - 1)


@given(low=st.integers(1, 10**6), width=st.integers(0, 10**6), log=st.booleans(), seed=SEEDS)
def test_whole_numbers_are_drawn_within_the_range(low, width, log, seed):
    parameter = IntRange(low, low + width, log)

    value = parameter.rvs(random_state=np.random.RandomState(seed))

    assert type(value) is int
    assert parameter.nearest(value) == value


@given(low=st.floats(1e-9, 1e9), factor=st.floats(1, 1e9), log=st.booleans(), seed=SEEDS)
def test_floats_are_drawn_within_the_range(low, factor, log, seed):
    parameter = FloatRange(low, low * factor, log)

    value = parameter.rvs(random_state=np.random.RandomState(seed))

    assert type(value) is float
    assert parameter.nearest(value) == value


def test_a_logarithmic_range_draws_half_of_its_numbers_below_the_geometric_mean():
    random = np.random.RandomState(0)

    draws = [IntRange(1, 10_000, log=True).rvs(random_state=random) for _ in range(2000)]

    assert np.mean([draw <= 100 for draw in draws]) == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("log", [False, True])
def test_both_bounds_of_whole_numbers_are_drawn(log):
    random = np.random.RandomState(0)

    assert {IntRange(1, 3, log).rvs(random_state=random) for _ in range(100)} == {1, 2, 3}


@pytest.mark.parametrize(
    ("distribution", "parameter"),
    [
        (stats.uniform(2, 3), FloatRange(2.0, 5.0)),
        (stats.uniform(loc=2, scale=3), FloatRange(2.0, 5.0)),
        (stats.loguniform(0.25, 4), FloatRange(0.25, 4.0, log=True)),
        (stats.reciprocal(0.25, 4), FloatRange(0.25, 4.0, log=True)),
        (stats.loguniform(0.25, 4, scale=2), FloatRange(0.5, 8.0, log=True)),
        (stats.randint(3, 8), IntRange(3, 7)),
        (stats.randint(3, 8, loc=1), IntRange(4, 8)),
    ],
)
def test_uniform_distributions_of_scipy_become_ranges(distribution, parameter):
    assert make_parameter("C", distribution) == parameter


def test_sklearns_loguniform_becomes_a_range():
    fixes = pytest.importorskip("sklearn.utils.fixes")
    if not hasattr(fixes, "loguniform"):
        pytest.skip("this scikit-learn has none")

    assert make_parameter("C", fixes.loguniform(0.25, 4)) == FloatRange(0.25, 4.0, log=True)


@pytest.mark.parametrize("distribution", [stats.norm(0, 1), stats.poisson(3), stats.loguniform(1, 2, loc=1)])
def test_other_distributions_stay_as_they_are(distribution):
    assert make_parameter("C", distribution) is distribution


@pytest.mark.parametrize("distribution", [stats.uniform(0, -1), stats.randint(5, 5)])
def test_a_distribution_without_any_values_is_refused_by_its_own_draws(distribution):
    space = Space({"C": make_parameter("C", distribution)})

    with pytest.raises(ValueError, match="Domain error"):
        space.sample(np.random.RandomState(0))


def test_a_distribution_of_the_users_own_gets_a_random_state():
    class Even:
        def rvs(self, random_state):
            return 2 * random_state.randint(5)

    parameter = make_parameter("C", Even())

    draws = {parameter.rvs(random_state=np.random.RandomState(seed)) for seed in range(50)}
    assert draws == {0, 2, 4, 6, 8}


@pytest.mark.parametrize(
    ("values", "is_ordered"),
    [
        ([1, 2, 4], True),
        ([0.1, 1, 10], True),
        ([1, 2], False),
        ([1, 3, 2], False),
        ([1, 2, None], False),
        ([1, 2, math.inf], False),
        ([1, 1, 1], False),
        ([False, True, True], False),
        (["a", "b", "c"], False),
    ],
)
def test_at_least_three_rising_numbers_are_ordered(values, is_ordered):
    assert make_parameter("C", values).is_ordered is is_ordered


def test_numbers_of_an_array_become_numbers_of_python():
    values = make_parameter("C", np.array([1, 2, 3])).values

    assert values == (1, 2, 3)
    assert {type(value) for value in values} == {int}


def test_a_choice_finds_its_values_by_type_and_value():
    choice = Choice((1, 1.0, True, None, "a", (1, 2)))

    assert [choice.find(value) for value in (1, 1.0, True, None, "a", (1, 2), "b")] == [0, 1, 2, 3, 4, 5, None]


def test_a_choice_finds_an_array_by_its_values():
    array = np.arange(3)

    assert Choice((None, array)).find(array) == 1
    assert Choice((None, array)).find(np.arange(3)) == 1
    assert Choice((None, array)).find(np.arange(4)) is None


@pytest.mark.parametrize(("values", "type_name"), [(3, "int"), ("gini", "str"), (None, "NoneType"), ({1, 2}, "set")])
def test_values_that_are_no_list_and_no_distribution_are_refused(values, type_name):
    with pytest.raises(TypeError, match=rf"The values of 'C' are .* of type {type_name}; expected a list"):
        make_parameter("C", values)


def test_a_class_instead_of_a_distribution_is_refused():
    class Any:
        def rvs(self, random_state): ...

    with pytest.raises(TypeError, match="expected an instance"):
        make_parameter("C", Any)


@pytest.mark.parametrize("values", [[], (), np.array([])])
def test_an_empty_list_is_refused(values):
    with pytest.raises(ValueError, match="The list of values of 'C' is empty"):
        make_parameter("C", values)


def test_arrays_of_many_values_are_told_apart():
    first, second = np.zeros(2_000), np.zeros(2_000)
    second[1_000] = 1

    assert Choice((first, second)).find(second) == 1
