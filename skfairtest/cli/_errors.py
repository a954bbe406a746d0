"""Errors that end a command early, and their exit codes."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended, where no outcome says it (0 within, 1 exceeded, 3 undecided)."""

    USAGE = 2
    FAILED = 4
    INTERRUPTED = 130


class CommandError(Exception):
    """The command cannot go on; the message says what was expected, what was got, what to do."""

    exit_code = ExitCode.USAGE


class ModelFailed(CommandError):
    """The model raised an error, or returned something that is not a prediction."""

    exit_code = ExitCode.FAILED
