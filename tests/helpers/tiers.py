"""Marks of tests that the default tier leaves out."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def needs(*names):
    """The marks of a test that needs packages which `pip install ".[test]"` does not bring.

    It belongs to the tier `services`, and is skipped where one of them is missing.
    """
    missing = [name for name in names if find_spec(name) is None]
    reason = f"{', '.join(missing)} not installed (pip install --group services)"
    return [pytest.mark.services, pytest.mark.skipif(bool(missing), reason=reason)]


#: Marks of a slow test that `.ci/run` runs, too, as those that have `sample` in their names.
SAMPLE = [pytest.mark.slow, pytest.mark.sample]


def slow_sample(test):
    """Leave a test to the tier `slow`, in the part of it that `.ci/run` runs, too."""
    for mark in SAMPLE:
        test = mark(test)
    return test
