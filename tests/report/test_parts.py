"""Parts of an audit: what becomes of the others when one ends badly, which run, and a new one."""

import runpy
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from clocks import CLOCK
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from places import TOP
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from tiers import some
from typed_reports import data, part

from skfairtest import AuditReport, Limits, SBFTAuditor, audit
from skfairtest._clock import Deadline, OutOfTime, check_ending, ending
from skfairtest.report import parts
from skfairtest.report.parts import part_named
from skfairtest.report.parts.errors import ErrorsPart
from skfairtest.report.parts.groups import GroupsPart
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.report.parts.search.results import SearchPart
from skfairtest.report.parts.selection.results import SelectionPart
from skfairtest.report.parts.twins.results import TwinsPart
from skfairtest.transports import QuantileTransport

pytestmark = pytest.mark.usefixtures("quick_maps")
N = 120


def people():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.integers(0, 2, N), "income": rng.normal(size=N).round(2)})
    return X, np.where(X["income"] + X["sex"] + rng.normal(size=N) / 2 > 0.5, "yes", "no")


X, Y = people()
MOVED = QuantileTransport()
MODEL = LogisticRegression().fit(X, Y)


class Counting(ClassifierMixin, BaseEstimator):
    """A fitted classifier that counts the rows that it is asked about."""

    n_asked = 0

    def __sklearn_is_fitted__(self):
        return True

    classes_ = MODEL.classes_

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        self.n_asked += len(X)
        return MODEL.predict(X)

    def predict_proba(self, X):
        self.n_asked += len(X)
        return MODEL.predict_proba(X)


def look(model=MODEL, y=Y, table=X, **params):
    params = {
        "auditor": SBFTAuditor(max_queries=200), "sensitive_features": "sex", "favourable": "yes",
        "moved": False, "max_time": None, "random_state": 0, "progress": False, **params,
    }  # fmt: skip
    return audit(model, table, y, **params)


def words(text):
    return " ".join(text.split())


def kinds(report):
    """The parts of a report and how they ended."""
    return {one.name: one.status for one in data(report).parts}


def told(part):
    """What a part has found, without how long that took."""
    if hasattr(part, "history"):
        part = replace(part, history=replace(part.history, seconds=[]))
    return replace(part, seconds=0)


# A part that ends badly --------------------------------------------------------------------------


def raises(*args):
    raise RuntimeError("no <memory> left")


def interrupts(*args):
    raise KeyboardInterrupt


def sleeps(context, blank, deadline):
    """Takes far longer than it may."""
    CLOCK.sleep(1e4)
    return replace(blank, early="nothing of it")


#: Of each kind of part the name of its results, and where its measurement is begun.
BROKEN = {
    "predictions": "predictions.predict_rows",
    "rows: sex": "rows.compare_rows",
    "search: sex": "search.search",
    "certificate: sex": "certificate.certify_search",
    "groups": "groups.compare_groups",
    "selection": "selection.select",
    "moved: sex (quantile)": "moved.measure_moved",
    "errors: false_positive_rate": "errors.compare_errors",
}


@pytest.fixture(scope="module")
def whole(quick_maps):
    return look(moved=MOVED)


@pytest.mark.parametrize("name", some(BROKEN, 2))
def test_a_part_that_fails_leaves_the_others(name, whole, monkeypatch):
    monkeypatch.setattr(f"skfairtest.report.parts.{BROKEN[name]}", raises)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = look(moved=MOVED)
    assert kinds(report).keys() == kinds(whole).keys()
    failed = {one.name for one in data(report).parts if one.status == "failed"}
    assert name in failed and all(one.startswith(name.partition(":")[0]) for one in failed)
    assert report.status == "failed"
    assert words(data(report).reason).endswith("no <memory> left")
    if name != "predictions":  # which all figures of groups rest on
        others = [one for one in data(whole).parts if one.part in ("predictions", "selection")]
        kept = [part(report, type(one), one.of) for one in others if one.name != name]
        assert [told(one) for one in kept] == [told(one) for one in others if one.name != name]
    for text in (repr(report), report.to_markdown()):
        assert f"Incomplete, because a part failed: {name}: no" in words(text)
    assert "a part failed" in report.to_html()
    assert AuditReport.from_dict(report.to_dict()).status == "failed"


