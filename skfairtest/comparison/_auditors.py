"""Compares auditors on one model by repeated runs on equal budgets and the papers' statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from skfairtest.base import BaseAuditor
from skfairtest.exceptions import WorkersFailedError
from skfairtest.finding._fitted_cards import comparison_card
from skfairtest.workers._sending import Broadcast, on_workers

MEASURES = (
    "degree", "found", "success_rate", "found_per_second", "found_per_query", "auc_queries",
    "auc_time",
)  # fmt: skip


@dataclass(frozen=True)
class AuditorComparison:
    """Results of `compare_auditors`: one row per run.

    Attributes
    ----------
    runs : DataFrame
        One row per run, with the columns auditor, repeat, seed, degree, found, inputs, queries,
        seconds, success_rate, found_per_second, found_per_query, auc_queries, auc_time, stop_reason
        and error. A run that crashed has its error message and NaN for what it did not measure.
    """

    runs: pd.DataFrame

    def _repr_html_(self) -> str:
        """The card that notebooks show."""
        return comparison_card(self)

    def summary(self) -> pd.DataFrame:
        """Compute the medians of each auditor over its runs.

        Returns
        -------
        DataFrame
            One row per auditor, in the order given: the medians of the measures, the numbers of
            runs and of crashes, and the most frequent error message, which is empty if there was
            none.
        """
        groups = self.runs.groupby("auditor", sort=False)
        table = groups[list(MEASURES)].median()
        table["runs"] = groups.size()
        table["crashes"] = groups["error"].apply(lambda errors: int((errors != "").sum()))
        table["error"] = groups["error"].apply(_commonest_error)
        return table

    def pairwise(self, measure: str = "degree") -> pd.DataFrame:
        """Compare each pair of auditors by one measure.

        Parameters
        ----------
        measure : str, default="degree"
            A numeric column of `runs`.

        Returns
        -------
        DataFrame
            One row per pair: both names and medians, the two-sided p-value of the Mann-Whitney U
            test, the Vargha-Delaney A12 (the probability that the first auditor has the larger
            value), and the word for this effect size. Crashed runs are left out.
        """
        if measure not in MEASURES:
            raise ValueError(f"measure must be one of {MEASURES}; got {measure!r}.")
        values = {
            name: group[measure].dropna().to_numpy()
            for name, group in self.runs.groupby("auditor", sort=False)
        }
        rows = []
        for first, second in combinations(values, 2):
            x, y = values[first], values[second]
            known = len(x) > 0 and len(y) > 0
            effect = a12(x, y) if known else np.nan
            rows.append(
                {
                    "first": first,
                    "second": second,
                    "median_first": float(np.median(x)) if len(x) else np.nan,
                    "median_second": float(np.median(y)) if len(y) else np.nan,
                    "p_value": float(mannwhitneyu(x, y).pvalue) if known else np.nan,
                    "a12": effect,
                    "effect": effect_size_word(effect) if known else "",
                }
            )
        return pd.DataFrame(rows)


def _commonest_error(errors: pd.Series) -> str:
    crashed = errors[errors != ""]
    return str(crashed.value_counts().index[0]) if len(crashed) else ""


def a12(first: Any, second: Any) -> float:
    """Compute the Vargha-Delaney A12, the probability that a value of `first` is larger.

    Parameters
    ----------
    first, second : array-like of shape (n,), (m,)
        The two samples that are compared.

    Returns
    -------
    float
        The probability that a random value of `first` is larger than one of `second`; ties count
        half.

    References
    ----------
    .. [1] Vargha, A., & Delaney, H. D. (2000). A critique and improvement of the CL common language
       effect size statistics of McGraw and Wong. Journal of Educational and Behavioral
       Statistics, 25(2), 101-132.

    Examples
    --------
    >>> from skfairtest.comparison import a12
    >>> a12([2, 3], [1, 2])
    0.875
    """
    x, y = np.asarray(first, dtype=float)[:, None], np.asarray(second, dtype=float)[None, :]
    return float(((x > y) + 0.5 * (x == y)).mean())


def effect_size_word(a: float) -> str:
    """Return the SBFT paper's word for the effect size A12, whichever sample is larger.

    Parameters
    ----------
    a : float
        Vargha-Delaney A12.

    Returns
    -------
    {"negligible", "small", "medium", "large"}
        An effect is small from 0.58, medium from 0.65 and large from 0.75; values below one half
        are mirrored.

    Examples
    --------
    >>> from skfairtest.comparison import effect_size_word
    >>> effect_size_word(0.8), effect_size_word(0.2), effect_size_word(0.6)
    ('large', 'large', 'small')
    """
    size = max(a, 1 - a)
    for bar, word in ((0.75, "large"), (0.65, "medium"), (0.58, "small")):
        if size >= bar - 1e-12:
            return word
    return "negligible"


def compare_auditors(
    auditors: Mapping[str, BaseAuditor] | Sequence[BaseAuditor],
    estimator: Any,
    X: Any,
    *,
    n_repeats: int = 20,
    max_queries: int | None = None,
    max_time: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> AuditorComparison:
    """Run several auditors on one fitted model, each several times with the same budget.

    Parameters
    ----------
    auditors : dict of str to auditor, or list of auditors
        Unfitted auditors. Their parameters are kept, except that estimator, budget and seed are
        set. Auditors in a list are named after their classes.
    estimator : estimator
        A fitted estimator; it is not fitted again.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Data that shows which inputs exist.
    n_repeats : int, default=20
        Number of runs of each auditor. All auditors have the same seed in a repeat.
    max_queries : int, default=None
        Budget of each run in queries.
    max_time : float, default=None
        Budget of each run in seconds. If `max_queries` and `max_time` are None, each auditor has
        its own budget. For comparable times leave `n_jobs` at 1.
    n_jobs : int, default=None
        Number of runs at the same time.
    random_state : int, RandomState or None, default=None
        Seed of the repeats.
    verbose : int, default=0
        1 prints a line after each run.

    Returns
    -------
    AuditorComparison
        All runs, which can be summarized and compared pairwise.

    Raises
    ------
    ValueError
        If there are no auditors, names repeat, or `n_repeats` is not positive.
    WorkersFailedError
        If joblib's workers are lost. Its attribute `so_far` has the runs that were complete.

    Notes
    -----
    `auc_queries` and `auc_time` are the area under the curve of the degree found so far, as a share
    of the largest degree of any run, over the share of the budget used, from 0 to 1, as in [1]_.

    References
    ----------
    .. [1] Perera, A., et al. (2022). Search-based fairness testing for regression-based machine
       learning systems. Empirical Software Engineering, 27(3).

    Examples
    --------
    >>> from skfairtest import RandomAuditor, SBFTAuditor, compare_auditors
    >>> from skfairtest.datasets import make_biased_regression
    >>> data = make_biased_regression(variant="narrow", random_state=0)
    >>> result = compare_auditors(
    ...     [SBFTAuditor(), RandomAuditor()], data.estimator, data.data,
    ...     n_repeats=4, max_queries=2000, random_state=0,
    ... )
    >>> result.pairwise("degree")["effect"].tolist()
    ['large']
    """
    named = _named(auditors)
    if not isinstance(n_repeats, (int, np.integer)) or n_repeats < 1:
        raise ValueError(f"n_repeats must be a whole number of at least 1; got {n_repeats!r}.")
    budget: dict[str, Any] = {
        name: value
        for name, value in (("max_queries", max_queries), ("max_time", max_time))
        if value is not None
    }
    if budget and max_queries is None:
        budget["max_queries"] = None  # else an auditor's own default would end the run first
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_repeats)
    tasks = [(name, repeat, int(seed)) for repeat, seed in enumerate(seeds) for name in named]
    runs = on_workers(_run, Broadcast((named, estimator, X, budget)), tasks, n_jobs)
    rows, histories = [], []
    try:
        for row, history in runs:
            rows.append(row)
            histories.append(history)
            if verbose:
                outcome = row["error"] or f"degree {row['degree']:.4g}, {row['found']:.0f} found"
                print(f"[compare_auditors] {len(rows)}/{len(tasks)} {row['auditor']}: {outcome}")
    except WorkersFailedError as error:
        if rows:
            error.so_far = AuditorComparison(_with_areas(rows, histories, max_queries, max_time))
        raise
    return AuditorComparison(_with_areas(rows, histories, max_queries, max_time))


def _named(auditors: Any) -> dict[str, BaseAuditor]:
    pairs = (
        list(auditors.items())
        if isinstance(auditors, Mapping)
        else [(type(auditor).__name__, auditor) for auditor in auditors]
    )
    names = [name for name, _ in pairs]
    if not pairs or len(set(names)) < len(names):
        raise ValueError(
            "auditors must be one or more auditors with different names; got the names "
            f"{names!r}. Pass a dict of names to auditors if two are of the same class."
        )
    return dict(pairs)


def _run(
    asked: tuple[dict[str, Any], Any, Any, dict[str, Any]], name: str, repeat: int, seed: int
) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Run one auditor, and return the run as a row, also if it crashed."""
    named, estimator, X, budget = asked
    auditor = named[name]
    row: dict[str, Any] = {"auditor": name, "repeat": repeat, "seed": seed}
    history: dict[str, NDArray[np.float64]] = {}
    fresh = clone(auditor).set_params(
        estimator=FrozenEstimator(estimator), random_state=seed, **budget
    )
    try:
        fresh.fit(X)
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {error}"
        return row, history
    seconds = max(fresh.seconds_, 1e-9)
    row |= {
        "degree": fresh.fairness_degree_,
        "found": fresh.n_found_,
        "inputs": fresh.n_inputs_,
        "queries": fresh.n_queries_,
        "seconds": fresh.seconds_,
        "success_rate": fresh.discrimination_rate_,
        "found_per_second": fresh.n_found_ / seconds,
        "found_per_query": fresh.n_found_ / max(fresh.n_queries_, 1),
        "stop_reason": fresh.stop_reason_,
        "error": "",
    }
    table = fresh.history_
    return row, {key: table[key].to_numpy(dtype=float) for key in ("queries", "seconds", "degree")}


