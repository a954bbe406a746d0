"""GroupScoresDisplay: the worst rules with their intervals."""

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
    """Rules that describe groups, with their scores and intervals, the worst first.

    A rule (or rule set) describes a group by values of attributes. Its score is the difference
    between what is measured inside and outside of it: shares of favourable predictions, means of a
    regressor, rates of errors or another metric. Make it with `from_auditor`.

    Parameters
    ----------
    rules : DataFrame
        As `rules_` of a group auditor: `rule`, `score`, `low`, `high`, `n_inside`, `share_inside`,
        `share_outside`; and `differs`, whether a difference was shown, without which that is where
        `low` is above 0.
    confidence : float, default=None
        Confidence of the intervals, where it is to be written beside them.
    correction : {"bonferroni", "holm", "resampling", "none"}, default=None
        How they allow for the number of rules; anything but "none" makes them simultaneous.
    measure : str, default=None
        What is measured inside and outside, in words.
    counted : str, default="rows"
        What `n_inside` counts, in words: rows of data, perturbed inputs near them, texts.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    points_ : list of matplotlib Line2D
        Scores of the rules that are shown, one a row.
    intervals_ : matplotlib LineCollection
        Their intervals; of a rule that differs and of which only that is known, from its score on.

    See Also
    --------
    skfairtest.TestSGDAuditor : Finds the rules by favourable predictions, near the data.
    skfairtest.SubgroupAuditor : Finds them by rates, errors or another metric, on rows as they are.
    SelectionDisplay : Groups that are named, not searched for.

    Notes
    -----
    A difference is no verdict: groups may differ in other columns, too. The rules shown are the
    worst of many that were looked at, so only intervals that allow for their number can be read as
    they stand.

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
        """Take the rules of a fitted auditor of groups.

        Parameters
        ----------
        auditor : TestSGDAuditor, TextSGDAuditor or SubgroupAuditor
            Fitted, or interrupted after it compared rules.
        short_list : bool, default=None
            Whether to take `short_list_`, whose rules do not repeat each other, in place of
            `rules_`. None takes it where there is one that is not empty.

        Returns
        -------
        GroupScoresDisplay
            The display, not yet drawn.

        Raises
        ------
        NotFittedError
            If the auditor is not fitted.
        TypeError
            If it is no auditor of groups.
        ValueError
            If there is no short list where one is asked for.
        """
        check_auditor(auditor, cls.__name__, "rules_", of="an auditor of groups: TestSGDAuditor")
        listed = getattr(auditor, "short_list_", None) if short_list is not False else None
        if short_list and listed is None:
            raise ValueError(
                f"short_list=True needs an auditor with short_list_, such as SubgroupAuditor; got "
                f"{type(auditor).__name__}. Leave short_list out."
            )
        taken = (
            auditor.rules_ if listed is None or (short_list is None and listed.empty) else listed
        )
        measure = share_name(auditor) if hasattr(auditor, "metric") else None
        return cls(taken, auditor.confidence, auditor.correction, measure, counted_by(auditor))

    def frame(self) -> pd.DataFrame:
        """All rules, drawn or not.

        Returns
        -------
        DataFrame
            As `rules`.
        """
        return self.rules.copy()

    def plot(
        self, ax: Any = None, *, most: int = 20, point_kwargs: Any = None
    ) -> GroupScoresDisplay:
        """Draw scores and intervals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure as high as the rows need.
        most : int, default=20
            Rules that are shown; how many are left out is said.
        point_kwargs : dict, default=None
            Passed to the points.

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
        names = ["score", "low", "high", "share_inside", "share_outside", "n_inside"]
        numbers = table[names].to_numpy(dtype=float)
        ax.set_xlim(span(numbers[:, :3].ravel()))
        at = np.arange(len(table))
        differs = self._differ(table)
        # Holm's correction shows that such a difference is above 0, and not by how much.
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
        """Which rules show a difference; with Holm's correction the interval alone does not say."""
        shown: Any = table["differs"] if "differs" in table else table["low"] > 0
        return np.asarray(shown, dtype=bool)

    def _intervals(self) -> str:
        if self.confidence is None:
            return ", with intervals"
        kind = "" if self.correction in (None, "none") else "simultaneous "
        return f", {kind}{100 * self.confidence:.4g}% intervals"


def _side_by_side(first: float, second: float) -> str:
    """Two shares, or means, with equally many decimals where they are small."""
    if max(abs(first), abs(second)) <= 1:
        return f"{first:.3f} | {second:.3f}"
    return f"{number(first)} | {number(second)}"
