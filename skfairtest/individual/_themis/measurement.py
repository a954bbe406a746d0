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
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._row_hash import KeySet, row_keys

#: Distinct inputs before the interval is looked at first.
MIN_SAMPLES = 100


class Measurement:
    """Shares of discriminatory inputs and of favourable predictions on distinct uniform inputs.

    Parameters
    ----------
    search : SearchHandle
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

    def __init__(self, search: SearchHandle, favourable: Any, confidence: float) -> None:
        self.search = search
        self.favourable = favourable
        self.alpha = 1 - confidence
        self.look = 1
        self._seen = KeySet()
        self._answers: list[Floats] = []  # (n, n_twins) each: outputs or 0 and 1
        self._valid: list[Bools] = []

    def run(self, rng: np.random.Generator, measure: str, margin: float) -> None:
        """Draw inputs until the measure is known to the margin, or the budget ends the run."""
        target = MIN_SAMPLES
        while True:
            while self.search.so_far.inputs < target and not self.is_exhaustive:
                self.draw(target - self.search.so_far.inputs, rng)
            value, low, high = self.causal() if measure == "causal" else self.group()
            if max(value - low, high - value) <= margin:
                return
            self.look += 1
            target *= 2

    def draw(self, n: int, rng: np.random.Generator) -> None:
        """Judge about n random inputs and note the outputs for all their twins."""
        search, space = self.search, self.search.space
        # `predict` may be asked about two rows once more, as two labels differ.
        n_rows = space.twins_.n_twins + 2
        cost_of_input = n_rows * search.cost
        # An input that is judged in part has no share.
        search.afford(n_rows)
        # At least a tenth more, so that the last inputs of a finite domain come up.
        wanted = max(n, search.so_far.inputs // 10)
        # At most 4,096 rows are asked about in one go.
        n = search.affordable(
            cost_of_input=cost_of_input, most=min(wanted, 4096 // space.twins_.n_twins)
        )
        Z = search.sample(n, rng, uniform=True).rows
        fresh = self._seen.add(row_keys(Z[:, space.non_sensitive]))
        if fresh.any():
            Z = Z[fresh]
            self._note(Z)
        search.evaluate(Z)  # which costs no query for the twins that were noted

    @property
    def is_exhaustive(self) -> bool:
        """Whether all inputs of a finite domain have been seen."""
        return self.search.so_far.inputs >= self.search.space.n_inputs

    # Measures ------------------------------------------------------------------------------

    def causal(self) -> tuple[float, float, float]:
        """The share of discriminatory inputs, and its interval."""
        n, found = self.search.so_far.inputs, self.search.so_far.found
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
        if self.search.response == "regression":
            cut = self.favourable
            cut = answers[valid].mean() if cut is None and valid.any() else cut
            favoured = answers > (0.0 if cut is None else cut)
        return (favoured & valid).sum(axis=0), valid.sum(axis=0)

    def _level(self) -> float:
        # 1/2 + 1/6 + 1/12 + ... = 1: however many looks there are, their errors sum to alpha.
        return self.alpha / (self.look * (self.look + 1))

    # Outputs -------------------------------------------------------------------------------

    def _note(self, Z: Floats) -> None:
        """Note the outputs for all twins of some inputs."""
        space = self.search.space
        rows = space.twins_.of_each(Z, space.twins_.twin_values)
        valid = space.valid(rows).reshape(len(Z), -1)
        valid &= valid.sum(axis=1, keepdims=True) > 1
        if not valid.any():
            return
        scores, labels = self.search.answers(rows[valid.ravel()])
        answers = np.zeros(valid.shape)
        if self.search.response == "regression":
            answers[valid] = scores[:, 0]
        elif (codes := favourable_codes(self.search, self.favourable)) is not None:
            answers[valid] = np.isin(labels, codes)
        else:
            return
        self._answers.append(answers)
        self._valid.append(valid)


def favourable_codes(search: SearchHandle, favourable: Any) -> NDArray[np.int64] | None:
    """Codes of the favourable labels; None where no label is known to be one."""
    classes = known_classes(search.estimator)
    if classes is None:
        return None if favourable is None else label_codes(favourable_labels(favourable))
    if favourable is None and len(classes) == 1:
        favourable = classes[0]
    # Shares of either of two classes differ alike, so that a guess is worth no warning.
    found = resolve_favourable(favourable, classes, whose=type(search.estimator).__name__)
    places = np.flatnonzero(is_favourable(classes, found.labels))
    # Codes are places among the classes where labels follow from scores.
    follow = search.response != "labels" and search.cost == 1
    return np.array(places) if follow else label_codes(classes[places])
