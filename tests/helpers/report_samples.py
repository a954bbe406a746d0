"""Reports for tests of what is made of them: pages, Markdown, model cards, files, limits.

The figures are invented, but fit together as those of a real audit do.
"""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec.structs import replace
from typed_reports import with_part, with_parts

from skfairtest.finding._pair import Cell, Pair
from skfairtest.report._report import finished
from skfairtest.report._types import (
    Cost,
    Report,
    ReportedAttribute,
    ReportedData,
    ReportedDomain,
    ReportedFavourable,
    ReportedModel,
)
from skfairtest.report.parts import written_report
from skfairtest.report.parts._bounds import CertificatePart
from skfairtest.report.parts.errors import ErrorsPart
from skfairtest.report.parts.groups import GroupsPart
from skfairtest.report.parts.moved.results import Flips, MapQuality, MovedColumn, MovedPart
from skfairtest.report.parts.perturbed import PerturbedGroupsPart
from skfairtest.report.parts.predictions import Performance, PredictionsPart
from skfairtest.report.parts.rows.results import (
    Above,
    DifferenceCurve,
    Direction,
    PeopleOfGroup,
    Person,
    RowsPart,
    WorstRow,
)
from skfairtest.report.parts.rules.results import Largest, ReportedRule
from skfairtest.report.parts.search.results import AllPairs, SearchHistory, SearchPart
from skfairtest.report.parts.selection.results import (
    Estimate,
    GroupRates,
    RatesInStratum,
    SelectionPart,
    SmallestWithin,
    WithinStrata,
)
from skfairtest.report.parts.twins.results import TwinsPart
from skfairtest.report.render.sections import NOT_SHOWN

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
N = 30_162
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
BOTH = "race, sex together"

# Twins -------------------------------------------------------------------------------------------


def pair(cells, changes, outputs=(0.82, 0.22), threshold=0.1, output="probability of yes", top=()):
    """Twins whose columns have these values, but for two of each of those that change."""
    top = dict(top)
    made = (
        Cell(name, *changes.get(name, (value, value)), name in changes,
             top.get(name, 0.0) if top else None)
        for name, value in cells.items()
    )  # fmt: skip
    labels = None if output == "prediction" else ("yes", "no")
    return Pair(tuple(made), output, outputs, labels, abs(outputs[0] - outputs[1]), threshold)


def history(n=60, largest=0.6):
    """A search that gets better in steps."""
    degree = np.maximum.accumulate(largest * np.minimum(1, np.round(np.linspace(0.3, 1.1, n), 1)))
    return SearchHistory(
        np.linspace(100, 20_000, n).round().tolist(), np.linspace(0.1, 9.0, n).round(3).tolist(),
        degree.round(4).tolist(), np.linspace(0, 800, n).round().tolist(),
    )  # fmt: skip


def curve(largest=0.6, n=200):
    """Shares of rows whose disparity exceeds each difference."""
    difference = np.linspace(0, largest, n)
    share = 0.7 * (1 - difference / (largest or 1)) ** 3
    return DifferenceCurve(difference.round(5).tolist(), share.round(5).tolist())


def find_table(finds):
    """All finds that are kept: the first twins, and what changes in the second."""
    if not finds:
        return AllPairs()
    changed = [cell.name for cell in finds[0].cells if cell.changed]
    return AllPairs(
        [cell.name for cell in finds[0].cells],
        [[cell.first for cell in find.cells] for find in finds],
        changed,
        [[cell.second for cell in find.cells if cell.name in changed] for find in finds],
        [find.difference for find in finds],
        [place == 2 for place in range(len(finds))],
    )


def by_group(sensitive):
    """People of each group, and what they would get if only this were changed."""
    groups = {"sex": [("Female", 9_782, 2_100, 40), ("Male", 20_380, 12, 1_407)]}
    told = groups.get(sensitive[0], [("White", 25_933, 3_001, 0), ("Black", 2_817, 3, 555)])
    return [people(name, n, higher=up, lower=down) for name, n, up, down in told]


