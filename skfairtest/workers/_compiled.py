"""Decorators that compile functions of the package if numba is installed and can keep the result.

Numba, whose import alone takes half a second, is imported when the first of these functions is
called. Without it the functions stay plain Python, and engines beside them do the work with NumPy.
Numba optimises a function again in each of its callers, so that deep calls take long to compile: a
function with one caller is `inlined` into it, and is never compiled by itself.
"""

from __future__ import annotations

import re
import warnings
from functools import cached_property, lru_cache, partial, update_wrapper
from threading import Lock
from typing import Any

#: The oldest version of numba that compiles the package.
OLDEST = (0, 60)


def _probe() -> None:
    """Do nothing: whether numba finds a folder to keep this in, it finds one for all."""


@lru_cache(maxsize=1)
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


def why_not() -> str:
    """Why functions are not compiled, even at their first call; the empty text where they are."""
    return _load()[1]


#: What numba is yet to be told of inner functions, before it compiles a caller.
_waiting: list[Any] = []
_lock = Lock()


class Compiled:
    """A function that is compiled at its first call, and behaves like numba's from then on.

    Numba asks for what makes a function one of its own when it compiles a caller.

    - `py_func`: the Python function.
    - `options`: those of numba.njit.
    """

    def __init__(self, function: Any, **options: Any) -> None:
        update_wrapper(self, function)
        self.py_func, self.options = function, options

    @cached_property
    def _made(self) -> Any:
        with _lock:  # of several threads none may compile before all is told
            njit, why = _load()
            while not why and _waiting:
                _waiting.pop()()
            return self.py_func if why else njit(**self.options)(self.py_func)

    def __call__(self, *args: Any) -> Any:
        return self._made(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


def njit(function: Any) -> Any:
    """Compile a function at its first call, and keep the result on disk."""
    return Compiled(function, cache=True, nogil=True)


def inner(function: Any, **options: Any) -> Any:
    """Compile a function where compiled functions call it; Python itself runs it as it is.

    So nothing is compiled where NumPy searches, and what Python needs to call a compiled function,
    which takes longer to compile than a short function itself, is left out.
    """
    _waiting.append(partial(_tell, function, options))
    return function


def _tell(function: Any, options: dict[str, Any]) -> None:
    from numba.extending import register_jitable

    register_jitable(nogil=True, **options)(function)


def njit_fast(function: Any) -> Any:
    """Compile an inner function whose sums may be taken in any order, and that divides by no zero.

    It is only for functions that decide how fast a result is found, never what the result is.
    """
    return inner(function, fastmath={"reassoc", "nsz"}, error_model="numpy")


def inlined(function: Any) -> Any:
    """Make a function part of the compiled functions that call it."""
    return Compiled(function, inline="always")


def plain(function: Any) -> Any:
    """Return the Python function behind a compiled one; it takes arrays as well as numbers."""
    return getattr(function, "py_func", function)
