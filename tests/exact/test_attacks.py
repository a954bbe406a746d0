"""Models made to be certified wrongly: what a reader takes for granted, broken on purpose.

Each is small enough to ask about every input, and is either certified as it is or refused.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from certify_cases import LONG, certified, check_finite, exhaustive_degree, solve_alone
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
)
from sklearn.tree import DecisionTreeRegressor
from verifiers import tree_verifier

from skfairtest import InputSpace
from skfairtest.exact._composition import APART
from skfairtest.exact._dispatch import read_verifier
from skfairtest.exact._trees.link_bounds import CODES, Links, gap_of_sums, signs
from skfairtest.whitebox import _linear_models, _monotone_pieces, registry
from skfairtest.whitebox._monotone_pieces import breakpoints_of
from skfairtest.whitebox.graph import LinkedSum, Part, link_value
from skfairtest.workers._compiled import plain

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")


def table(seed=0, n=300):
    """Numbers alone: 2 x 4 x 5 x 3 inputs, and an uneven target."""
    rng = np.random.default_rng(seed)
    sizes = {"s": 2, "a": 4, "b": 5, "c": 3}
    X = pd.DataFrame({name: rng.integers(0, size, n) for name, size in sizes.items()})
    y = X["s"] * (X["a"] > 1) + np.sin(X["b"] * X["c"]) * X["s"] + 0.3 * X["a"]
    return X, (y + rng.normal(size=n) * 0.5).to_numpy()


# Signs of weights --------------------------------------------------------------------------


def boosted(seed):
    return GradientBoostingClassifier(
        n_estimators=6, max_depth=3, max_features=2, subsample=0.5, random_state=seed
    )


def vote(members, weights, several=False, X=None, y=None):
    """A vote of fitted members; probabilities may be negative by no more than rounding."""
    X, y = table() if X is None else (X, y)
    labels = np.digitize(y, np.quantile(y, [0.33, 0.66])) if several else (y > np.median(y))
    named = [(f"m{k}", member) for k, member in enumerate(members)]
    return VotingClassifier(named, voting="soft", weights=weights).fit(X, labels.astype(int)), X


#: Votes of models of one kind are one search, those of several kinds are bounded apart.
VOTES = {
    "two classes": ([boosted(0), boosted(1), boosted(2)], [1.0, -0.9, 0.2], False),
    "three classes": ([boosted(0), boosted(1), boosted(2)], [1.0, -0.1, 0.6], True),
    "all negative": ([boosted(0), boosted(1)], [-1.0, -2.0], False),
    "a forest less boosting": (
        [RandomForestClassifier(5, max_depth=3, random_state=0), boosted(1)], [1.3, -0.1], False,
    ),
    "boosting less a linear model": ([boosted(0), LogisticRegression()], [1.0, -0.1], False),
}  # fmt: skip


@pytest.mark.parametrize("kind", VOTES)
def test_votes_with_negative_weights(kind):
    model, X = vote(*VOTES[kind])
    auditor = certified(model, X, response_method="predict_proba")
    # As the search ends, without a pair that an auditor found before it.
    result, rounding = solve_alone(auditor, LONG)
    degree = exhaustive_degree(auditor)
    assert degree <= result.upper + rounding
    assert auditor.certified_
    assert auditor.fairness_degree_ == pytest.approx(degree, rel=1e-9)
    if result.reason != APART:  # members of different kinds are exact by a look at all inputs
        assert result.lower == pytest.approx(degree, rel=1e-9)
        assert result.upper + rounding <= degree * (1 + 1e-6)


def test_exponentials_with_negative_weights():
    X, y = table()
    member = HistGradientBoostingRegressor(loss="poisson", max_iter=5, max_depth=3)
    named = [(f"m{k}", clone(member).set_params(learning_rate=0.1 + 0.3 * k)) for k in range(3)]
    model = VotingRegressor(named, weights=[1.0, -2.0, 0.7]).fit(X, np.exp(y))
    check_finite(model, X)


@pytest.mark.parametrize("link", CODES)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_gaps_hold_for_weights_of_both_signs(link, sign):
    """Against random sums of twins, and bounds that are no better than they are."""
    rng = np.random.default_rng(0)
    n_parts = 3 if link == "softmax" else 1
    group = LinkedSum(link, 0.7 * sign, [Part(0.0)] * n_parts)
    turned = np.array(signs(group))
    starts, one = np.array([0, n_parts]), np.array([CODES[link]])
    links = Links(
        np.empty(0, int), np.zeros(n_parts), starts, one, np.array([group.weight]),
        np.zeros(n_parts), np.zeros(n_parts), False,
    )  # fmt: skip
    for _ in range(200):
        u, v = rng.normal(size=(2, 4, n_parts)) * 2
        outputs = [link_value(link, sums.T) * group.weight for sums in (u, v)]
        u, v = turned * u, turned * v
        D, U, V = (u - v).max(axis=0), u.max(axis=0), v.min(axis=0)
        bound = plain(gap_of_sums)(links, D, U, V)
        assert (outputs[0] - outputs[1]).max() <= bound + 1e-12
        exact = plain(gap_of_sums)(links, (u - v)[0], u[0], v[0])
        assert exact == pytest.approx(outputs[0][0] - outputs[1][0], abs=1e-12) or link == "softmax"


# Types of columns --------------------------------------------------------------------------


def wide_integers(dtype, low, high, n=400):
    """A sensitive column and one of many whole numbers, both of one type."""
    rng = np.random.default_rng(5)
    values = np.linspace(low, high, n)
    if np.dtype(dtype).kind != "f":
        values = values.round()
        values[1::10] = values[::10]  # that none repeats would be an identifier's way
    X = pd.DataFrame({"s": rng.integers(0, 2, n).astype(dtype), "v": values.astype(dtype)})
    return X, (X["s"] * np.sin(np.linspace(0, 9, n)) + rng.normal(size=n) * 0.2).to_numpy()


def behind(function, X, y):
    tree = DecisionTreeRegressor(max_depth=6, random_state=0)
    return make_pipeline(FunctionTransformer(function), tree).fit(X, y)


def degree_along(model, X, low, high):
    """The true degree where v has each of its whole numbers."""
    v = np.arange(low, high + 1)
    twins = [pd.DataFrame({"s": np.full(len(v), s), "v": v}).astype(X.dtypes) for s in (0, 1)]
    return float(np.abs(model.predict(twins[0]) - model.predict(twins[1])).max())


WRAPPED = {
    "square": (np.square, np.int32, 0, 60_000),
    "square of short ones": (np.square, np.int16, -1_500, 1_500),
    "negative": (np.negative, np.uint32, 0, 60_000),
    "negative of short ones": (np.negative, np.uint16, 0, 60_000),
    "absolute": (np.absolute, np.int16, -32_768, 32_767),
    "too large for single precision": (np.exp, np.float32, 0, 100),
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_whole_numbers_that_wrap_round_are_refused(kind):
    function, dtype, low, high = WRAPPED[kind]
    X, y = wide_integers(dtype, low, high)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="overflow|no number"):
        tree = DecisionTreeRegressor(max_depth=6, random_state=0).fit(np.abs(X.astype(float)), y)
        tree.feature_names_in_ = np.array(["s", "v"])
        certified(make_pipeline(FunctionTransformer(function).fit(X), tree), X)


@pytest.mark.parametrize(
    ("function", "dtype", "low", "high"),
    [
        (np.square, np.int32, -46_340, 46_340),
        (np.negative, np.int32, -60_000, 60_000),
        (np.absolute, np.int16, -32_767, 32_767),
        (np.sin, np.int16, -3_000, 3_000),  # in single precision
        (np.sqrt, np.uint16, 0, 60_000),
    ],
)
def test_whole_numbers_that_fit_are_certified(function, dtype, low, high):
    X, y = wide_integers(dtype, low, high)
    model = behind(function, X, y)
    auditor = certified(model, X, max_queries=40)
    assert auditor.certified_, auditor.stop_reason_
    truth = degree_along(model, X, low, high)
    assert auditor.fairness_degree_ == pytest.approx(truth, rel=1e-9)


def test_whole_numbers_of_few_values_may_wrap():
    """What is a table is what the step gives, whatever that is."""
    X = pd.DataFrame({"s": [0, 1] * 128, "v": np.arange(-128, 128)}).astype(np.int8)
    y = X["s"] * np.sin(X["v"] / 20.0)
    model = behind(np.absolute, X, y)
    auditor = certified(model, X)
    assert auditor.certified_
    assert auditor.fairness_degree_ == pytest.approx(degree_along(model, X, -128, 127), rel=1e-9)


# Pieces of steps ---------------------------------------------------------------------------


def test_places_of_waves_are_the_nearest_numbers():
    """Between two of them sin rises or falls all along, to the last number."""
    bounds = np.array([0.0]), np.array([6000.0])
    (bend,) = breakpoints_of(FunctionTransformer(np.sin), np.zeros((2, 1)), lambda: bounds)
    assert len(bend.at) == 1912
    around = np.stack([np.nextafter(bend.at, -np.inf), bend.at, np.nextafter(bend.at, np.inf)])
    heights = np.abs(np.sin(around))
    assert (heights[1] >= heights.max(axis=0) - 1e-15).all()


def test_what_rises_and_falls_between_known_places_is_refused(monkeypatch):
    """A place that is not where it is said to be, for whatever reason."""
    X = np.column_stack([np.linspace(0, 3000, 400), np.arange(400) % 2])
    model = make_pipeline(FunctionTransformer(np.sin), LinearRegression()).fit(X, X[:, 1])
    exact = _monotone_pieces._turns
    monkeypatch.setattr(_monotone_pieces, "_turns", lambda *bounds: exact(*bounds) + 1e-3)
    with pytest.raises(ValueError, match="to rise or to fall"):
        certified(model, X, [1])


# Missing values ----------------------------------------------------------------------------


@pytest.mark.services("lightgbm")
@pytest.mark.parametrize("real", [False, True], ids=["finite", "real"])
@pytest.mark.parametrize(
    "kinds",
    [("Zero", "NaN"), ("NaN", "Zero"), ("Zero", "None", "NaN"), ("None", "Zero")],
    ids=" ".join,
)
def test_trees_that_differ_in_what_is_missing(kinds, real):
    """Boosting that goes on with other settings: one column is tested in several ways."""
    import lightgbm

    rng = np.random.default_rng(0)
    n = 1500
    X = pd.DataFrame(
        {"s": rng.integers(0, 2, n), "v": rng.integers(-3, 4, n), "w": rng.integers(0, 4, n)}
    )
    X = X.astype({"v": float})
    if real:
        X["v"] += np.where((X["v"] != 0) & (rng.random(n) < 0.9), rng.normal(size=n) * 0.3, 0.0)
    y = np.sin(3 * X["v"]) * (1 + X["s"]) + (X["v"] == 0) * X["s"] * X["w"]
    model, settings = None, {"Zero": {"zero_as_missing": True}, "None": {"use_missing": False}}
    for k, kind in enumerate(kinds):
        shown = X.copy()
        if kind == "NaN":
            shown.loc[rng.random(n) < 0.2, "v"] = np.nan
        model = lightgbm.LGBMRegressor(
            n_estimators=3, num_leaves=8, min_child_samples=5, learning_rate=0.6, verbose=-1,
            n_jobs=1, **settings.get(kind, {}),
        ).fit(shown, y * (1 + k), init_model=model)  # fmt: skip
    types = model.booster_.trees_to_dataframe()
    types = set(types.loc[types["split_feature"] == "v", "missing_type"])
    assert len(types) > 1, types
    auditor = certified(model, X, max_queries=40)
    assert auditor.certified_, auditor.stop_reason_
    v = np.unique(np.concatenate([X["v"], [0.0, 1e-36, -1e-36, 1e-30], np.linspace(-4, 4, 4001)]))
    v = v[(v >= X["v"].min()) & (v <= X["v"].max())] if real else np.arange(-3.0, 4.0)
    rows = pd.MultiIndex.from_product([v, range(4)], names=["v", "w"]).to_frame(index=False)
    outputs = [model.predict(rows.assign(s=s)[["s", "v", "w"]]) for s in (0, 1)]
    truth = np.abs(outputs[0] - outputs[1]).max()
    assert auditor.fairness_degree_ >= truth * (1 - 1e-9)
    if not real:
        assert auditor.fairness_degree_ == pytest.approx(truth, rel=1e-9)


# What is read, compared with the model -----------------------------------------------------


def rare_forest(several=False):
    """A forest of deep trees, whose leaves random rows hardly ever reach."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((800, 6)), columns=list("abcdef"))
    X["s"] = rng.integers(0, 2, len(X))
    X["k"] = rng.integers(0, 1500, len(X))
    y = (
        np.sin(6 * X["a"] * X["b"]) * (X["s"] - 0.5)
        + (X["k"] == 700)
        + rng.normal(size=len(X)) * 0.1
    )
    if several:
        y = np.digitize(y, [-0.3, 0.3])
        return RandomForestClassifier(4, max_features=4, random_state=0).fit(X, y), X
    return RandomForestRegressor(4, max_features=4, random_state=0).fit(X, y), X


