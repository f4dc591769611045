"""TimeConstrainedRegressor."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin, is_classifier
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils import Tags, get_tags

from fitwithin._core.target import Values
from fitwithin._estimator import TimeConstrainedEstimator


class TimeConstrainedRegressor(RegressorMixin, TimeConstrainedEstimator):  # type: ignore[misc]  # no types in scikit-learn
    """Fit the best regressor that a learner can build from the data by a deadline.

    Attributes are those of `TimeConstrainedClassifier`; the score is R2 unless `scoring` says otherwise. Where
    training rows are chosen by mistakes, the 20 % of predicted rows with the largest absolute errors count.

    Parameters
    ----------
    estimator : regressor or str, default=None
        Any scikit-learn style regressor, or a name such as "random-forest"; an unknown name lists the known ones.
        None is `HistGradientBoostingRegressor`.
    time_limit : int, float, timedelta or str, default=60
        Seconds, a `timedelta`, or text such as ``"90s"``, ``"15m"``, ``"1h30m"``.
    teacher : str or Teacher, default="auto"
        The rule that chooses the training rows: "auto", "tct", "double", "sgd", "full", or an object of
        `fitwithin.teachers`.
    scoring : str, callable or None, default=None
        The metric to maximise: the name of a scikit-learn scorer, a scorer, or any callable(estimator, X, y). None
        is R2.
    backend : {"process", "inline"} or Backend, default="process"
        Where the learner runs. Only "process" can stop a running fit.
    progress : "auto" or bool, default="auto"
        Whether to show a live display; "auto" shows it on a terminal or in a notebook.
    on_round : callable, optional
        Called with each finished `Round`; returning True stops early and keeps the best model.
    n_jobs : int or None, default=None
        Learners' processes that are at work at the same time. None means 1, -1 as many as cores that this process may
        use. The teacher "auto" has work for two: its own fits, and one long fit on random rows beside them. The
        learners share the cores and the memory limit equally, and read the same copy of the rows.
    memory_limit : int, float, str or None, default=None
        Bytes, or text such as ``"8GB"``, ``"512MiB"``, or ``"50%"`` of the memory of the machine or of the memory
        group (container) that this process is in. A learner that takes more is stopped, and the best model so far
        is returned. It covers the anonymous memory of the learner's process and its children.
    checkpoint : str, path-like or None, default=None
        A file for the best model and the state of the fit, written while it runs. After a kill, a reboot or a
        deadline, the same call goes on from it. `time_limit` then counts all calls together. Needs the extra
        ``fitwithin[models]``.
    warm_start : bool, default=False
        Whether the next `fit` on the same rows goes on where this one ended, with a new `time_limit`. It never
        returns a model with a lower score on the validation rows. Other rows or another learner begin again.
    validation : {"random", "last"}, default="random"
        Which rows of X choose the model and give the estimate: random ones, or the last ones in their order, for data
        that is ordered in time. `fit` takes `groups`, or other rows as `X_val` and `y_val`, instead.
    random_state : int, RandomState or None, default=None
        Seed of every choice of rows. If it is set, it also sets every `random_state` that the learner leaves at
        None.

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

    # RegressorMixin's own takes no names of columns.
    score = TimeConstrainedEstimator.score

    def _score_rows(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Return the R2."""
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        """Return the learner's own tags, as far as they apply."""
        tags = super().__sklearn_tags__()
        if hasattr(self._learner_or_default(), "__sklearn_tags__"):
            learner = get_tags(self._learner_or_default()).regressor_tags
            if learner is not None:
                tags.regressor_tags.poor_score = learner.poor_score
        return tags
