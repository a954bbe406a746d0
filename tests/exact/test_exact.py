"""CertifiedAuditor and certify: closed forms, borders, bad input, budgets."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from light_skops import skops
from sklearn.cluster import DBSCAN
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tiers import slow_sample

import skfairtest
from skfairtest import (
    CertifiedAuditor,
    InputSpace,
    MarginalizedRegressor,
    Order,
    RandomAuditor,
    SBFTAuditor,
    certify,
)
from skfairtest.exact import Support
from skfairtest.exact._closed_form import ClosedForm, nearest_sum
from skfairtest.exact._trees.link_bounds import exponential_gap, logistic_gap, softmax_gap
from skfairtest.exact._trees.tree_search import TreeSearchSettings
from skfairtest.exact._trees.verifier import TreeVerifier
from skfairtest.exceptions import NoDisparityWarning


@pytest.fixture(scope="module")
def plain():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.integers(0, 3, 400), rng.integers(0, 10, 400), rng.normal(size=(400, 3))]
    )
    y = X[:, 0] * (X[:, 2] > 0) + X[:, 1] / 5 + X[:, 3] * X[:, 4]
    return X, y


def certified(model, X, **params):
    settings = {"sensitive_features": [0], "random_state": 0, "max_queries": 500}
    return CertifiedAuditor(model, **(settings | {"engine": "numpy"} | params)).fit(X)


# Closed forms ------------------------------------------------------------------------------


def test_linear_degree_is_the_range_of_the_sensitive_effect(plain):
    X, y = plain
    model = LinearRegression().fit(X, y)
    auditor = certified(model, X)
    assert auditor.certified_
    assert auditor.fairness_degree_ == pytest.approx(2 * abs(model.coef_[0]), rel=1e-12)


def test_logistic_gap_is_reached_where_the_boundary_is(plain):
    X, y = plain
    model = LogisticRegression().fit(X, y > np.median(y))
    auditor = certified(model, X)
    assert auditor.certified_
    # A real attribute can bring the score anywhere, so the bound is attained.
    assert auditor.fairness_degree_ == pytest.approx(np.tanh(2 * abs(model.coef_[0, 0]) / 4))
    scores = certified(model, X, response_method="decision_function")
    assert scores.fairness_degree_ == pytest.approx(2 * abs(model.coef_[0, 0]), rel=1e-12)


def test_logistic_gap_is_smaller_where_the_boundary_is_out_of_reach(plain):
    X, y = plain
    model = LogisticRegression().fit(X, y > np.median(y))
    model.intercept_ = model.intercept_ + 50
    auditor = certified(model, X)
    assert auditor.certified_
    assert auditor.fairness_degree_ < 0.01 * np.tanh(2 * abs(model.coef_[0, 0]) / 4)


@pytest.mark.parametrize("model", [SVR(kernel="linear"), LinearSVC(), SVC(kernel="linear")])
def test_linear_support_vectors(plain, model):
    X, y = plain
    target = y if isinstance(model, SVR) else y > np.median(y)
    # A term a support vector is added up, which leaves more rounding than the coefficients would.
    auditor = certified(model.fit(X, target), X, rtol=1e-7)
    assert auditor.certified_
    assert auditor.fairness_degree_ == pytest.approx(2 * abs(model.coef_.ravel()[0]), rel=1e-9)


def test_nearest_sum_against_all_sums():
    rng = np.random.default_rng(0)
    for _ in range(50):
        sets = {j: rng.normal(size=rng.integers(1, 5)) for j in range(3)}
        target = rng.normal() * 2
        reached = nearest_sum(target, sets, [])
        sums = np.add.outer(np.add.outer(sets[0], sets[1]), sets[2])
        assert reached.distance == pytest.approx(np.abs(sums - target).min(), abs=1e-12)
        own = sum(sets[j][place] for j, place in reached.places.items())
        assert abs(own - target) == pytest.approx(reached.distance, abs=1e-12)


def test_sums_of_more_values_than_can_be_listed_come_as_near():
    rng = np.random.default_rng(0)
    sets = {j: rng.normal(size=5) for j in range(24)}
    for target in rng.normal(scale=3.0, size=3):
        reached = nearest_sum(target, sets, [])
        own = sum(sets[j][place] for j, place in reached.places.items())
        assert reached.distance <= abs(own - target) < 1e-6
        assert set(reached.places) == set(sets)


@pytest.mark.parametrize(
    ("gap", "link"),
    [(logistic_gap, lambda x: 1 / (1 + np.exp(-x))), (exponential_gap, np.exp)],
)
def test_gaps_of_links_are_the_largest(gap, link):
    rng = np.random.default_rng(1)
    for _ in range(200):
        U, V, D = rng.normal(size=3) * 2
        u, v = np.meshgrid(np.linspace(U - 8, U, 161), np.linspace(V, V + 8, 161))
        fits = u - v <= D
        if fits.any():
            assert (link(u) - link(v))[fits].max() <= gap(D, U, V) + 1e-12


def test_softmax_gap_holds():
    rng = np.random.default_rng(2)
    for _ in range(300):
        one, two = rng.normal(size=(2, 3)) * 2
        p, q = (np.exp(s) / np.exp(s).sum() for s in (one, two))
        turned = np.array([1, -1, -1])
        bound = softmax_gap(turned * (one - two), turned * one, turned * two)
        assert p[0] - q[0] <= bound + 1e-12
        assert bound == pytest.approx(p[0] - q[0], abs=1e-9)


def test_softmax_gap_is_the_largest():
    rng = np.random.default_rng(3)
    for _ in range(200):
        U, D = rng.normal(size=(2, 3)) * 2
        V = U - rng.gamma(1, 2, size=3)
        # Logarithms of the odds of the two other classes against the first one, for both twins.
        one = np.stack(np.meshgrid(*[np.linspace(0, 8, 161) - U[0] - U[j] for j in (1, 2)]))
        two = [np.minimum(one[j - 1] + D[0] + D[j], -V[0] - V[j]) for j in (1, 2)]
        odds = np.exp(one).sum(axis=0), np.exp(two).sum(axis=0)
        largest = (1 / (1 + odds[0]) - 1 / (1 + odds[1])).max()
        bound = softmax_gap(D, U, V)
        # A difference below zero may be largest where odds are larger than those listed here.
        assert largest - 1e-12 <= bound <= max(largest, 0.0) + 2e-3


# Borders -----------------------------------------------------------------------------------


def test_scaled_thresholds_are_those_that_the_tree_sees():
    # Folded into thresholds in real arithmetic, a scaler gives bounds that are crossed.
    rng = np.random.default_rng(0)
    for seed in range(5):
        X = np.column_stack([rng.integers(0, 2, 200), rng.normal(size=200) * 1e5 + 1e7])
        y = X[:, 0] * (X[:, 1] > 1e7) + (X[:, 1] - 1e7) / 1e5
        model = make_pipeline(StandardScaler(), DecisionTreeRegressor(random_state=seed)).fit(X, y)
        auditor = certified(model, X, max_queries=100)
        assert auditor.certified_
        # Twins in every cell: the midpoint between the numbers that the tree can tell apart.
        values = np.unique(np.concatenate([X[:, 1] + e for e in np.linspace(-0.02, 0.02, 9)]))
        values = values[(values >= X[:, 1].min()) & (values <= X[:, 1].max())]
        both = [model.predict(np.column_stack([np.full(len(values), s), values])) for s in (0, 1)]
        assert np.abs(both[0] - both[1]).max() <= auditor.fairness_degree_upper_bound_


def test_single_precision_columns_and_one_value_boxes():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"s": rng.integers(0, 2, 300), "x": rng.random(300), "z": 4.0})
    frame["x"] = frame["x"].astype(np.float32)
    model = RandomForestRegressor(5, random_state=0).fit(frame, frame["s"] * frame["x"])
    free = certified(model, frame, sensitive_features=["s"])
    boxed = certified(
        model, frame, sensitive_features=["s"], space=InputSpace(bounds={"x": (0.25, 0.25)})
    )
    assert free.certified_
    assert boxed.certified_
    rows = pd.DataFrame({"s": [0, 1], "x": np.float32([0.25, 0.25]), "z": 4.0})
    answers = model.predict(rows)
    assert boxed.fairness_degree_ == pytest.approx(abs(answers[0] - answers[1]), rel=1e-12)


def test_missing_values_and_categories_of_histogram_boosting():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "s": pd.Categorical(rng.choice(["a", "b", "c"], 500)),
            "c": pd.Categorical(rng.choice(["u", "v", "w", None], 500)),
            "x": rng.normal(size=500),
        }
    )
    y = (frame["s"] == "a") * (frame["c"].isna() * 3.0 + 1) + frame["x"]
    model = HistGradientBoostingRegressor(max_iter=20).fit(frame, y)
    auditor = certified(model, frame, sensitive_features=["s"])
    assert auditor.certified_
    assert auditor.fairness_degree_ > 3
    assert auditor.worst_case_["c"].isna().all()


@slow_sample
@pytest.mark.parametrize("engine", ["numpy", pytest.param("numba", marks=pytest.mark.slow)])
def test_many_unordered_values_take_several_words(engine):
    rng = np.random.default_rng(0)
    names = np.array([f"place {k}" for k in range(90)], dtype=object)
    frame = pd.DataFrame({"s": names[rng.integers(0, 90, 1500)], "x": rng.normal(size=1500)})
    effect = {name: k % 7 for k, name in enumerate(names)}
    y = frame["s"].map(effect) * (frame["x"] > 0)
    encode = make_column_transformer((OneHotEncoder(), ["s"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestRegressor(3, max_depth=8, random_state=0))
    model.fit(frame, y)
    auditor = certified(model, frame, sensitive_features=["s"], engine=engine)
    assert auditor.certified_
    best = SBFTAuditor(model, sensitive_features=["s"], max_queries=2000, random_state=0).fit(frame)
    assert best.fairness_degree_ <= auditor.fairness_degree_upper_bound_
    if engine != "numpy":
        again = certified(model, frame, sensitive_features=["s"])
        assert auditor.fairness_degree_ == pytest.approx(again.fairness_degree_, rel=1e-9)


# Budgets and results -----------------------------------------------------------------------


@pytest.mark.parametrize("engine", [pytest.param("auto", marks=pytest.mark.slow), "numpy"])
def test_no_time_gives_the_bound_of_the_ranges(plain, engine):
    X, y = plain
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    auditor = certified(model, X, max_time=0, engine=engine)
    assert not auditor.certified_
    assert "max_time" in auditor.stop_reason_
    exact = certified(model, X, engine=engine)
    assert exact.certified_
    assert exact.fairness_degree_ <= auditor.fairness_degree_upper_bound_


def test_little_time_gives_bounds(plain, clock):
    X, y = plain
    clock.step = 0.02  # the search of boxes is meant to run out of time
    model = MLPRegressor(hidden_layer_sizes=(30, 20), max_iter=50, random_state=0).fit(X, y)
    short, longer = (certified(model, X, max_time=t) for t in (0.3, 1.5))
    # Inputs from the whole domain, each with all three values of the sensitive attribute.
    rows = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), (2000, X.shape[1]))
    rows[:, 1] = rows[:, 1].round()
    answers = [model.predict(np.column_stack([np.full(2000, s), rows[:, 1:]])) for s in range(3)]
    for auditor in (short, longer):
        assert not auditor.certified_
        one, two = model.predict(auditor.worst_case_)
        assert abs(one - two) == pytest.approx(auditor.fairness_degree_, rel=1e-9)
        upper = auditor.fairness_degree_upper_bound_
        assert auditor.gap_ == pytest.approx(upper - abs(one - two), abs=1e-9)
        assert np.ptp(answers, axis=0).max() <= upper
    assert longer.fairness_degree_ <= short.fairness_degree_upper_bound_


def three_classes(y):
    return np.digitize(y, np.quantile(y, [0.3, 0.7]))


COURSES = {
    "trees": (lambda X, y: GradientBoostingRegressor(random_state=0).fit(X, y), {}),
    "classes": (
        lambda X, y: RandomForestClassifier(8, max_depth=5, random_state=0).fit(
            X, three_classes(y)
        ),
        {},
    ),
    "network": (
        lambda X, y: MLPRegressor(hidden_layer_sizes=(6,), max_iter=200, random_state=0).fit(X, y),
        {"max_time": 5},
    ),
    "share": (
        lambda X, y: MarginalizedRegressor(
            GradientBoostingRegressor(random_state=0), sensitive_features=[0], strength=0.5
        ).fit(X, y),
        {},
    ),
    "parts": (
        lambda X, y: GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y),
        {"space": InputSpace(constraint=Order(2, "<=", 3)), "max_time": 5},
    ),
    "sum": (
        lambda X, y: VotingRegressor(
            [("tree", DecisionTreeRegressor(max_depth=5, random_state=0)),
             ("line", LinearRegression())]
        ).fit(X, y),
        {},
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.ConstraintWarning")
@pytest.mark.parametrize("name", COURSES)
def test_bound_history_holds_at_each_point(plain, name):
    X, y = plain
    make, params = COURSES[name]
    auditor = certified(make(X, y), X, **params)
    history = auditor.bound_history_
    assert list(history) == ["seconds", "boxes", "degree", "bound"]
    assert history["seconds"].is_monotonic_increasing and history["boxes"].is_monotonic_increasing
    assert history["degree"].is_monotonic_increasing and history["bound"].is_monotonic_decreasing
    last = history.iloc[-1]
    assert last["degree"] == auditor.fairness_degree_
    assert last["bound"] == auditor.fairness_degree_upper_bound_
    assert last["boxes"] == auditor.n_boxes_
    # The pair that is known in the end was there from the beginning: no bound may be below it.
    assert (history["bound"] >= auditor.fairness_degree_).all()
    if name in ("trees", "classes"):
        assert history["bound"].nunique() > 3


def test_certify_keeps_the_history_of_its_bounds(plain):
    X, y = plain
    model = GradientBoostingRegressor(random_state=0).fit(X, y)
    found = RandomAuditor(model, sensitive_features=[0], max_queries=50, random_state=0).fit(X)
    certificate = certify(found, engine="numpy")
    history = certificate.bound_history
    assert history["bound"].iloc[-1] == certificate.fairness_degree_upper_bound
    assert history["bound"].iloc[0] > 1.1 * history["bound"].iloc[-1]
    assert (history["bound"] >= certificate.fairness_degree).all()


def test_wide_tolerance_ends_sooner(plain):
    X, y = plain
    model = GradientBoostingRegressor(random_state=0).fit(X, y)
    rough, fine = certified(model, X, rtol=0.2), certified(model, X)
    assert rough.certified_
    assert rough.n_boxes_ <= fine.n_boxes_
    assert rough.fairness_degree_upper_bound_ >= fine.fairness_degree_
    assert rough.gap_ <= 0.2 * rough.fairness_degree_upper_bound_


def test_same_seed_same_certificate_and_pickle(plain):
    X, y = plain
    model = RandomForestRegressor(10, max_depth=5, random_state=0).fit(X, y)
    one, two = certified(model, X), certified(model, X)
    assert one.fairness_degree_upper_bound_ == two.fairness_degree_upper_bound_
    assert one.n_queries_ == two.n_queries_
    again = pickle.loads(pickle.dumps(one))
    assert again.certified_ == one.certified_
    np.testing.assert_array_equal(again.worst_case_, one.worst_case_)


def test_constraint_bounds_the_box_and_reports_a_valid_pair(plain):
    X, y = plain
    model = DecisionTreeRegressor(random_state=0).fit(X, y)
    whole = certified(model, X)
    worst = whole.worst_case_[0, 1]
    kept = certified(model, X, space=InputSpace(constraint=lambda rows: rows[:, 1] != worst))
    assert (kept.worst_case_[:, 1] != worst).all()
    assert kept.fairness_degree_ <= whole.fairness_degree_
    assert kept.fairness_degree_upper_bound_ == pytest.approx(whole.fairness_degree_)


def test_dropped_sensitive_column_is_certified_zero_with_a_warning(plain):
    X, y = plain
    drop = make_column_transformer(("drop", [0]), remainder="passthrough")
    for last in (RandomForestRegressor(3, random_state=0), LinearRegression(),
                 MLPRegressor(hidden_layer_sizes=(5,), max_iter=5)):  # fmt: skip
        model = make_pipeline(drop, last)
        with pytest.warns(Warning):
            auditor = certified(model.fit(X, y), X)
        assert auditor.fairness_degree_ == auditor.fairness_degree_upper_bound_ == 0
        assert auditor.certified_


def test_labels_have_the_bound_one(plain):
    X, y = plain
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y > np.median(y))
    auditor = certified(model, X, response_method="predict")
    assert auditor.fairness_degree_upper_bound_ == 1


def test_several_sensitive_attributes(plain):
    X, y = plain
    model = RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, y)
    one, both = (certified(model, X, sensitive_features=s) for s in ([0], [0, 1]))
    assert one.certified_
    assert both.certified_
    assert both.fairness_degree_ >= one.fairness_degree_


def test_real_sensitive_attribute_is_bounded_over_its_interval(plain):
    X, y = plain
    model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    auditor = certified(model, X, sensitive_features=[3])
    assert auditor.certified_
    found = RandomAuditor(model, sensitive_features=[3], random_state=0).fit(X)
    assert found.fairness_degree_ <= auditor.fairness_degree_


# Bad input ---------------------------------------------------------------------------------


def test_supports():
    for model in (LinearRegression(), SVC(kernel="linear"), MLPClassifier(), BaggingRegressor(),
                  HistGradientBoostingRegressor(),
                  VotingRegressor([("tree", DecisionTreeRegressor())]),
                  make_pipeline(StandardScaler(), RandomForestClassifier())):  # fmt: skip
        assert CertifiedAuditor.supports(model)
        assert CertifiedAuditor.supports(model) == Support(True)
    for model, nearest in (
        (KNeighborsRegressor(), "HistGradientBoosting"),
        (BaggingRegressor(KNeighborsRegressor()), "HistGradientBoosting"),
        (make_pipeline(Normalizer(), LinearRegression()), "StandardScaler"),
        (SVC(), "kernel='linear'"),
        (DBSCAN(), "SBFTAuditor"),
    ):
        support = CertifiedAuditor.supports(model)
        assert not support
        assert support.reason
        assert nearest in support.nearest
        assert str(support) == f"{support.reason} {support.nearest}"


def test_unsupported_model_and_step_are_named(plain):
    X, y = plain
    with pytest.raises(ValueError, match="KNeighborsRegressor cannot be certified"):
        certified(KNeighborsRegressor().fit(X, y), X)
    for step, last in (
        (PolynomialFeatures(), DecisionTreeRegressor()),
        (FunctionTransformer(np.sort), LinearRegression()),
    ):
        model = make_pipeline(step, last).fit(X, y)
        with pytest.raises(ValueError, match=type(step).__name__):
            certified(model, X)
    with pytest.raises(ValueError, match="init="):
        certified(GradientBoostingRegressor(init=LinearRegression()).fit(X, y), X)


def test_a_subclass_of_a_scaler_may_do_anything(plain):
    class Bent(StandardScaler):
        def transform(self, X, copy=None):
            return super().transform(X) ** 2

    X, y = plain
    model = make_pipeline(Bent(), LinearRegression()).fit(X, y)
    with pytest.raises(ValueError, match="Bent"):
        certified(model, X)


def test_a_model_that_answers_otherwise_than_it_was_read_is_refused(plain, monkeypatch):
    X, y = plain
    evaluate = ClosedForm.evaluate
    monkeypatch.setattr(ClosedForm, "evaluate", lambda self, Z: evaluate(self, Z) + 1e-3)
    with pytest.raises(ValueError, match="other outputs"):
        certified(LinearRegression().fit(X, y), X)


def test_bad_parameters(plain):
    X, y = plain
    model = LinearRegression().fit(X, y)
    for params, message in (
        ({"rtol": -1}, "rtol"),
        ({"rtol": "small"}, "rtol"),
        ({"engine": "gpu"}, "engine"),
        ({"max_time": -1}, "max_time"),
        ({"space": InputSpace(bounds={2: (0, np.inf)})}, "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            certified(model, X, **params)
    with pytest.raises(NotFittedError):
        certify(SBFTAuditor(model))
    for given, named in (((model, X), {"sensitive_features": 2}), ((model,), {}), ((), {})):
        with pytest.raises(TypeError, match=r"one fitted auditor.*Write CertifiedAuditor\(model"):
            certify(*given, **named)


WITHOUT_NUMBA = """
import sys

