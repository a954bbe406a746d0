"""compare_mitigations: its figures are what they say, and a method that fails leaves the others."""

import re
from importlib import import_module

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from joblib import parallel_config
from planted_proxies import with_proxies
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, get_scorer, roc_auc_score
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tiers import SAMPLE, slow_sample, some

from skfairtest import (
    FlipTestAuditor,
    InputSpace,
    RandomAuditor,
    audit,
    compare_mitigations,
    estimate_discrimination,
    make_audit_scorer,
)
from skfairtest._statistics import wilson_interval
from skfairtest.finding._words import percent
from skfairtest.group._rules.sensitive_groups import SensitiveGroups
from skfairtest.individual._flip_test.share import MovedTwins
from skfairtest.mitigation._cached_predictions import CachedPredictions, score_of_rows
from skfairtest.mitigation._comparison import methods
from skfairtest.mitigation._comparison.group_rates import (
    between_groups,
    rate_change,
    rates_by_group,
)
from skfairtest.mitigation._comparison.jackknife import deal, leave_out, paired_difference
from skfairtest.mitigation._comparison.methods import ComparisonSettings
from skfairtest.mitigation._comparison.with_fairlearn import RandomizedClassifier
from skfairtest.mitigation._held_columns import HeldColumns
from skfairtest.report.parts.moved.results import MovedPart
from skfairtest.transports import QuantileTransport

running = import_module("skfairtest.mitigation._comparison.compare_mitigations")
TREE = DecisionTreeClassifier(max_depth=5, random_state=0)
TIMES = ["fit_seconds", "predict_ratio"]


@pytest.fixture(autouse=True)
def short_searches(monkeypatch):
    """The search for the largest difference takes most of the time and is tested elsewhere."""
    settings = ComparisonSettings(n_inputs=200, certify_time=0, degree_queries=20, n_parts=5)
    monkeypatch.setattr(running, "SETTINGS", settings)


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 12, (n, 3)), columns=["a", "b", "c"])
    X["sex"] = rng.choice(["f", "m"], n)
    y = X["a"] + 4 * (X["sex"] == "m") * (X["b"] > 5) + rng.normal(size=n) > 7
    return X, np.where(y, "yes", "no")


def coder(model):
    # What does not ask for weights is an error where they are routed.
    scaler = StandardScaler()
    with sklearn.config_context(enable_metadata_routing=True):
        scaler.set_fit_request(sample_weight=False)
    return make_pipeline(
        make_column_transformer((OneHotEncoder(), ["sex"]), remainder=scaler), model
    )


def compared(estimator=None, X=None, y=None, **settings):
    if X is None:
        X, y = coded()
    estimator = TREE if estimator is None else estimator
    settings = {
        "methods": ["drop"], "sensitive_features": "sex", "cv": 2, "random_state": 0,
        "progress": False,
    } | settings  # fmt: skip
    return compare_mitigations(estimator, X, y, **settings)


def compare(*args, **settings):
    return compared(*args, **settings).table


@pytest.fixture(scope="module")
def comparison():
    with pytest.MonkeyPatch.context() as patch:
        settings = ComparisonSettings(n_inputs=200, degree_queries=100, n_parts=10)
        patch.setattr(running, "SETTINGS", settings)
        return compared(methods=["drop", "marginalize"])


class Lucky(ClassifierMixin, BaseEstimator):
    """Says "no" to a share of the inputs that hangs on its rows by chance."""

    def __init__(self, spread=0.0, random_state=0):
        self.spread, self.random_state = spread, random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        rng = np.random.default_rng([int(X["a"].sum()), int(X["b"].sum())])
        self.cut_ = 4 + 12 * self.spread * rng.normal()
        return self

    def predict(self, X):
        return np.where(np.asarray(X["a"]) > self.cut_, "yes", "no")


# Figures -----------------------------------------------------------------------------------------


@slow_sample
def test_methods_without_the_column_treat_all_twins_alike_and_the_original_does_not(comparison):
    table = comparison.table
    assert table.index.tolist() == ["original", "drop", "marginalize"]
    shares = table[["share_rows", "share_near", "share_uniform", "degree"]]
    assert (shares.loc["original"] > 0.02).all()
    assert (shares.loc[["drop", "marginalize"]] == 0).all(axis=None)
    assert table.loc["drop", "degree_bound"] == 0
    assert table.loc["original", "degree"] == 1
    assert table.loc["original", "degree_bound"] == pytest.approx(1)
    for place in ("rows", "near", "uniform"):
        low, high = table[f"share_{place}_low"], table[f"share_{place}_high"]
        assert (low <= table[f"share_{place}"]).all() and (table[f"share_{place}"] < high).all()
    assert comparison.settings["n_inputs"] == {"rows": 200, "near": 200, "uniform": 200}


@slow_sample
def test_scores_are_those_of_out_of_fold_predictions():
    X, y = coded()
    cv = StratifiedKFold(3, shuffle=True, random_state=5)
    table = compare(X=X, y=y, cv=cv)
    for method, sex in (("original", X["sex"]), ("drop", 1)):
        proba = cross_val_predict(TREE, X.assign(sex=sex), y, cv=cv, method="predict_proba")
        said = np.array(["no", "yes"])[proba.argmax(axis=1)]
        assert table.loc[method, "accuracy"] == accuracy_score(y, said)
        assert table.loc[method, "auc"] == pytest.approx(roc_auc_score(y == "yes", proba[:, 1]))
    change = table.loc["drop", "accuracy"] - table.loc["original", "accuracy"]
    assert table.loc["drop", "accuracy_change"] == pytest.approx(change) and change < -0.03
    assert table.loc["drop", "accuracy_change_low"] < change
    assert change < table.loc["drop", "accuracy_change_high"] < 0
    assert (table.filter(regex="^(accuracy|auc)_change").loc["original"] == 0).all()


