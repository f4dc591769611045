"""The selector: which model is best."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fitwithin._core.candidate import Candidate
from fitwithin._core.preference import ScoredModel
from fitwithin._core.records import Answers, Estimate, Returns, Rows
from fitwithin._session.fit_state import FitState, ModelRecord
from fitwithin._session.open_round import OpenRound
from fitwithin.backends import SavedModel
from fitwithin.backends._inline import InlineModel


@dataclass(frozen=True, eq=False)
class KeptModel:
    """A saved model, and what is known about it.

    Parameters
    ----------
    model : SavedModel
        The model.
    record : ModelRecord
        Its rows and scores.
    validation : Answers or None, default=None
        The answers to its last exam on validation rows in this session, if it had any.
    candidate : Candidate or None, default=None
        In a search, the learner and its hyperparameters.
    oversampled : bool, default=False
        Whether misclassified rows were oversampled among its training rows.
    """

    model: SavedModel
    record: ModelRecord
    validation: Answers | None = None
    candidate: Candidate | None = None
    oversampled: bool = False


class ModelSelector:
    """Decide whether a new model replaces the best one, and hold the best one.

    Parameters
    ----------
    returns : {"best", "last"}
        Which model the teacher wants back.
    stored : KeptModel, optional
        The best model of an earlier fit. It stays unless a new one is at least as good: by its score, or without
        scores by its rows.
    stored_validation_rows : array of int, optional
        The validation rows of the earlier fit.

    Attributes
    ----------
    best : KeptModel or None
        The best model so far.
    former : KeptModel or None
        The best model before it, in case that the best one cannot be loaded.
    """

    def __init__(
        self, returns: Returns, stored: KeptModel | None = None, stored_validation_rows: Rows | None = None
    ) -> None:
        self._returns = returns
        self._stored = stored
        self._stored_validation_rows = stored_validation_rows
        self.best = stored
        self.former: KeptModel | None = None

    @property
    def accepts_every_model(self) -> bool:
        """Whether every new model replaces the one before, whatever its score."""
        return self._returns == "last"

    def accepts_unseen(self, n_rows: int) -> bool:
        """Whether a new model on this number of rows is saved before its exams: the first one, or any that is last."""
        if self.best is None:
            return True
        return self.accepts_every_model and (self._stored is None or n_rows >= self._stored.record.n_rows)

    def prefers(self, new: OpenRound, estimate: Estimate | None = None) -> bool:
        """Whether a new model replaces the best one.

        Parameters
        ----------
        new : OpenRound
            The round of the new model. If it has answers on validation rows, `ScoredModel` has the rule.
        estimate : Estimate, optional
            Without validation rows, its score over all exams. Its lower bound must be higher, as in the paper, unless
            it was trained on every row of the pool.
        """
        if self.accepts_every_model:
            return self.accepts_unseen(new.n_rows_trained)
        validation = new.validation
        score = estimate if validation is None else validation.score
        if score is not None and not _is_finite(score) and self.best is not None:
            # A metric that is not defined on the rows, or a model that predicts NaN.
            return False
        if validation is not None and score is not None and not self._beats_stored(validation, new.n_rows_trained):
            return False
        if validation is None and new.has_every_row:
            return True
        if score is None:
            return False
        best = self.best
        if best is None or not _is_finite(best.record.estimate) or (validation is not None and best is self._stored):
            return True
        if validation is None or best.validation is None:
            return best.record.estimate is None or score.low > best.record.estimate.low
        candidate = new.lesson.candidate
        challenger = ScoredModel(validation, new.n_rows_trained, candidate, extends=_extends(new, best))
        return challenger.is_preferred_to(ScoredModel(best.validation, best.record.n_rows, best.candidate))

    def _beats_stored(self, validation: Answers, n_rows: int) -> bool:
        """Whether a new model is at least as good as the stored one, if there is one."""
        stored, score = None if self._stored is None else self._stored.record, validation.score
        if stored is None or score is None or stored.estimate is None or not _is_finite(stored.estimate):
            return True
        if score.value >= stored.estimate.value:
            return True
        # On other rows the score of the smaller model may be luck.
        same_rows = np.array_equal(validation.rows, self._stored_validation_rows)  # type: ignore[arg-type]  # None is unequal
        return not same_rows and n_rows > stored.n_rows and score.high >= stored.estimate.low

    def holds(self, model: SavedModel | None) -> bool:
        """Whether this is the best model."""
        return self.best is not None and self.best.model is model

    def replace_best(self, model: KeptModel) -> None:
        """Make a model the best one, keep the one before, and discard the one before that."""
        discarded, self.former, self.best = self.former, self.best, model
        if discarded is not None:
            discarded.model.discard()

    def withdraw_best(self) -> None:
        """Make the model before the best one, which turned out to be unusable."""
        withdrawn, self.best, self.former = self.best, self.former, None
        if withdrawn is not None:
            withdrawn.model.discard()

    def update_best(
        self, estimate: Estimate | None, fresh_estimate: Estimate | None, validation: Answers | None = None
    ) -> None:
        """Set the scores of the best model, and its last answers on validation rows, after further exams."""
        if self.best is not None:
            record = replace(self.best.record, estimate=estimate, fresh_estimate=fresh_estimate)
            self.best = replace(self.best, record=record, validation=validation)

    def close(self) -> None:
        """Discard the models; one was loaded, or none is wanted."""
        for kept in (self.former, self.best):
            if kept is not None:
                kept.model.discard()


def find_stored_model(past: FitState) -> KeptModel | None:
    """Return the model of an earlier fit; None if it was not stored."""
    if past.model is None or past.model_record is None:
        return None
    return KeptModel(InlineModel(past.model), past.model_record)


def is_lower(estimate: Estimate | None, other: Estimate | None) -> bool:
    """Whether a score is lower than another one, or unknown.

    Examples
    --------
    >>> is_lower(Estimate(0.7, 0.6, 0.8), Estimate(0.75, 0.65, 0.85)), is_lower(None, None)
    (True, True)
    """
    return estimate is None or other is None or estimate.value < other.value


def _extends(new: OpenRound, best: KeptModel) -> bool:
    """Whether a model was trained on all rows of the best one and more, none of them oversampled."""
    if new.lesson.oversampled or best.oversampled or new.n_rows_trained <= best.record.n_rows:
        return False
    rows, others = new.trained_rows, best.record.rows
    if rows is None or others is None or np.array_equal(rows[: len(others)], others):
        return True
    return bool(np.isin(others, rows).all())


def _is_finite(estimate: Estimate | None) -> bool:
    return estimate is not None and math.isfinite(estimate.value)
