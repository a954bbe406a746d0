"""The command line: ``skfairtest demo``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import skfairtest
from skfairtest._demo import run_demo

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Words behind the program's name; by default those of the process.

    Returns
    -------
    int
        Exit status.

    Examples
    --------
    >>> from skfairtest.__main__ import main
    >>> main(["demo", "--max-queries", "400", "--trees", "5"])  # doctest: +ELLIPSIS
    Trained ...
    0
    """
    parser = argparse.ArgumentParser(prog="skfairtest", description=skfairtest.__doc__)
    parser.add_argument("--version", action="version", version=skfairtest.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser(
        "demo", help="train a forest on the diabetes data and audit it with SBFT"
    )
    demo.add_argument("--max-queries", type=int, default=20_000, help="rows shown to the model")
    demo.add_argument("--max-time", type=float, default=45.0, help="seconds for the search")
    demo.add_argument("--trees", type=int, default=100, help="trees in the forest")
    demo.add_argument(
        "--threshold", type=float, default=20.0, help="difference that counts as a find"
    )
    demo.add_argument("--seed", type=int, default=0, help="seed of model and search")
    demo.add_argument("--verbose", action="store_true", help="show the course of the search")
    options = parser.parse_args(arguments)
    try:
        run_demo(
            max_queries=options.max_queries,
            max_time=options.max_time,
            n_trees=options.trees,
            threshold=options.threshold,
            seed=options.seed,
            verbose=int(options.verbose),
        )
    except ValueError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
