"""Mitigation by the rules that TestSGD found: rows of a group, with the label it lacks."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.frozen import FrozenEstimator

from skfairtest._progress import ABOUT_X
from skfairtest._statistics import score_interval
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.group import TestSGDAuditor
from skfairtest.group._inference.counting import GivenRowSets, pattern_sides
from skfairtest.group._inference.pivot import all_at_once
from skfairtest.group._pools.perturb import draw_near
from skfairtest.mitigation._retraining.rounds import Findings, Outcome
from skfairtest.mitigation._retraining.training import Addition, Task, TrainingFold
from skfairtest.mitigation._shares import Measure
from skfairtest.oracle._favourable import as_shares, is_favourable
from skfairtest.space._rows import stack, take_rows
from skfairtest.space._space import InputSpace

Values = NDArray[Any]

#: Rows added in the first round, and the largest share of the training rows, as in the paper.
FIRST = 50
LARGEST = 0.1
#: Rows drawn near the data, to pick those to add from.
POOL = 20_000
#: The own strategy: rules that a round works on, all those with a score of nearly the worst
#: one's, and how many of them at most.
NEARLY = 0.8
MOST_RULES = 100
#: Rows of its first round as a share of the training rows, and how many times as many each adds.
FIRST_SHARE = 0.02
GROWTH = 1.35
#: How often a round that cost too much is halved before the size is taken to be not the reason.
MOST_HALVINGS = 3
#: What a row costs at the boundary itself, as a part of what it costs where the model is surest.
LEAST_COST = 0.02


class Groups:
    """What the two strategies have in common: audits, rows near the data and their predictions.

    The labels are the strategies' own, and the auditor says how many rows an estimate takes.

    Parameters
    ----------
    task : Task
        What is trained on what.
    auditor : TestSGDAuditor
        Template of the audits.
    rng : Generator
        Source of randomness.
    """

    measured = "group"
    #: How models are asked when twins are compared beside the groups.
    settings: dict[str, Any] = {"threshold": None, "response_method": "auto", "n_jobs": None}

    def __init__(self, task: Task, auditor: Any, rng: np.random.Generator) -> None:
        check_feeds_groups(auditor)
        self.task = task
        self.auditor = auditor
        self.rng = rng
        self._audits: dict[int, tuple[Any, TestSGDAuditor]] = {}
        self._added: Addition | None = None
        self.seeds = [int(seed) for seed in rng.integers(2**31 - 1, size=2)]
        # Before any training: bad columns are told at once.
        self.space: InputSpace = clone(auditor)._tables_of(task.X, None, None)[1].inputs.space

    @property
    def measures_mean(self) -> bool:
        """Whether differences are measured: of a regressor, whose twins nearly all differ."""
        return self.task.classes is None

    def left(self, found: Findings, original: Findings) -> float:
        """What is left of the original's score."""
        assert found.group is not None and original.group is not None, "groups are measured"
        return found.group.value / original.group.value if original.group.value > 0 else 0.0

    def add(self, number: int, fold: TrainingFold) -> Addition:
        """The rows of the round that the fold may learn from."""
        assert self._added is not None, "a round is prepared first"
        return fold.without_held(self._added)

    def audit(self, model: Any, *, fresh: bool = False) -> TestSGDAuditor:
        """All rules of a model, on the pool that rounds are judged by, or on another."""
        if not fresh and id(model) in self._audits:
            return self._audits[id(model)][1]
        auditor = clone(self.auditor).set_params(
            estimator=FrozenEstimator(model), random_state=self.seeds[int(fresh)]
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoDisparityWarning)
            warnings.filterwarnings("ignore", ABOUT_X)  # said once
            auditor.fit(self.task.X)
        if not fresh:
            # What a round is measured by is what the next one is made from. The model is kept, as
            # its number would be another's once it is gone.
            self._audits[id(model)] = model, auditor
        return auditor

    def near(self, rng: np.random.Generator) -> tuple[Ints, Any]:
        """Rows near the data, and which rows of the data they were made from."""
        seeds, Z = draw_near(self.space, POOL, rng)
        return seeds, self.space.decode(Z)


