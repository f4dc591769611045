"""The answers of a model to its exams, and a stand-in for the model before a scorer."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, get_tags

from fitwithin._core.records import Mask
from fitwithin._core.target import Array, Labels, Target
from fitwithin._pools.pool import Clusters
from fitwithin._pools.tables import concatenate, take_rows
from fitwithin.backends._metrics import (
    AUC,
    Scorer,
    count_effective,
    interval_factor,
    is_same_scorer,
    is_sklearn_scorer,
    r2_influence,
)
from fitwithin.backends._unpredicted import Unpredicted, predict_rows

if TYPE_CHECKING:
    from fitwithin.backends._scoring import Scoring

# Classes, and values of a target, that a synthetic model predicts; with a thousand classes, a metric of all pairs would
# take seconds.
_N_SYNTHETIC = 30

# Methods by which scikit-learn's scorers ask a model for answers.
_RESPONSE_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


class ExamLog:
    """The answers of one model in its exams, as far as its score needs them.

    Parameters
    ----------
    model : estimator
        The fitted model.
    scoring : Scoring
        What the answers are collected for.
    """

    def __init__(self, model: Any, scoring: Scoring) -> None:
        self._model = model
        self._scoring = scoring
        self._parts: list[ExamPredictions] = []

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def predict(
        self,
        X: Any,
        y: Array,
        weights: Array | None,
        predicted: Array | None = None,
        unpredicted: Unpredicted | None = None,
    ) -> Array:
        """Predict rows, and keep what the score will need while X is at hand.

        Parameters
        ----------
        X, y, weights
            Rows, their labels or values, and their weights if they have any.
        predicted : array, optional
            What `predict` would return, if it is known already.
        unpredicted : Unpredicted, optional
            The rows that cannot be predicted, if that is known.
        """
        scoring = self._scoring
        known = {} if predicted is None else {"predict": predicted}
        responder = Responder(self._model, scoring.regression, X, y, known, unpredicted)
        predicted = responder.predictions_by("predict").ravel()
        if predicted.shape != y.shape:
            raise ValueError(f"predict returned {predicted.shape[0]} predictions for {y.shape[0]} rows.")
        part = ExamPredictions(self._model, predicted == y, weights=weights)
        if not scoring.is_accuracy:
            by_method = self._ask(responder, y)
            part = replace(part, y=y, by_method=by_method, X=None if is_sklearn_scorer(scoring.scorer) else X)
        self._parts.append(replace(part, unpredicted=responder.unpredicted))
        return predicted

    def _ask(self, responder: Responder, y: Array) -> Mapping[str, Array]:
        """Return the answers by each method that the scorer asks for."""
        if self._parts:
            return {method: responder.predictions_by(method) for method in self._parts[0].by_method}
        if is_sklearn_scorer(self._scoring.scorer):
            # Let the scorer ask for what it needs; whether it can score these few rows does not matter yet.
            try:
                with contextlib.suppress(ValueError, ArithmeticError):
                    self._scoring.scorer(responder, np.arange(len(y))[:, None], y)
            except AttributeError as error:
                # Such as `predict_proba`, which the model does not have.
                raise AttributeError(str(error).replace(Responder.__name__, type(self._model).__name__)) from None
        return responder.known

    def note_clusters(self, clusters: Clusters | None) -> None:
        """Note the blocks of a data set that the rows just predicted come from."""
        self._parts[-1] = replace(self._parts[-1], clusters=clusters)

    def last_unpredicted(self, n_rows: int) -> Unpredicted | None:
        """Return those of the last `n_rows` that the model could not predict; None if it could predict all."""
        unpredicted = Unpredicted.join([part.unpredicted for part in self._parts], [len(part) for part in self._parts])
        last = None if unpredicted is None else unpredicted.take(slice(len(unpredicted.mask) - n_rows, None))
        return last if last is not None and last.mask.any() else None

    def extend(self, answers: ExamPredictions) -> None:
        """Add the answers of an exam that another process held with the same model."""
        self._parts.append(replace(answers, model=self._model))

    def answers(self) -> ExamPredictions:
        """Return the answers of all exams as one."""
        if not self._parts:
            return ExamPredictions(self._model, np.zeros(0, np.bool_))
        return ExamPredictions.join(self._parts)


@dataclass(frozen=True, eq=False)
class ExamPredictions:
    """The answers of a model to all exams of a round.

    Parameters
    ----------
    model : estimator
        The fitted model.
    correct : array of bool
        Which rows it predicts exactly.
    y : array or None
        Labels or values; None where the metric needs only `correct`.
    by_method : dict of array
        The answers by the model's method.
    weights : array or None
        The rows' weights, if they have any.
    X : table or None
        The rows themselves, for a scorer that looks at them.
    clusters : Clusters or None
        The blocks that the rows come from, if they are read from a data set on disk.
    unpredicted : Unpredicted or None
        The rows that the model could not predict.
    """

    model: Any
    correct: Mask
    y: Array | None = None
    by_method: Mapping[str, Array] = field(default_factory=dict)
    weights: Array | None = None
    X: Any = None
    clusters: Clusters | None = None
    unpredicted: Unpredicted | None = None

    @classmethod
    def join(cls, parts: Sequence[ExamPredictions], order: Array | None = None) -> ExamPredictions:
        """Return the answers of several parts as one, in another order if one is given."""

        def join(columns: list[Any]) -> Any:
            if columns[0] is None:
                return None
            joined = concatenate(columns)
            return joined if order is None else take_rows(joined, order)

        first = parts[0]
        unpredicted = Unpredicted.join([part.unpredicted for part in parts], [len(part) for part in parts])
        return cls(
            first.model,
            join([part.correct for part in parts]),
            join([part.y for part in parts]),
            {method: join([part.by_method[method] for part in parts]) for method in first.by_method},
            join([part.weights for part in parts]),
            join([part.X for part in parts]),
            None if first.clusters is None else Clusters.join([part.clusters for part in parts if part.clusters]),
            unpredicted if unpredicted is None or order is None else unpredicted.take(order),
        )

    def __len__(self) -> int:
        return len(self.correct)

    def squared_errors(self, rows: Array) -> Array:
        """Return the squared error of each of these rows."""
        assert self.y is not None
        return np.asarray((self.by_method["predict"][rows].ravel() - self.y[rows]) ** 2)

    def r2_influence(self, rows: Array) -> Array:
        """Return what each row adds to the error of R2."""
        assert self.y is not None
        with np.errstate(divide="ignore", invalid="ignore"):
            return r2_influence(self.squared_errors(rows), self.y[rows], self.weights_of(rows))

    def weights_of(self, rows: Array) -> Array:
        """Return the weights of these rows, ones if they have none."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]

    def has_one_label(self, rows: Array) -> bool:
        """Whether these rows are of one class, or have one value."""
        return self.y is not None and bool((self.y[rows] == self.y[rows[0]]).all())

    def find_sides(self, scorer: Scorer, rows: Array) -> tuple[Array, Array] | None:
        """Return the scores of these rows, and whether each is of the positive class; None for other metrics than AUC.

        None too if the rows, or the model, do not have two classes.
        """
        if self.y is None or not is_same_scorer(scorer, AUC):
            return None
        classes = find_classes(self.model, self.y)
        if len(classes) != 2:
            return None
        answers = next(self.by_method[name] for name in AUC._response_method if name in self.by_method)
        is_positive = self.y[rows] == classes[1]
        return (answers if answers.ndim == 1 else answers[:, 1])[rows], is_positive

    def interval_factor(self, by_row: Array | None, rows: Array, *, regression: bool) -> float:
        """Return by how much the interval is wider because the rows come from a few blocks of a data set."""
        if self.clusters is None:
            return 1.0
        if by_row is None:
            # How far blocks differ shows in the plainest metric as well.
            by_row = self.squared_errors(rows) if regression else self.correct[rows]
        return interval_factor(by_row, self.clusters.select(rows))

    def count_equal_rows(self, rows: Array, *, by_class: bool) -> float:
        """Return how many rows of equal weight say as much as these; as if every class had the rows of the rarest."""
        if by_class and self.y is not None:
            counts = np.unique(self.y[rows], return_counts=True)[1]
            return float(min(counts) * len(counts))
        return count_effective(self.weights_of(rows))

    def score(self, scoring: Scoring, rows: Array) -> float:
        """Return the score over these rows."""
        if self.y is None:
            weights = self.weights_of(rows)
            return float((weights * self.correct[rows]).sum() / weights.sum()) if weights.any() else math.nan
        scorer = scoring.scorer
        if not is_sklearn_scorer(scorer):
            return float(scorer(self.model, take_rows(self.X, rows), self.y[rows]))
        responder = Responder(self.model, scoring.regression, None, self.y, self.by_method)
        options = {} if self.weights is None else {"sample_weight": self.weights[rows]}
        return float(scorer(responder, rows[:, None], self.y[rows], **options))


