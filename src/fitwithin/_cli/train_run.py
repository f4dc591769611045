"""A training from the command line, from the first look at the file to the next command to type."""

from __future__ import annotations

import math
import shlex
import time
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from sklearn.metrics import get_scorer

from fitwithin._cli.console import note, on_standard_error, say
from fitwithin._cli.options import learner_of
from fitwithin._cli.save_model import Kept, keep
from fitwithin._cli.tables import show_result, show_understood
from fitwithin._cli.train_options import Order
from fitwithin._core.exceptions import NoModelInTime
from fitwithin._tabular import (
    Encoded,
    Encoding,
    Understood,
    about,
    encoding_for,
    fitted,
    read_goal,
    refuse_misfits,
    refuse_unfit_score,
    rows_to_test,
    stored_pipeline,
    understand,
)
from fitwithin._tabular.files import DataFile, full_ending


@dataclass(frozen=True, eq=False)
class _Ready:
    """Everything that a training needs, and how long that took."""

    learner: Any
    understood: Understood
    encoding: Encoding
    encoded: Encoded
    test: tuple[Any, Any] | None
    seconds: float


def carry_out(order: Order, *, as_json: bool) -> None:
    """Read, train, test, store and tell."""
    start = time.monotonic()
    console = Console(quiet=as_json, highlight=False)
    data, test, target = order.checked()
    ready = _get_ready(order, data, test, target, start)
    show_understood(console, str(order.data), ready.understood, ready.encoding, ready.seconds)
    say(console, f"Training {order.learner} for at most {order.seconds:g} s; Ctrl-C keeps the best model so far.")
    goal = ready.understood.goal
    scoring = order.scoring or ("r2" if goal.is_regression else "accuracy")
    settings = {"teacher": order.teacher, "scoring": order.scoring, "random_state": order.seed}
    seconds = _left(order, start)
    # Learners may print, and then standard output is no place for JSON.
    with on_standard_error() if as_json else nullcontext():
        model, warned = fitted(ready.learner, ready.encoded, goal, time_limit=seconds, **settings)
        tested = _test_score(model, ready.test, scoring)
    for warning in warned:
        note(warning)
    training = {
        "data": order.data.name,
        "seed": order.seed,
        "time_limit": order.seconds,
        "seconds_reading": ready.seconds,
        "limit_includes_reading": order.includes_reading,
        "test": tested,
    }
    if order.includes_reading:
        training["time_used"] = order.seconds - seconds + model.time_used_
    told = {"learner": order.learner, "encoding": ready.encoding, "teacher": order.teacher, "scoring": scoring}
    card = about(model, ready.encoded, ready.understood, training=training, **told)
    kept = keep(stored_pipeline(model, ready.encoded), card, order)
    if as_json:
        typer.echo(replace(kept.card, training={**kept.card.training, "model": str(kept.path)}).to_json())
    show_result(console, kept.card)
    say(console, f"The model is in {kept.path}. Next:")
    say(console, f"  {_next_command(kept, order.data)}")
    if order.report is not None:
        _report(console, model, order.report)


def _get_ready(order: Order, data: DataFile, test: DataFile | None, target: str, start: float) -> _Ready:
    part = data.read(label=target)
    goal = read_goal(target, part.table[target], order.known_task, order.max_classes)
    learner = learner_of(order.learner, regression=goal.is_regression, jobs=order.jobs)
    if order.scoring is not None:
        refuse_unfit_score(order.scoring, learner, goal)
    understood = understand(part, goal)
    encoding = encoding_for(learner)
    encoded = Encoded.of(understood, encoding)
    refuse_misfits(learner, order.teacher, encoded.X, goal)
    to_test = None if test is None else rows_to_test(encoded, goal, test)
    return _Ready(learner, understood, encoding, encoded, to_test, time.monotonic() - start)


def _test_score(model: Any, test: tuple[Any, Any] | None, scoring: str) -> dict[str, Any] | None:
    """How good the model is on other rows; after all the time that it took it is kept even if nobody can tell."""
    if test is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score = float(get_scorer(scoring)(model, *test))
    except (TypeError, ValueError, KeyboardInterrupt) as error:
        note(f"no test score: {str(error) or 'interrupted'}")
        return None
    if not math.isfinite(score):
        note(f"no test score: {scoring} is not defined for the rows of the test file.")
        return None
    return {"score": score, "rows": len(test[1])}


def _report(console: Console, model: Any, path: Path) -> None:
    """Write the page; the model is safe by now, whatever happens."""
    try:
        say(console, f"The report is in {model.report(path)}.")
    except KeyboardInterrupt:
        note("no report: interrupted")


def _left(order: Order, start: float) -> float:
    """Seconds for the training: all of them, or what reading has left."""
    if not order.includes_reading:
        return order.seconds
    used = time.monotonic() - start
    if used >= order.seconds:
        raise NoModelInTime(
            f"No model within the limit of {order.seconds:g} s: reading the file alone took {used:.1f} s. "
            "Leave out --limit-includes-reading, or allow more time."
        )
    return order.seconds - used


def _next_command(kept: Kept, data: Path) -> str:
    words = ["fitwithin", "predict", str(kept.path), f"new-rows{full_ending(data)}", "--out", "predictions.parquet"]
    for name in kept.card.trust:
        words += ["--trust", name]
    return shlex.join([*words, "--unsafe-pickle"] if kept.by_pickle else words)
