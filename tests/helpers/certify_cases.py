"""Small tables, and degrees by asking the model about every input, for tests of certificates."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from clocks import CLOCK
from searches import get_to_know, handle_of
from tiers import SAMPLE

from skfairtest import CertifiedAuditor, SBFTAuditor
from skfairtest.exact._composition import APART
from skfairtest.exact._dispatch import read_verifier
from skfairtest.exact._verifier import SolverLimits
from skfairtest.oracle._stop import StopSearch


def small_table(seed=0, n=150, *, real=False):
    """A frame of 3 x 5 x 4 x 3 inputs, or with two real columns more, and a target."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "s": rng.choice(["p", "q", "r"], n, p=[0.5, 0.4, 0.1]),
            "a": rng.integers(1, 6, n),
            "c": rng.choice(["u", "v", "w", "z"], n, p=[0.45, 0.45, 0.05, 0.05]),
            "b": rng.integers(0, 3, n),
        }
    )
    if real:
        X["x"] = rng.gamma(2.0, 2.0, n)
        X["y"] = rng.normal(size=n)
    y = (X["s"] == "q") * (1.0 + X["b"]) + 0.5 * X["a"] + (X["c"] == "v") * (X["s"] == "p")
    if real:
        y += np.sin(X["x"]) * (X["s"] == "p") + X["y"]
    return X, y.to_numpy() + 0.3 * rng.normal(size=n)


def certified(model, X, sensitive="s", **params):
    """An auditor fitted on the data."""
    settings = {"max_queries": 100, "max_time": LONG, "random_state": 0, "engine": "numpy"}
    auditor = CertifiedAuditor(model, sensitive_features=sensitive, **(settings | params))
    return auditor.fit(X)


def exhaustive_degree(auditor):
    """Largest disparity over all inputs of a finite space, by the estimator's own answers."""
    space = auditor.space_
    grids = [space.domain.columns[j].grid() for j in space.non_sensitive]
    free = np.array(list(itertools.product(*grids)))
    Z = np.zeros((len(free), space.n_features))
    Z[:, space.sensitive] = space.domain.low[space.sensitive]
    Z[:, space.non_sensitive] = free
    Z = Z[space.valid(Z)]
    search = handle_of(auditor.estimator_, space, **auditor._response_settings())
    get_to_know(search, Z[:8], np.random.default_rng(0))
    try:
        search.evaluate(Z)
    except StopSearch:
        pass  # every input was judged
    assert search.so_far.inputs == len(Z)
    return search.so_far.degree


#: Time of what may stay open, and of what has to close, by the tests' clock.
SHORT, LONG = 0.5, 60.0


def solve_alone(auditor, seconds=SHORT):
    """The bounds without a search, which raises those of an auditor, and their rounding."""
    verifier, _ = read_verifier(
        auditor.estimator_, auditor.space_, auditor.response_, False, np.random.default_rng(0)
    )
    result = verifier.solve(0.0, SolverLimits(CLOCK.now() + seconds, 1e-9))
    return result._replace(upper=min(result.upper, verifier.root_bound())), 2 * verifier.rounding


def some(kinds, slow):
    """Names of cases, those that take longer marked."""
    return [pytest.param(kind, marks=pytest.mark.slow) if kind in slow else kind for kind in kinds]


def in_turn(kinds, models):
    """Each kind with each model; with one of them in a sample, and every other one in each run."""
    return [
        pytest.param(kind, model, id=f"{kind}-{name}",
                     marks=pytest.mark.slow if (k + m) % len(models) else SAMPLE if k % 2 else [])
        for k, kind in enumerate(kinds) for m, (name, model) in enumerate(models.items())
    ]  # fmt: skip


def check_finite(model, X, *, exact=True, **params):
    """On a domain that can be enumerated: certified, and equal to the true degree."""
    # What may stay open ends when the time is up; what has to close gets as much as it needs.
    auditor = certified(model, X, **{"max_time": LONG if exact else SHORT} | params)
    degree = exhaustive_degree(auditor)
    assert degree > 0 or not exact  # of many random networks, some are constant
    result, rounding = solve_alone(auditor, LONG if exact else SHORT)
    assert degree <= result.upper + rounding
    assert degree <= auditor.fairness_degree_upper_bound_
    if exact:
        assert auditor.certified_, auditor.stop_reason_
        # All inputs were looked at: the search of the verifier has to close as well.
        assert result.reason in ("closed", APART), result.reason
        if result.reason == "closed" and "rtol" not in params:
            assert result.upper <= degree * (1 + 1e-9) + rounding
    if auditor.certified_:
        # Sums of single precision have an order that depends on how many rows are asked at once.
        outputs = np.asarray(auditor.estimator_.predict(X))
        last = 2 * np.spacing(np.abs(outputs).max()) if outputs.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(auditor.fairness_degree_, degree, rtol=1e-9, atol=last)
    return auditor


def check_real(model, X, *, exact=True, **params):
    """With real columns: no search finds more than the bound, which the model itself attains."""
    settings = {"sensitive_features": "s", "max_queries": 500, "random_state": 1} | params
    found = SBFTAuditor(model, **settings).fit(X)
    result, rounding = solve_alone(found, LONG if exact else SHORT)
    assert 0 < found.fairness_degree_ <= result.upper + rounding
    if exact:
        assert result.reason == "closed"
        assert result.upper <= result.lower * (1 + 1e-6) + rounding
        outputs = found.estimator_.predict(found.space_.decode(np.stack(result.twins)))
        np.testing.assert_allclose(abs(outputs[0] - outputs[1]), result.upper, rtol=1e-6)
