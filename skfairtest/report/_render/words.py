"""The sentences of a report."""

from __future__ import annotations

from typing import Any

from skfairtest.finding._words import number, two_numbers

#: Shares of the whole difference from which an attribute alone shows nearly all of it, or most.
NEARLY_ALL = 0.95
MOST = 0.5

NOT_SHOWN = [
    "A search finds differences but cannot rule out larger ones: the largest difference found "
    "is a lower bound. Only a certificate gives an upper bound.",
    "The inputs of the domain need not look like real people. Only the part on the rows of the "
    "data is about people.",
    "Twins differ in the sensitive attributes alone. Other columns may be proxies for these, as "
    "a postcode may be for a group; no pair of twins shows that.",
    "Sensitive attributes that the model does not take cannot change its predictions. That "
    "twins in these attributes get equal predictions says nothing about differences between "
    "groups.",
    "The number of discriminatory inputs that were found depends on where the search looks. It "
    "says nothing about the share of people who are affected.",
    "Whether a difference is unfair or unlawful must be judged by people who know what the "
    "prediction is used for.",
]


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


def headline(
    searches: list[dict[str, Any]],
    selection: dict[str, Any],
    threshold: float | None,
    seed: int | None,
) -> str:
    """What is read first: the finding, and of what the model does not take what the groups get."""
    main = searches[-1]
    beside = not_taken(searches)
    sentences = [finding(main, threshold, seed)] if main["taken"] else []
    if beside:
        sentences.append(f"The model does not take {listed(beside, 'or')}.")
        sentences.append(what_groups_get(selection, beside))
    return " ".join(sentences)


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
    ratios = [row for row in rows if row.get("impact_ratio") is not None]
    # A few rows have extreme rates by chance.
    ratios = [row for row in ratios if not row["note"]] or ratios
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
    more = f" It is certified that alone {', '.join(proven)}." if proven else ""
    return f"{words[0].upper()}{words[1:]} {told}{more}"
