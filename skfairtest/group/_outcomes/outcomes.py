"""Predictions, scores and targets as the numbers whose means a table of groups compares."""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats
from skfairtest.oracle._favourable import is_favourable, resolve_favourable, warn_of_guess

#: Whole numbers, as floats, with more different values than this are outputs of a regressor.
MOST_LABELS = 20


class Outcomes(NamedTuple):
    """What is averaged in each group.

    Attributes
    ----------
    rates : dict of str to (values, rows)
        By the name of the column: numbers of shape (n_rows,) and, where not all rows count, which.
    is_share : bool
        Whether all are 0 or 1.
    about : dict
        What was taken as favourable: labels, a least output, or a median score.
    """

    rates: dict[str, tuple[Any, Bools | None]]
    is_share: bool
    about: dict[str, Any]


def make_outcomes(
    y_pred: Any, y_true: Any, favourable: Any, y_score: Any, weights: Floats | None, n_rows: int
) -> Outcomes:
    """Turn predictions, scores and targets into the numbers that are averaged."""
    if y_pred is None and y_score is None:
        raise ValueError("y_pred must hold one prediction per row; got None, and no y_score.")
    predicted = None if y_pred is None else column("y_pred", y_pred, n_rows)
    truth = None if y_true is None else column("y_true", y_true, n_rows)
    if predicted is None and truth is not None:
        raise ValueError("y_true needs predictions to compare with; got y_pred=None. Pass y_pred.")
    check_alike(predicted, truth)
    if predicted is not None and y_score is None:
        by_mean = isinstance(favourable, str) and favourable == "mean" and _is_number(predicted)
        if by_mean or (favourable is None and is_output(predicted)):
            return _of_outputs(predicted, truth)
    about: dict[str, Any] = {}
    rates: dict[str, tuple[Any, Bools | None]] = {}
    favoured = None
    if predicted is not None and (y_score is None or truth is not None):
        labels, favoured, deserved = _favoured(predicted, truth, favourable)
        about["favourable"] = labels
    if y_score is not None:
        score = numbers_of("y_score", column("y_score", y_score, n_rows))
        about["median_score"] = middle = weighted_median(score, weights)
        if np.isnan(middle):
            raise ValueError(
                "y_score has no finite median, because half of it is infinite. Pass finite scores."
            )
        # "Above": a score that equals the median does not count.
        rates["scoring_rate"] = (score > middle, None)
    else:
        rates["selection_rate"] = (favoured, None)
    if truth is not None and favoured is not None:
        rates["false_positive_rate"] = (favoured, ~deserved)
        rates["false_negative_rate"] = (~favoured, deserved)
        right = favoured == deserved if is_output(truth) else predicted == truth
        rates["accuracy"] = (right, None)
    return Outcomes(rates, True, about)


def _of_outputs(predicted: NDArray[Any], truth: NDArray[Any] | None) -> Outcomes:
    outputs = finite("y_pred", numbers_of("y_pred", predicted))
    rates: dict[str, tuple[Any, Bools | None]] = {"mean_prediction": (outputs, None)}
    if truth is not None:
        rates["mean_error"] = (outputs - finite("y_true", numbers_of("y_true", truth)), None)
    return Outcomes(rates, False, {})


