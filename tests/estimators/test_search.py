"""TimeConstrainedSearch as a user meets it: what it takes, what it refuses, and what it tells."""

import json
import os
import pickle
import signal
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform, randint
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fitwithin import LearnerFailed, TimeConstrainedSearch
from fitwithin._core.exceptions import UserInputError
from fitwithin.backends import Inline

DEPTHS = {"max_depth": [1, 2, 4, 8]}


@pytest.fixture(scope="module")
def classes():
    return make_classification(4_000, 12, n_informative=8, n_classes=3, random_state=0)


@pytest.fixture(scope="module")
def fitted(classes):
    search = TimeConstrainedSearch(
        DecisionTreeClassifier(), DEPTHS, time_limit=20, backend="inline", progress=False, random_state=0
    )
    return search.fit(*classes)


def search_of(estimator, distributions=None, **parameters):
    settings = {"time_limit": 20, "backend": "inline", "progress": False, "random_state": 0} | parameters
    return TimeConstrainedSearch(estimator, distributions, **settings)


def test_the_results_have_one_entry_for_each_setting_and_the_returned_one_is_first(fitted):
    results = pd.DataFrame(fitted.cv_results_)

    assert results["rank_test_score"].tolist().index(1) == fitted.best_index_
    assert sorted(results["rank_test_score"]) == list(range(1, len(results) + 1))
    assert results.loc[fitted.best_index_, "ended"] == "returned"
    assert fitted.cv_results_["params"][0] == {}
    assert fitted.best_params_ == fitted.cv_results_["params"][fitted.best_index_]
    assert len({str(params) for params in fitted.cv_results_["params"]}) == len(results)
    assert (results["n_rows"] > 0).all()


def test_the_returned_model_has_the_best_settings(fitted):
    assert {name: fitted.best_estimator_.get_params()[name] for name in fitted.best_params_} == fitted.best_params_
    assert fitted.score(*make_classification(4_000, 12, n_informative=8, n_classes=3, random_state=0)) > 0.6
    assert 0 < fitted.best_score_ <= 1
    low_to_high = fitted.score_estimate_[1], fitted.score_estimate_[0], fitted.score_estimate_[2]
    assert tuple(sorted(low_to_high)) == low_to_high


def test_each_fit_of_the_history_has_the_number_of_its_settings(fitted):
    numbers = {finished.candidate for finished in fitted.history_}

    assert numbers <= set(range(len(fitted.cv_results_["params"])))
    assert 0 in numbers
    assert fitted.best_index_ in numbers


def test_masked_parameters_tell_the_settings_of_each_candidate(fitted):
    depths = fitted.cv_results_["param_max_depth"]

    assert depths.mask[0]
    assert depths[1] == fitted.cv_results_["params"][1]["max_depth"]


def test_a_list_of_learners_is_searched_and_named(classes):
    search = search_of(["decision-tree", (GaussianNB(), {"var_smoothing": loguniform(1e-9, 1e-3)})], time_limit=2).fit(
        *classes
    )

    assert set(search.cv_results_["estimator"]) == {"decision-tree", "GaussianNB"}
    assert isinstance(search.best_estimator_, DecisionTreeClassifier | GaussianNB)


def test_a_pipeline_is_searched_by_the_names_of_its_steps(classes):
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier())

    search = search_of(pipeline, {"decisiontreeclassifier__max_depth": [2, 6]}).fit(*classes)

    assert isinstance(search.best_estimator_, Pipeline)
    assert {"decisiontreeclassifier__max_depth": 6} in search.cv_results_["params"]


def test_a_search_can_be_the_last_step_of_a_pipeline(classes):
    model = make_pipeline(StandardScaler(), search_of(DecisionTreeClassifier(), DEPTHS)).fit(*classes)

    assert model.score(*classes) > 0.6


def test_regressors_are_searched_too():
    X, y = make_regression(2_000, 5, noise=1.0, random_state=0)

    search = search_of(DecisionTreeRegressor(), {"max_depth": [2, 8, None]}).fit(X, y)

    assert is_regressor(search)
    assert not is_classifier(search)
    assert search.score(X, y) > 0.5
    assert not hasattr(search, "predict_proba")


