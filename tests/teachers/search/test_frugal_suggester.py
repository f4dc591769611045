import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fitwithin.teachers._search.frugal_suggester import FrugalSuggester
from fitwithin.teachers._search.space import Choice, FloatRange, IntRange, Space


class Weekday:
    def rvs(self, random_state):
        return random_state.choice(["Monday", "Tuesday", "Friday"])


MIXED = Space(
    {
        "n_estimators": IntRange(4, 4096, log=True),
        "max_depth": IntRange(1, 20),
        "rate": FloatRange(0.01, 1.0, log=True),
        "part": FloatRange(0.0, 1.0),
        "max_bin": Choice((7, 15, 31, 63)),
        "kernel": Choice(("a", "b", None, (1, 2), {"deep": [1]})),
        "noise": stats.norm(0, 1),
        "count": stats.poisson(3),
        "day": Weekday(),
        "fixed": Choice(("only",)),
    },
    {"n_estimators": 4, "max_depth": 1},
    "n_estimators",
)


def score(values):
    """A peak at 300 trees with rate 0.2 and kernel "b"."""
    distance = abs(math.log(values["n_estimators"] / 300)) + abs(math.log(values["rate"] / 0.2))
    return -distance - (values["kernel"] != "b")


def ask_and_tell(suggester, n_times, score=score):
    asked = []
    while len(asked) < n_times:
        if (values := suggester.ask()) is not None:
            asked.append(values)
            suggester.tell(values, score(values))
    return asked


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_settings_have_every_parameter_within_its_bounds(seed):
    for values in ask_and_tell(FrugalSuggester(MIXED, seed), 40):
        assert set(values) == set(MIXED.parameters)
        for name, parameter in MIXED.parameters.items():
            assert not hasattr(parameter, "nearest") or parameter.nearest(values[name]) == values[name]
        assert values["day"] in {"Monday", "Tuesday", "Friday"}
        assert type(values["count"]) is int


def test_the_same_seed_gives_the_same_settings():
    one, same, other = (ask_and_tell(FrugalSuggester(MIXED, seed), 60) for seed in (3, 3, 4))

    assert one == same
    assert one != other


def test_the_first_settings_are_the_cheap_ones():
    values = FrugalSuggester(MIXED, 0).ask()

    assert (values["n_estimators"], values["max_depth"]) == (4, 1)


def test_frugal_search_begins_near_its_start_even_if_that_is_not_in_the_space():
    start = {"n_estimators": 9999, "rate": 0.3, "kernel": "not among them"}

    values = FrugalSuggester(MIXED, 0, start).ask()

    assert (values["n_estimators"], values["rate"], values["kernel"], values["max_depth"]) == (4096, 0.3, None, 1)


def test_settings_can_be_asked_for_side_by_side():
    suggester = FrugalSuggester(MIXED, 0)
    running = [suggester.ask() for _ in range(4)]
    for _ in range(30):
        values = running.pop(0)
        suggester.tell(values, score(values))
        running.append(suggester.ask())

    assert None not in running


@pytest.mark.parametrize("failure", [None, math.nan, -math.inf])
def test_failed_fits_are_passed_over(failure):
    suggester = FrugalSuggester(MIXED, 0)

    asked = ask_and_tell(suggester, 40, lambda values: failure if values["kernel"] == "a" else score(values))

    assert len(asked) == 40


def test_if_every_fit_fails_settings_still_come():
    assert len(ask_and_tell(FrugalSuggester(MIXED, 0), 40, lambda values: None)) == 40


def test_settings_from_elsewhere_and_second_scores_change_nothing():
    plain, told_more = FrugalSuggester(MIXED, 0), FrugalSuggester(MIXED, 0)

    for _ in range(20):
        values, same = plain.ask(), told_more.ask()
        assert values == same
        for suggester in (plain, told_more):
            suggester.tell(values, score(values))
        told_more.tell(values, 99.0)
        told_more.tell({"n_estimators": 5}, 99.0)


def test_frugal_search_stays_near_cheap_settings_until_it_gains():
    costs = [values["n_estimators"] for values in ask_and_tell(FrugalSuggester(MIXED, 0), 8)]

    assert max(costs[:3]) < 200


def test_frugal_search_comes_closer_to_the_best_than_random_search():
    space = Space({name: MIXED.parameters[name] for name in ("n_estimators", "rate", "kernel")}, {"n_estimators": 4})
    random = np.random.RandomState(0)

    frugal = [max(map(score, ask_and_tell(FrugalSuggester(space, seed), 80))) for seed in range(10)]
    drawn = [max(score(space.sample(random)) for _ in range(80)) for _ in range(10)]

    assert np.mean(frugal) > np.mean(drawn)
    assert np.median(frugal) > np.median(drawn)


def test_frugal_search_goes_on_after_it_converged():
    space = Space({"rate": FloatRange(0.0, 1.0)}, {"rate": 0.0})

    asked = ask_and_tell(FrugalSuggester(space, 0), 300, lambda values: -abs(values["rate"] - 0.5))

    assert len(asked) == 300
