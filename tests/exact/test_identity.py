"""Which models a file of a search takes for the same one."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from certify_models import REGRESSORS, SEVERAL, TWO, kinds
from places import TOP
from sklearn.base import clone, is_classifier
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from tiers import slow_sample

from skfairtest import InputSpace, Order, RandomAuditor, certify
from skfairtest.exact import _rounds
from skfairtest.exact._dispatch import read_family
from skfairtest.exact._identity import identity

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")


def numbers(n=300, d=5):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, n), rng.random((n, d - 1))])
    return X, (2 * X[:, 0] - 1) * np.sin(3 * X[:, 1:].sum(axis=1)) + X[:, 1]


def told(model, X, sensitive=(0,), **domain):
    space = InputSpace(**domain).fit(X, list(sensitive))
    response = "predict_proba" if is_classifier(model) else "regression"
    family, _ = read_family(model, space, response, False, np.random.default_rng(0))
    return identity(family, space, response)


def test_a_rare_leaf_makes_another_model(tmp_path, monkeypatch):
    """What 2,000 random inputs say of the two models is the same to the last bit."""
    monkeypatch.setattr(_rounds, "IN_ONE_PIECE", 0.0)
    monkeypatch.setattr(_rounds, "FIRST_SECONDS", 0.01)
    X, y = numbers(600, 9)
    model = RandomForestRegressor(5, max_features=3, random_state=0).fit(X, y)
    other = copy.deepcopy(model)
    tree = other.estimators_[3].tree_
    leaves = np.flatnonzero(tree.children_left < 0)
    rows = InputSpace().fit(X, [0]).domain.draw(2_000, np.random.default_rng(0))
    rare = np.setdiff1d(leaves, other.estimators_[3].apply(rows))
    assert len(rare)
    tree.value[rare[0]] = 1e3
    assert np.array_equal(model.predict(rows), other.predict(rows))
    path = tmp_path / "state"
    first = RandomAuditor(model, sensitive_features=[0], max_queries=50, random_state=0).fit(X)
    second = RandomAuditor(other, sensitive_features=[0], max_queries=50, random_state=0).fit(X)
    certify(first, max_time=1, resume=path, engine="numpy")
    assert path.exists()
    with pytest.raises(ValueError, match="another model"):
        certify(second, max_time=1, resume=path, engine="numpy")


def models():
    X, y = numbers()
    forest = RandomForestRegressor(3, max_depth=4, random_state=0)
    return X, {
        "forest": (forest, y),
        "boosting": (GradientBoostingRegressor(n_estimators=3), y),
        "histograms": (HistGradientBoostingClassifier(max_iter=3), (y > 0.5).astype(int)),
        "linear": (make_pipeline(StandardScaler(), PCA(3), Ridge()), y),
        "splines": (make_pipeline(SplineTransformer(n_knots=4), Ridge()), y),
        "quantiles": (make_pipeline(QuantileTransformer(n_quantiles=20), forest), y),
        "selected": (make_pipeline(SelectFromModel(forest), forest), y),
        "a cast": (make_pipeline(FunctionTransformer(lambda X: X.astype(np.float32)), forest), y),
        "products": (make_pipeline(PolynomialFeatures(2), Ridge()), y),
        "network": (
            MLPRegressor(hidden_layer_sizes=(3,), max_iter=30, solver="lbfgs", random_state=0),
            y,
        ),
        "a vote": (
            VotingClassifier(
                [("a", GradientBoostingClassifier(n_estimators=2)), ("b", LogisticRegression())],
                voting="soft",
            ),
            (y > 0.5).astype(int),
        ),
    }


@pytest.mark.parametrize("kind", models()[1])
def test_a_copy_is_the_same_model_and_another_fit_is_not(kind):
    X, known = models()
    model, y = known[kind]
    model.fit(X, y)
    first = told(model, X)
    assert first == told(copy.deepcopy(model), X)
    if kind != "a cast":
        assert first == told(pickle.loads(pickle.dumps(model)), X)
    assert first != told(copy.deepcopy(model).fit(X[:-9], y[:-9]), X)
    if hasattr(model, "steps"):
        other = copy.deepcopy(model)
        other.steps[0][1].fit(X[:-50] * 1.01, y[:-50])
        assert first != told(other, X) or kind in ("selected", "a cast", "products")


AROUND = {
    f"{name}, {kind}": (model, task)
    for task, (name, table) in enumerate(
        [("number", REGRESSORS), ("two", TWO), ("several", SEVERAL)]
    )
    for kind, model in table.items()
}


@pytest.mark.parametrize("kind", AROUND)
@slow_sample
def test_models_around_models_are_told_apart(kind):
    """Whatever they hold can be put into a digest, and copies have the same one."""
    model, task = AROUND[kind]
    X, y = numbers(120, 3)
    y = [y + 3, *kinds(y)][task]
    model = clone(model).fit(X, y)
    first = told(model, X)
    assert first == told(copy.deepcopy(model), X)
    assert first != told(clone(model).fit(X[:-9], y[:-9]), X)


def test_the_domain_and_its_words_belong_to_it():
    X, y = numbers()
    model = Ridge().fit(X, y)
    whole = told(model, X)
    assert whole == told(model, X[::-1])
    assert whole != told(model, X, bounds={1: (0, 2)})
    assert whole != told(model, X, (1,))
    assert whole != told(model, X, constraint=Order(1, "<=", 2))
    assert whole != told(Ridge().fit(X.astype(np.float32), y), X.astype(np.float32))


def test_names_of_categories_belong_to_it():
    """The same codes stand for other words, which the encoder takes for others."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": rng.integers(0, 2, 200), "c": rng.choice(["a", "b", "c"], 200)})
    y = X["s"] * (X["c"] == "b")
    steps = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    model = make_pipeline(steps, Ridge()).fit(X, y)
    kinds = [{"c": list(order)} for order in ("abc", "cba", "ab")]
    found = [told(model, X, ["s"], categories=kind) for kind in kinds]
    assert len(set(found)) == 3


@slow_sample
def test_another_process_finds_the_same(tmp_path):
    X, y = numbers()
    model = make_pipeline(StandardScaler(), GradientBoostingRegressor(n_estimators=3)).fit(X, y)
    joblib.dump((model, X), tmp_path / "model")
    code = (
        "import sys, joblib; sys.path[:0] = sys.argv[1:3]\n"
        "from test_identity import told\n"
        "print(told(*joblib.load(sys.argv[3])))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(TOP / "tests" / "exact"), str(TOP / "tests" / "helpers"),
         str(tmp_path / "model")],
        capture_output=True, text=True, cwd=TOP, check=True,
    )  # fmt: skip
    assert run.stdout.split()[-1] == told(model, X)
