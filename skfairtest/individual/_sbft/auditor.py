"""SBFT: search-based fairness testing (Perera et al. 2022)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skfairtest._docstrings import document
from skfairtest._parameters import one_of, real, whole
from skfairtest._typing import Floats
from skfairtest.base import BaseAuditor
from skfairtest.individual._sbft.ledger import OPERATORS, estimated_range
from skfairtest.individual._sbft.paper import PaperSearch
from skfairtest.individual._sbft.tuned import TunedSearch
from skfairtest.oracle._findings import Findings
from skfairtest.oracle._oracle import Oracle
from skfairtest.space._space import InputSpace

PRESETS = ("tuned", "paper")
#: Inputs in a population: the published number, and the elites of an island.
POPULATIONS = {"paper": 100, "tuned": 30}


@document
class SBFTAuditor(BaseAuditor):
    """Audit by search-based fairness testing: a genetic search for the largest disparity.

    The population holds inputs; the fitness of an input is the difference between the model's
    outputs to its twins, which differ in the sensitive attributes only. What is found is a lower
    bound of the fairness degree, the largest such difference over the whole input domain.

    Parameters
    ----------
    {parameters}
    {n_restarts}
    preset : {"tuned", "paper"}, default="tuned"
        "paper" is the published algorithm to the letter. "tuned" improves single inputs along their
        columns, several values of several columns in one batch, and crosses the ends of such
        climbs; an island of inputs that has stalled is left for a new one of other rows. With the
        same seed a larger budget goes on where a smaller one ends.
    population_size : int, default=None
        Inputs in a population; None: 100 for "paper", 30 ends of climbs for "tuned".
    crossover_proba : float, default=0.75
        Probability that two parents exchange values; "tuned": that a climb starts from a crossing
        of two inputs, not from a row of the data.
    mutation_proba : float, default=0.7
        "paper" only: probability for each value of a child to be drawn anew.
    newcomer_rate : float, default=0.1
        "paper" only: random inputs that join in each generation, as a share of the population.
    cache_proba : float, default=0.5
        "paper" only: probability that an input is judged by the pair of sensitive values that
        showed the largest disparity so far.
    local_search : bool, default=True
        "paper" only: try single steps around the best input in each generation.
    n_islands : int, default=1
        "paper" only: populations that evolve beside each other and share each ``predict`` call.
    n_climbers : int, default=None
        "tuned" only: inputs that are improved at the same time and share each ``predict`` call.
        None: four at first, and up to 24 as the run goes on; more where columns are few.

    Attributes
    ----------
    {attributes}
    operators_ : DataFrame
        "tuned" only: what each operator cost and brought: inputs judged (known ones as well),
        queries, discriminatory inputs among those judged (known ones as well), and the gain in
        degree. "rows" are rows of the data and uniform inputs, "lines" single changes of one
        column, "combined" changes that were better, together, "drift" changes that made no
        difference, together, "pairs" other sensitive values, "crossed" children of two inputs,
        "relinked" single differences between a child's parents.
    island_degrees_ : ndarray
        "tuned" only: the largest disparity that each island which began from rows of the data has
        reached by itself, in their order; the last one was still searching.
    degree_estimate_ : tuple of two floats
        "tuned" only: an estimate, and no bound, of where the largest disparity of the domain lies:
        from `fairness_degree_` to a value beyond it by how far apart the two best islands are; see
        Notes. The second is infinite where one island alone has searched. `CertifiedAuditor` gives
        a bound that holds.

    See Also
    --------
    RandomAuditor : Uniform random inputs, the yardstick.

    Notes
    -----
    The degree is that of one pair of twins. Twins need not be realistic people, and other columns
    may stand for a sensitive one.
    A degree of zero does not show that a model is fair.

    With `preset="tuned"` islands search one after the other, each from rows of its own, until they
    stall. If several end at the same disparity, more budget is unlikely to bring more. So
    `degree_estimate_` takes what they reached as draws of one chance and gives the limits of
    Robson and Whitlock [2]_ for its end: three times the difference of the two largest values
    beyond the largest, which would hold in three of four cases if the islands were such draws. They
    are not quite, and all of them may miss the same narrow place.

    References
    ----------
    .. [1] Perera, A., Aleti, A., Tantithamthavorn, C., Jiarpakdee, J., Turhan, B., Kuhn, L., &
       Walker, K. (2022). Search-based fairness testing for regression-based machine learning
       systems. Empirical Software Engineering, 27(3). https://doi.org/10.1007/s10664-022-10116-7
    .. [2] Robson, D. S., & Whitlock, J. H. (1964). Estimation of a truncation point. Biometrika,
       51(1-2), 33-39.

    Examples
    --------
    >>> from skfairtest import SBFTAuditor
    >>> from skfairtest.datasets import make_biased_regression
    >>> data = make_biased_regression(variant="narrow", random_state=0)
    >>> auditor = SBFTAuditor(data.estimator, max_queries=5000, random_state=0).fit(data.data)
    >>> round(auditor.fairness_degree_, 3), data.fairness_degree
    (10.0, 10.0)
    >>> auditor.worst_case_["sex"].tolist()
    ['male', 'female']
    """

    preset: str = one_of(default="tuned", options=PRESETS)
    population_size: int | None = whole(default=None, least=2)
    crossover_proba: float = real(default=0.75, interval="[0, 1]")
    mutation_proba: float = real(default=0.7, interval="[0, 1]")
    newcomer_rate: float = real(default=0.1, interval="[0, 1]")
    cache_proba: float = real(default=0.5, interval="[0, 1]")
    local_search: bool = True
    n_islands: int = whole(default=1, least=1)
    n_climbers: int | None = whole(default=None, least=1)

    def _search(self, oracle: Oracle, rng: np.random.Generator) -> None:
        size = self.population_size or POPULATIONS[self.preset]
        if self.preset == "paper":
            PaperSearch(
                oracle,
                rng,
                n_islands=self.n_islands,
                population_size=size,
                crossover_proba=self.crossover_proba,
                mutation_proba=self.mutation_proba,
                newcomer_rate=self.newcomer_rate,
                cache_proba=self.cache_proba,
                local_search=self.local_search,
            ).run()
            return
        search = TunedSearch(
            oracle,
            rng,
            population_size=size,
            crossover_proba=self.crossover_proba,
            n_climbers=self.n_climbers,
        )
        oracle.measured["operators"] = search.ledger
        oracle.measured["island_bests"] = search.island_bests
        search.run()

    def _own_results(self, found: Findings, space: InputSpace) -> dict[str, Any]:
        tuned = [one for one in found.measured if "operators" in one]
        if not tuned:
            return {}
        tables = [one["operators"].arrays() for one in tuned]
        operators = {name: sum(table[name] for table in tables) for name in tables[0]}
        bests = np.concatenate([np.array(one["island_bests"]) for one in tuned])
        return {"operators": operators, "island_bests": bests}

    def _of_tuned(self, name: str, part: str) -> Any:
        state = self._result(name)
        if part not in state:
            raise AttributeError(f"{name} is there with preset='tuned' only.")
        return state[part]

    @property
    def operators_(self) -> pd.DataFrame:
        """What each operator cost and brought."""
        return pd.DataFrame(
            self._of_tuned("operators_", "operators"), index=pd.Index(OPERATORS, name="operator")
        )

    @property
    def island_degrees_(self) -> Floats:
        """The largest disparity that each island has reached by itself."""
        bests: Floats = self._of_tuned("island_degrees_", "island_bests")
        return bests

    @property
    def degree_estimate_(self) -> tuple[float, float]:
        """An estimate, no bound, of where the largest disparity lies."""
        bests = self._of_tuned("degree_estimate_", "island_bests")
        return estimated_range(bests.tolist(), self.fairness_degree_)
