"""GroupAuditor holds what the auditors of groups share: parameters, steps of fit, and queries."""

from __future__ import annotations

import math
import warnings
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from skfairtest import _clock
from skfairtest._delegation import AuditingEstimator
from skfairtest._parameters import (
    DeclaredParameters,
    check_instance,
    check_n_jobs,
    check_verbose,
    checked,
    is_result,
    one_of,
    real,
    whole,
)
from skfairtest._progress import CallbackSupportMixin, Progress
from skfairtest._statistics import CORRECTIONS, Sides
from skfairtest._typing import Floats
from skfairtest.exceptions import (
    NoDisparityWarning,
    NonDeterministicModelError,
    users_level,
)
from skfairtest.finding._fitted_cards import rules_card
from skfairtest.finding._shown import ShownFinding
from skfairtest.group._outcomes.answers import Answers
from skfairtest.group._results import GroupResults
from skfairtest.oracle._model import RESPONSE_METHODS
from skfairtest.oracle._second_answers import SecondAnswers, as_answers, n_again
from skfairtest.oracle._stop import StopReason, StopSearch, stopped_by
from skfairtest.workers._sending import n_workers

#: Rows between two looks at the clock and the callbacks, for each worker.
BATCH = 16_384
#: Share of the rows that a rule leaves outside, at least, to be ranked.
MIN_OUTSIDE = 0.05


