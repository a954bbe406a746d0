"""GroupAuditor: what the testers of groups share: parameters, fit's pieces, the asking."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import column_or_1d

from skfairtest import _clock
from skfairtest._delegation import DelegatingEstimator
from skfairtest._parameters import DeclaredParameters, one_of, real, whole
from skfairtest._progress import CallbackSupportMixin, Progress
from skfairtest._statistics import CORRECTIONS, Sides
from skfairtest._typing import Floats
from skfairtest.exceptions import NoDisparityWarning, users_level
from skfairtest.finding._fitted_cards import rules_card
from skfairtest.finding._shown import ShownFinding
from skfairtest.group._answers import Answers
from skfairtest.group._results import SIDES, GroupResults
from skfairtest.oracle._model import RESPONSE_METHODS
from skfairtest.oracle._stop import StopReason, StopSearch, stopped_by
from skfairtest.workers._sending import n_workers

#: Rows between two looks at the clock and the callbacks, for each worker.
BATCH = 16_384


#: Share of the rows that a rule set leaves outside, at least, to be ranked.
MIN_OUTSIDE = 0.05


class GroupAuditor(
    DeclaredParameters, ShownFinding, CallbackSupportMixin, GroupResults, DelegatingEstimator
):
    """Base of the group auditors. Not for use by itself.

    Apart from `BaseAuditor`, because a group has no twins: degree, worst pair and discriminatory
    inputs mean nothing here.

    Parameters
    ----------
    n_jobs : int, default=None
        Parts of a large batch that are predicted at the same time. None is 1, or what
        `joblib.parallel_config` says. The result does not depend on it.
    random_state : int, RandomState or Generator, default=None
        Seed of the run: the same seed gives the same result.
    verbose : int, default=0
        1 prints a line each tenth of the work, 2 each hundredth.

    Attributes
    ----------
    worst_rule_ : Series
        The first row of `rules_`.
    group_fairness_score_ : float
        Its score. The largest of many estimates tends to be too large: quote it with its interval,
        or `confirm` it.
    n_queries_, seconds_ : int, float
        The cost: queries, seconds.
    estimator_ : estimator
        What was audited.

    Examples
    --------
    >>> from skfairtest import BaseAuditor, TestSGDAuditor
    >>> issubclass(TestSGDAuditor, BaseAuditor)
    False
    """

    #: What `n_inside` and `n_outside` count, in words.
    _counted = "perturbed inputs"

    estimator: Any = field(default=None, kw_only=False)
    favourable: Any = None
    min_support: float = real(default=0.05, interval="(0, 1)")
    confidence: float = real(default=0.95, interval="(0, 1)")
    max_rules: int = whole(default=20_000, least=1)
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def get_metadata_routing(self) -> MetadataRouter:
        """Routing of fit and score parameters to the estimator, and of what fit itself takes.

        Returns
        -------
        MetadataRouter
            The routing.
        """
        return super().get_metadata_routing().add_self_request(self)

    def __sklearn_tags__(self) -> Any:
        """Tags of the estimator, for one output: what is compared is one number a row."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags

    def _card(self) -> str:
        return rules_card(self) if self.__sklearn_is_fitted__() else ""

    # Parameters ------------------------------------------------------------------------------

    def _check_estimator(self, instead: str = "") -> None:
        if self.estimator is None:
            raise ValueError(
                f"{type(self).__name__}(estimator=None) is a template for scorers and retrainers, "
                "which set the estimator; it cannot be fitted itself. Give an estimator"
                f"{instead}."
            )
        if isinstance(self.estimator, type):
            raise TypeError(
                f"estimator must be an instance; got the class {self.estimator.__name__}. Write "
                f"{self.estimator.__name__}()."
            )

    def _alpha(self, n_groups: int) -> float:
        """The error that one of so many intervals may have."""
        alone = self.correction == "none"
        return (1 - self.confidence) / (1 if alone else max(1, n_groups))

    # Asking ----------------------------------------------------------------------------------

    @staticmethod
    def _one_column(y: Any) -> Any:
        """Targets of a single column as a vector, with scikit-learn's warning."""
        shape = np.asarray(y).shape
        return column_or_1d(y, warn=True) if len(shape) == 2 and shape[1] == 1 else y

    def _routed(self, fit_params: dict[str, Any], sensitive_features: Any) -> dict[str, Any]:
        """Fit parameters, and the sensitive columns where the estimator asked for them, too."""
        if sensitive_features is None or not hasattr(self.estimator, "get_metadata_routing"):
            return fit_params
        requests = self.estimator.get_metadata_routing()
        consumed = requests.consumes("fit", ["sensitive_features"])
        return fit_params | dict.fromkeys(consumed, sensitive_features)

    def _begin(self, X: Any, seconds: float) -> None:
        """Start the clock at what was spent before training, and the progress at nothing.

        Called when all that can be checked was checked: until here, an earlier run's results stay.
        """
        for name in ("_state", "stop_reason_", "stop_kind_"):
            if hasattr(self, name):
                delattr(self, name)
        self._start = _clock.now() - seconds
        self._progress = Progress(self, X, self.verbose)

    def _ask(
        self, answers: Answers, rows: Any, share: float, *, as_they_are: bool = False
    ) -> tuple[NDArray[Any], Any]:
        """Predictions for the rows, and what ended the asking: an error, a stop, or None.

        What was predicted before an error is not lost.
        """
        ask = answers.predictions if as_they_are else answers.ask
        values: list[NDArray[Any]] = []
        ended: Any = None
        size = BATCH * n_workers(self.n_jobs)
        for start in range(0, len(rows), size):
            try:
                values.append(ask(rows[start : start + size]))
            except BaseException as error:  # Ctrl-C, too: the caller raises it again
                ended = error
                break
            done = min(len(rows), start + size)
            if self._progress.update(share * done / len(rows), f"{answers.n_queries} queries"):
                ended = StopSearch(StopReason.CALLBACK)
                break
        return (np.concatenate(values) if values else np.empty(0)), ended

    def _store(
        self,
        *,
        rules: NDArray[np.int16],
        support: Floats,
        ranked: NDArray[np.bool_],
        sides: Sides,
        n_rule_sets: int,
        n_groups: int,
        favourable: Any,
        n_queries: int,
        stop: StopSearch,
        more: dict[str, NDArray[Any]] | None = None,
    ) -> None:
        """Keep the results; `more` holds intervals that a subclass has made, and its columns."""
        state: dict[str, Any] = {"rules": rules, "support": support, "ranked": ranked}
        state |= {name: np.asarray(getattr(sides, name), dtype=np.float64) for name in SIDES}
        state |= self._intervals(sides, n_groups) if more is None else more
        self._state = state
        self.favourable_ = favourable
        self.n_rule_sets_ = n_rule_sets
        self.n_groups_ = n_groups
        self.n_queries_ = n_queries
        self.seconds_ = _clock.now() - self._start
        self.stop_reason_, self.stop_kind_ = stop.text, stop.kind.value

    def _finish(self, ended: Any) -> None:
        """End the progress, leave nothing of the run on the auditor, and raise what ended it."""
        progress = self._progress
        del self._progress, self._start
        if is_failure(ended):
            raise ended
        progress.update(1.0, f"{self.n_queries_} queries")
        progress.finish()

    def _check_occurs(self, answers: Answers, total: float, n: int) -> None:
        """Say it where nobody, or everybody, got a favourable prediction."""
        if not answers.binary or 0 < total < n:
            return
        never = total == 0
        if never and answers.classes is None and isinstance(answers.favourable, list):
            raise ValueError(
                f"favourable={answers.favourable!r} never occurs among {n} predictions "
                f"of {type(self.estimator_).__name__}. Give a label that it predicts."
            )
        warnings.warn(
            f"{'No' if never else 'Every'} prediction among {n} is favourable "
            f"({answers.favourable!r}), so all scores are 0. Expected if the model predicts alike "
            "to everybody; else choose another favourable=.",
            NoDisparityWarning,
            stacklevel=users_level(),
        )