class TestSGDRetraining(Groups):
    """The paper's strategy: rows of the original's worst rule with the rarer prediction."""

    #: pytest takes classes named Test... for tests.
    __test__ = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._audited: TestSGDAuditor | None = None
        self._chosen: Block | None = None
        self._done = False

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
        sides = pattern_sides(inside, values, np.ones(len(values), dtype=bool), binary=binary)
        intervals = all_at_once(sides, confidence=audited.confidence)
        least, most = score_interval(intervals.low, intervals.high)
        return Measure(float(abs(sides.difference[0])), float(least[0]), float(most[0]))

    def prepare(self, number: int, folds: list[TrainingFold]) -> str | None:
        """Rows of the original's predictions: more than in the round before, not on top of them."""
        largest = max(1, int(LARGEST * len(self.task.y)))
        if self._done:
            assert self._added is not None, "a round came before"
            return f"rounds of up to {len(self._added.labels):,} added rows were trained"
        if self._chosen is None:
            assert self._audited is not None, "the original is measured first"
            seeds, rows = self.near(self.rng)
            over = over_favoured(self._audited, 0)
            model = folds[0].model
            values = as_shares(model.predict(rows), self._audited.favourable_)
            rarer = values < values.mean() if over else values > values.mean()
            places = np.flatnonzero(self._audited.matches(rows, 0) & rarer)
            if not len(places):
                return "no row near the worst rule gets the rarer prediction"
            rows = take_rows(rows, places)
            self._chosen = Block(rows, np.asarray(model.predict(rows)), seeds[places])
        largest = min(largest, len(self._chosen.labels))
        n = min(FIRST * 2 ** (number - 1), largest)
        self._done = n == largest
        places = self.rng.permutation(len(self._chosen.labels))[:n]
        self._added = Addition(*self._chosen.take(places))
        return None

    def goes_on(self, outcome: Outcome) -> bool:
        """Always: the lowest score of all sizes is wanted."""
        return True


class Block(NamedTuple):
    """Rows of one round, the most useful first, their labels, and the rows they were made from."""

    rows: Any
    labels: Values
    seeds: Ints

    def take(self, places: Ints) -> Block:
        """Some of the rows."""
        return Block(take_rows(self.rows, places), self.labels[places], self.seeds[places])


