"""The readers of this package, those that are asked first below: one line for each file."""

from __future__ import annotations

from skfairtest.whitebox import (
    _catboost,
    _histogram_trees,
    _interpret,
    _lightgbm,
    _linear_models,
    _networks,
    _sklearn_trees,
    _xgboost,
    meta_estimators,
)
from skfairtest.whitebox.registry import check_model, read_model, register

for reader in (
    _linear_models.READER,
    _networks.READER,
    *_sklearn_trees.READERS,
    _histogram_trees.READER,
    _xgboost.READER,
    _lightgbm.READER,
    _catboost.READER,
    _interpret.READER,
    *meta_estimators.READERS,
):
    register(reader)

__all__ = ["check_model", "read_model"]
