"""Reading fitted models: only the library's own code is read, and what stands before a model."""

from __future__ import annotations

import types

import numpy as np
import pandas as pd
import pytest
from certify_cases import in_turn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from tiers import slow_sample, some

from skfairtest import (
    ADFAuditor,
    CertifiedAuditor,
    EIDIGAuditor,
    InputSpace,
    MAFTAuditor,
    RandomAuditor,
    SBFTAuditor,
    certify,
)
from skfairtest.exact._dispatch import read_verifier
from skfairtest.exact._verifier import SolverLimits
from skfairtest.exceptions import EstimatorFailedError
from skfairtest.individual._gradient.analytic import AnalyticGradient
from skfairtest.whitebox._library_code import foreign_code


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), rng.normal(size=(300, 2)), rng.random(300)])
    return X, X[:, 1] + 0.3 * X[:, 0] + (X[:, 2] > 0)


# What is not the library's own code --------------------------------------------------------


def narrow(X, answers):
    """What a subclass may add: 100 for one sensitive value in a narrow region."""
    return answers + 100 * ((X[:, 0] == 1) & (np.abs(X[:, 3] - 0.12345) < 1e-5))


class Forest(RandomForestRegressor):
    def predict(self, X):
        return narrow(X, super().predict(X))


class Regression(LinearRegression):
    def predict(self, X):
        return narrow(X, super().predict(X))


class Net(MLPRegressor):
    def predict(self, X):
        return narrow(X, super().predict(X))


class Tree(DecisionTreeRegressor):
    pass


class Steps(Pipeline):
    def predict(self, X):
        return narrow(X, super().predict(X))


class Columns(ColumnTransformer):
    pass


class Search(GridSearchCV):
    def predict(self, X):
        return narrow(X, super().predict(X))


FOREIGN = {
    "forest": Forest(3, max_depth=3),
    "linear": Regression(),
    "network": Net(hidden_layer_sizes=(4,), max_iter=500, tol=0.1),
    "last step": make_pipeline(StandardScaler(), Regression()),
    "pipeline": Steps([("scale", StandardScaler()), ("model", LinearRegression())]),
    "column transformer": make_pipeline(
        Columns([("scale", StandardScaler(), [0, 1, 2, 3])]), LinearRegression()
    ),
    "search": Search(LinearRegression(), {"fit_intercept": [True]}, cv=2),
    "searched": GridSearchCV(Regression(), {"fit_intercept": [True]}, cv=2),
    "bagged": BaggingRegressor(Tree(max_depth=3), 3),
    "voting": VotingRegressor([("a", Forest(3, max_depth=3)), ("b", Tree(max_depth=2))]),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_classes_that_are_not_the_librarys_own_are_not_certified(table, kind):
    X, y = table
    auditor = CertifiedAuditor(FOREIGN[kind].fit(X, y), sensitive_features=[0])
    assert not CertifiedAuditor.supports(auditor.estimator)
    with pytest.raises(ValueError, match="not of scikit-learn|Search cannot"):
        auditor.fit(X)


def test_methods_replaced_on_an_instance_are_seen(table):
    X, y = table
    forest = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, y)
    other = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, y)
    own = forest.predict
    forest.predict = types.MethodType(lambda self, X: narrow(X, own(X)), forest)
    other.estimators_[1].predict = own
    boosted = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    boosted.estimators_[2, 0].predict = own
    scaled = make_pipeline(StandardScaler(), Ridge()).fit(X, y)
    scaled[0].transform = lambda X: X
    columns = make_pipeline(
        make_column_transformer((StandardScaler(), [1, 2]), remainder="passthrough"), Ridge()
    ).fit(X, y)
    columns[0].transformers_[0][1].transform = lambda X: X
    voting = VotingRegressor([("a", DecisionTreeRegressor(max_depth=2))]).fit(X, y)
    voting.estimators_[0].predict = own
    for model in (forest, other, boosted, scaled, columns, voting):
        with pytest.raises(ValueError, match="replaced on the instance"):
            CertifiedAuditor(model, sensitive_features=[0]).fit(X)


