"""Where the arguments of `fit` go: to the estimator itself, or to its learner."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.utils.metadata_routing import get_routing_for_object, process_routing
from sklearn.utils.validation import has_fit_parameter

from fitwithin._session.inputs.fit_arguments import FitArguments


def route_fit_params(estimator: Any, learner: Any, given: FitArguments) -> dict[str, Any]:
    """Return the arguments of the learner's `fit`.

    Parameters
    ----------
    estimator : TimeConstrainedEstimator
        Says where arguments go, if metadata routing is on.
    learner : estimator
        Its learner.
    given : FitArguments
        What the user passed.

    Raises
    ------
    ValueError
        If there are other arguments than weights, and metadata routing is off.
    TypeError
        If there are weights, which the learner does not take.
    """
    params, groups = dict(given.params), given.validation.groups
    if given.sample_weight is not None:
        params["sample_weight"] = given.sample_weight
    if get_config()["enable_metadata_routing"]:
        if groups is not None and get_routing_for_object(learner).consumes("fit", ["groups"]):
            # The groups are for this estimator; a learner that asks for them, such as a search, gets them too.
            params["groups"] = groups
        return dict(process_routing(estimator, "fit", **params).estimator.fit)
    if given.params:
        raise ValueError(
            f"{', '.join(given.params)} can be passed to fit only by metadata routing: call "
            "sklearn.set_config(enable_metadata_routing=True) and set_fit_request on the estimator."
        )
    if given.sample_weight is not None and not has_fit_parameter(learner, "sample_weight"):
        raise TypeError(f"The learner {type(learner).__name__} takes no sample_weight in its fit.")
    return params
