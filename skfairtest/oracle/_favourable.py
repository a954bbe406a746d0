"""Which labels are favourable, and which predictions hence are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_outlier_detector

from skfairtest._typing import Bools, Floats
from skfairtest.oracle._model import hash_labels


def known_classes(estimator: Any) -> NDArray[Any] | None:
    """The classes of a classifier with one output, else None."""
    if hasattr(estimator, "__sklearn_tags__") and is_outlier_detector(estimator):
        return np.array([-1, 1])
    classes = getattr(estimator, "classes_", None)
    if classes is None or isinstance(classes, list):
        return None
    array = np.asarray(classes)
    return array if array.ndim == 1 else None


def favourable_labels(given: Any) -> list[Any]:
    """The user's label, or set of labels, as a list."""
    single = isinstance(given, (str, bytes)) or not isinstance(given, Iterable)
    labels = [given] if single else list(given)
    if not labels:
        raise ValueError("favourable= is empty; name a label, or a set of labels.")
    return labels


def favourable_places(given: Any, classes: NDArray[Any], estimator: Any) -> list[int]:
    """Places of the favourable labels among the classes; of the last one where none is given."""
    if given is None:
        return [len(classes) - 1]
    places = set()
    for label in favourable_labels(given):
        equal = [j for j, known in enumerate(classes) if _same(known, label)]
        if not equal:
            raise ValueError(
                f"favourable={label!r} is a label that never occurs: the classes of "
                f"{type(estimator).__name__} are {classes.tolist()!r}. Name one or more of them."
            )
        places.add(equal[0])
    if len(places) == len(classes) > 1:
        raise ValueError(
            f"favourable= names every class, {classes.tolist()!r}, so every prediction would be "
            "favourable. Leave out at least one."
        )
    return sorted(places)


def label_codes(labels: Iterable[Any]) -> NDArray[np.int64]:
    """Codes of labels, as `hash_labels` gives them to predictions."""
    # One by one: an array of labels of several types would make strings of all of them.
    return np.concatenate([hash_labels(np.asarray([label])) for label in labels])


def is_favourable(labels: Any, favourable: Iterable[Any]) -> Bools:
    """Which of the labels are favourable."""
    # One by one as well: equal labels, whatever the type of the array that holds them.
    return np.any([np.asarray(labels) == label for label in favourable], axis=0)


def as_shares(predictions: Any, favourable: Any) -> Floats:
    """Predictions as numbers whose mean is compared.

    Parameters
    ----------
    predictions : array-like of shape (n,)
        Labels or outputs.
    favourable : list, float or "mean"
        Labels; the least favourable output; or outputs as they are.

    Returns
    -------
    ndarray of shape (n,)
        1 where the prediction is favourable, else 0; the outputs themselves for "mean".
    """
    if isinstance(favourable, list):
        return is_favourable(predictions, favourable).astype(np.float64)
    outputs = np.asarray(predictions, dtype=np.float64)
    if isinstance(favourable, str):
        return outputs
    return (outputs >= favourable).astype(np.float64)


def _same(known: Any, label: Any) -> bool:
    if isinstance(known, str) or isinstance(label, str):
        return isinstance(known, str) and isinstance(label, str) and str(known) == label
    try:
        return bool(known == label)
    except (TypeError, ValueError):
        return False