class GroupAuditor(
    DeclaredParameters, ShownFinding, CallbackSupportMixin, GroupResults, AuditingEstimator
):
    """Base of the group auditors. Not for use by itself.

    It does not derive from `BaseAuditor`: a group has no twins, so a degree, a worst pair and
    discriminatory inputs are not defined for it.

    Parameters
    ----------
    n_jobs : int, default=None
        Number of parts of a large batch that are predicted at the same time. None means 1, unless
        `joblib.parallel_config` sets another number. The result does not depend on it.
    random_state : int, RandomState or Generator, default=None
        Seed of the run. The same seed gives the same result.
    verbose : int, default=0
        1 prints a line after each tenth of the work, 2 after each hundredth.

    Attributes
    ----------
    worst_rule_ : Series
        The first row of `rules_`.
    group_fairness_score_ : float
        The score of the worst rule. The largest of many estimates tends to be too large: quote it
        with its interval, or estimate it again on new rows with `confirm`.
    n_queries_, seconds_ : int, float
        Number of queries to the model, and seconds that the run took.
    estimator_ : estimator
        The estimator that was audited.

    Examples
    --------
    >>> from skfairtest import TestSGDAuditor
    >>> from skfairtest.base import BaseAuditor
    >>> issubclass(TestSGDAuditor, BaseAuditor)
    False
    """

    #: What `n_inside` and `n_outside` count, as it is written.
    _counted = "perturbed inputs"

    estimator: Any = field(default=None, kw_only=False)
    favourable: Any = None
    min_support: float = real(default=0.05, interval="(0, 1)")
    confidence: float = real(default=0.95, interval="(0, 1)")
    max_rules: int = whole(default=20_000, least=1)
    n_jobs: int | None = checked(default=None, check=check_n_jobs)
    random_state: Any = None
    verbose: int = checked(default=0, check=check_verbose)

    def __sklearn_tags__(self) -> Any:
        """Return the estimator's tags for one output, because one number per row is compared."""
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
                f"{type(self).__name__}(estimator=None) is a template for scorers and "
                "retrainers, which set the estimator; it cannot be fitted itself. Pass an "
                f"estimator{instead}."
            )
        check_instance("estimator", self.estimator)

    def _alpha(self, n_groups: int) -> float:
        """Return the error probability that one of so many intervals may have."""
        alone = self.correction == "none"
        return (1 - self.confidence) / (1 if alone else max(1, n_groups))

    # Asking ----------------------------------------------------------------------------------

    @staticmethod
    def _one_column(y: Any) -> Any:
        """Return targets of a single column as a vector, with scikit-learn's warning."""
        shape = np.asarray(y).shape
        return column_or_1d(y, warn=True) if len(shape) == 2 and shape[1] == 1 else y

    def _ask(
        self,
        answers: Answers,
        rows: Any,
        share: float,
        progress: Progress,
        until: float = math.inf,
    ) -> tuple[NDArray[Any], Any]:
        """Return predictions for the rows, and what ended the asking: an error, a stop, or None.

        What was predicted before an error, or before the time `until`, is not lost.

        Raises
        ------
        NonDeterministicModelError
            If the first rows, asked again, get other predictions.
        """
        values: list[NDArray[Any]] = []
        ended: Any = None
        size = BATCH * n_workers(self.n_jobs)
        began, done = _clock.now(), 0
        # The first batch is small, since a non-deterministic model is refused after it, and how
        # long a row takes is not known.
        n = 1_000 if until == math.inf else min(1_000, max(1, self._n_again))
        while done < len(rows):
            batch = rows[done : done + n]
            try:
                values.append(answers.ask(batch))
                if not done:
                    self._ask_again(answers, batch[: self._n_again], values[0])
            except NonDeterministicModelError:
                raise
            except BaseException as error:  # Ctrl-C, too: the caller raises it again
                ended = error
                break
            done += len(batch)
            if progress.update(share * done / len(rows), f"{answers.n_queries} queries"):
                ended = StopSearch(StopReason.CALLBACK)
                break
            n = size
            if until < math.inf and done < len(rows):
                now = _clock.now()
                n = int(min(size, (until - now) * done / (now - began)))
                if n < 1:
                    words = f"max_time: {done:,} of {len(rows):,} rows were predicted"
                    ended = StopSearch(StopReason.MAX_TIME, words)
                    break
        return (np.concatenate(values) if values else np.empty(0)), ended

    @property
    def _n_again(self) -> int:
        """Rows that are asked twice."""
        return n_again()

    def _ask_again(self, answers: Answers, rows: Any, values: NDArray[Any]) -> None:
        if len(rows):
            before = as_answers(values[: len(rows)])
            SecondAnswers(answers.model).compare(before, as_answers(answers.ask(rows)))

    def _found(
        self,
        *,
        rules: NDArray[np.int16],
        support: Floats,
        ranked: NDArray[np.bool_],
        sides: Sides,
        n_rules: int,
        n_groups: int,
        favourable: Any,
        n_queries: int,
        stop: StopSearch,
        columns: dict[str, NDArray[Any]] | None = None,
    ) -> dict[str, Any]:
        """Return the results by name; `columns` are those that a subclass has made."""
        if columns is None:
            columns = self._columns(sides, support, n_rules=n_groups)
        return {
            "_state": {"rules": rules, **columns, "ranked": ranked},
            "favourable_": favourable,
            "n_rules_": n_rules,
            "n_groups_": n_groups,
            "n_queries_": n_queries,
            "stop_reason_": stop.text,
            "stop_kind_": stop.kind.value,
        }

    def _commit(
        self, owner: Any, fitted: dict[str, Any], found: dict[str, Any], start: float
    ) -> None:
        """Take over what was fitted and found in place of the results of an earlier fit.

        Nothing changes on the auditor before. `owner` knows the columns of X.
        """
        columns = {name: value for name, value in vars(owner).items() if is_result(name)}
        self._replace_results(columns | fitted | found | {"seconds_": _clock.now() - start})

    def _finish(self, progress: Progress, ended: Any) -> None:
        """Raise what ended the run, if it failed, or end the progress."""
        if is_failure(ended):
            raise ended
        progress.update(1.0, f"{self.n_queries_} queries")
        progress.finish()

    def _check_occurs(self, answers: Answers, values: Floats) -> None:
        """Warn if nobody, or everybody, got a favourable prediction."""
        total, n = float(values.sum()), len(values)
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
            f"({answers.favourable!r}), so all scores are 0. This is expected if the model makes "
            "the same prediction for everybody. If not, pass another favourable=.",
            NoDisparityWarning,
            stacklevel=users_level(),
        )


