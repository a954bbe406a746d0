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
from scipy import sparse, special
from sklearn import feature_selection
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion
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
from skfairtest.whitebox._library_code import check_library_code
from skfairtest.whitebox._monotone_pieces import Breakpoints, breakpoints_of, has_known_breakpoints
from skfairtest.whitebox._own_steps import OwnStep
from skfairtest.whitebox._skrub import check_ordered, is_skrub, is_squashing, steps_inside
from skfairtest.whitebox._tables import as_numbers, column_places, take_columns
from skfairtest.whitebox._unsupported import Unsupported
from skfairtest.whitebox._unwrap import flat_steps, run_step, run_steps

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

HINT = (
    "Models can be certified behind a Pipeline, ColumnTransformer or FeatureUnion of steps that "
    "work on single columns: scalers, encoders, SimpleImputer, selectors of columns, "
    "PowerTransformer, QuantileTransformer, numpy functions in FunctionTransformer, skrub's "
    "TableVectorizer and 'passthrough'. SBFTAuditor searches with any estimator."
)
#: What to use instead of a step that is not understood, by its class.
INSTEAD = {
    "FunctionTransformer": "Name a numpy function of single numbers, such as numpy.log1p or "
    "numpy.float32, as func.",
    "IterativeImputer": "SimpleImputer imputes each column by itself.",
    "KNNImputer": "SimpleImputer imputes each column by itself.",
    "Normalizer": "StandardScaler scales columns instead of rows.",
    "PCA": "Before trees, StandardScaler does not mix the columns; behind PCA, linear models and "
    "networks can be certified.",
    "PolynomialFeatures": "SplineTransformer bends single columns; models of trees find products "
    "of columns by themselves.",
}


class Branches:
    """The branches of a step, each up to where it mixes columns, as one step.

    - `branches`: the columns that each is shown, None for all, and its fitted steps.
    """

    def __init__(self, branches: list[tuple[Any, list[Any]]]) -> None:
        self.branches = branches

    def transform(self, table: Any) -> Any:
        """What all branches give, side by side."""
        found = []
        for columns, steps in self.branches:
            part = table if columns is None else take_columns(table, column_places(table, columns))
            part = run_steps(steps, part)
            found.append(part.toarray() if sparse.issparse(part) else np.asarray(part))
        return np.hstack(found)


#: Steps that are made of others side by side.
BRANCHING = (ColumnTransformer, FeatureUnion, Branches)


def branches_of(step: Any) -> list[tuple[list[Any], Any, float]]:
    """The steps of each branch, the columns that they are shown, None for all, and its weight."""
    if isinstance(step, Branches):
        return [(steps, columns, 1.0) for columns, steps in step.branches]
    if isinstance(step, FeatureUnion):
        found = [(name, inner, None) for name, inner in step.transformer_list]
    else:
        fitted = getattr(step, "transformers_", None)
        found = fitted or [*step.transformers, ("", step.remainder, None)]
    weights = step.transformer_weights or {}
    return [
        (flat_steps(inner, HINT), columns, float(weights.get(name, 1.0)))
        for name, inner, columns in found
        if not isinstance(inner, str) or inner != "drop"
    ]


def check_kind(step: Any, hint: str, also: tuple[type, ...] = ()) -> None:
    """See that a step, fitted or not, and all that it is made of, are of a kind that is understood.

    - `step`: no pipeline, which `unwrap` and `branches_of` take apart.
    - `hint`: what the user can do about code that is not the library's own, as a sentence.
    - `also`: further kinds of steps that the model can be read behind.
    """
    if isinstance(step, OwnStep):
        return
    if is_skrub(step):
        for inner in steps_inside(step, hint):
            for part in flat_steps(inner, hint):
                check_kind(part, hint)
        return
    check_library_code(step, hint)
    if isinstance(step, BRANCHING):
        for steps, _, _ in branches_of(step):
            for inner in steps:
                check_kind(inner, hint, also)
    elif type(step) is FunctionTransformer:
        if not _is_plain(step) and (step.kw_args or not is_elementwise(step.func)):
            raise not_understood(step)
    elif type(step) not in (*BY_COLUMN, *also):
        raise not_understood(step)


def not_understood(step: Any) -> Unsupported:
    """The error about a step, with what could stand in its place."""
    name = type(step).__name__
    instead = f"{INSTEAD[name]} " if name in INSTEAD else ""
    return Unsupported(f"The step {_shown(step)} is not understood.", f"{instead}{HINT}")


def _shown(step: Any) -> str:
    """A step in a message, without the addresses of its functions."""
    if type(step) is FunctionTransformer and callable(step.func):
        return f"FunctionTransformer({getattr(step.func, '__name__', 'of a callable')})"
    return f"{' '.join(repr(step).split()):.120}"


def is_elementwise(function: Any) -> bool:
    """Whether a function works on single numbers: known of those of numpy and scipy.special."""
    if not isinstance(function, np.ufunc) or function.nin != 1 or function.nout != 1:
        return False
    return any(getattr(home, function.__name__, None) is function for home in (np, special))


