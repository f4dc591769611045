"""Kill a fit with a checkpoint at random moments, resume it, and say what was lost.

A fit in a process of its own keeps a diary: a line for each round, and one when it returns. After each kill the diary
is compared with the checkpoint. Only the round under way may be missing: a round is in the checkpoint before it is in
the diary.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from fitwithin._core.exceptions import UserInputError
from fitwithin._session.checkpoint_folder import read_checkpoint
from fitwithin._session.fit_state import FitState

_FIT = """
import json, sys
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from fitwithin import TimeConstrainedClassifier

path, diary, limit = sys.argv[1:]
rng = np.random.default_rng(0)
X = rng.random((200_000, 20), dtype=np.float32)
y = ((X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=len(X))) * 3).astype(int).clip(0, 4)

def write_down(**entry):
    with open(diary, "a") as file:
        file.write(json.dumps(entry) + "\\n")

def on_round(finished):
    write_down(number=finished.number, best=finished.best, estimate=finished.estimate, elapsed=finished.elapsed)

clf = TimeConstrainedClassifier(
    RandomForestClassifier(10, random_state=0), time_limit=float(limit), checkpoint=path, on_round=on_round,
    progress=False, random_state=0,
).fit(X, y)
write_down(end=clf.stop_reason_, rows=clf.n_rows_trained_, used=clf.time_used_)
"""

_START_SECONDS = 4.0
"""Seconds that a process may take to import its libraries and to begin its fit."""


@dataclass
class KillOutcome:
    """What was seen.

    Parameters
    ----------
    n_kills : int
        Processes that were killed; the others returned before.
    n_rounds : int
        Rounds that were finished, all together.
    seconds_used : float
        `time_used_` of the last fit.
    losses : list of str
        What was in the diary and not in the checkpoint after it.
    """

    n_kills: int = 0
    n_rounds: int = 0
    seconds_used: float = 0.0
    losses: list[str] = field(default_factory=list)


def kill_and_resume(folder: Path, n_kills: int, time_limit: float, seed: int = 0) -> KillOutcome:
    """Begin a fit, kill it at a random moment, resume it, and so on; at last let it end.

    Parameters
    ----------
    folder : Path
        For the checkpoints and the diaries.
    n_kills : int
        Kills. When the time limit is spent earlier, the fit begins again with another checkpoint.
    time_limit : float
        Seconds of the fit, all calls together.
    seed : int, default=0
        Of the moments.
    """
    moments, outcome, n_fits = random.Random(seed), KillOutcome(), 0
    while outcome.n_kills < n_kills:
        path, diary = folder / f"fit{n_fits}.ckpt", folder / f"diary{n_fits}.jsonl"
        n_fits += 1
        while outcome.n_kills < n_kills:
            seconds = moments.uniform(0.5, _START_SECONDS + time_limit / 4)
            exit_code = _run(path, diary, time_limit, seconds)
            has_ended = exit_code is not None
            outcome.n_kills += not has_ended
            if exit_code:
                outcome.losses.append(f"a fit ended with exit code {exit_code}")
            _compare(path, diary, outcome)
            if has_ended:
                break
    if _run(path, diary, time_limit, None):
        outcome.losses.append("the last fit failed")
    _compare(path, diary, outcome)
    entries = _read_diary(diary)
    if not entries or "end" not in entries[-1]:
        outcome.losses.append("the last fit returned no model")
    else:
        outcome.seconds_used = entries[-1]["used"]
    return outcome


def _run(path: Path, diary: Path, time_limit: float, seconds: float | None) -> int | None:
    """Run the fit, and kill it after some seconds; return the exit code if it ended before."""
    process = subprocess.Popen([sys.executable, "-c", _FIT, str(path), str(diary), str(time_limit)])
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def _read_diary(diary: Path) -> list[dict]:
    lines = diary.read_text().splitlines() if diary.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def _compare(path: Path, diary: Path, outcome: KillOutcome) -> None:
    """Note every round of the diary that the checkpoint does not have."""
    rounds = [entry for entry in _read_diary(diary) if "number" in entry]
    if not rounds:
        return
    try:
        state = read_checkpoint(path).state
    except UserInputError as error:
        outcome.losses.append(f"the checkpoint cannot be read: {error}")
        return
    outcome.n_rounds = max(outcome.n_rounds, len(state.history))
    outcome.losses += _find_losses(state, rounds)


def _find_losses(state: FitState, rounds: list[dict]) -> list[str]:
    losses = []
    last = rounds[-1]
    if len(state.history) < last["number"]:
        losses.append(f"round {last['number']} is missing; the checkpoint has {len(state.history)}")
    best = [entry for entry in rounds if entry["best"]]
    if best and not _is_kept(state, best[-1]):
        losses.append(f"the best model, of round {best[-1]['number']}, is missing")
    if best and state.best is not None and state.best.rows is None and state.model_record is None:
        losses.append("neither the best model nor its rows are stored")
    if state.seconds < last["elapsed"] - 1e-3:
        losses.append(f"{last['elapsed']:.2f} s had passed, the checkpoint counts {state.seconds:.2f}")
    return losses


def _is_kept(state: FitState, best: dict) -> bool:
    """Whether the checkpoint has this best model, or one with a higher score that is to be fitted again."""
    if state.best is None:
        return False
    stored = state.best.estimate
    has_higher_score = stored is not None and best["estimate"] is not None and stored.value > best["estimate"]
    return state.best.number >= best["number"] or has_higher_score


if __name__ == "__main__":
    import tempfile

    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = kill_and_resume(Path(folder), int(sys.argv[1]) if len(sys.argv) > 1 else 50, 25.0)
    print(f"{found.n_kills} kills in {time.monotonic() - start:.0f} s, up to {found.n_rounds} rounds in a fit")
    print(f"lost: {found.losses or 'nothing'}")
