"""Certificates of random models hold against full enumeration by code that shares nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from checker import check_found, naive_disparities, rows_of
from enumeration import enumerate_degree
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_cases import FLAT, TREES, certificate_cases
from sklearn.ensemble import RandomForestRegressor, VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from tiers import slow_sample

import skfairtest as sf

pytestmark = pytest.mark.filterwarnings("ignore")

common = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)
sample = settings(common, derandomize=True)
RTOL = 1e-9


def certified(question, model, **params):
    auditor = sf.CertifiedAuditor(
        model,
        sensitive_features=question.sensitive,
        response_method=question.response_method,
        space=sf.InputSpace(bounds=question.bounds),
        **{"max_time": 2.0, "random_state": 0, "rtol": RTOL, **params},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return auditor.fit(question.table)


def refused(question):
    """Settings of the hunt that leave no twins to compare."""
    narrow = [question.domains[name] for name in question.sensitive]
    return any(not d.is_real and len(d.listed()) < 2 for d in narrow)


def check(question, model, seed, engine, max_queries=1500):
    """The bounds hold the true degree, and their gap is closed where it says so."""
    if refused(question):
        return
    auditor = certified(question, model, engine=engine, max_queries=max_queries)
    truth = enumerate_degree(question, model, np.random.default_rng(seed))
    degree, upper = auditor.fairness_degree_, auditor.fairness_degree_upper_bound_
    rounding = 1e-12 * truth.scale
    assert truth.degree <= upper + rounding, f"crossed: {truth.degree} > {upper} by {truth.pair}"
    assert auditor.gap_ == upper - degree
    assert degree <= upper
    if auditor.certified_:
        # No gap of a model of single precision is narrower than that: the auditor says so.
        excused = "which the model's single precision may do" in auditor.stop_reason_
        assert truth.single or not excused
        tolerance = 1e-4 * max(1.0, truth.scale) if excused else rounding
        assert upper - degree <= RTOL * upper + tolerance, "said to be closed, and is not"
        assert degree >= truth.degree * (1 - 2 * RTOL) - tolerance, "closed below the truth"
    if truth.complete:
        assert degree <= truth.degree * (1 + 1e-9) + rounding, "found what does not exist"
    on_data, _ = naive_disparities(question, model, inside(question))
    # Single-precision outputs have other last bits where a row stands elsewhere in a batch.
    slack = (1e-5 if truth.single else 1e-9) * truth.scale
    shown = on_data.max(initial=0.0)
    assert degree >= shown - slack, f"{degree}, and the data show {shown}"
    check_found(auditor, question, model)


def inside(question):
    """The rows of the table that lie in the domain."""
    domains = [question.domains[name] for name in question.names]
    kept = [
        all(domain.holds(value) for domain, value in zip(domains, row, strict=True))
        for row in rows_of(question.table, question.names)
    ]
    return question.table[np.array(kept)]


@slow_sample
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("pool", [TREES, FLAT], ids=["trees", "flat"])
def test_certificates_hold(pool, real, clock):
    clock.step = 0.01  # some gaps stay open

    @settings(sample, max_examples=4)
    @given(certificate_cases(pool, real), st.integers(0, 99))
    def hunt(case, seed):
        check(*case, seed, "numpy", max_queries=300)

    hunt()


@slow_sample
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("pool", [TREES, FLAT], ids=["trees", "flat"])
def test_more_certificates_hold_sample(pool, real):
    @settings(common, max_examples=15)
    @given(certificate_cases(pool, real), st.integers(0, 99))
    def hunt(case, seed):
        check(*case, seed, "auto")

    hunt()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["auto", "numpy"])
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("pool", [TREES, FLAT], ids=["trees", "flat"])
def test_thousands_of_certificates_hold(pool, real, engine):
    @settings(common, max_examples=1000)
    @given(certificate_cases(pool, real), st.integers(0, 99))
    def hunt(case, seed):
        check(*case, seed, engine)

    hunt()


# Models that are not the library's own -----------------------------------------------------


def shifted(parent, method):
    """A subclass whose output is 100 off in a narrow region that a sample does not meet."""

    def changed(self, X, *args, **kwargs):
        outputs = getattr(parent, method)(self, X, *args, **kwargs)
        values = np.asarray(X, dtype=np.float64)
        hidden = (values[:, 0] == 1) & (np.abs(values[:, 1] - 0.123456) < 1e-5)
        return np.where(hidden if outputs.ndim == 1 else hidden[:, None], outputs + 100.0, outputs)

    return type(f"Shifted{parent.__name__}", (parent,), {method: changed})


def own_attribute(model, X):
    """An instance whose predict is replaced."""
    model.predict = lambda rows: np.where(np.asarray(rows)[:, 0] == 1, 100.0, 0.0)
    return model


MODELS = {
    "forest": lambda: shifted(RandomForestRegressor, "predict")(3, random_state=0),
    "tree": lambda: shifted(DecisionTreeRegressor, "predict")(max_depth=3),
    "linear": lambda: shifted(LinearRegression, "predict")(),
    "network": lambda: shifted(MLPRegressor, "predict")(hidden_layer_sizes=(3,), max_iter=5),
    "scaler": lambda: make_pipeline(
        shifted(StandardScaler, "transform")(), DecisionTreeRegressor(max_depth=3)
    ),
    "pipeline": lambda: shifted(Pipeline, "predict")([("model", LinearRegression())]),
    "member": lambda: VotingRegressor(
        [("one", shifted(DecisionTreeRegressor, "predict")(max_depth=3))]
    ),
    "logistic": lambda: shifted(LogisticRegression, "decision_function")(),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_is_not_the_librarys_own_is_refused(name):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), rng.random(300)])
    y = X[:, 0] * (X[:, 1] > 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[name]().fit(X, y > 0 if name == "logistic" else y)
        auditor = sf.CertifiedAuditor(model, sensitive_features=[0], random_state=0)
        with pytest.raises(ValueError, match="Shifted"):
            auditor.fit(X)


def test_a_replaced_method_is_refused():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), rng.random(300)])
    model = own_attribute(DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0]), X)
    with pytest.raises(ValueError):
        sf.CertifiedAuditor(model, sensitive_features=[0], random_state=0).fit(X)
