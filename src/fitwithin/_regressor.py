"""TimeConstrainedRegressor."""

from __future__ import annotations

from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from fitwithin._estimator import TimeConstrainedEstimator, inherit_tags


class TimeConstrainedRegressor(RegressorMixin, TimeConstrainedEstimator):  # type: ignore[misc]  # no types in scikit-learn
    """Train a regressor within a time limit, and keep the best model by then.

    `fit` trains the learner, which is the regressor that you pass as `estimator`, on larger and larger subsets of the
    rows. It returns on time with the best model so far, even if the learner hangs or crashes.

    The fitted attributes are those of `TimeConstrainedClassifier`, except for the classes. Where training rows are
    chosen by mistakes, the 20 % of predicted rows with the largest absolute errors count as mistakes.

    Parameters
    ----------
    estimator : regressor or str, default=None
        The learner: any scikit-learn style regressor, or a name such as "lightgbm" or "random-forest". The error for
        an unknown name lists the known ones. None is `HistGradientBoostingRegressor`.
    time_limit : int, float, timedelta, datetime or str, default=60
        Seconds, a `timedelta`, text such as ``"90s"``, ``"15m"``, ``"1h30m"``, or a `datetime`: until then. It covers
        the whole of `fit`.
    teacher : str or Teacher, default="auto"
        How training rows are chosen: "auto", "tct", "double", "sgd", "full", or an object of
        `fitwithin.teachers`.
    scoring : str, callable or None, default=None
        The score to maximise: the name of a scikit-learn scorer, a scorer, or any callable(estimator, X, y). None
        is R2.
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

    # RegressorMixin's own takes no names of columns.
    score = TimeConstrainedEstimator.score

    def __sklearn_tags__(self) -> Tags:
        """Return the learner's own tags, as far as they apply."""
        return inherit_tags(super().__sklearn_tags__(), self._learner_or_default())
