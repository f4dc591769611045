"""The replay of recorded fits: what it answers, and how the default does on three recordings."""

import base64
import json
import lzma
from dataclasses import replace

import numpy as np
import pytest

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied, OutOfTime
from fitwithin._core.records import Exam, FitLimits
from fitwithin.backends import StopSignal
from fitwithin.teachers import Double
from fitwithin.testing import FakeClock
from recorded_sessions import adversaries, forecast, nights, recording, replay, runner, table


def a_booster(noise=0.03):
    """A booster with a set-up, on which oversampling of misclassified rows pays."""
    return adversaries.Formulas(
        "booster",
        seconds=lambda rows: 1.0 + 7.0 * rows / 60_000,
        setup=adversaries.power(0.8, 1.0, 60_000),
        predict=lambda rows: 2e-5,
        steps=100,
        gain=0.01,
        n_rows=60_000,
        noise=noise,
    ).record()


def a_forest():
    """A forest, whose models are large."""
    seconds, save = adversaries.power(10.0, 1.1, 40_000), adversaries.power(2.0, 1.0, 40_000)
    return adversaries.Formulas("forest", seconds, save=save, steps=100, n_rows=40_000).record()


def a_kernel_machine(noise=0.03, **behaviour):
    """A learner that cannot stop early, and that predicts slowly."""
    seconds, header = adversaries.power(9.0, 1.7, 20_000), {"behaviour": behaviour}
    return adversaries.Formulas(
        "kernel", seconds, predict=lambda rows: 1e-8 * rows, n_rows=20_000, noise=noise, header=header
    ).record()


def a_runner(recorded, limit=1000.0, scale=1.0, seed=0):
    return runner.RecordedRunner(recorded, Budget(limit, FakeClock()), scale, seed)


def test_seconds_are_interpolated_between_the_logarithms_of_recorded_sizes():
    recorded = a_kernel_machine(noise=0.0)

    assert recorded.cost(5_000, "fit_seconds") == pytest.approx(9 * (5_000 / 20_000) ** 1.7)
    assert recorded.full_seconds == pytest.approx(9 + 2_000 * 2e-4)


def test_a_recording_is_read_from_a_compressed_file(tmp_path):
    header = {**a_kernel_machine().header, "n_rows": 250}
    correct = np.arange(2_000) % 4 > 0
    line = {
        "kind": "plain",
        "rows": 250,
        "repeat": 0,
        "mistake_share": None,
        "judge_rows": None,
        "fit_seconds": 2.0,
        "setup_seconds": None,
        "steps": None,
        "planned_steps": None,
        "tenths": None,
        "predict_seconds_per_row": 1e-5,
        "model_bytes": 7,
        "save_seconds": 0.1,
        "load_seconds": 0.2,
        "scores": {"1.0": 0.75},
        "correct": base64.b64encode(np.packbits(correct).tobytes()).decode(),
    }
    with lzma.open(tmp_path / "a.jsonl.xz", "wt") as file:
        file.write("\n".join(map(json.dumps, [header, line])))

    fit = recording.Recording.load(tmp_path / "a.jsonl.xz").fit(1_000)

    assert (fit.cost("fit_seconds"), fit.cost("setup_seconds")) == (pytest.approx(2.0), 0.0)
    assert (fit.score(1.0, 2), fit.score(0.0, 2)) == (0.75, 0.5)
    np.testing.assert_array_equal(fit.correct, correct)


def test_models_of_near_sizes_agree_on_most_rows():
    recorded = a_booster()
    model, near, far = (recorded.fit(rows).correct for rows in (10_000, 11_000, 40_000))

    assert np.mean(model != near) < 0.03 < np.mean(model != far)


def test_a_fit_that_is_cut_short_gets_as_many_rows_wrong_as_its_score_says():
    recorded = a_booster()
    fit = recorded.fit(30_000)

    assert fit.score(0.5, 2) == pytest.approx(1 - 0.1 - 0.2 * (15_000 / 250) ** -0.4, abs=0.003)
    assert fit.correct_after(0.5, 2).mean() == pytest.approx(fit.score(0.5, 2), abs=0.01)


