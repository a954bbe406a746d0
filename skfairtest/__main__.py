"""The command line: ``skfairtest`` and ``python -m skfairtest``."""

from __future__ import annotations

import sys

from skfairtest.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
