"""The course of an audit: its parts one after the other, what each cost, and what went wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from skfairtest import _clock
from skfairtest._progress import PartsProgress
from skfairtest.exceptions import NonDeterministicModelError
from skfairtest.finding._words import message_of
from skfairtest.report._data import AnyPart, PartRun, ReportPart


class Course:
    """Runs the parts of an audit within its time.

    A part that fails does not end the audit: it says why, and the others go on. A model whose
    answers vary ends it.

    Parameters
    ----------
    max_time : float or None
        Seconds for everything.
    weights : dict of str to float
        The parts that are to come, and what share of the time each may take. What one leaves, the
        others have.
    progress : PartsProgress
        Is told.
    names : sequence of str
        Columns of the table, for errors that tell their places.
    """

    def __init__(
        self,
        max_time: float | None,
        weights: dict[str, float],
        progress: PartsProgress,
        names: Sequence[Any] = (),
    ) -> None:
        self.names = names
        self.began = _clock.now()
        self.max_time = max_time
        self.waiting = dict(weights)
        self.progress = progress
        self.parts: list[PartRun] = []
        self.interrupted = False
        #: Parts that had not the time for all of it, and how much was done, in words.
        self.early: dict[str, str] = {}
        progress.begin("audit", len(weights))

    @property
    def seconds(self) -> float:
        """Seconds since the audit began."""
        return _clock.now() - self.began

    def seconds_for(self, name: str) -> float | None:
        """What a part may take of the time that is left; None without a limit."""
        if self.max_time is None:
            return None
        left = max(0.0, self.max_time - self.seconds)
        total = sum(self.waiting.values())
        return left * self.waiting[name] / total if total else left

    def leave_out(self, name: str, blank: AnyPart, reason: str) -> AnyPart:
        """A part that does not run."""
        self.waiting.pop(name, None)
        result = replace(blank, status="left out", reason=reason)
        self._note(name, result, [])
        return result

    def run(
        self,
        name: str,
        blank: AnyPart,
        function: Callable[[float | None], AnyPart],
        rescue: Callable[[], AnyPart] | None = None,
        refuses: tuple[type[Exception], ...] = (),
        at_least: float = 0.0,
    ) -> AnyPart:
        """Run a part; `function` takes its seconds and returns its results, else they are `blank`.

        Where the time did not allow all of it, its results have `early`: how much was done.
        `rescue` returns what there is after an error or Ctrl-C. Errors of the types `refuses` say
        that the part does not apply to the model or the table: it is left out. A part that takes
        next to no time has `at_least` so many seconds, also where the time is over.
        """
        if self.interrupted:
            return self.leave_out(name, blank, "the audit was interrupted before this part")
        seconds = self.seconds_for(name)
        if seconds is not None:
            seconds = max(seconds, at_least)
        if seconds == 0:
            self.early[name] = "not begun"
            return self.leave_out(name, blank, f"no time was left of max_time={self.max_time:g} s")
        self.progress.part(name)
        began = _clock.now()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                result = function(seconds)
            except KeyboardInterrupt:
                self.interrupted = True
                saved = _rescued(rescue, blank)
                result = replace(saved, status="interrupted", reason="interrupted by the user")
            except NonDeterministicModelError:
                raise  # no part is worth anything then
            except refuses as error:
                result = replace(blank, status="left out", reason=message_of(error, self.names))
            except Exception as error:
                why = message_of(error, self.names)
                if not (str(error) and isinstance(error, (ValueError, TypeError, RuntimeError))):
                    why = f"{type(error).__name__}: {why}"  # the text alone may be a key
                result = replace(_rescued(rescue, blank), status="failed", reason=why)
        self.waiting.pop(name, None)
        early, reason = result.early, result.reason
        if early and result.status in ("done", "left out"):
            self.early[name] = early
            told = f"ended early, for lack of time: {early}" if result.status == "done" else ""
            reason = "; ".join(filter(None, (told, reason)))
        result = replace(result, reason=reason, seconds=_clock.now() - began)
        notes = list(dict.fromkeys(str(w.message) for w in caught))
        # Warnings of a part that are kept.
        self._note(name, result, notes[:5])
        return result

    def _note(self, name: str, part: ReportPart, notes: list[str]) -> None:
        ran = PartRun(name, part.status, part.reason, part.queries, part.seconds, notes)
        self.parts.append(ran)
        words = part.summary if part.status == "done" else f"{part.status}: {part.reason}"
        self.progress.done(f"{name}: {words}" if words else name)


def _rescued(rescue: Callable[[], AnyPart] | None, blank: AnyPart) -> AnyPart:
    try:
        return blank if rescue is None else rescue()
    except (Exception, KeyboardInterrupt):  # must not hide why the part ended, nor what others have
        return blank
