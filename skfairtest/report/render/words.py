"""Words that many parts of a report use: names, groups, shares and their bounds.

What is said of one part alone stands with that part.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from skfairtest.finding._words import percent
from skfairtest.group._rules.sensitive_groups import FEWEST_ROWS


def isolate(name: Any) -> str:
    """A name that does not turn the sentence around it, even where it is written right to left."""
    words = str(name)
    if any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in words):
        return f"\u2068{words}\u2069"  # the Unicode marks of an isolate
    return words


def isolated(sentence: str, names: list[Any]) -> str:
    """A sentence that its names do not turn, even if they are written right to left."""
    for name in map(str, names):
        if isolate(name) != name:
            sentence = sentence.replace(name, isolate(name))
    return sentence


def quoted(label: Any) -> str:
    """A label in a sentence."""
    return f"'{isolate(label)}'"


def metric_named(metric: str) -> str:
    """A metric, such as false_positive_rate, in words."""
    return metric.replace("_", " ")


def in_sample(n: int, n_rows: int) -> str:
    """Of how many people rates are; empty where it is all of them."""
    return "" if n == n_rows else f", in a random sample of {n:,} of {n_rows:,} people"


def bounds_text(low: float, high: float, words: Any = percent) -> str:
    """Between which bounds a share is known to be."""
    return f"at least {words(low)}" if high >= 1 else f"{words(low)} to {words(high)}"


def group_named(group: str, attribute: str, n: int | None = None, *, alone: bool = False) -> str:
    """A group with its attribute, unless its name begins with that, as "age < 32" does.

    `alone` leaves the attribute out. A small group has its number of rows: what is
    known of it is mostly chance.
    """
    details = [] if alone or group.startswith(f"{attribute} ") else [isolate(attribute)]
    if n is not None and n < FEWEST_ROWS:
        details.append(f"{n} row{'s' * (n != 1)}")
    return f"{isolate(group)} ({', '.join(details)})" if details else isolate(group)


def in_group(group: str, attribute: str) -> str:
    """The people of a group: in it, or with a value as its name tells, such as "age < 32"."""
    return f"{'with' if group.startswith(f'{attribute} ') else 'in'} {isolate(group)}"
