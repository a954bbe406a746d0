"""Parsers of the commands, whose help is written by hand, so that it fits a screen."""

from __future__ import annotations

import argparse
import math
import re
import sys
from typing import Any, NoReturn

from skfairtest.cli._errors import ExitCode
from skfairtest.cli._names import did_you_mean


class Parser(argparse.ArgumentParser):
    """A parser whose help is a text, and whose errors suggest the nearest option.

    Options that are not given are absent from what it reads, so that a file of settings can give
    them.

    Parameters
    ----------
    command : str
        Name of the command; empty for the program itself.
    text : str
        The help.
    """

    def __init__(self, command: str, text: str) -> None:
        super().__init__(
            prog=f"skfairtest {command}".strip(),
            allow_abbrev=False,
            argument_default=argparse.SUPPRESS,
        )
        self.text = text.strip() + "\n"

    def format_help(self) -> str:
        """The text."""
        return self.text

    def format_usage(self) -> str:
        """Its first line."""
        return self.text.partition("\n")[0] + "\n"

    @property
    def options(self) -> list[argparse.Action]:
        """All options and arguments."""
        return self._actions

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end with the code for it."""
        known = [text for action in self._actions for text in action.option_strings]
        words = re.findall(r"--[\w-]+", message) if "unrecognized" in message else []
        hints = [did_you_mean(word, known) for word in words]
        hint = next((hint for hint in hints if hint), "")
        sys.stderr.write(f"{self.prog}: error: {message}.{hint} See {self.prog} --help\n")
        sys.exit(ExitCode.USAGE)


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a number; got {text!r}")
    return value


def whole(text: str) -> int:
    """A whole number of at least 0."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0; got {text!r}")
    return value


def at_least_one(text: str) -> int:
    """A whole number of at least 1."""
    value = whole(text)
    if not value:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1; got {text!r}")
    return value


def seconds(text: str) -> float | None:
    """Seconds above 0, or "none" for no limit."""
    if text.lower() == "none":
        return None
    value = number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, or none; got {text!r}")
    return value


def add_model_options(parser: Parser) -> None:
    """How a model and data are read."""
    parser.add_argument("--sensitive", action="append", metavar="COLUMNS")
    parser.add_argument("--target", metavar="COLUMN")
    parser.add_argument("--drop", action="append", metavar="COLUMNS")
    parser.add_argument("--space", metavar="FILE")
    parser.add_argument("--trust", action="append", metavar="TYPE")
    parser.add_argument("--unsafe-pickle", action="store_true")


def add_search_options(parser: Parser) -> None:
    """How an audit searches."""
    parser.add_argument("--sensitive-file", metavar="FILE")
    parser.add_argument("--auditor", metavar="NAME")
    parser.add_argument("--threshold", type=number, metavar="T")
    parser.add_argument("--favourable", type=str, metavar="LABEL")
    parser.add_argument("--max-queries", type=at_least_one, metavar="N")
    parser.add_argument("--max-time", type=seconds, metavar="S")
    parser.add_argument("--seed", type=whole, metavar="N")


def fill_in(given: argparse.Namespace, *more: dict[str, Any]) -> argparse.Namespace:
    """What was given, and of the rest what the first of the mappings has that has it."""
    known: dict[str, Any] = {}
    for mapping in more[::-1]:
        known |= mapping
    return argparse.Namespace(**(known | vars(given)))
