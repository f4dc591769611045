"""A model file gives back the model, and nothing but what is on our list."""

import json
import os
import pickle
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from fitwithin._core.exceptions import UserInputError
from fitwithin._presets import CLASSIFIERS, REGRESSORS, make_preset
from fitwithin._tabular import model_file
from fitwithin._tabular.columns import Column
from fitwithin._tabular.model_card import About
from fitwithin._tabular.model_file import TRUSTED, NotForSkops, read_about, read_model, write_model

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM before 4.7 says so of matrices
]

X = np.random.default_rng(0).random((200, 3))
Y = np.where(X[:, 0] > 0.5, "yes", "no")
ABOUT = About(
    task="classification",
    target="y",
    target_type="string",
    classes=["no", "yes"],
    columns=(Column("a", "number", "double"),),
    features=3,
    learner="decision-tree",
    encoding="ordinal",
    teacher="auto",
    scoring="accuracy",
    training={
        "rows": np.int64(200),
        "rows_taught": 100,
        "rounds": [],
        "estimate": None,
        "time_used": 1.5,
        "time_limit": 2.0,
        "stop_reason": "time",
    },
)


class Own(ClassifierMixin, BaseEstimator):
    """A learner of a user's own."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[np.zeros(len(X), int)]


def pipeline(learner, y=Y):
    return Pipeline([("encode", "passthrough"), ("learn", learner.fit(X, y))])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def few(learner):
    """The same with few trees, which are as good for a test."""
    names = [
        name for name in learner.get_params() if name.endswith(("n_estimators", "max_iter")) and "n_iter" not in name
    ]
    return learner.set_params(**dict.fromkeys(names, 5)) if type(learner).__name__ != "LinearSVC" else learner


@pytest.mark.filterwarnings("ignore:The max_iter was reached")  # few steps are enough for a file
@pytest.mark.filterwarnings("ignore:Maximum number of iteration")  # the same
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_by_name_comes_back_as_it_was(path, name):
    model = pipeline(few(make_preset(name)))

    about = write_model(path, model, ABOUT)
    again = read_model(path)

    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert about.trust == ()


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_regressor_by_name_comes_back_as_it_was(path, name):
    model = pipeline(few(make_preset(name, regression=True)), X[:, 0])

    write_model(path, model, ABOUT)

    np.testing.assert_array_equal(read_model(path).predict(X), model.predict(X))


def test_what_there_is_to_know_comes_back(path):
    write_model(path, pipeline(DecisionTreeClassifier()), ABOUT)

    assert read_about(path) == ABOUT


def test_the_file_is_one_of_skops(path):
    write_model(path, pipeline(DecisionTreeClassifier()), ABOUT)

    model = skops.io.load(path, trusted=list(TRUSTED))

    assert isinstance(model, Pipeline)


def test_a_file_that_exists_is_replaced_only_if_asked(path):
    path.write_text("mine")

    with pytest.raises(UserInputError, match="--force"):
        write_model(path, pipeline(DecisionTreeClassifier()), ABOUT)
    assert path.read_text() == "mine"
    write_model(path, pipeline(DecisionTreeClassifier()), ABOUT, force=True)

    assert read_model(path).predict(X).tolist() == Y.tolist()
    assert os.listdir(path.parent) == [path.name]


def test_a_learner_of_ones_own_must_be_trusted_by_name(path):
    model = pipeline(Own())
    name = f"{Own.__module__}.Own"
    about = write_model(path, model, ABOUT)

    with pytest.raises(UserInputError, match=f"--trust {name}"):
        read_model(path)

    assert read_model(path, [name]).predict(X).tolist() == model.predict(X).tolist()
    assert about.trust == (name,)


@pytest.mark.parametrize("harm", [os.system, exec, os.unlink], ids=["system", "exec", "unlink"])
def test_a_strangers_file_is_refused_and_runs_nothing(path, harm):
    stranger = Pipeline([("encode", FunctionTransformer(harm)), ("learn", LogisticRegression().fit(X, Y))])
    write_model(path, stranger, ABOUT)

    with pytest.raises(UserInputError, match="does not know to be harmless"):
        read_model(path)


def test_the_file_can_not_trust_itself(path):
    stranger = Pipeline([("encode", FunctionTransformer(os.system)), ("learn", LogisticRegression().fit(X, Y))])
    assert "posix.system" in write_model(path, stranger, ABOUT).trust

    with pytest.raises(UserInputError, match="was not opened"):
        read_model(path)


def test_a_pickle_is_opened_only_by_name(path):
    model = pipeline(DecisionTreeClassifier())
    write_model(path, model, ABOUT, by_pickle=True)

    with pytest.raises(UserInputError, match="--unsafe-pickle"):
        read_model(path)

    assert read_about(path) == ABOUT
    assert read_model(path, unsafe_pickle=True).predict(X).tolist() == model.predict(X).tolist()


class Marks:
    """A pickle that leaves a mark when it is opened."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("in_zip", [True, False])
