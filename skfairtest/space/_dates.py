"""Columns of dates, durations and times of day, and their conversion to numbers.

Everything is counted in microseconds (periods by their ordinals), so that columns of different
dtypes compare. Containers know how a kind of table writes these; here is what they share.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints

#: What NumPy and pandas have in whole numbers for a missing date.
NAT = np.iinfo(np.int64).min
#: Microseconds of one unit; of nanoseconds a microsecond has a thousand.
UNITS = {"D": 86_400_000_000, "s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0}
#: What pandas calls the values of an object column, and the classes that they may be of.
OBJECTS: dict[str, tuple[type, ...]] = {
    "date": (dt.date,),
    "datetime": (pd.Timestamp, dt.datetime),
    "datetime64": (np.datetime64,),
    "timedelta": (pd.Timedelta, dt.timedelta),
    "timedelta64": (np.timedelta64,),
    "time": (dt.time,),
    "period": (pd.Period,),
}
ANY_DATE = tuple({cls for classes in OBJECTS.values() for cls in classes})


class Dates:
    """Describe how a column stores its dates.

    Attributes
    ----------
    family : {"date", "duration", "time of day", "period"}
        Columns of one family, with the same zone and frequency, are counted alike.
    zone : str or None
        Time zone of dates.
    freq : str or None
        Frequency of periods.
    cls : str or None
        Class of the values of an object column.
    missing : str
        What an object column writes for a missing value.
    """

    def __init__(
        self,
        family: str,
        zone: str | None = None,
        freq: str | None = None,
        cls: str | None = None,
        missing: str = "NaT",
    ) -> None:
        self.family, self.zone, self.freq = family, zone, freq
        self.cls, self.missing = cls, missing

    def __repr__(self) -> str:
        more = self.zone or self.freq
        return f"{self.family} ({more})" if more else self.family

    def is_like(self, other: Dates | None) -> bool:
        """Return whether equal numbers mean equal dates in both columns."""
        if other is None or (self.zone is None) != (other.zone is None):
            return False
        return (self.family, self.freq) == (other.family, other.freq)

    def index(self, numbers: Floats) -> Any:
        """Return the values as an index of pandas, with times of day as durations."""
        whole = as_whole(numbers, "us")
        if self.family == "period":
            return pd.PeriodIndex(
                pd.arrays.PeriodArray(whole, dtype=pd.PeriodDtype(str(self.freq)))
            )
        if self.family != "date":
            return pd.TimedeltaIndex(whole.view("m8[us]"))
        index = pd.DatetimeIndex(whole.view("M8[us]"))
        return index if self.zone is None else index.tz_localize("UTC").tz_convert(self.zone)

    def objects(self, numbers: Floats) -> NDArray[Any]:
        """Return the values as Python objects if the column holds objects, else as in pandas."""
        gone = np.isnan(numbers)
        objects = np.empty(len(numbers), dtype=object)
        index = self.index(numbers[~gone])
        if self.family == "time of day":
            objects[~gone] = _listed((pd.Timestamp(0) + index).time)
        elif self.cls == "date":
            objects[~gone] = _listed(index.date)
        elif self.cls == "datetime":
            objects[~gone] = _listed(index.to_pydatetime())
        elif self.cls == "timedelta":
            objects[~gone] = _listed(index.to_pytimedelta())
        elif self.cls in ("datetime64", "timedelta64"):
            objects[~gone] = _listed(index.to_numpy())
        else:
            objects[~gone] = _listed(index)
        objects[gone] = {"None": None, "NaN": np.nan}.get(self.missing, pd.NaT)
        return objects

    def texts(self, numbers: Floats) -> list[str]:
        """Return the values as text."""
        return [date_text(value) for value in self.objects(np.asarray(numbers, dtype=np.float64))]

    def interval(self, low: float, high: float) -> Any:
        """Describe the dates from one number up to another; periods count by their beginnings.

        Infinite ends are the first and the last that a calendar has.
        """
        ends = self.index(np.nan_to_num([low, high], posinf=0.0, neginf=0.0))
        if self.family == "period":
            ends = ends.to_timestamp()
        if self.zone is not None:
            ends = ends.tz_convert("UTC")
        first: Any
        last: Any
        first, last = pd.Timedelta.min, pd.Timedelta.max
        if self.family in ("date", "period"):
            first, last = (
                pd.Timestamp("0001-01-01", tz=ends.tz),
                pd.Timestamp("9999-12-31", tz=ends.tz),
            )
        left = first if low == -np.inf else ends[0]
        right = last if high == np.inf else ends[1]
        return pd.Interval(left, max(left, right), closed="left")

    def numbers(self, name: Any, values: Any) -> Floats:
        """Return the numbers of values that can be read as dates of this column.

        Raises
        ------
        ValueError
            If one cannot.
        """
        listed = _listed(values)
        gone = np.asarray(pd.isna(listed), dtype=bool)
        numbers = np.full(len(listed), np.nan)
        try:
            numbers[~gone] = self._read(name, listed[~gone])
        except NotExactError:
            raise
        except Exception as error:  # each kind has its own way of refusing a value
            what = self.cls if self.cls not in (None, "datetime64") else self.family
            raise ValueError(
                f"Column {name!r} holds values of the kind {what!r}; got {_shown(listed[~gone])}. "
                "Give the column one type: convert all of it, with pandas.to_datetime, say."
            ) from error
        return numbers

    def _read(self, name: Any, values: NDArray[Any]) -> Floats:
        if self.family == "time of day":
            values = _listed(pd.Timedelta(str(value)) for value in values)
        if self.family == "period":
            periods = pd.PeriodIndex(values, freq=self.freq)
            return as_numbers(name, periods.asi8, "us")
        if self.family == "duration" or self.family == "time of day":
            index: Any = pd.TimedeltaIndex(values)
        else:
            index = pd.DatetimeIndex(values)
            if (index.tz is None) != (self.zone is None):
                raise ValueError("some values have a time zone, others have none")
        return as_numbers(name, index.asi8, index.unit)


class NotExactError(ValueError):
    """Raised for times that floats cannot tell apart."""


def as_numbers(name: Any, whole: Ints, unit: str) -> Floats:
    """Return the numbers of dates that a table counts in a unit, NaN for missing ones.

    Raises
    ------
    ValueError
        If a float does not hold one of them.
    """
    per_unit = UNITS[unit]
    parts = (whole, 0 * whole) if per_unit else (whole // 1000, whole % 1000)
    numbers = parts[0] * float(per_unit or 1) + parts[1] / 1000.0
    numbers[whole == NAT] = np.nan
    if not np.array_equal(as_whole(numbers, unit), whole):
        raise NotExactError(
            f"Column {name!r} holds times that are finer than a float can tell apart. Round them "
            "to microseconds first: X[name].dt.round('us')."
        )
    return numbers


def as_whole(numbers: Floats, unit: str) -> Ints:
    """Convert numbers back to whole units."""
    gone = np.isnan(numbers)
    numbers, per_unit = np.where(gone, 0, numbers), UNITS[unit]
    if per_unit:
        whole = np.rint(numbers / per_unit).astype(np.int64)
    else:
        micro = np.floor(numbers)
        whole = micro.astype(np.int64) * 1000 + np.rint((numbers - micro) * 1000).astype(np.int64)
    whole[gone] = NAT
    return whole


def dates_of_objects(name: Any, values: NDArray[Any]) -> Dates | None:
    """Return how an object column stores dates, or None if it holds no dates.

    Raises
    ------
    ValueError
        If there is something else beside them.
    """
    inferred = pd.api.types.infer_dtype(values, skipna=True)
    if inferred not in OBJECTS and not inferred.startswith("mixed"):
        return None
    gone = np.asarray(pd.isna(values), dtype=bool)
    present = values[~gone]
    if not len(present) and values[0] is pd.NaT:
        return Dates("date", cls="Timestamp")
    classes = {type(value) for value in present}
    if not any(issubclass(cls, ANY_DATE) for cls in classes):
        return None
    zones = {str(value.tzinfo) for value in present if getattr(value, "tzinfo", None)}
    has_naive = any(getattr(value, "tzinfo", True) is None for value in present)
    freqs = {value.freqstr for value in present if isinstance(value, pd.Period)}
    if len(classes) > 1 or len(zones) + (has_naive and bool(zones)) > 1 or len(freqs) > 1:
        kinds = sorted(cls.__name__ for cls in classes)
        raise ValueError(
            f"Column {name!r} mixes dates with other values, time zones or frequencies: expected "
            f"one type, got {kinds} (such as {_shown(_one_of_each(present))}). Convert all of it, "
            "with pandas.to_datetime, say."
        )
    (cls,) = classes
    missing = (
        {type(None): "None", float: "NaN"}.get(type(values[gone][0]), "NaT") if any(gone) else "NaT"
    )
    family = {"date": "date", "datetime": "date", "datetime64": "date", "time": "time of day",
              "period": "period"}.get(inferred, "duration")  # fmt: skip
    zone = str(pd.DatetimeIndex(present[:1]).tz) if zones else None
    freq = present[0].freqstr if freqs else None
    return Dates(family, zone, freq, cls.__name__, missing)


def date_text(value: Any) -> str:
    """Return a date in ISO 8601 form, without the time if that is midnight."""
    if pd.isna(value):
        return "missing"
    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    if isinstance(value, dt.datetime):
        is_midnight = value.tzinfo is None and value == pd.Timestamp(value).normalize()
        return value.date().isoformat() if is_midnight else value.isoformat()
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    return str(pd.Timedelta(value) if isinstance(value, (dt.timedelta, np.timedelta64)) else value)


def iso(value: Any) -> str:
    """Return a date in ISO 8601 form, as used in JSON."""
    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    if isinstance(value, (dt.timedelta, np.timedelta64)):
        return str(pd.Timedelta(value).isoformat())
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _listed(values: Any) -> NDArray[Any]:
    """Any values in an array of objects, as they are."""
    listed = list(values)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def _one_of_each(values: NDArray[Any]) -> list[Any]:
    first: dict[tuple[type, str], Any] = {}
    for value in values:
        first.setdefault((type(value), str(getattr(value, "tzinfo", None))), value)
    return list(first.values())


def _shown(values: Any) -> str:
    return ", ".join(repr(value) for value in list(values)[:4])
