"""A vote of models that a search finished, selected by their predictions of the validation rows."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.frozen import FrozenEstimator

from fitwithin._core.budget import Budget
from fitwithin._core.records import Estimate, Rows
from fitwithin._core.target import Array
from fitwithin._pools.pool import LabeledRows
from fitwithin._pools.tables import take_rows
from fitwithin._session.inputs.fit_inputs import FitInputs
from fitwithin._session.result import SessionResult
from fitwithin._session.selection import LEAST_VOTE_SECONDS, KeptModel
from fitwithin.backends import FitSettings
from fitwithin.backends._exam_predictions import ExamPredictions, Responder
from fitwithin.backends._model_runner import ModelRunner

MAX_MEMBERS = 20
"""Models that are kept for a vote; more change little (Caruana et al., 2004)."""

_Voter = tuple[KeptModel, Any, Array]
"""A model that may vote, its estimator, and what that predicts for the validation rows."""


def make_vote(
    result: SessionResult, inputs: FitInputs, budget: Budget
) -> tuple[SessionResult, Counter[int | None]] | None:
    """Return a result with the best vote, and the weight of each candidate; None if no vote beats the best model.

    Models are added one by one, the same one perhaps several times, as long as the score on the validation rows rises
    (Caruana et al., *Ensemble Selection from Libraries of Models*, ICML 2004). Those for which there is no time are
    left out.
    """
    members, held_out, none = result.members.models, result.held_out, np.zeros(0, dtype=np.intp)
    rows, classes = held_out.get("validation", none), inputs.settings.classes
    if not len(rows) or len(members) < 2:
        return None
    validation = inputs.pool.read(rows)
    usable: list[_Voter] = []
    for member in sorted(members, key=lambda one: one.rank[1], reverse=True):
        if budget.until_deadline() < member.vote_seconds + LEAST_VOTE_SECONDS:
            break
        model = member.model.load()
        answers = _predict(model, validation.X, classes)
        if answers is None:
            message = f"Candidate {member.candidate_number} has no vote: it lacks a class, or predict_proba."
            warnings.warn(message, RuntimeWarning, stacklevel=2)
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
    n_rows = max(member.record.n_rows for (member, _, _), _ in voters)
    record = replace(result.record, n_rows=n_rows, rows=None, estimate=estimate, fresh_estimate=fresh_estimate)
    weights: Counter[int | None] = Counter()
    for (member, _, _), weight in voters:
        weights[member.candidate_number] += weight
    return replace(result, model=vote, record=record), weights


def _predict(model: Any, X: Any, classes: Array | None) -> Array | None:
    """Return probabilities or values; None for a model that cannot vote."""
    if classes is None:
        return np.asarray(model.predict(X)).ravel()
    if not hasattr(model, "predict_proba") or not np.array_equal(getattr(model, "classes_", None), classes):  # type: ignore[arg-type]  # None is unequal
        return None
    return np.asarray(model.predict_proba(X))


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
            if budget.until_deadline() < LEAST_VOTE_SECONDS:
                return chosen
            scores.append(_score((total + answers) / (chosen.total() + 1), inputs.settings, rows))
        place = int(np.argmax(scores)) if scores else 0
        if not scores or scores[place] <= best:
            break
        best, total = scores[place], total + usable[place][2]
        chosen[place] += 1
    return chosen


def _score(blend: Array, settings: FitSettings, rows: LabeledRows) -> float:
    """Return the score of probabilities or values, as of a model that predicts them."""
    classes, scoring = settings.classes, settings.scoring
    answers = {"predict": blend}
    if classes is not None:
        answers = {"predict": classes[np.argmax(blend, axis=1)], "predict_proba": blend}
    model = Responder(SimpleNamespace(**answers), classes, answers.__getitem__)
    y = None if scoring.is_accuracy else rows.y
    part = ExamPredictions(model, answers["predict"] == rows.y, y, answers, rows.weights, rows.X)
    try:
        return part.score(scoring)
    except AttributeError:
        # The user's metric asks a model for more than predictions, which no vote has.
        return -math.inf


def _build(voters: Sequence[tuple[_Voter, int]], rows: LabeledRows, classes: Array | None) -> Any:
    """Return scikit-learn's vote of models that are fitted."""
    named = [
        (f"candidate_{member.candidate_number}_{place}", FrozenEstimator(model))
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
    report = ModelRunner(vote, inputs.settings.scoring).examine([inputs.pool.read(rows)], "validation")
    return None if report.score is None else inputs.widen(report.score, rows, report.wrong)
