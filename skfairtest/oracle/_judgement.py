"""The oracle's judgement of inputs, and the worst pair of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from skfairtest._typing import Bools, Floats, Ints

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


class Judgement(NamedTuple):
    """Judgement of each input; arrays have length n.

    `first` and `second` are the sensitive codes of the two twins that show the disparity, shape
    (n, n_sensitive), those of the one with the larger output first.
    """

    disparity: Floats
    first: Floats
    second: Floats
    verdict: Bools


def concatenated(parts: Sequence[Arrays]) -> Arrays:
    """Concatenate named tuples of arrays, field by field."""
    arrays = (np.concatenate(of_parts) for of_parts in zip(*parts, strict=True))
    return type(parts[0])(*arrays)


class Worst(NamedTuple):
    """The worst pair of a run: an input, its twins' sensitive codes, their outputs in one output.

    The twin with the larger output comes first. `labels` has the codes of their labels.
    """

    z: Floats
    first: Floats
    second: Floats
    outputs: tuple[float, float]
    output: int
    labels: Ints
