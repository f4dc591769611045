"""The regressor."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin, is_classifier
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils import Tags, get_tags

from fitwithin._core.target import Values
from fitwithin._estimator import TimeConstrainedEstimator


class TimeConstrainedRegressor(RegressorMixin, TimeConstrainedEstimator):  # type: ignore[misc]  # no types in scikit-learn
    """The best regressor that a learner can build from the data by a deadline.

    Parameters and attributes are those of `TimeConstrainedClassifier`; the score is R2 unless
    `scoring` says otherwise. When rows are chosen, the fifth of an exam's rows with the largest
    absolute errors counts as wrong.

    Parameters
    ----------
    estimator : regressor or str, default=None
        Any scikit-learn style regressor; or the name of one, such as "random-forest" (an unknown name lists the
        others); None stands for `HistGradientBoostingRegressor`.
    time_limit : int, float, timedelta or str, default=60
        Seconds, a `timedelta`, or text such as ``"90s"``, ``"15m"``, ``"1h30m"``.
    teacher : str or Teacher, default="auto"
        Which rows to teach: "auto", "tct", "double", "sgd", "full", or an object of `fitwithin.teachers`.
    scoring : str, callable or None, default=None
        The name of a scikit-learn scorer, a scorer, or any callable(estimator, X, y); None is R2.
    backend : {"process", "inline"} or Backend, default="process"
        Where the learner runs. Only "process" can stop a running fit.
    progress : "auto" or bool, default="auto"
        Whether to show a live display; "auto" shows it on a terminal or in a notebook.
    on_round : callable, optional
        Called with each finished `Round`; returning True stops early and keeps the best model.
    random_state : int, RandomState or None, default=None
        Seed of every choice of rows, and of the learner where it has none of its own.

    Examples
    --------
    >>> from fitwithin import TimeConstrainedRegressor
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import Ridge
    >>> X, y = make_regression(5_000, noise=1.0, random_state=0)
    >>> reg = TimeConstrainedRegressor(Ridge(), time_limit=20, random_state=0).fit(X, y)
    >>> reg.stop_reason_
    'all rows'
    """

    _regression = True

    def _default_learner(self) -> Any:
        return HistGradientBoostingRegressor()

    def _check_kind(self, learner: Any) -> None:
        if is_classifier(learner):
            raise TypeError(f"estimator must be a regressor; got the classifier {learner!r}.")

    def _check_target(self, y: Any) -> Values:
        return Values.read(y)

    def __sklearn_tags__(self) -> Tags:
        """The learner's own abilities, as far as they come through."""
        tags = super().__sklearn_tags__()
        if hasattr(self._learner_or_default(), "__sklearn_tags__"):
            learner = get_tags(self._learner_or_default()).regressor_tags
            if learner is not None:
                tags.regressor_tags.poor_score = learner.poor_score
        return tags
