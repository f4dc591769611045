"""The types that a model file may hold in addition to those that skops trusts by itself.

skops trusts the estimators of scikit-learn, the universal functions of NumPy and SciPy, arrays and plain Python values.
The types below are what fitted estimators hold besides, and the learners with a name. A trusted type runs no code of
the file's author. Compiled code may still follow the numbers in a file out of bounds: see SECURITY.md.
"""

from __future__ import annotations

from collections.abc import Iterable


def _join(module: str, names: str) -> Iterable[str]:
    return (f"{module}.{name}" for name in names.split())


TRUSTED_TYPES = frozenset(
    (
        *_join("fitwithin._presets", "LabelEncodedClassifier"),
        # Boosters parse their own formats in C++.
        *_join("catboost.core", "CatBoostClassifier CatBoostRegressor"),
        *_join("lightgbm.basic", "Booster"),
        *_join("lightgbm.sklearn", "LGBMClassifier LGBMRegressor"),
        *_join("xgboost.core", "Booster"),
        *_join("xgboost.sklearn", "XGBClassifier XGBRegressor"),
        *_join("builtins", "NoneType dict"),
        *_join("collections", "OrderedDict"),
        *_join("numpy", "bool_ dtype"),
        # Parts of fitted estimators.
        *_join("sklearn._loss.loss", "HalfTweedieLossIdentity"),
        *_join("sklearn.calibration", "_CalibratedClassifier _SigmoidCalibration"),
        # A list that warns, in which scikit-learn before 1.7 keeps the remaining columns.
        *_join("sklearn.compose._column_transformer", "_RemainderColsList"),
        *_join("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor"),
        *_join("sklearn.feature_selection._univariate_selection", "chi2 f_classif f_regression"),
        *_join("sklearn.metrics._scorer", "_PassthroughScorer"),
        *_join("sklearn.model_selection._split", "KFold StratifiedKFold"),
        *_join("sklearn.multiclass", "_ConstantPredictor"),
        *_join("sklearn.neural_network._stochastic_optimizers", "AdamOptimizer SGDOptimizer"),
        *_join("sklearn.tree._tree", "Tree"),
        *_join("sklearn.utils._bunch", "Bunch"),
    )
)
"""Full names of types."""
