"""selection_table computes rates of groups and their intersections, with counts and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skfairtest._parameters import check_real
from skfairtest._typing import Floats
from skfairtest._validation import check_weights, column, numbers_of
from skfairtest.group._group_table import How, Part, part_of, smallest_of_parts
from skfairtest.group._inference.ratios import ratios_to_highest
from skfairtest.group._outcomes.counted_rows import CountedRows
from skfairtest.group._outcomes.outcomes import MetricRows, rates_of
from skfairtest.group._rules.sensitive_groups import (
    Grouping,
    control_strata,
    sensitive_attributes,
)
from skfairtest.space._chunks import WANTED, as_chunks
from skfairtest.space._sensitive_features import check_index


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
    control_features: Any = None,
    data: Any = None,
) -> pd.DataFrame:
    """Compute selection rates, impact ratios and error rates of groups and of their intersections.

    The table is computed from given predictions: no model is asked.

    Parameters
    ----------
    y_pred : array-like of shape (n_rows,), or None
        Predicted labels, or a regressor's outputs as floats. None if `y_score` is given.
    sensitive_features : Series, DataFrame, dict, array, list or list of columns
        The sensitive attributes, one value per row, in the order of `y_pred`. If both are pandas
        objects, their indexes must be equal. A numeric attribute of more than six different values
        is cut at its quartiles, and a value that more than half of the rows have is a group of its
        own; pass strings or categories if numbers are codes. Rows with missing values (None, NaN)
        are counted as unknown; a string such as "unknown" is a group like any other.
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
    control_features : Series, DataFrame, dict, array, list or list of columns, default=None
        What people must have in common to be compared like with like, such as a department, one
        value per row. The combinations of values are strata, numbers are cut as sensitive ones are,
        and a missing value is one of its own. The table then also has the groups of each stratum,
        and figures that are pooled over the strata. Whether people who differ in such a feature may
        be treated differently is for people to judge: where a feature stands in for the sensitive
        attribute, strata hide what is to be found.
    data : table in chunks, default=None
        An iterator or a list of DataFrames, a callable that returns an iterator, the path of a
        Parquet file, or a Dask DataFrame. It is read once. `y_pred`, `sensitive_features`,
        `y_true`, `sample_weight` and `control_features` are then names of its columns, and counts
        are those of the whole table.
        `y_score` is not possible, because its median needs all rows at once.

    Returns
    -------
    DataFrame
        One row per group, ordered by attribute. The columns are:

        - `attribute`, `group`, `n` (rows) and `share` (of all rows);
        - `selection_rate` or `scoring_rate`, and `impact_ratio`, the rate divided by the highest
          rate of the attribute's groups, of two or more; for a regressor `mean_prediction` and no
          ratio;
        - with `y_true`, `false_positive_rate`, `false_negative_rate` and `accuracy`, each with its
          count ``_n``; for a regressor `mean_error`, the mean of prediction minus target;
        - the bounds of the interval of each of these, ``_low`` and ``_high``;
        - `note`, which says that a group is small or why it has no ratio, else "";
        - with `control_features`, those that the notes below describe.

        Rows whose sensitive value is missing come last in each attribute, as "(unknown)", without a
        ratio. The table's ``attrs`` have `n_rows`, `unknown` (how many rows are unknown in each
        attribute, 0 among them), `highest` (the group with the highest rate), `favourable` or
        `median_score`, `confidence`, `min_share`, and `smallest_ratio`: two values between which
        the smallest impact ratio of all groups lies, whichever group has it in truth (None and None
        without ratios).

    Raises
    ------
    ValueError, TypeError
        If lengths or indexes differ, predictions or targets are missing, weights are negative, it
        cannot be told which labels are favourable, or an attribute has more than 5,000 groups.

    See Also
    --------
    TestSGDAuditor : Searches for the group that is treated most differently.

    Notes
    -----
    Rates have Wilson's intervals, means have Student's, and ratios have those of MOVER-R [1]_. The
    highest of several observed rates tends to be too high by chance, and another group may have the
    highest true rate. The interval of a ratio allows for both: it covers the ratio to the highest
    true rate. This is why the ratio of the group with the highest rate is 1 while the lower bound
    of its interval is less than 1. All intervals assume that the rows are independent draws from a
    population; they do not hold for all groups at once.

    The rate of a group of few rows is mostly chance: its interval is wide, and says how far the
    true rate may be from it. Compare intervals, not rates, where groups are small. Intervals of
    means are too short where rows are few and their values are skewed.

    With `control_features` a column `stratum` is "" in the rows of whole groups, and names the
    stratum in those of a group within it, whose `share` is of the stratum and whose `impact_ratio`
    is to the same group as that of the whole table: the reference, the group with the highest rate
    there (of a regressor, with the highest mean; ``attrs["reference"]``). The other columns are:

    - `ratio_within` and `difference_within`, the rate of a group divided by that of the reference,
      and less that, pooled over the strata by Mantel and Haenszel's weights [4]_; above 1 and 0
      where the group does better within strata. Their intervals (``_low``, ``_high``) invert
      Miettinen and Nurminen's score test [5]_, which also holds for many strata of a few rows each;
      those of means are Student's.
    - `homogeneity_ratio` and `homogeneity_difference`, p-values of the hypothesis that the strata
      have one ratio, or one difference (Tarone's score test [6]_; of means an F test, which takes
      values to vary alike in all strata); for a small one read the strata, as one figure does not
      sum them up.
    - `n_strata` and `n_within`, the strata that have rows of both, and their rows of both: all that
      pooled figures rest on.
    - `from_rates` and `from_composition`, which add up to the difference of the group's rate from
      that of the reference [7]_: what rates within strata make of it, and what it makes that groups
      are in other strata. Those of the strata add up to those of the group.

    ``attrs["smallest_within"]`` is the smallest pooled ratio of any group to any other of its
    attribute, in both directions, with two values between which it lies, whichever pair has it in
    truth. Strata weigh as much as their rows do; with `sample_weight`, as the weights of these,
    and the intervals use the effective sizes.

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
    .. [4] Greenland, S., & Robins, J. M. (1985). Estimation of a common effect parameter from
       sparse follow-up data. Biometrics 41, 55-68.
    .. [5] Miettinen, O., & Nurminen, M. (1985). Comparative analysis of two rates. Statistics in
       Medicine 4, 213-226.
    .. [6] Tarone, R. E. (1985). On heterogeneity tests based on efficient scores. Biometrika 72,
       91-95.
    .. [7] Kitagawa, E. M. (1955). Components of a difference between two rates. Journal of the
       American Statistical Association 50, 1168-1194.

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
    check_real("confidence", confidence, "(0, 1)")
    check_real("min_share", min_share, "[0, 1)")
    repeats = weights = None
    if data is not None:
        counted, sensitive_features, control_features = _counted(
            data, y_pred, y_true, y_score, sample_weight, sensitive_features, control_features,
            favourable,
        )  # fmt: skip
        repeats = counted.repeats()
        rates, taken = counted.rates()
        n_rows, n_cells = int(repeats.n.sum()), len(repeats.n)
    else:
        n_rows = n_cells = _n_rows(y_pred if y_pred is not None else y_score)
        weights = None if sample_weight is None else check_weights(sample_weight, n_rows)
        rates, taken = _rates(y_pred, y_true, favourable, y_score, weights, n_rows)
        named = {
            "y_pred": y_pred, "y_score": y_score, "sensitive_features": sensitive_features,
            "y_true": y_true, "sample_weight": sample_weight, "control_features": control_features,
        }  # fmt: skip
        # The first that has an index says which rows these are.
        first, index = next(
            ((k, v.index) for k, v in named.items() if isinstance(v, (pd.Series, pd.DataFrame))),
            ("y_pred", None),
        )
        for name, given in named.items():
            check_index(given, index, first, name)
    of_rows = None if repeats is None else repeats.n
    attributes = sensitive_attributes(sensitive_features, n_cells, intersections, of_rows)
    strata = None
    if control_features is not None:
        strata = control_strata(control_features, n_cells, of_rows)
    how = How(rates, weights, confidence, min_share, repeats, strata)
    parts = [part_of(attribute, how) for attribute in attributes]
    table = pd.concat([part.table for part in parts], ignore_index=True)
    table.attrs |= {
        "n_rows": n_rows,
        "unknown": {a.name: _n_unknown(a, of_rows) for a in attributes},
        "highest": {part.name: part.highest for part in parts if part.highest is not None},
        **taken,
        "confidence": float(confidence),
        "min_share": float(min_share),
        "smallest_ratio": _smallest_ratio(table, parts, confidence),
    }
    if strata is not None:
        table.attrs |= {
            "control_features": strata.name,
            "n_strata": len(strata.groups),
            "reference": {part.name: part.reference for part in parts},
            "smallest_within": smallest_of_parts(parts, how),
        }
    return table


