"""How a model treats moved rows, and nothing else: no intervals, columns or quality of the map."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Bools, Floats, Ints
from skfairtest._validation import check_table, fitted_estimator
from skfairtest.individual._flip_test.flips import Judge
from skfairtest.individual._flip_test.maps import Map, Maps
from skfairtest.oracle._model import PROBE_ROWS, Model


class MovedTwins(NamedTuple):
    """Rows moved to each other group.

    Attributes
    ----------
    rows : ndarray of int of shape (n_moved,)
        The position of the row that was moved.
    Z : ndarray of shape (n_moved, n_features)
        Codes of the moved twins.
    """

    rows: Ints
    Z: Floats


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


def twins_in_all_groups(fitted: Map, Z: Floats, codes: Ints) -> MovedTwins:
    """Move rows of known groups to all groups but their own."""
    rows, moved = [], []
    for own in range(len(fitted.groups)):
        here = np.flatnonzero(codes == own)
        for to in range(len(fitted.groups)):
            if to != own and len(here):
                rows.append(here)
                target = np.full(len(here), to)
                moved.append(fitted.move(Z[here], codes[here], target))
    return MovedTwins(np.concatenate(rows), np.concatenate(moved))


def changes_of(model: Model, Z: Floats, twins: MovedTwins, threshold: float | None) -> Changes:
    """Compare the outputs for rows with those for their moved twins."""
    judge = Judge(model, threshold)
    if model.probe_cost:
        model.probe(Z[:PROBE_ROWS])
    before = judge.ask(Z).at(twins.rows)
    shown = judge.compare(before, judge.ask(twins.Z))
    verdict = judge.confirmed(Z[twins.rows], twins.Z, shown.verdict)
    differs, disparity = np.zeros(len(Z), dtype=bool), np.zeros(len(Z))
    differs[twins.rows[verdict]] = True
    np.maximum.at(disparity, twins.rows, shown.disparity)
    return Changes(differs, disparity)


def moved_changes(auditor: Any, X: Any, sensitive_features: Any = None) -> Changes:
    """Return what a `FlipTestAuditor` finds for each row of X, at the price of its outputs alone.

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
    twins = twins_in_all_groups(fitted, space.data, groups.codes)
    return changes_of(model, space.data, twins, auditor.threshold)
