"""Base class of the estimators: parameters in, fitted attributes out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from fitwithin._core.budget import Budget, TimeLimit, parse_time_limit
from fitwithin._core.exceptions import DataSetWarning, join_names
from fitwithin._core.memory_limit import MemoryLimit, parse_memory_limit
from fitwithin._core.rounds import OnRound
from fitwithin._core.target import Array
from fitwithin._pools.tables import convert_arrow, find_input_kind, read_texts, split_scored_frame
from fitwithin._presets import make_preset
from fitwithin._session import fingerprint
from fitwithin._session.checkpoint import Checkpoint, open_checkpoint, read_stored_seconds
from fitwithin._session.experience import Experience
from fitwithin._session.fingerprint import Fingerprint
from fitwithin._session.fit_state import FitState
from fitwithin._session.forecast import ForecastMixin
from fitwithin._session.inputs.fit_arguments import FitArguments, Validation, clone_learner, find_backend, find_teacher
from fitwithin._session.inputs.fit_inputs import FitInputs, check_features, check_inputs, open_disk_pool
from fitwithin._session.listeners import SessionLog, ShowProgress, show_progress
from fitwithin._session.result import SessionResult
from fitwithin._session.session import Session
from fitwithin.backends import Backend, Runner
from fitwithin.backends._metrics import Scorer
from fitwithin.teachers import Teacher
from fitwithin.viz._history import History
from fitwithin.viz._report.report import ReportMixin

_UNWATCHED_MEMORY = (
    "This backend cannot stop a running fit. memory_limit only keeps a fit from starting if it is expected to need "
    "more, and the first fit may take any amount. To stop the learner at the limit, use backend='process'."
)


class TimeConstrainedEstimator(ReportMixin, ForecastMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Base of classifier and regressor."""

    # Weights are for the learner, which asks for them or does not.
    __metadata_request__fit: ClassVar[Mapping[str, Any]] = {"sample_weight": False}
    _regression: bool

    def __init__(
        self,
        estimator: Any = None,
        *,
        time_limit: TimeLimit = 60,
        teacher: str | Teacher = "auto",
        scoring: str | Scorer | None = None,
        backend: str | Backend = "process",
        progress: ShowProgress = "auto",
        on_round: OnRound | None = None,
        n_jobs: int | None = None,
        memory_limit: MemoryLimit | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        experience: str | os.PathLike[str] | None = None,
        fallback: Any = None,
        warm_start: bool = False,
        validation: Validation = "random",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.time_limit = time_limit
        self.teacher = teacher
        self.scoring = scoring
        self.backend = backend
        self.progress = progress
        self.on_round = on_round
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.experience = experience
        self.fallback = fallback
        self.warm_start = warm_start
        self.validation = validation
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        **params: Any,
    ) -> Self:
        """Train until the deadline, and keep the best model.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_rows, n_features), texts, data set or Dask collection
            Features. A frame reaches the learner as a frame, texts as an array; missing values stay as they are. A data
            set on disk is a path to parquet or Arrow files, a list of paths, a pyarrow data set or a polars lazy frame;
            its rows are read while the learner trains. A Dask collection needs ``backend=Dask(client)``.
        y : array-like of shape (n_rows,) or str
            Labels or values to learn, or the name of their column in X.
        sample_weight : array-like of shape (n_rows,) or str, optional
            Weight of each row, or the name of its column in X. Rows of X_val have the weight 1.
        groups : array-like of shape (n_rows,) or str, optional
            The group of each row, or the name of its column in X. Held-out rows are whole groups.
        X_val : array-like, sparse matrix or frame of shape (n_val, n_features), or data set, optional
            Your own validation set, of the same type as X; for a data set on disk, a path or a frame. A random half of
            it chooses the model, the other half gives `score_estimate_`, and no row of X is held out.
        y_val : array-like of shape (n_val,) or str, optional
            Labels or values of X_val, or the name of their column in X_val.
        **params : dict
            Other arguments of the learner's `fit`, by metadata routing. An array with an entry for each row is split.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        NoModelInTime, NoModelInMemory, LearnerFailed
            If the deadline, the memory limit or the end of the learner's process came before the first model. An
            exception that the learner raises before then comes out of `fit` as it is.
        """
        backend = find_backend(self.backend)
        budget = _start_budget(self, backend)
        teacher = self._make_teacher()
        experience = None if self.experience is None else Experience(self.experience)
        fallback = None if self.fallback is None else clone_learner(self.fallback, self._regression, "fallback")
        given = FitArguments(X, y, sample_weight, params, self.validation, groups, X_val, y_val).split_frames()
        with (
            nullcontext() if self.checkpoint is None else open_checkpoint(self.checkpoint, budget) as checkpoint,
            backend.open(budget) as runner,
            show_progress(self.progress, budget, self._describe_candidate) as display,
            ExitStack() as cleanup,
        ):
            inputs = self._open_inputs(given, teacher, backend, runner, budget)
            cleanup.callback(inputs.pool.close)
            if experience is not None:
                experience.compare(self, inputs)
            inputs = self._prepare_teacher(inputs, {} if experience is None else experience.best_settings)
            past, budget = self._find_past(inputs, checkpoint, budget)
            log = SessionLog(budget, self._describe_candidate)
            log.on_start([inputs.learner, *inputs.settings.other_learners], self.n_rows_in_)
            listeners = [log] if display is None else [display, log]
            options = {"on_round": self.on_round, "checkpoint": checkpoint, "fallback": fallback}
            session = inputs.open_session(runner, budget, past, listeners=listeners, **options)
            if experience is not None and past is None:
                experience.begin(session.costs, budget)
            result = self._hold_vote(session.run(), inputs, budget)
            log.on_end(result)
        self._finish(result, session, inputs, experience)
        return self

    def _finish(
        self, result: SessionResult, session: Session, inputs: FitInputs, experience: Experience | None
    ) -> None:
        """Set the fitted attributes, write the experience, and warn of what the user should know."""
        self._set_fitted(result, session, inputs)
        if experience is not None:
            experience.write(result, getattr(self, "best_params_", {}))
        self.time_limit_, self.time_used_ = session.budget.seconds, session.budget.elapsed()
        for message, category in result.warnings:
            warnings.warn(message, category, stacklevel=3)
        if (unread := inputs.pool.describe_unread_rows()) is not None:
            warnings.warn(unread, DataSetWarning, stacklevel=3)

    def _open_inputs(
        self, given: FitArguments, teacher: Teacher, backend: Backend, runner: Runner, budget: Budget
    ) -> FitInputs:
        """Check the input, and open its rows; a runner may know the memory of a cluster, and open rows there."""
        find_total = getattr(runner, "find_memory", None)
        limit = None if self.memory_limit is None else parse_memory_limit(self.memory_limit, find_total)
        open_on_disk = partial(open_disk_pool, budget, getattr(backend, "spool", None))
        inputs = check_inputs(self, given, teacher, limit, getattr(runner, "open_pool", open_on_disk))
        if limit is not None and not runner.killable:
            warnings.warn(_UNWATCHED_MEMORY, RuntimeWarning, stacklevel=3)
        self.memory_limit_ = limit
        return inputs

    def _make_teacher(self) -> Teacher:
        return find_teacher(self.teacher)

    def _prepare_teacher(self, inputs: FitInputs, best_settings: Mapping[str, Any]) -> FitInputs:
        """Tell the teacher what is known once the input is checked: the best hyperparameters of an earlier fit too."""
        return inputs

    def _hold_vote(self, result: SessionResult, inputs: FitInputs, budget: Budget) -> SessionResult:
        """Return the result with a vote of several models, if the user wants one and it is better."""
        return result

    def _describe_candidate(self, number: int) -> str:
        """Return the learner and the settings of a candidate of a search, for the display and the log."""
        return str(number)

    def _all_learners(self, own_learner: Any) -> list[Any]:
        """Return the learners that get the arguments of `fit`."""
        return [own_learner] if self.fallback is None else [own_learner, self.fallback]

    def _describe_learners(self, own_learner: Any) -> Fingerprint:
        """Return what must be equal of the learners in a resumed fit."""
        return fingerprint.describe_learner(own_learner)

    def _find_past(
        self, inputs: FitInputs, checkpoint: Checkpoint | None, budget: Budget
    ) -> tuple[FitState | None, Budget]:
        """Return the fit to resume, in memory or in the checkpoint, and a budget that counts its seconds."""
        given, stored = inputs.fingerprint, None
        if checkpoint is not None and given is not None:
            facts = fingerprint.describe_fit(self, inputs.learner, inputs.pool, budget.seconds)
            stored = checkpoint.begin(given, facts, fingerprint.learner_types(inputs.learner))
        kept: tuple[Fingerprint, FitState] | None = getattr(self, "_kept_state", None)
        if not self.warm_start or kept is None or kept[0] != given:
            return stored, budget
        if not (unclear := fingerprint.list_not_comparable(kept[0])):
            return kept[1], budget.after(kept[1].seconds)
        text = f"warm_start has no effect: {join_names(unclear)} cannot be compared with that of the last fit."
        warnings.warn(text, RuntimeWarning, stacklevel=3)
        return stored, budget

    def _set_fitted(self, result: SessionResult, session: Session, inputs: FitInputs) -> None:
        record, estimate = result.record, result.record.fresh_estimate
        self.__dict__.pop("_kept_state", None)
        if self.warm_start and result.stop_reason != "fallback":
            # The next call resumes it; it takes five bytes a row.
            self._kept_state = inputs.fingerprint, replace(session.state(result.stop_reason), model=result.model)
        self._learner_costs = result.describe_costs(session.deck.size, inputs.settings.scoring)
        self.__dict__.update(inputs.list_rows(result))
        self.best_estimator_ = result.model
        self.history_ = History(result.history)
        self.stop_reason_ = result.stop_reason
        self.n_rows_trained_, self.lost_seconds_ = record.n_rows, result.seconds_lost
        if record.class_counts is not None:
            self.class_count_trained_ = record.class_counts
        self.score_estimate_ = None if estimate is None else (estimate.value, estimate.low, estimate.high)

    def _make_learner(self) -> Any:
        """Return the user's learner, or the one of that name."""
        if isinstance(self.estimator, str):
            return make_preset(self.estimator, regression=self._regression)
        return _default_learner(self._regression) if self.estimator is None else self.estimator

    def _learner_or_default(self) -> Any:
        """Return the learner, or the default one if its name is unknown; `fit` reports the error."""
        try:
            return self._make_learner()
        except (ImportError, TypeError, ValueError):
            return _default_learner(self._regression)

    def predict(self, X: Any) -> Array:
        """Predict with the best model.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_rows, n_features), data set or Dask collection
            Rows to predict. A data set on disk is read in parts. A Dask collection gives a Dask array.
        """
        return self._call_best("predict", X)

    def _call_best(self, method: str, X: Any) -> Array:
        check_is_fitted(self)
        X = _convert_texts(self, X)
        kind = find_input_kind(X)
        if kind == "collection":
            from fitwithin.backends._dask.estimator_inputs import predict_collection

            on_cluster: Array = predict_collection(self, method, X)
            return on_cluster
        if kind == "data set":
            from fitwithin._pools.sources.opening import predict_blocks

            names = self.feature_names_in_.tolist() if hasattr(self, "feature_names_in_") else None
            # A model that was fitted on an array takes all columns, without their names.
            convert = np.asarray if names is None else (lambda frame: frame)
            return predict_blocks(lambda frame: self._call_best(method, convert(frame)), X, names)
        answer: Array = getattr(self.best_estimator_, method)(convert_arrow(check_features(self, X)))
        return answer

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of the best model on these rows: accuracy, R2, or the `scoring` of a search.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_rows, n_features), data set or Dask collection
            Rows to predict. A data set on disk is read in parts, and a Dask collection stays on the workers.
        y : array-like of shape (n_rows,) or str
            Their labels or values, or the name of their column in X.
        sample_weight : array-like of shape (n_rows,) or str, optional
            Their weights, or the name of their column in X.
        """
        check_is_fitted(self)
        X = _convert_texts(self, X)
        kind, names = find_input_kind(X), getattr(self, "feature_names_in_", None)
        if kind == "collection":
            from fitwithin.backends._dask.estimator_inputs import read_collection_scores

            X, y, sample_weight = read_collection_scores(X, y, sample_weight, names)
        elif kind == "data set":
            from fitwithin._pools.sources.opening import read_score_arguments

            X, y, sample_weight = read_score_arguments(X, y, sample_weight, names)
        else:
            X, y, sample_weight = split_scored_frame(X, y, sample_weight, names)
        return float(self._score_rows(X, y, sample_weight))

    def _score_rows(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Return the score on rows without names of columns."""
        metric = r2_score if self._regression else accuracy_score
        return float(metric(y, self.predict(X), sample_weight=sample_weight))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how scikit-learn routes the arguments of `fit`: `groups`, `X_val` and `y_val` stay here."""
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(estimator=self._make_learner(), method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a best model."""
        return hasattr(self, "best_estimator_")


