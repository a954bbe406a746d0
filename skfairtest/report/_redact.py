"""What a report tells of people, and how files leave them out: each field of a report states it.

A field is marked by `neither`, `count_of_people` or `value_of_person`. What files may keep follows
from the marks; a field without a mark is hidden as a value of a person would be.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta, Struct

Kept = Literal["worst", "counts", "none"]
#: What may be kept of people in a file, from all to nothing, and which fields that leaves.
KEPT: dict[Kept, tuple[str, ...]] = {
    "worst": ("neither", "count", "value"),
    "counts": ("neither", "count"),
    "none": ("neither",),
}


def neither(words: str | None = None, **checks: Any) -> Meta:
    """Mark what tells no value of a person, and not how many people there are of a kind."""
    return Meta(description=words, extra={"people": "neither"}, **checks)


def count_of_people(words: str | None = None, **checks: Any) -> Meta:
    """Mark a number of people, or a share of them: ``rows="none"`` leaves it out."""
    return Meta(description=words, extra={"people": "count"}, **checks)


def value_of_person(words: str | None = None, **checks: Any) -> Meta:
    """Mark a value of a person: ``rows="counts"`` and ``rows="none"`` leave it out."""
    return Meta(description=words, extra={"people": "value"}, **checks)


def check_kept(rows: Any) -> Kept:
    """Return what a file may keep of people, or raise an error for another word."""
    for kept in KEPT:
        if rows == kept:
            return kept
    raise ValueError(f"rows must be one of {list(KEPT)}; got {rows!r}.")


def redacted(value: Any, kept: Kept) -> Any:
    """A struct without the fields that a file must not have, down to the structs that it holds."""
    if isinstance(value, dict):
        return {key: redacted(one, kept) for key, one in value.items()}
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Struct):
        return type(value)(redacted(one, kept) for one in value)
    if not isinstance(value, Struct):
        return value
    stated = what_fields_state(type(value))
    changes = {
        field.name: redacted(getattr(value, field.name), kept)
        if stated[field.name] in KEPT[kept]
        else _blank(field)
        for field in _fields(type(value))
    }
    return msgspec.structs.replace(value, **changes)


#: It reads the annotations anew each time, of which a large report has a hundred thousand.
_fields = cache(msgspec.structs.fields)


@cache
def what_fields_state(kind: type[Struct]) -> dict[str, str]:
    """What each field of a struct states of people: "neither", "count" or "value".

    A field that holds structs is as its mark says, or, without one, as each of their fields says.
    """
    hints = get_type_hints(kind, include_extras=True)
    return {name: _state(hints[name]) for name in kind.__struct_fields__}


def _state(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        inner, *marks = get_args(hint)
        extras = [mark.extra for mark in marks if isinstance(mark, Meta) and mark.extra]
        return str(extras[0]["people"]) if extras else _state(inner)
    inner = get_args(hint) or (hint,)
    holds_structs = any(isinstance(one, type) and issubclass(one, Struct) for one in inner)
    return "neither" if holds_structs else "value"


def _blank(field: Any) -> Any:
    """What stands for a value that is left out."""
    if field.default_factory is not NODEFAULT:
        return field.default_factory()
    if field.default is NODEFAULT:
        raise TypeError(f"Field {field.name!r} tells of people, and needs a default to be without.")
    return field.default
