"""Whether the compiled code is there, and a process of its own that compiles it where it is not.

Compiling takes about a minute and cannot be interrupted, and a thread that compiles ends with its
process. So another process compiles, which outlives whoever asked for it, and numba keeps the
result on disk. Beside it stands a file that is locked by whoever compiles, and names the functions
that are stored as a whole: numba writes the index of a function before its code.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from joblib import cpu_count

from skfairtest import _clock
from skfairtest.exact._trees.best_first import hand_over, search
from skfairtest.exact._trees.box_pricing import use_prices
from skfairtest.exact._trees.local_search import search_locally
from skfairtest.exact._trees.prices import price_trees
from skfairtest.exact._trees.rows_on_cells import sums_of_twins
from skfairtest.workers import _compiled, _detached
from skfairtest.workers._compiled import AVAILABLE, plain

#: The functions that Python calls to price boxes, and all that it calls, in the order in which they
#: are compiled.
PRICING_ENTRIES = (price_trees, use_prices)
ENTRIES = (search_locally, hand_over, search, sums_of_twins, *PRICING_ENTRIES)
#: How many processes compile; seconds after which a search leaves room for them, and how many times
#: as long as it works it waits.
N_COMPILERS, ALONE, WAITING = 2, 8.0, 3.0
#: What the other process does.
STATEMENTS = "from skfairtest.exact._trees import driver; driver.fill_cache()"


def is_compiled(*entries: Any) -> bool:
    """Return whether functions, or all, are in memory, or on disk, so that they take no time.

    Who asks again and again pays for one look at the disk.
    """
    asked = entries or ENTRIES
    return AVAILABLE and (all(entry.signatures for entry in asked) or _are_stored(asked))


def _are_stored(entries: tuple[Any, ...]) -> bool:
    try:
        if not state_file().stat().st_size:
            return False
        stored = state_file().read_text("utf-8").splitlines()
    except OSError:
        return False
    # Whoever cleans up may leave the file of another name where it is.
    return all(_name(entry) in stored and _has_code(entry) for entry in entries)


def _name(entry: Any) -> str:
    code = plain(entry).__code__
    return f"{code.co_name}-{code.co_firstlineno}"


def _has_code(entry: Any) -> bool:
    return any(_folder().glob(f"*.{_name(entry)}.*.nbc"))


def _folder() -> Path:
    return Path(search.stats.cache_path)


@lru_cache(maxsize=1)
def state_file() -> Path:
    """Return the file that says what is stored.

    In its name is whatever decides about the code: sources, versions and the processor. What an
    older version of the package has stored, or another kind of machine, does not count.
    """
    from llvmlite import binding
    from numba import __version__

    host = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    asked = [f"{name}={os.environ[name]}" for name in sorted(os.environ) if "NUMBA_CPU" in name]
    about = [sys.version, __version__, *host, *asked]
    for path in [*sorted(Path(__file__).parent.glob("*.py")), Path(_compiled.__file__)]:
        # Some versions of numba look at the time of a file, and others at its content.
        about += [path.name, str(path.stat().st_mtime_ns), path.read_text("utf-8")]
    digest = hashlib.sha256("\0".join(about).encode()).hexdigest()
    return _folder() / f"skfairtest-{digest[:16]}.stored"


def note_stored(entry: Any) -> None:
    """Note that a function is stored; where nothing can be written, numba has not stored it."""
    if _are_stored((entry,)):
        return
    with contextlib.suppress(OSError), open(state_file(), "a", encoding="utf-8") as file:
        file.write(f"{_name(entry)}\n")


def compile_apart() -> None:
    """Begin to compile in another process, unless one does or all is there."""
    if not AVAILABLE or is_compiled():
        return
    with contextlib.suppress(OSError):
        with _detached.locked(state_file()) as is_free:
            pass
        if is_free:
            _start()


@lru_cache(maxsize=1)
def _start() -> subprocess.Popen[bytes] | None:
    # Once in each process: what failed would fail again, and take a core for as long.
    return _detached.start_python(STATEMENTS)


def leave_room(began: float, looked: float, deadline: float) -> float:
    """Wait where cores are few and another process compiles; return the time after that.

    The search that goes on meanwhile is many times slower than the one that is compiled, so that
    it gives up most of its time, but for its first seconds, in which small models are done.

    - `began`: when this search began, by `_clock.now`.
    - `looked`: when it last left room.
    - `deadline`: when to wait no longer.
    """
    now = _clock.now()
    if now - began > ALONE and _compiles() and cpu_count() <= N_COMPILERS:
        time.sleep(max(0.0, min(WAITING * (now - looked), deadline - now)))
    return _clock.now()


def _compiles() -> bool:
    """Whether the process that was started from here compiles."""
    process = _start() if _start.cache_info().currsize else None
    return process is not None and process.poll() is None
