"""The paper's learners, with the paper's settings and one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

PAPER_LEARNERS = ("lightgbm", "random-forest", "decision-tree", "linear-svm", "logistic-regression")
"""Names of the paper's five learners."""


def _make_lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1)


# The last two replace linear learners for mini-batches.
_LEARNERS: Mapping[str, Callable[[], Any]] = {
    "lightgbm": _make_lightgbm,
    "random-forest": lambda: RandomForestClassifier(min_samples_split=30, n_jobs=1),
    "decision-tree": lambda: DecisionTreeClassifier(min_samples_split=30, max_depth=5),
    # The dual problem takes far longer where rows outnumber features.
    "linear-svm": lambda: LinearSVC(dual=False),
    "logistic-regression": lambda: LogisticRegression(solver="saga"),
    "sgd-hinge": lambda: SGDClassifier(loss="hinge"),
    "sgd-log": lambda: SGDClassifier(loss="log_loss"),
}


def make_paper_learner(name: str) -> Any:
    """Return an unfitted learner as in the paper.

    Raises
    ------
    ImportError
        If LightGBM is not installed.

    Examples
    --------
    >>> make_paper_learner("decision-tree")
    DecisionTreeClassifier(max_depth=5, min_samples_split=30)
    """
    return _LEARNERS[name]()
