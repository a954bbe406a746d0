"""BaseAuditor: what every tester shares. A tester adds one hook, `_search`."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from skfairtest._containers import make_container
from skfairtest._delegation import DelegatingEstimator
from skfairtest._oracle import Oracle, StopSearch
from skfairtest._progress import FIT_WRAPPERS, CallbackSupportMixin, Progress, with_callbacks
from skfairtest._protected import protected_names
from skfairtest._results import AuditResults
from skfairtest._space import InputSpace
from skfairtest.exceptions import NoDisparityWarning

__all__ = ["BaseAuditor"]

#: Inputs looked at to see that the constraint leaves twins to compare.
CONSTRAINT_PROBE = 256


class BaseAuditor(CallbackSupportMixin, AuditResults, DelegatingEstimator):
    """Base of all auditors; subclasses write `_search` and their parameters.

    A subclass passes the shared parameters on to this ``__init__`` and sets its own beside them.
    The search is a plain loop that asks ``oracle.disparity(Z)`` and never returns by itself unless
    it is done:
    the oracle ends the run when the budget is spent.

    See Also
    --------
    SBFTAuditor : Searches for the largest disparity.
    RandomAuditor : Uniform random inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skfairtest.base import BaseAuditor
    >>> class CornerAuditor(BaseAuditor):
    ...     def _search(self, oracle, rng):
    ...         oracle.disparity(np.vstack([oracle.space.low, oracle.space.high]))
    >>> X = np.array([[0.0, 1.0], [1.0, 5.0], [0.0, 3.0]])
    >>> model = LinearRegression().fit(X, [0.0, 2.0, 0.0])
    >>> round(CornerAuditor(model, sensitive_features=[0]).fit(X).fairness_degree_, 6)
    2.0
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
        constraint: Any = None,
        max_queries: int | None = 20_000,
        max_time: float | None = None,
        max_found: int | None = None,
        max_inputs: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.sensitive_features = sensitive_features
        self.threshold = threshold
        self.response_method = response_method
        self.bounds = bounds
        self.categories = categories
        self.steps = steps
        self.constraint = constraint
        self.max_queries = max_queries
        self.max_time = max_time
        self.max_found = max_found
        self.max_inputs = max_inputs
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    #: Whether ``max_time=0`` has a meaning; a search needs time.
    _max_time_may_be_zero = False

    def _search(self, oracle: Oracle, rng: np.random.Generator) -> None:
        """Spend the budget; the one hook of a tester."""
        raise NotImplementedError(f"{type(self).__name__} has no _search.")

    def _check_own_params(self) -> None:
        """Check the parameters that a subclass adds; a hook that may be left alone."""

    # Fit -----------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Audit the estimator on the input space of X.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Data that shows which inputs exist: columns, kinds, domains.
        y : array-like of shape (n_samples,), default=None
            With targets, a clone of the estimator is fitted first (a `FrozenEstimator` never is);
            without, the estimator is audited as it stands.
        **fit_params : dict
            Passed to the estimator's ``fit``, or routed when metadata routing is on.

        Returns
        -------
        self : object
            The fitted auditor.

        Raises
        ------
        ValueError, TypeError
            For parameters and input that cannot be audited, before the first query.
        NotFittedError
            If the estimator is not fitted and `y` is not given.
        EstimatorFailedError
            If the estimator fails during the audit; results so far stay readable.
        """
        self._check_params()
        X = self._check_table(X)
        rng = _generator(self.random_state)
        space = self._make_space(X)
        _check_constraint(space, self.constraint, rng)
        self.estimator_ = self._make_estimator(X, y, fit_params)
        self.space_ = space
        self.sensitive_features_ = space.sensitive_features
        progress = Progress(self, X, self.verbose)
        if self.verbose:
            print(f"[{type(self).__name__}] sensitive: {self.sensitive_features_!r}")
        oracle = Oracle(
            self.estimator_,
            space,
            max_queries=self.max_queries,
            max_time=self.max_time or None,  # an auditor that takes 0 looks at it itself
            max_found=self.max_found,
            max_inputs=self.max_inputs,
            progress=progress.update,
            **self._oracle_settings(),
        )
        self._run(oracle, rng)
        progress.finish()
        return self

    def _run(self, oracle: Oracle, rng: np.random.Generator) -> None:
        reason = "the search was complete"
        try:
            oracle.begin(oracle.space.repair(oracle.space.data[:64], rng))
            self._search(oracle, rng)
        except StopSearch as stop:
            reason = stop.reason
        except BaseException as error:
            # Ctrl-C and failures of the model go on to the caller, but what was found is kept.
            interrupted = isinstance(error, KeyboardInterrupt)
            self._store(oracle, "interrupted" if interrupted else f"failed: {error}")
            raise
        self._store(oracle, reason)
        if oracle.degree == 0 and not oracle.archive.n_found:
            warnings.warn(
                f"No disparity in {oracle.n_inputs} inputs ({oracle.n_queries} queries): the "
                f"estimator "
                f"seems to ignore {self.sensitive_features_!r}. Expected if it never sees these "
                f"columns; "
                "other columns may still stand for them (proxies), which this audit does not show.",
                NoDisparityWarning,
                stacklevel=3 + FIT_WRAPPERS,
            )

    def _oracle_settings(self) -> dict[str, Any]:
        return {
            "threshold": self.threshold,
            "response_method": self.response_method,
            "n_jobs": self.n_jobs,
        }

    def _check_table(self, X: Any) -> Any:
        """X as a table, with names and number of its features noted."""
        is_frame = hasattr(X, "columns") and not isinstance(X, np.ndarray)
        if not is_frame:
            if sparse.issparse(X):
                make_container(X)  # says why sparse input cannot be audited
            X = check_array(X, dtype=None, ensure_all_finite=False, estimator=self)
        else:
            make_container(X)  # refuses duplicate names and foreign dtypes in our own words
        validate_data(self, X, skip_check_array=True)
        if is_frame and not hasattr(self, "feature_names_in_"):
            # Older releases of scikit-learn do not see the names of every kind of frame.
            names = make_container(X).names
            if all(isinstance(name, str) for name in names):
                self.feature_names_in_ = np.asarray(names, dtype=object)
        if not len(X):
            raise ValueError(
                f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required."
            )
        return X

    def _make_space(self, X: Any) -> InputSpace:
        sensitive = self.sensitive_features
        if isinstance(sensitive, str) and sensitive == "auto":
            names = make_container(X).names
            sensitive = protected_names(names)
            if not sensitive:
                raise ValueError(
                    "sensitive_features='auto' found no column with the name of a common "
                    "protected attribute "
                    f"(sex, race, age, ...) among {names!r}. Name the sensitive columns: "
                    "sensitive_features=[...]."
                )
        return InputSpace.from_data(
            X,
            sensitive,
            bounds=self.bounds,
            categories=self.categories,
            steps=self.steps,
            constraint=self.constraint,
        )

    def _make_estimator(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        if y is not None:
            if get_config()["enable_metadata_routing"]:
                fit_params = process_routing(self, "fit", **fit_params).estimator.fit
            return clone(self.estimator).fit(X, y, **fit_params)
        if fit_params:
            raise ValueError(
                f"fit got {sorted(fit_params)} without y; they are meant for the estimator's "
                f"fit, which "
                "is called with targets only. Pass y, or leave them out."
            )
        try:
            # A plain object with predict and without fit has nothing to be fitted.
            if hasattr(self.estimator, "fit"):
                check_is_fitted(self.estimator)
        except NotFittedError as error:
            raise NotFittedError(
                f"{type(self).__name__} requires y to be passed, but the target y is None, or an "
                f"estimator that is fitted; got an unfitted {type(self.estimator).__name__}. Call "
                "fit(X, y), or fit the estimator first."
            ) from error
        return self.estimator

    # Parameters ----------------------------------------------------------------------------

    def _check_params(self) -> None:
        if self.estimator is None:
            raise ValueError(
                f"{type(self).__name__}(estimator=None) is a template for scorers and retrainers, "
                "which set the estimator; it cannot be fitted itself. Give an estimator."
            )
        if isinstance(self.estimator, type):
            raise TypeError(
                f"estimator must be an instance; got the class {self.estimator.__name__}. Write "
                f"{self.estimator.__name__}()."
            )
        smallest = {"max_queries": 2, "max_time": 0, "max_found": 1, "max_inputs": 1}
        for name, least in smallest.items():
            _check_budget(name, getattr(self, name), least, may_be_zero=self._max_time_may_be_zero)
        if all(getattr(self, name) is None for name in smallest):
            raise ValueError(
                f"The run would never end: {', '.join(smallest)} are all None. Set at least one."
            )
        if self.threshold is not None and not _is_number(self.threshold, 0):
            raise ValueError(
                "threshold must be None or a finite number of at least 0, in the units of the "
                f"answers; got {self.threshold!r}."
            )
        self._check_own_params()


def _is_number(value: Any, least: float) -> bool:
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and math.isfinite(value) and value >= least


def _check_budget(name: str, value: Any, least: int, *, may_be_zero: bool = False) -> None:
    if value is None:
        return
    kind = (
        "a positive number of seconds"
        if name == "max_time"
        else f"a whole number of at least {least}"
    )
    fits = _is_number(value, least)
    if name == "max_time":
        fits = fits and (value > 0 or may_be_zero)
    else:
        fits = fits and value == int(value)
    if not fits:
        hint = " (a pair of twins is two queries)" if name == "max_queries" else ""
        raise ValueError(f"{name} must be None or {kind}{hint}; got {value!r}.")


def _generator(random_state: Any) -> np.random.Generator:
    """One generator from whatever scikit-learn users pass as random_state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, numbers.Integral):
        return np.random.default_rng(None if random_state is None else int(random_state))
    state = check_random_state(random_state)
    return np.random.default_rng(state.randint(0, 2**31, size=4))


def _check_constraint(space: InputSpace, constraint: Any, rng: np.random.Generator) -> None:
    """See that some valid input has two valid twins, before a query is spent."""
    if constraint is None:
        return
    Z = space.sample(CONSTRAINT_PROBE, rng)
    width = min(space.n_combinations, 64)
    n_valid = np.zeros(len(Z), dtype=int)
    for combination in rng.choice(space.n_combinations, size=width, replace=False):
        n_valid += space.valid(space.with_sensitive(Z, combination))
    # With many combinations the input's own is a twin that a sample of them may lack.
    if width < space.n_combinations:
        n_valid += 1
    if n_valid.max() < 2:
        raise ValueError(
            f"constraint= leaves no twins to compare: none of {len(Z)} valid inputs has two valid "
            f"combinations of {space.sensitive_features!r}. Let the constraint not fix the "
            f"sensitive columns."
        )
