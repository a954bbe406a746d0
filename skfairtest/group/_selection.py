"""selection_table computes rates of groups and their intersections, with counts and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skfairtest._typing import Bools, Floats, is_real
from skfairtest.group._inference.group_rates import (
    GroupSums,
    Means,
    Ratios,
    Repeats,
    ratios_to_highest,
)
from skfairtest.group._outcomes.counted_rows import CountedRows
from skfairtest.group._outcomes.outcomes import Outcomes, check_weights, make_outcomes
from skfairtest.group._rules.sensitive_groups import FEWEST_ROWS, Grouping, sensitive_attributes
from skfairtest.space._chunks import WANTED, as_chunks

#: What the rows with a missing sensitive value are called.
UNKNOWN = "(unknown)"


def selection_table(
    y_pred: Any,
    *,
    sensitive_features: Any,
    y_true: Any = None,
    favourable: Any = None,
    y_score: Any = None,
    sample_weight: Any = None,
    intersections: Any = True,
    confidence: float = 0.95,
    min_share: float = 0.0,
    data: Any = None,
) -> pd.DataFrame:
    """Compute selection rates, impact ratios and error rates of groups and of their intersections.

    The table is computed from given predictions: no model is asked.

    Parameters
    ----------
    y_pred : array-like of shape (n_rows,), or None
        Predicted labels, or a regressor's outputs as floats. None if `y_score` is given.
    sensitive_features : Series, DataFrame, dict, array, list or list of columns
        The sensitive attributes, one value per row, in the order of `y_pred`. Indexes are not
        aligned. A numeric attribute of more than six different values is cut at its quartiles, and
        a value that more than half of the rows have is a group of its own; pass strings or
        categories if numbers are codes. Rows with missing values (None, NaN) are counted as
        unknown; a string such as "unknown" is a group like any other.
    y_true : array-like of shape (n_rows,), default=None
        True labels, or targets of a regression.
    favourable : label, list of labels, float or "mean", default=None
        The label, or the set of labels, that people want; for a regressor, the smallest output that
        is favourable. None takes the label whose name says that it is favourable ("approved",
        "good") or, of two labels, the one beside a label whose name says that it is not
        ("rejected", "bad"); else it takes the last of two labels, with a warning. "mean" compares
        the mean of numbers as outputs of a regressor. None also does so for floats that have
        fractions or more than 20 different values.
    y_score : array-like of shape (n_rows,), default=None
        Scores. The table then has scoring rates, the shares of rows above the median score of all
        rows, in place of selection rates. A score that equals the median is not above it.
    sample_weight : array-like of shape (n_rows,), default=None
        Non-negative weights of the rows. Rates, means and the median are weighted; `n` and `share`
        are not. Intervals use the effective sample size in place of the number of rows.
    intersections : bool or list of tuples of names, default=True
        True adds the groups of each pair of attributes and, if there are three or more, those of
        all attributes together. A list names the combinations to add.
    confidence : float, default=0.95
        Confidence of each interval by itself.
    min_share : float, default=0.0
        A group with a smaller share of the rows is listed with its rates, but is left out of the
        impact ratios: it has none, and its rate is not taken as the highest.
    data : table in chunks, default=None
        An iterator or a list of DataFrames, a callable that returns an iterator, the path of a
        Parquet file, or a Dask DataFrame. It is read once. `y_pred`, `sensitive_features`, `y_true`
        and `sample_weight` are then names of its columns, and counts are those of the whole table.
        `y_score` is not possible, because its median needs all rows at once.

    Returns
    -------
    DataFrame
        One row per group, ordered by attribute. The columns are:

        - `attribute`, `group`, `n` (rows) and `share` (of all rows);
        - `selection_rate` or `scoring_rate`, and `impact_ratio`, the rate divided by the highest
          rate of the attribute's groups; for a regressor `mean_prediction` and no ratio;
        - with `y_true`, `false_positive_rate`, `false_negative_rate` and `accuracy`, each with its
          count ``_n``; for a regressor `mean_error`, the mean of prediction minus target;
        - the ends of the interval of each of these, ``_low`` and ``_high``;
        - `note`, which says that a group is small or why it has no ratio, else "".

        Rows whose sensitive value is missing come last in each attribute, as "(unknown)", without a
        ratio. The table's ``attrs`` have `n_rows`, `unknown` (how many rows are unknown in each
        attribute, 0 among them), `highest` (the group with the highest rate), `favourable` or
        `median_score`, `confidence`, `min_share`.

    Raises
    ------
    ValueError, TypeError
        If lengths differ, predictions or targets are missing, weights are negative, it cannot be
        told which labels are favourable, or an attribute has more than 5,000 groups.

    See Also
    --------
    TestSGDAuditor : Searches for the group that is treated most differently.

    Notes
    -----
    Rates have Wilson's intervals, means have Student's, and ratios have those of MOVER-R [1]_. The
    highest of several observed rates tends to be too high by chance, and another group may have the
    highest true rate. The interval of a ratio allows for both: it covers the ratio to the highest
    true rate. This is why the ratio of the group with the highest rate is 1 while the lower end of
    its interval is less than 1. All intervals take the rows for independent draws from a
    population; they do not hold for all groups at once.

    Selection rate, scoring rate and impact ratio are defined as in the rules for New York City's
    Local Law 144 [2]_; the ratio of rates to the highest rate is also what the four-fifths rule of
    the United States' Uniform Guidelines speaks of [3]_. The table does not check which categories,
    rows and dates these texts ask for, and it draws no conclusion.

    References
    ----------
    .. [1] Newcombe, R. G. (2016). MOVER-R confidence intervals for ratios and products of two
       independently estimated quantities. Statistical Methods in Medical Research 25, 1774-1778.
    .. [2] Rules of the City of New York, title 6, sections 5-300 and 5-301 (2023).
    .. [3] Code of Federal Regulations, title 29, section 1607.4(D) (1978).

    Examples
    --------
    >>> import numpy as np
    >>> from skfairtest import selection_table
    >>> sex = np.repeat(["female", "male"], [40, 60])
    >>> hired = np.r_[np.repeat([1, 0], [10, 30]), np.repeat([1, 0], [30, 30])]
    >>> table = selection_table(hired, sensitive_features={"sex": sex})
    >>> table[["group", "n", "selection_rate", "impact_ratio"]]
        group   n  selection_rate  impact_ratio
    0  female  40            0.25           0.5
    1    male  60            0.50           1.0
    """
    _check_share("confidence", confidence, 0 < confidence < 1 if is_real(confidence) else False)
    _check_share("min_share", min_share, 0 <= min_share < 1 if is_real(min_share) else False)
    repeats = weights = None
    if data is not None:
        counted = _counted(
            data, y_pred, y_true, y_score, sample_weight, sensitive_features, favourable
        )
        repeats, outcomes, sensitive_features = (
            counted.repeats(),
            counted.outcomes(),
            counted.table(),
        )
        n_rows, n_cells = int(repeats.n.sum()), len(repeats.n)
    else:
        n_rows = n_cells = _n_rows(y_pred if y_pred is not None else y_score)
        weights = None if sample_weight is None else check_weights(sample_weight, n_rows)
        outcomes = make_outcomes(y_pred, y_true, favourable, y_score, weights, n_rows)
    of_rows = None if repeats is None else repeats.n
    attributes = sensitive_attributes(sensitive_features, n_cells, intersections, of_rows)
    about = {
        "n_rows": n_rows,
        "unknown": {a.name: _n_unknown(a, of_rows) for a in attributes},
        "highest": {},
        **outcomes.about,
        "confidence": float(confidence),
        "min_share": float(min_share),
    }
    parts = [
        _part(
            attribute,
            outcomes,
            weights,
            float(confidence),
            float(min_share),
            about["highest"],
            repeats,
        )
        for attribute in attributes
    ]
    table = pd.concat(parts, ignore_index=True)
    table.attrs |= about
    return table


def _counted(
    data: Any,
    y_pred: Any,
    y_true: Any,
    y_score: Any,
    sample_weight: Any,
    sensitive: Any,
    favourable: Any,
) -> CountedRows:
    """Count the rows of a table in chunks."""
    chunks = as_chunks([data] if isinstance(data, pd.DataFrame) else data)
    if chunks is None:
        raise TypeError(f"data must come in chunks. {WANTED}; got {type(data).__name__}.")
    if y_score is not None:
        raise ValueError(
            "y_score cannot be used with data=, because scores are compared with the median of "
            "all rows. Pass arrays, or a column of labels that say whether a score is above it."
        )
    names = [sensitive] if isinstance(sensitive, str) else sensitive
    told = {"y_pred": y_pred, "y_true": y_true, "sample_weight": sample_weight}
    wrong = [name for name, value in told.items() if value is not None and not _is_name(value)]
    if y_pred is None or wrong or not isinstance(names, (list, tuple)) or not names:
        raise TypeError(
            "With data=, y_pred and sensitive_features must be names of its columns (a list of "
            f"them for several), and so must y_true and sample_weight; got y_pred={y_pred!r} and "
            f"sensitive_features={sensitive!r}."
        )
    return CountedRows(y_pred, y_true, sample_weight, list(names), favourable).count(chunks)


def _is_name(value: Any) -> bool:
    """Tell whether this is the name of a column and not a column itself."""
    return isinstance(value, (str, int, np.integer, tuple))


def _n_unknown(attribute: Grouping, n_rows: Any) -> int:
    """Count the rows whose sensitive value is missing."""
    unknown = attribute.codes < 0
    return int(unknown.sum() if n_rows is None else n_rows[unknown].sum())


def _part(
    attribute: Grouping,
    outcomes: Outcomes,
    weights: Floats | None,
    confidence: float,
    min_share: float,
    highest: dict[str, str],
    repeats: Repeats | None,
) -> pd.DataFrame:
    """Return the table's rows of one attribute."""
    n_groups = len(attribute.groups)
    unknown = bool((attribute.codes < 0).any())
    codes = np.where(attribute.codes < 0, n_groups, attribute.codes)
    sums = GroupSums(codes, n_groups + unknown, weights, repeats)
    share = sums.n / sums.n.sum()
    table: dict[str, Any] = {
        "attribute": attribute.name,
        "group": [*attribute.groups, *[UNKNOWN] * unknown],
        "n": sums.n,
        "share": share,
    }
    notes: list[list[str]] = [[] for _ in table["group"]]
    for place, (name, (values, rows)) in enumerate(outcomes.rates.items()):
        means = sums.mean(values, rows, name)
        interval = means.share_interval if outcomes.is_share else means.mean_interval
        low, high = interval(confidence)
        table |= {name: means.value, f"{name}_low": low, f"{name}_high": high}
        if place > 0:
            table[f"{name}_n"] = means.n
        elif outcomes.is_share:
            compared = (np.arange(len(share)) < n_groups) & (share >= min_share)
            compared &= np.isfinite(means.value)
            ratios = ratios_to_highest(means, compared, confidence)
            ends = zip(("", "_low", "_high"), ratios, strict=True)
            table |= {f"impact_ratio{end}": values for end, values in ends}
            _note_ratios(notes, means, compared, share < min_share, ratios, unknown, min_share)
            if np.isfinite(ratios.value).any():
                first = int(np.nanargmax(ratios.value))
                highest[attribute.name] = table["group"][first]
        elif unknown:
            notes[-1].append("value missing")
    for note, n in zip(notes, sums.n.tolist(), strict=True):
        if n < FEWEST_ROWS:
            note.append(f"fewer than {FEWEST_ROWS} rows")
    table["note"] = ["; ".join(note) for note in notes]
    return pd.DataFrame(table)


