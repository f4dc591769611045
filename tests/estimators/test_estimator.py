"""Parameters, fitted attributes, and errors for input that cannot be used."""

import datetime
import pickle

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier, LGBMRanker
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import fitwithin
from fitwithin import Round, TimeConstrainedClassifier, TimeConstrainedRegressor
from fitwithin.backends import Inline
from fitwithin.teachers import OSCT, SGD, TCT, Double, Full, TBatch, TCTActive, TCTBase
from fitwithin.testing import FakeClock


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.random((4000, 5))
    y = np.array(["blue", "green", "red"])[((X[:, 0] + X[:, 1] + 0.2 * rng.random(4000)) * 1.3).astype(int)]
    return X, y


def inline(learner=None, **settings):
    return TimeConstrainedClassifier(learner, **{"backend": "inline", "random_state": 0} | settings)


def test_the_names_and_defaults_are_the_documented_ones():
    assert TimeConstrainedClassifier().get_params() == {
        "estimator": None,
        "time_limit": 60,
        "teacher": "auto",
        "scoring": None,
        "backend": "process",
        "progress": "auto",
        "on_round": None,
        "n_jobs": None,
        "memory_limit": None,
        "checkpoint": None,
        "warm_start": False,
        "validation": "random",
        "experience": None,
        "fallback": None,
        "random_state": None,
    }


@pytest.mark.parametrize("backend", ["inline", "process"])
def test_fit_sets_every_documented_attribute(backend, table):
    classifier = TimeConstrainedClassifier(GaussianNB(), backend=backend, random_state=0).fit(*table)

    assert type(classifier.best_estimator_) is GaussianNB
    assert all(type(finished) is Round for finished in classifier.history_)
    assert 0 < classifier.time_used_ < 60
    assert classifier.n_rows_in_ == 4000
    chosen = [finished.rows for finished in classifier.history_ if finished.best][-1]
    assert classifier.n_rows_trained_ == classifier.class_count_trained_.sum() == chosen
    assert classifier.stop_reason_ == ("all rows" if chosen >= 3_600 else "no gain")
    assert classifier.class_count_.tolist() == np.unique(table[1], return_counts=True)[1].tolist()
    assert classifier.score_estimate_[1] < classifier.score_estimate_[0] < classifier.score_estimate_[2]
    assert classifier.classes_.tolist() == ["blue", "green", "red"]
    assert classifier.n_features_in_ == 5


def test_both_backends_teach_the_same_rows_and_return_the_same_model(table):
    settings = {"teacher": TCT(first=50), "random_state": 3}
    here = TimeConstrainedClassifier(DecisionTreeClassifier(), backend="inline", **settings).fit(*table)
    there = TimeConstrainedClassifier(DecisionTreeClassifier(), backend="process", **settings).fit(*table)

    outcome = [(r.rows, r.new_rows, r.new_mistakes, r.examined, r.fresh, r.estimate, r.best) for r in here.history_]
    assert outcome == [
        (r.rows, r.new_rows, r.new_mistakes, r.examined, r.fresh, r.estimate, r.best) for r in there.history_
    ]
    np.testing.assert_array_equal(here.predict_proba(table[0]), there.predict_proba(table[0]))


def test_the_same_seed_and_the_same_clock_give_the_same_history(table):
    def run():
        clock = FakeClock()

        class Slow(DecisionTreeClassifier):
            def fit(self, X, y):
                clock.advance(len(X) / 100)
                return super().fit(X, y)

        return inline(Slow(), backend=Inline(clock=clock), time_limit=30, teacher=TCT(first=100)).fit(*table)

    first, second = run(), run()

    assert first.history_ == second.history_
    assert first.stop_reason_ == second.stop_reason_ == "time"
    np.testing.assert_array_equal(first.predict(table[0]), second.predict(table[0]))


def test_the_estimate_comes_from_the_best_models_own_fresh_rows(table):
    classifier = inline(GaussianNB(), teacher=TCT(first=100), on_round=lambda finished: finished.number == 3).fit(
        *table
    )

    best = [finished for finished in classifier.history_ if finished.best][-1]
    assert classifier.stop_reason_ == "on_round"
    assert best.fresh == best.examined
    assert classifier.score_estimate_ == (best.estimate, best.low, best.high)


