"""Constraint objects: each states in one line which rows of a table can exist.

An object is a plain value that knows column names. `InputSpace` binds it to a table, which makes it
a `Rule` on encoded values. Called with a table, it returns which rows satisfy it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from skfairtest._typing import is_real
from skfairtest.space._constraints.base import (
    Constraint,
    all_of,
    bind,
    check_relation,
    constraints_of,
    learn,
    number,
    sum_rule,
)
from skfairtest.space._constraints.bound_columns import BoundColumns
from skfairtest.space._constraints.rules import AnyRule, Rule, Term
from skfairtest.space._constraints.table_rule import TableRule


class Order(Constraint):
    """Require that one column is at most, less than, or equal to another one.

    Parameters
    ----------
    column : str or int
        A column of numbers, or of ordered categories.
    relation : {"<=", "<", ">=", ">", "=="}
        The relation between `column` and `other`.
    other : str or int
        The column that it is compared with. Ordered categories must be the same in both columns.
    offset : float, default=0
        Number that is added to the other column before they are compared.

    See Also
    --------
    Linear : Compares a weighted sum of any number of columns with a limit.

    Notes
    -----
    A row with one of the two numbers missing satisfies the constraint.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfairtest import Order
    >>> constraint = Order("experience", "<=", "age", offset=-15)
    >>> print(constraint)
    experience <= age - 15
    >>> constraint(pd.DataFrame({"age": [20, 50], "experience": [10, 30]}))
    array([False,  True])
    """

    _fields = ("column", "relation", "other", "offset")

    def __init__(self, column: Any, relation: str, other: Any, offset: float = 0) -> None:
        check_relation(relation, "Order")
        self.column, self.relation, self.other, self.offset = column, relation, other, offset

    def __repr__(self) -> str:
        offset = f", offset={self.offset!r}" if self.offset else ""
        return f"Order({self.column!r}, {self.relation!r}, {self.other!r}{offset})"

    def __str__(self) -> str:
        offset = f" {'+-'[self.offset < 0]} {number(abs(self.offset))}" if self.offset else ""
        return f"{self.column} {self.relation} {self.other}{offset}"

    def _rule(self, table: BoundColumns) -> Rule:
        if not is_real(self.offset):
            raise ValueError(f"{self!r}: offset must be a finite number; got {self.offset!r}.")
        i, j = table.position(self.column, self), table.position(self.other, self)
        if i == j:
            raise ValueError(
                f"{self!r} compares a column with itself. Name two columns; to limit one, use "
                "InputSpace(bounds=...) or Is(column, (low, high))."
            )
        one, two = table.comparable(i, j, self, self.offset)
        terms = [Term.of(i, 1.0, one), Term.of(j, -1.0, two)]
        return sum_rule(table, terms, self.relation, self.offset)


class Linear(Constraint):
    """Require that a weighted sum of columns is at most, at least, or equal to a limit.

    Parameters
    ----------
    weights : dict of column to float
        Columns of numbers, and the weight of each.
    relation : {"<=", "<", ">=", ">", "=="}
        The relation between the sum and the limit.
    limit : float
        The limit. A sum of real numbers counts as equal to it if they differ by at most a billionth
        of the terms of the sum.

    See Also
    --------
    Order : Compares two columns.

    Notes
    -----
    A row with one of the numbers missing satisfies the constraint.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfairtest import Linear
    >>> constraint = Linear({"income": 1, "hours": -2}, "<=", 0)
    >>> print(constraint)
    income - 2 hours <= 0
    >>> constraint(pd.DataFrame({"income": [30, 90], "hours": [20, 40]}))
    array([ True, False])
    """

    _fields = ("weights", "relation", "limit")

    def __init__(self, weights: Mapping[Any, float], relation: str, limit: float) -> None:
        check_relation(relation, "Linear")
        self.weights, self.relation, self.limit = weights, relation, limit

    def __repr__(self) -> str:
        return f"Linear({self.weights!r}, {self.relation!r}, {self.limit!r})"

    def __str__(self) -> str:
        text = ""
        for column, weight in self.weights.items():
            sign = "-" if weight < 0 else "+"
            size = "" if abs(weight) == 1 else f"{number(abs(weight))} "
            text += f" {sign} {size}{column}"
        text = text[3:] if text.startswith(" + ") else text.replace(" - ", "-", 1)
        return f"{text} {self.relation} {number(self.limit)}"

    def _rule(self, table: BoundColumns) -> Rule:
        if not isinstance(self.weights, Mapping) or not self.weights:
            raise ValueError(
                f"Linear takes a dict of columns and their weights; got {self.weights!r}. Write "
                "Linear({'a': 1, 'b': -2}, '<=', 0)."
            )
        for column, weight in self.weights.items():
            if not is_real(weight) or weight == 0:
                raise ValueError(
                    f"{self!r}: the weight of {column!r} must be a finite number other than 0; "
                    f"got {weight!r}."
                )
        if not is_real(self.limit):
            raise ValueError(f"{self!r}: the limit must be a finite number; got {self.limit!r}.")
        terms = []
        for column, weight in self.weights.items():
            j = table.position(column, self)
            terms.append(Term.of(j, float(weight), table.numbers(j, self)))
        return sum_rule(table, terms, self.relation, float(self.limit))


class Implies(Constraint):
    """Require a consequence in all rows in which a condition holds.

    Parameters
    ----------
    condition : dict of column to values, constraint object, or list of these
        The condition. A dict such as ``{"sex": "male"}`` means `Is` for each entry.
    consequence : dict of column to values, constraint object, or list of these
        The condition that must hold in these rows.

    See Also
    --------
    Is : The condition that an entry of a dict means.

    Notes
    -----
    A condition on a number does not hold if the number is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfairtest import Implies, Order
    >>> constraint = Implies({"married": "yes"}, {"age": (16, None)})
    >>> print(constraint)
    married = yes implies age >= 16
    >>> constraint(pd.DataFrame({"age": [9, 9, 30], "married": ["yes", "no", "yes"]}))
    array([False,  True,  True])
    >>> print(Implies({"job": ["cook", "driver"]}, Order("experience", "<", "age")))
    job in (cook, driver) implies experience < age
    """

    _fields = ("condition", "consequence")

    def __init__(self, condition: Any, consequence: Any) -> None:
        self.condition, self.consequence = condition, consequence

    def __repr__(self) -> str:
        return f"Implies({self.condition!r}, {self.consequence!r})"

    def __str__(self) -> str:
        return " implies ".join(" and ".join(map(str, part)) for part in self._parts())

    def _parts(self) -> list[list[Constraint]]:
        found = []
        for given in (self.condition, self.consequence):
            if not isinstance(given, (Constraint, Mapping, list, tuple)) or not all(
                isinstance(one, Constraint) for one in constraints_of(given)
            ):
                raise TypeError(
                    f"Implies takes dicts such as {{'sex': 'male'}}, constraint objects, or lists "
                    f"of these; got {type(given).__name__}."
                )
            found.append(constraints_of(given))
        return found

    def _learned(self, table: BoundColumns) -> Constraint:
        return Implies(*(learn(part, table) for part in self._parts()))

    def _rule(self, table: BoundColumns) -> Rule:
        condition, consequence = (all_of(bind(part, table)) for part in self._parts())
        return AnyRule([condition.negated(), consequence])


class Allowed(Constraint):
    """Require that some columns have one of the listed combinations of values.

    Parameters
    ----------
    table : DataFrame, dict of column to list, or list of columns
        The combinations, one in each row, under the names of the columns. A list of names means the
        combinations that occur in the data. Combinations with a value that a column does not have
        are left out.

    See Also
    --------
    Implies : Requires one condition if another one holds.

    Notes
    -----
    A missing value is a value like any other; a combination with one must be listed.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfairtest import Allowed
    >>> table = pd.DataFrame({"city": ["Ulm", "Bonn"], "state": ["BW", "NW"]})
    >>> constraint = Allowed(table)
    >>> print(constraint)
    (city, state) among 2 combinations
    >>> constraint(pd.DataFrame({"city": ["Ulm", "Ulm"], "state": ["BW", "NW"]}))
    array([ True, False])
    >>> print(Allowed(["city", "state"]))
    (city, state) as in the data
    """

    _fields = ("table",)

    def __init__(self, table: Any) -> None:
        if isinstance(table, pd.DataFrame):
            # Lists, so that the constraint is a plain value that can be saved.
            table = {name: table[name].tolist() for name in table.columns}
        self.table = table

    def __repr__(self) -> str:
        if isinstance(self.table, Mapping):
            lengths = [len(values) for values in self.table.values()]
            if max(lengths, default=0) > 3:
                return f"Allowed({list(self.table)!r}, {lengths[0]} combinations)"
        return f"Allowed({self.table!r})"

    def __str__(self) -> str:
        names = ", ".join(map(str, self.table))
        if not isinstance(self.table, Mapping):
            return f"({names}) as in the data"
        return f"({names}) among {len(next(iter(self.table.values())))} combinations"

    def _learned(self, table: BoundColumns) -> Constraint:
        if isinstance(self.table, Mapping):
            return self
        if isinstance(self.table, str) or not isinstance(self.table, (list, tuple)):
            raise TypeError(
                "Allowed takes a DataFrame, a dict of columns, or a list of column names; got "
                f"{type(self.table).__name__}."
            )
        positions = [table.position(name, self) for name in self.table]
        return Allowed(table.combinations(positions))

    def _rule(self, table: BoundColumns) -> Rule:
        if not isinstance(self.table, Mapping):
            return self._learned(table)._rule(table)
        if len({len(values) for values in self.table.values()}) != 1:
            raise ValueError(
                "Allowed takes one or more columns of the same length; got lengths "
                f"{[len(values) for values in self.table.values()]}."
            )
        positions = [table.position(name, self) for name in self.table]
        encoded = [
            table.encode_known(j, values)
            for j, values in zip(positions, self.table.values(), strict=True)
        ]
        rows = np.column_stack([own for own, _ in encoded])
        known = np.all([is_known for _, is_known in encoded], axis=0)
        if not known.any():
            raise ValueError(
                f"{self!r}: none of the {len(known)} combinations consists of values that the "
                "columns of X have. Compare their spelling and types."
            )
        return TableRule(positions, rows[known])
