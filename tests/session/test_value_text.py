"""Values as text: the same in every process, and another one if the value changed."""

import functools
import importlib.util
import inspect
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import scipy.special
import scipy.stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from fitwithin._session.fingerprint import describe_learner, find_differences, list_not_comparable
from fitwithin._session.value_text import NOT_COMPARABLE, describe_value

MODULE = """
    import functools
    import users_module
    from sklearn.base import BaseEstimator, ClassifierMixin

    FACTOR = 2
    TABLE = {"a": [1, 2]}
    OTHER = {"a": 1}

    def helper(X):
        return X * FACTOR

    def function(X, shift=1):
        return [helper(row) + shift for row in X]

    def look_up(X):
        return [TABLE[x.OTHER] for x in X]

    def call_by_module(X):
        return users_module.helper(X)

    def make_closure(power):
        return lambda X: X ** power

    class Base:
        def fit(self, X, y):
            return self

    class Learner(ClassifierMixin, Base, BaseEstimator):
        @property
        def classes(self):
            return [0, 1]

        @classmethod
        def make(cls):
            return cls()

        @staticmethod
        def name():
            return "mine"

        @functools.cached_property
        def cached(self):
            return 5

    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, X):
            return X * self.factor

        def method(self, X):
            return X / self.factor

    closure = make_closure(3)
    cached = functools.cache(helper)
    partial = functools.partial(function, shift=4)
    scale = Scale(2.5)
    method = scale.method
"""


def load(folder, old="", new=""):
    """Return a module of the user's, after an edit."""
    path = folder / "users_module.py"
    assert old in MODULE
    path.write_text(textwrap.dedent(MODULE.replace(old, new)))
    spec = importlib.util.spec_from_file_location("users_module", path)
    # The module imports itself.
    module = sys.modules["users_module"] = importlib.util.module_from_spec(spec)
    # Not from a cache of an earlier edit in the same second.
    exec(compile(path.read_text(), path, "exec"), module.__dict__)
    return module


EDITS = {
    "FACTOR = 2": ("FACTOR = 3", ["function", "helper", "partial", "cached", "call_by_module"]),
    "X * FACTOR": ("X - FACTOR", ["function", "helper", "partial", "cached", "call_by_module"]),
    "[1, 2]": ("[1, 3]", ["look_up"]),
    '{"a": 1}': ('{"a": 2}', []),
    "shift=1": ("shift=2", ["function", "partial"]),
    "shift=4": ("shift=5", ["partial"]),
    "+ shift": ("- shift", ["function", "partial"]),
    "X ** power": ("X ** -power", ["closure"]),
    "make_closure(3)": ("make_closure(4)", ["closure"]),
    "return self\n": ("return X\n", ["Base", "Learner"]),
    "[0, 1]": ("[0, 2]", ["Learner"]),
    "return cls()": ("return cls", ["Learner"]),
    '"mine"': ('"ours"', ["Learner"]),
    "return 5": ("return 6", ["Learner"]),
    "Scale(2.5)": ("Scale(3.5)", ["scale", "method"]),
    "X * self.factor": ("X + self.factor", ["Scale", "scale", "method"]),
}
"""What is edited, what it becomes, and what is another one then."""

NAMES = [
    *("function", "helper", "look_up", "call_by_module", "partial", "cached", "closure"),
    *("Base", "Learner", "Scale", "scale", "method"),
]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_shows_in_everything_that_uses_it_and_nowhere_else(edit, tmp_path):
    edited, changed = EDITS[edit]
    before = {name: describe_value(getattr(load(tmp_path), name)) for name in NAMES}

    after = {name: describe_value(getattr(load(tmp_path, edit, edited), name)) for name in NAMES}

    assert {name for name in NAMES if before[name] != after[name]} == set(changed)
    assert NOT_COMPARABLE not in before.values()


def test_comments_and_places_do_not_show(tmp_path):
    before = {name: describe_value(getattr(load(tmp_path), name)) for name in NAMES}

    after = load(tmp_path, "    FACTOR = 2\n", "    # How much?\n\n    FACTOR = 2\n")

    assert {name: describe_value(getattr(after, name)) for name in NAMES} == before


