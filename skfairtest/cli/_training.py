"""Reads from a fitted model the columns and values of the table that it was trained on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer


def trained_columns(model: Any) -> list[str] | None:
    """Return the names of the columns that the model was trained on, or None if unknown."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def trained_values(model: Any) -> dict[str, list[Any]]:
    """Return the values that encoders of the model know, by column; none of a column of documents.

    Of the first encoder that has the column: what later ones get may have values of its own.
    """
    names, known = trained_columns(model) or [], dict[str, list[Any]]()
    for name, values in _walk(model, names):
        if name in names:
            known.setdefault(name, values)
    return known


def declared_categories(model: Any) -> list[str]:
    """Return the columns that a model takes as categories, of which it does not say which."""
    names = trained_columns(model)
    if names is None:
        return []
    while (inner := _inner(model)) is not None:
        model = inner
    if callable(getattr(model, "get_cat_feature_indices", None)):  # of CatBoost
        return [names[place] for place in model.get_cat_feature_indices()]
    is_category = getattr(model, "is_categorical_", None)  # of gradient boosting on histograms
    return [] if is_category is None else np.asarray(names, dtype=object)[is_category].tolist()


def _inner(model: Any) -> Any:
    """Return the model that a search, calibration or mitigation passes its rows to, or None."""
    found = [getattr(model, name, None) for name in ("best_estimator_", "estimator_", "estimator")]
    # Of several that were fitted alike one tells; they may stand inside of others (calibration).
    for name in ("estimators_", "calibrated_classifiers_"):
        several = getattr(model, name, None)
        found += list(several)[:1] if isinstance(several, (list, tuple, np.ndarray)) else []
    for inner in found:
        if trained_columns(inner) is None:
            inner = getattr(inner, "estimator", None)
        if trained_columns(inner) == trained_columns(model) and hasattr(inner, "predict"):
            return inner
    return None


def _walk(step: Any, names: list[str]) -> Iterator[tuple[str, list[Any]]]:
    names = trained_columns(step) or names
    kept = getattr(step, "values_", None)  # of models that are averaged over sensitive columns
    if isinstance(kept, pd.DataFrame):
        yield from ((str(name), kept[name].tolist()) for name in kept)
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            yield from _walk(part, names)
            # Behind other steps columns are known by the names that they still have, if any.
            if not (isinstance(part, (str, SimpleImputer)) or hasattr(part, "fit_resample")):
                names = []
    elif isinstance(step, FeatureUnion):
        for _, part in step.transformer_list:
            yield from _walk(part, names)
    elif isinstance(step, ColumnTransformer):
        for _, part, columns in step.transformers_:
            if isinstance(part, (str, FunctionTransformer)):
                continue  # scikit-learn 1.6 warns of reading the columns of a remainder
            # Most parts know their names; one that has got a single column as a series does not.
            columns = [columns] if isinstance(columns, (str, int)) else columns
            listed = columns if isinstance(columns, list) else []
            yield from _walk(part, [names[c] if isinstance(c, int) else c for c in listed])
    elif (inner := _inner(step)) is not None:
        yield from _walk(inner, names)
    elif callable(getattr(step, "build_analyzer", None)):  # it takes any text
        yield from ((name, []) for name in names[:1])
    else:
        known = getattr(step, "categories_", None)
        if isinstance(known, list) and len(known) == len(names):
            for name, values in zip(names, known, strict=True):
                values = np.asarray(values)
                # Whole numbers of nanoseconds are what a list of dates would hold.
                dates = values.dtype.kind == "M"
                yield name, (values.astype("datetime64[us]") if dates else values).tolist()
