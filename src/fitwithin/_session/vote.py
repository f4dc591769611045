"""A vote of models that a search finished, selected by their predictions of the validation rows."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.frozen import FrozenEstimator

from fitwithin._core.budget import Budget
from fitwithin._core.records import Estimate, Rows
from fitwithin._core.target import Array
from fitwithin._pools.pool import LabeledRows
from fitwithin._pools.tables import take_rows
from fitwithin.backends import FitSettings, SavedModel
from fitwithin.backends._exam_log import ExamLog

if TYPE_CHECKING:
    from fitwithin._session.inputs.fit_inputs import FitInputs
    from fitwithin._session.result import SessionResult

MAX_MEMBERS = 20
"""Models that are kept for a vote; more change little (Caruana et al., 2004)."""

_MAX_BYTES = 2 << 30
_MAX_RESERVED_SHARE = 0.2  # of the time limit, for loading the members and their predictions
_EXAMS_OF_MEMBER = 3.0  # on validation rows, on holdout rows, and one for the selection
_LEAST_SECONDS = 0.1  # for the selection


@dataclass(frozen=True, eq=False)
class VoteMember:
    """A model that may vote.

    Parameters
    ----------
    candidate : int
        The number of its candidate.
    n_rows : int
        Rows that it was trained on.
    score : float
        Its score on validation rows.
    exam_seconds, row_seconds : float
        Seconds of its exams, and of the prediction of a row.
    model : SavedModel
        The model.
    """

    candidate: int
    n_rows: int
    score: float
    exam_seconds: float
    row_seconds: float
    model: SavedModel

    @property
    def seconds(self) -> float:
        """Seconds to load it and to predict with it."""
        return self.model.load_seconds + _EXAMS_OF_MEMBER * self.exam_seconds


_Voter = tuple[VoteMember, Any, Array]
"""A model that may vote, its estimator, and what that predicts for the validation rows."""


@dataclass
class VoteMembers:
    """The best models of the two largest subsets, as long as there is time and room for them.

    Parameters
    ----------
    most : int
        Most models.
    time_limit : float
        Seconds of the whole fit.
    members : list of VoteMember
        The models.
    """

    most: int
    time_limit: float
    members: list[VoteMember] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Seconds before the deadline that the vote needs."""
        return _LEAST_SECONDS + sum(member.seconds for member in self.members) if self.members else 0.0

    def holds(self, model: SavedModel) -> bool:
        """Whether a model is one of them."""
        return any(member.model is model for member in self.members)

    def wants(self, n_rows: int, score: float) -> bool:
        """Whether a model would be one of them."""
        if not math.isfinite(score) or n_rows < min(self._list_sizes(n_rows)):
            return False
        return len(self.members) < self.most or (n_rows, score) > min((one.n_rows, one.score) for one in self.members)

    def _list_sizes(self, n_rows: int) -> list[int]:
        return sorted({n_rows, *(member.n_rows for member in self.members)})[-2:]

    def add(self, new: VoteMember) -> list[SavedModel]:
        """Add a model; return those that are dropped, which may be the new one."""
        sizes = self._list_sizes(new.n_rows)
        ranked = sorted([*self.members, new], key=lambda one: (one.n_rows, one.score), reverse=True)
        kept: list[VoteMember] = []
        n_bytes, seconds = 0, 0.0
        for one in ranked:
            n_bytes, seconds = n_bytes + (one.model.n_bytes or 0), seconds + one.seconds
            if one.n_rows not in sizes or len(kept) >= self.most or n_bytes > _MAX_BYTES:
                break
            if seconds > _MAX_RESERVED_SHARE * self.time_limit:
                break
            kept.append(one)
        self.members = kept
        return [one.model for one in ranked if one not in kept]

    def close(self) -> None:
        """Discard the models."""
        for member in self.members:
            member.model.discard()
        self.members = []


