"""audit_models: one report for each of several models, on the workers of joblib's context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skfairtest.report._audit import _seed, audit
from skfairtest.report._report import AuditReport
from skfairtest.workers._sending import Broadcast, on_workers


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
        Fitted; they are audited as they stand.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Rows of people, and what shows which inputs exist.
    y : array-like of shape (n_samples,), default=None
        What is true of the rows.
    n_jobs : int, default=None
        Models that are audited at the same time, in processes unless `joblib.parallel_config` says
        otherwise; None is 1, or what it says. The reports do not depend on it, unless time ends a
        part.
    random_state : int, RandomState, Generator or None, default=None
        Seed, the same for all models, so that they are compared on the same inputs.
    **settings : dict
        Further parameters of `audit`, such as `sensitive_features`; `max_time` is that of each
        model.

    Returns
    -------
    dict of str to AuditReport
        In the order of the models.

    Raises
    ------
    ValueError, TypeError
        For models, parameters and tables that cannot be audited.
    WorkersFailedError
        If workers are lost twice, or a model cannot be sent to them.

    See Also
    --------
    audit : One model.
    compare_auditors : Several testers on one model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression, Ridge
    >>> from skfairtest import SBFTAuditor, audit_models
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> models = {"least squares": LinearRegression().fit(X, y), "ridge": Ridge(10).fit(X, y)}
    >>> reports = audit_models(
    ...     models, X, sensitive_features=["sex"], auditor=SBFTAuditor(max_queries=2000),
    ...     groups=False, max_time=5, random_state=0,
    ... )
    >>> {name: round(report.fairness_degree, 1) for name, report in reports.items()}
    {'least squares': 22.9, 'ridge': 20.5}
    """
    if not isinstance(models, Mapping) or not models:
        raise TypeError(
            f"models must be a dict of names to fitted estimators; got {models!r:.80}. "
            "Write {'name': model, ...}."
        )
    settings = {"progress": False} | settings | {"random_state": _seed(random_state)}
    tasks = [(name,) for name in models]
    reports = on_workers(_audit_one, Broadcast((dict(models), X, y, settings)), tasks, n_jobs)
    return dict(zip(models, reports, strict=True))


def _audit_one(needed: tuple[dict[str, Any], Any, Any, dict[str, Any]], name: str) -> AuditReport:
    models, X, y, settings = needed
    return audit(models[name], X, y, n_jobs=1, **settings)
