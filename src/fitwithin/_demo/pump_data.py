"""Data of a simulated centrifugal pump, labelled with its condition; needs no download."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CONDITIONS = ("normal", "worn", "recirculation", "overload", "resonance", "cavitation", "no delivery")
"""Conditions of the pump; where several hold, the last one is the label."""


READINGS = (
    "speed, rpm",
    "valve, %",
    "tank level, m",
    "inlet, kPa",
    "outlet, kPa",
    "fluid, C",
    "ambient, C",
    "current, A",
    "vibration, mm/s",
    "bearing, C",
    "service age, h",
)
"""Columns of X. The flow is not measured, as in most plants."""


# Standard deviation of each sensor's error, in the unit of its reading.
_SENSOR_NOISE = (4.0, 0.5, 0.08, 0.5, 2.0, 0.3, 0.3, 0.12, 0.35, 0.8, 0.0)


# Acceleration of gravity in m/s^2.
_GRAVITY = 9.81


WRONG_LABEL_SHARE = 0.03
"""Share of labels that are wrong."""


@dataclass(frozen=True, eq=False)
class PumpData:
    """Readings with their labels.

    Parameters
    ----------
    X : array of shape (n_rows, 11)
        Columns as in `READINGS`.
    y : array of str
        The labels, some of them wrong.
    truth : array of str
        The true condition.
    """

    X: npt.NDArray[np.float32]
    y: npt.NDArray[np.str_]
    truth: npt.NDArray[np.str_]

    def split(self, n_rows: int) -> tuple[PumpData, PumpData]:
        """Return the first `n_rows` rows, and the others."""
        first, others = slice(None, n_rows), slice(n_rows, None)
        return (
            PumpData(self.X[first], self.y[first], self.truth[first]),
            PumpData(self.X[others], self.y[others], self.truth[others]),
        )


def simulate_pump(n_rows: int, seed: int) -> PumpData:
    """Simulate a centrifugal pump at random moments.

    Most rows are normal. Each other condition has a curved decision boundary, where speed, valve, temperature,
    pressure and wear interact. Some conditions are rare.

    Parameters
    ----------
    n_rows : int
        Number of moments.
    seed : int
        The same seed gives the same data.

    Returns
    -------
    PumpData
        The data; 3 % of the labels are replaced by another condition at random.

    Examples
    --------
    >>> simulate_pump(1000, seed=0).X.shape
    (1000, 11)
    """
    rng = np.random.default_rng(seed)
    readings, truth = _simulate_operation(n_rows, rng)
    noise = _SENSOR_NOISE * rng.standard_normal((n_rows, len(READINGS)))
    names = np.array(CONDITIONS)
    return PumpData((readings + noise).astype(np.float32), names[_replace_labels(truth, rng)], names[truth])


def _simulate_operation(n_rows: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    """Return the exact readings, and the index of the last condition of `CONDITIONS` that holds."""
    # Demand on the pump, its surroundings and its wear.
    hot = rng.random(n_rows) < 0.4
    hours = rng.gamma(1.5, 1500, n_rows)
    speed = 0.35 + 0.8 * rng.beta(5, 2, n_rows)
    valve = 0.05 + 0.95 * rng.beta(3, 1.5, n_rows)
    level = rng.uniform(8, 26, n_rows)
    inlet = 25 + rng.gamma(6, 9, n_rows)
    fluid = np.where(hot, rng.normal(68, 9, n_rows), rng.normal(18, 6, n_rows)).clip(2, 97)
    ambient = rng.normal(22, 7, n_rows)
    wear = (rng.gamma(1.2, 0.04, n_rows) + 1e-5 * hours).clip(0, 0.6)
    # The operating point, where the pump's curve meets the curve of the pipes; flow is a share of the optimum.
    weight = _GRAVITY * (1000 - 0.0045 * (fluid - 4) ** 2)
    shut_off = 62 * speed**2 * (1 - wear)
    friction = 0.0011 / valve**2
    volume = np.sqrt((shut_off - level).clip(0) / (0.0009 + friction))
    head = np.minimum(shut_off, level + friction * volume**2)
    flow = volume / (115 * speed)
    efficiency = (0.82 * (1 - 0.75 * (flow - 1) ** 2) - 0.25 * wear).clip(0.15)
    power = weight * volume / 3600 * head / efficiency / 1000 + 0.9 * speed**3
    vapour = 0.61094 * np.exp(17.625 * fluid / (fluid + 243.04))
    required_suction = (0.8 + 2.6 * flow**2 + 0.4 * np.exp(3 * (flow - 1.25))) * speed**1.5
    lacks_suction = (inlet - vapour) * 1000 / weight < required_suction
    resonance = np.abs(speed - (0.86 - 0.0009 * (fluid - 20) + 0.03 * (valve - 0.5))) < 0.012
    overload = power > 22 - 0.06 * (ambient - 22)
    holds = (wear > 0.16, flow < 0.45, overload, resonance & (flow > 0.5), lacks_suction, flow <= 0)
    truth = np.max([number * one for number, one in enumerate(holds, 1)], axis=0)
    outlet = inlet + head * weight / 1000
    current = 1000 * power / (np.sqrt(3) * 400 * (0.55 + 0.3 * np.minimum(power / 20, 1)))
    vibration = 1.2 + 2 * speed**2 + 1.5 * np.abs(flow - 1) ** 1.5
    bearing = ambient + 12 * speed + 1.1 * power + 0.15 * (fluid - 20)
    readings = 2950 * speed, 100 * valve, level, inlet, outlet, fluid, ambient, current, vibration, bearing, hours
    return np.column_stack(readings), truth


def _replace_labels(truth: npt.NDArray[np.intp], rng: np.random.Generator) -> npt.NDArray[np.intp]:
    wrong = rng.random(len(truth)) < WRONG_LABEL_SHARE
    shift = rng.integers(1, len(CONDITIONS), len(truth))
    return np.where(wrong, (truth + shift) % len(CONDITIONS), truth)
