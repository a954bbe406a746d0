"""Tables in chunks: iterators of frames, callables, Parquet files, Dask frames.

Whatever the table comes in, a `Chunks` gives one table at a time and says what each is called, so
that an error can name it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from skfairtest.exceptions import ChunkFailedError
from skfairtest.space._containers import Container, make_container
from skfairtest.space._parquet import parquet_chunks

WANTED = (
    "Expected an iterator of frames, a callable that returns a fresh one, a list of frames, the "
    "path of a Parquet file, or a Dask DataFrame"
)
REPEATABLE = (
    "Pass a callable that returns a fresh iterator (a generator function, say), a list of frames, "
    "the path of a Parquet file, or a Dask DataFrame."
)


class Chunk(NamedTuple):
    """Chunk of a table: its name, the number of its first row, and its rows."""

    name: str
    start: int
    table: Any


class Chunks:
    """Table that comes in chunks.

    Iterating gives a `Chunk` after the other. Each must have rows, and the columns and dtypes of
    the first.

    Parameters
    ----------
    make : callable
        Returns an iterator of names and tables.
    can_repeat : bool
        Whether it may be called more than once.
    may_be_empty : bool, default=False
        Whether chunks without rows are left out. A filter leaves such partitions of a Dask
        DataFrame, and nobody can leave them out beforehand; elsewhere they are an error of whoever
        makes the chunks.

    Attributes
    ----------
    can_repeat : bool
        Whether the table can be gone through more than once.
    n_rows : int or None
        Rows of the table, once it was gone through.
    """

    def __init__(
        self,
        make: Callable[[], Iterator[tuple[str, Any]]],
        *,
        can_repeat: bool,
        may_be_empty: bool = False,
    ) -> None:
        self._make = make
        self.can_repeat = can_repeat
        self._may_be_empty = may_be_empty
        self.n_rows: int | None = None
        self._n_passes = 0

    def __iter__(self) -> Iterator[Chunk]:
        if self._n_passes and not self.can_repeat:
            raise ValueError(
                "The chunks must be read a second time, but an iterator can be read only once. "
                f"{REPEATABLE}"
            )
        self._n_passes += 1
        return self._checked()

    def needs_passes(self, n: int, why: str) -> None:
        """Check, before the first pass, that the table can be read n times."""
        if n > 1 and not self.can_repeat:
            raise ValueError(
                f"{why} reads the chunks {n} times, but an iterator can be read only once. "
                f"{REPEATABLE}"
            )

    def _checked(self) -> Iterator[Chunk]:
        first: Container | None = None
        first_name, start, n_read = "", 0, 0
        source = self._make()
        while True:
            try:
                name, table = next(source)
            except StopIteration:
                break
            except ChunkFailedError:
                raise
            except Exception as error:
                raise ChunkFailedError(
                    f"Chunk {n_read + 1} could not be read; those before it have {start} rows. "
                    f"{type(error).__name__}: {error}",
                    chunk=f"chunk {n_read + 1}",
                ) from error
            n_read += 1
            try:
                container = make_container(table)
                n = len(table)
            except (TypeError, ValueError) as error:
                raise ChunkFailedError(f"{_begin(name)}: {error}", chunk=name) from error
            if not n and self._may_be_empty:
                continue
            if not n:
                raise ChunkFailedError(
                    f"{_begin(name)} has no rows; those before it have {start}. Each needs "
                    "at least one row: check whether rows were lost where the chunks are made, or "
                    "leave empty chunks out there.",
                    chunk=name,
                )
            if first is None:
                first, first_name = container, name
            elif (difference := first.difference(container)) is not None:
                raise ChunkFailedError(
                    f"{_begin(name)} {difference} (got, against {first_name}). All chunks of a "
                    "table must have the same columns and dtypes; set them where the chunks are "
                    "read (by dtype=..., say).",
                    chunk=name,
                )
            yield Chunk(name, start, table)
            start += n
        self.n_rows = start
        if first is None:
            raise ChunkFailedError(
                f"The table has no rows: {n_read} chunks, none of which has any. {WANTED}, with "
                "at least one row."
            )


def _begin(name: str) -> str:
    return name[:1].upper() + name[1:]


def as_chunks(X: Any) -> Chunks | None:
    """Return X as chunks if it is a table in chunks, and None otherwise.

    Raises
    ------
    ChunkFailedError
        If a path leads to no Parquet file.
    """
    if isinstance(X, Chunks):
        return X
    if isinstance(X, (str, os.PathLike)):
        path = Path(X)
        return Chunks(lambda: parquet_chunks(path), can_repeat=True)
    if isinstance(X, np.ndarray) or hasattr(X, "iloc"):
        return _of_dask(X) if _is_dask(X) else None
    if isinstance(X, (list, tuple)):
        if len(X) and all(_is_table(item) for item in X):
            return Chunks(lambda: _numbered(iter(X)), can_repeat=True)
        return None
    if hasattr(X, "__next__"):
        return Chunks(lambda: _numbered(X), can_repeat=False)
    if callable(X) and not hasattr(X, "columns") and not isinstance(X, type):
        return Chunks(lambda: _numbered(iter(X())), can_repeat=True)
    return None


def _is_table(item: Any) -> bool:
    return hasattr(item, "columns") or (isinstance(item, np.ndarray) and item.ndim == 2)


def _numbered(tables: Iterator[Any]) -> Iterator[tuple[str, Any]]:
    for number, table in enumerate(tables, start=1):
        yield f"chunk {number}", table


def _is_dask(X: Any) -> bool:
    """Return whether X is a Dask DataFrame, without importing Dask."""
    return (
        type(X).__module__.split(".")[0] in ("dask", "dask_expr")
        and hasattr(X, "to_delayed")
        and hasattr(X, "partitions")
    )


def _of_dask(frame: Any) -> Chunks:
    def partitions() -> Iterator[tuple[str, Any]]:
        for number in range(int(frame.npartitions)):
            # One at a time: the whole need not fit into memory.
            name = f"partition {number}"
            try:
                table = frame.partitions[number].compute()
            except Exception as error:
                raise ChunkFailedError(
                    f"{_begin(name)} could not be computed: {type(error).__name__}: {error}",
                    chunk=name,
                ) from error
            yield name, table

    return Chunks(partitions, can_repeat=True, may_be_empty=True)