@slow_sample
def test_shares_are_those_of_the_model_of_all_rows():
    X, y = people(200)
    row = compare(coder(TREE), X, y, cv=3).loc["original"]
    model = coder(TREE).fit(X, y)
    flips = model.predict(X.assign(sex="f")) != model.predict(X.assign(sex="m"))
    assert row["share_rows"] == flips.mean()
    # That of people who are not among the rows: it reaches to where models of folds have it.
    alone = wilson_interval(flips.sum(), len(X), 0.95)
    assert row["share_rows_low"] <= alone[0] and alone[1] <= row["share_rows_high"]
    moved = FlipTestAuditor(model, n_bootstrap=0, sensitive_features="sex").fit(X).moved_rate_
    assert row["share_moved"] == moved > 0
    assert row["share_moved_low"] < moved < row["share_moved_high"]


@slow_sample
def test_intervals_hold_what_is_so_of_the_models_of_all_rows():
    """Among fresh people, of whom half are of the other sex; `--truth` of a benchmark has more."""

    def draw(n, seed):
        rng = np.random.default_rng([n, seed])
        noise, sex = rng.normal(size=(2, n)), rng.integers(0, 2, n)
        tables = [
            pd.DataFrame({"sex": s, "a": noise[0] + 0.5 * s, "b": noise[1]}) for s in (sex, 1 - sex)
        ]
        y = tables[0]["a"] + noise[1] + 0.5 * sex + rng.logistic(size=n) > 0.5
        return *tables, y.to_numpy().astype(int)

    fresh, moved, y_fresh = draw(20_000, 0)
    twins, held, figures = fresh.assign(sex=1 - fresh["sex"]), [], ("share_rows", "share_moved")
    for seed in range(8):
        X, _, y = draw(300, seed)
        table = compare(TREE, X, y, cv=3, favourable=1, random_state=seed)
        said = [
            [model.predict(rows.assign(sex=0) if name == "drop" else rows) for rows in asked]
            for name, model, asked in (
                ("original", clone(TREE).fit(X, y), (fresh, twins, moved)),
                ("drop", clone(TREE).fit(X.assign(sex=0), y), (fresh, twins, moved)),
            )
        ]
        truths = [[(own != other).mean() for other in others] for own, *others in said]
        for name, truth in zip(table.index, truths, strict=True):
            row = table.loc[name]
            held += [
                row[f"{figure}_low"] <= value <= row[f"{figure}_high"]
                for figure, value in zip(figures, truth, strict=True)
            ]
        change = (said[1][0] == y_fresh).mean() - (said[0][0] == y_fresh).mean()
        row = table.loc["drop"]
        held.append(row["accuracy_change_low"] <= change <= row["accuracy_change_high"])
    # With a chance of 0.95 each, figures of a run going together, 33 or fewer of 40 are rare.
    assert len(held) == 40 and sum(held) > 33


def test_an_interval_of_a_change_is_about_one_training():
    """A model that is good or bad by chance: the folds' mean says little about the next one."""
    alike, apart = (compare(methods={"lucky": Lucky(spread=s)}, cv=3) for s in (0.0, 0.3))
    width = "accuracy_change_high", "accuracy_change_low"
    widths = [
        table.loc["lucky", width[0]] - table.loc["lucky", width[1]] for table in (alike, apart)
    ]
    assert widths[1] > 2 * widths[0] > 0


@slow_sample
def test_scoring_takes_the_place_of_accuracy():
    X, y = coded()
    cv = StratifiedKFold(3)
    table = compare(X=X, y=y, scoring="f1_macro", cv=cv)
    said = cross_val_predict(TREE, X, y, cv=cv)
    assert table.loc["original", "f1_macro"] == pytest.approx(f1_score(y, said, average="macro"))
    assert "accuracy" not in table and "worst_group_f1_macro" in table


def test_groups_who_pays_and_rates(comparison):
    table, groups = comparison.table, comparison.groups.loc["drop"]
    assert groups.index.tolist() == ["sex = 0", "sex = 1"] and groups["rows"].sum() == 400
    row = table.loc["drop"]
    assert row["worst_group"] == groups["accuracy"].idxmin()
    assert row["worst_group_accuracy"] == groups["accuracy"].min()
    spread = groups["accuracy"].max() - groups["accuracy"].min()
    assert row["accuracy_spread"] == pytest.approx(spread)
    parity = abs(groups["selection_rate"].diff().iloc[1])
    assert row["demographic_parity_difference"] == pytest.approx(parity)
    assert parity != table.loc["original", "demographic_parity_difference"]
    assert len(pd.concat([table, table])) == 2 * len(table)


def test_who_loses_is_the_group_whose_rate_certainly_falls(comparison):
    rates = comparison.groups["selection_rate"].unstack("method")
    changes = comparison.groups.loc["marginalize"].filter(like="selection_rate_change")
    assert np.allclose(changes["selection_rate_change"], rates["marginalize"] - rates["original"])
    row = comparison.table.loc["marginalize"]
    low, high = changes["selection_rate_change_low"], changes["selection_rate_change_high"]
    assert high[row["losing_group"]] < 0 and high.drop(row["losing_group"]).iloc[0] > 0
    assert row["losing_group_change"] == changes.loc[row["losing_group"], "selection_rate_change"]
    assert (low < changes["selection_rate_change"]).all()
    assert comparison.table.loc["original", "losing_group"] == ""


