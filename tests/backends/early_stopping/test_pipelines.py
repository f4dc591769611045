"""A pipeline is stopped in its last step, and otherwise fits as usual."""

import pickle

import cloudpickle
import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fake_stop_signal import questions
from fitwithin.backends._early_stopping import registry
from fitwithin.backends._early_stopping.registry import find_early_stopping, register_early_stopping
from fitwithin.backends._early_stopping.stop_signal import StopSignal

X = np.random.default_rng(0).normal(size=(200, 4))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "yes", "no")
WEIGHTS = np.where(X[:, 0] > 0, 5.0, 1.0)
ENOUGH = 1e6
LAST_STEPS = {
    "forest": RandomForestClassifier(15, random_state=0),
    "gradient boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=15, random_state=0),
    "LightGBM": LGBMClassifier(n_estimators=15, n_jobs=1, verbose=-1),
    "SGD": SGDClassifier(random_state=0, loss="log_loss"),
}
EVERY_LAST_STEP = pytest.mark.parametrize("last_step", LAST_STEPS.values(), ids=LAST_STEPS.keys())
# LightGBM 4.6 warns for any array.
pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]


def fit(learner, stop_signal, **params):
    find_early_stopping(learner)(learner, X, Y, stop_signal, params)
    return learner


@EVERY_LAST_STEP
@pytest.mark.parametrize("nested", [False, True])
def test_with_enough_time_the_pipeline_equals_that_of_a_plain_fit(last_step, nested):
    pipeline = make_pipeline(StandardScaler(), clone(last_step))
    pipeline = make_pipeline(StandardScaler(), pipeline) if nested else pipeline
    plain = clone(pipeline).fit(X, Y)

    model = fit(pipeline, StopSignal(ENOUGH))

    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert repr(model.get_params()) == repr(plain.get_params())
    assert set(vars(model[-1])) == set(vars(plain[-1]))
    assert b"fitwithin" not in pickle.dumps(model)


@pytest.mark.parametrize("nested", [False, True])
def test_the_last_step_is_stopped(nested):
    pipeline = make_pipeline(StandardScaler(), clone(LAST_STEPS["gradient boosting"]))
    pipeline = make_pipeline(StandardScaler(), pipeline) if nested else pipeline

    model = fit(pipeline, questions(6))

    last = model[-1][-1] if nested else model[-1]
    assert last.n_estimators_ == 5
    assert set(model.predict(X)) == {"yes", "no"}


def test_arguments_for_steps_reach_them():
    pipeline = Pipeline([("scale", StandardScaler()), ("forest", clone(LAST_STEPS["forest"]))])

    model = fit(clone(pipeline), StopSignal(ENOUGH), forest__sample_weight=WEIGHTS, scale__sample_weight=WEIGHTS)

    plain = clone(pipeline).fit(X, Y, forest__sample_weight=WEIGHTS, scale__sample_weight=WEIGHTS)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert not np.array_equal(model.predict_proba(X), clone(pipeline).fit(X, Y).predict_proba(X))


def test_metadata_is_routed():
    with config_context(enable_metadata_routing=True):
        forest = clone(LAST_STEPS["forest"]).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, make_pipeline(forest))

        model = fit(clone(pipeline), StopSignal(ENOUGH), sample_weight=WEIGHTS)

        plain = clone(pipeline).fit(X, Y, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_the_cache_works(tmp_path):
    pipeline = make_pipeline(StandardScaler(), clone(LAST_STEPS["gradient boosting"]), memory=str(tmp_path))

    models = [fit(clone(pipeline), questions(seconds)) for seconds in (6, ENOUGH)]

    assert [model[-1].n_estimators_ for model in models] == [5, 15]
    np.testing.assert_array_equal(models[1].predict_proba(X), clone(pipeline).fit(X, Y).predict_proba(X))
    assert any(tmp_path.iterdir())


@pytest.mark.parametrize("failure", ["before the last step", "in the last step"])
def test_a_fit_that_fails_leaves_the_pipeline_unchanged(failure):
    pipeline = make_pipeline(StandardScaler(), clone(LAST_STEPS["forest"]))
    y = Y if failure == "before the last step" else Y[:-1]
    rows = X.astype(str) if failure == "before the last step" else X
    rows[0, 0] = "many" if failure == "before the last step" else 0

    with pytest.raises(ValueError, match=r"could not convert|inconsistent numbers"):
        find_early_stopping(pipeline)(pipeline, rows, y, StopSignal(ENOUGH), {})

    assert "fit" not in vars(pipeline[-1])
    assert repr(pipeline.get_params()) == repr(
        make_pipeline(StandardScaler(), clone(LAST_STEPS["forest"])).get_params()
    )


def test_a_pipeline_cannot_be_stopped_if_its_last_step_cannot():
    assert find_early_stopping(make_pipeline(StandardScaler(), SVC())) is None
    assert find_early_stopping(make_pipeline(StandardScaler(), make_pipeline(SVC()))) is None
    assert find_early_stopping(Pipeline([("scale", StandardScaler()), ("nothing", None)])) is None


def test_a_pipeline_class_with_its_own_fit_is_not_stopped():
    class Mine(Pipeline):
        def fit(self, X, y=None, **params):
            return super().fit(X, y, **params)

    assert find_early_stopping(Mine([("forest", clone(LAST_STEPS["forest"]))])) is None


class _Stepwise(ClassifierMixin, BaseEstimator):
    """A learner of the user's own that would go on for ever."""

    def fit(self, X, y):
        raise AssertionError("fitted without a stop signal")

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def _fit_stepwise(learner, X, y, stop_signal, params):
    learner.classes_ = np.unique(y)
    learner.steps_ = 1 + max(stop_signal.steps(3))


def test_a_registered_learner_in_a_pipeline_is_stopped_in_another_process_too(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    register_early_stopping(_Stepwise, _fit_stepwise)
    pipeline = Pipeline([("scale", StandardScaler()), ("learn", _Stepwise())])
    early_stopping = cloudpickle.loads(cloudpickle.dumps(find_early_stopping(pipeline)))
    # Another process has registered nothing.
    registry._REGISTERED.clear()

    X = np.arange(20.0).reshape(10, 2)
    early_stopping(pipeline, X, np.arange(10) % 2, StopSignal(60), {})

    assert pipeline[-1].steps_ == 3
