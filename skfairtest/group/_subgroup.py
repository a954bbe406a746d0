"""SubgroupAuditor finds the group, described by a rule, on which a metric differs most."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skfairtest import _clock
from skfairtest._parameters import check_whole, checked, one_of, whole
from skfairtest._progress import Progress, with_callbacks
from skfairtest._typing import Floats, Ints
from skfairtest._validation import (
    check_table,
    check_takes_weights,
    check_weights,
    column,
    fitted_estimator,
    make_generator,
    warn_of_target,
)
from skfairtest.base import check_max_time
from skfairtest.exceptions import NoDisparityWarning, users_level
from skfairtest.group._base import stop_of
from skfairtest.group._group_table import How, rules_in_strata
from skfairtest.group._inference.counting import rule_sides
from skfairtest.group._outcomes.answers import AskedMetric
from skfairtest.group._outcomes.outcomes import (
    MetricRows,
    check_metric,
    metric_rows,
    truth_of,
)
from skfairtest.group._rules.attribute import Division
from skfairtest.group._rules.cuts import BINNINGS
from skfairtest.group._rules.frequent import MOST_RULES, FrequentRules, RuleLimitExceeded
from skfairtest.group._rules.rule_search import (
    compare_rules,
    complexity_of,
    frequent_rules,
    listed_rules,
)
from skfairtest.group._rules.sensitive_groups import Grouping, control_strata
from skfairtest.group._rules.tables import AttributeTables, tables_of_columns
from skfairtest.group._subgroup_results import SubgroupResults
from skfairtest.oracle._stop import StopReason, StopSearch
from skfairtest.space._sensitive_features import (
    control_columns,
    n_rows,
    split_sensitive,
    without_control,
)


def _check_max_time(name: str, value: Any) -> None:
    if not (isinstance(value, float) and value == math.inf):
        check_max_time(name, value)


class _Compared(NamedTuple):
    """What groups are compared by, whatever the rules."""

    tables: AttributeTables
    rows: MetricRows
    weights: Floats | None
    n_queries: int
    stop: StopSearch
    strata: Grouping | None


class SubgroupAuditor(SubgroupResults):
    """Find the group for which a rate, an error or a mean differs most, on the rows as they are.

    A rule joins conditions by "and". Each condition says that one attribute has a category, lies in
    a bin of numbers, or is missing. Every rule that holds for at least `min_support` of the rows is
    evaluated, with any number of conditions. The score of a rule is the difference between the
    metric on the rows for which it holds and on all others (or on the whole table), with an
    interval that holds for all rules at once. The model is asked about each row once (the first 100
    twice), or not at all: logged predictions can be given to `fit` instead.

    Parameters
    ----------
    estimator : estimator, default=None
        Regressor, classifier or pipeline whose predictions are compared. A fitted estimator is
        audited as it stands and never fitted again. If it is not fitted, ``fit(X, y)`` fits a clone
        first; the errors of that clone on its own training rows are too small. None is possible if
        `fit` is given `y_pred`.
    favourable : label, set of labels or float, default=None
        The label, or the set of labels, that people want; with more than two classes this set is
        compared with the rest. None takes the label whose name says that it is favourable
        ("approved", "good") or, of two labels, the one beside a label whose name says that it is
        not ("rejected", "bad"); else it takes the last label, with a warning. For a regressor it is
        the smallest output that is favourable.
    min_support : float, default=0.05
        Smallest share of the rows for which a rule must hold, in (0, 1). It does not depend on
        weights.
    confidence : float, default=0.95
        Confidence of the intervals.
    max_rules : int, default=20_000
        Number of rules that are kept, worst first. All rules are counted and compared, kept or not.
    metric : str or callable, default="selection_rate"
        The metric that is compared between a group and the other rows.

        - Metrics of labels are "selection_rate", "false_positive_rate", "false_negative_rate",
          "true_positive_rate", "positive_predictive_value" and "accuracy". Only the rows in the
          denominator of a rate count for it.
        - Metrics of numbers are "mean_prediction" (for a classifier, the mean probability of the
          favourable labels), "mean_error" (prediction minus target) and "mean_absolute_error".
        - Metrics of probabilities are "calibration" (mean of outcome minus probability) and
          "log_loss".
        - A callable takes (y_true, y_pred) and returns two arrays of shape (n_rows,): the value of
          each row, and whether the row counts. Its y_true is None if there are no targets.
    against : {"rest", "whole"}, default="rest"
        Whether a group is compared with all other rows, or with the whole table, which includes the
        group.
    correction : {"resampling", "none"}, default="resampling"
        How the intervals allow for the number of rules. With "resampling" all intervals hold at
        once at the given confidence, so that the worst of many rules may be quoted; their width
        comes from the largest difference of all rules in permutations of the values. With "none"
        each interval holds by itself, which is right for a rule that was chosen beforehand and too
        narrow for the worst of many.
    n_resamples : int, default=999
        Number of permutations for "resampling". Fewer take less time and make the intervals less
        precise; a confidence of 0.95 needs at least 19.
    sensitive_features : "auto", str, int or list of these, default="auto"
        Sensitive columns of X by name or position. "auto" takes the columns whose names are common
        protected attributes (sex, race, age, ...). Columns that are not in X are given to ``fit``;
        those in X that a fitted estimator does not take (`feature_names_in_`) are kept from it.
    attributes : None, "all" or list of str or int, default=None
        Columns that rules may name. None takes the sensitive columns, "all" takes every column that
        has more than one value.
    max_conditions : int, default=None
        Largest number of conditions of a rule. None sets no limit, unless there are more than a
        million rules: then it takes the largest number that stays below a million, with a warning.
    max_time : float, default=None
        Time limit in seconds; the estimator's own `fit` does not count. Rules have as many
        conditions as all rules of so many can be compared with in time, and are fewer than a
        million: `max_conditions_` says how many. All results are about the rules of up to so many
        conditions, and are the same as with this `max_conditions` and no time limit. Half of the
        time at most is for predictions; rows that the model was not asked about by then do not
        count. Infinity limits the number of rules alone. None sets no limit, and with
        `max_conditions` more than a million rules are an error.
    bins : int or dict of column to int or list of float, default=5
        Number of bins of numeric columns, or the edges between the bins. A column that has no more
        different numbers than bins is not binned. Values beyond the outermost edges belong to the
        outermost bins. A value that more than half of the rows have is a bin of its own.
    binning : {"quantile", "uniform"}, default="quantile"
        Whether bins have equal numbers of rows or equal widths.

    Attributes
    ----------
    rules_ : DataFrame
        The kept rules, worst first. They are ordered by approximately the lower end of an interval
        that holds for all rules at once and, if that is 0, by the lower end of the rule's own
        interval. Columns: `rule` (its text), `attributes`, `conditions` (for each attribute the
        value: a tuple of one category, in which None is a missing one, or an interval), `support`
        (share of the rows), `value_inside` and `value_outside` (the metric), `score` (their
        absolute difference, or that to the whole), `low` and `high` (the interval of the score),
        `differs` (whether a difference was shown), `n_inside` and `n_outside` (numbers of rows that
        count for the metric), `ranked` (whether some rows count on both sides), `note` (why
        something is not known). If no row counts, the metric is undefined and NaN.
    short_list_ : DataFrame
        At most ten of the rules that differ, chosen from the 1,000 worst so that they do not repeat
        each other. It has the columns of `rules_` and `sub_rule` (the rule with fewer of the same
        conditions that has the largest difference, if one differs), `gain` (the difference between
        the metric of the rule and that of the other rows of its sub-rule), `gain_low` and
        `gain_high` (an interval of the gain, which holds for all rules that differ at once), and
        `covered` (share of the rows that count which this rule or a rule before it holds for). A
        rule is listed only if its gain is more than chance, if at most half of its rows belong to
        rules listed before it, and if it also differs without those rows.
    strata_ : DataFrame
        After a fit with `control_features`, the rules of the short list (the ten worst if it is
        empty) within strata: for each a row of figures that are pooled over the strata, whose
        `stratum` is "", and one for each stratum. Columns: `rule`, `stratum`, `n_inside`,
        `n_outside`, `value_inside`, `value_outside`; `ratio` (of shares) and, in pooled rows,
        `difference`, with their intervals (``_low``, ``_high``); `homogeneity` (p-value of the
        hypothesis that the difference is the same in all strata), `n_strata` (strata with rows on
        both sides that count); `from_rates` and `from_composition`, which add up to the difference
        of the values. Pooled intervals are as wide as those of `rules_`, since the rules were
        chosen from all. See `selection_table` for the methods.
    stop_reason_, stop_kind_ : str
        What ended the run, in words and as one of "complete", "max_time", "callback", "interrupted"
        and "failed".
    max_conditions_ : int
        Number of conditions up to which all frequent rules were compared.
    overall_ : float
        The metric on all rows that count.
    n_rules_, n_groups_ : int
        Number of frequent rules, and of the different groups of rows that they describe and for
        which the metric is defined inside and outside. The intervals allow for this number of
        groups.
    attributes_ : list
        The columns that rules may name.
    sensitive_features_ : list
        The sensitive columns.
    favourable_ : list, float, "mean" or None
        The predictions that counted as favourable. None for accuracy if no `favourable` was given.

    See Also
    --------
    TestSGDAuditor : Compares shares of favourable predictions on perturbed rows near the data.
    selection_table : Compares rates of groups that are known beforehand.

    Notes
    -----
    The intervals assume that the rows are independent draws from a population, and hold for all
    groups of that population at once. With weights, Kish's effective sample size stands in for the
    number of rows. Intervals of differences of shares come from the profile likelihood; those of
    means come from Welch's t with a moderated variance, corrected for skewness by Hall's
    transformation. The correction is needed because errors and losses have rare large values, and a
    small group that happens to have none is not thereby treated better.

    Groups of the same rows are reported once, by the rule that is simplest to read. A difference
    does not say why groups differ: they may differ in columns that no rule names. Whether it is
    justified is for people to judge. Groups below `min_support` are not evaluated, which says
    nothing in their favour: `selection_table` lists the smallest intersections, too.

    The search is exact: rules are extended depth first over sets of rows that are held as bits
    [4]_, for at most a million rules. DivExplorer [1]_ and SliceLine [2]_ also search such rules,
    but have no intervals that hold for all of them; TestSGD [3]_ has such intervals for shares of
    favourable predictions near the data.

    References
    ----------
    .. [1] Pastor, E., de Alfaro, L., & Baralis, E. (2021). Looking for trouble: analyzing
       classifier behavior via rule divergence. SIGMOD, 1400-1412. (DivExplorer.)
    .. [2] Sagadeeva, S., & Boehm, M. (2021). SliceLine: fast, linear-algebra-based slice finding
       for ML model debugging. SIGMOD, 2290-2299.
    .. [3] Zhang, M., Sun, J., Wang, J., & Sun, B. (2022). TestSGD: Interpretable testing of neural
       networks against subtle group discrimination. ACM TOSEM.
    .. [4] Zaki, M. J. (2000). Scalable algorithms for association mining. IEEE Transactions on
       Knowledge and Data Engineering 12(3), 372-390.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skfairtest import SubgroupAuditor
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(
    ...     {"group": rng.choice(["A", "B"], 4000), "age": rng.integers(20, 70, 4000)})
    >>> y = rng.integers(0, 2, 4000)
    >>> missed = (X["group"] == "B") & (X["age"] >= 60) & (rng.random(4000) < 0.5)
    >>> logged = np.where(missed, 0, y)
    >>> auditor = SubgroupAuditor(
    ...     metric="false_negative_rate", attributes="all", bins=[30, 40, 50, 60])
    >>> auditor = auditor.fit(X, y, y_pred=logged)
    >>> auditor.worst_rule_["rule"]
    'group = B and age >= 60'
    >>> bool(auditor.worst_rule_["differs"])
    True
    """

    _counted = "rows"

    sensitive_features: Any = "auto"
    attributes: Any = None
    max_conditions: int | None = whole(default=None, least=1)
    max_time: float | None = checked(default=None, check=_check_max_time)
    bins: Any = 5
    binning: str = one_of(default="quantile", options=BINNINGS)

    # Fit -------------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        y_pred: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        control_features: Any = None,
        **fit_params: Any,
    ) -> Any:
        """Evaluate every frequent rule and rank the rules by their scores.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            True labels or targets, for metrics that compare predictions with them. An estimator
            that is not fitted yet is fitted to them.
        y_pred : array-like of shape (n_samples,), default=None
            Predictions: labels, outputs, or probabilities of the favourable labels, as the metric
            needs. If they are given, the estimator is not asked.
        sensitive_features : array-like or DataFrame of shape (n_samples, n_columns), default=None
            Sensitive columns that are not in X, in the order of its rows. If both are pandas
            objects, their indexes must be equal.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows. A row of weight 0 does not count. An estimator that is
            not fitted yet is trained with them; the steps of a pipeline get them by metadata
            routing.
        control_features : columns, Series, DataFrame, dict or array, default=None
            What people must have in common to be compared like with like: names of columns of X,
            or values, one per row. The listed rules are then also compared with all other rows
            within the strata that these make: see `strata_`. The search itself is as without.
        **fit_params : dict
            Parameters for the ``fit`` of an estimator that is not fitted yet; routed if metadata
            routing is on.

        Returns
        -------
        self : object
            The fitted auditor.

        Raises
        ------
        ValueError, TypeError
            If a parameter or an input cannot be audited: there are more than a million rules, a
            metric needs `y` and it is missing, or predictions have another length or kind. It is
            raised before the model is asked where possible. Also if `max_time` is over before all
            rules of one condition are compared.
        NotFittedError
            If the estimator is not fitted and `y` is not given.
        EstimatorFailedError
            If the estimator fails. The rules are then ranked by the predictions made so far.
        NonDeterministicModelError
            If the estimator gives the first rows other answers when it is asked again.
        """
        start = _clock.now()
        self._check_params(y_pred is not None)
        # Whatever is refused or fails below leaves the results of an earlier fit as they are.
        owner = self._with_params_alone()
        of_rows = {"y": y, "y_pred": y_pred, "sample_weight": sample_weight, **fit_params}
        X, target = check_table(owner, X, of_rows), y
        y = self._one_column(y)
        rng = make_generator(self.random_state)
        n = n_rows(X)
        given = None if y_pred is None else column("y_pred", y_pred, n)
        weights = None if sample_weight is None else check_weights(sample_weight, n)
        truth = truth_of(self.metric, y, n)
        # Where predictions are given no model is asked, and all columns may stay where they are.
        asked, control = (
            self.estimator if given is None else None,
            control_columns(X, control_features),
        )
        X, sensitive, not_in_model = split_sensitive(
            X, self.sensitive_features, values=sensitive_features, estimator=asked
        )
        X = check_table(owner, without_control(X, control, asked))
        strata = None if control is None else control_strata(control, n)
        if given is None:
            warn_of_target(X, target)
        tables, protected = tables_of_columns(X, sensitive, self.attributes, not_in_model)
        limit = math.inf if self.max_time is None else self.max_time
        try:
            with _clock.ending(start + limit):
                rules = self._rules(tables, X, not_in_model)
        except _clock.OutOfTime:
            raise ValueError(
                f"max_time={limit:g} s was over before the columns were divided into groups. Raise "
                "max_time, or name fewer attributes."
            ) from None
        if given is not None:  # all that is wrong with it is an error before anything is stored
            rows = metric_rows(self.metric, given, truth, self.favourable, weights)
        seconds = _clock.now() - start
        if given is None:
            fit_params = self._routed(fit_params, sensitive_features)
            estimator = self._fitted(X, y, sample_weight, fit_params)
        else:
            estimator = self.estimator
        start, progress = _clock.now() - seconds, Progress(self, X, self.verbose)
        limit = math.inf if self.max_time is None else self.max_time
        ended, n_queries = None, 0
        if given is None:
            until = start + seconds + 0.5 * (limit - seconds)
            rows, ended, n_queries = self._ask_rows(estimator, X, truth, weights, progress, until)
        compared = _Compared(tables, rows, weights, n_queries, stop_of(ended, 0, 0), strata)
        found = self._compare_in_time(rules, compared, rng, start + limit)
        fitted = {
            "estimator_": estimator,
            "_tables": tables,
            "attributes_": tables.names,
            "sensitive_features_": protected,
        }
        self._commit(owner, fitted, found, start)
        self._warn_of_no_disparity(rows.values[rows.counts])
        self._finish(progress, ended)
        return self

    def _check_params(self, has_predictions: bool) -> None:
        if not has_predictions:
            self._check_estimator(", or predictions: fit(X, y, y_pred=...)")
        check_metric(self.metric)
        self._check_declared()
        if self.correction == "resampling":  # as many as the confidence needs
            least = math.ceil(1 / (1 - self.confidence) - 1e-9) - 1
            check_whole("n_resamples", self.n_resamples, least)

    def _rules(self, tables: AttributeTables, X: Any, not_in_model: Any) -> FrequentRules:
        """Divide the columns into values, and return the rules that enough rows satisfy."""
        # Of all columns nobody has asked for those that have one value.
        is_all = isinstance(self.attributes, str) and self.attributes == "all"
        how = Division(5, self.binning)  # five bins of a numeric column that `bins` does not name
        columns = tables.divide(X, not_in_model, self.bins, how, quiet=is_all)
        return frequent_rules(
            tables.attributes, columns, min_support=self.min_support,
            most=self.max_conditions if self.max_time is None else 1, label="max_conditions",
        )  # fmt: skip

    def _fitted(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> Any:
        try:
            if hasattr(self.estimator, "fit"):
                check_is_fitted(self.estimator)
        except NotFittedError:
            if sample_weight is not None:
                check_takes_weights(self.estimator)
                fit_params = {"sample_weight": sample_weight, **fit_params}
            return fitted_estimator(self, X, y, fit_params)
        return fitted_estimator(self, X, None, fit_params)

    # Asking ----------------------------------------------------------------------------------

    def _ask_rows(
        self, estimator: Any, X: Any, truth: Any, weights: Floats | None, progress: Progress,
        until: float,
    ) -> tuple[MetricRows, Any, int]:  # fmt: skip
        """Ask the model; returns the metric's rows, what ended the asking, and the queries."""
        asked, n = AskedMetric(self.metric, estimator, X, self.favourable, self.n_jobs), n_rows(X)
        predicted, ended = self._ask(asked, np.arange(n), 0.9, progress, until)
        if not len(predicted):
            raise ended
        rows = asked.rows(predicted, truth, weights)
        if len(predicted) < n:  # rows that were not asked about do not count
            more = np.zeros(n - len(predicted))
            rows = rows._replace(
                values=np.concatenate([rows.values, more]),
                counts=np.concatenate([rows.counts, more > 0]),
            )
        return rows, ended, asked.n_queries

    # Comparing -------------------------------------------------------------------------------

    def _compare_in_time(
        self, rules: FrequentRules, compared: _Compared, rng: np.random.Generator, deadline: float
    ) -> dict[str, Any]:
        """Compare the groups of these rules, or of the longest that there is time for."""
        n_columns = len(compared.tables.attributes)
        most = min(self.max_conditions or n_columns, n_columns)
        if self.max_time is None:
            most = rules.max_conditions
        lengths, too_many, left = [rules], "", deadline - _clock.now()
        try:
            while lengths[-1].max_conditions < most:
                # To compare rules takes longer than to find them.
                longer = lengths[-1].longer(deadline - 0.75 * left)
                if longer.n_rules == lengths[-1].n_rules:  # and none is longer still
                    lengths[-1].max_conditions = most
                    break
                lengths.append(longer)
        except _clock.OutOfTime:
            pass
        except RuleLimitExceeded:
            too_many = f"; of the next length there are more than {MOST_RULES:,}"
        results = self._longest(lengths, compared, rng, deadline)
        so_far, stop = results["max_conditions_"], compared.stop
        if so_far < most and stop.kind in (StopReason.COMPLETE, StopReason.MAX_TIME):
            said = "max_time:" if stop.kind is StopReason.COMPLETE else f"{stop.text};"
            words = f"rules of up to {so_far} of {most} conditions were compared"
            stop = StopSearch(StopReason.MAX_TIME, f"{said} {words}{too_many}")
        return results | {"stop_reason_": stop.text, "stop_kind_": stop.kind.value}

    def _longest(
        self,
        lengths: list[FrequentRules],
        compared: _Compared,
        rng: np.random.Generator,
        deadline: float,
    ) -> dict[str, Any]:
        """Compare the longest rules for which there is time."""
        for rules in lengths[::-1]:
            first = rules is lengths[0]
            # What is not done in most of the time leaves some for shorter rules.
            until = deadline if first else deadline - 0.25 * (deadline - _clock.now())
            try:
                # The same permutations for each length: a limit changes no result but by what it
                # leaves out.
                results = self._compare(rules, compared, copy.deepcopy(rng), until, not first)
                break
            except _clock.OutOfTime:
                if first:
                    raise ValueError(
                        f"max_time={self.max_time:g} s was over before all {rules.n_rules:,} rules "
                        "of one condition were compared. Raise max_time, or name fewer attributes."
                    ) from None
        return results | {"max_conditions_": rules.max_conditions}

    def _compare(
        self,
        rules: FrequentRules,
        compared: _Compared,
        rng: np.random.Generator,
        deadline: float,
        gives_up: bool,
    ) -> dict[str, Any]:
        """Compare the groups of all frequent rules; returns the results by name."""
        tables, rows, weights, n_queries, stop, _ = compared
        began = _clock.now()
        counted = None if weights is None else weights[rows.counts]
        overall = float(np.average(rows.values[rows.counts], weights=counted))
        complexity = complexity_of(rules, tables.attributes)
        everything = rule_sides(rules, rows.values, rows.counts, weights, binary=rows.binary)
        # To order and to list so many rules takes about as long as to sum them up has.
        until = deadline - (_clock.now() - began)
        tested = self._tested(everything, rules, rows, weights, rng, until, gives_up=gives_up)
        alone = float(stats.norm.isf((1 - self.confidence) / 2))
        critical = alone if tested is None else tested.critical
        found = compare_rules(
            rules,
            complexity,
            everything,
            rows,
            weights,
            whole=self.against == "whole",
            confidence=self.confidence,
            critical=critical,
            most=self.max_rules,
        )
        kept = found.kept
        of_kept = self._intervals(found.sides, tested, kept)
        columns = self._counted_columns(
            found.sides,
            rules.support[kept],
            of_kept,
            found.part,
            (found.n_inside, found.n_outside),
        )
        results = self._found(
            rules=rules.conditions(kept),
            support=rules.support[kept],
            ranked=found.defined,
            sides=found.sides,
            n_rules=rules.n_rules,
            n_groups=found.n_groups,
            favourable=rows.favourable,
            n_queries=n_queries,
            stop=stop,
            columns=columns,
        )
        short = listed_rules(
            rules,
            found,
            of_kept.differs,
            rows,
            weights,
            complexity=complexity,
            critical=critical,
            confidence=self.confidence,
        )
        listed = {name: np.asarray(values) for name, values in short._asdict().items()}
        places = listed["rule"] if len(listed["rule"]) else np.arange(min(10, len(kept)))
        in_strata = self._in_strata(compared, rules, kept[places], places, critical)
        return results | {"overall_": overall, "_short": listed, "_strata": in_strata}

    @staticmethod
    def _in_strata(
        compared: _Compared, rules: FrequentRules, chosen: Ints, places: Ints, critical: float
    ) -> dict[str, Any] | None:
        """Compare the listed rules within strata, if there are any."""
        if compared.strata is None:
            return None
        # Each by itself is as sure as all at once are with this critical value.
        confidence = float(1 - 2 * stats.norm.sf(critical))
        rows = {"value": compared.rows}
        how = How(rows, compared.weights, confidence, strata=compared.strata)
        return rules_in_strata(how, places, [rules.inside(rule) for rule in chosen])

    def _warn_of_no_disparity(self, values: Floats) -> None:
        """Warn if the metric has the same value in all rows that count."""
        if not self.n_groups_:
            warnings.warn(
                f"No rule has rows that count for metric={self.metric!r} both inside and outside, "
                f"as only {len(values)} rows count, so nothing was compared. Pass more rows, or "
                "other weights.",
                NoDisparityWarning,
                stacklevel=users_level(),
            )
        elif values.min() == values.max():
            warnings.warn(
                f"metric={self.metric!r} is {values[0]:g} in all {len(values)} rows that count, "
                "so all scores are 0. This is expected if the model makes the same prediction "
                "for everybody. If not, pass another favourable=.",
                NoDisparityWarning,
                stacklevel=users_level(),
            )