def test_the_change_of_a_rate_is_about_the_rows_of_the_group():
    rng = np.random.default_rng(0)
    original = (rng.random(600) < 0.5).astype(float)
    own = np.where(rng.random(600) < 0.1, 1 - original, original)
    number = deal(np.zeros(600, dtype=int), 5, rng)
    settings = {"confidence": 0.95, "weights": None, "are_shares": True}
    value, low, high = rate_change(own, original, number, **settings)
    assert value == pytest.approx((own - original).mean()) and low < value < high
    # A tenth of the rows tells less.
    few = rate_change(own[:60], original[:60], number[:60], **settings)
    assert few.high - few.low > 2 * (high - low)
    half = np.where(np.arange(600) < 300, 1.0, 0.0)
    weighted = rate_change(own, original, number, **(settings | {"weights": half}))
    assert weighted.value == pytest.approx((own - original)[:300].mean())


@slow_sample
def test_favourable_labels_say_what_rates_count(comparison):
    other = compared(favourable="no")
    ours, theirs = (c.groups.loc["original"] for c in (comparison, other))
    assert np.allclose(ours["selection_rate"], 1 - theirs["selection_rate"])
    with pytest.raises(ValueError, match="favourable"):
        compare(favourable="maybe")


@slow_sample
def test_regressor_has_differences_and_r2_or_shares_above_a_threshold(monkeypatch):
    X, _ = coded()
    y = X["a"] + 3.0 * X["sex"]
    model = LinearRegression()
    monkeypatch.setattr(running, "SETTINGS", running.SETTINGS._replace(certify_time=4))
    comparison = compared(model, X, y)
    table = comparison.table
    assert table.loc["original", "difference_near"] == pytest.approx(3)
    assert table.loc["drop", "difference_near"] == pytest.approx(0, abs=1e-9)
    assert table.loc["original", "r2"] == pytest.approx(1)
    assert table.loc["original", "degree_bound"] == pytest.approx(3)
    assert "auc" not in table and comparison.settings["is_mean"]
    assert np.isnan(table.loc["original", "equalized_odds_difference"])
    share = compare(model, X, y, threshold=2.5)
    assert share["share_near"].tolist() == [1, 0]


@slow_sample
def test_three_classes_have_an_auc_over_all():
    X, _ = coded()
    y = X["c"].to_numpy() % 3
    with pytest.warns(UserWarning, match="2 taken as favourable, which is a guess"):
        table = compare(X=X, y=y)
    assert 0 < table.loc["original", "auc"] < 1 and "share_rows" in table


def test_model_with_labels_only_has_no_auc():
    class Labels(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return np.where(X["sex"] == 1, "yes", "no")

    table = compare(Labels())
    assert table.loc["original", "share_rows"] == 1 and table.loc["drop", "share_rows"] == 0
    assert table["auc"].isna().all() and table.loc["original", "degree_unit"] == "label"


@pytest.mark.parametrize("kind", some(["array", "polars"]))
def test_other_tables(kind):
    X, y = coded()
    given, sensitive = (X.to_numpy(), 3) if kind == "array" else (pl.from_pandas(X), "sex")
    table = compare(TREE, given, y, sensitive_features=sensitive, methods=["drop", "marginalize"])
    assert table["share_rows"].iloc[0] > 0 and (table["share_rows"].iloc[1:] == 0).all()


# One result for one seed -------------------------------------------------------------------------


@slow_sample
def test_same_seed_same_table_whatever_the_number_of_jobs():
    with parallel_config("threading"):
        one, two, other = (
            compare(n_jobs=jobs, random_state=seed).drop(columns=TIMES)
            for jobs, seed in ((None, 3), (2, 3), (None, 4))
        )
    pd.testing.assert_frame_equal(one, two)
    assert one.loc["original", "share_near"] != other.loc["original", "share_near"]


def coded(n=400):
    X, y = people(n)
    return X.assign(sex=(X["sex"] == "m").astype(int)), y


# Methods that fail -------------------------------------------------------------------------------


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no luck\nat all")


def test_a_method_that_fails_has_its_reason_and_the_others_go_on():
    methods = {"broken": Broken(), "stump": DecisionTreeClassifier(max_depth=1)}
    table = compare(methods=methods)
    assert table.index.tolist() == ["original", "broken", "stump"]
    assert table.loc["broken", "note"] == "fold 1: RuntimeError: no luck"
    assert np.isnan(table.loc["broken", "accuracy"])
    assert table.loc["stump", "share_near"] == 0 and table.loc["stump", "note"] == ""


def test_an_original_that_fails_is_an_error():
    with pytest.raises(ValueError, match="original could not be trained.*no luck"):
        compare(Broken())


def test_without_fairlearn_its_methods_say_so(monkeypatch):
    monkeypatch.setattr(methods, "has_fairlearn", lambda: False)
    table = compare(methods=["correlation remover", "exponentiated parity", "exponentiated odds"])
    assert (table["note"].iloc[1:] == "fairlearn is not installed").all()
    assert table["accuracy"].notna().tolist() == [True, False, False, False]


@slow_sample
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_retrainer_of_twins_lowers_the_share_or_says_that_it_kept_the_original(monkeypatch, whole):
    if not whole:
        monkeypatch.setattr(methods.ShortRetrainer, "_n_estimates", 200)
    tree = DecisionTreeClassifier(random_state=0)
    table = compare(tree, *coded(150), methods=["retrain twins"])
    row = table.loc["retrain twins"]
    kept = "kept" in row["note"]
    assert row["share_near"] < table.loc["original", "share_near"] or kept
    assert np.isfinite(row["accuracy_change_low"])


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"methods": ["drop", "magic"]}, r"unknown names: \['magic'\].*'marginalize'"),
        ({"methods": {"mine": TREE, "original": TREE}}, "'original' is the name of estimator="),
        ({"methods": {"mine": DecisionTreeClassifier}}, "unfitted estimator"),
        ({"cv": 1}, "cv must be a whole number of at least 2"),
        ({"cv": 1000}, "cv=1000 folds are too many for"),
        ({"cv": ShuffleSplit(3, random_state=0)}, "hold out each row once"),
        ({"sensitive_features": None}, "sensitive_features must be"),
        ({"sensitive_features": []}, "sensitive"),
        ({"sensitive_features": "income"}, "income"),
        ({"max_time": 0}, "max_time must be None or a positive number"),
        ({"progress": "loud"}, "progress must be"),
        ({"sample_weight": np.zeros(400)}, "not zero everywhere"),
        ({"sample_weight": np.linspace(-0.1, 1, 400)}, "must be finite, at least 0"),
        ({"sample_weight": np.ones(3)}, "one value per row, 400; got 3"),
    ],
)
def test_bad_settings(settings, words):
    with pytest.raises(ValueError, match=words):
        compare(**settings)


