"""SelectionDisplay draws rates by group, with intervals and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skfairtest.finding._words import ABSENT
from skfairtest.group import selection_table
from skfairtest.inspection._style import (
    ROW,
    Display,
    axes_for,
    bars,
    figures,
    finish,
    ink,
    is_share,
    left_out,
    percent_axis,
    row_intervals,
    rows_axis,
    shorten,
    span,
    texts_on_right,
    wrap,
)

#: What a table of groups may measure; the first that it has is drawn.
MEASURES = (
    "selection_rate", "scoring_rate", "mean_prediction", "impact_ratio", "false_positive_rate",
    "false_negative_rate", "accuracy", "mean_error",
)  # fmt: skip
#: Measures that a reader may not know by their names.
WORDS = {
    "selection_rate": "selection rate: share with the favourable prediction",
    "impact_ratio": "impact ratio: rate of the group over the highest rate",
    "ratio_within": "ratio to the reference within strata, pooled",
    "difference_within": "difference from the reference within strata, pooled",
}


class SelectionDisplay(Display):
    """Draw rates by group with their intervals and counts.

    Make it with `from_predictions`.

    Parameters
    ----------
    table : DataFrame
        A table from `selection_table`, with the columns `attribute`, `group`, `n`, the measures
        with their ``_low`` and ``_high`` (and ``_n``, if they are based on other rows), and `note`;
        with `stratum`, the groups of each stratum stand together.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    points_ : list of matplotlib Line2D
        Points of the groups that are shown; the line of a group without a value is empty.
    intervals_ : matplotlib LineCollection
        Their intervals.
    texts_ : list of matplotlib Text
        Values and counts, and a letter for each note of the table; the notes are below the axis.

    See Also
    --------
    GroupScoresDisplay : Draws groups that a search found.

    Notes
    -----
    A difference between two groups says neither why they differ nor whether that is warranted.
    Small groups have wide intervals.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skfairtest.inspection import SelectionDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> size = (X["mean radius"] > 14).map({True: "large", False: "small"}).rename("size")
    >>> predicted = DecisionTreeClassifier(max_depth=2).fit(X, y).predict(X)
    >>> display = SelectionDisplay.from_predictions(predicted, sensitive_features=size).plot()
    >>> sorted(display.frame()["group"])
    ['large', 'small']
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    @classmethod
    def from_predictions(
        cls, y_pred: Any, *, sensitive_features: Any, **settings: Any
    ) -> SelectionDisplay:
        """Compute the rates of groups from predictions.

        Parameters
        ----------
        y_pred : array-like of shape (n_rows,)
            Predictions.
        sensitive_features : array-like or DataFrame of shape (n_rows, n_attributes)
            Sensitive attributes of the rows.
        **settings : dict
            Parameters of `selection_table`, such as `y_true`, `favourable`, `y_score`, `confidence`
            and so on.

        Returns
        -------
        SelectionDisplay
            The display, not yet drawn.

        Raises
        ------
        ValueError, TypeError
            As `selection_table` raises them.
        """
        return cls(selection_table(y_pred, sensitive_features=sensitive_features, **settings))

    def plot(
        self,
        ax: Any = None,
        *,
        measure: str | None = None,
        most: int = 50,
        point_kwargs: Any = None,
    ) -> SelectionDisplay:
        """Draw one measure of the groups.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure, as high as the rows need.
        measure : str, default=None
            A column of the table that has an interval, such as "selection_rate" or "impact_ratio".
            None takes the first one in the table.
        most : int, default=50
            Largest number of groups that are drawn: the largest groups, in the order of the table.
            A remark says how many are left out.
        point_kwargs : dict, default=None
            Passed to matplotlib for the points.

        Returns
        -------
        self : SelectionDisplay
            The display.

        Raises
        ------
        ValueError
            If the table has no such measure.
        """
        measure = self._measure(measure)
        table = self.table
        if len(table) > most:
            largest = np.argsort(-table["n"].to_numpy(dtype=float), kind="stable")[:most]
            table = table.iloc[np.sort(largest)]
        heads = table["attribute"].astype(str)
        if "stratum" in table:
            heads = heads.where(table["stratum"] == "", heads + ": " + table["stratum"])
        breaks = np.flatnonzero(heads.ne(heads.shift()).to_numpy())
        # Each attribute has a line of its own above its groups.
        at = np.arange(len(table)) + np.searchsorted(breaks, np.arange(len(table)), side="right")
        n_rows = len(table) + len(breaks)
        names = [""] * n_rows
        for place, group in zip(at, table["group"], strict=True):
            names[place] = shorten(group, 34)
        for place in breaks:
            names[at[place] - 1] = shorten(heads.iloc[place], 34)
        ax = axes_for(ax, self, (7.5, 1.3 + ROW * max(3, n_rows)))
        rows_axis(ax, names)
        labels = ax.get_yticklabels()
        for place in breaks:
            labels[at[place] - 1].set_fontweight("bold")
        letters = _letters(table)
        self._draw(ax, table, at, measure, n_rows, letters, point_kwargs or {})
        sure = bars(self.table.attrs.get("confidence"))
        words = [wrap(WORDS.get(measure, measure.replace("_", " ")), 40), sure]
        words += [f"({letter}) {shorten(note, 70)}" for note, letter in letters.items()]
        below = left_out(len(self.table) - len(table), len(self.table), "groups")
        ax.set_xlabel("\n".join(words) + below, parse_math=False)
        return finish(self, ax)

    def _measure(self, wanted: str | None) -> str:
        known = [
            name
            for name in (*MEASURES, *self.table.columns)
            if f"{name}_low" in self.table and f"{name}_high" in self.table
        ]
        known = list(dict.fromkeys(known))
        if not known or (wanted is not None and wanted not in known):
            raise ValueError(
                f"measure must be a column of the table with an interval, one of {known}; got "
                f"{wanted!r}. False positive rates and other error rates need y_true=."
            )
        return known[0] if wanted is None else wanted

    def _draw(
        self,
        ax: Any,
        table: pd.DataFrame,
        at: Any,
        measure: str,
        n_rows: int,
        letters: dict[str, str],
        point_kwargs: dict[str, Any],
    ) -> None:
        columns = [measure, f"{measure}_low", f"{measure}_high"]
        value, low, high = (table[name].to_numpy(dtype=float) for name in columns)
        share = is_share(measure)
        counts = table.get(f"{measure}_n", table["n"])
        notes = _notes(table)
        self.intervals_, self.points_ = row_intervals(
            ax, at, value, low, high, hollow=[note != "" for note in notes], **point_kwargs
        )
        texts = [""] * n_rows
        for place, one, n, note in zip(at, value, counts, notes, strict=True):
            rate = figures(one, share=share)[0] if np.isfinite(one) else ABSENT
            words = f"{rate}   {_count(n)} rows"
            texts[place] = words + (f"   ({letters.get(note, '…')})" if note else "")
        drawn = [*value, *low, *high]
        ax.set_xlim((0, 1) if share else span(drawn))
        ax.grid(axis="x", alpha=0.3)
        ax.set_axisbelow(True)
        if share:
            percent_axis(ax)
        if measure == "mean_error":
            ax.axvline(0, color=ink(), linewidth=1)
        self.texts_ = texts_on_right(ax, texts)


def _notes(table: pd.DataFrame) -> list[str]:
    return table["note"].fillna("").astype(str).tolist() if "note" in table else [""] * len(table)


def _letters(table: pd.DataFrame) -> dict[str, str]:
    """Assign a letter to each of the first notes, for the groups and the list below the axis.

    Further notes are only in the table.
    """
    notes = dict.fromkeys(note for note in _notes(table) if note)
    return dict(zip(notes, "abcdefgh", strict=False))


def _count(n: Any) -> str:
    return "?" if pd.isna(n) else f"{float(n):,.6g}"
