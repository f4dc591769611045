"""The study: every pair of data set and learner, every teacher, every seed; resumed where it was left."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from fitwithin._core.environment import Environment
from fitwithin._research.study.pairs import Pair
from fitwithin._research.study.plan import Plan
from fitwithin._research.study.preparing import Prepared, prepare
from fitwithin._research.study.results import Line, Results
from fitwithin._research.study.resuming import check_data, check_settings
from fitwithin._research.study.sources import Find, NotToBeHad


@dataclass(frozen=True, eq=False)
class Study:
    """A plan, and the file that it is carried out into.

    Parameters
    ----------
    plan : Plan
        What to run.
    find : callable
        Gives a data set by its name; raises NotToBeHad.
    results : Results
        Lines are appended to it; what is there already is not run again.
    console : rich.console.Console
        For progress.
    """

    plan: Plan
    find: Find
    results: Results
    console: Console

    def run(self) -> bool:
        """Carry out what is left of the plan.

        Returns
        -------
        bool
            Whether any of its data sets was to be had, now or before.

        Raises
        ------
        OtherSettings
            If the results are those of a study with other settings, or with other data sets of the same names. Then
            nothing was run.
        """
        check_settings(self.plan, self.results)
        self._check_data()
        self.results.append([_start(self.plan)])
        with self._progress() as progress:
            task = progress.add_task("", total=self._left(self.plan.datasets))
            for place, dataset in enumerate(self.plan.datasets):
                self._run(dataset, progress)
                # What was dropped or is missing will not be done.
                left = self._left(self.plan.datasets[place + 1 :])
                progress.update(task, total=progress.tasks[0].completed + left)
        return any(self.results.of_kind("data", dataset=dataset) for dataset in self.plan.datasets)

    def _run(self, dataset: str, progress: Progress) -> None:
        pairs = self._pairs(dataset)
        for pair in pairs:
            pair.note(pair.dropped())
        open_pairs = [pair for pair in pairs if pair.left]
        prepared = self._prepared(dataset) if open_pairs else None
        if prepared is None:
            return
        task = progress.tasks[0].id
        for pair in open_pairs:
            progress.update(task, description=f"{dataset}, {pair.learner}")
            pair.run(prepared, lambda: progress.advance(task))

    def _pairs(self, dataset: str) -> list[Pair]:
        return [Pair(self.plan, self.results, dataset, learner) for learner in self.plan.learners]

    def _left(self, datasets: tuple[str, ...]) -> int:
        """Runs that are still to be done with these data sets."""
        return sum(pair.left for dataset in datasets for pair in self._pairs(dataset))

    def _check_data(self) -> None:
        """Compare the data sets with those that were measured before, which takes reading them once more."""
        for dataset in self.plan.datasets:
            if self.results.of_kind("data", dataset=dataset) and self._left((dataset,)):
                try:
                    prepared = prepare(self.find(dataset), scale=self.plan.scale)
                except (NotToBeHad, ValueError, OSError):
                    continue  # it will be said to be missing
                check_data(self._data_line(dataset, prepared), self.results)

    def _progress(self) -> Progress:
        return Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
        )

    def _prepared(self, dataset: str) -> Prepared | None:
        """The data set, transformed; None, and a line that says why, if it is not to be had."""
        try:
            prepared = prepare(self.find(dataset), scale=self.plan.scale)
        except (NotToBeHad, ValueError, OSError) as error:
            # One set that can't be used is no reason to do without the others.
            self.console.print(f"{dataset} is left out: {error}", style="yellow", markup=False, highlight=False)
            self._note_once({"kind": "missing", "dataset": dataset, "why": str(error)})
            return None
        self._note_once(self._data_line(dataset, prepared))
        return prepared

    def _data_line(self, dataset: str, prepared: Prepared) -> Line:
        return {
            "kind": "data",
            "dataset": dataset,
            "train_rows": len(prepared.y_train),
            "test_rows": len(prepared.y_test[: self.plan.test_rows]),
            "columns": len(prepared.columns),
            "classes": len(prepared.classes),
            "source": prepared.source,
            "fingerprint": _fingerprint(prepared),
        }

    def _note_once(self, line: Line) -> None:
        last = self.results.of_kind(line["kind"], dataset=line["dataset"])[-1:]
        if not last or not line.items() <= last[0].items():
            self.results.append([line])


def _fingerprint(prepared: Prepared) -> str:
    """Eight signs that are others for other classes of the rows, or other columns."""
    # Not of the numbers in the columns: their last digits depend on the versions of what standardised them.
    known = hashlib.sha256("\n".join(prepared.columns).encode())
    for y in (prepared.y_train, prepared.y_test):
        known.update(y.tobytes())
    return known.hexdigest()[:8]


def _start(plan: Plan) -> Line:
    """On what the lines that follow were measured."""
    here = Environment.current()
    return {
        "kind": "start",
        "when": here.date,
        "machine": {
            "cpu": here.processor,
            "cores": here.cores,
            "memory_gb": here.memory_gb,
            "system": here.kernel,
            "python": here.python,
        },
        "versions": here.libraries,
        "load": list(here.load),
        "plan": plan.as_line(),
    }
