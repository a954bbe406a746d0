"""Audits of a model that is not given a sensitive attribute, or takes it and ignores it."""

import json
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from tiers import slow_sample
from typed_reports import part, searches

from skfairtest import AuditReport, Limits, SBFTAuditor, SubgroupAuditor, audit, selection_table
from skfairtest.report.parts.errors import ErrorsPart
from skfairtest.report.parts.selection.results import SelectionPart

SCHEMA = json.loads(files("skfairtest.report").joinpath("schema/v2.json").read_text("utf-8"))
N = 400


def people():
    """Rows whose income stands for race, labels by income, and an index out of order."""
    rng = np.random.default_rng(0)
    index = rng.permutation(N)
    race = pd.Series(rng.choice(["a", "b"], N), index, name="race")
    X = pd.DataFrame({"sex": rng.integers(0, 2, N), "hours": rng.integers(20, 60, N)}, index)
    X["income"] = (rng.normal(size=N) + (race == "a")).round(1)
    score = X["income"] + 0.5 * X["sex"] + rng.normal(size=N)
    return X, race, pd.Series(np.where(score > 0.5, "yes", "no"), index)


X, RACE, Y = people()
BLIND = LogisticRegression().fit(X[["hours", "income"]], Y)
SEES_SEX = LogisticRegression().fit(X, Y)
INPUTS = X[["hours", "income"]]


