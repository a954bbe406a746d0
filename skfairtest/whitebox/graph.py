"""What is read of a fitted model: one graph, whatever the model is.

An output of a model, such as the probability of a class, is written as

    output = sum over groups of weight * link(base + sum of trees + sum of effects)

where a tree adds the value of the leaf that a row reaches, and an effect what features of single
columns add, times weights. A forest is one group with the identity as its link, logistic regression
one with the logistic function; a vote among several boosted classifiers has a group for each.

Few outputs are more than that: those of networks (`NetworkOutput`), functions of outputs where one
level of links is not enough (`Curve`, `WeightedSum`, `Softmax`), and averages over columns, of
which only what tells twins apart is known (`Averaged`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp, softmax

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._effects import Effects
from skfairtest.whitebox._features import Features
from skfairtest.whitebox._layers import Layers

EPS = float(np.finfo(np.float64).eps)
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
        size = max(1, 20_000 // max(1, n_trees)) * n_trees
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
class LinearMap:
    """What features of single columns add, times weights: ``features @ weights``.

    - `weights` (n_features, n_sums).
    - `size`: no sum of the absolute values of all terms is larger, those of steps before included.
    - `rounding`: how far rounding may carry the model's own sums, and those of this class.
    - `single`: whether the model computes in single precision.
    - `looks_at` (n_features, n_sums): features that the model's own sums look at, although their
      terms may cancel in `weights`; None: those that have weights.
    """

    features: Features
    weights: Floats
    size: float = 0.0
    rounding: float = 0.0
    single: bool = False
    looks_at: Bools | None = None

    @cached_property
    def effects(self) -> Effects:
        """The sums, taken apart by attribute."""
        return Effects(self.features, self.weights, np.zeros(self.weights.shape[1]))


@dataclass
class Part:
    """A sum: base, factor * value[leaf, column] of all `trees`, and effects times factors.

    `trees` are nodes, the column of their values and a factor; `effects` linear maps, the column of
    their weights and a factor. `rounding` is how far the model's own sum may be off where it adds
    up in single precision.
    """

    base: float
    trees: list[tuple[Nodes, int, float]] = field(default_factory=list)
    rounding: float = 0.0
    effects: list[tuple[LinearMap, int, float]] = field(default_factory=list)

    def evaluate(self, seen: Seen) -> Floats:
        """Sums for the rows that were seen."""
        total = np.full(seen.n, self.base)
        for nodes, column, factor in self.trees:
            total += factor * nodes.value[seen.leaves(nodes), column].sum(axis=1)
        for linear, column, factor in self.effects:
            total += factor * seen.sums(linear)[:, column]
        return total

    def bounds(self) -> tuple[float, float]:
        """Bounds of the sum: each tree, and each column, by itself at its least and its largest."""
        low = high = self.base
        for nodes, column, factor in self.trees:
            least, most = nodes.ranges(column, factor)
            low, high = low + float(least.sum()), high + float(most.sum())
        for linear, column, factor in self.effects:
            # Without a search for peaks, which takes time.
            bounds = factor * np.array(linear.effects.bounds(until=-np.inf))[:, column]
            low, high = low + float(bounds.min()), high + float(bounds.max())
        return low, high

    def looks_at(self, attributes: Ints) -> bool:
        """Whether the model's own effects look at some attributes; equal weights may cancel."""
        for linear, column, factor in self.effects:
            own = linear.weights != 0 if linear.looks_at is None else linear.looks_at
            if factor and own[np.isin(linear.features.source, attributes), column].any():
                return True
        return False

    def times(self, factor: float, shift: float = 0.0) -> Part:
        """The sum times a factor, and what is added to that."""
        return Part(
            self.base * factor + shift,
            [(nodes, column, own * factor) for nodes, column, own in self.trees],
            self.rounding * abs(factor),
            [(linear, column, own * factor) for linear, column, own in self.effects],
        )


