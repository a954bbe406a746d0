"""Certified bounds hold: against exhaustive search where it can be done, and any other search."""

import itertools
import warnings

import numpy as np
import pytest
from clocks import CLOCK
from exact_cases import make_case
from hypothesis import given, settings
from hypothesis import strategies as st
from searches import get_to_know, handle_of
from sklearn.ensemble import RandomForestRegressor
from tiers import SAMPLE, slow_sample
from verifiers import tree_verifier

from skfairtest import CertifiedAuditor, RandomAuditor, SBFTAuditor, certify
from skfairtest.exact._auditor import COMPILED
from skfairtest.exact._dispatch import read_verifier
from skfairtest.exact._trees import numpy_engine
from skfairtest.exact._trees.numpy_engine import first_undecided, list_pairs
from skfairtest.exact._trees.problem import leaves_of
from skfairtest.exact._trees.self_composition import CellBox
from skfairtest.exact._trees.tree_search import TreeSearchSettings
from skfairtest.exact._trees.verifier import TreeVerifier
from skfairtest.exact._verifier import SolverLimits
from skfairtest.oracle._stop import StopSearch
from skfairtest.space._space import InputSpace

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")


def certified(model, X, sensitive, seed=0, **params):
    settings = {"max_queries": 300, "max_time": 60.0, "random_state": seed, **params}
    return CertifiedAuditor(model, sensitive_features=sensitive, **settings).fit(X)


def exhaustive_degree(auditor):
    """Largest disparity over all inputs of a finite space, by the estimator's own answers."""
    space = auditor.space_
    grids = [space.domain.columns[j].grid() for j in space.non_sensitive]
    free = np.array(list(itertools.product(*grids)))
    Z = np.zeros((len(free), space.n_features))
    Z[:, space.non_sensitive] = free
    search = handle_of(auditor.estimator_, space, **auditor._response_settings())
    get_to_know(search, Z[:8], np.random.default_rng(0))
    try:
        search.evaluate(Z)
    except StopSearch:
        pass  # every input was judged
    assert search.so_far.inputs == len(Z)
    return search.so_far.degree


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


def bound_alone(auditor, engine):
    """The bound as the search for it ends, which an auditor raises to whatever it found."""
    rng = np.random.default_rng(0)
    verifier, _ = read_verifier(
        auditor.estimator_, auditor.space_, auditor.response_, COMPILED[engine], rng
    )
    result = verifier.solve(0.0, SolverLimits(CLOCK.now() + 1.0, 1e-9))
    return min(result.upper, verifier.root_bound()) + 2 * verifier.rounding


def check_not_crossed(seed, family, engine="auto", queries=1000):
    case = understood(seed, family, real=True)
    if case is None:
        return
    model, X, sensitive = case
    auditor = certified(model, X, sensitive, seed, engine=engine, max_time=1.0)
    upper = bound_alone(auditor, engine)
    assert auditor.fairness_degree_ <= upper, (seed, type(model), auditor.worst_case_)
    for tester in (RandomAuditor, SBFTAuditor):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = tester(
                model, sensitive_features=sensitive, max_queries=queries, random_state=seed
            ).fit(X)
        assert found.fairness_degree_ <= upper, (seed, type(model), found.worst_case_)


@pytest.mark.parametrize("n", [1, pytest.param(20, marks=SAMPLE)])
@pytest.mark.parametrize("family", ["trees", "flat"])
def test_certified_degree_is_the_exhaustive_maximum_sample(family, n):
    engine = "auto"
    if family == "trees":
        pytest.importorskip("numba")
        engine = "numba"
    checked = sum(check_exhaustive(seed, family, engine) for seed in range(5000, 5000 + n))
    assert checked >= 0.75 * n


