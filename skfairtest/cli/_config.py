"""Reads options of a command from pyproject.toml; the command line takes precedence."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from skfairtest.cli._errors import CommandError
from skfairtest.cli._names import did_you_mean
from skfairtest.cli._space_file import read_mapping

TABLE = "tool.skfairtest.audit"
#: Options that name files, which in the table are relative to the file that it is in.
PATHS = ("model", "data", "space", "sensitive_file", "html", "json", "junit", "markdown")
LISTS = ("sensitive", "drop", "trust")
#: What a table must not turn on, as it is read without anybody looking at it.
NOT_HERE = ("config", "unsafe_pickle", "help")


def options_of(where: str, actions: list[argparse.Action]) -> dict[str, Any]:
    """Return the options that the table gives, as the parser would have read them.

    Parameters
    ----------
    where : str
        A TOML file.
    actions : list of argparse.Action
        The options that there are.

    Returns
    -------
    dict
        By the names of the parser.

    Raises
    ------
    CommandError
        If there is no such table, or it has unknown keys or values of the wrong kind.
    """
    table: Any = read_mapping(where)
    for part in TABLE.split("."):
        table = table.get(part) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        raise CommandError(
            f"The file {where!r} has no table [{TABLE}]. Add it, or leave out --config."
        )
    known = {action.dest: action for action in actions if action.dest not in NOT_HERE}
    found = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name in NOT_HERE:
            raise CommandError(
                f"{where!r}: {key!r} cannot be set in [{TABLE}]; give --{key} on the command line."
            )
        if name not in known:
            names = [other.replace("_", "-") for other in known]
            raise CommandError(
                f"{where!r}: [{TABLE}] has an unknown key "
                f"{key!r}.{did_you_mean(name.replace('_', '-'), names)} The known keys are: "
                f"{', '.join(names)}."
            )
        found[name] = _value(where, key, value, known[name])
        if name in PATHS:
            found[name] = _from_folder_of(where, name, found[name])
    return found


def _value(where: str, key: str, value: Any, action: argparse.Action) -> Any:
    entry = f"{where!r}: {key} in [{TABLE}]"
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise CommandError(f"{entry} must be true or false; got {value!r}.")
        return value
    if action.dest in LISTS:
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
            raise CommandError(f"{entry} must be a text or a list of texts; got {value!r}.")
        return values
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise CommandError(f"{entry} must be a number or a text; got {value!r}.")
    if action.type is None:
        if not isinstance(value, str):
            raise CommandError(f'{entry} must be a text; got {value!r}. Write {key} = "{value}".')
        return value
    try:
        return action.type(str(value))  # type: ignore[operator]
    except (ValueError, argparse.ArgumentTypeError) as error:
        raise CommandError(f"{entry}: {error}") from error


def _from_folder_of(where: str, name: str, value: str) -> str:
    if value == "-" or Path(value).is_absolute():
        return value
    path = Path(where).parent / value
    # A model may be imported as well.
    if name == "model" and ":" in value and not path.exists():
        return value
    return str(path)
