"""
Can the estimate be trusted?
============================

Thirty fits with thirty seeds, for each of two ways to choose training rows. The data is generated, so there are as many
new rows as needed. Each fit gives a 95 % interval. Each model is then scored on 50,000 other rows, which is close to
its true accuracy.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.naive_bayes import GaussianNB

from fitwithin import TimeConstrainedClassifier

FITS = 30


def make_rows(rows, seed):
    """Two overlapping clouds."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=rows)
    return rng.normal(size=(rows, 4)) + 0.6 * y[:, None], y


X_test, y_test = make_rows(50_000, seed=1000)


def interval_and_truth(teacher, seed):
    """Return the estimate and interval of a fit of a few small rounds, and the true accuracy."""
    clf = TimeConstrainedClassifier(
        GaussianNB(),
        time_limit=60,
        teacher=teacher,
        backend="inline",
        on_round=lambda finished: finished.number >= 4,
        random_state=seed,
    ).fit(*make_rows(8_000, seed))
    return *clf.score_estimate_, clf.score(X_test, y_test)


# %%
# `"tct"` chooses the best model by the same rows that the estimate comes from. A lucky sample then counts twice, so the
# estimate is somewhat too high, which shows with samples as small as these. The default, `"auto"`, chooses the model by
# validation rows and estimates its score from holdout rows.

_, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, teacher in zip(axes, ("auto", "tct"), strict=True):
    estimates, lows, highs, truths = np.array([interval_and_truth(teacher, seed) for seed in range(FITS)]).T
    inside, off = (lows <= truths) & (truths <= highs), estimates - truths
    print(f"{teacher:4}  {inside.sum()} of {FITS} intervals hold the truth;", end=" ")
    print(f"estimate - truth: {off.mean():+.4f}, standard error {off.std() / FITS**0.5:.4f}")
    order = np.argsort(estimates)
    for kind, colour, label in ((inside, "C0", "interval holds the truth"), (~inside, "C3", "interval does not")):
        places = np.flatnonzero(kind[order])
        ax.vlines(places, lows[order][places], highs[order][places], color=colour, label=label)
    ax.plot(np.arange(FITS), truths[order], "k.", label="accuracy on 50,000 other rows")
    ax.set(xlabel="fits, sorted by their estimate", title=f'teacher="{teacher}": {off.mean():+.3f} on average')
axes[0].set_ylabel("accuracy")
axes[0].legend(fontsize="small", loc="lower right")
