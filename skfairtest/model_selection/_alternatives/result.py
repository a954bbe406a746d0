"""What a search for alternatives has found, as plain data, and its verdict in words."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace

from skfairtest.finding._words import listed, number

Verdict = Literal["found", "not found", "cannot be told"]
Kind = Literal["original", "parameters", "estimator", "method", "columns"]
#: What became of a candidate: judged by rows that played no part in the search, compared by the
#: search alone, given up on few rows (halving), failed, or never trained.
Status = Literal["judged", "screened", "dropped", "failed", "not reached"]


class Interval(Struct, frozen=True, kw_only=True):
    """An estimate and the bounds of its interval; None where nothing is known."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, value: float, error: float) -> Interval:
        """Make one that reaches as far on both sides."""
        if not np.isfinite(value):
            return cls()
        if not np.isfinite(error):
            return cls(value=float(value))
        return cls(value=float(value), low=float(value - error), high=float(value + error))


class GroupChange(Struct, frozen=True, kw_only=True):
    """The rate of favourable predictions of a group, and how far an alternative changes it.

    Of a regressor it is the mean prediction.
    """

    attribute: str
    group: str
    n: int
    original: float | None
    change: Interval


class Figures(Struct, frozen=True, kw_only=True):
    """The score and the disparities of a model on some rows, and the changes to the original's.

    A gain is a change for the better: a ratio that rises, a difference that falls. The intervals
    hold for all models, measures and sides at once that were compared on these rows.

    Attributes
    ----------
    score : float or None
        Greater is better.
    disparity : dict of str to float or None
        Of each measure, in its own units.
    score_change : Interval
        Score less that of the original.
    gain : dict of str to Interval
        Of each measure.
    spread : dict of str to float
        Standard deviation between trainings of the score's change ("score") and of each gain; empty
        where it is not known, and intervals are those of rows alone.
    """

    score: float | None = None
    disparity: dict[str, float | None] = {}
    score_change: Interval = Interval()
    gain: dict[str, Interval] = {}
    spread: dict[str, float] = {}


class Alternative(Struct, frozen=True, kw_only=True):
    """A candidate of the search: what it is, and what is known of it.

    Attributes
    ----------
    name : str
        Its name, which no other has.
    kind : {"original", "parameters", "estimator", "method", "columns"}
        Where it comes from.
    params : dict of str to str
        What was set, in words.
    status : {"judged", "screened", "dropped", "failed", "not reached"}
        How far it came.
    note : str
        Why it failed or was dropped; else empty.
    on_front : bool
        Whether no other candidate beats it by score and first disparity, on the rows that search.
    screened, judged : Figures
        On the rows that search, out of fold; on the rows that judge, mean of the trainings. Empty
        where it did not come so far.
    groups : list of GroupChange
        Who gains and who loses, on the rows that judge.
    fit_seconds : float or None
        Mean of its trainings.
    """

    name: str
    kind: Kind
    params: dict[str, str] = {}
    status: Status = "not reached"
    note: str = ""
    on_front: bool = False
    screened: Figures = Figures()
    judged: Figures = Figures()
    groups: list[GroupChange] = []
    fit_seconds: float | None = None

    @property
    def figures(self) -> Figures:
        """The best that is known: what was judged, else what was screened."""
        return self.judged if self.status == "judged" else self.screened


class SearchSettings(Struct, frozen=True, kw_only=True):
    """How was searched.

    Attributes
    ----------
    model : str
        Class of the original.
    task : {"classification", "regression"}
        What it is for.
    sensitive_features : list of str
        Attributes that groups are made by.
    disparity : list of str
        Names of the measures, the one that has to fall first.
    higher_is_better : dict of str to bool
        Whether a measure is a ratio or a score, of which more is better.
    score : str
        Name of the score.
    margin, confidence, held_out : float
        How far the score may fall; of all intervals together; the share of rows that judge.
    favourable : str
        What was taken as favourable; empty where nobody asks.
    n_rows, n_search, n_judge, n_folds, n_trainings : int
        Rows, those that search, those that judge; folds; trainings of each judged model.
    groups, left_out : list of str
        Groups that were compared, and those that were too small.
    sampler : str
        What drew the candidates.
    not_searched : list of str
        What was not tried, and could have been.
    stop_reason : str
        Why the search ended.
    seconds : float
        How long it took.
    created : str
        When, in UTC.
    versions : dict of str to str
        Of what the figures depend on.
    asked : dict of str to str
        Parameters of the search, as Python writes them.
    """

    model: str
    task: Literal["classification", "regression"]
    sensitive_features: list[str]
    disparity: list[str]
    higher_is_better: dict[str, bool]
    score: str
    margin: float
    confidence: float
    held_out: float
    favourable: str = ""
    n_rows: int = 0
    n_search: int = 0
    n_judge: int = 0
    n_folds: int = 0
    n_trainings: int = 0
    groups: list[str] = []
    left_out: list[str] = []
    sampler: str = ""
    not_searched: list[str] = []
    stop_reason: str = ""
    seconds: float = 0.0
    created: str = ""
    versions: dict[str, str] = {}
    asked: dict[str, str] = {}


