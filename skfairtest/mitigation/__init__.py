"""Mitigate discrimination: retrain on what was found, average sensitive columns out, compare."""

from typing import TYPE_CHECKING

from skfairtest._first_use import at_first_use
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

# A sampler derives from imbalanced-learn's, whose import takes longer than all of ours.
__getattr__, __dir__ = at_first_use(globals(), {"FairnessAugmenter": "_augmenter"})