def test_bad_targets_and_estimators():
    X, y = people()
    with pytest.raises(ValueError, match="requires y"):
        compare(TREE, X, None)
    with pytest.raises(ValueError, match="y must have one value per row"):
        compare(TREE, X, y[:-1])
    with pytest.raises(ValueError, match="one class only"):
        compare(TREE, X, np.ones(len(X)))
    with pytest.raises(TypeError, match="unfitted estimator"):
        compare(DecisionTreeClassifier)
    with pytest.raises(TypeError, match="methods must be"):
        compare(methods=3)


@slow_sample
def test_a_group_splitter_is_taken_where_it_holds_out_every_row():
    X, y = coded()
    splits = list(GroupKFold(3).split(X, y, groups=X["c"]))
    assert compared(X=X, y=y, cv=splits).settings["n_folds"] == 3


# Weights -----------------------------------------------------------------------------------------


@slow_sample
def test_weights_reach_training_and_scores():
    X, y = people()
    half = np.random.default_rng(0).random(len(X)) < 0.5
    # Rows without weight have labels turned round: who learns or counts them sees half of it wrong.
    turned = np.where(half, y, np.where(y == "yes", "no", "yes"))
    with pytest.raises(ValueError, match="Pipeline.fit takes no sample_weight.*routing"):
        compare(coder(TREE), X, turned, sample_weight=half.astype(float))
    with sklearn.config_context(enable_metadata_routing=True):
        asks = coder(clone(TREE).set_fit_request(sample_weight=True))
        weighted = compared(asks, X, turned, sample_weight=half.astype(float))
    weighted_table = weighted.table
    plain = compare(coder(TREE), X, turned)
    assert weighted_table.loc["original", "accuracy"] > 0.85
    assert plain.loc["original", "accuracy"] < 0.7
    assert weighted_table.loc["drop", "accuracy"] < weighted_table.loc["original", "accuracy"]
    assert weighted.groups.loc["original", "rows"].sum() == len(X)


# Parts -------------------------------------------------------------------------------------------


def test_held_columns_are_as_good_as_dropped():
    X, y = coded()
    held = make_pipeline(HeldColumns([3]), StandardScaler(), LogisticRegression()).fit(X, y)
    without = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[["a", "b", "c"]], y)
    assert np.allclose(held.predict_proba(X), without.predict_proba(X[["a", "b", "c"]]))


def test_held_columns_keep_the_table_as_it_is():
    X = pd.DataFrame({"sex": pd.Categorical(["f", "m", "m"]), "n": [1, 2, 3]}, index=[5, 6, 7])
    held = HeldColumns([0]).fit(X).transform(X)
    assert held["sex"].tolist() == ["m"] * 3 and X["sex"].tolist() == ["f", "m", "m"]
    assert held.dtypes.equals(X.dtypes) and held.index.equals(X.index)
    words = pd.DataFrame({"sex": ["f", None, None]})
    assert HeldColumns([0]).fit(words).transform(words)["sex"].isna().all()
    alone = X[:1].assign(sex=X["sex"][:1].cat.remove_unused_categories())
    assert HeldColumns([0]).fit(X).transform(alone)["sex"].tolist() == ["m"]
    table = pl.DataFrame({"n": [1, 2, 3], "sex": ["f", "m", "m"]})
    assert HeldColumns([1]).fit(table).transform(table)["sex"].to_list() == ["m"] * 3
    array = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    assert HeldColumns([1]).fit(array).transform(array)[:, 1].tolist() == [1, 1, 1]
    # Values that occur together, and not each for itself: a row of nobody would be no row.
    pairs = np.array([[0, 1, 9], [0, 2, 9], [0, 3, 9], [1, 4, 9], [1, 4, 9]])
    assert HeldColumns([0, 1]).fit(pairs).values_ == [1, 4]


