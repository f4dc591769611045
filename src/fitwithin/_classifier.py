"""TimeConstrainedClassifier."""

from __future__ import annotations

from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from fitwithin._class_scores import ClassScoresMixin
from fitwithin._estimator import TimeConstrainedEstimator, inherit_tags


class TimeConstrainedClassifier(ClassScoresMixin, ClassifierMixin, TimeConstrainedEstimator):  # type: ignore[misc]  # no types in scikit-learn
    """Train a classifier within a time limit, and keep the best model by then.

    `fit` trains the learner, which is the classifier that you pass as `estimator`, on larger and larger subsets of the
    rows. It returns on time with the best model so far, even if the learner hangs or crashes.

    Parameters
    ----------
    estimator : classifier or str, default=None
        The learner: any scikit-learn style classifier, or a name such as "lightgbm" or "random-forest". The error for
        an unknown name lists the known ones. None is `HistGradientBoostingClassifier`.
    time_limit : int, float, timedelta, datetime or str, default=60
        Seconds, a `timedelta`, text such as ``"90s"``, ``"15m"``, ``"1h30m"``, or a `datetime`: until then. It covers
        the whole of `fit`.
    teacher : str or Teacher, default="auto"
        How training rows are chosen: "auto", "tct", "double", "osct", "tct_al", "sgd", "full", or an
        object of `fitwithin.teachers`.
    scoring : str, callable or None, default=None
        The score to maximise: the name of a scikit-learn scorer, a scorer, or any callable(estimator, X, y). None
        is accuracy.
    backend : {"process", "inline"} or Backend, default="process"
        Where the learner runs: in a process that is killed at the deadline, or in this process, where nothing can stop
        a running fit. Or an object of `fitwithin.backends`, such as ``Dask(client)``.
    progress : "auto" or bool, default="auto"
        Whether to show a live display; "auto" shows it on a terminal or in a notebook.
    on_round : callable, optional
        Called with each finished `Round`; returning True stops early and keeps the best model.
    n_jobs : int or None, default=None
        Fits that run at the same time, each in a process of its own. None means 1, -1 one for each core that this
        process may use. ``teacher="auto"`` uses two at most: its own fits, and one long fit on random rows beside them.
        They share the cores and the memory limit equally, and read the same copy of the rows. The other built-in
        teachers use one.
    memory_limit : int, float, str or None, default=None
        Bytes, or text such as ``"8GB"``, ``"512MiB"``, or ``"50%"`` of the memory of the machine or container. A
        learner that takes more is stopped, and the best model so far is kept. The limit is for what the learner's
        process and its children allocate, without the rows that they share with this process.
    checkpoint : str, path-like or None, default=None
        A folder for the best model and the state of the fit, written while it runs. After a kill, a reboot or a
        deadline, the same call continues from it. `time_limit` then counts all calls together. Needs the extra
        ``models``.
    experience : str, path-like or None, default=None
        A file that keeps what earlier fits of this job cost and scored, without rows or labels. A fit on other rows of
        the same columns begins with it: it measures less, and takes the right number of rows at once. Needs the extra
        ``models``.
    fallback : estimator or None, default=None
        Fitted first, on at most 10,000 rows and in at most a tenth of the time. It is returned with a warning if there
        is no other model: instead of `NoModelInTime`, `NoModelInMemory` and `LearnerFailed`.
    warm_start : bool, default=False
        Whether the next `fit` on the same rows resumes where this one ended, with a new `time_limit`. Its model never
        has a lower score on the validation rows than the one before. With other rows or another learner, `fit` starts
        anew.
    validation : {"random", "last"}, default="random"
        Which rows of X are held out to choose the model and to estimate its score: random ones, or the last ones, for
        data in time order. For groups of rows or your own validation set, see `groups` and `X_val` of `fit`.
    random_state : int, RandomState or None, default=None
        Seed of every choice of rows, and of each `random_state` of the learner that is None.

    Attributes
    ----------
    best_estimator_ : classifier
        The fitted learner itself.
    history_ : list of Round
        A record of each finished round, which is one fit and the predictions of its model. A notebook shows a table.
    stop_reason_ : str
        Why `fit` ended: "time", "all rows", "no gain", "no mistakes", "on_round", "interrupted", "learner failed",
        "memory" or "fallback".
    time_limit_ : float
        The limit in seconds; with `warm_start`, with the seconds of the calls before added.
    memory_limit_ : int or None
        The memory limit in bytes, if there is one.
    time_used_ : float
        Seconds from the first line of `fit` to its return; with `checkpoint` or `warm_start`, of all calls together.
    lost_seconds_ : float
        Seconds of fits that left no model: the deadline, the memory limit, an error or an interrupt ended them. It
        counts this call alone.
    n_rows_trained_ : int
        Rows that `best_estimator_` was trained on.
    n_rows_in_ : int
        Rows in X.
    training_rows_, validation_rows_, holdout_rows_ : array of int or None
        Row numbers of X that `best_estimator_` was trained on, that chose it, and that gave `score_estimate_`; with
        `X_val`, the last two are row numbers of `X_val`. They are empty if a last fit took these rows too. None for
        data sets on disk and Dask collections, and if the model was trained by `partial_fit`.
    score_estimate_ : tuple of float or None
        The score of `best_estimator_`, estimated from rows that had no part in training or choosing it, and its 95 %
        interval: (estimate, low, high). None if there are no such rows. If a last fit took these rows too, it is the
        estimate for the model before that fit.
    classes_ : array
        The labels, sorted.
    class_count_, class_count_trained_ : array of int
        For each label, the rows in X, and the rows that `best_estimator_` was trained on.
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

    # ClassifierMixin's own takes no names of columns.
    score = TimeConstrainedEstimator.score

    def __sklearn_tags__(self) -> Tags:
        """Return the learner's own tags, as far as they apply."""
        return inherit_tags(super().__sklearn_tags__(), self._learner_or_default())
