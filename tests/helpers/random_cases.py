"""Random tables, sensitive columns, settings and models, for the hunt for wrong results.

Structure is drawn by hypothesis, so that it shrinks what fails; the values of a column come from a
generator with a drawn seed. Imports nothing of the package.
"""

from __future__ import annotations

import warnings
import zlib
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from checker import MISSING, Question, column_of, names_of, read_domains
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

WORDS = ["", "a", "b", "é", "Zebra", "a b", "None", "1", "x, y"]
KINDS = {
    "pandas": [
        "int", "int8", "float", "float32", "float16", "tied", "text", "string", "category",
        "ordered", "bool", "boolean", "Int64", "Float64", "numbers",
    ],
    "polars": ["int", "int8", "float", "float32", "tied", "text", "category", "bool", "Int64"],
}  # fmt: skip
ARRAYS = ["float64", "float32", "float16", "int64", "uint8", "bool", "object"]


# Tables ------------------------------------------------------------------------------------


def numbers(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of a kind; at least two of them differ."""
    if kind in ("int", "Int64", "numbers"):
        values = rng.integers(-3, rng.integers(0, 40), n)
    elif kind in ("int8", "uint8"):
        values = rng.integers(0, rng.integers(2, 120), n)
    elif kind == "tied":
        values = rng.choice([0.1, 0.25, 0.7], n)
    else:
        scale = 10.0 ** rng.integers(-3, 3 if kind == "float16" else 6)
        values = rng.normal(size=n) * scale + rng.choice([0.0, 7.0]) * scale
    values[:2] = values.min(), values.max() + (values.min() == values.max())
    return values


def words(n: int, rng: np.random.Generator, any_missing: bool) -> list[Any]:
    """Text, perhaps with missing values; at least two levels."""
    levels = list(rng.choice(WORDS, rng.integers(2, 5), replace=False))
    values = [str(level) for level in rng.choice(levels, n)]
    values[:2] = str(levels[0]), str(levels[1])
    if any_missing:
        values[2::5] = [None] * len(values[2::5])
    return values


def pandas_column(kind: str, n: int, rng: np.random.Generator, gaps: bool) -> pd.Series:
    if kind in ("text", "string", "category", "ordered"):
        values = words(n, rng, gaps)
        if kind == "text":
            return pd.Series(values, dtype=object)
        if kind == "string":
            return pd.Series(values, dtype="string")
        levels = [str(level) for level in rng.permutation(sorted({*filter(None, values), "", "z"}))]
        return pd.Series(pd.Categorical(values, levels, ordered=kind == "ordered"))
    if kind in ("bool", "boolean"):
        values = rng.random(n) < 0.5
        values[:2] = True, False
        column = pd.Series(values, dtype=kind)
    elif kind == "numbers":
        column = pd.Series(numbers(kind, n, rng).tolist(), dtype=object)
        gaps = False
    else:
        dtype = {"int": "int64", "float": "float64", "tied": "float64"}.get(kind, kind)
        column = pd.Series(numbers(kind, n, rng)).astype(dtype)
    if gaps and kind in ("boolean", "Int64", "Float64", "float", "float32", "float16", "tied"):
        column[2::5] = pd.NA if kind in ("boolean", "Int64", "Float64") else np.nan
    return column


def polars_column(kind: str, n: int, rng: np.random.Generator, gaps: bool) -> pl.Series:
    if kind in ("text", "category"):
        dtype = pl.String if kind == "text" else pl.Categorical
        return pl.Series(words(n, rng, gaps), dtype=dtype)
    if kind == "bool":
        return pl.Series(pandas_column("bool", n, rng, False).to_list(), dtype=pl.Boolean)
    dtypes = {"int": pl.Int64, "int8": pl.Int8, "Int64": pl.Int16, "float32": pl.Float32}
    values = numbers(kind, n, rng).tolist()
    if gaps and kind == "Int64":
        values[2::5] = [None] * len(values[2::5])
    if gaps and kind in ("float", "float32", "tied"):
        values[2::5] = [float("nan")] * len(values[2::5])
    return pl.Series(values, dtype=dtypes.get(kind, pl.Float64))


def array_table(dtype: str, n: int, width: int, rng: np.random.Generator) -> np.ndarray:
    if dtype == "object":
        columns = [words(n, rng, False)]
        columns += [numbers("int", n, rng).tolist() for _ in range(width - 1)]
        return np.array(columns, dtype=object).T
    if dtype == "bool":
        X = rng.random((n, width)) < 0.5
        X[0], X[1] = False, True
        return X
    kinds = ["int"] if dtype == "int64" else ["int8"]
    if dtype.startswith("float"):
        kinds = [dtype, dtype, "int8", "tied"]
    columns = [numbers(kinds[rng.integers(len(kinds))], n, rng) for _ in range(width)]
    return np.column_stack(columns).astype(dtype)


@st.composite
def tables(draw: Any, smallest: int = 12, largest: int = 60) -> Any:
    """A table of any kind with two to five columns."""
    library = draw(st.sampled_from(["pandas", "pandas", "pandas", "numpy", "polars"]))
    n = draw(st.integers(smallest, largest))
    width = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if library == "numpy":
        return array_table(draw(st.sampled_from(ARRAYS)), n, width, rng)
    make = pandas_column if library == "pandas" else polars_column
    kinds = draw(st.lists(st.sampled_from(KINDS[library]), min_size=width, max_size=width))
    gaps = draw(st.booleans())
    columns = {f"c{j}": make(kind, n, rng, gaps) for j, kind in enumerate(kinds)}
    return pl.DataFrame(columns) if library == "polars" else pd.DataFrame(columns)


# What the user asks ------------------------------------------------------------------------


def n_present(table: Any, name: Any) -> int:
    return len(set(column_of(table, name)) - {MISSING})


@st.composite
def questions(draw: Any, *, most_sensitive: int = 3, most_combinations: int = 200) -> Question:
    """A table, sensitive columns and the user's settings; not every row has to be admitted."""
    table = draw(tables())
    names = [name for name in names_of(table) if n_present(table, name) > 1]
    most = min(most_sensitive, len(names_of(table)) - 1)
    sensitive = draw(
        st.lists(st.sampled_from(names), min_size=1, max_size=max(1, most), unique=True)
    )
    sensitive = sorted(sensitive, key=names_of(table).index)
    while len(sensitive) > 1 and n_combinations(table, sensitive) > most_combinations:
        del sensitive[0]
    bounds, categories = draw(domain_settings(table))
    question = Question(
        table,
        sensitive,
        bounds,
        categories,
        threshold=draw(st.sampled_from([None, None, 0.0, 0.05])),
        response_method=draw(st.sampled_from(["auto", "auto", "predict"])),
    )
    if draw(st.integers(0, 3)) == 0 and any(
        question.domains[name].is_real for name in question.non_sensitive
    ):
        question.constraint = Admits(question, draw(st.integers(0, 2**16)))
    return question


def n_combinations(table: Any, sensitive: list[Any]) -> int:
    """About as many combinations of sensitive values as an audit compares; 100 of a real column."""
    domains = read_domains(table)
    sizes = [100 if domains[name].is_real else len(domains[name].listed()) for name in sensitive]
    return int(np.prod(sizes))


@st.composite
def domain_settings(draw: Any, table: Any) -> Any:
    """Bounds and categories for some of the columns; narrower and wider than the data."""
    bounds, categories = {}, {}
    for name, domain in read_domains(table).items():
        wish = draw(st.integers(0, 5))
        if domain.values is None and domain.high > domain.low and wish < 2:
            width = domain.high - domain.low
            if not domain.whole:
                bounds[name] = (domain.low + width / 4, domain.high - width / 4 * wish)
            elif wish == 1 and width >= 2:
                bounds[name] = (int(domain.low) + 1, int(domain.high))
            elif domain.high < 100:
                bounds[name] = (int(domain.low), int(domain.high) + 2)
        elif domain.values is not None and wish == 0 and len(domain.values) > 2:
            if all(isinstance(value, str) and value is not MISSING for value in domain.values):
                categories[name] = list(domain.values[:-1])
    return bounds or None, categories or None


class Admits:
    """A constraint that admits about two thirds of all inputs, by their free columns."""

    def __init__(self, question: Question, seed: int) -> None:
        self.non_sensitive = list(question.non_sensitive)
        self.seed = seed

    def __call__(self, rows: Any) -> np.ndarray:
        column = column_of(rows, self.non_sensitive[self.seed % len(self.non_sensitive)])
        known = {value: _mixed(value, self.seed) % 3 > 0 for value in set(column)}
        return np.array([known[value] for value in column], dtype=bool)


def _mixed(value: Any, seed: int) -> int:
    """A number that follows from a value, whatever kind of number or text holds it."""
    if value is MISSING or isinstance(value, str):
        return zlib.crc32(f"{seed} {value}".encode())
    return zlib.crc32(f"{seed} {float(value):.3g}".encode())


# Models ------------------------------------------------------------------------------------


class Ragged(BaseEstimator):
    """A function of the values of a row, rough and different for each seed."""

    def __init__(self, seed: int = 0, n_classes: int = 0) -> None:
        self.seed = seed
        self.n_classes = n_classes

    def fit(self, X: Any, y: Any = None) -> Ragged:
        """Learn nothing."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _scores(self, X: Any, turn: int = 0) -> np.ndarray:
        total = np.zeros(len(X))
        product = np.ones(len(X))
        for j, name in enumerate(names_of(X)):
            values = column_of(X, name)
            hashed = {value: _mixed(value, self.seed + j + 100 * turn) for value in set(values)}
            effect = np.array([hashed[value] % 7 - 3 for value in values], dtype=np.float64)
            total += effect / (j + 1)
            product *= np.sign(effect + 0.5)
        return total + product


class RaggedRegressor(RegressorMixin, Ragged):
    def predict(self, X: Any) -> np.ndarray:
        return self._scores(X)


class RaggedClassifier(ClassifierMixin, Ragged):
    @property
    def classes_(self) -> np.ndarray:
        return np.array(["no", "maybe", "yes"][: self.n_classes])

    def predict_proba(self, X: Any) -> np.ndarray:
        scores = np.column_stack([self._scores(X, turn) for turn in range(self.n_classes)])
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class RaggedLabels(ClassifierMixin, Ragged):
    """Gives labels and nothing else."""

    def predict(self, X: Any) -> np.ndarray:
        return np.array(["p", "q", "r"])[(self._scores(X) // 1).astype(int) % 3]


REGRESSORS = [
    lambda seed: DecisionTreeRegressor(max_depth=6, random_state=seed),
    lambda seed: RandomForestRegressor(5, random_state=seed),
    lambda seed: GradientBoostingRegressor(n_estimators=8, random_state=seed),
    lambda seed: HistGradientBoostingRegressor(max_iter=6, min_samples_leaf=3),
    lambda seed: BaggingRegressor(DecisionTreeRegressor(), 4, max_features=0.7, random_state=seed),
    lambda seed: LinearRegression(),
    lambda seed: MLPRegressor(hidden_layer_sizes=(6,), max_iter=20, random_state=seed),
]
CLASSIFIERS = [
    lambda seed: DecisionTreeClassifier(max_depth=6, random_state=seed),
    lambda seed: RandomForestClassifier(5, random_state=seed),
    lambda seed: GradientBoostingClassifier(n_estimators=5, random_state=seed),
    lambda seed: HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3),
    lambda seed: LogisticRegression(),
    lambda seed: RidgeClassifier(),
    lambda seed: LinearSVC(random_state=seed),
    lambda seed: SVC(random_state=seed),
    lambda seed: KNeighborsClassifier(3),
    lambda seed: MLPClassifier(hidden_layer_sizes=(6,), max_iter=20, random_state=seed),
]


def is_numeric(table: Any, name: Any) -> bool:
    """Whether an estimator can take the column as numbers."""
    return all(
        isinstance(value, (int, float)) and not isinstance(value, bool)
        for value in column_of(table, name)
        if value is not MISSING
    ) and "category" not in str(
        getattr(table[name], "dtype", "") if hasattr(table, "columns") else ""
    )


def encoded(table: Any, model: Any, kind: int) -> Any:
    """The model behind encoders that take whatever the table holds."""
    names = names_of(table)
    numeric = [name for name in names if is_numeric(table, name)]
    others = [name for name in names if name not in numeric]
    encoder = OneHotEncoder(handle_unknown="ignore")
    if kind % 2:
        encoder = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
        )
    scaler = [StandardScaler(), MinMaxScaler(), RobustScaler(), "passthrough"][kind % 4]
    steps = ColumnTransformer(
        [
            ("text", make_pipeline(FunctionTransformer(as_text), encoder), others),
            (
                "numbers",
                make_pipeline(FunctionTransformer(as_floats), SimpleImputer(), scaler),
                numeric,
            ),
        ],
        sparse_threshold=0,
    )
    return make_pipeline(steps, make_pipeline(model) if kind % 3 == 0 else model)


def as_text(X: Any) -> np.ndarray:
    """An object array of text, a missing value as a word of its own."""
    return np.array([[str(v) for v in column_of(X, name)] for name in names_of(X)], dtype=object).T


def as_floats(X: Any) -> np.ndarray:
    columns = [
        [np.nan if v is MISSING else float(v) for v in column_of(X, name)] for name in names_of(X)
    ]
    return np.array(columns, dtype=np.float64).T


def target(table: Any, seed: int, n_classes: int) -> np.ndarray:
    """A target that follows from all columns; every class occurs."""
    y = RaggedRegressor(seed).predict(table)
    if not n_classes:
        return y + 0.1 * np.random.default_rng(seed).normal(size=len(y))
    labels = np.argsort(np.argsort(y, kind="stable")) * n_classes // len(y)
    return np.array(["lo", "mid", "hi"])[labels]


@st.composite
def models(draw: Any, table: Any) -> Any:
    """A fitted model that takes rows of the table."""
    seed = draw(st.integers(0, 1000))
    n_classes = draw(st.sampled_from([0, 2, 3]))
    if draw(st.integers(0, 2)) == 0:
        if n_classes == 0:
            return RaggedRegressor(seed)
        return RaggedClassifier(seed, n_classes) if seed % 3 else RaggedLabels(seed)
    make = draw(st.sampled_from(CLASSIFIERS if n_classes else REGRESSORS))
    model = encoded(table, make(seed), draw(st.integers(0, 11)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(table, target(table, seed, n_classes))


# Models that can be certified --------------------------------------------------------------

TREES = {
    "tree": lambda n, seed: DecisionTreeRegressor(max_depth=n + 2, random_state=seed),
    "forest": lambda n, seed: RandomForestRegressor(n, max_depth=4, random_state=seed),
    "extra": lambda n, seed: ExtraTreesRegressor(n, max_depth=4, random_state=seed),
    "boosting": lambda n, seed: GradientBoostingRegressor(n_estimators=n, random_state=seed),
    "histogram": lambda n, seed: HistGradientBoostingRegressor(max_iter=n, min_samples_leaf=3),
    "poisson": lambda n, seed: HistGradientBoostingRegressor(
        loss="poisson", max_iter=20 * n, min_samples_leaf=2
    ),
    "bagging": lambda n, seed: BaggingRegressor(
        DecisionTreeRegressor(max_depth=4), n, max_features=0.8, random_state=seed
    ),
    "voting": lambda n, seed: VotingRegressor(
        [
            ("tree", DecisionTreeRegressor(max_depth=4, random_state=seed)),
            ("boosting", GradientBoostingRegressor(n_estimators=n, random_state=seed)),
        ]
    ),
    "tree classifier": lambda n, seed: DecisionTreeClassifier(max_depth=n + 2, random_state=seed),
    "forest classifier": lambda n, seed: RandomForestClassifier(n, max_depth=4, random_state=seed),
    "boosting classifier": lambda n, seed: GradientBoostingClassifier(
        n_estimators=n, random_state=seed
    ),
    "histogram classifier": lambda n, seed: HistGradientBoostingClassifier(
        max_iter=n, min_samples_leaf=3
    ),
}
FLAT = {
    "linear": lambda n, seed: LinearRegression(),
    "mlp": lambda n, seed: MLPRegressor(
        hidden_layer_sizes=(n + 1,), max_iter=30, random_state=seed
    ),
    "deep mlp": lambda n, seed: MLPRegressor(
        hidden_layer_sizes=(n + 1, 3), max_iter=30, random_state=seed
    ),
    "logistic": lambda n, seed: LogisticRegression(C=10.0**n),
    "ridge classifier": lambda n, seed: RidgeClassifier(),
    "svc": lambda n, seed: SVC(kernel="linear"),
    "mlp classifier": lambda n, seed: MLPClassifier(
        hidden_layer_sizes=(n + 1,), max_iter=30, random_state=seed
    ),
}


@st.composite
def small_tables(draw: Any, real: bool) -> Any:
    """A table with few values in each discrete column, so that all inputs can be enumerated."""
    n = draw(st.integers(20, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if real and draw(st.integers(0, 3)) == 0:
        X = np.column_stack(
            [rng.integers(0, 4, n), numbers("float", n, rng), rng.integers(0, 3, n)]
        )
        return X.astype(draw(st.sampled_from(["float64", "float32"])))
    kinds = ["few", "few", "text", "category", "bool", "tied"] + ["float", "float32"] * real
    columns = {}
    for j in range(draw(st.integers(2, 4))):
        kind = draw(st.sampled_from(kinds))
        if kind == "few":
            values = rng.integers(0, rng.integers(2, 7), n)
            values[:2] = 0, 1
            columns[f"c{j}"] = pd.Series(values)
        else:
            gaps = kind == "text" and bool(rng.integers(2))
            columns[f"c{j}"] = pandas_column(kind, n, rng, gaps)
    return pd.DataFrame(columns)


def readable(table: Any, model: Any, kind: int) -> Any:
    """The model behind steps that a certificate reads; nested in every fourth case."""
    names = names_of(table)
    numeric = [name for name in names if is_numeric(table, name)]
    texts = [name for name in names if name not in numeric]
    encode = [
        OneHotEncoder(handle_unknown="ignore"),
        OrdinalEncoder(encoded_missing_value=-1),
        OneHotEncoder(drop="first", sparse_output=False),
    ][kind % 3]
    scale = [StandardScaler(), MinMaxScaler(), RobustScaler(), "passthrough"][kind % 4]
    if kind % 5 == 0 and scale != "passthrough":
        scale = make_pipeline(SimpleImputer(), scale)
    if not texts and kind % 2:
        return make_pipeline(scale, model) if scale != "passthrough" else model
    steps = ColumnTransformer([("text", encode, texts), ("numbers", scale, numeric)])
    if kind % 4 == 1:
        return make_pipeline(steps, make_pipeline(StandardScaler(with_mean=False), model))
    return make_pipeline(steps, model)


@st.composite
def certificate_cases(draw: Any, pool: dict[str, Any], real: bool) -> tuple[Question, Any]:
    """A question with a small space, and a fitted model whose bound can be computed."""
    table = draw(small_tables(real))
    names = names_of(table)
    sensitive = draw(
        st.lists(st.sampled_from(names), min_size=1, max_size=len(names) - 1, unique=True)
    )
    bounds, _ = draw(domain_settings(table))
    name = draw(st.sampled_from(sorted(pool)))
    seed = draw(st.integers(0, 1000))
    kind = draw(st.integers(0, 59))
    n_classes = 0
    if any(word in name for word in ("classifier", "logistic", "svc")):
        n_classes = 2 if name == "svc" else draw(st.sampled_from([2, 2, 3]))
    y = target(table, seed, n_classes)
    if name == "poisson":
        y = np.exp(y * draw(st.sampled_from([0.3, 3.0, 8.0])))
    elif not n_classes:
        y = y * 10.0 ** draw(st.integers(-2, 4))
    model = readable(table, pool[name](draw(st.integers(1, 4)), seed), kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table, y)
    question = Question(
        table,
        sorted(sensitive, key=names.index),
        bounds,
        response_method=draw(st.sampled_from(["auto", "auto", "decision_function"]))
        if hasattr(model, "decision_function")
        else "auto",
    )
    return question, model