def test_groups_are_combinations_and_numbers_are_cut_at_quartiles():
    X = pd.DataFrame(
        {"sex": ["f", "m"] * 50, "age": np.arange(100.0), "n": np.arange(100) % 7,
         "race": [None, "b"] * 50}
    )  # fmt: skip
    space = InputSpace(one_hot=None, bounds={"age": (0, 99)}).fit(X, ["sex", "age"])
    names = SensitiveGroups(space).names(X)
    assert len(set(names)) == 8 and names[0] == "sex = f, age < 25"
    assert names[99] == "sex = m, age >= 75" and names[31] == "sex = m, age from 25 to below 50"
    by_race = SensitiveGroups(InputSpace(one_hot=None).fit(X, ["race"])).names(X)
    assert by_race[1] == "race = b" and by_race[0] != by_race[1]


def test_rates_by_hand():
    groups = np.repeat(["a", "b", "few"], [40, 60, 2])
    truth = np.zeros(102, dtype=bool)
    truth[:20] = truth[40:70] = True
    predicted = np.zeros(102)
    predicted[:10] = predicted[40:60] = predicted[90:] = 1
    table = rates_by_group(groups, truth, predicted, None)
    assert table["selection_rate"].round(6).tolist() == [0.25, 0.5, 1.0]
    assert table.loc["b", "true_positive_rate"] == pytest.approx(20 / 30)
    rates = between_groups(table)
    assert rates["demographic_parity_difference"] == 0.25  # without the group of two
    assert rates["demographic_parity_ratio"] == 0.5
    assert rates["equalized_odds_difference"] == pytest.approx(1 / 3)
    only = between_groups(table.loc[["a"]])
    assert all(np.isnan(value) for value in only.values())


@pytest.mark.services("fairlearn")
@pytest.mark.parametrize("with_weights", [False, True])
def test_rates_are_those_of_fairlearn(with_weights):
    from fairlearn import metrics

    rng = np.random.default_rng(1)
    groups, truth = rng.choice(["a", "b", "c"], 500), rng.random(500) < 0.4
    predicted = (rng.random(500) < 0.3 + 0.2 * (groups == "b") + 0.2 * truth).astype(float)
    weights = rng.random(500) if with_weights else None
    rates = between_groups(rates_by_group(groups, truth, predicted, weights))
    for name, value in rates.items():
        theirs = getattr(metrics, name)(
            truth, predicted, sensitive_features=groups, sample_weight=weights
        )
        assert value == pytest.approx(theirs)


def test_paired_interval_covers_the_difference_and_is_narrower_than_an_unpaired_one():
    rng = np.random.default_rng(0)
    covered, widths = 0, []
    for _ in range(200):
        first = rng.random(300) < 0.8
        # One row in ten has another answer: true in 70% of them where the first was wrong or not.
        second = np.where(rng.random(300) < 0.1, rng.random(300) < 0.7, first)
        number = deal(np.zeros(300, dtype=int), 30, rng)
        value, low, high = paired_difference(
            leave_out(lambda rows, v=second: v[rows].mean(), number),
            leave_out(lambda rows, v=first: v[rows].mean(), number),
            0.95,
        )
        covered += low <= -0.01 <= high
        widths.append(high - low)
    assert 180 <= covered <= 199
    assert np.mean(widths) < 0.5 * 2 * 1.96 * np.sqrt(2 * 0.8 * 0.2 / 300)


def test_parts_of_the_jackknife_are_even_in_every_stratum():
    strata = np.repeat([0, 1], [90, 60])
    number = deal(strata, 30, np.random.default_rng(0))
    counts = [np.bincount(number[strata == s], minlength=30) for s in (0, 1)]
    assert (counts[0] == 3).all() and (counts[1] == 2).all()
    assert len(np.unique(deal(strata[:5], 30, np.random.default_rng(0)))) == 5


@pytest.mark.parametrize("name", ["accuracy", "roc_auc", "neg_log_loss", "neg_brier_score"])
def test_replayed_answers_have_the_scores_of_the_model(name):
    X, y = coded()
    y = (y == "yes").astype(int)
    model = LogisticRegression().fit(X, y)
    answers = {"predict": model.predict(X), "predict_proba": model.predict_proba(X)}
    weights = np.arange(len(y)) % 3 + 1.0
    cached = CachedPredictions(LogisticRegression(), known=answers, classes=model.classes_)
    score = score_of_rows(get_scorer(name), cached, y, weights)
    rows = np.arange(50, 300)
    theirs = get_scorer(name)(model, X.iloc[rows], y[rows], sample_weight=weights[rows])
    assert score(rows) == pytest.approx(theirs)


# fairlearn's methods ----------------------------------------------------------------------------


@pytest.mark.services("fairlearn")
def test_fairlearn_methods_in_the_table():
    X, y = coded()
    table = compare(
        LogisticRegression(), X, y, methods=["correlation remover", "exponentiated parity"]
    )
    assert (table["note"] == "").all()
    parity = table["demographic_parity_difference"]
    assert parity["exponentiated parity"] < 0.5 * parity["original"]
    methods = ["correlation remover", "exponentiated odds"]
    notes = compare(coder(Plain()), *people(), methods=methods)["note"]
    assert "tables of numbers" in notes.iloc[1] and "sample_weight" in notes.iloc[2]


class Plain(ClassifierMixin, BaseEstimator):
    """A tree whose ``fit`` takes no weights."""

    def fit(self, X, y):
        self.tree_ = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


