"""AlternativesSearchCV: tell whether a model is as good and treats groups more alike."""

from __future__ import annotations

import warnings
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import check_scoring
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import check_is_fitted

from skfairtest import _clock
from skfairtest._delegation import AuditingEstimator, of_one_output
from skfairtest._parameters import (
    DeclaredParameters,
    check_n_jobs,
    check_verbose,
    check_whole,
    checked,
    real,
    whole,
)
from skfairtest._progress import CallbackSupportMixin, Progress, with_callbacks
from skfairtest._typing import is_real
from skfairtest._validation import make_generator
from skfairtest.base import check_max_time
from skfairtest.finding._fitted_cards import model_name
from skfairtest.finding._shown import ShownFinding
from skfairtest.finding._words import shorten
from skfairtest.model_selection._alternatives.candidates import (
    Candidate,
    Names,
    Space,
    of_parameters,
    read_candidates,
)
from skfairtest.model_selection._alternatives.judging import CONFIDENCE, Criteria
from skfairtest.model_selection._alternatives.measures import wanted_disparities
from skfairtest.model_selection._alternatives.problem import Problem, make_problem, with_score
from skfairtest.model_selection._alternatives.result import SearchSettings, with_sentence
from skfairtest.model_selection._alternatives.run import MOST_JUDGED, Plan, Run, make_plan
from skfairtest.model_selection._alternatives.samplers import Sampler, make_sampler
from skfairtest.model_selection._alternatives.shown import AlternativesResult, Forms
from skfairtest.workers._sending import without_threads


