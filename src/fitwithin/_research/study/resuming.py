"""Whether a study goes on with the settings that it was begun with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fitwithin._core.exceptions import FitwithinError
from fitwithin._research.study.plan import Plan
from fitwithin._research.study.results import Line, Results

# Whatever else changes only adds to what is there, or decides anew what is dropped.
_SETTINGS = {"scale": "--scale", "seconds": "--seconds", "test_rows": "--test-rows"}


_DATA = {
    "source": "source",
    "train_rows": "training rows",
    "test_rows": "test rows",
    "columns": "columns",
    "classes": "classes",
    "fingerprint": "fingerprint",
}


class OtherSettings(FitwithinError, ValueError):
    """A folder holds the results of another study; the message says what differs, and what to do."""


def check_settings(plan: Plan, results: Results) -> None:
    """Refuse to add to results that were measured with other settings.

    Raises
    ------
    OtherSettings
        If scale, seconds or test rows are not those of the last start, and something was measured since.
    """
    starts = results.of_kind("start")
    if starts and (results.of_kind("run") or results.of_kind("size")):
        _check("The study", _SETTINGS, starts[-1].get("plan", {}), plan.as_line(), results)


def check_data(line: Line, results: Results) -> None:
    """Refuse to add to results that were measured on another data set of that name.

    Parameters
    ----------
    line : mapping
        What would be written about the data set now.
    results : Results
        With what was written about it before.

    Raises
    ------
    OtherSettings
        If sizes or source differ, and something was measured on it.
    """
    dataset = line["dataset"]
    known = results.of_kind("data", dataset=dataset)
    if known and (results.of_kind("run", dataset=dataset) or results.of_kind("size", dataset=dataset)):
        _check(dataset, _DATA, known[-1], line, results)


def _check(what: str, names: Mapping[str, str], then: Line, now: Line, results: Results) -> None:
    differing = [
        f"{words} {_shown(then[name])} then and {_shown(now[name])} now"
        for name, words in names.items()
        if name in then and name in now and _plain(then[name]) != _plain(now[name])
    ]
    if differing:
        raise OtherSettings(
            f"{what} was begun differently in {results.file}: {'; '.join(differing)}."
            " Use another --out, or the same settings."
        )


def _plain(value: Any) -> Any:
    """Without what is only remarked about a source."""
    return value.partition(";")[0] if isinstance(value, str) else value


def _shown(value: Any) -> str:
    return "none" if value is None else str(_plain(value))
