"""Models made to be certified wrongly: what a reader takes for granted, broken on purpose.

Each is small enough to ask about every input, and is either certified as it is or refused.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from certify_cases import LONG, bracket_alone, certified, check_finite, exhaustive_degree
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from skfairtest.exact._trees.link_bounds import CODES, Links, gap_of_sums, signs
from skfairtest.whitebox._tree_model import Group, Part, link_value
from skfairtest.workers._compiled import plain

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")


def table(seed=0, n=300):
    """Numbers alone: 2 x 4 x 5 x 3 inputs, and an uneven target."""
    rng = np.random.default_rng(seed)
    sizes = {"s": 2, "a": 4, "b": 5, "c": 3}
    X = pd.DataFrame({name: rng.integers(0, size, n) for name, size in sizes.items()})
    y = X["s"] * (X["a"] > 1) + np.sin(X["b"] * X["c"]) * X["s"] + 0.3 * X["a"]
    return X, (y + rng.normal(size=n) * 0.5).to_numpy()


# Signs of weights --------------------------------------------------------------------------


def boosted(seed):
    return GradientBoostingClassifier(
        n_estimators=6, max_depth=3, max_features=2, subsample=0.5, random_state=seed
    )


def vote(members, weights, several=False, X=None, y=None):
    """A vote of fitted members; probabilities may be negative by no more than rounding."""
    X, y = table() if X is None else (X, y)
    labels = np.digitize(y, np.quantile(y, [0.33, 0.66])) if several else (y > np.median(y))
    named = [(f"m{k}", member) for k, member in enumerate(members)]
    return VotingClassifier(named, voting="soft", weights=weights).fit(X, labels.astype(int)), X


#: Votes of models of one kind are one search, those of several kinds are bounded apart.
VOTES = {
    "two classes": ([boosted(0), boosted(1), boosted(2)], [1.0, -0.9, 0.2], False),
    "three classes": ([boosted(0), boosted(1), boosted(2)], [1.0, -0.1, 0.6], True),
    "all negative": ([boosted(0), boosted(1)], [-1.0, -2.0], False),
    "a forest less boosting": (
        [RandomForestClassifier(5, max_depth=3, random_state=0), boosted(1)], [1.3, -0.1], False,
    ),
    "boosting less a linear model": ([boosted(0), LogisticRegression()], [1.0, -0.1], False),
}  # fmt: skip


@pytest.mark.parametrize("kind", VOTES)
def test_votes_with_negative_weights(kind):
    model, X = vote(*VOTES[kind])
    auditor = certified(model, X, response_method="predict_proba")
    # As the search ends, without a pair that an auditor found before it.
    bracket, rounding = bracket_alone(auditor, LONG)
    degree = exhaustive_degree(auditor)
    assert bracket.lower == pytest.approx(degree, rel=1e-9)
    assert degree <= bracket.upper + rounding <= degree * (1 + 1e-6)


def test_exponentials_with_negative_weights():
    X, y = table()
    member = HistGradientBoostingRegressor(loss="poisson", max_iter=5, max_depth=3)
    named = [(f"m{k}", clone(member).set_params(learning_rate=0.1 + 0.3 * k)) for k in range(3)]
    model = VotingRegressor(named, weights=[1.0, -2.0, 0.7]).fit(X, np.exp(y))
    check_finite(model, X)


@pytest.mark.parametrize("link", CODES)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_gaps_hold_for_weights_of_both_signs(link, sign):
    """Against random sums of twins, and bounds that are no better than they are."""
    rng = np.random.default_rng(0)
    n_parts = 3 if link == "softmax" else 1
    group = Group(link, 0.7 * sign, [Part(0.0)] * n_parts)
    turned = np.array(signs(group))
    starts, one = np.array([0, n_parts]), np.array([CODES[link]])
    links = Links(
        np.empty(0, int), np.zeros(n_parts), starts, one, np.array([group.weight]),
        np.zeros(n_parts), False,
    )  # fmt: skip
    for _ in range(200):
        u, v = rng.normal(size=(2, 4, n_parts)) * 2
        said = [link_value(link, sums.T) * group.weight for sums in (u, v)]
        u, v = turned * u, turned * v
        D, U, V = (u - v).max(axis=0), u.max(axis=0), v.min(axis=0)
        bound = plain(gap_of_sums)(links, D, U, V)
        assert (said[0] - said[1]).max() <= bound + 1e-12
        exact = plain(gap_of_sums)(links, (u - v)[0], u[0], v[0])
        assert exact == pytest.approx(said[0][0] - said[1][0], abs=1e-12) or link == "softmax"


def test_shares_of_what_may_be_negative_are_refused():
    """One model a class divides by the sum of the classes, which votes may take below zero."""
    X, y = table()
    model = OneVsRestClassifier(
        VotingClassifier([("a", boosted(0)), ("b", boosted(1))], voting="soft", weights=[1.0, -0.6])
    ).fit(X, np.digitize(y, [0.5, 1.0]))
    with pytest.raises(ValueError, match="negative"):
        certified(model, X, response_method="predict_proba")
