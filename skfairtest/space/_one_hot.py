"""One-hot groups: 0/1 columns of which exactly one is 1 are one attribute.

A group is read off a table (columns with a common prefix) or given by the user. Its encoded value
is the position of the column that is 1 among the group's categories, so that a search that changes
the encoded value moves within the group.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.space._column_names import did_you_mean, position_of

#: What stands between the name of an attribute and that of its category.
SEPARATORS = "_=.-: "
JOINS = tuple(SEPARATORS)
#: Name of the category where all columns are 0.
NONE = "none of them"


class Group:
    """Columns of one group, and their conversion to one encoded value.

    Attributes
    ----------
    name : str or int
        Name of the attribute.
    places : list of int
        Positions of the columns in the table.
    members : list
        Their names.
    categories : list
        Names of the categories, and of that where all columns are 0 behind them.
    order : ndarray of int
        Positions in `categories` by encoded value.
    """

    def __init__(self, name: Any, places: list[int], members: list[Any]) -> None:
        self.name = name
        self.places = places
        self.members = members
        self.categories = _categories(name, members)
        self.order: Ints = np.arange(len(places) + 1)

    def __repr__(self) -> str:
        return f"Group({self.name!r}, {self.members!r})"

    def encode(self, values: list[NDArray[Any]]) -> Floats:
        """Encode the values of the columns; NaN where they are missing."""
        V = np.column_stack([_as_numbers(own) for own in values])
        missing = np.isnan(V)
        is_one = V == 1
        bad = np.asarray(~(is_one | (V == 0) | missing))
        if bad.any():
            column = int(np.flatnonzero(bad.any(axis=0))[0])
            self._refuse(
                bad[:, column], f"hold numbers other than 0 and 1 in {self.members[column]!r}"
            )
        total = is_one.sum(axis=1)
        self._refuse(np.asarray(total > 1), "sum to more than one")
        partly = missing.any(axis=1) & ~missing.all(axis=1)
        self._refuse(np.asarray(partly), "are missing in some of the columns only")
        states = np.where(total == 0, len(self.places), is_one.argmax(axis=1))
        encoded = np.argsort(self.order)[states].astype(np.float64)
        encoded[missing.any(axis=1)] = np.nan
        return encoded

    def has_none(self, values: list[NDArray[Any]]) -> bool:
        """Return whether all columns are 0 in some row."""
        return bool((self.encode(values) == len(self.places)).any())

    def spread(self, encoded: Floats) -> Floats:
        """Return the columns of the encoded values, shape (n, n_columns)."""
        missing = np.isnan(encoded)
        states = self.order[np.where(missing, 0, encoded).astype(np.intp)]
        V = np.where(states[:, None] == np.arange(len(self.places)), 1.0, 0.0)
        V[missing] = np.nan
        return V

    def _refuse(self, rows: Bools, what: str) -> None:
        numbers = np.flatnonzero(rows)
        if not len(numbers):
            return
        shown = ", ".join(map(str, numbers[:5])) + ", ..." * (len(numbers) > 5)
        raise ValueError(
            f"In the one-hot group {self.name!r} of columns {self.members!r} at most one column "
            f"of a row may be 1, the others 0; {len(numbers)} of {len(rows)} rows {what} (rows "
            f"{shown}). Correct or leave out these rows, or take the columns one by one with "
            "one_hot=None, or with a dict that lacks the group."
        )


def _categories(name: Any, members: list[Any]) -> list[Any]:
    """Return members without the prefix of the group, if all of them have it."""
    starts = isinstance(name, str) and all(
        isinstance(member, str) and member[: len(name)] == name and member[len(name) :][:1] in JOINS
        for member in members
    )
    short = [member[len(name) + 1 :].lstrip("_") for member in members] if starts else members
    if len(set(short)) < len(short):
        short = members
    none = NONE
    while none in short:
        none += "*"
    return [*short, none]


def given_groups(one_hot: Any, names: list[Any]) -> dict[Any, list[int]]:
    """Return the groups that a user names, as positions of their columns."""
    if not isinstance(one_hot, Mapping):
        raise ValueError(
            "one_hot= must be 'auto', None or a dict from a name to the columns of the group; got "
            f"{one_hot!r}."
        )
    found: dict[Any, list[int]] = {}
    owner: dict[int, Any] = {}
    for name, members in one_hot.items():
        if isinstance(members, str) or not isinstance(members, Iterable):
            raise ValueError(
                f"one_hot= must give a list of columns for the group {name!r}; got {members!r}."
            )
        places = [_position(names, name, member) for member in members]
        if len(places) < 2 or len(set(places)) < len(places):
            raise ValueError(
                f"one_hot= must name at least two different columns for the group {name!r}; got "
                f"{list(members)!r}."
            )
        shared = [place for place in places if place in owner]
        if shared:
            raise ValueError(
                f"The groups {owner[shared[0]]!r} and {name!r} of one_hot= overlap in "
                f"{[names[place] for place in shared]!r}; a column is part of one group."
            )
        owner.update(dict.fromkeys(places, name))
        found[name] = places
    for name, places in found.items():
        if name in names and names.index(name) not in places:
            raise ValueError(
                f"one_hot= names a group {name!r}, which is the name of a column beside it. Give "
                "the group another name."
            )
    return found


def _position(names: list[Any], group: Any, member: Any) -> int:
    position = position_of(names, member)
    if position is not None:
        return position
    raise ValueError(
        f"one_hot= names {member!r} in the group {group!r}, which is not a column of X."
        f"{did_you_mean(member, names)} Expected names or positions among {names!r}."
    )


def find_groups(
    names: list[Any], values: Sequence[NDArray[Any]], skipped: set[int]
) -> dict[Any, list[int]]:
    """Find 0/1 columns with a common prefix of which exactly one is 1 in every row.

    Of nested prefixes the shortest whose columns sum to one wins. After these, groups with a
    dropped level: sums of at most one, where chance would have set two at once in some rows.
    A group of which the user has named a column in `bounds`, `categories` or `steps` is left
    out.

    Parameters
    ----------
    names : list
        Names of the columns.
    values : list of ndarray
        The columns, as a container gives them.
    skipped : set of int
        Positions that the user has named.

    Returns
    -------
    dict
        Positions by the name of the group: the longest prefix that its columns share.
    """
    columns = Dummies(in_prefixes(names))
    columns.add(values)
    return columns.groups(names, skipped)


class Dummies:
    """The 0/1 columns of a table in memory or in chunks.

    Parameters
    ----------
    places : list of int
        Positions of the columns that may be such.
    """

    def __init__(self, places: list[int]) -> None:
        self.places = places
        self._seen: DummyRows | DummyCounts | None = None

    def add(self, values: Sequence[NDArray[Any]]) -> None:
        """Add some rows, given by all columns; columns with other values are left out."""
        read = [as_dummy(values[place]) for place in self.places]
        kept = [k for k, dummy in enumerate(read) if dummy is not None]
        self.places = [self.places[k] for k in kept]
        if not kept:
            return
        V = np.column_stack([dummy for dummy in read if dummy is not None])
        if self._seen is None:
            self._seen = DummyRows(V)
        else:
            self._seen = self._seen.counts(np.array(kept))
            self._seen.add(V)

    def groups(self, names: list[Any], skipped: set[int]) -> dict[Any, list[int]]:
        """Return the groups among them; see `find_groups`."""
        if self._seen is None or len(self.places) < 2:
            return {}
        return groups_among(names, self.places, self._seen, skipped)

    def has_none(self, places: list[int]) -> bool:
        """Return whether all columns of a group are 0 in some row."""
        assert self._seen is not None
        known = {place: k for k, place in enumerate(self.places)}
        return self._seen.has_none(np.array([known[place] for place in places]))


class DummyRows:
    """Columns of 0 and 1, and which of them exclude each other."""

    def __init__(self, V: Floats) -> None:
        self.V = V

    def counts(self, kept: Ints) -> DummyCounts:
        """Return the same of some of the columns, so that rows can be added."""
        counts = DummyCounts(len(kept))
        counts.add(self.V[:, kept])
        return counts

    def has_none(self, own: Ints) -> bool:
        """Return whether all of these columns are 0 in some row."""
        return bool((self.V[:, own].sum(axis=1) == 0).any())

    def sums_to_one(self, own: Ints) -> bool:
        """Return whether every row of these columns sums to one, and that is no chance."""
        V = self.V[:, own]
        return bool((V.sum(axis=1) == 1).all()) and is_sure_sum(V.mean(axis=0), len(V))

    def excludes(self, own: Ints) -> bool:
        """Return whether at most one is 1 in each row, though by chance two would be in some."""
        V = self.V[:, own]
        return bool((V.sum(axis=1) <= 1).all()) and is_sure_exclusion(V.mean(axis=0), len(V))


class DummyCounts:
    """The same of columns that come in chunks: how often each two of them are 1 at once.

    Parameters
    ----------
    n_columns : int
        How many there are.
    """

    def __init__(self, n_columns: int) -> None:
        self.n_rows = 0
        self.together = np.zeros((n_columns, n_columns))
        self.missing = np.zeros(n_columns, dtype=bool)

    def add(self, V: Floats) -> None:
        """Count some rows."""
        self.n_rows += len(V)
        gone = np.isnan(V)
        self.missing |= gone.any(axis=0)
        V = np.where(gone, 0.0, V)
        self.together += V.T @ V

    def counts(self, kept: Ints) -> DummyCounts:
        """Some of the columns."""
        if len(kept) < len(self.missing):
            self.together = self.together[np.ix_(kept, kept)]
            self.missing = self.missing[kept]
        return self

    def _exclude(self, own: Ints) -> bool:
        together = self.together[np.ix_(own, own)]
        alone = np.count_nonzero(together) == np.count_nonzero(np.diag(together))
        return bool(alone and not self.missing[own].any())

    def _ones(self, own: Ints) -> Floats:
        return np.asarray(np.diag(self.together)[own])

    def sums_to_one(self, own: Ints) -> bool:
        """Return whether every row of these columns sums to one, and that is no chance."""
        ones = self._ones(own)
        sums = self._exclude(own) and ones.sum() == self.n_rows
        return bool(sums) and is_sure_sum(ones / self.n_rows, self.n_rows)

    def excludes(self, own: Ints) -> bool:
        """Return whether at most one is 1 in each row, though by chance two would be in some."""
        return self._exclude(own) and is_sure_exclusion(self._ones(own) / self.n_rows, self.n_rows)

    def has_none(self, own: Ints) -> bool:
        """Return whether all of these columns, which exclude each other, are 0 in some row."""
        return bool(self._ones(own).sum() < self.n_rows)


def groups_among(
    names: list[Any], dummies: list[int], columns: DummyRows | DummyCounts, skipped: set[int]
) -> dict[Any, list[int]]:
    """Return the groups among columns of 0 and 1, given by their positions; see `find_groups`."""
    own_names = [names[j] for j in dummies]
    prefixes = _prefixes(own_names)
    taken = np.zeros(len(dummies), dtype=bool)
    found: list[tuple[str, Ints]] = []
    in_order = sorted(prefixes, key=lambda prefix: (len(prefix), prefix))
    for is_group in (columns.sums_to_one, columns.excludes):
        again = True
        while again:  # what a longer prefix takes may leave a group to a shorter one
            again = False
            for prefix in in_order:
                own = prefixes[prefix][~taken[prefixes[prefix]]]
                if len(own) >= 2 and is_group(own):
                    taken[own] = again = True
                    found.append((prefix, own))
    groups: dict[Any, list[int]] = {}
    known = set(names)
    for prefix, own in found:
        places = sorted(dummies[k] for k in own)
        if skipped.isdisjoint(places):
            # What all of them begin with, up to the last separator.
            common = os.path.commonprefix([own_names[k] for k in own])
            end = max(common.rfind(separator) for separator in SEPARATORS)
            name = common[:end].rstrip(SEPARATORS) or prefix
            while name in known or name in groups:
                name += " (one-hot)"
            groups[name] = places
    return dict(sorted(groups.items(), key=lambda item: item[1][0]))


def as_dummy(values: NDArray[Any]) -> Floats | None:
    """Return a column of 0 and 1 as floats; None for other columns."""
    dummy = _as_numbers(values)
    # Missing values are let in, to keep the other columns from being a group without this one.
    return dummy if np.all((dummy == 0) | (dummy == 1) | np.isnan(dummy)) else None


def _as_numbers(values: NDArray[Any]) -> Floats:
    """Return a column of numbers or booleans as floats; infinity for anything else."""
    if values.dtype.kind in "bf":
        return values.astype(np.float64)
    gone = np.asarray(pd.isna(values), dtype=bool)
    present = values[~gone]
    # Strings are told by the first of them.
    if not len(present) or not all(isinstance(v, (bool, np.bool_)) for v in present):
        return np.where(gone, np.nan, np.inf)
    numbers = np.full(len(values), np.nan)
    numbers[~gone] = present.astype(bool)
    return numbers


def _prefixes(names: list[str]) -> dict[str, Ints]:
    """Return positions of names by each prefix, with its separator, that several names share."""
    found: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        for end, letter in enumerate(name):
            if letter in SEPARATORS and end:
                found.setdefault(name[: end + 1], []).append(k)
    return {prefix: np.array(own) for prefix, own in found.items() if len(own) > 1}


def in_prefixes(names: list[Any]) -> list[int]:
    """Return the positions of the names that share a prefix with another one."""
    named = [j for j, name in enumerate(names) if isinstance(name, str)]
    shared = _prefixes([names[j] for j in named])
    return [named[k] for k in sorted({int(k) for own in shared.values() for k in own})]


def is_sure_sum(p: Floats, n_rows: int) -> bool:
    """Return whether columns that sum to one in all rows are unlikely to do so by chance."""
    if (p == 1).any():  # one column is always 1: nothing tells that it excludes the others
        return False
    chance = float((np.prod(1 - p) * p / (1 - p)).sum())
    # Chance that columns which have nothing to do with each other sum to one in every row, beyond
    # which they are not taken for a group.
    return float(n_rows * np.log(chance)) <= np.log(0.05)


def is_sure_exclusion(p: Floats, n_rows: int) -> bool:
    """Return whether columns of which no two are 1 are unlikely to be so by chance."""
    together = n_rows * (p.sum() ** 2 - (p**2).sum()) / 2
    # Rows in which two of the columns would be 1 at once, were they independent, from which none at
    # all tells that they exclude each other. (The chance of none is then exp(-10).)
    return bool(together >= 10)
