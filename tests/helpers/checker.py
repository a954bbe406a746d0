"""Whether what an auditor says is true, worked out from nothing but the table and the model.

Shares no code with the package and imports nothing of it: domains are read off the training table
by the rules of the documentation, and twins are compared by the model's own methods.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from sklearn.base import BaseEstimator, is_regressor

MISSING = "<missing>"


# Tables as plain lists ---------------------------------------------------------------------


def names_of(table: Any) -> list[Any]:
    """Names of the columns; positions for an array."""
    return list(range(table.shape[1])) if isinstance(table, np.ndarray) else list(table.columns)


def column_of(table: Any, name: Any) -> list[Any]:
    """The values of a column as Python objects, a missing one as `MISSING`."""
    if isinstance(table, np.ndarray):
        values = table[:, name].tolist()
    else:
        series = table[name]
        values = series.to_list() if isinstance(table, pl.DataFrame) else series.tolist()
    # A set first: most columns repeat few values, and few tables miss any.
    gone = [value for value in set(values) if is_missing(value)]
    return [MISSING if is_missing(value) else value for value in values] if gone else values


def is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


def rows_of(table: Any, names: list[Any]) -> list[tuple[Any, ...]]:
    """The rows of some columns as tuples that can be compared."""
    columns = [column_of(table, name) for name in names]
    return list(zip(*columns, strict=True)) if columns else [()] * len(table)


def schema_of(table: Any) -> Any:
    """Kind of table, names and dtypes; categories and their order belong to a dtype."""
    if isinstance(table, np.ndarray):
        dtype = "text" if table.dtype.kind in "US" else str(table.dtype)
        return (np.ndarray, table.shape[1], dtype)
    if isinstance(table, pl.DataFrame):
        return (pl.DataFrame, tuple((name, str(t)) for name, t in table.schema.items()))
    described = []
    for name, dtype in table.dtypes.items():
        levels = None
        if isinstance(dtype, pd.CategoricalDtype):
            levels = (tuple(dtype.categories), dtype.ordered)
        described.append((name, str(dtype), levels))
    return (pd.DataFrame, tuple(described))


def make_rows(table: Any, columns: list[list[Any]]) -> Any:
    """A table of the same kind, names and dtypes as `table`, from lists of values."""
    if isinstance(table, np.ndarray):
        out = np.empty((len(columns[0]), len(columns)), dtype=table.dtype)
        missing = np.nan if table.dtype.kind == "f" else None
        for j, values in enumerate(columns):
            out[:, j] = [missing if value is MISSING else value for value in values]
        return out
    if isinstance(table, pl.DataFrame):
        series = {}
        for (name, dtype), values in zip(table.schema.items(), columns, strict=True):
            # Tables of the hunt write a missing float as NaN, everything else as null.
            missing = float("nan") if dtype in (pl.Float32, pl.Float64) else None
            plain = [missing if value is MISSING else value for value in values]
            series[name] = pl.Series(name, plain, dtype=dtype)
        return pl.DataFrame(series)
    series = {}
    for (name, dtype), values in zip(table.dtypes.items(), columns, strict=True):
        missing = _missing_of(table[name])
        plain = [missing if value is MISSING else value for value in values]
        series[name] = pd.Series(plain, dtype=dtype)
    return pd.DataFrame(series)


def _missing_of(series: pd.Series) -> Any:
    """How an object column writes a missing value; others know by themselves."""
    gone = series[series.isna()]
    return gone.iloc[0] if series.dtype == object and len(gone) else None


# Which inputs exist ------------------------------------------------------------------------


@dataclass
class Domain:
    """The domain of one column: listed values, or an interval of numbers, and missing beside it."""

    name: Any
    values: list[Any] | None
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    slack: float = 0.0
    missing: bool = False

    def holds(self, value: Any) -> bool:
        if self.values is not None:
            return value in self.values
        if value is MISSING:
            return self.missing
        if not isinstance(value, (int, float)):
            return False
        if self.whole and value != int(value):
            return False
        return bool(self.low - self.slack <= value <= self.high + self.slack)

    @property
    def is_real(self) -> bool:
        return self.values is None and not self.whole and self.high > self.low

    def listed(self) -> list[Any]:
        """All values of a finite domain."""
        if self.values is not None:
            return list(self.values)
        numbers = list(range(int(self.low), int(self.high) + 1)) if self.whole else [self.low]
        return [*numbers, MISSING] if self.missing else numbers


def read_domains(
    table: Any,
    bounds: dict[Any, Any] | None = None,
    categories: dict[Any, Any] | None = None,
) -> dict[Any, Domain]:
    """The domain of each column, by the rules of `InputSpace.from_data`."""
    bounds, categories = bounds or {}, categories or {}
    return {
        name: _domain(table, name, bounds.get(name), categories.get(name))
        for name in names_of(table)
    }


def _domain(table: Any, name: Any, bounds: Any, categories: Any) -> Domain:
    column = column_of(table, name)
    present = [value for value in column if value is not MISSING]
    if categories is not None:
        return Domain(name, [MISSING if is_missing(value) else value for value in categories])
    is_category = not isinstance(table, (np.ndarray, pl.DataFrame)) and isinstance(
        table[name].dtype, pd.CategoricalDtype
    )
    numeric = not is_category and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in present
    )
    levels = sorted(set(present), key=lambda value: (type(value).__name__, value))
    if len(present) < len(column):
        levels.append(MISSING)
    if not numeric or not present:
        return Domain(name, levels)
    whole = all(value == int(value) for value in present)
    distinct = len(set(present))
    if bounds is None and not whole and distinct <= 10 and distinct * 10 <= len(present):
        return Domain(name, levels)
    low, high = bounds if bounds is not None else (min(present), max(present))
    whole = whole and low == int(low) and high == int(high)
    missing = len(present) < len(column)
    return Domain(name, None, low, high, whole, _slack(table, name, low, high), missing)


def _slack(table: Any, name: Any, low: float, high: float) -> float:
    """One unit in the last place, where the column cannot hold the ends themselves."""
    text = str(table.dtype if isinstance(table, np.ndarray) else table[name].dtype).lower()
    for short in (np.float16, np.float32):
        if text == short.__name__:
            return float(max(np.spacing(short(abs(low))), np.spacing(short(abs(high)))))
    return 0.0


# The model ---------------------------------------------------------------------------------


class Watched(BaseEstimator):
    """A fitted estimator that counts its rows, and refuses rows of another kind than it knows."""

    def __init__(self, inner: Any = None, table: Any = None) -> None:
        self.inner = inner
        self.table = table
        self.rows = 0

    def fit(self, X: Any, y: Any = None) -> Watched:
        raise AssertionError("a fitted estimator is audited as it stands")

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return self.inner.__sklearn_tags__()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("inner", "table", "rows"):
            raise AttributeError(name)
        value = getattr(self.inner, name)
        if name not in ("predict", "predict_proba", "decision_function"):
            return value

        def asked(X: Any) -> Any:
            assert len(X), "asked about no rows"
            assert schema_of(X) == schema_of(self.table), (schema_of(X), schema_of(self.table))
            self.rows += len(X)
            return value(X)

        return asked


def chosen_response(model: Any, response_method: str) -> str:
    """Which method `response_method` stands for."""
    if is_regressor(model):
        return "predict"
    if response_method == "auto":
        for name in ("predict_proba", "decision_function"):
            if hasattr(model, name):
                return name
        return "predict"
    return response_method


@dataclass
class Outputs:
    """The model's outputs for some rows: scores (n, n_outputs) and labels (n,)."""

    scores: np.ndarray
    labels: np.ndarray | None
    single: bool = False

    def difference(self, a: Any, b: Any) -> np.ndarray:
        """Largest difference over the outputs, row by row."""
        return np.abs(self.scores[a] - self.scores[b]).max(axis=1)


