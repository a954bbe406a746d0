"""Limits for a report, and the function that decides whether they hold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any

from skfairtest._typing import is_real
from skfairtest.finding._words import percent, two_numbers
from skfairtest.group._rules.sensitive_groups import TIMES
from skfairtest.group._selection import MISSING
from skfairtest.report import _known
from skfairtest.report._known import KnownFigure
from skfairtest.report._measure.plain import real
from skfairtest.report._render.words import (
    beyond_domain,
    bounds_text,
    compared_with,
    group_named,
    of_people,
    with_some_twins,
)

#: Rows of the selection table.
Groups = list[dict[str, Any]]
#: What an outcome means for the exit code of a command.
EXIT_CODES = {"within": 0, "exceeded": 1, "undecided": 3, "failed": 4}
WORST_FIRST = ("exceeded", "failed", "undecided", "within")
Status = Annotated[str, {"enum": WORST_FIRST}]


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
    max_moved_rate: float | None = None
    estimates_decide: bool = False

    def __post_init__(self) -> None:
        """Raise an error unless the limits are numbers that figures can have."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "estimates_decide":
                if not isinstance(value, bool):
                    raise ValueError(f"estimates_decide must be True or False; got {value!r}.")
                continue
            if value is None:
                continue
            most = 1.0 if field.name in SHARES else math.inf
            if not is_real(value) or not 0 <= float(value) <= most:
                span = "from 0 to 1" if field.name in SHARES else "of at least 0"
                raise ValueError(f"{field.name} must be None or a number {span}; got {value!r}.")


def parts_for(limits: Limits) -> dict[str, Any]:
    """Return the options of `audit` by which it measures no more than these limits need."""
    from skfairtest.transports import QuantileTransport

    moved = limits.max_moved_rate is not None
    return {
        "certify": "auto" if limits.max_degree is not None else False,
        "groups": "auto" if limits.max_group_score is not None else False,
        "moved": QuantileTransport()
        if moved
        else False,  # the others are compared with the first map
    }


SHARES = ("max_on_data_rate", "min_impact_ratio", "max_moved_rate")


@dataclass(frozen=True)
class LimitCheck:
    """Result of one limit: its status and what is known of its figure.

    Attributes
    ----------
    name : str
        The limit's name in `Limits`.
    limit : float
        The limit.
    status : {"within", "exceeded", "undecided", "failed"}
        Whether the limit holds, or why that is not known.
    figure : str
        Name of the figure that decides, such as "impact ratio of f (sex) to m, the smallest of 5
        groups".
    value : float or None
        The figure. None if it was not measured.
    low, high : float or None
        Bounds of the interval in which it is known to be. None if a bound is unknown.
    interval : str
        Kind of the interval: "exact", "95% interval", "certified bounds", ...
    words : str
        A sentence that says what was and was not shown.
    left_out : list of str
        Groups that were too small to be compared, or attributes whose groups nobody can be moved
        between.

    Examples
    --------
    >>> from skfairtest import Limits, SBFTAuditor, audit
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(random_state=0)
    >>> quick = SBFTAuditor(max_queries=500)
    >>> report = audit(
    ...     data.estimator, data.data, auditor=quick, groups=False, moved=False,
    ...     random_state=0, progress=False,
    ... )
    >>> (check,) = report.check(Limits(max_degree=0.0)).checks
    >>> check.status, check.figure, check.interval
    ('exceeded', 'largest difference between twins in sex', 'lower bound')
    """

    name: str
    limit: float
    status: Status
    figure: str
    value: float | None
    low: float | None
    high: float | None
    interval: str
    words: str
    left_out: list[str]


def figure_sentence(check: LimitCheck) -> str:
    """Describe the figure of a limit, and the interval in which it is known to be."""
    if check.value is None:
        return f"{check.figure}: not measured"
    words = f"{check.figure}: {unlike_limit(check.value, check.limit)}"
    if check.low is None or check.high is None or check.low == check.high:
        return f"{words} ({check.interval})"
    low, high = unlike_limit(check.low, check.limit), unlike_limit(check.high, check.limit)
    return f"{words} ({low} to {high}, {check.interval})"


@dataclass(frozen=True)
class LimitsOutcome:
    """Result of `AuditReport.check`: whether a report is within its limits.

    Attributes
    ----------
    status : {"within", "exceeded", "undecided", "failed"}
        The worst of the checks: an exceeded limit, a part that failed, a limit that could not be
        decided, or none of these.
    checks : list of LimitCheck
        One check per limit.
    verdict : str
        A line that says what was and was not shown.

    Examples
    --------
    >>> from skfairtest.report import LimitsOutcome
    >>> LimitsOutcome("within", [], "No limits were given.").exit_code
    0
    """

    status: str
    checks: list[LimitCheck]
    verdict: str

    @property
    def exit_code(self) -> int:
        """The command line's exit code: 0 within, 1 exceeded, 3 undecided, 4 failed."""
        return EXIT_CODES[self.status]


