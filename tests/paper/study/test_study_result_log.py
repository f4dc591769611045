"""Results are never lost or repeated, and unusable lines are moved to another file."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitwithin_paper.study.result_log import (
    FORMAT_VERSION,
    ResultLog,
    ResultLogLocked,
    lock_results,
    read_result_lines,
)

NAME = {"dataset": "covtype", "learner": "lightgbm", "teacher": "tct", "seed": 0}
ROUND = {"kind": "round", **NAME, "number": 1, "elapsed": 0.5, "accuracy": 0.5, "best": True}
RUN = {"kind": "run", **NAME, "limit": 10.0, "accuracy": 0.5, "rows": 10, "used": 9.0}
LINES = {
    "start": {"kind": "start", "machine": {}},
    "data": {"kind": "data", "dataset": "aloi", "train_rows": 7, "test_rows": 3, "columns": 2, "classes": 2},
    "missing": {"kind": "missing", "dataset": "aloi", "why": "no file"},
    "dropped": {"kind": "dropped", "dataset": "aloi", "learner": "lightgbm", "seconds": None, "why": "too fast"},
    "size": {"kind": "size", "dataset": "aloi", "learner": "lightgbm", "rows": None, "of": 9},
    "round": ROUND,
    "run": RUN,
}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "results.jsonl"


def test_written_lines_are_read_again(file):
    ResultLog(file).append([ROUND, RUN])

    results = ResultLog(file)

    assert results.lines == [{"v": FORMAT_VERSION, **ROUND}, {"v": FORMAT_VERSION, **RUN}]
    assert results.rejected == ()


def test_lines_are_found_by_their_fields(file):
    results = ResultLog(file)
    results.append([ROUND, RUN])

    assert results.find_lines("run", teacher="tct") == [{"v": FORMAT_VERSION, **RUN}]
    assert results.find_lines("run", teacher="double") == []


def test_an_incomplete_line_is_moved_and_the_file_can_be_appended_to(file):
    ResultLog(file).append([ROUND, RUN])
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"v": 1, "kind": "ru')

    results = ResultLog(file)
    results.append([{**RUN, "seed": 1}])

    assert "incomplete, or not JSON" in str(results.rejected[0])
    assert (file.parent / "results.set-aside.jsonl").read_bytes() == b'{"v": 1, "kind": "ru\n'
    assert [line.get("seed") for line in ResultLog(file).lines] == [0, 0, 1]


def test_a_complete_last_line_without_its_newline_is_kept(file):
    ResultLog(file).append([ROUND, RUN])
    file.write_bytes(file.read_bytes()[:-1])

    ResultLog(file).append([{**RUN, "seed": 1}])

    assert len(ResultLog(file).lines) == 3
    assert ResultLog(file).rejected == ()


def test_lines_of_another_version_are_reported_and_not_lost(file):
    old = json.dumps({"v": 0, "kind": "run", "accuracy": 0.1}).encode()
    file.write_bytes(old + b"\n" + json.dumps({"v": FORMAT_VERSION, **RUN}).encode() + b"\n")

    results = ResultLog(file)

    assert results.lines == [{"v": FORMAT_VERSION, **RUN}]
    assert "version 0; expected version 1" in str(results.rejected[0])
    assert (file.parent / "results.set-aside.jsonl").read_bytes() == old + b"\n"


def test_rounds_of_an_unfinished_run_are_moved(file):
    ResultLog(file).append([ROUND])

    results = ResultLog(file)

    assert results.lines == []
    assert "did not end" in str(results.rejected[0])


@pytest.mark.parametrize("line", [b"[1]", b"3", b'"text"', b'{"v": 1}', b'{"v": 1, "kind": "run"}', b"\xff\xfe"])
def test_any_other_line_is_moved_too(file, line):
    file.write_bytes(line + b"\n")

    results = ResultLog(file)

    assert results.lines == []
    assert len(results.rejected) == 1
    assert (file.parent / "results.set-aside.jsonl").read_bytes() == line + b"\n"


@pytest.mark.parametrize(
    ("kind", "field"), [(kind, field) for kind, line in LINES.items() for field in line if field != "kind"]
)
@pytest.mark.parametrize("wrong", [True, False])
def test_a_line_with_a_missing_or_invalid_field_is_moved(file, kind, field, wrong):
    line = {"v": FORMAT_VERSION, **LINES[kind], field: [["?"]]}
    if not wrong:
        del line[field]
    file.write_text(json.dumps(line) + "\n")

    results = ResultLog(file)

    assert results.lines == []
    assert f"a {kind} line without a valid {field}" in str(results.rejected[0])


def test_lines_of_every_kind_are_kept_including_unknown_kinds(file):
    lines = [*LINES.values(), {"kind": "weather"}]
    ResultLog(file).append(lines)

    assert ResultLog(file).lines == [{"v": FORMAT_VERSION, **line} for line in lines]


def test_reading_does_not_change_the_file(file):
    body = json.dumps({"v": FORMAT_VERSION, **RUN}).encode() + b'\n{"v": 7}\n{"v": 1, "ki'
    file.write_bytes(body)

    lines, rejected = read_result_lines(file)

    assert lines == [{"v": FORMAT_VERSION, **RUN}]
    assert ["skipped: version 7" in str(rejected[0]), "incomplete, or not JSON" in str(rejected[1])] == [True, True]
    assert file.read_bytes() == body
    assert list(file.parent.iterdir()) == [file]


def test_there_is_one_writer_at_a_time(file):
    with (
        lock_results(file),
        pytest.raises(ResultLogLocked, match=r"Another study is writing to .* Wait until it ends"),
        lock_results(file),
    ):
        pass
    with lock_results(file):
        pass


@settings(max_examples=60)
@given(cut=st.integers(0, 1500), runs=st.integers(1, 4))
def test_after_a_truncated_write_every_line_is_in_one_of_the_two_files(tmp_path_factory, cut, runs):
    file = tmp_path_factory.mktemp("cut") / "results.jsonl"
    for seed in range(runs):
        ResultLog(file).append([{**ROUND, "seed": seed}, {**RUN, "seed": seed}])
    body = file.read_bytes()[:cut]
    file.write_bytes(body)

    kept = ResultLog(file).lines
    aside = file.parent / "results.set-aside.jsonl"
    lines = file.read_bytes().split(b"\n") + (aside.read_bytes().split(b"\n") if aside.exists() else [])

    assert sorted(filter(None, lines)) == sorted(filter(None, body.split(b"\n")))
    assert {line["seed"] for line in kept} == {line["seed"] for line in kept if line["kind"] == "run"}
