"""Foreign conformance checks, counted where they run.

A tag can make scikit-learn leave out most of its checks without a word, so each module that runs
them also asks how many have passed. No check is run a second time for the count.
"""

from __future__ import annotations

from collections import Counter

import pytest


class CountedChecks:
    """The checks of some estimators, and how many of them have passed for each class.

    Parameters
    ----------
    mark : pytest.MarkDecorator
        What `parametrize_with_checks` returned.
    """

    def __init__(self, mark):
        names, cases = mark.args
        self.cases = list(cases)
        #: scikit-learn hands pytest a generator, which could be gone through only once.
        self.parametrize = pytest.mark.parametrize(names, self.cases, **mark.kwargs)
        self.generated = Counter(self._name(case) for case in self.cases)
        self.begun: Counter[str] = Counter()
        self.passed: Counter[str] = Counter()

    @staticmethod
    def _name(case):
        estimator = getattr(case, "values", case)[0]
        return type(estimator).__name__

    def run(self, estimator, check):
        """Run one check; it counts where it neither fails nor is skipped."""
        name = type(estimator).__name__
        self.begun[name] += 1
        check(estimator)
        self.passed[name] += 1

    def assert_passed(self, name, at_least):
        """See that enough checks of a class have passed, where all of them were begun."""
        if self.begun[name] < self.generated[name]:
            begun = f"{self.begun[name]} of {self.generated[name]}"
            pytest.skip(f"only {begun} checks of {name} were selected before this one")
        assert self.passed[name] >= at_least
