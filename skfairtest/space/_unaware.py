"""Sensitive columns that a model does not take: beside its table, and in the table that is audited.

Twins that a transport moves have a group, which the model need not see. So the sensitive columns
become columns of the table that is searched, and are dropped again before the model predicts: to
all the rest it is a model that takes them and pays no attention to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from skfairtest.space._sensitive_features import SensitiveFeatures, without
from skfairtest.space._space import InputSpace


class DropColumns:
    """A step that leaves out columns by their names, where they are there.

    Parameters
    ----------
    names : list
        The columns.
    dtype : str or None, default=None
        That of the array that the model takes; None for a model that takes tables.
    """

    def __init__(self, names: list[Any], dtype: str | None = None) -> None:
        self.names, self.dtype = names, dtype

    def transform(self, X: Any) -> Any:
        """Return the table that the model takes."""
        if isinstance(X, np.ndarray):
            return X
        table = without(X, self.names)
        return table if self.dtype is None else table.to_numpy(dtype=self.dtype)


def _of_estimator(name: str) -> Any:
    """Return a method that asks the model, if it has it, about the columns that it takes."""

    def ask(self: Any, X: Any, *args: Any, **params: Any) -> Any:
        return getattr(self.estimator, name)(self.dropping.transform(X), *args, **params)

    return available_if(lambda self: hasattr(self.estimator, name))(ask)


class UnawareModel(BaseEstimator):
    """A fitted model as one that takes further columns, which it drops before it predicts.

    Parameters
    ----------
    estimator : object
        The model.
    dropping : DropColumns
        Drops the columns that it does not take.
    """

    def __init__(self, estimator: Any, dropping: DropColumns) -> None:
        self.estimator, self.dropping = estimator, dropping

    predict = _of_estimator("predict")
    predict_proba = _of_estimator("predict_proba")
    predict_log_proba = _of_estimator("predict_log_proba")
    decision_function = _of_estimator("decision_function")
    score = _of_estimator("score")

    def fit(self, X: Any, y: Any = None) -> UnawareModel:
        """Return the model as it is, as it is fitted for good."""
        return self

    @property
    def classes_(self) -> Any:
        """Class labels of the model."""
        return self.estimator.classes_

    def __sklearn_tags__(self) -> Any:
        has_tags = hasattr(self.estimator, "__sklearn_tags__")
        return get_tags(self.estimator) if has_tags else super().__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> UnawareModel:
        return self


def unaware(estimator: Any, space: InputSpace, found: SensitiveFeatures) -> Any:
    """Return a model of all columns of a space, of which the model itself may take fewer.

    Parameters
    ----------
    estimator : object
        The fitted model.
    space : InputSpace
        Of the table with its sensitive columns.
    found : SensitiveFeatures
        What the model takes, and what is beside it.
    """
    layout = space.layout
    names = [layout.container.names[place] for place in layout.places_of(space.sensitive)]
    beside = set() if found.beside is None else set(found.beside.columns)
    taken = getattr(estimator, "feature_names_in_", None)
    if taken is not None:  # also of chunks, and of a table whose model is named no columns
        beside |= {name for name in names if isinstance(name, str) and name not in set(taken)}
    away = [name for name in names if name in beside]
    if not away:
        return estimator
    dtype = found.X.dtype.str if isinstance(found.X, np.ndarray) else None
    return UnawareModel(estimator, DropColumns(away, dtype))
