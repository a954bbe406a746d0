"""Searches for the encoded value at which something changes."""

from __future__ import annotations

import numpy as np
import pytest

from skfairtest.whitebox import _value_order
from skfairtest.whitebox._value_order import first_changed


@pytest.mark.parametrize("most", [7, 10_000], ids=["in blocks", "at once"])
def test_the_first_changed_rank_of_many_ranges(monkeypatch, most):
    monkeypatch.setattr(_value_order, "MOST_TOGETHER", most)
    rng = np.random.default_rng(0)
    low = rng.integers(-(2**62), 2**62, 500)
    high = low + rng.integers(0, 2**61, 500)
    change = low + rng.integers(0, 2**61, 500)
    which, first = first_changed(low, high, lambda ranks, of: ranks >= change[of])
    np.testing.assert_array_equal(which, np.flatnonzero((low < change) & (change <= high)))
    np.testing.assert_array_equal(first, change[which])
    assert 0 < len(which) < 500
