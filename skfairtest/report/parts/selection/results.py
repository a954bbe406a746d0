"""The selection table: what it holds, and how it is made of the model's predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import pandas as pd
from msgspec import Struct
from msgspec.structs import replace

from skfairtest._clock import Deadline
from skfairtest.group import selection_table
from skfairtest.group._rules.sensitive_groups import MIN_SHARE
from skfairtest.oracle._favourable import favourable_labels, joined_labels
from skfairtest.report._context import AuditContext
from skfairtest.report._redact import count_of_people, neither
from skfairtest.report._types import Figure, PartResult, Report, Words
from skfairtest.space._sensitive_features import rows_not_in_model


class Estimate(Struct, frozen=True, forbid_unknown_fields=True):
    """A figure of a group with its interval, and of how many rows it is."""

    value: Figure = None
    low: Figure = None
    high: Figure = None
    n: Annotated[int | None, neither()] = None


class RatesInStratum(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the people of a group get within a stratum, and what that makes of its difference."""

    stratum: Words
    n: Annotated[int, count_of_people("Rows of the group in the stratum.")] = 0
    rate: Annotated[Estimate, count_of_people()] = Estimate()
    ratio: Annotated[Estimate, count_of_people("To the reference.")] = Estimate()
    from_rates: Annotated[float | None, count_of_people()] = None
    from_composition: Annotated[float | None, count_of_people()] = None


