"""Suggests the nearest names for misspelt ones, and reads and writes lists of names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests the nearest names, after a space, or an empty text."""
    from skfairtest.space._column_names import nearest  # brings pandas, which --version needs not

    near = nearest(name, known)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def listed(names: Sequence[object]) -> str:
    """List the first twelve names for a message, and count the others."""
    most = 12
    few = ", ".join(map(repr, names[:most]))
    return f"{few} and {len(names) - most} more" if len(names) > most else few


def split_names(given: Iterable[str], known: Iterable[str] = ()) -> list[str]:
    """Split names that are separated by commas; a known name with a comma in it is kept."""
    whole = set(known)
    names: list[str] = []
    for text in given:
        names += [text] if text in whole else [part.strip() for part in text.split(",")]
    return list(dict.fromkeys(name for name in names if name))