class Responder(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Stands in for a model before a scorer: asks the model once for each method, and answers by row number."""

    def __init__(
        self,
        model: Any,
        regression: bool,
        X: Any,
        y: Array,
        known: Mapping[str, Array],
        unpredicted: Unpredicted | None = None,
    ) -> None:
        self.model = model
        self.regression = regression
        self.X = X
        self.y = y
        self.known = dict(known)
        self.unpredicted = unpredicted

    def predictions_by(self, method: str) -> Array:
        """Return what the model answers by a method, for all rows."""
        if method not in self.known:
            answers = predict_rows(self.model, method, self.X, len(self.y), self.unpredicted)
            self.known[method], self.unpredicted = answers
        return self.known[method]

    def __getattr__(self, name: str) -> Any:
        if name == "classes_" and not self.regression:
            return find_classes(self.model, self.y)
        if name not in _RESPONSE_METHODS or not hasattr(self.model, name):
            raise AttributeError(name)

        def respond(rows: Array) -> Array:
            return self.predictions_by(name)[rows[:, 0]]

        # scikit-learn looks at the name of the method it was given.
        respond.__name__ = name
        return respond

    def __sklearn_tags__(self) -> Tags:
        if hasattr(self.model, "__sklearn_tags__"):
            return get_tags(self.model)
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.regression else "classifier"
        return tags


def find_classes(model: Any, y: Array) -> Array:
    """Return the classes that the columns of a model's probabilities stand for."""
    return np.asarray(model.classes_) if hasattr(model, "classes_") else np.unique(y)


class SyntheticModel(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A model that predicts a few rows of a target, most of them right, without any training.

    Parameters
    ----------
    target : Labels or Values
        Classes, or values to take a few of.

    Attributes
    ----------
    y : array
        The truth.
    answers : dict of array
        The predictions by method.
    knows_values : bool
        Whether they are those of the target; the values of a data set on disk are not known before they are read.

    Examples
    --------
    >>> model = SyntheticModel(Labels.encode(["no", "yes"]))
    >>> model.y.tolist(), model.predict(np.zeros((6, 1))).tolist()
    (['no', 'yes', 'no', 'yes', 'no', 'yes'], ['yes', 'no', 'no', 'yes', 'no', 'yes'])
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.knows_values = True
        if isinstance(target, Labels):
            self.classes_ = target.classes[:_N_SYNTHETIC]
            n_classes = len(self.classes_)
            truth = np.tile(np.arange(n_classes), 3)
            # The first of the three rows of each class is predicted as the next class.
            guess = np.where(np.arange(len(truth)) < n_classes, (truth + 1) % n_classes, truth)
            chances = (np.eye(n_classes)[guess] + 1 / n_classes) / 2
            self.y = self.classes_[truth]
            scores = chances[:, 1] - chances[:, 0] if n_classes == 2 else chances
            self.answers = {
                "predict": self.classes_[guess],
                "predict_proba": chances,
                "predict_log_proba": np.log(chances),
                "decision_function": scores,
            }
        else:
            column = target.column
            ends = column.min(), column.max()
            self.knows_values = bool(ends[0] < ends[1])
            some = column[np.linspace(0, len(column) - 1, _N_SYNTHETIC).astype(np.intp)]
            self.y = np.concatenate([some, ends]) if self.knows_values else np.linspace(0.5, 3.2, _N_SYNTHETIC)
            self.answers = {"predict": (self.y + self.y.mean()) / 2}

    def __getattr__(self, name: str) -> Any:
        if name not in _RESPONSE_METHODS or name not in self.__dict__.get("answers", {}):
            raise AttributeError(name)

        def respond(X: Any) -> Array:
            answers = self.answers[name]
            return np.asarray(answers[np.arange(X.shape[0]) % len(answers)])

        respond.__name__ = name
        return respond

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if isinstance(self.target, Labels) else "regressor"
        return tags
