"""Many auditors on one model: repeated runs on equal budgets, and the papers' statistics."""

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
    """What `compare_auditors` measured.

    Attributes
    ----------
    runs : DataFrame
        One row a run: auditor, repeat, seed, degree, found, inputs, queries, seconds,
        success_rate, found_per_second, found_per_query, auc_queries, auc_time, stop_reason, error.
        A run that crashed has its error here and NaN for what it did not measure.
    """

    runs: pd.DataFrame

    def _repr_html_(self) -> str:
        """The card that notebooks show."""
        return comparison_card(self)

    def summary(self) -> pd.DataFrame:
        """Medians of each auditor over its runs.

        Returns
        -------
        DataFrame
            One row an auditor, in the order given: the medians of the measures, the numbers of runs
            and of crashes, and the error that most of these had, empty where there is none.
        """
        groups = self.runs.groupby("auditor", sort=False)
        table = groups[list(MEASURES)].median()
        table["runs"] = groups.size()
        table["crashes"] = groups["error"].apply(lambda errors: int((errors != "").sum()))
        table["error"] = groups["error"].apply(_commonest_error)
        return table

    def pairwise(self, measure: str = "degree") -> pd.DataFrame:
        """Compare each pair of auditors in one measure.

        Parameters
        ----------
        measure : str, default="degree"
            A numeric column of `runs`.

        Returns
        -------
        DataFrame
            One row a pair: both names and medians, the two-sided p-value of the Mann-Whitney U
            test, the Vargha-Delaney A12 (the probability that the first has the larger value), and
            the word for its size. Crashed runs are left out.
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
    """Vargha-Delaney A12: the chance that a value of the first is larger than one of the second.

    Parameters
    ----------
    first, second : array-like of shape (n,), (m,)
        Two samples.

    Returns
    -------
    float
        From 0 to 1; ties count half.

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
    """The SBFT paper's word for an A12, whichever of the two is the larger.

    Parameters
    ----------
    a : float
        Vargha-Delaney A12.

    Returns
    -------
    {"negligible", "small", "medium", "large"}
        From 0.58 on small, from 0.65 medium, from 0.75 large; below one half mirrored.

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
    """Run several auditors on one fitted model, each several times on the same budget.

    Parameters
    ----------
    auditors : dict of str to auditor, or list of auditors
        Templates; their own parameters are kept, estimator, budget and seed are set. Auditors of a
        list are named after their classes.
    estimator : estimator
        A fitted estimator; it is not fitted again.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Data that shows which inputs exist.
    n_repeats : int, default=20
        Runs of each auditor. In a repeat all auditors have the same seed.
    max_queries : int, default=None
        Budget of a run in queries.
    max_time : float, default=None
        Budget of a run in seconds. With neither, each auditor's own budget holds. For fair times
        leave `n_jobs` at one.
    n_jobs : int, default=None
        Runs at the same time.
    random_state : int, RandomState or None, default=None
        Seed of the repeats.
    verbose : int, default=0
        1 prints a line a run.

    Returns
    -------
    AuditorComparison
        All runs, with a summary and a comparison of each pair.

    Raises
    ------
    ValueError
        If there are no auditors, names repeat, or `n_repeats` is not positive.
    WorkersFailedError
        If the workers of joblib's context are lost; its `so_far` has the runs that had come in.

    Notes
    -----
    The area under the curve is that of the degree so far, as a share of the largest degree of any
    run, over the share of the budget (queries or seconds) from 0 to 1, as in [1]_.

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
            f"auditors must be at least one, with different names; got {names!r}. Pass a dict from "
            "name to auditor to tell two of a class apart."
        )
    return dict(pairs)


def _run(
    asked: tuple[dict[str, Any], Any, Any, dict[str, Any]], name: str, repeat: int, seed: int
) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """One run as a row; a crash is a row too."""
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
    """Area under a step curve from 0 to `end`, both axes scaled to one."""
    if not best > 0 or not end > 0:
        return 0.0
    edges = np.append(np.minimum(position, end), end)
    return float((np.diff(edges) * degree).sum() / (end * best))
