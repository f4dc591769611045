"""What is known about metrics: their range, what each row adds to their error, and their 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import t
from sklearn.metrics import get_scorer

from fitwithin._core.records import Z_95, Estimate, Influence, Mask
from fitwithin._core.target import Array
from fitwithin._pools.pool import Clusters

Scorer = Callable[..., float]  # a scikit-learn scorer, or any callable(estimator, X, y)
Bounds = tuple[float, float]  # the least and the largest value of a metric; infinite where there is none
# Takes a model's predictions and the truth, for probabilities as column numbers; returns one number for each row.
RowMetric = Callable[[Array, Array], Array]

_MIN_PROBABILITY = 1e-15  # the smallest one that enters a logarithm
# The public class of all scorers that `make_scorer` and `get_scorer` return has no public name.
_SklearnScorer = type(get_scorer("accuracy")).__mro__[1]


def is_sklearn_scorer(scorer: Any) -> bool:
    """Whether scikit-learn made the scorer, so that it looks at nothing but a model's answers."""
    return isinstance(scorer, _SklearnScorer)


def is_same_scorer(scorer: Any, known: Any) -> bool:
    """Whether two scorers are the same function with the same options; scikit-learn defines no equality."""
    # The user's scorer may also have requests for metadata, which change nothing.
    return type(scorer) is type(known) and all(vars(scorer).get(name) == value for name, value in vars(known).items())


def _find_metric_name(scorer: Any) -> str:
    """Return the name of the function in scikit-learn that a scorer calls; empty if it calls another one."""
    metric = getattr(scorer, "_score_func", None)
    return getattr(metric, "__name__", "") if getattr(metric, "__module__", "").startswith("sklearn.metrics") else ""


def find_bounds(scorer: Any) -> Bounds:
    """Return the range of a scorer's metric; infinite ends where it has none, or is not one of scikit-learn's."""
    if not (name := _find_metric_name(scorer)):
        return -math.inf, math.inf
    if getattr(scorer, "_sign", 1) < 0:
        return -math.inf, 0.0
    if name in _CORRELATIONS or vars(scorer).get("_kwargs", {}).get("adjusted"):
        return -1.0, 1.0
    if name in _RATIOS:
        return 0.0, math.inf
    if any(part in name for part in _SHARES):
        return 0.0, 1.0
    return -math.inf, 1.0 if name.startswith(_SKILL_SCORES) else math.inf


def find_errors(predicted: Array, y: Array) -> Array:
    """Return predicted less true values as floats: small integers overflow, and truth values have no difference."""
    return np.subtract(predicted.ravel(), y, dtype=np.float64)


def _log_probability(probabilities: Array, column: Array) -> Array:
    return np.asarray(np.log(probabilities[np.arange(len(column)), column].clip(_MIN_PROBABILITY)))


def _brier(probabilities: Array, column: Array) -> Array:
    n_classes = probabilities.shape[1]
    distance = (column[:, None] == np.arange(n_classes)) - probabilities
    # With two classes the metric counts the distance of one of them.
    return np.asarray(-(distance**2).sum(axis=1) / (2 if n_classes == 2 else 1))


def mean_influence(values: Array, weights: Array) -> Array:
    """Return what each row adds to the error of a weighted mean."""
    total = weights.sum()
    return np.asarray(weights * (values - (weights * values).sum() / total) / total)


