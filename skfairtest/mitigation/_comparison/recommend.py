"""Which of several methods of mitigation the figures recommend, and why, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skfairtest.finding._words import listed, number, percent
from skfairtest.mitigation._comparison.methods import METHODS

#: Methods whose predictions cannot depend on the sensitive columns, whatever is learned.
TAKE_THE_COLUMNS_OUT = ("drop", "marginalize", "correlation remover")

#: Scores that are shares of rows, and are given in points.
IN_POINTS = ("accuracy", "balanced_accuracy")


class Recommendation(NamedTuple):
    """The recommended method, None where the figures allow none; a sentence, and the reasons."""

    method: str | None
    sentence: str
    reason: str


def recommendation(
    table: pd.DataFrame, settings: Mapping[str, Any], max_score_drop: float
) -> Recommendation:
    """Recommend what leaves least, of what certainly costs little.

    A method must leave clearly less for people than the original (its interval is below the
    original's), and the upper bound of its cost must be within `max_score_drop`. Of these come
    first those that leave least, then those with the best score, as far as intervals tell them
    apart, and the cheapest of the rest.
    """
    sentences = Sentences(settings)
    original = table.loc["original"]
    if not settings["n_inputs"]:
        return Recommendation(None, *sentences.and_moved(sentences.not_in_model(), original))
    left = sentences.left_column
    if original[left] == 0:
        return Recommendation(
            None, *sentences.and_moved(sentences.nothing_to_do(original), original)
        )
    known = table.drop(index="original")
    known = known[known[left].notna()]
    less = known[known[f"{left}_high"] < original[f"{left}_low"]]
    if less.empty:
        return Recommendation(None, *sentences.nothing_helps(original, known))
    change = f"{settings['score']}_change"
    cost = -less[f"{change}_low"]
    kept = less[cost <= max_score_drop]
    if kept.empty:
        # The method whose cost is limited best; where no cost has an interval, the first one.
        nearest = str(cost.idxmin()) if cost.notna().any() else str(less.index[0])
        return Recommendation(
            None, *sentences.too_costly(nearest, less.loc[nearest], original, max_score_drop)
        )
    kept = kept[kept[f"{left}_low"] <= kept[f"{left}_high"].min()]
    kept = kept[kept[f"{change}_high"] >= kept[f"{change}_low"].max()]
    chosen = str(min(kept.index, key=_cost_of))
    others = [str(name) for name in kept.index if name != chosen]
    words = sentences.recommended(chosen, kept.loc[chosen], original, others)
    return Recommendation(chosen, *words)


def _cost_of(method: str) -> int:
    """The place of a method by its cost; seconds would differ from run to run."""
    return list(METHODS).index(method) if method in METHODS else len(METHODS)


class Sentences:
    """Sentences about what methods leave, and what they cost."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.is_mean = bool(settings["is_mean"])
        self.left_column = "difference_rows" if self.is_mean else "share_rows"
        self.moved_column = self.left_column.replace("rows", "moved")
        self.sensitive = listed([str(name) for name in settings["sensitive_features"]], "or")

    @property
    def changed(self) -> str:
        """What happens to people who are treated differently from their twins."""
        threshold = self.settings["threshold"]
        if threshold is None:
            return "another decision"
        return f"an output that differs by more than {number(threshold)}"

    def recommended(
        self, method: str, row: Any, original: Any, others: list[str]
    ) -> tuple[str, str]:
        sentence = f"{method} is recommended: it leaves {self.left(row, method)}, {self.cost(row)}"
        reasons = [f"With the original {self.of_original(original)}."]
        if others:
            many = len(others) > 1
            reasons.append(
                f"{listed(others)} leave{'' if many else 's'} as little at about the same "
                f"score, as far as the intervals tell; {method} is the simplest."
            )
        if row["losing_group_change_high"] < 0:
            reasons.append(self.payer(row))
        if moved := self.moved(row, original):
            reasons.append(moved)
        return sentence, " ".join(reasons)

    def and_moved(self, sentences: tuple[str, str], original: Any) -> tuple[str, str]:
        """Add what becomes of moved twins, whom no method here is made for."""
        moved = self.moved(original)
        return sentences if not moved else (sentences[0], f"{sentences[1]} {moved}")

    def moved(self, row: Any, original: Any = None) -> str:
        """What becomes of people who are moved to another group; nothing where it is not known."""
        shares = [self.of_moved(one) for one in (row, original) if one is not None]
        if not all(shares):
            return ""
        as_before = "" if original is None else f"; with the original {shares[1]}"
        if self.is_mean:
            return (
                "Moved to another group with the columns that go with it, people's outputs would "
                f"change by {shares[0]} on average{as_before}."
            )
        unknown = ""
        if row[f"{self.moved_column}_low"] == 0:
            unknown = " This is not known to be more than errors of the map make of it."
        return (
            f"Moved to another group with the columns that go with it, {shares[0]} of the people "
            f"would get {self.changed}{as_before}.{unknown}"
        )

    def of_moved(self, row: Any) -> str:
        """The figure of moved twins with its interval; nothing where it is not known."""
        name = self.moved_column
        if name not in row or not np.isfinite(row[name]):
            return ""
        value, low, high = (float(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
        if self.is_mean:
            return f"{number(value)} ({number(low)} to {number(high)})"
        return f"{percent(value)} ({_ends(100 * low, 100 * high)})"

    def payer(self, row: Any) -> str:
        """Who gets the favourable answer less often than from the original."""
        ends = ("", "_high", "_low")
        fall, low, high = (-float(row[f"losing_group_change{end}"]) for end in ends)
        group = short_group(row["losing_group"], self.settings)
        if not self.settings["favourable"]:
            return (
                f"{group} pays most: its mean prediction falls by {number(fall)} ({number(low)} "
                f"to {number(high)})."
            )
        return (
            f"{group} pays most: its rate of {self.settings['favourable']} falls by "
            f"{100 * fall:.1f} points ({_ends(100 * low, 100 * high)})."
        )

    def left(self, row: Any, method: str = "") -> str:
        """What a method leaves for people."""
        value, low, high = self._interval(row)
        if row["degree_bound"] == 0:
            nobody = "no difference between twins" if self.is_mean else "nobody treated differently"
            known = method in TAKE_THE_COLUMNS_OUT
            return f"{nobody}{', by construction' if known else ' (proven for all inputs)'}"
        if self.is_mean:
            return (
                f"a mean difference between twins of {number(value)} ({number(low)} to "
                f"{number(high)})"
            )
        if value == 0:
            return (
                f"none of the {self.n_rows} people treated differently (at most {percent(high)} of "
                "people like them)"
            )
        ends = _ends(100 * low, 100 * high)
        return f"{percent(value)} of the people treated differently ({ends})"

    def of_original(self, original: Any) -> str:
        """The same of the original, as half a sentence."""
        value, low, high = self._interval(original)
        if self.is_mean:
            return (
                f"twins differ by {number(value)} on average ({number(low)} to {number(high)}) if "
                f"only {self.sensitive} is changed"
            )
        return (
            f"{percent(value)} of the people ({_ends(100 * low, 100 * high)}) would get "
            f"{self.changed} if only {self.sensitive} were changed"
        )

    def cost(self, row: Any) -> str:
        """What a method costs in score, with the interval."""
        name = self.settings["score"]
        names = [f"{name}_change", f"{name}_change_high", f"{name}_change_low"]
        drop, low, high = (-float(row[column]) for column in names)
        sign = 1 if drop >= 0 else -1
        verb = "and costs" if sign > 0 else "and gains"
        # Of a gain the bounds are turned round with it.
        low, high = sorted((sign * low, sign * high))
        if not np.isfinite([low, high]).all():
            return f"{verb} {self.score(abs(drop))} (too few rows for an interval)"
        if name in IN_POINTS:
            return f"{verb} {self.score(abs(drop))} ({_ends(100 * low, 100 * high)})"
        return f"{verb} {self.score(abs(drop))} ({number(low)} to {number(high)})"

    def score(self, amount: float) -> str:
        """An amount of the score: points of accuracy, or a number."""
        name = self.settings["score"]
        if name in IN_POINTS:
            return f"{100 * amount:.1f} points of {name.replace('_', ' ')}"
        return f"{number(amount)} of {name}"

    @property
    def n_rows(self) -> str:
        """The people whose twins were compared."""
        return f"{self.settings['n_inputs'].get('rows', self.settings['n_rows']):,}"

    def not_in_model(self) -> tuple[str, str]:
        return (
            f"No method is recommended: the model does not take {self.sensitive}",
            f"Changing {self.sensitive} alone changes no answer, so that there is nothing for a "
            "method to take away. Compare the rates of groups.",
        )

    def nothing_to_do(self, original: Any) -> tuple[str, str]:
        sentence = "No method is recommended: the original treats nobody in the table differently"
        if self.is_mean:
            return sentence, f"No output changes if only {self.sensitive} is changed."
        high = percent(original[f"{self.left_column}_high"])
        return sentence, (
            f"None of the {self.n_rows} people would get {self.changed} if only {self.sensitive} "
            f"were changed (at most {high} of people like them)."
        )

    def nothing_helps(self, original: Any, known: pd.DataFrame) -> tuple[str, str]:
        if known.empty:
            sentence = "No method is recommended: none but the original has figures"
            return sentence, f"With the original {self.of_original(original)}."
        least = str(known[self.left_column].idxmin())
        return (
            "No method is recommended: none leaves clearly less than the original",
            f"With the original {self.of_original(original)}. Of the others {least} leaves least: "
            f"{self.left(known.loc[least], least)}.",
        )

    def too_costly(self, method: str, row: Any, original: Any, limit: float) -> tuple[str, str]:
        least = -float(row[f"{self.settings['score']}_change_high"])
        allowed = self.score(limit) if self.settings["score"] in IN_POINTS else "no more"
        costs = "costs" if least > limit else "may cost"
        end = "Whether that is worth it is for people to say."
        if least <= limit:
            end = "These rows do not rule out a larger cost; more rows may."
        return (
            f"No method is recommended: what leaves less {costs} too much",
            f"With the original {self.of_original(original)}. {method} leaves "
            f"{self.left(row, method)}, {self.cost(row)}; max_score_drop={limit:g} allows "
            f"{allowed}. {end}",
        )

    def _interval(self, row: Any) -> tuple[float, float, float]:
        name = self.left_column
        return float(row[name]), float(row[f"{name}_low"]), float(row[f"{name}_high"])


def short_group(name: str, settings: Mapping[str, Any]) -> str:
    """A group's name without the attribute's, where there is only one."""
    names = settings["sensitive_features"]
    return name.removeprefix(f"{names[0]} = ") if len(names) == 1 else name


def _ends(low: float, high: float) -> str:
    """The bounds of an interval in percent or points, to the same digit."""
    low, high = (0.0 if abs(end) < 0.05 else end for end in (low, high))
    return f"{low:.1f} to {high:.1f}"
