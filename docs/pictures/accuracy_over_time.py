"""Draw the picture in README.md: test accuracy over time, from benchmarks/results/baseline.json.

Run with ``python docs/pictures/accuracy_over_time.py``; needs matplotlib.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from fitwithin.viz._palette import BLUE, GREY, INK, ORANGE
from fitwithin.viz._style import picture_style

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "baseline.json"
COLOURS = (BLUE, ORANGE, INK)


def draw(figures: Mapping[str, Any]) -> plt.Figure:
    """Draw one line of steps for each way to fit. A line begins with its first model."""
    figure = plt.figure(figsize=(8, 3.8), layout="constrained")
    ax = figure.subplots()
    ways = choose_median_seed(figures["results"])
    end = 1.06 * max(one["seconds"] for one in ways)
    for one, colour in zip(ways, COLOURS, strict=True):
        draw_steps(ax, one, end, colour)
    ax.axvline(figures["limit"], color=GREY, linestyle="--", linewidth=1)
    ax.annotate(
        f"time limit, {figures['limit']:g} s", (figures["limit"], 0), (4, 4), xycoords=("data", "axes fraction"),
        textcoords="offset points", va="bottom", color=GREY,
    )  # fmt: skip
    ax.set(xlabel="seconds since the start of fit", ylabel="accuracy on test rows", xlim=(0, end))
    figure.legend(loc="outside upper left", frameon=False)
    return figure


def choose_median_seed(results: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the results of the seed whose first way has the median accuracy."""
    seeds = [results[start : start + len(COLOURS)] for start in range(0, len(results), len(COLOURS))]
    return sorted(seeds, key=lambda ways: float(ways[0]["accuracy"]))[len(seeds) // 2]


def draw_steps(ax: Axes, one: Mapping[str, Any], end: float, colour: str) -> None:
    """Draw the accuracy of the best model so far: solid while the fit runs, dotted once it has returned."""
    times, scores = [step["seconds"] for step in one["steps"]], [step["accuracy"] for step in one["steps"]]
    label = f"{one['way']}: {one['accuracy']:.3f} in {one['seconds']:.0f} s"
    ax.step([*times, one["seconds"]], [*scores, scores[-1]], where="post", color=colour, linewidth=1.8)
    ax.plot(times, scores, "o", color=colour, markersize=4, label=label)
    ax.plot([one["seconds"], end], [one["accuracy"]] * 2, ":", color=colour, linewidth=1.4)


if __name__ == "__main__":
    with picture_style():
        picture = draw(json.loads(RESULTS.read_text(encoding="utf-8")))
        picture.savefig(Path(__file__).with_suffix(".png"), dpi=130, metadata={"Software": None})
