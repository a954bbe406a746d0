"""The rounds of a mitigation: what was added, what was kept, and the table of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from skfairtest.exceptions import MitigationWarning, users_level
from skfairtest.mitigation._retraining.guard import Drop, Guard
from skfairtest.mitigation._retraining.metrics import ShareMetrics, Shares
from skfairtest.mitigation._retraining.training import Addition, Task, TrainingFold
from skfairtest.mitigation._shares import PLACES, Measure


class Strategy(Protocol):
    """What a mitigation strategy has to say; see `twin_strategies` and `group_strategies`."""

    def group(self, model: Any, *, fresh: bool = False) -> Measure | None:
        """The score of groups that is to fall; `fresh` on inputs that no choice has seen."""

    def left(self, found: Findings, original: Findings) -> float:
        """What is to fall, as one number: the share of it that is left of the original's."""

    def prepare(self, number: int, folds: list[TrainingFold]) -> str | None:
        """Audit the latest model for a round; the reason, where there is nothing to add."""

    def add(self, number: int, fold: TrainingFold) -> Addition:
        """Rows for one fold in a round that was prepared."""

    def goes_on(self, outcome: Outcome) -> bool:
        """Whether another round may follow one with this outcome."""


class Outcome(NamedTuple):
    """How a round ended: its model was `kept`, or at least `good` enough to be."""

    kept: bool
    good: bool


class Findings(NamedTuple):
    """All that was measured of a model."""

    shares: Shares
    group: Measure | None


class Verdict(NamedTuple):
    """Whether a score was kept: `confirmed` where the data can tell, else not seen to fall."""

    good: bool
    confirmed: bool
    drop: Drop


SPREAD = [name + end for name in PLACES for end in ("", "_low", "_high")]
COLUMNS = (
    "round", "n_added", *SPREAD, "degree", "group", "group_low", "group_high", "left", "score",
    "score_drop", "drop_low", "drop_high", "confirmed", "kept", "reason",
)  # fmt: skip
NO_GROUP = Measure(np.nan, np.nan, np.nan)


