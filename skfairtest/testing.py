"""Helpers for tests: assert that a model keeps to limits, and check an auditor of your own.

`assert_within` audits a model and fails if a limit is exceeded or cannot be decided.

The conformance checks are for writers of auditors, like scikit-learn's ``estimator_checks``:
`check_auditor` runs all checks on an auditor, and `auditor_checks` lists them one by one for
pytest. They check the rules that every auditor keeps: the model confirms its results, which are
unique and inside the domain; its count of queries is right; the same seed gives the same result.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone

from skfairtest.base import BaseAuditor
from skfairtest.exceptions import EstimatorFailedError, NoDisparityWarning
from skfairtest.report import AuditReport, Limits, audit

__all__ = [
    "CountingClassifier",
    "CountingRegressor",
    "assert_within",
    "auditor_checks",
    "check_auditor",
]

BUDGET = 3000


def assert_within(
    model: Any,
    X: Any,
    limits: Limits,
    *,
    sensitive_features: Any = "auto",
    y: Any = None,
    random_state: Any = 0,
    **options: Any,
) -> AuditReport:
    """Assert, in a test of yours, that a model keeps to limits.

    Parameters
    ----------
    model : estimator
        The fitted model.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Rows like those that the model is used on; they show which inputs exist.
    limits : Limits
        The limits, at least one.
    sensitive_features : "auto", columns, Series, DataFrame, dict or array, default="auto"
        The sensitive attributes; "auto" takes the columns whose names are common protected
        attributes.
    y : array-like of shape (n_samples,), default=None
        True targets of the rows.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the audit; it is fixed, as a test should repeat.
    **options
        Further parameters of `skfairtest.audit`, such as `threshold`, `auditor` or `max_time`.
        Without these, certificates, groups and moved people are left out where no limit asks for
        them.

    Returns
    -------
    AuditReport
        The report of the audit.

    Raises
    ------
    AssertionError
        If a limit is exceeded or cannot be decided, or the model failed. The message has the
        verdict, a line for each limit, and the pair that differs most.
    ValueError, TypeError
        If the limits or the tables cannot be used.

    See Also
    --------
    skfairtest.AuditReport.check : Compares a report with limits.

    Notes
    -----
    A test that passes says that the figures are within the limits, by certificates and intervals.
    With ``estimates_decide=True`` it only says that nothing above the limits was found with this
    seed in this time.

    Examples
    --------
    >>> from skfairtest import Limits
    >>> from skfairtest.datasets import make_biased_classification
    >>> from skfairtest.testing import assert_within
    >>> data = make_biased_classification(random_state=0)
    >>> limits = Limits(max_degree=0.2)
    >>> assert_within(data.estimator, data.data, limits, groups=False)
    Traceback (most recent call last):
    ...
    AssertionError: Exceeded: ...
    """
    __tracebackhide__ = True  # pytest then shows the line of the test that failed
    if not isinstance(limits, Limits):
        raise TypeError(
            f"limits must be Limits(...); got {type(limits).__name__}. Write "
            "Limits(max_degree=0.1)."
        )
    if limits == Limits(estimates_decide=limits.estimates_decide):
        raise ValueError(
            "limits has no limit, so no model could exceed it. Give one: Limits(max_degree=0.1)."
        )
    report = audit(
        model, X, y, sensitive_features=sensitive_features, random_state=random_state,
        limits=limits,
        **{"progress": False, **options},
    )  # fmt: skip
    if report.status == "interrupted":
        raise KeyboardInterrupt
    outcome = report.check(limits)
    if outcome.status != "within":
        lines = [f"{check.status}: {check.sentence}" for check in outcome.checks]
        raise AssertionError(
            "\n".join([outcome.verdict, "", *lines, "", repr(report.with_limits(limits))])
        )
    return report


class _Counting(BaseEstimator):
    """Predict known values for the rows of `make_table`, and count these rows."""

    def __init__(self, fail_after: float = np.inf, ignores: bool = False) -> None:
        self.fail_after = fail_after
        self.ignores = ignores

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Any:
        """Do nothing, as the predictions are known.

        Parameters
        ----------
        X, y : object
            Ignored.

        Returns
        -------
        self : object
            The estimator.
        """
        return self

    def _effect(self, X: Any) -> Any:
        """Return the part of the prediction that depends on the sensitive column, from 0 to 1."""
        self.n_rows_ = getattr(self, "n_rows_", 0) + len(X)
        if self.n_rows_ > self.fail_after:
            raise RuntimeError("asked too often")
        group = np.asarray(X["group"], dtype=str)
        effect = np.where(group == "b", 0.5, np.where(group == "c", 1.0, 0.0))
        near = 1 - np.abs(np.asarray(X["years"], dtype=float) - 60) / 60
        level = np.where(np.asarray(X["site"], dtype=str) == "north", 1.0, 0.6)
        return np.zeros(len(X)) if self.ignores else effect * near * level


class CountingRegressor(RegressorMixin, _Counting):
    """Regressor with known predictions that counts the rows it is given.

    Parameters
    ----------
    fail_after : float, default=inf
        Number of rows after which it raises an error.
    ignores : bool, default=False
        Whether its predictions ignore the sensitive column.

    Attributes
    ----------
    n_rows_ : int
        Number of rows that it has predicted so far.

    Examples
    --------
    >>> from skfairtest.testing import CountingRegressor, make_table
    >>> CountingRegressor().predict(make_table().head(2)).shape
    (2,)
    """

    #: True fairness degree on `make_table`.
    degree = 10.0

    def predict(self, X: Any) -> Any:
        """Return the known predictions.

        Parameters
        ----------
        X : DataFrame of shape (n, 4)
            Rows of `make_table`.

        Returns
        -------
        ndarray of shape (n,)
            Predictions.
        """
        return 10 * self._effect(X) + np.asarray(X["amount"], dtype=float)


class CountingClassifier(ClassifierMixin, _Counting):
    """Classifier with known probabilities that counts the rows it is given.

    Parameters
    ----------
    fail_after : float, default=inf
        Number of rows after which it raises an error.
    ignores : bool, default=False
        Whether its predictions ignore the sensitive column.

    Attributes
    ----------
    n_rows_ : int
        Number of rows that it has predicted so far.

    Examples
    --------
    >>> from skfairtest.testing import CountingClassifier, make_table
    >>> CountingClassifier().predict_proba(make_table().head(2)).shape
    (2, 2)
    """

    #: True fairness degree on `make_table`.
    degree = 0.6
    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X: Any) -> Any:
        """Return the known probabilities.

        Parameters
        ----------
        X : DataFrame of shape (n, 4)
            Rows of `make_table`.

        Returns
        -------
        ndarray of shape (n, 2)
            Probabilities of "no" and "yes".
        """
        yes = 0.2 + 0.6 * self._effect(X) + 0.001 * np.asarray(X["amount"], dtype=float)
        return np.column_stack([1 - yes, yes])

    def predict(self, X: Any) -> Any:
        """Return the more probable label of each row.

        Parameters
        ----------
        X : DataFrame of shape (n, 4)
            Rows of `make_table`.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def make_table(n_rows: int = 120) -> pd.DataFrame:
    """Make a small table with columns of mixed kinds for the checks; `group` is sensitive.

    Parameters
    ----------
    n_rows : int, default=120
        Number of rows, at least 4.

    Returns
    -------
    DataFrame of shape (n_rows, 4)
        A table with the columns group, years, amount and site.

    Examples
    --------
    >>> from skfairtest.testing import make_table
    >>> make_table().columns.tolist()
    ['group', 'years', 'amount', 'site']
    """
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "group": rng.choice(["a", "b", "c"], size=n_rows),
            "years": rng.integers(0, 121, size=n_rows),
            "amount": rng.uniform(0, 5, size=n_rows),
            "site": rng.choice(["north", "south"], size=n_rows),
        }
    )
    table.loc[:3, "group"] = ["a", "b", "c", "a"]
    table.loc[:3, "years"] = [0, 120, 60, 7]
    table.loc[:3, "site"] = ["north", "south", "north", "south"]
    return table


