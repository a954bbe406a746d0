"""Which twins the judge of plausible inputs is asked about."""

import numpy as np

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
