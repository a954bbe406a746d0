"""Write the reference of public names from the package: a list, and a page for each name.

The build of the site calls `write`. The pages are built, not kept: a new name needs no edit here.
"""

from __future__ import annotations

import contextlib
import inspect
import io as streams
import os
import shutil
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
    remote,
    report,
    testing,
)
from skfairtest.__main__ import main

HEAD = """\
Public names
============

Every class, function and constant that is public, each with a page of its own: parameters,
results, an example that runs. Everything else is private and may change without notice. In a
session, ``help(skfairtest.SBFTAuditor)`` shows the same text.
"""
NEXT = """\
What comes next
---------------

The :doc:`glossary </reference/glossary>` says what the words in these pages mean, and the
:doc:`how-to guides </how_to/index>` when to use what.
"""
#: What constants are, which have no docstring.
CONSTANTS = {
    "IDENTITY_TERMS": "The terms that `TextSGDAuditor` looks for in texts, by category.",
    "TRUSTED_TYPES": "Names of the types of this package, which ``skops.io.load`` may trust.",
}
#: Of each the help is on the page of the command line.
COMMANDS = ("audit", "certify", "compare", "datasets", "demo")
#: Title and module of each section, in the order of the page. What `skfairtest` exports from
#: elsewhere comes last.
SECTIONS = [
    ("One call, and a report", report),
    ("Auditors of individual discrimination", individual),
    ("Auditors of groups", group),
    ("Certified bounds", exact),
    ("Comparing auditors", comparison),
    ("Selecting models", model_selection),
    ("Mitigating discrimination", mitigation),
    ("Models that are services", remote),
    ("Pictures", inspection),
    ("On disk", io),
    ("Errors and warnings", exceptions),
    ("Data", datasets),
    ("For writers of auditors", base),
    ("Testing auditors", testing),
]


def summary(name, thing):
    """The first paragraph of a docstring; of a constant, what is said of it above."""
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return CONSTANTS[name]
    text = inspect.getdoc(thing) or ""
    return " ".join(text.partition("\n\n")[0].split())


def full_name(name, module):
    """The shortest way to import a public name."""
    return f"{'skfairtest' if name in skfairtest.__all__ else module.__name__}.{name}"


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
    """Title and public names, with the modules they are looked up in, of each section."""
    listed = set()
    for title, module in SECTIONS:
        yield title, module, list(module.__all__)
        listed.update(module.__all__)
    rest = [
        name
        for name in skfairtest.__all__
        if name not in listed and not inspect.ismodule(getattr(skfairtest, name))
    ]
    yield "Inputs and results", skfairtest, rest


def heading(text, mark="="):
    """A title in reStructuredText."""
    return f"{text}\n{mark * len(text)}\n"


def page(name, module):
    """The page of one public name."""
    thing = getattr(module, name)
    place = full_name(name, module)
    parts = [heading(name), f".. currentmodule:: {place.rpartition('.')[0]}\n"]
    if inspect.isclass(thing):
        parts.append(f".. autoclass:: {name}\n")
        if not issubclass(thing, Exception):
            parts += [f"   .. automethod:: {method}\n" for method in methods(thing)]
    elif inspect.isroutine(thing):
        parts.append(f".. autofunction:: {name}\n")
    else:
        parts.append(f".. py:data:: {name}\n\n   {summary(name, thing)}\n")
    return "\n".join(parts)


def index():
    """The list of all names, by section."""
    parts = [HEAD]
    entries = []
    for title, module, names in sections():
        parts += [heading(title, "-"), ".. list-table::\n   :widths: 30 70\n   :width: 100%\n"]
        for name in names:
            place = full_name(name, module)
            entries.append(place)
            text = summary(name, getattr(module, name))
            parts.append(f"   * - :doc:`{name} <{place}>`\n     - {text}")
        parts.append("")
    parts.append(NEXT)
    parts.append(".. toctree::\n   :hidden:\n")
    parts += [f"   {place.rpartition('.')[2]} <{place}>" for place in dict.fromkeys(entries)]
    return "\n".join(parts) + "\n"


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


def pages():
    """Text of each page, by the name of its file."""
    found = {"index.rst": index()}
    found |= {f"help-{command}.txt": help_of(command) for command in COMMANDS}
    for _, module, names in sections():
        for name in names:
            found[f"{full_name(name, module)}.rst"] = page(name, module)
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
    write(Path(__file__).parent / "reference" / "api")
