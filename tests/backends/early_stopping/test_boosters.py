"""Boosters that are stopped keep the user's early stopping, callbacks and monitor."""

import numpy as np
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier, early_stopping, record_evaluation
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.utils.validation import has_fit_parameter
from xgboost import XGBClassifier
from xgboost.callback import EarlyStopping, TrainingCallback

from fake_stop_signal import questions
from fitwithin.backends._early_stopping.registry import find_early_stopping

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM 4.6 warns for any array
    pytest.mark.filterwarnings(
        "ignore:The argument 'eval_set' is deprecated"
    ),  # its replacement came with LightGBM 4.7
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
# Noisy enough for the validation score to get worse soon.
Y = np.where(X[:, 0] + 2 * RNG.normal(size=len(X)) > 0, 1, 0)
X_VALIDATION = RNG.normal(size=(200, 4))
Y_VALIDATION = np.where(X_VALIDATION[:, 0] + 2 * RNG.normal(size=len(X_VALIDATION)) > 0, 1, 0)
VALIDATION = {"eval_set": [(X_VALIDATION, Y_VALIDATION)]}
ENOUGH = 1e6


def fit_clone(learner, stop_signal, **params):
    model = clone(learner)
    find_early_stopping(model)(model, X, Y, stop_signal, params)
    return model


LIGHTGBM = LGBMClassifier(n_estimators=60, min_child_samples=5, n_jobs=1, verbose=-1)


@pytest.mark.parametrize("by_callback", [True, False])
def test_lightgbm_stops_by_its_own_rule_and_keeps_all_trees_if_the_time_ends_first(by_callback):
    learner = LIGHTGBM if by_callback else clone(LIGHTGBM).set_params(early_stopping_round=15)

    def params():
        return VALIDATION | ({"callbacks": [early_stopping(15, verbose=False)]} if by_callback else {})

    plain, enough = clone(learner).fit(X, Y, **params()), fit_clone(learner, questions(ENOUGH), **params())
    assert enough.best_iteration_ == plain.best_iteration_ < 45
    np.testing.assert_array_equal(enough.predict_proba(X), plain.predict_proba(X))

    stopped = fit_clone(learner, questions(9), **params())
    tried = len(stopped.evals_result_["valid_0"]["binary_logloss"])
    fewer = clone(LIGHTGBM).set_params(n_estimators=tried).fit(X, Y)
    assert stopped.best_iteration_ == tried < 15
    np.testing.assert_array_equal(stopped.predict_proba(X), fewer.predict_proba(X))


def test_callbacks_of_lightgbm_see_every_iteration_including_the_last():
    seen = {}

    model = fit_clone(LIGHTGBM, questions(10), callbacks=[record_evaluation(seen)], **VALIDATION)

    assert len(seen["valid_0"]["binary_logloss"]) == model.booster_.current_iteration() == 8


XGBOOST = XGBClassifier(n_estimators=60, n_jobs=1, max_depth=3)


@pytest.mark.parametrize("seconds", [0, 3, 9, ENOUGH])
@pytest.mark.parametrize("by_callback", [True, False])
def test_early_stopping_of_xgboost_finds_the_best_iteration_so_far(seconds, by_callback):
    def learner():
        settings = (
            {"callbacks": [EarlyStopping(rounds=15, save_best=True)]} if by_callback else {"early_stopping_rounds": 15}
        )
        return clone(XGBOOST).set_params(**settings)

    model = learner()
    find_early_stopping(model)(model, X, Y, questions(seconds), VALIDATION | {"verbose": False})

    tried = len(model.evals_result()["validation_0"]["logloss"])
    plain = learner().set_params(n_estimators=tried).fit(X, Y, verbose=False, **VALIDATION)
    assert model.best_iteration == plain.best_iteration
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_callbacks_of_xgboost_are_called_and_kept():
    class Count(TrainingCallback):
        iterations = 0

        def after_iteration(self, model, epoch, evals_log):
            self.iterations += 1
            return False

    count = Count()
    learner = clone(XGBOOST).set_params(callbacks=[count])

    find_early_stopping(learner)(learner, X, Y, questions(10), {})

    assert learner.callbacks == [count]
    assert count.iterations == learner.get_booster().num_boosted_rounds() == 8


CATBOOST = CatBoostClassifier(iterations=60, thread_count=1, verbose=0, allow_writing_files=False, learning_rate=0.3)


@pytest.mark.parametrize("seconds", [0, 9, ENOUGH])
def test_catboost_keeps_the_best_iteration_so_far(seconds):
    model = fit_clone(CATBOOST, questions(seconds), early_stopping_rounds=15, eval_set=(X_VALIDATION, Y_VALIDATION))

    scores = model.get_evals_result()["validation"]["Logloss"]
    assert len(scores) <= max(1, seconds)
    assert model.best_iteration_ == np.argmin(scores)
    assert model.tree_count_ == model.best_iteration_ + 1


