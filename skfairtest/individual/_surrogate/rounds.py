"""How large a batch of the search is, such that its budget holds several of them."""

from __future__ import annotations

from skfairtest.oracle._handle import SearchHandle


def affordable(search: SearchHandle, most: int) -> int:
    """Return the number of inputs in a batch, at most so many.

    It is asked for anew before each batch, as what a query takes is known better after larger
    calls. Where two of many twins are compared, which two is to be learned as well, for which
    queries are shared out among more batches. Time is not: calls would take most of it.
    """
    # Ten rounds at least: a surrogate that never sees its own draws learns nothing from them.
    n_rounds = 10
    # No more than the twins that may all be compared.
    n_twins = min(search.space.twins_.n_combinations, 8)
    queries = search.so_far.queries + search.left.queries
    most_inputs = min(most, queries / (n_rounds * n_twins))
    return max(2, search.affordable(batches=n_rounds, least=2, most=most_inputs, whole=True))
