"""The base of all constraint objects, the simple condition `Is`, and lists of constraints."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from skfairtest._typing import Bools, is_real
from skfairtest.exceptions import ConstraintWarning, users_level
from skfairtest.space._constraints.bound_columns import BoundColumns
from skfairtest.space._constraints.rules import AllRule, Rule, SumRule, Term
from skfairtest.space._constraints.table_rule import TableRule

RELATIONS = ("<=", "<", ">=", ">", "==")


class Constraint:
    """Base class of the constraint objects."""

    #: Names of the parameters, which are attributes as well.
    _fields: tuple[str, ...] = ()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Has no effect.

        Returns
        -------
        dict
            Parameters and their values.
        """
        return {name: getattr(self, name) for name in self._fields}

    def set_params(self, **params: Any) -> Any:
        """Change parameters by name.

        Parameters
        ----------
        **params : dict
            Parameters and their values.

        Returns
        -------
        self : object
            The constraint.
        """
        for name, value in params.items():
            if name not in self._fields:
                raise ValueError(
                    f"Invalid parameter {name!r} for {type(self).__name__}; expected one of "
                    f"{list(self._fields)}."
                )
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Any:
        return copy.deepcopy(self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _hashable(self) == _hashable(other)

    def __hash__(self) -> int:
        return hash(_hashable(self))

    def __call__(self, X: Any) -> Bools:
        """Return which rows of a table satisfy the constraint.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of bool of shape (n_rows,)
            True where the constraint holds.
        """
        table = BoundColumns.of(X)
        return self._learned(table)._rule(table).valid(table.data)

    def _learned(self, table: BoundColumns) -> Constraint:
        """Return the constraint with everything that it learns from the data."""
        return self

    def _rule(self, table: BoundColumns) -> Rule:
        """Return the constraint as a rule on the encoded values of a table."""
        raise NotImplementedError


class Is(Constraint):
    """Require that a column has a given value, one of several, or one in a range.

    Parameters
    ----------
    column : str or int
        The column.
    values : value, list of values, or (low, high)
        A single value, a list of values of which the column has one, or a tuple (low, high) for a
        range. The range includes both ends, and None leaves an end open. None, alone or in a list,
        means a missing value.

    See Also
    --------
    Implies : Requires one condition if another one holds.

    Notes
    -----
    In a list of values, missing is a value like any other. A range excludes no missing numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfairtest import Is
    >>> X = pd.DataFrame({"age": [12, 30, 70], "job": ["none", "cook", "driver"]})
    >>> Is("age", (18, None))(X)
    array([False,  True,  True])
    >>> print(Is("age", (18, None)), Is("job", ["cook", "teacher"]), sep="; ")
    age >= 18; job in (cook, teacher)
    """

    _fields = ("column", "values")

    def __init__(self, column: Any, values: Any) -> None:
        self.column, self.values = column, values

    def __repr__(self) -> str:
        return f"Is({self.column!r}, {self.values!r})"

    def __str__(self) -> str:
        if isinstance(self.values, tuple):
            low, high = (None, None) if len(self.values) != 2 else self.values
            if low is None:
                return f"{self.column} <= {shown(high)}"
            if high is None:
                return f"{self.column} >= {shown(low)}"
            return f"{shown(low)} <= {self.column} <= {shown(high)}"
        among = listed(self.values)
        if len(among) == 1:
            return f"{self.column} = {shown(among[0])}"
        return f"{self.column} in ({', '.join(map(shown, among))})"

    def _rule(self, table: BoundColumns) -> Rule:
        j = table.position(self.column, self)
        if not isinstance(self.values, tuple):
            encoded = table.encode_listed(j, listed(self.values), self)
            return TableRule([j], encoded[:, None], whole=bool(table.discrete[j]))
        if len(self.values) != 2 or all(end is None for end in self.values):
            raise ValueError(
                f"{self!r}: a tuple is a range (low, high), of which one end may be None; got "
                f"{self.values!r}. Write a list for several values."
            )
        values, ends = table.range_of(j, self.values, self)
        low, high = ends
        parts: list[Rule] = []
        if low is not None:
            parts.append(sum_rule(table, [Term.of(j, 1.0, values)], ">=", low))
        if high is not None:
            parts.append(sum_rule(table, [Term.of(j, 1.0, values)], "<=", high))
        return all_of(parts)


def _hashable(value: Any) -> Any:
    """Return a value that is equal, and has an equal hash, where what users mean is equal.

    Arrays have no truth value when they are compared, and stand for the list of their values;
    mappings and sets are equal in any order; missing numbers are equal.
    """
    if isinstance(value, Constraint):
        return type(value), _hashable(value.get_params())
    if isinstance(value, (np.ndarray, pd.Index, pd.Series)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return Mapping, frozenset((key, _hashable(own)) for key, own in value.items())
    if isinstance(value, (set, frozenset)):
        return frozenset, frozenset(map(_hashable, value))
    if isinstance(value, (list, tuple)):  # a list of values, a tuple is a range
        return list if isinstance(value, list) else tuple, tuple(map(_hashable, value))
    if isinstance(value, float) and np.isnan(value):
        return float, "nan"
    return value if isinstance(value, Hashable) else (type(value), id(value))


def constraints_of(given: Any) -> list[Any]:
    """Return what a user wrote as constraint objects and callables, all of which must hold."""
    if isinstance(given, Mapping):
        return [Is(column, values) for column, values in given.items()]
    if isinstance(given, (list, tuple)):
        return [one for part in given for one in constraints_of(part)]
    if not callable(given):
        raise TypeError(
            "constraint= must be a callable on rows, a constraint such as Order('a', '<=', 'b'), "
            f"or a list of these; got {type(given).__name__}."
        )
    return [given]


def learn(constraints: list[Any], table: BoundColumns) -> list[Any]:
    """Return the constraints with what they take from the data."""
    return [one._learned(table) if isinstance(one, Constraint) else one for one in constraints]


def bind(constraints: list[Any], table: BoundColumns) -> list[Rule]:
    """Return the rules of constraint objects and callables for a table."""
    return [
        one._rule(table) if isinstance(one, Constraint) else table.opaque(one)
        for one in constraints
    ]


def all_of(rules: list[Rule]) -> Rule:
    """Return one rule that several rules all hold."""
    return rules[0] if len(rules) == 1 else AllRule(rules)


def check_constraints(constraints: list[Any], table: BoundColumns) -> None:
    """Bind constraints to a table, and warn of its rows that break one; callables are not asked."""
    lines = []
    for constraint, rule in zip(constraints, bind(constraints, table), strict=True):
        if rule.is_opaque:
            continue
        broken = np.flatnonzero(~rule.valid(table.data))
        if len(broken):
            named = ", ".join(map(str, broken[:5]))
            more = ", ..." if len(broken) > 5 else ""
            lines.append(
                f"{len(broken)} of {len(table.data)} rows of X break the constraint "
                f"{name_of(constraint)} (rows {named}{more})"
            )
    if lines:
        warnings.warn(
            "; ".join(lines) + ". These rows count as inputs that do not exist; correct the "
            "constraint, or the rows.",
            ConstraintWarning,
            stacklevel=users_level(),
        )


def name_of(constraint: Any) -> str:
    """Return a constraint in words."""
    if isinstance(constraint, Constraint):
        return str(constraint)
    return getattr(constraint, "__name__", type(constraint).__name__)


def sum_rule(table: BoundColumns, terms: list[Term], relation: str, limit: float) -> Rule:
    if relation in (">=", ">"):
        terms = [term._replace(weight=-term.weight) for term in terms]
        relation, limit = "<" + relation[1:], -limit
    return SumRule(terms, relation, limit, table.discrete, table.single)


def check_relation(relation: Any, owner: str) -> None:
    if relation not in RELATIONS:
        raise ValueError(f"{owner}: the relation must be one of {RELATIONS}; got {relation!r}.")


def listed(values: Any) -> list[Any]:
    if isinstance(values, (list, set, frozenset, np.ndarray, pd.Index, pd.Series)):
        return list(values)
    return [values]


def number(value: float) -> str:
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


def shown(value: Any) -> str:
    if value is None:
        return "missing"
    return number(value) if is_real(value) else str(value)
