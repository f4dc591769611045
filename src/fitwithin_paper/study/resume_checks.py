"""Checks that a resumed study has the settings and data sets of its first start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fitwithin import FitwithinError
from fitwithin_paper.study.plan import StudyList
from fitwithin_paper.study.result_log import ResultLine, ResultLog

# Every other setting only adds runs, or decides anew which pairs are dropped.
_FIXED_SETTINGS = {"scale": "--scale", "seconds": "--seconds", "test_rows": "--test-rows"}


_DATASET_FIELDS = {
    "source": "source",
    "train_rows": "training rows",
    "test_rows": "test rows",
    "columns": "columns",
    "classes": "classes",
    "fingerprint": "fingerprint",
}


class SettingsMismatch(FitwithinError, ValueError):
    """The folder holds results of another study; the message says what differs and what to do."""


def check_plan(plan: StudyList, results: ResultLog) -> None:
    """Refuse to add to results that were measured with other settings.

    Raises
    ------
    SettingsMismatch
        If scale, seconds or test rows differ from the last start, and results were measured since.
    """
    starts = results.find_lines("start")
    if starts and (results.find_lines("run") or results.find_lines("size")):
        _raise_if_different("The study", _FIXED_SETTINGS, starts[-1].get("plan", {}), plan.to_line(), results)


def check_dataset(line: ResultLine, results: ResultLog) -> None:
    """Refuse to add to results that were measured on another data set of the same name.

    Parameters
    ----------
    line : mapping
        Line about the data set as it is now.
    results : ResultLog
        Log with the earlier line about it.

    Raises
    ------
    SettingsMismatch
        If size or source differ, and results were measured on the data set.
    """
    dataset = line["dataset"]
    known = results.find_lines("data", dataset=dataset)
    if known and (results.find_lines("run", dataset=dataset) or results.find_lines("size", dataset=dataset)):
        _raise_if_different(dataset, _DATASET_FIELDS, known[-1], line, results)


def _raise_if_different(
    subject: str, labels: Mapping[str, str], before: ResultLine, now: ResultLine, results: ResultLog
) -> None:
    differences = [
        f"{label} was {_format_value(before[name])} and is now {_format_value(now[name])}"
        for name, label in labels.items()
        if name in before and name in now and _strip_remark(before[name]) != _strip_remark(now[name])
    ]
    if differences:
        raise SettingsMismatch(
            f"{subject} differs from the results in {results.file}: {'; '.join(differences)}."
            " Use another --out, or the same settings."
        )


def _strip_remark(value: Any) -> Any:
    """Remove the remark after a semicolon, such as the agreement of a synthetic data set."""
    return value.partition(";")[0] if isinstance(value, str) else value


def _format_value(value: Any) -> str:
    return "none" if value is None else str(_strip_remark(value))
