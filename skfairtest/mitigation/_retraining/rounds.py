"""The rounds of a mitigation: what was added, what was kept, and the table of it."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from skfairtest._statistics import ROUNDING
from skfairtest.exceptions import MitigationWarning, users_level
from skfairtest.finding._words import message_of
from skfairtest.mitigation._retraining.guard import KEPT_AS_IT_IS, NOT_JUDGED, Guard, Verdict
from skfairtest.mitigation._retraining.judge import Judge
from skfairtest.mitigation._retraining.metrics import NO_MEASURE, ShareMetrics, TwinShares
from skfairtest.mitigation._retraining.stages import Stages
from skfairtest.mitigation._retraining.training import Addition, Task, TrainingFold
from skfairtest.mitigation._shares import Measure

#: Rows that the models of all rounds of "auto" may be trained on, however small the table is.
FREE_ROWS = 400_000


class Strategy(Protocol):
    """What a mitigation strategy has to say; see `twin_strategies` and `testsgd`."""

    space: Any
    settings: dict[str, Any]
    #: What `group` measures, as a name of columns: "group" or "moved".
    measured: str

    def group(
        self, models: list[Any], folds: list[TrainingFold], *, fresh: bool = False
    ) -> Measure | None:
        """The score of groups, or of moved twins, that is to fall; None where twins are looked at.

        `models` are a model of all rows and those of the `folds`; `fresh` is on inputs that no
        choice has seen.
        """

    def left(self, found: Measurements, original: Measurements) -> float:
        """What is to fall, as one number: the share of it that is left of the original's."""

    def prepare(self, number: int, folds: list[TrainingFold]) -> str | None:
        """Audit the latest model for a round; the reason, where there is nothing to add."""

    def add(self, number: int, fold: TrainingFold) -> Addition:
        """Rows for one fold in a round that was prepared."""

    def goes_on(self, kept: bool) -> bool:
        """Whether another round may follow one whose model was kept, or was not."""


class Measurements(NamedTuple):
    """All that was measured of a model."""

    shares: TwinShares
    group: Measure | None

    @property
    def people(self) -> Measure:
        """What was measured about people: of groups the worst score, of twins the share near rows.

        Inputs near the rows are drawn anew for the last look, so that what a choice went by is not
        what is reported of it; the rows themselves are not.
        """
        return self.shares.near if self.group is None else self.group


NOT_MEASURED = Measurements(TwinShares(NO_MEASURE, NO_MEASURE, NO_MEASURE, np.nan), NO_MEASURE)


class Alternative(NamedTuple):
    """A method of mitigation that was tried: its models, the one of all rows first.

    It may be chosen by what the rows that choose say of its score (`likely`) and by what it leaves
    on the inputs for that (`seen`); what is reported is the `verdict` of the other rows, and what
    was `found` on fresh inputs: None, with a `note`, where the method failed.
    """

    name: str
    models: list[Any]
    seen: Measurements | None
    found: Measurements | None
    likely: Verdict
    verdict: Verdict
    n_added: int = 0
    seconds: float = np.nan
    note: str = ""

    @property
    def cost(self) -> tuple[float, float]:
        """What it leaves, then what it may cost of the score: those that choose take the least."""
        assert self.seen is not None, "failed ones are left out"
        return self.seen.people.value, self.likely.drop.estimate

    @property
    def is_likely(self) -> bool:
        """Whether it was measured, and the rows that choose find its score kept."""
        return self.found is not None and self.likely.good


#: What of a model is measured by asking it, as columns of tables.
MEASURED = [
    "rows", *(name + end for name in ("near", "uniform") for end in ("", "_low", "_high")),
    "degree", "group", "group_low", "group_high", "left",
]  # fmt: skip
COLUMNS = ("round", "n_added", *MEASURED, "fold_score", "fold_score_drop", "kept", "reason")


