"""What the attacks share: each input of a small domain is put to the model by the test itself.

`holds` and `refused` are the two ways in which an attack may end. The tables that the model is
asked about are made here, of values that a test lists or of those in its table, by code that shares
nothing with the package.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from clocks import CLOCK
from searches import get_to_know, handle_of

from skfairtest import CertifiedAuditor, InputSpace
from skfairtest.exact._bounding import close
from skfairtest.exact._dispatch import read_verifier
from skfairtest.exact._verifier import BoundHistory, SolverLimits
from skfairtest.whitebox._readers import check_model

#: What a certificate's bounds may differ by, as in the package.
RTOL = 1e-9
#: Seconds by the tests' clock of a gap that has to close, and of one that may stay open.
LONG, SHORT = 60.0, 0.3
#: Modules that may look at all inputs of a small domain instead of asking a verifier.
ENUMERATING = ("_all_inputs", "_composition", "_dispatch", "_bounding")


class Attacks:
    """The attacks of a module, each kept with the assumption that it breaks.

    What is decorated by ``@attack("what a reader takes for granted")`` is one; `each` makes the
    module's test of them.
    """

    def __init__(self) -> None:
        self.known: dict[str, tuple[str, Callable[[], Any], list[Any]]] = {}

    def __call__(
        self, assumption: str, library: str | None = None, *, wrong: str | None = None
    ) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
        """Keep an attack; `wrong` says why one succeeds that ought to fail."""
        marks = [] if library is None else [pytest.mark.services(library)]
        if wrong is not None:
            marks.append(pytest.mark.xfail(strict=True, reason=wrong, raises=AssertionError))

        def keep(function: Callable[[], Any]) -> Callable[[], Any]:
            self.known[function.__name__] = assumption, function, marks
            return function

        return keep

    def each(self) -> Any:
        """Parametrize a test by all attacks, under their names."""
        return pytest.mark.parametrize(
            "attack",
            [
                pytest.param(function, id=name, marks=marks)
                for name, (_, function, marks) in self.known.items()
            ],
        )


class Outcome(NamedTuple):
    """What was found of a model: the degree that it confirmed, the bound, and the degree there is.

    `verifier` is the model as it was read, and `tolerance` what its single precision leaves open.
    """

    degree: float
    upper: float
    certified: bool
    truth: float
    verifier: Any
    tolerance: float


def verifiers_alone(patch: Any) -> None:
    """Take from the package what looks at all inputs of a small domain, for one test."""
    for name in ENUMERATING:
        module = importlib.import_module(f"skfairtest.exact.{name}")
        if hasattr(module, "MOST_INPUTS"):
            patch.setattr(module, "MOST_INPUTS", 0)


def bounded(model: Any, X: Any, sensitive: Any, response_method: str, seconds: float, space: Any):
    """Read a model and bound it by its verifier alone, without a search before it."""
    space = space.fit(X, sensitive if isinstance(sensitive, list) else [sensitive])
    with pytest.MonkeyPatch.context() as patch:
        verifiers_alone(patch)
        search = handle_of(model, space, response_method=response_method)
        check_model(model, search.response)
        rng = np.random.default_rng(0)
        get_to_know(search, space.data[:64], rng)
        verifier, _ = read_verifier(model, space.relax_descendants(), search.response, False, rng)
        history = BoundHistory(CLOCK.now)
        closed = close(search, verifier, SolverLimits(CLOCK.now() + seconds, RTOL), history)
    return closed, verifier, search, space


def holds(
    model: Any,
    X: Any,
    sensitive: Any = "s",
    *,
    values: Any = None,
    exact: bool = True,
    response_method: str = "auto",
    valid: Any = None,
    compares: bool = True,
    zero: bool = False,
    **space: Any,
) -> Outcome:
    """See that no input shows more than the bound, and that what is certified is the degree.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : table
        What the space is learned from.
    sensitive : str, int or list of these
        The sensitive columns.
    values : dict of column to list, default=None
        Values of columns whose domain is not that of the table. A tuple of columns has tuples.
    exact : bool, default=True
        Whether the gap has to close.
    response_method : str, default="auto"
        How the model is asked.
    valid : callable, default=None
        Which rows of a table exist; None: all.
    compares : bool, default=True
        Whether what was read is compared with the model on all of these rows.
    zero : bool, default=False
        Whether it is right that twins never differ.
    **space
        Parameters of the `InputSpace`.
    """
    closed, verifier, search, fitted = bounded(
        model, X, sensitive, response_method, LONG if exact else SHORT, InputSpace(**space)
    )
    bounds = closed.bounds
    table, width = every_input(X, sensitive, values or {})
    shown = outputs(model, table, search.response)
    truth = largest(shown, width, None if valid is None else np.asarray(valid(table)))
    assert zero or truth > 0, "the attack shows nothing"
    tolerance = getattr(verifier, "single_tolerance", lambda top: 0.0)(float(np.abs(shown).max()))
    assert truth <= bounds.upper * (1 + 1e-12), f"{truth!r} is above the bound {bounds.upper!r}"
    assert bounds.lower <= bounds.upper
    if exact:
        assert bounds.certified, closed.reason
    if bounds.certified:
        assert bounds.upper - bounds.lower <= RTOL * bounds.upper + min(
            tolerance, 2e-3 * bounds.upper
        )
        assert bounds.lower >= truth * (1 - 2 * RTOL) - tolerance, (
            f"{bounds.lower!r}, but {truth!r}"
        )
    if compares and search.response != "labels":
        read = verifier.evaluate(fitted.encode(table))
        off = 1e-9 * np.abs(shown).max() + verifier.rounding + tolerance
        assert np.abs(read - shown).max() <= off
    return Outcome(bounds.lower, bounds.upper, bounds.certified, truth, verifier, tolerance)


def refused(
    model: Any, X: Any, words: str, sensitive: Any = "s", *, kind: Any = ValueError, **params: Any
) -> None:
    """See that an auditor refuses a model, in these words."""
    method = params.pop("response_method", "auto")
    auditor = CertifiedAuditor(
        model,
        sensitive_features=sensitive,
        response_method=method,
        max_queries=40,
        max_time=1.0,
        random_state=0,
        engine="numpy",
        space=InputSpace(**params),
    )
    with pytest.raises(kind, match=words):
        auditor.fit(X)


# Every input -------------------------------------------------------------------------------


def every_input(X: Any, sensitive: Any, values: Mapping[Any, Any]) -> tuple[Any, int]:
    """A table of all inputs, twins in consecutive rows, and how many twins there are."""
    own = sensitive if isinstance(sensitive, list) else [sensitive]
    names = columns_of(X)
    lists: dict[Any, list[Any]] = dict(values)
    listed = {name for key in lists for name in (key if isinstance(key, tuple) else (key,))}
    lists |= {name: values_of(column(X, name)) for name in names if name not in listed}
    # A column of a one-hot group means the group; sensitive values are the last ones to vary.
    audited = {key for key in lists if key in own or isinstance(key, tuple) and {*key} & {*own}}
    keys = sorted(lists, key=lambda key: key in audited)
    width = int(np.prod([len(lists[key]) for key in audited]))
    rows = list(itertools.product(*(lists[key] for key in keys)))
    columns: dict[Any, list[Any]] = {}
    for place, key in enumerate(keys):
        if isinstance(key, tuple):
            for k, name in enumerate(key):
                columns[name] = [row[place][k] for row in rows]
        else:
            columns[key] = [row[place] for row in rows]
    return table_like(X, columns), width


def columns_of(X: Any) -> list[Any]:
    """Names of the columns of a table; positions of those of an array."""
    return list(X.columns) if hasattr(X, "columns") else list(range(X.shape[1]))


def column(X: Any, name: Any) -> Any:
    """One column of a table."""
    return X[name] if hasattr(X, "columns") else X[:, name]


def values_of(values: Any) -> list[Any]:
    """All whole numbers in a range; of other columns the values that they have."""
    if hasattr(values, "to_list") and not isinstance(values, pd.Series):  # of polars
        return values.unique(maintain_order=True).to_list()
    if isinstance(values, np.ndarray):
        values = values.astype(values.dtype.newbyteorder("="))
    series = pd.Series(values)
    missing = [series[series.isna()].iloc[0]] if series.isna().any() else []
    present = series.dropna()
    if pd.api.types.is_integer_dtype(series.dtype):
        return [*range(int(present.min()), int(present.max()) + 1), *missing]
    return [*pd.unique(present), *missing]


def table_like(X: Any, columns: dict[Any, list[Any]]) -> Any:
    """A table of the kind of another one, with the same types of columns."""
    names = columns_of(X)
    if isinstance(X, np.ndarray):
        out = np.empty((len(columns[names[0]]), len(names)), dtype=X.dtype)
        for k, name in enumerate(names):
            out[:, k] = columns[name]
        return out
    if isinstance(X, pd.DataFrame):
        made = {name: pd.Series(columns[name], dtype=X[name].dtype) for name in names}
        return pd.DataFrame(made, columns=names)
    return type(X)({name: columns[name] for name in names}, schema=X.schema)


# What the model says -----------------------------------------------------------------------


def outputs(model: Any, table: Any, response: str) -> Any:
    """Outputs of a model, of shape (n, n_outputs); of two classes, those of the second one."""
    if response == "labels":
        labels = pd.factorize(np.asarray(model.predict(table)))[0]
        return (labels[:, None] == np.arange(labels.max() + 1)).astype(float)
    answer = getattr(model, "predict" if response == "regression" else response)(table)
    parts = answer if isinstance(answer, list) else [answer]
    shown = np.hstack(
        [np.asarray(part, dtype=np.float64).reshape(len(table), -1) for part in parts]
    )
    of_two = (
        response == "predict_proba" and shown.shape[1] == 2 and np.allclose(shown.sum(axis=1), 1)
    )
    return shown[:, 1:] if of_two else shown  # of two labels at once, both


def largest(shown: Any, width: int, valid: Any = None) -> float:
    """The largest difference of an output between twins, which are in consecutive rows."""
    valid = np.ones(len(shown), dtype=bool) if valid is None else valid
    high = np.where(valid[:, None], shown, -np.inf).reshape(-1, width, shown.shape[1])
    low = np.where(valid[:, None], shown, np.inf).reshape(-1, width, shown.shape[1])
    return float((high.max(axis=1) - low.min(axis=1)).max())


# Tables ------------------------------------------------------------------------------------


def numbers(seed: int = 0, n: int = 200) -> tuple[pd.DataFrame, Any]:
    """Whole numbers: 2 x 4 x 5 inputs, and a target in which they interact."""
    rng = np.random.default_rng(seed)
    sizes = {"s": 2, "a": 4, "b": 5}
    X = pd.DataFrame({name: rng.integers(0, size, n) for name, size in sizes.items()})
    y = X["s"] * np.sin(X["b"] * X["a"] + 1) + 0.4 * X["a"] - 0.3 * X["s"] * (X["b"] > 2)
    return X, (y + 0.2 * rng.normal(size=n)).to_numpy()


def reals(seed: int = 0, n: int = 200, low: float = 0.0, high: float = 4.0) -> Any:
    """A sensitive column of zeros and ones, a real one, and a target; as an array."""
    rng = np.random.default_rng(seed)
    s, v = rng.integers(0, 2, n), rng.uniform(low, high, n)
    wave = np.sin(5 * (v - low) / (high - low))
    return np.column_stack([s, v]), s * wave + 0.5 * wave + 0.1 * rng.normal(size=n)


def dense(low: float, high: float, n: int = 2001, *near: float) -> list[float]:
    """Numbers all along an interval, and those next to some of them."""
    around = [np.nextafter(x, side) for x in near for side in (-np.inf, np.inf)]
    found = np.unique([*np.linspace(low, high, n), *near, *around])
    return [float(x) for x in found if low <= x <= high]
