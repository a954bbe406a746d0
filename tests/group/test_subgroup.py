"""SubgroupAuditor: the same rules and figures as loops over a table, and what it refuses."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from clocks import CLOCK
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tiers import slow_sample, some

from skfairtest import SubgroupAuditor, selection_table
from skfairtest._clock import OutOfTime
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.group import _subgroup
from skfairtest.group._inference import resampled as _resampled
from skfairtest.group._outcomes.outcomes import OUTCOMES
from skfairtest.group._rules import frequent as _frequent
from skfairtest.group._rules.frequent import FrequentRules

METRICS = tuple(OUTCOMES)
LABELS = METRICS[:6]


def table(n=600, seed=0, missing=False):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "sex": rng.choice(["f", "m"], n),
        "race": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]),
        "age": rng.integers(20, 70, n).astype(float),
    })  # fmt: skip
    if missing:
        X.loc[rng.random(n) < 0.2, "race"] = None
        X.loc[rng.random(n) < 0.2, "age"] = np.nan
    y = rng.integers(0, 2, n)
    p = np.where(rng.random(n) < 0.2, 1 - y, y)
    return X, y, p


def loop_metric(metric, y, p, w):
    """A metric of some rows as its definition says; NaN where no row counts."""
    rows = {
        "selection_rate": (p == 1, y == y),
        "false_positive_rate": (p == 1, y == 0),
        "false_negative_rate": (p == 0, y == 1),
        "true_positive_rate": (p == 1, y == 1),
        "accuracy": (p == y, y == y),
        "positive_predictive_value": (y == 1, p == 1),
        "mean_prediction": (p, y == y),
        "mean_error": (p - y, y == y),
        "mean_absolute_error": (abs(p - y), y == y),
        "calibration": (y - p, y == y),
        "log_loss": (-np.log(np.where(y == 1, p, 1 - p).clip(1e-9)), y == y),
    }
    values, counts = rows[metric]
    if not w[counts].sum():
        return np.nan
    return np.average(np.asarray(values, dtype=float)[counts], weights=w[counts])


def loop_rules(codes, min_support, most):
    """Every frequent rule of a table of numbers, as {columns and values: rows}."""
    found = {}
    differ = [j for j in range(codes.shape[1]) if len(set(codes[:, j])) > 1]
    for size in range(1, most + 1):
        for chosen in itertools.combinations(differ, size):
            columns = pd.DataFrame(codes[:, list(chosen)])
            for values, rows in columns.groupby(columns.columns.tolist()).indices.items():
                if min_support * len(codes) <= len(rows) + 1e-9:
                    key = values if isinstance(values, tuple) else (values,)
                    found[tuple(zip(chosen, key, strict=True))] = np.sort(rows)
    return found


def of_rules(rules):
    rules = rules.conditions(np.arange(rules.n_rules))
    return [tuple((j, v) for j, v in enumerate(rule.tolist()) if v >= 0) for rule in rules]


@slow_sample
@given(
    data=st.data(),
    sizes=st.lists(st.integers(2, 4), min_size=1, max_size=4),
    n=st.integers(2, 150),
    compiled=st.booleans(),
)
def test_rules_and_sums_are_those_of_a_loop(data, sizes, n, compiled):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    codes = np.column_stack([rng.integers(0, size, n) for size in sizes])
    min_support = data.draw(st.sampled_from([0.01, 0.05, 0.1, 0.3, 0.5]))
    most = data.draw(st.integers(1, len(sizes)))
    rules = FrequentRules(
        list(codes.T), sizes, min_support=min_support, max_conditions=most, compiled=compiled
    )
    expected = loop_rules(codes, min_support, most)
    found = of_rules(rules)
    assert len(found) == len(expected)
    assert set(found) == set(expected)
    V = rng.normal(size=(n, 10))
    sums, counted = rules.sums(V), rules.sums(V > 0)
    for place, rule in enumerate(found):
        rows = expected[rule]
        assert rules.counts[place] == len(rows)
        assert rules.inside(place).nonzero()[0].tolist() == rows.tolist()
        np.testing.assert_allclose(sums[place], V[rows].sum(axis=0), atol=1e-9)
        assert counted[place].tolist() == (V[rows] > 0).sum(axis=0).tolist()
    groups = {tuple(rows) for rows in expected.values()}
    assert len(groups) == len(set(rules.marks.tolist()))


@pytest.mark.parametrize(
    "metric, weighted",
    [("accuracy", False)]
    + some([(metric, True) for metric in METRICS])
    + [pytest.param(m, False, marks=pytest.mark.slow) for m in METRICS if m != "accuracy"],
)
def test_every_metric_is_that_of_a_loop(metric, weighted):
    X, y, p = table(400, missing=True)
    rng = np.random.default_rng(1)
    if metric not in LABELS:
        p = np.clip(0.7 * y + 0.3 * rng.random(len(y)), 0.01, 0.99)
    w = rng.integers(0, 4, len(y)).astype(float) if weighted else np.ones(len(y))
    auditor = SubgroupAuditor(metric=metric, attributes="all", min_support=0.03, bins=3)
    auditor.fit(X, y, y_pred=p, sample_weight=w if weighted else None)
    rules = auditor.rules_
    assert len(rules) > 30
    assert auditor.overall_ == pytest.approx(loop_metric(metric, y, p, w))
    for row in rules.to_dict("records"):
        inside = auditor.matches(X, row["rule"])
        assert row["support"] == pytest.approx(inside.mean())
        expected = [loop_metric(metric, y[m], p[m], w[m]) for m in (inside, ~inside)]
        got = [row["value_inside"], row["value_outside"]]
        np.testing.assert_allclose(got, expected, atol=1e-12)
        assert row["score"] == pytest.approx(abs(expected[0] - expected[1]), nan_ok=True)
        assert row["n_inside"] + row["n_outside"] <= len(X)
        if row["ranked"]:
            assert row["low"] <= row["score"] + 1e-12
            assert row["high"] >= row["score"] - 1e-12


def test_each_group_once_by_its_simplest_rule():
    X, y, p = table()
    X["copy"] = np.where(X["sex"] == "f", "x", "z")
    auditor = SubgroupAuditor(metric="accuracy", attributes="all").fit(X, y, y_pred=p)
    groups = [auditor.matches(X, rule).tobytes() for rule in auditor.rules_["rule"]]
    assert len(groups) == len(set(groups)) == auditor.n_groups_ < auditor.n_rules_
    assert not auditor.rules_["rule"].str.contains("copy").any() or (
        not auditor.rules_["rule"].str.contains("sex").all()
    )
    assert (auditor.rules_["rule"].str.contains("sex") & auditor.rules_["rule"].str.contains(
        "copy")).sum() == 0  # fmt: skip


def test_against_the_whole_is_a_part_of_against_the_rest():
    X, y, p = table()
    whole = SubgroupAuditor(metric="selection_rate", attributes="all", against="whole",
                            random_state=0).fit(X, y_pred=p)  # fmt: skip
    rest = SubgroupAuditor(metric="selection_rate", attributes="all",
                           random_state=0).fit(X, y_pred=p)  # fmt: skip
    both = whole.rules_.merge(rest.rules_, on="rule", suffixes=("", "_rest"))
    assert len(both) == len(whole.rules_) > 10
    np.testing.assert_allclose(both["score"], abs(both["value_inside"] - whole.overall_))
    part = 1 - both["support"]
    for name in ("score", "low", "high"):
        np.testing.assert_allclose(both[name], part * both[f"{name}_rest"])
    assert (both["differs"] == both["differs_rest"]).all()


def test_rates_are_those_of_the_selection_table():
    X, y, p = table()
    known = selection_table(p, y_true=y, sensitive_features=X["race"])
    for metric in ("selection_rate", "false_positive_rate", "false_negative_rate", "accuracy"):
        auditor = SubgroupAuditor(metric=metric, attributes=["race"]).fit(X, y, y_pred=p)
        rules = auditor.rules_.set_index("rule")
        for row in known.to_dict("records"):
            found = rules.loc[f"race = {row['group']}"]
            assert found["value_inside"] == pytest.approx(row[metric])


def test_a_callable_says_values_and_who_counts():
    X, y, p = table()

    def misses(y_true, y_pred):
        return (y_pred == 0).astype(float), y_true == 1

    own, ours = (
        SubgroupAuditor(metric=metric, attributes="all", random_state=0).fit(X, y, y_pred=p)
        for metric in (misses, "false_negative_rate")
    )
    pd.testing.assert_frame_equal(own.rules_, ours.rules_)
    assert own.n_queries_ == 0


def test_an_estimator_is_asked_and_never_fitted_again():
    X, y, _ = table(800)
    Z = pd.get_dummies(X).astype(float)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(Z, y)
    tree = model.tree_
    shared = {"metric": "false_positive_rate", "attributes": "all", "random_state": 0}
    auditor = SubgroupAuditor(model, **shared)
    asked = auditor.fit(Z, 1 - y)  # other targets: fitted again, it would predict other labels
    given = SubgroupAuditor(**shared).fit(Z, 1 - y, y_pred=model.predict(Z))
    assert asked.estimator_ is model
    assert model.tree_ is tree
    assert asked.n_queries_ == len(Z) + 100  # the first rows are asked twice
    pd.testing.assert_frame_equal(asked.rules_, given.rules_)


def test_an_estimator_that_is_not_fitted_is_fitted_to_y():
    X, y, _ = table()
    Z = pd.get_dummies(X).astype(float)
    auditor = SubgroupAuditor(LogisticRegression(), attributes="all")
    assert auditor.fit(Z, y).estimator_.coef_.shape == (1, 6)
    with pytest.raises(NotFittedError, match="Call fit"):
        auditor.fit(Z)


@pytest.mark.parametrize("metric", some(["calibration", "mean_prediction", "log_loss"]))
def test_probabilities_of_a_classifier(metric):
    X, y, _ = table()
    Z = pd.get_dummies(X).astype(float)
    names = np.array(["no", "yes"])[y]
    model = LogisticRegression().fit(Z, names)
    shared = {"metric": metric, "attributes": "all", "random_state": 0}
    asked = SubgroupAuditor(model, **shared).fit(Z, names)
    given = SubgroupAuditor(**shared).fit(Z, names, y_pred=model.predict_proba(Z)[:, 1])
    assert asked.favourable_ == ["yes"]
    np.testing.assert_allclose(asked.rules_["score"], given.rules_["score"])


def test_one_class_against_the_rest():
    X, _, _ = table()
    rng = np.random.default_rng(2)
    y, p = rng.choice(["u", "v", "w"], (2, len(X)))
    auditor = SubgroupAuditor(metric="true_positive_rate", attributes="all", favourable="v")
    auditor.fit(X, y, y_pred=p)
    assert auditor.overall_ == pytest.approx((p[y == "v"] == "v").mean())
    with pytest.raises(ValueError, match="3 labels"):
        auditor.set_params(favourable=None).fit(X, y, y_pred=p)
    accuracy = SubgroupAuditor(metric="accuracy", attributes="all").fit(X, y, y_pred=p)
    assert accuracy.overall_ == pytest.approx((y == p).mean())


@slow_sample
def test_regressors():
    X, _, _ = table()
    Z = pd.get_dummies(X).astype(float)
    target = 3 * Z["age"] + np.random.default_rng(0).normal(0, 9, len(Z))
    model = LinearRegression().fit(Z, target)
    error = SubgroupAuditor(model, metric="mean_error", attributes="all").fit(Z, target)
    assert error.overall_ == pytest.approx(0, abs=1e-9)
    assert error.favourable_ == "mean"
    rate = SubgroupAuditor(model, favourable=150, attributes="all").fit(Z, target)
    assert rate.overall_ == pytest.approx((model.predict(Z) >= 150).mean())
    with pytest.raises(ValueError, match="mean_prediction"):
        SubgroupAuditor(model, attributes="all").fit(Z, target)


def test_missing_values_are_a_level_of_their_own():
    X, y, p = table(missing=True)
    auditor = SubgroupAuditor(metric="accuracy", attributes="all").fit(X, y, y_pred=p)
    rules = auditor.rules_.set_index("rule")
    assert rules.loc["race = missing", "support"] == pytest.approx(X["race"].isna().mean())
    assert rules.loc["age = missing", "support"] == pytest.approx(X["age"].isna().mean())
    assert rules.loc["age = missing", "conditions"] == [(None,)]
    shares = rules.loc[["age" in r and "and" not in r for r in rules.index], "support"]
    assert shares.sum() == pytest.approx(1)


def test_bins_and_words():
    X = pd.DataFrame({"hours": [0.0] * 80 + list(range(1, 21)), "grade": [1, 2, 3, 4] * 25})
    p = np.tile([0, 1], 50)
    auditor = SubgroupAuditor(attributes="all", min_support=0.01).fit(X, y_pred=p)
    words = set(auditor.rules_["rule"])
    assert {"hours < 1", "hours >= 1", "grade = 4"} <= words  # most hours are 0
    edges = SubgroupAuditor(attributes="all", min_support=0.01, bins={"hours": [5, 10]})
    words = set(edges.fit(X, y_pred=p).rules_["rule"])
    assert {"hours < 5", "hours from 5 to below 10", "hours >= 10"} <= words


def test_columns_beside_the_table():
    X, y, p = table()
    auditor = SubgroupAuditor(metric="accuracy").fit(
        X[["age"]].rename(columns={"age": "x"}), y, y_pred=p, sensitive_features=X[["race"]]
    )
    assert auditor.attributes_ == auditor.sensitive_features_ == ["race"]
    assert auditor.rules_["rule"].str.startswith("race").all()


def test_confirm_on_new_rows():
    X, y, p = table(3000)
    missed = (X["race"] == "b") & (X["sex"] == "f")
    p = np.where(missed & (np.random.default_rng(1).random(len(X)) < 0.6), 0, p)
    half = np.arange(len(X)) < 1500
    auditor = SubgroupAuditor(metric="false_negative_rate", attributes="all")
    auditor.fit(X[half], y[half], y_pred=p[half])
    assert auditor.worst_rule_["rule"] == "sex = f and race = b"
    again = auditor.confirm(X[~half], y[~half], y_pred=p[~half])
    assert again["rule"].tolist() == auditor.short_list_["rule"].tolist()
    worst = auditor.confirm(X[~half], y[~half], y_pred=p[~half], short_list=False)
    assert worst["rule"].tolist() == auditor.rules_["rule"].tolist()[:10]
    assert again.loc[0, ["differs", "same_direction"]].all()
    new = missed[~half] & (y[~half] == 1)
    assert again.loc[0, "value_inside"] == pytest.approx((p[~half][new] == 0).mean())
    with pytest.raises(ValueError, match="y_pred"):
        auditor.confirm(X[~half], y[~half])
    # A value that fit has not seen is in no rule.
    other = X[~half].assign(race="q")
    assert not auditor.matches(other, "sex = f and race = b").any()
    assert auditor.confirm(other, y[~half], y_pred=p[~half])["note"].str.contains("undefined").any()
    # Where nothing differs the short list is empty: the worst rules are looked at, unless it is
    # asked for.
    chance = (np.random.default_rng(2).random(half.sum()) < 0.5).astype(int)
    auditor.fit(X[half], y[half], y_pred=chance)
    assert auditor.short_list_.empty
    assert len(auditor.confirm(X[~half], y[~half], y_pred=p[~half])) == 10
    assert auditor.confirm(X[~half], y[~half], y_pred=p[~half], short_list=True).empty


def test_a_group_without_anybody_who_counts_is_undefined():
    X, y, p = table()
    y = np.where(X["race"] == "c", 0, y)
    auditor = SubgroupAuditor(metric="false_negative_rate", attributes=["race"]).fit(X, y, y_pred=p)
    row = auditor.rules_.set_index("rule").loc["race = c"]
    assert np.isnan([row["value_inside"], row["score"], row["low"], row["high"]]).all()
    assert row["n_inside"] == 0
    assert not row["differs"]
    assert not row["ranked"]
    assert row["note"] == "undefined: no row inside counts"
    assert auditor.n_groups_ == 2
    assert auditor.rules_["rule"].iloc[-1] == "race = c"


def test_rules_come_by_what_chance_leaves_of_their_difference():
    X, y, p = table(4000)
    p = np.where((X["sex"] == "f") & (np.random.default_rng(0).random(4000) < 0.5), 0, p)
    auditor = SubgroupAuditor(attributes="all", min_support=0.01, random_state=0)
    rules = auditor.fit(X, y_pred=p).rules_
    assert auditor.worst_rule_["rule"] == "sex = f"
    assert rules["differs"].is_monotonic_decreasing
    assert 0 < rules["differs"].sum() < len(rules)
    assert not rules["score"].is_monotonic_decreasing
    # What differs is at least so much, and says so.
    assert rules["low"].iloc[0] == pytest.approx(rules["low"].max())
    assert (rules.loc[rules["differs"], "low"] > 0).mean() > 0.9


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "change", "message"),
    [
        ({}, {"y": None}, "needs|compares"),
        ({}, {"y_pred": [0, 1]}, "y_pred must have one value per row"),
        ({}, {"y": [0, 1]}, "y must have one value per row"),
        ({}, {"y": np.zeros(600, dtype=int)}, "undefined.*whose truth is favourable"),
        ({}, {"sample_weight": -np.ones(600)}, "sample_weight"),
        ({}, {"sample_weight": np.zeros(600)}, "sample_weight"),
        ({}, {"y_pred": np.linspace(0, 1, 600)}, "needs labels"),
        ({"metric": "calibration"}, {"y_pred": np.linspace(0, 2, 600)}, "probabilities"),
        ({"metric": "mean_error"}, {"y_pred": np.repeat("a", 600)}, "numbers"),
        ({"metric": "gini"}, {}, "metric must be one of"),
        ({"metric": lambda y, p: y}, {}, "two arrays"),
        ({"metric": lambda y, p: (y[:3], y == 1)}, {}, "shape"),
        ({"metric": lambda y, p: (y / 0.0 - y / 0.0, y == y)}, {}, "missing or infinite"),
        ({"min_support": 0}, {}, "min_support"),
        ({"min_support": 0.999}, {}, "largest support"),
        ({"max_conditions": 0}, {}, "max_conditions"),
        ({"against": "all"}, {}, "against"),
        ({"binning": "kmeans"}, {}, "binning"),
        ({"bins": 1}, {}, "bins must be"),
        ({"bins": {"age": [3, 2]}}, {}, "increasing"),
        ({"correction": "fdr"}, {}, "correction"),
        ({"n_resamples": 9}, {}, "at least 19"),
        ({"correction": "holm"}, {}, "correction must be one of"),
        ({"attributes": ["shoe"]}, {}, "attributes names 'shoe'"),
        ({"attributes": []}, {}, "attributes is empty"),
        ({"favourable": 7}, {}, "never occurs"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_input_is_told(params, change, message):
    X, y, p = table()
    arguments = {"y": y, "y_pred": p} | change
    auditor = SubgroupAuditor(**{"metric": "false_negative_rate", "attributes": "all"} | params)
    with pytest.raises(ValueError, match=message):
        auditor.fit(X, **arguments)
    assert not hasattr(auditor, "rules_")


def test_texts_are_refused():
    X, y, p = table(3000)
    X["name"] = [f"person {j}" for j in range(len(X))]
    with pytest.raises(ValueError, match="'name' has 3,000 different values"):
        SubgroupAuditor(attributes="all").fit(X, y_pred=p)
    assert SubgroupAuditor().fit(X, y_pred=p).attributes_ == ["sex", "race", "age"]


@slow_sample
def test_more_than_a_million_rules_are_refused_or_shortened():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 30)) < 0.9).astype(int)
    auditor = SubgroupAuditor(
        attributes="all", favourable=1, min_support=0.3, max_conditions=30, correction="none"
    )
    with pytest.raises(ValueError, match="more than 1,000,000") as told:
        auditor.fit(X, y_pred=X[:, 0])
    assert "min_support=0." in str(told.value)
    fits = int(re.search(r"max_conditions=(\d+) leaves", str(told.value))[1])
    with pytest.warns(UserWarning, match=f"up to max_conditions={fits} are compared") as caught:
        auditor.set_params(max_conditions=None).fit(X, y_pred=X[:, 0])
    assert caught[0].filename == __file__ and auditor.n_rules_ <= 1_000_000
    assert auditor.rules_["conditions"].map(len).max() == fits


def test_confirm_says_nothing_of_a_rule_that_nobody_counts_for():
    X = pd.DataFrame({"group": list("abc") * 200})
    y = np.tile([0, 1, 1], 200)
    auditor = SubgroupAuditor(metric="false_negative_rate", attributes="all")
    auditor.fit(X, np.tile([1, 1, 0, 0, 1, 1], 100), y_pred=y)
    again = auditor.confirm(X, (X["group"] == "a") * 1, y_pred=y, short_list=False)
    undefined = again["note"] != ""
    assert undefined.any() and again.loc[undefined, ["score", "low", "high"]].isna().all().all()
    assert not again.loc[undefined, "differs"].any()


def test_neither_an_estimator_nor_predictions():
    X, _, _ = table()
    with pytest.raises(ValueError, match="y_pred"):
        SubgroupAuditor().fit(X)


def test_everybody_alike_is_worth_a_warning():
    X, y, _ = table()
    model = DummyClassifier(strategy="constant", constant=1).fit(X, y)
    with pytest.warns(NoDisparityWarning, match="is 1 in all 600 rows"):
        auditor = SubgroupAuditor(model).fit(X)
    # Permutations change nothing then, and yet a group is known no better than its rows say.
    assert (auditor.rules_["high"] > 0.001).all()
    assert not auditor.rules_["differs"].any()


def test_a_short_list_does_not_repeat_itself():
    X, y, p = table(6000)
    rng = np.random.default_rng(3)
    X["town"] = rng.choice(["x", "y", "z"], len(X))
    pocket = (X["race"] == "b") & (X["sex"] == "f")
    other = (X["town"] == "x") & (X["sex"] == "m")
    p = np.where((pocket & (rng.random(len(X)) < 0.6)) | (other & (rng.random(len(X)) < 0.3)), 0, y)
    auditor = SubgroupAuditor(metric="false_negative_rate", attributes="all", min_support=0.02)
    auditor.fit(X, y, y_pred=p)
    assert auditor.rules_["differs"].sum() > 10
    short = auditor.short_list_
    assert short.loc[0, "rule"] == "sex = f and race = b"
    assert "sex = m and town = x" in set(short["rule"])
    assert len(short) < 8
    assert short["covered"].is_monotonic_increasing
    listed = short[short["sub_rule"] != ""]
    assert (listed["gain_low"] * listed["gain_high"] > 0).all()
    nothing = SubgroupAuditor(attributes="all", random_state=0)
    nothing.fit(X, y_pred=rng.integers(0, 2, len(X)))
    assert len(nothing.short_list_) == 0
    assert list(nothing.short_list_) == list(short)


def test_resampling_is_repeated_by_its_seed():
    X, y, p = table(500)
    p = np.where((X["sex"] == "f") & (np.arange(500) % 2 == 0), 0, p)
    settings_ = {"attributes": "all", "n_resamples": 99}
    first, second = (
        SubgroupAuditor(**settings_, random_state=0).fit(X, y_pred=p).rules_ for _ in range(2)
    )
    pd.testing.assert_frame_equal(first, second)
    assert first.loc[0, "rule"] == "sex = f"
    assert first.loc[0, "differs"]


@pytest.mark.slow
@pytest.mark.parametrize("n", [500, 2000])
@pytest.mark.parametrize("metric", ["false_negative_rate", "accuracy"])
def test_without_an_effect_hardly_any_run_reports_a_group(n, metric):
    """At a confidence of 0.95 for all groups at once, 10 of 200 runs may."""
    reported = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({f"c{j}": rng.choice(list("abc"), n, p=[0.6, 0.3, 0.1]) for j in range(5)})
        y = rng.random(n) < 0.3
        p = np.where(rng.random(n) < 0.1, ~y, y)
        auditor = SubgroupAuditor(metric=metric, attributes="all", min_support=0.02)
        reported += auditor.fit(X, y, y_pred=p).rules_["differs"].any()
    assert reported <= 10


# Numeric outcomes ---------------------------------------------------------------------------------


def calibrated(seed, n=1000):
    """Three attributes that mean nothing, and probabilities of one in fifty that are right."""
    rng = np.random.default_rng(seed)
    p = rng.beta(20, 980, n)
    X = pd.DataFrame({f"c{j}": rng.choice(list("abcd"), n) for j in range(3)})
    return X, (rng.random(n) < p).astype(int), p


def test_groups_without_a_case_are_not_said_to_be_calibrated_otherwise():
    # Their outcomes hardly vary, and Welch's t of each of them is enormous.
    claims = 0
    for seed in range(12):
        X, y, p = calibrated(seed)
        shared = {"metric": "calibration", "attributes": "all", "favourable": 1}
        auditor = SubgroupAuditor(**shared, n_resamples=39, random_state=0).fit(X, y, y_pred=p)
        claims += auditor.rules_["differs"].any()
    assert claims <= 3


def test_a_rule_that_differs_says_by_how_much_at_least():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j}": rng.choice(list("abcd"), 2000) for j in range(3)})
    worse = X["c0"] == "b"
    error = rng.lognormal(size=2000) * np.where(worse, 3, 1)
    auditor = SubgroupAuditor(metric="mean_absolute_error", attributes="all", random_state=0)
    worst = auditor.fit(X, np.zeros(2000), y_pred=error).worst_rule_
    assert worst["rule"] == "c0 = b"
    assert worst["differs"]
    assert 1 < worst["low"] < worst["score"] < worst["high"]
    again = auditor.confirm(X, np.zeros(2000), y_pred=error)  # intervals of the same kind
    assert 1 < again.loc[0, "low"] < again.loc[0, "score"] < again.loc[0, "high"]


def test_weights_train_a_pipeline_by_metadata_routing_or_not_at_all():
    """An unfitted pipeline was trained without them, in silence."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.integers(0, 2, 300), "income": rng.normal(0, 1, 300)})
    y, weights = (X["sex"] + X["income"] > 0.5).to_numpy(), rng.integers(0, 3, 300).astype(float)
    line = make_pipeline(StandardScaler(), LogisticRegression())
    auditor = SubgroupAuditor(line, metric="accuracy", sensitive_features=["sex"])
    for model in (line, KNeighborsClassifier()):
        with pytest.raises(ValueError, match="fit takes no sample_weight"):
            auditor.set_params(estimator=model).fit(X, y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        for step in line:
            step.set_fit_request(sample_weight=True)
        auditor.set_params(estimator=line).fit(X, y, sample_weight=weights)
        by_hand = clone(line).fit(X, y, sample_weight=weights)
        assert (auditor.estimator_[-1].coef_ == by_hand[-1].coef_).all()
    fitted = clone(line).fit(X, y)  # is not trained, so weights count for the metric alone
    assert auditor.set_params(estimator=fitted).fit(X, y, sample_weight=weights).rules_ is not None


def test_weights_that_leave_nobody_to_compare_with():
    X, y, p = table()
    auditor = SubgroupAuditor(favourable=1, attributes="all")
    with pytest.warns(NoDisparityWarning, match="No rule has rows that count.*only 1 rows count"):
        auditor.fit(X, y, y_pred=p, sample_weight=np.arange(600) == 3)
    assert auditor.rules_["score"].isna().all() and not auditor.rules_["differs"].any()
    assert set(auditor.rules_["note"]) <= {
        "undefined: no row inside counts", "undefined: no row outside counts"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["a", "a"], "Column names must differ"),
        ([0, "a"], "string names"),
        ([0, 1], "0 = f"),
        (pd.MultiIndex.from_tuples([("x", "sex"), ("x", "age")]), "('x', 'sex') = f"),
        (pd.MultiIndex.from_tuples([("x", "sex"), ("x", "sex")]), "Column names must differ"),
    ],
)
def test_names_of_columns(columns, expected):
    X, y, p = table()
    X = X[["sex", "age"]].set_axis(columns, axis=1)
    auditor = SubgroupAuditor(favourable=1, attributes="all", n_resamples=19)
    if "=" not in expected:
        with pytest.raises((ValueError, TypeError), match=expected):
            auditor.fit(X, y, y_pred=p)
        return
    rules = auditor.fit(X, y, y_pred=p).rules_
    assert expected in set(rules["rule"])
    assert auditor.matches(X, expected).tolist() == (X.iloc[:, 0] == "f").tolist()


