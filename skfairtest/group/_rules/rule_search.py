"""Finds frequent rules of rows, takes each group once, and orders them worst first."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from skfairtest._statistics import Sides
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.exceptions import users_level
from skfairtest.group._inference.counting import RowSets, rows_that_count
from skfairtest.group._inference.pivot import chosen_sides, half_a_case, signed_root
from skfairtest.group._outcomes.outcomes import MetricRows
from skfairtest.group._rules.attribute import Attribute, Numbers
from skfairtest.group._rules.frequent import MOST_RULES, FrequentRules, RuleLimitExceeded
from skfairtest.group._rules.short_list import ShortList, short_list, without_last_digits


class TooManyRules(ValueError):
    """Raised for more rules than can be evaluated; the message says what other parameters leave.

    Attributes
    ----------
    fits : int
        The most conditions with which there are not too many, as far as is known.
    """

    def __init__(self, message: str, fits: int) -> None:
        super().__init__(message)
        self.fits = fits


def frequent_rules(
    attributes: list[Attribute],
    columns: list[Numbers],
    *,
    min_support: float,
    most: int | None,
    label: str,
    weights: Floats | None = None,
) -> FrequentRules:
    """Find all frequent rules of up to `most` conditions, or of as many as are feasible.

    Parameters
    ----------
    attributes : list of Attribute
        What rules are made of.
    columns : list of ndarray of int of shape (n_rows,)
        For each attribute the number of each row's value.
    min_support : float
        Share of the rows that a rule holds for, at least.
    most : int or None
        Most conditions of a rule. With None there may be fewer of them than attributes, with a
        warning, where there are more than a million rules.
    label : str
        Name of the parameter that holds `most`.
    weights : ndarray of shape (n_rows,), default=None
        How many rows of the data each row stands for, where equal ones are taken together.

    Raises
    ------
    ValueError
        If there are none.
    TooManyRules
        If there are more than a million.
    """
    search = _Search(attributes, columns, min_support, label, weights)
    try:
        rules, message = search.rules(most), ""
    except TooManyRules as error:
        if most is not None or not error.fits:
            raise
        message = str(error)
        for most in range(error.fits, 0, -1):
            try:
                rules = search.rules(most)
                break
            except TooManyRules:  # of many rows, what fits was an estimate
                if most == 1:
                    raise
    if not rules.n_rules:
        raise search.none_frequent()
    if message:
        warnings.warn(
            f"Only rules of up to {label}={most} are compared. {message}",
            UserWarning,
            stacklevel=users_level(),
        )
    return rules


class _Search(NamedTuple):
    """What is searched for rules."""

    attributes: list[Attribute]
    columns: list[Numbers]
    min_support: float
    label: str
    weights: Floats | None

    def _found(self, min_support: float, most: int) -> FrequentRules:
        return FrequentRules(
            self.columns,
            [attribute.n_values for attribute in self.attributes],
            min_support=min_support,
            max_conditions=most,
            members=_members(self.attributes),
            weights=self.weights,
        )

    def rules(self, most: int | None) -> FrequentRules:
        """All frequent rules."""
        most = min(most or len(self.attributes), len(self.attributes))
        try:
            return self._found(self.min_support, most)
        except RuleLimitExceeded:
            raise self._too_many(most) from None

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return len(self.columns[0]) if self.weights is None else int(self.weights.sum())

    def none_frequent(self) -> ValueError:
        """Make an error that says which support a rule has."""
        names = [attribute.name for attribute in self.attributes]
        # No rule has more support than a single condition.
        largest = self._found(0.5 / self.n_rows, 1).counts.max(initial=0)
        return ValueError(
            f"No rule over {names!r} holds for at least min_support={self.min_support:g} of the "
            f"{self.n_rows} rows, but not for all of them. The largest support of such a rule is "
            f"{largest / self.n_rows:.4g}: set min_support to that or less, or name other "
            "attributes."
        )

    def _some(self) -> tuple[_Search, str]:
        """A few of many rows, on which it is estimated what other parameters would leave."""
        most = 5_000  # an estimate for an error message is not worth more time
        if len(self.columns[0]) <= most:
            return self, ""
        upto: Any = np.arange(1, len(self.columns[0]) + 1)
        upto = upto if self.weights is None else np.cumsum(self.weights)
        drawn = np.linspace(0, upto[-1] - 1, most).astype(np.intp)
        rows = np.searchsorted(upto, drawn, side="right")
        few = self._replace(columns=[column[rows] for column in self.columns], weights=None)
        return few, "about "

    def _too_many(self, most: int) -> TooManyRules:
        """Make an error that says how many rules fewer conditions or a higher support leave."""
        some, about = self._some()
        leaves = []
        fits = 0
        for conditions in range(1, most):
            n = some.n_rules(self.min_support, conditions)
            if n is None:
                break
            leaves, fits = [f"{self.label}={conditions} leaves {about}{n:,}"], conditions
        support = self.min_support
        while support < 0.9:
            support = float(f"{min(0.9, 1.5 * support):.2g}")
            n = some.n_rules(support, most)
            if n is not None:
                leaves.append(f"min_support={support:g} leaves {about}{n:,}")
                break
        advice = " and ".join(leaves) or f"even {self.label}={fits + 1} leaves more"
        return TooManyRules(
            f"There are more than {MOST_RULES:,} rules that hold for "
            f"min_support={self.min_support:g} of the rows, with up to {most} conditions over "
            f"{len(self.attributes)} attributes. Raise min_support or lower {self.label}: "
            f"{advice}. Or name fewer attributes.",
            fits,
        )

    def n_rules(self, min_support: float, most: int) -> int | None:
        """How many rules there are; None for too many."""
        try:
            return self._found(min_support, most).n_rules
        except RuleLimitExceeded:
            return None


def _members(attributes: list[Attribute]) -> list[Bools] | None:
    """What each condition names; None where it is a single value."""
    if all(a.n_conditions == a.n_values for a in attributes):
        if all(np.array_equal(a.members, np.eye(a.n_conditions)) for a in attributes):
            return None
    return [attribute.members for attribute in attributes]


def complexity_of(rules: FrequentRules, attributes: list[Attribute]) -> Ints:
    """Rate how complex rules are: by their conditions, then by the bounds to read."""
    read = [attribute.complexity for attribute in attributes]
    of_condition = np.array(
        [10_000 + read[j][value] for j, value in zip(rules.attribute, rules.value, strict=True)]
    )
    total = np.zeros(rules.n_rules, dtype=np.int64)
    at, todo = np.arange(rules.n_rules), np.arange(rules.n_rules)
    while len(todo):
        total[todo] += of_condition[rules.last[at]]
        above = rules.parents[at]
        todo, at = todo[above >= 0], above[above >= 0]
    return total


def places_of(rules: FrequentRules, attributes: list[Attribute]) -> Ints:
    """Number rules so that equally simple ones have an order, whatever way they were found.

    Attributes of few conditions come first, and early conditions of an attribute.
    """
    order = np.argsort([attribute.n_conditions for attribute in attributes], kind="stable")
    table = rules.conditions(np.arange(rules.n_rules))[:, order]
    # Earlier keys decide where later ones are equal: which attributes, then which conditions.
    rank = np.lexsort([*table.T, *(table < 0).T[::-1]])
    places = np.empty(len(rank), dtype=np.intp)
    places[rank] = np.arange(len(rank))
    return places


def simplest_of_equal(
    marks: NDArray[np.uint64], complexity: Ints, places: Ints | None = None
) -> Ints:
    """Find the simplest rule of each group of rows, in the order of the rules.

    Of equally simple ones that with the least place is taken, or the first one.
    """
    order = (
        np.argsort(complexity, kind="stable")
        if places is None
        else np.lexsort((places, complexity))
    )
    first = ~pd.Series(marks[order]).duplicated().to_numpy()
    kept: Any = np.sort(order[first])
    return kept


def worst_first(
    sides: Sides, score: Floats, criticals: list[float], complexity: Ints, compared: Bools
) -> Ints:
    """Order rules by the part of their score that is more than chance.

    The first key allows for the number of rules, the second takes each rule by itself, and
    the third is the score. The score alone would put the groups with fewest rows first, because
    their scores vary most.

    Parameters
    ----------
    sides : Sides
        Of the rules.
    score : ndarray of shape (n,)
        Their scores.
    criticals : list of float
        How far a signed root must be from 0 for all rules, and for one.
    complexity : ndarray of int of shape (n,)
        The smaller, the simpler.
    compared : ndarray of bool of shape (n,)
        Whether the metric is defined on both sides.
    """
    roots = np.abs(signed_root(half_a_case(sides, -1.0)))
    score = np.where(compared, np.nan_to_num(score), 0.0)
    keys: list[NDArray[Any]] = [complexity, score]
    for critical in criticals[::-1]:
        with np.errstate(invalid="ignore", divide="ignore"):
            keys.append(np.where(roots > critical, score * (1 - critical / roots), 0.0))
    # Of equal values the simpler rule comes first.
    scale = float(score.max(initial=0.0)) or 1.0
    keys[1:] = [-without_last_digits(key / scale) for key in keys[1:]]
    return np.lexsort([*keys, ~compared])


def by_score(score: Floats, ranked: Bools, complexity: Ints, counts: Ints, places: Ints) -> Ints:
    """Order rules by their scores: those that are not ranked last, undefined scores behind them.

    Of a group and everyone else, which have one score, the smaller one comes first.
    """
    known = np.nan_to_num(score, nan=-1.0)
    # Of equal values the simpler rule comes first.
    scale = float(known.max(initial=0.0)) or 1.0
    return np.lexsort((places, counts, complexity, -without_last_digits(known / scale), ~ranked))


class ComparedRules(NamedTuple):
    """The rules that are kept, worst first; arrays of shape (n_kept,).

    Attributes
    ----------
    kept : ndarray of int
        Their places among all.
    sides : Sides
        What was observed inside and outside.
    defined : ndarray of bool
        Whether the metric is defined on both sides.
    n_inside, n_outside : ndarray of int
        Rows that count.
    part : ndarray or None
        Share of the difference to the rest that is left against the whole; None for the rest.
    n_groups : int
        Different groups with a metric on both sides, kept or not.
    """

    kept: Ints
    sides: Sides
    defined: Bools
    n_inside: Ints
    n_outside: Ints
    part: Floats | None
    n_groups: int


def compare_rules(
    rules: FrequentRules,
    complexity: Ints,
    everything: Sides,
    rows: MetricRows,
    weights: Floats | None,
    *,
    whole: bool,
    confidence: float,
    critical: float,
    most: int,
) -> ComparedRules:
    """Put each group once, by its simplest rule, in the order of `worst_first`."""
    distinct = simplest_of_equal(rules.marks, complexity)
    n_inside, n_outside = rows_that_count(rules, rows.counts)
    sides = chosen_sides(everything, distinct)
    defined = (n_inside[distinct] > 0) & (n_outside[distinct] > 0)
    n_groups = int(defined.sum())
    part = part_of_whole(rules, rows, weights)[distinct] if whole else None
    score = np.abs(sides.difference) * (1.0 if part is None else part)
    criticals = [critical, float(stats.norm.isf((1 - confidence) / 2))]
    order = worst_first(sides, score, criticals, complexity[distinct], defined)[:most]
    kept = distinct[order]
    return ComparedRules(
        kept,
        chosen_sides(sides, order),
        defined[order],
        n_inside[kept],
        n_outside[kept],
        None if part is None else part[order],
        n_groups,
    )


def listed_rules(
    rules: FrequentRules,
    found: ComparedRules,
    differs: Bools,
    rows: MetricRows,
    weights: Floats | None,
    *,
    complexity: Ints,
    critical: float,
    confidence: float,
) -> ShortList:
    """Make a short list of the kept rules that differ, by their positions among these."""
    # The short list is chosen from the 1,000 worst rules.
    candidates = np.flatnonzero(differs)[:1_000]
    chosen = found.kept[candidates]
    short = short_list(
        rules.subset(chosen),
        rules.conditions(chosen),
        chosen_sides(found.sides, candidates),
        rows.values,
        rows.counts,
        weights,
        differs=np.ones(len(chosen), dtype=bool),
        critical=critical,
        # In the order of what chance leaves, not of the largest scores, which vary most.
        score=np.arange(len(chosen), 0, -1, dtype=np.float64),
        complexity=complexity[chosen],
        confidence=confidence,
        n_compared=max(1, int((differs & (rules.depths[found.kept] > 1)).sum())),
    )
    return short._replace(
        rule=candidates[short.rule],
        sub_rule=np.append(candidates, -1)[short.sub_rule],  # -1 stays -1
    )


def part_of_whole(rules: RowSets, rows: MetricRows, weights: Floats | None) -> Floats:
    """Return the factor from a group's difference to the rest to its difference to the whole."""
    counted: Any = rows.counts if weights is None else np.where(rows.counts, weights, 0.0)
    # whole = share * inside + (1 - share) * outside
    return 1 - rules.sums(counted[:, None])[:, 0] / float(counted.sum())
