"""Which parts an audit has, in which order, and what share of the time each may take."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from skfairtest.oracle._favourable import known_classes
from skfairtest.report._measure import (
    bracket,
    columns,
    errors,
    groups,
    perturbed,
    rows,
    search,
    selection,
)
from skfairtest.report._measure.case import Case
from skfairtest.report._measure.course import Course
from skfairtest.report._measure.settle import gather
from skfairtest.space._sensitive_features import not_taken
from skfairtest.space._space import InputSpace

#: Shares of the time: of the parts for all sensitive attributes together, of those for each alone
#: (divided by their number), of groups and of the table.
WEIGHTS = {
    "rows": 3.0,
    "search": 4.0,
    "certificate": 4.0,
    "columns": 0.5,
    "groups": 0.5,
    "perturbed": 2.0,
    "selection": 0.5,
    "errors": 0.5,
}
ALONE = {"rows": 4.0, "search": 4.0, "certificate": 3.0}
COLUMNS_SECONDS = 1.0
COLUMNS, GROUPS, SELECTION = "columns that matter", "groups", "selection table"


#: Label, sensitive names and space; no space where the model takes none of them.
Search = tuple[str, list[str], InputSpace | None]


class Plan:
    """The parts of an audit in their order, each with a share of the time."""

    def __init__(
        self,
        case: Case,
        certify: Any,
        groups: Any,
        max_time: float | None,
        progress: Any,
    ) -> None:
        self.case = case
        self.certify, self.groups = certify, groups
        beside = [in_words(name) for name in case.names_beside]
        #: All together is the last.
        self.searches: list[Search] = []
        if not len(case.space.sensitive):
            self.searches += _alone_and_together(beside, [None] * len(beside), None)
        else:
            names = [in_words(name) for name in case.space.sensitive_features]
            positions = case.space.sensitive.tolist()
            spaces = [case.space.with_sensitive_features([j]) for j in positions]
            self.searches += [(name, [name], None) for name in beside]
            self.searches += _alone_and_together(names, spaces, case.space)
        self.taken = [(label, space) for label, _, space in self.searches if space is not None]
        self.labels = [label for label, _ in self.taken]
        weights = {
            self.name(part, label): self._weight(part, label)
            for part in ("rows", "search", "certificate")
            for label in self.labels
        }
        weights |= {COLUMNS: WEIGHTS["columns"]} if self.labels else {}
        weights |= {
            GROUPS: WEIGHTS["groups"],
            SELECTION: WEIGHTS["selection"],
        }
        if self.asks_perturbed:
            weights[perturbed.NAME] = WEIGHTS["perturbed"]
        weights |= {
            self.name("errors", metric): WEIGHTS["errors"] for metric in self._error_metrics()
        }
        self.course = Course(max_time, weights, progress)
        self.callbacks = progress.callbacks

    def name(self, part: str, label: str) -> str:
        """What a part is called."""
        return f"{part}: {label}"

    def _weight(self, part: str, label: str) -> float:
        alone = len(self.labels) - 1
        return WEIGHTS[part] if label == self.labels[-1] else ALONE[part] / alone

    def run(self) -> dict[str, Any]:
        """Run all parts; results by part, those of searches by label."""
        case, course = self.case, self.course
        found: dict[str, dict[str, Any]] = {"rows": {}, "search": {}, "certificate": {}}
        for label, names, space in self.searches:
            if space is None:
                reason = not_taken(names)
                course.leave_out(self.name("twins", label), reason)
                for part, result in by_construction(case, reason).items():
                    found[part][label] = result
        # All together first: if the time is short, it is what everybody asks for.
        for label, space in self.taken[::-1]:
            kept: list[rows.Judged] = []
            found["rows"][label] = {
                **rows.NOTHING,
                **course.run(
                    self.name("rows", label),
                    partial(rows.compare_rows, case, label, space, kept),
                    partial(rows.rescue_rows, case, label, space, kept),
                ),
            }
        for label, space in self.taken[::-1]:
            found["search"][label] = {
                **search.NOTHING,
                **course.run(
                    self.name("search", label),
                    partial(search.search, case, label, space, self.callbacks),
                    partial(search.describe_search, case, label),
                ),
            }
        favourable = None if case.favourable is None else case.favourable.labels
        reason = "groups=False" if self.groups is False else self._why_no_favourable()
        found_groups = (
            course.leave_out(GROUPS, reason)
            if reason
            else course.run(
                GROUPS, partial(groups.compare_groups, case, favourable), refuses=(ValueError,)
            )
        )
        found_perturbed = self._perturbed(favourable) if self.asks_perturbed else None
        reason = self._why_no_favourable()
        table = (
            course.leave_out(SELECTION, reason)
            if reason
            else course.run(SELECTION, partial(selection.select, case, favourable))
        )
        found_errors = [
            {**groups.NOTHING, "metric": metric, **self._errors(metric, favourable)}
            for metric in self._error_metrics()
        ]
        # Certificates come last: a large model may take longer to be read than it should.
        reason = "certify=False" if self.certify is False else bracket.why_not(case)
        for label in self.labels[::-1]:
            found["certificate"][label] = {**bracket.NOTHING, **self._certificate(label, reason)}
        if self.labels:
            gather(case, self.labels[-1])
            course.run(COLUMNS, partial(columns.measure_columns, case), at_least=COLUMNS_SECONDS)
        return {
            **found,
            "groups": {**groups.NOTHING, **found_groups},
            "perturbed_groups": found_perturbed,
            "selection": {**selection.NOTHING, **table},
            "errors": found_errors,
        }

    def _error_metrics(self) -> tuple[str, ...]:
        return errors.metrics_of(self.case.task, not self._why_no_favourable())

    def _errors(self, metric: str, favourable: Any) -> dict[str, Any]:
        name = self.name("errors", metric)
        if self.case.y is None:
            return self.course.leave_out(name, "errors need y, what is true of the rows")
        return self.course.run(
            name,
            partial(errors.compare_errors, self.case, metric, favourable),
            refuses=(ValueError,),
        )

    def _certificate(self, label: str, reason: str) -> dict[str, Any]:
        name = self.name("certificate", label)
        if not reason and not hasattr(self.case.auditors.get(label), "stop_reason_"):
            reason = "there is no search to begin from"
        if reason:
            return self.course.leave_out(name, reason)
        return self.course.run(
            name, partial(bracket.certify_search, self.case, label), refuses=(ValueError,)
        )

    @property
    def asks_perturbed(self) -> bool:
        """Whether somebody asks how the model treats groups of perturbed inputs."""
        return not isinstance(self.groups, (bool, str))

    def _perturbed(self, favourable: Any) -> dict[str, Any]:
        if not self.labels:
            reason = not_taken(self.searches[-1][1])
            return {**perturbed.NOTHING, **self.course.leave_out(perturbed.NAME, reason)}
        template = self.groups.set_params(favourable=favourable)
        found = self.course.run(
            perturbed.NAME,
            partial(perturbed.compare_perturbed, self.case, template),
            partial(perturbed.describe_perturbed, self.case),
            refuses=(ValueError,),
        )
        return {**perturbed.NOTHING, **found}

    def _why_no_favourable(self) -> str:
        """Why nobody can tell which predictions are favourable; empty where that can be told."""
        classes = known_classes(self.case.estimator)
        if self.case.favourable is None and classes is not None and len(classes) > 2:
            return (
                f"the model has {len(classes)} classes, and nothing says which is favourable: give "
                "favourable="
            )
        return ""


def _alone_and_together(
    names: list[str], spaces: Sequence[InputSpace | None], whole: InputSpace | None
) -> list[Search]:
    """Each attribute alone and, where there are several, all of them together."""
    if len(names) == 1:
        return [(names[0], names, whole)]
    alone = [(name, [name], space) for name, space in zip(names, spaces, strict=True)]
    return [*alone, (", ".join(names) + " together", names, whole)]


def by_construction(case: Case, reason: str) -> dict[str, dict[str, Any]]:
    """What is known of twins in columns that the model does not take: they are one input to it."""
    part = {"status": "left out", "reason": reason, "queries": 0, "seconds": 0.0}
    has_rate = case.response != "regression" or case.template.threshold is not None
    known = {
        "degree": 0.0, "rate": 0.0 if has_rate else None, "n_rows": len(case.space.data),
        "changed": 0,
    }  # fmt: skip
    ends = {"found": 0.0, "lower": 0.0, "upper": 0.0, "certified": True, "stop_reason": reason}
    return {
        "rows": {**rows.NOTHING, **part, **known, "n_twins": 1, "n_combinations": 1},
        "search": {**search.NOTHING, **part, "degree": 0.0, "stop_reason": reason},
        "certificate": {**bracket.NOTHING, **part, **ends},
    }


def in_words(name: Any) -> str:
    """The name of a column; a position as such."""
    return name if isinstance(name, str) else f"column {name}"
