"""Tests of the input space: tables to codes and back, kinds, domains, moves, sensitive values."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal
from polars.testing import assert_frame_equal as assert_polars_equal
from sklearn.base import BaseEstimator, RegressorMixin
from tiers import slow_sample

from skfairtest import InputSpace, SBFTAuditor
from skfairtest.space._containers import make_container

MANY = np.arange(24) % 7
ARRAYS = {
    "float64": np.column_stack([MANY % 2, MANY / 8 + np.arange(24) / 100]),
    "float32": np.column_stack([MANY % 2, MANY / 7]).astype(np.float32),
    "int64": np.column_stack([MANY % 2, MANY]),
    "int8": np.column_stack([MANY % 2, MANY]).astype(np.int8),
    "uint8": np.column_stack([MANY % 2, MANY]).astype(np.uint8),
    "bool": np.column_stack([MANY % 2 == 0, MANY % 3 == 0]),
    "object": np.column_stack([np.array(["f", "m"], dtype=object)[MANY % 2], MANY.astype(object)]),
    "str": np.column_stack([np.array(["f", "m"])[MANY % 2], np.array(list("abcdefg"))[MANY]]),
    "few float levels": np.column_stack([MANY % 2 - 0.5, np.arange(24.0)]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_come_back_as_they_were(name):
    X = ARRAYS[name]
    space = InputSpace().fit(X, [0])
    back = space.decode(space.encode(X))
    assert back.dtype == X.dtype
    np.testing.assert_array_equal(back, X)
    np.testing.assert_array_equal(space.encode(back), space.data)


PANDAS = {
    "str": pd.Series(["f", "m", "f", "x"], dtype="str" if pd.__version__ >= "3" else object),
    "object None": pd.Series(["f", None, "m", "f"], dtype=object),
    "object NaN": pd.Series(["f", np.nan, "m", "f"], dtype=object),
    "object mixed": pd.Series(["f", 1, True, None], dtype=object),
    "category": pd.Series(["f", "m", "f", "m"], dtype="category"),
    "category unobserved": pd.Series(pd.Categorical(["b", "a", None, "b"], ["z", "b", "a", "y"])),
    "category ordered": pd.Series(pd.Categorical([2, 1, 2, 3], [3, 2, 1], ordered=True)),
    "category int8": pd.Series([2, 1, 2, 3], dtype="int8").astype("category"),
    "category uint64": pd.Series([2, 1, 2, 2**64 - 1], dtype="uint64").astype("category"),
    "category float32": pd.Series([0.1, None, 0.3, 0.1], dtype="float32").astype("category"),
    "Int64": pd.Series([1, None, 5, 2], dtype="Int64"),
    "boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "string": pd.Series(["a", None, "b", "a"], dtype="string"),
    "Float64": pd.Series([0.25, None, 0.75, 1.0], dtype="Float64"),
    "float32": pd.Series([0.1, np.nan, 0.3, 0.4], dtype="float32"),
    "float64": pd.Series([0.1, 0.2, np.nan, 0.4]),
    "bool": pd.Series([True, False, False, True]),
    "int16": pd.Series([3, 1, 2, 2], dtype="int16"),
}


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_columns_come_back_as_they_were(name):
    X = pd.DataFrame({"s": [0, 1, 0, 1], "column": PANDAS[name]})
    space = InputSpace().fit(X, ["s"])
    back = space.decode(space.encode(X))
    assert_frame_equal(back, X)
    if name in ("object None", "object NaN"):  # encoders tell the two apart
        assert type(back["column"][1]) is type(X["column"][1])
    assert_frame_equal(space.decode(space.sample(5, np.random.default_rng(0)))[:0], X[:0])


POLARS = {
    "String": pl.Series(["f", None, "m", "f"], dtype=pl.String),
    "Enum": pl.Series(["b", "a", None, "b"], dtype=pl.Enum(["z", "b", "a"])),
    "Categorical": pl.Series(["b", None, "a", "b"], dtype=pl.Categorical),
    "Boolean": pl.Series([True, None, False, True], dtype=pl.Boolean),
    "Boolean full": pl.Series([True, False, False, True], dtype=pl.Boolean),
    "Int32": pl.Series([1, None, 5, 2], dtype=pl.Int32),
    "UInt8": pl.Series([1, 2, 5, 2], dtype=pl.UInt8),
    "Float32": pl.Series([0.1, 0.2, 0.3, 0.4], dtype=pl.Float32),
    "Float64": pl.Series([0.1, 0.2, 0.3, 0.4], dtype=pl.Float64),
}


@pytest.mark.parametrize("name", POLARS)
def test_polars_columns_come_back_as_they_were(name):
    X = pl.DataFrame({"s": [0, 1, 0, 1], "column": POLARS[name]})
    space = InputSpace().fit(X, ["s"])
    assert_polars_equal(space.decode(space.encode(X)), X)
    sampled = space.decode(space.sample(5, np.random.default_rng(0)))
    assert sampled.schema == X.schema and sampled.height == 5


def test_whole_numbers_in_an_object_column_stay_whole():
    X = pd.DataFrame({"s": [0, 1, 0], "column": pd.Series([3, 1, 2], dtype=object)})
    space = InputSpace().fit(X, ["s"])
    assert [str(v) for v in space.decode(space.encode(X))["column"]] == ["3", "1", "2"]


def kinds_of(column, **wishes):
    X = pd.DataFrame({"s": np.arange(len(column)) % 2, "column": column})
    space = InputSpace(**wishes).fit(X, ["s"])
    return space.kinds[1], space.domain.low[1], space.domain.high[1], space.domain.steps[1]


def test_kinds_and_domains_by_default():
    assert kinds_of(np.array([3.0, 7.0, 5.0])) == ("integer", 3, 7, 1)
    assert kinds_of(np.array([3.5, 7.0, 5.0])) == ("real", 3.5, 7, pytest.approx(0.035))
    assert kinds_of(np.array([2, -4, 5])) == ("integer", -4, 5, 1)
    assert kinds_of(np.tile([-0.9, 1.1], 10)) == ("categorical", 0, 1, 1)
    assert kinds_of(np.tile([-0.9, 1.1], 10)[:19])[0] == "real"  # too few rows a level
    assert kinds_of(np.tile(np.arange(11) + 0.5, 20))[0] == "real"  # too many levels
    assert kinds_of(np.array([True, False, True])) == ("categorical", 0, 1, 1)
    assert kinds_of(np.array([np.nan, np.nan, np.nan])) == ("categorical", 0, 0, 1)
    # Missing is a value of the domain: its code follows that of the largest number.
    assert kinds_of(np.array([1.0, np.nan, 4.0])) == ("integer", 1, 5, 1)


def test_wishes_for_bounds_categories_and_steps():
    whole = np.array([1, 2, 3])
    # Values 0, 3, 6 and 9: the step is a step of the domain.
    assert kinds_of(whole, bounds={"column": (0, 9)}, steps={"column": 3}) == ("integer", 0, 3, 1)
    assert kinds_of(whole * 1.0, bounds={"column": (0.5, 9)})[:3] == ("real", 0.5, 9)
    assert kinds_of(np.tile([-0.9, 1.1], 10), bounds={"column": (-1, 2)})[0] == "real"
    assert kinds_of(whole, categories={"column": [3, 1]}) == ("categorical", 0, 1, 1)
    assert kinds_of(whole, bounds={1: (0, 4)})[:3] == ("integer", 0, 4)  # by position


def test_given_categories_are_the_domain_and_the_data_still_encode():
    X = pd.DataFrame({"s": ["f", "m", "x", "f"], "v": [1, 2, 3, 4]})
    space = InputSpace(categories={"s": ["m", "f"]}).fit(X, ["s"])
    assert space.twins_.n_combinations == 2
    assert space.data[:, 0].tolist() == [1, 0, 2, 1]
    assert_frame_equal(space.decode(space.data), X)
    assert set(space.decode(space.domain.draw(200, np.random.default_rng(0)))["s"]) == {"f", "m"}


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(["a", "b"] * 3),
        np.array(["a", "b"] * 3, dtype=object),
        pl.Series(["a", "b"] * 3, dtype=pl.Enum(["a", "b"])),
    ],
    ids=["category", "object", "polars Enum"],
)
def test_a_given_category_that_the_data_lack_is_shown_or_refused(column):
    # Never silently turned into a missing value.
    frame = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    X = frame({"s": column, "v": range(6)})
    try:
        space = InputSpace(categories={"s": ["a", "b", "new"]}).fit(X, ["s"])
    except ValueError as error:
        assert "new" in str(error)
    else:
        assert list(space.decode(np.array([[2.0, 1.0]]))["s"]) == ["new"]


def test_array_of_short_strings_takes_a_longer_category():
    X = np.array([["a", "p"], ["b", "q"]])
    with pytest.raises(ValueError, match="dtype <U1 cannot hold .*'longer'.* wider dtype"):
        InputSpace(categories={0: ["a", "b", "longer"]}).fit(X, [0])
    space = InputSpace(categories={0: ["a", "b", "longer"]}).fit(X.astype("<U6"), [0])
    assert space.decode(np.array([[2.0, 1.0]])).tolist() == [["longer", "q"]]


@pytest.mark.parametrize("frame", [np.asarray, pd.DataFrame], ids=["ndarray", "pandas"])
def test_bounds_beyond_a_small_integer_dtype_do_not_wrap_round(frame):
    X = frame(np.array([[0, 1], [1, 100]], dtype=np.int8))
    try:
        space = InputSpace(bounds={1: (0, 300)}).fit(X, [0])
    except ValueError as error:
        assert "int8" in str(error)
    else:
        assert np.asarray(space.decode(np.array([[0.0, 300.0]]))).tolist() == [[0, 300]]


@pytest.fixture(scope="module")
def mixed_space():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 60),
            "age": rng.integers(18, 40, 60),
            "rate": rng.random(60).astype("float32"),
            "job": rng.choice(["a", "b", "c"], 60),
            "score": rng.normal(size=60),
        }
    )
    return InputSpace(steps={"score": 0.5}).fit(X, ["sex", "age"])


def in_domain(space, Z):
    whole = Z[:, space.domain.discrete] == np.rint(Z[:, space.domain.discrete])
    return bool(((Z >= space.domain.low) & (Z <= space.domain.high)).all() and whole.all())


def test_clip_draw_and_sample_stay_in_the_domain(mixed_space):
    rng = np.random.default_rng(1)
    wild = rng.normal(0, 200, (500, 5))
    clipped = mixed_space.domain.clip(wild)
    assert in_domain(mixed_space, clipped)
    np.testing.assert_array_equal(mixed_space.domain.clip(clipped), clipped)
    drawn = mixed_space.sample(4000, rng)
    assert in_domain(mixed_space, drawn)
    for j in np.flatnonzero(mixed_space.domain.discrete):
        values, counts = np.unique(drawn[:, j], return_counts=True)
        assert len(values) == mixed_space.domain.columns[j].n_values
        # Every value is as likely as another, the ends too: six standard deviations.
        mean = 4000 / len(values)
        assert np.abs(counts - mean).max() < 6 * np.sqrt(mean)


def test_single_precision_codes_are_what_the_model_sees(mixed_space):
    Z = mixed_space.sample(50, np.random.default_rng(2))
    np.testing.assert_array_equal(mixed_space.encode(mixed_space.decode(Z)), Z)


def test_neighbours_are_one_step_away(mixed_space):
    Z = mixed_space.sample(20, np.random.default_rng(3))
    got = mixed_space.domain.neighbours(Z, mixed_space.non_sensitive)
    for i, z in enumerate(Z):
        expected = []
        for j in mixed_space.non_sensitive:
            for sign in (-1, 1):
                moved = z.copy()
                moved[j] = np.clip(
                    z[j] + sign * mixed_space.domain.steps[j],
                    mixed_space.domain.low[j],
                    mixed_space.domain.high[j],
                )
                expected.append(moved)
        np.testing.assert_allclose(got[i], expected, atol=1e-6)


def test_sensitive_combinations_are_the_product_of_the_grids(mixed_space):
    ages = np.arange(mixed_space.domain.low[1], mixed_space.domain.high[1] + 1)
    expected = np.array(list(product([0.0, 1.0], ages)))
    np.testing.assert_array_equal(mixed_space.twins_.sensitive_values, expected)
    assert mixed_space.twins_.n_combinations == len(expected)
    np.testing.assert_array_equal(
        mixed_space.twins_.combination_values([[3, 0], [1, 2]]), expected[[[3, 0], [1, 2]]]
    )
    Z = mixed_space.sample(4, np.random.default_rng(4))
    before = Z.copy()
    changed = mixed_space.twins_.with_sensitive(Z, expected[[0, 5, 1, 2]])
    np.testing.assert_array_equal(Z, before)
    np.testing.assert_array_equal(changed[:, mixed_space.sensitive], expected[[0, 5, 1, 2]])
    np.testing.assert_array_equal(
        changed[:, mixed_space.non_sensitive], Z[:, mixed_space.non_sensitive]
    )
    alike = mixed_space.twins_.with_sensitive(Z, expected[3])
    assert (alike[:, mixed_space.sensitive] == expected[3]).all()


def test_a_real_sensitive_column_is_compared_at_steps_both_ends_and_values_of_the_data():
    X = np.column_stack([[0.25, 1.0, 0.51], [1, 2, 3]])
    stepped = InputSpace(steps={0: 0.2}).fit(X, [0])
    assert stepped.twins_.is_enumerable
    twins = stepped.twins_.with_sensitive(stepped.data[[0] * 4], stepped.twins_.twin_values)
    assert stepped.decode(twins)[:, 0].tolist() == [0.25, 0.45, 0.65, 0.85]
    space = InputSpace().fit(X, [0])
    assert space.twins_.n_combinations == np.inf and not space.twins_.is_enumerable
    encoded = space.twins_.twin_values.ravel()
    assert len(encoded) == 102 and encoded[0] == 0.25 and encoded[-1] == 1.0 and 0.51 in encoded
    with pytest.raises(ValueError, match="inf combinations.*too many for a table"):
        _ = space.twins_.sensitive_values


def test_twins_of_large_sensitive_domains_are_some_hundred_and_the_same_each_time():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(0, 1, 5000), "sex": rng.choice(["f", "m"], 5000),
                      "race": rng.choice(list("abcde"), 5000), "z": np.arange(5000)})  # fmt: skip
    one = InputSpace().fit(X, ["age"])
    assert 101 < one.twins_.n_twins == len(one.twins_.twin_values) <= 256
    assert np.isin(one.twins_.twin_values.ravel(), X["age"]).sum() > 80
    three = InputSpace().fit(X, ["age", "sex", "race"])
    np.testing.assert_array_equal(three.twins_.twin_values, three.twins_.twin_values)
    assert len(three.twins_.twin_values) <= 1000
    for j, n in ((1, 2), (2, 5)):  # small columns are compared at all their values
        assert len(np.unique(three.twins_.twin_values[:, j])) == n
    assert len(np.unique(three.twins_.twin_values, axis=0)) == three.twins_.n_twins


def test_real_sensitive_values_are_drawn_from_the_interval_and_from_the_data():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 1, 50), rng.integers(0, 2, 50), np.arange(50)])
    space = InputSpace(bounds={0: (-1, 3)}).fit(X, [0, 1])
    drawn = space.twins_.draw_sensitive(4000, np.random.default_rng(1))
    known = np.isin(drawn[:, 0], np.append(X[:, 0], [-1, 3]))
    assert 0.45 < known.mean() < 0.55 and len(np.unique(drawn[known, 0])) == 52
    others = drawn[~known, 0]
    assert len(np.unique(others)) == len(others)
    assert others.min() < -0.95 and others.max() > 2.95
    assert set(drawn[:, 1]) == {0, 1}
    pairs = space.twins_.draw_sensitive_pairs(1000, rng)
    assert pairs.shape == (1000, 2, 2)
    assert (pairs[:, 0] != pairs[:, 1]).any(axis=1).mean() > 0.98


@slow_sample
def test_a_huge_integer_sensitive_domain_builds_no_table():
    X = np.array([[0, 0, 1], [2_000_000_000, 7, 2], [3, 3, 3]])
    tracemalloc.start()
    space = InputSpace().fit(X, [0])
    rng = np.random.default_rng(0)
    assert space.twins_.n_combinations == 2_000_000_001
    drawn = space.twins_.draw_sensitive(1000, rng)
    assert drawn.max() > 1.9e9 and (drawn == np.rint(drawn)).all()
    assert space.twins_.draw_sensitive_pairs(1000, rng).shape == (1000, 2, 1)
    encoded = space.twins_.twin_values.ravel()
    assert {0, 3, 2_000_000_000} <= set(encoded) and len(encoded) <= 256
    assert (encoded == np.rint(encoded)).all()
    auditor = SBFTAuditor(KnownModel(), sensitive_features=[0], max_queries=3000, random_state=0)
    auditor.fit(X)
    assert auditor.fairness_degree_ == 2_000_000_000 == auditor.on_data_degree_
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6
    with pytest.raises(ValueError, match="2000000001 values from 0 to 2e[+]09.*bounds="):
        space.domain.columns[0].grid()


class KnownModel(RegressorMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return X[:, 0] * (X[:, 1] > 2)


def test_a_huge_sensitive_set_has_no_table_but_has_codes():
    X = np.array([[0, 0, 1], [9999, 9999, 2]])
    space = InputSpace().fit(X, [0, 1])
    assert space.twins_.n_combinations == 10**8
    assert space.twins_.combination_values(12_345_678).tolist() == [1234, 5678]
    with pytest.raises(ValueError, match="too many for a table"):
        _ = space.twins_.sensitive_values


def test_number_of_inputs(small):
    assert InputSpace().fit(small, [0]).n_inputs == 20
    assert InputSpace().fit(small, [1]).n_inputs == 8
    assert InputSpace().fit(small + [0, 0, np.pi] * (small[:, :1] + small), [0]).n_inputs == np.inf


def test_constraint_sees_rows_as_the_model_does_and_holds_for_samples(mixed_space):
    seen = []

    def adult(rows):
        seen.append(rows.dtypes["sex"])
        return (rows["age"] > 30) & (rows["job"] == "b")

    X = mixed_space.decode(mixed_space.data)
    space = InputSpace(constraint=adult).fit(X, ["sex"])
    Z = space.sample(300, np.random.default_rng(5))
    rows = space.decode(Z)
    assert len(rows) == 300 and (rows["age"] > 30).all() and (rows["job"] == "b").all()
    assert set(seen) == {X.dtypes["sex"]}
    np.testing.assert_array_equal(space.valid(space.data), adult(X).to_numpy())


def numbers(n_values, n_rows=200):
    """Two whole columns and a sensitive one; the data do not know the constraint below."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, n_values, (n_rows, 2)), np.arange(n_rows) % 2])
    X[:2, :2] = [[0, 0], [n_values - 1, n_values - 1]]
    return X


