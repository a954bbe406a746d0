"""What is read of the libraries of boosting, without any of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import skfairtest
from skfairtest.whitebox._fitted_trees import Tree, nodes_of
from skfairtest.whitebox.graph import last_rounded


def test_leaves_that_are_no_numbers_are_refused():
    leaf = Tree([0], [0.0], [False], np.array([-1]), np.array([-1]), np.array([[np.inf]]))
    with pytest.raises(ValueError, match="1 leaves that are NaN or infinite"):
        nodes_of([leaf], None, "XGBRegressor")


def test_neither_library_is_imported():
    root = Path(skfairtest.__file__).parent
    lines = [
        line
        for path in root.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert len(lines) > 10_000
    assert not [
        line for line in lines if re.match(r"\s*(import|from) (xgboost|lightgbm|catboost)", line)
    ]


def test_thresholds_of_single_precision_as_doubles():
    rng = np.random.default_rng(0)
    ends = [0.0, -0.0, 1e-45, -1e-45, 1.0, -1.0, 3e38, np.pi]
    singles = np.concatenate([ends, rng.normal(size=500) * 10.0 ** rng.integers(-44, 38, 500)])
    singles = singles.astype(np.float32)
    last = last_rounded(singles)
    assert (last.astype(np.float32) <= singles).all()
    assert (np.nextafter(last, np.inf).astype(np.float32) > singles).all()
