"""Write tables as JSON, and read the answers of services as arrays."""

from __future__ import annotations

import json
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd


def table_as_json(X: Any) -> bytes:
    """Write a table as ``{"columns": [...], "rows": [[...], ...]}``; missing values are null."""
    columns: list[Any]
    cells: list[Any]
    if isinstance(X, pd.DataFrame):
        columns, cells = list(X.columns), [X[name].astype(object).to_numpy() for name in X.columns]
    elif isinstance(X, np.ndarray):
        columns, cells = list(range(X.shape[1])), [X[:, j] for j in range(X.shape[1])]
    else:
        frame = nw.from_native(X, eager_only=True)
        columns, cells = list(frame.columns), [frame[name].to_list() for name in frame.columns]
    plain = [[_plain(value) for value in own] for own in cells]
    rows = [list(row) for row in zip(*plain, strict=True)]
    return json.dumps({"columns": columns, "rows": rows}).encode()


def _plain(value: Any) -> Any:
    """Return a value in a form that JSON can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return None
    return value


def array_of_json(body: bytes) -> Any:
    """Read predictions from a list, or from an object that has them under "predictions"."""
    answer = json.loads(body)
    if isinstance(answer, dict):
        if "predictions" not in answer:
            raise ValueError(f"expected a list, or 'predictions' among the keys {list(answer)!r}")
        answer = answer["predictions"]
    if not isinstance(answer, list):
        raise ValueError(f"expected a list of predictions, not {type(answer).__name__}")
    return answer
