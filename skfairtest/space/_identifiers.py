"""Find columns that identify rows, and columns of free text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest.space._summary import ColumnSummary

IDENTIFIER, FREE_TEXT = "identifier", "free text"
#: Rows below which nothing is said, and the share of them that have a value of their own.
LEAST_ROWS = 50
UNIQUE = 0.95
#: Of texts that repeat now and then, the share of different ones, the words that half of them have
#: at least, and how many are looked at.
UNIQUE_TEXTS = 0.5
WORDS = 3
LOOKED_AT = 200
#: Repetitions that chance would bring among as many whole numbers of the same range, drawn evenly,
#: and the share of them that may have come in an identifier. Measurements crowd together and repeat
#: more often than even draws, so that these are never so few by chance.
REPEATS = 16
SHARE_OF_REPEATS = 1 / 8
#: What the name of a column of whole numbers says.
NAMES = frozenset(("id", "ids", "identifier", "uuid", "guid", "ssn", "rowid"))


def what_texts_are(levels: NDArray[Any], n_present: int) -> str | None:
    """Return if the texts of a column are identifiers, free text, or neither (None)."""
    if n_present < LEAST_ROWS or len(levels) < UNIQUE_TEXTS * n_present:
        return None
    some = levels[:: max(1, len(levels) // LOOKED_AT)]
    n_words = [len(value.split()) for value in some if isinstance(value, str)]
    if len(n_words) > len(some) / 2 and np.median(n_words) >= WORDS:
        return FREE_TEXT
    return IDENTIFIER if len(levels) >= UNIQUE * n_present else None


def what_integers_are(name: Any, summary: ColumnSummary) -> str | None:
    """Return if whole numbers identify rows, by the column's name or as none repeats.

    Amounts of money may all be different, too. But so many numbers in so small a range repeat,
    unless somebody sees to it that they do not.
    """
    n, n_different = summary.n_present, len(summary.distinct)
    if n < LEAST_ROWS or n_different < UNIQUE * n:
        return None
    if NAMES & {word.lower() for word in _words(str(name))}:
        return IDENTIFIER
    size = float(summary.distinct[-1] - summary.distinct[0]) + 1
    expected = n + size * np.expm1(n * np.log1p(-1 / size)) if size > 1 else 0.0
    few = n - n_different <= SHARE_OF_REPEATS * expected
    return IDENTIFIER if expected >= REPEATS and few else None


def _words(name: str) -> list[str]:
    """Return the words in a column's name, such as customer_id, CustomerId or customerID."""
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)


def warning_of(columns: list[Any]) -> str:
    """Return the warning about such columns."""
    said = {IDENTIFIER: "different in almost every row, like an identifier", FREE_TEXT: "free text"}
    told = [f"{column.name!r} ({said[column.looks_like]})" for column in columns]
    return (
        f"X holds columns that identify rows: {', '.join(told)}. Searches try only their values in "
        "X, and a result for one value says nothing about other rows. Leave them out of the model "
        "and of X. If they are meant as they are, give their domains: InputSpace(bounds=...) for "
        "numbers, InputSpace(categories=...) for others."
    )
