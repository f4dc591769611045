"""Values as text, the same in every process: functions by their code, other objects by their pickled state."""

from __future__ import annotations

import copyreg
import hashlib
import pickle
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dis import get_instructions
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from fitwithin._core.target import Array

NOT_COMPARABLE = "cannot be compared"
"""Text of a value that has no pickled state, such as a lock."""

NOT_COMPARED = ("n_jobs", "verbose")
"""Parameters of a learner that may differ: its model is the same."""

_SHOWN_CHARACTERS = 80
"""Characters of a value that are kept as they are."""

_CODE_PARTS = ("co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_argcount", "co_flags")

_LOADS_OF_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")

_PLAIN_CLONE = BaseEstimator.__sklearn_clone__

_PLAIN = (str, bool, int, float, complex, bytes, np.generic, type(None), type(...))


def describe_value(value: Any, listed: Iterable[Any] = ()) -> str:
    """Return a text that is the same for the same value in every process.

    Functions and classes of installed libraries are known by name, others by their code. Of the `listed` estimators,
    which are described on their own, only the class counts.

    Examples
    --------
    >>> describe_value({"tol": 0.1}), describe_value(np.log1p), describe_value(entry for entry in "a")
    ("{'tol': 0.1}", 'numpy.log1p', 'cannot be compared')
    >>> describe_value(lambda x: x + 1) == describe_value(lambda x: x + 2)
    False
    """
    try:
        return _ValueText(listed).describe(value)
    except Exception:  # Pickling may raise anything.
        return NOT_COMPARABLE


def hash_columns(*columns: Array) -> str:
    """Return a hash of the values of columns."""
    digest, text = hashlib.blake2b(digest_size=16), _ValueText()
    for column in columns:
        if column.dtype.hasobject:
            try:
                lines = [text.describe(entry) for entry in column.ravel().tolist()]
            except Exception:  # Pickling may raise anything.
                return NOT_COMPARABLE
            digest.update("\n".join(lines).encode("utf-8", "surrogatepass"))
        else:
            digest.update(np.ascontiguousarray(column).view(np.uint8).data if column.size else b"")
    return f"hash {digest.hexdigest()}"


def name_type(value: Any) -> str:
    """Return module and name of a type or function, or of the type of any other value."""
    named = value if callable(value) and hasattr(value, "__name__") else type(value)
    return f"{getattr(named, '__module__', '')}.{named.__name__}"


def shorten(text: str) -> str:
    """Return a long text as a hash."""
    return text if len(text) <= _SHOWN_CHARACTERS else _hash(text)


def _hash(text: str) -> str:
    return f"hash {hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


