"""The parts of an audit. Each is a file or a folder here, and tells all about itself.

The registry has an object of each `Part` that a module here defines, in the order of their `place`,
in which a report speaks of them; when they run, their tasks say.
"""

from __future__ import annotations

from functools import reduce
from importlib import import_module
from operator import or_
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated

from skfairtest.report._redact import neither
from skfairtest.report._types import PartResult, Report
from skfairtest.report.parts._part import Part


def _parts() -> tuple[Part, ...]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    kinds = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    parts = [kind() for kind in kinds if issubclass(kind, Part) and kind is not Part]
    return tuple(sorted(parts, key=lambda part: part.place))


PARTS = _parts()

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
