"""Primal heuristic: iterated local search for distant twins, while the bound is worked out.

Candidates go along one attribute after another, of each twin or of both, and are then perturbed;
the best of them are improved further along the gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.exact._networks.read_network import BOTH, ReadNetwork
from skfairtest.exact._networks.settings import DEFAULTS, NetworkSearchSettings
from skfairtest.exact._verifier import SolverLimits


class Candidates:
    """Pairs of twins: where each interval variable is between its ends, and the places in tables.

    - `where` (n, n_variables): from 0 to 1.
    - `places` (n,): by attribute and twin.
    - `output` (n,): whose difference counts.
    """

    def __init__(self, where: Floats, places: dict[tuple[int, int], Ints], output: Ints) -> None:
        self.where, self.places, self.output = where, places, output
        self.value = np.full(len(where), -np.inf)

    def copy(self) -> Candidates:
        """Return a copy."""
        places = {part: place.copy() for part, place in self.places.items()}
        twin = Candidates(self.where.copy(), places, self.output.copy())
        twin.value = self.value.copy()
        return twin

    def put(self, which: Any, other: Candidates, those: Any) -> None:
        """Put some of other candidates in the place of some."""
        self.where[which], self.output[which] = other.where[those], other.output[those]
        self.value[which] = other.value[those]
        for part, place in self.places.items():
            place[which] = other.places[part][those]


def _twins_of(owner: int) -> tuple[int, ...]:
    """Return the twins that a copy is of."""
    return (0, 1) if owner == BOTH else (owner,)


class LocalSearch:
    """Candidate pairs of twins, improved and perturbed in turns.

    - `best`: the largest difference met, up to what lies between the ends of steps that are no
      lines.
    """

    def __init__(
        self,
        network: ReadNetwork,
        rng: np.random.Generator,
        settings: NetworkSearchSettings = DEFAULTS,
    ) -> None:
        self.network, self.rng, self.settings = network, rng, settings
        whole = network.space.domain
        continuous = network.interval_attributes
        self.low, self.high = whole.low[continuous], whole.high[continuous]
        bounds = network.interval_values(np.stack([self.low, self.high]))
        terms = bounds[:, :, None] * network.interval_weights
        n_variables = len(network.variables)
        shape = (n_variables, terms.shape[2])
        #: Part of each variable at its lower end, and what it changes by up to the upper one.
        self.start, self.way = np.zeros(shape), np.zeros(shape)
        np.add.at(self.start, network.interval_of, terms[0])
        np.add.at(self.way, network.interval_of, terms[1] - terms[0])
        self.grids = [self._grid(k) for k in range(n_variables)]
        self.real = np.array([grid is None for grid in self.grids], dtype=bool)
        self.twins_of = [_twins_of(twin) for _, twin in network.variables]
        self.tables = {part: network.effects.tables[part[0]] for part in network.parts}
        #: What a candidate is improved and perturbed by: variables and tabulated attributes.
        self.moves: list[Any] = [*range(n_variables), *self.tables]
        n = settings.n_candidates
        self.candidates = self._draw(n)
        self._is_fresh, self.best = True, -np.inf
        self._kept: tuple[Floats, dict[tuple[int, int], int]] | None = None
        #: Every other candidate may lose 3%, and so leave a local maximum.
        self._tolerance = np.where(np.arange(n) % 2, 0.03, 0.0)
        self._stale, self._top = np.zeros(n, dtype=np.intp), np.full(n, -np.inf)

    def _grid(self, k: int) -> Floats | None:
        """Return the places of a variable of whole numbers, or None where there are too many."""
        j = int(self.network.interval_attributes[k])
        n = self.high[k] - self.low[k]
        if not self.network.space.domain.discrete[j] or not 0 < n <= 10_000:
            return None
        if j in self.network.listed:
            own = self.network.listed[j]
            return np.asarray((own - own[0]) / max(float(own[-1] - own[0]), 1e-300))
        return np.arange(n + 1) / n

    # Candidates -----------------------------------------------------------------------------

    def _draw(self, n: int) -> Candidates:
        rng, network = self.rng, self.network
        where = rng.random((n, len(network.variables)))
        chance = rng.random(where.shape)
        where = np.where(chance < 0.25, 0.0, np.where(chance > 0.75, 1.0, where))
        for k, grid in enumerate(self.grids):
            if grid is not None:
                where[:, k] = grid[np.abs(grid - where[:, [k]]).argmin(axis=1)]
        places = {part: rng.integers(len(table), size=n) for part, table in self.tables.items()}
        return Candidates(where, places, rng.integers(len(network.biases[-1]), size=n))

    def sums(self, own: Candidates) -> list[Floats]:
        """Return what the first layer gets in both twins."""
        network = self.network
        found = []
        for twin in (0, 1):
            has = [k for k, twins in enumerate(self.twins_of) if twin in twins]
            total = network.effects.base + self.start[has].sum(axis=0)
            total = total + own.where[:, has] @ self.way[has]
            for (j, owner), place in own.places.items():
                if twin in _twins_of(owner):
                    total = total + self.tables[j, owner][place]
            found.append(total)
        return found

    def _differences(self, sums: list[Floats], output: Ints) -> Floats:
        """Return differences of the outputs at (..., n, n_units) sums."""
        found = []
        for own in sums:
            outputs = self.network.outputs(own.reshape(-1, own.shape[-1]))
            outputs = outputs.reshape(*own.shape[:-1], -1)
            at = np.broadcast_to(output, own.shape[:-1])[..., None]
            found.append(np.take_along_axis(outputs, at, axis=-1)[..., 0])
        return np.asarray(found[0] - found[1])

    # Moves ----------------------------------------------------------------------------------

    def _move(self, own: Candidates, sums: list[Floats], k: int) -> None:
        """Try places of one variable, and around the best of them."""
        grid = self.grids[k]
        here, n_places = own.where[:, k], self.settings.n_places
        if grid is not None and len(grid) <= n_places:
            self._try(own, sums, k, np.repeat(grid[:, None], len(here), axis=1))
            return
        width = 1.0 / (n_places - 1)
        places = np.linspace(0.0, 1.0, n_places)[:, None] + np.zeros(len(here))
        # Not the same places each time.
        places[1:-1] += (self.rng.random((n_places - 2, len(here))) - 0.5) * width
        # Two more times the five places around the best one, each time half as far apart.
        around = np.linspace(-1.0, 1.0, 5)[:, None]
        for _ in range(3):
            if grid is not None:
                after = np.searchsorted(grid, places).clip(1, len(grid) - 1)
                near = np.where(places - grid[after - 1] < grid[after] - places, after - 1, after)
                places = grid[near]
            best = self._try(own, sums, k, places)
            places = np.clip(best + around * width, 0.0, 1.0)
            width /= 2

    def _try(self, own: Candidates, sums: list[Floats], k: int, places: Floats) -> Floats:
        """Take the best of (n_places, n) places of a variable, where it is better."""
        change = (places - own.where[:, k])[:, :, None] * self.way[k]
        best, better = self._take(own, sums, self.twins_of[k], change)
        found = places[best, np.arange(len(best))]
        own.where[:, k] = np.where(better, found, own.where[:, k])
        return np.asarray(found)

    def _place(self, own: Candidates, sums: list[Floats], part: tuple[int, int]) -> None:
        """Take the best value of a tabulated attribute."""
        table = self.tables[part]
        twins = _twins_of(part[1])
        tried = np.arange(len(table))
        if len(table) > self.settings.max_tried:
            tried = self.rng.choice(tried, self.settings.max_tried, replace=False)
        change = table[tried][:, None] - table[own.places[part]]
        best, better = self._take(own, sums, twins, change)
        own.places[part] = np.where(better, tried[best], own.places[part])

    def _take(
        self, own: Candidates, sums: list[Floats], twins: tuple[int, ...], change: Floats
    ) -> tuple[Ints, Bools]:
        """Take the best of some changes of the first sums of twins, where it is better.

        - `change` (n_changes, n, n_units): the changes.
        - the result (n,): which change is the best, and whether it was taken.
        """
        tried = [sums[t] + change if t in twins else sums[t][None] for t in (0, 1)]
        value = self._differences(tried, own.output)
        best = value.argmax(axis=0)
        rows = np.arange(len(best))
        better = value[best, rows] > own.value
        for twin in twins:
            sums[twin][better] = tried[twin][best, rows][better]
        own.value = np.where(better, value[best, rows], own.value)
        return best, better

    def improve(self, own: Candidates, limits: SolverLimits) -> None:
        """Go on until no candidate gets better, or for some rounds."""
        sums = self.sums(own)
        own.value = self._differences(sums, own.output)
        for _ in range(self.settings.n_rounds):
            before = own.value.copy()
            for i in self.rng.permutation(len(self.moves)):
                if limits.is_late:
                    break
                move = self.moves[i]
                if isinstance(move, tuple):
                    self._place(own, sums, move)
                else:
                    self._move(own, sums, move)
            if (own.value <= before + 1e-9 * np.abs(before)).all():
                break
        own.value = self._differences(self.sums(own), own.output)

    def step(self, limits: SolverLimits) -> None:
        """Improve a perturbed copy of every candidate, and keep what is better."""
        own = self.candidates
        new = own if self._is_fresh else own.copy()
        if not self._is_fresh:
            self._displace(new)
        self.improve(new, limits)
        self._polish(new, limits)
        self._archive(new)
        if self._is_fresh:
            self._is_fresh = False
            return
        least = np.where(np.isfinite(own.value), own.value, -1e300)  # some were drawn anew
        kept = new.value >= least - self._tolerance * np.abs(least)
        own.put(kept, new, kept)
        better = own.value > self._top
        self._stale = np.where(better, 0, self._stale + 1)
        self._top = np.maximum(self._top, own.value)
        lost = self._stale >= self.settings.max_stale
        if lost.any():
            own.put(lost, self._draw(len(lost)), lost)
            self._stale[lost], self._top[lost] = 0, -np.inf

    def _displace(self, own: Candidates) -> None:
        """Give some attributes of every candidate any value."""
        fresh = self._draw(len(own.where))
        n, most = len(own.where), self.settings.max_perturbed
        times = self.rng.integers(1, most + 1, size=n)
        for turn in range(most if self.moves else 0):
            which = self.rng.integers(len(self.moves), size=n)
            # Those begun anew are improved as they are.
            for i in np.flatnonzero((turn < times) & np.isfinite(own.value)):
                move = self.moves[which[i]]
                if isinstance(move, tuple):
                    own.places[move][i] = fresh.places[move][i]
                else:
                    own.where[i, move] = fresh.where[i, move]

    def adopt(self, hints: Candidates) -> None:
        """Let the candidates of the least values go on from others."""
        hints.where = np.array([self._on_grid(where) for where in hints.where])
        worst = self.candidates.value.argsort(kind="stable")[: len(hints.where)]
        self.candidates.put(worst, hints, slice(0, len(worst)))
        self._stale[worst], self._top[worst] = 0, -np.inf

    # Gradients ------------------------------------------------------------------------------

    def _polish(self, own: Candidates, limits: SolverLimits) -> None:
        """Follow the gradient from the best candidate, by real variables and by all of them."""
        i = int(own.value.argmax())
        # Candidates more than 1% below the best are not worth the steps.
        if limits.is_late or not self.real.any() or own.value[i] < self.best * (1 - 0.01):
            return
        for every in (False, True):
            where = own.where[i].copy()
            if every:
                own.where[i] = self._on_grid(self._follow(own, i, np.ones_like(self.real)))
            own.where[i, self.real] = self._follow(own, i, self.real)
            value = self._differences(self.sums(own), own.output)[i]
            if value > own.value[i]:
                own.value[i] = value
            else:
                own.where[i] = where

    def _on_grid(self, where: Floats) -> Floats:
        """Return the nearest places of one candidate that exist."""
        found = where.copy()
        for k, grid in enumerate(self.grids):
            if grid is not None:
                found[k] = grid[np.abs(grid - where[k]).argmin()]
        return found

    def _follow(self, own: Candidates, i: int, real: Bools) -> Floats:
        network = self.network
        one = Candidates(
            own.where[[i]], {p: v[[i]] for p, v in own.places.items()}, own.output[[i]]
        )
        has = [np.flatnonzero(real & [twin in twins for twins in self.twins_of]) for twin in (0, 1)]

        def loss(where: Floats) -> tuple[float, Floats]:
            one.where[0, real] = where
            sums = self.sums(one)
            rise = np.zeros(len(real))
            for sign, which, s in zip((1.0, -1.0), has, sums, strict=True):
                rise[which] += sign * (self.way[which] @ network.gradient(s, one.output)[0])
            return -float(self._differences(sums, one.output)[0]), -rise[real]

        start = own.where[i, real].copy()
        with np.errstate(all="ignore"):
            found = minimize(
                loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * len(start),
                options={"maxiter": 200, "ftol": 1e-15, "gtol": 1e-14},
            )  # fmt: skip
        return np.clip(found.x, 0.0, 1.0)

    def _archive(self, own: Candidates) -> None:
        """Keep the best pair met."""
        i = int(own.value.argmax())
        if own.value[i] > self.best:
            self.best = float(own.value[i])
            places = {part: int(place[i]) for part, place in own.places.items()}
            self._kept = own.where[i].copy(), places

    def twins(self) -> tuple[Floats, Floats]:
        """Return the encoded values of the best pair met, (n_attributes,) each."""
        assert self._kept is not None
        where, places = self._kept
        encoded = self.low + where * (self.high - self.low)
        for k, (grid, (j, _)) in enumerate(zip(self.grids, self.network.variables, strict=True)):
            if grid is not None:
                nearest = int(np.abs(grid - where[k]).argmin())
                encoded[k] = self.low[k] + nearest
            elif self.network.space.domain.discrete[j]:
                encoded[k] = np.round(encoded[k])
        encoded = np.clip(encoded, self.low, self.high)
        first, second = (
            self.network.row_of(
                encoded,
                {j: p for (j, owner), p in places.items() if twin in _twins_of(owner)},
                twin,
            )
            for twin in (0, 1)
        )
        return first, second
