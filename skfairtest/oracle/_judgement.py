"""What the outputs for twins say of inputs, and the worst pair of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.oracle._row_hash import Keys

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


class Judgement(NamedTuple):
    """Judgement of each of n inputs, by the outputs for its twins.

    Attributes
    ----------
    disparity : ndarray of shape (n,)
        The largest difference between the outputs for two twins; 0 where no two can be compared.
    first, second : ndarray of shape (n, n_sensitive)
        Sensitive values, encoded, of the two twins that show it, the one with the larger output
        first.
    verdict : ndarray of bool of shape (n,)
        Whether the input is discriminatory.
    outputs : ndarray of shape (n, 2)
        The outputs for these two twins; where there are several, those of `output`.
    output : ndarray of int of shape (n,)
        Which of several outputs it is.
    labels : ndarray of int of shape (n, 2)
        Codes of the labels of the two twins.
    twins : ndarray of shape (n, 2, n_sensitive)
        Sensitive values, encoded, of two twins that show the verdict: a plausible one first.
    gap : ndarray of shape (n,)
        Difference between the outputs of `twins`.
    counted : ndarray of bool of shape (n,)
        Whether the input has two twins that could be compared.
    keys : ndarray of uint64 of shape (n,)
        Keys of the inputs.
    """

    disparity: Floats
    first: Floats
    second: Floats
    verdict: Bools
    outputs: Floats
    output: Ints
    labels: Ints
    twins: Floats
    gap: Floats
    counted: Bools
    keys: Keys

    @classmethod
    def of_none(cls, n_sensitive: int) -> Judgement:
        """Return the judgement of no inputs."""
        numbers, places, values = np.empty(0), np.empty(0, dtype=np.intp), (0, n_sensitive)
        truths = np.empty(0, dtype=bool)
        return cls(
            numbers, np.empty(values), np.empty(values), truths, np.empty((0, 2)), places,
            np.empty((0, 2), dtype=np.int64), np.empty((0, 2, n_sensitive)), numbers, truths,
            np.empty(0, dtype=np.uint64),
        )  # fmt: skip


def concatenated(parts: Sequence[Arrays]) -> Arrays:
    """Concatenate named tuples of arrays, field by field."""
    arrays = (np.concatenate(of_parts) for of_parts in zip(*parts, strict=True))
    return type(parts[0])(*arrays)


class Worst(NamedTuple):
    """The worst pair of a run: an input, its twins' encoded sensitive values, and their outputs.

    The twin with the larger output comes first. `labels` has the codes of their labels.
    """

    z: Floats
    first: Floats
    second: Floats
    outputs: tuple[float, float]
    output: int
    labels: Ints
