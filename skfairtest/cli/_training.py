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

#: Where meta-estimators keep the model that they ask.
WRAPPED = ("best_estimator_", "estimator_", "estimator")
MOST_DEEP = 5
WITH_STEPS = (Pipeline, ColumnTransformer, FeatureUnion)


def trained_columns(model: Any) -> list[str] | None:
    """Return the names of the columns that the model was trained on, or None if unknown."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def trained_count(model: Any) -> int | None:
    """Return the number of columns that the model was trained on, or None if unknown."""
    count = getattr(model, "n_features_in_", None)
    return int(count) if isinstance(count, (int, np.integer)) else None


def trained_values(model: Any) -> dict[str, list[Any]]:
    """Return the values that encoders of the model know, by column; none of a column of documents.

    Of the first encoder that has the column: what later ones get may have values of its own.
    """
    names, known = trained_columns(model) or [], dict[str, list[Any]]()
    for name, values in _walk(model, names):
        if name in names:
            known.setdefault(name, values)
    return known


def trained_labels(model: Any) -> list[Any]:
    """Return the labels that the model predicts; none of a regressor, or of several outputs."""
    labels = getattr(model, "classes_", None)
    return [] if labels is None or isinstance(labels, list) else np.asarray(labels).tolist()


def declared_categories(model: Any) -> list[str]:
    """Return the columns that a model takes as categories, of which it does not say which."""
    names = trained_columns(model) or []
    for _ in range(MOST_DEEP):
        model = model if (inner := _inner(model)) is None else inner
    if callable(getattr(model, "get_cat_feature_indices", None)):  # of CatBoost
        return [names[place] for place in model.get_cat_feature_indices()]
    is_category = getattr(model, "is_categorical_", None)  # of gradient boosting on histograms
    return [] if is_category is None else _named(is_category, names)


def _inner(model: Any) -> Any:
    """Return the model that a search, calibration or mitigation passes its rows to, or None."""
    found = [getattr(model, name, None) for name in WRAPPED]
    # Of several that were fitted alike one tells; they may stand inside of others (calibration).
    for several in (
        getattr(model, name, None) for name in ("estimators_", "calibrated_classifiers_")
    ):
        found += list(several)[:1] if isinstance(several, (list, tuple, np.ndarray)) else []
    names = trained_columns(model)
    for inner in found:
        if inner is not None and not isinstance(inner, (str, type)):
            inner = getattr(inner, "estimator", inner) if trained_columns(inner) is None else inner
            if trained_columns(inner) == names:
                return inner
    return None


def _walk(step: Any, names: list[str], depth: int = 0) -> Iterator[tuple[str, list[Any]]]:
    names = trained_columns(step) or names
    kept = getattr(step, "values_", None)  # of models that are averaged over sensitive columns
    if isinstance(kept, pd.DataFrame):
        yield from ((str(name), kept[name].tolist()) for name in kept)
    inner = _inner(step) if depth < MOST_DEEP and not isinstance(step, WITH_STEPS) else None
    if inner is not None:
        yield from _walk(inner, names, depth + 1)
    elif isinstance(step, Pipeline):
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
            if of_part := _named(columns, names):
                yield from _walk(part, of_part)
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


def _named(columns: Any, names: list[str]) -> list[str]:
    """Columns of a transformer, which may be names, positions, a slice or truth values."""
    if isinstance(columns, str):
        return [columns]
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            return []
        return names[columns]
    listed = np.asarray(columns)
    if listed.dtype.kind in "bi" and not names:
        return []
    if listed.dtype == bool:
        return [name for name, is_in in zip(names, listed, strict=True) if is_in]
    if listed.dtype.kind in "iu":
        return [names[place] for place in listed]
    return [str(name) for name in listed.ravel()]
