"""Reports as dicts, for tests of what is made of them: HTML, Markdown, model cards, the schema.

The figures are invented, but fit together as those of a real audit do.
"""

from __future__ import annotations

import numpy as np

#: Names and values that would break a page, a table or a template that does not escape.
HOSTILE = (
    "<script>alert('x')</script>",
    '" onmouseover="alert(1)',
    "{{ 7 * 7 }} {% raw %}",
    "--> </style></details><h1>",
    "a|b\\|c\n| --- |",
    "`code` *stars* _lines_ [link](https://example.org/) ![x](//example.org/x.png)",
    "&lt;b&gt; & $\\frac{1}{2$",
    "الجنس <b>",
    "性别 שם",
    "../A/B",
)

ENDS = ("", "_low", "_high")


def _columns(*rates):
    """The columns of rates with their intervals."""
    return [f"{rate}{end}" for rate in rates for end in ENDS]


SELECTION = [
    "attribute", "group", "n", "share", *_columns("selection_rate"), "impact_ratio",
    "impact_ratio_low", "impact_ratio_high", *_columns("false_positive_rate"),
    "false_positive_rate_n", *_columns("accuracy"), "accuracy_n", "note",
]  # fmt: skip
SELECTION_OF_REGRESSOR = [
    "attribute", "group", "n", "share", *_columns("mean_prediction"), *_columns("mean_error"),
    "mean_error_n", "note",
]  # fmt: skip

ADULT = {
    "age": (38, "numeric", "17 to 90"),
    "workclass": ("Private", "categorical", "8 values"),
    "fnlwgt": (189778, "numeric", "12285 to 1490400"),
    "education": ("Bachelors", "categorical", "16 values"),
    "education-num": (13, "numeric", "1 to 16"),
    "marital-status": ("Married-civ-spouse", "categorical", "7 values"),
    "occupation": ("Exec-managerial", "categorical", "14 values"),
    "relationship": ("Husband", "categorical", "6 values"),
    "race": ("White", "categorical", "5 values"),
    "sex": ("Male", "categorical", "Female, Male"),
    "capital-gain": (0, "numeric", "0 to 99999"),
    "capital-loss": (0, "numeric", "0 to 4356"),
    "hours-per-week": (45, "numeric", "1 to 99"),
    "native-country": ("United-States", "categorical", "41 values"),
}
NOT_SHOWN = [
    "That no larger difference exists: a search gives a lower bound.",
    "How the model treats people in practice: the inputs of a search need not occur.",
    "What causes the difference, and whether it is justified.",
]


def pair(cells, changes, outputs=(0.82, 0.22), threshold=0.1, output="probability of yes", top=()):
    """A pair of which these columns have these two values."""
    top = dict(top)
    rows = []
    for name, value in cells.items():
        first, second = changes.get(name, (value, value))
        matters = top.get(name, 0.0) if top else None
        rows.append(
            {"name": name, "first": first, "second": second, "changed": name in changes,
             "matters": matters}
        )  # fmt: skip
    labels = None if output == "prediction" else ["yes", "no"]
    return {
        "cells": rows, "output": output, "outputs": None if outputs is None else list(outputs),
        "labels": labels, "threshold": threshold,
        "difference": 1.0 if outputs is None else abs(outputs[0] - outputs[1]),
    }  # fmt: skip


def history(n=60, largest=0.6, seconds=9.0):
    """A search that gets better in steps."""
    queries = np.linspace(100, 20_000, n).astype(int)
    degree = np.maximum.accumulate(largest * np.minimum(1, np.round(np.linspace(0.3, 1.1, n), 1)))
    return {
        "queries": queries.tolist(), "seconds": np.linspace(0.1, seconds, n).round(3).tolist(),
        "degree": degree.round(4).tolist(), "found": np.linspace(0, 800, n).astype(int).tolist(),
    }  # fmt: skip


def curve(largest=0.6, n=200):
    """Shares of rows whose disparity exceeds each difference."""
    difference = np.linspace(0, largest, n)
    return {
        "difference": difference.round(5).tolist(),
        "share": (0.7 * (1 - difference / (largest or 1)) ** 3).round(5).tolist(),
    }


