"""Values as JSON knows them."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import pandas as pd

from skfairtest.space._dates import ANY_DATE, iso


def plain(value: Any) -> Any:
    """The value as JSON can say it: what has no number (NaN, infinity, missing) is None."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else None
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    return iso(value) if isinstance(value, ANY_DATE) else str(value)


def real(value: Any) -> float:
    """A figure of a report as a number again: NaN where it is not known."""
    return math.nan if value is None else float(value)
