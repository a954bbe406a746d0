"""Which parts an audit has, in which order, and what share of the time each may take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from skfairtest.oracle._favourable import known_classes
from skfairtest.report._data import (
    CertificatePart,
    GroupsOfRowsPart,
    MovedPart,
    PerturbedGroupsPart,
    ReportPart,
    RowsPart,
    SearchPart,
    SelectionPart,
)
from skfairtest.report._measure import (
    certificate,
    columns,
    errors,
    groups,
    moved,
    perturbed,
    rows,
    search,
    selection,
)
from skfairtest.report._measure.case import Case
from skfairtest.report._measure.course import Course, Parts, PlannedPart
from skfairtest.report._measure.finalize import collect, finalized
from skfairtest.space._sensitive_features import not_taken
from skfairtest.space._space import InputSpace

#: Shares of the time: of the predictions for the rows, of the parts for all sensitive attributes
#: together, of those for each alone (divided by their number), of groups, of the table and of all
#: moved twins.
WEIGHTS = {
    "predictions": 5.0,
    "rows": 6.0,
    "search": 4.0,
    "certificate": 4.0,
    "columns": 0.5,
    "groups": 0.5,
    "perturbed": 2.0,
    "selection": 0.5,
    "errors": 0.5,
    "moved": 4.0,
}
ALONE = {"rows": 4.0, "search": 4.0, "certificate": 3.0}
COLUMNS_SECONDS = 1.0
PREDICTIONS, COLUMNS = "predictions", "columns that matter"
GROUPS, SELECTION = "groups", "selection table"


#: Label, sensitive names and space; no space where the model takes none of them.
Asked = tuple[str, list[str], InputSpace | None]


class Measured(NamedTuple):
    """What the parts have found."""

    searches: list[SearchPart]
    groups: GroupsOfRowsPart
    perturbed_groups: PerturbedGroupsPart | None
    selection: SelectionPart
    errors: list[GroupsOfRowsPart]
    moved: list[MovedPart]


class Plan:
    """The parts of an audit in their order, each with a share of the time."""

    def __init__(
        self,
        case: Case,
        certify: Any,
        groups: Any,
        moved_by: Any,
        progress: Any,
    ) -> None:
        self.case = case
        maps = moved.named_transports(moved_by)
        self.moved = {
            f"moved twins: {in_words(name)} ({of.name})": (name, of)
            for of in maps
            for name in case.sensitive_names
        }
        self.certify, self.groups = certify, groups
        not_in_model = [in_words(name) for name in case.names_not_in_model]
        #: All together is the last.
        self.searches: list[Asked] = []
        if not len(case.space.sensitive):
            self.searches += _alone_and_together(not_in_model, [None] * len(not_in_model), None)
        else:
            names = [in_words(name) for name in case.space.sensitive_features]
            positions = case.space.sensitive.tolist()
            spaces = [case.space.with_sensitive_features([j]) for j in positions]
            self.searches += [(name, [name], None) for name in not_in_model]
            self.searches += _alone_and_together(names, spaces, case.space)
        self.taken = [(label, space) for label, _, space in self.searches if space is not None]
        self.labels = [label for label, _ in self.taken]
        weights = {PREDICTIONS: WEIGHTS["predictions"]}
        weights |= {
            f"{part}: {label}": self._weight(part, label)
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
        weights |= {f"errors: {metric}": WEIGHTS["errors"] for metric in self._error_metrics()}
        # Parts that the model rules out take no time, and count among those that are reported.
        weights |= {f"twins: {label}": 0.0 for label, _, space in self.searches if space is None}
        # Those that stand beside the first map run last, and have what is left.
        share = WEIGHTS["moved"] / max(1, len(case.sensitive_names))
        weights |= {
            part: share if of is maps[0] else share / len(maps)
            for part, (_, of) in self.moved.items()
        }
        self.course = Course(case.max_time, weights, progress, case.space.layout.container.names)
        self.callbacks = progress.callbacks

    def _weight(self, part: str, label: str) -> float:
        alone = len(self.labels) - 1
        return WEIGHTS[part] if label == self.labels[-1] else ALONE[part] / alone

    def parts(self) -> Parts[Measured]:
        """Yield all parts in their order, and return what they have found."""
        case = self.case
        searches = {one.label: one for one in self._begun()}
        for label, one in searches.items():
            if not one.taken:
                yield PlannedPart(f"twins: {label}", ReportPart(), case.predict, one.reason)
        yield PlannedPart(PREDICTIONS, ReportPart(), case.predict)
        yield from self._search_all(searches)
        favourable = None if case.favourable is None else case.favourable.labels
        why_not_one = self._why_no_prediction()
        why_no_rates = why_not_one or self._why_no_favourable()
        found_groups = yield PlannedPart(
            GROUPS,
            GroupsOfRowsPart(),
            partial(groups.compare_groups, case, favourable),
            "groups=False" if self.groups is False else why_no_rates,
            refuses=(ValueError,),
        )
        table = yield PlannedPart(
            SELECTION, SelectionPart(), partial(selection.select, case, favourable), why_no_rates
        )
        # The first map of each attribute comes before the others, which stand beside it.
        maps, n_first = list(self.moved), len(case.sensitive_names)
        found_moved = yield from self._move(maps[:n_first])
        # Certificates come late: a large model may take longer to be read than it should.
        yield from self._certify_all(searches)
        # What no limit is about comes last, so that it takes no time from what limits need.
        found_perturbed = None
        if self.asks_perturbed:
            found_perturbed = yield self._perturbed(favourable)
        found_errors = []
        for metric in self._error_metrics():
            why_not = "errors need y, what is true of the rows" if case.y is None else why_not_one
            measure = partial(errors.compare_errors, case, metric, favourable)
            blank = GroupsOfRowsPart(metric=metric)
            name = f"errors: {metric}"
            found = yield PlannedPart(name, blank, measure, why_not, refuses=(ValueError,))
            found_errors.append(found)
        if self.labels:
            collect(case, self.labels[-1])
            columns_of_case = partial(columns.measure_columns, case)
            yield PlannedPart(COLUMNS, ReportPart(), columns_of_case, at_least=COLUMNS_SECONDS)
        found_moved += yield from self._move(maps[n_first:])
        *alone, together = searches.values()
        final = [finalized(case, one, []) for one in alone]
        final.append(finalized(case, together, alone))
        names = [str(name) for name in case.sensitive_names]
        found_moved.sort(key=lambda one: names.index(one.attribute))
        return Measured(final, found_groups, found_perturbed, table, found_errors, found_moved)

    def _move(self, parts: list[str]) -> Parts[list[MovedPart]]:
        """Move people to other groups, by the maps of some parts."""
        found = []
        for part in parts:
            name, of = self.moved[part]
            blank = MovedPart(
                attribute=str(name), transport=of.name, n_rows=len(self.case.space.data)
            )
            measure = partial(moved.measure_moved, self.case, name, of)
            moved_by_one = yield PlannedPart(part, blank, measure, refuses=(ValueError,))
            found.append(moved_by_one)
        return found

    def _search_all(self, searches: dict[str, SearchPart]) -> Parts[None]:
        """Compare the rows with their twins, then search the domain, for each search that runs."""
        case = self.case
        # All together first: if the time is short, it is what everybody asks for.
        for label, space in self.taken[::-1]:
            kept: list[rows.Judged] = []
            found_rows = yield PlannedPart(
                f"rows: {label}",
                RowsPart(),
                partial(rows.compare_rows, case, label, space, kept),
                rescue=partial(rows.rescue_rows, case, label, space, kept),
            )
            searches[label] = replace(searches[label], rows=found_rows)
        for label, space in self.taken[::-1]:
            blank = searches[label]
            searches[label] = yield PlannedPart(
                f"search: {label}",
                blank,
                partial(search.search, case, blank, space, self.callbacks),
                rescue=partial(search.describe_search, case, blank),
            )

    def _certify_all(self, searches: dict[str, SearchPart]) -> Parts[None]:
        """Bound what each search may have missed."""
        case = self.case
        why_not = "certify=False" if self.certify is False else certificate.why_not(case)
        for label in self.labels[::-1]:
            is_begun = hasattr(case.auditors.get(label), "stop_reason_")
            found = yield PlannedPart(
                f"certificate: {label}",
                CertificatePart(),
                partial(certificate.certify_search, case, label),
                why_not or ("" if is_begun else "there is no search to begin from"),
                refuses=(ValueError,),
            )
            searches[label] = replace(searches[label], certificate=found)

    def _begun(self) -> list[SearchPart]:
        """The searches as far as they are known before they run."""
        auditor = type(self.case.template).__name__
        return [
            by_construction(self.case, names, label, auditor)
            if space is None
            else SearchPart(sensitive=names, label=label, taken=True, auditor=auditor)
            for label, names, space in self.searches
        ]

    def _error_metrics(self) -> tuple[str, ...]:
        return errors.metrics_of(self.case.task, not self._why_no_favourable())

    @property
    def asks_perturbed(self) -> bool:
        """Whether somebody asks how the model treats groups of perturbed inputs."""
        return not isinstance(self.groups, (bool, str))

    def _perturbed(self, favourable: Any) -> PlannedPart:
        template = self.groups.set_params(favourable=favourable)
        return PlannedPart(
            perturbed.NAME,
            PerturbedGroupsPart(),
            partial(perturbed.compare_perturbed, self.case, template),
            "" if self.labels else not_taken(self.searches[-1][1]),
            rescue=partial(perturbed.describe_perturbed, self.case),
            refuses=(ValueError,),
        )

    def _why_no_prediction(self) -> str:
        """Why there is not one prediction a row that rates could be about; empty where there is."""
        predicted = self.case.predicted
        if predicted.ndim > 1:
            return (
                f"several outputs: the model predicts {predicted.shape[1]} for each row, and rates "
                "are about one. Audit a model of one of them"
            )
        return "" if len(predicted) else "the rows were not predicted"

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
) -> list[Asked]:
    """Each attribute alone and, where there are several, all of them together."""
    if len(names) == 1:
        return [(names[0], names, whole)]
    alone = [(name, [name], space) for name, space in zip(names, spaces, strict=True)]
    return [*alone, (", ".join(names) + " together", names, whole)]


def by_construction(case: Case, names: list[str], label: str, auditor: str) -> SearchPart:
    """What is known of twins in columns that the model does not take: they are one input to it."""
    why = not_taken(names)
    left_out: dict[str, Any] = {"status": "left out", "reason": why}
    has_rate = case.response != "regression" or case.template.threshold is not None
    ends = CertificatePart(
        **left_out, found=0.0, lower=0.0, upper=0.0, certified=True, stop_reason=why
    )
    people = RowsPart(
        **left_out,
        degree=0.0,
        rate=0.0 if has_rate else None,
        n_rows=len(case.space.data),
        changed=0,
        n_twins=1,
        n_combinations=1,
    )
    return SearchPart(
        **left_out,
        sensitive=names,
        label=label,
        taken=False,
        auditor=auditor,
        degree=0.0,
        stop_reason=why,
        rows=people,
        certificate=ends,
    )


def in_words(name: Any) -> str:
    """The name of a column; a position as such."""
    return name if isinstance(name, str) else f"column {name}"