class PoolAuditor(GroupAuditor):
    """Base of the group auditors that ask about a pool of perturbed rows. Not for use by itself.

    Parameters
    ----------
    favourable : label, set of labels, float or "mean", default=None
        What counts as a favourable prediction: a label or several, of a regressor at least this
        output. None takes a class whose word says it ("approved", "good"), else the last one, with
        a warning; of a regressor None or "mean" compares means. Of several outputs the mean counts.
    min_support : float, default=0.05
        Least share of the rows that a rule set must hold for, in (0, 1).
    confidence : float, default=0.95
        Confidence of the intervals.
    max_rules : int, default=20_000
        Rule sets that are kept, worst first. All of them are counted and compared.
    response_method : {"auto", "predict", "predict_proba"}, default="auto"
        "auto" asks for labels. "predict_proba" compares the mean probability of the favourable
        labels in place of their share.
    max_attributes : int, default=None
        Most conditions of a rule set; None for as many as there are attributes, or categories of
        terms.
    sampling_threshold : int, default=1000
        Least number of rows that are asked about on each side of a rule set.
    error_threshold : float, default=0.05
        The pool is so large that no interval reaches further than this from the score, for shares
        of up to one half. For means: in units of twice the standard deviation of the predictions.
    correction : {"bonferroni", "holm", "none"}, default="bonferroni"
        "bonferroni": all intervals hold at once, so that the worst of many rule sets may be quoted.
        "holm" shows a difference for more of them, whose intervals begin at 0. "none": each
        interval by itself, as in the paper: too narrow for the worst of many.
    max_queries : int, default=100_000
        Budget in queries: one query is one row for which the model is asked. Where it is smaller
        than what the thresholds need, the intervals are wider, and a warning says so.

    Attributes
    ----------
    rules_ : DataFrame
        The kept rule sets, worst first: `rule` (in words), `attributes`, `conditions` (for each
        attribute the values that match: a tuple of categories, in which None is a missing one, or
        an interval), `support` (share of the rows of X), `share_inside` and `share_outside` (of
        favourable predictions; means for a regressor without a threshold), `score` (their absolute
        difference), `low` and `high` (the interval of the score), `differs` (whether it shows a
        difference), `error` (the paper's, for the rule set alone), `n_inside` and `n_outside`
        (perturbed inputs or texts asked about, not rows of X), `ranked` (whether both sides are
        large enough to compare: a rule set must leave 5% of the rows outside).
    n_rule_sets_, n_groups_ : int
        Frequent rule sets, and the different groups that they describe, as far as these were told
        apart (up to 2,000,000). The intervals allow for so many groups.
    favourable_ : list, float or "mean"
        What was taken to be favourable.
    stop_reason_, stop_kind_ : str
        What ended the run: in words, and as one of "complete", "max_queries", "callback",
        "interrupted" and "failed".
    """

    response_method: str = one_of(default="auto", options=RESPONSE_METHODS)
    max_attributes: int | None = whole(default=None, least=1)
    sampling_threshold: int = whole(default=1000, least=1)
    error_threshold: float = real(default=0.05, interval="(0, inf)")
    correction: str = one_of(default="bonferroni", options=CORRECTIONS)
    max_queries: int = whole(default=100_000, least=1)

    def _check_params(self) -> None:
        self._check_estimator()
        self._check_declared()

    def _warn_budget(self, needed: int) -> None:
        warnings.warn(
            f"max_queries={self.max_queries} is less than the {needed} queries that "
            f"sampling_threshold={self.sampling_threshold} and error_threshold="
            f"{self.error_threshold:g} need: intervals are wider. Raise max_queries, or "
            "error_threshold.",
            UserWarning,
            stacklevel=users_level(),
        )


def is_failure(ended: Any) -> bool:
    """Whether a run ended by an error, Ctrl-C among them, that the caller has to see."""
    return isinstance(ended, BaseException) and not isinstance(ended, StopSearch)


def stop_of(ended: Any, needed: int, budget: int) -> StopSearch:
    """What ended a run."""
    if ended is not None:
        return stopped_by(ended)
    text = "all frequent rule sets were compared"
    if needed <= budget:
        return StopSearch(StopReason.COMPLETE, text)
    return StopSearch(StopReason.MAX_QUERIES, f"{text}; max_queries={budget} reached")
