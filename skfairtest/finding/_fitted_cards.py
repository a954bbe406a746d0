"""Cards of fitted auditors and retrainers, and of certificates.

All is read from what is stored. No function here may touch a result that asks the model, or one
that takes seconds, when it is first read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from skfairtest.finding._card import findings_card, numbers_table
from skfairtest.finding._pair import Pair, make_pair, worst_pair
from skfairtest.finding._words import change, difference_sentence, name_output, number, value_text

_TWINS = "Twins are two inputs identical but for the sensitive columns. "
_TWINS_NOTE = _TWINS + (
    "Such a pair does not show why the model treats the two differently, nor how many people are "
    "like them. "
)
_NONE_NOTE = _TWINS + "That none were found does not show that there are none. "
_PROXIES = "Other columns may stand for the sensitive ones."
_MOVED_NOTE = (
    "A moved twin is a row that a map has moved to another group, with the other columns where "
    "people of that group with equal ranks have them. It does not say what would have become of a "
    "person."
)
_GROUPS_NOTE = (
    "A difference between groups does not say why: they may differ in other columns, too. Groups "
    "below min_support were not compared."
)


def model_name(estimator: Any) -> str:
    """Return a model's class; that of the last step of a pipeline, or inside of a wrapper."""
    while True:
        if type(estimator).__name__ == "FrozenEstimator":
            estimator = estimator.estimator
        elif getattr(estimator, "steps", None):
            estimator = estimator.steps[-1][1]
        else:
            return type(estimator).__name__


def auditor_card(auditor: Any) -> str:
    """Show the worst pair of an auditor of twins, and how large the difference can get."""
    pair = worst_pair(auditor)
    sentence = f"no difference found in {auditor.n_inputs_:,} inputs"
    facts = _cost(auditor.n_queries_, auditor.seconds_, auditor.stop_reason_)
    if pair is not None:
        sentence = difference_sentence(pair)
        # Without a threshold all twins of a regressor differ, so that a number says nothing.
        if auditor.threshold is not None:
            facts.insert(0, ("threshold", number(auditor.threshold)))
        if auditor.threshold is not None or auditor.response_ != "regression":
            facts.insert(0, ("discriminatory inputs found", f"{auditor.n_found_:,}"))
    on_data = auditor._state.get("on_data")
    if on_data is not None:
        facts.append(("largest difference in the rows of the data", number(on_data["degree"])))
    upper = getattr(auditor, "fairness_degree_upper_bound_", None)
    return findings_card(
        f"{type(auditor).__name__} of {model_name(auditor.estimator_)}",
        sentence,
        pair=pair,
        detail=""
        if upper is None
        else _bounds_sentence(auditor.fairness_degree_, upper, auditor.certified_),
        facts=facts,
        note=_note(pair, upper is not None and auditor.certified_),
    )


def moved_card(auditor: Any) -> str:
    """Show how many rows change when they are moved to another group, and the worst of them."""
    pair = worst_pair(auditor)
    share = number(auditor.moved_rate_)
    low, high = auditor.moved_rate_interval_
    if math.isfinite(low):
        share += f" ({number(low)} to {number(high)})"
    sentence = f"the output changes for a share of {share} of {auditor.n_inputs_:,} rows"
    facts = _cost(auditor.n_queries_, auditor.seconds_, auditor.stop_reason_)
    if math.isfinite(auditor.null_rate_):
        facts.insert(0, ("share between random groups", number(auditor.null_rate_)))
    auc = auditor.map_quality_["auc_after"]
    largest = "not judged" if auc.isna().any() else number(auc.max())
    facts.insert(0, ("AUC of moved rows against real ones, at most", largest))
    return findings_card(
        f"{type(auditor).__name__} of {model_name(auditor.estimator_)}",
        sentence,
        pair=pair,
        facts=facts,
        note=_MOVED_NOTE,
    )


