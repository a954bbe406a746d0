"""Missing as a value: of numbers, in every kind of table, among twins, under constraints."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal

from skfairtest import Allowed, Implies, InputSpace, Is, Linear, Order

RNG = np.random.default_rng(0)
N = 120
GONE = RNG.random(N) < 0.2
WHOLE = RNG.integers(-50, 90, N)
REAL = RNG.normal(30, 8, N)
RNG_0 = np.random.default_rng


def whole(missing):
    return [missing if gone else int(value) for gone, value in zip(GONE, WHOLE, strict=True)]


def real(missing):
    return [missing if gone else float(value) for gone, value in zip(GONE, REAL, strict=True)]


def pandas_table():
    return pd.DataFrame(
        {
            "s": np.arange(N) % 2,
            "whole": np.array(whole(np.nan)),
            "long": np.array(whole(np.nan)) * 997,
            "grid": np.array(real(np.nan)).round(1),
            "real": real(np.nan),
            "single": np.array(real(np.nan), dtype="float32"),
            "half": np.array(real(np.nan), dtype="float16"),
            "Int64": pd.array(whole(pd.NA), dtype="Int64"),
            "Float64": pd.array(real(pd.NA), dtype="Float64"),
            "boolean": pd.array([pd.NA if g else v > 0 for g, v in zip(GONE, WHOLE, strict=True)]),
            "None": pd.Series(whole(None), dtype=object),
            "nan": pd.Series(whole(np.nan), dtype=object),
        }
    )


X = pandas_table()
NUMBERS = ["whole", "long", "grid", "real", "single", "half", "Int64", "Float64", "None", "nan"]


def check_goes_back(table, equal):
    space = InputSpace().fit(table, ["s"])
    Z = space.encode(table)
    equal(space.decode(Z), table)
    assert space.contains(Z).all()
    drawn = space.domain.draw(400, RNG_0(0))
    assert np.array_equal(space.encode(space.decode(drawn)), drawn)
    return space, space.decode(drawn)


def test_missing_is_drawn_and_goes_back_as_it_came():
    space, drawn = check_goes_back(X, assert_frame_equal)
    shares = drawn.isna().mean()
    assert shares["s"] == 0 and (shares[NUMBERS] > 0.04).all() and (shares[NUMBERS] < 0.2).all()
    assert all(column.has_missing for column in space.domain.columns[1:])
    assert space.describe().set_index("attribute").loc["whole", "domain"] == "-49 to 89, or missing"


def test_arrays_and_other_frames():
    for dtype in ("float64", "float32"):
        array = X[["s", "whole", "grid", "real"]].to_numpy(dtype=dtype)
        _, drawn = check_goes_back_array(array)
        assert (
            drawn.dtype == array.dtype
            and np.isnan(drawn).any(axis=0).tolist() == [False] + [True] * 3
        )
    table = pl.DataFrame(
        {
            "s": np.arange(N) % 2,
            "whole": whole(None),
            "null": real(None),
            "nan": real(float("nan")),
        }
    )
    space = InputSpace().fit(table, ["s"])
    assert space.decode(space.encode(table)).equals(table)


def check_goes_back_array(array):
    space = InputSpace().fit(array, [0])
    Z = space.encode(array)
    np.testing.assert_array_equal(space.decode(Z), array)
    assert space.contains(Z).all()
    return space, space.decode(space.domain.draw(400, RNG_0(0)))


@pytest.mark.parametrize("factor, more", [(1, 1), (1, 0.7), (1, 1e-9), (1e3, 0.123), (1, 40.3)])
def test_numbers_beyond_the_domain_are_no_missing_ones(factor, more):
    """They are shown to the model as they are, and moved to the nearest number."""
    names = ["whole", "grid", "real", "long"]
    space = InputSpace().fit(X, ["s"])
    later = X.copy()
    for name in names:
        largest = later[name] == later[name].max()
        later[name] = later[name].where(~largest, later[name].max() * factor + more)
    Z = space.encode(later)
    assert_frame_equal(space.decode(Z), later)
    assert (
        space.contains(Z) == (later[names] == X[names]).where(X.notna(), True).all(axis=1)
    ).all()
    moved = space.decode(space.domain.move_inside(Z, RNG_0(0)))
    assert_frame_equal(moved[names], X[names])


def test_bounds_are_those_of_numbers():
    space = InputSpace(bounds=dict.fromkeys(NUMBERS, (0, 20))).fit(X, ["s"])
    Z = space.encode(X)
    assert_frame_equal(space.decode(Z), X)
    repaired = space.decode(space.domain.move_inside(Z, RNG_0(0)))
    assert (repaired["real"].isna() == X["real"].isna()).all() and repaired["real"].max() == 20
    drawn = space.decode(space.domain.draw(300, RNG_0(0)))[NUMBERS]
    assert drawn.isna().any().all() and drawn.max().max() <= 20 and drawn.min().min() >= 0
    steps = InputSpace(steps={"real": 2.5, "whole": 7}).fit(X, ["s"])
    drawn = steps.decode(steps.domain.draw(300, RNG_0(0)))
    assert drawn["real"].isna().any() and drawn["whole"].isna().any()
    assert set(np.diff(np.unique(drawn["whole"].dropna())).tolist()) == {7.0}


def test_columns_without_missing_values_stay_without():
    full = X.dropna()[["s", "whole", "real"]]
    space = InputSpace().fit(full, ["s"])
    assert not space.decode(space.domain.draw(300, RNG_0(0))).isna().any().any()
    later = space.encode(X[["s", "whole", "real"]])
    assert np.isnan(later[GONE, 1:]).all() and not space.contains(later[GONE]).any()
    never = InputSpace(constraint=lambda rows: rows["real"].notna()).fit(X, ["s"])
    assert not never.decode(never.sample(300, RNG_0(0)))["real"].isna().any()


def test_steps_lead_in_and_out():
    space = InputSpace().fit(X[["s", "whole", "real"]], ["s"])
    top = space.encode(X.assign(whole=89.0, real=X["real"].max())[["s", "whole", "real"]][:1])
    one_up = space.decode(space.domain.neighbours(top, space.non_sensitive)[0])
    assert one_up["whole"].isna().tolist() == [False, True, False, False]
    gone = space.encode(X.assign(whole=np.nan, real=np.nan)[["s", "whole", "real"]][:1])
    around = space.decode(space.domain.neighbours(gone, space.non_sensitive)[0])
    assert around["whole"][~around["whole"].isna()].tolist() == [89.0, 89.0]
    assert around["real"].notna().any()


@pytest.mark.parametrize(
    "values, n", [([1.5, 2.5, np.nan], 3), (pd.array([0, 1, None], dtype="Int64"), 3)]
)
def test_not_stated_is_a_group(values, n):
    table = pd.DataFrame({"s": list(values) * 40, "x": RNG_0(0).normal(size=120)})
    table["s"] = table["s"].astype(getattr(values, "dtype", "float64"))
    space = InputSpace().fit(table, ["s"])
    assert space.twins_.n_combinations == n == len(space.twins_.twin_values)
    twins = space.decode(
        space.twins_.with_sensitive(np.repeat(space.data[:1], n, 0), space.twins_.twin_values)
    )
    assert twins["s"].isna().sum() == 1 and twins["s"].nunique() == 2


def test_twins_of_many_numbers_have_a_missing_one():
    table = X[["real", "long", "grid"]]
    space = InputSpace().fit(table, ["real", "long"])
    encoded = np.concatenate([space.twins_.twin_values, space.twins_.draw_sensitive(500, RNG_0(0))])
    rows = space.twins_.with_sensitive(np.repeat(space.data[:1], len(encoded), 0), encoded)
    assert space.contains(rows).all()
    twins = space.decode(rows)
    assert twins["real"].isna().any() and twins["long"].isna().any()
    assert len(np.unique(encoded[twins["real"].isna(), 0])) == 1  # one code, so one twin


@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.ConstraintWarning")
def test_a_one_hot_group_may_be_missing():
    members = [f"job_{k}" for k in range(3)]
    table = X[["s", "whole"]].copy()
    table[members] = np.eye(3)[np.arange(N) % 3]
    table.loc[GONE, members] = np.nan
    space = InputSpace(one_hot={"job": members}).fit(table, ["job"])
    assert_frame_equal(space.decode(space.encode(table)), table)
    assert space.twins_.n_combinations == 4
    drawn = space.decode(space.domain.draw(200, RNG_0(0)))[members]
    assert set(drawn.isna().sum(axis=1)) == {0, 3}
    few = InputSpace(one_hot={"job": members}, constraint=Is("job", ["2", None]))
    few.fit(table, ["s"])
    drawn = few.decode(few.sample(300, RNG_0(0)))
    assert drawn["job_2"].isna().any() and drawn["job_0"].max() == drawn["job_1"].max() == 0
    with pytest.raises(ValueError, match="missing in some of the columns only"):
        InputSpace(one_hot={"job": members}).fit(
            table.assign(job_0=table["job_0"].fillna(0)), ["s"]
        )


SMALL = pd.DataFrame(
    {
        "s": [0, 1, np.nan] * 20,
        "a": np.where(np.arange(60) % 7 == 0, np.nan, np.arange(60) % 5),
        "b": np.where(np.arange(60) % 11 == 0, np.nan, np.arange(60) % 6),
        "x": np.where(np.arange(60) % 13 == 0, np.nan, (np.arange(60) * 0.37) % 4),
    }
)


def pairs(table):
    return 10 * table["s"].fillna(5) + table["a"].fillna(7)


EVERY = pd.DataFrame(
    list(itertools.product([0, 1, np.nan], [*range(5), np.nan], [*range(6), np.nan],
                           [*SMALL["x"].dropna().unique()[:9], np.nan])),
    columns=list("sabx"),
)  # fmt: skip


@pytest.mark.parametrize(
    "constraint, valid",
    [
        (Order("a", "<=", "b"), lambda t: ~(t.a > t.b)),
        (Order("x", ">=", "a"), lambda t: ~(t.x < t.a)),
        (Is("x", (1, 3)), lambda t: ~((t.x < 1) | (t.x > 3))),
        (Is("a", [None, 2]), lambda t: t.a.isna() | (t.a == 2)),
        (Linear({"a": 1, "x": -1}, ">=", 3), lambda t: ~(t.a - t.x < 3)),
        (Implies({"a": [None]}, {"x": (3, None)}), lambda t: ~t.a.isna() | ~(t.x < 3)),
        (Implies({"s": [None]}, {"b": [None]}), lambda t: ~t.s.isna() | t.b.isna()),
        (Allowed(["s", "a"]), lambda t: np.isin(pairs(t), pairs(SMALL))),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.ConstraintWarning")
def test_a_missing_number_breaks_no_comparison(constraint, valid):
    """Searches, verdicts and boxes agree; where values are listed, missing is one of them."""
    space = InputSpace(constraint=constraint).fit(SMALL, ["s"])
    rows = space.encode(EVERY)
    expected = np.asarray(valid(EVERY), dtype=bool)
    assert np.array_equal(space.valid(rows), expected) and 0 < expected.sum()
    assert np.array_equal(np.asarray(constraint(SMALL)), space.valid(space.data))
    root = space.feasibility.root
    inside = ((rows >= root.low[0]) & (rows <= root.high[0])).all(axis=1)
    assert inside[expected].all()  # nothing valid is cut off
    sample = space.decode(space.sample(200, RNG_0(0)))
    assert np.asarray(valid(sample), dtype=bool).all()


NULLABLE = ["Int64", "Int8", "UInt16", "Float64", "Float32", "int64[pyarrow]", "uint8[pyarrow]",
            "double[pyarrow]", "float[pyarrow]"]  # fmt: skip


@pytest.mark.parametrize("dtype", NULLABLE)
def test_nullable_numbers_go_back_without_an_object_a_value(dtype, monkeypatch):
    pytest.importorskip("pyarrow")
    values = pd.Series(np.abs(WHOLE) if "loat" not in dtype and "double" not in dtype else REAL)
    table = pd.DataFrame({"s": np.arange(N) % 2, "v": values.astype(dtype)})
    table.loc[GONE, "v"] = pd.NA
    space = InputSpace().fit(table, ["s"])
    # Decoding makes such a column again in each batch; a list of values took most of its time.
    monkeypatch.setattr("skfairtest.space._containers.pd.array", lambda *_, **__: 1 / 0)
    assert_frame_equal(space.decode(space.encode(table)), table)


def test_reading_a_table_makes_no_container_of_it(monkeypatch):
    space = InputSpace().fit(X, ["s"])
    monkeypatch.setattr("skfairtest.space._containers.PandasContainer.__init__", lambda *_: 1 / 0)
    assert len(space.encode(X)) == N
