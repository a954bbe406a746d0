"""Small finite domains are looked at whole, whatever the model and the constraint are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from certify_cases import certified, exhaustive_degree
from clocks import CLOCK
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPRegressor

from skfairtest import InputSpace, MarginalizedRegressor
from skfairtest.exact import _all_inputs
from skfairtest.exact._all_inputs import solve_whole
from skfairtest.exact._verifier import SolverLimits, SolverResult, Verifier

MODELS = {
    "linear": LogisticRegression(),
    "forest": RandomForestRegressor(20, random_state=0),
    "exponential": HistGradientBoostingRegressor(loss="poisson", max_iter=20),
    "net": MLPRegressor(hidden_layer_sizes=(8,), max_iter=30, random_state=0),
    "average": MarginalizedRegressor(
        HistGradientBoostingRegressor(loss="poisson", max_iter=20),
        sensitive_features="a", strength=0.5,
    ),
}  # fmt: skip


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {name: rng.integers(0, k, n) for name, k in zip("abcd", (2, 4, 5, 8), strict=True)}
    )
    y = X["a"] * (X["b"] > 1) + np.sin(X["c"] * X["d"]) + 0.3 * rng.normal(size=n)
    return X, y


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", MODELS)
def test_callables_exclude_inputs_from_the_bound(kind):
    X, y = table()
    model = MODELS[kind]
    target = np.exp(y) if kind in ("exponential", "average") else y
    model.fit(X, (y > y.median()).astype(int) if hasattr(model, "predict_proba") else target)
    free = certified(model, X, "a")
    worst = free.worst_case_.iloc[0]

    def constraint(X):
        """Exclude the worst pair and some more; nothing is known of it but its verdicts."""
        return (X["b"] != worst["b"]) & (X["d"] * X["c"] != worst["d"] * worst["c"])

    auditor = certified(model, X, "a", space=InputSpace(constraint=constraint))
    degree = exhaustive_degree(auditor)
    assert 0 < degree < free.fairness_degree_
    assert auditor.certified_, auditor.stop_reason_
    assert auditor.fairness_degree_ == pytest.approx(degree, rel=1e-9)
    assert degree <= auditor.fairness_degree_upper_bound_


def test_what_follows_from_sensitive_values_is_as_twins_have_it(monkeypatch):
    X, y = table()
    X.loc[X["a"] == 1, "b"] = 0
    # Alone, b makes more of a difference than a does with what follows from it.
    y = np.where(X["a"] == 1, 1.5, X["b"]) + 0.1 * y
    model = HistGradientBoostingRegressor(max_iter=30).fit(X, y)
    space = InputSpace(twins={"a": {1: {"b": 0}}})
    auditor = certified(model, X, "a", space=space)
    assert auditor.certified_, auditor.stop_reason_
    assert auditor.fairness_degree_ == pytest.approx(exhaustive_degree(auditor), rel=1e-9)
    monkeypatch.setattr(_all_inputs, "MOST_INPUTS", 0)
    relaxed = certified(model, X, "a", space=space)
    assert not relaxed.certified_
    assert relaxed.fairness_degree_upper_bound_ > auditor.fairness_degree_upper_bound_


def test_two_twins_with_what_follows_from_each():
    X = pd.DataFrame({"a": [0, 1, 2] * 20, "b": np.arange(60) % 4, "c": np.arange(60) % 5})
    space = InputSpace(twins={"a": {1: {"b": 0}, 2: {"c": 0}}}).fit(X, ["a"])
    first, second = np.array([1.0, 0, 4]), np.array([2.0, 3, 0])
    z = _all_inputs.input_of(space, first, second)
    assert z[1:].tolist() == [3, 4]
    for row in (first, second):
        np.testing.assert_array_equal(space.twins_.with_sensitive(z[None], row[:1])[0], row)


class Slow(Verifier):
    """A model of two twins, whose looks and whose own search take time."""

    def __init__(self, look, search, closes):
        self.look, self.search, self.closes = look, search, closes
        self.n_rows, self.n_searches = 0, 0

    def evaluate(self, Z):
        CLOCK.sleep(self.look)
        self.n_rows += len(Z)
        return Z[:, :1] * (1 + Z[:, 1:].sum(axis=1, keepdims=True))

    def root_bound(self):
        return 100.0

    def solve(self, known, limits):
        self.n_searches += 1
        begun = CLOCK.now()
        CLOCK.sleep(min(self.search, max(0.0, limits.deadline - begun)))
        if self.closes and begun + self.search <= limits.deadline:
            return SolverResult(
                18.0, 18.0, (np.array([1.0, 9, 8]), np.array([0.0, 9, 8])), 1, "closed"
            )
        return SolverResult(known, 50.0, None, 1, "time")


@pytest.mark.parametrize(
    ("verifier", "seconds", "upper", "n_looks", "n_searches"),
    [
        (Slow(0.01, 1.0, True), 60, 18.0, 9, 0),  # all of it takes no time
        (Slow(1.0, 2.0, True), 60, 18.0, 1, 1),  # the search is sooner done
        (Slow(1.0, 20.0, True), 60, 18.0, 9, 1),  # it had as long as all looks take
        (Slow(1.0, 20.0, False), 10, 50.0, 1, 1),  # no time for both
        (Slow(1.0, 5.0, True), 10, 18.0, 1, 1),
    ],
)  # fmt: skip
def test_the_search_of_the_verifier_has_as_long_as_the_look(
    verifier, seconds, upper, n_looks, n_searches, monkeypatch
):
    monkeypatch.setattr(_all_inputs, "AT_A_TIME", 20)
    verifier.n_rows = verifier.n_searches = 0
    X = pd.DataFrame({"a": [0, 1] * 45, "b": np.arange(90) % 10, "c": np.arange(90) % 9})
    space = InputSpace().fit(X, ["a"])
    found = solve_whole(verifier, space, 0.0, SolverLimits(CLOCK.now() + seconds, 1e-9))
    assert found.upper == upper
    assert (verifier.n_rows // 20, verifier.n_searches) == (n_looks, n_searches)
    assert found.lower == (18.0 if upper == 18.0 else 0.0)
