"""TextSGDAuditor finds the terms in texts that change the share of favourable predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest import _clock
from skfairtest._parameters import check_whole, whole
from skfairtest._progress import Progress, with_callbacks
from skfairtest._typing import Floats
from skfairtest._validation import check_rows, fitted_estimator, make_generator, warn_of_retraining
from skfairtest.group._base import BATCH, MIN_OUTSIDE, PoolAuditor, is_failure, stop_of
from skfairtest.group._outcomes.answers import Answers
from skfairtest.group._pools.terms import IDENTITY_TERMS, Terms, TextRows, check_texts
from skfairtest.group._pools.text_sample import (
    Asked,
    Corpus,
    Seeds,
    TextSample,
    ask_batch,
    make_sides,
    plan_sample,
    side,
)
from skfairtest.group._results import Description
from skfairtest.group._rules.condition_text import quoted
from skfairtest.oracle._stop import StopReason, StopSearch


class KeepsTerms:
    """Declares what a saved `TextSGDAuditor` holds. This base has no parameters."""

    terms_: Terms


class TextSGDAuditor(KeepsTerms, PoolAuditor):
    """Find the terms that change the share of favourable predictions most.

    A rule names at most one term of each category, such as "gay" and "taoist". Inside of it are the
    texts that have any term of each of these categories, with those terms replaced by the named
    ones; outside are the unchanged texts that lack one of the named terms. The score is the
    difference between the shares of favourable predictions inside and outside.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier or regressor of raw strings, such as ``make_pipeline(TfidfVectorizer(),
        LogisticRegression())``. It is fitted already, or ``fit(X, y)`` fits it.
    max_queries : int, default=2_000_000
        Budget in queries: one query is one text for which the model is asked. If `error_threshold`
        needs more queries than this, the intervals are wider, and a warning says so.
    categories : dict of str to list of str, default=None
        Terms of each category. None takes the 48 terms of the paper in four categories: gender,
        race, religion and age. Terms match whole words, in upper or lower case, and the longest
        term is matched first.

    Attributes
    ----------
    categories_ : dict of str to list of str
        The terms of each category that were used.

    See Also
    --------
    TestSGDAuditor : Compares rows of a table in place of texts.

    Notes
    -----
    The support of a rule is the share of texts that have any term of each of its categories, so it
    does not depend on which terms the rule names. The intervals refer to the population from which
    the samples are drawn, independently and with replacement: the texts of X with the terms
    replaced, and the texts of X that lack a term. They do not account for how X itself was drawn;
    those of `confirm` do. All rules share the sample outside, and rules over the same categories
    share the texts inside. The model is asked about a text that is drawn again only once.

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
        """Evaluate every frequent rule and rank the rules by their scores.

        Parameters
        ----------
        X : list, Series or array of str of shape (n_samples,)
            Texts.
        y : array-like of shape (n_samples,), default=None
            Targets. If they are given, a clone of the estimator is fitted to them first, with a
            warning if it was fitted already. If not, the estimator is audited as it stands.
        **fit_params : dict
            Passed to the estimator's ``fit``, or routed when metadata routing is on.

        Returns
        -------
        self : object
            The fitted auditor.

        Raises
        ------
        ValueError, TypeError
            If a parameter or a text cannot be audited, or no rule is frequent. It is raised before
            the first query.
        EstimatorFailedError
            If the estimator fails during the audit. The rules asked about so far are ranked.
        NonDeterministicModelError
            If the estimator gives the first rows other answers when it is asked again.
        """
        start = _clock.now()
        self._check_params()
        texts, kind = check_texts(X)
        check_rows(X, {"y": y, **fit_params})
        terms = Terms(IDENTITY_TERMS if self.categories is None else self.categories)
        rng = make_generator(self.random_state)
        corpus = Corpus(terms, texts)
        frequent = corpus.frequent(self.min_support, self.max_attributes)
        seconds = _clock.now() - start
        warn_of_retraining(self.estimator, y)
        estimator = fitted_estimator(self, X, y, fit_params)
        answers = Answers(
            estimator, TextRows(kind), self.favourable, self.response_method, self.n_jobs
        )
        start, progress = _clock.now() - seconds, Progress(self, X, self.verbose)
        found, values, ended = self._search(corpus, frequent, answers, rng, progress)
        fitted = {"estimator_": estimator, "terms_": terms, "text_kind_": kind}
        self._commit(self._with_params_alone(), fitted, found, start)
        self._check_occurs(answers, values)
        self._finish(progress, ended)
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
        progress: Progress,
    ) -> tuple[dict[str, Any], Floats, Any]:
        """Ask about one sample, and rank the rules by it.

        Returns the results, the predictions, and what ended the asking early.
        """
        n_rules = corpus.n_rules(frequent)
        sample, needed = plan_sample(
            corpus,
            frequent,
            n_side=self._n_side,
            error=self.error_threshold,
            alpha=self._alpha(n_rules),
            budget=self._most_rows,
            rng=rng,
        )
        if needed > self._most_rows:
            self._warn_budget(needed)
        rows, weights = sample.outside
        values, ended = self._ask(answers, [corpus.texts[row] for row in rows], 0.1, progress)
        if len(values) < len(rows):  # without an outside there is nothing to compare with
            raise (ended if is_failure(ended) else RuntimeError(f"No rule was compared: {ended}."))
        asked, ended = self._ask_inside(corpus, sample, answers, progress)
        if not asked.rules:
            raise ended
        table, inside = np.array(asked.rules, dtype=np.int16), np.array(asked.inside)
        outside, share = corpus.outside(table, rows, weights, values, bool(answers.binary))
        score = np.abs(inside[:, 1] - outside[:, 1])
        ranked = (share >= MIN_OUTSIDE) & np.isfinite(score)
        # Fewer conditions first among equal scores.
        order = np.lexsort(((table >= 0).sum(axis=1), -np.nan_to_num(score), ~ranked))
        order = order[: self.max_rules]
        found = self._found(
            rules=table[order],
            support=corpus.support(table[order]),
            ranked=ranked[order],
            sides=make_sides(inside[order], outside[order], bool(answers.binary)),
            n_rules=n_rules,
            n_groups=n_rules,
            favourable=answers.favourable,
            n_queries=answers.n_queries,
            stop=stop_of(ended, needed + self._n_again, self.max_queries),
        )
        return found, np.append(inside[:, 1], values), ended

    def _ask_inside(
        self, corpus: Corpus, sample: TextSample, answers: Answers, progress: Progress
    ) -> tuple[Asked, Any]:
        """Ask about the texts inside of all rules, several rules in one batch."""
        asked = Asked([], [])
        todo = corpus.rules(sample)
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
            if progress.update(share, f"{answers.n_queries} queries"):
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
        """Tell which texts contain all terms of a rule.

        Parameters
        ----------
        X : list, Series or array of str of shape (n_texts,)
            Texts.
        rule : int, str or Series
            Position in `rules_`, the text of the rule in its column `rule`, or a row of `rules_`.

        Returns
        -------
        ndarray of bool of shape (n_texts,)
            True where the text contains all terms of the rule.
        """
        number = self._rule_number(rule)
        return Corpus(self.terms_, check_texts(X)[0]).contains(self._state["rules"][number])

    def confirm(self, X_new: Any, n_rules: int = 10) -> pd.DataFrame:
        """Estimate the worst rules again, on texts that were not searched.

        The model is asked once about every new text that has a term of each category, with the
        terms replaced. If the texts are a random sample of a population, the intervals hold for
        that population.

        Parameters
        ----------
        X_new : list, Series or array of str of shape (n_texts,)
            Texts that fit has not seen.
        n_rules : int, default=10
            Number of the worst rules to estimate.

        Returns
        -------
        DataFrame
            One row per rule, with the columns of `rules_` and two that compare with the search:
            `searched_score` and `same_direction`. If a side is empty, the score is NaN.
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
