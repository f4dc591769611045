"""Replay two nights: a fit, and the same fit with another seed that begins with the experience of the first.

``python benchmarks/tunnel/nights.py --set all`` prints rows / the oracle's rows of both nights, by learner; ``--machine
3`` makes the second night's machine three times slower, whose fit is compared with one without experience.
"""

from __future__ import annotations

import argparse
import logging
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from recording import Recording
from replay import RECORDINGS, find_oracle, find_recordings, make_teacher, run_session

from fitwithin._core.log import LOGGER
from fitwithin._session.experience import thin_out

RATIOS = (0.1, 0.25, 0.5, 0.8)
"""Time limits, as multiples of the seconds of every row on the machine of the second night."""

FULL_SECONDS = (60.0, 3600.0)
"""Seconds of every row on the machine of the second night."""

GOAL = 0.88
"""Median of rows / the oracle's rows in the second night, of learners that cannot stop early."""


def replay_nights(recording: Recording, ratio: float, full: float, seed: int, machine: float) -> dict[str, Any] | None:
    """Return rows / the oracle's rows of a night without experience and of one with it; None without experience.

    `machine` is how many times slower the machine of the second night is; its limit is the same share of every row.
    """
    scale, limit, teacher = full / recording.full_seconds, ratio * full, make_teacher("auto")
    first = run_session(recording, teacher, limit, scale / machine, seed)
    if first.learner_costs is None:
        return None
    known = thin_out(first.learner_costs["observations"])
    oracle = max(1, find_oracle(recording, ratio, full)["oracle_rows"])
    nights = [run_session(recording, teacher, limit, scale, seed + 1000, known=one) for one in (None, known)]
    rows = [0 if night.model is None else night.model.rows * night.model.share for night in nights]
    return {
        "family": recording.header["family"],
        "can_stop": recording.can_stop,
        "without": rows[0] / oracle,
        "with": rows[1] / oracle,
        "fits": [len(night.log) for night in nights],
    }


def format_table(found: list[dict[str, Any]], machine: float) -> str:
    """Return a line for each family of learners, and for those that cannot stop early."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in found:
        kind = "can stop" if one["can_stop"] else "cannot stop"
        for name in (one["family"], kind):
            groups[name].append(one)
    lines = ["| learners | nights | without experience: median / p10 / mean | with it | fits |", "| --- " * 5 + "|"]
    for name, nights in sorted(groups.items()):
        cells = [
            " / ".join(f"{value:.2f}" for value in (*np.quantile(values, [0.5, 0.1]), np.mean(values)))
            for values in ([one[which] for one in nights] for which in ("without", "with"))
        ]
        fits = np.mean([one["fits"] for one in nights], axis=0)
        lines.append(f"| {name} | {len(nights)} | {cells[0]} | {cells[1]} | {fits[0]:.1f}, {fits[1]:.1f} |")
    if machine == 1:
        reached = np.median([one["with"] for one in found if not one["can_stop"]])
        verdict = "met" if reached >= GOAL else "**MISSED**"
        lines += ["", f"- {verdict}: learners that cannot stop early reach {reached:.2f} in the median (goal: {GOAL})"]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="all", help="design, unseen, all")
    parser.add_argument("--recordings", type=Path, default=RECORDINGS)
    parser.add_argument("--only", default="", help="recordings whose name contains this text")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--machine", type=float, default=1.0, help="how many times slower the second night's is")
    options = parser.parse_args(argv)
    LOGGER.setLevel(logging.ERROR)  # a session without a model is a result
    paths = find_recordings(options.recordings, options.set)
    recordings = [Recording.load(path) for name, path in paths.items() if options.only in name]
    nights = [
        replay_nights(recording, ratio, full, seed, options.machine)
        for recording in recordings
        for full in FULL_SECONDS
        for ratio in RATIOS
        for seed in range(options.seeds)
    ]
    print(format_table([night for night in nights if night is not None], options.machine))


if __name__ == "__main__":
    main()
