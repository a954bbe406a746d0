"""What SubgroupAuditor shows after fit: its rules, a short list, and their scores on new rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._parameters import check_whole, one_of, whole
from skfairtest._statistics import Sides
from skfairtest._typing import Floats, Ints
from skfairtest._validation import check_rows, check_weights, column, make_generator
from skfairtest.group._base import GroupAuditor
from skfairtest.group._inference.counting import (
    GivenRowSets,
    RowSets,
    rows_that_count,
    rule_sides,
)
from skfairtest.group._inference.pivot import Simultaneous, all_at_once
from skfairtest.group._inference.resampled import Resampled, resampled
from skfairtest.group._outcomes.answers import AskedMetric
from skfairtest.group._outcomes.outcomes import MetricRows, metric_rows, truth_of
from skfairtest.group._results import TableResults
from skfairtest.group._rules.rule_search import part_of_whole

AGAINST = ("rest", "whole")


class SubgroupResults(TableResults, GroupAuditor):
    """Base of `SubgroupAuditor` that shows its stored arrays as tables. Not for use by itself."""

    metric: str | Callable[..., Any] = "selection_rate"
    against: str = one_of(default="rest", options=AGAINST)
    correction: str = one_of(default="resampling", options=("resampling", "none"))
    n_resamples: int = whole(default=999, least=1)

    @property
    def strata_(self) -> pd.DataFrame:
        """The listed rules within the strata of `control_features`."""
        state = self._result("strata_")
        if self._strata is None:
            raise AttributeError(
                "strata_ is there where fit is given control_features=, and it was given none."
            )
        places = self._strata.get("place", ())
        texts = [self._describe(state["rules"][place]).text for place in places]
        others = {name: values for name, values in self._strata.items() if name != "place"}
        return pd.DataFrame({"rule": texts, **others})

    def _tested(
        self,
        sides: Sides,
        rules: RowSets,
        rows: MetricRows,
        weights: Floats | None,
        rng: np.random.Generator,
        deadline: float = math.inf,
        *,
        gives_up: bool = True,
    ) -> Resampled | None:
        """Tests of all rules at once; None where each is taken by itself."""
        if self.correction == "none":
            return None
        return resampled(
            sides,
            rules,
            rows.values,
            rows.counts,
            weights,
            confidence=self.confidence,
            rng=rng,
            n_resamples=self.n_resamples,
            deadline=deadline,
            gives_up=gives_up,
        )

    def _intervals(
        self, sides: Sides, tested: Resampled | None, places: Any = slice(None)
    ) -> Simultaneous:
        """Intervals of the differences of some of the rules, by the correction."""
        if tested is None:
            return all_at_once(sides, confidence=self.confidence)
        return tested.intervals(sides, places)

    def _counted_columns(
        self,
        sides: Sides,
        support: Floats,
        intervals: Simultaneous,
        part: Floats | None,
        counted: tuple[Ints, Ints],
    ) -> dict[str, NDArray[Any]]:
        """Columns of a table of rules with numbers of rows in place of effective sizes."""
        columns = self._columns(sides, support, intervals=intervals, part=part)
        columns["n_inside"], columns["n_outside"] = counted
        for side in counted:  # undefined is undefined
            columns |= {
                bound: np.where(side > 0, columns[bound], np.nan) for bound in ("low", "high")
            }
        return columns

    @staticmethod
    def _notes(columns: dict[str, NDArray[Any]]) -> NDArray[Any]:
        """What is not known of each rule."""
        notes = np.full(len(columns["support"]), "", dtype=object)
        notes[columns["n_inside"] == 0] = "undefined: no row inside counts"
        notes[columns["n_outside"] == 0] = "undefined: no row outside counts"
        return notes

    def _table(self, state: dict[str, Any]) -> pd.DataFrame:
        return super()._table(state).assign(note=self._notes(state))

    def confirm(
        self,
        X_new: Any,
        y: Any = None,
        n_rules: int = 10,
        *,
        short_list: bool | None = None,
        y_pred: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> pd.DataFrame:
        """Estimate the listed rules again, on rows that were not searched.

        The intervals allow for the number of rules in the returned table, not for all rules that
        were searched, because the rules were chosen without the new rows.

        Parameters
        ----------
        X_new : array-like or DataFrame of shape (n_rows, n_features)
            Rows that fit has not seen.
        y : array-like of shape (n_rows,), default=None
            True labels or targets of X_new, if the metric needs them.
        n_rules : int, default=10
            Largest number of rules to estimate.
        short_list : bool, default=None
            Whether to take the rules of `short_list_` or the worst of `rules_`, many of which
            describe nearly the same rows. None takes the short list if it is not empty.
        y_pred : array-like of shape (n_rows,), default=None
            Predictions for X_new, needed if fit had no estimator.
        sensitive_features : array-like or DataFrame of shape (n_rows, n_columns), default=None
            The columns that are not in X_new, if fit was given any.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows.

        Returns
        -------
        DataFrame
            One row per rule, in the order of the search, with the columns of `rules_` and two that
            compare with the search: `searched_score` and `same_direction`. Where no row counts on
            one side, the metric is undefined and NaN.

        Raises
        ------
        ValueError
            If predictions or targets are missing or of another kind.
        """
        self._result("confirm")
        check_whole("n_rules", n_rules, 1)
        columns = self._tables.numbers(X_new, sensitive_features)
        n = len(columns[0])
        if not n:
            raise ValueError("X_new has no rows. Pass rows on which to confirm the rules.")
        check_rows(X_new, {"y": y, "y_pred": y_pred, "sample_weight": sample_weight})
        weights = None if sample_weight is None else check_weights(sample_weight, n)
        truth = truth_of(self.metric, y, n)
        if y_pred is not None:
            given = column("y_pred", y_pred, n)
            rows = metric_rows(self.metric, given, truth, self.favourable_, weights, known=True)
        elif self.estimator_ is None:
            raise ValueError(
                "y_pred must hold the predictions for X_new, because fit had no estimator; "
                "got None."
            )
        else:
            X_new = self._tables.container.check_names(X_new)
            asked = AskedMetric(self.metric, self.estimator_, X_new, self.favourable, self.n_jobs)
            rows = asked.rows(asked.ask(np.arange(n)), truth, weights)
        numbers = self._to_confirm(n_rules, short_list)
        rules = self._state["rules"][numbers]
        held = np.array([self._tables.holds(columns, rule) for rule in rules], dtype=bool)
        held = held.reshape(-1, n)
        given_rules = GivenRowSets(held)
        sides = rule_sides(given_rules, rows.values, rows.counts, weights, binary=rows.binary)
        whole = self.against == "whole"
        part = part_of_whole(given_rules, rows, weights) if whole else None
        rng = make_generator(self.random_state)
        tested = self._tested(sides, given_rules, rows, weights, rng)
        intervals = self._intervals(sides, tested)
        counted = rows_that_count(given_rules, rows.counts)
        figures = self._counted_columns(sides, given_rules.support, intervals, part, counted)
        table = self._confirmation(numbers, sides, given_rules.support, figures)
        return table.assign(note=self._notes(figures))