class Narrow:
    """Admits 30 in a million of all pairs of numbers up to 999, and counts what it is asked."""

    n_rows = 0

    def __call__(self, X):
        self.n_rows += len(X)
        return (abs(X[:, 0] - X[:, 1] * 0.5) < 1) & (X[:, 0] % 17 == 3)


@pytest.mark.parametrize("data_know", [False, True])
def test_sample_learns_where_a_narrow_constraint_holds(data_know):
    X, narrow = numbers(1000), Narrow()
    if data_know:
        X[2] = [20, 40, 0]
    space = InputSpace(constraint=narrow).fit(X, [2])
    Z = space.sample(500, np.random.default_rng(0))
    assert len(Z) == 500 and space.valid(Z).all() and in_domain(space, Z)
    assert len(np.unique(Z, axis=0)) > 10
    assert narrow.n_rows < 100_000  # uniform draws alone: five millions


def test_sample_of_a_single_valid_row_repeats_it():
    space = InputSpace(constraint=lambda X: (X[:, :2] == [0, 0]).all(axis=1) & (X[:, 2] == 0)).fit(
        numbers(1000), [2]
    )
    Z = space.sample(5, np.random.default_rng(0))
    np.testing.assert_array_equal(Z, np.zeros((5, 3)))


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("width", [10, 50, 100])
def test_sample_is_uniform_where_it_says_so(uniform, width):
    space = InputSpace(constraint=lambda X: X[:, 0] < width).fit(numbers(100), [2])
    Z = space.sample(700, np.random.default_rng(3), uniform=uniform)
    rng = np.random.default_rng(3)
    drawn = np.concatenate([space.domain.draw(700, rng) for _ in range(100)])
    np.testing.assert_array_equal(Z, drawn[space.valid(drawn)][:700])