def count_effective(weights: Array) -> float:
    """Return how many rows of equal weight say as much as rows with these weights."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def standard_error(influence: Array) -> float:
    """Return the standard error that rows or resamples add up to; infinite if all are unknown."""
    known = influence[np.isfinite(influence)]
    return float(np.linalg.norm(known)) if len(known) else float("inf")


def to_influence(parts: Array) -> Influence | None:
    """Return what rows or resamples add to an error in the type that is passed on; None if some are unknown."""
    with np.errstate(over="ignore"):
        influence = parts.astype(np.float32)
    return influence if np.isfinite(influence).all() else None


def count_influence(scorer: Any, y: Array, predicted: Array, weights: Array, value: float) -> Array | None:
    """Return what each row adds to the error of a metric of counts, such as F1; None for other metrics.

    For each class, it is a ratio of sums over rows: hits, rows of the class, rows predicted as it. To first order, a
    row moves the ratio by its parts of both. With half a hit in one more row, a class with one row has an error too.
    """
    name, options = _find_metric_name(scorer), vars(scorer).get("_kwargs", {})
    average = options.get("average", "macro" if name == "balanced_accuracy_score" else "binary")
    if name not in _COUNT_RATIOS or options.keys() - _COUNT_OPTIONS or average not in _AVERAGES:
        return None
    of_hits, of_class, of_predicted, of_union = _COUNT_RATIOS[name]
    if name == "fbeta_score":
        of_hits, of_class = 1 + options["beta"] ** 2, options["beta"] ** 2
    classes, codes = np.unique(np.concatenate([y, predicted]), return_inverse=True)
    label, guess = np.split(codes, 2)
    hit = label == guess
    counted = (label, weights * hit), (label, weights), (guess, weights)
    n_hits, n_class, n_predicted = (np.bincount(codes, by_row, len(classes)) for codes, by_row in counted)
    parts, sums = of_hits * n_hits, of_class * n_class + of_predicted * n_predicted - of_union * n_hits
    share = np.asarray(classes == options.get("pos_label", 1), np.float64)
    if average == "micro":
        parts, sums, share = np.full_like(parts, parts.sum()), np.full_like(sums, sums.sum()), np.ones(len(classes))
    elif average == "weighted":
        share = n_class / n_class.sum()
    elif average == "macro":
        # Balanced accuracy leaves out classes that are only predicted.
        is_averaged = (n_class > 0) | (name != "balanced_accuracy_score")
        share = is_averaged / np.count_nonzero(is_averaged)
    ratio = (parts + weights.mean() / 2) / (sums + weights.mean())
    slope = np.divide(share, sums, where=sums > 0, out=np.zeros(len(classes)))
    influence = hit * slope[label] * (of_hits + of_union * ratio[label])
    influence -= of_class * (slope * ratio)[label] + of_predicted * (slope * ratio)[guess]
    if average == "weighted":
        influence += (ratio[label] - value) / n_class.sum()
    return np.asarray(weights * influence)


@np.errstate(divide="ignore", invalid="ignore")
def r2_influence(errors: Array, y: Array, weights: Array) -> Array:
    """Return what each row adds to the error of R2: how it changes without the row, which is the jackknife."""
    # Where values are skewed, a few rows decide, and by a derivative the interval would be too narrow.
    total, squared_errors = weights.sum(), weights * errors**2
    squared_distances = weights * (y - np.average(y, weights=weights)) ** 2
    left = squared_distances.sum() - squared_distances * total / (total - weights)
    left = np.fmax(left, squared_distances.sum() / 10)  # nothing may be left; then the error would be infinite
    without = 1 - (squared_errors.sum() - squared_errors) / left
    return np.asarray(without.mean() - without)


def auc_influence(scores: Array, is_positive: Array, weights: Array) -> Array:
    """Return what each row adds to the error of the area under the ROC curve, by DeLong's method."""
    influence = np.zeros(len(scores))
    for side in (is_positive, ~is_positive):
        order = np.argsort(scores[~side])
        others = scores[~side][order]
        totals = np.concatenate([[0.0], np.cumsum(weights[~side][order])])
        # For each row, the share of the other class below it; ties count half.
        first, last = np.searchsorted(others, scores[side]), np.searchsorted(others, scores[side], "right")
        below = (totals[first] + totals[last]) / (2 * totals[-1])
        n_rows = int(np.count_nonzero(side))
        correction = math.sqrt(n_rows / (n_rows - 1)) if n_rows > 1 else math.nan
        influence[side] = correction * mean_influence(below if side is is_positive else 1 - below, weights[side])
    return influence


def accuracy_interval(correct: int, rows: int, factor: float = 1.0) -> Estimate | None:
    """Return the accuracy over an exam with its 95 % interval, `factor` times as wide as for random rows.

    The normal interval of the paper's Algorithm 1; Wilson's at 0 and 1, and where an end would lie outside of them.
    """
    if rows == 0:
        return None
    value = correct / rows
    error = factor * math.sqrt(value * (1 - value) / rows)
    low, high = value - Z_95 * error, value + Z_95 * error
    if correct in (0, rows) or low < 0 or high > 1:
        low, high = _wilson(value, rows / factor**2)
    return Estimate(value, low, high, error or None)


