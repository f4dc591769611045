"""A study carries out its plan once, however often it is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from typer.testing import CliRunner

from fitwithin._cli import app

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

SEEDS = 8
TEACHERS = ("double", "tct", "osct")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    from sklearn.datasets import make_classification

    X, y = make_classification(20_000, n_informative=5, random_state=0)
    frame = pd.DataFrame(X, columns=[f"c{number}" for number in range(X.shape[1])]).assign(kind=y)
    file = tmp_path_factory.mktemp("data") / "own.parquet"
    frame.to_parquet(file)
    return file


def arguments(file, out, *more):
    return [
        *("study", "--data", str(file), "--target", "kind", "--out", str(out), "--learners", "decision-tree"),
        *("--teachers", ",".join(("full", *TEACHERS)), "--min-seconds", "0", "--full-runs", "2"),
        *("--seeds", f"0-{SEEDS - 1}", *more),
    ]


def lines_of(out):
    file = out / "results.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def name(line):
    return line["dataset"], line["learner"], line["teacher"], line["seed"]


def assert_complete(lines, n_seeds=SEEDS):
    runs = Counter(name(line) for line in lines if line["kind"] == "run")
    rounds = Counter((*name(line), line["number"]) for line in lines if line["kind"] == "round")
    planned = {("own", "decision-tree", "full", seed) for seed in range(2)}
    planned |= {("own", "decision-tree", teacher, seed) for teacher in TEACHERS for seed in range(n_seeds)}
    assert set(runs) == planned
    assert set(runs.values()) == set(rounds.values()) == {1}
    for line in lines:
        if line["kind"] == "run":
            assert line["rounds"] == sum(key[:4] == name(line) for key in rounds)


# Logs this many runs and then waits inside the next one, so that the signal never comes too late.
PROGRAM = """
import signal
import sys

from fitwithin_paper.study import ResultLog

runs_left = int(sys.argv.pop(1))
append = ResultLog.append


def append_while_runs_are_left(log, lines):
    global runs_left
    if any(line["kind"] == "run" for line in lines):
        if runs_left == 0:
            signal.pause()
        runs_left -= 1
    append(log, lines)


ResultLog.append = append_while_runs_are_left

from fitwithin._cli import app