def test_twins_share_the_draw_of_a_randomized_classifier():
    class Half:
        """Two members of a mixture that say 0 and 1 to everybody: a coin for each person."""

        weights_ = pd.Series([0.5, 0.5])
        predictors_ = pd.Series([0, 1]).map(
            lambda label: type("Always", (), {"predict": lambda self, X: np.full(len(X), label)})()
        )

    X, _ = people(2000)
    model = RandomizedClassifier(places=[3])
    model.steps_, model.mixture_, model.classes_ = None, Half(), np.array(["no", "yes"])
    said = model.predict(X)
    assert 0.45 < (said == "yes").mean() < 0.55
    assert (said == model.predict(X.assign(sex="f"))).all()
    assert (said[:10] == model.predict(X.iloc[:10])).all()
    assert estimate_discrimination(model, X, sensitive_features="sex", n_samples=500).rate == 0


# Sensitive columns beside X -----------------------------------------------------------------------


def test_groups_that_no_model_is_given_are_compared():
    X, y = people()
    inputs, sex = X[["a", "b", "c"]], X["sex"].mask(np.arange(len(X)) < 50)
    methods = ["drop", "marginalize", "retrain twins", "retrain testsgd", "correlation remover",
            "exponentiated parity"]  # fmt: skip
    comparison = compared(LogisticRegression(), inputs, y, sensitive_features=sex, methods=methods)
    table = comparison.table
    original = table.loc["original"]
    assert (original[["share_rows", "share_near", "degree", "degree_bound"]] == 0).all()
    for method in methods:
        assert "the model does not take sex" in table.loc[method, "note"]
        assert np.isnan(table.loc[method, "accuracy"])
    groups = comparison.groups.loc["original"]
    assert groups["rows"].to_dict() == {
        f"sex = {group}": int((sex == group).sum()) for group in ("f", "m")
    } | {"sex = missing": 50}
    assert original["worst_group"] in groups.index
    assert original["demographic_parity_difference"] > 0
    assert comparison.settings["sensitive_features"] == ["sex"]
    assert "does not take sex" in comparison.recommend().sentence


@slow_sample
def test_some_columns_are_given_to_the_models_and_some_are_not():
    X, y = people(120)
    ward = np.resize(["u", "v"], len(X))
    given = {"sensitive_features": ["sex", ward], "methods": ["drop", "exponentiated odds"]}
    comparison = compared(coder(LogisticRegression()), X, y, **given)
    table = comparison.table
    alone = compare(coder(LogisticRegression()), X, y, sensitive_features="sex", methods=["drop"])
    for name in ("accuracy", "share_rows", "degree"):
        assert table.loc["drop", name] == alone.loc["drop", name]
    assert "works on columns that the model takes" in table.loc["exponentiated odds", "note"]
    assert len(comparison.groups.loc["original"]) == 4
    with pytest.raises(ValueError, match="one row for each row of X"):
        compare(coder(LogisticRegression()), X, y, sensitive_features=["sex", ward[:3]])


# Time, interrupts and progress --------------------------------------------------------------------