def search(
    sensitive, worst, *, label="", finds=(), rows=(), worst_rows=(), certificate=(), **changes
):
    """One search with all its parts; `rows`, `certificate` and `changes` overwrite."""
    largest = worst["difference"] if worst else 0.0
    what = {
        "sensitive": list(sensitive), "label": label or sensitive[0], "taken": True,
        "auditor": "SBFTAuditor",
        "status": "done", "reason": "", "degree": largest, "found": 812 if worst else 0,
        "kept": 100 if worst else 0, "inputs": 9_400, "search_queries": 20_000, "queries": 80_824,
        "seconds": 9.1,
        "shown_by": "the search" if worst else "",
        "stop_reason": "the time was spent", "pair": worst, "history": history(largest=largest),
        "further_pairs": list(finds), "all_pairs": find_table(finds),
        "certificate": {
            "status": "done", "reason": "", "found": largest, "lower": largest,
            "upper": min(1.0, largest + 0.07), "certified": False, "queries": 500, "seconds": 4.2,
            "stop_reason": "the time was spent", "engine": "numpy",
        },
        "rows": {
            "status": "done", "reason": "", "n": 30_162, "n_rows": 30_162, "degree": largest * 0.7,
            "n_twins": 9, "n_combinations": 9,
            "rate": 0.118 if worst else 0.0, "low": None, "high": None, "spread": None,
            "above": [], "curve": curve(largest * 0.7), "worst": [], "queries": 60_324,
            "seconds": 2.2, "changed": 3_559 if worst else 0, "counts_above": 0.1,
            "by_group": by_group(sensitive) if worst else [], "person": None,
        },
        "pair_of_a_row": False, "pair_has_a_row": False,
    }  # fmt: skip
    what["rows"]["worst"] = list(worst_rows)
    if worst_rows:
        what["rows"]["person"] = {k: worst_rows[0][k] for k in ("row", "inside", "pair")}
    what["rows"].update(dict(rows))
    what["certificate"].update(dict(certificate))
    return {**what, **changes}


def by_group(sensitive):
    """People of each group, and what they would get if only this were changed."""
    groups = {"sex": [("Female", 9_782, 2_100, 40), ("Male", 20_380, 12, 1_407)]}
    told = groups.get(sensitive[0], [("White", 25_933, 3_001, 0), ("Black", 2_817, 3, 555)])
    return [
        {"group": name, "n": n, "changed": up + down, "directions": [
            {"from": "", "to": to, "n": k} for to, k in (("higher", up), ("lower", down)) if k]}
        for name, n, up, down in told
    ]  # fmt: skip


def find_table(finds):
    """All finds that are kept, as a table of the first twins and what changes in the second."""
    if not finds:
        return {"columns": [], "first": [], "changed": [], "second": [], "difference": [],
                "of_a_row": []}  # fmt: skip
    cells = finds[0]["cells"]
    changed = [cell["name"] for cell in cells if cell["changed"]]
    return {
        "columns": [cell["name"] for cell in cells],
        "first": [[cell["first"] for cell in find["cells"]] for find in finds],
        "changed": changed,
        "second": [[c["second"] for c in find["cells"] if c["name"] in changed] for find in finds],
        "difference": [find["difference"] for find in finds],
        "of_a_row": [place == 2 for place in range(len(finds))],
    }


def rule(words, score, half, inside, n_inside=2_400):
    """One rule with its simultaneous interval."""
    return {
        "rule": words, "support": n_inside / 30_162, "value_inside": inside,
        "value_outside": inside - score, "score": score, "low": score - half,
        "high": score + half, "differs": abs(score) > half, "n_inside": n_inside,
        "n_outside": 30_162 - n_inside,
    }  # fmt: skip


def selection_rows(groups, best=None):
    """Rows of a selection table from (attribute, group, n, rate)."""
    total = 30_162
    best = best or max(rate for *_, rate in groups)
    rows = []
    for attribute, group, n, rate in groups:
        half = 1.96 * (rate * (1 - rate) / n) ** 0.5
        low, high = max(0.0, rate - half), min(1.0, rate + half)
        rows.append([
            attribute, group, n, n / total, rate, low, high, rate / best, low / best,
            min(1.0, high / best), rate / 3, low / 3, high / 3, n // 2, 0.85, 0.84, 0.86, n,
            "fewer than 100 rows" if n < 100 else "",
        ])  # fmt: skip
    return rows


