"""Nodes of fitted trees as flat arrays, and outputs that are made of sums of trees.

An output of a model, such as the probability of a class, is written as

    output = sum over groups of weight * link(sum over trees of the trees' leaf values + base)

A forest is one group with the identity as its link, a boosted classifier one with the logistic
function; a vote among several boosted classifiers has a group for each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp, softmax

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.whitebox._features import Features

EPS = float(np.finfo(np.float64).eps)
#: Rows times trees that descend together.
TOGETHER = 20_000
IDENTITY, LOGISTIC, EXPONENTIAL, SOFTMAX = "identity", "logistic", "exponential", "softmax"


class Tests(NamedTuple):
    """Tests of nodes that look at one set of features; arrays of length n.

    A row goes left when its feature is at most `threshold` or, where `category` is not negative,
    when it is in that row of `left_sets`; a missing value goes left where `missing_left`.
    """

    feature: Ints
    threshold: Floats
    missing_left: Bools
    category: Ints
    left_sets: Bools  # (n_sets, n_codes)


def last_rounded(singles: Any) -> Floats:
    """The largest double that rounds to each number of single precision, or to a smaller one.

    Numbers half-way between two go to the one whose last bit is zero.
    """
    after = np.nextafter(singles, np.float32(np.inf)).astype(np.float64)
    here = singles.astype(np.float64)
    even = (singles.view(np.int32) & 1) == 0
    # Both have 24 bits, so that their mean is a double; at infinity there is nothing to round.
    with np.errstate(invalid="ignore"):
        middle = np.where(np.isfinite(here) & np.isfinite(after), (here + after) / 2, here)
    return np.where(even | (middle == here), middle, np.nextafter(middle, -np.inf))


def goes_left(values: Floats, tests: Tests, which: Ints) -> Bools:
    """Outcome of the tests `which`, one for each value."""
    left = values <= tests.threshold[which]
    category = tests.category[which] if len(tests.left_sets) else np.empty(0, dtype=np.intp)
    coded = np.flatnonzero(category >= 0)
    if len(coded):
        codes = values[coded]
        inside = (codes >= 0) & (codes < tests.left_sets.shape[1])
        # Of a number, the code is what stands before the point; below zero there is none.
        place = np.where(inside, codes, 0).astype(np.intp)
        left[coded] = tests.left_sets[category[coded], place] & inside
    missing = np.isnan(values)
    return np.where(missing, tests.missing_left[which], left) if missing.any() else left


@dataclass
class Nodes:
    """Nodes of one or several trees, one tree after another.

    - `features`: what the trees look at.
    - `tests`: the test of each node; that of a leaf is not asked.
    - `left`, `right` (n_nodes,): Children; -1 at a leaf.
    - `value` (n_nodes, n_values): what a leaf adds.
    - `roots` (n_trees,): first node of each tree.
    """

    features: Features
    tests: Tests
    left: Ints
    right: Ints
    value: Floats
    roots: Ints

    def leaves(self, T: Floats) -> Ints:
        """The leaf that each row of features reaches in each tree, (n, n_trees)."""
        n_trees = len(self.roots)
        at = np.tile(self.roots, len(T))
        # Some rows at a time, so that what a step works on stays in the processor's cache.
        size = max(1, TOGETHER // max(1, n_trees)) * n_trees
        for start in range(0, len(at), max(1, size)):
            part = np.arange(start, min(start + size, len(at)))
            on = part[self.left[at[part]] >= 0]
            while len(on):
                here = at[on]
                went = goes_left(T[on // n_trees, self.tests.feature[here]], self.tests, here)
                at[on] = there = np.where(went, self.left[here], self.right[here])
                on = on[self.left[there] >= 0]
        return at.reshape(len(T), n_trees)

    def ranges(self, column: int, factor: float) -> tuple[Floats, Floats]:
        """Smallest and largest of what the leaves of each tree add, times a factor, (n_trees,)."""
        value = factor * self.value[:, column]
        leaf = self.left < 0
        low = np.minimum.reduceat(np.where(leaf, value, np.inf), self.roots)
        return low, np.maximum.reduceat(np.where(leaf, value, -np.inf), self.roots)


@dataclass
class Part:
    """A sum of trees: base + sum of factor * value[leaf, column] over the trees of `nodes`.

    `rounding` is how far the model's own sum may be off where it adds up in single precision.
    """

    base: float
    trees: list[tuple[Nodes, int, float]] = field(default_factory=list)
    rounding: float = 0.0

    def evaluate(self, leaves: dict[int, Ints], n: int) -> Floats:
        """Sums for n rows; `leaves` holds the leaves that they reach, by id of the nodes."""
        total = np.full(n, self.base)
        for nodes, column, factor in self.trees:
            total += factor * nodes.value[leaves[id(nodes)], column].sum(axis=1)
        return total

    def ends(self) -> tuple[float, float]:
        """Bounds of the sum: each tree by itself at its least, and at its largest."""
        low = high = self.base
        for nodes, column, factor in self.trees:
            least, most = nodes.ranges(column, factor)
            low, high = low + float(least.sum()), high + float(most.sum())
        return low, high


@dataclass
class Group:
    """Sums of trees behind a link; of a softmax, the first part is that of the output's class.

    `rounding` is how far the model's own link may be off where it is one of single precision.
    """

    link: str
    weight: float
    parts: list[Part]
    rounding: float = 0.0


Output = list[Group]


def sum_rounding(part: Part) -> float:
    """The sum of a part, added up in any order, is off by no more than this."""
    size, n = abs(part.base), 16
    for nodes, column, factor in part.trees:
        size += float(np.abs(nodes.ranges(column, factor)).max(axis=0).sum())
        n += len(nodes.roots)
    return n * EPS * size + part.rounding


def exponential_rounding(outputs: list[Output], largest: float = np.inf) -> float:
    """How far rounding may carry an output behind exponentials, where its sums are largest.

    `largest` bounds the terms of the outputs that are asked about, where they are known.
    """
    found = [0.0]
    for output in outputs:
        found.append(0.0)
        for group in output:
            if group.link == EXPONENTIAL:
                part = group.parts[0]
                off = np.expm1(min(sum_rounding(part), 700.0)) + 8 * EPS
                term = abs(group.weight) * float(np.exp(min(part.ends()[1], 700.0)))
                found[-1] += min(term, largest) * float(off)
    return max(found)


def link_rounding(group: Group) -> float:
    """The same of a group's output, where its link is no exponential."""
    own = [sum_rounding(part) for part in group.parts]
    if group.link == IDENTITY:
        return own[0]
    # The logistic function rises by at most a quarter of what its argument does; of a softmax, the
    # argument is the own sum less a mean of the others. Neither leaves [0, 1], whatever is rounded.
    return min(1.0, (own[0] + max(own[1:], default=0.0)) / 4 + 8 * EPS + group.rounding)


