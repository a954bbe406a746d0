"""Mitigation by twins: of the data, near them, and of what an audit of the domain found."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skfairtest._typing import Ints
from skfairtest.base import BaseAuditor
from skfairtest.exceptions import EstimatorFailedError, NoDisparityWarning
from skfairtest.mitigation._labelers import FoundPairs, Panel, label_pairs
from skfairtest.mitigation._retraining.metrics import relative
from skfairtest.mitigation._retraining.near_rows import (
    MOST_NEAR,
    NEAR_A_ROUND,
    draw_near_rows,
    joined,
    near_rows,
    other_twins,
    with_twins,
)
from skfairtest.mitigation._retraining.rounds import Findings, Outcome
from skfairtest.mitigation._retraining.training import Addition, TrainingFold
from skfairtest.mitigation._shares import Measure, judge
from skfairtest.space._rows import stack, take_rows

Values = NDArray[Any]

#: The labelers of "auto" for uniform inputs, in turn. For trees and networks, the majority is
#: ahead; linear models cannot follow it, and the average of their own predictions is (see
#: examples/benchmarks/bench_mitigate.py).
IN_TURN = ("majority", "average")
#: Rows that are added at most, as a multiple of the rows of the data.
MOST_ADDED = 4.0
#: Rounds in a row that bring nothing, after which a run near the data ends.
PATIENCE = 2
#: Times that twins of rows are tried, each time of half as many.
HALVINGS = 3
#: Inputs near the data that are looked at for each that is to be found, and in all.
LOOKED_AT = 20
MOST_LOOKED_AT = 20_000
#: Uniform inputs that are added in a round beside those near the data, as a share of the rows.
UNIFORM_SHARE = 0.25


class Learned(Protocol):
    """What labels come from."""

    @property
    def model(self) -> Any:
        """The latest model."""

    @property
    def panel(self) -> Panel:
        """Diverse models of the same rows."""


class Twins:
    """What the two strategies have in common: audits of the domain, and labels.

    Parameters
    ----------
    task : Task
        What is trained on what.
    auditor : auditor
        Template of a tester of twins.
    labeler : str or callable
        See `FairnessRetrainer`.
    near : {"data", "uniform", "both"}
        Where shares are to fall.
    rng : Generator
        Source of randomness.
    """

    both = True

    def __init__(
        self, task: Any, auditor: Any, labeler: Any, near: str, rng: np.random.Generator
    ) -> None:
        check_feeds_twins(auditor)
        self.task = task
        self.auditor = auditor
        self.labeler = labeler
        self.near = near
        self.rng = rng
        self.space = clone(auditor)._make_space(task.X)
        self.settings = auditor._oracle_settings()

    @property
    def measures_mean(self) -> bool:
        """Whether differences are measured, of a regressor without a threshold."""
        return self.task.classes is None and self.auditor.threshold is None

    def group(self, model: Any, *, fresh: bool = False) -> Measure | None:
        """Nothing: groups are not looked at."""
        return None

    def left(self, found: Findings, original: Findings) -> float:
        """What is left of the original's shares."""
        return relative(found.shares, original.shares, self.near)

    def find(self, model: Any) -> tuple[Any, Any]:
        """Discriminatory inputs and their counterfactuals, in random order."""
        seed = int(self.rng.integers(2**31 - 1))
        auditor = self.auditor._in_space(
            self.space, estimator=FrozenEstimator(model), random_state=seed
        )
        with warnings.catch_warnings():
            # That nothing is found is the reason why the run ends, which is told in its own
            # words.
            warnings.simplefilter("ignore", NoDisparityWarning)
            auditor.fit(self.task.X)
        first, second = auditor.discriminatory_inputs_, auditor.counterfactuals_
        order = self.rng.permutation(len(first))
        return take_rows(first, order), take_rows(second, order)

    def label(self, fold: Learned, first: Any, second: Any, labeler: Any) -> Values:
        """One label a pair."""
        pairs = FoundPairs(first, second, self.both, fold.model, fold.panel, self.task.classes)
        return label_pairs(labeler, pairs)