class AlternativesSearchCV(
    DeclaredParameters, ShownFinding, Forms, CallbackSupportMixin, AuditingEstimator
):
    """Search for a model that is as good as the original and treats groups more alike.

    Most of the rows search: every candidate is compared with the original by models of the same
    folds, out of fold. The few candidates that promise most are trained again, several times, and
    judged on the rest of the rows, which have played no part. The verdict is by their intervals,
    which hold for all that was judged at once, and are about one model trained on all rows, the one
    that is handed over: it is "found", "not found", or "cannot be told" by so many rows.

    After ``fit`` it *is* the alternative that was found, or the original where none was: it
    predicts and scores with it.

    Parameters
    ----------
    estimator : estimator
        Classifier, regressor or pipeline: the original. Clones of it are trained.
    candidates : dict, estimator, str, or list of these
        What is tried: distributions of parameters of the original, as `RandomizedSearchCV` takes
        them; unfitted estimators, which a dict names; names of methods of `compare_mitigations`
        ("drop", "average", "retrain twins", ...); "columns", which leaves out, one at a time, the
        ten columns that carry most of the difference between groups.
    disparity : str, audit scorer, callable, list or dict of these, default="impact_ratio"
        What has to fall. "impact_ratio" is the smallest ratio of two groups' rates of favourable
        predictions. Any rate of `SubgroupAuditor` has a "_difference" and a "_ratio", such as
        "true_positive_rate_difference"; there are "equalized_odds_difference" and "twins", the
        share of rows that would be answered differently if only the sensitive columns changed. A
        function is called as ``function(y_true, y_pred, sensitive_features=)`` and is smaller where
        there is less. Of several the first has to fall, and no other may rise for certain.
    scoring : str or callable, default=None
        What "as good" means; greater is better. None is the accuracy, or R2. It is computed from
        predictions and does not see X.
    margin : float, default=0.0
        How far the score may fall, at least 0. With 0 an alternative has to be better for certain,
        or has to predict what the original predicts: rows never tell that two models are exactly as
        good.
    n_iter : int, default=50
        How many settings are drawn from the distributions.
    cv : int or splitter, default=5
        Folds of the rows that search. A number deals each class and group out alike.
    held_out : float, default=0.3
        Share of the rows that judge.
    sampler : None, "halving" or sampler of Optuna, default=None
        What draws the settings: at random, all of them on all rows; at random, all on few rows, and
        the better third of them on three times as many; or by Optuna, which maximizes score and
        gain (`optuna.samplers.NSGAIISampler`).
    favourable : label, list of labels or float, default=None
        Labels that people want, as in `selection_table`; for a regressor the smallest favourable
        output. None takes labels whose word says so, or the last of two, with a warning; of a
        regressor it compares mean outputs.
    max_time : float, default=None
        Time limit in seconds. The search ends so that what was found can still be judged.
    n_jobs : int, default=None
        Number of trainings at the same time; None means 1, or what `joblib.parallel_config` says.
    random_state : int, RandomState or Generator, default=None
        Seed. The same seed gives the same results whatever `n_jobs`.
    verbose : int, default=0
        1 prints ten lines, 2 a line for each percent.

    Attributes
    ----------
    best_estimator_, estimator_ : estimator
        The alternative that was found, or the original; trained on all rows.
    original_estimator_ : estimator
        The original, trained on all rows.
    verdict_ : {"found", "not found", "cannot be told"}
        "found": the disparity falls for certain and the score falls by no more than `margin`;
        "cannot be told": a candidate does so by its estimates, and intervals leave it open, or the
        disparity falls for certain and the score too far by its estimate alone; "not found": none
        does.
    sentence_ : str
        The verdict in words.
    alternatives_ : DataFrame
        One row per candidate, the original first: `kind`, `status` ("judged", "screened", "dropped"
        by halving, "failed", "not reached"), `on_front`, `score`, `score_change` and, by
        the name of each disparity, its value and its `_gain`, which is above 0 where the candidate
        is better; ``_low`` and ``_high`` are bounds of intervals, and `note` says why a candidate
        failed. Intervals of what was only screened are about the rows and take the models as they
        are.
    front_ : DataFrame
        The rows of candidates that no other beats in both score and first disparity.
    rows_needed_ : int or None
        How many rows would tell, where these cannot.
    cv_results_ : dict of arrays
        As that of every search; disparities of which less is better stand there times -1, under
        ``neg_`` and their name.
    best_params_ : dict
        What was changed in the original.
    result_ : AlternativesResult
        Everything as plain data.
    stop_reason_ : str
        "complete", "max_time", "interrupted" or "callback".

    See Also
    --------
    compare_mitigations : Methods of mitigation side by side.
    make_audit_scorer : A disparity of any auditor.
    pareto_refit : Takes a model from the front without a claim about it.

    Notes
    -----
    A candidate is compared with the original on the same rows, so that only what changes counts.
    The error of the rows is a jackknife's, that of the training the spread of several trainings on
    other folds; intervals reach as far as the largest deviation of all candidates and measures
    that were compared. They hold for the model of all rows as far as one that is trained on half
    of the rows behaves like it.

    The best of many candidates owes part of its lead to luck [1]_, which rows that have chosen it
    do not show; the rows that judge do. Of models that are equally good there are many, and they
    differ in whom they turn down [2]_: that none of those tried is less discriminatory does not
    show that there is none.

    References
    ----------
    .. [1] Laufer, B., Raghavan, M., & Barocas, S. (2025). What constitutes a less discriminatory
       algorithm? CS&Law.
    .. [2] Black, E., Koepke, J. L., Kim, P. T., Barocas, S., & Hsu, M. (2024). Less discriminatory
       algorithms. Washington University Law Review 101.
    .. [3] Gillis, T. B., Meursault, V., & Ustun, B. (2024). Operationalizing the search for less
       discriminatory alternatives in fair lending. FAccT, 377-387.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfairtest import AlternativesSearchCV
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=3000)
    >>> skill = rng.normal(size=3000)
    >>> X = pd.DataFrame({"skill": skill, "club": sex + rng.normal(scale=0.3, size=3000)})
    >>> hired = (skill + 0.3 * sex + rng.normal(size=3000) > 0).astype(int)
    >>> search = AlternativesSearchCV(
    ...     LogisticRegression(), "columns", margin=0.03, favourable=1, random_state=0)
    >>> search.fit(X, hired, sensitive_features=pd.Series(sex, name="sex")).verdict_
    'found'
    >>> search.best_params_
    {'column': 'club'}
    """

    estimator: Any = field(default=None, kw_only=False)
    candidates: Any = field(default=None, kw_only=False)
    disparity: Any = "impact_ratio"
    scoring: Any = None
    margin: float = real(
        default=0.0, interval="[0, inf)", hint="It says how far the score may fall."
    )
    n_iter: int = whole(default=50, least=1)
    cv: Any = 5
    held_out: float = real(
        default=0.3, interval="(0, 1)", hint="It is the share of the rows that judge."
    )
    sampler: Any = None
    favourable: Any = None
    max_time: float | None = checked(default=None, check=check_max_time)
    n_jobs: int | None = checked(default=None, check=check_n_jobs)
    random_state: Any = None
    verbose: int = checked(default=0, check=check_verbose)

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, sensitive_features: Any = "auto", **fit_params: Any
    ) -> Any:
        """Search, judge, and train what was found on all rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        sensitive_features : "auto", columns, Series, DataFrame, dict or array, default="auto"
            Sensitive columns of X by name or position, or values, one for each row, which are given
            to no model; "auto" takes the names of common ones.
        **fit_params : dict
            Passed to each ``fit`` of the estimators, or routed when metadata routing is on. What
            has an entry a row is cut to the rows that are trained on; ``sample_weight`` counts in
            scores and rates, too, and rows of weight 0 are left out.

        Returns
        -------
        self : object
            The alternative, or the original.

        Raises
        ------
        ValueError, TypeError
            For parameters and input that cannot be used, and an original that cannot be trained or
            measured.
        """
        space = self._check_params()
        began, deadline = _clock.now(), _clock.Deadline.after(self.max_time)
        if get_config()["enable_metadata_routing"]:
            fit_params = process_routing(self, "fit", **fit_params).estimator.fit
        fit_params = self._routed(fit_params, self._given(sensitive_features))
        rng = make_generator(self.random_state)
        wanted = wanted_disparities(self.disparity)
        problem = make_problem(self, X, y, sensitive_features, fit_params, wanted, space)
        progress = Progress(self, X, self.verbose)
        try:
            run, plan = self._run(problem, space, deadline, progress, rng)
            self._store(problem, plan, run, space, began)
        finally:
            progress.finish()
        return self

    @staticmethod
    def _given(sensitive_features: Any) -> Any:
        is_auto = isinstance(sensitive_features, str) and sensitive_features == "auto"
        return None if is_auto else sensitive_features

    def _run(
        self,
        problem: Problem,
        space: Space,
        deadline: _clock.Deadline,
        progress: Progress,
        rng: np.random.Generator,
    ) -> tuple[Run, Plan]:
        """Search and judge, and train what is handed over."""
        asks = any(measure.asks for measure in problem.measures)
        plan = make_plan(problem.work, problem.strata, self.cv, self.held_out, asks, rng)
        original = Candidate("original", "original", self.estimator, {})
        every = np.arange(len(problem.work.y))
        model = problem.work.train(original, every, plan.seed)
        problem = with_score(problem, self.scoring, model)
        self.original_estimator_ = model
        names = Names()
        sampler = self._sampler(space, len(plan.folds[0].rows), int(rng.integers(2**31 - 1)))
        run = Run(
            problem.work, plan, problem.measures, problem.rates, Criteria(float(self.margin)),
            n_jobs=without_threads(self.n_jobs), deadline=deadline,
            tick=_Ticks(progress, self._n_trainings(space, plan)), rng=rng,
        )  # fmt: skip
        try:
            run.screen_original(original)
        except _clock.OutOfTime:
            raise ValueError(
                f"max_time={self.max_time:g} s was over before the original was measured in "
                f"{len(plan.folds)} folds, so there is nothing to compare with. Give more time, "
                "fewer folds (cv=2), or fewer rows."
            ) from None
        fixed = problem.fixed(space, plan.searches, names, plan.seed)
        run.screen(fixed, sampler, partial(of_parameters, self.estimator, names=names))
        run.compare()
        run.judge()
        self.estimator_ = model
        if run.found is not None:
            self.estimator_ = problem.work.train(run.records[run.found].candidate, every, plan.seed)
        return run, plan

    def _sampler(self, space: Space, n_rows: int, seed: int) -> Sampler | None:
        if not space.distributions:
            return None
        return make_sampler(self.sampler, space.distributions, self.n_iter, n_rows, seed)

    def _n_trainings(self, space: Space, plan: Plan) -> int:
        """About how many there will be, for the progress."""
        n = 1 + len(space.estimators) + len(space.methods) + 10 * space.columns
        n += self.n_iter * bool(space.distributions)
        return n * len(plan.folds) + (1 + MOST_JUDGED) * len(plan.trainings)

    def _store(self, problem: Problem, plan: Plan, run: Run, space: Space, began: float) -> None:
        from skfairtest.report._describe import versions  # imports all that audits need

        measured, names = problem.measured, [one.name for one in run.measures]
        settings = SearchSettings(
            model=model_name(self.estimator),
            task="regression" if measured.classes is None else "classification",
            sensitive_features=[]
            if measured.sensitive is None
            else [*map(str, measured.sensitive)],
            disparity=names[1:],
            higher_is_better={one.name: one.higher_is_better for one in run.measures},
            score=names[0],
            margin=float(self.margin),
            confidence=CONFIDENCE,
            held_out=float(self.held_out),
            favourable=_words(measured.favourable),
            n_rows=len(problem.work.y),
            n_search=len(plan.searches.rows),
            n_judge=len(plan.judges.rows),
            n_folds=len(plan.folds),
            n_trainings=len(plan.trainings),
            groups=[] if measured.groups is None else list(map(" = ".join, measured.groups.names)),
            left_out=[] if measured.groups is None else measured.groups.left_out,
            sampler="random" if self.sampler is None else _sampler_name(self.sampler),
            not_searched=space.not_searched,
            stop_reason=run.stop_reason,
            seconds=_clock.now() - began,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=versions(),
            asked={name: _asked(value) for name, value in self.get_params(deep=False).items()},
        )
        result = with_sentence(run.result(settings))
        self._result = msgspec.to_builtins(result)
        self.cv_results_ = run.cv_results()
        best = run.records[run.found or 0].candidate
        self.best_params_ = dict(best.params)
        self.stop_reason_ = run.stop_reason
        for reason in run.failures():
            warnings.warn(reason, UserWarning, stacklevel=2)

    # Checks ----------------------------------------------------------------------------------

    def _check_params(self) -> Space:
        if not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            raise TypeError(
                f"estimator must be an unfitted estimator, an instance; got {self.estimator!r}. "
                "Write AlternativesSearchCV(LogisticRegression(), ...)."
            )
        if isinstance(self.estimator, FrozenEstimator):
            raise ValueError(
                "estimator is a FrozenEstimator, which is never trained again, so it cannot be "
                "compared with others. Give the estimator inside, unfitted."
            )
        self._check_declared()
        if is_real(self.cv) or self.cv is None:
            check_whole("cv", self.cv, 2)
        return read_candidates(self.candidates)

    # Results ---------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a result."""
        return hasattr(self, "_result")

    @property
    def result_(self) -> AlternativesResult:
        """Everything as plain data."""
        if not hasattr(self, "_result"):
            raise AttributeError(
                f"{type(self).__name__} has no results before fit. Call fit(X, y) first."
            )
        return msgspec.convert(self._result, AlternativesResult)

    @property
    def _found(self) -> AlternativesResult:
        return self.result_

    def _card(self) -> str:
        return self.result_._repr_html_() if hasattr(self, "_result") else ""

    def __str__(self) -> str:
        """The verdict and what it rests on; before fit the parameters."""
        return str(self.result_) if hasattr(self, "_result") else repr(self)

    @property
    def best_estimator_(self) -> Any:
        """The alternative that was found, or the original."""
        return self.estimator_

    @property
    def verdict_(self) -> str:
        """Whether an alternative was found."""
        return self.result_.verdict

    @property
    def sentence_(self) -> str:
        """The verdict in words."""
        return self.result_.sentence

    @property
    def rows_needed_(self) -> int | None:
        """How many rows would tell."""
        return self.result_.rows_needed

    @property
    def alternatives_(self) -> pd.DataFrame:
        """One row per candidate."""
        return self.result_.frame()

    @property
    def front_(self) -> pd.DataFrame:
        """The candidates that no other beats in both score and first disparity."""
        table = self.alternatives_
        return table[table["on_front"]]

    def score(self, X: Any, y: Any = None, **score_params: Any) -> Any:
        """Score what was found, by `scoring`.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Targets.
        **score_params : dict
            Passed to the scorer, or routed if metadata routing is on.

        Returns
        -------
        float
            The score.
        """
        if self.scoring is None:
            return super().score(X, y, **score_params)
        check_is_fitted(self)
        return check_scoring(self.estimator_, self.scoring)(self.estimator_, X, y, **score_params)

    def __sklearn_tags__(self) -> Any:
        """Tags of the estimator, for one output."""
        tags = of_one_output(super().__sklearn_tags__())
        tags.target_tags.required = True
        return tags


class _Ticks:
    """Counts trainings for a progress."""

    def __init__(self, progress: Progress, n: int) -> None:
        self._progress, self._n, self._done = progress, n, 0

    def __call__(self, words: str) -> bool:
        self._done += 1
        share = min(1.0, self._done / self._n)
        return self._progress.update(share, f"{words}, {self._done} of about {self._n} trainings")


def _words(favourable: Any) -> str:
    labels = favourable if isinstance(favourable, list) else [favourable]
    return ", ".join(map(str, labels))


def _asked(value: Any) -> str:
    return shorten(" ".join(repr(value).split()), 500)


def _sampler_name(sampler: Any) -> str:
    return sampler if isinstance(sampler, str) else type(sampler).__name__
