"""What was audited and with what: model, data, domain, versions, and the code that repeats it."""

from __future__ import annotations

import datetime as dt
import inspect
import math
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pandas as pd

from skfairtest.base import BaseAuditor
from skfairtest.oracle._favourable import joined_labels, known_classes
from skfairtest.report._context import AuditContext
from skfairtest.report._types import (
    ReportedAttribute,
    ReportedData,
    ReportedDomain,
    ReportedFavourable,
    ReportedModel,
)


def describe_model(context: AuditContext) -> ReportedModel:
    """The model: its class, its last step, its parameters."""
    estimator = context.estimator
    steps = getattr(estimator, "steps", None)
    final = steps[-1][1] if isinstance(steps, list) and steps else estimator
    classes = known_classes(estimator)
    text = repr(estimator)
    most = 3000  # characters: a pipeline prints all that its steps were given
    return ReportedModel(
        class_=type(estimator).__name__,
        final=type(final).__name__,
        repr=text if len(text) <= most else text[:most] + " ...",
        task=context.task,
        response=context.response,
        n_classes=None if classes is None else len(classes),
        classes=[] if classes is None else [str(name) for name in classes[:20]],
    )


def describe_data(context: AuditContext) -> ReportedData:
    """The table."""
    space = context.space
    one = space.decode(space.data[:1])
    dtypes = list(map(str, one.dtypes)) if isinstance(one, pd.DataFrame) else []
    return ReportedData(
        len(space.data), len(space.layout.container.names), context.y is not None, dtypes
    )


def describe_favourable(context: AuditContext, found: str) -> ReportedFavourable:
    """Which predictions were taken as favourable, and how that came; `found` is the table's."""
    taken = context.favourable
    if taken is None:  # the labels of a model without classes are known when it has predicted
        words = f"{found} taken as favourable, the last of the labels that occur" if found else ""
        return ReportedFavourable(found, "guessed" if found else "", words)
    labels, words = joined_labels(taken.labels), taken.sentence
    if context.task == "regression":
        what = "a larger mean output" if labels == "mean" else f"outputs of at least {labels}"
        words = f"{what} taken as favourable"
    return ReportedFavourable(labels, taken.how, words)


def describe_domain(context: AuditContext) -> ReportedDomain:
    """Which inputs exist."""
    table = context.space.describe()
    attributes = [ReportedAttribute(*row) for row in table.itertuples(index=False)]
    return ReportedDomain(attributes, list(context.space.conditions))


def versions() -> dict[str, str]:
    """Versions of what the figures depend on."""
    found = {"python": platform.python_version()}
    for name in ("skfairtest", "scikit-learn", "numpy", "pandas"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a checkout that is not installed
            found[name] = "unknown"
    return found


def repeating_code(template: BaseAuditor, given: dict[str, Any]) -> str:
    """Lines of Python that make the same report from the same model and table.

    What no text makes, such as a function, has a name there, which a comment lists.
    """
    code, names = _Code(), given["sensitive_features"]
    own = "sensitive_features"
    words = {own: code.name(own) if names is None else code.of(own, names)}
    changed = [name for name, default in DEFAULTS.items() if given[name] is not default]
    words |= {name: code.of(name, given[name]) for name in changed}
    if given["auditor"] is not None:
        is_name = isinstance(given["auditor"], str)
        words["auditor"] = code.of("auditor", given["auditor"] if is_name else template)
    target = "" if given["y"] is None else " y,"
    lines = ",\n".join(f"    {name}={value}" for name, value in words.items())
    imports = "".join(
        f"from {module} import {', '.join(sorted(found))}\n"
        for module, found in sorted(code.imports.items())
    )
    yours = f"# As the audit was given them: {', '.join(code.names)}.\n" if code.names else ""
    return f"{imports}\n{yours}report = audit(\n    model, X,{target}\n{lines},\n)\n"


#: What `audit` takes where nothing is given.
DEFAULTS: dict[str, Any] = {
    "control_features": None, "threshold": None, "certify": "auto", "groups": "auto", "moved": True,
    "favourable": None, "limits": None, "max_time": 60, "random_state": None,
}  # fmt: skip


class _Code:
    """Writes values as Python, and notes what that needs."""

    def __init__(self) -> None:
        self.imports = {"skfairtest": {"audit"}}
        self.names: list[str] = []

    def name(self, name: str) -> str:
        """The name of a value that no text makes: the user's own."""
        self.names.append(name)
        return name

    def of(self, name: str, value: Any) -> str:
        if isinstance(value, (dt.date, np.datetime64, dt.timedelta, np.timedelta64)):
            is_date = isinstance(value, (dt.date, np.datetime64))
            made: Any = pd.Timestamp if is_date else pd.Timedelta
            self.imports.setdefault("pandas", set()).add(made.__name__)
            return repr(made(value))
        if isinstance(value, (np.generic, np.ndarray, pd.Series, pd.Index)):
            value = value.tolist()
        if isinstance(value, float) and not math.isfinite(value):
            return f"float('{value}')"
        if isinstance(value, (str, bool, int, float, bytes, type(None))):
            return repr(value)
        if isinstance(value, dict):
            code = ", ".join(f"{self.of(name, k)}: {self.of(name, v)}" for k, v in value.items())
            return f"{{{code}}}"
        if isinstance(value, (list, tuple, set, frozenset)):
            code = f"[{', '.join(self.of(name, one) for one in value)}]"
            if isinstance(value, tuple) and len(value) > 1:
                return f"({code[1:-1]})"
            return code if isinstance(value, list) else f"{type(value).__name__}({code})"
        cls = type(value)
        if not (hasattr(value, "get_params") or cls.__module__.startswith("skfairtest.")):
            return self.name(getattr(value, "__name__", "<lambda>").replace("<lambda>", name))
        # From the package itself, where it has the class, or from its public folder.
        package, module = cls.__module__.partition(".")[0], cls.__module__.partition("._")[0]
        has_it = getattr(sys.modules[package], cls.__name__, None) is cls
        self.imports.setdefault(package if has_it else module, set()).add(cls.__name__)
        params = {key: one.default for key, one in inspect.signature(cls).parameters.items()}
        for key in ("estimator", "sensitive_features"):  # `audit` sets them
            params.pop(key, None)
        own = {key: getattr(value, key, None) for key in params}
        changed = [key for key in params if repr(own[key]) != repr(params[key])]
        return f"{cls.__name__}({', '.join(f'{key}={self.of(key, own[key])}' for key in changed)})"
