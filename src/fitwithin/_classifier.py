"""TimeConstrainedClassifier."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, is_regressor
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import Tags, get_tags

from fitwithin._class_scores import ClassScoresMixin
from fitwithin._core.target import Labels
from fitwithin._estimator import TimeConstrainedEstimator


class TimeConstrainedClassifier(ClassScoresMixin, ClassifierMixin, TimeConstrainedEstimator):  # type: ignore[misc]  # no types in scikit-learn
    """Fit the best classifier that a learner can build from the data by a deadline.

    Parameters
    ----------
    estimator : classifier or str, default=None
        Any scikit-learn style classifier, or a name such as "random-forest"; an unknown name lists the known ones.
        None is `HistGradientBoostingClassifier`.
    time_limit : int, float, timedelta or str, default=60
        Seconds, a `timedelta`, or text such as ``"90s"``, ``"15m"``, ``"1h30m"``. It covers the
        whole of `fit`.
    teacher : str or Teacher, default="auto"
        The rule that chooses the training rows: "auto", "tct", "double", "osct", "tct_al", "sgd", "full", or an
        object of `fitwithin.teachers`.
    scoring : str, callable or None, default=None
        The metric to maximise: the name of a scikit-learn scorer, a scorer, or any callable(estimator, X, y). None
        is accuracy.
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

    Attributes
    ----------
    best_estimator_ : classifier
        The fitted learner itself.
    history_ : list of Round
        Every finished round; a notebook shows it as a table.
    stop_reason_ : str
        "time", "all rows", "no mistakes", "on_round", "interrupted", "learner failed" or "memory".
    time_limit_ : float
        The limit in seconds; with `warm_start`, in addition to the seconds of the calls before.
    memory_limit_ : int or None
        The memory limit in bytes.
    time_used_ : float
        Seconds from the first line of `fit` to its return; with `checkpoint` or `warm_start`, of all calls together.
    lost_seconds_ : float
        Seconds of fits that left no model, because the deadline or the memory limit ended them, or an error or an
        interrupt; of this call alone.
    n_rows_taught_ : int
        Rows that `best_estimator_` was trained on.
    n_rows_in_ : int
        Rows in X.
    score_estimate_ : tuple of float or None
        Estimate of its score with a 95 % interval (estimate, low, high), from rows that had no part in training or
        choosing it. None where there are no such rows.
    classes_ : array
        The labels, sorted.
    class_count_, class_count_taught_ : array of int
        For each label, the rows in X and those that `best_estimator_` was trained on.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : array of str
        Their names, if X had any.

    Examples
    --------
    >>> from fitwithin import TimeConstrainedClassifier
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_classification(20_000, random_state=0)
    >>> clf = TimeConstrainedClassifier(DecisionTreeClassifier(), time_limit=20, random_state=0)
    >>> clf.fit(X, y).stop_reason_
    'all rows'
    >>> clf.time_used_ < 20
    True
    """

    _regression = False

    def _default_learner(self) -> Any:
        return HistGradientBoostingClassifier()

    def _check_kind(self, learner: Any) -> None:
        if is_regressor(learner):
            raise TypeError(f"estimator must be a classifier; got the regressor {learner!r}.")

    def _check_target(self, y: Any) -> Labels:
        return self._encode_labels(y)

    # ClassifierMixin's own takes no names of columns.
    score = TimeConstrainedEstimator.score

    def _score_rows(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Return the accuracy."""
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        """Return the learner's own tags, as far as they apply."""
        tags = super().__sklearn_tags__()
        if hasattr(self._learner_or_default(), "__sklearn_tags__"):
            learner = get_tags(self._learner_or_default()).classifier_tags
            if learner is not None:
                tags.classifier_tags.multi_class = learner.multi_class
                tags.classifier_tags.poor_score = learner.poor_score
        return tags
