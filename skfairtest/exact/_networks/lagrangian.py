"""One hidden layer: the difference of two twins as a sum of ramps, one for each unit.

Twins share all inputs but the sensitive ones, so a unit gets ``u + a`` in one and ``u + b`` in the
other, where u is a linear function of what they share. Its part ``v (relu(u + a) - relu(u + b))``
is a ramp in the one number u. Multipliers on these numbers take units and inputs apart (a
Lagrangian dual): whatever the multipliers are, the largest values of all parts add up to a bound,
each found in closed form. The multipliers are improved by steps along the subgradient, many nodes
at a time.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Floats
from skfairtest.exact._networks.read_network import ReadNetwork
from skfairtest.whitebox._effects import Effects

#: Keeps divisions by nothing away.
TINY = np.float32(1e-30)
#: Multipliers are kept within this many times a unit's weight; rounding is measured by it.
MOST_MULTIPLIER = 4.0


def listable(network: ReadNetwork) -> bool:
    """Return whether there are combinations of sensitive values, not too many to list."""
    if not network.sensitive or network.continuous_sensitive:
        return False
    n = float(np.prod([float(len(network.effects.tables[j])) for j in network.sensitive]))
    # Listing the ramps takes time and memory by combinations of sensitive values, and by the sums
    # of their parts.
    return n <= 2048 and n * len(network.effects.base) <= 5_000_000


class Combinations:
    """The sensitive attributes' parts in the first layer, halved again and again.

    - `effects`: first layer, by attribute.
    - `names`: the sensitive attributes that it depends on.

    - `parts` (n_combinations, n_units): their part in each unit.
    - `places` (n_combinations, n_names): positions along the attributes' grids.
    - `low`, `high` (n_sets, n_units): bounds of the parts in every set of combinations; set 0 holds
      all.
    - `halves` (n_sets, 2): the sets that a set is cut into, or -1 for a single combination.
    - `member` (n_sets,): one combination of each set.
    """

    def __init__(self, effects: Effects, names: list[int]) -> None:
        sizes = [len(effects.tables[j]) for j in names]
        self.places = np.indices(sizes).reshape(len(sizes), -1).T
        self.parts = np.zeros((len(self.places), len(effects.base)))
        for j, place in zip(names, self.places.T, strict=True):
            self.parts += effects.tables[j][place]
        low, high, halves, member = [], [], [], []
        waiting = [np.arange(len(self.parts))]
        made = 1
        for which in waiting:
            own = self.parts[which]
            low.append(own.min(axis=0))
            high.append(own.max(axis=0))
            member.append(int(which[0]))
            if len(which) == 1:
                halves.append((-1, -1))
                continue
            order = which[np.argsort(own @ np.ptp(own, axis=0), kind="stable")]
            waiting += [order[: len(order) // 2], order[len(order) // 2 :]]
            halves.append((made, made + 1))
            made += 2
        self.low, self.high = np.array(low), np.array(high)
        self.halves, self.member = np.array(halves), np.array(member)


class Shared:
    """What twins share of the first layer: columns of one weight a unit, and tables.

    - `least`, `most` (n_interval_features,): bounds of the interval variables' features.
    """

    def __init__(self, network: ReadNetwork, least: Floats, most: Floats) -> None:
        effects = network.effects
        self.base, self.weights, self.low, self.high = (
            effects.base, network.interval_weights, least, most
        )  # fmt: skip
        #: Attributes whose values are rows of tables.
        self.names = [j for j in network.names if j not in network.sensitive]
        tables = [effects.tables[j] for j in self.names]
        stops = np.cumsum([0] + [len(table) for table in tables])
        self.spans = [slice(int(a), int(b)) for a, b in zip(stops[:-1], stops[1:], strict=True)]
        self.stacked = np.concatenate(tables) if tables else np.zeros((0, len(self.base)))
        up, down = np.maximum(self.weights, 0.0), np.minimum(self.weights, 0.0)
        #: Ends of what each unit gets.
        self.least = self.base + self.low @ up + self.high @ down
        self.most = self.base + self.high @ up + self.low @ down
        for table in tables:
            self.least = self.least + table.min(axis=0)
            self.most = self.most + table.max(axis=0)

    def single(self) -> Shared:
        """Return the same in single precision, which is enough to look for multipliers."""
        twin = copy.copy(self)
        for name in ("base", "weights", "low", "high", "stacked", "least", "most"):
            setattr(twin, name, getattr(self, name).astype(np.float32))
        return twin

    def best(self, multipliers: Floats) -> tuple[Floats, Floats, Floats]:
        """Largest ``multipliers @ u``, the u of the units that attains it, and its inputs.

        The inputs are those of the columns, and which rows of the tables are taken.
        """
        total = multipliers @ self.base
        sums = np.repeat(self.base[None], len(multipliers), axis=0)
        width = len(self.weights)
        inputs = np.zeros((len(multipliers), width + len(self.stacked)), dtype=multipliers.dtype)
        slopes = multipliers @ self.weights.T
        values = np.where(slopes > 0, self.high, self.low)
        total += (slopes * values).sum(axis=1)
        sums += values @ self.weights
        inputs[:, :width] = values
        parts = multipliers @ self.stacked.T
        for span in self.spans:
            place = parts[:, span].argmax(axis=1) + span.start
            total += parts[np.arange(len(parts)), place]
            sums += self.stacked[place]
            inputs[np.arange(len(parts)), width + place] = 1.0
        return total, sums, inputs


class Ramps(NamedTuple):
    """Ramps of a batch of nodes, (n_nodes, n_units): weight, shifts of both twins, bounds of u."""

    weight: Floats
    one: Floats
    two: Floats
    low: Floats
    high: Floats

    def at(self, sums: Floats) -> Floats:
        """Return the units' parts."""
        first, second = np.maximum(sums + self.one, 0.0), np.maximum(sums + self.two, 0.0)
        return self.weight * (first - second)

    def breakpoints(self) -> tuple[Floats, Floats]:
        """Return where the slope falls, and where it rises."""
        rising = self.weight * (self.one - self.two) >= 0
        early, late = np.minimum(-self.one, -self.two), np.maximum(-self.one, -self.two)
        return np.where(rising, late, early), np.where(rising, early, late)


