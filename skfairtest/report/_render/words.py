"""The sentences of a report."""

from __future__ import annotations

import unicodedata
from typing import Any

from skfairtest.finding._words import name_output, number, two_numbers

#: What stands where nothing was measured.
ABSENT = "–"
#: Shares of the whole difference from which an attribute alone shows nearly all of it, or most.
NEARLY_ALL = 0.95
MOST = 0.5

NOT_SHOWN = [
    "A search finds differences but cannot rule out larger ones. Only where the page says "
    "'largest possible' is a bound proven.",
    "Made-up inputs need not look like real people. Only counts of people are about people.",
    "Twins differ in the sensitive attributes alone. Other columns may be proxies for these, as "
    "a postcode may be for a group; no pair of twins shows that.",
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


def percent(share: Any) -> str:
    """A share in percent that never rounds some to none, nor not all to all."""
    if share is None:
        return ABSENT
    if 0 < share < 0.0005:
        return "under 0.1%"
    if 0.9995 <= share < 1:
        return "over 99.9%"
    return f"{share:.0%}" if share in (0, 1) else f"{share:.1%}"


def listed(names: list[str], between: str = "and") -> str:
    """Names in a sentence: "age, race and sex"."""
    *most, last = names
    return f"{', '.join(most)} {between} {last}" if most else last


def seen(search: dict[str, Any]) -> float | None:
    """The largest difference that anything has shown: in the domain, or of a row outside of it."""
    shown = [search["degree"], search["rows"]["degree"] if "rows" in search else None]
    return max((float(degree) for degree in shown if degree is not None), default=None)


def beyond_domain(search: dict[str, Any]) -> bool:
    """Whether a row of the data, outside of the domain, shows more than anything in it."""
    return (seen(search) or 0.0) > (search["degree"] or 0.0)


def of_rows_in_words(search: dict[str, Any]) -> str:
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
    main, beside = report["searches"][-1], not_taken(report["searches"])
    sentences = []
    if main["taken"]:
        if main["rows"]["changed"] is not None and main["rows"]["n"]:
            sentences.append(people_change(main, report))
        sentences.append(finding(main, report["threshold"], report["seed"]))
    if beside:
        sentences.append(f"The model does not take {listed(beside, 'or')}.")
        sentences.append(what_groups_get(report["selection"], beside))
    return " ".join(sentences)


def people_change(search: dict[str, Any], report: dict[str, Any]) -> str:
    """How many people would get something else if only their sensitive values were changed."""
    rows = search["rows"]
    if rows["changed"] is None or not rows["n"]:
        return finding(search, report["threshold"], report["seed"])
    who, above = of_people(rows), rows["counts_above"]
    n = f"{rows['changed']:,}" if rows["changed"] else "None"
    if above is None:
        what = "another decision"
    else:
        of_spread = report["threshold"] is None
        spread = ", a tenth of the spread of the predictions," if of_spread else ""
        what = f"{output_of(search, report)} that differs by more than {number(above)}{spread}"
    share = _share(rows) if rows["changed"] else ""
    names = listed([isolate(name) for name in search["sensitive"]], "or")
    return f"{n} of {who} would get {what} if only their {names} were changed{share}."


def _share(rows: dict[str, Any]) -> str:
    """The share of these people in percent; of a sample with what it may be of all."""
    share = percent(rows["changed"] / rows["n"])
    is_same = rows["rate"] is not None and round(rows["rate"] * rows["n"]) == rows["changed"]
    if not is_same or rows["low"] is None:
        return f" ({share})"
    if rows["high"] >= 1:
        return f" ({share}; of all people at least {percent(rows['low'])})"
    return f" ({share}; of all people {percent(rows['low'])} to {percent(rows['high'])})"


def of_people(rows: dict[str, Any]) -> str:
    """The people that were compared."""
    if rows["n"] == rows["n_rows"]:
        return f"the {rows['n']:,} people in the table"
    return f"{rows['n']:,} people, a random sample of {rows['n_rows']:,},"


def output_of(search: dict[str, Any], report: dict[str, Any]) -> str:
    """What the model gives, with its article."""
    pair = search["pair"]
    output = pair["output"] if pair else name_output(report["model"]["response"])
    return f"a {isolate(output)}"


def bracket_in_words(search: dict[str, Any]) -> str:
    """The largest difference found and its bound, as the rest of a sentence."""
    bracket, degree = search["bracket"], search["degree"]
    if degree is None:
        return f"not known: {search['reason']}"
    if bracket["upper"] is None:
        why = f" ({bracket['reason']})" if bracket["reason"] else ""
        return f"at least {number(degree)}; larger ones are not ruled out{why}"
    if bracket["certified"]:
        return f"{number(degree)} (proven for all inputs in the domain)"
    return f"between {number(degree)} (found) and {number(bracket['upper'])} (proven bound)"


def largest_possible(search: dict[str, Any]) -> str:
    """The bound of all differences, and half a sentence on what it is."""
    bracket, degree = search["bracket"], search["degree"]
    if bracket["upper"] is None:
        why = f": {bracket['reason']}" if bracket["reason"] else ""
        return f"Larger ones are not ruled out{isolate(why)}.".replace("..", ".")
    proven = "(proven for all inputs within the ranges of the data)"
    if bracket["certified"] and degree is not None:
        return f"Largest possible difference: {number(bracket['upper'])} {proven}."
    return f"Largest possible difference: at most {number(bracket['upper'])} {proven}."


def not_taken(searches: list[dict[str, Any]]) -> list[str]:
    """The sensitive attributes that the model does not take, so that nothing was searched."""
    names = [name for search in searches if not search["taken"] for name in search["sensitive"]]
    return list(dict.fromkeys(names))


def twins_beside(names: list[str]) -> str:
    """What that means, and what it does not."""
    them = "it" if len(names) == 1 else "them"
    return (
        f"Inputs that differ in {listed(names)} alone are the same input to the model and get "
        "the same output by construction, so nothing was searched. Other columns of the model "
        f"may be proxies for {them}: rates of groups can show that, twins cannot."
    )


def what_groups_get(selection: dict[str, Any], attributes: list[str]) -> str:
    """The groups of these attributes that get least and most, with what chance leaves of that."""
    rows = [dict(zip(selection["columns"], row, strict=True)) for row in selection["rows"]]
    rows = [row for row in rows if row["attribute"] in attributes]
    if "mean_prediction" in selection["columns"]:
        means = [row for row in rows if row["mean_prediction_low"] is not None]
        if not means:
            return "No group is large enough for its mean prediction to be compared."
        low, high = min(means, key=_mean), max(means, key=_mean)
        return (
            f"The mean prediction for {_in_group(low)} is {_with_ends(low, 'mean_prediction')}, "
            f"and for {_in_group(high)} it is {_with_ends(high, 'mean_prediction')}."
        )
    ratios = large_enough([row for row in rows if row.get("impact_ratio") is not None])
    if not ratios:
        reason = selection["reason"] or "no group is large enough to be compared"
        return f"Rates of the groups were not compared: {reason}."
    worst = min(ratios, key=lambda row: float(row["impact_ratio"]))
    best = max(
        (row for row in ratios if row["attribute"] == worst["attribute"]),
        key=lambda row: float(row["impact_ratio"]),
    )
    if worst["impact_ratio"] == best["impact_ratio"]:
        return (
            f"{selection['favourable']} is predicted for {worst['selection_rate']:.1%} of every "
            f"group of {worst['attribute']}."
        )
    return (
        f"{selection['favourable']} is predicted for {worst['selection_rate']:.1%} of "
        f"{_in_group(worst)} and for {best['selection_rate']:.1%} of {best['group']}: impact ratio "
        f"{_with_ends(worst, 'impact_ratio')}."
    )


def large_enough(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Groups without a note, where two are left of each attribute: a few rows differ by chance."""
    kept = [row for row in rows if not row["note"]]
    attributes = [row["attribute"] for row in kept]
    kept = [row for row in kept if attributes.count(row["attribute"]) > 1]
    return kept or rows


def _mean(row: dict[str, Any]) -> float:
    return float(row["mean_prediction"])


def _in_group(row: dict[str, Any]) -> str:
    return f"{row['group']} ({row['attribute']})"


def _with_ends(row: dict[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None or high is None:
        return number(row[name])
    return f"{number(row[name])} ({number(low)} to {number(high)} at 95%)"


def finding(search: dict[str, Any], threshold: float | None, seed: int | None) -> str:
    """The finding in one sentence, of the search for all sensitive attributes.

    A second one is of the rows of the data, where these show more than the domain.
    """
    return _in_domain(search, threshold, seed) + of_rows_in_words(search)


def _in_domain(search: dict[str, Any], threshold: float | None, seed: int | None) -> str:
    names = listed(search["sensitive"])
    if search["degree"] is None:
        return f"Nothing was measured: {search['reason']}"
    if not search["degree"]:
        proof = search["bracket"]
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
    first, second = two_numbers(*pair["outputs"])
    sentence += (
        f": largest difference {number(search['degree'])} ({pair['output']}: {first} against "
        f"{second})"
    )
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
    told = f"Alone they show {parts}; together {number(whole)}."
    share = best["degree"] / whole
    if share >= NEARLY_ALL:
        words = f"{best['label']} alone shows nearly all of the difference."
    elif share >= MOST:
        words = f"{best['label']} alone shows most of the difference, {share:.0%} of it."
    else:
        words = (
            f"No attribute alone shows half of the difference; it appears where several of them "
            f"differ at once. {best['label']} shows the most, {share:.0%} of it."
        )
    proven = [
        f"{s['label']} cannot exceed {number(s['bracket']['upper'])}"
        for s in known
        if s["bracket"]["upper"] is not None and s["bracket"]["upper"] < whole
    ]
    more = f" It is proven that alone {', '.join(proven)}." if proven else ""
    return f"{words[0].upper()}{words[1:]} {told}{more}"
