"""Declare each parameter of an estimator once: its type, default, valid values, description."""

from __future__ import annotations

import inspect
import numbers
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, dataclass_transform

from skfairtest._typing import is_real

#: Sections of a docstring that a class shares with its bases, and their entries by names.
TITLES = ("Parameters", "Attributes")

Entries = dict[tuple[str, ...], str]


def checked(*, default: Any, check: Callable[[str, Any], None]) -> Any:
    """Declare a parameter that `fit` checks: ``check(name, value)`` raises for a bad value."""
    return field(default=default, metadata={"check": check})


def whole(*, default: int | None, least: int, optional: bool = False) -> Any:
    """Declare a whole number; it may be None where that is the default, or `optional`."""
    none = "None or " if optional or default is None else ""

    def check(name: str, value: Any) -> None:
        if value is not None or not none:
            check_whole(name, value, least, none)

    return checked(default=default, check=check)


def real(*, default: float, interval: str, hint: str = "") -> Any:
    """Declare a number in an interval, which is written as in mathematics: ``"[0, 1)"``."""
    return checked(
        default=default, check=lambda name, value: check_real(name, value, interval, hint)
    )


def check_n_jobs(name: str, value: Any) -> None:
    """Check a number of jobs, as scikit-learn counts them."""
    if value is not None and not (_is_whole(value) and value):
        raise ValueError(
            f"{name} must be None or a whole number other than 0; got {value!r}. 2 runs two jobs "
            "at a time, -1 as many as there are cores."
        )


def check_verbose(name: str, value: Any) -> None:
    """Check how much is printed: a whole number of at least 0, or True or False."""
    if not isinstance(value, bool):
        check_whole(name, value, least=0)


def one_of(*, default: str, options: Sequence[str]) -> Any:
    """Declare a choice among words."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, str) or value not in options:
            raise ValueError(
                f"{name} must be one of {list(options)}; got {value!r}. Choose one of them."
            )

    return checked(default=default, check=check)


@dataclass_transform(
    kw_only_default=True, eq_default=False, field_specifiers=(field, checked, whole, real, one_of)
)
class DeclaredParameters:
    """Base of estimators whose parameters are annotated attributes with defaults.

    A subclass adds its own parameters to those of its bases; the constructor takes all of them, and
    the docstring describes all of them, with the attributes that the bases describe.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in cls.__dict__.get("__annotations__", {}):
            if not hasattr(cls, name):
                raise TypeError(
                    f"{cls.__name__}.{name} is annotated and has no default. Annotated attributes "
                    "of the class are its parameters, and each needs a default. Annotate a fitted "
                    "attribute where fit sets it."
                )
        described = "__doc__" in cls.__dict__
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        if described and cls.__doc__:  # python -OO leaves none
            complete_docstring(cls)

    def _check_declared(self) -> None:
        """Check each parameter by itself, in the order of the declarations."""
        for declared in fields(self):  # type: ignore[arg-type]
            if "check" in declared.metadata:
                declared.metadata["check"](declared.name, getattr(self, declared.name))

    def _with_params_alone(self: Any, **others: Any) -> Any:
        """Make an estimator that was never fitted, with these parameters, some of them others."""
        params = self.get_params(deep=False)
        return type(self)(**{name: others.get(name, value) for name, value in params.items()})

    def __sklearn_clone__(self) -> Any:
        other = super().__sklearn_clone__()  # type: ignore[misc]
        for declared in fields(self):  # type: ignore[arg-type]
            # A fitted space is a description of inputs, which goes with who was given it.
            as_parameter = getattr(getattr(self, declared.name), "_clone_as_parameter", None)
            if as_parameter is not None:
                setattr(other, declared.name, as_parameter())
        return other

    def _replace_results(self, results: dict[str, Any]) -> None:
        """Put the results of a fit in place of those of an earlier one."""
        others = {name: value for name, value in vars(self).items() if not is_result(name)}
        # In one step, so that Ctrl-C comes before it or after it.
        self.__dict__ = others | results


