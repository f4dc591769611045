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


COMMANDS = """
import json, sys
from typer.testing import CliRunner
from fitwithin._cli import app
for words in json.load(sys.stdin):
    done = CliRunner().invoke(app, words, prog_name="fitwithin")
    print(json.dumps([done.exit_code, done.output, sorted(sys.modules)]))
"""


def run_all(commands, folder=None):
    """Run commands one after another in a new process; return what `run` returns for each.

    A large package shows from the command on that imported it.
    """
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"COLUMNS": "200"},
        check=True,
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        tuple(words): (code, text, LARGE & set(modules))
        for words, (code, text, modules) in zip(commands, results, strict=True)
    }


def run(*words, program=PROGRAM, **environment):
    """Run the command in a new process; return its exit code, its output and the large packages that it imported."""
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "200"} | environment,
        check=False,
    )
    *lines, modules = done.stderr.splitlines()
    return done.returncode, done.stdout + "\n".join(lines), LARGE & set(json.loads(modules))


def list_commands(command, words=()):
    """Return the words of a command and of all commands below it."""
    below = getattr(command, "commands", {})
    return [words, *(found for name, sub in below.items() for found in list_commands(sub, (*words, name)))]


PATHS = list_commands(get_command(app))


@pytest.fixture(scope="module")
def helps():
    return run_all([[*words, "--help"] for words in PATHS])


@pytest.mark.parametrize("words", PATHS, ids=lambda words: " ".join(words) or "fitwithin")
def test_no_help_imports_anything_large(words, helps):
    code, text, imported = helps[*words, "--help"]

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


COMPLAINTS = [
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
]


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    folder = tmp_path_factory.mktemp("here")
    (folder / "there.csv").write_text("a,b\n1,2\n")
    return run_all([words for words, _ in COMPLAINTS], folder)


@pytest.mark.parametrize(("words", "complaint"), COMPLAINTS, ids=[" ".join(words) for words, _ in COMPLAINTS])
def test_a_wrong_word_is_reported_before_anything_large_is_imported(words, complaint, complaints):
    code, text, imported = complaints[tuple(words)]

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
