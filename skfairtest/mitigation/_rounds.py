"""The course of a mitigation: rounds, what was kept, and the table of it."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Ints
from skfairtest.exceptions import MitigationWarning
from skfairtest.mitigation._training import Folds, Task

Values = NDArray[Any]


class Measure(NamedTuple):
    """What is to be lowered, as one number that is better when smaller, and its interval."""

    value: float
    low: float
    high: float


class Addition(NamedTuple):
    """Rows that are added to the training part in one round, all of them, and their labels.

    `seeds` says which training rows they were made from, where scores are cross-validated.
    """

    rows: Any
    labels: Values
    seeds: Ints | None = None


class Strategy(Protocol):
    """What a mitigation strategy has to say; see `_twins` and `_groups`.

    `folds` takes the scores of its rounds, where the validation part alone cannot.
    """

    folds: Folds | None

    def measure(self, model: Any, *, fresh: bool = False) -> Measure:
        """How much the model discriminates; `fresh` on inputs that no choice has seen."""

    def propose(self, number: int, model: Any) -> Addition | str:
        """Rows for a round, given the latest model, or the reason why there are none."""

    def goes_on(self, *, kept: bool, good: bool) -> bool:
        """Whether another round may follow one that was kept or not, good enough or not."""


COLUMNS = (
    "round", "n_added", "before", "before_low", "before_high", "after", "after_low", "after_high",
    "score", "kept", "reason",
)  # fmt: skip


class Course:
    """Rounds of adding, training and measuring; the best model so far is always at hand.

    Attributes
    ----------
    original, best : estimator
        The first model, and the one with the lowest measure among those that keep the score.
    n_added : int
        Rows that the best was given.
    rows : list of dict
        One a round; the first is the original.
    reason : str
        What ended the course.
    """

    def __init__(self, task: Task, original: Any, *, max_score_drop: float, verbose: int) -> None:
        self.task = task
        self.original = self.best = original
        self.floor = -np.inf
        self.max_score_drop = max_score_drop
        self.verbose = verbose
        self.n_added = 0
        self.rows: list[dict[str, Any]] = []
        self.reason = ""

    def run(self, strategy: Strategy, max_rounds: int) -> None:
        """Rounds until the strategy has enough; a round that fails ends the course."""
        score = self._score(strategy, self.original)
        self.floor = score - self.max_score_drop
        varied = not self.task.answers_alike(self.original)
        first = self.measured = strategy.measure(self.original)
        self._note(0, first, first, score, True, "the original")
        if first.value == 0:
            self.reason = "nothing to mitigate was seen in the original"
            return
        latest = self.original
        for number in range(1, max_rounds + 1):
            addition = strategy.propose(number, latest)
            if isinstance(addition, str):
                self.reason = addition
                break
            try:
                latest = self.task.train(addition.rows, addition.labels)
                kept, good = self._judge(number, strategy, latest, addition, varied)
            except Exception as error:
                # The model before this round is as good as it was: it stays.
                self.reason = f"round {number} failed: {type(error).__name__}: {error}"
                warnings.warn(
                    f"Mitigation ended early, with the best model so far: {self.reason}",
                    MitigationWarning,
                    stacklevel=4,
                )
                break
            if not strategy.goes_on(kept=kept, good=good):
                self.reason = f"round {number} was {'kept' if kept else 'not better'}"
                break
        else:
            self.reason = f"max_rounds={max_rounds} reached"

    def _judge(
        self, number: int, strategy: Strategy, model: Any, addition: Addition, varied: bool
    ) -> tuple[bool, bool]:
        """Note a round; keep its model if it is better and still good enough. Says which."""
        score, n_added = self._score(strategy, model, addition), len(addition.labels)
        measured, before = strategy.measure(model), self.measured
        good, kept = True, False
        if varied and self.task.answers_alike(model):
            # A model that says the same to everybody treats all alike, and is of no use.
            good, reason = False, "predicts the same for all validation rows"
        elif score < self.floor:
            good, reason = False, f"score below {self.floor:.6g}"
        elif measured.value >= before.value:
            reason = "not lower"
        else:
            kept, reason = True, "lower"
            self.best, self.n_added, self.measured = model, n_added, measured
        self._note(number, before, measured, score, kept, reason, n_added)
        return kept, good

    def _score(self, strategy: Strategy, model: Any, addition: Addition | None = None) -> float:
        """Score of a model, by folds as well where the strategy has some."""
        if strategy.folds is None:
            return self.task.score(model)
        return strategy.folds.score(model, *(addition or ()))

    def confirm(self, strategy: Strategy) -> tuple[Measure, Measure]:
        """Measure original and best on fresh inputs; the original comes back if it is as good.

        The best of many rounds looks better than it is on the inputs that it was chosen by.
        """
        before = strategy.measure(self.original, fresh=True)
        if self.best is self.original:
            return before, before
        after = strategy.measure(self.best, fresh=True)
        if after.value >= before.value:
            self.best, self.n_added = self.original, 0
            self.reason += "; not confirmed on fresh inputs, so the original is kept"
            for row in self.rows[1:]:
                row["kept"] = False
            return before, before
        return before, after

    def _note(
        self,
        number: int,
        before: Measure,
        after: Measure,
        score: float,
        kept: bool,
        reason: str,
        n_added: int = 0,
    ) -> None:
        values = (number, n_added, *before, *after, score, kept, reason)
        self.rows.append(dict(zip(COLUMNS, values, strict=True)))
        if self.verbose:
            print(
                f"[FairnessRetrainer] round {number}: {n_added} rows added, "
                f"{before.value:.4%} -> {after.value:.4%}, score {score:.4f}, {reason}"
            )

    def table(self) -> dict[str, list[Any]]:
        """The rounds, one list a column."""
        return {name: [row[name] for row in self.rows] for name in COLUMNS}


def history_frame(table: dict[str, list[Any]]) -> pd.DataFrame:
    """The rounds as a DataFrame."""
    return pd.DataFrame(table, columns=list(COLUMNS))
