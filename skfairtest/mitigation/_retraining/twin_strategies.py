"""Mitigation by twins: of the data, near them, and of what an audit of the domain found."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.base import BaseAuditor
from skfairtest.exceptions import EstimatorFailedError, NoDisparityWarning
from skfairtest.mitigation._labelers import (
    Ensemble,
    FoundPairs,
    average_label,
    label_pairs,
    majority_label,
)
from skfairtest.mitigation._retraining.metrics import relative
from skfairtest.mitigation._retraining.near_rows import (
    draw_near_rows,
    joined,
    n_near_rows,
    near_rows,
    other_twins,
    twins_of,
    with_twins,
)
from skfairtest.mitigation._retraining.rounds import Measurements
from skfairtest.mitigation._retraining.training import Addition, TrainingFold
from skfairtest.mitigation._shares import MOST_COMPARED, Measure
from skfairtest.oracle._cached_model import at_wanted
from skfairtest.oracle._compare import compare
from skfairtest.oracle._model import PROBE_ROWS, Model
from skfairtest.space._rows import stack, take_rows

Values = NDArray[Any]


class Learned(Protocol):
    """What labels come from."""

    @property
    def model(self) -> Any:
        """The latest model."""

    @property
    def ensemble(self) -> Ensemble:
        """Diverse models of the same rows."""


class TwinStrategy:
    """What the two strategies have in common: audits of the domain, and labels.

    Parameters
    ----------
    task : Task
        What is trained on what.
    auditor : auditor
        Template of a tester of twins.
    rng : Generator
        Source of randomness.
    """

    both = True
    measured = "group"

    def __init__(self, task: Any, auditor: Any, rng: np.random.Generator) -> None:
        check_feeds_twins(auditor)
        self.task = task
        self.auditor = auditor
        self.rng = rng
        self.space = clone(auditor)._make_space(task.X)
        self.settings = auditor._response_settings()
        self._any_kept = False
        self._idle = 0

    def is_patient(self, kept: bool) -> bool:
        """Note whether a round was kept; whether it is worth going on as before.

        Twins of rows are tried three times, each time of half as many, and so is what is found
        little by little. Once a round was kept, two in a row that bring nothing are enough.
        """
        self._any_kept |= kept
        self._idle = 0 if kept else self._idle + 1
        return self._idle < (2 if self._any_kept else 3)

    @property
    def measures_mean(self) -> bool:
        """Whether differences are measured, of a regressor without a threshold."""
        return self.task.classes is None and self.auditor.threshold is None

    def group(
        self, models: list[Any], folds: list[TrainingFold], *, fresh: bool = False
    ) -> Measure | None:
        """Nothing: groups are not looked at."""
        return None

    def left(self, found: Measurements, original: Measurements) -> float:
        """What is left of the original's shares near the rows and among uniform inputs."""
        return relative(found.shares, original.shares, ("near", "uniform"))

    def find(self, model: Any, n_pairs: int) -> tuple[Any, Any]:
        """Discriminatory inputs and their counterfactuals, in random order.

        The audit ends when it has found twice as many as are wanted.
        """
        seed = int(self.rng.integers(2**31 - 1))
        auditor = self.auditor._in_space(
            self.space, estimator=FrozenEstimator(model), random_state=seed
        )
        if auditor.max_found is None:
            auditor.set_params(max_found=2 * n_pairs)  # among which those that are taken are drawn
        with warnings.catch_warnings():
            # That nothing is found is the reason why the run ends, which has a message of its own.
            warnings.simplefilter("ignore", NoDisparityWarning)
            auditor.fit(self.task.X)
        first, second = auditor.discriminatory_inputs_, auditor.counterfactuals_
        order = self.rng.permutation(len(first))
        return take_rows(first, order), take_rows(second, order)

    def label(self, fold: Learned, first: Any, second: Any, labeler: Any) -> Values:
        """One label per pair."""
        pairs = FoundPairs(first, second, self.both, fold.model, fold.ensemble, self.task.classes)
        return label_pairs(labeler, pairs)


