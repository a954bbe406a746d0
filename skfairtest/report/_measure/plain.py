"""Parts of a report as JSON says them."""

from __future__ import annotations

import math
import numbers
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

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


@cache
def _hints(part: Any) -> dict[str, Any]:
    """The types of what is written of a class, by their keys."""
    names = keys(part) if is_dataclass(part) else dict(zip(part._fields, part._fields, strict=True))
    hints = get_type_hints(part, include_extras=True)
    return {key: hints[name] for key, name in names.items()}


#: What JSON makes of values.
SHAPES: dict[Any, Any] = {
    int: int,
    float: (int, float),
    str: str,
    bool: bool,
    list: list,
    tuple: list,
    dict: dict,
}


def unlike(value: Any, hint: Any, name: str = "") -> str:
    """How a value is not what its type says, as the rest of a sentence; empty if it is that."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return unlike(value, args[0], name)
    if origin in (Union, UnionType):
        (inner,) = (arg for arg in args if arg is not NoneType)
        return "" if value is None else unlike(value, inner, name)
    if hint is Any or origin is Literal and value in args:
        return ""
    shape = SHAPES.get(origin or hint, () if origin is Literal else dict)
    if not isinstance(value, shape):
        return f"has {name} = {value!r:.60}"
    parts: list[tuple[Any, Any, str]] = []
    if shape is list and args and args[0] is not Any:
        parts = [(one, args[0], f"{name}[{place}]") for place, one in enumerate(value)]
    elif shape is dict and origin is None:
        hints = _hints(hint)
        if missing := [key for key in hints if key not in value]:
            return f"lacks {missing}{f' in {name}' if name else ''}"
        parts = [(value[key], of, f"{name}.{key}"[not name :]) for key, of in hints.items()]
    return next(filter(None, (unlike(*part) for part in parts)), "")
