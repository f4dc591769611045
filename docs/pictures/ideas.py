"""Draw the pictures of docs/ideas: TCT, Auto, the deadline, the cost model, audit rows.

Run with ``python docs/pictures/ideas.py``; needs matplotlib. TCT's rows, the course of Auto and the
predictions of the cost model come from the library's own code; the other two are drawings.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostModel
from fitwithin.backends import Inline, Seat
from fitwithin.teachers import TCT, Answers, Auto, Deck, Exam, Lesson, Requests
from fitwithin.testing import FakeClock
from fitwithin.viz._palette import BLUE, EDGE, GREEN, GREY, ORANGE, PINK
from fitwithin.viz._style import figure_to_svg, picture_style

HERE = Path(__file__).parent
LIMIT = 60.0
CLOCK = FakeClock()
# LightGBM on covtype, one thread: rows, and seconds of training, as measured.
MEASURED = {2_033: 0.81, 8_134: 1.09, 32_536: 2.71, 65_073: 3.6, 130_146: 8.7, 260_293: 15.2, 406_708: 22.6}


def save(figure: plt.Figure, name: str) -> None:
    """As a file beside this one."""
    (HERE / f"{name}.svg").write_bytes(figure_to_svg(figure))
    plt.close(figure)


def draw_tct() -> None:
    """Four rounds of TCT on a made-up model that errs on 30 %, then 25, 20 and 16 % of all rows."""
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
    save(figure, "tct")


class Watched(Auto):
    """Auto, with a note of what it asks for and when."""

    def teach(self, deck: Deck) -> Requests:
        """Yield what Auto yields."""
        self.notes_: list[tuple[Lesson | Exam, float, float]] = []
        requests, answers = super().teach(deck), None
        while True:
            try:
                request = requests.send(answers)
            except StopIteration as end:
                return end.value
            begun = LIMIT - deck.outlook.seconds_left
            answers = yield request
            self.notes_.append((request, begun, LIMIT - deck.outlook.seconds_left))


class Killable(Inline):
    """As if a lesson could be stopped at the deadline; none needs to be here."""

    def open(self, budget: Budget) -> Seat:
        """A seat in this process."""
        seat = super().open(budget)
        seat.killable = True
        return seat


class Timed(ClassifierMixin, BaseEstimator):
    """A tree that turns a clock: a second to begin with, 0.15 ms a row to learn, and 10 us a row to classify."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Timed":
        """Learn."""
        CLOCK.advance(1 + 1.5e-4 * len(X))
        self.tree_ = DecisionTreeClassifier(min_samples_leaf=5).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Classify."""
        CLOCK.advance(1e-5 * len(X))
        return self.tree_.predict(X)


def draw_auto() -> None:
    """A fit on a clock that only the learner turns: each lesson and each exam, when and how large."""
    X, y = make_classification(
        200_000, n_features=8, n_informative=6, n_redundant=0, n_classes=4, n_clusters_per_class=3, random_state=0
    )
    teacher = Watched()
    clf = TimeConstrainedClassifier(
        Timed(), time_limit=LIMIT, teacher=teacher, backend=Killable(clock=CLOCK), random_state=0
    ).fit(X, y)
    figure = plt.figure(figsize=(8, 4), layout="constrained")
    ax, exams = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    lanes = {"panel": (2, GREEN), "auditors": (1, PINK), "judges, search": (0, ORANGE)}
    for request, begun, ended in teacher.notes_:
        if isinstance(request, Lesson):
            ax.fill_between([begun, ended], 300, len(request.rows), color=BLUE, edgecolor="white")
            label = f"{len(request.rows):,}"
            where = (begun + ended) / 2, len(request.rows) * 1.2
            ax.text(*where, label, ha="center", va="bottom", fontsize=8, rotation=90 if ended - begun < 3 else 0)
            continue
        kind = {"validation": "panel", "holdout": "auditors"}.get(request.purpose, "judges, search")
        # Exams are short here, and are to be seen all the same.
        lane, colour = lanes[kind]
        exams.barh(lane, max(ended - begun, 0.25), left=begun, color=colour, height=0.7)
        print(kind, len(request.rows), round(begun, 2), round(ended, 2))
    print(clf.score_estimate_, clf.n_rows_taught_, clf.stop_reason_, clf.time_used_)
    for one in (ax, exams):
        one.axvline(LIMIT, color=GREY, linestyle="--")
    ax.text(LIMIT - 0.5, 400, "limit", ha="right", color=GREY)
    ax.set(yscale="log", ylim=(300, 1e6), xlim=(0, LIMIT * 1.02), ylabel="rows of the lesson")
    exams.set(xlabel="seconds", yticks=[lane for lane, _ in lanes.values()], yticklabels=list(lanes), ylim=(-0.6, 2.6))
    exams.grid(axis="y", visible=False)
    save(figure, "auto")


def draw_deadline() -> None:
    """Three lanes: your program, the helper, the learner's processes."""
    figure = plt.figure(figsize=(8, 3), layout="constrained")
    ax = figure.subplots()
    bars = [
        *(
            (2, 0.0, 10.0, BLUE, "your program, in fit"),
            (1, 0.4, 11.2, GREEN, "helper: has imported the libraries, never fits"),
        ),
        *(
            (0, 1.6, 0.5, ORANGE, "1"),
            (0, 2.2, 0.8, ORANGE, "2"),
            (0, 3.1, 1.6, ORANGE, "3"),
            (0, 4.8, 5.2, ORANGE, "round 4 hangs"),
        ),
    ]
    for lane, begun, width, colour, label in bars:
        hatch = "//" if "hangs" in label else None
        ax.barh(lane, width, left=begun, height=0.45, color=colour, edgecolor="white", hatch=hatch)
        box = {"facecolor": colour, "edgecolor": "none", "pad": 1.5}
        ax.text(begun + width / 2, lane, label, ha="center", va="center", color="white", fontsize=9, bbox=box)
    for begun in (1.6, 2.2, 3.1, 4.8):
        ax.annotate("", (begun, 0.26), (begun, 0.76), arrowprops={"arrowstyle": "->", "color": GREY})
    ax.text(1.5, 0.5, "fork", ha="right", va="center", fontsize=9, color=GREY)
    ax.annotate("", (10, 0.26), (10, 1.74), arrowprops={"arrowstyle": "->", "color": PINK, "linewidth": 2})
    ax.text(10.15, 0.48, "SIGKILL to the\nwhole group", va="center", fontsize=9, color=PINK)
    ax.annotate("", (4.7, 1.76), (4.7, 0.24), arrowprops={"arrowstyle": "->", "color": GREY, "linestyle": "--"})
    ax.text(4.8, 1.5, "model 3 is safe", fontsize=9, color=GREY, va="center")
    ax.axvline(10, color=GREY, linestyle="--", linewidth=1, zorder=0)
    ax.text(10, 2.5, "deadline", ha="center", fontsize=9, color=GREY)
    ax.text(10.15, 2, "returns model 3", va="center", fontsize=9, color=BLUE)
    ax.set(xlim=(0, 12), ylim=(-0.4, 2.75), xticks=[], yticks=[], xlabel="time")
    ax.grid(visible=False)
    ax.spines["left"].set_visible(False)
    save(figure, "deadline")


