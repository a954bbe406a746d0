"""What is said of the largest difference between twins, and of its bound."""

from __future__ import annotations

from collections.abc import Iterable

from skfairtest.finding._pair import Pair
from skfairtest.finding._words import difference_sentence, listed, number, with_difference
from skfairtest.report._types import Report
from skfairtest.report.parts._part import Sentence, Step
from skfairtest.report.parts.twins.results import Twins, TwinsPart, not_in_model, twins_of
from skfairtest.report.render.blocks import count
from skfairtest.report.render.words import isolate, quoted


def sentences(report: Report) -> Iterable[Sentence]:
    """The question, the finding, how large a difference can get, and how sure that is."""
    main, names = twins_of(report)[-1], not_in_model(report)
    yield Sentence("asked", _asked(main, names, report))
    if main.known.taken:
        words = finding(main, report)
        yield Sentence("headline", words)
        if main.rows.changed is None or not main.rows.n:
            yield Sentence("found", words)
    if names:
        yield Sentence("headline", f"The model does not take {listed(names, 'or')}.")
        what = "it" if len(names) == 1 else "them"
        them = listed(list(map(isolate, names)), "or")
        words = f"The model does not take {them}. Changing {what} alone changes no answer."
        yield Sentence("found", words)
    yield Sentence("largest", _largest(main, names))
    if main.known.degree is not None and main.known.taken:
        yield Sentence("sure", _how_sure(main))


def seen(twins: Twins) -> float | None:
    """The largest difference that anything has shown: in the domain, or of a row outside of it."""
    shown = [degree for degree in (twins.known.degree, twins.rows.degree) if degree is not None]
    return max(shown, default=None)


def beyond_domain(twins: Twins) -> bool:
    """Whether a row of the data, outside of the domain, shows more than anything in it."""
    return (seen(twins) or 0.0) > (twins.known.degree or 0.0)


def why_nothing(twins: Twins) -> str:
    """Why no difference is known."""
    return (twins.known.reason or twins.search.reason or "no search ran").rstrip(".")


def _asked(main: Twins, names: list[str], report: Report) -> str:
    model = report.model.final or report.model.class_
    people = f"the {count(report.data.n_rows)} people in the table"
    if not main.known.taken:
        them = listed(list(map(isolate, names)), "or")
        return f"{model} is not given {them}. Do its answers differ by group, for {people}?"
    taken = [isolate(name) for name in main.known.sensitive if name not in names]
    asked_for = f"{people} and for made-up inputs" if main.rows.n else "made-up inputs"
    return (
        f"Change only a person's {listed(taken, 'or')}: does {model} change its answer? Asked "
        f"for {asked_for} within the ranges of the data."
    )


# The finding -----------------------------------------------------------------------------------


def finding(twins: Twins, report: Report) -> str:
    """The finding in one sentence, of twins in all sensitive attributes.

    A second one is of the rows of the data, where these show more than the domain.
    """
    if not beyond_domain(twins):
        return _in_domain(twins, report)
    return (
        f"{_in_domain(twins, report)} This holds for the domain; rows of the data that lie outside "
        f"of it show a difference of up to {number(twins.rows.degree)}."
    )


def _in_domain(twins: Twins, report: Report) -> str:
    known, names = twins.known, listed(twins.known.sensitive)
    if known.degree is None:
        return f"Nothing was measured: {why_nothing(twins)}."
    if not known.degree and known.certified and known.upper == 0:
        its = "its value" if len(known.sensitive) == 1 else "their values"
        return (
            f"The model takes {names} and gives every input of the domain the same output "
            f"whatever {its}; this was certified."
        )
    if not known.degree:
        return (
            f"No difference was found between inputs that differ only in {names}, in "
            f"{twins.search.search_queries:,} queries (seed {report.seed})."
        )
    pair, words = known.pair, f"Two inputs that differ only in {names} get different"
    if pair is not None and pair.outputs is None and pair.labels is not None:
        first, second = pair.labels
        return f"{words} labels: {first} against {second}."
    if pair is None or pair.outputs is None:
        return f"{words} outputs: largest difference {number(known.degree)}."
    words += f" outputs: {difference_sentence(pair)}"
    if report.threshold is not None:
        side = "above" if known.degree > report.threshold else "within"
        words += f", {side} the threshold of {number(report.threshold)}"
    return f"{words}."


# How large it can get --------------------------------------------------------------------------


def _largest(main: Twins, names: list[str]) -> str:
    known, pair = main.known, main.known.pair
    if not known.taken:
        return twins_outside_model(names)
    if known.degree is None:
        return f"Not measured: {why_nothing(main)}."
    apart = with_difference(*pair.outputs)[2] if pair and pair.outputs else ""
    words = f"Largest difference found: {apart or number(known.degree)}"
    if known.degree:
        who = "two made-up inputs"
        if known.pair_has_a_row:
            who = "a person of the table and their twin"
        elif known.pair_of_a_row:
            who = "two twins of a person of the table"
        words += f" ({who}{_against(pair)})"
    if beyond_domain(main):
        words += f"; of a person outside these ranges {number(main.rows.degree)}"
    return f"{words}. {_largest_possible(main, apart)}"


