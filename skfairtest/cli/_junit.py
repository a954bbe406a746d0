"""Writes the outcome as JUnit's XML, with one test case per limit, for CI services."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from skfairtest.report._figures import figure_sentence
from skfairtest.report._report import AuditReport
from skfairtest.report._types import LimitCheck

#: What XML 1.0 cannot hold, not even escaped.
ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "skfairtest audit"


def junit(report: AuditReport) -> str:
    """Write the XML: exceeded and undecided limits fail, and unmeasured figures are errors."""
    data, outcome = report._data, report.limits or report.check()
    suite = ET.Element("testsuite")
    properties = ET.SubElement(suite, "properties")
    facts = {
        "model": data.model.class_,
        "sensitive": ", ".join(map(str, data.sensitive_features)),
        "seed": data.seed,
        "queries": data.cost.queries,
        "status": data.status,
        "favourable": data.favourable.words,
        "verdict": outcome.verdict,
        **{f"version of {name}": version for name, version in data.versions.items()},
    }
    for name, value in facts.items():
        ET.SubElement(properties, "property", name=_clean(name), value=_clean(str(value)))
    counts = {"failure": 0, "error": 0}
    for check in outcome.checks:
        kind = _add_limit(suite, check)
        if kind:
            counts[kind] += 1
    if not outcome.checks or report.status != "complete":
        # An audit that did not end well, or looks at no limit, is a case of its own. It is an error
        # where the command says so, and not where a part failed that no limit is about.
        case = ET.SubElement(suite, "testcase", classname=SUITE, name="audit", time="0")
        words = f"{report.status}: {data.reason}" if data.reason else report.status
        is_counted = counts["error"] and outcome.status == "failed"
        if report.status == "interrupted" or (outcome.status == "failed" and not is_counted):
            counts["error"] += 1
            ET.SubElement(case, "error", type=report.status, message=_clean(words))
        ET.SubElement(case, "system-out").text = _clean(f"{words}\n{report.sentence}")
    n_cases = len(suite.findall("testcase"))
    seconds = f"{data.cost.seconds:.3f}"
    of_all = {
        "name": SUITE, "tests": str(n_cases), "failures": str(counts["failure"]),
        "errors": str(counts["error"]), "time": seconds,
    }  # fmt: skip
    suite.attrib.update(of_all, timestamp=data.created)
    root = ET.Element("testsuites", of_all)
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add_limit(suite: ET.Element, check: LimitCheck) -> str:
    """Add a limit as a case; "failure", "error" or nothing."""
    name = f"{check.name} {check.limit:g}"
    case = ET.SubElement(suite, "testcase", classname=SUITE, name=_clean(name), time="0")
    kind = {"exceeded": "failure", "undecided": "failure", "failed": "error"}.get(check.status, "")
    if kind:
        ET.SubElement(case, kind, type=check.status, message=_clean(check.sentence))
    lines = [f"{check.status}: {check.sentence}", figure_sentence(check)]
    if check.left_out:
        lines.append("Not judged: " + "; ".join(check.left_out))
    ET.SubElement(case, "system-out").text = _clean("\n".join(lines))
    return kind


def _clean(text: str) -> str:
    return ILLEGAL.sub("\ufffd", text)