def test_a_pickle_runs_nothing_unasked(path, tmp_path, in_zip):
    mark = tmp_path / "mark"
    if in_zip:
        write_model(path, pipeline(DecisionTreeClassifier()), ABOUT, by_pickle=True)
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("model.pickle", pickle.dumps(Marks(mark)))
            file.writestr("fitwithin.json", ABOUT.to_json())
    else:
        path.write_bytes(pickle.dumps(Marks(mark)))

    with pytest.raises(UserInputError):
        read_model(path)

    assert not mark.exists()


def test_a_tree_that_was_tampered_with_is_refused(path, monkeypatch):
    tree = DecisionTreeClassifier().fit(X, Y)
    state = tree.tree_.__getstate__()
    nodes = state["nodes"].copy()
    nodes["left_child"][0] = 10**6
    tree.tree_.__setstate__({**state, "nodes": nodes})
    stranger = Pipeline([("encode", "passthrough"), ("learn", tree)])
    with pytest.raises(NotForSkops):
        write_model(path, stranger, ABOUT)
    with monkeypatch.context() as patched:
        patched.setattr(model_file, "refuse_unsound_trees", lambda _: None)
        write_model(path, stranger, ABOUT)

    with pytest.raises(UserInputError, match="was not used"):
        read_model(path)


@pytest.mark.parametrize("note", [lambda: 0, (number for number in range(3))], ids=["lambda", "generator"])
def test_what_skops_can_not_store_or_bring_back_is_known(path, note):
    learner = Own()
    learner.note = note

    with pytest.raises(NotForSkops):
        write_model(path, pipeline(learner), ABOUT)

    assert not path.exists()


@pytest.mark.parametrize("size", [0.3, 0.9])
def test_half_a_file_is_refused(path, size):
    write_model(path, pipeline(DecisionTreeClassifier()), ABOUT)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * size)])

    with pytest.raises(UserInputError, match="no model file"):
        read_about(path)


def test_files_of_other_kinds_are_refused(path, tmp_path):
    with pytest.raises(UserInputError, match="There is no model file"):
        read_about(tmp_path / "absent.skops")
    path.write_text("hello")
    with pytest.raises(UserInputError, match="no model file"):
        read_about(path)
    skops.io.dump(DecisionTreeClassifier(), path)
    with pytest.raises(UserInputError, match="no model of fitwithin"):
        read_about(path)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{}", json.dumps({**json.loads(ABOUT.to_json()), "task": "world domination"})]
    + [
        json.dumps({**json.loads(ABOUT.to_json()), name: 3})
        for name in ("columns", "training", "classes", "trust", "new", "target_type", "versions")
    ]
    + [
        json.dumps({**json.loads(ABOUT.to_json()), "training": {**json.loads(ABOUT.to_json())["training"], **wrong}})
        for wrong in ({"rows_taught": "1"}, {"estimate": "good"}, {"estimate": {"value": 1}}, {"rounds": None})
    ]
    + [json.dumps({**json.loads(ABOUT.to_json()), "classes": [["a"]], "features": "3"})],
)
def test_what_a_file_says_about_itself_is_not_believed(text):
    with pytest.raises(UserInputError, match="can't be read"):
        About.from_json(text)


def test_a_newer_file_asks_for_an_upgrade():
    with pytest.raises(UserInputError, match="newer version"):
        About.from_json(json.dumps({**json.loads(ABOUT.to_json()), "format": 99}))
