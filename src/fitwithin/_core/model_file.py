"""Models in skops files, and the types that such a file may hold.

skops is an optional dependency: import this module only where a file is written or read.
"""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import skops.io
from skops.io.exceptions import UntrustedTypesFoundException

from fitwithin._core.tree_checks import validate_trees

_FAST_COMPRESSION = 1
"""zlib level. A model is written while the user waits."""


_MAX_REASON_LENGTH = 200
"""Characters of an error of skops that are shown."""


class NotStorable(Exception):
    """skops can't store a model; the text says why."""


class UntrustedTypes(Exception):
    """A file holds types that are not trusted.

    Parameters
    ----------
    names : list of str
        Full names of the types, sorted.
    """

    def __init__(self, names: list[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


def dump_model(model: Any, path: Path) -> tuple[str, ...]:
    """Write a model to a skops file, and load it again at once.

    skops stores some objects, such as a lambda, that it can't load.

    Parameters
    ----------
    model : estimator
        Fitted.
    path : Path
        File to write; replaced if it exists.

    Returns
    -------
    tuple of str
        Types in the file that are not in `TRUSTED_TYPES`.

    Raises
    ------
    NotStorable
        If skops can't write or load the model.
    """
    try:
        skops.io.dump(model, path, compression=zipfile.ZIP_DEFLATED, compresslevel=_FAST_COMPRESSION)
        untrusted = _untrusted_types(path)
        validate_trees(skops.io.load(path, trusted=[*TRUSTED_TYPES, *untrusted]))
    except OSError:
        raise
    except Exception as error:  # skops raises many types, and a learner's attributes may raise anything.
        raise NotStorable(" ".join(str(error).split())[:_MAX_REASON_LENGTH]) from error
    return tuple(untrusted)


def load_model(path: Path, trusted_types: Collection[str] = ()) -> Any:
    """Load a model from a skops file, and check its trees.

    Parameters
    ----------
    path : Path
        File to read.
    trusted_types : collection of str
        Full names of types to trust in addition to `TRUSTED_TYPES`.

    Raises
    ------
    UntrustedTypes
        If the file holds other types; nothing in it is run.
    UserInputError
        If a tree in it is invalid.
    Exception
        Of any type, if the file is damaged.
    """
    try:
        model = skops.io.load(path, trusted=[*TRUSTED_TYPES, *trusted_types])
    except UntrustedTypesFoundException as error:
        raise UntrustedTypes(_untrusted_types(path, trusted_types)) from error
    validate_trees(model)
    return model


def _untrusted_types(path: Path, trusted_types: Collection[str] = ()) -> list[str]:
    return sorted(set(skops.io.get_untrusted_types(file=path)) - {*TRUSTED_TYPES, *trusted_types})


_LOSSES = ("AbsoluteError", "ExponentialLoss", "HalfBinomialLoss", "HalfMultinomialLoss", "HalfSquaredError")


_LINKS = ("HalfLogitLink", "IdentityLink", "Interval", "LogitLink", "LogLink", "MultinomialLogit")


TRUSTED_TYPES: tuple[str, ...] = (
    "catboost.core.CatBoostClassifier",
    "catboost.core.CatBoostRegressor",
    "collections.OrderedDict",
    "collections.defaultdict",
    "fitwithin._presets.LabelEncodedClassifier",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    "lightgbm.sklearn.LGBMRegressor",
    "numpy.dtype",
    # A list that warns, in which scikit-learn before 1.7 keeps the remaining columns.
    "sklearn.compose._column_transformer._RemainderColsList",
    *(f"sklearn._loss.link.{name}" for name in _LINKS),
    *(f"sklearn._loss.loss.{name}" for name in _LOSSES),
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    # `validate_trees` checks the next two before they are used.
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
    "xgboost.sklearn.XGBRegressor",
)
"""Types that a file may hold in addition to those that skops trusts: those of the preset learners.

The boosters parse their own formats in C++ without checks by fitwithin: a forged file may crash the process.
"""
