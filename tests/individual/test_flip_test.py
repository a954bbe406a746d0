"""FlipTestAuditor: flips against a map applied by hand, sums over columns, intervals, refusals."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from clocks import CLOCK
from conformance import assert_conforms
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tiers import SAMPLE, slow_sample

from skfairtest import FlipTestAuditor, Order
from skfairtest.exceptions import ConstraintWarning, EstimatorFailedError, NoDisparityWarning
from skfairtest.individual._flip_test import auditor as auditor_module
from skfairtest.individual._flip_test import columns, quality
from skfairtest.individual._flip_test.flips import (
    Shares,
    interval_of,
    largest_by_chance,
    wider_together,
    without_errors,
)
from skfairtest.individual._flip_test.groups import Groups
from skfairtest.individual._flip_test.maps import Maps, RepeatedMaps
from skfairtest.individual._flip_test.quality import distance, outside
from skfairtest.space._space import InputSpace
from skfairtest.transports import OptimalTransport, QuantileTransport, SequentialTransport

# Small samples, and maps that do not reach the other group, are not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:The map from")


@pytest.fixture(autouse=True)
def judged(request, monkeypatch):
    """Most of the time goes into judging maps, which is done where a test asks for `aucs`."""
    if "aucs" not in request.fixturenames:
        monkeypatch.setattr(quality, "auc", lambda *args: 0.5)


@pytest.fixture
def aucs():
    """Classifiers are trained, to tell moved rows from real ones."""


def make_rows(n=240, seed=0, groups=("a", "b")):
    rng = np.random.default_rng(seed)
    group = rng.choice(groups, n)
    shift = np.searchsorted(groups, group)
    X = pd.DataFrame(
        {
            "pay": rng.normal(size=n) + shift,
            "years": rng.integers(0, 6, n) + shift,
            "site": rng.choice(["north", "south"], n),
        }
    )
    return X, group


class Rule(ClassifierMixin, BaseEstimator):
    """Accept by a sum of columns; what the labels are called is a parameter."""

    def __init__(self, cut=3.0, weight=0.0, fail_after=np.inf):
        self.cut, self.weight, self.fail_after = cut, weight, fail_after

    classes_ = np.array(["no", "yes"])

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        return self

    def total(self, X):
        self.n_rows_ = getattr(self, "n_rows_", 0) + len(X)
        if self.n_rows_ > self.fail_after:
            raise RuntimeError("asked too often")
        total = X["pay"] + 0.5 * X["years"] + (X["site"] == "north") * 0.3
        if "sex" in X.columns:
            total = total + self.weight * (X["sex"] == "b")
        return np.asarray(total, dtype=float)

    def predict_proba(self, X):
        yes = 1 / (1 + np.exp(self.cut - self.total(X)))
        return np.column_stack([1 - yes, yes])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def by_hand(model, X, group, own, to):
    rows = X[group == own]
    transport = QuantileTransport().fit(X, group)
    moved = transport.transport(rows, own, to=to)
    return model.predict(rows), model.predict(moved), moved


def flip_test(model, **params):
    """Return an auditor whose maps are judged by a model that is quickly trained."""
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    return FlipTestAuditor(model, **{"classifier": tree, "n_bootstrap": 0, **params})


@pytest.fixture(scope="module")
def found():
    """Rows, the group of each, and an auditor of them."""
    X, group = make_rows()
    return X, group, flip_test(Rule()).fit(X, sensitive_features=group)


def share(auditor, own, to, direction="any"):
    flips = auditor.flips_.set_index(["group", "to", "direction"])
    return flips.loc[(own, to, direction), "share"]


# What is found ------------------------------------------------------------------------------


def test_shares_are_those_of_the_map_applied_by_hand(found):
    X, group, auditor = found
    n_flips = 0
    for own, to in (("a", "b"), ("b", "a")):
        before, after, _ = by_hand(Rule(), X, group, own, to)
        assert share(auditor, own, to) == np.mean(before != after) > 0
        up = np.mean((before == "no") & (after == "yes"))
        assert share(auditor, own, to, "no -> yes") == up
        n_flips += np.sum(before != after)
    assert auditor.n_found_ == n_flips == len(auditor.flipset_)
    assert auditor.moved_rate_ == n_flips / len(X)
    assert np.isnan(auditor.moved_rate_interval_).all()


def test_flipset_has_rows_twins_and_outputs(found):
    X, group, auditor = found
    flipset = auditor.flipset_
    places = flipset["case", "position"].to_numpy()
    pd.testing.assert_frame_equal(
        flipset["row"], X.iloc[places].reset_index(drop=True), check_dtype=False
    )
    assert (flipset["case", "group"] == group[places]).all()
    for side, when in (("row", "before"), ("moved twin", "after")):
        table = flipset[side].astype({"pay": float, "years": int})
        np.testing.assert_allclose(
            Rule().predict_proba(table)[:, 1], flipset["output", when].astype(float)
        )
        assert (Rule().predict(table) == flipset["output", f"label {when}"]).all()
    pd.testing.assert_frame_equal(
        auditor.discriminatory_inputs_, X.iloc[places].reset_index(drop=True), check_dtype=False
    )
    assert (np.diff(auditor.disparities_) <= 0).all()
    one = places[0]
    _, _, moved = by_hand(Rule(), X, group, group[one], "b" if group[one] == "a" else "a")
    place = int(np.flatnonzero(np.flatnonzero(group == group[one]) == one)[0])
    assert auditor.moved_twins_.iloc[0].tolist() == moved.iloc[place].tolist()


def test_worst_case_is_confirmed_by_the_model(found):
    X, group, auditor = found
    outputs = Rule().predict_proba(auditor.worst_case_)[:, 1]
    np.testing.assert_allclose(outputs, auditor.worst_case_outputs_)
    assert outputs[0] - outputs[1] == pytest.approx(auditor.fairness_degree_)
    assert auditor.worst_case_class_ == "yes"
    assert "FlipTestAuditor of Rule" in auditor._card()


def test_an_attribute_in_the_table_is_set_to_the_other_group(found):
    X, group, beside = found
    inside = flip_test(Rule()).fit(X.assign(sex=group))
    assert inside.sensitive_features_ == ["sex"]
    # A model that does not look at it gives the same flips.
    pd.testing.assert_series_equal(inside.flips_["n_flips"], beside.flips_["n_flips"])
    model = Rule(weight=1.0)
    auditor = flip_test(model).fit(X.assign(sex=group))
    rows = X[group == "a"]
    moved = QuantileTransport().fit(X, group).transport(rows, "a", to="b").assign(sex="b")
    before = model.predict(rows.assign(sex="a"))
    # Ranks of equal values belong to whole rows, of which the sensitive value is a part.
    assert share(auditor, "a", "b") == pytest.approx(
        np.mean(before != model.predict(moved)), abs=0.05
    )
    assert set(auditor.worst_case_["sex"]) == {"a", "b"}
    assert "sex" in set(auditor.columns_["column"])


def test_groups_of_several_attributes_are_their_combinations():
    X, group = make_rows(300)
    region = np.random.default_rng(1).choice(["east", "west"], len(X))
    given = pd.DataFrame({"sex": group, "region": region})
    auditor = flip_test(Rule(), n_bootstrap=2, random_state=0)
    auditor.fit(X, sensitive_features=given)
    assert auditor.groups_.tolist() == ["a, east", "a, west", "b, east", "b, west"]
    assert auditor.sensitive_features_ == ["sex", "region"]
    assert len(auditor.flips_) == 12 * 3
    both = (group + ", ") + region
    before, after, _ = by_hand(Rule(), X, both, "a, east", "b, west")
    assert share(auditor, "a, east", "b, west") == np.mean(before != after)


def test_a_row_of_three_groups_counts_once():
    X, group = make_rows(groups=("a", "b", "c"))
    auditor = flip_test(Rule()).fit(X, sensitive_features=group)
    changes = set()
    for own in "abc":
        for to in set("abc") - {own}:
            before, after, _ = by_hand(Rule(), X, group, own, to)
            changes |= set(np.flatnonzero(group == own)[before != after].tolist())
    assert auditor.n_found_ == len(changes) < len(auditor.flipset_)
    assert set(auditor.flipset_["case", "position"]) == changes


def test_outputs_of_a_regressor_go_up_and_down():
    X, group = make_rows()
    table = X[["pay", "years"]]
    model = LinearRegression().fit(table, table["pay"] - 0.2 * table["years"])
    auditor = flip_test(model, threshold=0.5)
    auditor.fit(table, sensitive_features=group)
    before, after, _ = by_hand(model, table, group, "a", "b")
    assert share(auditor, "a", "b", "up") == np.mean(after - before > 0.5)
    assert share(auditor, "a", "b", "down") == np.mean(before - after > 0.5)
    assert auditor.response_ == "regression"
    change = auditor.columns_.query("group == 'a'")["change"].sum()
    assert change == pytest.approx(np.mean(after - before))


def test_arrays_are_taken_as_frames_are():
    X, group = make_rows()
    table = X[["pay", "years"]]
    model = LogisticRegression().fit(table.to_numpy(), table["pay"] > 0.5)
    of_array = flip_test(model).fit(table.to_numpy(), sensitive_features=group)
    assert isinstance(of_array.worst_case_, np.ndarray)
    assert of_array.discriminatory_inputs_.shape == (of_array.n_found_, 2)
    before, after, _ = by_hand(model, table.to_numpy(), group, "a", "b")
    assert share(of_array, "a", "b") == np.mean(before != after)


def test_missing_values_move_like_any_other():
    X, group = make_rows()
    X.loc[::7, "pay"] = np.nan
    X.loc[::5, "site"] = None
    model = Rule()
    model.total = lambda X: np.nan_to_num(X["pay"]) + X["years"] + X["site"].isna() * 0.5
    auditor = flip_test(model, n_bootstrap=2, random_state=0)
    auditor.fit(X, sensitive_features=group)
    rows = auditor.flipset_["row"]
    places = auditor.flipset_["case", "position"]
    assert (rows["site"].isna().to_numpy() == X["site"].isna().to_numpy()[places]).all()
    assert (rows["pay"].isna().to_numpy() == X["pay"].isna().to_numpy()[places]).all()


# Columns ------------------------------------------------------------------------------------


@pytest.mark.parametrize("attribution", ["shapley", "order"])
def test_columns_sum_to_the_change(attribution):
    X, group = make_rows()
    auditor = flip_test(Rule(), n_bootstrap=3, attribution=attribution, random_state=0)
    auditor.fit(X, sensitive_features=group)
    for own, to in (("a", "b"), ("b", "a")):
        _, _, moved = by_hand(Rule(), X, group, own, to)
        rows = X[group == own]
        change = (Rule().predict_proba(moved) - Rule().predict_proba(rows))[:, 1].mean()
        own_columns = auditor.columns_[auditor.columns_["group"] == own]
        assert own_columns["change"].sum() == pytest.approx(change, abs=1e-12)
        assert own_columns["flips"].sum() == pytest.approx(share(auditor, own, to))
        assert own_columns["share_of_flips"].sum() == pytest.approx(1)
        assert (own_columns["low"] <= own_columns["change"]).all()


def test_shapley_values_of_a_sum_are_its_terms():
    X, group = make_rows()
    table = X[["pay", "years"]]
    model = LinearRegression().fit(table, 2 * table["pay"] - table["years"])
    auditor = flip_test(model).fit(table, sensitive_features=group)
    _, _, moved = by_hand(model, table, group, "a", "b")
    terms = (moved.mean() - table[group == "a"].mean()) * [2, -1]
    found = auditor.columns_.query("group == 'a'").set_index("column")["change"]
    pd.testing.assert_series_equal(
        found.sort_index(), terms.sort_index(), check_names=False, rtol=1e-6
    )


def test_orders_that_are_drawn_sum_to_the_change(found, monkeypatch):
    monkeypatch.setattr(columns, "MOST_EXACT", 1)
    X, group, exact = found
    auditor = flip_test(Rule(), random_state=0)
    auditor.fit(X, sensitive_features=group)
    flips = auditor.columns_.query("group == 'b'")["flips"]
    assert flips.sum() == pytest.approx(share(auditor, "b", "a"))
    both = auditor.columns_.merge(exact.columns_, on=["group", "to", "column"])
    np.testing.assert_allclose(both["change_x"], both["change_y"], atol=0.01)


def test_columns_that_stay_carry_nothing():
    X, group = make_rows()
    auditor = flip_test(Rule(), transport=QuantileTransport(keep=["pay"]))
    auditor.fit(X, sensitive_features=group)
    assert "pay" not in set(auditor.columns_["column"])


# How good the map is ------------------------------------------------------------------------


def test_a_map_that_moves_too_little_is_told(aucs):
    X, group = make_rows(400)
    X["pay"] += 3 * (group == "b")
    good = flip_test(Rule(), random_state=0)
    good = good.fit(X, sensitive_features=group).map_quality_
    assert (good["auc_before"] > 0.9).all()
    assert good["auc_after"].between(0.4, 0.6).all()
    auditor = flip_test(Rule(), transport=QuantileTransport(keep=["pay"]))
    with pytest.warns(UserWarning, match=r"from 'a' to 'b' .* an AUC of 0\.9|from 'b' to 'a'"):
        auditor.fit(X, sensitive_features=group)
    assert (auditor.map_quality_["auc_after"] > 0.9).all()
    assert (auditor.map_quality_["out_of_range"] > 0.3).all()


@pytest.mark.parametrize("sizes", [(30, 570), (30, 30), (60, 30, 300)])
def test_a_map_that_is_not_judged_is_no_good_map(aucs, sizes):
    """Two columns go together in one group and against each other in another: no map of ranks."""
    rng = np.random.default_rng(0)
    group = np.repeat(list("abc")[: len(sizes)], sizes)
    pay = rng.normal(size=len(group))
    X = pd.DataFrame({"pay": pay, "years": np.where(group == "a", pay, -pay)})
    X["site"] = rng.choice(["north", "south"], len(X))
    auditor = flip_test(Rule(cut=0.0), attribution="order")
    with pytest.warns(UserWarning, match="could not be judged") as caught:
        auditor.fit(X, sensitive_features=group)
    quality = auditor.map_quality_
    unjudged = quality[quality["auc_after"].isna()]
    assert len(unjudged) and f"from '{unjudged.iloc[0]['group']}'" in str(caught[0].message)
    assert "not judged" in auditor._repr_html_()


def test_distances_are_in_standard_deviations():
    X = pd.DataFrame({"number": [0.0, 1.0, 2.0, 3.0], "word": ["x", "y", "x", "y"]})
    space = InputSpace().fit(X, None)
    Z = space.data
    moved = Z.copy()
    moved[:, 0] += Z[:, 0].std()
    kept = np.arange(2)
    assert distance(Z, Z, moved, kept, space.layout) == pytest.approx(0.5)
    moved[0, 1] = 1 - moved[0, 1]
    assert distance(Z, Z, moved, kept, space.layout) == pytest.approx(0.625)
    assert outside(moved, Z, kept, space.layout).tolist() == [False, False, True, True]


def test_an_order_is_that_of_the_transport():
    X, group = make_rows()
    X["both"] = X["pay"] * 2
    model = Rule()
    model.total = lambda X: (X["pay"] + 1.5) * (X["both"] + 3)  # who moves second carries less
    carried = {}
    for first, second in (("pay", "both"), ("both", "pay")):
        transport = SequentialTransport(
            graph={second: [first]}, keep=["years", "site"], regressor=LinearRegression()
        )
        auditor = flip_test(model, transport=transport, attribution="order")
        table = auditor.fit(X, sensitive_features=group).columns_
        carried[first] = table.query("group == 'a'").set_index("column")["change"]
    assert carried["pay"]["both"] == pytest.approx(carried["both"]["pay"], rel=0.1)
    assert carried["pay"]["both"] < carried["pay"]["pay"] - 0.005
    assert carried["both"]["pay"] < carried["both"]["both"] - 0.005


# What every auditor does ---------------------------------------------------------------------


def test_pipelines_clones_and_frozen_models():
    X, group = make_rows()
    Z = np.column_stack([group == "b", X[["pay", "years"]]]).astype(float)
    y = Z[:, 1] + 0.4 * Z[:, 2] > 1.5
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    auditor = flip_test(inner, sensitive_features=[0], random_state=0)
    copy = clone(auditor.fit(Z, y))
    assert not hasattr(copy, "flips_") and copy.get_params()["estimator"] is not inner
    pd.testing.assert_frame_equal(copy.fit(Z, y).flips_, auditor.flips_)
    assert auditor.groups_.tolist() == [0, 1] and auditor.score(Z, y) > 0.9
    frozen = flip_test(FrozenEstimator(auditor.estimator_), sensitive_features=[0], random_state=0)
    pd.testing.assert_frame_equal(frozen.fit(Z, y).flips_, auditor.flips_)
    last = make_pipeline(StandardScaler(), flip_test(LogisticRegression(), sensitive_features=[0]))
    # Ranks of equal values hang on the rows, which scaling changes.
    assert last.fit(Z, y)[-1].moved_rate_ == pytest.approx(auditor.moved_rate_, abs=0.03)


def test_one_hot_groups_move_as_one():
    X, group = make_rows()
    X["sex_a"], X["sex_b"] = (group == "a").astype(int), (group == "b").astype(int)
    space = InputSpace(one_hot={"sex": ["sex_a", "sex_b"]})
    auditor = flip_test(Rule(), space=space, sensitive_features=["sex"]).fit(X)
    assert auditor.one_hot_ == {"sex": ["sex_a", "sex_b"]}
    assert auditor.groups_.tolist() == ["a", "b"]
    pair = auditor.worst_case_[["sex_a", "sex_b"]]
    assert (pair.sum(axis=1) == 1).all() and pair["sex_a"].nunique() == 2


def test_chunks_are_moved_as_the_table_is(found, monkeypatch):
    X, group, whole = found
    X = X.assign(sex=group)  # which the model does not take
    model = Rule()
    model.feature_names_in_ = np.array(["pay", "years", "site"], dtype=object)
    auditor = flip_test(model, sensitive_features=["sex"])
    parts = auditor.fit([X[:100], X[100:]])
    assert parts.moved_rate_ == whole.moved_rate_ and parts.n_inputs_ == len(X)
    with pytest.raises(ValueError, match="must be columns of the chunks"):
        flip_test(model).fit([X[:100], X[100:]], sensitive_features=group)
    monkeypatch.setattr(auditor_module, "SAMPLE_ROWS", 150)
    with pytest.warns(UserWarning, match="random sample of 150 of 240 rows"):
        auditor.fit(iter([X[:100], X[100:]]))
    assert auditor.n_inputs_ == 150


class Admitted(Rule):
    """Refuses what breaks the constraint, of which nobody may ask."""

    def total(self, X):
        assert (X["pay"] < X["years"]).all()
        return super().total(X)


@pytest.mark.parametrize("where", ["space", "transport"])
def test_moved_twins_that_break_the_constraint_are_counted_and_never_asked_about(where):
    X, group = make_rows()
    inside = (X["pay"] < X["years"]).to_numpy()
    X, group = X[inside].reset_index(drop=True), group[inside]
    space = InputSpace(constraint=Order("pay", "<", "years"))
    given = {"space": space} if where == "space" else {"transport": QuantileTransport(space=space)}
    n_broken = n_changes = 0
    for own, to in (("a", "b"), ("b", "a")):
        before, after, moved = by_hand(Rule(), X, group, own, to)
        holds = (moved["pay"] < moved["years"]).to_numpy()
        n_broken += np.sum(~holds)
        n_changes += np.sum((before != after) & holds)
    assert n_broken > 3
    message = f"^{n_broken} of {len(X)} moved twins break the constraint"
    with pytest.warns(ConstraintWarning, match=message):
        auditor = flip_test(Admitted(), n_bootstrap=2, random_state=0, **given).fit(
            X, sensitive_features=group
        )
    assert auditor.n_found_ == n_changes > 0


# Intervals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", [QuantileTransport(), SequentialTransport()])
def test_the_same_seed_gives_the_same_result(transport):
    X, group = make_rows()
    settings = {"transport": transport, "n_bootstrap": 3, "attribution": "order"}
    one, two = (
        flip_test(Rule(), random_state=0, n_jobs=n_jobs, **settings).fit(
            X, sensitive_features=group
        )
        for n_jobs in (None, 2)
    )
    pd.testing.assert_frame_equal(one.flips_, two.flips_)
    pd.testing.assert_frame_equal(one.columns_, two.columns_)
    assert one.n_queries_ == two.n_queries_


def test_no_stage_is_silent(capsys):
    X, group = make_rows()
    flip_test(Rule(), n_bootstrap=10, random_state=0, verbose=1).fit(X, sensitive_features=group)
    lines = capsys.readouterr().out.splitlines()
    shares = [int(line.partition("%")[0].split()[-1]) for line in lines]
    assert shares == sorted(shares) and shares[-1] == 100 and 5 <= len(lines) <= 10
    for words in ("of 10 maps", "moves judged", "columns of 2 of 2 moves"):
        assert any(words in line for line in lines)


@pytest.mark.parametrize(
    "n", [pytest.param(100, marks=SAMPLE), pytest.param(10_000, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("groups", [("a", "b"), ("a", "b", "c")])
def test_without_a_path_no_direction_stands_out(n, groups):
    """Nothing goes along with the group; maps are learned again as often as audits do it."""
    above = 0
    for seed in range(20):
        X, group = make_rows(n, seed, groups)
        auditor = flip_test(Rule(), n_bootstrap=10, random_state=seed)
        group = np.random.default_rng([seed, 1]).permutation(group)
        stages = auditor._stages(X, None, group, {})
        next(stages), next(stages)  # what follows is not about intervals
        flips, (low, _) = auditor.flips_, auditor.moved_rate_interval_
        above += bool((flips["low"] > 0).any() or (flips["beyond_low"] > 0).any() or low > 0)
    # Of 20 that miss with a chance of a tenth (the lines, and the rate of all), six or more are
    # one case in 100.
    assert above < 6


@slow_sample
def test_intervals_hold_the_share_and_a_random_attribute_shows_nothing():
    X, group = make_rows(300)
    found = flip_test(Rule(), n_bootstrap=16, random_state=0)
    flips = found.fit(X, sensitive_features=group).flips_
    assert ((flips["low"] <= flips["share"]) & (flips["share"] <= flips["high"])).all()
    assert (flips.query("direction == 'any'")["beyond_low"] > 0.1).all()
    low, high = found.moved_rate_interval_
    assert 0 < low < found.moved_rate_ < high
    chance = np.random.default_rng(3).permutation(group)
    nothing = found.fit(X, sensitive_features=chance).flips_
    assert (nothing["beyond_low"] <= 0).all() and (nothing["beyond_high"] >= 0).all()
    assert (nothing["share"] > 0).any() and (nothing["low"] == 0).all()


def test_errors_of_a_map_are_taken_off():
    null = 0.02
    for both in (True, False):
        assert without_errors(0.02, null, both=both) == 0
        assert 0 < without_errors(0.03, null, both=both) < 0.03
        assert without_errors(0.5, null, both=both) == 0.5
        assert without_errors(0.1, 0.0, both=both) == 0.1
    # Against the same by simulation: rows within s of the boundary, errors of 1.
    s, errors = 0.7, np.random.default_rng(0).normal(size=1_000_000)
    share, null = np.abs(s + errors).mean() / 100, np.abs(errors).mean() / 100
    assert without_errors(share, null, both=True) == pytest.approx(s / 100, rel=0.02)
    share, null = (np.maximum(part, 0).mean() / 100 for part in (s + errors, errors))
    assert without_errors(share, null, both=False) == pytest.approx(s / 100, rel=0.02)


def test_a_share_of_zero_has_an_interval():
    interval = interval_of(0.0, np.zeros(50), np.zeros(50), 100, 0.95, both=True)
    assert interval.low == 0 and 0.02 < interval.high < 0.06


@pytest.mark.parametrize("null", [0.0, 0.05, 0.2])
def test_ends_of_an_interval_are_plain_numbers(null):
    again, nulls = np.linspace(0.1, 0.3, 20), null * np.linspace(0.5, 1.5, 20)
    interval = interval_of(0.2, again, nulls, 100, 0.95, both=True)
    assert {type(number) for number in interval} == {float}


def test_intervals_of_all_directions_hold_at_once():
    """Of normal shares that have nothing to do with each other, and of those that go together."""
    rng, diagonal = np.random.default_rng(0), np.arange(3)
    for alone, (least, most) in ((True, (1.3, 1.7)), (False, (1.0, 1.2))):
        noise = rng.normal(size=(400, 3, 3, 3) if alone else (400, 1, 1, 1))
        pairs = np.broadcast_to(0.3 + 0.02 * noise, (400, 3, 3, 3)).copy()
        pairs[:, diagonal, diagonal] = np.nan  # nobody is moved to their own group
        again = [Shares(one, 0.0, np.zeros(3)) for one in pairs]
        assert least <= wider_together(again, 0.95) <= most
    assert wider_together(again[:1], 0.95) == 1.0
    # One repetition is far away from others that are all the same.
    far = [*([again[0]] * 9), Shares(again[0].pairs + 0.5, 0.0, np.zeros(3))]
    assert 1.0 < wider_together(far, 0.95) < 3.0
    still = [Shares(np.zeros((2, 2, 3)), 0.0, np.zeros(2))] * 5
    assert wider_together(still, 0.95) == 1.0


def test_one_direction_is_compared_with_what_chance_makes_of_it():
    # Flips of a map that moves all rows by one error of its own: in half of all maps none.
    again = 0.03 + 0.01 * np.random.default_rng(0).normal(size=99)
    nulls = np.maximum(np.random.default_rng(1).normal(size=99), 0) * 0.01
    within = float(np.quantile(nulls, 0.9))
    for share, both, is_zero in ((within, False, True), (0.05, False, False), (0.05, True, False)):
        interval = interval_of(share, again, nulls, 1000, 0.95, both=both)
        assert (interval.low == 0) == is_zero


def test_all_directions_are_compared_with_what_chance_makes_of_the_largest():
    """Of groups that chance has made, one direction stands out as seldom as an interval misses."""
    rng, n = np.random.default_rng(0), 200
    scale = rng.uniform(0.01, 0.1, (3, 3, 3))
    scale[np.arange(3), np.arange(3)] = np.nan  # nobody is moved to their own group
    every = np.maximum(rng.normal(size=(n, 100, *scale.shape)), 0) * scale
    one_stands_out = each_by_itself = 0
    for share, *nulls in every:
        given, *others = (Shares(pairs, 0.0, np.zeros(3)) for pairs in (share, *nulls))
        share = share[..., 1:]
        one_stands_out += (share > largest_by_chance(given, others, 0.95)).any()
        each_by_itself += (share > np.quantile(nulls, 0.975, axis=0)[..., 1:]).any()
    assert one_stands_out < 0.06 * n < 0.2 * n < each_by_itself
    far = Shares(given.pairs + 0.3, 0.0, np.zeros(3))  # one that all directions stand out of
    beyond = far.pairs[..., 1:] > largest_by_chance(far, others[:10], 0.95)
    assert beyond[~np.eye(3, dtype=bool)].all()


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 0.8])
def test_coverage_where_the_share_is_known(shift):
    model = LogisticRegression()
    model.classes_, model.n_features_in_ = np.array([0, 1]), 1
    model.coef_, model.intercept_ = np.array([[1.0]]), np.array([-0.5])
    up = stats.norm.cdf(0.5) - stats.norm.cdf(0.5 - shift)
    covers = []
    for run in range(200):
        rng = np.random.default_rng([run, 7])
        group = rng.integers(0, 2, 500)
        X = (rng.normal(size=500) + shift * group)[:, None]
        auditor = flip_test(model, n_bootstrap=50, random_state=run)
        flips = auditor.fit(X, sensitive_features=group).flips_
        ends = [("", flips.iloc[0], up), ("", flips.query("direction == '0 -> 1'").iloc[0], up)]
        if shift == 0:
            ends.append(("beyond_", flips.iloc[0], 0.0))
        covers.append([line[f"{of}low"] <= true <= line[f"{of}high"] for of, line, true in ends])
    # 0.95, less three standard errors of 200 runs; without any path 0 is the end of what can be.
    assert (np.mean(covers, axis=0) >= 0.904).all()


# Refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda group: np.where(np.arange(len(group)) == 3, "c", group), "groups of one row: 1"),
        (lambda group: np.where(np.arange(len(group)) == 3, None, group), "in 1 of 240 rows"),
        (lambda group: np.arange(len(group)) // 3, "80 groups, .* 6,320 maps"),
        (lambda group: np.full(len(group), "a"), "two groups or more"),
        (lambda group: group[:-1], "one for each row|239|columns"),
    ],
)
def test_groups_that_cannot_be_compared(change, match):
    X, group = make_rows()
    model = Rule()
    with pytest.raises((ValueError, TypeError), match=match):
        flip_test(model).fit(X, sensitive_features=change(group))
    assert not hasattr(model, "n_rows_")


def test_missing_values_of_a_column_of_the_table():
    X, group = make_rows()
    X["sex"] = np.where(np.arange(len(X)) == 3, None, group)
    with pytest.raises(ValueError, match="'sex' has missing values in 1 of .* row 3"):
        flip_test(Rule()).fit(X)


@pytest.mark.parametrize("transport", [LogisticRegression(), object(), QuantileTransport])
def test_what_moves_no_rows_is_no_transport(transport):
    X, group = make_rows()
    with pytest.raises(TypeError, match="transport"):
        flip_test(Rule(), transport=transport).fit(X, sensitive_features=group)


def test_a_column_that_is_constant_in_one_group(aucs):
    X, group = make_rows()
    X.loc[group == "a", "years"] = 3
    with pytest.warns(UserWarning, match="Column 'years' has a single value in all .* group 'a'"):
        auditor = flip_test(Rule(), random_state=0).fit(X, sensitive_features=group)
    good = auditor.map_quality_
    assert (good["auc_before"] > 0.9).all() and (good["auc_after"] < 0.65).all()
    before, after, _ = by_hand(Rule(), X, group, "a", "b")
    assert share(auditor, "a", "b") == np.mean(before != after)


def test_groups_without_overlap(aucs):
    X, group = make_rows()
    X["pay"] += 100 * (group == "b")
    with pytest.warns(UserWarning, match=r"'a' and of 'b' hardly overlap: .* AUC of 1\.000"):
        auditor = flip_test(Rule(cut=50), random_state=0).fit(X, sensitive_features=group)
    assert auditor.moved_rate_ == 1
    assert (auditor.map_quality_["auc_before"] == 1).all()
    assert (auditor.map_quality_["auc_after"] < 0.65).all()
    keeps = flip_test(Rule(), transport=QuantileTransport(keep=["pay"]), random_state=0)
    with pytest.warns(UserWarning, match=r"AUC of 1\.00 .* unmoved rows: 1\.00"):
        keeps.fit(X, sensitive_features=group)
    assert (keeps.map_quality_["out_of_range"] == 1).all()


def test_a_category_that_one_group_lacks():
    X, group = make_rows()
    X["site"] = np.where((group == "b") & (X["years"] > 3), "west", X["site"])
    auditor = flip_test(Rule(), random_state=0).fit(X, sensitive_features=group)
    _, _, moved = by_hand(Rule(), X, group, "b", "a")
    assert "west" not in set(moved["site"])
    assert (auditor.map_quality_["out_of_range"] == 0).all()


@pytest.mark.parametrize(
    "transport, match",
    [
        (QuantileTransport(keep=["pay", "years", "site"]), "keep= names all columns"),
        (SequentialTransport(order=["pay", "years"]), r"leaves out \['site'\]"),
        (
            SequentialTransport(graph={"pay": ["years"], "years": ["pay"]}),
            "graph= has a circle: 'pay' -> 'years' -> 'pay'",
        ),
        (QuantileTransport(keep=["wages"]), "wages"),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_maps_that_cannot_be_learned(found, transport, match, inside):
    X, group, _ = found
    model = Rule()
    auditor = flip_test(model, transport=transport)
    given = (X.assign(sex=group), None) if inside else (X, group)
    with pytest.raises(ValueError, match=match):
        auditor.fit(given[0], sensitive_features=given[1])
    assert not hasattr(model, "n_rows_")


def test_an_order_need_not_name_the_sensitive_column_of_the_table(found):
    X, group, _ = found
    transport = SequentialTransport(
        order=["years", "pay", "site"],
        regressor=LinearRegression(),
        classifier=LogisticRegression(),
    )
    auditor = flip_test(Rule(), transport=transport, random_state=0).fit(X.assign(sex=group))
    assert auditor.n_found_ > 0


def test_the_joint_map_without_its_package(found, monkeypatch):
    X, group, _ = found
    monkeypatch.setitem(sys.modules, "ot", None)
    model = Rule()
    with pytest.raises(ImportError, match="transport"):
        flip_test(model, transport=OptimalTransport()).fit(X, sensitive_features=group)
    assert not hasattr(model, "n_rows_")


def test_what_is_refused_leaves_the_results_before():
    X, group = make_rows()
    auditor = flip_test(Rule(), random_state=0).fit(X, sensitive_features=group)
    before = auditor.flips_
    with pytest.raises(ValueError, match="groups of one row"):
        auditor.fit(X, sensitive_features=np.where(np.arange(len(X)) == 3, "c", group))
    pd.testing.assert_frame_equal(auditor.flips_, before)


@pytest.mark.parametrize("classifier", [DecisionTreeClassifier, LinearRegression(), object()])
def test_what_gives_no_probabilities_cannot_judge_a_map(found, classifier):
    X, group, _ = found
    model = Rule()
    with pytest.raises(TypeError, match="classifier must"):
        FlipTestAuditor(model, classifier=classifier).fit(X, sensitive_features=group)
    assert not hasattr(model, "n_rows_")


def test_nothing_to_form_groups_by():
    X, _ = make_rows()
    with pytest.raises(ValueError, match="sensitive"):
        flip_test(Rule()).fit(X)


class Swapping(BaseEstimator):
    """A transport of one's own, with the public methods alone."""

    def fit(self, X, groups):
        self.means_ = {g: X["pay"][groups == g].mean() for g in np.unique(groups)}
        return self

    def transport(self, X, groups, to):
        by = np.array([self.means_[t] - self.means_[g] for g, t in zip(groups, to, strict=True)])
        return X.assign(pay=X["pay"] + by)


