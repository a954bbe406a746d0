"""Check tables, estimators and seeds of users, with one wording for all."""

from __future__ import annotations

import inspect
import numbers
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from skfairtest._typing import Floats
from skfairtest.exceptions import users_level
from skfairtest.space._chunks import as_chunks
from skfairtest.space._containers import make_container
from skfairtest.space._rows import take_rows
from skfairtest.space._sensitive_features import check_index, index_of, n_rows

#: Arguments that have an entry a row; others, which a model's `fit` takes, may have.
OF_ROWS = ("y", "y_pred", "sample_weight")


def check_table(owner: Any, X: Any, of_rows: Mapping[str, Any] | None = None) -> Any:
    """Return X as a table, and note the names and the number of its features on its owner.

    What else has an entry a row is checked to be about the same rows (see `check_rows`).
    """
    is_frame = hasattr(X, "columns") and not isinstance(X, np.ndarray)
    if not is_frame:
        if sparse.issparse(X) or not (isinstance(X, (list, tuple)) or hasattr(X, "__array__")):
            make_container(X)  # says what is taken, and why sparse input cannot be audited
        X = check_array(X, dtype=None, ensure_all_finite=False, estimator=owner)
    else:
        make_container(X)  # refuses duplicate names and foreign dtypes in our own words
    validate_data(owner, X, skip_check_array=True)
    if is_frame and not hasattr(owner, "feature_names_in_"):
        # Older releases of scikit-learn do not see the names of every kind of frame.
        names = make_container(X).names
        if all(isinstance(name, str) for name in names):
            owner.feature_names_in_ = np.asarray(names, dtype=object)
    if not len(X):
        raise ValueError(
            f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    if not X.shape[1]:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    check_rows(X, of_rows or {})
    return X


def check_rows(X: Any, of_rows: Mapping[str, Any]) -> None:
    """Raise an error unless arguments with an entry a row have the length and the index of X."""
    is_table = hasattr(X, "shape") or isinstance(X, (list, tuple))  # else it will be refused
    for name, values in of_rows.items():
        is_sized = hasattr(values, "__len__") and getattr(values, "ndim", None) != 0
        if name in OF_ROWS and is_table and is_sized:
            _check_length(name, n_rows(values), n_rows(X))
        check_index(values, index_of(X), name=name)


def _check_length(name: str, length: int, n_rows: int) -> None:
    if length != n_rows:
        raise ValueError(
            f"{name} must have one value per row, {n_rows}; got {length}. Pass those of the same "
            "rows, in the same order."
        )


def table_or_chunks(
    owner: Any, X: Any, y: Any = None, of_rows: Mapping[str, Any] | None = None
) -> Any:
    """Return X as a table (see `check_table`), or as chunks if it comes in chunks.

    Raises
    ------
    ValueError
        If X comes in chunks and targets are given.
    """
    chunks = as_chunks(X)
    if chunks is None:
        return check_table(owner, X, {"y": y, **(of_rows or {})})
    if y is not None:
        raise ValueError(
            "y must be None where X comes in chunks, as a model is not fitted chunk by chunk. Fit "
            "the estimator first, and leave out y."
        )
    return chunks


def fitted_estimator(owner: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
    """Return a clone of the owner's estimator fitted to y, or the estimator itself without y."""
    if y is not None:
        if get_config()["enable_metadata_routing"]:
            fit_params = process_routing(owner, "fit", **fit_params).estimator.fit
        return clone(owner.estimator).fit(X, y, **fit_params)
    if fit_params:
        raise ValueError(
            f"fit got {sorted(fit_params)} without y. Such parameters are passed to the "
            "estimator's fit, which is called only if there are targets. Pass y, or leave them out."
        )
    try:
        # A plain object with predict and without fit has nothing to be fitted.
        if hasattr(owner.estimator, "fit"):
            check_is_fitted(owner.estimator)
    except NotFittedError as error:
        raise NotFittedError(
            f"{type(owner).__name__} requires y to be passed, but the target y is None, or an "
            f"estimator that is fitted; got an unfitted {type(owner.estimator).__name__}. Call "
            "fit(X, y), or fit the estimator first."
        ) from error
    return owner.estimator


def check_takes_weights(estimator: Any) -> None:
    """Check that ``fit`` of an estimator takes weights of rows, as scikit-learn passes them on.

    With metadata routing the estimators request the weights. Without it, `fit` must have the
    parameter ``sample_weight``; a pipeline has none, as it cannot tell which step is meant.
    """
    if get_config()["enable_metadata_routing"] or isinstance(estimator, FrozenEstimator):
        return
    taken = inspect.signature(estimator.fit).parameters
    if "sample_weight" in taken:
        return
    name = type(estimator).__name__
    if isinstance(estimator, Pipeline):
        raise ValueError(
            f"{name}.fit takes no sample_weight, as it cannot tell which steps are meant. Turn "
            "metadata routing on, sklearn.set_config(enable_metadata_routing=True), and let "
            "the steps request the weights: Ridge().set_fit_request(sample_weight=True)."
        )
    if not any(p.kind is p.VAR_KEYWORD for p in taken.values()):
        raise ValueError(
            f"{name}.fit takes no sample_weight, so the rows cannot be weighted in the training. "
            "Leave sample_weight out, take an estimator whose fit has it, or give a model that is "
            "fitted already."
        )


def check_target_values(estimator: Any, y: Any) -> Any:
    """Return the targets, of a regressor as floats, or raise an error if a value is none.

    Values may be missing, or labels where the estimator is a regressor.
    """
    y = np.asarray(y)
    missing = np.asarray(pd.isna(y)).reshape(len(y), -1).any(axis=1)
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: {int(missing.sum())} of {len(y)} values are missing, the first "
            f"in row {int(missing.argmax())}. Leave out those rows."
        )
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    if is_classifier(estimator):
        check_classification_targets(y)
        return y
    try:
        return y if y.dtype.kind == "f" else y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y must hold numbers, as {type(estimator).__name__} is a regressor, which takes "
            f"numbers as targets; got {np.ravel(y)[:3].tolist()!r}. Take a classifier for labels."
        ) from error


