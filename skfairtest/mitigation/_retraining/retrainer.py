"""FairnessRetrainer: train, audit, add what was found under better labels, train again."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import check_scoring
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import column_or_1d

from skfairtest import _clock
from skfairtest._delegation import DelegatingEstimator, of_one_output
from skfairtest._parameters import (
    DeclaredParameters,
    check_n_jobs,
    check_verbose,
    check_whole,
    checked,
    one_of,
    real,
)
from skfairtest._progress import CallbackSupportMixin, Progress, with_callbacks
from skfairtest._typing import is_real
from skfairtest._validation import check_table, check_target_values, make_generator, warn_of_target
from skfairtest.exceptions import (
    EstimatorFailedError,
    MitigationWarning,
    WorkersFailedError,
    users_level,
)
from skfairtest.finding._fitted_cards import retrainer_card
from skfairtest.finding._shown import ShownFinding
from skfairtest.finding._words import change, message_of
from skfairtest.group import TestSGDAuditor
from skfairtest.individual import AequitasAuditor
from skfairtest.mitigation._retraining.alternatives import (
    SIMPLE_METHODS,
    alternatives_table,
    leaves_less,
    outlook,
    try_simple_methods,
)
from skfairtest.mitigation._retraining.guard import (
    KEPT_AS_IT_IS,
    NOT_JUDGED,
    check_scorer_takes_weights,
)
from skfairtest.mitigation._retraining.judge import Judge, guard_of, what_would_tell
from skfairtest.mitigation._retraining.metrics import ShareMetrics
from skfairtest.mitigation._retraining.moved_twins import MovedRetraining
from skfairtest.mitigation._retraining.rounds import (
    Alternative,
    Measurements,
    Rounds,
    history_frame,
)
from skfairtest.mitigation._retraining.stages import Stages
from skfairtest.mitigation._retraining.testsgd import TestSGDRetraining
from skfairtest.mitigation._retraining.training import Task, held_out, make_folds, rows_that_choose
from skfairtest.mitigation._retraining.twin_strategies import AequitasRetraining, TwinRetraining
from skfairtest.mitigation._shares import Measure

STRATEGIES: dict[str, Any] = {
    "twins": TwinRetraining,
    "aequitas": AequitasRetraining,
    "testsgd": TestSGDRetraining,
    "moved": MovedRetraining,
    "best": TwinRetraining,
}


def _check_rounds(name: str, value: Any) -> None:
    if not (isinstance(value, str) and value == "auto"):
        check_whole(name, value, 1, "'auto' or ")


class FairnessRetrainer(
    DeclaredParameters, ShownFinding, CallbackSupportMixin, DelegatingEstimator
):
    """Mitigate discrimination: train, audit, add what was found under better labels, train again.

    After ``fit`` it *is* the mitigated model: it predicts and scores with it. Besides the model of
    all rows, models without a fold of the rows go through the same rounds, and are scored on the
    rows that they have not seen. A third of the rows choose: the round with the least
    discrimination among those whose score they find kept. The others judge it: if they find that
    its score may have fallen too far, two earlier rounds are shown to them, with wider bounds. If
    none is good, the original is kept.

    Parameters
    ----------
    estimator : estimator
        Classifier, regressor or pipeline; clones of it are trained. It needs no ``sample_weight``.
    auditor : auditor, default=None
        Template that names the sensitive columns and finds what is added; its estimator and seed
        are set. None takes `AequitasAuditor` or `TestSGDAuditor`, as the strategy needs, which look
        for columns with the names of common protected attributes.
    strategy : {"twins", "aequitas", "testsgd", "moved", "best"}, default="twins"
        "twins" is ours. It first adds twins of all rows of the data, so that the sensitive columns
        tell nothing there (of half or a quarter of them, where that costs too much); then, in every
        round, inputs near the data and inputs that an audit of the latest model finds in the
        domain, with their twins and under one label: the average of the model's outputs for them.
        "aequitas" is the paper's Algorithm 5: inputs found in the original model, labelled by the
        majority of diverse models, in random shares of the rows from doubling intervals, until the
        share of discriminatory inputs no longer falls. "testsgd" adds rows of the worst rule
        for which the original model predicts the label that it predicts too rarely in this group,
        from 50 rows to 10% of the data. "moved" is ours, and the only one that looks at columns
        which go with the sensitive ones (proxies): it adds rows moved to where another group has
        the same ranks, by a `QuantileTransport`, first with the targets of the rows and then rows
        and moved twins under the average of the model's outputs for them. The estimator needs the
        sensitive columns for that: without them it cannot tell a row from the moved twin of another
        one. "best" retrains as "twins" does and then shows rounds and the other `alternatives_` to
        the rows that judge, in the order of what they leave near the rows, until one keeps the
        score.
    max_score_drop : float, default=0.01
        How far the score may fall below the original's. A model is kept if the upper bound of the
        drop's interval is no larger. Where the rows are too few to tell a drop of that size, the
        share of changed predictions counts as well, if the score is accuracy: a model that changes
        few of them cannot lose much. A `MitigationWarning` then says how large a drop the rows
        alone leave possible, and what would let them tell.
    scoring : str or callable, default=None
        Score that may not fall by more; greater is better. None takes the estimator's own.
    cv : "auto", int or cross-validation splitter, default="auto"
        Folds, each held out from models of its own: every round trains one more model per fold.
        "auto" takes five; below 2,000 rows it adds five of another draw, and below 1,000 a third
        five; from 20,000 rows on it holds out two folds, each of a fifth of the rows.
    max_rounds : "auto" or int, default="auto"
        Largest number of rounds. "auto" is eight, and ends before a round with which
        models would have been trained on eight times the rows of the data, or on 400,000 rows if
        that is more.
    random_state : int, RandomState or Generator, default=None
        Seed. The same seed gives the same result; models without a seed of their own get one.
    n_jobs : int, default=None
        Number of models that are trained, or measured, at the same time. An auditor without
        `n_jobs` gets it too.
    verbose : int, default=0
        1 prints a line per stage and round, and about one a second in between. Callbacks of
        scikit-learn are told of each training.

    Attributes
    ----------
    estimator_ : estimator
        The mitigated model, or the original; trained on all rows.
    original_estimator_ : estimator
        The model before mitigation, trained on all rows.
    before_, after_ : dict
        What `original_estimator_` and `estimator_` do themselves; both were asked. Each entry has
        value, low and high.

        - "rows": the share of the rows of the table whose twins are treated differently. All rows
          were asked (of more than 5,000 a sample), so that low and high are the value.
        - "unseen": the share among people drawn as the rows were, who are not among them. A model
          treats its own rows a little more alike than others; how much so, the models of the folds
          show, and the value is that of the rows with this added.
        - "near": inputs near the rows, "uniform": inputs of the whole domain; both are fresh and
          played no part in any choice. "degree" is the largest difference seen, a value alone.
        - "group", with "testsgd": the difference of the worst group near the rows. "moved", with
          "moved": the share among unseen people whose output changes when they are moved, from a
          half of the rows that played no part in the choice of a round.

        Of a regressor without a threshold values are mean differences of twins, not shares.
    score_drop_ : dict
        How far the score of `estimator_` lies below that of `original_estimator_` on new rows:
        "low" and "high" hold for these two models (both at once with 95%, by the rows that judge),
        and so does "at_most" for those who ask for an upper bound alone; "confirmed" says
        whether it is no more than `max_score_drop`. "value" is the mean over
        trainings of both, one pair for each fold, and "spread" the standard deviation of a single
        training about it, which low and high reckon with.
    alternatives_ : DataFrame
        One row per method: "original", "retrained", "drop" (trained with the sensitive columns held
        at one value) and "average" (the original's predictions averaged over their values, as by
        `MarginalizedClassifier`). Shares are those of the method's model of all rows, in columns
        with the names of `before_` (unseen, unseen_low, ...); `left` is what is left of the
        original's that is to fall. `score_drop`, `drop_low`, `drop_high`, `drop_spread` and
        `confirmed` are as in `score_drop_`; `fold_score` is the mean score of the folds' models.
        `kept` is the method of `estimator_`; `fit_seconds` are the seconds of all trainings, and
        `note` says why a method failed.
    history_ : DataFrame
        One row per round, the original first: round, n_added (rows added), what the round's model
        of all rows does on the inputs that rounds are chosen by (rows, near and uniform with
        intervals, degree, group or moved, and what is `left` of what is to fall), `fold_score` and
        `fold_score_drop` (means over the models of the folds, on the rows that choose: of the
        training, not of this model), kept, reason. In a round that lost too much of the score
        nothing else is measured.
    n_added_ : int
        Number of rows that were added to the data to train `estimator_`.
    stop_reason_ : str
        What ended the rounds; with "best" also what was kept, why, and what more rounds may bring.
    n_features_in_, feature_names_in_, classes_
        As every estimator has them.

    See Also
    --------
    MarginalizedClassifier : Averages the sensitive columns out instead.
    compare_mitigations : Compares all methods.
    FairnessAugmenter : One augmentation as a step of an imbalanced-learn pipeline.
    estimate_discrimination : The share of discriminatory inputs of any model.
    make_audit_scorer : To choose among models instead.

    Notes
    -----
    What falls is the difference in treatment of twins (or of groups) in the inputs that are looked
    at. That does not make a model fair: columns that stand in for the sensitive ones keep their
    influence, twins may be unlike any real person, the labels that are added are guesses, and a
    group may get worse predictions meanwhile. Look at error rates by group before and after, and
    say which measure was lowered.

    Twins need no labels, so shares are those of the model itself. A score needs rows that a model
    has not seen, and a model of all rows has seen them all: its drop is predicted from the models
    of the folds. How far a single training lies from their mean is measured on inputs near the
    rows, whose labels are drawn as the original models expect them.

    Dropping or averaging the sensitive columns is simpler, takes seconds and often leaves nothing
    at no cost. Where one of them leaves less than the retrained model at no more cost, a
    `MitigationWarning` says so, and ``strategy="best"`` keeps it.

    Where sensitive columns have more than five combinations of values, each input gets five twins,
    drawn anew for each; of more than a hundred combinations, inputs are compared with a hundred of
    their twins, so that shares are lower bounds.

    A round that fails (a model that cannot be trained on the added rows, say) ends the run with
    a `MitigationWarning`, and the best model so far is kept. If the audit of the original fails,
    the original is kept, with the same warning. A model that predicts the same for all rows is
    never kept, if the original does not.

    References
    ----------
    .. [1] Udeshi, S., Arora, P., & Chattopadhyay, S. (2018). Automated directed fairness testing.
       ASE, 98-108. https://doi.org/10.1145/3238147.3238165
    .. [2] Zhang, M., Sun, J., Wang, J., & Sun, B. (2022). TestSGD: Interpretable testing of neural
       networks against subtle group discrimination. ACM TOSEM.
    .. [3] Lu, K., Mardziel, P., Wu, F., Amancharla, P., & Datta, A. (2020). Gender bias in neural
       natural language processing. Logic, Language, and Security, LNCS 12300, 189-202. (Twins of
       all rows: counterfactual data augmentation.)

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skfairtest import AequitasAuditor, FairnessRetrainer
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(n_samples=400, random_state=0)
    >>> X, y = data.data.select_dtypes("number"), data.target
    >>> X = X.assign(sex=data.data["sex"] == "male")
    >>> auditor = AequitasAuditor(sensitive_features="sex", max_queries=500)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> mitigated = FairnessRetrainer(
    ...     tree, auditor, max_score_drop=0.05, max_rounds=1, cv=3, random_state=0).fit(X, y)
    >>> mitigated.after_["near"]["value"] < mitigated.before_["near"]["value"]
    True
    """

    #: Inputs by which a model is judged, and what is tried besides the rounds; less of both where
    #: `compare_mitigations` has these methods in other rows of its table.
    _n_estimates = 5_000
    _simple_methods: ClassVar = SIMPLE_METHODS

    estimator: Any = field(default=None, kw_only=False)
    auditor: Any = field(default=None, kw_only=False)
    strategy: str = one_of(default="twins", options=tuple(STRATEGIES))
    max_score_drop: float = real(default=0.01, interval="[0, inf)")
    scoring: Any = None
    cv: Any = "auto"
    max_rounds: Any = checked(default="auto", check=_check_rounds)
    random_state: Any = None
    n_jobs: int | None = checked(default=None, check=check_n_jobs)
    verbose: int = checked(default=0, check=check_verbose)

    @with_callbacks
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
            with one entry a row only ``sample_weight`` can be extended to added rows: a twin of a
            row weighs as much as the row, other inputs as much as the mean. Weights count in the
            score and in the share on rows, too, and rows of weight 0 are left out.

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
        X = check_table(self, X, {"y": y, **fit_params})
        warn_of_target(X, y)
        y = self._check_targets(y)
        if get_config()["enable_metadata_routing"]:
            fit_params = process_routing(self, "fit", **fit_params).estimator.fit
        rng = make_generator(self.random_state)
        task = Task(
            self.estimator,
            X,
            y,
            scorer=check_scoring(self.estimator, scoring=self.scoring),
            fit_params=fit_params,
            rng=rng,
            n_jobs=self.n_jobs,
        )
        if task.weights is not None:
            check_scorer_takes_weights(self.scoring)
        held = held_out(task.y, task.classes, self.cv, rng)
        chooses = rows_that_choose(task.y, task.classes, held, rng)
        strategy = self._strategy(task, rng)
        for name in ("before_", "after_", "score_drop_", "_alternatives"):  # of an earlier fit
            if hasattr(self, name):
                delattr(self, name)
        folds = make_folds(task, strategy.space, held, rng)
        model = task.train(folds[0].rows)
        self.original_estimator_ = self.estimator_ = model
        self.n_added_, self.stop_reason_ = 0, "interrupted"
        self._table: dict[str, list[Any]] = {}
        progress = Progress(self, X, 0)
        stages = Stages(progress, self.verbose)
        task.tick = stages.step
        rounds = None
        try:
            if self._train_folds(task, folds, stages):
                rounds = self._make_rounds(task, strategy, folds, chooses, rng, stages)
                self._mitigate(rounds)
        except BaseException as error:
            # Ctrl-C and failures go on to the caller; here it is noted what they were.
            interrupted = isinstance(error, KeyboardInterrupt)
            self.stop_reason_ = "interrupted" if interrupted else f"failed: {error}"
            if rounds is not None:
                rounds.reason = self.stop_reason_
            raise
        finally:
            progress.finish()
            if rounds is not None:
                self._store(rounds)
        return self

    def _store(self, rounds: Rounds) -> None:
        """Whatever ended the run: the best model so far, which is the original at first."""
        self.estimator_, self.n_added_ = rounds.best, rounds.n_added
        self._table, self.stop_reason_ = rounds.table(), rounds.reason
        drop = rounds.verdict.drop
        self.score_drop_ = {
            "value": drop.estimate,
            "low": drop.low,
            "high": drop.high,
            "at_most": drop.at_most,
            "spread": rounds.verdict.spread,
            "confirmed": rounds.verdict.confirmed,
        }

    def _train_folds(self, task: Task, folds: Any, stages: Stages) -> bool:
        """Train the original model without the rows of each fold; return whether that went well."""
        n = len(folds) - 1
        stages.begin("originals", n, f"{n} models of folds are trained as the original is")
        folds[0].model = self.original_estimator_
        try:
            models = task.train_all(folds[1:])
        except WorkersFailedError:
            raise
        except Exception as error:  # a fold whose other rows are all of one class, say
            self.stop_reason_ = (
                "a model without the rows of a fold could not be trained: "
                f"{type(error).__name__}: {message_of(error)}"
            )
            warnings.warn(
                f"The original model is kept: {self.stop_reason_}. Choose another cv=.",
                MitigationWarning,
                stacklevel=users_level(),
            )
            return False
        for fold, model in zip(folds[1:], models, strict=True):
            fold.model = model
        return True

    def _make_rounds(
        self, task: Task, strategy: Any, folds: Any, chooses: Any, rng: Any, stages: Stages
    ) -> Rounds:
        """All that the rounds need."""
        metrics = ShareMetrics(
            strategy.space,
            folds,
            strategy.settings,
            mean=strategy.measures_mean,
            n_estimates=self._n_estimates,
            rng=rng,
        )
        limit = float(self.max_score_drop)
        guard, judges = (guard_of(task, folds, rows, limit, rng) for rows in (chooses, ~chooses))
        self._unscored = guard.unscored or judges.unscored
        judge = Judge(task, folds, judges, metrics, rng)
        return Rounds(task, folds, strategy, guard, judge, metrics, stages)

    def _mitigate(self, rounds: Rounds) -> None:
        start = _clock.now()
        simple: list[Alternative] = []
        try:
            n = len(rounds.folds)
            if rounds.measure_original():
                rounds.stages.begin("simple methods", 3 * n, f"{n} models of what is simpler")
                simple = try_simple_methods(rounds, self._simple_methods)  # the cheap ones first
                start = _clock.now()
                rounds.run(None if self.max_rounds == "auto" else self.max_rounds)
            seconds = _clock.now() - start
            rounds.stages.begin("last look", 2 * n, "what was chosen is judged, and measured anew")
            others = [one for one in simple if one.is_likely] if self.strategy == "best" else []
            before = rounds.measure_again(others)
        except EstimatorFailedError as error:
            rounds.reason = f"the audit failed: {error}"
            warnings.warn(
                f"Not mitigated, the best model so far is kept: {rounds.reason}",
                MitigationWarning,
                stacklevel=users_level(),
            )
            return
        original = Alternative(
            "original", rounds.originals, rounds.first, before, KEPT_AS_IT_IS, KEPT_AS_IT_IS
        )
        retrained = rounds.tried or Alternative(
            "retrained", [], None, None, NOT_JUDGED, NOT_JUDGED, note=rounds.refusals()
        )
        retrained = retrained._replace(seconds=seconds)
        # A simpler method that was shown to the rows that judge has the verdict of this look.
        kept = rounds.kept or original
        simple = [kept if one.name == kept.name else one for one in simple]
        methods = [original, retrained, *simple]
        if kept.name == retrained.name:
            kept = retrained
        if self.strategy == "best":
            rounds.reason += f". {outlook(methods, kept, rounds)}"
        assert kept.found is not None, "what is kept was measured"
        self.before_, self.after_ = (
            _as_dict(found, rounds.strategy.measured) for found in (before, kept.found)
        )
        # Of what is kept, or was refused for what may be its cost.
        judged = kept if kept is not original else retrained
        self._what_would_tell = what_would_tell(
            judged.verdict, len(rounds.task.y), self.max_score_drop
        )
        self._alternatives = alternatives_table(methods, kept, rounds)
        self._warn(rounds, methods, kept)

    def _warn(self, rounds: Rounds, methods: list[Alternative], kept: Alternative) -> None:
        """Say in one warning what the user should know before using the model."""
        sentences = [f"{self._unscored}: these do not count." if self._unscored else ""]
        before = methods[0].found
        assert before is not None, "the original was measured"
        if kept.name == "original":
            # Nothing to mitigate is no reason to warn; something that stays is.
            if rounds.strategy.left(before, before) > 0:
                near, uniform = before.shares.near.value, before.shares.uniform.value
                left = f"{near:.4g} near the data and {uniform:.4g} among uniform inputs"
                if rounds.strategy.measured == "moved" and before.group is not None:
                    left = f"{before.group.value:.4g} among moved twins"
                why = "; ".join(filter(None, [rounds.reason, methods[1].note]))
                sentences += [
                    f"The original model is kept, with {left}: no round of "
                    f"{len(rounds.rows) - 1} was better within "
                    f"max_score_drop={self.max_score_drop:g} ({why}).",
                    self._what_would_tell,
                    "See history_; another strategy=, or an auditor with a larger budget may help.",
                ]
            elif not rounds.varied:
                sentences.append(f"The original model is kept: {rounds.reason}.")
        elif not kept.verdict.confirmed:
            drop = kept.verdict.drop
            sentences += [
                f"The data cannot tell a drop of max_score_drop={self.max_score_drop:g}: the score "
                f"of the mitigated model may be {drop.at_most:.4g} lower "
                f"({change(-drop.estimate)} on average over trainings). It is kept as it changes "
                "so few predictions that a drop of more than "
                f"{kept.verdict.bound:.4g} is unlikely.",
                self._what_would_tell,
                "Compare the two models on more rows, or use original_estimator_.",
            ]
        better = leaves_less(methods, kept)
        if better is not None:
            sentences.append(better)
        words = " ".join(filter(None, sentences))
        if words:
            warnings.warn(words, MitigationWarning, stacklevel=users_level())

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
        self._check_declared()
        bad = self.cv is None or (isinstance(self.cv, str) and self.cv != "auto")
        if bad or (is_real(self.cv) and (self.cv != int(self.cv) or self.cv < 2)):
            raise ValueError(
                f"cv must be 'auto', a whole number of at least 2, or a splitter; got {self.cv!r}."
            )

    def _check_targets(self, y: Any) -> Any:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = column_or_1d(y, warn=True)
        y = check_target_values(self.estimator, y)
        if not is_classifier(self.estimator):
            return y.astype(np.float64)  # labels of added rows are means
        classes = np.unique(y)
        if len(classes) == 1:
            raise ValueError(
                f"y must have at least 2 classes; got one class, {classes.tolist()[0]!r}: no "
                "classifier can be trained on it."
            )
        return y

    def _strategy(self, task: Task, rng: np.random.Generator) -> Any:
        kind = STRATEGIES[self.strategy]
        auditor: Any = self.auditor
        if auditor is None and self.strategy == "testsgd":
            auditor = TestSGDAuditor()
        elif auditor is None:
            # Queries of the default auditor: one round needs no more discriminatory inputs than
            # that brings.
            auditor = AequitasAuditor(max_queries=40_000)
        auditor = clone(auditor)
        if self.n_jobs is not None and "n_jobs" in auditor.get_params(deep=False):
            auditor.set_params(n_jobs=auditor.n_jobs or self.n_jobs)
        try:
            return kind(task, auditor, rng)
        except ValueError as error:
            if task.n_weightless:
                error.add_note(f"The {task.n_weightless} rows of weight 0 are left out.")
            raise

    # Results ---------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a model."""
        return hasattr(self, "estimator_")

    def _card(self) -> str:
        return retrainer_card(self) if self.__sklearn_is_fitted__() else ""

    @property
    def history_(self) -> pd.DataFrame:
        """The rounds, the original first."""
        if not hasattr(self, "_table"):
            raise AttributeError(
                f"{type(self).__name__} has no history_ before fit. Call fit(X, y) first."
            )
        return history_frame(self._table)

    @property
    def alternatives_(self) -> pd.DataFrame:
        """What was tried, one row per method."""
        if not hasattr(self, "_alternatives"):
            raise AttributeError(
                f"{type(self).__name__} has no alternatives_: fit(X, y) was not called, or ended "
                "before they were measured (see stop_reason_)."
            )
        return pd.DataFrame(self._alternatives).set_index("method")

    def __sklearn_tags__(self) -> Any:
        """Tags of the estimator, for one output."""
        tags = of_one_output(super().__sklearn_tags__())
        tags.target_tags.required = True
        return tags


def _as_dict(found: Measurements, measured: str) -> dict[str, Any]:
    """What was measured of a model; `measured` is the name of what groups are measured by."""
    places = ("rows", "unseen", "near", "uniform")
    result: dict[str, Any] = {name: _numbers(getattr(found.shares, name)) for name in places}
    result["degree"] = {"value": found.shares.degree}
    if found.group is not None:
        result[measured] = _numbers(found.group)
    return result


def _numbers(measure: Measure) -> dict[str, float]:
    return {name: float(value) for name, value in measure._asdict().items()}
