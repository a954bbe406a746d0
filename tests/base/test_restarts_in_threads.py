"""Restarts on threads: searches of one auditor share nothing that they write to."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tiers import SAMPLE

import skfairtest
from skfairtest import PublishedSBFTAuditor
from skfairtest.base import BaseAuditor
from skfairtest.testing import (
    auditor_checks,
    check_other_limits,
    check_query_count,
    check_smallest_budget,
    make_table,
)

AUDITORS = {
    name: getattr(skfairtest, name)
    for name in sorted(skfairtest.__all__)
    if name.endswith("Auditor") and name != "BaseAuditor"
}
#: Searches with restarts; one tester's two searches are both there.
SEARCHES = {
    name: cls()
    for name, cls in AUDITORS.items()
    if issubclass(cls, BaseAuditor) and "n_restarts" in cls().get_params()
} | {"PublishedSBFTAuditor": PublishedSBFTAuditor(population_size=20)}
N_RESTARTS = 6

pytestmark = pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning")


def numbers():
    """The common table as numbers, which every tester takes."""
    table = make_table()
    codes = {name: table[name].factorize(sort=True)[0] for name in ("group", "site")}
    return table.assign(**codes)


def cases(name, X):
    """Settings and fitted models that one search can audit."""
    y = (X["years"] / 120 + (X["group"] == 1) * X["amount"] / 5 > 0.9).to_numpy()
    if SEARCHES[name]._is_white_box:
        net = MLPClassifier((6,), max_iter=30, random_state=0).fit(X, y)
        yield {}, net
        yield {}, LogisticRegression(max_iter=1000).fit(X, y)
        return
    yield {}, DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    score = X["years"] * (1 + (X["group"] == 1)) + X["amount"]
    yield {"threshold": 1.0}, DecisionTreeRegressor(max_depth=6, random_state=0).fit(X, score)


def everything(auditor):
    """All results, in a form that can be compared; seconds left out."""
    results = {
        name: value for name, value in vars(auditor).items()
        if name.endswith("_") and name not in ("seconds_", "estimator_", "space_")
    }  # fmt: skip
    results |= {name: value for name, value in auditor._state.items() if name != "history"}
    history = {
        name: value for name, value in auditor._state["history"].items() if name != "seconds"
    }
    return results | history


def on_one_worker_and_on_threads(name, settings, model, X, *, n_repeats, max_queries):
    def fit():
        auditor = SEARCHES[name].__class__(**SEARCHES[name].get_params(deep=False))
        params = {
            "max_queries": max_queries,
            "n_restarts": N_RESTARTS,
            "random_state": 0,
            **settings,
        }
        return auditor.set_params(estimator=model, sensitive_features=["group"], **params).fit(X)

    alone = everything(fit())
    for _ in range(n_repeats):
        with joblib.parallel_config("threading", n_jobs=N_RESTARTS):
            together = everything(fit())
        assert alone.keys() == together.keys()
        for key in alone:
            np.testing.assert_equal(together[key], alone[key], err_msg=key)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("AequitasAuditor", "RandomAuditor") else SAMPLE)
        for name in SEARCHES
    ],
)
def test_restarts_on_threads_find_what_one_worker_finds(name):
    X = numbers()
    settings, model = next(iter(cases(name, X)))
    on_one_worker_and_on_threads(name, settings, model, X, n_repeats=1, max_queries=360)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_restarts_on_threads_find_it_ten_times_in_a_row(name):
    X = numbers()
    for settings, model in cases(name, X):
        on_one_worker_and_on_threads(name, settings, model, X, n_repeats=10, max_queries=360)


#: Checks that are not made for restarts: counts of a model that is asked by several threads, and
#: budgets that are less than a pair of twins for each search.
ALONE = (check_query_count, check_smallest_budget, check_other_limits)
COMMON = [
    (name, check)
    for name, auditor in SEARCHES.items()
    if not auditor._is_white_box
    for check in auditor_checks(clone(auditor).set_params(n_restarts=N_RESTARTS))
    if check.func not in ALONE
]


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(*case, marks=SAMPLE if case[0] == "RandomAuditor" else pytest.mark.slow)
        for case in COMMON
    ],
    ids=[f"{name}-{check.__name__}" for name, check in COMMON],
)
def test_common_checks_hold_for_restarts_on_threads(name, check):
    with joblib.parallel_config("threading", n_jobs=N_RESTARTS):
        check()
