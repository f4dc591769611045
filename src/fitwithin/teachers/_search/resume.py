"""The candidates of a search as plain values, for a later call that resumes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fitwithin._core.cost import CostEstimates
from fitwithin._core.records import Estimate
from fitwithin.teachers._search.contender import Contender, Trial
from fitwithin.teachers._search.entrant import Entrant
from fitwithin.teachers._search.parameters import Choice
from fitwithin.teachers._search.space import Settings, Space

NOTE_CANDIDATES = "candidates"
"""All candidates."""

NOTE_BEST = "best candidate"
"""The number of the one whose model is the best."""


def store_contender(contender: Contender, space: Space | None) -> dict[str, Any]:
    """Return a candidate as values for JSON."""
    return {
        "learner": contender.learner,
        "settings": _encode(contender.settings, space),
        "failure": contender.failure,
        "n_steps": contender.n_steps,
        "cost": contender.costs.cost.observations(),
        "trials": [
            [trial.n_rows, trial.score.value, trial.score.low, trial.score.high, trial.seconds, trial.was_cut_short]
            for trial in contender.trials
        ],
    }


def restore_contenders(
    stored: Sequence[Mapping[str, Any]], entrants: Sequence[Entrant], costs: CostEstimates
) -> list[Contender]:
    """Return the candidates of an earlier call, and tell their trials to the suggesters."""
    contenders = []
    for number, values in enumerate(stored):
        entrant = entrants[values["learner"]]
        settings = _decode(values["settings"], entrant.space)
        contender = entrant.make_contender(number, settings or {}, costs)
        contender.failure, contender.n_steps = values["failure"], values["n_steps"]
        if settings is None:
            contender.failure = contender.failure or "its hyperparameters could not be stored"
        contender.costs.cost.restore(values["cost"])
        for n_rows, value, low, high, seconds, was_cut_short in values["trials"]:
            contender.trials.append(Trial(n_rows, Estimate(value, low, high), seconds, was_cut_short))
        contenders.append(contender)
    for n_rows in sorted({trial.n_rows for one in contenders for trial in one.trials}):
        for one in contenders:
            trial = one.find_trial(n_rows)
            if trial is not None:
                entrants[one.learner].tell(one, trial.score.value, trial.seconds, n_rows)
    for entrant in entrants:
        entrant.skip_starts(len(entrant.contenders) - entrant.tries_own)
    return contenders


def _encode(settings: Settings, space: Space | None) -> dict[str, Any] | None:
    """Return settings as values for JSON, a choice as its place in a list; None if that is not possible."""
    encoded: dict[str, Any] = {}
    for name, given in settings.items():
        parameter = None if space is None else space.parameters.get(name)
        value = given.item() if isinstance(given, np.generic) else given
        place = parameter.find(value) if isinstance(parameter, Choice) else None
        if place is None and not (value is None or isinstance(value, str | bool | int | float)):
            return None
        encoded[name] = value if place is None else [place]
    return encoded


def _decode(encoded: Mapping[str, Any] | None, space: Space | None) -> Settings | None:
    if encoded is None:
        return None
    parameters = {} if space is None else space.parameters
    return {
        name: parameters[name].values[value[0]] if isinstance(value, list) else value  # type: ignore[attr-defined]  # a place is of a choice
        for name, value in encoded.items()
    }
