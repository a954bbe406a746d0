"""Whether the compiled search is there, in memory or on disk, and what to do where it is not.

Compiling takes most of a minute, so that it is asked for: by `skfairtest compile`, or by the name
of the engine. Numba keeps the result on disk. Beside it stands a file that says that all of it is
there, so that looking takes no time and never compiles.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from skfairtest.exact._trees.best_first import hand_over, search
from skfairtest.exact._trees.box_bounds import use_multipliers
from skfairtest.exact._trees.local_search import search_locally
from skfairtest.exact._trees.multipliers import bound_by_multipliers
from skfairtest.workers import _compiled
from skfairtest.workers._compiled import plain, why_not

#: The functions that Python calls.
ENTRIES: tuple[Any, ...] = (
    search_locally,
    hand_over,
    search,
    bound_by_multipliers,
    use_multipliers,
)


def is_compiled() -> bool:
    """Return whether all functions are in memory, or on disk, so that they take no time."""
    return not why_not() and (all(entry.signatures for entry in ENTRIES) or _are_stored())


def how_to_compile() -> str:
    """Return what brings the compiled search, as a sentence; empty where it is there."""
    if is_compiled():
        return ""
    faster = "the compiled search leaves narrower gaps"
    if why := why_not():
        return (
            f"{faster}, but {why}: pip install 'skfairtest[exact]', then skfairtest compile, "
            "once on a machine"
        )
    return f"{faster}: skfairtest compile, once on a machine"


def _are_stored() -> bool:
    # Whoever cleans up may leave the file of another name where it is.
    return state_file().exists() and all(
        any(_folder().glob(f"*.{_name(entry)}.*.nbc")) for entry in ENTRIES
    )


def _name(entry: Any) -> str:
    code = plain(entry).__code__
    return f"{code.co_name}-{code.co_firstlineno}"


def _folder() -> Path:
    return Path(search.stats.cache_path)


@lru_cache(maxsize=1)
def state_file() -> Path:
    """Return the file that says that all is stored.

    In its name is whatever decides about the code: sources, versions and the processor. What an
    older version of the package has stored, or another kind of machine, does not count.
    """
    from llvmlite import binding
    from numba import __version__

    host = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    asked = [f"{name}={os.environ[name]}" for name in sorted(os.environ) if "NUMBA_CPU" in name]
    about = [sys.version, __version__, *host, *asked]
    for path in [*sorted(Path(__file__).parent.glob("*.py")), Path(_compiled.__file__)]:
        text = path.read_text("utf-8")
        if "@in" in text or "@njit" in text or path == Path(_compiled.__file__):
            # Some versions of numba look at the time of a file, and others at its content.
            about += [path.name, str(path.stat().st_mtime_ns), text]
    digest = hashlib.sha256("\0".join(about).encode()).hexdigest()
    return _folder() / f"skfairtest-{digest[:16]}.stored"


def forget_older() -> None:
    """Remove what was compiled from other sources, unless all that is stored is of these.

    Numba looks at a function's own file, not at those of the functions that it calls.
    """
    if _are_stored():
        return
    modules = {path.stem for path in Path(__file__).parent.glob("*.py")}
    for path in _folder().glob("*.nb[ic]"):
        if path.name.partition(".")[0] in modules:
            path.unlink(missing_ok=True)


def note_stored() -> None:
    """Note that all functions are stored; where nothing can be written, numba has stored none."""
    with contextlib.suppress(OSError):
        state_file().touch()
