"""Readers of fitted models: an open registry, of which certificates and `supports` ask everything.

A reader says which models are its own, refuses settings that are not understood, fitted or not, and
reads a fitted model into the graph (`graph`). A model of one piece has a `read`; of a model around
others the reader says which these are (`members`) and what is made of their outputs (`combine`).
There is one file a library or a kind of model; `_readers` lists those of this package, and
`register` adds another one. Nothing else asks what a model is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Ints
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._own_steps import TakeColumns
from skfairtest.whitebox._steps import HINT, MIXING, check_kind
from skfairtest.whitebox._unsupported import OWN_CODE, SEARCH, Unsupported
from skfairtest.whitebox._unwrap import unwrap
from skfairtest.whitebox.graph import Node, RestrictedGraphs

#: The nearest alternative to a model that no reader takes, by the name of its class.
_TREES = "A forest or gradient boosting, such as HistGradientBoosting, is as flexible."
_LINEAR = "LogisticRegression has a linear decision boundary, too."
_TARGETS = "MultiOutputClassifier or MultiOutputRegressor fits one model for each target."
NEAREST = {
    "AdaBoostClassifier": "GradientBoostingClassifier boosts trees, too.",
    "AdaBoostRegressor": "GradientBoostingRegressor boosts trees, too.",
    "Booster": "Fit the wrapper that has scikit-learn's methods: XGBClassifier or XGBRegressor, "
    "LGBMClassifier or LGBMRegressor.",
    "ClassifierChain": _TARGETS,
    "GaussianNB": _LINEAR,
    "GaussianProcessClassifier": _TREES,
    "GaussianProcessRegressor": _TREES,
    "KNeighborsClassifier": _TREES,
    "KNeighborsRegressor": _TREES,
    "KernelRidge": _TREES,
    "NeuralNet": "MLPClassifier and MLPRegressor are networks, too.",
    "NuSVC": "Use SVC(kernel='linear') or LinearSVC.",
    "NuSVR": "Use SVR(kernel='linear') or LinearSVR.",
    "OneVsOneClassifier": "Use OneVsRestClassifier.",
    "OutputCodeClassifier": "Use OneVsRestClassifier.",
    "QuadraticDiscriminantAnalysis": _TREES,
    "RadiusNeighborsClassifier": _TREES,
    "RadiusNeighborsRegressor": _TREES,
    "RegressorChain": _TARGETS,
}
KINDS = (
    "Linear models, trees, forests, gradient and explainable boosting, and networks can be "
    "certified, and models around these that calibrate, stack, average or transform the target."
)


class Member(NamedTuple):
    """A model inside of another one, and what it is asked for.

    - `columns`: the columns that it is shown; None: all.
    """

    model: Any
    response: str
    columns: Ints | None = None


@dataclass(frozen=True)
class Reader:
    """What reads one kind of model.

    `response` is "regression", "predict_proba" or "decision_function"; of a model that is asked for
    "labels" nothing is read, so that only its kind is checked.

    - `reads(model)`: whether a model, fitted or not, is of this kind; libraries that may not be
      installed are recognised by the names of modules and classes.
    - `check(model, response, steps)`: raises `Unsupported` for code and settings that are not
      understood; `steps` stand before the model, which may be unfitted.
    - `read(model, chain, response)`: the outputs of a fitted model behind a chain of steps: one for
      each target or class, of two classes that of the second.
    - `members(model, response)`: the models inside, fitted or those that it will fit.
    - `combine(model, response, outputs)`: what `read` would give, from the outputs of these.
    - `mixes`: whether its first act is a linear map, so that steps before it may mix columns.
    - `outermost`: whether it may not stand inside of another model.
    """

    reads: Callable[[Any], bool]
    check: Callable[[Any, str, list[Any]], None]
    read: Callable[[Any, Chain, str], Sequence[Node]] | None = None
    members: Callable[[Any, str], list[Member]] | None = None
    combine: Callable[[Any, str, list[list[Node]]], list[Node]] | None = None
    mixes: bool = False
    outermost: bool = False


_READERS: list[Reader] = []


def register(reader: Reader) -> None:
    """Add a reader, which is asked before those that were added earlier."""
    _READERS.insert(0, reader)


def reader_of(model: Any) -> Reader:
    """What reads a model.

    - `Unsupported`: if nothing does.
    """
    for reader in _READERS:
        if reader.reads(model):
            return reader
    name = type(model).__name__
    known = [base.__name__ for base in type(model).__mro__ if base.__name__ in NEAREST]
    instead = NEAREST[known[0]] if known else KINDS
    raise Unsupported(f"{name} cannot be certified.", f"{instead} {SEARCH}")


@dataclass
class Graph:
    """A model as it was read.

    - `steps`, `model`: as pipelines and wrappers were taken apart.
    - `outputs`: what it computes.
    - `inside`: the models inside, read.
    """

    steps: list[Any]
    model: Any
    response: str
    outputs: list[Node]
    inside: list[Graph] = field(default_factory=list)

    def over(self, moved: RestrictedGraphs) -> Graph:
        """The same over another space."""
        inside = [graph.over(moved) for graph in self.inside]
        return replace(self, outputs=list(map(moved, self.outputs)), inside=inside)


class Readings:
    """Models that were read, each once: for all sensitive attributes, and all parts of a domain."""

    def __init__(self) -> None:
        self._known: list[tuple[Any, str, InputSpace, Graph]] = []

    def read(self, estimator: Any, space: InputSpace, response: str) -> Graph:
        """Read a model over a space, unless that was done for one with the same columns."""
        for known, asked, other, graph in self._known:
            if known is estimator and asked == response and _has_columns_of(space, other):
                return graph.over(RestrictedGraphs(space))
        graph = read_model(estimator, Chain(space), response)
        self._known.append((estimator, response, space, graph))
        return graph


def _has_columns_of(space: InputSpace, other: InputSpace) -> bool:
    """Whether two spaces have the same columns: encoded values stand for the same."""
    if space.feature_names != other.feature_names:
        return False
    one, two = space.domain, other.domain
    ends = ("low", "high", "largest_code", "discrete", "single")
    if not all(np.array_equal(getattr(one, end), getattr(two, end)) for end in ends):
        return False
    # All values of columns of few, and as many of others.
    n = 1 + int(min(2_000, np.max(one.high - one.low, initial=0)))
    steps = np.arange(n)[:, None]
    encoded = one.clip(np.minimum(one.low + steps, one.high))
    encoded = np.concatenate([encoded, one.draw(n, np.random.default_rng(0))])
    first, second = space.decode(encoded), other.decode(encoded)
    if isinstance(first, np.ndarray):
        return np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
    return bool(first.equals(second)) and list(first.dtypes) == list(second.dtypes)


def read_model(estimator: Any, chain: Chain, response: str) -> Graph:
    """Read a fitted model, a pipeline or a wrapper.

    - `ValueError`: if it is not understood.
    """
    chain, model = chain.open(estimator)
    reader = reader_of(model)
    if reader.members is None or reader.combine is None:
        assert reader.read is not None
        return Graph(chain.steps, model, response, list(reader.read(model, chain, response)))
    inside = []
    # Members that are shown the same columns share what is worked out of them.
    chains: dict[bytes, Chain] = {}
    for member in reader.members(model, response):
        own = chain
        if member.columns is not None:
            key = member.columns.tobytes()
            own = chains.setdefault(key, chain.then(TakeColumns(member.columns)))
        inside.append(read_model(member.model, own, member.response))
    outputs = reader.combine(model, response, [graph.outputs for graph in inside])
    return Graph(chain.steps, model, response, outputs, inside)


def check_model(estimator: Any, response: str, before: Sequence[Any] = ()) -> None:
    """See that a model, fitted or not, and all steps before it can be read.

    - `response`: as of `Reader`, or "unknown".
    - `before`: steps before it, which have been checked by themselves.
    - `Unsupported`: if they cannot.
    """
    steps, model = unwrap(estimator, HINT)
    also = MIXING if _mixes(model, response) else ()
    for step in steps:
        check_kind(step, OWN_CODE, also)
    reader = reader_of(model)
    steps = [*before, *steps]
    reader.check(model, response, steps)
    for member in [] if reader.members is None else reader.members(model, response):
        check_model(member.model, response if response == "labels" else member.response, steps)
        inner = unwrap(member.model, HINT)[1]
        if reader_of(inner).outermost:
            name, own = type(model).__name__, type(inner).__name__
            what = ", an average of averages," if reader.outermost else ""
            raise Unsupported(
                f"{own} in {name}{what} cannot be certified.",
                "Name all columns in the sensitive_features of one of them."
                if reader.outermost
                else "Marginalize the whole model instead.",
            )


def _mixes(model: Any, response: str) -> bool:
    """Whether the first act of a model, or of all models inside of it, is a linear map."""
    try:
        reader = reader_of(model)
        if reader.members is None or reader.outermost:
            return reader.mixes
        inside = reader.members(model, response)
    except Unsupported:
        return False
    return bool(inside) and all(
        _mixes(unwrap(member.model, HINT)[1], member.response) for member in inside
    )