class Seen:
    """Encoded rows as trees and linear maps see them; each set of features is worked out once."""

    def __init__(self, Z: Floats) -> None:
        self.Z, self.n = Z, len(Z)
        self._found: dict[tuple[str, int], tuple[Any, Any]] = {}

    def _once(self, what: str, of: Any, make: Callable[[], Any]) -> Any:
        # Kept with what it was made of, so that no other object gets its id.
        key = what, id(of)
        if key not in self._found:
            self._found[key] = of, make()
        return self._found[key][1]

    def features(self, features: Features) -> Floats:
        """The features of the rows, (n, n_features)."""
        found: Floats = self._once("features", features, lambda: features.transform(self.Z))
        return found

    def leaves(self, nodes: Nodes) -> Ints:
        """The leaves that the rows reach, (n, n_trees)."""
        found: Ints = self._once(
            "leaves", nodes, lambda: nodes.leaves(self.features(nodes.features))
        )
        return found

    def sums(self, linear: LinearMap) -> Floats:
        """The sums of a linear map, (n, n_sums)."""
        found: Floats = self._once(
            "sums", linear, lambda: self.features(linear.features) @ linear.weights
        )
        return found


@dataclass
class LinkedSum:
    """Sums behind a link; of a softmax, the first part is that of the output's class.

    `rounding` is how far the model's own link may be off where it is one of single precision.
    """

    link: str
    weight: float
    parts: list[Part]
    rounding: float = 0.0


Output = list[LinkedSum]


def sum_rounding(part: Part) -> float:
    """The sum of a part, added up in any order, is off by no more than this."""
    # What is added up in each linear map is in its own rounding.
    size, n, own = abs(part.base), 16 if part.trees else 2 + 2 * len(part.effects), 0.0
    for nodes, column, factor in part.trees:
        size += float(np.abs(nodes.ranges(column, factor)).max(axis=0).sum())
        n += len(nodes.roots)
    for linear, _, factor in part.effects:
        size += abs(factor) * linear.size
        own += abs(factor) * linear.rounding
    return n * EPS * size + own + part.rounding


def is_single(output: Output) -> bool:
    """Whether the model computes an output in single precision."""
    return any(
        group.rounding > 0
        or any(p.rounding > 0 or any(e.single for e, _, _ in p.effects) for p in group.parts)
        for group in output
    )


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
                term = abs(group.weight) * float(np.exp(min(part.bounds()[1], 700.0)))
                found[-1] += min(term, largest) * float(off)
    return max(found)


def link_rounding(group: LinkedSum) -> float:
    """The same of a group's output, where its link is no exponential."""
    own = [sum_rounding(part) for part in group.parts]
    if group.link == IDENTITY:
        return own[0]
    # The logistic function rises by at most a quarter of what its argument does; of a softmax, the
    # argument is the own sum less a mean of the others. Neither leaves [0, 1], whatever is rounded.
    apart = (own[0] + max(own[1:], default=0.0)) / 4
    return min(1.0, apart + (7 + len(own)) * EPS + group.rounding)


def link_value(link: str, sums: Floats) -> Floats:
    """The link of sums of shape (n_parts, ...)."""
    if link == IDENTITY:
        return sums[0]
    if link == LOGISTIC:
        return np.asarray(expit(sums[0]))
    if link == EXPONENTIAL:
        return np.exp(sums[0])
    return np.asarray(softmax(sums, axis=0)[0])


def output_bounds(output: Output) -> tuple[float, float]:
    """Bounds of an output: each tree by itself at its least, and at its largest."""
    low = high = 0.0
    for group in output:
        bounds = np.array([part.bounds() for part in group.parts])
        if group.link == SOFTMAX:
            own = expit(bounds[0] - [logsumexp(bounds[1:, 1]), logsumexp(bounds[1:, 0])])
        else:
            with np.errstate(over="ignore"):
                own = link_value(group.link, bounds)
        if group.link == EXPONENTIAL:
            own = own * np.array([1 - 1e-9, 1 + 1e-9])
        first, second = sorted((group.weight * own[0], group.weight * own[1]))
        low, high = low + float(first), high + float(second)
    return low, high


def all_nodes(outputs: Iterable[Output]) -> list[Nodes]:
    """The different sets of nodes that outputs are made of, each once."""
    seen: dict[int, Nodes] = {}
    for output in outputs:
        for group in output:
            for part in group.parts:
                for nodes, _, _ in part.trees:
                    seen.setdefault(id(nodes), nodes)
    return list(seen.values())


