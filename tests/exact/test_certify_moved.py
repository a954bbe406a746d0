"""Certificates of moved twins: no bound is below what enumeration finds, whatever the ranks."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skfairtest import CertifiedAuditor, InputSpace, RandomAuditor, certify
from skfairtest._clock import now
from skfairtest.exact._bracket import Limits
from skfairtest.exact._dispatch import read_family, response_of
from skfairtest.exact._moved_parts import MovedParts
from skfairtest.exact._moved_trees import MovedTrees
from skfairtest.space._unaware import DropColumns, UnawareModel
from skfairtest.transports import QuantileTransport
from skfairtest.transports._ranks import GivenRanks

ROWS = 24
#: Ranks among the values of a column, and ranks that say what becomes missing.
COARSE = np.linspace(0, 1 - 2**-53, 101)
#: Ranks that stand for all: of groups of so many rows anything changes at fractions alone, beside
#: which rounding may tell groups apart.
FRACTIONS = np.array(sorted({a / b for b in range(1, ROWS + 1) for a in range(b)}))
FINE = np.unique(np.clip((FRACTIONS[:, None] + np.arange(-3, 4) * 2.0**-53).ravel(), 0, 1 - 2**-53))
FINE = np.union1d(FINE, np.linspace(0, 1 - 2**-53, 401))


def table(rng, n_groups=2, *, missing=False, rows=ROWS):
    """A few rows of few values: ties everywhere, and values that one group lacks."""
    n = rows * n_groups
    sex = np.repeat(np.arange(n_groups), rows)
    shift = rng.integers(0, 2, size=n_groups)[sex]
    whole = np.clip(rng.integers(0, 4, size=n) + shift, 0, 4).astype(float)
    if missing:
        whole[rng.random(n) < 0.15 * (1 + shift)] = np.nan
    names = np.array(["p", "q", "r"])
    job = names[np.where(rng.random(n) < 0.3, shift, rng.integers(0, 3, size=n))]
    X = pd.DataFrame({"sex": np.array(["u", "v", "w"])[sex], "whole": whole, "job": job})
    X["flag"] = (rng.random(n) < 0.3 + 0.3 * shift).astype(int)
    return X


def trees(rng, missing):
    """A random model of trees for the columns of `table`."""
    seed = int(rng.integers(1000))
    n, depth = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    last = [
        DecisionTreeRegressor(max_depth=depth, random_state=seed),
        DecisionTreeClassifier(max_depth=depth, random_state=seed),
        RandomForestRegressor(n, max_depth=depth, random_state=seed),
        RandomForestClassifier(n, max_depth=depth, random_state=seed),
        GradientBoostingRegressor(n_estimators=n, max_depth=depth, random_state=seed),
        GradientBoostingClassifier(n_estimators=n, max_depth=depth, random_state=seed),
        HistGradientBoostingRegressor(max_iter=n, min_samples_leaf=3, random_state=seed),
        HistGradientBoostingClassifier(max_iter=n, min_samples_leaf=3, random_state=seed),
    ]
    return last[int(rng.integers(4, 8)) if missing else int(rng.integers(len(last)))]


def linear(rng, missing):
    """A random linear model."""
    last = [LinearRegression(), Ridge(), LogisticRegression(C=10.0), LinearSVC()]
    return last[int(rng.integers(len(last)))]


def behind(rng, model, aware=True):
    """The model behind one of two ways to write categories as numbers."""
    text = ["sex", "job"]
    kind = OneHotEncoder(sparse_output=False) if rng.random() < 0.5 else OrdinalEncoder()
    sees = text if rng.random() < 0.7 and aware else ["job"]
    return make_pipeline(
        ColumnTransformer([("text", kind, sees), ("rest", "passthrough", ["whole", "flag"])]),
        model,
    )


def fitted(rng, X, make, aware=True):
    n_groups = X["sex"].nunique()
    missing = bool(X["whole"].isna().any())
    model = make(rng, missing)
    if missing and isinstance(model, (GradientBoostingRegressor, GradientBoostingClassifier)):
        model = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=3)
    filled = X["whole"].fillna(2.5).to_numpy()
    y = filled * rng.normal(1, 1) + (X["job"] == "p") * filled + rng.normal(size=len(X))
    y = y + rng.normal(0, n_groups, size=n_groups)[X["sex"].factorize()[0]] * X["flag"]
    if is_classifier(model):
        y = np.digitize(y, np.quantile(y, [0.5] if rng.random() < 0.7 else [0.3, 0.6]))
    if not aware:
        return without_the_group(behind(rng, model, False).fit(X.drop(columns="sex"), y))
    return behind(rng, model).fit(X, y)


def answers(model, response, rows):
    if response == "regression":
        return model.predict(rows)[:, None]
    said = getattr(model, response)(rows)
    if said.ndim == 1:
        return said[:, None]
    return said[:, 1:] if said.shape[1] == 2 else said


def moves(space, flag):
    """How the transport moves codes of a column, among the rows with one value of the flag."""
    transport = space.twins_.moved.transport
    key = str(int(flag)) if len(transport.by_) else ""
    maps = transport.maps_.get(key, transport.maps_[""])

    def move(j, codes, own, g, ranks, gone):
        place = transport.moving_.tolist().index(j)
        given = GivenRanks(ranks, gone)
        return maps[place].move(space.layout.columns[j], codes, own, g, given, j)

    return move


def destinations(space, j, own, code, move):
    """All that a value and its moved ones may be, (n, n_groups): by trying many ranks."""
    moved = space.twins_.moved
    n_groups = len(moved.codes)
    if j not in moved.moving:
        return np.full((1, n_groups), code)
    column = space.layout.columns[j]
    has_missing = column.missing is not None and not column.is_category
    if has_missing:
        ranks, gone = (part.ravel() for part in np.meshgrid(COARSE, COARSE))
    else:
        ranks, gone = FINE, np.zeros(len(FINE))
    codes = np.full(len(ranks), code)
    after = np.column_stack(
        [codes if g == own else move(j, codes, own, g, ranks, gone) for g in range(n_groups)]
    )
    return np.unique(after, axis=0)


def enumerated(model, response, space):
    """The largest difference between twins of any input, whatever their ranks."""
    moved, largest = space.twins_.moved, 0.0
    by = moved.transport.by_.tolist()
    flags = [None]
    if by:
        column = space.layout.columns[by[0]]
        flags = np.arange(column.low, column.high + 1)
    for own, flag in itertools.product(range(len(moved.codes)), flags):
        choices = []
        for j in space.free:
            column = space.layout.columns[j]
            codes = np.arange(column.low, column.high + 1) if j not in by else [flag]
            move = moves(space, flag)
            choices.append(
                np.unique(
                    np.concatenate([destinations(space, j, own, c, move) for c in codes]), axis=0
                )
            )
        every = np.array(list(itertools.product(*[range(len(c)) for c in choices])))
        sums = []
        for g, group in enumerate(moved.codes):
            Z = np.empty((len(every), space.n_features))
            Z[:, space.sensitive] = group
            for j, place, own_choices in zip(space.free, every.T, choices, strict=True):
                Z[:, j] = own_choices[place, g]
            sums.append(answers(model, response, space.decode(Z)))
        largest = max(largest, float(np.ptp(np.stack(sums), axis=0).max()))
    return largest


def without_the_group(model):
    """The model as one that is not shown the group: it takes tables without it."""
    return UnawareModel(model, DropColumns(["sex"]))


def one_case(seed, make=trees, *, by=False, aware=True):
    """Compare a certificate with enumeration; return what was bounded, found and attained."""
    rng = np.random.default_rng(seed)
    missing = bool(rng.random() < 0.4) and make is trees
    rows = 60 if by else ROWS
    X = table(rng, int(rng.integers(2, 4)), missing=missing, rows=rows)
    model = fitted(rng, X, make, aware)
    keep = ["flag"] if rng.random() < 0.3 and not by else []
    twins = QuantileTransport(keep=keep, random_state=int(seed), by=["flag"] if by else [])
    space = InputSpace(twins=twins).fit(X, ["sex"])
    response = response_of(model, "auto")
    if make is linear and hasattr(model, "decision_function"):
        # Probabilities are those of two classes.
        some = len(model.classes_) == 2 and hasattr(model, "predict_proba") and seed % 2
        response = "predict_proba" if some else "decision_function"
    family, _ = read_family(model, space, response, False, np.random.default_rng(0))
    assert isinstance(family, MovedParts) == by
    bracket = family.solve(0.0, Limits(np.inf, 1e-9))
    largest = enumerated(model, response, space)
    room = 1e-9 + 4 * family.rounding
    assert bracket.upper >= largest - room, (seed, bracket.upper, largest)
    assert family.root_bound() >= bracket.upper - room
    # It is no larger than it has to be: all ranks together attain it.
    assert bracket.upper <= largest + 1e-6 * max(1.0, largest), (seed, bracket.upper, largest)
    if bracket.twins is not None:
        first, second, of = bracket.twins
        groups = np.stack([first, second])[:, space.sensitive]
        twins = space.twins_.with_sensitive(np.stack([of, of]), groups)
        np.testing.assert_array_equal(twins, np.stack([first, second]))
        said = answers(model, response, space.decode(twins))
        assert np.abs(said[0] - said[1]).max() == pytest.approx(bracket.lower, abs=1e-9)
    assert bracket.lower <= bracket.upper
    return bracket, largest


@pytest.mark.parametrize("seed", range(30))
def test_no_bound_of_trees_is_below_what_all_ranks_show(seed):
    one_case(seed)


@pytest.mark.parametrize("seed", range(10))
def test_no_bound_of_linear_models_is_below_what_all_ranks_show(seed):
    one_case(seed, linear)


@pytest.mark.parametrize("make", [trees, linear])
@pytest.mark.parametrize("seed", range(200, 206))
def test_no_bound_is_below_what_all_ranks_show_without_the_group(seed, make):
    one_case(seed, make, aware=False)


@pytest.mark.parametrize("make", [trees, linear])
@pytest.mark.parametrize("seed", range(300, 305))
def test_no_bound_is_below_what_ranks_within_equal_values_show(seed, make):
    one_case(seed, make, by=True)


@pytest.mark.parametrize("seed, aware", [(80076, False), (80089, True)])
def test_groups_are_bounded_one_by_one_where_no_group_has_the_classes_of_the_bound(
    seed, aware, monkeypatch
):
    made, compose = [], MovedTrees._compose

    def counted(self, sides, deadline):
        made.append(len(sides))
        return compose(self, sides, deadline)

    monkeypatch.setattr(MovedTrees, "_compose", counted)
    one_case(seed, aware=aware)  # the bound of all groups at once would be too large
    assert made[0] == 1 and len(made) == 2 and made[1] > 1


@pytest.mark.slow
@pytest.mark.parametrize("block", range(25))
def test_no_bound_of_trees_is_below_what_all_ranks_show_in_many_cases(block):
    for seed in range(1000 + 20 * block, 1020 + 20 * block):
        one_case(seed, by=seed % 5 == 0, aware=seed % 3 > 0)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5))
def test_no_bound_of_linear_models_is_below_what_all_ranks_show_in_many_cases(block):
    for seed in range(3000 + 20 * block, 3020 + 20 * block):
        one_case(seed, linear, by=seed % 5 == 0, aware=seed % 3 > 0)


@pytest.mark.parametrize("seed", range(6))
def test_classes_tell_what_the_model_says_of_a_row_and_of_its_twins(seed):
    """The composed trees at classes are the model at codes that lie in their cells."""
    rng = np.random.default_rng(seed)
    X = table(rng, 2 + seed % 2, missing=seed % 3 == 0)
    X["real"] = rng.normal(size=len(X)) + (X["sex"] == "u")
    X["real"] = X["real"].round(1).where(rng.random(len(X)) < 0.5, X["real"])
    model = make_pipeline(
        ColumnTransformer(
            [("text", OrdinalEncoder(), ["sex", "job"]),
             ("rest", "passthrough", ["whole", "flag", "real"])]
        ),
        HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=3),
    ).fit(X, X["real"] * X["whole"].fillna(-2) + (X["sex"] == "u"))  # fmt: skip
    space = InputSpace(twins=QuantileTransport()).fit(X, ["sex"])
    family, _ = read_family(model, space, "regression", False, np.random.default_rng(0))
    Z = space.domain.draw(400, rng)
    known = space.data[rng.integers(len(X), size=400)]
    Z = np.where(rng.random(Z.shape) < 0.5, Z, known)
    codes = space.twins_.moved.codes
    n_groups = len(codes)
    own = space.twins_.moved.groups_of(Z)
    twins = [space.twins_.with_sensitive(Z, code) for code in codes]
    composed = family.composed
    for a in range(n_groups):
        rows = np.flatnonzero(own == a)
        # Classes of all groups are one set, where they can be put in one order.
        number = a if len(composed.sides) > 1 else 0
        places, side = composed.places[number], composed.sides[number]
        # The class of a row in each column is found by what its twins' cells are.
        Y = np.zeros((n_groups * len(rows), composed.family.space.n_features))
        for j, found in family.classes[a].items():
            cells = np.stack([family.grid.cell_of(j, t[rows, j]) for t in twins], axis=1)
            assert all((found.cells == row).all(axis=1).sum() == 1 for row in cells)
            place = [np.flatnonzero((side[j] == row).all(axis=1)) for row in cells]
            assert all(len(one) == 1 for one in place)
            if j in places:
                Y[:, places[j]] = np.tile(np.concatenate(place), n_groups)
        Y[:, -1] = np.repeat(np.arange(n_groups), len(rows))
        said = composed.family.evaluate(Y)[:, number].reshape(n_groups, -1)
        expected = np.stack([family.evaluate(t[rows])[:, 0] for t in twins])
        np.testing.assert_allclose(said, expected, rtol=0, atol=1e-12)


def real_table(seed=0, n=400):
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, size=n)
    X = pd.DataFrame({"sex": sex, "a": rng.normal(size=n) + sex, "b": rng.exponential(1 + sex)})
    X["c"] = rng.integers(0, 5, size=n) + sex
    return X, X["a"] * X["b"] + X["c"] + rng.normal(0, 0.1, size=n)


@pytest.mark.parametrize("seed", range(5))
def test_no_row_of_real_columns_is_above_the_bound(seed):
    X, y = real_table(seed)
    model = GradientBoostingRegressor(n_estimators=8, max_depth=3, random_state=0)
    model.fit(X, y)
    space = InputSpace(twins=QuantileTransport(random_state=seed))
    auditor = CertifiedAuditor(
        model, space=space, sensitive_features=["sex"], random_state=0, max_queries=2000
    ).fit(X)
    assert auditor.certified_, auditor.stop_reason_
    rng = np.random.default_rng(seed)
    fitted_space = auditor.space_
    Z = fitted_space.domain.draw(20_000, rng)
    values = np.where(
        rng.random(Z.shape) < 0.5, Z, fitted_space.data[rng.integers(400, size=len(Z))]
    )
    said = [
        model.predict(fitted_space.decode(fitted_space.twins_.with_sensitive(values, code)))
        for code in fitted_space.twins_.moved.codes
    ]
    gap = np.abs(said[0] - said[1]).max()
    assert 0 < gap <= auditor.fairness_degree_upper_bound_
    pair = model.predict(auditor.worst_case_)
    assert pair[0] - pair[1] == pytest.approx(auditor.fairness_degree_)


@pytest.mark.parametrize("seed", range(4))
def test_no_row_of_real_columns_is_above_the_bound_of_a_linear_model(seed):
    """Through steps that are straight, bent, and steps; of twins in real columns."""
    X, y = real_table(seed)
    X["d"] = np.random.default_rng(seed).normal(size=len(X)).round(1) - X["sex"]
    steps = [StandardScaler(), QuantileTransformer(n_quantiles=7), PowerTransformer(), None]
    model = make_pipeline(*[step for step in steps[seed : seed + 1] if step], Ridge(0.1))
    model.fit(X, y - X["d"])
    space = InputSpace(twins=QuantileTransport(random_state=seed))
    auditor = CertifiedAuditor(
        model, space=space, sensitive_features=["sex"], random_state=0, max_queries=2000
    ).fit(X)
    assert auditor.certified_, auditor.stop_reason_
    fitted_space = auditor.space_
    rng = np.random.default_rng(seed)
    Z = fitted_space.domain.draw(20_000, rng)
    known = fitted_space.data[rng.integers(len(X), size=len(Z))]
    Z = np.where(rng.random(Z.shape) < 0.5, Z, known)
    said = [
        model.predict(fitted_space.decode(fitted_space.twins_.with_sensitive(Z, code)))
        for code in fitted_space.twins_.moved.codes
    ]
    gap = np.abs(said[0] - said[1]).max()
    assert 0 < gap <= auditor.fairness_degree_upper_bound_


def test_a_model_that_never_sees_the_group_has_a_degree():
    X, y = real_table()
    model = make_pipeline(
        ColumnTransformer([("blind", "passthrough", ["a", "b", "c"])]),
        RandomForestRegressor(5, max_depth=3, random_state=0),
    ).fit(X, y)
    settings = {"sensitive_features": ["sex"], "random_state": 0, "max_queries": 1000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert CertifiedAuditor(model, **settings).fit(X).fairness_degree_upper_bound_ == 0
    space = InputSpace(twins=QuantileTransport())
    auditor = CertifiedAuditor(model, space=space, **settings).fit(X)
    assert auditor.certified_ and auditor.fairness_degree_ > 0
    found = RandomAuditor(model, space=space, **settings).fit(X)
    certificate = certify(found)
    assert certificate.certified
    assert certificate.fairness_degree_upper_bound == pytest.approx(
        auditor.fairness_degree_upper_bound_
    )


def test_columns_that_are_kept_do_not_move():
    X, y = real_table()
    model = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, y)
    space = InputSpace(twins=QuantileTransport(keep=["a", "b"]))
    auditor = CertifiedAuditor(
        model, space=space, sensitive_features=["sex"], random_state=0, max_queries=500
    ).fit(X)
    first, second = auditor.worst_case_.to_numpy()
    assert auditor.certified_
    np.testing.assert_array_equal(first[1:3], second[1:3])
    assert first[3] != second[3]


def test_a_bound_of_no_time_holds():
    X, y = real_table()
    model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    space = InputSpace(twins=QuantileTransport()).fit(X, ["sex"])
    late, _ = read_family(
        model, space, "regression", False, np.random.default_rng(0), None, now() - 1.0
    )
    assert late.composed is None
    in_time, _ = read_family(model, space, "regression", False, np.random.default_rng(0))
    assert late.root_bound() >= in_time.root_bound()
    bracket = late.solve(0.5, Limits(now(), 1e-9))
    assert bracket.reason == "time" and bracket.upper == late.root_bound()


def test_a_constraint_leaves_a_bound():
    X, y = real_table()
    model = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, y)
    rule = lambda rows: np.asarray(rows["a"] + rows["b"] < 2.0)  # noqa: E731
    bounds = []
    for constraint in (None, rule):
        space = InputSpace(twins=QuantileTransport(), constraint=constraint)
        auditor = CertifiedAuditor(model, space=space, sensitive_features=["sex"], random_state=0)
        auditor.set_params(max_queries=500, max_time=5).fit(X)
        bounds.append(auditor.fairness_degree_upper_bound_)
        pair = auditor.worst_case_
    assert bounds[1] <= bounds[0] * (1 + 1e-9)
    assert rule(pair).all()


class Joint(QuantileTransport):
    """A transport that moves columns together."""

    is_columnwise = False


@pytest.mark.parametrize(
    ("transport", "model", "reason"),
    [
        (Joint(), DecisionTreeRegressor(max_depth=2), "depends on other columns"),
        (
            QuantileTransport(),
            MLPRegressor(hidden_layer_sizes=(3,), solver="lbfgs", max_iter=5000),
            "trees, forests",
        ),
        (
            QuantileTransport(),
            make_pipeline(StandardScaler(), PolynomialFeatures(2), LinearRegression()),
            "not understood",
        ),
    ],
)
def test_what_cannot_be_certified_is_refused_with_the_reason(transport, model, reason):
    X, y = real_table()
    model.fit(X, y > 1 if is_classifier(model) else y)
    auditor = CertifiedAuditor(
        model, space=InputSpace(twins=transport), sensitive_features=["sex"], random_state=0
    )
    with pytest.raises(ValueError, match=reason):
        auditor.fit(X)


def test_many_parts_of_columns_in_by_are_refused():
    X, y = real_table()
    X = X.assign(d=X["a"].rank(), e=X["b"].rank())
    model = DecisionTreeRegressor(max_depth=2).fit(X, y)
    space = InputSpace(twins=QuantileTransport(by=["a", "b", "c", "d"]))
    auditor = CertifiedAuditor(model, space=space, sensitive_features=["sex"], random_state=0)
    with pytest.raises(ValueError, match="have 256 parts"):
        auditor.fit(X)


@pytest.mark.parametrize("seed", range(3))
def test_no_row_of_real_columns_is_above_the_bound_within_quarters(seed):
    """Of trees and of probabilities; ranks are those among rows of the same quarter."""
    X, y = real_table(seed, 800)
    models = [
        GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, y),
        make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y > 1),
    ]
    for model in models:
        space = InputSpace(twins=QuantileTransport(by=["a"], random_state=seed))
        auditor = CertifiedAuditor(
            model, space=space, sensitive_features=["sex"], random_state=0, max_queries=2000
        ).fit(X)
        assert auditor.fairness_degree_ >= 0.9 * auditor.fairness_degree_upper_bound_
        known = auditor.space_
        rng = np.random.default_rng(seed)
        Z = known.domain.draw(10_000, rng)
        Z = np.where(rng.random(Z.shape) < 0.5, Z, known.data[rng.integers(800, size=len(Z))])
        outputs = []
        for code in known.twins_.moved.codes:
            rows = known.decode(known.twins_.with_sensitive(Z, code))
            outputs.append(answers(model, auditor.response_, rows))
        gap = np.abs(outputs[0] - outputs[1]).max()
        assert 0 < gap <= auditor.fairness_degree_upper_bound_


@pytest.mark.parametrize("seed", range(2))
def test_no_row_of_real_columns_is_above_the_bound_of_probabilities(seed):
    X, y = real_table(seed)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y > 1)
    auditor = CertifiedAuditor(
        model, space=InputSpace(twins=QuantileTransport()), sensitive_features=["sex"],
        random_state=0, max_queries=500,
    ).fit(X)  # fmt: skip
    assert auditor.fairness_degree_ >= 0.95 * auditor.fairness_degree_upper_bound_
    known = auditor.space_
    Z = known.domain.draw(50_000, np.random.default_rng(seed))
    first, second = (
        model.predict_proba(known.decode(known.twins_.with_sensitive(Z, code)))[:, 1]
        for code in known.twins_.moved.codes
    )
    assert np.abs(first - second).max() <= auditor.fairness_degree_upper_bound_


def test_a_column_of_one_value_counts_in_probabilities():
    """It shifts all scores alike: no matter for a difference of these, but for probabilities."""
    one_case(700_555, linear, by=True, aware=False)
    rng = np.random.default_rng(0)
    X = table(rng)
    model = make_pipeline(
        ColumnTransformer([("rest", "passthrough", ["whole", "flag"])]), LogisticRegression(C=10.0)
    ).fit(X, X["whole"] + 4 * X["flag"] > rng.normal(4, 1, size=len(X)))
    twins = QuantileTransport(keep=["flag"])
    for flag in (0, 1):
        space = InputSpace(twins=twins, bounds={"flag": (flag, flag)}).fit(X, ["sex"])
        family, _ = read_family(model, space, "predict_proba", False, np.random.default_rng(0))
        upper = family.solve(0.0, Limits(np.inf, 1e-9)).upper
        assert upper == pytest.approx(enumerated(model, "predict_proba", space), abs=1e-9)
