"""The types that a model file may hold."""

from __future__ import annotations

_LOSSES = "AbsoluteError ExponentialLoss HalfBinomialLoss HalfMultinomialLoss HalfSquaredError"
_LINKS = "HalfLogitLink IdentityLink Interval LogitLink LogLink MultinomialLogit"
TRUSTED: tuple[str, ...] = (
    "catboost.core.CatBoostClassifier",
    "catboost.core.CatBoostRegressor",
    "collections.OrderedDict",
    "collections.defaultdict",
    "fitwithin._any_labels.AnyLabels",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    "lightgbm.sklearn.LGBMRegressor",
    "numpy.dtype",
    # A list with a warning, in which scikit-learn before 1.7 keeps the columns that are left over.
    "sklearn.compose._column_transformer._RemainderColsList",
    *(f"sklearn._loss.link.{name}" for name in _LINKS.split()),
    *(f"sklearn._loss.loss.{name}" for name in _LOSSES.split()),
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    # These two are looked at before they are used: see _sound_trees.
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
    "xgboost.sklearn.XGBRegressor",
)
"""Types beside those of skops that a file may hold: what the learners by name are made of.

The boosters read their own formats in C++, and nothing looks at these before: a made-up file may crash the process.
"""
