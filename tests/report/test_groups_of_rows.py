"""Groups of a report are rows of the data, and perturbed inputs are a question of their own."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from tiers import slow_sample, some
from typed_reports import part

from skfairtest import InputSpace, Limits, RandomAuditor, SubgroupAuditor, TestSGDAuditor, audit
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.report import AuditReport
from skfairtest.report.parts.groups import GroupsPart
from skfairtest.report.parts.perturbed import PerturbedGroupsPart

TestSGDAuditor.__test__ = False
QUICK = RandomAuditor(max_queries=30)


class Lucky(ClassifierMixin, BaseEstimator):
    """Says yes by a column that is chance, and by `gap` more often to m."""

    def __init__(self, gap=0.0, labels=("no", "yes")):
        self.gap, self.labels = gap, labels

    def fit(self, X, y=None):
        self.classes_ = np.array(self.labels)
        return self

    def predict(self, X):
        says = (X["luck"] < 0.4 + self.gap * (X["sex"] == "m")).astype(int)
        return np.array(self.labels)[says]


class Amount(RegressorMixin, BaseEstimator):
    """Gives everybody chance, and m more."""

    def fit(self, X, y=None):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return 100 * X["luck"].to_numpy() + 50.0 * (X["sex"] == "m")


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n, p=[0.4, 0.6]),
            "race": rng.choice(list("abcd"), n, p=[0.6, 0.2, 0.1, 0.1]),
            "age": rng.integers(18, 80, n),
            "luck": rng.random(n),
        }
    )


def look(model, X, **params):
    params = {
        "sensitive_features": ["sex", "race", "age"],
        "certify": False,
        "moved": False,
    } | params
    usual = {"auditor": QUICK, "favourable": "yes" if isinstance(model, Lucky) else None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoDisparityWarning)
        return audit(model.fit(X), X, random_state=0, progress=False, **{**usual, **params})


def outcome(report, limit, **more):
    (check,) = report.check(Limits(max_group_score=limit, **more)).checks
    return check


@slow_sample
def test_the_differences_are_those_of_the_rows():
    X = table()
    model = Lucky(gap=0.4)
    report = look(model, X)
    found = part(report, GroupsPart)
    assert (found.n, found.n_rows, found.metric) == (600, 600, "selection_rate")
    yes, is_f = model.predict(X) == "yes", (X["sex"] == "f").to_numpy()
    worst = report.group_rules.iloc[0]
    assert worst["rule"] in ("sex = f", "sex = m")
    assert worst["score"] == pytest.approx(abs(yes[is_f].mean() - yes[~is_f].mean()))
    counts = sorted((worst["n_inside"], worst["n_outside"]))
    assert counts == sorted((is_f.sum(), (~is_f).sum()))
    assert isinstance(report.auditors["groups"], SubgroupAuditor)
    assert f"of {is_f.sum():,}" in report.to_markdown() and "perturbed" not in " ".join(
        repr(report).split()
    )
    assert not report.results(PerturbedGroupsPart)
    assert "perturbed" not in report.to_markdown().lower()
    assert outcome(report, 0.1).status == "exceeded"
    assert "rows where" in outcome(report, 0.1).words


def test_intervals_know_how_many_rows_there_are():
    """Perturbed inputs could be drawn without end, and their intervals narrowed with them."""
    widths = []
    for n in (120, 600, 3000):
        report = look(Lucky(), table(n), sensitive_features="sex")
        widths.append(part(report, GroupsPart).high)
    assert widths[0] > 1.5 * widths[1] > 2 * widths[2]


@pytest.mark.parametrize("seed", some(range(1000, 1030), 1))
def test_no_difference_is_seldom_called_exceeded(seed):
    """Of 100 tables: 6, 4, 1 and 0 above .01, .02, .03 and .05; perturbed inputs: 63 to 17."""
    report = look(Lucky(), table(seed=seed))
    assert outcome(report, 0.05).status == "undecided"
    assert outcome(report, 0.9).status == "within"


@slow_sample
def test_intervals_of_a_planted_difference_hold_all_at_once():
    """Of 60 tables: 59 in which all intervals hold, 44 in which a difference is shown."""
    n_holds = n_shown = 0
    for seed in range(25):
        report = look(Lucky(gap=0.15), table(seed=seed))
        holds = []
        for rule in report.auditors["groups"].rules_.itertuples():
            inside = 1.0 if "sex = m" in rule.rule else 0.0 if "sex = f" in rule.rule else 0.6
            outside = (0.6 - inside * rule.support) / (1 - rule.support)
            true = 0.15 * abs(inside - outside)
            # The shares of the groups themselves are those of the table, not the true ones.
            holds.append(rule.low - 0.005 <= true <= rule.high + 0.005)
        n_holds += all(holds)
        n_shown += bool(report.group_rules["differs"].any())
    assert n_holds >= 22 and n_shown >= 12


@slow_sample
def test_perturbed_inputs_have_a_section_of_their_own():
    X = table(300)
    report = look(Lucky(gap=0.4), X, groups=TestSGDAuditor(max_queries=2000))
    rows, near = part(report, GroupsPart), part(report, PerturbedGroupsPart)
    # Of 2,000 queries 100 ask the first rows again.
    assert near.rules[0].n_inside + near.rules[0].n_outside == 1900
    assert rows.rules[0].n_inside + rows.rules[0].n_outside == 300
    assert "## Groups of perturbed inputs (TestSGD)" in report.to_markdown()
    assert "inside, of inputs" in report.to_markdown()
    assert "perturbed_groups" in report.parts["part"].tolist()
    assert (
        AuditReport.from_dict(report.to_dict()).display("perturbed_groups").counted
        == "perturbed inputs"
    )
    assert report.display("groups").counted == "rows"
    # The gate is about people.
    assert outcome(report, 0.05).low == rows.low != near.low


def test_a_regressor_has_means_in_its_units():
    report = look(Amount(), table())
    found = part(report, GroupsPart)
    assert found.metric == "mean_prediction" and found.favourable == ""
    assert report.group_rules["score"].iloc[0] == pytest.approx(50, abs=10)
    assert outcome(report, 20).status == "exceeded" and outcome(report, 99).status == "within"


def test_a_regressor_with_a_least_favourable_output_has_shares():
    X = table()
    report = look(Amount(), X, favourable=75)
    found = part(report, GroupsPart)
    assert (found.metric, found.favourable) == ("selection_rate", "at least 75")
    assert found.overall == (Amount().predict(X) >= 75).mean()
    assert report._data.favourable.words == "outputs of at least 75 taken as favourable"
    with pytest.raises(ValueError, match="finite number"):
        look(Amount(), X, favourable="high")


@slow_sample
def test_nobody_gets_it():
    X = table().assign(luck=1.0)
    report = look(Lucky(), X)
    found = part(report, GroupsPart)
    assert found.status == "done" and found.largest.score == 0
    check = outcome(report, 0.5)
    assert check.status == "within" and check.high > 0
    assert "shows a difference" in report.to_markdown()


def test_a_group_of_one_row_is_named_and_missing_values_are_a_group():
    X = table(400)
    X.loc[0, "race"] = "z"
    X.loc[1:80, "sex"] = None
    X.loc[100:150, "age"] = np.nan
    report = look(Lucky(), X)
    check = outcome(report, 0.9)
    assert check.status == "within" and any("race = z" in name for name in check.left_out)
    assert any("missing" in rule for rule in report.auditors["groups"].rules_["rule"])


@pytest.mark.parametrize("column", [[f"p{j}" for j in range(60)], ["x"] * 60])
def test_nothing_to_compare_is_undecided(column):
    """Each row a group of its own, or all rows one group."""
    X = table(60).assign(race=column)
    wider = RandomAuditor(
        max_queries=30, space=InputSpace(categories={"race": [*set(column), "y"]})
    )
    report = look(Lucky(), X, sensitive_features=["race"], auditor=wider)
    found = part(report, GroupsPart)
    assert found.status == "left out" and found.largest is None and found.reason
    assert outcome(report, 0.5).status == "undecided"
    assert "left out" in report.to_markdown()


def test_another_auditor_of_groups_is_refused():
    with pytest.raises(TypeError, match="which adds groups of perturbed inputs"):
        look(Lucky(), table(50), groups=SubgroupAuditor())
