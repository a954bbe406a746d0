"""`skfairtest datasets` lists which data sets can be read, and where they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sklearn.datasets import get_data_home

from skfairtest.cli._errors import CommandError
from skfairtest.cli._parser import Parser
from skfairtest.cli._terminal import say
from skfairtest.datasets._loaders import KNOWN
from skfairtest.datasets._sources import ENVIRONMENT_VARIABLE, data_folder

HELP = """
usage: skfairtest datasets

List the public data sets that skfairtest.datasets reads, and where each of them
is: in the folder that the environment variable SKFAIRTEST_DATA names, in the
cache of scikit-learn, or on OpenML, from where its first use downloads it. This
command downloads nothing.

Example: SKFAIRTEST_DATA=data skfairtest datasets
"""


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    Parser("datasets", HELP).parse_args(words)
    try:
        folder = data_folder(None)
    except FileNotFoundError as error:
        raise CommandError(str(error)) from error
    cache = Path(get_data_home()).expanduser()
    width = max(map(len, KNOWN))
    for name, (files, number) in KNOWN.items():
        say(f"{name:<{width}}  {_place(files, number, folder, cache)}")
    where = folder or f"none (name one by the variable {ENVIRONMENT_VARIABLE})"
    say(f"\nFolder: {where}\nCache:  {cache}")
    say("In Python: from skfairtest.datasets import fetch_adult; data = fetch_adult()")
    return 0


def _place(files: list[str], number: int | None, folder: Path | None, cache: Path) -> str:
    """Return where a data set is, as its fetcher would look for it."""
    if folder is not None and all((folder / name).is_file() for name in files):
        return f"in the folder: {', '.join(files)}"
    if number is None:
        return f"not here: put {', '.join(files)} into the folder"
    # Below the cache the layout is scikit-learn's own business; the file is named by the number.
    if any((cache / "openml").rglob(f"{number}.gz")):
        return f"in the cache, from OpenML ({number})"
    return f"not here: downloaded from OpenML ({number}) at the first use"