class Rounds:
    """Rounds of adding, training and measuring; the best model so far is always at hand.

    Parameters
    ----------
    task : Task
        What is trained.
    folds : list of TrainingFold
        The one that holds out nothing, with the original model, and the others.
    strategy : Strategy
        What is added.
    guard : Guard
        Compares scores; it knows those of the originals.
    metrics : ShareMetrics
        Measures shares.
    max_score_drop : float
        How far the score may fall.
    tell : callable
        Called with the share of the rounds that is done and a line about it; True ends it.

    Attributes
    ----------
    original, best : estimator
        The first model, and the one with the lowest measure among those that keep the score.
    n_added : int
        Rows that the best was given.
    verdict : Verdict
        What was found of the score of the best.
    rows : list of dict
        One a round; the first is the original.
    reason : str
        What ended the run.
    """

    def __init__(
        self,
        task: Task,
        folds: list[TrainingFold],
        strategy: Strategy,
        guard: Guard,
        metrics: ShareMetrics,
        *,
        max_score_drop: float,
        tell: Callable[[float, str], bool],
    ) -> None:
        self.task = task
        self.folds = folds
        self.strategy = strategy
        self.guard = guard
        self.metrics = metrics
        self.max_score_drop = max_score_drop
        self.tell = tell
        self.originals = self.bests = [fold.model for fold in folds]
        self.n_added = 0
        self.verdict = Verdict(True, True, Drop(0.0, 0.0, 0.0))
        self.rows: list[dict[str, Any]] = []
        self.reason = ""

    @property
    def original(self) -> Any:
        """The model before mitigation, of all rows."""
        return self.originals[0]

    @property
    def best(self) -> Any:
        """The best model so far, of all rows."""
        return self.bests[0]

    def run(self, max_rounds: int) -> None:
        """Rounds until the strategy has enough; a round that fails ends the run."""
        varied = not self.task.answers_alike(self.original)
        self.first = self._find(self.originals)
        self.least = 1.0
        # Of the original the strategy asks whether there is anything to lower.
        self._note(0, self.first, 1.0, self.verdict, True, "the original", 0)
        self.tell(0.0, self._line())
        if self.strategy.left(self.first, self.first) == 0:
            self.reason = "nothing to mitigate was seen in the original"
            return
        for number in range(1, max_rounds + 1):
            ended = self.strategy.prepare(number, self.folds)
            if ended is not None:
                self.reason = ended
                break
            added = [self.strategy.add(number, fold) for fold in self.folds]
            try:
                outcome = self._round(number, added, varied)
            except Exception as error:
                # The model before this round is as good as it was: it stays.
                self.reason = f"round {number} failed: {type(error).__name__}: {error}"
                warnings.warn(
                    f"Mitigation ended early, with the best model so far: {self.reason}",
                    MitigationWarning,
                    stacklevel=users_level(),
                )
                break
            if self.tell(number / max_rounds, self._line()):
                self.reason = f"a callback asked to stop after round {number}"
                break
            if self.least == 0:
                self.reason = f"nothing is left to mitigate after round {number}"
                break
            if not self.strategy.goes_on(outcome):
                self.reason = f"round {number} was {'kept' if outcome.kept else 'not better'}"
                break
        else:
            self.reason = f"max_rounds={max_rounds} reached"

    def _round(self, number: int, added: list[Addition], varied: bool) -> Outcome:
        """Train and measure; keep the model if it is better and good enough."""
        models = self.task.train_all(self.folds, added)
        for fold, model in zip(self.folds, models, strict=True):
            fold.model = model
        verdict = self._look_at_score(models)
        found = self._find(models)
        left = self.strategy.left(found, self.first)
        good, kept = verdict.good, False
        if varied and self.task.answers_alike(models[0]):
            # A model that says the same to everybody treats all alike, and is of no use.
            good, reason = False, "predicts the same for all rows"
        elif not good:
            reason = self._too_low(verdict)
        elif left >= self.least:
            reason = "not lower"
        else:
            kept = True
            reason = "lower" if verdict.confirmed else "lower; no drop of the score was seen"
            self.bests, self.n_added = models, len(added[0].labels)
            self.least, self.verdict = left, verdict
        self._note(number, found, left, verdict, kept, reason, len(added[0].labels))
        return Outcome(kept, good)

    def _look_at_score(self, models: list[Any]) -> Verdict:
        """Whether the score is kept, as far as the rows can tell.

        Where they can tell a drop of the limit's size, the drop is shown to be no larger. Where
        they cannot, a model is kept only if its score was not seen to fall at all: the limit is
        then what the rows can tell.
        """
        drop = self.guard.drop(models[1:])
        confirmed = drop.high <= self.max_score_drop
        can_tell = drop.high - drop.estimate <= self.max_score_drop
        return Verdict(confirmed or (not can_tell and drop.estimate <= 0), confirmed, drop)

    def _too_low(self, verdict: Verdict) -> str:
        drop = verdict.drop
        if drop.estimate > self.max_score_drop:
            return f"score fell by {drop.estimate:.4g}"
        return f"score may have fallen by {drop.high:.4g}"

    def _find(self, models: list[Any], *, fresh: bool = False) -> Findings:
        return Findings(
            self.metrics.measure(models, fresh=fresh),
            self.strategy.group(models[0], fresh=fresh),
        )

    def confirm(self) -> tuple[Findings, Findings]:
        """Measure original and best on fresh inputs; the original comes back if it is as good.

        The best of many rounds looks better than it is on the inputs that it was chosen by.
        """
        before = self._find(self.originals, fresh=True)
        if self.best is self.original:
            return before, before
        after = self._find(self.bests, fresh=True)
        if self.strategy.left(after, before) >= 1:
            self.bests, self.n_added = self.originals, 0
            self.verdict = Verdict(True, True, Drop(0.0, 0.0, 0.0))
            self.reason += "; not confirmed on fresh inputs, so the original is kept"
            for row in self.rows[1:]:
                row["kept"] = False
            return before, before
        return before, after

    def _note(
        self,
        number: int,
        found: Findings,
        left: float,
        verdict: Verdict,
        kept: bool,
        reason: str,
        n_added: int,
    ) -> None:
        places = [value for name in PLACES for value in getattr(found.shares, name)]
        values = (
            number, n_added, *places, found.shares.degree, *(found.group or NO_GROUP), left,
            self.guard.score - verdict.drop.estimate, *verdict.drop, verdict.confirmed, kept,
            reason,
        )  # fmt: skip
        self.rows.append(dict(zip(COLUMNS, values, strict=True)))

    def _line(self) -> str:
        """The latest round in a line."""
        row = self.rows[-1]
        shares = ", ".join(f"{name} {row[name]:.4g}" for name in PLACES)
        group = "" if np.isnan(row["group"]) else f", group {row['group']:.4g}"
        return (
            f"round {row['round']}: {row['n_added']} rows added, {shares}{group}, "
            f"score {row['score']:.4f}, {row['reason']}"
        )

    def table(self) -> dict[str, list[Any]]:
        """The rounds, one list a column."""
        return {name: [row[name] for row in self.rows] for name in COLUMNS}


def history_frame(table: dict[str, list[Any]]) -> pd.DataFrame:
    """The rounds as a DataFrame."""
    return pd.DataFrame(table, columns=list(COLUMNS))