class Rounds:
    """Rounds of adding, training and measuring; the best model so far is always at hand.

    A round is trained without the rows of each fold first. Only where the score is kept there, it
    is trained on all rows and measured.

    Parameters
    ----------
    task : Task
        What is trained.
    folds : list of TrainingFold
        The one that holds out nothing, with the original model, and the others.
    strategy : Strategy
        What is added.
    guard : Guard
        Compares scores on the rows that choose; it knows those of the originals.
    judge : Judge
        Called with all models of what was chosen, gives the verdict of the other rows.
    metrics : ShareMetrics
        Measures shares.
    stages : Stages
        Told how far the rounds are; it says whether a callback asked to stop.

    Attributes
    ----------
    original, best : estimator
        The first model, and the one with the lowest measure among those that keep the score.
    n_added : int
        Rows that the best was given.
    verdict : Verdict
        What was found of the score of the best; by the rows that judge once they were asked.
    tried : Alternative
        The best of the rounds, whether or not it stays the best when it is judged; None if no round
        was better.
    kept : Alternative or None
        What those that judge let pass; None for the original.
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
        judge: Judge,
        metrics: ShareMetrics,
        stages: Stages,
    ) -> None:
        self.task = task
        self.folds = folds
        self.strategy = strategy
        self.guard = guard
        self.judge = judge
        self.metrics = metrics
        self.stages = stages
        self.originals = self.bests = [fold.model for fold in folds]
        self.n_added = 0
        self.verdict = KEPT_AS_IT_IS
        self.tried: Alternative | None = None
        self.kept: Alternative | None = None
        self._kept: list[tuple[int, Alternative]] = []
        self.rows: list[dict[str, Any]] = []
        self.reason = ""
        self.varied = not task.answers_alike(self.original)

    @property
    def original(self) -> Any:
        """The model before mitigation, of all rows."""
        return self.originals[0]

    @property
    def best(self) -> Any:
        """The best model so far, of all rows."""
        return self.bests[0]

    def measure_original(self) -> bool:
        """Measure the original; whether there is anything to lower."""
        self.first = self.least = self.find(self.originals)
        self._note(0, self.first, 1.0, self.verdict, True, "the original", 0)
        self.stages.tell(self._line())
        if self.strategy.left(self.first, self.first) == 0:
            self.reason = "nothing to mitigate was seen in the original"
            if not self.varied:
                self.reason += ", which predicts the same for all rows"
            return False
        return True

    def run(self, max_rounds: int | None) -> None:
        """Rounds until the strategy has enough; a round that fails ends the run.

        None stands for "auto".
        """
        # "auto" ends after eight rounds, or before the models were trained on more than eight times
        # the rows of the data.
        most = 8 if max_rounds is None else max_rounds
        budget = max(8 * len(self.task.y), FREE_ROWS)
        for number in range(1, most + 1):
            self.stages.round(number, most, 2 * len(self.folds))
            ended = self.strategy.prepare(number, self.folds)
            if ended is not None:
                self.reason = ended
                break
            added = []
            for fold in self.folds:
                added.append(self.strategy.add(number, fold))
                self.task.tick("rows to add are made")
            costs = sum(len(fold.rows) for fold in self.folds) + sum(
                len(one.labels) for one in added
            )
            if max_rounds is None and number > 1 and self.task.n_trained + costs > budget:
                self.reason = (
                    f"round {number} would have made more than 8 trainings' worth of rows; "
                    f"max_rounds={most} trains on"
                )
                break
            try:
                kept = self._round(number, added)
            except Exception as error:
                # The model before this round is as good as it was: it stays.
                self.reason = f"round {number} failed: {type(error).__name__}: {message_of(error)}"
                warnings.warn(
                    f"Mitigation ended early, with the best model so far: {self.reason}",
                    MitigationWarning,
                    stacklevel=users_level(),
                )
                break
            if self.stages.tell(self._line()):
                self.reason = f"a callback asked to stop after round {number}"
                break
            if self.strategy.left(self.least, self.first) == 0:
                self.reason = f"nothing is left to mitigate after round {number}"
                break
            if not self.strategy.goes_on(kept):
                self.reason = f"round {number} was {'kept' if kept else 'not better'}"
                break
        else:
            self.reason = f"max_rounds={most} reached"

    def _round(self, number: int, added: list[Addition]) -> bool:
        """Train and measure; keep the model if it is better and good enough, and tell so."""
        held_out, verdict = self._without_folds(added)
        n_added = len(added[0].labels)
        if not verdict.good:
            reason = self.guard.too_low(verdict)
            self._note(number, NOT_MEASURED, np.nan, verdict, False, reason, n_added)
            return False
        models = [*self.task.train_all(self.folds[:1], added[:1]), *held_out]
        for fold, model in zip(self.folds, models, strict=True):
            fold.model = model
        found = self.find(models)
        left = self.strategy.left(found, self.first)
        kept = False
        if self.varied and self.task.answers_alike(models[0]):
            # A model that says the same to everybody treats all alike, and is of no use.
            reason = "predicts the same for all rows"
        elif left >= self.strategy.left(self.least, self.first) - ROUNDING:
            reason = "not lower"
        else:
            kept = True
            reason = "lower"
            self.bests, self.n_added = models, n_added
            self.least, self.verdict = found, verdict
            round_ = Alternative("retrained", models, found, None, verdict, NOT_JUDGED, n_added)
            self._kept.append((number, round_))
        self._note(number, found, left, verdict, kept, reason, n_added)
        return kept

    def _without_folds(self, added: list[Addition]) -> tuple[list[Any], Verdict]:
        """Train without each fold; whether the score is kept.

        Folds that hold out each row for the first time come first: where these alone lose more than
        is allowed, the others are not trained.
        """
        held = [fold.held for fold in self.folds[1:]]
        n_rows = len(np.unique(np.concatenate(held)))
        first = next(n for n in range(1, len(held) + 1) if sum(map(len, held[:n])) >= n_rows)
        models: list[Any] = []
        for part in (slice(1, 1 + first), slice(1 + first, None)):
            if not self.folds[part]:
                break
            models += self.task.train_all(self.folds[part], added[part])
            verdict = self.guard.look_at(models)
            if not verdict.good and verdict.drop.estimate > self.guard.max_score_drop:
                break
        return models, verdict

    def find(self, models: list[Any], *, fresh: bool = False) -> Measurements:
        """Measure a model of all rows and of its folds' models, which come after it."""
        return Measurements(
            self.metrics.measure(models, fresh=fresh),
            self.strategy.group(models, self.folds, fresh=fresh),
        )

    def measure_again(self, others: list[Alternative]) -> Measurements:
        """Measure and judge what was chosen anew; what follows it, or the original, otherwise.

        The best of many looks better than it is on the inputs and to the rows that it was chosen
        by. Rounds that added less cost less: where the best is refused, the round in the middle of
        those that were kept is shown, and then the first. `others` are shown with them, in the
        order of what they leave.
        """
        before = self.find(self.originals, fresh=True)
        places = {0, len(self._kept) // 2, len(self._kept) - 1} if self._kept else ()
        shown = [self._kept[place] for place in sorted(places, reverse=True)]
        if others:
            shown = sorted([*shown, *((0, other) for other in others)], key=lambda one: one[1].cost)
        refusals, now, last = [], "the original", np.inf
        for look, (number, best) in enumerate(shown, 1):
            name = f"round {number}" if number else best.name
            tried, refused = self._look_again(best, look, before)
            if number and (self.tried is None or not refused):
                self.tried = tried
            if not refused:
                self.kept, now, last = tried, name, number or last
                break
            refusals.append(f"{name}: {refused}")
            last = number - 1 if number else last
        if self._kept and self.tried is None:  # for the table alone
            self.tried, _ = self._look_again(self._kept[-1][1], 1, before)
        self._take(last)
        if refusals:
            self.reason += f"; {'; '.join(refusals)}, so {now} is kept"
        return before

    def _take(self, last: float) -> None:
        """What is kept is the best of all; of the rounds those up to the last one stay."""
        if self.kept is None:
            self.bests, self.n_added, self.verdict = self.originals, 0, KEPT_AS_IT_IS
            last = 0
        else:
            kept = self.kept
            self.bests, self.n_added, self.verdict = kept.models, kept.n_added, kept.verdict
        for row in self.rows[1:]:
            row["kept"] = row["kept"] and row["round"] <= last

    def refusals(self) -> str:
        """Say why no round was better, where none was."""
        words = [f"round {row['round']}: {row['reason']}" for row in self.rows[1:]]
        return "; ".join(words) or "there was no round"

    def _look_again(
        self, best: Alternative, look: int, before: Measurements
    ) -> tuple[Alternative, str]:
        """Measure and judge a round's models anew; the second is why they are refused, if so."""
        after = self.find(best.models, fresh=True)
        try:
            verdict = self.judge(best.models, look)
        except Exception as error:  # a scorer that fails by now
            why = f"its score could not be judged: {type(error).__name__}: {message_of(error)}"
            return best._replace(found=after), why
        tried = best._replace(found=after, verdict=verdict)
        if not verdict.good:
            return tried, f"by the rows that judge the {self.guard.too_low(verdict)}"
        if self.strategy.left(after, before) >= 1 - ROUNDING:
            return tried, "not lower on fresh inputs"
        return tried, ""

    def _note(
        self,
        number: int,
        found: Measurements,
        left: float,
        verdict: Verdict,
        kept: bool,
        reason: str,
        n_added: int,
    ) -> None:
        drop = verdict.drop.estimate
        scores = {"fold_score": self.guard.score - drop, "fold_score_drop": drop}
        self.rows.append({"round": number, "n_added": n_added, **measured_row(found, left),
                          **scores, "kept": kept, "reason": reason})  # fmt: skip

    def _line(self) -> str:
        """The latest round in a line."""
        row = self.rows[-1]
        places = ("rows", "near", "uniform")
        shares = ", ".join(f"{name} {row[name]:.4g}" for name in places)
        group = "" if np.isnan(row["group"]) else f", {self.strategy.measured} {row['group']:.4g}"
        measured = "" if np.isnan(row["left"]) else f"{shares}{group}, "
        return (
            f"round {row['round']}: {row['n_added']} rows added, {measured}"
            f"score of the folds {row['fold_score']:.4f}, {row['reason']}"
        )

    def table(self) -> dict[str, list[Any]]:
        """The rounds, one list a column."""
        table = {name: [row[name] for row in self.rows] for name in COLUMNS}
        return named(table, self.strategy.measured)


def measured_row(found: Measurements, left: float) -> dict[str, Any]:
    """What was measured of a model, as columns of a table."""
    shares = found.shares
    values = (
        shares.rows.value, *shares.near, *shares.uniform, shares.degree,
        *(found.group or NO_MEASURE), left,
    )  # fmt: skip
    return dict(zip(MEASURED, values, strict=True))


def history_frame(table: dict[str, list[Any]]) -> pd.DataFrame:
    """The rounds as a DataFrame."""
    return pd.DataFrame(table or {name: [] for name in COLUMNS})


def named(table: dict[str, list[Any]], measured: str) -> dict[str, list[Any]]:
    """Name the columns of a group's score by what a strategy measures there."""
    ends = {f"group{end}": f"{measured}{end}" for end in ("", "_low", "_high")}
    return {ends.get(name, name): column for name, column in table.items()}
