"""The JSON schema says what the classes of a report say, and refuses what they cannot hold."""

import json
import runpy

import pytest
import report_samples
from places import TOP

jsonschema = pytest.importorskip("jsonschema")
SCRIPT = runpy.run_path(str(TOP / "docs" / "write_schema.py"))


def test_the_file_is_what_the_classes_say():
    stale = SCRIPT["PATH"].read_text(encoding="utf-8") != SCRIPT["text"]()
    assert not stale, "Run python docs/write_schema.py: v2.json is not what the classes say."


def _other(path, value):
    """A report with another value in this place; `...` takes the key away."""
    report = report_samples.usual()
    *way, last = path
    inner = report
    for step in way:
        inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return report


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["schema"], 2),
        (["status"], "done"),
        (["seed"], 1.5),
        (["seed"], ...),
        (["more"], 1),
        (["searches"], []),
        (["searches", -1, "rows", "rate"], 1.5),
        (["searches", -1, "rows", "person", "pair", "outputs"], [0.5]),
        (["searches", -1, "degree"], "0.5"),
        (["searches", -1, "history", "told"], ""),
        (["groups", "rules", 0, "differs"], None),
        (["selection", "rows", 0, 0], {}),
        (["versions", "numpy"], 2),
    ],
)
def test_what_a_report_cannot_hold_is_refused(path, value):
    schema = jsonschema.Draft202012Validator(json.loads(SCRIPT["text"]()))
    assert schema.is_valid(report_samples.usual())
    assert not schema.is_valid(_other(path, value))
