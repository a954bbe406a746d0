"""Bound differences under constraint objects, in parts of the domain that have valid rows.

The engines bound the largest difference over a box. Constraint objects say which parts of a box no
valid row is in (`Rule.narrow`). So the domain is first narrowed to the box of all valid rows. Where
the pair that the engine finds in a box breaks a constraint, the box is cut in two such that the
pair lies in neither, as far as that can be; what is left of both is bounded in turn, those with the
largest bounds first. A part in which the engine's pair is valid is done.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skfairtest import _clock
from skfairtest._typing import Floats
from skfairtest.exact._best_first import BestFirst
from skfairtest.exact._verifier import (
    NO_ENGINE,
    Attained,
    SolverLimits,
    SolverResult,
    Verifier,
    unattained,
)
from skfairtest.space._constraints.feasibility import Feasibility
from skfairtest.space._constraints.rules import AllRule, Boxes
from skfairtest.space._space import InputSpace


def narrowed(space: InputSpace, low: Floats, high: Floats) -> InputSpace:
    """Return the space of one box, whose bounds are encoded, of shape (n_features,)."""
    columns = []
    for column, least, most in zip(space.domain.columns, low, high, strict=True):
        own = copy.copy(column)
        own.low, own.high = float(least), float(most)
        columns.append(own)
    return space.with_layout(space.layout.with_columns(columns))


class ConstrainedVerifier(Verifier):
    """Model as it was read, over the valid part of the domain.

    - `make`: bounds the model over a part of the domain, ``make(space, deadline)``.

    - `root`: the box of all valid rows.
    """

    #: Other than the engines for single parts, the search for parts takes time.
    quick = False

    def __init__(
        self, space: InputSpace, make: Callable[[InputSpace, float], Any], deadline: float
    ) -> None:
        self.space, self._make = space, make
        self.feasibility: Feasibility = space.feasibility
        self.root = narrowed(space, self.feasibility.root.low[0], self.feasibility.root.high[0])
        self.base = make(self.root, deadline)
        self.rounding: float = self.base.rounding
        self.first_queries = self.base.first_queries

    def single_tolerance(self, top: float) -> float:
        return float(self.base.single_tolerance(top))

    def with_rounding(self, upper: float) -> float:
        return float(self.base.with_rounding(upper))

    def evaluate(self, Z: Floats) -> Floats:
        return np.asarray(self.base.evaluate(Z))

    def rows(self, n: int, rng: np.random.Generator) -> Floats:
        return np.asarray(self.base.rows(n, rng))

    def through(self, rng: np.random.Generator, until: float = np.inf) -> Floats:
        return np.asarray(self.base.through(rng, until))

    def ranges(self) -> tuple[Floats, Floats]:
        low, high = self.base.ranges()
        return low, high

    def root_bound(self) -> float:
        """Return a bound that takes little time: of the box of all valid rows."""
        return float(self.base.root_bound())

    def solve(self, incumbent: float, limits: SolverLimits) -> SolverResult:
        """Bound the largest difference between valid twins."""
        return _PartSearch(self, incumbent, limits).run()


class DomainPart(NamedTuple):
    """Open part of the domain, and whether it was bounded before."""

    boxes: Boxes
    seen: bool


class _PartSearch:
    """Bounds parts of the domain, and cuts them."""

    def __init__(
        self, verifier: ConstrainedVerifier, incumbent: float, limits: SolverLimits
    ) -> None:
        self.verifier, self.limits = verifier, limits
        self.space, self.feasibility = verifier.space, verifier.feasibility
        rule = verifier.feasibility.rule
        assert rule is not None
        self.rule = rule
        self.queue: BestFirst[DomainPart] = BestFirst(incumbent, limits)
        #: Why a part was left open, if one was, and what searched the last part.
        self.left_open, self.engine = "", NO_ENGINE
        self.rng = np.random.default_rng(0)
        self.queue.push(verifier.root_bound(), DomainPart(verifier.feasibility.root.copy(), False))

    def run(self) -> SolverResult:
        """Bound one part after another."""
        result = self.queue.run(self._bound)._replace(engine=self.engine)
        if self.left_open and (self.limits.is_late or self.left_open == "memory"):
            return result._replace(reason=self.left_open)
        # Where parts are left that are not cut any further, the constraint is the reason.
        is_cut_off = result.reason in ("time", "memory")
        return result if is_cut_off else result._replace(reason="closed")

    def _bound(self, parts: list[DomainPart], uppers: list[float]) -> None:
        (boxes, seen), upper = parts[0], uppers[0]
        space = narrowed(self.space, boxes.low[0], boxes.high[0])
        self.queue.n_boxes += 1
        if space.twins_.n_combinations < 2:
            return  # no twins
        now, deadline = _clock.now(), self.limits.deadline
        if seen:
            until = self.limits.by(0.5 if self.queue.n_open else 1.0)
        else:
            # A part is first bounded for a short time; if it stays open, it gets more later.
            until = min(deadline, max(self.limits.by(0.02), now + 0.25))
        verifier = self.verifier.base
        if self.queue.n_boxes > 1:
            verifier = self.verifier._make(space, until)
        upper = min(upper, float(verifier.root_bound()))
        if upper <= self.queue.enough:
            self.queue.fathom(upper)
            return
        result = verifier.solve(
            self.queue.incumbent, SolverLimits(until, self.limits.rtol, self._note)
        )
        self.queue.n_boxes += result.n_boxes
        self.engine = result.engine
        upper = min(upper, result.upper)
        if result.twins is None:
            self._leave(upper, boxes, result.reason)
            return
        pair = np.stack(result.twins)
        repaired = self._learn(pair, boxes)
        if upper <= self.queue.enough:
            self.queue.fathom(upper)
        elif self.rule.valid(pair).all():
            # Where it is fathomed, a callable excludes the pair, or rounding is left.
            self._leave(upper, boxes, result.reason)
        else:
            self._cut(upper, boxes, pair, repaired)

    def _note(
        self, lower: float, upper: float, n_boxes: int, twins: Attained = unattained, /
    ) -> None:
        """Note the bounds of the whole while a part is bounded, whose pairs may be invalid."""
        self.queue.narrow(upper)
        self.queue.note()

    def _leave(self, upper: float, boxes: Boxes, reason: str) -> None:
        """Try again a part that was left for lack of time; otherwise its bound stands."""
        if reason in ("time", "memory"):
            self.left_open = reason
        if reason == "time" and not self.limits.is_late:
            self.queue.push(upper, DomainPart(boxes, True))
        else:
            self.queue.fathom(upper)

    def _learn(self, pair: Floats, boxes: Boxes) -> Floats:
        """Repair a pair and keep it if it is the best one; return a repaired row."""
        space = self.space
        values = pair[:, space.sensitive]
        pairs = pair[None]
        if not self.rule.valid(pair).all():
            # Some of 16 repaired rows may be valid and as good.
            n_repaired = 16
            Z = np.repeat(pair[:1], n_repaired, axis=0)
            # Within the part, where the model may well give the same outputs.
            part = narrowed(space, boxes.low[0], boxes.high[0])
            twins = np.broadcast_to(values, (n_repaired, *values.shape))
            Z = self.feasibility.within(part.domain).repair(Z, self.rng, twins)
            pairs = np.stack(
                [space.twins_.with_sensitive(Z, encoded) for encoded in values], axis=1
            )
        n = len(pairs)
        flat = pairs.reshape(2 * n, -1)
        valid = space.valid(flat).reshape(n, 2).all(axis=1)
        if valid.any():
            answers = self.verifier.evaluate(pairs[valid].reshape(-1, flat.shape[1]))
            answers = answers.reshape(int(valid.sum()), 2, -1)
            gaps = np.abs(answers[:, 0] - answers[:, 1])
            i, o = np.unravel_index(gaps.argmax(), gaps.shape)
            one, two = pairs[valid][i]
            if answers[i, 0, o] < answers[i, 1, o]:
                one, two = two, one
            self.queue.improve(float(gaps[i, o]), (one, two))
        return np.asarray(pairs[int(valid.argmax()), 0])

    def _cut(self, upper: float, boxes: Boxes, pair: Floats, repaired: Floats) -> None:
        """Cut a part in two, so that neither contains both twins of the pair, if possible."""
        parts = self.rule.parts if isinstance(self.rule, AllRule) else [self.rule]
        broken: set[int] = set()
        for part in parts:
            if not part.valid(pair).all():
                broken |= part.columns
        best: tuple[tuple[float, float], list[Boxes]] | None = None
        for j in sorted(broken.intersection(self.space.non_sensitive.tolist())):
            for at in self._places(j, boxes, pair[0, j], repaired[j]):
                children = self._children(boxes, j, at)
                holding = sum(_holds(child, pair) for child in children)
                size = sum(self._size(child) for child in children)
                score = (float(holding), size)
                if best is None or score < best[0]:
                    best = score, children
        if best is None:
            # The constraint ties sensitive values alone: the bound stands.
            self.queue.fathom(upper)
            return
        for child in best[1]:
            self.queue.push(upper, DomainPart(child, False))

    def _places(self, j: int, boxes: Boxes, at: float, repaired: float) -> list[float]:
        """Return where a column may be cut: the largest encoded values of the lower part."""
        low, high = float(boxes.low[0, j]), float(boxes.high[0, j])
        middle = [(low + high) / 2, (at + repaired) / 2]
        top = float(self.space.domain.largest_code[j])
        # What is missing breaks no rule: it is cut off as a whole.
        own = {top} if low <= top < high else set()
        if self.space.domain.discrete[j]:
            places = {float(np.floor(place)) for place in (*middle, at, at - 1)}
            return sorted(place for place in places | own if low <= place < high)
        # Parts of a real column are no narrower than this, so that cutting ends.
        least = 1e-9 * float(self.space.domain.high[j] - self.space.domain.low[j])
        inner = {place for place in middle if low + least < place < min(top, high) - least}
        return sorted(inner | own)

    def _children(self, boxes: Boxes, j: int, at: float) -> list[Boxes]:
        found = []
        for side in (0, 1):
            child = boxes.copy()
            if j in child.sets:
                encoded = np.arange(child.sets[j].shape[1])
                child.keep(j, (encoded <= at if side == 0 else encoded > at)[None])
            elif side == 0:
                child.high[0, j] = at
            else:
                # Real parts share the code between them.
                child.low[0, j] = at + 1 if self.space.domain.discrete[j] else at
                if at == self.space.domain.largest_code[j]:
                    child.low[0, j] = child.high[0, j]
            if not child.empty[0] and self.rule.narrow(child)[0]:
                found.append(child)
        return found

    def _size(self, boxes: Boxes) -> float:
        """Share of the domain that a part takes."""
        whole = np.maximum(self.space.domain.high - self.space.domain.low, 1e-300)
        return float(np.prod((boxes.high[0] - boxes.low[0] + 1e-3 * whole) / whole))


def _holds(boxes: Boxes, pair: Floats) -> bool:
    """Return whether both rows are in a box."""
    inside = ((pair >= boxes.low) & (pair <= boxes.high)).all()
    sets = all(own[0, pair[:, j].astype(np.intp)].all() for j, own in boxes.sets.items())
    return bool(inside) and sets
