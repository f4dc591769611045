"""What every part of the search benchmark has: its runs, and the tables and goals that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from _accuracy_plan import Pair
from _accuracy_rivals import Rival, RivalTask
from _accuracy_runs import run_rival
from _report import Goal, MarkdownTable
from _search_log import RunKey, SearchRun
from _search_methods import FULL
from _search_pairs import SearchData
from _search_recorder import Measured, Recorder
from fitwithin_paper.study.study_run import TrainTestRows

RACE = "race"
"""Part that compares searches with other tools."""

JOBS = "jobs"
"""Part whose runs on every row measure T."""


@dataclass(frozen=True)
class Bench:
    """What the runs of a part need.

    Parameters
    ----------
    recorder : Recorder
        Carries them out.
    data : SearchData
        Rows of the pairs.
    seeds : tuple of int
        Their seeds.
    factors : tuple of float
        Time limits as multiples of T.
    """

    recorder: Recorder
    data: SearchData
    seeds: tuple[int, ...] = (0, 1)
    factors: tuple[float, ...] = (1.0, 3.0)

    def run_method(
        self,
        key: RunKey,
        pair: Pair,
        method: Rival,
        limit: float | None,
        *,
        expected: float | None = None,
        rows: Callable[[], TrainTestRows] | None = None,
    ) -> SearchRun:
        """Run a method on a pair, or return its line.

        Parameters
        ----------
        key : RunKey
            Name of the run.
        pair : Pair
            The pair.
        method : Rival
            The method.
        limit : float or None
            Time limit in seconds.
        expected : float or None
            Seconds that it is expected to take; the limit by default.
        rows : callable or None
            Returns the rows; by default those of the pair's data set.
        """

        def measure() -> Measured:
            found = self.data.select_rows(pair) if rows is None else rows()
            outcome = run_rival(method, RivalTask(pair.learner, found, limit or 0.0, key.seed))
            return Measured(outcome, found.n_train, found.n_test)

        return self.recorder.run(key, measure, limit=limit, expected=(limit or 0.0) if expected is None else expected)

    def run_full(self, pair: Pair, seed: int, method: Rival) -> SearchRun:
        """Fit on every row with the learner's own hyperparameters; the time of that fit is T."""
        key = RunKey(JOBS, pair.dataset, pair.learner, FULL, 1.0, seed)
        return self.run_method(key, pair, method, None, expected=pair.seconds)


class Part(Protocol):
    """A part of the benchmark."""

    name: str

    def run(self, bench: Bench, pairs: Sequence[Pair]) -> None:
        """Carry out the runs."""
        ...

    def make_tables(self, runs: Sequence[SearchRun]) -> list[MarkdownTable]:
        """Return the tables of the runs of all parts."""
        ...

    def make_goals(self, runs: Sequence[SearchRun]) -> list[Goal]:
        """Return the goals that have a run."""
        ...
