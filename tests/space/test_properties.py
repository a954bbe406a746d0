"""Properties that hold for any mixed table: round trips, domains, and what fit may report."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from polars.testing import assert_frame_equal as assert_polars_equal
from tiers import slow_sample

from skfairtest import InputSpace, PublishedSBFTAuditor, RandomAuditor, SBFTAuditor
from skfairtest.exceptions import EstimatorFailedError, NoDisparityWarning
from skfairtest.individual._sbft.published import PublishedSearch

WORDS = st.sampled_from(["", "a", "b", "é", "Zebra", "a b", "None", "1"])
FLOATS = st.floats(-1e6, 1e6, allow_nan=False, width=32)


def column(draw, n):
    """A column of some dtype, perhaps with missing values."""
    kind = draw(st.sampled_from(["int", "float", "float32", "bool", "str", "category", "Int64"]))
    gaps = draw(st.booleans())
    values = {
        "int": st.integers(-50, 50),
        "Int64": st.integers(-5, 5),
        "float": FLOATS,
        "float32": FLOATS,
        "bool": st.booleans(),
        "str": WORDS,
        "category": WORDS,
    }[kind]
    if kind in ("int", "bool"):
        gaps = False
    cell = st.one_of(values, st.none()) if gaps else values
    return kind, draw(st.lists(cell, min_size=n, max_size=n))


DTYPES = {"int": "int64", "float": "float64", "float32": "float32", "bool": "bool",
          "str": "string", "category": "category", "Int64": "Int64"}  # fmt: skip
POLARS = {"int": pl.Int64, "float": pl.Float64, "float32": pl.Float32, "bool": pl.Boolean,
          "str": pl.String, "category": pl.Categorical, "Int64": pl.Int16}  # fmt: skip


@st.composite
def tables(draw):
    """A frame whose first column "s" has two values or more, and a library's name."""
    n = draw(st.integers(2, 25))
    library = draw(st.sampled_from(["pandas", "pandas", "polars"]))
    sensitive = st.lists(st.sampled_from([["f", "m", "x"], [0, 1], [True, False], [1, 2, 30]]))
    levels = draw(sensitive.filter(len))[0]
    first = levels[:2] + draw(st.lists(st.sampled_from(levels), min_size=n - 2, max_size=n - 2))
    others = [column(draw, n) for _ in range(draw(st.integers(1, 4)))]
    if library == "polars":
        data = {"s": pl.Series(first)}
        for j, (kind, values) in enumerate(others):
            # polars tells null from NaN in a float column; a code does not.
            if kind in ("float", "float32"):
                values = [float("nan") if v is None else v for v in values]
            data[f"c{j}"] = pl.Series(values, dtype=POLARS[kind])
        return pl.DataFrame(data)
    data = {"s": pd.Series(first)}
    for j, (kind, values) in enumerate(others):
        if kind in ("float", "float32"):
            values = np.array(values, dtype=float)
        data[f"c{j}"] = pd.Series(values, dtype=DTYPES[kind])
    return pd.DataFrame(data)


def same(first, second):
    check = assert_polars_equal if isinstance(first, pl.DataFrame) else assert_frame_equal
    check(first, second)


@given(tables(), st.integers(0, 2**31))
@example(pd.DataFrame({"s": ["f", "m"], "c": pd.Categorical([np.nan, np.nan])}), 0)
def test_tables_and_codes_are_each_others_inverse(X, seed):
    space = InputSpace().fit(X, ["s"])
    same(space.decode(space.encode(X)), X)
    rng = np.random.default_rng(seed)
    Z = space.sample(12, rng)
    rows = space.decode(Z)
    assert type(rows) is type(X) and list(rows.columns) == list(X.columns)
    np.testing.assert_array_equal(space.encode(rows), Z)
    same(space.decode(space.encode(rows)), rows)


@given(tables(), st.integers(0, 2**31))
def test_every_move_ends_in_the_domain(X, seed):
    space = InputSpace().fit(X, ["s"])
    rng = np.random.default_rng(seed)
    wild = rng.normal(0, 10.0 ** rng.integers(0, 7), (20, space.n_features))
    start = space.domain.clip(wild)
    moved = [start, space.sample(9, rng), space.domain.move_inside(space.data, rng)]
    moved.append(space.domain.neighbours(start, space.non_sensitive).reshape(-1, space.n_features))
    moved.append(space.twins_.with_sensitive(start, space.twins_.draw_sensitive(len(start), rng)))
    moved.append(
        space.twins_.with_sensitive(start, space.twins_.draw_sensitive_pairs(len(start), rng)[:, 1])
    )
    chosen = rng.integers(0, space.twins_.n_twins, len(start))
    moved.append(space.twins_.with_sensitive(start, space.twins_.twin_values[chosen]))
    for Z in moved:
        assert (Z >= space.domain.low).all() and (Z <= space.domain.high).all()
        whole = Z[:, space.domain.discrete]
        np.testing.assert_array_equal(whole, np.rint(whole))
        np.testing.assert_array_equal(space.domain.clip(Z), Z)
    np.testing.assert_array_equal(moved[-1][:, space.non_sensitive], start[:, space.non_sensitive])
    encoded = np.unique(space.twins_.twin_values, axis=0)
    assert len(encoded) == space.twins_.n_twins == len(space.twins_.twin_values) >= 2
    if np.isfinite(space.twins_.n_combinations):
        np.testing.assert_array_equal(space.twins_.twin_values, space.twins_.sensitive_values)
        assert len(encoded) == space.twins_.n_combinations


