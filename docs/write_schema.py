"""Write the JSON schema of reports from the types that a report is made of.

    python docs/write_schema.py [--check]

With ``--check`` nothing is written, and a file that would change ends the command with 1;
`tests/report/test_report_schema.py` sees that it would not.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

import skfairtest
from skfairtest.report._types import SCHEMA_VERSION
from skfairtest.report.parts import written_report

PATH = Path(skfairtest.__file__).parent / "report" / "schema" / f"v{SCHEMA_VERSION}.json"


def json_schema() -> dict[str, Any]:
    """The schema of a report; every type has a definition of its own."""
    (whole,), definitions = msgspec.json.schema_components(
        [written_report()], ref_template="#/$defs/{name}"
    )
    for one in definitions.values():  # the first paragraph of a docstring says what a type is
        one["description"] = " ".join(one["description"].partition("\n\n")[0].split())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "skfairtest audit report",
        **whole,
        "$defs": dict(sorted(definitions.items())),
    }


def text() -> str:
    """The file as it should be."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the file, or with --check say whether it is as it should be."""
    if PATH.exists() and PATH.read_text(encoding="utf-8") == text():
        return 0
    print(f"{PATH} is not what the types say")
    if "--check" in sys.argv:
        return 1
    PATH.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
