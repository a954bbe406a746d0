"""What a report is made of, before it is HTML or Markdown: plain words in a few kinds of blocks.

No block holds markup. Whoever renders one escapes it, whatever it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from skfairtest.finding._pair import Pair
from skfairtest.finding._words import ABSENT, number, percent
from skfairtest.inspection._style import is_share
from skfairtest.report._types import PartResult

T = TypeVar("T")


@dataclass(frozen=True)
class LeadBlock:
    """The finding, in one sentence."""

    words: str


@dataclass(frozen=True)
class TextBlock:
    """A paragraph; a quiet one explains what others say."""

    words: str
    quiet: bool = False


@dataclass(frozen=True)
class NoticeBlock:
    """Why something is not there, or is not whole."""

    words: str


@dataclass(frozen=True)
class AnswersBlock:
    """Short answers to the questions that readers have, each under its name; in the order given."""

    rows: tuple[tuple[str, tuple[Any, ...]], ...]


@dataclass(frozen=True)
class LinkBlock:
    """What to do, the title of the page that says how, and its address."""

    words: str
    title: str
    address: str


@dataclass(frozen=True)
class TermsBlock:
    """Names and what they are."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ItemsBlock:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class CodeBlock:
    """Text that keeps its line breaks."""

    text: str
    label: str


@dataclass(frozen=True)
class TableBlock:
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
class TwinsBlock:
    """A pair of twins side by side, what they are called, and what they are."""

    pair: Pair
    first: str = "first twin"
    second: str = "second twin"
    caption: str = "Two inputs that differ only in the marked columns"


@dataclass(frozen=True)
class FigureBlock:
    """A picture: what makes its display, how that is plotted, and what it shows in words.

    The display holds no more than can be seen in a picture. `height` is in inches, so that rows
    have the same height in all pictures.
    """

    display: Callable[[], Any]
    caption: str
    alt: str
    height: float = 2.7
    how: Mapping[str, Any] = field(default_factory=dict)


#: Signs of the verdicts on limits, so that colour is not all that tells them apart.
SIGNS = {"pass": "✓", "fail": "✗", "undecided": "?", "not checked": "–"}


@dataclass(frozen=True)
class VerdictBlock:
    """Whether a limit holds: "pass", "fail", "undecided" or "not checked", and why."""

    status: str
    words: str


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading; the appendix is folded.

    Sections stand in the order of `place`, those from 100 on in the appendix; blocks of several
    parts for the section of one key follow each other.
    """

    place: int
    key: str
    title: str
    blocks: tuple[Any, ...] = ()

    @property
    def in_appendix(self) -> bool:
        """Whether it stands in the appendix."""
        return self.place >= 100


@dataclass(frozen=True)
class Page:
    """A page: its title, when and by which version it was made, and its sections in their order."""

    title: str
    created: str
    version: str
    sections: tuple[Section, ...]


def why_not(part: PartResult, what: str) -> list[NoticeBlock]:
    """A word on a part that is not there or not whole."""
    if part.status == "done":
        return []
    reason = f": {part.reason}" if part.reason else ""
    return [NoticeBlock(f"{what} – {part.status}{reason}")]


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    shown: int = 25,
    most: int = 1_000,
    words: Sequence[int] = (),
) -> TableBlock:
    """A table of which at most so many rows are there, and the first `shown` are not folded away.

    All columns but the first are figures, unless `words` has their place.
    """
    left = len(rows) - most
    more = f"{left:,} more rows are not listed here." if left > 0 else ""
    figures = frozenset(range(1, len(head))) - frozenset(words)
    return TableBlock(caption, tuple(head), tuple(map(tuple, rows[:most])), figures, shown, more)


def table_of(
    caption: str,
    items: Iterable[T],
    columns: Mapping[str, Callable[[T], str]],
    *,
    shown: int = 25,
    most: int = 300,
    words: Sequence[int] = (),
) -> TableBlock:
    """A table with a row for each item: what each column writes of it, by its head."""
    rows = [[write(item) for write in columns.values()] for item in items]
    return table(caption, list(columns), rows, shown=shown, most=most, words=words)


# Figures in words ----------------------------------------------------------------------------


def figure(value: Any, digits: int = 3) -> str:
    """A number, or the sign of its absence."""
    return ABSENT if value is None else number(value, digits)


def alike(values: Sequence[Any], digits: int = 3) -> list[str]:
    """Numbers of one column with equally many decimals: the digits of the largest one."""
    known = [abs(float(value)) for value in values if value is not None]
    top = max(known, default=0.0)
    if not math.isfinite(top) or not 1e-4 <= top < 1e15:
        return [figure(value, digits) for value in values]
    decimals = max(0, digits - max(1, 1 + math.floor(math.log10(top))))
    least = 10.0**-decimals
    return [
        ABSENT
        if value is None
        else f"under {least:g}"
        if 0 < value < least / 2
        else f"{value:,.{decimals}f}"
        for value in values
    ]


def count(value: Any) -> str:
    """A whole number."""
    return ABSENT if value is None else f"{int(value):,}"


def level(confidence: Any) -> str:
    """A level of confidence."""
    return ABSENT if confidence is None else f"{100 * confidence:g}%"


def fixed(value: Any) -> str:
    """A ratio, or a difference of shares: so many digits for all of a column."""
    if value is None:
        return ABSENT
    return number(value, 2) if 0 < abs(value) < 0.005 else f"{value:.2f}"


def of_metric(metric: str) -> Callable[[Any], str]:
    """How a figure of this metric is written: shares in percent."""
    return percent if is_share(metric) else figure


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
    text: str = words(value)
    if low is None or high is None or words(low) == words(high) == text:
        return text
    return f"{text} ({words(low)} to {words(high)})"