def test_any_transport_with_the_two_methods_will_do():
    X, group = make_rows()
    auditor = flip_test(Rule(), transport=Swapping(), n_bootstrap=2, random_state=0)
    auditor.fit(X, sensitive_features=group)
    rows = X[group == "a"]
    by = X["pay"][group == "b"].mean() - rows["pay"].mean()
    after = Rule().predict(rows.assign(pay=rows["pay"] + by))
    assert share(auditor, "a", "b") == np.mean(Rule().predict(rows) != after)
    assert set(auditor.columns_["column"]) == {"pay"}


def test_a_model_that_fails_later_leaves_what_was_found():
    X, group = make_rows()
    auditor = flip_test(Rule(fail_after=4000), n_bootstrap=20, random_state=0)
    with pytest.raises(EstimatorFailedError, match="asked too often"):
        auditor.fit(X, sensitive_features=group)
    assert auditor.stop_kind_ == "failed" and auditor.n_found_ > 0
    again = pickle.loads(pickle.dumps(auditor))
    assert again.moved_rate_ == auditor.moved_rate_


def test_a_model_without_any_change_warns():
    X, group = make_rows()
    with pytest.warns(NoDisparityWarning, match="none of 240 rows"):
        auditor = flip_test(Rule(cut=1e2))
        auditor.fit(X.assign(pay=0.0, years=1, site="north"), sensitive_features=group)
    assert auditor.worst_case_ is None and len(auditor.flipset_) == 0