def is_result(name: str) -> bool:
    """Tell by the name of an attribute whether it is a result of fit."""
    return name.endswith("_") and not name.startswith("_")


def check_instance(name: str, value: Any) -> None:
    """Raise TypeError for a class in place of an estimator."""
    if isinstance(value, type):
        raise TypeError(
            f"{name} must be an instance; got the class {value.__name__}. Write {value.__name__}()."
        )


def check_methods(name: str, value: Any, methods: Sequence[str], hint: str) -> None:
    """Raise TypeError for an estimator without methods; None is a default of our own."""
    if value is None:
        return
    check_instance(name, value)
    lacks = [method for method in methods if not callable(getattr(value, method, None))]
    if lacks:
        raise TypeError(
            f"{name} must have the methods {' and '.join(methods)}; "
            f"{type(value).__name__} has no {' and no '.join(lacks)}. {hint}"
        )


def check_whole(name: str, value: Any, least: int, none: str = "") -> None:
    """Check one whole number; `none` is "None or " if None is allowed as well."""
    if not _is_whole(value) or value < least:
        raise ValueError(
            f"{name} must be {none}a whole number of at least {least}; got {value!r}. Leave it "
            "out for the default."
        )


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_real(name: str, value: Any, interval: str, hint: str = "") -> None:
    """Check one real number by an interval written as in mathematics, such as "[0, 1)"."""
    if not is_real(value) or not _is_inside(float(value), interval):
        # The hint says what the number means, hence what to write instead.
        say = hint or "Leave it out for the default."
        raise ValueError(f"{name} must be a number in {interval}; got {value!r}. {say}")


def _is_inside(value: float, interval: str) -> bool:
    low, high = (float(end) for end in interval[1:-1].split(","))
    above = value >= low if interval[0] == "[" else value > low
    below = value <= high if interval[-1] == "]" else value < high
    return above and below


# Docstrings -------------------------------------------------------------------------------------


def sections_of(doc: str) -> dict[str, str]:
    """Return the sections of a docstring by title; what is before the first by ""."""
    found = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(doc), flags=re.MULTILINE)
    return {"": found[0]} | dict(zip(found[1::2], found[2::2], strict=True))


def entries_of(section: str) -> Entries:
    """Return the entries of a section by the names that they describe."""
    found = {}
    for entry in re.split(r"\n(?=\S)", section.strip("\n")):
        if names := entry.partition("\n")[0].partition(" : ")[0]:
            found[tuple(name.strip("* ") for name in names.split(","))] = entry
    return found


def complete_docstring(cls: Any) -> None:
    """Write into a class's docstring what its bases say of its parameters and attributes.

    Parameters stand in the order of the signature; attributes that bases describe come first.
    """
    sections = sections_of(cls.__doc__)
    own = {title: entries_of(sections.pop(title, "")) for title in TITLES}
    shared: dict[str, Entries] = {title: {} for title in TITLES}
    for base in cls.__mro__[:0:-1]:
        if base.__module__.startswith("skfairtest") and base.__dict__.get("__doc__"):
            inherited = sections_of(base.__doc__)
            for title in TITLES:
                shared[title] |= entries_of(inherited.get(title, ""))
    order = [field.name for field in fields(cls) if field.init]
    both = shared["Parameters"] | own["Parameters"]
    taken = [names for names in both if names[0] in order]
    parameters = [both[names] for names in sorted(taken, key=lambda names: order.index(names[0]))]
    attributes = (shared["Attributes"] | own["Attributes"]).values()
    first = sections.pop("").rstrip("\n")
    complete = {
        "Parameters": "\n".join(parameters), "Attributes": "\n".join(attributes), **sections,
    }  # fmt: skip
    parts = [
        f"{title}\n{'-' * len(title)}\n{text.rstrip()}" for title, text in complete.items() if text
    ]
    cls.__doc__ = "\n\n".join([first, *parts]) + "\n"