class WithinStrata(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group compared with the reference within strata."""

    reference: Words
    ratio: Annotated[Estimate, neither("Pooled over strata.")] = Estimate()
    difference: Annotated[Estimate, neither("Pooled over strata.")] = Estimate()
    homogeneity: Annotated[float | None, neither("P-value: the same in all strata.")] = None
    n_strata: Annotated[int | None, neither("Strata with rows of both.")] = None
    n: Annotated[int | None, count_of_people("Rows of both in these.")] = None
    from_rates: Annotated[float | None, neither("What rates make of the difference.")] = None
    from_composition: Annotated[float | None, neither("What other strata make of it.")] = None
    strata: Annotated[list[RatesInStratum], count_of_people("Those that make most of it.")] = []


class SmallestWithin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The smallest pooled ratio of a group to another one, within strata."""

    attribute: Words
    group: Words
    to: Words
    value: Figure
    low: Annotated[float | None, neither("The smallest is at least this (95%).")]
    high: Annotated[float | None, neither("The smallest is at most this (95%).")]


class GroupRates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the people of a group get."""

    attribute: Words
    group: Words
    n: Annotated[int | None, count_of_people("Rows of the group.")] = None
    share: Annotated[float | None, count_of_people("Share of all rows.")] = None
    rate: Annotated[Estimate, count_of_people("Favourable, or the mean.")] = Estimate()
    ratio: Annotated[Estimate, neither("To the highest of the attribute.")] = Estimate()
    errors: Annotated[dict[str, Estimate], count_of_people("By the names of the metrics.")] = {}
    within: Annotated[WithinStrata | None, neither("With control features.")] = None
    note: Annotated[str, count_of_people("Why a figure is unsure, or missing.")] = ""


class SelectionPart(PartResult, frozen=True, kw_only=True, tag="selection"):
    """The selection table: rates by group."""

    favourable: Words = ""
    confidence: Figure = None
    min_share: Annotated[float | None, neither("Smaller groups have no ratio.")] = None
    n: Annotated[int, neither("Rows of the data that were counted: all, or a random sample.")] = 0
    n_rows: Annotated[int, neither("Rows of the data.")] = 0
    low: Annotated[float | None, neither("The smallest is at least this (95%).")] = None
    high: Annotated[float | None, neither("The smallest is at most this (95%).")] = None
    metric: Annotated[str, neither("selection_rate, or mean_prediction.")] = ""
    groups: Annotated[list[GroupRates], neither("By attribute; intersections come last.")] = []
    control_features: Annotated[str, neither("What the strata are made of; the user's.")] = ""
    n_strata: Annotated[int, neither("Strata that occur.")] = 0
    smallest_within: Annotated[SmallestWithin | None, neither()] = None

    @property
    def has_ratios(self) -> bool:
        """Whether the rates are shares, which have ratios."""
        return self.metric not in ("", "mean_prediction")

    @property
    def with_ratio(self) -> list[GroupRates]:
        """The groups that have an impact ratio."""
        return [group for group in self.groups if group.ratio.value is not None]

    @property
    def without_people(self) -> bool:
        """Whether rates and numbers of people were left out of the file that it is from."""
        return any(group.n is None for group in self.groups)

    def alone(self, report: Report) -> list[GroupRates]:
        """The groups of one attribute each."""
        return [group for group in self.groups if group.attribute in report.sensitive_features]

    def frame(self, groups: Sequence[GroupRates] | None = None) -> pd.DataFrame:
        """The table of all groups, or of these, as `selection_table` returns it."""
        chosen = self.groups if groups is None else groups
        return pd.DataFrame([self._row(group) for group in chosen])

    def _row(self, group: GroupRates) -> dict[str, Any]:
        row = {
            "attribute": group.attribute, "group": group.group, "n": group.n, "share": group.share,
        }  # fmt: skip
        row |= _columns(self.metric, group.rate)
        if self.has_ratios:
            row |= _columns("impact_ratio", group.ratio)
        for name, estimate in group.errors.items():
            row |= _columns(name, estimate) | {f"{name}_n": estimate.n}
        if self.control_features:
            within = group.within or WithinStrata(reference="")
            row |= _columns("ratio_within", within.ratio) if self.has_ratios else {}
            row |= _columns("difference_within", within.difference)
        return {**row, "note": group.note}


def _columns(name: str, estimate: Estimate) -> dict[str, Any]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def select(context: AuditContext, blank: SelectionPart, deadline: Deadline) -> SelectionPart:
    """The rates of each group, and of their intersections."""
    rows, predicted = context.rows, context.predicted
    favourable, regresses = context.favourable_labels, context.task == "regression"
    if not regresses and favourable is not None:
        given = set(predicted.tolist())
        if not any(label in given for label in favourable_labels(favourable)):
            words = joined_labels(favourable_labels(favourable))
            reason = f"no prediction is {words}, so there are no rates to compare"
            return replace(blank, status="left out", reason=reason)
    confidence = 0.95
    table = selection_table(
        predicted,
        sensitive_features=context.sensitive_values(rows),
        y_true=context.rows_of(rows)[1],
        favourable="mean" if regresses else favourable,
        confidence=confidence,
        min_share=MIN_SHARE,
        control_features=rows_not_in_model(context.control, rows),
    )
    attrs, smallest = table.attrs, table.attrs.get("smallest_within")
    low, high = table.attrs["smallest_ratio"]
    labels = favourable_labels(table.attrs.get("favourable", ""))
    (metric,) = {"selection_rate", "mean_prediction"} & set(table.columns)
    return replace(
        blank,
        favourable="" if regresses else joined_labels(labels),
        confidence=confidence,
        min_share=MIN_SHARE,
        n=len(rows),
        n_rows=len(context.space.data),
        low=low,
        high=high,
        metric=metric,
        groups=_groups(table, metric),
        control_features=attrs.get("control_features", ""),
        n_strata=attrs.get("n_strata", 0),
        smallest_within=None if smallest is None else SmallestWithin(**smallest),
    )


#: Strata of a group that a report holds: those that make most of its difference.
MOST_STRATA = 20


def _groups(table: pd.DataFrame, metric: str) -> list[GroupRates]:
    """The groups of a table, with what was found within strata."""
    if "stratum" not in table:
        return [_rates(row, metric) for row in table.to_dict("records")]
    made = (table["from_rates"] + table["from_composition"]).abs()
    ordered = table.assign(made=made).sort_values("made", ascending=False, kind="stable")
    in_strata = {
        key: rows.head(MOST_STRATA).to_dict("records")
        for key, rows in ordered[table["stratum"] != ""].groupby(["attribute", "group"])
    }
    return [
        replace(_rates(row, metric), within=_within(row, metric, table, in_strata))
        for row in table[table["stratum"] == ""].to_dict("records")
    ]


def _within(
    row: dict[Any, Any], metric: str, table: pd.DataFrame, in_strata: dict[Any, Any]
) -> WithinStrata | None:
    reference = table.attrs["reference"][row["attribute"]]
    if reference is None or row["from_rates"] is None or pd.isna(row["n_strata"]):
        return None
    figure = "difference" if metric == "mean_prediction" else "ratio"
    return WithinStrata(
        reference=reference,
        ratio=_estimate(row, "ratio_within"),
        difference=_estimate(row, "difference_within"),
        homogeneity=row[f"homogeneity_{figure}"],
        n_strata=int(row["n_strata"]),
        n=int(row["n_within"]),
        from_rates=row["from_rates"],
        from_composition=row["from_composition"],
        strata=[
            RatesInStratum(
                stratum=one["stratum"],
                n=one["n"],
                rate=_estimate(one, metric),
                ratio=_estimate(one, "impact_ratio"),
                from_rates=one["from_rates"],
                from_composition=one["from_composition"],
            )
            for one in in_strata[row["attribute"], row["group"]]
        ],
    )


def _rates(row: dict[Any, Any], metric: str) -> GroupRates:
    names = [name.removesuffix("_n") for name in row if name.endswith("_n")]
    return GroupRates(
        attribute=str(row["attribute"]),
        group=str(row["group"]),
        n=row["n"],
        share=row["share"],
        rate=_estimate(row, metric),
        ratio=_estimate(row, "impact_ratio"),
        errors={name: _estimate(row, name) for name in names},
        note=row["note"],
    )


def _estimate(row: dict[Any, Any], name: str) -> Estimate:
    value, low, high = (row.get(f"{name}{end}") for end in ("", "_low", "_high"))
    n = row.get(f"{name}_n")
    return Estimate(value, low, high, None if n is None or pd.isna(n) else int(n))
