"""The command line, `skfairtest` or `python -m skfairtest`, with one file per command."""

from skfairtest.cli._main import main

__all__ = ["main"]