def read_wrongly(monkeypatch, change):
    """Have trees read with one mistake; `change` is given the nodes."""
    exact = registry.read_model

    def read(*asked):
        graph = exact(*asked)
        change(graph.outputs[0][0].parts[0].trees[0][0])
        return graph

    monkeypatch.setattr(registry, "read_model", read)


def rarest(model, nodes, space):
    """Below tests of the sensitive attribute, a node of which random rows know nothing."""
    Z = space.domain.draw(5_000, np.random.default_rng(0))
    reached = np.unique(nodes.leaves(nodes.features.transform(Z)))
    leaves = np.flatnonzero(nodes.left < 0)
    return np.setdiff1d(leaves, reached)


@pytest.mark.parametrize("several", [False, True], ids=["a number", "three classes"])
def test_rows_reach_all_leaves(several):
    """Of 4 x 500 leaves 256 random rows reach a part."""
    model, X = rare_forest(several)
    space = InputSpace().fit(X, ["s"])
    response = "predict_proba" if several else "regression"
    verifier = tree_verifier(model, space, response, False)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        Z = verifier.through(rng)
        assert np.array_equal(space.domain.clip(Z), Z)
        leaves = 0
        for tree in model.estimators_:
            own = tree.tree_
            reached = np.unique(tree.apply(space.decode(Z).to_numpy()))
            leaves += (own.children_left < 0).sum() - len(reached)
        # Boxes between two numbers next to each other in single precision hold none, as a rule.
        assert leaves <= 2
        assert len(Z) <= 2 * 4_096
        assert (
            len(np.unique(Z[:, X.columns.get_loc("k")]))
            == space.domain.high[-1] - space.domain.low[-1] + 1
        )


