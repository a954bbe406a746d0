"""The parts of an audit. Each is a file or a folder here, and an object in this list.

A part needs nothing else: what runs, what is written and read, limits and pages go over the list.
The order is that in which a report speaks of them; when they run, their tasks say.
"""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from typing import Annotated, Any

import msgspec

from skfairtest.report._redact import neither
from skfairtest.report._types import PartResult, Report
from skfairtest.report.parts._part import Part
from skfairtest.report.parts.certificate import Certificates
from skfairtest.report.parts.errors import Errors
from skfairtest.report.parts.groups import SensitiveGroups
from skfairtest.report.parts.moved import MovedTwins
from skfairtest.report.parts.perturbed import PerturbedGroups
from skfairtest.report.parts.predictions import Predictions
from skfairtest.report.parts.rows import Rows
from skfairtest.report.parts.search import Search
from skfairtest.report.parts.selection import Selection
from skfairtest.report.parts.twins import LargestDifferences

PARTS: list[Part] = [
    Predictions(),
    Rows(),
    LargestDifferences(),
    Search(),
    Certificates(),
    Selection(),
    SensitiveGroups(),
    Errors(),
    PerturbedGroups(),
    MovedTwins(),
]


def written_report() -> type[Report]:
    """The type of a report that is read: its parts are any of those in the list."""
    return _with_results(*(part.result for part in PARTS))


@cache
def _with_results(*kinds: type[PartResult]) -> type[Report]:
    any_part: Any = reduce(or_, kinds)
    parts = Annotated[list[any_part], neither("In the order in which they ran.")]
    made: Any = msgspec.defstruct(
        "WrittenReport",
        [("parts", parts)],
        bases=(Report,),
        namespace={"__doc__": Report.__doc__},
        frozen=True,
        kw_only=True,
    )
    kind: type[Report] = made
    return kind


def part_named(name: str) -> Part:
    """The part whose results have this name.

    Raises
    ------
    ValueError
        If there is none.
    """
    names = {part.result.__struct_config__.tag: part for part in PARTS}
    if name not in names:
        raise ValueError(f"part must be one of {sorted(map(str, names))}; got {name!r}.")
    return names[name]
