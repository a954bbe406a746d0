"""Displays in the manner of scikit-learn's, which draw what audits found."""

from typing import TYPE_CHECKING

from skfairtest._first_use import at_first_use

#: Where the public names are.
_HOMES = {
    "BoundsDisplay": "_bounds_display",
    "DisparityCurveDisplay": "_curve_display",
    "FlipTestDisplay": "_flip_display",
    "GroupScoresDisplay": "_group_display",
    "HistoryDisplay": "_history_display",
    "MitigationDisplay": "_mitigation_display",
    "PairDisplay": "_pair_display",
    "ParetoDisplay": "_pareto_display",
    "SelectionDisplay": "_selection_display",
}
__all__ = [*_HOMES]

if TYPE_CHECKING:
    from skfairtest.inspection._bounds_display import BoundsDisplay as BoundsDisplay
    from skfairtest.inspection._curve_display import DisparityCurveDisplay as DisparityCurveDisplay
    from skfairtest.inspection._flip_display import FlipTestDisplay as FlipTestDisplay
    from skfairtest.inspection._group_display import GroupScoresDisplay as GroupScoresDisplay
    from skfairtest.inspection._history_display import HistoryDisplay as HistoryDisplay
    from skfairtest.inspection._mitigation_display import MitigationDisplay as MitigationDisplay
    from skfairtest.inspection._pair_display import PairDisplay as PairDisplay
    from skfairtest.inspection._pareto_display import ParetoDisplay as ParetoDisplay
    from skfairtest.inspection._selection_display import SelectionDisplay as SelectionDisplay

__getattr__, __dir__ = at_first_use(globals(), _HOMES)