@pytest.mark.parametrize("cls", [RandomForestRegressor, LinearRegression])
def test_methods_replaced_on_a_class_are_seen(table, monkeypatch, cls):
    X, y = table
    model = cls().fit(X, y)
    assert foreign_code(model) is None
    own = cls.predict
    monkeypatch.setattr(cls, "predict", lambda self, X: narrow(X, own(self, X)))
    with pytest.raises(ValueError, match="predict that was replaced on the class"):
        CertifiedAuditor(model, sensitive_features=[0]).fit(X)


@pytest.mark.parametrize("auditor", some([EIDIGAuditor, ADFAuditor]))
def test_gradients_are_not_read_of_foreign_code(table, auditor):
    X, y = table

    class Sure(LogisticRegression):
        def predict_proba(self, X):
            return np.round(super().predict_proba(X))

    replaced = LogisticRegression().fit(X, y > 0)
    own = replaced.predict_proba
    replaced.predict_proba = lambda X: np.round(own(X))
    for model in (Sure().fit(X, y > 0), make_pipeline(StandardScaler(), Sure()).fit(X, y > 0),
                  replaced):  # fmt: skip
        tester = auditor(model, sensitive_features=[0], max_queries=200, random_state=0)
        with pytest.raises(ValueError, match="do not show.*MAFTAuditor"):
            tester.fit(X)
    black_box = MAFTAuditor(replaced, sensitive_features=[0], max_queries=200, random_state=0)
    assert black_box.fit(X).n_queries_ > 0


# What stands before a model ----------------------------------------------------------------


MODELS_BEHIND = {
    "linear": LinearRegression(),
    "network": MLPRegressor(hidden_layer_sizes=(4,), max_iter=500, tol=0.1),
    "forest": RandomForestRegressor(3, max_depth=3, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=3),
}


@pytest.mark.parametrize("kind", MODELS_BEHIND)
def test_unknown_categories_end_in_one_kind_of_error(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": rng.choice(["a", "b"], 100), "c": rng.choice(["u", "v"], 100)})
    model = make_pipeline(OneHotEncoder(), MODELS_BEHIND[kind]).fit(X, X["s"] == "a")
    space = InputSpace(categories={"c": ["u", "v", "w"]})
    settings = {"sensitive_features": "s", "space": space, "random_state": 0}
    testers = [CertifiedAuditor, MAFTAuditor, RandomAuditor, SBFTAuditor]
    testers += [EIDIGAuditor, ADFAuditor] if kind in ("linear", "network") else []
    for tester in testers:
        with pytest.raises(EstimatorFailedError, match="unknown categories.*categories=") as caught:
            tester(model, **settings).fit(X)
        assert isinstance(caught.value.__cause__, ValueError)


@slow_sample
def test_groups_without_columns_are_not_read():
    X = pd.DataFrame({"a": ["p", "q"] * 20, "b": ["u", "u", "v", "w"] * 10})
    nothing = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer([("t", OneHotEncoder(), ["a", "b"]), ("n", nothing, [])])
    for model in MODELS_BEHIND.values():
        fitted = make_pipeline(columns, model).fit(X, np.arange(40.0) % 7)
        assert CertifiedAuditor.supports(fitted)
        auditor = CertifiedAuditor(fitted, sensitive_features="a", engine="numpy", random_state=0)
        assert auditor.fit(X).certified_


def mixed_frame(n=200):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "s": rng.choice(["a", "b"], n),
            "c": rng.choice(["u", "v", "w"], n),
            "x": rng.normal(size=n),
            "k": rng.integers(0, 5, n),
        }
    )
    y = (X["s"] == "a") * (X["x"] + 1) + X["k"] + 2.0 * (X["c"] == "v")
    return X, y.to_numpy()


def encode_columns(scale):
    return ColumnTransformer([("code", OneHotEncoder(), ["s", "c"]), ("scale", scale, ["x", "k"])])