def check_limits(report: Any, limits: Limits) -> LimitsOutcome:
    """Compare a report with limits, and decide whether each of them holds.

    `AuditReport.check` documents how; a dict has a report's data.
    """
    if not isinstance(limits, Limits):
        raise TypeError(f"limits must be Limits(...); got {type(limits).__name__}.")
    data = report if isinstance(report, dict) else report.to_dict()
    checks = [
        CHECKS[field.name](data, float(getattr(limits, field.name)), limits.estimates_decide)
        for field in fields(limits)
        if field.name in CHECKS and getattr(limits, field.name) is not None
    ]
    statuses = [check.status for check in checks]
    status = next((status for status in WORST_FIRST if status in statuses), "within")
    search = data["searches"][-1]
    # A part that failed counts if a limit is about it; without limits the search itself does.
    asked = not checks or limits.max_degree is not None
    fails = search["degree"] is None or (not checks and search.get("status") == "failed")
    if data["status"] == "failed" and status != "exceeded" and asked and fails:
        status = "failed"
    return LimitsOutcome(status, checks, _verdict(data, checks, status))


def _verdict(data: dict[str, Any], checks: list[LimitCheck], status: str) -> str:
    if not checks and status != "failed":
        return f"No limits were given. {data['sentence']}"
    worst = [check.words for check in checks if check.status == status]
    if status == "failed" and not worst:
        worst = [f"the audit failed: {data['reason']}"]
    # What a model raised may have many lines; the verdict has one.
    text = " ".join("; ".join(worst).split()).rstrip(".")
    return f"{status.capitalize()}: {text}."


def in_full(limit: float) -> str:
    """Return a limit as it was written."""
    return f"{limit:,.12g}"


def unlike_limit(value: float, limit: float) -> str:
    """Return a figure with as many digits as are needed to tell it from its limit."""
    return two_numbers(value, limit)[0]


def _at_most(known: KnownFigure, limit: float, estimates_decide: bool) -> str:
    """Check a figure that has to be at most the limit."""
    low, high = (known.value, known.value) if estimates_decide else (known.low, known.high)
    if low > limit:
        return "exceeded"
    return "within" if high <= limit else "undecided"  # not so where no bound is known (NaN)


def _at_least(known: KnownFigure, limit: float, estimates_decide: bool) -> str:
    """Check a figure that has to be at least the limit."""
    low, high = (known.value, known.value) if estimates_decide else (known.low, known.high)
    if high < limit:
        return "exceeded"
    return "within" if low >= limit else "undecided"


def _check(
    name: str,
    limit: float,
    status: str,
    known: KnownFigure,
    words: str,
    left_out: Sequence[str] = (),
) -> LimitCheck:
    value, low, high = (None if math.isnan(x) else x for x in (known.value, known.low, known.high))
    return LimitCheck(
        name, limit, status, known.figure, value, low, high, known.interval, words, list(left_out)
    )


def _check_degree(data: dict[str, Any], limit: float, estimates_decide: bool) -> LimitCheck:
    search = data["searches"][-1]
    known = _known.degree(search)
    if not search["taken"]:
        words = f"no difference is above {in_full(limit)}: {search['reason']}"
        return _check("max_degree", limit, "within", known, words)
    status = _at_most(known, limit, False)
    if math.isnan(known.value):
        return _unknown("max_degree", limit, known, search)
    if status == "exceeded":
        where = " among the rows of the data" if beyond_domain(search) else ""
        words = (
            f"a difference of {unlike_limit(known.value, limit)}{where} is above {in_full(limit)}"
        )
    elif status == "within":
        words = f"no difference in the domain is above {in_full(limit)} (proven)"
        if beyond_domain(search):
            words += ", and none was seen among the rows outside of it"
    elif search["status"] != "done" or not search["inputs"]:
        # The rows may have been compared, which says nothing of the rest of the domain.
        reason = f"no search: {search['reason'] or 'it compared no input with its twins'}"
        return _unknown("max_degree", limit, known, {**search, "reason": reason})
    else:
        words = (
            f"no difference above {in_full(limit)} found in {search['search_queries']:,} queries "
            f"(seed {data['seed']})"
        )
        if estimates_decide:
            status = "within"
        elif math.isnan(known.high):
            words += ", but there is no upper bound"
        else:
            words += f", but it may be up to {unlike_limit(known.high, limit)} (proven)"
    return _check("max_degree", limit, status, known, words)


