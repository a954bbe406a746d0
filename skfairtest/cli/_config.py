"""Reads options of a command from pyproject.toml; the command line takes precedence."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skfairtest.cli._errors import CommandError
from skfairtest.cli._parser import Parser
from skfairtest.cli._space_file import read_mapping

TABLE = "tool.skfairtest.audit"


def read_options(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    """Read the options of a command; those in the file of --config are its defaults."""
    options = parser.parse_args(words)
    if options.config is None:
        return options
    for name, value in _options_of(options.config, parser).items():
        # An option that may be repeated would add to the list that is its default.
        if not (isinstance(value, list) and getattr(options, name)):
            parser.set_defaults(**{name: value})
    return parser.parse_args(words)


def _options_of(where: str, parser: Parser) -> dict[str, Any]:
    """Let the parser read a table as it reads a command line."""
    table: Any = read_mapping(where)
    for part in TABLE.split("."):
        table = table.get(part) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        raise CommandError(
            f"The file {where!r} has no table [{TABLE}]. Add it, or leave out --config."
        )
    table = {key.replace("_", "-"): value for key, value in table.items()}
    arguments = {name: table.pop(name) for name in ("model", "data") if name in table}
    for name, value in arguments.items():
        if not isinstance(value, str):
            raise CommandError(f"{where!r}: {name} must be a text; got {value!r}.")
    words = []
    for key, value in table.items():
        if key in ("config", "unsafe-pickle", "help"):  # it is read without anybody looking at it
            raise CommandError(
                f"{where!r}: {key!r} cannot be set in [{TABLE}]; give --{key} on the command line."
            )
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, (dict, list)):
                raise CommandError(f"{where!r}: {key} in [{TABLE}] is no option; got {one!r}.")
            if one is not False:
                words.append(f"--{key}" if one is True else f"--{key}={one}")
    parser.place = f"{where!r}, [{TABLE}]"
    found = vars(parser.parse_args(words)) | arguments
    parser.place = parser.prog
    for action in parser.options:
        value = found[action.dest] if action.metavar in ("MODEL", "DATA", "FILE") else None
        # Paths are relative to the file that they are in. A model may be imported as well.
        if value not in (None, "-") and (action.dest != "model" or ":" not in value):
            found[action.dest] = str(Path(where).parent / value)
    return found
