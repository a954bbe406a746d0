"""Columns, also such as the model does not take, as the attributes that rules name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from skfairtest import _clock
from skfairtest._typing import Bools
from skfairtest.exceptions import users_level
from skfairtest.group._rules.attribute import (
    Attribute,
    ColumnValues,
    Division,
    Numbers,
    divide_column,
)
from skfairtest.group._rules.cuts import bins_of
from skfairtest.space._column_names import by_position, position_of, resolve_columns
from skfairtest.space._containers import Container, make_container
from skfairtest.space._protected_names import protected_names
from skfairtest.space._sensitive_features import as_columns, index_of, n_rows
from skfairtest.space._space import InputSpace


class TableColumns:
    """Reads the columns of a table as they are.

    Parameters
    ----------
    container : Container
        What is known of the table.
    """

    def __init__(self, container: Container) -> None:
        self.container = container

    @property
    def names(self) -> list[Any]:
        """Names of the columns."""
        return self.container.names

    def read(self, X: Any, j: int) -> ColumnValues:
        """The values of a column of these rows."""
        return ColumnValues(
            self.names[j], self.container.column_values(X, j), self.container.dates_of(j)
        )


class SpaceColumns:
    """Reads the columns of a table as an input space knows them.

    Parameters
    ----------
    space : InputSpace
        Knows the categories of columns, bounds of numbers, and which 0/1 columns are one attribute.
    """

    def __init__(self, space: InputSpace) -> None:
        self.space = space

    @property
    def container(self) -> Container:
        """What is known of the table."""
        return self.space.layout.container

    @property
    def names(self) -> list[Any]:
        """Names of the attributes."""
        return self.space.feature_names

    def read(self, X: Any, j: int) -> ColumnValues:
        """The values of a column of these rows; None for those of the space."""
        if X is None:
            codes = self.space.data[:, j]
        else:
            codes = self.space.layout.encode_attribute(X, j)
        column, codes = self.space.domain.columns[j].for_rules(codes)
        if not column.is_category:
            return ColumnValues(column.name, codes, column.dates, bounds=(column.low, column.high))
        levels = column.take(np.arange(float(column.n_listed or 0)))
        missing = -1 if column.missing is None else int(column.missing)
        return ColumnValues(column.name, codes, column.dates, levels, missing)


Source = TableColumns | SpaceColumns


class AttributeTables:
    """Where the attributes of rules are, and how they are divided.

    Parameters
    ----------
    inputs : TableColumns or SpaceColumns
        The columns of X.
    wanted : list of int
        Positions of those that rules may name.
    not_in_model : TableColumns or SpaceColumns, default=None
        Sensitive columns that are not in X, which the model takes.
    others : list of int, default=()
        Positions of those of them that rules may name.

    Attributes
    ----------
    attributes : list of Attribute
        Those of X first.
    """

    inputs: TableColumns | SpaceColumns
    not_in_model: TableColumns | SpaceColumns | None
    attributes: list[Attribute]

    def __init__(
        self,
        inputs: Source,
        wanted: list[int],
        not_in_model: Source | None = None,
        others: Any = (),
    ) -> None:
        self.inputs, self.not_in_model = inputs, not_in_model
        self.attributes = []
        #: Positions in the two tables that the attributes are made of.
        self.places = (list(wanted), list(others))

    @property
    def names(self) -> list[Any]:
        """Names of the attributes."""
        return [attribute.name for attribute in self.attributes]

    @property
    def container(self) -> Container:
        """What is known of the table."""
        return self.inputs.container

    def divide(
        self, X: Any, not_in_model: Any, bins: Any, how: Division, *, quiet: bool = False
    ) -> list[Numbers]:
        """Make the attributes, and return the numbers of the rows' values, an array each.

        A column of one value divides nobody, and is left out with a warning, unless `quiet`.

        Raises
        ------
        ValueError
            If no column is left.
        """
        parts = self._parts(X, not_in_model)
        names = [source.names[j] for source, _, places in parts for j in places]
        if isinstance(bins, dict):
            by_position(names, bins, how.label)
        numbers, constant = [], []
        for source, table, places in parts:
            kept = []
            for j in places:
                _clock.check_ending()
                column = source.read(table, j)
                wish = bins_of(column.name, j, bins, how.label, how.bins)
                attribute, here = divide_column(column, how._replace(bins=wish))
                if attribute is None:
                    constant.append(column.name)
                    continue
                kept.append(j)
                self.attributes.append(attribute)
                numbers.append(here)
            places[:] = kept
        self._check_divided(constant, len(column.values), quiet)
        return numbers

    def _check_divided(self, constant: list[Any], n: int, quiet: bool) -> None:
        """Warn of columns that divide nobody; raise an error if no other is left."""
        if not self.attributes:
            raise ValueError(
                f"None of the columns {constant!r} has more than one value, or bin with rows "
                f"(n_samples={n}), so no rule divides the rows. Pass rows that differ, or name "
                "other columns."
            )
        if constant and not quiet:
            warnings.warn(
                f"The columns {constant!r} have only one value, or bin with rows (n_samples={n}), "
                "so no rule over them divides the rows; they are left out.",
                UserWarning,
                stacklevel=users_level(),
            )

    def _parts(self, X: Any, not_in_model: Any) -> list[tuple[Source, Any, list[int]]]:
        parts = [(self.inputs, X, self.places[0])]
        if self.not_in_model is not None:
            parts.append((self.not_in_model, not_in_model, self.places[1]))
        return parts

    def numbers(self, X: Any, sensitive_features: Any) -> list[Numbers]:
        """Numbers of the values of new rows, an array an attribute; -1 matches no condition.

        Raises
        ------
        ValueError
            If the table is not like the one in fit, or a space does not have a value.
        """
        others = None if self.not_in_model is None else self.not_in_model.container
        X, not_in_model = new_rows(X, sensitive_features, self.container, others)
        found: list[Numbers] = []
        for source, table, places in self._parts(X, not_in_model):
            for j in places:
                attribute = self.attributes[len(found)]
                values = source.read(table, j).values
                here = attribute.numbers(values)
                if isinstance(source, SpaceColumns):
                    _check_known(attribute, values, here)
                found.append(here)
        return found

    def holds(self, numbers: list[Numbers], rule: NDArray[np.integer]) -> Bools:
        """Tell which rows a rule holds for, by its condition for each attribute, -1 for none."""
        held = np.ones(len(numbers[0]), dtype=bool)
        for attribute, here, condition in zip(self.attributes, numbers, rule, strict=True):
            if condition >= 0:
                # What is unknown is in no condition: -1 is the last place.
                held &= np.append(attribute.members[condition], False)[here]
        return held

    def forget_data(self) -> None:
        """Drop the rows of spaces, because results need the columns only."""
        for source in (self.inputs, self.not_in_model):
            if isinstance(source, SpaceColumns):
                source.space.data = source.space.data[:0]


def _check_known(attribute: Attribute, values: NDArray[Any], numbers: Numbers) -> None:
    """Check that the values of a column of few numbers are among these."""
    other = values[(numbers < 0) & ~pd.isna(values)]
    if len(other) and attribute.levels is not None:
        raise ValueError(
            f"Column {attribute.name!r} has values that are not among its "
            f"{len(attribute.levels)} known ones: {np.unique(other)[:5].tolist()}. Leave out "
            "those rows."
        )


def new_rows(
    X: Any, sensitive_features: Any, inputs: Container, others: Container | None
) -> tuple[Any, Any]:
    """Divide new rows into the two tables of fit; the new X may have the columns of both."""
    if others is None:
        return inputs.check_names(X), None
    if sensitive_features is None:
        columns = make_container(X).names
        if not all(name in columns for name in others.names):
            raise ValueError(
                f"sensitive_features must hold the columns {others.names!r}, which fit "
                "was given in addition to X; got None, and X does not have them."
            )
        sensitive_features = {name: X[name] for name in others.names}
    not_in_model = as_columns(sensitive_features, n_rows(X), index_of(X))
    return inputs.check_names(X), others.check_names(not_in_model)


# Which columns --------------------------------------------------------------------------------


def tables_of_space(X: Any, sensitive: Any, not_in_model: Any, space: InputSpace | None) -> Any:
    """Find the sensitive columns of X, whose space is learned, and those that are not in X."""
    own = InputSpace() if space is None else clone(space)
    if own.__sklearn_is_fitted__():
        space = own.with_data(X)
    else:
        # The perturbed rows have no twins.
        space = own.set_params(plausible=None, twins=None).fit(X, None)
    other = None if not_in_model is None else SpaceColumns(InputSpace().fit(not_in_model, None))
    names = space.feature_names
    taken = [] if other is None else other.names
    found = sensitive_names(names, sensitive, taken, space.layout.resolve)
    space = space.with_sensitive_features(found)
    return AttributeTables(SpaceColumns(space), space.sensitive.tolist(), other, range(len(taken)))


def sensitive_names(
    names: list[Any], wanted: Any, taken: list[Any], resolve: Any, *, needed: bool = True
) -> list[int]:
    """Positions of the sensitive columns of X, in the order of the table.

    Parameters
    ----------
    names : list
        The columns of X.
    wanted : "auto", None, column or list of these
        What the user asked for.
    taken : list
        Names of the columns that are not in X.
    resolve : callable
        Finds positions of columns that are named.
    needed : bool, default=True
        Whether there has to be a column.
    """
    if isinstance(wanted, str) and wanted == "auto":
        found = protected_names(names)
        if not found and not taken and needed:
            raise ValueError(
                "sensitive_features='auto' found no column with the name of a common protected "
                f"attribute (sex, race, age, ...) among {names!r}. Name the columns that "
                "describe groups by sensitive_features=[...], or pass columns that are not in X "
                "to fit."
            )
        return sorted(resolve(found)) if found else []
    if wanted is None and (taken or not needed):
        return []
    if wanted is None:
        raise ValueError(
            "sensitive_features must be 'auto', a column or a list of columns; got None."
        )
    return sorted(resolve(wanted))


def tables_of_columns(X: Any, sensitive: Any, attributes: Any, not_in_model: Any) -> Any:
    """Find the columns that rules may name, in X and outside of it, and the sensitive ones of them.

    Returns
    -------
    AttributeTables
        The columns.
    list
        Names of the sensitive columns, those that are not in X last.
    """
    inputs = TableColumns(make_container(X))
    other = None if not_in_model is None else TableColumns(make_container(not_in_model))
    own, taken = inputs.names, [] if other is None else other.names

    def resolve(wanted: Any) -> list[int]:
        return resolve_columns(own, wanted)

    places = sensitive_names(own, sensitive, taken, resolve, needed=attributes is None)
    protected = [*(own[j] for j in places), *taken]
    if attributes is None:
        wanted = protected
    elif isinstance(attributes, str) and attributes == "all":
        wanted = [*taken, *own]
    else:
        wanted = _named([*taken, *own], own, attributes)
    chosen = [[j for j, name in enumerate(names) if name in wanted] for names in (own, taken)]
    return AttributeTables(inputs, chosen[0], other, chosen[1]), protected


def _named(names: list[Any], of_table: list[Any], attributes: Any) -> list[Any]:
    if isinstance(attributes, (str, int, np.integer)):
        attributes = [attributes]
    wanted = []
    for name in attributes:
        position = None if name in names else position_of(of_table, name)
        if name not in names and position is None:
            raise ValueError(
                f"attributes names {name!r}, which is not a column. Expected None, 'all', or names "
                f"or positions of columns among {names!r}."
            )
        wanted.append(name if position is None else of_table[position])
    if not wanted:
        raise ValueError("attributes is empty; pass at least one column, or 'all'.")
    return wanted
