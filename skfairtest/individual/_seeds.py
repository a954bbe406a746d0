"""Seeds from the data, taken in turn from its K-means clusters, and the answers to them.

Shared by the testers that start from people who exist: symbolic generation and the gradient
testers.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from skfairtest._keys import row_keys
from skfairtest._oracle import Oracle, StopSearch
from skfairtest._space import InputSpace
from skfairtest.exceptions import EstimatorFailedError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Rows of the data that are clustered, at most; a random choice of them beyond.
MOST_ROWS = 20_000
#: How far from one the probabilities of a row may add up: single precision, rounded output.
TOLERANCE = 1e-3
#: Rows that are looked at for that.
N_CHECKED = 8


def check_enough_rows(space: InputSpace, n_clusters: int) -> None:
    """See that the data hold at least one row a cluster."""
    if len(space.data) < n_clusters:
        raise ValueError(
            f"n_clusters={n_clusters} clusters need at least as many rows of X; got "
            f"n_samples={len(space.data)}. Give more rows, or a smaller n_clusters."
        )


def cluster_seeds(space: InputSpace, n_clusters: int, rng: np.random.Generator) -> Floats:
    """Rows of the data as inputs of the domain, one of each cluster in turn; valid and unique.

    Rows are moved into the domain before they are clustered, so that foreign values make no
    clusters of their own, and those that agree outside the sensitive columns are one. Each column
    is scaled by the spread of its domain.
    """
    chosen = rng.permutation(len(space.data))[:MOST_ROWS]
    Z = space.repair(space.data[chosen], rng)
    Z = Z[space.valid(Z)]
    _, first = np.unique(row_keys(Z[:, space.free]), return_index=True)
    Z = Z[np.sort(first)]
    if not len(Z):
        return Z
    spread = space.high - space.low
    scaled = ((Z - space.low) / np.where(spread > 0, spread, 1.0))[:, space.free]
    means = KMeans(
        min(n_clusters, len(Z)), n_init=1, random_state=int(rng.integers(2**31))
    )  # fmt: skip
    return Z[round_robin(means.fit_predict(scaled))]


def round_robin(clusters: NDArray[Any]) -> Ints:
    """Positions in the order first of each cluster, second of each cluster, and so on."""
    turn = np.empty(len(clusters), dtype=np.intp)
    for cluster in np.unique(clusters):
        members = np.flatnonzero(clusters == cluster)
        turn[members] = np.arange(len(members))
    return np.lexsort([clusters, turn])


def ask(oracle: Oracle, Z: Floats) -> Floats:
    """Answers of the rows as they are, (n, n_outputs); of a model of labels, codes of them.

    Ends the run when the budget does not hold all rows.
    """
    if oracle.model.response != "labels":
        try:
            return oracle.respond(Z)
        except StopSearch:
            note_end(oracle)
            raise
    if len(Z) > oracle.queries_left:
        note_end(oracle)
        raise StopSearch(f"max_queries={oracle.limits['max_queries']:g} reached")
    return oracle.model.labels(Z)[:, None].astype(np.float64) if len(Z) else np.zeros((0, 1))


def note_end(oracle: Oracle) -> None:
    """Put the rows that were asked since the last batch into the history."""
    oracle.history.add(
        oracle.n_queries, oracle.seconds, oracle.n_inputs, oracle.archive.n_found, oracle.degree
    )


def check_probabilities(oracle: Oracle, Z: Floats) -> None:
    """See on a few rows that probabilities add up to one, before the search spends its budget.

    Raises
    ------
    EstimatorFailedError
        If the probabilities of a row do not add up to one.
    """
    estimator = oracle.model.estimator
    Z = Z[: int(min(N_CHECKED, oracle.queries_left // 20))]
    classes = getattr(estimator, "classes_", None)
    if oracle.model.response != "predict_proba" or not len(Z) or isinstance(classes, list):
        return
    # All columns, of which the oracle shows one where there are two.
    answers = oracle.model._call("predict_proba", Z)
    scores = np.concatenate([np.asarray(answer, dtype=np.float64) for answer, _ in answers])
    total = scores.reshape(len(Z), -1).sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(total - 1) <= TOLERANCE))
    if len(wrong):
        raise EstimatorFailedError(
            f"{type(estimator).__name__}.predict_proba must return probabilities that add up to 1 "
            f"in each row; got {scores[wrong[0]].tolist()}, which add up to {total[wrong[0]]:.6g} "
            f"({len(wrong)} of {len(scores)} rows are wrong). Mend the estimator, or audit it with "
            "response_method='decision_function' or 'predict'."
        )


def check_numbers(
    auditor: Any, whole: dict[str, int], real: dict[str, tuple[float, float]]
) -> None:
    """Check parameters: whole numbers by their least value, real ones by a closed interval."""
    for name, least in whole.items():
        value = getattr(auditor, name)
        fits = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not fits or value < least:
            raise ValueError(
                f"{name} must be a whole number of at least {least}; got {value!r}. Leave it out "
                "for the default."
            )
    for name, (low, high) in real.items():
        value = getattr(auditor, name)
        fits = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not fits or not low <= float(value) <= high:
            raise ValueError(
                f"{name} must be a number between {low:g} and {high:g}; got {value!r}. Leave it "
                "out for the default."
            )
