"""Stopping and resuming a study, with the same settings, other settings or no data."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from fitwithin._cli import app

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def write(file, rows=2000, seed=0):
    from sklearn.datasets import make_classification

    X, y = make_classification(rows, n_informative=5, random_state=seed)
    pd.DataFrame(X, columns=[f"c{number}" for number in range(X.shape[1])]).assign(target=y).to_parquet(file)
    return file


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "own.parquet")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def arguments(data, out, *more):
    return [
        *("study", "--data", str(data), "--out", str(out), "--learners", "decision-tree", "--teachers", "double"),
        *("--seeds", "0", "--min-seconds", "0", "--full-runs", "1", "--no-online", *more),
    ]


def study(data, out, *more):
    return CliRunner().invoke(app, arguments(data, out, *more))


def lines_of(out, *kinds):
    file = out / "results.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [line for line in lines if not kinds or line["kind"] in kinds]


# Processes in the background inherit an ignored Ctrl-C, so the program installs the handler itself.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from fitwithin._cli import app
app()
"""


# Creates a file when the second model of a run is there, and then waits for the signal with the clock paused.
PROGRAM_THAT_WAITS = (
    """
import signal
import sys
from pathlib import Path

from fitwithin_paper.study.evaluation_backend import EvaluationBackend

ready = Path(sys.argv.pop(1))
evaluate = EvaluationBackend.evaluate


def evaluate_and_wait(backend, runner):
    evaluate(backend, runner)
    if len(backend.accuracies) == 2:
        with backend.clock.paused():
            ready.touch()
            signal.pause()


EvaluationBackend.evaluate = evaluate_and_wait
"""
    + PROGRAM
)


def process(*command, program=PROGRAM):
    return subprocess.Popen(
        [sys.executable, "-c", program, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(is_done, process):
    while process.poll() is None and not is_done():
        time.sleep(0.01)  # another process's file: there is nothing else to wait for


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "pause"), reason="needs signals")
def test_a_run_that_is_stopped_from_the_keyboard_is_not_kept_and_the_study_resumes(tmp_path, out):
    file = write(tmp_path / "own.parquet", rows=20_000)
    forest = ("--learners", "random-forest", "--teachers", "double")
    ready = tmp_path / "ready"
    stopped = process(str(ready), *arguments(file, out, *forest), program=PROGRAM_THAT_WAITS)
    wait_for(ready.exists, stopped)
    (full,) = lines_of(out, "run")
    stopped.send_signal(signal.SIGINT)
    _, stderr = stopped.communicate()
    kept = lines_of(out, "run")
    again = study(file, out, *forest)

    assert stopped.returncode == 130
    assert stderr == f"Stopped; 1 run is kept in {out / 'results.jsonl'}; the same command resumes.\n"
    assert kept == [full]
    assert again.exit_code == 0, again.output
    assert [line["teacher"] for line in lines_of(out, "run")] == ["full", "double"]


@pytest.mark.parametrize(
    ("more", "differs"),
    [
        (("--scale", "0.5"), "--scale was 1.0 and is now 0.5"),
        (("--seconds", "2"), "--seconds was none and is now 2.0"),
        (("--test-rows", "50"), "--test-rows was none and is now 50"),
    ],
)
def test_other_settings_are_refused_before_anything_is_run(file, out, more, differs):
    study(file, out)
    before = lines_of(out)

    result = study(file, out, "--seeds", "0-1", *more)

    assert result.exit_code == 2
    assert differs in result.stderr
    assert "Use another --out, or the same settings." in result.stderr
    assert lines_of(out) == before


@pytest.mark.parametrize(
    ("rows", "seed", "differs"), [(1000, 0, "training rows was 1400 and is now 700"), (2000, 1, "fingerprint")]
)
def test_another_file_of_the_same_name_is_refused_before_anything_is_run(file, out, tmp_path, rows, seed, differs):
    study(file, out)
    before = lines_of(out)
    (tmp_path / "other").mkdir()

    result = study(write(tmp_path / "other" / "own.parquet", rows, seed), out, "--seeds", "0-1")

    assert result.exit_code == 2
    assert "own differs from the results in" in result.stderr
    assert differs in result.stderr
    assert lines_of(out) == before


@pytest.mark.slow
def test_seeds_teachers_learners_and_full_trainings_may_be_added(file, out):
    study(file, out)

    more = ("--seeds", "0-1", "--teachers", "double,tct", "--learners", "decision-tree,random-forest")
    result = study(file, out, *more, "--full-runs", "2", "--min-seconds", "0.0001")

    assert result.exit_code == 0, result.output
    assert len(lines_of(out, "run")) == 2 * (2 + 4)


def test_settings_may_change_before_anything_was_measured(out, tmp_path):
    study(tmp_path / "own.parquet", out)

    assert study(write(tmp_path / "own.parquet"), out, "--scale", "0.5").exit_code == 0


def test_every_start_decides_again_which_pairs_are_dropped(file, out):
    study(file, out, "--min-seconds", "50")
    study(file, out, "--min-seconds", "60")
    study(file, out, "--min-seconds", "60")
    why = [line["why"] for line in lines_of(out, "dropped")]
    taught = [line for line in lines_of(out, "run") if line["teacher"] == "double"]

    study(file, out)

    assert why == ["below the 50 s of --min-seconds", "below the 60 s of --min-seconds"]
    assert taught == []
    assert [line["teacher"] for line in lines_of(out, "run")] == ["full", "double"]