class AequitasRetraining(Twins):
    """Algorithm 5: shares of what was found in the original, one row each, until nothing falls."""

    both = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._test: tuple[Any, Any] | None = None
        self._rows = np.empty(0, dtype=np.intp)

    def left(self, found: Findings, original: Findings) -> float:
        """What is left of the share of uniform inputs, which the paper looks at."""
        return relative(found.shares, original.shares, "uniform")

    def prepare(self, number: int, folds: list[TrainingFold]) -> str | None:
        """A random part of what was found in the original, not on top of earlier rounds."""
        percent = share_of_round(number, self.rng)
        if percent > 100:
            return "the next share is above 100%"
        if self._test is None:
            first, second = self.find(folds[0].model)
            if not len(first):
                return "the audit found nothing to add"
            # Which of two twins a search has met is chance.
            swap = self.rng.random(len(first)) < 0.5
            self._test = _swap(first, second, swap)
        n = max(1, int(percent * len(self.task.y) / 100))
        self._rows = self.rng.permutation(len(self._test[0]))[:n]
        return None

    def add(self, number: int, fold: TrainingFold) -> Addition:
        """Those rows, labelled by what the fold's original says."""
        assert self._test is not None, "a round is prepared first"
        if "labels" not in fold.kept:
            labeler = IN_TURN[0] if self.labeler == "auto" else self.labeler
            fold.kept["labels"] = self.label(fold, *self._test, labeler)
        return Addition(take_rows(self._test[0], self._rows), fold.kept["labels"][self._rows])

    def goes_on(self, outcome: Outcome) -> bool:
        """Whether the share fell."""
        return outcome.kept


