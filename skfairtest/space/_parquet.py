"""Read a Parquet file, or a folder of them, as frames of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from skfairtest.exceptions import ChunkFailedError

#: Rows of a frame: a row group may hold many more.
ROWS = 2**17
SUFFIXES = (".parquet", ".pq")


def parquet_chunks(path: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name and the frame of each row group of the files, in their order.

    Columns have the dtypes that they have in the whole file: whole numbers of which some are
    missing are floats in all frames.

    Raises
    ------
    ImportError
        Without pyarrow.
    ChunkFailedError
        If there is no such file, or it cannot be read; it says which row group.
    """
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            "Reading a Parquet file in chunks needs pyarrow: pip install 'skfairtest[parquet]', or "
            "pass an iterator of frames."
        ) from error
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
    if not path.exists() or not files:
        raise ChunkFailedError(
            f"{str(path)!r} leads to no Parquet file. Expected the path of a file, or of a folder "
            f"with files that end in {' or '.join(SUFFIXES)}.",
            chunk=str(path),
        )
    incomplete: set[str] = set()
    for file in files:
        try:
            # One at a time: a folder may hold more files than a process may have open.
            with pq.ParquetFile(file) as source:
                incomplete |= _incomplete(source.metadata)
        except Exception as error:
            raise ChunkFailedError(
                f"{str(file)!r} is no Parquet file, or it was cut off: {_told(error)}. Write it "
                "anew, or leave it out.",
                chunk=str(file),
            ) from error
    for file in files:
        with pq.ParquetFile(file) as source:
            for number in range(source.num_row_groups):
                name = f"row group {number} of {str(file)!r}"
                try:
                    for batch in source.iter_batches(batch_size=ROWS, row_groups=[number]):
                        yield name, _as_frame(batch, incomplete)
                except Exception as error:
                    raise ChunkFailedError(
                        f"{name[:1].upper()}{name[1:]} cannot be read: {_told(error)}. The file "
                        "may be damaged or cut off; write it anew.",
                        chunk=name,
                    ) from error


def _told(error: Exception) -> str:
    return str(error).rstrip(".")


def _incomplete(metadata: Any) -> set[str]:
    """Return the names of the columns that hold missing values in some row group, or may do so."""
    names = set()
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for j in range(group.num_columns):
            column = group.column(j)
            counts = column.statistics
            if counts is None or not counts.has_null_count or counts.null_count:
                names.add(column.path_in_schema)
    return names


def _as_frame(batch: Any, incomplete: set[str]) -> pd.DataFrame:
    frame = batch.to_pandas()
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index(drop=True)
    # As pandas has it for the whole file: a batch without missing values does not know of others.
    for name in incomplete & set(frame.columns):
        dtype = frame[name].dtype
        if isinstance(dtype, np.dtype) and dtype.kind in "iu":
            frame[name] = frame[name].astype(np.float64)
        elif isinstance(dtype, np.dtype) and dtype.kind == "b":
            frame[name] = frame[name].astype(object)
    return frame
