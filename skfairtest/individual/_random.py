"""Uniform random testing, the baseline of every paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfairtest.base import BaseAuditor
from skfairtest.oracle._findings import Findings
from skfairtest.oracle._judgement import Judgement
from skfairtest.oracle._oracle import Oracle
from skfairtest.space._space import InputSpace

#: Rows in one batch: large enough that the model's cost of a call does not count.
BATCH_ROWS = 8192
#: Batches that a run consists of at least, and rows below which a batch is not cut for that.
N_BATCHES = 50
LEAST_ROWS = 64


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

    Parameters
    ----------
    estimator : estimator, default=None
        Regressor, classifier or pipeline to audit. It is fitted already, or ``fit(X, y)`` fits it.
        With None the auditor is a template; scorers and retrainers set its estimator.
    sensitive_features : "auto", str, int or list of these, default="auto"
        Sensitive columns, by name or position. "auto" takes the columns whose names are common
        protected attributes (sex, gender, race, age, religion, ...).
    threshold : float, default=None
        An input is discriminatory when its disparity exceeds the threshold, in units of the
        outputs. With None it is when the labels of its twins differ, or a regressor's outputs.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        Method by which a classifier is asked. "auto" takes the first of the others that it has.
    space : InputSpace, default=None
        Which inputs exist: bounds, categories, constraints, plausible inputs, twins. `fit` learns a
        copy of it from X; a fitted space is used as it is. None means ``InputSpace()``.
    max_queries : int, default=20_000
        Budget in queries, at least 2; one query is one row that the model predicts. None sets no
        limit.
    max_time : float, default=None
        Budget in seconds, checked after each batch.
    max_found : int, default=None
        The run ends after the batch that reaches this number of unique discriminatory inputs.
    max_inputs : int, default=None
        The run ends after this number of distinct inputs.
    n_jobs : int, default=None
        Number of parts of a large batch that are predicted at the same time. None means 1, or the
        setting of `joblib.parallel_config`. The result does not depend on it.
    random_state : int, RandomState or Generator, default=None
        Seed of the run: the same seed gives the same result.
    verbose : int, default=0
        1 prints a line for each tenth of the budget, 2 for each hundredth.
    n_restarts : int, default=1
        Number of independent searches, each with its own seed, that share the budget. The results
        combine those of all searches.

    Attributes
    ----------
    fairness_degree_ : float
        Largest disparity found, in units of the outputs: a lower bound of the true one.
    worst_case_ : array or DataFrame of shape (2, n_features), or None
        The two twins with this disparity; the one with the larger output comes first.
    worst_case_outputs_ : ndarray of shape (2,), or None
        The model's outputs for these two twins.
    worst_case_class_ : object
        The class whose probability or score these outputs are; which of several outputs it is.
    discriminatory_inputs_, counterfactuals_ : array or DataFrame of shape (n_kept, n_features)
        Unique discriminatory inputs, those with the largest disparities first, and their twins; as
        many as fit into 32 MB.
    disparities_ : ndarray of shape (n_kept,)
        Difference between the outputs for each input and its twin.
    n_found_ : int
        Unique discriminatory inputs found, kept or not.
    discrimination_rate_ : float
        Share of the distinct generated inputs that are discriminatory. For a directed search it
        does not estimate the share in the domain.
    plausibility_, distances_ : ndarray of shape (n_kept,)
        For each of the `discriminatory_inputs_`, the share of rows of X that are less typical, and
        the distance to the nearest row of X.
    nearest_rows_ : array or DataFrame of shape (n_kept, n_features)
        The row of X that is nearest to each of the `discriminatory_inputs_`.
    fairness_degree_plausible_ : float
        Largest disparity found among pairs with at least one plausible twin.
    worst_case_plausible_ : array or DataFrame of shape (2, n_features), or None
        The two twins with this disparity; the one with the larger output comes first.
    domains_ : DataFrame
        The fairness degree known for the rows of X, for plausible inputs and for the whole domain.
    n_inputs_, n_queries_, seconds_ : int, int, float
        The cost: distinct inputs, queries, seconds.
    history_ : DataFrame
        The course of the run: queries, seconds, inputs, found, degree.
    stop_reason_, stop_kind_ : str
        Why the run ended, in words and as one word; the Notes of `BaseAuditor` list these.
    on_data_degree_, on_data_rate_, on_data_discriminatory_ : float, float, array or DataFrame
        Largest disparity of the rows of X, the share of them that are discriminatory, and those
        rows.
    sensitive_features_ : list
        The sensitive columns.
    one_hot_ : dict of name to list
        The columns of each one-hot group.
    response_ : str
        How the estimator was asked: "regression", "predict_proba", "decision_function" or
        "labels".
    space_ : InputSpace
        The input space as learned.
    estimator_ : estimator
        The estimator that was audited.

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
        counts = oracle.measured["uniform"] = UniformCounts()
        while True:
            # A small budget is spent in several batches, so that the history has a course.
            n = oracle.affordable(
                batches=N_BATCHES,
                least=LEAST_ROWS / oracle.draws.n_compared,
                most=BATCH_ROWS / oracle.draws.n_compared,
                whole=True,
            )
            Z, uniform, _ = oracle.draws.sample(n, rng)
            counts.add(oracle.judge(Z[uniform], rng))
            if not uniform.all():
                # The constraint admits so little that inputs near known ones make up the numbers.
                counts.are_part = True
                oracle.judge(Z[~uniform], rng)

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
