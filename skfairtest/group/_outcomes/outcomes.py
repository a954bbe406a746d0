"""All outcomes that groups are compared by: the value of a row, and which rows count.

`OUTCOMES` is the one table of them. `SubgroupAuditor`, `selection_table`, the report and
`compare_mitigations` read predictions and targets by `read`, and take values and rows from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats, is_real
from skfairtest._validation import column, finite_numbers, numbers_of
from skfairtest.oracle._favourable import (
    as_shares,
    is_favourable,
    resolve_favourable,
    warn_of_guess,
)


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


class Read(NamedTuple):
    """Predictions and targets as outcomes are made of; arrays of shape (n_rows,).

    Attributes
    ----------
    predicted : ndarray
        Whether a label is favourable; an output; or the probability of the favourable labels.
    actual : ndarray or None
        The same of the targets (of probabilities: whether the label is favourable), if known.
    right : ndarray of bool or None
        Whether a label is that of the target.
    favourable : list, float, "mean" or None
        What was taken to be favourable.
    """

    predicted: Any
    actual: Any = None
    right: Any = None
    favourable: Any = None


class Outcome(NamedTuple):
    """How an outcome is made of what was read.

    Attributes
    ----------
    of : {"labels", "outputs", "probabilities"}
        The predictions that it needs.
    needs_truth : bool
        Whether it compares predictions with targets.
    value : callable
        Takes a `Read` and returns the value of each row.
    counts : callable, default=None
        Takes a `Read` and returns which rows count; None where all do.
    among : str
        Who counts, as it is written.
    """

    of: str
    needs_truth: bool
    value: Callable[[Read], Any]
    counts: Callable[[Read], Bools] | None = None
    among: str = "rows that count"

    def rows(self, read: Read) -> MetricRows:
        """Return the value of each row and which rows count."""
        values = np.asarray(self.value(read), dtype=np.float64)
        counts = np.ones(len(values), dtype=bool)
        if self.counts is not None:
            counts = self.counts(read)
            values = np.where(counts, values, 0.0)
        return MetricRows(values, counts, self.of == "labels", read.favourable)


def _log_loss(read: Read) -> Floats:
    # A certain prediction that is wrong costs much, and not infinitely much.
    tiny = np.finfo(np.float64).eps
    given = np.where(read.actual, read.predicted, 1 - read.predicted)
    return np.asarray(-np.log(np.clip(given, tiny, 1)))


OUTCOMES = {
    "selection_rate": Outcome("labels", False, lambda read: read.predicted),
    "false_positive_rate": Outcome(
        "labels", True, lambda read: read.predicted, lambda read: ~read.actual,
        "rows whose truth is not favourable",
    ),
    "false_negative_rate": Outcome(
        "labels", True, lambda read: ~read.predicted, lambda read: read.actual,
        "rows whose truth is favourable",
    ),
    "true_positive_rate": Outcome(
        "labels", True, lambda read: read.predicted, lambda read: read.actual,
        "rows whose truth is favourable",
    ),
    "accuracy": Outcome("labels", True, lambda read: read.right),
    "positive_predictive_value": Outcome(
        "labels", True, lambda read: read.actual, lambda read: read.predicted,
        "rows whose prediction is favourable",
    ),
    "mean_prediction": Outcome("outputs", False, lambda read: read.predicted),
    "mean_error": Outcome("outputs", True, lambda read: read.predicted - read.actual),
    "mean_absolute_error": Outcome(
        "outputs", True, lambda read: np.abs(read.predicted - read.actual)
    ),
    "calibration": Outcome("probabilities", True, lambda read: read.actual - read.predicted),
    "log_loss": Outcome("probabilities", True, _log_loss),
}  # fmt: skip


# Metrics by name, or a user's -----------------------------------------------------------------


def check_metric(metric: Any) -> None:
    """Raise an error unless the metric exists."""
    if not callable(metric) and not (isinstance(metric, str) and metric in OUTCOMES):
        raise ValueError(
            f"metric must be one of {tuple(OUTCOMES)}, or a callable of (y_true, y_pred) that "
            f"returns a value for each row and which rows count; got {metric!r}."
        )


def is_of(metric: Any, predictions: str) -> bool:
    """Tell whether a metric is one by name that needs such predictions."""
    return not callable(metric) and OUTCOMES[metric].of == predictions


def truth_of(metric: Any, y: Any, n_rows: int) -> NDArray[Any] | None:
    """Return the targets if the metric needs them or may use them."""
    if not callable(metric) and not OUTCOMES[metric].needs_truth:
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
    y_true: NDArray[Any] | None,
    favourable: Any,
    weights: Floats | None = None,
    *,
    known: bool = False,
    outputs: bool = False,
) -> MetricRows:
    """Compute the value of each row, and which rows count: none of weight 0, and some at least.

    Parameters
    ----------
    metric : str or callable
        A name in `OUTCOMES`, or a callable of (y_true, y_pred).
    y_pred : ndarray of shape (n_rows,)
        Labels, outputs, or probabilities of the favourable labels, as the metric needs.
    y_true : ndarray of shape (n_rows,), or None
        The truth, as `truth_of` returns it.
    weights : ndarray of shape (n_rows,), or None
        Weights of the rows.
    favourable, known, outputs
        As for `read`.

    Raises
    ------
    ValueError, TypeError
        If predictions or truth are not what the metric needs, or no row counts.
    """
    if callable(metric):
        rows = _of_callable(metric, y_pred, y_true, favourable)
    elif metric == "accuracy" and favourable is None and not (outputs or is_output(y_pred)):
        check_alike(y_pred, y_true)  # nobody looks at which labels are favourable
        rows = OUTCOMES[metric].rows(Read(None, right=y_pred == y_true))
    else:
        outcome, asked = OUTCOMES[metric], f"metric={metric!r}"
        rows = outcome.rows(
            read(outcome.of, y_pred, y_true, favourable, asked=asked, known=known, outputs=outputs)
        )
    if weights is not None:
        rows = rows._replace(counts=rows.counts & (weights > 0))
    if not rows.counts.any():
        who = "rows that count" if callable(metric) else OUTCOMES[metric].among
        raise ValueError(
            f"metric={metric!r} is undefined: there are no {who}"
            + ("" if rows.favourable is None else f" (favourable={rows.favourable!r})")
            + (" with a weight above 0" if weights is not None else "")
            + ". Give rows of which some count, or another favourable=."
        )
    return rows


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


# The rates of a table of groups ----------------------------------------------------------------

#: Rates of a table of groups, by what the predictions are.
OF_TABLES = {
    "labels": ("selection_rate", "false_positive_rate", "false_negative_rate", "accuracy"),
    "outputs": ("mean_prediction", "mean_error"),
}


def rates_of(
    y_pred: NDArray[Any], y_true: NDArray[Any] | None, favourable: Any, *, means: bool = True
) -> tuple[dict[str, MetricRows], dict[str, Any]]:
    """Make all rates of a table of groups, by name, and tell what was taken as favourable.

    With `means`, numbers may be compared by their means; without, they must be labels.
    """
    of_numbers = isinstance(favourable, str) and favourable == "mean"
    of_numbers = of_numbers and y_pred.dtype.kind in "biuf"
    of_numbers = means and (of_numbers or (favourable is None and is_output(y_pred)))
    of = "outputs" if of_numbers else "labels"
    made = read(of, y_pred, y_true, favourable, asked="The table", name="y_true")
    rates = {
        name: OUTCOMES[name].rows(made)
        for name in OF_TABLES[of]
        if y_true is not None or not OUTCOMES[name].needs_truth
    }
    return rates, {} if of_numbers else {"favourable": made.favourable}


# Reading predictions and targets ----------------------------------------------------------------


def read(
    of: str,
    y_pred: NDArray[Any],
    truth: NDArray[Any] | None,
    favourable: Any,
    *,
    asked: str,
    known: bool = False,
    outputs: bool = False,
    name: str = "y",
) -> Read:
    """Read predictions and targets, and find out what is favourable.

    Parameters
    ----------
    of : {"labels", "outputs", "probabilities"}
        What the predictions should be.
    y_pred : ndarray of shape (n_rows,)
        The predictions.
    truth : ndarray of shape (n_rows,), or None
        The targets.
    favourable : label, list of labels, float, "mean" or None
        What is favourable.
    asked : str
        What is asked for, for errors.
    known : bool, default=False
        Whether `favourable` is what an earlier call has found, and is right for these rows, too.
    outputs : bool, default=False
        Whether the predictions are known to be outputs of a regressor, whatever they look like.
    name : str, default="y"
        What the user calls the targets.

    Raises
    ------
    ValueError, TypeError
        If predictions or targets are something else.
    """
    if of == "outputs":
        targets = None if truth is None else finite_numbers(name, truth)
        return Read(finite_numbers("y_pred", y_pred), targets, favourable="mean")
    if of == "probabilities":
        return _read_probabilities(y_pred, truth, favourable, asked, known)
    return _read_labels(y_pred, truth, favourable, asked, known, outputs, name)


def _read_labels(
    y_pred: NDArray[Any],
    truth: NDArray[Any] | None,
    favourable: Any,
    asked: str,
    known: bool,
    outputs: bool,
    name: str,
) -> Read:
    outputs = outputs or is_output(y_pred)
    # A threshold that was one before is one, although new outputs may look like labels.
    if is_real(favourable) and (outputs or known):
        predicted = as_shares(numbers_of("y_pred", y_pred), float(favourable)) > 0
        if truth is None:
            return Read(predicted, favourable=float(favourable))
        actual = as_shares(numbers_of(name, truth), float(favourable)) > 0
        return Read(predicted, actual, predicted == actual, float(favourable))
    if outputs:
        raise ValueError(
            f"{asked} needs labels; got numbers such as {y_pred[:3].tolist()!r} in y_pred, which "
            "are probabilities or outputs of a regressor. Pass labels, or favourable=, the "
            "smallest number that is favourable (such as 0.5), or ask for another metric, such as "
            "'mean_prediction' or 'calibration'."
        )
    check_alike(y_pred, truth)
    if not known:
        favourable = labels_taken(favourable, labels_of(y_pred, truth), are_all=truth is not None)
    predicted = is_favourable(y_pred, favourable)
    if truth is None:
        return Read(predicted, favourable=favourable)
    return Read(predicted, is_favourable(truth, favourable), y_pred == truth, favourable)


def _read_probabilities(
    y_pred: NDArray[Any], truth: Any, favourable: Any, asked: str, known: bool
) -> Read:
    shares = numbers_of("y_pred", y_pred)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(
            f"{asked} needs probabilities of the favourable label, from 0 to 1; got "
            f"values from {shares.min():g} to {shares.max():g}. Pass probabilities, or choose "
            "another metric."
        )
    if is_output(truth):
        raise ValueError(
            f"{asked} compares probabilities with labels; got y with values such as "
            f"{truth[:3].tolist()!r}. Pass labels in y, or choose another metric, such as "
            "'mean_error'."
        )
    if not known:
        favourable = labels_taken(favourable, labels_of(truth, None), are_all=True)
    return Read(shares, is_favourable(truth, favourable), favourable=favourable)


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
    labels: list[Any] = warn_of_guess(found).labels
    return labels


def is_output(values: NDArray[Any]) -> bool:
    """Tell whether these are outputs of a regressor: floats with fractions, or with many values."""
    if values.dtype.kind != "f":
        return False
    # As scikit-learn's `type_of_target` has it, which refuses infinite values in words of its own.
    fraction = bool((np.isinf(values) | (values != np.floor(values))).any())
    return fraction or len(np.unique(values)) > 20  # nobody has as many labels


def check_alike(predicted: NDArray[Any], truth: NDArray[Any] | None) -> None:
    """Raise an error unless predictions and targets are labels of one kind."""
    if truth is None:
        return
    kinds = [all(isinstance(v, str) for v in part[:100].tolist()) for part in (predicted, truth)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            "y_pred and y_true must hold labels of one kind; got "
            f"{predicted[:3].tolist()!r} and {truth[:3].tolist()!r}. Convert one of them; scores "
            "are passed in y_score."
        )