def make_vote(result: SessionResult, inputs: FitInputs, budget: Budget) -> tuple[SessionResult, Counter[int]] | None:
    """Return a result with the best vote, and the weight of each candidate; None if no vote beats the best model.

    Models are added one by one, the same one perhaps several times, as long as the score on the validation rows rises
    (Caruana et al., *Ensemble Selection from Libraries of Models*, ICML 2004).

    Parameters
    ----------
    result : SessionResult
        The best model, the models that may vote, and the validation and holdout rows.
    inputs : FitInputs
        The rows, the metric, and the seconds that the members may take together to predict a row.
    budget : Budget
        The time limit; members for which there is no time are left out.
    """
    members = [] if result.members is None else result.members.members
    held_out, none = result.held_out, np.zeros(0, dtype=np.intp)
    rows, classes = held_out.get("validation", none), inputs.settings.classes
    if not len(rows) or len(members) < 2:
        return None
    validation = inputs.pool.read(rows)
    usable: list[_Voter] = []
    for member in sorted(members, key=lambda one: one.score, reverse=True):
        if budget.until_deadline() < member.seconds + _LEAST_SECONDS:
            break
        model = member.model.load()
        answers = _predict(model, validation.X, classes)
        if answers is None:
            warnings.warn(
                f"Candidate {member.candidate} has no vote: it lacks a class, or predict_proba.",
                RuntimeWarning,
                stacklevel=2,
            )
        else:
            usable.append((member, model, answers))
    chosen = _select(usable, inputs, validation, budget)
    if len(chosen) < 2:
        return None
    voters = [(usable[place], weight) for place, weight in sorted(chosen.items())]
    vote, best = _build(voters, validation, classes), result.record.estimate
    estimate = _estimate(vote, inputs, rows)
    if best is not None and estimate is not None and estimate.value <= best.value:
        return None
    fresh_estimate = _estimate(vote, inputs, held_out.get("holdout", none))
    n_rows = max(member.n_rows for (member, _, _), _ in voters)
    record = replace(result.record, n_rows=n_rows, rows=None, estimate=estimate, fresh_estimate=fresh_estimate)
    weights: Counter[int] = Counter()
    for (member, _, _), weight in voters:
        weights[member.candidate] += weight
    return replace(result, model=vote, record=record), weights


def _predict(model: Any, X: Any, classes: Array | None) -> Array | None:
    """Return probabilities or values; None for a model that cannot vote."""
    if classes is None:
        values: Array = np.asarray(model.predict(X)).ravel()
        return values
    if not hasattr(model, "predict_proba") or not np.array_equal(getattr(model, "classes_", None), classes):  # type: ignore[arg-type]  # None is unequal
        return None
    probabilities: Array = np.asarray(model.predict_proba(X))
    return probabilities


def _select(usable: Sequence[_Voter], inputs: FitInputs, rows: LabeledRows, budget: Budget) -> Counter[int]:
    """Return how often each model votes."""
    chosen: Counter[int] = Counter()
    total, best = np.zeros(()), -math.inf
    while chosen.total() < MAX_MEMBERS:
        scores = []
        for place, (_, _, answers) in enumerate(usable):
            if sum(usable[voter][0].row_seconds for voter in {place, *chosen}) > inputs.max_row_seconds:
                scores.append(-math.inf)
                continue
            if budget.until_deadline() < _LEAST_SECONDS:
                return chosen
            scores.append(_score((total + answers) / (chosen.total() + 1), inputs.settings, rows))
        place = int(np.argmax(scores)) if scores else 0
        if not scores or scores[place] <= best:
            break
        best, total = scores[place], total + usable[place][2]
        chosen[place] += 1
    return chosen


def _score(blend: Array, settings: FitSettings, rows: LabeledRows) -> float:
    classes = settings.classes
    if settings.scoring.is_accuracy and classes is not None:
        correct = classes[np.argmax(blend, axis=1)] == rows.y
        return float(np.average(correct, weights=rows.weights))
    model = _BlendedRegressor(blend) if classes is None else _BlendedClassifier(blend, classes)
    weights = {} if rows.weights is None else {"sample_weight": rows.weights}
    return float(settings.scoring.scorer(model, rows.X, rows.y, **weights))


class _BlendedRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A regressor whose values are known."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def predict(self, X: Any) -> Array:
        return self.values


class _BlendedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier whose probabilities are known."""

    def __init__(self, probabilities: Array, classes: Array) -> None:
        self.probabilities = probabilities
        self.classes_ = classes

    def predict(self, X: Any) -> Array:
        labels: Array = self.classes_[np.argmax(self.probabilities, axis=1)]
        return labels

    def predict_proba(self, X: Any) -> Array:
        return self.probabilities


def _build(voters: Sequence[tuple[_Voter, int]], rows: LabeledRows, classes: Array | None) -> Any:
    """Return scikit-learn's vote of models that are fitted."""
    named = [
        (f"candidate_{member.candidate}_{place}", FrozenEstimator(model))
        for place, ((member, model, _), _) in enumerate(voters)
    ]
    weights = [weight for _, weight in voters]
    if classes is None:
        return VotingRegressor(named, weights=weights).fit(rows.X, rows.y)
    # It wants a row of each class, and passes them on to models that are frozen.
    rows_by_class = take_rows(rows.X, np.arange(len(classes)) % len(rows))
    return VotingClassifier(named, voting="soft", weights=weights).fit(rows_by_class, classes)


def _estimate(vote: Any, inputs: FitInputs, rows: Rows) -> Estimate | None:
    if not len(rows):
        return None
    part, log = inputs.pool.read(rows), ExamLog(vote, inputs.settings.scoring)
    log.predict(part.X, part.y, part.weights)
    return inputs.settings.scoring.estimate(log)
