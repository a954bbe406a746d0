"""audit: a model looked at in one call."""

from __future__ import annotations

import math
import warnings
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skfairtest import individual
from skfairtest._typing import is_real
from skfairtest._validation import make_generator, warn_of_target
from skfairtest.base import BaseAuditor, check_max_time
from skfairtest.exceptions import NoDisparityWarning, users_level
from skfairtest.group import TestSGDAuditor
from skfairtest.oracle._favourable import (
    Favourable,
    favourable_labels,
    known_classes,
    resolve_favourable,
    warn_of_guess,
)
from skfairtest.report._measure.case import Case
from skfairtest.report._measure.describe import (
    describe_domain,
    describe_favourable,
    describe_model,
    repeating_code,
    versions,
)
from skfairtest.report._measure.fits import check_beside, check_columns, check_targets
from skfairtest.report._measure.plain import plain
from skfairtest.report._measure.plan import Plan, in_words
from skfairtest.report._measure.progress import make_progress
from skfairtest.report._measure.settle import settle
from skfairtest.report._render.words import NOT_SHOWN, carries, headline
from skfairtest.report._report import SCHEMA_VERSION, AuditReport
from skfairtest.space._sensitive_features import split_sensitive


def audit(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    sensitive_features: Any = "auto",
    auditor: Any = None,
    threshold: float | None = None,
    certify: Any = "auto",
    groups: Any = "auto",
    favourable: Any = None,
    max_time: float | None = 60,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: Any = "auto",
) -> AuditReport:
    """Look at a fitted model in one call, and report what was found.

    Twins are two inputs that are identical but for the sensitive attributes. The audit compares
    the rows of `X` with their twins, searches the domain for the two twins that the model treats
    most differently, certifies how large the difference can get where the model can be read,
    compares groups, and counts favourable predictions by group. Several sensitive attributes are
    looked at each alone and all together.

    Parameters
    ----------
    estimator : estimator
        Fitted; it is audited as it stands and not fitted again.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Rows of people, and what shows which inputs exist: columns, kinds, domains.
    y : array-like of shape (n_samples,), default=None
        What is true of the rows; adds rates of errors to the selection table.
    sensitive_features : "auto", columns, Series, DataFrame, dict or array, default="auto"
        The sensitive attributes: names of columns of X, or values, one a row, beside it; a list may
        hold both. "auto" takes common names. What the model does not take, values and columns of X
        that are not in its `feature_names_in_`, is kept from it: twins are then equal by
        construction, nothing is searched, and the report says what the groups get.
    auditor : auditor or str, default=None
        Which tester searches: an unfitted auditor, whose own parameters (its `space`, its budget)
        are kept, or a name such as "surrogate". None is ``SBFTAuditor()``.
    threshold : float, default=None
        Difference of two outputs above which an input is discriminatory, in the units of the
        outputs. None: of a classifier, two different labels; of a regressor none, and the report
        shows how many rows exceed which difference.
    certify : "auto" or bool, default="auto"
        Bound the largest difference from above; "auto" and True do where the model can be read.
    groups : "auto", bool or TestSGDAuditor, default="auto"
        Search the rows of `X` for the groups that differ most from everybody else: in their share
        of favourable predictions, or in the mean prediction of a regressor. An unfitted
        `TestSGDAuditor` asks its own question beside that, in a section of its own: which groups
        does the model favour among perturbed inputs near the rows, whom nobody need be like?
    favourable : label, set of labels or float, default=None
        The predictions that people want: rates, groups and false positives are about these. None
        takes that of the group auditor given; else a class whose word says it ("approved", "good";
        or, of two, the other of "rejected", "bad"); else the last of two classes, with a warning.
        For a regressor the least output that is favourable, by which groups are compared.
    max_time : float, default=60
        Seconds for everything; None for no limit.
    n_jobs : int, default=None
        Jobs of every part.
    random_state : int, RandomState, Generator or None, default=None
        Seed. Without one a seed is drawn, and the report tells it.
    progress : "auto", bool, callback or list of callbacks, default="auto"
        "auto" shows a bar in a terminal (with rich) and a line a part elsewhere, on standard error;
        False shows nothing. Callbacks of scikit-learn are set on the auditors that search.

    Returns
    -------
    AuditReport
        What was found, also where parts failed, had no time for all of it, or the audit was
        interrupted: the status, the first lines and each part say so.

    Raises
    ------
    ValueError, TypeError
        For parameters and tables that cannot be audited, before the first query: other columns
        that the model does not take, sensitive values of another length or index than X, targets
        that are missing or no labels of the model.
    NotFittedError
        If the estimator is not fitted.

    Warns
    -----
    NoDisparityWarning
        If no part has shown a difference: the model may not see the sensitive attributes.

    See Also
    --------
    AuditReport : What is returned.
    SBFTAuditor : The search alone.

    Notes
    -----
    Parts that take less than their share of `max_time` leave the rest to those that follow. A run
    repeats exactly where no part was ended by its time; the report says what ended each. Where a
    slow model does not allow to compare all rows, a random sample of them is compared, and the
    share has an interval (Clopper and Pearson's, 95%).

    Ctrl-C ends the audit and returns the report of what was found so far.

    References
    ----------
    .. [1] Perera, A., et al. (2022). Search-based fairness testing for regression-based machine
       learning systems. Empirical Software Engineering, 27(3).
    .. [2] Zhang, M., Sun, J., Wang, J., & Sun, B. (2022). TestSGD: Interpretable testing of neural
       networks against subtle group discrimination. ACM TOSEM.

    Examples
    --------
    >>> from skfairtest import SBFTAuditor, audit
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(random_state=0)
    >>> quick = SBFTAuditor(max_queries=2000)
    >>> report = audit(
    ...     data.estimator, data.data, auditor=quick, favourable="yes", random_state=0,
    ...     progress=False,
    ... )
    >>> report.status
    'complete'
    >>> sorted(report.to_dict())[:4]
    ['carries', 'code', 'cost', 'created']
    """
    # The report says which label was taken, and how that came.
    given = {
        "y": y, "auditor": auditor, "threshold": threshold, "certify": certify, "groups": groups,
        "favourable": favourable, "max_time": max_time,
    }  # fmt: skip
    check_max_time("max_time", max_time)
    _check_choice("certify", certify)
    groups = _checked_groups(groups)
    template = make_template(auditor, threshold)
    if isinstance(estimator, type):
        raise TypeError(
            f"estimator must be a fitted instance; got the class {estimator.__name__}. Write "
            f"{estimator.__name__}().fit(X, y)."
        )
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    shown = make_progress(progress)
    seed = _seed(random_state)
    template.set_params(estimator=estimator)
    if isinstance(sensitive_features, str) and sensitive_features == "auto":
        sensitive_features = template.sensitive_features
    template._check_params()
    sensitive = split_sensitive(X, sensitive_features, estimator=estimator)
    beside = sensitive.beside
    # Values that are not in the table cannot be named by the code that repeats the audit.
    in_table = beside is None or set(beside) <= set(getattr(X, "columns", ()))
    X = sensitive.X
    if beside is not None:
        check_beside(beside)
    space = template._make_space_of(sensitive)
    # Without the model: copies of the template would copy it.
    template.set_params(estimator=None)
    check_columns(estimator, X, space)
    if y is not None:
        check_targets(estimator, y, len(space.data))
        warn_of_target(X, y)
    case = Case(estimator, X, y, template, space, seed, n_jobs, beside)
    case.favourable = _favourable(case, favourable, groups)
    if case.favourable is not None:
        warn_of_guess(case.favourable)
    plan = Plan(case, certify, groups, max_time, shown)
    try:
        results = plan.run()
    finally:
        shown.finish()
    given |= {"random_state": seed}
    given["sensitive_features"] = case.sensitive_names if in_table else None
    data = plain(_report(case, plan, results, given))
    _warn_of_no_disparity(case, data["searches"][-1])
    return AuditReport(data, auditors=case.auditors)


