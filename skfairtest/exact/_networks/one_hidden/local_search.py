"""Iterated local search on the inputs of one hidden layer, while the bound is worked out.

Along one attribute both twins' outputs are piecewise linear, so the best place on the line is one
of the bends: all of them are looked at in one go. Candidates go along one attribute after another
and some random lines until nothing gets better, and are then perturbed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from skfairtest._typing import Floats, Ints
from skfairtest.exact._bracket import Limits
from skfairtest.exact._networks.one_hidden.lagrangian import Combinations
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._additive import Effects

#: Candidates, rounds over all attributes after a perturbation, attributes perturbed at most.
CANDIDATES, ROUNDS, MOST_PERTURBED = 32, 8, 4
#: Perturbations in a row without anything better after which a candidate begins anew, and the share
#: that it may lose.
MOST_STALE, SLACK = 15, 0.03
#: Combinations of sensitive values beyond which a sample is looked at.
MOST_COMBINATIONS_TRIED = 64
#: Values of a tabulated attribute beyond which a sample is looked at.
MOST_PLACES_TRIED = 64


class IteratedLocalSearch:
    """Candidate pairs of twins, improved and perturbed in turns.

    Parameters
    ----------
    space : InputSpace
        The inputs that exist.
    effects : Effects
        First layer, by attribute.
    sets : Combinations
        The sensitive attributes' parts in it.
    names : list of int
        The sensitive attributes, as in `sets`.
    weights : ndarray of shape (n_units, n_outputs)
        Of the second layer.
    bias : ndarray of shape (n_outputs,)
        Of the second layer.
    logistic : bool
        Whether differences of probabilities count.
    rng : Generator
        Where perturbations come from.
    """

    def __init__(
        self, space: InputSpace, effects: Effects, sets: Combinations, names: list[int],
        weights: Floats, bias: Floats, logistic: bool, rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.space, self.effects, self.sets, self.names = space, effects, sets, names
        self.weights, self.bias, self.logistic, self.rng = weights, bias, logistic, rng
        self.free = [j for j in sorted(effects.tables) if j not in names]
        self.lines = list(effects.wide)
        # Attributes of one feature are lines as well, on a grid.
        self.features = {}
        for j in list(self.free):
            if len(effects.features.of(j)) == 1:
                feature = effects.features.table(int(effects.features.of(j)[0]))
                order = np.argsort(feature, kind="stable")
                self.features[j] = (feature[order], effects.features.grids[j][order])
                self.free.remove(j)
                self.lines.append(j)
        self.start, self.way = self._ways()
        self._ends = self._line_ends()
        n = CANDIDATES
        self.output = np.arange(n) % weights.shape[1]
        self.where = self._places(n)
        self.place = {j: rng.integers(len(effects.tables[j]), size=n) for j in self.free}
        self.pair = rng.integers(len(sets.parts), size=(n, 2))
        self.sums = self._sums()
        self.value = self._value(self.sums, self.pair)
        self._fresh = True
        #: How much worse a perturbed candidate may be, as a share, and still be followed.
        self._tolerance = np.where(np.arange(n) % 2, SLACK, 0.0)
        self._new = np.zeros(n, dtype=bool)
        self._stale, self._top = np.zeros(n, dtype=np.intp), np.full(n, -np.inf)
        self.best = -np.inf

    def _ways(self) -> tuple[Floats, Floats]:
        """Part of each line at its start, and how it changes on the way to its end."""
        starts, ways = [], []
        for j in self.lines:
            if j in self.features:
                own = self.effects.weights[self.effects.features.of(j)][0]
                ends = self.features[j][0][[0, -1], None] * own
            else:
                codes = np.array([self.space.domain.low[j], self.space.domain.high[j]])
                ends = self.effects.at(j, codes).sum(axis=1)
            starts.append(ends[0])
            ways.append(ends[1] - ends[0])
        shape = (len(self.lines), len(self.effects.base))
        return np.reshape(starts, shape), np.reshape(ways, shape)

    def _sums(self) -> Floats:
        sums = self.effects.base + self.start.sum(axis=0) + self.where @ self.way
        for j, place in self.place.items():
            sums = sums + self.effects.tables[j][place]
        return np.asarray(sums)

    def _link(self, scores: Floats, output: Ints) -> Floats:
        return np.asarray(expit(scores + self.bias[output])) if self.logistic else scores

    def _value(self, sums: Floats, pair: Ints) -> Floats:
        """Return differences at (..., n_candidates, n_units) sums."""
        v = self.weights.T[self.output]
        one, two = (self.sets.parts[pair[:, k]] for k in (0, 1))
        scores = [(np.maximum(sums + part, 0.0) * v).sum(axis=-1) for part in (one, two)]
        return self._link(scores[0], self.output) - self._link(scores[1], self.output)

    # Moves ----------------------------------------------------------------------------------

    def _take(self, better: NDArray[np.bool_], sums: Floats, value: Floats) -> None:
        self.sums = np.where(better[:, None], sums, self.sums)
        self.value = np.where(better, value, self.value)

    def _best_pair(self) -> None:
        """The pair of sensitive values of the largest difference."""
        parts = self.sets.parts
        tried = np.arange(len(parts))
        if len(parts) > MOST_COMBINATIONS_TRIED:
            tried = self.rng.choice(tried, MOST_COMBINATIONS_TRIED, replace=False)
        v = self.weights.T[self.output]
        scores = np.stack([(np.maximum(self.sums + parts[t], 0.0) * v).sum(axis=1) for t in tried])
        pair = np.column_stack([tried[scores.argmax(axis=0)], tried[scores.argmin(axis=0)]])
        value = self._value(self.sums, pair)
        better = value > self.value
        self.pair = np.where(better[:, None], pair, self.pair)
        self.value = np.where(better, value, self.value)

    def _best_place(self, j: int) -> None:
        """The best value of a tabulated attribute."""
        table = self.effects.tables[j]
        rest = self.sums - table[self.place[j]]
        tried = np.arange(len(table))
        if len(table) > MOST_PLACES_TRIED:
            tried = self.rng.choice(tried, MOST_PLACES_TRIED, replace=False)
        values = np.stack([self._value(rest + table[t], self.pair) for t in tried])
        best = values.argmax(axis=0)
        value = values[best, np.arange(len(rest))]
        better = value > self.value
        self._take(better, rest + table[tried[best]], value)
        self.place[j] = np.where(better, tried[best], self.place[j])

    def _along(self, ways: Floats, low: Floats, high: Floats) -> Floats:
        """Return the best bend of lines from the candidates' places, (n_candidates,)."""
        v = self.weights.T[self.output]
        n = len(v)
        scores, bends, turns = [], [], []
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for k in (0, 1):
                at = self.sums + low[:, None] * ways + self.sets.parts[self.pair[:, k]]
                steep = ways * ((at > 0) | ((at == 0) & (ways > 0)))
                scores.append(((np.maximum(at, 0.0) * v).sum(axis=1), (steep * v).sum(axis=1)))
                t = low[:, None] - at / ways
                ok = (t > low[:, None]) & (t < high[:, None])
                bends.append(np.where(ok, t, high[:, None]))
                turns.append(np.where(ok, np.abs(ways) * v, 0.0))
        every = np.concatenate([*bends, high[:, None]], axis=1)
        order = every.argsort(axis=1)
        every = np.concatenate([low[:, None], np.take_along_axis(every, order, axis=1)], axis=1)
        steps = np.diff(every, axis=1)
        nothing = np.zeros_like(turns[0])
        lines = []
        for k, (value, slope) in enumerate(scores):
            turn = np.concatenate(
                [turns[0] if k == 0 else nothing, turns[1] if k else nothing, np.zeros((n, 1))],
                axis=1,
            )
            turn = np.take_along_axis(turn, order, axis=1)
            slopes = slope[:, None] + np.cumsum(turn, axis=1) - turn
            line = value[:, None] + np.cumsum(slopes * steps, axis=1)
            line = np.concatenate([value[:, None], line], axis=1)
            lines.append(self._link(line, self.output[:, None]))
        best = (lines[0] - lines[1]).argmax(axis=1)
        return np.asarray(every[np.arange(n), best])

    def _move(self, k: int) -> None:
        """Along one attribute; on a grid to the nearest values on both sides."""
        here = self.where[:, k]
        ways = np.repeat(self.way[k][None], len(here), axis=0)
        there = np.clip(here + self._along(ways, -here, 1.0 - here), 0.0, 1.0)
        places = [there]
        if self.lines[k] in self.features:
            share = self._shares(self.lines[k])
            after = np.searchsorted(share, there).clip(1, len(share) - 1)
            places = [share[after - 1], share[after]]
        for place in places:
            sums = self.sums + (place - self.where[:, k])[:, None] * self.way[k]
            value = self._value(sums, self.pair)
            better = value > self.value
            self._take(better, sums, value)
            self.where[better, k] = place[better]

    def _shares(self, j: int) -> Floats:
        feature = self.features[j][0]
        return (feature - feature[0]) / max(float(feature[-1] - feature[0]), 1e-300)

    def _stray(self) -> None:
        """Along a random line of the attributes that are not on a grid."""
        real = [k for k, j in enumerate(self.lines) if j not in self.features]
        if len(real) < 2:
            return
        n = len(self.where)
        step = np.zeros_like(self.where)
        chosen = self.rng.random((n, len(real))) < 2.0 * self.rng.random((n, 1))
        step[:, real] = self.rng.normal(size=(n, len(real))) * chosen
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.stack([-self.where / step, (1.0 - self.where) / step])
        ends = np.where(step == 0, np.array([-1e6, 1e6])[:, None, None], ends)
        low, high = ends.min(axis=0).max(axis=1), ends.max(axis=0).min(axis=1)
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        ways = step @ self.way
        t = self._along(ways, low, high)
        where = np.clip(self.where + t[:, None] * step, 0.0, 1.0)
        sums = self.sums + (where - self.where) @ self.way
        value = self._value(sums, self.pair)
        better = value > self.value
        self._take(better, sums, value)
        self.where[better] = where[better]

    def improve(self, limits: Limits) -> None:
        """Go on until no candidate gets better, or for some rounds."""
        for _ in range(ROUNDS):
            before = self.value.copy()
            self._best_pair()
            for k in self.rng.permutation(len(self.lines) + len(self.free)):
                if limits.is_late:
                    break
                if k < len(self.lines):
                    self._move(int(k))
                    self._stray()
                else:
                    self._best_place(self.free[k - len(self.lines)])
            if (self.value <= before + 1e-9 * np.abs(before)).all():
                break
        self.sums = self._sums()
        self.value = self._value(self.sums, self.pair)

    def perturb(self, limits: Limits) -> None:
        """Improve; then improve a perturbed copy of every candidate, and keep what is better."""
        if self._fresh:
            self._fresh = False
            self.improve(limits)
            self._archive()
            return
        kept = self._state()
        self._displace()
        self.improve(limits)
        self._archive()
        allowed = self._tolerance * np.abs(kept[-1])
        self._restore(kept, self.value < kept[-1] - allowed)
        better = self.value > self._top
        self._stale = np.where(better, 0, self._stale + 1)
        self._top = np.maximum(self._top, self.value)
        lost = self._stale >= MOST_STALE
        if lost.any():
            self._draw(lost)

    def _displace(self) -> None:
        """Give some attributes of every candidate any value."""
        n, n_lines = self.where.shape
        total = n_lines + len(self.free)
        times = self.rng.integers(1, MOST_PERTURBED + 1, size=n)
        for turn in range(MOST_PERTURBED if total else 0):
            which = self.rng.integers(total, size=n)
            for i in np.flatnonzero((turn < times) & ~self._new):
                k = int(which[i])
                if k < n_lines:
                    self.where[i, k] = self._anywhere(k)
                else:
                    j = self.free[k - n_lines]
                    self.place[j][i] = self.rng.integers(len(self.effects.tables[j]))
        self._new[:] = False
        self.sums = self._sums()
        self.value = self._value(self.sums, self.pair)

    def _draw(self, which: NDArray[np.bool_]) -> None:
        """Begin anew with some candidates."""
        n, rng = len(self.where), self.rng
        self.where = np.where(which[:, None], self._places(n), self.where)
        for j, place in self.place.items():
            fresh = rng.integers(len(self.effects.tables[j]), size=n)
            self.place[j] = np.where(which, fresh, place)
        pair = rng.integers(len(self.sets.parts), size=(n, 2))
        self.pair = np.where(which[:, None], pair, self.pair)
        self.sums = self._sums()
        self.value = self._value(self.sums, self.pair)
        self._stale[which], self._top[which], self._new[which] = 0, -np.inf, True

    def adopt(self, hints: list[tuple[float, Floats, tuple[int, int], int]]) -> None:
        """Let the candidates of the least values go on from inputs of the search on units."""
        way = self._ends
        if self._fresh or way is None:
            return
        worst = self.value.argsort(kind="stable")
        for i, (_, inputs, pair, output) in zip(worst, hints[::-1], strict=False):
            n = len(self.lines)
            width = np.maximum(way[:, 1] - way[:, 0], 1e-300)
            share = np.clip((inputs[:n] - way[:, 0]) / width, 0.0, 1.0)
            for k, j in enumerate(self.lines):
                if j in self.features:
                    grid = self._shares(j)
                    share[k] = grid[np.abs(grid - share[k]).argmin()]
            self.where[i] = share
            first = n
            for j in self.free:
                last = first + len(self.effects.tables[j])
                self.place[j][i] = int(inputs[first:last].argmax())
                first = last
            self.pair[i], self.output[i] = pair, output
            self._stale[i], self._top[i], self._new[i] = 0, -np.inf, True
        self.sums = self._sums()
        self.value = self._value(self.sums, self.pair)

    def _line_ends(self) -> Floats | None:
        """Features at the ends of all lines; None where an attribute has several."""
        found = []
        for j in self.lines:
            if j in self.features:
                found.append(self.features[j][0][[0, -1]])
                continue
            ends = self.effects.values(
                j, np.array([self.space.domain.low[j], self.space.domain.high[j]])
            )
            if ends.shape[1] != 1:
                return None
            found.append(ends[:, 0])
        return np.reshape(found, (len(found), 2))

    def _archive(self) -> None:
        """Keep the best pair met."""
        i = int(self.value.argmax())
        if self.value[i] > self.best:
            places = {j: int(place[i]) for j, place in self.place.items()}
            self.best, self._kept = float(self.value[i]), (self.where[i].copy(), places)
            self._kept_pair = self.pair[i].copy()

    def _places(self, n: int) -> Floats:
        """Places on all lines at random; of an attribute with a grid, on the grid."""
        where = self.rng.random((n, len(self.lines)))
        for k, j in enumerate(self.lines):
            if j in self.features:
                where[:, k] = self.rng.choice(self._shares(j), size=n)
        return where

    def _anywhere(self, k: int) -> float:
        if self.lines[k] in self.features:
            return float(self.rng.choice(self._shares(self.lines[k])))
        return float(self.rng.random())

    def _state(self) -> tuple[Any, ...]:
        places = {j: place.copy() for j, place in self.place.items()}
        return self.where.copy(), places, self.pair.copy(), self.sums.copy(), self.value.copy()

    def _restore(self, kept: tuple[Any, ...], which: NDArray[np.bool_]) -> None:
        where, places, pair, sums, value = kept
        self.where[which], self.pair[which] = where[which], pair[which]
        self.sums[which], self.value[which] = sums[which], value[which]
        for j, place in places.items():
            self.place[j] = np.where(which, place, self.place[j])

    # Outputs --------------------------------------------------------------------------------

    def twins(self, row: Floats) -> tuple[Floats, Floats]:
        """Codes of the best pair met, (n_attributes,) each; `row` has all other attributes."""
        where, places = self._kept
        pair = []
        for twin in (0, 1):
            z = row.copy()
            for k, j in enumerate(self.lines):
                z[j] = self._code(j, float(where[k]))
            for j, place in places.items():
                z[j] = self.effects.features.grids[j][place]
            for j, place in zip(self.names, self.sets.places[self._kept_pair[twin]], strict=True):
                z[j] = self.effects.features.grids[j][place]
            pair.append(z)
        return pair[0], pair[1]

    def _code(self, j: int, share: float) -> float:
        if j in self.features:
            nearest = int(np.abs(self._shares(j) - share).argmin())
            return float(self.features[j][1][nearest])
        low, high = self.space.domain.low[j], self.space.domain.high[j]
        code = min(max(low + share * (high - low), low), high)
        return float(np.round(code)) if self.space.domain.discrete[j] else float(code)
