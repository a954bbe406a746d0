"""The auditor that learns where the model discriminates, and samples there."""

from __future__ import annotations

import numpy as np

from skfairtest._parameters import real, whole
from skfairtest.base import BaseAuditor
from skfairtest.individual._seeds import data_seeds
from skfairtest.individual._surrogate.crossings import CrossingSearch
from skfairtest.individual._surrogate.memory import Memory
from skfairtest.individual._surrogate.proposals import ProposalMixture
from skfairtest.individual._surrogate.rounds import affordable
from skfairtest.oracle._oracle import Oracle
from skfairtest.oracle._stop import StopReason, StopSearch

#: Discriminatory inputs from which on verdicts lead the search instead of disparities.
ENOUGH_FOUND = 5
#: Least share of uniform inputs until then: a large disparity may be far from any other label.
UNSURE_SHARE = 0.3
#: Inputs of the first batch; each further one is twice as large, up to `batch_size`.
FIRST = 1000
#: A batch is so many times as large where a constraint is asked: detectors are slow on few rows.
CONSTRAINED = 2


class SurrogateAuditor(BaseAuditor):
    """Audit by what is learned of where the model discriminates: sample there.

    Each batch is drawn from several proposal distributions: uniform inputs; steps away from
    discriminatory inputs that were found, along columns in which such steps succeeded; those with
    one value drawn anew; and crossings of two. As long as discriminatory inputs are few, those with
    the largest disparities take their place. A bandit shares the batch among the distributions by
    the *new* discriminatory inputs that each finds for its cost. Proposals that are known already
    are dropped before they cost a query. As one of the distributions is uniform, the search does
    not fall behind uniform inputs. We recommend this tester for finding many discriminatory inputs.

    Near the data (the `space` has `plausible` or ``proposals="data"``) rows of X crossed with one
    of their neighbours take the place of uniform inputs, and all values are values of rows. A step
    away from a discriminatory input has to be plausible; still, a classifier tells what many such
    steps reach from people. Without `plausible` there are no steps: all inputs are such crossings.
    A surrogate model learns which of them discriminate, and the model is asked about one of twenty,
    drawn in proportion to what the surrogate predicts. (`explore_share` is not used then.)

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
    batch_size : int, default=4000
        Inputs in a batch, at most a tenth of what the budget allows. Under a constraint a batch is
        twice as large.
    explore_share : float, default=0.02
        Least share of uniform inputs in each batch. It is 0.3 at least until five discriminatory
        inputs were found.

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
    RandomAuditor : Draws uniform random inputs, the baseline of every search.

    Notes
    -----
    Many discriminatory inputs lie close together: their number does not show how many people are
    concerned, and `discrimination_rate_` is no estimate for the domain. Finite domains are drawn
    from without replacement, and the run ends as exhausted once every input was judged. With more
    than eight combinations of sensitive values, most inputs are compared by the two values that
    their parent has shown, others by random ones. In a run that `max_time` alone limits, the cost
    of a proposal distribution is measured in seconds; otherwise it is counted in inputs, and the
    same seed gives the same result.

    A discriminatory input shows that the model treats two twins differently; twins need not be
    realistic people.

    References
    ----------
    .. [1] Zhao, Z., Toda, T., & Kitamura, T. (2024). Approximation-guided fairness testing through
       discriminatory space analysis. ASE, 1007-1018. (The idea: learn where the model
       discriminates, test there. The method here is another one.)

    Examples
    --------
    >>> from skfairtest import RandomAuditor, SurrogateAuditor
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(random_state=0)
    >>> def count(auditor):
    ...     return auditor.set_params(max_queries=4000, random_state=0).fit(data.data).n_found_
    >>> count(SurrogateAuditor(data.estimator)) > 3 * count(RandomAuditor(data.estimator))
    True
    """

    batch_size: int = whole(default=4000, least=1)
    explore_share: float = real(default=0.02, interval="(0, 1]")

    def _search(self, oracle: Oracle, rng: np.random.Generator) -> None:
        space = oracle.space
        # Steps stay near the data only where a judge refuses those that do not.
        if space.near_data and space.plausibility is None:
            CrossingSearch(oracle, rng, batch_size=self.batch_size).run()
            return
        # Verdicts give no direction before there are any: until then the disparity leads.
        unsure = True
        verdicts = Memory(space, by_degree=False)
        memory = Memory(space, by_degree=True)
        proposals = ProposalMixture(oracle, rng)
        most = self.batch_size * (CONSTRAINED if space.constraints_ else 1)
        # Uniform inputs, until there is something to go by.
        size = min(FIRST, most)
        n = affordable(oracle, size)
        batch = proposals.first(n, data_seeds(n // 2, space, rng), rng)
        while True:
            judged = proposals.judge(batch)
            found = verdicts.add(batch.Z, judged, rng)
            proposals.learn(batch, memory.add(batch.Z, judged, rng) if unsure else found)
            if unsure and len(verdicts.high.Z) >= ENOUGH_FOUND:
                unsure, memory = False, verdicts
                proposals.reset()
            if proposals.is_exhausted:
                raise StopSearch(StopReason.EXHAUSTED)
            size = min(2 * size, most)
            share = max(self.explore_share, UNSURE_SHARE) if unsure else self.explore_share
            batch = proposals.propose(affordable(oracle, size), memory, share, rng)
            if proposals.is_over:
                return