def test_rows_that_are_too_few_or_all_alike():
    X, y, p = table()
    auditor = SubgroupAuditor(favourable=1, attributes="all", n_resamples=19)
    for rows in (0, 1):
        with pytest.raises(ValueError, match="minimum of 1 is required|Pass rows that differ"):
            auditor.fit(X.iloc[:rows], y[:rows], y_pred=p[:rows])
    assert len(auditor.fit(X.assign(one=1), y, y_pred=p).attributes_) == X.shape[1]
    X["sex"] = pd.Categorical(X["sex"], categories=["f", "m", "nobody"])
    rules = auditor.fit(X, y, y_pred=p).rules_
    assert not rules["rule"].str.contains("nobody").any()


@pytest.mark.parametrize("order", ["shifted", "permuted"])
def test_sensitive_values_of_other_rows(order):
    X, y, p = table()
    index = np.arange(600) + 5 if order == "shifted" else np.random.default_rng(0).permutation(600)
    race = X.pop("race").set_axis(index)
    with pytest.raises(ValueError, match="another index than X"):
        SubgroupAuditor(favourable=1).fit(X, y, y_pred=p, sensitive_features=race)


def test_accuracy_of_several_labels_is_whether_the_label_is_right():
    X, _, _ = table()
    rng = np.random.default_rng(0)
    y, p = rng.choice(["bad", "fair", "good"], (2, 600))
    sides = [
        SubgroupAuditor(metric="accuracy", favourable=favourable, attributes="all", n_resamples=19)
        .fit(X, y, y_pred=p)
        .overall_
        for favourable in (None, ["fair", "good"])
    ]
    assert sides == [(y == p).mean()] * 2


