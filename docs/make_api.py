"""Write docs/api.md, the page of public names, from the package and its docstrings.

Run ``python docs/make_api.py``. The page is built, not kept: a new name needs no edit of it.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import skfairtest
from skfairtest import (
    base,
    comparison,
    datasets,
    exact,
    exceptions,
    group,
    individual,
    inspection,
    io,
    mitigation,
    model_selection,
    testing,
)

HEAD = """# Public names

Everything else is private and may change without notice. The docstrings hold the details:
`help(skfairtest.SBFTAuditor)`. Names marked with * are in `skfairtest` itself, too.

This page is written by `python docs/make_api.py`.
"""
COMMANDS = """## Command line

| Command | What it does |
| --- | --- |
| `skfairtest audit MODEL DATA` | A saved model against limits; see [gate.md](gate.md). |
| `skfairtest certify MODEL DATA` | A bracket of the largest difference. |
| `skfairtest compare A B [DATA]` | Two reports, or two models, side by side. |
| `skfairtest demo` | Trains a forest on bundled data and audits it; `--html` writes a report. |
| `skfairtest datasets` | The public data sets, and where they are kept. |
| `skfairtest --version` | Prints the version. |
"""
#: Title and module of each section, in the order of the page. What `skfairtest` exports from
#: elsewhere comes last.
SECTIONS = [
    ("Auditors of individual discrimination", individual),
    ("Auditors of groups", group),
    ("Certified bounds", exact),
    ("Comparing auditors", comparison),
    ("Selecting models", model_selection),
    ("Mitigating discrimination", mitigation),
    ("Pictures", inspection),
    ("On disk", io),
    ("Errors and warnings", exceptions),
    ("Data", datasets),
    ("For writers of auditors", base),
    ("Testing auditors", testing),
]


def table(first, second, rows):
    """A table in Markdown; empty without rows."""
    if not rows:
        return ""
    lines = [f"| {first} | {second} |", "| --- | --- |"]
    lines += [f"| {name} | {text.replace('|', chr(92) + '|')} |" for name, text in rows]
    return "\n".join(lines) + "\n"


def summary(thing):
    """The first paragraph of a docstring; of what is no class and no function, its kind."""
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return f"A {type(thing).__name__} of {len(thing)}."
    text = inspect.getdoc(thing) or ""
    return " ".join(text.partition("\n\n")[0].split())


def attributes(cls):
    """Names and descriptions in the section "Attributes" of a class's docstring."""
    text = inspect.getdoc(cls) or ""
    _, found, rest = text.partition("\nAttributes\n----------\n")
    section = re.split(r"\n\n\S[^\n]*\n-{3,}\n", rest)[0] if found else ""
    rows = re.findall(r"^(\S[^\n]*)((?:\n+[ ]{4}[^\n]*)*)", section, flags=re.MULTILINE)
    return {name.partition(" :")[0]: " ".join(body.split()) for name, body in rows}


def methods(cls):
    """Public methods that a class has from our package, with their first lines."""
    found = {}
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        value = getattr(value, "__func__", value)
        ours = getattr(inspect.unwrap(value), "__module__", "") if callable(value) else ""
        if not name.startswith("_") and (ours or "").startswith("skfairtest"):
            found[f"{name}()"] = summary(value)
    return found


def members(cls, shared):
    """Rows of the attributes and methods of a class but the shared ones."""
    return [
        (f"`{name}`", text)
        for name, text in (attributes(cls) | methods(cls)).items()
        if name not in shared
    ]


def section(title, module, names):
    """One section: the names, and what each class has beside what all auditors have."""
    mark = {name: "*" if name in skfairtest.__all__ else "" for name in names}
    things = {name: getattr(module, name) for name in names}
    rows = [
        (f"`{module.__name__}.{name}`{mark[name]}", summary(thing))
        for name, thing in things.items()
    ]
    parts = [f"## {title}: `{module.__name__}`\n", table("Name", "What it is", rows)]
    common = shared_members()
    for name, thing in things.items():
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            audits = issubclass(thing, base.BaseAuditor)
            own = members(thing, common if audits else {})
            if own and thing is not base.BaseAuditor:
                more = "More of" if audits else "Members of"
                parts += [f"### {more} `{name}`\n", table("Name", "What it is", own)]
    return "\n".join(parts)


def shared_members():
    """What every auditor of individual discrimination has."""
    return attributes(skfairtest.RandomAuditor) | methods(base.BaseAuditor)


def page():
    """The page as text."""
    parts = [HEAD]
    listed = set()
    for title, module in SECTIONS:
        parts.append(section(title, module, module.__all__))
        listed.update(module.__all__)
        if module is individual:
            rows = [(f"`{name}`", text) for name, text in shared_members().items()]
            parts.append("### What all of them have\n")
            parts.append(table("Name", "What it is", rows))
    rest = [
        name
        for name in skfairtest.__all__
        if name not in listed and not inspect.ismodule(getattr(skfairtest, name))
    ]
    parts.append(section("Inputs and results", skfairtest, rest))
    return "\n".join([*parts, COMMANDS])


if __name__ == "__main__":
    Path(__file__).with_name("api.md").write_text(page(), encoding="utf-8")
