"""The sentences of a report on people, bounds and groups: each is phrased here and nowhere else.

The first page, the sections, limits and the command line put them together.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from skfairtest.finding._words import listed, name_output, number, percent, with_difference
from skfairtest.group._rules.sensitive_groups import FEWEST_ROWS

NOT_SHOWN = [
    "A search finds differences but cannot rule out larger ones. Only where the page says "
    "'largest possible' is a bound proven.",
    "Made-up inputs need not look like real people. Only counts of people are about people.",
    "Twins differ in the sensitive attributes alone. Other columns may be proxies for these, as "
    "a postcode may be for a group; no pair of twins shows that.",
    "Moved twins show what changes with all that goes along with a group. They are no "
    "counterfactuals: nobody knows what would have become of a person, and another map gives other "
    "twins.",
    "Sensitive attributes that the model does not take cannot change its predictions. That "
    "twins in these attributes get equal predictions says nothing about differences between "
    "groups.",
    "How many inputs a search found depends on where it looks. It says nothing about the share "
    "of people who are affected.",
    "Whether a difference is unfair or unlawful must be judged by people who know what the "
    "prediction is used for.",
]


def isolate(name: Any) -> str:
    """A name that does not turn the sentence around it, even where it is written right to left."""
    words = str(name)
    if any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in words):
        return f"\u2068{words}\u2069"  # the Unicode marks of an isolate
    return words


def isolated(sentence: str, names: list[Any]) -> str:
    """A sentence that its names do not turn, even if they are written right to left."""
    for name in map(str, names):
        if isolate(name) != name:
            sentence = sentence.replace(name, isolate(name))
    return sentence


def quoted(label: Any) -> str:
    """A label in a sentence."""
    return f"'{isolate(label)}'"


def seen(search: dict[str, Any]) -> float | None:
    """The largest difference that anything has shown: in the domain, or of a row outside of it."""
    shown = [search["degree"], search["rows"]["degree"] if "rows" in search else None]
    return max((float(degree) for degree in shown if degree is not None), default=None)


def beyond_domain(search: dict[str, Any]) -> bool:
    """Whether a row of the data, outside of the domain, shows more than anything in it."""
    return (seen(search) or 0.0) > (search["degree"] or 0.0)


def rows_sentence(search: dict[str, Any]) -> str:
    """A second sentence, where rows outside of the domain show more."""
    if not beyond_domain(search):
        return ""
    return (
        " This holds for the domain; rows of the data that lie outside of it show a difference "
        f"of up to {number(search['rows']['degree'])}."
    )


def headline(report: dict[str, Any]) -> str:
    """What is read first: the people, the domain, and of what the model does not take the groups.

    A report calls it its sentence.
    """
    main, not_in_model = report["searches"][-1], not_taken(report["searches"])
    sentences = []
    if main["taken"]:
        if main["rows"]["changed"] is not None and main["rows"]["n"]:
            sentences.append(people_change(main, report))
        sentences.append(finding(main, report["threshold"], report["seed"]))
    if not_in_model:
        sentences.append(f"The model does not take {listed(not_in_model, 'or')}.")
    if names := rates_to_tell(report):
        sentences.append(what_groups_get(report["selection"], names))
    return " ".join(sentences)


def rates_to_tell(report: dict[str, Any]) -> list[str]:
    """The attributes whose rates say what twins do not: all, where nobody's answer changes."""
    main = report["searches"][-1]
    names: list[str] = not_taken(report["searches"])
    if not main["taken"] or main["rows"]["changed"] != 0 or not report["selection"]["rows"]:
        return names
    return list(map(str, report["sensitive_features"]))


# People ----------------------------------------------------------------------------------------


