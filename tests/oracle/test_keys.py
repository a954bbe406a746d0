"""Tests of row keys, key sets, the answer memory, the archive and the history."""

from __future__ import annotations

import numpy as np
import pytest

from skfairtest.oracle._archive import Archive, History
from skfairtest.oracle._row_hash import AnswerMemory, KeySet, combine_keys, row_keys


def test_row_keys_are_equal_exactly_for_equal_rows():
    rng = np.random.default_rng(0)
    Z = rng.integers(-2, 3, size=(4000, 4)).astype(float)
    keys = row_keys(Z)
    _, by_row = np.unique(Z, axis=0, return_inverse=True)
    _, by_key = np.unique(keys, return_inverse=True)
    pairs = np.unique(np.column_stack([by_row.ravel(), by_key.ravel()]), axis=0)
    assert len(pairs) == by_row.max() + 1 == by_key.max() + 1
    assert (keys != 0).all()


def test_row_keys_of_negative_zero_missing_and_swapped_columns():
    assert row_keys(np.array([[0.0, 1.0]])) == row_keys(np.array([[-0.0, 1.0]]))
    assert row_keys(np.array([[np.nan, 1.0]])) == row_keys(np.array([[np.nan, 1.0]]))
    assert row_keys(np.array([[1.0, 2.0]])) != row_keys(np.array([[2.0, 1.0]]))


def test_combined_keys_depend_on_both_keys_and_their_order():
    first, second = np.array([5, 5, 9], dtype=np.uint64), np.array([9, 8, 5], dtype=np.uint64)
    assert len(set(combine_keys(first, second).tolist())) == 3


def test_key_set_counts_like_a_python_set():
    rng = np.random.default_rng(1)
    keys, known = KeySet(), set()
    for _ in range(30):
        batch = rng.integers(1, 5000, size=rng.integers(1, 900)).astype(np.uint64)
        fresh = keys.add(batch)
        assert sorted(batch[fresh].tolist()) == sorted(set(batch.tolist()) - known)
        known |= set(batch.tolist())
        assert keys.size == len(known)


def test_key_set_with_keys_that_want_one_slot():
    batch = (np.arange(1, 600, dtype=np.uint64) << np.uint64(40)) | np.uint64(7)
    keys = KeySet()
    assert keys.add(batch).all()
    assert not keys.add(batch[::-1].copy()).any()


def test_full_key_set_keeps_what_it_knows():
    keys = KeySet(capacity=1000)
    keys.add(np.arange(1, 1001, dtype=np.uint64))
    later = np.arange(900, 1101, dtype=np.uint64)
    assert keys.add(later).tolist() == [False] * 101 + [True] * 100
    assert keys.size == 1000
    assert keys.add(later).sum() == 100  # not kept, so new again


def test_answer_memory_never_gives_another_rows_answer():
    rng = np.random.default_rng(2)
    memory = AnswerMemory(2, megabytes=0.001)  # 1024 slots, so many share one
    for _ in range(20):
        keys = np.unique(rng.integers(1, 2**62, size=700).astype(np.uint64))
        values = np.column_stack([keys % 1000, keys % 77]).astype(float)
        memory.store(keys, values, (keys % 5).astype(np.int64))
        known, found, labels = memory.find(keys)
        assert known.mean() > 0.3
        np.testing.assert_array_equal(found[known], values[known])
        np.testing.assert_array_equal(labels[known], (keys % 5).astype(np.int64)[known])
    assert not memory.find(np.array([2**63 + 11], dtype=np.uint64))[0].any()


def test_answer_memory_keeps_the_newest_of_equal_keys():
    memory = AnswerMemory(1)
    key = np.array([12345], dtype=np.uint64)
    memory.store(key, np.array([[1.0]]), np.array([1]))
    memory.store(key, np.array([[2.0]]), np.array([0]))
    known, values, labels = memory.find(key)
    assert known.all() and values[0, 0] == 2.0 and labels[0] == 0


@pytest.mark.parametrize("megabytes", [32.0, 0.0])
def test_archive_keeps_the_worst_of_each_input(megabytes):
    rng = np.random.default_rng(3)
    archive = Archive(2, 1, megabytes=megabytes)
    best = {}
    for _ in range(25):
        ids = rng.integers(1, 3000, size=400)
        disparity = rng.random(400)
        Z = np.column_stack([ids, -ids]).astype(float)
        n_new = archive.add(
            Z, np.tile([[0.0], [1.0]], (400, 1, 1)), disparity, ids.astype(np.uint64)
        )
        assert n_new == len(set(ids.tolist()) - set(best))
        for i, gap in zip(ids.tolist(), disparity, strict=True):
            best[i] = max(best.get(i, 0.0), gap)
    Z, pairs, disparity = archive.rows()
    expected = sorted(best.items(), key=lambda item: -item[1])[: archive.capacity]
    assert archive.n_found == len(best) > len(expected) - (megabytes > 0)
    assert Z[:, 0].tolist() == [i for i, _ in expected]
    assert disparity.tolist() == [gap for _, gap in expected]
    assert pairs.shape == (len(expected), 2, 1)


def test_archive_starts_empty():
    Z, pairs, disparity = Archive(3, 2).rows()
    assert Z.shape == (0, 3) and pairs.shape == (0, 2, 2) and disparity.shape == (0,)


def test_history_is_thinned_and_keeps_its_ends():
    history = History(limit=50)
    for i in range(1000):
        history.add(2 * i, 0.0, i, 0, 0.0)
        assert len(history._rows) <= 51
    queries = history.arrays()["queries"]
    assert queries[0] == 0 and queries[-1] == 1998
    assert 20 <= len(queries) <= 52
    steps = np.diff(queries[:-1])
    assert (steps == steps[0]).all()


def test_short_history_is_whole():
    history = History()
    assert history.arrays()["degree"].shape == (0,)
    history.add(2, 0.1, 1, 0, 0.5)
    history.add(4, 0.2, 2, 1, 0.7)
    assert history.arrays()["degree"].tolist() == [0.5, 0.7]
