"""InputSpace: which inputs a model is audited on.

What a user says of columns, domains, constraints and twins is learned from a table: rows of any
mixed table become rows of one float matrix and back. Everything that knows about dtypes is in the
modules below this one.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from skfairtest._delegation import PackageBase
from skfairtest._parameters import DeclaredParameters, one_of
from skfairtest._typing import Bools, Floats
from skfairtest.exceptions import users_level
from skfairtest.space._chunks import as_chunks
from skfairtest.space._column_names import check_sensitive
from skfairtest.space._constraints.base import (
    bind,
    check_constraints,
    constraints_of,
    learn,
    name_of,
)
from skfairtest.space._constraints.bound_columns import BoundColumns
from skfairtest.space._constraints.feasibility import Feasibility
from skfairtest.space._descendants import FORM, warn_of_data
from skfairtest.space._describe import conditions, describe
from skfairtest.space._domain import Domain
from skfairtest.space._identifiers import warning_of
from skfairtest.space._layout import Layout
from skfairtest.space._learn import learn as learn_columns
from skfairtest.space._plausible.plausibility import Plausibility
from skfairtest.space._protected_names import auto_sensitive
from skfairtest.space._sample import SAMPLE_ROWS, sample_chunks
from skfairtest.space._twins import Twins
from skfairtest.space._valid_rows import ValidRows

#: Where new inputs are drawn.
PROPOSALS = ("uniform", "data")


class InputSpace(DeclaredParameters, PackageBase, BaseEstimator):
    """Describe which inputs exist: domains of columns, constraints, and what twins are.

    Auditors take it as ``space=``. In their `fit` they learn a copy of it from the table, and keep
    the copy as `space_`. A space that is fitted already is used as it is, with the rows of the
    auditor's table as its data.

    A row of the table becomes an encoded row, one value for each attribute. The encoded value of a
    number is the number itself, or the number of its step if the column has a resolution (grades of
    2.5, 2.6, ...). The encoded value of a category is its position in the list of categories. A
    one-hot group of columns is one categorical attribute.

    Parameters
    ----------
    bounds : dict of column to (low, high), default=None
        Closed domains of numeric columns; the default is the range of the values in X. If a column
        has missing values in X, missing is one more value of its domain.
    categories : dict of column to list, default=None
        Domains of categorical columns, of dates and of one-hot groups; the default is the values in
        X. A numeric column that is named here becomes categorical.
    steps : dict of column to float, default=None
        Resolution of a numeric column: its values are the low end of the domain plus multiples of
        the step. By default it is learned from the values (decimals, common steps, a list of
        amounts); it is 1 for integers, and real columns have none. Searches move by one step, or by
        about a hundredth of the domain if the steps are finer than that or there are none.
    one_hot : "auto", dict of name to list of columns, or None, default="auto"
        Groups of 0/1 columns that are one attribute each; in each input one column of a group is 1.
        "auto" takes columns with a common prefix (``race_``) that sum to one in every row, or to at
        most one if that is unlikely to be chance. Wherever columns are named, the name of a group,
        or of any of its columns, means the group.
    constraint : constraint object, callable, dict or list of these, default=None
        Conditions that every input satisfies: objects such as ``Order("experience", "<=", "age")``
        (see `Order`, `Linear`, `Implies`, `Is`, `Allowed`), or callables that take rows in the
        container of X and return a boolean for each. A dict means `Is` for each of its columns.
    plausible : "auto", float, outlier detector or None, default=None
        Judge of which inputs look like the data. Pairs of twins count only if at least one twin
        does, and new inputs are drawn near rows of X. "auto" is a classifier that is trained to
        separate the rows of X from inputs made up of their parts; it accepts 98% of the rows, and a
        number sets another share. A detector has scikit-learn's interface (``predict`` gives 1 and
        -1). If it is not fitted, it is cloned and fitted to X. It gets rows in the container of X;
        if X has categories, an unfitted detector that is no pipeline gets encoded rows instead.
        With None all inputs count.
    twins : dict, callable or transformer, default=None
        Values that follow from a sensitive value, so that twins differ in them, too. It is a dict
        such as ``{"sex": {"male": {"pregnancies": 0}}}``, a function that takes rows in the
        container of X and returns them with the values that follow, or an object whose
        ``transform`` does so, which is cloned and fitted to X. With None twins differ in the
        sensitive attributes only.
    proposals : {"uniform", "data"}, default="uniform"
        Whether new inputs are drawn anywhere in the domain, or near the data, by crossing a row of
        X with one of its nearest neighbours. With `plausible` they are always drawn near the data.

    Attributes
    ----------
    layout : Layout
        The attributes of the table: columns and one-hot groups.
    domain : Domain
        The values that each attribute can take, encoded: `low`, `high`, `steps`, ...
    twins_ : Twins
        The combinations of sensitive values, and the rows that differ in them.
    feasibility : Feasibility
        Draws rows that satisfy the constraints, and moves rows to where they do.
    constraints_ : list of constraint objects and callables
        The constraints, with what they took from the data.
    plausibility : Plausibility or None
        Judge of which inputs look like the data; None without `plausible`.
    data : ndarray of shape (n_rows, n_features)
        Encoded rows of X, or of a random sample of 100,000 rows if X comes in chunks.
    sensitive, free : ndarray of int
        Positions of the sensitive attributes, and of the others.

    See Also
    --------
    skfairtest.SBFTAuditor : Searches an input space for discriminatory inputs.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skfairtest import InputSpace
    >>> X = pd.DataFrame({"sex": ["f", "m", "f"], "age": [20, 60, 41]})
    >>> space = InputSpace(bounds={"age": (18, 70)}).fit(X, ["sex"])
    >>> space.kinds
    ['categorical', 'integer']
    >>> space.encode(X)
    array([[ 0., 20.],
           [ 1., 60.],
           [ 0., 41.]])
    >>> space.decode(space.sample(2, np.random.default_rng(0))).shape
    (2, 2)
    """

    bounds: Any = None
    categories: Any = None
    steps: Any = None
    one_hot: Any = "auto"
    constraint: Any = None
    plausible: Any = None
    twins: Any = None
    proposals: str = one_of(default="uniform", options=PROPOSALS)

    # Learning -------------------------------------------------------------------------------

    def fit(self, X: Any, sensitive_features: Any = "auto") -> InputSpace:
        """Learn the space from a table.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features), or such a table in chunks
            NumPy array, pandas or polars frame; or chunks: an iterator of tables, a callable that
            returns one, a list of tables, the path of a Parquet file (or of a folder of such
            files), or a Dask DataFrame. Chunks are read once, one in memory at a time. Kinds,
            domains, categories, steps and groups are those of the whole table; everything else is
            learned from the sample in `data`. After 262,144 different numbers of a column in steps,
            further numbers are compared with the steps seen until then.
        sensitive_features : "auto", str, int, list of these, or None, default="auto"
            The sensitive columns, by name or position. "auto" takes the columns whose names are
            common protected attributes; None means that no column is sensitive.

        Returns
        -------
        self : InputSpace
            The learned space.

        Raises
        ------
        ValueError
            If sensitive columns are unknown, duplicate or constant, or there is no other column; if
            a domain is impossible; or if one-hot groups overlap or rows do not satisfy them.
        TypeError
            If the input is sparse or has dtypes without an input domain.
        DetectorFailedError
            If the detector fails on the rows of `X`.
        ChunkFailedError
            If there is no row, or a chunk cannot be read or does not match the chunks before it.

        Warns
        -----
        UserWarning
            If columns are identifiers or free text, which cannot be sensitive, or if `twins` does
            not hold in some rows of X.
        """
        self._check_declared()
        chunks = as_chunks(X)
        described = (self.bounds, self.categories, self.steps, self.one_hot)
        layout, values, n_rows = learn_columns(X if chunks is None else chunks, described)
        data = layout.encode_values(values)
        self._learn(layout, data, n_rows, sensitive_features)
        self._off_steps: dict[str, Floats] = _off_steps(layout, data, values)
        return self

    def _learn(self, layout: Layout, data: Floats, n_rows: int, sensitive_features: Any) -> None:
        """Learn the rest of the space, once columns and rows are known."""
        columns = layout.columns
        # None: no column is sensitive, as in a table of columns that a model never sees.
        positions: list[int] = []
        if isinstance(sensitive_features, str) and sensitive_features == "auto":
            sensitive_features = auto_sensitive([column.name for column in columns])
        if sensitive_features is not None:
            positions = sorted(layout.resolve(sensitive_features))
            check_sensitive(columns, positions, n_rows)
        if odd := [column for column in columns if column.looks_like is not None]:
            warnings.warn(warning_of(odd), UserWarning, stacklevel=users_level())
        given = [] if self.constraint is None else self.constraint
        constraints = learn(constraints_of(given), BoundColumns(layout, data))
        domain = Domain(layout)
        twins = Twins(layout, domain, positions, data, self._descendants(layout, data))
        check_constraints(constraints, BoundColumns(layout, data, warns=True))
        if twins.descendants is not None:
            warn_of_data(data, twins.apply_descendants(data.copy()))
        for j, column in enumerate(columns):
            if column.given:
                layout.check_holds(j, domain.low)
        judge = None
        if self.plausible is not None:
            judge = Plausibility(self.plausible, layout, domain, data)
        self._set(layout, domain, twins, data, constraints, judge)

    def _descendants(self, layout: Layout, data: Floats) -> Any:
        """Return what follows from sensitive values, as a mapping or a function of tables."""
        twins = self.twins
        if twins is None or isinstance(twins, Mapping):
            return twins
        if hasattr(twins, "transport"):
            raise TypeError(
                "twins= says what follows from a sensitive value; got the transport "
                f"{twins!r}, which moves people to another group. Use FlipTestAuditor(estimator, "
                f"transport=...) for that. {FORM}"
            )
        if isinstance(twins, type) or not (callable(twins) or hasattr(twins, "transform")):
            raise TypeError(
                "twins= must be a mapping, a function, or an object with fit and transform; got "
                f"{twins!r}. {FORM}"
            )
        if hasattr(twins, "transform"):
            return clone(twins).fit(layout.decode(data)).transform
        return twins

    def _set(
        self, layout: Layout, domain: Domain, twins: Twins, data: Floats,
        constraints: list[Any], judge: Plausibility | None,
    ) -> None:  # fmt: skip
        self.layout, self.domain, self.twins_ = layout, domain, twins
        self.sensitive, self.non_sensitive = twins.sensitive, twins.non_sensitive
        self.data, self.constraints_, self.plausibility = data, constraints, judge
        self._feasibility: Feasibility | None = None

    def set_params(self, **params: Any) -> InputSpace:
        """Change parameters by name; the space is then unfitted.

        Parameters
        ----------
        **params : dict
            Parameters and their values.

        Returns
        -------
        self : InputSpace
            The unfitted space.
        """
        super().set_params(**params)
        if params:
            for name in LEARNED:
                self.__dict__.pop(name, None)
        return self

    def __getattr__(self, name: str) -> Any:
        # Asked for names that are not there, so what is learned costs nothing more.
        if not name.startswith("__") and not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This InputSpace has no {name} before it has learned. Call fit(X, "
                "sensitive_features), or take space_ of a fitted auditor."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the space is fitted."""
        return "layout" in self.__dict__

    def _clone_as_parameter(self) -> Any:
        # In the clone of an auditor, one that has learned goes on with what it knows, and shares
        # the rows of its data.
        return copy.copy(self) if self.__sklearn_is_fitted__() else clone(self)

    def __getstate__(self) -> Any:
        # What constraints become for these columns is worked out anew where it is needed.
        state: Any = super().__getstate__()
        return {**state, "_feasibility": None} if "_feasibility" in state else state

    # The same space but for one part --------------------------------------------------------

    def with_data(self, X: Any) -> InputSpace:
        """Return the same domain with other data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features), or such a table in chunks
            Rows in the same kind of table, with the same columns. They may lie outside the domain.
            From chunks, a random sample of 100,000 rows is taken.

        Returns
        -------
        InputSpace
            A new space, whose `data` are the encoded `X`.

        Raises
        ------
        ValueError, TypeError
            If columns are missing, categories are unknown, or the table is of another kind.
        """
        chunks = as_chunks(X)
        if chunks is not None:
            X = sample_chunks(chunks, SAMPLE_ROWS, np.random.default_rng(0))
        container = self.layout.container
        X = container.check_names(X)
        values = container.all_values(X)
        Z = self.layout.encode_values(values)
        other = self.with_encoded(Z)
        other._off_steps = _off_steps(self.layout, Z, values)
        return other

    def rows(self, places: Any = None) -> Any:
        """Return the table of which `data` are the encoded values, all of its rows or some.

        Parameters
        ----------
        places : ndarray of int, default=None
            Positions of the rows; None means all.

        Returns
        -------
        array or DataFrame
            The rows, with the container, names and dtypes of `fit`, and the very numbers that were
            given, also those off the steps of their column. After `with_encoded` it is the table
            that `decode` makes.
        """
        places = slice(None) if places is None else places
        layout, table = self.layout, self.decode(self.data[places])
        return layout.container.with_columns(
            table,
            {
                int(place): layout.container.column(int(place), layout.fields[int(place)], own)
                for place, numbers in self._off_steps.items()
                for own in [numbers[places]]
            },
        )

    def _is_decoded(self, places: Any) -> Bools:
        """Whether some `rows` are to the last bit what `decode` makes of their encoded values."""
        encoded = self.layout.spread(self.data[places])
        same = np.ones(len(encoded), dtype=bool)
        for place, numbers in self._off_steps.items():
            same &= encoded[:, int(place)] == numbers[places]
        return same

    def with_encoded(self, Z: Floats) -> InputSpace:
        """Return the same domain with other data, given encoded of shape (n_rows, n_features)."""
        return self._changed(data=np.asarray(Z, dtype=np.float64))

    def with_layout(self, layout: Layout) -> InputSpace:
        """Return the same space with another layout, whose attributes have other domains."""
        return self._changed(layout=layout)

    def with_sensitive_features(self, positions: Sequence[int]) -> InputSpace:
        """Return the same domain and data with other sensitive columns, given by position."""
        descendants = self.twins_.descendants
        if isinstance(descendants, Mapping):
            names = [self.feature_names[j] for j in positions]
            descendants = {name: own for name, own in descendants.items() if name in names} or None
        return self._changed(sensitive=positions, descendants=descendants)

    def without_plausibility(self) -> InputSpace:
        """Return the same domain and data without the judge of plausibility."""
        return self if self.plausibility is None else self._changed(plausibility=None)

    def relax_descendants(self) -> InputSpace:
        """Return a space with more twins, in which the dependent columns are sensitive as well.

        A bound of the difference between its twins also bounds that of the twins of this space.

        Raises
        ------
        ValueError
            If `twins` is a function, since it is not known which columns it changes.
        """
        descendants = self.twins_.descendants
        if descendants is None:
            return self
        if not isinstance(descendants, Mapping):
            raise ValueError(
                "A certificate needs InputSpace(twins=...) to be a mapping; got a function, which "
                "does not tell which columns it changes. Write a mapping such as "
                '{"sex": {"male": {"pregnancies": 0}}}.'
            )
        every = sorted({*self.sensitive.tolist(), *self.twins_.descendant_columns})
        return self._changed(sensitive=every, descendants=None)

    def _changed(self, **parts: Any) -> InputSpace:
        """Return a copy with some parts replaced: layout, data, sensitive, descendants, ..."""
        layout = parts.get("layout", self.layout)
        domain = Domain(layout) if "layout" in parts else self.domain
        data = parts.get("data", self.data)
        sensitive = [int(j) for j in parts.get("sensitive", self.sensitive)]
        descendants = parts.get("descendants", self.twins_.descendants)
        other = copy.copy(self)
        other._set(
            layout, domain, Twins(layout, domain, sensitive, data, descendants), data,
            self.constraints_, parts.get("plausibility", self.plausibility),
        )  # fmt: skip
        other._off_steps = {} if "data" in parts else self._off_steps
        return other

    # What there is --------------------------------------------------------------------------

    @property
    def feature_names(self) -> list[Any]:
        """Names of the attributes: columns (positions for an array) and one-hot groups."""
        return [column.name for column in self.layout.columns]

    @property
    def sensitive_features(self) -> list[Any]:
        """Names of the sensitive attributes."""
        return [self.layout.columns[j].name for j in self.sensitive]

    @property
    def kinds(self) -> list[str]:
        """Kind of each attribute: "categorical", "integer" or "real".

        Fractions are "real", whether in steps or not. Dates are "integer", as their encoded values
        number the dates in the data; `describe` calls them dates.
        """
        return [column.kind for column in self.layout.columns]

    @property
    def n_features(self) -> int:
        """Number of attributes."""
        return len(self.layout.columns)

    @property
    def n_inputs(self) -> float:
        """Number of different inputs, sensitive columns left out; infinite with a real column."""
        return float(np.prod([self.layout.columns[j].n_values for j in self.non_sensitive]))

    @property
    def near_data(self) -> bool:
        """Whether new inputs are drawn near rows of the data."""
        return self.proposals == "data" or self.plausibility is not None

    def describe(self) -> pd.DataFrame:
        """Describe the attributes in a table.

        Returns
        -------
        DataFrame
            One row for each attribute, with the columns `attribute`, `kind`, `domain`, `step`,
            `columns` and `sensitive`. `step` is NaN if values are listed or real; `columns` is the
            number of columns of X that make up the attribute.

        Examples
        --------
        >>> import pandas as pd
        >>> from skfairtest import InputSpace
        >>> X = pd.DataFrame({"sex": ["f", "m"] * 50, "grade": [1.0, 2.1, 3.7, 4.0] * 25})
        >>> InputSpace(bounds={"grade": (1, 6)}).fit(X, ["sex"]).describe()
          attribute         kind  domain  step  columns  sensitive
        0       sex  categorical    f, m   NaN        1       True
        1     grade         real  1 to 6   0.1        1      False
        """
        return describe(self.layout, self.sensitive)

    @property
    def conditions(self) -> list[str]:
        """Conditions that inputs satisfy beyond their domains, each as a line for a report."""
        return conditions(self.layout, self.constraints_, self.plausibility, self.twins_)

    # Tables and encoded rows ----------------------------------------------------------------

    def encode(self, X: Any) -> Floats:
        """Encode a table, shape (n, n_features).

        Unknown categories raise an error, and so do rows with two ones in a one-hot group. Numbers
        raise none: if a value is off the steps of its column, `decode` returns nearly the same
        number. A missing value becomes NaN if the column had no missing values in `fit`.
        """
        return self.layout.encode(X)

    def decode(self, Z: Floats) -> Any:
        """Return the decoded table, with container, names and dtypes as in `fit`."""
        return self.layout.decode(np.asarray(Z, dtype=np.float64))

    # Inputs ---------------------------------------------------------------------------------

    def valid_rows(self) -> ValidRows:
        """Return a source of valid inputs, which remembers those that it has found."""
        return ValidRows(
            self.domain, self.feasibility, self.data, self.plausibility, near_data=self.near_data
        )

    def sample(
        self,
        n: int,
        rng: np.random.Generator,
        *,
        uniform: bool = False,
        deadline: float | None = None,
    ) -> Floats:
        """Draw random valid inputs.

        They are uniform if the constraint admits at least 5% of the domain. If it admits less, half
        of the draws are steps from valid rows: rows of the data and rows that were found before.
        The sample is then not uniform, and a row may come more than once. With
        ``proposals="data"`` or `plausible`, inputs are drawn near rows of the data.

        Parameters
        ----------
        n : int
            Number of inputs.
        rng : Generator
            Source of randomness.
        uniform : bool, default=False
            Whether to draw uniformly only, however long that takes.
        deadline : float, default=None
            Time of ``time.perf_counter`` at which the drawing ends; fewer rows are then returned,
            or none.

        Returns
        -------
        ndarray of shape (n, n_features)
            Encoded rows.

        Raises
        ------
        ValueError
            If no draw, and no row of the data, satisfies the constraint.
        """
        return self.valid_rows().sample(n, rng, uniform=uniform, deadline=deadline).rows

    @property
    def feasibility(self) -> Feasibility:
        """The constraint on encoded values, which draws valid rows and repairs others."""
        if self._feasibility is None:
            rules = bind(self.constraints_, BoundColumns(self.layout, self.data))
            names = [name_of(one) for one in self.constraints_]
            self._feasibility = Feasibility(rules, self.domain, self.twins_, names)
        return self._feasibility

    def valid(self, Z: Floats) -> NDArray[np.bool_]:
        """Return which rows satisfy the constraint, shape (n,)."""
        return self.feasibility.valid(Z)

    def contains(self, Z: Floats) -> NDArray[np.bool_]:
        """Return which rows lie in the domain, on its steps, and satisfy the constraint."""
        Z = np.asarray(Z, dtype=np.float64)
        inside = self.domain.contains(Z)
        inside[inside] = self.valid(Z[inside])
        return inside

    def is_acceptable(self, Z: Floats) -> NDArray[np.bool_]:
        """Return which rows satisfy the constraint and, with `plausible`, are plausible.

        This is for searches that move from input to input; only one of two twins must be plausible.
        """
        admitted = self.valid(Z)
        if self.plausibility is not None and admitted.any():
            admitted[admitted] = self.plausibility.accepts(np.asarray(Z)[admitted])
        return admitted


#: What `fit` learns.
LEARNED = (
    "layout", "domain", "twins_", "sensitive", "free", "data", "constraints_", "plausibility",
    "_feasibility", "_off_steps",
)  # fmt: skip


def _off_steps(layout: Layout, Z: Floats, values: list[Any]) -> dict[str, Floats]:
    """Return the numbers of columns in which some are off the steps, by the column's position."""
    return {
        str(places[0]): np.asarray(column.field().encode(values[places[0]]))
        for j, (column, places) in enumerate(zip(layout.columns, layout.places, strict=True))
        if column.discrete and not np.array_equal(Z[:, j], np.rint(Z[:, j]), equal_nan=True)
    }
