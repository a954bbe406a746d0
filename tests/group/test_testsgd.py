"""TestSGDAuditor: planted rules, results, what is favourable, confirmation, sampling."""

import numpy as np
import pandas as pd
import pytest
from clocks import CLOCK
from planted_groups import (
    RULE,
    SENSITIVE,
    Plain,
    PlantedClassifier,
    PlantedRegressor,
    fit,
    fitted,
    middle_aged_women,
    people,
)
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier
from tiers import slow_sample, some

from skfairtest import InputSpace, Linear, TestSGDAuditor

# Truth ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", some(range(5)))
def test_planted_rule_is_the_worst(seed):
    X = people(seed=seed)
    for model in (PlantedClassifier(middle_aged_women), PlantedRegressor(middle_aged_women)):
        auditor = fit(model, X, random_state=seed)
        assert auditor.worst_rule_["rule"] == RULE
        assert auditor.worst_rule_["value_inside"] < auditor.worst_rule_["value_outside"]
    inside = middle_aged_women(X).to_numpy()
    assert (auditor.matches(X, 0) == inside).all()


@pytest.mark.parametrize("seed", some(range(5)))
@pytest.mark.parametrize(
    ("rule", "group"),
    [
        ("age >= 60", lambda X: X["age"] >= 60),
        ("sex = m and race = c", lambda X: (X["sex"] == "m") & (X["race"] == "c")),
        ("race in {b, c} and age from 25 to below 35", lambda X: X["race"].isin(["b", "c"])
         & X["age"].between(25, 34)),
    ],
    ids=["one", "two", "run"],
)  # fmt: skip
def test_other_planted_rules(rule, group, seed):
    assert fit(PlantedClassifier(group), people(seed=seed)).worst_rule_["rule"] == rule


def test_a_planted_difference_of_means_is_measured_in_its_units():
    worst = fitted(PlantedRegressor).worst_rule_
    assert worst["low"] < 100 < worst["high"] and worst["high"] - worst["low"] < 3
    assert worst["value_inside"] == pytest.approx(30 + 1.75 - 130, abs=1)


# A time limit -----------------------------------------------------------------------------------


def test_a_time_limit_leaves_out_long_rules_and_rows_of_the_pool():
    model, X = PlantedClassifier(middle_aged_women), people()
    whole = fit(model, X)
    assert whole.stop_kind_ == "complete"
    short = fit(model, X, max_time=21 * CLOCK.step)
    assert short.stop_kind_ == "max_time" and 0 < short.n_rules_ < whole.n_rules_
    assert short.stop_reason_ == "max_time: rules of up to 2 of 3 conditions were compared"
    assert fit(model, X, max_time=1e6).rules_.equals(whole.rules_)

    class Slow(PlantedClassifier):
        def predict(self, X):
            CLOCK.sleep(0.01 * len(X))
            return super().predict(X)

    began = CLOCK.now()
    asked = fit(Slow(middle_aged_women), X, max_time=30)
    assert CLOCK.now() - began < 33
    assert asked.stop_kind_ == "max_time" and "rows were predicted" in asked.stop_reason_
    assert 0 < asked.n_queries_ < whole.n_queries_
    with pytest.raises(ValueError, match="over before the columns were divided into groups"):
        fit(model, X, max_time=CLOCK.step)


# Results ----------------------------------------------------------------------------------------


@slow_sample
def test_results_and_query_count():
    model = PlantedClassifier(middle_aged_women)
    auditor = fit(model)
    rules = auditor.rules_
    assert auditor.group_fairness_score_ == rules["score"][0] == rules["score"].max()
    assert (rules["score"].diff().dropna() <= 1e-12)[rules["ranked"][1:]].all()
    assert rules["score"].between(rules["low"], rules["high"]).all()
    assert auditor.n_queries_ == model.rows_ and auditor.seconds_ > 0
    # The first rows are asked twice.
    assert (rules["n_inside"] + rules["n_outside"] == auditor.n_queries_ - 100).all()
    # What was promised: rows on both sides, and the error, for all rules at once.
    ranked = rules[rules["ranked"]]
    assert ranked[["n_inside", "n_outside"]].min().min() >= 1000
    reach = np.maximum(ranked["high"] - ranked["score"], ranked["score"] - ranked["low"])
    assert reach.max() <= 0.05
    assert auditor.stop_reason_ == "all frequent rules were compared"
    assert auditor.favourable_ == ["yes"] and auditor.sensitive_features_ == SENSITIVE
    assert len(rules) == auditor.n_groups_ <= auditor.n_rules_
    supports = [auditor.matches(people(), number).mean() for number in range(0, len(rules), 50)]
    assert np.allclose(supports, rules["support"][::50]) and rules["support"].min() >= 0.05


