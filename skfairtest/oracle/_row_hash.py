"""64-bit keys of rows, and two memories of bounded size that use them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Keys = NDArray[np.uint64]


def row_keys(Z: NDArray[np.float64]) -> Keys:
    """Return a 64-bit key for each row; different rows share one with chance 2**-64."""
    n, n_columns = Z.shape
    keys = np.empty(n, dtype=np.uint64)
    # 65,536 values at once: what is done with them stays in the processor's own memory.
    size = max(1, 65_536 // max(1, n_columns))
    for start in range(0, n, size):
        piece = slice(start, start + size)
        # -0.0 and 0.0 are one value.
        rows = np.add(Z[piece], 0.0, order="C", dtype=np.float64)
        mixed = pd.util.hash_array(rows.ravel()).reshape(rows.shape)
        mixed *= _weights(n_columns)
        mixed.sum(axis=1, dtype=np.uint64, out=keys[piece])
    return _nonzero(keys)


@lru_cache(maxsize=32)
def _weights(n_columns: int) -> Keys:
    # Odd weights make a permutation of 64-bit words out of every multiplication, so that two
    # columns that swap their values get another key. Fixed: keys never depend on a random state.
    rng = np.random.default_rng(20220101)
    return rng.integers(0, 2**63, size=n_columns, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def combine_keys(first: Keys, second: Keys) -> Keys:
    """Return a key for each pair of keys; the order of the two matters."""
    mixed = pd.util.hash_array(np.ascontiguousarray(first * np.uint64(3) + second).ravel())
    return _nonzero(mixed.reshape(first.shape))


def _nonzero(keys: Keys) -> Keys:
    # Zero marks an empty slot in the tables below.
    keys[keys == 0] = 1
    return keys


class KeySet:
    """A growing set of keys in one flat table, filled and searched a batch at a time.

    At most `capacity` keys are remembered (8 bytes each, tables at most 70% full). Keys that come
    later are reported as new and not kept, so that counts above the capacity are upper bounds.
    """

    def __init__(self, capacity: int = 5_800_000) -> None:
        self.capacity = capacity
        self.size = 0
        self._table = np.zeros(1024, dtype=np.uint64)

    def add(self, keys: Keys) -> NDArray[np.bool_]:
        """Add the keys; True for each key that was not there before, once a key."""
        fresh = np.zeros(len(keys), dtype=bool)
        # Within a batch, only the first of equal keys is new.
        first, _ = distinct(keys)
        unique = keys[first]
        is_new = np.ones(len(unique), dtype=bool)
        if self.size < self.capacity:
            self._grow(len(unique))
            is_new = self._insert(unique)
            self.size += int(is_new.sum())
        elif self.size:
            is_new = ~self.contains(unique)
        fresh[first] = is_new
        return fresh

    def _grow(self, more: int) -> None:
        size = len(self._table)
        # A table below 2**22 slots (32 MB) is a quarter full: a crowded one has many keys out of
        # their place, each round of which takes as long as a few hundred keys do.
        while self.size + more > size * (0.25 if size < 2**22 else 0.7):
            size *= 2
        if size > len(self._table):
            old = self._table[self._table != 0]
            self._table = np.zeros(size, dtype=np.uint64)
            # In pieces: the working arrays of one large insertion would outweigh the table.
            for start in range(0, len(old), 65_536):
                self._insert(old[start : start + 65_536])

    def _insert(self, keys: Keys) -> NDArray[np.bool_]:
        """Insert distinct keys by linear probing; True where a key was absent."""
        table, mask = self._table, len(self._table) - 1
        absent = np.zeros(len(keys), dtype=bool)
        pending = np.arange(len(keys))
        slots = (keys & np.uint64(mask)).astype(np.int64)
        while len(pending):
            here = keys[pending]
            empty = table[slots] == 0
            table[slots[empty]] = here[empty]
            # Of several keys that wanted one empty slot the last has it; the others move on.
            placed = table[slots] == here
            absent[pending] = placed & empty
            on = np.flatnonzero(~placed)
            pending, slots = pending[on], (slots[on] + 1) & mask
        return absent

    def keys(self) -> Keys:
        """Return all keys that are remembered, in no order."""
        return self._table[self._table != 0]

    def contains(self, keys: Keys) -> NDArray[np.bool_]:
        """Return which keys are in the set."""
        mask = len(self._table) - 1
        found = np.zeros(len(keys), dtype=bool)
        pending = np.arange(len(keys))
        slots = (keys & np.uint64(mask)).astype(np.int64)
        while len(pending):
            there = self._table[slots]
            hit = there == keys[pending]
            found[pending[hit]] = True
            on = ~hit & (there != 0)
            pending, slots = pending[on], (slots[on] + 1) & mask
        return found


class AnswerMemory:
    """The model's latest outputs by row key, in a table of fixed size.

    A slot holds one output and a newer one replaces it, so memory is bounded and a row that was
    forgotten is simply asked again.
    """

    def __init__(self, n_outputs: int, megabytes: float = 16.0) -> None:
        slots = int(megabytes * 2**20 / (8 * (n_outputs + 2)))
        size = 1 << max(10, min(18, slots.bit_length() - 1))
        self._keys = np.zeros(size, dtype=np.uint64)
        self._values = np.empty((size, n_outputs))
        self._labels = np.empty(size, dtype=np.int64)

    def _slots(self, keys: Keys) -> NDArray[np.int64]:
        return (keys >> np.uint64(20)).astype(np.int64) & (len(self._keys) - 1)

    def find(self, keys: Keys) -> tuple[NDArray[np.bool_], Any, Any]:
        """Return which keys are known, and their values and labels (arbitrary where unknown)."""
        slots = self._slots(keys)
        return self._keys[slots] == keys, self._values[slots], self._labels[slots]

    def store(self, keys: Keys, values: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
        """Remember the outputs."""
        slots = self._slots(keys)
        self._keys[slots] = keys
        # Of several rows that share a slot exactly one may stay, with its own values.
        stays = self._keys[slots] == keys
        self._values[slots[stays]] = values[stays]
        self._labels[slots[stays]] = labels[stays]


def distinct(keys: Keys) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First places of the different keys in their order, and each key's place among those."""
    back, different = pd.factorize(keys)
    if len(different) == len(keys):
        return back, back
    first = np.empty(len(different), dtype=np.intp)
    places = np.arange(len(keys), dtype=np.intp)
    first[back[::-1]] = places[::-1]  # the first of equal keys is written last, and stays
    return first, back
