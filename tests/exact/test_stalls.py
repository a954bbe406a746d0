"""A search whose bounds hardly move any more ends, and one that goes on tells how far it is."""

import re

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.neural_network import MLPRegressor

from skfairtest import RandomAuditor, certify
from skfairtest._progress import listening
from skfairtest.exact._certify import bound
from skfairtest.exact._trees.tree_search import TreeSearchSettings
from skfairtest.exact._trees.verifier import TreeVerifier
from skfairtest.exact._verifier import Stall
from skfairtest.whitebox.registry import Readings


def ends_at(upper, lower=0.4, least=4_000):
    """Boxes after which a search with these bounds stalls; None if never."""
    stall = Stall(least)
    each = range(100, 1_000_000, 100)
    return next((n for n in each if stall.is_over(lower, upper(np.log2(n / 100)), n)), None)


def test_a_search_stalls_where_its_boxes_doubled_and_its_bound_stayed():
    assert ends_at(lambda doublings: 0.8) == pytest.approx(4_000, rel=0.3)
    assert ends_at(lambda doublings: 0.8, least=100_000) == pytest.approx(100_000, rel=0.3)


def test_no_search_stalls_while_its_bound_falls_or_its_gap_closes():
    assert ends_at(lambda doublings: 0.8 - 0.01 * doublings) is None
    assert ends_at(lambda doublings: 0.4 + 0.002 * 0.8**doublings) is None


@pytest.fixture(scope="module", params=["trees", "network"])
def auditor(request):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), rng.normal(size=(300, 5))])
    y = X[:, 0] * (X[:, 1] > 0) + X[:, 2] * X[:, 3] + 0.5 * rng.normal(size=300)
    model = RandomForestRegressor(10, max_depth=6, random_state=0)
    if request.param == "network":
        model = MLPRegressor(hidden_layer_sizes=(8, 8), max_iter=20, random_state=0)
    return RandomAuditor(
        model.fit(X, y), sensitive_features=[0], max_queries=60, random_state=0
    ).fit(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_only_the_search_of_an_audit_stalls_and_says_so(auditor, monkeypatch, clock):
    after = []

    def is_over(self, lower, upper, n_boxes):
        after.append(n_boxes)
        return n_boxes >= 10

    monkeypatch.setattr(Stall, "is_over", is_over)
    # While a compiled search may take over, the one by NumPy goes on.
    monkeypatch.setattr(TreeVerifier, "settings", TreeSearchSettings(numpy_seconds=0.0))
    monkeypatch.setattr("skfairtest.exact._trees.stored_code.is_compiled", lambda: False)
    stalled = bound(auditor, Readings(), max_time=60.0)
    assert "hardly narrowed" in stalled.stop_reason and not stalled.certified
    # It is the number of boxes that ends the search.
    assert after[-1] == max(after) and after[-1] >= 10
    after.clear()
    closer = certify(auditor, max_time=None, rtol=0.5)
    assert not after and closer.certified
    assert stalled.fairness_degree_upper_bound >= closer.fairness_degree


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_search_tells_both_bounds_a_few_times_a_second(auditor, clock):
    told = []
    with listening(lambda share, words: told.append((clock.now(), share, words))):
        bound(auditor, Readings(), max_time=None, rtol=0.5)
    at, shares, words = zip(*told, strict=True)
    assert np.diff(at).min(initial=1.0) >= 0.25 and set(shares) == {None}
    assert all(re.fullmatch(r"between [\d.]+ and [\d.]+", said) for said in words)