def test_queries_are_counted():
    X, group = make_rows()
    auditor = flip_test(Rule(), n_bootstrap=2, random_state=0)
    auditor.fit(X, sensitive_features=group)
    assert auditor.n_queries_ == auditor.estimator_.n_rows_


class ByHalves(FlipTestAuditor):
    """Groups of the checks' tables, which have no sensitive column: every other row."""

    def fit(self, X, y=None, **fit_params):
        n = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        return super().fit(X, y, sensitive_features=np.arange(n) % 2, **fit_params)


@pytest.mark.slow
@pytest.mark.parametrize("model", [LogisticRegression(), LinearRegression()])
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning")
def test_scikit_learn_checks(model):
    tree = DecisionTreeClassifier(max_depth=3)
    assert_conforms(ByHalves(model, n_bootstrap=2, classifier=tree, random_state=0))


@pytest.mark.parametrize("keep", ["sex", ["sex"], [0]])
def test_the_attribute_may_be_named_among_the_columns_that_stay(keep):
    X, group = make_rows()
    X.insert(0, "sex", group)
    rates = [
        FlipTestAuditor(
            Rule(), transport=QuantileTransport(keep=k), sensitive_features="sex", n_bootstrap=0
        )
        .fit(X)
        .moved_rate_
        for k in ((), keep)
    ]
    assert rates[0] == rates[1] > 0


