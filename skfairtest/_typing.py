"""Arrays by what they hold, as type annotations name them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
#: Sets of up to 64 cells of an attribute, a bit a cell.
Words = NDArray[np.uint64]
