"""
Real digits, shifted, and a slow booster
========================================

scikit-learn ships 1,797 pictures of handwritten digits. Each is shifted by one pixel in eight directions, which gives
16,173 rows. `GradientBoostingClassifier`, which bins no features, would take far longer on them than the limit.
`groups` keeps the copies of a picture together, so that no model is scored on a copy of a picture that it was trained
on.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier

from fitwithin import TimeConstrainedClassifier, viz

LIMIT = os.environ.get("FITWITHIN_EXAMPLE_LIMIT", "20s")

digits = load_digits()
shifts = [(up, right) for up in (-1, 0, 1) for right in (-1, 0, 1)]
X = np.concatenate([np.roll(digits.images, shift, axis=(1, 2)).reshape(-1, 64) for shift in shifts])
y = np.tile(digits.target, len(shifts))
picture = np.tile(np.arange(len(digits.target)), len(shifts))

known = picture < 1_400
clf = TimeConstrainedClassifier(
    GradientBoostingClassifier(n_estimators=300, max_features="sqrt"), time_limit=LIMIT, random_state=0
)
clf.fit(X[known], y[known], groups=picture[known])

estimate, low, high = clf.score_estimate_
print(f"{clf.n_rows_trained_:,} of {clf.n_rows_in_:,} rows, {clf.best_estimator_.n_estimators_} trees a class")
print(f"accuracy {estimate:.3f} [{low:.3f}, {high:.3f}], on other pictures {clf.score(X[~known], y[~known]):.3f}")

# %%
# The learning curve, and eight test digits with their predictions.

figure = plt.figure(figsize=(9, 5), layout="constrained")
above, below = figure.subfigures(2, 1, height_ratios=[2.4, 1])
viz.learning_curve(clf, above.subplots())
for ax, row in zip(below.subplots(1, 8), np.flatnonzero(~known)[::450], strict=False):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{clf.predict(X[row : row + 1])[0]}", fontsize=9)
    ax.axis("off")
