"""The paper's learners: those of a name, with the paper's settings and one thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fitwithin._presets import make_preset

PAPER_LEARNERS = ("lightgbm", "random-forest", "decision-tree", "linear-svm", "logistic-regression")
"""The paper's five learners, by the names of their presets."""

# Where the paper's settings are not those of the preset.
_PAPER_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "random-forest": {"min_samples_split": 30, "min_samples_leaf": 1},
    "decision-tree": {"min_samples_split": 30, "min_samples_leaf": 1, "max_depth": 5},
    "logistic-regression": {"solver": "saga"},
}


def make_paper_learner(name: str) -> Any:
    """Return an unfitted learner as in the paper; one that the paper does not have is the preset with one thread.

    Raises
    ------
    ValueError, ImportError
        If there is no such learner, or it is not installed; see `make_preset`.

    Examples
    --------
    >>> make_paper_learner("decision-tree")
    DecisionTreeClassifier(max_depth=5, min_samples_split=30)
    """
    return make_preset(name, n_jobs=1).set_params(**_PAPER_SETTINGS.get(name, {}))
