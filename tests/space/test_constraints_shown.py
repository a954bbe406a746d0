"""A model is shown only rows that keep to all constraints, whatever tester asks; from outside.

Spaces and constraints are drawn at random. The model hands its rows to a formula in pandas that
knows nothing of the objects.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.tree import DecisionTreeRegressor
from tiers import slow_sample, some

from skfairtest import (
    ADFAuditor,
    AequitasAuditor,
    Allowed,
    CertifiedAuditor,
    EIDIGAuditor,
    Implies,
    InputSpace,
    Is,
    Linear,
    MAFTAuditor,
    Order,
    PublishedSBFTAuditor,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    SymbolicAuditor,
    ThemisAuditor,
)
from skfairtest.exceptions import ConstraintWarning, NoDisparityWarning
from skfairtest.oracle._model import Model


class Watched(BaseEstimator):
    """A function of the table that keeps all rows it is shown."""

    def __init__(self, weights=None):
        self.weights = weights

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        return self

    def _scores(self, X):
        self.__dict__.setdefault("shown_", []).append(X)
        # Strings count by their last letter.
        numbers = [
            np.asarray(X[c] if pd.api.types.is_numeric_dtype(X[c]) else X[c].str[-1].map(ord))
            for c in X
        ]
        return sum(w * n.astype(float) for w, n in zip(self.weights, numbers, strict=True))


class Regressor(RegressorMixin, Watched):
    def predict(self, X):
        return self._scores(X)


class Classifier(ClassifierMixin, Watched):
    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-np.clip(self._scores(X), -30, 30)))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def random_case(seed, numeric=False):
    """A table, sensitive columns, constraints, and what these say in pandas."""
    rng = np.random.default_rng(seed)
    n = 200
    X = pd.DataFrame(index=range(n))
    X["s"] = rng.integers(0, rng.integers(2, 5), n)
    X["t"] = rng.integers(0, 3, n) if numeric else rng.choice(["x", "y", "z"], n)
    for k in range(int(rng.integers(3, 6))):
        X[f"n{k}"] = rng.integers(0, int(rng.integers(3, 40)), n)
    X["r0"], X["r1"] = rng.random(n).round(3), rng.normal(size=n)
    group = rng.integers(0, 3, n)
    for k in range(3):
        X[f"g{k}"] = (group == k).astype(int)
    X["city"] = rng.integers(0, 30, n)
    X["state"] = X["city"] % 7 if rng.random() < 0.5 else rng.integers(0, 7, n)
    if not numeric:
        X["city"] = "c" + X["city"].astype(str)
    X["s"] = rng.permutation(np.append(X["s"][:-2], [0, 1]))
    numbers = [c for c in X if c[0] in "nr"]
    pairs = set(zip(X["city"], X["state"], strict=True))
    rules = []

    def add(constraint, meaning):
        rules.append((constraint, meaning))

    for _ in range(int(rng.integers(1, 5))):
        kind = rng.integers(6)
        a, b = rng.choice(numbers, 2, replace=False)
        if kind == 0:
            strict = rng.random() < 0.5
            off = int(rng.integers(0, 5))
            relation = "<" if strict else "<="
            add(
                Order(a, relation, b, offset=off),
                lambda X, a=a, b=b, off=off, strict=strict: (
                    X[a] - X[b] < off if strict else X[a] - X[b] <= off
                ),
            )
        elif kind == 1:
            v, w = (float(x) for x in rng.normal(size=2).round(2) + 0.001)
            limit = float((v * X[a] + w * X[b]).quantile(0.6))
            add(
                Linear({a: v, b: w}, "<=", limit),
                lambda X, a=a, b=b, v=v, w=w, m=limit: v * X[a] + w * X[b] <= m,
            )
        elif kind == 2:
            level, most = X["t"].iloc[0], float(X[a].quantile(0.5))
            add(
                Implies({"t": level}, {a: (None, most)}),
                lambda X, a=a, level=level, most=most: (X["t"] != level) | (X[a] <= most),
            )
        elif kind == 3:
            add(Allowed(["g0", "g1", "g2"]), lambda X: X[["g0", "g1", "g2"]].sum(axis=1) == 1)
        elif kind == 4:
            add(
                Allowed(["city", "state"]),
                lambda X, pairs=pairs: np.array(
                    [pair in pairs for pair in zip(X["city"], X["state"], strict=True)]
                ),
            )
        else:
            values = [int(v) for v in rng.choice(X["n0"].unique(), 2, replace=False)]
            add(
                Is("n0", values) if rng.random() < 0.5 else Implies({"s": 0}, {"n0": values}),
                None,
            )
            own = rules[-1][0]
            rules[-1] = (
                own,
                (lambda X, v=values: X["n0"].isin(v))
                if isinstance(own, Is)
                else (lambda X, v=values: (X["s"] != 0) | X["n0"].isin(v)),
            )
    sensitive = ["s", "t"] if rng.random() < 0.5 else ["s"]
    return X, sensitive, rules, rng


def gradient(X):
    return np.ones((len(X), X.shape[1]))


FEW = {"max_queries": 600, "max_time": 0.4}
TESTERS = {
    "random": lambda: RandomAuditor(**FEW),
    "sbft": lambda: SBFTAuditor(**FEW),
    "published sbft": lambda: PublishedSBFTAuditor(**FEW),
    "aequitas": lambda: AequitasAuditor(**FEW),
    "surrogate": lambda: SurrogateAuditor(**FEW),
    "themis": lambda: ThemisAuditor(**FEW),
    "symbolic": lambda: SymbolicAuditor(**FEW),
    "adf": lambda: ADFAuditor(gradient=gradient, **FEW),
    "eidig": lambda: EIDIGAuditor(gradient=gradient, **FEW),
    "maft": lambda: MAFTAuditor(**FEW),
}
#: Of these the model's own structure is read, or columns have to be numbers.
NUMERIC = {"symbolic", "adf", "eidig", "maft"}


def look(shown, rules):
    for X in shown:
        for constraint, meaning in rules:
            assert np.asarray(meaning(X)).all(), f"shown a row that breaks {constraint}"


def check_tester(name, seed):
    X, sensitive, rules, rng = random_case(seed, numeric=name in NUMERIC)
    if name in NUMERIC:
        sensitive = ["s"]
    kind = Classifier if name in {"adf", "eidig", "maft", "themis"} or seed % 2 else Regressor
    model = kind(rng.normal(size=X.shape[1]))
    auditor = TESTERS[name]().set_params(
        estimator=model,
        sensitive_features=sensitive,
        random_state=seed,
        space=InputSpace(constraint=[constraint for constraint, _ in rules]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        warnings.simplefilter("ignore", NoDisparityWarning)
        try:
            auditor.fit(X)
        except ValueError as error:
            # No row may keep to random constraints, or they may fix the sensitive columns.
            assert "constraint=" in str(error) or "leaves no twins" in str(error)
            return 0
        auditor.on_data_degree_  # noqa: B018 -- asks as well
    look(model.shown_, rules)
    return sum(map(len, model.shown_))


#: Those of which another one moves in the same way.
LIKE_OTHERS = ["published sbft", "aequitas", "themis", "eidig", "maft"]


@slow_sample
@pytest.mark.parametrize(
    "name",
    [
        *some([name for name in TESTERS if name not in LIKE_OTHERS]),
        *(pytest.param(name, marks=pytest.mark.slow) for name in LIKE_OTHERS),
    ],
)
def test_every_tester_shows_valid_rows_only(name):
    # Of four spaces some may be impossible; a tester that never asks would test nothing.
    assert sum(check_tester(name, seed) for seed in range(3)) > 300


@pytest.mark.slow
@pytest.mark.parametrize("name", TESTERS)
def test_every_tester_shows_valid_rows_only_many_spaces(name):
    assert sum(check_tester(name, seed) > 100 for seed in range(100, 200)) > 50


@slow_sample
def test_certificates_show_valid_rows_only(monkeypatch):
    shown = []
    call = Model._call

    def watched(self, method, Z):
        shown.append(self.space.decode(Z))
        return call(self, method, Z)

    # A model with a method that was replaced is not certified: the watch stands before it.
    monkeypatch.setattr(Model, "_call", watched)
    n_asked = 0
    for seed in range(4):
        X, sensitive, rules, rng = random_case(seed, numeric=True)
        model = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, rng.normal(size=len(X)))
        auditor = CertifiedAuditor(
            model,
            sensitive_features=sensitive,
            random_state=0,
            engine="numpy",
            max_queries=1000,
            space=InputSpace(constraint=[constraint for constraint, _ in rules]),
        )
        shown.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                auditor.fit(X)
            except ValueError as error:
                assert "constraint=" in str(error)
        look(shown, rules)
        n_asked += sum(map(len, shown))
    assert n_asked > 100


def test_the_formula_would_notice():
    X, _, rules, _ = random_case(0)
    wrong = X.assign(n0=X["n0"] + 1000, g0=1, g1=1, city="nowhere")
    with pytest.raises(AssertionError, match="breaks"):
        look([wrong], [*rules, (Allowed(["g0", "g1", "g2"]), lambda X: X["g0"] + X["g1"] < 2)])
