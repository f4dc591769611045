"""Fit, examine and score one model, the same in every backend."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fitwithin._core.records import Estimate, Influence, Margins, Mask
from fitwithin._core.target import Array
from fitwithin._pools.pool import LabeledRows
from fitwithin.backends._early_stopping import EarlyStoppingFit, StopSignal
from fitwithin.backends._scoring import ExamLog, ExamPredictions, Scoring

MAX_PIECE_BYTES = 16 << 20
"""Bytes of features that an exam gathers at a time, so that it never needs a second copy of a large pool."""

MAX_PIECE_ROWS = 1 << 17
"""Rows that an exam gathers at a time: bounds `predict`'s own memory where rows are narrow or of unknown size."""

# Classifiers that are slow to predict, and whose `predict` is the argmax of `predict_proba`: one call does for both.
# Other classifiers may predict by a decision function or a threshold.
_PREDICT_BY_PROBABILITY = (("lightgbm", "LGBMClassifier.predict"), ("sklearn", "ForestClassifier.predict"))


def rows_per_piece(row_bytes: int) -> int:
    """Return the number of rows that an exam reads at a time.

    Parameters
    ----------
    row_bytes : int
        Bytes of one row's features; 0 if unknown.

    Examples
    --------
    >>> rows_per_piece(1024)
    16384
    >>> rows_per_piece(0)
    131072
    """
    return min(MAX_PIECE_ROWS, max(1, MAX_PIECE_BYTES // max(1, row_bytes)))


class ModelRunner:
    """Fit a learner and examine the model.

    Parameters
    ----------
    learner : estimator
        Fitted in place.
    scoring : Scoring
        Decides which predictions are wrong, and how the model is scored.

    Attributes
    ----------
    model : estimator
        The learner, fitted or not.
    warnings : list of WarningMessage
        Warnings of the last fit.
    seconds : float
        Seconds spent in the learner's own methods, by the system's clock.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.backends._scoring import Scoring
    >>> from fitwithin._pools.pool import LabeledRows
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> runner = ModelRunner(DecisionTreeClassifier(), Scoring())
    >>> runner.fit(LabeledRows(np.array([[0.0], [1.0]]), np.array(["a", "b"])), {})
    >>> wrong, margins = runner.examine([LabeledRows(np.array([[0.0], [1.0]]), np.array(["a", "a"]))])
    >>> wrong
    array([False,  True])
    """

    def __init__(self, learner: Any, scoring: Scoring) -> None:
        self.model = learner
        self.warnings: list[warnings.WarningMessage] = []
        self.seconds = 0.0
        self._scoring = scoring
        self._exams = ExamLog(learner, scoring)
        self._partially_fitted = False

    def fit(
        self,
        rows: LabeledRows,
        fit_params: Mapping[str, Any],
        stop_signal: StopSignal | None = None,
        early_stopping: EarlyStoppingFit | None = None,
    ) -> None:
        """Fit the learner and record its warnings.

        The fit stops early at `stop_signal` if `early_stopping` knows how to stop this learner.
        """
        params = {**rows.row_params, **fit_params}
        with warnings.catch_warnings(record=True) as caught:
            start = time.monotonic()
            if stop_signal is None or early_stopping is None:
                self.model.fit(rows.X, rows.y, **params)
            else:
                stop_signal.begin_fit()
                early_stopping(self.model, rows.X, rows.y, stop_signal, params)
            self.seconds += time.monotonic() - start
        self.warnings = caught

    def partial_fit(self, rows: LabeledRows, batch: int, classes: Array | None) -> None:
        """Continue training by the learner's `partial_fit`, `batch` rows at a time.

        The first call passes `classes`, as scikit-learn asks.
        """
        first_params = {} if classes is None or self._partially_fitted else {"classes": classes}
        with warnings.catch_warnings(record=True) as caught:
            start = time.monotonic()
            for part in rows.split(batch):
                self.model.partial_fit(part.X, part.y, **part.row_params, **first_params)
                first_params = {}
            self.seconds += time.monotonic() - start
        self._partially_fitted = True
        self.warnings = caught
        self._exams = ExamLog(self.model, self._scoring)

    def examine(self, pieces: Iterable[LabeledRows], margins: bool = False) -> tuple[Mask, Margins | None]:
        """Predict rows and compare.

        Parameters
        ----------
        pieces : iterable of LabeledRows
            The rows, in pieces that fit into memory.
        margins : bool, default=False
            Whether to return margins; the model needs `predict_proba`.

        Returns
        -------
        tuple
            Which rows are wrong, and the margin between each row's two most probable classes or None.
        """
        answers = [(self._predict(piece, margins), piece.y) for piece in pieces]
        wrong = self._scoring.mistakes(
            np.concatenate([y for _, y in answers]), np.concatenate([predicted for (predicted, _), _ in answers])
        )
        margins_by_piece = [piece_margins for (_, piece_margins), _ in answers if piece_margins is not None]
        return wrong, np.concatenate(margins_by_piece) if margins_by_piece else None

    def answer(self, pieces: Iterable[LabeledRows], margins: bool = False) -> tuple[ExamPredictions, Margins | None]:
        """Predict rows for a process that scores the model; forget the answers here.

        Returns
        -------
        tuple
            What the score needs to know, without the model, and the margins or None; see `examine`.
        """
        self._exams = ExamLog(self.model, self._scoring)
        _, found_margins = self.examine(pieces, margins)
        return replace(self._exams.answers(), model=None), found_margins

    def add_answers(self, answers: ExamPredictions) -> None:
        """Count an exam that other processes held with the same model."""
        self._exams.extend(answers)

    def _predict(self, rows: LabeledRows, margins: bool) -> tuple[Array, Margins | None]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.monotonic()
            probabilities = np.asarray(self.model.predict_proba(rows.X)) if margins else None
            known = None
            if probabilities is not None and self._predicts_most_probable:
                known = self.model.classes_[probabilities.argmax(axis=1)]
            predicted = self._exams.predict(rows.X, rows.y, rows.weights, known)
            self._exams.note_clusters(rows.clusters)
            self.seconds += time.monotonic() - start
        return predicted, None if probabilities is None else _top_two_margins(probabilities)

    @property
    def _predicts_most_probable(self) -> bool:
        """Whether `predict` returns the most probable class, so that it need not be called beside `predict_proba`."""
        predict = getattr(type(self.model), "predict", None)
        origin = (getattr(predict, "__module__", "").split(".")[0], getattr(predict, "__qualname__", ""))
        return origin in _PREDICT_BY_PROBABILITY

    def score(self, selected: Mask, paired: bool = False) -> tuple[Estimate | None, Estimate | None, Influence | None]:
        """Return the score over all examined rows, over the selected ones among them, and no influence.

        For a paired comparison, return the score over the selected rows and its influence, and no overall score.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if paired:
                return None, *self._scoring.estimate_with_influence(self._exams, selected)
            overall = self._scoring.estimate(self._exams)
            return overall, overall if selected.all() else self._scoring.estimate(self._exams, selected), None


def _top_two_margins(probabilities: Array) -> Margins:
    """Return the gap between the two most probable classes; 1 where the model knows one class only."""
    if probabilities.shape[1] < 2:
        return np.ones(len(probabilities), dtype=np.float32)
    two = np.partition(probabilities, -2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0], dtype=np.float32)


def reissue_warnings(caught: list[warnings.WarningMessage]) -> None:
    """Warn again in this process about what a learner warned of during its fit."""
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