@slow_sample
def test_what_was_not_reached_says_so_and_the_cheap_methods_are_done(clock):
    class Slow(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            clock.sleep(10)
            return super().fit(X, y, sample_weight)

    slow = Slow(max_depth=3, random_state=0)
    table = compare(slow, methods=["marginalize", "drop"], max_time=65)
    assert table.index.tolist() == ["original", "marginalize", "drop"]
    # Six trainings in 60 s, and one that had begun before the time was up.
    assert table["accuracy"].notna().tolist() == [True, False, True]
    note = "no time was left of max_time=65 s after 1 of 3 trainings"
    assert table["note"].tolist() == ["", note, ""]
    with pytest.raises(ValueError, match="over before the original was measured"):
        compare(slow, max_time=5)


@slow_sample
def test_an_interrupt_keeps_what_is_done():
    class Interrupts(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            if self.max_depth == 2:
                raise KeyboardInterrupt
            return super().fit(X, y, sample_weight)

    methods = {"done": Interrupts(max_depth=1), "stopped": Interrupts(max_depth=2), "never": TREE}
    table = compare(methods=methods)
    assert table["accuracy"].notna().tolist() == [True, True, False, False]
    assert table["note"].tolist() == ["", "", *["interrupted by the user"] * 2]
    with pytest.raises(KeyboardInterrupt):
        compare(Interrupts(max_depth=2))


@slow_sample
def test_progress_is_a_line_a_method_on_standard_error(capsys):
    X, y = coded(60)
    compare(X=X, y=y, progress=True, methods={"broken": Broken(), "stump": TREE})
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("]")[0].split(",")[0] for line in lines] == [
        f"[compare_mitigations {n}/3" for n in (1, 2, 3)
    ]
    assert lines[1].endswith("broken: fold 1: RuntimeError: no luck")
    compare(X=X, y=y, progress=False)
    assert capsys.readouterr().err == ""


@slow_sample
def test_predictions_that_cannot_be_scored_cost_one_row():
    def varied(model, X, y):
        said = model.predict(X)
        if len(set(said)) == 1:
            raise RuntimeError("all the same")
        return np.mean(said == y)

    methods = {"constant": DummyClassifier(), "stump": DecisionTreeClassifier(max_depth=1)}
    comparison = compared(methods=methods, scoring=varied)
    table = comparison.table
    assert table.loc["constant", "note"] == "could not be scored: RuntimeError: all the same"
    assert np.isnan(table.loc["constant", "score"]) and "constant" not in comparison.groups.index
    assert table.loc["stump", "note"] == "" and table.loc["stump", "score"] > 0


# Tables that are unusual --------------------------------------------------------------------------


def missing(y, place=3):
    y = np.asarray(y, dtype=object)
    y[place] = None
    return y


@pytest.mark.parametrize(
    "change, error, words",
    [
        (
            lambda X, y: {"y": missing(y)},
            ValueError,
            "1 of 60 values .* row 3",
        ),
        (lambda X, y: {"y": np.where(y == "yes", 1.0, np.nan)}, ValueError, "values are missing"),
        (lambda X, y: {"estimator": LinearRegression()}, ValueError, "y must hold numbers"),
        (lambda X, y: {"X": X[:1], "y": y[:1]}, ValueError, "one class only"),
        (lambda X, y: {"X": X[:0], "y": y[:0]}, ValueError, "0 sample"),
        (lambda X, y: {"X": X.set_axis(["a", "a", "c", "sex"], axis=1)}, ValueError, "must differ"),
        (lambda X, y: {"X": X.set_axis(["a", 1, "c", "sex"], axis=1)}, TypeError, "string names"),
        (lambda X, y: {"X": X.assign(sex=1)}, ValueError, "one value only"),
        (lambda X, y: {"sample_weight": (y == "yes") * 1.0}, ValueError, "y, in the rows with"),
        (lambda X, y: {"sample_weight": ["a"] * 60}, ValueError, "sample_weight must hold numbers"),
        (
            lambda X, y: {"X": X[["a", "b"]], "sensitive_features": X["sex"].set_axis(X.index + 5)},
            ValueError,
            "another index than X",
        ),
    ],
)
def test_what_cannot_be_compared_is_one_clear_error(change, error, words):
    X, y = coded(60)
    with pytest.raises(error, match=words):
        compare(**{"estimator": TREE, "X": X, "y": y, **change(X, y)})


@slow_sample
@pytest.mark.parametrize(
    "names, sensitive",
    [
        ([0, 1, 2, 3], 3),
        (pd.MultiIndex.from_product([["p"], ["a", "b", "c", "sex"]]), ("p", "sex")),
    ],
)
def test_other_column_names(names, sensitive):
    X, y = coded(60)
    table = compare(
        TREE, X.set_axis(names, axis=1), y, sensitive_features=[sensitive],
        methods=["drop", "marginalize"],
    )  # fmt: skip
    assert (table["note"] == "").all() and (table["share_rows"].iloc[1:] == 0).all()


def test_a_model_that_says_the_same_to_everybody():
    table = compare(DummyClassifier())
    assert (table[["share_rows", "degree", "demographic_parity_difference"]] == 0).all(axis=None)


@slow_sample
def test_groups_without_rows_or_without_weight_have_no_figures():
    X, y = people(60)
    X["sex"] = pd.Categorical(X["sex"], categories=["f", "m", "nobody"])
    sexes = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["sex"])),
        DecisionTreeClassifier(random_state=0),
    )
    groups = compared(sexes, X, y).groups
    assert groups.loc["original"].index.tolist() == ["sex = f", "sex = m"]
    X, y = coded(120)
    groups = compared(TREE, X, y, sample_weight=(X["sex"] == 1) * 1.0).groups
    accuracies = groups.loc["original", "accuracy"]
    assert accuracies.isna().tolist() == [True, False]


@slow_sample
def test_ten_thousand_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a": rng.normal(size=12_000), "sex": [f"v{i % 10_000}" for i in range(12_000)]}
    )
    y = np.where(X["a"] > 0, "yes", "no")
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(make_column_transformer((codes, ["sex"]), remainder="passthrough"), TREE)
    with pytest.raises(ValueError, match="10,000 different values; expected at most 5,000"):
        compare(model, X, y, methods=["drop", "marginalize"])


# Moved twins -------------------------------------------------------------------------------------


def proxies():
    data = with_proxies(600)
    X = data.data.drop(columns=["region"]).assign(group=(data.data["group"] == "b").astype(int))
    return X, data.target.to_numpy(), data.sensitive


def by_proxies(X=None, y=None, **settings):
    if X is None:
        X, y, _ = proxies()
    settings = {"sensitive_features": "group", "favourable": "yes"} | settings
    return compared(DecisionTreeClassifier(max_depth=4, random_state=0), X, y, **settings)


def test_dropping_the_column_leaves_the_moved_flips():
    comparison = by_proxies()
    table = comparison.table
    assert table.loc["drop", "share_rows"] == 0
    assert table.loc["drop", "share_moved"] > 0.5 * table.loc["original", "share_moved"] > 0.05
    assert (table["share_moved_low"] < table["share_moved"]).all()
    assert (table["share_moved"] < table["share_moved_high"]).all()
    assert comparison.settings["transport"] == "QuantileTransport"
    share = percent(table.loc["drop", "share_moved"])
    for told in (repr(comparison), comparison._repr_html_()):
        told = " ".join(told.split())
        assert share in told and "Moved twins" in told and "no counterfactuals" in told
    assert "Moved to another group" in comparison.recommend(max_score_drop=1).reason


