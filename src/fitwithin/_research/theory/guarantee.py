"""What a teacher can promise with probability 1 - delta, read off many attempts."""

from __future__ import annotations

import math

import numpy as np

from fitwithin._research.theory.arrays import Floats

DELTA = 0.05


def guaranteed(values: Floats, delta: float = DELTA) -> Floats:
    """The smallest value that less than a share delta of the attempts exceed.

    The paper defines epsilon_T by the same strict inequality, with the probability in place of the share.

    Parameters
    ----------
    values : array of shape (..., attempts)
        One value for each attempt.
    delta : float, default=0.05
        In (0, 1].

    Returns
    -------
    array of shape (...)

    Examples
    --------
    >>> float(guaranteed(np.arange(100.0), 0.05))
    95.0
    """
    attempts = values.shape[-1]
    # Rounding first: 0.05 * 100 must not become 5.000000000000001 and then 6.
    above = math.ceil(round(delta * attempts, 9)) - 1
    return np.asarray(np.sort(values, axis=-1)[..., attempts - 1 - above])
