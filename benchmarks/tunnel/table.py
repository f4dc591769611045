"""The table of replayed fits: rows and scores against the oracle, Double and the sized fit, by set and family."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Result = Mapping[str, Any]

RIVALS = ("double", "sized")

_CLEAR = 0.0025
"""Difference of two scores that counts: a quarter of a point."""

_EVERY_ROW = 0.9
"""Share of the pool that is every row, since the others may be held back."""

_MIN_LIMIT_SECONDS = 3.0
_MIN_FIRST_FITS = 10
_LEAST_AFFORDABLE = 1 / 6
# Bounds of (score - rival) / (oracle - rival) in its mean: where the oracle is hardly ahead, it has no end.
_GAIN_BOUNDS = (-1.0, 2.0)


def _key(result: Result) -> tuple[Any, ...]:
    return result["name"], result["full_seconds"], result["ratio"], result["seed"]


def _quantiles(values: Iterable[float], *quantiles: float) -> str:
    found = list(values)
    return " / ".join(f"{np.quantile(found, q):.2f}" for q in quantiles) + f" ({len(found)})" if found else "-"


def _share(values: Iterable[bool]) -> str:
    found = list(values)
    return f"{np.mean(found):.1%} ({len(found)})" if found else "-"


def _is_long_enough(result: Result) -> bool:
    limit = result["ratio"] * result["full_seconds"]
    return bool(limit >= _MIN_LIMIT_SECONDS and limit >= _MIN_FIRST_FITS * result["first_seconds"])


def rows_of_oracle(results: Sequence[Result], *, can_stop: bool, of_steps: bool = False) -> str:
    """Return the median and the tenth percentile of rows / the oracle's rows; `of_steps` counts the share of steps."""
    chosen = (r for r in results if r["can_stop"] == can_stop and r["ratio"] <= 1 and _is_long_enough(r))
    return _quantiles(
        (r["rows"] * (r["share"] if of_steps else 1) / r["oracle_rows"] for r in chosen if r["oracle_rows"]), 0.5, 0.1
    )


def compare(results: Sequence[Result], rivals: Mapping[Any, Result]) -> tuple[str, str]:
    """Return the share of the oracle's lead on a rival that was gained, and the share of clear losses to the rival."""
    pairs = [(r, rivals[_key(r)]) for r in results if _key(r) in rivals]
    ahead = [(r["score"] - o["score"], r["oracle_score"] - o["score"]) for r, o in pairs]
    ahead = [(gain, lead) for gain, lead in ahead if lead >= _CLEAR]
    if not pairs or not ahead:
        return "-", "-"
    mean = np.mean([np.clip(gain / lead, *_GAIN_BOUNDS) for gain, lead in ahead])
    gains, leads = np.sum(ahead, axis=0)
    gained = f"{mean:.2f}; of sums {gains / leads:.2f} ({len(ahead)})"
    return gained, _share(r["score"] - o["score"] < -_CLEAR for r, o in pairs)


def has_every_row(result: Result) -> bool:
    """Whether the model has every row, or a higher score than one that has."""
    is_whole = result["rows"] >= _EVERY_ROW * result["n_rows"] and result["share"] == 1
    return bool(is_whole or result["score"] >= result["full_score"])


def time_of_full_fit(results: Sequence[Result], *, oversampled: bool) -> str:
    """Return the median and the ninth decile of the time used / that of a plain fit, without refits."""
    chosen = (r for r in results if r["ratio"] >= 2 and r["oversampled"] == oversampled)
    return _quantiles(((r["seconds"] - r["refit_seconds"]) / r["full_seconds"] for r in chosen), 0.5, 0.9)


def affordable_rows(results: Sequence[Result]) -> str:
    """Return the share of runs whose last finished fit has a sixth of the affordable rows."""
    return _share(r["last_rows"] >= _LEAST_AFFORDABLE * r["oracle_rows"] for r in results)


