"""Base class of the estimators: parameters in, fitted attributes out."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from rich.console import Console
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.validation import check_array, check_is_fitted, has_fit_parameter, validate_data

from fitwithin._core.budget import Budget, TimeLimit, parse_time_limit
from fitwithin._core.cores import count_jobs
from fitwithin._core.cost import CostModel, Outlook
from fitwithin._core.exceptions import CheckpointWarning, DataSetWarning, LearnerFailedWarning
from fitwithin._core.log import LOGGER
from fitwithin._core.memory_cost import MemoryModel
from fitwithin._core.memory_limit import MemoryLimit, parse_memory_limit
from fitwithin._core.records import OnRound
from fitwithin._core.target import Array, Labels, Target
from fitwithin._pools.disk_pool import DiskPool
from fitwithin._pools.fit_params import refuse_row_params, split_fit_params
from fitwithin._pools.remote_table import RemoteTable
from fitwithin._pools.sources import (
    is_data_set,
    open_source,
    predict_blocks,
    read_score_arguments,
    split_frame,
    split_validation_frame,
)
from fitwithin._pools.table_pool import StackedTable, TablePool
from fitwithin._pools.tables import convert_arrow, describe_table, is_frame, list_column_types
from fitwithin._presets import make_preset
from fitwithin._session.checkpoint import Checkpoint, open_checkpoint
from fitwithin._session.fingerprint import (
    Fingerprint,
    describe_data_set,
    describe_learner,
    describe_rows,
    describe_value,
    learner_types,
)
from fitwithin._session.fit_state import FitState
from fitwithin._session.held_out_rows import (
    HeldOutRows,
    Validation,
    ValidationArguments,
    ValidationRows,
    encode_groups,
)
from fitwithin._session.log import SessionLog
from fitwithin._session.progress import DescribeCandidate, ProgressDisplay
from fitwithin._session.result import SessionResult
from fitwithin._session.session import Session
from fitwithin.backends import Backend, FitSettings, Inline, Process
from fitwithin.backends._dask.estimator_inputs import is_dask_collection, predict_collection, read_cluster_rows
from fitwithin.backends._early_stopping import find_early_stopping
from fitwithin.backends._scoring import Scorer, Scoring, make_scoring
from fitwithin.teachers import Deck, ParallelTeacher, Teacher
from fitwithin.teachers._block_deck import BlockDeck
from fitwithin.teachers._registry import TEACHERS
from fitwithin.viz._history import History
from fitwithin.viz._report import ReportMixin

_BACKENDS: Mapping[str, Callable[[], Backend]] = {"process": Process, "inline": Inline}
# Least rows of the rarest class in a first subset, for metrics other than accuracy, which are often undefined on fewer.
_MIN_CLASS_ROWS = 20
# Largest seed that every random generator takes.
_MAX_SEED = 2**31 - 1
_UNWATCHED_MEMORY = (
    "This backend cannot stop a fit, so memory_limit only keeps larger fits from being started, and the first fit may "
    "take any amount. Use backend='process' to have the learner stopped at the limit."
)

ShowProgress = Literal["auto"] | bool
"""Whether to show a live display; "auto" shows it on a terminal or in a notebook."""


@dataclass(frozen=True, eq=False)
class FitInputs:
    """The checked input of `fit`.

    Parameters
    ----------
    learner : estimator
        A clone of the user's learner, with its random states filled.
    pool : TablePool or DiskPool
        The rows of X and, after them, those of X_val.
    settings : FitSettings
        How to fit and score the learner.
    labels : Labels or None
        The class of each row; None for regression.
    rng : numpy.random.Generator
        For every choice of rows.
    fingerprint : dict or None
        The rows and the learner, to compare with an earlier fit; None if there is none to compare with.
    held_out : HeldOutRows or None
        Validation and holdout rows that the user chose; None if the teacher chooses them.
    """

    learner: Any
    pool: TablePool | DiskPool
    settings: FitSettings
    labels: Labels | None
    rng: np.random.Generator
    fingerprint: Fingerprint | None = None
    held_out: HeldOutRows | None = None

    @property
    def training_table(self) -> Any:
        """X, without X_val; of a data set on disk, a frame without rows."""
        return self.pool.X.first if isinstance(self.pool.X, StackedTable) else self.pool.X


@dataclass(frozen=True, eq=False)
class _FitArguments:
    """The arguments of a fit that hold rows, and where to read them.

    Parameters
    ----------
    X, y : table and array-like, or data set and str
        Features, and labels or values; or a data set on disk, and a column's name.
    params : dict
        Arguments of the learner's `fit`.
    budget : Budget
        Ends reading at the deadline.
    spool : str, path-like or None
        Folder for the rows that are read from a data set on disk.
    """

    X: Any
    y: Any
    params: Mapping[str, Any]
    budget: Budget
    spool: str | os.PathLike[str] | None


class TimeConstrainedEstimator(ReportMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
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
        """Fit the best model that the time limit allows.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_rows, n_features), or data set
            Features. They are not copied whole, and not checked for missing values, which some learners take.
            Frames reach the learner as frames. A data set on disk is a path to parquet or Arrow files, a list of
            paths, a pyarrow data set or a polars lazy frame; its rows are read in the background, in random order, and
            reach the learner as frames.
        y : array-like of shape (n_rows,) or str
            Labels or values to learn, or the name of their column in X.
        sample_weight : array-like of shape (n_rows,) or str, optional
            Weight of each row, for the learner and for the score, or the name of its column in X. Rows of X_val have
            the weight 1.
        groups : array-like of shape (n_rows,), optional
            The group of each row: numbers, text or other hashable labels. All rows of a group are training rows,
            or validation rows, or holdout rows.
        X_val : array-like, sparse matrix or frame of shape (n_val, n_features), optional
            Rows to choose the model by, of the type of X; no row of X is kept back then. One half of them, at random,
            are validation rows, the other half holdout rows. No model is trained on them.
        y_val : array-like of shape (n_val,) or str, optional
            Labels or values of X_val, or the name of their column in X_val.
        **params : dict
            Other arguments of the learner's `fit`, by metadata routing. An array with one entry for each row is
            split with the rows; anything else is passed as it is.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        NoModelInTime
            If no model could be trained by the deadline.
        LearnerFailed
            If the learner's process died before the first model.
        NoModelInMemory
            If the learner took more than the memory limit before the first model.
        """
        backend: Backend = _resolve("backend", self.backend, _BACKENDS, "open")
        budget = Budget(parse_time_limit(self.time_limit), clock=backend.clock)
        memory_limit = None if self.memory_limit is None else parse_memory_limit(self.memory_limit)
        if X_val is not None:
            X_val, y_val = split_validation_frame(X_val, y_val, sample_weight)
        if not is_data_set(X) and not is_dask_collection(X):
            X, y, sample_weight = split_frame(X, y, sample_weight)
        teacher = self._make_teacher()
        n_lanes = count_lanes(teacher, self.n_jobs)
        arguments = ValidationArguments(self.validation, groups, X_val, y_val)
        scoring = make_scoring(self.scoring, regression=self._regression, weighted=sample_weight is not None)
        with (
            open_checkpoint(self.checkpoint, budget) as checkpoint,
            backend.open(budget) as runner,
            show_progress(self.progress, budget, self._describe_candidate) as display,
            ExitStack() as cleanup,
        ):
            X, y, sample_weight = read_cluster_rows(runner, arguments, X, y, sample_weight, regression=self._regression)
            fit_params = self._route(sample_weight, groups, params)
            rows = _FitArguments(X, y, fit_params, budget, getattr(backend, "spool", None))
            inputs = self._prepare_teacher(
                teacher, self._check_inputs(rows, teacher, scoring, memory_limit, arguments, n_lanes)
            )
            if isinstance(inputs.pool, DiskPool):
                cleanup.callback(inputs.pool.close)
            if memory_limit is not None and not runner.killable:
                warnings.warn(_UNWATCHED_MEMORY, RuntimeWarning, stacklevel=2)
            past = self._find_past(inputs, checkpoint, budget)
            if past is None or not past.is_over(budget):
                if isinstance(inputs.pool, DiskPool):
                    inputs.pool.start()
                runner.prepare(inputs.learner, inputs.pool, inputs.settings)
            outlook = _make_outlook(budget, inputs.settings, killable=runner.killable)
            log = SessionLog(budget, self._describe_candidate) if LOGGER.isEnabledFor(logging.INFO) else None
            if log is not None:
                log.on_start(inputs.learner, self.n_rows_in_, inputs.settings.other_learners)
            session = Session(
                teacher,
                runner,
                _make_deck(inputs, outlook),
                budget,
                outlook,
                labels=inputs.labels,
                listeners=[listener for listener in (display, log) if listener is not None],
                on_round=self.on_round,
                past=past,
                checkpoint=checkpoint,
                n_jobs=n_lanes,
            )
            result = session.run()
            if log is not None:
                log.on_end(result)
        self._set_fitted(result)
        self._keep_state(session.state(result.stop_reason), result, inputs)
        self.time_limit_, self.time_used_ = budget.seconds, budget.elapsed()
        self.memory_limit_ = memory_limit
        if result.failure is not None:
            warnings.warn(result.failure, LearnerFailedWarning, stacklevel=2)
        if isinstance(inputs.pool, DiskPool) and inputs.pool.supply.failure is not None:
            warnings.warn(inputs.pool.describe_failure(), DataSetWarning, stacklevel=2)
        for message in () if checkpoint is None else checkpoint.messages:
            warnings.warn(message, CheckpointWarning, stacklevel=2)
        return self

    def _make_teacher(self) -> Teacher:
        teacher: Teacher = _resolve("teacher", self.teacher, TEACHERS, "teach")
        return teacher

    def _prepare_teacher(self, teacher: Teacher, inputs: FitInputs) -> FitInputs:
        """Tell the teacher what is known once the input is checked."""
        return inputs

    def _describe_candidate(self, number: int) -> str:
        """Return the learner and the settings of a candidate of a search, for the display and the log."""
        return str(number)

    def _find_past(self, inputs: FitInputs, checkpoint: Checkpoint | None, budget: Budget) -> FitState | None:
        """Return the fit to go on from, in memory or in the checkpoint, and count its seconds."""
        fingerprint = inputs.fingerprint
        stored = None
        if checkpoint is not None and fingerprint is not None:
            stored = checkpoint.begin(fingerprint, self._describe_fit(inputs, budget), learner_types(inputs.learner))
            budget.spent += 0.0 if stored is None else stored.seconds
        kept: tuple[Fingerprint, FitState] | None = getattr(self, "_kept_state", None)
        if not self.warm_start or kept is None or kept[0] != fingerprint:
            return stored
        budget.spent += kept[1].seconds - (0.0 if stored is None else stored.seconds)
        budget.seconds += kept[1].seconds
        return kept[1]

    def _keep_state(self, state: FitState, result: SessionResult, inputs: FitInputs) -> None:
        """Keep what the next call with `warm_start` goes on from; it takes five bytes a row."""
        self.__dict__.pop("_kept_state", None)
        if self.warm_start:
            self._kept_state = inputs.fingerprint, replace(state, model=result.model)

    def _describe_fit(self, inputs: FitInputs, budget: Budget) -> dict[str, Any]:
        """Return what a reader of the checkpoint needs in place of the data."""
        X, labels = inputs.training_table, inputs.labels
        return {
            "task": "regression" if self._regression else "classification",
            "classes": [] if labels is None else [_to_json_label(label) for label in labels.classes.tolist()],
            "features": self.n_features_in_,
            "columns": list_column_types(X),
            "learner": self.estimator if isinstance(self.estimator, str) else type(inputs.learner).__name__,
            "teacher": self.teacher if isinstance(self.teacher, str) else type(self.teacher).__name__,
            "scoring": _scoring_name(self.scoring) or ("r2" if self._regression else "accuracy"),
            "time_limit": budget.seconds,
            "target_type": str(inputs.pool.y.decode(inputs.pool.y.column[:0]).dtype),
        }

    def _check_inputs(
        self,
        rows: _FitArguments,
        teacher: Teacher,
        scoring: Scoring,
        memory_limit: int | None,
        arguments: ValidationArguments,
        n_lanes: int,
    ) -> FitInputs:
        learner = self._check_learner()
        validate_teacher(teacher, learner, regression=self._regression)
        training, fit_params = self._open_pool(rows)
        if fit_params and "partial_fit" in getattr(teacher, "needs", ()):
            raise ValueError(
                f"{', '.join(fit_params)}: got arguments of fit without one entry for each row, which partial_fit "
                "cannot take. Leave them out, or choose another teacher."
            )
        random = check_random_state(self.random_state)
        seed = None if self.random_state is None else int(random.randint(_MAX_SEED))
        if seed is not None:
            fill_random_states(learner, random)
        prevent_log_files(learner)
        # One seed for all models of this fit, so that intervals from resamples do not differ by chance.
        scoring = replace(scoring, seed=int(random.randint(_MAX_SEED)) if seed is None else seed)
        self.n_rows_in_ = len(training)
        chosen = self._check_validation_rows(arguments, training)
        pool = training
        if isinstance(training, TablePool) and chosen.table is not None:
            pool = training.add_validation_rows(chosen.table)
        labels = pool.y if isinstance(pool.y, Labels) else None
        rng = np.random.default_rng(random.randint(_MAX_SEED))
        can_go_on = self.checkpoint is not None or self.warm_start
        # A fit that goes on must hold out the same rows, whatever its random state.
        held_out = None
        if isinstance(training, TablePool):
            held_out = chosen.hold_out(training, np.random.default_rng(0) if can_go_on else rng)
        return FitInputs(
            learner,
            pool,
            FitSettings(
                scoring,
                fit_params,
                seed,
                None if labels is None else labels.classes,
                find_early_stopping(learner),
                # Each of several learners may take the same share.
                None if memory_limit is None else max(1, memory_limit // n_lanes),
                n_lanes,
            ),
            labels,
            rng,
            {**self._describe_inputs(training, fit_params), **chosen.describe()} if can_go_on else None,
            held_out,
        )

    def _open_pool(self, rows: _FitArguments) -> tuple[TablePool | DiskPool, dict[str, Any]]:
        """Return the training rows, and the arguments of the learner's `fit` without one entry for each row."""
        weight = rows.params.get("sample_weight")
        source = open_source(rows.X, rows.y, weight, spool=rows.spool, is_over=lambda: rows.budget.is_spent)
        if source is None:
            features = self._check_features(rows.X, rows.y)
            target = self._check_target(rows.y)
            row_params, fit_params = split_fit_params(rows.params, len(target.column))
            return TablePool(features, target, row_params), fit_params
        # A fit that goes on must give the same rows the same numbers, whatever its random state.
        can_go_on = self.checkpoint is not None or self.warm_start
        seed = 0 if can_go_on else int(check_random_state(self.random_state).randint(_MAX_SEED))
        folder = None if rows.spool is None else os.fspath(rows.spool)
        pool = DiskPool.open(source, regression=self._regression, seed=seed, budget=rows.budget, folder=folder)
        if isinstance(pool.y, Labels):
            self._keep_classes(pool.y)
        validate_data(self, pool.X, reset=True, skip_check_array=True)
        others = {name: value for name, value in rows.params.items() if name != "sample_weight"}
        refuse_row_params(others, len(pool))
        return pool, others

    def _check_validation_rows(self, arguments: ValidationArguments, training: TablePool | DiskPool) -> ValidationRows:
        if isinstance(training, DiskPool):
            arguments.refuse_for_data_set()
            return ValidationRows(arguments.validation)
        groups = None if arguments.groups is None else encode_groups(arguments.groups, len(training))
        table = None
        if arguments.X_val is not None:
            target = training.y.read_more(arguments.y_val)
            table = TablePool(self._check_validation_features(arguments.X_val, training.X), target)
            if table.X.shape[0] != len(table):
                raise ValueError(
                    f"X_val has {table.X.shape[0]} rows and y_val {len(table)}; expected one entry of y_val for each "
                    "row of X_val."
                )
        return ValidationRows(arguments.validation, groups, table)

    def _check_validation_features(self, X_val: Any, X: Any) -> Any:
        """Return X_val as the learner gets it; raise if its type or its columns are not those of X."""
        if not is_frame(X_val) and not is_frame(X):
            X_val = check_array(
                X_val,
                ensure_all_finite=False,
                dtype=None,
                accept_sparse="csr",
                ensure_min_samples=0,
                input_name="X_val",
            )
        if describe_table(X_val) != describe_table(X):
            raise TypeError(
                f"X_val is {describe_table(X_val)} and X {describe_table(X)}; both must be of one type. Convert X_val."
            )
        if X_val.shape[1] != X.shape[1]:
            raise ValueError(
                f"X_val has {X_val.shape[1]} features and X has {X.shape[1]}; both must have the same. "
                "Pass the columns of X, in their order."
            )
        if is_frame(X):
            self._check_features(X_val)
        elif not np.can_cast(X_val.dtype, X.dtype, "same_kind"):
            raise TypeError(
                f"X_val holds values of type {X_val.dtype}, which do not fit into the type of X, {X.dtype}. "
                "Convert one of them."
            )
        return X_val

    def _describe_inputs(self, pool: TablePool | DiskPool, fit_params: Mapping[str, Any]) -> Fingerprint:
        return {
            "task": "regression" if self._regression else "classification",
            **(describe_data_set(pool) if isinstance(pool, DiskPool) else describe_rows(pool)),
            **describe_learner(self._make_learner()),
            "scoring": _scoring_name(self.scoring) or "the default",
            "other arguments of fit": ", ".join(sorted(fit_params)) or "none",
        }

    def _set_fitted(self, result: SessionResult) -> None:
        estimate = result.estimate
        self.best_estimator_ = result.model
        self.history_ = History(result.history)
        self.stop_reason_ = result.stop_reason
        self.n_rows_taught_ = result.n_rows
        self.lost_seconds_ = result.seconds_lost
        if result.class_counts is not None:
            self.class_count_taught_ = result.class_counts
        self.score_estimate_ = None if estimate is None else (estimate.value, estimate.low, estimate.high)

    def _check_target(self, y: Any) -> Target:
        raise NotImplementedError

    def _keep_classes(self, labels: Labels) -> None:
        """Keep the classes that were found, and the rows of each."""
        self.classes_ = labels.classes
        self.class_count_ = labels.counts

    def _default_learner(self) -> Any:
        raise NotImplementedError

    def _check_kind(self, learner: Any) -> None:
        """Refuse a regressor in a classifier, and the other way round."""
        raise NotImplementedError

    def _make_learner(self) -> Any:
        """Return the user's learner, or the one of that name."""
        if isinstance(self.estimator, str):
            return make_preset(self.estimator, regression=self._regression)
        return self._default_learner() if self.estimator is None else self.estimator

    def _learner_or_default(self) -> Any:
        """Return the learner, or the default one if its name is unknown; `fit` reports the error."""
        try:
            return self._make_learner()
        except (ImportError, ValueError):
            return self._default_learner()

    def _check_learner(self) -> Any:
        learner = self._make_learner()
        missing = [name for name in ("fit", "predict") if not callable(getattr(learner, name, None))]
        if missing or isinstance(learner, type):
            raise TypeError(
                f"estimator must be an object with fit and predict, such as DecisionTreeClassifier(); got {learner!r}"
                + (f", which has no {' and no '.join(missing)}." if missing else ", a class: add parentheses.")
            )
        if hasattr(learner, "__sklearn_tags__"):
            self._check_kind(learner)
        return clone(learner, safe=False)

    def _route(self, sample_weight: Any, groups: Any, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the learner's `fit`."""
        given = dict(params) | ({} if sample_weight is None else {"sample_weight": sample_weight})
        if get_config()["enable_metadata_routing"]:
            if groups is not None and get_routing_for_object(self._make_learner()).consumes("fit", ["groups"]):
                # The groups are for this estimator; a learner that asks for them, such as a search, gets them too.
                given["groups"] = groups
            return dict(process_routing(self, "fit", **given).estimator.fit)
        if params:
            raise ValueError(
                f"{', '.join(params)} can be passed to fit only by metadata routing: call "
                "sklearn.set_config(enable_metadata_routing=True) and set_fit_request on the estimator."
            )
        if sample_weight is not None and not has_fit_parameter(self._make_learner(), "sample_weight"):
            raise TypeError(f"The learner {type(self._make_learner()).__name__} takes no sample_weight in its fit.")
        return given

    def _check_features(self, X: Any, y: Any = None) -> Any:
        """Return X as the learner gets it; missing values are left to the learner."""
        reset = y is not None
        if isinstance(X, RemoteTable):
            validate_data(self, X.empty, reset=reset, skip_check_array=True)
            return X
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if reset and len(X) != len(y):
                raise ValueError(f"Found input variables with inconsistent numbers of samples: {[len(X), len(y)]}")
            if not len(X):
                raise ValueError("Found a frame with 0 sample(s) while a minimum of 1 is required.")
            return X
        checks = {"ensure_all_finite": False, "dtype": None, "accept_sparse": "csr"}
        if not reset:
            return validate_data(self, X, reset=False, **checks)
        features, _ = validate_data(self, X, y, multi_output=True, **checks)
        return features

    def predict(self, X: Any) -> Array:
        """Predict with the best model.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_rows, n_features), or data set
            Rows to predict. A data set on disk is read block by block: a path to parquet or Arrow files, a list of
            paths, a pyarrow data set or a polars lazy frame.
        """
        return self._call_best("predict", X)

    def _call_best(self, method: str, X: Any) -> Array:
        check_is_fitted(self)
        if is_dask_collection(X):
            on_cluster: Array = predict_collection(self, method, X)
            return on_cluster
        if is_data_set(X):
            names = self.feature_names_in_.tolist() if hasattr(self, "feature_names_in_") else None
            # A model that was fitted on an array takes all columns, without their names.
            convert = np.asarray if names is None else (lambda frame: frame)
            return predict_blocks(lambda frame: self._call_best(method, convert(frame)), X, names)
        answer: Array = getattr(self.best_estimator_, method)(convert_arrow(self._check_features(X)))
        return answer

    def _read_score_arguments(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Return the arguments of `score` with values in the place of names of columns."""
        return read_score_arguments(X, y, sample_weight, getattr(self, "feature_names_in_", None))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where the arguments of `fit` go: groups, X_val and y_val stay here, others go to the learner."""
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(estimator=self._make_learner(), method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a best model."""
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Tags:
        """Return the learner's own tags, as far as they apply."""
        tags = super().__sklearn_tags__()
        if hasattr(self._learner_or_default(), "__sklearn_tags__"):
            learner = get_tags(self._learner_or_default())
            for name in ("allow_nan", "sparse", "string", "categorical"):
                setattr(tags.input_tags, name, getattr(learner.input_tags, name))
        return tags


def validate_teacher(teacher: Teacher, learner: Any, *, regression: bool) -> None:
    """Refuse a teacher that needs more of the learner than it has."""
    name = type(teacher).__name__
    if regression and getattr(teacher, "classes_only", False):
        raise ValueError(
            f"The teacher {name} works with classes only; for a regressor use the teacher 'tct' or 'double'."
        )
    missing = [method for method in getattr(teacher, "needs", ()) if not hasattr(learner, method)]
    if missing:
        raise TypeError(
            f"The teacher {name} needs a learner with {' and '.join(missing)}, which {type(learner).__name__} does "
            "not have; choose another learner, or the teacher 'tct', which needs fit and predict only."
        )


def count_lanes(teacher: Teacher, n_jobs: int | None) -> int:
    """Return the learners that are at work at the same time: at most as many as the teacher has work for.

    Raises
    ------
    ValueError
        If `n_jobs` is 0 or no integer.
    """
    n_lanes = count_jobs(n_jobs)
    if not isinstance(teacher, ParallelTeacher):
        return 1
    return n_lanes if teacher.max_lanes is None else min(n_lanes, teacher.max_lanes)


def show_progress(
    progress: ShowProgress, budget: Budget, describe_candidate: DescribeCandidate = str
) -> AbstractContextManager[ProgressDisplay | None]:
    """Return the live display that the user wants, as a context manager; None where nothing is shown.

    Raises
    ------
    ValueError
        If `progress` is neither "auto" nor a boolean.
    """
    if not isinstance(progress, bool) and progress != "auto":
        raise ValueError(f'progress must be "auto", True or False; got {progress!r}.')
    console = Console(stderr=True)
    if progress is True or (progress == "auto" and (console.is_terminal or console.is_jupyter)):
        return ProgressDisplay(budget, console, describe_candidate)
    return nullcontext()


def _resolve(parameter: str, value: Any, known: Mapping[str, Callable[[], Any]], method: str) -> Any:
    """Return the object that a parameter names, or is."""
    if isinstance(value, str) and value in known:
        return known[value]()
    if not isinstance(value, str) and callable(getattr(value, method, None)) and not isinstance(value, type):
        return value
    names = ", ".join(f'"{name}"' for name in known)
    raise ValueError(f"{parameter} must be one of {names}, or an object with a method {method!r}; got {value!r}.")


def _make_outlook(budget: Budget, settings: FitSettings, *, killable: bool) -> Outlook:
    can_stop_early = settings.early_stopping is not None
    cost = CostModel.for_learner(can_stop_early=can_stop_early)
    memory = MemoryModel(settings.memory_limit)
    return Outlook(budget, cost, can_stop_early=can_stop_early, killable=killable, memory=memory)


def _make_deck(inputs: FitInputs, outlook: Outlook) -> Deck:
    codes, counts = (None, None) if inputs.labels is None else (inputs.labels.codes, inputs.labels.counts)
    min_class_rows = 1 if inputs.settings.scoring.is_accuracy else _MIN_CLASS_ROWS
    if isinstance(inputs.pool, DiskPool):
        return BlockDeck(inputs.pool.supply, inputs.rng, codes, counts, min_class_rows, outlook)
    deck = Deck(len(inputs.pool), inputs.rng, codes, min_class_rows, outlook, counts)
    if inputs.held_out is not None:
        deck.hold_out(inputs.held_out.validation, inputs.held_out.holdout, can_refit=inputs.held_out.can_refit)
    return deck


def _to_json_label(label: Any) -> str | bool | int | float:
    return label if isinstance(label, str | bool | int | float) else str(label)


def _scoring_name(scoring: str | Scorer | None) -> str | None:
    return scoring if scoring is None or isinstance(scoring, str) else describe_value(scoring)


def prevent_log_files(learner: Any) -> None:
    """Keep CatBoost from writing a folder of logs in the working folder, unless the user asked for one."""
    parameters = learner.get_params(deep=True) if hasattr(learner, "get_params") else {}
    for part in (learner, *parameters.values()):
        if type(part).__module__.startswith("catboost.") and not {"allow_writing_files", "train_dir"} & set(
            part.get_params()
        ):
            part.set_params(allow_writing_files=False)


def fill_random_states(learner: Any, random: np.random.RandomState) -> None:
    """Set every `random_state` of the learner and its parts that is None."""
    if not hasattr(learner, "get_params"):
        return
    parameters = learner.get_params(deep=True)
    unset = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state" and parameters[name] is None]
    if unset:
        learner.set_params(**{name: int(random.randint(_MAX_SEED)) for name in unset})
