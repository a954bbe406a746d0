"""Writes findings in words, which are the same in all outputs."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from skfairtest._statistics import ROUNDING
from skfairtest.space._dates import ANY_DATE, date_text

#: Digits that two outputs are written with, at least; more where they would read alike.
DIGITS = 3


def name_output(response: str, of_class: Any = None) -> str:
    """Name a model's outputs, by the response method and the class that they belong to."""
    name = {"predict_proba": "probability", "decision_function": "score", "labels": "label"}.get(
        response, "prediction"
    )
    return name if of_class is None else f"{name} of {of_class}"


#: What stands where nothing was measured.
ABSENT = "–"


def number(value: Any, digits: int = DIGITS) -> str:
    """Write a number with so many significant digits and its whole integer part."""
    if value is None or not math.isfinite(value):
        return "unknown" if value is None or math.isnan(value) else ("-∞" if value < 0 else "∞")
    value = float(value)
    if value == 0:
        return "0"
    before = math.floor(math.log10(abs(value))) + 1
    if before > 15 or before < -4:
        return f"{value:.{digits}g}"
    after = max(0, digits - max(before, 0 if abs(value) < 1 else 1))
    if before <= 0:
        # 0.82, not 0.820; 0.0123 keeps its three digits.
        return f"{value:.{digits - before if before < 0 else digits - 1}f}"
    return f"{value:,.{after}f}"


def change(value: float) -> str:
    """Write a change with its sign; what is nothing but rounding is none."""
    return "0" if abs(value) <= ROUNDING else f"{value:+.4g}"


def two_numbers(first: float, second: float) -> tuple[str, str]:
    """Write both with as few digits as show their difference to within a tenth of it."""
    apart = abs(first - second)
    for digits in range(DIGITS, 17):
        words = number(first, digits), number(second, digits)
        if not math.isfinite(apart):
            return words
        shown = abs(float(words[0].replace(",", "")) - float(words[1].replace(",", "")))
        if abs(shown - apart) <= 0.1 * apart:
            return words
    return repr(first), repr(second)


def with_difference(first: float, second: float) -> tuple[str, str, str]:
    """Write both and their difference with equally many decimals, as many as let these add up.

    At most three more than the two need: what then does not add up is off by one in the last.
    """
    words = two_numbers(first, second)
    decimals = [len(word.partition(".")[2]) for word in words if word != "0"]
    if not math.isfinite(first - second) or any("e" in word for word in words):
        return *words, number(abs(first - second))
    least = min(decimals, default=0)
    for after in range(least, least + 4):
        one, other, apart = (round(x, after) for x in (first, second, abs(first - second)))
        hides = any(x != 0 == shown for x, shown in ((first, one), (second, other)))
        if not hides and round(abs(one - other) - apart, after) == 0:
            break
    return (*words, number(abs(first - second))) if hides else at_decimals(first, second, after)


def at_decimals(first: float, second: float, decimals: int) -> tuple[str, str, str]:
    """Write both and their difference, each rounded to so many decimals."""
    one, other, apart = (f"{x:,.{decimals}f}" for x in (first, second, abs(first - second)))
    return one, other, apart


def value_text(value: Any) -> str:
    """Write the value of a cell."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "missing"
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        real = float(value)
        return f"{int(real)}" if real.is_integer() and abs(real) < 1e15 else f"{real:.6g}"
    return date_text(value) if isinstance(value, ANY_DATE) else str(value)


def difference_sentence(pair: Any) -> str:
    """Write the difference that a `Pair` shows, with the two outputs.

    Examples
    --------
    >>> from skfairtest.finding._pair import Pair
    >>> difference_sentence(Pair((), "probability of yes", (0.82, 0.22), None, 0.6))
    'largest difference 0.60 (probability of yes: 0.82 against 0.22)'
    """
    if pair.outputs is None:
        if pair.labels is None:
            return "the twins get different labels"
        first, second = map(value_text, pair.labels)
        return f"the twins get different labels ({first} against {second})"
    first, second, apart = with_difference(*pair.outputs)
    return f"largest difference {apart} ({pair.output}: {first} against {second})"


def percent(share: float | None) -> str:
    """A share in percent that never rounds some to none, nor not all to all."""
    if share is None:
        return ABSENT
    if 0 < share < 0.0005:
        return "under 0.1%"
    if 0.9995 <= share < 1:
        return "over 99.9%"
    return f"{share:.0%}" if share in (0, 1) else f"{share:.1%}"


def message_of(error: BaseException, names: Sequence[Any] = ()) -> str:
    """The first line of what an error says, without the place in compiled code that said it.

    Behind it libraries have stack traces and paths of the machine, which are for nobody who reads
    a report. A column that is named by its place is called by its name, if `names` has it.
    """
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason")
    line = re.sub(r"^(\[[\d:]+\] )?(\S+:\d+: )?", "", line)

    def named(place: re.Match[str]) -> str:
        k = int(place[1])
        return f"column {names[k]!r}" if k < len(names) else place[0]

    return re.sub(r"(\d+)th \(0-based\) column", named, line).rstrip(".")


def shorten(words: str, most: int) -> str:
    """A text that is cut after so many letters."""
    return words if len(words) <= most else f"{words[: most - 1]}…"


def listed(names: list[str], between: str = "and") -> str:
    """Names in a sentence: "age, race and sex"."""
    *most, last = names
    return f"{', '.join(most)} {between} {last}" if most else last
