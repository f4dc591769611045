"""One data set and one learner: how many rows, how long, and every run that is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fitwithin._research.study.plan import Job, Plan
from fitwithin._research.study.preparing import Prepared
from fitwithin._research.study.results import Line, Results
from fitwithin._research.study.running import Rows, in_a_line, run, seconds_to_learn
from fitwithin._research.study.sizing import fewest_rows, rows_for


@dataclass(frozen=True)
class Dropped:
    """Why a pair is not taught, and the seconds of a training on all rows if those were measured."""

    seconds: float | None
    why: str


@dataclass(frozen=True, eq=False)
class Pair:
    """A data set and a learner of a study.

    Parameters
    ----------
    plan : Plan
        What to run.
    results : Results
        Lines are appended to it; what is there already is not run again.
    dataset, learner : str
        By name.
    """

    plan: Plan
    results: Results
    dataset: str
    learner: str

    @property
    def left(self) -> int:
        """Runs that are still to be done; none if the pair is dropped."""
        if self.dropped() is not None:
            return 0
        jobs = self.plan.full(self.dataset, self.learner) + self.plan.jobs(self.dataset, self.learner)
        return len(self._open(jobs))

    def run(self, prepared: Prepared, advance: Callable[[], None]) -> None:
        """Train on all rows for the time limit, and then under it, unless that is too short."""
        try:
            size = self._size(prepared)
        except Exception as error:
            # It will be tried again at the next start: nothing was measured.
            return self.note(Dropped(None, f"the number of rows could not be found: {in_a_line(error)}"))
        if size is not None:
            rows = Rows.of(prepared, size, self.plan.test_rows)
            self._run(self.plan.full(self.dataset, self.learner), rows, None, advance)
            if self.dropped() is None:
                self._run(self.plan.jobs(self.dataset, self.learner), rows, self._limit(), advance)
        return self.note(self.dropped())

    def dropped(self) -> Dropped | None:
        """Whether the pair is dropped, by the plan as it is now and what was measured; None as long as it is not."""
        plan = self.plan
        if plan.seconds is not None and any(line["rows"] is None for line in self._lines("size")):
            fewest = fewest_rows(plan.scale)
            asked = f"{plan.seconds:g} s of --seconds"
            return Dropped(None, f"{fewest:,} rows take far longer than the {asked}{_scaled(plan)}")
        full = self._lines("run", teacher="full")
        errors = [line["error"] for line in full if line.get("error")]
        if errors:
            return Dropped(None, f"the learner could not be trained on all rows: {errors[0]}")
        if self._open(plan.full(self.dataset, self.learner)):
            return None
        limit = self._limit()
        if limit < plan.shortest:
            return Dropped(limit, f"below the {plan.min_seconds:g} s of --min-seconds{_scaled(plan)}")
        return None

    def note(self, dropped: Dropped | None) -> None:
        """Write down that the pair is dropped, unless that is what was written last."""
        if dropped is None:
            return
        line = {"kind": "dropped", **self._name, "seconds": dropped.seconds, "why": dropped.why}
        last = self._lines("dropped")[-1:]
        if not last or not line.items() <= last[0].items():
            self.results.append([line])

    def _run(self, jobs: list[Job], rows: Rows, limit: float | None, advance: Callable[[], None]) -> None:
        for job in self._open(jobs):
            self.results.append(run(job, rows, limit))
            advance()

    def _limit(self) -> float:
        """The mean time of the trainings on all rows that there are."""
        used = [line["used"] for line in self._lines("run", teacher="full")]
        return float(sum(used) / len(used))

    def _open(self, jobs: list[Job]) -> list[Job]:
        """Those of the jobs that have no result yet."""
        done = {(line["teacher"], line["seed"]) for line in self._lines("run")}
        return [job for job in jobs if (job.teacher, job.seed) not in done]

    def _size(self, prepared: Prepared) -> int | None:
        """Training rows for this learner: all, or fewer if a full training is to take about so many seconds."""
        plan, most = self.plan, len(prepared.y_train)
        if plan.seconds is None:
            return most
        known = self._lines("size")
        if known:
            rows: int | None = known[0]["rows"]
            return rows
        trial = partial(seconds_to_learn, Job(**self._name, teacher="full", seed=0), Rows.of(prepared, test=0))
        rows = rows_for(plan.seconds * plan.scale, trial, most, fewest=fewest_rows(plan.scale))
        self.results.append([{"kind": "size", **self._name, "rows": rows, "of": most}])
        return rows

    @property
    def _name(self) -> dict[str, str]:
        return {"dataset": self.dataset, "learner": self.learner}

    def _lines(self, kind: str, **fields: str) -> list[Line]:
        return self.results.of_kind(kind, **self._name, **fields)


def _scaled(plan: Plan) -> str:
    return "" if plan.scale == 1 else f", times the {plan.scale:g} of --scale"
