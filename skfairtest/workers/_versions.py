"""Versions of Python and of packages, which both sides of a pickle must agree on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

#: Packages whose objects are pickled, by the names that they are imported by.
PACKAGES = ("skfairtest", "sklearn", "numpy")


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages in this process."""
    named = {name: str(getattr(import_module(name), "__version__", "?")) for name in PACKAGES}
    return {"python": platform.python_version(), **named}


def differences(theirs: Mapping[str, Any], ours: Mapping[str, str] | None = None) -> list[str]:
    """List the versions that differ, in words; of Python's version two numbers count.

    Parameters
    ----------
    theirs : mapping of str to str or None
        Versions by names; None, or no entry, where a package is missing.
    ours : mapping of str to str, default=None
        The same of the client; None: of this process.
    """
    lines = []
    for name, own in (versions() if ours is None else ours).items():
        other = theirs.get(name)
        if other is None:
            lines.append(f"no {name} (the client has {own})")
        elif _counted(name, str(other)) != _counted(name, own):
            lines.append(f"{name} {other} (the client has {own})")
    return lines


def _counted(name: str, version: str) -> str:
    return ".".join(version.split(".")[:2]) if name == "python" else version