def test_distributions_of_scipy_are_drawn_from(classes):
    search = search_of(DecisionTreeClassifier(), {"min_samples_leaf": randint(2, 6)}).fit(*classes)

    values = {params["min_samples_leaf"] for params in search.cv_results_["params"][1:]}
    assert values == {2, 3, 4, 5}


def test_names_alone_are_regressors_if_the_task_says_so():
    X, y = make_regression(1_000, 5, random_state=0)

    search = search_of("decision-tree", task="regression", time_limit=2).fit(X, y)

    assert isinstance(search.best_estimator_, DecisionTreeRegressor)


def test_a_regressor_makes_names_before_it_regressors_too():
    X, y = make_regression(1_000, 5, random_state=0)

    search = search_of(["decision-tree", Ridge()], time_limit=2).fit(X, y)

    assert is_regressor(search)
    assert search.score(X, y) > 0.5


def test_another_metric_chooses_the_settings_and_scores(classes):
    X, y = classes[0], (classes[1] == 0).astype(int)

    search = search_of(DecisionTreeClassifier(), DEPTHS, scoring="roc_auc").fit(X, y)

    assert search.score(X, y) > 0.8
    assert search.predict_proba(X).shape == (len(X), 2)


def test_initial_params_are_the_first_settings_beside_the_learners_own(classes):
    search = search_of(DecisionTreeClassifier(), DEPTHS, initial_params={"max_depth": 3}).fit(*classes)

    assert search.cv_results_["params"][:2] == [{}, {"max_depth": 3}]


def test_frames_and_weights_reach_the_learner(classes):
    X = pd.DataFrame(classes[0]).add_prefix("c")

    search = search_of(DecisionTreeClassifier(), DEPTHS).fit(X, classes[1], sample_weight=np.ones(len(X)))

    assert list(search.best_estimator_.feature_names_in_) == list(X.columns)


def test_the_same_seed_gives_the_same_settings_to_try_first(classes):
    first, second = (search_of(DecisionTreeClassifier(), DEPTHS).fit(*classes) for _ in range(2))

    # How many are tried depends on the clock.
    assert first.cv_results_["params"][:3] == second.cv_results_["params"][:3]


def test_without_a_space_an_unknown_learner_is_fitted_with_its_own_settings(classes):
    search = search_of(GaussianNB()).fit(*classes)

    assert search.best_params_ == {}
    assert len(search.cv_results_["params"]) == 1
    assert search.n_rows_trained_ == search.n_rows_in_


def test_a_search_can_be_cloned_and_printed():
    search = TimeConstrainedSearch(["lightgbm", (Ridge(), {"alpha": [1, 2]})], time_limit="5m")

    assert clone(search).get_params()["time_limit"] == "5m"
    assert "time_limit='5m'" in repr(search)


class Unused(Inline):
    """Notes the learners that it is given."""

    def __init__(self):
        super().__init__()
        self.prepared = []

    def open(self, budget):
        runner = super().open(budget)
        runner.prepare = lambda learner, *others: self.prepared.append(learner)
        return runner


BAD_INPUT = [
    ({"estimator": DecisionTreeClassifier(), "param_distributions": {"max_dept": [1]}}, ValueError, "max_dept"),
    ({"estimator": DecisionTreeClassifier(), "param_distributions": {}}, ValueError, "is empty"),
    ({"estimator": DecisionTreeClassifier(), "param_distributions": {"max_depth": []}}, ValueError, "max_depth"),
    ({"estimator": DecisionTreeClassifier(), "param_distributions": {"max_depth": 3}}, TypeError, "max_depth"),
    ({"estimator": DecisionTreeClassifier(), "param_distributions": [1]}, TypeError, "expected a dict"),
    ({"estimator": []}, ValueError, "empty list"),
    ({"estimator": DecisionTreeClassifier}, TypeError, "estimator must be"),
    ({"estimator": [DecisionTreeClassifier(), RandomForestRegressor()]}, ValueError, "not both"),
    ({"estimator": ["decision-tree"], "param_distributions": {"max_depth": [1]}}, ValueError, "pairs"),
    ({"estimator": "auto", "param_distributions": {"max_depth": [1]}}, ValueError, "got a list of estimators"),
    ({"estimator": "lightgbn"}, ValueError, "lightgbn"),
    ({"estimator": "decision-tree", "task": "ranking"}, ValueError, "task must be"),
    ({"estimator": DecisionTreeClassifier(), "task": "regression"}, ValueError, "Leave task out"),
    ({"estimator": DecisionTreeClassifier(), "initial_params": {"alpha": 1}}, ValueError, "alpha"),
    ({"estimator": DecisionTreeClassifier(), "initial_params": [3]}, TypeError, "initial_params must be"),
    ({"estimator": [("lightgbm", {"num_leaves": [1]}, 3)]}, ValueError, "tuple of 3"),
    ({"estimator": DecisionTreeClassifier(), "n_jobs": 0}, ValueError, "n_jobs"),
]


