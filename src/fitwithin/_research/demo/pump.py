"""A data set that needs no download: a simulated centrifugal pump and the conditions it may be in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.float64]
"""One number for each moment of the plant."""


CONDITIONS = ("normal", "worn", "recirculation", "overload", "resonance", "cavitation", "no delivery")
"""What the pump may be in; a later one hides an earlier one."""


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
"""The columns of X. The flow is not measured, as in most plants."""


# How far the readings are off, one standard deviation each, in their own units.
_SENSOR_NOISE = (4.0, 0.5, 0.08, 0.5, 2.0, 0.3, 0.3, 0.12, 0.35, 0.8, 0.0)


_GRAVITY = 9.81


WRONG_LABELS = 0.03
"""The share of labels that are wrong."""


@dataclass(frozen=True, eq=False)
class _Duty:
    """What is asked of the pump, and the shape that it is in."""

    speed: Column
    valve: Column
    level: Column
    inlet: Column
    fluid: Column
    ambient: Column
    hours: Column
    wear: Column


@dataclass(frozen=True, eq=False)
class _Operation:
    """What the pump does then: head (m), flow as a share of the best one, power (kW), suction margin (m)."""

    density: Column
    head: Column
    flow: Column
    power: Column
    margin: Column


@dataclass(frozen=True, eq=False)
class Dataset:
    """Readings with the labels that somebody wrote down.

    Parameters
    ----------
    X : array of shape (n_rows, 11)
        The columns of `READINGS`.
    y : array of str
        The labels, some of them wrong.
    truth : array of str
        The condition that the pump was in.
    """

    X: npt.NDArray[np.float32]
    y: npt.NDArray[np.str_]
    truth: npt.NDArray[np.str_]

    def split(self, at: int) -> tuple[Dataset, Dataset]:
        """The first so many rows, and the others."""
        first, others = slice(None, at), slice(at, None)
        return (
            Dataset(self.X[first], self.y[first], self.truth[first]),
            Dataset(self.X[others], self.y[others], self.truth[others]),
        )


def make_dataset(rows: int, seed: int) -> Dataset:
    """Simulate a centrifugal pump at so many random moments.

    Most of the time all is well. Each other condition has a curved border of its own, where speed, valve,
    temperature, pressure and wear interact, and some are rare.

    Parameters
    ----------
    rows : int
        How many moments.
    seed : int
        The same seed gives the same data.

    Returns
    -------
    Dataset
        With 3 % of the labels replaced by a random other one.

    Examples
    --------
    >>> make_dataset(1000, seed=0).X.shape
    (1000, 11)
    """
    rng = np.random.default_rng(seed)
    duty = _draw_duty(rows, rng)
    operation = _operate(duty)
    truth = _condition(duty, operation)
    X = _read(duty, operation, rng)
    names = np.array(CONDITIONS)
    return Dataset(X, names[_mislabelled(truth, rng)], names[truth])


def _draw_duty(rows: int, rng: np.random.Generator) -> _Duty:
    hot = rng.random(rows) < 0.4
    hours = rng.gamma(1.5, 1500, rows)
    return _Duty(
        speed=0.35 + 0.8 * rng.beta(5, 2, rows),
        valve=0.05 + 0.95 * rng.beta(3, 1.5, rows),
        level=rng.uniform(8, 26, rows),
        inlet=25 + rng.gamma(6, 9, rows),
        fluid=np.where(hot, rng.normal(68, 9, rows), rng.normal(18, 6, rows)).clip(2, 97),
        ambient=rng.normal(22, 7, rows),
        hours=hours,
        wear=(rng.gamma(1.2, 0.04, rows) + 1e-5 * hours).clip(0, 0.6),
    )


def _operate(duty: _Duty) -> _Operation:
    """Where the pump's curve meets that of the pipes."""
    density = 1000 - 0.0045 * (duty.fluid - 4) ** 2
    shut_off = 62 * duty.speed**2 * (1 - duty.wear)
    friction = 0.0011 / duty.valve**2
    volume = np.sqrt((shut_off - duty.level).clip(0) / (0.0009 + friction))
    head = np.minimum(shut_off, duty.level + friction * volume**2)
    flow = volume / (115 * duty.speed)
    efficiency = (0.82 * (1 - 0.75 * (flow - 1) ** 2) - 0.25 * duty.wear).clip(0.15)
    power = density * _GRAVITY * volume / 3600 * head / efficiency / 1000 + 0.9 * duty.speed**3
    vapour = 0.61094 * np.exp(17.625 * duty.fluid / (duty.fluid + 243.04))
    available = (duty.inlet - vapour) * 1000 / (density * _GRAVITY)
    required = (0.8 + 2.6 * flow**2 + 0.4 * np.exp(3 * (flow - 1.25))) * duty.speed**1.5
    return _Operation(density, head, flow, power, available - required)


def _condition(duty: _Duty, operation: _Operation) -> npt.NDArray[np.intp]:
    """The last condition of `CONDITIONS` that holds."""
    rating = 22 - 0.06 * (duty.ambient - 22)
    natural_speed = 0.86 - 0.0009 * (duty.fluid - 20) + 0.03 * (duty.valve - 0.5)
    holds = (
        np.ones(len(duty.speed), dtype=np.bool_),
        duty.wear > 0.16,
        operation.flow < 0.45,
        operation.power > rating,
        (np.abs(duty.speed - natural_speed) < 0.012) & (operation.flow > 0.5),
        operation.margin < 0,
        operation.flow <= 0,
    )
    return np.asarray(len(holds) - 1 - np.argmax(holds[::-1], axis=0), dtype=np.intp)


def _read(duty: _Duty, operation: _Operation, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    power_factor = 0.55 + 0.3 * np.minimum(operation.power / 20, 1)
    exact = (
        2950 * duty.speed,
        100 * duty.valve,
        duty.level,
        duty.inlet,
        duty.inlet + operation.head * operation.density * _GRAVITY / 1000,
        duty.fluid,
        duty.ambient,
        1000 * operation.power / (np.sqrt(3) * 400 * power_factor),
        1.2 + 2 * duty.speed**2 + 1.5 * np.abs(operation.flow - 1) ** 1.5,
        duty.ambient + 12 * duty.speed + 1.1 * operation.power + 0.15 * (duty.fluid - 20),
        duty.hours,
    )
    shape = len(duty.speed), len(exact)
    return (np.column_stack(exact) + _SENSOR_NOISE * rng.standard_normal(shape)).astype(np.float32)


def _mislabelled(truth: npt.NDArray[np.intp], rng: np.random.Generator) -> npt.NDArray[np.intp]:
    wrong = rng.random(len(truth)) < WRONG_LABELS
    shift = rng.integers(1, len(CONDITIONS), len(truth))
    return np.where(wrong, (truth + shift) % len(CONDITIONS), truth)