def rows_of_groups(metric, rules, **more):
    """Groups of rows that a metric is compared for."""
    worst = max(rules, key=lambda rule: rule["score"])
    return {
        "metric": metric, "status": "done", "reason": "", "favourable": "yes",
        "overall": 0.104, "confidence": 0.95, "correction": "resampling", "min_support": 0.05,
        "largest": {"rule": worst["rule"], "score": worst["score"]},
        "rules": rules, "n": 30_162, "n_rows": 30_162, "n_differ": 36, "max_conditions": 3,
        "queries": 0, "seconds": 0.4, "stop_reason": "all frequent rules were compared", **more,
    }  # fmt: skip


def flips(group, to, n, up, down, chance=0.011):
    """People of a group who would get another decision in another group, by direction."""
    told = []
    for direction, share in [("any", up + down), ("no -> yes", up), ("yes -> no", down)]:
        beyond = share - chance
        told.append(
            {"group": group, "to": to, "direction": direction, "n_rows": n,
             "n_flips": round(share * n), "share": share, "low": max(0.0, share - 0.02),
             "high": share + 0.02, "null_share": chance, "beyond_low": beyond - 0.02,
             "beyond_high": beyond + 0.02}
        )  # fmt: skip
    return told


def moved(attribute="sex", transport="quantile", groups=("Female", "Male"), share=0.17, auc=0.52,
          intervals=True, **changes):  # fmt: skip
    """People moved between two groups by one map."""
    a, b = groups
    one = {
        "attribute": attribute, "transport": transport, "status": "done", "reason": "",
        "applies": True, "not_moved": [], "without_value": 0, "n": 4_000, "n_rows": 30_162,
        "rate": 0.7 * share, "low": max(0.0, 0.7 * share - 0.01), "high": 0.7 * share + 0.012,
        "counts_above": None,
        "flips": [*flips(a, b, 1_300, share, 0.01), *flips(b, a, 2_700, 0.01, share / 2)],
        "columns": [
            {"group": own, "to": to, "column": column, "before": before, "after": after,
             "spread": spread, "moved": 0.9, "change": sign * part, "low": sign * part - 0.01,
             "high": sign * part + 0.01, "share_of_flips": 3 * part}
            for own, to, sign in [(a, b, 1), (b, a, -1)]
            for column, before, after, spread, part in [
                ("relationship", None, None, None, 0.2), ("hours-per-week", 36.4, 42.9, 12.0, 0.1),
                ("age", 36.9, 39.4, 13.1, 0.03),
            ]
        ],
        "maps": [
            {"group": own, "to": to, "auc_before": 0.93, "auc_after": auc, "distance": 0.31,
             "out_of_range": 0.002}
            for own, to in [(a, b), (b, a)]
        ],
        "queries": 180_000, "seconds": 2.1,
    }  # fmt: skip
    if not intervals:
        unknown = dict.fromkeys(["low", "high", "null_share", "beyond_low", "beyond_high"])
        one |= {"low": None, "high": None}
        one["flips"] = [{**flow, **unknown} for flow in one["flips"]]
        one["columns"] = [{**column, "low": None, "high": None} for column in one["columns"]]
    return {**one, **changes}


def not_moved(attribute, reason, **changes):
    """An attribute whose people were not moved."""
    return moved(
        attribute, status="left out", reason=reason, n=0, rate=None, low=None, high=None, flips=[],
        columns=[], maps=[], queries=0, seconds=0.0, **changes,
    )  # fmt: skip


