"""Uniform random testing, the baseline of every paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfairtest.base import BaseAuditor
from skfairtest.oracle._findings import Findings
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._judgement import Judgement
from skfairtest.space._space import InputSpace


class RandomAuditor(BaseAuditor):
    """Audit with uniform random inputs.

    Inputs are drawn uniformly from the domain. Each is compared with all its twins, or with two
    random ones if the sensitive attributes have more than eight combinations. The search is simple
    and unbiased: if all twins are compared, `discrimination_rate_` estimates the share of
    discriminatory inputs in the domain. It is the baseline that a directed search has to beat.

    If the constraint admits less than 5% of the domain, inputs near rows of X and near valid inputs
    found so far are drawn as well, so that the budget is spent in a reasonable time.
    `discrimination_rate_` is then the share among the uniform draws alone, and NaN if there are
    none.

    If the `space` has ``proposals="data"`` or `plausible`, inputs are rows of X crossed with one of
    their neighbours. `discrimination_rate_` then estimates the share among such inputs that
    satisfy the constraint and are plausible: the share near the data, not that of the domain.

    See Also
    --------
    SBFTAuditor : Searches for the largest disparity.

    Notes
    -----
    A discriminatory input shows that the model treats two twins differently. It does not show
    whether such a person exists, nor whether the difference is unfair.

    References
    ----------
    .. [1] Galhotra, S., Brun, Y., & Meliou, A. (2017). Fairness testing: testing software for
       discrimination. ESEC/FSE, 498-510.

    Examples
    --------
    >>> from skfairtest import RandomAuditor
    >>> from skfairtest.datasets import make_biased_regression
    >>> data = make_biased_regression(random_state=0)
    >>> auditor = RandomAuditor(data.estimator, max_queries=2000, random_state=0)
    >>> auditor = auditor.fit(data.data)
    >>> auditor.sensitive_features_
    ['sex']
    >>> bool(0 < auditor.fairness_degree_ <= data.fairness_degree)
    True
    """

    def _run_search(self, search: SearchHandle, rng: np.random.Generator) -> None:
        counts = search.measured["uniform"] = UniformCounts()
        width = search.space.twins_.n_compared
        while True:
            # A small budget is spent in several batches, so that the history has several rows. In
            # batches of 8,192 rows, what a call of the model costs by itself does not count.
            n = search.affordable(batches=50, least=64 / width, most=8192 / width, whole=True)
            Z, uniform, _ = search.sample(n, rng)
            fresh = Z[uniform]
            counts.add(search.evaluate(fresh, search.pairs(fresh, rng)))
            if not uniform.all():
                # The constraint admits so little that inputs near known ones make up the numbers.
                counts.are_part = True
                search.evaluate(Z[~uniform], search.pairs(Z[~uniform], rng))

    def _own_results(self, found: Findings, space: InputSpace) -> dict[str, Any]:
        counts = [one["uniform"] for one in found.measured if "uniform" in one]
        if not any(one.are_part for one in counts):
            return {}
        n_inputs = sum(one.n_inputs for one in counts)
        n_found = sum(one.n_found for one in counts)
        return {"discrimination_rate_": n_found / n_inputs if n_inputs else np.nan}


@dataclass
class UniformCounts:
    """Uniform inputs and how many of them discriminate.

    `are_part` says that other inputs were judged beside them.
    """

    n_inputs: int = 0
    n_found: int = 0
    are_part: bool = False

    def add(self, judged: Judgement) -> None:
        """Count inputs that were judged."""
        self.n_inputs += len(judged.verdict)
        self.n_found += int(judged.verdict.sum())
