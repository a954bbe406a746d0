"""Bound linear models for moved twins, column by column.

Two moved twins differ in every column, and the difference of their scores is a sum of what each
column adds: the part of the value that it is moved to in one group less that in the other. Each
column is moved by itself, so that the largest sum is the sum of the largest terms. Columns of few
values are gone through. Of others, intervals of values are halved until what they may add to the
largest difference is known: between its ends a moved value lies between the moved ends, whatever
the model makes of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints
from skfairtest.exact._bracket import Bracket, Family, Limits
from skfairtest.exact._linear import LinearFamily
from skfairtest.exact._moved_cells import RANKS, ColumnClasses, Segments, Sweep
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._code_order import CodeOrder
from skfairtest.whitebox._unsupported import Unsupported

Ints64 = NDArray[np.int64]
#: Rounds of halving, and intervals beyond which the bound stays as it is.
MOST_ROUNDS, MOST_INTERVALS = 100, 2**16
#: Rows of the same columns that are tried, as their ranks are those of the seed.
N_TRIED = 20_000
#: Share of its spread by which a real column is moved for that: it changes ranks, and no more.
NEXT_TO = 1e-13
#: Pairs of groups, by their bounds, for which rows are looked for that attain them.
PAIRS_TRIED = 4
#: Weights of the two parts of a difference.
EVEN = (1.0, 1.0)


class _Most(NamedTuple):
    """The most that a column adds to a difference: a bound, and a code that comes near to it."""

    bound: float
    code: float


class _EachCode(Segments):
    """Tells every code of a column of few values apart, whatever a model does."""

    def __init__(self, space: InputSpace, j: int) -> None:
        self._low = float(space.domain.low[j])
        self.cells = np.arange(int(space.domain.high[j] - space.domain.low[j]) + 1)
        self._starts, self._run = None, self.cells


class MovedLinear(Family):
    """Linear model as it was read, and rows that a transport moves.

    Parameters
    ----------
    base : LinearFamily
        The model, read out for the whole domain; it predicts scores.
    space : InputSpace
        The inputs that exist, whose twins are moved column by column.
    """

    quick = True

    def __init__(self, base: LinearFamily, space: InputSpace) -> None:
        self.base, self.space, self.rounding = base, space, base.rounding
        self._finder = finder = ColumnClasses(space)
        moved = space.twins_.moved
        assert moved is not None
        self.used = [*base.effects.tables, *base.effects.continuous]
        self._swept: dict[tuple[int, int], list[Sweep]] = {}
        n = finder.n_groups
        #: Bounds for each group of rows, each pair of groups that they are compared in, and each
        #: output; and the codes of the columns in use that come near to them.
        self.found: list[tuple[float, int, int, int, int, dict[int, float]]] = []
        for own in range(n):
            pairs = [(g, h) for g in range(n) for h in range(n) if g != h]
            terms = {j: self._terms(j, own, pairs) for j in self.used}
            for p, (g, h) in enumerate(pairs):
                for o in range(len(base.base)):
                    most = {j: own_terms[p][o] for j, own_terms in terms.items()}
                    bound = float(np.sum([one.bound for one in most.values()]))
                    codes = {j: one.code for j, one in most.items()}
                    self.found.append((bound, own, g, h, o, codes))
        self.found.sort(key=lambda one: -one[0])

    def single_room(self, top: float) -> float:
        return self.base.single_room(top)

    def evaluate(self, Z: Floats) -> Floats:
        return self.base.evaluate(Z)

    def root_bound(self) -> float:
        """Return the sum of what the columns add at most."""
        return max(0.0, max((one[0] for one in self.found), default=0.0))

    def solve(self, incumbent: float, limits: Limits) -> Bracket:
        """Return the largest difference, and a pair that shows it."""
        upper = max(self.root_bound(), incumbent)
        lower, twins = incumbent, None
        for bound, own, g, h, _, codes in self.found[:PAIRS_TRIED]:
            if bound <= lower or (twins is not None and limits.is_late):
                break
            Z = self.rows_of(own, codes)
            gaps, pair = self.gaps(Z, (g, h))
            best = int(gaps.argmax())
            if gaps[best] > lower:
                lower, twins = float(gaps[best]), (pair[0][best], pair[1][best], Z[best])
        reason = RANKS if upper * (1 - limits.rtol) > lower + 2 * self.rounding else "closed"
        return Bracket(lower, max(upper, lower), twins, 0, reason)

    @property
    def _codes(self) -> Floats:
        moved = self.space.twins_.moved
        assert moved is not None
        return moved.codes

    def gaps(self, Z: Floats, pair: tuple[int, int]) -> tuple[Floats, tuple[Floats, ...]]:
        """Return how much some output of each row's twins in two groups differs, and the twins."""
        twins = tuple(self.space.twins_.with_sensitive(Z, self._codes[k]) for k in pair)
        first, second = map(self.evaluate, twins)
        return np.abs(first - second).max(axis=1), twins

    def rows_of(self, own: int, codes: dict[int, float]) -> Floats:
        """Return rows of a group with some codes; other columns, and so ranks, vary."""
        Z = self.space.domain.draw(N_TRIED, np.random.default_rng(0))
        rng = np.random.default_rng(0)
        for j, code in codes.items():
            Z[:, j] = code
            ranked = self._finder.ranked(j, own)
            if j in self.base.effects.continuous and not self.space.domain.discrete[j]:
                spread = self.space.domain.high[j] - self.space.domain.low[j]
                if code not in ranked and code <= self.space.domain.top[j]:
                    Z[1:, j] += NEXT_TO * spread * rng.uniform(-1, 1, size=N_TRIED - 1)
        Z[:, self.space.sensitive] = self._codes[own]
        return self.space.domain.clip(Z)

    # What a column adds -----------------------------------------------------------------------

    def _terms(self, j: int, own: int, pairs: list[tuple[int, int]]) -> list[list[_Most]]:
        """Return the most that an attribute adds, for each pair of groups and each output."""
        outputs = range(len(self.base.base))
        table = self.table_of(j, own)
        if table is not None:
            return self._of_table(*table, pairs)
        return [[self.most(j, own, pair, o) for o in outputs] for pair in pairs]

    def table_of(self, j: int, own: int) -> tuple[Floats, Floats] | None:
        """Return what an attribute of few values adds, and the codes of which it does.

        The parts have the shape (n, n_groups, n_outputs). None of an attribute of many values.
        """
        effects, space = self.base.effects, self.space
        if j in space.sensitive:
            column = space.sensitive.tolist().index(j)
            return self._parts(j, self._codes[:, column])[None], self._codes[[own], column]
        if j in effects.tables:
            classes = self._finder.of(j, own, _EachCode(space, j))
            return effects.tables[j][classes.cells], classes.low
        return None

    def parts_of(self, j: int, own: int, codes: Floats) -> tuple[Floats, Floats]:
        """Return what some values of an attribute of many values add, as `table_of` does."""
        domain = self.space.domain
        codes = self._finder.rounded(j, codes)
        if domain.top[j] < domain.high[j]:
            codes = np.append(codes, domain.high[j])
        if j in self._finder.moved.moving:
            after = self._finder.moved_codes(j, own, codes)
        else:
            after = np.repeat(codes[:, None], self._finder.n_groups, axis=1)
        parts = self.base.effects.part(j, after.ravel())
        return parts.reshape(*after.shape, -1), codes

    def _parts(self, j: int, codes: Floats) -> Floats:
        """Return the parts of an attribute in all outputs at some codes, (n, n_outputs)."""
        effects = self.base.effects
        if j in effects.tables:
            low = self.space.domain.low[j]
            return effects.tables[j][np.rint(codes - low).astype(np.intp)]
        return effects.part(j, codes)

    def _of_table(
        self, parts: Floats, codes: Floats, pairs: list[tuple[int, int]]
    ) -> list[list[_Most]]:
        """Go through all classes of values; parts have the shape (n, n_groups, n_outputs)."""
        found = []
        for g, h in pairs:
            gap = parts[:, g] - parts[:, h]
            best = gap.argmax(axis=0)
            found.append(
                [_Most(float(gap[k, o]), float(codes[k])) for o, k in enumerate(best.tolist())]
            )
        return found

    def most(
        self, j: int, own: int, pair: tuple[int, int], o: int, weights: tuple[float, float] = EVEN
    ) -> _Most:
        """Bound what a column of many values adds: its part in one group less that in the other.

        `weights` are those of the two parts.
        """
        if j not in self._finder.moved.moving:
            ends, weight = self.base.effects.extremes(j), weights[0] - weights[1]
            if weight < 0:
                return _Most(weight * float(ends.low[o]), float(ends.at_low[o]))
            return _Most(weight * float(ends.high[o]), float(ends.at_high[o]))
        bound, best, code = -np.inf, -np.inf, float(self.space.domain.low[j])
        for sweep in self._sweeps(j, own):
            search = _Halving(self, j, own, sweep, pair, o, weights)
            found = search.run(best)
            bound = max(bound, found.bound)
            if search.best > best:
                best, code = search.best, found.code
        return _Most(max(bound, best), code)

    def _sweeps(self, j: int, own: int) -> list[Sweep]:
        """Return what a column of many values may hold in a group."""
        if (j, own) not in self._swept:
            if self.space.layout.columns[j].is_category:
                raise Unsupported(
                    f"The categories of {self.space.feature_names[j]!r} are too many for a "
                    "certificate of moved twins.",
                    "Name the column in keep=.",
                )
            self._swept[j, own] = self._finder.sweeps(j, own)
        return self._swept[j, own]