def people_change(search: dict[str, Any], report: dict[str, Any]) -> str:
    """How many people would get something else if only their sensitive values were changed."""
    rows = search["rows"]
    if rows["changed"] is None or not rows["n"]:
        return finding(search, report["threshold"], report["seed"])
    n, who, share = rows["changed"], of_people(rows), ""
    if not n:
        who = f"None of {who}"
        ends = _share_of_changed(rows).partition("; ")[2]  # of a sample
        share = f" ({ends})" if ends else ""
    elif n == rows["n_rows"]:
        who = f"All {n:,} people in the table"
    else:
        least = "At least " if with_some_twins(rows) else ""
        who, share = f"{least}{n:,} of {who}", f" ({_share_of_changed(rows)})"
    names = listed([isolate(name) for name in search["sensitive"]], "or")
    what = would_get(search, report)
    others = for_others(search) if n else ""
    return f"{who} would get {what} if only their {names} were changed{others}{share}."


def for_others(search: dict[str, Any]) -> str:
    """Of how many other values one is enough, if there are several: counts grow with these."""
    n = search["rows"]["n_twins"] - 1
    what = "values" if len(search["sensitive"]) == 1 else "combinations"
    return f", for at least one of {n:,} other {what}" if n > 1 else ""


def would_get(search: dict[str, Any], report: dict[str, Any]) -> str:
    """What people who count would get: another decision, or an output that differs by so much."""
    above = search["rows"]["counts_above"]
    if above is None:
        return "another decision"
    is_tenth = report["threshold"] is None
    spread = ", a tenth of the spread of the predictions," if is_tenth else ""
    # The pair has one output; of several, people count who have any that differs.
    one = report["model"]["n_classes"] == 2
    what = output_of(search, report) if one else f"a {name_output(report['model']['response'])}"
    return f"{what} that differs by more than {number(above)}{spread}"


def of_people(rows: dict[str, Any]) -> str:
    """The people that were compared."""
    if rows["n"] == rows["n_rows"]:
        return f"the {rows['n']:,} people in the table"
    who = "person" if rows["n"] == 1 else "people"
    return f"{rows['n']:,} {who}, a random sample of {rows['n_rows']:,},"


def in_sample(part: dict[str, Any]) -> str:
    """Of how many people rates are; empty where it is all of them."""
    if part["n"] == part["n_rows"]:
        return ""
    return f", in a random sample of {part['n']:,} of {part['n_rows']:,} people"


def with_some_twins(rows: dict[str, Any]) -> bool:
    """Whether rows were compared with some of their twins only, so that more may differ."""
    return bool(rows["n_combinations"] is None or rows["n_combinations"] > rows["n_twins"])


def compared_with(search: dict[str, Any]) -> str:
    """With how many other sensitive values each person was compared, if not with all of them."""
    rows = search["rows"]
    if not with_some_twins(rows):
        return ""
    n_all = rows["n_combinations"]
    of = "many" if n_all is None else f"{n_all:,.0f}"
    names = listed([isolate(name) for name in search["sensitive"]])
    n = f"{rows['n_twins']:,} of the {of} possible values"
    return f"each with {n} of {names}, so more may change"


def _share_of_changed(rows: dict[str, Any]) -> str:
    """The share of people who would get something else; of a sample also what is known of all."""
    share = percent(rows["changed"] / rows["n"])
    is_rate = rows["rate"] is not None and round(rows["rate"] * rows["n"]) == rows["changed"]
    # Of a regressor without a threshold those count who are above a part of the spread.
    above = [part for part in rows["above"] if part["difference"] == rows["counts_above"]]
    part = rows if is_rate else above[0] if above else None
    if part is None or part["low"] is None or rows["n"] == rows["n_rows"]:
        return share
    return f"{share}; of all people {bounds_text(part)}"


def treated_differently(report: dict[str, Any]) -> str:
    """What happens to twins that count as treated differently."""
    if report["threshold"] is not None:
        return f"differ by more than {number(report['threshold'])}"
    is_regression = report["model"]["task"] == "regression"
    return "get different predictions" if is_regression else "get different labels"


def treated(report: dict[str, Any]) -> str:
    """Which people count as treated differently."""
    threshold = report["threshold"]
    if threshold is None:
        return "who would get another decision"
    return f"whose twins differ by more than {number(threshold)}"


def bounds_text(part: dict[str, Any], words: Any = percent) -> str:
    """Between which bounds a share is known to be."""
    if part["high"] >= 1:
        return f"at least {words(part['low'])}"
    return f"{words(part['low'])} to {words(part['high'])}"


