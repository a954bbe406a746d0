"""audit_models makes one report for each of several models, on joblib's workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skfairtest._parameters import check_n_jobs
from skfairtest.report._audit import _seed, audit
from skfairtest.report._report import AuditReport
from skfairtest.workers._sending import on_workers, without_threads


def audit_models(
    models: Mapping[str, Any],
    X: Any,
    y: Any = None,
    *,
    n_jobs: int | None = None,
    random_state: Any = None,
    **settings: Any,
) -> dict[str, AuditReport]:
    """Audit several fitted models on the same table, each by itself.

    Parameters
    ----------
    models : dict of str to estimator
        Fitted estimators by name. They are audited as they stand.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Rows of people, which also show which inputs exist.
    y : array-like of shape (n_samples,), default=None
        True labels or targets of the rows.
    n_jobs : int, default=None
        Number of models that are audited at the same time, in processes unless
        `joblib.parallel_config` sets another backend. None means 1, unless it sets another number.
        Threads share Python's warnings, which reports keep, so that they audit one model at a time.
        The reports do not depend on it, unless a time limit ends a part.
    random_state : int, RandomState, Generator or None, default=None
        Seed of every audit. All models have the same, so that they are compared on the same inputs.
    **settings : dict
        Further parameters of `audit`, such as `sensitive_features`. `max_time` limits the audit of
        each model.

    Returns
    -------
    dict of str to AuditReport
        The reports by the names of the models, in their order.

    Raises
    ------
    ValueError, TypeError
        If a model, a parameter or a table cannot be audited.
    WorkersFailedError
        If workers are lost, or a model cannot be sent to them.

    See Also
    --------
    audit : Audits one model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression, Ridge
    >>> from skfairtest import SBFTAuditor, audit_models
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> models = {"least squares": LinearRegression().fit(X, y), "ridge": Ridge(10).fit(X, y)}
    >>> reports = audit_models(
    ...     models, X, sensitive_features=["sex"], auditor=SBFTAuditor(max_queries=500),
    ...     groups=False, moved=False, max_time=5, random_state=0,
    ... )
    >>> {name: round(report.fairness_degree, 1) for name, report in reports.items()}
    {'least squares': 22.9, 'ridge': 20.5}
    """
    if not isinstance(models, Mapping) or not models:
        raise TypeError(
            f"models must be a dict of names to fitted estimators; got {models!r:.80}. "
            "Write {'name': model, ...}."
        )
    check_n_jobs("n_jobs", n_jobs)
    settings = {"progress": False} | settings | {"random_state": _seed(random_state)}
    tasks = [(name,) for name in models]
    shared, n_jobs = (dict(models), X, y, settings), without_threads(n_jobs)
    reports = on_workers(_audit_one, shared, tasks, n_jobs)
    return dict(zip(models, reports, strict=True))


def _audit_one(needed: tuple[dict[str, Any], Any, Any, dict[str, Any]], name: str) -> AuditReport:
    models, X, y, settings = needed
    return audit(models[name], X, y, n_jobs=1, **settings)
