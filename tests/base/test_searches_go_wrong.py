"""Searches that write where they must not, models that change, and last steps that fail."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.linear_model import LinearRegression, LogisticRegression

import skfairtest
from skfairtest import RandomAuditor, SBFTAuditor, audit, audit_models, certify
from skfairtest.base import BaseAuditor
from skfairtest.exceptions import NonDeterministicModelError

AUDITORS = [
    getattr(skfairtest, name)
    for name in sorted(skfairtest.__all__)
    if name.endswith("Auditor") and name != "BaseAuditor"
]


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.integers(0, 2, 80), "size": rng.integers(18, 60, 80)})
    return X, X["size"] + 5.0 * X["sex"]


# Searches that write -----------------------------------------------------------------------------


class Writes(BaseAuditor):
    """Keeps on itself how many batches it has judged."""

    def _run_search(self, search, rng):
        search.evaluate(search.sample(10, rng).rows)
        self.n_batches_ = 1


@pytest.mark.parametrize("n_restarts", [1, 2])
@pytest.mark.parametrize("backend", ["sequential", "threading"])
def test_a_search_that_writes_on_the_auditor_is_told_where_results_go(people, n_restarts, backend):
    X, y = people
    auditor = Writes(LinearRegression().fit(X, y), n_restarts=n_restarts, random_state=0)
    with (
        parallel_config(backend, n_jobs=2),
        pytest.raises(AttributeError, match=r"'n_batches_'.*search\.measured\['n_batches_'\]"),
    ):
        auditor.fit(X)
    assert auditor.fairness_degree_ == pytest.approx(5)  # what was found before is kept
    assert not hasattr(auditor, "n_batches_")
    auditor.set_params(max_queries=100)  # users may write on it


@pytest.mark.slow
def test_a_search_that_writes_in_another_process_is_told_too(people):
    X, y = people
    auditor = Writes(LinearRegression().fit(X, y), n_restarts=2, n_jobs=2, random_state=0)
    with pytest.raises(AttributeError, match="must not write on the auditor"):
        auditor.fit(X)


# Models that change ------------------------------------------------------------------------------


def read_rows(auditor, X):
    return auditor.on_data_degree_


def compare_rows(auditor, X):
    return auditor.audit_rows(X)


def compare_chunks(auditor, X):
    return auditor.audit_rows(iter([X]))


def bound(auditor, X):
    return certify(auditor, max_time=5)


@pytest.mark.parametrize("step", [read_rows, compare_rows, compare_chunks, bound])
@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression])
def test_a_model_that_is_fitted_again_between_two_steps_is_found(people, step, kind):
    X, y = people
    if kind is LogisticRegression:
        y = y > 40
    model = kind().fit(X, y)
    auditor = SBFTAuditor(model, max_queries=200, random_state=0).fit(X)
    step(auditor, X)
    auditor.fit(X)
    model.fit(X, np.roll(y, 1))
    with pytest.raises(NonDeterministicModelError, match="fitted again or changed.*Fit the audit"):
        step(auditor, X)
    step(auditor.fit(X), X)


def test_a_model_with_other_outputs_and_the_same_difference_is_found(people):
    X, y = people
    model = LinearRegression().fit(X, y)
    auditor = RandomAuditor(model, max_queries=100, random_state=0).fit(X)
    model.intercept_ += 1
    with pytest.raises(NonDeterministicModelError, match="outputs that the auditor found"):
        auditor.audit_rows(X)


# Last steps that fail ----------------------------------------------------------------------------


class FailsInTheEnd(RandomAuditor):
    """Cannot make its own results."""

    def _own_results(self, found, space):
        raise RuntimeError("in the last step")


def test_what_was_found_outlives_a_last_step_that_fails(people):
    X, y = people
    auditor = FailsInTheEnd(LinearRegression().fit(X, y), max_queries=100, random_state=0)
    with pytest.raises(RuntimeError, match="in the last step"):
        auditor.fit(X)
    assert auditor.fairness_degree_ == pytest.approx(5)
    assert len(auditor.discriminatory_inputs_) == auditor.n_found_ > 0
    assert auditor.stop_kind_ == "exhausted"


# Parameters that were looked at too late ---------------------------------------------------------


@pytest.mark.parametrize("auditor", AUDITORS)
@pytest.mark.parametrize(
    "wrong",
    [{"n_jobs": 0}, {"n_jobs": "two"}, {"n_jobs": 1.5}, {"verbose": "yes"}, {"verbose": -3}],
)
def test_jobs_and_verbosity_are_checked_before_the_first_query(people, auditor, wrong, models):
    X, _ = people
    model, (name,) = models.Regressor(lambda X: X[:, 0]), wrong
    if name not in inspect.signature(auditor).parameters:
        pytest.skip(f"it has no {name}")
    with pytest.raises(ValueError, match=rf"^{name} must be .*; got {wrong[name]!r}"):
        auditor(model, **wrong).fit(X)
    assert not model.rows


@pytest.mark.parametrize("n_jobs", [0, "two"])
def test_jobs_of_an_audit_are_checked_before_the_first_query(people, n_jobs, models):
    X, _ = people
    model = models.Regressor(lambda X: X[:, 0])
    with pytest.raises(ValueError, match=r"^n_jobs must be None or a whole number other than 0"):
        audit(model, X, sensitive_features="sex", n_jobs=n_jobs)
    with pytest.raises(ValueError, match=r"^n_jobs must be None or a whole number other than 0"):
        audit_models({"one": model}, X, sensitive_features="sex", n_jobs=n_jobs)
    assert not model.rows
