"""Results of methods and folds as one comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import get_scorer

from skfairtest._typing import Floats, Ints
from skfairtest.finding._fitted_cards import model_name
from skfairtest.finding._words import value_text
from skfairtest.group._rules.sensitive_groups import FEWEST_ROWS
from skfairtest.mitigation._cached_predictions import CachedPredictions, score_of_rows
from skfairtest.mitigation._comparison.group_rates import (
    between_groups,
    rate_change,
    rates_by_group,
)
from skfairtest.mitigation._comparison.jackknife import (
    Jackknife,
    deal,
    leave_out,
    paired_difference,
)
from skfairtest.mitigation._comparison.methods import ComparisonContext
from skfairtest.mitigation._comparison.one_fold import FoldResult, Training, in_a_line
from skfairtest.mitigation._comparison.result import MitigationComparison
from skfairtest.mitigation._comparison.shares import shares
from skfairtest.mitigation._comparison.spread import Spread
from skfairtest.oracle._favourable import as_shares

#: The change of a group's rate, and the bounds of its interval.
RATE_CHANGE = [f"selection_rate_change{end}" for end in ("", "_low", "_high")]


class Scores(NamedTuple):
    """How predictions are scored."""

    scorer: Any
    name: str
    rng: np.random.Generator


@dataclass(frozen=True)
class MeasuredMethods:
    """All that was measured, by method and fold."""

    context: ComparisonContext
    trainings: list[Training]
    results: dict[str, list[FoldResult]]
    scores: Scores
    rows: Ints
    moved_note: str = ""

    @property
    def folds(self) -> list[Training]:
        """The trainings that hold rows out."""
        return self.trainings[:-1]

    def of_folds(self, name: str) -> list[FoldResult]:
        """What a method's trainings gave that hold rows out."""
        return self.results[name][:-1]

    def reason(self, name: str) -> str:
        """Why a method has no figures; empty where it has."""
        return next((result.reason for result in self.results[name] if result.reason), "")

    def answers(self, name: str) -> dict[str, Any]:
        """Out-of-fold answers of all rows, where every fold has them."""
        order = np.argsort(np.concatenate([fold.held for fold in self.folds]))
        parts = [result.answers for result in self.of_folds(name)]
        everywhere = set.intersection(*(set(part) for part in parts))
        return {key: np.concatenate([part[key] for part in parts])[order] for key in everywhere}


def make_comparison(measured: MeasuredMethods) -> MitigationComparison:
    """The rows of methods, those of methods and groups, and what was compared."""
    context, name = measured.context, measured.scores.name
    groups = context.group_names()
    number = deal(_strata(measured), context.settings.n_parts, measured.scores.rng)
    scorers = {name: measured.scores.scorer}
    if context.classes is not None:
        scorers["auc"] = get_scorer("roc_auc" if len(context.classes) == 2 else "roc_auc_ovr")
    predicted = measured.answers("original")["predict"]
    spread = Spread(context, measured.results["original"], predicted, measured.scores.rng)
    jackknives: dict[str, Jackknives] = {}
    rows, by_group = {}, {}
    for method in ["original", *(m for m in measured.results if m != "original")]:
        reason = measured.reason(method)
        try:
            if not reason:
                functions = _score_functions(measured, method, scorers)
                jackknives[method] = {
                    column: None if score is None else leave_out(score, number)
                    for column, score in functions.items()
                }
                by_group[method] = _by_group(
                    measured, method, groups, functions[name], number, spread
                )
                spreads = {
                    column: spread.of_score(measured.results[method], scorer)
                    for column, scorer in scorers.items()
                }
                rows[method] = _row(measured, method, jackknives, by_group[method], spreads)
        except Exception as error:  # predictions that no scorer takes cost one row, not the table
            if method == "original":
                raise
            by_group.pop(method, None)
            reason = f"could not be scored: {in_a_line(error)}"
        rows.setdefault(method, {})["note"] = reason or _note(measured.results[method])
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(rows["original"]))
    # Texts of methods without figures are empty, like those of methods with them.
    table["losing_group"] = table["losing_group"].fillna("")
    texts = {
        kind: {
            method: list(dict.fromkeys(text for part in results for text in getattr(part, kind)))
            for method, results in measured.results.items()
        }
        for kind in ("certificates", "warnings")
    }
    return MitigationComparison(
        table.rename_axis("method"),
        pd.concat(by_group, names=["method", "group"]),
        **texts,
        settings=_settings(measured),
    )


def _settings(measured: MeasuredMethods) -> dict[str, Any]:
    context, folds = measured.context, measured.folds
    favourable = ""
    if context.classes is not None:
        labels = context.classes[context.favourable].tolist()
        favourable = " or ".join(map(value_text, labels))
    return {
        "model": model_name(context.estimator),
        "sensitive_features": [*context.space.sensitive_features, *context.names_not_in_model],
        "n_rows": len(context.y),
        "n_folds": len(folds),
        "n_inputs": {
            place: len(table) for place, table in context.inputs.items() if context.has_twins
        },
        "score": measured.scores.name,
        "favourable": favourable,
        "threshold": context.threshold,
        "is_mean": context.is_mean,
        "confidence": context.settings.confidence,
        "transport": None if context.transport is None else type(context.transport).__name__,
        "moved_note": measured.moved_note,
    }


def _row(
    measured: MeasuredMethods,
    method: str,
    jackknives: dict[str, Jackknives],
    by_group: pd.DataFrame,
    spreads: dict[str, float],
) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for column, spread in spreads.items():
        row |= _changes(column, jackknives[method], jackknives["original"], measured, spread)
    row |= shares(measured.context, measured.trainings, measured.results[method], measured.rows)
    row |= between_groups(by_group)
    row |= _who_pays(by_group, measured.scores.name)
    return row | _costs(measured, method)


