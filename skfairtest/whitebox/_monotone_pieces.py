"""Where a step changes the direction of a real column: in between what it gives rises or falls.

Of these steps the places follow from what was fitted: edges of bins, knots of splines and where the
pieces between them turn, the kink of an absolute value, a number that trees take for a missing one.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    SplineTransformer,
)

from skfairtest._typing import Floats
from skfairtest.whitebox._own_steps import MissingSentinel
from skfairtest.whitebox._unsupported import Unsupported

#: Places at which one column may change direction.
MOST_PLACES = 2000
NOTHING = np.empty(0)

#: Functions of single numbers that never decrease wherever they are numbers.
RISING: tuple[Any, ...] = (
    np.arcsin, np.arccosh, np.arcsinh, np.arctan, np.arctanh, np.cbrt, np.ceil, np.deg2rad, np.exp,
    np.exp2, np.expm1, np.floor, np.log, np.log10, np.log1p, np.log2, np.positive, np.rad2deg,
    np.rint, np.sign, np.sinh, np.sqrt, np.tanh, np.trunc, special.erf, special.expit,
    special.logit, special.ndtr, special.ndtri,
)  # fmt: skip
#: These never increase.
FALLING: tuple[Any, ...] = (np.arccos, np.negative, special.erfc)
#: These fall, and rise from zero on.
RISING_FROM_ZERO: tuple[Any, ...] = (np.absolute, np.fabs, np.square, np.cosh)


class Breakpoints(NamedTuple):
    """Numbers of one column at which, or just after which, something new begins."""

    column: int
    at: Floats
    after: Floats = NOTHING
    #: What the step rounds numbers to first.
    rounded: Any = np.float64


def breakpoints_of(
    step: Any, part: Any, bounds: Callable[[], tuple[Floats, Floats]]
) -> list[Breakpoints]:
    """Where a step changes the direction of the columns that it is shown.

    - `part`: rows that reach it.
    - `bounds`: gives the smallest and the largest number of each of its columns.
    - the result: between the places of a column what the step makes of it rises or falls all along.
    - `Unsupported`: if there are too many places.
    """
    columns = range(part.shape[1])
    if type(step) is KBinsDiscretizer and step.encode != "ordinal":
        rounded = np.float64 if step.dtype is None else step.dtype
        edges = [np.asarray(step.bin_edges_[c])[1:-1] for c in columns]
        found = [Breakpoints(c, edges[c].astype(np.float64), rounded=rounded) for c in columns]
    elif type(step) is SplineTransformer:
        found = [_spline(c, step) for c in columns]
    elif type(step) is MissingSentinel:
        low, high = np.array([step.low]), np.array([step.high])
        found = [Breakpoints(int(c), low, high) for c in step.columns]
    elif type(step) is FunctionTransformer:
        low, high = bounds()
        found = [_function(c, step.func, low[c], high[c]) for c in columns]
    else:
        return []
    if any(len(own.at) + len(own.after) > MOST_PLACES for own in found):
        raise Unsupported(
            f"{' '.join(repr(step).split()):.120} makes a function of a real column that changes "
            f"direction at more than {MOST_PLACES} places, counted from zero.",
            "Narrow the domain of the column by InputSpace(bounds=...).",
        )
    return found


def _function(column: int, function: Any, low: float, high: float) -> Breakpoints:
    """Where a function that is known turns."""
    if function in RISING_FROM_ZERO:
        return Breakpoints(column, np.zeros(1))
    if function in (np.sin, np.cos):
        return Breakpoints(column, _turns(0.5 if function is np.sin else 0.0, low, high))
    return Breakpoints(column, NOTHING)


def _turns(first: float, low: float, high: float) -> Floats:
    """The multiples of pi, with a share of one before the first, from below `low` to above `high`.

    Far from zero a multiple of the rounded pi is off by more than numbers are apart.
    """
    if not max(-low, high) <= MOST_PLACES * np.pi:
        return np.zeros(MOST_PLACES + 1)
    places = np.arange(floor(low / np.pi - first), ceil(high / np.pi - first) + 1)
    return np.asarray((first + places) * np.pi, dtype=np.float64)


def has_known_breakpoints(function: Any) -> bool:
    """Whether it is known where a function of single numbers turns."""
    known = (*RISING, *FALLING, *RISING_FROM_ZERO, np.sin, np.cos)
    return any(function is one for one in known)


def _spline(column: int, step: Any) -> Breakpoints:
    """The knots of a column's splines, and where one of these turns between them."""
    spline = step.bsplines_[column]
    knots, k = np.asarray(spline.t, dtype=np.float64), spline.k
    first, last = knots[k], knots[-k - 1]
    inner = np.unique(knots[(knots >= first) & (knots <= last)])
    places = [inner]
    slope = spline.derivative() if k > 0 else None
    for a, b in zip(inner[:-1], inner[1:], strict=True):
        if slope is None or k < 2:
            continue
        # The slope is a polynomial there, which as many values as it has coefficients give.
        nodes = np.cos(np.pi * (np.arange(k) + 0.5) / k)
        values = slope((a + b) / 2 + (b - a) / 2 * nodes)
        for own in np.asarray(values).T:
            if own.any():
                roots = np.polynomial.chebyshev.chebroots(_coefficients(nodes, own))
                # Roots that are nearly real count as well: places too many do no harm.
                real = roots.real[np.abs(roots.imag) <= 1e-6]
                turns = (a + b) / 2 + (b - a) / 2 * real
                tolerance = 1e-9 * (b - a)
                places.append(turns[(turns >= a - tolerance) & (turns <= b + tolerance)])
    at = np.unique(np.concatenate(places))
    return Breakpoints(column, at, at[np.isin(at, inner)])


def _coefficients(nodes: Floats, values: Floats) -> Floats:
    """Of the series of Chebyshev polynomials with these values, without zeros at its end."""
    series = np.linalg.solve(np.polynomial.chebyshev.chebvander(nodes, len(nodes) - 1), values)
    kept = np.flatnonzero(np.abs(series) > 1e-13 * np.abs(series).max())
    return np.asarray(series[: kept[-1] + 1])
