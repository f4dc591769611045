"""One training from the command line, step by step."""

from __future__ import annotations

import math
import shlex
import signal
import tempfile
import time
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import typer
from rich.console import Console
from sklearn.metrics import get_scorer

from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor, TimeConstrainedSearch
from fitwithin._cli.console import print_line, print_note, stdout_to_stderr, warnings_as_notes
from fitwithin._cli.errors import EXIT_FAILED, fail, handle_signal
from fitwithin._cli.options import Limits
from fitwithin._cli.summaries import describe_forecast, print_training_result, print_training_table
from fitwithin._cli.train_inputs import make_learners, open_inputs, validate_learner
from fitwithin._cli.train_options import TrainOptions
from fitwithin._core.exceptions import NoModelInTime, NotStorable, UserInputError
from fitwithin._core.memory_limit import format_bytes
from fitwithin._tabular.encoding import choose_encoding
from fitwithin._tabular.features import (
    FEATURE_NAMES_WARNING,
    TARGET,
    EncodedFeatures,
    FeatureBlocks,
    encode_features,
    read_test_rows,
)
from fitwithin._tabular.files.reader import full_suffix
from fitwithin._tabular.model_archive import attach_encoder, write_archive
from fitwithin._tabular.model_card import ModelCard, complete_model_card, make_initial_card
from fitwithin._tabular.target_column import TaskType
from fitwithin._tabular.training_table import read_training_table
from fitwithin.backends import Process


@dataclass(frozen=True, eq=False)
class _PreparedData:
    """Everything that a training needs, the card as far as it is known, and the seconds it took to prepare."""

    learners: list[Any]
    features: EncodedFeatures
    test_rows: tuple[Any, Any] | None
    card: ModelCard
    seconds: float


def run_training(options: TrainOptions, limits: Limits) -> None:
    """Run fitwithin train."""
    start = time.monotonic()
    console = Console(quiet=options.json, highlight=False)
    prepared = _prepare_data(options, limits, start)
    _print_prepared_data(console, options, limits, prepared)
    model, card = _train_and_test(options, limits, prepared, start)
    path, card, is_pickle = _write_model(prepared.features.make_pipeline(model.best_estimator_), card, options)
    if options.json:
        typer.echo(replace(card, training={**card.training, "model": str(path)}).to_json())
    print_training_result(console, card)
    print_line(console, describe_forecast(model, card.scoring))
    print_line(console, f"The model is in {path}. Next:")
    print_line(console, f"  {_predict_command(path, card, options.data, is_pickle=is_pickle)}")
    if options.report is not None:
        _write_report(console, model, options.report)


def _prepare_data(options: TrainOptions, limits: Limits, start: float) -> _PreparedData:
    data, test, target_name = open_inputs(options)
    task = None if options.task == "auto" else cast(TaskType, options.task)
    table = read_training_table(data, target_name, task, options.max_classes, groups=options.groups, texts=options.text)
    target = table.target
    learners = make_learners(options, regression=target.is_regression)
    encoding = choose_encoding(learners)
    features = encode_features(table, encoding)
    for learner in learners:
        validate_learner(learner, options.teacher, features.X, target)
    test_rows = None if test is None else read_test_rows(features, test)
    card = make_initial_card(
        features,
        learner=options.learner,
        encoding=encoding,
        teacher="search" if options.search else options.teacher,
        scoring=options.scoring or ("r2" if target.is_regression else "accuracy"),
        training={"data": options.data.name, "seed": options.seed, "time_limit": limits.seconds},
    )
    return _PreparedData(learners, features, test_rows, card, time.monotonic() - start)


def _print_prepared_data(console: Console, options: TrainOptions, limits: Limits, prepared: _PreparedData) -> None:
    print_training_table(console, str(options.data), prepared.features.table, prepared.card.encoding, prepared.seconds)
    if options.checkpoint is not None:
        counted = "; the time limit counts all runs together" if limits.until is None else ""
        print_line(console, f"Checkpoint: {options.checkpoint}{counted}.")
    memory = "" if limits.n_bytes is None else f" in at most {format_bytes(limits.n_bytes)}"
    names = " and of ".join(options.learner_names)
    activity = f"Searching for the best hyperparameters of {names}" if options.search else f"Training {options.learner}"
    print_line(console, f"{activity} for at most {limits.seconds:g} s{memory}; Ctrl-C keeps the best model so far.")


