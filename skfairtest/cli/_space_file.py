"""Reads the file of --space: an `InputSpace` as JSON or TOML."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skfairtest.cli._errors import CommandError
from skfairtest.cli._names import did_you_mean
from skfairtest.space import _constraints as constraints
from skfairtest.space._space import InputSpace

TOP = ("columns", "one_hot", "constraints", "twins", "plausible", "proposals")
OF_A_COLUMN = ("bounds", "values", "step")
KINDS = {
    "order": ("order", "offset"),
    "linear": ("linear", "relation", "limit"),
    "if": ("if", "then"),
    "allowed": ("allowed",),
    "where": ("where",),
}
OF_A_TWIN = ("where", "set")
OF_A_RANGE = ("min", "max")


def read_space(where: str, names: list[Any]) -> InputSpace:
    """Read which inputs exist from a file.

    Parameters
    ----------
    where : str
        Path of a JSON or TOML file.
    names : list
        The columns of the data.

    Returns
    -------
    InputSpace
        With the parameters that the file tells, to be learned from the data.

    Raises
    ------
    CommandError
        If the file cannot be read, or holds what has no meaning.
    """
    try:
        return InputSpace(**_SpaceReader(repr(where), names).parameters(read_mapping(where)))
    except (ValueError, TypeError) as error:
        raise CommandError(f"{where!r}: {error}") from error


def read_mapping(where: str) -> dict[str, Any]:
    """The mapping that a JSON or TOML file holds."""
    path = Path(where)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(
            f"The file {where!r} cannot be read: {getattr(error, 'strerror', None) or error}. "
            "Expected a JSON or TOML file."
        ) from error
    try:
        found = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except ValueError as error:
        kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
        raise CommandError(f"The file {where!r} is not {kind}: {error}.") from error
    if not isinstance(found, dict):
        raise CommandError(
            f"The file {where!r} holds a {type(found).__name__}; expected names with what they are."
        )
    return found


class _SpaceReader:
    """Reads one file; `file` is its name in messages."""

    def __init__(self, file: str, names: list[Any]) -> None:
        self.file, self.names = file, names

    def parameters(self, found: Mapping[str, Any]) -> dict[str, Any]:
        self._known(found, TOP, "the file")
        read: dict[str, Any] = {}
        for name, column in _mapping(found.get("columns", {}), "columns").items():
            self._column(name)
            column = _mapping(column, f"columns.{name}")
            self._known(column, OF_A_COLUMN, f"columns.{name}")
            if "values" in column and len(column) > 1:
                raise CommandError(
                    f"{self.file}: columns.{name} has values and a range at once. Give values for "
                    "categories, or bounds and step for numbers."
                )
            if "bounds" in column:
                read.setdefault("bounds", {})[name] = _list(column["bounds"], f"{name}.bounds", 2)
            if "values" in column:
                values = _list(column["values"], f"{name}.values")
                read.setdefault("categories", {})[name] = values
            if "step" in column:
                read.setdefault("steps", {})[name] = column["step"]
        if "one_hot" in found:
            read["one_hot"] = {
                name: [self._column(column) for column in _list(columns, f"one_hot.{name}")]
                for name, columns in _mapping(found["one_hot"], "one_hot").items()
            }
        if "constraints" in found:
            listed = _list(found["constraints"], "constraints")
            read["constraint"] = [self._constraint(one) for one in listed]
        if "twins" in found:
            if isinstance(found["twins"], str):
                raise CommandError(
                    f"{self.file}: twins must be a list of what follows from a sensitive value; "
                    f"got {found['twins']!r}. Moved twins are no part of the file: audit measures "
                    "them on the rows of the data, as --max-moved-rate judges."
                )
            read["twins"] = self._twins(_list(found["twins"], "twins"))
        for name in ("plausible", "proposals"):
            if name in found:
                read[name] = found[name]
        return read

    def _column(self, name: Any) -> Any:
        if name in self.names:
            return name
        raise CommandError(
            f"{self.file} names {name!r}, which is not a column of the data."
            f"{did_you_mean(str(name), map(str, self.names))}"
        )

    def _known(self, found: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
        for name in found:
            if name not in known:
                raise CommandError(
                    f"{self.file}: {place} has no key {name!r}.{did_you_mean(name, known)} There "
                    f"are: {', '.join(known)}."
                )

    def _constraint(self, one: Any) -> Any:
        one = _mapping(one, "a constraint")
        kind = next((kind for kind in KINDS if kind in one), None)
        if kind is None:
            raise CommandError(
                f"{self.file}: {one!r} is not a constraint. A constraint has one of the keys "
                f"{', '.join(KINDS)}."
            )
        self._known(one, KINDS[kind], f"a constraint with {kind!r}")
        what = one[kind]
        if kind == "order":
            column, relation, other = _list(what, kind, 3)
            column, other = self._column(column), self._column(other)
            return constraints.Order(column, relation, other, offset=one.get("offset", 0))
        if kind == "linear":
            weights = {self._column(name): w for name, w in _mapping(what, kind).items()}
            return constraints.Linear(weights, one.get("relation", "<="), one.get("limit", 0))
        if kind == "if":
            if "then" not in one:
                raise CommandError(
                    f"{self.file}: {one!r} has no key 'then', which says what follows."
                )
            return constraints.Implies(self._condition(what), self._condition(one["then"]))
        if kind == "allowed":
            if isinstance(what, Mapping):
                return constraints.Allowed({self._column(name): what[name] for name in what})
            return constraints.Allowed([self._column(name) for name in _list(what, kind)])
        return self._condition(what)

    def _condition(self, found: Any) -> Any:
        """Values by column, or a constraint."""
        found = _mapping(found, "a condition")
        if any(kind in found for kind in KINDS) and not any(name in self.names for name in found):
            return self._constraint(found)
        return {self._column(name): self._values(values) for name, values in found.items()}

    def _values(self, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        self._known(values, OF_A_RANGE, "a range")
        return values.get("min"), values.get("max")

    def _twins(self, found: list[Any]) -> dict[Any, Any]:
        rules: dict[Any, Any] = {}
        for one in found:
            one = _mapping(one, "twins")
            self._known(one, OF_A_TWIN, "twins")
            where, follows = (_mapping(one.get(key), f"twins.{key}") for key in OF_A_TWIN)
            if len(where) != 1:
                raise CommandError(
                    f"{self.file}: twins.where must have one sensitive column; got {where!r}."
                )
            ((column, value),) = where.items()
            of_value = rules.setdefault(self._column(column), {}).setdefault(value, {})
            of_value.update({self._column(name): then for name, then in follows.items()})
        return rules


def _mapping(found: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise CommandError(f"{place} must be names with what they are; got {found!r}.")
    return found


def _list(found: Any, place: str, length: int | None = None) -> list[Any]:
    if not isinstance(found, list) or (length is not None and len(found) != length):
        expected = "a list" if length is None else f"a list of {length}"
        raise CommandError(f"{place} must be {expected}; got {found!r}.")
    return found