def _warn_of_no_disparity(case: Case, search: dict[str, Any]) -> None:
    """Say as an auditor does that no part has shown a difference; parts keep their warnings."""
    auditor = case.auditors.get(search["label"])
    if auditor is not None and hasattr(auditor, "stop_reason_") and search["degree"] == 0:
        warnings.warn(auditor._no_disparity(), NoDisparityWarning, stacklevel=users_level())


def _favourable(case: Case, given: Any, groups: Any) -> Favourable | None:
    """Which predictions are favourable; None where nothing is known of labels, or nobody can tell.

    Raises
    ------
    ValueError
        For a label that no class has, or two that contradict each other.
    """
    own = getattr(groups, "favourable", None)
    if given is not None and own is not None and given != own:
        raise ValueError(
            f"favourable={given!r}, and groups= has favourable={own!r}. Give one of them."
        )
    given = own if given is None else given
    if case.task == "regression":
        is_mean = isinstance(given, str) and given == "mean"
        if given is None or is_mean or (is_real(given) and math.isfinite(given)):
            return None if given is None else Favourable(given, "given", [])
        raise ValueError(
            "favourable must be a finite number for a regressor, the least output that is "
            f"favourable; got {given!r}."
        )
    classes = known_classes(case.estimator)
    if classes is None:
        return None if given is None else Favourable(favourable_labels(given), "given", [])
    if given is None and len(classes) < 2:
        return None
    found = resolve_favourable(given, classes, whose=type(case.estimator).__name__)
    # A guess among several classes is worth nothing; the parts say that they are left out.
    return None if found.how == "guessed" and len(classes) > 2 else found


