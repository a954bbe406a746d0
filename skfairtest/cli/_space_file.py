"""Reads the file of --space: an `InputSpace` as JSON or TOML.

Only the form is checked here. Whether names are columns of the data, and values are possible in
them, is told by the space when it learns from the data.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from skfairtest.cli._errors import CommandError
from skfairtest.space import _constraints as constraints
from skfairtest.space._column_names import did_you_mean
from skfairtest.space._space import InputSpace

TOP = ("columns", "one_hot", "constraints", "twins", "plausible", "proposals")
#: What is said of a column, and the parameter of the space that it is.
OF_A_COLUMN = {"bounds": "bounds", "values": "categories", "step": "steps"}
KINDS = {
    "order": ("order", "offset"),
    "linear": ("linear", "relation", "limit"),
    "if": ("if", "then"),
    "allowed": ("allowed",),
    "where": ("where",),
}


def read_space(where: str, names: list[Any]) -> InputSpace:
    """Read which inputs exist from a JSON or TOML file, for data with columns of these names."""
    found = read_mapping(where)
    try:
        return InputSpace(**_parameters(found, names))
    except (ValueError, TypeError) as error:
        raise CommandError(f"{where!r}: {error}") from error


def read_mapping(where: str) -> dict[str, Any]:
    """Return the mapping that a JSON or TOML file holds."""
    kind = "JSON" if where.lower().endswith(".json") else "TOML"
    try:
        text = Path(where).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(
            f"The file {where!r} cannot be read: {getattr(error, 'strerror', None) or error}. "
            "Expected a JSON or TOML file."
        ) from error
    try:
        found = json.loads(text) if kind == "JSON" else tomllib.loads(text)
    except ValueError as error:
        raise CommandError(f"The file {where!r} is not {kind}: {error}.") from error
    if not isinstance(found, dict):
        raise CommandError(
            f"The file {where!r} holds a {type(found).__name__}; expected names with what they are."
        )
    return found


def _parameters(found: Mapping[str, Any], names: list[Any]) -> dict[str, Any]:
    _mapping(found, "the file", TOP)
    read = {name: found[name] for name in ("one_hot", "plausible", "proposals") if name in found}
    for name, column in _mapping(found.get("columns", {}), "columns").items():
        _mapping(column, f"columns.{name}", OF_A_COLUMN)
        if "values" in column and len(column) > 1:
            raise ValueError(
                f"columns.{name} has values and a range at once. Give values for categories, or "
                "bounds and step for numbers."
            )
        for key, value in column.items():
            read.setdefault(OF_A_COLUMN[key], {})[name] = value
    if "constraints" in found:
        listed = _list(found["constraints"], "constraints")
        read["constraint"] = [_constraint(one, names) for one in listed]
    if "twins" in found:
        read["twins"] = _twins(_list(found["twins"], "twins"))
    return read


def _constraint(one: Any, names: list[Any]) -> Any:
    _mapping(one, "a constraint")
    kind = next((kind for kind in KINDS if kind in one), None)
    if kind is None:
        raise ValueError(
            f"{one!r} is not a constraint. A constraint has one of the keys {', '.join(KINDS)}."
        )
    _mapping(one, f"a constraint with {kind!r}", KINDS[kind])
    what = one[kind]
    if kind == "order":
        column, relation, other = _list(what, kind, 3)
        return constraints.Order(column, relation, other, one.get("offset", 0))
    if kind == "linear":
        return constraints.Linear(what, one.get("relation", "<="), one.get("limit", 0))
    if kind == "allowed":
        return constraints.Allowed(what)
    if kind == "where":
        return _condition(what, names)
    if "then" not in one:
        raise ValueError(f"{one!r} has no key 'then', which says what follows.")
    return constraints.Implies(_condition(what, names), _condition(one["then"], names))


def _condition(found: Any, names: list[Any]) -> Any:
    """Return values by column, or a constraint."""
    _mapping(found, "a condition")
    if any(kind in found for kind in KINDS) and not any(name in names for name in found):
        return _constraint(found, names)
    return {name: _values(values) for name, values in found.items()}


def _values(values: Any) -> Any:
    if not isinstance(values, Mapping):
        return values
    _mapping(values, "a range", ("min", "max"))
    return values.get("min"), values.get("max")


def _twins(found: list[Any]) -> dict[Any, Any]:
    rules: dict[Any, Any] = {}
    for one in found:
        _mapping(one, "twins", ("where", "set"))
        where, follows = (_mapping(one.get(key), f"twins.{key}") for key in ("where", "set"))
        if len(where) != 1:
            raise ValueError(f"twins.where must have one sensitive column; got {where!r}.")
        ((column, value),) = where.items()
        rules.setdefault(column, {}).setdefault(value, {}).update(follows)
    return rules


def _mapping(found: Any, place: str, known: Iterable[str] | None = None) -> Mapping[str, Any]:
    """Return what is a mapping, whose keys are known; else raise an error."""
    if not isinstance(found, Mapping):
        raise ValueError(f"{place} must be names with what they are; got {found!r}.")
    for name in found:
        if known is not None and name not in known:
            raise ValueError(
                f"{place} has no key {name!r}.{did_you_mean(name, known)} There are: "
                f"{', '.join(known)}."
            )
    return found


def _list(found: Any, place: str, length: int | None = None) -> list[Any]:
    if not isinstance(found, list) or (length is not None and len(found) != length):
        expected = "a list" if length is None else f"a list of {length}"
        raise ValueError(f"{place} must be {expected}; got {found!r}.")
    return found