def test_sample_of_nothing_is_empty():
    for constraint in (None, Narrow()):
        space = InputSpace(constraint=constraint).fit(numbers(1000), [2])
        assert space.sample(0, np.random.default_rng(0)).shape == (0, 3)


def test_sample_ends_at_the_deadline(clock):
    narrow = Narrow()
    space = InputSpace(constraint=narrow).fit(numbers(1000), [2])
    rng, past = np.random.default_rng(0), clock.now()
    for uniform in (False, True):
        assert space.sample(5000, rng, uniform=uniform, deadline=past).shape == (0, 3)
    assert narrow.n_rows == 0
    soon = clock.now() + 20 * clock.step
    # Ten thousand times as many as there are: it ends at all.
    assert len(space.sample(10**6, rng, uniform=True, deadline=soon)) < 10**6


def test_constraint_that_admits_nothing_is_an_error():
    space = InputSpace(constraint=lambda X: X[:, 0] < 0).fit(numbers(1000), [2])
    for uniform in (False, True):
        with pytest.raises(ValueError, match="got none in .* rows drawn"):
            space.sample(5, np.random.default_rng(0), uniform=uniform)


def test_repair_moves_rows_of_data_into_the_domain():
    X = pd.DataFrame({"s": ["f", "m", "x"], "n": [1.5, np.nan, 9.25], "k": ["u", None, "v"]})
    space = InputSpace(bounds={"n": (0, 4)}, categories={"s": ["f", "m"]}).fit(X, ["s"])
    fixed = space.domain.move_inside(space.data, np.random.default_rng(0))
    assert in_domain(space, fixed)
    np.testing.assert_array_equal(fixed[0], space.data[0])
    assert fixed[2, 1] == 4
    np.testing.assert_array_equal(fixed[:, 2], space.data[:, 2])  # missing is a category here


