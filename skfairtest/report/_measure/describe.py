"""What was audited and with what: model, data, domain, versions, and the code that repeats it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pandas as pd

from skfairtest.base import BaseAuditor
from skfairtest.oracle._favourable import in_words, known_classes
from skfairtest.report._data import Attribute, Data, Domain, Favourable, Model
from skfairtest.report._measure.case import Case

#: Characters of a model's text, and classes, that are kept.
MOST_TEXT = 3000
MOST_CLASSES = 20
PACKAGES = ("skfairtest", "scikit-learn", "numpy", "pandas")


def describe_model(case: Case) -> Model:
    """The model: its class, its last step, its parameters."""
    estimator = case.estimator
    steps = getattr(estimator, "steps", None)
    final = steps[-1][1] if isinstance(steps, list) and steps else estimator
    classes = known_classes(estimator)
    text = repr(estimator)
    return Model(
        class_=type(estimator).__name__,
        final=type(final).__name__,
        repr=text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + " ...",
        task=case.task,
        response=case.response,
        n_classes=None if classes is None else len(classes),
        classes=[] if classes is None else [str(name) for name in classes[:MOST_CLASSES]],
    )


def describe_data(case: Case) -> Data:
    """The table."""
    space = case.space
    one = space.decode(space.data[:1])
    dtypes = list(map(str, one.dtypes)) if isinstance(one, pd.DataFrame) else []
    return Data(len(space.data), len(space.layout.container.names), case.y is not None, dtypes)


def describe_favourable(case: Case, found: str) -> Favourable:
    """Which predictions were taken as favourable, and how that came; `found` is the table's."""
    taken = case.favourable
    if taken is None:  # the labels of a model without classes are known when it has predicted
        words = f"{found} taken as favourable, the last of the labels that occur" if found else ""
        return Favourable(found, "guessed" if found else "", words)
    labels, words = in_words(taken.labels), taken.words
    if case.task == "regression":
        what = "a larger mean output" if labels == "mean" else f"outputs of at least {labels}"
        words = f"{what} taken as favourable"
    return Favourable(labels, taken.how, words)


def describe_domain(case: Case) -> Domain:
    """Which inputs exist."""
    table = case.space.describe()
    attributes = [Attribute(*row) for row in table.itertuples(index=False)]
    return Domain(attributes, list(case.space.conditions))


def versions() -> dict[str, str]:
    """Versions of what the figures depend on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a checkout that is not installed
            found[name] = "unknown"
    return found


def repeating_code(template: BaseAuditor, given: dict[str, Any]) -> str:
    """Lines of Python that make the same report from the same model and table.

    Values of sensitive features that are no columns of the table have a name there as it has.
    """
    names = given["sensitive_features"]
    told = "sensitive_features" if names is None else repr([_short(name) for name in names])
    words = {"sensitive_features": told}
    imports = {"skfairtest": {"audit"}}
    for name in (
        "threshold", "certify", "groups", "moved", "favourable", "max_time", "random_state",
    ):  # fmt: skip
        value = given[name]
        if value is not DEFAULTS.get(name):
            words[name] = repr(value)
            if hasattr(value, "get_params"):
                _add_import(imports, type(value))
    if given["auditor"] is not None:
        words["auditor"] = repr(given["auditor"])
        if isinstance(given["auditor"], BaseAuditor):
            _add_import(imports, type(template))
    target = "" if given["y"] is None else " y,"
    lines = ",\n".join(f"    {name}={value}" for name, value in words.items())
    told_imports = "".join(
        f"from {module} import {', '.join(sorted(found))}\n"
        for module, found in sorted(imports.items())
    )
    return f"{told_imports}\nreport = audit(\n    model, X,{target}\n{lines},\n)\n"


def _add_import(imports: dict[str, set[str]], cls: type) -> None:
    """Note from which module a class is imported: of this package, from its public folder."""
    imports.setdefault(cls.__module__.partition("._")[0], set()).add(cls.__name__)


DEFAULTS: dict[str, Any] = {
    "threshold": None, "certify": "auto", "groups": "auto", "moved": "auto", "favourable": None,
}  # fmt: skip


def _short(value: Any) -> Any:
    """Names of columns without NumPy's types around them."""
    return value.item() if isinstance(value, np.generic) else value
