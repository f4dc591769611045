"""An experiment: one data set and one learner, its number of rows, its time limit and its runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fitwithin_paper.study.plan import RunSpec, StudyList
from fitwithin_paper.study.preprocessing import PreparedDataset
from fitwithin_paper.study.result_log import ResultLine, ResultLog
from fitwithin_paper.study.row_count import find_row_count, scale_min_rows
from fitwithin_paper.study.study_run import (
    TOO_SLOW,
    TrainTestRows,
    describe_error,
    execute_full_run,
    execute_run,
    measure_fit_seconds,
)


@dataclass(frozen=True)
class DropReason:
    """Reason for dropping an experiment, and the seconds of a full training if they were measured."""

    fit_seconds: float | None
    why: str


@dataclass(frozen=True, eq=False)
class Experiment:
    """A data set and a learner of a study.

    Parameters
    ----------
    plan : StudyList
        The runs.
    results : ResultLog
        Log of the lines; runs that it already holds are skipped.
    dataset, learner : str
        Names.
    """

    plan: StudyList
    results: ResultLog
    dataset: str
    learner: str

    @property
    def n_runs_left(self) -> int:
        """Number of runs without a result; 0 if the experiment is dropped."""
        if self.find_drop_reason() is not None:
            return 0
        full = self.plan.list_full_runs(self.dataset, self.learner)
        limited = self.plan.list_limited_runs(self.dataset, self.learner)
        return len(self._skip_finished(full + limited))

    def run(self, dataset: PreparedDataset, on_run_end: Callable[[], None]) -> None:
        """Measure the time limit by full trainings, and run every teacher under it unless it is too short."""
        try:
            n_rows = self._choose_row_count(dataset)
        except Exception as error:
            # Nothing was measured, so the next start tries again.
            why = f"the number of rows could not be found: {describe_error(error)}"
            return self.log_drop(DropReason(None, why))
        if n_rows is not None:
            rows = TrainTestRows.from_dataset(dataset, n_rows, self.plan.test_rows)
            self._run_full_trainings(rows, on_run_end)
            if self.find_drop_reason() is None:
                specs = self.plan.list_limited_runs(self.dataset, self.learner)
                self._execute(specs, rows, self._limit_seconds(), on_run_end)
        return self.log_drop(self.find_drop_reason())

    def find_drop_reason(self) -> DropReason | None:
        """Return why the current plan and the results so far drop the experiment; None if they do not."""
        plan = self.plan
        if plan.seconds is not None and any(line["rows"] is None for line in self._find_lines("size")):
            requested = f"{plan.seconds:g} s of --seconds"
            why = f"{scale_min_rows(plan.scale):,} rows take far longer than the {requested}{_describe_scale(plan)}"
            return DropReason(None, why)
        full = self._find_lines("run", teacher="full")
        errors = [line["error"] for line in full if line.get("error")]
        if errors and errors[0] == TOO_SLOW:
            return DropReason(None, f"above the {plan.max_seconds:g} s of --max-seconds{_describe_scale(plan)}")
        if errors:
            return DropReason(None, f"the learner could not be trained on all rows: {errors[0]}")
        if self._skip_finished(plan.list_full_runs(self.dataset, self.learner)):
            return None
        limit_seconds = self._limit_seconds()
        if limit_seconds < plan.min_limit_seconds:
            why = f"below the {plan.min_seconds:g} s of --min-seconds{_describe_scale(plan)}"
            return DropReason(limit_seconds, why)
        return None

    def log_drop(self, reason: DropReason | None) -> None:
        """Log that the experiment is dropped, unless the last line about it says the same."""
        if reason is not None:
            line = {"kind": "dropped", **self._key, "seconds": reason.fit_seconds, "why": reason.why}
            self.results.append_if_new(line, **self._key)

    def _run_full_trainings(self, rows: TrainTestRows, on_run_end: Callable[[], None]) -> None:
        """Train on all rows, as often as the plan says; once if that takes too long."""
        for spec in self._skip_finished(self.plan.list_full_runs(self.dataset, self.learner)):
            self.results.append(execute_full_run(spec, rows, self.plan.max_limit_seconds))
            on_run_end()
            if self.find_drop_reason() is not None:
                break

    def _execute(
        self, specs: list[RunSpec], rows: TrainTestRows, limit_seconds: float | None, on_run_end: Callable[[], None]
    ) -> None:
        for spec in self._skip_finished(specs):
            self.results.append(execute_run(spec, rows, limit_seconds))
            on_run_end()

    def _limit_seconds(self) -> float:
        """Return the mean time of the full trainings so far."""
        used = [line["used"] for line in self._find_lines("run", teacher="full")]
        return float(sum(used) / len(used))

    def _skip_finished(self, specs: list[RunSpec]) -> list[RunSpec]:
        """Return the runs that have no result yet."""
        finished = {(line["teacher"], line["seed"]) for line in self._find_lines("run")}
        return [spec for spec in specs if (spec.teacher, spec.seed) not in finished]

    def _choose_row_count(self, dataset: PreparedDataset) -> int | None:
        """Return the number of training rows: all, or fewer if the plan limits the time of a full training."""
        plan, max_rows = self.plan, len(dataset.y_train)
        if plan.seconds is None:
            return max_rows
        known = self._find_lines("size")
        if known:
            n_rows: int | None = known[0]["rows"]
            return n_rows
        spec = RunSpec(**self._key, teacher="full", seed=0)
        measure = partial(measure_fit_seconds, spec, TrainTestRows.from_dataset(dataset, max_test=0))
        min_rows = scale_min_rows(plan.scale)
        n_rows = find_row_count(plan.seconds * plan.scale, measure, max_rows, min_rows=min_rows)
        self.results.append([{"kind": "size", **self._key, "rows": n_rows, "of": max_rows}])
        return n_rows

    @property
    def _key(self) -> dict[str, str]:
        return {"dataset": self.dataset, "learner": self.learner}

    def _find_lines(self, kind: str, **fields: str) -> list[ResultLine]:
        return self.results.find_lines(kind, **self._key, **fields)


def _describe_scale(plan: StudyList) -> str:
    return "" if plan.scale == 1 else f", times the {plan.scale:g} of --scale"