@slow_sample
def test_rules_that_leave_few_outside_are_listed_behind(monkeypatch):
    monkeypatch.setattr("skfairtest.group._testsgd.MIN_OUTSIDE", 0.3)
    rules = fit().rules_
    assert not rules["ranked"].all()
    assert rules["ranked"].is_monotonic_decreasing
    assert (rules["support"][rules["ranked"]] <= 0.7).all()


def test_intervals_begin_above_0_where_a_difference_was_shown():
    rules = fitted().rules_
    assert (rules["differs"] == (rules["low"] > 0)).all() and rules["differs"].any()
    alone = fit(correction="none").rules_
    assert alone["differs"].sum() >= rules["differs"].sum()
    with pytest.raises(ValueError, match="correction must be one of"):
        fit(correction="holm")


def test_every_column_may_be_sensitive():
    X = people(800)[["sex", "age"]]
    model = Plain(lambda X: np.where((X["sex"] == "f") & (X["age"] < 30), "no", "yes"))
    auditor = TestSGDAuditor(model, sensitive_features=["sex", "age"], random_state=0).fit(X)
    assert auditor.worst_rule_["rule"] == "sex = f and age < 30"
    assert auditor.group_fairness_score_ == 1


@slow_sample
def test_small_answers_are_ranked_too():
    model = Plain(lambda X: 1e-14 * np.asarray(PlantedRegressor(middle_aged_women).lead(X)))
    assert fit(model).worst_rule_["rule"] == RULE


def test_verbose_prints_the_course(capsys):
    fit(verbose=1, X=people(300))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2 and "100%" in lines[-1] and "queries" in lines[-1]


@slow_sample
def test_a_callback_can_end_the_asking(monkeypatch):
    monkeypatch.setattr("skfairtest._progress.Progress.update", lambda self, share, line: True)
    auditor = fit()
    assert auditor.stop_reason_ == "a callback asked to stop"
    assert auditor.n_queries_ == 1000 + 100 and len(auditor.rules_)


def test_max_attributes_and_max_rules():
    auditor = fit(max_attributes=1, max_rules=5)
    assert len(auditor.rules_) == 5 < auditor.n_groups_
    assert auditor.rules_["attributes"].map(len).max() == 1


def test_matches_takes_places_words_and_rows():
    auditor, X = fitted(), people(300, seed=9)
    masks = [auditor.matches(X, rule) for rule in (0, RULE, auditor.worst_rule_)]
    assert (masks[0] == masks[1]).all() and (masks[0] == masks[2]).all()
    assert (masks[0] == middle_aged_women(X)).all()
    for rule in (10**6, "age < 3", None):
        with pytest.raises(ValueError, match="rule must be"):
            auditor.matches(X, rule)


@slow_sample
def test_missing_numbers_match_no_rule_and_missing_categories_are_one():
    X = people(600)
    X["age"] = X["age"].astype(float).where(X["age"] > 25)
    X["race"] = X["race"].where(X["race"] != "d").astype(object)
    auditor = fit(PlantedClassifier(lambda X: X["race"].isna()), X)
    assert auditor.worst_rule_["rule"] == "race = missing"
    ages = [rule for rule in auditor.rules_["rule"] if rule.startswith("age")]
    for rule in ages:
        assert not auditor.matches(X, rule)[X["age"].isna()].any()


