"""Parts of a report as JSON says them."""

from __future__ import annotations

import math
import numbers
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

from skfairtest.space._dates import ANY_DATE, iso

#: Marks fields of parts that are not written.
UNWRITTEN = {"unwritten": True}


def keys(part: Any) -> dict[str, str]:
    """The fields of a dataclass that are written, by their keys; `from_` is written as "from"."""
    return {f.name.rstrip("_"): f.name for f in fields(part) if not f.metadata.get("unwritten")}


def plain(value: Any) -> Any:
    """The value as JSON can say it: what has no number (NaN, infinity, missing) is None."""
    if is_dataclass(value):
        return {key: plain(getattr(value, name)) for key, name in keys(value).items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
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