def usual():
    """A classifier on people, two attributes, every part done."""
    cells = {name: value for name, (value, *_) in ADULT.items()}
    matters = {name: 0.3 / (k + 1) for k, name in enumerate(list(ADULT)[::-1])}
    by_sex = pair(cells, {"sex": ("Male", "Female")}, (0.71, 0.22), top=matters)
    by_race = pair(cells, {"race": ("White", "Black")}, (0.64, 0.41), top=matters)
    both = pair(
        cells, {"race": ("White", "Black"), "sex": ("Male", "Female")}, (0.82, 0.22), top=matters
    )
    worst_rows = [
        {"row": str(1000 + 7 * k), "inside": k != 3, "own": ["Male"], "pair": pair(
            {**cells, "age": 30 + k}, {"sex": ("Male", "Female")}, (0.7 - 0.01 * k, 0.28),
            top=matters)}
        for k in range(10)
    ]  # fmt: skip
    finds = [
        pair({**cells, "age": 25 + k}, {"sex": ("Male", "Female")}, (0.8 - 0.01 * k, 0.25),
             top=matters)
        for k in range(10)
    ]  # fmt: skip
    names = [
        ("sex", "Female", 9_782, 0.08), ("sex", "Male", 20_380, 0.26),
        ("race", "White", 25_933, 0.22), ("race", "Black", 2_817, 0.09),
        ("race", "Asian-Pac-Islander", 895, 0.23), ("race", "Other", 231, 0.1),
        ("sex × race", "Female, White", 7_980, 0.08), ("sex × race", "Female, Black", 1_399, 0.04),
        ("sex × race", "Female, Other", 82, 0.05), ("sex × race", "Male, White", 17_953, 0.28),
        ("sex × race", "Male, Black", 1_418, 0.14), ("sex × race", "Male, Other", 149, 0.12),
    ]  # fmt: skip
    rules = [
        rule("sex = Female", -0.181, 0.012, 0.081, 9_782),
        rule("marital-status = Married-civ-spouse", 0.171, 0.02, 0.31, 14_065),
        rule("sex = Female and race = Black", -0.162, 0.031, 0.042, 1_399),
        rule("race = Black", -0.129, 0.028, 0.09, 2_817),
        rule("race = Other", -0.11, 0.14, 0.1, 231),
    ]
    return {
        "schema": 1, "created": "2026-11-22T08:00:00+00:00", "status": "complete", "reason": "",
        "sentence": "largest difference 0.60 (probability of yes: 0.82 against 0.22) between two "
        "inputs that differ only in race and sex",
        "model": {
            "class": "Pipeline", "final": "HistGradientBoostingClassifier",
            "repr": "Pipeline(steps=[('encode', OrdinalEncoder()),\n"
            "                ('model', HistGradientBoostingClassifier())])",
            "task": "classification", "response": "predict_proba",
            "n_classes": 2, "classes": ["no", "yes"],
        },
        "data": {"n_rows": 30_162, "n_columns": 14, "target_given": True, "dtypes": []},
        "domain": {
            "attributes": [
                {"name": name, "kind": kind, "domain": domain, "step": 1 if kind == "numeric"
                 else None, "columns": 1, "sensitive": name in ("race", "sex")}
                for name, (_, kind, domain) in ADULT.items()
            ],
            "conditions": ["education-num >= 9 where education = 'Bachelors'"],
        },
        "sensitive_features": ["race", "sex"], "threshold": 0.1,
        "searches": [
            search(["race"], by_race, finds=finds[:3], worst_rows=worst_rows[:3],
                   rows={"rate": 0.021}),
            search(["sex"], by_sex, finds=finds, worst_rows=worst_rows,
                   rows={"rate": 0.108}, certificate={"upper": 0.49, "certified": True}),
            search(["race", "sex"], both, label="race, sex together", finds=finds,
                   worst_rows=worst_rows,
                   rows={"n": 10_000, "low": 0.1117, "high": 0.1245}),
        ],
        "limits": None, "rows_of_people": "worst",
        "carries": "sex carries most of it: alone it gives 0.49 of 0.60, race alone 0.23.",
        "favourable": {"labels": "yes", "how": "guessed", "words": "yes taken as favourable"},
        "groups": rows_of_groups("selection_rate", rules, n_rules=812, low=0.2, high=0.4),
        "perturbed_groups": {
            "status": "done", "reason": "", "favourable": "yes", "confidence": 0.95,
            "correction": "bonferroni", "min_support": 0.05, "n_rules": 1_812, "low": 0.2,
            "high": 0.4, "largest": {"rule": rules[0]["rule"], "score": rules[0]["score"]},
            "rules": rules,
            "queries": 30_162, "seconds": 3.0, "stop_reason": "all rules were compared",
        },
        "selection": {
            "status": "done", "reason": "", "favourable": "yes", "confidence": 0.95, "n": 30_162,
            "n_rows": 30_162, "queries": 30_162, "seconds": 0.2, "min_share": 0.0,
            "low": 0.1, "high": 0.2,
            "columns": SELECTION, "rows": selection_rows(names),
        },
        "errors": [
            rows_of_groups(metric, rules[:10], n_rules=2_210, low=0.1, high=0.3)
            for metric in ("false_positive_rate", "false_negative_rate")
        ],
        "moved": [
            not_moved("race", "a map needs two groups of 50 rows or more", applies=False),
            moved(),
            moved(transport="sequential", share=0.16, auc=0.68, intervals=False),
        ],
        "parts": [
            {"part": part, "status": "done", "reason": "", "queries": queries, "seconds": seconds,
             "notes": []}
            for part, queries, seconds in [
                ("search: race", 20_000, 9.1), ("rows: race", 60_324, 2.2),
                ("certificate: race", 500, 4.2), ("search: sex", 20_000, 9.1),
                ("search: race, sex together", 20_000, 9.1), ("groups", 30_162, 3.0),
                ("selection table", 30_162, 0.2),
            ]
        ],
        "cost": {"queries": 214_000, "seconds": 48.3, "max_time": 60.0}, "seed": 0,
        "settings": {"auditor": "SBFTAuditor()", "certify": "auto", "groups": "auto"},
        "versions": {"skfairtest": "0.2.0", "scikit-learn": "1.9.0", "numpy": "2.3.0",
                     "pandas": "3.0.0", "python": "3.11.2"},
        "code": "from skfairtest import audit\n\nreport = audit(\n    model, X, y,\n"
        '    sensitive_features=["race", "sex"], threshold=0.1, max_time=60, random_state=0,\n)\n',
        "not_shown": NOT_SHOWN,
    }  # fmt: skip


