"""The sensitive columns of a table and of the table beside it, as cells of rules."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Floats, Ints
from skfairtest.group._rule_attribute import RuleAttribute, bins_of, make_attribute, recode
from skfairtest.space._chunks import Chunks
from skfairtest.space._column_names import by_position
from skfairtest.space._columns import Column
from skfairtest.space._containers import make_container
from skfairtest.space._protected_names import protected_names
from skfairtest.space._space import InputSpace

Cell = NDArray[np.int16]


class SensitiveTables:
    """Where the sensitive attributes of a run are, and how they are divided.

    Attributes
    ----------
    space : InputSpace
        The model's inputs.
    beside : InputSpace or None
        Sensitive columns that are no inputs.
    attributes : list of RuleAttribute
        Of the inputs first; of a name in both tables, the one beside.
    """

    attributes: list[RuleAttribute]

    def __init__(self, space: InputSpace, beside: InputSpace | None) -> None:
        self.space = space
        self.beside = beside
        self.attributes = []
        taken = beside.feature_names if beside is not None else []
        #: Positions in the two tables that the attributes are made of.
        self.inputs = [int(j) for j in space.sensitive if space.feature_names[j] not in taken]
        self.others = list(range(len(taken)))

    @property
    def names(self) -> list[Any]:
        """Names of the sensitive attributes."""
        return [attribute.name for attribute in self.attributes]

    def divide(self, n_bins: Any, binning: str) -> list[Cell]:
        """Make the attributes, and return the cells of the data, one array an attribute."""
        by_position(self._all_names(), n_bins if isinstance(n_bins, dict) else None, "n_bins")
        cells = []
        for table, positions in ((self.space, self.inputs), (self.beside, self.others)):
            for j in positions:
                assert table is not None
                column, codes = as_numbers_of(table, j, table.data[:, j])
                bins = bins_of(column.name, j, n_bins)
                attribute = make_attribute(column, codes, bins, binning)
                self.attributes.append(attribute)
                # Few bins, many rows: two bytes a row are felt where there are ten million.
                cells.append(attribute.cells(recode(attribute, column, codes)).astype(np.int16))
        return cells

    def _all_names(self) -> list[Any]:
        names = [self.space.feature_names[j] for j in self.inputs]
        return names + (self.beside.feature_names if self.beside is not None else [])

    def cells(self, X: Any, sensitive_features: Any) -> Ints:
        """Cells of the rows of new tables, shape (n, n_attributes)."""
        X = self.space.container.check_names(X)
        cells: list[Ints] = []
        tables = [(self.space, self.inputs, X)]
        if self.beside is not None:
            beside = as_table(sensitive_features, n_rows(X))
            if beside is None:
                raise ValueError(
                    f"sensitive_features must hold the columns {self.beside.feature_names!r}, "
                    "which were given to fit and are no inputs of the model; got None."
                )
            tables.append((self.beside, self.others, self.beside.container.check_names(beside)))
        for table, positions, rows in tables:
            for j in positions:
                attribute = self.attributes[len(cells)]
                column, codes = as_numbers_of(table, j, table.layout.attribute_codes(rows, j))
                cells.append(attribute.cells(recode(attribute, column, codes)))
        return np.column_stack(cells)

    def forget_data(self) -> None:
        """Let go of the rows: results need the columns only."""
        for table in (self.space, self.beside):
            if table is not None:
                table.data = table.data[:0]


def as_numbers_of(table: InputSpace, j: int, codes: Floats) -> tuple[Column, Floats]:
    """An attribute and its codes as rules speak of them: numbers by their values.

    Raises
    ------
    ValueError
        If a column whose few numbers are categories has others.
    """
    column = table.columns[j]
    if not column.is_coded:
        return column, codes
    if column.levels is None:
        return column.field(), column.take(codes)
    assert column.scale is not None
    other = codes[~np.isin(codes, np.arange(len(column.levels))) & ~np.isnan(codes)]
    if len(other):
        raise ValueError(
            f"Column {column.name!r} has values that are not among its {len(column.levels)} known "
            f"ones: {column.scale.values(np.unique(other))[:5].tolist()}. Leave out those rows."
        )
    return column, codes


class GivenRows:
    """Rows as they are, for a model that is asked about them by their numbers."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def decode(self, numbers: Ints) -> Any:
        """The rows of these numbers, in the container that they came in."""
        if isinstance(self.rows, (pd.DataFrame, pd.Series)):
            return self.rows.iloc[numbers]
        if isinstance(self.rows, np.ndarray):
            return self.rows[numbers]
        if isinstance(self.rows, list):
            return [self.rows[number] for number in numbers]
        return nw.from_native(self.rows, eager_only=True)[numbers.tolist()].to_native()


def n_rows(X: Any) -> int:
    """Number of rows of any table."""
    return len(X) if hasattr(X, "__len__") else len(nw.from_native(X, eager_only=True))


def as_table(sensitive_features: Any, n_samples: int) -> Any:
    """The columns beside X as a table with names; None where there are none."""
    if sensitive_features is None:
        return None
    table = sensitive_features
    if isinstance(table, pd.Series):
        table = table.to_frame("sensitive" if table.name is None else table.name)
    if isinstance(table, (list, tuple, np.ndarray)):
        array = np.asarray(table)
        array = array.reshape(len(array), -1) if array.ndim <= 1 else array
        names = [f"sensitive_{j}" for j in range(array.shape[1])]
        table = pd.DataFrame(array, columns=names).infer_objects()
    make_container(table)  # says which tables are taken
    if n_rows(table) != n_samples:
        raise ValueError(
            "sensitive_features must have one row for each row of X, in the same order; got "
            f"{n_rows(table)} rows for {n_samples}."
        )
    return table


def make_tables(
    X: Any, sensitive: Any, beside: Any, space_settings: dict[str, Any]
) -> SensitiveTables:
    """Find the sensitive columns of X and beside it."""
    make = InputSpace.from_chunks if isinstance(X, Chunks) else InputSpace.from_data
    space = make(X, None, **space_settings)
    other = None if beside is None else InputSpace.from_data(beside, None)
    if isinstance(sensitive, str) and sensitive == "auto":
        names = space.feature_names
        found = protected_names(names)
        if not found and other is None:
            raise ValueError(
                "sensitive_features='auto' found no column with the name of a common protected "
                f"attribute (sex, race, age, ...) among {names!r}. Name the sensitive columns: "
                "sensitive_features=[...], or give columns that are no inputs to fit."
            )
        positions = space.layout.resolve(found) if found else []
    else:
        positions = space.layout.resolve(sensitive)
    return SensitiveTables(space.with_sensitive_features(positions), other)
