"""What is simpler than retraining, judged as the rounds are: drop the sensitive columns, average.

Both are trained and measured on the folds of the rounds, so that their figures compare with those
of the retrained model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from skfairtest import _clock
from skfairtest.finding._words import change
from skfairtest.mitigation._averaging.marginalized import averaged
from skfairtest.mitigation._held_columns import HeldColumns
from skfairtest.mitigation._retraining.guard import NOT_JUDGED
from skfairtest.mitigation._retraining.metrics import TwinShares
from skfairtest.mitigation._retraining.rounds import (
    NOT_MEASURED,
    Alternative,
    Measurements,
    Rounds,
    measured_row,
    named,
)
from skfairtest.mitigation._shares import Measure
from skfairtest.space._rows import take_rows


def try_simple_methods(
    rounds: Rounds, methods: dict[str, Callable[[Rounds], list[Any]]]
) -> list[Alternative]:
    """Try some of `SIMPLE_METHODS`. A failure is reported and costs nothing."""
    return [_try(name, method, rounds) for name, method in methods.items()]


def _try(name: str, method: Callable[[Rounds], list[Any]], rounds: Rounds) -> Alternative:
    start = _clock.now()
    try:
        models = method(rounds)
        seconds = _clock.now() - start
        likely, verdict = rounds.guard.look_at(models[1:]), rounds.judge(models)
        seen, found = (_measure(rounds, models, fresh=fresh) for fresh in (False, True))
    except Exception as error:
        note = str(error).strip().split("\n")[0]
        return Alternative(
            name, [], None, None, NOT_JUDGED, NOT_JUDGED, note=f"{type(error).__name__}: {note}"
        )
    note = ""
    if rounds.varied and rounds.task.answers_alike(models[0]):
        likely = likely._replace(good=False)
        note = "predicts the same for all rows"
    return Alternative(name, models, seen, found, likely, verdict, seconds=seconds, note=note)


def _measure(rounds: Rounds, models: list[Any], *, fresh: bool) -> Measurements:
    """Measure models that do not take the sensitive columns into account.

    Twins that differ in nothing else get the same predictions from them by construction, which
    needs no measuring.
    """
    if rounds.strategy.space.twins_.descendants is not None or rounds.first.group is not None:
        return rounds.find(models, fresh=fresh)
    nothing = Measure(0.0, 0.0, 0.0)
    return Measurements(TwinShares(nothing, nothing, nothing, 0.0, nothing), None)


def _drop(rounds: Rounds) -> list[Any]:
    """Models that are trained with the sensitive columns held at one value."""
    space = rounds.strategy.space
    hold = HeldColumns(space.layout.places_of(space.sensitive)).fit(rounds.task.X)
    task = rounds.task.with_table(hold.transform(rounds.task.X))
    models = task.train_all(rounds.folds)
    rounds.task.n_trained = task.n_trained
    return [Pipeline([("hold", hold), ("model", model)]) for model in models]


def _average(rounds: Rounds) -> list[Any]:
    """The original models, which predict the average over the values of the sensitive columns."""
    task, space = rounds.task, rounds.strategy.space
    models = []
    for fold, original in zip(rounds.folds, rounds.originals, strict=True):
        model = averaged(FrozenEstimator(original), space, regression=task.classes is None)
        weights = None if task.weights is None else task.weights[fold.rows]
        model.fit(take_rows(task.X, fold.rows), task.y[fold.rows], sample_weight=weights)
        models.append(model)
    return models


#: By name, the simplest first.
SIMPLE_METHODS: dict[str, Callable[[Rounds], list[Any]]] = {"drop": _drop, "average": _average}


def leaves_less(methods: list[Alternative], kept: Alternative) -> str | None:
    """Name the simpler method that leaves less than what is kept and costs no more of the score."""
    assert kept.found is not None, "what is kept was measured"
    left, cost = kept.found.people.value, kept.verdict.drop.estimate
    better = [
        method
        for method in methods
        if method.is_likely
        and method.verdict.good
        and method.name in SIMPLE_METHODS
        and method.found is not None
        and method.found.people.value < left
        and method.verdict.drop.estimate <= cost
    ]
    if not better:
        return None
    best = min(better, key=lambda method: method.cost)
    assert best.found is not None, "it was measured"
    return (
        f"A simpler method leaves less at no more cost: {best.name!r} leaves "
        f"{best.found.people.value:.4g} where the {kept.name} model leaves {left:.4g}, and, on "
        f"average over trainings, the score changes by {change(-best.verdict.drop.estimate)} "
        f'instead of {change(-cost)}. See alternatives_; strategy="best" keeps it.'
    )


def outlook(methods: list[Alternative], kept: Alternative, rounds: Rounds) -> str:
    """Say what is kept, why, and what more rounds may bring."""
    place = "near the rows" if rounds.first.group is None else "in the worst group"
    left = {m.name: m.found.people.value for m in methods if m.found is not None}
    others = [f"{name} {share:.4g}" for name, share in left.items() if name != kept.name]
    refused = [m.name for m in methods if m.name in left and not (m.is_likely and m.verdict.good)]
    text = f"Kept is {kept.name}, which leaves {left[kept.name]:.4g} {place} ({', '.join(others)})"
    if refused:
        text += f"; {' and '.join(refused)} may cost more than max_score_drop"
    if kept.name == "original" and rounds.best is rounds.original:
        return text + "."
    if left[kept.name] == 0:
        return text + "; more rounds could leave no less."
    fell = [row["near"] for row in rounds.rows if row["kept"]]
    if len(fell) > 1:
        text += (
            f"; the last round that was kept lowered the share of the retrained model from "
            f"{fell[-2]:.4g} to {fell[-1]:.4g}: a larger max_rounds may lower it further"
        )
    return text + "."


def alternatives_table(
    methods: list[Alternative], kept: Alternative, rounds: Rounds
) -> dict[str, list[Any]]:
    """One entry a method in each column, measured on fresh inputs and by the rows that judge."""
    rows, first = [], methods[0].found
    for method in methods:
        found, drop = method.found or NOT_MEASURED, method.verdict.drop
        left = np.nan
        if method.found is not None and first is not None:
            left = rounds.strategy.left(found, first)
        unseen = dict(
            zip(("unseen", "unseen_low", "unseen_high"), found.shares.unseen, strict=True)
        )
        scores = (
            rounds.judge.score - drop.estimate,
            *drop[:3],
            method.verdict.spread,
            method.verdict.confirmed,
        )
        rows.append({"method": method.name, "n_added": method.n_added, **unseen,
                     **measured_row(found, left), **dict(zip(SCORES, scores, strict=True)),
                     "kept": method is kept, "fit_seconds": method.seconds,
                     "note": method.note})  # fmt: skip
    return named({name: [row[name] for row in rows] for name in rows[0]}, rounds.strategy.measured)


SCORES = ("fold_score", "score_drop", "drop_low", "drop_high", "drop_spread", "confirmed")
