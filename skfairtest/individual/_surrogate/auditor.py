"""The auditor that learns where the model discriminates, and samples there."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skfairtest._parameters import one_of, real, whole
from skfairtest.base import BaseAuditor
from skfairtest.individual._seeds import data_seeds
from skfairtest.individual._surrogate.diverse import search_diverse
from skfairtest.individual._surrogate.memory import Memory
from skfairtest.individual._surrogate.plausible import PlausibleSearch
from skfairtest.individual._surrogate.proposals import ProposalMixture
from skfairtest.individual._surrogate.regions import Regions
from skfairtest.oracle._drawing import FEW_COMBINATIONS
from skfairtest.oracle._oracle import Oracle
from skfairtest.oracle._stop import StopReason, StopSearch

OBJECTIVES = ("count", "degree", "diverse")
#: Discriminatory inputs from which on the surrogate learns verdicts instead of disparities.
ENOUGH_FOUND = 50
#: Rounds that the budget holds at least: a surrogate that never sees its own draws learns nothing
#: from them.
N_ROUNDS = 10
#: Inputs of the first batch; each further one is twice as large, up to `batch_size`.
FIRST = 1000
#: A batch is so many times as large where a constraint is asked: detectors are slow on few rows.
CONSTRAINED = 2


class SurrogateAuditor(BaseAuditor):
    """Audit by a surrogate: learn where the model discriminates, then sample there.

    A decision tree learns in which regions of the non-sensitive attributes twins are treated
    differently: from the verdicts so far, or from the disparities as long as discriminatory inputs
    are few. Each batch is drawn from several proposal distributions: uniform inputs; regions in
    which the tree expects many discriminatory inputs; steps away from those that were found, with
    and without the tree's choice among them; those with one value drawn anew; and crossings of two.
    A bandit shares the batch among the distributions by the *new* discriminatory inputs that each
    brings for what it costs. Proposals that are known already are dropped before they cost a query.
    As one of the distributions is uniform, the search does not fall behind uniform inputs where a
    tree is of no help. We recommend this tester for finding many discriminatory inputs.

    Where the `space` has `plausible` or ``proposals="data"``, discriminatory inputs have to look
    like people, and steps away from known ones would lead astray. All inputs are then rows of X
    crossed with one of their neighbours. The surrogate learns which of these discriminate, and the
    model is asked about one of twenty crossings, drawn in proportion to what the surrogate
    predicts. (`explore_share` and `min_samples_leaf` are not used then.)

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
    objective : {"count", "degree", "diverse"}, default="count"
        What to look for. "count" learns from verdicts to find many discriminatory inputs, "degree"
        from disparities to find a large one. "diverse" finds fewer than "count", spread over all
        regions that discriminate: once there are fifty discriminatory inputs, walkers move on from
        them by drawing single values anew as long as twins are treated differently, and walkers in
        regions where many were found move less often.
    batch_size : int, default=4000
        Inputs in a batch, at most a tenth of what the budget allows. Under a constraint a batch is
        twice as large.
    explore_share : float, default=0.02
        Least share of uniform inputs in each batch.
    min_samples_leaf : int, default=5
        Least number of inputs in a region of the surrogate.

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
    RandomAuditor : Draws uniform random inputs, the baseline of every search.

    Notes
    -----
    Discriminatory inputs crowd where the model discriminates most easily: their number shows how
    much there is to find, not how many people are concerned, and `discrimination_rate_` is no
    estimate for the domain. Finite domains are drawn from without replacement, and the run ends as
    exhausted once every input was judged. With more than eight combinations of sensitive values,
    most inputs are compared by the two values that their parent has shown, others by random ones.
    In a run that `max_time` alone limits, the cost of a proposal distribution is measured in
    seconds; otherwise it is counted in inputs, and the same seed gives the same result.

    A discriminatory input shows that the model treats two twins differently; twins need not be
    realistic people.

    References
    ----------
    .. [1] Zhao, Z., Toda, T., & Kitamura, T. (2024). Approximation-guided fairness testing through
       discriminatory space analysis. ASE, 1007-1018. (The idea: approximate the model, test the
       approximation. The method here is another one.)

    Examples
    --------
    >>> from skfairtest import RandomAuditor, SurrogateAuditor
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(random_state=0)
    >>> def count(auditor):
    ...     return auditor.set_params(random_state=0).fit(data.data).n_found_
    >>> count(SurrogateAuditor(data.estimator)) > 3 * count(RandomAuditor(data.estimator))
    True
    """

    objective: str = one_of(default="count", options=OBJECTIVES)
    batch_size: int = whole(default=4000, least=1)
    explore_share: float = real(default=0.02, interval="(0, 1]")
    min_samples_leaf: int = whole(default=5, least=1)

    def _search(self, oracle: Oracle, rng: np.random.Generator) -> None:
        space = oracle.space
        near = space.near_data
        if near and self.objective == "count":
            PlausibleSearch(oracle, rng, batch_size=self.batch_size).run()
            return
        # Verdicts give no direction before there are any: until then the disparity leads.
        verdicts = Memory(space, by_degree=False)
        memory = Memory(space, by_degree=True)
        regions = Regions(space)
        proposals = ProposalMixture(oracle, regions, self.explore_share, rng)
        price = min(space.twins_.n_combinations, FEW_COMBINATIONS)
        most = self.batch_size * (1 if space.constraint_ is None else CONSTRAINED)
        size = oracle.affordable(batches=N_ROUNDS, price=price, least=2, most=most)
        # Uniform inputs, until there is something to go by.
        size, most = min(size, FIRST), size
        n = max(2, oracle.in_time(size, batches=N_ROUNDS))
        batch = proposals.first(n, data_seeds(n // 2, space, rng), rng)
        while True:
            judged = proposals.judge(batch)
            found = verdicts.add(batch.Z, judged, rng)
            high = found if memory is verdicts else memory.add(batch.Z, judged, rng)
            proposals.learn(batch, high)
            enough = len(verdicts.high.Z) >= ENOUGH_FOUND
            if memory is not verdicts and self.objective != "degree" and enough:
                memory = verdicts
                proposals.reset()
            if enough and self.objective == "diverse":
                search_diverse(oracle, proposals, verdicts.parents(), most, rng)
            if proposals.is_exhausted:
                raise StopSearch(StopReason.EXHAUSTED)
            proposals.fit_surrogate(memory, self._surrogate, rng)
            size = min(2 * size, most)
            n = max(2, oracle.in_time(size, batches=N_ROUNDS))
            batch = proposals.propose(n, memory, rng)

    def _surrogate(self, by_degree: bool, rng: np.random.Generator) -> Any:
        kind = DecisionTreeRegressor if by_degree else DecisionTreeClassifier
        return kind(min_samples_leaf=self.min_samples_leaf, random_state=int(rng.integers(2**31)))