def ask(model: Any, rows: Any, response: str) -> Outputs:
    """Scores and labels; labels have scores of one column a class."""
    labels = None if is_regressor(model) else np.asarray(model.predict(rows))
    said = labels if response == "predict" and labels is not None else None
    single = False
    if said is None:
        raw = np.asarray(getattr(model, response)(rows))
        single = raw.dtype == np.float32
        scores = raw.astype(np.float64).reshape(len(raw), -1)
    else:
        classes = np.unique(said.astype(str))
        scores = (said.astype(str)[:, None] == classes).astype(np.float64)
    return Outputs(scores, labels, single)


# What is checked ---------------------------------------------------------------------------


@dataclass
class Question:
    """What the user asked: the table, the sensitive columns, and the settings."""

    table: Any
    sensitive: list[Any]
    bounds: dict[Any, Any] | None = None
    categories: dict[Any, Any] | None = None
    constraint: Any = None
    threshold: float | None = None
    response_method: str = "auto"

    def __post_init__(self) -> None:
        self.domains = read_domains(self.table, self.bounds, self.categories)
        self.names = names_of(self.table)
        self.non_sensitive = [name for name in self.names if name not in self.sensitive]

    def admits(self, rows: Any) -> np.ndarray:
        if self.constraint is None:
            return np.ones(len(rows), dtype=bool)
        return np.asarray(self.constraint(rows), dtype=bool)


