"""Columns of dates: attributes whose domain is the dates that were seen, in any dtype."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from skfairtest import InputSpace, Is, Linear, Order

BASE = pd.Series(pd.to_datetime(["2020-01-03", "2019-05-01", "2020-01-03", "1999-12-31"]))
TIMES = BASE + pd.to_timedelta([1, 2, 3, 4], unit="h")


def objects(values, missing=None):
    column = pd.Series([*values], dtype=object)
    return column if missing is None else column.where(column.index != 1, missing)


PANDAS = {
    "s": TIMES.astype("datetime64[s]"),
    "us": TIMES.astype("datetime64[us]"),
    "ns": TIMES.astype("datetime64[ns]"),
    "ns and missing": TIMES.astype("datetime64[ns]").where(TIMES.index != 1),
    "milliseconds in ns": TIMES.astype("datetime64[ns]") + pd.to_timedelta(1, unit="ms"),
    "zone": TIMES.dt.tz_localize("Europe/Berlin"),
    "zone and missing": TIMES.dt.tz_localize("UTC").where(TIMES.index != 2),
    "far": pd.Series(np.array(["9999-12-31", "2020-01-01"] * 2, dtype="M8[us]")),
    "month": TIMES.dt.to_period("M"),
    "quarter and missing": TIMES.dt.to_period("Q").where(TIMES.index != 2),
    "duration": TIMES - TIMES.min(),
    "duration and missing": (TIMES - TIMES.min()).where(TIMES.index != 2),
    "date objects": objects(TIMES.dt.date),
    "date objects and None": objects(TIMES.dt.date, missing=[None]),
    "datetime objects": objects([dt.datetime(2020, 1, d, 3) for d in (1, 5, 2, 1)]),
    "aware objects": objects([dt.datetime(2020, 1, d, tzinfo=dt.UTC) for d in (1, 5, 2, 1)]),
    "Timestamp objects and NaT": objects(TIMES, missing=pd.NaT),
    "Timestamp objects and NaN": objects(TIMES, missing=np.nan),
    "time objects": objects([dt.time(3, 1), dt.time(4), dt.time(23, 59, 1), dt.time(4)]),
    "timedelta objects": objects([dt.timedelta(days=d) for d in (1, 5, -2, 1)]),
    "Period objects": objects(TIMES.dt.to_period("D")),
    "datetime64 objects": objects(TIMES.to_numpy()),
}
ARROW = [
    "date32[day][pyarrow]", "date64[ms][pyarrow]", "timestamp[s][pyarrow]",
    "timestamp[ns][pyarrow]",
    "timestamp[us, tz=Europe/Berlin][pyarrow]", "duration[us][pyarrow]", "time64[us][pyarrow]",
    "time32[s][pyarrow]",
]  # fmt: skip


def with_dates(column):
    return pd.DataFrame({"when": column, "sex": ["f", "m", "f", "m"]})


@pytest.mark.parametrize("name", list(PANDAS))
def test_columns_of_dates_come_back_in_their_dtype(name):
    X = with_dates(PANDAS[name])
    space = InputSpace().fit(X, ["sex"])
    back = space.decode(space.data)
    pd.testing.assert_frame_equal(back, X)
    for old, new in zip(X["when"], back["when"], strict=True):
        assert type(old) is type(new)
    # The domain are the values that were seen, in their order.
    every = space.decode(np.array([[encoded, 0] for encoded in space.domain.columns[0].grid()]))[
        "when"
    ]
    different = X["when"].drop_duplicates().sort_values()
    assert every.tolist()[: different.notna().sum()] == different.dropna().tolist()
    assert len(every) == len(different)
    # Others in later data come through as they are.
    later = X.copy()
    later["when"] = pd.Series(X["when"].iloc[[3, 3, 1, 0]].to_list(), dtype=X["when"].dtype)
    pd.testing.assert_frame_equal(space.decode(space.encode(later)), later)


@pytest.mark.parametrize("dtype", ARROW)
@pytest.mark.parametrize("missing", [False, True])
def test_columns_of_dates_of_pyarrow_come_back_in_their_dtype(dtype, missing):
    pytest.importorskip("pyarrow")
    column = TIMES - TIMES.min() if dtype.startswith("duration") else TIMES
    if dtype.startswith("time") and not dtype.startswith("timestamp"):
        column = objects([dt.time(3, 1), dt.time(4), dt.time(23, 59, 1), dt.time(4)])
    if "tz=" in dtype:
        column = column.dt.tz_localize("Europe/Berlin")
    if dtype.startswith("date"):
        column = column.dt.normalize()
    X = with_dates(column.astype(pd.api.types.pandas_dtype(dtype)))
    if missing:
        X.loc[1, "when"] = None
    space = InputSpace().fit(X, ["sex"])
    pd.testing.assert_frame_equal(space.decode(space.data), X)
    assert space.domain.columns[0].has_missing == missing


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_columns_of_dates_of_polars_come_back_in_their_dtype(kind, missing):
    pl = pytest.importorskip("polars")
    X = pl.DataFrame(
        {
            "date": [dt.date(2020, 1, 3), dt.date(1999, 12, 31)],
            "datetime": [dt.datetime(2020, 1, 3, 4), dt.datetime(1999, 12, 31)],
            "duration": [dt.timedelta(3), dt.timedelta(-1, 5)],
            "time": [dt.time(3, 4), dt.time(23, 59, 59)],
            "sex": ["f", "m"],
        }
    ).with_columns(
        ms=pl.col("datetime").cast(pl.Datetime("ms")),
        ns=pl.col("datetime").cast(pl.Datetime("ns")),
        zone=pl.col("datetime").dt.replace_time_zone("Europe/Berlin"),
        days=pl.col("duration").cast(pl.Duration("ms")),
    )
    if missing:
        empty = pl.DataFrame({"sex": ["f"]})
        X = pl.concat([X, empty], how="diagonal")
    table = X if kind == "polars" else X.to_arrow()
    space = InputSpace().fit(table, ["sex"])
    back = space.decode(space.data)
    assert type(back) is type(table)
    back = back if kind == "polars" else pl.from_arrow(back)
    assert back.schema == X.schema
    assert back.equals(X)


def test_an_array_of_objects_may_hold_dates():
    X = np.array(
        [["f", dt.date(2020, 1, 1)], ["m", dt.date(2019, 1, 1)], ["m", None]], dtype=object
    )
    space = InputSpace().fit(X, [0])
    assert space.decode(space.data).tolist() == X.tolist()
    assert space.describe()["domain"][1] == "2019-01-01 to 2020-01-01, or missing"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([dt.date(2020, 1, 1), "2020-01-02", "x", None], "mixes dates with other values"),
        ([dt.date(2020, 1, 1), 3, 4, 5], "mixes dates with other values"),
        ([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * 2, "time zones"),
        ([pd.Period("2020", "Y"), pd.Period("2020-01", "M")] * 2, "frequencies"),
    ],
)
def test_an_object_column_of_dates_and_others_is_one_clear_error(values, said):
    with pytest.raises(ValueError, match=said):
        InputSpace().fit(with_dates(objects(values)), ["sex"])


def test_times_that_a_float_cannot_hold_are_an_error():
    X = with_dates(TIMES.astype("datetime64[ns]") + pd.Timedelta(1, unit="ns"))
    with pytest.raises(ValueError, match=r"'when' holds times that are finer .*dt\.round"):
        InputSpace().fit(X, ["sex"])


def test_later_data_of_another_kind_are_an_error():
    space = InputSpace().fit(with_dates(objects(TIMES.dt.date)), ["sex"])
    with pytest.raises(ValueError, match="'when' holds values of the kind 'date'; got 'x'"):
        space.encode(with_dates(objects(["x"] * 4)))


@pytest.mark.parametrize(
    "column", [TIMES.where(TIMES.isna()), objects([pd.NaT] * 4), TIMES[[1] * 4]]
)
def test_a_column_with_one_date_or_none(column):
    X = with_dates(column.reset_index(drop=True))
    space = InputSpace().fit(X, ["sex"])
    assert space.domain.columns[0].n_values == 1
    pd.testing.assert_frame_equal(space.rows(), X)
    with pytest.raises(ValueError, match="'when' has one value only"):
        InputSpace().fit(X, ["when"])


def test_categories_list_other_dates_and_bounds_are_refused():
    X = with_dates(TIMES)
    space = InputSpace(categories={"when": ["2020-01-01", "2021-01-01"]}).fit(X, ["sex"])
    assert space.describe()["domain"][0] == "2020-01-01 to 2021-01-01"
    pd.testing.assert_frame_equal(space.rows(), X)
    with pytest.raises(ValueError, match="'when' has values|cannot read|holds values of the kind"):
        InputSpace(categories={"when": ["today or so"]}).fit(X, ["sex"])
    for wish in ({"bounds": {"when": (0, 1)}}, {"steps": {"when": 1}}):
        with pytest.raises(ValueError, match="which holds dates; its domain is the values in X"):
            InputSpace(**wish).fit(X, ["sex"])


@pytest.mark.filterwarnings("ignore:.*break the constraint")
def test_constraints_compare_dates():
    X = with_dates(TIMES).assign(end=(TIMES + pd.Timedelta(days=30)).astype("datetime64[s]"))
    rng = np.random.default_rng(0)
    order = Order("when", "<=", "end")
    space = InputSpace(constraint=order).fit(X, ["sex"])
    sample = space.decode(space.sample(200, rng))
    assert (sample["when"] <= sample["end"]).all()
    assert order(X).all()
    since = InputSpace(constraint=Is("when", ("2010-01-01", None))).fit(X, ["sex"])
    assert since.decode(since.sample(50, rng))["when"].min() == pd.Timestamp("2019-05-01 02:00")
    of_day = InputSpace(constraint=Is("when", [TIMES[1]])).fit(X, ["sex"])
    assert (of_day.decode(of_day.sample(50, rng))["when"] == TIMES[1]).all()


def test_constraints_on_dates_that_cannot_be():
    X = with_dates(TIMES).assign(
        aware=TIMES.dt.tz_localize("UTC"), days=TIMES - TIMES.min(), n=[1, 2, 3, 4]
    )
    for constraint in (
        Order("when", "<=", "aware"), Order("when", "<=", "days"), Order("n", "<=", "when"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="same kind of dates"):
            InputSpace(constraint=constraint).fit(X, ["sex"])
    with pytest.raises(ValueError, match="without an offset"):
        later = Order("when", "<=", "later", offset=1)
        InputSpace(constraint=later).fit(X.assign(later=TIMES), ["sex"])
    with pytest.raises(ValueError, match="holds dates"):
        InputSpace(constraint=Linear({"when": 1}, "<=", 3)).fit(X, ["sex"])


def test_given_values_of_dates():
    X = with_dates(TIMES)
    given = {"sex": {"f": {"when": "2020-01-03 01:00"}}}
    with pytest.warns(UserWarning, match="does not hold"):
        space = InputSpace(twins=given).fit(X, ["sex"])
    followed = space.decode(space.twins_.apply_descendants(space.data.copy()))
    assert (followed["when"][X["sex"] == "f"] == pd.Timestamp("2020-01-03 01:00")).all()


def test_chunks_find_the_dates_of_the_whole():
    X = with_dates(TIMES.where(TIMES.index != 2))
    for table in (X, X.assign(when=objects(X["when"].dt.date, missing=None))):
        whole = InputSpace().fit(table, ["sex"])
        chunks = InputSpace().fit([table[:2], table[2:]], ["sex"])
        pd.testing.assert_frame_equal(whole.describe(), chunks.describe())
        np.testing.assert_array_equal(whole.data, chunks.data)


def test_a_time_a_row_stays_cheap():
    times = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(100_000) * 7919, unit="s")
    X = pd.DataFrame({"when": times, "sex": ["f", "m"] * 50_000})
    space = InputSpace().fit(X, ["sex"])
    assert space.domain.columns[0].n_values == len(X)
    Z = space.sample(1000, np.random.default_rng(0))
    assert space.decode(Z)["when"].isin(times).all()
