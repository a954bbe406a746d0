"""Runs the parts of an audit one after the other, within its time."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from skfairtest import _clock
from skfairtest._clock import Deadline
from skfairtest._progress import PartsProgress
from skfairtest.exceptions import NonDeterministicModelError
from skfairtest.finding._words import message_of
from skfairtest.report._context import AuditContext
from skfairtest.report._types import PartResult
from skfairtest.report.parts import PARTS
from skfairtest.report.parts._part import Part, Task


def chosen_parts(wanted: Iterable[type[PartResult]] | None = None) -> list[Part]:
    """The parts with these results, and those that they need; all for None."""
    if wanted is None:
        return list(PARTS)
    by_result = {part.result: part for part in PARTS}
    chosen, todo = set[type[PartResult]](), list(wanted)
    while todo:
        one = todo.pop()
        if one not in chosen:
            chosen.add(one)
            todo += by_result[one].needs
    return [part for part in PARTS if part.result in chosen or part.always]


class Runner:
    """Runs tasks in their order, each within its share of the time that is left.

    A part that fails does not end the audit: it says why, and the others go on. A
    non-deterministic model ends it.

    Parameters
    ----------
    context : AuditContext
        Takes the results.
    parts : sequence of Part
        What is to run.
    progress : PartsProgress
        Is told.
    deadline : Deadline
        Of all parts together.
    """

    def __init__(
        self,
        context: AuditContext,
        parts: Sequence[Part],
        progress: PartsProgress,
        deadline: Deadline,
    ) -> None:
        self.context, self.progress, self.deadline = context, progress, deadline
        self.interrupted = False
        known = {result.name for result in context.results if result.status == "done"}
        tasks = [(task, part) for part in parts for task in part.tasks(context)]
        new = {part.result for task, part in tasks if task.blank.name not in known}
        self.waiting = [
            (task, part)
            for task, part in tasks
            if task.blank.name not in known or (task.is_last_word and new & set(part.needs))
        ]
        self.waiting.sort(key=lambda one: one[0].order)
        progress.begin("audit", len(self.waiting))

    def run(self) -> None:
        """Run all tasks."""
        while self.waiting:
            task, part = self.waiting[0]
            share = self._share(task)
            why_not = task.why_not() or self._why_not(share)
            if why_not:
                result = self._without(task, why_not, is_early=share.left == 0)
            else:
                self.progress.part(task.blank.name)
                result = self._result_of(task, share)
            self.waiting.pop(0)
            others = [one for one in self.context.results if one.name != result.name]
            self.context.results[:] = [*others, result]
            words = part.summary(result) if result.status == "done" else result.status
            more = ": ".join(filter(None, [words, result.reason]))
            self.progress.done(f"{result.name}: {more}" if more else result.name)

    def _share(self, task: Task) -> Deadline:
        """Until when a task may run: its share of the time that is left."""
        if self.deadline.seconds is None:
            return Deadline()
        shares = [one.share for one, _ in self.waiting]
        part = task.share / sum(shares) if sum(shares) else 1.0
        return Deadline(max(self.deadline.left * part, task.at_least))

    def _why_not(self, share: Deadline) -> str:
        """Why a task cannot run now; empty where it can."""
        if self.interrupted:
            return "the audit was interrupted before this part"
        return "" if share.left else "no time was left of max_time"

    def _without(self, task: Task, why_not: str, *, is_early: bool) -> PartResult:
        """The result of a task that does not run."""
        if task.is_last_word:
            return _rescued(task)
        early = "not begun" if is_early and not self.interrupted else ""
        return replace(task.blank, status="left out", reason=why_not, early=early)

    def _result_of(self, task: Task, share: Deadline) -> PartResult:
        """Run a task; its result says how it ended, how long it took and what warned in it."""
        began = _clock.now()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                result = task.run(share)
            except KeyboardInterrupt:
                self.interrupted = True
                reason = "interrupted by the user"
                result = replace(_rescued(task), status="interrupted", reason=reason)
            except NonDeterministicModelError:
                raise  # no part is worth anything then
            except Exception as error:
                result = self._after(error, task)
        if result.early and result.status == "done":
            early = f"ended early, for lack of time: {result.early}"
            result = replace(result, reason="; ".join(filter(None, (early, result.reason))))
        # Warnings of a part that are kept.
        notes = list(dict.fromkeys(str(w.message) for w in caught))[:5]
        return replace(result, notes=notes, seconds=_clock.now() - began)

    def _after(self, error: Exception, task: Task) -> PartResult:
        """What there is after an error."""
        why = message_of(error, self.context.space.layout.container.names)
        if isinstance(error, task.refuses):
            return replace(task.blank, status="left out", reason=why)
        if not (str(error) and isinstance(error, (ValueError, TypeError, RuntimeError))):
            why = f"{type(error).__name__}: {why}"  # the text alone may be a key
        return replace(_rescued(task), status="failed", reason=why)


def _rescued(task: Task) -> PartResult:
    try:
        return task.blank if task.rescue is None else task.rescue()
    except (Exception, KeyboardInterrupt):  # must not hide why the part ended, nor what others have
        return task.blank
