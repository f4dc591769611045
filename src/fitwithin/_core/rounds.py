"""Records of the rounds of a fit: for users, and for a later fit that resumes this one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fitwithin._core.records import Estimate, Rows


@dataclass(frozen=True)
class Round:
    """A record of one fit of the learner and of the predictions of its model, as in `history_`.

    Parameters
    ----------
    number : int
        1 for the first round.
    rows : int
        Training rows of this fit. If it continues with the model before it (`partial_fit`), the rows of this fit alone.
    new_rows : int
        Training rows that no earlier fit used.
    new_mistakes : int
        New training rows that the model before this one got wrong.
    examined : int
        Rows that this model predicted, to compare with the true labels or values.
    fresh : int
        Examined rows that no model was trained on or predicted before. Validation rows never count as fresh; holdout
        rows always do.
    seconds_handover, seconds_fit, seconds_exam, seconds_model, seconds_choose : float
        Seconds of bringing rows to the learner, of training, of predicting, of saving the model, and of choosing rows.
    predicted_fit : float or None
        The expected `seconds_fit`; None in the first round.
    estimate, low, high : float or None
        The score over the examined rows and its 95 % interval; accuracy or R2 unless `scoring` says otherwise. None if
        no rows were examined, or if the metric is undefined on them.
    best : bool
        Whether this model became the best so far.
    elapsed : float
        Seconds from the start of `fit` until the model became the best, or until the round ended.
    validation_rows : int, default=0
        Validation rows among the examined ones; if there are any, `estimate` comes from them alone.
    peak_memory : int or None, default=None
        Most bytes that the learner's process and its children took, without the rows that they share with this
        process; None if unknown.
    seconds_setup, predicted_setup : float or None, default=None
        The part of `seconds_fit` before the first step, such as binning, and its expected seconds; None if unknown.
    predicted_estimate : float or None, default=None
        The expected `estimate`; None if there was no expectation.
    candidate : int or None, default=None
        In a search, the place of the candidate in `cv_results_`.
    """

    number: int
    rows: int
    new_rows: int
    new_mistakes: int
    examined: int
    fresh: int
    seconds_handover: float
    seconds_fit: float
    seconds_exam: float
    seconds_model: float
    seconds_choose: float
    predicted_fit: float | None
    estimate: float | None
    low: float | None
    high: float | None
    best: bool
    elapsed: float
    validation_rows: int = 0
    peak_memory: int | None = None
    seconds_setup: float | None = None
    predicted_setup: float | None = None
    predicted_estimate: float | None = None
    candidate: int | None = None

    @property
    def is_biased(self) -> bool:
        """Whether `estimate` is too high: some rows were predicted before, and mistakes among them were trained on."""
        return self.validation_rows == 0 and self.fresh < self.examined


@dataclass(frozen=True, eq=False)
class ResumePoint:
    """Where an earlier fit on the same rows ended, for a teacher that can resume there.

    There is no model to examine yet: the teacher's first request must be a `Lesson`.

    Parameters
    ----------
    lesson : array of int
        Rows of the best model.
    validation_rows, holdout_rows : array of int
        Rows of the last exams for these purposes; may be empty.
    score : Estimate or None
        The best model's score.
    was_cut_short : bool
        Whether its fit was stopped early.
    notes : dict
        The teacher's own notes; see `Deck.notes`.
    has_model : bool
        Whether the best model is stored.
    """

    lesson: Rows
    validation_rows: Rows
    holdout_rows: Rows
    score: Estimate | None = None
    was_cut_short: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)
    has_model: bool = True


OnRound = Callable[[Round], Any]
"""A user's callback; returning True stops the fit and keeps the best model."""
