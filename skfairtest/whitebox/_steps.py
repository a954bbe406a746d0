"""Which steps before a model are understood, and what is known of them.

One rule covers most: of a step each of whose output columns is a function of *one* input column,
an attribute of finitely many values is a table, worked out by the step itself, whatever it does.
That a step works on single columns has to follow from its class: a few rows cannot show it. Of a
real attribute rows show even less, so that there a step must be known to be nondecreasing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse, special
from sklearn import feature_selection
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from skfairtest._typing import Floats
from skfairtest.whitebox._casts import is_cast
from skfairtest.whitebox._library_code import check_library_code
from skfairtest.whitebox._unwrap import flat_steps, is_nothing, run_step

#: Nondecreasing on every column. Subclasses may do anything, so only these very types count.
SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
MONOTONE = (*SCALERS, Binarizer, PowerTransformer, QuantileTransformer)
#: These hand some of their columns on as they are.
SELECTORS = (
    VarianceThreshold,
    *(
        getattr(feature_selection, name)
        for name in (
            "GenericUnivariateSelect", "RFE", "RFECV", "SelectFdr", "SelectFpr", "SelectFromModel",
            "SelectFwe", "SelectKBest", "SelectPercentile", "SequentialFeatureSelector",
        )
    ),
)  # fmt: skip
#: These work on single columns, too, but are no nondecreasing functions of real ones.
ENCODERS = (OneHotEncoder, OrdinalEncoder, TargetEncoder)
BENDING = (KBinsDiscretizer, SplineTransformer)
IMPUTERS = (SimpleImputer, MissingIndicator)
#: Affine maps of all columns, which linear models and networks are read behind.
MIXING = (PCA, IncrementalPCA, TruncatedSVD)
BY_COLUMN = (*MONOTONE, *SELECTORS, *ENCODERS, *BENDING, *IMPUTERS)
#: Functions of single numbers that never decrease wherever they are numbers.
RISING: tuple[Any, ...] = (
    np.arcsinh, np.arctan, np.cbrt, np.ceil, np.deg2rad, np.exp, np.exp2, np.expm1, np.floor,
    np.log, np.log10, np.log1p, np.log2, np.positive, np.rad2deg, np.rint, np.sign, np.sinh,
    np.sqrt, np.tanh, np.trunc, special.expit,
)  # fmt: skip
#: These do so where what they are given is not negative.
RISING_FROM_ZERO: tuple[Any, ...] = (np.absolute, np.fabs, np.square, np.cosh)

HINT = (
    "Certified are models behind Pipeline, ColumnTransformer and FeatureUnion of steps that work "
    "on single columns: scalers, encoders, SimpleImputer, selectors of columns, PowerTransformer, "
    "QuantileTransformer, numpy functions in FunctionTransformer and 'passthrough'; SBFTAuditor "
    "searches with any estimator."
)
#: What to use instead of a step that is not understood, by its class.
INSTEAD = {
    "FunctionTransformer": "Name a numpy function of single numbers, such as numpy.log1p or "
    "numpy.float32, as func.",
    "IterativeImputer": "SimpleImputer looks at single columns.",
    "KNNImputer": "SimpleImputer looks at single columns.",
    "Normalizer": "StandardScaler scales columns instead of rows.",
    "PCA": "Before trees, StandardScaler leaves the columns apart; linear models and networks with "
    "ReLU are read behind PCA.",
    "PolynomialFeatures": "A model of trees finds products of columns by itself.",
}


class TakeColumns:
    """A step that hands some columns on as an array, as a bagged estimator sees them.

    Parameters
    ----------
    columns : array-like of int
        Their positions.
    """

    def __init__(self, columns: Any) -> None:
        self.columns = np.asarray(columns, dtype=np.intp)

    def transform(self, table: Any) -> Any:
        """The columns of a table."""
        array = table.tocsr() if sparse.issparse(table) else np.asarray(table)
        return array[:, self.columns]


class Branches:
    """The branches of a step, each up to where it mixes columns, as one step.

    Parameters
    ----------
    branches : list of (columns, steps)
        The columns that each is shown, None for all, and its fitted steps.
    """

    def __init__(self, branches: list[tuple[Any, list[Any]]]) -> None:
        self.branches = branches

    def parts(self, table: Any) -> Iterator[tuple[Any, Any]]:
        """The steps, each with the rows that reach it."""
        for columns, steps in self.branches:
            part = table if columns is None else take_columns(table, column_places(table, columns))
            for step in steps:
                yield step, part
                part = run_step(step, part)

    def transform(self, table: Any) -> Any:
        """What all branches give, side by side."""
        found = []
        for columns, steps in self.branches:
            part = table if columns is None else take_columns(table, column_places(table, columns))
            for step in steps:
                part = run_step(step, part)
            found.append(part.toarray() if sparse.issparse(part) else np.asarray(part))
        return np.hstack(found)


def check_kind(step: Any, hint: str, also: tuple[type, ...] = ()) -> None:
    """See that a step, fitted or not, and all that it is made of, are of a kind that is understood.

    Parameters
    ----------
    step : object
        A transformer, "passthrough", "drop" or None.
    hint : str
        What the user can do about code that is not the library's own, as a sentence.
    also : tuple of type, default=()
        Further kinds of steps that the model can be read behind.

    Raises
    ------
    ValueError
        That names what is not.
    """
    if is_nothing(step) or isinstance(step, (str, TakeColumns)):
        return
    check_library_code(step, hint)
    if isinstance(step, Pipeline):
        for inner in flat_steps(step, hint):
            check_kind(inner, hint, also)
    elif isinstance(step, ColumnTransformer):
        for _, inner, _ in getattr(step, "transformers_", step.transformers):
            check_kind(inner, hint, also)
        check_kind(step.remainder, hint, also)
    elif isinstance(step, FeatureUnion):
        for _, inner in step.transformer_list:
            check_kind(inner, hint, also)
    elif type(step) is FunctionTransformer:
        known = step.func is None or is_cast(step.func, step.kw_args)
        if not known and (step.kw_args or not is_elementwise(step.func)):
            raise not_understood(step)
    elif type(step) not in (*BY_COLUMN, *also):
        raise not_understood(step)


class Unsupported(ValueError):
    """A model or a step that is not understood: the reason, and the nearest thing that works."""

    def __init__(self, reason: str, nearest: str) -> None:
        super().__init__(f"{reason} {nearest}")
        self.reason, self.nearest = reason, nearest


def not_understood(step: Any) -> Unsupported:
    """The error about a step, with what could stand in its place."""
    name = type(step).__name__
    instead = f"{INSTEAD[name]} " if name in INSTEAD else ""
    return Unsupported(
        f"The step {' '.join(repr(step).split()):.120} is not understood.", f"{instead}{HINT}"
    )


def is_elementwise(function: Any) -> bool:
    """Whether a function works on single numbers: known of those of numpy and scipy.special."""
    if not isinstance(function, np.ufunc) or function.nin != 1 or function.nout != 1:
        return False
    return any(getattr(home, function.__name__, None) is function for home in (np, special))


#: Says which attributes each column of a table of rows is a function of.
Sources = Callable[[Any], list[list[int]]]


def check_step(step: Any, table: Any, sources: Sources, wide: NDArray[np.bool_]) -> None:
    """See that a fitted step works on single columns, and keeps the order of real ones.

    Parameters
    ----------
    step : object
        A transformer, or "passthrough" or "drop".
    table : array or DataFrame
        Rows that reach the step.
    sources : callable
        The attributes that each column of a table is made of.
    wide : ndarray of bool
        Attributes that are cut at thresholds.

    Raises
    ------
    ValueError
        If the step is not understood; the message names it.
    """
    if is_nothing(step) or isinstance(step, (str, TakeColumns)):
        return
    if isinstance(step, (Pipeline, ColumnTransformer, FeatureUnion, Branches)):
        for inner, part in parts(step, table):
            check_step(inner, part, sources, wide)
        return
    check_kind(step, HINT)
    plain = type(step) is FunctionTransformer
    plain = plain and (step.func is None or is_cast(step.func, step.kw_args))
    zeros = type(step) is QuantileTransformer and step.ignore_implicit_zeros
    if plain or (type(step) in (*MONOTONE, *SELECTORS) and not zeros):
        return
    of_wide = [any(wide[j] for j in attributes) for attributes in sources(table)]
    if not any(of_wide):
        return
    if type(step) in ENCODERS:
        raise ValueError(
            f"{type(step).__name__} encodes a column with more values than a table has room for. "
            "Declare its values in categories=, or narrow bounds=."
        )
    if zeros or (type(step) in BENDING and getattr(step, "encode", "") != "ordinal"):
        raise ValueError(
            f"{' '.join(repr(step).split()):.120} bends a real column: what it makes of it rises "
            "and falls. KBinsDiscretizer(encode='ordinal') keeps the order, and columns of whole "
            f"numbers are understood with any. {HINT}"
        )
    if type(step) is FunctionTransformer:
        _check_function(step, _numbers_of(table, of_wide))
    elif type(step) in IMPUTERS and not pd.isna(step.missing_values):
        raise ValueError(
            f"{type(step).__name__}(missing_values={step.missing_values!r}) on a real column bends "
            f"it; expected NaN as the mark of a missing value. {HINT}"
        )


def _check_function(step: Any, values: Floats) -> None:
    """See that a function keeps the order of the numbers that it is shown."""
    # What a column shows is nondecreasing in the attribute, so that its ends are the extremes.
    rises = step.func in RISING or (step.func in RISING_FROM_ZERO and bool((values >= 0).all()))
    name = f"FunctionTransformer(numpy.{step.func.__name__}) on a real column"
    if not rises:
        raise ValueError(
            f"{name}: expected a function that is known to rise, such as log1p, sqrt, exp, or "
            f"square of numbers that are not negative. {HINT}"
        )
    with np.errstate(all="ignore"):
        if not np.isfinite(step.func(values)).all():
            raise ValueError(
                f"{name} gives no number for some of its values, which go from {values.min():.6g} "
                f"to {values.max():.6g}. Narrow bounds= to where it does."
            )


def _numbers_of(table: Any, wanted: list[bool]) -> Floats:
    """Some columns of a table as numbers."""
    part = take_columns(table, [t for t, own in enumerate(wanted) if own])
    return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)


def parts(step: Any, table: Any) -> Iterator[tuple[Any, Any]]:
    """The fitted steps that a container is made of, each with the rows that reach it."""
    if isinstance(step, Branches):
        yield from step.parts(table)
    elif isinstance(step, Pipeline):
        for inner in flat_steps(step, HINT):
            yield inner, table
            table = run_step(inner, table)
    elif isinstance(step, FeatureUnion):
        for _, inner in step.transformer_list:
            yield inner, table
    else:
        for _, inner, columns in step.transformers_:
            places = column_places(table, columns)
            if places:  # else what stands there is not even fitted
                yield inner, take_columns(table, places)


def column_places(table: Any, columns: Any) -> list[int]:
    """Positions of the columns that a ColumnTransformer names in one of its many ways."""
    names = list(table.columns) if hasattr(table, "columns") else list(range(table.shape[1]))
    if isinstance(columns, slice):
        ends = [columns.start, columns.stop]
        if any(isinstance(end, str) for end in ends):
            start = names.index(ends[0]) if ends[0] is not None else None
            stop = names.index(ends[1]) + 1 if ends[1] is not None else None  # labels include it
            columns = slice(start, stop, columns.step)
        return list(range(len(names)))[columns]
    if isinstance(columns, (str, int, np.integer)):
        columns = [columns]
    columns = list(columns)
    if columns and all(isinstance(c, (bool, np.bool_)) for c in columns):
        return [int(p) for p in np.flatnonzero(columns)]
    return [names.index(c) if isinstance(c, str) else int(c) for c in columns]


def take_columns(table: Any, places: list[int]) -> Any:
    """Some columns of a table, as the same kind of table."""
    if isinstance(table, pd.DataFrame):
        return table.iloc[:, places]
    if hasattr(table, "select"):
        return table.select([list(table.columns)[p] for p in places])
    if sparse.issparse(table):
        table = table.tocsr()
    return table[:, places]