#: Share of the outputs that is rounding: a row may have other last bits elsewhere in a batch.
ROUNDING = {True: 1e-5, False: 1e-8}


def labels_rest_on_rounding(model: Any, rows: Any) -> bool:
    """Whether the label of some row is decided by errors of rounding.

    A linear model of balanced classes decides about the mean row, which imputed rows are, by a sum
    of some 1e-18, so that the label depends on which other rows are asked with it.
    """
    decide = getattr(model, "decision_function", None)
    if decide is None:
        return False
    decisions = np.asarray(decide(rows), dtype=float)
    if decisions.ndim == 1:
        return bool((np.abs(decisions) < 1e-12).any())
    ordered = np.sort(decisions, axis=1)
    return bool((ordered[:, -1] - ordered[:, -2] < 1e-12).any())


def close(a: Any, b: Any, scale: float, single: bool) -> bool:
    return bool(
        np.all(np.abs(np.asarray(a) - np.asarray(b)) <= ROUNDING[single] * (scale + 1e-300))
    )


def check_found(auditor: Any, question: Question, model: Any, n_rows: int | None = None) -> int:
    """Check all public results of a run but those of the data; returns the number found."""
    first, second = auditor.discriminatory_inputs_, auditor.counterfactuals_
    disparities = np.asarray(auditor.disparities_)
    n = len(disparities)
    assert len(first) == len(second) == n, (len(first), len(second), n)
    response = chosen_response(model, question.response_method)
    if n:
        _check_pairs(first, second, question)
        keys = rows_of(first, question.non_sensitive)
        assert len(set(keys)) == n, f"{n - len(set(keys))} of {n} inputs are there twice"
        _check_gaps(first, second, disparities, question, model, response)
        assert (np.diff(disparities) <= 0).all(), "not worst first"
    _check_counts(auditor, n, n_rows)
    _check_worst(auditor, question, model, response)
    if n and question.threshold is not None:
        assert disparities.min() > question.threshold
    json.dumps(
        {
            name: getattr(auditor, name)
            for name in (
                "fairness_degree_", "n_found_", "n_inputs_", "n_queries_", "seconds_",
                "discrimination_rate_", "stop_reason_", "response_",
            )
        },
        allow_nan=False,
    )  # fmt: skip
    json.dumps(auditor.history_.to_dict("list"), allow_nan=False)
    return n