def _with_areas(
    rows: list[dict[str, Any]],
    histories: list[dict[str, NDArray[np.float64]]],
    max_queries: int | None,
    max_time: float | None,
) -> pd.DataFrame:
    columns = [
        "auditor",
        "repeat",
        "seed",
        "degree",
        "found",
        "inputs",
        "queries",
        "seconds",
        "success_rate",
        "found_per_second",
        "found_per_query",
        "stop_reason",
        "error",
    ]
    runs = pd.DataFrame(rows).reindex(columns=columns)
    best = max(runs["degree"].max(), 0.0)
    ends = {
        "queries": max_queries or runs["queries"].max(),
        "seconds": max_time or runs["seconds"].max(),
    }
    for name, axis in (("auc_queries", "queries"), ("auc_time", "seconds")):
        runs[name] = [
            _area(history[axis], history["degree"], float(ends[axis]), best) if history else np.nan
            for history in histories
        ]
    return runs


def _area(
    position: NDArray[np.float64], degree: NDArray[np.float64], end: float, best: float
) -> float:
    """Compute the area under a step curve from 0 to `end`, with both axes scaled to 1."""
    if not best > 0 or not end > 0:
        return 0.0
    edges = np.append(np.minimum(position, end), end)
    return float((np.diff(edges) * degree).sum() / (end * best))
