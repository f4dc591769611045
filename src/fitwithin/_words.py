"""Words that messages are made of."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Sequence


def some(names: Iterable[object], most: int) -> str:
    """The first names, and how many more there are.

    Examples
    --------
    >>> some(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    words = [str(name) for name in names]
    return ", ".join(words[:most]) + (f" and {len(words) - most:,} more" if len(words) > most else "")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, whatever its capitals.

    Examples
    --------
    >>> nearest("lightgbn", ["LightGBM", "XGBoost"])
    'LightGBM'
    """
    words = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    return words[near[0]] if near else None


def first_lines(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """What was warned of, each once, without what comes after its first line."""
    return list(dict.fromkeys(str(warning.message).partition("\n")[0] for warning in caught))
