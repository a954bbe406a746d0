"""How a model's predictions differ between groups by sensitive values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.group._inference.counting import GroupRows
from skfairtest.group._outcomes.outcomes import OUTCOMES, Read
from skfairtest.group._rules.sensitive_groups import FEWEST_ROWS
from skfairtest.mitigation._comparison.jackknife import Jackknife, leave_out, paired_difference
from skfairtest.mitigation._shares import Measure

#: Outcomes that groups are compared by; the first one is the mean output of a regression.
RATES = ("selection_rate", "true_positive_rate", "false_positive_rate")


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
        One row per group: `rows`, `selection_rate` (mean output of a regression),
        `true_positive_rate`, `false_positive_rate`; NaN where nothing is to be counted.
    """
    names, codes = np.unique(groups, return_inverse=True)
    rows = GroupRows(codes, len(names), weights)
    table = {"rows": rows.n, **dict.fromkeys(RATES, np.full(len(names), np.nan))}
    made = Read(predicted if truth is None else predicted > 0, truth)
    for name in RATES:
        if truth is not None or not OUTCOMES[name].needs_truth:
            rate = OUTCOMES[name].rows(made)
            table[name] = rows.mean(rate.values, rate.counts).value
    return pd.DataFrame(table, index=pd.Index(names, name="group"))


def rate_change(
    own: Floats,
    original: Floats,
    number: Ints,
    *,
    confidence: float,
    weights: Floats | None,
    are_shares: bool,
    spread: float = 0.0,
) -> Measure:
    """How far the rate of a group, or its mean output, changes against the original's.

    Parameters
    ----------
    own, original : ndarray of shape (n_rows,)
        Predictions for the group's rows, as `rates_by_group` takes them.
    number : ndarray of int of shape (n_rows,)
        The part of each row that a jackknife leaves out.
    confidence : float
        Of the interval.
    weights : ndarray of shape (n_rows,), or None
        Weights of the rows.
    are_shares : bool
        Whether predictions are 1 or 0, so that rows are counted.
    spread : float, default=0.0
        Between single trainings.
    """
    kept = np.ones(len(own)) if weights is None else weights
    _, parts = np.unique(number, return_inverse=True)

    def mean(values: Floats) -> Jackknife:
        with np.errstate(invalid="ignore"):  # a group without weight has no rate
            return leave_out(
                lambda rows: float((values[rows] * kept[rows]).sum() / kept[rows].sum()), parts
            )

    return paired_difference(
        mean(own), mean(original), confidence, len(own) if are_shares else None, spread
    )


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
