"""TestSGDAuditor finds the group, described by a rule, that a model treats most differently."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from skfairtest import _clock
from skfairtest._parameters import check_whole, checked, one_of
from skfairtest._progress import Progress, with_callbacks
from skfairtest._statistics import Sides, n_needed
from skfairtest._typing import Bools, Floats, Ints
from skfairtest._validation import (
    as_it_stands,
    check_table,
    fitted_estimator,
    make_generator,
    table_or_chunks,
    warn_of_retraining,
    warn_of_target,
)
from skfairtest.base import check_max_time
from skfairtest.group._base import MIN_OUTSIDE, PoolAuditor, stop_of
from skfairtest.group._inference.counting import GivenRowSets, rule_sides
from skfairtest.group._inference.pivot import chosen_sides, signed_root
from skfairtest.group._outcomes.answers import Answers
from skfairtest.group._outcomes.given_rows import GivenRows
from skfairtest.group._pools.chunked_rows import ChunkedRows
from skfairtest.group._pools.perturb import draw_near
from skfairtest.group._results import TableResults
from skfairtest.group._rules.attribute import MAX_LEVELS, Attribute, Division
from skfairtest.group._rules.cells import DistinctRows
from skfairtest.group._rules.cuts import BINNINGS
from skfairtest.group._rules.frequent import (
    FrequentRules,
    RuleLimitExceeded,
    RuleSubset,
    rows_of_share,
)
from skfairtest.group._rules.rule_search import (
    by_score,
    complexity_of,
    frequent_rules,
    places_of,
    simplest_of_equal,
)
from skfairtest.group._rules.short_list import short_list
from skfairtest.group._rules.tables import AttributeTables, tables_of_space
from skfairtest.oracle._stop import StopReason, StopSearch
from skfairtest.space._chunks import Chunks
from skfairtest.space._sensitive_features import split_sensitive
from skfairtest.space._space import InputSpace


class TestSGDAuditor(TableResults, PoolAuditor):
    """Find the group that gets the most different share of favourable outcomes.

    A rule, which the paper calls a rule set, names values of one or several sensitive attributes,
    joined by "and": a set of categories, or a range of adjacent bins. Every rule that holds for at
    least `min_support` of the rows is evaluated; its score is the difference between the share of
    favourable predictions on the rows for which it holds (inside) and on the others (outside).
    Shares are estimated on perturbed rows: a row is drawn from the data, and one attribute that is
    not sensitive is moved by one step. All rules share one pool of such rows, and the model is
    asked about each row once, and about the first 100 twice.

    Parameters
    ----------
    estimator : estimator, default=None
        Regressor, classifier or pipeline to audit. It is fitted already, or ``fit(X, y)`` fits it.
    sensitive_features : "auto", str, int or list of these, default="auto"
        Sensitive columns of X by name or position. "auto" takes the columns whose names are common
        protected attributes (sex, race, age, ...). Columns that are not in X are given to ``fit``;
        those in X that a fitted estimator does not take (`feature_names_in_`) are kept from it.
    n_bins : int or dict of column to int or list of float, default=10
        Number of bins of numeric attributes, or the edges between the bins. Values beyond the
        outermost edges belong to the outermost bins; a column that has two different numbers is not
        binned. A value that more than half of the rows have is a bin of its own.
    binning : {"uniform", "quantile"}, default="uniform"
        Whether bins have equal widths, as in the paper, or equal numbers of rows.
    max_time : float, default=None
        Time limit in seconds; the estimator's own `fit` does not count. Rules of one condition
        are found in any case, longer ones in a quarter of the time, and as many rows of the pool
        are asked about as the time allows: `stop_reason_` then says what was left out. None sets
        no limit.
    space : InputSpace, default=None
        Domains of the columns of X, and constraints. None learns them from X. Its `steps` say how
        far a column is moved when a row is perturbed: by default, integers are moved by 1, real
        numbers by a hundredth of their domain, and categories to the neighbouring one. Rules name
        the categories of a one-hot group, and a perturbed row gets another of its categories.
        `twins` and `plausible` are not used.

    Attributes
    ----------
    short_list_ : DataFrame
        At most ten of the worst 2,000 rules, which do not repeat each other, with the columns
        of `rules_` and those of `SubgroupAuditor.short_list_`.
    sensitive_features_ : list
        The sensitive attributes.
    one_hot_ : dict of name to list
        The columns of each one-hot group.
    space_ : InputSpace
        The domain of the model's inputs.

    See Also
    --------
    TextSGDAuditor : Compares texts in place of rows of a table.
    SBFTAuditor : Searches for inputs whose output depends on the sensitive attributes.

    Notes
    -----
    The intervals refer to the *perturbed population*: rows of X, each equally likely, with one
    attribute moved as described above. The pool is a random sample of it, drawn independently and
    with replacement, so the intervals are right for it however many rows X has. They do not account
    for how X itself was drawn: ``confirm(X_new)`` has intervals for the population that X is a
    sample of.

    A difference in shares does not say why the groups differ, for they may differ in other columns,
    too, nor whether that is unfair, which is for people to judge. A small score says nothing about
    groups below `min_support` or about attributes that were not named.

    Equal groups are reported once, by the rule that is simplest to read: fewest conditions, then
    fewest bounds and values. Unlike in the paper, the size of the pool is fixed before the model is
    asked, as if all shares were one half, so that sampling cannot stop when the score happens to be
    large.

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
    binning: str = one_of(default="uniform", options=BINNINGS)
    max_time: float | None = checked(default=None, check=check_max_time)
    space: InputSpace | None = None

    # Fit -------------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, **fit_params: Any
    ) -> Any:
        """Evaluate every frequent rule and rank the rules by their scores.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features), or such a table in chunks
            Rows of people: supports are counted on them, and the pool is drawn near them. A table
            in chunks, as for `InputSpace.fit`, is read twice, so an iterator is not enough. Counts
            are exact and the pool is drawn from all rows; only bins of equal numbers of rows come
            from a random sample.
        y : array-like of shape (n_samples,), default=None
            Targets. If they are given, a clone of the estimator is fitted to them first, with a
            warning if it was fitted already (a `FrozenEstimator` is never fitted again). If not,
            the estimator is audited as it stands.
        sensitive_features : array-like or DataFrame of shape (n_samples, n_columns), default=None
            Sensitive columns that are not inputs of the model, in the order of the rows of X. If
            both are pandas objects, their indexes must be equal. They are added to those that the
            constructor names in X.
        **fit_params : dict
            Passed to the estimator's ``fit``, or routed when metadata routing is on.

        Returns
        -------
        self : object
            The fitted auditor.

        Raises
        ------
        ValueError, TypeError
            If a parameter or an input cannot be audited, or no rule is frequent. It is raised
            before the first query where possible.
        NotFittedError
            If the estimator is not fitted and `y` is not given.
        EstimatorFailedError
            If the estimator fails during the audit. The rules are then ranked by the predictions
            made so far.
        NonDeterministicModelError
            If the estimator gives the first rows other answers when it is asked again.
        """
        start = _clock.now()
        self._check_params()
        # Whatever is refused or fails below leaves the results of an earlier fit as they are.
        owner = self._with_params_alone()
        X, y = table_or_chunks(owner, X, y, fit_params), self._one_column(y)
        rng = make_generator(self.random_state)
        chunked = None
        if isinstance(X, Chunks):
            chunked = ChunkedRows(X, sensitive_features, self.max_queries, rng)
            tables = tables_of_space(X, self.sensitive_features, None, self.space)
            data = tables.inputs.space
            X = check_table(owner, data.decode(data.data))
        else:
            estimator = as_it_stands(self.estimator, y)
            X, tables = owner._tables_of(X, sensitive_features, estimator)
        space = tables.inputs.space
        limit = math.inf if self.max_time is None else self.max_time
        try:
            with _clock.ending(start + limit):
                cells, rules, so_far = self._rules(tables, space, chunked, start + 0.25 * limit)
        except _clock.OutOfTime:
            raise ValueError(
                f"max_time={limit:g} s was over before the columns were divided into groups. Raise "
                "max_time, or name fewer sensitive features."
            ) from None
        if space.constraints_ and not space.valid(space.data).any():
            raise ValueError(
                f"The constraint of space= holds for none of the {len(space.data)} rows of X, so "
                "the model cannot be asked about inputs near them. Correct "
                "InputSpace(constraint=...), or pass rows for which it holds."
            )
        smaller = _smaller_sides(rules)
        seconds = _clock.now() - start
        if y is not None:  # else nothing is fitted that could want them
            fit_params = self._routed(fit_params, sensitive_features)
        warn_of_retraining(self.estimator, y)
        warn_of_target(X, y)
        estimator = fitted_estimator(self, X, y, fit_params)
        answers = Answers(estimator, space, self.favourable, self.response_method, self.n_jobs)
        start, progress = _clock.now() - seconds, Progress(self, X, self.verbose)
        pool = space if chunked is None else chunked.pool
        draw = partial(draw_near, pool, rng=rng, are_drawn=chunked is not None)
        found, values, ended = self._search(
            rules, smaller, tables.attributes, cells, answers, draw, progress, start + limit, so_far
        )
        tables.forget_data()
        fitted = {
            "estimator_": estimator,
            "space_": space,
            "sensitive_features_": tables.names,
            "one_hot_": space.layout.one_hot,
            "_tables": tables,
        }
        self._commit(owner, fitted, found, start)
        self._check_occurs(answers, values)
        self._finish(progress, ended)
        return self

    def _rules(
        self,
        tables: AttributeTables,
        space: InputSpace,
        chunked: ChunkedRows | None,
        deadline: float,
    ) -> tuple[DistinctRows, FrequentRules, str]:
        """Divide the columns into cells of the rows, and return the rules that enough satisfy.

        With a time limit they are as long as can be found until the deadline; words say how long.
        """
        # Ten bins of a numeric column that `n_bins` does not name.
        how = Division(10, self.binning, few=2, sets=True, most=MAX_LEVELS, label="n_bins")
        columns = tables.divide(None, None, self.n_bins, how)
        if chunked is None:
            cells = DistinctRows(columns, [attribute.n_values for attribute in tables.attributes])
        else:
            cells = chunked.cells(tables, space)
        rules = frequent_rules(
            tables.attributes, list(cells.codes.T), min_support=self.min_support,
            most=self.max_attributes if self.max_time is None else 1, label="max_attributes",
            weights=cells.count,
        )  # fmt: skip
        most = min(self.max_attributes or len(cells.codes.T), len(cells.codes.T))
        so_far = ""
        try:
            while self.max_time is not None and rules.max_conditions < most:
                longer = rules.longer(deadline)
                if longer.n_rules == rules.n_rules:  # and none is longer still
                    break
                rules = longer
        except (_clock.OutOfTime, RuleLimitExceeded):
            n = rules.max_conditions
            so_far = f"max_time: rules of up to {n} of {most} conditions were compared"
        return cells, rules, so_far

    def _tables_of(
        self, X: Any, sensitive_features: Any, estimator: Any
    ) -> tuple[Any, AttributeTables]:
        """Return the columns of X that the model takes, and where the sensitive attributes are."""
        X, sensitive, not_in_model = split_sensitive(
            X, self.sensitive_features, values=sensitive_features, estimator=estimator
        )
        return check_table(self, X), tables_of_space(X, sensitive, not_in_model, self.space)

    def _search(
        self,
        rules: FrequentRules,
        smaller: float,
        attributes: list[Attribute],
        cells: DistinctRows,
        answers: Answers,
        draw: Callable[[int], tuple[Ints, Any]],
        progress: Progress,
        deadline: float,
        so_far: str,
    ) -> tuple[dict[str, Any], Floats, Any]:
        """Ask about one pool until the deadline, and rank the rules by it.

        `smaller` is the share of rows on the smallest side that is compared; `draw` makes a pool of
        so many rows, with the row of the data that each was made of; `so_far` says which rules the
        time has left out. Returns the results, the predictions, and what ended the asking early.
        """
        n_groups = len(np.unique(rules.marks))  # equal groups are counted once
        needed = n_needed(
            smaller, n_side=self._n_side, error=self.error_threshold,
            alpha=self._alpha(n_groups),
        )  # fmt: skip
        if needed > self._most_rows:
            self._warn_budget(needed)
        seeds, Z = draw(min(needed, self._most_rows))
        # To rank the rules takes time as well.
        now = _clock.now()
        values, ended = self._ask(answers, Z, 0.9, progress, now + 0.7 * (deadline - now))
        if not len(values):
            raise ended
        drawn = _Drawn(rules, cells, seeds[: len(values)])
        everyone = np.ones(len(values), dtype=bool)
        if so_far and ended is None:
            ended = StopSearch(StopReason.MAX_TIME, so_far)
        sides = rule_sides(drawn, values, everyone, binary=bool(answers.binary))
        ranked = _leave_enough(rules) & np.isfinite(sides.difference)
        kept = _worst_first(rules, attributes, sides, ranked)[: self.max_rules]
        # The short list is chosen from the 2,000 worst rules.
        worst = kept[ranked[kept]][:2_000]
        of_worst = drawn._replace(rules=rules.subset(worst))
        short = self._listed(
            of_worst, rules.conditions(worst), chosen_sides(sides, worst), values, n_groups
        )
        found = self._found(
            rules=rules.conditions(kept),
            support=rules.support[kept],
            ranked=ranked[kept],
            sides=chosen_sides(sides, kept),
            n_rules=rules.n_rules,
            n_groups=n_groups,
            favourable=answers.favourable,
            n_queries=answers.n_queries,
            stop=stop_of(ended, needed + self._n_again, self.max_queries),
        )
        return found | {"_short": short}, values, ended

    def _listed(
        self,
        drawn: _Drawn,
        conditions: NDArray[np.int16],
        sides: Sides,
        values: Floats,
        n_groups: int,
    ) -> dict[str, NDArray[Any]]:
        """Choose rules that do not repeat each other."""
        critical = float(stats.norm.isf(self._alpha(n_groups) / 2))
        listed = short_list(
            drawn,
            conditions,
            sides,
            values,
            np.ones(len(values), dtype=bool),
            differs=np.abs(signed_root(sides)) > critical,
            critical=critical,
            confidence=self.confidence,
        )
        return {name: np.asarray(column) for name, column in listed._asdict().items()}

    # Results ---------------------------------------------------------------------------------

    def confirm(
        self,
        X_new: Any,
        n_rules: int = 10,
        *,
        short_list: bool | None = None,
        sensitive_features: Any = None,
    ) -> pd.DataFrame:
        """Estimate the listed rules again, on rows that were not searched.

        The model is asked about the rows as they are. If they are a random sample of a population,
        the intervals hold for that population; they allow for `n_rules` rules, not for all that
        were searched, because the rules were chosen without the new rows.

        Parameters
        ----------
        X_new : array-like or DataFrame of shape (n_rows, n_features)
            Rows that fit has not seen.
        n_rules : int, default=10
            Largest number of rules to estimate.
        short_list : bool, default=None
            Whether to take the rules of `short_list_` or the worst of `rules_`, many of which
            describe nearly the same rows. None takes the short list if it is not empty.
        sensitive_features : array-like or DataFrame of shape (n_rows, n_attributes), default=None
            The columns that are not in X_new, if fit was given any.

        Returns
        -------
        DataFrame
            One row per rule, with the columns of `rules_` and two that compare with the search:
            `searched_score` and `same_direction`. If a side is empty, the score is NaN.

        Raises
        ------
        ValueError
            If a sensitive value was not seen in fit.
        """
        self._result("confirm")
        check_whole("n_rules", n_rules, 1)
        columns = self._tables.numbers(X_new, sensitive_features)
        if not len(columns[0]):
            raise ValueError("X_new has no rows. Pass rows on which to confirm the rules.")
        rows = GivenRows(self.space_.layout.container.check_names(X_new))
        answers = Answers(
            self.estimator_, rows, self.favourable_, self.response_method, self.n_jobs
        )
        values = answers.ask(np.arange(len(columns[0])))
        numbers = self._to_confirm(n_rules, short_list)
        rules = self._state["rules"][numbers]
        inside = GivenRowSets(np.array([self._tables.holds(columns, rule) for rule in rules]))
        everyone = np.ones(len(values), dtype=bool)
        sides = rule_sides(inside, values, everyone, binary=bool(answers.binary))
        return self._confirmation(numbers, sides, inside.support)


