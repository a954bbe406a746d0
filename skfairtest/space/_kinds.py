"""All kinds of columns, and which of them a column is."""

from __future__ import annotations

from typing import Any

from skfairtest.space._columns import Categorical, Column
from skfairtest.space._facts import ColumnFacts
from skfairtest.space._numbers import Integer, Real
from skfairtest.space._steps import Amounts, Grid
from skfairtest.space._summary import ColumnSummary

#: The first kind that takes a column for one of its own has it; the last one leaves none.
KINDS: list[type[Column]] = [Amounts, Categorical, Grid, Integer, Real]


def describe_column(name: Any, summary: ColumnSummary, **settings: Any) -> Column:
    """Find out the kind and the domain of a column from its values and the user's settings.

    Parameters
    ----------
    name : str or int
        Name of the column.
    summary : ColumnSummary
        Its values.
    **settings : object
        As for `ColumnFacts`.
    """
    facts = ColumnFacts(name, summary, **settings)
    return next(column for kind in KINDS if (column := kind.learn(facts)) is not None)