def auditor_checks(auditor: BaseAuditor) -> list[Callable[[], None]]:
    """List all checks of an auditor, each to be called without arguments.

    Parameters
    ----------
    auditor : BaseAuditor
        An auditor without estimator; the checks set it.

    Returns
    -------
    list of callable
        The checks; each raises an AssertionError if the auditor breaks a rule.

    Examples
    --------
    >>> from skfairtest import RandomAuditor
    >>> from skfairtest.testing import auditor_checks
    >>> len(auditor_checks(RandomAuditor())) > 10
    True
    """
    checks: list[Callable[[], None]] = []
    for check in _CHECKS:
        for model in (CountingRegressor(), CountingClassifier()):
            bound = partial(check, auditor, model)
            bound.__name__ = f"{check.__name__}-{type(model).__name__}"  # type: ignore[attr-defined]
            checks.append(bound)
    return checks


def check_auditor(auditor: BaseAuditor) -> None:
    """Run all checks on an auditor.

    Parameters
    ----------
    auditor : BaseAuditor
        An auditor without estimator; the checks set it.

    Raises
    ------
    AssertionError
        At the first rule that the auditor breaks.

    Examples
    --------
    >>> from skfairtest import RandomAuditor
    >>> from skfairtest.testing import check_auditor
    >>> check_auditor(RandomAuditor())  # doctest: +SKIP
    """
    for check in auditor_checks(auditor):
        check()