def regression():
    """A regressor without a threshold, one attribute: shares above parts of the spread."""
    cells = {"area": 70.5, "rooms": 3, "district": "north", "age": 41}
    worst = pair(cells, {"age": (18, 79)}, (152_300.0, 120_900.0), None, "prediction")
    above = [
        {
            "share_of_spread": part,
            "difference": part * 88_000.0,
            "n": n,
            "rate": n / 4_000,
            "low": None,
            "high": None,
        }  # fmt: skip
        for part, n in [(0.05, 2_900), (0.1, 1_300), (0.2, 120)]
    ]
    rows = [{"row": str(k), "inside": True, "own": [52], "pair": worst} for k in range(10)]
    report = usual()
    report.update(
        sentence="largest difference 31,400 (prediction: 152,300 against 120,900)",
        model={"class": "Ridge", "final": "Ridge", "repr": "Ridge()", "task": "regression",
               "response": "predict", "n_classes": None, "classes": []},
        data={"n_rows": 4_000, "n_columns": 4, "target_given": True, "dtypes": []},
        sensitive_features=["age"], threshold=None, carries="",
        searches=[search(
            ["age"], worst, worst_rows=rows, found=9_400,
            rows={"n": 4_000, "n_rows": 4_000, "degree": 30_100.0, "rate": None,
                  "spread": 88_000.0, "above": above, "curve": curve(30_100.0),
                  "changed": 1_300, "counts_above": 8_800.0},
            certificate={"upper": 31_400.0, "certified": True},
        )],
        groups={**report["groups"], "metric": "mean_prediction", "favourable": ""},
        perturbed_groups=None,
        moved=[not_moved("age", "age is a number with 62 values and has no groups", applies=False)],
        errors=[{**part, "metric": "mean_error", "favourable": "", "overall": -20.5}
                for part in report["errors"][:1]],
    )  # fmt: skip
    report["domain"] = {
        "attributes": [
            {"name": name, "kind": "categorical" if isinstance(value, str) else "numeric",
             "domain": "0 to 100", "step": None, "columns": 1, "sensitive": name == "age"}
            for name, value in cells.items()
        ],
        "conditions": [],
    }  # fmt: skip
    rows = [
        ["age", group, n, n / 4_000, *(130_000.0 + n, 129_000.0, 131_000.0),
         -20.0, -90.0, 50.0, n, ""]
        for group, n in [("18 to 35", 1_300), ("35 to 55", 1_500), ("55 to 79", 1_200)]
    ]  # fmt: skip
    report["selection"].update(columns=SELECTION_OF_REGRESSOR, rows=rows, favourable="")
    return report


