"""Draw docs/_static/faults.svg and .png: a learner that hangs, from benchmarks/results/fault_chart.json.

Run with ``python docs/pictures/faults.py``; needs matplotlib.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from fitwithin.viz._style import BLUE, GREY, INK, ORANGE, figure_to_svg, picture_style

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "fault_chart.json"
PICTURE = ROOT / "docs" / "_static" / "faults.svg"
JOB = "hangs"

Run = Mapping[str, Any]


def draw(figures: Mapping[str, Any]) -> plt.Figure:
    """Draw one bar for each tool: how long the call took, with a model, without one, or without an end."""
    runs, limit = [run for run in figures["runs"] if run["job"] == JOB], figures["limit"]
    figure = plt.figure(figsize=(8, 0.45 * len(runs) + 1.1), layout="constrained")
    ax = figure.subplots()
    for place, run in enumerate(runs):
        is_endless = run["ended"] == "hard stop"
        colour = ORANGE if is_endless else GREY if run["accuracy"] is None else BLUE
        ax.barh(place, run["seconds"], color=colour, height=0.6, hatch="//" if is_endless else None, edgecolor="white")
        inside = is_endless or run["seconds"] > 2 * limit
        x, side, ink = (run["seconds"], -6, "white") if inside else (max(run["seconds"], limit), 6, INK)
        box = {"facecolor": colour, "edgecolor": "none", "pad": 1.5} if inside else None
        ax.annotate(
            describe(run), (x, place), (side, 0), textcoords="offset points", va="center",
            ha="right" if inside else "left", color=ink, fontsize=9, bbox=box,
        )  # fmt: skip
    ax.axvline(limit, color=INK, linestyle="--", linewidth=1)
    ax.set(yticks=range(len(runs)), yticklabels=[run["tool"] for run in runs], ylim=(len(runs) - 0.5, -0.5))
    ax.set(xlabel=f"seconds until the call returned; asked for {limit:g} s", xlim=(0, 3.05 * limit))
    ax.grid(axis="y", visible=False)
    return figure


def describe(run: Run) -> str:
    """Return what came back, and when."""
    if run["ended"] == "hard stop":
        return f"did not return: ended after {run['seconds']:.0f} s"
    if run["accuracy"] is None:
        left = count_processes([*run["left"], *run["left_after_exit"]])
        found = f"{run['seconds']:.1f} s, no model"
        return f"{found}, {left} still running" if left else found
    since = "" if run["since"] is None else f", the model of second {run['since']:.1f}"
    return f"{run['seconds']:.1f} s{since}, {100 * run['accuracy']:.1f} % accurate"


def count_processes(left: Sequence[str]) -> str:
    """Return the number of processes among what was left, in words; empty if there are none."""
    count = sum(one.startswith("process") for one in left)
    return f"{count} process{'es' if count > 1 else ''}" if count else ""


if __name__ == "__main__":
    with picture_style():
        picture = draw(json.loads(RESULTS.read_text(encoding="utf-8")))
        PICTURE.write_bytes(figure_to_svg(picture))
        picture.savefig(PICTURE.with_suffix(".png"), dpi=130, metadata={"Software": None})
