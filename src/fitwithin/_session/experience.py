"""The experience of earlier fits of a job: a small file with costs, scores and the best hyperparameters."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fitwithin._core.atomic_write import atomic_write
from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates, CostModel, LearnerTraits
from fitwithin._core.exceptions import UserInputError, join_names
from fitwithin._core.fit_cost import MIN_TELLING_SECONDS
from fitwithin._core.install_command import UPGRADE_COMMAND, format_install_command
from fitwithin._pools.tables import list_column_types
from fitwithin._session.fingerprint import Fingerprint, describe_scoring, find_differences, name_task
from fitwithin._session.inputs.fit_inputs import FitInputs
from fitwithin._session.result import SessionResult
from fitwithin._session.value_text import shorten

_VERSION = 1
"""Version of the layout; increase it when older versions of fitwithin can't read it."""

_LOCK_SECONDS = 5.0
"""Seconds to wait for another fit that reads or writes the file, which takes milliseconds."""

_WRITE_SECONDS = 0.05
"""Seconds to write the file: 1 to 20 ms on a busy disk."""

_MAX_SCORES = 50
"""Scores that are kept, the newest."""

# log(real / predicted) seconds of a fit that the same machine explains (benchmarks/tunnel/nights.py).
_MAX_NOISE = math.log(1.25)
# The same, from which on it is another machine.
_MIN_CHANGE = math.log(2)
# Of sizes that lie within this ratio, the newest is kept.
_SIZE_RATIO = 1.25
_MAX_RESIDUALS = 10
_SECONDS_BY_ROWS = ("setup_seconds", "step_seconds", "exam_seconds_per_row")
_BY_SIZE = ("setup_seconds", "step_seconds", "exam_seconds_per_row", "model_bytes", "save_and_load_seconds")


class ExperiencedCost(CostModel):
    """Predict a learner's seconds from those of an earlier fit, as long as the fits of this one confirm them.

    They are doubted until a fit that takes long enough to tell agrees with them. If one takes longer, they are scaled,
    and tell how seconds grow with the rows. If it takes more than twice or less than half of the seconds, they are of
    another machine, and are forgotten.

    Parameters
    ----------
    observations : dict
        What `CostModel.observations` returned.
    traits : LearnerTraits, optional
        What is known of the learner besides.

    Examples
    --------
    >>> night = CostModel()
    >>> for rows in (1_000, 10_000):
    ...     night.observe_fit(rows, rows / 1_000)
    >>> cost = ExperiencedCost(night.observations())
    >>> cost.observe_fit(1_000, 1.1)
    >>> cost.fits.largest_known_rows
    10000
    >>> cost = ExperiencedCost(night.observations())
    >>> cost.observe_fit(1_000, 3.0)  # a slower machine
    >>> cost.fits.largest_known_rows
    1000
    """

    def __init__(self, observations: Mapping[str, Any], traits: LearnerTraits | None = None) -> None:
        super().__init__(traits)
        # What this night tells by itself, for another machine.
        self._tonight = CostModel(traits).fits
        # A first fit pays for what is paid once, so that it is compared with one of the same size.
        setup = dict(observations["setup_seconds"])
        self._near_seconds = {size: value + setup.get(size, 0.0) for size, value in observations["step_seconds"]}
        self.restore(observations)
        self.fits.rows_so_far = 1

    def observe_fit(
        self, rows: int, seconds: float, setup_seconds: float | None = None, *, is_guess: bool = False
    ) -> None:
        """Learn from a fit, and from the first ones whether the machine is the same."""
        self._tonight.observe(rows, seconds, setup_seconds, is_guess=is_guess)
        is_doubted = self.fits.rows_so_far is not None
        if is_doubted and not is_guess:
            self._compare(rows, seconds)
        if self.fits is not self._tonight:
            if self.fits.rows_so_far is not None:
                self.fits.rows_so_far = max(rows, self.fits.rows_so_far)
            # The error of a prediction by another night says nothing about this one.
            super().observe_fit(rows, seconds, setup_seconds, is_guess=is_guess or is_doubted)

    def _compare(self, rows: int, seconds: float) -> None:
        """Confirm the earlier seconds by a fit, scale them, or forget those of fits on another machine."""
        predicted = self._near_seconds.get(rows) or self.fits.seconds(rows)
        if min(seconds, predicted) <= MIN_TELLING_SECONDS:
            return
        distance = math.log(seconds / predicted)
        if abs(distance) <= _MAX_NOISE:
            self.fits.rows_so_far = None
            return
        # A bet at a higher speed than this would be lost; one that is too small is followed by another.
        ratio = max(1.0, seconds / predicted)
        known = self.observations()
        scaled = {name: [[size, ratio * value] for size, value in known[name]] for name in _SECONDS_BY_ROWS}
        self.restore({**known, **scaled})
        self._near_seconds = {size: ratio * value for size, value in self._near_seconds.items()}
        if abs(distance) > _MIN_CHANGE:
            # Another machine: this fit goes on with what its own fits tell.
            self.fits = self._tonight


