"""Measurement of one fit in a fresh interpreter, start-up included."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from _learners import LoggingClassifier, MajorityClassifier, read_working_times
from _peak_memory import measure_peak_memory
from _synthetic_data import Features, Target, make_pool
from fitwithin import Round, TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin.backends import Process
from fitwithin.teachers import TCT
from fitwithin.testing import AwkwardClassifier

# Seconds after which the helper process of the first fit is idle.
_IDLE_SECONDS = 0.5


@dataclass(frozen=True)
class FitSpec:
    """Settings of one measured fit.

    Parameters
    ----------
    learner : str
        A key of `LEARNERS`.
    rows, columns : int
        Shape of the pool.
    seconds : float
        Time limit.
    first : int or float
        First subset of TCT, as a number of rows or a share.
    mapped : bool
        Whether the features are a `numpy.memmap`.
    stop_above : int or None
        Stop after the first fit on at least this number of rows.
    memory : bool
        Whether to measure memory with a running helper, instead of time.
    """

    learner: str
    rows: int
    columns: int
    seconds: float
    first: float = 0.005
    mapped: bool = False
    stop_above: int | None = None
    memory: bool = False


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbosity=-1)


LEARNERS: Mapping[str, Callable[[], Any]] = {
    "trivial": MajorityClassifier,
    "GaussianNB": GaussianNB,
    "DecisionTree(max_depth=5)": lambda: DecisionTreeClassifier(max_depth=5),
    "LightGBM(n_jobs=1)": _lightgbm,
    "trivial, reads all": lambda: MajorityClassifier(reads=True, pause=0.1),
    "hangs": lambda: AwkwardClassifier("hangs in Python", above=500),
}


def measure_in_fresh_interpreter(spec: FitSpec) -> dict[str, Any]:
    """Measure one fit in a new interpreter."""
    command = [sys.executable, __file__, json.dumps(asdict(spec))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def measure_import_seconds(learner: str, repeats: int = 3) -> float:
    """Return the median time for an interpreter to start and import the package and the learner."""
    module = type(LEARNERS[learner]()).__module__
    path = str(Path(__file__).parent)
    program = f"import sys; sys.path.append({path!r}); import fitwithin, {module}, time; print(time.monotonic())"
    return statistics.median(_seconds_to_run(program) for _ in range(repeats))


def _seconds_to_run(program: str) -> float:
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout) - start


class _ProcessWithBudget(Process):
    """Process backend that keeps its budget, which knows when the learner was killed."""

    def open(self, budget: Budget) -> Any:
        self.budget = budget
        return super().open(budget)


def _measure_time(spec: FitSpec, X: Features, y: Target, folder: Path) -> dict[str, Any]:
    first, classifier = _fit_timed(spec, X, y, folder / "first", _make_stop_rule(spec))
    second, _ = _fit_timed(spec, X, y, folder / "second", lambda _: True)
    start = time.monotonic()
    y.sum()
    return {
        **first,
        "second_first_lesson": second["first_lesson"],
        "pass_over_y": time.monotonic() - start,
        "stop_reason": classifier.stop_reason_,
        "rows_taught": classifier.n_rows_trained_,
        "history": [asdict(finished) for finished in classifier.history_],
    }


def _fit_timed(
    spec: FitSpec, X: Features, y: Target, file: Path, stop: Callable[[Round], bool]
) -> tuple[dict[str, float], TimeConstrainedClassifier]:
    """Fit, and return the learner's working time by its own log and by the history."""
    backend = _ProcessWithBudget()
    classifier = _make_classifier(spec, LoggingClassifier(LEARNERS[spec.learner](), file=str(file)), backend, stop)
    start = time.monotonic()
    classifier.fit(X, y)
    elapsed = time.monotonic() - start
    killed_at = start + min(elapsed, spec.seconds - backend.budget.reserves.total)
    times = read_working_times(str(file), killed_at)
    in_vain = sum(end - begin for begin, end in times if end == killed_at)
    noted = sum(one.seconds_fit + one.seconds_exam for one in classifier.history_)
    return {
        "elapsed": elapsed,
        "first_lesson": times[0][0] - start,
        "work": sum(end - begin for begin, end in times),
        "work_by_history": noted + in_vain,
        "killed": in_vain,
    }, classifier


def _measure_memory(spec: FitSpec, X: Features, y: Target) -> dict[str, Any]:
    learner = LEARNERS[spec.learner]()
    _make_classifier(spec, learner, Process(), _make_stop_rule(spec)).fit(X[:300].copy(), y[:300])
    time.sleep(_IDLE_SECONDS)
    classifier = _make_classifier(spec, learner, Process(), _make_stop_rule(spec))
    with measure_peak_memory() as beyond:
        classifier.fit(X, y)
    history = classifier.history_
    # All rows that TCT adds after its first subset were examined before.
    used = history[0].rows + sum(finished.fresh for finished in history)
    return {
        "beyond": asdict(beyond),
        "rows_used": used,
        "bytes_used": used * (X.itemsize * X.shape[1] + y.itemsize),
        "largest_lesson": history[-1].rows,
        "stop_reason": classifier.stop_reason_,
    }


def _make_classifier(
    spec: FitSpec, learner: Any, backend: Process, stop: Callable[[Round], bool]
) -> TimeConstrainedClassifier:
    return TimeConstrainedClassifier(
        learner,
        time_limit=spec.seconds,
        teacher=TCT(first=spec.first),
        backend=backend,
        on_round=stop,
        random_state=0,
    )


def _make_stop_rule(spec: FitSpec) -> Callable[[Round], bool]:
    return lambda finished: spec.stop_above is not None and finished.rows >= spec.stop_above


def main(spec: FitSpec) -> None:
    """Measure in this process, and print the result as JSON."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X, y = make_pool(spec.rows, spec.columns, file=folder / "X.npy" if spec.mapped else None)
        print(json.dumps(_measure_memory(spec, X, y) if spec.memory else _measure_time(spec, X, y, folder)))


if __name__ == "__main__":
    main(FitSpec(**json.loads(sys.argv[1])))
