"""Mitigation by the pairs of twins that an audit found: Aequitas's Algorithm 5, and our own way."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skfairtest._typing import Floats
from skfairtest.base import BaseAuditor
from skfairtest.exceptions import EstimatorFailedError, NoDisparityWarning
from skfairtest.mitigation._estimate import DiscriminationEstimate, estimate_on
from skfairtest.mitigation._labelers import FoundPairs, Panel, label_pairs
from skfairtest.mitigation._rounds import Addition, Measure
from skfairtest.mitigation._training import Task
from skfairtest.space._rows import stack, take_rows

Values = NDArray[Any]

#: Combinations of sensitive values up to which an estimate takes all the inputs it is allowed.
FEW_COMBINATIONS = 8
LEAST_ESTIMATES = 500
#: The labelers of "auto". For trees and networks, the majority is ahead; linear models
#: cannot follow it, and the average of their own predictions is (see
#: examples/benchmarks/bench_mitigate.py).
IN_TURN = ("majority", "average")


class Twins:
    """What the two ways have in common: the audits, the labels and the estimates.

    Parameters
    ----------
    task : Task
        What is trained on what.
    auditor : auditor
        Template of a tester of twins.
    labeler : str or callable
        See `FairnessRetrainer`.
    n_estimates : int
        Uniform inputs of one estimate.
    rng : Generator
        Source of randomness.
    """

    both = True
    #: Thousands of uniform inputs make the difference here, and not the last point of a score.
    folds = None

    def __init__(
        self, task: Task, auditor: Any, labeler: Any, n_estimates: int, rng: np.random.Generator
    ) -> None:
        check_feeds_twins(auditor)
        self.task = task
        self.auditor = auditor
        self.labeler = labeler
        self.rng = rng
        self.space = clone(auditor)._make_space(task.X)
        self.panel = Panel(
            self.space,
            task.X,
            task.y,
            regression=task.classes is None,
            seed=int(rng.integers(2**31 - 1)),
        )
        self.settings = auditor._oracle_settings()
        few = FEW_COMBINATIONS / self.space.n_twins
        self.n_estimates = max(min(LEAST_ESTIMATES, n_estimates), int(n_estimates * min(1.0, few)))
        # The same inputs for every model: what differs is the model.
        self._chosen_by = self.space.sample(self.n_estimates, rng, uniform=True)
        self._fresh: Floats | None = None

    def estimate(self, model: Any, *, fresh: bool = False) -> DiscriminationEstimate:
        """Share of discriminatory inputs on the sample that rounds are judged by, or another."""
        if fresh and self._fresh is None:
            self._fresh = self.space.sample(self.n_estimates, self.rng, uniform=True)
        Z = self._fresh if fresh and self._fresh is not None else self._chosen_by
        return estimate_on(model, self.space, Z, settings=self.settings)

    def measure(self, model: Any, *, fresh: bool = False) -> Measure:
        """The share with its interval; of a regressor without a threshold the degree."""
        result = self.estimate(model, fresh=fresh)
        if self.task.classes is None and self.auditor.threshold is None:
            # Twins with predictions that differ at all are nearly all inputs: the share tells
            # nothing.
            return Measure(result.degree, np.nan, np.nan)
        return Measure(result.rate, result.low, result.high)

    def find(self, model: Any) -> tuple[Any, Any]:
        """Discriminatory inputs and their counterfactuals, in random order."""
        seed = int(self.rng.integers(2**31 - 1))
        auditor = self.auditor._in_space(
            self.space, estimator=FrozenEstimator(model), random_state=seed
        )
        with warnings.catch_warnings():
            # That nothing is found is the reason why the course ends, which is told in its own
            # words.
            warnings.simplefilter("ignore", NoDisparityWarning)
            auditor.fit(self.task.X)
        first, second = auditor.discriminatory_inputs_, auditor.counterfactuals_
        order = self.rng.permutation(len(first))
        return take_rows(first, order), take_rows(second, order)

    def label(self, model: Any, first: Any, second: Any, labeler: Any) -> Values:
        """One label a pair."""
        pairs = FoundPairs(first, second, self.both, model, self.panel, self.task.classes)
        return label_pairs(labeler, pairs)

    def share_of_round(self, number: int) -> float:
        """A percentage from the round's interval; the intervals double: (1, 2), (2, 4), ..."""
        low = 2.0 ** (number - 1)
        return float(self.rng.uniform(low, 2 * low))


class AequitasRetraining(Twins):
    """Algorithm 5: shares of what was found in the original, one row each, until nothing falls."""

    both = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._test: tuple[Any, Any] | None = None

    def propose(self, number: int, model: Any) -> Addition | str:
        """A random part of what was found in the original, not on top of earlier rounds."""
        percent = self.share_of_round(number)
        if percent > 100:
            return "the next share is above 100%"
        if self._test is None:
            first, second = self.find(model)
            if not len(first):
                return "the audit found nothing to add"
            # Which of two twins a search has met is chance.
            swap = self.rng.random(len(first)) < 0.5
            self._test = _swap(first, second, swap)
            labeler = IN_TURN[0] if self.labeler == "auto" else self.labeler
            self._labels = self.label(model, *self._test, labeler)
        n = max(1, int(percent * len(self.task.y) / 100))
        rows = self.rng.permutation(len(self._labels))[:n]
        return Addition(take_rows(self._test[0], rows), self._labels[rows])

    def goes_on(self, *, kept: bool, good: bool) -> bool:
        """Whether the share fell."""
        return kept


class TwinRetraining(Twins):
    """Both twins of what is found, under one label; every round audits the latest model."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._labelers = IN_TURN if self.labeler == "auto" else (self.labeler,)
        self._rows: list[Any] = []
        self._labels: list[list[Values]] = [[] for _ in self._labelers]

    def propose(self, number: int, model: Any) -> Addition | str:
        """Discriminatory inputs of the latest model, on top of those of earlier rounds."""
        n_so_far = sum(map(len, self._rows))
        percent = min(self.share_of_round(number), 100)
        if n_so_far >= len(self.task.y):
            return "as many rows were added as there are in the training part"
        try:
            first, second = self.find(model)
        except EstimatorFailedError as error:
            if not self._rows:
                raise
            return f"the audit failed: {error}"
        if not len(first):
            return "the audit found nothing to add"
        chosen = np.arange(min(len(first), max(1, int(percent * len(self.task.y) / 200))))
        first, second = take_rows(first, chosen), take_rows(second, chosen)
        self._rows += [first, second]
        # Every labeler says what it thinks now, of the model that the pairs were found in; whose
        # turn it is decides about all pairs.
        for labeler, labels in zip(self._labelers, self._labels, strict=True):
            labels += [self.label(model, first, second, labeler)] * 2
        turn = (number - 1) % len(self._labelers)
        return Addition(stack(self._rows), np.concatenate(self._labels[turn]))

    def goes_on(self, *, kept: bool, good: bool) -> bool:
        """Always: what one round leaves, the next one finds."""
        return True


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