def test_encode_takes_other_column_orders_and_extra_columns(mixed_space):
    X = mixed_space.decode(mixed_space.data)
    shuffled = X[X.columns[::-1]].assign(extra=1)
    np.testing.assert_array_equal(mixed_space.encode(shuffled), mixed_space.data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.drop(columns="job"), r"lacks columns \['job'\]"),
        (lambda X: X.assign(job="zzz"), "'zzz'.*categories="),
        (lambda X: X.assign(score="text"), "'score' is numeric"),
    ],
)
def test_encode_refuses_unknown_values_and_missing_columns(mixed_space, change, message):
    with pytest.raises(ValueError, match=message):
        mixed_space.encode(change(mixed_space.decode(mixed_space.data)))


def test_encode_refuses_another_kind_of_table(mixed_space):
    with pytest.raises(TypeError, match="pandas.DataFrame"):
        mixed_space.encode(pl.DataFrame({"sex": ["f"]}))


def test_all_columns_are_read_as_each_is():
    X = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, np.nan, 2], "c": ["x", "y", None]})
    X = X.assign(d=X["a"].astype("int8"), e=X["a"] > 1, f=X["a"].astype("Int64"), g=X["c"])
    X["when"] = pd.to_datetime(["2020-01-01", "2021-01-01", None])
    for table in (X, X[["a", "b", "d"]], X[["d", "a"]].to_numpy(), X[["c", "when"]]):
        container = make_container(table)
        for j, values in enumerate(container.all_values(table)):
            expected = container.column_values(table, j)
            assert values.dtype == expected.dtype
            pd.testing.assert_series_equal(pd.Series(values), pd.Series(expected))


def test_numbers_of_a_wide_table_are_read_and_written_in_one_go(monkeypatch):
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 9, (50, 30))).add_prefix("c")
    asked, get = [], pd.DataFrame.__getitem__

    def noted(self, key):
        asked.append(key)
        return get(self, key)

    monkeypatch.setattr(pd.DataFrame, "__getitem__", noted)
    space = InputSpace().fit(X, ["c0"])
    back = space.decode(space.encode(X))
    assert len(asked) < 10
    assert_frame_equal(back, X)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_a_missing_number_changes_the_dtype_of_its_column_alone(dtype):
    X = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]}).astype(dtype)
    space = InputSpace().fit(X, ["a"])
    Z = space.encode(X)
    Z[0, 1] = np.nan
    dtypes = [str(own) for own in space.layout.container.build(Z, space.layout.fields).dtypes]
    assert dtypes == [dtype, "float64" if dtype == "int64" else dtype]
