"""Names of types in annotations, and the one test of what counts as a number."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Ints64 = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: Sets of up to 64 cells of an attribute, a bit a cell.
Words = NDArray[np.uint64]


def is_real(value: Any) -> bool:
    """Whether the value is a finite number; truth values are none."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and math.isfinite(value)
