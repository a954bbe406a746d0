"""Limits for a report, and the one function that decides whether they hold."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, fields
from typing import Any

from skfairtest.finding._words import number, two_numbers
from skfairtest.report._render.words import beyond_domain, seen

#: What an outcome means for the exit code of a command.
EXIT_CODES = {"within": 0, "exceeded": 1, "undecided": 3, "failed": 4}
WORST_FIRST = ("exceeded", "failed", "undecided", "within")


@dataclass(frozen=True)
class Limits:
    """What a report may show at most.

    Parameters
    ----------
    max_degree : float, default=None
        Largest difference between twins, in the units of the outputs.
    max_on_data_rate : float, default=None
        Share of the rows of data that are discriminatory, from 0 to 1.
    max_upper_bound : float, default=None
        Certified bound of the largest difference.
    max_group_score : float, default=None
        Largest score of a rule set: difference of the shares of favourable predictions.
    min_impact_ratio : float, default=None
        Smallest impact ratio of a group: its rate as a share of the highest rate, from 0 to 1.
    require_certified : bool, default=False
        Whether `max_degree` and `max_on_data_rate` have to be shown to hold, instead of only not
        being seen exceeded.

    Raises
    ------
    ValueError
        For limits that no figure can have.

    See Also
    --------
    check_limits : Compares a report with limits.

    Examples
    --------
    >>> from skfairtest import Limits
    >>> Limits(max_degree=0.2, require_certified=True).max_degree
    0.2
    """

    max_degree: float | None = None
    max_on_data_rate: float | None = None
    max_upper_bound: float | None = None
    max_group_score: float | None = None
    min_impact_ratio: float | None = None
    require_certified: bool = False

    def __post_init__(self) -> None:
        """See that the limits are numbers that figures can have."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "require_certified":
                if not isinstance(value, bool):
                    raise ValueError(f"require_certified must be True or False; got {value!r}.")
                continue
            if value is None:
                continue
            is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
            most = 1.0 if field.name in SHARES else math.inf
            if not is_number or not 0 <= float(value) <= most or math.isinf(float(value)):
                span = "from 0 to 1" if field.name in SHARES else "of at least 0"
                raise ValueError(f"{field.name} must be None or a number {span}; got {value!r}.")


#: Groups that were not judged which a sentence names; `left_out` has all.
NAMED = 3
SHARES = ("max_on_data_rate", "max_group_score", "min_impact_ratio")


@dataclass(frozen=True)
class LimitCheck:
    """One limit and what is known of its figure.

    Attributes
    ----------
    name : str
        The limit's name in `Limits`.
    limit : float
        The limit.
    status : {"within", "exceeded", "undecided", "failed"}
        What is known.
    value : float or None
        The figure; None where it was not measured.
    low, high : float or None
        Ends of its bracket or interval.
    is_lower_bound : bool
        Whether the true figure may be larger than the value without being seen.
    words : str
        What was and was not shown.
    left_out : list of str
        Groups that were too small to be compared.

    See Also
    --------
    check_limits : Makes one a limit.

    Examples
    --------
    >>> from skfairtest import LimitCheck
    >>> check = LimitCheck("max_degree", 0.1, "within", 0.0, 0.0, None, True, "none found", [])
    >>> check.status, check.is_lower_bound
    ('within', True)
    """

    name: str
    limit: float
    status: str
    value: float | None
    low: float | None
    high: float | None
    is_lower_bound: bool
    words: str
    left_out: list[str]


@dataclass(frozen=True)
class Outcome:
    """Whether a report is within its limits.

    Attributes
    ----------
    status : {"within", "exceeded", "undecided", "failed"}
        The worst of the checks: an exceeded limit, a part that failed, a limit that could not be
        decided, or none of these.
    checks : list of LimitCheck
        One a limit.
    verdict : str
        One line that says what was and was not shown.

    See Also
    --------
    check_limits : Makes one.

    Examples
    --------
    >>> from skfairtest import Outcome
    >>> Outcome("within", [], "No limits were given.").exit_code
    0
    """

    status: str
    checks: list[LimitCheck]
    verdict: str

    @property
    def exit_code(self) -> int:
        """0 within, 1 exceeded, 3 undecided, 4 failed, as the command line returns it."""
        return EXIT_CODES[self.status]


