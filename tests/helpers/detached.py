"""Processes that outlive the one that starts them are not started by tests."""

from __future__ import annotations

from skfairtest.workers import _detached

#: The package's own function, for the tests of it.
start_python = _detached.start_python


def install() -> None:
    """Let the package start nothing, from here on; processes that tests start are as they are."""
    _detached.start_python = lambda statements: None