def test_history_makes_a_data_frame(table):
    classifier = inline(GaussianNB(), teacher=TCT(first=100)).fit(*table)

    frame = pd.DataFrame(classifier.history_)

    assert list(frame.columns) == list(Round.__dataclass_fields__)
    assert frame["rows"].tolist()[:3] == [100, 200, 400]


@pytest.mark.parametrize("limit", [30, 30.0, datetime.timedelta(seconds=30), "30s", "0.5m"])
def test_time_limits_come_in_many_forms(limit, table):
    assert inline(GaussianNB(), time_limit=limit).fit(*table).time_used_ < 30


def test_a_point_in_time_stays_when_a_fit_is_resumed(table, tmp_path):
    def make(seconds):
        point = datetime.datetime.now() + datetime.timedelta(seconds=seconds)
        return inline(GaussianNB(), time_limit=point, checkpoint=tmp_path / "fit", on_round=lambda finished: True)

    first = make(30).fit(*table)
    again = make(300).fit(*table)

    assert first.time_limit_ < 30
    assert again.time_limit_ - 300 == pytest.approx(first.time_used_, abs=1)
    with pytest.raises(ValueError, match=r"time_limit is .*, but it is .* now\. Give a later time"):
        make(-1).fit(*table)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), "soon", "", None, "5m5m", True])
def test_an_invalid_time_limit_is_refused_with_valid_ones(limit, table):
    with pytest.raises(ValueError, match=r"time_limit .*1h30m.* got"):
        inline(GaussianNB(), time_limit=limit).fit(*table)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("teacher", "tcp", r'"auto", "tct", "double", "osct", "tct_al", "sgd", "full".*\'tcp\''),
        ("teacher", TCT, "an object with a method 'teach'"),
        ("backend", "thread", r'"process", "inline".*\'thread\''),
        ("progress", "yes", "progress"),
    ],
)
def test_an_unknown_name_lists_the_known_ones(setting, value, message, table):
    with pytest.raises(ValueError, match=message):
        inline(GaussianNB(), **{setting: value}).fit(*table)


@pytest.mark.parametrize("backend", ["inline", "process"])
@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (np.ones((5, 2)), [0, 1, 0, 1], ValueError, r"inconsistent numbers of samples: \[5, 4\]"),
        (np.ones((0, 2)), [], ValueError, r"0 sample\(s\)"),
        (np.ones((4, 2)), [1, 1, 1, 1], ValueError, "y holds only one class, .* needs at least 2 classes"),
        (np.ones((4, 2)), [0, 1, np.nan, 1], ValueError, "contains NaN"),
        (np.ones((4, 2)), np.array(["a", None, "b", "a"], dtype=object), ValueError, "NaN or None"),
        (np.ones((4, 2)), np.array(["a", 1, "b", 2], dtype=object), ValueError, "mixed types: int, str"),
        (np.ones((4, 2)), [0.5, 0.1, 0.2, 0.3], ValueError, "Unknown label type"),
        (np.ones(4), [0, 1, 0, 1], ValueError, "Expected 2D array"),
        (np.ones((4, 2)), np.eye(4, 2), ValueError, r"y has the shape \(4, 2\); .* multi-label\) are not supported"),
        (np.ones((4, 2)), [[0, 1], [1, 0], [1, 1], [0, 0]], ValueError, "fit one estimator for each column"),
        (np.ones((4, 2)), [["a"], ["a", "b"], ["b"], ["a"]], ValueError, r"y has the shape \(4, 2\)"),
        (np.ones((4, 2)), np.zeros(4, [("event", bool), ("time", float)]), ValueError, "Survival analysis is not supp"),
        (np.array([[1.0, np.nan], [0, 1], [1, 1], [0, 0]]), [0, 1, 0, 1], ValueError, "contains NaN"),
    ],
)
def test_bad_input_is_refused_with_what_came_and_what_was_expected(backend, X, y, error, message):
    with pytest.raises(error, match=message):
        TimeConstrainedClassifier(LogisticRegression(), backend=backend, time_limit=30).fit(X, y)


class _NoPredict:
    def fit(self, X, y):
        return self


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (object(), "no fit and no predict"),
        (_NoPredict(), "has no predict"),
        (GaussianNB, "a class: add parentheses"),
        (LinearRegression(), "must be a classifier; got the regressor"),
        (LGBMRanker(), "Ranking and survival analysis are not supported"),
        (LGBMClassifier(objective="lambdarank"), "Ranking and survival analysis are not supported"),
        (XGBClassifier(objective="survival:cox"), "got survival:cox. Ranking and survival analysis are not supported"),
        (make_pipeline(LGBMRanker()), "got LGBMRanker. Ranking and survival analysis are not supported"),
        (make_pipeline(XGBClassifier(objective="rank:ndcg")), "got rank:ndcg. Ranking and survival analysis"),
    ],
)
def test_an_object_that_is_not_a_classifier_is_refused(learner, message, table):
    with pytest.raises(TypeError, match=message):
        inline(learner).fit(*table)


