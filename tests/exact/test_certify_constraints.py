"""Bounds under constraint objects and one-hot groups, for models that others do not try there."""

from __future__ import annotations

import warnings
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from certify_cases import certified, exhaustive_degree, solve_alone
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPRegressor
from tiers import SAMPLE, slow_sample

from skfairtest import Implies, InputSpace, Linear, Order, RandomAuditor, _clock
from skfairtest.exact import _constrained
from skfairtest.exact._certify import bound
from skfairtest.exact._dispatch import read_verifier
from skfairtest.exact._verifier import SolverLimits
from skfairtest.whitebox import registry
from skfairtest.whitebox.registry import Readings

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")


def table(n=200):
    """A group of one-hot columns, three numbers, and a sensitive column."""
    rng = np.random.default_rng(0)
    kind = rng.permutation(np.arange(n) % 3)
    X = pd.DataFrame({f"kind_{k}": 1 * (kind == k) for k in range(3)})
    X["s"] = rng.permutation(np.arange(n) % 2)
    X["low"] = rng.integers(0, 3, n)
    X["high"] = X["low"] + rng.integers(0, 3, n)
    X["part"] = rng.integers(0, 3, n)
    y = X["s"] * (1 + kind) * (X["high"] - X["low"]) + X["part"] + 0.1 * rng.normal(size=n)
    return X, y - y.min() + 1


def xgboost(name):
    return getattr(import_module("xgboost"), name)(n_estimators=4, max_depth=3)


def lightgbm(name):
    return getattr(import_module("lightgbm"), name)(
        n_estimators=4, max_depth=3, min_child_samples=3, verbose=-1
    )


FOREST = RandomForestRegressor(4, max_depth=4, random_state=0)
MODELS = {
    "forest": lambda: FOREST,
    "xgboost": lambda: xgboost("XGBRegressor"),
    "xgboost, classes": lambda: xgboost("XGBClassifier"),
    "lightgbm": lambda: lightgbm("LGBMRegressor"),
    "lightgbm, classes": lambda: lightgbm("LGBMClassifier"),
    "calibrated": lambda: CalibratedClassifierCV(
        RandomForestClassifier(4, max_depth=4, random_state=0), method="isotonic", cv=2
    ),
    "stack": lambda: StackingRegressor([("f", FOREST), ("r", Ridge())], cv=2),
}
CONSTRAINTS = {
    "order": Order("low", "<=", "high"),
    "sum": Linear({"low": 1, "high": 1, "part": 2}, "<=", 6),
    "both": [Order("low", "<=", "high"), Implies({"kind": "0"}, {"part": 0})],
}


def of_library(kind):
    """The kind, marked where its library may be missing."""
    library = kind.split(",")[0]
    own = [] if kind == "forest" else SAMPLE
    return pytest.param(kind, marks=pytest.mark.services(library) if library in LIBRARIES else own)


LIBRARIES = ("xgboost", "lightgbm")


def test_rounding_of_probabilities_is_allowed_for_as_without_a_constraint():
    X, y = table()
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y > y.median())
    verifiers = [
        read_verifier(
            model, InputSpace(constraint=constraint).fit(X, ["s"]), "predict_proba", False,
            np.random.default_rng(0),
        )[0]
        for constraint in (None, Order("low", "<=", "high"))
    ]  # fmt: skip
    assert verifiers[0].with_rounding(0.9) == verifiers[1].with_rounding(0.9)
    assert 0.9 < verifiers[0].with_rounding(0.9) < 0.9 + 2 * verifiers[0].rounding


@pytest.mark.parametrize("kind", map(of_library, MODELS))
def test_the_bound_is_that_of_the_valid_inputs(kind, monkeypatch):
    X, y = table()
    model = MODELS[kind]()
    classes = hasattr(model, "predict_proba")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, (y > np.median(y)).astype(int) if classes else y)
    single = kind.startswith("xgboost")
    box = certified(model, X).fairness_degree_
    for constraint in CONSTRAINTS.values():
        auditor = certified(model, X, space=InputSpace(constraint=constraint))
        assert auditor.space_.layout.one_hot  # the group is one column of three values
        degree = exhaustive_degree(auditor)
        assert 0 < degree <= box * (1 + 1e-9)
        assert auditor.certified_
        assert auditor.fairness_degree_ == pytest.approx(degree, rel=1e-5 if single else 1e-9)
        assert degree <= auditor.fairness_degree_upper_bound_
        result, rounding = solve_alone(auditor)
        assert degree <= result.upper + rounding
        assert result.lower <= degree * (1 + 1e-5) + rounding


def test_a_constraint_forgets_nothing_of_the_verifier():
    """One that excludes nothing leaves the budget of the first search as it is."""
    X, y = table()
    for model in (
        FOREST,
        Ridge(),
        MLPRegressor(hidden_layer_sizes=(3,), max_iter=20, random_state=0),
    ):
        model = clone(model).fit(X, y)
        plain, constrained = (
            read_verifier(
                model, InputSpace(constraint=constraint).fit(X, ["s"]), "regression", False,
                np.random.default_rng(0),
            )[0]
            for constraint in (None, Order("low", "<=", "high"))
        )  # fmt: skip
        assert constrained.first_queries == plain.first_queries


@pytest.mark.parametrize("kind", ["forest", "stack"])
def test_a_model_is_read_once_for_all_parts_of_a_domain(kind, monkeypatch):
    X, y = table()
    model = MODELS[kind]().fit(X, y)
    reads, parts = counting_reads(monkeypatch), []
    narrowed = _constrained.narrowed
    monkeypatch.setattr(_constrained, "narrowed", lambda *box: parts.append(box) or narrowed(*box))
    space = InputSpace(constraint=Linear({"low": 1, "high": 1, "part": 2}, "<=", 3))
    asked = space.fit(X, ["s"]), "regression", False, np.random.default_rng(0)
    verifier, _ = read_verifier(model, *asked)
    verifier.solve(0.0, SolverLimits(_clock.now() + 60, 1e-9))
    assert len(parts) > 2
    assert reads.count(type(model)) == 1


@slow_sample
def test_a_model_is_read_once_for_all_sensitive_attributes(monkeypatch):
    X, y = table()
    model = MODELS["forest"]().fit(X, y)
    reads, readings = counting_reads(monkeypatch), Readings()
    for sensitive in ("s", "part", ["s", "part"]):
        auditor = RandomAuditor(model, sensitive_features=sensitive, random_state=0)
        auditor.set_params(max_queries=300).fit(X)
        certificate = bound(auditor, readings, max_time=60)
        assert certificate.certified
        assert certificate.fairness_degree == pytest.approx(exhaustive_degree(auditor))
    assert len(reads) == 1
    # The same names, with other values behind the same codes.
    other = RandomAuditor(model, sensitive_features="s", random_state=0, max_queries=300)
    certificate = bound(other.fit(X.assign(part=2 * X["part"])), readings, max_time=60)
    assert len(reads) == 2


def counting_reads(monkeypatch):
    """Classes of the models that are read from here on."""
    reads, read = [], registry.read_model

    def counted(estimator, chain, response):
        reads.append(type(estimator))
        return read(estimator, chain, response)

    monkeypatch.setattr(registry, "read_model", counted)
    return reads
