"""The study: every data set, learner, teacher and seed of a plan; it resumes where it was stopped."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from fitwithin_paper.study.dataset_sources import DatasetLoader
from fitwithin_paper.study.environment import describe_environment
from fitwithin_paper.study.experiment import Experiment
from fitwithin_paper.study.plan import StudyList
from fitwithin_paper.study.preprocessing import PreparedDataset, prepare_dataset
from fitwithin_paper.study.raw_dataset import DatasetUnavailable
from fitwithin_paper.study.result_log import ResultLine, ResultLog
from fitwithin_paper.study.resume_checks import check_dataset, check_plan


@dataclass(frozen=True, eq=False)
class Study:
    """A plan, its data sets and the log of its results.

    Parameters
    ----------
    plan : StudyList
        The runs.
    load_dataset : callable
        Loads a data set by its name; raises DatasetUnavailable.
    results : ResultLog
        Log of the lines; runs that it already holds are skipped.
    console : rich.console.Console
        Console for the progress display.
    """

    plan: StudyList
    load_dataset: DatasetLoader
    results: ResultLog
    console: Console

    def run(self) -> bool:
        """Carry out the runs that have no result yet.

        Returns
        -------
        bool
            Whether any data set was available, now or at an earlier start.

        Raises
        ------
        SettingsMismatch
            If the results were measured with other settings, or on other data sets of the same names. Nothing is run
            in this case.
        """
        check_plan(self.plan, self.results)
        self._check_datasets()
        self.results.append([{"kind": "start", **describe_environment(), "plan": self.plan.to_line()}])
        with self._build_progress() as progress:
            task = progress.add_task("", total=self._count_runs_left(self.plan.datasets))
            for position, dataset in enumerate(self.plan.datasets):
                self._run_dataset(dataset, progress)
                # The total shrinks by the runs of dropped experiments and missing data sets.
                n_left = self._count_runs_left(self.plan.datasets[position + 1 :])
                progress.update(task, total=progress.tasks[0].completed + n_left)
        return any(self.results.find_lines("data", dataset=dataset) for dataset in self.plan.datasets)

    def _run_dataset(self, name: str, progress: Progress) -> None:
        experiments = self._list_experiments(name)
        for experiment in experiments:
            experiment.log_drop(experiment.find_drop_reason())
        unfinished = [experiment for experiment in experiments if experiment.n_runs_left]
        dataset = self._load_and_log(name) if unfinished else None
        if dataset is None:
            return
        task = progress.tasks[0].id
        for experiment in unfinished:
            progress.update(task, description=f"{name}, {experiment.learner}")
            experiment.run(dataset, lambda: progress.advance(task))

    def _list_experiments(self, dataset: str) -> list[Experiment]:
        return [Experiment(self.plan, self.results, dataset, learner) for learner in self.plan.learners]

    def _count_runs_left(self, datasets: tuple[str, ...]) -> int:
        """Return the number of runs of these data sets that have no result yet."""
        return sum(experiment.n_runs_left for dataset in datasets for experiment in self._list_experiments(dataset))

    def _check_datasets(self) -> None:
        """Compare the data sets with those of earlier starts, which reads them once more."""
        for name in self.plan.datasets:
            if self.results.find_lines("data", dataset=name) and self._count_runs_left((name,)):
                try:
                    dataset = prepare_dataset(self.load_dataset(name), scale=self.plan.scale)
                except (DatasetUnavailable, ValueError, OSError):
                    continue  # reported as missing later
                check_dataset(self._describe_dataset(name, dataset), self.results)

    def _build_progress(self) -> Progress:
        return Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
        )

    def _load_and_log(self, name: str) -> PreparedDataset | None:
        """Return the prepared data set; log the reason and return None if it is unavailable."""
        try:
            dataset = prepare_dataset(self.load_dataset(name), scale=self.plan.scale)
        except (DatasetUnavailable, ValueError, OSError) as error:
            # The study continues with the other data sets.
            self.console.print(f"{name} is left out: {error}", style="yellow", markup=False, highlight=False)
            self.results.append_if_new({"kind": "missing", "dataset": name, "why": str(error)}, dataset=name)
            return None
        self.results.append_if_new(self._describe_dataset(name, dataset), dataset=name)
        return dataset

    def _describe_dataset(self, name: str, dataset: PreparedDataset) -> ResultLine:
        return {
            "kind": "data",
            "dataset": name,
            "train_rows": len(dataset.y_train),
            "test_rows": len(dataset.y_test[: self.plan.test_rows]),
            "columns": len(dataset.columns),
            "classes": len(dataset.classes),
            "source": dataset.source,
            "fingerprint": _hash_dataset(dataset),
        }


def _hash_dataset(dataset: PreparedDataset) -> str:
    """Return eight hexadecimal digits that identify the classes of the rows and the columns."""
    # The values are not hashed: their last digits depend on the version of scikit-learn.
    digest = hashlib.sha256("\n".join(dataset.columns).encode())
    for y in (dataset.y_train, dataset.y_test):
        digest.update(y.tobytes())
    return digest.hexdigest()[:8]