def test_a_learner_needs_nothing_but_fit_and_predict(table):
    class Box:
        def fit(self, X, y):
            self.answer = y[0]

        def predict(self, X):
            return np.repeat(self.answer, len(X))

    assert set(inline(Box()).fit(*table).predict(table[0])) <= {"blue", "green", "red"}


def test_methods_are_there_only_if_the_learner_has_them(table):
    svm, tree = inline(LinearSVC()), inline(DecisionTreeClassifier())

    assert hasattr(svm, "decision_function")
    assert not hasattr(svm, "predict_proba")
    assert hasattr(tree, "predict_proba")
    assert not hasattr(tree, "decision_function")
    assert svm.fit(*table).decision_function(table[0][:4]).shape == (4, 3)
    np.testing.assert_allclose(np.exp(inline(GaussianNB()).fit(*table).predict_log_proba(table[0])).sum(axis=1), 1)


@pytest.mark.usefixtures("one_thread")  # with fewer cores than threads its threads wait for each other
def test_no_estimator_means_histogram_boosting(table):
    assert type(inline(on_round=lambda finished: True).fit(*table).best_estimator_) is HistGradientBoostingClassifier


def test_random_state_sets_that_of_the_learner_unless_it_has_one(table):
    learner = make_pipeline(StandardScaler(), RandomForestClassifier(5))
    first, second = (inline(learner, random_state=7).fit(*table) for _ in range(2))
    fixed = inline(RandomForestClassifier(5, random_state=11)).fit(*table)

    assert isinstance(first.best_estimator_[-1].random_state, int)
    np.testing.assert_array_equal(first.predict_proba(table[0]), second.predict_proba(table[0]))
    assert fixed.best_estimator_.random_state == 11
    assert learner[-1].random_state is None
    assert inline(RandomForestClassifier(5), random_state=None).fit(*table).best_estimator_.random_state is None


# Auto trains on its 400 validation and holdout rows only if the model with all others is the best one.
@pytest.mark.parametrize(("name", "last_rows"), [("tct", 4000), ("double", 4000), ("full", 4000), ("auto", 3600)])
def test_every_teacher_by_name_teaches_every_row_that_it_can_if_there_is_time(name, last_rows, table):
    assert inline(GaussianNB(), teacher=name).fit(*table).history_[-1].rows in (last_rows, 4000)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("osct", {20}), ("tct_al", {20, 40, 80}), ("sgd", {256})],
)
def test_the_other_teachers_can_be_named_too(name, sizes, table):
    learner = SGDClassifier(loss="log_loss")

    classifier = inline(
        learner, teacher=name, backend=Inline(clock=FakeClock()), on_round=lambda finished: finished.number == 3
    ).fit(*table)

    assert sizes <= {finished.rows for finished in classifier.history_}
    assert classifier.stop_reason_ == "on_round"


class _NeverFitted:
    """A learner that must not be used."""

    def fit(self, X, y):
        raise AssertionError("nothing was to be trained")

    predict = fit


class DemandingTeacher:
    """A teacher of a user, with needs of its own."""

    returns = "last"
    needs = ("transform", "predict", "partial_fit")

    def teach(self, deck):
        raise AssertionError("nothing was to be taught")


