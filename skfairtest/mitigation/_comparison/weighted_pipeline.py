"""A pipeline that hands ``sample_weight`` to its last step, as every other estimator takes it."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter


class WeightedPipeline(Pipeline):
    """A pipeline whose ``fit`` takes ``sample_weight``."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        """Fit the steps; the weights go to the last one."""
        if sample_weight is not None:
            # With routing on, the steps themselves say who gets the weights.
            routed = get_config()["enable_metadata_routing"]
            name = "sample_weight" if routed else f"{self.steps[-1][0]}__sample_weight"
            params[name] = sample_weight
        return super().fit(X, y, **params)


def weighted(estimator: Any) -> Any:
    """The estimator as one that takes weights, if it is a pipeline; else as it is."""
    # Subclasses may have other rules for their steps (samplers of imbalanced-learn).
    if type(estimator) is not Pipeline:
        return estimator
    *first, (name, last) = estimator.steps
    params = estimator.get_params(deep=False)
    return WeightedPipeline(**{**params, "steps": [*first, (name, weighted(last))]})


def unweighted(model: Any) -> Any:
    """The same fitted steps as a pipeline of scikit-learn's own class, which can be certified."""
    if type(model) is not WeightedPipeline:
        return model
    *first, (name, last) = model.steps
    params = model.get_params(deep=False)
    return Pipeline(**{**params, "steps": [*first, (name, unweighted(last))]})


def takes_weights(estimator: Any) -> bool:
    """Whether ``fit`` of the estimator, or of the last step of the pipeline, takes weights."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return bool(has_fit_parameter(estimator, "sample_weight"))
