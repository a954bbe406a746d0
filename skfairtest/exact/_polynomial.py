"""Bound linear models behind products of columns, which are polynomials, in boxes.

What two twins differ by is a polynomial in the columns that they share, whose coefficients are
those of the pair's sensitive values. Of finitely many pairs each gets its own search, in which
these are numbers: where no product has two shared columns, its first bound is attained.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from skfairtest._typing import Floats, Ints
from skfairtest.exact._best_first import BestFirst
from skfairtest.exact._bracket import Bracket, Family, Limits
from skfairtest.exact._compared_rows import rows_of_pieces, rows_with_ends
from skfairtest.exact._linear import linear_map
from skfairtest.exact._monomials import Box, Monomials, Ranges, Values, product
from skfairtest.exact._trees.link_bounds import logistic_gap
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._mixing import polynomial_of
from skfairtest.whitebox._unwrap import run_step
from skfairtest.workers._compiled import plain

#: Pairs of sensitive values up to which each has a search of its own.
MOST_PAIRS = 20_000
#: Open boxes at once.
MOST_BOXES = 200_000
#: Every so many boxes twins are looked for in one, and in the first ones always.
EVERY, FIRST = 16, 8
#: A real column is not cut into parts narrower than this share of its domain.
FINEST = 1e-12


class Part(NamedTuple):
    """Open box: shared columns, columns of the two twins, and the output that is bounded.

    Of finitely many sensitive values `pair` holds the places of the twins' ones; else None.
    """

    output: int
    pair: tuple[int, int] | None
    free: Box
    one: Box
    two: Box


class PolynomialFamily(Family):
    """Linear model behind `PolynomialFeatures`, as it was read.

    Its parameters are those of `TreeFamily`.
    """

    quick = False

    def __init__(self, estimator: Any, space: InputSpace, response: str) -> None:
        chain, model = Chain(space).open(estimator)
        found = polynomial_of(chain)
        assert found is not None
        W, base, self.factor = linear_map(model, response)
        self.space, self.features, self._powers = space, found.chain.features, found.powers
        self.logistic = response == "predict_proba"
        self._W, self._base = found.map.weights @ W, found.map.base @ W + base
        monomials = Monomials(self.features, found.powers)
        self.monomials = monomials
        self.weights = monomials.scale[:, None] * self._W
        sensitive = set(space.sensitive.tolist())
        self.sensitive = [j for j in monomials.attributes if j in sensitive]
        self.free = [j for j in monomials.attributes if j not in sensitive]
        self._group()
        sizes = np.abs(found.map.weights) @ np.abs(W), np.abs(found.map.base) @ np.abs(W)
        self.rounding = self._rounding(sizes[0], sizes[1] + np.abs(base), chain)
        self._root_bounds: list[tuple[float, Part]] | None = None

    def _group(self) -> None:
        """Group monomials by their shared part; tabulate coefficients of finite sensitive values.

        A polynomial of the shared columns is then one coefficient a group.
        """
        monomials = self.monomials
        kinds = np.array([monomials.factor[j] for j in self.free]).reshape(
            len(self.free), len(monomials.scale)
        )
        _, first, group = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
        self.first, self.group = first, group.ravel()
        #: Which shared attributes each group's monomials depend on.
        self.depends = kinds[:, first] > 0
        whole = monomials.whole()
        grids = [whole[j] for j in self.sensitive]
        self.combinations: Ints | None = None
        self.coefficients = np.zeros((0, 0, 0))
        if any(isinstance(grid, tuple) for grid in grids):
            return
        n = int(np.prod([len(grid) for grid in grids]))
        if n * (n - 1) > MOST_PAIRS:
            return
        self.combinations = np.array(list(itertools.product(*grids)), dtype=np.intp).reshape(n, -1)
        rows = []
        for places in self.combinations:
            values = np.ones(len(monomials.scale))
            for j, place in zip(self.sensitive, places, strict=True):
                codes = monomials.codes(j, np.array([place]))
                values = values * monomials.at(j, codes)[0][monomials.factor[j]]
            rows.append(self._by_group(values[:, None] * self.weights))
        self.coefficients = np.array(rows)

    def _by_group(self, terms: Floats) -> Floats:
        """Return the sums of terms over the monomials of each group, (n_groups, n_outputs)."""
        out = np.zeros((len(self.first), terms.shape[1]))
        np.add.at(out, self.group, terms)
        return out

    def _rounding(self, weights: Floats, base: Floats, chain: Chain) -> float:
        """Return how far rounding may move an output; it grows with the number of terms."""
        table: Any = self.space.decode(self.space.domain.low[None])
        for step in chain.steps:
            table = run_step(step, table)
        single = getattr(table, "dtype", None) == np.float32
        self.single = single
        eps = float(np.finfo(np.float32 if single else np.float64).eps)
        ranges = self.monomials.products(self.monomials.whole())
        most = np.maximum(np.abs(ranges.low), np.abs(ranges.high)) * np.abs(self.monomials.scale)
        size = float((most @ weights + base).max(initial=0.0))
        n = len(most) + int(self._powers.sum(axis=1).max(initial=0)) + 8
        error = 2 * eps * n * size
        return min(1.0, self.factor * error / 4 + 8 * eps) if self.logistic else error

    def single_room(self, top: float) -> float:
        return 4 * self.rounding if self.single else 0.0

    def evaluate(self, Z: Floats) -> Floats:
        seen = self.features.transform(Z)
        terms = np.ones((len(Z), len(self._powers)))
        for t in range(seen.shape[1]):
            used = np.flatnonzero(self._powers[:, t])
            terms[:, used] *= seen[:, [t]] ** self._powers[used, t]
        scores = terms @ self._W + self._base
        return np.asarray(expit(self.factor * scores)) if self.logistic else scores

    def quickly(self, Z: Floats) -> Floats:
        """Evaluate up to rounding, without the steps if features of the codes are known."""
        terms = np.ones((len(Z), len(self.weights)))
        for j, which in self.monomials.factor.items():
            terms *= self.monomials.at(j, Z[:, j])[:, which]
        scores = terms @ self.weights + self._base
        return np.asarray(expit(self.factor * scores)) if self.logistic else scores

    def rows(self, n: int, rng: np.random.Generator) -> Floats:
        """Return random rows of codes; every fourth attribute at an end of its domain."""
        return rows_with_ends(self.space, n, rng)

    def through(self, rng: np.random.Generator, until: float = np.inf) -> Floats:
        return rows_of_pieces(self.space, [self.features], rng)

    def ranges(self) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of each output."""
        found = self.monomials.products(self.monomials.whole())
        terms = product(
            Ranges(found.low[:, None], found.high[:, None]), Ranges(self.weights, self.weights)
        )
        low, high = terms.low.sum(axis=0) + self._base, terms.high.sum(axis=0) + self._base
        if self.logistic:
            return expit(self.factor * low), expit(self.factor * high)
        return low, high

    # Bounds of a box ------------------------------------------------------------------------

    def first_parts(self) -> list[Part]:
        """Return the whole domain for each output and each pair of finite sensitive values."""
        whole = self.monomials.whole()
        free = {j: whole[j] for j in self.free}
        own = {j: whole[j] for j in self.sensitive}
        outputs = range(self.weights.shape[1])
        if not self.sensitive:
            return []
        if self.combinations is None:
            # Of the two orders of a pair, one gives the difference and the other one its opposite.
            return [Part(o, None, free, own, own) for o in outputs]
        n = len(self.combinations)
        pairs = itertools.permutations(range(n), 2)
        return [Part(o, pair, free, {}, {}) for pair in pairs for o in outputs]

    def bound(self, part: Part) -> float:
        """Return a bound of the difference of twins in a box, in this order."""
        products = self.monomials.products(part.free)
        shared = Ranges(products.low[self.first], products.high[self.first])
        o = part.output
        one, two = self._coefficients(part, 0), self._coefficients(part, 1)
        differences = Ranges(one.low - two.high, one.high - two.low)
        most = self._largest(differences, shared, part.free)
        if not self.logistic:
            return most
        high = product(one, shared).high.sum() + float(self._base[o])
        low = product(two, shared).low.sum() + float(self._base[o])
        if most <= 0:
            return 0.0
        f = self.factor
        return float(plain(logistic_gap)(f * most, f * high, f * low))

    def _coefficients(self, part: Part, twin: int) -> Ranges:
        """Return what the sensitive values of a twin make of each group's coefficient."""
        if part.pair is not None:
            own = self.coefficients[part.pair[twin]][:, part.output]
            return Ranges(own, own)
        found = self.monomials.products(part.two if twin else part.one)
        weights = self.weights[:, part.output]
        terms = product(found, Ranges(weights, weights))
        return Ranges(
            self._by_group(terms.low[:, None])[:, 0], self._by_group(terms.high[:, None])[:, 0]
        )

    def _largest(self, coefficients: Ranges, shared: Ranges, box: Box) -> float:
        """Return a bound of the sum of coefficients times shared parts in a box."""
        terms = product(coefficients, shared).high
        if not (coefficients.low == coefficients.high).all():
            return float(terms.sum())
        total, left = 0.0, np.ones(len(terms), dtype=bool)
        alone = self.depends.sum(axis=0) == 1
        for j, depends in zip(self.free, self.depends, strict=True):
            own = np.flatnonzero(alone & depends)
            if len(own) > 1 and not isinstance(box[j], tuple):
                # All that one column of few values adds is a table.
                table = self.monomials.at(j, self.monomials.codes(j, box[j]))
                factors = table[:, self.monomials.factor[j][self.first[own]]]
                total += float((factors @ coefficients.low[own]).max())
                left[own] = False
        return total + float(terms[left].sum())

    def root_bounds(self) -> list[tuple[float, Part]]:
        """Return the parts that the search begins with, and their bounds."""
        if self._root_bounds is None:
            self._root_bounds = [(self.bound(part), part) for part in self.first_parts()]
        return self._root_bounds

    def root_bound(self) -> float:
        """Return the bound of the whole domain, uncut."""
        most = max([0.0, *(upper for upper, _ in self.root_bounds())])
        return min(1.0, most) if self.logistic else most

    # The search -----------------------------------------------------------------------------

    def solve(self, incumbent: float, limits: Limits) -> Bracket:
        """Cut boxes in two, those with the largest bounds first, until the bracket is closed."""
        return _Search(self, incumbent, limits).run()


