"""Training from a file under a time limit: the fit, the pipeline and its card."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from fitwithin._classifier import TimeConstrainedClassifier
from fitwithin._core.environment import Environment, library_versions
from fitwithin._regressor import TimeConstrainedRegressor
from fitwithin._search import TimeConstrainedSearch
from fitwithin._search_learners import list_learners
from fitwithin._tabular.features import TARGET, EncodedFeatures, FeatureBlocks
from fitwithin._tabular.model_card import ModelCard
from fitwithin._tabular.training_table import TrainingTable

FEATURE_NAMES_WARNING = "X does not have valid feature names"
"""Start of a warning that LightGBM before 4.7 gives for a matrix even if it was trained on one."""


def fit_model(
    learner: Any, features: EncodedFeatures, table: TrainingTable, **settings: Any
) -> tuple[Any, list[warnings.WarningMessage]]:
    """Fit the best model by the deadline, and return it with the warnings that were raised meanwhile.

    Parameters
    ----------
    learner : estimator or list of estimators
        Unfitted; a list for a search over these learners and their settings.
    features : EncodedFeatures
        The training rows.
    table : TrainingTable
        Their target and their groups.
    **settings : dict
        Other parameters of `TimeConstrainedClassifier` or `TimeConstrainedSearch`, such as `time_limit`.
    """
    target = table.target
    estimator_class: Any = TimeConstrainedRegressor if target.is_regression else TimeConstrainedClassifier
    if isinstance(learner, list):
        estimator_class = TimeConstrainedSearch
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", FEATURE_NAMES_WARNING)
        y = TARGET if isinstance(features.X, FeatureBlocks) else target.y
        model = estimator_class(learner, **settings).fit(features.X, y, groups=table.groups)
    return model, caught


def build_pipeline(model: Any, features: EncodedFeatures) -> Pipeline:
    """Return encoder and learner as one scikit-learn pipeline that takes the columns of a file."""
    return Pipeline([("encode", features.encoder), ("learn", model.best_estimator_)])


def complete_model_card(card: ModelCard, model: Any, **training: Any) -> ModelCard:
    """Add to a card what is known after the fit.

    Parameters
    ----------
    card : ModelCard
        See `make_initial_card`.
    model : TimeConstrainedClassifier, TimeConstrainedRegressor or TimeConstrainedSearch
        Fitted.
    **training : dict
        More entries of `training`.
    """
    fitted = {
        "date": Environment.current().date,
        "rows_taught": model.n_rows_trained_,
        "estimate": _finite_estimate(model),
        "lost_seconds": model.lost_seconds_,
        "peak_memory": max((round_.peak_memory or 0 for round_ in model.history_), default=0) or None,
        "stop_reason": model.stop_reason_,
        "rounds": [asdict(round_) for round_ in model.history_],
    }
    versions = {**card.versions, **library_versions(model.best_estimator_)}
    return replace(card, training={**card.training, **fitted, **training}, versions=versions)


def make_initial_card(features: EncodedFeatures, table: TrainingTable, **fields: Any) -> ModelCard:
    """Describe a model before its fit.

    Parameters
    ----------
    features : EncodedFeatures
        The rows to fit on.
    table : TrainingTable
        Their origin.
    **fields : dict
        Other fields of `ModelCard`; rows and unused columns are added to `training`.
    """
    target, environment = table.target, Environment.current()
    return ModelCard(
        task=target.task,
        target=target.name,
        target_type=target.type,
        classes=[] if target.class_counts is None else np.sort(target.class_counts[0]).tolist(),
        columns=tuple(features.columns),
        features=features.X.shape[1],
        training={
            "rows": target.n_rows,
            "rows_without_label": target.n_missing,
            "left_out": dict(table.left_out),
            **fields.pop("training"),
        },
        versions={"python": environment.python, **environment.libraries},
        **fields,
    )


def describe_search(search: Any, learner_names: Sequence[str]) -> dict[str, Any]:
    """Return what a search found.

    Parameters
    ----------
    search : TimeConstrainedSearch
        Fitted, with a list of estimators.
    learner_names : sequence of str
        The user's names of these estimators.

    Returns
    -------
    dict
        ``learners`` as the user named them, the best ``learner`` among them, its ``params``, the number of settings
        that were tried and that failed, and the members of a ``vote`` with their weights; none without a vote.
    """
    results = search.cv_results_
    names = [learner.name for learner in list_learners(search.estimator, None, search.task)]
    user_names = dict(zip(names, learner_names, strict=True))
    failed = {number for number, reason in enumerate(results["ended"]) if reason.startswith("failed")}
    fitted = {finished.candidate for finished in search.history_ if finished.candidate is not None}
    return {
        "learners": list(learner_names),
        "learner": user_names[results["estimator"][search.best_index_]],
        "params": dict(search.best_params_),
        "n_settings": len(fitted | failed),
        "n_failed": len(failed),
        "vote": [
            {"learner": user_names[results["estimator"][number]], "params": results["params"][number], "weight": weight}
            for number, weight in getattr(search, "ensemble_", {}).items()
        ],
    }


def _finite_estimate(model: Any) -> dict[str, float] | None:
    estimate = model.score_estimate_
    if estimate is None or not np.isfinite(estimate).all():
        return None
    return dict(zip(("value", "low", "high"), estimate, strict=True))
