"""Random spaces: every row that the model is asked about can exist, as checked from outside.

Shares no code with the package: what may be asked is written down here for each table as it is
made, and a model that keeps the rows it is asked about is the witness.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from spaces import in_space
from tiers import slow_sample

from skfairtest import (
    AequitasAuditor,
    Allowed,
    Implies,
    Is,
    Linear,
    Order,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    ThemisAuditor,
)
from skfairtest.exceptions import NoDisparityWarning

Check = Callable[[pd.DataFrame], Any]


@dataclass
class Case:
    """A table, the settings of an audit, and what must hold of every row that is asked."""

    table: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    constraints: list[Any] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)
    checks: dict[str, Check] = field(default_factory=dict)


class Witness(ClassifierMixin, BaseEstimator):
    """A model of twins: a random sum of everything, cut at its middle; keeps what it is asked."""

    def __init__(self, log: Any = None, seed: int = 0) -> None:
        self.log = log
        self.seed = seed

    def fit(self, X: pd.DataFrame, y: Any = None) -> Witness:
        rng = np.random.default_rng(self.seed)
        self.classes_ = np.array([0, 1])
        self.weights_ = {name: float(rng.normal()) for name in X}
        self.levels_ = {
            name: {value: float(rng.normal()) for value in pd.unique(X[name])}
            for name in X
            if X[name].dtype.kind not in "biuf"
        }
        self.spread_ = {name: float(X[name].std()) or 1.0 for name in X if name not in self.levels_}
        self.middle_ = float(np.median(self._sum(X)))
        return self

    def _sum(self, X: pd.DataFrame) -> Any:
        total = np.zeros(len(X))
        for name, weight in self.weights_.items():
            if name in self.levels_:
                total += weight * X[name].map(self.levels_[name]).to_numpy(dtype=float)
            else:
                total += weight * X[name].to_numpy(dtype=float) / self.spread_[name]
        return total

    def predict_proba(self, X: pd.DataFrame) -> Any:
        if self.log is not None:
            self.log.append(X.copy())
        p = 1 / (1 + np.exp(-(self._sum(X) - self.middle_)))
        return np.column_stack([1 - p, p])

    def predict(self, X: pd.DataFrame) -> Any:
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


# Random tables -----------------------------------------------------------------------------


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(120, 400))
    case = Case()
    _sensitive(case, n, rng)
    makers = [_dummies, _decimals, _hundreds, _whole_floats, _spiky, _words, _ordered, _real]
    for k in range(int(rng.integers(2, 6))):
        makers[int(rng.integers(len(makers)))](case, f"c{k}", n, rng)
    _constrain(case, n, rng)
    return case


def _sensitive(case: Case, n: int, rng: np.random.Generator) -> None:
    if rng.random() < 0.4:
        _group(case, "race", n, rng, dropped=False)
        case.settings["sensitive_features"] = ["race"] if rng.random() < 0.5 else ["race_l0"]
    else:
        case.table["sex"] = rng.choice(["f", "m"], size=n)
        case.settings["sensitive_features"] = ["sex"]
        case.checks["sex"] = lambda rows: rows["sex"].isin(["f", "m"])


def _group(case: Case, name: str, n: int, rng: np.random.Generator, *, dropped: bool) -> None:
    k = int(rng.integers(3, 6))
    level = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    dtype = [bool, np.uint8, np.int64, np.float64][int(rng.integers(4))]
    columns = [f"{name}_l{i}" for i in range(int(dropped), k)]
    for i, column in zip(range(int(dropped), k), columns, strict=True):
        case.table[column] = (level == i).astype(dtype)
    least = 0 if dropped else 1

    def holds(rows: pd.DataFrame) -> Any:
        part = rows[columns].astype(float)
        total = part.sum(axis=1)
        return part.isin([0.0, 1.0]).all(axis=1) & (total >= least) & (total <= 1)

    case.checks[name] = holds


def _dummies(case: Case, name: str, n: int, rng: np.random.Generator) -> None:
    _group(case, name, n, rng, dropped=bool(rng.random() < 0.4))


def _decimals(case: Case, name: str, n: int, rng: np.random.Generator) -> None:
    digits = int(rng.integers(1, 3))
    values = np.round(rng.normal(3, 1, size=n), digits)
    case.table[name] = values
    case.checks[name] = lambda rows: (
        (np.round(rows[name], digits) == rows[name])
        & rows[name].between(values.min(), values.max())
    )


def _hundreds(case: Case, name: str, n: int, rng: np.random.Generator) -> None:
    step = int(rng.choice([5, 50, 100, 1000]))
    values = step * rng.integers(3, 60, size=n)
    case.table[name] = values.astype(float) if rng.random() < 0.5 else values
    case.checks[name] = lambda rows: rows[name] % step == 0


def _whole_floats(case: Case, name: str, n: int, rng: np.random.Generator) -> None:
    case.table[name] = rng.integers(18, 70, size=n).astype(float)
    case.checks[name] = lambda rows: (rows[name] == rows[name].round()) & rows[name].between(18, 70)


def _spiky(case: Case, name: str, n: int, rng: np.random.Generator) -> None:
    amounts = rng.choice(np.arange(1000, 90_000), size=6, replace=False) + 0.25
    values = np.where(rng.random(n) < 0.7, 0.0, rng.choice(amounts, size=n))
    case.table[name] = values
    known = set(values.tolist())
    case.checks[name] = lambda rows: rows[name].isin(known)


def _words(case: Case, name: str, n: int, rng: np.random.Generator) -> None:
    levels = ["cook", "driver", "teacher", "nurse"]
    case.table[name] = rng.choice(levels, size=n)
    case.checks[name] = lambda rows: rows[name].isin(levels)


def _ordered(case: Case, name: str, n: int, rng: np.random.Generator) -> None:
    case.table[name] = rng.integers(0, 12, size=n)
    case.checks[name] = lambda rows: rows[name].between(0, 11) & (rows[name] % 1 == 0)


def _real(case: Case, name: str, n: int, rng: np.random.Generator) -> None:
    values = rng.normal(size=n)
    case.table[name] = values
    case.checks[name] = lambda rows: rows[name].between(values.min(), values.max())


def _constrain(case: Case, n: int, rng: np.random.Generator) -> None:
    """Two columns that are tied, and perhaps one that follows from the sensitive value."""
    kind = int(rng.integers(8))
    low = rng.integers(0, 30, size=n)
    if kind == 0:
        case.table |= {"years": low, "age": low + rng.integers(15, 40, size=n)}
        case.constraints.append(Order("years", "<=", "age", offset=-15))
        case.checks["order"] = lambda rows: rows["years"] <= rows["age"] - 15
    elif kind == 1:
        case.table |= {"rent": 50.0 * low, "income": 100.0 * (low + rng.integers(1, 30, size=n))}
        case.constraints.append(Linear({"rent": 2.0, "income": -1.0}, "<", 0.0))
        case.checks["linear"] = lambda rows: 2 * rows["rent"] - rows["income"] < 0
    elif kind == 2:
        job = rng.choice(["none", "cook"], size=n)
        case.table |= {"job": job, "wage": np.where(job == "none", 0.0, np.round(low + 0.5, 1))}
        case.constraints.append(Implies({"job": "none"}, {"wage": 0.0}))
        case.checks["implies"] = lambda rows: (rows["job"] != "none") | (rows["wage"] == 0)
    elif kind == 3:
        pairs = [("Ulm", "BW"), ("Bonn", "NW"), ("Köln", "NW"), ("Kiel", "SH")]
        chosen = [pairs[i] for i in rng.integers(len(pairs), size=n)]
        case.table |= {"city": [c for c, _ in chosen], "state": [s for _, s in chosen]}
        case.constraints.append(Allowed(["city", "state"]))
        case.checks["allowed"] = lambda rows: pd.Series(
            [pair in pairs for pair in zip(rows["city"], rows["state"], strict=True)],
            index=rows.index,
        )
    elif kind == 4:
        case.table["hours"] = low + 1
        case.constraints.append(lambda rows: rows["hours"] % 7 != 0)
        case.table["hours"] = np.where(case.table["hours"] % 7 == 0, 1, case.table["hours"])
        case.checks["callable"] = lambda rows: rows["hours"] % 7 != 0
    elif kind == 5:
        case.table["hours"] = low
        case.constraints += [Is("hours", (5, None)), Is("hours", (None, 20))]
        case.table["hours"] = np.clip(low, 5, 20)
        case.checks["between"] = lambda rows: rows["hours"].between(5, 20)
    if "sex" in case.table and rng.random() < 0.5:
        births = np.where(case.table["sex"] == "m", 0, rng.integers(0, 5, size=n))
        case.table["births"] = births
        case.given = {"sex": {"m": {"births": 0}}}
        case.checks["given"] = lambda rows: (rows["sex"] != "m") | (rows["births"] == 0)


# The test ----------------------------------------------------------------------------------

AUDITORS = [RandomAuditor, SBFTAuditor, SurrogateAuditor, AequitasAuditor, ThemisAuditor]


def run_case(seed: int) -> tuple[int, int]:
    """Audit a random space; rows that the model was asked, and inputs found."""
    case = random_case(seed)
    rng = np.random.default_rng(seed + 10**6)
    X = pd.DataFrame(case.table)
    log: list[pd.DataFrame] = []
    model = Witness(log, seed).fit(X)
    auditor = AUDITORS[seed % len(AUDITORS)](
        model,
        max_queries=int(rng.integers(100, 800)),
        max_time=20,
        random_state=seed,
        **in_space(
            {
                "constraint": case.constraints or None,
                "twins": case.given or None,
                "proposals": str(rng.choice(["uniform", "data"])),
                "plausible": "auto" if rng.random() < 0.1 else None,
                **case.settings,
            }
        ),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NoDisparityWarning)
        auditor.fit(X)
    asked = pd.concat(log)
    assert auditor.n_queries_ == len(asked)
    for tables in (asked, auditor.discriminatory_inputs_, auditor.counterfactuals_):
        assert list(tables.columns) == list(X.columns)
        for name, check in case.checks.items():
            holds = np.asarray(check(tables))
            assert holds.all(), (seed, type(auditor).__name__, name, tables[~holds].head(3))
    for column in X.columns:
        assert asked[column].dtype == X[column].dtype, (seed, column)
    return len(asked), auditor.n_found_


@slow_sample
@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.slow) for first in (10, 20, 30))]
)
def test_rows_that_are_asked_can_exist(first):
    asked, found = np.sum([run_case(seed) for seed in range(first, first + 10)], axis=0)
    assert asked > 1000
    assert found > 20


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2000, 50))
def test_rows_of_a_thousand_spaces_can_exist(first):
    for seed in range(first, first + 50):
        run_case(seed)


@slow_sample
def test_the_checks_can_fail():
    """Each check refuses rows that its table cannot hold."""
    refused = set()
    for seed in range(60):
        case = random_case(seed)
        X = pd.DataFrame(case.table)
        for name, check in case.checks.items():
            assert np.asarray(check(X)).all(), (seed, name)
        rng = np.random.default_rng(seed)
        mixed = pd.DataFrame(
            {
                name: rng.permutation(X[name].to_numpy())
                if X[name].dtype.kind not in "f"
                else rng.uniform(X[name].min() - 1, X[name].max() + 1, size=len(X))
                for name in X
            }
        )
        refused |= {
            name for name, check in case.checks.items() if not np.asarray(check(mixed)).all()
        }
    tied = {"race", "order", "linear", "implies", "allowed", "given", "c0", "c1"}
    assert tied <= refused
