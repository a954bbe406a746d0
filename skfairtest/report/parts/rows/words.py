"""What is said of people: how many would get something else, of which groups, of how many."""

from __future__ import annotations

from collections.abc import Iterable

from skfairtest.finding._words import listed, name_output, number, percent
from skfairtest.report._types import Report
from skfairtest.report.parts._part import Sentence
from skfairtest.report.parts.rows.results import (
    Above,
    Direction,
    PeopleOfGroup,
    RowsPart,
    rows_of,
    rows_together,
)
from skfairtest.report.render.blocks import count
from skfairtest.report.render.words import bounds_text, in_group, in_sample, isolate, quoted


def sentences(report: Report) -> Iterable[Sentence]:
    """How many people would get something else, of which groups, and who was compared."""
    rows = rows_together(report)
    if rows.changed is not None and rows.n:
        words = people_change(rows, report)
        yield from (Sentence("headline", words), Sentence("found", words))
    for line in _whom(report):
        yield Sentence("whom", line)
    if rows.n:
        who = of_people(rows) if rows.n < rows.n_rows else f"all {count(rows.n)} people"
        were = "were" if rows.n > 1 else "was"
        words = ", ".join(filter(None, [f"{who} {were} compared", compared_with(rows)]))
        yield Sentence("sure", words)


def people_change(rows: RowsPart, report: Report) -> str:
    """How many people would get something else if only their sensitive values were changed."""
    n, who, share = rows.changed, of_people(rows), ""
    if not n:
        who = f"None of {who}"
        ends = _share_of_changed(rows).partition("; ")[2]  # of a sample
        share = f" ({ends})" if ends else ""
    elif n == rows.n_rows:
        who = f"All {n:,} people in the table"
    else:
        least = "At least " if with_some_twins(rows) else ""
        who, share = f"{least}{n:,} of {who}", f" ({_share_of_changed(rows)})"
    names = listed([isolate(name) for name in rows.sensitive], "or")
    others = for_others(rows) if n else ""
    what = would_get(rows, report)
    return f"{who} would get {what} if only their {names} were changed{others}{share}."


def for_others(rows: RowsPart) -> str:
    """Of how many other values one is enough, if there are several: counts grow with these."""
    n = rows.n_twins - 1
    what = "values" if len(rows.sensitive) == 1 else "combinations"
    return f", for at least one of {n:,} other {what}" if n > 1 else ""


def would_get(rows: RowsPart, report: Report) -> str:
    """What people who count would get: another decision, or an output that differs by so much."""
    if rows.counts_above is None:
        return "another decision"
    is_tenth = report.threshold is None
    spread = ", a tenth of the spread of the predictions," if is_tenth else ""
    output = isolate(output_name(report))
    return f"a {output} that differs by more than {number(rows.counts_above)}{spread}"


def output_name(report: Report) -> str:
    """What the model gives: of two classes the second one's output, of several none's alone."""
    model = report.model
    has_one = model.n_classes == 2 and model.response in ("predict_proba", "decision_function")
    return name_output(model.response, model.classes[1] if has_one else None)


def of_people(rows: RowsPart) -> str:
    """The people that were compared."""
    if rows.n == rows.n_rows:
        return f"the {rows.n:,} people in the table"
    who = "person" if rows.n == 1 else "people"
    return f"{rows.n:,} {who}, a random sample of {rows.n_rows:,},"


def with_some_twins(rows: RowsPart) -> bool:
    """Whether rows were compared with some of their twins only, so that more may differ."""
    return rows.n_combinations is None or rows.n_combinations > rows.n_twins


def compared_with(rows: RowsPart) -> str:
    """With how many other sensitive values each person was compared, if not with all of them."""
    if not with_some_twins(rows):
        return ""
    of = "many" if rows.n_combinations is None else f"{rows.n_combinations:,.0f}"
    names = listed([isolate(name) for name in rows.sensitive])
    n = f"{rows.n_twins:,} of the {of} possible values"
    return f"each with {n} of {names}, so more may change"


def _share_of_changed(rows: RowsPart) -> str:
    """The share of people who would get something else; of a sample also what is known of all."""
    share = percent((rows.changed or 0) / rows.n)
    is_rate = rows.rate is not None and round(rows.rate * rows.n) == rows.changed
    # Of a regressor without a threshold those count who are above a part of the spread.
    above = [part for part in rows.above if part.difference == rows.counts_above]
    part = rows if is_rate else above[0] if above else None
    if part is None or part.low is None or part.high is None or rows.n == rows.n_rows:
        return share
    return f"{share}; of all people {bounds_text(part.low, part.high)}"


def share_text(part: RowsPart | Above) -> str:
    """A share of the rows, with the bounds of its interval if it is not exact."""
    share = percent(part.rate)
    if part.low is None or part.high is None:
        return share
    if part.high >= 1 and part.low == part.rate:  # no sample, and more may differ
        return share if part.rate == 1 else f"at least {share}"
    return f"{share} ({bounds_text(part.low, part.high)})"


# By group --------------------------------------------------------------------------------------


def of_one_attribute(report: Report) -> list[RowsPart]:
    """The rows as far as they were compared in one sensitive attribute each.

    Those of all attributes together stand in where none alone was compared.
    """
    done = [rows for rows in rows_of(report) if rows.changed is not None]
    return [rows for rows in done if len(rows.sensitive) == 1] or done[-1:]


def in_direction(one: Direction, above: float | None) -> str:
    """What people would get: another label, or an output that is higher or lower."""
    if above is not None:
        more = {"higher": " more", "lower": " less"}.get(one.to, " more or less")
        return f"over {number(above)}{more}"
    return f"{quoted(one.to)} instead of {quoted(one.from_)}" if one.from_ else "another decision"


def _whom(report: Report) -> list[str]:
    """The groups with the largest shares of people who would get something else."""
    lines = []
    for rows in of_one_attribute(report):
        groups = [group for group in rows.by_group if group.changed]
        groups.sort(key=lambda group: -group.changed)
        shown = [
            f"of {count(group.n)} people {in_group(group.group, rows.of)}, "
            f"{_directions(group, rows.counts_above)}"
            for group in groups[:3]  # the page has a table of more
        ]
        if shown:
            more = len(groups) - len(shown)
            rest = f"; and {more} more group{'s' * (more > 1)}" if more else ""
            # Of one attribute the finding has it.
            others = for_others(rows) if len(report.sensitive_features) > 1 else ""
            others += in_sample(rows.n, rows.n_rows)
            lines.append(
                f"If only {isolate(rows.of)} were changed{others}: {'; '.join(shown)}{rest}."
            )
        elif rows.changed == 0 and rows.n:
            lines.append(people_change(rows, report))
    missing = [isolate(rows.of) for rows in rows_of(report)[:-1] if not rows.n]
    if lines and missing:
        lines.append(f"People were not compared with twins in {listed(missing, 'or')} alone.")
    return lines


def _directions(group: PeopleOfGroup, above: float | None) -> str:
    first, *more = group.directions[:2]
    words = f"{_with_share(first, group)} would get {in_direction(first, above)}"
    for other in more:
        is_reverse = above is None and (other.from_, other.to) == (first.to, first.from_)
        what = "the other way" if is_reverse else in_direction(other, above)
        words += f" and {_with_share(other, group)} {what}"
    return words


def _with_share(one: Direction, group: PeopleOfGroup) -> str:
    return f"{count(one.n)} ({percent(one.n / group.n)})"
