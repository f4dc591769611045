"""Bounds that hold with probability 1 - delta, estimated from many attempts."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# Probability with which a bound may fail. The paper leaves it open; 5 % is the usual choice.
DELTA = 0.05


def high_probability_bound(values: NDArray[np.float64], delta: float = DELTA) -> NDArray[np.float64]:
    """Return the smallest value that less than a share delta of the attempts exceed.

    The paper defines epsilon_T by the same strict inequality, with the probability in place of the share.

    Parameters
    ----------
    values : array of shape (..., n_attempts)
        One value for each attempt.
    delta : float, default=0.05
        In (0, 1].

    Returns
    -------
    array of shape (...)

    Examples
    --------
    >>> float(high_probability_bound(np.arange(100.0), 0.05))
    95.0
    """
    n_attempts = values.shape[-1]
    # Round first: 0.05 * 100 must not become 5.000000000000001 and then 6.
    n_above = math.ceil(round(delta * n_attempts, 9)) - 1
    return np.asarray(np.sort(values, axis=-1)[..., n_attempts - 1 - n_above])
