"""SBFT: search-based fairness testing (Perera et al. 2022), as we have tuned it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skfairtest._parameters import real, whole
from skfairtest._typing import Floats
from skfairtest.base import BaseAuditor
from skfairtest.individual._sbft.population import OPERATORS, estimated_range
from skfairtest.individual._sbft.tuned import TunedSearch
from skfairtest.oracle._findings import Findings
from skfairtest.oracle._handle import SearchHandle
from skfairtest.space._space import InputSpace


class SBFTAuditor(BaseAuditor):
    """Audit by search-based fairness testing (SBFT): search for the largest disparity.

    The fitness of an input is the difference between the model's outputs for its twins, which
    differ in the sensitive attributes only. The best inputs so far, at first rows of the data and
    uniform inputs, are a population that has children: some columns of a second parent, a few
    changed columns, another pair of sensitive values. Many of the first pairs have the least and
    the largest value of a sensitive number. Among the children of the first 1,500 inputs a
    surrogate chooses, which is fitted to the answers so far: Gaussian processes of the difference
    and of the mean of the twins' outputs, of probabilities as log-odds. If nothing better comes, a
    new subpopulation starts from other rows of the data. The result is a lower bound of the
    fairness degree, the largest difference over the whole input domain. With the same seed a larger
    budget continues the search of a smaller one, up to the last batches, which the budget cuts.
    `PublishedSBFTAuditor` is the algorithm of the paper.

    Parameters
    ----------
    population_size : int, default=None
        Number of inputs that children come from. None means 16 at first, and up to 32 as the run
        goes on.
    crossover_proba : float, default=0.6
        Probability that a child takes columns of a second parent: another input of the population,
        or a row of the data.

    Attributes
    ----------
    operators_ : DataFrame
        What each operator cost and what it contributed: the inputs that it judged and the
        discriminatory ones among these (both include inputs known before), the queries, and the
        gain in degree. "rows" judges rows of the data and uniform inputs, "chosen" the children
        that the surrogate chose of many, and "drawn" other children as they come.
    subpopulation_degrees_ : ndarray
        The largest disparity that each subpopulation has reached by itself, in order, for those
        that began from rows of the data; the last one was still searching.
    degree_estimate_ : tuple of two floats
        An estimate, not a bound, of where the largest disparity of the domain lies: from
        `fairness_degree_` to a larger value that follows from how far apart the two best
        subpopulations are (see Notes). The second value is infinite if only one subpopulation has
        searched, as with few queries, or nothing was found: then there is no estimate. It is at
        most 1 for probabilities and labels. `CertifiedAuditor` gives a bound that holds.

    See Also
    --------
    PublishedSBFTAuditor : Runs the algorithm of the paper to the letter.
    RandomAuditor : Draws uniform random inputs, the baseline of every search.

    Notes
    -----
    The degree is that of one pair of twins. Twins need not be realistic people, and other columns
    may stand for a sensitive one. A degree of zero does not show that a model is fair.

    If the `space` has ``proposals="data"`` or `plausible`, a child takes values of a row of X that
    is near it, the nearest of thirty, and none of the rest of the domain.

    Where time is the only limit (``max_queries=None``), batches are larger if a call of the model
    takes long and a row does not, as with a forest behind a pipeline, or a service.

    Subpopulations search one after the other, each from rows of its own, until they stall. If
    several end at the same disparity, a larger budget is less likely to find a larger one. So
    `degree_estimate_` treats the disparities that they reached as independent draws from one
    distribution, and gives the limits of Robson and Whitlock [2]_ for its end at a confidence of
    90%: the largest value, and that value plus nine times the difference of the two largest. At
    least a tenth of the degree is left above it, as subpopulations may all miss the same narrow
    place.

    Measured on 20 certified models, five seeds each: with 300 queries there was never an estimate,
    with 1,000 in 27% of the runs, of which it held the certified degree in 93%. With 3,000 there
    was one in 61%, and it held in 92% of these; with 20,000 in 88% of the runs, and it held in 91%.
    The median width was a tenth of the degree.

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

    population_size: int | None = whole(default=None, least=1)
    crossover_proba: float = real(default=0.6, interval="[0, 1]")

    def _run_search(self, search: SearchHandle, rng: np.random.Generator) -> None:
        tuned = TunedSearch(
            search,
            rng,
            population_size=self.population_size,
            crossover_proba=self.crossover_proba,
        )
        search.measured["operators"] = tuned.stats
        search.measured["subpopulation_bests"] = tuned.subpopulation_bests
        tuned.run()

    def _own_results(self, found: Findings, space: InputSpace) -> dict[str, Any]:
        searches = [one for one in found.measured if "operators" in one]
        if not searches:
            return {}
        tables = [one["operators"].arrays() for one in searches]
        operators = {name: sum(table[name] for table in tables) for name in tables[0]}
        bests = np.concatenate([np.array(one["subpopulation_bests"]) for one in searches])
        return {"operators": operators, "subpopulation_bests": bests}

    def _of_tuned(self, name: str, part: str) -> Any:
        state = self._result(name)
        if part not in state:
            raise AttributeError(f"There is no {name}, as the run ended before the search began.")
        return state[part]

    @property
    def operators_(self) -> pd.DataFrame:
        """What each operator of the search cost and contributed."""
        return pd.DataFrame(
            self._of_tuned("operators_", "operators"), index=pd.Index(OPERATORS, name="operator")
        )

    @property
    def subpopulation_degrees_(self) -> Floats:
        """The largest disparity that each subpopulation has reached by itself."""
        bests: Floats = self._of_tuned("subpopulation_degrees_", "subpopulation_bests")
        return bests

    @property
    def degree_estimate_(self) -> tuple[float, float]:
        """An estimate, not a bound, of where the largest disparity lies."""
        bests = self._of_tuned("degree_estimate_", "subpopulation_bests")
        low, high = estimated_range(bests.tolist(), self.fairness_degree_)
        if self.response_ not in ("predict_proba", "labels") or high == np.inf:
            return low, high
        return low, min(high, 1.0)  # probabilities do not differ by more, nor do labels
