"""Model files by skops, optional: import this only where one is written or read. They are opened as a stranger's.

skops trusts the estimators of scikit-learn, the universal functions of NumPy and SciPy, arrays and plain Python values.
`TRUSTED_TYPES` are what fitted estimators hold besides, and the learners with a name. A trusted type runs no code of
the file's author. Compiled code may still follow the numbers in a file out of bounds: see SECURITY.md. What a file may
unpack to is limited.
"""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import skops.io
from skops.io.exceptions import UntrustedTypesFoundException

from fitwithin._core.exceptions import NotStorable, UserInputError, shorten_reason


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


_FAST_COMPRESSION = 1
"""zlib level. A model is written while the user waits."""


_MAX_GROWTH = 100
"""Bytes that a file may unpack to for each of its own.

zlib packs up to 1,000 to 1. Forests of 1,000 trees grow by 9; a model that grows by more than this is stored unpacked.
"""


class UntrustedTypes(UserInputError):
    """A file holds types that are not trusted.

    Parameters
    ----------
    names : list of str
        Full names of the types, sorted.
    """

    def __init__(self, names: list[str]) -> None:
        options = " ".join(f"--trust {name}" for name in names)
        super().__init__(
            f"It asks for {', '.join(names)}, which the list of trusted types does not have. Nothing in it was run.",
            f"If that is a learner of your own, add on the command line: {options}",
        )
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
        Types in the file that must be trusted by name to load it.

    Raises
    ------
    NotStorable
        If skops can't write or load the model.
    """
    try:
        skops.io.dump(model, path, compression=zipfile.ZIP_DEFLATED, compresslevel=_FAST_COMPRESSION)
        try:
            open_archive(path).close()
        except UserInputError:
            skops.io.dump(model, path, compression=zipfile.ZIP_STORED)
        untrusted = _find_untrusted(path)
        skops.io.load(path, trusted=[*TRUSTED_TYPES, *untrusted])
    except OSError:
        raise
    except Exception as error:  # skops raises many types, and a learner's attributes may raise anything.
        raise NotStorable(shorten_reason(error)) from error
    return tuple(untrusted)


def load_model(path: Path, trusted_types: Collection[str] = ()) -> Any:
    """Load a model from a skops file.

    Parameters
    ----------
    path : Path
        File to read.
    trusted_types : collection of str
        Full names of types to trust in addition to `TRUSTED_TYPES` and those that skops trusts.

    Raises
    ------
    UntrustedTypes
        If the file holds other types; nothing in it is run.
    UserInputError
        If it would unpack to much more than its own size, is damaged, or needs a library that is not installed.
    """
    try:
        open_archive(path).close()
        return skops.io.load(path, trusted=[*TRUSTED_TYPES, *trusted_types])
    except (UserInputError, FileNotFoundError):
        raise
    except ModuleNotFoundError as error:
        raise UserInputError(
            f"It needs the module {error.name!r}, which can't be found.",
            "Install it, or run the command where that module can be imported.",
        ) from error
    except UntrustedTypesFoundException as error:
        raise UntrustedTypes(_find_untrusted(path, trusted_types)) from error
    except Exception as error:  # A damaged file may raise anything.
        raise UserInputError(
            f"It can't be loaded ({type(error).__name__}: {error}).", "Copy it again, or train the model again."
        ) from error


def open_archive(path: Path) -> zipfile.ZipFile:
    """Open a zip file, unless its directory says that it unpacks to much more than its own size.

    Raises
    ------
    UserInputError
        If it does.
    zipfile.BadZipFile
        If it is not a zip file.
    """
    archive = zipfile.ZipFile(path)
    n_bytes, max_bytes = sum(entry.file_size for entry in archive.infolist()), _MAX_GROWTH * path.stat().st_size
    if n_bytes <= max_bytes:
        return archive
    archive.close()
    raise UserInputError(
        f"It would unpack to {n_bytes:,} bytes; a file of its size may have {max_bytes:,}.",
        "Do not use it; train the model again.",
    )


def _find_untrusted(path: Path, trusted_types: Collection[str] = ()) -> list[str]:
    return sorted({*skops.io.get_untrusted_types(file=path)} - {*TRUSTED_TYPES, *trusted_types})