class PoolAuditor(GroupAuditor):
    """Base of the group auditors that ask about a pool of perturbed rows. Not for use by itself.

    Parameters
    ----------
    favourable : label, set of labels, float or "mean", default=None
        What counts as a favourable prediction: a label, a set of labels or, for a regressor, every
        output of at least this value. None takes the class whose name says that it is favourable
        ("approved", "good"), else the last class, with a warning. For a regressor, None and "mean"
        compare mean predictions; if it has several outputs, their mean is compared.
    min_support : float, default=0.05
        Smallest share of the rows for which a rule must hold, in (0, 1).
    confidence : float, default=0.95
        Confidence of the intervals.
    max_rules : int, default=20_000
        Number of rules that are kept, worst first. All rules are counted and compared, kept or not.
    response_method : {"auto", "predict", "predict_proba"}, default="auto"
        "auto" asks for labels. "predict_proba" compares the mean probability of the favourable
        labels in place of their share.
    max_attributes : int, default=None
        Largest number of conditions of a rule. None sets no limit beyond the number of attributes,
        or of categories of terms. If a table has more than a million rules, None takes the largest
        number of conditions that leaves fewer than a million, with a warning.
    error_threshold : float, default=0.05
        Largest distance between a score and the bounds of its interval. The pool of rows is made
        large enough for it. Even if few rules are compared, the default asks about at least 1,000
        rows on each side of a rule, other values in inverse proportion to their square. The
        distance is a difference of shares, computed for shares of one half; for means its unit is
        twice the standard deviation of the predictions.
    correction : {"bonferroni", "none"}, default="bonferroni"
        How the intervals allow for the number of rules. With "bonferroni" all intervals hold at
        once, so that the worst of many rules may be quoted. With "none", as in the paper, each
        interval holds by itself and is too narrow for the worst of many.
    max_queries : int, default=100_000
        Budget in queries: one query is one row for which the model is asked. If `error_threshold`
        needs more queries than this, the intervals are wider, and a warning says so.

    Attributes
    ----------
    rules_ : DataFrame
        The kept rules, worst first: `rule` (its text), `attributes`, `conditions` (for each
        attribute the values that match: a tuple of categories, in which None is a missing one, or
        an interval), `support` (share of the rows of X), `value_inside` and `value_outside` (shares
        of favourable predictions, or mean predictions of a regressor without a threshold), `score`
        (their absolute difference), `low` and `high` (the interval of the score), `differs`
        (whether a difference was shown), `n_inside` and `n_outside` (numbers of perturbed inputs or
        texts that the model was asked about, not of rows of X), `ranked` (whether both sides are
        large enough to compare: a rule must leave 5% of the rows outside).
    n_rules_, n_groups_ : int
        Number of frequent rules, and of the different groups that they describe: equal groups are
        counted once. The intervals allow for this number of groups.
    favourable_ : list, float or "mean"
        The predictions that counted as favourable.
    stop_reason_, stop_kind_ : str
        What ended the run, in words and as one of "complete", "max_queries", "max_time" (where
        the auditor has such a limit), "callback", "interrupted" and "failed".
    """

    response_method: str = one_of(default="auto", options=RESPONSE_METHODS)
    max_attributes: int | None = whole(default=None, least=1)
    error_threshold: float = real(default=0.05, interval="(0, inf)")
    correction: str = one_of(default="bonferroni", options=CORRECTIONS)
    max_queries: int = whole(default=100_000, least=1)

    def _check_params(self) -> None:
        self._check_estimator()
        self._check_declared()

    @property
    def _n_side(self) -> int:
        """Rows to ask about on each side of a rule, however few of them are compared."""
        # With 1,000 rows on each side, an interval reaches 0.05 to both sides of the score.
        return math.ceil(1_000 * (0.05 / self.error_threshold) ** 2 - 1e-9)

    @property
    def _n_again(self) -> int:
        return n_again(self.max_queries)

    @property
    def _most_rows(self) -> int:
        """Rows that the budget allows, of which some are asked twice."""
        return self.max_queries - self._n_again

    def _warn_budget(self, needed: int) -> None:
        needed += self._n_again
        warnings.warn(
            f"max_queries={self.max_queries} is less than the {needed} queries that "
            f"error_threshold={self.error_threshold:g} needs, so the intervals are wider. Raise "
            "max_queries or error_threshold.",
            UserWarning,
            stacklevel=users_level(),
        )


def is_failure(ended: Any) -> bool:
    """Tell whether a run ended by an error (or Ctrl-C) that has to be raised."""
    return isinstance(ended, BaseException) and not isinstance(ended, StopSearch)


def stop_of(ended: Any, needed: int, budget: int) -> StopSearch:
    """Tell what ended a run."""
    if ended is not None:
        return stopped_by(ended)
    text = "all frequent rules were compared"
    if needed <= budget:
        return StopSearch(StopReason.COMPLETE, text)
    return StopSearch(StopReason.MAX_QUERIES, f"{text}; max_queries={budget} reached")
