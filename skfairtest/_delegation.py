"""Auditors predict, score and route metadata as their estimators do; links to the documentation."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

#: Names the address of a built site, such as "file:///home/me/skfairtest/docs/_build/html/". There
#: is no published one yet, so links are off where it is not set.
SITE_VARIABLE = "SKFAIRTEST_DOCS"
#: What a saved object says of the attributes that it consists of. To be raised by whoever changes
#: these so that older objects could not be used.
FORMAT = 2


class PackageBase:
    """What estimators of the package share: how they are saved, and a link of their HTML to a page.

    A mixin in front of scikit-learn's classes, which read `_doc_link_module` and the two names
    below it from estimators of other packages.
    """

    _doc_link_module = "skfairtest"
    #: The page that describes the class, where it is not its own.
    _doc_page = ""

    @property
    def _doc_link_template(self) -> str:
        site = os.environ.get(SITE_VARIABLE, "")
        return f"{site.rstrip('/')}/reference/api/{{name}}.html" if site else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": self._doc_page or type(self).__name__}

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        return {**state, "_saved_as": FORMAT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.pop("_saved_as", 0) != FORMAT:
            raise ValueError(
                f"This {type(self).__name__} was saved by another version of skfairtest, whose "
                "results this version cannot read. Load it with the version that saved it, or fit "
                "it again."
            )
        super().__setstate__(state)  # type: ignore[misc]


def _estimator_has(name: str) -> Callable[[Any], bool]:
    def check(self: Any) -> bool:
        # Before fit the prediction is that of the template, after it that of what is audited.
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


class StoredResults:
    """Results that properties read from `_state` once there are any; a mixin."""

    _state: dict[str, Any]

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the auditor has results."""
        return hasattr(self, "stop_reason_")

    def _result(self, name: str) -> dict[str, Any]:
        if not hasattr(self, "stop_reason_"):
            # hasattr() must say False before fit, so this is no NotFittedError.
            raise AttributeError(
                f"{type(self).__name__} has no {name} before fit. Call fit(X) first."
            )
        return self._state


class DelegatingEstimator(PackageBase, MetaEstimatorMixin, BaseEstimator):
    """A meta-estimator that predicts as its `estimator_` does."""

    estimator: Any
    estimator_: Any

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels of the audited classifier."""
        return self.estimator_.classes_

    @available_if(_estimator_has("predict"))
    def predict(self, X: Any) -> Any:
        """Predict with the audited estimator.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            What the estimator's ``predict`` returns.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities with the audited classifier.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            What the estimator's ``predict_proba`` returns.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_if(_estimator_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> Any:
        """Predict logarithms of class probabilities with the audited classifier.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            What the estimator's ``predict_log_proba`` returns.
        """
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(X)

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Compute decision scores with the audited classifier.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            What the estimator's ``decision_function`` returns.
        """
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    @available_if(_estimator_has("score"))
    def score(self, X: Any, y: Any = None, **score_params: Any) -> Any:
        """Score the audited estimator.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Targets.
        **score_params : dict
            Passed to the estimator's ``score``, or routed if metadata routing is on.

        Returns
        -------
        float
            What the estimator's ``score`` returns.
        """
        check_is_fitted(self)
        if get_config()["enable_metadata_routing"]:
            score_params = process_routing(self, "score", **score_params).estimator.score
        return self.estimator_.score(X, y, **score_params)

    def _routed(self, fit_params: dict[str, Any], sensitive_features: Any) -> dict[str, Any]:
        """Return fit's parameters, with the sensitive columns if the estimator requests them."""
        if sensitive_features is None or not hasattr(self.estimator, "get_metadata_routing"):
            return fit_params
        requests = self.estimator.get_metadata_routing()
        consumed = requests.consumes("fit", ["sensitive_features"])
        return fit_params | dict.fromkeys(consumed, sensitive_features)

    def get_metadata_routing(self) -> MetadataRouter:
        """Route the parameters of fit and score to the estimator.

        Returns
        -------
        MetadataRouter
            The routing.
        """
        mapping = (
            MethodMapping().add(caller="fit", callee="fit").add(caller="score", callee="score")
        )
        router = MetadataRouter(owner=type(self).__name__)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the estimator, without sparse input, which has no domain."""
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = copy.deepcopy(get_tags(self.estimator))
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags = inner.classifier_tags
            tags.regressor_tags = inner.regressor_tags
            tags.target_tags = inner.target_tags
            tags.input_tags = inner.input_tags
        tags.input_tags.sparse = False
        return tags


def of_one_output(tags: Any) -> Any:
    """Return the tags of an estimator, without several outputs or labels at once."""
    tags.target_tags.multi_output = False
    tags.target_tags.single_output = True
    if tags.classifier_tags is not None:
        tags.classifier_tags.multi_label = False
    return tags


class AuditingEstimator(DelegatingEstimator):
    """A `DelegatingEstimator` whose own fit takes sensitive columns, too."""

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of parameters of fit and score to the estimator and to fit itself.

        Returns
        -------
        MetadataRouter
            The routing.
        """
        return super().get_metadata_routing().add_self_request(self)
