"""Choose the candidate of a search to refit: within a limit of unfairness, or on a Pareto front."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from skfairtest._delegation import PackageBase
from skfairtest._typing import Floats, is_real
from skfairtest.inspection._front import not_dominated, two_columns, which_known

WHEN_NONE = ("raise", "least_unfair")


class ConstrainedRefit(PackageBase, BaseEstimator):
    """Choose the candidate with the best objective whose unfairness is within a limit.

    `constrained_refit` makes it and documents the parameters.

    Examples
    --------
    >>> from skfairtest.model_selection import ConstrainedRefit
    >>> results = {"mean_test_accuracy": [0.9, 0.8], "mean_test_degree": [-0.5, -0.1]}
    >>> ConstrainedRefit("accuracy", 0.2)(results)
    1
    """

    _doc_page = "constrained_refit"

    def __init__(
        self,
        objective: str,
        limit: float,
        unfairness: str | None = None,
        when_none: str = "raise",
    ) -> None:
        self.objective = objective
        self.limit = limit
        self.unfairness = unfairness
        self.when_none = when_none

    def _check(self) -> None:
        """Raise an error unless the parameters are ones that a rule can have."""
        if not is_real(self.limit) or not self.limit >= 0 or not np.isfinite(self.limit):
            raise ValueError(
                f"limit must be a finite number of at least 0; got {self.limit!r}. It is the "
                "largest unfairness allowed: the score times -1."
            )
        if self.when_none not in WHEN_NONE:
            raise ValueError(f"when_none must be one of {WHEN_NONE}; got {self.when_none!r}.")

    def __call__(self, cv_results: Any) -> int:
        """Place of the chosen candidate in ``cv_results_``."""
        self._check()
        objective, unfair = two_columns(cv_results, self.objective, self.unfairness)
        known = which_known(objective, unfair)
        fits = known & (unfair <= self.limit)
        if fits.any():
            return _best(objective, -unfair, fits)
        if self.when_none == "least_unfair":
            return _best(-unfair, objective, known)
        raise ValueError(
            f"No candidate has an unfairness of at most limit={self.limit:g}; the least of "
            f"{int(known.sum())} is {unfair[known].min():.6g}. Raise the limit, add candidates, or "
            "set when_none='least_unfair'."
        )


class ParetoRefit(PackageBase, BaseEstimator):
    """Choose a candidate that no other candidate beats in both objective and unfairness.

    `pareto_refit` makes it and documents the parameters.

    Examples
    --------
    >>> from skfairtest.model_selection import ParetoRefit
    >>> results = {"mean_test_accuracy": [0.9, 0.88, 0.5], "mean_test_degree": [-0.5, -0.1, -0.05]}
    >>> ParetoRefit("accuracy")(results)
    1
    """

    _doc_page = "pareto_refit"

    def __init__(self, objective: str, unfairness: str | None = None, weight: float = 0.5) -> None:
        self.objective = objective
        self.unfairness = unfairness
        self.weight = weight

    def _check(self) -> None:
        """Raise an error unless the weight is one."""
        if not is_real(self.weight) or not 0 <= self.weight <= 1:
            raise ValueError(f"weight must be a number in [0, 1]; got {self.weight!r}.")

    def __call__(self, cv_results: Any) -> int:
        """Place of the chosen candidate in ``cv_results_``."""
        self._check()
        objective, unfair = two_columns(cv_results, self.objective, self.unfairness)
        front = np.flatnonzero(not_dominated(np.column_stack([objective, -unfair])))
        # Both scales from 0 to 1 on the front: without that, the larger unit would decide alone.
        loss = _scaled(-objective[front])
        harm = _scaled(unfair[front])
        distance = np.hypot(self.weight * loss, (1 - self.weight) * harm)
        return int(front[distance.argmin()])


def constrained_refit(
    objective: str, limit: float, *, unfairness: str | None = None, when_none: str = "raise"
) -> ConstrainedRefit:
    """Refit the candidate with the best objective whose unfairness is within a limit.

    Parameters
    ----------
    objective : str
        Name of a metric in ``scoring``, greater is better.
    limit : float
        Largest unfairness that is allowed, at least 0, in the units of the audit.
    unfairness : str, default=None
        Name of the audit scorer in ``scoring``; None for the only other metric.
    when_none : {"raise", "least_unfair"}, default="raise"
        What to do when no candidate is within the limit.

    Returns
    -------
    ConstrainedRefit
        The rule, to be passed as ``refit=`` to a search with several metrics.

    Raises
    ------
    ValueError
        If the limit is not a number of at least 0; in the search, if no candidate is within it.

    Notes
    -----
    Candidates with a NaN among their scores are left out. Among candidates with equal objectives
    the least unfair is taken. The scores of the chosen candidate are the best of many, and so they
    look a little better than they are.

    Examples
    --------
    >>> from skfairtest import constrained_refit
    >>> results = {"mean_test_accuracy": [0.9, 0.8], "mean_test_degree": [-0.5, -0.1]}
    >>> constrained_refit("accuracy", limit=0.2)(results)
    1
    """
    rule = ConstrainedRefit(objective, limit, unfairness, when_none)
    rule._check()
    return rule


def pareto_refit(
    objective: str, *, unfairness: str | None = None, weight: float = 0.5
) -> ParetoRefit:
    """Refit the candidate on the Pareto front that is nearest to the best value of both metrics.

    Parameters
    ----------
    objective : str
        Name of a metric in ``scoring``, greater is better.
    unfairness : str, default=None
        Name of the audit scorer in ``scoring``; None for the only other metric.
    weight : float, default=0.5
        Weight of the objective, from 0 (the least unfair) to 1 (the best objective). Distances are
        Euclidean, with each metric scaled to its range on the front.

    Returns
    -------
    ParetoRefit
        The rule, to be passed as ``refit=`` to a search with several metrics.

    Examples
    --------
    >>> from skfairtest import pareto_refit
    >>> results = {"mean_test_accuracy": [0.9, 0.88, 0.5], "mean_test_degree": [-0.5, -0.1, -0.05]}
    >>> pareto_refit("accuracy")(results)
    1
    """
    rule = ParetoRefit(objective, unfairness, weight)
    rule._check()
    return rule


def _best(first: Floats, second: Floats, allowed: NDArray[np.bool_]) -> int:
    """Return the index of the largest `first`; of equal ones, that of the largest `second`."""
    places = np.flatnonzero(allowed)
    return int(places[np.lexsort((-second[places], -first[places]))[0]])


def _scaled(values: Floats) -> Floats:
    spread = float(np.ptp(values))
    return (values - values.min()) / spread if spread > 0 else np.zeros_like(values)
