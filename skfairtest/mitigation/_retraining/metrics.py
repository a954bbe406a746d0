"""What a mitigation is measured by: three shares, on inputs that are the same for all models."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skfairtest._statistics import wilson_interval
from skfairtest._typing import Floats
from skfairtest.mitigation._retraining.training import TrainingFold, each_once
from skfairtest.mitigation._shares import (
    Crossings,
    Judged,
    Measure,
    affordable_inputs,
    draw_uniform,
    judge,
    together,
)
from skfairtest.space._plausible.neighbours import Crossed
from skfairtest.space._rows import stack, take_rows
from skfairtest.space._space import InputSpace
from skfairtest.workers._sending import on_workers


class TwinShares(NamedTuple):
    """How a model treats twins: on rows held out, near them, in the whole domain.

    `degree` is the largest difference among the uniform inputs, which alone are about the model of
    all rows.
    """

    rows: Measure
    near: Measure
    uniform: Measure
    degree: float


class Inputs(NamedTuple):
    """What models are judged on: for each fold its rows and inputs near them, and uniform inputs.

    `rows` and `near` have one entry a fold, judged by the model that was trained without the fold.
    """

    rows: list[Any]
    near: list[Crossed]
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
        # A row that is held out again is no further person.
        n_folds = each_once([fold.held for fold in folds[1:]], len(folds[0].rows))
        self.folds = folds[1 : 1 + n_folds]
        self.mean = mean
        self.n_estimates = affordable_inputs(space, n_estimates)
        self.rng = rng
        self._n_jobs = folds[0].task.n_jobs
        # A model is judged where it was sent, in one go. It asks for no workers of its own, unless
        # the auditor alone was given a number of jobs.
        alone = {} if self._n_jobs is None else {"n_jobs": None}
        self._needed = space.without_plausibility(), settings | alone
        encoded, self._X = folds[0].encoded, space.layout.as_in_fit(folds[0].task.X)
        self._weights = folds[0].task.weights
        self._crossings = [Crossings(space.with_encoded(encoded[fold.held])) for fold in self.folds]
        self._chosen_by = self._draw()
        self._fresh: Inputs | None = None

    def _draw(self) -> Inputs:
        n_rows = sum(len(fold.held) for fold in self.folds)
        rows, near = [], []
        for fold, crossings in zip(self.folds, self._crossings, strict=True):
            held = fold.held
            share = len(held) / n_rows
            most = max(1, round(self.n_estimates * share))
            if len(held) > most:
                held = np.sort(self.rng.permutation(held)[:most])
            rows.append(held)
            near.append(crossings.draw(most, self.rng))
        self._rows = rows
        return Inputs(
            [take_rows(self._X, held) for held in rows],
            near,
            draw_uniform(self.space, self.n_estimates, self.rng),
        )

    def measure(self, models: list[Any], *, fresh: bool = False) -> TwinShares:
        """Shares of a model of all rows and of its folds' models, which come after it.

        `fresh` takes inputs near the data and uniform ones that no choice has seen. The rows stay
        the same, and nothing is chosen by them.
        """
        if fresh and self._fresh is None:
            drawn, held = self._rows, self._chosen_by.rows
            self._fresh = self._draw()._replace(rows=held)
            self._rows = drawn
        inputs = self._fresh if fresh and self._fresh is not None else self._chosen_by
        # A model's inputs in one go: every first look at a model takes some calls of few rows.
        decode = self.space.decode
        tasks = [(models[0], decode(inputs.uniform))]
        tasks += [
            (model, stack([held, decode(near_held.rows)]))
            for model, held, near_held in zip(models[1:], inputs.rows, inputs.near, strict=False)
        ]
        uniform, *of_folds = on_workers(_judge, self._needed, tasks, self._n_jobs)
        rows, near = [], []
        for judged, Z, crossed in zip(of_folds, inputs.rows, inputs.near, strict=True):
            rows.append(judged.part(0, len(Z)))
            near.append(judged.part(len(Z), None)._replace(cluster_ids=crossed.cluster_ids))
        return TwinShares(
            self._of_rows(together(rows)),
            together(near).measure(mean=self.mean),
            uniform.measure(mean=self.mean),
            float(uniform.disparity.max(initial=0.0)),
        )

    def _of_rows(self, judged: Judged) -> Measure:
        """The share among rows, by their weights where they have some."""
        if self._weights is None or self.mean:
            return judged.measure(mean=self.mean)
        weights = self._weights[np.concatenate(self._rows)]
        share = float(weights @ judged.differs / weights.sum())
        # As many rows of equal weight tell as much.
        n = weights.sum() ** 2 / (weights**2).sum()
        return Measure(share, *wilson_interval(share * n, n, 0.95))


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
