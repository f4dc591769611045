"""The commands that install an extra or a newer version, as messages give them."""

from __future__ import annotations

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