def linked(parts: list[Part], link: str, factor: float = 1.0) -> list[Output]:
    """Outputs that are a link of sums; of a softmax of two classes, that of the second.

    - `factor`: by which the sums are multiplied.
    """
    if link == SOFTMAX:
        outputs: list[Output] = [
            [LinkedSum(SOFTMAX, 1.0, [part, *parts[:k], *parts[k + 1 :]])]
            for k, part in enumerate(parts)
        ]
        return outputs[1:] if len(outputs) == 2 else outputs  # the two say the same
    return [[LinkedSum(link, 1.0, [part.times(factor)])] for part in parts]


def link_of_scores(parts: list[Part], response: str) -> str:
    """What is made of the scores of a classifier, or of a regressor's sums."""
    if response != "predict_proba":
        return IDENTITY
    return LOGISTIC if len(parts) == 1 else SOFTMAX


def constant(value: float) -> Output:
    """An output that is the same everywhere."""
    return [LinkedSum(IDENTITY, 1.0, [Part(value)])]


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
                others.append(LinkedSum(group.link, factor, group.parts, more * group.rounding))
                continue
            part = group.parts[0].times(factor)
            sums.base += part.base
            sums.rounding += more * part.rounding
            sums.trees += part.trees
            sums.effects += part.effects
    if sums.trees or sums.effects or sums.base or not others:
        others.insert(0, LinkedSum(IDENTITY, 1.0, [sums]))
    return others


def is_probability(node: Node) -> bool:
    """Whether an output lies between 0 and 1, whatever rounding does."""
    if isinstance(node, NetworkOutput):
        return node.network.layers.out in ("logistic", "softmax")
    if not isinstance(node, list) or len(node) != 1:
        return False
    return node[0].link in (LOGISTIC, SOFTMAX) and node[0].weight == 1.0


# Networks, and functions of outputs --------------------------------------------------------


class Layered(NamedTuple):
    """Layers behind features."""

    features: Features
    layers: Layers


class NetworkOutput(NamedTuple):
    """One output of a network; of two classes, that of the second."""

    network: Layered
    which: int


def all_outputs(network: Layered) -> list[NetworkOutput]:
    """All outputs of a network."""
    return [NetworkOutput(network, k) for k in range(network.layers.n_outputs)]


@dataclass(frozen=True, eq=False)
class Curve:
    """Monotone function of another number.

    - `function`: of an array.
    - `rises`: whether it never falls; else it never rises.
    - `steepest`: its largest slope, where a grid of its range may not show it.
    """

    of: Node
    function: Callable[[Floats], Floats]
    rises: bool = True
    steepest: float = 0.0


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """Weighted sum of other numbers."""

    of: tuple[Node, ...]
    weights: tuple[float, ...]
    base: float = 0.0


@dataclass(frozen=True, eq=False)
class Softmax:
    """Share of the exponential of one number, `which`, in the sum of the exponentials of all."""

    of: tuple[Node, ...]
    which: int


@dataclass(frozen=True, eq=False)
class Averaged:
    """``share`` times another number, and something that twins have in common."""

    of: Node
    share: float


Node = Output | NetworkOutput | Curve | WeightedSum | Softmax | Averaged


def curve(
    of: Node,
    function: Callable[[Floats], Floats],
    rises: bool = True,
    steepest: float = 0.0,
    link: tuple[str, float, float] | None = None,
) -> Node:
    """A monotone function of a number; a link of a sum, where it is one.

    - `link`: of a number x the function is this link of ``factor * x + shift``.
    """
    whole = None if link is None else _one_sum(of)
    if whole is None or link is None:
        return Curve(of, function, rises, steepest)
    name, factor, shift = link
    return [LinkedSum(name, 1.0, [whole.times(factor, shift)])]


def weighted(of: list[Node], weights: list[float], base: float = 0.0) -> Node:
    """A weighted sum of numbers."""
    outputs = [node for node in of if isinstance(node, list)]
    if len(outputs) == len(of):
        return mixed([*outputs, constant(base)], [*weights, 1.0])
    return WeightedSum(tuple(of), tuple(weights), base)


def softmaxes(scores: list[Node]) -> list[Node]:
    """The softmax of some numbers."""
    parts = [_one_sum(score) for score in scores]
    known = [part for part in parts if part is not None]
    if len(known) == len(scores):
        return list(linked(known, SOFTMAX))
    return [Softmax(tuple(scores), k) for k in range(len(scores))]


