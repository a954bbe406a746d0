"""Groups by sensitive values, and how a model's predictions differ between them."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pandas as pd

from skfairtest._typing import Bools, Floats
from skfairtest.space._space import InputSpace

#: Numbers with more different values than this are cut at their quartiles.
MOST_VALUES = 6
#: Groups of fewer rows are listed, and left out of differences: their rates are mostly chance.
FEWEST_ROWS = 30


class Groups:
    """The groups that people fall into by their sensitive values, each combination one.

    Parameters
    ----------
    space : InputSpace
        Its data say which values there are, and where the quartiles of numbers are.
    """

    def __init__(self, space: InputSpace) -> None:
        self.space = space
        self.cuts: dict[int, Floats] = {}
        for j in space.sensitive.tolist():
            known = space.data[~np.isnan(space.data[:, j]), j]
            if space.columns[j].kind != "categorical" and len(np.unique(known)) > MOST_VALUES:
                cuts = np.unique(np.quantile(known, [0.25, 0.5, 0.75], method="lower"))
                self.cuts[j] = cuts[cuts < known.max()]

    def names(self, X: Any) -> Any:
        """Name of each row's group, an array of shape (n_rows,)."""
        Z = self.space.encode(X)
        parts = [self._names_by(j, Z[:, j]) for j in self.space.sensitive.tolist()]
        return np.array([", ".join(row) for row in zip(*parts, strict=True)], dtype=object)

    def _names_by(self, j: int, codes: Floats) -> list[str]:
        column = self.space.columns[j]
        names = {}
        for code in np.unique(codes):
            names[code] = f"{column.name} missing"
            if j not in self.cuts and not np.isnan(code):
                names[code] = f"{column.name} = {_short(column.take(np.array([code]))[0])}"
        if j in self.cuts:
            ends = column.take(self.cuts[j])
            words = [f"{column.name} <= {_short(ends[0])}"]
            words += [
                f"{_short(low)} < {column.name} <= {_short(high)}"
                for low, high in zip(ends[:-1], ends[1:], strict=True)
            ]
            words.append(f"{column.name} > {_short(ends[-1])}")
            names |= {
                code: words[np.searchsorted(self.cuts[j], code)] for code in names if code == code
            }
        # NaN is not equal to itself, but it is the one key that is left.
        missing = f"{column.name} missing"
        return [names[code] if code == code else missing for code in codes.tolist()]


def _short(value: Any) -> str:
    """The value in words: numbers without the noise of their codes."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    return f"{float(value):.6g}" if is_number else str(value)


def rates_by_group(
    groups: Any, truth: Bools | None, predicted: Floats, weights: Floats | None
) -> pd.DataFrame:
    """Rates of favourable predictions in each group.

    Parameters
    ----------
    groups : array of shape (n_rows,)
        Names of the rows' groups.
    truth : ndarray of bool of shape (n_rows,), or None
        Whether the true label is favourable; None for a regression.
    predicted : ndarray of shape (n_rows,)
        1 where the prediction is favourable, else 0; outputs of a regression.
    weights : ndarray of shape (n_rows,), or None
        Weights of the rows.

    Returns
    -------
    DataFrame
        One row a group: `rows`, `selection_rate` (mean output of a regression),
        `true_positive_rate`, `false_positive_rate`; NaN where nothing is to be counted.
    """
    weights = np.ones(len(predicted)) if weights is None else weights
    table = {}
    for name in np.unique(groups):
        inside = groups == name
        row = {
            "rows": int(inside.sum()),
            "selection_rate": _mean(predicted, weights, inside),
            "true_positive_rate": np.nan,
            "false_positive_rate": np.nan,
        }
        if truth is not None:
            row["true_positive_rate"] = _mean(predicted, weights, inside & truth)
            row["false_positive_rate"] = _mean(predicted, weights, inside & ~truth)
        table[name] = row
    return pd.DataFrame.from_dict(table, orient="index").rename_axis("group")


def _mean(values: Floats, weights: Floats, rows: Bools) -> float:
    total = weights[rows].sum()
    return float((values[rows] * weights[rows]).sum() / total) if total > 0 else np.nan


def between_groups(table: pd.DataFrame) -> dict[str, float]:
    """Demographic parity and equalized odds from the rates of the groups that are large enough.

    The definitions are those of fairlearn's ``demographic_parity_difference``,
    ``demographic_parity_ratio`` and ``equalized_odds_difference`` (the larger difference of the
    two rates of errors). A rate that a group does not have (nobody in it is favoured in truth)
    is left out.

    References
    ----------
    .. [1] Weerts, H., Dudík, M., Edgar, R., Jalali, A., Lutz, R., & Madaio, M. (2023). Fairlearn:
       assessing and improving fairness of AI systems. JMLR 24(257), 1-8.
    """
    large = table[table["rows"] >= FEWEST_ROWS]
    spread = large.max() - large.min() if len(large) > 1 else pd.Series(np.nan, table.columns)
    selected = large["selection_rate"]
    is_rate = (
        table["false_positive_rate"].notna().any() or table["true_positive_rate"].notna().any()
    )
    ratio = np.nan
    # Means of outputs have no natural zero, so their ratio says nothing.
    if is_rate and len(large) > 1 and selected.max() > 0:
        ratio = selected.min() / selected.max()
    odds = spread[["true_positive_rate", "false_positive_rate"]].max()
    return {
        "demographic_parity_difference": float(spread["selection_rate"]),
        "demographic_parity_ratio": float(ratio),
        "equalized_odds_difference": float(odds),
    }
