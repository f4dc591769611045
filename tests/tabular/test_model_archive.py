"""A model archive returns the pipeline and its card, and loads trusted types only."""

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

from fitwithin._core.exceptions import NotStorable, UserInputError
from fitwithin._core.model_file import TRUSTED_TYPES
from fitwithin._presets import CLASSIFIERS, REGRESSORS, make_preset
from fitwithin._tabular.columns import FeatureColumn
from fitwithin._tabular.model_archive import read_card, read_pipeline, write_archive
from fitwithin._tabular.model_card import ModelCard

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM before 4.7 says so of matrices
]

X = np.random.default_rng(0).random((200, 3))
Y = np.where(X[:, 0] > 0.5, "yes", "no")
CARD = ModelCard(
    task="classification",
    target="y",
    target_type="string",
    classes=["no", "yes"],
    columns=(FeatureColumn("a", "number", "double"),),
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
    """A user's own learner."""

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


def with_few_trees(learner):
    """Reduce the number of trees or steps to keep the test fast."""
    names = [
        name for name in learner.get_params() if name.endswith(("n_estimators", "max_iter")) and "n_iter" not in name
    ]
    return learner.set_params(**dict.fromkeys(names, 5)) if type(learner).__name__ != "LinearSVC" else learner


@pytest.mark.filterwarnings("ignore:The max_iter was reached")  # few steps are enough here
@pytest.mark.filterwarnings("ignore:Maximum number of iteration")  # the same
@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")  # the same
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_preset_classifier_comes_back_unchanged(path, name):
    model = pipeline(with_few_trees(make_preset(name)))

    card = write_archive(path, model, CARD)
    again = read_pipeline(path)

    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert card.trust == ()


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_preset_regressor_comes_back_unchanged(path, name):
    # The threads of a forest add up predictions in any order.
    model = pipeline(with_few_trees(make_preset(name, regression=True, n_jobs=1)), X[:, 0])

    write_archive(path, model, CARD)

    np.testing.assert_array_equal(read_pipeline(path).predict(X), model.predict(X))


def test_the_card_comes_back_unchanged(path):
    write_archive(path, pipeline(DecisionTreeClassifier()), CARD)

    assert read_card(path) == CARD


def test_the_archive_is_a_skops_file(path):
    write_archive(path, pipeline(DecisionTreeClassifier()), CARD)

    model = skops.io.load(path, trusted=list(TRUSTED_TYPES))

    assert isinstance(model, Pipeline)


def test_an_existing_file_is_replaced_only_with_force(path):
    path.write_text("mine")

    with pytest.raises(UserInputError, match="--force"):
        write_archive(path, pipeline(DecisionTreeClassifier()), CARD)
    assert path.read_text() == "mine"
    write_archive(path, pipeline(DecisionTreeClassifier()), CARD, force=True)

    assert read_pipeline(path).predict(X).tolist() == Y.tolist()
    assert os.listdir(path.parent) == [path.name]


def test_a_users_own_learner_must_be_trusted_by_name(path):
    model = pipeline(Own())
    name = f"{Own.__module__}.Own"
    card = write_archive(path, model, CARD)

    with pytest.raises(UserInputError, match=f"--trust {name}"):
        read_pipeline(path)

    assert read_pipeline(path, [name]).predict(X).tolist() == model.predict(X).tolist()
    assert card.trust == (name,)


@pytest.mark.parametrize("function", [os.system, exec, os.unlink], ids=["system", "exec", "unlink"])
def test_a_malicious_file_is_refused_and_runs_nothing(path, function):
    malicious = Pipeline([("encode", FunctionTransformer(function)), ("learn", LogisticRegression().fit(X, Y))])
    write_archive(path, malicious, CARD)

    with pytest.raises(UserInputError, match="which the list of trusted types does not have"):
        read_pipeline(path)


def test_the_card_of_a_file_does_not_make_its_types_trusted(path):
    malicious = Pipeline([("encode", FunctionTransformer(os.system)), ("learn", LogisticRegression().fit(X, Y))])
    assert "posix.system" in write_archive(path, malicious, CARD).trust

    with pytest.raises(UserInputError, match="was not used"):
        read_pipeline(path)


def test_a_pickle_is_opened_only_with_unsafe_pickle(path):
    model = pipeline(DecisionTreeClassifier())
    write_archive(path, model, CARD, as_pickle=True)

    with pytest.raises(UserInputError, match="--unsafe-pickle"):
        read_pipeline(path)

    assert read_card(path) == CARD
    assert read_pipeline(path, unsafe_pickle=True).predict(X).tolist() == model.predict(X).tolist()


class Marks:
    """A pickle that creates a file when it is opened."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("in_zip", [True, False])
def test_a_refused_pickle_runs_nothing(path, tmp_path, in_zip):
    mark = tmp_path / "mark"
    if in_zip:
        write_archive(path, pipeline(DecisionTreeClassifier()), CARD, as_pickle=True)
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("model.pickle", pickle.dumps(Marks(mark)))
            file.writestr("fitwithin.json", CARD.to_json())
    else:
        path.write_bytes(pickle.dumps(Marks(mark)))

    with pytest.raises(UserInputError):
        read_pipeline(path)

    assert not mark.exists()


def test_a_card_that_unpacks_to_much_more_than_its_size_is_refused(path):
    write_archive(path, pipeline(DecisionTreeClassifier()), CARD)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("more.json", " " * 10**7)

    for read in (read_card, read_pipeline):
        with pytest.raises(UserInputError, match=r"was not used\. It would unpack to 10,"):
            read(path)


def test_a_damaged_entry_is_refused(path):
    write_archive(path, pipeline(DecisionTreeClassifier()), CARD)
    with zipfile.ZipFile(path) as file:
        starts = [file.getinfo(name).header_offset for name in ("schema.json", "fitwithin.json")]
    content = bytearray(path.read_bytes())
    for start in starts:
        content[start + 60 : start + 160] = bytes(100)
    path.write_bytes(content)

    with pytest.raises(UserInputError, match=r"is not a model file: .*Use a file"):
        read_card(path)
    with pytest.raises(UserInputError, match=r"was not used\. It can't be loaded"):
        read_pipeline(path)


@pytest.mark.parametrize("note", [lambda: 0, (number for number in range(3))], ids=["lambda", "generator"])
def test_a_model_that_skops_can_not_store_or_load_is_reported(path, note):
    learner = Own()
    learner.note = note

    with pytest.raises(NotStorable):
        write_archive(path, pipeline(learner), CARD)

    assert not path.exists()


@pytest.mark.parametrize("size", [0.3, 0.9])
def test_a_truncated_file_is_refused(path, size):
    write_archive(path, pipeline(DecisionTreeClassifier()), CARD)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * size)])

    with pytest.raises(UserInputError, match="not a model file"):
        read_card(path)


def test_files_of_other_formats_are_refused(path, tmp_path):
    with pytest.raises(UserInputError, match=r"is not a model file: .*No such file"):
        read_card(tmp_path / "absent.skops")
    path.write_text("hello")
    with pytest.raises(UserInputError, match="not a model file"):
        read_card(path)
    skops.io.dump(DecisionTreeClassifier(), path)
    with pytest.raises(UserInputError, match=r"is not a model file: .*fitwithin\.json"):
        read_card(path)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{}", CARD.to_json()[:-9]]
    + [json.dumps({**json.loads(CARD.to_json()), name: 3}) for name in ("columns", "trust", "new")],
)
def test_an_invalid_card_is_refused(text):
    with pytest.raises(UserInputError, match="can't be read"):
        ModelCard.from_json(text)


def test_an_older_card_asks_for_a_new_training():
    with pytest.raises(UserInputError, match=r"older version of fitwithin\. Train the model again"):
        ModelCard.from_json(json.dumps({**json.loads(CARD.to_json()), "format": 1}))


def test_a_newer_card_asks_for_an_upgrade():
    with pytest.raises(UserInputError, match="newer version"):
        ModelCard.from_json(json.dumps({**json.loads(CARD.to_json()), "format": 99}))
