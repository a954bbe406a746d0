"""Why a run ends: reasons with their texts, and the exception that ends it."""

from __future__ import annotations

from enum import Enum
from typing import Any


class StopReason(Enum):
    """Reasons why a run ends; each value is what users read in ``stop_kind_``.

    `text` says the same in words, with places for numbers.
    """

    text: str

    def __new__(cls, value: str, text: str) -> StopReason:
        reason = object.__new__(cls)
        reason._value_, reason.text = value, text
        return reason

    MAX_QUERIES = "max_queries", "max_queries={limit:g} reached"
    MAX_TIME = "max_time", "max_time={limit:g} reached"
    MAX_FOUND = "max_found", "max_found={limit:g} reached"
    MAX_INPUTS = "max_inputs", "max_inputs={limit:g} reached"
    EXHAUSTED = "exhausted", "exhausted: every input of the domain was judged"
    STALLED = "stalled", "stalled: {batches} batches, {inputs} inputs, none of them new"
    CALLBACK = "callback", "a callback asked to stop"
    COMPLETE = "complete", "the search was complete"
    OPEN = "open", "the bounds could not be closed"
    INTERRUPTED = "interrupted", "interrupted"
    FAILED = "failed", "failed: {error}"


#: Reasons that are limits of a budget, by the names of its parameters.
LIMITS = {
    reason.value: reason
    for reason in (
        StopReason.MAX_QUERIES,
        StopReason.MAX_TIME,
        StopReason.MAX_FOUND,
        StopReason.MAX_INPUTS,
    )
}


class StopSearch(BaseException):
    """Ends a run, or the part of it that owns the limit or the stagnation which was reached.

    A `BaseException`, so that no search swallows it in an ``except Exception``. Only its owner
    catches it: a `SubBudget`, or, without an owner, whoever began the run. Code that decides by
    what ended a run looks at `kind`; `text` is for people.

    Parameters
    ----------
    kind : StopReason
        What ended the run.
    text : str, default=None
        The same in words, where the reason's own do not say it all.
    owner : object, default=None
        The part of the run that ends; None for all of it.
    **numbers : object
        What the text of the reason names.
    """

    def __init__(
        self, kind: StopReason, text: str | None = None, *, owner: Any = None, **numbers: Any
    ) -> None:
        self.kind, self.owner = kind, owner
        self.text = kind.text.format(**numbers) if text is None else text
        super().__init__(self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        return StopSearch, (self.kind, self.text)


def stopped_by(error: BaseException | None) -> StopSearch:
    """Return why a run ended, from the error it raised; without an error it is complete."""
    if isinstance(error, StopSearch):
        return error
    if error is None:
        return StopSearch(StopReason.COMPLETE)
    if isinstance(error, KeyboardInterrupt):
        return StopSearch(StopReason.INTERRUPTED)
    return StopSearch(StopReason.FAILED, error=error)
