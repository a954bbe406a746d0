"""Write the JSON schema of reports from the classes that hold a report's data.

    python docs/write_schema.py [--check]

With ``--check`` nothing is written, and a file that would change ends the command with 1;
`tests/report/test_report_schema.py` sees that it would not.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from dataclasses import is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import skfairtest
from skfairtest.report._data import SCHEMA_VERSION, Report
from skfairtest.report._measure.plain import keys

PATH = Path(skfairtest.__file__).parent / "report" / "schema" / f"v{SCHEMA_VERSION}.json"
NAMES = {str: "string", int: "integer", float: "number", bool: "boolean"}
#: A cell of a table: anything that is neither a list nor a dict.
CELL = {"type": ["string", "number", "boolean", "null"]}


def json_schema() -> dict[str, Any]:
    """The schema of a report; every class has a definition of its own."""
    definitions: dict[str, Any] = {}
    _define(Report, definitions)
    whole = definitions.pop(Report.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "skfairtest audit report",
        **whole,
        "$defs": dict(sorted(definitions.items())),
    }


def _define(cls: type, definitions: dict[str, Any]) -> None:
    """Add the definition of a class and of those that it holds."""
    if cls.__name__ in definitions:
        return
    definitions[cls.__name__] = {}
    doc = inspect.getdoc(cls) or ""
    told = {
        name: " ".join(words.split())
        for names, words in re.findall(r"^(\w[\w, ]*) : .*\n((?: +.*\n?)+)", doc, re.MULTILINE)
        for name in names.split(", ")
    }
    hints = get_type_hints(cls, include_extras=True)
    names = keys(cls) if is_dataclass(cls) else {name: name for name in cls._fields}  # type: ignore[attr-defined]
    properties = {}
    for key, name in names.items():
        described = {"description": told[name]} if name in told else {}
        properties[key] = {**_schema(hints[name], definitions), **described}
    definitions[cls.__name__] = {
        "description": " ".join(re.split(r"\n\w[\w ]*\n---", doc)[0].split()),
        "type": "object",
        "properties": properties,
        "required": list(names),
        "additionalProperties": False,
    }


def _schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        found = _schema(args[0], definitions)
        for more in args[1:]:
            found |= {"description": more} if isinstance(more, str) else more
        return found
    if hint is Any:
        return dict(CELL)
    if origin is None and hint in NAMES:
        return {"type": NAMES[hint]}
    if origin is Literal:
        return {"enum": list(args)}
    if origin in (Union, UnionType):
        (inner,) = (_schema(arg, definitions) for arg in args if arg is not NoneType)
        if isinstance(inner.get("type"), str):
            return {**inner, "type": [inner["type"], "null"]}
        return {"anyOf": [inner, {"type": "null"}]}
    if origin is list or (origin is tuple and args[-1] is Ellipsis):
        return {"type": "array", "items": _schema(args[0], definitions)}
    if origin is tuple:
        ends = {"minItems": len(args), "maxItems": len(args)}
        return {"type": "array", "items": _schema(args[0], definitions), **ends}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(args[1], definitions)}
    _define(hint, definitions)
    return {"$ref": f"#/$defs/{hint.__name__}"}


def text() -> str:
    """The file as it should be."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the file, or with --check say whether it is as it should be."""
    if PATH.exists() and PATH.read_text(encoding="utf-8") == text():
        return 0
    print(f"{PATH} is not what the classes say")
    if "--check" in sys.argv:
        return 1
    PATH.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
