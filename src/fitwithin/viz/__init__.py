"""Pictures of a fit: the score over time, where the time went, which classes were trained on.

`plot_race` and `plot_settings` are for searches: which candidates were tried, and which hyperparameters mattered.

Each function takes a fitted estimator and, optionally, the `Axes` to draw on. It returns the `Axes`. The pictures
need matplotlib, which is in the extra ``plots``.
"""

from fitwithin.viz._fit_pictures import class_shares, fit_times, learning_curve, time_spent
from fitwithin.viz._search_pictures import plot_race, plot_settings

__all__ = ["class_shares", "fit_times", "learning_curve", "plot_race", "plot_settings", "time_spent"]
