"""The types of skfairtest that `skops.io.load` may trust when it loads auditors and scorers.

A file in the skops format describes objects, and loading it runs no code from the file. The reader
says which types it trusts. `TRUSTED_TYPES` lists the types of skfairtest, and the pipeline of
imbalanced-learn that `FairnessAugmenter` is a step of, and no others, so that a file with any other
type in it is still refused.

Skops does not trust every model inside an auditor (not trees, whose files can crash a process). If
you trust the file, add the model's types yourself: ``[*TRUSTED_TYPES, "my_package.MyModel"]``.

Examples
--------
>>> import skops.io
>>> from skfairtest import RandomAuditor
>>> from skfairtest.datasets import make_biased_regression
>>> from skfairtest.io import TRUSTED_TYPES
>>> data = make_biased_regression(random_state=0)
>>> auditor = RandomAuditor(data.estimator, max_queries=500, random_state=0).fit(data.data)
>>> again = skops.io.loads(skops.io.dumps(auditor), trusted=TRUSTED_TYPES)
>>> again.fairness_degree_ == auditor.fairness_degree_
True
"""

from __future__ import annotations

import copy
import inspect
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from typing import Any

from sklearn.base import BaseEstimator

__all__ = ["TRUSTED_TYPES", "without_requests"]

#: Names of the types of skfairtest, to be passed as ``trusted=`` to ``skops.io.load``. If a model
#: of your own was audited, add its type: ``[*TRUSTED_TYPES, "my_package.MyModel"]``. It is a tuple,
#: so that nobody changes what all other code in the process trusts.
TRUSTED_TYPES: tuple[str, ...]


def without_requests(estimator: Any) -> Any:
    """Return a copy of a fitted estimator that requests no metadata, so that skops can write it.

    Since scikit-learn 1.8 a request for metadata (``set_fit_request(sample_weight=True)``) holds
    the estimator that holds it. skops, up to 0.16 at least, follows that circle until it fails
    with a RecursionError; with earlier versions it does not trust the request. A model that only
    predicts has no use for it.

    Parameters
    ----------
    estimator : estimator
        A model, pipeline, search or auditor; whatever estimators it holds lose their requests, too.

    Returns
    -------
    estimator
        The copy. It predicts the same. To train it with weights again, set the requests anew.

    Examples
    --------
    >>> import sklearn
    >>> import skops.io
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfairtest.io import without_requests
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     model = LogisticRegression().set_fit_request(sample_weight=True)
    >>> model = model.fit([[0], [1]], [0, 1], sample_weight=[1, 2])
    >>> again = skops.io.loads(skops.io.dumps(without_requests(model)))
    >>> again.predict([[0], [1]]).tolist() == model.predict([[0], [1]]).tolist()
    True
    """
    copied = copy.deepcopy(estimator)
    waiting, seen = [copied], set()
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, BaseEstimator):
            # The name by which `sklearn.base.clone` hands requests on.
            vars(thing).pop("_metadata_request", None)
            waiting += vars(thing).values()
        elif isinstance(thing, dict):
            waiting += thing.values()
        elif isinstance(thing, (list, tuple)):
            waiting += thing
    return copied


def __getattr__(name: str) -> Any:
    # At the first use: the types are worked out from packages that take time to import.
    if name == "TRUSTED_TYPES":
        return _trusted_types()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _trusted_types() -> tuple[str, ...]:
    """List the public classes, what these hold, the labelers, and where a sampler stands.

    The annotations of the attributes and parameters of a class tell which types it holds.
    """
    from imblearn.pipeline import Pipeline

    from skfairtest import (
        exact,
        group,
        individual,
        mitigation,
        model_selection,
        report,
        testing,
        transports,
    )
    from skfairtest.datasets._comments import KnownTextClassifier
    from skfairtest.datasets._known import KnownClassifier, KnownRegressor
    from skfairtest.mitigation._held_columns import HeldColumns
    from skfairtest.mitigation._labelers import LABELERS
    from skfairtest.space import _constraints
    from skfairtest.space._space import InputSpace

    packages = [
        exact, group, individual, mitigation, model_selection, report, testing, transports,
    ]  # fmt: skip
    # With what public functions return, which has its place beside them.
    public = [
        getattr(package, name)
        for package in packages
        for name in {*package.__all__, *vars(package)}
        if not name.startswith("_")
    ]
    found: dict[type, None] = {}
    waiting: list[type] = [
        InputSpace,
        HeldColumns,  # in front of a model that a search has found
        # Models that the generators of data make.
        KnownClassifier,
        KnownRegressor,
        KnownTextClassifier,
        *(getattr(_constraints, name) for name in _constraints.__all__),
        *(
            value
            for value in public
            if inspect.isclass(value) and value.__module__.startswith("skfairtest.")
        ),
    ]
    while waiting:
        cls = waiting.pop()
        if cls not in found:
            found[cls] = None
            waiting += _held(cls)
    # A sampler works in the pipeline of its library alone; skops knows only that of scikit-learn.
    named: list[Any] = [*found, *LABELERS.values(), Pipeline]
    return tuple(sorted(f"{thing.__module__}.{thing.__qualname__}" for thing in named))


def _held(cls: Any) -> Iterator[type]:
    """Yield the classes of the package that an object of a class may hold."""
    from skfairtest.space._space import InputSpace

    hints = [*typing.get_type_hints(cls).values()]
    own = [cls._set] if cls is InputSpace else []  # its parts, which are set at once
    if inspect.isfunction(cls.__init__) and not is_dataclass(cls):
        own.append(cls.__init__)
    for function in own:
        hints += typing.get_type_hints(function).values()
    while hints:
        hint = hints.pop()
        hints += typing.get_args(hint)
        if inspect.isclass(hint) and hint.__module__.startswith("skfairtest."):
            yield hint
            hints += hint.__subclasses__()