def share_text(part: dict[str, Any]) -> str:
    """A share of the rows, with the bounds of its interval if it is not exact."""
    share = percent(part["rate"])
    if part["low"] is None:
        return share
    if part["high"] >= 1 and part["low"] == part["rate"]:  # no sample, and more may differ
        return share if part["rate"] == 1 else f"at least {share}"
    return f"{share} ({bounds_text(part)})"


# The domain ------------------------------------------------------------------------------------


def output_of(search: dict[str, Any], report: dict[str, Any]) -> str:
    """What the model gives, with its article."""
    pair = search["pair"]
    output = pair["output"] if pair else name_output(report["model"]["response"])
    return f"a {isolate(output)}"


def bounds_sentence(search: dict[str, Any]) -> str:
    """The largest difference found and its bound, as the rest of a sentence."""
    bounds, degree = search["certificate"], search["degree"]
    if degree is None:
        return f"not known: {search['reason']}"
    if bounds["upper"] is None:
        why = f" ({bounds['reason']})" if bounds["reason"] else ""
        return f"at least {number(degree)}; larger ones are not ruled out{why}"
    if bounds["certified"]:
        return f"{number(degree)} (proven for all inputs in the domain)"
    return f"between {number(degree)} (found) and {number(bounds['upper'])} (proven bound)"


def largest_possible(search: dict[str, Any], found: str = "") -> str:
    """The bound of all differences, and half a sentence on what it is.

    It has the decimals of what was found: rounded by itself it may seem to be less.
    """
    bounds = search["certificate"]
    if bounds["upper"] is None:
        why = f": {isolate(bounds['reason'])}" if bounds["reason"] else ""
        return f"Larger ones are not ruled out{why.rstrip('.')}."
    proven = "(proven for all inputs within the ranges of the data)"
    upper = None
    if found and "e" not in found:
        upper = f"{bounds['upper']:,.{len(found.partition('.')[2])}f}"
    return f"Largest possible difference: {bound(bounds, upper)} {proven}."


def engine_sentence(search: dict[str, Any]) -> str:
    """What searched for the bound of a model of trees, and why it ended early; else empty."""
    bounds = search["certificate"]
    if not bounds["engine"] or bounds["upper"] is None:
        return ""
    by = "compiled code (numba)" if bounds["engine"] == "numba" else "NumPy"
    why = "" if bounds["certified"] else f": {isolate(bounds['stop_reason'])}"
    return f"The bound of {isolate(search['label'])} was searched with {by}{why}."


def bound(bounds: dict[str, Any], upper: str | None = None) -> str:
    """The bound of all differences; `upper` is its number, where a column has its own digits."""
    if bounds["upper"] is None:
        return "not known"
    return f"{'' if bounds['certified'] else 'at most '}{upper or number(bounds['upper'])}"


# Groups ----------------------------------------------------------------------------------------


def not_taken(searches: list[dict[str, Any]]) -> list[str]:
    """The sensitive attributes that the model does not take, so that nothing was searched."""
    names = [name for search in searches if not search["taken"] for name in search["sensitive"]]
    return list(dict.fromkeys(names))


def twins_outside_model(names: list[str]) -> str:
    """What it means that the model does not take an attribute, and what it does not mean."""
    them = "it" if len(names) == 1 else "them"
    alone = listed([isolate(name) for name in names])
    return (
        f"People who differ in {alone} alone are the same to the model and get the same answer, so "
        f"nothing was searched. Other columns may stand in for {them} (proxies): rates of groups "
        f"and moved twins can show that, changing {them} alone cannot."
    )


