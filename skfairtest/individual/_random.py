"""Uniform random testing, the baseline of every paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skfairtest._docstrings import document
from skfairtest._typing import Floats
from skfairtest.base import BaseAuditor
from skfairtest.oracle._findings import Findings
from skfairtest.oracle._oracle import Oracle

#: Rows in one batch: large enough that the model's cost of a call does not count.
BATCH_ROWS = 8192
#: Batches that a run consists of at least, and rows below which a batch is not cut for that.
N_BATCHES = 50
LEAST_ROWS = 64


@document
class RandomAuditor(BaseAuditor):
    """Audit with uniform random inputs.

    Inputs are drawn uniformly from the domain. Each is compared with all its twins, or with two
    random ones where the sensitive attributes have more than eight combinations. The search is
    simple and unbiased: where all twins are compared, `discrimination_rate_` estimates the share of
    discriminatory inputs in the domain. It is the baseline that a directed search has to beat.

    Where the constraint admits less than 5% of the domain, inputs near valid ones are drawn as
    well, near rows of X and near what was found so far, so that the budget is spent in a reasonable
    time. `discrimination_rate_` is then the share among the uniform draws alone, and NaN where
    there are none.

    Where the `space` has ``proposals="data"`` or `plausible`, inputs are rows of X crossed with one
    of their neighbours. `discrimination_rate_` then estimates the share among such inputs that
    satisfy the constraint and are plausible: the share near the data, not that of the domain.

    Parameters
    ----------
    {parameters}
    {n_restarts}

    Attributes
    ----------
    {attributes}

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

    def _search(self, oracle: Oracle, rng: np.random.Generator) -> None:
        # A small budget is spent in several batches, so that the history has a course.
        n = oracle.affordable(
            batches=N_BATCHES,
            least=LEAST_ROWS / oracle.n_compared,
            most=BATCH_ROWS / oracle.n_compared,
        )
        self._uniform = Tally()
        while True:
            Z, uniform, _ = oracle.draw_sample(n, rng)
            self._judge(oracle, Z[uniform], rng)
            if not uniform.all():
                # The constraint admits so little that inputs near known ones make up the numbers.
                self._uniform.is_part = True
                oracle.judge(Z[~uniform], rng)

    def _judge(self, oracle: Oracle, Z: Floats, rng: np.random.Generator) -> None:
        """Judge uniform inputs, and count them apart from others."""
        tally = self._uniform
        judged = oracle.judge(Z, rng)
        tally.n_inputs += len(Z)
        tally.n_found += int(judged.verdict.sum())

    def _notes(self, oracle: Oracle) -> Tally:
        tally: Tally = self.__dict__.pop("_uniform", Tally())
        return tally

    def _store(self, found: Findings) -> None:
        super()._store(found)
        tallies: list[Tally] = found.notes
        if any(tally.is_part for tally in tallies):
            n_inputs = sum(tally.n_inputs for tally in tallies)
            n_found = sum(tally.n_found for tally in tallies)
            self.discrimination_rate_ = n_found / n_inputs if n_inputs else np.nan


@dataclass
class Tally:
    """Uniform inputs and how many of them discriminate; `is_part` where there are others."""

    n_inputs: int = 0
    n_found: int = 0
    is_part: bool = False
