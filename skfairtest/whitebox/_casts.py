"""Functions that turn a table into an array of numbers of some precision, and change nothing else.

Nets of torch want single precision, which people give them by a function of their own, such as
``lambda X: X.astype(np.float32)``. What a function does is read from its code: it is one of these
where it is, instruction by instruction, what one of the functions below is.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np

#: Functions of numpy that take a type.
MAKERS: tuple[Any, ...] = (np.array, np.asarray, np.ascontiguousarray)

#: Written out, so that others which are written the same way are recognised.
KNOWN: tuple[Callable[[Any], Any], ...] = (
    lambda X: X.astype(np.float32),
    lambda X: X.astype("float32"),
    lambda X: np.asarray(X, dtype=np.float32),
    lambda X: np.asarray(X, np.float32),
    lambda X: np.asarray(X, dtype="float32"),
    lambda X: np.asarray(X).astype(np.float32),
    lambda X: np.asarray(X).astype("float32"),
    lambda X: np.array(X, dtype=np.float32),
    lambda X: np.array(X).astype(np.float32),
    lambda X: np.float32(X),
    lambda X: X.to_numpy().astype(np.float32),
    lambda X: X.to_numpy().astype("float32"),
    lambda X: X.to_numpy(dtype=np.float32),
    lambda X: X.to_numpy(dtype="float32"),
    lambda X: X.to_numpy(np.float32),
    lambda X: X.values.astype(np.float32),
    lambda X: X.toarray().astype(np.float32),
    lambda X: X.astype(np.float32).toarray(),
    lambda X: X.toarray(),
    lambda X: (X.toarray() if hasattr(X, "toarray") else X).astype(np.float32),
    lambda X: (X.toarray() if hasattr(X, "toarray") else np.asarray(X)).astype(np.float32),
)
#: Names outside that these may use, and what they must stand for.
OUTSIDE: dict[str, Any] = {"np": np, "numpy": np, "hasattr": hasattr}
#: Kinds of functions that do something else than they say.
UNLIKE = (
    inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)  # fmt: skip


def is_cast(function: Any, settings: Any) -> bool:
    """Whether a function with such further arguments is known to change the type alone.

    Parameters
    ----------
    function : callable
        The `func` of a `FunctionTransformer`.
    settings : dict or None
        Its `kw_args`.
    """
    settings = settings or {}
    if any(function is maker for maker in MAKERS):
        return set(settings) <= {"dtype"} and _is_type(settings.get("dtype", float))
    if settings:
        return False
    if function is np.float32 or function is np.float64:
        return True
    if not isinstance(function, FunctionType) or function.__closure__ or function.__kwdefaults__:
        return False
    return any(_same(function, known) for known in KNOWN)


def _is_type(wanted: Any) -> bool:
    try:
        return np.dtype(wanted) in (np.dtype(np.float32), np.dtype(np.float64))
    except TypeError:
        return False


def _same(function: FunctionType, known: Any) -> bool:
    own: CodeType = function.__code__
    other: CodeType = known.__code__
    names = tuple("np" if name == "numpy" else name for name in own.co_names)
    if (names, own.co_argcount, own.co_kwonlyargcount) != (other.co_names, 1, 0):
        return False
    if own.co_flags & UNLIKE or _instructions(own) != _instructions(other):
        return False
    for name in own.co_names:
        if name not in OUTSIDE:
            continue
        inside = function.__globals__.get("__builtins__", {})
        builtin = inside.get(name) if isinstance(inside, dict) else getattr(inside, name, None)
        if function.__globals__.get(name, builtin) is not OUTSIDE[name]:
            return False
    return True


def _instructions(code: CodeType) -> list[tuple[str, Any]]:
    """What a function does; constants by their values, wherever it keeps them."""
    return [
        (i.opname, repr(i.argval) if i.opcode in dis.hasconst else i.arg)
        for i in dis.get_instructions(code)
    ]
