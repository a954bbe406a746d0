"""AuditReport: reading it, saving it, comparing it, and its limits."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from light_skops import skops
from msgspec.structs import replace
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.neighbors import KNeighborsClassifier
from test_audit import LABELS, LOGISTIC, SCORE, X, coded, look
from tiers import slow_sample
from typed_reports import altered, part, searches

from skfairtest import AuditReport, InputSpace, Limits, RandomAuditor, selection_table
from skfairtest.io import TRUSTED_TYPES
from skfairtest.report.parts.groups import GroupsPart
from skfairtest.report.parts.moved.results import MovedPart
from skfairtest.report.parts.rows.results import RowsPart
from skfairtest.report.parts.rules.results import Largest
from skfairtest.report.parts.search.results import SearchPart
from skfairtest.report.parts.selection.results import Estimate, SelectionPart, _rates
from skfairtest.report.parts.twins.results import TwinsPart


@pytest.fixture(scope="module")
def report():
    return look(y=LABELS, sensitive_features=["sex", "race"])


@pytest.fixture(scope="module")
def regression():
    model = coded(GradientBoostingRegressor(n_estimators=10)).fit(X, SCORE)
    return look(model, y=SCORE, sensitive_features=["sex"])


@pytest.fixture(scope="module")
def unread():
    return look(coded(KNeighborsClassifier()).fit(X, LABELS), sensitive_features=["sex"])


TOGETHER = "sex, race together"


class OfFour(ClassifierMixin, BaseEstimator):
    """A logistic model of the columns that it knows; others are not looked at."""

    def fit(self, X, y=None):
        self.classes_ = LOGISTIC.classes_
        return self

    def predict(self, X):
        return LOGISTIC.predict(X[["sex", "race", "income", "job"]])

    def predict_proba(self, X):
        return LOGISTIC.predict_proba(X[["sex", "race", "income", "job"]])


# Reading and saving -------------------------------------------------------------------------


def test_limits_stand_on_the_first_page_of_a_copy(report):
    limits = Limits(max_degree=1e-9, min_impact_ratio=0.0)
    judged = report.with_limits(limits)
    assert "Fail: " in " ".join(repr(judged).split()) and "Pass: " in " ".join(repr(judged).split())
    assert "No limits were given" in " ".join(repr(report).split()) and report.limits is None
    assert repr(report.with_limits(max_degree=1e-9, min_impact_ratio=0.0)) == repr(judged)
    assert report.check(max_degree=1e-9) == report.check(Limits(max_degree=1e-9))
    with pytest.raises(TypeError, match=r"not both; got \['max_degree'\] too"):
        report.with_limits(limits, max_degree=0.1)
    assert judged.limits == judged.check(limits) and judged.limits.status == "exceeded"
    assert AuditReport.from_dict(judged.to_dict()).to_dict() == judged.to_dict()
    assert judged.auditors == report.auditors


@slow_sample
def test_twins_are_rows_as_the_model_takes_them(report):
    rng = np.random.default_rng(0)
    table = X.assign(
        job=X["job"].astype("category"),
        born=pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 99, len(X)), "D"),
        points=rng.integers(0, 9, len(X)).astype("float32"),
        years=pd.array(rng.integers(0, 9, len(X)), "Int64"),
    )
    mixed = look(OfFour().fit(X), table, sensitive_features=["sex", "race"], groups=False)
    for whole, given in ((report, X), (mixed, table)):
        again = AuditReport.from_dict(whole.to_dict())
        for twins in (whole.worst_case, whole.person):
            assert len(twins) == 2 and twins.columns.equals(given.columns)
            assert twins.dtypes.equals(given.dtypes)
            changed = [name for name in twins if twins[name].nunique() > 1]
            assert changed and set(changed) <= {"sex", "race"}
        assert again.worst_case.dtypes.astype(str).equals(given.dtypes.astype(str))
        assert (again.worst_case == whole.worst_case.to_numpy()).all(axis=None)
        first, second = whole.auditors["sex"].estimator_.predict_proba(whole.worst_case)[:, 1]
        assert abs(first - second) == pytest.approx(whole.fairness_degree)


def test_a_path_that_cannot_be_written_is_named(report, tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        report.to_json(tmp_path / "nowhere" / "report.json")
    with pytest.raises(OSError, match="cannot be written"):
        report.to_json(tmp_path)


def test_the_dict_is_a_copy_and_needs_what_is_known_of_twins(report):
    report.to_dict()["parts"].clear()
    assert report.to_dict()["parts"]
    with pytest.raises(ValueError, match="no part says what is known of twins"):
        AuditReport.from_dict({**report.to_dict(), "parts": []})


@slow_sample
def test_a_report_goes_through_skops(report):
    again = skops.io.loads(skops.io.dumps(report), trusted=TRUSTED_TYPES)
    assert again.to_dict() == report.to_dict()
    degrees = [one.auditors[TOGETHER].fairness_degree_ for one in (again, report)]
    assert degrees[0] == degrees[1]
    assert copy.deepcopy(report).to_dict() == report.to_dict()


@slow_sample
def test_properties_of_what_is_not_known(regression, unread):
    assert np.isnan(regression.on_data_rate) and np.isnan(unread.upper_bound)
    assert look(groups=False, certify=False).group_rules.empty
    assert "mean_prediction" in regression.selection_table


@pytest.mark.parametrize("kind", ["pair", "bounds", "curve", "history", "groups", "selection"])
def test_a_report_has_displays_of_what_it_holds(report, kind):
    display = report.display(kind).plot()
    assert len(display.frame()) > 0
    if kind == "bounds":
        known = [twins.known.degree for twins in searches(report)]
        assert sorted(display.frame()["found"]) == pytest.approx(sorted(known))


def test_displays_of_what_a_report_does_not_hold(report, regression):
    with pytest.raises(ValueError, match="groups=False"):
        altered(report, GroupsPart, rules=[], reason="groups=False").display("groups")
    with pytest.raises(ValueError, match=r"groups=TestSGDAuditor\(\)"):
        report.display("perturbed_groups")
    with pytest.raises(ValueError, match="'bounds'"):
        regression.display("pie")
    with pytest.raises(ValueError, match="no pair"):
        altered(report, TwinsPart, pair=None).display("pair")


# Comparing ----------------------------------------------------------------------------------


@slow_sample
def test_two_models_side_by_side(report, unread):
    blind = coded(KNeighborsClassifier(50)).fit(X.assign(sex="f"), LABELS)
    table = report.compare(look(blind, y=LABELS, sensitive_features=["sex", "race"]))
    row = table.loc["largest difference: sex"]
    assert row["this"] == searches(report)[0].known.degree
    assert row["change"] == row["other"] - row["this"]
    assert row["this_low"] <= row["this_high"] and np.isnan(row["other_high"])
    assert row["says"] in ("the intervals overlap", "higher")  # no upper bound: never lower
    assert table.attrs["notes"] == []
    assert set(report.compare(report)["says"]) == {"equal"}


def test_a_certified_fall_is_lower(report):
    low = altered(report, TwinsPart, "sex", degree=0.0, upper=0.01)
    low = altered(low, RowsPart, degree=0.0)
    table = report.compare(low, names=("before", "after"))
    assert table.loc["largest difference: sex", "says"] == "lower"
    assert low.compare(report).loc["largest difference: sex", "says"] == "higher"


def test_samples_of_rows_differ_only_where_their_intervals_are_apart(report, regression):
    def sampled(whole, rate, low, high):
        rows = part(whole, RowsPart, "sex")
        above = [rows.above[0], replace(rows.above[1], rate=rate, low=low, high=high)]
        return altered(whole, RowsPart, "sex", above=above, n=130)

    name = "rows above 10% of the spread: sex"
    one, other = sampled(regression, 0.054, 0.022, 0.108), sampled(regression, 0.085, 0.043, 0.146)
    row = one.compare(other).loc[name]
    assert row["says"] == "the intervals overlap" and row["this_high"] == 0.108
    apart = sampled(regression, 0.2, 0.15, 0.26)
    assert one.compare(apart).loc[name, "says"] == "higher"
    # The largest difference of a sample is a lower bound of that of all rows.
    on_rows = one.compare(regression).loc["largest difference on rows: sex"]
    assert np.isnan(on_rows["this_high"]) and not np.isnan(on_rows["other_high"])


def test_what_was_not_measured_alike_is_said(report, regression):
    notes = report.compare(regression).attrs["notes"]
    assert any("sensitive attributes" in note for note in notes)
    with pytest.raises(TypeError, match="AuditReport"):
        report.compare({})


# Limits -------------------------------------------------------------------------------------


def only(outcome):
    (check,) = outcome.checks
    return check


def test_no_limits_hold(report):
    outcome = report.check(Limits())
    assert outcome.status == "within" and outcome.exit_code == 0
    assert report.sentence in outcome.verdict
    with pytest.raises(TypeError, match="Limits"):
        report.check({"max_degree": 0.1})


def with_degree(report, degree, upper, on_rows=0.0, **more):
    """A report of other bounds, and of another largest difference among the rows."""
    known = altered(report, TwinsPart, TOGETHER, degree=degree, upper=upper, **more)
    return altered(known, RowsPart, degree=on_rows)


@pytest.mark.parametrize(
    "limit, degree, upper, estimate, status, words",
    [
        (0.5, 0.6, 0.9, False, "exceeded", "0.60 is above 0.5"),
        (0.21, 0.2100001, 0.9, True, "exceeded", "0.2100001 is above 0.21"),
        (0.6, 0.6, 0.9, True, "within", "no difference above 0.6 found in"),
        (0.6, 0.6, 0.9, False, "undecided", "it may be up to 0.90"),
        (0.6, 0.5, None, False, "undecided", "no upper bound"),
        (0.6, 0.5, None, True, "within", "(seed 0)"),
        (0.6, 0.5, 0.6, False, "within", "(proven)"),
        (0.0, 0.0, 0.0, False, "within", "(proven)"),
    ],
)
def test_the_degree(report, limit, degree, upper, estimate, status, words):
    given = with_degree(report, degree, upper)
    check = only(given.check(Limits(max_degree=limit, estimates_decide=estimate)))
    assert check.status == status and words in check.words
    assert check.value == check.low == degree and check.high == upper
    assert check.figure == "largest difference between twins in sex and race"
    assert check.interval == ("lower bound" if upper is None else "certified bounds")


def test_a_row_outside_of_the_domain_counts(report):
    """A gate looks at whatever was seen, although a certificate is about the domain alone."""
    given = with_degree(report, 0.6, 0.6, 0.9, certified=True)
    check = only(given.check(Limits(max_degree=0.7)))
    assert check.status == "exceeded" and check.low == 0.9
    assert "0.90 among the rows of the data is above 0.7" in check.words
    check = only(given.check(Limits(max_degree=0.95)))
    assert (check.status, check.value, check.high) == ("within", 0.9, 0.9)
    assert "among the rows outside of it" in check.words
    assert given.fairness_degree == 0.6 and given.on_data_degree == 0.9
    assert "of a person outside these ranges 0.90" in " ".join(repr(given).split())


def test_without_a_search_the_degree_is_undecided(report):
    rows_only = altered(report, SearchPart, TOGETHER, status="failed", reason="no memory")
    rows_only = altered(rows_only, TwinsPart, TOGETHER, upper=None)
    outcome = rows_only.check(Limits(max_degree=5.0))
    assert outcome.status == "failed" and outcome.exit_code == 4 and "no memory" in outcome.verdict
    assert rows_only.check(Limits(max_degree=1e-9)).status == "exceeded"


def test_the_share_of_rows(report, regression):
    rate = report.on_data_rate
    assert report.check(Limits(max_on_data_rate=rate)).status == "within"
    assert report.check(Limits(max_on_data_rate=rate - 0.01)).status == "exceeded"
    with pytest.raises(ValueError, match="threshold="):
        regression.check(Limits(max_on_data_rate=0.1))


def test_a_sample_of_rows_proves_as_much_as_its_interval(report):
    sample = altered(report, RowsPart, TOGETHER, rate=0.1, low=0.05, high=0.2, n=130)
    check = only(sample.check(Limits(max_on_data_rate=0.15)))
    assert check.status == "undecided" and "of all people 5.0% to 20.0%" in check.words
    assert (check.low, check.high, check.interval) == (0.05, 0.2, "95% interval")
    assert sample.check(Limits(max_on_data_rate=0.2)).status == "within"
    assert sample.check(Limits(max_on_data_rate=0.05)).status == "undecided"
    assert sample.check(Limits(max_on_data_rate=0.04)).status == "exceeded"
    loose = Limits(max_on_data_rate=0.15, estimates_decide=True)
    assert sample.check(loose).status == "within"


class OneValueOnly(ClassifierMixin, BaseEstimator):
    """Gives another label to one of 5,001 values: every row has a twin that gets it."""

    classes_ = np.array(["no", "yes"])

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return np.where(np.asarray(X["code"]) == 2500, "yes", "no")


def test_rows_compared_with_some_of_their_twins_are_never_within():
    codes = np.random.default_rng(0).permutation(5001)[:198]
    table = pd.DataFrame({"code": [0, 5000, *codes], "hours": range(200)})
    found = look(OneValueOnly(), table, sensitive_features=["code"], groups=False)
    rows = searches(found)[-1].rows
    assert rows.rate < 0.2 and rows.high == 1.0  # the truth is 1
    check = only(found.check(Limits(max_on_data_rate=0.5)))
    assert check.status == "undecided" and "100 of the 5,001 possible values of code" in check.words
    assert (check.interval, check.high) == ("lower bound", 1.0)
    assert "At least" in repr(found) and "at least" in found.to_markdown()


def test_groups_that_were_not_compared_are_named(report, regression):
    check = only(report.check(Limits(max_group_score=1.0)))
    assert check.status == "within" and "under 5%" in check.left_out[0]
    off = altered(report, GroupsPart, rules=[], largest=None, reason="groups=False")
    check = only(off.check(Limits(max_group_score=1.0)))
    assert check.status == "undecided" and "groups=False" in check.words
    groups = part(report, SelectionPart).groups
    small = f"{groups[1].attribute} = {groups[1].group}"
    groups = [replace(group, share=0.01) if k == 1 else group for k, group in enumerate(groups)]
    given = altered(report, SelectionPart, groups=groups)
    check = only(given.check(Limits(max_group_score=1.0)))
    assert small in check.left_out[1:] and small in check.people and "of few rows" in check.sentence


@pytest.mark.parametrize(
    "limit, estimate, status",
    [
        (0.1, False, "exceeded"),
        (0.2, False, "undecided"),
        (0.2, True, "exceeded"),
        (0.35, False, "undecided"),
        (0.35, True, "within"),
        (0.4, False, "within"),
    ],
)
def test_scores_of_groups_are_decided_by_what_holds_for_all_of_them(
    report, limit, estimate, status
):
    given = altered(report, GroupsPart, largest=Largest("sex = f", 0.3), low=0.15, high=0.4)
    check = only(given.check(Limits(max_group_score=limit, estimates_decide=estimate)))
    assert check.status == status and check.figure.startswith("difference in ")
    assert "rows" in check.figure and "groups of rows" in check.words
    assert (check.value, check.low, check.high) == (0.3, 0.15, 0.4)
    assert check.interval == "95% interval for all groups at once"
    assert "from 0.15 to 0.40" in check.words


def test_ends_of_the_largest_score_are_of_all_rule_sets(report):
    rules, groups = report.auditors["groups"].rules_, part(report, GroupsPart)
    judged = rules[rules["ranked"]]
    assert groups.low == judged["low"].max() and groups.high == judged["high"].max()
    assert groups.low <= groups.largest.score <= groups.high
    assert groups.largest.score == judged["score"].max()


def with_ratios(report, low, high, place=0, ratio=0.9, ratio_low=0.5, note=""):
    """A report whose groups all have a ratio of 0.9, but for one; and the name of that one."""
    groups = part(report, SelectionPart).groups
    groups = [replace(group, ratio=replace(group.ratio, value=0.9), note="") for group in groups]
    groups[place] = replace(groups[place], ratio=Estimate(ratio, ratio_low, 1.0), note=note)
    given = altered(report, SelectionPart, low=low, high=high, groups=groups)
    return given, groups[place].group


@pytest.mark.parametrize(
    "low, high, estimate, status",
    [
        (0.5, 0.79, False, "exceeded"),
        (0.5, 0.81, False, "undecided"),
        (0.5, 0.81, True, "exceeded"),
        (0.8, 0.9, False, "within"),
    ],
)
def test_impact_ratios_are_decided_by_what_holds_for_all_groups(
    report, low, high, estimate, status
):
    given, name = with_ratios(report, low, high, ratio=0.7)
    check = only(given.check(Limits(min_impact_ratio=0.8, estimates_decide=estimate)))
    assert check.status == status and check.figure.startswith(f"impact ratio of {name} (")
    assert check.words.startswith(f"{check.figure}: 0.70, ")
    assert (check.low, check.high) == (low, high)


def test_small_groups_do_not_vanish_into_a_pass(report):
    limits = Limits(min_impact_ratio=0.8)
    note = "fewer than 30 rows"
    # Small, and known by its interval to be anything.
    given, name = with_ratios(
        report, 0.0, 0.9, place=2, ratio=0.95, ratio_low=0.0, note=note
    )  # one of three
    check = only(given.check(limits))
    assert check.status == "undecided" and f"because little is known of {name}" in check.words
    check = only(given.check(Limits(min_impact_ratio=0.8, estimates_decide=True)))
    assert check.status == "within" and name in check.words and name in check.left_out[0]
    # So small that it has no ratio.
    given, name = with_ratios(report, 0.85, 0.9, place=2, ratio=None, note="no ratio")
    check = only(given.check(limits))
    assert check.status == "within" and name in check.words and name in check.left_out[0]


#: What was compared, and the limit that needs it.
COMPARED = {
    "no input of the search": (SearchPart, {"inputs": 0}, "max_degree"),
    "no row": (RowsPart, {"status": "left out", "rate": None}, "max_on_data_rate"),
    "no group": (GroupsPart, {"largest": None, "rules": []}, "max_group_score"),
    "no ratio": (SelectionPart, {"metric": "", "groups": []}, "min_impact_ratio"),
    "nobody moved": (None, {}, "max_moved_rate"),
}  # fmt: skip


@pytest.mark.parametrize("case", COMPARED)
@pytest.mark.parametrize("estimate", [False, True])
def test_a_limit_does_not_hold_where_nothing_was_compared(report, case, estimate):
    kind, values, name = COMPARED[case]
    assert not report.results(MovedPart)
    given = altered(with_degree(report, 0.0, None), kind, **values) if kind else report
    limit = 0.0 if name == "min_impact_ratio" else 1.0
    check = only(given.check(Limits(**{name: limit}, estimates_decide=estimate)))
    assert check.status == "undecided", check.words


FEW = pd.Series(np.where(X.index < 3, X["job"], "a"), name="few")
HALF = pd.Series(np.where(X["sex"] == "f", "f", None), name="half")
SOME = pd.Series(np.where(X.index % 3 == 0, None, X["race"]), name="some")


@pytest.mark.parametrize(
    "groups, undecided",
    [
        (FEW, {"min_impact_ratio"}),  # one large group, beside which there are three people
        (HALF, {"min_impact_ratio", "max_group_score"}),  # one group, beside people of unknown ones
        (pd.concat([X["sex"], HALF], axis=1), {"min_impact_ratio", "max_group_score"}),
        (SOME, set()),  # three groups, beside people of unknown ones
    ],
)
def test_a_limit_on_groups_needs_two_of_each_attribute(groups, undecided):
    found = look(sensitive_features=groups)
    for limits in (Limits(max_group_score=1.0), Limits(min_impact_ratio=0.0)):
        check = only(found.check(limits))
        assert (check.status == "undecided") == (check.name in undecided), check.words
    if len(np.shape(groups)) == 2:
        assert "half: fewer than two groups that can be compared" in check.left_out
        assert check.value is not None and "half: fewer than two" in check.words


def test_rows_without_twins_show_nothing():
    """A constraint that says the sex, so that nobody has a twin."""
    space = InputSpace(constraint=lambda table: table["sex"] == "f")
    found = look(sensitive_features=["sex"], auditor=RandomAuditor(max_queries=50, space=space))
    limits = Limits(max_on_data_rate=0.5, max_degree=0.9, estimates_decide=True)
    assert [check.status for check in found.check(limits).checks] == ["failed", "undecided"]
    assert np.isnan(found.on_data_rate) and "no row a twin" in found.check(limits).checks[1].words
    assert "No twins were compared" in found.to_markdown() and repr(found)


def test_a_limit_on_a_ratio_is_rarely_passed_where_the_truth_breaks_it(report):
    rng = np.random.default_rng(0)
    names = np.repeat(["a", "b", "c"], [700, 200, 100])
    rates = np.repeat([0.5, 0.43, 0.38], [700, 200, 100])  # ratios 1, 0.86 and 0.76
    statuses = []
    for _ in range(60):
        labels = (rng.random(1000) < rates).astype(int)
        table = selection_table(labels, sensitive_features={"g": names}, favourable=1)
        low, high = table.attrs["smallest_ratio"]
        groups = [_rates(row, "selection_rate") for row in table.to_dict("records")]
        given = altered(report, SelectionPart, groups=groups, low=low, high=high)
        statuses.append([
            given.check(Limits(min_impact_ratio=0.8, estimates_decide=way)).status
            for way in (False, True)
        ])  # fmt: skip
    known, estimated = zip(*statuses, strict=True)
    assert known.count("within") <= 1 and estimated.count("within") > 10


def test_the_worst_of_several_limits_counts(report):
    outcome = report.check(Limits(max_degree=0.0, max_on_data_rate=1.0))
    assert [check.status for check in outcome.checks] == ["exceeded", "within"]
    assert outcome.status == "exceeded" and outcome.exit_code == 1
    assert outcome.verdict.startswith("Exceeded: ") and "\n" not in outcome.verdict


@pytest.mark.parametrize(
    "params",
    [
        {"max_degree": -0.1},
        {"max_on_data_rate": 1.5},
        {"min_impact_ratio": "0.8"},
        {"max_degree": float("inf")},
        {"max_group_score": float("nan")},
        {"max_degree": True},
        {"estimates_decide": 1},
    ],
)
def test_limits_that_no_figure_can_have(params):
    with pytest.raises(ValueError, match=next(iter(params))):
        Limits(**params)
