"""Reports on people who are moved to another group with what goes along with it."""

import json
from importlib.resources import files
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import report_samples
from clocks import CLOCK
from jsonschema import Draft202012Validator
from sklearn.linear_model import LinearRegression, LogisticRegression
from tiers import slow_sample
from typed_reports import with_parts

from skfairtest import AuditReport, FlipTestAuditor, Limits, RandomAuditor, audit
from skfairtest.individual._flip_test import people as who
from skfairtest.report.parts.moved import move
from skfairtest.report.parts.moved.move import named_transports
from skfairtest.report.parts.moved.page import not_reached
from skfairtest.report.parts.moved.results import MovedPart
from skfairtest.report.render.sections import sections_of
from skfairtest.transports import QuantileTransport, SequentialTransport

SCHEMA = json.loads(files("skfairtest.report").joinpath("schema/v2.json").read_text("utf-8"))
N = 300


def people():
    """Rows whose income stands for race, and hours that have nothing to do with it."""
    rng = np.random.default_rng(0)
    race = pd.Series(np.repeat(["a", "b"], N // 2), name="race")
    X = pd.DataFrame({"hours": rng.integers(20, 60, N)})
    X["income"] = (rng.normal(size=N) + 1.5 * (race == "a")).round(2)
    return X, race, np.where(X["income"] + 0.3 * rng.normal(size=N) > 0.7, "yes", "no")


X, RACE, Y = people()
BLIND = LogisticRegression().fit(X, Y)


def look(model=BLIND, table=X, sensitive=RACE, y=None, **params):
    params = {
        "auditor": RandomAuditor(max_queries=100), "max_time": None, "random_state": 0,
        "progress": False, "favourable": "yes", "groups": False, "moved": QuantileTransport(),
        **params,
    }  # fmt: skip
    report = audit(model, table, y, sensitive_features=sensitive, **params)
    Draft202012Validator(SCHEMA).validate(report.to_dict())
    return report


@pytest.fixture(scope="module")
def blind():
    return look()


def part_of(report, transport="quantile", attribute="race"):
    """What one map has shown of one attribute."""
    (part,) = (
        one for one in report.results(MovedPart)
        if (one.transport, one.attribute) == (transport, attribute)
    )  # fmt: skip
    return part


def with_moved(*parts):
    """An invented report with these people moved."""
    return AuditReport(with_parts(report_samples.usual(), MovedPart, parts))


def words_of(blocks):
    return " ".join(str(getattr(one, "words", "")) for one in blocks)


# What is measured --------------------------------------------------------------------------------


@slow_sample
def test_a_model_that_does_not_take_the_attribute_flips_moved_twins(blind):
    part = part_of(blind)
    alone = FlipTestAuditor(
        BLIND, sensitive_features=[], n_bootstrap=10, attribution="order", random_state=0
    ).fit(X, sensitive_features=RACE)
    assert blind.fairness_degree == 0 and part.rate == alone.moved_rate_ > 0.3
    assert part.low < part.rate < part.high
    shares = {(f.group, f.to, f.direction): f.share for f in part.flips}
    assert shares["a", "b", "yes -> no"] > 0.4 and shares["a", "b", "no -> yes"] < 0.1
    assert shares["b", "a", "no -> yes"] > 0.4
    assert part.status == "done" and part.n == N and blind.status == "complete"
    assert blind.parts.set_index("part").loc["moved: race (quantile)", "queries"] > N


@slow_sample
def test_the_column_that_stands_in_carries_the_change(blind):
    columns = [c for c in part_of(blind).columns if c.group == "a"]
    income, hours = columns
    assert (income.column, hours.column) == ("income", "hours")
    assert income.share_of_flips > 0.8 and income.change < income.high < 0
    flips = blind.auditors["moved: race (quantile)"].flipset_
    own = flips[flips["case"]["group"] == "a"]
    assert income.before == pytest.approx(own["row", "income"].mean())
    assert income.after == pytest.approx(own["moved twin", "income"].mean())
    assert income.spread == pytest.approx(X["income"].std(ddof=0)) and income.moved == 1


@slow_sample
def test_an_attribute_in_the_table_is_moved_as_well():
    rng = np.random.default_rng(1)
    table = X.assign(sex=rng.choice(["f", "m"], N), age=rng.integers(18, 80, N))
    sees = LogisticRegression().fit(table.assign(sex=table["sex"] == "m"), Y)

    class Model:
        classes_ = sees.classes_

        def predict(self, given):
            return sees.predict(given.assign(sex=given["sex"] == "m"))

    report = look(Model(), table, ["sex", "age"], threshold=None, certify=False)
    sex, age = part_of(report, attribute="sex"), part_of(report, attribute="age")
    assert sex.status == "done" and {f.group for f in sex.flips} == {"f", "m"}
    assert age.status == "left out" and not age.applies and "X['age'] >=" in age.reason
    assert report.status == "complete"


@slow_sample
def test_a_regressor_without_a_threshold_counts_a_tenth_of_its_spread():
    model = LinearRegression().fit(X, X["income"])
    report = look(model, favourable=None)
    part, spread = part_of(report), np.diff(np.percentile(model.predict(X), [5, 95]))[0]
    assert part.counts_above == pytest.approx(spread / 10)
    assert {f.direction for f in part.flips} == {"any", "up", "down"}
    with pytest.raises(ValueError, match="needs a threshold"):
        report.check(Limits(max_moved_rate=0.1))


@slow_sample
def test_small_groups_stay_and_are_named():
    race = RACE.mask(np.arange(N) % 30 == 0, "c")
    part = part_of(look(sensitive=race))
    assert part.not_moved == ["c"] and part.n == (race != "c").sum()
    part = part_of(look(sensitive=race.replace({"a": "b"})))
    assert part.status == "left out" and "two groups of 50 rows" in part.reason
    part = part_of(look(sensitive=RACE.mask(RACE == "b")))
    assert "all people have the same race" in part.reason and not part.applies


def test_people_are_not_moved_where_nobody_asks_for_it():
    report = look(moved=False)
    assert report.results(MovedPart) == [] and "Moved" not in repr(report)
    assert not any(section.key == "moved" for section in sections_of(report._data))
    with pytest.raises(ValueError, match="moved=False"):
        report.display("moved")
    (check,) = report.check(Limits(max_moved_rate=0.1)).checks
    assert check.status == "undecided" and "moved=False" in check.words
    assert "moved=False" in report._data.code


class Fails(QuantileTransport):
    """A map that cannot be learned."""

    def fit_encoded(self, *args):
        raise RuntimeError("no map today")


@slow_sample
def test_a_map_that_fails_does_not_lose_the_report():
    report = look(moved=[Fails(), QuantileTransport()])
    failed, done = report.results(MovedPart)
    assert failed.status == "failed" and "no map today" in failed.reason
    assert "not moved by race (fails map)" in " ".join(repr(report).split())
    assert (failed.transport, done.transport) == ("fails", "quantile")
    assert done.status == "done" and report.selection_table.shape[0] == 2
    assert report.check(Limits(max_moved_rate=0.1)).checks[0].value == done.rate


def test_a_map_that_takes_too_long_is_left_out(monkeypatch):
    monkeypatch.setattr(move, "SETTINGS", move.ReportSettings(n_trial=120))
    monkeypatch.setattr(move, "_learnable", lambda *_: 40)
    report = look(moved=[Fails()], max_time=600)
    part = part_of(report, "fails")
    assert part.status == "left out" and "the time allows to move 40 people" in part.reason
    assert report.status == "ended early"


@pytest.mark.parametrize("max_time", [3, 6])
def test_without_time_for_all_people_are_moved_and_the_rest_is_left_out(max_time):
    """What the auditor has left out is told: with less time less of it is done."""

    class Slow(LogisticRegression):
        def predict_proba(self, X):
            CLOCK.sleep(1e-3 * len(X))
            return super().predict_proba(X)

    model = Slow().fit(X, Y)
    report = look(model, moved=QuantileTransport(), max_time=max_time)
    part = part_of(report, "quantile")
    assert part.status == "done" and part.rate is not None and part.n >= 2 * 50
    assert "maps were learned again" in part.early and "max_time" not in part.early
    assert report.status == "ended early"


@slow_sample
def test_a_small_group_is_in_every_sample_of_the_rows(monkeypatch):
    """In the trial that shows how long a map takes, and among the rows that are moved."""
    monkeypatch.setattr(move, "SETTINGS", move.ReportSettings(n_trial=100))
    monkeypatch.setattr(who, "SETTINGS", who.MovedSettings(most_rows=100, n_again=0))
    race = pd.Series(np.where(np.arange(N) % 5, "a", "b"), name="race")
    report = look(sensitive=race, moved=SequentialTransport(), max_time=600)
    part = part_of(report, "sequential")
    assert part.status == "done" and part.not_moved == [] and 250 < part.n < N
    assert {flow.group: flow.n_rows for flow in part.flips}["b"] == 50


@pytest.mark.parametrize("given", ["yes", [], 3, [None], QuantileTransport])
def test_what_is_no_transport_is_refused(given):
    with pytest.raises((ValueError, TypeError), match="moved must|transport must"):
        look(moved=given)


def test_names_of_maps():
    assert named_transports(False) == []
    (first,) = named_transports(True)
    assert [one.name for one in named_transports("all")][0] == first.name
    others = named_transports("all")[1:]
    assert first.name == "quantile" and first.has_intervals
    joint = ["joint"] if find_spec("ot") is not None else []
    assert [one.name for one in others] == [*joint, "sequential"]
    assert not any(one.has_intervals for one in others)
    several = named_transports([QuantileTransport(), QuantileTransport(keep=["age"])])
    assert [one.name for one in several] == ["quantile 1", "quantile 2"]


@slow_sample
def test_other_maps_stand_beside_the_first_one():
    report = look(moved="all")
    first, *others = (part_of(report, of.name) for of in named_transports("all"))
    for part in others:
        assert part.status == "done" and part.low is None
        # Income alone stands for race, so that the maps can only agree.
        assert part.rate == pytest.approx(first.rate, abs=0.1)


# What is said ------------------------------------------------------------------------------------


def test_the_first_page_says_what_was_found_or_why_not(blind):
    text = " ".join(repr(blind).split())
    assert "With what goes along with race, " in text and "(quantile map)" in text
    assert "Moved twins are no counterfactuals" in text
    few = report_samples.moved(share=0.012)
    late = report_samples.moved(
        n=732, intervals=False,
        reason="ended early, for lack of time: 732 of 30,162 rows, no intervals",
    )  # fmt: skip
    missing = report_samples.not_moved("age", "age is a number with 90 values", applies=False)
    for parts, told in [
        ([few], "not known to be more than between groups that"),
        ([late], "sex, 11.9% of 732 of 30,162 people would get another decision"),
        ([late], "(quantile map); no interval: no time. Moved twins are"),
        ([missing], "Not measured for age: age is a number with 90 values. How large"),
        ([missing, late], "no time. Not measured for age: age is a number with 90 values. Moved"),
    ]:
        assert told in " ".join(repr(with_moved(*parts)).split())


def test_the_section_shows_both_kinds_of_twins_and_says_what_they_are(blind):
    for text in (blind.to_markdown(), blind.to_html()):
        assert "With what goes along with race" in text and "no counterfactual" in text
        assert "only race (twins)" in text and "How good the maps are" in text
    section = next(s for s in sections_of(blind._data) if s.key == "moved")
    shares = next(block for block in section.blocks if "twins" in str(getattr(block, "rows", "")))
    assert shares.rows[0][:4] == ("only race (twins)", "all", "300", "0%")
    figures = [block for block in section.blocks if type(block).__name__ == "FigureBlock"]
    assert [figure.how for figure in figures] == [{}, {"kind": "columns"}]


def test_a_map_that_does_not_reach_the_other_group_is_told():
    report = report_samples.usual()
    section = next(s for s in sections_of(report) if s.key == "moved")
    assert "The sequential map does not reach the other group" in words_of(section.blocks)
    assert "AUC 0.68" in words_of(section.blocks)
    assert "The quantile map does not reach" not in words_of(section.blocks)
    assert not_reached(report_samples.moved(auc=0.6)) == []
    unknown, far = report_samples.moved(auc=None), report_samples.moved(auc=0.61)
    assert all("could not be judged" in words for words in not_reached(unknown))
    assert "though the map could not be judged" in " ".join(repr(with_moved(unknown)).split())
    assert "though the map does not reach" in " ".join(repr(with_moved(far)).split())


def test_displays(blind):
    table = blind.compare(blind)
    assert table.loc["moved twins that get another decision: race (quantile)", "change"] == 0
    display = blind.display("moved")
    assert set(display.frame()["direction"]) == {"any", "no -> yes", "yes -> no"}
    assert display.columns["column"].tolist()[:2] == ["income", "hours"]
    with pytest.raises(ValueError, match="two groups of 50 rows"):
        with_moved(
            report_samples.not_moved("race", "a map needs two groups of 50 rows", applies=False)
        ).display("moved")


# Limits ------------------------------------------------------------------------------------------


def checked(parts, limit, **params):
    (check,) = with_moved(*parts).check(Limits(max_moved_rate=limit, **params)).checks
    return check


@pytest.mark.parametrize(
    ("limit", "status"), [(0.1, "exceeded"), (0.12, "undecided"), (0.2, "within")]
)
def test_a_limit_takes_the_interval_of_the_first_map(limit, status):
    parts = [report_samples.moved(), report_samples.moved(transport="joint", share=0.9)]
    check = checked(parts, limit)
    assert check.status == status and check.value == pytest.approx(0.119)
    assert "(quantile map)" in check.figure and check.interval == "95% interval"
    assert checked(parts, 0.12, estimates_decide=True).status == "within"


def test_a_limit_is_about_all_attributes():
    small, large = report_samples.moved("race", share=0.02), report_samples.moved()
    check = checked([small, large], 0.1)
    assert check.status == "exceeded" and "largest of 2 attributes" in check.figure
    assert "in sex" in check.figure
    # What was not measured may be anything, also where a number has no groups.
    number = report_samples.not_moved("age", "age is a number", applies=False)
    check = checked([small, number], 0.1)
    assert check.status == "undecided" and check.left_out == ["age: age is a number"]
    assert "within 10%" in check.words and "not checked: age: age is a number" in check.words
    assert checked([large, number], 0.1).status == "exceeded"
    late = report_samples.not_moved("age", "no time was left")
    assert checked([small, late], 0.1).status == "undecided"
    assert checked([large, late], 0.1).status == "exceeded"
    broken = report_samples.not_moved("age", "no memory", status="failed")
    assert checked([small, broken], 0.1).status == "failed"
    assert checked([broken], 0.1).status == "failed"
    assert checked([number], 0.1).status == "undecided"
    assert checked([small, late], 0.1, estimates_decide=True).status == "undecided"


def test_a_model_that_does_not_take_the_attribute_is_not_within_by_construction(blind):
    outcome = blind.check(Limits(max_moved_rate=0.05, max_on_data_rate=0.05))
    assert {check.name: check.status for check in outcome.checks} == {
        "max_on_data_rate": "within", "max_moved_rate": "exceeded",
    }  # fmt: skip
    assert blind.with_limits(max_moved_rate=0.1).limits.checks[0].name == "max_moved_rate"
    with pytest.raises(ValueError, match="from 0 to 1"):
        Limits(max_moved_rate=1.5)


@slow_sample
def test_a_limit_names_the_people_who_were_not_moved():
    race = RACE.mask(np.arange(N) % 30 == 0, "c").mask(np.arange(N) % 29 == 0, None)
    n_missing = int(race.isna().sum())
    report = look(sensitive=race)
    assert part_of(report).without_value == n_missing > 0
    assert f"{n_missing} of {N} people were not moved, as their value of race" in report.to_html()
    (check,) = report.check(Limits(max_moved_rate=0.99)).checks
    assert check.status == "within"
    assert check.left_out == [
        "race = c: too few rows to be moved", f"{n_missing} rows without a value of race",
    ]  # fmt: skip
    assert "not checked: race = c" in check.words
