"""Tests of the resolution of numbers: steps, amounts, exact values, searches that keep to them."""

from __future__ import annotations

import pickle
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tiers import SAMPLE, slow_sample, some

from skfairtest import CertifiedAuditor, InputSpace, SBFTAuditor
from skfairtest.group._pools.perturb import draw_near
from skfairtest.space._kinds import describe_column
from skfairtest.space._numbers import Integer, Real
from skfairtest.space._resolution import Fractions, Strides, knows_amounts
from skfairtest.space._steps import Amounts, Grid
from skfairtest.space._summarize import summarize

RNG = np.random.default_rng(0)
N = 300


def column_of(values, dtype=float, **wishes):
    X = pd.DataFrame({"s": np.arange(len(values)) % 2, "v": np.asarray(values).astype(dtype)})
    return InputSpace(**wishes).fit(X, ["s"]).domain.columns[1]


def grid(low, high, step, n=N, seed=0):
    """Random multiples of a step, correctly rounded where it is a decimal."""
    units = np.random.default_rng(seed).integers(round(low / step), round(high / step) + 1, n)
    return np.array([float(f"{u * step:.10g}") for u in units])


# What is learned ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind", "values_in_domain"),
    [
        (grid(1, 5, 0.1), "real", 41),
        (grid(0, 200, 0.25), "real", 801),
        (grid(0, 90_000, 100), "integer", 901),
        (grid(15, 95, 10) + 5, "integer", 9),  # ages in the middle of ten years
        (grid(0, 1000, 0.01), "real", None),
        (np.r_[grid(18, 80, 1), 18, 80], "integer", 63),
    ],
)
def test_steps_of_the_data_are_the_steps_of_the_domain(values, kind, values_in_domain):
    column = column_of(values)
    assert column.kind == kind and column.discrete
    encoded = column.grid()
    domain = column.take(encoded)
    assert np.isin(values, domain).all()  # the very same floats
    assert column.ends == (values.min(), values.max())
    if values_in_domain is not None:
        assert column.n_values <= values_in_domain
    np.testing.assert_array_equal(column.encode(domain), encoded)


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(size=N),
        RNG.random(N).round(7),  # decimals that tell nothing apart
        (grid(18, 80, 1) - 40.3) / 13.7 + RNG.normal(0, 1e-9, N),
        np.array([0.5, 1.25, 3.0, 0.5, 1.0]),  # a few numbers that someone typed
        np.sqrt(np.arange(N)),
    ],
)
def test_measurements_stay_real(values):
    column = column_of(values)
    assert isinstance(column, Real) and not column.discrete


def test_whole_numbers_one_by_one_are_their_own_codes():
    for values in ([3, 7, 5], [0, 9999, 0, 9999], np.arange(50) * 2 + (np.arange(50) == 7)):
        column = column_of(values)
        assert isinstance(column, Integer)
        assert isinstance(column_of(values, int), Integer)
        np.testing.assert_array_equal(column.encode(np.array([4.0, 5.0])), [4, 5])


def test_single_precision_has_the_same_steps():
    values = grid(0, 20, 0.1).astype(np.float32)
    X = pd.DataFrame({"s": np.arange(N) % 2, "v": values})
    space = InputSpace().fit(X, ["s"])
    assert space.domain.discrete[1] and space.domain.columns[1].n_values <= 201
    rows = space.decode(space.domain.draw(500, np.random.default_rng(0)))
    assert rows["v"].dtype == np.float32
    assert set(rows["v"]) <= set((np.arange(201) / 10).astype(np.float32))
    # Steps that single precision does not tell apart are none.
    fine = (1e5 + grid(0, 20, 0.01)).astype(np.float32)
    assert isinstance(column_of(fine, np.float32), Real)


def test_a_column_of_many_repeated_values_knows_them():
    rng = np.random.default_rng(0)
    amounts = rng.choice(np.arange(1, 99_999), 30, replace=False)
    gain = np.where(rng.random(6000) < 0.9, 0, rng.choice(amounts, 6000))
    column = column_of(gain, int)
    assert isinstance(column, Amounts) and column.kind == "integer"
    np.testing.assert_array_equal(column.take(column.grid()), np.unique(gain))
    assert column_of(gain, int, bounds={"v": (0, 99_999)}).n_values == 100_000
    assert isinstance(column_of(gain, int, steps={"v": 1}), Integer)
    # With few rows a new one may well bring a new amount.
    assert isinstance(column_of(gain[:300], int), Integer)
    assert not knows_amounts(np.array([100, 1, 1, 1]), 1e6)
    assert not knows_amounts(np.array([100, 100, 100]), 3)