def more_time_is_not_worse(results: Sequence[Result]) -> str:
    """Return the share of recordings, at each scale, whose mean score never falls clearly with a longer limit."""
    scores: dict[Any, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for r in results:
        scores[r["name"], r["full_seconds"]][r["ratio"]].append(r["score"])
    verdicts = []
    for by_ratio in scores.values():
        means = [float(np.mean(by_ratio[ratio])) for ratio in sorted(by_ratio)]
        verdicts.append(bool(np.all(means >= np.maximum.accumulate(means) - _CLEAR)))
    return _share(verdicts)


def _points(values: Iterable[float]) -> str:
    found = list(values)
    return f"{100 * np.mean(found):+.2f}" if found else "-"


def list_figures(results: Sequence[Result], rivals: Mapping[str, Mapping[Any, Result]]) -> dict[str, str]:
    """Return every figure of some runs of one teacher, as text by its name."""
    figures = {
        "T <= t_full, can stop: rows / oracle's, median / p10": rows_of_oracle(results, can_stop=True),
        "... rows x share of steps": rows_of_oracle(results, can_stop=True, of_steps=True),
        "T <= t_full, cannot stop: rows / oracle's": rows_of_oracle(results, can_stop=False),
    }
    for name, runs in rivals.items():
        gained, losses = compare(results, runs)
        figures[f"(score - {name}) / (oracle - {name}), mean"] = gained
        figures[f"losses to {name} by > 0.25 points"] = losses
    return figures | {
        "T >= 1.5 t_full: every row, or a higher score": _share(has_every_row(r) for r in results if r["ratio"] >= 1.5),
        "T >= 2 t_full, no oversampling: time / t_full, median / p90": time_of_full_fit(results, oversampled=False),
        "... with oversampling": time_of_full_fit(results, oversampled=True),
        "last finished fit >= 1/6 of affordable rows": affordable_rows(results),
        "more time is not worse": more_time_is_not_worse(results),
        "score - oracle, T <= t_full, mean points": _points(
            r["score"] - r["oracle_score"] for r in results if r["ratio"] <= 1
        ),
        "score - every row, T > t_full, mean points": _points(
            r["score"] - r["full_score"] for r in results if r["ratio"] > 1
        ),
        "no model": _share(not r["rows"] for r in results),
    }


def format_tables(results: Sequence[Result], teachers: Sequence[str]) -> str:
    """Return a Markdown table for each teacher and set, with a column for all runs and one for each family."""
    groups: dict[tuple[str, bool | None], list[Result]] = defaultdict(list)
    for r in results:
        groups[r["teacher"], r["design"]].append(r)
    texts = []
    for is_design, label in ((True, "design"), (False, "unseen"), (None, "adversaries")):
        rivals = {name: {_key(r): r for r in groups[name, is_design]} for name in RIVALS}
        for teacher in teachers:
            runs = groups[teacher, is_design]
            others = {name: found for name, found in rivals.items() if name != teacher and found}
            if runs:
                title = f"## {teacher}, {label}, {len(runs):,} runs"
                texts.append(f"{title}\n\n{_format(runs, others)}")
    return "\n\n".join(texts)


def _format(runs: Sequence[Result], rivals: Mapping[str, Mapping[Any, Result]]) -> str:
    by_family: dict[str, list[Result]] = defaultdict(list)
    for r in runs:
        by_family[r["family"]].append(r)
    columns = {"all": runs, **(dict(sorted(by_family.items())) if len(by_family) > 1 else {})}
    figures = [list_figures(column, rivals) for column in columns.values()]
    lines = [["", *columns], ["---"] * (len(columns) + 1)]
    lines += [[name, *(column[name] for column in figures)] for name in figures[0]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(paths: Sequence[str]) -> None:
    """Print the tables of results in files."""
    results = [json.loads(line) for path in paths for line in Path(path).read_text().splitlines()]
    print(format_tables(results, list(dict.fromkeys(r["teacher"] for r in results))))


if __name__ == "__main__":
    main(sys.argv[1:])
