"""Input of every kind that scikit-learn takes reaches the learner unchanged."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import Inline
from fitwithin.teachers import TCT, Double
from fitwithin.testing import FakeClock

ROWS = 1500
RNG = np.random.default_rng(0)
NUMBERS = RNG.random((ROWS, 4))
LABELS = (NUMBERS[:, 0] + 0.3 * RNG.random(ROWS) > 0.6).astype(int)
BACKENDS = ["inline", "process"]


class RecordingClassifier(ClassifierMixin, BaseEstimator):
    """Stores its input and predicts the most frequent class."""

    def fit(self, X, y, sample_weight=None, **params):
        self.X_, self.y_, self.sample_weight_, self.params_ = X, y, sample_weight, params
        self.classes_, counts = np.unique(y, return_counts=True)
        self.most_frequent_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        return np.repeat(self.most_frequent_, len(X) if not sparse.issparse(X) else X.shape[0])


def fitted(learner, X, y, *, backend, **settings):
    limit = {"time_limit": 60, "teacher": TCT(first=100), "random_state": 0}
    return TimeConstrainedClassifier(learner, backend=backend, **limit | settings).fit(X, y)


def a_frame():
    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "blue"], dtype=object)[rng.integers(3, size=ROWS)]
    words[::50] = None
    return pd.DataFrame(
        {
            "number": NUMBERS[:, 0],
            "gaps": np.where(rng.random(ROWS) < 0.1, np.nan, NUMBERS[:, 1]),
            "count": rng.integers(5, size=ROWS).astype(np.int16),
            "flag": rng.random(ROWS) > 0.5,
            "word": words,
            "kind": pd.Categorical(
                rng.choice(["a", "b", "c"], ROWS), categories=["c", "b", "a", "never"], ordered=True
            ),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(100, size=ROWS), unit="D"),
            "maybe": pd.array(np.where(rng.random(ROWS) < 0.2, None, 1), dtype="Int64"),
        }
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_frame_reaches_the_learner_as_a_frame_with_its_types(backend):
    frame = a_frame()

    model = fitted(RecordingClassifier(), frame, LABELS, backend=backend, teacher=Double(first=100)).best_estimator_

    pd.testing.assert_frame_equal(model.X_.sort_index(), frame)
    np.testing.assert_array_equal(model.y_, LABELS[model.X_.index])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_other_frames_reach_the_learner_as_frames_too(backend, convert):
    table = convert(a_frame().drop(columns="kind"))

    classifier = fitted(RecordingClassifier(), table, LABELS, backend=backend, teacher=Double(first=100))

    seen = classifier.best_estimator_.X_
    assert type(seen) is (pl.DataFrame if isinstance(table, pl.DataFrame) else pd.DataFrame)
    assert sorted(seen["number"].to_numpy().tolist()) == sorted(NUMBERS[:, 0].tolist())
    assert list(seen.columns) == list(table.columns if isinstance(table, pl.DataFrame) else table.column_names)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_pipeline_with_a_column_transformer_works_on_a_frame(backend):
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["number", "gaps", "count"]),
        (OneHotEncoder(handle_unknown="ignore"), ["word", "kind", "flag"]),
    )

    classifier = fitted(make_pipeline(columns, LogisticRegression()), a_frame(), LABELS, backend=backend)

    assert classifier.score(a_frame(), LABELS) > 0.8
    assert classifier.feature_names_in_.tolist() == list(a_frame().columns)
    assert classifier.n_features_in_ == 8


def test_native_categories_work():
    frame = a_frame()[["number", "kind"]].assign(kind=lambda table: table["kind"].cat.as_unordered())
    learner = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=5)

    assert fitted(learner, frame, LABELS, backend="process").score(frame, LABELS) > 0.8


def test_a_frame_with_other_columns_is_refused_when_predicting():
    classifier = fitted(GaussianNB(), pd.DataFrame(NUMBERS, columns=list("abcd")), LABELS, backend="inline")

    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(pd.DataFrame(NUMBERS, columns=list("abce")))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "convert", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array]
)
def test_sparse_rows_work(backend, convert):
    X = np.where(NUMBERS > 0.7, NUMBERS, 0)
    y = (X[:, 0] > 0).astype(int)

    classifier = fitted(LogisticRegression(), convert(X), y, backend=backend)

    assert classifier.score(convert(X), y) > 0.9
    dense = fitted(LogisticRegression(), X, y, backend=backend)
    assert [r.rows for r in classifier.history_] == [r.rows for r in dense.history_]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int64, np.uint16, np.bool_])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_type_and_order_arrive_as_they_are(backend, dtype, order):
    X = np.asarray(NUMBERS * 3, dtype=dtype, order=order)

    model = fitted(RecordingClassifier(), X, LABELS, backend=backend, teacher="full").best_estimator_

    assert model.X_.dtype == dtype
    np.testing.assert_array_equal(model.X_, X)


@pytest.mark.parametrize("backend", BACKENDS)
def test_objects_and_lists_arrive_too(backend):
    words = a_frame()[["word"]].fillna("none").to_numpy(dtype=object)

    classifier = fitted(make_pipeline(OneHotEncoder(), DummyClassifier()), words, LABELS, backend=backend)
    from_lists = fitted(GaussianNB(), NUMBERS.tolist(), LABELS.tolist(), backend=backend)

    assert set(classifier.predict(words)) <= {0, 1}
    assert from_lists.score(NUMBERS, LABELS) > 0.8


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"])[LABELS],
        np.array(["no", "yes"], dtype=object)[LABELS],
        LABELS.astype(bool),
        LABELS * 2 - 1,
        LABELS.astype(float),
        LABELS.astype(np.uint8),
        pd.Series(np.array(["no", "yes"])[LABELS]),
        pd.Series(np.array(["no", "yes"])[LABELS], dtype="category"),
        pd.Series(LABELS, dtype="Int64"),
        pl.Series(LABELS),
    ],
    ids=["text", "objects", "bool", "negative", "float", "uint8", "series", "category", "nullable", "polars"],
)
def test_predictions_have_the_type_of_the_labels(labels):
    classifier = fitted(DecisionTreeClassifier(), NUMBERS, labels, backend="process")
    direct = DecisionTreeClassifier().fit(NUMBERS, labels)

    np.testing.assert_array_equal(classifier.classes_, direct.classes_)
    assert classifier.predict(NUMBERS).dtype == direct.predict(NUMBERS).dtype
    assert np.mean(classifier.predict(NUMBERS) == direct.predict(NUMBERS)) > 0.9


def test_classes_that_the_model_never_saw_have_probability_zero():
    class OnlyTwoClasses:
        returns = "last"

        def teach(self, deck):
            from fitwithin.teachers import Lesson

            yield Lesson(np.flatnonzero(y != "b"))
            return "all rows"

    y = np.array(["a", "b", "c"])[np.arange(ROWS) % 3]

    classifier = fitted(GaussianNB(), NUMBERS, y, backend="inline", teacher=OnlyTwoClasses())

    probabilities = classifier.predict_proba(NUMBERS)
    assert classifier.classes_.tolist() == ["a", "b", "c"]
    assert probabilities.shape == (ROWS, 3)
    assert not probabilities[:, 1].any()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.isneginf(classifier.predict_log_proba(NUMBERS)[:, 1]).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_go_with_their_rows(backend):
    weights = NUMBERS[:, 3] + 0.1
    learner = RecordingClassifier()

    classifier = TimeConstrainedClassifier(learner, teacher=Double(first=100), backend=backend, random_state=0)
    model = classifier.fit(NUMBERS, LABELS, sample_weight=weights).best_estimator_

    np.testing.assert_allclose(model.sample_weight_, model.X_[:, 3] + 0.1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_with_weights_the_estimate_is_weighted(backend):
    weights = np.where(LABELS == 1, 10.0, 0.1)
    settings = {"teacher": TCT(first=100), "backend": backend, "random_state": 0}
    stop_early = {"on_round": lambda finished: finished.number == 2}

    classifier = TimeConstrainedClassifier(DummyClassifier(strategy="constant", constant=1), **settings, **stop_early)
    classifier.fit(NUMBERS, LABELS, sample_weight=weights)

    assert classifier.score_estimate_[0] > 0.95
    assert classifier.fit(NUMBERS, LABELS).score_estimate_[0] < 0.8


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "3 entries for 1500 rows"),
        (np.full(ROWS, np.nan), "finite"),
        (np.zeros(ROWS), "sum greater than zero"),
    ],
)
def test_invalid_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        TimeConstrainedClassifier(GaussianNB()).fit(NUMBERS, LABELS, sample_weight=weights)


def test_weights_for_a_learner_that_takes_none_are_refused():
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
        TimeConstrainedClassifier(KNeighborsClassifier()).fit(NUMBERS, LABELS, sample_weight=np.ones(ROWS))


def test_other_arguments_need_routing():
    with pytest.raises(ValueError, match="metadata routing"):
        TimeConstrainedClassifier(RecordingClassifier()).fit(NUMBERS, LABELS, init_score=np.ones(ROWS))


@pytest.mark.parametrize("backend", BACKENDS)
def test_routed_arguments_go_by_rows_or_as_they_are(backend):
    class Routed(RecordingClassifier):
        def fit(self, X, y, sample_weight=None, init_score=None, option=None):
            return super().fit(X, y, sample_weight, init_score=init_score, option=option)

    with config_context(enable_metadata_routing=True):
        learner = Routed().set_fit_request(sample_weight=True, init_score=True, option=True)
        classifier = TimeConstrainedClassifier(learner, teacher=Double(first=100), backend=backend, random_state=0)
        model = classifier.fit(
            NUMBERS, LABELS, sample_weight=NUMBERS[:, 1], init_score=NUMBERS[:, 2], option="good"
        ).best_estimator_

    np.testing.assert_array_equal(model.params_["init_score"], model.X_[:, 2])
    np.testing.assert_array_equal(model.sample_weight_, model.X_[:, 1])
    assert model.params_["option"] == "good"


@pytest.mark.parametrize("backend", BACKENDS)
def test_class_weight_in_the_learner_keeps_working(backend):
    y = (NUMBERS[:, 0] > 0.9).astype(int)
    plain = fitted(LogisticRegression(C=0.01), NUMBERS, y, backend=backend)
    balanced = fitted(LogisticRegression(C=0.01, class_weight="balanced"), NUMBERS, y, backend=backend)

    assert balanced.predict(NUMBERS).sum() > plain.predict(NUMBERS).sum()


@pytest.mark.parametrize(
    ("scoring", "backend"),
    [
        ("balanced_accuracy", "inline"),
        ("f1", "process"),
        ("neg_log_loss", "process"),
        ("roc_auc", "inline"),
        ("average_precision", "inline"),
    ],
)
def test_the_best_model_is_chosen_and_estimated_by_the_users_metric(scoring, backend):
    classifier = fitted(
        DecisionTreeClassifier(max_depth=3),
        NUMBERS,
        LABELS,
        backend=backend,
        scoring=scoring,
        on_round=lambda r: r.number == 2,
    )

    value, low, high = classifier.score_estimate_
    best = [finished for finished in classifier.history_ if finished.best][-1]
    assert low < value < high
    assert (best.estimate, best.low, best.high) == (value, low, high)


def test_an_unknown_metric_is_refused():
    with pytest.raises(ValueError, match="'acuracy'"):
        TimeConstrainedClassifier(GaussianNB(), scoring="acuracy").fit(NUMBERS, LABELS)
    with pytest.raises(ValueError, match="scoring must be"):
        TimeConstrainedClassifier(GaussianNB(), scoring=3).fit(NUMBERS, LABELS)


def test_with_few_positives_the_first_fit_has_enough_of_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=len(X)) > np.quantile(X[:, 0], 0.991) + 0.2).astype(int)

    classifier = TimeConstrainedClassifier(
        LogisticRegression(), scoring="average_precision", teacher=TCT(), backend="inline", random_state=0
    ).fit(X, y)

    first = classifier.history_[0]
    assert y.mean() * first.rows >= 19
    assert first.low > 0
    assert first.high - first.low < 0.6


label_types = st.sampled_from([np.int64, np.uint8, np.float64, np.str_, object])


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.integers(2, 900),
    columns=st.integers(1, 4),
    classes=st.integers(2, 300),
    skew=st.floats(0, 3),
    dtype=st.sampled_from([np.float32, np.float64, np.int32]),
    label_type=label_types,
    gaps=st.booleans(),
    first=st.sampled_from([0.005, 0.1, 1, 30]),
    seed=st.integers(0, 10),
)
def test_any_table_gives_a_class_or_a_clear_error(rows, columns, classes, skew, dtype, label_type, gaps, first, seed):
    rng = np.random.default_rng(seed)
    shares = np.arange(1, classes + 1) ** -skew
    codes = rng.choice(classes, size=rows, p=shares / shares.sum())
    X = (rng.random((rows, columns)) * 50).astype(dtype)
    if gaps and dtype != np.int32:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = (
        np.array([f"class {code}" for code in codes], dtype=object)
        if label_type is object
        else codes.astype(label_type)
    )

    def run():
        clock = FakeClock()
        classifier = TimeConstrainedClassifier(
            DecisionTreeClassifier(max_depth=4),
            teacher=TCT(first=first),
            backend=Inline(clock=clock),
            on_round=lambda finished: clock.advance(1),
            time_limit=7,
            random_state=seed,
        )
        return classifier.fit(X, y)

    if len(np.unique(codes)) < 2:
        with pytest.raises(ValueError, match="one class"):
            run()
        return
    one, two = run(), run()
    assert set(one.predict(X).tolist()) <= set(one.classes_.tolist())
    assert one.predict_proba(X).shape == (rows, len(one.classes_))
    assert one.history_ == two.history_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_weights_and_an_absolute_first_size_do_not_change_the_first_fit():
    y = (np.arange(ROWS) < 5).astype(int)

    weighted = TimeConstrainedClassifier(GaussianNB(), teacher=TCT(first=0.02), backend="inline", random_state=0)
    counted = fitted(GaussianNB(), NUMBERS, y, backend="inline", teacher=TCT(first=30), scoring="balanced_accuracy")

    assert weighted.fit(NUMBERS, y, sample_weight=np.ones(ROWS)).history_[0].rows == 30
    assert counted.history_[0].rows == 30


def test_arguments_and_metrics_that_cannot_work_are_refused_first():
    with pytest.raises(ValueError, match="make_scorer"):
        TimeConstrainedClassifier(GaussianNB(), scoring=lambda model, X, y: 0.0).fit(
            NUMBERS, LABELS, sample_weight=np.ones(ROWS)
        )
    with config_context(enable_metadata_routing=True):

        class Routed(RecordingClassifier):
            def fit(self, X, y, sample_weight=None, option=None):
                return super().fit(X, y, sample_weight, option=option)

        classifier = TimeConstrainedClassifier(Routed().set_fit_request(option=True))
        with pytest.raises(TypeError, match="option holds Python objects"):
            classifier.fit(NUMBERS, LABELS, option=np.array([{}] * ROWS, dtype=object))


def test_a_learner_that_writes_into_its_frame_does_not_write_into_the_users():
    class OverwritingClassifier(RecordingClassifier):
        def fit(self, X, y):
            X.iloc[:, 0] = -1.0
            return super().fit(X, y)

    frame = pd.DataFrame(NUMBERS[:300], columns=list("abcd"))
    fitted(OverwritingClassifier(), frame, LABELS[:300], backend="inline", teacher="full")

    assert (frame["a"] >= 0).all()
