"""How diverse the discriminatory inputs of a fitted auditor are."""

from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state

from skfairtest.oracle._oracle import Oracle


def leaves_and_distance(auditor, *, n_compared=5000, random_state=0):
    """Share of a reference tree's leaves that the inputs reach, and the mean distance of two.

    The tree has at most 1,000 leaves and learns the model's outputs on 20,000 uniform inputs; with
    equal seeds, auditors of one model and domain share it (Zhao, Toda and Kitamura, 2024). More
    inputs reach more leaves, so `n_compared` of them are drawn. Distances are averaged over the
    free columns, each scaled by its domain.
    """
    seed = check_random_state(random_state).randint(2**31 - 1)
    rng = np.random.default_rng(seed)
    space = auditor.space_
    uniform = space.sample(20_000, rng)
    oracle = Oracle(auditor.estimator_, space, response_method=auditor.response_method)
    tree = DecisionTreeRegressor(max_leaf_nodes=1000, random_state=seed)
    tree.fit(uniform[:, space.free], oracle.respond(uniform))
    inputs = space.encode(auditor.discriminatory_inputs_)[:, space.free]
    inputs = inputs[rng.permutation(len(inputs))[:n_compared]]
    if len(inputs) < 2:
        return np.nan, np.nan
    paths = len(np.unique(tree.apply(inputs))) / tree.get_n_leaves()
    spread = (space.domain.high - space.domain.low)[space.free]
    scaled = inputs / np.where(spread > 0, spread, 1.0)
    first, step = rng.integers(len(inputs), size=20_000), rng.integers(1, len(inputs), 20_000)
    second = (first + step) % len(inputs)
    return paths, float(np.abs(scaled[first] - scaled[second]).mean())
