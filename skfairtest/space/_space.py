"""InputSpace: which inputs a model is audited on.

What a user says of columns, domains, constraints and twins is learned from a table: rows of any
mixed table become rows of one float matrix and back. Everything that knows about dtypes is in the
modules below this one.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from skfairtest._delegation import LinksToDocs
from skfairtest._parameters import DeclaredParameters, one_of
from skfairtest._typing import Floats
from skfairtest.exceptions import users_level
from skfairtest.space._chunks import as_chunks
from skfairtest.space._column_names import check_sensitive
from skfairtest.space._constraints.admission import Admission
from skfairtest.space._constraints.base import (
    Constraint,
    bind,
    constraints_of,
    learn,
    name_of,
    read_constraint,
)
from skfairtest.space._constraints.bound_columns import BoundColumns
from skfairtest.space._constraints.contradictions import check_constraints
from skfairtest.space._dependents import FORM, warn_of_data
from skfairtest.space._describe import conditions, describe
from skfairtest.space._domain import Domain
from skfairtest.space._identifiers import warning_of
from skfairtest.space._layout import Layout
from skfairtest.space._learn import learn as learn_columns
from skfairtest.space._plausible.judge import Plausibility
from skfairtest.space._protected_names import auto_sensitive
from skfairtest.space._sample import SAMPLE_ROWS, sample_chunks
from skfairtest.space._twins import Twins
from skfairtest.space._valid_rows import ValidRows

#: Where new inputs are drawn.
PROPOSALS = ("uniform", "data")


class InputSpace(DeclaredParameters, LinksToDocs, BaseEstimator):
    """The inputs that a model is asked about: domains, constraints, and what a twin is.

    Auditors take it as ``space=``. They learn a copy of it from the table in their `fit` and keep
    that as `space_`. One that has learned already, by `fit`, is taken as it is, with the rows of
    the auditor's table as its data.

    A row of a mixed table becomes a row of codes, one an attribute: the value itself for a number,
    or the number of its step where the column has a resolution (grades of 2.5, 2.6, ...); the
    position among its levels for a category. A one-hot group of columns is one categorical
    attribute.

    Parameters
    ----------
    bounds : dict of column to (low, high), default=None
        Closed domains of numeric columns; by default the range of the values in X. Where a column
        has missing values in X, missing is one more value of its domain.
    categories : dict of column to list, default=None
        Domains of categorical columns, of dates and of one-hot groups; by default the values in X.
        A numeric column that is named here becomes categorical.
    steps : dict of column to float, default=None
        Resolution of a numeric column: its values are the low end of the domain and multiples of
        the step above it. By default it is learned from the values (decimals, common steps, a list
        of amounts); it is 1 for integers, and reals have none. Searches move by one step, or by
        about a hundredth of the domain where fractions come in finer steps or in none.
    one_hot : "auto", dict of name to list of columns, or None, default="auto"
        Groups of 0/1 columns that are one attribute each; inputs keep one of them at 1. "auto"
        takes columns with a common prefix (``race_``) that sum to one in every row, or to at most
        one where that is no chance. The name of a group, or of any of its columns, means the group
        wherever columns are named.
    constraint : constraint object, callable, dict or list of these, default=None
        Which inputs can exist: objects such as ``Order("experience", "<=", "age")`` (see `Order`,
        `Linear`, `Implies`, `Is`, `OneHot`, `Allowed`), or callables that take rows in the
        container of X and return a boolean for each. All must hold. A dict is `Is` for each of its
        columns.
    plausible : "auto", float, outlier detector or None, default=None
        Which inputs look like the data. Only pairs of twins count of which one does, at least, and
        new inputs are drawn near rows of X. "auto" is a classifier told to separate the rows of X
        from inputs made up of their parts, and accepts 98% of real rows; a number is that share. A
        detector has scikit-learn's interface (``predict`` gives 1 and -1). It is cloned and fitted
        to X if it is not fitted; it gets the rows in the container of X, and an unfitted one that
        is no pipeline gets codes where X has categories. None: all inputs count.
    twins : dict, callable or transformer, default=None
        What else follows from a sensitive value, so that twins differ there, too:
        ``{"sex": {"male": {"pregnancies": 0}}}``; a function that takes rows in the container of X
        and returns them with what follows from their sensitive values; or an object whose
        ``transform`` does so, which is cloned and fitted to X. None: twins differ in the sensitive
        attributes only.
    proposals : {"uniform", "data"}, default="uniform"
        Where new inputs are drawn: anywhere in the domain, or near the data: a row of X crossed
        with one of its nearest neighbours. With `plausible` always near the data.

    Attributes
    ----------
    layout : Layout
        The attributes of the table: columns and one-hot groups.
    domain : Domain
        The values that each attribute can take, as codes: `low`, `high`, `steps`, ...
    twins_ : Twins
        The combinations of sensitive values, and the rows that differ in them.
    admission : Admission
        What the constraints allow to draw, and where they move rows.
    constraint_ : callable, constraint object or None
        The constraints, several of them as one `AllOf`.
    plausibility : Plausibility or None
        Says which inputs look like the data, where that was asked for.
    data : ndarray of shape (n_rows, n_features)
        Codes of the rows of X; of a table in chunks, of a random sample of 100,000 of them.
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
            files), or a Dask DataFrame. Chunks are gone through once, and one is in memory at a
            time: kinds, domains, categories, steps and groups are those of the whole table (beyond
            262,144 different numbers of a column in steps, later ones are held against the steps
            seen until then), what is learned from rows is learned from the sample in `data`.
        sensitive_features : "auto", str, int, list of these, or None, default="auto"
            The sensitive columns by name or position. "auto" takes common protected attributes by
            their names; None for no sensitive column.

        Returns
        -------
        self : InputSpace
            The learned space.

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
        ChunkFailedError
            If there is no row, or a chunk cannot be read or does not go with the ones before it.

        Warns
        -----
        UserWarning
            That names the columns which are identifiers or free text; these cannot be sensitive.
            And that counts the rows of X in which `twins` does not hold.
        """
        self._check_declared()
        chunks = as_chunks(X)
        described = (self.bounds, self.categories, self.steps, self.one_hot)
        rows = learn_columns(X if chunks is None else chunks, described)
        return self._learn(*rows, sensitive_features)

    def _learn(
        self, layout: Layout, data: Floats, n_rows: int, sensitive_features: Any
    ) -> InputSpace:
        """Learn the rest, the columns and rows being known."""
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
        constraint = read_constraint(self.constraint)
        if isinstance(constraint, Constraint):
            constraint = learn(constraint, BoundColumns(layout, data))
        domain = Domain(layout)
        twins = Twins(layout, domain, positions, data, self._dependents(layout, data))
        check_constraints(constraint, BoundColumns(layout, data, warns=True), domain, twins)
        if twins.dependents is not None:
            warn_of_data(data, twins.apply_dependents(data.copy()))
        for j, column in enumerate(columns):
            if column.given:
                layout.check_holds(j, domain.low)
        judge = None
        if self.plausible is not None:
            judge = Plausibility(self.plausible, layout, domain, data)
        self._set(layout, domain, twins, data, constraint, judge)
        return self

    def _dependents(self, layout: Layout, data: Floats) -> Any:
        """What follows from sensitive values, as a mapping or a function of tables."""
        twins = self.twins
        if twins is None or isinstance(twins, Mapping):
            return twins
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
        constraint: Constraint | Callable[[Any], Any] | None, judge: Plausibility | None,
    ) -> None:  # fmt: skip
        self.layout, self.domain, self.twins_ = layout, domain, twins
        self.sensitive, self.free = twins.sensitive, twins.free
        self.data, self.constraint_, self.plausibility = data, constraint, judge
        self._admission: Admission | None = None

    def set_params(self, **params: Any) -> InputSpace:
        """Change parameters by name; what was learned by `fit` is forgotten.

        Parameters
        ----------
        **params : dict
            Parameters and their values.

        Returns
        -------
        self : InputSpace
            The space, to be learned anew.
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
        """Whether the space has learned."""
        return "layout" in self.__dict__

    def __sklearn_clone__(self) -> Any:
        # One that has learned goes on with what it knows, and shares the rows of its data.
        return copy.copy(self) if self.__sklearn_is_fitted__() else super().__sklearn_clone__()

    def __getstate__(self) -> Any:
        # What constraints become for these columns is worked out anew where it is needed.
        state: Any = super().__getstate__()
        return {**state, "_admission": None} if "_admission" in state else state

    # The same space but for one part --------------------------------------------------------

    def with_data(self, X: Any) -> InputSpace:
        """The same domain with other data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features), or such a table in chunks
            Rows in the same kind of table, with the same columns. They may lie outside the domain.
            Of chunks a random sample of 100,000 rows is taken.

        Returns
        -------
        InputSpace
            A new space, whose `data` are the codes of `X`.

        Raises
        ------
        ValueError, TypeError
            If columns are missing, categories are unknown, or the table is of another kind.
        """
        chunks = as_chunks(X)
        if chunks is not None:
            X = sample_chunks(chunks, SAMPLE_ROWS, np.random.default_rng(0))
        layout, Z = self.layout.bare().read(X)
        return self._with_same_columns(layout).with_codes(Z)

    def read(self, X: Any) -> tuple[InputSpace, Floats]:
        """Codes of a table, and the space that makes the very same rows of them; see `Layout.read`.

        It is this space unless numbers are off the steps of a column. Who shows a model rows of
        data decodes them by it, and drops it with the rows.
        """
        layout, Z = self.layout.read(X)
        return self._with_same_columns(layout), Z

    def _with_same_columns(self, layout: Layout) -> InputSpace:
        """The same domain and data, of columns that know other numbers off their steps."""
        if layout is self.layout:
            return self
        other = copy.copy(self)
        other.layout, other._admission = layout, None
        other.domain, other.twins_ = copy.copy(self.domain), copy.copy(self.twins_)
        other.domain.columns = layout.columns
        other.twins_.layout, other.twins_.domain = layout, other.domain
        return other

    def with_codes(self, Z: Floats) -> InputSpace:
        """The same domain with other data, given as codes of shape (n_rows, n_features)."""
        return self._changed(data=np.asarray(Z, dtype=np.float64))

    def with_layout(self, layout: Layout) -> InputSpace:
        """The same with attributes of other domains."""
        return self._changed(layout=layout)

    def with_sensitive_features(self, positions: Sequence[int]) -> InputSpace:
        """The same domain and data with other sensitive columns, given by their positions."""
        dependents = self.twins_.dependents
        if isinstance(dependents, Mapping):
            names = [self.feature_names[j] for j in positions]
            dependents = {name: own for name, own in dependents.items() if name in names} or None
        return self._changed(sensitive=positions, dependents=dependents)

    def without_plausibility(self) -> InputSpace:
        """The same domain and data, plausible or not."""
        return self if self.plausibility is None else self._changed(plausibility=None)

    def without_constraint(self) -> InputSpace:
        """The whole box, with twins that differ in the sensitive attributes only."""
        return self._changed(constraint=None, plausibility=None, dependents=None)

    def relax_dependents(self) -> InputSpace:
        """A larger space of twins, in which the columns that follow are sensitive as well.

        What bounds the difference between its twins bounds that between the twins of this space.

        Raises
        ------
        ValueError
            Where `twins` is a function, of which nobody knows what it changes.
        """
        dependents = self.twins_.dependents
        if dependents is None:
            return self
        if not isinstance(dependents, Mapping):
            raise ValueError(
                "A certificate needs twins= as a mapping; got a function, which cannot be looked "
                f"into. {FORM}"
            )
        every = sorted({*self.sensitive.tolist(), *self.twins_.followers})
        return self._changed(sensitive=every, dependents=None)

    def _changed(self, **parts: Any) -> InputSpace:
        """A copy with other parts: layout, sensitive, data, constraint, dependents, ..."""
        layout = parts.get("layout", self.layout)
        domain = Domain(layout) if "layout" in parts else self.domain
        data = parts.get("data", self.data)
        sensitive = [int(j) for j in parts.get("sensitive", self.sensitive)]
        dependents = parts.get("dependents", self.twins_.dependents)
        other = copy.copy(self)
        other._set(
            layout, domain, Twins(layout, domain, sensitive, data, dependents), data,
            parts.get("constraint", self.constraint_),
            parts.get("plausibility", self.plausibility),
        )  # fmt: skip
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

        Fractions are "real", whether in steps or not; dates, whose codes number those in the data,
        are "integer" here and called by their kind in `describe`.
        """
        return [column.kind for column in self.layout.columns]

    @property
    def n_features(self) -> int:
        """Number of attributes."""
        return len(self.layout.columns)

    @property
    def n_inputs(self) -> float:
        """Number of different inputs outside the sensitive columns; infinite with a real one."""
        return float(np.prod([self.layout.columns[j].n_values for j in self.free]))

    @property
    def near_data(self) -> bool:
        """Whether new inputs are drawn near rows of the data."""
        return self.proposals == "data" or self.plausibility is not None

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
        >>> InputSpace(bounds={"grade": (1, 6)}).fit(X, ["sex"]).describe()
          attribute         kind  domain  step  columns  sensitive
        0       sex  categorical    f, m   NaN        1       True
        1     grade         real  1 to 6   0.1        1      False
        """
        return describe(self.layout, self.sensitive)

    @property
    def conditions(self) -> list[str]:
        """What must hold of inputs beyond their domains, each in a line that a report can show."""
        return conditions(self.layout, self.constraint_, self.plausibility, self.twins_)

    # Tables and codes -----------------------------------------------------------------------

    def encode(self, X: Any) -> Floats:
        """Codes of a table, shape (n, n_features).

        Unknown categories are an error, and rows with two ones in a one-hot group. Numbers never
        are: of values off the steps of a column `decode` makes nearly the same numbers again, and
        the very same after `with_data`. Missing values become NaN in a column that had none in the
        data of the domain.
        """
        return self.layout.encode(X)

    def decode(self, Z: Floats) -> Any:
        """The table of the codes: same container, names and dtypes as the fitted data."""
        return self.layout.decode(np.asarray(Z, dtype=np.float64))

    # Inputs ---------------------------------------------------------------------------------

    def valid_rows(self) -> ValidRows:
        """Make a source of valid inputs, which remembers where they are."""
        return ValidRows(
            self.domain, self.admission, self.data, self.plausibility, near_data=self.near_data
        )

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
        found before: the sample is then not uniform, and rows may come more than once. With
        ``proposals="data"``, or `plausible`, they are drawn near rows of the data.

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
        return self.valid_rows().sample(n, rng, uniform=uniform, deadline=deadline).rows

    @property
    def admission(self) -> Admission:
        """The constraint on codes, and what it allows to draw and to repair."""
        if self._admission is None:
            rules, names = [], [name_of(one) for one in constraints_of(self.constraint_)]
            if self.constraint_ is not None:
                rules = bind(self.constraint_, BoundColumns(self.layout, self.data))
            self._admission = Admission(rules, self.domain, self.twins_, names)
        return self._admission

    def valid(self, Z: Floats) -> NDArray[np.bool_]:
        """Which rows the constraint admits, shape (n,)."""
        return self.admission.valid(Z)

    def contains(self, Z: Floats) -> NDArray[np.bool_]:
        """Which rows are inputs of the domain, as `Domain.clip` would leave them, and valid."""
        Z = np.asarray(Z, dtype=np.float64)
        inside = self.domain.contains(Z)
        inside[inside] = self.valid(Z[inside])
        return inside

    def is_acceptable(self, Z: Floats) -> NDArray[np.bool_]:
        """Which rows the constraint admits, and, where that is asked for, are plausible.

        For searches that move on from input to input; of two twins only one has to be plausible.
        """
        admitted = self.valid(Z)
        if self.plausibility is not None and admitted.any():
            admitted[admitted] = self.plausibility.accepts(np.asarray(Z)[admitted])
        return admitted


#: What `fit` learns.
LEARNED = (
    "layout", "domain", "twins_", "sensitive", "free", "data", "constraint_", "plausibility",
    "_admission",
)  # fmt: skip
