"""What files leave out of a report's parts: values of people, and their counts."""

import dataclasses
import json
from importlib.util import find_spec
from types import NoneType
from typing import Annotated, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest
import report_samples
from msgspec import Meta, Struct
from tiers import slow_sample, some

from skfairtest import AuditReport
from skfairtest.cli._junit import junit
from skfairtest.finding._pair import Cell, Pair
from skfairtest.report._redact import count_of_people, neither, value_of_person, what_fields_state
from skfairtest.report._types import PartResult
from skfairtest.report.parts import PARTS, written_report
from skfairtest.report.parts.search.results import AllPairs, SearchPart
from skfairtest.report.parts.twins.results import TwinsPart

RESULTS = [part.result for part in PARTS]


def struct_kinds(kind, seen=None):
    """All structs that a struct holds, and itself."""
    seen = set() if seen is None else seen
    if kind not in seen:
        seen.add(kind)
        for hint in get_type_hints(kind, include_extras=True).values():
            for inner in leaves(hint):
                if isinstance(inner, type) and issubclass(inner, Struct):
                    struct_kinds(inner, seen)
    return seen


def leaves(hint):
    """The types that a hint is made of."""
    inner = [one for one in get_args(hint) if not isinstance(one, Meta)]
    if get_origin(hint) is Literal or not inner:
        return [hint]
    return [leaf for one in inner for leaf in leaves(one)]


def mark_of(hint):
    """What the outermost mark of a hint says; None without one."""
    if get_origin(hint) is not Annotated:
        return None
    inner, *marks = get_args(hint)
    own = [mark.extra["people"] for mark in marks if isinstance(mark, Meta) and mark.extra]
    return own[0] if own else mark_of(inner)


def holds_structs_alone(hint):
    """Whether a field has structs, and nothing else."""
    kinds = [one for one in leaves(hint) if one is not NoneType]
    return all(isinstance(one, type) and issubclass(one, Struct) for one in kinds)


def test_each_field_of_a_report_states_what_it_tells_of_people():
    without = {
        f"{kind.__name__}.{name}": hint
        for kind in struct_kinds(written_report())
        for name, hint in get_type_hints(kind, include_extras=True).items()
        if name in kind.__struct_fields__ and mark_of(hint) is None
    }
    assert set(RESULTS) < struct_kinds(written_report())
    assert [name for name, hint in without.items() if not holds_structs_alone(hint)] == []
    # Those of results have a mark each; what stands beside the results is about no person.
    assert {name.partition(".")[0] for name in without} <= {
        "WrittenReport", "ReportedDomain", "LimitsOutcome",
    }  # fmt: skip


def test_what_stands_beside_the_parts_tells_of_no_person():
    beside = struct_kinds(written_report()).difference(*map(struct_kinds, RESULTS))
    about_people = {
        f"{kind.__name__}.{name}"
        for kind in beside
        for name, hint in get_type_hints(kind, include_extras=True).items()
        if mark_of(hint) in ("count", "value")
    }
    assert about_people == {"LimitCheck.left_out", "LimitCheck.people"}


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_a_new_field_is_left_out_where_its_mark_says_so_or_has_none(kind):
    new = [
        ("without_mark", str, ""),
        ("count", Annotated[int, count_of_people()], 0),
        ("value", Annotated[int, value_of_person()], 0),
    ]
    planted = msgspec.defstruct(
        "Planted", new, bases=(kind,), frozen=True, kw_only=True, tag="planted"
    )
    result = planted(without_mark="Ada", count=3, value=4)
    kept = {
        kept: (left.without_mark, left.count, left.value)
        for kept in ("worst", "counts", "none")
        for left in [result.redact(kept)]
    }
    assert kept == {"worst": ("Ada", 3, 4), "counts": ("", 3, 0), "none": ("", 0, 0)}


class Inner(Struct, frozen=True):
    """A struct in a result."""

    known: Annotated[str, neither()] = ""
    without_mark: str = ""
    count: Annotated[int, count_of_people()] = 0


class Outer(PartResult, frozen=True, kw_only=True, tag="outer"):
    """A result that holds structs in all ways, with and without a mark."""

    one: Inner | None = None
    several: list[Inner] = []
    marked: Annotated[list[Inner], neither()] = []
    by_name: Annotated[dict[str, Inner], neither()] = {}
    counted: Annotated[list[Inner], count_of_people()] = []
    deep: Annotated[dict[str, list[Inner]], neither()] = {}


