"""TimeConstrainedSearch: learners and hyperparameters raced inside one deadline."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.utils import Tags, check_random_state, get_tags

from fitwithin._class_scores import ClassScoresMixin
from fitwithin._core.budget import Budget, TimeLimit
from fitwithin._core.cores import count_jobs, count_threads
from fitwithin._core.memory_limit import MemoryLimit
from fitwithin._core.rounds import OnRound, Round
from fitwithin._estimator import TimeConstrainedEstimator
from fitwithin._search_learners import SearchLearner, is_regression, list_learners, list_starts
from fitwithin._session.checkpoint import Checkpoint
from fitwithin._session.fit_state import FitState
from fitwithin._session.inputs.fit_arguments import Validation
from fitwithin._session.inputs.fit_inputs import FitInputs
from fitwithin._session.inputs.learner import MAX_SEED, fill_random_states, inherit_tags
from fitwithin._session.progress import ShowProgress
from fitwithin._session.result import SessionResult
from fitwithin.backends import Backend
from fitwithin.backends._early_stopping import find_early_stopping, knows_steps
from fitwithin.backends._scoring import Scorer
from fitwithin.teachers import Teacher
from fitwithin.teachers._search.contender import describe_settings
from fitwithin.teachers._search.entrant import Entrant
from fitwithin.teachers._search.results import SearchEntry, list_entries, make_cv_results
from fitwithin.teachers._search.teacher import Search


class TimeConstrainedSearch(ClassScoresMixin, TimeConstrainedEstimator):
    """Search over learners and hyperparameters for the best model within a time limit.

    A candidate is a learner with one choice of hyperparameters. Candidates are trained on small subsets of the rows
    first, and the better ones on larger subsets. All are scored on the same validation rows. The candidate that should
    be ahead at the deadline gets the rest of the time, at least 40 % of it. The learner's own hyperparameters are a
    candidate too, and lose only to others that are clearly better.

    Parameters
    ----------
    estimator : estimator, str, list or None, default=None
        A scikit-learn style classifier or regressor, a name such as "lightgbm", or a list of these and of pairs
        ``(estimator, param_distributions)``. None is histogram gradient boosting. If all are names, they stand for
        classifiers unless `task` says otherwise.
    param_distributions : dict or None, default=None
        Settings to try, as in scikit-learn's ``RandomizedSearchCV``: for each parameter, such as ``step__parameter``
        in a pipeline, a list of values or a distribution with a method ``rvs``. None means a ready-made space for
        learners that fitwithin knows. Of other learners only their own hyperparameters are tried.
    initial_params : dict, list of dict or None, default=None
        Settings to try first, such as the ``best_params_`` of an earlier search.
    task : {"classification", "regression"} or None, default=None
        Needed only if all learners are names: "regression" makes them regressors.
    time_limit : int, float, timedelta or str, default=60
        Seconds, a ``timedelta``, or text such as ``"90s"``, ``"15m"``, ``"1h30m"``. It covers the whole of `fit`.
    scoring : str, callable or None, default=None
        The score to maximise: the name of a scikit-learn scorer, a scorer, or any callable(estimator, X, y). None is
        accuracy, or R2 for regression.
    backend : {"process", "inline"} or Backend, default="process"
        Where the learners run: in processes that are killed at the deadline, or in this process, where nothing can
        stop a running fit. Or an object of `fitwithin.backends`, such as ``Dask(client)``.
    progress : "auto" or bool, default="auto"
        Whether to show a live display; "auto" shows it on a terminal or in a notebook.
    on_round : callable or None, default=None
        Called with each finished `Round`; returning True stops early and keeps the best model.
    n_jobs : int or None, default=None
        Candidates that are trained at the same time, each in a process of its own. None means 1, -1 one for each core.
    memory_limit : int, float, str or None, default=None
        Bytes, or text such as ``"8GB"``, or ``"50%"`` of the memory of the machine or container. Settings that need
        more are dropped.
    checkpoint : str, path-like or None, default=None
        A folder for the best model so far, written while the search runs. After a kill, the same call searches anew
        in the rest of the time, and keeps this model unless it finds a better one. Needs the extra ``models``.
    validation : {"random", "last"}, default="random"
        Which rows of X are held out to choose the model and to estimate its score: random ones, or the last ones, for
        data in time order. For groups of rows or your own validation set, see `groups` and `X_val` of `fit`.
    random_state : int, RandomState or None, default=None
        Seed of every choice of rows and hyperparameters, and of each `random_state` of a learner that is None.

    Attributes
    ----------
    best_estimator_ : estimator
        The fitted learner with the best settings.
    best_params_ : dict
        Its hyperparameters that differ from the learner's own.
    best_score_ : float or None
        Its score on the validation rows. It is a little too high, because these rows chose the model.
    score_estimate_ : tuple of float or None
        Its score on rows that had no part in training or choosing, and the 95 % interval: (estimate, low, high).
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of arrays
        One entry for each candidate: ``estimator``, ``params``, ``mean_test_score`` (its score on its largest subset),
        ``n_rows`` (the rows of that subset), ``seconds`` (of all its fits), ``ended`` (why it was not trained further)
        and ``rank_test_score``, which is 1 for the returned model.
    history_ : list of Round
        A record of each fit; ``candidate`` is the place of its hyperparameters in `cv_results_`.
    stop_reason_, time_limit_, time_used_, lost_seconds_, memory_limit_, n_rows_trained_, n_rows_in_, classes_
        As in `TimeConstrainedClassifier`.

    Examples
    --------
    >>> from fitwithin import TimeConstrainedSearch
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_classification(3_000, random_state=0)
    >>> space = {"max_depth": [2, 4, 8], "min_samples_leaf": [1, 20]}
    >>> search = TimeConstrainedSearch(DecisionTreeClassifier(), space, time_limit=10, random_state=0).fit(X, y)
    >>> search.cv_results_["rank_test_score"][search.best_index_]
    np.int32(1)
    """

    # The search is its own way of choosing rows, and does not resume an earlier call.
    teacher: ClassVar[str] = "search"  # type: ignore[misc]  # a parameter of the siblings
    warm_start: ClassVar[bool] = False  # type: ignore[misc]  # a parameter of the siblings

    def __init__(
        self,
        estimator: Any = None,
        param_distributions: Any = None,
        *,
        initial_params: Any = None,
        task: str | None = None,
        time_limit: TimeLimit = 60,
        scoring: str | Scorer | None = None,
        backend: str | Backend = "process",
        progress: ShowProgress = "auto",
        on_round: OnRound | None = None,
        n_jobs: int | None = None,
        memory_limit: MemoryLimit | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        validation: Validation = "random",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.initial_params = initial_params
        self.task = task
        self.time_limit = time_limit
        self.scoring = scoring
        self.backend = backend
        self.progress = progress
        self.on_round = on_round
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.validation = validation
        self.random_state = random_state

    @property
    def _regression(self) -> bool:  # type: ignore[override]  # a class attribute of the siblings
        return is_regression(self.estimator, self.task)

    def _list_learners(self) -> list[SearchLearner]:
        return list_learners(
            self.estimator, self.param_distributions, self.task, count_threads(count_jobs(self.n_jobs))
        )

    def _make_teacher(self) -> Teacher:
        # Errors in the distributions should come before any time is used.
        list_starts(self.initial_params, self._list_learners())
        return Search([], _find_early_stopping)

    def _prepare_teacher(self, inputs: FitInputs) -> FitInputs:
        """Give the search its learners, now that the number of rows is known."""
        teacher = inputs.teacher
        assert isinstance(teacher, Search)
        seeded = self.random_state is not None
        random = check_random_state(inputs.settings.seed if seeded else None)
        learners = self._list_learners()
        starts = list_starts(self.initial_params, learners)
        teacher.entrants = [
            _make_entrant(number, learner, starts[number], self.n_rows_in_, random, seeded=seeded)
            for number, learner in enumerate(learners)
        ]
        self._teacher, self._learner_names = teacher, [learner.name for learner in learners]
        others = tuple(entrant.estimator for entrant in teacher.entrants[1:])
        return replace(inputs, settings=replace(inputs.settings, other_learners=others))

    def _describe_candidate(self, number: int) -> str:
        contender = self._teacher.contenders[number]
        return f"{self._learner_names[contender.learner]}, {describe_settings(contender.settings)}"

    def _set_fitted(self, result: SessionResult) -> None:
        super()._set_fitted(result)
        search: Search = self.__dict__.pop("_teacher")
        names: list[str] = self.__dict__.pop("_learner_names")
        n_past: int = self.__dict__.pop("_n_past_rounds")
        entries = list_entries(search.contenders, names, result.history[n_past:], result.candidate)
        self.best_index_ = len(entries) if result.candidate is None else result.candidate
        if result.candidate is None:
            entries.append(self._describe_stored_model(result.history[:n_past], names))
        self.cv_results_ = make_cv_results(entries)
        self.best_params_ = entries[self.best_index_].settings
        self.best_score_ = None if result.record.estimate is None else result.record.estimate.value

    def _find_past(
        self, inputs: FitInputs, checkpoint: Checkpoint | None, budget: Budget
    ) -> tuple[FitState | None, Budget]:
        past, budget = super()._find_past(inputs, checkpoint, budget)
        self._n_past_rounds = 0 if past is None else len(past.history)
        return past, budget

    def _describe_stored_model(self, history: Sequence[Round], names: Sequence[str]) -> SearchEntry:
        """Return the entry of a model that an earlier call stored in the checkpoint, and that stayed the best."""
        learners = self._list_learners()
        kinds = [type(learner.estimator) for learner in learners]
        number = kinds.index(type(self.best_estimator_)) if type(self.best_estimator_) in kinds else 0
        own, found = (model.get_params() for model in (learners[number].estimator, self.best_estimator_))
        space = learners[number].make_space(self.n_rows_in_)
        searched = () if space is None else space.parameters
        settings = {name: found[name] for name in searched if name in found and found[name] != own.get(name)}
        last = next((finished for finished in reversed(history) if finished.best), None)
        return SearchEntry(names[number], settings, last, 0.0, "returned, from the checkpoint", is_returned=True)

    def _make_learner(self) -> Any:
        """Return the first learner."""
        return self._list_learners()[0].estimator

    def _score_rows(self, X: Any, y: Any, sample_weight: Any) -> float:
        scoring = self.scoring or ("r2" if self._regression else "accuracy")
        scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
        return float(scorer(self, X, y, **({} if sample_weight is None else {"sample_weight": sample_weight})))

    def __sklearn_tags__(self) -> Tags:
        """Return the first learner's tags, as far as they apply."""
        learner = self._learner_or_default()
        tags = inherit_tags(super().__sklearn_tags__(), learner)
        tags.target_tags.required = True
        tags.estimator_type = "regressor" if self._regression else "classifier"
        if hasattr(learner, "__sklearn_tags__"):
            own = get_tags(learner)
            if own.classifier_tags is not None:
                # A learner may take several targets; the search does not.
                tags.classifier_tags = replace(own.classifier_tags, multi_label=False)
            tags.regressor_tags = own.regressor_tags
        return tags


def _make_entrant(
    number: int,
    learner: SearchLearner,
    starts: list[dict[str, Any]],
    n_rows: int,
    random: np.random.RandomState,
    *,
    seeded: bool,
) -> Entrant:
    estimator = clone(learner.estimator, safe=False)
    if seeded:
        fill_random_states(estimator, random)
    return Entrant(number, estimator, learner.make_space(n_rows), starts, int(random.randint(MAX_SEED)))


def _find_early_stopping(estimator: Any) -> tuple[bool, bool]:
    return find_early_stopping(estimator) is not None, knows_steps(estimator)
