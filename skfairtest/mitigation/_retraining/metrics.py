"""What a mitigation is measured by: shares of a model, on inputs that are the same for all models.

No label is needed to see whether twins are treated alike, so the model itself is asked, and not the
models of folds, which are others. Only for people who are not in the table the folds are needed: a
model treats its own rows, and what was made of them, a little more alike than others, and how much
so is seen in models whose rows held out are known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skfairtest._statistics import wilson_interval
from skfairtest._typing import Bools, Floats
from skfairtest.mitigation._retraining.training import TrainingFold
from skfairtest.mitigation._shares import (
    Crossings,
    Judged,
    Measure,
    affordable_inputs,
    draw_uniform,
    judge,
)
from skfairtest.space._plausible.neighbours import Crossed
from skfairtest.space._rows import stack, take_rows
from skfairtest.space._space import InputSpace
from skfairtest.workers._sending import on_workers

NO_MEASURE = Measure(np.nan, np.nan, np.nan)
#: Of shares among people, and of all other intervals of shares.
CONFIDENCE = 0.95


class TwinShares(NamedTuple):
    """How a model treats twins: on its rows, near them, in the whole domain, and unseen people.

    `rows` are those of the table, all of them where they are not very many: a count, which needs
    no interval. `unseen` are people drawn as the rows were, who are not among them; it is measured
    at last alone. `degree` is the largest difference among the uniform inputs.
    """

    rows: Measure
    near: Measure
    uniform: Measure
    degree: float
    unseen: Measure = NO_MEASURE


class Inputs(NamedTuple):
    """What models are judged on."""

    near: Crossed
    uniform: Floats


class ShareMetrics:
    """Measures models, all of them on the same inputs.

    Parameters
    ----------
    space : InputSpace
        The domain.
    folds : list of TrainingFold
        The one that holds out nothing, and the others.
    settings : dict
        How a model is asked.
    mean : bool
        Whether the mean difference of twins is measured instead of a share; see `Judged.measure`.
    n_estimates : int
        Inputs near the data, and uniform ones, by which a model is judged, and rows at most; fewer
        where an input has many twins.
    rng : Generator
        Draws the inputs.
    """

    def __init__(
        self,
        space: InputSpace,
        folds: list[TrainingFold],
        settings: dict[str, Any],
        *,
        mean: bool,
        n_estimates: int,
        rng: np.random.Generator,
    ) -> None:
        self.space = space
        self.folds = folds[1:]
        self.mean = mean
        self.n_estimates = affordable_inputs(space, n_estimates)
        self.rng = rng
        task = folds[0].task
        self._n_jobs, self._weights, self._tick = task.n_jobs, task.weights, task.tick
        self._settings = space.without_plausibility(), settings
        n_rows = len(task.y)
        self._rows = np.arange(n_rows)
        if n_rows > self.n_estimates:
            self._rows = np.sort(rng.permutation(n_rows)[: self.n_estimates])
        self._are_all = len(self._rows) == n_rows
        self._X = take_rows(space.layout.as_in_fit(task.X), self._rows)
        self._crossings = Crossings(space.with_encoded(folds[0].encoded))
        self._chosen_by = self._draw()
        self._fresh: Inputs | None = None

    def _draw(self) -> Inputs:
        return Inputs(
            self._crossings.draw(self.n_estimates, self.rng),
            draw_uniform(self.space, self.n_estimates, self.rng),
        )

    def near_table(self, rng: np.random.Generator) -> Any:
        """A table of inputs near the rows, others than those that models are measured on."""
        return self.space.decode(self._crossings.draw(self.n_estimates, rng).rows)

    def measure(self, models: list[Any], *, fresh: bool = False) -> TwinShares:
        """Shares of the first model, which is that of all rows; the others are its folds'.

        `fresh` takes inputs that no choice has seen, and asks the models of the folds about the
        rows, for the share among people who are not in the table.
        """
        if fresh and self._fresh is None:
            self._fresh = self._draw()
        inputs = self._fresh if fresh and self._fresh is not None else self._chosen_by
        # A model's inputs in one go: every first look at a model takes some calls of few rows.
        parts = [self._X, *(self.space.decode(Z) for Z in (inputs.near.rows, inputs.uniform))]
        judged = _judge(self._settings, models[0], stack(parts))
        n, n_near = len(self._rows), len(self._rows) + len(inputs.near.rows)
        rows, uniform = judged.part(0, n), judged.part(n_near, None)
        near = judged.part(n, n_near)._replace(cluster_ids=inputs.near.cluster_ids)
        return TwinShares(
            self._of_rows(rows),
            near.measure(mean=self.mean),
            uniform.measure(mean=self.mean),
            float(uniform.disparity.max(initial=0.0)),
            self._unseen(rows, models[1:]) if fresh else NO_MEASURE,
        )

    def _of_rows(self, judged: Judged) -> Measure:
        """The share among the rows, by their weights; with an interval where some were asked."""
        values = judged.values(mean=self.mean)
        weights = None if self._weights is None else self._weights[self._rows]
        share = float(np.average(values, weights=weights))
        return (
            Measure(share, share, share)
            if self._are_all
            else unseen_share(values, [], [], weights, mean=self.mean)
        )

    def _unseen(self, own: Judged, models: list[Any]) -> Measure:
        """The share among people who were drawn as the rows were."""
        alone = {} if self._n_jobs is None else {"n_jobs": None}
        needed = self._settings[0], self._settings[1] | alone
        tasks, folds = [(model, self._X) for model in models], []
        for one in on_workers(_judge, needed, tasks, self._n_jobs):
            folds.append(one.values(mean=self.mean))
            self._tick("a model is measured")
        held = [np.isin(self._rows, fold.held) for fold in self.folds]
        weights = None if self._weights is None else self._weights[self._rows]
        return unseen_share(own.values(mean=self.mean), held, folds, weights, mean=self.mean)


def unseen_share(
    own: Floats,
    held: list[Bools],
    folds: list[Floats],
    weights: Floats | None,
    *,
    mean: bool,
) -> Measure:
    """The mean of a model's values among people drawn as its rows were, who are not among them.

    That is the mean on its own rows, and what models of folds have more on the rows that they hold
    out than on those that they were trained on (the optimism). How far models of different
    trainings lie apart cancels in this difference; but another model may be less optimistic, or not
    at all, so that the interval reaches to where that of its own rows alone reaches.

    Parameters
    ----------
    own : ndarray of shape (n_rows,)
        Values of the model of all rows: 0 and 1 for a share.
    held, folds : list of ndarray of shape (n_rows,)
        Which rows each fold holds out, and the values of its model.
    weights : ndarray of shape (n_rows,) or None
        Those of the rows.
    mean : bool
        Whether values are numbers, of which a mean is taken; a share otherwise.

    References
    ----------
    .. [1] Efron, B. (1983). Estimating the error rate of a prediction rule: improvement on
       cross-validation. JASA 78, 316-331.
    """
    weight = np.ones(len(own)) if weights is None else weights
    weight = weight / weight.sum()
    value = float(weight @ own)
    # What each row adds to the estimate's deviation: the same row counts in all models.
    around = weight * (own - value)
    alone = _interval(value, around, weight, mean=mean)
    both = [
        (out, values)
        for out, values in zip(held, folds, strict=True)
        if (weight @ out > 0) and (weight @ ~out > 0)
    ]
    for out, values in both:
        for part, sign in ((out, 1), (~out, -1)):
            share = np.where(part, weight, 0.0)
            share = share / (share.sum() * len(both))
            level = float(share @ values) * len(both)
            value += sign * level / len(both)
            around += sign * share * (values - level)
    corrected = _interval(value, around, weight, mean=mean)
    return Measure(corrected.value, min(corrected.low, alone.low), max(corrected.high, alone.high))


def _interval(value: float, around: Floats, weight: Floats, *, mean: bool) -> Measure:
    """An interval from what each row adds to the deviation; Wilson's for a share."""
    error = float(np.sqrt((around**2).sum()))
    far = float(stats.norm.isf((1 - CONFIDENCE) / 2)) * error
    value = max(0.0, round(value, 12))  # sums of shares of weights
    if mean:
        return Measure(value, max(0.0, value - far), value + far)
    value = min(1.0, value)
    size = 1 / float((weight**2).sum())
    if error > 0 and 0 < value < 1:
        size = max(1.0, min(size, value * (1 - value) / error**2))
    low, high = wilson_interval(value * size, size, CONFIDENCE)
    if value in (0, 1):
        low, high = min(low, max(0.0, value - far)), max(high, min(1.0, value + far))
    return Measure(value, low, high)


def _judge(needed: tuple[InputSpace, dict[str, Any]], model: Any, X: Any) -> Judged:
    space, settings = needed
    return judge(model, space, X, settings)


def relative(shares: TwinShares, original: TwinShares, places: tuple[str, ...]) -> float:
    """What is left of the original's shares in some places: the mean of them.

    The share in the first place must not rise, whatever the others do: near the rows it is about
    people. A share that was nothing at first has no part in it, unless it has become more.
    """
    left = []
    for name in places:
        now, before = getattr(shares, name).value, getattr(original, name).value
        if before > 0:
            left.append(now / before)
        elif now > 0:
            left.append(np.inf)
    if not left:
        return 0.0
    mean = float(np.mean(left))
    return max(mean, left[0]) if left[0] > 1 else mean