class AequitasRetraining(TwinStrategy):
    """Algorithm 5: shares of what was found in the original, one row each, until nothing falls."""

    both = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._test: tuple[Any, Any] | None = None
        self._rows = np.empty(0, dtype=np.intp)

    def left(self, found: Measurements, original: Measurements) -> float:
        """What is left of the share of uniform inputs, which the paper looks at."""
        return relative(found.shares, original.shares, ("uniform",))

    def prepare(self, number: int, folds: list[TrainingFold]) -> str | None:
        """A random part of what was found in the original, not on top of earlier rounds."""
        percent = share_of_round(number, self.rng)
        if percent > 100:
            return "the next share is above 100%"
        if self._test is None:
            first, second = self.find(folds[0].model, len(self.task.y))
            if not len(first):
                return "the audit found nothing to add"
            # No more than can be added are labelled. Which of two twins a search has met is chance.
            some = np.arange(min(len(first), len(self.task.y)))
            swap = self.rng.random(len(some)) < 0.5
            self._test = _swap(take_rows(first, some), take_rows(second, some), swap)
        n = max(1, int(percent * len(self.task.y) / 100))
        self._rows = self.rng.permutation(len(self._test[0]))[:n]
        return None

    def add(self, number: int, fold: TrainingFold) -> Addition:
        """Those rows, labelled by what the fold's original says."""
        assert self._test is not None, "a round is prepared first"
        if "labels" not in fold.kept:
            fold.kept["labels"] = self.label(fold, *self._test, majority_label)
        return Addition(take_rows(self._test[0], self._rows), fold.kept["labels"][self._rows])

    def goes_on(self, kept: bool) -> bool:
        """Whether the share fell."""
        return kept