@pytest.mark.parametrize("name", ["rows: sex", "search: sex", "moved: sex (quantile)"])
def test_an_interrupt_ends_the_audit_and_keeps_what_was_found(name, whole, monkeypatch):
    monkeypatch.setattr(f"skfairtest.report.parts.{BROKEN[name]}", interrupts)
    report = look(moved=MOVED)
    names = list(kinds(report))
    assert names == list(kinds(whole)) and kinds(report)[name] == "interrupted"
    place = names.index(name)
    assert {kinds(report)[one] for one in names[:place]} <= {"done"}
    # Nothing begins, and what is known of twins is put together from what there is.
    ends = {one: kinds(report)[one] for one in names[place + 1 :]}
    assert ends.pop("twins: sex", "done") == "done" and set(ends.values()) == {"left out"}
    assert report.status == "interrupted"
    page = words(repr(report))
    assert "The audit was interrupted: what was found until then is here." in page
    before = [one for one in data(whole).parts if one.name in names[:place]]
    assert [told(part(report, type(one), one.of)) for one in before] == list(map(told, before))


@pytest.mark.parametrize("name", ["rows: sex", "search: sex"])
def test_a_part_that_ignores_its_deadline_takes_the_time_of_others(name, monkeypatch):
    def late(context, blank, *args):
        return sleeps(context, blank, None)

    monkeypatch.setattr(f"skfairtest.report.parts.{BROKEN[name]}", late)
    report = look(moved=MOVED, max_time=60)
    names = list(kinds(report))
    ends = {one: kinds(report)[one] for one in names[names.index(name) + 1 :]}
    # What takes next to no time has it also where the time is over.
    assert {ends.pop("twins: sex"), ends.pop("selection", "done")} == {"done"}
    assert set(ends.values()) == {"left out"}
    assert {part.reason for part in data(report).parts if part.name in ends} <= {
        "no time was left of max_time", "there is no search to begin from",
    }  # fmt: skip
    assert report.status == "ended early"
    assert f"Cut short for lack of time: {name}: nothing of it; " in words(repr(report))
    assert f"{name}: nothing of it" in words(report.to_html())
    # The rows were predicted before.
    assert part(report, PredictionsPart).n == N


def without_time(*args):
    """An auditor refuses to be fitted where its time is over before it has found anything."""
    try:
        raise OutOfTime
    except OutOfTime:
        raise ValueError("max_time=0.01 s was over. Raise max_time") from None


@pytest.mark.parametrize("name", ["groups", "errors: false_positive_rate", "moved: sex (quantile)"])
def test_a_part_without_time_for_the_least_it_can_do_says_so(name, monkeypatch):
    monkeypatch.setattr(f"skfairtest.report.parts.{BROKEN[name]}", without_time)
    report = look(moved=MOVED, max_time=600)
    (left_out,) = [one for one in data(report).parts if one.name == name]
    assert (left_out.status, left_out.early) == ("left out", "none of it")
    assert left_out.reason == "its share of max_time was over before it had found anything"
    assert report.status == "ended early" and f"{name}: none of it" in words(repr(report))


def test_a_deadline_tells_what_is_left_until_it_is_over():
    deadline, never = Deadline.after(10.0), Deadline.after(None)
    assert 9.9 < deadline.seconds < 10 and never.seconds is None and never.left == np.inf
    with ending(deadline), ending(never):
        check_ending()
        CLOCK.sleep(10.0)
        with pytest.raises(OutOfTime):
            check_ending()
    assert deadline.left == 0
    with pytest.raises(OutOfTime):  # an auditor is given no limit of no seconds
        assert deadline.seconds is None


def test_pairs_of_a_wide_table_are_kept_up_to_so_many_cells(monkeypatch):
    model = LogisticRegression().fit(X, Y)
    whole = look(model, certify=False)
    n = len(part(whole, SearchPart, "sex").all_pairs.first)
    monkeypatch.setattr("skfairtest.report.parts.search.find.KEPT_CELLS", 2 * 12)
    kept = part(look(model, certify=False), SearchPart, "sex")
    assert n > 12 == len(kept.all_pairs.first) == len(kept.all_pairs.difference) < kept.kept
    assert kept.all_pairs.first == part(whole, SearchPart, "sex").all_pairs.first[:12]


# Only what is needed -----------------------------------------------------------------------------


