"""Rows of a table and generated inputs agree: the same tables, differences and verdicts."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from polars.testing import assert_frame_equal as assert_polars_equal
from tiers import slow_sample

from skfairtest import InputSpace, Is
from skfairtest.oracle._compare import compare
from skfairtest.oracle._model import Model
from skfairtest.oracle._rows import RowComparison

DAYS = st.datetimes(datetime.datetime(2000, 1, 1), datetime.datetime(2030, 1, 1))
WORDS = st.sampled_from(["", "a", "b", "é", "Zebra", "None", "1"])
#: What cells of a kind are, and its dtypes in pandas and polars; where they are None, the library
#: has none.
KINDS = {
    "bool": (st.booleans(), "bool", pl.Boolean),
    "nullable bool": (st.booleans(), "boolean", pl.Boolean),
    "int": (st.integers(-5, 5), "int64", pl.Int64),
    "small int": (st.integers(0, 3), "int8", pl.Int8),
    "nullable int": (st.integers(-5, 5), "Int64", pl.Int16),
    "pyarrow int": (st.integers(-5, 5), "int64[pyarrow]", None),
    "float": (st.floats(-1e6, 1e6), "float64", pl.Float64),
    "single": (st.floats(-1e6, 1e6, width=32), "float32", pl.Float32),
    "tenths": (st.integers(-30, 30).map(lambda n: n / 10), "float64", pl.Float64),
    "text": (WORDS, "str", pl.String),
    "object": (WORDS, "object", None),
    "mixed": (st.sampled_from([1, "one", True]), "object", None),
    "category": (WORDS, "category", pl.Categorical),
    "numbers as categories": (st.sampled_from([30, 1, 2]), "category", None),
    "ordered": (
        st.sampled_from(["low", "high"]),
        pd.CategoricalDtype(["low", "middle", "high"], ordered=True),
        pl.Enum(["low", "middle", "high"]),
    ),
    "date": (DAYS, "datetime64[us]", pl.Datetime("us")),
    "date with a zone": (
        DAYS.map(lambda day: day.replace(tzinfo=datetime.UTC)),
        "datetime64[ns, Europe/Paris]",
        pl.Datetime("us", "Europe/Paris"),
    ),
}
NEVER_MISSING = {"bool", "int", "small int"}


def series(kind, values, library):
    dtype = KINDS[kind][1 + (library == "polars")]
    if library == "polars":
        if isinstance(dtype, pl.Datetime) and dtype.time_zone:
            return pl.Series(values, dtype=pl.Datetime("us", "UTC")).dt.convert_time_zone(
                dtype.time_zone
            )
        if dtype in (pl.Float64, pl.Float32):  # a code does not tell null from NaN
            values = [float("nan") if value is None else value for value in values]
        return pl.Series(values, dtype=dtype)
    if kind.startswith("date"):
        return pd.Series(
            pd.to_datetime(pd.Series(values, dtype=object), utc="zone" in kind)
        ).astype(dtype)
    return pd.Series(values, dtype=object).astype(dtype)


@st.composite
def tables(draw):
    """A table of which the first columns, "s" or a group "s_", differ in some rows."""
    n = draw(st.integers(3, 12))
    library = draw(st.sampled_from(["pandas", "pandas", "polars", "numpy"]))
    if library == "numpy":
        cells = {float: st.floats(-9, 9), int: st.integers(-2, 2), "U3": WORDS.map(lambda w: w[:3]),
                 bool: st.booleans(), object: st.sampled_from([1.5, 2.5, None])}  # fmt: skip
        dtype = draw(st.sampled_from(list(cells)))
        rows = draw(
            st.lists(st.lists(cells[dtype], min_size=3, max_size=3), min_size=n, max_size=n)
        )
        return np.array(rows, dtype=dtype)
    kinds = [kind for kind, own in KINDS.items() if own[1 + (library == "polars")] is not None]
    columns = {}
    for j in range(draw(st.integers(2, 4))):
        name = "s" if not j else f"c{j}"
        kind = draw(st.sampled_from([*kinds, "one-hot"]))
        if kind == "one-hot":
            own = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
            for k in range(3):
                columns[f"{name}_{k}"] = (own == k).astype(int)
            continue
        cell = KINDS[kind][0]
        if kind not in NEVER_MISSING and draw(st.booleans()):
            cell = st.one_of(cell, st.none())
        columns[name] = series(kind, draw(st.lists(cell, min_size=n, max_size=n)), library)
    return (pl.DataFrame if library == "polars" else pd.DataFrame)(columns)


def _text(cell):
    if pd.isna(cell):
        return "-"
    return str(cell + 0.0 if isinstance(cell, (float, np.floating)) else cell)


class Scrambled:
    """Gives a row a number between 0 and 1 that depends on each cell and on nothing else."""

    def __init__(self, classifies):
        if classifies:
            self.classes_, self.predict_proba = np.array([0, 1]), self.probabilities

    def numbers(self, X):
        rows = X.rows() if isinstance(X, pl.DataFrame) else np.asarray(X, dtype=object)
        # -0.0 and 0.0 are one value.
        text = ["|".join(_text(v) for v in row) for row in rows]
        return pd.util.hash_array(np.array(text, dtype=object)) % 97 / 97

    def predict(self, X):
        numbers = self.numbers(X)
        return (numbers > 0.5).astype(int) if hasattr(self, "classes_") else numbers

    def probabilities(self, X):
        numbers = self.numbers(X)
        return np.column_stack([1 - numbers, numbers])


def is_unlike(X):
    """A constraint that excludes about a third of all rows."""
    return Scrambled(False).numbers(X) > 0.3


def unchanged(X):
    return X


def same(first, second):
    if isinstance(first, np.ndarray):
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)
    else:
        check = assert_polars_equal if isinstance(first, pl.DataFrame) else assert_frame_equal
        check(first, second)


def space_of(X, rule):
    names = list(range(X.shape[1])) if isinstance(X, np.ndarray) else list(X.columns)
    sensitive = [name for name in names if name == 0 or str(name).startswith("s_") or name == "s"]
    one_hot = {"s": sensitive} if len(sensitive) > 1 else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = InputSpace(one_hot=one_hot).fit(X, sensitive[0])
        if rule is None:
            return plain
        column, other = (
            plain.domain.columns[j] for j in (plain.sensitive[0], plain.non_sensitive[0])
        )
        first, second = (own.take(np.array([own.low]))[0] for own in (column, other))
        params = {
            "callable": {"constraint": is_unlike},
            "object": {"constraint": Is(other.name, [second])},
            "function": {"twins": unchanged},
            "mapping": {"twins": {column.name: {first: {other.name: second}}}},
        }[rule]
        return InputSpace(one_hot=one_hot, **params).fit(X, sensitive[0])


GROUP = pd.DataFrame({"s_0": [1, 0, 0], "s_1": [0, 1, 0], "s_2": [0, 0, 1], "c1": [0.1, np.nan, 7]})


@slow_sample
@pytest.mark.parametrize("classifies", [False, True])
@given(
    X=tables(),
    rule=st.sampled_from([None, None, "callable", "object", "mapping", "function"]),
    seed=st.integers(0, 2**31),
)
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@example(X=GROUP, rule=None, seed=0)
@example(X=GROUP, rule="mapping", seed=0)
@example(X=GROUP.rename(columns={"c1": "s", "s_0": "c_0"})[["s", "c_0"]], rule=None, seed=0)
def test_rows_and_generated_inputs_agree(classifies, X, rule, seed):
    try:
        space = space_of(X, rule)
        Z = space.sample(9, np.random.default_rng(seed))
    except (TypeError, ValueError):  # a constant sensitive column, or nothing that is valid
        assume(False)
    twins = space.twins_
    values = twins.twin_values
    Z = twins.apply_descendants(Z)
    model = Scrambled(classifies)
    rows = space.decode(Z)

    comparison = RowComparison(model, space)
    given_rows = comparison.rows(rows)
    parts = list(comparison.compare(given_rows))

    # A row whose own sensitive values are none of those that stand for all is compared, too.
    own = np.broadcast_to(Z[:, None, space.sensitive], (len(Z), 1, len(space.sensitive)))
    every_twin = np.broadcast_to(values, (len(Z), *values.shape))
    if (given_rows.own >= len(values)).any():
        every_twin = np.concatenate([every_twin, own], axis=1)
    encoded, shape = twins.of_each(Z, every_twin), every_twin.shape[:2]
    asked = Model(model, space, response_method="auto", n_jobs=None)
    asked.response = comparison.model.response
    scores, labels = asked.ask(encoded)
    valid = space.valid(encoded).reshape(shape)
    valid &= valid.sum(axis=1, keepdims=True) > 1
    shown = compare(
        scores.reshape(*shape, -1), labels.reshape(shape), valid,
        response=asked.response, threshold=None, single=False,
    )  # fmt: skip
    np.testing.assert_array_equal(
        np.concatenate([part.shown.disparity for part in parts]), shown.disparity
    )
    np.testing.assert_array_equal(
        np.concatenate([part.shown.verdict for part in parts]), shown.verdict
    )
    every = np.arange(len(Z))
    for twin in range(min(len(values), 12)):
        table = given_rows.decode(np.column_stack([every, np.full(len(Z), twin)]))
        same(table, space.decode(twins.with_sensitive(Z, values[twin])))
    same(given_rows.decode(np.column_stack([every, given_rows.own])), rows)
