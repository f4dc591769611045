"""Draw pictures of the pages: TCT, Auto, the deadline, the cost model, the use of rows.

Run with ``python docs/pictures/ideas.py``; needs matplotlib. The rows of TCT, the rounds of Auto and the
predictions of the cost model come from the library's own code. The other two pictures are schematic.
"""

import math
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin._core.fit_cost import FitCost
from fitwithin.backends import Inline, Runner
from fitwithin.backends._early_stopping.registry import find_traits
from fitwithin.teachers import TCT, Answers, Auto, Deck, Exam, Lesson, Requests
from fitwithin.testing import FakeClock
from fitwithin.viz._style import BLUE, EDGE, GREEN, GREY, ORANGE, PINK, figure_to_svg, picture_style

FOLDER = Path(__file__).parent
# Time limit in seconds of the fit in the picture of Auto.
LIMIT_SECONDS = 60.0
CLOCK = FakeClock()
# Standard deviations between the middle and the point below which nine in ten lie.
_NINE_IN_TEN = 1.28

# Measured seconds of training by number of rows: LightGBM on covtype, one thread.
MEASURED_SECONDS = {2_033: 0.81, 8_134: 1.09, 32_536: 2.71, 65_073: 3.6, 130_146: 8.7, 260_293: 15.2, 406_708: 22.6}


def write_svg(figure: plt.Figure, name: str) -> None:
    """Write the figure next to this script."""
    (FOLDER / f"{name}.svg").write_bytes(figure_to_svg(figure))
    plt.close(figure)


def draw_tct() -> None:
    """Draw four rounds of TCT with a simulated model that errs on 30, 25, 20 and 16 % of all rows."""
    rng = np.random.default_rng(0)
    last_wrong = np.array([], dtype=int)
    requests = TCT(alpha=0.2, first=200).teach(Deck(100_000, rng))
    request, before, figure = (
        next(requests),
        np.array([], dtype=int),
        plt.figure(figsize=(8, 3.6), layout="constrained"),
    )
    ax = figure.subplots()
    for number, error in enumerate((0.30, 0.25, 0.20, 0.16)):
        assert isinstance(request, Lesson)
        lesson, wrong, examined = request.rows, [], []
        request = requests.send(None)
        while isinstance(request, Exam):
            mistaken = rng.random(len(request.rows)) < error
            wrong.append(request.rows[mistaken])
            examined.append(len(request.rows))
            request = requests.send(Answers(request.rows, mistaken))
        if number:
            mistakes = int(np.isin(lesson[len(before) :], last_wrong).sum())
            parts = (len(before), len(lesson) - len(before) - mistakes, mistakes)
        else:
            parts = (0, len(lesson), 0)
        left = 0
        for width, colour in zip(parts, (EDGE, BLUE, ORANGE), strict=True):
            ax.barh(number, width, left=left, color=colour, edgecolor="white", height=0.5)
            left += width
        left += 60
        for width, name in zip(examined, ("A1", "A2"), strict=False):
            ax.barh(number, width, left=left, facecolor="white", edgecolor=GREEN, hatch="///", height=0.5)
            ax.text(left + width / 2, number, name, ha="center", va="center", fontsize=8, color=GREEN)
            left += width
        before, last_wrong = lesson, np.concatenate(wrong)
    for colour, label in ((EDGE, "taught before"), (BLUE, "new, right before"), (ORANGE, "new, wrong before")):
        ax.bar(0, 0, color=colour, label=label)
    ax.bar(0, 0, facecolor="white", edgecolor=GREEN, hatch="///", label="exams of the new model, on fresh rows")
    ax.set(yticks=range(4), yticklabels=[f"round {n}" for n in range(1, 5)], xlabel="rows", ylim=(3.5, -0.5))
    ax.grid(axis="y", visible=False)
    ax.legend(loc="upper right", fontsize=8)
    write_svg(figure, "tct")


class RecordingAuto(Auto):
    """Auto that records each lesson and exam with its start and end."""

    def teach(self, deck: Deck) -> Requests:
        """Yield the requests of Auto."""
        self.requests_: list[tuple[Lesson | Exam, float, float]] = []
        requests, answers = super().teach(deck), None
        while True:
            try:
                request = requests.send(answers)
            except StopIteration as end:
                return end.value
            begun = LIMIT_SECONDS - deck.costs.seconds_left
            answers = yield request
            self.requests_.append((request, begun, LIMIT_SECONDS - deck.costs.seconds_left))


class KillableInline(Inline):
    """Inline backend that claims to stop a fit at the deadline; none needs to be stopped here."""

    def open(self, budget: Budget) -> Runner:
        """Open a runner in this process."""
        runner = super().open(budget)
        runner.killable = True
        return runner


