"""compare_mitigations: what each method of mitigation leaves, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils.validation import column_or_1d

from skfairtest import _clock
from skfairtest._parameters import check_whole
from skfairtest._progress import PartsProgress, make_progress, tell
from skfairtest._typing import Ints, is_real
from skfairtest._validation import (
    check_table,
    check_takes_weights,
    check_target_values,
    check_weights,
    make_generator,
    warn_of_target,
)
from skfairtest.base import BaseAuditor, check_max_time
from skfairtest.exceptions import WorkersFailedError
from skfairtest.group._rules.sensitive_groups import SensitiveGroups
from skfairtest.mitigation._comparison.methods import METHODS, ComparisonContext, ComparisonSettings
from skfairtest.mitigation._comparison.moved import move_rows, transport_of
from skfairtest.mitigation._comparison.one_fold import FoldResult, Training, in_a_line, run_fold
from skfairtest.mitigation._comparison.result import MitigationComparison
from skfairtest.mitigation._comparison.table import MeasuredMethods, Scores, make_comparison
from skfairtest.mitigation._shares import affordable_inputs, draw_crossings, draw_uniform
from skfairtest.oracle._favourable import favourable_places
from skfairtest.space._sensitive_features import split_sensitive
from skfairtest.space._space import InputSpace
from skfairtest.workers._sending import n_workers, on_workers, without_threads

#: What tests make smaller.
SETTINGS = ComparisonSettings()


def compare_mitigations(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    sensitive_features: Any = "auto",
    methods: Any = "all",
    cv: Any = 3,
    scoring: Any = None,
    favourable: Any = None,
    threshold: float | None = None,
    space: InputSpace | None = None,
    sample_weight: Any = None,
    moved: Any = True,
    max_time: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: Any = "auto",
) -> MitigationComparison:
    """Compare methods of mitigation: what is left, what it costs, and who pays.

    Every method is trained on all rows, which is the model that whoever takes the method gets, and
    on the same folds. Twins are counted of the model of all rows; scores and rates of groups are
    those of the folds' models on the rows that they have not seen. Read the figures of a method
    against those of the original.

    Parameters
    ----------
    estimator : estimator
        Unfitted classifier, regressor or pipeline; clones of it are trained.
    X : array-like or DataFrame of shape (n_rows, n_features)
        Rows.
    y : array-like of shape (n_rows,)
        Targets.
    sensitive_features : "auto", columns, Series, DataFrame, dict or array, default="auto"
        Sensitive columns by name or position; "auto" takes the names of common ones. Values (one
        per row) are kept apart from X and given to no model: twins are then equal by construction,
        groups are compared, and methods that change the columns do not apply.
    methods : "all", list of str, or dict of str to estimator, default="all"
        Names of methods (see the notes), or unfitted estimators of your own by their names. The
        original is always measured.
    cv : int or splitter, default=3
        Folds, stratified for a classifier and drawn with `random_state`, or a splitter that holds
        out each row once.
    scoring : str or callable, default=None
        Score to use instead of accuracy (of R2 for a regressor); greater is better. It is computed
        from predictions and does not see X.
    favourable : label or list of labels, default=None
        Labels that count as favourable in the rates of groups. None takes a label whose word says
        so ("approved", "good"), or the other one where one of two says the opposite ("rejected",
        "bad"), and else the last class, with a warning.
    threshold : float, default=None
        Difference of two outputs above which twins are treated differently, in the units of the
        outputs. None compares the labels of a classifier; of a regressor, mean differences are
        measured.
    space : InputSpace, default=None
        Which inputs exist; None learns it from X.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows in training, scores and rates of groups. The shares are about inputs,
        which have none. The steps of a pipeline get them by metadata routing.
    moved : bool or transport, default=True
        Whether to move rows to the other groups, together with the columns that go with the
        sensitive ones, and by which map; True is a `QuantileTransport`. It is learned once for all
        methods, and 20 times again for intervals.
    max_time : float, default=None
        Time limit in seconds. Methods are run in the order of their cost, the cheap ones first;
        a method that was not reached has a row that says so. A training that has begun is not
        interrupted. None sets no limit.
    n_jobs : int, default=None
        Number of trainings that run at the same time; None means 1, or what
        `joblib.parallel_config` says.
    random_state : int, RandomState or Generator, default=None
        Seed. The same seed gives the same results whatever `n_jobs`, but for the times, and for
        bounds whose time ran out.
    progress : "auto", bool, callback or list of callbacks, default="auto"
        "auto" shows in a terminal and a notebook which methods are done and how far the running one
        has come; elsewhere it writes a line per method to standard error, as True does everywhere.
        False shows nothing. Callbacks of scikit-learn are set on the retrainers.

    Returns
    -------
    MitigationComparison
        Its `table` has one row per method, "original" first, its `groups` one per method and group,
        and `recommend` says which method the figures recommend, if any; ``print`` and notebooks
        show that with the columns that matter. It is returned even if methods failed or ran out of
        time, or the comparison was interrupted, once the original is measured.

    Raises
    ------
    ValueError, TypeError
        For unknown methods, targets, folds, weights and numbers that cannot be used, and a table
        without a sensitive column; also if the original cannot be trained, with the reason.

    See Also
    --------
    MitigationComparison : The result, with the meaning of each figure.
    MitigationDisplay : Draws it.
    FairnessRetrainer : Retrains on what an audit finds.
    estimate_discrimination : The share of discriminatory inputs of one model.

    Notes
    -----
    The methods:

    - ``"drop"``: trained without the sensitive columns. They hold one and the same value in
      training and in prediction, so that pipelines which name them go on working. A constant tells
      a model nothing; random draws (the columns that a forest looks at) may fall differently than
      with the columns away.
    - ``"marginalize"``: trained with them, predictions averaged over their values [1]_.
    - ``"retrain twins"``, ``"retrain aequitas"``, ``"retrain testsgd"``: strategies of
      `FairnessRetrainer`.
    - ``"correlation remover"``: fairlearn's, for tables of numbers.
    - ``"exponentiated parity"``, ``"exponentiated odds"``: fairlearn's `ExponentiatedGradient`
      [2]_ for demographic parity and equalized odds, two classes. It is a mixture of classifiers
      that draws one at random. Here the draw is made once per person, and twins share it.

    A method that fails, that does not apply, or whose package is not installed has a row with the
    reason. Ctrl-C ends the comparison and returns what was measured until then.

    The shares are those of the model that the method trains on all rows, among up to 5,000 of the
    rows, as many inputs near them, and as many uniform ones (fewer where the sensitive columns have
    more than eight combinations of values).
    Retrainers get small budgets (two folds of their own, two rounds), and fairlearn's mixtures ten
    rounds, so that all methods take a minute or so on a thousand rows. A `FairnessRetrainer` with a
    larger budget goes into `methods` as an estimator of your own. The certificates of a method take
    one second at most.

    A model that is not given an attribute may act on other columns that stand in for it (proxies):
    the figures of groups and of moved twins show that, and those of twins do not. A moved twin
    [4]_ is a row moved to where the rows of another group have the same ranks: dropping the columns
    leaves what differs there. It is no counterfactual, and errors of the map change some outputs,
    too, which the interval allows for. Who is moved, and how it is counted, is as in `audit`: up to
    4,000 rows, between the four largest groups of an attribute that have 50 rows or more; of
    several attributes the one with the largest share counts. An attribute without two such groups
    is not moved, as a remark says; `FlipTestAuditor` looks closer. Rates are compared of groups by
    all combinations of sensitive values, numbers with more than six values cut at their quartiles,
    and are as fairlearn defines them [3]_.

    All intervals have a confidence of 95%, and are about the model that is trained on these rows
    and people like them. Those of ``share_rows`` and ``share_moved`` reach to where models of the
    folds have the share among rows that they have not seen, since a model may treat its own rows
    otherwise; that of ``share_moved`` has the error of the map in it. Those of the changes of
    scores and rates are those of a jackknife over 30 parts of the rows, wider by how far single
    trainings lie apart (prediction intervals for one training): models of trees, which a few rows
    change much, have wide ones. Whoever picks the best of ten methods has picked a lucky one, too.

    A recommendation does not say that a method is right. Twins that are treated alike are one aim,
    equal rates are another, and what lowers the one may raise the other.

    References
    ----------
    .. [1] Pope, D. G., & Sydnor, J. R. (2011). Implementing anti-discrimination policies in
       statistical profiling models. American Economic Journal: Economic Policy, 3(3), 206-231.
    .. [2] Agarwal, A., Beygelzimer, A., Dudík, M., Langford, J., & Wallach, H. (2018). A reductions
       approach to fair classification. ICML, 60-69.
    .. [3] Weerts, H., Dudík, M., Edgar, R., Jalali, A., Lutz, R., & Madaio, M. (2023). Fairlearn:
       assessing and improving fairness of AI systems. JMLR 24(257), 1-8.
    .. [4] Black, E., Yeom, S., & Fredrikson, M. (2020). FlipTest: fairness testing via optimal
       transport. FAT*, 111-121.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skfairtest import compare_mitigations
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(n_samples=800, random_state=0)
    >>> X, y = data.data.select_dtypes("number"), data.target
    >>> X = X.assign(sex=data.data["sex"] == "male")
    >>> tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    >>> comparison = compare_mitigations(
    ...     tree, X, y, sensitive_features="sex", methods=["drop"], cv=3, favourable="yes",
    ...     random_state=0, progress=False)
    >>> comparison.table["share_rows"].round(2).to_dict()
    {'original': 0.04, 'drop': 0.0}
    >>> comparison.recommend(max_score_drop=0.05).method
    'drop'
    """
    named = _named(methods)
    check_max_time("max_time", max_time)
    transport = transport_of(moved)
    shown = make_progress(progress)
    _check_estimator(estimator)
    template = BaseAuditor(space=space, threshold=threshold, estimator=estimator)
    template._check_params()
    X = check_table(template, X, {"y": y, "sample_weight": sample_weight})
    sensitive = split_sensitive(X, sensitive_features)
    warn_of_target(X, y)
    y, classes = _targets(estimator, y)
    weights = None
    if sample_weight is not None:
        weights = check_weights(sample_weight, len(X))
        if classes is not None:
            _check_classes(y[weights > 0], "y, in the rows with a positive sample_weight,")
        for one in (estimator, *(own for own in named.values() if own is not None)):
            check_takes_weights(one)
    domain = template._make_space_of(sensitive)
    rng = make_generator(random_state)
    context = ComparisonContext(
        estimator,
        X,
        y,
        weights,
        domain,
        SensitiveGroups(domain),
        classes,
        [] if classes is None else favourable_places(favourable, classes, estimator),
        threshold,
        sensitive.not_in_model,
        shown.callbacks,
        transport,
        SETTINGS,
    )
    n_jobs = without_threads(n_jobs)
    trainings = _trainings(context, _split(context, cv, rng), rng)
    shown.begin("compare_mitigations", len(named))
    try:
        shown.part("inputs and moved twins")
        context, rows = _with_inputs(context, rng)
        moved_twins = move_rows(context, rng.spawn(1)[0], n_jobs)
        context = replace(context, moved=moved_twins.twins)
        results = _run_all(named, context, trainings, max_time, n_jobs, shown)
    finally:
        shown.finish()
    scores = Scores(
        check_scoring(clone(estimator), scoring=scoring), _score_name(scoring, classes), rng
    )
    return make_comparison(
        MeasuredMethods(context, trainings, results, scores, rows, moved_twins.note)
    )


# Checks ------------------------------------------------------------------------------------------


def _named(methods: Any) -> dict[str, Any]:
    """The methods by their names, the original first; None where a name is one of ours."""
    if isinstance(methods, str):
        methods = list(METHODS) if methods == "all" else [methods]
    if isinstance(methods, Mapping):
        own = {str(name): value for name, value in methods.items()}
        for name, value in own.items():
            if name == "original" or not hasattr(value, "fit") or isinstance(value, type):
                raise ValueError(
                    f"methods={{...}} must have an unfitted estimator for each name, and "
                    f"'original' is the name of estimator=; got {value!r} for {name!r}."
                )
        return {"original": None, **own}
    if not isinstance(methods, Iterable):
        raise TypeError(
            "methods must be 'all', a list of names, or a dict of names to estimators; got "
            f"{methods!r}."
        )
    names = list(methods)
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise ValueError(
            f"methods has unknown names: {unknown!r}. Known are {list(METHODS)}; estimators of "
            "your own go in a dict: methods={'mine': estimator}."
        )
    return dict.fromkeys(["original", *names])


def _check_estimator(estimator: Any) -> None:
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"estimator must be an unfitted estimator, an instance; got {estimator!r}. Write "
            "compare_mitigations(LogisticRegression(), X, y, ...)."
        )


def _targets(estimator: Any, y: Any) -> tuple[Any, Any]:
    if y is None:
        raise ValueError(
            "compare_mitigations requires y: every method is trained and scored. Pass the targets "
            "of the rows."
        )
    y = column_or_1d(y, warn=True)
    y = check_target_values(estimator, y)
    if not is_classifier(estimator):
        return y, None
    return y, _check_classes(y, "y")


def _check_classes(y: Any, what: str) -> Any:
    """The classes of targets; an error where there is one only."""
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"{what} has one class only, {classes.tolist()[0]!r}; a classifier needs two. Give "
            "rows of another class."
        )
    return classes


def _score_name(scoring: Any, classes: Any) -> str:
    if scoring is None:
        return "r2" if classes is None else "accuracy"
    return scoring if isinstance(scoring, str) else "score"


# Trainings ---------------------------------------------------------------------------------------


def _trainings(
    context: ComparisonContext, parts: list[tuple[Ints, Ints]], rng: np.random.Generator
) -> list[Training]:
    """One on all but the rows that each fold holds out, and at last one on all rows."""
    every, none = np.arange(len(context.y)), np.arange(0)
    return [
        Training(number, training, held, int(rng.integers(2**31 - 1)))
        for number, (training, held) in enumerate([*parts, (every, none)])
    ]


def _with_inputs(
    context: ComparisonContext, rng: np.random.Generator
) -> tuple[ComparisonContext, Ints]:
    """Add what all models are asked about, and return which rows of the table are among that."""
    space = context.space
    n, n_rows = affordable_inputs(space, context.settings.n_inputs), len(context.y)
    near = draw_crossings(space, n, rng)
    inputs, rows = {"near": space.decode(near.rows)}, np.arange(n_rows)
    if context.has_twins:
        if n_rows > n:
            rows = np.sort(rng.permutation(n_rows)[:n])
        inputs["rows"] = space.rows(rows)
        inputs["uniform"] = space.decode(draw_uniform(space, n, rng))
    return replace(context, inputs=inputs, near_rows=near.cluster_ids), rows


def _split(
    context: ComparisonContext, cv: Any, rng: np.random.Generator
) -> list[tuple[Ints, Ints]]:
    y = context.y
    if cv is None or is_real(cv):
        cv = 3 if cv is None else cv
        check_whole("cv", cv, 2)
        most = len(y)
        if context.classes is not None:
            most = min(int((y == label).sum()) for label in context.classes)
        if cv > most:
            what = "rows" if context.classes is None else "rows of the rarest class"
            raise ValueError(
                f"cv={cv} folds are too many for {most} {what}: each fold needs one. Give "
                f"cv={max(2, most)} or fewer, or more rows."
            )
        kind = KFold if context.classes is None else StratifiedKFold
        cv = kind(int(cv), shuffle=True, random_state=int(rng.integers(2**31 - 1)))
    splitter = check_cv(cv, y, classifier=context.classes is not None)
    parts = [
        (np.asarray(training, dtype=np.intp), np.asarray(held, dtype=np.intp))
        for training, held in splitter.split(context.X, y)
    ]
    times = np.bincount(np.concatenate([held for _, held in parts]), minlength=len(y))
    if (times != 1).any():
        raise ValueError(
            "cv must hold out each row once, so that all have one prediction; "
            f"{int((times != 1).sum())} of {len(y)} are held out {times.min()} to {times.max()} "
            "times. Take KFold, StratifiedKFold or GroupKFold with the groups split beforehand."
        )
    return parts


# Running -----------------------------------------------------------------------------------------


def _run_one(
    needed: tuple[dict[str, Any], ComparisonContext], name: str, fold: Training
) -> FoldResult:
    named, context = needed
    return run_fold(name, named[name], context, fold)


def _run_all(
    named: dict[str, Any],
    context: ComparisonContext,
    folds: list[Training],
    max_time: float | None,
    n_jobs: int | None,
    progress: PartsProgress,
) -> dict[str, list[FoldResult]]:
    """All trainings of all methods; what is done stays when the time is up or Ctrl-C ends it."""
    began = _clock.now()
    order = sorted(named, key=lambda name: list(METHODS).index(name) if name in METHODS else 0)
    tasks = [(name, fold) for name in order for fold in folds]
    # With a limit as many tasks at a time as there are workers: what was sent is not called back.
    size = len(tasks) if max_time is None else n_workers(n_jobs)
    done: dict[str, list[FoldResult]] = {name: [] for name in named}
    n_done, reason = 0, ""
    try:
        while n_done < len(tasks):
            if max_time is not None and _clock.now() - began >= max_time:
                reason = f"no time was left of max_time={max_time:g} s"
                break
            progress.part(tasks[n_done][0])
            for result in on_workers(
                _run_one, (named, context), tasks[n_done : n_done + size], n_jobs
            ):
                name = tasks[n_done][0]
                done[name].append(result)
                n_done += 1
                if name == "original" and result.reason:
                    raise ValueError(
                        "The original could not be trained and measured, so there is nothing to "
                        f"compare with. {result.reason}"
                    )
                tell(len(done[name]) / len(folds), f"{len(done[name])} of {len(folds)} trainings")
                if len(done[name]) == len(folds):
                    progress.done(f"{name}: {_progress_message(done[name])}")
                    if n_done < len(tasks):
                        progress.part(tasks[n_done][0])
    except (KeyboardInterrupt, WorkersFailedError) as error:
        if len(done["original"]) < len(folds):
            raise
        was_user = isinstance(error, KeyboardInterrupt)
        reason = "interrupted by the user" if was_user else in_a_line(error)
    if len(done["original"]) < len(folds):
        raise ValueError(
            f"max_time={max_time:g} s was over before the original was measured in "
            f"{len(folds)} trainings, so there is nothing to compare with. Give more time, fewer "
            "folds (cv=2), or fewer rows."
        )
    for results in done.values():
        if n := len(folds) - len(results):
            how_far = f" after {len(results)} of {len(folds)} trainings" if results else ""
            results += [FoldResult(reason=reason + how_far) for _ in range(n)]
    return done


def _progress_message(results: list[FoldResult]) -> str:
    reason = next((result.reason for result in results if result.reason), "")
    return reason or f"{np.mean([result.fit_seconds for result in results]):.2f} s a training"
