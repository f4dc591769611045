"""What is known of a family of learners before its first fit; learners that are not listed get the defaults."""

from __future__ import annotations

from typing import Any

from fitwithin._core.cost import LearnerTraits
from fitwithin.backends._early_stopping.registry import find_inner_learner, name_family

_BOOSTER = LearnerTraits(
    0.9, 0.15, model_growing_share=0.0, spread=0.1, worth_share=0.8, oversampling_pays=True, later_step_cost=0.8
)
_FOREST = LearnerTraits(1.05, 0.25, spread=0.1, worth_share=0.6)
_TREE = LearnerTraits(1.1, spread=0.05)
_SOLVER = LearnerTraits(1.2, 0.6, model_growing_share=0.0, spread=0.35, worth_share=0.6)
_LINEAR = LearnerTraits(1.05, model_growing_share=0.0, spread=0.3, worth_share=0.6)
_SGD = LearnerTraits(1.05, model_growing_share=0.0, spread=0.12, worth_share=0.6)
_NETWORK = LearnerTraits(0.95, 0.6, model_growing_share=0.0, spread=0.12, worth_share=0.6)
_SVM = LearnerTraits(1.75, spread=0.2, exam_growth=0.5)
_LAZY = LearnerTraits(1.0, spread=0.15, exam_growth=0.8)

_TRAITS = {
    "lightgbm.LGBM": _BOOSTER,
    "xgboost.XGB": _BOOSTER,
    "catboost.CatBoost": _BOOSTER,
    "sklearn.GradientBoosting": _BOOSTER,
    "sklearn.HistGradientBoosting": _BOOSTER,
    "sklearn.RandomForest": _FOREST,
    "sklearn.ExtraTrees": _FOREST,
    "sklearn.Bagging": _FOREST,
    "sklearn.DecisionTree": _TREE,
    "sklearn.ExtraTree": _TREE,
    "sklearn.LogisticRegression": _SOLVER,
    "sklearn.SGD": _SGD,
    "sklearn.Perceptron": _SGD,
    "sklearn.PassiveAggressive": _SGD,
    "sklearn.LinearSVC": _LINEAR,
    "sklearn.LinearSVR": _LINEAR,
    "sklearn.Ridge": _LINEAR,
    "sklearn.MLP": _NETWORK,
    "sklearn.SVC": _SVM,
    "sklearn.NuSVC": _SVM,
    "sklearn.SVR": _SVM,
    "sklearn.NuSVR": _SVM,
    "sklearn.KNeighbors": _LAZY,
    "sklearn.RadiusNeighbors": _LAZY,
    "sklearn.GaussianNB": _LAZY,
}


def find_traits(learner: Any) -> LearnerTraits:
    """Return what is known of a learner, or of the last step of a pipeline.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> find_traits(SVC()).growth
    1.75
    """
    inner = find_inner_learner(learner)
    known = (_TRAITS.get(name_family(cls)) for cls in type(inner).__mro__)
    return next((traits for traits in known if traits is not None), LearnerTraits())