def nested(kind, model):
    """A model behind pipelines in pipelines, and the same behind a flat one."""
    flat = make_pipeline(encode_columns(StandardScaler()), MinMaxScaler(), model)
    shapes = {
        "last step": make_pipeline(
            encode_columns(StandardScaler()), make_pipeline(MinMaxScaler(), model)
        ),
        "first step": make_pipeline(
            make_pipeline(encode_columns(StandardScaler()), MinMaxScaler()), model
        ),
        "three deep": make_pipeline(
            make_pipeline("passthrough", make_pipeline(encode_columns(StandardScaler()))),
            make_pipeline(make_pipeline("passthrough", make_pipeline(MinMaxScaler(), model))),
        ),
        "in a group": make_pipeline(
            encode_columns(make_pipeline(make_pipeline(SimpleImputer()), StandardScaler())),
            MinMaxScaler(),
            model,
        ),
        # A column of text beside a real one, told apart behind the first step of a group.
        "group in a group": make_pipeline(
            ColumnTransformer(
                [
                    (
                        "own",
                        make_pipeline(
                            ColumnTransformer(
                                [("text", "passthrough", ["c"]), ("x", StandardScaler(), ["x"])]
                            ),
                            ColumnTransformer(
                                [("code", OneHotEncoder(), [0]), ("pass", "passthrough", [1])]
                            ),
                        ),
                        ["c", "x"],
                    ),
                    ("s", OneHotEncoder(), ["s"]),
                    ("k", StandardScaler(), ["k"]),
                ]
            ),
            MinMaxScaler(),
            model,
        ),
    }
    return shapes[kind], flat


@slow_sample
@pytest.mark.parametrize(
    ("kind", "name"),
    in_turn(
        ["last step", "first step", "three deep", "in a group", "group in a group"],
        {name: name for name in MODELS_BEHIND},
    ),
)
def test_pipelines_in_pipelines_are_read_like_flat_ones(kind, name):
    X, y = mixed_frame()
    model = clone(MODELS_BEHIND[name]).set_params(random_state=0) if name != "linear" else Ridge()
    space = InputSpace().fit(X, ["s"])
    verifiers, answers = [], []
    for fitted in (clone(m).fit(X, y) for m in nested(kind, model)):
        # What was read is compared with the model's own predictions here.
        verifier, n_compared = read_verifier(
            fitted, space, "regression", False, np.random.default_rng(0)
        )
        assert n_compared >= 100
        verifiers.append(verifier)
        answers.append(verifier.evaluate(space.data)[:, 0])
        np.testing.assert_allclose(answers[-1], fitted.predict(X), rtol=1e-9, atol=1e-9)
    if kind == "group in a group" and name != "linear":
        return  # another order of columns is another model
    np.testing.assert_allclose(*answers, rtol=1e-9, atol=1e-9)
    bounds = [verifier.root_bound() for verifier in verifiers]
    if name != "network":
        bounds += [verifier.solve(0.0, SolverLimits(np.inf, 1e-9)).upper for verifier in verifiers]
    assert bounds[0] > 0
    np.testing.assert_allclose(bounds[0::2], bounds[1::2], rtol=1e-9)


@pytest.mark.parametrize("kind", ["last step", "first step", "three deep", "in a group"])
def test_gradients_of_pipelines_in_pipelines_are_those_of_flat_ones(kind):
    X, y = mixed_frame()
    space = InputSpace().fit(X, ["s"])
    Z = space.sample(30, np.random.default_rng(0))
    column = np.zeros(30, dtype=np.intp)
    gradients = []
    for model in nested(kind, LogisticRegression()):
        read = AnalyticGradient(model.fit(X, y > y.mean()), space, "predict_proba")
        gradients.append(read(Z, np.zeros((30, 1)), column))
    np.testing.assert_allclose(*gradients, rtol=1e-9, atol=1e-12)
    assert np.abs(gradients[0][:, space.non_sensitive]).min(axis=0).all()


def test_a_table_with_too_many_values_for_memory_is_not_read():
    """A row for each value of each column: 392,000 rows of 450 columns."""
    X = np.random.default_rng(0).integers(0, 900, (60, 450)) / 10
    X[:, 0] = np.arange(60) % 2
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, np.arange(60) // 2 % 2)
    auditor = RandomAuditor(model, sensitive_features=[0], random_state=0, max_queries=50).fit(X)
    with pytest.raises(ValueError, match=r"transform 39\d,\d\d\d rows of 450 columns"):
        certify(auditor)