class Bounded(NamedTuple):
    """Bounds of nodes, their multipliers, and how far each unit's part is overrated.

    `inputs` are the mean of good ones, and `shown` is the sum of the ramps there.
    """

    bounds: Floats
    multipliers: Floats
    excess: Floats
    inputs: Floats
    shown: Floats


def bound(ramps: Ramps, shared: Shared, multipliers: Floats, n_steps: int, step: float) -> Bounded:
    """Bound the sum of the ramps in each node; every step's multipliers give a valid bound.

    - `ramps`: the nodes.
    - `shared`: what the twins share.
    - `multipliers` (n_nodes, n_units): to start from.
    - `n_steps`: steps to take.
    - `step`: length of the first step, as a share of a multiplier's natural range.
    """
    corner = np.clip(ramps.breakpoints()[0], ramps.low, ramps.high)
    points = (ramps.low, corner, ramps.high)
    values = tuple(ramps.at(p) for p in points)
    limits = multiplier_range(ramps, shared, points, values)
    # Rounding while multipliers are looked for costs nothing: the bound of those chosen is exact.
    # Numbers beyond single precision end as the multipliers that were given.
    with np.errstate(over="ignore", invalid="ignore"):
        chosen, sums, parts, inputs = _descend(
            [p.astype(np.float32) for p in points],
            [v.astype(np.float32) for v in values],
            [limit.astype(np.float32) for limit in limits],
            shared.single(),
            multipliers.astype(np.float32),
            n_steps,
            step,
        )
    mean = np.clip(sums, ramps.low, ramps.high)
    chosen = np.where(np.isfinite(chosen), chosen, multipliers)
    multipliers = np.clip(chosen.astype(np.float64), *limits[:2])
    found = shared.best(multipliers)[0] + _peak(points, values, multipliers)[0].sum(axis=1)
    shown = ramps.at(sums).sum(axis=1)
    return Bounded(found, multipliers, parts - ramps.at(mean), inputs, shown)


