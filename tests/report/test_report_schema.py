"""The file of a report: what its schema says, what is read of it, and how it is written."""

import json
import os
import re
import runpy

import msgspec
import pytest
import report_samples
from msgspec.structs import replace
from places import TOP
from tiers import SAMPLE, slow_sample
from typed_reports import with_part

from skfairtest import AuditReport
from skfairtest.report.parts.rows.results import RowsPart
from skfairtest.report.parts.selection.results import SelectionPart

SCRIPT = runpy.run_path(str(TOP / "docs" / "write_schema.py"))


@pytest.fixture(scope="module")
def schema():
    jsonschema = pytest.importorskip("jsonschema")
    return jsonschema.Draft202012Validator(json.loads(SCRIPT["text"]()))


def plain(report):
    """The report as plain values."""
    return msgspec.json.decode(msgspec.json.encode(report))


def of_30_groups():
    """People and rates of thirty groups, some of which have names of other scripts."""
    names = [f"{name} {k}" for k in range(3) for name in report_samples.HOSTILE]
    by_group = [report_samples.people(name, 100, higher=3) for name in names]
    rates = report_samples.rates([("sex", name, 100, 0.5) for name in names])
    report = with_part(report_samples.usual(), RowsPart, by_group=by_group)
    return with_part(report, SelectionPart, groups=rates)


def test_the_file_is_what_the_classes_say():
    stale = SCRIPT["PATH"].read_text(encoding="utf-8") != SCRIPT["text"]()
    assert not stale, "Run python docs/write_schema.py: v2.json is not what the classes say."


@slow_sample
@pytest.mark.parametrize("rows", ["worst", "counts", "none"])
@pytest.mark.parametrize("name", report_samples.SAMPLES)
def test_samples_are_as_the_schema_says(schema, name, rows):
    report = report_samples.huge(30, 5) if name == "huge" else report_samples.SAMPLES[name]()
    data = AuditReport(report).with_limits(max_degree=0.1).to_dict(rows=rows)
    assert [error.json_path for error in schema.iter_errors(data)] == []


def huge():
    return report_samples.huge(30, 5)


SOME = [make for name, make in report_samples.SAMPLES.items() if name != "huge"]


@pytest.mark.parametrize(
    "make", [*SOME, of_30_groups, huge, pytest.param(report_samples.huge, marks=SAMPLE)]
)
def test_what_is_written_is_read_again(make, tmp_path):
    report, path = AuditReport(make()).with_limits(max_degree=0.1), tmp_path / "report.json"
    report.to_json(path)
    for again in (
        AuditReport.from_json(path),
        AuditReport.from_json(report.to_json()),
        AuditReport.from_dict(report.to_dict()),
    ):
        assert again._data == report._data and repr(again) == repr(report)
        assert again.auditors == {}


def test_what_no_file_can_hold_is_written(tmp_path):
    half_a_pair = replace(report_samples.failed(), reason="half a pair: \ud800")
    report, path = AuditReport(half_a_pair), tmp_path / "report.json"
    report.to_json(path)
    assert AuditReport.from_json(path).to_dict() == report.to_dict()


# What is refused ---------------------------------------------------------------------------------


def other(way, value):
    """Plain values of a report with another one in this place; `...` takes the key away.

    A part is named by its first words.
    """
    report = inner = plain(report_samples.usual())
    *way, last = way
    for step in way:
        if inner is report["parts"]:
            inner = next(part for part in inner if part["part"] == step)
        else:
            inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return report


