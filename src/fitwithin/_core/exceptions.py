"""The exceptions that users and authors of backends meet, and helpers to word them.

::

    FitwithinError
    ├── NoModelInTime      no model could be trained by the deadline
    ├── NoModelInMemory    no model could be trained within the memory limit
    ├── LearnerFailed      the learner's process died without an exception
    ├── NoTemporaryFolder  there is no folder for temporary files
    └── UserInputError     a file, column or option that cannot be used, and what to do instead
        ├── ReadingFailed  rows of a data set on disk that are needed cannot be read any more
        └── ScoringFailed  the metric of `scoring` cannot work for this target

    LearnerFailedWarning   the learner failed after a first model, which is returned
    DataSetWarning         a part of a data set on disk could not be read
    CheckpointWarning      the checkpoint could not be written, or holds no model

    NotStorable            skops cannot store a model; handled by the checkpoint and the command line

    Raised by a runner, handled by the session; public for your own backend:
    OutOfTime              the deadline came while the learner was at work
    OutOfMemory            the learner takes more than the memory limit
    LearnerRaised          the learner raised an exception, which it carries
    LearnerDied            the learner's process ended without an exception
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from fitwithin._core.memory_limit import format_bytes


class FitwithinError(Exception):
    """Base class of the errors of fitwithin itself."""


class _HintedError(FitwithinError):
    """An error that says what is wrong, and in a second sentence what can be done about it in Python."""

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(f"{sentence} {hint}".strip())
        self.sentence = sentence
        self.hint = hint


class NoModelInTime(_HintedError, TimeoutError):
    """No model could be trained by the deadline.

    The message says what was tried, how long it took and which limit to try. It is a `TimeoutError` too.

    Parameters
    ----------
    sentence : str
        The message.
    hint : str, default=""
        What else can be done about it in Python.
    """


class NoModelInMemory(_HintedError, MemoryError):
    """No model could be trained within the memory limit.

    The message says how much memory the learner took, for how many rows, the limit, and what to do. It is a
    `MemoryError` too.

    Parameters
    ----------
    sentence : str
        The message.
    hint : str, default=""
        What else can be done about it in Python.
    """


class LearnerFailed(FitwithinError, RuntimeError):
    """The learner's process could not be started, or died before the first model.

    An exception that the learner raises comes out of `fit` as it is instead. In a search, this error means that every
    candidate failed.
    """


class NoTemporaryFolder(FitwithinError, OSError):
    """No folder for temporary files can be written to.

    Parameters
    ----------
    reason : object
        What was tried, and what the operating system said.
    """

    def __init__(self, reason: object) -> None:
        super().__init__(
            f"The learner's process needs a temporary folder, and none can be created: {reason}. Make room in it, or "
            "set the environment variable TMPDIR to a folder that can be written to before Python starts."
        )


class LearnerFailedWarning(RuntimeWarning):
    """The learner failed after its first model; the best model so far is returned.

    The message has the learner's traceback, and `stop_reason_` is "learner failed".
    """


class DataSetWarning(RuntimeWarning):
    """A part of a data set on disk could not be read; the model was trained on the rows that could be."""


class CheckpointWarning(RuntimeWarning):
    """The checkpoint, or the model in it, could not be written; the fit itself is not affected."""


class UserInputError(_HintedError, ValueError):
    """A file, a column or an option that cannot be used.

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


class ReadingFailed(UserInputError):
    """Rows of a data set on disk that are needed cannot be read any more."""


class ScoringFailed(UserInputError):
    """The metric of `scoring` cannot work for this target."""


class NotStorable(Exception):
    """skops can't store a model; the text says why."""


class OutOfTime(Exception):
    """The deadline came, and the learner was stopped.

    Raised by a `Runner`. Its text, if any, says what took the time besides the learner's own work.
    """


