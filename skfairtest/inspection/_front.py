"""Candidates of a search by two metrics, and those on the front, which no other beats in both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Floats

#: What scikit-learn writes before the name of a metric in ``cv_results_``.
PREFIX = "mean_test_"


def metric_names(cv_results: Any) -> list[str]:
    """Return the names of the metrics of a search."""
    return [key.removeprefix(PREFIX) for key in cv_results if key.startswith(PREFIX)]


def _column(cv_results: Any, name: str) -> Floats:
    if name not in metric_names(cv_results):
        raise ValueError(
            f"cv_results_ has no metric {name!r}; it has {metric_names(cv_results)}. Name a key "
            "of scoring={...}."
        )
    # A masked array where a search did not run everything.
    return np.ma.filled(np.ma.asarray(cv_results[PREFIX + name], dtype=float), np.nan)


def two_columns(cv_results: Any, objective: str, unfairness: str | None) -> tuple[Floats, Floats]:
    """Return the objective, and the unfairness as a number that is better if smaller."""
    names = metric_names(cv_results)
    if unfairness is None:
        others = [name for name in names if name != objective]
        if len(others) != 1:
            raise ValueError(
                f"unfairness=None needs exactly one metric besides {objective!r}; got {others}. "
                "Name the audit scorer: unfairness=..."
            )
        unfairness = others[0]
    values, unfair = _column(cv_results, objective), 0.0 - _column(cv_results, unfairness)
    if (unfair < 0).any():
        raise ValueError(
            f"Scores of {unfairness!r} must be those of an audit scorer, at most 0; got "
            f"{-unfair[unfair < 0][0]:.6g}. Swap the two names, or make it with make_audit_scorer."
        )
    return values, unfair


def which_known(*columns: Floats) -> NDArray[np.bool_]:
    """Return which candidates have no NaN; raise an error if there are none."""
    known: NDArray[np.bool_] = np.asarray(np.isfinite(np.column_stack(columns)).all(axis=1))
    if not known.any():
        raise ValueError(
            f"All {len(known)} candidates have a NaN among their scores: their fits or audits "
            "failed. Look at the warnings, or set error_score='raise'."
        )
    return known


def not_dominated(values: Floats) -> NDArray[np.bool_]:
    """Return which rows no other row equals or beats in all columns and beats in one."""
    known = which_known(*values.T)
    front = known.copy()
    for place in np.flatnonzero(known):
        other = values[known]
        beaten = (other >= values[place]).all(axis=1) & (other > values[place]).any(axis=1)
        front[place] = not beaten.any()
    return front
