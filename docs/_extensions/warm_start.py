"""Before each example of the gallery: a process that is ready, so that no example waits for one."""

from typing import Any

import numpy as np
from sklearn.naive_bayes import GaussianNB

from fitwithin import TimeConstrainedClassifier


def warm_start(_settings: dict[str, Any], _example: str) -> None:
    """Fit something small without a hurry; the process that it starts then waits for the next fit."""
    y = np.arange(600) % 2
    TimeConstrainedClassifier(GaussianNB(), time_limit=120, progress=False).fit(y[:, None], y)
