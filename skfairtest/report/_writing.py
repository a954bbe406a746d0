"""Writes a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any


def write_file(where: Any, text: str) -> None:
    """Write a file in one step, so that nobody reads half of it; an existing one is replaced.

    A letter that no file can hold, such as half a pair of surrogates, is written by its number.
    """
    path = Path(where)
    if path.is_symlink():
        path = path.resolve()
    if path.exists() and not path.is_file():  # such as /dev/null, which must not be replaced
        path.write_text(text, "utf-8", "backslashreplace")
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", -1, "utf-8", "backslashreplace", "\n") as file:
            file.write(text)
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