def _strata(measured: MeasuredMethods) -> Any:
    if measured.context.classes is None:
        return np.zeros(len(measured.context.y), dtype=int)
    return np.searchsorted(measured.context.classes, measured.context.y)


Functions = dict[str, Callable[[Any], float] | None]
Jackknives = dict[str, Jackknife | None]


def _score_functions(measured: MeasuredMethods, method: str, scorers: dict[str, Any]) -> Functions:
    """Each score as a function of row numbers; None where the method's answers do not give it."""
    context = measured.context
    answers, classes = measured.answers(method), context.classes
    cached = CachedPredictions(context.estimator, known=answers, classes=classes)
    has_scores = "predict_proba" in answers or "decision_function" in answers
    if classes is not None and len(classes) > 2:
        has_scores = "predict_proba" in answers
    return {
        column: None
        if column == "auc" and not has_scores
        else score_of_rows(scorer, cached, context.y, context.weights)
        for column, scorer in scorers.items()
    }


def _changes(
    column: str, own: Jackknives, original: Jackknives, measured: MeasuredMethods, spread: float
) -> dict[str, float]:
    names = [column, f"{column}_change", f"{column}_change_low", f"{column}_change_high"]
    score, first = own[column], original[column]
    if score is None:
        return dict.fromkeys(names, np.nan)
    if own is original:
        return dict(zip(names, [score.value, 0.0, 0.0, 0.0], strict=True))
    if first is None:
        return dict(zip(names, [score.value, np.nan, np.nan, np.nan], strict=True))
    n_rows = len(measured.context.y) if column == "accuracy" else None
    confidence = measured.context.settings.confidence
    change = paired_difference(score, first, confidence, n_rows, spread)
    return dict(zip(names, [score.value, *change], strict=True))


def _by_group(
    measured: MeasuredMethods, method: str, groups: Any, score: Any, number: Ints, spread: Spread
) -> pd.DataFrame:
    context, favoured = measured.context, partial(_favoured, measured.context)
    own, original = (favoured(measured.answers(name)["predict"]) for name in (method, "original"))
    truth = None
    if context.classes is not None:
        truth = as_shares(context.y, context.classes[context.favourable].tolist()).astype(bool)
    table = rates_by_group(groups, truth, own, context.weights)
    # The score of fewer rows is mostly chance, and of thousands of groups it takes minutes.
    large = table.index[table["rows"] >= FEWEST_ROWS]
    places = {name: np.flatnonzero(groups == name) for name in large}
    table[measured.scores.name] = pd.Series(
        {name: _or_nan(score, rows) for name, rows in places.items()}, dtype=float
    )
    # All groups at once, since the one that loses most is looked for.
    confidence = 1 - (1 - context.settings.confidence) / max(1, len(large))
    changes = {
        name: (0.0, 0.0, 0.0)
        if method == "original"
        else rate_change(
            own[rows], original[rows], number[rows], confidence=confidence,
            weights=None if context.weights is None else context.weights[rows],
            are_shares=truth is not None,
            spread=spread.of_rate(measured.results[method], favoured, groups == name),
        )
        for name, rows in places.items()
    }  # fmt: skip
    found = pd.DataFrame.from_dict(changes, orient="index", columns=RATE_CHANGE, dtype=float)
    return table.join(found)


def _favoured(context: ComparisonContext, predicted: Any) -> Floats:
    """1 for each row that is predicted to be favoured, else 0; the outputs of a regression."""
    if context.classes is None:
        return as_shares(predicted, "mean")
    return as_shares(predicted, context.classes[context.favourable].tolist())


def _or_nan(score: Any, rows: Any) -> float:
    try:
        return float(score(rows))
    except (ValueError, ZeroDivisionError):  # of a group of one class, say, or without weight
        return np.nan


def _who_pays(table: pd.DataFrame, name: str) -> dict[str, Any]:
    names = [f"losing_group_change{end}" for end in ("", "_low", "_high")]
    losing: dict[str, Any] = {"losing_group": "", **dict.fromkeys(names, np.nan)}
    change, _, high = RATE_CHANGE
    falls = table[table[change] < 0]
    if (falls[high] < 0).any():  # those that certainly fall come first
        falls = falls[falls[high] < 0]
    if len(falls):
        group = falls[change].idxmin()
        values = falls.loc[[group], RATE_CHANGE].to_numpy(dtype=float)[0]
        losing = {"losing_group": str(group), **dict(zip(names, values.tolist(), strict=True))}
    known = table.loc[table["rows"] >= FEWEST_ROWS, name].dropna()
    worst, value, spread = "", np.nan, np.nan
    if len(known):
        worst, value = str(known.idxmin()), float(known.min())
        spread = float(known.max() - known.min())
    return losing | {"worst_group": worst, f"worst_group_{name}": value, f"{name}_spread": spread}


def _costs(measured: MeasuredMethods, method: str) -> dict[str, float]:
    results = measured.results[method]
    first = measured.of_folds("original")
    seconds = sum(result.predict_seconds for result in measured.of_folds(method))
    return {
        "fit_seconds": float(np.mean([result.fit_seconds for result in results])),
        "predict_ratio": seconds / max(1e-9, sum(result.predict_seconds for result in first)),
        "queries": float(np.mean([result.queries for result in results])),
    }


def _note(results: list[FoldResult]) -> str:
    kept = sum(result.kept_original for result in results)
    notes = [f"the original was kept in {kept} of {len(results)} trainings"] if kept else []
    if results[-1].kept_original:
        notes = [f"{notes[0]}, that on all rows among them"]
    notes += [result.moved_note for result in results if result.moved_note][:1]
    return "; ".join(notes)