def _leave_enough(rules: FrequentRules) -> Bools:
    """Whether each rule leaves so many rows outside that it can be compared with others."""
    return rules.total - rules.counts >= rows_of_share(MIN_OUTSIDE, rules.total)


def _smaller_sides(rules: FrequentRules) -> float:
    """Share of rows on the smaller side, the smallest of those of rules that can be ranked."""
    outside = rules.total - rules.counts
    ranked = _leave_enough(rules)
    if not ranked.any():
        raise ValueError(
            f"Each of the {rules.n_rules} frequent rules holds for nearly all rows: at most "
            f"{outside.max() / rules.total:.4g} of the rows are outside of one, but at least "
            f"{MIN_OUTSIDE:g} are needed. Lower min_support."
        )
    return float(np.minimum(rules.counts, outside)[ranked].min() / rules.total)


def _worst_first(
    rules: FrequentRules, attributes: list[Attribute], sides: Sides, ranked: Bools
) -> Ints:
    """Order the groups by their scores, each by its simplest rule."""
    complexity, places = complexity_of(rules, attributes), places_of(rules, attributes)
    distinct = simplest_of_equal(rules.marks, complexity, places)
    order = by_score(
        np.abs(sides.difference)[distinct], ranked[distinct], complexity[distinct],
        rules.counts[distinct], places[distinct],
    )  # fmt: skip
    return distinct[order]


class _Drawn(NamedTuple):
    """Rules of rows that were drawn from others, and that have the cells of these."""

    rules: FrequentRules | RuleSubset
    cells: DistinctRows
    rows: Ints

    @property
    def n_rules(self) -> int:
        """How many there are."""
        return self.rules.n_rules

    def among(self, rows: Ints) -> _Drawn:
        """The same rules of some of the drawn rows."""
        return self._replace(rows=self.rows[rows])

    def inside(self, rule: int) -> Bools:
        """Which of the drawn rows a rule holds for."""
        return np.asarray(self.rules.inside(rule)[self.cells.of_row[self.rows]])

    def sums(self, values: NDArray[Any]) -> Floats:
        """Sum of each column over the drawn rows inside of each rule."""
        return self.rules.sums(self.cells.sums(self.rows, values))
