"""InputSpace: which inputs exist.

Columns, kinds, domains, steps, the sensitive set and the constraint; rows of any mixed table
become rows of one float matrix and
back. Everything that knows about dtypes is here and in the two modules below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._columns import Column, describe_column
from skfairtest._containers import Container, make_container
from skfairtest._valid_rows import ValidRows
from skfairtest._wishes import by_position, check_sensitive, resolve_columns

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: `sensitive_values` builds no table longer than this; `combination_codes` has no limit.
MAX_TABLE = 1_000_000


class InputSpace:
    """The inputs that a model can be asked about, and how they are written as numbers.

    A row of a mixed table becomes a row of codes: the value itself for an integer or a real
    attribute, the position among its levels for a categorical one. Make one with `from_data`.

    Attributes
    ----------
    feature_names : list
        Column names, or positions for an array.
    kinds : list of {"categorical", "integer", "real"}
        Kind of each column.
    low, high, steps : ndarray of shape (n_features,)
        Ends of the closed domains and the length of one step, in codes.
    sensitive, free : ndarray of int
        Positions of the sensitive columns, and of the others.
    n_combinations : int
        Number of combinations of sensitive values.
    n_inputs : float
        Number of different inputs outside the sensitive columns; infinite with a real column.
    data : ndarray of shape (n_rows, n_features)
        Codes of the table that the space was made from.

    See Also
    --------
    skfairtest.SBFTAuditor : Searches an input space for discriminatory inputs.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skfairtest import InputSpace
    >>> X = pd.DataFrame({"sex": ["f", "m", "f"], "age": [20, 60, 41]})
    >>> space = InputSpace.from_data(X, ["sex"])
    >>> space.kinds
    ['categorical', 'integer']
    >>> space.encode(X)
    array([[ 0., 20.],
           [ 1., 60.],
           [ 0., 41.]])
    >>> space.decode(space.sample(2, np.random.default_rng(0))).shape
    (2, 2)
    """

    def __init__(
        self,
        columns: list[Column],
        container: Container,
        sensitive: list[int],
        data: Floats,
        constraint: Callable[[Any], Any] | None = None,
    ) -> None:
        self.columns = columns
        self.container = container
        self.constraint = constraint
        self.data = data
        self.low = np.array([column.low for column in columns])
        self.high = np.array([column.high for column in columns])
        self.steps = np.array([column.step for column in columns])
        self.discrete = np.array([column.kind != "real" for column in columns])
        self.single = np.array([container.is_single(j) for j in range(len(columns))])
        self.sensitive = np.array(sensitive, dtype=np.intp)
        self.free = np.setdiff1d(np.arange(len(columns)), self.sensitive)
        self.grids = [columns[j].grid() for j in sensitive]

    @classmethod
    def from_data(
        cls,
        X: Any,
        sensitive_features: Sequence[Any] | None,
        *,
        bounds: Mapping[Any, Any] | None = None,
        categories: Mapping[Any, Any] | None = None,
        steps: Mapping[Any, float] | None = None,
        constraint: Callable[[Any], Any] | None = None,
    ) -> InputSpace:
        """Learn the space from a table.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            NumPy array, pandas or polars frame.
        sensitive_features : sequence of str or int, or None
            Names (or positions) of the sensitive columns; None for no sensitive column.
        bounds : dict of name to (low, high), default=None
            Closed domains of numeric columns; by default the smallest and largest value present.
        categories : dict of name to list, default=None
            Domains of categorical columns; by default the values present.
        steps : dict of name to float, default=None
            Length of one step; by default 1 for integers and a hundredth of the domain for reals.
        constraint : callable, default=None
            Takes rows in the container of `X` and returns a boolean for each: which are valid.

        Returns
        -------
        InputSpace
            The space; its `data` are the codes of `X`.

        Raises
        ------
        ValueError
            For unknown, duplicate or constant sensitive columns, for no other column, and for
            domains that cannot be.
        TypeError
            For sparse input and dtypes without an input domain.
        """
        container = make_container(X)
        names = container.names
        # None: no column is sensitive, as in a table of columns that a model never sees.
        positions = [] if sensitive_features is None else resolve_columns(names, sensitive_features)
        wishes = {
            label: by_position(names, mapping, label)
            for label, mapping in (("bounds", bounds), ("categories", categories), ("steps", steps))
        }
        values = [container.column_values(X, j) for j in range(len(names))]
        columns = [
            describe_column(
                name,
                values[j],
                bounds=wishes["bounds"].get(j),
                categories=wishes["categories"].get(j),
                step=wishes["steps"].get(j),
                integral=container.is_integral(j),
                order=container.level_order(j),
            )
            for j, name in enumerate(names)
        ]
        if sensitive_features is not None:
            check_sensitive(columns, positions, len(values[0]))
        if constraint is not None and not callable(constraint):
            raise TypeError(
                f"constraint= must be a callable on rows; got {type(constraint).__name__}."
            )
        data = np.empty((len(values[0]), len(columns)))
        for j, column in enumerate(columns):
            data[:, j] = column.encode(values[j])
        space = cls(columns, container, positions, data, constraint)
        for j, column in enumerate(columns):
            if column.given:
                space._check_holds(j, column)
        return space

    def _check_holds(self, j: int, column: Column) -> None:
        """See that the container can hold the values that the user gave for a column."""
        codes = column.grid() if column.levels is not None else np.array([column.low, column.high])
        Z = np.tile(self.low, (len(codes), 1))
        Z[:, j] = codes
        try:
            back = column.encode(self.container.column_values(self.decode(Z), j))
            held = np.allclose(back, codes, rtol=1e-6, atol=0, equal_nan=True)
        except Exception:  # each kind of table has its own way of refusing a value
            held = False
        if not held:
            raise ValueError(
                f"Column {column.name!r} of dtype {self.container.dtype_name(j)} cannot hold "
                f"the values given in bounds= or categories=: {list(column.take(codes))!r}. "
                "Convert the column to a wider dtype first."
            )

    @property
    def feature_names(self) -> list[Any]:
        """Column names, or positions for an array."""
        return list(self.container.names)

    @property
    def sensitive_features(self) -> list[Any]:
        """Names of the sensitive columns."""
        return [self.container.names[j] for j in self.sensitive]

    @property
    def kinds(self) -> list[str]:
        """Kind of each column."""
        return [column.kind for column in self.columns]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def n_combinations(self) -> int:
        """Number of combinations of sensitive values."""
        count = 1
        for grid in self.grids:
            count *= len(grid)
        return count

    @property
    def n_inputs(self) -> float:
        """Number of different inputs outside the sensitive columns."""
        return float(np.prod([self.columns[j].n_values for j in self.free]))

    def __repr__(self) -> str:
        return (
            f"InputSpace({self.n_features} columns, sensitive {self.sensitive_features!r} with "
            f"{self.n_combinations} combinations)"
        )

    # Tables and codes -----------------------------------------------------------------------

    def encode(self, X: Any) -> Floats:
        """Codes of a table, shape (n, n_features); unknown categories are an error.

        Missing values outside the domain become NaN.
        """
        X = self.container.check_names(X)
        arrays = [
            column.encode(self.container.column_values(X, j))
            for j, column in enumerate(self.columns)
        ]
        return np.column_stack(arrays)

    def decode(self, Z: Floats) -> Any:
        """The table of the codes: same container, names and dtypes as the fitted data."""
        return self.container.build(np.asarray(Z, dtype=np.float64), self.columns)

    # Moving about ---------------------------------------------------------------------------

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform codes from the closed domains, whatever the constraint says; (n, n_features)."""
        spread = self.high - self.low
        U = rng.random((n, self.n_features))
        Z = np.where(self.discrete, np.floor(U * (spread + 1)), U * spread) + self.low
        return self.clip(Z)

    def sample(
        self,
        n: int,
        rng: np.random.Generator,
        *,
        uniform: bool = False,
        deadline: float | None = None,
    ) -> Floats:
        """Random valid inputs, shape (n, n_features).

        They are uniform where the constraint admits at least 5% of the domain. Where it admits
        less, half of the draws are steps from valid rows, those of the data and those that were
        found before: the sample is then not uniform, and rows may come more than once.

        Parameters
        ----------
        n : int
            How many.
        rng : Generator
            Source of randomness.
        uniform : bool, default=False
            Uniform draws alone, however long that takes.
        deadline : float, default=None
            Time of ``time.perf_counter`` at which the drawing ends; fewer rows are returned then,
            maybe none.

        Returns
        -------
        ndarray of shape (n, n_features)
            Codes.

        Raises
        ------
        ValueError
            If none of 100,000 draws, and no row of the data, satisfies the constraint.
        """
        return ValidRows(self).sample(n, rng, uniform=uniform, deadline=deadline).rows

    def valid(self, Z: Floats) -> NDArray[np.bool_]:
        """Which rows the constraint admits, shape (n,)."""
        if self.constraint is None or not len(Z):
            return np.ones(len(Z), dtype=bool)
        verdict = np.asarray(self.constraint(self.decode(Z)))
        if verdict.shape != (len(Z),) or verdict.dtype.kind not in "bO":
            raise ValueError(
                f"constraint= must return one boolean a row, shape ({len(Z)},); got "
                f"{verdict.dtype} of shape {verdict.shape}."
            )
        return verdict.astype(bool)

    def clip(self, Z: Floats) -> Floats:
        """The nearest codes inside the domains: clipped, rounded to whole codes where discrete."""
        Z = np.clip(Z, self.low, self.high)
        if self.discrete.all():
            np.rint(Z, out=Z)
        elif self.discrete.any():
            Z[:, self.discrete] = np.rint(Z[:, self.discrete])
        if self.single.any():
            # What the model will see is a float32; two codes that it cannot tell apart are one.
            Z[:, self.single] = Z[:, self.single].astype(np.float32)
        return Z

    def repair(self, Z: Floats, rng: np.random.Generator) -> Floats:
        """Rows of data as inputs of the domain: what is missing or foreign is drawn anew.

        Numbers beyond the bounds go to the nearer end; missing numbers, and categories outside the
        domain, have no nearest and are
        drawn.
        """
        categorical = np.array([column.levels is not None for column in self.columns])
        foreign = np.isnan(Z) | (categorical & ((self.low > Z) | (self.high < Z)))
        if foreign.any():
            Z = np.where(foreign, self.draw(len(Z), rng), Z)
        return self.clip(Z)

    def neighbours(self, Z: Floats) -> Floats:
        """All inputs one step away in one free attribute; shape (n, 2 * n_free, n_features).

        Steps are -1 and +1 of the attribute's own granularity (the neighbouring category of a
        categorical one), clipped to the
        domain: at its end a neighbour is the input itself.
        """
        moves = np.zeros((2 * len(self.free), self.n_features))
        order = np.arange(len(self.free))
        moves[2 * order, self.free] = -self.steps[self.free]
        moves[2 * order + 1, self.free] = self.steps[self.free]
        moved = np.asarray(Z)[:, None, :] + moves
        return self.clip(moved.reshape(-1, self.n_features)).reshape(moved.shape)

    # Sensitive values -----------------------------------------------------------------------

    @property
    def sensitive_values(self) -> Floats:
        """Codes of all sensitive combinations, shape (n_combinations, n_sensitive)."""
        if self.n_combinations > MAX_TABLE:
            raise ValueError(
                f"{self.n_combinations} combinations of sensitive values are too many for a table. "
                "Ask combination_codes for those that you need, or narrow bounds= or categories=."
            )
        return self.combination_codes(np.arange(self.n_combinations))

    def combination_codes(self, combinations: Any) -> Floats:
        """Codes of numbered combinations; the given shape and one more axis of n_sensitive."""
        places = np.unravel_index(combinations, [len(grid) for grid in self.grids])
        return np.stack(
            [grid[place] for grid, place in zip(self.grids, places, strict=True)], axis=-1
        )

    def with_sensitive(self, Z: Floats, combination: Any) -> Floats:
        """A copy of the inputs with their sensitive attributes set.

        `combination` is the number of one combination, or one number a row.
        """
        Z = np.array(Z, dtype=np.float64)
        Z[:, self.sensitive] = self.combination_codes(np.asarray(combination))
        return Z