@pytest.mark.parametrize("kept", ["worst", "counts", "none"])
def test_structs_in_structs_are_left_out_as_well(kept):
    inner = Inner("known", "Ada", 3)
    result = Outer(
        one=inner, several=[inner], marked=[inner], by_name={"a": inner}, counted=[inner],
        deep={"a": [inner]},
    )  # fmt: skip
    left = result.redact(kept)
    expected = {"worst": inner, "counts": Inner("known", "", 3), "none": Inner("known", "", 0)}[
        kept
    ]
    assert left.one == left.by_name["a"] == expected
    assert left.several == left.marked == left.deep["a"] == [expected]
    assert left.counted == ([] if kept == "none" else [expected])


def test_a_field_that_tells_of_people_needs_a_default():
    class Bare(PartResult, frozen=True, kw_only=True, tag="bare"):
        name: Annotated[str, value_of_person()]

    with pytest.raises(TypeError, match="Field 'name' tells of people, and needs a default"):
        Bare(name="Ada").redact("counts")


def pair_of(age, score, *, has_score_first=True):
    """A pair of twins in sex."""
    sex = ("f", "m") if has_score_first else ("m", "f")
    cells = (
        Cell("age", age, age, False),
        Cell("sex", *sex, True),
        Cell("score", score, score, False),
    )
    return Pair(cells, "label", None, ("no", "yes"), 1.0)


@pytest.mark.parametrize("kept", ["counts", "none"])
def test_a_search_drops_inputs_that_equal_rows(kept):
    every = AllPairs(
        columns=["age", "sex", "score"],
        first=[[30, "f", 1], [40, "f", 2], [50, "m", 3]],
        changed=["sex"],
        second=[["m"], ["m"], ["f"]],
        difference=[1.0, 1.0, 1.0],
        of_a_row=[False, True, False],
    )
    # Either of the twins may come first.
    pairs = [pair_of(30, 1), pair_of(40, 2, has_score_first=False), pair_of(50, 3)]
    search = SearchPart(all_pairs=every, further_pairs=pairs, found=3)
    left = search.redact(kept)
    assert left.all_pairs.first == [[30, "f", 1], [50, "m", 3]]
    assert left.all_pairs.second == [["m"], ["f"]]
    assert left.all_pairs.of_a_row == [False, False]
    assert left.further_pairs == [pairs[0], pairs[2]]
    assert left.found == 3
    assert search.redact("worst") == search


@pytest.mark.parametrize("kept", ["counts", "none"])
@pytest.mark.parametrize(
    "of_row",
    [
        {"pair_of_a_row": True},
        # What follows from the sensitive columns differs, so that only one of both is like a row.
        {"pair_has_a_row": True},
        {"shown_by": "row 17 of the data"},
    ],
)
def test_twins_drop_a_pair_that_is_a_row(of_row, kept):
    twins = TwinsPart(degree=1.0, pair=pair_of(30, 1), **of_row)
    left = twins.redact(kept)
    assert left.pair is None
    assert left.degree == 1.0
    assert "17" not in json.dumps(msgspec.to_builtins(left))
    assert twins.redact("worst") == twins


@pytest.mark.parametrize("kept", ["worst", "counts", "none"])
def test_twins_keep_a_pair_that_was_made_up(kept):
    twins = TwinsPart(degree=1.0, pair=pair_of(30, 1), shown_by="the search")
    assert twins.redact(kept) == twins


def test_what_a_model_raised_is_left_out():
    failed = SearchPart(
        status="failed", of_error=True, reason="could not convert string to float: 'Ada'"
    )
    assert "Ada" in failed.redact("worst").reason
    assert "Ada" not in failed.redact("counts").reason


# Whole files -------------------------------------------------------------------------------------


