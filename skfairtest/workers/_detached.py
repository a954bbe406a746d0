"""Processes that go on when the one that started them has ended."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing.spawn import get_executable
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

#: The byte of a file that is locked on Windows, where nobody reads what is locked.
LOCKED_BYTE = 1_000_000


def start_python(statements: str) -> subprocess.Popen[bytes] | None:
    """Run statements in a Python of its own, which finds the modules that are found here.

    Nothing is started, and None returned, where there is no interpreter to start, as in a frozen
    application.
    """
    executable = get_executable()
    if getattr(sys, "frozen", False) or not executable:
        return None
    code = f"import sys; sys.path[:] = {[*map(str, sys.path)]!r}; {statements}"
    apart = ("DETACHED_PROCESS", "CREATE_NEW_PROCESS_GROUP")  # on Windows alone
    with contextlib.suppress(OSError):
        process = subprocess.Popen(
            [executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=sum(getattr(subprocess, flag, 0) for flag in apart),
        )
        # Whoever ended before this process would stay in the system's table if nobody waited.
        threading.Thread(target=process.wait, daemon=True).start()
        return process
    return None


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Lock a file, which is made if need be, and tell whether no other process has locked it.

    The lock ends with the process, however that ends.
    """
    with open(path, "ab") as file:
        yield _is_free(file)


def _is_free(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            file.seek(LOCKED_BYTE)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # some network drives have no locks
        return True
    return True
