"""GroupScoresDisplay draws the worst rules with the intervals of their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest.finding._fitted_cards import counted_by, share_name
from skfairtest.finding._words import number
from skfairtest.inspection._asking import check_auditor
from skfairtest.inspection._style import (
    COLORS,
    axes_for,
    beside,
    finish,
    ink,
    left_out,
    legend,
    paper,
    rows_axis,
    span,
    wrap,
)


class GroupScoresDisplay:
    """Draw rules that describe groups, with their scores and intervals, the worst first.

    A rule (or rule set) describes a group by values of attributes. Its score is the difference
    between a metric inside and outside of the group: shares of favourable predictions, mean
    predictions of a regressor, error rates or another one. Make it with `from_auditor`.

    Parameters
    ----------
    rules : DataFrame
        A table such as `rules_` of a group auditor, with the columns `rule`, `score`, `low`,
        `high`, `n_inside`, `value_inside` and `value_outside`. `differs` says whether a difference
        was shown; without this column, it was shown where `low` is above 0.
    confidence : float, default=None
        Confidence of the intervals, written beside them if it is given.
    correction : {"bonferroni", "resampling", "none"}, default=None
        How the intervals allow for the number of rules. All but "none" make them simultaneous.
    measure : str, default=None
        Name of the metric that is compared, as it is written.
    counted : str, default="rows"
        What `n_inside` counts, as it is written: rows of data, perturbed inputs near them, or
        texts.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    points_ : list of matplotlib Line2D
        Scores of the rules that are shown, one per row.
    intervals_ : matplotlib LineCollection
        The intervals of the scores.

    See Also
    --------
    skfairtest.TestSGDAuditor : Finds rules by favourable predictions on perturbed rows.
    skfairtest.SubgroupAuditor : Finds rules by rates, errors or another metric.
    SelectionDisplay : Draws rates of groups that are known beforehand.

    Notes
    -----
    A difference does not show that a model is unfair: groups may differ in other columns, too. The
    rules shown are the worst of many, so only intervals that allow for the number of rules can be
    taken at face value.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from skfairtest import GroupScoresDisplay, TestSGDAuditor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> auditor = TestSGDAuditor(
    ...     Ridge().fit(X, y), sensitive_features=["sex", "age"], n_bins=3, random_state=0).fit(X)
    >>> display = GroupScoresDisplay.from_auditor(auditor).plot(most=5)
    >>> len(display.points_), len(display.frame()) > 5
    (5, True)
    """

    def __init__(
        self,
        rules: pd.DataFrame,
        confidence: float | None = None,
        correction: str | None = None,
        measure: str | None = None,
        counted: str = "rows",
    ) -> None:
        self.rules = rules
        self.confidence = confidence
        self.correction = correction
        self.measure = measure
        self.counted = counted

    @classmethod
    def from_auditor(cls, auditor: Any, *, short_list: bool | None = None) -> GroupScoresDisplay:
        """Show the rules of a fitted auditor of groups.

        Parameters
        ----------
        auditor : TestSGDAuditor, TextSGDAuditor or SubgroupAuditor
            A fitted auditor. It may have been interrupted after it compared rules.
        short_list : bool, default=None
            Whether to take `short_list_`, whose rules do not repeat each other, in place of
            `rules_`. None takes it if the auditor has one that is not empty.

        Returns
        -------
        GroupScoresDisplay
            The display, not yet drawn.

        Raises
        ------
        NotFittedError
            If the auditor is not fitted.
        TypeError
            If it is not an auditor of groups.
        ValueError
            If `short_list` is True and the auditor has none.
        """
        check_auditor(auditor, cls.__name__, "rules_", of="an auditor of groups: TestSGDAuditor")
        listed = getattr(auditor, "short_list_", None) if short_list is not False else None
        if short_list and listed is None:
            raise ValueError(
                "short_list=True needs an auditor with short_list_, such as SubgroupAuditor; "
                f"got {type(auditor).__name__}. Leave out short_list."
            )
        taken = (
            auditor.rules_ if listed is None or (short_list is None and listed.empty) else listed
        )
        measure = share_name(auditor) if hasattr(auditor, "metric") else None
        return cls(taken, auditor.confidence, auditor.correction, measure, counted_by(auditor))

    def frame(self) -> pd.DataFrame:
        """Return all rules, drawn or not.

        Returns
        -------
        DataFrame
            As `rules`.
        """
        return self.rules.copy()

    def plot(
        self, ax: Any = None, *, most: int = 20, point_kwargs: Any = None
    ) -> GroupScoresDisplay:
        """Draw the scores and their intervals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure, as high as the rows need.
        most : int, default=20
            Largest number of rules that are drawn. A remark says how many are left out.
        point_kwargs : dict, default=None
            Passed to matplotlib for the points.

        Returns
        -------
        self : GroupScoresDisplay
            The display.
        """
        table = self.rules.iloc[:most]
        names = [wrap(rule, 48, 3) for rule in table["rule"]]
        n_lines = max((name.count("\n") for name in names), default=0) + 1
        height = (0.15 + 0.14 * n_lines) * max(2, len(table))
        ax = axes_for(ax, self, (8.5, 1.4 + height))
        rows_axis(ax, names)
        for label in ax.get_yticklabels():
            label.set_fontsize("small")
        names = ["score", "low", "high", "value_inside", "value_outside", "n_inside"]
        numbers = table[names].to_numpy(dtype=float)
        ax.set_xlim(span(numbers[:, :3].ravel()))
        at = np.arange(len(table))
        differs = self._differ(table)
        # A step-down test may show that such a difference is above 0, and not by how much.
        above = differs & (numbers[:, 1] <= 0)
        low = np.where(above, numbers[:, 0], numbers[:, 1])
        self.intervals_ = ax.hlines(at, low, numbers[:, 2], color=COLORS[0], linewidth=2)
        self.points_, shown, texts = [], {}, []
        for place, (score, _, _, inside, outside, n_inside) in enumerate(numbers):
            style = {
                "linestyle": "", "marker": ">" if inside > outside else "<", "markersize": 8,
                "color": COLORS[0], "markerfacecolor": COLORS[0] if differs[place] else paper(),
                **(point_kwargs or {}),
            }  # fmt: skip
            self.points_ += ax.plot([score], [place], **style)
            words = "more inside" if inside > outside else "less inside"
            shown[words if differs[place] else f"{words} (interval holds 0)"] = self.points_[-1]
            texts.append(f"{_side_by_side(inside, outside)}   {n_inside:,.0f}")
        if above.any():
            shown["above 0, not known by how much"] = ax.hlines(
                at[above], 0, low[above], color=COLORS[0], linewidth=1, linestyle=":"
            )
        ax.axvline(0, color=ink(), linewidth=1)
        beside(ax, texts, f"inside | outside   {self.counted} inside")
        n = len(self.rules) - len(table)
        score = "score" if self.measure is None else f"difference in {self.measure}"
        ax.set_xlabel(f"{score}{self._intervals()}{left_out(n, len(self.rules), 'rules')}")
        if not shown:
            ax.text(0.5, 0.5, "no rule was compared", transform=ax.transAxes, ha="center")
        else:
            legend(ax, list(shown.values()), list(shown), ncols=1)
        return finish(self, ax)

    @staticmethod
    def _differ(table: pd.DataFrame) -> NDArray[Any]:
        """Tell which rules show a difference; the ends of intervals at 0 alone do not."""
        shown: Any = table["differs"] if "differs" in table else table["low"] > 0
        return np.asarray(shown, dtype=bool)

    def _intervals(self) -> str:
        if self.confidence is None:
            return ", with intervals"
        kind = "" if self.correction in (None, "none") else "simultaneous "
        return f", {kind}{100 * self.confidence:.4g}% intervals"


def _side_by_side(first: float, second: float) -> str:
    """Write two shares or means, with equally many decimals if they are small."""
    if max(abs(first), abs(second)) <= 1:
        return f"{first:.3f} | {second:.3f}"
    return f"{number(first)} | {number(second)}"