def people(group, n, **changed):
    """People of a group, so many of whom would get a higher, a lower or another answer."""
    directions = [Direction("", to, k) for to, k in changed.items() if k]
    return PeopleOfGroup(group, n, sum(changed.values()), directions)


def twins(sensitive, worst, *, of="", finds=(), people=(), rows=(), search=(), bound=(), **known):
    """What all parts say of twins in these attributes; the dicts and `known` say what differs."""
    of, largest = of or sensitive[0], worst.difference if worst else 0.0
    person = Person(people[0].row, people[0].inside, people[0].pair) if people else None
    compared = RowsPart(
        of=of, sensitive=sensitive, n=N, n_rows=N, n_twins=9, n_combinations=9,
        degree=0.7 * largest, rate=0.118 if worst else 0.0, curve=curve(largest * 0.7),
        worst=list(people), person=person, queries=60_324, seconds=2.2, counts_above=0.1,
        changed=3_559 if worst else 0, by_group=by_group(sensitive) if worst else [],
    )  # fmt: skip
    searched = SearchPart(
        of=of, auditor="SBFTAuditor", degree=largest, found=812 if worst else 0,
        kept=100 if worst else 0, inputs=9_400, search_queries=20_000, queries=80_824, seconds=9.1,
        stop_reason="the time was spent", history=history(largest=largest),
        further_pairs=list(finds), all_pairs=find_table(finds),
    )  # fmt: skip
    bounded = CertificatePart(
        of=of, found=largest, lower=largest, upper=min(1.0, largest + 0.07), queries=500,
        seconds=4.2, stop_reason="the time was spent", engine="numpy",
    )  # fmt: skip
    bounded = replace(bounded, **dict(bound))
    shown_by = {"pair": worst, "shown_by": "the search"} if worst else {}
    found = TwinsPart(
        of=of, sensitive=sensitive, degree=largest, upper=bounded.upper,
        certified=bounded.certified, stop_reason=bounded.stop_reason, **shown_by,
    )  # fmt: skip
    return [
        replace(compared, **dict(rows)), replace(searched, **dict(search)), bounded,
        replace(found, **known),
    ]  # fmt: skip


def in_order(*found):
    """Results of `twins` as parts run: all attributes together first, what is known of all last."""
    rows, searches, bounds, known = zip(*found, strict=True)
    return [*rows[::-1], *searches[::-1], *bounds[::-1], *known]


# Groups ------------------------------------------------------------------------------------------


def rule(words, score, half, inside, n_inside=2_400):
    """One rule with its simultaneous interval."""
    return ReportedRule(
        rule=words, support=n_inside / N, value_inside=inside, value_outside=inside - score,
        score=score, low=score - half, high=score + half, differs=abs(score) > half,
        n_inside=n_inside, n_outside=N - n_inside,
    )  # fmt: skip


RULES = [
    rule("sex = Female", -0.181, 0.012, 0.081, 9_782),
    rule("marital-status = Married-civ-spouse", 0.171, 0.02, 0.31, 14_065),
    rule("sex = Female and race = Black", -0.162, 0.031, 0.042, 1_399),
    rule("race = Black", -0.129, 0.028, 0.09, 2_817),
    rule("race = Other", -0.11, 0.14, 0.1, 231),
]


def rules_of(kind, rules=RULES, **changes):
    """Groups that some metric is compared for."""
    of_rows = {
        "overall": 0.104, "n": N, "n_rows": N, "n_differ": 36, "max_conditions": 3, "seconds": 0.4,
    }  # fmt: skip
    worst = max(rules, key=lambda one: one.score)
    return kind(**{
        "favourable": "yes", "confidence": 0.95, "correction": "resampling", "min_support": 0.05,
        "n_rules": 812, "low": 0.2, "high": 0.4, "largest": Largest(worst.rule, worst.score),
        "rules": rules, "stop_reason": "all frequent rules were compared",
        **(of_rows if kind is not PerturbedGroupsPart else {}), **changes,
    })  # fmt: skip