def test_a_cut_fit_without_recorded_scores_is_worth_one_on_as_large_a_share_of_the_rows():
    recorded = a_kernel_machine()

    assert recorded.fit(16_000).score(0.5, 2) == pytest.approx(recorded.fit(8_000).score(1.0, 2), abs=0.002)


def test_misclassified_rows_change_the_score_as_recorded():
    recorded = a_booster()
    plain, once, more = (recorded.fit(20_000, multiple=multiple).scores[-1] for multiple in (1.0, 1.8, 9.0))

    assert recorded.multiples["once"] == pytest.approx(1.8, abs=0.1)
    assert once - plain == pytest.approx(0.01, abs=0.005)
    assert more - plain == pytest.approx(0.01, abs=0.005)


def test_the_runner_sees_that_a_lesson_has_more_misclassified_rows():
    started = a_runner(a_booster())
    started.fit(np.arange(1_000))
    wrong = started.examine(Exam(np.arange(1_000, 30_000))).wrong
    mistakes = np.arange(1_000, 30_000)[wrong]
    started.fit(np.concatenate([np.arange(2_000), mistakes[:2_000]]))
    started.fit(np.arange(4_000))

    assert [fit.multiple for fit in started.log] == [1.0, pytest.approx(2.5, abs=0.5), 1.0]


@pytest.mark.parametrize(
    "limits", [FitLimits(stop_after=3.0), FitLimits(give_up_over=5.0), FitLimits(give_up_over=9.0)]
)
def test_a_fit_with_limits_is_reported_as_a_stop_signal_does(limits):
    recorded = a_booster(noise=0.0)
    clock = FakeClock()
    signal = StopSignal(
        1e9 if limits.stop_after is None else limits.stop_after, clock, give_up_over=limits.give_up_over
    )
    clock.advance(0.8)
    for _ in signal.steps(100):
        clock.advance(7.2 / 100)

    report = a_runner(recorded).fit(np.arange(60_000), limits=limits)

    assert report.gave_up == signal.gave_up
    assert report.planned_steps == signal.planned_steps
    assert report.steps == pytest.approx(signal.n_steps, abs=1)
    assert report.setup_seconds == pytest.approx(0.8)
    assert report.skipped_seconds == pytest.approx(signal.skipped_seconds, abs=0.2)


@pytest.mark.parametrize(("limit", "steps"), [(9.0, 5), (60.0, 10)])
def test_a_solver_that_is_stopped_begins_anew_with_more_and_more_steps(limit, steps):
    fit = replace(a_booster().fit(1_000), steps=10, planned_steps=100)
    clock = FakeClock()
    signal = StopSignal(limit, clock)

    runner.restart_fit(fit, 10.0, signal, clock, adds_steps=False)

    assert signal.n_steps == steps
    assert signal.planned_steps == (10 if limit > 10 else 100)
    assert clock() == pytest.approx(steps + 1)


def test_a_fit_without_limits_tells_nothing_of_its_steps():
    report = a_runner(a_booster()).fit(np.arange(1_000))

    assert (report.steps, report.setup_seconds, report.was_cut_short) == (None, None, False)


def test_a_fit_is_killed_after_its_time_and_at_the_deadline():
    started = a_runner(a_kernel_machine(noise=0.0), limit=5.0)
    with pytest.raises(LearnerDied):
        started.fit(np.arange(20_000), limits=FitLimits(kill_after=2.0))
    assert started.clock() == pytest.approx(2.02)
    with pytest.raises(OutOfTime):
        started.fit(np.arange(20_000))
    assert started.clock() == pytest.approx(5.0)


def test_a_machine_that_slows_down_takes_longer_from_half_of_the_limit_on():
    started = a_runner(a_kernel_machine(noise=0.0, slowdown=3.0), limit=10.0)
    started.fit(np.arange(20_000)[:16_000])

    seconds = 9 * 0.8**1.7
    assert started.clock() == pytest.approx(5 + 3 * (seconds - 4.98), abs=0.05)


