"""FairnessRetrainer: train, audit, add what was found under better labels, train again."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import check_scoring
from sklearn.utils import assert_all_finite
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from skfairtest._delegation import DelegatingEstimator
from skfairtest._validation import check_real, check_table, check_whole, make_generator
from skfairtest.exceptions import EstimatorFailedError, MitigationWarning
from skfairtest.group import TestSGDAuditor
from skfairtest.individual import AequitasAuditor
from skfairtest.mitigation._group_strategies import GroupRetraining, TestSGDRetraining
from skfairtest.mitigation._labelers import check_labeler
from skfairtest.mitigation._rounds import Course, Measure, history_frame
from skfairtest.mitigation._training import Task
from skfairtest.mitigation._twin_strategies import AequitasRetraining, TwinRetraining

STRATEGIES: dict[str, Any] = {
    "twins": TwinRetraining,
    "aequitas": AequitasRetraining,
    "groups": GroupRetraining,
    "testsgd": TestSGDRetraining,
}
OF_GROUPS = ("groups", "testsgd")
#: Queries of the default auditor: one round needs no more discriminatory inputs than that brings.
MAX_QUERIES = 40_000


class FairnessRetrainer(DelegatingEstimator):
    """Mitigate discrimination: train, audit, add what was found under better labels, train again.

    After ``fit`` it *is* the mitigated model: it predicts and scores with it. The rounds are judged
    on a validation part that nothing is learned from; the model with the least discrimination among
    those whose score did not fall by more than `max_score_drop` is kept, and the original when no
    round is better.

    Parameters
    ----------
    estimator : estimator
        Classifier, regressor or pipeline; clones of it are trained. It needs no ``sample_weight``.
    auditor : auditor, default=None
        Template that finds what is added; its estimator and seed are set. It names the sensitive
        columns. None takes `AequitasAuditor` or `TestSGDAuditor`, as the strategy needs, which look
        for columns with the names of common protected attributes.
    strategy : {"twins", "aequitas", "groups", "testsgd"}, default="twins"
        "aequitas" is the paper's Algorithm 5: inputs found in the original model, in random shares
        of the training rows from doubling intervals, until the share of discriminatory inputs no
        longer falls. "twins" is ours: both twins of each discriminatory input, under one label, and
        in every round what is found in the latest model. "testsgd" adds rows of the worst rule set
        to which the original model gives the label that it gives to this group too rarely, from 50
        rows to 10% of the data. "groups" is ours: in every round rows inside and outside of the
        latest model's worst rule sets, with the label that it does not predict, those that lower
        the worst scores most at the least cost; half of them, where they lowered the score too
        much.
    labeler : {"auto", "majority", "average", "opposite"} or callable, default="auto"
        Labels of added twins. "majority": vote of diverse models (mean, for a regression).
        "average": average of the model's predictions for the two twins. "opposite": the label that
        the model does not give. "auto" takes the first two in turn, round by round ("aequitas": the
        first). A callable gets `FoundPairs` and returns one label a pair. The strategies of groups
        have labels of their own.
    max_score_drop : float, default=0.01
        How far the score on the validation part may fall below the original's. Below 1,000
        validation rows, "groups" takes the mean of this score and of scores on five folds of the
        training part, each of a model trained without the fold: five more trainings a round.
    scoring : str or callable, default=None
        Score to be kept, greater is better; None for the estimator's own.
    validation_fraction : float, default=0.2
        Share of the rows that scores are taken on, of each class alike. No model is trained on it,
        neither the original nor the mitigated one.
    n_estimates : int, default=10_000
        Uniform inputs by which a round is judged; fewer where the sensitive attributes have more
        than eight combinations. Used by the strategies of twins.
    max_rounds : int, default=8
        Rounds of adding and training at most.
    random_state : int, RandomState or Generator, default=None
        Seed. The same seed gives the same result; models without a seed of their own get one.
    n_jobs : int, default=None
        Set on an auditor that has none of its own.
    verbose : int, default=0
        1 prints a line a round.

    Attributes
    ----------
    estimator_ : estimator
        The mitigated model, or the original.
    original_estimator_ : estimator
        The model before mitigation, trained on the same part of the rows.
    history_ : DataFrame
        One row a round, the original first: round, n_added (rows added), before and after (share of
        discriminatory inputs, degree of a regressor without a threshold, or worst group fairness
        score) with their intervals, score, kept, reason.
    n_added_ : int
        Rows that `estimator_` was given beside the training part.
    before_, after_ : dict
        The measure of the original and of `estimator_` with its interval, on fresh inputs that no
        choice was made by: value, low, high.
    stop_reason_ : str
        What ended the rounds.
    n_features_in_, feature_names_in_, classes_
        As of every estimator.

    See Also
    --------
    FairnessAugmenter : One augmentation as a step of an imbalanced-learn pipeline.
    estimate_discrimination : The share of discriminatory inputs of any model.
    make_audit_scorer : To choose among models instead.

    Notes
    -----
    What falls is the difference in treatment of twins (or of groups) in the inputs that are looked
    at. That is not the same as fair: columns that stand for the sensitive ones keep their
    influence, twins may be unlike any real person, the labels that are added are guesses, and a
    group may get worse predictions on the way. Look at error rates by group before and after, and
    say which measure was lowered.

    A mitigated model was chosen as the best of some; `before_` and `after_` are measured on fresh
    inputs for that reason. The intervals are about the sampled inputs, not about how the
    training data were drawn.

    A round that fails (a model that cannot be trained on the added rows, say) ends the course with
    a `MitigationWarning`, and the best model so far is kept. If the audit of the original fails,
    the original is kept, with the same warning. A model that predicts the same for all validation
    rows is never kept, if the original does not.

    References
    ----------
    .. [1] Udeshi, S., Arora, P., & Chattopadhyay, S. (2018). Automated directed fairness testing.
       ASE, 98-108. https://doi.org/10.1145/3238147.3238165
    .. [2] Zhang, M., Sun, J., Wang, J., & Sun, B. (2022). TestSGD: Interpretable testing of neural
       networks against subtle group discrimination. ACM TOSEM.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skfairtest import AequitasAuditor, FairnessRetrainer
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(n_samples=600, random_state=0)
    >>> X, y = data.data.select_dtypes("number"), data.target
    >>> X = X.assign(sex=data.data["sex"] == "male")
    >>> auditor = AequitasAuditor(sensitive_features="sex", max_queries=4000)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> mitigated = FairnessRetrainer(tree, auditor, max_score_drop=0.05, random_state=0).fit(X, y)
    >>> mitigated.after_["value"] < mitigated.before_["value"]
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        auditor: Any = None,
        *,
        strategy: str = "twins",
        labeler: Any = "auto",
        max_score_drop: float = 0.01,
        scoring: Any = None,
        validation_fraction: float = 0.2,
        n_estimates: int = 10_000,
        max_rounds: int = 8,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.auditor = auditor
        self.strategy = strategy
        self.labeler = labeler
        self.max_score_drop = max_score_drop
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_estimates = n_estimates
        self.max_rounds = max_rounds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Train, audit, augment and train again.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows; the table of which the auditor's sensitive columns are named.
        y : array-like of shape (n_samples,)
            Targets.
        **fit_params : dict
            Passed to each ``fit`` of the estimator, or routed when metadata routing is on. Of those
            with one entry a row only ``sample_weight`` can be extended to added rows, by its mean.

        Returns
        -------
        self : object
            The mitigated model.

        Raises
        ------
        ValueError, TypeError
            For parameters and input that cannot be used, and for a scorer that fails on the
            original. `original_estimator_` stays once it is trained.
        """
        self._check_params()
        X = check_table(self, X)
        y = self._check_targets(y, len(X))
        if get_config()["enable_metadata_routing"]:
            fit_params = process_routing(self, "fit", **fit_params).estimator.fit
        rng = make_generator(self.random_state)
        task = Task(
            self.estimator,
            X,
            y,
            scorer=check_scoring(self.estimator, scoring=self.scoring),
            fit_params=fit_params,
            validation_fraction=self.validation_fraction,
            rng=rng,
        )
        strategy = self._strategy(task, rng)
        for name in ("before_", "after_"):  # of an earlier fit
            if hasattr(self, name):
                delattr(self, name)
        model = task.train()
        self.original_estimator_ = self.estimator_ = model
        self.n_added_, self._table, self.stop_reason_ = 0, {}, "interrupted"
        course = Course(task, model, max_score_drop=self.max_score_drop, verbose=self.verbose)
        try:
            self._mitigate(course, strategy)
        except BaseException as error:
            # Ctrl-C and failures go on to the caller; here it is noted what they were.
            interrupted = isinstance(error, KeyboardInterrupt)
            course.reason = "interrupted" if interrupted else f"failed: {error}"
            raise
        finally:
            # Whatever ended it: the best model so far, which is the original at first.
            self.estimator_, self.n_added_ = course.best, course.n_added
            self._table, self.stop_reason_ = course.table(), course.reason
        return self

    def _mitigate(self, course: Course, strategy: Any) -> None:
        try:
            course.run(strategy, self.max_rounds)
            before, after = course.confirm(strategy)
        except EstimatorFailedError as error:
            course.reason = f"the audit failed: {error}"
            warnings.warn(
                f"Not mitigated, the best model so far is kept: {course.reason}",
                MitigationWarning,
                stacklevel=3,
            )
            return
        self.before_, self.after_ = _as_dict(before), _as_dict(after)
        # Nothing to mitigate is no reason to warn; something that stays is.
        if course.best is course.original and before.value > 0:
            warnings.warn(
                f"The original model is kept, with {before.value:.4g}: no round of "
                f"{len(course.rows) - 1} was better within max_score_drop="
                f"{self.max_score_drop:g} ({course.reason}). See history_; another labeler=, "
                "strategy=, or an auditor with a larger budget may help.",
                MitigationWarning,
                stacklevel=3,
            )

    # Checks ----------------------------------------------------------------------------------

    def _check_params(self) -> None:
        if self.estimator is None or isinstance(self.estimator, type):
            raise ValueError(
                f"estimator must be an instance of an estimator; got {self.estimator!r}. Write "
                "FairnessRetrainer(LogisticRegression())."
            )
        if isinstance(self.estimator, FrozenEstimator):
            raise ValueError(
                "estimator is a FrozenEstimator, which is never trained again, so it cannot be "
                "mitigated. Give the estimator inside, unfitted."
            )
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {list(STRATEGIES)}; got {self.strategy!r}.")
        check_labeler(self.labeler)
        check_real(self, {"max_score_drop": "[0, inf)", "validation_fraction": "(0, 1)"})
        check_whole(self, {"n_estimates": 1, "max_rounds": 1})

    def _check_targets(self, y: Any, n_rows: int) -> Any:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        if len(y) != n_rows:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: X has "
                f"{n_rows} rows, y has {len(y)}."
            )
        if is_classifier(self.estimator):
            check_classification_targets(y)
        elif y.dtype.kind in "biu":
            y = y.astype(np.float64)  # labels of added rows are means
        return y

    def _strategy(self, task: Task, rng: np.random.Generator) -> Any:
        kind = STRATEGIES[self.strategy]
        auditor: Any = self.auditor
        if auditor is None and self.strategy in OF_GROUPS:
            auditor = TestSGDAuditor()
        elif auditor is None:
            auditor = AequitasAuditor(max_queries=MAX_QUERIES)
        auditor = clone(auditor)
        if self.n_jobs is not None and "n_jobs" in auditor.get_params(deep=False):
            auditor.set_params(n_jobs=auditor.n_jobs or self.n_jobs)
        if self.strategy in OF_GROUPS:
            return kind(task, auditor, rng)
        return kind(task, auditor, self.labeler, self.n_estimates, rng)

    # Results ---------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a model."""
        return hasattr(self, "estimator_")

    @property
    def history_(self) -> pd.DataFrame:
        """The rounds, the original first."""
        if not hasattr(self, "_table"):
            raise AttributeError(
                f"{type(self).__name__} has no history_ before fit. Call fit(X, y) first."
            )
        return history_frame(self._table)

    def __sklearn_tags__(self) -> Any:
        """Tags of the estimator, for one output."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = False
        tags.target_tags.single_output = True
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags


def _as_dict(measure: Measure) -> dict[str, float]:
    return {name: float(value) for name, value in measure._asdict().items()}
