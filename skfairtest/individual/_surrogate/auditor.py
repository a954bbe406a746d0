"""The auditor that learns where the model discriminates, and samples there."""

from __future__ import annotations

import numpy as np

from skfairtest._parameters import real, whole
from skfairtest.base import BaseAuditor
from skfairtest.individual._seeds import data_seeds
from skfairtest.individual._surrogate.crossover import CrossoverSearch
from skfairtest.individual._surrogate.memory import Memory
from skfairtest.individual._surrogate.proposals import ProposalMixture
from skfairtest.individual._surrogate.rounds import affordable
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._stop import StopReason, StopSearch


class SurrogateAuditor(BaseAuditor):
    """Audit by what is learned of where the model discriminates: sample there.

    Each batch is drawn from several proposal distributions: uniform inputs; steps away from
    discriminatory inputs that were found, along columns in which such steps succeeded; those with
    one value drawn anew; crossovers of two; and, of classifiers with two classes, inputs with one
    number moved to where the label changes. As long as discriminatory inputs are few, those whose
    twins come closest to getting different labels take their place, or without two classes those
    with the largest disparities. A bandit shares the batch among the distributions
    by the *new* discriminatory inputs that each finds for its cost. Proposals that are known
    already are dropped before they cost a query. As one of the distributions is uniform, the search
    does not fall behind uniform inputs. We recommend this tester for finding many discriminatory
    inputs, also where they are rare.

    Near the data (the `space` has `plausible` or ``proposals="data"``) rows of X crossed with one
    of their neighbours take the place of uniform inputs, and all values are values of rows. A step
    away from a discriminatory input has to be plausible; still, a classifier tells what many such
    steps reach from people. Without `plausible` there are no steps: all inputs are such crossovers.
    A surrogate model learns which of them discriminate, and the model is asked about one of twenty,
    drawn in proportion to what the surrogate predicts. (`explore_share` is not used then.)

    Parameters
    ----------
    batch_size : int, default=4000
        Inputs in a batch, at most a tenth of what the budget allows. Under a constraint a batch is
        twice as large.
    explore_share : float, default=0.02
        Least share of uniform inputs in each batch. It is 0.3 at least until five discriminatory
        inputs were found.

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

    def _run_search(self, search: SearchHandle, rng: np.random.Generator) -> None:
        space = search.space
        # Steps stay near the data only where plausibility refuses those that do not.
        if space.near_data and space.plausibility is None:
            CrossoverSearch(search, rng, batch_size=self.batch_size).run()
            return
        # Verdicts give no direction before there are any: until then it leads how near twins come.
        unsure = True
        verdicts = Memory(space, by_degree=False)
        memory = Memory(space, by_degree=True)
        proposals = ProposalMixture(search, rng)
        # A batch is twice as large where a constraint is asked: detectors are slow on few rows.
        most = self.batch_size * (2 if space.constraints_ else 1)
        # Uniform inputs, until there is something to go by. The first batch has 125 inputs; each
        # further one is twice as large, up to `batch_size`, as what is known doubles.
        size = min(125, most)
        n = affordable(search, size)
        batch = proposals.first(n, data_seeds(n // 2, space, rng), rng)
        while True:
            judged = proposals.evaluate(batch)
            margins = proposals.boundary.margins(judged)
            proposals.boundary.learn(batch.Z, judged, margins)
            found = verdicts.add(batch.Z, judged, margins, rng)
            proposals.learn(batch, memory.add(batch.Z, judged, margins, rng) if unsure else found)
            # From five discriminatory inputs on, verdicts lead the search.
            if unsure and len(verdicts.high.Z) >= 5:
                unsure, memory = False, verdicts
                proposals.reset()
            if proposals.is_exhausted:
                raise StopSearch(StopReason.EXHAUSTED)
            size = min(2 * size, most)
            # Until then 30% are uniform at least: what comes close may be far from what differs.
            share = max(self.explore_share, 0.3) if unsure else self.explore_share
            batch = proposals.propose(affordable(search, size), memory, share, rng)
            if proposals.is_over:
                return
