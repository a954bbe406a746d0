"""Whose output changes under a map: flips of rows, their shares, and intervals of these."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from skfairtest._statistics import wilson
from skfairtest._typing import Floats, Ints
from skfairtest.individual._flip_test.groups import Groups
from skfairtest.individual._flip_test.maps import Map
from skfairtest.oracle._compare import Comparison, compare
from skfairtest.oracle._model import Labels, Model, hash_labels

#: What the direction of a row says that has none: its output stays, or changes in a direction that
#: the rows of the data do not show.
STAYS, OTHER = -1, -2


class Outputs(NamedTuple):
    """Outputs of a model for rows.

    Attributes
    ----------
    scores : ndarray of shape (n_rows, n_outputs)
        Probabilities, scores or predictions.
    labels : ndarray of shape (n_rows,)
        Codes of labels.
    """

    scores: Floats
    labels: Labels

    def at(self, rows: Any) -> Outputs:
        """Return those of some rows."""
        return Outputs(self.scores[rows], self.labels[rows])


class Judge:
    """Asks the model, and says whether two outputs count as different.

    Parameters
    ----------
    model : Model
        The model.
    threshold : float or None
        As that of the auditor.
    """

    def __init__(self, model: Model, threshold: float | None) -> None:
        self.model, self.threshold = model, threshold

    @property
    def by_labels(self) -> bool:
        """Whether labels decide."""
        is_label = self.model.response == "labels"
        return is_label or (self.threshold is None and self.model.response != "regression")

    def ask(self, Z: Floats) -> Outputs:
        """Return the outputs for rows of codes."""
        if not len(Z):
            return Outputs(np.zeros((0, 1)), np.zeros(0, dtype=np.int64))
        return Outputs(*self.model.ask(Z))

    def compare(self, before: Outputs, after: Outputs) -> Comparison:
        """Compare the outputs of rows with those of their moved twins."""
        scores = np.stack([before.scores, after.scores], axis=1)
        labels = np.stack([before.labels, after.labels], axis=1)
        return compare(
            scores,
            labels,
            np.ones(labels.shape, dtype=bool),
            response=self.model.response,
            threshold=self.threshold,
            single=self.model.single,
        )

    def confirmed(self, Z: Floats, moved: Floats, verdict: Any) -> Any:
        """Return the verdicts that `predict` confirms, where labels were read off the scores."""
        if not (self.model.infers_labels and self.by_labels):
            return verdict
        flips = np.flatnonzero(verdict)
        if not len(flips):
            return verdict
        verdict = verdict.copy()
        labels = self.model.labels(np.concatenate([Z[flips], moved[flips]]))
        verdict[flips] = labels[: len(flips)] != labels[len(flips) :]
        return verdict

    def names(self, codes: Any, Z: Floats) -> dict[int, Any]:
        """Return the labels of codes; `Z` has a row for each, which the model is asked about."""
        classes = getattr(self.model.estimator, "classes_", None)
        if isinstance(classes, np.ndarray) and classes.ndim == 1:
            if self.model.infers_labels and max(codes, default=0) < len(classes):
                return {int(code): classes[int(code)] for code in codes}
            known = dict(zip(hash_labels(classes).tolist(), classes, strict=True))
            if all(int(code) in known for code in codes):
                return {int(code): known[int(code)] for code in codes}
        answers = [np.asarray(part) for part, _ in self.model._call("predict", Z)]
        labels = np.concatenate(answers)
        plain = labels.tolist() if labels.ndim == 1 else [str(row.tolist()) for row in labels]
        return dict(zip(map(int, codes), plain, strict=True))


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
    def of(cls, judge: Judge, Z: Floats, before: Outputs, changes: list[Any]) -> Directions:
        """Return the directions of the changes that occur, and of two labels both of them."""
        if not judge.by_labels:
            return cls(judge)
        codes: dict[int, Floats] = {}
        for rows, own, labels in [(Z, before.labels, before.labels), *changes]:
            for found in np.unique(np.concatenate([own, labels])):
                hit = np.flatnonzero(labels == found)
                if len(hit):
                    codes.setdefault(int(found), rows[hit[0]])
        known = sorted(codes)
        named = judge.names(known, np.array([codes[code] for code in known]))
        known = sorted(known, key=lambda code: _order(named[code]))
        pairs = [(one, other) for one in known for other in known if one != other]
        if len(known) > 2:
            occurs = {
                pair
                for _, own, labels in changes
                for pair in zip(own.tolist(), labels.tolist(), strict=True)
            }
            pairs = [pair for pair in pairs if pair in occurs]
        return cls(judge, pairs, named)

    def of_rows(self, before: Outputs, after: Outputs, shown: Comparison, verdict: Any) -> Ints:
        """Return the number of the direction of each row."""
        found = np.full(len(verdict), STAYS, dtype=np.intp)
        if not self.by_labels:
            change = after.scores - before.scores
            own = change[np.arange(len(change)), shown.output]
            found[verdict] = np.where(own > 0, 0, 1)[verdict]
            return found
        rows = np.flatnonzero(verdict)
        pairs = zip(before.labels[rows].tolist(), after.labels[rows].tolist(), strict=True)
        found[rows] = [self._numbers.get(pair, OTHER) for pair in pairs]
        return found


def _order(label: Any) -> tuple[bool, Any]:
    is_number = isinstance(label, (int, float, np.number, bool, np.bool_))
    return (not is_number, float(label) if is_number else str(label))


class Moved(NamedTuple):
    """Rows moved from one group to another, with the model's outputs for them.

    Attributes
    ----------
    own, to : int
        The groups.
    rows : ndarray of int of shape (n,)
        Positions of the rows.
    Z : ndarray of shape (n, n_features)
        The moved twins.
    before, after : Outputs
        For the rows and for their moved twins.
    """

    own: int
    to: int
    rows: Ints
    Z: Floats
    before: Outputs
    after: Outputs


def move_all(
    judge: Judge, fitted: Map, Z: Floats, codes: Ints, before: Outputs, *, keeps: bool = False
) -> list[Moved]:
    """Move rows to each other group, and ask about all of them at once."""
    n_groups = len(fitted.groups)
    parts = []
    for own in range(n_groups):
        rows = np.flatnonzero(codes == own)
        for to in range(n_groups):
            if to == own:
                continue
            here, there = np.full(len(rows), own), np.full(len(rows), to)
            parts.append((own, to, rows, fitted.move(Z[rows], here, there, keeps=keeps)))
    outputs = judge.ask(np.concatenate([part[3] for part in parts]))
    found, start = [], 0
    for own, to, rows, moved in parts:
        after = outputs.at(slice(start, start + len(rows)))
        found.append(Moved(own, to, rows, moved, before.at(rows), after))
        start += len(rows)
    return found


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
    moved: list[Moved], found: list[Ints], codes: Ints, n_groups: int, n_directions: int,
    weights: Floats | None = None,
) -> Shares:  # fmt: skip
    """Return the shares of rows that change, by direction; rows may have weights."""
    weights = np.ones(len(codes)) if weights is None else weights
    pairs = np.full((n_groups, n_groups, 1 + n_directions), np.nan)
    changes = np.zeros(len(codes), dtype=bool)
    for part, directions in zip(moved, found, strict=True):
        own = weights[part.rows]
        flips = directions != STAYS
        changes[part.rows] |= flips
        of_pair = [flips, *(directions == k for k in range(n_directions))]
        pairs[part.own, part.to] = [np.average(is_so, weights=own) for is_so in of_pair]
    rates = np.array(
        [np.average(changes[codes == g], weights=weights[codes == g]) for g in range(n_groups)]
    )
    return Shares(pairs, float(np.average(changes, weights=weights)), rates)


class Interval(NamedTuple):
    """An interval of a share, and how far the share is beyond what chance alone makes of it."""

    low: float
    high: float
    placebo: float
    beyond: float
    beyond_low: float
    beyond_high: float


def interval_of(
    share: float, again: Floats, placebos: Floats, n: int, confidence: float, *,
    both: bool, more_variance: float = 0.0,
) -> Interval:  # fmt: skip
    """Return the interval of a share of rows that change.

    Parameters
    ----------
    share : float
        The share among the rows.
    again : ndarray of shape (n_bootstrap,)
        The shares among rows drawn again, under maps that were learned from these.
    placebos : ndarray of shape (n_bootstrap,)
        The shares under maps between groups that chance has made.
    n : int
        Rows.
    confidence : float
        Of the interval.
    both : bool
        Whether the share is of flips in both directions.
    more_variance : float, default=0.0
        Variance that rows drawn again within their groups do not show.

    Notes
    -----
    Errors of a map add flips, so that a share is too large on average, and no drawing again takes
    that off. The lower end allows for it (see `without_errors`). The variance is the larger one of
    both kinds of repetition: the first is that of a map that moves rows, the second that of one
    which should not.
    """
    if len(again) < 2:
        return Interval(*[np.nan] * 6)
    t = float(stats.t.isf((1 - confidence) / 2, len(again) - 1))
    placebo = float(placebos.mean())
    error = np.sqrt(max(again.var(ddof=1) + more_variance, placebos.var(ddof=1)))
    # As many independent rows as would have this error; a share of 0 or 1 has none by itself.
    size = share * (1 - share) / error**2 if error > 0 and 0 < share < 1 else float(n)
    low, high = (float(end) for end in wilson(np.array(share), np.array(min(size, float(n))), t))
    beyond, half = share - placebo, t * error
    return Interval(
        min(low, without_errors(low, placebo, both=both)), high, placebo, beyond, beyond - half,
        beyond + half,
    )  # fmt: skip


def without_errors(share: float, placebo: float, *, both: bool) -> float:
    """Return the share of flips that there would be without the errors of a map.

    Near the boundary of a model, rows that a map moves by s towards the other side, with a normal
    error of standard deviation 1, flip in proportion to the mean of the positive part of s plus the
    error; in both directions, to the mean of its absolute value. The placebo is the share at s = 0,
    which gives the unit. What is returned is the share at this s without the error: 0 where there
    are no more flips than in the placebo, and the share itself where there are several times more.
    """
    if placebo <= 0 or share <= 0:
        return max(share, 0.0)
    s = np.linspace(0, 6, 601)
    positive = stats.norm.pdf(s) + s * stats.norm.cdf(s)
    found = 2 * positive - s if both else positive
    unit = placebo / found[0]
    if share / unit >= found[-1]:
        return share
    return float(np.interp(share / unit, found, s)) * unit


def flip_table(
    shares: Shares, again: list[Shares], placebos: list[Shares], groups: Groups, names: list[str],
    confidence: float,
) -> pd.DataFrame:  # fmt: skip
    """Return the shares of each pair of groups and direction, with intervals."""
    counts = np.bincount(groups.codes, minlength=len(groups))
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
                    np.array([one.pairs[own, to, k] for one in placebos]),
                    n,
                    confidence,
                    both=k == 0,
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