class NoNumba:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "numba":
            raise ModuleNotFoundError("No module named 'numba'", name="numba")

sys.meta_path.insert(0, NoNumba())
import numpy as np
from sklearn.ensemble import RandomForestRegressor
from skfairtest import CertifiedAuditor

rng = np.random.default_rng(0)
X = np.column_stack([rng.integers(0, 3, 200), rng.normal(size=(200, 3))])
model = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, X[:, 0] * (X[:, 1] > 0))

def audit(engine):
    return CertifiedAuditor(model, sensitive_features=[0], random_state=0, engine=engine).fit(X)

auto, alone = audit("auto"), audit("numpy")
assert auto.certified_ and alone.certified_
assert auto.fairness_degree_ == alone.fairness_degree_ > 0
try:
    audit("numba")
except ImportError as error:
    print(error)
"""


@slow_sample
def test_without_numba_numpy_is_used():
    # In a process of its own: here numba may have been imported long ago.
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA],
        cwd=Path(skfairtest.__file__).parent.parent,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert "engine='numba' cannot be used: numba is not installed" in run.stdout
    assert "exact" in run.stdout


@pytest.mark.slow
def test_where_pair_trees_have_no_room_the_answer_is_the_same(plain, monkeypatch):
    pytest.importorskip("numba")
    X, y = plain
    model = RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, y)
    roomy = certified(model, X, engine="numba")
    monkeypatch.setattr(TreeVerifier, "settings", TreeSearchSettings(node_bytes=32 * 2000))
    narrow = certified(model, X, engine="numba")
    assert narrow.certified_
    assert narrow.fairness_degree_ == pytest.approx(roomy.fairness_degree_, rel=1e-12)


def test_skops_keeps_the_certificate(plain):
    X, y = plain
    auditor = certified(LinearRegression().fit(X, y), X)
    dumped = skops.io.dumps(auditor)
    again = skops.io.loads(dumped, trusted=skops.io.get_untrusted_types(data=dumped))
    assert again.certified_
    assert again.fairness_degree_upper_bound_ == auditor.fairness_degree_upper_bound_


def test_no_disparity_warns(plain):
    X, y = plain
    model = DecisionTreeRegressor(max_depth=1).fit(X[:, :], X[:, 1])
    with pytest.warns(NoDisparityWarning):
        assert certified(model, X).fairness_degree_upper_bound_ == 0
