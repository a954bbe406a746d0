"""BaseAuditor: what every tester shares. A tester adds one hook, `_search`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from skfairtest import _clock
from skfairtest._audit_results import AuditResults
from skfairtest._delegation import DelegatingEstimator
from skfairtest._progress import FIT_WRAPPERS, CallbackSupportMixin, Progress, with_callbacks
from skfairtest._typing import is_real
from skfairtest._validation import (
    as_it_stands,
    check_one_whole,
    check_table,
    fitted_estimator,
    make_generator,
    table_or_chunks,
    warn_of_retraining,
    warn_of_target,
)
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.finding._fitted_cards import auditor_card
from skfairtest.finding._shown import ShownFinding
from skfairtest.oracle._findings import Findings, findings_of, joint_stop, merged
from skfairtest.oracle._oracle import Oracle
from skfairtest.oracle._restarts import N_SEEDS, Searcher, run_restarts
from skfairtest.oracle._stop import LIMITS, StopReason, StopSearch, stopped_by
from skfairtest.space._chunks import Chunks
from skfairtest.space._learn_chunks import SAMPLE_ROWS, sample_chunks
from skfairtest.space._sensitive_features import SensitiveFeatures, not_taken, split_sensitive
from skfairtest.space._space import InputSpace
from skfairtest.space._valid_rows import ValidRows, is_late

__all__ = ["BaseAuditor"]

#: Where new inputs are drawn.
PROPOSALS = ("uniform", "data")
#: Parameters that describe the domain, in place of which `space` may be given, and their defaults.
DOMAIN = {
    "bounds": None,
    "categories": None,
    "steps": None,
    "one_hot": "auto",
    "constraint": None,
    "plausible": None,
    "given": None,
}
#: All parameters that tell which inputs are audited.
DOMAIN_PARAMS = (*DOMAIN, "sensitive_features", "space")
#: Inputs looked at to see that the constraint leaves twins to compare.
CONSTRAINT_PROBE = 256
#: Inputs below which a run without any disparity says little: of 300 random ones of which none
#: discriminates, the discriminatory share of the domain may still be 1% (at a confidence of 0.95).
FEW_INPUTS = 300


class BaseAuditor(ShownFinding, CallbackSupportMixin, AuditResults, DelegatingEstimator):
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
        n_restarts: int = 1,
    ) -> None:
        self.estimator = estimator
        self.sensitive_features = sensitive_features
        self.threshold = threshold
        self.response_method = response_method
        self.bounds = bounds
        self.categories = categories
        self.steps = steps
        self.one_hot = one_hot
        self.constraint = constraint
        self.plausible = plausible
        self.given = given
        self.space = space
        self.proposals = proposals
        self.max_queries = max_queries
        self.max_time = max_time
        self.max_found = max_found
        self.max_inputs = max_inputs
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.n_restarts = n_restarts

    #: Whether the search reads the model's fitted attributes, and refuses a model of unknown kind.
    _is_white_box = False
    #: Whether ``max_time=0`` has a meaning; a search needs time.
    _max_time_may_be_zero = False

    def _search(self, oracle: Oracle, rng: np.random.Generator) -> None:
        """Spend the budget; the one hook of a tester."""
        raise NotImplementedError(f"{type(self).__name__} has no _search.")

    def _check_own_params(self) -> None:
        """Check the parameters that a subclass adds; a hook that may be left alone."""

    def _notes(self, oracle: Oracle) -> Any:
        """What else the class wants to know of a search that has ended; a hook as well.

        `_store` finds those of all searches in ``found.notes``.
        """

    def _prepare(self, oracle: Oracle) -> None:
        """See that the estimator suits the search, before the first query; a hook as well."""

    def _card(self) -> str:
        return auditor_card(self) if self.__sklearn_is_fitted__() else ""

    # Fit -----------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Audit the estimator on the input space of X.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features), or such a table in chunks
            Data that shows which inputs exist: columns, kinds, domains. In chunks, as for
            `audit_rows`, it is gone through once; the ``on_data_`` results take a second pass.
        y : array-like of shape (n_samples,), default=None
            With targets, a clone of the estimator is fitted first (a `FrozenEstimator` never is),
            with a warning where it was fitted already; without, it is audited as it stands.
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
        X = table_or_chunks(self, X, y)
        rng = make_generator(self.random_state)
        X, sensitive = self._taken(X, y)
        space = self._make_space(X, sensitive)
        self._chunks = X if isinstance(X, Chunks) else None
        if self._chunks is not None:
            X = check_table(self, space.decode(space.data))
        valid_rows = ValidRows(space, self.proposals)
        seconds_spent = _check_constraint(space, valid_rows, rng, self.max_time)
        warn_of_retraining(self.estimator, y)
        warn_of_target(X, y)
        self.estimator_ = self._make_estimator(X, y, fit_params)
        self.space_ = space
        self.sensitive_features_ = space.sensitive_features
        self.one_hot_ = space.one_hot
        progress = Progress(self, X, self.verbose)
        if self.verbose:
            print(f"[{type(self).__name__}] sensitive: {self.sensitive_features_!r}")
            if self.one_hot_:
                print(f"[{type(self).__name__}] one-hot groups: {self.one_hot_!r}")
        oracle = Oracle(
            self.estimator_,
            space,
            max_queries=self.max_queries,
            max_time=self.max_time or None,  # an auditor that takes 0 looks at it itself
            max_found=self.max_found,
            max_inputs=self.max_inputs,
            progress=progress.update,
            valid_rows=valid_rows,
            seconds_spent=seconds_spent,
            **self._oracle_settings(),
        )
        self._prepare(oracle)
        if self.n_restarts > 1:
            self._run_restarts(oracle, rng, progress)
        else:
            self._run(oracle, rng)
        if self.fairness_degree_ == 0 and not self.n_found_:
            warnings.warn(self._no_disparity(), NoDisparityWarning, stacklevel=2 + FIT_WRAPPERS)
        progress.finish()
        return self

    def _run(self, oracle: Oracle, rng: np.random.Generator) -> None:
        ended: BaseException | None = None
        try:
            oracle.begin(oracle.space.data[:N_SEEDS], rng)
            self._search(oracle, rng)
        except StopSearch as stop:
            ended = stop
        except BaseException as error:
            # Ctrl-C and failures of the model go on to the caller, but what was found is kept.
            self._store(findings_of(oracle, stopped_by(error), [self._notes(oracle)]))
            raise
        self._store(findings_of(oracle, stopped_by(ended), [self._notes(oracle)]))

    def _run_restarts(self, oracle: Oracle, rng: np.random.Generator, progress: Progress) -> None:
        """Several searches with a part of the budget each; `oracle` has the clock of the run."""
        searcher = Searcher(
            self._alone(), self.estimator_, oracle.space, self.proposals,
            {"threshold": self.threshold, "response_method": self.response_method},
        )  # fmt: skip
        limits = {name: getattr(self, name) for name in LIMITS}
        if self.max_time:
            limits["max_time"] = max(0.0, oracle.seconds_left)
        shape = (oracle.space.n_features, len(oracle.space.sensitive))
        parts: list[Findings] = []
        kept: list[Findings] = []

        def keep(stop: StopSearch) -> None:
            every = [*parts, *kept] or [findings_of(oracle, stop, [self._notes(oracle)], keys=True)]
            self._store(merged(every, stop, oracle.seconds, shape))

        try:
            for part in run_restarts(searcher, limits, self.n_restarts, rng, self.n_jobs, kept):
                parts.append(part)
                degree = max(part.degree for part in parts)
                line = f"{len(parts)} of {self.n_restarts} restarts, degree {degree:.4g}"
                if progress.update(len(parts) / self.n_restarts, line):
                    raise StopSearch(StopReason.CALLBACK)
        except StopSearch as stop:
            keep(stop)
        except BaseException as error:
            keep(stopped_by(error))
            raise
        else:
            keep(joint_stop(parts))

    def _alone(self) -> Any:
        """The auditor without its estimator, its results and its callbacks: what travels."""
        alone = object.__new__(type(self))
        for name, value in self.get_params(deep=False).items():
            setattr(alone, name, None if name in ("estimator", "space") else value)
        alone.__dict__.update(verbose=0, n_jobs=1, random_state=None)
        for name in ("space_", "sensitive_features_", "one_hot_", "estimator_"):
            setattr(alone, name, getattr(self, name))
        return alone

    def _no_disparity(self) -> str:
        seen = f"No disparity in {self.n_inputs_} inputs ({self.n_queries_} queries)"
        if self.n_inputs_ < min(FEW_INPUTS, self.space_.n_inputs):
            return (
                f"{seen}, which are few: the estimator may ignore {self.sensitive_features_!r}, or "
                "treat twins differently elsewhere. Raise the budget to tell."
            )
        return (
            f"{seen}: the estimator seems to ignore {self.sensitive_features_!r}. Expected if it "
            "never sees these columns; other columns may still stand for them (proxies), which "
            "this audit does not show."
        )

    def _oracle_settings(self) -> dict[str, Any]:
        return {
            "threshold": self.threshold,
            "response_method": self.response_method,
            "n_jobs": self.n_jobs,
        }

    def _taken(self, X: Any, y: Any) -> tuple[Any, Any]:
        """What the model takes of X, and the sensitive columns in it.

        Raises
        ------
        ValueError
            If all of these are beside it: there are no twins to compare.
        """
        estimator = as_it_stands(self.estimator, y)
        found = split_sensitive(X, self.sensitive_features, estimator=estimator)
        if found.beside is None:
            return X, found.names
        told = not_taken(found.beside.columns)
        if found.names is None:
            raise ValueError(
                f"There is nothing to search: {told}. audit(estimator, X, y, "
                "sensitive_features=...) and SubgroupAuditor compare what its groups get."
            )
        warnings.warn(
            f"{told[0].upper()}{told[1:]}. Searched are twins in {found.names!r}.",
            UserWarning,
            stacklevel=3 + FIT_WRAPPERS,
        )
        return check_table(self, found.X), found.names

    def _make_space(self, X: Any, sensitive: Any = None) -> InputSpace:
        """The domain, with these sensitive columns of X; None for those of the parameter."""
        sensitive = self.sensitive_features if sensitive is None else sensitive
        if self.space is not None:
            return self._given_space(X, sensitive)
        if sensitive is None:  # a space may be without, an audit may not
            raise ValueError(
                "sensitive_features must be 'auto', a column or a list of columns; got None."
            )
        domain = {name: getattr(self, name) for name in DOMAIN}
        if isinstance(X, Chunks):
            return InputSpace.from_chunks(X, sensitive, **domain)
        return InputSpace.from_data(X, sensitive, **domain)

    def _make_space_of(self, found: SensitiveFeatures) -> InputSpace:
        """The domain of what the model takes; without twins where no column of it is sensitive."""
        if found.names is not None or found.beside is None:
            return self.set_params(sensitive_features=found.names)._make_space(found.X)
        self.set_params(sensitive_features="auto")
        if self.space is not None:
            return self.space.with_data(found.X).with_sensitive_features([])
        # What is plausible, and what follows from sensitive values, only twins need.
        names = [name for name in DOMAIN if name not in ("plausible", "given")]
        return InputSpace.from_data(found.X, None, **{name: getattr(self, name) for name in names})

    def _given_space(self, X: Any, given: Any) -> InputSpace:
        """The domain of `space` with the rows of X as its data."""
        space = self.space
        if not isinstance(space, InputSpace):
            raise TypeError(
                f"space must be an InputSpace or None; got {type(space).__name__}. Make one with "
                "InputSpace.from_data(X, sensitive_features)."
            )
        doubled = [name for name, default in DOMAIN.items() if getattr(self, name) is not default]
        if doubled:
            raise ValueError(
                f"space= already says which inputs exist; got {doubled} beside it. Give them to "
                "InputSpace.from_data, or leave space=None."
            )
        if not (isinstance(given, str) and given == "auto"):
            wanted = space.layout.resolve(given)
            if sorted(wanted) != sorted(space.sensitive.tolist()):
                raise ValueError(
                    f"sensitive_features={given!r} are not those of space=, "
                    f"{space.sensitive_features!r}. Leave sensitive_features='auto', or make the "
                    "space with others."
                )
        if not len(space.sensitive):
            raise ValueError(
                "space= has no sensitive column, and so no twins. Name some in "
                "InputSpace.from_data(X, sensitive_features)."
            )
        if isinstance(X, Chunks):
            X = sample_chunks(X, SAMPLE_ROWS, np.random.default_rng(0))
        return space.with_data(X)

    def _in_space(self, space: InputSpace, **params: Any) -> Any:
        """An unfitted copy that audits a given space, whatever domain it has of its own."""
        without = {**DOMAIN, "sensitive_features": "auto"}
        return clone(self).set_params(**without, space=space, **params)

    def _make_estimator(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """The estimator to audit, fitted; a hook as well."""
        return fitted_estimator(self, X, y, fit_params)

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
        check_one_whole("n_restarts", self.n_restarts, 1)
        if self.max_queries is not None and self.max_queries < 2 * self.n_restarts:
            raise ValueError(
                f"n_restarts={self.n_restarts} share max_queries={self.max_queries}, which leaves "
                "less than a pair of twins for each. Raise max_queries, or lower n_restarts."
            )
        if self.threshold is not None and not _is_number(self.threshold, 0):
            raise ValueError(
                "threshold must be None or a finite number of at least 0, in the units of the "
                f"outputs; got {self.threshold!r}."
            )
        if self.proposals not in PROPOSALS:
            raise ValueError(
                f"proposals must be one of {PROPOSALS}: inputs from anywhere in the domain, or "
                f"near rows of the data; got {self.proposals!r}."
            )
        self._check_own_params()


def _is_number(value: Any, least: float) -> bool:
    return is_real(value) and value >= least


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


def _check_constraint(
    space: InputSpace, valid_rows: ValidRows, rng: np.random.Generator, max_time: float | None
) -> float:
    """See that some valid input has two valid twins, before a query is spent; seconds it took."""
    if space.constraint is None:
        return 0.0
    began = _clock.now()
    deadline = began + max_time if max_time else None
    Z = space.admit(valid_rows.sample(CONSTRAINT_PROBE, rng, deadline=deadline).rows, rng)
    width = int(min(space.n_combinations, 64))
    n_valid = np.zeros(len(Z), dtype=int)
    if space.is_enumerable:
        chosen = rng.choice(int(space.n_combinations), size=width, replace=False)
        values = space.combination_codes(chosen)
    else:
        values = space.draw_sensitive(width, rng)
    # With many combinations the input's own is a twin that a sample of them may lack.
    if width < space.n_combinations:
        n_valid += 1
    for codes in values:
        n_valid += space.valid(space.with_sensitive(Z, codes))
        if n_valid.max(initial=0) >= 2 or is_late(deadline):
            return _clock.now() - began
    raise ValueError(
        f"constraint= leaves no twins to compare: none of {len(Z)} valid inputs has two valid "
        f"combinations of {space.sensitive_features!r}. Let the constraint not fix the sensitive "
        "columns."
    )
