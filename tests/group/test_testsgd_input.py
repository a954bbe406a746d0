"""TestSGDAuditor on bad input: a clear error before the first query, and nothing lost."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from planted_groups import (
    RULE,
    SENSITIVE,
    PlantedClassifier,
    PlantedRegressor,
    fit,
    fitted,
    middle_aged_women,
    people,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from tiers import slow_sample

from skfairtest import TestSGDAuditor
from skfairtest.exceptions import EstimatorFailedError, NoDisparityWarning


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_support": 0.999}, "largest support of such a rule is 0.9"),
        ({"min_support": 0}, "min_support must be a number in .0, 1."),
        ({"confidence": 95}, "confidence must be"),
        ({"favourable": "maybe"}, "'maybe' is a label that never occurs.*'no'.*'yes'"),
        ({"favourable": ["no", "yes"]}, "names every class"),
        ({"favourable": []}, "favourable= is empty"),
        ({"n_bins": 1}, "n_bins must be a whole number from 2"),
        ({"n_bins": {"age": [60, 40]}}, "increasing edges"),
        ({"n_bins": {"wealth": 3}}, "n_bins= names 'wealth'"),
        ({"binning": "log"}, "binning must be one of"),
        ({"correction": "fdr"}, "correction must be one of"),
        ({"error_threshold": -1}, "error_threshold must be a number in .0, inf."),
        ({"max_attributes": 0}, "max_attributes must be None or a whole number"),
        ({"sensitive_features": ["wealth"]}, "'wealth', which is not a column"),
        ({"response_method": "transform"}, "response_method must be one of"),
    ],
)
def test_bad_settings_are_refused_before_the_first_query(settings, message):
    model = PlantedClassifier(middle_aged_women)
    with pytest.raises(ValueError, match=message):
        fit(model, **settings)
    assert not hasattr(model, "rows_")


def test_advice_on_support_is_right(monkeypatch):
    monkeypatch.setattr("skfairtest.group._testsgd.MIN_OUTSIDE", 1e-4)
    with pytest.raises(ValueError, match="largest support") as caught:
        fit(min_support=0.999)
    support = float(str(caught.value).split("largest support of such a rule is ")[1].split(":")[0])
    assert len(fit(min_support=support * 0.9999).rules_) >= 1


def test_bad_input_keeps_earlier_results():
    auditor = copy.copy(fitted())
    before = auditor.rules_
    with pytest.raises(ValueError):
        auditor.set_params(min_support=0.999).fit(people())
    pd.testing.assert_frame_equal(auditor.rules_, before)


def test_one_value_and_no_sensitive_column():
    X = people(100).assign(sex="f")
    with pytest.raises(ValueError, match="None of the columns .'sex'. has more than one value"):
        fit(X=X, sensitive_features=["sex"])
    with pytest.raises(ValueError, match="found no column with the name"):
        fit(X=X[["income", "hours"]], sensitive_features="auto")
    with pytest.raises(ValueError, match="Pass an estimator"):
        TestSGDAuditor().fit(X)
    with pytest.raises(NotFittedError, match="target y is None"):
        fit(LogisticRegression())
    with pytest.raises(ValueError, match="'mean' or a finite number"):
        fit(PlantedRegressor(middle_aged_women), favourable="yes")


def renamed(columns):
    return people(200)[["sex", "age", "income"]].set_axis(columns, axis=1)


ODD = {
    "no rows": (people(5)[:0], {}, "0 sample"),
    "one row": (people(1), {}, "None of the columns .'sex', 'race', 'age'. has more"),
    "duplicate names": (
        renamed(["sex", "sex", "income"]), {"sensitive_features": ["sex"]}, "names must differ",
    ),
    "names of two kinds": (
        renamed([1, 2, "income"]), {"sensitive_features": [1]}, "all input features have string",
    ),
    "infinite": (people(200).assign(age=np.inf), {}, "'age' contains infinity"),
    "categories": (
        people(10_000).assign(race=[f"r{j}" for j in range(10_000)]), {},
        "'race' has 10000 categories.*Merge",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("ignore:X holds columns that identify rows")
def test_odd_tables_are_refused_before_the_first_query(name):
    X, settings, message = ODD[name]
    model = PlantedClassifier(lambda X: np.zeros(len(X), dtype=bool))
    with pytest.raises((ValueError, TypeError), match=message):
        fit(model, X, **settings)
    assert not hasattr(model, "rows_")


def test_sensitive_features_of_another_index_are_refused():
    X = people(200)
    faith = pd.Series(["x", "y"] * 100, index=X.index + 5, name="faith")
    model = PlantedClassifier(middle_aged_women)
    with pytest.raises(ValueError, match="another index than X .with other labels.*loc"):
        TestSGDAuditor(model).fit(X, sensitive_features=faith)


class AnyNames(PlantedClassifier):
    def lead(self, X):
        return np.asarray(X, dtype=object)[:, -1].astype(float)


def test_names_of_several_levels():
    levels = pd.MultiIndex.from_tuples([("who", "sex"), ("who", "age"), ("what", "income")])
    X = renamed(levels)
    model = AnyNames(lambda X: np.zeros(len(X), dtype=bool))
    rules = fit(model, X, sensitive_features=[("who", "sex")], error_threshold=0.3).rules_
    assert rules["rule"].str.contains("sex").all() and len(rules) == 2


@pytest.mark.parametrize(
    "odd", [{"race": "a"}, {"race": None}, {"age": 3.0}, {"age": np.nan}], ids=str
)
def test_a_column_of_one_value_is_left_out_with_a_warning(odd):
    X = people(300).assign(**odd)
    (name,) = odd
    model = AnyNames(lambda X: np.zeros(len(X), dtype=bool))
    model.lead = lambda X: X["income"].to_numpy()
    with pytest.warns(UserWarning, match=f"'{name}'.* have only one value.*left out"):
        auditor = fit(model, X, error_threshold=0.3)
    rest = [column for column in SENSITIVE if column != name]
    assert auditor.sensitive_features_ == rest
    assert set(auditor.rules_["attributes"].sum()) == set(rest)


def test_edges_beyond_the_rows_are_left_out_with_a_warning():
    with pytest.warns(UserWarning, match="'age'.* bin with rows .*left out"):
        assert fit(n_bins={"age": [5, 15]}).sensitive_features_ == ["sex", "race"]


@pytest.mark.parametrize("binning", ["uniform", "quantile"])
def test_a_number_that_most_rows_have_is_told_from_the_rest(binning):
    X = people(1000)
    rng = np.random.default_rng(0)
    X["gain"] = np.where(rng.random(1000) < 0.92, 0, rng.integers(1, 90_000, 1000))
    model = PlantedClassifier(lambda X: X["gain"] > 0)
    auditor = fit(model, X, sensitive_features=["gain"], binning=binning, error_threshold=0.1)
    assert len(auditor.rules_) == 2 and auditor.group_fairness_score_ > 0.4
    said = auditor.rules_["rule"].sort_values().tolist()
    assert (auditor.matches(X, said[0]) == (X["gain"] == 0)).all()
    assert (auditor.matches(X, said[1]) == (X["gain"] > 0)).all()


@slow_sample
def test_a_million_rules_at_most():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"share_{j}": rng.random(300) for j in range(9)}).assign(income=1.0, hours=40)
    model = PlantedClassifier(lambda X: X["share_0"] > 0.5)
    settings = {"sensitive_features": [f"share_{j}" for j in range(9)], "error_threshold": 0.3}
    with pytest.warns(
        UserWarning, match="Only rules of up to max_attributes=2 are compared. There are"
    ):
        auditor = fit(model, X, **settings)
    assert auditor.rules_["attributes"].map(len).max() == 2 and auditor.n_rules_ < 1e6
    with pytest.raises(ValueError, match="lower max_attributes: .*max_attributes=2 leaves"):
        fit(model, X, max_attributes=3, **settings)


def test_values_unseen_in_fit():
    auditor, new = fitted(), people(50)
    new.loc[3, "race"] = "z"
    for call in (lambda: auditor.matches(new, 0), lambda: auditor.confirm(new)):
        with pytest.raises(ValueError, match="'race' has values that are not among.*'z'"):
            call()
    # Numbers beyond those seen belong to the outermost bins, as the words of the rules say.
    young = people(50).assign(age=5)
    old_rule = next(rule for rule in auditor.rules_["rule"] if rule.startswith("age < "))
    assert auditor.matches(young, old_rule).all()


def test_nobody_is_favoured():
    model = PlantedClassifier(middle_aged_women)
    with pytest.warns(NoDisparityWarning, match="No prediction .* is favourable"):
        auditor = fit(model, people().assign(income=0.0))
    assert auditor.group_fairness_score_ == 0


def test_failure_keeps_what_was_answered():
    model = PlantedClassifier(middle_aged_women, fail_after=20_000)
    auditor = TestSGDAuditor(model, sensitive_features=SENSITIVE, random_state=0)
    with pytest.raises(EstimatorFailedError, match="asked too often"):
        auditor.fit(people())
    assert auditor.stop_reason_.startswith("failed")
    assert auditor.worst_rule_["rule"] == RULE
    assert auditor.rules_["n_inside"].max() < 20_000


@slow_sample
def test_a_run_that_fails_changes_nothing_on_the_auditor(monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    def results():
        return {name: id(value) for name, value in vars(auditor).items()}

    auditor = TestSGDAuditor(
        PlantedClassifier(middle_aged_women), sensitive_features=SENSITIVE, random_state=0
    )
    other = people().drop(columns="income")  # whose columns are not those of the first fit
    for _ in range(2):
        before = results()
        for name in ("_outcomes.answers.Answers.ask", "_testsgd.draw_near"):
            with monkeypatch.context() as patch:
                patch.setattr(f"skfairtest.group.{name}", interrupt)
                with pytest.raises(KeyboardInterrupt):
                    auditor.fit(other)
            assert results() == before
        auditor.fit(people())
        assert auditor.worst_rule_["rule"] == RULE and len(auditor.space_.data) == 0


def test_no_warnings_of_ours_on_good_input():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(X=people(300), favourable="yes", error_threshold=0.2)
