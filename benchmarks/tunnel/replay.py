"""Replay recorded fits: the real session and its teachers on a fake clock, thousands of fits in minutes.

``python benchmarks/tunnel/replay.py --set design`` replays every recording of the design set and prints the table;
``--show NAME --ratio 1`` prints the rounds of one session.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from adversaries import ADVERSARIES, make_adversary
from recording import Recording
from runner import ROUND_SECONDS, LoggedFit, RecordedModel, RecordedRunner, TooManyRows
from sklearn.base import BaseEstimator
from table import format_tables

from fitwithin import LearnerFailed, NoModelInTime
from fitwithin._core.budget import Budget
from fitwithin._core.log import LOGGER
from fitwithin._core.records import Lesson, Returns, teach
from fitwithin._core.target import Labels
from fitwithin._pools.pool import TablePool
from fitwithin._session.experience import ExperiencedCost
from fitwithin._session.inputs.fit_arguments import find_teacher
from fitwithin._session.inputs.fit_inputs import FitInputs
from fitwithin._session.result import SessionResult
from fitwithin.backends import FitSettings, StopSignal, register_early_stopping
from fitwithin.backends._early_stopping.registry import find_early_stopping
from fitwithin.teachers import TCT, Deck, Teacher
from fitwithin.testing import FakeClock

RECORDINGS = Path(__file__).parent / "recordings"
"""Default folder of the recordings."""

SUFFIX = ".jsonl.xz"
"""Suffix of a recording, after its name."""

RATIOS = (0.05, 0.1, 0.25, 0.5, 0.8, 1.0, 1.25, 1.5, 2.0, 4.0)
"""Time limits, as multiples of the seconds of a fit on every row with 2,000 predictions."""

FULL_SECONDS = (5.0, 60.0, 3600.0)
"""Seconds that the recorded fit on every row is scaled to."""

_FIRST_ROWS = 250
_FIRST_SHARE = 0.005


class Stoppable(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Stands for a learner that can stop early and knows its steps."""


class StoppableOfUnknownSteps(Stoppable):
    """Stands for a learner that can stop early and does not know its steps."""


