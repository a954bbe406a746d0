"""SBFT: search-based fairness testing (Perera et al. 2022)."""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest._docstrings import document
from skfairtest._validation import check_real, check_whole
from skfairtest.base import BaseAuditor
from skfairtest.individual._sbft.paper import PaperSearch
from skfairtest.individual._sbft.tuned import TunedSearch
from skfairtest.oracle._oracle import Oracle

PRESETS: dict[str, Any] = {"tuned": TunedSearch, "paper": PaperSearch}
#: Queries an island should at least have to itself, and islands beyond which batches are large
#: enough.
QUERIES_AN_ISLAND = 20_000
MOST_ISLANDS = 10


@document
class SBFTAuditor(BaseAuditor):
    """Audit by search-based fairness testing: a genetic search for the largest disparity.

    The population holds inputs; the fitness of an input is the difference between the model's
    outputs to its twins, which differ in the sensitive attributes only. What is found is a lower
    bound of the fairness degree, the largest such difference over the whole input domain.

    Parameters
    ----------
    {parameters}
    preset : {"tuned", "paper"}, default="tuned"
        "paper" is the published algorithm to the letter. "tuned" starts from the data, compares all
        twins of an input where they are at most eight, mutates few values by steps of several
        lengths, and restarts stale populations.
    population_size : int, default=100
        Inputs in a population.
    crossover_proba : float, default=0.75
        Probability that two parents exchange values.
    mutation_proba : float, default=0.7
        "paper": probability for each value of a child to be drawn anew; "tuned": probability
        for a child to have one to a few values changed.
    newcomer_rate : float, default=0.1
        Random inputs that join in each generation, as a share of the population.
    cache_proba : float, default=0.5
        Probability that an input is judged by the pair of sensitive values that showed the largest
        disparity so far; "tuned" needs it only for more than eight combinations.
    local_search : bool, default=True
        Try single steps around the best input in each generation.
    n_islands : int, default=None
        Populations that evolve beside each other and share each ``predict`` call. None: one for
        "paper"; for "tuned" one for each 20,000 queries of the budget, at most ten.

    Attributes
    ----------
    {attributes}

    See Also
    --------
    RandomAuditor : Uniform random inputs, the yardstick.

    Notes
    -----
    The degree is that of one pair of twins. Twins need not be realistic people, and other columns
    may stand for a sensitive one.
    A degree of zero does not show that a model is fair.

    References
    ----------
    .. [1] Perera, A., Aleti, A., Tantithamthavorn, C., Jiarpakdee, J., Turhan, B., Kuhn, L., &
       Walker, K. (2022). Search-based fairness testing for regression-based machine learning
       systems. Empirical Software Engineering, 27(3). https://doi.org/10.1007/s10664-022-10116-7

    Examples
    --------
    >>> from skfairtest import SBFTAuditor
    >>> from skfairtest.datasets import make_biased_regression
    >>> data = make_biased_regression(variant="narrow", random_state=0)
    >>> auditor = SBFTAuditor(data.estimator, random_state=0).fit(data.data)
    >>> round(auditor.fairness_degree_, 3), data.fairness_degree
    (10.0, 10.0)
    >>> auditor.worst_case_["sex"].tolist()
    ['male', 'female']
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        sensitive_features: Any = "auto",
        threshold: float | None = None,
        response_method: str = "auto",
        bounds: Any = None,
        categories: Any = None,
        steps: Any = None,
        one_hot: Any = "auto",
        constraint: Any = None,
        plausible: Any = None,
        given: Any = None,
        space: Any = None,
        proposals: str = "uniform",
        max_queries: int | None = 20_000,
        max_time: float | None = None,
        max_found: int | None = None,
        max_inputs: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        preset: str = "tuned",
        population_size: int = 100,
        crossover_proba: float = 0.75,
        mutation_proba: float = 0.7,
        newcomer_rate: float = 0.1,
        cache_proba: float = 0.5,
        local_search: bool = True,
        n_islands: int | None = None,
    ) -> None:
        super().__init__(
            estimator,
            sensitive_features=sensitive_features,
            threshold=threshold,
            response_method=response_method,
            bounds=bounds,
            categories=categories,
            steps=steps,
            one_hot=one_hot,
            constraint=constraint,
            plausible=plausible,
            given=given,
            space=space,
            proposals=proposals,
            max_queries=max_queries,
            max_time=max_time,
            max_found=max_found,
            max_inputs=max_inputs,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.preset = preset
        self.population_size = population_size
        self.crossover_proba = crossover_proba
        self.mutation_proba = mutation_proba
        self.newcomer_rate = newcomer_rate
        self.cache_proba = cache_proba
        self.local_search = local_search
        self.n_islands = n_islands

    def _check_own_params(self) -> None:
        if self.preset not in PRESETS:
            raise ValueError(f"preset must be one of {list(PRESETS)}; got {self.preset!r}.")
        check_whole(self, {"population_size": 2, "n_islands": 1}, optional=("n_islands",))
        shares = ("crossover_proba", "mutation_proba", "newcomer_rate", "cache_proba")
        check_real(self, dict.fromkeys(shares, "[0, 1]"))

    def _search(self, oracle: Oracle, rng: np.random.Generator) -> None:
        PRESETS[self.preset](
            oracle,
            rng,
            n_islands=self.n_islands or self._default_islands(),
            population_size=self.population_size,
            crossover_proba=self.crossover_proba,
            mutation_proba=self.mutation_proba,
            newcomer_rate=self.newcomer_rate,
            cache_proba=self.cache_proba,
            local_search=self.local_search,
        ).run()

    def _default_islands(self) -> int:
        if self.preset == "paper":
            return 1
        if self.max_queries is None:
            return MOST_ISLANDS
        return max(1, min(MOST_ISLANDS, int(self.max_queries) // QUERIES_AN_ISLAND))
