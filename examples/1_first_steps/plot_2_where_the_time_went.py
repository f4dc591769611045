"""
Where the time went, and a report
=================================

`viz.time_spent` draws the time used as one bar, and the limit as a line. `viz.fit_times` compares the seconds that each
fit took with the seconds that were expected. `report` writes these and other pictures, a table of all fits and the
parameters to one HTML page.
"""

import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from fitwithin import TimeConstrainedClassifier, viz

LIMIT = os.environ.get("FITWITHIN_EXAMPLE_LIMIT", "20s")

X, y = make_classification(300_000, n_features=20, n_informative=8, n_classes=3, random_state=0)
clf = TimeConstrainedClassifier(RandomForestClassifier(50), time_limit=LIMIT, random_state=0).fit(X, y)

_, (top, bottom) = plt.subplots(2, 1, figsize=(7, 6), height_ratios=[1, 2.5], layout="constrained")
viz.time_spent(clf, top)
viz.fit_times(clf, bottom)

# %%
# The page needs no network and no other file.

with tempfile.TemporaryDirectory() as folder:
    page = clf.report(Path(folder) / "report.html")
    print(f"{page.name}: {page.stat().st_size / 1000:.0f} kB")