def test_confirm_on_new_rows():
    auditor, new = fitted(), people(4000, seed=77)
    table = auditor.confirm(new, 3, short_list=False)
    answers = auditor.estimator_.predict(new) == "yes"
    for number, row in table.iterrows():
        inside = auditor.matches(new, number)
        assert row["value_inside"] == pytest.approx(answers[inside].mean())
        assert row["value_outside"] == pytest.approx(answers[~inside].mean())
        assert row["n_inside"] == inside.sum() and row["support"] == inside.mean()
    assert table["same_direction"].all() and (table["low"] > 0.3).all()
    assert (table["searched_score"] == auditor.rules_["score"][:3]).all()
    # Fewer rules share the error, so intervals are narrower.
    wide, narrow = auditor.confirm(new, 50).iloc[0], auditor.confirm(new, 1).iloc[0]
    assert narrow["high"] - narrow["low"] < wide["high"] - wide["low"]


def test_listed_rule_sets_do_not_repeat_each_other():
    auditor, new = fitted(), people(4000, seed=77)
    listed, worst = auditor.short_list_, auditor.rules_
    assert 1 < len(listed) <= 10 < len(worst) and listed["differs"].all()
    assert listed["rule"].iloc[0] == worst["rule"].iloc[0]
    assert set(listed["rule"]) <= set(worst["rule"])
    seen = np.zeros(len(new), dtype=bool)
    for rule in listed["rule"]:
        inside = auditor.matches(new, rule)
        assert (inside & ~seen).sum() > 0.4 * inside.sum()  # half of the rows of the search
        seen |= inside
    # What is worst of all repeats itself: that is what the list is for.
    first, second = (auditor.matches(new, number) for number in (0, 1))
    assert (first & second).sum() > 0.6 * min(first.sum(), second.sum())
    assert auditor.confirm(new)["rule"].tolist() == listed["rule"].tolist()


@slow_sample
def test_confirm_of_large_outputs_loses_no_digits():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.integers(0, 2, 500), "income": rng.normal(0, 1, 500)})
    target = 0.5 * X["sex"] + 0.2 * X["income"]
    far, near = (
        TestSGDAuditor(LinearRegression().fit(X, target + by), sensitive_features=["sex"],
                       error_threshold=0.07, random_state=0).fit(X).confirm(X)
        for by in (1e9, 0.0)
    )  # fmt: skip
    columns = ["score", "low", "high"]
    np.testing.assert_allclose(far[columns], near[columns], atol=1e-5)


def test_several_outputs_and_a_constraint_that_admits_nobody_are_refused():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.integers(0, 2, 100), "income": rng.normal(0, 1, 100)})
    model = LinearRegression().fit(X, X)
    with pytest.raises(ValueError, match="LinearRegression has 2 outputs"):
        TestSGDAuditor(model, sensitive_features=["sex"], random_state=0).fit(X)
    model = LinearRegression().fit(X, X["sex"])
    for constraint in (lambda rows: np.zeros(len(rows), bool), Linear({"income": 1}, ">=", 99)):
        with pytest.raises(ValueError, match="constraint"):
            TestSGDAuditor(
                model, sensitive_features=["sex"], space=InputSpace(constraint=constraint)
            ).fit(X)


def test_confirm_where_a_side_is_empty():
    auditor = fitted()
    nobody = people(500).query("sex == 'm'")
    row = auditor.confirm(nobody, 1).iloc[0]
    assert row["n_inside"] == 0 and np.isnan(row["score"])
    assert (row["low"], row["high"]) == (0, 1)


@slow_sample
def test_the_worst_of_chance_does_not_survive():
    # Answers that have nothing to do with the groups: equal shares for all, up to chance.
    auditor = fit(PlantedClassifier(lambda X: X["hours"] % 2 == 1))
    table = auditor.confirm(people(3000, seed=5), 5)
    assert (table["low"] == 0).all()


