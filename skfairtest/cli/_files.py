"""Files that a command writes: they are checked before it searches, and written whole or not."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from skfairtest.cli._errors import CommandError
from skfairtest.report._writing import write_file

STANDARD_OUTPUT = "-"


def check_outputs(outputs: Mapping[str, str | None], inputs: Sequence[str | None]) -> None:
    """Raise an error unless each output can be written and replaces no other output or input.

    Outputs are paths by option, None where it was not given; inputs may be None and "-", too.
    """
    read = {Path(name).resolve() for name in inputs if name and name != STANDARD_OUTPUT}
    written: dict[Path | str, str] = {}
    for option, where in outputs.items():
        if where is None:
            continue
        place: Path | str = where
        if where != STANDARD_OUTPUT:
            _check_writable(option, where)
            place = Path(where).resolve()
        if place in written:
            raise CommandError(
                f"{option} and {written[place]} both write to {where!r}. Give each a place of its "
                "own."
            )
        if place in read:
            raise CommandError(
                f"{option} {where!r} would replace a file that the command reads. Give another "
                "path."
            )
        written[place] = option


def _check_writable(option: str, where: str) -> None:
    path, why = Path(where), ""
    if not where or "\0" in where:
        why = "it is no path"
    elif path.is_dir():
        why = "it is a folder"
    else:
        try:
            # Asking is not enough: a network drive or a full disk says yes, and refuses.
            with tempfile.TemporaryFile(dir=path.parent):
                pass
            if path.exists():
                path.open("ab").close()
        except OSError as error:
            why = error.strerror or str(error)
    if why:
        raise CommandError(
            f"{option} {where!r} cannot be written: {why}. Give a file in a folder that exists "
            "and may be written to."
        )


def write_output(where: str, text: str) -> None:
    """Write a file in one step, or to standard output where it is "-"."""
    if where != STANDARD_OUTPUT:
        write_file(where, text)
        return
    text = text if text.endswith("\n") else f"{text}\n"
    sys.stdout.flush()
    if hasattr(sys.stdout, "buffer"):  # a terminal may not have all letters, a file has
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    else:
        sys.stdout.write(text)
    sys.stdout.flush()
