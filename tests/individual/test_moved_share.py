"""MovedTwins: who is moved where, and shares of any model under the same maps."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tiers import slow_sample

from skfairtest import FlipTestAuditor, InputSpace
from skfairtest.individual._flip_test.people import in_proportion, large_groups, no_groups
from skfairtest.individual._flip_test.share import MovedTwins


def drawn(n, seed, shifts, shares=None):
    """Groups between which two columns are shifted, and a model of their sum."""
    rng = np.random.default_rng(seed)
    group = rng.choice(len(shifts), n, p=shares)
    noise = rng.normal(size=(n, 2))
    return noise + np.array(shifts)[group][:, None], group, noise


MODEL = LogisticRegression().fit([[-1.0, -1.0], [1.0, 1.0]], [0, 1])
SETTINGS = {"threshold": None}


def twins_of(X, group, **settings):
    space = InputSpace().fit(X, None)
    beside = pd.DataFrame({"group": group})
    rng = np.random.default_rng(0)
    return MovedTwins.of(None, space, beside, rng, **settings)


# Who is moved --------------------------------------------------------------------------------


def test_groups_of_fifty_rows_are_moved_and_of_many_the_four_largest():
    sizes = {"a": 60, "b": 49, "c": 80, "d": 50, "e": 70, "f": 90, "g": 1}
    values = pd.Series(np.repeat(list(sizes), list(sizes.values())))
    values[0] = None
    rows, left = large_groups(values, np.arange(len(values)))
    assert set(values[rows]) == {"a", "c", "e", "f"} and len(rows) == 299
    assert left == ["d", "b", "g"]
    # Of a part of the rows the groups of that part count.
    rows, left = large_groups(values, np.flatnonzero(values.isin(["a", "b", "g"])))
    assert not len(rows) and left == ["b", "g"]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (["a"] * 200, "all people have the same group"),
        (np.arange(200), "group is a number with 200 values"),
        (["a"] * 12 + ["b"] * 188, "a map needs two groups of 50 rows or more"),
        ([str(k % 20) for k in range(200)], "a map needs two groups of 50 rows or more"),
    ],
)
def test_who_cannot_be_moved_has_no_share(values, why):
    assert no_groups(pd.Series(values), "group").startswith(why)
    X, _, _ = drawn(200, 0, [0])
    with pytest.raises(ValueError, match=why):
        twins_of(X, np.array(values))


def test_a_sample_has_each_group_as_often_as_the_rows():
    values = pd.Series(np.where(np.arange(1000) % 10, "a", "b"))
    order = in_proportion(values, np.random.default_rng(0).permutation(1000))
    assert sorted(order) == list(range(1000))
    assert (values[order[:50]] == "b").sum() == 5
    X, _, _ = drawn(1000, 0, [0])
    # More rows than are asked for, where the smaller group would have less than fifty.
    twins = twins_of(X, values.to_numpy(), n_again=0, most_rows=200)
    assert np.bincount(twins.groups.codes).tolist() == [451, 50]


def test_rows_without_a_value_are_not_moved():
    X, group, _ = drawn(300, 0, [0, 1])
    group = np.where(np.arange(300) < 7, None, group.astype(object))
    twins = twins_of(X, group, n_again=2)
    assert twins.rows.tolist() == list(range(7, 300))
    known = FlipTestAuditor(MODEL, n_bootstrap=0).fit(X[7:], sensitive_features=group[7:])
    value, (low, high, *_) = twins.ask(MODEL, SETTINGS).interval()
    assert value == known.moved_rate_ and low <= value <= high


# Shares --------------------------------------------------------------------------------------


def test_rows_of_weight_zero_play_no_part():
    X, group, _ = drawn(400, 0, [0, 1])
    own = twins_of(X, group, n_again=3).ask(MODEL, SETTINGS)
    half = np.where(np.arange(400) < 200, 1.0, 0.0)
    value, interval = own.interval(half)
    assert value == own.values[:200].mean()
    whole = own.interval()[1]
    assert interval.high - interval.low > whole.high - whole.low


def test_a_model_can_be_asked_without_the_maps_that_only_intervals_need():
    X, group, _ = drawn(200, 0, [0, 1])
    twins = twins_of(X, group, n_again=2)
    few, every = (twins.ask(MODEL, SETTINGS, again=again) for again in (False, True))
    assert (few.values == every.values).all() and not few.again and len(every.again) == 4
    value, interval = few.interval()
    assert value == every.values.mean() and np.isnan(interval.low)


def test_differences_have_a_mean():
    X, group, _ = drawn(300, 0, [0, 1])
    own = twins_of(X, group, n_again=4).ask(MODEL, SETTINGS, mean=True)
    value, (low, high, *_) = own.interval()
    assert 0 < low < value < high and not set(own.values) <= {0.0, 1.0}


@slow_sample
@pytest.mark.parametrize(
    ("shifts", "shares", "n"),
    [
        ([0, 0], [0.5, 0.5], 300),
        ([0, 0.5], [0.5, 0.5], 150),
        ([0, 0.5], [0.95, 0.05], 1_500),
        ([0, 0.4, -0.3], [0.4, 0.3, 0.3], 400),
    ],
)
def test_intervals_hold_the_share_of_the_true_map(shifts, shares, n):
    """Of a fixed model; a slow benchmark has more runs, sizes and directions."""
    X, group, noise = drawn(100_000, 99, shifts, shares)
    outputs = np.array([MODEL.predict(noise + shift) for shift in shifts])
    truth = (outputs != MODEL.predict(X)).any(axis=0).mean()
    held = []
    for seed in range(30):
        X, group, _ = drawn(n, seed, shifts, shares)
        _, interval = twins_of(X, group).ask(MODEL, SETTINGS).interval()
        held.append(interval.low <= truth <= interval.high)
    # With a chance of 0.95, 25 or fewer are one case in a hundred.
    assert sum(held) > 25
