"""Parsers of the commands, whose help is written by hand, so that it fits a screen."""

from __future__ import annotations

import argparse
import math
import re
import sys
from typing import NoReturn

from skfairtest.cli._errors import ExitCode


class Parser(argparse.ArgumentParser):
    """A parser of a command whose help is a text, and whose errors suggest the nearest option."""

    def __init__(self, command: str, text: str) -> None:
        super().__init__(prog=f"skfairtest {command}", allow_abbrev=False)
        self.text = text.strip() + "\n"
        self.place = self.prog  # where the words come from

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
        from skfairtest.space._column_names import did_you_mean  # pandas, which --help needs not

        words = re.findall(r"--[\w-]+", message) if "unrecognized" in message else []
        hint = did_you_mean(words[0], self._option_string_actions) if words else ""
        sys.stderr.write(f"{self.place}: error: {message}.{hint} See {self.prog} --help\n")
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


def whole(text: str, low: int = 0) -> int:
    """A whole number of at least 0."""
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if value < low:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least {low}; got {text!r}")
    return value


def at_least_one(text: str) -> int:
    """A whole number of at least 1."""
    return whole(text, 1)


def seconds(text: str) -> float | None:
    """Seconds above 0, or "none" for no limit."""
    if text.lower() == "none":
        return None
    value = number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, or none; got {text!r}")
    return value


def add_inputs(parser: Parser) -> None:
    """Add the options that say what is read and how much is printed."""
    parser.add_argument("--sensitive", action="append", default=[], metavar="COLUMNS")
    parser.add_argument("--target", metavar="COLUMN")
    parser.add_argument("--drop", action="append", default=[], metavar="COLUMNS")
    parser.add_argument("--trust", action="append", default=[], metavar="TYPE")
    parser.add_argument("--unsafe-pickle", action="store_true")
    parser.add_argument("--seed", type=whole, default=0, metavar="N")
    parser.add_argument("--quiet", action="store_true")


def add_options(parser: Parser) -> None:
    """Add the options of commands that look at models."""
    add_inputs(parser)
    parser.add_argument("--space", metavar="FILE")
    parser.add_argument("--max-queries", type=at_least_one, metavar="N")
    parser.add_argument("--max-time", type=seconds, default=60.0, metavar="S")


def add_audit_options(parser: Parser) -> None:
    """Add the options of commands that audit."""
    add_options(parser)
    parser.add_argument("--sensitive-file", metavar="FILE")
    parser.add_argument("--control", action="append", default=[], metavar="COLUMNS")
    parser.add_argument("--auditor", metavar="NAME")
    parser.add_argument("--threshold", type=number, metavar="T")
    parser.add_argument("--favourable", type=str, metavar="LABEL")
