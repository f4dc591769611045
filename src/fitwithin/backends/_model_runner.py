"""Fit, examine and score one model, the same in every backend."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fitwithin._core.records import Mask, Purpose
from fitwithin._core.target import Array
from fitwithin._pools.pool import LabeledRows
from fitwithin.backends._base import ExamReport, FitReport, ScoreReport
from fitwithin.backends._early_stopping.ensembles import DEPRECATION, pass_validation_set, takes_validation_set
from fitwithin.backends._early_stopping.registry import EarlyStoppingFit
from fitwithin.backends._early_stopping.stop_signal import StopSignal
from fitwithin.backends._exam_predictions import ExamPredictions, predict_exam
from fitwithin.backends._scoring import Scoring

MAX_PIECE_BYTES = 16 << 20
"""Bytes of features that an exam gathers at a time, so that it never needs a second copy of a large pool."""

MAX_PIECE_ROWS = 1 << 17
"""Rows that an exam gathers at a time: bounds `predict`'s own memory where rows are narrow or of unknown size."""

FIRST_PIECE_ROWS = 256
"""Rows of the first piece of an exam with a time limit; a piece of fewer is not worth a call of `predict`."""


def rows_per_piece(row_bytes: int) -> int:
    """Return the number of rows that an exam reads at a time; `row_bytes` is 0 if unknown."""
    return min(MAX_PIECE_ROWS, max(1, MAX_PIECE_BYTES // max(1, row_bytes)))


def split_exam(
    n_rows: int, piece_rows: int, seconds: float | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[slice]:
    """Yield the pieces of an exam, one after the other, while there is time to predict them.

    With a limit of `seconds`, the first is small, and always yielded; another at most doubles the rows, to end in time.
    """
    size = piece_rows if seconds is None else min(piece_rows, FIRST_PIECE_ROWS)
    start, done = clock(), 0
    while done < n_rows:
        stop = min(done + size, n_rows)
        yield slice(done, stop)
        done = stop
        if seconds is not None:
            spent = max(clock() - start, sys.float_info.min)
            affordable = done * (seconds - spent) / spent
            if affordable < min(FIRST_PIECE_ROWS, n_rows - done):
                return
            size = int(min(affordable, done, piece_rows))


class ModelRunner:
    """Fit a learner in place, and examine the model."""

    def __init__(self, learner: Any, scoring: Scoring) -> None:
        self.model = learner
        self.warnings: list[warnings.WarningMessage] = []
        self._scoring = scoring
        self._exams: list[ExamPredictions] = []
        self._partially_fitted = False

    def fit(
        self,
        rows: LabeledRows,
        fit_params: Mapping[str, Any],
        stop_signal: StopSignal | None = None,
        early_stopping: EarlyStoppingFit | None = None,
    ) -> FitReport:
        """Fit the learner and record its warnings; the report knows the learner's own seconds, not memory or exams."""
        params = pass_validation_set(self.model, {**rows.row_params, **fit_params}, rows.y)
        takes_rows = takes_validation_set(self.model)
        # The early-stopping fit of a pipeline takes validation rows through its earlier steps.
        is_plain = stop_signal is None and not takes_rows
        stop_signal = stop_signal or StopSignal(math.inf)
        with warnings.catch_warnings(record=True) as self.warnings:
            if takes_rows:
                warnings.filterwarnings("ignore", DEPRECATION)
            start = time.monotonic()
            if is_plain or early_stopping is None:
                self.model.fit(rows.X, rows.y, **params)
            else:
                stop_signal.begin_fit()
                early_stopping(self.model, rows.X, rows.y, stop_signal, params)
            seconds = time.monotonic() - start
        return FitReport(
            0.0,
            seconds,
            stop_signal.skipped_seconds,
            setup_seconds=stop_signal.setup_seconds,
            steps=stop_signal.n_steps,
            planned_steps=stop_signal.planned_steps,
            gave_up=stop_signal.gave_up,
        )

    def partial_fit(self, rows: LabeledRows, batch: int, classes: Array | None) -> FitReport:
        """Continue by the learner's `partial_fit`, `batch` rows at a time; the first call passes `classes`."""
        first_params = {} if classes is None or self._partially_fitted else {"classes": classes}
        with warnings.catch_warnings(record=True) as self.warnings:
            start = time.monotonic()
            for part in rows.split(batch):
                self.model.partial_fit(part.X, part.y, **part.row_params, **first_params)
                first_params = {}
            seconds = time.monotonic() - start
        self._partially_fitted = True
        self._exams = []
        return FitReport(0.0, seconds)

    def examine(
        self, pieces: Iterable[LabeledRows], purpose: Purpose = "mistakes", margins: bool = False
    ) -> ExamReport:
        """Predict rows, which come in pieces that fit into memory, compare, and score; see `Exam`."""
        answers, seconds = self.answer(pieces, margins)
        report = self.add_answers(answers, purpose)
        return replace(report, exam_seconds=seconds + report.exam_seconds)

    def answer(self, pieces: Iterable[LabeledRows], margins: bool = False) -> tuple[ExamPredictions, float]:
        """Predict rows; return what `add_answers` of this process, or of another one, needs, and the seconds."""
        parts: list[ExamPredictions] = []
        seconds = 0.0
        for piece in pieces:
            start = time.monotonic()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                parts.append(predict_exam(self.model, piece, self._scoring, margins=margins))
            seconds += time.monotonic() - start
        return replace(ExamPredictions.join(parts), model=None), seconds

    def add_answers(self, answers: ExamPredictions, purpose: Purpose = "mistakes") -> ExamReport:
        """Count an exam that was held with this model; compare and score."""
        start = time.monotonic()
        answers = replace(answers, model=self.model)
        self._exams.append(answers)
        wrong = self._scoring.find_mistakes(answers)
        report = ExamReport(wrong, 0.0, 0.0, answers.margins, unpredicted=answers.unpredicted)
        if purpose != "mistakes":
            measured = self._scoring.measure(answers)
            problem, score, influence = measured.problem, measured.estimate, measured.influence
            if purpose == "holdout":
                score, influence = None if problem else score, None
            elif not measured.is_undefined:
                # Models can be compared without an interval.
                problem = None
            report = replace(report, score=score, influence=influence, problem=problem)
        return replace(report, exam_seconds=time.monotonic() - start)

    def score(self, selected: Mask) -> ScoreReport:
        """Return the score over all examined rows, and over the selected ones among them."""
        start = time.monotonic()
        answers = ExamPredictions.join(self._exams or [ExamPredictions(self.model, np.zeros(0, np.bool_))])
        overall = self._scoring.measure(answers)
        over_selected = overall if selected.all() else self._scoring.measure(answers.take(np.flatnonzero(selected)))
        fresh_estimate = None if over_selected.problem else over_selected.estimate
        problem = overall.problem if overall.is_undefined else over_selected.problem
        return ScoreReport(overall.estimate, fresh_estimate, time.monotonic() - start, problem)


def reissue_warnings(caught: Sequence[warnings.WarningMessage]) -> None:
    """Warn again in this process about what a learner warned of during its fit."""
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
