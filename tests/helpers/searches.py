"""Handles of searches, as an auditor makes them."""

from __future__ import annotations

from skfairtest.oracle._budget import Budget
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._model import Model
from skfairtest.oracle._run import get_to_know

__all__ = ["get_to_know", "handle_of"]


def handle_of(
    estimator,
    space,
    *,
    threshold=None,
    response_method="auto",
    n_jobs=None,
    progress=None,
    **limits,
):
    """Return the handle of a search in a space with these limits."""
    model = Model(estimator, space, response_method=response_method, n_jobs=n_jobs)
    return SearchHandle(
        model, space, threshold=threshold, budget=Budget(**limits), progress=progress
    )