def _check_rate(data: dict[str, Any], limit: float, estimates_decide: bool) -> LimitCheck:
    search = data["searches"][-1]
    rows = search["rows"]
    if not search["taken"]:
        words = (
            f"nobody would get something else, within {in_full(100 * limit)}%: {search['reason']}"
        )
        return _check("max_on_data_rate", limit, "within", _known.rate(search), words)
    if data["rows_of_people"] == "none":
        reason = "counts of people were left out of this report (rows='none')"
        return _unknown("max_on_data_rate", limit, _known.rate(search), {"reason": reason})
    if rows["status"] == "done" and rows["rate"] is None:
        raise ValueError(
            "max_on_data_rate needs a threshold: without one, every row of a regressor whose "
            "predictions differ at all would count, and these are nearly all rows. Pass "
            "threshold= to audit."
        )
    known = _known.rate(search)
    if rows["rate"] is None:
        return _unknown("max_on_data_rate", limit, known, rows)
    status = _at_most(known, limit, estimates_decide)
    what = "would get another decision"
    if data["threshold"] is not None:
        what = f"have twins that differ by more than {in_full(data['threshold'])}"
    some = with_some_twins(rows)
    words = (
        f"{'at least ' * some}{_percent(known.value, limit)} of {of_people(rows)} {what}, "
        f"{'above' if known.value > limit else 'within'} {in_full(100 * limit)}%"
    )
    if rows["n"] < rows["n_rows"]:
        but = ", but" if status == "undecided" else ";"
        ends = bounds_text({"low": known.low, "high": known.high}, partial(_percent, limit=limit))
        words += f"{but} of all people {ends} ({known.interval})"
    elif some and status == "undecided":
        words += f", but people were compared {compared_with(search)}"
    return _check("max_on_data_rate", limit, status, known, words)


def _percent(share: float, limit: float) -> str:
    """Return a share in percent, with as many digits as tell it from its limit."""
    if share == limit or percent(share) != percent(limit):
        return percent(share)
    return f"{unlike_limit(100 * share, 100 * limit)}%"


def _check_groups(data: dict[str, Any], limit: float, estimates_decide: bool) -> LimitCheck:
    groups = data["groups"]
    if groups["largest"] is None:
        return _unknown("max_group_score", limit, _nothing("largest group score"), groups)
    known = _known.largest_score(groups)
    status = _at_most(known, limit, estimates_decide)
    rows = _known.selection_rows(data["selection"])
    # Intervals tell how little few rows say, estimates do not.
    why_not = "" if estimates_decide else MISSING
    compared = [row for row in rows if not (row["note"] and row["note"].startswith(why_not))]
    alone = _not_compared(rows, compared)
    small = f"groups under {groups['min_support']:.0%} of the rows were not compared"
    # The search does not list what it leaves out; of known groups the selection table does.
    left_out = _groups_under(data["selection"], groups["min_support"])
    if left_out:
        small += f" ({_first_of(left_out)} among them)"
    side = "above" if known.value > limit else "within"
    words = "; ".join([_in_its_interval(known, limit, status, side), small, *alone])
    status = "undecided" if alone and status == "within" else status
    return _check("max_group_score", limit, status, known, words, [small, *left_out, *alone])


def _in_its_interval(known: KnownFigure, limit: float, status: str, side: str) -> str:
    """Write a figure of groups, its limit and the interval in which it is known to be."""
    words = f"{known.figure}: {unlike_limit(known.value, limit)}, {side} {in_full(limit)}"
    if math.isnan(known.low) or math.isnan(known.high):
        return words
    but = ", but it" if status == "undecided" else "; it"
    low, high = unlike_limit(known.low, limit), unlike_limit(known.high, limit)
    return f"{words}{but} may be from {low} to {high} ({known.interval})"


def _groups_under(selection: dict[str, Any], share: float) -> list[str]:
    """Return the groups of the selection table that have a smaller share of the rows."""
    return [
        f"{row['attribute']} = {row['group']}"
        for row in _known.selection_rows(selection)
        if row.get("share") is not None and row["share"] < share
    ]


def _not_compared(every: Groups, comparable: Groups) -> list[str]:
    """Say of which attributes fewer than two groups can be compared: nobody knows what they hide.

    Intersections may have small groups alone, and are no attributes.
    """
    names = {str(row["attribute"]) for row in every}
    counts = Counter(str(row["attribute"]) for row in comparable)
    single = [
        name for name in names if TIMES not in name or not names.issuperset(name.split(TIMES))
    ]
    few = sorted(name for name in single if counts[name] < 2)
    return [f"{name}: fewer than two groups that can be compared" for name in few]


