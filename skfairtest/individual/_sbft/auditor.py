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
from skfairtest.oracle._oracle import Oracle
from skfairtest.space._space import InputSpace


class SBFTAuditor(BaseAuditor):
    """Audit by search-based fairness testing (SBFT): search for the largest disparity.

    The fitness of an input is the difference between the model's outputs for its twins, which
    differ in the sensitive attributes only. The first few hundred inputs are children of the best
    ones, chosen by a model of the difference; many of the first pairs have the least and the
    largest value of a sensitive number. Then a population of inputs climbs: a few columns of each
    are changed, or taken from another, in several children, and the best child takes its place if
    it is not worse. If a population, an island, finds nothing better, a new one starts from other
    rows of the data. The result is a lower bound of the fairness degree, the largest difference
    over the whole input domain. With the same seed a larger budget continues the search of a
    smaller one. `PublishedSBFTAuditor` is the algorithm of the paper.

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
    population_size : int, default=None
        Number of inputs that are improved at the same time. None means four at first, and up to 24
        as the run goes on.
    crossover_proba : float, default=0.2
        Probability that a child takes columns of another input of the population; other children
        have a few changed columns.

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
    operators_ : DataFrame
        What each operator cost and what it contributed: the inputs that it judged and the
        discriminatory ones among these (both include inputs known before), the queries, and the
        gain in degree. "rows" judges rows of the data and uniform inputs. "changed" gives a few
        columns of an input other values, and "crossed" those of another input. "pairs" tries other
        sensitive values.
    island_degrees_ : ndarray
        The largest disparity that each island has reached by itself, in order, for islands that
        began from rows of the data; the last one was still searching.
    degree_estimate_ : tuple of two floats
        An estimate, not a bound, of where the largest disparity of the domain lies: from
        `fairness_degree_` to a larger value that follows from how far apart the two best islands
        are (see Notes). The second value is infinite if only one island has searched, as with few
        queries, or nothing was found: then there is no estimate. It is at most 1 for probabilities
        and labels.
        `CertifiedAuditor` gives a bound that holds.

    See Also
    --------
    PublishedSBFTAuditor : Runs the algorithm of the paper to the letter.
    RandomAuditor : Draws uniform random inputs, the baseline of every search.

    Notes
    -----
    The degree is that of one pair of twins. Twins need not be realistic people, and other columns
    may stand for a sensitive one. A degree of zero does not show that a model is fair.

    Where time is the only limit (``max_queries=None``), batches are larger if a call of the model
    takes long and a row does not, as with a forest behind a pipeline, or a service.

    Islands search one after the other, each from rows of its own, until they stall. If several end
    at the same disparity, a larger budget is less likely to find a larger one. So
    `degree_estimate_` treats the disparities that they reached as independent draws from one
    distribution, and gives the limits of Robson and Whitlock [2]_ for its end at a confidence of
    90%: the largest value, and that value plus nine times the difference of the two largest. At
    least a tenth of the degree is left above it, as islands may all miss the same narrow place.

    Measured on 24 certified models, three seeds each: with 300 and 1,000 queries there was never an
    estimate, and with 3,000 in 11% of the runs, of which it held the certified degree in 88%. With
    10,000 there was one in 79%, and it held in 96% of these; with 20,000 in 96% of the runs, and it
    held in 96%. The median width was then a sixth of the degree.

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
    crossover_proba: float = real(default=0.2, interval="[0, 1]")

    def _search(self, oracle: Oracle, rng: np.random.Generator) -> None:
        search = TunedSearch(
            oracle,
            rng,
            population_size=self.population_size,
            crossover_proba=self.crossover_proba,
        )
        oracle.measured["operators"] = search.stats
        oracle.measured["island_bests"] = search.island_bests
        search.run()

    def _own_results(self, found: Findings, space: InputSpace) -> dict[str, Any]:
        searches = [one for one in found.measured if "operators" in one]
        if not searches:
            return {}
        tables = [one["operators"].arrays() for one in searches]
        operators = {name: sum(table[name] for table in tables) for name in tables[0]}
        bests = np.concatenate([np.array(one["island_bests"]) for one in searches])
        return {"operators": operators, "island_bests": bests}

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
    def island_degrees_(self) -> Floats:
        """The largest disparity that each island has reached by itself."""
        bests: Floats = self._of_tuned("island_degrees_", "island_bests")
        return bests

    @property
    def degree_estimate_(self) -> tuple[float, float]:
        """An estimate, not a bound, of where the largest disparity lies."""
        bests = self._of_tuned("degree_estimate_", "island_bests")
        low, high = estimated_range(bests.tolist(), self.fairness_degree_)
        if self.response_ not in ("predict_proba", "labels") or high == np.inf:
            return low, high
        return low, min(high, 1.0)  # probabilities do not differ by more, nor do labels
