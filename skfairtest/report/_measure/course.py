"""The course of an audit: its parts one after the other, what each cost, and what went wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from skfairtest import _clock
from skfairtest._progress import PartsProgress
from skfairtest.exceptions import NonDeterministicModelError
from skfairtest.finding._words import message_of
from skfairtest.report._data import PartRun, ReportPart

Found = TypeVar("Found")


@dataclass
class PlannedPart:
    """A part that is to run.

    Attributes
    ----------
    name : str
        What it is called in the report.
    blank : ReportPart
        Its results where there are none.
    measure : callable
        Takes its seconds, None without a limit, and returns its results. Where the time did not
        allow all of it, these have `early`: how much was done.
    why_not : str
        Why it does not run; empty where it does.
    rescue : callable or None
        Returns what there is after an error or Ctrl-C.
    refuses : tuple of exception types
        Errors which say that the part does not apply to the model or the table: it is left out.
    at_least : float
        Seconds that a part has which takes next to no time, also where the time is over.
    """

    name: str
    blank: ReportPart
    measure: Callable[[float | None], ReportPart]
    why_not: str = ""
    rescue: Callable[[], ReportPart] | None = None
    refuses: tuple[type[Exception], ...] = ()
    at_least: float = 0.0


@dataclass
class _Running:
    """The results of a part that runs."""

    result: ReportPart


#: Yields parts, is sent the results of each, and returns what all have found.
Parts = Generator[PlannedPart, Any, Found]


class Course:
    """Runs the parts of an audit within its time.

    A part that fails does not end the audit: it says why, and the others go on. A
    non-deterministic model ends it.

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

    def run(self, parts: Parts[Found]) -> Found:
        """Run one part after the other; return what all have found."""
        result = None
        while True:
            try:
                part = parts.send(result)
            except StopIteration as done:
                found: Found = done.value
                return found
            seconds = self._seconds_of(part)
            why_not = part.why_not or self._why_not(part.name, seconds)
            if why_not:
                self.waiting.pop(part.name, None)
                result = replace(part.blank, status="left out", reason=why_not)
                self._note(part.name, result, [])
                continue
            with self._running(part) as running:
                running.result = part.measure(seconds)
            result = running.result

    def _seconds_of(self, part: PlannedPart) -> float | None:
        seconds = self.seconds_for(part.name)
        return None if seconds is None else max(seconds, part.at_least)

    def _why_not(self, name: str, seconds: float | None) -> str:
        """Why a part cannot run now; empty where it can."""
        if self.interrupted:
            return "the audit was interrupted before this part"
        if seconds == 0:
            self.early[name] = "not begun"
            return f"no time was left of max_time={self.max_time:g} s"
        return ""

    @contextmanager
    def _running(self, part: PlannedPart) -> Iterator[_Running]:
        """Time a part in a context, and write down how it ended and what warned in it."""
        self.progress.part(part.name)
        began, running = _clock.now(), _Running(part.blank)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                yield running
            except KeyboardInterrupt:
                self.interrupted = True
                saved = _rescued(part)
                running.result = replace(
                    saved, status="interrupted", reason="interrupted by the user"
                )
            except NonDeterministicModelError:
                raise  # no part is worth anything then
            except part.refuses as error:
                why = message_of(error, self.names)
                running.result = replace(part.blank, status="left out", reason=why)
            except Exception as error:
                why = message_of(error, self.names)
                if not (str(error) and isinstance(error, (ValueError, TypeError, RuntimeError))):
                    why = f"{type(error).__name__}: {why}"  # the text alone may be a key
                running.result = replace(_rescued(part), status="failed", reason=why)
        self.waiting.pop(part.name, None)
        running.result = replace(
            running.result,
            reason=self._reason(part.name, running.result),
            seconds=_clock.now() - began,
        )
        notes = list(dict.fromkeys(str(w.message) for w in caught))
        # Warnings of a part that are kept.
        self._note(part.name, running.result, notes[:5])

    def _reason(self, name: str, result: ReportPart) -> str:
        """Why a part ended, and how much was done where the time was too short for all of it."""
        if not (result.early and result.status in ("done", "left out")):
            return result.reason
        self.early[name] = result.early
        told = f"ended early, for lack of time: {result.early}" if result.status == "done" else ""
        return "; ".join(filter(None, (told, result.reason)))

    def _note(self, name: str, part: ReportPart, notes: list[str]) -> None:
        ran = PartRun(name, part.status, part.reason, part.queries, part.seconds, notes)
        self.parts.append(ran)
        words = part.summary if part.status == "done" else f"{part.status}: {part.reason}"
        self.progress.done(f"{name}: {words}" if words else name)


def _rescued(part: PlannedPart) -> ReportPart:
    try:
        return part.blank if part.rescue is None else part.rescue()
    except (Exception, KeyboardInterrupt):  # must not hide why the part ended, nor what others have
        return part.blank