def _start_budget(estimator: TimeConstrainedEstimator, backend: Backend) -> Budget:
    """Start the clock; seconds of an interrupted fit count, unless `warm_start` gives it a new limit."""
    start, limit = backend.clock(), parse_time_limit(estimator.time_limit)
    is_new = estimator.warm_start and hasattr(estimator, "_kept_state")
    spent = 0.0 if is_new or estimator.checkpoint is None else read_stored_seconds(estimator.checkpoint)
    if isinstance(estimator.time_limit, datetime):
        # The point in time stays, however long earlier calls took.
        return Budget(limit, backend.clock, start=start).after(spent)
    return Budget(limit, backend.clock, spent=spent, start=start)


def _default_learner(regression: bool) -> Any:
    return HistGradientBoostingRegressor() if regression else HistGradientBoostingClassifier()


def inherit_tags(tags: Tags, learner: Any) -> Tags:
    """Return an estimator's tags with the learner's own, as far as they apply."""
    if hasattr(learner, "__sklearn_tags__"):
        own = get_tags(learner)
        for group in ("input_tags", "classifier_tags", "regressor_tags"):
            mine, theirs = getattr(tags, group), getattr(own, group)
            for name in ("allow_nan", "sparse", "string", "categorical", "multi_class", "poor_score"):
                if hasattr(mine, name) and hasattr(theirs, name):
                    setattr(mine, name, getattr(theirs, name))
    return tags


def _convert_texts(estimator: TimeConstrainedEstimator, X: Any) -> Any:
    """Return X as an array if it holds texts, and this was fitted on texts."""
    texts = None if hasattr(estimator, "n_features_in_") else read_texts(X)
    return X if texts is None else texts
