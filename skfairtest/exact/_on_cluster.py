"""Bound parts of the domain on the workers of a cluster.

The domain is first tried in one piece for some seconds, which is enough for most models. Then it is
cut into boxes, whatever the number of workers. In a round the open boxes with the largest bounds go
to the workers, together with the best difference that is known; boxes that are not closed there are
cut in two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from skfairtest import _clock
from skfairtest._typing import Floats
from skfairtest.exact._bracket import Bracket, Family, Limits, Twins
from skfairtest.exact._constrained import narrowed
from skfairtest.exact._dispatch import read_family
from skfairtest.space._space import InputSpace
from skfairtest.workers._sending import Broadcast, is_cluster, n_workers, on_workers

#: Boxes that the domain is cut into, and that a round bounds at most.
N_ROOTS = 64
#: Seconds that the whole is tried for first.
IN_ONE_PIECE = 5.0
#: Seconds that one box is bounded for in the first round; doubled in each further one, up to most.
FIRST_SECONDS, MOST_SECONDS = 2.0, 60.0
#: Why a search ended that may be gone on with, on smaller boxes.
OPEN = ("time", "memory")
#: Inputs that show where a box is worth cutting, and pairs of twins of each that are compared.
N_SHOWN, N_PAIRS = 2_000, 4
#: What workers need to read a model: the estimator, the space, how it is asked, whether to compile.
Asked = tuple[Any, InputSpace, str, Any]


def solver(family: Family, asked: Asked, n_jobs: int | None) -> Callable[[float, Limits], Bracket]:
    """Return what bounds a model: on a cluster its workers do, else the model's own `solve`."""
    # Boxes of an input are none of its moved twins.
    if family.quick or not is_cluster() or asked[1].twins_.moved is not None:
        return family.solve
    return lambda incumbent, limits: _Search(family, asked, n_jobs, incumbent, limits).run()


class _Box(NamedTuple):
    """Part of the domain: codes of its ends, and a bound of the differences in it."""

    upper: float
    low: Floats
    high: Floats


