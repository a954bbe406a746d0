"""numba where it is installed; every compiled function of the package is made by `njit` here.

Without numba the functions stay plain Python, and `_vectorised` does their work with NumPy.
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