def what_groups_get(
    selection: dict[str, Any], attributes: list[str], *, with_ratio: bool = True
) -> str:
    """The groups of these attributes that get least and most, with what chance leaves of that."""
    rows = [dict(zip(selection["columns"], row, strict=True)) for row in selection["rows"]]
    rows = [row for row in rows if row["attribute"] in attributes]
    if "mean_prediction" in selection["columns"]:
        means = [row for row in rows if row["mean_prediction_low"] is not None]
        if not means:
            return "No group is large enough for its mean prediction to be compared."
        low, high = farthest(means, "mean_prediction")
        return (
            f"The mean prediction for {group_named(low)} is {_with_ends(low, 'mean_prediction')}, "
            f"and for {group_named(high, alone=True)} it is {_with_ends(high, 'mean_prediction')}"
            f"{in_sample(selection)}."
        )
    ratios = [row for row in rows if row.get("impact_ratio") is not None]
    if not ratios:
        reason = selection["reason"] or "no group is large enough to be compared"
        return f"Rates of the groups were not compared: {reason}."
    worst, _ = farthest(ratios, "impact_ratio")
    ratio = f" Impact ratio: {_with_ends(worst, 'impact_ratio')}."
    shown = ratio if with_ratio and worst["impact_ratio"] < 1 else ""
    return f"{lowest_and_highest(selection, ratios)}{shown}"


