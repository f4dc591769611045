"""The selector: which model is best."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TypeGuard

import numpy as np

from fitwithin._core.exceptions import ScoringFailed
from fitwithin._core.preference import Candidate, ScoredModel
from fitwithin._core.records import Answers, Estimate, Returns, Rows
from fitwithin._session.fit_state import FitState, ModelRecord
from fitwithin._session.round_tracker import OpenRound
from fitwithin.backends import SavedModel
from fitwithin.backends._inline import InlineModel
from fitwithin.backends._scoring import NO_WEIGHTS

# Least rows of an exam whose undefined score is told about: exams of small tables have a few rows, often of one class.
_MIN_TOLD_ROWS = 20
LEAST_VOTE_SECONDS = 0.1  # to select the members of a vote
_MAX_VOTE_BYTES = 2 << 30  # of all models that may vote
_MAX_VOTE_SHARE = 0.2  # of the time limit, that is reserved for the vote
_EXAMS_OF_VOTER = 3.0  # on validation rows, on holdout rows, and one for the selection


@dataclass(frozen=True, eq=False)
class KeptModel:
    """A saved model, and what is known about it."""

    model: SavedModel
    record: ModelRecord
    validation: Answers | None = None  # to its last exam on validation rows in this session
    candidate: Candidate | None = None
    oversampled: bool = False
    row_seconds: float = 0.0  # of a prediction; 0 if unknown

    @classmethod
    def of_round(cls, new: OpenRound, model: SavedModel) -> KeptModel:
        """Return the model of the round under way."""
        record = ModelRecord(
            number=new.number,
            n_rows=new.n_rows_trained,
            rows=new.trained_rows,
            class_counts=new.class_counts,
            estimate=new.estimate,
            fresh_estimate=new.fresh_estimate,
            fit_seconds=new.fit.fit_seconds,
            was_cut_short=new.fit.was_cut_short,
        )
        return cls(model, record, new.validation, new.lesson.candidate, new.lesson.oversampled, new.row_seconds)

    @property
    def candidate_number(self) -> int | None:
        """The number of its candidate, if it has one."""
        return None if self.candidate is None else self.candidate.number

    @property
    def rank(self) -> tuple[int, float]:
        """Its rows and its score, by which the models that may vote are sorted."""
        return self.record.n_rows, -math.inf if self.record.estimate is None else self.record.estimate.value

    @property
    def vote_seconds(self) -> float:
        """Seconds to load it and to predict with it for a vote."""
        n_rows = 0 if self.validation is None else len(self.validation.rows)
        return self.model.load_seconds + _EXAMS_OF_VOTER * self.row_seconds * n_rows


@dataclass
class VoteMembers:
    """The models that may vote: the best ones of the two largest subsets, if there is time and room for them."""

    most: int = 0
    time_limit: float = 0.0
    models: list[KeptModel] = field(default_factory=list)

    def wants(self, new: OpenRound) -> bool:
        """Whether a new model would be one of them."""
        score, n_rows, lesson = new.estimate, new.n_rows_trained, new.lesson
        if not self.most or new.validation is None or lesson.candidate is None or lesson.refit:
            return False
        if not is_finite(score) or n_rows < min(self._list_sizes(n_rows)):
            return False
        return len(self.models) < self.most or (n_rows, score.value) > min(one.rank for one in self.models)

    def _list_sizes(self, n_rows: int) -> list[int]:
        return sorted({n_rows, *(one.record.n_rows for one in self.models)})[-2:]

    def add(self, new: KeptModel) -> list[KeptModel]:
        """Add a model; return those that are dropped, which may be the new one."""
        sizes = self._list_sizes(new.record.n_rows)
        ranked = sorted([*self.models, new], key=lambda one: one.rank, reverse=True)
        n_bytes, seconds, n_kept = 0, 0.0, 0
        for one in ranked[: self.most]:
            n_bytes, seconds = n_bytes + (one.model.n_bytes or 0), seconds + one.vote_seconds
            has_room = n_bytes <= _MAX_VOTE_BYTES and seconds <= _MAX_VOTE_SHARE * self.time_limit
            if one.record.n_rows not in sizes or not has_room:
                break
            n_kept += 1
        self.models = ranked[:n_kept]
        return ranked[n_kept:]

    def close(self) -> None:
        """Discard the models."""
        for one in self.models:
            one.model.discard()
        self.models = []


@dataclass(eq=False)
class ModelSelector:
    """Decide whether a new model replaces the best one, and hold the best one."""

    returns: Returns
    past: FitState | None = None  # its model stays unless a new one is at least as good
    is_scoring_proven: bool = True
    members: VoteMembers = field(default_factory=VoteMembers)
    max_row_seconds: float = math.inf  # that a prediction takes, unless all models are slower

    def __post_init__(self) -> None:
        self.accepts_every_model = self.returns == "last"  # whatever its score
        self.stored: KeptModel | None = None
        if self.past is not None and self.past.model is not None and self.past.model_record is not None:
            self.stored = KeptModel(InlineModel(self.past.model), self.past.model_record)
        self.best = self.stored
        self.former: KeptModel | None = None  # the one before it, in case that the best one cannot be loaded
        # The rows of the model with the most rows, whether its score was undefined, and why.
        self._problem: tuple[int, bool, str] = 0, False, ""

    @property
    def record(self) -> ModelRecord | None:
        """The rows and scores of the best model."""
        return None if self.best is None else self.best.record

    def note_problem(self, n_rows: int, n_examined: int, score: Estimate | None, problem: str | None) -> None:
        """Note why a score of a model is unknown, if it is; raise for a metric that has not worked for any model."""
        self.is_scoring_proven |= problem is None and is_finite(score)
        if problem is None:
            return
        is_scored = score is not None and problem != NO_WEIGHTS
        if is_scored and not is_finite(score) and not self.is_scoring_proven:
            raise ScoringFailed(
                f"scoring failed for the predictions of a model: {problem}.",
                "Pass a metric that returns a finite number for the rows of this target.",
            )
        if n_examined >= _MIN_TOLD_ROWS:
            self._problem = max(self._problem, (n_rows, not is_finite(score), problem))

    def describe_problem(self) -> str | None:
        """Return what became of scores that are unknown; None if that made no difference to the best model."""
        (n_rows, is_undefined, problem), record = self._problem, self.record
        if not problem or record is None:
            return None
        advice = "Leave out the rows with a sample_weight of 0." if problem == NO_WEIGHTS else None
        if is_undefined and not is_finite(record.estimate):
            advice = advice or "Choose validation rows that hold every class, or pass another metric."
            return (
                f"scoring is undefined on the rows that models were scored on: {problem}. No model could be compared, "
                f"so the one with the most rows is returned. {advice}"
            )
        if record.fresh_estimate is None:
            return f"score_estimate_ is None: {problem}. {advice or 'Give more rows of each class for an estimate.'}"
        if n_rows < record.n_rows:
            return None
        return f"scoring was undefined for a model of {n_rows:,} rows, which could not become the best: {problem}."

    def make_comparable(self, answers: Answers) -> Answers:
        """Return answers as a teacher gets them: as long as no score is defined, all models are as good."""
        score = answers.score
        if score is None or is_finite(score) or (self.record is not None and is_finite(self.record.estimate)):
            return answers
        return replace(answers, score=Estimate(0.0, -math.inf, math.inf))

    def accepts_unseen(self, new: OpenRound) -> bool:
        """Whether a new model is saved before its exams: the first one, or any that is last."""
        if self.best is None:
            return True
        return self.accepts_every_model and (self.stored is None or new.n_rows_trained >= self.stored.record.n_rows)

    def prefers(self, new: OpenRound) -> bool:
        """Whether a new model replaces the best one; for answers on validation rows, `ScoredModel` has the rule.

        Without them, the lower bound of the estimate must be higher, as in the paper, or the model has every row.
        """
        best, validation = self.best, new.validation
        if self.accepts_every_model:
            return self.accepts_unseen(new)
        if best is not None and max(new.row_seconds, best.row_seconds) > self.max_row_seconds:
            return new.row_seconds < best.row_seconds
        score = validation.score if validation is not None else new.estimate if new.is_comparable else None
        is_known = _has_interval if validation is None else is_finite
        if score is not None and not is_known(score) and best is not None:
            # A metric that is not defined on the rows, or a model that predicts NaN.
            return not is_known(best.record.estimate) and new.n_rows_trained > best.record.n_rows
        if score is None or (validation is None and new.has_every_row):
            return new.has_every_row
        if validation is not None and not self._beats_stored(validation, score, new.n_rows_trained):
            return False
        if best is None or not is_finite(best.record.estimate) or (validation is not None and best is self.stored):
            return True
        if validation is None or best.validation is None:
            return score.low > best.record.estimate.low
        candidate = new.lesson.candidate
        one, other = (new.trained_rows, new.n_rows_trained), (best.record.rows, best.record.n_rows)
        are_plain = not (new.lesson.oversampled or best.oversampled)
        challenger = ScoredModel(validation, one[1], candidate, extends=are_plain and _extends(*one, *other))
        holder = ScoredModel(best.validation, other[1], best.candidate, extends=are_plain and _extends(*other, *one))
        return challenger.is_preferred_to(holder)

    def _beats_stored(self, validation: Answers, score: Estimate, n_rows: int) -> bool:
        if self.past is None or self.stored is None:
            return True
        stored = self.stored.record
        if not is_finite(stored.estimate) or score.value >= stored.estimate.value:
            return True
        # On other rows the score of the smaller model may be luck.
        same_rows = np.array_equal(validation.rows, self.past.validation_rows)
        return not same_rows and n_rows > stored.n_rows and score.high >= stored.estimate.low

    def holds(self, model: SavedModel | None) -> bool:
        """Whether this is the best model."""
        return self.best is not None and self.best.model is model

    def replace_best(self, model: KeptModel) -> None:
        """Make a model the best one, keep the one before, and discard the one before that."""
        dropped, self.former, self.best = self.former, self.best, model
        self._discard_unused(dropped)

    def _discard_unused(self, *dropped: KeptModel | None) -> None:
        used = [one.model for one in (self.best, self.former, *self.members.models) if one is not None]
        for one in dropped:
            if one is not None and all(one.model is not model for model in used):
                one.model.discard()

    def keep_for_vote(self, new: KeptModel) -> float:
        """Keep a model for a vote, discard those that have no place any more; return the seconds that a vote needs."""
        self._discard_unused(*self.members.add(new))
        voters = self.members.models
        return LEAST_VOTE_SECONDS + sum(one.vote_seconds for one in voters) if voters else 0.0

    def withdraw_best(self) -> None:
        """Make the model before the best one, which turned out to be unusable."""
        dropped, self.best, self.former = self.best, self.former, None
        self._discard_unused(dropped)

    def update_best(self, new: OpenRound) -> None:
        """Set the scores of a model, and its last answers on validation rows, if it is the best one."""
        if new.saved is not None and self.holds(new.saved):
            self.best = KeptModel.of_round(new, new.saved)

    def close(self) -> None:
        """Discard the models; one was loaded, or none is wanted."""
        for kept in (self.former, self.best):
            if kept is not None and all(kept.model is not member.model for member in self.members.models):
                kept.model.discard()


def _extends(rows: Rows | None, n_rows: int, others: Rows | None, n_others: int) -> bool:
    """Whether a plain subset holds another one and more rows; unless their rows are unknown, they are compared."""
    if n_rows <= n_others:
        return False
    if rows is None or others is None or np.array_equal(rows[: len(others)], others):
        return True
    return bool(np.isin(others, rows).all())


def is_finite(estimate: Estimate | None) -> TypeGuard[Estimate]:
    """Whether there is a score that is defined."""
    return estimate is not None and math.isfinite(estimate.value)


def _has_interval(estimate: Estimate | None) -> bool:
    return estimate is not None and math.isfinite(estimate.low)