@pytest.mark.services("fairlearn")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", LABELS)
def test_rates_inside_are_those_of_fairlearn(metric, weighted):
    from fairlearn import metrics
    from sklearn.metrics import accuracy_score, precision_score

    X, y, p = table()
    weights = 1.1 - np.random.default_rng(0).random(600) if weighted else None
    auditor = SubgroupAuditor(
        metric=metric, favourable=1, sensitive_features=["sex", "race"], n_resamples=19
    ).fit(X, y, y_pred=p, sample_weight=weights)
    other = {"accuracy": accuracy_score, "positive_predictive_value": precision_score}
    theirs = metrics.MetricFrame(
        metrics=other.get(metric) or getattr(metrics, metric), y_true=y, y_pred=p,
        sensitive_features=X[["sex", "race"]], sample_params={"sample_weight": weights},
    ).by_group  # fmt: skip
    found = {row.rule: row.value_inside for row in auditor.rules_.itertuples()}
    for sex, race in theirs.index:
        rule = f"sex = {sex} and race = {race}"
        assert found[rule] == pytest.approx(theirs[sex, race])


# A time limit ------------------------------------------------------------------------------------


def of_four_columns(max_time=None, **params):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (400, 4)), columns=list("abcd"))
    p = (rng.random(400) < 0.2 + 0.3 * X["a"] * X["b"]).astype(int)
    params = {"attributes": "all", "sensitive_features": None, "n_resamples": 99, **params}
    auditor = SubgroupAuditor(favourable=1, max_time=max_time, random_state=0, **params)
    CLOCK.begin()
    return auditor.fit(X, y_pred=p)


