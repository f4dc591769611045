"""Check the forecasts of longer limits: replay a fit, ask for twice and four times its limit, and replay these.

``python benchmarks/tunnel/forecast.py --set unseen`` prints the share of the 90 % intervals that hold the score that
came, by learner. That is the score on the rows that answer the exams: the interval is about new rows like these.
"""

from __future__ import annotations

import argparse
import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from recording import Recording
from replay import RECORDINGS, find_recordings, make_teacher, run_session

from fitwithin._core.log import LOGGER
from fitwithin._session.forecast import make_forecasts

RATIOS = (0.05, 0.1, 0.25, 0.5)
"""Time limits of the fits, as multiples of the seconds of every row; the longest forecast has time for all of them."""

FULL_SECONDS = (20.0, 600.0)
"""Seconds that the recorded fit on every row is scaled to."""

FACTORS = (2.0, 4.0)
"""Limits of the forecasts, as multiples of the limit of the fit."""

GOAL = (0.85, 0.95)
"""Bounds of the share of intervals that hold the score."""


@dataclass(frozen=True)
class Check:
    """A forecast and its result; `low` and `high` are NaN where there was no interval."""

    family: str
    factor: float
    rows: int
    rows_came: int
    score: float
    low: float
    high: float
    came: float

    @property
    def has_interval(self) -> bool:
        """Whether two sizes were scored, and there is a model."""
        return bool(np.isfinite(self.score))

    @property
    def holds(self) -> bool:
        """Whether the interval holds the score that came."""
        return self.low <= self.came <= self.high


def check_recording(recording: Recording, ratio: float, full_seconds: float, seed: int) -> Iterator[Check]:
    """Yield a check for each limit of a forecast, of a fit that has a model."""
    limit, scale = ratio * full_seconds, full_seconds / recording.full_seconds
    session = run_session(recording, make_teacher("auto"), limit, scale, seed)
    if session.result is None or session.learner_costs is None:
        return
    limits = [factor * limit for factor in FACTORS]
    estimate = session.result.record.fresh_estimate
    forecasts = make_forecasts(limits, session.learner_costs, session.result.history, estimate)
    for factor, forecast in zip(FACTORS, forecasts, strict=True):
        # Another seed: another split of the rows, and other noise in the seconds.
        model = run_session(recording, make_teacher("auto"), factor * limit, scale, seed + 1000).model
        if model is not None:
            ends = (np.nan if value is None else value for value in (forecast.score, forecast.low, forecast.high))
            came = float(model.correct.mean())
            yield Check(recording.header["family"], factor, forecast.rows, model.rows, *ends, came)


def format_table(checks: Sequence[Check]) -> str:
    """Return a line for each family of learners, each factor, and all together."""
    groups: dict[str, list[Check]] = defaultdict(list)
    for check in checks:
        for name in (check.family, f"limit x {check.factor:g}", "all"):
            groups[name].append(check)
    lines = ["| learners | forecasts | 90 % intervals that hold | width, points | score - forecast | rows / forecast |"]
    lines += ["| --- " * 6 + "|"]
    for name, found in sorted(groups.items(), key=lambda item: (item[0] == "all", item[0])):
        scored = [check for check in found if check.has_interval]
        share = np.mean([check.holds for check in scored]) if scored else np.nan
        width = np.median([check.high - check.low for check in scored]) if scored else np.nan
        ahead = np.mean([check.came - check.score for check in scored]) if scored else np.nan
        ratios = np.quantile([check.rows_came / max(1, check.rows) for check in found], [0.1, 0.5, 0.9])
        lines.append(
            f"| {name} | {len(scored)} | {share:.1%} | {100 * width:.1f} | {100 * ahead:+.2f} "
            f"| {ratios[0]:.2f} / {ratios[1]:.2f} / {ratios[2]:.2f} |"
        )
    everything = np.mean([check.holds for check in checks if check.has_interval])
    verdict = "met" if GOAL[0] <= everything <= GOAL[1] else "**MISSED**"
    return "\n".join([*lines, "", f"- {verdict}: {everything:.1%} hold (goal: {GOAL[0]:.0%} to {GOAL[1]:.0%})"])


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="all", help="design, unseen, all")
    parser.add_argument("--recordings", type=Path, default=RECORDINGS)
    parser.add_argument("--only", default="", help="recordings whose name contains this text")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args(argv)
    LOGGER.setLevel(logging.ERROR)  # a session without a model is a result
    found = find_recordings(options.recordings, options.set)
    recordings = [Recording.load(path) for name, path in found.items() if options.only in name]
    checks = [
        check
        for recording in recordings
        for full_seconds in FULL_SECONDS
        for ratio in RATIOS
        for seed in range(options.seeds)
        for check in check_recording(recording, ratio, full_seconds, seed)
    ]
    print(format_table(checks))


if __name__ == "__main__":
    main()
