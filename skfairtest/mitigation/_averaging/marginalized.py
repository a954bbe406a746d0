"""Average the sensitive columns out: train with them, predict the mean over their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skfairtest._typing import Floats
from skfairtest._validation import check_target_values
from skfairtest.mitigation._averaging.averages import AveragingEstimator, last_step
from skfairtest.space._space import InputSpace


def _estimator_has(name: str, without: str = "") -> Callable[[Any], bool]:
    def check(self: Any) -> bool:
        estimator = getattr(self, "estimator_", self.estimator)
        if without and hasattr(estimator, without):
            raise AttributeError(
                f"{type(self).__name__} has no {name} where its estimator has {without}: one score "
                f"of a row is enough, and predict goes by {without}."
            )
        getattr(estimator, name)
        return True

    return check


class MarginalizedClassifier(ClassifierMixin, AveragingEstimator):
    """Average the sensitive columns out of a classifier.

    The classifier is trained with the sensitive columns, so that no other column takes over what
    they explain, and predicts with the mean of its outputs over their values: a person's own value
    has no part in the prediction.

    Parameters
    ----------
    estimator : classifier
        Classifier or pipeline; a clone of it is trained. One that is trained already goes in as
        ``FrozenEstimator(model)``.

    Attributes
    ----------
    estimator_ : classifier
        The trained classifier, which sees the sensitive columns.
    classes_ : ndarray of shape (n_classes,)
        Class labels.

    See Also
    --------
    MarginalizedRegressor : The same for a regressor.
    FairnessRetrainer : Retrains a model on what an audit found instead.
    CertifiedAuditor : Bounds what is left between twins.

    Notes
    -----
    The probabilities are averaged; for a classifier without them the decision scores, and for one
    that gives labels only its votes. `predict` gives the class with the largest average (of two
    classes: where the average of the decision scores is above zero). A threshold of the estimator's
    own is not kept: `FixedThresholdClassifier` and `TunedThresholdClassifierCV` stand around this
    class, not inside. With ``strength=0`` the estimator predicts as it stands.

    The model is asked about all values in one call, of 200,000 rows at most, and once about rows
    that are equal but for the sensitive columns. So twins in one table get the same prediction to
    the last bit with ``strength=1``; with less, averaged scores of two twins differ by (1 -
    strength) times what the model's do. Where there are more than `max_values` combinations, they
    are put in order (by the first sensitive column, then by the next) and cut into so many parts of
    equal weight, and the value in the middle of each part stands for it. With ``unseen="ignore"``
    and ``strength=1`` predictions do not depend on a category that is ignored; with less the model
    is asked about the row as it is. In a column of numbers, a missing value where there was none is
    an error either way.

    Twins are treated alike by construction, which is no finding about people: other columns that go
    together with the sensitive ones keep their influence, so that groups may still get different
    predictions on average. What follows from a sensitive value (``InputSpace(twins=...)``) is not
    changed along with it.

    References
    ----------
    .. [1] Pope, D. G., & Sydnor, J. R. (2011). Implementing anti-discrimination policies in
       statistical profiling models. American Economic Journal: Economic Policy, 3(3), 206-231.
    .. [2] Lindholm, M., Richman, R., Tsanakas, A., & Wuthrich, M. V. (2022). Discrimination-free
       insurance pricing. ASTIN Bulletin, 52(1), 55-89.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfairtest import MarginalizedClassifier
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(n_samples=600, random_state=0)
    >>> X, y = data.data.select_dtypes("number"), data.target
    >>> X = X.assign(sex=data.data["sex"] == "male")
    >>> model = MarginalizedClassifier(LogisticRegression(max_iter=1000), sensitive_features="sex")
    >>> model = model.fit(X, y)
    >>> model.values_.round(2)
         sex  weight
    0  False    0.46
    1   True    0.54
    >>> twins = X.assign(sex=~X["sex"])
    >>> bool((model.predict_proba(X) == model.predict_proba(twins)).all())
    True
    """

    def _check_kind(self) -> None:
        if not (hasattr(self.estimator, "__sklearn_tags__") and is_classifier(self.estimator)):
            raise ValueError(
                f"{type(self).__name__} needs a classifier; got {type(self.estimator).__name__}. "
                "Use MarginalizedRegressor for a regressor."
            )
        last = last_step(self.estimator)
        if isinstance(last, (FixedThresholdClassifier, TunedThresholdClassifierCV)):
            raise ValueError(
                f"The threshold of {type(last).__name__} would be lost: the average is one of "
                f"probabilities. Put {type(last).__name__} around {type(self).__name__}, not "
                "inside of it."
            )

    def _checked_targets(self, y: Any) -> Any:
        shape = np.asarray(y).shape
        if len(shape) > 1 and shape[1] > 1:
            raise ValueError(
                f"{type(self).__name__} takes one target per row; got y of shape {shape}. Make one "
                "model an output, with MultiOutputClassifier around this class."
            )
        return check_target_values(self.estimator, column_or_1d(y, warn=True))

    def _note(self, model: Any, y: Any) -> None:
        classes = getattr(model, "classes_", None)
        if classes is None and y is None:
            raise ValueError(
                f"{type(model).__name__} has no classes_, and y is None, which could tell them. "
                "Pass y."
            )
        classes = np.unique(y) if classes is None else np.asarray(classes)
        if classes.ndim != 1:
            raise ValueError(
                f"{type(model).__name__} predicts several outputs; expected one. Make one model an "
                "output."
            )
        unknown = [] if y is None else sorted(set(np.unique(y).tolist()) - set(classes.tolist()))
        if unknown:
            raise ValueError(
                f"y has the classes {unknown!r}, which {type(model).__name__} does not know after "
                f"fit; it knows {classes.tolist()!r}. Leave out their rows, or train the estimator "
                "with them."
            )
        if len(classes) > 2 and not hasattr(model, "predict_proba"):
            scores = getattr(last_step(model), "decision_function_shape", "ovr")
            if scores == "ovo":
                raise ValueError(
                    f"{type(last_step(model)).__name__} gives scores of pairs of classes, of which "
                    "no class is the largest. Set decision_function_shape='ovr'."
                )
        self.classes_ = classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest averaged output.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        check_is_fitted(self)
        if self.strength == 0:
            return np.asarray(self.estimator_.predict(self._prepared(X)[0]))
        for method in ("predict_proba", "decision_function", "predict"):
            if hasattr(self.estimator_, method):
                scores = self._outputs(method, X)
                break
        if scores.ndim == 1:
            return np.asarray(self.classes_[(scores > 0).astype(np.intp)])
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Average the class probabilities.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self._outputs("predict_proba", X)

    @available_if(_estimator_has("predict_proba"))
    def predict_log_proba(self, X: Any) -> Floats:
        """Compute the logarithms of the averaged class probabilities.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms.
        """
        return np.asarray(np.log(self.predict_proba(X)))

    @available_if(_estimator_has("decision_function", without="predict_proba"))
    def decision_function(self, X: Any) -> Floats:
        """Average the decision scores, for a classifier that has no probabilities.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        return self._outputs("decision_function", X)

    def _ask(self, method: str, X: Any) -> Floats:
        n = len(self.classes_)
        if method == "predict":  # a vote for one class
            labels = np.asarray(self.estimator_.predict(X))
            return np.asarray(labels[:, None] == self.classes_, dtype=np.float64)
        outputs = super()._ask(method, X)
        if n == 1 and method == "predict_proba":  # some have a second column for no class
            return np.ones((len(outputs), 1))
        scores_of_two = method == "decision_function" and n == 2 and outputs.ndim == 1
        if not scores_of_two and outputs.shape[1:] != (n,):
            raise ValueError(
                f"{type(self.estimator_).__name__}.{method} must give one column for each of {n} "
                f"classes; got shape {outputs.shape}. Take another estimator."
            )
        return outputs

    def __sklearn_tags__(self) -> Any:
        """Tags of the estimator, for one output."""
        tags = super().__sklearn_tags__()
        if (inner := self._inner_tags) is not None and inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
            # What the sensitive columns alone could tell is left out on purpose.
            tags.classifier_tags.poor_score = inner.classifier_tags.poor_score or self.strength != 0
        return tags


