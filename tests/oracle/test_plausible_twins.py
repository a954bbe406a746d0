"""Which twins the judge of plausible inputs is asked about."""

import numpy as np
from tiers import slow_sample

from skfairtest.oracle import _plausible_twins
from skfairtest.oracle._plausible_twins import PlausibleTwins
from skfairtest.oracle._row_hash import row_keys


class Judge:
    """Accepts rows whose last value is positive, and remembers what it was asked about."""

    def __init__(self):
        self.asked = []

    def accepts(self, Z):
        self.asked += Z.tolist()
        return Z[:, -1] > 0


def twins_of(inputs, n):
    """Return rows, keys, validity and which twin is the input's own, the first of each."""
    rows = np.array([[*z[:-1], float(k), z[-1]] for z in inputs for k in range(n)])
    own = np.tile(np.arange(n) == 0, (len(inputs), 1))
    return rows, row_keys(rows), np.ones(own.shape, dtype=bool), own


def test_the_twin_of_a_plausible_input_is_not_judged_where_there_is_one():
    judge = Judge()
    plausible = PlausibleTwins(judge, row_keys)
    rows, keys, valid, own = twins_of([[1.0, 1.0], [2.0, -1.0], [3.0, 1.0]], 2)
    plausible.accepts(rows[:4:2])  # the first two inputs as they stand
    del judge.asked[:]
    counts = plausible.of_twins(rows, keys, valid, own)
    # The second is known not to be plausible, the third is not known: their pairs are judged.
    assert judge.asked == rows[[3, 4, 5]].tolist()
    np.testing.assert_array_equal(counts, [[True, True], [False, False], [True, True]])


def test_all_of_several_twins_are_judged_and_none_of_an_input_with_one_valid():
    judge = Judge()
    plausible = PlausibleTwins(judge, row_keys)
    rows, keys, valid, own = twins_of([[1.0, 1.0], [2.0, 1.0]], 3)
    plausible.accepts(rows[::3])
    del judge.asked[:]
    valid[1, 1:] = False
    counts = plausible.of_twins(rows, keys, valid, own)
    assert judge.asked == rows[[1, 2]].tolist()
    np.testing.assert_array_equal(counts, [[True] * 3, [False] * 3])


@slow_sample
def test_no_row_is_judged_again_while_all_are_remembered():
    judge = Judge()
    plausible = PlausibleTwins(judge, row_keys)
    rows = np.random.default_rng(0).normal(size=(6000, 3))
    first = [plausible.accepts(part) for part in np.array_split(rows, 10)]
    again = plausible.accepts(rows)
    assert len(judge.asked) == len(rows)
    np.testing.assert_array_equal(again, np.concatenate(first))


def test_memory_begins_anew_once_it_is_full(monkeypatch):
    monkeypatch.setattr(_plausible_twins, "MOST_REMEMBERED", 100)
    judge = Judge()
    plausible = PlausibleTwins(judge, row_keys)
    rows = np.random.default_rng(0).normal(size=(300, 3))
    rows[:, -1] = 1.0
    assert plausible.accepts(rows[:200]).all() and plausible.accepts(rows[200:]).all()
    assert plausible.accepts(rows).all()
    assert len(judge.asked) == 300 + 200  # the first batch is forgotten
