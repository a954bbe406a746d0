"""Certified bounds hold: against exhaustive search where it can be done, and against every find."""

import itertools
import warnings

import numpy as np
import pytest
from exact_cases import make_case
from hypothesis import given, settings
from hypothesis import strategies as st

from skfairtest import CertifiedAuditor, RandomAuditor, SBFTAuditor, certify
from skfairtest._oracle import Oracle, StopSearch

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")


def certified(model, X, sensitive, seed=0, **params):
    settings = {"max_queries": 300, "max_time": 5.0, "random_state": seed, **params}
    return CertifiedAuditor(model, sensitive_features=sensitive, **settings).fit(X)


def exhaustive_degree(auditor):
    """Largest disparity over all inputs of a finite space, by the estimator's own answers."""
    space = auditor.space_
    grids = [space.columns[j].grid() for j in space.free]
    free = np.array(list(itertools.product(*grids)))
    Z = np.zeros((len(free), space.n_features))
    Z[:, space.free] = free
    oracle = Oracle(auditor.estimator_, space, **auditor._oracle_settings())
    oracle.begin(Z[:8])
    try:
        oracle.disparity(Z)
    except StopSearch:
        pass  # every input was judged
    assert oracle.n_inputs == len(Z)
    return oracle.degree


def understood(seed, family, real):
    """A case whose model is certified; some settings are refused on purpose."""
    model, X, sensitive = make_case(seed, family=family, real=real)
    last = model[-1] if hasattr(model, "steps") else model
    several = len(getattr(last, "classes_", ())) > 2
    if type(last).__name__ == "SGDClassifier" and several:
        return None
    return model, X, sensitive


def check_exhaustive(seed, family, engine):
    case = understood(seed, family, real=False)
    if case is None:
        return 0
    auditor = certified(*case, seed, engine=engine)
    degree = exhaustive_degree(auditor)
    assert degree <= auditor.fairness_degree_upper_bound_
    assert auditor.certified_, auditor.stop_reason_
    np.testing.assert_allclose(auditor.fairness_degree_, degree, rtol=1e-9, atol=1e-12)
    return 1


def check_not_crossed(seed, family, engine="auto", queries=1000):
    case = understood(seed, family, real=True)
    if case is None:
        return
    model, X, sensitive = case
    auditor = certified(model, X, sensitive, seed, engine=engine, max_time=1.0)
    upper = auditor.fairness_degree_upper_bound_
    assert auditor.fairness_degree_ <= upper
    for tester in (RandomAuditor, SBFTAuditor):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = tester(
                model, sensitive_features=sensitive, max_queries=queries, random_state=seed
            ).fit(X)
        assert found.fairness_degree_ <= upper, (seed, type(model), found.worst_case_)


@pytest.mark.parametrize("family", ["trees", "flat"])
def test_certified_degree_is_the_exhaustive_maximum_sample(family):
    checked = sum(check_exhaustive(seed, family, "auto") for seed in range(5000, 5020))
    assert checked >= 15


def test_numpy_path_gives_the_exhaustive_maximum_too():
    for seed in range(5100, 5110):
        check_exhaustive(seed, "trees", "numpy")


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), family=st.sampled_from(["trees", "flat"]))
def test_no_find_crosses_the_bracket_sample(seed, family):
    check_not_crossed(seed, family)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["trees", "flat"])
@pytest.mark.parametrize("engine", ["auto", "numpy"])
def test_hundreds_of_models_are_certified_exhaustively(family, engine):
    if family == "flat" and engine == "numpy":
        pytest.skip("linear models and networks have one path")
    assert sum(check_exhaustive(seed, family, engine) for seed in range(400)) >= 300


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 10_000, 500))
def test_ten_thousand_cases_without_a_crossed_bracket(start):
    for seed in range(start, start + 500):
        check_not_crossed(seed, "trees" if seed % 4 else "flat", queries=300)


def test_two_engines_agree_on_real_columns():
    for seed in range(6000, 6005):
        model, X, sensitive = make_case(seed, family="trees", real=True)
        one = certified(model, X, sensitive, engine="auto")
        two = certified(model, X, sensitive, engine="numpy")
        assert one.certified_
        assert two.certified_
        np.testing.assert_allclose(one.fairness_degree_, two.fairness_degree_, rtol=1e-9)


def test_certify_brackets_what_an_auditor_found():
    model, X, sensitive = make_case(6101, family="trees", real=True)
    found = RandomAuditor(model, sensitive_features=sensitive, max_queries=200, random_state=0)
    certificate = certify(found.fit(X))
    assert certificate.certified
    assert certificate.fairness_degree >= found.fairness_degree_
    assert certificate.found_share == pytest.approx(
        found.fairness_degree_ / certificate.fairness_degree_upper_bound
    )
    again = certified(model, X, sensitive)
    assert certificate.fairness_degree == pytest.approx(again.fairness_degree_, rel=1e-9)
