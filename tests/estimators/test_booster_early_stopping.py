"""Boosters that stop early by a score on validation rows."""

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor, TimeConstrainedSearch
from fitwithin._core.exceptions import UserInputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6000, 4)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] + RNG.normal(size=6000) > 0).astype(int)
TREES = 400
STOPS_SOON = {"early_stopping_rounds": 5, "learning_rate": 0.3}
CLASSIFIERS = {
    "lightgbm": LGBMClassifier(n_estimators=TREES, **STOPS_SOON, verbose=-1, n_jobs=1),
    "xgboost": XGBClassifier(n_estimators=TREES, **STOPS_SOON, n_jobs=1),
    "catboost": CatBoostClassifier(iterations=TREES, **STOPS_SOON, verbose=0, thread_count=1),
}
REGRESSORS = {
    "lightgbm": LGBMRegressor(n_estimators=TREES, **STOPS_SOON, verbose=-1, n_jobs=1),
    "xgboost": XGBRegressor(n_estimators=TREES, **STOPS_SOON, n_jobs=1),
    "catboost": CatBoostRegressor(iterations=TREES, **STOPS_SOON, verbose=0, thread_count=1),
}


def count_trees(model):
    if hasattr(model, "tree_count_"):
        return model.tree_count_
    return model.best_iteration if hasattr(model, "best_iteration") else model.best_iteration_


@pytest.mark.parametrize("backend", ["inline", "process"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_validation_rows_of_ours_serve(name, backend):
    clf = TimeConstrainedClassifier(CLASSIFIERS[name], time_limit=60, backend=backend, random_state=0).fit(X, Y)

    assert clf.stop_reason_ == "all rows"
    assert 1 < count_trees(clf.best_estimator_) < TREES / 2
    assert clf.n_rows_trained_ == 6000 - 2 * 300, "the others are validation and holdout rows"
    assert clf.score(X[clf.holdout_rows_], Y[clf.holdout_rows_]) == pytest.approx(clf.score_estimate_[0])


@pytest.mark.parametrize("labels", [("no", "yes"), (1, 2)])
@pytest.mark.parametrize("steps", [(), (StandardScaler(),)], ids=["alone", "in a pipeline"])
@pytest.mark.parametrize("name", ["lightgbm", "catboost"])
def test_labels_of_any_kind_stop_it_at_the_same_tree(name, steps, labels):
    def fit_best(y):
        learner = make_pipeline(*steps, CLASSIFIERS[name])
        clf = TimeConstrainedClassifier(learner, time_limit=60, backend="inline", random_state=0)
        return clf.fit(X, y).best_estimator_[-1]

    assert count_trees(fit_best(np.asarray(labels)[Y])) == count_trees(fit_best(Y))


def test_no_score_of_a_tree_is_printed(capfd):
    TimeConstrainedClassifier(CLASSIFIERS["xgboost"], time_limit=60, random_state=0, progress=False).fit(X, Y)

    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_validation_set_of_the_user_serves(name):
    clf = TimeConstrainedClassifier(CLASSIFIERS[name], time_limit=60, backend="inline", random_state=0)

    clf.fit(X[:4000], Y[:4000], X_val=X[4000:], y_val=Y[4000:])

    assert clf.n_rows_trained_ > 2000
    assert 1 < count_trees(clf.best_estimator_) < TREES / 2


@pytest.mark.parametrize("teacher", ["auto", "tct", "double"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_they_go_through_the_earlier_steps_of_a_pipeline(name, teacher):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(city=np.array(["Oslo", "Lima", "Pune"])[np.arange(6000) % 3])
    columns = make_column_transformer((StandardScaler(), list("abcd")), (OneHotEncoder(), ["city"]))
    pipeline = make_pipeline(columns, CLASSIFIERS[name])

    clf = TimeConstrainedClassifier(pipeline, teacher=teacher, time_limit=60, backend="inline", random_state=0)
    clf.fit(frame, Y)

    assert 1 < count_trees(clf.best_estimator_[-1]) < TREES / 2


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_stops_early_too(name):
    reg = TimeConstrainedRegressor(REGRESSORS[name], time_limit=60, backend="inline", random_state=0)

    reg.fit(X, X[:, 0] + RNG.normal(size=6000))

    assert 1 < count_trees(reg.best_estimator_) < TREES / 2
    assert reg.stop_reason_ == "all rows"


def test_a_rare_class_of_the_validation_rows_is_left_out():
    labels = np.where(np.arange(6000) < 3, 2, Y)

    clf = TimeConstrainedClassifier(CLASSIFIERS["lightgbm"], time_limit=60, backend="inline", random_state=0)

    assert clf.fit(X, labels).classes_.tolist() == [0, 1, 2]


def test_a_search_over_a_booster_and_another_learner_passes_them_to_the_booster():
    search = TimeConstrainedSearch(
        [(CLASSIFIERS["lightgbm"], {"num_leaves": [7, 31]}), "decision-tree"],
        time_limit=60,
        backend="inline",
        on_round=lambda finished: finished.number == 20,
        random_state=0,
    )

    assert search.fit(X, Y).best_score_ > 0.7
    assert not any(isinstance(ended, str) and "Error" in ended for ended in search.cv_results_["ended"])


def test_a_resumed_fit_has_the_same_validation_rows(tmp_path):
    fits = [
        TimeConstrainedClassifier(
            CLASSIFIERS["lightgbm"],
            time_limit=60,
            backend="inline",
            checkpoint=tmp_path / "fit",
            on_round=lambda finished: True,
        ).fit(X, Y)
        for _ in range(2)
    ]

    assert set(fits[0].validation_rows_) == set(fits[1].validation_rows_)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_files_give_them_no_validation_rows_and_are_refused(name, tmp_path):
    pd.DataFrame(X, columns=list("abcd")).assign(label=Y).to_parquet(tmp_path / "rows.parquet")

    with pytest.raises(UserInputError, match=r"stops early by a score needs validation rows.*early_stopping_rounds"):
        TimeConstrainedClassifier(CLASSIFIERS[name], time_limit=60).fit(str(tmp_path), "label")
