"""The demonstration runs, and says what came of it."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from fitwithin import NoModelInTime, TimeConstrainedClassifier
from fitwithin._research.demo.comparing import _own_estimate, run_demo


@pytest.fixture(scope="module")
def shown():
    """Results and text of a small run that gives itself time enough to teach every row."""
    out = io.StringIO()
    results = run_demo(60, rows=4_000, seed=0, console=Console(file=out, width=100))
    return results, out.getvalue()


def test_three_ways_to_learn_are_compared_on_held_out_rows(shown):
    results, text = shown
    assert [result.name for result in results] == ["Auto", "Double", "random 5%"]
    # Auto keeps 200 judges and as many auditors.
    assert [result.rows for result in results] == [2_800, 3_200, 160]
    for result in results:
        assert f"{result.accuracy.value:.4f}" in text
        assert result.accuracy.value > 0.5


def test_the_limit_and_the_held_out_rows_are_named(shown):
    _, text = shown
    assert "limit 60" in text
    assert "800 held out" in text


def test_a_model_that_sat_no_exam_is_said_to_have_no_estimate(shown):
    results, _ = shown
    assert "no estimate of its own" in _own_estimate(replace(results[0], estimate=None))


def test_an_estimate_stands_beside_the_held_out_accuracy(monkeypatch):
    # One round only: every model is examined, and none is taught every row.
    monkeypatch.setattr("fitwithin._research.demo.comparing.TimeConstrainedClassifier", _stopped_after_one_round)
    out = io.StringIO()
    auto, double, _ = run_demo(60, rows=10_000, seed=0, console=Console(file=out, width=100))
    assert (auto.rows, double.rows) == (250, 40)
    assert auto.estimate is not None
    assert f"{auto.estimate[0]:.4f} [{auto.estimate[1]:.4f}, {auto.estimate[2]:.4f}]" in out.getvalue()
    assert double.estimate is None


def test_the_same_seed_gives_the_same_results(shown):
    results, _ = shown
    again = run_demo(60, rows=4_000, seed=0, console=Console(file=io.StringIO()))
    assert [(one.accuracy, one.found) for one in results] == [(one.accuracy, one.found) for one in again]


def test_a_limit_that_is_too_short_raises():
    with pytest.raises(NoModelInTime):
        run_demo(1e-3, rows=1_000, console=Console(file=io.StringIO()))


def _stopped_after_one_round(*args, **kwargs):
    return TimeConstrainedClassifier(*args, **kwargs, on_round=lambda finished: True)