def test_callbacks_of_catboost_are_called_and_can_stop_it():
    class AtFive:
        def after_iteration(self, info):
            return info.iteration < 5

    assert fit_clone(CATBOOST, questions(ENOUGH), callbacks=[AtFive()]).tree_count_ == 5
    assert fit_clone(CATBOOST, questions(4), callbacks=[AtFive()]).tree_count_ == 3


def test_the_users_monitor_is_called_and_can_stop_gradient_boosting():
    stages = []

    def monitor(stage, model, local):
        stages.append(stage)
        return stage == 4

    learner = GradientBoostingClassifier(n_estimators=30, random_state=0)

    assert fit_clone(learner, questions(ENOUGH), monitor=monitor).n_estimators_ == 5
    assert fit_clone(learner, questions(4), monitor=monitor).n_estimators_ == 3
    assert stages == [0, 1, 2, 3, 4, 0, 1, 2]


def test_gradient_boosting_stops_early_by_its_own_rule():
    learner = GradientBoostingClassifier(n_estimators=60, n_iter_no_change=3, random_state=0)
    plain = clone(learner).fit(X, Y)

    model = fit_clone(learner, questions(ENOUGH))

    assert model.n_estimators_ == plain.n_estimators_ < 60
    assert fit_clone(learner, questions(4)).n_estimators_ == 3


HIST = HistGradientBoostingClassifier(max_iter=60, min_samples_leaf=5, random_state=0)


@pytest.mark.parametrize("settings", [{}, {"scoring": "roc_auc"}, {"validation_fraction": None, "tol": 0.02}])
def test_histogram_boosting_stops_early_by_its_own_rule(settings):
    learner = clone(HIST).set_params(early_stopping=True, n_iter_no_change=4, **settings)
    plain = clone(learner).fit(X, Y)

    model = fit_clone(learner, questions(ENOUGH))

    assert model.n_iter_ == plain.n_iter_ < 60
    np.testing.assert_array_equal(model.train_score_, plain.train_score_)
    np.testing.assert_array_equal(model.validation_score_, plain.validation_score_)


@pytest.mark.parametrize("rows", [10_000, 10_001])
def test_automatic_early_stopping_of_histogram_boosting_depends_on_the_number_of_rows(rows):
    many = np.random.default_rng(0).random((rows, 1), dtype=np.float32)
    y = many[:, 0] > 0.5
    learner = clone(HIST).set_params(max_iter=3)
    plain = clone(learner).fit(many, y)

    find_early_stopping(learner)(learner, many.tolist(), y, questions(ENOUGH), {})

    assert learner.do_early_stopping_ is plain.do_early_stopping_ is (rows > 10_000)
    np.testing.assert_array_equal(learner.predict_proba(many), plain.predict_proba(many))


def test_histogram_boosting_without_early_stopping_records_no_scores():
    for seconds in (5, ENOUGH):
        model = fit_clone(HIST, questions(seconds))

        assert model.train_score_.shape == model.validation_score_.shape == (0,)
        assert model.do_early_stopping_ is False


@pytest.mark.skipif(not has_fit_parameter(HIST, "X_val"), reason="came with scikit-learn 1.7")
def test_histogram_boosting_accepts_validation_rows():
    params = {"X_val": X_VALIDATION, "y_val": Y_VALIDATION}
    learner = clone(HIST).set_params(early_stopping=True)

    model = fit_clone(learner, questions(ENOUGH), **params)

    np.testing.assert_array_equal(model.validation_score_, clone(learner).fit(X, Y, **params).validation_score_)
    assert 1 < fit_clone(learner, questions(5), **params).n_iter_ < 5
    with pytest.raises(ValueError, match="early_stopping"):
        fit_clone(clone(HIST).set_params(early_stopping=False), questions(ENOUGH), **params)


def test_histogram_boosting_continues_the_users_earlier_fit():
    learner = clone(HIST).set_params(warm_start=True, max_iter=5).fit(X, Y).set_params(max_iter=10)

    find_early_stopping(learner)(learner, X, Y, questions(ENOUGH), {})

    assert learner.n_iter_ == 10
    np.testing.assert_array_equal(
        learner.predict_proba(X), clone(HIST).set_params(max_iter=10).fit(X, Y).predict_proba(X)
    )


def test_histogram_boosting_refuses_sparse_rows_in_the_words_of_scikit_learn():
    with pytest.raises(TypeError, match="Sparse data was passed for X"):
        find_early_stopping(HIST)(clone(HIST), sparse.csr_matrix(X), Y, questions(ENOUGH), {})


def test_histogram_boosting_without_the_overridden_method_cannot_be_stopped(monkeypatch):
    monkeypatch.delattr(HistGradientBoostingClassifier.__mro__[2], "_should_stop")

    assert find_early_stopping(clone(HIST)) is None