def _against(pair: Pair | None) -> str:
    """Both outputs, or both labels where there are no outputs."""
    if pair is not None and pair.outputs is not None:
        first, second, _ = with_difference(*pair.outputs)
        return f", {isolate(pair.output)}: {first} against {second}"
    if pair is None or pair.labels is None:
        return ""
    return f": {' against '.join(map(quoted, pair.labels))}"


def _largest_possible(twins: Twins, found: str) -> str:
    """The bound of all differences, and half a sentence on what it is.

    It has the decimals of what was found: rounded by itself it may seem to be less.
    """
    if twins.known.upper is None:
        why = isolate(twins.certificate.reason or twins.known.stop_reason)
        return f"{': '.join(filter(None, ['Larger ones are not ruled out', why])).rstrip('.')}."
    upper = ""
    if found and "e" not in found:
        upper = f"{twins.known.upper:,.{len(found.partition('.')[2])}f}"
    proven = "(proven for all inputs within the ranges of the data)"
    return f"Largest possible difference: {bound(twins.known, upper)} {proven}."


def bound(known: TwinsPart, upper: str = "") -> str:
    """The bound of all differences; `upper` is its number, where a column has its own digits."""
    if known.upper is None:
        return "not known"
    return f"{'' if known.certified else 'at most '}{upper or number(known.upper)}"


def engine_sentence(twins: Twins) -> str:
    """What searched for the bound of a model of trees, and why it ended early; else empty."""
    engine, known = twins.certificate.engine, twins.known
    if not engine or known.upper is None:
        return ""
    by = "compiled code (numba)" if engine == "numba" else "NumPy"
    why = "" if known.certified else f": {isolate(known.stop_reason)}"
    return f"The bound of {isolate(known.of)} was searched with {by}{why}."


def _how_sure(main: Twins) -> str:
    known, n = main.known, main.search.search_queries
    if known.certified:
        return "the largest difference is proven"
    bounded = ", and the bound is proven for all inputs" if known.upper is not None else ""
    if not n:
        return f"no search for a larger difference ran{bounded}"
    words = f"a search of {count(n)} queries found no {'larger ' * bool(known.degree)}difference"
    if known.shown_by == "the search":
        words = f"the largest difference was found by a search of {count(n)} queries"
    return f"{words}{bounded or ', which rules out no larger one'}"


def carries(report: Report) -> str:
    """Which sensitive attribute carries the difference, from each alone and all together."""
    *alone, together = twins_of(report)
    known = [
        (one.known, one.known.degree)
        for one in alone
        if one.search.status == "done" and one.known.degree is not None
    ]
    whole = together.known.degree
    if not known or not whole:
        return ""
    known.sort(key=lambda one: -one[1])
    best, largest = known[0]
    share = largest / whole
    if share >= 0.95:
        words = f"{best.of} alone shows nearly all of the difference."
    elif share >= 0.5:
        words = f"{best.of} alone shows most of the difference, {share:.0%} of it."
    else:
        words = (
            f"No attribute alone shows half of the difference; it appears where several of them "
            f"differ at once. {best.of} shows the most, {share:.0%} of it."
        )
    each = ", ".join(f"{one.of} {number(degree)}" for one, degree in known)
    words += f" Alone they show {each}; together {number(whole)}."
    proven = [
        f"{one.of} cannot exceed {number(one.upper)}"
        for one, _ in known
        if one.upper is not None and one.upper < whole
    ]
    more = f" It is proven that alone {', '.join(proven)}." if proven else ""
    return f"{words[0].upper()}{words[1:]}{more}"


def twins_outside_model(names: list[str]) -> str:
    """What it means that the model does not take an attribute, and what it does not mean."""
    them = "it" if len(names) == 1 else "them"
    alone = listed([isolate(name) for name in names])
    return (
        f"People who differ in {alone} alone are the same to the model and get the same answer, so "
        f"nothing was searched. Other columns may stand in for {them} (proxies): rates of groups "
        f"and moved twins can show that, changing {them} alone cannot."
    )


# What next -------------------------------------------------------------------------------------


def steps(report: Report) -> Iterable[Step]:
    """What a difference suggests: to mitigate it, to narrow the domain, to look for a bound."""
    *alone, main = twins_of(report)
    degree, rows = main.known.degree, main.rows
    if not main.known.taken:
        return
    # What changes nobody's answer is not worth dropping.
    if degree if rows.changed is None else rows.changed:
        shown = [one for one in alone if one.known.taken and one.known.degree]
        best = max(
            shown or [main], key=lambda one: (one.rows.changed or 0, one.known.degree or 0.0)
        )
        them = listed(list(map(isolate, best.known.sensitive)))
        words = f"Look at what dropping {them}, or averaging it out, would cost"
        yield Step(20, f"{words}: compare_mitigations.", "Mitigate", "how_to/mitigate")
    if degree is None:
        return
    # A worst case hardly larger than that of any person calls for no narrower domain.
    if rows.degree is not None and degree > 1.2 * rows.degree:
        yield Step(
            60,
            "Narrow the domain to inputs that can exist: the worst case is far above that of any "
            "person in the table.",
            "Realistic inputs",
            "how_to/realistic_inputs",
        )
    # A bound that is nearer is not worth another look.
    if main.known.upper is None or main.known.upper > 1.1 * degree:
        yield Step(
            70,
            "Search longer, or audit a model that can be certified: larger differences are not "
            "ruled out.",
            "Certify a worst case",
            "how_to/certify",
        )
