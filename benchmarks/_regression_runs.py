"""Runs of the regression benchmark: a plain fit, then fits within shares of its time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state

from _regression_data import RegressionSplit
from _regression_pairs import LEARNERS, RegressionPair
from fitwithin import NoModelInTime, TimeConstrainedRegressor, teachers
from fitwithin._session.inputs.fit_arguments import fill_random_states
from fitwithin.teachers import TBatch

PLAIN, FITWITHIN, DOUBLING = "plain fit", "fitwithin", "doubling"
"""Ways to fit: every row without a limit; the default under a limit; random rows, doubled, under the same limit."""

SHARES = (0.25, 0.5)
"""Limits as shares of the time of the plain fit."""

# Teacher of each way that has a limit.
_TEACHERS: Mapping[str, Callable[[], Any]] = {FITWITHIN: lambda: "auto", DOUBLING: teachers.Double}

# Shortest limit in seconds. It matters for a quick try on few rows only.
_SHORTEST_LIMIT = 1.0

# Rows and time limit in seconds of the fit that starts the learner's process before each measurement.
_WARM_UP_ROWS = 50
_WARM_UP_SECONDS = 60.0


@dataclass(frozen=True)
class RegressionRun:
    """Result of one fit.

    Parameters
    ----------
    dataset, learner : str
        The pair.
    seed : int
        Seed of the split, the learner and the choice of rows.
    way : str
        `PLAIN`, `FITWITHIN` or `DOUBLING`.
    train_rows, columns : int
        Size of the training rows that the fit was given.
    seconds : float
        Time from the call of `fit` to its return.
    rows : int or None
        Training rows of the model; None without a model.
    r2 : float or None
        R2 on the test rows; None without a model.
    share, limit : float or None
        Limit as a share of the plain fit's time, and in seconds; None for the plain fit.
    stop : str or None
        Reason why the fit stopped, or why it has no model.
    """

    dataset: str
    learner: str
    seed: int
    way: str
    train_rows: int
    columns: int
    seconds: float
    rows: int | None
    r2: float | None
    share: float | None = None
    limit: float | None = None
    stop: str | None = None

    @property
    def pair(self) -> str:
        """Names of data set and learner."""
        return f"{self.dataset}, {self.learner}"

    @property
    def late_seconds(self) -> float | None:
        """Seconds from the deadline to the return, negative if it was early; None without a limit."""
        return None if self.limit is None else self.seconds - self.limit

    def __str__(self) -> str:
        limit = "" if self.limit is None else f" of {self.limit:.1f}"
        score = f"no model: {self.stop}" if self.r2 is None else f"R2 {self.r2:.4f}, {self.rows:,} rows"
        return f"{self.pair}, seed {self.seed}: {self.way}: {score}, {self.seconds:.1f}{limit} s"


def run_pair(pair: RegressionPair, split: RegressionSplit, seed: int) -> Iterator[RegressionRun]:
    """Fit plainly, then both ways within each share of that time; the seed decides which way is first."""
    learner = LEARNERS[pair.learner]()
    fill_random_states(learner, check_random_state(seed))
    plain = fit_plainly(pair, learner, split, seed)
    yield plain
    for turn, share in enumerate(SHARES, start=seed):
        for way in list(_TEACHERS)[:: 1 if turn % 2 == 0 else -1]:
            yield fit_within_limit(way, pair, learner, split, seed, share, max(_SHORTEST_LIMIT, share * plain.seconds))


def fit_plainly(pair: RegressionPair, learner: Any, split: RegressionSplit, seed: int) -> RegressionRun:
    """Fit on every row, without fitwithin."""
    model = clone(learner)
    with warnings.catch_warnings():
        # A network that could go on warns.
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(split.X, split.y)
        seconds = time.perf_counter() - start
    rows, columns = split.X.shape
    return RegressionRun(
        pair.dataset, pair.learner, seed, PLAIN, rows, columns, seconds, rows, compute_r2(model, split)
    )


def fit_within_limit(
    way: str, pair: RegressionPair, learner: Any, split: RegressionSplit, seed: int, share: float, limit: float
) -> RegressionRun:
    """Fit under a limit in seconds, with the learner's process started before."""
    model = TimeConstrainedRegressor(
        learner, time_limit=limit, teacher=_TEACHERS[way](), progress=False, random_state=seed
    )
    rows: int | None = None
    r2: float | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clone(model).set_params(teacher=TBatch(_WARM_UP_ROWS), time_limit=_WARM_UP_SECONDS).fit(split.X, split.y)
        start = time.perf_counter()
        try:
            model.fit(split.X, split.y)
        except NoModelInTime as error:
            seconds, stop = time.perf_counter() - start, str(error)
        else:
            seconds, stop = time.perf_counter() - start, model.stop_reason_
            rows, r2 = model.n_rows_trained_, compute_r2(model, split)
    size = split.X.shape
    return RegressionRun(pair.dataset, pair.learner, seed, way, size[0], size[1], seconds, rows, r2, share, limit, stop)


def compute_r2(model: Any, split: RegressionSplit) -> float:
    """Return R2 on the test rows."""
    with warnings.catch_warnings():
        # Older versions of LightGBM invent feature names and then warn that they are missing.
        warnings.simplefilter("ignore")
        return float(r2_score(split.y_test, model.predict(split.X_test)))