def test_functions_and_classes_of_libraries_are_known_by_name():
    assert describe_value(np.log1p) == "numpy.log1p"
    assert describe_value(len) == "builtins.len"
    assert describe_value(np.mean) == "numpy.mean"
    assert describe_value(f1_score) == "sklearn.metrics._classification.f1_score"
    assert describe_value(LogisticRegression) == "sklearn.linear_model._logistic.LogisticRegression"


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_every_estimator_of_scikit_learn_can_be_compared():
    learners = [kind() for _, kind in all_estimators() if all(p.default is not p.empty for p in parameters_of(kind))]
    unclear = {type(learner).__name__: list_not_comparable(describe_learner(learner)) for learner in learners}

    assert len(learners) > 150
    assert not any(unclear.values()), unclear


def parameters_of(kind):
    return [p for p in inspect.signature(kind).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]


def has_lock():
    scorer = make_scorer(f1_score)
    scorer.lock = threading.Lock()
    return scorer


@pytest.mark.parametrize(
    "value",
    [
        threading.Lock(),
        (entry for entry in "a"),
        np.frompyfunc(lambda x: x, 1, 1),
        {"a": [threading.Lock()]},
        np.array([threading.Lock()], dtype=object),
        has_lock(),
        functools.partial(max, threading.Lock()),
    ],
    ids=["lock", "generator", "ufunc", "dict", "array", "scorer", "partial"],
)
def test_what_has_no_pickled_state_cannot_be_compared(value):
    assert describe_value(value) == NOT_COMPARABLE


class Averaging(ClassifierMixin, BaseEstimator):
    """Keeps its members from `get_params`."""

    def __init__(self, members):
        self.members = members


def freeze(y):
    return FrozenEstimator(LogisticRegression().fit([[0], [1]], y))


LEARNERS = {
    "a lambda": (FunctionTransformer(lambda X: X), FunctionTransformer(lambda X: -X)),
    "members in a list": (Averaging([LogisticRegression(C=1)]), Averaging([LogisticRegression(C=2)])),
    "a frozen model": (freeze([0, 1]), freeze([1, 0])),
    "a frozen model in a pipeline": (Pipeline([("a", freeze([0, 1]))]), Pipeline([("a", freeze([1, 0]))])),
    "steps": (
        Pipeline([("a", DecisionTreeClassifier())]),
        Pipeline([("a", FunctionTransformer()), ("b", DecisionTreeClassifier())]),
    ),
    "a generator": (DecisionTreeClassifier(random_state=np.random.RandomState(0)),) * 2,
}


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "a generator"])
def test_another_part_of_a_learner_shows(name):
    one, other = map(describe_learner, LEARNERS[name])

    assert find_differences(one, other)
    assert not find_differences(one, describe_learner(LEARNERS[name][0]))


def test_cores_of_a_part_do_not_matter():
    one, other = (describe_learner(Averaging([LogisticRegression(n_jobs=n_jobs)])) for n_jobs in (1, 2))

    assert one == other


class Plain:
    """A learner without parameters for scikit-learn."""

    def __init__(self, depth):
        self.depth = depth

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


def test_of_a_learner_without_get_params_the_state_shows():
    assert find_differences(describe_learner(Plain(1)), describe_learner(Plain(2))) == ["its state: others now"]


def describe_many():
    values = [
        *(learner for pair in LEARNERS.values() for learner in pair),
        *(scipy.stats.uniform(0, 2), scipy.stats.loguniform(1e-3, 1), scipy.stats.randint(1, 9), scipy.special.expit),
        *({"a", "b", ("c", 1)}, np.random.default_rng(0), make_scorer(f1_score, average="macro"), Plain(1)),
    ]
    return [describe_value(value) for value in values]


def test_the_text_is_the_same_in_another_process():
    program = [sys.executable, "-c", "import test_value_text as t; print(t.describe_many())"]
    folder = __file__.rpartition("/")[0]

    other = subprocess.run(program, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()

    assert other == str(describe_many())
    assert NOT_COMPARABLE not in other