def lowest_and_highest(selection: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """The lowest and the highest rate of the attribute whose groups differ most."""
    worst, best = farthest(rows, "impact_ratio")
    rate = "selection_rate" if "selection_rate" in worst else "scoring_rate"
    what = quoted(selection["favourable"]) if selection["favourable"] else "A high score"
    sample = in_sample(selection)
    if worst["impact_ratio"] == best["impact_ratio"]:
        of = f"every group of {isolate(worst['attribute'])}"
        return f"{what} is predicted for {percent(worst[rate])} of {of}{sample}."
    return (
        f"{what} is predicted for {percent(worst[rate])} of {group_named(worst)} and for "
        f"{percent(best[rate])} of {group_named(best, alone=True)}{sample}."
    )


def farthest(rows: list[dict[str, Any]], name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two groups of one attribute, the lower one first, that are farthest apart in a figure."""
    ends = []
    for attribute in dict.fromkeys(row["attribute"] for row in rows):
        same = [row for row in rows if row["attribute"] == attribute]
        same.sort(key=lambda row: float(row[name]))
        ends.append((same[0], same[-1]))
    return max(ends, key=lambda both: float(both[1][name]) - float(both[0][name]))


def group_named(row: dict[str, Any], *, alone: bool = False) -> str:
    """A group with its attribute, unless its name begins with that, as "age < 32" does.

    `alone` leaves the attribute out. A small group has its number of rows: what is
    known of it is mostly chance.
    """
    group, attribute, n = str(row["group"]), str(row["attribute"]), row.get("n")
    details = [] if alone or group.startswith(f"{attribute} ") else [isolate(attribute)]
    if n is not None and n < FEWEST_ROWS:
        details.append(f"{n} row{'s' * (n != 1)}")
    return f"{isolate(group)} ({', '.join(details)})" if details else isolate(group)


def in_group(group: str, attribute: str) -> str:
    """The people of a group: in it, or with a value as its name tells, such as "age < 32"."""
    return f"{'with' if group.startswith(f'{attribute} ') else 'in'} {isolate(group)}"


def _with_ends(row: dict[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None or high is None:
        return number(row[name])
    return f"{number(row[name])} ({number(low)} to {number(high)} at 95%)"


# Moved twins -----------------------------------------------------------------------------------

#: What flips are called that may have any direction.
ANY = "any"


def reaches(quality: dict[str, Any]) -> bool | None:
    """Whether a map brings people so near to the other group that no classifier tells them.

    None where that was not judged.
    """
    after = quality["auc_after"]
    # Above this area under its curve, a classifier tells moved rows from real ones.
    return None if after is None else after <= 0.6


def largest_flow(part: dict[str, Any]) -> dict[str, Any] | None:
    """The two groups between which most decisions change under a map, whatever the direction."""
    flows = [flow for flow in part["flips"] if flow["direction"] == ANY]
    return max(flows, key=lambda flow: float(flow["share"]), default=None)


def is_beyond_chance(part: dict[str, Any]) -> bool:
    """Whether more decisions change between some groups than between groups that chance made."""
    return any((flow["beyond_low"] or 0.0) > 0 for flow in part["flips"])


def moved_sentence(part: dict[str, Any]) -> str:
    """How many decisions change with what goes along with an attribute, and where most do."""
    name, rate = isolate(part["attribute"]), percent(part["rate"])
    has_ends = part["low"] is not None and part["high"] is not None
    if has_ends:
        rate += f" ({percent(part['low'])} to {percent(part['high'])})"
    who = "people" if part["n"] == part["n_rows"] else f"{part['n']:,} of {part['n_rows']:,} people"
    words = f"with what goes along with {name}, {rate} of {who} would get another decision"
    flow = largest_flow(part)
    if flow is not None:
        words += (
            f", most of all {percent(flow['share'])} of {isolate(flow['group'])} moved to "
            f"{isolate(flow['to'])}"
        )
    words += f" ({isolate(part['transport'])} map)"
    reached = set(map(reaches, part["maps"]))
    if False in reached:
        words += ", though the map does not reach the other group"
    elif None in reached:
        words += ", though the map could not be judged"
    if not has_ends:
        words += f"; no interval{': no time' * ('time' in part['reason'])}"
    elif not is_beyond_chance(part):
        words += "; this is not known to be more than between groups that chance has made"
    return words


# The finding -----------------------------------------------------------------------------------


def finding(search: dict[str, Any], threshold: float | None, seed: int | None) -> str:
    """The finding in one sentence, of the search for all sensitive attributes.

    A second one is of the rows of the data, where these show more than the domain.
    """
    return _in_domain(search, threshold, seed) + rows_sentence(search)


def _in_domain(search: dict[str, Any], threshold: float | None, seed: int | None) -> str:
    names = listed(search["sensitive"])
    if search["degree"] is None:
        return f"Nothing was measured: {search['reason'].rstrip('.')}."
    if not search["degree"]:
        proof = search["certificate"]
        if proof["certified"] and proof["upper"] == 0:
            its = "its value" if len(search["sensitive"]) == 1 else "their values"
            return (
                f"The model takes {names} and gives every input of the domain the same output "
                f"whatever {its}; this was certified."
            )
        return (
            f"No difference was found between inputs that differ only in {names}, in "
            f"{search['search_queries']:,} queries (seed {seed})."
        )
    sentence = f"Two inputs that differ only in {names} get different outputs"
    pair = search["pair"]
    if pair is None:
        return f"{sentence}: largest difference {number(search['degree'])}."
    if pair["outputs"] is None and pair["labels"] is not None:
        first, second = pair["labels"]
        sentence = f"Two inputs that differ only in {names} get different labels"
        return f"{sentence}: {first} against {second}."
    if pair["outputs"] is None:
        return f"{sentence}: largest difference {number(search['degree'])}."
    first, second, apart = with_difference(*pair["outputs"])
    sentence += f": largest difference {apart} ({pair['output']}: {first} against {second})"
    if threshold is not None:
        side = "above" if search["degree"] > threshold else "within"
        sentence += f", {side} the threshold of {number(threshold)}"
    return f"{sentence}."


def carries(searches: list[dict[str, Any]]) -> str:
    """Which sensitive attribute carries the difference, from each alone and all together."""
    *alone, together = searches
    known = [s for s in alone if s["status"] == "done"]
    if not known or not together["degree"]:
        return ""
    whole = together["degree"]
    known.sort(key=lambda search: -search["degree"])
    best = known[0]
    parts = ", ".join(f"{s['label']} {number(s['degree'])}" for s in known)
    each = f"Alone they show {parts}; together {number(whole)}."
    share = best["degree"] / whole
    if share >= 0.95:
        words = f"{best['label']} alone shows nearly all of the difference."
    elif share >= 0.5:
        words = f"{best['label']} alone shows most of the difference, {share:.0%} of it."
    else:
        words = (
            f"No attribute alone shows half of the difference; it appears where several of them "
            f"differ at once. {best['label']} shows the most, {share:.0%} of it."
        )
    proven = [
        f"{s['label']} cannot exceed {number(s['certificate']['upper'])}"
        for s in known
        if s["certificate"]["upper"] is not None and s["certificate"]["upper"] < whole
    ]
    more = f" It is proven that alone {', '.join(proven)}." if proven else ""
    return f"{words[0].upper()}{words[1:]} {each}{more}"
