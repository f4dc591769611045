"""Recorders of the search benchmark: one runs what has no line yet, one only predicts how long that takes."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Protocol

from _accuracy_rivals import Outcome
from _accuracy_runs import hash_source
from _report import Environment, format_command
from _search_log import RunKey, RunLog, SearchRun, merge

Measurement = Callable[[], "Measured"]

# Seconds of a run beyond its fit, for the warm-up, the sampler and the test rows; FLAML has imports and files too.
_EXTRA_SECONDS: Mapping[str, float] = {"flaml": 6.0}
_DEFAULT_EXTRA_SECONDS = 2.0


@dataclass(frozen=True)
class Measured:
    """Outcome of a run, and the rows that it received."""

    outcome: Outcome
    train_rows: int
    test_rows: int


class Recorder(Protocol):
    """Carries out the runs of a part, in the order in which the part asks for them."""

    def find(self, key: RunKey) -> SearchRun | None:
        """Return the run of this name; None if it was not carried out yet."""
        ...

    def run(self, key: RunKey, measure: Measurement, *, limit: float | None, expected: float) -> SearchRun:
        """Return the run of this name, carried out if it is new.

        Parameters
        ----------
        key : RunKey
            Its name.
        measure : callable
            Carries it out.
        limit : float or None
            Its time limit in seconds.
        expected : float
            Seconds that its fit is expected to take.
        """
        ...


class LogRecorder:
    """Recorder that runs what has no line in the log.

    Parameters
    ----------
    log : RunLog
        The log.
    list_name : str
        List of the runs.
    retry : bool, default=False
        Whether to run again what failed for another reason than time.
    """

    def __init__(self, log: RunLog, list_name: str, *, retry: bool = False) -> None:
        self._log = log
        self._retry = retry
        environment = Environment.current()
        self._conditions = {
            "list_name": list_name,
            "machine": f"{environment.cores} cores ({environment.processor}), {environment.memory_gb:g} GB",
            "code": hash_source(),
            "command": format_command(),
        }

    def find(self, key: RunKey) -> SearchRun | None:
        return self._log.find(key)

    def run(self, key: RunKey, measure: Measurement, *, limit: float | None, expected: float) -> SearchRun:
        found = self._log.find(key)
        if found is not None and not (self._retry and has_failed(found)):
            return found
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
        date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        measured = measure()
        run = merge(
            key,
            limit=limit,
            train_rows=measured.train_rows,
            test_rows=measured.test_rows,
            load=load,
            date=date,
            **_select_figures(measured.outcome),
            **self._conditions,
        )
        self._log.append(run)
        print(format_run(run), flush=True)
        return run


class DryRecorder:
    """Recorder that runs nothing, and predicts the seconds of each part and pair."""

    def __init__(self) -> None:
        self.seconds: defaultdict[tuple[str, str, str], float] = defaultdict(float)
        self.runs: defaultdict[tuple[str, str, str], int] = defaultdict(int)
        self._known: dict[RunKey, SearchRun] = {}

    def find(self, key: RunKey) -> SearchRun | None:
        return self._known.get(key)

    def run(self, key: RunKey, measure: Measurement, *, limit: float | None, expected: float) -> SearchRun:
        if key not in self._known:
            pair = (key.part, key.dataset, key.learner)
            self.seconds[pair] += expected + _EXTRA_SECONDS.get(key.method, _DEFAULT_EXTRA_SECONDS)
            self.runs[pair] += 1
            self._known[key] = merge(key, limit=limit, seconds=expected, fit_seconds=expected)
        return self._known[key]


def _select_figures(outcome: Outcome) -> dict[str, object]:
    """Return the figures of an outcome that the log has a column for."""
    left_out = ("overhead", "in_vain", "lost")
    return {name: value for name, value in asdict(outcome).items() if name not in left_out}


def has_failed(run: SearchRun) -> bool:
    """Return whether a run ended without a model for another reason than time."""
    return run.accuracy is None and run.error is not None and not run.error.startswith("NoModelInTime")


def format_run(run: SearchRun) -> str:
    """Return a run as one line of text."""
    accuracy = run.error if run.accuracy is None else f"{100 * run.accuracy:.2f} %"
    limit = "no limit" if run.limit is None else f"{run.limit:.1f} s"
    return f"{run.key.name}: {accuracy}, {run.seconds or 0.0:.1f} s of {limit}"