def _check_pairs(first: Any, second: Any, question: Question) -> None:
    """Twins: in the domain, as the table holds them, alike but for the sensitive columns."""
    for rows in (first, second):
        assert schema_of(rows) == schema_of(question.table), "another kind of table"
        for name, domain in question.domains.items():
            outside = {value for value in column_of(rows, name) if not domain.holds(value)}
            assert not outside, f"{name!r}: {sorted(map(str, outside))[:5]} not in {domain}"
        assert question.admits(rows).all(), "constraint violated"
    assert rows_of(first, question.non_sensitive) == rows_of(second, question.non_sensitive), (
        "no twins"
    )
    one, two = rows_of(first, question.sensitive), rows_of(second, question.sensitive)
    assert all(a != b for a, b in zip(one, two, strict=True)), "twins with equal sensitive values"


def _check_gaps(
    first: Any,
    second: Any,
    disparities: np.ndarray,
    question: Question,
    model: Any,
    response: str,
) -> None:
    one, two = ask(model, first, response), ask(model, second, response)
    if response == "predict" and one.labels is not None:
        gaps = (one.labels != two.labels).astype(float)
    else:
        gaps = np.abs(one.scores - two.scores).max(axis=1)
    scale = max(np.abs(one.scores).max(), np.abs(two.scores).max())
    single = _is_single(model, first, response)
    assert close(gaps, disparities, scale, single), np.abs(gaps - disparities).max()
    if question.threshold is not None:
        return
    if one.labels is not None:
        assert (one.labels != two.labels).all(), "an input whose twins get the same label"
    else:
        assert (gaps > 0).all(), "an input whose twins are treated alike"
        if one.scores.shape[1] == 1:
            assert (one.scores >= two.scores).all(), "the smaller output first"


def _is_single(model: Any, rows: Any, response: str) -> bool:
    return np.asarray(getattr(model, response)(rows)).dtype == np.float32


def _check_counts(auditor: Any, n: int, n_rows: int | None) -> None:
    assert auditor.n_found_ >= n
    assert auditor.n_found_ == n or n >= 10_000, "results were dropped without need"
    assert auditor.n_inputs_ >= auditor.n_found_
    if n_rows is not None:
        assert auditor.n_queries_ == n_rows, f"{auditor.n_queries_} said, {n_rows} rows asked"
    if auditor.max_queries is not None:
        assert auditor.n_queries_ <= auditor.max_queries
    if auditor.max_inputs is not None:
        assert auditor.n_inputs_ <= auditor.max_inputs
    rate = auditor.n_found_ / auditor.n_inputs_ if auditor.n_inputs_ else 0.0
    assert auditor.discrimination_rate_ == rate
    history = auditor.history_
    for name in ("queries", "inputs", "degree"):
        assert (np.diff(history[name]) >= 0).all(), name
    if len(history):
        assert history["degree"].iloc[-1] <= auditor.fairness_degree_


def _check_worst(auditor: Any, question: Question, model: Any, response: str) -> None:
    degree, pair = auditor.fairness_degree_, auditor.worst_case_
    assert degree >= 0
    if len(auditor.disparities_):
        assert degree >= np.max(auditor.disparities_)
    if pair is None:
        assert degree == 0
        return
    _check_pairs(pair[:1], pair[1:], question)
    said = ask(model, pair, response)
    scale = np.abs(said.scores).max()
    single = _is_single(model, pair, response)
    difference = said.difference([0], [1])[0]
    assert close(difference, degree, scale, single), (difference, degree)
    shown = np.asarray(auditor.worst_case_outputs_)
    assert shown.shape == (2,)
    assert close(abs(shown[0] - shown[1]), degree, scale, single)
    assert shown[0] >= shown[1]


# Rows of data ------------------------------------------------------------------------------


