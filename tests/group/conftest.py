"""The benchmark whose outcomes are drawn, as a module."""

import importlib

import pytest
from places import TOP


@pytest.fixture(scope="session")
def bench():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOP / "examples" / "benchmarks"))
        return importlib.import_module("bench_subgroups_truth")