def test_the_users_bounds_are_on_the_grid():
    values = grid(1, 5, 0.1)
    assert column_of(values, bounds={"v": (0, 6)}).ends == (0, 6)
    assert column_of(values, bounds={"v": (0, 6)}).n_values == 61
    finer = column_of(values, bounds={"v": (0.05, 6)})
    assert finer.ends == (0.05, 6) and finer.n_values == 120


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (0.5, [1.2, 1.7, 2.2]),
        (1 / 3, [1.2, 1.2 + 1 / 3, 1.2 + 2 / 3, 1.2 + 3 * (1 / 3)]),
        (2, [1.2]),
    ],
)
def test_a_given_step_is_counted_from_the_low_end(step, expected):
    column = column_of([1.2, 2.0, 2.35], steps={"v": step})
    np.testing.assert_array_equal(column.take(column.grid()), expected)
    assert column.step == 1


def test_a_given_step_of_whole_numbers():
    column = column_of([3, 9, 17], int, steps={"v": 5})
    assert column.take(column.grid()).tolist() == [3, 8, 13]
    assert column_of([3, 9, 17], float, steps={"v": 0.5}).n_values == 29
    with pytest.raises(ValueError, match="steps= of column 'v' must be a positive whole number"):
        column_of([3, 9, 17], int, steps={"v": 0.5})
    with pytest.raises(ValueError, match="positive number; got -1"):
        column_of([3.5, 9, 17], steps={"v": -1})
    few = column_of(np.tile([0.5, 1.5], 20), steps={"v": 0.25})
    assert few.take(few.grid()).tolist() == [0.5, 0.75, 1, 1.25, 1.5]


def test_one_step_of_a_search_is_a_hundredth_of_a_long_domain():
    assert column_of(grid(0, 1000, 0.1)).step == pytest.approx(100, abs=2)
    assert column_of(grid(1, 5, 0.1)).step == 1
    assert column_of(grid(0, 90_000, 100)).step == 1  # whole numbers go one by one, as always


# Exact values ------------------------------------------------------------------------------------


def in_steps(steps):
    return Grid("v", 0, 9, steps, whole=False)


def given(values, step):
    return describe_column("v", summarize("v", np.array(values)), step=step)


COLUMNS = {
    "tenths": in_steps(Fractions(0, 1, 10)),
    "quarters": in_steps(Fractions(3, 25, 100)),
    "hundreds": in_steps(Fractions(50, 100, 1)),
    "single": in_steps(Fractions(0, 1, 10, "float32")),
    "thirds": in_steps(Strides(0.1, 1 / 3)),
    "amounts": Amounts("v", np.array([0.0, 0.1, 7.0, 7688.0, 99_999.0])),
    "one amount": Amounts("v", np.array([2.5])),
    "given": given([-1.1, 9.0], 0.37),
}


def any_numbers(dtype=None):
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [rng.uniform(-200, 200, 300), rng.normal(size=300) * 10.0 ** rng.uniform(-9, 9, 300),
         rng.integers(-500, 500, 100), [0.0, 1e-300, -1e15, 0.1 + 0.2, np.nan, np.inf, -np.inf]]
    )  # fmt: skip
    return values.astype(dtype).astype(np.float64) if dtype else values


@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_between_two_steps_lie_between_their_codes(name):
    column = COLUMNS[name]
    values = any_numbers(column.dtype)
    encoded = column.encode(values)
    n = len(column.listed) if isinstance(column, Amounts) else 50
    steps = np.arange(float(n)) if isinstance(column, Amounts) else np.arange(-50.0, 50)
    on_grid = column.take(steps)
    np.testing.assert_array_equal(column.encode(on_grid), steps)
    np.testing.assert_array_equal(
        encoded == np.rint(encoded), np.isin(values, column.take(np.rint(encoded)))
    )
    assert (np.diff(on_grid) > 0).all()
    finite = encoded[~np.isnan(encoded) & (np.abs(values) < 100)]
    between = values[~np.isnan(encoded) & (np.abs(values) < 100)]
    order = np.argsort(between, kind="stable")
    assert (np.diff(finite[order]) >= -1e-6).all()


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_alone_gives_a_number_back_but_for_its_last_bits(name):
    column = COLUMNS[name]
    values = any_numbers(column.dtype)
    before = pickle.dumps(column)
    back = column.take(column.encode(values))
    if isinstance(column, Amounts):
        # Far beyond the list the order of magnitude is what counts.
        np.testing.assert_allclose(back, values, rtol=1e-6, atol=1e-9)
    else:
        finite = np.isfinite(values)
        np.testing.assert_array_equal(back[~finite], values[~finite])
        np.testing.assert_allclose(back[finite], values[finite], rtol=1e-14, atol=1e-12)
    assert pickle.dumps(column) == before


