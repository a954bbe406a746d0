"""FlipTestAuditor finds rows whose output changes when they are moved to another group."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from skfairtest import _clock
from skfairtest._delegation import AuditingEstimator, StoredResults
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
from skfairtest._progress import CallbackSupportMixin, Progress, with_callbacks
from skfairtest._typing import Floats
from skfairtest._validation import (
    as_it_stands,
    check_table,
    fitted_estimator,
    make_generator,
    table_or_chunks,
    warn_of_retraining,
    warn_of_target,
)
from skfairtest.base import check_max_time, check_threshold
from skfairtest.exceptions import NoDisparityWarning, users_level
from skfairtest.finding._fitted_cards import moved_card
from skfairtest.finding._shown import ShownFinding
from skfairtest.individual._flip_test.audit import Audit
from skfairtest.individual._flip_test.columns import ATTRIBUTIONS
from skfairtest.individual._flip_test.groups import Groups, shown_values
from skfairtest.individual._flip_test.maps import check_transport
from skfairtest.individual._flip_test.quality import check_classifier, warn_of_quality
from skfairtest.individual._flip_test.share import MovedTwins, MovedValues
from skfairtest.oracle._model import RESPONSE_METHODS, Model
from skfairtest.oracle._row_answers import RowAnswers
from skfairtest.oracle._stop import StopReason, StopSearch
from skfairtest.space._chunks import Chunks
from skfairtest.space._sample import SAMPLE_ROWS, sample_chunks
from skfairtest.space._sensitive_features import split_sensitive
from skfairtest.space._space import InputSpace

#: Results that are tables.
TABLES = ("flips_", "columns_", "map_quality_")


# It is no BaseAuditor. What that finds is an input with two combinations of sensitive values, while
# a moved twin differs in every column; it needs a sensitive column in the table; and half of its
# parameters (max_queries, max_found, n_restarts) and results (history_, domains_, on_data_rate_)
# are about a search, which moving the rows of X is not.
class FlipTestAuditor(
    DeclaredParameters, ShownFinding, CallbackSupportMixin, StoredResults, AuditingEstimator
):
    """Find the rows whose output changes when they are moved to another group.

    A map moves each row of one group to where the rows of another group lie: not only the sensitive
    column changes, but also the columns that go with it. So a model is tested that never sees the
    sensitive attribute, and treats groups differently through other columns. The auditor moves all
    rows of X, compares the model's outputs for rows and their moved twins, and reports whose output
    changes and in which direction, which columns carry the change, and how good the map is.

    Parameters
    ----------
    estimator : estimator, default=None
        Regressor, classifier or pipeline to audit. It is fitted already, or ``fit(X, y)`` fits it.
        With None the auditor is a template, which cannot be fitted.
    transport : transport, default=None
        The map, such as `QuantileTransport`; any estimator with ``fit(X, groups)`` and
        ``transport(X, groups, to)``. It is cloned. None means ``QuantileTransport()``.
    sensitive_features : "auto", str, int, list of these, or values, default="auto"
        The attributes that form the groups: columns of X by name or position, or values, one for
        each row. All combinations of several attributes are groups. "auto" takes the columns whose
        names are common protected attributes (sex, gender, race, age, religion, ...). Columns that
        the model takes get the values of the group to which a row is moved.
    threshold : float, default=None
        The output of a row changes if it differs from that of the moved twin by more than the
        threshold, in units of the outputs. With None it changes if the labels differ, or a
        regressor's outputs.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        Method by which a classifier is asked. "auto" takes the first of the others that it has.
    space : InputSpace, default=None
        How the columns are to be read: one-hot groups, steps, categories. It is copied and learned
        from X; a fitted space is used as it is. None means that of the transport, if it has one,
        and ``InputSpace()`` otherwise.
    n_bootstrap : int, default=100
        How often rows are drawn and maps are learned again, for intervals; 0 computes none. With
        two groups, the model is asked each time about up to twice as many rows as X has, and every
        fourth time about up to 200 rows of each group for each column that changes there.
    confidence : float, default=0.95
        Confidence of the intervals.
    attribution : {"shapley", "order"}, default="shapley"
        How the change is shared out among the columns: by the mean over all orders in which they
        can change, or in one order: the sensitive columns, then those of the transport's
        `sequence_`, if it has one, then the others as in the table.
    classifier : classifier, default=None
        Has to tell moved rows from real ones of the other group. It is given numbers that stand for
        the values, NaN for missing ones. None means a small `HistGradientBoostingClassifier`. One
        of your own needs a seed of its own, if the same seed is to give the same result.
    max_time : float, default=None
        Time limit in seconds; the estimator's own `fit` does not count. All rows are moved first.
        Intervals, how good the map is and what columns carry follow in this order, as far as there
        is time: intervals then rest on fewer repetitions than `n_bootstrap`, AUCs are NaN, or
        `columns_` lacks pairs of groups, and `stop_reason_` says so. None sets no limit.
    n_jobs : int, default=None
        Number of maps that are learned again, and of parts of a large batch that are predicted, at
        the same time. None means 1, or the setting of `joblib.parallel_config`. The result does not
        depend on it.
    random_state : int, RandomState or Generator, default=None
        Seed of the run: the same seed gives the same result.
    verbose : int, default=0
        1 prints a line for each tenth of the run, 2 for each hundredth.

    Attributes
    ----------
    flips_ : DataFrame
        A line for each pair of groups and direction: `group`, `to`, `direction` ("any", from one
        label to another, or "up" and "down"), `n_rows` of the group, `n_flips`, their `share` with
        its interval `low` and `high` (`low` is 0 for all directions that do not stand out of what
        chance makes of the largest), the share `null_share` of a map between groups that chance has
        made, and `beyond` (share less `null_share`) with its interval `beyond_low` and
        `beyond_high`.
    moved_rate_ : float
        Share of all rows whose output changes if they are moved to some other group. It is no
        `discrimination_rate_`, which is a share of inputs that an auditor has generated.
    moved_rate_interval_ : list of two floats
        Its confidence interval; NaN without repetitions.
    null_rate_ : float
        The same share between groups that chance has made.
    flipset_ : DataFrame
        A line for each row and group to which it is moved with another output, the largest
        difference first. The columns have two levels: "case" (`position` in X, `group`, `to`),
        "row" and "moved twin" (the columns of X) and "output" (`before`, `after`, `difference`,
        and for labels `label before` and `label after`).
    columns_ : DataFrame
        A line for each pair of groups and column that moves: `group`, `to`, `column`, `output` (the
        class whose probability or score it is), `change` (mean change of the output that the column
        carries) with `low` and `high`, `flips` (share of rows whose flip it carries) with
        `flips_low` and `flips_high`, and `share_of_flips` (the same as a share of all flips). Over
        the columns, `change` sums to the mean change of the output and `flips` to the share of
        flips.
    map_quality_ : DataFrame
        A line for each pair of groups: `group`, `to`, `auc_before` and `auc_after` (AUC of a
        classifier between rows, or moved rows, and real rows of the other group by which the map
        was not learned, of a third that it has not seen; 0.5 is a perfect map; NaN with fewer than
        40 rows), `distance` (mean
        distance moved over rows and columns, in standard deviations; another category is 1) and
        `out_of_range` (share of moved rows with a value that no row of the other group reaches).
    fairness_degree_ : float
        Largest difference between the outputs for a row and a moved twin.
    worst_case_ : array or DataFrame of shape (2, n_features), or None
        The row and the moved twin with this difference; the one with the larger output comes first.
    worst_case_outputs_ : ndarray of shape (2,), or None
        The model's outputs for these two.
    worst_case_class_ : object
        The class whose probability or score these outputs are.
    discriminatory_inputs_, moved_twins_ : array or DataFrame of shape (n_found, n_features)
        The rows whose output changes, the largest difference first, and for each the moved twin
        that differs most.
    disparities_ : ndarray of shape (n_found,)
        Difference between the outputs for each of these rows and its moved twin.
    n_found_, n_inputs_ : int
        Rows whose output changes, and rows of X.
    n_queries_, seconds_ : int, float
        The cost.
    stop_reason_, stop_kind_ : str
        Why the run ended, in words and as one of "complete", "max_time", "callback", "interrupted"
        and "failed".
    groups_ : ndarray of shape (n_groups,)
        The groups: the values of one attribute, or of several, joined by commas.
    sensitive_features_ : list
        The attributes that form the groups.
    one_hot_ : dict of name to list
        The columns of each one-hot group.
    response_ : str
        How the estimator was asked: "regression", "predict_proba", "decision_function" or
        "labels".
    space_ : InputSpace
        How the columns were read.
    estimator_ : estimator
        The estimator that was audited.

    See Also
    --------
    QuantileTransport : Moves each column by its ranks.
    RandomAuditor : Compares twins that differ in the sensitive columns only.
    SubgroupAuditor : Compares groups of rows.

    Notes
    -----
    A moved twin is no counterfactual: it says where people of the other group with the same ranks
    are, and not what would have become of a person. A change shows that the model treats what goes
    with the group differently. Whether it may is for people to say: columns that are allowed to
    make a difference belong in `keep` of the transport. Several maps beside each other show how
    much depends on the choice.

    The published test uses the exact joint map of Wasserstein distance, or one that a generative
    network approximates. Here the map is that of `transport`, and rows change in groups of any
    number.

    A map that is learned from rows has errors, and these change outputs as well, so that shares of
    flips are never 0 in practice. Each repetition therefore draws rows, learns the map from them
    and moves them, and it also deals the labels of the groups out at random, learns a map between
    these random groups, and counts what it flips: the permutation null. An interval of `beyond`
    that holds 0 shows no effect beyond errors of the map. The lower end of the interval of `share`
    allows for these errors: it is 0 where that of the share alone is not above the null, and, of
    one direction, where chance makes as large a share in one of 40 repetitions (of the confidence
    0.95). For groups that differ much, the errors cancel out, and `beyond` is an understatement.
    With more than two groups, the null deals out the labels of all groups at once.

    With a constraint in the space, a row stays where it is if its moved twin breaks it, and the
    model is never asked about what does. Where only some columns have moved, and the row breaks the
    constraint so, these columns are taken to change nothing by themselves.

    Shapley values are exact with up to 12 columns that move, if the model can be asked about all
    their subsets within 400,000 queries for a pair of groups; else 2 to 32 random orders are drawn
    for each row. The sums are exact in both cases. With intervals of many columns, some do not hold
    their true value: each has the confidence by itself.

    References
    ----------
    .. [1] Black, E., Yeom, S., & Fredrikson, M. (2020). FlipTest: fairness testing via optimal
       transport. FAT*, 111-121. https://doi.org/10.1145/3351095.3372845

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfairtest import FlipTestAuditor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], 1000)
    >>> X = pd.DataFrame({"income": rng.normal(30 + 5 * (sex == "m"), 10)})
    >>> X["age"] = rng.integers(18, 70, 1000)
    >>> model = LogisticRegression().fit(X, X["income"] + rng.normal(size=1000) > 35)
    >>> auditor = FlipTestAuditor(model, n_bootstrap=20, random_state=0)
    >>> auditor = auditor.fit(X, sensitive_features=sex)
    >>> auditor.flips_.loc[1, ["group", "to", "direction"]].tolist()
    ['f', 'm', 'False -> True']
    >>> bool(auditor.flips_.loc[1, "beyond_low"] > 0)
    True
    >>> auditor.columns_.loc[0, "column"]
    'income'
    """

    estimator: Any = field(default=None, kw_only=False)
    transport: Any = checked(default=None, check=lambda _, value: check_transport(value))
    sensitive_features: Any = "auto"
    threshold: float | None = checked(default=None, check=check_threshold)
    response_method: str = one_of(default="auto", options=RESPONSE_METHODS)
    space: InputSpace | None = None
    n_bootstrap: int = whole(default=100, least=0)
    confidence: float = real(default=0.95, interval="(0, 1)", hint="0.95 is usual.")
    attribution: str = one_of(default="shapley", options=ATTRIBUTIONS)
    classifier: Any = checked(default=None, check=lambda _, value: check_classifier(value))
    max_time: float | None = checked(default=None, check=check_max_time)
    n_jobs: int | None = checked(default=None, check=check_n_jobs)
    random_state: Any = None
    verbose: int = checked(default=0, check=check_verbose)

    # Fit -------------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, **fit_params: Any
    ) -> Any:
        """Move the rows of X to each other group and compare what the model makes of them.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features), or such a table in chunks
            The rows, from which the map is learned as well. Of a table in chunks, as for
            `InputSpace.fit`, it is a random sample of 100,000 rows.
        y : array-like of shape (n_samples,), default=None
            Targets to which a clone of the estimator is fitted first, as in `BaseAuditor`; without
            targets the estimator is audited as it is.
        sensitive_features : array-like or DataFrame of shape (n_samples, n_columns), default=None
            Sensitive values that are not in X, in the order of its rows, which form the groups.
            With these, the parameter "auto" names no columns of X.
        **fit_params : dict
            Passed to the estimator's ``fit``, or routed when metadata routing is on.

        Returns
        -------
        self : object
            The fitted auditor.

        Raises
        ------
        ValueError, TypeError
            If parameters or input cannot be audited, such as a group of one row, missing sensitive
            values or more than 64 groups; raised before the first query. Also if `max_time` is over
            before all rows are moved.
        NotFittedError
            If the estimator is not fitted and `y` is not given.
        EstimatorFailedError
            If the estimator fails; what was found before is kept, once all rows were moved.
        NonDeterministicModelError
            If the estimator, asked again about rows that differ, gives other answers.

        Warns
        -----
        UserWarning
            If a classifier tells moved rows from real ones with an AUC above 0.6, or unmoved ones
            with one above 0.995, or groups have too few rows for that, a column has a single value
            in one group alone, or a sample of the rows is moved.
        ConstraintWarning
            If moved twins break the constraint of the space.
        NoDisparityWarning
            If the output of no row changes.
        """
        return self._fit(X, y, sensitive_features, fit_params)

    def _fit(self, *arguments: Any, **further: Any) -> Any:
        """Fit; the parameters are those of `_stages`."""
        for _ in self._stages(*arguments, **further):
            pass
        return self

    def _stages(
        self, X: Any, y: Any, sensitive_features: Any, fit_params: dict[str, Any],
        model: Model | None = None, known: RowAnswers | None = None,
        auc_before: dict[tuple[Any, Any], float] | None = None,
    ) -> Iterator[str]:  # fmt: skip
        """Fit in stages, after each of which the results so far are there to be read.

        Parameters
        ----------
        X, y, sensitive_features, fit_params : object
            As for `fit`.
        model : Model, default=None
            The estimator, probed.
        known : RowAnswers, default=None
            What it has answered to the rows before.
        auc_before : dict, default=None
            AUCs between rows as they are, by pairs of groups, which are measured where they are not
            there, and then kept there for other maps of the same rows.

        Yields
        ------
        stage : {"shares", "intervals", "quality", "columns"}
            What is there now. Whoever asks for no further stage leaves out those that follow.
        """
        self._check_params()
        start = _clock.now()
        # Whatever is refused below leaves the results of an earlier fit as they are.
        owner = self._with_params_alone()
        X = self._in_memory(owner, X, y, sensitive_features, fit_params)
        rng = make_generator(self.random_state)
        X, space, not_in_model = self._read(owner, X, y, sensitive_features)
        groups = Groups.of(space, not_in_model)
        groups.check_number()
        seconds = _clock.now() - start
        warn_of_retraining(self.estimator, y)
        warn_of_target(X, y)
        estimator = fitted_estimator(self, X, y, self._routed(fit_params, sensitive_features))
        start, progress = _clock.now() - seconds, Progress(self, X, self.verbose)
        deadline = math.inf if self.max_time is None else start + self.max_time
        if model is None:
            method = self.response_method
            model = Model(estimator, space, response_method=method, n_jobs=self.n_jobs)
        model, shared = model.with_table(space), {} if auc_before is None else auc_before
        audit = Audit(self, model, space, groups, rng, known, deadline, shared)
        fitted = {name: value for name, value in vars(owner).items() if is_result(name)}
        fitted |= {"estimator_": estimator} | self._first(audit)
        self._keep(audit, fitted, start)
        yield "shares"
        for name, error in audit.rest(progress):
            self._keep(audit, fitted, start, error)
            if error is not None and not isinstance(error, StopSearch):
                raise error  # what was found before is kept
            yield name
        audit.warn_of_moves()
        warn_of_quality(self.map_quality_, is_whole=self.stop_kind_ == "complete")
        if not self.n_found_ and not self.fairness_degree_:
            warnings.warn(self._no_disparity(), NoDisparityWarning, stacklevel=users_level())
        progress.finish()

    def _first(self, audit: Audit) -> dict[str, Any]:
        """Return what is found when all rows are moved."""
        try:
            with _clock.ending(audit.deadline):
                return audit.first()
        except _clock.OutOfTime:
            if self.max_time is None:
                raise
            raise ValueError(
                f"max_time={self.max_time:g} s was over before the map was learned and all "
                f"{len(audit.Z):,} rows were moved. Raise max_time, or pass fewer rows."
            ) from None

    def _keep(
        self, audit: Audit, fitted: dict[str, Any], start: float, error: BaseException | None = None
    ) -> None:
        """Keep the results so far, and why there are no others."""
        space, groups, ended = audit.space, audit.groups, audit.ended(error)
        results = fitted | audit.tables()
        # As lists: a file of skops cannot hold a table of pandas with words in it.
        tables = {name: _as_lists(results.pop(name)) for name in TABLES}
        results["_state"] = results["_state"] | {"tables": tables}
        results |= {
            "space_": space,
            "sensitive_features_": list(groups.names),
            "one_hot_": space.layout.one_hot,
            "groups_": groups.labels,
            "seconds_": _clock.now() - start,
            "stop_reason_": "all rows were moved" if ended is None else ended.text,
            "stop_kind_": (ended or StopSearch(StopReason.COMPLETE)).kind.value,
        }
        self._replace_results(results)

    def _in_memory(self, owner: Any, X: Any, y: Any, given: Any, fit_params: dict[str, Any]) -> Any:
        """Return the table, or a random sample of a table in chunks."""
        X = table_or_chunks(owner, X, y, fit_params)
        if not isinstance(X, Chunks):
            return X
        if given is not None:
            raise ValueError(
                "sensitive_features must be columns of the chunks where X comes in chunks, of "
                "which a random sample is moved. Name them in the constructor, whether the model "
                "takes them or not: FlipTestAuditor(model, sensitive_features=['sex'])."
            )
        chunks, X = X, sample_chunks(X, SAMPLE_ROWS, np.random.default_rng(0))
        if chunks.n_rows is not None and chunks.n_rows > SAMPLE_ROWS:
            warnings.warn(
                f"A random sample of {SAMPLE_ROWS:,} of {chunks.n_rows:,} rows is moved, as they "
                "come in chunks. Pass a table in memory to move all of them.",
                UserWarning,
                stacklevel=users_level(),
            )
        return check_table(owner, X)

    def _moved_values(self, X: Any, sensitive_features: Any) -> tuple[MovedTwins, MovedValues]:
        """Return what is found for rows of groups that are large enough, without an interval.

        The estimator is fitted; it costs its predictions alone.
        """
        self._check_params()
        owner = self._with_params_alone()
        X, space, beside = self._read(owner, check_table(owner, X), None, sensitive_features)
        rng = make_generator(self.random_state)
        twins = MovedTwins.of(self.transport, space, beside, rng, n_again=0)
        own = twins.ask(fitted_estimator(self, X, None, {}), self.get_params(deep=False))
        return twins, own

    def _read(
        self, owner: Any, X: Any, y: Any, given: Any
    ) -> tuple[Any, InputSpace, pd.DataFrame | None]:
        """Return the table that the model takes, its space, and attributes outside of it."""
        named = self.sensitive_features
        if given is not None and isinstance(named, str) and named == "auto":
            named = []
        found = split_sensitive(X, named, values=given, estimator=as_it_stands(self.estimator, y))
        if found.names is None and found.not_in_model is None:
            raise ValueError(
                "sensitive_features must name columns of X, or hold the values of rows; got "
                f"{self.sensitive_features!r}. Pass fit(X, sensitive_features=values)."
            )
        X = check_table(owner, found.X)
        return X, self._make_space(X, found.names), found.not_in_model

    def _make_space(self, X: Any, sensitive: Any) -> InputSpace:
        """Learn how the columns are to be read."""
        described = self.space
        if described is None:
            described = getattr(self.transport, "space", None)
        if described is None:
            described = InputSpace()
        if not isinstance(described, InputSpace):
            raise TypeError(
                f"space must be an InputSpace or None; got {type(described).__name__}. Describe "
                "the columns by InputSpace(categories=..., one_hot=...)."
            )
        if described.__sklearn_is_fitted__():
            space = described.with_data(X)
            return space.with_sensitive_features(
                [] if sensitive is None else sorted(space.layout.resolve(sensitive))
            )
        # What is plausible, and what follows from sensitive values, only twins need.
        alone = clone(described).set_params(plausible=None, twins=None)
        return alone.fit(X, sensitive)

    def _check_params(self) -> None:
        if self.estimator is None:
            raise ValueError(
                f"{type(self).__name__}(estimator=None) is a template, which cannot be fitted "
                "itself. Give an estimator."
            )
        check_instance("estimator", self.estimator)
        self._check_declared()

    def _no_disparity(self) -> str:
        return (
            f"The output of none of {self.n_inputs_} rows changes when they are moved between the "
            f"groups of {self.sensitive_features_!r}: the estimator seems to ignore these and all "
            "columns that this map moves."
        )

    def _card(self) -> str:
        return moved_card(self) if self.__sklearn_is_fitted__() else ""

    # Results ---------------------------------------------------------------------------------

    @property
    def worst_case_(self) -> Any:
        """The row and its moved twin that differ most, larger output first; None if none does."""
        pair = self._result("worst_case_").get("worst")
        return None if pair is None else self.space_.decode(pair)

    @property
    def worst_case_outputs_(self) -> Floats | None:
        """The model's outputs for these two, shape (2,)."""
        outputs: Floats | None = self._result("worst_case_outputs_").get("worst_outputs")
        return outputs

    @property
    def worst_case_class_(self) -> Any:
        """The class of `worst_case_outputs_`; None for a regressor and for labels."""
        return self._result("worst_case_class_").get("worst_class")

    @property
    def discriminatory_inputs_(self) -> Any:
        """The rows whose output changes, the largest difference first."""
        state = self._result("discriminatory_inputs_")
        return self.space_.decode(state["rows"])

    @property
    def moved_twins_(self) -> Any:
        """The moved twin of each of the `discriminatory_inputs_` that differs most from it."""
        return self.space_.decode(self._result("moved_twins_")["twins"])

    @property
    def flips_(self) -> pd.DataFrame:
        """The shares of rows that change, by group, group moved to and direction."""
        return pd.DataFrame(self._result("flips_")["tables"]["flips_"])

    @property
    def columns_(self) -> pd.DataFrame:
        """What each column carries of the change."""
        return pd.DataFrame(self._result("columns_")["tables"]["columns_"])

    @property
    def map_quality_(self) -> pd.DataFrame:
        """How near the maps come to the other group."""
        return pd.DataFrame(self._result("map_quality_")["tables"]["map_quality_"])

    @property
    def flipset_(self) -> pd.DataFrame:
        """The rows whose output changes, with their moved twins and the outputs for both."""
        state = self._result("flipset_")
        columns = self.space_.layout.columns
        parts = {"case": pd.DataFrame(state["cases"])}
        for name, Z in (("row", state["flip_rows"]), ("moved twin", state["flip_twins"])):
            parts[name] = pd.DataFrame(
                {column.name: shown_values(column, Z[:, j]) for j, column in enumerate(columns)}
            )
        parts["output"] = pd.DataFrame(state["outputs"])
        return pd.concat(parts, axis=1)


def _as_lists(table: pd.DataFrame) -> dict[str, list[Any]]:
    return {str(name): table[name].tolist() for name in table}