def _fitted(auditor: BaseAuditor, model: Any, **params: Any) -> Any:
    settings = {"sensitive_features": ["group"], "max_queries": BUDGET, "random_state": 0, **params}
    fresh = clone(auditor).set_params(estimator=clone(model), **settings)
    return fresh.fit(make_table())


def check_query_count(auditor: BaseAuditor, model: Any) -> None:
    """Check that every row counts as a query and that the budget is kept."""
    fitted = _fitted(auditor, model)
    assert fitted.n_queries_ == fitted.estimator_.n_rows_ <= BUDGET
    assert 0 < fitted.n_inputs_ <= fitted.n_queries_
    assert fitted.stop_reason_
    history = fitted.history_
    assert history["queries"].iloc[-1] == fitted.n_queries_
    assert (history.diff().dropna().to_numpy() >= 0).all()


def check_degree(auditor: BaseAuditor, model: Any) -> None:
    """Check that the degree is positive, at most the true one, and confirmed by the model."""
    fitted = _fitted(auditor, model)
    assert 0 < fitted.fairness_degree_ <= model.degree + 1e-9
    answers = _answers(model, fitted.worst_case_)
    np.testing.assert_allclose(abs(answers[0] - answers[1]), fitted.fairness_degree_, rtol=1e-9)
    np.testing.assert_allclose(answers, fitted.worst_case_outputs_, rtol=1e-9)


def _answers(model: Any, rows: Any) -> Any:
    # Of two class probabilities either may be the one that is shown; the larger comes first.
    if isinstance(model, CountingRegressor):
        return model.predict(rows)
    probabilities = model.predict_proba(rows)
    column = int(probabilities[0].argmax() if probabilities[0, 0] > probabilities[1, 0] else 1)
    return probabilities[:, column]


def check_found_inputs(auditor: BaseAuditor, model: Any) -> None:
    """Check that inputs found are unique, in the domain, confirmed by predict and sorted."""
    fitted = _fitted(auditor, model)
    inputs, twins = fitted.discriminatory_inputs_, fitted.counterfactuals_
    assert len(inputs) == len(twins) == len(fitted.disparities_) == fitted.n_found_
    assert (model.predict(inputs) != model.predict(twins)).all()
    pd.testing.assert_frame_equal(inputs.drop(columns="group"), twins.drop(columns="group"))
    assert (inputs["group"] != twins["group"]).all()
    assert not inputs.drop(columns="group").duplicated().any()
    assert (np.diff(fitted.disparities_) <= 0).all()
    table = make_table()
    pd.testing.assert_series_equal(inputs.dtypes, table.dtypes)
    for name in ("years", "amount"):
        assert inputs[name].between(table[name].min(), table[name].max()).all()
    assert 0 <= fitted.discrimination_rate_ <= 1


