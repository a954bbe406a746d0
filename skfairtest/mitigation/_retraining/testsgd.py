"""Mitigation by the worst rule that TestSGD found: rows of a group, with the label it lacks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skfairtest._progress import ABOUT_X
from skfairtest._statistics import score_interval
from skfairtest._typing import Ints
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.group import TestSGDAuditor
from skfairtest.group._inference.counting import GivenRowSets, rule_sides
from skfairtest.group._inference.pivot import all_at_once
from skfairtest.group._pools.perturb import draw_near
from skfairtest.mitigation._retraining.rounds import Measurements
from skfairtest.mitigation._retraining.training import Addition, Task, TrainingFold
from skfairtest.mitigation._shares import Measure
from skfairtest.oracle._favourable import as_shares
from skfairtest.space._rows import take_rows
from skfairtest.space._space import InputSpace


class TestSGDRetraining:
    """The paper's strategy: rows of the original's worst rule with the rarer prediction.

    Parameters
    ----------
    task : Task
        What is trained on what.
    auditor : TestSGDAuditor
        Template of the audit.
    rng : Generator
        Source of randomness.
    """

    #: pytest takes classes named Test... for tests.
    __test__ = False
    measured = "group"
    #: How models are asked when twins are compared as well as groups.
    settings: dict[str, Any] = {"threshold": None, "response_method": "auto", "n_jobs": None}

    def __init__(self, task: Task, auditor: Any, rng: np.random.Generator) -> None:
        check_feeds_groups(auditor)
        self.task = task
        self.auditor = auditor
        self.rng = rng
        self._audited: TestSGDAuditor | None = None
        self._chosen: tuple[Any, NDArray[Any], Ints] | None = None
        self._added: Addition | None = None
        self._done = False
        self.seeds = [int(seed) for seed in rng.integers(2**31 - 1, size=2)]
        # Before any training: bad columns are an error at once.
        self.space: InputSpace = clone(auditor)._tables_of(task.X, None, None)[1].inputs.space

    @property
    def measures_mean(self) -> bool:
        """Whether differences are measured: of a regressor, whose twins nearly all differ."""
        return self.task.classes is None

    def left(self, found: Measurements, original: Measurements) -> float:
        """What is left of the original's score."""
        assert found.group is not None and original.group is not None, "groups are measured"
        return found.group.value / original.group.value if original.group.value > 0 else 0.0

    def add(self, number: int, fold: TrainingFold) -> Addition:
        """The rows of the round that the fold may learn from."""
        assert self._added is not None, "a round is prepared first"
        return fold.without_held(self._added)

    def audit(self, model: Any) -> TestSGDAuditor:
        """All rules of a model."""
        auditor = clone(self.auditor).set_params(
            estimator=FrozenEstimator(model), random_state=self.seeds[0]
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoDisparityWarning)
            warnings.filterwarnings("ignore", ABOUT_X)  # one warning is enough
            return auditor.fit(self.task.X)

    def near(self, rng: np.random.Generator) -> tuple[Ints, Any]:
        """Rows near the data, and which rows of the data they were made from."""
        # Those to add are picked from so many rows near the data.
        seeds, Z = draw_near(self.space, 20_000, rng)
        return seeds, self.space.decode(Z)

    def group(
        self, models: list[Any], folds: list[TrainingFold], *, fresh: bool = False
    ) -> Measure:
        """Score of the rule that was the worst one of the original, as in the paper."""
        model = models[0]
        if self._audited is None:
            self._audited = self.audit(model)
        audited = self._audited
        _, rows = self.near(np.random.default_rng(self.seeds[int(fresh)]))
        inside = GivenRowSets(audited.matches(rows, 0)[None])
        values = as_shares(model.predict(rows), audited.favourable_)
        binary = bool(np.isin(values, (0, 1)).all())
        sides = rule_sides(inside, values, np.ones(len(values), dtype=bool), binary=binary)
        intervals = all_at_once(sides, confidence=audited.confidence)
        least, most = score_interval(intervals.low, intervals.high)
        return Measure(float(abs(sides.difference[0])), float(least[0]), float(most[0]))

    def prepare(self, number: int, folds: list[TrainingFold]) -> str | None:
        """Rows of the original's predictions: more than in the round before, not on top of them."""
        # As in the paper: from 50 rows, twice as many in each round, to a tenth of the data.
        largest = max(1, int(0.1 * len(self.task.y)))
        if self._done:
            assert self._added is not None, "a round came before"
            return f"rounds of up to {len(self._added.labels):,} added rows were trained"
        if self._chosen is None:
            assert self._audited is not None, "the original is measured first"
            seeds, rows = self.near(self.rng)
            worst = self._audited.worst_rule_
            over_favoured = worst["value_inside"] > worst["value_outside"]
            model = folds[0].model
            values = as_shares(model.predict(rows), self._audited.favourable_)
            rarer = values < values.mean() if over_favoured else values > values.mean()
            places = np.flatnonzero(self._audited.matches(rows, 0) & rarer)
            if not len(places):
                return "no row near the worst rule gets the rarer prediction"
            rows = take_rows(rows, places)
            self._chosen = rows, np.asarray(model.predict(rows)), seeds[places]
        rows, labels, seeds = self._chosen
        largest = min(largest, len(labels))
        n = min(50 * 2 ** (number - 1), largest)
        self._done = n == largest
        places = self.rng.permutation(len(labels))[:n]
        self._added = Addition(take_rows(rows, places), labels[places], seeds[places])
        return None

    def goes_on(self, kept: bool) -> bool:
        """Always: the lowest score of all sizes is wanted."""
        return True


def check_feeds_groups(auditor: Any) -> None:
    """See that the auditor ranks rules over columns of a table."""
    if not isinstance(auditor, TestSGDAuditor):
        raise TypeError(
            "strategy 'testsgd' adds rows of a group that a rule describes; "
            f"{type(auditor).__name__} finds none. Give a TestSGDAuditor, or use "
            "strategy='twins'."
        )