@slow_sample
@pytest.mark.parametrize("n", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_numpy_path_gives_the_exhaustive_maximum_too(n):
    for seed in range(5100, 5100 + n):
        check_exhaustive(seed, "trees", "numpy")


@pytest.mark.parametrize("n", [1, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("most_listed", [200_000_000, 100])
def test_lists_that_are_coarse_at_first_give_the_exhaustive_maximum(monkeypatch, most_listed, n):
    # One pair for a box, so four for every tree.
    few = TreeSearchSettings(box_bytes=8 * most_listed, domain_pairs=10, box_pairs=1)
    monkeypatch.setattr(TreeVerifier, "settings", few)
    seeds = range(5200, 5200 + n)
    assert sum(check_exhaustive(seed, "trees", "numpy") for seed in seeds) * 6 >= 5 * n


def test_pairs_beyond_the_limit_are_listed_coarsely_and_never_too_low():
    X = np.random.default_rng(0).normal(size=(600, 4))
    X[:, 0] = X[:, 0] > 0
    model = RandomForestRegressor(10, random_state=0).fit(X, X[:, 1] * X[:, 0] + X[:, 2])
    problem = tree_verifier(model, InputSpace().fit(X, [0]), "regression", False).problems[0]
    lowest, whole = np.full(10, -np.inf), problem.layout.whole
    every = list_pairs(problem.forest, whole, lowest, 10**9)
    coarse = list_pairs(problem.forest, whole, lowest, 500)
    assert not every.coarse.any()
    assert len(every.one) > 5000
    assert coarse.coarse.any()
    assert len(coarse.one) <= 1000
    first = every.difference[every.start[:-1]]
    assert (coarse.difference[coarse.start[:-1]] >= first).all()


@pytest.mark.parametrize(
    "seed", [5300, 5301, *(pytest.param(k, marks=pytest.mark.slow) for k in range(5302, 5310))]
)
def test_leaves_at_a_point_are_those_that_the_model_answers_with(seed):
    model, X, sensitive = make_case(seed, family="trees", real=True)
    response = "predict_proba" if hasattr(model, "predict_proba") else "regression"
    verifier = tree_verifier(model, InputSpace().fit(X, sensitive), response, False)
    rng = np.random.default_rng(seed)
    for o, problem in enumerate(verifier.problems):
        layout, search = problem.layout, numpy_engine.ListSearch(problem, 0.0)
        for _ in range(20):
            whole = layout.whole
            low = rng.integers(0, whole.high).astype(np.int32)
            words = np.zeros_like(whole.words)
            for start, size in zip(layout.word_start, layout.set_sizes(), strict=False):
                cell = int(rng.integers(size))
                words[start + cell // 64] = np.uint64(1) << np.uint64(cell % 64)
            point = CellBox(low, low + 1, words)
            leaves = leaves_of(problem.forest, layout.first_cells(point))
            found, bound = search._value(*problem.forest.low[leaves])
            answers = verifier.evaluate(np.stack(layout.encoded(point)))[:, o]
            assert found == pytest.approx(answers[0] - answers[1], abs=1e-9)
            assert bound >= found
            for tree in range(len(leaves[0])):
                assert first_undecided(problem.forest, point, tree) is None
                cut = first_undecided(problem.forest, whole, tree)
                if cut is not None and cut.is_ordered:
                    assert 0 < cut.cell < whole.high[cut.place]


@slow_sample
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), family=st.sampled_from(["trees", "flat"]))
def test_no_find_exceeds_the_bound_sample(seed, family):
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
def test_ten_thousand_cases_within_their_bounds(start):
    for seed in range(start, start + 500):
        check_not_crossed(seed, "trees" if seed % 4 else "flat", queries=300)


@slow_sample
@pytest.mark.parametrize("n", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_two_engines_agree_on_real_columns(n):
    pytest.importorskip("numba")
    for seed in range(6000, 6000 + n):
        model, X, sensitive = make_case(seed, family="trees", real=True)
        one = certified(model, X, sensitive, engine="numba")
        two = certified(model, X, sensitive, engine="numpy")
        assert one.certified_
        assert two.certified_
        np.testing.assert_allclose(one.fairness_degree_, two.fairness_degree_, rtol=1e-9)


@slow_sample
def test_certify_bounds_what_an_auditor_found():
    model, X, sensitive = make_case(6101, family="trees", real=True)
    found = RandomAuditor(model, sensitive_features=sensitive, max_queries=200, random_state=0)
    certificate = certify(found.fit(X), engine="numpy")
    assert certificate.certified
    assert certificate.fairness_degree >= found.fairness_degree_
    assert certificate.found_share == pytest.approx(
        found.fairness_degree_ / certificate.fairness_degree_upper_bound
    )
    again = certified(model, X, sensitive, engine="numpy")
    assert certificate.fairness_degree == pytest.approx(again.fairness_degree_, rel=1e-9)
