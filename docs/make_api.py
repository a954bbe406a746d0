"""Write the reference from the package: ``python docs/make_api.py``.

The list of public names and the help of each command are kept in the repository, so that they can
be read without a build; a test sees that they are up to date. The page of each name is built with
the site, which calls `write`.
"""

from __future__ import annotations

import contextlib
import inspect
import io as streams
import os
import re
import shutil
from pathlib import Path

import skfairtest
from skfairtest import (
    base,
    datasets,
    exact,
    exceptions,
    group,
    individual,
    inspection,
    io,
    mitigation,
    model_selection,
    report,
    testing,
    transports,
)
from skfairtest.__main__ import main
from skfairtest.mitigation import _labelers
from skfairtest.oracle import _rows_audit
from skfairtest.space import _constraints

REFERENCE = Path(__file__).parent / "reference"
HEAD = """\
# Public names

Every class, function and constant that is public, in the order of use, and where it is imported
from. On the site each name leads to a page of its own, with parameters, results and an example that
runs; in a session, `help(skfairtest.SBFTAuditor)` shows the same text. Types that a function
returns stand on its page. Everything else is private and may change without notice.
"""
NEXT = """\
```{toctree}
:hidden:
:glob:

api/*
```

## What comes next

The [glossary](glossary.md) says what the words in these pages mean, and the
[how-to guides](../how_to/index.md) when to use what.
"""
#: A command's help, below its heading on the page of the command line.
HELP = re.compile(r"(^## skfairtest (\w+)\n\n```text\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)
#: What constants are, which have no docstring.
CONSTANTS = {
    "IDENTITY_TERMS": "The terms that `TextSGDAuditor` looks for in texts, by category.",
    "TRUSTED_TYPES": "Names of the types of this package, which ``skops.io.load`` may trust.",
}
#: The first sections of the page: what is used daily, and what now and then.
FIRST = [
    (
        "Every day",
        ["audit", "Limits", "AuditReport", "InputSpace", "SBFTAuditor", "selection_table"],
    ),
    (
        "Every month",
        [
            "certify",
            "SubgroupAuditor",
            "FlipTestAuditor",
            "compare_mitigations",
            "AlternativesSearchCV",
            "FairnessRetrainer",
            "make_audit_scorer",
            "constrained_refit",
            "pareto_refit",
        ],
    ),
]
#: Title and modules of the others, in the order of the page: what is not above.
SECTIONS = [
    ("Searches for twins that are treated differently", [individual]),
    ("Groups", [group]),
    ("Which inputs exist", [_constraints]),
    ("Reports and certificates", [report, exact]),
    ("Mitigating discrimination", [mitigation]),
    ("Moving rows to another group", [transports]),
    ("Pictures", [inspection]),
    ("Data", [datasets]),
    ("On disk", [io]),
    ("Errors and warnings", [exceptions]),
    ("In tests of yours, and for writers of auditors", [testing, base]),
]
#: Types that nobody makes by hand, on the page of what returns them or hands them over.
RETURNED = {
    "AlternativesSearchCV": [(model_selection, "AlternativesResult")],
    "AuditReport": [(report, "LimitsOutcome"), (report, "LimitCheck")],
    "BaseAuditor": [(_rows_audit, "RowsAudit")],
    "CertifiedAuditor": [(exact, "Support")],
    "FairnessAugmenter": [(_labelers, "FoundPairs")],
    "compare_mitigations": [(mitigation, "MitigationComparison")],
    "constrained_refit": [(model_selection, "ConstrainedRefit")],
    "estimate_discrimination": [(mitigation, "DiscriminationEstimate")],
    "make_audit_scorer": [(model_selection, "AuditScorer")],
    "pareto_refit": [(model_selection, "ParetoRefit")],
}


def summary(name, thing):
    """The first paragraph of a docstring; of a constant, what is said of it above."""
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return CONSTANTS[name]
    text = inspect.getdoc(thing) or ""
    return " ".join(text.partition("\n\n")[0].split())


def methods(cls):
    """Public methods and properties that a class has from our package, in order."""
    found = []
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        value = getattr(value, "__func__", value)
        ours = getattr(inspect.unwrap(value), "__module__", "") if callable(value) else ""
        if not name.startswith("_") and (ours or "").startswith("skfairtest"):
            found.append(name)
    return found


def sections():
    """Title of each section, and its public names with the modules that they are imported from."""
    listed = set()
    for title, chosen in FIRST:
        yield title, [(name, skfairtest) for name in chosen]
        listed.update(chosen)
    for title, modules in SECTIONS:
        yield (
            title,
            [
                (name, skfairtest if name in skfairtest.__all__ else module)
                for module in modules
                for name in module.__all__
                if name not in listed
            ],
        )


def heading(text, mark="="):
    """A title in reStructuredText."""
    return f"{text}\n{mark * len(text)}\n"


def described(name, module):
    """What one name is, as Sphinx documents it."""
    thing = getattr(module, name)
    parts = [f".. currentmodule:: {module.__name__}\n"]
    if inspect.isclass(thing):
        parts.append(f".. autoclass:: {name}\n")
        if not issubclass(thing, Exception):
            parts += [f"   .. automethod:: {method}\n" for method in methods(thing)]
    elif inspect.isroutine(thing):
        parts.append(f".. autofunction:: {name}\n")
    else:
        parts.append(f".. py:data:: {name}\n\n   {summary(name, thing)}\n")
    return parts


def page(name, module):
    """The page of one public name, with the types that it returns."""
    parts = [heading(name), *described(name, module)]
    for place, returned in RETURNED.get(name, []):
        parts += [heading(returned, "-"), *described(returned, place)]
    return "\n".join(parts)


def names():
    """The list of all names, by section."""
    parts = [HEAD]
    for title, listed in sections():
        parts.append(f"## {title}\n\n| Name | From | What it is |\n| --- | --- | --- |")
        for name, module in listed:
            # Docstrings mark code in another way, and a bar would begin a column.
            text = summary(name, getattr(module, name)).replace("``", "`").replace("|", "\\|")
            parts.append(f"| `{name}` | `{module.__name__}` | {text} |")
        parts.append("")
    return "\n".join([*parts, NEXT])


def help_of(command):
    """What ``--help`` of a command prints, as wide as in a terminal of 80 letters."""
    said = streams.StringIO()
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    try:
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            main([command, "--help"])
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    return said.getvalue()


def command_line(text):
    """The page of the command line, with the help of each command as it is now."""
    return HELP.sub(lambda found: f"{found[1]}{help_of(found[2]).strip()}\n{found[4]}", text)


def kept():
    """What is kept in the repository: path and text of each page."""
    page = REFERENCE / "command_line.md"
    return {
        REFERENCE / "names.md": names(),
        page: command_line(page.read_text(encoding="utf-8")),
    }


def pages():
    """Text of each page, by the name of its file."""
    found = {}
    for _, listed in sections():
        for name, module in listed:
            found[f"{name}.rst"] = page(name, module)
    return found


def write(folder):
    """Write all pages into a folder; those that have not changed keep their time."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = pages()
    for path in folder.iterdir():
        if path.name not in texts:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for path, text in kept().items():
        path.write_text(text, encoding="utf-8")
