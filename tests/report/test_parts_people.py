"""What a report says of people and of twins: hand-made figures in the report of a small audit."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from typed_reports import with_part

from skfairtest import SBFTAuditor, audit
from skfairtest.finding._pair import Cell, Pair
from skfairtest.report.parts import part_named
from skfairtest.report.parts._bounds import CertificatePart
from skfairtest.report.parts.rows.page import curve
from skfairtest.report.parts.rows.results import (
    DifferenceCurve,
    RowsPart,
    WorstRow,
    rows_of,
)
from skfairtest.report.parts.search.results import SearchPart
from skfairtest.report.parts.twins.finalize import put_together
from skfairtest.report.parts.twins.results import TwinsPart

ROWS, TWINS = part_named("rows"), part_named("twins")


@pytest.fixture(scope="module")
def report():
    """The report of a model that takes sex, from a short search and without a certificate."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], 60), "score": rng.normal(size=60).round(1)})
    y = np.where(X["score"] + (X["sex"] == "m") > 0.5, "yes", "no")
    encoded = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    model = make_pipeline(encoded, LogisticRegression()).fit(X, y)
    return audit(
        model, X, sensitive_features="sex", auditor=SBFTAuditor(max_queries=100), certify=False,
        groups=False, moved=False, favourable="yes", random_state=0, progress=False,
    )._data  # fmt: skip


def said(part, report, place):
    """What a part says in answer to a question of the first page."""
    return [sentence.words for sentence in part.sentences(report) if sentence.place == place]


def blocks_of(part, report, key):
    """The blocks of a section."""
    return [block for one in part.sections(report) if one.key == key for block in one.blocks]


@pytest.mark.parametrize(
    ("known", "queries", "words"),
    [
        (
            {"shown_by": "the search"},
            100,
            "the largest difference was found by a search of 100 queries, which rules out no "
            "larger one",
        ),
        (
            {"shown_by": "row 3 of the data", "upper": 0.9},
            1_000,
            "a search of 1,000 queries found no larger difference, and the bound is proven for all "
            "inputs",
        ),
        ({}, 0, "no search for a larger difference ran"),
        (
            {"degree": 0.0},
            100,
            "a search of 100 queries found no difference, which rules out no larger one",
        ),
        (
            {"upper": 0.5, "certified": True},
            100,
            "the largest difference is proven",
        ),
    ],
)
def test_how_sure_the_largest_difference_is_known(report, known, queries, words):
    report = with_part(report, SearchPart, search_queries=queries)
    report = with_part(report, TwinsPart, **{"degree": 0.5, "shown_by": "", **known})
    assert said(TWINS, report, "sure") == [words]


def worst_row(name, **values):
    """A row with its twin in sex, whose other columns have these values."""
    cells = [Cell("sex", "m", "f", changed=True)]
    cells += [Cell(column, value, value, changed=False) for column, value in values.items()]
    return WorstRow(name, True, ["m"], Pair(tuple(cells), "label", None, ("yes", "no"), 1.0))


def test_people_who_are_alike_in_all_that_is_shown_are_listed_once(report):
    # Only the first three of the equal columns are shown.
    same = [worst_row(str(k), a=1, b=2, c=3, hidden=k) for k in range(4)]
    others = [worst_row(str(k), a=k, b=2, c=3, hidden=0) for k in range(4, 10)]
    for worst, listed in (([*same, *others], "04567"), ([*same[:1], *others[:2]], "045")):
        tables = blocks_of(ROWS, with_part(report, RowsPart, worst=worst), "people")
        (shown,) = [block for block in tables if "largest diff" in getattr(block, "caption", "")]
        assert "".join(row[0] for row in shown.rows) == listed
        told = "; of rows that are alike in these columns one is listed"
        assert shown.caption.endswith(told) == (len(worst) == 10)
        assert len({row[1:] for row in shown.rows}) == len(listed)


def test_without_counts_the_page_says_that_they_were_left_out(report):
    left = report.without_people("none")
    assert said(ROWS, left, "found") == said(ROWS, left, "whom") == []
    assert said(TWINS, left, "found") == said(TWINS, left, "headline")
    for key in ("people", "by-group"):
        (block,) = blocks_of(ROWS, left, key)
        assert "left out of this file: rows='none'" in block.words
    with pytest.raises(ValueError, match="left out of this report"):
        curve(left)
    check = ROWS.limits["max_on_data_rate"](left, 0.1, False)
    assert check.status == "undecided"
    assert check.value is None
    assert "left out" in check.words


def test_rows_of_all_attributes_show_what_those_of_each_alone_show(report):
    rows = report.first(RowsPart, "sex")
    alone = replace(rows, of="race", sensitive=["race"], degree=0.9, worst=[worst_row("7")])
    whole = replace(
        rows, of="both", sensitive=["sex", "race"], degree=0.5, worst=[worst_row("1")] * 2
    )
    # All together ran first.
    found = rows_of(replace(report, parts=[whole, alone, replace(rows, degree=0.1)]))
    assert [one.of for one in found] == ["sex", "race", "both"]
    assert found[-1].degree == 0.9
    assert [one.row for one in found[-1].worst] == ["7", "1"]


def test_steps_follow_from_the_figures(report):
    def orders(**changes):
        return [step.order for step in TWINS.steps(with_part(report, TwinsPart, **changes))]

    report = with_part(report, RowsPart, changed=3, degree=0.5)
    assert orders(degree=0.5) == [20, 70]
    assert orders(degree=0.7, upper=0.7) == [20, 60]
    report = with_part(report, RowsPart, changed=0)
    assert orders(degree=0.5, upper=0.54) == []


@pytest.mark.parametrize(("degree", "upper"), [(0.5, 0.5), (0.5 * (1 + 1e-12), 0.5), (0.6, None)])
def test_a_bound_that_two_inputs_exceed_is_none(report, degree, upper):
    results = {
        SearchPart: SearchPart(of="sex", degree=degree),
        CertificatePart: CertificatePart(of="sex", upper=0.5, certified=True),
    }
    asked = SimpleNamespace(label="sex", names=["sex"], space="any")
    context = SimpleNamespace(twins=[asked], findings={}, result=lambda kind, of: results[kind])
    known = put_together(context, asked)
    assert known.certified is (upper is not None)
    assert known.upper == (None if upper is None else max(upper, degree))
    report = replace(report, parts=[known, *results.values()])
    (words,) = said(TWINS, report, "largest")
    assert ("Larger ones are not ruled out: two inputs of the domain differ" in words) is (
        upper is None
    )
    assert ("proven" in words) is (upper is not None)


def test_a_section_says_where_nobody_differs(report):
    alike = with_part(report, RowsPart, n=60, curve=DifferenceCurve(), worst=[], person=None)
    (block,) = blocks_of(ROWS, alike, "people")
    assert block.words == "No output changes at all for any of the people who were compared."