def check_limits(report: Any, limits: Limits) -> Outcome:
    """Compare a report with limits; the one function that decides.

    Parameters
    ----------
    report : AuditReport or dict
        What was found.
    limits : Limits
        What is allowed.

    Returns
    -------
    Outcome
        Status, one check a limit, and a line in words.

    Raises
    ------
    TypeError
        If `limits` are no `Limits`.
    ValueError
        If a limit asks for a figure that the report cannot have: a share of discriminatory rows of
        a regressor without a threshold.

    Notes
    -----
    A figure is within its limit where it does not exceed it. Whatever was seen counts: a row of the
    data outside the domain (of `bounds`, `categories`, `constraint`) is judged like a pair in it,
    although a certificate is about the domain alone. What a search finds is a lower bound,
    so a limit on the degree is met if nothing larger was found, which the words say; with
    ``require_certified=True`` it is undecided unless the certified bound is within it, too. Where
    the figure was not measured at all, the limit is undecided, never met. Groups that are too small
    to be compared are named.

    Examples
    --------
    >>> from skfairtest import Limits, SBFTAuditor, audit, check_limits
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(random_state=0)
    >>> quick = SBFTAuditor(max_queries=2000)
    >>> report = audit(data.estimator, data.data, auditor=quick, random_state=0, progress=False)
    >>> check_limits(report, Limits(max_degree=0.0)).status
    'exceeded'
    """
    if not isinstance(limits, Limits):
        raise TypeError(f"limits must be Limits(...); got {type(limits).__name__}.")
    data = report if isinstance(report, dict) else report.to_dict()
    checks = [
        CHECKS[field.name](data, float(getattr(limits, field.name)), limits.require_certified)
        for field in fields(limits)
        if field.name in CHECKS and getattr(limits, field.name) is not None
    ]
    statuses = [check.status for check in checks]
    status = next((status for status in WORST_FIRST if status in statuses), "within")
    search = data["searches"][-1]
    # A part that failed counts if a limit is about it, or if nothing else is known; without limits
    # the search itself does.
    fails = search["degree"] is None or (not checks and search.get("status") == "failed")
    if data["status"] == "failed" and status != "exceeded" and fails:
        status = "failed"
    return Outcome(status, checks, _verdict(data, checks, status))


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
    """A limit as it was written."""
    return f"{limit:,.12g}"


def beside(value: float, limit: float) -> str:
    """A figure with as many digits as tell it from its limit."""
    return two_numbers(value, limit)[0]


def _where(search: dict[str, Any], value: float, limit: float) -> str:
    """What was seen, beside the limit, and where if that is outside of the domain."""
    return beside(value, limit) + (" among the rows of the data" if beyond_domain(search) else "")


def _check_degree(data: dict[str, Any], limit: float, certified: bool) -> LimitCheck:
    search = data["searches"][-1]
    value, upper = seen(search), search["bracket"]["upper"]
    if value is None:
        return _unknown("max_degree", limit, search)
    if value > limit:
        status = "exceeded"
        words = f"a difference of {_where(search, value, limit)} is above {in_full(limit)}"
    elif upper is not None and upper <= limit:
        status = "within"
        words = f"no difference in the domain is above {in_full(limit)} (certified)"
        if beyond_domain(search):
            words += ", and none was seen among the rows outside of it"
    elif search["status"] != "done":
        # The rows may have been compared, which says nothing of the rest of the domain.
        return _unknown("max_degree", limit, {**search, "reason": f"no search: {search['reason']}"})
    else:
        status = "undecided" if certified else "within"
        words = (
            f"no difference above {in_full(limit)} found in {search['search_queries']:,} queries "
            f"(seed {data['seed']})"
        )
        if certified:
            to = "there is no upper bound" if upper is None else f"it may be up to {number(upper)}"
            words += f", but {to}"
    proven = upper is not None and (search["bracket"]["certified"] or upper <= limit)
    high = None if upper is None else max(upper, value)
    return LimitCheck("max_degree", limit, status, value, value, high, not proven, words, [])


def _check_rate(data: dict[str, Any], limit: float, certified: bool) -> LimitCheck:
    rows = data["searches"][-1]["rows"]
    if rows["status"] == "done" and rows["rate"] is None:
        raise ValueError(
            "max_on_data_rate needs a threshold: without one, rows whose predictions differ at all "
            "would count, which of a regressor are nearly all. Give audit(..., threshold=...)."
        )
    value = rows["rate"]
    if value is None:
        return _unknown("max_on_data_rate", limit, rows)
    high = value if rows["high"] is None else rows["high"]
    low = value if rows["low"] is None else rows["low"]
    words = f"{value:.2%} of {rows['n']:,} rows"
    status = "exceeded" if value > limit else "within"
    words += f" are discriminatory, {'above' if status == 'exceeded' else 'within'} {limit:.2%}"
    if status == "within" and certified and high > limit:
        status = "undecided"
        words += f", but of all {rows['n_rows']:,} rows it may be {high:.2%}"
    return LimitCheck("max_on_data_rate", limit, status, value, low, high, False, words, [])


