"""Draw docs/pictures/reliability.png: emphasis on mistakes distorts probabilities, and calibration corrects them.

Run with ``python docs/pictures/reliability.py``; needs matplotlib.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from fitwithin import TimeConstrainedClassifier
from fitwithin.teachers import TCT
from fitwithin.viz._style import BLUE, GREEN, ORANGE, picture_style


def make_rows(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose label is 1 with a known probability, 15 % on average."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(2.5 - 1.5 * X[:, 0] - X[:, 1]))).astype(int)


def main() -> None:
    """Fit without emphasis, with strong emphasis, and calibrated; draw the three reliability curves."""
    X, y = make_rows(200_000, seed=0)
    X_calibration, y_calibration = make_rows(20_000, seed=1)
    X_test, y_test = make_rows(100_000, seed=2)
    stop = {"time_limit": 60, "random_state": 0, "on_round": lambda finished: finished.rows >= 30_000}
    random_rows = TimeConstrainedClassifier(LogisticRegression(), teacher=TCT(alpha=0.0), **stop).fit(X, y)
    mistakes = TimeConstrainedClassifier(LogisticRegression(), teacher=TCT(alpha=0.3), **stop).fit(X, y)
    calibrated = CalibratedClassifierCV(FrozenEstimator(mistakes), method="isotonic").fit(X_calibration, y_calibration)
    _, axes = plt.subplots(figsize=(5, 5), layout="constrained")
    for name, model, colour in (
        ("random rows", random_rows, BLUE),
        ("30 % mistakes", mistakes, ORANGE),
        ("30 % mistakes, calibrated", calibrated, GREEN),
    ):
        CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=10, name=name, ax=axes, color=colour)
    axes.set(xlabel="predicted probability", ylabel="share of rows of the class")
    plt.savefig(Path(__file__).with_suffix(".png"), dpi=120, metadata={"Software": None})


if __name__ == "__main__":
    with picture_style():
        main()