def score_interval(value: float, error: float, bounds: Bounds, rows: float) -> Estimate:
    """Return a score with its 95 % interval, from its standard error, or Wilson's for some rows if it has none.

    It is symmetric for a metric without a range. Otherwise it is symmetric on the logit scale, or on that of the
    logarithm where the range has one end.
    """
    least, largest = bounds
    value = min(max(value, least), largest)  # weights add up with a rounding error
    reach = Z_95 * (error or Z_95 / rows)
    if math.isinf(largest) or not math.isfinite(reach):
        low, high = max(least, value - reach), min(largest, value + reach)
    elif math.isinf(least):
        distance = largest - value
        ratio = reach / distance if distance > 0 else math.inf
        # Where the error is larger than the distance, its logarithm would lead far away.
        low = min(value - reach, largest - distance * math.exp(min(1.0, ratio)))
        high = largest - distance * math.exp(-ratio)
    else:
        share = min(max((value - least) / (largest - least), 0.0), 1.0)
        ends = _logit(share, error / (largest - least)) if error and 0 < share < 1 else _wilson(share, rows)
        low, high = (least + end * (largest - least) for end in ends)
    return Estimate(value, min(max(low, least), value), max(min(high, largest), value), error or None)


def auc_interval(value: float, error: float, positives: float, negatives: float) -> Estimate:
    """Return an area under the ROC curve with its 95 % interval, from its standard error and the rows of each class.

    With few rows of a class the standard error is far too small where the area is large. So the interval holds both the
    logit interval by DeLong's error and Newcombe's fifth (2006, Statistics in Medicine 25, 559-573), which inverts the
    error that the area would have if scores were exponential.
    """

    def excess(area: float) -> float:
        by_class = (positives + negatives) / 2 - 1
        variance = area * (1 - area) * (1 + by_class * ((1 - area) / (2 - area) + area / (1 + area)))
        return (area - value) ** 2 - Z_95**2 * variance / (positives * negatives)

    low = 0.0 if value <= 0 else brentq(excess, 0.0, min(value, 1 - 1e-9))
    high = 1.0 if value >= 1 else brentq(excess, max(value, 1e-9), 1.0)
    if error and 0 < value < 1:
        ends = _logit(value, error)
        low, high = min(low, ends[0]), max(high, ends[1])
    return Estimate(value, low, high, error or None)


def _logit(share: float, error: float) -> tuple[float, float]:
    ends = expit(logit(share) + np.array([-1, 1]) * Z_95 * error / (share * (1 - share)))
    return float(ends[0]), float(ends[1])


def _wilson(share: float, rows: float) -> tuple[float, float]:
    weight = NormalDist().inv_cdf(0.975) ** 2 / rows
    middle, reach = share + weight / 2, math.sqrt(weight * (share * (1 - share) + weight / 4))
    # At 0 and 1 rounding would leave the share out of it.
    return max(0.0, min(share, (middle - reach) / (1 + weight))), min(1.0, max(share, (middle + reach) / (1 + weight)))


def interval_factor(values: Array, clusters: Clusters) -> float:
    """Return by how much the interval of a mean over rows must be wider because the rows come from a few blocks.

    To the variance of rows comes that between blocks, as far as the rows are spread over the blocks in other
    proportions than the data set. Classes are sampled evenly, so that differences between them are left out.
    """
    values = np.asarray(values, dtype=np.float64)
    classes = np.zeros(len(values), np.intp) if clusters.classes is None else clusters.classes
    residuals = values - (np.bincount(classes, values) / np.maximum(1, np.bincount(classes)))[classes]
    of_rows = float(residuals @ residuals)
    n_rows = np.bincount(clusters.blocks, minlength=len(clusters.block_rows)).astype(np.float64)
    if not of_rows > 0:
        return 1.0
    imbalance = n_rows / n_rows.sum() - clusters.block_rows / clusters.block_rows.sum()
    between, n_found = _estimate_variance_between(residuals, clusters.blocks, n_rows), int(np.count_nonzero(n_rows))
    # A few blocks tell little about how far blocks lie apart.
    doubt = float(t.ppf(0.975, max(1, n_found - 1)) / Z_95) ** 2
    effect = doubt * between * float(imbalance @ imbalance) / (of_rows / len(residuals) ** 2)
    return float(np.sqrt(1 + effect))


