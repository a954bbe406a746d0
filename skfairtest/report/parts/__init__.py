"""The parts of an audit. Each is a file or a folder here, and an object in this list.

The order is that in which a report speaks of them; when they run, their tasks say.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated

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

PARTS: tuple[Part, ...] = (
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
)

if TYPE_CHECKING:
    AnyPart = PartResult
else:
    AnyPart = reduce(or_, [part.result for part in PARTS])


class WrittenReport(Report, frozen=True, kw_only=True):
    """What skfairtest.audit found. Figures that are not known are null."""

    parts: Annotated[list[AnyPart], neither("In the order in which they ran.")]


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
