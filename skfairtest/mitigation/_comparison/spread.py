"""How far single trainings of a method lie apart, which an interval about one of them reckons with.

All trainings are asked about the same inputs near the rows, so that what differs is the training
and not the rows, as where a `FairnessRetrainer` is judged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.mitigation._cached_predictions import CachedPredictions, score_of_rows
from skfairtest.mitigation._comparison.methods import ComparisonContext
from skfairtest.mitigation._comparison.one_fold import FoldResult
from skfairtest.mitigation._retraining.judge import N_DRAWS, expected_classes, spread_of


class Spread:
    """Standard deviations of a single training's change about the mean of the folds'.

    Parameters
    ----------
    context : ComparisonContext
        What is compared, with inputs near the rows.
    originals : list of FoldResult
        The trainings of the original.
    predicted : ndarray of shape (n_rows,)
        Its predictions for the rows held out.
    rng : Generator
        Draws labels of the inputs, as the original models expect them.
    """

    def __init__(
        self, context: ComparisonContext, originals: list[FoldResult], predicted: Any,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.context, self.originals = context, originals
        self._places = places = np.arange(len(context.inputs["near"]))
        if context.classes is not None:
            cached = list(map(self._cached, originals))
            self._draws = expected_classes(context.classes, places, cached, rng)
        else:
            mean = np.mean([result.near["predict"] for result in originals], axis=0)
            self._draws = mean + rng.choice(context.y - predicted, (N_DRAWS, len(mean)))

    def _cached(self, result: FoldResult) -> CachedPredictions:
        context = self.context
        return CachedPredictions(context.estimator, known=result.near, classes=context.classes)

    def of_score(self, results: list[FoldResult], scorer: Any) -> float:
        """Of the change of a score; NaN where the inputs have none."""

        def score(result: FoldResult) -> float:
            cached = self._cached(result)
            of = [score_of_rows(scorer, cached, labels, None) for labels in self._draws]
            return float(np.mean([of_rows(self._places) for of_rows in of]))

        try:
            own, original = (np.array([*map(score, of)]) for of in (results, self.originals))
        except Exception:  # of labels that are all the same, say
            return np.nan
        return spread_of(own - original)

    def of_rate(
        self, results: list[FoldResult], favoured: Callable[[Any], Floats], inside: Bools
    ) -> float:
        """Of the change of a group's rate; `inside` are the rows of the group."""
        near = inside[self.context.near_rows]
        own, original = (
            np.array([favoured(result.near["predict"][near]).mean() for result in of])
            for of in (results, self.originals)
        )
        return spread_of(own - original) if near.any() else np.nan
