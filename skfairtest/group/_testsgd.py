"""TestSGD: the group, described by a readable rule, that a model treats most differently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest import _clock
from skfairtest._parameters import check_whole, one_of
from skfairtest._progress import with_callbacks
from skfairtest._statistics import n_needed, sides_of
from skfairtest._validation import (
    as_it_stands,
    check_table,
    fitted_estimator,
    make_generator,
    table_or_chunks,
    warn_of_retraining,
    warn_of_target,
)
from skfairtest.group._answers import Answers
from skfairtest.group._base import MIN_OUTSIDE, PoolAuditor, stop_of
from skfairtest.group._chunked_rows import ChunkedRows
from skfairtest.group._ranking import Counted, compare_rule_sets, count_rule_sets
from skfairtest.group._results import Description, describe
from skfairtest.group._sensitive_table import GivenRows, SensitiveTables, make_tables
from skfairtest.space._chunks import Chunks
from skfairtest.space._perturb import draw_near
from skfairtest.space._sensitive_features import split_sensitive
from skfairtest.space._space import InputSpace


class KeepsTables:
    """Says what `TestSGDAuditor` keeps in a class of its own; has no parameters."""

    tables_: SensitiveTables


class TestSGDAuditor(KeepsTables, PoolAuditor):
    """Find the group that gets the most different share of favourable outcomes.

    A rule names values of one sensitive attribute: any of its categories, or a run of adjacent
    bins. A rule set is a conjunction of rules. Every rule set that holds for at least `min_support`
    of the rows is looked at, and the score of one is the difference between the shares of
    favourable predictions inside and outside of it. Shares are estimated on rows near the data:
    rows drawn from it, one attribute that is not sensitive moved by one step. All rule sets share
    one pool of such rows, asked about once.

    Parameters
    ----------
    estimator : estimator, default=None
        Regressor, classifier or pipeline to audit. Fitted, or fitted by ``fit(X, y)``.
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
    max_queries : int, default=100_000
        Budget in queries: one query is one row for which the model is asked. Where it is smaller
        than what the thresholds need, the intervals are wider, and a warning says so.
    sensitive_features : "auto", str, int or list of these, default="auto"
        Sensitive columns of X by name or position. "auto" takes the columns whose names are common
        protected attributes (sex, race, age, ...). Columns that are not in X are given to ``fit``;
        those in X that a fitted estimator does not take (`feature_names_in_`) are kept from it.
    n_bins : int or dict of column to int or list of float, default=10
        Bins of numeric attributes, or the edges between them. Values beyond the outermost edges
        belong to the outermost bins; a column of two numbers is not binned.
    binning : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, as in the paper, or of equal numbers of rows.
    space : InputSpace, default=None
        Domains of the columns of X, and constraints; None: learned from X. Its `steps` are the
        resolution of a column, and how far it is moved: by default by 1 for integers, by a
        hundredth of the domain for reals, and to the neighbouring category. Of a one-hot group
        rules name the categories, and a perturbed row has another one. What is said of twins and
        plausibility is not used.

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
    sensitive_features_ : list
        The sensitive attributes.
    one_hot_ : dict of name to list
        The columns of each one-hot group.
    space_ : InputSpace
        The model's inputs.

    See Also
    --------
    TextSGDAuditor : The same for texts.
    SBFTAuditor : Asks how one person's prediction changes with the sensitive attributes.

    Notes
    -----
    The intervals refer to the *perturbed population*: rows of X, each equally likely, with one
    attribute moved as above. The pool is a random sample of it, drawn independently and with
    replacement, so the intervals are right for it however many rows X has. They do not cover how X
    itself was drawn: about the population that X is a sample of, ask ``confirm(X_new)``.

    A difference in shares is no verdict. It says neither why the groups differ, for they may
    differ in other columns, too, nor whether that is unfair, which is for people to judge. A small
    score says nothing of groups below `min_support`, nor of attributes that were not named.

    Equal groups are reported once, by the rule set that is simplest to read: fewest conditions,
    then fewest bounds and values. Other than in the paper, the size of the pool is fixed before
    the model is asked, for shares of one half, so that it cannot stop at a lucky moment.

    References
    ----------
    .. [1] Zhang, M., Sun, J., Wang, J., & Sun, B. (2022). TestSGD: Interpretable testing of neural
       networks against subtle group discrimination. ACM TOSEM.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skfairtest import TestSGDAuditor
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(
    ...     {"group": rng.choice(["A", "B"], 500), "age": rng.integers(20, 70, 500),
    ...      "income": rng.normal(30, 9, 500)})
    >>> y = (X["income"] > 30) & ~((X["group"] == "B") & (X["age"] >= 50))
    >>> model = DecisionTreeClassifier(random_state=0).fit(X.assign(group=X["group"] == "B"), y)
    >>> X["group"] = X["group"] == "B"
    >>> auditor = TestSGDAuditor(
    ...     model, sensitive_features=["group", "age"], random_state=0).fit(X)
    >>> auditor.worst_rule_["rule"]
    'group = True and age >= 50'
    >>> bool(auditor.worst_rule_["low"] > 0.4)
    True
    """

    #: pytest takes classes named Test... for tests.
    __test__ = False

    sensitive_features: Any = "auto"
    n_bins: Any = 10
    binning: str = one_of(default="uniform", options=("uniform", "quantile"))
    space: InputSpace | None = None

    # Fit -------------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, **fit_params: Any
    ) -> Any:
        """Look at every frequent rule set.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features), or such a table in chunks
            Rows that show who there is: they are counted, and the pool is drawn near them. A table
            in chunks, as for `InputSpace.fit`, is gone through twice, so an iterator is not
            enough. Counts are exact and the pool is drawn from all rows; bins of equal numbers of
            rows are those of a random sample.
        y : array-like of shape (n_samples,), default=None
            With targets, a clone of the estimator is fitted first (a `FrozenEstimator` never is),
            with a warning where it was fitted already; without, it is audited as it stands.
        sensitive_features : array-like or DataFrame of shape (n_samples, n_columns), default=None
            Sensitive columns that are no inputs of the model, in the order of the rows of X, with
            its index if both are of pandas. They come beside those that the constructor names in X.
        **fit_params : dict
            Passed to the estimator's ``fit``, or routed when metadata routing is on.

        Returns
        -------
        self : object
            The fitted auditor.

        Raises
        ------
        ValueError, TypeError
            For parameters and input that cannot be audited, no frequent rule set among them, before
            the first query where possible.
        NotFittedError
            If the estimator is not fitted and `y` is not given.
        EstimatorFailedError
            If the estimator fails during the audit; rule sets are ranked by the predictions so far.
        """
        start = _clock.now()
        self._check_params()
        X, y = table_or_chunks(self, X, y), self._one_column(y)
        rng = make_generator(self.random_state)
        chunked = None
        if isinstance(X, Chunks):
            chunked = ChunkedRows(X, sensitive_features, self.max_queries, rng)
            tables = make_tables(X, self.sensitive_features, None, self.space)
            X = check_table(self, tables.space.decode(tables.space.data))
        else:
            X, tables = self._tables_of(X, sensitive_features, as_it_stands(self.estimator, y))
        counted = count_rule_sets(
            tables,
            chunked=chunked,
            n_bins=self.n_bins,
            binning=self.binning,
            min_support=self.min_support,
            min_outside=MIN_OUTSIDE,
            max_attributes=self.max_attributes,
        )
        space = tables.space
        if space.constraint_ is not None and not space.valid(space.data).any():
            raise ValueError(
                f"The constraint of the InputSpace holds for none of the {len(space.data)} rows of "
                "X, so no input near them can be asked about. Correct the constraint, or give rows "
                "for which it holds."
            )
        seconds = _clock.now() - start
        if y is not None:  # else nothing is fitted that could want them
            fit_params = self._routed(fit_params, sensitive_features)
        warn_of_retraining(self.estimator, y)
        warn_of_target(X, y)
        self.estimator_ = fitted_estimator(self, X, y, fit_params)
        answers = Answers(
            self.estimator_, tables.space, self.favourable, self.response_method, self.n_jobs
        )
        self.space_ = tables.space
        self.sensitive_features_ = tables.names
        self.one_hot_ = tables.space.layout.one_hot
        self.tables_ = tables
        self._begin(X, seconds)
        try:
            ended = self._search(counted, answers, rng, chunked)
        except BaseException as error:  # raised again, when nothing of the run is left behind
            ended = error
        tables.forget_data()
        self._finish(ended)
        return self

    def _tables_of(
        self, X: Any, sensitive_features: Any, estimator: Any
    ) -> tuple[Any, SensitiveTables]:
        """What the model takes of X, and where the sensitive attributes are."""
        X, sensitive, beside = split_sensitive(
            X, self.sensitive_features, values=sensitive_features, estimator=estimator
        )
        return check_table(self, X), make_tables(X, sensitive, beside, self.space)

    def _search(
        self,
        counted: Counted,
        answers: Answers,
        rng: np.random.Generator,
        chunked: ChunkedRows | None,
    ) -> Any:
        """Ask about one pool, and rank the rule sets by it; returns what ended it early."""
        census = counted.census
        needed = n_needed(
            census.smallest,
            n_side=self.sampling_threshold,
            error=self.error_threshold,
            alpha=self._alpha(census.n_groups),
        )
        if needed > self.max_queries:
            self._warn_budget(needed)
        n_pool = min(needed, self.max_queries)
        if chunked is None:
            seeds, Z = draw_near(counted.tables.space, n_pool, rng)
        else:
            seeds, Z = draw_near(chunked.pool, n_pool, rng, are_drawn=True)
        values, ended = self._ask(answers, Z, 0.9)
        if not len(values):
            return ended
        kept, sides = compare_rule_sets(
            counted,
            seeds[: len(values)],
            values,
            binary=bool(answers.binary),
            max_rules=self.max_rules,
        )
        self._store(
            rules=kept.rules,
            support=kept.support / counted.cells.n_rows,
            ranked=kept.ranked,
            sides=sides,
            n_rule_sets=census.n_rule_sets,
            n_groups=census.n_groups,
            favourable=answers.favourable,
            n_queries=answers.n_queries,
            stop=stop_of(ended, needed, self.max_queries),
        )
        self._check_occurs(answers, float(values.sum()), len(values))
        return ended

    # Results ---------------------------------------------------------------------------------

    def _describe(self, rule: NDArray[np.int16]) -> Description:
        return describe(self.tables_.attributes, rule)

    def _holds(self, cells: NDArray[np.intp], rule: int) -> NDArray[np.bool_]:
        holds = np.ones(len(cells), dtype=bool)
        for j, number in enumerate(self._state["rules"][rule]):
            if number >= 0:
                attribute = self.tables_.attributes[j]
                # The cell of missing numbers is in no rule.
                members = np.append(attribute.members[number], False)
                holds &= members[cells[:, j]]
        return holds

    def matches(self, X: Any, rule: Any, *, sensitive_features: Any = None) -> NDArray[np.bool_]:
        """Which rows a rule set holds for.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            Rows with the columns and the kind of table seen in fit.
        rule : int, str or Series
            Place in `rules_`, the words of the rule set, or a row of `rules_`.
        sensitive_features : array-like or DataFrame of shape (n_rows, n_attributes), default=None
            The columns beside X, where fit got some.

        Returns
        -------
        ndarray of bool of shape (n_rows,)
            Which rows. A row whose number is missing matches no rule over that attribute.

        Raises
        ------
        ValueError
            If there is no such rule set, or a sensitive value was not seen in fit.
        """
        number = self._rule_number(rule)
        return self._holds(self.tables_.cells(X, sensitive_features), number)

    def confirm(
        self, X_new: Any, n_rules: int = 10, *, sensitive_features: Any = None
    ) -> pd.DataFrame:
        """Estimate the worst rule sets again, on rows that were not searched.

        The rows are asked about as they are. If they are a random sample of a population, the
        intervals are about that population; they allow for `n_rules` rule sets, no longer for all
        that were searched, because these were chosen without a look at the new rows.

        Parameters
        ----------
        X_new : array-like or DataFrame of shape (n_rows, n_features)
            Rows that fit has not seen.
        n_rules : int, default=10
            How many of the worst rule sets.
        sensitive_features : array-like or DataFrame of shape (n_rows, n_attributes), default=None
            The columns beside X_new, where fit got some.

        Returns
        -------
        DataFrame
            One row a rule set: as in `rules_`, and `searched_score` and `same_direction`, which
            compare with the search. Where a side is empty, nothing is known: the score is NaN.

        Raises
        ------
        ValueError
            If a sensitive value was not seen in fit.
        """
        self._result("confirm")
        check_whole("n_rules", n_rules, 1)
        cells = self.tables_.cells(X_new, sensitive_features)
        if not len(cells):
            raise ValueError("X_new has no rows; give rows to confirm the rule sets on.")
        rows = GivenRows(self.space_.layout.container.check_names(X_new))
        answers = Answers(
            self.estimator_, rows, self.favourable_, self.response_method, self.n_jobs
        )
        values = answers.ask(np.arange(len(cells)))
        numbers = list(range(min(n_rules, len(self._state["rules"]))))
        inside = np.array([self._holds(cells, number) for number in numbers], dtype=float)
        # Sums of squares of large numbers lose the small ones: means are taken about the middle.
        middle = 0.0 if answers.binary else float(values.mean())
        values = values - middle
        sums = (inside.sum(axis=1), inside @ values, inside @ values**2)
        everyone = (float(len(values)), float(values.sum()), float((values**2).sum()))
        sides = sides_of(*sums, everyone, bool(answers.binary))
        sides = sides._replace(mean=sides.mean + middle, mean_out=sides.mean_out + middle)
        return self._confirmation(numbers, sides, sums[0] / len(values))