def _peak(points: Any, values: Any, multipliers: Any) -> tuple[Any, Any]:
    """Largest ``part - multiplier * u`` of each unit, and where: at one of three points."""
    reduced = [v - multipliers * p for v, p in zip(values, points, strict=True)]
    second = reduced[2] > reduced[0]
    top = np.where(second, reduced[2], reduced[0])
    own = np.where(second, points[2], points[0])
    middle = reduced[1] >= top
    return np.where(middle, reduced[1], top), np.where(middle, points[1], own)


def _descend(
    points: Any,
    values: Any,
    limits: Any,
    shared: Shared,
    multipliers: Any,
    n_steps: int,
    step: float,
) -> tuple[Any, Floats, Floats, Floats]:  # fmt: skip
    """The best multipliers met, and means of u, of the parts and of inputs over the last steps."""
    least, most, natural = limits
    multipliers = np.clip(multipliers, least, most)
    found, chosen = np.full(len(multipliers), np.inf), multipliers.copy()
    speed, square = np.zeros_like(multipliers), np.zeros_like(multipliers)
    means: list[Any] = [0.0, 0.0, 0.0]
    n_kept = 0
    # Decay rates of Adam; the length of the steps decays by 5% a step.
    momentum, scale_momentum = 0.9, 0.99
    for k in range(n_steps):
        total, sums, inputs = shared.best(multipliers)
        top, own = _peak(points, values, multipliers)
        total = total + top.sum(axis=1)
        better = total < found
        found[better], chosen[better] = total[better], multipliers[better]
        if 2 * k + 1 >= n_steps:
            n_kept += 1
            news = (sums, top + multipliers * own, inputs)
            means = [mean + new for mean, new in zip(means, news, strict=True)]
        slope = (sums - own) * natural
        speed = momentum * speed + (1 - momentum) * slope
        square = scale_momentum * square + (1 - scale_momentum) * slope**2
        size = np.sqrt(square / (1 - scale_momentum ** (k + 1))) + TINY
        length = step * 0.95**k / (1 - momentum ** (k + 1))
        multipliers = np.clip(multipliers - length * natural * speed / size, least, most)
    sums, parts, inputs = (mean.astype(np.float64) / n_kept for mean in means)
    return chosen, sums, parts, inputs


def multiplier_range(
    ramps: Ramps, shared: Shared, points: tuple[Floats, ...], values: tuple[Floats, ...]
) -> tuple[Floats, Floats, Floats]:
    """Return bounds of the multipliers that can be best, and a natural length of their steps."""
    widths = [points[k + 1] - points[k] for k in range(2)]
    whole = np.maximum(points[2] - points[0], 1e-300)
    flat = (values[2] - values[0]) / whole
    slopes = [
        np.where(w > 1e-12 * whole, (values[k + 1] - values[k]) / np.maximum(w, 1e-300), flat)
        for k, w in enumerate(widths)
    ]
    far = MOST_MULTIPLIER * np.abs(ramps.weight)
    # Where u was cut, the multiplier may be that of staying on this side of the cut.
    least = np.where(ramps.high < shared.most, -far, np.minimum(*slopes))
    most = np.where(ramps.low > shared.least, far, np.maximum(*slopes))
    range_ = np.maximum(shared.most - shared.least, 1e-300)
    natural = 2 * np.abs(ramps.weight * (ramps.one - ramps.two)) / range_
    return np.clip(least, -far, far), np.clip(most, -far, far), natural