def _check_ratio(data: dict[str, Any], limit: float, estimates_decide: bool) -> LimitCheck:
    selection = data["selection"]
    if "impact_ratio" not in selection["columns"]:
        reason = selection["reason"] or "the predictions have no rates of favourable labels"
        return _unknown("min_impact_ratio", limit, NO_RATIO, {**selection, "reason": reason})
    ratios = _known.impact_ratios(selection)
    small = [row for row in _known.selection_rows(selection) if row["impact_ratio"] is None]
    if estimates_decide:
        # Rates of small groups are mostly chance. Their intervals tell that, estimates do not.
        small += [row for row in ratios if row["note"]]
        ratios = [row for row in ratios if not row["note"]]
    left_out = [f"{group_named(row)}: {row['note']}" for row in small]
    if not ratios:
        part = {"status": "done", "reason": "no attribute has two groups that can be compared"}
        return _unknown("min_impact_ratio", limit, NO_RATIO, part)
    known = _known.smallest_ratio(selection, ratios)
    status = _at_least(known, limit, estimates_decide)
    side = "below" if known.value < limit else "not below"
    words = _in_its_interval(known, limit, status, side)
    widest = min(ratios, key=lambda row: real(row["impact_ratio_low"]))
    if status == "undecided" and group_named(widest) not in known.figure:
        words += f", because little is known of {group_named(widest)}"
    if small:
        few = _first_of([str(row["group"]) for row in small])
        words += (
            f"; not checked, as noted in the selection table: {len(small)} "
            f"group{'s' * (len(small) > 1)} ({few})"
        )
    alone = _not_compared(_known.selection_rows(selection), ratios)
    words = "; ".join([words, *alone])
    status = "undecided" if alone and status == "within" else status
    return _check("min_impact_ratio", limit, status, known, words, [*left_out, *alone])


def _check_moved(data: dict[str, Any], limit: float, estimates_decide: bool) -> LimitCheck:
    name, moved = "max_moved_rate", data["moved"]
    parts = _known.first_maps(moved)
    if data["threshold"] is None and any(part["counts_above"] is not None for part in parts):
        raise ValueError(
            "max_moved_rate needs a threshold: from which difference on the decision of a "
            "regressor counts as another one is not for a limit to guess. Pass threshold= to audit."
        )
    measured = {part["attribute"] for part in parts}
    missing: dict[str, dict[str, Any]] = {}
    for part in moved:
        if part["attribute"] not in measured:
            missing.setdefault(part["attribute"], part)
    failed = any(part["status"] == "failed" for part in missing.values())
    if not parts:
        reason = "no people were moved (moved=False)"
        if missing:
            # One that could have been measured says more than one without groups.
            reason = max(missing.values(), key=lambda part: part["applies"])["reason"]
        part = {"status": "failed" if failed else "done", "reason": reason}
        return _unknown(name, limit, _nothing("share of people whose moved twin differs"), part)
    known = _known.moved_rate(parts)
    status = _at_most(known, limit, estimates_decide)
    if missing and status != "exceeded":
        # Nobody knows what was not measured, for lack of time or of groups.
        status = "failed" if failed else "undecided"
    side = "above" if known.value > limit else "within"
    words = f"{known.figure}: {_percent(known.value, limit)}, {side} {in_full(100 * limit)}%"
    if not (math.isnan(known.low) or math.isnan(known.high)):
        but = ", but" if status == "undecided" and not missing else ";"
        ends = bounds_text({"low": known.low, "high": known.high}, partial(_percent, limit=limit))
        words += f"{but} of all people {ends} ({known.interval})"
    left_out = [f"{part['attribute']}: {part['reason']}" for part in missing.values()]
    left_out += [words for part in parts for words in _people_not_moved(part)]
    if left_out:
        words += f"; not checked: {_first_of(left_out)}"
    return _check(name, limit, status, known, words, left_out)


def _first_of(left_out: list[str]) -> str:
    """The first three; names of intersections have commas in them. The check itself has all."""
    return "; ".join(left_out[:3]) + ("; and others" if len(left_out) > 3 else "")


def _people_not_moved(part: dict[str, Any]) -> list[str]:
    """Whom a share of moved people says nothing about."""
    name = part["attribute"]
    reasons = [f"{name} = {group}: too few rows to be moved" for group in part["not_moved"]]
    if part["without_value"]:
        reasons.append(f"{part['without_value']:,} rows without a value of {name}")
    return reasons


def _nothing(figure: str) -> KnownFigure:
    return KnownFigure(figure, math.nan, math.nan, math.nan, "")


NO_RATIO = _nothing("smallest impact ratio")


def _unknown(name: str, limit: float, known: KnownFigure, part: dict[str, Any]) -> LimitCheck:
    status = "failed" if part.get("status") == "failed" else "undecided"
    reason = part.get("reason") or "it was not measured"
    words = f"{name} could not be checked: {reason}"
    return _check(name, limit, status, known, words)


CHECKS = {
    "max_degree": _check_degree,
    "max_on_data_rate": _check_rate,
    "max_group_score": _check_groups,
    "min_impact_ratio": _check_ratio,
    "max_moved_rate": _check_moved,
}
