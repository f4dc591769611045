"""What is written beside a model: what it was trained on, how, and how good it is."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.columns import KINDS, Column
from fitwithin._tabular.target_column import Task

FORMAT = 1
"""Goes up when an older version could not read the file any more."""


_NUMBER = (int, float)


_TOLD: Mapping[str, Any] = {
    "rows": int,
    "rows_taught": int,
    "rounds": list,
    "estimate": (dict, type(None)),
    "time_used": _NUMBER,
    "time_limit": _NUMBER,
    "stop_reason": str,
}
"""What every training says of itself, and as what."""


@dataclass(frozen=True)
class About:
    """Everything about a model but the model.

    Parameters
    ----------
    task, target, target_type : str
        Classification or regression; the column that was learned, and arrow's name of its type.
    classes : list
        Its labels, sorted; empty in a regression.
    columns : tuple of Column
        What the model needs of a file; empty for a model of a matrix without names.
    features : int
        Columns of the matrix that the learner was given.
    learner, encoding, teacher, scoring : str
        How it was trained.
    training : dict
        Rows, rounds, time, estimate: see the command line's ``--json``.
    versions : dict
        Of the libraries.
    trust : list of str
        Types that must be trusted by name to open the file.
    """

    task: Task
    target: str
    target_type: str
    classes: list[Any]
    columns: tuple[Column, ...]
    features: int
    learner: str
    encoding: str
    teacher: str
    scoring: str
    training: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    trust: tuple[str, ...] = ()

    def to_json(self) -> str:
        """As text."""
        return json.dumps(_plain({"format": FORMAT, **asdict(self)}), indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> About:
        """From text, which may be anybody's.

        Raises
        ------
        UserInputError
            If it is not what `to_json` writes.

        Examples
        --------
        >>> try:
        ...     About.from_json("{}")
        ... except UserInputError as error:
        ...     print(error.sentence)
        What it says about itself can't be read.
        """
        try:
            found = json.loads(text)
            if found.pop("format") > FORMAT:
                raise UserInputError("It was written by a newer version.", "Upgrade: pip install -U fitwithin")
            columns = tuple(Column(**column) for column in found.pop("columns"))
            about = cls(columns=columns, trust=tuple(found.pop("trust")), **found)
            _check(about)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, UserInputError):
                raise
            raise UserInputError(
                "What it says about itself can't be read.", "Was it written by fitwithin train?"
            ) from error
        return about


def _check(about: About) -> None:
    """Raise if something that is going to be used is of another kind than what we write."""
    texts = about.target, about.target_type, about.learner, about.encoding, about.teacher, about.scoring
    estimate = about.training["estimate"] or {"value": 0, "low": 0, "high": 0}
    is_sound = (
        about.task in ("classification", "regression")
        and all(column.kind in KINDS for column in about.columns)
        and all(isinstance(text, str) for text in (*texts, *about.trust, *about.versions.values()))
        and isinstance(about.classes, list)
        and all(isinstance(label, str | bool | int | float) for label in about.classes)
        and isinstance(about.features, int)
        and all(isinstance(about.training[name], kind) for name, kind in _TOLD.items())
        and all(isinstance(estimate[name], _NUMBER) for name in ("value", "low", "high"))
    )
    if not is_sound:
        raise TypeError("of another kind")


def _plain(value: Any) -> Any:
    """What JSON can hold: numbers of Python's, and nothing in place of what is no number."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    number = value.item() if hasattr(value, "item") else value
    return None if isinstance(number, float) and not math.isfinite(number) else number
