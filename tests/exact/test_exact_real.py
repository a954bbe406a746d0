"""Certificates of models with a real sensitive column hold over the whole closed interval."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from tiers import slow_sample
from verifiers import tree_verifier

from skfairtest import CertifiedAuditor
from skfairtest.exact._verifier import SolverLimits
from skfairtest.space._space import InputSpace


def planted():
    """A narrow step between two points of the grid of a hundred steps, 50 high."""
    r = np.random.default_rng(0)
    X = pd.DataFrame({"age": r.uniform(0, 1000, 2000), "z": r.integers(0, 5, 2000)})
    step = np.ptp(X.age) / 100
    centre = X.age.min() + 50.5 * step
    y = np.where(abs(X.age - centre) < 0.3 * step, 50.0, 0) + X.z
    return DecisionTreeRegressor().fit(X, y), X


@pytest.mark.parametrize("engine", [pytest.param("numba", marks=pytest.mark.slow), "numpy"])
def test_a_step_between_the_grid_points_of_a_sensitive_column_is_found(engine):
    if engine == "numba":
        pytest.importorskip("numba")
    model, X = planted()
    auditor = CertifiedAuditor(model, sensitive_features="age", engine=engine).fit(X)
    assert auditor.fairness_degree_ >= 50
    assert auditor.certified_
    first, second = model.predict(auditor.worst_case_)
    assert first - second == auditor.fairness_degree_


MODELS = {
    "tree": DecisionTreeRegressor(max_depth=4),
    "forest": RandomForestRegressor(5, max_depth=3),
    "extra trees": ExtraTreesRegressor(5, max_depth=3),
    "boosting": GradientBoostingRegressor(n_estimators=5, max_depth=2),
    "histogram": HistGradientBoostingRegressor(max_iter=5, max_depth=2, min_samples_leaf=3),
    "scaled": make_pipeline(StandardScaler(), RandomForestRegressor(5, max_depth=3)),
    "classifier": RandomForestClassifier(5, max_depth=3),
    "boosted classifier": GradientBoostingClassifier(n_estimators=5, max_depth=2),
}


def make_case(name, seed, single, integers):
    """A fitted model, its table, and the sensitive columns; `u` is real or a long range."""
    rng = np.random.default_rng(seed)
    n = 40
    u = rng.integers(0, 10**6, n).astype(float) if integers else rng.normal(size=n)
    X = pd.DataFrame({"u": u, "v": rng.normal(size=n), "w": rng.integers(0, 3, n)})
    X = X.astype({"u": np.float32, "v": np.float32} if single else {"u": np.float64})
    y = np.sin(X["u"] * (1e-5 if integers else 4)) * (X["v"] > 0) + X["w"] * (X["u"] > X["u"][0])
    model = MODELS[name]
    last = model[-1] if hasattr(model, "steps") else model
    if "Histogram" not in type(last).__name__:
        last.set_params(random_state=seed)
    target = y > y.median() if hasattr(last, "predict_proba") else y
    return model.fit(X, target), X, ["u"] if rng.random() < 0.5 else ["u", "w"]


def representatives(model, X, j):
    """Values on both sides of every border of a column, worked out from the public trees."""
    column = X.iloc[:, j]
    low, high = column.min(), column.max()
    if column.dtype.kind == "i":
        return np.arange(low, high + 1)
    values = np.sort(np.unique(column)).astype(np.float64)
    last, shift, scale = model, 0.0, 1.0
    if hasattr(model, "steps"):
        last, shift, scale = model[-1], model[0].mean_[j], model[0].scale_[j]
    trees = np.ravel(getattr(last, "estimators_", [last] if hasattr(last, "tree_") else []))
    for tree in trees:
        own = tree.tree_.feature == j
        border = tree.tree_.threshold[own] * scale + shift
        for value in (border, np.float32(border)):
            for away in (1e-6, 1e-9, 0, -1e-9, -1e-6):
                values = np.append(values, value + away * max(1.0, abs(high)))
    values = np.clip(values, low, high)
    if column.dtype == np.float32:
        values = values.astype(np.float32).astype(np.float64)
    values = np.floor(values) if (column == np.floor(column)).all() else values
    return np.unique(values)


def enumerated_degree(model, X, sensitive):
    """Largest disparity over the representatives, by the model's own answers."""
    ask = getattr(model, "predict_proba", model.predict)
    values = [representatives(model, X, j) for j in range(3)]
    places = [list(X).index(name) for name in sensitive]
    free = [j for j in range(3) if j not in places]
    rows = np.array(list(itertools.product(*[values[j] for j in free + places])))
    table = pd.DataFrame({list(X)[j]: rows[:, k] for k, j in enumerate(free + places)})
    answers = np.asarray(ask(table[list(X)].astype(X.dtypes)))
    n_free = int(np.prod([len(values[j]) for j in free]))
    answers = answers.reshape(n_free, len(rows) // n_free, -1)
    return float((answers.max(axis=1) - answers.min(axis=1)).max())


def check_interval(name, seed, single, integers, compiled):
    model, X, sensitive = make_case(name, seed, single, integers)
    response = "predict_proba" if hasattr(model, "predict_proba") else "regression"
    space = InputSpace().fit(X, sensitive)
    verifier = tree_verifier(model, space, response, compiled)
    result = verifier.solve(0.0, SolverLimits(np.inf, 1e-9))
    degree = enumerated_degree(model, X, sensitive)
    assert result.upper == pytest.approx(result.lower, rel=1e-9, abs=1e-12)
    assert result.lower == pytest.approx(degree, rel=1e-9, abs=1e-9)
    if result.twins is not None:
        one, two = verifier.evaluate(np.stack(result.twins))
        assert np.abs(one - two).max() == pytest.approx(result.lower, rel=1e-9)
    # Random values of the interval never show more.
    rng = np.random.default_rng(seed)
    Z, other = space.domain.draw(2000, rng), space.domain.draw(2000, rng)
    other[:, space.non_sensitive] = Z[:, space.non_sensitive]
    ask = getattr(model, "predict_proba", model.predict)
    gaps = np.abs(ask(space.decode(Z)) - ask(space.decode(other)))
    assert gaps.max() <= result.upper + 1e-9


@pytest.mark.parametrize("integers", [False, True], ids=["real", "integers"])
@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MODELS)
def test_real_sensitive_columns_are_certified_over_the_interval(name, compiled, single, integers):
    if compiled:
        pytest.importorskip("numba")
    check_interval(name, 0, single, integers, compiled)


@slow_sample
@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(sorted(MODELS)),
    seed=st.integers(0, 2**31),
    single=st.booleans(),
    integers=st.booleans(),
)
def test_real_sensitive_columns_are_certified_over_the_interval_sample(
    name, seed, single, integers
):
    check_interval(name, seed, single, integers, compiled=False)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(
    name=st.sampled_from(sorted(MODELS)),
    seed=st.integers(0, 2**31),
    single=st.booleans(),
    integers=st.booleans(),
    compiled=st.sampled_from([None, False]),
)
def test_real_sensitive_columns_are_certified_over_the_interval_thousands(
    name, seed, single, integers, compiled
):
    check_interval(name, seed, single, integers, compiled)