app()
"""


def start(file, out, *, n_runs):
    command = [sys.executable, "-c", PROGRAM, str(n_runs), *arguments(file, out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)


def count_runs(out):
    return sum(line["kind"] == "run" for line in lines_of(out))


def kill_when_runs_are_logged(process, out, n_runs):
    while process.poll() is None and count_runs(out) < n_runs:
        time.sleep(0.01)  # another process's file: there is nothing else to wait for
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs SIGKILL")
def test_a_study_that_is_killed_four_times_in_a_row_loses_and_repeats_nothing(file, tmp_path):
    seen = []

    for number in range(4):
        n_runs = 1 + number % 3  # 7 of the 26 runs in all
        before = count_runs(tmp_path)
        process = start(file, tmp_path, n_runs=n_runs)
        assert kill_when_runs_are_logged(process, tmp_path, before + n_runs) == -signal.SIGKILL
        lines = lines_of(tmp_path)
        assert lines[: len(seen)] == seen
        seen = lines
    assert start(file, tmp_path, n_runs=100).wait() == 0

    lines = lines_of(tmp_path)
    assert lines[: len(seen)] == seen
    assert_complete(lines)
    assert sum(line["kind"] == "start" for line in lines) == 5


def run(*command):
    return CliRunner().invoke(app, list(command))


@pytest.fixture(scope="module")
def finished(file, tmp_path_factory):
    """The folder of a finished study with one seed."""
    out = tmp_path_factory.mktemp("finished")
    result = run(*arguments(file, out, "--seeds", "0"))
    assert result.exit_code == 0, result.output
    return out


def test_a_finished_study_is_not_run_again(file, finished):
    lines = lines_of(finished)
    again = run(*arguments(file, finished, "--seeds", "0"))

    assert again.exit_code == 0, again.output
    assert_complete(lines, n_seeds=1)
    assert [line["kind"] for line in lines_of(finished)[len(lines) :]] == ["start"]


def test_every_run_has_the_mean_of_the_full_trainings_as_its_limit(finished):
    lines = lines_of(finished)
    full = [line["used"] for line in lines if line["kind"] == "run" and line["teacher"] == "full"]
    limits = {line["limit"] for line in lines if line["kind"] == "run" and line["teacher"] != "full"}

    assert limits == {sum(full) / 2}


def test_a_start_logs_machine_versions_load_and_plan(finished):
    start, data, *_ = lines_of(finished)

    assert start["machine"]["cores"] == os.cpu_count()
    assert {"fitwithin", "numpy", "scikit-learn"} <= set(start["versions"])
    assert len(start["load"]) == 3
    assert start["plan"]["seeds"] == [0]
    assert (data["train_rows"], data["test_rows"], data["columns"], data["classes"]) == (14_000, 6_000, 20, 2)


def test_a_pair_with_a_short_time_limit_is_dropped_with_a_line(file, tmp_path):
    run(*arguments(file, tmp_path, "--min-seconds", "100"))
    again = run(*arguments(file, tmp_path, "--min-seconds", "100"))

    dropped = [line for line in lines_of(tmp_path) if line["kind"] == "dropped"]

    assert again.exit_code == 0
    assert [(line["dataset"], line["learner"]) for line in dropped] == [("own", "decision-tree")]
    assert "below the 100 s" in dropped[0]["why"]


def test_a_pair_whose_full_training_takes_too_long_is_dropped_after_one_of_them(file, tmp_path):
    run(*arguments(file, tmp_path, "--max-seconds", "0.1", "--learners", "random-forest", "--full-runs", "2"))

    lines = lines_of(tmp_path)

    assert [line["why"] for line in lines if line["kind"] == "dropped"] == ["above the 0.1 s of --max-seconds"]
    assert [line["seed"] for line in lines if line["kind"] == "run"] == [0]


@pytest.mark.slow
def test_rows_are_left_out_until_a_full_training_takes_the_requested_time(file, tmp_path):
    run(
        *arguments(file, tmp_path, "--seconds", "3", "--seeds", "0", "--learners", "random-forest"),
        *("--teachers", "full,double", "--full-runs", "1"),
    )

    lines = lines_of(tmp_path)
    (size,) = [line for line in lines if line["kind"] == "size"]

    assert 5000 <= size["rows"] <= size["of"] == 14_000
    assert [line["rows"] for line in lines if line["kind"] == "run" and line["teacher"] == "full"] == [size["rows"]]


def test_an_unavailable_set_is_left_out_and_the_others_are_run(file, tmp_path):
    result = run(
        *("study", "--data", str(file.parent), "--target", "kind", "--out", str(tmp_path), "--no-online"),
        *("--datasets", "aloi,own", "--learners", "decision-tree", "--teachers", "double", "--seeds", "0"),
        *("--min-seconds", "0", "--full-runs", "1"),
    )

    lines = lines_of(tmp_path)

    assert result.exit_code == 0, result.output
    assert "aloi is left out" in result.output
    assert [line["dataset"] for line in lines if line["kind"] == "missing"] == ["aloi"]
    assert {line["dataset"] for line in lines if line["kind"] == "run"} == {"own"}


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--learners", "svm", "Unknown learner 'svm'; known are lightgbm"),
        ("--teachers", "tcp", "Unknown teacher 'tcp'; known are full"),
        ("--seeds", "one", "--seeds must be numbers such as 0-3"),
    ],
)
def test_an_unknown_value_lists_the_known_ones(file, tmp_path, option, value, message):
    result = run(*arguments(file, tmp_path, option, value))

    assert result.exit_code == 2
    assert message in result.stderr


def test_an_unknown_data_set_lists_the_known_ones_before_anything_is_run(file, tmp_path):
    result = run("study", "--data", str(file.parent), "--out", str(tmp_path), "--datasets", "covertypo")

    assert result.exit_code == 2
    assert "covtype" in result.stderr
    assert lines_of(tmp_path) == []


def test_unusable_results_are_reported_and_moved(file, tmp_path):
    (tmp_path / "results.jsonl").write_text('{"v": 7, "kind": "run"}\n{"v": 1, "ki')

    result = run(*arguments(file, tmp_path, "--seeds", "0", "--teachers", "full,double"))

    assert result.exit_code == 0, result.output
    assert "version 7; expected version 1" in result.stderr
    assert "incomplete, or not JSON" in result.stderr
    assert (tmp_path / "results.set-aside.jsonl").read_text() == '{"v": 7, "kind": "run"}\n{"v": 1, "ki\n'


def test_a_report_without_results_says_what_to_do(tmp_path):
    result = run("study", "report", "--out", str(tmp_path))

    assert result.exit_code == 2
    assert "fitwithin study" in result.stderr
