"""The command line: one command a file; `python -m skfairtest` and `skfairtest` are the same."""

from skfairtest.cli._main import main

__all__ = ["main"]
