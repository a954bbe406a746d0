"""How a model treats moved rows, and nothing else: no intervals, columns or quality of the map."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest._validation import check_table, fitted_estimator
from skfairtest.individual._flip_test.judge import Judge
from skfairtest.individual._flip_test.maps import Maps, MovedRows
from skfairtest.oracle._model import Model
from skfairtest.oracle._row_answers import RowAnswers


class Changes(NamedTuple):
    """What becomes of the output of each row when it is moved; arrays of shape (n_rows,).

    Attributes
    ----------
    differs : ndarray of bool
        Whether the output for some moved twin counts as different.
    disparity : ndarray
        The largest difference from the output for a moved twin.
    """

    differs: Bools
    disparity: Floats


def changes_of(model: Model, Z: Floats, moved: list[MovedRows], threshold: float | None) -> Changes:
    """Compare the outputs for rows with those for their moved twins."""
    judge = Judge(model, threshold)
    judge.probe(Z)
    differs, disparity = np.zeros(len(Z), dtype=bool), np.zeros(len(Z))
    for part in judge.compare_all(Z, judge.ask(Z), moved, RowAnswers(len(Z))):
        differs[part.rows] |= part.shown.verdict
        disparity[part.rows] = np.maximum(disparity[part.rows], part.shown.disparity)
    return Changes(differs, disparity)


def moved_changes(auditor: Any, X: Any, sensitive_features: Any = None) -> Changes:
    """Return what a `FlipTestAuditor` finds for each row of X, at the cost of its outputs alone.

    Parameters
    ----------
    auditor : FlipTestAuditor
        With a fitted estimator.
    X : array-like or DataFrame of shape (n_rows, n_features)
        The rows, from which the map is learned as well.
    sensitive_features : array-like or DataFrame of shape (n_rows, n_columns), default=None
        Sensitive values that are not in X.
    """
    auditor._check_params()
    owner = auditor._with_params_alone()
    X, space, groups = auditor._read(owner, check_table(owner, X), None, sensitive_features)
    fitted = Maps(auditor.transport, space, groups).learn(space.data, groups.codes)
    model = Model(
        fitted_estimator(auditor, X, None, {}),
        space,
        response_method=auditor.response_method,
        n_jobs=auditor.n_jobs,
    )
    moved = fitted.move_all(space.data, groups.codes)
    return changes_of(model, space.data, moved, auditor.threshold)
