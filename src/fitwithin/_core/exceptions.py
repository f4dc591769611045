"""Every exception of the package.

::

    FitwithinError
    ├── NoModelInTime      nothing could be trained by the deadline
    ├── LearnerFailed      the learner's process died without an exception
    └── UserInputError           a file, a column or an option that nothing can be done with, and what would do

    Signals between backend and session, never seen by a user:
    OutOfTime              the deadline came while the learner was at work
    LearnerRaised          the learner raised; carries the exception itself
    LearnerDied            the learner's process ended without a word
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class FitwithinError(Exception):
    """Base of the errors that are this package's own."""


class NoModelInTime(FitwithinError, TimeoutError):
    """No model could be trained by the deadline.

    The message says what was tried, how long it took and what limit would do.

    Parameters
    ----------
    sentence : str
        That.
    advice : str, default=""
        What else can be done about it in Python.
    """

    def __init__(self, sentence: str, advice: str = "") -> None:
        super().__init__(f"{sentence} {advice}".strip())
        self.sentence = sentence


class LearnerFailed(FitwithinError, RuntimeError):
    """The learner's process died (a signal, an exit) before the first model was there.

    An exception that the learner raises comes out as itself instead.
    """


class UserInputError(FitwithinError, ValueError):
    """A file, a column or an option that nothing can be done with.

    Parameters
    ----------
    sentence : str
        What is wrong.
    hint : str, default=""
        What the user can do about it.

    Examples
    --------
    >>> print(UserInputError("There is no file rows.csv.", "Look for it with ls."))
    There is no file rows.csv. Look for it with ls.
    """

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(f"{sentence} {hint}".strip())
        self.sentence = sentence
        self.hint = hint


class OutOfTime(Exception):
    """The deadline came; whatever the learner was doing has been stopped.

    Its text, if any, says what was going on instead of the learner's work.
    """


class LearnerRaised(Exception):
    """The learner raised an exception of its own.

    Parameters
    ----------
    error : BaseException
        The learner's exception, as it was raised.
    traceback : str
        Its traceback as text; frames do not travel between processes.
    """

    def __init__(self, error: BaseException, traceback: str) -> None:
        super().__init__(str(error))
        self.error = error
        self.traceback = traceback


class LearnerDied(Exception):
    """The learner's process ended without an exception; the text says how."""


def join_names(names: Iterable[object], most: int) -> str:
    """The first names, and how many more there are.

    Examples
    --------
    >>> join_names(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    words = [str(name) for name in names]
    return ", ".join(words[:most]) + (f" and {len(words) - most:,} more" if len(words) > most else "")


def closest_match(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, whatever its capitals.

    Examples
    --------
    >>> closest_match("lightgbn", ["LightGBM", "XGBoost"])
    'LightGBM'
    """
    words = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    return words[near[0]] if near else None
