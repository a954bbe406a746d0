"""The parts of an audit. Each is a file or a folder here, and tells all about itself.

The registry has an object of each `Part` that a module here defines, in the order of their `place`,
in which a report speaks of them; when they run, their tasks say. What runs, what is written and
read, limits and pages go over it; a part from elsewhere may be appended.
"""

from __future__ import annotations

from functools import cache, reduce
from importlib import import_module
from operator import or_
from pkgutil import iter_modules
from typing import Annotated, Any

import msgspec

from skfairtest.report._redact import neither
from skfairtest.report._types import PartResult, Report
from skfairtest.report.parts._part import Part


def _parts() -> list[Part]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    kinds = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    # Those without a place are what several parts have in common.
    parts = [kind() for kind in kinds if issubclass(kind, Part) and hasattr(kind, "place")]
    return sorted(parts, key=lambda part: part.place)


PARTS = _parts()


def written_report() -> type[Report]:
    """The type of a report that is read: its parts are any of those in the registry."""
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
    """The part whose results have this name, or an error that lists the names."""
    names = {part.result.__struct_config__.tag: part for part in PARTS}
    if name not in names:
        raise ValueError(f"part must be one of {sorted(map(str, names))}; got {name!r}.")
    return names[name]
