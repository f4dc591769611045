"""The command line, as a user runs it."""

import re

import pytest

from command_line import invoke


@pytest.fixture
def run():
    return invoke


def test_the_demo_runs_and_prints_its_table(run):
    result = run("demo", "--rows", "2000", "--time-limit", "60s", "--seed", "1")
    assert result.exit_code == 0
    for word in ("test accuracy", "fitwithin", "doubling", "random 5%", "limit 60"):
        assert word in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize(("text", "shown"), [("60", "60 s"), ("60s", "60 s"), ("1m", "60 s"), ("60.5", "60.5 s")])
def test_a_time_limit_may_be_written_in_many_ways(run, monkeypatch, text, shown):
    limits = []
    monkeypatch.setattr("fitwithin._demo.run_demo", lambda seconds, **_: limits.append(f"{seconds:g} s"))
    assert run("demo", "--time-limit", text).exit_code == 0
    assert limits == [shown]


@pytest.mark.parametrize("text", ["soon", "", "0", "-3", "nan", "inf", "5s5s", "10 parsecs"])
def test_a_bad_time_limit_is_one_sentence_and_exit_code_2(run, text):
    result = run("demo", f"--time-limit={text}")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "--time-limit must be positive" in result.stderr
    assert repr(text) in result.stderr


def test_too_little_time_is_one_sentence_without_traceback(run):
    result = run("demo", "--rows", "1000", "--time-limit", "1ms")
    assert result.exit_code == 3
    assert "No model within the limit of 0.001 s" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("arguments", [("--rows", "10"), ("--rows", "many"), ("--seed", "-1"), ("--speed", "11")])
def test_other_bad_options_get_exit_code_2(run, arguments):
    result = run("demo", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert arguments[0] in result.stderr


@pytest.mark.parametrize("command", ["", "demo", "train", "predict", "inspect", "study", "study report", "theory"])
def test_every_help_has_an_example(run, command):
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert re.search(rf"Examples?: fitwithin {command}", " ".join(result.stdout.split()))


def test_there_is_completion_for_the_shell(run):
    assert "--install-completion" in run("--help").stdout


def test_without_a_command_the_help_is_shown(run):
    assert "Usage" in run().output
