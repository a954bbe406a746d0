"""Mitigate discrimination: retrain on what was found, average sensitive columns out, compare."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skfairtest.mitigation._averaging.marginalized import (
    MarginalizedClassifier,
    MarginalizedRegressor,
)
from skfairtest.mitigation._comparison.compare_mitigations import compare_mitigations
from skfairtest.mitigation._comparison.result import MitigationComparison as MitigationComparison
from skfairtest.mitigation._estimate import DiscriminationEstimate as DiscriminationEstimate
from skfairtest.mitigation._estimate import estimate_discrimination
from skfairtest.mitigation._retraining.retrainer import FairnessRetrainer

if TYPE_CHECKING:
    from skfairtest.mitigation._augmenter import FairnessAugmenter

__all__ = [
    "FairnessAugmenter",
    "FairnessRetrainer",
    "MarginalizedClassifier",
    "MarginalizedRegressor",
    "compare_mitigations",
    "estimate_discrimination",
]


def __getattr__(name: str) -> Any:
    # A sampler derives from imbalanced-learn's, whose import takes longer than all of ours.
    if name != "FairnessAugmenter":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = import_module("skfairtest.mitigation._augmenter").FairnessAugmenter
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), "FairnessAugmenter"})
