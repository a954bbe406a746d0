"""What a report is made of, before it is HTML or Markdown: plain words in a few kinds of blocks.

No block holds markup. Whoever renders one escapes it, whatever it holds.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from skfairtest.finding._pair import Pair
from skfairtest.finding._words import number
from skfairtest.report._render.words import listed

#: What stands in a table where nothing was measured.
ABSENT = "–"


@dataclass(frozen=True)
class Lead:
    """The finding, in one sentence."""

    words: str


@dataclass(frozen=True)
class Text:
    """A paragraph; a quiet one explains what others say."""

    words: str
    quiet: bool = False


@dataclass(frozen=True)
class Notice:
    """Why something is not there, or is not whole."""

    words: str


@dataclass(frozen=True)
class Fact:
    """One of the few figures that a reader takes away."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Facts:
    """These figures side by side."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Terms:
    """Names and what they are."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Items:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Text that keeps its line breaks."""

    text: str
    label: str


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows.

    `figures` are the columns that are aligned as numbers; the rows beyond the first `shown` are
    folded away; `more` tells of rows that are not in the report at all.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures: frozenset[int] = frozenset()
    shown: int = 25
    more: str = ""


@dataclass(frozen=True)
class Twins:
    """A pair of twins side by side."""

    pair: Pair


@dataclass(frozen=True)
class Figure:
    """A picture: the kind of display, the report that it draws, and what it shows in words.

    The report holds no more than can be seen in a picture.
    """

    kind: str
    report: dict[str, Any]
    caption: str
    alt: str


@dataclass(frozen=True)
class Fold:
    """Blocks that are read by those who want to know."""

    summary: str
    blocks: tuple[Any, ...]


@dataclass(frozen=True)
class Section:
    """A part of the report with a heading."""

    key: str
    title: str
    blocks: tuple[Any, ...] = field(default=())


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    shown: int = 25,
    most: int = 1_000,
    words: Sequence[int] = (),
) -> Table:
    """A table of which at most so many rows are there; all columns but the first are figures.

    Parameters
    ----------
    caption : str
        What the table shows.
    head : sequence of str
        Names of the columns.
    rows : sequence of sequences of str
        The cells.
    shown : int, default=25
        Rows that are not folded away.
    most : int, default=1000
        Rows in the report.
    words : sequence of int, default=()
        Columns besides the first that hold words, no figures.
    """
    left = len(rows) - most
    more = f"{left:,} more rows are not listed here." if left > 0 else ""
    figures = frozenset(range(1, len(head))) - frozenset(words)
    return Table(caption, tuple(head), tuple(map(tuple, rows[:most])), figures, shown, more)


# Figures in words ----------------------------------------------------------------------------


def figure(value: Any, digits: int = 3) -> str:
    """A number, or the sign of its absence."""
    return ABSENT if value is None else number(value, digits)


def count(value: Any) -> str:
    """A whole number."""
    return ABSENT if value is None else f"{int(value):,}"


def percent(share: Any) -> str:
    """A share in percent that never rounds some to none, nor not all to all."""
    if share is None:
        return ABSENT
    if 0 < share < 0.0005:
        return "under 0.1%"
    if 0.9995 <= share < 1:
        return "over 99.9%"
    return f"{share:.0%}" if share in (0, 1) else f"{share:.1%}"


def level(confidence: Any) -> str:
    """A level of confidence."""
    return ABSENT if confidence is None else f"{100 * confidence:g}%"


def fixed(value: Any) -> str:
    """A ratio, or a difference of shares: so many digits for all of a column."""
    if value is None:
        return ABSENT
    return number(value, 2) if 0 < abs(value) < 0.005 else f"{value:.2f}"


def seconds(value: Any) -> str:
    """A time."""
    if value is None:
        return ABSENT
    if 0 < value < 0.01:
        return "under 0.01 s"
    if value < 100:
        return f"{value:.0f} s" if value >= 9.95 else f"{value:.2g} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes:,} min {rest} s"


def with_interval(value: Any, low: Any, high: Any, words: Any = figure) -> str:
    """A value with its interval, where there is one."""
    told: str = words(value)
    return told if low is None or high is None else f"{told} ({words(low)} to {words(high)})"


def rule_score(rule: dict[str, Any], words: Any = figure) -> str:
    """The difference of a rule with its interval."""
    if rule["differs"] and not rule["low"]:
        # A step-down test may show that such a difference is above 0, and not by how much.
        return f"{words(rule['score'])} (above 0, at most {words(rule['high'])})"
    return with_interval(rule["score"], rule["low"], rule["high"], words)


def isolate(name: Any) -> str:
    """A name that does not turn the sentence around it, even where it is written right to left."""
    words = str(name)
    if any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in words):
        return f"\u2068{words}\u2069"  # the Unicode marks of an isolate
    return words


def together(names: Sequence[Any]) -> str:
    """Names in one phrase."""
    return listed([isolate(name) for name in names])
