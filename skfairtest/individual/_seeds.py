"""Rows of the data as inputs to start from: at random, or in turn from their K-means clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._threads import one_thread
from skfairtest._typing import Floats, Ints
from skfairtest.oracle._row_hash import row_keys
from skfairtest.space._space import InputSpace

#: Clusters of the data that seeds are taken from in turn, as in the papers of ADF and SG.
N_CLUSTERS = 4


def check_enough_rows(space: InputSpace) -> None:
    """Check that the data hold at least one row for each cluster."""
    if len(space.data) < N_CLUSTERS:
        raise ValueError(
            f"Seeds are taken from {N_CLUSTERS} clusters of rows, so X must have at least as many; "
            f"got n_samples={len(space.data)}. Give more rows."
        )


@one_thread()
def cluster_seeds(space: InputSpace, rng: np.random.Generator) -> Floats:
    """Rows of the data as inputs of the domain, one of each cluster in turn; valid and unique.

    Rows are moved into the domain before they are clustered, so that foreign values make no
    clusters of their own, and those that agree outside the sensitive columns are one. Each column
    is scaled by the spread of its domain.
    """
    from sklearn.cluster import KMeans

    # At most 20,000 rows are clustered.
    chosen = rng.permutation(len(space.data))[:20_000]
    Z = space.feasibility.repair(space.domain.move_inside(space.data[chosen], rng), rng)
    Z = Z[space.valid(Z)]
    _, first = np.unique(row_keys(Z[:, space.non_sensitive]), return_index=True)
    Z = Z[np.sort(first)]
    if not len(Z):
        return Z
    spread = space.domain.high - space.domain.low
    scaled = ((Z - space.domain.low) / np.where(spread > 0, spread, 1.0))[:, space.non_sensitive]
    means = KMeans(
        min(N_CLUSTERS, len(Z)), n_init=1, random_state=int(rng.integers(2**31))
    )  # fmt: skip
    return Z[round_robin(means.fit_predict(scaled))]


def round_robin(clusters: NDArray[Any]) -> Ints:
    """Positions ordered by turns: the first of each cluster, the second of each, and so on."""
    turn = np.empty(len(clusters), dtype=np.intp)
    for cluster in np.unique(clusters):
        members = np.flatnonzero(clusters == cluster)
        turn[members] = np.arange(len(members))
    return np.lexsort([clusters, turn])


def data_seeds(n: int, space: InputSpace, rng: np.random.Generator) -> Floats:
    """Draw at most n rows of the data, move them into the domain, and keep the valid ones."""
    chosen = rng.permutation(len(space.data))[:n]
    Z = space.feasibility.repair(space.domain.move_inside(space.data[chosen], rng), rng)
    return Z[space.valid(Z)]
