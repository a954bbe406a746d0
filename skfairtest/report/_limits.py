"""Limits for a report, and the function that decides whether they hold."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from skfairtest._typing import is_real
from skfairtest.report._types import (
    WORST_FIRST,
    LimitsOutcome,
    PartResult,
    Report,
    Status,
    verdict_of,
)
from skfairtest.report.parts import PARTS
from skfairtest.report.parts.twins.results import together

#: Fields that say how others are meant.
SWITCHES = ("within", "estimates_decide")
SHARES = ("max_on_data_rate", "min_impact_ratio", "max_moved_rate")


@dataclass(frozen=True)
class Limits:
    """Limits that the figures of a report are compared with.

    Each figure has an interval in which its true value is known to be. If the whole interval breaks
    the limit, the limit is exceeded; if the whole interval keeps to it, the figure is within the
    limit; else it is undecided.

    Parameters
    ----------
    max_degree : float, default=None
        Largest difference between twins, in the units of the outputs.
    max_on_data_rate : float, default=None
        Share of the rows of data that are discriminatory, from 0 to 1.
    max_group_score : float, default=None
        Largest difference of a group of rows from all other rows: in the share of favourable
        predictions, or in the mean prediction of a regressor, in the units of the outputs.
    min_impact_ratio : float, default=None
        Smallest impact ratio of a group: its rate as a share of the highest rate, from 0 to 1.
    within : bool, default=False
        Whether `min_impact_ratio` is about the ratios that are pooled within the strata of
        `control_features`, in place of those of whole groups: the smallest of any group to any
        other. An audit without control features has none.
    max_moved_rate : float, default=None
        Share of people, from 0 to 1, whose decision changes if they are moved to another group with
        what goes along with their sensitive attribute: the largest share of all attributes, each
        under the first map that was done (the quantile map, unless `audit` was given another one).
        A model that does not take the attribute is not within this limit by construction.
    estimates_decide : bool, default=False
        Whether the measured values decide, without their intervals and bounds. A difference that
        the search did not find then does not count, and a group is within its limit even if its
        interval reaches beyond it.

    Raises
    ------
    ValueError
        If a limit is a value that no figure can have.

    See Also
    --------
    AuditReport.check : Compares a report with limits.

    Examples
    --------
    >>> from skfairtest import Limits
    >>> Limits(max_degree=0.2, min_impact_ratio=0.8).max_degree
    0.2
    """

    max_degree: float | None = None
    max_on_data_rate: float | None = None
    max_group_score: float | None = None
    min_impact_ratio: float | None = None
    within: bool = False
    max_moved_rate: float | None = None
    estimates_decide: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in SWITCHES:
                if not isinstance(value, bool):
                    raise ValueError(f"{field.name} must be True or False; got {value!r}.")
                continue
            if value is None:
                continue
            most = 1.0 if field.name in SHARES else math.inf
            if not is_real(value) or not 0 <= float(value) <= most:
                span = "from 0 to 1" if field.name in SHARES else "of at least 0"
                raise ValueError(f"{field.name} must be None or a number {span}; got {value!r}.")
        if self.within and self.min_impact_ratio is None:
            raise ValueError(
                "within=True is about min_impact_ratio, and none is given. Give "
                "min_impact_ratio=0.8, say, or leave within out."
            )


def check_within(limits: Limits | None, control_features: Any) -> None:
    """Raise an error for a limit within strata where an audit is to have none."""
    if isinstance(limits, Limits) and limits.within and control_features is None:
        raise ValueError(
            "within=True compares groups within strata, and control_features= makes none. Give "
            "control_features=, such as ['department'], or leave within out."
        )


def needed_for(limits: Limits) -> list[type[PartResult]]:
    """The results that these limits are about; `audit` measures no more where only they count."""
    given = {field.name for field in fields(limits) if getattr(limits, field.name) is not None}
    return [part.result for part in PARTS if given & set(part.limits)]


def _checked_by(name: str, limits: Limits) -> str:
    """Under which name parts serve a limit."""
    is_within = limits.within and name == "min_impact_ratio"
    return f"{name} within strata" if is_within else name


def check_limits(report: Report, limits: Limits) -> LimitsOutcome:
    """Compare a report with limits, and decide whether each of them holds.

    `AuditReport.check` documents how.
    """
    if not isinstance(limits, Limits):
        raise TypeError(f"limits must be Limits(...); got {type(limits).__name__}.")
    served = {name: check for part in PARTS for name, check in part.limits.items()}
    checks = [
        served[_checked_by(field.name, limits)](report, float(limit), limits.estimates_decide)
        for field in fields(limits)
        if field.name in served and (limit := getattr(limits, field.name)) is not None
    ]
    statuses = [check.status for check in checks]
    status: Status = next((one for one in WORST_FIRST if one in statuses), "within")
    twins = together(report)
    if not checks and (twins.known.degree is None or twins.search.status == "failed"):
        # A part that failed counts if a limit is about it; without limits the search does.
        status = "failed" if report.status == "failed" else status
    verdict = verdict_of(status, checks)
    if not checks:
        verdict = f"No limits were given. {report.sentence}"
        if status == "failed":
            verdict = f"Failed: the audit failed: {' '.join(report.reason.split())}"
    return LimitsOutcome(status, checks, verdict, limits.estimates_decide)
