"""How much a model discriminates, measured on uniform random inputs: the basis of Themis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._statistics import clopper_pearson
from skfairtest._typing import Bools, Floats
from skfairtest.oracle._favourable import (
    favourable_labels,
    is_favourable,
    known_classes,
    label_codes,
    resolve_favourable,
)
from skfairtest.oracle._oracle import Oracle
from skfairtest.oracle._row_hash import KeySet, row_keys
from skfairtest.oracle._stop import StopReason

#: Distinct inputs before the interval is looked at first.
MIN_SAMPLES = 100
#: Rows that are asked in one go.
BATCH_ROWS = 4096
#: Rows that predict may be asked once more to confirm that two labels differ.
CONFIRM = 2


class Measurement:
    """Shares of discriminatory inputs and of favourable predictions on distinct uniform inputs.

    Parameters
    ----------
    oracle : Oracle
        Judges the inputs and keeps the budget.
    favourable : object
        See `ThemisAuditor`.
    confidence : float
        Confidence of the intervals.

    Attributes
    ----------
    look : int
        How many times the intervals have been looked at, this time included. The error that
        the confidence leaves is shared by all looks, so that the last one can be believed although
        the earlier ones decided that it took place.
    """

    def __init__(self, oracle: Oracle, favourable: Any, confidence: float) -> None:
        self.oracle = oracle
        self.favourable = favourable
        self.alpha = 1 - confidence
        self.look = 1
        self._seen = KeySet()
        self._answers: list[Floats] = []  # (n, n_twins) each: outputs or 0 and 1
        self._valid: list[Bools] = []

    def run(self, rng: np.random.Generator, measure: str, margin: float) -> None:
        """Draw inputs until the measure is known to the margin, or the oracle ends the run."""
        target = MIN_SAMPLES
        while True:
            while self.oracle.n_inputs < target and not self.is_exhaustive:
                self.draw(target - self.oracle.n_inputs, rng)
            value, low, high = self.causal() if measure == "causal" else self.group()
            if max(value - low, high - value) <= margin:
                return
            self.look += 1
            target *= 2

    def draw(self, n: int, rng: np.random.Generator) -> None:
        """Judge about n random inputs and note the outputs for all their twins."""
        oracle, space = self.oracle, self.oracle.space
        price = (space.twins_.n_twins + CONFIRM) * oracle.model.cost
        if oracle.queries_left < price:
            oracle.stopping.stop(
                StopReason.MAX_QUERIES
            )  # an input that is judged in part has no share
        # At least a tenth more, so that the last inputs of a finite domain come up.
        wanted = max(n, oracle.n_inputs // 10)
        n = oracle.affordable(price=price, most=min(wanted, BATCH_ROWS // space.twins_.n_twins))
        Z = oracle.sample(n, rng, uniform=True)
        fresh = self._seen.add(row_keys(Z[:, space.free]))
        if fresh.any():
            Z = Z[fresh]
            self._note(Z)
        oracle.disparity(Z)

    @property
    def is_exhaustive(self) -> bool:
        """Whether all inputs of a finite domain have been seen."""
        return self.oracle.n_inputs >= self.oracle.space.n_inputs

    # Measures ------------------------------------------------------------------------------

    def causal(self) -> tuple[float, float, float]:
        """The share of discriminatory inputs, and its interval."""
        n, found = self.oracle.n_inputs, self.oracle.n_found
        share = found / n if n else np.nan
        if n and self.is_exhaustive:
            return share, share, share
        low, high = clopper_pearson(found, n, self._level())
        return share, float(low), float(high)

    def group(self) -> tuple[float, float, float]:
        """The largest share of favourable predictions less the smallest, and its interval."""
        favoured, n = self.counts()
        if not len(n) or not n.all():
            return np.nan, 0.0, 1.0
        shares = favoured / n
        value = float(shares.max() - shares.min())
        if self.is_exhaustive:
            return value, value, value
        low, high = clopper_pearson(favoured, n, self._level() / len(n))
        return value, float(max(0.0, low.max() - high.min())), float(high.max() - low.min())

    def counts(self) -> tuple[Floats, Floats]:
        """Favourable predictions and outputs of each combination of sensitive values."""
        if not self._answers:
            return np.zeros(0), np.zeros(0)
        answers, valid = np.concatenate(self._answers), np.concatenate(self._valid)
        favoured = answers > 0
        if self.oracle.response == "regression":
            cut = self.favourable
            cut = answers[valid].mean() if cut is None and valid.any() else cut
            favoured = answers > (0.0 if cut is None else cut)
        return (favoured & valid).sum(axis=0), valid.sum(axis=0)

    def _level(self) -> float:
        # 1/2 + 1/6 + 1/12 + ... = 1: however many looks there are, their errors sum to alpha.
        return self.alpha / (self.look * (self.look + 1))

    # Outputs -------------------------------------------------------------------------------

    def _note(self, Z: Floats) -> None:
        """Note the outputs for all twins; the oracle remembers them for its judgement."""
        scores, labels, valid = self.oracle.answers(Z)
        if self.oracle.response == "regression":
            self._answers.append(scores[:, :, 0])
        elif (codes := favourable_codes(self.oracle, self.favourable)) is not None:
            self._answers.append(np.isin(labels, codes).astype(np.float64))
        else:
            return
        self._valid.append(valid)


def favourable_codes(oracle: Oracle, favourable: Any) -> NDArray[np.int64] | None:
    """The oracle's codes of the favourable labels; None where no label is known to be one."""
    classes = known_classes(oracle.estimator)
    if classes is None:
        return None if favourable is None else label_codes(favourable_labels(favourable))
    if favourable is None and len(classes) == 1:
        favourable = classes[0]
    # Shares of either of two classes differ alike, so that a guess is worth no warning.
    found = resolve_favourable(favourable, classes, whose=type(oracle.estimator).__name__)
    places = np.flatnonzero(is_favourable(classes, found.labels))
    return np.array(places) if oracle.model.infers_labels else label_codes(classes[places])
