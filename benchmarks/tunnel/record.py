"""Record how learners behave on growing subsets of data sets, once, so that fits can be replayed on a fake clock.

    python benchmarks/tunnel/record.py [--only NAME ...] [--jobs N] [--data FOLDER] [--seconds MOST] [--out FOLDER]
    python benchmarks/tunnel/record.py --record FOLDER     # any folder of parquet files with a column `target`
    python benchmarks/tunnel/record.py --pack FOLDER       # compact copies of the data sets, read without pandas
    python benchmarks/tunnel/record.py --list

Each pair of `pairs.py` is recorded by one process with one thread, alone on the machine or with as many free cores as
`--jobs`. A recording that exists is resumed; `NAME.jsonl.xz` is complete when its header says so.
"""

from __future__ import annotations

import argparse
import datetime
import json
import lzma
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pairs import PAIRS, Pair, is_unseen

_HERE = Path(__file__).resolve().parent
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_PACKAGES = ("numpy", "scipy", "scikit-learn", "lightgbm", "xgboost-cpu", "catboost")
_HELD_OUT_ROWS = 2000


def main() -> None:
    """Run the command."""
    options = _parse_options()
    if options.list:
        _list_pairs()
    elif options.pack:
        from datasets import pack_tables

        pack_tables(options.data, options.pack)
    elif options.child:
        _record_child(options)
    else:
        _record_all(options)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="record these pairs only")
    parser.add_argument("--jobs", type=int, default=1, help="pairs at a time")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the data sets")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--out", type=Path, default=_HERE / "recordings", help="folder of the recordings")
    parser.add_argument("--record", type=Path, metavar="FOLDER", help="record parquet files with a column `target`")
    parser.add_argument("--pack", type=Path, metavar="FOLDER", help="write compact copies of the data sets, and end")
    parser.add_argument("--list", action="store_true", help="list the pairs, and end")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--end", type=float, default=float("inf"), help=argparse.SUPPRESS)
    return parser.parse_args()


def _list_pairs() -> None:
    for pair in PAIRS:
        print(f"{pair.name:45} {pair.family:10} {'unseen' if is_unseen(pair) else 'design':8} {pair.rows:>8,}")


def _choose_pairs(options: argparse.Namespace) -> list[Pair]:
    if options.record:
        options.data = options.record
        names = sorted(file.stem for file in options.record.glob("*.parquet"))
        pairs = [
            Pair(name, *kind, 0, 1) for name in names for kind in (("lightgbm", "booster"), ("random-forest", "forest"))
        ]
    else:
        pairs = list(PAIRS)
    known = {pair.name for pair in pairs}
    if unknown := set(options.only) - known:
        sys.exit(f"Got unknown pairs {sorted(unknown)}; expected some of {sorted(known)}. See --list.")
    chosen = [pair for pair in pairs if not options.only or pair.name in options.only]
    return sorted(chosen, key=lambda pair: -pair.seconds)


def _record_child(options: argparse.Namespace) -> None:
    from lessons import PairRecorder

    (pair,) = _choose_pairs(options)
    try:
        PairRecorder(pair, options.data, options.out / f"{pair.name}.jsonl", options.end).record()
    except TimeoutError:
        print(f"{pair.name}: stopped by --seconds", flush=True)


def _record_all(options: argparse.Namespace) -> None:
    """Keep `--jobs` processes at work, and end those that are still running when the time is up."""
    options.out.mkdir(parents=True, exist_ok=True)
    end = time.time() + options.seconds
    waiting = [pair for pair in _choose_pairs(options) if not _reopen(pair, options.out)]
    running: dict[Pair, tuple[subprocess.Popen[bytes], float]] = {}
    while waiting or running:
        while waiting and len(running) < options.jobs and time.time() < end:
            pair = waiting.pop(0)
            running[pair] = _start_child(pair, options, end), time.time()
        if time.time() >= end:
            waiting.clear()
        for pair, (child, start) in list(running.items()):
            if child.poll() is None and time.time() >= end:
                child.kill()
                child.wait()
            if child.poll() is not None:
                del running[pair]
                _finish(pair, options.out, time.time() - start)
        time.sleep(0.1)


def _start_child(pair: Pair, options: argparse.Namespace, end: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--child", "--only", pair.name, "--out", str(options.out), "--end", str(end)]
    command += ["--record" if options.record else "--data", str(options.record or options.data)]
    return subprocess.Popen(command, env={**os.environ, **dict.fromkeys(_THREADS, "1")})


def _reopen(pair: Pair, folder: Path) -> bool:
    """Return whether the recording is complete; unpack one that is not."""
    packed, file = folder / f"{pair.name}.jsonl.xz", folder / f"{pair.name}.jsonl"
    if not packed.exists():
        return False
    text = lzma.decompress(packed.read_bytes()).decode()
    if json.loads(text.partition("\n")[0])["complete"]:
        return True
    file.write_text(text)
    packed.unlink()
    return False


def _finish(pair: Pair, folder: Path, seconds: float) -> None:
    """Complete the header; compress the file if it holds a fit on every row, and leave it as it is if not."""
    file = folder / f"{pair.name}.jsonl"
    lines = (
        [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")] if file.exists() else []
    )
    if not lines:
        print(f"{pair.name}: nothing recorded", flush=True)
        return
    header, lessons = json.loads(lines[0]), [json.loads(line) for line in lines[1:]]
    whole = [
        lesson["fit_seconds"] + _HELD_OUT_ROWS * lesson["predict_seconds_per_row"] + lesson["predict_seconds_fixed"]
        for lesson in lessons
        if lesson["kind"] == "plain" and lesson["rows"] == header["n_rows"]
    ]
    is_complete = bool(lessons) and lessons[-1]["kind"] == "end"
    full_seconds = statistics.median(whole) + (header["startup_seconds"] or 0.0) if whole else None
    header = {**_describe(pair), **header, "full_seconds": full_seconds, "complete": is_complete}
    lines = [line for line, lesson in zip(lines[1:], lessons, strict=True) if "end" not in lesson["kind"]]
    text = json.dumps(header) + "\n" + "".join(lines)
    file.write_text(text)
    if whole:
        (folder / f"{pair.name}.jsonl.xz").write_bytes(lzma.compress(text.encode(), preset=9))
        file.unlink()
    state = "complete" if is_complete else "usable" if whole else "not usable"
    full = "" if full_seconds is None else f"every row in {full_seconds:.2f} s, "
    print(f"{pair.name}: {state}, {full}{len(lines)} lessons, {seconds:.0f} s", flush=True)


def _describe(pair: Pair) -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=_HERE, capture_output=True, text=True, check=False)
    return {
        "name": pair.name,
        "data": pair.data,
        "learner": pair.learner,
        "family": pair.family,
        "design": not is_unseen(pair),
        "metric": "accuracy",
        "machine": _describe_machine(),
        "versions": {"python": platform.python_version(), **_find_versions()},
        "commit": commit.stdout.strip() or os.environ.get("COMMIT"),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seed": 0,
    }


def _describe_machine() -> str:
    cpu_file = Path("/proc/cpuinfo")
    lines = cpu_file.read_text().splitlines() if cpu_file.exists() else []
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores"


def _find_versions() -> dict[str, str]:
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


if __name__ == "__main__":
    main()
