"""Rows of a table in chunks, counted by what a table of groups can tell apart.

All that rates need of rows is how many have the same sensitive values and the same labels; of the
outputs of a regressor, their mean and spread among rows with the same sensitive values.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pandas as pd

from skfairtest._typing import Floats
from skfairtest._validation import check_weights, column, numbers_of
from skfairtest.exceptions import ChunkFailedError
from skfairtest.group._inference.counting import Repeats
from skfairtest.group._outcomes.outcomes import OUTCOMES, MetricRows, is_output, rates_of, read
from skfairtest.space._chunks import Chunk, Chunks

#: Columns of the counts: rows, sums of weights and of their squares.
SUMS = ["n", "w", "w2"]
#: Columns of the means of outputs, by the outcome.
MOMENTS = {"mean_prediction": "m0", "mean_error": "m1"}


class CountedRows:
    """Counts the rows of chunk after chunk.

    Parameters
    ----------
    y_pred, y_true, sample_weight : str or None
        Names of columns.
    sensitive : list of str
        Names of the sensitive columns.
    favourable : object
        As the user gave it.
    """

    def __init__(
        self, y_pred: Any, y_true: Any, sample_weight: Any, sensitive: list[Any], favourable: Any
    ) -> None:
        self.y_pred, self.y_true, self.sample_weight = y_pred, y_true, sample_weight
        self.sensitive = sensitive
        self.favourable = favourable
        self.cells = pd.DataFrame()
        #: Whether the predictions are labels, outputs whose mean counts, or such as are at least
        #: so much.
        self.kind = "mean" if isinstance(favourable, str) and favourable == "mean" else "labels"
        self._least = isinstance(favourable, numbers.Real) and not isinstance(favourable, bool)
        self._outputs: Floats = np.empty(0)
        self._levels: dict[int, Any] = {}

    def count(self, chunks: Chunks) -> CountedRows:
        """Count the chunks one after the other; returns this object."""
        for chunk in chunks:
            try:
                self._add(chunk)
            except (KeyError, TypeError, ValueError) as error:
                message = error.args[0] if isinstance(error, KeyError) else error
                raise ChunkFailedError(
                    f"{chunk.name[:1].upper()}{chunk.name[1:]} (rows from {chunk.start} on): "
                    f"{message}",
                    chunk=chunk.name,
                ) from error
        if self.sample_weight is not None and not self.cells["w"].sum() > 0:
            raise ValueError("sample_weight must not be zero everywhere. Pass other weights.")
        return self

    def _add(self, chunk: Chunk) -> None:
        X = chunk.table
        if not isinstance(X, pd.DataFrame):
            raise TypeError(f"The table must be a pandas DataFrame; got {type(X).__name__}.")
        wanted = [self.y_pred, self.y_true, self.sample_weight, *self.sensitive]
        absent = [name for name in wanted if name is not None and name not in X.columns]
        if absent:
            raise KeyError(f"data has no columns {absent!r}; got {list(X.columns)!r}.")
        rows = pd.DataFrame({f"s{k}": self._values(X, k) for k in range(len(self.sensitive))})
        rows["pred"] = column("y_pred", X[self.y_pred], len(X))
        if self.y_true is not None:
            rows["true"] = column("y_true", X[self.y_true], len(X))
        rows["n"] = 1
        rows["w"] = rows["w2"] = 1.0
        if self.sample_weight is not None:
            weights = check_weights(X[self.sample_weight], len(X), zeros=True)
            rows["w"], rows["w2"] = weights, weights**2
        if self.kind == "labels" and self._are_outputs(rows["pred"].to_numpy()):
            self.kind = "least" if self._least else "mean"
            if len(self.cells):
                self.cells = _collapse(self._coarser(self.cells))
        rows = self._coarser(rows)
        self.cells = _collapse(pd.concat([self.cells, _collapse(rows)], ignore_index=True))
        most = 1_000_000  # a bound on memory, and more groups than anybody reads
        if len(self.cells) > most:
            raise ValueError(
                f"There are more than {most} different combinations of {self.sensitive!r} "
                "and labels. Cut numbers into groups first (pandas.cut), or leave a column out."
            )

    def _values(self, X: pd.DataFrame, k: int) -> Any:
        """Return the values of a sensitive column, with its categories if it has some."""
        values = X[self.sensitive[k]].reset_index(drop=True)
        if isinstance(values.dtype, pd.CategoricalDtype):
            known = self._levels.setdefault(k, [])
            known += [level for level in values.dtype.categories if level not in known]
            return values.astype(object)
        return values

    def _are_outputs(self, predicted: Any) -> bool:
        """Tell whether the predictions so far are outputs of a regressor, by `is_output`."""
        by_value = self.favourable is None or self._least
        if predicted.dtype.kind != "f" or not by_value:
            return False
        self._outputs = np.union1d(self._outputs, predicted)
        return is_output(self._outputs)

    def _coarser(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Reduce predictions of rows, or of cells of labels, to what is needed."""
        if self.kind == "labels":
            return rows
        predicted = numbers_of("y_pred", rows["pred"].to_numpy())
        truth = numbers_of("y_true", rows["true"].to_numpy()) if "true" in rows else None
        rows = rows.drop(columns=["pred", "true"], errors="ignore")
        if self.kind == "least":
            rows["pred"] = predicted >= self.favourable
            if truth is not None:
                rows["true"] = truth >= self.favourable
            return rows
        made = read("outputs", predicted, truth, None, asked="the mean", name="y_true")
        for name, moment in MOMENTS.items():
            if truth is not None or not OUTCOMES[name].needs_truth:
                rows[moment], rows[f"v{moment[1:]}"] = OUTCOMES[name].rows(made).values, 0.0
        return rows

    # What was counted -----------------------------------------------------------------------

    def table(self) -> pd.DataFrame:
        """The sensitive values of the cells, with the names of the columns."""
        columns = {}
        for k, name in enumerate(self.sensitive):
            values = self.cells[f"s{k}"]
            if k in self._levels:
                values = pd.Series(pd.Categorical(values, categories=self._levels[k]))
            columns[name] = values
        return pd.DataFrame(columns)

    def repeats(self) -> Repeats:
        """How many rows each cell stands for."""
        n, w, w2 = (self.cells[name].to_numpy() for name in SUMS)
        within = {
            name: self.cells[f"v{moment[1:]}"].to_numpy()
            for name, moment in MOMENTS.items()
            if moment in self.cells
        }
        return Repeats(n, w, w2, within)

    def rates(self) -> tuple[dict[str, MetricRows], dict[str, Any]]:
        """What is averaged in each group by name, and what was taken as favourable."""
        cells = self.cells
        if self.kind == "mean":
            everyone = np.ones(len(cells), dtype=bool)
            return {
                name: MetricRows(cells[moment].to_numpy(), everyone, False, "mean")
                for name, moment in MOMENTS.items()
                if moment in cells
            }, {}
        truth = cells["true"].to_numpy() if "true" in cells else None
        predicted = cells["pred"].to_numpy()
        if self.kind == "labels":
            return rates_of(predicted, truth, self.favourable)
        rates, _ = rates_of(predicted, truth, [True])
        return rates, {"favourable": float(self.favourable)}


def _collapse(rows: pd.DataFrame) -> pd.DataFrame:
    """Merge rows with equal keys: add up counts, and combine means and spreads."""
    moments = [name for name in MOMENTS.values() if name in rows]
    spreads = [f"v{name[1:]}" for name in moments]
    keys = [c for c in rows.columns if c not in (*SUMS, *moments, *spreads)]
    groups = rows.groupby(keys, sort=False, dropna=False)
    cells = groups[SUMS].sum().reset_index()
    place = groups.ngroup().to_numpy()
    weight = rows["w"].to_numpy()
    total = cells["w"].to_numpy()
    for mean, spread in zip(moments, spreads, strict=True):
        values = rows[mean].to_numpy()
        with np.errstate(invalid="ignore", divide="ignore"):
            middle = np.bincount(place, weight * values, len(cells)) / total
        middle = np.where(total > 0, middle, 0.0)
        apart = rows[spread].to_numpy() + weight * (values - middle[place]) ** 2
        cells[mean], cells[spread] = middle, np.bincount(place, apart, len(cells))
    return cells