def _one_sum(node: Node) -> Part | None:
    """The one sum that a number is."""
    if not isinstance(node, list) or len(node) != 1 or node[0].link != IDENTITY:
        return None
    group = node[0]
    part = group.parts[0].times(group.weight)
    part.rounding += group.rounding
    return part


def below(node: Node) -> tuple[Node, ...]:
    """The numbers that a function is made of; none of an output that is read itself."""
    if isinstance(node, (list, NetworkOutput)):
        return ()
    return node.of if isinstance(node, (WeightedSum, Softmax)) else (node.of,)


def inputs_of(nodes: Iterable[Node]) -> Iterator[Output | NetworkOutput]:
    """The outputs, read themselves, that numbers are functions of."""
    for node in nodes:
        if isinstance(node, (list, NetworkOutput)):
            yield node
        else:
            yield from inputs_of(below(node))


def evaluate(
    nodes: Iterable[Node],
    Z: Floats,
    known: Callable[[Output | NetworkOutput], Floats] | None = None,
) -> Floats:
    """Numbers for encoded rows, shape (n, n_nodes).

    - `known`: what outputs that are read themselves are for the rows; None: worked out here.
    """
    seen = Seen(Z)
    networks: dict[int, Floats] = {}

    def value(node: Node) -> Floats:
        if known is not None and isinstance(node, (list, NetworkOutput)):
            return known(node)
        if isinstance(node, list):
            total = np.zeros(seen.n)
            for group in node:
                sums = np.array([part.evaluate(seen) for part in group.parts])
                total += group.weight * link_value(group.link, sums)
            return total
        if isinstance(node, NetworkOutput):
            key, network = id(node.network), node.network
            if key not in networks:
                networks[key] = network.layers.evaluate(seen.features(network.features))
            return networks[key][:, node.which]
        parts = [value(part) for part in below(node)]
        if isinstance(node, Curve):
            return np.asarray(node.function(parts[0]), dtype=np.float64)
        if isinstance(node, WeightedSum):
            terms = [w * part for w, part in zip(node.weights, parts, strict=True) if w]
            return np.asarray(sum(terms, np.full(seen.n, node.base)))
        if isinstance(node, Softmax):
            return np.asarray(softmax(np.stack(parts), axis=0)[node.which])
        return node.share * parts[0]

    return np.column_stack([np.broadcast_to(value(node), seen.n) for node in nodes])


# The same model on a part of the domain ----------------------------------------------------


class RestrictedGraphs:
    """Graphs as they are over another space, such as a part of the domain: nothing is read anew.

    - `space`: has the same columns; their ends, and which of them are sensitive, may be others.
    """

    def __init__(self, space: InputSpace) -> None:
        self.space = space
        self._moved: dict[int, tuple[Any, Any]] = {}

    def _once(self, of: Any, make: Callable[[], Any]) -> Any:
        if id(of) not in self._moved:
            self._moved[id(of)] = of, make()
        return self._moved[id(of)][1]

    def __call__(self, node: Node) -> Node:
        """A number of such a graph; the same one where its features are of this space."""
        if isinstance(node, list):
            return [replace(group, parts=[self._part(p) for p in group.parts]) for group in node]
        if isinstance(node, NetworkOutput):
            network = node.network
            own = self._once(network, lambda: network._replace(features=self._of(network.features)))
            return node._replace(network=own)
        if isinstance(node, (WeightedSum, Softmax)):
            return replace(node, of=tuple(self(part) for part in node.of))
        return replace(node, of=self(node.of))

    def _of(self, features: Features) -> Features:
        if features.space is self.space:
            return features
        found: Features = self._once(features, lambda: features.over(self.space))
        return found

    def _part(self, part: Part) -> Part:
        """A sum, the same object for the same one: outputs of one softmax share their sums."""

        def with_features(one: Any) -> Any:
            def make() -> Any:
                own = copy.copy(one)
                own.__dict__.pop("effects", None)  # worked out over the other space
                own.features = self._of(one.features)
                return own

            return self._once(one, make)

        def moved() -> Part:
            return replace(
                part,
                trees=[(with_features(nodes), *rest) for nodes, *rest in part.trees],
                effects=[(with_features(linear), *rest) for linear, *rest in part.effects],
            )

        found: Part = self._once(part, moved)
        return found
