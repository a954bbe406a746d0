"""The text of conditions, as people write them; different conditions have different texts."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from numpy.typing import NDArray

from skfairtest._typing import Floats
from skfairtest.space._dates import Dates

#: What a rule calls a missing value; what may not stand in an unquoted name or level.
MISSING = "missing"
SYMBOLS = frozenset('{}",=<>\\')
JOINS = frozenset(("and", "in"))


def range_text(
    name: Any, cuts: Floats, first: int, last: int, dates: Dates | None, whole: bool
) -> str:
    """The text of the run of bins from `first` to before `last`; the outermost ones are open.

    A bin of one whole number, among whole numbers, is called by this number.
    """
    name = name_text(name)
    texts = [number_text(cut) for cut in cuts] if dates is None else dates.texts(cuts)
    if first == 0:
        return f"{name} < {texts[last - 1]}"
    if last == len(cuts) + 1:
        return f"{name} >= {texts[first - 1]}"
    if whole and dates is None and cuts[last - 1] - cuts[first - 1] == 1:
        return f"{name} = {texts[first - 1]}"
    end = "below" if dates is None else "before"
    return f"{name} from {texts[first - 1]} to {end} {texts[last - 1]}"


def number_text(value: Any) -> str:
    """A number with as many digits as tell it from all others."""
    if not isinstance(value, float):
        return str(value)
    short = f"{value:.10g}"
    return short if float(short) == value else repr(float(value))


def quoted(text: str) -> str:
    """A string in double quotes, as in JSON."""
    return json.dumps(text, ensure_ascii=False)


def name_text(name: Any) -> str:
    """The name of a column, quoted where it would read as a part of the rule."""
    return quoted(name) if isinstance(name, str) and not _is_plain(name) else str(name)


def level_texts(levels: NDArray[Any], missing: int, dates: Dates | None = None) -> list[str]:
    """The texts of the levels of a column, no two alike; `missing` is the place of that level.

    Strings are quoted where they would read as something else: as a number, as the missing value,
    or as several levels.
    """
    if dates is not None:
        return dates.texts(levels)
    texts = []
    for j, level in enumerate(levels):
        if j == missing:
            texts.append(MISSING)
        elif isinstance(level, str):
            texts.append(level if _is_plain(level) and not _is_value(level) else quoted(level))
        else:
            texts.append(number_text(level))
    often = Counter(texts)
    texts = [
        repr(level) if often[text] > 1 else text for text, level in zip(texts, levels, strict=True)
    ]
    # Objects of which even that does not tell which is which.
    often = Counter(texts)
    return [f"{text} (#{j})" if often[text] > 1 else text for j, text in enumerate(texts)]


def _is_plain(text: str) -> bool:
    """Whether a string cannot be taken for a part of the rule around it."""
    reserved = SYMBOLS & set(text) or JOINS & set(text.split())
    return bool(text) and text == text.strip() and text.isprintable() and not reserved


def _is_value(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in (MISSING, "True", "False", "None")
    return True
