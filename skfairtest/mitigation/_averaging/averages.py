"""What the two models that average sensitive columns out share: fit, the average, checks."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from skfairtest._delegation import PackageBase
from skfairtest._parameters import DeclaredParameters, one_of, real, whole
from skfairtest._typing import Floats, Ints
from skfairtest._validation import check_table, check_takes_weights, check_weights
from skfairtest.mitigation._averaging.reference_values import ReferenceValues
from skfairtest.space._containers import make_container
from skfairtest.space._rows import take_rows
from skfairtest.whitebox._mixture import Mixture

#: Rows that the model is shown in one call at most: memory stays bounded, whatever the table and
#: the number of values.
MOST_ROWS = 200_000
WEIGHTS = ("data", "uniform")
UNSEEN = ("error", "ignore")


class KeepsReference:
    """Says what an averaging estimator keeps in a class of its own; has no parameters."""

    _reference: ReferenceValues


class AveragingEstimator(
    KeepsReference, DeclaredParameters, PackageBase, MetaEstimatorMixin, BaseEstimator
):
    """What the classifier and the regressor share.

    Parameters
    ----------
    sensitive_features : "auto", str, int or list of these, default="auto"
        Columns that are averaged out, by name or position; a column of a one-hot group means the
        group. "auto" takes the columns whose names are common protected attributes.
    strength : float, default=1.0
        Share of the average in the predictions, in [0, 1]; the rest is the model's own output for
        the row as it is. It is read at prediction: another one may be set after `fit`.
    weights : {"data", "uniform"}, default="data"
        Weights of the values. "data": their share of the rows, each by its ``sample_weight``.
        "uniform": all combinations of values that occur weigh the same.
    max_values : int or None, default=100
        Largest number of combinations of values that are averaged over: a prediction costs as many
        predictions of the model. Of more, quantiles stand for all; see Notes. None keeps all.
    unseen : {"error", "ignore"}, default="error"
        How to treat a category at prediction that a sensitive column did not have in `fit`: raise
        an error, or ignore it. A missing value is such a category; numbers are never unseen.
    one_hot : "auto", dict of name to list of columns, or None, default="auto"
        Groups of 0/1 columns that are one attribute each and change together, as in `InputSpace`.

    Attributes
    ----------
    sensitive_features_ : list
        The columns that are averaged over.
    one_hot_ : dict of name to list
        The columns of each one-hot group.
    values_ : DataFrame
        The combinations of values, a one-hot group as one column, and their `weight`.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Number and names of the columns of X.
    """

    estimator: Any = field(default=None, kw_only=False)
    sensitive_features: Any = "auto"
    strength: float = real(
        default=1.0,
        interval="[0, 1]",
        hint="It is the share of the average in the predictions: 0 is the model as trained, 1 the "
        "average alone.",
    )
    weights: str = one_of(default="data", options=WEIGHTS)
    max_values: int | None = whole(default=100, least=1, optional=True)
    unseen: str = one_of(default="error", options=UNSEEN)
    one_hot: Any = "auto"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Any:
        """Train the estimator with the sensitive columns, and note their values.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets. A `FrozenEstimator` needs none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in the training and in the weights of the sensitive values. The
            steps of a pipeline get them by metadata routing.
        **fit_params : dict
            Passed to the estimator's ``fit``, or routed when metadata routing is on.

        Returns
        -------
        self : object
            The fitted model.

        Raises
        ------
        ValueError, TypeError
            For parameters, estimators and input that cannot be used: no sensitive column, one with
            a single value, weights that are all zero, a class that a frozen estimator does not
            know.
        """
        self._check_params()
        X = check_table(self, X, {"y": y, "sample_weight": sample_weight, **fit_params})
        y = self._check_targets(y)
        row_weights = np.ones(len(X))
        if sample_weight is not None:
            row_weights = check_weights(sample_weight, len(X))
        reference = ReferenceValues(
            X,
            self.sensitive_features,
            self.one_hot,
            sample_weight=row_weights,
            uniform=self.weights == "uniform",
            max_values=self.max_values,
        )
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **fit_params)
            fit_params = routed.estimator.fit
        elif sample_weight is not None:
            check_takes_weights(self.estimator)
            if not isinstance(self.estimator, FrozenEstimator):
                fit_params = {**fit_params, "sample_weight": row_weights}
        model = _cloned(self.estimator).fit(X, y, **fit_params)
        self._note(model, y)
        self.estimator_, self._reference = model, reference
        self.sensitive_features_, self.one_hot_ = reference.names, reference.one_hot
        return self

    def _note(self, model: Any, y: Any) -> None:
        """Look at the trained model, and keep what the kind of model needs; a hook."""

    # Predictions -----------------------------------------------------------------------------

    def _outputs(self, method: str, X: Any) -> Floats:
        """An output of the model, averaged as `strength` says; shape (n, ...)."""
        X, own = self._prepared(X)
        strength, reference = float(self.strength), self._reference
        if strength == 0:
            return self._ask(method, X)
        first, rank = reference.groups(X)
        size = max(1, MOST_ROWS // len(reference))
        means, mine = [], []
        for start in range(0, len(first), size):
            chunk = first[start : start + size]
            # All rows with the first value, then all with the second, ...
            rows = np.tile(chunk, len(reference))
            values = np.repeat(np.arange(len(reference)), len(chunk))
            asked = self._ask(method, reference.filled(X, rows, values))
            dtype = asked.dtype
            outputs = asked.astype(np.float64, copy=False)
            outputs = outputs.reshape(len(reference), len(chunk), *asked.shape[1:])
            means.append(_weighted_mean(outputs, reference.weights))
            here = (rank >= start) & (rank < start + len(chunk)) & (own >= 0)
            if strength < 1:
                mine.append((np.flatnonzero(here), outputs[own[here], rank[here] - start]))
        mean = np.concatenate(means)[rank]
        if strength == 1:  # not even 0 times something else: twins are equal to the last bit
            return mean.astype(dtype, copy=False)
        out = np.empty_like(mean)
        for places, answers in mine:
            out[places] = answers
        # What is not among the values: numbers between them, and values that were thinned out.
        others = np.flatnonzero(own < 0)
        for start in range(0, len(others), MOST_ROWS):
            part = others[start : start + MOST_ROWS]
            out[part] = self._ask(method, take_rows(X, part))
        mixed = mean + (1 - strength) * (out - mean)
        mixed = np.clip(mixed, np.minimum(out, mean), np.maximum(out, mean))
        return mixed.astype(dtype, copy=False)

    def _prepared(self, X: Any) -> tuple[Any, Ints]:
        """X as a table with the columns of fit, and the place of each row's own values."""
        check_is_fitted(self)
        self._check_params()
        X = self._as_in_fit(X)
        if not len(X):
            raise ValueError(
                f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required."
            )
        return X, self._reference.find(X, unseen_is_error=self.unseen == "error")

    def _as_in_fit(self, X: Any) -> Any:
        """X as a table; an error where its columns are not those of fit."""
        is_frame = hasattr(X, "columns") and not isinstance(X, np.ndarray)
        if not is_frame:
            if sparse.issparse(X):
                make_container(X)  # says why it cannot be
            X = check_array(X, dtype=None, ensure_all_finite=False, estimator=self)
        elif not isinstance(X, pd.DataFrame) and hasattr(self, "feature_names_in_"):
            # Older releases of scikit-learn do not see the names of every kind of frame.
            names = make_container(X).names
            if names != self.feature_names_in_.tolist():
                raise ValueError(
                    f"X must have the columns of fit in their order, "
                    f"{self.feature_names_in_.tolist()!r}; got {names!r}."
                )
            return X
        validate_data(self, X, skip_check_array=True, reset=False)
        return X

    def _ask(self, method: str, X: Any) -> Floats:
        """An output of the trained model as floats; a hook."""
        outputs = np.asarray(getattr(self.estimator_, method)(X))
        # Single precision stays: whoever compares outputs can then tell how far rounding goes.
        return outputs if outputs.dtype == np.float32 else outputs.astype(np.float64, copy=False)

    @property
    def values_(self) -> Any:
        """The combinations of sensitive values that are averaged over, and their weights."""
        check_is_fitted(self)
        return self._reference.frame()

    def _as_mixture(self) -> Mixture:
        """What certificates read; see `skfairtest.whitebox._mixture`."""
        self._check_params()
        if not hasattr(self, "estimator_"):
            return Mixture(self.estimator, self.strength, [], None)
        reference = self._reference
        return Mixture(self.estimator_, self.strength, reference.places, reference.table())

    # Checks ----------------------------------------------------------------------------------

    def _check_params(self) -> None:
        name = type(self).__name__
        if self.estimator is None or isinstance(self.estimator, type):
            raise ValueError(
                f"estimator must be an instance of an estimator; got {self.estimator!r}. Write "
                f"{name}(estimator) with an estimator such as a pipeline, or one that is trained "
                "already, as FrozenEstimator(model)."
            )
        if self.sensitive_features is None:
            raise ValueError(
                "sensitive_features must be 'auto', a column or a list of columns; got None."
            )
        self._check_kind()
        self._check_declared()

    def _check_kind(self) -> None:
        raise NotImplementedError

    def _check_targets(self, y: Any) -> Any:
        if y is None:
            if isinstance(self.estimator, FrozenEstimator):
                return None
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Only a "
                "FrozenEstimator, which is trained already, needs no targets."
            )
        return self._checked_targets(y)

    def _checked_targets(self, y: Any) -> Any:
        raise NotImplementedError

    # scikit-learn ----------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a model."""
        return hasattr(self, "estimator_")

    def get_metadata_routing(self) -> MetadataRouter:
        """Routing of fit parameters to the estimator.

        Returns
        -------
        MetadataRouter
            The routing. ``sample_weight`` is asked for by this estimator itself, too.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        """Tags of the estimator, less sparse input, which has no values to average over."""
        tags = super().__sklearn_tags__()
        if (inner := self._inner_tags) is not None:
            tags.input_tags.allow_nan = inner.input_tags.allow_nan
            tags.input_tags.categorical = inner.input_tags.categorical
            tags.input_tags.string = inner.input_tags.string
            tags.input_tags.positive_only = inner.input_tags.positive_only
            tags.target_tags.positive_only = inner.target_tags.positive_only
            tags.non_deterministic = inner.non_deterministic
        tags.input_tags.sparse = False
        tags.target_tags.required = True
        return tags

    @property
    def _inner_tags(self) -> Any:
        """Tags of the estimator; None of an object without."""
        return get_tags(self.estimator) if hasattr(self.estimator, "__sklearn_tags__") else None


# Parts -------------------------------------------------------------------------------------


def _weighted_mean(outputs: Floats, weights: Floats) -> Floats:
    """Mean over the first axis.

    A row's mean is added up in one order, wherever it stands in the table, and lies among its
    values: where these are equal, it is the same number.
    """
    total = weights[0] * outputs[0]
    for weight, part in zip(weights[1:], outputs[1:], strict=True):
        total += weight * part
    return np.clip(total, outputs.min(axis=0), outputs.max(axis=0))


def last_step(estimator: Any) -> Any:
    """What a pipeline, or a frozen one, predicts with."""
    while isinstance(estimator, (Pipeline, FrozenEstimator)):
        is_frozen = isinstance(estimator, FrozenEstimator)
        estimator = estimator.estimator if is_frozen else estimator.steps[-1][1]
    return estimator


def _cloned(estimator: Any) -> Any:
    """A clone; an error that says what to do where there can be none."""
    try:
        return clone(estimator)
    except (TypeError, RuntimeError) as error:
        raise TypeError(
            f"{type(estimator).__name__} cannot be cloned: {error} Train it yourself, and give "
            "FrozenEstimator(model)."
        ) from error
