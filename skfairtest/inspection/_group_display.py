"""GroupScoresDisplay draws the groups that differ most, with intervals of the differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest.finding._fitted_cards import share_name
from skfairtest.finding._words import value_text
from skfairtest.inspection._asking import check_auditor
from skfairtest.inspection._style import (
    FOUND,
    NEUTRAL,
    Display,
    axes_for,
    bars,
    figures,
    finish,
    ink,
    is_share,
    legend,
    one_line,
    percent_axis,
    row_intervals,
    rows_axis,
    span,
    texts_on_right,
    width,
    wrap,
)


class GroupScoresDisplay(Display):
    """Draw how much groups differ from everybody else, with intervals, the worst first.

    A rule describes a group by values of attributes. Drawn is the difference between
    a metric inside and outside of the group, with its sign: shares of favourable predictions, mean
    predictions of a regressor, error rates or another one. Where two rules describe a group and
    everybody else, the second tells nothing new and is not drawn. Make it with `from_auditor`.

    Parameters
    ----------
    table : DataFrame
        A table such as `rules_` of a group auditor, with the columns `rule`, `score`, `low`,
        `high`, `n_inside`, `value_inside` and `value_outside`, and with `n_outside` where it is
        known. A score is the size of a difference. `differs` says whether a difference
        was shown; without this column, it was shown where `low` is above 0. Its ``attrs`` may have
        `n_groups`, how many were compared, for a remark on how many of them are drawn.
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
        Differences of the rules that are shown, one per row; hollow where none was shown.
    intervals_ : matplotlib LineCollection
        Their intervals.

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
    >>> from skfairtest import TestSGDAuditor
    >>> from skfairtest.inspection import GroupScoresDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> auditor = TestSGDAuditor(
    ...     Ridge().fit(X, y), sensitive_features=["sex", "age"], n_bins=3, random_state=0).fit(X)
    >>> display = GroupScoresDisplay.from_auditor(auditor).plot(most=5)
    >>> len(display.points_) == min(5, len(display.frame()))
    True
    """

    def __init__(
        self,
        table: pd.DataFrame,
        confidence: float | None = None,
        correction: str | None = None,
        measure: str | None = None,
        counted: str = "rows",
    ) -> None:
        self.table = table
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
            `rules_`. None takes it if the auditor has one that is not empty. A `TextSGDAuditor`
            has none.

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
        taken.attrs["n_groups"] = auditor.n_groups_
        measure = share_name(auditor)
        if measure == "selection rate" and isinstance(auditor.favourable_, list):
            measure = f"share predicted {' or '.join(map(value_text, auditor.favourable_))}"
        return cls(taken, auditor.confidence, auditor.correction, measure, auditor._counted)

    def plot(
        self, ax: Any = None, *, most: int = 20, point_kwargs: Any = None
    ) -> GroupScoresDisplay:
        """Draw the differences and their intervals.

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
        kept = self.table[~_mirrored(self.table)]
        table = kept.iloc[:most]
        # In a figure of at most seven inches rules are broken into shorter lines.
        wide = ax is None or ax.figure.get_size_inches()[0] > 7.0
        names = [_broken(rule, 40 if wide else 30) for rule in table["rule"]]
        n_lines = 1 + max((name.count("\n") for name in names), default=0)
        ax = axes_for(ax, self, (7.5, 1.6 + (0.22 + 0.13 * n_lines) * max(3, len(table))))
        rows_axis(ax, names)
        for label in ax.get_yticklabels():
            label.set_fontsize("small")
        columns = ["score", "low", "high", "value_inside", "value_outside", "n_inside"]
        score, low, high, inside, outside, n_inside = table[columns].to_numpy(dtype=float).T
        sign = np.where(inside < outside, -1.0, 1.0)
        share = is_share(self.measure)
        at, differs = np.arange(len(table)), self._differ(table)
        # A step-down test may show that such a difference is above 0, and not by how much.
        above = differs & (low <= 0)
        bounds = [sign * np.where(above, score, low), sign * high]
        colors = [FOUND if one else NEUTRAL for one in differs]
        self.intervals_, self.points_ = row_intervals(
            ax, at, sign * score, *bounds, color=colors, hollow=~differs, size=8,
            **(point_kwargs or {}),
        )  # fmt: skip
        shown, texts = {}, []
        for place, point in enumerate(self.points_):
            words = "differs" if differs[place] else "not shown to differ (interval holds 0)"
            shown[words] = point
            both = figures(inside[place], outside[place], share=share)
            texts.append(f"{' | '.join(both)} ({n_inside[place]:,.0f})")
        if above.any():
            shown["differs, not known by how much"] = ax.hlines(
                at[above], 0, bounds[0][above], color=FOUND, linewidth=1, linestyle=":"
            )
        drawn = np.concatenate([sign * score, *bounds])
        ax.set_xlim(span(drawn.clip(-1, 1) if share else drawn))
        ax.axvline(0, color=ink(), linewidth=1)
        texts_on_right(ax, texts, f"inside | outside ({self.counted})")
        of = max(len(kept), self.table.attrs.get("n_groups", 0))
        ax.set_xlabel(self._label(share) + _left_out(len(table), of), parse_math=False)
        if share:
            percent_axis(ax, points=True)
        if not shown:
            ax.text(0.5, 0.5, "no rule was compared", transform=ax.transAxes, ha="center")
        elif list(shown) != ["differs"]:
            legend(ax, list(shown.values()), list(shown), side="right")
        return finish(self, ax)

    def _label(self, share: bool) -> str:
        """Say what the axis measures."""
        measure = wrap(f"difference in the {self.measure or 'measure'},", 52)
        unit = ", in percentage points" if share else ""
        sure = bars(self.confidence)
        if self.confidence is not None and self.correction not in (None, "none"):
            sure += ", all of which hold at once"
        return f"{measure}\ninside minus outside of the group{unit}\n{sure}"

    @staticmethod
    def _differ(table: pd.DataFrame) -> NDArray[Any]:
        """Tell which rules show a difference; intervals that have a bound at 0 alone do not."""
        shown: Any = table["differs"] if "differs" in table else table["low"] > 0
        return np.asarray(shown, dtype=bool)


def _broken(rule: Any, letters: int) -> str:
    """Break a rule between its conditions, and where one of them is too long; at most 3 lines."""
    lines = [""]
    for part in str(rule).split(" and "):
        longer = f"{lines[-1]} and {part}" if lines[-1] else part
        if lines[-1] and width(longer) > letters:
            lines += [f"and {part}"]
        else:
            lines[-1] = longer
    if len(lines) > 3 or max(map(width, lines)) > letters:
        return wrap(rule, letters, 3)
    return "\n".join(one_line(line) for line in lines)


def _left_out(n: int, of: int) -> str:
    """Return a remark for the label of the axis if some groups are not drawn."""
    if n >= of:
        return ""
    return f"\ndrawn: {n:,} of {of:,} groups; the others overlap with these, or differ less"


def _mirrored(table: pd.DataFrame) -> NDArray[Any]:
    """Tell which rules describe everybody but the group of a rule above: the same difference."""
    names = ["value_inside", "value_outside"]
    names += ["n_inside", "n_outside"] if "n_outside" in table else []
    seen: set[tuple[float, ...]] = set()
    mirrored = []
    for inside, outside, *counts in table[names].to_numpy(dtype=float).round(12).tolist():
        mirrored.append((outside, inside, *counts[::-1]) in seen and inside != outside)
        if not mirrored[-1]:
            seen.add((inside, outside, *counts))
    return np.array(mirrored, dtype=bool)
