"""The selector: which model is best."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fitwithin._core.candidate import Candidate
from fitwithin._core.preference import ScoredModel
from fitwithin._core.records import Estimate, Influence, Returns, Rows, difference_error
from fitwithin._session.fit_state import FitState, ModelRecord
from fitwithin._session.loaded_model import LoadedModel
from fitwithin.backends import SavedModel


@dataclass(frozen=True, eq=False)
class ValidationExam:
    """The exam that decided on a model.

    Parameters
    ----------
    rows : array of int
        Its rows.
    influence : array of float or None
        See `Answers.influence`.
    """

    rows: Rows
    influence: Influence | None

    def difference_error(self, other: ValidationExam) -> float | None:
        """Return the standard error of the difference between two models' scores; None if it is unknown."""
        if self.influence is None or other.influence is None or not np.array_equal(self.rows, other.rows):
            return None
        return difference_error(self.influence, other.influence)


@dataclass(frozen=True, eq=False)
class KeptModel:
    """A saved model, and what is known about it.

    Parameters
    ----------
    model : SavedModel
        The model.
    record : ModelRecord
        Its rows and scores.
    exam : ValidationExam or None, default=None
        Its last validation exam in this session, if it had any.
    candidate : Candidate or None, default=None
        In a search, the learner and its settings.
    """

    model: SavedModel
    record: ModelRecord
    exam: ValidationExam | None = None
    candidate: Candidate | None = None


class ModelSelector:
    """Decide whether a new model replaces the best one, and hold the best one.

    Parameters
    ----------
    returns : {"best", "last"}
        Which model the teacher wants back.
    stored : KeptModel, optional
        The best model of an earlier fit. It stays unless a new one is at least as good: by its score, or without
        scores by its rows.

    Attributes
    ----------
    best : KeptModel or None
        The best model so far.
    former : KeptModel or None
        The best model before it, in case that the best one cannot be loaded.
    """

    def __init__(self, returns: Returns, stored: KeptModel | None = None) -> None:
        self._returns = returns
        self._stored = stored
        self.best = stored
        self.former: KeptModel | None = None

    @property
    def accepts_every_model(self) -> bool:
        """Whether every new model replaces the one before, whatever its score."""
        return self._returns == "last"

    def accepts_unseen(self, n_rows: int) -> bool:
        """Whether a new model on this number of rows replaces the one before without an exam."""
        return self.accepts_every_model and (self._stored is None or n_rows >= self._stored.record.n_rows)

    def prefers(
        self,
        estimate: Estimate | None,
        *,
        validated: bool = False,
        exam: ValidationExam | None = None,
        has_every_row: bool = False,
        n_rows: int | None = None,
        same_rows: bool = True,
        candidate: Candidate | None = None,
    ) -> bool:
        """Whether a new model replaces the best one.

        Parameters
        ----------
        estimate : Estimate or None
            Its score; None if it was not examined.
        validated : bool, default=False
            Whether the score is by validation rows, the same for all models; `ScoredModel` then has the rule. Without
            validation rows its lower bound must be higher, as in the paper.
        exam : ValidationExam, optional
            The exam that the score is from, if it is by validation rows.
        has_every_row : bool, default=False
            Whether it was trained on every row of the pool, which needs no exam.
        n_rows : int, optional
            Rows that it was trained on; by default more than the best model.
        same_rows : bool, default=True
            Whether a stored model was examined on the same validation rows.
        candidate : Candidate, optional
            In a search, the learner and its settings.
        """
        if self.accepts_every_model:
            return n_rows is None or self.accepts_unseen(n_rows)
        best = None if self.best is None else self.best.record.estimate
        if estimate is not None and not _is_finite(estimate) and self.best is not None:
            # A metric that is not defined on the rows, or a model that predicts NaN.
            return False
        if validated and estimate is not None and not self._beats_stored(estimate, n_rows or 0, same_rows=same_rows):
            return False
        if has_every_row:
            return True
        if estimate is None:
            return False
        if self.best is None or best is None or not _is_finite(best):
            return True
        if validated and self.best is self._stored:
            # It was compared above.
            return True
        if not validated:
            return estimate.low > best.low
        error = _paired_error(exam, self.best.exam)
        n_best = self.best.record.n_rows
        new = ScoredModel(estimate, n_best + 1 if n_rows is None else n_rows, candidate)
        return new.is_preferred_to(ScoredModel(best, n_best, self.best.candidate), error)

    def _beats_stored(self, estimate: Estimate, n_rows: int, *, same_rows: bool) -> bool:
        """Whether a new model is at least as good as the stored one, if there is one."""
        stored = None if self._stored is None else self._stored.record
        if stored is None or stored.estimate is None or not _is_finite(stored.estimate):
            return True
        if estimate.value >= stored.estimate.value:
            return True
        # On other rows the score of the smaller model may be luck.
        return not same_rows and n_rows > stored.n_rows and estimate.high >= stored.estimate.low

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
        self, estimate: Estimate | None, fresh_estimate: Estimate | None, exam: ValidationExam | None = None
    ) -> None:
        """Set the scores of the best model, and its last validation exam, after further exams."""
        if self.best is not None:
            record = replace(self.best.record, estimate=estimate, fresh_estimate=fresh_estimate)
            self.best = replace(self.best, record=record, exam=exam)

    def close(self) -> None:
        """Discard the models; one was loaded, or none is wanted."""
        for kept in (self.former, self.best):
            if kept is not None:
                kept.model.discard()


def find_stored_model(past: FitState) -> KeptModel | None:
    """Return the model of an earlier fit; None if it was not stored."""
    if past.model is None or past.model_record is None:
        return None
    return KeptModel(LoadedModel(past.model), past.model_record)


def is_lower(estimate: Estimate | None, other: Estimate | None) -> bool:
    """Whether a score is lower than another one, or unknown.

    Examples
    --------
    >>> is_lower(Estimate(0.7, 0.6, 0.8), Estimate(0.75, 0.65, 0.85)), is_lower(None, None)
    (True, True)
    """
    return estimate is None or other is None or estimate.value < other.value


def _is_finite(estimate: Estimate | None) -> bool:
    return estimate is not None and math.isfinite(estimate.value)


def _paired_error(exam: ValidationExam | None, other: ValidationExam | None) -> float | None:
    return None if exam is None or other is None else exam.difference_error(other)