def _train_and_test(
    options: TrainOptions, limits: Limits, prepared: _PreparedData, start: float
) -> tuple[Any, ModelCard]:
    """Return the fitted model and its card."""
    includes_reading = options.limit_includes_reading or limits.until is not None
    seconds_before = time.monotonic() - start if includes_reading else 0.0
    if seconds_before >= limits.seconds:
        raise NoModelInTime(
            f"No model within the limit of {limits.seconds:g} s: reading the file alone took {seconds_before:.1f} s. "
            "Leave out --limit-includes-reading, or allow more time."
        )
    estimator = _make_estimator(options, limits, prepared, limits.seconds - seconds_before)
    X, table = prepared.features.X, prepared.features.table
    # Learners may print, and standard output is for JSON alone.
    with stdout_to_stderr() if options.json else nullcontext():
        with warnings_as_notes():
            warnings.filterwarnings("ignore", FEATURE_NAMES_WARNING)
            model = estimator.fit(X, TARGET if isinstance(X, FeatureBlocks) else table.y, groups=table.groups)
        test_result = _score_test_rows(model, prepared.test_rows, prepared.card.scoring)
    return model, complete_model_card(
        prepared.card,
        model,
        time_used=seconds_before + model.time_used_,
        seconds_reading=prepared.seconds,
        limit_includes_reading=includes_reading,
        test=test_result,
    )


def _make_estimator(options: TrainOptions, limits: Limits, prepared: _PreparedData, seconds: float) -> Any:
    checkpoint = options.checkpoint
    settings: dict[str, Any] = {
        "time_limit": limits.until or seconds,
        "scoring": options.scoring,
        "memory_limit": limits.n_bytes,
        "validation": options.validation,
        "random_state": options.seed,
        "experience": options.experience,
        "backend": Process(spool=options.spool),
        "checkpoint": checkpoint and attach_encoder(checkpoint, prepared.features, prepared.card),
    }
    target = prepared.features.table.target
    if options.search:
        # Learners with a name keep it in the results.
        named = zip(options.learner_names, prepared.learners, strict=True)
        return TimeConstrainedSearch(
            [learner if ":" in name else name for name, learner in named],
            task=target.task,
            n_jobs=options.jobs,
            ensemble=options.ensemble,
            predict_time_limit=options.predict_time_limit,
            **settings,
        )
    estimator_class: Any = TimeConstrainedRegressor if target.is_regression else TimeConstrainedClassifier
    return estimator_class(prepared.learners[0], teacher=options.teacher, **settings)


def _score_test_rows(model: Any, test_rows: tuple[Any, Any] | None, scoring: str) -> dict[str, Any] | None:
    """Score the model on the test file; if that fails, print a note, and the model is written all the same."""
    if test_rows is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score = float(get_scorer(scoring)(model, *test_rows))
        if math.isfinite(score):
            return {"score": score, "rows": len(test_rows[1])}
        reason = f"{scoring} is not defined for the rows of the test file."
    except KeyboardInterrupt:
        reason = "interrupted"
    except (TypeError, ValueError) as error:
        reason = str(error)
    print_note(f"no test score: {reason}")
    return None


def _write_model(pipeline: Any, card: ModelCard, options: TrainOptions) -> tuple[Path, ModelCard, bool]:
    """Write a model to --out, by pickle if skops can't store it.

    If that path can't be written any more, write it to a temporary folder and let the command fail.

    Returns
    -------
    tuple
        The file, its card with the types that must be trusted by name, and whether it holds a pickle.
    """
    with handle_signal(signal.SIGINT, _warn_before_interrupt):
        try:
            return _write_to(options.out, pipeline, card, options)
        except UserInputError as error:
            folder = Path(tempfile.mkdtemp(prefix="fitwithin-"))
            path, *_ = _write_to(folder / options.out.name, pipeline, card, options)
            fail(error.sentence, code=EXIT_FAILED, hint=f"The model is not lost: move {path} to where you want it.")


def _write_to(path: Path, pipeline: Any, card: ModelCard, options: TrainOptions) -> tuple[Path, ModelCard, bool]:
    try:
        full_card = write_archive(path, pipeline, card, force=options.force, as_pickle=options.unsafe_pickle)
    except NotStorable as error:
        print_note(f"skops can't store this learner ({error}), so it is stored by pickle.")
        return _write_to(path.with_suffix(".pickle"), pipeline, card, replace(options, unsafe_pickle=True))
    return path, full_card, options.unsafe_pickle


def _warn_before_interrupt(*_: object) -> None:
    """Answer the first Ctrl-C with a message, since only writing is left to do; obey the second."""
    typer.echo("The model is being written; press Ctrl-C again to discard it.", err=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _predict_command(model: Path, card: ModelCard, data: Path, *, is_pickle: bool) -> str:
    rows = f"new-rows{full_suffix(data) or '.parquet'}"
    trusted = [word for name in card.trust for word in ("--trust", name)]
    pickled = ["--unsafe-pickle"] if is_pickle else []
    return shlex.join(["fitwithin", "predict", str(model), rows, "--out", "predictions.parquet", *trusted, *pickled])


def _write_report(console: Console, model: Any, path: Path) -> None:
    """Write the HTML report; the model is written by now, so Ctrl-C skips the report only."""
    try:
        print_line(console, f"The report is in {model.report(path)}.")
    except KeyboardInterrupt:
        print_note("no report: interrupted")