@pytest.mark.parametrize(("seconds", "k"), [(20, 1), (60, 2), (200, 3), (np.inf, 3)])
def test_a_time_limit_leaves_out_whole_lengths_and_changes_nothing_else(seconds, k, monkeypatch):
    products = FrequentRules._products

    def slow(self, *args):
        CLOCK.sleep(self.n_rules / 10)
        return products(self, *args)

    monkeypatch.setattr(FrequentRules, "_products", slow)
    monkeypatch.setattr(_resampled, "MAX_ENTRIES", 10 * 400)  # ten blocks
    auditor = of_four_columns(max_time=seconds, max_conditions=3)
    alone = of_four_columns(max_conditions=k)
    assert auditor.max_conditions_ == alone.max_conditions_ == k
    pd.testing.assert_frame_equal(auditor.rules_, alone.rules_)
    pd.testing.assert_frame_equal(auditor.short_list_, alone.short_list_)
    assert (auditor.n_rules_, auditor.n_groups_) == (alone.n_rules_, alone.n_groups_)
    words = f"max_time: rules of up to {k} of 3 conditions were compared"
    assert auditor.stop_reason_ == (words if k < 3 else "all frequent rules were compared")
    assert auditor.stop_kind_ == ("max_time" if k < 3 else "complete")


