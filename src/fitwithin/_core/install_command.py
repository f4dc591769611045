"""Optional libraries, and the commands that install an extra or a newer version, as messages give them."""

from __future__ import annotations

from importlib.util import find_spec

_EXTRAS = {
    "boosters": {"catboost", "lightgbm", "xgboost"},
    "dask": {"dask", "distributed"},
    "files": {"pandas", "pyarrow"},
    "models": {"filelock", "skops"},
    "plots": {"matplotlib"},
}
"""Optional libraries by the extra that installs them."""

UPGRADE_COMMAND = "In a clone: git pull. Otherwise: pip install -U fitwithin"
"""How to get a newer version."""


def format_install_command(*extras: str) -> str:
    """Return the commands that install extras, for users with a clone and for others.

    Examples
    --------
    >>> print(format_install_command("files", "models"))
    In a clone: pip install -e '.[files,models]'. Otherwise: pip install 'fitwithin[files,models]'
    """
    names = ",".join(extras)
    return f"In a clone: pip install -e '.[{names}]'. Otherwise: pip install 'fitwithin[{names}]'"


def require_libraries(user: str, *libraries: str) -> None:
    """Check that optional libraries are installed.

    Parameters
    ----------
    user : str
        What needs them.
    *libraries : str
        Their names.

    Raises
    ------
    ImportError
        If one is missing; the text has the command that installs it.
    """
    missing = [library for library in libraries if find_spec(library) is None]
    if missing:
        command = format_install_command(*(extra for extra, known in _EXTRAS.items() if known.intersection(missing)))
        verb = "is" if len(missing) == 1 else "are"
        raise ImportError(
            f"{user} needs {' and '.join(missing)}, which {verb} not installed. {command}", name=missing[0]
        )
