"""The study: every pair of data set and learner, every teacher, every seed; resumed where it was left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .._machine import Machine
from ._plan import Job, Plan
from ._preparing import Prepared, prepare
from ._results import Line, Results
from ._running import Rows, run, seconds_to_learn
from ._sizing import FEWEST, rows_for
from ._sources import Find, NotToBeHad


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

    def run(self) -> None:
        """Carry out what is left of the plan."""
        self.results.append([_start(self.plan)])
        with self._progress() as progress:
            task = progress.add_task("", total=self._left())
            for dataset in self.plan.datasets:
                learners = [learner for learner in self.plan.learners if self._open_in(dataset, learner)]
                prepared = self._prepared(dataset) if learners else None
                for learner in learners if prepared is not None else ():
                    assert prepared is not None
                    progress.update(task, description=f"{dataset}, {learner}")
                    _Pair(self, dataset, learner, prepared).run(lambda: progress.advance(task))
                # What was dropped or is missing will not be done.
                progress.update(task, total=progress.tasks[0].completed + self._left(after=dataset))

    def _left(self, after: str | None = None) -> int:
        """Runs that are still to be done, with the data sets after this one."""
        datasets = self.plan.datasets
        following = datasets if after is None else datasets[datasets.index(after) + 1 :]
        return sum(self._open_in(dataset, learner) for dataset in following for learner in self.plan.learners)

    def _progress(self) -> Progress:
        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
        )

    def _open_in(self, dataset: str, learner: str) -> int:
        """Runs of a pair that are still to be done."""
        if self.results.of_kind("dropped", dataset=dataset, learner=learner):
            return 0
        return len(self.open(self.plan.full(dataset, learner) + self.plan.jobs(dataset, learner)))

    def open(self, jobs: list[Job]) -> list[Job]:
        """Those of the jobs that have no result yet."""
        done = {
            Job(line["dataset"], line["learner"], line["teacher"], line["seed"]) for line in self.results.of_kind("run")
        }
        return [job for job in jobs if job not in done]

    def _prepared(self, dataset: str) -> Prepared | None:
        """The data set, transformed; None, and a line that says why, if it is not to be had."""
        try:
            prepared = prepare(self.find(dataset), scale=self.plan.scale)
        except NotToBeHad as error:
            self.console.print(f"{dataset} is left out: {error}", style="yellow")
            self._note_once({"kind": "missing", "dataset": dataset, "why": str(error)})
            return None
        self._note_once(
            {
                "kind": "data",
                "dataset": dataset,
                "train_rows": len(prepared.y_train),
                "test_rows": len(prepared.y_test[: self.plan.test_rows]),
                "columns": len(prepared.columns),
                "classes": len(prepared.classes),
                "source": prepared.source,
            }
        )
        return prepared

    def _note_once(self, line: Line) -> None:
        if not self.results.of_kind(**line):
            self.results.append([line])


def _start(plan: Plan) -> Line:
    """On what the lines that follow were measured."""
    here = Machine.here()
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


class _Pair:
    """One data set and one learner."""

    def __init__(self, study: Study, dataset: str, learner: str, prepared: Prepared) -> None:
        self._study = study
        self._prepared = prepared
        self._name = {"dataset": dataset, "learner": learner}

    def run(self, advance: Callable[[], None]) -> None:
        """Train on all rows for the time limit, and then under it; drop the pair if that is too short."""
        plan, results = self._study.plan, self._study.results
        size = self._size()
        if size is None:
            return self._drop(None, f"{FEWEST:,} rows take far longer than the {plan.seconds:g} s of --seconds")
        rows = Rows.of(self._prepared, size, plan.test_rows)
        for job in self._study.open(plan.full(**self._name)):
            results.append(run(job, rows, None))
            advance()
        used = [line["used"] for line in results.of_kind("run", teacher="full", **self._name)]
        if None in used:
            return self._drop(None, "the learner could not be trained on all rows")
        limit = sum(used) / len(used)
        if limit < plan.shortest:
            return self._drop(limit, f"below the {plan.shortest:g} s of --min-seconds and --scale")
        for job in self._study.open(plan.jobs(**self._name)):
            results.append(run(job, rows, limit))
            advance()
        return None

    def _drop(self, seconds: float | None, why: str) -> None:
        self._study.results.append([{"kind": "dropped", **self._name, "seconds": seconds, "why": why}])

    def _size(self) -> int | None:
        """Training rows for this learner: all, or fewer if a full training is to take about so many seconds."""
        plan, most = self._study.plan, len(self._prepared.y_train)
        if plan.seconds is None:
            return most
        known = self._study.results.of_kind("size", **self._name)
        if known:
            return int(known[0]["rows"])
        job = Job(**self._name, teacher="full", seed=0)
        whole = Rows.of(self._prepared, test=0)
        rows = rows_for(plan.seconds * plan.scale, partial(seconds_to_learn, job, whole), most)
        if rows is not None:
            self._study.results.append([{"kind": "size", **self._name, "rows": rows, "of": most}])
        return rows
