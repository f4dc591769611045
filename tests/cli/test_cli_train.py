"""fitwithin train, as a user runs it."""

import datetime
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from functools import partial
from itertools import count

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from command_line import invoke
from fitwithin._cli import app

FIND_SPEC = "fitwithin._core.install_command.find_spec"
ROWS = 3000
MODULE_NUMBERS = count()


def people(rows=ROWS, seed=0):
    """Rows with every kind of column and missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(18, 90, rows), "height": rng.normal(170, 10, rows)})
    frame["city"] = rng.choice(["Oslo", "Lima", "Pune"], rows)
    frame["member"] = rng.random(rows) > 0.5
    frame["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, rows), "D")
    frame["name"] = [f"person {number}" for number in range(rows)]
    frame["empty"] = np.nan
    frame["buys"] = np.where((frame["age"] > 50) & (frame["city"] != "Oslo"), "yes", "no")
    frame.loc[::10, "height"] = np.nan
    frame.loc[::13, "city"] = None
    return frame


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_parquet("people.parquet")
    return tmp_path


@pytest.fixture
def run(here):
    return partial(invoke, "train")


def train(run, *more, data="people.parquet", target="buys", learner="decision-tree"):
    wanted = [] if target is None else ["--target", target]
    return run(data, *wanted, "--learner", learner, "--time-limit", "60s", "--seed", 0, *more)


def assert_refused(result, *words, code=2):
    """Check for one sentence and a hint on standard error, without a traceback."""
    assert result.exit_code == code, result.output
    assert len(result.stderr.strip().splitlines()) <= 2
    assert "Traceback" not in result.output
    for word in words:
        assert word in result.stderr


def test_the_memory_and_its_limit_are_shown_and_stored(run):
    shown = train(run, "--memory-limit", "4GB")
    printed = json.loads(train(run, "--memory-limit", "4GB", "--json", "--force").stdout)["training"]

    assert shown.exit_code == 0, shown.output
    assert "for at most 60 s in at most 4.0 GB;" in shown.stdout
    assert re.search(r"memory used\W+\d+ MB of 4\.0 GB", shown.stdout)
    assert printed["lost_seconds"] == 0
    assert printed["memory_limit"] == 4_000_000_000
    assert printed["peak_memory"] == max(finished["peak_memory"] for finished in printed["rounds"]) > 10_000_000


def test_a_learner_that_takes_more_than_the_memory_limit_is_reported_with_the_figures(run, here):
    result = train(run, "--memory-limit", "20MB")

    assert_refused(result, "No model within the memory limit of 20 MB", "Allow more memory.", code=3)
    assert not (here / "model.skops").exists()


def test_a_memory_limit_without_a_unit_that_we_know_is_refused(run):
    assert_refused(train(run, "--memory-limit", "8G"), "--memory-limit must be positive", 'such as "8GB"')


def test_the_file_and_the_result_are_shown(run, here):
    result = train(run)

    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    for words in (
        "people.parquet: 3,000 rows, 5 feature columns; read and encoded in",
        "Target: buys, 2 classes: no",
        "Left out: name (a different value in nearly every row)",
        "Left out: empty (no values)",
        "training rows",
        "boolean: member",
        "text: city",
        "5.0%",  # of the numbers are missing
        "7.7%",  # of the text is missing
        "of 60 s",
        "fitwithin predict model.skops new-rows.parquet --out predictions.parquet",
    ):
        assert words in said
    assert (here / "model.skops").exists()
    assert result.stderr == ""


@pytest.mark.filterwarnings("ignore:The max_iter was reached")  # it is shown as a note
@pytest.mark.parametrize("learner", ["lightgbm", "logistic-regression", "linear-svm", "hist-gradient-boosting"])
def test_learners_get_the_encoding_that_they_can_use(run, learner):
    result = train(run, "--json", "--test", "people.parquet", learner=learner)

    assert result.exit_code == 0, result.output
    card = json.loads(result.stdout)
    assert card["encoding"] == ("one-hot" if learner[0] == "l" and "gbm" not in learner else "ordinal")
    assert card["training"]["test"]["score"] > 0.85
    assert card["classes"] == ["no", "yes"]


def test_json_is_alone_on_standard_output(run):
    card = json.loads(train(run, "--json").stdout)

    assert card["training"]["rows"] == ROWS
    assert card["training"]["time_used"] <= card["training"]["time_limit"] == 60
    assert card["training"]["model"] == "model.skops"
    assert card["training"]["left_out"] == {
        "name": "a different value in nearly every row",
        "empty": "no values",
    }
    assert [column["kind"] for column in card["columns"]] == ["number", "number", "text", "boolean", "time"]


def test_a_regression_is_trained(run, here):
    result = train(run, "--json", target="height")

    card = json.loads(result.stdout)
    assert card["task"] == "regression"
    assert card["scoring"] == "r2"
    assert card["training"]["rows_without_label"] == ROWS // 10


@pytest.mark.parametrize("learner", ["decision-tree", "linear-svm"])
def test_models_are_trained_on_sparse_rows_and_matrices(run, learner):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (500, 5)).astype(float)
    y = (X[:, 0] > 1).astype(int)
    dump_svmlight_file(X, y, "rows.svmlight", zero_based=False)
    np.savez("rows.npz", X=X, buys=y)

    sparse = train(run, "--json", data="rows.svmlight", target=None, learner=learner)
    dense = train(run, "--json", "--force", data="rows.npz", learner=learner)

    assert json.loads(sparse.stdout)["target"] == "label"
    assert json.loads(dense.stdout)["features"] == 5


def test_a_learner_that_takes_no_sparse_rows_is_refused(run):
    dump_svmlight_file(np.eye(4), [0, 1, 0, 1], "rows.svmlight")

    assert_refused(
        train(run, data="rows.svmlight", target=None, learner="hist-gradient-boosting"), "sparse", "lightgbm"
    )


def test_the_limit_may_include_reading(run):
    result = train(run, "--limit-includes-reading", "--json")
    assert json.loads(result.stdout)["training"]["limit_includes_reading"] is True

    late = run("people.parquet", "--target", "buys", "--time-limit", "1ms", "--limit-includes-reading", "--force")
    assert_refused(late, "reading the file alone took", code=3)


def test_too_little_time_is_exit_code_3_and_no_file(run, here):
    result = run("people.parquet", "--target", "buys", "--time-limit", "1ms")

    assert_refused(result, "No model within the limit of 0.001 s", code=3)
    assert "TCT(" not in result.stderr
    assert os.listdir(here) == ["people.parquet"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("peple.parquet", "--target", "buys"), ("no file peple.parquet", "Did you mean people.parquet?")),
        (("people.parquet", "--target", "bys"), ("no column 'bys'", "Did you mean 'buys'?")),
        (("people.parquet",), ("Which column", "--target", "age", "buys")),
        (("people.parquet", "--target", "name"), ("3,000 different values", "--max-classes")),
        (("people.parquet", "--target", "empty"), ("no values at all",)),
        (("people.parquet", "--target", "buys", "--time-limit", "0"), ("--time-limit must be positive",)),
        (("people.parquet", "--target", "buys", "--time-limit", "soon"), ("got 'soon'",)),
        (("people.parquet", "--target", "buys", "--learner", "lightgbn"), ("Did you mean lightgbm?",)),
        (("people.parquet", "--target", "buys", "--learner", "magic"), ("--learner magic", "random-forest")),
        (("people.parquet", "--target", "buys", "--learner", "no.such:thing"), ("No module named", "package.module:")),
        (("people.parquet", "--target", "buys", "--learner", "os:getcwd"), ("no fit and predict",)),
        (("people.parquet", "--target", "height", "--learner", "linear-svm"), ("For regression", "random-forest")),
        (("people.parquet", "--target", "buys", "--teacher", "tcd"), ("Did you mean tct?",)),
        (("people.parquet", "--target", "buys", "--teacher", "sgd"), ("partial_fit", "the teacher 'tct'")),
        (("people.parquet", "--target", "height", "--teacher", "osct"), ("classes only", "the teacher 'tct'")),
        (("people.parquet", "--target", "buys", "--scoring", "acuracy"), ("Did you mean accuracy?",)),
        (("people.parquet", "--target", "buys", "--learner", "sklearn.linear_model:Ridge"), ("Ridge is a regressor",)),
        (("people.parquet", "--target", "buys", "--scoring", "f1"), ("scoring='f1' cannot score", "f1_macro")),
        (("people.parquet", "--target", "height", "--scoring", "accuracy"), ("scoring='accuracy'", "'r2'")),
        (("people.parquet", "--target", "buys", "--task", "clasification"), ("Did you mean classification?",)),
        (("people.parquet", "--target", "buys", "--task", "regression"), ("are numbers",)),
        (("people.parquet", "--target", "buys", "--out", "no/model.skops"), ("no folder no", "mkdir -p no")),
        (("people.parquet", "--target", "buys", "--test", "tst.parquet"), ("no file tst.parquet",)),
    ],
    ids=lambda value: " ".join(value)[-40:],
)
def test_an_error_is_one_sentence_and_a_hint(run, here, options, words):
    assert_refused(run(*options), *words)
    assert os.listdir(here) == ["people.parquet"]


def test_an_existing_model_is_replaced_only_with_force(run, here):
    (here / "model.skops").write_text("mine")

    assert_refused(train(run), "exists already", "--force")
    assert (here / "model.skops").read_text() == "mine"
    assert train(run, "--force").exit_code == 0
    assert (here / "model.skops").read_bytes() != b"mine"


def test_a_target_of_one_value_is_refused(run):
    people().assign(buys="yes").to_parquet("same.parquet")

    assert_refused(train(run, data="same.parquet"), "one value only, 'yes'")


def test_a_file_without_rows_or_other_columns_is_refused(run):
    people().head(0).to_parquet("none.parquet")
    people()[["buys", "empty"]].to_parquet("alone.parquet")

    assert_refused(train(run, data="none.parquet"), "has no rows")
    assert_refused(train(run, data="alone.parquet"), "no column other than 'buys'")


@pytest.mark.parametrize(
    "options",
    [
        ("--out", "people.parquet"),
        ("--report", "people.parquet"),
        ("--out", "same.html", "--report", "./same.html"),
        ("--test", "test.parquet", "--out", "test.parquet"),
    ],
)
def test_one_file_for_two_purposes_is_refused_even_with_force(run, here, options):
    people(seed=1).to_parquet("test.parquet")
    before = {name: (here / name).read_bytes() for name in ("people.parquet", "test.parquet")}

    assert_refused(train(run, "--force", *options), "is named twice")

    assert {name: (here / name).read_bytes() for name in before} == before


@pytest.mark.parametrize("options", [("--jobs", 0), ("--jobs", -7), ("--seed", 2**32)])
def test_numbers_out_of_range_are_wrong_usage(run, here, options):
    assert train(run, *options).exit_code == 2
    assert os.listdir(here) == ["people.parquet"]


def test_a_model_of_a_matrix_is_not_tested_on_a_table(run):
    np.savez("m.npz", X=np.random.default_rng(0).random((300, 2)), y=np.arange(300) % 2)
    pd.DataFrame({"y": [0, 1], "a": [0.0, 1.0]}).to_parquet("t.parquet")

    assert_refused(train(run, "--test", "t.parquet", data="m.npz", target="y"), "matrix without names")


def test_an_undefined_test_score_is_noted_and_left_out(run):
    people().head(1).to_parquet("one.parquet")

    result = train(run, "--json", "--test", "one.parquet", "--task", "regression", target="age")

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout, parse_constant=pytest.fail)["training"]["test"] is None
    assert result.stderr.startswith("Note: no test score: r2 is not defined")


def test_the_next_command_has_unsafe_pickle_only_for_a_pickle(run):
    assert "--unsafe-pickle" not in train(run, "--out", "a.pickle").stdout
    assert "--unsafe-pickle" in train(run, "--out", "b.model", "--unsafe-pickle").stdout


def test_the_card_names_the_libraries(run):
    card = json.loads(train(run, "--json", learner="xgboost").stdout)

    assert {"xgboost", "skops", "pyarrow", "scikit-learn"} <= set(card["versions"])


def test_ctrl_c_during_the_report_is_no_failure(run, here, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("fitwithin.TimeConstrainedClassifier.report", interrupted)

    result = train(run, "--report", "report.html")

    assert result.exit_code == 0
    assert result.stderr == "Note: no report: interrupted\n"
    assert (here / "model.skops").exists()


def test_a_missing_library_is_reported_with_the_command_that_installs_it(run, monkeypatch):
    monkeypatch.setattr(FIND_SPEC, lambda library: None if library in ("skops", "pyarrow") else library)

    assert_refused(train(run), "pyarrow and skops", "pip install -e '.[files,models]'")


def test_a_report_is_written_beside_the_model(run, here):
    result = train(run, "--report", "report.html")

    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("The report is in report.html.\n")
    page = (here / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "decision-tree" in page or "DecisionTreeClassifier" in page


def test_a_report_without_matplotlib_is_refused_before_the_training(run, monkeypatch):
    monkeypatch.setattr(FIND_SPEC, lambda library: None if library == "matplotlib" else library)

    assert_refused(train(run, "--report", "report.html"), "matplotlib", "pip install 'fitwithin[plots]'")


def test_debug_shows_the_traceback_too(run):
    result = run("absent.parquet", "--target", "a", "--debug")

    assert result.exit_code == 2
    assert "There is no file absent.parquet" in result.stderr
    assert "Traceback" in result.stderr


def test_a_test_file_may_have_another_format(run):
    people(seed=1).to_csv("test.csv", index=False)

    card = json.loads(train(run, "--json", "--test", "test.csv").stdout)

    assert card["training"]["test"]["rows"] == ROWS
    assert card["training"]["test"]["score"] > 0.85


def test_a_test_file_with_other_columns_is_refused_before_the_training(run, here):
    people().drop(columns="city").to_parquet("less.parquet")
    people().assign(buys=None).to_parquet("unknown.parquet")

    assert_refused(train(run, "--test", "less.parquet"), "no column 'city'")
    assert_refused(train(run, "--test", "unknown.parquet"), "no row with a value of 'buys'")


def test_a_failed_test_score_does_not_lose_the_model(run, here):
    people().query("buys == 'yes'").to_parquet("one-sided.parquet")

    result = train(run, "--test", "one-sided.parquet", "--scoring", "neg_log_loss", "--json")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["training"]["test"] is None
    assert "Note: no test score" in result.stderr
    assert (here / "model.skops").exists()


OWN = """
    import numpy as np
    from sklearn.base import BaseEstimator, ClassifierMixin

    class First(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            if not np.isfinite(X.sum()):
                raise ValueError("missing values")
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return self.classes_[np.zeros(X.shape[0], int)]

    class NotForSkops(First):
        def fit(self, X, y):
            self.note = lambda: 0
            return super().fit(X, y)

    class Fails(First):
        def fit(self, X, y):
            raise RuntimeError("not today")
"""


@pytest.fixture
def write_module(here, monkeypatch):
    """Write a module under a new name: a worker process that is used again remembers modules by name."""
    monkeypatch.setattr(sys, "path", [*sys.path])

    def write(text):
        name = f"mine_{next(MODULE_NUMBERS)}"
        (here / f"{name}.py").write_text(textwrap.dedent(text))
        return name

    return write


@pytest.fixture
def ctrl_c_raises():
    """Let SIGINT raise KeyboardInterrupt, which it does not if the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def predict(*arguments):
    return CliRunner().invoke(app, ["predict", *map(str, arguments)])


def test_a_users_own_learner_is_found_in_the_working_directory(run, write_module):
    module = write_module(OWN)

    result = train(run, learner=f"{module}:First")

    assert result.exit_code == 0, result.output
    next_command = re.search("fitwithin predict (model.skops .*)", result.stdout)[1].split()
    assert next_command[-2:] == ["--trust", f"{module}.First"]
    without_trust = predict(next_command[0], "people.parquet", *next_command[2:-2])
    assert f"--trust {module}.First" in without_trust.stderr
    assert without_trust.exit_code == 2


@pytest.mark.parametrize(
    ("learner", "code", "words"),
    [("NotForSkops", 0, "stored by pickle"), ("Fails", 1, "RuntimeError: not today")],
)
def test_errors_of_a_users_own_learner_are_reported(run, here, write_module, learner, code, words):
    result = train(run, learner=f"{write_module(OWN)}:{learner}")

    assert result.exit_code == code
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert (here / "model.pickle").exists() == (code == 0)
    assert ("--unsafe-pickle" in result.stdout) == (code == 0)


AFTER_TRAINING = """
    import os
    import shutil
    import signal
    from sklearn.tree import DecisionTreeClassifier

    caller = None

    pressed = 0

    def interrupt(times=1):
        global pressed
        while pressed < times:
            pressed += 1
            os.kill(os.getpid(), signal.SIGINT)

    class Tree(DecisionTreeClassifier):
        def in_caller(self):
            return caller == os.getpid() and hasattr(self, "tree_")

    class InTest(Tree):
        def predict(self, X):
            if self.in_caller():
                interrupt()
            return super().predict(X)

    class InWriting(Tree):
        times = 1

        def __getstate__(self):
            if self.in_caller():
                interrupt(self.times)
            return super().__getstate__()

    class InWritingTwice(InWriting):
        times = 2

    class FolderGone(Tree):
        def __getstate__(self):
            if self.in_caller():
                shutil.rmtree("out", ignore_errors=True)
            return super().__getstate__()

    def in_caller(cls):
        def make():
            global caller
            caller = os.getpid()
            return cls()
        return make

    in_test, in_writing, in_writing_twice, folder_gone = map(in_caller, (InTest, InWriting, InWritingTwice, FolderGone))
"""


@pytest.mark.usefixtures("ctrl_c_raises")
@pytest.mark.parametrize(
    ("learner", "code", "said"),
    [
        ("in_test", 0, "no test score: interrupted"),
        ("in_writing", 0, "press Ctrl-C again to discard it"),
        ("in_writing_twice", 130, "Interrupted; nothing was written."),
        ("folder_gone", 1, "The model is not lost: move "),
    ],
)
def test_trouble_after_the_training_does_not_lose_the_model(run, here, write_module, monkeypatch, learner, code, said):
    module = write_module(AFTER_TRAINING)
    (here / "out").mkdir()
    (here / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(here / "temporary"))

    result = train(run, "--test", "people.parquet", "--out", "out/model.skops", learner=f"{module}:{learner}")

    assert result.exit_code == code, result.stderr
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert (here / "out" / "model.skops").exists() == (code == 0)
    assert ("Next:" in result.stdout) == (code == 0)
    if learner == "folder_gone":
        path = re.search("move (.*) to where", result.stderr)[1]
        assert "3,000 predictions" in predict(path, "people.parquet", "--trust", f"{module}.FolderGone").stdout


SLOW = """
    import os
    import signal
    import time
    from pathlib import Path
    from sklearn.tree import DecisionTreeClassifier

    class Slow(DecisionTreeClassifier):
        def fit(self, X, y):
            if len(y) > {most}:
                {announce}
                time.sleep(600)
            return super().fit(X, y)
"""


with_and_without_a_model = pytest.mark.parametrize(
    ("most", "code", "left"), [(400, 0, True), (0, 130, False)], ids=["a model", "nothing yet"]
)


@pytest.mark.usefixtures("ctrl_c_raises")
@with_and_without_a_model
def test_an_interrupted_training_writes_its_best_model(run, here, write_module, most, code, left):
    module = write_module(SLOW.format(most=most, announce=f"os.kill({os.getpid()}, signal.SIGINT)"))

    result = train(run, learner=f"{module}:Slow")

    assert result.exit_code == code, result.output
    assert (here / "model.skops").exists() == left
    assert "Traceback" not in result.stderr
    assert ("interrupted" in result.stdout) == left
    assert not list(here.glob("*.part"))


# A process in the background of a shell ignores Ctrl-C, and so do its children.
COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from fitwithin._cli import app, errors
app()
"""


def command(*arguments, **options):
    program = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
@with_and_without_a_model
def test_a_signal_keeps_the_best_model_and_writes_it(here, most, code, left, number):
    (here / "mine.py").write_text(textwrap.dedent(SLOW.format(most=most, announce='Path("at-work").touch()')))
    options = ["--target", "buys", "--time-limit", "300s", "--learner", "mine:Slow", "--seed", 0]

    with command("train", "people.parquet", *options, start_new_session=True) as process:
        deadline = time.monotonic() + 100
        while not (here / "at-work").exists():
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(number)
        output, errors = process.communicate(timeout=100)

    assert process.returncode == code, errors
    assert (here / "model.skops").exists() == left
    assert "Traceback" not in errors
    assert ("interrupted" in output) == left
    assert not list(here.glob("*.part"))


LOUD = """
    from sklearn.linear_model import SGDClassifier

    class Loud(SGDClassifier):
        def predict(self, X):
            print("-- predicts")
            return super().predict(X)

    def loud():
        return Loud(verbose=1)
"""


@pytest.mark.slow
def test_output_of_a_learner_does_not_mix_with_json(here):
    (here / "mine.py").write_text(textwrap.dedent(LOUD))
    options = ["--target", "buys", "--time-limit", "60s", "--learner", "mine:loud", "--json"]

    with command("train", "people.parquet", *options, "--test", "people.parquet") as process:
        output, errors = process.communicate(timeout=100)

    assert process.returncode == 0, errors
    assert json.loads(output)["learner"] == "mine:loud"
    assert "-- Epoch 1" in errors
    assert "-- predicts" in errors


@pytest.mark.slow
def test_characters_that_a_terminal_can_not_show_do_not_stop_the_training(here):
    people(300).replace({"buys": {"yes": "ja 🙂"}}).to_parquet("smile.parquet")
    options = ["--target", "buys", "--time-limit", "60s", "--learner", "decision-tree"]

    with command("train", "smile.parquet", *options, env={**os.environ, "PYTHONIOENCODING": "ascii"}) as process:
        output, errors = process.communicate(timeout=100)

    assert process.returncode == 0, errors
    assert "ja ?" in output


def test_the_types_of_the_labels_are_kept(run):
    frame = people(300)
    frame["on"] = frame["buys"] == "yes"
    frame["day"] = np.where(frame["on"], pd.Timestamp("2026-01-01").date(), pd.Timestamp("2026-01-02").date())
    frame["hour"] = np.where(frame["on"], datetime.time(1), datetime.time(2))
    frame.to_parquet("typed.parquet")
    # Arrow can't convert text to a time of day.
    for target, kind in (("on", pa.bool_()), ("day", pa.date32()), ("hour", pa.string())):
        assert train(run, "--force", data="typed.parquet", target=target).exit_code == 0
        answer = CliRunner().invoke(app, ["predict", "model.skops", "typed.parquet", "--force"])
        assert answer.exit_code == 0, answer.output
        predicted = pa.parquet.read_table("predictions.parquet")["prediction"]
        assert predicted.type == kind
        assert np.mean(predicted.to_numpy() == pa.array(frame[target]).cast(kind).to_numpy(zero_copy_only=False)) > 0.9


def grouped_people():
    """Rows of 600 families, whose label depends on the family alone."""
    rng = np.random.default_rng(0)
    family = np.repeat(np.arange(600), 5)
    frame = pd.DataFrame({"income": rng.permutation(600)[family] + 0.01 * rng.normal(size=3000)})
    frame["family"] = np.array([f"family {number}" for number in range(600)])[family]
    frame["buys"] = np.where(rng.random(600)[family] > 0.5, "yes", "no")
    return frame


def test_groups_are_kept_together_and_are_no_feature(run):
    grouped_people().to_parquet("grouped.parquet")

    shown = train(run, "--groups", "family", data="grouped.parquet")
    with_groups = json.loads(train(run, "--groups", "family", "--json", "--force", data="grouped.parquet").stdout)
    without = json.loads(train(run, "--json", "--force", data="grouped.parquet").stdout)

    assert shown.exit_code == 0, shown.output
    assert "Left out: family (it names the groups)" in shown.stdout
    assert [column["name"] for column in with_groups["columns"]] == ["income"]
    assert with_groups["training"]["estimate"]["value"] < 0.7 < without["training"]["estimate"]["value"]


def test_the_last_rows_can_choose_the_model(run):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=3000)})
    frame["label"] = np.where((frame["x"] > 0) ^ (np.arange(3000) > 2500), "up", "down")
    frame.to_csv("ordered.csv", index=False)

    result = train(run, "--validation", "last", "--json", data="ordered.csv", target="label")

    assert json.loads(result.stdout)["training"]["estimate"]["value"] < 0.2


def test_wrong_validation_options_are_refused(run):
    frame = grouped_people()
    frame["half"] = np.arange(3000) % 2
    frame["gaps"] = np.where(frame["income"] > 0, frame["income"], np.nan)
    frame.to_parquet("grouped.parquet")

    assert_refused(train(run, "--validation", "lats", data="grouped.parquet"), "--validation lats", "last")
    assert_refused(train(run, "--groups", "familly", data="grouped.parquet"), "no column 'familly'", "family")
    assert_refused(train(run, "--groups", "buys", data="grouped.parquet"), "'buys' is named by both --target and")
    assert_refused(
        train(run, "--groups", "family", "--validation", "last", data="grouped.parquet"), "both choose", "Leave out one"
    )
    assert_refused(
        train(run, "--groups", "half", data="grouped.parquet"), "2 different groups; at least 3", "finer ones"
    )
    assert_refused(train(run, "--groups", "gaps", data="grouped.parquet"), "'gaps' has missing", "every row needs one")


# Texts.


def reviews(rows=2000):
    """A number, and a text whose words tell the label."""
    rng = np.random.default_rng(0)
    likes = rng.random(rows) > 0.5
    words = np.where(likes, "a fine bright film", "a dull slow film")
    text = [f"{word} about {number}" for number, word in enumerate(words)]
    return pd.DataFrame({"year": rng.integers(1950, 2026, rows), "review": text, "likes": np.where(likes, "yes", "no")})


@pytest.mark.parametrize("learner", ["logistic-regression", "decision-tree"])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_words_of_a_column_of_texts_are_features(run, here, learner, kind):
    frame = reviews()
    frame.loc[5, "review"] = None
    (here / "rows").mkdir()
    frame.to_parquet("rows/reviews.parquet")
    data = "rows" if kind == "folder" else "rows/reviews.parquet"

    result = train(run, "--text", "review", "--json", data=data, target="likes", learner=learner)

    assert result.exit_code == 0, result.output
    card = json.loads(result.stdout)
    assert card["training"]["estimate"]["value"] > 0.95
    predicted = CliRunner().invoke(app, ["predict", "model.skops", "rows/reviews.parquet", "--out", "predicted.csv"])
    assert predicted.exit_code == 0, predicted.output
    assert (pd.read_csv("predicted.csv").iloc[:, 0] == frame.likes).mean() > 0.95


def test_a_column_of_texts_that_is_none_is_named(run, here):
    reviews().to_parquet("reviews.parquet")
    for name, message in (("year", "--text year names a column of int64"), ("rewiev", "Did you mean 'review'")):
        result = train(run, "--text", name, data="reviews.parquet", target="likes")
        assert result.exit_code == 2
        assert message in " ".join(result.stderr.split())


def test_the_experience_is_written_and_must_be_a_file_of_its_own(run, here):
    assert train(run, "--experience", "job.json").exit_code == 0
    assert (here / "job.json").stat().st_size > 0
    assert_refused(train(run, "--experience", "people.parquet"), "people.parquet is named twice")
