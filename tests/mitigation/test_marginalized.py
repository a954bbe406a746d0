"""Averaging sensitive columns out: what is exact, what is shown to the model, what is refused."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from conformance import assert_conforms
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tiers import SAMPLE, slow_sample, some

from skfairtest import (
    CertifiedAuditor,
    Implies,
    InputSpace,
    Is,
    MarginalizedClassifier,
    MarginalizedRegressor,
    RandomAuditor,
    SBFTAuditor,
    certify,
)
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.mitigation._averaging import averages

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SEX = {"sensitive_features": "sex"}


@pytest.fixture
def grid():
    """Whole numbers, column 0 (two values) and 1 (three) sensitive, and targets of all columns."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, [2, 3, 4, 5], (300, 4)).astype(float)
    score = X[:, 2] + 2 * X[:, 0] * (X[:, 3] > 2) - X[:, 1] * (X[:, 2] > 1) + X[:, 3] / 3
    return X, score, (score > np.median(score)).astype(int)


def every_input(X):
    return np.array(list(itertools.product(*(np.unique(column) for column in X.T))))


def twins_of(X, columns, values):
    """X with columns set to each combination in turn."""
    tables = []
    for combination in values:
        table = X.copy()
        table[:, columns] = combination
        tables.append(table)
    return tables


# What is predicted -----------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("weights", ["data", "uniform"])
def test_prediction_is_the_average_over_the_values(grid, strength, weights):
    X, score, _ = grid
    model = MarginalizedRegressor(
        DecisionTreeRegressor(random_state=0), sensitive_features=[0, 1], strength=strength,
        weights=weights,
    ).fit(X, score)  # fmt: skip
    inner = DecisionTreeRegressor(random_state=0).fit(X, score)
    values, counts = np.unique(X[:, :2], axis=0, return_counts=True)
    shares = counts / len(X) if weights == "data" else np.full(len(values), 1 / len(values))
    mean = sum(
        share * inner.predict(table)
        for share, table in zip(shares, twins_of(X, [0, 1], values), strict=True)
    )
    assert_allclose(model.predict(X), strength * mean + (1 - strength) * inner.predict(X))
    assert_allclose(model.values_["weight"], shares)
    assert_array_equal(model.values_[[0, 1]], values)


