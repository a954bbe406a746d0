"""Find columns that identify rows, and columns of free text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest.space._summary import ColumnSummary

IDENTIFIER, FREE_TEXT = "identifier", "free text"
#: What the name of a column of whole numbers says.
NAMES = frozenset(("id", "ids", "identifier", "uuid", "guid", "ssn", "rowid"))


def what_texts_are(levels: NDArray[Any], n_present: int) -> str | None:
    """Return if the texts of a column are identifiers, free text, or neither (None)."""
    if n_present < 50 or len(levels) < 0.5 * n_present:
        return None  # too few rows to tell, or texts that people have in common
    some = levels[:: max(1, len(levels) // 200)]
    n_words = [len(value.split()) for value in some if isinstance(value, str)]
    # Free text repeats now and then; half of its values have three words or more.
    if len(n_words) > len(some) / 2 and np.median(n_words) >= 3:
        return FREE_TEXT
    return IDENTIFIER if _nearly_all_differ(len(levels), n_present) else None


def what_integers_are(name: Any, summary: ColumnSummary) -> str | None:
    """Return if whole numbers identify rows, by the column's name or as none repeats.

    Amounts of money may all be different, too. But so many numbers in so small a range repeat,
    unless somebody sees to it that they do not.
    """
    n, n_different = summary.n_present, len(summary.distinct)
    if n < 50 or not _nearly_all_differ(n_different, n):
        return None
    if NAMES & {word.lower() for word in _words(str(name))}:
        return IDENTIFIER
    size = float(summary.distinct[-1] - summary.distinct[0]) + 1
    expected = n + size * np.expm1(n * np.log1p(-1 / size)) if size > 1 else 0.0
    # Repetitions that even draws from the same range would bring. Measurements crowd together and
    # repeat more often: an eighth of at least 16 is never so few by chance.
    few = n - n_different <= expected / 8
    return IDENTIFIER if expected >= 16 and few else None


def _nearly_all_differ(n_different: int, n: int) -> bool:
    return n_different >= 0.95 * n


def _words(name: str) -> list[str]:
    """Return the words in a column's name, such as customer_id, CustomerId or customerID."""
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)


def warning_of(columns: list[Any]) -> str:
    """Return the warning about such columns."""
    kinds = {
        IDENTIFIER: "different in almost every row, like an identifier", FREE_TEXT: "free text"
    }  # fmt: skip
    named = [f"{column.name!r} ({kinds[column.looks_like]})" for column in columns]
    return (
        f"X holds columns that identify rows: {', '.join(named)}. Searches try only their values "
        "in X, and a result for one value says nothing about other rows. Leave them out of the "
        "model and of X. If they are meant as they are, give their domains: "
        "InputSpace(bounds=...) for numbers, InputSpace(categories=...) for others."
    )