def test_what_no_limit_is_about_comes_last(whole):
    order = [one.part for one in data(whole).parts]
    needed = ("rows", "search", "groups", "selection", "moved", "certificate")
    assert order.index("errors") > max(map(order.index, needed))


@pytest.mark.parametrize(
    ("limit", "needed"),
    [
        ({"max_degree": 0.5}, {"predictions", "rows", "search", "certificate", "twins"}),
        ({"max_on_data_rate": 0.5}, {"predictions", "rows", "twins"}),
        ({"max_group_score": 0.5}, {"predictions", "groups", "twins"}),
        ({"min_impact_ratio": 0.5}, {"predictions", "selection", "twins"}),
        ({"max_moved_rate": 0.5}, {"predictions", "moved", "twins"}),
        (
            {"min_impact_ratio": 0.5, "max_moved_rate": 0.5},
            {"predictions", "selection", "moved", "twins"},
        ),
    ],
)
def test_of_limits_only_the_parts_run_that_they_need(limit, needed):
    report = look(moved=MOVED, limits=Limits(**limit))
    assert {one.part for one in data(report).parts} == needed
    assert [check.name for check in report.limits.checks] == list(limit)
    assert report.status == "complete" and set(kinds(report).values()) == {"done"}
    (check, *_), page = report.limits.checks, words(repr(report))
    assert check.status != "failed" and check.value is not None and check.words in page


# What is certified is not searched ---------------------------------------------------------------


def searched(report):
    """How many queries the search had, and how it ended."""
    (found,) = report.results(SearchPart)
    return found.search_queries, found.status, found.reason


def names_of(report):
    return [one.name for one in data(report).parts]


def test_a_short_search_suffices_where_a_certificate_follows():
    report = look(auditor=None)
    assert searched(report) == (pytest.approx(300, abs=80), "done", "")
    assert report.fairness_degree == pytest.approx(report.upper_bound)
    names = names_of(report)
    assert names.index("search: sex") < names.index("certificate: sex") < names.index("twins: sex")


@pytest.mark.parametrize("given", [{"model": Counting()}, {"certify": False}])
def test_a_search_is_long_where_no_certificate_follows(given):
    n, status, _ = searched(look(auditor=None, **given))
    assert n > 1_000 and status == "done"


def test_an_auditor_that_was_given_searches_as_asked():
    assert searched(look(auditor=SBFTAuditor(max_queries=900)))[0] > 600


def test_a_long_search_follows_where_a_certificate_fails(monkeypatch):
    monkeypatch.setattr("skfairtest.report.parts.certificate.certify_search", raises)
    report = look(auditor=None)
    n, status, _ = searched(report)
    assert n > 1_000 and status == "done"
    assert names_of(report).index("search: sex") > names_of(report).index("certificate: sex")


def test_a_long_search_without_time_leaves_what_the_short_one_found(monkeypatch):
    def late(*args):
        CLOCK.sleep(1e6)
        raise MemoryError("no memory left")

    monkeypatch.setattr("skfairtest.report.parts.certificate.certify_search", late)
    report = look(auditor=None, max_time=1_000)
    n, status, reason = searched(report)
    assert n < 400 and status == "done" and reason == "no time was left of max_time"
    assert report.fairness_degree > 0
    assert [one.early for one in report.results(SearchPart)] == ["not continued"]


# More parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["moved", "groups", "certificate", "errors"])
def test_measure_adds_a_part_and_keeps_the_others(name):
    model = MODEL if name == "certificate" else Counting()
    given = {"moved": MOVED} if name == "moved" else {}
    before = look(model, limits=Limits(max_on_data_rate=0.5, max_degree=0.5), certify=False)
    if name == "certificate":
        assert np.isnan(before.upper_bound)
    asked = getattr(model, "n_asked", None)
    after = before.measure(name, progress=False, max_time=None, **given)
    more = {one.part for one in data(after).parts} - {one.part for one in data(before).parts}
    assert more == ({name} if name != "certificate" else set())
    kind = part_named(name).result
    assert after.results(kind) and all(one.status == "done" for one in after.results(kind))
    changed = {name, "twins"} if name == "certificate" else {name}
    for one in data(before).parts:
        if one.part not in changed:
            assert part(after, type(one), one.of) == one  # not measured anew, as its seconds tell
    # The same as if all had been measured at once.
    at_once = look(model, **given)
    kept = [told(one) for one in at_once.results(kind) if one.status == "done"]
    assert [replace(told(one), queries=0) for one in after.results(kind)] == [
        replace(one, queries=0) for one in kept
    ]
    if name == "certificate":
        assert after.upper_bound == at_once.upper_bound >= after.fairness_degree
    elif name != "moved":
        assert asked == data(before).cost.queries == data(after).cost.queries
    assert data(after).cost.seconds > data(before).cost.seconds
    assert not before.results(ErrorsPart) and data(before).status == "complete"