def naive_disparities(question: Question, model: Any, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Disparity and verdict of each row, one row at a time.

    Each row counts with its own sensitive values. Of a real sensitive column only the ends of the
    domain are tried, so that the figures are lower bounds.
    """
    values = []
    for name in question.sensitive:
        domain = question.domains[name]
        gone = [MISSING] if domain.missing else []
        values.append([domain.low, domain.high, *gone] if domain.is_real else domain.listed())
    places = [question.names.index(name) for name in question.sensitive]
    twins, starts = [], [0]
    for row in rows_of(rows, question.names):
        twins.append(row)
        for combination in product(*values):
            twin = list(row)
            for place, value in zip(places, combination, strict=True):
                twin[place] = value
            twins.append(tuple(twin))
        starts.append(len(twins))
    table = make_rows(question.table, [list(column) for column in zip(*twins, strict=True)])
    admitted = question.admits(table)
    response = chosen_response(model, question.response_method)
    said = ask(model, table, response)
    noise = ROUNDING[_is_single(model, rows, response)]
    disparities, verdicts = np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
    for i, (start, stop) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
        kept = start + np.flatnonzero(admitted[start:stop])
        if len(kept) < 2:
            continue
        scores = said.scores[kept]
        spread = float((scores.max(axis=0) - scores.min(axis=0)).max())
        disparities[i] = spread if spread > noise * np.abs(scores).max() else 0.0
        if question.threshold is not None:
            verdicts[i] = disparities[i] > question.threshold
        elif said.labels is not None:
            verdicts[i] = len(set(said.labels[kept].tolist())) > 1
        else:
            verdicts[i] = disparities[i] > 0
    return disparities, verdicts


def check_rows(audit: Any, question: Question, model: Any, rows: Any) -> None:
    """Check a `RowsAudit` of `rows` against the naive loop."""
    disparities, verdicts = naive_disparities(question, model, rows)
    got, verdict = np.asarray(audit.disparities), np.asarray(audit.is_discriminatory)
    response = chosen_response(model, question.response_method)
    said = ask(model, rows, response)
    single = _is_single(model, rows, response)
    # Probabilities and scores that are compared have the size of the largest of them.
    scale = max(float(np.abs(said.scores).max()), 1e-300, float(disparities.max(initial=0.0)))
    slack = ROUNDING[single] * scale
    exact = not any(question.domains[name].is_real for name in question.sensitive)
    if exact:
        worst = np.abs(got - disparities).max(initial=0.0)
        assert worst <= slack, f"row {np.abs(got - disparities).argmax()}: {worst}"
        clear = np.ones(len(got), dtype=bool)
        if question.threshold is not None:
            clear = np.abs(disparities - question.threshold) > slack
        elif is_regressor(model):
            clear = (disparities == 0) | (disparities > slack)
        assert (verdict == verdicts)[clear].all(), np.flatnonzero(verdict != verdicts)
    else:
        assert (got >= disparities - slack).all(), f"row {(disparities - got).argmax()}"
    assert audit.degree == got.max(initial=0.0)
    assert audit.rate == (verdict.mean() if len(verdict) else 0.0)
    found = rows_of(audit.discriminatory, question.names)
    every = rows_of(rows, question.names)
    assert found == [row for row, flag in zip(every, verdict, strict=True) if flag]
    if not found:
        return
    others = audit.counterfactuals
    assert rows_of(audit.discriminatory, question.non_sensitive) == rows_of(
        others, question.non_sensitive
    )
    assert all(a != b for a, b in zip(found, rows_of(others, question.names), strict=True))


def check_same(one: Any, two: Any) -> None:
    """Two runs with one seed have the same results."""
    for name in ("fairness_degree_", "n_found_", "n_inputs_", "n_queries_", "stop_reason_"):
        assert getattr(one, name) == getattr(two, name), name
    np.testing.assert_array_equal(one.disparities_, two.disparities_)
    for name in ("discriminatory_inputs_", "counterfactuals_"):
        first, second = getattr(one, name), getattr(two, name)
        assert rows_of(first, names_of(first)) == rows_of(second, names_of(second)), name