def test_no_time_for_the_first_rules_is_an_error():
    with pytest.raises(ValueError, match=r"over before all 8 rules of one condition were compared"):
        of_four_columns(max_time=6 * CLOCK.step)


def test_columns_are_not_divided_when_the_time_is_over():
    with pytest.raises(ValueError, match=r"over before the columns were divided"):
        of_four_columns(max_time=2 * CLOCK.step)


def test_rules_of_more_conditions_than_there_are_need_no_time():
    auditor = of_four_columns(max_time=100.0, min_support=0.2)
    assert auditor.rules_["attributes"].map(len).max() == 2
    assert auditor.stop_kind_ == "complete" and auditor.max_conditions_ == 4
    pd.testing.assert_frame_equal(auditor.rules_, of_four_columns(min_support=0.2).rules_)


def test_too_many_rules_of_a_length_are_as_no_time_for_them(monkeypatch):
    for module in (_frequent, _subgroup):
        monkeypatch.setattr(module, "MOST_RULES", 20)
    auditor = of_four_columns(max_time=100.0)
    assert auditor.max_conditions_ == 1 and auditor.n_rules_ == 8
    assert auditor.stop_kind_ == "max_time"
    assert auditor.stop_reason_ == (
        "max_time: rules of up to 1 of 4 conditions were compared; of the next length there are "
        "more than 20"
    )