# A time limit ------------------------------------------------------------------------------------


class TakesTime(QuantileTransport):
    """Takes ten seconds to learn a map."""

    def _learn(self, *arguments):
        CLOCK.sleep(10)
        return super()._learn(*arguments)


class AnswersLate(Rule):
    """Takes ten seconds to answer."""

    def predict_proba(self, X):
        CLOCK.sleep(10)
        return super().predict_proba(X)


def in_time(max_time, model=Rule, transport=TakesTime):
    X, group = make_rows()
    CLOCK.begin()
    settings = {"transport": transport(), "n_bootstrap": 5, "attribution": "order"}
    auditor = flip_test(model(), max_time=max_time, random_state=0, **settings)
    return auditor.fit(X, sensitive_features=group)


@pytest.mark.parametrize(
    ("max_time", "left_out"),
    [
        (
            12,
            [
                "0 of 5 maps were learned again",
                "the map was not judged",
                "what columns carry was measured for 0 of 2 moves",
            ],
        ),
        (95, ["2 of 5 maps were learned again"]),
    ],
)
def test_a_time_limit_keeps_what_was_done(max_time, left_out):
    ended, whole = in_time(max_time), in_time(None)
    assert ended.stop_reason_ == "; ".join(["max_time: all rows were moved", *left_out])
    assert (ended.stop_kind_, whole.stop_kind_) == ("max_time", "complete")
    assert ended.moved_rate_ == whole.moved_rate_ and ended.flipset_.equals(whole.flipset_)
    assert ended.map_quality_["auc_after"].isna().all() == ("the map was not judged" in left_out)
    assert np.isfinite(ended.moved_rate_interval_).all() == (max_time == 95)


