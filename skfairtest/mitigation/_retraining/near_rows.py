"""Rows that say "the sensitive columns do not matter", on the data and near them."""

from __future__ import annotations

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.mitigation._labelers import FoundPairs, average_label, label_pairs
from skfairtest.mitigation._retraining.training import Addition, TrainingFold
from skfairtest.mitigation._shares import Crossings
from skfairtest.space._rows import stack

#: Twins of an input that are added at most, drawn anew for each where there are more.
MOST_TWINS = 5


def other_twins(fold: TrainingFold, chosen: Ints | None = None) -> Addition:
    """Twins of each training row of a fold with other sensitive values, and its own target.

    Twins of all rows and not only of those that flip: a linear model has one coefficient for all
    inputs, and a tree splits where a column tells anything, so that a sensitive column has to tell
    nothing anywhere. Where rows have all their twins, it is independent of all other columns and of
    the target.

    Parameters
    ----------
    fold : TrainingFold
        The rows.
    chosen : ndarray of int, default=None
        Places of the fold's training rows that get twins; None for all of them.
    """
    if chosen is None:
        chosen = np.arange(len(fold.rows))
    own = fold.encoded[chosen]
    twins, exists = twins_of(fold, own)
    exists &= ~(np.isclose(twins, own[:, None, :], equal_nan=True)).all(axis=2)
    places, _ = np.nonzero(exists)
    Z = twins[exists]
    rows = fold.space.decode(Z)
    seeds = fold.rows[chosen[places]]
    weights = fold.task.weights
    return Addition(rows, fold.task.y[seeds], None, None if weights is None else weights[seeds])


def near_rows(fold: TrainingFold) -> Addition:
    """Inputs near the training rows of a fold, each with its twins, under one label.

    Not only those that the model treats differently, which lie where it is not sure: their labels
    are no better than guesses, and taught alone they bend the boundary without moving it away. What
    holds for them has to hold around them, too.
    """
    n_twins = min(MOST_TWINS, fold.space.twins_.n_twins)
    n = n_near_rows(len(fold.rows)) // n_twins
    return with_twins(fold, draw_near_rows(fold, max(1, n)))


def n_near_rows(n_rows: int) -> int:
    """How many rows near the data a round adds: as many as there are, and no more than 20,000."""
    return min(n_rows, 20_000)


def draw_near_rows(fold: TrainingFold, n: int) -> Floats:
    """Inputs near the training rows of a fold, encoded."""
    if "crossings" not in fold.kept:
        fold.kept["crossings"] = Crossings(fold.space)
    crossings: Crossings = fold.kept["crossings"]
    return crossings.draw(n, fold.rng).rows


def with_twins(fold: TrainingFold, Z: Floats) -> Addition:
    """Encoded inputs with their twins, those that the constraint admits, under one label.

    It is the average of what the latest model of the fold says to them.
    """
    twins, exists = twins_of(fold, Z)
    # A twin that must not be is labelled as the first, and left out.
    tables = [fold.space.decode(twins[:, place]) for place in range(twins.shape[1])]
    pairs = FoundPairs(
        tables[0], tables[min(1, len(tables) - 1)], True, fold.model, fold.ensemble,
        fold.task.classes, tuple(tables[2:]),
    )  # fmt: skip
    labels = label_pairs(average_label, pairs)
    kept = exists.ravel()
    return Addition(
        fold.space.decode(twins.reshape(-1, twins.shape[2])[kept]),
        np.repeat(labels, twins.shape[1])[kept],
        None,
        None if fold.task.weights is None else np.full(kept.sum(), fold.task.weights.mean()),
    )


def twins_of(fold: TrainingFold, Z: Floats, most: int = MOST_TWINS) -> tuple[Floats, Bools]:
    """Twins of inputs, all of them or `most` drawn for each, and which of these may exist.

    Returns
    -------
    twins : ndarray of shape (n, n_twins, n_features)
        The twins, maybe with the input itself among them.
    exists : ndarray of bool of shape (n, n_twins)
        Those that the constraint admits.
    """
    space = fold.space
    n, encoded = len(Z), space.twins_.twin_values
    k = min(most, len(encoded))
    if k == len(encoded):
        which = np.tile(np.arange(k), (n, 1))
    else:
        # A different draw for each input: equally spaced ones behind a random start.
        start = fold.rng.integers(len(encoded), size=(n, 1))
        which = (start + (np.arange(k) * len(encoded)) // k) % len(encoded)
    twins = space.twins_.of_each(Z, encoded[which])
    exists = space.valid(twins)
    return twins.reshape(n, k, -1), exists.reshape(n, k)


def joined(parts: list[Addition]) -> Addition:
    """Several additions as one."""
    parts = [part for part in parts if len(part.labels)] or parts[:1]
    weights = [part.weights for part in parts if part.weights is not None]
    return Addition(
        stack([part.rows for part in parts]),
        np.concatenate([part.labels for part in parts]),
        None,
        np.concatenate(weights) if len(weights) == len(parts) else None,
    )
