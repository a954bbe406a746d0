"""Runs the parts of an audit one after the other, within its time."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from skfairtest import _clock
from skfairtest._clock import Deadline, OutOfTime
from skfairtest._progress import PartsProgress
from skfairtest.exceptions import NonDeterministicModelError
from skfairtest.finding._words import message_of
from skfairtest.report._context import AuditContext
from skfairtest.report._types import PartResult
from skfairtest.report.parts import PARTS
from skfairtest.report.parts._part import SECONDARY, Part, Task


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


def run_tasks(
    context: AuditContext,
    wanted: Iterable[type[PartResult]] | None,
    progress: PartsProgress,
    deadline: Deadline,
) -> None:
    """Run the parts with these results, or all, each within its share of the time that is left.

    The context takes the results; what it has already is not measured again. A part that fails does
    not end the audit: it says why, and the others go on. A non-deterministic model ends it, and
    after Ctrl-C nothing begins.
    """
    context.budget.run_ends = deadline
    began, known = _clock.now(), {one.name for one in context.results if one.status == "done"}
    tasks = [(task, part) for part in chosen_parts(wanted) for task in part.tasks(context)]
    new = {part.result for task, part in tasks if task.blank.name not in known}
    waiting = [
        (task, part)
        for task, part in tasks
        if task.blank.name not in known or (task.is_last_word and new & set(part.needs))
    ]
    waiting.sort(key=lambda one: one[0].order)
    progress.begin("audit", len(waiting))
    interrupted = False
    try:
        while waiting:
            task, part = waiting[0]
            if not task.is_needed():
                waiting.pop(0)
                progress.n_parts -= 1
                continue
            least = task.calls * context.budget.calls.at_most(1)
            share = _share(task, [one for one, _ in waiting], deadline, least)
            no_time = share.left <= 0.9 * least
            why_not = task.why_not()
            if not why_not and interrupted:
                why_not = "the audit was interrupted before this part"
            elif not why_not and no_time:
                why_not = "no time was left of max_time"
            if why_not:
                is_early = no_time and not interrupted
                ended = _without(context, task, why_not, is_early=is_early)
            else:
                progress.part(task.blank.name)
                with _noting(context, task) as ended:
                    ended.result = task.run(share)
            result = ended.result
            interrupted |= result.status == "interrupted"
            waiting.pop(0)
            others = [one for one in context.results if one.name != result.name]
            context.results[:] = [*others, result]
            words = part.summary(result) if result.status == "done" else result.status
            progress.done(": ".join(filter(None, [result.name, words, result.reason])))
    finally:
        progress.finish()
    context.seconds += _clock.now() - began


def _share(task: Task, waiting: Sequence[Task], deadline: Deadline, least: float) -> Deadline:
    """Until when a task may run: its share of the time left, and what it has in any case.

    What the first page does without has the time that is left then. A task that has no use for less
    than `least` seconds has these, if half of the time left is enough for that.
    """
    if deadline == math.inf:
        return deadline
    is_first = task.order < (SECONDARY,)
    shares = [one.share for one in waiting if not is_first or one.order < (SECONDARY,)]
    part = task.share / sum(shares) if sum(shares) else 1.0
    least = least if least <= 0.5 * deadline.left else 0.0
    return Deadline.after(max(deadline.left * part, least, task.at_least))


@dataclass
class _Ended:
    """How a task has ended."""

    result: PartResult


def _without(context: AuditContext, task: Task, why_not: str, *, is_early: bool) -> _Ended:
    """The result of a task that does not run."""
    if task.is_last_word:
        return _Ended(rescued(context, task))
    return _Ended(_left_out(context, task, why_not, early="not begun" if is_early else ""))


def _left_out(context: AuditContext, task: Task, why_not: str, *, early: str) -> PartResult:
    known = context.result(type(task.blank), task.blank.of)
    if known.status == "done":  # what was measured in less detail stays
        return replace(known, reason=why_not, early=early and "not continued")
    return replace(task.blank, status="left out", reason=why_not, early=early)


@contextmanager
def _noting(context: AuditContext, task: Task) -> Iterator[_Ended]:
    """Say, of a task that runs in a context, how it ended, how long it took and what warned."""
    ended, began = _Ended(task.blank), _clock.now()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield ended
        except KeyboardInterrupt:
            reason = "interrupted by the user"
            ended.result = replace(rescued(context, task), status="interrupted", reason=reason)
        except NonDeterministicModelError:
            raise  # no part is worth anything then
        except Exception as error:
            ended.result = _after(error, context, task)
    result = ended.result
    if result.early and result.status == "done":
        early = f"ended early, for lack of time: {result.early}"
        result = replace(result, reason="; ".join(filter(None, (early, result.reason))))
    # Warnings of a part that are kept.
    notes = list(dict.fromkeys(str(w.message) for w in caught))[:5]
    ended.result = replace(result, notes=notes, seconds=_clock.now() - began)


def _after(error: Exception, context: AuditContext, task: Task) -> PartResult:
    """What there is after an error."""
    why = message_of(error, context.space.layout.container.names)
    # Where there was no time for the least that it can do, an auditor refuses to be fitted.
    if isinstance(error, OutOfTime) or isinstance(error.__context__, OutOfTime):
        why = "its share of max_time was over before it had found anything"
        return _left_out(context, task, why, early="none of it")
    if isinstance(error, task.refuses):
        return replace(task.blank, status="left out", reason=why, of_error=True)
    if not (str(error) and isinstance(error, (ValueError, TypeError, RuntimeError))):
        why = f"{type(error).__name__}: {why}"  # the text alone may be a key
    return replace(rescued(context, task), status="failed", reason=why, of_error=True)


def rescued(context: AuditContext, task: Task) -> PartResult:
    """What there is of a part that has not run to its end; asks nothing."""
    known = context.result(type(task.blank), task.blank.of)
    known = known if known.status == "done" else task.blank
    try:
        return known if task.rescue is None else task.rescue()
    except (Exception, KeyboardInterrupt):  # must not hide why the part ended, nor what others have
        return known
