"""A report as plain text, for a terminal and for `repr`."""

from __future__ import annotations

import textwrap
from typing import Any

from skfairtest.finding._words import number, two_numbers, value_in_words
from skfairtest.report._render.blocks import rule_score
from skfairtest.report._render.words import beyond_domain, not_taken, twins_beside

WIDTH = 88


def render_text(report: dict[str, Any], more: str = "report.to_dict()['not_shown']") -> str:
    """The finding, the whole pair with changed columns first, the bracket, rows and cost.

    `more` is where the reader finds what is not shown.
    """
    search = report["searches"][-1]
    lines = [*_wrapped(report["sentence"])]
    if report["status"] != "complete":
        lines += _wrapped(status_in_words(report))
    if search["pair"] is not None:
        lines += ["", *_pair(search["pair"])]
    lines += [""]
    if search["taken"]:
        lines += _wrapped(bracket_in_words(search), "  bracket   ")
        lines += _wrapped(rows_in_words(search["rows"], report["threshold"]), "  real rows ")
    if beside := not_taken(report["searches"]):
        lines += _wrapped(twins_beside(beside), "  twins     ")
    if report["favourable"]["words"]:
        lines += _wrapped(f"{report['favourable']['words']}.", "  labels    ")
    if report["carries"]:
        lines += _wrapped(report["carries"], "  attributes ")
    lines += _wrapped(groups_in_words(report["groups"]), "  groups    ")
    for part in report["errors"]:
        if part["rules"] and part["rules"][0]["differs"]:
            lines += _wrapped(_differs(part), "  errors    ")
    if report["perturbed_groups"] is not None:
        lines += _wrapped(_perturbed_in_words(report["perturbed_groups"]), "  perturbed ")
    cost = report["cost"]
    lines.append(
        f"  cost      {cost['queries']:,} queries, {cost['seconds']:.1f} s, seed {report['seed']}"
    )
    lines += ["", *_wrapped(f"What this does not show: {more}.")]
    return "\n".join(lines)


def status_in_words(report: dict[str, Any]) -> str:
    """What is missing of an audit that is not complete."""
    if report["status"] == "interrupted":
        return "The audit was interrupted; what was found until then is here."
    if report["status"] == "ended early":
        return f"Some parts ran out of time: {report['reason']}."
    return f"A part of the audit failed, and the results of the others follow: {report['reason']}"


def bracket_in_words(search: dict[str, Any]) -> str:
    """How large the difference can get."""
    bracket, degree = search["bracket"], search["degree"]
    if degree is None:
        return f"nothing was found: {search['reason']}"
    if bracket["upper"] is None:
        why = f" ({bracket['reason']})" if bracket["reason"] else ""
        return f"at least {number(degree)}; no upper bound{why}"
    if bracket["certified"]:
        words = f"{number(degree)}, certified: no difference in the domain is larger"
    else:
        words = f"between {number(degree)} (found) and {number(bracket['upper'])} (certified)"
    if beyond_domain(search):
        rows = number(search["rows"]["degree"])
        words += f"; among the rows of the data, some of them outside of it, {rows}"
    return words


def groups_in_words(part: dict[str, Any]) -> str:
    """Which group of rows differs most from all others, if one does."""
    if not part["rules"]:
        return f"{part['status']}: {part['reason']}"
    more = f"; {part['reason']}" if part["reason"] else ""
    worst, n = part["rules"][0], part["n_rule_sets"]
    if worst["differs"]:
        return f"{_differs(part)}: a difference of {rule_score(worst)}{more}"
    what = part["metric"].replace("_", " ")
    return (
        f"none of {n:,} groups of rows is shown to differ in its {what}; the largest difference "
        f"is {rule_score(worst)}, where {worst['rule']}{more}"
    )


def _differs(part: dict[str, Any]) -> str:
    """Inside and outside of the first rule, each with its number of rows."""
    worst = part["rules"][0]
    inside, outside = two_numbers(worst["value_inside"], worst["value_outside"])
    return (
        f"{part['metric'].replace('_', ' ')} {inside} where {worst['rule']} "
        f"({worst['n_inside']:,} rows), {outside} elsewhere ({worst['n_outside']:,} rows)"
    )


def _perturbed_in_words(part: dict[str, Any]) -> str:
    """What TestSGD found, which is not about the rows."""
    if not part["rules"]:
        return f"{part['status']}: {part['reason']}"
    worst = part["rules"][0]
    more = f"; {part['reason']}" if part["reason"] else ""
    return (
        f"among inputs near the rows, {rule_score(worst)} between {worst['rule']} and all others "
        f"({worst['n_inside']:,} perturbed inputs inside, {worst['n_outside']:,} outside){more}"
    )


def rows_in_words(rows: dict[str, Any], threshold: float | None) -> str:
    """How many rows of the data are treated differently from a twin."""
    if rows["status"] != "done":
        return f"{rows['status']}: {rows['reason']}"
    of_rows = f"{rows['n']:,} rows compared"
    if rows["n"] < rows["n_rows"]:
        of_rows += f", a sample of {rows['n_rows']:,}"
    if rows["n_combinations"] is None or rows["n_combinations"] > rows["n_twins"]:
        of_rows += f", each with {rows['n_twins']} of its twins"
    if rows["rate"] is None:
        shares = ", ".join(
            f"{part['rate']:.1%}{ends_in_words(part)} above {number(part['difference'])}"
            for part in rows["above"]
        )
        return (
            f"{shares} (5, 10 and 20% of the spread of the predictions, {number(rows['spread'])}); "
            f"at most {number(rows['degree'])}; {of_rows}"
        )
    share = f"{rows['rate']:.1%}"
    share += ends_in_words(rows)
    what = "get another label than a twin"
    if threshold is not None:
        what = f"differ from a twin by more than {number(threshold)}"
    return f"{share} {what}; largest difference {number(rows['degree'])}; {of_rows}"


def ends_in_words(part: dict[str, Any]) -> str:
    """What a share of all rows may be, where those that were compared do not tell it."""
    if part["low"] is None:
        return ""
    if part["high"] >= 1:
        return f" (at least {part['low']:.1%})"
    return f" ({part['low']:.1%} to {part['high']:.1%})"


def _pair(pair: dict[str, Any]) -> list[str]:
    cells = sorted(pair["cells"], key=lambda cell: (not cell["changed"], -(cell["matters"] or 0.0)))
    rows = [
        (
            "> " if cell["changed"] else "  ",
            *(value_in_words(cell[key]) for key in ("name", "first", "second")),
        )
        for cell in cells
    ]
    if pair["outputs"] is not None:
        rows.append(("= ", pair["output"], *two_numbers(*pair["outputs"])))
    if pair["labels"] is not None:
        rows.append(("= ", "predicted", *map(value_in_words, pair["labels"])))
    first = max(len(row[1]) for row in rows)
    second = max(len(row[2]) for row in rows)
    return [f"  {mark}{name:<{first}}  {one:>{second}}  {two}" for mark, name, one, two in rows]


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_on_hyphens=False,
    )