@slow_sample
def test_one_share_of_moved_people_whoever_is_asked():
    """Groups of few rows are not moved, and of many groups the four largest are."""
    rng, n = np.random.default_rng(0), 800
    shares = np.array([0.3, 0.2, 0.2, 0.15, 0.1, 0.04, 0.01])
    group = rng.choice(len(shares), n, p=shares)
    X = pd.DataFrame({"group": group, "a": rng.normal(size=n) + group / 2})
    y = (X["a"] + rng.normal(size=n) > 1).astype(int)
    model = TREE.fit(X, y)
    comparison = compared(TREE, X, y, sensitive_features="group", favourable=1)
    row = comparison.table.loc["original"]
    report = audit(
        model, X, sensitive_features="group", favourable=1, random_state=0, progress=False,
        auditor=RandomAuditor(max_queries=200), groups=False,
    )  # fmt: skip
    (part,) = report.results(MovedPart)
    scorer = make_audit_scorer(FlipTestAuditor(sensitive_features="group"))
    large = X[X["group"] < 4]
    auditor = FlipTestAuditor(model, sensitive_features="group", n_bootstrap=0).fit(large)
    assert row["share_moved"] == part.rate == -scorer(model, X) == auditor.moved_rate_ > 0
    assert part.low > 0 and abs(row["share_moved_low"] - part.low) < 0.1
    assert "people of 4, 5, 6 (group) are not moved" in comparison.settings["moved_note"]


@slow_sample
def test_without_a_transport_nothing_is_moved():
    comparison = by_proxies(moved=False)
    assert "share_moved" not in comparison.table and comparison.settings["transport"] is None
    assert "oved" not in repr(comparison) + comparison._repr_html_()
    kept = by_proxies(moved=QuantileTransport(keep=["rating", "income", "late_payments"]))
    all_move = by_proxies().table
    assert (kept.table["share_moved"] < all_move["share_moved"]).all()
    # What is measured beside it does not change the rest.
    same = [name for name in comparison.table if name not in TIMES]
    pd.testing.assert_frame_equal(comparison.table[same], all_move[same])


def test_moved_twins_in_a_column_that_no_model_is_given():
    X, y, group = proxies()
    comparison = by_proxies(X.drop(columns="group"), y, sensitive_features=group)
    assert comparison.table.loc["original", "share_rows"] == 0
    assert comparison.table.loc["original", "share_moved"] > 0.05
    chosen = comparison.recommend()
    assert chosen.method is None and "Moved to another group" in chosen.reason


def test_a_regressor_has_a_mean_difference_of_moved_twins():
    data = with_proxies(600, regression=True)
    X = data.data.drop(columns=["region"]).assign(group=(data.data["group"] == "b").astype(int))
    comparison = compared(LinearRegression(), X, data.target, sensitive_features="group")
    table = comparison.table
    assert table.loc["drop", "difference_rows"] == pytest.approx(0, abs=1e-9)
    assert table.loc["drop", "difference_moved"] > 0.1
    assert "outputs would change by" in comparison.recommend(max_score_drop=1).reason


class NoMap(BaseEstimator):
    def fit(self, X, groups):
        raise RuntimeError("the map is lost")

    def transport(self, X, groups, to):
        raise AssertionError("never fitted")


@pytest.mark.parametrize(
    "settings, note",
    [
        ({"moved": NoMap()}, "not measured for group: the map is lost"),
        pytest.param(
            {"sensitive_features": "age"}, "age is a number with 4[0-9] values", marks=SAMPLE
        ),
        ({"sensitive_features": np.arange(600) % 599}, "599 values and has no groups"),
        ({"sensitive_features": np.where(np.arange(600) % 50, "a", "b")}, "two groups of 50 rows"),
    ],
)
def test_what_cannot_be_moved_is_a_remark_and_no_error(settings, note):
    X, y, _ = proxies()
    comparison = by_proxies(X, y, **settings)
    assert comparison.table["share_moved"].isna().all()
    assert re.search(note, comparison.settings["moved_note"])
    assert "moved twins: not measured" in repr(comparison)
    assert "Moved to another group" not in comparison.recommend(max_score_drop=1).reason


def test_a_group_of_one_row_costs_the_others_no_moved_twins():
    X, y, group = proxies()
    usual = by_proxies(X.drop(columns="group"), y, sensitive_features=group)
    some = pd.Series(np.asarray(group, dtype=object))
    some.iloc[[3, 8]] = ["c", "d"]
    comparison = by_proxies(X.drop(columns="group"), y, sensitive_features=some)
    shares = [one.table.loc["original", "share_moved"] for one in (comparison, usual)]
    assert shares[0] == pytest.approx(shares[1], abs=0.02) and shares[0] > 0.05
    assert "people of c, d (" in comparison.settings["moved_note"]
    assert "people of c, d (" in repr(comparison)


def test_a_model_that_refuses_moved_rows_has_its_other_figures(monkeypatch):
    def refuse(*args, **settings):
        raise ValueError("never seen")

    monkeypatch.setattr(MovedTwins, "ask", refuse)
    table = by_proxies().table
    assert table["share_moved"].isna().all() and table["accuracy"].notna().all()
    assert (table["note"] == "moved twins, fold 1: ValueError: never seen").all()


def test_bad_transports():
    for given in ("optimal", None):
        with pytest.raises(TypeError, match="moved must be True, False or a transport"):
            by_proxies(moved=given)
    with pytest.raises(TypeError, match="transport must have the methods fit"):
        by_proxies(moved=StandardScaler())
    with pytest.raises(TypeError, match="transport must be an instance"):
        by_proxies(moved=QuantileTransport)
