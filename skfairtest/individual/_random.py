"""Uniform random testing, the yardstick of every paper."""

from __future__ import annotations

import numpy as np

from skfairtest._docs import document
from skfairtest._oracle import Oracle
from skfairtest.base import BaseAuditor
from skfairtest.individual._operators import pairs_to_judge, twins_a_judgement

#: Rows in one batch: large enough that the model's cost of a call does not count.
BATCH_ROWS = 8192
#: Batches that a run consists of at least, and rows below which a batch is not cut for that.
N_BATCHES = 50
LEAST_ROWS = 64


@document
class RandomAuditor(BaseAuditor):
    """Audit with uniform random inputs.

    Draws inputs uniformly from the domain and compares each with all its twins, or, where the
    sensitive attributes have more
    than eight combinations, with two random ones. Simple and unbiased: its `discrimination_rate_`
    estimates the
    share of discriminatory inputs in the domain (where all twins are compared). It is the yardstick
    that a directed search has to beat.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    SBFTAuditor : Searches for the largest disparity instead.

    Notes
    -----
    A find shows that the model treats two twins differently. Whether such a person exists, and
    whether the difference is
    unfair, it does not show.

    References
    ----------
    .. [1] Galhotra, S., Brun, Y., & Meliou, A. (2017). Fairness testing: testing software for
    discrimination. ESEC/FSE,
       498-510.

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
        space = oracle.space
        n_twins = twins_a_judgement(space)
        # A small budget is spent in several batches, so that the history has a course.
        rows = min(BATCH_ROWS, max(LEAST_ROWS, oracle.queries_left / N_BATCHES))
        n = max(1, int(rows) // n_twins)
        while True:
            Z = space.sample(n, rng)
            oracle.disparity(Z, pairs_to_judge(n, space, rng))
