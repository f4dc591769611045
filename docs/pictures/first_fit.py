"""Draw the picture in README.md: learning curve and use of time of its example."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin.viz import learning_curve, time_spent


def main() -> None:
    """Fit as in README.md, and draw."""
    X, y = make_classification(200_000, n_features=20, n_informative=10, class_sep=2, random_state=0)
    clf = TimeConstrainedClassifier(RandomForestClassifier(), time_limit="10s", random_state=0).fit(X, y)
    figure, (above, below) = plt.subplots(2, figsize=(8, 5), height_ratios=(4, 1), layout="constrained")
    learning_curve(clf, above)
    time_spent(clf, below)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)
    print(
        clf.stop_reason_,
        f"{clf.time_used_:.2f} s",
        clf.n_rows_taught_,
        [round(value, 4) for value in clf.score_estimate_],
    )


if __name__ == "__main__":
    main()
