"""BaseAuditor: what every tester shares. A tester adds one hook, `_run_search`."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import Any

import numpy as np
from sklearn.base import clone

from skfairtest import _clock
from skfairtest._audit_results import AuditResults, results_of
from skfairtest._delegation import AuditingEstimator
from skfairtest._parameters import (
    DeclaredParameters,
    check_instance,
    check_n_jobs,
    check_verbose,
    checked,
    is_result,
    one_of,
    whole,
)
from skfairtest._progress import CallbackSupportMixin, Progress, with_callbacks
from skfairtest._typing import is_real
from skfairtest._validation import (
    as_it_stands,
    check_table,
    fitted_estimator,
    make_generator,
    table_or_chunks,
    warn_of_retraining,
    warn_of_target,
)
from skfairtest.exceptions import (
    NoDisparityWarning,
    NonDeterministicModelError,
    users_level,
)
from skfairtest.finding._fitted_cards import auditor_card
from skfairtest.finding._shown import ShownFinding
from skfairtest.oracle._findings import Findings
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._model import RESPONSE_METHODS
from skfairtest.oracle._run import Run, run_search, search_several
from skfairtest.oracle._stop import LIMITS
from skfairtest.space._chunks import Chunks
from skfairtest.space._sensitive_features import SensitiveFeatures, not_taken, split_sensitive
from skfairtest.space._space import InputSpace
from skfairtest.space._valid_rows import ValidRows, is_late

__all__ = ["BaseAuditor"]


def _check_budget(name: str, value: Any) -> None:
    # 1e5 queries are as good as 100_000.
    least = 2 if name == "max_queries" else 1
    if value is not None and not (is_real(value) and value >= least and value == int(value)):
        hint = " (a pair of twins is two queries)" if name == "max_queries" else ""
        raise ValueError(
            f"{name} must be None or a whole number of at least {least}{hint}; got {value!r}."
        )


def check_max_time(name: str, value: Any) -> None:
    """Check a time limit."""
    if value is not None and not (is_real(value) and value > 0):
        raise ValueError(f"{name} must be None or a positive number of seconds; got {value!r}.")


def check_threshold(name: str, value: Any) -> None:
    """Check a threshold on differences of outputs."""
    if value is not None and not (is_real(value) and value >= 0):
        raise ValueError(
            f"{name} must be None or a finite number of at least 0, in the units of the outputs; "
            f"got {value!r}."
        )


class BaseAuditor(
    DeclaredParameters, ShownFinding, CallbackSupportMixin, AuditResults, AuditingEstimator
):
    """Base class of all auditors; a subclass writes `_run_search` and declares its own parameters.

    A parameter is an annotated class attribute with a default, such as ``n_walks: int = 10``. The
    search is a plain loop that asks ``search.evaluate(Z)``, which ends the run when the budget is
    spent.

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
    RandomAuditor : Draws uniform random inputs.

    Notes
    -----
    If a fitted estimator takes none of the sensitive columns (`feature_names_in_`), its outputs for
    twins are equal by construction, and `fit` raises an error. `FlipTestAuditor` compares people
    with moved twins, which differ in other columns as well.

    The disparity of a classifier is a difference of probabilities if it has ``predict_proba``, of
    scores if it has ``decision_function`` only, and otherwise of labels: 0 or 1. With two classes,
    probabilities and scores are those of the positive class.

    Parts of a batch run in threads, restarts in processes. They run one after another with
    ``n_jobs=None``, and otherwise on as many workers as `n_jobs` or `joblib.parallel_config` set,
    on this machine or on a cluster. This changes no result unless `max_time` ends the run. Once the
    first restarts together have found `max_found` inputs, the other restarts and their queries do
    not count.

    Counts of inputs are exact up to 5.8 million; beyond that, an input that comes again may be
    counted again. If the discriminatory inputs are too many for 32 MB, those with the largest
    disparities are kept. With ``InputSpace(plausible=...)`` each of the `discriminatory_inputs_` is
    plausible; its twin need not be.

    The model is asked twice about the first pairs of twins that differ, and again about the one
    that differs most whenever the queries have doubled, with a tenth of `max_queries` at most, or a
    third where a model gives labels alone. If an answer differs by more than rounding, `fit` raises
    an error: single answers that vary show no differences. Noise that begins late, or is rare, may
    not be noticed. Before rows are compared, flips are confirmed late, or a bound is computed, the
    worst pair is asked again, for two queries that no result counts: it shows whether the model was
    fitted again since.

    Labels of a classifier are read off its probabilities or scores, and `predict` confirms what
    they show. Of classes of scikit-learn, XGBoost and LightGBM whose `predict` is known to give the
    class with the largest score, and of pipelines and searches that end in one, it confirms the
    first 64 flips of a search; if it denies one, and for all other estimators, each flip. The rest
    is confirmed when it is first read: as `discriminatory_inputs_`, `counterfactuals_` and what
    follows from them, in a report, or in a picture. What `predict` denies is left out of these and
    of `n_found_`, with a warning. `n_confirm_queries_` counts these queries, `n_queries_` does not.
    `worst_case_` has the largest difference of scores and need not be a flip: whatever shows its
    labels asks `predict`.

    The inputs of a directed search are not a sample of the domain. Only the `discrimination_rate_`
    of `RandomAuditor` estimates the share in the domain, or with ``InputSpace(proposals="data")``
    the share near the data.

    `plausibility_`, `distances_`, `nearest_rows_`, `fairness_degree_plausible_` with its pair, and
    the results for the rows of X are computed on first access. If the space has no `plausible`,
    they use that of ``plausible="auto"``. A distance is a mean over the columns, of
    ``|difference| / range`` for numbers and of 0 or 1 for categories. The queries for rows of X are
    counted in `n_data_queries_`, not in `n_queries_`.

    `stop_kind_` is one of "max_queries", "max_time", "max_found", "max_inputs", "exhausted",
    "stalled", "callback", "complete", "open" (a gap that could not be closed), "interrupted"
    and "failed". A run is exhausted when every input of the domain was judged; where an input has
    too many twins to compare them all, when each twin was compared four times on average since
    anything new was found.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skfairtest.base import BaseAuditor
    >>> class CornerAuditor(BaseAuditor):
    ...     def _run_search(self, search, rng):
    ...         search.evaluate(np.vstack([search.space.domain.low, search.space.domain.high]))
    >>> X = np.array([[0.0, 1.0], [1.0, 5.0], [0.0, 3.0]])
    >>> model = LinearRegression().fit(X, [0.0, 2.0, 0.0])
    >>> round(CornerAuditor(model, sensitive_features=[0]).fit(X).fairness_degree_, 6)
    2.0
    """

    estimator: Any = field(default=None, kw_only=False)
    sensitive_features: Any = "auto"
    threshold: float | None = checked(default=None, check=check_threshold)
    response_method: str = one_of(default="auto", options=RESPONSE_METHODS)
    space: InputSpace | None = None
    max_queries: int | None = checked(default=20_000, check=_check_budget)
    max_time: float | None = checked(default=None, check=check_max_time)
    max_found: int | None = checked(default=None, check=_check_budget)
    max_inputs: int | None = checked(default=None, check=_check_budget)
    n_jobs: int | None = checked(default=None, check=check_n_jobs)
    random_state: Any = None
    verbose: int = checked(default=0, check=check_verbose)
    n_restarts: int = whole(default=1, least=1)

    #: Whether the search reads the model's fitted attributes, and refuses a model of unknown kind.
    _is_white_box = False

    def _run_search(self, search: SearchHandle, rng: np.random.Generator) -> None:
        """Spend the budget; this is the one hook that a tester must write.

        It writes nothing on the auditor, which several searches may share. Other measurements go
        into ``search.measured``, from which `_own_results` makes results.
        """
        raise NotImplementedError(f"{type(self).__name__} has no _run_search.")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, unless a search runs that may share this auditor with others."""
        if vars(self).get("_searches"):
            raise AttributeError(
                f"{type(self).__name__}._run_search must not write on the auditor, which several "
                f"searches share; it wrote {name!r}. Put what it measures into "
                f"search.measured[{name!r}], and return it from _own_results."
            )
        super().__setattr__(name, value)

    def _check_own_params(self) -> None:
        """Check the parameters that a subclass adds; an optional hook."""

    def _own_results(self, found: Findings, space: InputSpace) -> dict[str, Any]:
        """Return the results that a subclass adds; an optional hook.

        ``found.measured`` holds the ``search.measured`` of each search. Names that end in an
        underscore become attributes; the others are kept in ``_state``, for properties.
        """
        return {}

    def _prepare(self, search: SearchHandle) -> None:
        """Check that the estimator suits the search, before the first query; an optional hook."""

    def _card(self) -> str:
        return auditor_card(self) if self.__sklearn_is_fitted__() else ""

    # Fit -----------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Audit the estimator on the input space of X.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features), or such a table in chunks
            Data that show which inputs exist: columns, kinds, domains. A table in chunks, as for
            `audit_rows`, is read once; the ``on_data_`` results read it a second time.
        y : array-like of shape (n_samples,), default=None
            With targets, a clone of the estimator is fitted first, with a warning if the estimator
            was fitted already; a `FrozenEstimator` is not fitted again. Without targets, the
            estimator is audited as it is.
        **fit_params : dict
            Passed to the estimator's ``fit``, or routed when metadata routing is on.

        Returns
        -------
        self : object
            The fitted auditor.

        Raises
        ------
        ValueError, TypeError
            If parameters or input cannot be audited; raised before the first query.
        NotFittedError
            If the estimator is not fitted and `y` is not given.
        EstimatorFailedError
            If the estimator fails during the audit; the auditor keeps the results so far.
        NonDeterministicModelError
            If the estimator gives a row other answers when it is asked again.
        """
        self._check_params()
        # Whatever is refused below leaves the results of an earlier fit as they are.
        owner = self._with_params_alone()
        X = table_or_chunks(owner, X, y, fit_params)
        rng = make_generator(self.random_state)
        X, sensitive = self._taken(owner, X, y)
        space = self._make_space(X, sensitive)
        chunks = X if isinstance(X, Chunks) else None
        if chunks is not None:
            X = check_table(owner, space.decode(space.data))
        valid_rows = space.valid_rows()
        seconds_spent = _check_constraint(space, valid_rows, rng, self.max_time)
        warn_of_retraining(self.estimator, y)
        warn_of_target(X, y)
        estimator = self._make_estimator(X, y, fit_params)
        fitted = {
            **{name: value for name, value in vars(owner).items() if is_result(name)},
            "estimator_": estimator,
            "space_": space,
            "sensitive_features_": space.sensitive_features,
            "one_hot_": space.layout.one_hot,
            "_chunks": chunks,
        }
        progress = Progress(self, X, self.verbose)
        if self.verbose:
            self._print_columns(space)
        run = self._make_run(estimator, space)
        search = run.search(
            n_jobs=self.n_jobs,
            progress=progress.update,
            valid_rows=valid_rows,
            seconds_spent=seconds_spent,
        )
        self._prepare(search)
        if self.n_restarts == 1:
            found = run_search(run, run.limits, rng, search)
        else:
            found = search_several(
                run, self.n_restarts, rng, clock=search, n_jobs=self.n_jobs,
                progress=progress.update,
            )  # fmt: skip
        is_refused = isinstance(found.error, NonDeterministicModelError)
        if found.error is not None and (is_refused or not found.n_queries):
            raise found.error  # nothing was asked, or what was found may be noise
        self._commit(fitted, found)
        if self.fairness_degree_ == 0 and not self.n_found_:
            warnings.warn(self._no_disparity(), NoDisparityWarning, stacklevel=users_level())
        progress.finish()
        return self

    def _print_columns(self, space: InputSpace) -> None:
        print(f"[{type(self).__name__}] sensitive: {space.sensitive_features!r}")
        if space.layout.one_hot:
            print(f"[{type(self).__name__}] one-hot groups: {space.layout.one_hot!r}")

    def _make_run(self, estimator: Any, space: InputSpace) -> Run:
        """Return what the searches of this fit share."""
        # What is audited travels by itself, and of several searches each runs in one job.
        others = {"estimator": None, "space": None, "random_state": None, "verbose": 0}
        if self.n_restarts > 1:
            others["n_jobs"] = 1
        auditor = self._with_params_alone(**others)
        auditor._searches = True  # it is written on no more
        limits = {
            "max_queries": self.max_queries,
            "max_time": self.max_time or None,  # an auditor that takes 0 looks at it itself
            "max_found": self.max_found,
            "max_inputs": self.max_inputs,
        }
        settings = {"threshold": self.threshold, "response_method": self.response_method}
        return Run(auditor, estimator, space, settings, limits)

    def _commit(self, fitted: dict[str, Any], found: Findings) -> None:
        """Replace the results of an earlier fit by what was fitted and found.

        Ctrl-C, failures of the model and of a subclass go on to the caller, but what was found is
        kept.
        """
        results = results_of(found, in_chunks=fitted["_chunks"] is not None)
        error, own = found.error, {}
        try:
            own = self._own_results(found, fitted["space_"])
        except Exception as failed:
            error = error or failed
        for name, value in own.items():
            (results if is_result(name) else results["_state"])[name] = value
        self._replace_results(fitted | results)
        if error is not None:
            raise error

    def _no_disparity(self) -> str:
        seen = f"No disparity in {self.n_inputs_} inputs ({self.n_queries_} queries)"
        # If none of 300 random inputs discriminates, the discriminatory share of the domain may
        # still be 1% (at a confidence of 0.95): a run of fewer inputs says little.
        if self.n_inputs_ < min(300, self.space_.n_inputs):
            return (
                f"{seen}, which are few: the estimator may ignore {self.sensitive_features_!r}, or "
                "treat twins differently elsewhere. Raise the budget to find out."
            )
        return (
            f"{seen}: the estimator seems to ignore {self.sensitive_features_!r}. This is expected "
            "if it never sees these columns. Other columns may still be proxies for them, which "
            "FlipTestAuditor shows."
        )

    def _response_settings(self) -> dict[str, Any]:
        return {
            "threshold": self.threshold,
            "response_method": self.response_method,
            "n_jobs": self.n_jobs,
        }

    def _taken(self, owner: Any, X: Any, y: Any) -> tuple[Any, Any]:
        """Return the part of X that the model takes, and the sensitive columns in it.

        The names and the number of the columns of that part are noted on `owner`.

        Raises
        ------
        ValueError
            If the model takes no sensitive column, so that there are no twins to compare.
        """
        named, space = self.sensitive_features, self.space
        is_auto = isinstance(named, str) and named == "auto"
        if is_auto and isinstance(space, InputSpace) and space.__sklearn_is_fitted__():
            named = space.sensitive_features or named
        found = split_sensitive(X, named, estimator=as_it_stands(self.estimator, y))
        if found.not_in_model is None:
            return X, found.names
        message = not_taken(found.not_in_model.columns)
        if found.names is None:
            raise ValueError(
                f"There is nothing to search: {message}. To compare people with those of other "
                "groups, with the other columns that go along, use FlipTestAuditor. To compare "
                "what the groups get, use audit(estimator, X, y, sensitive_features=...) or "
                "SubgroupAuditor."
            )
        warnings.warn(
            f"{message[0].upper()}{message[1:]}. The search compares twins in {found.names!r}.",
            UserWarning,
            stacklevel=users_level(),
        )
        return check_table(owner, found.X), found.names

    def _make_space(self, X: Any, sensitive: Any = None) -> InputSpace:
        """Learn the space from X; None for `sensitive` means those that the parameter names."""
        sensitive = self.sensitive_features if sensitive is None else sensitive
        if self.space is not None and not isinstance(self.space, InputSpace):
            raise TypeError(
                f"space must be an InputSpace or None; got {type(self.space).__name__}. Describe "
                "what is audited by InputSpace(bounds=..., constraint=...)."
            )
        if self.space is not None and self.space.__sklearn_is_fitted__():
            return self._learned_space(X, sensitive)
        if sensitive is None:  # a space may be without, an audit may not
            raise ValueError(
                "sensitive_features must be 'auto', a column or a list of columns; got None."
            )
        return self._described_space().fit(X, sensitive)

    def _described_space(self) -> InputSpace:
        """Return an unfitted copy of the space."""
        return InputSpace() if self.space is None else clone(self.space)

    def _make_space_of(self, found: SensitiveFeatures) -> InputSpace:
        """Learn the space of the columns that the model takes; it may have no sensitive column."""
        if found.names is not None or found.not_in_model is None:
            return self.set_params(sensitive_features=found.names)._make_space(found.X)
        self.set_params(sensitive_features="auto")
        if self.space is not None and self.space.__sklearn_is_fitted__():
            return self.space.with_data(found.X).with_sensitive_features([])
        # What is plausible, and what follows from sensitive values, only twins need.
        return self._described_space().set_params(plausible=None, twins=None).fit(found.X, None)

    def _learned_space(self, X: Any, sensitive: Any) -> InputSpace:
        """Return the space that was given fitted, with the rows of X as its data."""
        space = self.space
        assert space is not None
        if not (isinstance(sensitive, str) and sensitive == "auto"):
            wanted = space.layout.resolve(sensitive)
            if sorted(wanted) != sorted(space.sensitive.tolist()):
                raise ValueError(
                    f"sensitive_features={sensitive!r} are not those that space= has learned, "
                    f"{space.sensitive_features!r}. Leave sensitive_features='auto', or fit the "
                    "space with others."
                )
        if not len(space.sensitive):
            raise ValueError(
                "space= has learned no sensitive column, and so has no twins. Name some: "
                "InputSpace(...).fit(X, sensitive_features)."
            )
        return space.with_data(X)

    def _in_space(self, space: InputSpace, **params: Any) -> Any:
        """Return an unfitted copy whose space is the given fitted one."""
        return clone(self).set_params(sensitive_features="auto", space=space, **params)

    def _make_estimator(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """Return the fitted estimator to audit; an optional hook."""
        return fitted_estimator(self, X, y, fit_params)

    # Parameters ----------------------------------------------------------------------------

    def _check_params(self) -> None:
        if self.estimator is None:
            raise ValueError(
                f"{type(self).__name__}(estimator=None) is a template for scorers and retrainers, "
                "which set the estimator; it cannot be fitted itself. Give an estimator."
            )
        check_instance("estimator", self.estimator)
        self._check_declared()
        if all(getattr(self, name) is None for name in LIMITS):
            raise ValueError(
                f"The run would never end: {', '.join(LIMITS)} are all None. Set at least one."
            )
        if self.max_queries is not None and self.max_queries < 2 * self.n_restarts:
            raise ValueError(
                f"n_restarts={self.n_restarts} share max_queries={self.max_queries}, which leaves "
                "less than a pair of twins for each. Raise max_queries, or lower n_restarts."
            )
        self._check_own_params()


def _check_constraint(
    space: InputSpace, valid_rows: ValidRows, rng: np.random.Generator, max_time: float | None
) -> float:
    """Check that some valid input has two valid twins; return the seconds that this took."""
    if not space.constraints_:
        return 0.0
    began = _clock.now()
    deadline = began + max_time if max_time else None
    n_looked_at = 256
    Z = valid_rows.sample(n_looked_at, rng, deadline=deadline).rows
    if not len(Z) and valid_rows.n_drawn:  # in the time there is
        some = space.feasibility.draw(n_looked_at, rng)
        raise space.feasibility.unsatisfied(valid_rows.n_drawn, some)
    Z = space.feasibility.repair(Z, rng)
    width = int(min(space.twins_.n_combinations, 64))
    n_valid = np.zeros(len(Z), dtype=int)
    if space.twins_.is_enumerable:
        chosen = rng.choice(int(space.twins_.n_combinations), size=width, replace=False)
        values = space.twins_.combination_values(chosen)
    else:
        values = space.twins_.draw_sensitive(width, rng)
    # With many combinations the input's own is a twin that a sample of them may lack.
    if width < space.twins_.n_combinations:
        n_valid += 1
    for encoded in values:
        n_valid += space.valid(space.twins_.with_sensitive(Z, encoded))
        if n_valid.max(initial=0) >= 2 or is_late(deadline):
            return _clock.now() - began
    raise ValueError(
        f"The constraint of the InputSpace leaves no twins to compare: none of {len(Z)} valid "
        f"inputs has two valid combinations of {space.sensitive_features!r}. Write a constraint "
        "that does not determine the sensitive columns."
    )
