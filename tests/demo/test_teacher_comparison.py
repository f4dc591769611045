"""The demonstration runs and prints its comparison."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from fitwithin import NoModelInTime, TimeConstrainedClassifier
from fitwithin._core.records import Estimate
from fitwithin._demo.teacher_comparison import DemoResult, _format_estimate, run_demo


@pytest.fixture(scope="module")
def comparison():
    """Results and text of a small run with enough time to train on every row."""
    out = io.StringIO()
    results = run_demo(60, rows=4_000, seed=0, console=Console(file=out, width=100))
    return results, out.getvalue()


@pytest.mark.slow
def test_three_ways_to_train_are_compared_on_test_rows(comparison):
    results, text = comparison
    assert [result.name for result in results] == ["fitwithin", "doubling", "random 5%"]
    # Auto sets aside 200 validation rows and 200 holdout rows, and takes them in its last fit.
    assert [result.n_rows for result in results] == [3_200, 3_200, 160]
    for result in results:
        assert f"{result.accuracy.value:.4f}" in text
        assert result.accuracy.value > 0.5


@pytest.mark.slow
def test_the_limit_and_the_number_of_test_rows_are_printed(comparison):
    _, text = comparison
    assert "limit 60" in text
    assert "800 test rows" in text


@pytest.mark.slow
def test_a_model_that_was_not_checked_on_fresh_rows_has_no_estimate(comparison):
    results, _ = comparison
    assert "no estimate of its own" in _format_estimate(replace(results[0], estimate=None))


def test_the_estimate_is_printed_next_to_the_test_accuracy():
    result = DemoResult("fitwithin", Estimate(0.91, 0.9, 0.92), {}, 1.0, 100, estimate=(0.93, 0.92, 0.94))
    text = _format_estimate(result)
    assert "0.9300 [0.9200, 0.9400]" in text
    assert "0.9100 [0.9000, 0.9200] on the test rows" in text


def test_auto_has_an_estimate_and_double_has_none_after_one_round(monkeypatch):
    # After one round every model was examined, and none was trained on every row.
    monkeypatch.setattr("fitwithin._demo.teacher_comparison.TimeConstrainedClassifier", _make_one_round_classifier)
    out = io.StringIO()
    auto, double, _ = run_demo(60, rows=10_000, seed=0, console=Console(file=out, width=100))
    assert (auto.n_rows, double.n_rows) == (250, 40)
    assert auto.estimate is not None
    assert f"{auto.estimate[0]:.4f} [{auto.estimate[1]:.4f}, {auto.estimate[2]:.4f}]" in out.getvalue()
    assert double.estimate is None


@pytest.mark.slow
def test_the_same_seed_gives_the_same_results(comparison):
    results, _ = comparison
    again = run_demo(60, rows=4_000, seed=0, console=Console(file=io.StringIO()))
    assert [(one.accuracy, one.recall) for one in results] == [(one.accuracy, one.recall) for one in again]


def test_a_limit_that_is_too_short_raises():
    with pytest.raises(NoModelInTime):
        run_demo(1e-3, rows=1_000, console=Console(file=io.StringIO()))


def _make_one_round_classifier(*args, **kwargs):
    return TimeConstrainedClassifier(*args, **kwargs, on_round=lambda finished: True)
