"""Whether a fitted object predicts with the library's own code.

Models are read out of their fitted attributes on the assumption that they predict as their class
does. A subclass, or a method that was replaced on an instance or on its class, may predict
otherwise anywhere in the domain, and no comparison on some rows would show it.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from skfairtest.whitebox._unsupported import Unsupported

#: Packages whose classes are known: the models and pipelines of imbalanced-learn inherit the
#: methods that predict from scikit-learn.
LIBRARIES = ("sklearn", "imblearn")
#: What a fitted object predicts with.
METHODS = ("predict", "predict_proba", "decision_function", "transform")


def foreign_code(fitted: Any, libraries: tuple[str, ...] = LIBRARIES) -> str | None:
    """What of an object's outputs is not the library's own code; None where all of it is.

    - `fitted`: a model, a pipeline or a transformer. What it is made of is not looked into.
    - `libraries`: packages whose code counts as the library's own.
    """
    cls = type(fitted)
    if not _is_of_library(cls.__module__, libraries):
        known = [
            base.__name__ for base in cls.__mro__ if _is_of_library(base.__module__, libraries)
        ]
        than = f" than {known[0]}, from which it inherits" if known else ""
        return (
            f"is a class of {cls.__module__}, not of scikit-learn, and may predict otherwise{than}"
        )
    for name in getattr(fitted, "__dict__", {}):
        if inspect.isroutine(getattr(cls, name, None)):
            return f"has a method {name} that was replaced on the instance"
    for name in METHODS:
        if not _is_library_method(inspect.getattr_static(cls, name, None), libraries):
            return f"has a method {name} that was replaced on the class"
    return None


def check_library_code(fitted: Any, hint: str, libraries: tuple[str, ...] = LIBRARIES) -> None:
    """See that an object predicts with the library's own code.

    - `libraries`: packages whose code counts as the library's own.
    """
    foreign = foreign_code(fitted, libraries)
    if foreign is not None:
        raise Unsupported(
            f"{type(fitted).__name__} {foreign}. The fitted attributes do not show what that code "
            "does.",
            hint,
        )


def _is_of_library(module: str, libraries: tuple[str, ...]) -> bool:
    return module.partition(".")[0] in libraries


def _is_library_method(attribute: Any, libraries: tuple[str, ...]) -> bool:
    """Whether a class's attribute is a function of the library, whatever it is wrapped in."""
    while attribute is not None:
        if isinstance(attribute, FunctionType):
            # Not __module__, which functools.wraps copies from the function that it replaces.
            if not _is_of_library(attribute.__globals__["__name__"], libraries):
                return False
            attribute = getattr(attribute, "__wrapped__", None)
        elif _is_of_library(type(attribute).__module__, libraries) and hasattr(attribute, "fn"):
            attribute = attribute.fn  # a method that exists under a condition
        else:
            return False
    return True


def has_name(model: Any, library: str, names: tuple[str, ...]) -> bool:
    """Whether a model is of one of a library's classes, or a subclass; nothing is imported.

    - `names`: of classes; none: all that the library has.
    """
    return any(
        cls.__module__.partition(".")[0] == library and (not names or cls.__name__ in names)
        for cls in type(model).__mro__
    )
