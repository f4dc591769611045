"""Suggestion of settings: the protocol, and the choice of a suggester."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Protocol

from fitwithin.teachers._search.frugal_suggester import FrugalSuggester
from fitwithin.teachers._search.random_suggester import RandomSuggester
from fitwithin.teachers._search.space import Settings, Space


class Suggester(Protocol):
    """Source of settings to try next: ask for settings, fit, tell the score.

    Several settings may be asked for before the score of the first one is told.
    The same seed and the same scores give the same settings.
    """

    def ask(self) -> Settings | None:
        """Return settings that were not returned before, or None if none were found."""
        ...

    def tell(self, settings: Mapping[str, Any], score: float | None, seconds: float) -> None:
        """Take note of the score of settings that were asked for.

        Parameters
        ----------
        settings : mapping of str to Any
            As returned by `ask`. Settings that came from elsewhere, or were told before, change nothing.
        score : float or None
            Higher is better. None, or not a finite number: the fit failed.
        seconds : float
            Time of the fit.
        """
        ...


def make_suggester(
    space: Space, seed: int, start: Mapping[str, Any] | None = None, start_score: float | None = None
) -> Suggester:
    """Return the best suggester that is installed.

    Parameters
    ----------
    space : Space
        Settings that may be tried.
    seed : int
        Seed of all draws.
    start : mapping of str to Any, optional
        Settings to begin with, all or some of them; default: the cheap ones of the space.
    start_score : float, optional
        Their score, if it is known; then they are not suggested.

    Returns
    -------
    Suggester
        FLAML's cost-frugal search if `flaml` is installed and the space has more than one setting, else random search.

    Raises
    ------
    ValueError
        If `start` has a parameter that the space does not have.

    Examples
    --------
    >>> from fitwithin.teachers._search.space import Choice, Space
    >>> suggester = make_suggester(Space({"alpha": Choice((0.1,))}), seed=0)
    >>> suggester.ask(), suggester.ask()
    ({'alpha': 0.1}, None)
    """
    if space.n_settings > 1 and find_spec("flaml") is not None:
        return FrugalSuggester(space, seed, start, start_score)
    return RandomSuggester(space, seed, None if start_score is not None else start)
