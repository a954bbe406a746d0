"""The share of people whose output changes when they are moved, of any number of models.

A map sees no labels and no model: it is learned from all rows once, and again for intervals, and
each model is only asked about the same moved rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skfairtest._progress import tell
from skfairtest._typing import Floats, Ints
from skfairtest.individual._flip_test import people
from skfairtest.individual._flip_test.flips import Interval, rate_interval
from skfairtest.individual._flip_test.groups import WIDER, Groups
from skfairtest.individual._flip_test.judge import Judge
from skfairtest.individual._flip_test.maps import Drawn, Maps, MovedRows, RepeatedMaps
from skfairtest.individual._flip_test.people import (
    in_proportion,
    joined_values,
    large_groups,
    n_wanted,
    no_groups,
    sensitive_values,
)
from skfairtest.oracle._model import Model
from skfairtest.oracle._row_answers import RowAnswers
from skfairtest.space._sensitive_features import rows_not_in_model
from skfairtest.space._space import InputSpace
from skfairtest.transports._base import warn_of_single_values


class MovedTwins(NamedTuple):
    """People with their moved twins in other groups, under one map and the same learned again.

    Attributes
    ----------
    space : InputSpace
        With the rows that are moved as its data.
    groups : Groups
        Their groups.
    rows : ndarray of int of shape (n_moved,)
        Which rows of the table they are.
    left_out : list of str
        Groups that are not moved.
    moved : list of MovedRows
        Under the map of all of them.
    again : list of tuple of Drawn and list of MovedRows
        Under maps that were learned again, from rows drawn again and from groups that chance has
        made in turn.
    """

    space: InputSpace
    groups: Groups
    rows: Ints
    left_out: list[str]
    moved: list[MovedRows]
    again: list[tuple[Drawn, list[MovedRows]]]

    @classmethod
    def of(
        cls, transport: Any, space: InputSpace, not_in_model: pd.DataFrame | None,
        rng: np.random.Generator, *, n_again: int | None = None, most_rows: int | None = None,
        n_jobs: int | None = None,
    ) -> MovedTwins:  # fmt: skip
        """Move the rows of a space between the groups of its sensitive columns and others.

        Parameters
        ----------
        transport : transport or None
            The map.
        space : InputSpace
            With the rows as its data.
        not_in_model : DataFrame or None
            Attributes that are not in the table.
        rng : Generator
            Draws rows and groups again.
        n_again : int, default=None
            How often; None as often as audits do.
        most_rows : int, default=None
            Rows from which on a random sample is moved, with each group as often as in the table;
            more where a group is rare. None moves all.
        n_jobs : int, default=None
            How many maps are learned again at the same time.

        Raises
        ------
        ValueError
            If fewer than two groups are large enough.
        """
        attributes = sensitive_values(space, not_in_model)
        values = joined_values(attributes)
        name = " and ".join(map(str, attributes))
        if why := no_groups(values, name):
            raise ValueError(f"{why}. Pass more rows. {WIDER}")
        order = np.arange(len(values))
        if most_rows is not None and len(values) > (wanted := n_wanted(values, most_rows)):
            order = np.sort(in_proportion(values, rng.permutation(len(values)))[:wanted])
        rows, left_out = large_groups(values, order)
        space = space.with_encoded(space.data[rows])
        groups = Groups.of(space, rows_not_in_model(not_in_model, rows))
        maps, Z, codes = Maps(transport, space, groups), space.data, groups.codes
        fitted = maps.learn(Z, codes)
        others = np.setdiff1d(np.arange(Z.shape[1]), groups.columns)
        moving = getattr(fitted.transport, "moving_", others)
        warn_of_single_values(space.layout, Z, codes, groups.labels, moving)
        repeated = RepeatedMaps(maps, fitted, Z)
        n_again = people.SETTINGS.n_again if n_again is None else n_again
        drawn = [one for _ in range(n_again) for one in repeated.draw(rng)]
        again = []
        for one, moved in zip(drawn, repeated.move_each(drawn, n_jobs), strict=True):
            again.append((one, moved))
            tell(len(again) / len(drawn), f"{name}: {len(again)} of {len(drawn)} maps")
        return cls(space, groups, rows, left_out, fitted.move_all(Z, codes), again)

    def ask(
        self, model: Any, settings: dict[str, Any], *, mean: bool = False, again: bool = True
    ) -> MovedValues:
        """Return what the outputs of a model do when the rows are moved.

        Parameters
        ----------
        model : estimator
            Fitted.
        settings : dict
            `threshold`, `response_method` and `n_jobs`, as for every auditor.
        mean : bool
            Whether differences count, and not whether outputs differ.
        again : bool
            Whether the model is asked under the maps learned again, too, which an interval needs.
        """
        settings = {"response_method": "auto", "n_jobs": None} | settings
        judge = Judge(
            Model(
                model,
                self.space,
                response_method=settings["response_method"],
                n_jobs=settings["n_jobs"],
            ),
            settings["threshold"],
        )
        Z = self.space.data
        judge.probe(Z)
        before = judge.ask(Z)

        def values(moved: list[MovedRows], verify: RowAnswers | None = None) -> Floats:
            found = np.zeros(len(Z))
            for part in judge.compare_all(Z, before, moved, verify):
                shown = part.shown.disparity if mean else part.shown.verdict
                found[part.rows] = np.maximum(found[part.rows], shown)
            return found

        own = values(self.moved, RowAnswers(len(Z)))
        repeated = [(values(moved), drawn) for drawn, moved in self.again if again]
        return MovedValues(own, repeated, self.groups.codes, mean)


class MovedValues(NamedTuple):
    """What becomes of a model's output for each row that is moved.

    Attributes
    ----------
    values : ndarray of shape (n_moved,)
        The largest difference from the output for a moved twin, or 1 where one counts as different.
    again : list of tuple of ndarray and Drawn
        The same under maps that were learned again.
    codes : ndarray of shape (n_moved,)
        The groups.
    mean : bool
        Whether they are differences.
    """

    values: Floats
    again: list[tuple[Floats, Drawn]]
    codes: Ints
    mean: bool

    def interval(
        self, weights: Floats | None = None, confidence: float = 0.95
    ) -> tuple[float, Interval]:
        """Return the mean over the rows, by their weights, and its interval with the map's error.

        Rows of weight 0 play no part.
        """
        weights = np.ones(len(self.values)) if weights is None else weights
        value = float(np.average(self.values, weights=weights))
        again, nulls = (
            np.array([_mean(v, of.counts * weights) for v, of in self.again if of.keeps == is_null])
            for is_null in (False, True)
        )
        n_groups = int(self.codes.max()) + 1
        sizes = np.bincount(self.codes, weights, n_groups)
        with np.errstate(invalid="ignore"):
            rates = np.bincount(self.codes, weights * self.values, n_groups) / sizes
        return value, rate_interval(
            value, np.nan_to_num(rates), sizes, again, nulls, confidence,
            n=float(weights.sum() ** 2 / (weights**2).sum()), mean=self.mean,
        )  # fmt: skip


def _mean(values: Floats, weights: Floats) -> float:
    total = float(weights.sum())
    return float(weights @ values) / total if total else 0.0
