"""Evaluator: it judges inputs by the model's outputs for their twins."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.oracle._cached_model import CachedModel, at_wanted
from skfairtest.oracle._compare import Comparison, compare
from skfairtest.oracle._judgement import Judgement
from skfairtest.oracle._model import Labels
from skfairtest.oracle._plausible_twins import PlausibleTwins
from skfairtest.oracle._row_hash import Keys, combine_keys, row_keys
from skfairtest.space._space import InputSpace


class _Asked(NamedTuple):
    """Twins of n inputs, and which of them the model has to be asked about.

    `inputs` are the keys of the inputs; `rows` and `keys` are the twins', one after the other;
    `valid` has the shape (n, width), and so have `plausible` and `own`, which are None where
    nobody judges what is plausible. `own` says which twin has the input's own sensitive values.
    """

    inputs: Keys
    rows: Floats
    keys: Keys
    valid: Bools
    plausible: Bools | None
    own: Bools | None


class Evaluator:
    """Judges inputs by their twins. It has no budget and ends nothing.

    Parameters
    ----------
    cache : CachedModel
        The model, with its outputs so far.
    space : InputSpace
        The inputs that exist.
    threshold : float or None
        Disparity above which an input is discriminatory. With None it is if the labels of its twins
        differ, or a regressor's outputs.
    plausible : PlausibleTwins, default=None
        Judges which inputs are plausible. One of two twins has to be, and the model is not asked
        about an input without a plausible twin.
    """

    def __init__(
        self, cache: CachedModel, space: InputSpace, *, threshold: float | None = None,
        plausible: PlausibleTwins | None = None,
    ) -> None:  # fmt: skip
        self.cache, self.model, self.space = cache, cache.model, space
        self.threshold, self._plausible = threshold, plausible

    @cached_property
    def _twin_values(self) -> Floats:
        return self.space.twins_.twin_values

    def all_twins(self, n: int) -> Floats:
        """Return the encoded sensitive values of all twins of n inputs, or what represents them."""
        return np.broadcast_to(self._twin_values, (n, *self._twin_values.shape))

    @property
    def asks_predict(self) -> bool:
        """Whether `predict` is asked about the next flips that are read off the scores."""
        may = self.model.infers_labels and self.threshold is None
        return may and self.model.flips_to_confirm > 0

    def evaluate(self, encoded: Floats, pairs: Floats, keys: Keys | None = None) -> Judgement:
        """Judge inputs by some of their twins.

        Parameters
        ----------
        encoded : ndarray of shape (n, n_features)
            The inputs.
        pairs : ndarray of shape (n, k, n_sensitive)
            Sensitive values of the k >= 2 twins of each input.
        keys : ndarray of shape (n,), default=None
            Keys of the inputs where they are known, which saves making them again.

        Returns
        -------
        Judgement
            The outputs that differ most, the difference and the verdict of each input.
        """
        if not len(encoded):
            return Judgement.of_none(len(self.space.sensitive))
        asked = self._asked(encoded, pairs, keys)
        scores, labels = self._answers(asked)
        shown = compare(
            scores, labels, asked.valid, response=self.model.response, threshold=self.threshold,
            single=self.model.single, plausible=asked.plausible, own=asked.own,
        )  # fmt: skip
        verdict, flips = shown.verdict, np.flatnonzero(shown.verdict)
        while len(flips) and self.asks_predict:
            # One that `predict` denies shows that labels do not follow: all others are confirmed.
            n = int(min(len(flips), self.model.flips_to_confirm))
            part, flips = flips[:n], flips[n:]
            twins = np.take_along_axis(pairs[part], shown.twins[part][:, :, None], axis=1)
            rows = self.space.twins_.of_each(encoded[part], twins)
            both = np.repeat(asked.inputs[part], 2)
            labels = self.cache.labels(
                rows, combine_keys(both, row_keys(twins.reshape(len(rows), -1)))
            )
            verdict[part] = labels[::2] != labels[1::2]
            is_so = bool(verdict[part].all())
            self.model.flips_to_confirm = self.model.flips_to_confirm - n if is_so else np.inf
        return _judgement(pairs, shown, verdict, asked)

    def n_within(
        self, encoded: Floats, pairs: Floats, keys: Keys | None, n_queries: float, reserve: int
    ) -> int:
        """Return how many of the first inputs need no more than so many queries together.

        `reserve` queries are kept for each input, besides those of its twins.
        """
        asked = self._asked(encoded, pairs, keys)
        needed = self.cache.n_new(asked.keys.reshape(asked.valid.shape), asked.valid)
        fits = np.cumsum(needed * self.model.cost + reserve) <= n_queries
        return int(fits.sum())

    def _asked(self, Z: Floats, values: Floats, keys: Keys | None = None) -> _Asked:
        """Return the twins of inputs, and which of them can be compared."""
        inputs, rows, keys, valid = self.cache.twins(Z, values, keys)
        plausible = own = None
        if self._plausible is not None:
            own = (values == Z[:, None, self.space.sensitive]).all(axis=2)
            plausible = self._plausible.of_twins(rows, keys, valid, own)
            valid &= plausible.any(axis=1, keepdims=True)
        # Of an input that cannot be compared, nothing is asked.
        valid &= valid.sum(axis=1, keepdims=True) > 1
        return _Asked(inputs, rows, keys, valid, plausible, own)

    def _answers(self, asked: _Asked) -> tuple[Floats, Labels]:
        """Ask about the valid twins: scores (n, k, n_outputs), labels (n, k); others have 0."""
        wanted = asked.valid.ravel()
        if wanted.all():
            scores, labels = self.cache.ask(asked.rows, asked.keys)
        elif not wanted.any():
            scores, labels = np.zeros((len(wanted), 1)), np.zeros(len(wanted), dtype=np.int64)
        else:
            scores, labels = self.cache.ask(asked.rows[wanted], asked.keys[wanted])
            scores, labels = at_wanted(wanted, scores, labels)
        return scores.reshape(*asked.valid.shape, -1), labels.reshape(asked.valid.shape)


def _judgement(values: Floats, shown: Comparison, verdict: Bools, asked: _Asked) -> Judgement:
    """Return a judgement in sensitive values, from a comparison in places among the twins."""
    pair = np.take_along_axis(values, shown.pair[:, :, None], axis=1)
    twins = pair
    if shown.twins is not shown.pair:
        twins = np.take_along_axis(values, shown.twins[:, :, None], axis=1)
    return Judgement(
        shown.disparity, pair[:, 0], pair[:, 1], verdict, shown.outputs, shown.output,
        shown.labels, twins, shown.gap, np.asarray(asked.valid.any(axis=1)), asked.inputs,
    )  # fmt: skip
