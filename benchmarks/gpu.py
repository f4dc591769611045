"""Measure a torch network on a GPU: what a session pays, what the deadline does to a kernel, and what stays taken."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch

from _report import RESULTS, Environment, Goal, MarkdownTable, write_report
from _torch_network import TorchClassifier
from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import Process
from fitwithin.teachers import TCT

# Largest lateness of a fit whose kernel still runs at the deadline, in seconds.
MAX_LATE_SECONDS = 0.25

# Rows above which the learners of the fault cases cause a fault.
_HARMLESS_ROWS = 20_000

_TEST_ROWS = 100_000

# Largest difference, in MiB, between two readings of an idle card's memory.
_READING_NOISE_MIB = 50


class EndlessKernel(TorchClassifier):
    """A network whose training on many rows ends in a kernel that takes minutes."""

    def fit(self, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> Self:
        """Train, then keep the card busy."""
        super().fit(X, y)
        if len(X) > _HARMLESS_ROWS:
            torch.cuda._sleep(10**12)
            torch.cuda.synchronize()
        return self


class TooLargeForTheCard(TorchClassifier):
    """A network that asks for more memory than the card has if there are many rows."""

    def fit(self, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> Self:
        """Train, then ask for too much."""
        super().fit(X, y)
        if len(X) > _HARMLESS_ROWS:
            torch.empty(2 * torch.cuda.mem_get_info()[1], dtype=torch.uint8, device=self.device)
        return self


class StaysOnTheCard(TorchClassifier):
    """A network whose model keeps its weights on the card when it is pickled."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes as they are."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with eight classes that a network learns the better the more of them it sees."""

    X: npt.NDArray[Any]
    y: npt.NDArray[Any]
    X_test: npt.NDArray[Any]
    y_test: npt.NDArray[Any]

    @classmethod
    def make(cls, n_rows: int, n_columns: int = 50) -> Rows:
        """Label random rows by a random network, with noise."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n_rows + _TEST_ROWS, n_columns), dtype=np.float32)
        inner = np.tanh(X @ rng.standard_normal((n_columns, 40), dtype=np.float32) / 3)
        scores = inner @ rng.standard_normal((40, 8), dtype=np.float32)
        y = (scores + 0.5 * rng.standard_normal(scores.shape, dtype=np.float32)).argmax(axis=1)
        return cls(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


@dataclass(frozen=True)
class GpuRun:
    """Result of one fit.

    Parameters
    ----------
    case : str
        What was fitted, and how.
    accuracy : float
        Accuracy on held-out rows.
    seconds, late : float
        Seconds of `fit`, and beyond the limit.
    reason : str
        Stop reason.
    rows, rounds : int
        Rows of the best model, and finished rounds.
    first_handover, later_handover : float
        Seconds of hand-over of the first round, and the largest of the later ones.
    card_before, card_after : int
        MiB of the card that were in use before the fit, and 3 s after it.
    clear_after : float
        Seconds after the return until the card's memory was as before; -1 if it was not after 10 s.
    """

    case: str
    accuracy: float
    seconds: float
    late: float
    reason: str
    rows: int
    rounds: int
    first_handover: float
    later_handover: float
    card_before: int
    card_after: int
    clear_after: float


def read_card_memory() -> int:
    """Return the MiB of the card that are in use."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0])


def run_fit(case: str, classifier: TimeConstrainedClassifier, rows: Rows) -> GpuRun:
    """Fit once, watch the card, and score the model."""
    before = read_card_memory()
    start = time.perf_counter()
    classifier.fit(rows.X, rows.y)
    returned = time.perf_counter()
    clear_after = _wait_until_clear(before, returned)
    after = read_card_memory()
    classifier.best_estimator_.set_params(device="cpu")
    history = classifier.history_
    result = GpuRun(
        case=case,
        accuracy=float(classifier.score(rows.X_test, rows.y_test)),
        seconds=returned - start,
        late=returned - start - classifier.time_limit_,
        reason=classifier.stop_reason_,
        rows=classifier.n_rows_trained_,
        rounds=len(history),
        first_handover=history[0].seconds_handover,
        later_handover=max((one.seconds_handover for one in history[1:]), default=0.0),
        card_before=before,
        card_after=after,
        clear_after=clear_after,
    )
    print(result, flush=True)
    return result


def _wait_until_clear(before: int, returned: float) -> float:
    while time.perf_counter() < returned + 10:
        if read_card_memory() <= before + _READING_NOISE_MIB:
            return time.perf_counter() - returned
        time.sleep(0.05)
    return -1.0


def train_on_every_row(rows: Rows) -> GpuRun:
    """Train without a limit on every row, in this process, which has used the card before."""
    TorchClassifier(epochs=1).fit(rows.X[:1000], rows.y[:1000])
    torch.cuda.synchronize()
    start = time.perf_counter()
    network = TorchClassifier().fit(rows.X, rows.y)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    accuracy = float(network.score(rows.X_test, rows.y_test))
    used = read_card_memory()
    return GpuRun("every row, warm, no limit", accuracy, seconds, 0.0, "", len(rows.X), 1, 0.0, 0.0, used, used, 0.0)


def make_cases(seconds: float) -> dict[str, Callable[[], TimeConstrainedClassifier]]:
    """Return the fits to run, in order, by name."""

    def fit(learner: Any, **settings: Any) -> Callable[[], TimeConstrainedClassifier]:
        return lambda: TimeConstrainedClassifier(learner, **{"time_limit": seconds, "random_state": 0} | settings)

    doubling = TCT(first=_HARMLESS_ROWS // 4)
    return {
        "auto, first fit of the program": fit(TorchClassifier()),
        "auto, second fit": fit(TorchClassifier()),
        "TCT": fit(TorchClassifier(), teacher="tct"),
        "auto, spawned worker": fit(TorchClassifier(), backend=Process(start="spawn")),
        "auto, spawned worker, second fit": fit(TorchClassifier(), backend=Process(start="spawn")),
        "a kernel that still runs at the deadline": fit(EndlessKernel(), teacher=doubling),
        "the same with a spawned worker": fit(EndlessKernel(), teacher=doubling, backend=Process(start="spawn")),
        "a card that is out of memory": fit(TooLargeForTheCard(), teacher=doubling),
        "weights that stay on the card": fit(StaysOnTheCard()),
    }


_COLUMNS = (
    "case",
    "accuracy",
    "seconds",
    "late (ms)",
    "stop reason",
    "rows",
    "rounds",
    "hand-over: first (s)",
    "later, at most",
    "card before (MiB)",
    "after",
    "free again after (s)",
)


def _make_row(run: GpuRun) -> list[str]:
    return [
        run.case,
        f"{run.accuracy:.3f}",
        f"{run.seconds:.2f}",
        f"{1000 * run.late:.0f}",
        run.reason,
        f"{run.rows:,}",
        str(run.rounds),
        f"{run.first_handover:.2f}",
        f"{run.later_handover:.2f}",
        str(run.card_before),
        str(run.card_after),
        "not in 10" if run.clear_after < 0 else f"{run.clear_after:.1f}",
    ]


def _make_goals(runs: dict[str, GpuRun], every_row: GpuRun) -> list[Goal]:
    auto, kernel = runs["auto, second fit"], runs["a kernel that still runs at the deadline"]
    off_card = [run for name, run in runs.items() if name != "weights that stay on the card"]
    failed = runs["a card that is out of memory"]
    return [
        Goal(
            f"auto is as accurate as every row, within 0.01: {auto.accuracy:.3f} and {every_row.accuracy:.3f}",
            auto.accuracy >= every_row.accuracy - 0.01,
        ),
        Goal(f"a running kernel makes it {kernel.late:.3f} s late at most", kernel.late <= MAX_LATE_SECONDS),
        Goal(
            "the card's memory is free again within 10 s of every fit whose model is not on the card",
            all(run.clear_after >= 0 for run in off_card),
        ),
        Goal(
            f"out of memory, the best model so far comes back: {failed.reason}, {failed.rows:,} rows",
            failed.reason == "learner failed" and failed.rows <= _HARMLESS_ROWS,
        ),
    ]


def main() -> int:
    """Run every case; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_900_000, help="training rows")
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit T in seconds")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments, environment = parser.parse_args(), Environment.current()
    # The failures are what is measured.
    warnings.simplefilter("ignore")
    rows = Rows.make(arguments.rows)
    runs = {name: run_fit(name, make(), rows) for name, make in make_cases(arguments.seconds).items()}
    every_row = train_on_every_row(rows)
    card = torch.cuda.get_device_name(0)
    title = (
        f"A torch network on {arguments.rows:,} x 50 rows, T = {arguments.seconds:g} s; "
        f"{card}, torch {torch.__version__}"
    )
    table = MarkdownTable(title, _COLUMNS, [_make_row(run) for run in (*runs.values(), every_row)])
    figures = {"card": card, "runs": [asdict(run) for run in (*runs.values(), every_row)]}
    return write_report("gpu", environment, [table], _make_goals(runs, every_row), figures, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