def finite(name: str, values: Floats) -> Floats:
    """Return the values, or raise an error if one of them is infinite."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"{name} has {int((~np.isfinite(values)).sum())} infinite values, which have no mean. "
            "Leave out those rows."
        )
    return values


def _favoured(
    predicted: NDArray[Any], truth: NDArray[Any] | None, favourable: Any
) -> tuple[Any, Bools, Any]:
    """Return what is favourable, which predictions are favourable, and which targets are."""
    if isinstance(favourable, numbers.Real) and not isinstance(favourable, bool):
        if is_output(predicted):
            least = float(favourable)
            deserved = None if truth is None else numbers_of("y_true", truth) >= least
            return least, numbers_of("y_pred", predicted) >= least, deserved
    elif favourable is None and is_output(predicted):
        raise ValueError(
            "y_pred holds outputs of a regressor, and y_true is compared with labels beside "
            "y_score. Pass labels in y_pred, or favourable=, the smallest output that is "
            "favourable (such as 50)."
        )
    known = labels_of(predicted, truth)
    labels = labels_taken(favourable, known, are_all=truth is not None)
    deserved = None if truth is None else is_favourable(truth, labels)
    return labels, is_favourable(predicted, labels), deserved


def labels_of(predicted: NDArray[Any], truth: NDArray[Any] | None) -> list[Any]:
    """Return the labels that occur, sorted."""
    both = [pd.unique(pd.Series(part)) for part in (predicted, truth) if part is not None]
    found = pd.unique(pd.Series(np.concatenate([np.asarray(part) for part in both])))
    try:
        return sorted(np.asarray(found).tolist())
    except TypeError as error:
        raise TypeError(
            "Labels must be of one kind, all strings or all numbers; got "
            f"{np.asarray(found).tolist()[:5]!r}. Convert them."
        ) from error


def labels_taken(favourable: Any, known: list[Any], *, are_all: bool) -> list[Any]:
    """Return the favourable labels among those that occur; warns if they are guessed."""
    found = resolve_favourable(favourable, known, whose="these rows", are_all=are_all)
    if found.how == "guessed" and len(known) > 2:
        raise ValueError(
            f"There are {len(known)} labels, {known[:9]!r}, and it cannot be told which of them "
            "are favourable. Pass a label or a set of labels as favourable=. Outputs of a "
            "regressor must be floats."
        )
    return warn_of_guess(found).labels


def is_output(values: NDArray[Any]) -> bool:
    """Tell whether these are outputs of a regressor: floats with fractions, or with many values."""
    if values.dtype.kind != "f":
        return False
    # As scikit-learn's `type_of_target` has it, which refuses infinite values in words of its own.
    fraction = bool((np.isinf(values) | (values != np.floor(values))).any())
    return fraction or len(np.unique(values)) > MOST_LABELS


def _is_number(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "biuf"


def column(name: str, values: Any, n_rows: int) -> NDArray[Any]:
    """Return a column as one value per row, or raise an error if one is missing."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"{name} must have one value per row, shape ({n_rows},); got shape {array.shape}."
            + (" Pass the scores of one class." if name == "y_score" else "")
        )
    if len(array) != n_rows:
        raise ValueError(f"{name} must have one value per row, {n_rows}; got {len(array)}.")
    missing = np.asarray(pd.isna(array))
    if missing.any():
        raise ValueError(
            f"{name} has {int(missing.sum())} missing values among {n_rows}, the first in row "
            f"{int(missing.argmax())}. Leave out those rows, or say what they count as."
        )
    if array.dtype.kind == "O":  # numbers and truth values that came in boxes
        array = pd.Series(array).infer_objects().to_numpy()
    return array


def numbers_of(name: str, values: NDArray[Any]) -> Floats:
    """Return the values as floats, or raise an error if they are not numbers."""
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must hold numbers, as y_pred or y_score do; got {values[:3].tolist()!r}. Pass "
            "labels in y_pred with labels in y_true, and scores in y_score."
        ) from error


def check_alike(predicted: NDArray[Any] | None, truth: NDArray[Any] | None) -> None:
    """Raise an error unless predictions and targets are labels of one kind."""
    if predicted is None or truth is None:
        return
    kinds = [all(isinstance(v, str) for v in part[:100].tolist()) for part in (predicted, truth)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            "y_pred and y_true must hold labels of one kind; got "
            f"{predicted[:3].tolist()!r} and {truth[:3].tolist()!r}. Convert one of them; scores "
            "are passed in y_score."
        )


def check_weights(given: Any, n_rows: int) -> Floats:
    """Return the weights, or raise an error unless they are finite, non-negative and not all 0."""
    weights = numbers_of("sample_weight", column("sample_weight", given, n_rows))
    if (weights < 0).any() or not np.isfinite(weights).all() or not weights.sum() > 0:
        raise ValueError(
            "sample_weight must be finite, at least 0, and not zero everywhere; got values from "
            f"{weights.min()} to {weights.max()}."
        )
    return weights


def weighted_median(values: Floats, weights: Floats | None) -> float:
    """Compute the median; with weights, half of the weight is on either side."""
    if weights is None:
        with np.errstate(invalid="ignore"):
            return float(np.median(values))
    order: Any = np.argsort(values, kind="stable")
    order = order[weights[order] > 0]
    below = np.cumsum(weights[order])
    half = below[-1] / 2
    place = int(np.searchsorted(below, half * (1 - 1e-12)))
    if abs(below[place] - half) <= 1e-12 * half:
        return float((values[order[place]] + values[order[place + 1]]) / 2)
    return float(values[order[place]])
