"""Marks of tests that the default tier leaves out."""

from __future__ import annotations

import pytest

#: Marks of a slow test that `.ci/run` runs, too.
SAMPLE = [pytest.mark.slow, pytest.mark.sample]


def slow_sample(test):
    """Leave a test to the tier `slow`, in the part of it that `.ci/run` runs, too."""
    for mark in SAMPLE:
        test = mark(test)
    return test


def some(cases, n=1):
    """The cases of a parametrized test: the first `n` in every run, the others as `slow_sample`."""
    tuples = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*t, marks=SAMPLE if k >= n else []) for k, t in enumerate(tuples)]
