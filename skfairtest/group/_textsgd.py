"""TestSGD for texts: which terms change the share of favourable predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest import _clock
from skfairtest._parameters import check_whole, whole
from skfairtest._progress import with_callbacks
from skfairtest._validation import fitted_estimator, make_generator, warn_of_retraining
from skfairtest.group._answers import Answers
from skfairtest.group._base import BATCH, MIN_OUTSIDE, PoolAuditor, is_failure, stop_of
from skfairtest.group._results import Description
from skfairtest.group._rule_attribute import quoted
from skfairtest.group._terms import IDENTITY_TERMS, Terms, TextRows, check_texts
from skfairtest.group._textsample import (
    Asked,
    Corpus,
    Seeds,
    TextSample,
    ask_batch,
    make_sides,
    plan_sample,
    side,
)
from skfairtest.oracle._stop import StopReason, StopSearch


class KeepsTerms:
    """Says what `TextSGDAuditor` keeps in a class of its own; has no parameters."""

    terms_: Terms


class TextSGDAuditor(KeepsTerms, PoolAuditor):
    """Find the terms that change the share of favourable predictions most.

    A rule set names at most one term of each category, such as "gay" and "taoist". Inside of it are
    the texts that have any term of each of these categories, with those terms replaced by the named
    ones; outside are the texts that do not contain all of the named terms, as they are. The score
    is the difference between the shares of favourable predictions.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier or regressor of raw strings, such as
        ``make_pipeline(TfidfVectorizer(), LogisticRegression())``. Fitted, or fitted by
        ``fit(X, y)``.
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
    n_jobs : int, default=None
        Parts of a large batch that are predicted at the same time. None is 1, or what
        `joblib.parallel_config` says. The result does not depend on it.
    random_state : int, RandomState or Generator, default=None
        Seed of the run: the same seed gives the same result.
    verbose : int, default=0
        1 prints a line each tenth of the work, 2 each hundredth.
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
    max_queries : int, default=2_000_000
        Budget in queries: one query is one text for which the model is asked. Where it is smaller
        than what the thresholds need, the intervals are wider, and a warning says so.
    categories : dict of str to list of str, default=None
        Terms of each category; None for the 48 terms of the paper in four categories, gender, race,
        religion and age. Terms are found on word borders, in any case, the longest first.

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
    categories_ : dict of str to list of str
        The terms.

    See Also
    --------
    TestSGDAuditor : The same for tables.

    Notes
    -----
    The support of a rule set is the share of texts with any term of each of its categories, so it
    is the same for all terms. The intervals refer to the population from which the samples are
    drawn, independently and with replacement: the texts of X with the terms replaced, and the texts
    of X that lack a term. They do not cover how X itself was drawn; `confirm` does. All rule sets
    share the texts outside, and those over the same categories share the texts inside; a text
    that comes again is asked about once.

    A replaced text may read oddly, and a term may be used in another sense ("black coffee"). A
    difference shows that the model's predictions depend on the term, not why, and not that this is
    unfair: that is for people to judge.

    References
    ----------
    .. [1] Zhang, M., Sun, J., Wang, J., & Sun, B. (2022). TestSGD: Interpretable testing of neural
       networks against subtle group discrimination. ACM TOSEM.

    Examples
    --------
    >>> from skfairtest import TextSGDAuditor
    >>> from skfairtest.datasets import make_identity_comments
    >>> comments = make_identity_comments(1000, terms=["older", "canadian"], random_state=0)
    >>> auditor = TextSGDAuditor(comments.estimator, random_state=0).fit(comments.data)
    >>> auditor.worst_rule_["rule"]
    'contains "canadian" and "older"'
    >>> bool(auditor.worst_rule_["low"] > 0.2)
    True
    """

    _counted = "texts"

    categories: Any = None
    max_queries: int = whole(default=2_000_000, least=1)

    def __sklearn_tags__(self) -> Any:
        """Tags of the estimator; the input is a list of strings."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    # Fit -------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Look at every frequent rule set.

        Parameters
        ----------
        X : list, Series or array of str of shape (n_samples,)
            Texts.
        y : array-like of shape (n_samples,), default=None
            With targets, a clone of the estimator is fitted first, with a warning where it was
            fitted already; without, it is audited as it stands.
        **fit_params : dict
            Passed to the estimator's ``fit``, or routed when metadata routing is on.

        Returns
        -------
        self : object
            The fitted auditor.

        Raises
        ------
        ValueError, TypeError
            For parameters and texts that cannot be audited, no frequent rule set among them,
            before the first query.
        EstimatorFailedError
            If the estimator fails during the audit; rule sets asked about so far are ranked.
        """
        start = _clock.now()
        self._check_params()
        texts, kind = check_texts(X)
        terms = Terms(IDENTITY_TERMS if self.categories is None else self.categories)
        rng = make_generator(self.random_state)
        corpus = Corpus(terms, texts)
        frequent = corpus.frequent(self.min_support, self.max_attributes)
        seconds = _clock.now() - start
        warn_of_retraining(self.estimator, y)
        self.estimator_ = fitted_estimator(self, X, y, fit_params)
        answers = Answers(
            self.estimator_, TextRows(kind), self.favourable, self.response_method, self.n_jobs
        )
        self.terms_ = terms
        self.text_kind_ = kind
        self._begin(X, seconds)
        try:
            ended = self._search(corpus, frequent, answers, rng)
        except BaseException as error:  # raised again, when nothing of the run is left behind
            ended = error
        self._finish(ended)
        return self

    @property
    def categories_(self) -> dict[Any, list[str]]:
        """The terms of each category."""
        self._result("categories_")
        return dict(zip(self.terms_.categories, self.terms_.words, strict=True))

    def _search(
        self,
        corpus: Corpus,
        frequent: Seeds,
        answers: Answers,
        rng: np.random.Generator,
    ) -> Any:
        """Ask about one sample, and rank the rule sets by it; returns what ended it early."""
        n_rules = corpus.n_rule_sets(frequent)
        sample, needed = plan_sample(
            corpus,
            frequent,
            n_side=self.sampling_threshold,
            error=self.error_threshold,
            alpha=self._alpha(n_rules),
            budget=self.max_queries,
            rng=rng,
        )
        if needed > self.max_queries:
            self._warn_budget(needed)
        rows, weights = sample.outside
        values, ended = self._ask(answers, [corpus.texts[row] for row in rows], 0.1)
        if len(values) < len(rows):  # without an outside there is nothing to compare with
            return (
                ended if is_failure(ended) else RuntimeError(f"No rule set was compared: {ended}.")
            )
        asked, ended = self._ask_inside(corpus, sample, answers)
        if not asked.rules:
            return ended
        table, inside = np.array(asked.rules, dtype=np.int16), np.array(asked.inside)
        outside, share = corpus.outside(table, rows, weights, values, bool(answers.binary))
        score = np.abs(inside[:, 1] - outside[:, 1])
        ranked = (share >= MIN_OUTSIDE) & np.isfinite(score)
        # Fewer conditions first among equal scores.
        order = np.lexsort(((table >= 0).sum(axis=1), -np.nan_to_num(score), ~ranked))
        order = order[: self.max_rules]
        self._store(
            rules=table[order],
            support=corpus.support(table[order]),
            ranked=ranked[order],
            sides=make_sides(inside[order], outside[order], bool(answers.binary)),
            n_rule_sets=n_rules,
            n_groups=n_rules,
            favourable=answers.favourable,
            n_queries=answers.n_queries,
            stop=stop_of(ended, needed, self.max_queries),
        )
        means = np.append(inside[:, 1], values)
        self._check_occurs(answers, float(means.sum()), len(means))
        return ended

    def _ask_inside(
        self, corpus: Corpus, sample: TextSample, answers: Answers
    ) -> tuple[Asked, Any]:
        """Ask about the texts inside of all rule sets, several rule sets in one batch."""
        asked = Asked([], [])
        todo = corpus.rule_sets(sample)
        start = 0
        while start < len(todo):
            first, rows = start, 0
            while start < len(todo) and (start == first or rows < BATCH):
                rows += len(sample.inside[todo[start][0]][0])
                start += 1
            try:
                ask_batch(corpus, sample, answers, todo[first:start], asked)
            except BaseException as error:  # raised again once what is known is kept
                return asked, error
            share = 0.1 + 0.85 * start / len(todo)
            if self._progress.update(share, f"{answers.n_queries} queries"):
                return asked, StopSearch(StopReason.CALLBACK)
        return asked, None

    # Results ---------------------------------------------------------------------------------

    def _describe(self, rule: NDArray[np.int16]) -> Description:
        held = np.flatnonzero(rule >= 0)
        terms = [self.terms_.words[j][rule[j]] for j in held]
        return Description(
            "contains " + " and ".join(quoted(term) for term in terms),
            [self.terms_.categories[j] for j in held],
            [(term,) for term in terms],
        )

    def matches(self, X: Any, rule: Any) -> NDArray[np.bool_]:
        """Which texts contain all terms of a rule set.

        Parameters
        ----------
        X : list, Series or array of str of shape (n_texts,)
            Texts.
        rule : int, str or Series
            Place in `rules_`, the words of the rule set, or a row of `rules_`.

        Returns
        -------
        ndarray of bool of shape (n_texts,)
            Which texts.
        """
        number = self._rule_number(rule)
        return Corpus(self.terms_, check_texts(X)[0]).contains(self._state["rules"][number])

    def confirm(self, X_new: Any, n_rules: int = 10) -> pd.DataFrame:
        """Estimate the worst rule sets again, on texts that were not searched.

        Every new text with a term of each category is asked about once, with the terms replaced. If
        the texts are a random sample, the intervals are about the population that they come from.

        Parameters
        ----------
        X_new : list, Series or array of str of shape (n_texts,)
            Texts that fit has not seen.
        n_rules : int, default=10
            How many of the worst rule sets.

        Returns
        -------
        DataFrame
            One row a rule set: as in `rules_`, and `searched_score` and `same_direction`, which
            compare with the search. Where a side is empty, nothing is known: the score is NaN.
        """
        self._result("confirm")
        check_whole("n_rules", n_rules, 1)
        corpus = Corpus(self.terms_, check_texts(X_new)[0])
        answers = Answers(
            self.estimator_,
            TextRows(self.text_kind_),
            self.favourable_,
            self.response_method,
            self.n_jobs,
        )
        values = answers.ask(corpus.texts)
        binary = bool(answers.binary)
        rules = self._state["rules"][:n_rules]
        inside, outside = [], []
        for rule in rules:
            replaced = corpus.replaced(rule, corpus.seeds(rule))
            asked = answers.ask(replaced) if replaced else np.empty(0)
            inside.append(side(asked, np.ones(len(asked)), binary))
            rest = values[~corpus.contains(rule)]
            outside.append(side(rest, np.ones(len(rest)), binary))
        sides = make_sides(np.array(inside), np.array(outside), binary)
        return self._confirmation(list(range(len(rules))), sides, corpus.support(rules))