def certificate_card(certificate: Any) -> str:
    """Show the bounds of a certificate, with the pair that shows the lower bound."""
    pair = None
    sentence = "no difference found"
    if certificate.worst_case is not None:
        pair = make_pair(
            certificate.worst_case,
            outputs=certificate.worst_case_outputs,
            output=name_output(certificate.response, certificate.worst_case_class),
            difference=certificate.fairness_degree,
            threshold=None,
        )
        sentence = difference_sentence(pair)
        if pair.outputs is None and certificate.response != "labels":
            sentence = f"largest difference {number(pair.difference)}"
    return findings_card(
        type(certificate).__name__,
        sentence,
        pair=pair,
        detail=_bounds_sentence(
            certificate.fairness_degree,
            certificate.fairness_degree_upper_bound,
            certificate.certified,
        ),
        facts=_cost(None, certificate.seconds, certificate.stop_reason),
        note=_note(pair, certificate.certified),
    )


def rules_card(auditor: Any) -> str:
    """Show the worst rules of an auditor of groups."""
    model = auditor.estimator_
    of = "predictions that were given" if model is None else model_name(model)
    kind = f"{type(auditor).__name__} of {of}"
    facts = [
        ("rules compared", f"{auditor.n_rules_:,}"),
        *_cost(auditor.n_queries_, auditor.seconds_, auditor.stop_reason_),
    ]
    state = auditor._state
    if not len(state["rules"]):
        return findings_card(kind, "no groups were compared", facts=facts, note=_GROUPS_NOTE)
    # A card shows five rules; a table of all, which may be thousands, would take its time.
    few = {name: value[:5] for name, value in state.items()}
    rules = auditor._table(few)
    worst = rules.iloc[0]
    inside, outside = number(worst["value_inside"]), number(worst["value_outside"])
    measure = share_name(auditor)
    names = {
        "rule": "group", "value_inside": "inside", "value_outside": "outside",
        "score": "difference", "low": "from", "high": "to", "differs": "differs",
        "n_inside": f"{auditor._counted} inside",
    }  # fmt: skip
    table = rules[list(names)].astype({"low": object})
    # A step-down test may show that such a difference is above 0, and not by how much.
    table.loc[rules["differs"] & (rules["low"] <= 0), "low"] = "above 0"
    table["differs"] = np.where(rules["differs"], "yes", "no")
    together = "each by itself" if auditor.correction == "none" else "all at once"
    return findings_card(
        kind,
        f"largest difference {number(worst['score'])} ({measure}: {inside} where "
        f"{worst['rule']}, {outside} elsewhere)",
        table=numbers_table(
            list(names.values()),
            table.itertuples(index=False),
            f"{_capital(measure)} inside and outside of a group, with intervals that hold "
            f"{together} ({auditor.confidence:.0%})",
        ),
        facts=facts,
        note=_GROUPS_NOTE,
    )


def share_name(auditor: Any) -> str:
    """Say what is compared between groups."""
    metric = getattr(auditor, "metric", None)
    if metric is not None:
        words = metric if isinstance(metric, str) else getattr(metric, "__name__", "metric")
        return words.strip("_").replace("_", " ")
    favourable = auditor.favourable_
    if isinstance(favourable, str):
        return "mean prediction"
    if not isinstance(favourable, list):
        return f"share of predictions of at least {number(favourable)}"
    labels = " or ".join(map(value_text, favourable))
    if auditor.response_method == "predict_proba":
        return f"mean probability of {labels}"
    return f"share predicted {labels}"


#: Where shares are taken, as a card says it.
_PLACES = {
    "rows": "rows of the table",
    "unseen": "people who are not in it",
    "near": "near the data",
    "uniform": "uniform inputs of the domain",
    "group": "worst group, difference of shares",
    "moved": "rows moved to another group",
}