class ClockedTree(ClassifierMixin, BaseEstimator):
    """Decision tree that advances the clock: 0.1 s and 0.1 ms a row for a fit, 10 us a row for a prediction."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "ClockedTree":
        """Fit the tree."""
        CLOCK.advance(0.1 + 1e-4 * len(X))
        self.tree_ = DecisionTreeClassifier(min_samples_leaf=5, random_state=2).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict with the tree."""
        CLOCK.advance(1e-5 * len(X))
        return self.tree_.predict(X)


def draw_auto() -> None:
    """Draw the parts of T, and time and size of each fit, on a clock that only the learner advances."""
    X, y = make_classification(
        1_000_000, n_features=8, n_informative=6, n_redundant=0, n_classes=4, n_clusters_per_class=3, random_state=0
    )
    teacher = RecordingAuto()
    clf = TimeConstrainedClassifier(
        ClockedTree(), time_limit=LIMIT_SECONDS, teacher=teacher, backend=KillableInline(clock=CLOCK), random_state=0
    ).fit(X, y)
    figure = plt.figure(figsize=(8, 3.6), layout="constrained")
    ax, parts = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
    fits = [(len(request.rows), begun, ended) for request, begun, ended in teacher.requests_]
    for n_rows, begun, ended in fits:
        ax.fill_between([begun, max(ended, begun + 0.3)], 300, n_rows, color=BLUE, edgecolor="white")
        ax.text(begun + 0.1, n_rows * 1.2, f"{n_rows:,}", va="bottom", fontsize=8)
    small = [fit for fit in fits if fit[2] - fit[1] < 0.12 * LIMIT_SECONDS]
    borders = [0.0, small[0][2], small[-1][2], fits[-1][2], LIMIT_SECONDS]
    colours = {"first model": PINK, "measurements": ORANGE, "large fits": GREEN, "time left": EDGE}
    for (begun, ended), colour in zip(pairwise(borders), colours.values(), strict=True):
        parts.barh(0, ended - begun, left=begun, color=colour, edgecolor="white", height=0.8)
    for label, colour in colours.items():
        parts.bar(0, 0, color=colour, label=label)
    parts.legend(loc="lower left", bbox_to_anchor=(0, 0.85), ncols=4, fontsize=8)
    print(clf.score_estimate_, clf.n_rows_trained_, clf.stop_reason_, clf.time_used_, fits)
    for panel in (ax, parts):
        panel.axvline(LIMIT_SECONDS, color=GREY, linestyle="--")
    ax.text(LIMIT_SECONDS - 0.5, 400, "limit", ha="right", color=GREY)
    ax.set(yscale="log", ylim=(300, 1e7), xlim=(0, LIMIT_SECONDS * 1.02), ylabel="training rows")
    parts.set(xlabel="seconds", yticks=[], ylim=(-0.5, 0.5))
    parts.grid(visible=False)
    write_svg(figure, "auto")


def draw_deadline() -> None:
    """Draw the timelines of the program, the fork server, the learner's process and the loader."""
    figure = plt.figure(figsize=(8, 3.6), layout="constrained")
    ax = figure.subplots()
    bars = [
        *(
            (3, 0.0, 10.0, BLUE, "your program, in fit"),
            (2, 0.4, 11.2, GREEN, "fork server: has imported the libraries, never fits"),
        ),
        *(
            (1, 1.6, 0.5, ORANGE, "1"),
            (1, 2.2, 0.8, ORANGE, "2"),
            (1, 3.1, 1.6, ORANGE, "3"),
            (1, 4.8, 5.2, ORANGE, "round 4 hangs"),
        ),
        *((0, begun, 0.3, PINK, "") for begun in (2.1, 3.0, 4.7)),
    ]
    for lane, begun, width, colour, label in bars:
        hatch = "//" if "hangs" in label else None
        ax.barh(lane, width, left=begun, height=0.45, color=colour, edgecolor="white", hatch=hatch)
        box = {"facecolor": colour, "edgecolor": "none", "pad": 1.5}
        ax.text(begun + width / 2, lane, label, ha="center", va="center", color="white", fontsize=9, bbox=box)
    # The two processes live until the deadline, and are idle in between.
    for lane, begun in ((1, 1.6), (0, 2.1)):
        ax.hlines(lane, begun, 10, color=GREY, linewidth=1, zorder=0)
        ax.annotate("", (begun, lane + 0.26), (begun, 1.76), arrowprops={"arrowstyle": "->", "color": GREY})
    ax.text(1.5, 1.5, "fork", ha="right", va="center", fontsize=9, color=GREY)
    ax.text(1.5, 1, "learner's\nprocess", ha="right", va="center", fontsize=9, color=ORANGE)
    ax.text(2.0, 0, "loader", ha="right", va="center", fontsize=9, color=PINK)
    ax.text(5.15, 0.06, "has loaded model 3 once", va="bottom", fontsize=9, color=PINK)
    ax.annotate("", (10, -0.2), (10, 2.74), arrowprops={"arrowstyle": "->", "color": PINK, "linewidth": 2})
    ax.text(10.15, 0.48, "SIGKILL to both\ngroups", va="center", fontsize=9, color=PINK)
    ax.annotate("", (5.05, 2.76), (5.05, 0.1), arrowprops={"arrowstyle": "->", "color": GREY, "linestyle": "--"})
    ax.text(5.15, 2.5, "model 3 is safe", fontsize=9, color=GREY, va="center")
    ax.axvline(10, color=GREY, linestyle="--", linewidth=1, zorder=0)
    ax.text(10, 3.5, "deadline", ha="center", fontsize=9, color=GREY)
    ax.text(10.15, 3, "returns model 3", va="center", fontsize=9, color=BLUE)
    ax.set(xlim=(0, 12), ylim=(-0.4, 3.75), xticks=[], yticks=[], xlabel="time")
    ax.grid(visible=False)
    ax.spines["left"].set_visible(False)
    write_svg(figure, "deadline")