class Slow(DummyClassifier):
    """Takes a second for each row."""

    def predict(self, X):
        CLOCK.sleep(len(X))
        return super().predict(X)


def test_rows_that_a_slow_model_had_no_time_for_do_not_count():
    X, y, _ = table(3_000)
    model = Slow(strategy="stratified", random_state=0).fit(X, y)
    auditor = SubgroupAuditor(model, favourable=1, max_time=2_000, random_state=0)
    CLOCK.begin()
    auditor.fit(X)
    n = int(auditor.rules_["n_inside"].iloc[0] + auditor.rules_["n_outside"].iloc[0])
    assert 500 < n < 1_000 and auditor.n_queries_ >= n
    assert auditor.stop_reason_ == f"max_time: {n:,} of 3,000 rows were predicted"
    assert auditor.stop_kind_ == "max_time" and auditor.max_conditions_ >= 1


@pytest.mark.parametrize("compiled", [False, True])
def test_longer_rules_are_those_of_a_search_for_them(compiled, monkeypatch):
    rng = np.random.default_rng(0)
    columns, sizes = list(rng.integers(0, 4, (5, 300))), 5 * [4]
    settings = {"min_support": 0.01, "compiled": compiled}
    rules = FrequentRules(columns, sizes, max_conditions=1, **settings)
    find = FrequentRules._find
    monkeypatch.setattr(
        FrequentRules, "_find", lambda self, most, _, deadline: find(self, most, compiled, deadline)
    )
    for most in (2, 3):
        rules = rules.longer(CLOCK.now() + 1_000)
        expected = FrequentRules(columns, sizes, max_conditions=most, **settings)
        assert rules.compiled == expected.compiled and rules.max_conditions == most
        for name in ("parents", "last", "counts", "marks", "depths"):
            assert getattr(rules, name).tolist() == getattr(expected, name).tolist()
    with pytest.raises(OutOfTime):
        rules.longer(CLOCK.now())