@pytest.mark.parametrize(("parameters", "error", "text"), BAD_INPUT, ids=lambda value: str(value)[:40])
def test_bad_input_is_refused_before_any_learner_is_prepared(parameters, error, text, classes):
    backend = Unused()

    with pytest.raises(error, match=text):
        TimeConstrainedSearch(**parameters, backend=backend, progress=False).fit(*classes)

    assert not backend.prepared


class Crashing(DecisionTreeClassifier):
    def fit(self, X, y, sample_weight=None):
        if self.max_depth == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.max_depth == 5:
            raise RuntimeError("five is too many")
        return super().fit(X, y)


def test_candidates_that_crash_or_raise_are_out_with_their_reason(classes):
    space = {"max_depth": [3, 5, 7]}

    search = search_of(Crashing(), space, backend="process").fit(*classes)

    results = search.cv_results_
    ended = {params.get("max_depth"): end for params, end in zip(results["params"], results["ended"], strict=True)}
    assert "SIGSEGV" in ended[3]
    assert "five is too many" in ended[5]
    assert search.best_estimator_.max_depth in (None, 7)


class AlwaysRaising(DecisionTreeClassifier):
    def fit(self, X, y, sample_weight=None):
        raise RuntimeError("there is nothing to learn")


def test_if_every_setting_of_a_learner_fails_its_own_error_is_raised(classes):
    with pytest.raises(RuntimeError, match="there is nothing to learn"):
        search_of(AlwaysRaising(), {"max_depth": [1, 2, 3, 4, 5, 6]}).fit(*classes)


def test_if_all_learners_fail_their_errors_are_told_together(classes):
    with pytest.raises(LearnerFailed, match=r"Every candidate failed.*there is nothing to learn"):
        search_of([AlwaysRaising(), (AlwaysRaising(max_depth=1), {"max_leaf_nodes": [2, 3]})]).fit(*classes)


def test_after_an_end_the_same_call_goes_on_from_the_checkpoint(classes, tmp_path):
    first = search_of(
        DecisionTreeClassifier(), DEPTHS, checkpoint=tmp_path / "search.ckpt", on_round=lambda finished: True
    ).fit(*classes)
    second = search_of(DecisionTreeClassifier(), DEPTHS, checkpoint=tmp_path / "search.ckpt").fit(*classes)

    assert len(second.history_) > len(first.history_)
    results = second.cv_results_
    assert results["rank_test_score"][second.best_index_] == 1
    assert "returned" in results["ended"][second.best_index_]
    found = second.best_estimator_.get_params()
    assert {name: found[name] for name in second.best_params_} == second.best_params_


def test_a_checkpoint_of_an_earlier_version_is_resumed(classes, tmp_path):
    settings = {"checkpoint": tmp_path / "search.ckpt", "time_limit": 60}
    search_of(DecisionTreeClassifier(), DEPTHS, on_round=lambda finished: True, **settings).fit(*classes)
    state = tmp_path / "search.ckpt" / "state.json"
    values = json.loads(state.read_text())
    for candidate in values["notes"]["candidates"]:
        # Version 0.3.0 stored the seconds of a trial too.
        candidate["trials"] = [[*trial[:4], 1.0, *trial[4:]] for trial in candidate["trials"]]
    state.write_text(json.dumps(values))

    search = search_of(DecisionTreeClassifier(), DEPTHS, **settings).fit(*classes)

    assert search.history_[0].number == 1
    assert len(search.history_) > 1