def first_column(X):
    """A number for each row that depends on the sensitive column only."""
    return np.array([len(str(v)) + 3.0 * (str(v) in ("m", "1", "True", "30")) for v in X["s"]])


@slow_sample
@given(
    X=tables(),
    seed=st.integers(0, 2**31),
    budget=st.integers(2, 400),
    search=st.sampled_from([RandomAuditor, SBFTAuditor, PublishedSBFTAuditor]),
    classify=st.booleans(),
)
def test_fit_reports_confirmed_finds_within_the_budget(models, X, seed, budget, search, classify):
    if classify:
        estimator = models.LabelsOnly(first_column)
    else:
        estimator = models.Regressor(first_column)
    params = {"sensitive_features": ["s"], "max_queries": budget, "random_state": seed}
    auditor = search(estimator, **params)
    if search is not RandomAuditor:
        auditor.set_params(population_size=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoDisparityWarning)
        auditor.fit(X)
    assert estimator.rows == auditor.n_queries_ <= budget
    inputs, twins = auditor.discriminatory_inputs_, auditor.counterfactuals_
    assert type(inputs) is type(X) and len(inputs) == len(twins) == auditor.n_found_
    assert auditor.n_found_ <= auditor.n_inputs_
    worst = {str(v): value for v, value in zip(X["s"], first_column(X), strict=True)}
    largest = max(worst.values()) - min(worst.values())
    assert auditor.fairness_degree_ <= (1.0 if classify else largest)
    if len(inputs):
        gaps = first_column(inputs) - first_column(twins)
        assert (gaps != 0).all()
        free = [name for name in X.columns if name != "s"]
        same(inputs[free], twins[free])
        encoded = auditor.space_.encode(inputs)
        assert (encoded >= auditor.space_.domain.low).all() and (
            encoded <= auditor.space_.domain.high
        ).all()
        if not classify:
            np.testing.assert_allclose(gaps, auditor.disparities_)
    elif budget >= 200 and len(worst) == 2 and largest > 0 and search is RandomAuditor:
        raise AssertionError("two values that always differ were not told apart")
    assert (np.diff(auditor.history_["queries"]) >= 0).all()


@given(X=tables(), seed=st.integers(0, 2**31), after=st.integers(0, 3))
def test_a_failing_model_never_loses_the_results(models, X, seed, after):
    def failing(rows, left=[after]):  # noqa: B006 - the list counts the calls
        left[0] -= 1
        if left[0] < 0:
            raise OSError("gone")
        return first_column(rows)

    params = {"sensitive_features": ["s"], "max_queries": None, "random_state": seed}
    auditor = SBFTAuditor(models.Regressor(failing), max_inputs=4000, population_size=6, **params)
    try:
        auditor.fit(X)
    except EstimatorFailedError as error:
        assert isinstance(error.__cause__, OSError)
        assert auditor.stop_reason_.startswith("failed")
    else:  # a small space may be exhausted first
        assert auditor.stop_reason_.startswith(("stalled", "exhausted"))
    assert auditor.n_found_ == len(auditor.discriminatory_inputs_)


# The paper's algorithm ---------------------------------------------------------------------


class PlantedSearch:
    """A search whose disparity is a known function of the input and the pair."""

    space = InputSpace().fit(
        np.column_stack([np.arange(12) % 4, np.arange(12) % 3, [0] * 12]), [0, 1]
    )

    def evaluate(self, Z, values):
        low, high = np.sort(values @ [3, 1], axis=1).T
        answer = type("Answer", (), {})()
        answer.disparity = np.sin(Z[:, 0] * 7 + low) ** 2 + np.cos(high * Z[:, 1]) ** 2
        return answer


@pytest.mark.parametrize("seed", range(10))
def test_paper_evaluates_as_if_one_input_at_a_time(seed):
    n = 40
    planted = PlantedSearch()
    search = PublishedSearch(
        planted, np.random.default_rng(seed), population_size=n,
        crossover_proba=0.75, mutation_proba=0.7, newcomer_rate=0.1, cache_proba=0.5,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    cached = planted.space.twins_.draw_sensitive_pairs(1, rng)[0]
    best = 0.0
    for _ in range(3):
        Z = np.random.default_rng(seed + 99).random((n, 2)) * (1 + best)
        got = search.evaluate(Z)
        pairs = planted.space.twins_.draw_sensitive_pairs(n, rng)
        uses_cache = rng.random(n) < 0.5
        expected = np.zeros(n)
        for i in range(n):
            pair = cached if uses_cache[i] else pairs[i]
            expected[i] = planted.evaluate(Z[i][None], pair[None]).disparity[0]
            if expected[i] > best:
                best, cached = expected[i], pair
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(search.cached, cached)
        np.testing.assert_allclose(search.degree, best)