def _report(
    case: Case, plan: Plan, results: dict[str, Any], given: dict[str, Any]
) -> dict[str, Any]:
    """The report as a dict, in the order in which it is read."""
    searches = [
        {
            "sensitive": names,
            "label": label,
            "taken": space is not None,
            "auditor": type(case.template).__name__,
            **results["search"][label],
            "rows": results["rows"][label],
            "bracket": results["certificate"][label],
        }
        for label, names, space in plan.searches
    ]
    settle(case, searches)
    parts = plan.course.parts
    status, reason = _status(plan)
    return {
        "schema": SCHEMA_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "status": status,
        "reason": reason,
        "sentence": headline(
            searches, plain(results["selection"]), case.template.threshold, case.seed
        ),
        "model": describe_model(case),
        "data": {
            "n_rows": len(case.space.data),
            "n_columns": len(case.space.layout.container.names),
            "target_given": case.y is not None,
        },
        "domain": describe_domain(case),
        "sensitive_features": [in_words(name) for name in case.sensitive_names],
        "threshold": case.template.threshold,
        "favourable": describe_favourable(case, results["selection"]["favourable"]),
        "searches": searches,
        "carries": carries(searches),
        "groups": results["groups"],
        "perturbed_groups": results["perturbed_groups"],
        "selection": results["selection"],
        "errors": results["errors"],
        "parts": parts,
        "cost": {
            "queries": sum(part["queries"] for part in parts),
            "seconds": plan.course.seconds,
            "max_time": given["max_time"],
        },
        "seed": case.seed,
        "settings": {
            "auditor": repr(case.template),
            "certify": repr(given["certify"]),
            "groups": repr(given["groups"]),
            "n_jobs": case.n_jobs,
        },
        "versions": versions(),
        "code": repeating_code(case.template, given),
        "not_shown": NOT_SHOWN,
    }


def _status(plan: Plan) -> tuple[str, str]:
    """Whether the audit is complete, and why not."""
    if plan.course.interrupted:
        return "interrupted", "interrupted by the user"
    for part in plan.course.parts:
        if part["status"] == "failed":
            return "failed", f"{part['part']}: {part['reason']}"
    if plan.course.early:
        return "ended early", "; ".join(map(": ".join, plan.course.early.items()))
    return "complete", ""


def make_template(auditor: Any, threshold: float | None) -> BaseAuditor:
    """The auditor that searches, unfitted and the audit's own."""
    known = auditor_names()
    if auditor is None:
        auditor = known["sbft"]()
    elif isinstance(auditor, str):
        name = auditor.lower().removesuffix("auditor")
        if name not in known:
            raise ValueError(
                f"auditor must be one of {sorted(known)}, or an auditor; got {auditor!r}."
            )
        auditor = known[name]()
    if not isinstance(auditor, BaseAuditor):
        raise TypeError(
            f"auditor must be None, a name, or an auditor such as SBFTAuditor(); got {auditor!r}. "
            "A group auditor goes into groups=."
        )
    # The model is set beside; a clone of a fitted one would be of no use.
    template = clone(
        auditor.set_params(estimator=None) if auditor.estimator is None else _bare(auditor)
    )
    if threshold is not None:
        template.set_params(threshold=threshold)
    return template


def _bare(auditor: BaseAuditor) -> BaseAuditor:
    """An auditor of the same parameters without its estimator."""
    params = auditor.get_params(deep=False)
    return type(auditor)(**{**params, "estimator": None})


def auditor_names() -> dict[str, Any]:
    """The testers of individual discrimination by their short names."""
    names = [name for name in individual.__all__ if name.endswith("Auditor")]
    return {name.removesuffix("Auditor").lower(): getattr(individual, name) for name in names}


def _checked_groups(given: Any) -> Any:
    """What is asked about groups; an auditor as an unfitted one of the audit's own."""
    if hasattr(given, "get_params"):
        if not isinstance(given, TestSGDAuditor):
            raise TypeError(
                "groups must be 'auto', True, False or a TestSGDAuditor, which adds groups of "
                f"perturbed inputs; got {type(given).__name__}."
            )
        return clone(given)
    _check_choice("groups", given)
    return given


def _check_choice(name: str, value: Any) -> None:
    if not (isinstance(value, bool) or (isinstance(value, str) and value == "auto")):
        raise ValueError(f"{name} must be 'auto', True or False; got {value!r}.")


def _seed(random_state: Any) -> int:
    """The seed itself, or one drawn, so that the report can tell it."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return int(random_state)
    return int(make_generator(random_state).integers(2**31 - 1))
