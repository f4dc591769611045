"""The hyperparameters of one learner in a search: what is tried next, and what is not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from fitwithin._core.cost import CostEstimates
from fitwithin.teachers._search.entrant import Entrant
from fitwithin.teachers._search.space import Choice, FloatRange, IntRange, Space, make_key


def try_all(entrant, most=100):
    """Try what the entrant suggests, and return it."""
    tried = []
    while len(tried) < most and (values := entrant.suggest(lambda reference, ratio: 1000.0)) is not None:
        contender = entrant.make_contender(len(tried), values, CostEstimates())
        contender.promise = 1.0 / (1 + len(tried))
        entrant.tell(contender, 0.1)
        tried.append(values)
    return tried


@pytest.mark.parametrize("seed", range(3))
def test_a_small_space_is_tried_to_its_end_and_no_settings_twice(seed):
    space = Space(
        {"max_depth": IntRange(1, 5), "splitter": Choice(("best", "random")), "min_samples_leaf": Choice((2,))}
    )
    entrant = Entrant(0, DecisionTreeClassifier(), space, [], seed)

    tried = try_all(entrant)

    assert len(tried) == len({make_key(values) for values in tried}) == 10
    assert entrant.suggest(lambda reference, ratio: 1000.0) is None


@pytest.mark.parametrize("seed", range(3))
def test_the_cheap_settings_are_tried_first(seed):
    space = Space({"max_depth": IntRange(1, 9), "min_samples_leaf": stats.randint(1, 4)}, {"max_depth": 1})

    assert try_all(Entrant(0, DecisionTreeClassifier(), space, [], seed), 1)[0]["max_depth"] == 1


def test_the_same_seed_gives_the_same_settings():
    space = Space({"max_depth": IntRange(1, 99), "ccp_alpha": FloatRange(0.0, 1.0)}, {"max_depth": 1})

    one, same, other = (try_all(Entrant(0, DecisionTreeClassifier(), space, [], seed), 30) for seed in (3, 3, 4))

    assert one == same
    assert one != other


def test_a_space_of_one_setting_is_tried_once():
    space = Space({"splitter": Choice(("random",)), "ccp_alpha": FloatRange(0.5, 0.5)})

    assert try_all(Entrant(0, DecisionTreeClassifier(), space, [], 0)) == [{"splitter": "random", "ccp_alpha": 0.5}]


def test_a_distribution_whose_draws_repeat_ends():
    entrant = Entrant(0, DecisionTreeClassifier(), Space({"max_depth": stats.randint(1, 4)}), [], 0)

    assert len(try_all(entrant)) == 3


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_learners_own_values_are_not_tried_again(seed):
    space = Space({"max_depth": Choice((None, 3)), "splitter": Choice(("best", "random"))})
    entrant = Entrant(0, DecisionTreeClassifier(), space, [], seed)
    entrant.make_contender(0, {}, CostEstimates())

    tried = try_all(entrant)

    assert {"max_depth": None, "splitter": "best"} not in tried
    assert len(tried) == 3


def test_a_learner_without_a_space_has_the_given_settings_alone():
    entrant = Entrant(0, DecisionTreeClassifier(), Space({}), [{"max_depth": 3}], 0)

    assert try_all(entrant) == [{"max_depth": 3}]
