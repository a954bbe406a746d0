"""Decorators that compile functions of the package if numba is installed and can keep the result.

Without numba the functions stay plain Python, and engines beside them do the work with NumPy. Numba
optimises a function again in each of its callers, so that deep calls take long to compile: a
function with one caller is `inlined` into it, and is never compiled by itself.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

#: The oldest version of numba that compiles the package.
OLDEST = (0, 60)


def _probe() -> None:
    """Do nothing: whether numba finds a folder to keep this in, it finds one for all."""


def _load() -> tuple[Any, str]:
    """Return numba's decorator, and why it is of no use; the empty text where it is."""
    try:
        import numba
    except ImportError:  # the extra `exact` is not installed
        return None, "numba is not installed"
    version = tuple(int(part) for part in re.findall(r"\d+", numba.__version__)[:2])
    why = ""
    if version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        why = f"numba {numba.__version__} is older than {oldest}, the oldest version that works"
    elif getattr(numba.config, "DISABLE_JIT", False):
        why = "numba compiles nothing, as NUMBA_DISABLE_JIT is set"
    else:
        try:
            numba.njit(cache=True)(_probe)
        except RuntimeError:
            why = (
                "numba finds no folder that it can write to, and would compile again in each "
                "process (NUMBA_CACHE_DIR names one)"
            )
    if why:
        warnings.warn(
            f"{why}. It is not used; NumPy does the same, more slowly.",
            RuntimeWarning,
            stacklevel=2,
        )
    return numba.njit, why


_njit, WHY_NOT = _load()
#: Whether functions are compiled, at their first call.
AVAILABLE = not WHY_NOT


def njit(function: Any) -> Any:
    """Compile a function at its first call, and keep the result on disk."""
    return _njit(cache=True, nogil=True)(function) if AVAILABLE else function


def inner(function: Any, **options: Any) -> Any:
    """Compile a function where compiled functions call it; Python itself runs it as it is.

    So nothing is compiled where NumPy searches, and what Python needs to call a compiled function,
    which takes longer to compile than a short function itself, is left out.
    """
    if not AVAILABLE:
        return function
    from numba.extending import register_jitable

    register_jitable(nogil=True, **options)(function)
    return function


def njit_fast(function: Any) -> Any:
    """Compile an inner function whose sums may be taken in any order, and that divides by no zero.

    It is only for functions that decide how fast a result is found, never what the result is.
    """
    return inner(function, fastmath={"reassoc", "nsz"}, error_model="numpy")


def inlined(function: Any) -> Any:
    """Make a function part of the compiled functions that call it."""
    return _njit(inline="always")(function) if AVAILABLE else function


def plain(function: Any) -> Any:
    """Return the Python function behind a compiled one; it takes arrays as well as numbers."""
    return getattr(function, "py_func", function)
