"""Where numbers are cut into bins: equal widths, quantiles, quartiles, dates, or given edges."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_FLOOR, Context
from typing import Any

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.space._dates import Dates

#: Significant digits of a cut point, where fewer do not divide the rows in the same way.
DIGITS = 10
#: Ways to make bins; "quartiles" is quantiles of which equal numbers are in the lower bin.
BINNINGS = ("quantile", "uniform")


def cut_points(
    different: Floats,
    counts: Ints,
    bins: int,
    binning: str,
    *,
    bounds: tuple[float, float] | None = None,
    dates: Dates | None = None,
) -> Floats:
    """Find where one bin ends and the next begins.

    A value that more than half of the rows have is a bin of its own, and the values on either side
    of it share the other bins: so no number of bins, and no distance between values, leaves nearly
    all rows in one bin.

    Parameters
    ----------
    different : ndarray of shape (n_different,)
        The different values, in rising order.
    counts : ndarray of int of shape (n_different,)
        Rows of each.
    bins : int
        How many bins are wanted.
    binning : {"quantile", "uniform", "quartiles"}
        Bins of equal numbers of rows, or of equal width.
    bounds : tuple of float, default=None
        Bounds of the domain, where they are not those of the values.
    dates : Dates, default=None
        What the numbers stand for: cut points are dates that occur then.

    Returns
    -------
    ndarray of shape (n_bins - 1,)
        Each is the least number of a bin.

    Examples
    --------
    >>> import numpy as np
    >>> from skfairtest.group._rules.cuts import cut_points
    >>> cut_points(np.arange(101.0), np.ones(101, dtype=int), 4, "uniform").tolist()
    [25.0, 50.0, 75.0]
    >>> cut_points(np.array([0.0, 3.0, 8.0]), np.array([92, 4, 4]), 5, "uniform").tolist()
    [3.0]
    """
    cuts = np.unique(_cuts(different, counts, bins, binning, bounds))
    whole = bool((different == np.floor(different)).all())
    if whole:
        cuts = np.ceil(cuts - 1e-9)  # the same bins, in the numbers that occur
    if binning != "quartiles":  # between values: 0.3 is meant where arithmetic gives 3 * 0.1
        rounded = np.unique([float(f"{cut:.{DIGITS}g}") for cut in cuts])
        cuts = rounded if len(dividing(rounded, different)) else cuts
    cuts = dividing(cuts, different)
    if not len(cuts) and bounds is not None:  # all rows are in one part of the domain
        return cut_points(different, counts, bins, binning, dates=dates)
    if dates is not None:
        # Dates that occur, in place of dates between them, leave all counts as they are.
        return np.unique(different[np.searchsorted(different, cuts)])
    return np.unique([_shortest(cut, different, 4 if whole else 3) for cut in cuts])


def _cuts(
    different: Floats, counts: Ints, bins: int, binning: str, bounds: tuple[float, float] | None
) -> list[float]:
    common = int(counts.argmax())
    if 2 * counts[common] > counts.sum() and len(different) > 1:
        cuts = []
        for side in (slice(0, common), slice(common + 1, None)):
            if not len(different[side]):
                continue
            # Where the next bin begins: at the common value, or above it.
            cuts.append(float(different[common if side.start == 0 else common + 1]))
            wanted = round(bins * counts[side].sum() / counts.sum())
            if wanted > 1:
                cuts += _cuts(different[side], counts[side], wanted, binning, None)
        return cuts
    if binning == "uniform":
        low, high = (different[0], different[-1]) if bounds is None else bounds
        return np.linspace(low, high, bins + 1)[1:-1].tolist()
    shares = np.arange(1, bins) / bins
    if binning == "quartiles":
        places = np.floor(shares * (counts.sum() - 1))
        last = np.searchsorted(np.cumsum(counts), places, side="right")
        return different[last[last < len(different) - 1] + 1].tolist()
    cuts = quantiles(different, counts, shares).tolist()
    if cuts[0] <= different[0] and len(different) > 1:
        cuts.append(float(different[1]))  # where many rows have the least value, it is a bin
    return cuts


def quantiles(different: Floats, counts: Ints, shares: Floats) -> Floats:
    """Compute the quantiles of rows that are given by their values and how often these occur."""
    upto = np.cumsum(counts)
    place = shares * (upto[-1] - 1)
    below = np.floor(place)
    low = different[np.searchsorted(upto, below, side="right")]
    high = different[np.searchsorted(upto, np.minimum(below + 1, upto[-1] - 1), side="right")]
    part = place - below
    found: Floats = np.where(
        part >= 0.5, high - (high - low) * (1 - part), low + (high - low) * part
    )
    return found


def dividing(cuts: Floats, different: Floats) -> Floats:
    """Leave out edges beyond the data, which bound bins that are empty."""
    if not len(different):
        return cuts
    return cuts[(cuts > different[0]) & (cuts <= different[-1])]


def _shortest(cut: float, different: Floats, digits: int) -> float:
    """Return a number of fewest digits that divides the values as the cut point does."""
    place = int(np.searchsorted(different, cut))
    low, high = different[place - 1], different[place]
    for n in range(digits, DIGITS):
        for short in (float(f"{cut:.{n}g}"), _rounded_down(high, n)):
            if low < short <= high:
                return short
    return cut


def _rounded_down(value: float, digits: int) -> float:
    """Return the largest number of so many digits that is no larger."""
    context = Context(prec=digits, rounding=ROUND_FLOOR)
    return float(context.create_decimal(repr(float(value))))


def given_edges(name: Any, edges: list[Any], label: str, dates: Dates | None = None) -> Floats:
    """Return the edges between bins as the user wrote them, or raise an error."""
    if dates is not None:
        edges = dates.numbers(name, edges).tolist()
    try:
        values = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if (
        values.ndim != 1
        or not len(values)
        or np.isnan(values).any()
        or (np.diff(values) <= 0).any()
    ):
        raise ValueError(
            f"{label}= of column {name!r} must be a number of bins or a list of increasing "
            f"edges; got {edges!r}."
        )
    return values


def bins_of(name: Any, position: int, bins: Any, label: str, default: int) -> Any:
    """Return what the user asked for a column: a number of bins, or a list of edges."""
    wish = bins
    if isinstance(bins, Mapping):
        wish = bins.get(name, bins.get(position, default))
    if isinstance(wish, (list, tuple, np.ndarray)):
        return list(wish)
    whole = isinstance(wish, (int, np.integer)) and not isinstance(wish, bool)
    most = 200  # more bins say nothing that fewer do not
    if not whole or not 2 <= wish <= most:
        raise ValueError(
            f"{label} must be a whole number from 2 to {most}, or a dict of column to such a "
            f"number or to a list of edges; got {wish!r} for column {name!r}."
        )
    return int(wish)
