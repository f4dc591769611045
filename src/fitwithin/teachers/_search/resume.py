"""The candidates of a search as plain values, for a later call that resumes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

from fitwithin._core.cost import CostEstimates
from fitwithin._core.records import Estimate
from fitwithin.teachers._search.contender import Contender, Trial
from fitwithin.teachers._search.race import Race
from fitwithin.teachers._search.space import Choice, Parameter, Settings, to_python

# Notes of the deck: all candidates, and the number of the one whose model is the best.
_CANDIDATES = "candidates"
_BEST = "best candidate"


def store_contender(race: Race, contender: Contender) -> None:
    """Note a candidate, as values for JSON, for a later call that resumes this one."""
    notes, number = race.shares.deck.notes, contender.number
    stored = notes.get(_CANDIDATES, [])
    values = {
        "learner": contender.learner,
        "settings": _encode(contender.settings, race.entrants[contender.learner].space.parameters),
        "failure": contender.failure,
        "n_steps": contender.n_steps,
        "cost": contender.costs.cost.observations(),
        "trials": [[n, *astuple(one.score)[:3], one.was_cut_short] for n, one in contender.trials.items()],
    }
    # A new list, since another thread may write the one before.
    notes[_CANDIDATES] = [*stored[:number], values, *stored[number + 1 :]]
    notes[_BEST] = None if race.in_hand is None else race.in_hand.number


def restore_contenders(race: Race, notes: Mapping[str, Any], costs: CostEstimates) -> Contender | None:
    """Take over the candidates of an earlier call; return the one that was the best."""
    for number, values in enumerate(notes.get(_CANDIDATES, [])):
        entrant = race.entrants[values["learner"]]
        contender = entrant.make_contender(number, _decode(values["settings"] or {}, entrant.space.parameters), costs)
        contender.failure, contender.n_steps = values["failure"], values["n_steps"]
        if values["settings"] is None:
            contender.failure = contender.failure or "its hyperparameters could not be stored"
        contender.costs.cost.restore(values["cost"])
        # Version 0.3.0 stored the seconds of a trial too.
        for n_rows, value, low, high, *_, was_cut_short in values["trials"]:
            contender.trials[n_rows] = Trial(Estimate(value, low, high), was_cut_short)
        race.contenders.append(contender)
    for entrant in race.entrants:
        del entrant.starts[: len(entrant.contenders) - entrant.tries_own]
    best = notes.get(_BEST)
    return None if best is None else race.contenders[best]


def _encode(settings: Settings, parameters: Mapping[str, Parameter]) -> dict[str, Any] | None:
    """Return settings as values for JSON, a choice as its place in a list; None if that is not possible."""
    encoded: dict[str, Any] = {}
    for name, given in settings.items():
        parameter, value = parameters.get(name), to_python(given)
        place = parameter.find(value) if isinstance(parameter, Choice) else None
        if place is None and not (value is None or isinstance(value, str | bool | int | float)):
            return None
        encoded[name] = value if place is None else [place]
    return encoded


def _decode(encoded: Mapping[str, Any], parameters: Mapping[str, Any]) -> Settings:
    return {
        name: parameters[name].values[value[0]] if isinstance(value, list) else value for name, value in encoded.items()
    }