def draw_cost() -> None:
    """What the cost model expects of each size, when it has seen the sizes before it."""
    figure = plt.figure(figsize=(8, 4), layout="constrained")
    ax = figure.subplots()
    sizes, seconds = list(MEASURED), list(MEASURED.values())
    model = CostModel(1.0)
    for place, (rows, took) in enumerate(MEASURED.items()):
        if place:
            expected, room = model.fit_seconds(rows), model.headroom
            ax.errorbar(
                rows,
                expected,
                yerr=[[expected - expected / room], [expected * room - expected]],
                fmt="s",
                color=ORANGE,
                capsize=4,
            )
            print(f"{rows:7,}  expected {expected:5.2f}  took {took:5.2f}  within a factor of {room:.2f}")
        model.observe_fit(rows, took)
    ax.plot(sizes, seconds, "-o", color=BLUE, label="measured: LightGBM on covtype, one thread")
    ax.errorbar(
        [], [], yerr=[], fmt="s", color=ORANGE, capsize=4, label="expected from the smaller ones, with head-room"
    )
    ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds of training")
    ax.legend(loc="upper left")
    save(figure, "cost")


def draw_estimates() -> None:
    """What the rows of a pool are used for."""
    figure = plt.figure(figsize=(8, 2.6), layout="constrained")
    ax = figure.subplots()
    lanes = [
        (
            "Auto",
            (
                (4, GREEN, "panel"),
                (4, PINK, "auditors"),
                (36, BLUE, "taught in some lesson"),
                (18, ORANGE, "searched for mistakes"),
                (38, EDGE, "not looked at"),
            ),
        ),
        (
            "TCT",
            (
                (38, BLUE, "taught in some lesson"),
                (13, GREEN, "newest exam"),
                (24, ORANGE, "earlier exams, not taught"),
                (25, EDGE, "not looked at"),
            ),
        ),
    ]
    for lane, (name, parts) in enumerate(lanes):
        left = 0
        for width, colour, label in parts:
            ax.barh(lane, width, left=left, color=colour, edgecolor="white", height=0.5)
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
        (6, -0.26),
        (6, -0.72),
        ha="center",
        fontsize=9,
        arrowprops={"arrowstyle": "<-", "color": PINK},
        color=PINK,
    )
    ax.annotate(
        "score_estimate_",
        (44.5, 1.26),
        (44.5, 1.72),
        ha="center",
        va="bottom",
        fontsize=9,
        arrowprops={"arrowstyle": "<-", "color": GREEN},
        color=GREEN,
    )
    ax.set(xlim=(-8, 100), ylim=(1.95, -0.95))
    ax.axis("off")
    save(figure, "audit")


if __name__ == "__main__":
    with picture_style():
        draw_tct()
        draw_deadline()
        draw_cost()
        draw_estimates()
        draw_auto()