class MarginalizedRegressor(RegressorMixin, AveragingEstimator):
    """Average the sensitive columns out of a regressor.

    The regressor is trained with the sensitive columns, so that no other column takes over what
    they explain, and predicts the mean of its predictions over their values: a person's own value
    has no part in the prediction. In insurance these are discrimination-free prices.

    Parameters
    ----------
    estimator : regressor
        Regressor, of one output or of several, or pipeline; a clone of it is trained. One that is
        trained already goes in as ``FrozenEstimator(model)``.

    Attributes
    ----------
    estimator_ : regressor
        The trained regressor, which sees the sensitive columns.

    See Also
    --------
    MarginalizedClassifier : The same for a classifier.
    FairnessRetrainer : Retrains a model on what an audit found instead.
    CertifiedAuditor : Bounds what is left between twins.

    Notes
    -----
    The mean of the predictions over all rows may differ from that of the regressor, where the
    sensitive columns go together with others: prices then need a correction, for which the paper of
    Lindholm et al. has several.

    The model is asked about all values in one call, of 200,000 rows at most, and once about rows
    that are equal but for the sensitive columns. So twins in one table get the same prediction to
    the last bit with ``strength=1``; with less, averaged scores of two twins differ by (1 -
    strength) times what the model's do. Where there are more than `max_values` combinations, they
    are put in order (by the first sensitive column, then by the next) and cut into so many parts of
    equal weight, and the value in the middle of each part stands for it. With ``unseen="ignore"``
    and ``strength=1`` predictions do not depend on a category that is ignored; with less the model
    is asked about the row as it is. In a column of numbers, a missing value where there was none is
    an error either way.

    Twins are treated alike by construction, which is no finding about people: other columns that go
    together with the sensitive ones keep their influence, so that groups may still get different
    predictions on average. What follows from a sensitive value (``InputSpace(twins=...)``) is not
    changed along with it.

    References
    ----------
    .. [1] Pope, D. G., & Sydnor, J. R. (2011). Implementing anti-discrimination policies in
       statistical profiling models. American Economic Journal: Economic Policy, 3(3), 206-231.
    .. [2] Lindholm, M., Richman, R., Tsanakas, A., & Wuthrich, M. V. (2022). Discrimination-free
       insurance pricing. ASTIN Bulletin, 52(1), 55-89.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skfairtest import CertifiedAuditor, MarginalizedRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.integers(0, 2, 300), rng.normal(size=300)])
    >>> y = 4 * X[:, 0] * (X[:, 1] > 1)
    >>> for strength in (0.0, 0.25, 0.75):
    ...     model = MarginalizedRegressor(
    ...         DecisionTreeRegressor(max_depth=4), sensitive_features=[0], strength=strength
    ...     )
    ...     auditor = CertifiedAuditor(model.fit(X, y), sensitive_features=[0]).fit(X)
    ...     print(strength, auditor.fairness_degree_, auditor.certified_)
    0.0 4.0 True
    0.25 3.0 True
    0.75 1.0 True
    """

    def _check_kind(self) -> None:
        if not (hasattr(self.estimator, "__sklearn_tags__") and is_regressor(self.estimator)):
            raise ValueError(
                f"{type(self).__name__} needs a regressor; got {type(self.estimator).__name__}. "
                "Use MarginalizedClassifier for a classifier."
            )

    def _checked_targets(self, y: Any) -> Any:
        y = np.asarray(y)
        if y.ndim < 2 or not get_tags(self.estimator).target_tags.multi_output:
            y = column_or_1d(y, warn=True)
        return check_target_values(self.estimator, y)

    def predict(self, X: Any) -> Floats:
        """Averaged predictions.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
        """
        return self._outputs("predict", X)

    def __sklearn_tags__(self) -> Any:
        """Tags of the estimator."""
        tags = super().__sklearn_tags__()
        if (inner := self._inner_tags) is not None and inner.regressor_tags is not None:
            tags.target_tags.multi_output = inner.target_tags.multi_output
            tags.target_tags.single_output = inner.target_tags.single_output
            tags.regressor_tags.poor_score = inner.regressor_tags.poor_score or self.strength != 0
        return tags


def averaged(estimator: Any, space: InputSpace, *, regression: bool) -> Any:
    """Return an unfitted model that averages out the sensitive columns of a space.

    A rare value may be missing from the rows of a fold: it changes no prediction.
    """
    kind: Any = MarginalizedRegressor if regression else MarginalizedClassifier
    return kind(
        estimator,
        sensitive_features=space.sensitive_features,
        unseen="ignore",
        one_hot=space.layout.one_hot or None,
    )
