"""What an audit tells of groups within strata: figures, sentences, limits, files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from msgspec.structs import replace
from report_samples import huge, usual
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from tiers import slow_sample
from typed_reports import part, with_part

from skfairtest import Limits, RandomAuditor, audit, audit_models, selection_table
from skfairtest.report import AuditReport
from skfairtest.report.parts.selection.results import SelectionPart, SmallestWithin
from skfairtest.report.parts.selection.within import MOST_TABLES, strata_tables
from skfairtest.space._sensitive_features import control_columns


class Admits(ClassifierMixin, BaseEstimator):
    """Admits by the department, and to each by the grade."""

    classes_ = np.array(["admitted", "rejected"])

    def __init__(self, bonus=0.0):
        self.bonus = bonus

    def predict(self, X):
        needed = X["dept"].map({"arts": 0.8, "law": 0.5, "science": 0.2}).to_numpy()
        more = self.bonus * (X["sex"] == "m") if "sex" in X else 0
        return np.where(X["grade"] + more > needed, "admitted", "rejected")


class AdmitsBySex(Admits):
    """Takes the department and the grade alone."""

    feature_names_in_ = np.array(["dept", "grade"], dtype=object)


class Scores(RegressorMixin, BaseEstimator):
    def predict(self, X):
        return X["grade"].to_numpy() + X["dept"].map({"arts": 0, "law": 1, "science": 2}).to_numpy()

    def __sklearn_is_fitted__(self):
        return True


def applicants(n=1500):
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], n)
    depts = ["arts", "law", "science"]
    often = {"f": [0.6, 0.3, 0.1], "m": [0.1, 0.3, 0.6]}
    dept = np.array([rng.choice(depts, p=often[one]) for one in sex])
    return pd.DataFrame({"sex": sex, "dept": dept, "grade": rng.random(n).round(3)})


X = applicants()
SETTINGS = {
    "sensitive_features": ["sex"], "groups": False, "moved": False, "certify": False,
    "auditor": RandomAuditor(max_queries=30), "max_time": None, "random_state": 0,
    "progress": False,
}  # fmt: skip


def look(model=None, table=X, **more):
    return audit(Admits() if model is None else model, table, **{**SETTINGS, **more})


def quick(model=None, table=X, **more):
    """An audit of the rates alone, which such a limit needs."""
    limits = Limits(min_impact_ratio=0.8)
    return look(model, table, **{"limits": limits, **more})


@pytest.fixture(scope="module")
def report():
    return quick(control_features=["dept"])


def test_figures_are_those_of_the_table(report):
    found = part(report, SelectionPart)
    table = selection_table(
        Admits().predict(X), sensitive_features=X[["sex"]], control_features=X["dept"],
        min_share=0.02,
    )  # fmt: skip
    row = table[(table["group"] == "f") & (table["stratum"] == "")].iloc[0]
    (women,) = [group for group in found.groups if group.group == "f"]
    within = women.within
    assert within.reference == "m" and found.control_features == "dept" and found.n_strata == 3
    assert (within.ratio.value, within.ratio.low) == (row["ratio_within"], row["ratio_within_low"])
    assert within.homogeneity == row["homogeneity_ratio"] and within.n_strata == 3
    assert within.from_rates + within.from_composition == pytest.approx(
        women.rate.value - found.groups[1].rate.value
    )
    made = [abs(one.from_rates + one.from_composition) for one in within.strata]
    assert len(made) == 3 and made == sorted(made, reverse=True)
    assert report.selection_table["ratio_within"][0] == row["ratio_within"]
    assert report.display("selection").plot().ax_ is not None


def test_the_sentence_says_both(report):
    text = " ".join(repr(report).split())
    assert "Impact ratio of f (sex) to m: overall 0.51, within dept 0.99 (0.87 to 1.11" in text
    assert (
        "points, +0.9 come from the rates" in text
        and "the largest parts come from 'arts' (-15" in text
    )
    assert "The strata were chosen by the user: dept." in text and "proxy" in text
    assert "chosen by the user" not in repr(quick())
    # In files as well, and without what tells of people where these are left out.
    assert "Groups on the whole and within dept" in report.to_markdown()
    none = report.without_people("none")
    assert "overall 0.51, within dept 0.99" in " ".join(repr(none).split())
    assert "largest parts" not in repr(none)
    assert not part(none, SelectionPart).groups[0].within.strata
    again = AuditReport.from_json(report.to_json())
    assert again.to_json() == report.to_json() and "control_features=['dept']" in report.to_json()


def test_limits_within_strata(report):
    limit = {"min_impact_ratio": 0.8}
    assert report.check(**limit).status == "exceeded"
    (check,) = report.check(**limit, within=True).checks
    assert check.status == "within" and "strata chosen by the user: dept" in check.words
    assert check.low < check.value <= 1 and "within dept" in check.figure
    gated = quick(control_features=["dept"], limits=Limits(**limit, within=True))
    assert gated.limits.status == "within"
    # The other way round counts, too: within strata men are turned down.
    reverse = quick(Admits(bonus=-0.2), control_features=["dept"])
    (found,) = reverse.check(**limit, within=True).checks
    assert found.status == "exceeded" and "of m (sex) to f" in found.figure
    assert "The smallest ratio within strata is" in " ".join(repr(reverse).split())


def smallest(report, value, low, high, **changes):
    """The report with another smallest ratio."""
    found = SmallestWithin(attribute="sex", group="f", to="m", value=value, low=low, high=high)
    return AuditReport(with_part(report._data, SelectionPart, smallest_within=found, **changes))


@pytest.mark.parametrize(
    ("figures", "status", "by_estimates"),
    [
        ((0.9, 0.85, 0.95), "within", "within"),
        ((0.9, 0.75, 0.95), "undecided", "within"),
        ((0.7, 0.6, 0.79), "exceeded", "exceeded"),
        ((0.7, 0.6, 0.9), "undecided", "exceeded"),
        ((0.7, 0.6, None), "undecided", "exceeded"),
    ],
)
def test_the_interval_decides(report, figures, status, by_estimates):
    made = smallest(report, *figures)
    limits = {"min_impact_ratio": 0.8, "within": True}
    assert made.check(**limits).status == status
    assert made.check(**limits, estimates_decide=True).status == by_estimates


def test_a_limit_is_undecided_where_little_is_known(report):
    limits = {"min_impact_ratio": 0.8, "within": True}
    groups = part(report, SelectionPart).groups
    few = [replace(group, note="fewer than 30 rows") for group in groups]
    found = smallest(report, 0.7, 0.6, 0.9, groups=few).check(**limits, estimates_decide=True)
    assert found.status == "undecided" and "few rows" in found.verdict
    unknown = replace(groups[0].within, ratio=type(groups[0].ratio)())
    lacking = [replace(groups[0], within=unknown), groups[1]]
    found = smallest(report, 0.9, 0.85, 0.95, groups=lacking).check(**limits)
    assert found.status == "undecided" and "not compared within strata: f (sex)" in found.verdict
    assert "had no control_features" in quick().check(**limits).verdict


def test_the_attribute_whose_groups_differ_most_is_told():
    # Of three groups the one with the highest rate is nobody's lowest, and widens no gap by itself.
    mild = pd.Series(np.random.default_rng(1).choice(list("abc"), len(X)), name="region")
    found = quick(sensitive_features=[mild, "sex"], control_features=["dept"])
    assert "Impact ratio of f (sex) to m: overall 0.51" in " ".join(repr(found).split())


def test_strata_that_are_the_group():
    report = quick(control_features=["sex", "dept"])
    assert "no stratum has rows of both" in " ".join(repr(report).split())
    verdict = report.check(min_impact_ratio=0.8, within=True).verdict
    assert "no stratum of sex × dept has rows of two groups" in verdict
    assert report.check(min_impact_ratio=0.8, within=True).status == "undecided"


def test_columns_beside_the_model():
    # A column that the model does not take is no column of the model's table.
    model = AdmitsBySex()
    table = X.assign(site=np.where(X.index % 2, "north", "south"))
    outside = quick(model, table, control_features=["dept", "site"])
    assert part(outside, SelectionPart).control_features == "dept × site"
    assert outside._data.data.n_columns == 2
    mixed = quick(control_features=[np.where(X["grade"] > 0.5, "high", "low"), "dept"])
    assert part(mixed, SelectionPart).control_features == "dept × control feature"
    assert "control_features=control_features" in mixed.to_json()


def test_numbers_of_a_regressor():
    report = quick(Scores(), control_features=["dept"])
    text = " ".join(repr(report).split())
    assert "Mean of f (sex) less that of m: overall -" in text and "within dept" in text
    assert "difference within strata" in report.to_markdown()
    assert report.check(min_impact_ratio=0.8, within=True).status == "undecided"


def test_an_earlier_report_with_other_strata_is_not_taken_over(report):
    again = quick(model=report.context.estimator, control_features=["dept"], report=report)
    assert part(again, SelectionPart) == part(report, SelectionPart)
    other = quick(model=report.context.estimator, report=report)
    assert part(other, SelectionPart).control_features == ""


@slow_sample
def test_reports_are_compared_within_strata(report):
    table = report.compare(quick(Admits(bonus=-0.2), control_features=["dept"]))
    assert table.loc["smallest impact ratio within strata", "says"] == "lower"
    two = audit_models({"a": Admits(), "b": Admits(0.1)}, X, control_features=["dept"], **SETTINGS)
    assert all(part(one, SelectionPart).n_strata == 3 for one in two.values())


def test_strata_where_figures_differ_are_named():
    text = " ".join(repr(AuditReport(usual())).split())
    assert "The ratio is not the same in all strata (p = 0.030): read them one by one." in text
    assert "That rests on the 11 of 12 strata that have rows of both" in text


def test_each_way_to_give_control_features():
    dept = X["dept"]
    for given in (["dept"], "dept", 1, [1], dept, {"dept": dept.tolist()}, [dept], dept.to_frame()):
        pd.testing.assert_frame_equal(control_columns(X, given), X[["dept"]])
    for table in (pl.DataFrame(X.to_dict("list")), X.to_numpy(dtype=object)):
        assert control_columns(table, [1]).iloc[:, 0].tolist() == dept.tolist()
    assert control_columns(X, None) is None


@pytest.mark.parametrize(
    ("control", "error", "match"),
    [
        (["depts"], ValueError, "control_features names 'depts'.* Did you mean 'dept'"),
        ([], ValueError, "control_features is empty"),
        (list("ab" * 750), ValueError, "control_features is a list of 1500 words"),
        (X["dept"][:9], ValueError, "control_features must have one row for each row of X"),
        (X["dept"][::-1], ValueError, "control_features has another index than X"),
        ([X["dept"], "dept"], ValueError, "control_features has the columns .'dept'. more than"),
        (7, ValueError, "control_features names 7"),
        (2.5, ValueError, "control_features must be"),
    ],
)
def test_errors(control, error, match):
    with pytest.raises(error, match=match):
        quick(control_features=control)


def test_limits_that_make_no_sense():
    with pytest.raises(ValueError, match="within=True is about min_impact_ratio"):
        Limits(within=True)
    with pytest.raises(ValueError, match="within must be True or False; got 1"):
        Limits(min_impact_ratio=0.8, within=1)
    with pytest.raises(ValueError, match="control_features= makes none"):
        quick(limits=Limits(min_impact_ratio=0.8, within=True))


def test_strata_of_the_groups_that_differ_most_have_tables():
    report = huge()
    *tables, left = strata_tables(report)
    told = [
        group
        for group in report.first(SelectionPart).alone(report)
        if group.within is not None and group.within.strata
    ]
    assert len(tables) == 1 + MOST_TABLES and f"{len(told) - MOST_TABLES:,} more" in left.words
