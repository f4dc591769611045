"""The scikit-learn face: parameters in, fitted attributes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.metrics import get_scorer
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from fitwithin._core.budget import Budget, TimeLimit, parse_time_limit
from fitwithin._core.cost import GROWTH, CostModel, Outlook
from fitwithin._core.records import OnRound
from fitwithin._core.scoring import Scorer, Scoring, is_made
from fitwithin._core.tables import as_learned, is_frame
from fitwithin._core.target import Array, Labels, Target
from fitwithin._pools import TablePool, by_rows
from fitwithin._presets import preset
from fitwithin._session.progress import ShowProgress, display
from fitwithin._session.result import Outcome
from fitwithin._session.session import Session
from fitwithin.backends import Backend, Inline, Process, Runner, FitSettings
from fitwithin.backends._early_stopping import find_early_stopping
from fitwithin.teachers import Deck, Teacher
from fitwithin.teachers._registry import TEACHERS as TEACHERS
from fitwithin.viz._history import History
from fitwithin.viz._report import Reporting

_BACKENDS: Mapping[str, Callable[[], Backend]] = {"process": Process, "inline": Inline}


# Any other metric than accuracy may say nothing at all about a class of very few rows.
_LEAST_OF_A_CLASS = 20


class TimeConstrainedEstimator(Reporting, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """What classifier and regressor have in common."""

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
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.time_limit = time_limit
        self.teacher = teacher
        self.scoring = scoring
        self.backend = backend
        self.progress = progress
        self.on_round = on_round
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Train the best model that the time allows.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_rows, n_features)
            The pool's features. They are not copied whole, and not checked for gaps: the learner
            says what it can take. Frames reach the learner as frames.
        y : array-like of shape (n_rows,)
            What is to be learned.
        sample_weight : array-like of shape (n_rows,), optional
            A weight for each row, passed on with it; scores are then weighted too.
        **params : dict
            Other arguments of the learner's `fit`, by metadata routing: row by row if they have as
            many entries as there are rows, as they are otherwise.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        NoModelInTime
            If nothing could be trained by the deadline.
        LearnerFailed
            If the learner's process died in its first round.
        """
        backend: Backend = _named("backend", self.backend, _BACKENDS, "open")
        budget = Budget(parse_time_limit(self.time_limit), clock=backend.clock)
        teacher: Teacher = _named("teacher", self.teacher, TEACHERS, "teach")
        scorer = self._scorer(weighted=sample_weight is not None)
        with backend.open(budget) as runner, display(self.progress, budget) as shown:
            watchers = () if shown is None else (shown,)
            deck, labels = self._seated(runner, teacher, X, y, scorer, self._routed(sample_weight, params), budget)
            cost, scored = deck.outlook.cost, scorer is not None
            outcome = Session(teacher, runner, budget, cost, watchers, self.on_round, scored=scored).run(deck, labels)
        self._remember(outcome)
        self.time_limit_, self.time_used_ = budget.seconds, budget.elapsed()
        return self

    def _seated(
        self,
        runner: Runner,
        teacher: Teacher,
        X: Any,
        y: Any,
        scorer: Scorer | None,
        params: Mapping[str, Any],
        budget: Budget,
    ) -> tuple[Deck, Labels | None]:
        """Check the input, runner the learner before its pool, and shuffle the deck."""
        learner = self._checked_learner()
        refuse_unfit_teacher(teacher, learner, regression=self._regression)
        features = self._features(X, y)
        target = self._target(y)
        extras, options = by_rows(params, len(target.column))
        if options and "partial_fit" in getattr(teacher, "needs", ()):
            raise ValueError(
                f"{', '.join(options)}: arguments of fit that do not go by rows have no place in partial_fit."
            )
        random = check_random_state(self.random_state)
        seed = None if self.random_state is None else int(random.randint(2**31 - 1))
        if seed is not None:
            fill_random_states(learner, random)
        keep_the_folder_clean(learner)
        pool = TablePool(features, target, extras)
        self.n_rows_in_ = len(pool)
        labels = target if isinstance(target, Labels) else None
        strata, classes = (None, None) if labels is None else (labels.codes, labels.classes)
        task = FitSettings(Scoring(scorer, self._regression), options, seed, classes, find_early_stopping(learner))
        runner.prepare(learner, pool, task)
        least = 1 if self.scoring in (None, "accuracy") else _LEAST_OF_A_CLASS
        # A learner that goes by steps takes time in proportion to its rows.
        can_stop_early = task.early_stopping is not None
        outlook = Outlook(
            budget,
            CostModel(1.0 if can_stop_early else GROWTH),
            can_stop_early=can_stop_early,
            killable=runner.killable,
        )
        return Deck(len(pool), np.random.default_rng(random.randint(2**31 - 1)), strata, least, outlook), labels

    def _remember(self, outcome: Outcome) -> None:
        estimate = outcome.estimate
        self.best_estimator_ = outcome.model
        self.history_ = History(outcome.history)
        self.stop_reason_ = outcome.stop_reason
        self.n_rows_taught_ = outcome.rows
        if outcome.by_class is not None:
            self.class_count_taught_ = outcome.by_class
        self.score_estimate_ = None if estimate is None else (estimate.value, estimate.low, estimate.high)

    def _target(self, y: Any) -> Target:
        raise NotImplementedError

    def _default_learner(self) -> Any:
        raise NotImplementedError

    def _learner(self) -> Any:
        """The user's learner, or the one that its name stands for."""
        if isinstance(self.estimator, str):
            return preset(self.estimator, regression=self._regression)
        return self._default_learner() if self.estimator is None else self.estimator

    def _shown_learner(self) -> Any:
        """The same before `fit`: an object with a name that nobody knows can be looked at, and is refused in `fit`."""
        try:
            return self._learner()
        except (ImportError, ValueError):
            return self._default_learner()

    def _refuse_wrong_kind(self, learner: Any) -> None:
        raise NotImplementedError

    def _checked_learner(self) -> Any:
        learner = self._learner()
        missing = [name for name in ("fit", "predict") if not callable(getattr(learner, name, None))]
        if missing or isinstance(learner, type):
            raise TypeError(
                f"estimator must be an object with fit and predict, such as DecisionTreeClassifier(); got {learner!r}"
                + (f", which has no {' and no '.join(missing)}." if missing else ", a class: add parentheses.")
            )
        if hasattr(learner, "__sklearn_tags__"):
            self._refuse_wrong_kind(learner)
        return clone(learner, safe=False)

    def _default_scorer(self) -> Scorer | None:
        raise NotImplementedError

    def _scorer(self, *, weighted: bool) -> Scorer | None:
        """The user's scorer; None stands for plain accuracy, which needs none."""
        if isinstance(self.scoring, str):
            if self.scoring == "accuracy" and not weighted and not self._regression:
                return None
            scorer: Scorer = get_scorer(self.scoring)
            return scorer
        if self.scoring is None:
            return get_scorer("accuracy") if weighted and not self._regression else self._default_scorer()
        if not callable(self.scoring):
            raise ValueError(
                "scoring must be None, the name of a scikit-learn scorer such as 'balanced_accuracy', or a "
                f"callable(estimator, X, y); got {self.scoring!r}."
            )
        if weighted and not is_made(self.scoring):
            raise ValueError("A plain callable cannot weigh rows: make it a scorer with sklearn.metrics.make_scorer.")
        return self.scoring

    def _routed(self, sample_weight: Any, params: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that go to the learner's `fit`."""
        given = dict(params) | ({} if sample_weight is None else {"sample_weight": sample_weight})
        if get_config()["enable_metadata_routing"]:
            return dict(process_routing(self, "fit", **given).estimator.fit)
        if params:
            raise ValueError(
                f"{', '.join(params)} can be passed to fit only by metadata routing: call "
                "sklearn.set_config(enable_metadata_routing=True) and set_fit_request on the estimator."
            )
        if sample_weight is not None and not has_fit_parameter(self._learner(), "sample_weight"):
            raise TypeError(f"The learner {type(self._learner()).__name__} takes no sample_weight in its fit.")
        return given

    def _features(self, X: Any, y: Any = None) -> Any:
        """X as the learner gets it, looked at but not read: gaps are the learner's business."""
        reset = y is not None
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
        """What the best model predicts.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_rows, n_features)
            Rows to predict for.
        """
        return self._ask("predict", X)

    def _ask(self, method: str, X: Any) -> Array:
        check_is_fitted(self)
        answer: Array = getattr(self.best_estimator_, method)(as_learned(self._features(X)))
        return answer

    def get_metadata_routing(self) -> MetadataRouter:
        """Where the arguments of `fit` go: to the learner's `fit`."""
        return MetadataRouter(owner=type(self).__name__).add(
            estimator=self._learner(), method_mapping=MethodMapping().add(caller="fit", callee="fit")
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a best model."""
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Tags:
        """The learner's own abilities, as far as they come through."""
        tags = super().__sklearn_tags__()
        if hasattr(self._shown_learner(), "__sklearn_tags__"):
            learner = get_tags(self._shown_learner())
            for name in ("allow_nan", "sparse", "string", "categorical"):
                setattr(tags.input_tags, name, getattr(learner.input_tags, name))
        return tags


def refuse_unfit_teacher(teacher: Teacher, learner: Any, *, regression: bool) -> None:
    """Refuse a teacher that asks more of the learner than it can do."""
    name = type(teacher).__name__
    if regression and getattr(teacher, "classes_only", False):
        raise ValueError(
            f"The teacher {name} works with classes only; for a regressor use the teacher 'tct' or 'double'."
        )
    missing = [method for method in getattr(teacher, "needs", ()) if not hasattr(learner, method)]
    if missing:
        raise TypeError(
            f"The teacher {name} needs a learner with {' and '.join(missing)}, which {type(learner).__name__} does "
            "not have; choose another learner, or the teacher 'tct', which asks for fit and predict only."
        )


def _named(parameter: str, value: Any, known: Mapping[str, Callable[[], Any]], method: str) -> Any:
    """The object that a parameter names, or is."""
    if isinstance(value, str) and value in known:
        return known[value]()
    if not isinstance(value, str) and callable(getattr(value, method, None)) and not isinstance(value, type):
        return value
    names = ", ".join(f'"{name}"' for name in known)
    raise ValueError(f"{parameter} must be one of {names}, or an object with a method {method!r}; got {value!r}.")


def keep_the_folder_clean(learner: Any) -> None:
    """CatBoost leaves a folder of logs where the user is, once a round, unless it is told not to."""
    parameters = learner.get_params(deep=True) if hasattr(learner, "get_params") else {}
    for part in (learner, *parameters.values()):
        if type(part).__module__.startswith("catboost.") and not {"allow_writing_files", "train_dir"} & set(
            part.get_params()
        ):
            part.set_params(allow_writing_files=False)


def fill_random_states(learner: Any, random: np.random.RandomState) -> None:
    """Give every part of the learner that has no seed one of ours."""
    if not hasattr(learner, "get_params"):
        return
    parameters = learner.get_params(deep=True)
    unset = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state" and parameters[name] is None]
    if unset:
        learner.set_params(**{name: int(random.randint(2**31 - 1)) for name in unset})
