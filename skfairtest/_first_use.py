"""Names of a package that are imported at their first use, with nothing but their modules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def at_first_use(
    namespace: dict[str, Any], homes: Mapping[str, str], modules: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package.

    - `namespace`: its globals, which keep what was imported.
    - `homes`: for each name the module below the package that has it.
    - `modules`: names of modules that are imported at their first use themselves.
    """
    package = namespace["__name__"]

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name in homes:
            value = namespace[name] = getattr(import_module(f"{package}.{homes[name]}"), name)
            return value
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted({*namespace, *homes, *modules})