def test_decimals_are_the_floats_that_python_writes():
    for divisor in (10, 100, 1000, 10**6):
        encoded = np.random.default_rng(divisor).integers(-(10**7), 10**7, 2000)
        exact = [float(Decimal(int(c)) / divisor) for c in encoded]
        column = in_steps(Fractions(0, 1, divisor))
        np.testing.assert_array_equal(column.take(encoded.astype(float)), exact)


def test_rows_of_data_are_audited_as_they_are():
    X = pd.DataFrame(
        {
            "s": np.arange(N) % 2,
            "grade": grid(1, 5, 0.1),
            "few": np.tile([0.5, 1.5, 4.0], N // 3),
            "gain": np.tile([0, 0, 7688], N // 3),
        }
    )
    space = InputSpace().fit(X, ["s"])
    assert space.domain.discrete.all()
    later = pd.DataFrame({"s": [0, 1, 0, 1], "grade": [2.65, 1 / 3, 7.0, np.nan],
                          "few": [0.7, 9.0, -1.0, 1.5], "gain": [5, 0, 100_000, -3]})  # fmt: skip
    assert_frame_equal(space.decode(space.encode(later)), later)
    assert_frame_equal(space.decode(space.with_data(later).data), later)
    repaired = space.decode(space.domain.move_inside(space.encode(later), np.random.default_rng(0)))
    assert repaired["grade"].tolist()[:3] == [2.6, 1.0, 5.0] or repaired["grade"][0] == 2.7
    assert repaired["few"].tolist() == [0.5, 4.0, 0.5, 1.5]
    assert repaired["gain"].tolist() == [0, 0, 7688, 0]

    class Sees(LinearRegression):
        rows = ()

        def predict(self, X):
            self.rows = [*self.rows, X.copy()]
            return super().predict(X)

    model = Sees().fit(X, X["grade"] + X["s"])
    auditor = SBFTAuditor(model, sensitive_features=["s"], max_queries=200, random_state=0).fit(X)
    model.rows = ()
    auditor.audit_rows(later.iloc[:3])
    # First the worst pair of the search: that the model is the one that was audited.
    asked = pd.concat(model.rows[1:])
    own = ["grade", "few", "gain"]
    assert_frame_equal(
        asked[own].drop_duplicates().sort_values(own).reset_index(drop=True),
        later.iloc[:3][own].sort_values(own).reset_index(drop=True),
    )


def test_missing_values_of_few_numbers_stay_missing():
    few = np.tile([-0.9, 1.1, np.nan], 20)
    X = pd.DataFrame(
        {"s": np.arange(60) % 2, "few": few, "grade": np.r_[np.nan, grid(1, 5, 0.1, 59)]}
    )
    space = InputSpace().fit(X, ["s"])
    assert_frame_equal(space.decode(space.encode(X)), X)
    assert (
        space.kinds == ["integer", "categorical", "real"] and space.domain.columns[1].n_values == 3
    )
    drawn = space.decode(space.domain.draw(200, np.random.default_rng(0)))
    assert drawn["few"].isna().any() and drawn["grade"].isna().any()


# Searches ----------------------------------------------------------------------------------------


def random_table(rng):
    n = int(rng.integers(40, 200))
    choices = {
        "tenths": lambda: rng.integers(-30, 30, n) / 10,
        "cents": lambda: np.round(rng.integers(0, 5000, n) / 100, 2),
        "hundreds": lambda: rng.integers(0, 500, n) * 100.0,
        "fives": lambda: rng.integers(0, 30, n) * 5 + 2,
        "amounts": lambda: rng.choice([0, 0, 0, 1500, 22_000], n),
        "whole": lambda: rng.integers(0, 9, n),
        "real": lambda: rng.normal(size=n),
        "single": lambda: (rng.integers(0, 99, n) / 10).astype(np.float32),
        "words": lambda: rng.choice(list("abc"), n),
        "few": lambda: rng.choice([-0.9, 1.1], n),
    }
    chosen = rng.choice(list(choices), size=int(rng.integers(2, 7)), replace=False)
    X = pd.DataFrame({name: choices[name]() for name in chosen})
    X["sex"] = rng.choice(["f", "m"], n)
    return pd.get_dummies(X, columns=["sex"], dtype=[bool, int, float][rng.integers(3)])


@pytest.mark.parametrize("seed", some(range(40), 12))
def test_every_input_keeps_to_groups_and_steps(seed):
    rng = np.random.default_rng(seed)
    X = random_table(rng)
    if seed % 4 == 3:
        X = pl.DataFrame({name: X[name].to_list() for name in X}, schema_overrides={
            name: pl.Float32 for name in X if X[name].dtype == np.float32})  # fmt: skip
    space = InputSpace().fit(X, ["sex"])
    back = space.decode(space.encode(X))
    assert back.equals(X)
    Z = space.domain.draw(40, rng)
    moved = space.domain.clip(Z + rng.normal(0, 5, Z.shape))
    near = space.domain.neighbours(Z, space.non_sensitive).reshape(-1, Z.shape[1])
    data = draw_near(space, 40, rng)[1]
    for encoded in (Z, moved, near, data):
        table = space.decode(encoded)
        np.testing.assert_array_equal(space.encode(table), encoded)
        assert (np.asarray(table["sex_f"]).astype(int) + np.asarray(table["sex_m"]) == 1).all()
        for name in set(X.columns) - {"real", "words"}:
            values, seen = np.asarray(table[name], float), np.asarray(X[name], float)
            unit = {"tenths": 10, "cents": 100, "hundreds": 0.01, "single": 10}.get(name)
            if unit is not None:
                held = np.round(values * unit) / unit
                held = held.astype(np.float32) if name == "single" else held
                np.testing.assert_array_equal(values, held)
            elif name == "fives":
                assert (values % 5 == 2).all()
            elif name in ("amounts", "few") and len(np.unique(seen)) * 10 <= len(seen):
                assert np.isin(values, seen).all()


FOREST = {"max_depth": 6, "n_estimators": 3, "random_state": 0}
CERTIFIED = {
    "two hundred values": (0.1, RandomForestClassifier(**FOREST)),
    "a column cut at thresholds": (0.01, RandomForestRegressor(**FOREST)),
    "behind a scaler": (0.01, make_pipeline(StandardScaler(), RandomForestClassifier(**FOREST))),
    "linear": (0.01, make_pipeline(StandardScaler(), LogisticRegression())),
}


@slow_sample
@pytest.mark.parametrize(
    ("case", "dtype"),
    [
        pytest.param(case, dtype, marks=[] if case == "behind a scaler" else SAMPLE)
        for case, dtype in [*product(CERTIFIED, ["float64"]), ("behind a scaler", "float32")]
    ],
)
def test_certificates_of_grids_equal_brute_force(case, dtype):
    step, model = CERTIFIED[case]
    rng = np.random.default_rng(1)
    units = np.r_[0, 21 / step, rng.integers(0, 21 / step, N - 2)]
    X = pd.DataFrame({"s": rng.integers(0, 2, N), "v": np.round(units * step, 2),
                      "w": rng.integers(0, 2, N) * 100}).astype({"v": dtype})  # fmt: skip
    y = (X["v"] > 10.5) ^ (X["s"] == 1) & (X["w"] > 50) ^ (X["v"] % 1 > 0.5)
    model.fit(X, y)
    domain = np.round(np.arange(round(21 / step) + 1) * step, 2)
    rows = pd.DataFrame(product([0, 1], domain, range(0, 200, 100)), columns=["s", "v", "w"])
    rows = rows.astype({"v": dtype})
    ask = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    rows["p"] = ask(rows).reshape(len(rows), -1)[:, -1]
    for sensitive, rest in (("s", ["v", "w"]), ("v", ["s", "w"])):
        auditor = CertifiedAuditor(model, sensitive_features=[sensitive], random_state=0,
                                   max_queries=300, max_time=60).fit(X)  # fmt: skip
        assert auditor.stop_kind_ == "complete"
        assert len(auditor.space_.domain.columns[1].grid()) == len(domain)
        gaps = rows.groupby(rest)["p"].agg(["min", "max"])
        expected = (gaps["max"] - gaps["min"]).max()
        assert auditor.fairness_degree_ == pytest.approx(expected, abs=1e-9)