def test_sensitive_columns_that_the_model_does_not_see():
    X = people()
    hidden, inputs = X[["sex", "race"]], X[["age", "income", "hours"]].copy()
    inputs["income"] -= 12 * (hidden["sex"] == "f").to_numpy()
    model = PlantedClassifier(lambda X: X["age"] > 100)
    auditor = TestSGDAuditor(model, sensitive_features="age", random_state=0)
    auditor.fit(inputs, sensitive_features=hidden)
    assert auditor.sensitive_features_ == ["age", "sex", "race"]
    # Near enough: groups of women score alike, so look at the single condition.
    rules = auditor.rules_.set_index("rule")
    assert rules.loc["sex = f", "low"] > 0.4
    held = auditor.matches(inputs, "sex = f", sensitive_features=hidden)
    assert (held == (hidden["sex"] == "f")).all()
    assert len(auditor.confirm(inputs, 2, sensitive_features=hidden)) == 2
    with pytest.raises(ValueError, match="which fit was given in addition to X; got None"):
        auditor.matches(inputs, 0)
    with pytest.raises(ValueError, match="one row for each row of X"):
        auditor.fit(inputs, sensitive_features=hidden[:10])
    alone = TestSGDAuditor(model, random_state=0)
    alone.set_params(sensitive_features="auto").fit(
        inputs.drop(columns="age").assign(age=inputs["age"]),
        sensitive_features=np.asarray(hidden["sex"]),
    )
    assert alone.sensitive_features_ == ["age", "sensitive feature"]


# Favourable -------------------------------------------------------------------------------------


def three_classes():
    X = people(1500)
    y = np.select([X["income"] < 25, X["income"] < 33], ["low", "mid"], "high")
    inputs = X[["age", "income", "hours"]]
    return inputs, DecisionTreeClassifier(max_depth=4, random_state=0).fit(inputs, y), y


def test_favourable_labels_and_sets_of_labels():
    X, model, _ = three_classes()
    base = {"sensitive_features": "age", "random_state": 0}
    with pytest.warns(UserWarning, match="mid taken as favourable, which is a guess"):
        last = TestSGDAuditor(model, **base).fit(X)
    assert last.favourable_ == ["mid"]
    low, high = (TestSGDAuditor(model, favourable=f, **base).fit(X) for f in ("low", "high"))
    both = TestSGDAuditor(model, favourable={"low", "high"}, **base).fit(X)

    def shares(auditor):
        return auditor.rules_.set_index("rule")["value_inside"].sort_index()

    assert np.allclose(shares(low) + shares(high), shares(both))
    assert np.allclose(1 - shares(both), shares(last))


@slow_sample
def test_probabilities_and_thresholds():
    X, model, _ = three_classes()
    base = {"sensitive_features": "age", "random_state": 0}
    auditor = TestSGDAuditor(model, response_method="predict_proba", favourable="low", **base)
    worst = auditor.fit(X).worst_rule_
    assert 0 <= worst["value_inside"] <= 1 and worst["score"] <= 1
    regressor = PlantedRegressor(middle_aged_women)
    cut = fit(regressor, favourable=0.0)
    label = fitted()
    assert cut.worst_rule_["rule"] == RULE
    assert cut.group_fairness_score_ == pytest.approx(label.group_fairness_score_, abs=1e-3)
    assert fitted(PlantedRegressor).favourable_ == "mean"
    assert fit(regressor, favourable="mean", error_threshold=0.3).favourable_ == "mean"


@slow_sample
def test_plain_objects():
    X = people(800)
    labels = Plain(lambda X: np.where(X["income"] > 30, "yes", "no"))
    assert fit(labels, X, error_threshold=0.3).favourable_ == ["yes"]
    assert fit(labels, X, error_threshold=0.3, favourable="no").favourable_ == ["no"]
    numbers = Plain(lambda X: X["income"].to_numpy())
    assert fit(numbers, X, error_threshold=0.3).favourable_ == "mean"
    assert fit(numbers, X, error_threshold=0.3, favourable=30).favourable_ == 30.0
    with pytest.raises(ValueError, match="'maybe'.*never occurs"):
        fit(labels, X, error_threshold=0.3, favourable="maybe")


