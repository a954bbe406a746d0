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
    estimator : estimator, default=None
        Regressor, classifier or pipeline to audit. Fitted, or fitted by ``fit(X, y)``. None makes a
        template for scorers and retrainers, which set it.
    sensitive_features : "auto", str, int or list of these, default="auto"
        Sensitive columns by name or position. "auto" takes the columns whose names are common
        protected attributes (sex, gender, race, age, religion, ...).
    threshold : float, default=None
        An input is discriminatory when its disparity exceeds the threshold, in units of the
        outputs. None: when the labels differ; of a regressor, when the outputs do.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        How a classifier is asked. "auto" takes the first that it has, in this order.
    space : InputSpace, default=None
        Which inputs exist: bounds, categories, constraints, what is plausible, what twins are.
        `fit` learns a copy of it from X; one that has learned is taken as it is. None:
        ``InputSpace()``.
    max_queries : int, default=20_000
        Budget in queries: one query is one row for which the model is asked. At least 2, or None.
    max_time : float, default=None
        Budget in seconds; looked at after each batch.
    max_found : int, default=None
        Ends the run after the batch in which so many unique discriminatory inputs were found.
    max_inputs : int, default=None
        Ends the run after so many distinct inputs.
    n_jobs : int, default=None
        Parts of a large batch that are predicted at the same time. None is 1, or what
        `joblib.parallel_config` says. The result does not depend on it.
    random_state : int, RandomState or Generator, default=None
        Seed of the run: the same seed gives the same result.
    verbose : int, default=0
        1 prints a line each tenth of the budget, 2 each hundredth.
    n_restarts : int, default=1
        Independent searches, with seeds of their own, that share the budget; results are those of
        all of them.

    Attributes
    ----------
    fairness_degree_ : float
        Largest disparity found, in units of the outputs: a lower bound of the true one.
    worst_case_ : array or DataFrame of shape (2, n_features), or None
        The two twins that show it, the larger output first.
    worst_case_outputs_ : ndarray of shape (2,), or None
        The model's outputs for them.
    worst_case_class_ : object
        The class whose probability or score they are.
    discriminatory_inputs_, counterfactuals_ : array or DataFrame of shape (n_kept, n_features)
        Unique discriminatory inputs, worst first, and their twins; as many as fit into 32 MB.
    disparities_ : ndarray of shape (n_kept,)
        Difference between the outputs for each input and its twin.
    n_found_ : int
        Unique discriminatory inputs found, kept or not.
    discrimination_rate_ : float
        Share of the distinct generated inputs that discriminate; of a directed search, no estimate
        of the domain's share.
    plausibility_, distances_ : ndarray of shape (n_kept,)
        How typical each of the `discriminatory_inputs_` is: the share of rows of X that are less
        typical, and the distance to the nearest row.
    nearest_rows_ : array or DataFrame of shape (n_kept, n_features)
        The row of X nearest to each of them.
    fairness_degree_plausible_ : float
        The largest disparity found among pairs of which one twin is plausible.
    worst_case_plausible_ : array or DataFrame of shape (2, n_features), or None
        That pair, the larger output first.
    domains_ : DataFrame
        The degree known of the rows of X, of plausible inputs, and of the whole domain.
    n_inputs_, n_queries_, seconds_ : int, int, float
        The cost: distinct inputs, queries, seconds.
    history_ : DataFrame
        The course of the run: queries, seconds, inputs, found, degree.
    stop_reason_, stop_kind_ : str
        What ended the run, in words and as one word; see the Notes of `BaseAuditor`.
    on_data_degree_, on_data_rate_, on_data_discriminatory_ : float, float, array or DataFrame
        The same for the rows of X as they are, each compared with its twins.
    sensitive_features_ : list
        The sensitive columns.
    one_hot_ : dict of name to list
        The columns of each one-hot group.
    response_ : str
        How the estimator was asked: "regression", "predict_proba", "decision_function" or
        "labels".
    space_ : InputSpace
        The inputs that exist, as learned.
    estimator_ : estimator
        What was audited.

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
            least=LEAST_ROWS / oracle.draws.n_compared,
            most=BATCH_ROWS / oracle.draws.n_compared,
        )
        counts = oracle.measured["uniform"] = UniformCounts()
        while True:
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
