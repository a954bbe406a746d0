"""What a part of an audit is: what it runs, its typed result, and all that is said of that.

The registry (`parts/__init__.py`) lists the parts. Plan, limits, comparison, files and pages go
over it and know no part by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from skfairtest._clock import Deadline
from skfairtest.finding._pair import Pair
from skfairtest.report._context import AuditContext
from skfairtest.report._figures import KnownFigure
from skfairtest.report._types import LimitCheck, PartResult, Report
from skfairtest.report.render.blocks import Section

#: Questions that the first page answers. "headline" is the sentence of the report.
Place = Literal[
    "headline", "asked", "found", "performance", "whom", "rates", "moved", "largest", "sure"
]


class Sentence(NamedTuple):
    """A sentence, and to which question of the first page it belongs."""

    place: Place
    words: str


class Step(NamedTuple):
    """Something to do next, and the page that says how.

    `page` is its path in the documentation; of all steps those with the least `order` are shown.
    """

    order: int
    words: str
    title: str
    page: str


def always() -> bool:
    """For tasks that need not look at what others have found."""
    return True


#: The order from which on tasks are of what the first page does without.
SECONDARY = 70


@dataclass(frozen=True)
class Task:
    """A part that is to run, for one of the things that it is about."""

    #: Its result where there is none; `of` says what it is about.
    blank: PartResult
    #: Returns its result; what was not done by the deadline stands in `early`.
    run: Callable[[Deadline], PartResult]
    #: When it runs, among all tasks of all parts.
    order: tuple[int, ...]
    #: Share of the time that it may take, beside the other tasks. Before `SECONDARY` those of the
    #: first page share all of the time.
    share: float = 1.0
    #: Calls of the model that it takes at least: it does not begin without time for these.
    calls: int = 0
    #: Says, when its turn has come, why it does not run; empty where it does.
    why_not: Callable[[], str] = str
    #: Says, when its turn has come, whether what others have found leaves it anything to do.
    is_needed: Callable[[], bool] = always
    #: Returns what there is after an error or Ctrl-C.
    rescue: Callable[[], PartResult] | None = None
    #: Errors which say that the part does not apply to the model or the table: it is left out.
    refuses: tuple[type[Exception], ...] = ()
    #: Seconds that a part has which takes next to no time, also where the time is over.
    at_least: float = 0.0
    #: It puts together what others have found, and comes from `rescue` before and unless it runs.
    is_last_word: bool = False


class Part:
    """A part of an audit: a subclass in a file of its own, of which the registry has an object."""

    result: ClassVar[type[PartResult]]
    #: Where the report speaks of it, among all parts.
    place: ClassVar[int]
    #: Results of other parts that it builds on.
    needs: ClassVar[tuple[type[PartResult], ...]] = ()
    #: Whether it runs whatever is asked for.
    always: ClassVar[bool] = False
    #: Parameter of `audit` that asks for it; empty where it is always asked for.
    option: ClassVar[str] = ""
    #: Functions of the report, the limit and whether estimates decide, by the limits they check.
    limits: ClassVar[Mapping[str, Callable[[Report, float, bool], LimitCheck]]] = {}
    displays: ClassVar[Mapping[str, Callable[[Report], Any]]] = {}

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """What is to run."""
        raise NotImplementedError

    def summary(self, result: Any) -> str:
        """What a result has brought, for a line of progress."""
        return ""

    def figures(self, report: Report) -> Mapping[str, KnownFigure]:
        """The figures by their names, for the comparison of two reports."""
        return {}

    def sentences(self, report: Report) -> Iterable[Sentence]:
        """What the first page says of it."""
        return ()

    def answers(self, report: Report) -> Mapping[str, Sequence[Any]]:
        """Blocks that answer a question on the page, where the text has sentences."""
        return {}

    def pair(self, report: Report) -> tuple[str, Pair] | None:
        """Two twins for a card, and what they are; the first part that has some shows them."""
        return None

    def steps(self, report: Report) -> Iterable[Step]:
        """What the reader may do next."""
        return ()

    def sections(self, report: Report) -> Iterable[Section]:
        """What the page shows of it; sections of one key are one."""
        return ()
