"""What a fit rests on: settings, data, machine, versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._machine import Machine, libraries_of
from .._pages import plain, scrolling
from ..viz._fitted import Fitted


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


def machine(here: Machine) -> dict[str, str]:
    """The machine."""
    return {
        "processor": f"{here.cores} cores, {here.processor or 'unknown'}",
        "memory": f"{here.memory_gb:g} GB",
        "system": here.kernel,
        "date": here.date,
    }


def versions(here: Machine, model: Any) -> dict[str, str]:
    """Python and the libraries, those of the learner too."""
    return {"Python": here.python} | here.libraries | libraries_of(model)