@pytest.mark.parametrize(
    ("way", "value", "told"),
    [
        (["schema"], 1, "Expected a report of schema 2.*; got schema 1. Make the report again"),
        (["status"], "done", r"Invalid enum value 'done' - at `\$.status`"),
        (["seed"], 1.5, r"Expected `int`, got `float` - at `\$.seed`"),
        (["seed"], ..., "missing required field `seed`"),
        (["more"], 1, "unknown field `more`"),
        (["sensitive_features"], [], r"length >= 1 - at `\$.sensitive_features`"),
        (["versions", "numpy"], 2, r"Expected `str`, got `int` - at `\$.versions"),
        (["parts"], {}, r"Expected `array`, got `object` - at `\$.parts`"),
        (["parts", "rows", "rate"], 1.5, r"<= 1.0 - at `\$.parts\[1\].rate`"),
        (["parts", "rows", "part"], "cells", r"Invalid value 'cells' - at `\$.parts\[1\].part`"),
        (["parts", "rows", "person", "pair", "outputs"], [0.5],
         r"length 2 - at `\$.parts\[1\].person.pair.outputs`"),
        (["parts", "rows", "by_group", 0, "n"], "<b>9</b>",
         r"got `str` - at `\$.parts\[1\].by_group\[0\].n`"),
        (["parts", "twins", "degree"], "0.5", r"`float \| null`, got `str` - at `\$.parts\[\d+\]"),
        (["parts", "search", "history", "told"], "", "unknown field `told` - at .*history`"),
        (["parts", "groups", "rules", 0, "differs"], None, r"got `null` - at .*rules\[0\].differs"),
        (["parts", "selection", "groups", 0, "group"], {}, r"`object` - at .*groups\[0\].group`"),
    ],
)  # fmt: skip
def test_what_a_report_cannot_hold_is_refused_by_name(schema, way, value, told):
    wrong = other(way, value)
    assert schema.is_valid(plain(report_samples.usual()))
    assert not schema.is_valid(wrong)
    for read in (AuditReport.from_dict, lambda data: AuditReport.from_json(json.dumps(data))):
        with pytest.raises(ValueError, match=told):
            read(wrong)


@pytest.mark.parametrize(
    "text",
    ["", " ", "[]", "3", '"words"', "null", "{", '{"schema": 2', "[" * 100_000, "\x00",
     '{"schema": 2} {"schema": 2}', "<html>", '{"schema": NaN}', "\ufeff{}"],
)  # fmt: skip
def test_what_is_no_report_is_refused(text, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="Expected (the JSON that|a report)"):
        AuditReport.from_json(path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "report.json"
    whole = msgspec.json.encode(report_samples.usual())
    for bad in (b"\xff\xfe", whole.replace(b"Female", b"\xff"), whole.decode().encode("utf-16")):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match="Expected the JSON that|as AuditReport.to_json"):
            AuditReport.from_json(path)


def test_a_file_that_is_cut_off_is_refused():
    text = AuditReport(report_samples.failed()).to_json()
    for length in range(1, len(text), 37):
        with pytest.raises(ValueError, match="got no report|Give the whole file"):
            AuditReport.from_json(text[:length])


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_does_not_know_are_refused(number):
    text = AuditReport(report_samples.usual()).to_json()
    text = text.replace('"threshold":0.1', f'"threshold":{number}', 1)
    with pytest.raises(ValueError, match="got no report|Give the whole file"):
        AuditReport.from_json(text)


def test_figures_that_are_no_numbers_are_written_as_unknown():
    report = replace(report_samples.usual(), threshold=float("nan"))
    assert AuditReport(report).to_dict()["threshold"] is None


@slow_sample
@pytest.mark.parametrize("wrong", [None, [], 3, -1.5, {}, "<b>", True, [[]], [None], {"a": {}}])
def test_whatever_is_read_can_be_shown(wrong):
    whole = plain(report_samples.usual())
    for inner in (whole, *whole["parts"]):
        for key, before in list(inner.items()):
            inner[key] = wrong
            try:
                report = AuditReport.from_dict(whole)
            except ValueError as error:
                assert re.search(rf"{key}|`\$.parts\[|no part", str(error)), (key, str(error))
            else:
                repr(report), report.to_markdown(), report._repr_html_()
                report.check(max_degree=0.1, max_moved_rate=0.1)
            inner[key] = before


# How it is written -------------------------------------------------------------------------------


@pytest.mark.parametrize("save", ["to_json", "save_html"])
def test_what_fails_to_be_written_leaves_the_file_that_was_there(save, tmp_path, monkeypatch):
    path = tmp_path / "report"
    path.write_text("what was there", encoding="utf-8")
    report = AuditReport(report_samples.failed())

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", full)
        with pytest.raises(OSError, match="cannot be written: No space left on device"):
            getattr(report, save)(path)
    assert [one.name for one in tmp_path.iterdir()] == ["report"]
    assert path.read_text(encoding="utf-8") == "what was there"
    getattr(report, save)(path)
    assert "HistGradientBoosting" in path.read_text(encoding="utf-8")
    assert [one.name for one in tmp_path.iterdir()] == ["report"]