class FoundAlternatives(Struct, frozen=True, kw_only=True):
    """All that a search for alternatives has found, as plain data; see `AlternativesResult`."""

    verdict: Verdict
    sentence: str
    best: str
    nearest: str
    rows_needed: int | None
    not_excluded: float | None
    alternatives: list[Alternative]
    settings: SearchSettings

    def __getitem__(self, name: str) -> Alternative:
        return next(one for one in self.alternatives if one.name == name)

    @property
    def judged(self) -> list[Alternative]:
        """The candidates that were judged, without the original."""
        return [one for one in self.alternatives[1:] if one.status == "judged"]

    def frame(self) -> pd.DataFrame:
        """One row for each candidate: what is known of it best."""
        rows = []
        for one in self.alternatives:
            figures = one.figures
            row: dict[str, Any] = {
                "candidate": one.name, "kind": one.kind, "status": one.status,
                "on_front": one.on_front, "score": figures.score,
                **_columns("score_change", figures.score_change),
            }  # fmt: skip
            for name in self.settings.disparity:
                row[name] = figures.disparity.get(name)
                row |= _columns(f"{name}_gain", figures.gain.get(name, Interval()))
            rows.append({**row, "note": one.note})
        table = pd.DataFrame(rows).set_index("candidate")
        words = ["kind", "status", "on_front", "note"]
        return table.astype({name: float for name in table if name not in words})


def _columns(name: str, interval: Interval) -> dict[str, Any]:
    return {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}


# In words --------------------------------------------------------------------------------------


def with_sentence(result: FoundAlternatives) -> FoundAlternatives:
    """Put the verdict in words, with its figures and what it rests on."""
    settings = result.settings
    n_tried = sum(one.status in ("judged", "screened") for one in result.alternatives[1:])
    rests = (
        f" {n_tried} of {len(result.alternatives) - 1} candidates were compared on "
        f"{settings.n_search:,} rows"
    )
    if n_judged := len(result.judged):
        rests += (
            f", and {n_judged} judged on {settings.n_judge:,} others by {settings.n_trainings} "
            "trainings each"
        )
    intervals = f"; intervals hold for all at once ({settings.confidence:.0%})."
    rests += intervals if n_tried else "."
    return replace(result, sentence=verdict_words(result) + rests)


def verdict_words(result: FoundAlternatives) -> str:
    """The verdict in words, with its figures."""
    words = {"found": _found, "not found": _not_found, "cannot be told": _cannot_be_told}
    return words[result.verdict](result)


def _found(result: FoundAlternatives) -> str:
    settings, best = result.settings, result[result.best]
    name, original = settings.disparity[0], result.alternatives[0].judged
    before, after = original.disparity[name], best.judged.disparity[name]
    return (
        f"Found: {best.name}. {named(name)} goes from {number(before)} to {number(after)}, a gain "
        f"of {with_bounds(best.judged.gain[name])}, and {settings.score} changes by "
        f"{with_bounds(best.judged.score_change)}, where it may fall by {settings.margin:g}."
    )


def _not_found(result: FoundAlternatives) -> str:
    words = "Not found: no candidate is better by its estimate"
    return f"{words}{_within(result)}. {_excluded(result)}"


def _cannot_be_told(result: FoundAlternatives) -> str:
    settings, name = result.settings, result.settings.disparity[0]
    if result.nearest == "original":
        return (
            f"It cannot be told whether there is an alternative{_within(result)}: the search ended "
            f"before one was judged ({settings.stop_reason})."
        )
    best = result[result.nearest]
    gain, change = map(with_bounds, (best.figures.gain[name], best.figures.score_change))
    if best.status != "judged":
        return (
            f"It cannot be told whether there is an alternative{_within(result)}: {best.name} has "
            f"a gain in {named(name, False)} of {gain} on the rows that search, and a change of "
            f"{settings.score} of {change}, of which the rows do not tell whether it is too much. "
            "A larger margin= would have it judged, and more rows may."
        )
    rows = "No number of rows would tell"
    if result.rows_needed is not None:
        rows = f"About {result.rows_needed:,} rows would tell, if the estimates are right"
    return (
        f"It cannot be told whether there is an alternative{_within(result)}: {best.name} is one "
        f"by its estimates, a gain in {named(name, False)} of {gain} and a change of "
        f"{settings.score} of {change}. {rows}."
    )


def _excluded(result: FoundAlternatives) -> str:
    most, name = result.not_excluded, named(result.settings.disparity[0], False)
    if most is None:
        return ""
    return f"The rows do not exclude a gain in {name} of up to {number(most)} among those tried."


def _within(result: FoundAlternatives) -> str:
    settings = result.settings
    others = settings.disparity[1:]
    rise = f" and no rise in {listed([named(one, False) for one in others])}" if others else ""
    return f" with {settings.score} at most {settings.margin:g} lower{rise}"


def named(name: str, begins: bool = True) -> str:
    """A measure in words, at the beginning of a sentence or within it."""
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:] if begins else words


def with_bounds(interval: Interval) -> str:
    """A change with its interval."""
    if interval.value is None or interval.low is None or interval.high is None:
        return f"{number(interval.value)} (no interval)"
    return f"{interval.value:+.3f} ({interval.low:+.3f} to {interval.high:+.3f})"