SCALED = make_pipeline(StandardScaler(), LogisticRegression())
OTHER_SEARCHES = {
    "learner DecisionTreeClassifier: none then": ([DecisionTreeClassifier(), SCALED], None, {}),
    r"C.: list\(0.1, 1.0\)} then, {.logisticregression__C.: list\(0.1, 3.0\)} now": (
        SCALED,
        {"logisticregression__C": [0.1, 3.0]},
        {},
    ),
    "learner LogisticRegression, its logisticregression__tol": (
        make_pipeline(StandardScaler(), LogisticRegression(tol=0.1)),
        {"logisticregression__C": [0.1, 1.0]},
        {},
    ),
    "learner LogisticRegression, its standardscaler": (
        make_pipeline(MinMaxScaler(), LogisticRegression()),
        {"logisticregression__C": [0.1, 1.0]},
        {},
    ),
    "scoring: the default then, f1_macro now": (SCALED, {"logisticregression__C": [0.1, 1.0]}, {"scoring": "f1_macro"}),
}


@pytest.mark.parametrize("difference", OTHER_SEARCHES)
def test_the_checkpoint_of_another_search_is_refused(difference, classes, tmp_path):
    path = tmp_path / "search.ckpt"
    learners, space, settings = OTHER_SEARCHES[difference]
    search_of(SCALED, {"logisticregression__C": [0.1, 1.0]}, checkpoint=path, on_round=lambda finished: True).fit(
        *classes
    )

    with pytest.raises(UserInputError, match=difference):
        search_of(learners, space, checkpoint=path, **settings).fit(*classes)


def test_of_two_pipelines_the_right_one_is_named_for_the_model_of_a_checkpoint(classes, tmp_path):
    def make_search(**settings):
        tree = make_pipeline(MinMaxScaler(), DecisionTreeClassifier())
        learners = [(SCALED, {"logisticregression__C": [1e-9]}), (tree, {"decisiontreeclassifier__max_depth": [9]})]
        return search_of(learners, checkpoint=tmp_path / "search.ckpt", **settings)

    first = make_search(on_round=lambda finished: finished.number == 8).fit(*classes)
    # Nothing is left but to return the stored model.
    second = make_search(time_limit=first.time_used_).fit(*classes)

    assert second.best_estimator_.steps[-1][0] == first.best_estimator_.steps[-1][0]
    assert second.cv_results_["estimator"][second.best_index_] == first.cv_results_["estimator"][first.best_index_]
    assert second.best_params_ == first.best_params_


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("routing", [False, True])
def test_weights_that_a_learner_does_not_take_are_refused_in_any_order(order, routing, classes):
    with config_context(enable_metadata_routing=routing):
        tree = DecisionTreeClassifier()
        learners = [tree.set_fit_request(sample_weight=True) if routing else tree, KNeighborsClassifier()][::order]
        with pytest.raises(TypeError, match="sample_weight") as caught:
            search_of(learners).fit(*classes, sample_weight=np.ones(len(classes[1])))

    if not routing:
        assert "KNeighborsClassifier takes no sample_weight in its fit. Choose another one" in str(caught.value)


def test_a_resumed_search_goes_on_with_the_candidates_of_the_call_before(classes, tmp_path):
    space = {"max_depth": [1, 2, 4, 8, 16], "min_samples_leaf": [1, 5, 20], "splitter": ["best", "random"]}
    parameters = {"checkpoint": tmp_path / "search.ckpt", "time_limit": 60}

    first = search_of(DecisionTreeClassifier(), space, on_round=lambda one: one.number == 6, **parameters).fit(*classes)
    second = search_of(DecisionTreeClassifier(), space, **parameters).fit(*classes)
    third = search_of(DecisionTreeClassifier(), space, **parameters).fit(*classes)

    tried = second.cv_results_["params"]
    assert tried[: len(first.cv_results_["params"])] == first.cv_results_["params"]
    assert len({str(sorted(params.items())) for params in tried}) == len(tried) == 31
    assert [one.candidate for one in second.history_][:6] == [one.candidate for one in first.history_]
    n_trials = [(one.candidate, one.rows) for one in second.history_ if one.rows < 4_000]
    assert len(set(n_trials)) == len(n_trials)
    assert third.cv_results_["params"] == tried
    assert third.best_params_ == second.best_params_


