"""Help, completion and complaints come at once: nothing large is imported for them."""

import json
import os
import subprocess
import sys
from typing import get_args

import pytest
from typer.main import get_command

from fitwithin._cli import app, train_options
from fitwithin._session.inputs.fit_arguments import Validation
from fitwithin.teachers._registry import TEACHERS

# It takes a second or more to import these.
LARGE = {"lightgbm", "matplotlib", "numpy", "pandas", "pyarrow", "scipy", "sklearn"}

PROGRAM = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from fitwithin._cli import app
app(prog_name="fitwithin")
"""


def run(*words, folder=None, program=PROGRAM, **environment):
    """Run the command in a new process; return its exit code, its output and the large packages that it imported."""
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"COLUMNS": "200"} | environment,
        check=False,
    )
    *lines, modules = done.stderr.splitlines()
    return done.returncode, done.stdout + "\n".join(lines), LARGE & set(json.loads(modules))


def list_commands(command, words=()):
    """Return the words of a command and of all commands below it."""
    below = getattr(command, "commands", {})
    return [words, *(found for name, sub in below.items() for found in list_commands(sub, (*words, name)))]


@pytest.mark.parametrize("words", list_commands(get_command(app)), ids=lambda words: " ".join(words) or "fitwithin")
def test_no_help_imports_anything_large(words):
    code, text, imported = run(*words, "--help")

    assert (code, imported) == (0, set())
    assert "Usage: fitwithin" in text


def test_completion_imports_nothing_large():
    completion = {
        "_FITWITHIN_COMPLETE": "complete_bash",
        "COMP_WORDS": "fitwithin train --learner l",
        "COMP_CWORD": "3",
    }

    _, text, imported = run(**completion)

    assert text.split() == ["lightgbm", "linear-svm", "logistic-regression"]
    assert imported == set()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["train", "--bogus"], "No such option"),
        (["trian"], "No such command"),
        (["train", "rows.csv"], "There is no file rows.csv."),
        (["train", "there.csv", "--test", "ther.csv"], "Did you mean there.csv?"),
        (["train", "there.csv", "--time-limit", "soon"], "--time-limit must be positive"),
        (["train", "there.csv", "--memory-limit", "much"], "--memory-limit must be positive"),
        (["train", "there.csv", "--learner", "lightgbn"], "Did you mean lightgbm?"),
        (["train", "there.csv", "--teacher", "best"], "--teacher best is unknown."),
        (["train", "there.csv", "--task", "cluster"], "--task cluster is unknown."),
        (["train", "there.csv", "--validation", "first"], "--validation first is unknown."),
        (["predict", "model.skops", "there.csv"], "'model.skops' does not exist."),
        (["predict", "there.csv", "rows.csv"], "There is no file rows.csv."),
        (["inspect", "model.skops"], "'model.skops' does not exist."),
        (["demo", "--time-limit", "soon"], "--time-limit must be positive"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_word_is_reported_before_anything_large_is_imported(words, complaint, tmp_path):
    (tmp_path / "there.csv").write_text("a,b\n1,2\n")

    code, text, imported = run(*words, folder=tmp_path)

    assert code == 2
    assert complaint in text
    assert imported == set()


def test_without_the_paper_its_commands_are_missing_and_the_others_work():
    code, text, _ = run("--help", program="import sys; sys.modules['fitwithin_paper'] = None" + PROGRAM)

    assert code == 0
    assert "train" in text
    assert "theory" not in text


def test_the_names_that_are_checked_early_are_those_that_exist():
    assert tuple(TEACHERS) == train_options.TEACHER_NAMES
    assert get_args(Validation) == train_options.VALIDATION_NAMES
