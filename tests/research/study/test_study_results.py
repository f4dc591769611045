"""Results are never lost, never repeated, and what cannot be used is set aside."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitwithin._research.study.locking import AnotherWriter, only_writer
from fitwithin._research.study.results import VERSION, Results, read_lines

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


def test_what_was_written_is_read_again(file):
    Results(file).append([ROUND, RUN])

    results = Results(file)

    assert results.lines == [{"v": VERSION, **ROUND}, {"v": VERSION, **RUN}]
    assert results.set_aside == ()


def test_lines_are_found_by_what_they_hold(file):
    results = Results(file)
    results.append([ROUND, RUN])

    assert results.of_kind("run", teacher="tct") == [{"v": VERSION, **RUN}]
    assert results.of_kind("run", teacher="double") == []


def test_half_a_line_is_set_aside_and_the_file_goes_on(file):
    Results(file).append([ROUND, RUN])
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"v": 1, "kind": "ru')

    results = Results(file)
    results.append([{**RUN, "seed": 1}])

    assert "half a line" in str(results.set_aside[0])
    assert (file.parent / "results.set-aside.jsonl").read_bytes() == b'{"v": 1, "kind": "ru\n'
    assert [line.get("seed") for line in Results(file).lines] == [0, 0, 1]


def test_a_whole_last_line_without_its_end_is_kept(file):
    Results(file).append([ROUND, RUN])
    file.write_bytes(file.read_bytes()[:-1])

    Results(file).append([{**RUN, "seed": 1}])

    assert len(Results(file).lines) == 3
    assert Results(file).set_aside == ()


def test_lines_of_another_version_are_reported_and_not_lost(file):
    old = json.dumps({"v": 0, "kind": "run", "accuracy": 0.1}).encode()
    file.write_bytes(old + b"\n" + json.dumps({"v": VERSION, **RUN}).encode() + b"\n")

    results = Results(file)

    assert results.lines == [{"v": VERSION, **RUN}]
    assert "of version 0, where this program writes version 1" in str(results.set_aside[0])
    assert (file.parent / "results.set-aside.jsonl").read_bytes() == old + b"\n"


def test_rounds_of_a_run_that_did_not_end_are_set_aside(file):
    Results(file).append([ROUND])

    results = Results(file)

    assert results.lines == []
    assert "did not end" in str(results.set_aside[0])


@pytest.mark.parametrize("line", [b"[1]", b"3", b'"text"', b'{"v": 1}', b'{"v": 1, "kind": "run"}', b"\xff\xfe"])
def test_anything_else_is_set_aside_too(file, line):
    file.write_bytes(line + b"\n")

    results = Results(file)

    assert results.lines == []
    assert len(results.set_aside) == 1
    assert (file.parent / "results.set-aside.jsonl").read_bytes() == line + b"\n"


@pytest.mark.parametrize(
    ("kind", "field"), [(kind, field) for kind, line in LINES.items() for field in line if field != "kind"]
)
@pytest.mark.parametrize("wrong", [True, False])
def test_a_line_without_a_field_of_its_kind_or_with_something_else_there_is_set_aside(file, kind, field, wrong):
    line = {"v": VERSION, **LINES[kind], field: [["?"]]}
    if not wrong:
        del line[field]
    file.write_text(json.dumps(line) + "\n")

    results = Results(file)

    assert results.lines == []
    assert f"a {kind} line without {field}" in str(results.set_aside[0])


def test_lines_of_every_kind_are_kept_and_those_of_kinds_that_are_not_known(file):
    lines = [*LINES.values(), {"kind": "weather"}]
    Results(file).append(lines)

    assert Results(file).lines == [{"v": VERSION, **line} for line in lines]


def test_reading_changes_nothing(file):
    body = json.dumps({"v": VERSION, **RUN}).encode() + b'\n{"v": 7}\n{"v": 1, "ki'
    file.write_bytes(body)

    lines, passed_over = read_lines(file)

    assert lines == [{"v": VERSION, **RUN}]
    assert ["passed over: of version 7" in str(passed_over[0]), "half a line" in str(passed_over[1])] == [True, True]
    assert file.read_bytes() == body
    assert list(file.parent.iterdir()) == [file]


def test_there_is_one_writer_at_a_time(file):
    pytest.importorskip("fcntl")
    with only_writer(file), pytest.raises(AnotherWriter, match="Another study is writing to"), only_writer(file):
        pass
    with only_writer(file):
        pass


@settings(max_examples=60)
@given(cut=st.integers(0, 1500), runs=st.integers(1, 4))
def test_wherever_a_write_was_cut_off_every_byte_is_in_one_of_the_two_files(tmp_path_factory, cut, runs):
    file = tmp_path_factory.mktemp("cut") / "results.jsonl"
    for seed in range(runs):
        Results(file).append([{**ROUND, "seed": seed}, {**RUN, "seed": seed}])
    body = file.read_bytes()[:cut]
    file.write_bytes(body)

    kept = Results(file).lines
    aside = file.parent / "results.set-aside.jsonl"
    lines = file.read_bytes().split(b"\n") + (aside.read_bytes().split(b"\n") if aside.exists() else [])

    assert sorted(filter(None, lines)) == sorted(filter(None, body.split(b"\n")))
    assert {line["seed"] for line in kept} == {line["seed"] for line in kept if line["kind"] == "run"}
