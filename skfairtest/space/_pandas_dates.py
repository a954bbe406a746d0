"""Columns of dates of pandas, in its own dtypes, those of pyarrow, and as objects."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from skfairtest._typing import Floats
from skfairtest.space._dates import NAT, Dates, as_numbers, as_whole


def dates_of_dtype(dtype: Any) -> Dates | None:
    """Return what a column of a pandas dtype holds, if it is dates."""
    if isinstance(dtype, pd.DatetimeTZDtype):
        return Dates("date", zone=str(dtype.tz))
    if isinstance(dtype, pd.PeriodDtype):
        return Dates("period", freq=str(dtype)[len("period[") : -1])
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        return Dates("date" if dtype.kind == "M" else "duration")
    if isinstance(dtype, pd.ArrowDtype):
        text = str(dtype)
        zone = re.search(r"tz=([^]]+)]", text)
        for start, family in _ARROW.items():
            if text.startswith(start):
                return Dates(family, zone=zone and zone[1])
    return None


#: Dates of pyarrow, by the beginnings of their names.
_ARROW = {"date": "date", "timestamp": "date", "duration": "duration", "time": "time of day"}


def _arrow_unit(dtype: Any) -> tuple[str, str]:
    """Return the unit that a pyarrow dtype counts in, and the dtype of the whole numbers."""
    text = str(dtype)
    unit = "D" if text.startswith("date32") else text.split("[")[1].split(",")[0].rstrip("]")
    return unit, "int32[pyarrow]" if "32" in text.split("[")[0] else "int64[pyarrow]"


def date_numbers(name: Any, series: Any, dates: Dates) -> Floats:
    """Return the numbers of a pandas column of dates."""
    dtype = series.dtype
    if dates_of_dtype(dtype) is None:  # objects, or a column that should be dates and is not
        return dates.numbers(name, np.asarray(series, dtype=object))
    if isinstance(dtype, pd.ArrowDtype):
        unit, integers = _arrow_unit(dtype)
        whole = series.astype(integers).astype("int64[pyarrow]")
        return as_numbers(name, whole.to_numpy(dtype=np.int64, na_value=NAT), unit)
    index: Any = pd.Index(series)
    if dates.zone is None and isinstance(dtype, pd.DatetimeTZDtype):
        return dates.numbers(name, index)  # says what is wrong
    return as_numbers(name, index.asi8, "us" if dates.family == "period" else index.unit)


def as_dates(numbers: Floats, dtype: Any, dates: Dates) -> Any:
    """Return a pandas column of dates from numbers."""
    if dates.cls is not None:
        return pd.Series(dates.objects(numbers), dtype=object)
    if dates.family == "period":
        return dates.index(numbers).array
    if isinstance(dtype, pd.ArrowDtype):
        unit, integers = _arrow_unit(dtype)
        whole = as_whole(numbers, unit)
        gone = whole == NAT
        array: Any = pd.array(list(np.where(gone, 0, whole)), dtype="int64[pyarrow]")
        if gone.any():
            array[gone] = None
        return array.astype(integers).astype(dtype)
    unit = np.datetime_data(dtype)[0] if isinstance(dtype, np.dtype) else dtype.unit
    counted = as_whole(numbers, unit).view(f"{'m' if dates.family == 'duration' else 'M'}8[{unit}]")
    if dates.zone is None:
        return counted
    return pd.DatetimeIndex(counted).tz_localize("UTC").tz_convert(dtype.tz).array