def draw_cost() -> None:
    """Draw the cost model's prediction for each size, after it has observed the smaller ones."""
    figure = plt.figure(figsize=(8, 4), layout="constrained")
    ax = figure.subplots()
    sizes, seconds = list(MEASURED_SECONDS), list(MEASURED_SECONDS.values())
    traits = find_traits(LGBMClassifier())
    model = FitCost(traits.growth, traits.first_growing_share, traits.spread)
    for place, (rows, took) in enumerate(MEASURED_SECONDS.items()):
        if place:
            expected, room = model.seconds(rows), math.exp(_NINE_IN_TEN * model.deviation(rows))
            ax.errorbar(
                rows,
                expected,
                yerr=[[expected - expected / room], [expected * room - expected]],
                fmt="s",
                color=ORANGE,
                capsize=4,
            )
            print(
                f"{rows:7,}  expected {expected:5.2f}  took {took:5.2f}  nine in ten end within {expected * room:.2f}"
            )
        model.observe(rows, took)
    ax.plot(sizes, seconds, "-o", color=BLUE, label="measured: LightGBM on covtype, one thread")
    ax.errorbar(
        [], [], yerr=[], fmt="s", color=ORANGE, capsize=4, label="expected from the smaller ones, nine chances in ten"
    )
    ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds of training")
    ax.legend(loc="upper left")
    write_svg(figure, "cost")


def draw_row_usage() -> None:
    """Draw how the default and TCT use the rows."""
    figure = plt.figure(figsize=(8, 2.6), layout="constrained")
    ax = figure.subplots()
    lanes = [
        (
            "default",
            (
                (4, GREEN, "validation"),
                (4, PINK, "holdout"),
                (54, BLUE, "training rows"),
                (38, EDGE, "not used"),
            ),
        ),
        (
            "TCT",
            (
                (38, BLUE, "training rows"),
                (13, GREEN, "predicted last"),
                (24, ORANGE, "predicted before"),
                (25, EDGE, "not used"),
            ),
        ),
    ]
    for lane, (name, parts) in enumerate(lanes):
        left = 0
        for width, colour, label in parts:
            ax.barh(lane, width, left=left, color=colour, edgecolor="white", height=0.62)
            turned = width < 6
            ax.text(
                left + width / 2,
                lane,
                label,
                rotation=90 if turned else 0,
                ha="center",
                va="center",
                color="white",
                fontsize=7 if turned else 8,
            )
            left += width
        ax.text(-1, lane, name, ha="right", va="center")
    ax.annotate(
        "score_estimate_",
        (6, -0.32),
        (6, -0.72),
        ha="center",
        fontsize=9,
        arrowprops={"arrowstyle": "<-", "color": PINK},
        color=PINK,
    )
    ax.annotate(
        "score_estimate_",
        (44.5, 1.32),
        (44.5, 1.72),
        ha="center",
        va="bottom",
        fontsize=9,
        arrowprops={"arrowstyle": "<-", "color": GREEN},
        color=GREEN,
    )
    ax.set(xlim=(-9, 100), ylim=(1.95, -0.95))
    ax.axis("off")
    write_svg(figure, "row_usage")


if __name__ == "__main__":
    with picture_style():
        draw_tct()
        draw_deadline()
        draw_cost()
        draw_row_usage()
        draw_auto()
