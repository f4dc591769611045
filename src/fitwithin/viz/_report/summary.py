"""What the reader of a report wants to know first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fitwithin._core.environment import Environment, library_versions
from fitwithin.viz._fitted import Fitted, returned, score_name
from fitwithin.viz._html import plain, scrolling

_STOPPED = {
    "time": "the time was up, or too short for the next lesson",
    "all rows": "no more rows were left to teach",
    "no mistakes": "the model made no mistakes any more",
    "on_round": "on_round said so",
    "interrupted": "it was interrupted",
    "learner failed": "the learner failed in a later round",
}


def answer(estimator: Fitted) -> list[str]:
    """The score with its interval, whether the limit was kept, and what the model rests on; a paragraph each."""
    return [_score(estimator), _limit(estimator), _lesson(estimator)]


def _score(estimator: Fitted) -> str:
    name = score_name(estimator)
    name = name[:1].upper() + name[1:]
    if estimator.score_estimate_ is not None:
        value, low, high = estimator.score_estimate_
        return (
            f"{name} {value:.4f}; with 95 % confidence between {low:.4f} and {high:.4f}. "
            "It comes from rows that played no part in making the model."
        )
    if estimator.n_rows_taught_ >= estimator.n_rows_in_:
        return f"{name} not known: the model was taught every row, and none is left to examine it on."
    return f"{name} not known: the model was not examined on rows that were new to it."


def _limit(estimator: Fitted) -> str:
    limit, used = estimator.time_limit_, estimator.time_used_
    if used <= limit:
        return f"The limit was kept: {used:.2f} s of {limit:g} s."
    return f"The limit was missed by {used - limit:.2f} s: {used:.2f} s, and {limit:g} s were allowed."


def _lesson(estimator: Fitted) -> str:
    rounds, best = len(estimator.history_), returned(estimator)
    which = "" if best is None else f", that of round {best.number},"
    return (
        f"The returned model{which} was taught {estimator.n_rows_taught_:,} of {estimator.n_rows_in_:,} rows. "
        f"There {'was 1 round' if rounds == 1 else f'were {rounds:,} rounds'}; the fit ended because "
        f"{_STOPPED.get(estimator.stop_reason_, estimator.stop_reason_)}."
    )


def facts(heading: str, found: Mapping[str, Any]) -> str:
    """A heading and two columns, what and which, as HTML."""
    lines = (f'<tr><th scope="row">{plain(what)}</th><td>{plain(which)}</td></tr>' for what, which in found.items())
    shown = f'<table class="facts">{"".join(lines)}</table>'
    return f"<h3>{plain(heading)}</h3>{scrolling(shown, heading)}"


def settings(estimator: Any) -> dict[str, str]:
    """The parameters of the estimator, as a user would write them, and the learner that came of them."""
    given = {name: _written(value) for name, value in estimator.get_params(deep=False).items()}
    return given | {"learner, as fitted": repr(estimator.best_estimator_)}


def _written(value: Any) -> str:
    # Of a function the name says more than its address.
    return str(value.__qualname__) if hasattr(value, "__qualname__") else repr(value)


def data(estimator: Fitted) -> dict[str, str]:
    """Sizes of the pool."""
    found = {"rows": f"{estimator.n_rows_in_:,}"}
    if hasattr(estimator, "n_features_in_"):
        found["features"] = f"{estimator.n_features_in_:,}"
    if hasattr(estimator, "classes_"):
        found["classes"] = f"{len(estimator.classes_):,}"
    return found


def machine(here: Environment) -> dict[str, str]:
    """The machine."""
    return {
        "processor": f"{here.cores} cores, {here.processor or 'unknown'}",
        "memory": f"{here.memory_gb:g} GB",
        "system": here.kernel,
        "date": here.date,
    }


def versions(here: Environment, model: Any) -> dict[str, str]:
    """Python and the libraries, those of the learner too."""
    return {"Python": here.python} | here.libraries | library_versions(model)
