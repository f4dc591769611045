"""The answers of a model to its exams, and a stand-in for the model before a scorer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, get_tags

from fitwithin._core.records import Margins, Mask
from fitwithin._core.target import Array, Labels, Target
from fitwithin._pools.pool import Clusters, LabeledRows
from fitwithin._pools.tables import concatenate, take_rows
from fitwithin.backends._metrics import AUC, Scorer, find_errors, is_same_scorer, is_sklearn_scorer
from fitwithin.backends._unpredicted import Unpredicted, predict_in_parts

if TYPE_CHECKING:
    from fitwithin.backends._scoring import Scoring

# Classes, or values, that a synthetic model predicts; a metric of all pairs of a thousand classes takes seconds.
_N_SYNTHETIC = 30
# Methods by which scikit-learn's scorers ask a model for answers.
_RESPONSE_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
_COLUMNS = ("correct", "y", "weights", "X", "margins", "is_predicted")  # what has one value for each row


@dataclass(frozen=True, eq=False)
class ExamPredictions:
    """The answers of a model to the rows of exams, as far as its score needs them.

    `y` is None where the metric needs only `correct`, and `X` unless the scorer looks at rows. `clusters` are the
    blocks of rows on disk. `margins` lie between the probabilities of the two most probable classes. `problem` is why
    rows that are not `is_predicted` could not be. `all_y` belongs to all rows that these were taken from.
    """

    model: Any
    correct: Mask
    y: Array | None = None
    by_method: Mapping[str, Array] = field(default_factory=dict)
    weights: Array | None = None
    X: Any = None
    clusters: Clusters | None = None
    margins: Margins | None = None
    is_predicted: Mask | None = None
    problem: str | None = None
    all_y: Array | None = None

    @classmethod
    def join(cls, parts: Sequence[ExamPredictions]) -> ExamPredictions:
        """Return the answers of several parts as one."""

        def join(columns: Sequence[Any]) -> Any:
            return None if any(column is None for column in columns) else concatenate(columns)

        clusters = [part.clusters for part in parts if part.clusters is not None]
        return replace(
            parts[0],
            **{name: join([getattr(part, name) for part in parts]) for name in _COLUMNS},
            by_method={method: join([part.by_method[method] for part in parts]) for method in parts[0].by_method},
            clusters=Clusters.join(clusters) if clusters else None,
            problem=next((part.problem for part in parts if part.problem is not None), None),
            all_y=None,
        )

    def take(self, rows: Array) -> ExamPredictions:
        """Return the answers to these rows."""

        def take(column: Any) -> Any:
            return None if column is None else take_rows(column, rows)

        return replace(
            self,
            **{name: take(getattr(self, name)) for name in _COLUMNS},
            by_method={method: answers[rows] for method, answers in self.by_method.items()},
            clusters=None if self.clusters is None else self.clusters.select(rows),
            all_y=self.y if self.all_y is None else self.all_y,
        )

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def row_weights(self) -> Array:
        """The weights of the rows, ones if they have none."""
        return np.ones(len(self)) if self.weights is None else self.weights

    @property
    def labels(self) -> Array:
        """The labels or values of the rows, for a metric that needs them."""
        assert self.y is not None
        return self.y

    @property
    def classes(self) -> Array:
        """The classes that the columns of the model's probabilities stand for."""
        if hasattr(self.model, "classes_"):
            return np.asarray(self.model.classes_)
        return np.unique(self.labels if self.all_y is None else self.all_y)

    @property
    def errors(self) -> Array:
        """The error of each predicted value."""
        return find_errors(self.by_method["predict"], self.labels)

    @property
    def unpredicted(self) -> Unpredicted | None:
        """The rows that the model could not predict; None if it could predict all."""
        if self.problem is None or self.is_predicted is None or self.is_predicted.all():
            return None
        return Unpredicted(~self.is_predicted, self.problem)

    def find_unknown_class(self) -> Any:
        """Return a class of the rows for which the model's probabilities or scores have no column; None if all have."""
        if self.y is None or len(self.by_method) < 2:
            return None
        unknown = np.setdiff1d(self.y, self.classes)
        return unknown[0] if len(unknown) else None

    def find_sides(self, scorer: Scorer) -> tuple[Array, Array] | None:
        """Return the scores of the rows, and whether each is positive; None unless the metric is AUC of two classes."""
        if self.y is None or not is_same_scorer(scorer, AUC) or len(self.classes) != 2:
            return None
        answers = next(self.by_method[name] for name in AUC._response_method if name in self.by_method)
        return answers if answers.ndim == 1 else answers[:, 1], self.y == self.classes[1]

    def score(self, scoring: Scoring) -> float:
        """Return the score over the rows."""
        if self.y is None:
            weights = self.row_weights
            return float((weights * self.correct).sum() / weights.sum()) if weights.any() else math.nan
        if not is_sklearn_scorer(scoring.scorer):
            return float(scoring.scorer(self.model, self.X, self.y))
        classes = None if scoring.regression else self.classes
        options = {} if self.weights is None else {"sample_weight": self.weights}
        responder = Responder(self.model, classes, self.by_method.__getitem__)
        return float(scoring.scorer(responder, self.y[:, None], self.y, **options))


