"""Displays in the manner of scikit-learn's, which draw what audits found."""

from skfairtest.inspection._bounds_display import BoundsDisplay
from skfairtest.inspection._curve_display import DisparityCurveDisplay
from skfairtest.inspection._flip_display import FlipTestDisplay
from skfairtest.inspection._group_display import GroupScoresDisplay
from skfairtest.inspection._history_display import HistoryDisplay
from skfairtest.inspection._mitigation_display import MitigationDisplay
from skfairtest.inspection._pair_display import PairDisplay
from skfairtest.inspection._pareto_display import ParetoDisplay
from skfairtest.inspection._selection_display import SelectionDisplay

__all__ = [
    "BoundsDisplay",
    "DisparityCurveDisplay",
    "FlipTestDisplay",
    "GroupScoresDisplay",
    "HistoryDisplay",
    "MitigationDisplay",
    "PairDisplay",
    "ParetoDisplay",
    "SelectionDisplay",
]
