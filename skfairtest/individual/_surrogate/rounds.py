"""How large a batch of the search is, such that its budget holds several of them."""

from __future__ import annotations

from skfairtest.oracle._drawing import FEW_COMBINATIONS
from skfairtest.oracle._oracle import Oracle

#: Rounds that the budget holds at least: a surrogate that never sees its own draws learns nothing
#: from them.
N_ROUNDS = 10


def affordable(oracle: Oracle, most: int) -> int:
    """Return the number of inputs in a batch, at most so many.

    It is asked for anew before each batch, as what a query takes is known better after larger
    calls. Where two of many twins are compared, which two is to be learned as well, for which
    queries are shared out among more batches. Time is not: calls would take most of it.
    """
    n_twins = min(oracle.space.twins_.n_combinations, FEW_COMBINATIONS)
    queries = oracle.stopping.budget.limits["max_queries"]
    most_inputs = min(most, queries / (N_ROUNDS * n_twins))
    return max(2, oracle.affordable(batches=N_ROUNDS, least=2, most=most_inputs, whole=True))