class Responder(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Stands in for a model before a scorer: gives the answers to the rows of an exam, in their order."""

    def __init__(self, model: Any, classes: Array | None, answer: Callable[[str], Array]) -> None:
        self.model, self.classes, self.answer = model, classes, answer

    def __getattr__(self, name: str) -> Any:
        if name == "classes_" and self.classes is not None:
            return self.classes
        if name not in _RESPONSE_METHODS or not hasattr(self.model, name):
            raise AttributeError(name)

        def respond(X: Any) -> Array:
            return np.take(self.answer(name), np.arange(X.shape[0]), axis=0, mode="wrap")

        # scikit-learn looks at the name of the method it was given.
        respond.__name__ = name
        return respond

    def __sklearn_tags__(self) -> Tags:
        if hasattr(self.model, "__sklearn_tags__"):
            return get_tags(self.model)
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.classes is None else "classifier"
        return tags


def predict_exam(model: Any, rows: LabeledRows, scoring: Scoring, *, margins: bool = False) -> ExamPredictions:
    """Predict rows, and return what the score will need, and `margins` if the model has probabilities."""
    known: dict[str, tuple[Array, Unpredicted | None]] = {}

    def answer(method: str) -> Array:
        if method not in known:
            known[method] = predict_rows(model, method, rows.X, len(rows))
        return known[method][0]

    found_margins = _top_two_margins(answer("predict_proba")) if margins else None
    predicted = answer("predict").ravel()
    if predicted.shape != rows.y.shape:
        raise ValueError(f"predict returned {predicted.shape[0]} predictions for {rows.y.shape[0]} rows.")
    if len(rows) and not scoring.regression:
        _refuse_other_labels(predicted, rows.y)
    part = ExamPredictions(model, predicted == rows.y, weights=rows.weights, clusters=rows.clusters)
    if not scoring.is_accuracy:
        by_method = {method: answer(method) for method in _list_methods(model, scoring.scorer)}
        X = None if is_sklearn_scorer(scoring.scorer) else rows.X
        part = replace(part, y=rows.y, X=X, by_method=by_method)
    unpredicted = next((found for _, found in known.values() if found is not None), None)
    part = replace(part, margins=found_margins, is_predicted=np.ones(len(rows), np.bool_))
    return part if unpredicted is None else replace(part, is_predicted=~unpredicted.mask, problem=unpredicted.reason)


def _refuse_other_labels(predicted: Array, y: Array) -> None:
    """Raise a ValueError if a model predicts text where labels are numbers, or the other way: no answer is right."""
    found, wanted = ("text" if isinstance(column[0], str) else "numbers" for column in (predicted, y))
    if found != wanted:
        raise ValueError(
            f"predict returned {found}, such as {predicted[:1].tolist()[0]!r}, where the labels are {wanted}, such as "
            f"{y[:1].tolist()[0]!r}: every prediction would count as wrong. Let it return labels as fit gets them."
        )


def _list_methods(model: Any, scorer: Scorer) -> list[str]:
    """Return the methods whose answers are kept: `predict`, and the first that the scorer would ask the model for."""
    asked = getattr(scorer, "_response_method", "predict")
    names = [asked] if isinstance(asked, str) else asked
    method = next((name for name in names if hasattr(model, name)), None)
    if method is None:
        raise AttributeError(
            f"The metric of scoring needs {' or '.join(names)}, which {type(model).__name__} does not have; pass "
            "another metric, such as 'balanced_accuracy', or a learner that has it."
        )
    return ["predict", method]


def predict_rows(model: Any, method: str, X: Any, n_rows: int) -> tuple[Array, Unpredicted | None]:
    """Return a model's answers for all rows, and the rows it cannot predict; raise its error if these are all."""
    predict: Callable[[Any], Any] = getattr(model, method)
    try:
        return np.asarray(predict(X)), None
    except (ValueError, KeyError) as error:
        return predict_in_parts(model, predict, X, n_rows, error)


def _top_two_margins(probabilities: Array) -> Margins:
    """Return the gap between the two most probable classes; 1 where the model knows one class only."""
    if probabilities.shape[1] < 2:
        return np.ones(len(probabilities), dtype=np.float32)
    two = np.partition(probabilities, -2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0], dtype=np.float32)


def make_synthetic_predictions(target: Target) -> ExamPredictions:
    """Return predictions of a few rows of a target, most of them right, without any model."""
    classes = None
    if isinstance(target, Labels):
        classes = target.classes[:_N_SYNTHETIC]
        truth = np.tile(np.arange(len(classes)), 3)
        # The first of the three rows of each class is predicted as the next class.
        guess = np.where(np.arange(len(truth)) < len(classes), (truth + 1) % len(classes), truth)
        chances = (np.eye(len(classes))[guess] + 1 / len(classes)) / 2
        y = classes[truth]
        answers = {"predict": classes[guess], "predict_proba": chances, "predict_log_proba": np.log(chances)}
        answers["decision_function"] = chances[:, 1] - chances[:, 0] if len(classes) == 2 else chances
    else:
        # The values of a data set on disk are not known before they are read; others take their place.
        column, y = target.column, np.linspace(0.5, 3.2, _N_SYNTHETIC)
        if column.min() < column.max():
            some = column[np.linspace(0, len(column) - 1, _N_SYNTHETIC).astype(np.intp)]
            y = np.concatenate([some, [column.min(), column.max()]])
        answers = {"predict": (y + y.mean()) / 2}
    model = Responder(SimpleNamespace(**answers), classes, answers.__getitem__)
    return ExamPredictions(model, answers["predict"] == y, y, answers)
