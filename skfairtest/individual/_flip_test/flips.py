"""Whose output changes under a map: flips of rows, their shares, and intervals of these."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from skfairtest._statistics import wilson
from skfairtest._typing import Floats, Ints
from skfairtest.individual._flip_test.groups import Groups
from skfairtest.individual._flip_test.judge import ComparedGroup, Judge, Outputs

#: What the direction of a row says that has none: its output stays, or changes in a direction that
#: the rows of the data do not show.
STAYS, OTHER = -1, -2


class Directions:
    """The ways in which an output can change: from a label to another, or up and down.

    Attributes
    ----------
    names : list of str
        In words, in the order of their numbers.
    """

    def __init__(self, judge: Judge, pairs: Any = (), labels: dict[int, Any] | None = None) -> None:
        self.judge = judge
        self.by_labels = judge.by_labels
        self._numbers = {pair: k for k, pair in enumerate(pairs)}
        labels = labels or {}
        self.names = [f"{labels[one]} -> {labels[other]}" for one, other in pairs]
        if not self.by_labels:
            self.names = ["up", "down"]

    @classmethod
    def of(cls, judge: Judge, Z: Floats, before: Outputs, parts: list[ComparedGroup]) -> Directions:
        """Return the directions of the changes that occur, and of two labels both of them."""
        if not judge.by_labels:
            return cls(judge)
        example: dict[int, Floats] = {}
        answers = [(Z, before.labels), *((part.Z, part.after.labels) for part in parts)]
        for rows, labels in answers:
            for code, first in zip(*np.unique(labels, return_index=True), strict=True):
                example.setdefault(int(code), rows[first])
        known = sorted(example)
        named = judge.names(known, np.array([example[code] for code in known]))
        known = sorted(known, key=lambda code: _order(named[code]))
        pairs = [(one, other) for one in known for other in known if one != other]
        if len(known) > 2:
            occurs = {
                pair
                for part in parts
                for pair in zip(
                    part.before.labels.tolist(), part.after.labels.tolist(), strict=True
                )
            }
            pairs = [pair for pair in pairs if pair in occurs]
        return cls(judge, pairs, named)

    def of_rows(self, part: ComparedGroup) -> Ints:
        """Return the number of the direction of each row."""
        verdict = part.shown.verdict
        found = np.full(len(verdict), STAYS, dtype=np.intp)
        if not self.by_labels:
            change = part.after.scores - part.before.scores
            own = change[np.arange(len(change)), part.shown.output]
            found[verdict] = np.where(own > 0, 0, 1)[verdict]
            return found
        before, after = part.before.labels[verdict], part.after.labels[verdict]
        pairs = zip(before.tolist(), after.tolist(), strict=True)
        found[verdict] = [self._numbers.get(pair, OTHER) for pair in pairs]
        return found


def _order(label: Any) -> tuple[bool, Any]:
    is_number = isinstance(label, (int, float, np.number, bool, np.bool_))
    return (not is_number, float(label) if is_number else str(label))


class Shares(NamedTuple):
    """Shares of rows whose output changes.

    Attributes
    ----------
    pairs : ndarray of shape (n_groups, n_groups, 1 + n_directions)
        By group, group moved to, and direction; any direction comes first.
    rate : float
        Of all rows, moved to any other group.
    rates : ndarray of shape (n_groups,)
        Of the rows of each group, moved to any other.
    """

    pairs: Floats
    rate: float
    rates: Floats


def shares_of(
    parts: list[ComparedGroup], directions: Directions, codes: Ints, n_groups: int,
    weights: Floats | None = None,
) -> Shares:  # fmt: skip
    """Return the shares of rows that change, by direction; rows may have weights."""
    weights = np.ones(len(codes)) if weights is None else weights
    n_directions = len(directions.names)
    pairs = np.full((n_groups, n_groups, 1 + n_directions), np.nan)
    changes = np.zeros(len(codes), dtype=bool)
    for part in parts:
        found, own = directions.of_rows(part), weights[part.rows]
        flips = found != STAYS
        changes[part.rows] |= flips
        of_pair = [flips, *(found == k for k in range(n_directions))]
        pairs[part.own, part.to] = [np.average(is_so, weights=own) for is_so in of_pair]
    rates = np.array(
        [np.average(changes[codes == g], weights=weights[codes == g]) for g in range(n_groups)]
    )
    return Shares(pairs, float(np.average(changes, weights=weights)), rates)


class Interval(NamedTuple):
    """An interval of a share, and how far the share is beyond what chance alone makes of it."""

    low: float
    high: float
    null_share: float
    beyond: float
    beyond_low: float
    beyond_high: float


def rate_interval(
    rate: float, rates: Floats, sizes: Any, again: Floats, nulls: Floats, confidence: float, *,
    n: float, mean: bool = False,
) -> Interval:  # fmt: skip
    """Return the interval of the share of all rows that change; `rates` are those of the groups.

    See `interval_of`.
    """
    # Rows drawn again keep the sizes of the groups; those of another sample do not.
    more = float((sizes / sizes.sum() * (rates - rate) ** 2).sum()) / n
    return interval_of(
        rate, again, nulls, n, confidence, both=True, more_variance=more, mean=mean
    )  # fmt: skip


def interval_of(
    share: float, again: Floats, nulls: Floats, n: float, confidence: float, *,
    both: bool, more_variance: float = 0.0, chance: float | None = None, times: float = 1.0,
    mean: bool = False,
) -> Interval:  # fmt: skip
    """Return the interval of a share of rows that change.

    Parameters
    ----------
    share : float
        The share among the rows.
    again : ndarray of shape (n_bootstrap,)
        The shares among rows drawn again, under maps that were learned from these.
    nulls : ndarray of shape (n_bootstrap,)
        The shares under maps between groups that chance has made.
    n : float
        Rows.
    confidence : float
        Of the interval.
    both : bool
        Whether the share is of flips in both directions.
    more_variance : float, default=0.0
        Variance that rows drawn again within their groups do not show.
    chance : float, default=None
        Share that chance makes, without which, or where the interval of what is beyond it holds 0,
        the lower end is 0. None takes it from `nulls` for a share in one direction, and does
        without it for one in both. Of several directions it is that of the largest of them (see
        `largest_by_chance`).
    times : float, default=1.0
        By how much wider the interval is, so that several hold at once (see
        `wider_together`).
    mean : bool, default=False
        Whether it is a mean of differences, and no share.

    Notes
    -----
    Errors of a map add flips, so that a share is too large on average, and no drawing again takes
    that off. The lower end allows for it (see `without_errors`). The variance is the larger one of
    both kinds of repetition: the first is that of a map that moves rows, the second that of one
    which should not.

    An error of the map sends most rows near the boundary the same way. Flips in one direction so
    are none in half of all maps that should move nothing, and many in a few: their lower end is 0,
    too, where as many come from a map between groups that chance has made as often as an interval
    of this confidence may miss.
    """
    if len(again) < 2:
        return Interval(*[np.nan] * 6)
    t = times * float(stats.t.isf((1 - confidence) / 2, len(again) - 1))
    null = float(nulls.mean())
    error = float(np.sqrt(max(again.var(ddof=1) + more_variance, nulls.var(ddof=1))))
    if mean:
        low, high = max(0.0, share - t * error), share + t * error
    else:
        # As many independent rows as would have this error; a share of 0 or 1 has none by itself.
        size = share * (1 - share) / error**2 if error > 0 and 0 < share < 1 else float(n)
        ends = wilson(np.array(share), np.array(min(size, float(n))), t)
        low, high = (float(end) for end in ends)
    low = min(low, without_errors(low, null, both=both))
    if chance is None and not both:
        chance = float(np.quantile(nulls, (1 + confidence) / 2))
    beyond, half = share - null, t * error
    beyond_low = beyond - half
    if chance is not None and (share <= chance or beyond_low <= 0):
        low, beyond_low = 0.0, min(beyond_low, 0.0)
    return Interval(low, high, null, beyond, beyond_low, beyond + half)


def without_errors(share: float, null: float, *, both: bool) -> float:
    """Return the share of flips that there would be without the errors of a map.

    Near the boundary of a model, rows that a map moves by s towards the other side, with a normal
    error of standard deviation 1, flip in proportion to the mean of the positive part of s plus the
    error; in both directions, to the mean of its absolute value. The null is the share at s = 0,
    which gives the unit. What is returned is the share at this s without the error: 0 where there
    are no more flips than in the null, and the share itself where there are several times more.
    """
    if null <= 0 or share <= 0:
        return max(share, 0.0)
    s = np.linspace(0, 6, 601)
    positive = stats.norm.pdf(s) + s * stats.norm.cdf(s)
    found = 2 * positive - s if both else positive
    unit = null / float(found[0])
    if share / unit >= found[-1]:
        return share
    return float(np.interp(share / unit, found, s)) * unit


def largest_by_chance(shares: Shares, nulls: list[Shares], confidence: float) -> Floats:
    """Return for each share in one direction what chance makes of it where it is most of all.

    Of many directions the one that stands out does so by chance more often than each by itself. So
    all are compared with what the one that stood out most had between groups that chance has made.
    """
    # Were there no path, the groups themselves would be as good as any that chance has made.
    pairs = np.array([one.pairs[..., 1:] for one in (shares, *nulls)])
    mean, spread = pairs.mean(axis=0), np.maximum(pairs.std(axis=0), np.finfo(float).tiny)
    most = np.nanmax((pairs - mean) / spread, axis=(1, 2, 3), initial=0.0)
    of_chance = most[1:] if nulls else most
    return np.asarray(mean + spread * np.quantile(of_chance, (1 + confidence) / 2, method="higher"))


def wider_together(again: list[Shares], confidence: float) -> float:
    """By how much wider the intervals of all pairs and directions are that hold at once.

    How large the largest deviation among rows drawn again is says how many intervals that have
    nothing to do with each other these are as good as, and so many have their share of the errors
    each (Bonferroni): some that go together are as good as one.
    """
    if len(again) < 3:
        return 1.0
    pairs = np.array([one.pairs for one in again])
    spread = pairs.std(axis=0, ddof=1)
    varies = spread > 0  # not where nobody is moved
    if not varies.any():
        return 1.0
    n, alpha = len(again), (1 - confidence) / 2
    # A repetition has a part in the mean and the spread that it is compared with.
    apart = np.abs(pairs - pairs.mean(axis=0))[:, varies] / spread[varies] * np.sqrt(n / (n - 1))
    largest = np.quantile(apart.max(axis=1), confidence, method="higher")
    rest = max(n - 1 - largest**2, 1e-9)
    chance = stats.t.sf(largest * np.sqrt((n - 2) / rest), n - 2)
    n_alone = np.clip(alpha / max(chance, 1e-9), 1, varies.sum())
    return float(stats.t.isf(alpha / n_alone, n - 1) / stats.t.isf(alpha, n - 1))


def flip_table(
    shares: Shares, again: list[Shares], nulls: list[Shares], groups: Groups, names: list[str],
    confidence: float,
) -> pd.DataFrame:  # fmt: skip
    """Return the shares of each pair of groups and direction, with intervals."""
    counts = np.bincount(groups.codes, minlength=len(groups))
    chance = largest_by_chance(shares, nulls, confidence)
    times = wider_together(again, confidence)
    lines = []
    for own in range(len(groups)):
        for to in range(len(groups)):
            if own == to:
                continue
            for k, name in enumerate(["any", *names]):
                share, n = float(shares.pairs[own, to, k]), int(counts[own])
                interval = interval_of(
                    share,
                    np.array([one.pairs[own, to, k] for one in again]),
                    np.array([one.pairs[own, to, k] for one in nulls]),
                    n,
                    confidence,
                    both=k == 0,
                    chance=float(chance[own, to, k - 1]) if k else 0.0,
                    times=times,
                )
                lines.append(
                    {
                        "group": groups.labels[own],
                        "to": groups.labels[to],
                        "direction": name,
                        "n_rows": n,
                        "n_flips": round(share * n),
                        "share": share,
                        **interval._asdict(),
                    }
                )
    return pd.DataFrame(lines)
