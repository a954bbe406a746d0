"""MitigationComparison: what was measured of each method, its card, and what it recommends."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skfairtest._typing import is_real
from skfairtest.finding._card import findings_card, numbers_table
from skfairtest.finding._words import number, percent, shorten
from skfairtest.mitigation._comparison.recommend import (
    IN_POINTS,
    Recommendation,
    Sentences,
    recommendation,
    short_group,
)

#: Columns that are left out where they say nothing.
MOVED, RATIO, PAYS = "moved twins", "impact ratio", "who pays"


@dataclass(frozen=True, repr=False, eq=False)
class MitigationComparison:
    """Results of `compare_mitigations`: one row per method, and what they recommend.

    ``print`` and notebooks show the recommendation with its reason and the columns that matter.

    Attributes
    ----------
    table : DataFrame
        One row per method, "original" first. Columns, where ``*_low`` and ``*_high`` are the bounds
        of intervals:

        - of the models of the folds, on the rows that they have not seen: ``accuracy`` (``r2``, or
          the name of `scoring`) and ``auc``, with ``*_change``, the paired difference to the
          original, whose interval is one for a single training
        - of the model that the method trains on all rows: ``share_rows``, ``share_near``,
          ``share_uniform``, the shares of inputs whose twins are treated differently among the
          rows (the interval is about people like them), near them, and in the whole domain. For a
          regressor without `threshold` ``difference_rows`` and so on: mean differences between
          twins.
        - of the same model: ``share_moved`` (or ``difference_moved``), the share of the rows whose
          output changes when they are moved to another group with the columns that go with it, as
          `audit` shows it; not with ``moved=False``, and NaN where rows could not be moved
        - of the same model: ``degree``, the largest difference of twins that was found, in the
          units of ``degree_unit``; ``degree_bound``, a bound that none exceeds, NaN where the model
          cannot be read
        - of the models of the folds: ``demographic_parity_difference``,
          ``demographic_parity_ratio`` (the lowest impact ratio), ``equalized_odds_difference``,
          between groups of at least 30 rows
        - of the models of the folds: ``losing_group``, ``losing_group_change``, the group whose
          rate of favourable predictions falls most against the original, and its change; the
          interval is one for a single training, and holds for all groups at once. Empty where no
          rate falls.
        - of the models of the folds: ``worst_group``, ``worst_group_accuracy``,
          ``accuracy_spread``, the group whose predictions are worst, its score, and the best
          group's less the worst's
        - ``fit_seconds`` of one training, ``predict_ratio`` (times of predictions as a multiple of
          the original's), ``queries`` of audits in one training, where they are known
        - ``note``: why there are no figures, or in how many trainings a retrainer kept the model
          as it was
    groups : DataFrame
        One row per method and group: number of rows, rates, score, and the change of the rate of
        favourable predictions (of a regressor, of the mean prediction) against the original.
    certificates : dict of str to list of str
        How the certificates of each method ended.
    warnings : dict of str to list of str
        Warnings of each method's training and predictions.
    settings : dict
        What was compared: the model, the number of rows, folds and inputs, and so on.

    See Also
    --------
    compare_mitigations : Makes it.
    MitigationDisplay : Draws it.
    """

    table: pd.DataFrame
    groups: pd.DataFrame
    certificates: dict[str, list[str]]
    warnings: dict[str, list[str]]
    settings: dict[str, Any]

    def recommend(self, max_score_drop: float = 0.02) -> Recommendation:
        """Say which method the figures recommend, if any.

        Recommended is a method that leaves clearly less than the original for the people in the
        table (their intervals do not overlap) and whose cost is known to be small (the upper bound
        of its interval is within `max_score_drop`). Of several, the one that leaves least; of those
        that the intervals do not tell apart, the one with the best score; of those, the cheapest.
        Rates of groups and proxies play no part.

        Parameters
        ----------
        max_score_drop : float, default=0.02
            How far the score may fall: 0.02 of accuracy are two points.

        Returns
        -------
        Recommendation
            With `method`, a name or None, `sentence`, which says it, and `reason`.

        Raises
        ------
        ValueError
            If `max_score_drop` is negative or no number.
        """
        if not is_real(max_score_drop) or not max_score_drop >= 0:
            raise ValueError(
                f"max_score_drop must be a number of at least 0; got {max_score_drop!r}. For two "
                "points of accuracy write 0.02."
            )
        return recommendation(self.table, self.settings, float(max_score_drop))

    def _repr_html_(self) -> str:
        """The card that notebooks show."""
        head, rows = self._cells()
        words = [place for place, name in enumerate(head) if name == PAYS]
        chosen = self.recommend()
        return findings_card(
            f"Comparison of methods of mitigation for {self.settings['model']}",
            chosen.sentence,
            detail=chosen.reason,
            table=numbers_table(
                head, rows, "Methods of mitigation", words=words, marked=chosen.method
            ),
            facts=[*self._remarks(), ("more", self._more())],
            # Not as the caption, which is as wide as the table where that is scrolled.
            note=f"{self._columns()} {self._note()}",
        )

    def __repr__(self) -> str:
        """The same as text."""
        head, rows = self._cells()
        # Heads of two words stand in two lines.
        heads = [["", *name.rsplit(" ", 1)][-2:] for name in head]
        rows = [[shorten(name, 24), *cells] for name, *cells in rows]
        characters = 100  # of a line
        lines = [*map(list, zip(*heads, strict=True)), *rows]
        widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
        lines_of_table = [
            shorten(
                "  ".join(
                    cell.ljust(width) if name in ("method", PAYS) else cell.rjust(width)
                    for name, cell, width in zip(head, line, widths, strict=True)
                ).rstrip(), characters,
            )
            for line in lines
        ]  # fmt: skip
        _, sentence, reason = self.recommend()
        sentence = f"{sentence[:1].upper()}{sentence[1:]}."
        paragraphs = [sentence, reason, "\n".join(lines_of_table), self._columns()]
        paragraphs += [f"{name}: {words.rstrip('.')}." for name, words in self._remarks()]
        paragraphs += [self._note(), f"More: {self._more()}"]
        return "\n".join(
            text
            if "\n" in text
            else textwrap.fill(text, characters, break_long_words=False, break_on_hyphens=False)
            for text in paragraphs
        )

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """The columns that matter, as text; methods without figures are among the remarks."""
        name, sentences = self.settings["score"], Sentences(self.settings)
        points = name in IN_POINTS
        near = sentences.left_column.replace("rows", "near")
        head = [
            "method", name.replace("_", " "), "change in points" if points else "change",
            "people", "near people", MOVED, RATIO, "seconds", PAYS,
        ]  # fmt: skip
        rows = []
        for method, row in self.table.iterrows():
            if np.isnan(row[name]):
                continue
            left = [row[sentences.left_column], row[near]]
            rows.append([
                str(method),
                percent(row[name]) if points else number(row[name]),
                "" if method == "original" else self._change(row, points),
                *(number(value) if sentences.is_mean else percent(value) for value in left),
                self._moved(row),
                "" if np.isnan(row["demographic_parity_ratio"])
                else f"{row['demographic_parity_ratio']:.2f}",
                f"{row['fit_seconds']:.2f}",
                self._pays(row),
            ])  # fmt: skip
        kept = [place for place in range(len(head)) if any(row[place] for row in rows)]
        return [head[place] for place in kept], [[row[place] for place in kept] for row in rows]

    def _moved(self, row: Any) -> str:
        """How many moved twins are treated differently; nothing where that is not known."""
        sentences = Sentences(self.settings)
        value = row.get(sentences.moved_column, np.nan)
        if not np.isfinite(value):
            return ""
        return number(value) if sentences.is_mean else percent(value)

    def _change(self, row: Any, points: bool) -> str:
        name = f"{self.settings['score']}_change"
        value, low, high = (float(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
        if points:
            value, low, high = (round(100 * end, 1) + 0.0 for end in (value, low, high))
            return f"{value:+.1f} ({low:.1f} to {high:.1f})"
        return f"{number(value)} ({number(low)} to {number(high)})"

    def _pays(self, row: Any) -> str:
        """The group whose rate of favourable predictions clearly falls most."""
        if not row["losing_group"] or not row["losing_group_change_high"] < 0:
            return "" if not row["losing_group"] else "nobody clearly"
        group, change = short_group(row["losing_group"], self.settings), row["losing_group_change"]
        # The number first: a name may be too long for the line.
        return f"{100 * change:+.1f} {group}" if self.settings["favourable"] else (
            f"{number(change)} {group}"
        )  # fmt: skip

    def _columns(self) -> str:
        """What the columns say."""
        sentences, settings = Sentences(self.settings), self.settings
        if sentences.is_mean:
            left = f"mean difference of outputs if only {sentences.sensitive} is changed"
        else:
            changed = f"if only {sentences.sensitive} were changed"
            left = f"shares that would get {sentences.changed} {changed}"
        pays = "mean prediction clearly falls most"
        if settings["favourable"]:
            pays = f"rate of {settings['favourable']} clearly falls most, in points"
        moved = (
            "mean difference of outputs"
            if sentences.is_mean
            else f"shares that get {sentences.changed}"
        )
        meanings = {
            MOVED: f"Moved twins: {moved} if these people are moved to another group, with the "
            f"columns that go with it ({settings.get('transport')}).",
            RATIO: "Impact ratio: the lowest of a group.",
            "seconds": "Seconds: of a training.",
            PAYS: f"Who pays: the group whose {pays}.",
        }
        head, _ = self._cells()
        return " ".join([
            f"People, near people: {left}, among {sentences.n_rows} people and inputs near them, "
            "of the model that is trained on all rows. Scores and rates: of models of "
            f"{settings['n_folds']} folds, on people that they have not seen.",
            *(words for name, words in meanings.items() if name in head),
            f"Intervals: {settings['confidence']:.0%}, of one training.",
        ])  # fmt: skip

    def _remarks(self) -> Iterator[tuple[str, str]]:
        """Methods without figures, and what is to be known of others."""
        if self.settings.get("moved_note"):
            yield MOVED, self.settings["moved_note"]
        for method, row in self.table.iterrows():
            if row["note"]:
                missing = np.isnan(row[self.settings["score"]])
                yield f"{method}, not compared" if missing else str(method), row["note"]

    def _note(self) -> str:
        them = Sentences(self.settings).sensitive
        head, _ = self._cells()
        if MOVED in head:
            return (
                f"Columns that stand in for {them} (proxies) are changed in moved twins alone. "
                "These are no counterfactuals, and errors of the map change some outputs, too. "
                "Equal rates of groups are another aim."
            )
        return (
            f"Only changes of {them} are looked at: columns that stand in for {them} (proxies) are "
            "not, and equal rates of groups are another aim."
        )

    def _more(self) -> str:
        return ".table, .groups, .recommend(max_score_drop=), MitigationDisplay.from_comparison"
