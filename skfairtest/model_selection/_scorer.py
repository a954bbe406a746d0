"""Audit scorers, which choose a model that is accurate and treats twins alike."""

from __future__ import annotations

import copy
import numbers
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest

from skfairtest._delegation import PackageBase
from skfairtest._validation import check_rows, check_table, check_weights
from skfairtest.base import BaseAuditor
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.group import SubgroupAuditor
from skfairtest.individual._flip_test.auditor import FlipTestAuditor
from skfairtest.space._space import InputSpace

#: Results of auditors that a scorer may report; all are better when they are smaller.
METRICS = (
    "fairness_degree", "discrimination_rate", "on_data_degree", "on_data_rate",
    "group_fairness_score", "moved_rate",
)  # fmt: skip
#: Shorter names of these results, of which some are those of `compare_mitigations`.
ALIASES = {
    "degree": "fairness_degree",
    "success_rate": "discrimination_rate",
    "share_rows": "on_data_rate",
    "share_moved": "moved_rate",
}


class AuditScorer(PackageBase, BaseEstimator):
    """Scorer that audits the estimator; `make_audit_scorer` makes it.

    Parameters
    ----------
    auditor : auditor
        A template, whose estimator is set for each call.
    metric : str, default="auto"
        The result that is reported, multiplied by -1; `make_audit_scorer` lists the results.
    space : InputSpace or table, default=None
        The domain of every audit; None takes the domain of the rows that are scored.
    random_state : int, default=0
        Seed of every audit.

    See Also
    --------
    make_audit_scorer : Makes a scorer and fixes its seed.

    Examples
    --------
    >>> from skfairtest import RandomAuditor
    >>> from skfairtest.model_selection import AuditScorer
    >>> from skfairtest.datasets import make_biased_regression
    >>> data = make_biased_regression(random_state=0)
    >>> scorer = AuditScorer(RandomAuditor(max_queries=2000))
    >>> bool(-10 <= scorer(data.estimator, data.data) < 0)
    True
    >>> scorer.__name__
    'neg_fairness_degree'
    """

    _doc_page = "make_audit_scorer"

    def __init__(
        self,
        auditor: Any,
        metric: str = "auto",
        space: Any = None,
        random_state: int = 0,
    ) -> None:
        self.auditor = auditor
        self.metric = metric
        self.space = space
        self.random_state = random_state

    # Tables of scores name scorers by this, as if they were functions.
    @property
    def __name__(self) -> str:
        """Name of the score in tables: the negated metric, and the sensitive columns if named."""
        metric = metric_of(self.auditor, self.metric)
        columns = getattr(self.auditor, "sensitive_features", "auto")
        if columns is None or (isinstance(columns, str) and columns == "auto"):
            return f"neg_{metric}"
        names = [columns] if isinstance(columns, (str, int)) else list(columns)
        return "_".join([f"neg_{metric}", *map(str, names)])

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        sensitive_features: Any = None,
    ) -> float:
        """Audit a fitted estimator and return its score; greater is better.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator; it is not fitted again.
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows that show the domain, unless `space` is given.
        y : array-like of shape (n_samples,), default=None
            True targets of the rows. `SubgroupAuditor` compares predictions with them; the other
            auditors need no targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A `SubgroupAuditor` uses them, and so do ``moved_rate``, and
            ``on_data_rate`` unless `space` is given. The other metrics have no use for weights, as
            they are maxima or describe the domain.
        sensitive_features : array-like or DataFrame of shape (n_samples, n_columns), default=None
            Sensitive columns that are not in X, for a tester of groups or a `FlipTestAuditor`. A
            tester of twins does not take them, since a model treats twins in columns that it does
            not see alike.

        Returns
        -------
        float
            The metric times -1; 0 is best.

        Raises
        ------
        EstimatorFailedError, ValueError, TypeError
            If the audit fails. Model selection writes `error_score` instead.
        """
        metric = metric_of(self.auditor, self.metric)
        check_rows(X, {"y": y, "sample_weight": sample_weight})
        if metric == "moved_rate":
            return 0.0 - self._moved_rate(estimator, X, sample_weight, sensitive_features)
        audited = self.audit(estimator, X, y, sample_weight, sensitive_features)
        if metric == "on_data_rate" and sample_weight is not None and self.space is None:
            rows = audited.audit_rows(X)
            weights = check_weights(sample_weight, len(rows.is_discriminatory))
            return 0.0 - float(np.average(rows.is_discriminatory, weights=weights))
        return 0.0 - float(getattr(audited, f"{metric}_"))

    def _moved_rate(self, estimator: Any, X: Any, weights: Any, sensitive_features: Any) -> float:
        """Return the rate alone: its interval and the columns behind it cost many times as much."""
        auditor = clone(self.auditor).set_params(estimator=FrozenEstimator(estimator))
        twins, own = auditor._moved_values(X, sensitive_features)
        if weights is not None:
            weights = check_weights(weights, len(X))[twins.rows]
        return own.interval(weights)[0]

    def audit(
        self,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        sensitive_features: Any = None,
    ) -> Any:
        """Return the fitted auditor whose result is the score.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator.
        X : array-like or DataFrame of shape (n_samples, n_features), default=None
            Rows that show the domain; they are not needed with `space`.
        y : array-like of shape (n_samples,), default=None
            True targets of the rows, for a `SubgroupAuditor`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for a `SubgroupAuditor`.
        sensitive_features : array-like or DataFrame of shape (n_samples, n_columns), default=None
            Sensitive columns that are not in X, for a tester of groups or a `FlipTestAuditor`.

        Returns
        -------
        auditor
            A fitted clone of the template. It keeps the template's own parameters: `space_` is
            the domain that was audited here, while ``fit(X2)`` would audit the domain of X2.
        """
        metric_of(self.auditor, self.metric)  # an error before anything is fitted
        template = clone(self.auditor)
        settings = {"estimator": FrozenEstimator(estimator), "random_state": self.random_state}
        rows, auditor = X if self.space is None else self.space, template
        if isinstance(rows, InputSpace):
            if isinstance(template, BaseAuditor):
                auditor = template._in_space(rows)
            rows = rows.decode(rows.data)
        auditor.set_params(**settings)
        of_rows = {}
        if isinstance(auditor, SubgroupAuditor):
            of_rows = {"y": y, "sample_weight": sample_weight}
        if sensitive_features is not None:
            self._check_takes_columns()
            of_rows["sensitive_features"] = sensitive_features
        with warnings.catch_warnings():
            # A candidate that treats all twins alike is what the selection looks for.
            warnings.simplefilter("ignore", NoDisparityWarning)
            auditor.fit(rows, **of_rows)
        if auditor is not template:
            own = {"space": template.space, "sensitive_features": template.sensitive_features}
            auditor.set_params(**own)
        return auditor

    def _check_takes_columns(self) -> None:
        """Check that the auditor can take sensitive columns that are not in X."""
        if isinstance(self.auditor, BaseAuditor):
            raise ValueError(
                f"{type(self.auditor).__name__} compares twins, and twins in columns that the "
                "model does not take are equal by construction; got sensitive_features. Leave them "
                "out, or take a scorer of groups, make_audit_scorer(SubgroupAuditor()), or of "
                "moved rows, make_audit_scorer(FlipTestAuditor())."
            )
        if self.space is not None:
            raise ValueError(
                "sensitive_features belong to the rows that are scored, but space= replaces these "
                "rows. Leave space=None."
            )

    def set_score_request(
        self, *, sample_weight: Any = UNCHANGED, sensitive_features: Any = UNCHANGED
    ) -> AuditScorer:
        """Set whether the scorer requests routed weights and sensitive columns.

        Parameters
        ----------
        sample_weight, sensitive_features : bool, None or str
            True requests them, False ignores them, None raises an error if they are passed, and a
            string is the name under which they are passed. The default leaves the request as it is.

        Returns
        -------
        self : AuditScorer
            The scorer.

        Raises
        ------
        ValueError
            If sensitive columns are requested for an auditor that takes none.
        """
        if sensitive_features not in (UNCHANGED, None, False):
            self._check_takes_columns()
        request = self.get_metadata_routing()
        asked = {"sample_weight": sample_weight, "sensitive_features": sensitive_features}
        for name, alias in asked.items():
            if alias is not UNCHANGED:
                request.score.add_request(param=name, alias=alias)
        self._metadata_request = request  # which is the name that `clone` copies
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what metadata routing may pass on to the scorer.

        Returns
        -------
        MetadataRequest
            The request for weights and sensitive columns, as `set_score_request` set it. A tester
            of twins takes no sensitive columns, and what is routed to others passes it by.
        """
        if hasattr(self, "_metadata_request"):
            return copy.deepcopy(self._metadata_request)
        request = MetadataRequest(owner=type(self).__name__)
        request.score.add_request(param="sample_weight", alias=None)
        if not isinstance(self.auditor, BaseAuditor):
            request.score.add_request(param="sensitive_features", alias=None)
        return request

    def _accept_sample_weight(self) -> bool:
        # Asked by scikit-learn's multi-metric scoring; without it such a search fails on weights.
        return True


def make_audit_scorer(
    auditor: Any,
    metric: str = "auto",
    *,
    space: Any = None,
    random_state: Any = None,
) -> AuditScorer:
    """Make a scorer from an auditor, for model selection.

    Parameters
    ----------
    auditor : auditor
        A template with its settings and budget; its own estimator, if any, is not used.
    metric : str, default="auto"
        The result of the auditor that is scored. A tester of twins has "fairness_degree",
        "discrimination_rate", "on_data_degree" and "on_data_rate"; a tester of groups has
        "group_fairness_score" (the worst one); a `FlipTestAuditor` has "moved_rate", the share of
        the rows whose output changes when they are moved to another group. "auto" takes the first
        of these that the auditor has. Shorter names work as well: "degree" means the fairness
        degree, "success_rate" the discrimination rate, "share_rows" the rate on the data and
        "share_moved" the moved rate (as in `compare_mitigations`).
    space : InputSpace or table, default=None
        Domain of every audit. None takes it from the rows that are scored, which differ from fold
        to fold. A table gives the domain and replaces the rows. So does a fitted `InputSpace`,
        which also replaces the auditor's `space` and `sensitive_features`. A tester of groups and
        a `FlipTestAuditor` take None only.
    random_state : int, RandomState or Generator, default=None
        Seed of all audits, so that every candidate gets the same one. The default is that of the
        auditor; if the auditor has none, a seed is drawn now.

    Returns
    -------
    AuditScorer
        The scorer, called as ``scorer(estimator, X, y=None)``. A score is negative or 0; greater is
        better.

    Raises
    ------
    ValueError, TypeError
        If `auditor` is not an auditor, or does not have the metric.

    Notes
    -----
    A search reports a lower bound. Candidates are compared at equal budgets and seeds, so a small
    budget favours models whose differences are hard to find. The degree has the units of the
    outputs: compare all candidates by the same outputs, such as probabilities, or use a rate. A
    model may score 0 because it does not see the sensitive columns; its proxies are not examined,
    but by a `FlipTestAuditor`: its map moves them, and the columns may be outside X. The map is
    learned from the rows that are scored. Its errors change some outputs as well, of all
    candidates, so that the best possible score is somewhat below 0.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skfairtest import RandomAuditor, make_audit_scorer
    >>> from skfairtest.datasets import make_biased_regression
    >>> data = make_biased_regression(random_state=0)
    >>> X, y = data.data.select_dtypes("number"), data.target
    >>> X = X.assign(sex=data.data["sex"] == "male")
    >>> scorer = make_audit_scorer(RandomAuditor(max_queries=200), random_state=0)
    >>> search = GridSearchCV(Ridge(), {"alpha": [1, 1e6]}, scoring=scorer, cv=2).fit(X, y)
    >>> search.best_params_
    {'alpha': 1000000.0}
    """
    if isinstance(auditor, type) or not hasattr(auditor, "fit"):
        raise TypeError(
            f"auditor must be an instance of an auditor; got {auditor!r}. Write "
            "make_audit_scorer(SBFTAuditor(sensitive_features=[...]))."
        )
    metric_of(auditor, metric)
    if random_state is None:
        random_state = auditor.get_params(deep=False).get("random_state")
    return AuditScorer(auditor, metric, _as_space(auditor, space), _seed(random_state))


def _as_space(auditor: Any, space: Any) -> Any:
    """Return a table as the space that the auditor learns from it, which can be saved."""
    if space is not None and isinstance(auditor, SubgroupAuditor):
        raise ValueError(
            "SubgroupAuditor compares the rows that are scored with their true targets, and has no "
            "space=. Leave space=None."
        )
    if space is not None and isinstance(auditor, FlipTestAuditor):
        raise ValueError(
            "FlipTestAuditor moves the rows that are scored, which space= would replace. Leave "
            "space=None, and give the auditor a space: FlipTestAuditor(space=...)."
        )
    if space is None or isinstance(space, InputSpace):
        return space
    template = clone(auditor)
    if isinstance(template, BaseAuditor):
        return template._make_space(check_table(template, space))
    return template._tables_of(space, None, None)[1].inputs.space


def metric_of(auditor: Any, metric: Any) -> str:
    """Return the name of the result that `metric` means, which the auditor must have."""
    has = [name for name in METRICS if hasattr(type(auditor), f"{name}_") or _sets(auditor, name)]
    if isinstance(metric, str):
        metric = has[0] if has and metric == "auto" else ALIASES.get(metric, metric)
    if metric not in has:
        known = [*has, *(alias for alias, name in ALIASES.items() if name in has)]
        raise ValueError(
            f"metric must be 'auto' or a result of {type(auditor).__name__}, one of {known}; got "
            f"{metric!r}. Choose one of these, or another auditor."
        )
    return str(metric)


def _sets(auditor: Any, name: str) -> bool:
    # The testers of twins write these in fit, the other results are properties.
    if isinstance(auditor, FlipTestAuditor):
        return name == "moved_rate"
    return name in METRICS[:2] and hasattr(type(auditor), "on_data_degree_")


def _seed(random_state: Any) -> int:
    """Return one whole number as the seed of all calls."""
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if random_state is None:
        return int(np.random.default_rng().integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))