class OutOfMemory(Exception):
    """The learner took more than the memory limit and was stopped, or would take more and was not started.

    Raised by a `Runner` that can stop its learner. The session raises it in the teacher, at the `Lesson` or `Exam` that
    it yielded. A teacher that catches it may yield a smaller lesson. Any other teacher ends there.

    Parameters
    ----------
    n_bytes, limit : int
        Bytes that the learner took, or is expected to take, and the limit.

    Examples
    --------
    >>> print(OutOfMemory(9_000_000_000, 8_000_000_000))
    9.0 GB, more than the memory limit of 8.0 GB
    """

    def __init__(self, n_bytes: int, limit: int) -> None:
        super().__init__(n_bytes, limit)
        self.n_bytes = n_bytes
        self.limit = limit

    def __str__(self) -> str:
        """Return the figures."""
        return f"{format_bytes(self.n_bytes)}, more than the memory limit of {format_bytes(self.limit)}"


class LearnerRaised(Exception):
    """The learner raised an exception.

    Raised by a `Runner`.

    Parameters
    ----------
    error : BaseException or callable
        The learner's exception, or a function that returns it.
    traceback : str
        Its traceback as text; frames do not travel between processes.
    text : str, optional
        What it says, instead of its own text.

    Attributes
    ----------
    where : str
        The round, and what the learner did; empty until the session notes it.
    """

    where = ""

    def __init__(
        self, error: BaseException | Callable[[], BaseException], traceback: str, text: str | None = None
    ) -> None:
        super().__init__(str(error) if text is None else text)
        self._error = error
        self.traceback = traceback

    def __reduce__(self) -> tuple[type[LearnerRaised], tuple[Any, str, str]]:
        """Return how to make it again in another process; the learner's exception stays pickled until it is wanted."""
        return type(self), (self._error, self.traceback, str(self))

    @cached_property
    def error(self) -> BaseException:
        """The learner's exception."""
        return self._error if isinstance(self._error, BaseException) else self._error()


class LearnerDied(Exception):
    """The learner's process ended without an exception; the text says how.

    Raised by a `Runner`.

    Attributes
    ----------
    where : str
        See `LearnerRaised`.
    """

    where = ""


def join_names(names: Iterable[object], most: int = 5) -> str:
    """Join the first names with commas, and count the others.

    Examples
    --------
    >>> join_names(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    words = [str(name) for name in names]
    return ", ".join(words[:most]) + (f" and {len(words) - most:,} more" if len(words) > most else "")


def closest_match(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that was probably meant, whatever its case; None if none is close.

    Examples
    --------
    >>> closest_match("lightgbn", ["LightGBM", "XGBoost"])
    'LightGBM'
    """
    words = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    return words[matches[0]] if matches else None


def suggest_path(path: Path) -> str:
    """Return a hint for a path that is not there: the closest name in its folder.

    Examples
    --------
    >>> suggest_path(Path("no-such-folder/rows.csv"))
    'There is no folder no-such-folder either.'
    """
    if not path.parent.is_dir():
        return f"There is no folder {path.parent} either."
    closest = closest_match(path.name, sorted(entry.name for entry in path.parent.iterdir()))
    return f"Did you mean {path.parent / closest}?" if closest else "Check the path."


_MAX_REASON_LENGTH = 200
"""Characters of a library's own error that are shown."""


def shorten_reason(error: Exception) -> str:
    """Return a library's own error in one line, or its type.

    Examples
    --------
    >>> shorten_reason(ValueError("no   footer."))
    'no footer'
    """
    return " ".join(str(error).split())[:_MAX_REASON_LENGTH].rstrip(".") or type(error).__name__


MAX_COLUMN_NAMES = 20
"""Columns that an error lists."""


def require_columns(names: Iterable[str], known: Iterable[object], source: object) -> None:
    """Raise a `UserInputError` for the first column that is not there, with the closest name and all names.

    Examples
    --------
    >>> require_columns(["lable"], ["age", "label"], "rows.parquet")
    Traceback (most recent call last):
        ...
    fitwithin._core.exceptions.UserInputError: rows.parquet has no column 'lable'. Did you mean 'label'? Its columns: age, label.
    """  # noqa: E501  # the output of an example
    columns = dict.fromkeys(map(str, known))
    missing = next((name for name in names if name not in columns), None)
    if missing is not None:
        closest = closest_match(missing, columns)
        meant = "" if closest is None else f"Did you mean {closest!r}? "
        raise UserInputError(
            f"{source} has no column {missing!r}.",
            f"{meant}Its columns: {join_names(columns, MAX_COLUMN_NAMES)}." if columns else "It has no columns.",
        )
