"""CertifiedAuditor searches for the largest disparity and computes an upper bound of it."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
import pandas as pd

from skfairtest import _clock
from skfairtest._parameters import checked
from skfairtest._typing import is_real
from skfairtest.base import BaseAuditor
from skfairtest.exact._bounding import Closed, close, note_root_bound
from skfairtest.exact._dispatch import read_verifier, response_of
from skfairtest.exact._support import Support, support_of
from skfairtest.exact._verifier import COLUMNS, BoundHistory, SolverLimits
from skfairtest.individual._sbft.tuned import TunedSearch
from skfairtest.oracle._findings import Findings
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._model import check_response_method
from skfairtest.oracle._stop import StopReason, StopSearch
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._readers import check_model
from skfairtest.workers._compiled import why_not


def check_seconds(name: str, value: Any) -> None:
    """Check a time limit, which may be 0."""
    if value is not None and not (is_real(value) and value >= 0):
        raise ValueError(f"{name} must be None or a number of seconds, at least 0; got {value!r}.")


class CertifiedAuditor(BaseAuditor):
    """Find the largest disparity and certify an upper bound that no disparity exceeds.

    The structure of the model is read from its fitted attributes. Branch and bound, or a closed
    form, then finds the largest disparity over the whole input domain or bounds it from above. A
    quick genetic search comes first, so that a good pair is known from the start. The estimator
    confirms the reported pair, as with every auditor.

    Parameters
    ----------
    max_time : float, default=60.0
        Time limit in seconds for everything that `fit` does. With None, `fit` goes on until the
        bounds agree.
    rtol : float, default=1e-9
        Relative gap up to which the bounds count as equal.
    engine : {"auto", "numba", "numpy"}, default="auto"
        Library that runs the branch and bound on trees. "auto" begins with NumPy. Where that has
        not closed the gap after two seconds, the compiled search takes over, if it is there:
        it comes with numba (the extra ``exact``) and ``skfairtest compile``, once on a machine,
        and leaves narrower gaps of large models. "auto" never compiles. "numba" begins with
        the compiled search, and compiles it first where it is not there, which takes most of a
        minute, however short `max_time` is.

    Attributes
    ----------
    fairness_degree_upper_bound_ : float
        Upper bound: no disparity in the domain is larger.
    gap_ : float
        The upper bound minus the fairness degree.
    certified_ : bool
        Whether the gap is at most `rtol` times the bound, which includes the rounding of the
        model's own sums. For a model that computes in single precision the gap may be as large as
        that rounding, but no larger than 1e-4 of the bound; `stop_reason_` then says how large.
    is_loose_ : bool
        Whether the upper bound is more than twice the fairness degree. Such a bound is valid, but
        says little.
    engine_ : str
        What searched for the bound of a model of trees, "numpy" or "numba"; empty where no boxes
        were searched.
    n_boxes_ : int
        Number of boxes of the domain that the branch and bound examined.
    bound_history_ : DataFrame
        The bounds over time: seconds, boxes, degree, bound. A row is what was known after so
        many seconds: no disparity is above the bound, and one of the degree was found.
    n_check_queries_ : int
        Number of queries that check whether the model was read correctly, which `n_queries_` does
        not count.

    See Also
    --------
    certify : Bounds the fairness degree from the best pair of any fitted auditor.
    SBFTAuditor : Searches with any estimator, without a bound.

    Notes
    -----
    These models can be certified, alone or behind steps that work on single columns: linear models,
    linear discriminants and generalized linear models (such as `PoissonRegressor`); decision trees,
    forests, extra-trees and gradient boosting, also of XGBoost, LightGBM and CatBoost; explainable
    boosting of InterpretML; and networks (`MLPRegressor`, `MLPClassifier` with any activation). So
    can models around these: averages (Bagging, Voting), stacks with a linear final estimator,
    `TransformedTargetRegressor`, `CalibratedClassifierCV` and `OneVsRestClassifier`. Averages of
    linear models are linear, and of trees one sum of trees; where models of different kinds are
    mixed, or links follow on links, the bound follows from those of the inner models.
    For any other model `fit` raises an error that names what is not supported; `supports` says so
    beforehand. For `MarginalizedClassifier` and `MarginalizedRegressor` the bound is
    (1 - strength) times that of the inner model; they have to average over all of the audited
    columns. If the domain is finite and has at most 100,000 inputs, twins included,
    all of them are examined in the model as it was read, unless its own bound closes sooner.

    The certificate holds for the domain that `space` describes. For a real column, sensitive or
    not, it covers the closed interval, and the missing value if X has one there. Rows of X outside
    the domain may have larger disparities; they are not examined. The reported pair satisfies every
    constraint. Constraint objects such as `Order` narrow the domain and cut off parts that contain
    no valid row. A constraint that is a callable narrows nothing: where not all inputs are
    examined, the bound is that of the whole box, and so it holds for the valid part, too. No bound
    depends on `plausible`.

    XGBoost, and linear models and networks that were fitted on float32 columns, compute in single
    precision. The bound includes their rounding. Bounds that agree up to that
    rounding, and to 1e-4 of the bound, counts as certified, and `stop_reason_` says how far the
    ends are apart. `fairness_degree_` is what the model itself says, rounding included, and may so
    be above the difference that exact sums would have.

    Bounds agree if they differ by no more than `rtol` after they are moved apart by the possible
    rounding error of the model's own sums. `SVC` and `SVR` with a linear kernel sum one term for
    each support vector, and may need a wider `rtol`, such as 1e-6.

    With `n_jobs` and numba, several threads of this machine share the boxes of a model of trees.

    `max_queries` and `max_time` limit the first search, too. Reading the model and bounding count
    as time, and so does compiling with ``engine="numba"``. With ``max_time=0`` the bound follows
    from the ranges of the model's parts alone.

    A certified degree of zero says that the model gives all twins the same prediction. It does not
    say that the model is fair, since other columns may be proxies for the sensitive ones.

    References
    ----------
    .. [1] Kantchelian, A., Tygar, J. D., & Joseph, A. (2016). Evasion and hardening of tree
       ensemble classifiers. ICML, 2387-2396.
    .. [2] Devos, L., Meert, W., & Davis, J. (2021). Versatile verification of tree ensembles. ICML,
       2654-2664.
    .. [3] Zhang, H., Weng, T.-W., Chen, P.-Y., Hsieh, C.-J., & Daniel, L. (2018). Efficient neural
       network robustness certification with general activation functions. NeurIPS, 4939-4948.
    .. [4] Mišić, V. V. (2020). Optimization of tree ensembles. Operations Research, 68(5),
       1605-1624.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skfairtest import CertifiedAuditor
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.integers(0, 2, 300), rng.normal(size=300)])
    >>> model = DecisionTreeRegressor(max_depth=4).fit(X, X[:, 0] * (X[:, 1] > 1))
    >>> auditor = CertifiedAuditor(model, sensitive_features=[0], random_state=0).fit(X)
    >>> auditor.fairness_degree_, round(auditor.fairness_degree_upper_bound_, 9)
    (1.0, 1.0)
    >>> auditor.certified_
    True
    """

    _is_white_box = True

    max_time: float | None = checked(default=60.0, check=check_seconds)
    # Boxes are shared out instead of searches.
    n_restarts: int = field(default=1, init=False)
    rtol: float = 1e-9
    engine: str = "auto"

    @staticmethod
    def supports(estimator: Any, response_method: str = "auto") -> Support:
        """Tell whether a model and its settings can be certified, and if not, why.

        Parameters
        ----------
        estimator : estimator
            A model or pipeline, fitted or not.
        response_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
            As in `CertifiedAuditor`: method by which a classifier is asked.

        Returns
        -------
        Support
            It is false, as a condition, if `fit` would raise an error because of the model or of
            its parameters; its `reason` says why, and `nearest` says what works instead. Only `fit`
            notices what depends on the data, such as real columns before a step that needs few
            values. Of an unfitted model, these are also the number of classes and targets: two and
            one are assumed, or several where a parameter is meant for these.

        Examples
        --------
        >>> from sklearn.linear_model import Ridge
        >>> from sklearn.preprocessing import Normalizer
        >>> from sklearn.pipeline import make_pipeline
        >>> from skfairtest import CertifiedAuditor
        >>> bool(CertifiedAuditor.supports(Ridge()))
        True
        >>> support = CertifiedAuditor.supports(make_pipeline(Normalizer(), Ridge()))
        >>> bool(support), support.reason
        (False, 'The step Normalizer() is not understood.')
        >>> support.nearest[:48]
        'StandardScaler scales columns instead of rows. M'
        """
        check_response_method(response_method)
        try:
            check_model(estimator, response_of(estimator, response_method))
        except (TypeError, ValueError) as error:
            return support_of(error)
        return support_of(None)

    def _check_own_params(self) -> None:
        check_certificate_params(self.rtol, self.engine)
        if not hasattr(self.estimator, "fit"):
            # Before it is asked about tables, which a booster of some library cannot read.
            check_model(self.estimator, "unknown")

    def _prepare(self, search: SearchHandle) -> None:
        check_model(search.estimator, search.response)  # an error before the first query

    def _run_search(self, search: SearchHandle, rng: np.random.Generator) -> None:
        seconds = np.inf if self.max_time is None else float(self.max_time)
        # The clock of the run is that of the search, so that reading the model takes from it, too.
        limits = SolverLimits(_clock.now() - search.so_far.seconds + seconds, self.rtol)
        verifier, n_check_queries = read_verifier(
            search.estimator, search.space.relax_descendants(), search.response,
            COMPILED[self.engine], rng, self.n_jobs, limits.deadline,
        )  # fmt: skip
        search.measured["n_check_queries_"] = n_check_queries
        history = BoundHistory(lambda: search.so_far.seconds)
        note_root_bound(search, verifier, history)
        # Whatever ends the run from here on, the results are those of what is known then.
        search.measured["history"] = history
        # Where the bound takes next to no time, a short search finds pairs to begin with.
        most = 500 if verifier.quick else verifier.first_queries
        stop: StopSearch | None = None
        try:
            self._first_search(search, rng, most, seconds)
        except StopSearch as raised:
            # The bound is still to come; after a callback it is the one that takes no time.
            stop = raised if raised.kind is StopReason.CALLBACK else None
        if stop is not None:
            limits = limits._replace(deadline=-np.inf)
        closed = close(search, verifier, limits, history)
        search.measured["closed"] = closed
        raise stop or StopSearch(closed.kind, closed.reason)

    def _first_search(
        self, search: SearchHandle, rng: np.random.Generator, most: float, seconds: float
    ) -> None:
        """Run a genetic search on a share of the budget; without time, judge a few rows of data."""
        if seconds == 0:
            # 16 rows of data take next to no time.
            rows = search.space.domain.move_inside(search.space.data[:16], rng)
            search.evaluate(rows, search.pairs(rows, rng))
            return
        spent = search.so_far
        total = search.left.queries + spent.queries
        # 64 queries are kept back to confirm the pair that the search for a bound finds.
        queries = min(most, max(total / 2, total - 64))
        if not np.isfinite(queries) and not np.isfinite(seconds):
            queries = 20_000.0
        left = max(0.0, seconds - spent.seconds)
        # The bound has three quarters of the time.
        with search.sub_budget(max_queries=queries - spent.queries, max_time=0.25 * left):
            TunedSearch(search, rng).run()

    def _own_results(self, found: Findings, space: InputSpace) -> dict[str, Any]:
        (measured,) = found.measured
        results = {name: value for name, value in measured.items() if name == "n_check_queries_"}
        if "history" not in measured:  # the model was not read
            return results | {"bound_history": {name: np.empty(0) for name in COLUMNS}}
        history: BoundHistory = measured["history"]
        closed: Closed | None = measured.get("closed")
        known = history.bounds(found.degree, self.rtol) if closed is None else closed.bounds
        history.end(known, found.seconds)
        return results | {
            "fairness_degree_upper_bound_": known.upper,
            "gap_": known.gap,
            "certified_": known.certified,
            "is_loose_": known.is_loose,
            "engine_": "" if closed is None else closed.engine,
            "n_boxes_": history.n_boxes,
            "bound_history": {name: np.asarray(own) for name, own in history.points.items()},
        }

    @property
    def bound_history_(self) -> pd.DataFrame:
        """The bounds over time: seconds, boxes, degree, bound."""
        return pd.DataFrame(self._result("bound_history_")["bound_history"])


COMPILED: dict[str, bool | None] = {"auto": None, "numba": True, "numpy": False}


def check_certificate_params(rtol: Any, engine: str) -> None:
    """Check the parameters of a certificate."""
    if not is_real(rtol) or not 0 <= float(rtol) < 1:
        raise ValueError(f"rtol must be a number in [0, 1); got {rtol!r}. The default is 1e-9.")
    if engine not in COMPILED:
        raise ValueError(f"engine must be one of {list(COMPILED)}; got {engine!r}.")
    if engine == "numba":
        if why := why_not():
            raise ImportError(
                f"engine='numba' cannot be used: {why}. Install the extra `exact` (pip install "
                "'skfairtest[exact]'), or use engine='auto' or 'numpy'."
            )