class _ValueText:
    """Describes one value with everything in it; raises an error if a part of it cannot be compared."""

    def __init__(self, listed: Iterable[Any] = (), *, whole: bool = False) -> None:
        self._listed = {id(value) for value in listed}
        # Whether estimators have more than their parameters: a frozen one keeps what it has learnt.
        self._whole = whole
        # The values too: the address of one that is gone may be given to another.
        self._known: dict[int, tuple[Any, str]] = {}

    def describe(self, value: Any) -> str:
        if isinstance(value, _PLAIN):
            return repr(value)
        if id(value) not in self._known:
            self._known[id(value)] = value, "a part that holds this one"
            self._known[id(value)] = value, shorten(self._describe_object(value))
        return self._known[id(value)][1]

    def _join(self, name: str, values: Iterable[Any]) -> str:
        return f"{name}({', '.join(map(self.describe, values))})"

    def _describe_object(self, value: Any) -> str:
        kind = type(value)
        if kind in (list, tuple):
            return self._join("" if kind is tuple else "list", value)
        if kind in (set, frozenset):
            return f"{kind.__name__}({', '.join(sorted(map(self.describe, value)))})"
        if kind is dict:
            return f"{{{', '.join(f'{self.describe(key)}: {self.describe(entry)}' for key, entry in value.items())}}}"
        if isinstance(value, np.ndarray):
            if value.dtype.hasobject:
                return self._join(f"array {value.shape}", value.ravel().tolist())
            return f"array {value.shape} {value.dtype} {hash_columns(value.ravel())}"
        if isinstance(value, CodeType):
            return self._join("code", (getattr(value, part) for part in _CODE_PARTS))
        if isinstance(value, ModuleType):
            return value.__name__
        if isinstance(value, FunctionType | type):
            return self._describe_code(value) if _is_own(value) else _name_importable(value)
        if value is check_random_state(None):
            return "the global random state"
        return self._describe_estimator(value) if hasattr(value, "get_params") else self._describe_state(value)

    def _describe_estimator(self, value: Any) -> str:
        if getattr(type(value), "__sklearn_clone__", _PLAIN_CLONE) is not _PLAIN_CLONE:
            return _ValueText(whole=True)._describe_state(value)
        if self._whole:
            return self._describe_state(value)
        if id(value) in self._listed:
            return self.describe(type(value))
        parameters = {name: part for name, part in value.get_params(deep=False).items() if name not in NOT_COMPARED}
        return self._join("estimator", [type(value), parameters])

    def _describe_state(self, value: Any) -> str:
        reduce = copyreg.dispatch_table.get(type(value))
        state = value.__reduce_ex__(4) if reduce is None else reduce(value)
        if isinstance(state, str):
            # A cached function has the function itself too, and so have functions of NumPy.
            wrapped = getattr(value, "__wrapped__", None)
            is_own = isinstance(wrapped, FunctionType) and _is_own(wrapped)
            return self._join(name_type(value), [wrapped]) if is_own else _name_importable(value)
        return self._join("object", [list(part) if isinstance(part, Iterator) else part for part in state])

    def _describe_code(self, value: FunctionType | type) -> str:
        """Return the name of a function or class, and a hash of its code with the globals and bases that it uses."""
        if isinstance(value, type):
            parts = [*value.__bases__, *self._describe_members(value)]
        else:
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            parts = [value.__code__, value.__defaults__, value.__kwdefaults__, cells, _list_globals(value)]
        return f"{value.__module__}.{value.__qualname__} {_hash(self._join('code', parts))}"

    def _describe_members(self, owner: type) -> Iterator[str]:
        """Yield the names of a class's own members with their texts, or with their types if these have none."""
        for name, member in vars(owner).items():
            for attribute in ("__func__", "fget", "func"):
                member = getattr(member, attribute, member)
            if name.startswith("__") and not isinstance(member, FunctionType):
                # Python and libraries add some when a class is first used.
                continue
            try:
                yield f"{name} {self.describe(member)}"
            except Exception:  # Pickling may raise anything.
                yield f"{name} {name_type(member)}"


def _list_globals(function: FunctionType) -> list[Any]:
    """Return the global values that a function uses, and what it uses of modules of the user's."""
    codes = list(_list_codes(function.__code__))
    loaded = [entry.argval for code in codes for entry in get_instructions(code) if entry.opname in _LOADS_OF_GLOBALS]
    found = [function.__globals__[name] for name in dict.fromkeys(loaded) if name in function.__globals__]
    modules = [vars(part) for part in found if isinstance(part, ModuleType)]
    own = [space for space in modules if not _is_installed(space.get("__file__"))]
    names = dict.fromkeys(name for code in codes for name in code.co_names)
    return [part for part in found if part not in modules] + [
        space[name] for space in own for name in names if name in space
    ]


def _list_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of those inside it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _list_codes(part)


def _name_importable(value: Any) -> str:
    """Return the name of a function or class; raise an error if it cannot be found by that name."""
    pickle.dumps(value)
    return name_type(value)


def _is_own(value: FunctionType | type) -> bool:
    """Whether a function or class is of the user's, not of an installed library."""
    module = value.__module__ or "__main__"
    return module == "__main__" or not _is_installed(getattr(sys.modules.get(module), "__file__", None))


@cache
def _is_installed(file: str | None) -> bool:
    # What has no file is built in.
    return file is None or file.startswith(sysconfig.get_path("stdlib")) or "-packages" in str(Path(file).parent)
