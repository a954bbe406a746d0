"""What a fitted model says of the table it was trained on: columns, and values of coded ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline


def trained_columns(model: Any) -> list[str] | None:
    """Names of the columns that the model was trained on; None where it does not know them."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def trained_count(model: Any) -> int | None:
    """How many columns the model was trained on; None where it does not say."""
    count = getattr(model, "n_features_in_", None)
    return int(count) if isinstance(count, (int, np.integer)) else None


def trained_values(model: Any) -> dict[str, list[Any]]:
    """The values that encoders of the model know, by column.

    Only of encoders that see the columns as they are, or behind an imputer: what other steps make
    of them has values of its own.
    """
    names = trained_columns(model)
    return {} if names is None else dict(_walk(model, names))


def _walk(step: Any, names: list[str]) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            if isinstance(part, SimpleImputer):
                continue
            if isinstance(part, (Pipeline, ColumnTransformer)) or hasattr(part, "categories_"):
                yield from _walk(part, names)
            return
    elif isinstance(step, ColumnTransformer):
        for _, part, columns in step.transformers_:
            of_part = _named(columns, names)
            if of_part and not isinstance(part, str):
                yield from _walk(part, of_part)
    else:
        known = getattr(step, "categories_", None)
        if isinstance(known, list) and len(known) == len(names):
            for name, values in zip(names, known, strict=True):
                yield name, np.asarray(values).tolist()


def _named(columns: Any, names: list[str]) -> list[str]:
    """Columns of a transformer, which may be names, positions, a slice or truth values."""
    if isinstance(columns, str):
        return [columns]
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            return []
        return names[columns]
    listed = np.asarray(columns)
    if listed.dtype == bool:
        return [name for name, is_in in zip(names, listed, strict=True) if is_in]
    if listed.dtype.kind in "iu":
        return [names[place] for place in listed]
    return [str(name) for name in listed.ravel()]
