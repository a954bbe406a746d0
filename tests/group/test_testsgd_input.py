"""TestSGDAuditor on bad input: a clear error before the first query, and nothing lost."""

import warnings

import pandas as pd
import pytest
from planted_groups import (
    RULE,
    SENSITIVE,
    PlantedClassifier,
    PlantedRegressor,
    fit,
    middle_aged_women,
    people,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from skfairtest import EstimatorFailedError, NoDisparityWarning, TestSGDAuditor


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
        ({"sampling_threshold": 0}, "sampling_threshold must be a whole number"),
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
    auditor = fit()
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


def test_values_unseen_in_fit():
    auditor, new = fit(), people(50)
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
        fit(X=people(300), favourable="yes")
