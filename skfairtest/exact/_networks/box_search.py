"""Best-first splitting of boxes of the self-composition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats
from skfairtest.exact._best_first import BestFirst
from skfairtest.exact._networks.read_network import BOTH
from skfairtest.exact._networks.relaxation import Relaxation, TwinBoxes, value_range
from skfairtest.exact._networks.settings import DEFAULTS, NetworkSearchSettings
from skfairtest.exact._verifier import SolverLimits

#: Marks a split of the interval of an interval variable; 0, 1 and BOTH mark a split of values.
INTERVAL = 3


class BoxSearch:
    """Open boxes, those with the largest bounds first.

    - `incumbent`: a difference that is attained.
    - `limits`: when to stop, and the relative gap that is narrow enough.

    - `queue`: what is known of the whole.
    """

    def __init__(
        self,
        relaxation: Relaxation,
        incumbent: float,
        limits: SolverLimits,
        settings: NetworkSearchSettings = DEFAULTS,
    ) -> None:
        self.relaxation, self.network = relaxation, relaxation.network
        self.queue: BestFirst[TwinBoxes] = BestFirst(
            incumbent, limits, self.network.rounding, settings.max_open_boxes
        )
        first = self.network.weights[1:2]
        #: How much each unit of the first layer counts.
        n_units = len(self.network.effects.base)
        self._reach = np.abs(first[0]).sum(axis=1) if first else np.ones(n_units)
        self._columns = self.network.stacked * self._reach
        self.queue.push(relaxation.whole_bound, relaxation.whole())

    def step(self) -> None:
        """Cut some boxes."""
        # 64 boxes are bounded at a time.
        self.queue.step(self._cut, 64)

    def _cut(self, taken: list[TwinBoxes], uppers: list[float]) -> None:
        parents = TwinBoxes(*(np.concatenate(a) for a in zip(*taken, strict=True)))
        parts, origin = self.split(parents)
        for i in np.setdiff1d(np.arange(len(taken)), origin):
            self.queue.fathom(uppers[i])  # nothing is left to split: the bound stands
        if not len(origin):
            return
        self.try_corners(parts)
        bounds = np.minimum(self.relaxation.bounds(parts), np.array(uppers)[origin])
        self.queue.n_boxes += len(bounds)
        for i, bound in enumerate(bounds):
            self.queue.push(float(bound), parts.take(np.array([i])))

    def try_corners(self, boxes: TwinBoxes) -> None:
        """Look for a larger difference where the interval variables of boxes are at their ends.

        Behind splines and other steps that are no lines the local search knows no place between.
        """
        network = self.network
        places = [
            {j: allowed[:, span].argmax(axis=1) for j, span in network.spans.items()}
            for allowed in (boxes.one, boxes.two)
        ]
        twin = np.array([twin for _, twin in network.variables], dtype=np.intp)
        for top in (False, True):
            for highest in (0, 1) if network.continuous_sensitive else (0,):
                # The copies of a sensitive attribute go to opposite ends.
                at_top = np.where(twin == BOTH, top, twin == highest)
                encoded = np.where(at_top, boxes.high, boxes.low)
                values = np.where(at_top[network.interval_of], boxes.most, boxes.least)
                sums = [network.first_sums(values, places[t], t) for t in (0, 1)]
                gaps = np.abs(network.outputs(sums[0]) - network.outputs(sums[1])).max(axis=1)
                i = int(gaps.argmax())
                if gaps[i] > self.queue.incumbent:
                    own = [{j: p[i] for j, p in chosen.items()} for chosen in places]
                    first, second = (network.row_of(encoded[i], p, t) for t, p in enumerate(own))
                    self.queue.improve(float(gaps[i]), (first, second))

    # Splits ---------------------------------------------------------------------------------

    def split(self, boxes: TwinBoxes) -> tuple[TwinBoxes, NDArray[np.intp]]:
        """Two parts of every box that has more than one point, and the box that each is of."""
        network = self.network
        spread, how = self._spreads(boxes)
        widest = spread.argmax(axis=1)
        origin = np.flatnonzero(spread.max(axis=1, initial=-1.0) >= 0)
        halves = [boxes.take(origin), boxes.take(origin)]  # each a copy
        for k, i in enumerate(origin):
            where, twin = how[widest[i]]
            if twin == INTERVAL:
                low, high = boxes.low[i, where], boxes.high[i, where]
                middle = (low + high) / 2
                whole = self.network.space.domain.discrete[network.interval_attributes[where]]
                halves[0].high[k, where] = np.floor(middle) if whole else middle
                halves[1].low[k, where] = np.floor(middle) + 1 if whole else middle
                continue
            span = network.spans[where]
            allowed = np.flatnonzero((boxes.two if twin == 1 else boxes.one)[i, span]) + span.start
            own = self._columns[allowed]
            order = allowed[np.argsort(own @ np.ptp(own, axis=0), kind="stable")]
            for half, gone in zip(
                halves, (order[len(order) // 2 :], order[: len(order) // 2]), strict=True
            ):
                if twin in (0, BOTH):
                    half.one[k, gone] = False
                if twin in (1, BOTH):
                    half.two[k, gone] = False
        both = TwinBoxes(*(np.concatenate(arrays) for arrays in zip(*halves, strict=True)))
        if len(origin):
            bounds = network.interval_values(np.concatenate([both.low, both.high]))
            both = both._replace(least=bounds[: len(both.low)], most=bounds[len(both.low) :])
        return both, np.tile(origin, 2)

    def _spreads(self, boxes: TwinBoxes) -> tuple[Floats, list[tuple[int, int]]]:
        """How much each copy moves the first layer in each box; -1 where it cannot be split."""
        # Differences are sharpest between single values: sensitive attributes are split sooner.
        sooner = 8.0
        columns, how = [], []
        for j, span in self.network.spans.items():
            own = self.network.effects.tables[j]
            sensitive = j in self.network.sensitive
            for twin in (0, 1) if sensitive else (BOTH,):
                allowed = (boxes.two if twin == 1 else boxes.one)[:, span]
                low, high = value_range(own, allowed)
                spread = ((high - low) @ self._reach) * (sooner**sensitive)
                columns.append(np.where(allowed.sum(axis=1) > 1, spread, -1.0))
                how.append((j, twin))
        reach = np.abs(boxes.most - boxes.least) * (
            np.abs(self.network.interval_weights) @ self._reach
        )
        for k, (j, twin) in enumerate(self.network.variables):
            spread = reach[:, self.network.interval_of == k].sum(axis=1)
            spread = spread * (sooner ** (twin != BOTH))
            low, high = boxes.low[:, k], boxes.high[:, k]
            if self.network.space.domain.discrete[j]:
                fine = high > low
            else:
                fine = high - low > 1e-12 * np.maximum(np.abs(low), np.abs(high))
            columns.append(np.where(fine, spread, -1.0))
            how.append((k, INTERVAL))
        if not columns:
            return np.full((len(boxes.one), 1), -1.0), [(0, INTERVAL)]
        return np.column_stack(columns), how