@pytest.mark.parametrize("strength", [0.0, 0.25, 0.9, 1.0])
@pytest.mark.parametrize(
    "inner",
    [
        LogisticRegression(),
        RandomForestClassifier(10, random_state=0),
        HistGradientBoostingClassifier(max_iter=10),
        MLPClassifier((7,), max_iter=20, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_disparity_is_exactly_what_strength_leaves(grid, inner, strength):
    X, _, y = grid
    model = MarginalizedClassifier(inner, sensitive_features=[0, 1], strength=strength).fit(X, y)
    values = list(itertools.product(range(2), range(3)))
    every = np.vstack(twins_of(every_input(X[:, 2:] @ np.eye(2)).repeat(1, axis=0), [], [()]))
    every = np.vstack(twins_of(np.column_stack([np.zeros((len(every), 2)), every]), [0, 1], values))
    shape = (len(values), -1)
    now = model.predict_proba(every)[:, 1].reshape(shape)
    before = model.estimator_.predict_proba(every)[:, 1].reshape(shape)
    spread, original = now.max(axis=0) - now.min(axis=0), before.max(axis=0) - before.min(axis=0)
    assert original.max() > 0.01
    assert_allclose(spread, (1 - strength) * original, rtol=0, atol=1e-15)
    if strength == 1:
        assert (now == now[0]).all()
    if strength == 0:
        assert_array_equal(now, before)


def test_twins_are_equal_to_the_last_bit_wherever_they_stand():
    """A matrix product gives a row other last bits elsewhere in a table, on most machines."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1001, 13))
    X[:, 0] = rng.integers(0, 3, 1001)
    model = MarginalizedClassifier(LogisticRegression(), sensitive_features=[0])
    model.fit(X, X[:, :5].sum(axis=1) > 1)
    twins = X * np.where(np.arange(13) == 0, 0, 1) + (np.arange(13) == 0)
    p = model.predict_proba(np.vstack([X, twins[::-1]]))
    assert_array_equal(p[:1001], p[1001:][::-1])


@pytest.mark.parametrize("container", ["pandas", "polars"])
@pytest.mark.parametrize("strength", some([0.4, 1.0]))
def test_mixed_frames(mixed, pipeline_of, container, strength):
    X, target = mixed
    y = (target > target.median()).to_numpy()
    sensitive = ["sex", "member", "region"]  # strings, booleans, categories, missing ones too
    rows = np.arange(len(X))
    flipped = X.assign(
        sex=np.where(X["sex"] == "male", "female", "male"), member=~X["member"],
        region=X["region"].to_numpy()[np.roll(rows, 1)],
    )  # fmt: skip
    flipped["region"] = pd.Categorical(flipped["region"], X["region"].cat.categories)
    if container == "polars":
        polars = pytest.importorskip("polars")
        X, flipped = (
            polars.DataFrame(
                table.astype({"region": object}).replace({np.nan: None}).to_dict("list")
            )
            for table in (X, flipped)
        )
    inner = pipeline_of(RandomForestClassifier(10, random_state=0))
    if container == "polars":  # older column transformers take pandas frames alone
        to_pandas = FunctionTransformer(lambda X: pd.DataFrame(X.to_dict(as_series=False)))
        inner = make_pipeline(to_pandas, inner)
    model = MarginalizedClassifier(inner, sensitive_features=sensitive, strength=strength)
    model.fit(X, y)
    difference = model.predict_proba(X) - model.predict_proba(flipped)
    inside = model.estimator_.predict_proba(X) - model.estimator_.predict_proba(flipped)
    assert np.abs(inside).max() > 0.1
    assert_allclose(difference, (1 - strength) * inside, rtol=0, atol=1e-15)
    assert model.sensitive_features_ == sensitive
    assert model.values_["weight"].sum() == pytest.approx(1)
    assert list(model.values_.columns) == [*sensitive, "weight"]
    with pytest.raises(ValueError, match="columns of fit|feature names"):
        model.predict(X[list(X.columns)[::-1]])
    other = X.to_numpy() if container == "pandas" else mixed[0]
    with pytest.raises(TypeError, match="same kind of table"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an array has no names
        model.predict(other)


def test_rows_that_differ_in_kind_alone_are_told_apart():
    """None and NaN, 1 and True: equal for pandas, not for every encoder."""

    class Kinds(BaseEstimator):
        _estimator_type = "regressor"

        def __sklearn_tags__(self):
            return Ridge().__sklearn_tags__()

        def fit(self, X, y=None):
            self.fitted_ = True
            return self

        def predict(self, X):
            kinds = {type(None): 1.0, float: 2.0, int: 3.0, bool: 4.0, str: 5.0}
            return np.array([kinds[type(value)] for value in X["c"]])

    for listed in ([None, np.nan, 1, True, "a"] * 4, [None, np.nan, 1, 2] * 5):
        kinds = pd.Series(listed, dtype=object)
        X = pd.DataFrame({"sex": ["f", "m"] * 10, "c": kinds})
        model = MarginalizedRegressor(Kinds(), **SEX).fit(X, np.arange(20.0))
        assert_array_equal(model.predict(X), Kinds().predict(X))


def test_a_model_that_ignores_the_columns_keeps_its_predictions(grid):
    X, score, _ = grid
    inner = Ridge().fit(X * [0, 0, 1, 1], score)
    for strength in (0.3, 1.0):
        model = MarginalizedRegressor(
            FrozenEstimator(inner), sensitive_features=[0, 1], strength=strength
        ).fit(X)
        X_some = X[:50] * [1, 1, 1, 1]
        assert_allclose(model.predict(X_some), inner.predict(X_some), rtol=1e-14)


def test_one_hot_columns_move_as_a_group(grid):
    X, score, _ = grid
    table = pd.DataFrame(X[:, 2:], columns=["a", "b"])
    table[["race_x", "race_y", "race_z"]] = np.eye(3)[X[:, 1].astype(int)]
    model = MarginalizedRegressor(DecisionTreeRegressor(), sensitive_features="race")
    model.fit(table, score)
    assert model.one_hot_ == {"race": ["race_x", "race_y", "race_z"]}
    assert model.values_["race"].tolist() == ["x", "y", "z"]
    mean = 0
    for k, share in enumerate(np.bincount(X[:, 1].astype(int)) / len(X)):
        other = table.copy()
        other[["race_x", "race_y", "race_z"]] = np.eye(3)[np.full(len(X), k)]
        mean = mean + share * model.estimator_.predict(other)
    assert_allclose(model.predict(table), mean)
    array = table.to_numpy()
    groups = {"race": [2, 3, 4]}
    by_place = clone(model).set_params(sensitive_features=[3], one_hot=groups).fit(array, score)
    assert_allclose(by_place.predict(array), model.predict(table))


# What the model is shown -----------------------------------------------------------------------


def test_one_call_for_all_values(grid, models):
    X, _, _ = grid
    inner = models.Regressor(lambda X: X[:, 0] * X[:, 2])
    n_different = len(np.unique(X[:, 2:], axis=0))
    for strength in (0.5, 1.0):
        model = MarginalizedRegressor(
            FrozenEstimator(inner), sensitive_features=[0, 1], strength=strength
        ).fit(X)
        inner.calls = inner.rows = 0
        model.predict(X)
        # Rows that are equal but for the sensitive columns are shown once.
        assert (inner.calls, inner.rows) == (1, 6 * n_different)


@pytest.mark.parametrize("most", [1, 7, 50, 10_000])
def test_chunks_change_nothing(grid, monkeypatch, models, most):
    X, score, _ = grid
    numbers = np.column_stack([X, np.arange(len(X))])
    model = MarginalizedRegressor(
        DecisionTreeRegressor(random_state=0), sensitive_features=[0, 1], strength=0.3, max_values=4
    ).fit(numbers, score)
    whole = model.predict(numbers)
    monkeypatch.setattr(averages, "MOST_ROWS", most)
    assert_array_equal(model.predict(numbers), whole)


def test_memory_is_bounded_by_rows_of_a_call(grid, monkeypatch, models):
    X, _, _ = grid
    sizes = []

    def function(X):
        sizes.append(len(X))
        return X[:, 0]

    monkeypatch.setattr(averages, "MOST_ROWS", 60)
    inner = FrozenEstimator(models.Regressor(function))
    model = MarginalizedRegressor(inner, sensitive_features=[0, 1], strength=0.5, max_values=3)
    model.fit(X).predict(X)
    assert max(sizes) <= 60 and len(sizes) > 3


# Values and weights ----------------------------------------------------------------------------


def test_weights_of_rows_count_and_rows_of_no_weight_do_not():
    X = np.array([[0, 1], [0, 2], [1, 3], [2, 4]], dtype=float)
    weights = [1.0, 2.0, 1.0, 0.0]
    model = MarginalizedRegressor(LinearRegression(), sensitive_features=[0])
    values = model.fit(X, X[:, 1], sample_weight=weights).values_
    assert values[0].tolist() == [0, 1] and values["weight"].tolist() == [0.75, 0.25]
    model.set_params(weights="uniform").fit(X, X[:, 1], sample_weight=weights)
    assert model.values_["weight"].tolist() == [0.5, 0.5]
    inner = LinearRegression().fit(X, X[:, 1], sample_weight=weights)
    assert_allclose(model.estimator_.coef_, inner.coef_)


def test_many_values_of_a_number_are_its_quantiles():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.exponential(size=1000), rng.normal(size=1000)])
    model = MarginalizedRegressor(LinearRegression(), sensitive_features=[0], max_values=50)
    model.fit(X, X.sum(axis=1))
    kept = model.values_[0].to_numpy()
    assert len(kept) == 50 and model.values_["weight"].sum() == pytest.approx(1)
    expected = np.quantile(X[:, 0], (np.arange(50) + 0.5) / 50, method="inverted_cdf")
    assert_array_equal(kept, expected)
    # The mean over them is nearly that over all, for a linear model the mean value.
    model.set_params(strength=1.0)
    assert_allclose(model.predict(X), X[:, 1] + X[:, 0].mean(), atol=0.02)
    assert len(clone(model).set_params(max_values=None).fit(X, X[:, 1]).values_) == 1000


@pytest.mark.parametrize("strength", some([0.5, 1.0]))
def test_three_hundred_values(strength):
    rng = np.random.default_rng(0)
    names = np.array([f"v{k:03}" for k in range(300)], dtype=object)
    X = pd.DataFrame({"origin": names[rng.integers(0, 300, 3000)], "x": rng.normal(size=3000)})
    X.loc[:1500, "origin"] = "v007"
    y = X["x"] + X["origin"].str[1:].astype(float) / 100
    coded = make_pipeline(
        sklearn.compose.make_column_transformer(
            (sklearn.preprocessing.OneHotEncoder(handle_unknown="ignore"), ["origin"]),
            remainder="passthrough",
        ),
        Ridge(),
    )
    model = MarginalizedRegressor(coded, sensitive_features="origin", strength=strength).fit(X, y)
    assert len(model.values_) <= 100
    # One that many rows have keeps its weight.
    weight = model.values_.set_index("origin").loc["v007", "weight"]
    assert weight == pytest.approx((X["origin"] == "v007").mean(), abs=0.01)
    other = X.assign(origin=np.roll(X["origin"], 1))
    inside = model.estimator_.predict(X) - model.estimator_.predict(other)
    assert_allclose(model.predict(X) - model.predict(other), (1 - strength) * inside, atol=1e-12)
    assert (
        len(clone(model).set_params(max_values=None).fit(X, y).values_)
        == X["origin"].nunique()
        > 290
    )


def test_strength_may_be_changed_after_fit(grid):
    X, score, _ = grid
    model = MarginalizedRegressor(DecisionTreeRegressor(), sensitive_features=[0]).fit(X, score)
    model.set_params(strength=0.0)
    assert_array_equal(model.predict(X), model.estimator_.predict(X))


# Kinds of models -------------------------------------------------------------------------------


def test_decision_scores_where_there_are_no_probabilities(grid):
    X, _, y = grid
    model = MarginalizedClassifier(RidgeClassifier(), sensitive_features=[0], strength=0.5)
    model.fit(X, y)
    assert not hasattr(model, "predict_proba")
    scores = model.decision_function(X)
    other = model.decision_function(X * [-1, 1, 1, 1] + [1, 0, 0, 0])
    inside = model.estimator_.decision_function(X) - model.estimator_.decision_function(
        X * [-1, 1, 1, 1] + [1, 0, 0, 0]
    )
    assert_allclose(scores - other, inside / 2, atol=1e-15)
    assert_array_equal(model.predict(X), (scores > 0).astype(int))
    # One score a row: where there are probabilities, predict goes by them.
    with_both = MarginalizedClassifier(LogisticRegression(), sensitive_features=[0]).fit(X, y)
    assert not hasattr(with_both, "decision_function")
    assert_array_equal(with_both.predict(X), with_both.predict_proba(X).argmax(axis=1))
    assert_allclose(np.exp(with_both.predict_log_proba(X)), with_both.predict_proba(X))


def test_several_classes(grid):
    X, score, _ = grid
    y = np.array(["low", "middle", "high"])[np.digitize(score, [1, 3])]
    for inner in (LogisticRegression(), LinearSVC(), SVC()):
        model = MarginalizedClassifier(inner, sensitive_features=[0, 1]).fit(X, y)
        assert list(model.classes_) == ["high", "low", "middle"]
        assert model.score(X, y) > 0.6
        twin = np.column_stack([1 - X[:, 0], 2 - X[:, 1], X[:, 2:]])
        assert_array_equal(model.predict(X), model.predict(twin))
    pairs = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo"))
    with pytest.raises(ValueError, match="scores of pairs of classes.*'ovr'"):
        MarginalizedClassifier(pairs, sensitive_features=[0]).fit(X, y)


def test_thresholds_stand_around_it(grid):
    X, _, y = grid
    tuned = FixedThresholdClassifier(LogisticRegression(), threshold=0.7)
    with pytest.raises(ValueError, match="Put FixedThresholdClassifier around Marginalized"):
        MarginalizedClassifier(tuned, sensitive_features=[0]).fit(X, y)
    model = MarginalizedClassifier(LogisticRegression(), sensitive_features=[0])
    around = FixedThresholdClassifier(model, threshold=0.7).fit(X, y)
    assert_array_equal(around.predict(X), model.fit(X, y).predict_proba(X)[:, 1] >= 0.7)


def test_votes_where_there_are_labels_only(models):
    X = np.array([[0, 1], [0, 2], [1, 1], [2, 1], [2, 2]], dtype=float)
    inner = models.LabelsOnly(lambda X: np.where(X[:, 0] == 0, "a", "b"))
    y = np.array(["a", "a", "b", "b", "b"])
    model = MarginalizedClassifier(FrozenEstimator(inner), sensitive_features=[0]).fit(X, y)
    assert not hasattr(model, "predict_proba") and not hasattr(model, "decision_function")
    assert model.predict(X).tolist() == ["b"] * 5  # 3 of 5 votes
    model.set_params(strength=0.4)  # a row's own label has 0.6 and its share of the votes
    assert_array_equal(model.predict(X), y)


def test_several_outputs(grid):
    X, score, _ = grid
    Y = np.column_stack([score, -2 * score])
    model = MarginalizedRegressor(LinearRegression(), sensitive_features=[0], strength=0.5)
    outputs = model.fit(X, Y).predict(X)
    assert outputs.shape == (300, 2)
    assert_allclose(outputs[:, 1], -2 * outputs[:, 0], atol=1e-9)
    assert MarginalizedRegressor(MultiOutputRegressor(Ridge()), sensitive_features=[0]).fit(X, Y)
    with pytest.raises(ValueError, match="1d array"):
        MarginalizedRegressor(
            HistGradientBoostingRegressor(max_iter=2), sensitive_features=[0]
        ).fit(X, Y)


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_single_precision_stays(grid, strength):
    X, score, _ = grid
    X = X.astype(np.float32)
    model = MarginalizedRegressor(Ridge(), sensitive_features=[0, 1], strength=strength)
    assert model.fit(X, score.astype(np.float32)).predict(X).dtype == np.float32
    auditor = certified(model, X, [0, 1])
    truth = degree_of(model, X, [0, 1], "predict")
    assert auditor.fairness_degree_ <= truth * (1 + 1e-5)
    assert truth <= auditor.fairness_degree_upper_bound_ <= truth * (1 + 1e-4)


def test_a_model_that_is_trained_already(grid):
    X, _, y = grid
    inner = GaussianNB().fit(X, y)
    model = MarginalizedClassifier(FrozenEstimator(inner), sensitive_features=[0, 1])
    without = model.fit(X).predict_proba(X)
    assert_array_equal(without, model.fit(X, y).predict_proba(X))
    assert_array_equal(model.classes_, inner.classes_)


# Pipelines, searches, metadata -----------------------------------------------------------------


def test_pipelines_inside_and_around(grid):
    X, _, y = grid
    inside = MarginalizedClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), sensitive_features=[0]
    ).fit(X, y)
    around = make_pipeline(
        StandardScaler(), MarginalizedClassifier(LogisticRegression(), sensitive_features=[0])
    ).fit(X, y)
    assert_allclose(inside.predict_proba(X), around.predict_proba(X))
    twin = X * [-1, 1, 1, 1] + [1, 0, 0, 0]
    assert_array_equal(around.predict_proba(X), around.predict_proba(twin))


def test_grid_search_over_strength(grid):
    X, _, y = grid
    model = MarginalizedClassifier(DecisionTreeClassifier(random_state=0), sensitive_features=[0])
    search = GridSearchCV(
        model,
        {"strength": [0.0, 0.5, 1.0], "estimator__max_depth": [2, 5]},
        cv=3,
        scoring="roc_auc",
    ).fit(X, y)
    scores = pd.DataFrame(search.cv_results_)
    deep = scores[scores["param_estimator__max_depth"] == 5]["mean_test_score"].to_numpy()
    assert deep[0] > deep[1] > deep[2]  # what the sensitive column tells is lost
    assert (
        search.best_estimator_.estimator_.max_depth == search.best_params_["estimator__max_depth"]
    )
    assert cross_val_score(model, X, y, cv=3).mean() > 0.7


def test_sample_weight_reaches_a_pipeline_by_metadata_routing(grid):
    X, score, _ = grid
    weights = np.linspace(0, 1, len(X))
    line = make_pipeline(StandardScaler(), Ridge())
    model = MarginalizedRegressor(line, sensitive_features=[0])
    with pytest.raises(ValueError, match="Pipeline.fit takes no sample_weight.*routing"):
        model.fit(X, score, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        line[0].set_fit_request(sample_weight=False)
        line[1].set_fit_request(sample_weight=True)
        model.fit(X, score, sample_weight=weights)
    by_hand = clone(line).fit(X, score, ridge__sample_weight=weights)
    assert_array_equal(model.estimator_[-1].coef_, by_hand[-1].coef_)
    assert model.values_["weight"][0] == pytest.approx(weights[X[:, 0] == 0].sum() / weights.sum())


def test_metadata_routing(grid):
    X, score, _ = grid
    weights = np.linspace(0, 1, len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        inner = Ridge().set_fit_request(sample_weight=True)
        model = MarginalizedRegressor(inner, sensitive_features=[0])
        model.fit(X, score, sample_weight=weights)
        assert_allclose(model.estimator_.coef_, Ridge().fit(X, score, weights).coef_)
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        nested = GridSearchCV(model, {"strength": [1.0]}, cv=2)
        assert nested.fit(X, score, sample_weight=weights).best_score_ < 1
        unweighted = MarginalizedRegressor(
            Ridge().set_fit_request(sample_weight=False), sensitive_features=[0]
        ).fit(X, score, sample_weight=weights)
        assert_allclose(unweighted.estimator_.coef_, Ridge().fit(X, score).coef_)
        assert unweighted.values_["weight"][0] != pytest.approx((X[:, 0] == 0).mean(), abs=1e-4)


# Unseen values ---------------------------------------------------------------------------------


@pytest.fixture
def people(pipeline_of, mixed):
    X, target = mixed
    X = X[["sex", "age", "income", "member", "region", "job"]].copy()
    model = MarginalizedRegressor(
        pipeline_of(Ridge()), sensitive_features=["sex", "region"], strength=0.5
    )
    return X, target, model.fit(X, target)


def test_unseen_values_are_named(people):
    X, _, model = people
    strange = X.copy()
    strange.loc[[0, 3], "sex"] = "divers"
    strange.loc[4, "sex"] = None
    with pytest.raises(
        ValueError, match=r"'sex' holds 'divers', NaN in 3 of 120.*'female', 'male'"
    ):
        model.predict(strange)


def test_unseen_values_may_be_ignored(people):
    X, target, model = people
    model.set_params(unseen="ignore")
    strange = X.copy()
    strange.loc[[0, 3], "sex"] = "divers"
    before, after = model.predict(X), model.predict(strange)
    known = ~strange.index.isin([0, 3])
    assert_array_equal(before[known], after[known])
    # The model, asked about the row as it is, has half of the weight, the same average the rest.
    inside = model.estimator_.predict(strange) - model.estimator_.predict(X)
    assert_allclose(after - before, inside / 2, atol=1e-12)
    model.set_params(strength=1.0)
    assert_array_equal(model.predict(X), model.predict(strange))


def test_unseen_one_hot_and_missing_numbers(grid):
    X, score, _ = grid
    table = pd.DataFrame(X[:, 2:], columns=["a", "b"])
    table[["race_x", "race_y", "race_z"]] = np.eye(3)[X[:, 1].astype(int)]
    model = MarginalizedRegressor(DecisionTreeRegressor(), sensitive_features="race")
    model.fit(table, score)
    none = table.assign(race_x=0.0, race_y=0.0, race_z=0.0)
    with pytest.raises(
        ValueError, match="'race' holds 'none of them' in 300 of 300.*'x', 'y', 'z'"
    ):
        model.predict(none)
    two = table.assign(race_x=1.0, race_y=1.0)
    with pytest.raises(ValueError, match="sum to more than one"):
        model.predict(two)
    model.set_params(unseen="ignore")
    for strange in (none, two):
        assert_array_equal(model.predict(strange), model.predict(table))
    by_age = MarginalizedRegressor(DecisionTreeRegressor(), sensitive_features=["a"])
    by_age.fit(table, score).predict(table.assign(a=1.7))  # a number between others is no error
    for strange, unseen in [(np.nan, "error"), (np.inf, "error"), (np.nan, "ignore")]:
        by_age.set_params(unseen=unseen)
        with pytest.raises(ValueError, match=f"(?i)'a' holds {strange} in 300.*finite numbers"):
            by_age.predict(table.assign(a=strange))


def test_missing_values_of_fit_are_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 30, 200), "x": rng.normal(size=200)})
    X["age"] = X["age"].where(X.index % 4 > 0)
    inner = HistGradientBoostingRegressor(max_iter=5)
    model = MarginalizedRegressor(inner, sensitive_features="age").fit(X, X["x"])
    missing = model.values_["age"].isna()
    assert missing.sum() == 1 and model.values_["weight"][missing].item() == pytest.approx(0.25)
    assert_array_equal(model.predict(X), model.predict(X.assign(age=25.0)))


# Bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strength": -0.1}, r"strength must be a number in \[0, 1\]; got -0.1"),
        ({"strength": 1.5}, "strength must be"),
        ({"strength": np.nan}, "strength must be"),
        ({"strength": True}, "strength must be"),
        ({"strength": "all"}, "strength must be"),
        ({"weights": "rows"}, r"weights must be one of \['data', 'uniform'\]; got 'rows'"),
        ({"weights": [0.5, 0.5]}, "weights must be one of"),
        ({"unseen": None}, "unseen must be one of"),
        ({"max_values": 0}, "max_values must be None or a whole number of at least 1"),
        ({"sensitive_features": "auto"}, "auto"),
        ({"sensitive_features": ["shoe"]}, "'shoe', which is not a column"),
        ({"sensitive_features": None}, "sensitive_features"),
        ({"sensitive_features": [0, 1, 2, 3]}, "Every column is sensitive"),
        ({"estimator": None}, r"got None. Write MarginalizedClassifier\(estimator\)"),
        ({"estimator": LogisticRegression}, "must be an instance"),
        ({"estimator": Ridge()}, "needs a classifier; got Ridge. Use MarginalizedRegressor"),
        ({"estimator": StandardScaler()}, "needs a classifier"),
    ],
)
def test_parameters_that_cannot_be(grid, settings, message):
    X, _, y = grid
    settings = {"estimator": LogisticRegression(), "sensitive_features": [0], **settings}
    with pytest.raises(ValueError, match=message):
        MarginalizedClassifier(**settings).fit(X, y)


def test_input_that_cannot_be(grid):
    X, score, y = grid
    model = MarginalizedClassifier(LogisticRegression(), sensitive_features=[0])
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        _ = model.values_
    with pytest.raises(ValueError, match="requires y"):
        model.fit(X)
    with pytest.raises(ValueError, match="one value only"):
        model.fit(X * [0, 1, 1, 1], y)
    for weights, message in (
        (np.zeros(300), "not zero everywhere"), (np.full(300, -1.0), "at least 0"),
        (np.ones(299), "299"), (np.full(300, np.nan), "300 missing values"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="y must have one value per row, 300; got 299"):
        model.fit(X, y[1:])
    with pytest.raises(ValueError, match="one target per row"):
        model.fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="KNeighborsClassifier.fit takes no sample_weight"):
        MarginalizedClassifier(KNeighborsClassifier(), sensitive_features=[0]).fit(X, y, y + 1)
    with pytest.raises(ValueError, match="needs a regressor; got LogisticRegression"):
        MarginalizedRegressor(LogisticRegression(), sensitive_features=[0]).fit(X, score)
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    with pytest.raises(ValueError, match=r"classes \[2\], which FrozenEstimator does not know"):
        MarginalizedClassifier(frozen, sensitive_features=[0]).fit(X, y + (score > 5))
    fitted = model.fit(X, y)
    with pytest.raises(ValueError, match="4 features"):
        fitted.predict(X[:, :3])
    with pytest.raises(ValueError, match="strength must be"):
        fitted.set_params(strength=2.0).predict(X)


def test_an_estimator_that_cannot_be_cloned(grid):
    X, score, _ = grid

    class Stubborn(Ridge):
        def __init__(self, alpha=1.0):
            super().__init__(alpha=alpha + 1)

    model = MarginalizedRegressor(Stubborn(), sensitive_features=[0])
    with pytest.raises(TypeError, match=r"cannot be cloned.*FrozenEstimator\(model\)"):
        model.fit(X, score)


def test_a_failed_fit_keeps_the_model(grid):
    X, _, y = grid
    model = MarginalizedClassifier(LogisticRegression(), sensitive_features=[0]).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="least populated|number of classes|one class|1 class"):
        model.fit(X, np.zeros(300, dtype=int))
    assert_array_equal(model.predict(X), before)


# Auditors and certificates ---------------------------------------------------------------------


def test_a_search_finds_nothing_at_full_strength(grid):
    X, _, y = grid
    model = MarginalizedClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), sensitive_features=[0, 1]
    ).fit(X, y)
    auditor = SBFTAuditor(model, sensitive_features=[0, 1], max_queries=2000, random_state=0)
    with pytest.warns(NoDisparityWarning):
        auditor.fit(X)
    assert auditor.fairness_degree_ == 0 and auditor.n_found_ == 0
    assert auditor.audit_rows(X).degree == 0
    inner = SBFTAuditor(model.estimator_, sensitive_features=[0, 1], max_queries=2000).fit(X)
    assert inner.fairness_degree_ > 0.1


def degree_of(model, X, columns, response):
    """The largest disparity by enumeration of the whole domain."""
    every = every_input(X)
    scores = np.asarray(getattr(model, response)(every))
    scores = scores.reshape(len(every), -1)
    frame = pd.DataFrame(every).assign(**{f"out{k}": out for k, out in enumerate(scores.T)})
    free = [j for j in range(X.shape[1]) if j not in columns]
    by_input = frame.groupby(free)[[f"out{k}" for k in range(scores.shape[1])]]
    return float((by_input.max() - by_input.min()).to_numpy().max())


CLASSIFIERS = [
    LogisticRegression(),
    DecisionTreeClassifier(max_depth=5, random_state=0),
    RandomForestClassifier(5, max_depth=4, random_state=0),
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    MLPClassifier((4,), max_iter=60, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
    RidgeClassifier(),
]
REGRESSORS = [
    Ridge(),
    DecisionTreeRegressor(max_depth=5, random_state=0),
    RandomForestRegressor(5, max_depth=4, random_state=0),
    HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5, loss="poisson"),
]


def certified(model, X, columns):
    auditor = CertifiedAuditor(
        model, sensitive_features=columns, max_queries=200, engine="numpy", random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoDisparityWarning)
        return auditor.fit(X)


#: All kinds at one strength, and a linear model, trees and a network at all three.
CASES = [(model, 0.3) for model in CLASSIFIERS + REGRESSORS]
CASES += [
    (model, end) for model in (CLASSIFIERS[2], CLASSIFIERS[4], REGRESSORS[0]) for end in (0.0, 1.0)
]


@pytest.mark.parametrize(
    ("inner", "strength"), some(CASES, 3), ids=lambda value: type(value).__name__
)
def test_certificates_are_what_enumeration_gives(grid, inner, strength):
    X, score, y = grid
    X = X[:, [0, 2, 3]]
    regresses = any(inner is model for model in REGRESSORS)
    kind = MarginalizedRegressor if regresses else MarginalizedClassifier
    target = np.exp(score / 5) if regresses else y
    model = kind(inner, sensitive_features=[0], strength=strength).fit(X, target)
    response = "predict" if regresses else "predict_proba"
    response = response if hasattr(model, response) else "decision_function"
    truth = degree_of(model, X, [0], response)
    auditor = certified(model, X, [0])
    assert auditor.certified_
    assert auditor.fairness_degree_ == pytest.approx(truth, abs=1e-12)
    assert auditor.fairness_degree_upper_bound_ >= truth - 1e-15
    assert auditor.fairness_degree_upper_bound_ == pytest.approx(truth, rel=1e-8, abs=1e-13)
    if strength == 1:
        assert auditor.fairness_degree_upper_bound_ == 0
    else:
        assert truth > 0.01
        original = degree_of(model.estimator_, X, [0], response)
        assert truth == pytest.approx((1 - strength) * original)


def test_other_audited_columns_are_refused(grid):
    X, score, y = grid
    for kind, inner, target in (
        (MarginalizedClassifier, LogisticRegression(), y),
        (MarginalizedRegressor, DecisionTreeRegressor(max_depth=3), score),
    ):
        model = kind(inner, sensitive_features=[0], strength=0.3).fit(X, target)
        for columns in ([0, 1], [1]):
            with pytest.raises(ValueError, match=r"does not average over all of \[1\]"):
                certified(model, X, columns)


def test_parts_of_what_is_averaged_over_may_be_audited(grid):
    X, _, y = grid
    model = MarginalizedClassifier(
        DecisionTreeClassifier(max_depth=6, random_state=0), sensitive_features=[0, 1], strength=0.5
    ).fit(X, y)
    auditor = certified(model, X, [1])
    assert auditor.certified_
    assert auditor.fairness_degree_ == pytest.approx(degree_of(model, X, [1], "predict_proba"))


@slow_sample
def test_certificates_in_pipelines_and_wrappers(grid):
    X, _, y = grid
    inner = MarginalizedClassifier(
        DecisionTreeClassifier(max_depth=6, random_state=0), sensitive_features=[0], strength=0.4
    )
    line = make_pipeline(StandardScaler(), inner).fit(X, y)
    search = GridSearchCV(inner, {"strength": [0.4]}, cv=2).fit(X, y)
    for model in (line, FrozenEstimator(line), search):
        auditor = certified(model, X, [0])
        assert auditor.certified_
        truth = degree_of(model, X, [0], "predict_proba")
        assert auditor.fairness_degree_ == pytest.approx(truth) and truth > 0.01
    with pytest.raises(ValueError, match="does not average over all of"):
        certified(line, X, [0, 1])
    twice = MarginalizedClassifier(inner, sensitive_features=[1], strength=0.5).fit(X, y)
    with pytest.raises(ValueError, match="average of averages"):
        certified(twice, X, [0, 1])


def test_certify_starts_from_any_auditor(grid):
    X, score, _ = grid
    model = MarginalizedRegressor(
        RandomForestRegressor(5, max_depth=4, random_state=0), sensitive_features=[0], strength=0.3
    ).fit(X, score)
    auditor = RandomAuditor(model, sensitive_features=[0], max_queries=500, random_state=0).fit(X)
    certificate = certify(auditor, engine="numpy")
    truth = degree_of(model, X, [0], "predict")
    assert certificate.certified and certificate.fairness_degree == pytest.approx(truth)


@slow_sample
def test_labels_are_bounded_by_one(grid):
    X, _, y = grid
    model = MarginalizedClassifier(
        DecisionTreeClassifier(random_state=0), sensitive_features=[0], strength=0.3
    ).fit(X, y)
    auditor = CertifiedAuditor(
        model, sensitive_features=[0], response_method="predict", max_queries=500, random_state=0
    ).fit(X)
    assert auditor.fairness_degree_upper_bound_ == 1
    # A threshold moves verdicts, not the bound of the degree.
    by_threshold = certified(model, X, [0])
    strict = CertifiedAuditor(
        model,
        sensitive_features=[0],
        threshold=0.9,
        engine="numpy",
        max_queries=500,
        random_state=0,
    ).fit(X)
    assert strict.fairness_degree_upper_bound_ == by_threshold.fairness_degree_upper_bound_


def test_values_outside_of_the_audited_domain(grid):
    X, score, _ = grid
    model = MarginalizedRegressor(
        DecisionTreeRegressor(max_depth=4, random_state=0), sensitive_features=[1], strength=0.5
    ).fit(X, score)
    narrow = {
        "space": InputSpace(bounds={1: (0, 1)}),
        "engine": "numpy",
        "random_state": 0,
        "max_queries": 500,
    }
    # Among twins in what is averaged over the average is the same number, whatever it is.
    auditor = CertifiedAuditor(model, sensitive_features=[1], **narrow).fit(X)
    small = X[X[:, 1] < 2]
    assert auditor.certified_
    assert auditor.fairness_degree_ == pytest.approx(degree_of(model, small, [1], "predict"))


@slow_sample
@pytest.mark.filterwarnings(
    "ignore::skfairtest.exceptions.ConstraintWarning", "ignore:given= does not hold"
)
def test_constraints_and_what_follows(grid):
    X, score, _ = grid
    X = pd.DataFrame(X, columns=["sex", "race", "a", "b"])
    every = pd.DataFrame(every_input(X.to_numpy()), columns=X.columns)
    model = MarginalizedRegressor(
        DecisionTreeRegressor(max_depth=6, random_state=0), sensitive_features="sex", strength=0.6
    ).fit(X, score)
    settings = {"engine": "numpy", "max_queries": 300, "random_state": 0}
    rule = Implies(Is("sex", 1), Is("a", [0, 1, 2]))
    valid = every[~((every["a"] == 3) & (every["sex"] == 1))]
    auditor = CertifiedAuditor(
        model, sensitive_features="sex", space=InputSpace(constraint=rule), **settings
    ).fit(X)
    outputs = valid.assign(out=model.predict(valid)).groupby(["race", "a", "b"])["out"]
    truth = (outputs.max() - outputs.min()).max()
    assert auditor.fairness_degree_ == pytest.approx(truth) and auditor.certified_
    space = InputSpace(twins={"sex": {1.0: {"a": 0}}})
    with pytest.raises(ValueError, match="does not average over all of .'a'"):
        CertifiedAuditor(model, sensitive_features="sex", space=space, **settings).fit(X)


@slow_sample
def test_one_hot_groups_are_certified(grid):
    X, score, _ = grid
    table = pd.DataFrame(X[:, [0, 2]], columns=["sex", "a"])
    table[["race_x", "race_y", "race_z"]] = np.eye(3)[X[:, 1].astype(int)]
    tree = DecisionTreeRegressor(max_depth=6, random_state=0)
    model = MarginalizedRegressor(tree, sensitive_features="race", strength=0.5).fit(table, score)
    settings = {"engine": "numpy", "max_queries": 300, "random_state": 0}
    auditor = CertifiedAuditor(model, sensitive_features="race", **settings).fit(table)
    inner = CertifiedAuditor(model.estimator_, sensitive_features="race", **settings).fit(table)
    assert auditor.certified_ and inner.fairness_degree_ > 0.1
    assert auditor.fairness_degree_ == pytest.approx(inner.fairness_degree_ / 2)
    # Averaged over one column of the group alone, the rows that it asks about are in no domain.
    part = MarginalizedRegressor(tree, sensitive_features="race_x", strength=0.5, one_hot=None).fit(
        table, score
    )
    with pytest.raises(ValueError, match="does not average over all of .'race'"):
        CertifiedAuditor(part, sensitive_features="race", **settings).fit(table)


class Louder(MarginalizedRegressor):
    def predict(self, X):
        return super().predict(X) + 3 * np.asarray(X)[:, 0]


def test_foreign_code_is_not_certified(grid):
    X, score, _ = grid
    tree = DecisionTreeRegressor(max_depth=3)
    louder = Louder(tree, sensitive_features=[0]).fit(X, score)
    with pytest.raises(ValueError, match="Louder is a class of test_marginalized"):
        certified(louder, X, [0])
    replaced = MarginalizedRegressor(tree, sensitive_features=[0]).fit(X, score)
    replaced.predict = lambda X: np.asarray(X)[:, 0]
    with pytest.raises(ValueError, match="predict that was replaced on the instance"):
        certified(replaced, X, [0])
    neighbours = MarginalizedClassifier(KNeighborsClassifier(), sensitive_features=[0])
    assert not CertifiedAuditor.supports(neighbours)
    assert CertifiedAuditor.supports(neighbours.set_params(estimator=LogisticRegression()))


def test_a_model_that_was_read_wrongly_is_noticed(grid, monkeypatch):
    X, score, _ = grid
    model = MarginalizedRegressor(
        DecisionTreeRegressor(max_depth=3), sensitive_features=[0], strength=0.5
    ).fit(X, score)
    says = MarginalizedRegressor._as_mixture
    monkeypatch.setattr(
        MarginalizedRegressor, "_as_mixture", lambda self: says(self)._replace(strength=0.6)
    )
    with pytest.raises(ValueError, match="its outputs differ otherwise"):
        certified(model, X, [0])


# scikit-learn ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(
            MarginalizedClassifier(LogisticRegression(), sensitive_features=[0]), marks=SAMPLE
        ),
        pytest.param(
            MarginalizedClassifier(RidgeClassifier(), sensitive_features=[0], strength=0.0),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            MarginalizedRegressor(LinearRegression(), sensitive_features=[0]),
            marks=pytest.mark.slow,
        ),
        MarginalizedRegressor(Ridge(), sensitive_features=[0], strength=0.3),
        MarginalizedRegressor(LinearRegression(), sensitive_features=[0], unseen="ignore"),
    ],
    ids=["logistic", "ridge-classifier", "linear", "ridge-in-part", "ignoring"],
)
def test_scikit_learn_checks(model):
    assert_conforms(model)


def test_a_model_of_one_class_is_sure_of_it():
    # HistGradientBoostingClassifier has a second column for no class.
    X = np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)
    model = MarginalizedClassifier(
        HistGradientBoostingClassifier(max_iter=2), sensitive_features=[0]
    ).fit(X, np.ones(60))
    assert model.predict_proba(X).tolist() == [[1.0]] * 60
    assert (model.predict(X) == 1).all()


# Unusual targets, weights and tables --------------------------------------------------------------


def some_rows(n=60):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 9, (n, 3)), columns=["a", "b", "sex"]) % [9, 9, 2]
    return X, np.where(X["a"] + 4 * X["sex"] > 6, "yes", "no")


@pytest.mark.parametrize(
    "change, error, words",
    [
        (lambda X, y: (X, np.where(y == "yes", y, None)), ValueError, "values are missing"),
        (lambda X, y: (X, np.where(y == "yes", 1.0, np.nan)), ValueError, "Input y contains NaN"),
        (lambda X, y: (X[:1], y[:1]), ValueError, "one value only"),
        (lambda X, y: (X[:0], y[:0]), ValueError, "0 sample"),
        (lambda X, y: (X.set_axis(["a", "a", "sex"], axis=1), y), ValueError, "must differ"),
        (lambda X, y: (X.set_axis(["a", 1, "sex"], axis=1), y), TypeError, "string names"),
    ],
)
def test_what_cannot_be_averaged_is_one_clear_error(change, error, words):
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    with pytest.raises(error, match=words):
        MarginalizedClassifier(tree, sensitive_features="sex").fit(*change(*some_rows()))


def test_labels_for_a_regressor_are_an_error_that_shows_them():
    X, y = some_rows()
    with pytest.raises(ValueError, match="y must hold numbers, as LinearRegression is a regressor"):
        MarginalizedRegressor(LinearRegression(), sensitive_features="sex").fit(X, y)


@pytest.mark.parametrize("weights", [-np.ones(60), np.zeros(60), np.full(60, np.nan), ["a"] * 60])
def test_weights_that_are_none_are_an_error(weights):
    X, y = some_rows()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    with pytest.raises(ValueError, match="sample_weight (must be|must hold|has 60)"):
        MarginalizedClassifier(tree, sensitive_features="sex").fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    "names, sensitive",
    [([0, 1, 2], 2), (pd.MultiIndex.from_product([["p"], ["a", "b", "sex"]]), ("p", "sex"))],
)
def test_names_that_are_no_strings(names, sensitive):
    X, y = some_rows()
    X = X.set_axis(names, axis=1)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    model = MarginalizedClassifier(tree, sensitive_features=[sensitive]).fit(X, y)
    twins = X.copy()
    twins.iloc[:, 2] = 1 - X.iloc[:, 2]
    assert (model.predict_proba(X) == model.predict_proba(twins)).all()


def test_a_series_of_another_index_is_no_name_of_a_column():
    X, y = some_rows()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    model = MarginalizedClassifier(tree, sensitive_features=X["sex"].set_axis(X.index + 5))
    with pytest.raises(ValueError, match="must name columns of X here"):
        model.fit(X, y)
