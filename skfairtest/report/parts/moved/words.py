"""What is said of moved twins: each sentence is phrased here and nowhere else."""

from __future__ import annotations

from skfairtest.finding._words import percent
from skfairtest.report._types import Report
from skfairtest.report.parts.moved.results import ANY, Flips, MapQuality, MovedPart, first_maps
from skfairtest.report.render.words import isolate


def reaches(quality: MapQuality) -> bool | None:
    """Whether a map brings people so near to the other group that no classifier tells them.

    None where that was not judged.
    """
    # Above this area under its curve, a classifier tells moved rows from real ones.
    return None if quality.auc_after is None else quality.auc_after <= 0.6


def largest_flow(part: MovedPart) -> Flips | None:
    """The two groups between which most decisions change under a map, whatever the direction."""
    flows = [flow for flow in part.flips if flow.direction == ANY]
    return max(flows, key=lambda flow: flow.share, default=None)


def is_beyond_chance(part: MovedPart) -> bool:
    """Whether more decisions change between some groups than between groups that chance made."""
    return any((flow.beyond_low or 0.0) > 0 for flow in part.flips)


def moved_sentences(report: Report) -> str:
    """Decisions that change with all that goes along with an attribute; empty if nobody asked."""
    parts = report.all_of(MovedPart)
    found = first_maps(report)
    measured = {part.attribute for part in found}
    missing = {part.attribute: part for part in parts[::-1] if part.attribute not in measured}
    if report.rows_of_people == "none" and parts:
        return "Shares of people are left out of this file: rows='none'."
    sentences = list(map(moved_sentence, found)) + [
        f"not measured for {isolate(name)}: {isolate(part.reason)}".rstrip(".")
        for name, part in reversed(missing.items())
    ]
    words = ". ".join(f"{one[:1].upper()}{one[1:]}" for one in sentences)
    return f"{words}.{' Moved twins are no counterfactuals.' * bool(found)}" if sentences else ""


def moved_sentence(part: MovedPart) -> str:
    """How many decisions change with what goes along with an attribute, and where most do."""
    name, rate = isolate(part.attribute), percent(part.rate)
    has_ends = part.low is not None and part.high is not None
    if has_ends:
        rate += f" ({percent(part.low)} to {percent(part.high)})"
    who = "people" if part.n == part.n_rows else f"{part.n:,} of {part.n_rows:,} people"
    words = f"with what goes along with {name}, {rate} of {who} would get another decision"
    flow = largest_flow(part)
    if flow is not None:
        words += (
            f", most of all {percent(flow.share)} of {isolate(flow.group)} moved to "
            f"{isolate(flow.to)}"
        )
    words += f" ({isolate(part.transport)} map)"
    reached = set(map(reaches, part.maps))
    if False in reached:
        words += ", though the map does not reach the other group"
    elif None in reached:
        words += ", though the map could not be judged"
    if not has_ends:
        words += f"; no interval{': no time' * ('time' in part.reason)}"
    elif not is_beyond_chance(part):
        words += "; this is not known to be more than between groups that chance has made"
    return words


def rests_on(report: Report) -> str:
    """What the shares rest on, and which maps are missing."""
    found = first_maps(report)
    clauses = [
        f"{part.n:,} people were moved by the {isolate(part.transport)} map of "
        f"{isolate(part.attribute)}"
        for part in found
    ]
    missing = [
        f"{isolate(part.attribute)} ({isolate(part.transport)} map)"
        for part in report.all_of(MovedPart)
        if part.status != "done" and part.applies
    ]
    if missing:
        clauses.append(f"not moved by {', '.join(missing)}")
    return "; ".join(clauses)
