"""Why a run ends: kinds of stops, their texts, and the exception that ends it."""

from __future__ import annotations

from enum import Enum
from typing import Any


class StopReason(Enum):
    """Kinds of stops; each value is what users read in ``stop_kind_``."""

    MAX_QUERIES = "max_queries"
    MAX_TIME = "max_time"
    MAX_FOUND = "max_found"
    MAX_INPUTS = "max_inputs"
    EXHAUSTED = "exhausted"
    STALLED = "stalled"
    CALLBACK = "callback"
    COMPLETE = "complete"
    OPEN = "open"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


#: Texts of the kinds that need no numbers.
TEXTS = {
    StopReason.EXHAUSTED: "exhausted: every input of the domain was judged",
    StopReason.CALLBACK: "a callback asked to stop",
    StopReason.COMPLETE: "the search was complete",
    StopReason.INTERRUPTED: "interrupted",
}

#: Kinds that are limits of a budget, by the names of its parameters.
LIMITS = {
    kind.value: kind
    for kind in (
        StopReason.MAX_QUERIES,
        StopReason.MAX_TIME,
        StopReason.MAX_FOUND,
        StopReason.MAX_INPUTS,
    )
}


class StopSearch(BaseException):
    """Ends a run; raised by the oracle, caught by `BaseAuditor.fit` and by `Oracle.sub_budget`.

    A `BaseException`, so that no search swallows it in an ``except Exception``. Code that decides
    by what ended a run looks at `kind`; `text` is for people.

    Parameters
    ----------
    kind : StopReason
        What ended the run.
    text : str, default=None
        The same in words; None where the kind says it all.
    """

    def __init__(self, kind: StopReason, text: str | None = None) -> None:
        self.kind = kind
        self.text = TEXTS.get(kind, kind.value) if text is None else text
        super().__init__(self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        return StopSearch, (self.kind, self.text)


def limit_reached(kind: StopReason, limit: float) -> str:
    """Say that a limit of the budget is reached."""
    return f"{kind.value}={limit:g} reached"


def stopped_by(error: BaseException | None) -> StopSearch:
    """Return why a run ended, from the error it raised; without an error it is complete."""
    if isinstance(error, StopSearch):
        return error
    if error is None:
        return StopSearch(StopReason.COMPLETE)
    if isinstance(error, KeyboardInterrupt):
        return StopSearch(StopReason.INTERRUPTED)
    return StopSearch(StopReason.FAILED, f"failed: {error}")