def errors(metric, **changes):
    """Groups for which the model errs most."""
    return rules_of(ErrorsPart, of=metric, metric=metric, n_rules=2_210, low=0.1, **changes)


def rates(groups, total=N):
    """Groups of a selection table from (attribute, group, n, rate)."""
    best = {}
    for attribute, *_, rate in groups:
        best[attribute] = max(rate, best.get(attribute, 0.0))
    told = []
    for attribute, group, n, rate in groups:
        most = best[attribute]
        half = 1.96 * (rate * (1 - rate) / n) ** 0.5
        low, high = max(0.0, rate - half), min(1.0, rate + half)
        told.append(GroupRates(
            attribute=attribute, group=group, n=n, share=n / total, rate=Estimate(rate, low, high),
            ratio=Estimate(rate / most, low / most, min(1.0, high / most)),
            errors={
                "false_positive_rate": Estimate(rate / 3, low / 3, high / 3, n // 2),
                "accuracy": Estimate(0.85, 0.84, 0.86, n),
            },
            note="fewer than 100 rows" if n < 100 else "",
            within=None if rate == most else within(n, rate - most),
        ))  # fmt: skip
    return told


def within(n, gap):
    """A group within strata, most of whose difference comes from one of them."""
    department = RatesInStratum(
        stratum="sales", n=n // 3, rate=Estimate(0.2, 0.1, 0.3), ratio=Estimate(0.9, 0.8, 1.1),
        from_rates=0.1 * gap, from_composition=0.6 * gap,
    )  # fmt: skip
    return WithinStrata(
        reference="the highest", ratio=Estimate(0.96, 0.91, 1.02),
        difference=Estimate(-0.02, -0.04, 0.01), homogeneity=0.03, n_strata=11, n=2 * n,
        from_rates=0.2 * gap, from_composition=0.8 * gap, strata=[department],
    )  # fmt: skip


def selection(groups, **changes):
    """A selection table."""
    return SelectionPart(**{
        "favourable": "yes", "confidence": 0.95, "min_share": 0.0, "n": N, "n_rows": N, "low": 0.1,
        "high": 0.2, "metric": "selection_rate", "groups": groups, "queries": N, "seconds": 0.2,
        "control_features": "department", "n_strata": 12,
        "smallest_within": SmallestWithin(
            attribute="sex", group="Female", to="Male", value=0.96, low=0.9, high=1.03,
        ),
        **changes,
    })  # fmt: skip


def without_strata(report):
    """The report as it is where nobody asks for control features."""
    parts = [
        replace(
            part, control_features="", n_strata=0, smallest_within=None,
            groups=[replace(group, within=None) for group in part.groups],
        ) if isinstance(part, SelectionPart) else part
        for part in report.parts
    ]  # fmt: skip
    return replace(report, parts=parts)


# Moved twins -------------------------------------------------------------------------------------


def flips(group, to, n, up, down, chance=0.011):
    """People of a group who would get another decision in another group, by direction."""
    return [
        Flips(
            group=group, to=to, direction=direction, n_rows=n, n_flips=round(share * n),
            share=share, low=max(0.0, share - 0.02), high=share + 0.02, null_share=chance,
            beyond_low=share - chance - 0.02, beyond_high=share - chance + 0.02,
        )
        for direction, share in [("any", up + down), ("no -> yes", up), ("yes -> no", down)]
    ]  # fmt: skip


def moved(attribute="sex", transport="quantile", groups=("Female", "Male"), share=0.17, auc=0.52,
          intervals=True, **changes):  # fmt: skip
    """People moved between two groups by one map."""
    a, b = groups
    rate, ways = 0.7 * share, [(a, b, 1), (b, a, -1)]
    part = MovedPart(
        of=f"{attribute} ({transport})", attribute=attribute, transport=transport, n=4_000,
        n_rows=N, rate=rate, low=max(0.0, rate - 0.01), high=rate + 0.012,
        flips=[*flips(a, b, 1_300, share, 0.01), *flips(b, a, 2_700, 0.01, share / 2)],
        columns=[
            MovedColumn(
                group=own, to=to, column=column, before=before, after=after, spread=spread,
                moved=0.9, change=sign * of, low=sign * of - 0.01, high=sign * of + 0.01,
                share_of_flips=3 * of,
            )
            for own, to, sign in ways
            for column, before, after, spread, of in [
                ("relationship", None, None, None, 0.2), ("hours-per-week", 36.4, 42.9, 12.0, 0.1),
                ("age", 36.9, 39.4, 13.1, 0.03),
            ]
        ],
        maps=[
            MapQuality(group=own, to=to, auc_before=0.93, auc_after=auc, distance=0.31,
                       out_of_range=0.002)
            for own, to, _ in ways
        ],
        queries=180_000, seconds=2.1,
    )  # fmt: skip
    if not intervals:
        no, none = {"low": None, "high": None}, ["null_share", "beyond_low", "beyond_high"]
        few = [replace(flow, **no, **dict.fromkeys(none)) for flow in part.flips]
        columns = [replace(column, **no) for column in part.columns]
        part = replace(part, **no, flips=few, columns=columns)
    return replace(part, **changes)


def not_moved(attribute, reason, **changes):
    """An attribute whose people were not moved."""
    return MovedPart(**{
        "of": f"{attribute} (quantile)", "attribute": attribute, "transport": "quantile",
        "n_rows": N, "status": "left out", "reason": reason, **changes,
    })  # fmt: skip


# Whole reports -----------------------------------------------------------------------------------


def usual():
    """A classifier on people, two attributes, every part done."""
    cells = {name: value for name, (value, *_) in ADULT.items()}
    matters = {name: 0.3 / (k + 1) for k, name in enumerate(list(ADULT)[::-1])}
    sex, race = {"sex": ("Male", "Female")}, {"race": ("White", "Black")}

    def of_age(age, outputs):
        return pair({**cells, "age": age}, sex, outputs, top=matters)

    worst = [
        WorstRow(str(1000 + 7 * k), k != 3, ["Male"], of_age(30 + k, (0.7 - 0.01 * k, 0.28)))
        for k in range(10)
    ]
    finds = [of_age(25 + k, (0.8 - 0.01 * k, 0.25)) for k in range(10)]
    by_race, by_sex, by_both = (
        pair(cells, changes, outputs, top=matters)
        for changes, outputs in [
            (race, (0.64, 0.41)), (sex, (0.71, 0.22)), (race | sex, (0.82, 0.22))
        ]
    )  # fmt: skip
    groups = [
        ("sex", "Female", 9_782, 0.08), ("sex", "Male", 20_380, 0.26),
        ("race", "White", 25_933, 0.22), ("race", "Black", 2_817, 0.09),
        ("race", "Asian-Pac-Islander", 895, 0.23), ("race", "Other", 231, 0.1),
        ("sex × race", "Female, White", 7_980, 0.08), ("sex × race", "Female, Black", 1_399, 0.04),
        ("sex × race", "Female, Other", 82, 0.05), ("sex × race", "Male, White", 17_953, 0.28),
        ("sex × race", "Male, Black", 1_418, 0.14), ("sex × race", "Male, Other", 149, 0.12),
    ]  # fmt: skip
    return finished(Report(
        created="2026-11-22T08:00:00+00:00",
        model=ReportedModel(
            class_="Pipeline", final="HistGradientBoostingClassifier", task="classification",
            repr="Pipeline(steps=[('encode', OrdinalEncoder()),\n"
            "                ('model', HistGradientBoostingClassifier())])",
            response="predict_proba", n_classes=2, classes=["no", "yes"],
        ),
        data=ReportedData(N, 14, True, []),
        domain=ReportedDomain(
            [ReportedAttribute(name, kind, domain, 1 if kind == "numeric" else None, 1,
                               name in ("race", "sex"))
             for name, (_, kind, domain) in ADULT.items()],
            ["education-num >= 9 where education = 'Bachelors'"],
        ),
        sensitive_features=["race", "sex"],
        threshold=0.1,
        favourable=ReportedFavourable("yes", "guessed", "yes taken as favourable"),
        parts=[
            PredictionsPart(n=N, n_distinct=N, n_rows=N, queries=N, seconds=3.0,
                            performance=Performance("accuracy", 0.871)),
            *in_order(
                twins(["race"], by_race, finds=finds[:3], people=worst[:3], rows={"rate": 0.021}),
                twins(["sex"], by_sex, finds=finds, people=worst, rows={"rate": 0.108},
                      bound={"upper": 0.49, "certified": True}),
                twins(["race", "sex"], by_both, of=BOTH, finds=finds, people=worst,
                      rows={"n": 10_000, "low": 0.1117, "high": 0.1245}),
            ),
            selection(rates(groups)),
            rules_of(GroupsPart, metric="selection_rate"),
            errors("false_positive_rate"),
            errors("false_negative_rate"),
            rules_of(PerturbedGroupsPart, correction="bonferroni", queries=N, seconds=3.0),
            not_moved("race", "a map needs two groups of 50 rows or more", applies=False),
            moved(),
            moved(transport="sequential", share=0.16, auc=0.68, intervals=False),
        ],
        cost=Cost(214_000, 48.3, 60.0),
        seed=0,
        settings={"auditor": "SBFTAuditor()", "certify": "auto", "groups": "auto"},
        versions={"skfairtest": "0.2.0", "scikit-learn": "1.9.0", "numpy": "2.3.0",
                  "pandas": "3.0.0", "python": "3.11.2"},
        code="from skfairtest import audit\n\nreport = audit(\n    model, X, y,\n"
        '    sensitive_features=["race", "sex"], threshold=0.1, max_time=60, random_state=0,\n)\n',
        not_shown=NOT_SHOWN,
    ))  # fmt: skip


def regression():
    """A regressor without a threshold, one attribute: shares above parts of the spread."""
    n, cells = 4_000, {"area": 70.5, "rooms": 3, "district": "north", "age": 41}
    worst = pair(cells, {"age": (18, 79)}, (152_300.0, 120_900.0), None, "prediction")
    above = [
        Above(part, part * 88_000.0, k, k / n, *ends)
        for part, k, *ends in [
            (0.05, 2_900, None, None), (0.1, 1_300, None, None), (0.2, 120, 0.025, 0.036),
        ]
    ]  # fmt: skip
    rows = {
        "n": n, "n_rows": n, "degree": 30_100.0, "rate": None, "spread": 88_000.0, "above": above,
        "curve": curve(30_100.0), "changed": 1_300, "counts_above": 8_800.0,
        "by_group": [people("18 to 35", 1_300, higher=900, lower=20), people("35 to 79", 2_700)],
    }  # fmt: skip
    groups = [
        GroupRates(
            attribute="age", group=group, n=k, share=k / n,
            rate=Estimate(130_000.0 + k, 129_000.0, 131_000.0),
            errors={"mean_error": Estimate(-20.0, -90.0, 50.0, k)},
        )
        for group, k in [("18 to 35", 1_300), ("35 to 55", 1_500), ("55 to 79", 1_200)]
    ]  # fmt: skip
    attributes = [
        ReportedAttribute(name, "categorical" if isinstance(value, str) else "numeric", "0 to 100",
                          None, 1, name == "age")
        for name, value in cells.items()
    ]  # fmt: skip
    return finished(replace(
        usual(),
        model=ReportedModel(
            class_="Ridge", final="Ridge", repr="Ridge()", task="regression", response="predict",
            n_classes=None, classes=[],
        ),
        data=ReportedData(n, 4, True, []),
        domain=ReportedDomain(attributes, []),
        sensitive_features=["age"],
        threshold=None,
        parts=[
            PredictionsPart(n=n, n_distinct=n, n_rows=n, performance=Performance("R²", 0.62)),
            *in_order(twins(
                ["age"], worst, people=[WorstRow(str(k), True, [52], worst) for k in range(10)],
                rows=rows, search={"found": 9_400}, bound={"upper": 31_400.0, "certified": True},
            )),
            selection(groups, favourable="", metric="mean_prediction", low=None, high=None),
            rules_of(GroupsPart, metric="mean_prediction", favourable=""),
            errors("mean_error", favourable="", overall=-20.5),
            not_moved("age", "age is a number with 62 values and has no groups", applies=False),
        ],
    ))  # fmt: skip


def nothing_found():
    """A model that no search finds anything in."""
    left_out = CertificatePart(
        of="sex", status="left out", reason="no certificate: KNeighborsClassifier cannot be read"
    )
    rows = {"n": 10_000, "low": 0.0, "high": 0.0004, "curve": DifferenceCurve([0.0], [0.0])}
    compared, searched, _, known = twins(["sex"], None, rows=rows)
    known = replace(known, upper=None, certified=False, stop_reason="")
    report = with_parts(usual(), RowsPart, [compared])
    report = with_parts(report, SearchPart, [searched])
    report = with_parts(report, CertificatePart, [left_out])
    report = with_parts(report, TwinsPart, [known])
    report = with_parts(report, PerturbedGroupsPart, [])
    report = with_parts(report, MovedPart, [moved(share=0.012)])
    report = with_part(report, GroupsPart, rules=[], largest=None)
    return finished(replace(report, sensitive_features=["sex"]))


def interrupted():
    """Stopped by its user: what was found stays, the rest says why it is not there."""
    why = "interrupted by the user (KeyboardInterrupt)"
    off = {"status": "left out", "reason": why}
    report = usual()
    alone = report.first(TwinsPart, "race")
    shown_by = "twins that differ in race alone"
    both = replace(report.first(TwinsPart, BOTH), degree=alone.degree, pair=alone.pair,
                   shown_by=shown_by, upper=None)  # fmt: skip
    parts = [
        report.first(PredictionsPart),
        *(RowsPart(of=of, sensitive=names, n_rows=N, **off)
          for of, names in [(BOTH, ["race", "sex"]), ("sex", ["sex"]), ("race", ["race"])]),
        SearchPart(of=BOTH, **off),
        SearchPart(of="sex", **off),
        replace(report.first(SearchPart, "race"), status="interrupted", reason=why,
                notes=["UserWarning: 3 rows were left out"]),
        *(CertificatePart(of=of, **off) for of in (BOTH, "sex", "race")),
        replace(alone, upper=None),
        TwinsPart(of="sex", sensitive=["sex"], **off),
        both,
        SelectionPart(
            status="failed", of_error=True, reason="ValueError: Input y contains NaN."
        ),
        GroupsPart(**off),
        ErrorsPart(of="false_positive_rate", metric="false_positive_rate", **off),
        ErrorsPart(of="false_negative_rate", metric="false_negative_rate", **off),
        not_moved("race", why),
        not_moved("sex", why),
    ]  # fmt: skip
    return finished(replace(report, parts=parts))


def failed():
    """The model raised before anything was found."""
    why = "EstimatorFailedError: the model raised ValueError: <nope>"
    broken = {"of": "sex", "status": "failed", "of_error": True, "reason": why}
    parts = [
        RowsPart(sensitive=["sex"], n_rows=N, **broken),
        SearchPart(**broken),
        CertificatePart(of="sex", status="left out", reason="there is no search to begin from"),
        TwinsPart(of="sex", sensitive=["sex"]),
        SelectionPart(status="failed", of_error=True, reason="ValueError: Input y contains NaN."),
        GroupsPart(status="left out", reason=why),
        ErrorsPart(of="accuracy", metric="accuracy", status="left out", reason=why),
        not_moved("sex", why),
    ]
    return finished(replace(
        usual(), code="", sensitive_features=["sex"], threshold=None, parts=parts,
    ))  # fmt: skip


#: Fields whose words are not the user's.
OURS = {"part", "status", "created", "task", "how", "rows_of_people", "metric"}


def hostile():
    """Names, values, messages that are markup."""
    names = dict(zip(ADULT, HOSTILE, strict=False))

    def spoil(value, key=""):
        if isinstance(value, dict):
            return {k: spoil(v, k) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [spoil(v, key) for v in value]
        if not isinstance(value, str) or key in OURS or value in ("", "any"):
            return value
        return f"{names.get(value, value)}{HOSTILE[len(value) % len(HOSTILE)]}"

    return finished(msgspec.convert(spoil(msgspec.to_builtins(usual())), written_report()))


def huge(n_columns=500, n_values=300, n_classes=100, n_found=10_000):
    """As much of everything as there may be."""
    report = usual()
    names = [f"a rather long name of a column, number {k}" for k in range(n_columns)]
    cells = {name: f"value {k % 17} of many" for k, name in enumerate(names)}
    matters = {name: 1 / (k + 1) for k, name in enumerate(names)}
    sensitive, values = names[3:6], ", ".join(f"value {k}" for k in range(17))

    def one(k):
        change = {sensitive[0]: (f"value {k}", f"value {k + 1}")}
        return pair(cells, change, (0.9 - 0.01 * k, 0.1), output="probability of class 7",
                    top=matters)  # fmt: skip

    found = [
        twins(which, one(0), of=of, finds=[one(k) for k in range(10)],
              people=[WorstRow(str(10**6 + k), True, ["value 0"], one(k)) for k in range(10)],
              search={"found": n_found, "history": history(2_000)},
              rows={"curve": curve(0.6, 5_000)})
        for which, of in [*(([s], s) for s in sensitive), (sensitive, "all together")]
    ]  # fmt: skip
    groups = [
        (" × ".join(names[a:b]), f"value {k}", 40 + 13 * k % 900, 0.05 + 0.9 * k / n_values)
        for a, b in [(3, 4), (4, 5), (5, 6), (3, 5), (4, 6), (3, 6)]
        for k in range(n_values)
    ]
    rules = [
        rule(f"{names[k]} = value {k} and {names[k + 1]} = value {k}", 0.2 - 0.01 * k, 0.05, 0.5)
        for k in range(20)
    ]
    maps = [
        moved(name, transport, groups=(f"value 1 of {name}", f"value 2 of {name}"))
        for name in sensitive
        for transport in ("quantile", "sequential", "joint")
    ]
    attributes = [
        ReportedAttribute(name, "categorical", values, None, 17, name in sensitive)
        for name in names
    ]
    return finished(replace(
        report,
        model=replace(
            report.model, n_classes=n_classes, classes=[f"class {k}" for k in range(20)],
            repr="Pipeline(steps=[" + "('step', OrdinalEncoder()), " * 2_000 + "])",
        ),
        data=ReportedData(10**6, n_columns, True, []),
        domain=ReportedDomain(
            attributes, [f"{a} <= {b}" for a, b in zip(names, names[1:], strict=False)]
        ),
        sensitive_features=sensitive,
        not_shown=NOT_SHOWN[:3],
        parts=[
            report.first(PredictionsPart),
            *in_order(*found),
            selection(rates(groups)),
            rules_of(GroupsPart, rules, metric="selection_rate"),
            *report.all_of(ErrorsPart),
            *report.all_of(PerturbedGroupsPart),
            *(replace(part, columns=[replace(part.columns[1], column=name) for name in names])
              for part in maps),
        ],
    ))  # fmt: skip


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
    parts = report.all_of(MovedPart)
    of = list(dict.fromkeys(part.attribute for part in parts))
    title = MOVED if len(of) > 1 else f"With what goes along with {of[0]}"
    asked = report.all_of(PerturbedGroupsPart)
    titles = [one for one in TITLES if asked or "perturbed" not in one]
    if not appendix:
        return titles
    maps = any(part.maps for part in parts)
    return titles + [title if one == MOVED else one for one in APPENDIX if maps or one != MAPS]