class Unstoppable(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Stands for a learner that cannot stop early."""


def _never_called(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    raise NotImplementedError


register_early_stopping(Stoppable, _never_called)
register_early_stopping(StoppableOfUnknownSteps, _never_called, knows_steps=False)


def make_session_learner(recording: Recording) -> BaseEstimator:
    """Return the recorded learner, never fitted here, or one that the package knows as well."""
    if "learner" in recording.header:
        from learners import make_learner

        return make_learner(recording.header["learner"], 0, [])  # type: ignore[no-any-return]  # without types
    if not recording.can_stop:
        return Unstoppable()
    return Stoppable() if recording.knows_steps else StoppableOfUnknownSteps()


class Sized(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """What people do by hand: time a fit on 1 % of the rows, and fit as many as a share of the time left allows.

    Parameters
    ----------
    time : float, default=0.9
        The share.
    """

    returns: Returns = "last"

    def __init__(self, time: float = 0.9) -> None:
        self.time = time

    def teach(self, deck: Deck) -> Any:
        """Yield both lessons."""
        rows = deck.opening(0.01)
        report = yield from teach(Lesson(rows))
        wanted = int(len(rows) * self.time * deck.costs.seconds_left / max(report.seconds, 1e-9))
        if wanted > len(rows):
            yield Lesson(np.concatenate([rows, deck.deal(min(wanted, deck.size) - len(rows))]))
        return "all rows"


class WatchedTeacher:
    """Tells the runner which lesson it carries out."""

    def __init__(self, teacher: Teacher, runner: RecordedRunner) -> None:
        self.returns = teacher.returns
        self.validates = getattr(teacher, "validates", False)
        self._teacher = teacher
        self._runner = runner

    def teach(self, deck: Deck) -> Any:
        """Yield the teacher's requests."""
        requests = self._teacher.teach(deck)
        try:
            request = next(requests)
            while True:
                self._runner.lesson = request if isinstance(request, Lesson) else self._runner.lesson
                try:
                    answer = yield request
                except Exception as error:
                    request = requests.throw(error)
                else:
                    request = requests.send(answer)
        except StopIteration as end:
            return end.value


def make_teacher(name: str) -> Teacher:
    """Return the teacher of this name, or of a class "module:Class"."""
    if ":" in name:
        module, _, attribute = name.partition(":")
        return getattr(import_module(module), attribute)()  # type: ignore[no-any-return]
    return Sized() if name == "sized" else find_teacher(name)


@dataclass(frozen=True, eq=False)
class ReplayedSession:
    """Result of one replayed fit; `result` and `learner_costs` are None without a model."""

    result: SessionResult | None
    runner: RecordedRunner
    learner_costs: Mapping[str, Any] | None = None

    @property
    def log(self) -> list[LoggedFit]:
        """The fits."""
        return self.runner.log

    @property
    def model(self) -> RecordedModel | None:
        """The model that is returned."""
        return None if self.result is None else self.result.model

    @property
    def seconds(self) -> float:
        """Seconds until it is returned."""
        return float(self.runner.clock())

    @property
    def stop_reason(self) -> str:
        """Why the session ended."""
        return "no model" if self.result is None else self.result.stop_reason


@cache
def _make_pool(recording: Recording) -> TablePool:
    codes = recording.codes
    labels = Labels(np.arange(recording.n_classes), codes, np.bincount(codes, minlength=recording.n_classes))
    return TablePool(np.zeros((recording.n_rows, 0)), labels)


def run_session(
    recording: Recording,
    teacher: Teacher,
    limit: float,
    scale: float = 1.0,
    seed: int = 0,
    *,
    killable: bool = True,
    known: Mapping[str, Any] | None = None,
) -> ReplayedSession:
    """Replay one fit.

    `scale` is a factor on the recorded seconds; a fit that is not killable may be late; `known` are costs of an earlier
    fit.
    """
    budget = Budget(limit, FakeClock())
    runner = RecordedRunner(recording, budget, scale, seed, in_chain=isinstance(teacher, TCT), killable=killable)
    learner, pool = make_session_learner(recording), _make_pool(recording)
    settings = FitSettings(early_stopping=find_early_stopping(learner))
    inputs = FitInputs(WatchedTeacher(teacher, runner), learner, pool, settings, np.random.default_rng(seed))
    result = learner_costs = None
    with contextlib.suppress(NoModelInTime, LearnerFailed, TooManyRows):
        session = inputs.open_session(runner, budget)
        if known is not None:
            session.costs.cost = ExperiencedCost(known, session.costs.cost.traits)
        result = session.run()
        learner_costs = result.describe_costs(session.deck.size, settings.scoring)
    return ReplayedSession(result, runner, learner_costs)


def _run_sized(recording: Recording, limit: float, scale: float, seed: int) -> ReplayedSession:
    """Replay the sized fit; if it is killed, begin again once, with half of its rows and the same limit."""
    session = run_session(recording, Sized(), limit, scale, seed)
    if session.log and session.log[-1].result == "deadline":
        session = run_session(recording, Sized(0.45), limit, scale, seed)
    return session


def replay(recording: Recording, teacher: str, ratio: float, full_seconds: float, seed: int) -> dict[str, Any]:
    """Replay one fit and return its result as values for JSON."""
    scale, limit = full_seconds / recording.full_seconds, ratio * full_seconds
    if teacher == "sized":
        session = _run_sized(recording, limit, scale, seed)
    else:
        session = run_session(recording, make_teacher(teacher), limit, scale, seed)
    model, finished = session.model, [fit for fit in session.log if fit.result in ("done", "cut")]
    refits = [fit for fit in session.log if fit.lesson is not None and fit.lesson.refit]
    return {
        "teacher": teacher,
        "ratio": ratio,
        "full_seconds": full_seconds,
        "seed": seed,
        "rows": 0 if model is None else model.rows,
        "share": 0.0 if model is None else model.share,
        "score": 1 / recording.n_classes if model is None else model.score,
        "last_rows": finished[-1].rows if finished else 0,
        "seconds": session.seconds,
        "refit_seconds": sum(fit.end - fit.start + ROUND_SECONDS for fit in refits),
        "oversampled": any(fit.lesson is not None and fit.lesson.oversampled for fit in session.log),
        "stop_reason": session.stop_reason,
    }


def find_oracle(recording: Recording, ratio: float, full_seconds: float) -> dict[str, Any]:
    """Return the rows and score of the largest plain lesson that ends in time with its saving, and of every row."""
    scale, limit = full_seconds / recording.full_seconds, ratio * full_seconds
    behaviour = recording.behaviour
    limit = min(limit, limit / 2 + limit / 2 / behaviour.slowdown)
    saving = scale if behaviour.saving_scales else 1.0
    largest = int(min(recording.n_rows, behaviour.fails_above))

    def seconds(rows: int) -> float:
        fit, save, load = (recording.cost(rows, f"{name}_seconds") for name in ("fit", "save", "load"))
        return ROUND_SECONDS + scale * (recording.startup_seconds + fit) + saving * (save + 2 * load)

    low, high = 0, largest + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if seconds(middle) <= limit else (low, middle)
    first = max(min(_FIRST_ROWS, recording.n_rows), int(_FIRST_SHARE * recording.n_rows))
    return {
        "oracle_rows": low,
        "oracle_score": recording.score(low) if low else 1 / recording.n_classes,
        "full_score": recording.score(recording.n_rows),
        "first_seconds": scale * recording.cost(first, "fit_seconds"),
    }


def replay_recording(
    source: str | Path, teachers: list[str], ratios: list[float], full_seconds: list[float], seeds: int
) -> list[dict[str, Any]]:
    """Replay all fits of one recording, or of an adversary, which differs by the limit."""
    LOGGER.setLevel(logging.ERROR)  # a session without a model is a result
    recording = Recording.load(source) if isinstance(source, Path) else None
    results = []
    for ratio in ratios:
        recorded = recording or make_adversary(str(source), ratio)
        about = {name: recorded.header[name] for name in ("name", "family", "design", "can_stop", "n_rows")}
        for full in full_seconds:
            oracle = find_oracle(recorded, ratio, full)
            for teacher in teachers:
                results += [
                    {**about, **oracle, **replay(recorded, teacher, ratio, full, seed)} for seed in range(seeds)
                ]
    return results


def show(recording: Recording, teacher: str, ratio: float, full_seconds: float, seed: int) -> None:
    """Print the rounds of one session."""
    limit, scale = ratio * full_seconds, full_seconds / recording.full_seconds
    session = run_session(recording, make_teacher(teacher), limit, scale, seed)
    oracle = find_oracle(recording, ratio, full_seconds)
    print(
        f"{recording.name}, {teacher}, {recording.n_rows:,} rows, T = {limit:g} s; oracle: {oracle['oracle_rows']:,} "
        f"rows, {oracle['oracle_score']:.4f}; every row {oracle['full_score']:.4f}"
    )
    print(f"{'start':>9} {'end':>9} {'fit':>9}   of T {'rows':>9} steps mistakes  score result    exams")
    for fit in session.log:
        lesson = fit.lesson
        flags = [name for name in ("refit", "oversampled") if lesson is not None and getattr(lesson, name)]
        limits = {} if lesson is None else vars(lesson.limits)
        flags += [f"{name}={value:.3g}" for name, value in limits.items() if value is not None]
        flags += ["saved"] if fit.is_saved else []
        print(
            f"{fit.start:9.3f} {fit.end:9.3f} {fit.seconds:9.3f} {fit.seconds / limit:6.1%} {fit.rows:9,} "
            f"{fit.share:5.0%} x {fit.multiple:6.2f} {fit.score:6.4f} {fit.result:9} {', '.join([*fit.exams, *flags])}"
        )
    rows, score = (0, 0.0) if session.model is None else (session.model.rows, session.model.score)
    print(f"returned after {session.seconds:.3f} s ({session.stop_reason}): {rows:,} rows, {score:.4f}")


def find_recordings(folder: Path, which: str) -> dict[str, Path]:
    """Return the files of the recordings of a set by name: "design", "unseen" or "all"."""
    found = {path.name.removesuffix(SUFFIX): path for path in sorted(folder.glob(f"*{SUFFIX}"))}
    wanted = {"design": (True,), "unseen": (False,), "all": (True, False)}[which]
    return {name: path for name, path in found.items() if Recording.load(path).header["design"] in wanted}


def _replay_all(arguments: argparse.Namespace, sources: list[str | Path]) -> Iterator[dict[str, Any]]:
    work = partial(
        replay_recording,
        teachers=arguments.teachers,
        ratios=arguments.ratios,
        full_seconds=arguments.full_seconds,
        seeds=arguments.seeds,
    )
    if arguments.jobs == 1:
        for source in sources:
            yield from work(source)
        return
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for results in pool.map(work, sources):
            yield from results


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--teachers", type=lambda text: text.split(","), default=["auto", "double", "tct", "sized"])
    parser.add_argument("--set", default="design", help="design, unseen, all, adversaries")
    parser.add_argument("--recordings", type=Path, default=RECORDINGS, help="folder of the recordings")
    parser.add_argument("--only", default="", help="replay recordings whose name contains this text")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--full-seconds", type=_numbers, default=list(FULL_SECONDS))
    parser.add_argument("--ratios", type=_numbers, default=list(RATIOS))
    parser.add_argument("--out", type=Path, help="file for the results, one JSON object a line")
    parser.add_argument("--show", help="print the rounds of one recording or adversary, by the first teacher")
    parser.add_argument("--ratio", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    arguments = _parse(argv)
    if arguments.show:
        is_adversary = arguments.show in ADVERSARIES
        recording = (
            make_adversary(arguments.show, arguments.ratio)
            if is_adversary
            else Recording.load(arguments.recordings / f"{arguments.show}{SUFFIX}")
        )
        for full_seconds in arguments.full_seconds:
            show(recording, arguments.teachers[0], arguments.ratio, full_seconds, arguments.seed)
        return
    is_adversary = arguments.set == "adversaries"
    found: Mapping[str, str | Path] = (
        {name: name for name in ADVERSARIES} if is_adversary else find_recordings(arguments.recordings, arguments.set)
    )
    results = list(_replay_all(arguments, [source for name, source in found.items() if arguments.only in name]))
    if arguments.out is not None:
        arguments.out.write_text("".join(json.dumps(result) + "\n" for result in results))
    print(format_tables(results, arguments.teachers))


if __name__ == "__main__":
    main()