def _note_ratios(
    notes: list[list[str]],
    rates: Means,
    compared: Bools,
    is_small: Bools,
    ratios: Ratios,
    unknown: bool,
    min_share: float,
) -> None:
    """Note why a group has no ratio."""
    for j, note in enumerate(notes):
        if unknown and j == len(notes) - 1:
            note.append("value missing: no ratio")
        elif is_small[j]:
            note.append(f"under {100 * min_share:.4g}% of the rows: no ratio")
        elif not compared[j]:
            note.append("its rows have no weight")
        elif compared.sum() == 1:
            note.append("nothing to compare with")
        if compared[j] and not np.isfinite(ratios.value[j]):
            note.append("all rates are 0: no ratio")


def _check_share(name: str, value: Any, fits: bool) -> None:
    if not fits:
        between = "between 0 and 1" if name == "confidence" else "of at least 0, below 1"
        raise ValueError(f"{name} must be a number {between}; got {value!r}.")


def _n_rows(values: Any) -> int:
    if values is None:
        raise ValueError("y_pred must hold one prediction per row; got None, and no y_score.")
    if not hasattr(values, "__len__"):
        raise TypeError(f"y_pred must be array-like, with one value per row; got {values!r}.")
    if not len(values):
        raise ValueError("y_pred has 0 rows while a minimum of 1 is required.")
    return len(values)