class Experience:
    """The file of one job, read at the start of a fit and replaced at its end.

    Parameters
    ----------
    target : path-like
        The file; it need not exist.

    Raises
    ------
    ImportError
        If filelock is not installed.
    UserInputError
        If it is no path, is damaged, or was written by a newer version.
    """

    def __init__(self, target: str | os.PathLike[str]) -> None:
        if not isinstance(target, str | os.PathLike):
            raise UserInputError(f"experience must be a path or None; got {target!r}.", 'For example "job.json".')
        if find_spec("filelock") is None:
            raise ImportError(f"experience needs filelock. {format_install_command('models')}")
        # The program may change its working folder meanwhile.
        self.path = Path(os.fspath(target)).absolute()
        if not self.path.parent.is_dir():
            raise UserInputError(f"There is no folder {self.path.parent} for the experience.", "Create it.")
        self._stored = self._read()
        self._job: Fingerprint = {}

    def _read(self) -> Mapping[str, Any] | None:
        """Return what the file holds; None if there is none."""
        try:
            if not self.path.exists():
                return None
            with self._locked():
                values = json.loads(self.path.read_bytes())
            if values["version"] <= _VERSION:
                _validate(values)
                return dict(values)
        except OSError as error:
            raise UserInputError(
                f"The experience {self.path} can't be read: {error.strerror or error}.", "Name another file."
            ) from error
        except Exception as error:  # A damaged or forged file may raise anything.
            raise UserInputError(
                f"The experience {self.path} is damaged ({type(error).__name__}: {error}); expected a file that an "
                "earlier fit wrote.",
                "Name another file, or delete this one to begin again.",
            ) from error
        raise UserInputError(
            f"The experience {self.path} was written by a newer version of fitwithin.",
            f"Name another file, or upgrade fitwithin. {UPGRADE_COMMAND}",
        )

    def compare(self, estimator: Any, inputs: FitInputs) -> None:
        """Forget what is stored, with a warning, if it is of other columns, another learner or another metric."""
        self._job = _describe_job(estimator, inputs)
        if self._stored is None:
            return
        differences = find_differences(self._stored["job"], self._job)
        if differences:
            warnings.warn(
                f"The experience {self.path} is of another job and is not used: {join_names(differences)}. It is "
                "replaced at the end of this fit.",
                RuntimeWarning,
                stacklevel=3,
            )
            self._stored = None

    @property
    def best_settings(self) -> dict[str, Any]:
        """The best hyperparameters of the last search; empty if they are unknown, or the learner's own."""
        return {} if self._stored is None else dict(self._stored["best_params"])

    def begin(self, costs: CostEstimates, budget: Budget) -> None:
        """Let the costs of a fit begin with those that are stored, and keep the time to write them."""
        budget.reserves.delay = _WRITE_SECONDS
        if self._stored is not None:
            costs.cost = ExperiencedCost(self._stored["cost"], costs.cost.traits)

    def write(self, result: SessionResult, best_params: Mapping[str, Any]) -> None:
        """Replace the file by what is known after a fit; a file that cannot be written is a warning."""
        if result.costs is None or not result.costs.cost.fits.n_sizes:
            # The learner has not ended a fit.
            return
        scores = [] if self._stored is None else list(self._stored["scores"])
        scores += [[one.rows, one.estimate] for one in result.history if _is_scored(one, result.candidate)]
        values = {
            "version": _VERSION,
            "job": dict(self._job),
            "cost": thin_out(result.costs.cost.observations()),
            "scores": scores[-_MAX_SCORES:],
            "best_params": _to_plain(best_params),
        }
        try:
            with self._locked(), atomic_write(self.path) as temporary:
                temporary.write_text(json.dumps(values, indent=1), encoding="utf-8")
        except OSError as error:
            warnings.warn(
                f"The experience {self.path} could not be written: {error.strerror or error}.",
                RuntimeWarning,
                stacklevel=4,
            )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        from filelock import FileLock

        # A timeout of the lock is an OSError.
        with FileLock(f"{self.path}.lock", timeout=_LOCK_SECONDS):
            yield


def thin_out(observations: Mapping[str, Any]) -> dict[str, Any]:
    """Return observations with the newest one of sizes that are close, which stay few however many fits there are.

    Examples
    --------
    >>> cost = CostModel()
    >>> for rows in (1_000, 10_000, 10_100):
    ...     cost.observe_fit(rows, 1.0)
    >>> thin_out(cost.observations())["step_seconds"]
    [[1000, 1.0], [10100, 1.0]]
    """
    thinned = {**observations, "residuals": list(observations["residuals"])[-_MAX_RESIDUALS:]}
    for name in _BY_SIZE:
        kept: list[list[float]] = []
        for size, value in reversed(observations[name]):
            if all(max(size, other) > _SIZE_RATIO * min(size, other) for other, _ in kept):
                kept.append([size, value])
        thinned[name] = kept[::-1]
    return thinned


def _describe_job(estimator: Any, inputs: FitInputs) -> Fingerprint:
    """Return what must be equal of two fits: columns, learner and metric, and not the rows."""
    columns = list_column_types(inputs.pool.training_table)
    return {
        "task": name_task(estimator),
        "number of columns": str(getattr(estimator, "n_features_in_", 1)),
        "columns": shorten(", ".join(f"{name} {kind}" for name, kind in columns)),
        **estimator._describe_learners(estimator._make_learner()),
        "scoring": describe_scoring(estimator.scoring),
    }


def _is_scored(one: Any, candidate: int | None) -> bool:
    return one.estimate is not None and bool(np.isfinite(one.estimate)) and one.candidate == candidate


def _validate(values: Mapping[str, Any]) -> None:
    """Raise an error if a value of the file is not what `Experience.write` writes."""
    CostModel().restore(values["cost"])
    for rows, score in values["scores"]:
        int(rows), float(score)
    if not all(isinstance(text, str) for text in values["job"].values()):
        raise TypeError("the job is no text")
    if not all(_is_plain(value) for value in values["best_params"].values()):
        raise TypeError("the hyperparameters are no text or numbers")


def _to_plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyperparameters as values for JSON; none if one of them has no such value."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    return plain if all(map(_is_plain, plain.values())) else {}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)