def test_measure_needs_a_part_and_a_report_of_this_process():
    report = look(limits=Limits(min_impact_ratio=0.5))
    with pytest.raises(ValueError, match=r"part must be one of \['certificate', 'errors', "):
        report.measure("colours")
    with pytest.raises(ValueError, match="read from a file"):
        AuditReport.from_dict(report.to_dict()).measure("moved")


# An earlier report -------------------------------------------------------------------------------


def test_of_an_earlier_report_with_the_same_settings_all_is_taken_over():
    model = Counting()
    gate = look(model, limits=Limits(max_degree=0.5))
    asked = model.n_asked
    report = look(model, report=gate)
    assert asked == data(gate).cost.queries
    for one in data(gate).parts:
        if one.status == "done":
            assert part(report, type(one), one.of) == one
    assert part(report, SelectionPart).status == part(report, GroupsPart).status == "done"
    # Rates and errors are of the predictions that there are.
    assert model.n_asked <= asked + part(report, TwinsPart, "sex").queries
    assert data(look(model, report=gate, random_state=None)).seed == 0
    assert report.auditors["sex"] is gate.auditors["sex"] and gate.limits is not None


@pytest.fixture(scope="module")
def earlier():
    return look(Counting())


@pytest.mark.parametrize(
    "other",
    [
        {"threshold": 0.2},
        {"favourable": "no"},
        {"random_state": 1},
        {"auditor": SBFTAuditor(max_queries=150)},
        {"y": np.where(np.arange(N) % 2, Y, "no")},
        {"y": None},
    ],
    ids=lambda other: next(iter(other)),
)
def test_of_other_settings_only_predictions_are_taken_over(other, earlier):
    model, queries = earlier.auditors["sex"].estimator, data(earlier).cost.queries
    asked = model.n_asked
    report, anew = look(model, report=earlier, **other), look(Counting(), **other)
    predicted = part(report, PredictionsPart)
    assert predicted.queries == 0
    assert told(predicted) == replace(told(part(anew, PredictionsPart)), queries=0)
    distinct = len(X.drop_duplicates())
    assert 0 < model.n_asked - asked < queries + 400
    assert data(report).cost.queries <= data(anew).cost.queries - distinct
    for kind in (SelectionPart, GroupsPart, ErrorsPart):
        assert list(map(told, report.results(kind))) == list(map(told, anew.results(kind)))
    # Batches of other sizes may round otherwise.
    assert report.on_data_degree == pytest.approx(anew.on_data_degree)
    assert report.on_data_rate == anew.on_data_rate


def test_of_other_values_beside_the_table_groups_are_compared_anew():
    blind = LogisticRegression().fit(X[["income"]], Y)
    one = pd.Series(np.where(np.arange(N) % 2, "a", "b"), name="race")
    other = pd.Series(np.where(X["income"] > 0, "a", "b"), name="race")
    settings = {"model": blind, "table": X[["income"]]}
    earlier = look(**settings, sensitive_features=one)
    report = look(**settings, sensitive_features=other, report=earlier)
    anew = look(**settings, sensitive_features=other)
    rates = [part(each, SelectionPart).groups for each in (earlier, report, anew)]
    assert rates[0] != rates[1] == rates[2]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"model": LogisticRegression().fit(X, Y)}, "another model"),
        ({"table": X.assign(income=X["income"] + 1)}, "other rows"),
        ({"table": X[:100], "y": Y[:100]}, "other rows"),
    ],
)
def test_an_earlier_report_of_another_model_or_other_rows_is_refused(changes, what):
    earlier = look(limits=Limits(min_impact_ratio=0.5))
    with pytest.raises(ValueError, match=f"same model and rows; got one of {what}"):
        look(report=earlier, **changes)


