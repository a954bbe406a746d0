"""Mend a model: retrain it on what an audit found, under better labels."""

from skfairtest.mitigation._augmenter import FairnessAugmenter
from skfairtest.mitigation._estimate import DiscriminationEstimate, estimate_discrimination
from skfairtest.mitigation._labelers import (
    FoundPairs,
    average_label,
    majority_label,
    opposite_label,
)
from skfairtest.mitigation._retrainer import FairnessRetrainer

__all__ = [
    "DiscriminationEstimate",
    "FairnessAugmenter",
    "FairnessRetrainer",
    "FoundPairs",
    "average_label",
    "estimate_discrimination",
    "majority_label",
    "opposite_label",
]
