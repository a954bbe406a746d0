"""Write what classes inherit into their docstrings: parameters, and attributes that `fit` sets.

    python docs/write_docstrings.py [--check]

A parameter or attribute that several classes share is described once, in the docstring of the base
that has it. This script copies that text into the docstrings of the public classes below, so that
editors, ``help`` and the pages show all of it, and puts the parameters in the order of the
signature. What a class describes and no base of it does stays as it is. With ``--check`` nothing is
written, and files that would change end the command with 1; `tests/project/test_docstrings.py` sees
that there are none.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import skfairtest
from skfairtest._parameters import DeclaredParameters

#: Names of the classes that are shown to users, of those that declare parameters.
PUBLIC = {*skfairtest.__all__, "BaseAuditor", *skfairtest.transports.__all__}

#: Where a section of these stands, if the docstring has none: in front of the first of those.
FOLLOWERS = {
    "Parameters": ("Attributes", "See Also", "Notes", "References", "Examples"),
    "Attributes": ("See Also", "Notes", "References", "Examples"),
}


def parts(doc: str) -> dict[str, str]:
    """Sections of a docstring whose margin is cut off, by title; what is before them by ""."""
    found = re.split(r"^(\w[\w ]*)\n-{3,}\n", doc, flags=re.MULTILINE)
    return {"": found[0]} | dict(zip(found[1::2], found[2::2], strict=True))


def entries(section: str) -> dict[tuple[str, ...], str]:
    """Entries of a section, by the names that they describe."""
    found = {}
    for entry in re.split(r"\n(?=\S)", section.strip("\n")):
        names = entry.partition("\n")[0].partition(" : ")[0]
        if names:
            found[tuple(name.strip("* ") for name in names.split(","))] = entry
    return found


def inherited(cls: type, title: str) -> dict[tuple[str, ...], str]:
    """What the bases say in a section; where several do, the nearest one."""
    found: dict[tuple[str, ...], str] = {}
    for base in cls.__mro__[:0:-1]:
        if base.__module__.startswith("skfairtest") and base.__dict__.get("__doc__"):
            found |= entries(parts(inspect.cleandoc(base.__doc__ or "")).get(title, ""))
    return found


def parameters(cls: Any, own: dict[tuple[str, ...], str]) -> dict[tuple[str, ...], str]:
    """Entries of all parameters, in the order of the signature."""
    order = [field.name for field in fields(cls) if field.init]
    changed = cls.__dict__.get("__annotations__", {})
    shared = {
        names: text
        for names, text in inherited(cls, "Parameters").items()
        if names[0] in order and names[0] not in changed
    }
    both = own | shared
    return {names: both[names] for names in sorted(both, key=lambda names: order.index(names[0]))}


def attributes(cls: type, own: dict[tuple[str, ...], str]) -> dict[tuple[str, ...], str]:
    """Entries of all fitted attributes: those of the bases stay where the first of them stands."""
    shared = inherited(cls, "Attributes")
    known = {name for names in shared for name in names}
    found: dict[tuple[str, ...], str] = {}
    for names, text in own.items():
        found |= shared if known & {*names} else {names: text}
    return found | shared


def written(cls: type) -> str:
    """The docstring of a class with what it inherits."""
    sections = parts(inspect.cleandoc(cls.__doc__ or ""))
    for title, complete in (("Parameters", parameters), ("Attributes", attributes)):
        text = "\n".join(complete(cls, entries(sections.get(title, ""))).values())
        if text and title not in sections:
            after = [name for name in FOLLOWERS[title] if name in sections]
            order = list(sections)
            place = order.index(after[0]) if after else len(order)
            sections[""] = sections[""].rstrip("\n") + "\n\n"
            order.insert(place, title)
            sections = {name: sections.get(name, "") for name in order}
        if text:
            sections[title] = text + "\n\n"
    body = "".join(
        text if not name else f"{name}\n{'-' * len(name)}\n{text}"
        for name, text in sections.items()
    )
    return body.rstrip("\n")


def classes() -> list[type]:
    """Public classes that declare parameters, private bases of theirs left out."""
    for module in pkgutil.walk_packages(skfairtest.__path__, "skfairtest."):
        if module.name.startswith(("skfairtest.individual.", "skfairtest.group.",
                                   "skfairtest.exact.", "skfairtest.mitigation.")):  # fmt: skip
            importlib.import_module(module.name)
    found, waiting = [], [DeclaredParameters]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls.__name__ in PUBLIC and cls.__module__.startswith("skfairtest."):
            found.append(cls)
    return sorted(set(found), key=lambda cls: cls.__qualname__)


def source_with(cls: type, source: str) -> str:
    """The source of a module with the docstring of one of its classes written out."""
    (node,) = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == cls.__name__
    ]
    text = node.body[0]
    assert isinstance(text, ast.Expr) and text.end_lineno is not None
    lines = source.split("\n")
    first = lines[text.lineno - 1]
    prefix = first[: first.index('"""') + 3]
    margin = " " * text.col_offset
    doc = [margin + line if line else "" for line in written(cls).split("\n")]
    doc[0] = prefix + doc[0].lstrip()
    lines[text.lineno - 1 : text.end_lineno] = [*doc, f'{margin}"""']
    return "\n".join(lines)


def stale() -> dict[Path, str]:
    """Files whose docstrings are not what the bases say, with their text as it should be."""
    texts: dict[Path, str] = {}
    for cls in classes():
        path = Path(inspect.getfile(cls))
        source = texts.get(path) or path.read_text(encoding="utf-8")
        texts[path] = source_with(cls, source)
    return {path: text for path, text in texts.items() if path.read_text(encoding="utf-8") != text}


def main(words: list[str]) -> int:
    """Write, or check."""
    top = Path(__file__).resolve().parents[1]
    if Path(skfairtest.__file__).resolve().parents[1] != top:
        print(f"This is the script of {top}, and skfairtest is {skfairtest.__file__}. Install it "
              "from here: pip install -e .", file=sys.stderr)  # fmt: skip
        return 2
    found = stale()
    for path, text in found.items():
        print(path.relative_to(Path(skfairtest.__file__).parents[1]))
        if "--check" not in words:
            path.write_text(text, encoding="utf-8")
    return 1 if found and "--check" in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