def test_a_training_on_all_rows_that_fails_drops_the_pair_with_its_error(file, out, monkeypatch):
    def fail(*arguments):
        raise MemoryError("no room")

    monkeypatch.setattr("fitwithin_paper.study.study_run.measure_fit_seconds", fail)

    result = study(file, out)

    assert result.exit_code == 0, result.output
    assert [line["error"] for line in lines_of(out, "run")] == ["MemoryError: no room"]
    (dropped,) = lines_of(out, "dropped")
    assert dropped["why"] == "the learner could not be trained on all rows: MemoryError: no room"


def test_a_failed_search_for_the_number_of_rows_drops_the_pair_until_the_next_start(file, out, monkeypatch):
    def fail(*arguments):
        raise MemoryError("no room")

    with monkeypatch.context() as patched:
        patched.setattr("fitwithin_paper.study.experiment.measure_fit_seconds", fail)
        first = study(file, out, "--seconds", "0.1")
    again = study(file, out, "--seconds", "0.1")

    assert first.exit_code == again.exit_code == 0, first.output
    (dropped,) = lines_of(out, "dropped")
    assert dropped["why"] == "the number of rows could not be found: MemoryError: no room"
    assert [line["teacher"] for line in lines_of(out, "run")] == ["full", "double"]


def test_a_search_for_the_number_of_rows_that_took_too_long_is_not_repeated(file, out, monkeypatch):
    trials = []
    monkeypatch.setattr("fitwithin_paper.study.experiment.measure_fit_seconds", lambda *_: trials.append(1) or 100.0)

    for _ in range(2):
        assert study(file, out, "--seconds", "1", "--scale", "0.5").exit_code == 0

    assert len(trials) == 1
    (dropped,) = lines_of(out, "dropped")
    assert dropped["why"] == "2,500 rows take far longer than the 1 s of --seconds, times the 0.5 of --scale"


@pytest.mark.parametrize(
    "columns",
    [
        {"x": range(40), "label": [0, 1] * 20},
        {"x": range(40), "target": [0] * 40},
        {"x": range(40), "target": [row / 7 for row in range(40)]},
        {"x": [[1, 2]] * 40, "target": [0, 1] * 20},
    ],
    ids=["no target", "one class", "measurements", "lists"],
)
def test_an_unusable_set_is_left_out_with_a_line_and_the_others_are_run(file, out, columns):
    pd.DataFrame(columns).to_parquet(file.with_name("odd[b].parquet"))

    result = study(file.parent, out, "--datasets", "odd[b],own")

    assert result.exit_code == 0, result.output
    assert "odd[b] is left out" in result.output
    assert [line["dataset"] for line in lines_of(out, "missing")] == ["odd[b]"]
    assert {line["dataset"] for line in lines_of(out, "run")} == {"own"}


def test_a_study_without_any_available_set_is_an_error(file, out):
    result = study(file, out, "--target", "nope")

    assert result.exit_code == 1
    assert "nothing was run" in result.stderr
    assert "Done" not in result.output
    assert "no class column nope" in lines_of(out, "missing")[0]["why"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_second_study_in_the_same_folder_is_refused(file, out):
    first = process(*arguments(file, out, "--seeds", "0-99"))
    try:
        wait_for(lambda: lines_of(out, "run"), first)
        result = study(file, out)
        report = CliRunner().invoke(app, ["study", "report", "--out", str(out)])
    finally:
        os.kill(first.pid, signal.SIGKILL)
        first.communicate()

    locked = f"Another study is writing to {out / 'results.jsonl'}. Wait until it ends, or use another --out.\n"
    assert (result.exit_code, result.stderr) == (2, locked)
    assert report.exit_code == 0, report.output
    assert study(file, out).exit_code == 0


def test_a_report_only_reads_the_results(file, out):
    study(file, out)
    results = out / "results.jsonl"
    results.write_bytes(results.read_bytes() + b'{"v": 7}\n{"v": 1, "ki')
    before = results.read_bytes()

    result = CliRunner().invoke(app, ["study", "--out", str(out), "report"])

    assert result.exit_code == 0, result.output
    assert "1 line of the results skipped: version 7" in result.stderr
    assert results.read_bytes() == before
    assert not (out / "results.set-aside.jsonl").exists()
    assert (out / "index.html").exists()


@pytest.mark.parametrize("command", ["study", "theory"])
def test_an_output_folder_that_is_a_file_is_reported_in_one_sentence(file, tmp_path, command):
    (tmp_path / "taken").write_text("mine")
    options = {"study": arguments(file, tmp_path / "taken"), "theory": ["theory", "--out", str(tmp_path / "taken")]}

    result = CliRunner().invoke(app, options[command])

    assert result.exit_code == 2
    assert result.stderr.startswith(f"Can't write to {tmp_path / 'taken'}")
    assert result.stderr.count("\n") == 1
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_report_that_cannot_be_written_is_reported_in_one_sentence(file, out):
    study(file, out)
    (out / "tables").write_text("mine")

    result = CliRunner().invoke(app, ["study", "report", "--out", str(out)])

    assert result.exit_code == 2
    assert result.stderr.startswith(f"Can't write to {out / 'tables'}")


def test_a_report_without_results_names_the_file_and_the_command(out):
    result = CliRunner().invoke(app, ["study", "report", "--out", str(out)])

    assert result.exit_code == 2
    assert str(out / "results.jsonl") in result.stderr
    assert f"fitwithin study --out {out}" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize("seeds", ["5-²", "3-0", "", "-", "1.5"])
def test_invalid_seeds_are_refused(file, out, seeds):
    result = study(file, out, f"--seeds={seeds}")

    assert result.exit_code == 2
    assert f"--seeds must be numbers such as 0-3 or 0,5; got {seeds!r}." in result.stderr
