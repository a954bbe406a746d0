"""Who belongs to which group, by columns of the model's table and by columns outside of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skfairtest._typing import Floats, Ints
from skfairtest.space._columns import Column
from skfairtest.space._space import InputSpace
from skfairtest.transports._base import LEAST_ROWS, numbered
from skfairtest.transports._quantile import is_missing

#: What to do about small groups and about many.
WIDER = (
    "Name fewer sensitive columns, or pass wider groups beside X: fit(X, "
    "sensitive_features=X['age'] >= 40)."
)


class Groups(NamedTuple):
    """The groups of the rows.

    Attributes
    ----------
    labels : ndarray of shape (n_groups,)
        Of one attribute its values, of several their values joined by commas.
    codes : ndarray of int of shape (n_rows,)
        The group of each row, as a position in `labels`; -1 where it is none of them.
    values : ndarray of shape (n_groups, n_sensitive)
        Codes of the sensitive columns that the model takes, in each group.
    columns : ndarray of int of shape (n_sensitive,)
        Positions of these columns.
    names : list
        The attributes that form the groups.
    """

    labels: Any
    codes: Ints
    values: Floats
    columns: Ints
    names: list[Any]

    @classmethod
    def of(cls, space: InputSpace, not_in_model: pd.DataFrame | None) -> Groups:
        """Read the groups of the rows of a space, by sensitive columns and those outside the model.

        Raises
        ------
        ValueError
            If sensitive values are missing, there are fewer than two groups, or one has too few
            rows for any map.
        """
        Z, layout = space.data, space.layout
        columns = np.asarray(space.sensitive, dtype=np.intp)
        attributes: dict[Any, Any] = {}
        for j in columns.tolist():
            column = layout.columns[j]
            values = shown_values(column, Z[:, j])
            _check_present(column.name, np.asarray(pd.isna(values)))
            attributes[column.name] = values
        for name, given in () if not_in_model is None else not_in_model.items():
            values = given.to_numpy(dtype=object)
            _check_present(name, np.asarray(pd.isna(values)))
            attributes[name] = values
        labels, codes = _numbered(list(attributes.values()))
        counts = np.bincount(codes, minlength=len(labels))
        names = list(attributes)
        if len(labels) < 2:
            raise ValueError(
                f"{names!r} must form two groups or more; all rows belong to {labels[0]!r} "
                f"(n_samples={len(Z)}). Pass rows of other groups as well."
            )
        if counts.min() < LEAST_ROWS:
            _check_sizes(labels, counts, names)
        first = np.array([int(np.flatnonzero(codes == g)[0]) for g in range(len(labels))])
        return cls(labels, codes, Z[np.ix_(first, columns)], columns, names)

    def check_number(self) -> None:
        """Raise if there are too many groups to compare each with each."""
        n, most = len(self), 64
        if n > most:
            raise ValueError(
                f"{self.names!r} form {n} groups, between which there are {n * (n - 1):,} maps to "
                f"learn and to judge. Expected at most {most} groups. {WIDER}"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def set_values(self, Z: Floats, groups: Ints) -> Floats:
        """Return rows with the sensitive values of the given groups."""
        Z = Z.copy()
        Z[:, self.columns] = self.values[groups]
        return Z

    def without(self, Z: Floats) -> Floats:
        """Return rows with the same sensitive values in all, so that a map has nothing to move."""
        return self.set_values(Z, np.zeros(len(Z), dtype=np.intp))


def shown_values(column: Column, encoded: Floats) -> Any:
    """Return encoded values as objects, decoded: whole numbers as such, missing values as None."""
    missing = is_missing(column, encoded)
    values = np.asarray(column.shown(np.where(missing, column.low, encoded)), dtype=object)
    if column.whole:
        values = np.array([int(value) for value in values], dtype=object)
    values[missing] = None
    return values


def _check_present(name: Any, missing: Any) -> None:
    if missing.any():
        raise ValueError(
            f"The sensitive column {name!r} has missing values in {int(missing.sum())} of "
            f"{len(missing)} rows (such as row {int(np.flatnonzero(missing)[0])}), so the groups "
            "of these rows are not known. Leave them out, or give them a value of their own."
        )


def _check_sizes(labels: Any, counts: Ints, names: list[Any]) -> None:
    small = np.flatnonzero(counts < LEAST_ROWS)
    # The message lists five groups.
    listed = [labels[g] for g in small[:5]]
    raise ValueError(
        f"{names!r} form {len(labels)} groups; groups of one row: {len(small)}, such as "
        f"{listed!r}. A map needs {LEAST_ROWS} rows of each group, and hundreds to be of use. "
        f"Leave out these rows. {WIDER}"
    )


def _numbered(attributes: list[Any]) -> tuple[Any, Ints]:
    """Return the labels of the groups in order, and the group of each row."""
    places, levels = [], []
    for values in attributes:
        level, place = numbered(values)
        places.append(place)
        levels.append(np.asarray(level, dtype=object))
    if len(attributes) == 1:
        return levels[0], places[0]
    found, codes = np.unique(np.column_stack(places), axis=0, return_inverse=True)
    labels = [
        ", ".join(str(level[k]) for level, k in zip(levels, own, strict=True)) for own in found
    ]
    return np.array(labels, dtype=object), codes.ravel().astype(np.intp)