# A new part --------------------------------------------------------------------------------------

TOY = '''
"""How long the names of the columns are: a part for a test."""

from typing import Annotated

from skfairtest.report._figures import KnownFigure
from skfairtest.report._figures import at_most, checked
from skfairtest.report._redact import count_of_people, neither
from skfairtest.report._types import PartResult
from skfairtest.report.parts._part import Part, Sentence, Step, Task
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.report.render.blocks import Section, TextBlock


class ToyPart(PartResult, frozen=True, kw_only=True, tag="toy"):
    """Letters of the names."""

    letters: Annotated[int, neither()] = 0
    people: Annotated[int, count_of_people()] = 0


def check(report, limit, estimates_decide):
    known = KnownFigure("letters", *3 * (float(report.first(ToyPart).letters),), "exact")
    status = at_most(known, limit, estimates_decide)
    return checked("max_letters", limit, status, known, f"{known.value:g} letters are {status}")


class Toy(Part):
    """Counts letters."""

    place = 200
    result = ToyPart
    needs = (PredictionsPart,)
    limits = {"max_letters": check}
    displays = {"toy": lambda report: f"drawn: {report.first(ToyPart).letters}"}

    def tasks(self, context):
        def run(deadline):
            names = context.space.layout.container.names
            return ToyPart(letters=sum(map(len, names)), people=len(context.rows))

        yield Task(ToyPart(), run, order=(35,))

    def summary(self, result):
        return f"{result.letters} letters"

    def figures(self, report):
        return {"letters": KnownFigure("letters", *3 * (float(report.first(ToyPart).letters),))}

    def sentences(self, report):
        yield Sentence("rates", f"The names have {report.first(ToyPart).letters} letters.")

    def steps(self, report):
        yield Step(1, "Shorten the names.", "Names", "how_to/names")

    def sections(self, report):
        for part in report.all_of(ToyPart):
            yield Section(70, "toy", "Letters of names", (TextBlock(f"{part.people} people"),))
'''


@dataclass(frozen=True)
class LimitsOfLetters(Limits):
    """Limits with that of the part."""

    max_letters: float | None = None


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The type of results of a part that is one more file in the folder of parts."""
    (tmp_path / "toy_of_a_test.py").write_text(TOY, encoding="utf-8")
    monkeypatch.setattr(parts, "__path__", [*parts.__path__, str(tmp_path)])
    own = list(parts.PARTS)
    parts.PARTS[:] = parts._parts()
    yield part_named("toy").result
    parts.PARTS[:] = own


def test_a_part_is_one_file_without_which_it_is_unknown(toy, capsys):
    assert [type(one).__name__ for one in parts.PARTS][-1] == "Toy"
    report = look(progress=True)
    assert "toy: 9 letters" in capsys.readouterr().err
    (found,) = report.results(toy)
    assert (found.letters, found.people, found.status) == (9, N, "done")
    assert AuditReport.from_json(report.to_json()).results(toy) == [found]
    schema = runpy.run_path(str(TOP / "docs" / "write_schema.py"))["json_schema"]()
    Draft202012Validator(schema).validate(report.to_dict())
    assert "ToyPart" in schema["$defs"]
    (hidden,) = report.without_people("none").results(toy)
    assert (hidden.letters, hidden.people) == (9, 0)
    for text in (words(repr(report)), report.to_html(), report.to_markdown()):
        assert "The names have 9 letters." in text and "Shorten the names." in text
    assert "Letters of names" in report.to_html() and "## Letters of names" in report.to_markdown()
    assert report.display("toy") == "drawn: 9"
    table = report.compare(report.without_people("none"))
    assert table.loc["letters", ["this", "other"]].tolist() == [9, 9]
    gate = look(limits=LimitsOfLetters(max_letters=5))
    assert {one.part for one in data(gate).parts} == {"predictions", "toy", "twins"}
    assert gate.limits.status == "exceeded" and "9 letters are exceeded" in words(repr(gate))
    (more,) = look(limits=Limits(min_impact_ratio=0.1)).measure("toy", progress=False).results(toy)
    assert more.letters == 9
    text = gate.to_json()
    parts.PARTS[:] = [one for one in parts.PARTS if one.result is not toy]
    with pytest.raises(ValueError, match="toy"):
        AuditReport.from_json(text)