class GroupRetraining(Groups):
    """Our own strategy: rows that tell the worst rules of the latest model apart, relabelled.

    The paper's rows say what the model says already, which a model that remembers its training rows
    does not learn from. Here rows get the label that the model does not predict for them, where
    that lowers the worst scores most at the least cost: a row inside of many bad rules, or
    outside of them all, about which the model is not sure. A round that costs too much is tried
    again with half its rows, so the run ends near the limit and not a whole step before it.
    Where an eighth of them does not help, the score is mostly chance (a network that ends up
    anywhere, a small validation part), and larger rounds have as good a chance as smaller ones.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._blocks: list[Block] = []
        self._size: float = FIRST_SHARE * len(self.task.y)
        self._factor = GROWTH
        self._halvings = 0
        self._good = True
        self._base: Any = None

    def group(
        self, models: list[Any], folds: list[TrainingFold], *, fresh: bool = False
    ) -> Measure:
        """Score of the worst rule, whichever that is, with its simultaneous interval."""
        worst = self.audit(models[0], fresh=fresh).worst_rule_
        return Measure(float(worst["score"]), float(worst["low"]), float(worst["high"]))

    def prepare(self, number: int, folds: list[TrainingFold]) -> str | None:
        """Rows for the latest good model on top of earlier ones, or half of those that failed."""
        model = folds[0].model
        if self._good:
            self._base, self._halvings = model, 0
            block = self._choose(model, max(1, round(self._size)))
        else:
            block = self._step_back()
        if block is None:
            return "no row near the worst rules has a prediction to change"
        self._size *= self._factor
        self._blocks.append(block)
        self._added = Addition(
            stack([block.rows for block in self._blocks]),
            np.concatenate([block.labels for block in self._blocks]),
            np.concatenate([block.seeds for block in self._blocks]),
        )
        return None

    def _step_back(self) -> Block | None:
        """Half of the last rows instead of them, or twice those that were halved in vain."""
        block = self._blocks.pop()
        n = len(block.labels)
        if self._halvings < MOST_HALVINGS and n > 1:
            self._halvings += 1
            self._size, self._factor = n // 2, 0.5
            return block.take(np.arange(n // 2))
        self._size, self._factor = 2.0 ** (self._halvings + 1) * n, GROWTH
        self._halvings = 0
        return self._choose(self._base, round(self._size))

    def _choose(self, model: Any, n: int) -> Block | None:
        """The n rows that lower the worst scores most at the least cost, with the other label."""
        audited = self.audit(model)
        seeds, rows = self.near(self.rng)
        values = as_shares(model.predict(rows), audited.favourable_)
        gain = pull(audited, rows)
        high = values > values.mean()
        places = np.flatnonzero(np.where(high, gain > 0, gain < 0))
        if not len(places):
            return None
        price = cost(distance(model, rows, values)[places]) / np.abs(gain[places])
        places = places[np.argsort(price, kind="stable")[:n]]
        table = take_rows(rows, places)
        return Block(table, self._other(model, table, audited.favourable_, high[places]),
                     seeds[places])  # fmt: skip

    def _other(self, model: Any, rows: Any, favoured: Any, high: Bools) -> Values:
        """The prediction on the other side: unfavourable for rows with a favourable one."""
        if self.task.classes is None:
            # Half way back to the mean: targets far from any prediction would bend a regression.
            answers = np.asarray(model.predict(rows), dtype=np.float64)
            return (answers + self.task.y.mean()) / 2
        good = is_favourable(self.task.classes, favoured)
        places = np.arange(len(self.task.classes))
        counts = np.array([(self.task.y == label).sum() for label in self.task.classes])
        # Of several labels on the wanted side the most frequent one.
        lower, raised = (places[side][counts[side].argmax()] for side in (~good, good))
        return self.task.classes[np.where(high, lower, raised)]

    def goes_on(self, outcome: Outcome) -> bool:
        """Always: what one round leaves, or does too much of, the next one makes up for."""
        self._good = outcome.good
        return True


def check_feeds_groups(auditor: Any) -> None:
    """See that the auditor ranks rules over columns of a table."""
    if not isinstance(auditor, TestSGDAuditor):
        raise TypeError(
            "strategies 'groups' and 'testsgd' add rows of groups that rules describe; "
            f"{type(auditor).__name__} finds none. Give a TestSGDAuditor, or use "
            "strategy='twins'."
        )


def pull(audited: TestSGDAuditor, rows: Any) -> Floats:
    """How much less the worst scores were, if a row had a lower prediction; below 0: a higher one.

    Summed over the rules that are nearly the worst, each by how far it is above the others: a
    rule taken by itself gets better at the expense of the next one.
    """
    scores = audited.rules_["score"].to_numpy(dtype=np.float64)
    least = NEARLY * scores[0]
    gain = np.zeros(len(rows))
    for rule in range(min(MOST_RULES, int((scores >= least).sum()))):
        inside = audited.matches(rows, rule)
        share = inside.mean()
        if 0 < share < 1:
            weight = scores[rule] - least if over_favoured(audited, rule) else least - scores[rule]
            gain += weight * np.where(inside, 1 / share, -1 / (1 - share))
    return gain


def cost(sure: Floats) -> Floats:
    """What another prediction costs, from next to nothing at the boundary up to one."""
    spread = np.ptp(sure)
    return LEAST_COST + (sure - sure.min()) / (spread if spread > 0 else 1.0)


def over_favoured(audited: TestSGDAuditor, rule: int) -> bool:
    """Whether a group gets more favourable predictions than the others do."""
    row = audited.rules_.iloc[rule]
    return bool(row["value_inside"] > row["value_outside"])


def distance(model: Any, rows: Any, values: Floats) -> Floats:
    """How sure the model is of each prediction; zeros where it does not say."""
    if hasattr(model, "predict_proba"):
        scores = np.asarray(model.predict_proba(rows))
        return np.asarray(scores.max(axis=1), dtype=np.float64)
    if hasattr(model, "decision_function"):
        scores = np.abs(np.asarray(model.decision_function(rows), dtype=np.float64))
        return scores if scores.ndim == 1 else np.asarray(scores.max(axis=1))
    return np.abs(values - values.mean()) if is_regressor(model) else np.zeros(len(values))
