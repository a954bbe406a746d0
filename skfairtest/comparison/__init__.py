"""Many auditors on one model, with the papers' statistics, and measures of what they find."""

from skfairtest.comparison._auditors import (
    AuditorComparison,
    a12,
    compare_auditors,
    effect_size_word,
)
from skfairtest.comparison._inputs import (
    PlausibilityMeasures,
    measure_diversity,
    measure_plausibility,
    two_sample_auc,
)

__all__ = [
    "AuditorComparison",
    "PlausibilityMeasures",
    "a12",
    "compare_auditors",
    "effect_size_word",
    "measure_diversity",
    "measure_plausibility",
    "two_sample_auc",
]
