"""What ends a command early, and what each end is as an exit code."""

from __future__ import annotations

#: Beside the codes of an outcome (0 within, 1 exceeded, 3 undecided, 4 failed).
USAGE = 2
FAILED = 4
INTERRUPTED = 130


class CommandError(Exception):
    """A command cannot go on; the message says what was expected, what was got, what to do."""

    exit_code = USAGE


class ModelFailed(CommandError):
    """The model raised, or what it returned is no prediction."""

    exit_code = FAILED