def test_with_time_enough_a_limit_changes_nothing():
    ended, whole = in_time(1_000), in_time(None)
    assert ended.stop_kind_ == "complete" and ended.flips_.equals(whole.flips_)
    assert ended.columns_.equals(whole.columns_)


def test_columns_are_whole_for_the_moves_that_there_was_time_for():
    ended, whole = (in_time(t, AnswersLate, QuantileTransport) for t in (75, None))
    assert "what columns carry was measured for 1 of 2 moves" in ended.stop_reason_
    first = whole.columns_[whole.columns_["group"] == "a"]
    assert ended.columns_["change"].tolist() == first["change"].tolist()


def test_a_map_that_is_not_learned_in_time_is_an_error():
    with pytest.raises(ValueError, match=r"max_time=5 s was over before the map was learned"):
        in_time(5)


# Maps learned again --------------------------------------------------------------------------


class LearnedAnew(QuantileTransport):
    """Is learned each time as any other transport is."""


@pytest.mark.parametrize("groups", [("a", "b"), ("a", "b", "c")])
@pytest.mark.parametrize("keeps", [False, True])
def test_what_maps_share_changes_nothing(groups, keeps):
    rng = np.random.default_rng(2)
    X, group = make_rows(n=300, groups=groups)
    X = X.assign(sex=group, half=np.where(rng.random(300) < 0.1, np.nan, rng.normal(size=300)))
    space = InputSpace().fit(X.assign(same=1, pay=X["pay"].round(1)), ["sex"])
    of = Groups.of(space, None)
    counts = np.bincount(rng.integers(0, 300, 300), minlength=300)
    codes = rng.permutation(of.codes) if keeps else of.codes
    moved = []
    for transport in (QuantileTransport(), LearnedAnew()):
        maps = Maps(transport, space, of)
        again = RepeatedMaps(maps, maps.learn(space.data, of.codes), space.data)
        moved.append(again.move_all(codes, counts, keeps=keeps))
    for one, other in zip(*moved, strict=True):
        assert (one.own, one.to) == (other.own, other.to)
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_allclose(one.Z, other.Z, rtol=1e-9, atol=1e-9)


def test_results_of_each_stage_are_there_before_the_next():
    X, group = make_rows()
    whole = flip_test(Rule(), n_bootstrap=4, random_state=0).fit(X, sensitive_features=group)
    auditor = flip_test(Rule(), n_bootstrap=4, random_state=0)
    lacks = {
        "shares": "0 of 4 maps were learned again",
        "intervals": "the map was not judged",
        "quality": "what columns carry was not measured",
        "columns": "",
    }
    for stage in auditor._stages(X, None, group, {}):
        words = list(lacks.values())[list(lacks).index(stage) :]
        assert auditor.stop_reason_.partition("; ")[2] == "; ".join(filter(None, words))
        assert auditor.moved_rate_ == whole.moved_rate_
        assert auditor.flips_["share"].equals(whole.flips_["share"])
        assert np.isfinite(auditor.moved_rate_interval_).all() == (stage != "shares")
        assert np.isfinite(auditor.map_quality_["auc_after"]).all() == (
            stage in ("quality", "columns")
        )
        assert len(auditor.columns_) == (len(whole.columns_) if stage == "columns" else 0)
    assert stage == "columns" and auditor.flips_.equals(whole.flips_)
