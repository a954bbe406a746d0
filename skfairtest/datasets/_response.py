"""The closed-form response behind the planted data sets: base, effect and weights."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

VARIANTS = ("smooth", "narrow", "many-valued")
MAX_PROBABILITY_DEGREE = 0.7

SEXES = ("female", "male")
COUNTRIES = tuple(f"country_{i:03d}" for i in range(293))
JOBS = ("cook", "driver", "engineer", "farmer", "nurse", "sales", "teacher", "welder")
REGIONS = tuple(f"region_{i}" for i in range(10))
BOUNDS: dict[str, tuple[float, float]] = {
    "points": (18, 80),
    "income": (0.0, 100.0),
    "hours": (0, 60),
    "experience": (0, 40),
    "score": (0.0, 1.0),
}
INTEGERS = ("points", "hours", "experience")

# Only one job attains the factor 1, so that a search has to find the right category too.
_JOB_FACTORS = np.array([0.50, 0.55, 1.00, 0.40, 0.70, 0.60, 0.80, 0.45])

# Each interval covers about a tenth of its column, so that the pocket covers about 1e-6 of all.
_POCKET: dict[str, tuple[float, float]] = {
    "points": (31, 36),
    "income": (70.0, 80.0),
    "hours": (50, 55),
    "experience": (8, 11),
    "score": (0.30, 0.40),
}
_POCKET_REGION = "region_6"

# Cubing is a permutation of the integers modulo the prime 293 (3 does not divide 292). It looks
# shuffled, yet unlike a seeded shuffle it can never change with the version of NumPy.
_RANKS = (np.arange(len(COUNTRIES)) ** 3 * 17 + 101) % len(COUNTRIES)
COUNTRY_WEIGHTS = np.linspace(0.0, 1.0, len(COUNTRIES))[_RANKS] ** 3
SEX_WEIGHTS = np.array([0.0, 1.0])

# A context that attains the whole degree in each kind of effect.
PEAK: dict[str, dict[str, Any]] = {
    "bumps": {
        "points": 40,
        "income": 62.0,
        "hours": 41,
        "experience": 15,
        "job": JOBS[int(np.argmax(_JOB_FACTORS))],
        "region": REGIONS[0],
        "owner": True,
        "score": 0.5,
    },
    "pocket": {
        "points": 33,
        "income": 75.0,
        "hours": 52,
        "experience": 9,
        "job": JOBS[0],
        "region": _POCKET_REGION,
        "owner": True,
        "score": 0.35,
    },
}


class NeedsNoFit(BaseEstimator):
    """A known rule on columns of mixed types, which there is nothing to learn for."""

    def __sklearn_is_fitted__(self) -> bool:
        """Return True: the rule is known."""
        return True

    def __sklearn_tags__(self) -> Any:
        """Declare that columns may be of mixed types and that fitting is not required."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _seen(self, X: Any, names: Iterable[str]) -> Any:
        """Record the columns of the data, if these are among them."""
        for name in names:
            column(X, name)
        self.feature_names_in_ = np.asarray([str(name) for name in X.columns], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self


def check_variant(variant: object) -> str:
    """Return the variant, or say which ones there are."""
    if not isinstance(variant, str) or variant not in VARIANTS:
        msg = f"variant must be one of {list(VARIANTS)}, got {variant!r}: choose one of these."
        raise ValueError(msg)
    return variant


def check_degree(degree: object, upper: float = np.inf) -> float:
    """Return the degree as a float, or say which values are possible."""
    is_number = isinstance(degree, Real) and not isinstance(degree, bool)
    value = float(degree) if is_number else np.nan  # type: ignore[arg-type]
    if not (np.isfinite(value) and 0.0 < value <= upper):
        kind = "a finite number" if np.isinf(upper) else f"a number of at most {upper}"
        hint = (
            "choose a positive difference of predictions."
            if np.isinf(upper)
            else "larger degrees would push a probability out of [0, 1]."
        )
        msg = f"degree must be {kind} above 0, got {degree!r}: {hint}"
        raise ValueError(msg)
    return value


def sensitive_column(variant: str) -> str:
    """Return the name of the one sensitive column of a variant."""
    return "country_of_birth" if variant == "many-valued" else "sex"


def sensitive_values(variant: str) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return the sensitive values of a variant and the weight g in [0, 1] of each."""
    if variant == "many-valued":
        return COUNTRIES, COUNTRY_WEIGHTS
    return SEXES, SEX_WEIGHTS


def feature_names(variant: str) -> list[str]:
    """Return the names of the columns of a variant, in their order."""
    rest = ["points", "income", "hours", "experience", "job", "region", "owner", "score"]
    return [sensitive_column(variant), *rest]


def peak(variant: str) -> dict[str, Any]:
    """Return a context (all columns but the sensitive one) that attains the degree."""
    return PEAK["pocket" if variant == "narrow" else "bumps"]


def column(X: Any, name: str) -> Any:
    columns = getattr(X, "columns", None)
    if columns is None:
        msg = (
            f"Expected a data frame with a column {name!r}, got {type(X).__name__}: pass a pandas"
            " or polars data frame with the columns of the generated data."
        )
        raise TypeError(msg)
    if name not in columns:
        msg = (
            f"Expected a column {name!r}, got the columns {list(columns)}: pass all columns of"
            " the generated data, and check that `variant` is the one they were made with."
        )
        raise ValueError(msg)
    return X[name]


def _numbers(X: Any, name: str) -> NDArray[np.float64]:
    return np.asarray(column(X, name), dtype=np.float64)


@lru_cache
def _index(levels: tuple[str, ...]) -> Any:
    # pandas keeps the lookup in the index, so one index serves all tables.
    return pd.Index(levels, dtype=object)


def _codes(X: Any, name: str, levels: tuple[str, ...]) -> NDArray[np.intp]:
    # Through object, because categorical and string columns of every container allow that.
    values = np.asarray(column(X, name), dtype=object)
    codes = _index(levels).get_indexer(pd.Index(values, dtype=object))
    if np.any(codes < 0):
        unknown = values[codes < 0][0]
        shown = ", ".join(map(repr, levels[:3]))
        msg = (
            f"Column {name!r} holds {unknown!r}, expected one of its {len(levels)} categories"
            f" ({shown}, ...): the response is known for these only."
        )
        raise ValueError(msg)
    return codes


def _bumps(X: Any) -> NDArray[np.float64]:
    income = (_numbers(X, "income") - PEAK["bumps"]["income"]) / 30.0
    hours = (_numbers(X, "hours") - PEAK["bumps"]["hours"]) / 20.0
    return np.exp(-(income**2)) * np.exp(-(hours**2)) * _JOB_FACTORS[_codes(X, "job", JOBS)]


def _pocket(X: Any) -> NDArray[np.float64]:
    held = (_codes(X, "region", REGIONS) == REGIONS.index(_POCKET_REGION)).astype(np.float64)
    for name, (low, high) in _POCKET.items():
        values = _numbers(X, name)
        held += (values >= low) & (values <= high)
    return (held / (len(_POCKET) + 1)) ** 3


def effect(X: Any, variant: str) -> NDArray[np.float64]:
    """Return g(s) * e(x) in [0, 1]: the part of the response that depends on s."""
    levels, weights = sensitive_values(variant)
    context = _pocket(X) if variant == "narrow" else _bumps(X)
    return weights[_codes(X, sensitive_column(variant), levels)] * context


def neutral(X: Any) -> NDArray[np.float64]:
    """Return h(x) in [0, 1]: the part of the response without the sensitive column."""
    share = 0.4 * _numbers(X, "income") / 100.0
    share += 0.2 * _numbers(X, "experience") / 40.0
    share += 0.1 * (_numbers(X, "points") - 18.0) / 62.0
    share += 0.1 * np.asarray(column(X, "owner"), dtype=bool)
    share += 0.2 * _numbers(X, "score")
    return np.clip(share, 0.0, 1.0)
