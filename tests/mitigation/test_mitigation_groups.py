"""FairnessRetrainer: which groups the models err about, before and after."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier
from tiers import slow_sample

from skfairtest import FairnessRetrainer, MitigationDisplay, RandomAuditor, SubgroupAuditor

TWINS = RandomAuditor(sensitive_features="sex", max_queries=400)
SETTINGS = {
    "max_score_drop": 0.2, "n_estimates": 500, "max_rounds": 2, "near": "uniform", "cv": 3,
    "certify_time": 0, "labeler": "average", "random_state": 0,
}  # fmt: skip


def people(n=900, seed=0):
    """Nobody can tell the label of women of part b."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"sex": rng.integers(0, 2, n), "part": rng.choice([0, 1, 2], n), "skill": rng.random(n)}
    )
    y = (X["skill"] + 0.2 * X["sex"] > 0.6).to_numpy().astype(int)
    unclear = ((X["sex"] == 0) & (X["part"] == 1)).to_numpy()
    return X, np.where(unclear, rng.integers(0, 2, n), y)


def tree():
    return DecisionTreeClassifier(max_depth=5, random_state=0)


def test_rates_are_those_of_models_that_have_not_seen_the_rows():
    X, y = people()
    template = SubgroupAuditor(metric="accuracy", attributes="all", bins=3)
    folds = KFold(3, shuffle=True, random_state=0)
    mitigated = FairnessRetrainer(
        tree(), TWINS, subgroup_auditor=template, **{**SETTINGS, "cv": folds}
    ).fit(X, y)
    predicted = np.empty_like(y)
    for rest, held in folds.split(X):
        predicted[held] = tree().fit(X.iloc[rest], y[rest]).predict(X.iloc[held])
    known = SubgroupAuditor(metric="accuracy", attributes="all", bins=3).fit(X, y, y_pred=predicted)
    before, worst = mitigated.before_["subgroup"], known.worst_rule_
    assert before["rule"] == worst["rule"] == "sex = 0 and part = 1"
    assert before["value"] == pytest.approx(worst["score"])
    assert (before["inside"], before["outside"]) == pytest.approx(
        (worst["value_inside"], worst["value_outside"])
    )
    table = mitigated.subgroups_
    assert table.loc["sex = 0 and part = 1", "before_value_inside"] == pytest.approx(
        before["inside"]
    )
    assert set(known.short_list_["rule"]) <= set(table.index)
    # Figures of the second model are those of its own audit.
    after = mitigated.after_["subgroup"]
    assert table.loc[after["rule"], "after_score"] == pytest.approx(after["value"])
    assert "subgroup" in set(MitigationDisplay.from_retrainer(mitigated).frame()["measure"])
    assert "worst group, difference of errors" in mitigated._repr_html_()


@slow_sample
def test_accuracy_by_the_sensitive_columns_unless_something_else_is_asked_for():
    X, y = people()
    mitigated = FairnessRetrainer(tree(), TWINS, **SETTINGS).fit(X, y)
    assert list(mitigated.subgroups_.index) == ["sex = 0"]
    assert mitigated.before_["subgroup"]["rule"] == "sex = 0"
    none = FairnessRetrainer(tree(), TWINS, subgroup_auditor=None, **SETTINGS).fit(X, y)
    assert "subgroup" not in none.before_ and not hasattr(none, "subgroups_")
    # It decides nothing.
    assert none.history_.equals(mitigated.history_)


def test_outputs_and_probabilities():
    X, y = people()
    amounts = X["skill"] * 10 + X["sex"] * np.random.default_rng(0).normal(0, 3, len(X))
    mitigated = FairnessRetrainer(
        LinearRegression(), TWINS, **{**SETTINGS, "max_score_drop": 1}
    ).fit(X, amounts)
    worst = mitigated.before_["subgroup"]
    assert abs(worst["inside"] - worst["outside"]) == pytest.approx(worst["value"])
    assert worst["value"] > 1 and mitigated.subgroups_["before_differs"].all()
    template = SubgroupAuditor(metric="calibration", attributes="all")
    mitigated = FairnessRetrainer(tree(), TWINS, subgroup_auditor=template, **SETTINGS).fit(X, y)
    assert np.isfinite(mitigated.before_["subgroup"]["value"])


@slow_sample
def test_weights_count():
    X, y = people()
    light = ((X["sex"] == 0) & (X["part"] == 1)).to_numpy()
    weights = np.where(light, 0.01, 1.0)
    plain = FairnessRetrainer(tree(), TWINS, **SETTINGS).fit(X, y)
    weighted = FairnessRetrainer(tree(), TWINS, **SETTINGS).fit(X, y, sample_weight=weights)
    assert weighted.before_["subgroup"]["value"] < plain.before_["subgroup"]["value"] - 0.05


def test_auto_is_left_out_where_there_is_no_group_and_a_template_says_so():
    X, y = people()
    names = np.array([f"v{j}" for j in range(50)])
    ages = X.assign(sex=names[np.arange(len(X)) % 50])  # fifty values of 2% each
    template = SubgroupAuditor(metric="accuracy", attributes=["part"], min_support=0.9)
    model = Skilled()
    quiet = FairnessRetrainer(model, TWINS, **SETTINGS).fit(ages, y)
    assert "subgroup" not in quiet.before_ and not hasattr(quiet, "subgroups_")
    with pytest.raises(ValueError, match="min_support"):
        FairnessRetrainer(model, TWINS, subgroup_auditor=template, **SETTINGS).fit(ages, y)


class Skilled(ClassifierMixin, BaseEstimator):
    """Takes texts, and reads one number."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X["skill"] > 0.5).to_numpy().astype(int)


@pytest.mark.parametrize("wrong", [3, "groups", RandomAuditor(), SubgroupAuditor])
def test_anything_else_is_refused(wrong):
    X, y = people(60)
    with pytest.raises(ValueError, match="subgroup_auditor must be 'auto', None or a Subgroup"):
        FairnessRetrainer(tree(), TWINS, subgroup_auditor=wrong, **SETTINGS).fit(X, y)
