"""The log of the package: the logger `fitwithin` of the standard library, which is silent unless the user asks.

Rounds are logged at INFO by `fitwithin._session.listeners`. Faults are logged at WARNING, where they are noticed:
``LOGGER.warning("The checkpoint %s was not written: %s.", path, error)``.
"""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("fitwithin")
"""The logger of the package. All of its lines are about the fit in the calling thread."""

# Without a handler of its own, Python would print warnings on standard error in programs that configure no log.
LOGGER.addHandler(logging.NullHandler())
