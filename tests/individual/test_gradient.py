"""Gradient testers: gradients against finite differences, lockstep, directions, planted pockets."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from searches import get_to_know, handle_of
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tiers import SAMPLE, slow_sample, some

from skfairtest import InputSpace
from skfairtest.datasets import make_biased_classification, make_biased_regression
from skfairtest.exceptions import EstimatorFailedError
from skfairtest.individual._gradient.analytic import AnalyticGradient
from skfairtest.individual._gradient.auditors import ADFAuditor, EIDIGAuditor, MAFTAuditor
from skfairtest.individual._gradient.gradients import LossGradient, ZeroOrderGradient
from skfairtest.individual._gradient.two_phase import TwoPhase, predicted
from skfairtest.individual._seeds import cluster_seeds, round_robin

TESTERS = [MAFTAuditor, EIDIGAuditor, ADFAuditor]
WHITE = [EIDIGAuditor, ADFAuditor]
H = 1e-5
#: One tester stands for the claim in the default tier.
MAFT_AND_SLOW = [
    MAFTAuditor,
    *(pytest.param(cls, id=cls.__name__, marks=SAMPLE) for cls in WHITE),
]


def numeric(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4)) * [1, 5, 2, 3]
    X[:, 0] = rng.integers(0, 2, n)
    return X, X @ [1.0, 0.5, -1.0, 0.4] + 0.3 * X[:, 1] * X[:, 2]


def frame(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 60, n),
            "income": rng.random(n) * 9,
            "job": rng.choice(["a", "b", "c"], n),
        }
    )
    y = X["income"] + (X["job"] == "b") * 4 + (X["sex"] == "m") * 2 + X["age"] / 20
    return X, y.to_numpy()


def columns(numbers, coded):
    return ColumnTransformer(
        [("numbers", numbers, ["age", "income"]), ("coded", coded, ["sex", "job"])]
    )


def quick_mlp(cls, **params):
    return cls(hidden_layer_sizes=(6, 5), max_iter=40, random_state=0, **params)


REGRESSORS = {
    "linear": LinearRegression(),
    "ridge": Ridge(),
    "lasso": Lasso(0.01),
    "sgd": SGDRegressor(random_state=0),
    **{
        f"mlp {name}": quick_mlp(MLPRegressor, activation=name)
        for name in ("identity", "logistic", "tanh", "relu")
    },
}
CLASSIFIERS = {
    "logistic": LogisticRegression(),
    "sgd log_loss": SGDClassifier(loss="log_loss", random_state=0),
    "sgd hinge": SGDClassifier(random_state=0),
    "svc": LinearSVC(),
    **{
        f"mlp {name}": quick_mlp(MLPClassifier, activation=name)
        for name in ("identity", "logistic", "tanh", "relu")
    },
}
SCALERS = [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler()]


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(X, y)


def make_search(model, X, sensitive, **limits):
    space = InputSpace().fit(X, sensitive)
    search = handle_of(model, space, **limits)
    get_to_know(search, space.data[:8], np.random.default_rng(0))
    return search


def check_against_differences(model, X, sensitive):
    """The analytic gradient is what the outputs change by; per step of each free attribute."""
    search = make_search(model, X, sensitive)
    space, rng = search.space, np.random.default_rng(1)
    analytic = AnalyticGradient(model, space, search.response)
    Z = space.sample(40, rng)
    scores = search.respond(Z)
    column = rng.integers(0, scores.shape[1], len(Z))
    g = analytic(Z, scores, column)
    for k in space.non_sensitive:
        if space.domain.discrete[k]:
            continue
        step = H * space.domain.steps[k] * np.where(Z[:, k] + H < space.domain.high[k], 1, -1)
        moved = Z.copy()
        moved[:, k] += step
        rows = np.arange(len(Z))
        change = search.respond(moved)[rows, column] - scores[rows, column]
        expected = change / step * space.domain.steps[k]
        # A kink of a relu inside the difference is rare, and no error.
        close = np.isclose(g[:, k], expected, rtol=1e-3, atol=1e-6)
        assert close.mean() >= 0.95
    return search, analytic, Z


@pytest.mark.parametrize("name", REGRESSORS)
def test_gradient_of_regressors(name):
    X, y = numeric()
    check_against_differences(fitted(REGRESSORS[name], X, y), X, [0])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_gradient_of_classifiers(name, n_classes):
    X, y = numeric()
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    check_against_differences(fitted(CLASSIFIERS[name], X, labels), X, [0])


def test_gradient_of_clipped_probabilities():
    X, y = numeric()
    model = fitted(SGDClassifier(loss="modified_huber", random_state=0), X, y > y.mean())
    check_against_differences(model, X, [0])


@pytest.mark.parametrize("scaler", SCALERS, ids=lambda scaler: type(scaler).__name__)
def test_gradient_behind_scalers(scaler):
    X, y = numeric()
    model = fitted(make_pipeline(scaler, quick_mlp(MLPRegressor)), X, y)
    check_against_differences(model, X, [0])


@slow_sample
@pytest.mark.parametrize(
    "steps",
    [
        columns(StandardScaler(), OneHotEncoder()),
        columns(MinMaxScaler(), OneHotEncoder(drop="first", sparse_output=False)),
        columns("passthrough", OrdinalEncoder()),
        columns(make_pipeline(RobustScaler(), MaxAbsScaler()), OneHotEncoder()),
    ],
    ids=["one-hot", "drop first", "ordinal", "nested"],
)
@pytest.mark.parametrize("last", [LogisticRegression(), quick_mlp(MLPClassifier)])
def test_gradient_of_pipelines_on_frames(steps, last):
    X, y = frame()
    model = fitted(make_pipeline(steps, last), X, y > np.median(y))
    search, analytic, Z = check_against_differences(model, X, ["sex"])
    np.testing.assert_allclose(
        analytic.steps.encode(Z),
        np.asarray(
            getattr(t := model[:-1].transform(search.space.decode(Z)), "toarray", lambda: t)()
        ),
        atol=1e-9,
    )


def test_categories_have_the_difference_to_their_neighbour():
    X, y = frame()
    model = fitted(make_pipeline(columns("passthrough", OneHotEncoder()), LinearRegression()), X, y)
    search = make_search(model, X, ["sex"])
    analytic = AnalyticGradient(model, search.space, "regression")
    zero = ZeroOrderGradient(search)
    Z = search.space.sample(50, np.random.default_rng(0))
    scores, column = search.respond(Z), np.zeros(len(Z), dtype=int)
    # A linear model on encoded columns: one step away is the same for both.
    np.testing.assert_allclose(
        analytic(Z, scores, column), zero(Z, scores, column), rtol=1e-6, atol=1e-8
    )


def test_zero_order_gradient_is_backward_at_the_upper_end():
    X = np.array([[s, a, r] for s in (0, 1) for a in range(5) for r in (0.0, 0.25, 0.9, 1.0)])
    X[:, 2] += np.linspace(0, 1e-3, len(X))
    model = LinearRegression().fit(X, X @ [0.0, 2.0, 3.0])
    search = make_search(model, X, [0])
    space = search.space
    Z = np.array([[0, space.domain.high[1], space.domain.high[2]], [1, 0, space.domain.low[2]]])
    zero = ZeroOrderGradient(search)
    rows, moved = zero.one_step_away(Z)
    assert (rows >= space.domain.low).all() and (rows <= space.domain.high).all()
    assert (np.sign(moved) == [[-1, -1], [1, 1]]).all()
    g = zero(Z, search.respond(Z), np.zeros(2, dtype=int))
    np.testing.assert_allclose(g[:, 1:], [[2, 3 * space.domain.steps[2]]] * 2, rtol=1e-6)
    assert (g[:, 0] == 0).all()


def test_gradient_of_labels_is_that_of_the_one_hot_class(models, small):
    model = models.LabelsOnly(lambda X: (X[:, 1] >= 2).astype(int))
    search = make_search(model, small, [0])
    Z = np.array([[0.0, 1, 0], [0.0, 2, 0], [0.0, 4, 0]])
    run = TwoPhase(
        search,
        np.random.default_rng(0),
        ZeroOrderGradient(search),
        max_iter=10,
        n_local=1,
        step=1,
        decay=0.5,
        update_interval=5,
    )
    first, second = np.zeros((3, 1)), np.ones((3, 1))
    g1, g2, _ = run.both_gradients(Z, first, second)
    # Losing the label one step up is a loss of confidence; one step down from 2 is not looked at.
    np.testing.assert_array_equal(g1[:, 1], [-1, 0, 0])
    np.testing.assert_array_equal(g1, g2)


@pytest.mark.parametrize(
    ("scores", "response", "column", "sign"),
    [
        ([[0.7]], "predict_proba", 0, 1),
        ([[0.5]], "predict_proba", 0, -1),
        ([[-2.0]], "decision_function", 0, -1),
        ([[0.1, 0.7, 0.2]], "predict_proba", 1, 1),
    ],
)
def test_sign_rule(scores, response, column, sign):
    columns_, signs = predicted(np.array(scores), response)
    assert (columns_[0], signs[0]) == (column, sign)


def two_phase(search, gradient=None, **params):
    settings = {"max_iter": 10, "step": 1, "decay": 0.5}
    settings |= {"n_local": 20, "update_interval": 5} | params
    gradient = gradient or ZeroOrderGradient(search)
    return TwoPhase(search, np.random.default_rng(0), gradient, **settings)


@slow_sample
@pytest.mark.parametrize("threshold", [0.2, pytest.param(None, marks=SAMPLE)])
def test_lockstep_equals_one_at_a_time(threshold):
    data = make_biased_classification(random_state=0)
    search = make_search(data.estimator, data.data, ["sex"], threshold=threshold)
    run = two_phase(search)
    seeds = cluster_seeds(search.space, np.random.default_rng(0))[:12]
    together = run.global_phase(seeds)
    fresh = [make_search(data.estimator, data.data, ["sex"], threshold=threshold) for _ in seeds]
    alone = [two_phase(o).global_phase(z[None]) for o, z in zip(fresh, seeds, strict=True)]
    assert 0 < len(together.Z) <= 12
    for name in ("Z", "first", "second"):
        # In lockstep, discriminatory inputs come in the order of the steps that they took.
        a = getattr(together, name)
        b = np.concatenate([getattr(one, name) for one in alone])
        rows = (
            np.column_stack([together.Z, a]),
            np.column_stack([np.concatenate([one.Z for one in alone]), b]),
        )
        assert sorted(map(tuple, rows[0])) == sorted(map(tuple, rows[1]))


def test_global_phase_lowers_the_confidence():
    X, y = numeric()
    model = LogisticRegression().fit(X, y > np.quantile(y, 0.5))
    search = make_search(model, X, [0])
    run = two_phase(search, max_iter=1)
    seeds = search.space.sample(100, np.random.default_rng(0))
    seeds = seeds[~search.evaluate(seeds).verdict]
    moved = []
    run.move = lambda x, steps, first, second: moved.append((x, steps)) or x
    run.global_phase(seeds)
    x, steps = moved[0]
    before = model.predict_proba(x)
    after = model.predict_proba(x + 1e-3 * steps)
    winner = before.argmax(axis=1)
    rows = np.arange(len(x))
    assert (after[rows, winner] < before[rows, winner]).all()


def test_regressors_move_their_outputs_apart(models):
    def effect(X):
        return X[:, 0] * (X[:, 1] + 2 * X[:, 2]) - 5.0 * X[:, 1]

    X = np.array([[s, a, b] for s in (0, 1) for a in range(20) for b in range(20)], dtype=float)
    auditor = MAFTAuditor(
        models.Regressor(effect), sensitive_features=[0], threshold=50, n_global=20, random_state=0
    )
    auditor.fit(X)
    # 57 is reached at one corner alone; only a corner of the domain is above the threshold.
    assert auditor.n_found_ > 0
    assert auditor.fairness_degree_ == 57


def test_loss_gradient_divides_by_the_confidence():
    X, y = numeric()
    model = LogisticRegression().fit(X, y > y.mean())
    search = make_search(model, X, [0])
    output = AnalyticGradient(model, search.space, "predict_proba")
    Z = search.space.sample(10, np.random.default_rng(0))
    scores, column = search.respond(Z), np.zeros(10, dtype=int)
    loss = LossGradient(search, output)(Z, scores, column)
    expected = output(Z, scores, column) / np.maximum(scores, 1 - scores)
    np.testing.assert_allclose(loss, expected)


def test_probabilities_survive_gradients_of_zero():
    data = make_biased_classification(random_state=0)
    search = make_search(data.estimator, data.data, ["sex"])
    run = two_phase(search, lambda Z, scores, column: np.zeros(Z.shape))
    Z = search.space.sample(5, np.random.default_rng(0))
    p = run.probabilities(Z, np.zeros((5, 1)), np.ones((5, 1)))
    np.testing.assert_allclose(p, 1 / len(search.space.non_sensitive))


def test_round_robin_takes_one_of_each_cluster():
    assert round_robin(np.array([0, 0, 0, 1, 2, 2])).tolist() == [0, 3, 4, 1, 5, 2]


def test_seeds_are_valid_unique_and_in_the_domain():
    X, _ = frame()
    X = pd.concat([X, X], ignore_index=True)
    space = InputSpace(bounds={"age": (30, 50)}, constraint=lambda rows: rows["income"] < 5).fit(
        X, ["sex"]
    )
    Z = cluster_seeds(space, np.random.default_rng(0))
    assert len(np.unique(Z[:, space.non_sensitive], axis=0)) == len(Z) > 50
    assert (space.domain.low <= Z).all() and (Z <= space.domain.high).all() and space.valid(Z).all()


# Auditors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MAFT_AND_SLOW)
@pytest.mark.parametrize("widest, max_queries", some([(20, 1000), (100, 1000), (2, 4000)]))
def test_constraint_and_as_many_rows_as_seeds(kind, widest, max_queries):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 100, (2000, 2)), np.arange(2000) % 2])
    X[:1200, 0] %= widest
    y = X[:, 0] + X[:, 1] + 30 * X[:, 2] > 110
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    auditor = kind(
        model,
        sensitive_features=[2],
        max_queries=max_queries,
        random_state=0,
        space=InputSpace(constraint=lambda rows: rows[:, 0] < widest),
    )
    assert auditor.fit(X).n_inputs_ > 100


def planted():
    """Makers and seeds: in the default tier one of each, in the sample of CI one more."""
    for make in (make_biased_classification, make_biased_regression):
        for seed in range(5):
            first = make is make_biased_regression and seed == 0
            name = "sample " * (seed == 1) + f"{make.__name__} {seed}"
            yield pytest.param(make, seed, id=name, marks=[] if first else [pytest.mark.slow])


@slow_sample
@pytest.mark.parametrize("make, seed", list(planted()))
def test_maft_finds_the_planted_pocket(make, seed):
    data = make(random_state=seed)
    # A tenth of the largest effect of a regression: 5% of uniform inputs pass it.
    threshold = 5.0 if make is make_biased_regression else None
    auditor = MAFTAuditor(data.estimator, threshold=threshold, random_state=seed).fit(data.data)
    assert auditor.n_queries_ <= 20_000
    assert auditor.n_found_ >= 400
    assert auditor.fairness_degree_ >= 0.6 * data.fairness_degree


@slow_sample
@pytest.mark.parametrize("cls", MAFT_AND_SLOW)
def test_finds_are_confirmed_by_the_model(cls):
    X, y = frame()
    steps = columns(StandardScaler(), OneHotEncoder())
    model = make_pipeline(steps, LogisticRegression()).fit(X, y > np.median(y))
    params = {"sensitive_features": ["sex"], "n_global": 40, "n_local": 10, "random_state": 0}
    auditor = cls(model, **params).fit(X)
    assert auditor.n_found_ > 100
    first, second = auditor.discriminatory_inputs_, auditor.counterfactuals_
    assert (model.predict(first) != model.predict(second)).all()
    again = cls(model, **params).fit(X)
    pd.testing.assert_frame_equal(again.discriminatory_inputs_, first)


@slow_sample
@pytest.mark.parametrize("cls", some(WHITE), ids=lambda cls: cls.__name__)
def test_own_gradient(cls):
    X, y = numeric()
    model = LogisticRegression().fit(X, y > y.mean())
    shapes = []

    def gradient(rows):
        shapes.append(rows.shape)
        p = model.predict_proba(rows)[:, 1:]
        return p * (1 - p) * model.coef_

    # By inputs, not by queries: `predict` is asked about what a black box shows, and costs some.
    params = {"sensitive_features": [0], "max_inputs": 200, "random_state": 0}
    own = cls(SVC_free(model), gradient=gradient, **params).fit(X)
    auto = cls(model, **params).fit(X)
    assert own.n_found_ == auto.n_found_ > 0
    assert all(shape[1] == 4 for shape in shapes)
    wrong = cls(model, gradient=lambda rows: np.zeros(3), **params)
    with pytest.raises(ValueError, match=r"gradient= must return.*shape.*got shape \(3,\)"):
        wrong.fit(X)


class SVC_free:
    """A black box: the answers of a model, and nothing else."""

    def __init__(self, model):
        self.model = model

    def predict(self, X):
        return self.model.predict(X)

    def predict_proba(self, X):
        return self.model.predict_proba(X)

    @property
    def classes_(self):
        return self.model.classes_

    def __sklearn_tags__(self):
        return self.model.__sklearn_tags__()


@pytest.mark.parametrize("cls", WHITE, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DecisionTreeClassifier(), "got DecisionTreeClassifier.*MAFTAuditor"),
        (SVC(), "got SVC.*MAFTAuditor"),
        (make_pipeline(PolynomialFeatures(), LogisticRegression()), "mix columns.*MAFTAuditor"),
        (
            make_pipeline(FunctionTransformer(np.sqrt), LogisticRegression()),
            "or bend real ones.*MAFTAuditor",
        ),
    ],
    ids=["tree", "svc", "products", "roots"],
)
def test_black_box_is_refused_before_the_first_query(cls, model, message, monkeypatch):
    X, y = numeric()
    model = model.fit(X, y > y.mean())
    monkeypatch.setattr(
        "skfairtest.oracle._model.Model._call", lambda *args: pytest.fail("was asked")
    )
    with pytest.raises(ValueError, match=message):
        cls(model, sensitive_features=[0]).fit(X)


def test_linear_steps_that_mix_columns_are_fine():
    X, y = numeric()
    model = make_pipeline(StandardScaler(), PCA(3), LinearRegression()).fit(X, y)
    check_against_differences(model, X, [0])


BAD = [
    (MAFTAuditor, {"n_global": 0}, "n_global.*at least 1.*got 0"),
    (MAFTAuditor, {"step": 0}, "step must be a number in .1e-5, 1e9.*got 0"),
    (EIDIGAuditor, {"max_iter": 0.5}, "max_iter.*whole.*0.5"),
    (EIDIGAuditor, {"gradient": "torch"}, "'auto' or a callable.*'torch'.*MAFTAuditor"),
    (ADFAuditor, {"gradient": np.ones(3)}, "'auto' or a callable"),
    (ADFAuditor, {"step": -1}, "step.*got -1"),
]


@pytest.mark.parametrize(("cls", "params", "message"), BAD)
def test_bad_parameters(cls, params, message):
    X, y = numeric()
    model = LogisticRegression().fit(X, y > y.mean())
    with pytest.raises(ValueError, match=message):
        cls(model, sensitive_features=[0], **params).fit(X)


@pytest.mark.parametrize("cls", TESTERS, ids=lambda cls: cls.__name__)
def test_fewer_rows_than_clusters(cls, models):
    X, _ = numeric(3)
    X[:, 0] = [0, 1, 0]
    model = models.Regressor(lambda X: X[:, 0])
    with pytest.raises(ValueError, match="4 clusters.*n_samples=3"):
        cls(model, sensitive_features=[0]).fit(X)
    assert model.calls == 0


def test_probabilities_that_do_not_add_up(models):
    X, _ = numeric()
    model = models.Proba(lambda X: np.column_stack([0.5 + 0 * X[:, 0], 0.9 - 0.2 * X[:, 0]]))
    with pytest.raises(
        EstimatorFailedError, match=r"add up to 1 in each row; got \[0.5, .*1\.[24]"
    ):
        MAFTAuditor(model, sensitive_features=[0], max_queries=10_000).fit(X)
    assert model.rows < 100