def widen_by_groups(estimate: Estimate, wrong: Mask, groups: Array, bounds: Bounds) -> Estimate:
    """Return an estimate with a wider interval, because rows of a group are more alike than others.

    How much wider shows in how the share of wrong rows changes without each group (the jackknife), whatever the metric.
    One group tells nothing about others: its interval is the range of the metric.
    """
    codes = np.unique(groups, return_inverse=True)[1]
    sizes, residuals = np.bincount(codes), wrong - wrong.mean()
    if not math.isfinite(estimate.low):
        return estimate
    if len(sizes) < 2:
        return Estimate(estimate.value, *bounds)
    # Of groups of unequal size the large ones count; without a mistake, rows of a group may be all alike.
    n_effective = count_effective(sizes)
    effect = len(wrong) / n_effective
    if residuals.any():
        changes = np.bincount(codes, residuals) / (len(wrong) - sizes)
        of_rows = float(residuals @ residuals) / len(wrong) ** 2
        effect = (1 - 1 / len(sizes)) * float(changes @ changes) / of_rows
    # A few groups tell little about how far groups lie apart.
    factor = max(1.0, math.sqrt(effect) * float(t.ppf(0.975, max(1.0, n_effective - 1))) / Z_95)
    return score_interval(estimate.value, factor * estimate.standard_error, bounds, len(wrong) / factor**2)


def _estimate_variance_between(residuals: Array, blocks: Array, n_rows: Array) -> float:
    """Return the variance of the means of blocks, without the part of the rows; that of rows if there is one block."""
    n_found, total = int(np.count_nonzero(n_rows)), float(n_rows.sum())
    if n_found == 1:
        return float(residuals @ residuals) / len(residuals)
    if total <= n_found:
        return 0.0
    sums = np.bincount(blocks, weights=residuals, minlength=len(n_rows))
    explained = float((sums[n_rows > 0] ** 2 / n_rows[n_rows > 0]).sum())
    within = (float(residuals @ residuals) - explained) / (total - n_found)
    rows_per_block = (total - float((n_rows**2).sum()) / total) / (n_found - 1)
    return max(0.0, (explained / (n_found - 1) - within) / rows_per_block)


ROW_METRICS: tuple[tuple[Any, str, RowMetric], ...] = (
    (get_scorer("neg_log_loss"), "predict_proba", _log_probability),
    (get_scorer("neg_brier_score"), "predict_proba", _brier),
    (get_scorer("neg_mean_absolute_error"), "predict", lambda predicted, y: -np.abs(find_errors(predicted, y))),
    (get_scorer("neg_mean_squared_error"), "predict", lambda predicted, y: -(find_errors(predicted, y) ** 2)),
)
"""scikit-learn's scorer, the method that it asks a model for, and the metric by row, if it is a mean over rows."""

# Other metrics whose errors have a formula.
R2: Any = get_scorer("r2")
AUC: Any = get_scorer("roc_auc")
# Metrics that are a ratio of sums for each class: the factor of hits in the upper sum, then those of rows of the class,
# of rows predicted as it and, with a minus sign, of hits in the lower sum.
_COUNT_RATIOS: dict[str, tuple[float, float, float, float]] = {
    "f1_score": (2, 1, 1, 0),
    "fbeta_score": (2, 1, 1, 0),
    "precision_score": (1, 0, 1, 0),
    "recall_score": (1, 1, 0, 0),
    "balanced_accuracy_score": (1, 1, 0, 0),
    "jaccard_score": (1, 1, 1, 1),
}
_COUNT_OPTIONS = {"average", "beta", "pos_label", "zero_division"}
_AVERAGES = ("binary", "micro", "macro", "weighted")
# Parts of the names of scikit-learn's metrics, or their names: from 0 to 1, from -1 to 1, from 0 on, and at most 1.
_SHARES = (
    *("accuracy", "f1_", "fbeta_", "precision_", "recall_", "jaccard_", "roc_auc_"),
    *("rand_score", "normalized_mutual_info_", "homogeneity_", "completeness_", "v_measure_", "fowlkes_mallows_"),
)
_CORRELATIONS = ("matthews_corrcoef", "cohen_kappa_score", "adjusted_rand_score", "adjusted_mutual_info_score")
_RATIOS = ("mutual_info_score", "positive_likelihood_ratio")
_SKILL_SCORES = ("r2_score", "explained_variance_score", "d2_")
