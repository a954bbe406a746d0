"""Files that a command writes: they are checked before it searches, and written whole or not."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from skfairtest.cli._errors import CommandError
from skfairtest.report._writing import write_whole as write_file

STANDARD_OUTPUT = "-"


def check_outputs(outputs: Mapping[str, str | None], inputs: Sequence[str | None]) -> None:
    """Raise an error unless each output can be written and replaces no other output or input.

    Parameters
    ----------
    outputs : dict of str to str
        Path by option; None where the option was not given.
    inputs : sequence of str
        What is read; None and "-" are no files.

    Raises
    ------
    CommandError
        If a file could not be written, which is known before anything was searched.
    """
    read = {Path(name).resolve(): name for name in inputs if name and name != STANDARD_OUTPUT}
    written: dict[Path | str, str] = {}
    for option, where in outputs.items():
        if where is None:
            continue
        if "\0" in where:
            raise CommandError(f"{option} {where!r} is not a path: it has a null character in it.")
        place: Path | str = STANDARD_OUTPUT if where == STANDARD_OUTPUT else Path(where).resolve()
        if place in written:
            raise CommandError(
                f"{option} and {written[place]} both write to {where!r}. Give each a place of its "
                "own."
            )
        written[place] = option
        if isinstance(place, Path):
            if place in read:
                raise CommandError(
                    f"{option} {where!r} would replace a file that the command reads. Give "
                    "another path."
                )
            _check_writable(option, where)


def _check_writable(option: str, where: str) -> None:
    path = Path(where)
    todo = "Give a file in a folder that exists and may be written to."
    if not where:
        raise CommandError(f"{option} got an empty path. {todo}")
    if path.is_dir():
        raise CommandError(f"{option} {where!r} cannot be written: it is a folder. {todo}")
    try:
        # Asking is not enough: a network drive or a full disk says yes, and refuses.
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.exists():
            with path.open("ab"):
                pass
    except OSError as error:
        raise CommandError(
            f"{option} {where!r} cannot be written: {error.strerror or error}. {todo}"
        ) from error


def write_whole(where: str, text: str) -> None:
    """Write a file in one step, so that nobody reads half of it; "-" is standard output."""
    if where == STANDARD_OUTPUT:
        text = text if text.endswith("\n") else f"{text}\n"
        sys.stdout.flush()
        if hasattr(sys.stdout, "buffer"):  # a terminal may not have all letters, a file has
            sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        else:
            sys.stdout.write(text)
        sys.stdout.flush()
        return
    write_file(where, text)