def _smallest_ratio(
    table: pd.DataFrame, parts: list[Part], confidence: float
) -> tuple[float | None, float | None]:
    """Bounds of the smallest impact ratio of all groups, whichever has it in truth.

    Each bound misses at most as often as one bound of an interval. The smallest of all lower bounds
    is no larger than that of the group in question. The smallest of many upper bounds is too small
    by chance, so each of these misses as many times more seldom as there are groups (Bonferroni).
    """
    ratios = table[table["stratum"] == ""] if "stratum" in table else table
    if "impact_ratio" not in table or not (n := int(ratios["impact_ratio"].notna().sum())):
        return None, None
    at_once = 1 - (1 - confidence) / n
    uppers = [ratios_to_highest(part.rates, part.compared, at_once).high for part in parts]
    return float(ratios["impact_ratio_low"].min()), float(np.nanmin(np.concatenate(uppers)))


def _rates(
    y_pred: Any, y_true: Any, favourable: Any, y_score: Any, weights: Floats | None, n_rows: int
) -> tuple[dict[str, MetricRows], dict[str, Any]]:
    """What is averaged in each group, by name, and what was taken as favourable."""
    if y_pred is None and y_true is not None:
        raise ValueError("y_true needs predictions to compare with; got y_pred=None. Pass y_pred.")
    predicted = None if y_pred is None else column("y_pred", y_pred, n_rows)
    truth = None if y_true is None else column("y_true", y_true, n_rows)
    if y_score is None:
        assert predicted is not None, "one of both is given"
        return rates_of(predicted, truth, favourable)
    score = numbers_of("y_score", column("y_score", y_score, n_rows))
    middle = weighted_median(score, weights)
    if np.isnan(middle):
        raise ValueError(
            "y_score has no finite median, because half of it is infinite. Pass finite scores."
        )
    # "Above": a score that equals the median does not count.
    above = MetricRows((score > middle).astype(np.float64), np.ones(n_rows, dtype=bool), True, None)
    rates, taken = {"scoring_rate": above}, {"median_score": middle}
    if predicted is not None and truth is not None:
        of_labels, chosen = rates_of(predicted, truth, favourable, means=False)
        del of_labels["selection_rate"]
        rates, taken = rates | of_labels, chosen | taken
    return rates, taken