@pytest.mark.parametrize("backend", ["inline", "process"])
@pytest.mark.parametrize(
    ("teacher", "learner", "missing"),
    [
        ("tct_al", LinearSVC(), "predict_proba, which LinearSVC"),
        (TCTActive(), SVC(), "predict_proba, which SVC"),
        ("tct_al", SGDClassifier(loss="hinge"), "predict_proba, which SGDClassifier"),
        ("tct_al", _NeverFitted(), "predict_proba, which _NeverFitted"),
        ("sgd", DecisionTreeClassifier(), "partial_fit, which DecisionTreeClassifier"),
        ("sgd", None, "partial_fit, which HistGradientBoostingClassifier"),
        (SGD(batch=64), MLPClassifier(solver="lbfgs"), "partial_fit, which MLPClassifier"),
        ("sgd", make_pipeline(StandardScaler(), SGDClassifier()), "partial_fit, which Pipeline"),
        (DemandingTeacher(), _NeverFitted(), "transform and partial_fit, which _NeverFitted"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_teacher_that_needs_more_than_the_learner_can_do_says_what_is_missing(
    backend, teacher, learner, missing, table
):
    with pytest.raises(TypeError, match=f"needs a learner with {missing} does not have.*the teacher 'tct'"):
        inline(learner, teacher=teacher, backend=backend).fit(*table)


@pytest.mark.parametrize("teacher", ["osct", "tct_al", OSCT(returns="best"), TCTActive(first=10)], ids=str)
@pytest.mark.parametrize("backend", ["inline", "process"])
def test_a_teacher_of_classes_refuses_a_regressor(teacher, backend, table):
    regressor = TimeConstrainedRegressor(Ridge(), teacher=teacher, backend=backend)

    with pytest.raises(ValueError, match=r"(OSCT|TCTActive) works with classes only.*'tct' or 'double'"):
        regressor.fit(table[0], table[0][:, 0])


@pytest.mark.parametrize("teacher", [SGD(batch=16), TCTBase(), TBatch(500)], ids=str)
def test_the_other_teachers_take_a_regressor(teacher, table):
    X = table[0]

    regressor = TimeConstrainedRegressor(
        SGDRegressor(),
        teacher=teacher,
        backend=Inline(clock=FakeClock()),
        on_round=lambda finished: finished.number == 8,
    ).fit(X, X[:, 0])

    assert regressor.predict(X).shape == (4000,)


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        (OSCT(guess=1), r"guess must be an integer of at least 2, or \"half-percent\"; got 1"),
        (OSCT(returns="all"), r"returns must be \"best\" or \"last\"; got 'all'"),
        (TCTActive(alpha=2), r"alpha must be a number in \[0, 1\].*got 2"),
        (SGD(batch=0), "batch must be a positive number of rows .*got 0"),
        (TCTBase(alpha="half"), "alpha must be a number.*got 'half'"),
        (TBatch(0.5), "rows must be a positive number of rows .*got 0.5"),
        (TCTActive(first=-1), "first must be a positive number of rows .*got -1"),
    ],
    ids=str,
)
@pytest.mark.parametrize("backend", ["inline", "process"])
def test_an_invalid_setting_of_a_teacher_is_refused(teacher, message, backend, table):
    with pytest.raises(ValueError, match=message):
        inline(SGDClassifier(loss="log_loss"), teacher=teacher, backend=backend).fit(*table)


def test_a_user_can_search_over_a_teachers_settings(table):
    search = GridSearchCV(inline(GaussianNB(), teacher=TCT()), {"teacher__alpha": [0.0, 0.5]}, cv=2).fit(*table)

    assert search.best_estimator_.score(*table) > 0.5


def test_clone_and_pickle(table):
    classifier = inline(GaussianNB(), teacher=Double(first=50)).fit(*table)

    again = pickle.loads(pickle.dumps(classifier))
    fresh = clone(classifier)

    np.testing.assert_array_equal(again.predict(table[0]), classifier.predict(table[0]))
    assert fresh.teacher.first == 50
    assert not hasattr(fresh, "best_estimator_")


def test_a_model_from_another_process_holds_none_of_our_code(table):
    model = TimeConstrainedClassifier(RandomForestClassifier(5), random_state=0).fit(*table).best_estimator_

    assert b"fitwithin" not in pickle.dumps(model)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(table[0]), model.predict(table[0]))


def test_nothing_is_printed_without_a_terminal(table, capfd):
    TimeConstrainedClassifier(GaussianNB(), teacher=Full()).fit(*table)

    assert capfd.readouterr() == ("", "")


def test_the_version_has_three_parts():
    assert fitwithin.__version__.count(".") == 2


@pytest.mark.parametrize("seed", [0, 20])
def test_a_row_that_no_model_can_predict_is_an_error_wherever_it_is_held_out(seed):
    X = np.random.default_rng(0).random((60, 10)).astype(object)
    y = (X[:, 0] * 4).astype(int)
    X[0, 0] = {"no": "number"}

    with pytest.raises(TypeError, match="argument must be a string"):
        TimeConstrainedClassifier(DecisionTreeClassifier(), backend="inline", random_state=seed).fit(X, y)