class TwinRetraining(TwinStrategy):
    """Twins under one label: of the rows, of inputs near them, of what audits of the domain find.

    The first round adds twins of all rows, which makes the sensitive columns tell nothing. Later
    rounds add inputs near the data on top, and both twins of what an audit of the latest model
    finds in the domain.

    Where the first round costs too much of the score, half of the rows get twins, then a quarter,
    those first that flip. Where that costs too much as well, the sensitive columns tell something
    that the others do not. The run then begins anew and goes little by little: with what is
    found in the latest model, near the data and in the domain, in shares of the rows from doubling
    intervals.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._found: tuple[Any, Any] | None = None
        self._little = False
        #: Rounds in all, and before those that go little by little.
        self._n_rounds = self._before = 0
        self._n_added = 0
        self._n_pairs = 0
        self._n_near = 0

    def prepare(self, number: int, folds: list[TrainingFold]) -> str | None:
        """Audit the latest model in the domain, where that is asked."""
        step = number - self._before
        if step == 1 or not (self._little or self._any_kept):
            # From the original anew, not on top of what could not be kept.
            for fold in folds:
                fold.model = fold.kept.setdefault("original", fold.model)
                fold.kept["parts"] = []
        self._found = None
        if self._little:
            return self._prepare_a_little(step, folds[0])
        if not self._any_kept:
            return None
        self._n_near += n_near_rows(len(self.task.y))
        if self._n_near > 4 * len(self.task.y):
            return "4 times as many inputs near the data were added as there are rows"
        # Uniform inputs, which are added to those near the data: a quarter of the rows.
        n_pairs = max(1, int(0.25 * len(self.task.y) / 2))
        return self._look_for(n_pairs, folds[0].model)

    def _prepare_a_little(self, step: int, fold: TrainingFold) -> str | None:
        if self._n_added >= len(self.task.y):
            return "as many rows were added as there are in the data"
        share = min(share_of_round(step, self.rng), 100) / 100
        self._n_pairs = max(1, int(share * len(self.task.y) / 4))  # in each of the two places
        failed = self._look_for(self._n_pairs, fold.model)
        if failed is not None:
            return failed
        n_found = 0 if self._found is None else len(self._found[0])
        n_found += self._find_near(fold)
        self._n_added += 2 * n_found
        return None if n_found else "the audit found nothing to add"

    def _look_for(self, n_pairs: int, model: Any) -> str | None:
        """Audit the domain, and keep some of the pairs that were found; why that failed."""
        try:
            first, second = self.find(model, n_pairs)
        except EstimatorFailedError as error:
            return f"the audit failed: {error}"
        if len(first):
            chosen = np.arange(min(len(first), n_pairs))
            self._found = take_rows(first, chosen), take_rows(second, chosen)
        return None

    def _find_near(self, fold: TrainingFold) -> int:
        """Inputs near the data that the fold's model treats differently; how many were found."""
        # Twenty for each that is to be found, or as few as that takes.
        Z = draw_near_rows(fold, min(20 * self._n_pairs, 20_000))
        found: list[Floats] = []
        start, size = 0, max(100, 4 * self._n_pairs)
        while start < len(Z) and sum(map(len, found)) < self._n_pairs:
            part = Z[start : start + size]
            found.append(part[self._differs(fold, part)])
            start, size = start + size, 2 * size
        fold.kept["near"] = np.concatenate([Z[:0], *found])[: self._n_pairs]
        return len(fold.kept["near"])

    def _differs(self, fold: TrainingFold, Z: Floats) -> Bools:
        """Which encoded inputs a fold's latest model treats differently, in one call of it."""
        if fold.asked is None or fold.asked.estimator is not fold.model:
            asked = {name: self.settings[name] for name in ("response_method", "n_jobs")}
            fold.asked = Model(fold.model, fold.space, **asked)
            fold.asked.probe(fold.encoded[:PROBE_ROWS])
        twins, exists = twins_of(fold, Z, MOST_COMPARED)
        answers = fold.asked.ask(twins[exists])
        scores, labels = at_wanted(exists.ravel(), *answers)
        return compare(
            scores.reshape(*exists.shape, -1),
            labels.reshape(exists.shape),
            exists,
            response=fold.asked.response,
            threshold=self.settings["threshold"],
            single=fold.asked.single,
        ).verdict

    def add(self, number: int, fold: TrainingFold) -> Addition:
        """All rows of the run so far, with those of this round."""
        parts = fold.kept["parts"]
        if self._little:
            if fold.held.size:
                self._find_near(fold)
            if len(fold.kept["near"]):
                parts.append(with_twins(fold, fold.kept["near"]))
        elif not self._any_kept:
            parts.append(other_twins(fold, self._choose_rows(fold, 0.5 ** (number - 1))))
        else:
            parts.append(near_rows(fold))
        if self._found is not None:
            first, second = self._found
            labels = self.label(fold, first, second, average_label)
            parts.append(Addition(stack([first, second]), np.concatenate([labels, labels])))
        if parts:
            return joined(parts)
        nothing = np.empty(0, dtype=np.intp)
        return Addition(take_rows(self.task.X, nothing), self.task.y[nothing])

    def _choose_rows(self, fold: TrainingFold, share: float) -> Ints | None:
        """A share of a fold's rows, those first that its model treats differently; None for all."""
        if share == 1:
            return None
        if "flips" not in fold.kept:  # those of the original, from which each share begins
            fold.kept["flips"] = self._differs(fold, fold.encoded)
        differs = fold.kept["flips"]
        order = fold.rng.permutation(len(differs))
        order = order[np.argsort(~differs[order], kind="stable")]
        return np.sort(order[: max(1, int(share * len(order)))])

    def goes_on(self, kept: bool) -> bool:
        """What one round leaves, the next one finds, until that brings no more."""
        self._n_rounds += 1
        is_patient = self.is_patient(kept)
        if is_patient or self._little or self._any_kept:
            return is_patient
        self._little, self._before, self._idle = True, self._n_rounds, 0
        return True


def share_of_round(number: int, rng: np.random.Generator) -> float:
    """A percentage from the round's interval; the intervals double: (1, 2), (2, 4), ..."""
    low = 2.0 ** (number - 1)
    return float(rng.uniform(low, 2 * low))


def check_feeds_twins(auditor: Any) -> None:
    """See that the auditor finds pairs of twins."""
    if not isinstance(auditor, BaseAuditor):
        raise TypeError(
            "strategies 'twins', 'aequitas' and 'moved' need a tester of twins; "
            f"{type(auditor).__name__} finds none. Give a tester of twins (AequitasAuditor, "
            "SurrogateAuditor, ...), or use strategy='testsgd' with TestSGDAuditor."
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