def _check_upper(data: dict[str, Any], limit: float, certified: bool) -> LimitCheck:
    search = data["searches"][-1]
    value, known = search["bracket"]["upper"], seen(search)
    if known is not None and known > limit and (value is None or known > value):
        words = f"a difference of {_where(search, known, limit)} is above {in_full(limit)}"
        return LimitCheck(
            "max_upper_bound", limit, "exceeded", value, known, None, False, words, []
        )
    if value is None:
        return _unknown("max_upper_bound", limit, search["bracket"])
    status = "exceeded" if value > limit else "within"
    side = "above" if status == "exceeded" else "within"
    words = f"the certified bound {beside(value, limit)} is {side} {in_full(limit)}"
    return LimitCheck("max_upper_bound", limit, status, value, known, value, False, words, [])


def _check_groups(data: dict[str, Any], limit: float, certified: bool) -> LimitCheck:
    groups = data["groups"]
    if not groups["rules"]:
        return _unknown("max_group_score", limit, groups)
    worst = groups["rules"][0]
    value = worst["score"]
    status = "exceeded" if value > limit else "within"
    side = "above" if status == "exceeded" else "within"
    small = f"groups under {groups['min_support']:.0%} of the rows were not compared"
    # The search does not list what it leaves out; of known groups the selection table does.
    left_out = _groups_under(data["selection"], groups["min_support"])
    if left_out:
        # Names of intersections have commas in them.
        few = "; ".join(left_out[:NAMED]) + ("; ..." if len(left_out) > NAMED else "")
        small += f" ({few} among them)"
    words = f"score {beside(value, limit)} of {worst['rule']} is {side} {in_full(limit)}; {small}"
    if status == "within" and certified and worst["high"] is not None and worst["high"] > limit:
        status = "undecided"
        words += f"; its interval reaches {number(worst['high'])}"
    return LimitCheck(
        "max_group_score", limit, status, value, worst["low"], worst["high"], True, words,
        [small, *left_out],
    )  # fmt: skip


def _groups_under(selection: dict[str, Any], share: float) -> list[str]:
    """Groups of the selection table that are a smaller share of the rows."""
    places = {name: place for place, name in enumerate(selection["columns"])}
    if not {"attribute", "group", "share"} <= set(places):
        return []
    return [
        f"{row[places['attribute']]} = {row[places['group']]}"
        for row in selection["rows"]
        if row[places["share"]] is not None and row[places["share"]] < share
    ]


def _check_ratio(data: dict[str, Any], limit: float, certified: bool) -> LimitCheck:
    selection = data["selection"]
    places = {name: place for place, name in enumerate(selection["columns"])}
    rows = selection["rows"]
    if not rows or "impact_ratio" not in places:
        reason = selection["reason"] or "the predictions have no rates of favourable labels"
        return _unknown("min_impact_ratio", limit, {**selection, "reason": reason})
    ratio, low, high = (places[f"impact_ratio{end}"] for end in ("", "_low", "_high"))
    attribute, names, notes = (places[name] for name in ("attribute", "group", "note"))
    small = [f"{row[names]} ({row[notes]})" for row in rows if row[notes]]
    # Rates of small groups are mostly chance: they are named, and not judged.
    known = [row for row in rows if row[ratio] is not None and not row[notes]]
    if not known:
        return _unknown(
            "min_impact_ratio",
            limit,
            {"status": "done", "reason": "no group that is large enough has an impact ratio"},
        )
    worst = min(known, key=lambda row: row[ratio])
    value = worst[ratio]
    status = "exceeded" if value < limit else "within"
    side = "below" if status == "exceeded" else "not below"
    words = (
        f"impact ratio {beside(value, limit)} of {worst[names]} ({worst[attribute]}) is {side} "
        f"{in_full(limit)}"
    )
    if status == "within" and certified and worst[low] is not None and worst[low] < limit:
        status = "undecided"
        words += f"; its interval reaches {number(worst[low])}"
    if small:
        few = "; ".join([str(row[names]) for row in rows if row[notes]][:NAMED])
        few += "; ..." if len(small) > NAMED else ""
        words += f"; not judged, as marked: {len(small)} groups ({few})"
    return LimitCheck(
        "min_impact_ratio", limit, status, value, worst[low], worst[high], False, words, small
    )


def _unknown(name: str, limit: float, part: dict[str, Any]) -> LimitCheck:
    status = "failed" if part.get("status") == "failed" else "undecided"
    reason = part.get("reason") or "it was not measured"
    words = f"{name} could not be checked: {reason}"
    return LimitCheck(name, limit, status, None, None, None, True, words, [])


CHECKS = {
    "max_degree": _check_degree,
    "max_on_data_rate": _check_rate,
    "max_upper_bound": _check_upper,
    "max_group_score": _check_groups,
    "min_impact_ratio": _check_ratio,
}