class Counts(ClassifierMixin, BaseEstimator):
    """A fitted classifier that keeps the rows that it is asked about."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return self.model.classes_

    @property
    def feature_names_in_(self):
        return self.model.feature_names_in_

    def predict(self, X):
        self.seen = [*getattr(self, "seen", []), X]
        return self.model.predict(X)

    def predict_proba(self, X):
        self.seen = [*getattr(self, "seen", []), X]
        return self.model.predict_proba(X)


def look(model, table, sensitive, y=Y, **params):
    params = {
        "auditor": SBFTAuditor(max_queries=300), "max_time": None, "random_state": 0,
        "progress": False, "favourable": "yes", "moved": False, **params,
    }  # fmt: skip
    report = audit(model, table, y, sensitive_features=sensitive, **params)
    Draft202012Validator(SCHEMA).validate(report.to_dict())
    return report


@pytest.fixture(scope="module")
def blind():
    return look(BLIND, INPUTS, RACE)


def test_the_headline_says_that_it_is_not_taken_and_what_the_groups_get(blind):
    table = selection_table(BLIND.predict(INPUTS), sensitive_features=RACE, favourable="yes")
    low, high = sorted(table["selection_rate"])
    ratio = table["impact_ratio"].min()
    assert blind.sentence.startswith(
        f"The model does not take race. 'yes' is predicted for {low:.1%} of b (race) and for "
        f"{high:.1%} of a. Impact ratio: {ratio:.2f} ("
    )
    assert blind.status == "complete"
    text = " ".join(repr(blind).split())
    assert "may stand in for it (proxies)" in text and "compare_mitigations" not in text
    assert "bounds" not in text and "real rows" not in text
    assert (blind.fairness_degree, blind.on_data_degree, blind.on_data_rate) == (0, 0, 0)
    assert blind.upper_bound == 0 and blind.worst_case is None
    (twins,) = searches(blind)
    assert not twins.known.taken and twins.known.of == "race" and twins.search.search_queries == 0


@pytest.mark.parametrize("name, n, favoured", [("c", 29, 26), ("d", 25, 1)])
def test_a_small_group_counts_in_each_figure_of_a_ratio_or_in_none(name, n, favoured):
    group = pd.Series(np.repeat(["a", "b", name], [400, 400, n]), name="group")
    income = np.concatenate([np.arange(400) < 200, np.arange(400) < 150, np.arange(n) < favoured])
    table = pd.DataFrame({"hours": 40, "income": 6.0 * income - 3})
    report = look(BLIND, table, group, None, groups=False)
    rates = {"a": 0.5, "b": 0.375, name: favoured / n}
    least, most = min(rates, key=rates.get), max(rates, key=rates.get)
    told = {key: f"{key} ({n} rows)" if key == name else key for key in rates}
    first = f"{name} (group, {n} rows)" if least == name else f"{least} (group)"
    selection = part(report, SelectionPart)
    value, low, high = rates[least] / rates[most], selection.low, selection.high
    text, ratio = " ".join(repr(report).split()), f"of {first} to {told[most]}"
    between = f"{rates[least]:.1%} of {first} and for {rates[most]:.1%} of {told[most]}."
    assert text.count(between) == 2
    assert f"Lowest impact ratio: {value:.2f} ({low:.2f} to {high:.2f} at 95%," in text
    assert f"{ratio}, the smallest of 3 groups." in text and low <= value <= high
    (check,) = report.check(Limits(min_impact_ratio=0.7)).checks
    of = f"of {least} (group) to {most}, the smallest of 3 groups"
    assert (check.status, of in check.figure) == ("exceeded", True)
    assert check.people == f"{name} has {n} rows"  # apart, as files may leave it out
    assert (check.value, check.low, check.high) == (pytest.approx(value), low, high)
    # Estimates decide without the small group, which then is no denominator either.
    (check,) = report.check(Limits(min_impact_ratio=0.7, estimates_decide=True)).checks
    assert (check.status, check.value) == ("within", pytest.approx(0.75))
    assert "of b (group) to a, the smallest of 2" in check.figure and check.low is None


def test_no_twin_is_asked_for():
    model = Counts(BLIND)
    report = look(model, INPUTS, RACE)
    rows = pd.concat(model.seen)
    assert rows.merge(INPUTS, how="left", indicator=True)["_merge"].eq("both").all()
    # Each distinct row once, 100 of them twice, and a few that show how the model is asked.
    n = len(INPUTS.drop_duplicates()) + 100
    assert n <= len(rows) <= n + 64 and report._data.cost.queries == len(rows)


@pytest.mark.parametrize(
    "given",
    [
        (X[["hours", "income"]].assign(race=RACE), "race"),
        (INPUTS.assign(race=RACE), "auto"),
        (INPUTS, RACE.to_frame()),
        (INPUTS, {"race": RACE.to_numpy()}),
        (INPUTS.reset_index(drop=True), RACE.reset_index(drop=True)),
    ],
)
def test_each_way_to_give_it_is_the_same_report(blind, given):
    table, sensitive = given
    y = Y if table.index.equals(Y.index) else Y.reset_index(drop=True)
    report = look(BLIND, table, sensitive, y)
    assert report.sentence == blind.sentence
    assert part(report, SelectionPart).groups == part(blind, SelectionPart).groups
    assert report.results(ErrorsPart)[0].rules == blind.results(ErrorsPart)[0].rules


def test_errors_are_by_the_groups_beside(blind):
    auditor = blind.auditors["false_negative_rate"]
    assert "race" in auditor.attributes_ and auditor.sensitive_features_ == ["race"]


def test_limits_on_twins_are_within_and_those_on_groups_are_measured(blind):
    outcome = blind.check(Limits(max_degree=0.0, max_on_data_rate=0.0))
    assert outcome.status == "within"
    for check in outcome.checks:
        assert (check.value, check.low, check.high, check.interval) == (0, 0, 0, "by construction")
        assert "the model does not take race" in check.words
    (ratio,) = blind.check(Limits(min_impact_ratio=0.95)).checks
    assert ratio.status == "exceeded" and "(race)" in ratio.figure


def test_every_form_of_the_report_follows(blind, tmp_path):
    html, card, markdown = blind.to_html(), blind._repr_html_(), blind.to_markdown()
    for form in (html, card, markdown):
        assert "The model does not take race." in form and "(proxies)" in form
        assert "certified: no larger" not in form
    assert "nothing was searched" in html
    blind.to_json(tmp_path / "r.json")
    assert AuditReport.from_json(tmp_path / "r.json").sentence == blind.sentence
    assert "sensitive_features=sensitive_features," in blind._data.code
    for kind in ("curve", "history", "pair"):
        with pytest.raises(ValueError, match="no (twins|pair) to show. The model does not take"):
            blind.display(kind)
    assert len(blind.display("bounds").frame()) == 1
    assert len(blind.display("selection").frame()) == 2


@slow_sample
def test_some_are_taken_and_some_are_not(blind):
    report = look(SEES_SEX, X.assign(race=RACE), ["sex", "race"])
    known = [twins.known for twins in searches(report)]
    assert [(one.of, one.taken) for one in known] == [("race", False), ("sex", True)]
    assert report._data.sensitive_features == ["sex", "race"]
    assert "people in the table would get another decision if only their sex" in report.sentence
    assert "Two inputs that differ only in sex get different outputs" in report.sentence
    assert "The model does not take race. Changing it alone changes no answer." in " ".join(
        repr(report).split()
    )
    assert "The model does not take race. 'yes' is predicted for" in report.sentence
    assert set(report.selection_table["attribute"]) == {"sex", "race", "sex × race"}
    assert "sensitive_features=['sex', 'race']" in report._data.code
    table = blind.compare(report)
    assert table.loc["largest difference: race", "says"] == "equal"
    notes = table.attrs["notes"]
    assert "The model of this does not take race." in notes
    # The same model and search as without race beside it.
    alone = look(SEES_SEX, X, "sex")
    assert alone.fairness_degree == report.fairness_degree
    both = look(BLIND, X.assign(race=RACE), ["sex", "race"])
    assert both.sentence.startswith("The model does not take sex or race.")
    assert searches(both)[-1].known.of == "sex, race together"


def test_a_regressor_tells_mean_predictions():
    model = LinearRegression().fit(INPUTS, X["income"])
    report = look(model, INPUTS, RACE, X["income"], favourable=None)
    assert report.sentence.startswith(
        "The model does not take race. The mean prediction for b (race) is "
    )
    assert report.check(Limits(max_degree=0.0, max_on_data_rate=0.0)).status == "within"


def test_values_that_are_missing_are_unknown_and_small_groups_are_no_headline():
    race = RACE.mask(np.arange(N) < 40)
    race.iloc[50] = "c"  # a group of one row
    report = look(BLIND, INPUTS, race)
    table = report.selection_table.set_index("group")
    assert table["n"].to_dict()["(unknown)"] == 40 and table["n"].to_dict()["c"] == 1
    assert " of b (race) " in report.sentence and report.status == "complete"
    assert "race = missing" in str(report.auditors["false_negative_rate"].rules_["rule"].tolist())


def test_numbers_beside_are_cut_into_groups():
    wealth = pd.Series(np.linspace(0, 1, N), X.index, name="wealth")
    report = look(BLIND, INPUTS, wealth)
    assert len(report.selection_table) == 4 and report.status == "complete"
    born = pd.Series(pd.date_range("2000", periods=N), X.index, name="born")
    groups = look(BLIND, INPUTS, born).selection_table["group"]
    assert len(groups) == 4 and groups[0] == "born < 2000-04-10"


@pytest.mark.parametrize(
    ("sensitive", "says"),
    [
        (RACE[:9], "got 9 rows for 400"),
        (RACE.sort_index(), "another index than X"),
        (RACE.rename("income"), "has the column 'income', and X has another one"),
        (RACE.map(lambda _: "z"), "'race' has only one value"),
        (RACE.map(lambda _: None), "'race' has only one value"),
        (np.zeros((N, 1, 1)), "1 or 2 dimensions"),
        ("race", "names 'race', which is not a column of X"),
        (RACE.tolist(), "a list of 400 words, of which none is a column of X"),
        (pd.Series([[1], [2]] * (N // 2), X.index, name="tags"),
         "'tags' must hold one plain value per row; got .1."),
    ],
)  # fmt: skip
def test_bad_values_are_one_error_before_a_query(sensitive, says):
    model = Counts(BLIND)
    with pytest.raises((ValueError, TypeError), match=says):
        look(model, INPUTS, sensitive)
    assert not hasattr(model, "seen")
    with pytest.raises(ValueError, match="does not know .'sex'.*as values: sensitive_features="):
        look(BLIND, X.assign(race=RACE), "race")


def test_a_model_that_predicts_alike_for_everybody_favours_no_group():
    always = DummyClassifier(strategy="constant", constant="yes").fit(INPUTS, Y)
    report = look(always, INPUTS, RACE)
    assert "'yes' is predicted for 100% of every group of race." in report.sentence


def test_names_of_people_are_no_groups():
    n = 1_200
    rows = INPUTS.sample(n, replace=True, random_state=0, ignore_index=True)
    names = pd.Series([f"person {j}" for j in range(n)], name="name")
    with pytest.raises(ValueError, match="'name' has 1,200 different values"):
        look(BLIND, rows, names, None)


def test_testers_of_twins_say_that_there_is_nothing_to_search():
    for table, sensitive in ((INPUTS, RACE), (INPUTS.assign(race=RACE), ["race"])):
        auditor = SBFTAuditor(BLIND, sensitive_features=sensitive)
        with pytest.raises(ValueError, match="does not take race, so twins in it are equal by"):
            auditor.fit(table)
    auditor = SBFTAuditor(SEES_SEX, sensitive_features=["sex", "race"], max_queries=200)
    with pytest.warns(
        UserWarning, match="The model does not take race.*The search compares twins in"
    ):
        auditor.fit(X.assign(race=RACE))
    assert auditor.sensitive_features_ == ["sex"] and auditor.n_features_in_ == 3


def test_a_subgroup_auditor_keeps_columns_from_a_model_that_does_not_take_them():
    whole = INPUTS.assign(race=RACE)
    auditor = SubgroupAuditor(BLIND, favourable="yes", random_state=0, n_resamples=99).fit(whole)
    given = SubgroupAuditor(BLIND, favourable="yes", random_state=0, n_resamples=99)
    given.fit(INPUTS, sensitive_features=RACE)
    assert auditor.worst_rule_["rule"] == given.worst_rule_["rule"] == "race = a"
    for rows, beside in ((whole, None), (INPUTS, RACE)):
        held = auditor.matches(rows, "race = a", sensitive_features=beside)
        assert (held == (RACE == "a")).all()
    assert len(auditor.confirm(whole, 1)) == 1
    with pytest.raises(ValueError, match="X does not have them"):
        auditor.matches(INPUTS, 0)