class _Search:
    """Cuts boxes of a polynomial."""

    def __init__(self, family: PolynomialFamily, incumbent: float, limits: Limits) -> None:
        self.family, self._turn = family, 0
        self.queue: BestFirst[Part] = BestFirst(incumbent, limits, family.rounding, MOST_BOXES)

    def run(self) -> Bracket:
        """Search until all open boxes are narrow enough."""
        for upper, part in self.family.root_bounds():
            self.queue.push(upper, part)
        self.queue.n_boxes = len(self.family.root_bounds())
        return self.queue.run(self._cut)

    def _cut(self, parts: list[Part], uppers: list[float]) -> None:
        """Cut a box in two, and look into it now and then."""
        for part, upper in zip(parts, uppers, strict=True):
            children = self._halved(part)
            if self._turn < FIRST or self._turn % EVERY == 0 or not children:
                self._look(part)
            self._turn += 1
            if not children:
                self.queue.settle(upper)
            for child in children:
                self.queue.push(min(upper, self.family.bound(child)), child)
            self.queue.n_boxes += len(children)

    def _look(self, part: Part) -> None:
        """Look for distant twins in a box, by setting one column after another."""
        family, space = self.family, self.family.space
        monomials = family.monomials
        pair = np.repeat(
            space.domain.clip(((space.domain.low + space.domain.high) / 2)[None]), 2, axis=0
        )
        pair[:, space.sensitive] = space.domain.low[space.sensitive]
        boxes = [(0, 1, part.free), (0, 0, part.one), (1, 1, part.two)]
        if part.pair is not None:
            assert family.combinations is not None
            for twin in (0, 1):
                for j, place in zip(
                    family.sensitive, family.combinations[part.pair[twin]], strict=True
                ):
                    pair[twin, j] = monomials.codes(j, np.array([place]))[0]
        moves = [(a, b, j, values) for a, b, box in boxes for j, values in box.items()]
        for a, b, j, values in moves:
            middle = monomials.codes(j, values)
            pair[a : b + 1, j] = middle[len(middle) // 2 if not isinstance(values, tuple) else 1]
        best = -np.inf
        for _ in range(2):
            for a, b, j, values in moves:
                codes = monomials.codes(j, values)
                rows = np.repeat(pair[None], len(codes), axis=0)
                rows[:, a : b + 1, j] = codes[:, None]
                said = family.quickly(rows.reshape(-1, pair.shape[1]))[:, part.output]
                gaps = said[0::2] - said[1::2]
                k = int(gaps.argmax())
                if gaps[k] > best:
                    best, pair = float(gaps[k]), rows[k]
        said = family.evaluate(pair)[:, part.output]
        self.queue.offer(float(said[0] - said[1]), (pair[0], pair[1]))

    def _halved(self, part: Part) -> list[Part]:
        """Return a box in two, along the column that moves the sum most."""
        best: tuple[float, str, int] | None = None
        for name in ("free", "one", "two"):
            box: Box = getattr(part, name)
            for j, values in box.items():
                if self._is_narrow(j, values):
                    continue
                moved = self._moved(part, name, j)
                if best is None or moved > best[0]:
                    best = moved, name, j
        if best is None or best[0] <= 0:
            return []
        _, name, j = best
        box = getattr(part, name)
        halves = [box | {j: half} for half in self._halves(j, box[j])]
        if name == "free":
            return [part._replace(free=half) for half in halves]
        if name == "one":
            return [part._replace(one=half) for half in halves]
        return [part._replace(two=half) for half in halves]

    def _is_narrow(self, j: int, values: Values) -> bool:
        if not isinstance(values, tuple):
            return len(values) < 2
        space = self.family.space
        least = (
            0.0
            if space.domain.discrete[j]
            else FINEST * float(space.domain.high[j] - space.domain.low[j])
        )
        return values[1] - values[0] <= least

    def _moved(self, part: Part, name: str, j: int) -> float:
        """Return how much an attribute's own factors can move the sum."""
        monomials = self.family.monomials
        box: Box = getattr(part, name)
        own = monomials.ranges(j, box[j])
        width = (own.high - own.low)[monomials.factor[j]]
        others = part.free | (part.two if name == "two" else part.one)
        rest = monomials.products({i: v for i, v in others.items() if i != j})
        size = np.maximum(np.abs(rest.low), np.abs(rest.high))
        weights = np.abs(self.family.weights[:, part.output])
        if part.pair is not None and not self.family.logistic:
            change = np.subtract(*(self.family.coefficients[k] for k in part.pair))
            weights = np.zeros(len(weights))
            weights[self.family.first] = np.abs(change[:, part.output])
        return float((weights * size * width).sum())

    def _halves(self, j: int, values: Values) -> list[Values]:
        if not isinstance(values, tuple):
            # Values with alike factors stay together.
            order = values[np.argsort(self.family.features.grids[j][values], kind="stable")]
            return [order[: len(order) // 2], order[len(order) // 2 :]]
        low, high = values
        middle = (low + high) / 2
        first, last = self.family.features.piece_ends(j)
        inside = np.flatnonzero((first > low) & (first <= high))
        if len(inside):
            # Pieces apart, of which one ends where the next one begins.
            k = inside[np.abs(first[inside] - middle).argmin()]
            return [(low, float(last[k - 1])), (float(first[k]), high)]
        if self.family.space.domain.discrete[j]:
            middle = float(np.floor(middle))
            return [(low, middle), (middle + 1, high)]
        if self.family.space.domain.single[j]:
            middle = float(np.float32(middle))
        return [(low, middle), (middle, high)]