class _Search:
    """Boxes of one model that are still open, those with the largest bounds first."""

    def __init__(
        self, family: Family, asked: Asked, n_jobs: int | None, incumbent: float, limits: Limits
    ) -> None:
        self.family, self.n_jobs, self.limits = family, n_jobs, limits
        self.space = asked[1]
        self.incumbent, self.settled, self.n_boxes = incumbent, incumbent, 0
        self.twins: Twins | None = None
        self.hindrance = "rounding"
        self.open: list[_Box] = []
        self.broadcast = Broadcast(_Reader(asked, family))

    def run(self) -> Bracket:
        """Try the whole first, and then one round of boxes after another."""
        start, seconds = self.incumbent, FIRST_SECONDS
        until = min(self.limits.deadline, _clock.now() + IN_ONE_PIECE)
        whole = self.family.solve(self.incumbent, self.limits._replace(deadline=until))
        root = _Box(self.family.root_bound(), self.space.domain.low, self.space.domain.high)
        self._learn([(root, whole)], N_ROOTS)
        while self.open and not self.limits.is_late:
            now, self.open = self.open[:N_ROOTS], self.open[N_ROOTS:]
            self._learn(self._bounded(now, seconds), 2)
            self.limits.note(self.incumbent, self._upper, self.n_boxes, lambda: self.twins)
            seconds = min(MOST_SECONDS, 2 * seconds)
        reason = "time" if self.open else "closed"
        if not self.open and self._upper > self._enough:
            reason = self.hindrance
        twins = self.twins if self.incumbent > start else None
        return Bracket(self.incumbent, self._upper, twins, self.n_boxes, reason)

    @property
    def _enough(self) -> float:
        """A bound that closes the bracket."""
        return self.incumbent / (1 - self.limits.rtol)

    @property
    def _upper(self) -> float:
        """No difference is larger."""
        return max([self.incumbent, self.settled, *(box.upper for box in self.open[:1])])

    def _bounded(self, boxes: list[_Box], seconds: float) -> list[tuple[_Box, Bracket]]:
        """Return boxes with the brackets that the workers give them."""
        turns = -(-len(boxes) // n_workers(self.n_jobs))
        seconds = max(0.0, min(seconds, (self.limits.deadline - _clock.now()) / turns))
        tasks = [(box, self.incumbent, seconds, self.limits.rtol) for box in boxes]
        brackets = on_workers(_bound, self.broadcast, tasks, self.n_jobs)
        return list(zip(boxes, brackets, strict=True))

    def _learn(self, bounded: list[tuple[_Box, Bracket]], n: int) -> None:
        """Take in brackets of boxes; cut those in up to n that are worth it."""
        for _, bracket in bounded:
            self.n_boxes += bracket.n_boxes
            if bracket.twins is not None and bracket.lower > self.incumbent:
                self.incumbent, self.twins = bracket.lower, bracket.twins
        again = self.open
        for box, bracket in bounded:
            box = box._replace(upper=min(box.upper, bracket.upper))
            if bracket.reason in OPEN:
                cut = box.upper > self._enough and not self.limits.is_late
                again = [*again, *(self._cut(box, n) if cut else [box])]
                continue
            # Other reasons are none that a cut helps against.
            self.settled = max(self.settled, box.upper)
            self.hindrance = self.hindrance if bracket.reason == "closed" else bracket.reason
        closed = [box.upper for box in again if box.upper <= self._enough]
        self.settled = max([self.settled, *closed])
        again = [box for box in again if box.upper > self._enough]
        self.open = sorted(again, key=lambda box: -box.upper)

    def _cut(self, box: _Box, n: int) -> list[_Box]:
        """Return a box in up to n, where the difference between twins changes most."""
        space, rng = narrowed(self.space, box.low, box.high), np.random.default_rng(0)
        Z, free = space.domain.draw(N_SHOWN, rng), space.free
        gaps = np.zeros(len(Z))
        for _ in range(N_PAIRS):
            pairs = space.twins_.draw_sensitive_pairs(len(Z), rng)
            one, two = (
                self.family.evaluate(space.twins_.with_sensitive(Z, pairs[:, k])) for k in (0, 1)
            )
            gaps = np.maximum(gaps, np.abs(one - two).max(axis=1))
        tree = DecisionTreeRegressor(max_leaf_nodes=n, random_state=0).fit(Z[:, free], gaps).tree_
        parts, stack = [], [(0, box)]
        while stack:
            node, part = stack.pop()
            if tree.children_left[node] < 0:
                parts.append(part)
                continue
            j, at = int(free[tree.feature[node]]), float(tree.threshold[node])
            discrete = space.domain.discrete[j]
            at = float(np.floor(at)) if discrete else at
            low, high = part.low.copy(), part.high.copy()
            # Real boxes share the code between them.
            high[j], low[j] = at, at + 1 if discrete else at
            stack.append((int(tree.children_left[node]), part._replace(high=high)))
            stack.append((int(tree.children_right[node]), part._replace(low=low)))
        return parts


class _Reader:
    """Reads parts of the domain out on workers; the model over the whole domain stays here."""

    def __init__(self, asked: Asked, base: Family) -> None:
        self.asked = asked
        self.base: Family | None = base
        self.has_parts = base.within(asked[1].domain.low, asked[1].domain.high) is not None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "base": None}

    def read(self, box: _Box, deadline: float) -> Family | None:
        """Return the model over one box, or None if no valid row is in it."""
        estimator, space, response, compiled = self.asked
        part = narrowed(space, box.low, box.high)
        if not part.admission.is_possible:
            return None
        # The model was compared with what was read of it as a whole.
        if not self.has_parts:
            return read_family(estimator, part, response, compiled, None, 1, deadline)[0]
        if self.base is None:
            self.base = read_family(estimator, space, response, compiled, None, 1)[0]
        return self.base.within(box.low, box.high)


def _bound(reader: _Reader, box: _Box, incumbent: float, seconds: float, rtol: float) -> Bracket:
    """Return the bracket of one box, on a worker."""
    deadline = _clock.now() + seconds
    family = reader.read(box, deadline)
    upper = 0.0 if family is None else family.root_bound()
    if family is None or upper <= incumbent:
        return Bracket(incumbent, upper, None, 1, "closed")
    return family.solve(incumbent, Limits(deadline, rtol))