def test_outlier_detectors_favour_inliers():
    X = people(300)[["age", "income", "hours"]]
    model = IsolationForest(n_estimators=5, random_state=0).fit(X)
    auditor = TestSGDAuditor(model, sensitive_features="age", error_threshold=0.2, random_state=0)
    assert auditor.fit(X).favourable_ == [1]


# Sampling ---------------------------------------------------------------------------------------


@slow_sample
def test_pool_is_near_the_data():
    X, seen = people(200), []

    class Sees(PlantedClassifier):
        def predict(self, X):
            seen.append(X)
            return super().predict(X)

    fit(Sees(middle_aged_women), X, space=InputSpace(steps={"income": 0.01}))
    asked = pd.concat(seen)
    assert list(asked.dtypes) == list(X.dtypes)
    rows = X.merge(asked, on=SENSITIVE, suffixes=("", "_asked"))
    hours = (rows["hours_asked"] - rows["hours"]).abs()
    income = (rows["income_asked"] - rows["income"]).abs()
    # A number between two steps goes to a step: by half a step to one and a half.
    near = ((hours == 0) & (income < 0.0151)) | ((hours == 1) & (income < 1e-12))
    matched = rows[near].drop_duplicates([*SENSITIVE, "hours_asked", "income_asked"])
    assert len(matched) == len(asked.drop_duplicates())
    assert (hours[near] == 1).any() and (income[near] > 0.009).any()
    assert asked["hours"].between(X["hours"].min(), X["hours"].max()).all()


@slow_sample
def test_every_row_asked_about_satisfies_the_constraint():
    X = people(400).query("hours < 50")
    seen = []

    class Sees(PlantedClassifier):
        def predict(self, X):
            seen.append(X["hours"].max())
            return super().predict(X)

    fit(
        Sees(middle_aged_women), X, space=InputSpace(bounds={"hours": (0, 90)}), error_threshold=0.2
    )
    assert max(seen) == 50
    seen.clear()
    fit(
        Sees(middle_aged_women),
        X,
        space=InputSpace(constraint=lambda rows: rows["hours"] < 50, bounds={"hours": (0, 90)}),
        error_threshold=0.2,
    )
    assert max(seen) == 49


@slow_sample
def test_large_answers_keep_their_small_differences():
    small = Plain(lambda X: np.asarray(X["income"] + 5 * (X["sex"] == "f")))
    large = Plain(lambda X: 1e9 + np.asarray(X["income"] + 5 * (X["sex"] == "f")))
    first, second = fit(small).worst_rule_, fit(large).worst_rule_
    assert first["rule"] == second["rule"]
    for name in ("score", "low", "high"):
        assert second[name] == pytest.approx(first[name], rel=1e-4)


@slow_sample
def test_constraint_and_seed():
    settings = {"X": people(400), "error_threshold": 0.2}
    spaces = [InputSpace(constraint=lambda rows: rows["hours"] < 50) for _ in range(2)]
    auditor, again = (fit(space=space, **settings) for space in spaces)
    pd.testing.assert_frame_equal(auditor.rules_, again.rules_)
    other = fit(random_state=1, **settings)
    assert not other.rules_["score"].equals(auditor.rules_["score"])


def test_small_budget_is_kept_and_told():
    model = PlantedClassifier(middle_aged_women)
    with pytest.warns(UserWarning, match="intervals are wider"):
        auditor = fit(model, max_queries=2000)
    assert auditor.n_queries_ == model.rows_ == 2000
    assert "max_queries=2000 reached" in auditor.stop_reason_


def test_arrays_and_polars():
    pl = pytest.importorskip("polars")
    X = people(500)[["age", "hours", "income"]]
    model = Plain(lambda rows: (np.asarray(rows, dtype=float)[:, 2] > 30).astype(int))
    tables = [X.to_numpy(), pl.from_pandas(X), X]
    scores = []
    for table in tables:
        auditor = TestSGDAuditor(model, sensitive_features=[0], random_state=0).fit(table)
        scores.append(auditor.rules_["score"])
        assert len(auditor.confirm(table, 2)) == 2
    assert np.allclose(scores[0], scores[1]) and np.allclose(scores[0], scores[2])
