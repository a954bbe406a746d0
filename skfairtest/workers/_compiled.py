"""numba where it is installed; every compiled function of the package is made here.

Without numba the functions stay plain Python, and engines beside them do the work with NumPy. Each
compiled function is optimised again in all that call it, so that compiling takes long where calls
go deep: what has one caller is `inlined` into it, and is never compiled by itself.
"""

from __future__ import annotations

from typing import Any

try:
    from numba import njit as _njit

    AVAILABLE = True
except ImportError:  # the extra `exact` is not installed
    AVAILABLE = False


def njit(function: Any) -> Any:
    """Compile a function at its first call, and keep the result on disk."""
    return _njit(cache=True, nogil=True)(function) if AVAILABLE else function


def njit_fast(function: Any) -> Any:
    """The same where sums may be taken in any order; only for what decides on speed, not truth."""
    if not AVAILABLE:
        return function
    return _njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})(function)


def inlined(function: Any) -> Any:
    """Make a function part of the compiled functions that call it."""
    return _njit(inline="always")(function) if AVAILABLE else function


def plain(function: Any) -> Any:
    """The Python function behind a compiled one, which takes arrays where that takes numbers."""
    return getattr(function, "py_func", function)
