"""What the readers of gradient boosting of other libraries share.

XGBoost, LightGBM and CatBoost are no dependencies of this package, and nothing here imports them: a
model that was fitted with one of them is recognised by the names of its classes, and read through
what it offers itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._library_code import LIBRARIES, check_library_code, has_name
from skfairtest.whitebox._unsupported import OWN_CODE, Unsupported
from skfairtest.whitebox.graph import Output
from skfairtest.whitebox.registry import Reader


def library_reader(
    library: str,
    wrappers: tuple[str, ...],
    booster: str,
    check: Callable[[Any, str], Any],
    read: Callable[[Any, Chain, str], list[Output]],
) -> Reader:
    """The reader of a library's models.

    - `wrappers`: classes with scikit-learn's interface that are read.
    - `booster`: what a wrapper predicts with, besides its own methods.
    - `check`: sees to it that the settings of a model are such that it can be read.
    """

    def check_all(model: Any, response: str, steps: list[Any]) -> None:
        name = next(c.__name__ for c in type(model).__mro__ if c.__module__.startswith(library))
        if name == "Booster":
            load = ", or load a saved model with its load_model" if library == "xgboost" else ""
            raise Unsupported(
                f"A raw Booster of {library} cannot be certified, since nothing in it says how "
                f"tables become its input. Expected its wrapper {' or '.join(wrappers[:2])}; got "
                f"{name}.",
                f"Fit with the wrapper{load}.",
            )
        if name not in wrappers:
            raise Unsupported(
                f"{name} of {library} cannot be certified.",
                f"Expected {', '.join(wrappers)}. {OWN_CODE}",
            )
        check_library_code(model, OWN_CODE, (*LIBRARIES, library))
        inner = getattr(model, booster, None)
        if inner is not None:
            check_library_code(inner, OWN_CODE, (library, f"_{library}"))
        if response != "labels":
            check(model, response)

    return Reader(
        lambda model: has_name(model, library, ()),
        check_all,
        read,
    )
