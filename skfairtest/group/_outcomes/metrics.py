"""Metrics of groups as means: a value for each row, and which rows count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats, is_real
from skfairtest.group._outcomes.outcomes import (
    check_alike,
    column,
    finite,
    is_output,
    labels_of,
    labels_taken,
    numbers_of,
)
from skfairtest.oracle._favourable import as_shares, is_favourable

#: Metrics by what predictions they need, and whether they need the truth.
OF_LABELS = {
    "selection_rate": False,
    "false_positive_rate": True,
    "false_negative_rate": True,
    "true_positive_rate": True,
    "accuracy": True,
    "positive_predictive_value": True,
}
OF_OUTPUTS = {"mean_prediction": False, "mean_error": True, "mean_absolute_error": True}
OF_PROBABILITIES = {"calibration": True, "log_loss": True}
METRICS = (*OF_LABELS, *OF_OUTPUTS, *OF_PROBABILITIES)

#: Who counts where not everybody does, in words.
AMONG = {
    "false_positive_rate": "rows whose truth is not favourable",
    "false_negative_rate": "rows whose truth is favourable",
    "true_positive_rate": "rows whose truth is favourable",
    "positive_predictive_value": "rows whose prediction is favourable",
}


class MetricRows(NamedTuple):
    """A metric is the mean of `values` over the rows that `counts` says.

    Attributes
    ----------
    values : ndarray of float of shape (n_rows,)
        0 where a row does not count.
    counts : ndarray of bool of shape (n_rows,)
        Which rows count.
    binary : bool
        Whether all values are 0 or 1.
    favourable : list, float or "mean"
        What was taken to be favourable: labels, a least output, or nothing.
    """

    values: Floats
    counts: Bools
    binary: bool
    favourable: Any


def check_metric(metric: Any) -> None:
    """Raise an error unless the metric exists."""
    if callable(metric):
        return
    if not isinstance(metric, str) or metric not in METRICS:
        raise ValueError(
            f"metric must be one of {METRICS}, or a callable of (y_true, y_pred) that returns a "
            f"value for each row and which rows count; got {metric!r}."
        )


def needs_truth(metric: Any) -> bool:
    """Tell whether one of the named metrics compares predictions with targets."""
    if callable(metric):
        return False
    return {**OF_LABELS, **OF_OUTPUTS, **OF_PROBABILITIES}[metric]


def truth_of(metric: Any, y: Any, n_rows: int) -> NDArray[Any] | None:
    """Return the targets if the metric needs them or may use them."""
    if not callable(metric) and not needs_truth(metric):
        return None
    if y is None:
        if callable(metric):
            return None
        raise ValueError(
            f"metric={metric!r} requires y to be passed, but the target y is None: it compares "
            "predictions with the truth. Pass the targets: fit(X, y)."
        )
    return column("y", y, n_rows)


def metric_rows(
    metric: str | Callable[..., Any],
    y_pred: NDArray[Any],
    y_true: Any,
    favourable: Any,
    *,
    known: bool = False,
    outputs: bool = False,
) -> MetricRows:
    """Compute the value of each row, and which rows count.

    Parameters
    ----------
    metric : str or callable
        One of `METRICS`, or a callable of (y_true, y_pred).
    y_pred : ndarray of shape (n_rows,)
        Labels, outputs, or probabilities of the favourable labels, as the metric needs.
    y_true : array-like of shape (n_rows,), or None
        The truth.
    favourable : label, list of labels, float, "mean" or None
        What is favourable.
    known : bool, default=False
        Whether `favourable` is what an earlier call has found, and is right for these rows, too.
    outputs : bool, default=False
        Whether the predictions are known to be outputs of a regressor, whatever they look like.

    Raises
    ------
    ValueError, TypeError
        If predictions or truth are not what the metric needs.
    """
    truth = truth_of(metric, y_true, len(y_pred))
    if callable(metric):
        return _of_callable(metric, y_pred, truth, favourable)
    if metric in OF_OUTPUTS:
        return _of_outputs(metric, y_pred, truth)
    if metric in OF_PROBABILITIES:
        return _of_probabilities(metric, y_pred, truth, favourable, known)
    return _of_labels(metric, y_pred, truth, favourable, known, outputs or is_output(y_pred))


def _of_labels(
    metric: str, y_pred: NDArray[Any], truth: Any, favourable: Any, known: bool, outputs: bool
) -> MetricRows:
    everyone = np.ones(len(y_pred), dtype=bool)
    # A threshold that was one before is one, although new outputs may look like labels.
    least = is_real(favourable) and (outputs or known)
    if outputs and not least:
        raise ValueError(
            f"metric={metric!r} needs labels; got numbers such as {y_pred[:3].tolist()!r}, which "
            "are probabilities or outputs. Pass labels, or favourable=, the smallest number "
            "that is favourable (such as 0.5), or choose another metric, such as "
            "'mean_prediction' or 'calibration'."
        )
    if not least and needs_truth(metric):
        check_alike(y_pred, truth)
    if metric == "accuracy" and favourable is None:
        return MetricRows((y_pred == truth).astype(np.float64), everyone, True, None)
    chosen = favourable
    if least:
        chosen = float(favourable)
    elif not known:
        found = labels_of(y_pred, truth if needs_truth(metric) else None)
        chosen = labels_taken(favourable, found, are_all=needs_truth(metric))
    predicted = as_shares(y_pred, chosen)
    if metric == "selection_rate":
        return MetricRows(predicted, everyone, True, chosen)
    actual = as_shares(numbers_of("y", truth) if least else truth, chosen)
    is_yes, was_yes = predicted > 0, actual > 0
    values, counts = {
        "false_positive_rate": (is_yes, ~was_yes),
        "false_negative_rate": (~is_yes, was_yes),
        "true_positive_rate": (is_yes, was_yes),
        "accuracy": (is_yes == was_yes, everyone),
        "positive_predictive_value": (was_yes, is_yes),
    }[metric]
    return MetricRows((values & counts).astype(np.float64), counts, True, chosen)


def _of_outputs(metric: str, y_pred: NDArray[Any], truth: Any) -> MetricRows:
    values = finite("y_pred", numbers_of("y_pred", y_pred))
    if metric != "mean_prediction":
        values = values - finite("y", numbers_of("y", truth))
    if metric == "mean_absolute_error":
        values = np.abs(values)
    return MetricRows(values, np.ones(len(values), dtype=bool), False, "mean")


def _of_probabilities(
    metric: str, y_pred: NDArray[Any], truth: Any, favourable: Any, known: bool
) -> MetricRows:
    shares = numbers_of("y_pred", y_pred)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(
            f"metric={metric!r} needs probabilities of the favourable label, from 0 to 1; got "
            f"values from {shares.min():g} to {shares.max():g}. Pass probabilities, or choose "
            "another metric."
        )
    if is_output(truth):
        raise ValueError(
            f"metric={metric!r} compares probabilities with labels; got y with values such as "
            f"{truth[:3].tolist()!r}. Pass labels in y, or choose another metric, such as "
            "'mean_error'."
        )
    chosen = favourable
    if not known:
        chosen = labels_taken(favourable, labels_of(truth, None), are_all=True)
    actual = is_favourable(truth, chosen)
    if metric == "calibration":
        values = actual - shares
    else:
        # A certain prediction that is wrong costs much, and not infinitely much.
        tiny = np.finfo(np.float64).eps
        values = -np.log(np.clip(np.where(actual, shares, 1 - shares), tiny, 1))
    return MetricRows(values, np.ones(len(values), dtype=bool), False, chosen)


def _of_callable(
    metric: Callable[..., Any], y_pred: NDArray[Any], truth: Any, favourable: Any
) -> MetricRows:
    answer = metric(truth, y_pred)
    name = getattr(metric, "__name__", type(metric).__name__)
    n = len(y_pred)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ValueError(
            f"metric {name} must return two arrays, a value for each row and which rows count; "
            f"got {type(answer).__name__}. Return (values, counts)."
        )
    values, counts = (np.asarray(part) for part in answer)
    if values.shape != (n,) or counts.shape != (n,):
        raise ValueError(
            f"metric {name} must return a value for each row and which rows count, both of shape "
            f"({n},); got shapes {values.shape} and {counts.shape}."
        )
    if counts.dtype != bool and not np.isin(counts, (0, 1)).all():
        raise ValueError(
            f"metric {name} must say which rows count by an array of bool; got dtype "
            f"{counts.dtype}."
        )
    counts = counts.astype(bool)
    values = numbers_of(f"the values of metric {name}", values)
    if not np.isfinite(values[counts]).all():
        raise ValueError(
            f"metric {name} has values that are missing or infinite in rows that count. Leave "
            "those rows out of the second array."
        )
    values = np.where(counts, values, 0.0)
    return MetricRows(values, counts, bool(np.isin(values, (0, 1)).all()), favourable)


def check_counts(metric: Any, rows: MetricRows, weights: Floats | None) -> None:
    """Raise an error if no row counts for the metric."""
    counts = rows.counts if weights is None else rows.counts & (weights > 0)
    if counts.any():
        return
    who = AMONG.get(metric, "rows that count") if isinstance(metric, str) else "rows that count"
    raise ValueError(
        f"metric={metric!r} is undefined: there are no {who}"
        + ("" if rows.favourable is None else f" (favourable={rows.favourable!r})")
        + (" with a weight above 0" if weights is not None else "")
        + ". Give rows of which some count, or another favourable=."
    )
