"""Documentation that the group auditors share, written once and put into their docstrings."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T", bound=type)

_PARAMETERS = """min_support : float, default=0.05
    Share of the rows that a rule set must hold for, at least, in (0, 1).
min_outside : float, default=0.05
    Share of the rows that a rule set must leave outside, at least, to be ranked. Those that
    leave fewer are counted and listed behind the others: their score is about the few outside.
sampling_threshold : int, default=1000
    Rows that are asked about on each side of a rule set, at least.
error_threshold : float, default=0.05
    The pool is so large that no interval reaches further than this from the score, for
    shares of up to one half, where the error is largest. For means: in units of twice the
    standard deviation of the predictions.
confidence : float, default=0.95
    Confidence of the intervals.
correction : {"bonferroni", "holm", "none"}, default="bonferroni"
    "bonferroni": all intervals hold at once with the confidence, so that the worst of many
    rule sets may be quoted. "holm" shows a difference for more rule sets; for those, its
    interval begins at 0. "none": each interval by itself, as in the paper: right for a rule
    set that was chosen beforehand, too narrow for the worst of many.
ci_method : {"newcombe", "wilson", "paper"}, default="newcombe"
    How an interval is made of the two sides. "wilson" adds up two Wilson intervals, "paper"
    two normal ones (which have length 0 where all predictions are alike). Differences of means
    have Welch's interval, or the paper's.
max_rules : int, default=20_000
    Rule sets that are kept, worst first. All of them are counted and compared."""

_RUN = """max_queries : int, default={max_queries}
    Budget in queries: one query is one row for which the model is asked. Where it is smaller than
    what the thresholds need, the intervals are wider, and a warning says so.
n_jobs : int, default=None
    Parts of a large batch that are predicted at the same time, in threads unless
    `joblib.parallel_config` says otherwise. The result does not depend on it.
random_state : int, RandomState or Generator, default=None
    Seed. The same seed gives the same result.
verbose : int, default=0
    1 prints a line each tenth of the work, 2 each hundredth."""

_FAVOURABLE = """favourable : label, set of labels, float or "mean", default=None
    What counts as a favourable prediction. Classifiers: a label or several; None takes the last
    of ``classes_``, which is the positive one of two. Regressors: predictions of at least this
    threshold; None or "mean" compares means instead of shares. Of several outputs the mean
    counts.
response_method : {"auto", "predict", "predict_proba"}, default="auto"
    "auto" asks for labels. "predict_proba" compares the mean probability of the favourable
    labels in place of their share."""

_ATTRIBUTES = """rules_ : DataFrame
    The kept rule sets, worst first: `rule` (in words), `attributes`, `conditions` (for each
    attribute the values that match: a tuple of categories, in which None is a missing one, or
    an interval), `support` (share of the rows of X), `share_inside` and `share_outside` (of
    favourable predictions; means for a regressor without a threshold), `score` (their absolute
    difference), `low` and `high` (the interval of the score), `differs` (whether it shows a
    difference), `error` (the paper's, for the rule set alone), `n_inside` and `n_outside` (rows
    asked about), `ranked` (whether both sides are large enough to compare).
worst_rule_ : Series
    The first row of `rules_`.
group_fairness_score_ : float
    Its score. The largest of many estimates tends to be too large: quote it with its interval,
    or `confirm` it.
n_rule_sets_, n_groups_ : int
    Frequent rule sets, and the different groups that they describe, as far as these were
    told apart (up to 2,000,000). The intervals allow for so many groups.
favourable_ : list, float or "mean"
    What was taken to be favourable.
n_queries_, seconds_ : int, float
    The cost: queries, seconds.
stop_reason_, stop_kind_ : str
    What ended the run: in words, and as one of "complete", "max_queries", "callback",
    "interrupted" and "failed".
estimator_ : estimator
    What was audited."""


def document_groups(cls: T) -> T:
    """Put the shared parameters and attributes into a class's docstring."""
    doc = cls.__doc__ or ""
    run = _RUN.format(max_queries=getattr(cls, "_default_queries", "100_000"))
    texts = {
        "{shared}": _PARAMETERS,
        "{run}": run,
        "{favourable}": _FAVOURABLE,
        "{attributes}": _ATTRIBUTES,
    }
    for mark, text in texts.items():
        doc = doc.replace(mark, text.replace("\n", "\n    "))
    cls.__doc__ = doc
    return cls
