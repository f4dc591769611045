"""`groups`, `validation="last"` and `X_val` choose the validation and holdout rows of a fit."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from checkpoint_fits import CLOCKS, TimedTree, make_fit, make_rows
from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor
from fitwithin._core.exceptions import UserInputError
from fitwithin._session.held_out_rows import count_held_out_rows
from fitwithin.teachers import OSCT, Lesson

ROWS = 2400
RNG = np.random.default_rng(0)
X = RNG.random((ROWS, 4))
X[:, 3] = np.arange(ROWS)  # the row's number
Y = (X[:, 0] + 0.2 * RNG.random(ROWS) > 0.6).astype(int)
X_VAL = RNG.random((400, 4))
X_VAL[:, 3] = -1 - np.arange(400)
Y_VAL = (X_VAL[:, 0] + 0.2 * RNG.random(400) > 0.6).astype(int)
GROUPS = np.array([f"group {number % 80}" for number in range(ROWS)])
TEACHERS = ["auto", "tct", "tct_al", OSCT(returns="best", first=100), "double", "full"]

FITS = []
"""The numbers of the rows of each fit in this process."""


class RecordingTree(DecisionTreeClassifier):
    def fit(self, X, y, sample_weight=None):
        FITS.append(np.asarray(X)[:, 3].astype(int))
        return super().fit(X, y, sample_weight)


def fit(learner=None, teacher="auto", **arguments):
    settings = {name: arguments.pop(name) for name in ("validation", "backend", "scoring") if name in arguments}
    settings = {"time_limit": 60, "random_state": 0, "backend": "inline", **settings}
    FITS.clear()
    learner = RecordingTree(max_depth=4) if learner is None else learner
    return TimeConstrainedClassifier(learner, teacher=teacher, **settings).fit(X, Y, **arguments)


def trained_rows(clf=None):
    """Return the rows that were trained on; given a classifier, without a last fit that takes the held-out rows too."""
    is_refit = clf is not None and clf.history_[-1].best and clf.history_[-1].estimate is None
    return np.unique(np.concatenate(FITS[:-1] if is_refit else FITS))


# Which rows are held out.


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
@pytest.mark.parametrize("teacher", ["auto", "tct", "full"])
def test_groups_of_equal_rows_widen_the_interval_of_the_estimate(teacher, scoring):
    people, groups = np.random.default_rng(0).random((120, 4)), np.repeat(np.arange(120), 20)
    y = (people[:, 0] + 0.3 * people[:, 1] > 0.6).astype(int)
    arguments = {"time_limit": 60, "random_state": 0, "backend": "inline", "scoring": scoring, "teacher": teacher}
    learner = DecisionTreeClassifier(max_depth=2)
    X_rows, y_rows = people[groups] + 1e-9 * np.random.default_rng(1).random((2400, 4)), y[groups]

    grouped = TimeConstrainedClassifier(learner, **arguments).fit(X_rows, y_rows, groups=groups)
    alone = TimeConstrainedClassifier(learner, **arguments).fit(X_rows, y_rows, groups=np.arange(2400))

    widths = [np.diff(one.score_estimate_[1:])[0] for one in (grouped, alone)]
    assert widths[0] > 2 * widths[1]


@pytest.mark.parametrize("teacher", TEACHERS, ids=str)
def test_groups_are_trained_on_as_a_whole_or_not_at_all(teacher):
    clf = fit(teacher=teacher, groups=GROUPS)

    is_trained = np.isin(np.arange(ROWS), trained_rows(clf))
    held_out = [group for group in np.unique(GROUPS) if not is_trained[group == GROUPS].any()]
    aim = count_held_out_rows(ROWS)
    assert abs(len(held_out) * ROWS / 80 - 2 * aim) <= ROWS / 80
    if clf.stop_reason_ == "all rows":
        assert all(is_trained[group == GROUPS].all() for group in np.unique(GROUPS) if group not in held_out)
        # A last fit of the default may take the rows that were held out.
        assert clf.n_rows_trained_ in ((is_trained.sum(), ROWS) if teacher == "auto" else (is_trained.sum(),))
    assert clf.score_estimate_ is not None


@pytest.mark.parametrize("teacher", TEACHERS, ids=str)
def test_the_last_rows_are_not_trained_on(teacher):
    clf = fit(teacher=teacher, validation="last")

    n_train_rows = ROWS - 2 * count_held_out_rows(ROWS)
    assert trained_rows(clf).max() < n_train_rows
    assert clf.n_rows_in_ == ROWS
    if clf.stop_reason_ == "all rows":
        assert clf.n_rows_trained_ == (ROWS if teacher == "auto" else n_train_rows)
    estimated = [finished for finished in clf.history_ if finished.estimate is not None]
    assert estimated[-1].fresh == count_held_out_rows(ROWS)


@pytest.mark.parametrize("teacher", TEACHERS, ids=str)
def test_every_row_of_x_is_trained_on_and_none_of_x_val(teacher):
    clf = fit(teacher=teacher, X_val=X_VAL, y_val=Y_VAL)

    assert trained_rows().min() >= 0
    if clf.stop_reason_ == "all rows":
        assert len(trained_rows()) == ROWS
    assert clf.n_rows_in_ == ROWS
    assert clf.class_count_.sum() == ROWS
    assert clf.history_[-1].fresh == 200
    low, high = clf.score_estimate_[1:]
    assert low - 0.03 < clf.score(X_VAL, Y_VAL) < high + 0.03


def test_a_seed_decides_the_groups_that_are_held_out():
    held_out = []
    for seed in (0, 0, 1):
        FITS.clear()
        clf = TimeConstrainedClassifier(RecordingTree(), teacher="full", backend="inline", random_state=seed)
        clf.fit(X, Y, groups=GROUPS)
        held_out.append(set(GROUPS) - set(GROUPS[trained_rows()]))

    assert held_out[0] == held_out[1] != held_out[2]


# What they are used for.


class TwoLessons:
    """Teaches a few rows, then every row."""

    returns = "best"

    def teach(self, deck):
        yield Lesson(deck.rows[:1000])
        yield Lesson(deck.rows)
        return "all rows"


class SizeClassifier(ClassifierMixin, BaseEstimator):
    """Predicts 1 if it was trained on few rows, else 0."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.answer_ = int(len(X) <= 1000)
        return self

    def predict(self, X):
        return np.full(len(X), self.answer_)


