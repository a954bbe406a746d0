"""FlipTestDisplay draws whose output changes under a map, and what moves with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skfairtest.finding._words import number
from skfairtest.individual._flip_test.columns import moved_columns
from skfairtest.inspection._asking import check_auditor
from skfairtest.inspection._style import (
    NEUTRAL,
    ROW,
    Display,
    axes_for,
    bars,
    figures,
    finish,
    ink,
    left_out,
    legend,
    percent_axis,
    row_intervals,
    rows_axis,
    shorten,
    span,
    texts_on_right,
)

KINDS = ("flips", "columns")
#: What the table calls flips in whatever direction.
ANY = "any"


class FlipTestDisplay(Display):
    """Draw which people get another output when they are moved to another group.

    ``plot()`` draws the share of each group that changes, by direction. ``plot(kind="columns")``
    draws how far each column moves in those whose output changes, from their own values to those of
    their moved twins. Make it with `from_auditor`.

    Parameters
    ----------
    table : DataFrame
        A table such as `flips_` of a `FlipTestAuditor`, with the columns `group`, `to`,
        `direction`, `n_rows`, `share`, `low` and `high`. It may have `null_share`, the share
        between groups that chance has made.
    columns : DataFrame, default=None
        How columns move in the rows that change, with the columns `group`, `to`, `column`,
        `before` and `after` (means; NaN for categories), `spread` (the standard deviation of the
        column) and `moved` (the share of these rows in which the value is another one).
    confidence : float, default=None
        Confidence of the intervals, written beside them if it is given.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    points_ : list of matplotlib Line2D
        Shares, or where the columns have moved to, one per row.
    intervals_ : matplotlib LineCollection
        Intervals of the shares, or the ways of the columns.

    See Also
    --------
    skfairtest.FlipTestAuditor : Finds the rows whose output changes under a map.
    PairDisplay : Draws two twins that differ in sensitive columns alone.

    Notes
    -----
    Moved twins are no counterfactuals. They are where the same place in the other group is, by a
    map that may be a poor one: `FlipTestAuditor.map_quality_` says how near it comes.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfairtest.inspection import FlipTestDisplay
    >>> flips = pd.DataFrame(
    ...     {"group": ["f", "f"], "to": ["m", "m"], "direction": ["no -> yes", "yes -> no"],
    ...      "n_rows": 200, "share": [0.18, 0.01], "low": [0.13, 0.0], "high": [0.24, 0.03]})
    >>> display = FlipTestDisplay(flips, confidence=0.95).plot()
    >>> len(display.points_)
    2
    """

    def __init__(
        self,
        table: pd.DataFrame,
        columns: pd.DataFrame | None = None,
        confidence: float | None = None,
    ) -> None:
        self.table = table
        self.columns = columns
        self.confidence = confidence

    @classmethod
    def from_auditor(cls, auditor: Any) -> FlipTestDisplay:
        """Show the flips of a fitted auditor; asks the model nothing.

        Parameters
        ----------
        auditor : FlipTestAuditor
            A fitted auditor.

        Returns
        -------
        FlipTestDisplay
            The display, not yet drawn.

        Raises
        ------
        NotFittedError
            If the auditor is not fitted.
        TypeError
            If it is not a `FlipTestAuditor`.
        """
        check_auditor(auditor, cls.__name__, "flipset_", of="a FlipTestAuditor")
        return cls(auditor.flips_, moved_columns(auditor), auditor.confidence)

    def plot(
        self, ax: Any = None, *, kind: str = "flips", most: int = 20, point_kwargs: Any = None
    ) -> FlipTestDisplay:
        """Draw the shares that change, or how far columns move.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure, as high as the rows need.
        kind : {"flips", "columns"}, default="flips"
            What to draw. Columns are those of the two groups between which most rows change.
        most : int, default=20
            Largest number of rows that are drawn. A remark says how many are left out.
        point_kwargs : dict, default=None
            Passed to matplotlib for the points.

        Returns
        -------
        self : FlipTestDisplay
            The display.

        Raises
        ------
        ValueError
            If `kind` is another word, or the display has no columns.
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {list(KINDS)}; got {kind!r}.")
        if kind == "columns":
            return self._columns(ax, most, point_kwargs or {})
        return self._flips(ax, most, point_kwargs or {})

    def _flips(self, ax: Any, most: int, point_kwargs: dict[str, Any]) -> FlipTestDisplay:
        # What changes in any direction is the sum of the directions.
        known = self.table[self.table["direction"] != ANY]
        table = known if len(known) else self.table
        shown = table.iloc[:most]
        names = [
            f"{_way(row.group, row.to)}\n{shorten(str(row.direction).replace(' -> ', ' → '), 34)}"
            for row in shown.itertuples()
        ]
        ax = axes_for(ax, self, (7.5, 1.4 + 1.5 * ROW * max(2, len(shown))))
        rows_axis(ax, names)
        at = np.arange(len(shown))
        share, low, high = shown[["share", "low", "high"]].to_numpy(dtype=float).T
        self.intervals_, self.points_ = row_intervals(ax, at, share, low, high, **point_kwargs)
        null = (
            shown["null_share"].to_numpy(dtype=float) if "null_share" in shown else share * np.nan
        )
        if np.isfinite(null).any():
            (chance,) = ax.plot(
                null, at, linestyle="", marker="s", markersize=6, color=NEUTRAL, zorder=1
            )
            legend(
                ax, [*self.points_[:1], chance],
                ["between these groups", "groups made by chance"], side="right",
            )  # fmt: skip
        texts = [
            f"{figures(value, share=True)[0]}   {n:,.0f} rows"
            for value, n in zip(share, shown["n_rows"], strict=True)
        ]
        ax.set_xlim(0, 1)
        ax.grid(axis="x", alpha=0.3)
        ax.set_axisbelow(True)
        percent_axis(ax)
        texts_on_right(ax, texts)
        words = f"share of the group whose output changes if it is moved\n{bars(self.confidence)}"
        remark = left_out(len(table) - len(shown), len(table), "rows")
        ax.set_xlabel(words + remark, parse_math=False)
        return finish(self, ax)

    def _columns(self, ax: Any, most: int, point_kwargs: dict[str, Any]) -> FlipTestDisplay:
        table = self._largest()
        shown = table.iloc[:most]
        before, after, spread, moved = (
            shown[name].to_numpy(dtype=float) for name in ("before", "after", "spread", "moved")
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            way = np.where(spread > 0, (after - before) / spread, np.nan)
        ax = axes_for(ax, self, (7.5, 1.4 + ROW * max(3, len(shown))))
        rows_axis(ax, [shorten(name, 34) for name in shown["column"]])
        at, known = np.arange(len(shown)), np.isfinite(way)
        self.intervals_, self.points_ = row_intervals(ax, at, way, 0 * way, way, **point_kwargs)
        (own,) = ax.plot(
            np.zeros(known.sum()), at[known], linestyle="", marker="s", markersize=6,
            color=NEUTRAL, clip_on=False,
        )  # fmt: skip
        texts = [
            f"{number(before[place])} → {number(after[place])}"
            if known[place]
            else f"{moved[place]:.0%} get another value"
            for place in at
        ]
        ax.axvline(0, color=ink(), linewidth=1)
        ax.set_xlim(span(way[known]))
        if known.any():
            handles = [own, self.points_[int(known.argmax())]]
            legend(ax, handles, ["own value", "of moved twins"], side="right")
        texts_on_right(ax, texts, "mean")
        group, to = (shown[name].iloc[0] for name in ("group", "to"))
        words = (
            "mean move in standard deviations of the column\n"
            f"of rows that change, {_way(group, to)}"
        )
        remark = left_out(len(table) - len(shown), len(table), "columns")
        ax.set_xlabel(words + remark, parse_math=False)
        return finish(self, ax)

    def _largest(self) -> pd.DataFrame:
        """Return the columns of the two groups between which the largest share changes."""
        if self.columns is None or not len(self.columns):
            raise ValueError(
                "There are no columns to draw: no row changes, or the display was made without "
                "columns=. Draw kind='flips'."
            )
        pairs = list(zip(self.columns["group"], self.columns["to"], strict=True))
        flips = self.table.sort_values("share", ascending=False, kind="stable")
        ways = [pair for pair in zip(flips["group"], flips["to"], strict=True) if pair in pairs]
        largest = ways[0] if ways else pairs[0]
        return self.columns[[pair == largest for pair in pairs]]


def _way(group: Any, to: Any) -> str:
    return f"{shorten(group, 18)} → {shorten(to, 18)}"