def warn_of_retraining(estimator: Any, y: Any) -> None:
    """Warn that ``fit(X, y)`` audits a new clone and not the fitted model that it was given."""
    if y is None or not (hasattr(estimator, "fit") and _is_fitted(estimator)):
        return
    # A clone of a frozen model, and of one that has nothing to learn, is as good as the model.
    if not _is_fitted(clone(estimator)):
        warnings.warn(
            f"The {type(estimator).__name__} is fitted already; with y, a clone of it is fitted to "
            "these rows, and that clone is audited. To audit the model that you have, call fit(X) "
            "without y; to train one here, give an unfitted estimator, such as clone(estimator).",
            UserWarning,
            stacklevel=users_level(),
        )


def as_it_stands(estimator: Any, y: Any) -> Any:
    """Return the estimator if it is audited as it is; None if a clone of it is fitted to y."""
    return estimator if y is None or isinstance(estimator, FrozenEstimator) else None


def warn_of_target(X: Any, y: Any) -> None:
    """Warn of columns of X that are the target, by their name or by their values.

    The audit of a model that is given its target says nothing about a model in use.
    """
    if y is None or as_chunks(X) is not None:
        return
    container, target = make_container(X), np.asarray(y)
    name = y.columns[0] if hasattr(y, "columns") and len(y.columns) else getattr(y, "name", None)
    named = [f"{own!r} (it has the name of y)" for own in container.names
            if isinstance(own, str) and own == name]  # fmt: skip
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim == 1 and len(target) == len(X) and not _may_agree_by_chance(target):
        head = np.arange(min(len(target), 100))
        first = take_rows(X, head)
        for j, own in enumerate(container.names):
            # Most columns are other from the first rows on.
            if own != name and _is_equal(container.column_values(first, j), target[head]):
                if _is_equal(container.column_values(X, j), target):
                    named.append(f"{own!r} (it is equal to y)")
    if named:
        warnings.warn(
            f"X seems to hold the target: column {', '.join(named)}. A model that sees it need not "
            "look at anything else, so the audit would say nothing about a model in use. Drop the "
            "column from X, and fit the model without it.",
            UserWarning,
            stacklevel=users_level(),
        )


def _may_agree_by_chance(target: Any) -> bool:
    """Whether a column may equal the target by chance: of few rows, or few uncommon values."""
    counts = pd.Series(target).value_counts()
    return len(target) < 20 or len(target) - int(counts.max() if len(counts) else 0) < 5


def _is_equal(values: Any, target: Any) -> bool:
    if values.dtype.kind in "fb" and target.dtype.kind in "biuf":
        return bool((values.astype(np.float64) == target).all())
    if values.dtype.kind in "fb" or target.dtype.kind in "biufmM":
        return False
    return bool(np.all(values == target.astype(object)))


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):
        return False
    return True


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a generator for any `random_state` that scikit-learn accepts."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, numbers.Integral):
        return np.random.default_rng(None if random_state is None else int(random_state))
    state = check_random_state(random_state)
    return np.random.default_rng(state.randint(0, 2**31, size=4))


# Columns of one value per row ---------------------------------------------------------------------


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
    _check_length(name, len(array), n_rows)
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
            f"{name} must hold numbers; got {values[:3].tolist()!r}. Labels are compared with "
            "labels, outputs and scores with numbers."
        ) from error


def finite_numbers(name: str, values: NDArray[Any]) -> Floats:
    """Return the values as floats, or raise an error if they are no numbers or infinite."""
    numbers = numbers_of(name, values)
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"{name} has {int((~np.isfinite(numbers)).sum())} infinite values, which have no mean. "
            "Leave out those rows."
        )
    return numbers


def check_weights(given: Any, n_rows: int, *, zeros: bool = False) -> Floats:
    """Return weights of rows, or raise an error unless they are finite and non-negative.

    With `zeros` all may be 0, as in a part of a table; otherwise not. A single number is the weight
    of each row.
    """
    given = np.asarray(given)
    given = np.full(n_rows, given) if given.ndim == 0 else given
    weights = numbers_of("sample_weight", column("sample_weight", given, n_rows))
    low, high = (float(end) for end in (weights.min(initial=np.inf), weights.max(initial=0)))
    if not (low >= 0 and np.isfinite(high) and (zeros or high > 0)):
        raise ValueError(
            "sample_weight must be finite, at least 0"
            + ("" if zeros else ", and not zero everywhere")
            + f"; got values from {low:g} to {high:g}. Pass other weights, or leave out rows."
        )
    return weights
