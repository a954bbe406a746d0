"""max_time holds for everything that a certified audit does, whatever one step of it costs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from tiers import slow_sample, some
from verifiers import tree_verifier

from skfairtest import CertifiedAuditor, InputSpace, RandomAuditor, certify
from skfairtest.exact._trees.covering_rows import _Cover
from skfairtest.exact._trees.verifier import TreeVerifier
from skfairtest.exact._verifier import Pace, SolverLimits
from skfairtest.oracle._model import Model
from skfairtest.whitebox._features import Features


def table(n=400):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, n), rng.normal(size=(n, 5))])
    y = X[:, 0] * (X[:, 1] > 0) + X[:, 2] * X[:, 3] + 0.5 * rng.normal(size=n)
    return X, y


@pytest.fixture
def costly(monkeypatch, clock):
    """Lets time pass in the steps that large models take long for; by seconds for a row."""

    def make(row=0.0, asked=0.0, batch=0.0):
        def sleeping(kind, name, seconds):
            before = getattr(kind, name)

            def slow(self, *args, **params):
                clock.sleep(seconds(*args))
                return before(self, *args, **params)

            monkeypatch.setattr(kind, name, slow)

        sleeping(TreeVerifier, "evaluate", lambda Z: row * len(Z))
        sleeping(Model, "ask", lambda Z: asked * len(Z))
        sleeping(_Cover, "_joined", lambda *args: batch)

    return make


@pytest.mark.parametrize(
    "costs",
    [{"row": 2e-3}, {"asked": 2e-3}, {"batch": 0.5}, {"row": 5e-4, "asked": 5e-4, "batch": 0.2}],
    ids=["evaluating", "asking", "covering", "all"],
)
def test_checks_and_rows_of_data_keep_the_time(costs, costly, seconds=5.0):
    X, y = table(1_500)
    model = RandomForestRegressor(4, max_depth=8, random_state=0).fit(X, y)
    found = RandomAuditor(model, sensitive_features=[0], max_queries=60, random_state=0).fit(X)
    costly(**costs)
    auditor = CertifiedAuditor(
        model, sensitive_features=[0], max_time=seconds, max_queries=None, engine="numpy",
        random_state=0,
    ).fit(X)  # fmt: skip
    assert auditor.seconds_ <= max(seconds + 1, 1.1 * seconds)
    assert auditor.n_check_queries_ >= 256
    assert auditor.fairness_degree_upper_bound_ >= auditor.fairness_degree_ > 0
    certificate = certify(found, max_time=seconds, engine="numpy")
    assert certificate.seconds <= max(seconds + 1, 1.1 * seconds)


@slow_sample
def test_all_is_compared_if_there_is_time(costly):
    X, y = table()
    model = RandomForestRegressor(8, random_state=0).fit(X, y)
    settings = {"sensitive_features": [0], "max_queries": 100, "engine": "numpy", "random_state": 0}
    checked = [
        CertifiedAuditor(model, max_time=seconds, **settings).fit(X).n_check_queries_
        for seconds in (1000.0, None)
    ]
    assert checked[0] == checked[1] > 256
    costly(row=2e-3)
    few = CertifiedAuditor(model, max_time=2.0, **settings).fit(X).n_check_queries_
    assert 256 <= few < checked[0]


def test_batches_double_while_there_is_time(clock):
    clock.step = 0.0
    pace = Pace(10, 70, 100.0 + clock.now())
    sizes = []
    while pace.size:
        sizes.append(pace.size)
        clock.sleep(0.5 * pace.size)
        pace.done(pace.size)
    assert sizes[:4] == [10, 20, 40, 70]
    assert sum(sizes) == pytest.approx(200, abs=2)  # at half a second each, and none is too many
    assert sum(sizes) <= 200
    assert Pace(10, 70, clock.now()).size == 0
    endless = Pace(10, 70, np.inf)
    endless.done(10)
    assert endless.size == 20


def test_time_that_an_output_leaves_goes_to_the_others(clock):
    """The third class cannot differ by more than is known: the others get its time."""
    X, y = load_wine(return_X_y=True)
    X[:, 0] = X[:, 0] > 13
    model = HistGradientBoostingClassifier(max_iter=60, max_depth=3, random_state=0).fit(X, y)
    verifier = tree_verifier(model, InputSpace().fit(X, [0]), "predict_proba", False)
    incumbent = 0.7
    assert sorted(problem.root_bound() > incumbent for problem in verifier.problems) == [
        False,
        True,
        True,
    ]
    clock.step = 0.02
    results = []
    for seconds in (5.0, 10.0):
        deadline = clock.now() + seconds
        results.append(verifier.solve(incumbent, SolverLimits(deadline, 1e-9)))
        assert results[-1].reason == "time" and clock.now() >= deadline
    assert incumbent < results[1].upper <= results[0].upper < verifier.root_bound()
    assert results[1].n_boxes > 1.8 * results[0].n_boxes


@pytest.mark.parametrize("model", some([Ridge(), LogisticRegression(), PoissonRegressor()], 1))
def test_peaks_behind_splines_are_looked_for_while_there_is_time(model, monkeypatch, clock):
    """Each question to the steps takes a second; without time there are few."""
    X, y = table()
    X = X[:, :3]
    model = make_pipeline(SplineTransformer(5), model)
    model.fit(X, y > 0 if isinstance(model[-1], LogisticRegression) else y - y.min())
    found = RandomAuditor(model, sensitive_features=[1], max_queries=60, random_state=0).fit(X)
    free = certify(found, max_time=None)
    evaluate, asked = Features.evaluate, []

    def slow(self, *args):
        clock.sleep(1.0)
        asked.append(args)
        return evaluate(self, *args)

    monkeypatch.setattr(Features, "evaluate", slow)
    late = certify(found, max_time=0)
    assert len(asked) < 20
    assert late.fairness_degree_upper_bound >= free.fairness_degree_upper_bound
    asked.clear()
    certify(found, max_time=60)
    assert 20 < len(asked) < 100