def link_value(link: str, sums: Floats) -> Floats:
    """The link of sums of shape (n_parts, ...)."""
    if link == IDENTITY:
        return sums[0]
    if link == LOGISTIC:
        return np.asarray(expit(sums[0]))
    if link == EXPONENTIAL:
        return np.exp(sums[0])
    return np.asarray(softmax(sums, axis=0)[0])


def output_ends(output: Output) -> tuple[float, float]:
    """Bounds of an output: each tree by itself at its least, and at its largest."""
    low = high = 0.0
    for group in output:
        ends = np.array([part.ends() for part in group.parts])
        if group.link == SOFTMAX:
            own = expit(ends[0] - [logsumexp(ends[1:, 1]), logsumexp(ends[1:, 0])])
        else:
            with np.errstate(over="ignore"):
                own = link_value(group.link, ends)
        if group.link == EXPONENTIAL:
            own = own * np.array([1 - 1e-9, 1 + 1e-9])
        first, second = sorted((group.weight * own[0], group.weight * own[1]))
        low, high = low + float(first), high + float(second)
    return low, high


def evaluate_outputs(outputs: list[Output], Z: Floats) -> Floats:
    """Outputs of rows of codes, shape (n, n_outputs)."""
    leaves: dict[int, Ints] = {}
    tables: dict[int, Floats] = {}
    for nodes in all_nodes(outputs):
        key = id(nodes.features)
        if key not in tables:
            tables[key] = nodes.features.transform(Z)
        leaves[id(nodes)] = nodes.leaves(tables[key])
    out = np.zeros((len(Z), len(outputs)))
    for o, output in enumerate(outputs):
        for group in output:
            sums = np.array([part.evaluate(leaves, len(Z)) for part in group.parts])
            out[:, o] += group.weight * link_value(group.link, sums)
    return out


def all_nodes(outputs: list[Output]) -> list[Nodes]:
    """The different sets of nodes that outputs are made of, each once."""
    seen: dict[int, Nodes] = {}
    for output in outputs:
        for group in output:
            for part in group.parts:
                for nodes, _, _ in part.trees:
                    seen.setdefault(id(nodes), nodes)
    return list(seen.values())


def linked(parts: list[Part], link: str, factor: float = 1.0) -> list[Output]:
    """Outputs that are a link of sums of trees; of a softmax of two classes, that of the second.

    - `factor`: by which the sums are multiplied.
    """
    if link == SOFTMAX:
        outputs: list[Output] = [
            [Group(SOFTMAX, 1.0, [part, *parts[:k], *parts[k + 1 :]])]
            for k, part in enumerate(parts)
        ]
        return outputs[1:] if len(outputs) == 2 else outputs  # the two say the same
    scaled = [
        Part(
            part.base * factor,
            [(nodes, column, f * factor) for nodes, column, f in part.trees],
            part.rounding * factor,
        )
        for part in parts
    ]
    return [[Group(link, 1.0, [part])] for part in scaled]


def link_of_scores(parts: list[Part], response: str) -> str:
    """What is made of the scores of a classifier, or of a regressor's sums."""
    if response != "predict_proba":
        return IDENTITY
    return LOGISTIC if len(parts) == 1 else SOFTMAX


def constant(value: float) -> Output:
    """An output that is the same everywhere."""
    return [Group(IDENTITY, 1.0, [Part(value)])]


def mixed(outputs: list[Output], weights: list[float]) -> Output:
    """A weighted sum of outputs; their identity groups become one."""
    sums = Part(0.0)
    others: Output = []
    # A mean of single precision is rounded once a term, by no more than each term's own sum.
    more = 1.0 + len(outputs)
    for output, weight in zip(outputs, weights, strict=True):
        for group in output:
            factor = group.weight * weight
            if group.link != IDENTITY:
                others.append(Group(group.link, factor, group.parts, more * group.rounding))
                continue
            part = group.parts[0]
            sums.base += factor * part.base
            sums.rounding += more * abs(factor) * part.rounding
            sums.trees += [(nodes, column, f * factor) for nodes, column, f in part.trees]
    if sums.trees or sums.base or not others:
        others.insert(0, Group(IDENTITY, 1.0, [sums]))
    return others
