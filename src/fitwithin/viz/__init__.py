"""Pictures of a fit: the score over time, where the time went, which classes were trained on.

`plot_race` and `plot_settings` are for searches: which settings were tried, and which of them mattered.

Each function takes a fitted estimator and, optionally, the `Axes` to draw on. It returns the `Axes`. The pictures
need matplotlib, which is in the extra ``plots``.
"""

from fitwithin.viz._class_shares import class_shares
from fitwithin.viz._fit_times import fit_times
from fitwithin.viz._learning_curve import learning_curve
from fitwithin.viz._plot_race import plot_race
from fitwithin.viz._plot_settings import plot_settings
from fitwithin.viz._time_spent import time_spent

__all__ = [
    "class_shares",
    "fit_times",
    "learning_curve",
    "plot_race",
    "plot_settings",
    "time_spent",
]