def weighted_median(values: Floats, weights: Floats | None) -> float:
    """Compute the median; with weights, half of the weight is on either side."""
    if weights is None:
        with np.errstate(invalid="ignore"):
            return float(np.median(values))
    order: Any = np.argsort(values, kind="stable")
    order = order[weights[order] > 0]
    below = np.cumsum(weights[order])
    half = below[-1] / 2
    place = int(np.searchsorted(below, half * (1 - 1e-12)))
    if abs(below[place] - half) <= 1e-12 * half:
        return float((values[order[place]] + values[order[place + 1]]) / 2)
    return float(values[order[place]])


def _counted(
    data: Any,
    y_pred: Any,
    y_true: Any,
    y_score: Any,
    sample_weight: Any,
    sensitive: Any,
    control: Any,
    favourable: Any,
) -> tuple[CountedRows, pd.DataFrame, pd.DataFrame | None]:
    """Count the rows of a table in chunks; also returns the sensitive values and the strata's."""
    chunks = as_chunks([data] if isinstance(data, pd.DataFrame) else data)
    if chunks is None:
        raise TypeError(f"data must come in chunks. {WANTED}; got {type(data).__name__}.")
    if y_score is not None:
        raise ValueError(
            "y_score cannot be used with data=, because scores are compared with the median of "
            "all rows. Pass arrays, or a column of labels that say whether a score is above it."
        )
    names = [sensitive] if isinstance(sensitive, str) else sensitive
    others = [control] if isinstance(control, str) else [] if control is None else control
    columns = {"y_pred": y_pred, "y_true": y_true, "sample_weight": sample_weight}
    wrong = [name for name, value in columns.items() if value is not None and not _is_name(value)]
    are_lists = all(isinstance(one, (list, tuple)) for one in (names, others))
    if (
        y_pred is None
        or wrong
        or not are_lists
        or not names
        or (not others and control is not None)
    ):
        raise TypeError(
            "With data=, y_pred, sensitive_features and control_features must be names of its "
            "columns (a list of them for several), and so must y_true and sample_weight; got "
            f"y_pred={y_pred!r}, sensitive_features={sensitive!r} and control_features={control!r}."
        )
    every = [*names, *(name for name in others if name not in names)]
    counted = CountedRows(y_pred, y_true, sample_weight, every, favourable).count(chunks)
    table = counted.table()
    return counted, table[list(names)], table[list(others)] if others else None


def _is_name(value: Any) -> bool:
    """Tell whether this is the name of a column and not a column itself."""
    return isinstance(value, (str, int, np.integer, tuple))


def _n_unknown(attribute: Grouping, n_rows: Any) -> int:
    """Count the rows whose sensitive value is missing."""
    unknown = attribute.codes < 0
    return int(unknown.sum() if n_rows is None else n_rows[unknown].sum())


def _n_rows(values: Any) -> int:
    if values is None:
        raise ValueError("y_pred must hold one prediction per row; got None, and no y_score.")
    if not hasattr(values, "__len__"):
        raise TypeError(f"y_pred must be array-like, with one value per row; got {values!r}.")
    if not len(values):
        raise ValueError("y_pred has 0 rows while a minimum of 1 is required.")
    return len(values)
