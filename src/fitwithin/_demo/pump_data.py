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
class _PumpInput:
    """Demand on the pump, its surroundings and its wear."""

    speed: npt.NDArray[np.float64]
    valve: npt.NDArray[np.float64]
    level: npt.NDArray[np.float64]
    inlet: npt.NDArray[np.float64]
    fluid: npt.NDArray[np.float64]
    ambient: npt.NDArray[np.float64]
    hours: npt.NDArray[np.float64]
    wear: npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _PumpState:
    """Resulting operation: head (m), flow as a share of the optimum, power (kW), suction margin (m)."""

    density: npt.NDArray[np.float64]
    head: npt.NDArray[np.float64]
    flow: npt.NDArray[np.float64]
    power: npt.NDArray[np.float64]
    margin: npt.NDArray[np.float64]


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
    inputs = _draw_inputs(n_rows, rng)
    state = _compute_state(inputs)
    truth = _find_condition(inputs, state)
    X = _read_sensors(inputs, state, rng)
    names = np.array(CONDITIONS)
    return PumpData(X, names[_replace_labels(truth, rng)], names[truth])


def _draw_inputs(n_rows: int, rng: np.random.Generator) -> _PumpInput:
    hot = rng.random(n_rows) < 0.4
    hours = rng.gamma(1.5, 1500, n_rows)
    return _PumpInput(
        speed=0.35 + 0.8 * rng.beta(5, 2, n_rows),
        valve=0.05 + 0.95 * rng.beta(3, 1.5, n_rows),
        level=rng.uniform(8, 26, n_rows),
        inlet=25 + rng.gamma(6, 9, n_rows),
        fluid=np.where(hot, rng.normal(68, 9, n_rows), rng.normal(18, 6, n_rows)).clip(2, 97),
        ambient=rng.normal(22, 7, n_rows),
        hours=hours,
        wear=(rng.gamma(1.2, 0.04, n_rows) + 1e-5 * hours).clip(0, 0.6),
    )


def _compute_state(inputs: _PumpInput) -> _PumpState:
    """Return the operating point, where the pump's curve meets the curve of the pipes."""
    density = 1000 - 0.0045 * (inputs.fluid - 4) ** 2
    shut_off = 62 * inputs.speed**2 * (1 - inputs.wear)
    friction = 0.0011 / inputs.valve**2
    volume = np.sqrt((shut_off - inputs.level).clip(0) / (0.0009 + friction))
    head = np.minimum(shut_off, inputs.level + friction * volume**2)
    flow = volume / (115 * inputs.speed)
    efficiency = (0.82 * (1 - 0.75 * (flow - 1) ** 2) - 0.25 * inputs.wear).clip(0.15)
    power = density * _GRAVITY * volume / 3600 * head / efficiency / 1000 + 0.9 * inputs.speed**3
    vapour = 0.61094 * np.exp(17.625 * inputs.fluid / (inputs.fluid + 243.04))
    available = (inputs.inlet - vapour) * 1000 / (density * _GRAVITY)
    required = (0.8 + 2.6 * flow**2 + 0.4 * np.exp(3 * (flow - 1.25))) * inputs.speed**1.5
    return _PumpState(density, head, flow, power, available - required)


def _find_condition(inputs: _PumpInput, state: _PumpState) -> npt.NDArray[np.intp]:
    """Return the index of the last condition of `CONDITIONS` that holds."""
    rating = 22 - 0.06 * (inputs.ambient - 22)
    natural_speed = 0.86 - 0.0009 * (inputs.fluid - 20) + 0.03 * (inputs.valve - 0.5)
    holds = (
        np.ones(len(inputs.speed), dtype=np.bool_),
        inputs.wear > 0.16,
        state.flow < 0.45,
        state.power > rating,
        (np.abs(inputs.speed - natural_speed) < 0.012) & (state.flow > 0.5),
        state.margin < 0,
        state.flow <= 0,
    )
    return np.asarray(len(holds) - 1 - np.argmax(holds[::-1], axis=0), dtype=np.intp)


def _read_sensors(inputs: _PumpInput, state: _PumpState, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    power_factor = 0.55 + 0.3 * np.minimum(state.power / 20, 1)
    exact = (
        2950 * inputs.speed,
        100 * inputs.valve,
        inputs.level,
        inputs.inlet,
        inputs.inlet + state.head * state.density * _GRAVITY / 1000,
        inputs.fluid,
        inputs.ambient,
        1000 * state.power / (np.sqrt(3) * 400 * power_factor),
        1.2 + 2 * inputs.speed**2 + 1.5 * np.abs(state.flow - 1) ** 1.5,
        inputs.ambient + 12 * inputs.speed + 1.1 * state.power + 0.15 * (inputs.fluid - 20),
        inputs.hours,
    )
    shape = len(inputs.speed), len(exact)
    return (np.column_stack(exact) + _SENSOR_NOISE * rng.standard_normal(shape)).astype(np.float32)


def _replace_labels(truth: npt.NDArray[np.intp], rng: np.random.Generator) -> npt.NDArray[np.intp]:
    wrong = rng.random(len(truth)) < WRONG_LABEL_SHARE
    shift = rng.integers(1, len(CONDITIONS), len(truth))
    return np.where(wrong, (truth + shift) % len(CONDITIONS), truth)
