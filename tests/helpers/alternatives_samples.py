"""Results of searches for alternatives, made up, for tests of what is made of them."""

from __future__ import annotations

import numpy as np
from report_samples import HOSTILE

from skfairtest.model_selection import AlternativesResult
from skfairtest.model_selection._alternatives.result import (
    Alternative,
    Figures,
    GroupChange,
    Interval,
    SearchSettings,
    with_sentence,
)

KINDS = ("parameters", "method", "columns", "estimator")


def interval(value, reach):
    return Interval.of(value, reach)


def figures(names, change, gain, reach=0.02, judged=False):
    """Figures of a candidate, in all measures alike."""
    return Figures(
        score=0.8 + change,
        disparity=dict.fromkeys(names, 0.7 + gain),
        score_change=interval(change, reach * (change != 0)),
        gain={name: interval(gain, reach * (gain != 0)) for name in names},
        spread=dict.fromkeys(["score", *names], 0.01) if judged else {},
    )


def found_in(
    verdict="found", *, n=6, n_judged=2, names=None, disparity=("impact_ratio",),
    attributes=("sex",), groups=("f", "m"), task="classification", favourable="granted",
    gain=0.08, stop_reason="complete", note="", margin=0.01,
):  # fmt: skip
    """What a search has found among so many candidates; the first ones were judged."""
    rng = np.random.default_rng(0)
    names = [f"setting {k}" for k in range(n)] if names is None else list(names)
    alternatives = [Alternative(
        name="original", kind="original", status="judged" if n_judged else "screened",
        screened=figures(disparity, 0.0, 0.0), judged=figures(disparity, 0.0, 0.0),
    )]  # fmt: skip
    for k, name in enumerate(names):
        own = gain if k == 0 else float(rng.normal(0, 0.05))
        change = float(rng.normal(-0.02, 0.02)) if k else 0.002
        if n_judged <= k == len(names) - 1 and note:
            alternatives.append(
                Alternative(name=name, kind="estimator", status="failed", note=note)
            )
            continue
        judged = Figures()
        if k < n_judged:
            judged = figures(disparity, change, own * 0.8, 0.03, judged=True)
        alternatives.append(Alternative(
            name=name, kind=KINDS[k % len(KINDS)], params={"a": "1"},
            status="judged" if k < n_judged else "screened", on_front=k in (0, 3),
            screened=figures(disparity, change, own), judged=judged, fit_seconds=0.1,
            groups=[
                GroupChange(
                    attribute=attribute, group=group, n=20 + 300 * place,
                    original=0.3 + 0.1 * place,
                    change=interval(0.05 - 0.04 * place, 0.03),
                )
                for attribute in attributes for place, group in enumerate(groups)
            ] if k < n_judged else [],
        ))  # fmt: skip
    is_open = verdict == "cannot be told" and n_judged
    return AlternativesResult(**{
        field: getattr(with_sentence(AlternativesResult(
            verdict=verdict, sentence="", best=names[0] if verdict == "found" else "original",
            nearest=names[0] if verdict == "found" or is_open else "original",
            rows_needed=12_000 if is_open else None, not_excluded=0.05 if n else None,
            alternatives=alternatives,
            settings=SearchSettings(
                model="LogisticRegression", task=task, sensitive_features=list(attributes),
                disparity=list(disparity), higher_is_better=dict.fromkeys(disparity, True),
                score="accuracy" if task == "classification" else "r2", margin=margin,
                confidence=0.95, held_out=0.3, favourable=favourable, n_rows=1000, n_search=700,
                n_judge=300, n_folds=5, n_trainings=10 if n_judged else 0,
                groups=[f"{one} = {group}" for one in attributes for group in groups],
                left_out=["sex = x"], sampler="random", not_searched=["other estimators"],
                stop_reason=stop_reason, seconds=12.3, created="2026-01-02T03:04:05+00:00",
                versions={"skfairtest": "0.1.0"}, asked={"margin": "0.01"},
            ),
        )), field)
        for field in AlternativesResult.__struct_fields__
    })  # fmt: skip


#: Samples by their names.
ALTERNATIVES = {
    "alternative found": found_in,
    "alternatives open": lambda: found_in("cannot be told", stop_reason="max_time"),
    "no alternative": lambda: found_in("not found", n_judged=0),
    "one alternative": lambda: found_in("not found", n=1, n_judged=0, margin=0.0),
    "many alternatives": lambda: found_in(n=500, n_judged=3),
    "none judged": lambda: found_in(
        "cannot be told", n=0, n_judged=0, stop_reason="interrupted"
    ),
    "hostile alternatives": lambda: found_in(
        names=[*HOSTILE, "long_name_" * 60], disparity=("impact_ratio", HOSTILE[0], HOSTILE[4]),
        attributes=HOSTILE[:3], groups=[*HOSTILE[3:7], "x" * 200], favourable=HOSTILE[1],
        note="ValueError: could not convert string to float: 'Müller'",
    ),
    "regression alternatives": lambda: found_in(
        task="regression", favourable="mean", disparity=("mean_prediction_difference", "twins"),
        attributes=("sex", "race"), groups=("a", "b", "c"),
    ),
}  # fmt: skip
