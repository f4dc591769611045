"""Models in skops files come back unchanged; untrusted types are named; damaged and oversized files are refused."""

import importlib
import io
import json
import os
import zipfile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import (
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

from fitwithin._core.exceptions import NotStorable, UserInputError
from fitwithin._core.model_file import TRUSTED_TYPES, UntrustedTypes, dump_model, load_model

pytestmark = pytest.mark.usefixtures("one_thread")

X, Y = [[0], [1]], ["no", "yes"]

RNG = np.random.default_rng(0)
ROWS = RNG.integers(0, 6, (120, 4)).astype(float)
CLASSES = np.array(["low", "middle", "high"])[(ROWS[:, 0] // 2).astype(int)]
VALUES = ROWS @ [1.0, 2.0, 0.0, -1.0]
TEXTS = np.array(["red green", "green blue", "blue red red"] * 40)

CLASSIFIERS = [
    LogisticRegression(C=0.1),
    RidgeClassifier(),
    Perceptron(),
    SGDClassifier(random_state=np.random.RandomState(0)),
    LinearSVC(),
    SVC(),
    NuSVC(nu=0.1, kernel="poly"),
    GaussianNB(),
    CategoricalNB(),
    LinearDiscriminantAnalysis(),
    MLPClassifier(max_iter=5),
    KNeighborsClassifier(algorithm="brute"),
    DecisionTreeClassifier(),
    ExtraTreesClassifier(5),
    GradientBoostingClassifier(n_estimators=3),
    AdaBoostClassifier(n_estimators=3),
    BaggingClassifier(n_estimators=3, max_features=2),
    CalibratedClassifierCV(LinearSVC(), cv=2),
    OneVsRestClassifier(LogisticRegression()),
    VotingClassifier([("tree", DecisionTreeClassifier()), ("linear", LogisticRegression())]),
    StackingClassifier([("tree", DecisionTreeClassifier()), ("linear", LogisticRegression())], cv=2),
    GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2),
    make_pipeline(OneHotEncoder(drop="first", max_categories=3, handle_unknown="ignore"), LogisticRegression()),
    make_pipeline(KBinsDiscretizer(3, strategy="uniform"), MultinomialNB()),
    make_pipeline(StandardScaler(), PolynomialFeatures(), PCA(3), LogisticRegression()),
    make_pipeline(FunctionTransformer(np.log1p), DummyClassifier()),
]

REGRESSORS = [
    LinearRegression(),
    Lasso(0.1),
    HuberRegressor(),
    PoissonRegressor(),
    SVR(),
    MLPRegressor(max_iter=5),
    KNeighborsRegressor(algorithm="brute", weights="distance"),
    GradientBoostingRegressor(n_estimators=3, loss="huber"),
    HistGradientBoostingRegressor(max_iter=3, loss="poisson"),
    TransformedTargetRegressor(Lasso(0.1), func=np.log1p, inverse_func=np.expm1),
]


def name(model):
    return "-".join(type(step).__name__ for _, step in model.steps) if hasattr(model, "steps") else type(model).__name__


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # few steps are enough here
@pytest.mark.filterwarnings("ignore:Found unknown categories")  # the rare ones
@pytest.mark.parametrize("learner", CLASSIFIERS, ids=name)
def test_a_usual_classifier_needs_no_trust_and_comes_back_unchanged(tmp_path, learner):
    model = clone(learner).fit(ROWS, CLASSES)

    assert dump_model(model, tmp_path / "model") == ()

    assert load_model(tmp_path / "model").predict(ROWS).tolist() == model.predict(ROWS).tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # few steps are enough here
@pytest.mark.parametrize("learner", REGRESSORS, ids=name)
def test_a_usual_regressor_needs_no_trust_and_comes_back_unchanged(tmp_path, learner):
    model = clone(learner).fit(ROWS, VALUES - VALUES.min() + 1)

    assert dump_model(model, tmp_path / "model") == ()

    np.testing.assert_array_equal(load_model(tmp_path / "model").predict(ROWS), model.predict(ROWS))


@pytest.mark.parametrize("vectorizer", [CountVectorizer(), TfidfVectorizer(max_features=2)], ids=name)
def test_a_model_of_texts_comes_back_unchanged(tmp_path, vectorizer):
    model = make_pipeline(vectorizer, SGDClassifier(random_state=0)).fit(TEXTS, CLASSES)

    assert dump_model(model, tmp_path / "model") == ()

    assert load_model(tmp_path / "model").predict(TEXTS).tolist() == model.predict(TEXTS).tolist()


def test_a_model_that_packs_like_a_bomb_is_stored_unpacked_and_can_be_loaded(tmp_path):
    model = LogisticRegression().fit(ROWS, CLASSES)
    model.coef_, model.n_features_in_ = np.zeros((3, 10**6)), 10**6

    assert dump_model(model, tmp_path / "model") == ()

    assert (tmp_path / "model").stat().st_size > model.coef_.nbytes
    assert load_model(tmp_path / "model").coef_.shape == model.coef_.shape


def test_neighbors_in_a_tree_can_be_trusted_by_name(tmp_path):
    model = KNeighborsClassifier(algorithm="kd_tree").fit(ROWS, CLASSES)
    names = dump_model(model, tmp_path / "model")
    assert "sklearn.neighbors._kd_tree.KDTree" in names

    with pytest.raises(UntrustedTypes):
        load_model(tmp_path / "model")

    assert load_model(tmp_path / "model", names).predict(ROWS).tolist() == model.predict(ROWS).tolist()


def test_the_trusted_types_of_scikit_learn_are_there():
    """A name that was spelled wrong would be trusted in vain; one is of older versions."""
    names = [type_name for type_name in TRUSTED_TYPES if type_name.startswith("sklearn.")]

    missing = {type_name for type_name in names if not find_type(type_name)}

    assert missing <= {"sklearn.compose._column_transformer._RemainderColsList"}


def find_type(type_name):
    module, _, attribute = type_name.rpartition(".")
    return hasattr(importlib.import_module(module), attribute)


def test_a_model_comes_back_unchanged(tmp_path):
    assert dump_model(DecisionTreeClassifier().fit(X, Y), tmp_path / "model") == ()

    assert load_model(tmp_path / "model").predict(X).tolist() == Y


def test_untrusted_types_are_named_and_can_be_trusted(tmp_path):
    name = f"{os.getcwd.__module__}.getcwd"
    assert dump_model(FunctionTransformer(os.getcwd), tmp_path / "model") == (name,)

    with pytest.raises(UntrustedTypes) as caught:
        load_model(tmp_path / "model")

    assert caught.value.names == [name]
    assert load_model(tmp_path / "model", [name]).func is os.getcwd


def test_a_model_that_skops_can_not_load_is_not_storable(tmp_path):
    model = DecisionTreeClassifier().fit(X, Y)
    model.note = lambda: 0

    with pytest.raises(NotStorable):
        dump_model(model, tmp_path / "model")


@pytest.fixture
def path(tmp_path):
    """An honest file."""
    dump_model(LogisticRegression().fit(ROWS, CLASSES), tmp_path / "model")
    return tmp_path / "model"


def rewrite(path, change_schema=lambda schema: schema, **new_entries):
    """Write a file again with another description or with other entries."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()} | new_entries
    schema = json.loads(entries["schema.json"])
    entries["schema.json"] = json.dumps(change_schema(schema) or schema)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def attributes(schema):
    """The description of the attributes of the outermost object."""
    return schema["content"]["content"]


def call_a_constructor(schema):
    shape = attributes(schema)["C"]
    attributes(schema)["coef_"].update(__loader__="ConstructorFromReduceNode", content=shape)


@pytest.mark.parametrize(
    ("change", "type_name"),
    [
        (lambda schema: schema.update(__module__="posix", __class__="system"), "posix.system"),
        (lambda schema: attributes(schema)["coef_"].update(__class__="memmap"), "numpy.memmap"),
        (call_a_constructor, "numpy.ndarray"),
    ],
)
def test_a_type_that_is_not_trusted_is_named(path, change, type_name):
    rewrite(path, change)

    with pytest.raises(UntrustedTypes) as caught:
        load_model(path)

    assert caught.value.names == [type_name]


def test_a_file_that_unpacks_to_much_more_than_its_size_is_refused(path):
    file = io.BytesIO()
    np.save(file, np.zeros((3, 10**6)))
    with zipfile.ZipFile(path) as archive:
        name = attributes(json.loads(archive.read("schema.json")))["coef_"]["file"]
    rewrite(path, **{name: file.getvalue()})

    with pytest.raises(UserInputError, match="would unpack to 24,"):
        load_model(path)


def without_end(path):
    path.write_bytes(path.read_bytes()[:-100])


def with_zeros(path):
    content = path.read_bytes()
    path.write_bytes(content[:200] + bytes(100) + content[300:])


def a_text(path):
    path.write_text("hello")


def another_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello", "hello")


def an_unknown_loader(path):
    rewrite(path, lambda schema: schema.update(__loader__="UnknownNode"))


def an_absent_array(path):
    rewrite(path, lambda schema: attributes(schema)["coef_"].update(file="absent.npy"))


def a_list(path):
    rewrite(path, lambda schema: [schema])


@pytest.mark.parametrize(
    "damage", [without_end, with_zeros, a_text, another_zip, an_unknown_loader, an_absent_array, a_list]
)
def test_a_damaged_or_foreign_file_is_one_sentence(path, damage):
    damage(path)

    with pytest.raises(UserInputError, match=r"It can't be loaded .*Copy it again, or train the model again"):
        load_model(path)