@pytest.mark.parametrize(("label", "rows"), [(0, ROWS), (1, 1000)])
def test_x_val_chooses_the_model_even_against_one_with_every_row(label, rows):
    clf = fit(SizeClassifier(), TwoLessons(), X_val=X_VAL, y_val=np.full(400, label))

    assert clf.n_rows_trained_ == rows
    assert clf.score_estimate_[0] == 1.0
    assert [one.validation_rows for one in clf.history_] == [200, 200]


class GroupMemory(ClassifierMixin, BaseEstimator):
    """Knows the labels of the groups that it has seen, in the first column, and guesses for others."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.known_ = dict(zip(X[:, 0].tolist(), y.tolist(), strict=True))
        return self

    def predict(self, X):
        return np.array([self.known_.get(group, int(group) % 2) for group in X[:, 0].tolist()])


@pytest.mark.parametrize("teacher", ["auto", "tct"])
def test_the_estimate_is_honest_for_new_groups(teacher):
    numbers = np.repeat(np.arange(600), 10)
    labels = np.random.default_rng(0).integers(2, size=600)[numbers]
    rows = np.column_stack([numbers, np.zeros(len(numbers))]).astype(float)
    clf = TimeConstrainedClassifier(GroupMemory(), teacher=teacher, backend="inline", random_state=0)

    random_estimate = clf.fit(rows, labels).score_estimate_
    grouped_estimate = clf.fit(rows, labels, groups=numbers).score_estimate_

    assert random_estimate is None or random_estimate[1] > 0.9
    assert 0.3 < grouped_estimate[0] < 0.7, "new groups are guessed"


def test_rows_of_x_val_have_the_weight_one():
    weights = np.where(Y == 1, 100.0, 1.0)

    clf = fit(sample_weight=weights, X_val=X_VAL, y_val=Y_VAL)

    assert clf.score_estimate_[0] == pytest.approx(clf.score(X_VAL, Y_VAL), abs=0.06)


def test_a_regressor_takes_the_same_arguments():
    values = X[:, 0] * 3 + RNG.normal(size=ROWS) * 0.1
    reg = TimeConstrainedRegressor(Ridge(), backend="inline", random_state=0)

    last = clone(reg).set_params(validation="last").fit(X[:, :3], values)
    grouped = clone(reg).fit(X[:, :3], values, groups=GROUPS)
    given = clone(reg).fit(X[:, :3], values, X_val=X_VAL[:, :3], y_val=X_VAL[:, 0] * 3)

    assert given.n_rows_trained_ == ROWS
    # The model is too good for the held-out rows to promise a gain.
    assert all(0.8 * ROWS < fitted.n_rows_trained_ < ROWS for fitted in (last, grouped))
    assert all(fitted.score_estimate_[0] > 0.9 for fitted in (last, grouped, given))


# Tables of every type, through the process that reads them.


def as_memmap(values, path):
    mapped = np.memmap(path, mode="w+", shape=values.shape, dtype=values.dtype)
    mapped[:] = values
    mapped.flush()
    return mapped


def as_frame(values):
    return pd.DataFrame(values, columns=list("abcd"))


TABLES = {
    "arrays": lambda values, path: values,
    "Fortran order": lambda values, path: np.asfortranarray(values),
    "objects": lambda values, path: values.astype(object),
    "memory maps": as_memmap,
    "sparse": lambda values, path: sparse.csr_matrix(values),
    "sparse columns": lambda values, path: sparse.csc_array(values),
    "pandas": lambda values, path: as_frame(values),
    "polars": lambda values, path: pl.from_pandas(as_frame(values)),
    "arrow": lambda values, path: pa.Table.from_pandas(as_frame(values)),
}


class LookUp(ClassifierMixin, BaseEstimator):
    """Predicts by the first column, and stores the numbers of its rows."""

    def fit(self, X, y):
        self.classes_, self.type_ = np.unique(y), type(X).__name__
        self.numbers_ = np.sort(self._columns(X)[:, 3].astype(int))
        return self

    def predict(self, X):
        assert type(X).__name__ == self.type_
        return (self._columns(X)[:, 0] > 0.5).astype(int)

    def _columns(self, X):
        return X.toarray() if sparse.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("backend", ["process", "inline"])
@pytest.mark.parametrize("kind", TABLES)
def test_x_val_may_be_any_type_of_table(kind, backend, tmp_path):
    table, table_val = TABLES[kind](X, tmp_path / "X"), TABLES[kind](X_VAL, tmp_path / "X_val")
    clf = TimeConstrainedClassifier(LookUp(), teacher="tct", backend=backend, random_state=0)

    clf.fit(table, Y, X_val=table_val, y_val=(X_VAL[:, 0] > 0.5).astype(int))

    assert clf.best_estimator_.numbers_.tolist() == list(range(clf.n_rows_trained_)) or clf.n_rows_trained_ < ROWS
    assert clf.best_estimator_.numbers_.min() >= 0
    assert clf.score_estimate_[0] == 1.0, "every row of X_val arrives with its own label"
    assert clf.history_[-1].validation_rows == 200


@pytest.mark.parametrize(
    ("make_x", "make_x_val"),
    [
        (as_memmap, lambda values, path: values),
        (as_memmap, lambda values, path: values.astype(np.float32)),
        (as_memmap, lambda values, path: as_memmap(values.astype(np.float32), path)),
        (lambda values, path: values, as_memmap),
        (lambda values, path: values, lambda values, path: (values * 1000).astype(int)),
        (lambda values, path: values.tolist(), lambda values, path: values.tolist()),
    ],
)
def test_arrays_of_other_kinds_go_together(make_x, make_x_val, tmp_path):
    clf = TimeConstrainedClassifier(LookUp(), teacher="tct", random_state=0)
    table_val = make_x_val(X_VAL, tmp_path / "X_val")

    clf.fit(make_x(X, tmp_path / "X"), Y, X_val=table_val, y_val=(np.asarray(table_val)[:, 0] > 0.5).astype(int))

    assert clf.score_estimate_[0] == 1.0


# What is refused.


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        ({"validation": "best"}, ValueError, "validation must be"),
        ({"X_val": X_VAL}, ValueError, "X_val without y_val"),
        ({"groups": GROUPS, "X_val": X_VAL, "y_val": Y_VAL}, ValueError, "both groups and X_val"),
        ({"groups": GROUPS, "validation": "last"}, ValueError, "each of them chooses"),
        ({"groups": GROUPS[1:]}, ValueError, "2399 entries for 2400 rows"),
        ({"groups": np.zeros(ROWS)}, ValueError, "1 different group"),
        ({"groups": np.where(X[:, 3] > 5, X[:, 3], np.nan)}, ValueError, "NaN or None in 6 rows"),
        ({"X_val": X_VAL[:, :3], "y_val": Y_VAL}, ValueError, "X_val has 3 features and X has 4"),
        ({"X_val": X_VAL, "y_val": Y_VAL[1:]}, ValueError, "X_val has 400 rows and y_val 399"),
        ({"X_val": X_VAL, "y_val": Y_VAL + 1}, ValueError, r"labels that y does not have: 2;"),
        ({"X_val": X_VAL[:1], "y_val": Y_VAL[:1]}, ValueError, "X_val has 1 row"),
        ({"X_val": X_VAL[:0], "y_val": Y_VAL[:0]}, ValueError, "X_val has 0 rows; at least 2 are needed"),
        ({"groups": "g"}, ValueError, "The group is 'g', the name of a column, but X is a ndarray.* Pass the values"),
        ({"X_val": as_frame(X_VAL), "y_val": Y_VAL}, TypeError, "X_val is a pandas DataFrame and X a NumPy array"),
        ({"X_val": sparse.csr_matrix(X_VAL), "y_val": Y_VAL}, TypeError, "X_val is a sparse matrix and X a NumPy"),
        ({"X_val": X_VAL.astype(complex), "y_val": Y_VAL}, (TypeError, ValueError), "complex|Complex"),
        ({"X_val": X_VAL, "y_val": [None, *Y_VAL[1:]]}, ValueError, "Input y_val contains NaN or None"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, error, complaint):
    with pytest.raises(error, match=complaint):
        fit(**arguments)


def test_frames_must_have_the_same_columns():
    clf = TimeConstrainedClassifier(LookUp(), backend="inline")

    with pytest.raises(ValueError, match="feature names"):
        clf.fit(as_frame(X), Y, X_val=as_frame(X_VAL).rename(columns={"a": "z"}), y_val=Y_VAL)
    with pytest.raises(TypeError, match="X_val is a polars DataFrame and X a pandas DataFrame"):
        clf.fit(as_frame(X), Y, X_val=pl.from_pandas(as_frame(X_VAL)), y_val=Y_VAL)
    with pytest.raises(ValueError, match="X_val has 0 rows; at least 2 are needed"):
        clf.fit(as_frame(X), Y, X_val=as_frame(X_VAL[:0]), y_val=Y_VAL[:0])


# Fits that go on.


class TrainedRows(TimedTree):
    """A tree on the fake clock that notes the rows that it is trained on."""

    def fit(self, X, y, sample_weight=None):
        # By name: a global value that changes is another learner.
        globals()["FITS"].append(X[:, 3].copy())
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("teacher", ["auto", "tct"])
@pytest.mark.parametrize("how", ["checkpoint", "warm_start"])
def test_a_fit_that_goes_on_holds_out_the_same_rows(how, teacher, tmp_path):
    rows, labels = make_rows()
    groups = np.arange(len(rows)) // 7
    settings = {"checkpoint": str(tmp_path / "fit.ckpt")} if how == "checkpoint" else {"warm_start": True}
    FITS.clear()
    clf = make_fit(TrainedRows(), time_limit=4, random_state=None, teacher=teacher, **settings)
    clf.fit(rows, labels, groups=groups)
    n_rounds, n_fits = len(clf.history_), len(FITS)

    if how == "checkpoint":
        clf = make_fit(TrainedRows(), time_limit=40, random_state=None, teacher=teacher, **settings)
    clf.set_params(time_limit=40).fit(rows, labels, groups=groups)

    assert len(clf.history_) > n_rounds
    assert len(FITS) > n_fits
    number_of = {value: number for number, value in enumerate(rows[:, 3])}
    trained = {groups[number_of[value]] for value in trained_rows(clf)}
    n_held_out = len(np.unique(groups)) - len(trained)
    assert n_held_out * 7 >= 2 * count_held_out_rows(len(rows)) - 14, "both calls hold out the same groups"


@pytest.mark.parametrize(
    ("arguments", "difference"),
    [
        ({"groups": np.arange(20_000) // 9}, "groups: others now"),
        ({}, "groups: some then, none now"),
        ("X_val", "rows of X_val"),
    ],
)
def test_a_checkpoint_of_a_fit_with_other_groups_is_refused(arguments, difference, tmp_path):
    rows, labels = make_rows()
    path = str(tmp_path / "fit.ckpt")
    make_fit(checkpoint=path, time_limit=4).fit(rows, labels, groups=np.arange(len(rows)) // 7)
    if arguments == "X_val":
        arguments = {"X_val": rows[:100], "y_val": labels[:100]}

    with pytest.raises((ValueError, UserInputError), match=difference):
        make_fit(checkpoint=path, time_limit=4).fit(rows, labels, **arguments)


def test_a_warm_start_with_another_x_val_begins_again():
    rows, labels = make_rows()
    clf = make_fit(warm_start=True, time_limit=4)

    clf.fit(rows, labels, X_val=rows[:100], y_val=labels[:100])
    used = clf.time_used_
    clf.fit(rows, labels, X_val=rows[100:200], y_val=labels[100:200])

    assert clf.time_limit_ == 4
    assert used <= 4
    CLOCKS.clear()


# scikit-learn.


class NeedsGroups(ClassifierMixin, BaseEstimator):
    """Stores the arguments of its fit."""

    def fit(self, X, y, sample_weight=None, groups=None, option=None):
        FITS.append(X[:, 3].astype(int))
        self.classes_, self.X_ = np.unique(y), X
        self.sample_weight_, self.groups_, self.option_ = sample_weight, groups, option
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_a_learner_that_asks_for_groups_gets_those_of_its_rows():
    numbers = np.arange(ROWS) // 10
    with config_context(enable_metadata_routing=True):
        clf = fit(NeedsGroups().set_fit_request(groups=True), "full", groups=numbers)
        plain = fit(NeedsGroups(), "full", groups=numbers)
        searched = fit(GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=GroupKFold(3)), "full", groups=numbers)

    model = clf.best_estimator_
    np.testing.assert_array_equal(model.groups_, numbers[model.X_[:, 3].astype(int)])
    assert plain.best_estimator_.groups_ is None
    assert plain.n_rows_trained_ == clf.n_rows_trained_ == searched.n_rows_trained_ < ROWS


class Plain(NeedsGroups):
    def fit(self, X, y):
        return super().fit(X, y)


def test_groups_of_a_cross_validation_reach_the_fit_if_it_asks_for_them():
    numbers = np.arange(ROWS) // 10
    with config_context(enable_metadata_routing=True):
        clf = TimeConstrainedClassifier(Plain(), teacher="full", backend="inline", time_limit=60)
        FITS.clear()
        cross_validate(clf.set_fit_request(groups=True), X, Y, params={"groups": numbers}, cv=GroupKFold(3))
        with_groups = [len(rows) for rows in FITS]
        FITS.clear()
        cross_validate(clf.set_fit_request(groups=False), X, Y, params={"groups": numbers}, cv=GroupKFold(3))

    assert all(n_rows < 1600 for n_rows in with_groups)
    assert [len(rows) for rows in FITS] == [1600] * 3


@pytest.mark.parametrize("backend", ["process", "inline"])
def test_arguments_of_the_learner_go_by_rows_beside_x_val(backend):
    with config_context(enable_metadata_routing=True):
        learner = NeedsGroups().set_fit_request(option=True, sample_weight=True)
        clf = TimeConstrainedClassifier(learner, teacher="tct", backend=backend, time_limit=60)
        clf.fit(X, Y, sample_weight=X[:, 1], option=X[:, 2], X_val=X_VAL, y_val=Y_VAL)

    model = clf.best_estimator_
    np.testing.assert_array_equal(model.sample_weight_, model.X_[:, 1])
    np.testing.assert_array_equal(model.option_, model.X_[:, 2])


def test_weights_still_reach_the_learner_through_an_outer_estimator():
    with config_context(enable_metadata_routing=True):
        clf = TimeConstrainedClassifier(
            NeedsGroups().set_fit_request(sample_weight=True), teacher="full", backend="inline", time_limit=60
        )
        pipeline = make_pipeline(FunctionTransformer(), clf).fit(X, Y, sample_weight=X[:, 1])

    model = pipeline[-1].best_estimator_
    np.testing.assert_array_equal(model.sample_weight_, model.X_[:, 1])


def test_a_clone_has_the_parameter():
    clf = clone(TimeConstrainedClassifier(validation="last"))

    assert clf.get_params()["validation"] == "last"


class SlowExams(TimedTree):
    """A tree whose predictions take as long as its training, by the fake clock."""

    def predict(self, X, check_input=True):
        if CLOCKS:
            CLOCKS[-1].advance(2e-4 * len(X))
        return super().predict(X, check_input)


@pytest.mark.parametrize("teacher", ["tct", "double"])
@pytest.mark.parametrize("time_limit", np.linspace(0.5, 8, 16))
def test_the_estimate_is_there_whenever_the_deadline_comes(teacher, time_limit):
    rows, labels = make_rows(8000)
    clf = make_fit(SlowExams(random_state=0), time_limit=time_limit, teacher=teacher, validation="last")

    clf.fit(rows, labels)

    assert clf.score_estimate_ is not None or clf.history_[-1].examined == 0
    assert clf.score_estimate_ is not None or teacher == "double"
    CLOCKS.clear()