def check_same_seed(auditor: BaseAuditor, model: Any) -> None:
    """Check that the same seed gives the same result, bit for bit, also with two jobs."""
    one, two = _fitted(auditor, model), _fitted(auditor, model, n_jobs=2)
    assert one.fairness_degree_ == two.fairness_degree_
    assert one.n_queries_ == two.n_queries_
    np.testing.assert_array_equal(one.disparities_, two.disparities_)
    pd.testing.assert_frame_equal(one.discriminatory_inputs_, two.discriminatory_inputs_)


def check_smallest_budget(auditor: BaseAuditor, model: Any) -> None:
    """Check that small budgets are kept and end without an error."""
    for budget in (2, 3, 10, 51):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoDisparityWarning)
            fitted = _fitted(auditor, model, max_queries=budget)
        assert fitted.n_queries_ == getattr(fitted.estimator_, "n_rows_", 0) <= budget


def check_other_limits(auditor: BaseAuditor, model: Any) -> None:
    """Check that limits on discriminatory inputs and on inputs end the run."""
    found = _fitted(auditor, model, max_found=1, max_queries=100_000)
    assert found.n_found_ >= 1
    assert found.stop_kind_ == "max_found" and "max_found" in found.stop_reason_
    inputs = _fitted(auditor, model, max_inputs=25, max_queries=100_000)
    assert inputs.n_inputs_ == 25
    assert inputs.stop_kind_ == "max_inputs" and "max_inputs" in inputs.stop_reason_


def check_ignoring_model(auditor: BaseAuditor, model: Any) -> None:
    """Check that a model that ignores the sensitive column has degree 0, with a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = _fitted(auditor, clone(model).set_params(ignores=True))
    assert fitted.fairness_degree_ == 0
    assert fitted.n_found_ == 0
    assert fitted.worst_case_ is None
    assert any(issubclass(w.category, NoDisparityWarning) for w in caught)


def check_failing_model(auditor: BaseAuditor, model: Any) -> None:
    """Check that a failing model's error is chained and the results so far are kept."""
    failing = clone(model).set_params(fail_after=BUDGET // 20)
    settings = {"sensitive_features": ["group"], "max_queries": BUDGET, "random_state": 0}
    broken = clone(auditor).set_params(estimator=failing, **settings)
    try:
        broken.fit(make_table())
    except EstimatorFailedError as error:
        assert isinstance(error.__cause__, RuntimeError)
    else:
        raise AssertionError("the model's failure was swallowed")
    assert broken.stop_kind_ == "failed" and broken.stop_reason_.startswith("failed")
    assert broken.history_ is not None
    assert broken.fairness_degree_ >= 0


def check_pickle(auditor: BaseAuditor, model: Any) -> None:
    """Check that a fitted auditor keeps its results when it is pickled."""
    fitted = _fitted(auditor, model)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.fairness_degree_ == fitted.fairness_degree_
    pd.testing.assert_frame_equal(again.worst_case_, fitted.worst_case_)
    assert again.on_data_degree_ == fitted.on_data_degree_


def check_clone_is_fitted(auditor: BaseAuditor, model: Any) -> None:
    """Check that with targets a clone is fitted, and the given estimator is not changed."""
    given = clone(model)
    settings = {"sensitive_features": ["group"], "max_queries": 200, "random_state": 0}
    fresh = clone(auditor).set_params(estimator=given, **settings)
    table = make_table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoDisparityWarning)
        fresh.fit(table, np.zeros(len(table)))
    assert fresh.estimator_ is not given
    assert not hasattr(given, "n_rows_")


_CHECKS = [
    check_query_count,
    check_degree,
    check_found_inputs,
    check_same_seed,
    check_smallest_budget,
    check_other_limits,
    check_ignoring_model,
    check_failing_model,
    check_pickle,
    check_clone_is_fitted,
]