def retrainer_card(retrainer: Any) -> str:
    """Show measures before and after a mitigation, and what it cost."""
    facts = [
        ("rows added", f"{retrainer.n_added_:,}"),
        ("rounds", f"{max(0, len(retrainer._table.get('round', ())) - 1)}"),
        ("ended", retrainer.stop_reason_),
    ]
    before, after = getattr(retrainer, "before_", None), getattr(retrainer, "after_", None)
    kind = f"{type(retrainer).__name__} of {model_name(retrainer.estimator)}"
    kept = retrainer.estimator_ is retrainer.original_estimator_
    if before is None or after is None:
        left = "the original model is kept" if kept else "the best model so far is kept"
        return findings_card(kind, f"not measured to the end: {left}", facts=facts)
    measure = _measure(retrainer)
    place, about = "near", f"{measure}, near the data: "
    if "moved" in before:
        place, about = "moved", f"{measure.replace('twins', 'moved twins')}, unseen people: "
    change = f"{number(before[place]['value'])} before, {number(after[place]['value'])} after"
    sentence = f"{about}{change}"
    if kept:
        sentence = f"the original model is kept; {about}{number(before[place]['value'])}"
    rows = [
        (_PLACES[place], _with_interval(before[place]), _with_interval(after[place]))
        for place in _PLACES
        if place in before and place in after
    ]
    degrees = (number(before["degree"]["value"]), number(after["degree"]["value"]))
    rows.append(("largest difference seen", *degrees))
    facts.insert(0, ("score of this model", _score(retrainer, kept)))
    if retrainer._unscored:
        facts.insert(1, ("not scored", retrainer._unscored))
    facts += _alternatives(retrainer.alternatives_)
    return findings_card(
        kind,
        sentence,
        table=numbers_table(
            ["", "before", "after"],
            rows,
            f"{_capital(measure)}, with intervals (95%); and the largest difference of a pair",
        ),
        facts=facts,
        note="Before and after are what the two models do themselves; nothing was chosen by the "
        "inputs near the data and uniform ones. "
        + (_MOVED_NOTE if "moved" in before else _TWINS + _PROXIES),
    )


def _score(retrainer: Any, kept: bool) -> str:
    """How far the score may have fallen, and what would let the rows tell that it has not."""
    if kept:
        return f"that of the original. {retrainer._what_would_tell}".rstrip(" .")
    drop, limit = retrainer.score_drop_, retrainer.max_score_drop
    text = f"{change(-drop['high'])} to {change(-drop['low'])} against that of the original"
    if drop["confirmed"]:
        return f"{text}; a drop of more than {limit:g} is ruled out with 95% confidence"
    return f"{text}; not confirmed: {retrainer._what_would_tell}"


def _alternatives(table: Any) -> list[tuple[str, str]]:
    """What the other methods leave, and what they cost, each in a line."""
    measured = "moved" if "moved" in table else "group"
    place = "near" if table[measured].isna().all() else measured
    where = _PLACES[place].split(",")[0]
    lines = []
    for name, row in table.iterrows():
        if row["kept"] or name == "original":
            continue
        text = row["note"]
        if math.isfinite(row[place]):
            fell = change(-row["score_drop"])
            text = f"{number(row[place])} {where}, score {fell} on average over trainings"
            if row["note"]:
                text += f" ({row['note']})"
        lines.append((f"{name} instead", text))
    return lines


def _measure(retrainer: Any) -> str:
    threshold = getattr(retrainer.auditor, "threshold", None)
    if threshold is not None:
        return f"share of inputs whose twins differ by more than {number(threshold)}"
    if is_classifier(retrainer.estimator):
        return "share of inputs whose twins get different labels"
    return "mean difference of twins"


def _with_interval(measure: dict[str, float]) -> str:
    text = number(measure["value"])
    is_count = measure["low"] == measure["high"]  # of all rows, which has no interval
    if math.isfinite(measure["low"]) and math.isfinite(measure["high"]) and not is_count:
        text += f" ({number(measure['low'])} to {number(measure['high'])})"
    return text


def _note(pair: Pair | None, certified: bool) -> str:
    return (_TWINS_NOTE if pair else _TWINS if certified else _NONE_NOTE) + _PROXIES


def _bounds_sentence(found: float, upper: float, certified: bool) -> str:
    proven = "(proven for all inputs in the domain)"
    if certified:
        if not upper:
            return f"No twins are treated differently {proven}."
        return f"Largest possible difference: {number(upper)} {proven}."
    if not math.isfinite(upper):
        return "How large the difference can get is not known."
    return (
        f"Largest possible difference: at most {number(upper)} {proven}. Whether any is above "
        f"{number(found)} is open."
    )


def _cost(queries: Any, seconds: float, ended: str = "") -> list[tuple[str, str]]:
    facts = [] if queries is None else [("queries", f"{int(queries):,}")]
    facts.append(("seconds", number(seconds)))
    return facts + ([("ended", ended)] if ended else [])


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