def test_values_may_be_arrays_and_a_list_of_dicts_states_conditions(classes):
    priors = [np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.3, 0.2])]

    search = search_of(GaussianNB(), [{"priors": priors}, {"var_smoothing": np.logspace(-9, -5, 3)}]).fit(*classes)

    assert [len(params) for params in search.cv_results_["params"]].count(1) == 5
    assert sum("priors" in params for params in search.cv_results_["params"]) == 2


def test_pairs_of_values_that_failed_twice_are_not_tried_again(classes):
    space = {
        "solver": ["lbfgs", "liblinear"],
        "penalty": ["l1", "l2"],
        "C": loguniform(1e-3, 10),
        "max_iter": [20, 40, 80],
    }

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's new names for penalties, and steps that do not converge
        search = search_of(LogisticRegression(), space, time_limit=4).fit(*classes)

    failed = [end for end in search.cv_results_["ended"] if end.startswith("failed")]
    assert len(failed) <= 4
    assert len(search.cv_results_["ended"]) > 10


TREES = {"max_depth": [4, 6, 8, 10], "min_samples_leaf": [1, 3, 5]}


@pytest.mark.parametrize("backend", ["inline", "process"])
def test_a_vote_is_scikit_learns_own_and_free_of_our_code(classes, backend):
    X, y = classes[0], np.array(["low", "middle", "high"])[classes[1]]

    search = search_of(DecisionTreeClassifier(), TREES, ensemble=True, backend=backend).fit(X, y)

    vote = search.best_estimator_
    assert type(vote) is VotingClassifier
    assert set(vote.predict(X)) <= {"low", "middle", "high"}
    assert np.array_equal(pickle.loads(pickle.dumps(vote)).predict(X), search.predict(X))
    assert sum(search.ensemble_.values()) == sum(vote.weights) > 1
    assert set(search.ensemble_) <= set(range(len(search.cv_results_["params"])))
    assert b"fitwithin" not in pickle.dumps(vote)
    assert search.score_estimate_[1] < search.score_estimate_[0] < search.score_estimate_[2]
    assert search.training_rows_ is None
    assert search.n_rows_trained_ == 3_300


def test_a_vote_scores_at_least_as_high_on_validation_rows_as_the_best_model(classes):
    alone, vote = (search_of(DecisionTreeClassifier(), TREES, ensemble=number).fit(*classes) for number in (False, 4))

    assert vote.best_score_ >= alone.best_score_
    assert len(vote.ensemble_) <= 4


def test_groups_of_equal_rows_widen_the_interval_of_a_vote(classes):
    groups = np.repeat(np.arange(4_000), 4)
    X = classes[0][groups] + 1e-9 * np.random.default_rng(1).random((16_000, 12))

    search = search_of(DecisionTreeClassifier(), TREES, ensemble=True).fit(X, classes[1][groups], groups=groups)

    estimate, low, high = search.score_estimate_
    assert type(search.best_estimator_) is VotingClassifier
    assert high - low > 1.4 * 2 * 1.96 * np.sqrt(estimate * (1 - estimate) / 800)


def test_regressors_vote_too():
    X, y = make_regression(2_000, 5, noise=1.0, random_state=0)

    search = search_of(DecisionTreeRegressor(), {"max_depth": [4, 6, 8], "min_samples_leaf": [1, 3]}, ensemble=True)
    search.fit(X, y)

    assert type(search.best_estimator_) is VotingRegressor
    assert search.score(X, y) > 0.5


def test_models_without_probabilities_have_no_vote(classes):
    with pytest.warns(RuntimeWarning, match="has no vote: it lacks a class, or predict_proba"):
        search = search_of(LinearSVC(), {"C": [0.1, 1.0]}, ensemble=True).fit(*classes)

    assert isinstance(search.best_estimator_, LinearSVC)