def test_a_column_whose_codes_hold_zero_and_whose_values_do_not():
    """It was asked with NaN, which such a model does not take."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": rng.integers(0, 2, 600), "v": rng.permutation(600) + 1000})
    model = GradientBoostingRegressor(n_estimators=3).fit(X, X["s"] * (X["v"] > 1300))
    space = InputSpace().fit(X, ["s"])
    assert space.domain.low[1] == 0  # which stands for 1000
    Z = tree_verifier(model, space, "regression", False).through(rng)
    assert space.contains(Z).all()
    assert read_verifier(model, space, "regression", False, rng)


def wrong_leaf(nodes, leaf):
    nodes.value[leaf] += 0.5


def wrong_way(nodes, leaf):
    parent = np.flatnonzero((nodes.left == leaf) | (nodes.right == leaf))
    nodes.left[parent], nodes.right[parent] = nodes.right[parent], nodes.left[parent].copy()


def wrong_threshold(nodes, leaf):
    parent = np.flatnonzero((nodes.left == leaf) | (nodes.right == leaf))
    nodes.tests.threshold[parent] *= 1.02


@pytest.mark.parametrize("mistake", [wrong_leaf, wrong_way, wrong_threshold])
@pytest.mark.parametrize("place", range(2))
def test_a_mistake_below_a_rare_test_is_seen(mistake, place, monkeypatch):
    model, X = rare_forest()
    space = InputSpace().fit(X, ["s"])

    def change(nodes):
        leaves = rarest(model, nodes, space)
        assert len(leaves) > 10
        mistake(nodes, leaves[(len(leaves) - 1) * place])

    read_wrongly(monkeypatch, change)
    with pytest.raises(ValueError, match="gives other outputs"):
        read_verifier(model, space, "regression", False, np.random.default_rng(0))


def test_a_mistake_about_a_set_of_categories_is_seen(monkeypatch):
    rng = np.random.default_rng(0)
    n = 2_000
    X = pd.DataFrame({"s": rng.integers(0, 2, n), "c": rng.integers(0, 100, n), "x": rng.random(n)})
    y = np.sin(X["c"]) * X["s"] + X["x"] * (X["c"] % 3)
    model = HistGradientBoostingRegressor(
        max_iter=5, categorical_features=["c"], min_samples_leaf=5
    ).fit(X, y)

    def change(nodes):
        deepest = np.flatnonzero(nodes.tests.category >= 0)[-1]
        own = nodes.tests.category[deepest]
        nodes.tests.left_sets[own, :50] ^= True

    read_wrongly(monkeypatch, change)
    with pytest.raises(ValueError, match="gives other outputs"):
        read_verifier(model, InputSpace().fit(X, ["s"]), "regression", False, rng)


def weigh_wrongly(monkeypatch, place):
    """Have linear models read with one wrong weight."""
    exact = _linear_models.linear_map

    def read(*asked):
        own = exact(*asked)
        weights = own.weights.copy()
        weights[place] += 0.1
        return own._replace(weights=weights)

    monkeypatch.setattr(_linear_models, "linear_map", read)


def test_a_mistake_about_one_of_many_values_is_seen(monkeypatch):
    """One column of 1,500 that a category is encoded to has another weight."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": rng.integers(0, 2, 3_000), "c": rng.permutation(3_000) % 1_500})
    steps = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    model = make_pipeline(steps, Ridge()).fit(X, X["s"] + X["c"] % 7)
    weigh_wrongly(monkeypatch, 777)
    with pytest.raises(ValueError, match="gives other outputs"):
        certified(model, X)


def test_a_mistake_about_one_piece_of_a_step_is_seen(monkeypatch):
    """A bin of 200, narrow as it is, has another weight."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 2_000), rng.normal(size=2_000) ** 9])
    bins = KBinsDiscretizer(200, encode="onehot-dense", strategy="quantile")
    steps = make_column_transformer((bins, [1]), remainder="passthrough")
    model = make_pipeline(steps, Ridge()).fit(X, X[:, 0] + np.sin(X[:, 1]))
    weigh_wrongly(monkeypatch, 100)
    with pytest.raises(ValueError, match="gives other outputs"):
        certified(model, X, [0])