def nothing_found():
    """A model that no search finds anything in."""
    report = usual()
    why = "no certificate: KNeighborsClassifier cannot be read"
    report.update(
        sentence="no difference above 0.1 found in 40,000 queries",
        carries="",
        sensitive_features=["sex"],
        searches=[search(
            ["sex"], None, degree=0.0, rows={"rate": 0.0, "degree": 0.0, "low": 0.0,
            "high": 0.0004, "n": 10_000, "curve": {"difference": [0.0], "share": [0.0]}},
            certificate={"status": "left out", "reason": why, "lower": None, "upper": None,
                     "found": None, "certified": False, "queries": 0, "seconds": 0.0},
        )],
    )  # fmt: skip
    report["groups"] |= {"rules": [], "largest": None}
    report["perturbed_groups"] = None
    report["moved"] = [moved(share=0.012)]
    return report


def interrupted():
    """Stopped by its user: what was found stays, the rest says why it is not there."""
    report = usual()
    why = "interrupted by the user (KeyboardInterrupt)"
    alone, other = report["searches"][:2]
    off = {"status": "left out", "reason": why}
    alone.update(status="interrupted", reason=why)
    alone["certificate"].update(off, lower=None, upper=None, found=None, certified=False)
    alone["rows"].update(
        off,
        n=0,
        degree=None,
        rate=None,
        worst=[],
        curve={"difference": [], "share": []},
        changed=None,
        by_group=[],
        person=None,
    )
    empty = search(["sex"], None)
    other = {
        **empty, "status": "left out", "reason": why, "degree": None, "inputs": 0, "queries": 0,
        "seconds": 0.0, "stop_reason": "", "history": {k: [] for k in empty["history"]},
        "certificate": {**alone["certificate"], "found": None, "queries": 0, "seconds": 0.0},
        "rows": {**alone["rows"], "queries": 0, "seconds": 0.0}, "search_queries": 0,
    }  # fmt: skip
    both = {
        **other, "sensitive": ["race", "sex"], "label": "race, sex together",
        "degree": alone["degree"], "pair": alone["pair"],
        "shown_by": "twins that differ in race alone",
    }  # fmt: skip
    report.update(
        status="interrupted",
        reason=why,
        carries="",
        searches=[alone, other, both],
        sentence="largest difference 0.23 (probability of yes: 0.64 against 0.41), in the part "
        "that ran",
        groups={**report["groups"], **off, "rules": [], "n_rules": 0, "largest": None},
        perturbed_groups=None,
        moved=[not_moved("race", why), not_moved("sex", why)],
        errors=[
            {**part, **off, "rules": [], "overall": None, "largest": None}
            for part in report["errors"]
        ],
        selection={**report["selection"], "status": "failed", "rows": [], "columns": [],
                   "reason": "ValueError: Input y contains NaN."},
        parts=[
            {"part": "search: race", "status": "interrupted", "reason": why, "queries": 812,
             "seconds": 3.0, "notes": ["UserWarning: 3 rows were left out"]},
            {"part": "selection table", "status": "failed", "queries": 0, "seconds": 0.0,
             "reason": "ValueError: Input y contains NaN.", "notes": []},
            {"part": "groups", "status": "left out", "reason": why, "queries": 0, "seconds": 0.0,
             "notes": []},
        ],
    )  # fmt: skip
    return report


def failed():
    """The model raised before anything was found."""
    report = interrupted()
    why = "EstimatorFailedError: the model raised ValueError: <nope>"
    first = {**report["searches"][1], "status": "failed", "reason": why}
    report.update(
        status="failed", reason=why, sentence="nothing was measured", searches=[first], code="",
        sensitive_features=["sex"], threshold=None, moved=[not_moved("sex", why)],
    )  # fmt: skip
    return report


