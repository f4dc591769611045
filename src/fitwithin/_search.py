"""TimeConstrainedSearch: learners and hyperparameters raced inside one deadline."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.utils import Tags, check_random_state, get_tags

from fitwithin._class_scores import ClassScoresMixin
from fitwithin._core.budget import Budget, TimeLimit, parse_row_seconds
from fitwithin._core.cores import count_jobs, count_threads
from fitwithin._core.cost import CostEstimates
from fitwithin._core.memory_limit import MemoryLimit
from fitwithin._core.rounds import OnRound
from fitwithin._estimator import TimeConstrainedEstimator, inherit_tags
from fitwithin._pools.tables import list_column_types
from fitwithin._search_learners import SearchLearner, is_regression, list_learners, list_starts
from fitwithin._session.checkpoint import Checkpoint
from fitwithin._session.fingerprint import Fingerprint, describe_learner
from fitwithin._session.fit_state import FitState
from fitwithin._session.inputs.fit_arguments import MAX_SEED, Validation, fill_random_states
from fitwithin._session.inputs.fit_inputs import FitInputs
from fitwithin._session.listeners import ShowProgress
from fitwithin._session.result import SessionResult
from fitwithin._session.session import Session
from fitwithin._session.value_text import describe_value, shorten
from fitwithin._session.vote import MAX_MEMBERS, make_vote
from fitwithin.backends import Backend
from fitwithin.backends._early_stopping.registry import find_early_stopping, find_traits, knows_steps
from fitwithin.backends._metrics import Scorer
from fitwithin.teachers import Teacher
from fitwithin.teachers._search.contender import describe_settings
from fitwithin.teachers._search.entrant import Entrant
from fitwithin.teachers._search.race import Race
from fitwithin.teachers._search.ready_spaces import DataShape
from fitwithin.teachers._search.results import make_cv_results
from fitwithin.teachers._search.teacher import Search


class TimeConstrainedSearch(ClassScoresMixin, TimeConstrainedEstimator):
    """Search over learners and hyperparameters for the best model within a time limit.

    A candidate is a learner with one choice of hyperparameters. Candidates are trained on small subsets of the rows
    first, and the better ones on larger subsets. All are scored on the same validation rows. The candidate that should
    be ahead at the deadline gets the rest of the time. The learner's own hyperparameters are a candidate too, and lose
    only to others whose gain is more than its error suggests.

    Parameters
    ----------
    estimator : estimator, str, list or None, default=None
        A scikit-learn style classifier or regressor, a name such as "lightgbm", or a list of these and of pairs
        ``(estimator, param_distributions)``. "auto" is a list of boosters, extra trees and a linear model, as far as
        they are installed. None is histogram gradient boosting. If all are names, they stand for classifiers unless
        `task` says otherwise.
    param_distributions : dict, list of dict or None, default=None
        Hyperparameters to try, as in scikit-learn's ``RandomizedSearchCV``: for each, such as ``step__parameter`` in a
        pipeline, a list of values or a distribution with a method ``rvs``. A list of dicts states conditions: the
        values of one candidate come from one dict. None means a ready-made space for learners that fitwithin knows. Of
        other learners only their own hyperparameters are tried.
    initial_params : dict, list of dict or None, default=None
        Hyperparameters to try first, such as the ``best_params_`` of an earlier search.
    task : {"classification", "regression"} or None, default=None
        Needed only if all learners are names: "regression" makes them regressors.
    ensemble : bool or int, default=False
        Whether to return a vote of several models, if it scores higher on the validation rows than the best one. A
        number is that of the models that may vote; True is 20. They are the best ones of the two largest subsets.
    predict_time_limit : float, str or None, default=None
        Most time for the prediction of one row, in seconds or as text such as ``"50us"``, measured on the validation
        rows. Slower models and votes are not returned; if all are slower, the fastest is, with a warning.
    time_limit : int, float, timedelta, datetime or str, default=60
        Seconds, a ``timedelta``, text such as ``"90s"``, ``"15m"``, ``"1h30m"``, or a ``datetime``: until then. It
        covers the whole of `fit`.
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
        Bytes, or text such as ``"8GB"``, or ``"50%"`` of the memory of the machine or container. Candidates that need
        more are dropped.
    checkpoint : str, path-like or None, default=None
        A folder for the best model so far and the candidates with their trials, written while the search runs. After a
        kill, a reboot or a deadline, the same call resumes the search. Needs the extra ``models``.
    experience : str, path-like or None, default=None
        A file that keeps what earlier fits of this job cost and scored, without rows or labels. A fit on other rows of
        the same columns tries the best hyperparameters first. Needs the extra ``models``.
    validation : {"random", "last"}, default="random"
        Which rows of X are held out to choose the model and to estimate its score: random ones, or the last ones, for
        data in time order. For groups of rows or your own validation set, see `groups` and `X_val` of `fit`.
    random_state : int, RandomState or None, default=None
        Seed of every choice of rows and hyperparameters, and of each `random_state` of a learner that is None.

    Attributes
    ----------
    best_estimator_ : estimator
        The fitted learner with the best hyperparameters.
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
    ensemble_ : dict of int
        The weight of each candidate that votes, by its place in `cv_results_`; only if `best_estimator_` is a vote.
    history_ : list of Round
        A record of each fit; ``candidate`` is the place of its hyperparameters in `cv_results_`.
    stop_reason_, time_limit_, time_used_, lost_seconds_, memory_limit_, n_rows_trained_, n_rows_in_, classes_
        As in `TimeConstrainedClassifier`.
    training_rows_, validation_rows_, holdout_rows_
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

    # The search is its own way of choosing rows, and resumes from a checkpoint only.
    teacher: ClassVar[str] = "search"  # type: ignore[misc]  # a parameter of the siblings
    warm_start: ClassVar[bool] = False  # type: ignore[misc]  # a parameter of the siblings
    fallback: ClassVar[None] = None  # type: ignore[misc]  # a parameter of the siblings

    def __init__(
        self,
        estimator: Any = None,
        param_distributions: Any = None,
        *,
        initial_params: Any = None,
        task: str | None = None,
        ensemble: bool | int = False,
        predict_time_limit: float | str | None = None,
        time_limit: TimeLimit = 60,
        scoring: str | Scorer | None = None,
        backend: str | Backend = "process",
        progress: ShowProgress = "auto",
        on_round: OnRound | None = None,
        n_jobs: int | None = None,
        memory_limit: MemoryLimit | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        experience: str | os.PathLike[str] | None = None,
        validation: Validation = "random",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.initial_params = initial_params
        self.task = task
        self.ensemble = ensemble
        self.predict_time_limit = predict_time_limit
        self.time_limit = time_limit
        self.scoring = scoring
        self.backend = backend
        self.progress = progress
        self.on_round = on_round
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.experience = experience
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
        return Search([], self._choice_settings()["max_row_seconds"])

    def _prepare_teacher(self, inputs: FitInputs, best_settings: Mapping[str, Any]) -> FitInputs:
        """Give the search its learners, now that the number of rows is known."""
        teacher = inputs.teacher
        assert isinstance(teacher, Search)
        seeded = self.random_state is not None
        random = check_random_state(inputs.settings.seed if seeded else None)
        learners = self._list_learners()
        stored = list_starts([best_settings] if best_settings else None, learners)
        starts = [[*best, *own] for best, own in zip(stored, list_starts(self.initial_params, learners), strict=True)]
        entrants: list[Entrant] = []
        self._learner_names: list[str] = []
        for learner, own_starts in zip(learners, starts, strict=True):
            estimator = clone(learner.estimator, safe=False)
            if seeded:
                fill_random_states(estimator, random)
            for number, space in enumerate(learner.make_spaces(self._describe_shape(inputs))):
                seed, first = int(random.randint(MAX_SEED)), own_starts if number == 0 else []
                entrants.append(
                    Entrant(len(entrants), estimator, space, first, seed, _estimate_costs, tries_own=number == 0)
                )
                self._learner_names.append(learner.name)
        self._teacher = teacher
        teacher.race.entrants = entrants
        others = tuple(entrant.estimator for entrant in entrants[1:])
        settings = replace(inputs.settings, other_learners=others)
        return replace(inputs, settings=settings, **self._choice_settings())

    def _choice_settings(self) -> dict[str, Any]:
        ensemble, limit = self.ensemble, self.predict_time_limit
        if not isinstance(ensemble, bool | Integral) or ensemble < 0:
            raise ValueError(f"ensemble must be True, False or a number of models; got {ensemble!r}.")
        most = math.inf if limit is None else parse_row_seconds(limit)
        return {"n_members": MAX_MEMBERS if ensemble is True else int(ensemble), "max_row_seconds": most}

    def _hold_vote(self, result: SessionResult, inputs: FitInputs, budget: Budget) -> SessionResult:
        self.__dict__.pop("ensemble_", None)
        limit = inputs.max_row_seconds
        if result.row_seconds > limit:
            warnings.warn(
                f"No model predicts a row within {limit * 1e6:,.10g} us; the fastest one is returned, which takes "
                f"{result.row_seconds * 1e6:,.2f} us.",
                RuntimeWarning,
                stacklevel=3,
            )
        try:
            voted = make_vote(result, inputs, budget)
        finally:
            result.members.close()
        if voted is None:
            return result
        result, weights = voted
        self.ensemble_ = dict(weights)
        return result

    def _describe_shape(self, inputs: FitInputs) -> DataShape:
        types = [kind for _, kind in list_column_types(inputs.pool.training_table)]
        n_numeric = sum(kind.lower().startswith(("int", "uint", "float", "double")) for kind in types)
        share = n_numeric / len(types) if types else 1.0
        n_classes = 0 if inputs.labels is None else len(inputs.labels.classes)
        return DataShape(self.n_rows_in_, getattr(self, "n_features_in_", 1), n_classes, share)

    def _describe_candidate(self, number: int) -> str:
        contender = self._teacher.race.contenders[number]
        return f"{self._learner_names[contender.learner]}, {describe_settings(contender.settings)}"

    def _set_fitted(self, result: SessionResult, session: Session, inputs: FitInputs) -> None:
        super()._set_fitted(result, session, inputs)
        race: Race = self.__dict__.pop("_teacher").race
        names: list[str] = self.__dict__.pop("_learner_names")
        in_hand = 0 if race.in_hand is None else race.in_hand.number
        self.best_index_ = in_hand if result.candidate is None else result.candidate
        self.cv_results_ = make_cv_results(race.contenders, names, result.history, self.best_index_)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = None if result.record.estimate is None else result.record.estimate.value

    def _find_past(
        self, inputs: FitInputs, checkpoint: Checkpoint | None, budget: Budget
    ) -> tuple[FitState | None, Budget]:
        past, budget = super()._find_past(inputs, checkpoint, budget)
        if past is not None and past.is_over(budget):
            self._teacher.restore(past.notes)
        return past, budget

    def _all_learners(self, own_learner: Any) -> list[Any]:
        return [learner.estimator for learner in self._list_learners()]

    def _describe_learners(self, own_learner: Any) -> Fingerprint:
        learners = self._list_learners()
        described = {"learners": shorten(", ".join(learner.name for learner in learners))}
        for learner in learners:
            described |= describe_learner(learner.estimator, f"learner {learner.name}")
            described[f"space of {learner.name}"] = describe_value(learner.distributions)
        return described

    def _make_learner(self) -> Any:
        """Return the first learner."""
        return self._list_learners()[0].estimator

    def _score_rows(self, X: Any, y: Any, sample_weight: Any) -> float:
        scorer = get_scorer(self.scoring or ("r2" if self._regression else "accuracy"))
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


def _estimate_costs(estimator: Any, costs: CostEstimates) -> CostEstimates:
    can_stop_early = find_early_stopping(estimator) is not None
    return costs.for_other_learner(
        find_traits(estimator), can_stop_early=can_stop_early, knows_steps=knows_steps(estimator)
    )
