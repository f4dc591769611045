"""Learners before they are fitted: no files left behind, a seed for every part."""

from __future__ import annotations

from typing import Any

import numpy as np


def keep_the_folder_clean(learner: Any) -> None:
    """CatBoost leaves a folder of logs where the user is, once a round, unless it is told not to."""
    parameters = learner.get_params(deep=True) if hasattr(learner, "get_params") else {}
    for part in (learner, *parameters.values()):
        if type(part).__module__.startswith("catboost.") and not {"allow_writing_files", "train_dir"} & set(
            part.get_params()
        ):
            part.set_params(allow_writing_files=False)


def fill_random_states(learner: Any, random: np.random.RandomState) -> None:
    """Give every part of the learner that has no seed one of ours."""
    if not hasattr(learner, "get_params"):
        return
    parameters = learner.get_params(deep=True)
    unset = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state" and parameters[name] is None]
    if unset:
        learner.set_params(**{name: int(random.randint(2**31 - 1)) for name in unset})
