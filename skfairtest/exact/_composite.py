"""Certify models that wrap other models, by the brackets of the inner models."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Floats
from skfairtest.exact._bracket import NO_ENGINE, Bracket, Family, Limits, unnoted
from skfairtest.exact._expression import Known, ModelOutput, Node
from skfairtest.whitebox._tree_model import exponential_rounding

#: Share of the width of a bracket that the models inside may leave.
NARROW = 0.5
#: How far beyond 0 and 1 rounding may carry the ends of probabilities.
NEARLY = 1e-6
APART = "the inner models, or their link and their difference, are bounded separately"


def output_ranges(family: Family, response: str) -> tuple[Floats, Floats]:
    """Return the ranges of a family's outputs, rounding included.

    - `response` {"regression", "predict_proba", "decision_function"}: what is asked of it.
    """
    low, high = family.ranges()
    low, high = low - family.rounding, high + family.rounding
    if response == "predict_proba":
        # Votes with negative weights may well be no probabilities: only what rounding adds goes.
        low = np.where((low > -NEARLY) | np.isinf(low), np.maximum(low, 0.0), low)
        high = np.where((high < 1 + NEARLY) | np.isinf(high), np.minimum(high, 1.0), high)
    return low, high


class CompositeFamily(Family):
    """Model that wraps other models.

    - `families`: these models, read out, by the identity of the estimator and how it is asked.

    - `quick`: whether a certificate takes next to no time.
    - `rounding`: how far rounding may carry the outputs of the model itself.
    - `vague`: whether that is not known, so that bounds of differences alone contain it.
    """

    def __init__(self, nodes: list[Node], families: dict[tuple[int, str], Family]) -> None:
        self.nodes, self.families = nodes, families
        self.quick = all(family.quick for family in families.values())
        self._ends = {key: output_ranges(family, key[1]) for key, family in families.items()}
        self._known = self._of_gaps({key: f.root_bound() for key, f in families.items()})
        self.rounding = max((known.rounding for known in self._known), default=0.0)
        self.vague = any(known.vague for known in self._known)

    def _of_gaps(self, gaps: dict[tuple[int, str], float]) -> list[Known]:
        """Return the bounds of each output from the largest differences of the inner models."""

        def known(inner: ModelOutput) -> Known:
            key = (id(inner.estimator), inner.response)
            low, high, rounding = self._range_of(inner)
            # Twins that nothing takes apart get the same output to the last bit.
            gap = min(gaps[key] + 2 * rounding if gaps[key] > 0 else 0.0, high - low)
            return Known(gap, low, high, rounding)

        return [node.known(known) for node in self.nodes]

    def _range_of(self, inner: ModelOutput) -> tuple[float, float, float]:
        """Return the range of an output of an inner model, and how far rounding may carry it."""
        key = (id(inner.estimator), inner.response)
        low, high = (float(ends[inner.output if len(ends) > 1 else 0]) for ends in self._ends[key])
        family = self.families[key]
        rounding = family.rounding + exponential_rounding(getattr(family, "outputs", []))
        # Its sums may be of single precision.
        return low, high, max(rounding, family.single_room(max(abs(low), abs(high))))

    def evaluate(self, Z: Floats) -> Floats:
        said = {key: family.evaluate(Z) for key, family in self.families.items()}

        def value(inner: ModelOutput) -> Floats:
            return np.asarray(said[id(inner.estimator), inner.response][:, inner.output])

        columns = [np.broadcast_to(node.value(value), len(Z)) for node in self.nodes]
        return np.column_stack(columns)

    def reach(self, Z: Floats) -> tuple[Floats, Floats]:
        """Return bounds of the outputs of rows, each (n, n_outputs), allowing for rounding inside.

        Behind a steep function the model's own outputs may be anywhere between them.
        """
        ends: dict[tuple[int, str], tuple[Floats, Floats]] = {}
        for key, family in self.families.items():
            if isinstance(family, CompositeFamily):
                ends[key] = family.reach(Z)
            else:
                ends[key] = (family.evaluate(Z),) * 2
        found = np.empty((len(Z), len(self.nodes), 2))
        for i in range(len(Z)):

            def known(inner: ModelOutput, i: int = i) -> Known:
                low, high = ends[id(inner.estimator), inner.response]
                off = self._range_of(inner)[2]
                least, most = low[i, inner.output] - off, high[i, inner.output] + off
                return Known(0.0, float(least), float(most), 0.0)

            for o, node in enumerate(self.nodes):
                own = node.known(known)
                found[i, o] = own.low - own.rounding, own.high + own.rounding
        return found[..., 0], found[..., 1]

    def ranges(self) -> tuple[Floats, Floats]:
        return np.array([k.low for k in self._known]), np.array([k.high for k in self._known])

    def rows(self, n: int, rng: np.random.Generator) -> Floats:
        families = list(self.families.values())
        each = -(-n // max(1, len(families)))
        parts = [family.rows(each, rng) for family in families]
        return np.concatenate([part for part in parts if part.size])[:n]

    def root_bound(self) -> float:
        return max((known.gap for known in self._known), default=0.0)

    def solve(self, incumbent: float, limits: Limits) -> Bracket:
        gaps, pairs, n_boxes, reasons, engine = {}, [], 0, [], NO_ENGINE
        narrow = limits._replace(rtol=limits.rtol * NARROW, note=unnoted)
        for k, (key, family) in enumerate(self.families.items()):
            until = narrow._replace(deadline=limits.by(1 / (len(self.families) - k)))
            # Differences of the whole are none of its parts: these begin from nothing.
            bracket = family.solve(0.0, until)
            gaps[key] = min(bracket.upper, family.root_bound())
            n_boxes += bracket.n_boxes
            reasons.append(bracket.reason)
            if not engine.library or bracket.engine.advice:
                engine = bracket.engine
            if bracket.twins is not None:
                pairs.append(bracket.twins)
        upper = min(self.root_bound(), max(node.gap for node in self._of_gaps(gaps)))
        lower, twins = incumbent, None
        if pairs:
            ends = self.evaluate(np.concatenate([np.stack(pair) for pair in pairs]))
            apart = np.abs(ends[0::2] - ends[1::2]).max(axis=1)
            best = int(apart.argmax())
            if apart[best] > incumbent:
                lower, twins = float(apart[best]), pairs[best]
        open_ = [reason for reason in reasons if reason != "closed"]
        reason = open_[0] if open_ else APART
        if upper <= lower * (1 + limits.rtol):
            reason = "closed"
        return Bracket(lower, max(lower, upper), twins, n_boxes, reason, engine)
