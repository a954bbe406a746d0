"""The sensitive columns of a table, and those given beside it, as cells of rules."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from skfairtest._typing import Ints
from skfairtest.group._rules.run_attribute import RuleAttribute, bins_of, make_attribute, recode
from skfairtest.space._column_names import by_position
from skfairtest.space._containers import Container
from skfairtest.space._protected_names import protected_names
from skfairtest.space._sensitive_features import as_columns, n_rows
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
        Of the inputs first.
    """

    attributes: list[RuleAttribute]

    def __init__(self, space: InputSpace, beside: InputSpace | None) -> None:
        self.space = space
        self.beside = beside
        self.attributes = []
        #: Positions in the two tables that the attributes are made of.
        self.inputs = space.sensitive.tolist()
        self.others = [] if beside is None else list(range(len(beside.feature_names)))

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
                column, codes = table.domain.columns[j].for_rules(table.data[:, j])
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
        cells: list[Ints] = []
        others = None if self.beside is None else self.beside.layout.container
        X, beside = new_rows(X, sensitive_features, self.space.layout.container, others)
        tables = [(self.space, self.inputs, X)]
        if self.beside is not None:
            tables.append((self.beside, self.others, beside))
        for table, positions, rows in tables:
            for j in positions:
                attribute = self.attributes[len(cells)]
                own, codes = table.layout.read_attribute(rows, j)
                column, codes = own.for_rules(codes)
                cells.append(attribute.cells(recode(attribute, column, codes)))
        return np.column_stack(cells)

    def forget_data(self) -> None:
        """Drop the rows, because results need the columns only."""
        for table in (self.space, self.beside):
            if table is not None:
                table.data = table.data[:0]


class GivenRows:
    """Rows as they are, for a model that is asked about them by their positions."""

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


def new_rows(
    X: Any, sensitive_features: Any, inputs: Container, others: Container | None
) -> tuple[Any, Any]:
    """Divide new rows into the two tables of fit; columns beside X may be in the new X."""
    if others is None:
        return inputs.check_names(X), None
    if sensitive_features is None:
        columns = getattr(X, "columns", [])
        if not all(name in columns for name in others.names):
            raise ValueError(
                f"sensitive_features must hold the columns {others.names!r}, which were passed "
                "to fit beside X; got None, and X does not have them."
            )
        sensitive_features = {name: X[name] for name in others.names}
    index = X.index if isinstance(X, pd.DataFrame) else None
    beside = as_columns(sensitive_features, n_rows(X), index)
    return inputs.check_names(X), others.check_names(beside)


def make_tables(X: Any, sensitive: Any, beside: Any, space: InputSpace | None) -> SensitiveTables:
    """Find the sensitive columns of X and beside it."""
    own = InputSpace() if space is None else clone(space)
    if own.__sklearn_is_fitted__():
        space = own.with_data(X)
    else:
        # The perturbed rows have no twins.
        space = own.set_params(plausible=None, twins=None).fit(X, None)
    other = None if beside is None else InputSpace().fit(beside, None)
    if isinstance(sensitive, str) and sensitive == "auto":
        names = space.feature_names
        found = protected_names(names)
        if not found and other is None:
            raise ValueError(
                "sensitive_features='auto' found no column with the name of a common protected "
                f"attribute (sex, race, age, ...) among {names!r}. Pass their names as "
                "sensitive_features=[...], or pass columns that are not in X to fit."
            )
        positions = space.layout.resolve(found) if found else []
    elif sensitive is None and other is not None:
        positions = []
    else:
        positions = space.layout.resolve(sensitive)
    return SensitiveTables(space.with_sensitive_features(positions), other)
