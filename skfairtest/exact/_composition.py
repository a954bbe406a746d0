"""Bound what is more than links of sums of one kind: by the bounds of its parts.

Known of a number for twins are: how far it differs between them at most (`gap`), and its range over
the domain. A nondecreasing function of such a number differs by no more than it rises over a window
as wide as the gap, somewhere in the range; a weighted sum by no more than the weighted gaps add up
to. Every part is bounded by itself: of several parts the bound holds, but need not be reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from skfairtest._progress import tell
from skfairtest._typing import Floats
from skfairtest.exact._trees.link_bounds import logistic_gap
from skfairtest.exact._verifier import NO_ENGINE, SolverLimits, SolverResult, Verifier, unnoted
from skfairtest.whitebox.graph import (
    EPS,
    EXPONENTIAL,
    IDENTITY,
    LOGISTIC,
    SOFTMAX,
    Curve,
    LinkedSum,
    NetworkOutput,
    Node,
    Output,
    Part,
    Softmax,
    WeightedSum,
    all_outputs,
    evaluate,
    exponential_rounding,
    inputs_of,
    is_probability,
    link_value,
)
from skfairtest.workers._compiled import plain

#: Distance from 1 to the next number in single precision.
SINGLE_EPS = float(np.finfo(np.float32).eps)
APART = "the inner models, or their link and their difference, are bounded separately"


class Known(NamedTuple):
    """Bounds of a number: its largest difference between twins, its range and its rounding.

    Of a `vague` one it is not known what rounding does: it may be a share in next to nothing. Its
    gap holds all the same.
    """

    gap: float
    low: float
    high: float
    rounding: float
    vague: bool = False


#: What is known of an output that was read itself.
Given = Callable[[Output | NetworkOutput], Known]


def bounds_of(node: Node, given: Given) -> Known:
    """Return the bounds of a number, from those of the outputs that it is a function of."""
    if isinstance(node, (list, NetworkOutput)):
        return given(node)
    if isinstance(node, Curve):
        return _of_curve(node, bounds_of(node.of, given))
    if isinstance(node, WeightedSum):
        return _of_sum(node, [bounds_of(part, given) for part in node.of])
    if isinstance(node, Softmax):
        return _of_softmax(node, [bounds_of(part, given) for part in node.of])
    raise TypeError(f"expected a function of outputs; got {type(node).__name__}")


def _of_curve(node: Curve, of: Known) -> Known:
    gap, low, high, rounding, vague = of
    low, high = low - rounding, high + rounding
    if not node.rises:
        low, high = -high, -low

    def rising(x: Floats) -> Floats:
        return np.asarray(node.function(x if node.rises else -x), dtype=np.float64)

    with np.errstate(all="ignore"):
        bounds = rising(np.array([low, high]))
        if np.isnan(bounds).any() or bounds[0] > bounds[1]:
            bounds = np.array([-np.inf, np.inf])
        # What is computed in single precision is rounded to it.
        single = np.asarray(node.function(bounds)).dtype == np.float32
        slack = 8 * (SINGLE_EPS if single else EPS) * float(np.abs(bounds).max())
        if np.isfinite(high - low):
            # Places of windows are rounded, too.
            slack += 8 * EPS * node.steepest * max(abs(low), abs(high))
        window = rising_gap(rising, gap, low, high) + slack * (gap > 0)
        moved = _moved(rising, node.steepest, rounding, low, high) + slack
        if moved > 1e-3 * float(np.abs(bounds).max()):
            # It is so steep somewhere that rounding may move it by more than a thousandth.
            moved, vague = 0.0, True
    return Known(window, float(bounds[0]), float(bounds[1]), moved, vague)


def _moved(
    rising: Callable[[Floats], Floats], steepest: float, rounding: float, low: float, high: float
) -> float:
    """Return how far rounding of a number carries a function of it."""
    if rounding <= 0:
        return 0.0
    places = np.array([low, min(low + rounding, high), max(high - rounding, low), high])
    heights = rising(places)
    slope = steepest
    if np.isfinite(high - low) and high > low:
        n_pieces = 4096
        grid = np.linspace(low, high, n_pieces + 1)
        slope = max(slope, float(np.diff(rising(grid)).max()) * n_pieces / (high - low))
    found = max(4 * slope * rounding, heights[1] - heights[0], heights[3] - heights[2])
    return float(found) if np.isfinite(found) else np.inf


def _of_sum(node: WeightedSum, parts: list[Known]) -> Known:
    gap, low, high, rounding, size = 0.0, node.base, node.base, 0.0, abs(node.base)
    vague = False
    for weight, part in zip(node.weights, parts, strict=True):
        if not weight:
            continue
        terms = sorted((weight * part.low, weight * part.high))
        gap, low, high = gap + abs(weight) * part.gap, low + terms[0], high + terms[1]
        rounding += abs(weight) * part.rounding
        size += max(abs(terms[0]), abs(terms[1]))
        vague |= part.vague
    size = size if np.isfinite(size) else 0.0
    return Known(gap, low, high, rounding + (len(parts) + 8) * EPS * size, vague)


def _of_softmax(node: Softmax, parts: list[Known]) -> Known:
    own, rest = parts[node.which], [p for k, p in enumerate(parts) if k != node.which]
    # It is the logistic function of the own number less a mean of the others.
    high = float(own.high - logsumexp([p.low for p in rest]))
    low = float(own.low - logsumexp([p.high for p in rest]))
    apart = own.gap + max(p.gap for p in rest)
    gap = float(plain(logistic_gap)(apart, high, low)) + 8 * EPS if apart > 0 else 0.0
    moved = (own.rounding + max(p.rounding for p in rest)) / 4 + (len(parts) + 8) * EPS
    vague = any(part.vague for part in parts)
    return Known(gap, float(expit(low)), float(expit(high)), moved, vague)


def rising_gap(
    function: Callable[[Floats], Floats],
    gap: float,
    low: float,
    high: float,
) -> float:
    """Return the largest rise of a nondecreasing function over a window inside a range.

    - `function`: of an array.
    - `gap`: width of the window.
    - `low`, `high`: the range.
    - the result: an upper bound; as a rule to ten digits, for a function that is linear over much
      more than the window to four.
    """
    if gap <= 0:
        return 0.0
    # Sums of bounds are rounded: a window is taken wider by that, never narrower.
    gap += 4 * EPS * max(abs(low), abs(high)) if np.isfinite(low) and np.isfinite(high) else 0.0
    if not gap < high - low or not np.isfinite(high - low):
        bounds = function(np.array([low, high]))
        rise = float(bounds[1] - bounds[0])
        return rise if np.isfinite(rise) else np.inf
    # 256 windows at first; each open one is cut into 8 parts in every further round.
    edges = np.linspace(low, high - gap, 257)
    left, right = edges[:-1], edges[1:]
    best = 0.0
    n_rounds, close = 30, 1e-11
    for turn in range(n_rounds):
        before = function(left)
        bounds = function(right + gap) - before
        if not np.isfinite(bounds).all():
            return np.inf
        best = max(best, float((function(left + gap) - before).max()))
        live = bounds > best * (1 + close)
        if not live.any():
            break
        if turn == n_rounds - 1 or live.sum() > 20_000:
            return float(bounds.max())
        steps = np.linspace(0.0, 1.0, 9)
        inner = left[live, None] + (right - left)[live, None] * steps
        inner[:, -1] = right[live]
        left, right = inner[:, :-1].ravel(), inner[:, 1:].ravel()
    return best * (1 + close)


# Parts that one search bounds --------------------------------------------------------------


def taken_apart(node: Node) -> Node:
    """Return a number as a function of outputs each of which one search can bound.

    A sum of trees and effects is one of sums of trees and sums of effects; of several links of
    effects each is by itself.
    """
    if isinstance(node, NetworkOutput):
        return node
    if isinstance(node, (WeightedSum, Softmax)):
        of = tuple(taken_apart(part) for part in node.of)
        if isinstance(node, Softmax):
            return Softmax(of, node.which)
        return WeightedSum(of, node.weights, node.base)
    if isinstance(node, Curve):
        return Curve(taken_apart(node.of), node.function, node.rises, node.steepest)
    if not isinstance(node, list):
        raise TypeError(f"expected a function of outputs; got {type(node).__name__}")
    if len(node) == 1 and kind_of(node):
        return node
    constants = [g for g in node if not any(part.trees or part.effects for part in g.parts)]
    base = sum(g.weight * float(link_value(g.link, _bases(g))) for g in constants)
    rest = [g for g in node if all(g is not own for own in constants)]
    of_trees = [g for g in rest if not any(part.effects for part in g.parts)]
    if len(of_trees) == len(rest):
        return node
    parts: list[Node] = [of_trees] if of_trees else []
    weights = [1.0] * len(parts)
    for group in rest:
        if all(group is not own for own in of_trees):
            parts.append(_of_group(group))
            weights.append(group.weight)
    return WeightedSum(tuple(parts), tuple(weights), base)


def _bases(group: LinkedSum) -> Floats:
    return np.array([part.base for part in group.parts])


def kind_of(output: Output) -> str:
    """Return what bounds an output of one kind of sums, and an empty text for any other."""
    parts = [part for group in output for part in group.parts]
    if not any(part.effects for part in parts):
        return "trees"
    if any(part.trees for part in parts) or len(output) > 1:
        return ""
    if output[0].link != SOFTMAX:
        return "effects"
    return "softmax" if output[0].weight == 1.0 else ""


def _of_group(group: LinkedSum) -> Node:
    """Return a link of sums, without its weight, as a function of sums of one kind."""
    alone = LinkedSum(group.link, 1.0, group.parts, group.rounding)
    if kind_of([alone]):
        return [alone]
    sums = [_of_part(part) for part in group.parts]
    if group.link == SOFTMAX:
        return Softmax(tuple(sums), 0)
    if group.link == LOGISTIC:
        return Curve(sums[0], lambda x: np.asarray(expit(x)), steepest=0.25)
    if group.link == EXPONENTIAL:
        return Curve(sums[0], np.exp)
    return sums[0]


def _of_part(part: Part) -> Node:
    """Return a sum of trees and effects as a sum of two."""

    def alone(own: Part) -> Output:
        return [LinkedSum(IDENTITY, 1.0, [own])]

    effects = alone(Part(0.0, effects=part.effects))
    trees = alone(Part(part.base, part.trees, part.rounding))
    return WeightedSum((trees, effects), (1.0, 1.0))


def key_of(node: Output | NetworkOutput) -> tuple[Any, ...]:
    """Return what outputs have in common that one search bounds: networks, trees, or sums."""
    if isinstance(node, NetworkOutput):
        return "network", id(node.network)
    kind = kind_of(node)
    if kind == "softmax":
        return kind, frozenset(map(id, node[0].parts))
    of: set[int] = set()
    for group in node:
        for part in group.parts:
            of |= {id(nodes) for nodes, _, _ in part.trees}
            of |= {id(linear) for linear, _, _ in part.effects}
    return kind, frozenset(of)


class CompositeVerifier(Verifier):
    """Functions of outputs that are bounded by themselves.

    - `nodes`: `taken_apart`.
    - `make`: returns what bounds some outputs that have their `key_of` in common.

    - `quick`: whether a certificate takes next to no time.
    - `rounding`: how far rounding may carry the outputs of the model itself.
    - `vague`: whether that is not known, so that bounds of differences alone contain it.
    """

    def __init__(
        self, nodes: Sequence[Node], make: Callable[[list[Output | NetworkOutput]], Verifier]
    ) -> None:
        self.nodes = list(nodes)
        groups: dict[Any, dict[Any, Output | NetworkOutput]] = {}
        for node in inputs_of(self.nodes):
            of = groups.setdefault(key_of(node), {})
            # Of a network all outputs are bounded together, whichever are asked about.
            every = all_outputs(node.network) if isinstance(node, NetworkOutput) else [node]
            of |= {_id(own): own for own in every}
        #: The verifiers, and of each output read itself its verifier and its place there.
        self.verifiers = [make(list(group.values())) for group in groups.values()]
        self._place = {
            key: (k, o) for k, group in enumerate(groups.values()) for o, key in enumerate(group)
        }
        self.quick = all(verifier.quick for verifier in self.verifiers)
        self.first_queries = min((f.first_queries for f in self.verifiers), default=np.inf)
        self._ranges = [
            _ranges(verifier, list(group.values()))
            for verifier, group in zip(self.verifiers, groups.values(), strict=True)
        ]
        self._known = self._of_gaps([verifier.root_bound() for verifier in self.verifiers])
        self.rounding = max((known.rounding for known in self._known), default=0.0)
        self.vague = any(known.vague for known in self._known)

    def _of_gaps(self, gaps: list[float]) -> list[Known]:
        """Return the bounds of each output from the largest differences of the verifiers."""

        def known(inner: Output | NetworkOutput) -> Known:
            k, o = self._place[_id(inner)]
            low, high, rounding = self._range_of(k, o)
            # Twins that nothing takes apart get the same output to the last bit.
            gap = min(gaps[k] + 2 * rounding if gaps[k] > 0 else 0.0, high - low)
            return Known(gap, low, high, rounding)

        return [bounds_of(node, known) for node in self.nodes]

    def _range_of(self, k: int, o: int) -> tuple[float, float, float]:
        """Return the range of an output of a verifier, and how far rounding may carry it."""
        low, high = (float(bound[o if len(bound) > 1 else 0]) for bound in self._ranges[k])
        verifier = self.verifiers[k]
        rounding = verifier.rounding + exponential_rounding(getattr(verifier, "outputs", []))
        # Its sums may be of single precision.
        return low, high, max(rounding, verifier.single_tolerance(max(abs(low), abs(high))))

    def evaluate(self, Z: Floats) -> Floats:
        outputs = [verifier.evaluate(Z) for verifier in self.verifiers]

        def known(inner: Output | NetworkOutput) -> Floats:
            k, o = self._place[_id(inner)]
            return outputs[k][:, o]

        return evaluate(self.nodes, Z, known)

    def reach(self, Z: Floats) -> tuple[Floats, Floats]:
        """Return bounds of the outputs of rows, each (n, n_outputs), allowing for rounding inside.

        Behind a steep function the model's own outputs may be anywhere between them.
        """
        outputs = [verifier.evaluate(Z) for verifier in self.verifiers]
        found = np.empty((len(Z), len(self.nodes), 2))
        for i in range(len(Z)):

            def known(inner: Output | NetworkOutput, i: int = i) -> Known:
                k, o = self._place[_id(inner)]
                off = self._range_of(k, o)[2]
                at = float(outputs[k][i, o])
                return Known(0.0, at - off, at + off, 0.0)

            for o, node in enumerate(self.nodes):
                own = bounds_of(node, known)
                found[i, o] = own.low - own.rounding, own.high + own.rounding
        return found[..., 0], found[..., 1]

    def ranges(self) -> tuple[Floats, Floats]:
        return np.array([k.low for k in self._known]), np.array([k.high for k in self._known])

    def rows(self, n: int, rng: np.random.Generator) -> Floats:
        each = -(-n // max(1, len(self.verifiers)))
        parts = [verifier.rows(each, rng) for verifier in self.verifiers]
        return np.concatenate([part for part in parts if part.size])[:n]

    def through(self, rng: np.random.Generator, until: float = np.inf) -> Floats:
        parts = [verifier.through(rng, until) for verifier in self.verifiers]
        return np.concatenate([part for part in parts if part.size] or [np.empty((0, 0))])

    def root_bound(self) -> float:
        return max((known.gap for known in self._known), default=0.0)

    def solve(self, incumbent: float, limits: SolverLimits) -> SolverResult:
        gaps, pairs, n_boxes, reasons, engine = [], [], 0, [], NO_ENGINE
        # The parts may leave half of the gap that is narrow enough for the whole.
        narrow = limits._replace(rtol=limits.rtol / 2, note=unnoted)
        for k, verifier in enumerate(self.verifiers):
            n = len(self.verifiers)
            tell(k / n, f"part {k + 1} of {n} of the model")
            until = narrow._replace(deadline=limits.by(1 / (n - k)))
            # Differences of the whole are none of its parts: these begin from nothing.
            result = verifier.solve(0.0, until)
            gaps.append(min(result.upper, verifier.root_bound()))
            n_boxes += result.n_boxes
            reasons.append(result.reason)
            if not engine.library or result.engine.advice:
                engine = result.engine
            if result.twins is not None:
                pairs.append(result.twins)
        upper = min(self.root_bound(), max(known.gap for known in self._of_gaps(gaps)))
        lower, twins = incumbent, None
        if pairs:
            outputs = self.evaluate(np.concatenate([np.stack(pair) for pair in pairs]))
            apart = np.abs(outputs[0::2] - outputs[1::2]).max(axis=1)
            best = int(apart.argmax())
            if apart[best] > incumbent:
                lower, twins = float(apart[best]), pairs[best]
        open_ = [reason for reason in reasons if reason != "closed"]
        reason = open_[0] if open_ else APART
        if upper <= lower * (1 + limits.rtol):
            reason = "closed"
        return SolverResult(lower, max(lower, upper), twins, n_boxes, reason, engine)


def _id(node: Output | NetworkOutput) -> Any:
    """Return what tells outputs apart: those that say the same may have been put together twice."""
    if isinstance(node, NetworkOutput):
        return id(node.network), node.which
    return tuple(
        (group.link, group.weight, group.rounding, tuple(map(_id_of_part, group.parts)))
        for group in node
    )


def _id_of_part(part: Part) -> Any:
    trees = tuple((id(nodes), *rest) for nodes, *rest in part.trees)
    effects = tuple((id(linear), *rest) for linear, *rest in part.effects)
    return part.base, part.rounding, trees, effects


def _ranges(verifier: Verifier, outputs: list[Output | NetworkOutput]) -> tuple[Floats, Floats]:
    """Return the ranges of a verifier's outputs, rounding included."""
    low, high = verifier.ranges()
    low, high = low - verifier.rounding, high + verifier.rounding
    if all(map(is_probability, outputs)):
        return np.maximum(low, 0.0), np.minimum(high, 1.0)
    return low, high