class TwinRetraining(Twins):
    """Twins under one label: of the rows, of inputs near them, of what audits of the domain find.

    Near the data the first round adds twins of all rows, which makes the sensitive columns tell
    nothing. Later rounds add inputs near the data on top, and, where uniform inputs are to fall as
    well, both twins of what an audit of the latest model finds in the domain.

    Where the first round costs too much of the score, half of the rows get twins, then a quarter,
    those first that flip. Where that costs too much as well, the sensitive columns tell something
    that the others do not. The run then begins anew and goes little by little: with what is
    found in the latest model, near the data and in the domain, in shares of the rows from doubling
    intervals.
    Among uniform inputs alone it goes like that from the first.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._found: tuple[Any, Any] | None = None
        self._mode = "little" if self.near == "uniform" else "rows"
        #: Rounds of this run, in all and before the mode it is in.
        self._n_rounds = self._before = 0
        self._n_added = 0
        self._n_pairs = 0
        self._idle = 0
        self._n_near = 0.0
        self._any_kept = False

    def prepare(self, number: int, folds: list[TrainingFold]) -> str | None:
        """Audit the latest model in the domain, where that is asked."""
        step, little = number - self._before, self._mode == "little"
        if step == 1 or not (little or self._any_kept):
            # From the original anew, not on top of what could not be kept.
            for fold in folds:
                fold.model = fold.kept.setdefault("original", fold.model)
                fold.kept["parts"] = []
        self._found = None
        if little:
            return self._prepare_a_little(step, folds[0])
        if not self._any_kept:
            return None
        self._n_near += min(NEAR_A_ROUND * len(self.task.y), MOST_NEAR)
        if self._n_near > MOST_ADDED * len(self.task.y):
            return f"{MOST_ADDED:g} times as many inputs near the data were added as there are rows"
        if self.near == "both":
            try:
                self._look_for(max(1, int(UNIFORM_SHARE * len(self.task.y) / 2)), folds[0].model)
            except EstimatorFailedError as error:
                return f"the audit failed: {error}"
        return None

    def _prepare_a_little(self, step: int, fold: TrainingFold) -> str | None:
        if self._n_added >= len(self.task.y):
            return "as many rows were added as there are in the data"
        share = min(share_of_round(step, self.rng), 100) / 100
        self._n_pairs = max(1, int(share * len(self.task.y) / 2))
        n_near = 0
        if self.near == "both":
            self._n_pairs = max(1, self._n_pairs // 2)
        if self.near != "uniform":
            n_near = self._find_near(fold)
        if self.near != "data":
            try:
                self._look_for(self._n_pairs, fold.model)
            except EstimatorFailedError as error:
                if step == 1:
                    raise
                return f"the audit failed: {error}"
        n_pairs = n_near + (0 if self._found is None else len(self._found[0]))
        self._n_added += 2 * n_pairs
        return None if n_pairs else "the audit found nothing to add"

    def _look_for(self, n_pairs: int, model: Any) -> None:
        """Audit the domain, and keep some of the pairs that were found."""
        first, second = self.find(model)
        if len(first):
            chosen = np.arange(min(len(first), n_pairs))
            self._found = take_rows(first, chosen), take_rows(second, chosen)

    def _find_near(self, fold: TrainingFold) -> int:
        """Inputs near the data that the fold's model treats differently; how many were found."""
        Z = draw_near_rows(fold, min(LOOKED_AT * self._n_pairs, MOST_LOOKED_AT))
        differs = judge(fold.model, fold.space.without_plausibility(), Z, self.settings).differs
        fold.kept["near"] = Z[differs][: self._n_pairs]
        return len(fold.kept["near"])

    def add(self, number: int, fold: TrainingFold) -> Addition:
        """All rows of the run so far, with those of this round."""
        parts, step = fold.kept["parts"], number - self._before
        if self._mode == "little":
            # Every labeler says what it thinks now, of the model that the pairs were found in;
            # whose turn it is decides about all pairs.
            labelers = IN_TURN if self.labeler == "auto" else (self.labeler,)
            if self.near != "uniform" and fold.held.size:
                self._find_near(fold)
            parts.append([self._little(fold, labeler) for labeler in labelers])
            turn = (step - 1) % len(labelers)
            return joined([part[turn] for part in parts])
        if not self._any_kept:
            own = None if self.labeler == "auto" else self._labels_of(self.labeler)
            chosen = self._choose_rows(fold, 0.5 ** (step - 1))
            parts.append(other_twins(fold, own, chosen))
            return joined(parts)
        labeler = IN_TURN[1] if self.labeler == "auto" else self.labeler
        parts.append(near_rows(fold, self._labels_of(labeler)))
        if self._found is not None:
            parts.append(self._pairs(fold, *self._found, labeler))
        return joined(parts)

    def _choose_rows(self, fold: TrainingFold, share: float) -> Ints | None:
        """A share of a fold's rows, those first that its model treats differently; None for all."""
        if share == 1:
            return None
        differs = judge(
            fold.model, fold.space.without_plausibility(), fold.codes, self.settings
        ).differs
        order = fold.rng.permutation(len(differs))
        order = order[np.argsort(~differs[order], kind="stable")]
        return np.sort(order[: max(1, int(share * len(order)))])

    def _little(self, fold: TrainingFold, labeler: Any) -> Addition:
        """What was found in the latest model, under the labels of one labeler."""
        found = []
        if self.near != "uniform" and len(fold.kept["near"]):
            found.append(with_twins(fold, fold.kept["near"], self._labels_of(labeler)))
        if self._found is not None:
            found.append(self._pairs(fold, *self._found, labeler))
        if found:
            return joined(found)
        nothing = np.empty(0, dtype=np.intp)
        return Addition(take_rows(self.task.X, nothing), self.task.y[nothing])

    def _labels_of(self, labeler: Any) -> Any:
        return lambda pairs: label_pairs(labeler, pairs)

    def _pairs(self, fold: TrainingFold, first: Any, second: Any, labeler: Any) -> Addition:
        labels = self.label(fold, first, second, labeler)
        return Addition(stack([first, second]), np.concatenate([labels, labels]))

    def goes_on(self, outcome: Outcome) -> bool:
        """What one round leaves, the next one finds; near the data until that brings no more."""
        self._n_rounds += 1
        self._any_kept |= outcome.kept
        if self._mode == "little":
            return True
        self._idle = 0 if outcome.kept else self._idle + 1
        if self._any_kept:
            return self._idle < PATIENCE
        if self._idle >= HALVINGS:
            self._mode, self._before = "little", self._n_rounds
        return True


def share_of_round(number: int, rng: np.random.Generator) -> float:
    """A percentage from the round's interval; the intervals double: (1, 2), (2, 4), ..."""
    low = 2.0 ** (number - 1)
    return float(rng.uniform(low, 2 * low))


def check_feeds_twins(auditor: Any) -> None:
    """See that the auditor finds pairs of twins."""
    if not isinstance(auditor, BaseAuditor):
        raise TypeError(
            f"strategies 'twins' and 'aequitas' add pairs of twins; {type(auditor).__name__} finds "
            "none. Give a tester of twins (AequitasAuditor, SurrogateAuditor, ...), or use "
            "strategy='testsgd' with TestSGDAuditor."
        )


def _swap(first: Any, second: Any, swap: NDArray[np.bool_]) -> tuple[Any, Any]:
    """Pairs of which some have their twins exchanged."""
    n = len(swap)
    both = stack([first, second])
    place = np.arange(n)
    return (
        take_rows(both, np.where(swap, place + n, place)),
        take_rows(both, np.where(swap, place, place + n)),
    )
