"""Models into files and out of them, whole or not at all."""

from __future__ import annotations

import pickle
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import skops.io
from skops.io.exceptions import UntrustedTypesFoundException

from fitwithin._core.exceptions import UserInputError
from fitwithin._presets import BOOSTERS
from fitwithin._tabular import About
from fitwithin._tabular.files import written_beside
from fitwithin._tabular.tree_checks import refuse_unsound_trees

_ABOUT = "fitwithin.json"


_SKOPS = "schema.json"


_PICKLE = "model.pickle"


_MOST_ABOUT = 1 << 26


class NotForSkops(Exception):
    """A model that skops can't store; the text says why."""


def write_model(path: Path, model: Any, about: About, *, force: bool = False, by_pickle: bool = False) -> About:
    """Store a model and what there is to know about it, whole or not at all.

    Parameters
    ----------
    path : Path
        Where to.
    model : Pipeline
        The model.
    about : About
        What there is to know.
    force : bool, default=False
        Whether a file there may be replaced.
    by_pickle : bool, default=False
        Whether to store it by pickle, for learners that skops can't store.

    Returns
    -------
    About
        What there is to know, with the types that must be trusted by name to open the file.

    Raises
    ------
    NotForSkops
        If only pickle could do it.
    UserInputError
        If the file can't be written.
    """
    with written_beside(path, force=force) as beside:
        if by_pickle:
            with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as file:
                file.writestr(_PICKLE, cloudpickle.dumps(model))
        else:
            about = replace(about, trust=_dumped(model, beside))
        with zipfile.ZipFile(beside, "a", zipfile.ZIP_DEFLATED) as file:
            file.writestr(_ABOUT, about.to_json())
    return about


def _dumped(model: Any, path: Path) -> tuple[str, ...]:
    """Store a model by skops, and say which types in the file are not on the list.

    It is opened again at once: skops stores some things, such as a lambda, that it can't bring back.
    """
    try:
        skops.io.dump(model, path, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
        trust = sorted(set(skops.io.get_untrusted_types(file=path)) - set(TRUSTED))
        refuse_unsound_trees(skops.io.load(path, trusted=[*TRUSTED, *trust]))
    except OSError:
        raise
    except Exception as error:  # Its own types, and whatever a learner's attributes raise when they are looked at.
        raise NotForSkops(" ".join(str(error).split())[:200]) from error
    return tuple(trust)


def read_about(path: Path) -> About:
    """What a file says about its model; nothing in it is run for that.

    Raises
    ------
    UserInputError
        If it is no model of ours.
    """
    with _opened(path) as file:
        if file.getinfo(_ABOUT).file_size > _MOST_ABOUT:
            raise UserInputError(f"{path} says too much about itself.", "Was it written by fitwithin train?")
        try:
            return About.from_json(file.read(_ABOUT))
        except UserInputError as error:
            raise UserInputError(f"{path} is no model file. {error.sentence}", error.hint) from error
        except (zipfile.BadZipFile, zlib.error) as error:
            raise UserInputError(f"{path} is damaged: {error}.", "Copy or train it again.") from error


def read_model(path: Path, trust: Collection[str] = (), *, unsafe_pickle: bool = False) -> Any:
    """The model in a file, if all of its types are on our list or were named by hand.

    Parameters
    ----------
    path : Path
        The file.
    trust : collection of str
        Further types to trust.
    unsafe_pickle : bool, default=False
        Whether a pickle may be opened, which may run anything.

    Raises
    ------
    UserInputError
        If it holds other types, or can't be read.
    """
    with _opened(path) as file:
        by_pickle = _PICKLE in file.namelist()
        if by_pickle and not unsafe_pickle:
            raise UserInputError(
                f"{path} holds a pickle, which can run any program when it is opened.",
                "If you know where it comes from, add --unsafe-pickle.",
            )
    try:
        model = _unpickled(path) if by_pickle else skops.io.load(path, trusted=[*TRUSTED, *trust])
    except UntrustedTypesFoundException as error:
        strange = sorted(set(skops.io.get_untrusted_types(file=path)) - {*TRUSTED, *trust})
        names = " ".join(f"--trust {name}" for name in strange)
        raise UserInputError(
            f"{path} was not opened: it asks for {', '.join(strange)}, which fitwithin does not know to be harmless.",
            f"If that is a learner of your own, add {names}",
        ) from error
    except ModuleNotFoundError as error:
        raise _missing(path, error) from error
    except Exception as error:  # A damaged or made-up file may raise anything in its reader.
        raise UserInputError(f"{path} can't be opened: {error}.", "Copy or train it again.") from error
    try:
        refuse_unsound_trees(model)
    except UserInputError as error:
        raise UserInputError(f"{path} was not used. {error.sentence}", error.hint) from error
    return model


def _unpickled(path: Path) -> Any:
    with zipfile.ZipFile(path) as file:
        return pickle.loads(file.read(_PICKLE))


def _opened(path: Path) -> zipfile.ZipFile:
    if not path.is_file():
        raise UserInputError(f"There is no model file {path}.", "Make one: fitwithin train DATA --target COLUMN")
    try:
        file = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise UserInputError(
            f"{path} is no model file: {error}.", "It takes a file that fitwithin train wrote."
        ) from error
    if _ABOUT not in file.namelist() or not {_SKOPS, _PICKLE} & set(file.namelist()):
        file.close()
        raise UserInputError(f"{path} is no model of fitwithin.", "It takes a file that fitwithin train wrote.")
    return file


def _missing(path: Path, error: ModuleNotFoundError) -> UserInputError:
    library = (error.name or "").partition(".")[0]
    if library in BOOSTERS:
        return UserInputError(f"{path} needs {library}, which is not installed.", "pip install 'fitwithin[boosters]'")
    return UserInputError(
        f"{path} needs the module {error.name!r}, which can't be found.", "Run it where that module can be imported."
    )


_LOSSES = "AbsoluteError ExponentialLoss HalfBinomialLoss HalfMultinomialLoss HalfSquaredError"


_LINKS = "HalfLogitLink IdentityLink Interval LogitLink LogLink MultinomialLogit"


TRUSTED: tuple[str, ...] = (
    "catboost.core.CatBoostClassifier",
    "catboost.core.CatBoostRegressor",
    "collections.OrderedDict",
    "collections.defaultdict",
    "fitwithin._presets.LabelEncodedClassifier",
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
