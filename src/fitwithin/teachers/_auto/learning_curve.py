"""The score that a lesson is expected to have, from the scores of earlier ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Scores approach their limit like rows to the power of minus one of these; which one fits best is not known before.
_EXPONENTS = (0.2, 0.5, 1.0)

# As fractions of the distance between the first score and a perfect one: what all rows are expected to add to the first
# lesson, the prior standard deviation of that, and the one of what mistakes among the rows add.
_PRIOR_GAIN = 0.3
_PRIOR_GAIN_DEVIATION = 0.3
_PRIOR_EMPHASIS = 0.1
# Standard deviation of the score of two models of the same size, as the same fraction.
_PRIOR_NOISE = 0.02
# Number of observations that the prior noise counts for.
_PRIOR_WEIGHT = 2.0
# Of the standard error of a score, the part that models do not share when they are examined on the same rows.
_OWN_ERROR = 0.5
# Precision of the level of the curve, about which nothing is known before.
_NO_PRECISION = 1e-9


@dataclass(frozen=True)
class Expectation:
    """A score that is not known yet.

    Parameters
    ----------
    mean, deviation : float
        Its mean and standard deviation.

    Examples
    --------
    >>> round(Expectation(0.8, 0.01).gain_over(0.8), 4)
    0.004
    """

    mean: float
    deviation: float

    def gain_over(self, score: float) -> float:
        """Return by how much the better one of this score and a known one exceeds the known one, on average."""
        z = (self.mean - score) / self.deviation
        density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        return self.deviation * (density + z * 0.5 * math.erfc(-z / math.sqrt(2)))


class LearningCurve:
    """Scores by rows, with and without mistakes among them.

    The score is a limit minus a power of the rows, and lessons with mistakes lie above or below by a constant. A small
    Bayesian regression for each of several exponents gives the mean and the deviation; they are averaged by how well
    they fit.

    Examples
    --------
    >>> curve = LearningCurve()
    >>> curve.observe(1000, 0.70, 0.005)
    >>> curve.observe(4000, 0.76, 0.005)
    >>> 0.76 < curve.predict(16_000).mean < 0.84
    True
    >>> curve.predict(4_000).deviation < curve.predict(400_000).deviation
    True
    """

    def __init__(self) -> None:
        self._points: list[tuple[int, float, float, bool]] = []

    def __len__(self) -> int:
        return len(self._points)

    def observe(self, rows: int, score: float, standard_error: float, *, emphasis: bool = False) -> None:
        """Note the score of a lesson that came to its end."""
        if math.isfinite(score) and math.isfinite(standard_error):
            self._points.append((rows, score, standard_error, emphasis))

    def predict(self, rows: int, *, emphasis: bool = False) -> Expectation:
        """Return the score that a lesson is expected to have; at least one was observed."""
        fits = [self._regress(exponent, rows, emphasis) for exponent in _EXPONENTS]
        likelihood = np.array([fit[2] for fit in fits])
        weights = np.exp(likelihood - likelihood.max())
        weights /= weights.sum()
        means, variances = np.array([fit[0] for fit in fits]), np.array([fit[1] for fit in fits])
        mean = float(weights @ means)
        return Expectation(mean, math.sqrt(float(weights @ (variances + (means - mean) ** 2))))

    @property
    def scale(self) -> float:
        """Distance between the first score and a perfect one."""
        first = self._points[0][1]
        # Scores between 0 and 1 are perfect at 1; other scores are losses below zero, or R2.
        return max(1 - first if 0 <= first <= 1 else abs(first), 1e-3)

    def _regress(self, exponent: float, rows: int, emphasis: bool) -> tuple[float, float, float]:
        """Return mean and variance of the expected score, and the logarithm of the likelihood of the points."""
        sizes, scores, errors, kinds = (
            np.array(column, dtype=np.float64) for column in zip(*self._points, strict=True)
        )
        first = sizes[0]
        features = _features(sizes, kinds, first, exponent)
        precision = np.diag(
            [_NO_PRECISION, (_PRIOR_GAIN_DEVIATION * self.scale) ** -2, (_PRIOR_EMPHASIS * self.scale) ** -2]
        )
        prior = np.array([0.0, _PRIOR_GAIN * self.scale, 0.0])
        noise = (_OWN_ERROR * errors) ** 2 + (_PRIOR_NOISE * self.scale) ** 2
        coefficients, _ = _solve(features, scores, noise, prior, precision)
        # The points may scatter more, or less, than expected.
        chi = float(((scores - features @ coefficients) ** 2 / noise).sum())
        excess = (_PRIOR_WEIGHT + chi) / (_PRIOR_WEIGHT + max(0, len(scores) - 1))
        coefficients, covariance = _solve(features, scores, excess * noise, prior, precision)
        new = _features(np.array([rows], dtype=np.float64), np.array([emphasis], dtype=np.float64), first, exponent)[0]
        variance = float(new @ covariance @ new) + excess * float(noise.min())
        return float(new @ coefficients), variance, -0.5 * chi


def _features(
    sizes: npt.NDArray[np.float64], kinds: npt.NDArray[np.float64], first: float, exponent: float
) -> npt.NDArray[np.float64]:
    return np.column_stack([np.ones(len(sizes)), 1 - (sizes / first) ** -exponent, kinds])


def _solve(
    features: npt.NDArray[np.float64],
    scores: npt.NDArray[np.float64],
    noise: npt.NDArray[np.float64],
    prior: npt.NDArray[np.float64],
    precision: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the coefficients of a regression with a Gaussian prior, and their covariance."""
    weighted = features / noise[:, None]
    covariance: npt.NDArray[np.float64] = np.linalg.inv(features.T @ weighted + precision).astype(np.float64)
    return covariance @ (weighted.T @ scores + precision @ prior), covariance