def hostile():
    """Names, values, messages that are markup."""
    report = usual()
    names = dict(zip(ADULT, HOSTILE, strict=False))

    def spoil(value, key=None):
        if isinstance(value, dict):
            return {k: spoil(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [spoil(v, key) for v in value]
        if (
            isinstance(value, str)
            and value != "any"
            and key
            not in (
                "status",
                "created",
                "task",
                "columns",
                "how",
                "rows_of_people",
            )
        ):
            return f"{names.get(value, value)}{HOSTILE[len(value) % len(HOSTILE)]}"
        return value

    selection = report["selection"]["columns"]
    report = spoil(report)
    report["selection"]["columns"] = selection
    return report


def huge(n_columns=500, n_values=300, n_classes=100, n_found=10_000):
    """As much of everything as there may be."""
    report = usual()
    names = [f"a rather long name of a column, number {k}" for k in range(n_columns)]
    cells = {name: f"value {k % 17} of many" for k, name in enumerate(names)}
    matters = {name: 1 / (k + 1) for k, name in enumerate(names)}
    first = names[3]

    def one(k):
        change = {first: (f"value {k}", f"value {k + 1}")}
        outputs = (0.9 - 0.01 * k, 0.1)
        return pair(cells, change, outputs, output="probability of class 7", top=matters)

    finds = [one(k) for k in range(10)]
    rows = [
        {"row": str(10**6 + k), "inside": True, "own": ["value 0"], "pair": one(k)}
        for k in range(10)
    ]
    sensitive = names[3:6]
    report["searches"] = [
        search(which, one(0), label=label, finds=finds, worst_rows=rows, found=n_found,
               history=history(2_000), rows={"curve": curve(0.6, 5_000)})
        for which, label in [*([[s], s] for s in sensitive), [sensitive, "all together"]]
    ]  # fmt: skip
    report["sensitive_features"] = sensitive
    report["domain"]["attributes"] = [
        {"name": name, "kind": "categorical", "domain": ", ".join(f"value {k}" for k in range(17)),
         "step": None, "columns": 17,
         "sensitive": name in sensitive}
        for name in names
    ]  # fmt: skip
    report["domain"]["conditions"] = [f"{a} <= {b}" for a, b in zip(names, names[1:], strict=False)]
    report["model"].update(n_classes=n_classes, classes=[f"class {k}" for k in range(20)])
    report["model"]["repr"] = "Pipeline(steps=[" + "('step', OrdinalEncoder()), " * 2_000 + "])"
    groups = [
        (" × ".join(names[a:b]), f"value {k}", 40 + 13 * k % 900, 0.05 + 0.9 * k / n_values)
        for a, b in [(3, 4), (4, 5), (5, 6), (3, 5), (4, 6), (3, 6)]
        for k in range(n_values)
    ]
    report["selection"]["rows"] = selection_rows(groups)
    report["groups"]["rules"] = [
        rule(f"{names[k]} = value {k} and {names[k + 1]} = value {k}", 0.2 - 0.01 * k, 0.05, 0.5)
        for k in range(20)
    ]
    report["moved"] = [
        moved(name, transport, groups=(f"value 1 of {name}", f"value 2 of {name}"))
        for name in sensitive
        for transport in ("quantile", "sequential", "joint")
    ]
    for part in report["moved"]:
        part["columns"] = [{**part["columns"][1], "column": column} for column in names]
    report["data"].update(n_columns=n_columns, n_rows=10**6)
    return report


SAMPLES = {
    "usual": usual, "regression": regression, "nothing_found": nothing_found,
    "interrupted": interrupted, "failed": failed, "hostile": hostile, "huge": huge,
}  # fmt: skip

#: What the section on moved twins is called, of one attribute and of several.
MOVED = "With what goes along with the sensitive attributes"
#: Of the sections of a page, and of the parts of its appendix.
TITLES = [
    "The finding", "The people in the table", "The worst case within the ranges of the data",
    "Groups", "Where the model errs", "Groups of perturbed inputs (TestSGD)",
    "What this does not show",
]  # fmt: skip
MAPS = "How good the maps are"
APPENDIX = [
    MOVED, "People by group", "Further pairs", MAPS, "How the searches went", "Groups in figures",
    "Model, data and domain", "Cost, versions and code",
]  # fmt: skip


def titles_of(name, appendix=False):
    """Titles of a sample's page; perturbed inputs have a section where they were asked for."""
    report = SAMPLES[name]()
    asked = report["perturbed_groups"] is not None
    of = dict.fromkeys(part["attribute"] for part in report["moved"])
    title = MOVED if len(of) > 1 else f"With what goes along with {next(iter(of))}"
    titles = [one for one in TITLES if asked or "perturbed" not in one]
    if not appendix:
        return titles
    has_maps = any(part["maps"] for part in report["moved"])
    parts = [one for one in APPENDIX if has_maps or one != MAPS]
    return titles + [title if one == MOVED else one for one in parts]
