"""Whether a table and targets go with the model, before anything is asked for a report."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_regressor

from skfairtest._validation import column
from skfairtest.finding._words import message_of
from skfairtest.group._rules.attribute import MOST_CATEGORIES
from skfairtest.oracle._favourable import known_classes
from skfairtest.space._space import InputSpace


def check_columns(estimator: Any, X: Any, space: InputSpace) -> None:
    """See that the model takes the columns of X.

    Some models choose columns by their names and take a table that has more, or fewer. So where
    the columns are not those of training, the model is shown one row, and has the last word.
    """
    got = list(space.layout.container.names)
    known = getattr(estimator, "feature_names_in_", None)
    wanted = None if known is None else list(known)
    n_wanted = getattr(estimator, "n_features_in_", len(got) if wanted is None else len(wanted))
    if n_wanted == len(got) and (wanted is None or wanted == got):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # parts of the report keep the model's warnings
            estimator.predict(space.decode(space.data[:1]))
    except Exception as error:
        says = f"X has {len(got)} columns, the model was fitted to {n_wanted}"
        if wanted is not None and hasattr(X, "columns"):
            missing = [name for name in wanted if name not in set(got)]
            extra = [name for name in got if name not in set(wanted)]
            says += f"; X lacks {_listed(missing)}" if missing else ""
            says += f"; the model does not know {_listed(extra)}" if extra else ""
            if not missing and not extra:
                says = f"X has the model's columns in another order: {_listed(got)}"
        elif wanted is not None and n_wanted == len(got):
            says = f"X has no names of columns, and the model was fitted to {_listed(wanted)}"
        hint = "; what is sensitive and no input, as values: sensitive_features=X['race']"
        raise ValueError(
            f"{says}. Give the columns that {type(estimator).__name__} was fitted to"
            f"{hint * (len(got) > n_wanted)}. Of the first row it raised: {message_of(error)}"
        ) from error


def check_not_in_model(columns: pd.DataFrame) -> None:
    """See that the sensitive columns outside of the model divide the rows into groups."""
    for name, values in columns.items():
        try:
            n = values.nunique(dropna=False)
        except TypeError as error:  # lists and the like
            raise TypeError(
                f"Sensitive column {name!r} must hold one plain value per row; got "
                f"{values.iloc[0]!r}."
            ) from error
        if n < 2:
            raise ValueError(
                f"Sensitive column {name!r} has only one value (n_samples={len(values)}), so "
                "there are no groups to compare. Pass rows with other values, or leave it out."
            )
        if n > MOST_CATEGORIES and not pd.api.types.is_numeric_dtype(values):
            raise ValueError(
                f"Sensitive column {name!r} has {n:,} different values in {len(values):,} rows; "
                f"expected at most {MOST_CATEGORIES:,}, because groups of few rows show nothing. "
                "Merge values, or leave it out."
            )


def check_targets(estimator: Any, y: Any, n_rows: int) -> None:
    """See that y has one value a row, none of them missing, in the labels of the model."""
    array, classes = np.asarray(y), known_classes(estimator)
    if classes is None and array.ndim == 2 and array.shape[1] > 1:  # several outputs
        if n := int(pd.isna(array).sum()):
            raise ValueError(f"y has {n} missing values. Leave out those rows.")
        return
    given = column("y", y, n_rows)
    regresses = hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator)
    if regresses and given.dtype.kind not in "biuf":
        raise ValueError(
            f"y must hold numbers, as the regressor predicts; got {_listed(given.tolist())}."
        )
    if regresses or classes is None:
        return
    known = set(classes.tolist())
    unknown = [label for label in pd.unique(pd.Series(given)).tolist() if label not in known]
    if unknown:
        raise ValueError(
            f"y must hold labels of the model, {_listed(classes.tolist())}; got "
            f"{_listed(unknown)}. Write y as it was when the model was fitted, or leave it out."
        )


def _listed(values: list[Any]) -> str:
    """Five columns or labels for a message, and how many more there are."""
    more = "" if len(values) <= 5 else f" and {len(values) - 5} more"
    return f"{values[:5]!r}{more}"
