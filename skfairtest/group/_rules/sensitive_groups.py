"""The groups that sensitive values make, and the names of the groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest._typing import Floats
from skfairtest.finding._words import value_in_words
from skfairtest.space._space import InputSpace

#: Numbers with more different values than this are cut at their quartiles.
MOST_VALUES = 6
#: A rate of fewer rows is mostly chance, so it is marked, or left out where groups are compared.
FEWEST_ROWS = 30


def cut_points(known: Floats, counts: Any = None) -> Floats:
    """Where numbers are cut into groups: at their quartiles; nowhere where they have few values.

    A group holds the numbers up to and with its cut point. `counts` says how often each number
    occurs, where it is not once.
    """
    if len(np.unique(known)) <= MOST_VALUES:
        return np.empty(0)
    if counts is None:
        cuts = np.unique(np.quantile(known, [0.25, 0.5, 0.75], method="lower"))
    else:  # the same of all rows
        order = np.argsort(known, kind="stable")
        upto = np.cumsum(counts[order])
        places = np.floor(np.array([0.25, 0.5, 0.75]) * (upto[-1] - 1))
        cuts = np.unique(known[order][np.searchsorted(upto, places, side="right")])
    return cuts[cuts < known.max()]


def words_of_cuts(name: Any, ends: Any) -> list[str]:
    """What the groups between cut points are called, one more than there are points."""
    told = [value_in_words(end) for end in ends]
    between = [f"{low} < {name} <= {high}" for low, high in zip(told[:-1], told[1:], strict=True)]
    return [f"{name} <= {told[0]}", *between, f"{name} > {told[-1]}"]


class Groups:
    """Groups of rows by sensitive values, one for each combination of values.

    Parameters
    ----------
    space : InputSpace
        Its data say which values there are, and where the quartiles of numbers are.
    """

    def __init__(self, space: InputSpace) -> None:
        self.space = space
        self.cuts: dict[int, Floats] = {}
        for j in space.sensitive.tolist():
            known = space.data[~np.isnan(space.data[:, j]), j]
            if not space.domain.columns[j].is_category:
                cuts = cut_points(known)
                if len(cuts):
                    self.cuts[j] = cuts

    def names(self, X: Any) -> Any:
        """Name of each row's group, an array of shape (n_rows,)."""
        Z = self.space.encode(X)
        parts = [self._names_by(j, Z[:, j]) for j in self.space.sensitive.tolist()]
        return np.array([", ".join(row) for row in zip(*parts, strict=True)], dtype=object)

    def _names_by(self, j: int, codes: Floats) -> list[str]:
        column = self.space.domain.columns[j]
        names = {}
        for code in np.unique(codes):
            names[code] = f"{column.name} missing"
            if j not in self.cuts and not np.isnan(code):
                value = column.shown(np.array([code]))[0]
                names[code] = f"{column.name} = {value_in_words(value)}"
        if j in self.cuts:
            words = words_of_cuts(column.name, column.shown(self.cuts[j]))
            names |= {
                code: words[np.searchsorted(self.cuts[j], code)] for code in names if code == code
            }
        # NaN is not equal to itself, but it is the one key that is left.
        missing = f"{column.name} missing"
        return [names[code] if code == code else missing for code in codes.tolist()]
