"""audit runs all measurements of a model in one call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skfairtest import group, individual
from skfairtest._clock import Deadline
from skfairtest._parameters import check_instance, check_n_jobs
from skfairtest._progress import make_progress
from skfairtest._threads import taking_turns
from skfairtest._typing import is_real
from skfairtest._validation import check_table, make_generator, warn_of_target
from skfairtest.base import BaseAuditor, check_max_time
from skfairtest.oracle._favourable import (
    Favourable,
    favourable_labels,
    known_classes,
    resolve_favourable,
    warn_of_guess,
)
from skfairtest.report._context import AuditContext, AuditOptions
from skfairtest.report._fits import check_columns, check_not_in_model, check_targets
from skfairtest.report._limits import Limits, check_within, needed_for
from skfairtest.report._report import AuditReport, page_so_far, report_of
from skfairtest.report._run import run_tasks
from skfairtest.report.parts.moved.move import check_transports
from skfairtest.space._column_names import did_you_mean
from skfairtest.space._containers import make_container
from skfairtest.space._sensitive_features import control_columns, split_sensitive, without_control


@taking_turns()
def audit(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    sensitive_features: Any = "auto",
    control_features: Any = None,
    auditor: Any = None,
    threshold: float | None = None,
    certify: Any = "auto",
    groups: Any = "auto",
    moved: Any = True,
    favourable: Any = None,
    limits: Limits | None = None,
    report: AuditReport | None = None,
    max_time: float | None = 60,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: Any = "auto",
) -> AuditReport:
    """Audit a fitted model in one call, and report what was found.

    Twins are two inputs that are identical but for the sensitive attributes; moved twins differ in
    what goes along with these as well. The audit compares the rows of `X` with their twins of both
    kinds, searches the domain for the two twins that the model treats most
    differently, certifies an upper bound of the difference if the model is of a supported kind,
    compares groups, and counts favourable predictions by group. Several sensitive attributes are
    audited each alone and all together.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator. It is audited as it stands and not fitted again.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Rows of people. They also show which inputs exist: the columns, their kinds and their
        domains.
    y : array-like of shape (n_samples,), default=None
        True labels or targets of the rows, for error rates by group.
    sensitive_features : "auto", columns, Series, DataFrame, dict or array, default="auto"
        The sensitive attributes: names of columns of X, or values beside X, one per row; a list may
        hold both. "auto" takes the columns whose names are common protected attributes. Values
        beside X and columns that are not in the model's `feature_names_in_` are not passed to the
        model: twins in them are equal by construction, nothing is searched, and the report compares
        their groups.
    control_features : columns, Series, DataFrame, dict or array, default=None
        What people must have in common to be compared like with like, such as a department: names
        of columns of X, or values beside X, one per row. Groups are then also compared within the
        strata that these make (see `selection_table`), and the report says what is left of each
        difference there. It says, too, that you chose the strata: where a feature stands in for a
        sensitive attribute, they hide what is to be found.
    auditor : auditor or str, default=None
        The auditor that searches: an unfitted auditor, whose parameters (such as its `space` and
        its budget) are kept, or a name such as "surrogate". None takes ``SBFTAuditor()``, with 300
        queries where the model can be certified, which finds the largest difference sooner.
    threshold : float, default=None
        Difference of two outputs above which an input is discriminatory, in the units of the
        outputs. With None, an input of a classifier is discriminatory if the labels differ; a
        regressor has no threshold, and the report shows how many rows exceed which difference.
    certify : "auto" or bool, default="auto"
        Whether to compute an upper bound of the largest difference. "auto" and True do so if the
        model is of a supported kind.
    groups : "auto", bool or TestSGDAuditor, default="auto"
        Whether to search the rows of `X` for the groups that differ most from all other rows, in
        their share of favourable predictions or in the mean prediction of a regressor. An unfitted
        `TestSGDAuditor` adds a section about groups of perturbed inputs near the rows; such inputs
        need not resemble real people.
    moved : bool, "all", transport or list of transports, default=True
        Whether to move people to the other groups of each sensitive attribute with what goes along
        with it, and to count whose decision changes; also of attributes that the model does not
        take. True moves them by a `QuantileTransport` with intervals. "all" also moves up to 1,000
        people without intervals by a `SequentialTransport` and, if POT is installed, an
        `OptimalTransport`, which shows whether the maps agree and takes several times as long.
        Transports that are given have intervals; limits are about the first one.
    favourable : label, set of labels or float, default=None
        The predictions that people want, for rates, groups and false positives. None takes that of
        the given group auditor; else the class whose name says that it is favourable ("approved",
        "good") or, of two classes, the one beside a class whose name says that it is not
        ("rejected", "bad"); else the last of two classes, with a warning. For a regressor it is the
        smallest output that is favourable.
    limits : Limits, default=None
        Limits that the report is compared with. Only the parts that they need run, which takes
        seconds; without limits all parts run, and `AuditReport.with_limits` compares what was found
        with any limits.
    report : AuditReport, default=None
        An earlier report of the same model and rows, from this process. What was predicted for it
        is not asked again, and of the same settings its parts are taken over as they are.
    max_time : float, default=60
        Time limit in seconds for the whole audit. None sets no limit.
    n_jobs : int, default=None
        Number of jobs that each part of the audit uses.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the audit. None draws one. The report states the seed.
    progress : "auto", bool, callback or list of callbacks, default="auto"
        "auto" shows in a terminal and a notebook what is known so far, part by part, and how far
        the running part has come; elsewhere it writes a line per part to standard error, as True
        does everywhere. False shows nothing. Callbacks of scikit-learn are set on the auditors that
        search.

    Returns
    -------
    AuditReport
        What was found. It is returned even if parts failed or ran out of time, or the audit was
        interrupted: its status, its first lines and each part then say so.

    Raises
    ------
    ValueError, TypeError
        If a parameter or a table cannot be audited: X has columns that the model does not take,
        sensitive values have another length or index than X, or targets are missing or are not
        labels of the model. It is raised before the first query.
    NotFittedError
        If the estimator is not fitted.
    NonDeterministicModelError
        If the estimator gives a row other answers when it is asked again.

    Warns
    -----
    NoDisparityWarning
        If no part has shown a difference. The model may not use the sensitive attributes.

    See Also
    --------
    AuditReport : Holds what the audit found.
    SBFTAuditor : Runs the search alone.

    Notes
    -----
    Parts that take less than their share of `max_time` leave the rest to those that follow. A run
    can be repeated exactly if no part was ended by its time limit; the report says what ended each
    part. All rows are predicted before anything else, distinct ones once, and every rate is about
    these predictions. If a slow model leaves no time to predict or to compare all rows, a random
    sample of them is, the report says so at each figure, and the share of discriminatory rows has a
    95% interval (Clopper and Pearson's).

    Moved twins are no counterfactuals, and they are as good as their map; the report says how near
    each map comes to the other group. At most 4,000 rows are moved, a random sample, between the
    four largest groups of an attribute.

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
    >>> quick = SBFTAuditor(max_queries=500)
    >>> report = audit(
    ...     data.estimator, data.data, auditor=quick, groups=False, moved=False,
    ...     random_state=0, progress=False,
    ... )
    >>> report.status
    'complete'
    >>> sorted(report.to_dict())[:4]
    ['code', 'cost', 'created', 'data']
    """
    # The report says which label was taken, and how that came.
    given = {
        "y": y, "control_features": control_features, "auditor": auditor, "threshold": threshold,
        "certify": certify, "groups": groups, "moved": moved, "favourable": favourable,
        "limits": limits, "max_time": max_time,
    }  # fmt: skip
    check_max_time("max_time", max_time)
    deadline = Deadline.after(max_time)
    check_n_jobs("n_jobs", n_jobs)
    _check_choice("certify", certify)
    groups = _checked_groups(groups)
    check_transports(moved)
    template = make_template(auditor, threshold)
    check_instance("estimator", estimator)
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    shown = make_progress(progress)
    if report is not None and random_state is None:
        random_state = report.context.seed
    seed = _seed(random_state)
    template.set_params(estimator=estimator)
    if isinstance(sensitive_features, str) and sensitive_features == "auto":
        sensitive_features = template.sensitive_features
    template._check_params()
    X = check_table(template._with_params_alone(), X, {"y": y})
    check_within(limits, control_features)
    control, columns = control_columns(X, control_features), set(make_container(X).names)
    sensitive = split_sensitive(X, sensitive_features, estimator=estimator)
    sensitive = sensitive._replace(X=without_control(sensitive.X, control, estimator))
    not_in_model = sensitive.not_in_model
    # Values that are not in the table cannot be named by the code that repeats the audit.
    in_table = not_in_model is None or set(not_in_model) <= columns
    if control is not None:
        given["control_features"] = list(control) if set(control) <= columns else control
    X = sensitive.X
    if not_in_model is not None:
        check_not_in_model(not_in_model)
    space = template._make_space_of(sensitive)
    # Without the model: copies of the template would copy it.
    template.set_params(estimator=None)
    check_columns(estimator, X, space)
    if y is not None:
        check_targets(estimator, y, len(space.data))
        warn_of_target(X, y)
    context = AuditContext(estimator, X, y, template, space, seed, n_jobs, not_in_model, max_time)
    context.control = control
    context.options = AuditOptions(certify, groups, moved)
    context.callbacks = shown.callbacks
    context.favourable = _favourable(context, favourable, groups)
    if context.favourable is not None:
        warn_of_guess(context.favourable)
    names = context.sensitive_names if in_table else None
    context.given = given | {"random_state": seed, "sensitive_features": names}
    if report is not None:
        context.take_over(report.context)
    wanted = None if limits is None else needed_for(limits)
    shown.page = page_so_far(context, wanted)
    run_tasks(context, wanted, shown, deadline)
    made = report_of(context)
    return made if limits is None else made.with_limits(limits)


def _favourable(context: AuditContext, given: Any, groups: Any) -> Favourable | None:
    """Return which predictions are favourable, or None if that cannot be told."""
    own = getattr(groups, "favourable", None)
    if given is not None and own is not None and given != own:
        raise ValueError(
            f"favourable={given!r}, and groups= has favourable={own!r}. Give one of them."
        )
    given = own if given is None else given
    if context.task == "regression":
        is_mean = isinstance(given, str) and given == "mean"
        if given is None or is_mean or (is_real(given) and math.isfinite(given)):
            return None if given is None else Favourable(given, "given", [])
        raise ValueError(
            "favourable must be a finite number for a regressor, the smallest output that is "
            f"favourable; got {given!r}."
        )
    classes = known_classes(context.estimator)
    if classes is None:
        return None if given is None else Favourable(favourable_labels(given), "given", [])
    if given is None and len(classes) < 2:
        return None
    found = resolve_favourable(given, classes, whose=type(context.estimator).__name__)
    # A guess among several classes is worth nothing; the parts say that they are left out.
    return None if found.how == "guessed" and len(classes) > 2 else found


def make_template(auditor: Any, threshold: float | None) -> BaseAuditor:
    """Return the auditor that searches, as an unfitted copy."""
    known = auditor_names()
    auditor = "sbft" if auditor is None else auditor
    if isinstance(auditor, str):
        name = auditor.lower().removesuffix("auditor")
        if name not in known:
            raise ValueError(
                f"auditor must be one of {sorted(known)}, or an auditor; got {auditor!r}."
                f"{did_you_mean(name, known)}"
            )
        auditor = getattr(individual, known[name])()
    if not isinstance(auditor, BaseAuditor):
        raise TypeError(
            "auditor must be None, a name, or an auditor such as SBFTAuditor(); got "
            f"{auditor!r}. Pass a group auditor as groups=."
        )
    # The model is set beside; a clone of a fitted one would be of no use.
    params = auditor.get_params(deep=False) | {"estimator": None}
    template: BaseAuditor = clone(type(auditor)(**params))
    return template if threshold is None else template.set_params(threshold=threshold)


def auditor_names() -> dict[str, str]:
    """Return the names of auditors of individual discrimination by their short names."""
    names = [name for name in individual.__all__ if name.endswith("Auditor")]
    return {name.removesuffix("Auditor").lower(): name for name in names}


def _checked_groups(given: Any) -> Any:
    if hasattr(given, "get_params"):
        if not isinstance(given, group.TestSGDAuditor):
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
    """Return the seed, or draw one, so that the report can state it."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return int(random_state)
    return int(make_generator(random_state).integers(2**31 - 1))
