"""Gradient boosting of other libraries: which models are theirs, and who reads them.

XGBoost, LightGBM and CatBoost are no dependencies of this package, and nothing here imports them: a
model that was fitted with one of them is recognised by the names of its classes, and read through
what it offers itself.
"""

from __future__ import annotations

from typing import Any

from skfairtest.whitebox._catboost import check_catboost, read_catboost
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._interpret import check_interpret, read_interpret
from skfairtest.whitebox._library_code import LIBRARIES, check_library_code
from skfairtest.whitebox._lightgbm import check_lightgbm, read_lightgbm
from skfairtest.whitebox._tree_model import Output
from skfairtest.whitebox._unsupported import Unsupported
from skfairtest.whitebox._xgboost import check_xgboost, read_xgboost

#: Wrappers with scikit-learn's interface that are read, by library.
WRAPPERS = {
    "xgboost": ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor"),
    "lightgbm": ("LGBMClassifier", "LGBMRegressor"),
    "catboost": ("CatBoostClassifier", "CatBoostRegressor"),
    "interpret": (
        "ExplainableBoostingClassifier",
        "ExplainableBoostingRegressor",
        "DPExplainableBoostingClassifier",
        "DPExplainableBoostingRegressor",
    ),
}
#: What sees to it that the settings of a model are such that it can be read.
CHECKS = {
    "xgboost": check_xgboost,
    "lightgbm": check_lightgbm,
    "catboost": check_catboost,
    "interpret": check_interpret,
}
READERS = {
    "xgboost": read_xgboost,
    "lightgbm": read_lightgbm,
    "catboost": read_catboost,
    "interpret": read_interpret,
}
#: What a wrapper predicts with, besides its own methods.
BOOSTERS = {"xgboost": "_Booster", "lightgbm": "_Booster", "catboost": "_object"}


def library_of(model: Any) -> tuple[str, str] | None:
    """The library that a model comes from, and the name of its class there.

    - the result: also of a subclass of a library's class; None for models of no such library.
    """
    for cls in type(model).__mro__:
        root = cls.__module__.partition(".")[0]
        if root in WRAPPERS:
            return root, cls.__name__
    return None


def is_library_model(model: Any) -> bool:
    """Whether a model is one of the wrappers that are read, or a subclass of one."""
    found = library_of(model)
    return found is not None and found[1] in WRAPPERS[found[0]]


def check_library_model(model: Any, hint: str) -> None:
    """See that a model of such a library is one that is read, and predicts with its own code."""
    found = library_of(model)
    assert found is not None
    library, name = found
    wrappers = " or ".join(WRAPPERS[library][:2])
    if name == "Booster":
        raise Unsupported(
            f"A raw Booster of {library} cannot be certified, since nothing in it says how tables "
            f"become its input. Expected its wrapper {wrappers}; got {name}.",
            "Fit with the wrapper"
            + (", or load a saved model with its load_model." if library == "xgboost" else "."),
        )
    if name not in WRAPPERS[library]:
        raise Unsupported(
            f"{name} of {library} cannot be certified.",
            f"Expected {', '.join(WRAPPERS[library])}. {hint}",
        )
    check_library_code(model, hint, (*LIBRARIES, library))
    booster = getattr(model, BOOSTERS.get(library, ""), None)
    if booster is not None:
        check_library_code(booster, hint, (library, f"_{library}"))


def check_library_settings(model: Any, response: str) -> None:
    """See that a model of such a library, fitted or not, has settings with which it can be read."""
    found = library_of(model)
    assert found is not None
    CHECKS[found[0]](model, response)


def read_library(model: Any, chain: Chain, response: str) -> list[Output]:
    """Outputs of a model of such a library as sums of trees.

    Parameters and result are as those of `read_ensemble`, of a fitted model.

    - `ValueError`: if the model has settings that are not understood.
    """
    found = library_of(model)
    assert found is not None
    return READERS[found[0]](model, chain, response)