class Planted:
    """Puts values of a person into a report wherever a field is marked to hold some.

    Of two such reports that differ in what is planted alone, the files must be equal where it is
    left out: not even what follows from it, such as a share, is told.
    """

    def __init__(self, states, word, number, share, flag):
        self.states, self.word, self.number, self.share = states, word, number, share
        self.flag, self.fields = flag, set()

    def struct(self, value, state=False):
        stated = what_fields_state(type(value))
        changes = {}
        for name in value.__struct_fields__:
            own, before = stated[name] in self.states, getattr(value, name)
            changes[name] = self.value(before, own, own or state)
            if own and changes[name] != before:
                self.fields.add(f"{type(value).__name__}.{name}")
        if getattr(value, "status", "") == "failed" and "reason" in changes:
            changes["reason"] = f"ValueError: {self.word}"  # what a model raised
        return msgspec.structs.replace(value, **changes)

    def value(self, value, own, state):
        """`own` is whether the field is marked, `state` whether it or one around it is.

        Words in structs of a marked field are names of groups, and stay.
        """
        if isinstance(value, Struct):
            return self.struct(value, state)
        if isinstance(value, dict):
            return {key: self.value(one, own, state) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self.value(one, own, state) for one in value)
        if not state:
            return value
        if isinstance(value, Pair):
            cells = [
                dataclasses.replace(cell, first=f"{self.word} 1", second=f"{self.word} 2")
                for cell in value.cells
            ]
            return dataclasses.replace(value, cells=tuple(cells))
        if isinstance(value, bool):
            return self.flag
        if isinstance(value, int):
            return self.number
        if isinstance(value, float):
            return self.share
        return self.word if own and isinstance(value, str) else value


def with_limits(report, is_none):
    """The report with limits that are exceeded, or undecided, whatever is planted; or with none."""
    limits = {"max_degree": 0.01, "max_group_score": 0.01, "max_moved_rate": 0.001}
    if report.threshold is not None:
        limits |= {"max_on_data_rate": 0.001, "min_impact_ratio": 0.99}
    return AuditReport(report).with_limits(**({} if is_none else limits))


def two_of(name, states, limits=True):
    """Two reports that differ in what is planted, and the fields that were planted."""
    sample = report_samples.SAMPLES[name]()
    sample = msgspec.structs.replace(
        sample, parts=[msgspec.structs.replace(part, notes=[""]) for part in sample.parts]
    )
    ada = Planted(states, "Ada", 7, 0.01, flag=False)
    bob = Planted(states, "Bob", 71_000_071, 0.73, flag=True)
    reports = [with_limits(one.struct(sample), not limits) for one in (ada, bob)]
    return reports, ada.fields | bob.fields


def files_of(report, rows):
    """All files that a report is written to, and what is shown of it."""
    left = report.without_people(rows)
    files = {
        "json": report.to_json(rows=rows),
        "markdown": report.to_markdown(rows=rows),
        "junit": junit(left),
        "text": repr(left),
        "card": left._repr_html_(),
        "html": report.to_html(rows=rows),
    }
    if find_spec("skops"):
        from skops.card import Card

        card = Card(None, template=None)
        files["model card"] = report.add_to_model_card(card, rows=rows).render()
    return files


@pytest.mark.parametrize(
    "name", some(["usual", "regression", "nothing_found", "interrupted", "failed"])
)
@pytest.mark.parametrize(("rows", "states"), [("counts", ("value",)), ("none", ("value", "count"))])
def test_files_are_the_same_whoever_is_in_the_table(name, rows, states, unillustrated):
    for limits in (True, False):
        reports, _ = two_of(name, states, limits)
        ada, bob = (files_of(report, rows) for report in reports)
        for kind, text in ada.items():
            assert text == bob[kind], kind
            assert "Ada" not in text, kind


@slow_sample
def test_files_with_people_differ(unillustrated):
    reports, _ = two_of("usual", ("value", "count"))
    ada, bob = (files_of(report, "worst") for report in reports)
    assert [kind for kind, text in ada.items() if text == bob[kind]] == []


def test_samples_have_all_that_is_said_of_people():
    names = ("usual", "regression")
    assert {type(part) for part in report_samples.usual().parts} == set(RESULTS)
    planted = set().union(*(two_of(name, ("value", "count"))[1] for name in names))
    marked = {
        f"{kind.__name__}.{name}"
        for kind in set().union(*map(struct_kinds, RESULTS))
        for name, state in what_fields_state(kind).items()
        if state != "neither"
    }
    assert marked - planted == set()