class _Halving:
    """Halves intervals of one sweep of a column until no part may add more than is known."""

    def __init__(
        self, family: MovedLinear, j: int, own: int, sweep: Sweep, pair: tuple[int, int], o: int,
        weights: tuple[float, float],
    ) -> None:  # fmt: skip
        self.family, self.j, self.own, self.sweep = family, j, own, sweep
        self.pair, self.o = pair, o
        self.weights = np.array(weights)[:, None, None]
        self.order = CodeOrder(family.space, j)
        self.features = family.base.features
        self.best, self.code = -np.inf, np.nan

    def _seen(self, numbers: Ints64, of: Ints) -> tuple[Floats, Ints]:
        """Return the terms of both twins at some values, (2, n, n_terms), and their pieces."""
        finder = self.family._finder
        after = finder.rounded(self.j, finder.after(self.j, self.own, self.sweep, numbers, of))
        both = after[:, list(self.pair)].T
        terms = self.family.base.effects.at(self.j, both.ravel())[:, :, self.o]
        terms = self.weights * terms.reshape(2, len(numbers), -1)
        starts = self.features.pieces.get(self.j, np.empty(0))
        pieces = np.searchsorted(starts, both, side="right")
        return terms, pieces

    def _note(self, terms: Floats, numbers: Ints64, of: Ints) -> None:
        gaps = terms[0].sum(axis=1) - terms[1].sum(axis=1)
        k = int(gaps.argmax())
        if gaps[k] > self.best:
            codes = self.family._finder.own_codes(self.j, self.sweep, numbers[[k]], of[[k]])
            self.best, self.code = float(gaps[k]), float(codes[0])

    def run(self, known: float) -> _Most:
        """Return a bound, of what is more than `known`, and the best code that was met."""
        slack = 1e-15 * self.family.base.effects.size
        low, high = self.sweep.low, self.sweep.high
        of = np.arange(len(low))
        (at_low, low_piece), (at_high, high_piece) = self._seen(low, of), self._seen(high, of)
        self._note(at_low, low, of)
        self._note(at_high, high, of)
        for turn in range(MOST_ROUNDS + 1):
            # Between two ends each term lies between its values there, within one piece.
            bounds = np.maximum(at_low[0], at_high[0]).sum(axis=1)
            bounds = bounds - np.minimum(at_low[1], at_high[1]).sum(axis=1)
            bounds = np.where((low_piece == high_piece).all(axis=0), bounds, np.inf)
            live = (bounds > max(self.best, known) + slack) & (high > low + 1)
            n_live = int(live.sum())
            if not n_live or n_live > MOST_INTERVALS or turn == MOST_ROUNDS:
                break
            low, high, of = low[live], high[live], of[live]
            middle = self._middle(low, high)
            seen, piece = self._seen(middle, of)
            self._note(seen, middle, of)
            at_low = np.concatenate([at_low[:, live], seen], axis=1)
            at_high = np.concatenate([seen, at_high[:, live]], axis=1)
            low_piece = np.concatenate([low_piece[:, live], piece], axis=1)
            high_piece = np.concatenate([piece, high_piece[:, live]], axis=1)
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
            of = np.concatenate([of, of])
        left = float(bounds[live].max(initial=-np.inf))
        if left == np.inf:  # pieces that were not taken apart
            left = self._range()
        return _Most(max(self.best + slack, left), self.code)

    def _range(self) -> float:
        """Return what any two values of the column differ by at most."""
        extremes = self.family.base.effects.extremes(self.j)
        one, other = self.weights.ravel()
        return float(one * extremes.high[self.o] - other * extremes.low[self.o])

    def _middle(self, low: Ints64, high: Ints64) -> Ints64:
        """Return numbers strictly between; of codes those of the middle value, if there is one."""
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        if self.sweep.codes is None:
            codes = (self.order.code(low) + self.order.code(high)) / 2
            if self.order.whole:
                codes = np.floor(codes)
            middle = np.clip(self.order.rank(codes), low + 1, high - 1)
        return middle
