"""What is simpler than retraining, judged as the rounds are: drop the sensitive columns, average.

Both are trained and measured on the folds of the rounds, so that their figures compare with those
of the retrained model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from skfairtest import _clock
from skfairtest.mitigation._averaging.marginalized import averaged
from skfairtest.mitigation._held_columns import HeldColumns
from skfairtest.mitigation._retraining.guard import NO_DROP, Drop, Verdict
from skfairtest.mitigation._retraining.metrics import TwinShares
from skfairtest.mitigation._retraining.rounds import (
    NOT_MEASURED,
    Measurements,
    Rounds,
    measured_row,
    named,
)
from skfairtest.mitigation._shares import Measure
from skfairtest.space._rows import take_rows


class Alternative(NamedTuple):
    """A method of mitigation that was tried: its models, the one of all rows first.

    `found` is what the choice goes by, and None, with a `note`, where the method failed.
    """

    name: str
    models: list[Any]
    found: Measurements | None
    verdict: Verdict | None
    n_added: int = 0
    seconds: float = np.nan
    note: str = ""


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
        verdict = rounds.guard.look_at(models[1:])
        found = look_at(rounds, models)
    except Exception as error:
        note = str(error).strip().split("\n")[0]
        return Alternative(name, [], None, None, note=f"{type(error).__name__}: {note}")
    note = ""
    if rounds.varied and rounds.task.answers_alike(models[0]):
        verdict = verdict._replace(good=False)
        note = "predicts the same for all rows"
    return Alternative(name, models, found, verdict, seconds=seconds, note=note)


def look_at(rounds: Rounds, models: list[Any], *, fresh: bool = False) -> Measurements:
    """Measure models that do not take the sensitive columns into account.

    Twins that differ in nothing else get the same predictions from them by construction, which
    needs no measuring.
    """
    if rounds.strategy.space.twins_.descendants is not None or rounds.first.group is not None:
        return rounds.find(models, fresh=fresh)
    nothing = Measure(0.0, 0.0, 0.0)
    return Measurements(TwinShares(nothing, nothing, nothing, 0.0), None)


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

#: The verdict on the original.
KEPT_AS_IT_IS = Verdict(True, True, NO_DROP)
NOT_JUDGED = Verdict(False, False, Drop(np.nan, np.nan, np.nan))


def choose(methods: list[Alternative]) -> Alternative:
    """Of the methods that keep the score the one that leaves least; of equals the best score."""

    def worth(method: Alternative) -> tuple[float, float]:
        assert method.found is not None and method.verdict is not None, "failed ones are left out"
        return method.found.people.value, method.verdict.drop.estimate

    return min(filter(_is_good, methods), key=worth)


def leaves_less(
    methods: list[Alternative], kept: Alternative, fresh: dict[str, Measurements]
) -> str | None:
    """Name the simpler method that leaves less than what is kept and costs no more of the score."""
    assert kept.verdict is not None, "what is kept was judged"
    left, cost = fresh[kept.name].people.value, kept.verdict.drop.estimate
    better = [
        method
        for method in methods
        if _is_good(method)
        and method.name in SIMPLE_METHODS
        and method.verdict is not None
        and fresh[method.name].people.value < left
        and method.verdict.drop.estimate <= cost
    ]
    if not better:
        return None
    best = choose(better)
    assert best.verdict is not None, "it was judged"
    return (
        f"A simpler method leaves less at no more cost: {best.name!r} leaves "
        f"{fresh[best.name].people.value:.4g} where the {kept.name} model leaves {left:.4g}, and "
        f"the score changes by {-best.verdict.drop.estimate:+.4g} instead of {-cost:+.4g}. See "
        'alternatives_; strategy="best" keeps it.'
    )


def outlook(
    methods: list[Alternative], kept: Alternative, fresh: dict[str, Measurements], rounds: Rounds
) -> str:
    """Say what is kept, why, and what more rounds may bring."""
    place = "near the rows" if rounds.first.group is None else "in the worst group"
    others = [
        f"{name} {found.people.value:.4g}" for name, found in fresh.items() if name != kept.name
    ]
    refused = [method.name for method in methods if method.name in fresh and not _is_good(method)]
    text = (
        f"Kept is {kept.name}, which leaves {fresh[kept.name].people.value:.4g} {place} "
        f"({', '.join(others)})"
    )
    if refused:
        text += f"; {' and '.join(refused)} may cost more than max_score_drop"
    least = rounds.least.people.value
    if kept.name == "original" and rounds.best is rounds.original:
        return text + "."
    if fresh[kept.name].people.value == 0:
        return text + "; more rounds could leave no less."
    fell = [row["near"] for row in rounds.rows if row["kept"]]
    if len(fell) > 1:
        text += (
            f"; the last round that was kept lowered the share of the retrained model from "
            f"{fell[-2]:.4g} to {least:.4g}: a larger max_rounds may lower it further"
        )
    return text + "."


def alternatives_table(
    methods: list[Alternative], kept: Alternative, fresh: dict[str, Measurements], rounds: Rounds
) -> dict[str, list[Any]]:
    """One entry a method in each column, measured on fresh inputs."""
    rows = []
    for method in methods:
        found, verdict = fresh.get(method.name, NOT_MEASURED), method.verdict
        left = np.nan
        if method.name in fresh:
            left = rounds.strategy.left(found, fresh["original"])
        measured = measured_row(
            found, left, verdict or NOT_JUDGED, method is kept, rounds.guard.score
        )
        rows.append({"method": method.name, "n_added": method.n_added, **measured,
                     "fit_seconds": method.seconds, "note": method.note})  # fmt: skip
    return named({name: [row[name] for row in rows] for name in rows[0]}, rounds.strategy.measured)


def _is_good(method: Alternative) -> bool:
    return method.verdict is not None and method.verdict.good