def test_the_oracle_ends_in_time_and_one_row_more_would_not():
    recorded = a_kernel_machine(noise=0.0)
    rows = replay.find_oracle(recorded, 0.5, 60.0)["oracle_rows"]
    scale = 60.0 / recorded.full_seconds

    def ends(n_rows):
        return runner.ROUND_SECONDS + scale * recorded.cost(n_rows, "fit_seconds") + 0.002 <= 30.0

    assert 12_000 < rows < 16_000
    assert ends(rows)
    assert not ends(rows + 10)


def test_a_sized_fit_that_is_killed_is_tried_once_more_with_half_of_the_rows():
    result = replay.replay(a_kernel_machine(), "sized", 0.25, 60.0, 0)

    assert result["last_rows"] == 200
    assert result["seconds"] <= 15.0


def test_a_longer_session_of_double_has_more_rows():
    rows = [replay.run_session(a_forest(), Double(), limit).model.rows for limit in (2.0, 5.0, 60.0)]

    assert rows == sorted(set(rows))
    assert rows[-1] == 40_000


def test_the_table_compares_with_double_and_the_oracle():
    about = {"name": "a", "family": "tree", "design": True, "can_stop": False, "n_rows": 100, "full_seconds": 60.0}
    about |= {"oracle_rows": 50, "oracle_score": 0.9, "full_score": 0.95, "first_seconds": 0.1, "share": 1.0}
    about |= {"seconds": 40.0, "refit_seconds": 10.0, "oversampled": False, "ratio": 1.0, "last_rows": 40}
    runs = [
        {**about, "teacher": teacher, "seed": seed, "score": score, "rows": rows}
        for teacher, score, rows in (("auto", 0.88, 40), ("double", 0.8, 25))
        for seed in range(2)
    ]

    figures = table.list_figures(runs[:2], {"double": {table._key(run): run for run in runs[2:]}})

    assert figures["T <= t_full, cannot stop: rows / oracle's"] == "0.80 / 0.80 (2)"
    assert figures["(score - double) / (oracle - double), mean"].startswith("0.80")
    assert figures["losses to double by > 0.25 points"] == "0.0% (2)"
    assert "| all |" in table.format_tables(runs, ["auto", "double"])


@pytest.mark.parametrize(
    ("name", "rows", "lead"),
    [("covtype-lightgbm", 0.73, 0.023), ("gtsrb_huehist-extra-trees", 0.90, 0.100), ("letter-svc", 0.68, 0.0)],
)
def test_the_default_does_on_recorded_fits_as_well_as_it_did(name, rows, lead):
    recorded = recording.Recording.load(replay.RECORDINGS / f"{name}{replay.SUFFIX}")
    ratios = (0.25, 0.5, 1.0, 2.0)
    auto, double = (
        [replay.replay(recorded, teacher, ratio, 60.0, seed) for ratio in ratios for seed in range(3)]
        for teacher in ("auto", "double")
    )
    affordable = np.repeat([replay.find_oracle(recorded, ratio, 60.0)["oracle_rows"] for ratio in ratios], 3)

    assert np.mean([run["rows"] for run in auto] / affordable) > rows - 0.03
    assert np.mean([run["score"] for run in auto]) - np.mean([run["score"] for run in double]) > lead - 0.003


def test_intervals_of_forecasts_are_compared_with_the_scores_that_came():
    checks = list(forecast.check_recording(a_kernel_machine(), ratio=0.25, full_seconds=60.0, seed=0))

    assert [check.factor for check in checks] == [2.0, 4.0]
    assert all(check.low <= check.score <= check.high for check in checks)
    assert "hold (goal: 85% to 95%)" in forecast.format_table(checks)


def test_a_second_night_begins_with_the_costs_of_the_first():
    night = nights.replay_nights(a_kernel_machine(), ratio=0.25, full=60.0, seed=0, machine=1.0)

    assert night["with"] > 0.5
    assert night["fits"][1] <= night["fits"][0]
    assert "learners that cannot stop early reach" in nights.format_table([night], 1.0)
