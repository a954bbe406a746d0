"""Declare each parameter of an estimator once: its type, its default and its valid values."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, dataclass_transform

from skfairtest._typing import is_real


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

    A subclass adds its own parameters to those of its bases; the constructor takes all of them.
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
        dataclass(kw_only=True, eq=False, repr=False)(cls)

    def _check_declared(self) -> None:
        """Check each parameter by itself, in the order of the declarations."""
        for declared in fields(self):  # type: ignore[arg-type]
            if "check" in declared.metadata:
                declared.metadata["check"](declared.name, getattr(self, declared.name))

    def _with_params_alone(self: Any, **others: Any) -> Any:
        """Make an estimator that was never fitted, with these parameters, some of them others."""
        params = self.get_params(deep=False)
        return type(self)(**{name: others.get(name, value) for name, value in params.items()})

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
    fits = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not fits or value < least:
        raise ValueError(
            f"{name} must be {none}a whole number of at least {least}; got {value!r}. Leave it "
            "out for the default."
        )


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