def test_a_metric_that_looks_into_the_model_allows_no_vote(classes):
    def score_small_trees(model, X, y):
        return float(np.mean(model.predict(X) == y)) - 1e-6 * model.get_n_leaves()

    search = search_of(DecisionTreeClassifier(), TREES, ensemble=True, scoring=score_small_trees).fit(*classes)

    assert isinstance(search.best_estimator_, DecisionTreeClassifier)


@pytest.mark.parametrize("ensemble", [-1, "yes", 1.5])
def test_a_vote_of_a_strange_number_of_models_is_refused(classes, ensemble):
    with pytest.raises(ValueError, match="ensemble must be"):
        search_of(DecisionTreeClassifier(), TREES, ensemble=ensemble).fit(*classes)


class SlowTree(DecisionTreeClassifier):
    """Predicts the more slowly, the deeper it is; only the tests' own clock would be exact."""

    def predict(self, X, check_input=True):
        for _ in range(200 if self.max_depth == 8 else 1):
            predicted = super().predict(X, check_input)
        return predicted


def test_models_that_predict_too_slowly_are_not_returned(classes):
    space = {"max_depth": [1, 8]}
    free = search_of(SlowTree(max_depth=2), space).fit(*classes)
    seconds = {one.candidate: one.seconds_exam / one.examined for one in free.history_}
    depths = [params.get("max_depth", 2) for params in free.cv_results_["params"]]
    slow = min(seconds[number] for number in seconds if depths[number] == 8)

    limited = search_of(SlowTree(max_depth=2), space, predict_time_limit=slow / 2).fit(*classes)

    assert free.best_estimator_.max_depth == 8
    assert limited.best_estimator_.max_depth != 8


def test_without_a_model_that_predicts_in_time_the_fastest_is_returned_with_a_warning(classes):
    with pytest.warns(RuntimeWarning, match=r"No model predicts a row within 0\.001 us"):
        search_of(DecisionTreeClassifier(), DEPTHS, predict_time_limit="0.001us").fit(*classes)


@pytest.mark.parametrize("limit", [0, "fast", -1.0, "50 light years"])
def test_a_strange_limit_of_a_prediction_is_refused(classes, limit):
    with pytest.raises(ValueError, match="predict_time_limit must be"):
        search_of(DecisionTreeClassifier(), DEPTHS, predict_time_limit=limit).fit(*classes)


def test_auto_tries_all_learners_that_are_installed():
    names = TimeConstrainedSearch("auto")._list_learners()
    regressors = TimeConstrainedSearch("auto", task="regression")._list_learners()

    assert {"hist-gradient-boosting", "extra-trees", "logistic-regression"} <= {one.name for one in names}
    assert "logistic-regression" not in {one.name for one in regressors}


def test_two_processes_try_settings_side_by_side(classes):
    search = search_of(DecisionTreeClassifier(), DEPTHS, backend="process", n_jobs=2).fit(*classes)

    assert len(search.cv_results_["params"]) == 5
    assert search.score(*classes) > 0.6


def test_on_round_stops_a_search_and_keeps_the_best(classes):
    search = search_of(DecisionTreeClassifier(), DEPTHS, on_round=lambda finished: finished.number == 3).fit(*classes)

    assert search.stop_reason_ == "on_round"
    assert len(search.history_) == 3
    search.predict(classes[0])


def test_a_ready_space_improves_on_the_learners_own_settings():
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 6))
    y = (np.sin(20 * X[:, 0]) + np.sin(20 * X[:, 1]) > 0).astype(int)
    own = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=3)

    search = search_of(own, backend="process", time_limit=5).fit(X, y)

    assert search.best_params_
    assert search.score_estimate_[0] > own.fit(X[:15_000], y[:15_000]).score(X[15_000:], y[15_000:]) + 0.1


def test_logistic_regression_has_a_ready_space(classes):
    search = search_of(make_pipeline(StandardScaler(), LogisticRegression()), time_limit=2).fit(*classes)

    assert any("logisticregression__C" in params for params in search.cv_results_["params"])
