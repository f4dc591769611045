"""Model cards: what a model was trained on, how, and its score."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from fitwithin._core.environment import Environment, library_versions
from fitwithin._core.exceptions import UserInputError
from fitwithin._core.install_command import UPGRADE_COMMAND
from fitwithin._tabular.columns import FeatureColumn
from fitwithin._tabular.features import EncodedFeatures
from fitwithin._tabular.target_column import TaskType
from fitwithin.viz._facts import summarize_training

FORMAT_VERSION = 2
"""Version of the card's layout; increase it when older versions of fitwithin can't read the card."""


@dataclass(frozen=True)
class ModelCard:
    """Everything about a model except the model itself.

    Parameters
    ----------
    task, target, target_type : str
        "classification" or "regression"; the target column, and arrow's name of its type.
    classes : list
        The labels, sorted; empty for a regression.
    columns : tuple of FeatureColumn
        Columns that the model needs in a file; empty for a matrix without column names.
    features : int
        Columns of the matrix that the learner was trained on.
    learner, encoding, teacher, scoring : str
        How it was trained.
    training : dict
        Rows, rounds, time and estimate: see ``--json`` on the command line.
    versions : dict
        Versions of the libraries.
    trust : tuple of str
        Types that must be trusted by name to open the file.
    """

    task: TaskType
    target: str
    target_type: str
    classes: list[Any]
    columns: tuple[FeatureColumn, ...]
    features: int
    learner: str
    encoding: str
    teacher: str
    scoring: str
    training: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    trust: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the card as JSON text."""
        return json.dumps(_to_json_value({"format": FORMAT_VERSION, **asdict(self)}), indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> ModelCard:
        """Read a card from JSON text of any origin.

        Raises
        ------
        UserInputError
            If it is not what `to_json` writes.

        Examples
        --------
        >>> try:
        ...     ModelCard.from_json("{}")
        ... except UserInputError as error:
        ...     print(error.sentence)
        Its model card can't be read.
        """
        try:
            content = json.loads(text)
            _check_version(content.pop("format"))
            columns = tuple(FeatureColumn(**column) for column in content.pop("columns"))
            return cls(columns=columns, trust=tuple(content.pop("trust")), **content)
        except UserInputError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise UserInputError("Its model card can't be read.", "Was it written by fitwithin train?") from error


def make_initial_card(features: EncodedFeatures, **fields: Any) -> ModelCard:
    """Describe a model before its fit.

    Parameters
    ----------
    features : EncodedFeatures
        The rows to fit on.
    **fields : dict
        Other fields of `ModelCard`; rows and unused columns are added to `training`.
    """
    table, target, environment = features.table, features.table.target, Environment.current()
    rows = {"rows": target.n_rows, "rows_without_label": target.n_missing, "left_out": dict(table.left_out)}
    return ModelCard(
        task=target.task,
        target=target.name,
        target_type=target.type,
        classes=[] if target.is_regression else target.values.tolist(),
        columns=tuple(table.columns),
        features=features.n_features,
        training={"date": environment.date, **rows, **fields.pop("training")},
        versions={"python": environment.python, **environment.libraries},
        **fields,
    )


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
    fitted = summarize_training(model)
    if "search" in fitted:
        card = replace(card, learner=fitted["search"]["learner"])
    versions = {**card.versions, **library_versions(model.best_estimator_)}
    return replace(card, training={**fitted, **card.training, **training}, versions=versions)


def _to_json_value(value: Any) -> Any:
    """Convert to what JSON can hold: NumPy scalars to Python's, infinite numbers and NaN to None."""
    if isinstance(value, dict):
        return {name: _to_json_value(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_value(entry) for entry in value]
    number = value.item() if hasattr(value, "item") else value
    return None if isinstance(number, float) and not math.isfinite(number) else number


def _check_version(version: int) -> None:
    if version > FORMAT_VERSION:
        hint = f"Upgrade fitwithin. {UPGRADE_COMMAND}"
        raise UserInputError("It was written by a newer version of fitwithin.", hint)
    if version < FORMAT_VERSION:
        raise UserInputError("It was written by an older version of fitwithin.", "Train the model again.")
