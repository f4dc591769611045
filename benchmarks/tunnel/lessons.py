"""Record the lessons of one pair in this process, and append each to its file at once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from datasets import Features, load_features
from learners import StartupClassifier, make_learner
from measure import FittedModel, Rows, fit, measure
from pairs import Pair

from fitwithin._pools.decks.deck import Deck
from fitwithin.backends._early_stopping.registry import find_early_stopping, knows_steps
from fitwithin.teachers import TCT, Answers, Lesson

RowNumbers = npt.NDArray[np.intp]

SMALLEST, FACTOR, REPEATS, SEED = 250, 1.6, 3, 0

_POOL_SHARE = 0.7
_HELD_OUT_ROWS = 2000

# Lessons with misclassified rows: fewest rows, largest share of the pool, size of the judge, largest share of them.
_LEAST_ROWS, _MOST_POOL, _JUDGE_SHARE, _MOST_MISTAKES = 2000, 0.65, 0.25, 0.6

# Rows that are searched for misclassified ones, as a multiple of the lesson; most seconds of that search.
_SEARCHED, _MOST_SEARCH_SECONDS = 2.5, 30.0

_WARM_UP_ROWS = 300


def split_rows(features: Features, pair: Pair) -> tuple[Rows, Rows, Rows]:
    """Return the pool, the held-out rows, and the test rows."""
    order = np.random.default_rng(SEED).permutation(len(features.y))
    n_pool = int(_POOL_SHARE * len(order))
    n_held_out = min(_HELD_OUT_ROWS, 2 * (len(order) - n_pool) // 3)
    pool, held_out, test = np.split(order, [n_pool, n_pool + n_held_out])
    parts = (pool, held_out, test[: pair.test_rows])
    pool, held_out, test = (Rows(features.X[rows], features.y[rows]) for rows in parts)
    return pool, held_out, test


class PairRecorder:
    """Records the lessons of a pair, except those that the file has.

    Parameters
    ----------
    pair : Pair
        Data set and learner.
    folder : Path
        Folder of the data sets.
    file : Path
        The file to append to.
    end : float
        `time.time()` after which no lesson begins.
    """

    def __init__(self, pair: Pair, folder: Path, file: Path, end: float) -> None:
        features = load_features(pair, folder)
        self._pair, self._file, self._end = pair, file, end
        self._category_columns = features.category_columns
        self._pool, self._held_out, self._test = split_rows(features, pair)
        self._n_classes = len(np.unique(features.y))
        self._models: dict[int, FittedModel] = {}
        self._row_seconds = 0.0
        self._recorded: set[tuple[Any, ...]] = set()

    def record(self) -> None:
        """Record the lessons; every plain size once, then those with misclassified rows, then the other repeats."""
        self._write_header_if_new()
        fit(self._make_learner(0), Rows(self._pool.X[:_WARM_UP_ROWS], self._pool.y[:_WARM_UP_ROWS]))
        self._record_plain(0)
        self._record_oversampled()
        self._record_tct()
        for repeat in range(1, REPEATS):
            self._record_plain(repeat)
        self._append({"kind": "end"})

    def _sizes(self) -> list[int]:
        n_rows, size, sizes = len(self._pool.y), float(SMALLEST), []
        while size * FACTOR**0.5 < n_rows:
            sizes.append(round(size))
            size *= FACTOR
        return [*sizes, n_rows]

    def _order(self, repeat: int) -> RowNumbers:
        return np.random.default_rng([SEED, repeat]).permutation(len(self._pool.y))

    def _make_learner(self, seed: int) -> Any:
        return make_learner(self._pair.learner, seed, self._category_columns)

    def _write_header_if_new(self) -> None:
        if self._file.exists():
            for line in self._file.read_text().splitlines()[1:]:
                lesson = json.loads(line)
                self._recorded.add(_key(lesson))
            return
        learner = self._make_learner(0)
        header = {
            "n_rows": len(self._pool.y),
            "n_features": self._pool.X.shape[1],
            "n_classes": self._n_classes,
            "can_stop": find_early_stopping(learner) is not None,
            "knows_steps": knows_steps(learner),
            "startup_seconds": self._measure_startup(learner),
        }
        self._file.write_text(json.dumps(header) + "\n")

    def _measure_startup(self, learner: Any) -> float | None:
        """Return what the first fit of this process takes longer than the second; None for an ordinary learner."""
        if not isinstance(learner, StartupClassifier):
            return None
        seconds = []
        for _ in range(2):
            start = time.perf_counter()
            fit(learner, Rows(self._pool.X[:_WARM_UP_ROWS], self._pool.y[:_WARM_UP_ROWS]))
            seconds.append(time.perf_counter() - start)
        return round(seconds[0] - seconds[1], 4)

    def _append(self, lesson: dict[str, Any]) -> None:
        with self._file.open("a") as file:
            file.write(json.dumps(lesson) + "\n")
        self._recorded.add(_key(lesson))

    def _record_plain(self, repeat: int) -> None:
        order = self._order(repeat)
        for size in self._sizes():
            lesson = {"kind": "plain", "rows": size, "repeat": repeat, "mistake_share": None, "judge_rows": None}
            if _key(lesson) not in self._recorded:
                model = self._record_lesson(lesson, order[:size], repeat)
                if repeat == 0:
                    self._models[size] = model

    def _record_lesson(self, lesson: dict[str, Any], rows: RowNumbers, seed: int) -> FittedModel:
        """Fit and measure, and append the lesson to the file if it is new; leave when the time is up."""
        if time.time() >= self._end:
            raise TimeoutError
        model, fitted = fit(self._make_learner(seed), self._take(rows))
        fitted = {name: float(f"{x:.5g}") if isinstance(x, float) else x for name, x in fitted.items()}
        measured = measure(model, fitted, self._held_out, self._test)
        self._row_seconds = measured["predict_seconds_per_row"]
        if _key(lesson) not in self._recorded:
            self._append({**lesson, **fitted, **measured})
        return model

    def _take(self, rows: RowNumbers) -> Rows:
        return Rows(self._pool.X[rows], self._pool.y[rows])

    def _find_wrong(self, model: FittedModel, rows: RowNumbers) -> npt.NDArray[np.bool_]:
        return model.predict(self._pool.X[rows]) != self._pool.y[rows]

    def _get_judge(self, size: int) -> FittedModel:
        """Return the plain model of repeat 0, fitted again if an earlier process recorded it."""
        if size not in self._models:
            self._models[size] = fit(self._make_learner(0), self._take(self._order(0)[:size]))[0]
        return self._models[size]

    def _record_oversampled(self) -> None:
        for size in self._sizes():
            if not _LEAST_ROWS <= size <= _MOST_POOL * len(self._pool.y):
                continue
            lessons = [{"kind": kind, "rows": size, "repeat": 0} for kind in ("once", "twice")]
            if all(_key(lesson) in self._recorded for lesson in lessons):
                continue
            for times, (rows, described) in self._choose_oversampled(size):
                lesson = {**lessons[times - 1], **described}
                if _key(lesson) not in self._recorded:
                    self._record_lesson(lesson, rows, 0)

    def _choose_oversampled(self, size: int) -> Iterator[tuple[int, tuple[RowNumbers, dict[str, Any]]]]:
        """Yield the rows of the lessons at once and twice the error rate, as far as the pool has enough of them."""
        judge_rows = min(self._sizes(), key=lambda other: abs(np.log(other / (_JUDGE_SHARE * size))))
        searched = self._order(0)[: min(len(self._pool.y), judge_rows + round(_SEARCHED * size))]
        if self._is_slow_search(len(searched)):
            return
        wrong = self._find_wrong(self._get_judge(judge_rows), searched)
        error_rate = float(wrong[judge_rows:].mean())
        for times in (1, 2):
            n_extra = round(times * error_rate * size)
            plain = size - n_extra
            extra = np.flatnonzero(wrong[plain:])[:n_extra] + plain
            n_mistakes = np.count_nonzero(wrong[:plain]) + n_extra
            if plain <= judge_rows or len(extra) < n_extra or n_mistakes > _MOST_MISTAKES * size:
                return
            rows = searched[np.concatenate([np.arange(plain), extra])]
            yield times, (rows, {"mistake_share": round(n_mistakes / size, 4), "judge_rows": judge_rows})

    def _is_slow_search(self, n_rows: int) -> bool:
        return n_rows * self._row_seconds > _MOST_SEARCH_SECONDS

    def _record_tct(self) -> None:
        """Record the chain of TCT, from its beginning again if an earlier process stopped within it."""
        if ("tct-end", None, None, None) in self._recorded:
            return
        requests = TCT(alpha=0.2).teach(Deck(len(self._pool.y), np.random.default_rng(SEED)))
        model, judge_rows, answer, number = None, None, None, 0
        try:
            while True:
                request = requests.send(answer)
                if not isinstance(request, Lesson):
                    if model is None or self._is_slow_search(len(request.rows)):
                        break
                    answer = Answers(request.rows, self._find_wrong(model, request.rows))
                    continue
                rows: Any = request.rows
                share = None if model is None else round(float(self._find_wrong(model, rows).mean()), 4)
                lesson = {"kind": "tct", "round": number, "rows": len(rows), "repeat": 0}
                lesson |= {"mistake_share": share, "judge_rows": judge_rows}
                model, judge_rows = self._record_lesson(lesson, rows, 0), len(rows)
                answer, number = None, number + 1
        except StopIteration:
            pass
        self._append({"kind": "tct-end"})


def _key(lesson: dict[str, Any]) -> tuple[Any, ...]:
    return lesson["kind"], lesson.get("round"), lesson.get("rows"), lesson.get("repeat")
