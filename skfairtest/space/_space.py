"""InputSpace: which inputs exist.

Columns, kinds, domains, steps, the sensitive set and the constraint; rows of any mixed table become
rows of one float matrix and back. Everything that knows about dtypes is here and in the two modules
below it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Floats
from skfairtest.exceptions import users_level
from skfairtest.space._column_names import check_sensitive
from skfairtest.space._columns import MISSING_SHARE
from skfairtest.space._constraints.admission import Admission
from skfairtest.space._constraints.base import Constraint, bind, learn, read_constraint
from skfairtest.space._constraints.bound_columns import BoundColumns
from skfairtest.space._constraints.contradictions import check_constraints, culprits
from skfairtest.space._containers import make_container
from skfairtest.space._describe import conditions, describe
from skfairtest.space._given import FORM, Rule, read_rules, warn_of_data
from skfairtest.space._identifiers import warning_of
from skfairtest.space._layout import Layout
from skfairtest.space._learn_chunks import learn_chunks
from skfairtest.space._learn_layout import learn_layout
from skfairtest.space._plausible.judge import Plausibility
from skfairtest.space._protected_names import auto_sensitive
from skfairtest.space._sensitive import SensitiveValues
from skfairtest.space._valid_rows import ValidRows


class InputSpace(SensitiveValues):
    """The inputs that a model can be asked about, and how they are written as numbers.

    A row of a mixed table becomes a row of codes, one an attribute: the value itself for a number,
    or the number of its step where the column has a resolution (grades of 2.5, 2.6, ...); the
    position among its levels for a category. A one-hot group of columns is one categorical
    attribute. Make a space with `from_data`.

    Attributes
    ----------
    feature_names : list
        Names of the attributes: those of columns (positions for an array) and of one-hot groups.
    one_hot : dict of name to list
        The columns of each one-hot group.
    kinds : list of {"categorical", "integer", "real"}
        Kind of each attribute; fractions are "real", whether in steps or not, and dates, whose
        codes number those in the data, are "integer" here and called by their kind in `describe`.
    low, high, steps : ndarray of shape (n_features,)
        Ends of the closed domains and the length of one step, in codes.
    sensitive, free : ndarray of int
        Positions of the sensitive columns, and of the others.
    n_combinations : int or float
        Number of combinations of sensitive values; infinite with a real sensitive column.
    is_enumerable : bool
        Whether all combinations of sensitive values can be listed.
    twin_codes : ndarray of shape (n_twins, n_sensitive)
        Sensitive values that an input is compared by: all combinations, or a stand-in for them.
    n_inputs : float
        Number of different inputs outside the sensitive columns; infinite with a real column.
    data : ndarray of shape (n_rows, n_features)
        Codes of the table that the space was made from.
    constraint : callable, constraint object or None
        Which inputs exist, several of them as one `AllOf`.
    plausibility : Plausibility or None
        Says which inputs look like the data, where that was asked for.

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
        layout: Layout,
        sensitive: list[int],
        data: Floats,
        constraint: Constraint | Callable[[Any], Any] | None = None,
        plausibility: Plausibility | None = None,
        given: Any = None,
    ) -> None:
        self.layout = layout
        self.columns = columns = layout.columns
        self.container = layout.container
        self.constraint = constraint
        self.plausibility = plausibility
        self.given = given
        self.data = data
        self.low = np.array([column.low for column in columns])
        self.high = np.array([column.high for column in columns])
        self.steps = np.array([column.step for column in columns])
        self.discrete = np.array([column.discrete for column in columns])
        #: Codes beyond these mean missing, in columns that have a missing value.
        self.top = np.array([column.top for column in columns])
        self._has_missing = any(column.has_missing for column in columns)
        # Draws of a column of many values would come upon the missing one too seldom.
        self._seldom = np.array(
            [j for j, c in enumerate(columns) if c.has_missing and 1 / MISSING_SHARE < c.n_values
             and c.discrete and c.levels is None], dtype=np.intp
        )  # fmt: skip
        # Codes of numbers are rounded as the numbers are, positions and steps are not.
        self._rounds_to = [
            layout.rounds_to(j) if column.levels is None and column.scale is None else None
            for j, column in enumerate(columns)
        ]
        self.single = np.array([dtype == "float32" for dtype in self._rounds_to])
        self.sensitive = np.array(sensitive, dtype=np.intp)
        self.free = np.setdiff1d(np.arange(len(columns)), self.sensitive)
        # Sensitive values that occur in the data, which draws prefer where a domain is too large
        # to be gone through; empty for other columns.
        self._observed = [self._values_in_data(j) for j in sensitive]
        self._rules: list[Rule] = []
        if isinstance(given, Mapping):
            self._rules = read_rules(given, columns, sensitive, layout.one_hot)
        self._admission: Admission | None = None

    def __getstate__(self) -> dict[str, Any]:
        # What constraints become for these columns is worked out anew where it is needed.
        return {**self.__dict__, "_admission": None}

    @classmethod
    def from_data(
        cls,
        X: Any,
        sensitive_features: Sequence[Any] | str | None,
        *,
        bounds: Mapping[Any, Any] | None = None,
        categories: Mapping[Any, Any] | None = None,
        steps: Mapping[Any, float] | None = None,
        one_hot: Any = "auto",
        constraint: Any = None,
        plausible: Any = None,
        given: Any = None,
    ) -> InputSpace:
        """Learn the space from a table.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            NumPy array, pandas or polars frame.
        sensitive_features : sequence of str or int, "auto", or None
            Names (or positions) of the sensitive columns; the name of a one-hot group or of any of
            its columns means the group. "auto" takes common protected attributes by their names;
            None for no sensitive column.
        bounds : dict of name to (low, high), default=None
            Closed domains of numeric columns; by default the smallest and largest value present.
            Where a column has missing values in X, missing is one more value of its domain.
        categories : dict of name to list, default=None
            Domains of categorical columns, of dates and of one-hot groups; by default the values
            present.
        steps : dict of name to float, default=None
            Resolution of numeric columns: their values are the low end of the domain and multiples
            of the step above it. By default learned from the values, where these are evidence.
        one_hot : "auto", dict of name to list of columns, or None, default="auto"
            Groups of 0/1 columns that are one attribute each. "auto" takes columns with a common
            prefix of which one is 1 in every row, or at most one where that is no chance.
        constraint : constraint object, callable, dict or list of these, default=None
            Which inputs exist: objects such as ``Order("experience", "<=", "age")``, or callables
            that take rows in the container of `X` and return a boolean for each. All must hold.
        plausible : "auto", float, outlier detector or None, default=None
            Which inputs look like the data; see `skfairtest.space.Plausibility`. Of two twins one
            has to.
        given : dict or callable, default=None
            What follows from sensitive values: ``{sensitive column: {value: {column: value}}}``, or
            a function of a table that returns it changed. Rows of `X` in which it does not hold are
            counted in a warning.

        Returns
        -------
        InputSpace
            The space; its `data` are the codes of `X`.

        Raises
        ------
        ValueError
            For unknown, duplicate or constant sensitive columns, for no other column, for domains
            that cannot be, for one-hot groups that overlap or that rows do not satisfy, and for
            constraints that contradict each other.
        TypeError
            For sparse input and dtypes without an input domain.
        DetectorFailedError
            If the detector fails on the rows of `X`.

        Warns
        -----
        UserWarning
            That names the columns which are identifiers or free text; these cannot be sensitive.
        """
        layout, values = learn_layout(X, make_container(X), bounds, categories, steps, one_hot)
        rows = layout, layout.codes_of(values), len(values[0])
        return cls._learned(*rows, sensitive_features, constraint, plausible, given)

    @classmethod
    def from_chunks(
        cls,
        X: Any,
        sensitive_features: Sequence[Any] | str | None,
        *,
        bounds: Mapping[Any, Any] | None = None,
        categories: Mapping[Any, Any] | None = None,
        steps: Mapping[Any, float] | None = None,
        one_hot: Any = "auto",
        constraint: Any = None,
        plausible: Any = None,
        given: Any = None,
        max_rows: int = 100_000,
        random_state: Any = 0,
    ) -> InputSpace:
        """Learn the space from a table that comes in chunks, in one pass and in bounded memory.

        Kinds, domains, categories, steps and one-hot groups are those that `from_data` finds in the
        whole table, but for two cases: beyond 262,144 different numbers of a column in steps, later
        ones are held against the steps seen until then; and categories of a pandas column that
        differ between chunks follow each other as they appear. What is learned from rows, not
        columns, is learned from the sample in `data`: `plausible`, constraint objects, warnings,
        and the values that stand in for those of a real sensitive column.

        Parameters
        ----------
        X : iterator of tables, callable, list of tables, path, or Dask DataFrame
            Tables with equal columns and dtypes; a callable returns an iterator of them, a path is
            that of a Parquet file or a folder of such files, read by row groups (extra `parquet`).
        sensitive_features, bounds, categories, steps, one_hot, constraint, plausible, given
            As for `from_data`, and so are errors.
        max_rows : int, default=100_000
            Rows in the sample; a table that has no more is in `data` as a whole.
        random_state : int, Generator or None, default=0
            Seed of the sample.

        Returns
        -------
        InputSpace
            The space; its `data` are the codes of the sample, in the order of the table.

        Raises
        ------
        ChunkFailedError
            If there is no row, or a chunk cannot be read or does not go with the ones before it.

        Examples
        --------
        >>> from skfairtest import InputSpace
        >>> import pandas as pd
        >>> ages = (pd.DataFrame({"sex": ["f", "m"], "age": [a, a + 5]}) for a in (20, 40, 50))
        >>> InputSpace.from_chunks(ages, ["sex"]).data.shape
        (6, 2)
        """
        wishes = (bounds, categories, steps, one_hot)
        rows = learn_chunks(X, wishes, max_rows, np.random.default_rng(random_state))
        return cls._learned(*rows, sensitive_features, constraint, plausible, given)

    @classmethod
    def _learned(
        cls, layout: Layout, data: Floats, n_rows: int, sensitive_features: Any, constraint: Any,
        plausible: Any, given: Any,
    ) -> InputSpace:  # fmt: skip
        """The space of these columns and rows."""
        columns = layout.columns
        # None: no column is sensitive, as in a table of columns that a model never sees.
        positions: list[int] = []
        if isinstance(sensitive_features, str) and sensitive_features == "auto":
            sensitive_features = auto_sensitive([column.name for column in columns])
        if sensitive_features is not None:
            positions = layout.resolve(sensitive_features)
            check_sensitive(columns, positions, n_rows)
        if odd := [column for column in columns if column.looks_like is not None]:
            warnings.warn(warning_of(odd), UserWarning, stacklevel=users_level())
        constraint = read_constraint(constraint)
        if given is not None and not isinstance(given, Mapping) and not callable(given):
            raise TypeError(f"given= must be a mapping or a function; got {given!r}. {FORM}")
        if isinstance(constraint, Constraint):
            constraint = learn(constraint, BoundColumns(layout, data))
        space = cls(layout, positions, data, constraint, None, given)
        check_constraints(space, constraint, BoundColumns(layout, data, warns=True))
        if given is not None:
            warn_of_data(data, space.follow(data.copy()))
        for j, column in enumerate(columns):
            if column.given:
                layout.check_holds(j, space.low)
        if plausible is None:
            return space
        # The judge of plausible inputs keeps the space without itself.
        return cls(layout, positions, data, constraint, Plausibility(plausible, space), given)

    def with_data(self, X: Any) -> InputSpace:
        """The same domain with other data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            Rows in the same kind of table, with the same columns. They may lie outside the domain.

        Returns
        -------
        InputSpace
            A new space, whose `data` are the codes of `X`.

        Raises
        ------
        ValueError, TypeError
            If columns are missing, categories are unknown, or the table is of another kind.
        """
        return self._like(data=self.encode(X), given=self.given)

    def with_codes(self, Z: Floats) -> InputSpace:
        """The same domain with other data, given as codes of shape (n_rows, n_features)."""
        return self._like(data=np.asarray(Z, dtype=np.float64), given=self.given)

    def whole(self) -> InputSpace:
        """The same domain and data, plausible or not."""
        return self if self.plausibility is None else self._like(given=self.given, whole=True)

    def with_sensitive_features(self, positions: Sequence[int]) -> InputSpace:
        """The same domain and data with other sensitive columns, given by their positions."""
        return self._like(sensitive=positions, given=self._given_of(positions))

    def _given_of(self, positions: Sequence[int]) -> Any:
        """What follows from some of the sensitive columns."""
        if not isinstance(self.given, Mapping):
            return self.given
        names = [self.feature_names[j] for j in positions]
        return {name: rule for name, rule in self.given.items() if name in names} or None

    def _like(
        self,
        *,
        sensitive: Sequence[int] | None = None,
        data: Floats | None = None,
        given: Any = None,
        whole: bool = False,
    ) -> InputSpace:
        return InputSpace(
            self.layout,
            self.sensitive.tolist() if sensitive is None else list(sensitive),
            self.data if data is None else data,
            self.constraint,
            None if whole else self.plausibility,
            given,
        )

    @property
    def feature_names(self) -> list[Any]:
        """Names of the attributes: columns (positions for an array) and one-hot groups."""
        return [column.name for column in self.columns]

    @property
    def one_hot(self) -> dict[Any, list[Any]]:
        """The columns of each one-hot group."""
        return self.layout.one_hot

    @property
    def sensitive_features(self) -> list[Any]:
        """Names of the sensitive attributes."""
        return [self.columns[j].name for j in self.sensitive]

    @property
    def kinds(self) -> list[str]:
        """Kind of each attribute."""
        return [column.kind for column in self.columns]

    @property
    def n_features(self) -> int:
        """Number of attributes."""
        return len(self.columns)

    @property
    def n_inputs(self) -> float:
        """Number of different inputs outside the sensitive columns."""
        return float(np.prod([self.columns[j].n_values for j in self.free]))

    def __repr__(self) -> str:
        return (
            f"InputSpace({self.n_features} columns, sensitive {self.sensitive_features!r} with "
            f"{self.n_combinations} combinations)"
        )

    def describe(self) -> pd.DataFrame:
        """The attributes in words: `attribute`, `kind`, `domain`, `step`, `columns`, `sensitive`.

        Returns
        -------
        DataFrame
            One row an attribute. `step` is NaN where values are listed or real; `columns` counts
            the columns of the table that the attribute is made of.

        Examples
        --------
        >>> import pandas as pd
        >>> from skfairtest import InputSpace
        >>> X = pd.DataFrame({"sex": ["f", "m"] * 50, "grade": [1.0, 2.1, 3.7, 4.0] * 25})
        >>> InputSpace.from_data(X, ["sex"], bounds={"grade": (1, 6)}).describe()
          attribute         kind  domain  step  columns  sensitive
        0       sex  categorical    f, m   NaN        1       True
        1     grade         real  1 to 6   0.1        1      False
        """
        return describe(self)

    @property
    def conditions(self) -> list[str]:
        """What must hold of inputs beyond their domains, each in a line that a report can show."""
        return conditions(self)

    # Tables and codes -----------------------------------------------------------------------

    def encode(self, X: Any) -> Floats:
        """Codes of a table, shape (n, n_features).

        Unknown categories are an error, and rows with two ones in a one-hot group. Numbers never
        are: of values off the steps of a column `decode` makes the same numbers again. Missing
        values become NaN in a column that had none in the data of the domain.
        """
        return self.layout.encode(X)

    def decode(self, Z: Floats) -> Any:
        """The table of the codes: same container, names and dtypes as the fitted data."""
        return self.layout.decode(np.asarray(Z, dtype=np.float64))

    # Moving about ---------------------------------------------------------------------------

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform codes from the closed domains, whatever the constraint says; (n, n_features).

        Columns of numbers that have a missing value are missing in a tenth of the rows, at least.
        """
        spread = self.high - self.low
        U = rng.random((n, self.n_features))
        Z = np.where(self.discrete, np.floor(U * (spread + 1)), U * spread) + self.low
        return self.clip(self.let_missing(Z, rng))

    def let_missing(self, Z: Floats, rng: np.random.Generator) -> Floats:
        """Draws in which a tenth is missing of whole numbers that have a missing value.

        Of other columns it is so already: of real ones a tenth of the codes mean missing, and of
        few values each is drawn as often. Changed in place.
        """
        if len(self._seldom):
            gone = rng.random((len(Z), len(self._seldom))) < MISSING_SHARE
            Z[:, self._seldom] = np.where(gone, self.high[self._seldom], Z[:, self._seldom])
        return Z

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
        found before: the sample is then not uniform, and rows may come more than once. A space with
        `plausible` has plausible inputs near the data alone, and draws them there.

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
        return self._admits().valid(Z)

    def _admits(self) -> Admission:
        """The constraint on codes, and what it allows to draw and to repair."""
        if self._admission is None:
            table = BoundColumns(self.layout, self.data)
            self._admission = Admission(bind(self.constraint, table), self)
        return self._admission

    def culprits(self, Z: Floats) -> str:
        """In words, which constraints refuse all of the rows that keep to the others."""
        if self.constraint is None:
            return ""
        return culprits(self.constraint, self._admits().rules, Z)

    @property
    def repairs(self) -> bool:
        """Whether there are constraint objects, so that `admit` moves rows."""
        return self.constraint is not None and self._admits().rule is not None

    def draw_narrowed(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform rows of what constraint objects leave of the domain, (n, n_features).

        The valid ones among them are uniform among all valid rows.
        """
        if self.constraint is None:
            return self.draw(n, rng)
        return self._admits().draw(n, self, rng)

    def admit(self, Z: Floats, rng: np.random.Generator, values: Floats | None = None) -> Floats:
        """Proposals moved, as little as they need, to where the constraint objects hold.

        A search passes what it has mutated or crossed through this before it is judged. Nearly all
        rows are valid then; callables are not asked, and `valid` has the last word.

        Parameters
        ----------
        Z : ndarray of shape (n, n_features)
            Proposals.
        rng : Generator
            Source of randomness; not used where there are no constraint objects.
        values : ndarray of shape (n, k, n_sensitive), default=None
            Sensitive codes of the twins that will be compared: rows are moved in free columns to
            where all these twins are valid. None: the rows' own codes and, where a constraint names
            sensitive columns, a random other twin; what cannot be repaired otherwise may then
            change its own codes, too.

        Returns
        -------
        ndarray of shape (n, n_features)
            The rows; `Z` itself where there are no constraint objects.
        """
        if self.constraint is None:
            return Z
        return self._admits().admit(Z, self, rng, values)

    def admits(self, Z: Floats) -> NDArray[np.bool_]:
        """Which rows the constraint admits, and, where it is asked for, are plausible as they are.

        For searches that move on from input to input; of two twins only one has to be plausible.
        """
        admitted = self.valid(Z)
        if self.plausibility is not None and admitted.any():
            admitted[admitted] = self.plausibility.accepts(np.asarray(Z)[admitted])
        return admitted

    def clip(self, Z: Floats) -> Floats:
        """The nearest codes inside the domains: clipped, rounded to whole codes where discrete.

        What is beyond the domain is no missing value, but a number too large: it goes to the
        largest one.
        """
        if self._has_missing:
            beyond = (self.high < Z) | (self.discrete & (self.top < Z) & (Z < self.high))
            Z = np.where(beyond, self.top, Z)
        Z = np.clip(Z, self.low, self.high)
        if self.discrete.all():
            np.rint(Z, out=Z)
        elif self.discrete.any():
            Z[:, self.discrete] = np.rint(Z[:, self.discrete])
        # What the model will see is a float32, say; two codes that it cannot tell apart are one.
        for dtype in {name for name in self._rounds_to if name is not None}:
            rounded = [j for j, name in enumerate(self._rounds_to) if name == dtype]
            Z[:, rounded] = Z[:, rounded].astype(dtype)
        return np.where(self.top < Z, self.high, Z) if self._has_missing else Z

    def contains(self, Z: Floats) -> NDArray[np.bool_]:
        """Which rows are inputs of the domain, as `clip` would leave them, that are valid."""
        Z = np.asarray(Z, dtype=np.float64)
        inside = np.asarray((self.clip(Z) == Z).all(axis=1))
        inside[inside] = self.valid(Z[inside])
        return inside

    def hold(self, codes: Floats, j: int) -> Floats:
        """Codes of a column as the table holds them; one for missing."""
        dtype = self._rounds_to[j]
        if dtype is not None:
            codes = codes.astype(dtype).astype(np.float64)
        return np.where(self.top[j] < codes, self.high[j], codes) if self._has_missing else codes

    def repair(self, Z: Floats, rng: np.random.Generator) -> Floats:
        """Rows of data as inputs of the domain: what is missing or foreign is drawn anew.

        Numbers beyond the bounds go to the nearer end; missing numbers, and categories outside the
        domain, have no nearest and are drawn.
        """
        categorical = np.array(
            [column.levels is not None and column.scale is None for column in self.columns]
        )
        foreign = np.isnan(Z) | (categorical & ((self.low > Z) | (self.high < Z)))
        if foreign.any():
            Z = np.where(foreign, self.draw(len(Z), rng), Z)
        return self.clip(Z)

    def neighbours(self, Z: Floats) -> Floats:
        """All inputs one step away in one free attribute; shape (n, 2 * n_free, n_features).

        Steps are -1 and +1 of the attribute's own granularity (the neighbouring category of a
        categorical one), clipped to the domain: at its end a neighbour is the input itself.
        """
        moves = np.zeros((2 * len(self.free), self.n_features))
        order = np.arange(len(self.free))
        moves[2 * order, self.free] = -self.steps[self.free]
        moves[2 * order + 1, self.free] = self.steps[self.free]
        moved = np.asarray(Z)[:, None, :] + moves
        return self.clip(moved.reshape(-1, self.n_features)).reshape(moved.shape)

    def independent(self) -> InputSpace:
        """A larger space of twins, in which the columns that follow are sensitive as well.

        What bounds the difference between its twins bounds that between the twins of this space.

        Raises
        ------
        ValueError
            Where `given` is a function, of which nobody knows what it changes.
        """
        if self.given is None:
            return self
        if not isinstance(self.given, Mapping):
            raise ValueError(
                "A certificate needs given= as a mapping; got a function, which cannot be looked "
                f"into. {FORM}"
            )
        every = sorted({*self.sensitive.tolist(), *(rule.column for rule in self._rules)})
        return self._like(sensitive=every)
