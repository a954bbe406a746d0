"""Decorators that compile functions of the package if numba is installed.

Without numba the functions stay plain Python, and engines beside them do the work with NumPy. Numba
optimises a function again in each of its callers, so that deep calls take long to compile: a
function with one caller is `inlined` into it, and is never compiled by itself.
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
    """Compile a function whose sums may be taken in any order, and that divides by no zero.

    It is only for functions that decide how fast a result is found, never what the result is.
    """
    if not AVAILABLE:
        return function
    compiled = _njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"}, error_model="numpy")
    return compiled(function)


def inlined(function: Any) -> Any:
    """Make a function part of the compiled functions that call it."""
    return _njit(inline="always")(function) if AVAILABLE else function


def plain(function: Any) -> Any:
    """Return the Python function behind a compiled one; it takes arrays as well as numbers."""
    return getattr(function, "py_func", function)