def check_step(step: Any, table: Any, real: list[int]) -> list[Breakpoints]:
    """See that a fitted step works on single columns, and where real ones change direction.

    - `table`: rows that reach the step.
    - `real`: its columns that are made of attributes which are cut at thresholds.
    - `ValueError`: if the step is not understood; the message names it.
    """
    check_kind(step, HINT)
    if not real:
        return []
    if is_skrub(step):
        check_ordered(step, real, SCALERS)
        return []
    if type(step) in ENCODERS:
        raise Unsupported(
            f"{type(step).__name__} encodes a column that has too many values to be listed.",
            "Declare its values by InputSpace(categories=...), narrow its domain by "
            "InputSpace(bounds=...), or use KBinsDiscretizer, which has one code for each range "
            "of numbers.",
        )
    if _bends_in_other_ways(step, table):
        raise not_understood(step)
    if type(step) is FunctionTransformer:
        if _is_plain(step):
            return []
        if not has_known_breakpoints(step.func):
            raise Unsupported(
                f"FunctionTransformer({step.func.__name__}) on a real column is not known to rise "
                "or fall.",
                "Expected a function known to do so, such as log1p, sqrt, exp, negative, square or "
                f"sin. {HINT}",
            )

    def bounds() -> tuple[Floats, Floats]:
        # Between its breakpoints what a column shows rises or falls: they have its extremes.
        values = as_numbers(table)
        return np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)

    found = breakpoints_of(step, table, bounds)
    return [own for own in found if own.column in real and len(own.at) + len(own.after)]


def _bends_in_other_ways(step: Any, table: Any) -> bool:
    """Whether a step makes of real columns what is not read: repeats, or what begins at a mark."""
    if type(step) is SplineTransformer:
        return step.extrapolation in ("continue", "periodic")
    if type(step) is QuantileTransformer:
        return step.ignore_implicit_zeros or sparse.issparse(table)
    return type(step) in IMPUTERS and not pd.isna(step.missing_values)


def is_rounded(step: Any) -> bool:
    """Whether what a step gives rises, or falls, up to rounding alone.

    Scalers do one operation after another, each of which keeps the order; functions do not.
    """
    if type(step) is FunctionTransformer:
        return not _is_plain(step)
    return type(step) in (PowerTransformer, QuantileTransformer, SplineTransformer) or is_squashing(
        step
    )


def _is_plain(step: Any) -> bool:
    """Whether a FunctionTransformer hands numbers on, or rounds them to single precision."""
    return not step.kw_args and (step.func is None or step.func in (np.float32, np.float64))


def check_numbers(step: Any, table: Any, real: list[int]) -> None:
    """See that a function gives numbers, and the right ones, at all ends of what rises or falls.

    Whole numbers are worked out in their own type, in which a result that does not fit wraps round.
    Between two ends at which nothing has wrapped nothing has, since it would have to be larger.
    """
    if type(step) is not FunctionTransformer or _is_plain(step) or not real:
        return
    values = as_numbers(take_columns(table, real))
    missing = np.isnan(values)  # what is missing may stay so
    span = f"which go from {np.nanmin(values):.6g} to {np.nanmax(values):.6g}"
    name = f"FunctionTransformer({step.func.__name__})"
    with np.errstate(all="ignore"):
        expected = np.asarray(step.func(values), dtype=np.float64)
        if not np.isfinite(expected[~missing]).all():
            raise Unsupported(
                f"{name} on a real column gives no number for some of its values, {span}.",
                "Narrow its domain by InputSpace(bounds=...) to values for which it gives one.",
            )
        got = as_numbers(run_step(step, table))[:, real]
    # Functions of short types are rounded to few digits; what has wrapped round is far off.
    wrong = ~np.isclose(got, expected, rtol=1e-2, atol=1e-2, equal_nan=True)
    if wrong.any():
        i, t = (int(k[0]) for k in np.nonzero(wrong))
        raise Unsupported(
            f"{name} gives {got[i, t]:.6g} for {values[i, t]:.6g}, where {expected[i, t]:.6g} was "
            f"expected: the dtype of a column is too narrow for its values, {span}, so that they "
            "overflow.",
            "Convert the column to float64 before the model is fitted, or narrow its domain by "
            "InputSpace(bounds=...).",
        )


#: Gives the rows that reach a step, from those that reach the whole that it is part of.
Reach = Callable[[Any], Any]


def leaves(step: Any, table: Any, reach: Reach) -> Iterator[tuple[Any, Reach]]:
    """The fitted steps that are not made of others, in their order, and what reaches each.

    - `step`: no pipeline, which `unwrap` and `branches_of` take apart.
    - `table`: rows that reach it.
    - `reach`: what is done to rows before they reach it.
    """
    if not isinstance(step, BRANCHING):
        yield step, reach
        return
    for steps, columns, _ in branches_of(step):
        places = None if columns is None else column_places(table, columns)
        if places == []:
            continue  # what stands there is not even fitted
        part = table if places is None else take_columns(table, places)
        reached = _through(reach, places)
        for inner in steps:
            yield from leaves(inner, part, reached)
            part, reached = run_step(inner, part), _behind(reached, inner)


def _behind(reach: Reach, step: Any) -> Reach:
    return lambda rows: run_step(step, reach(rows))


def _through(reach: Reach, places: list[int] | None) -> Reach:
    return reach if places is None else lambda rows: take_columns(reach(rows), places)
