"""compare_mitigations: one table of what each method of mitigation brings, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from skfairtest._parameters import check_whole
from skfairtest._typing import Ints, is_real
from skfairtest._validation import (
    check_table,
    check_takes_weights,
    check_weights,
    make_generator,
    warn_of_target,
)
from skfairtest.base import BaseAuditor
from skfairtest.group._rules.sensitive_groups import Groups
from skfairtest.mitigation._comparison.methods import METHODS, Case
from skfairtest.mitigation._comparison.one_fold import Fold, FoldResult, run_fold
from skfairtest.mitigation._comparison.table import Measured, Scores, make_table
from skfairtest.mitigation._shares import affordable_inputs, draw_crossings, draw_uniform
from skfairtest.oracle._favourable import favourable_places
from skfairtest.space._sensitive_features import split_sensitive
from skfairtest.space._space import InputSpace
from skfairtest.workers._sending import Broadcast, on_workers


def compare_mitigations(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    sensitive_features: Any = "auto",
    methods: Any = "all",
    cv: Any = 5,
    scoring: Any = None,
    favourable: Any = None,
    threshold: float | None = None,
    response_method: str = "auto",
    space: InputSpace | None = None,
    sample_weight: Any = None,
    n_inputs: int = 10_000,
    max_queries: int = 20_000,
    certify_time: float = 2.0,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> pd.DataFrame:
    """Compare methods of mitigation: what is left, what it costs, and who pays.

    Every method is trained on the same folds, and measured on the rows that its models have not
    seen, on inputs near these, and on uniform inputs. Everything beside the original is to be read
    against it.

    Parameters
    ----------
    estimator : estimator
        Unfitted classifier, regressor or pipeline; clones of it are trained.
    X : array-like or DataFrame of shape (n_rows, n_features)
        Rows.
    y : array-like of shape (n_rows,)
        Targets.
    sensitive_features : "auto", columns, Series, DataFrame, dict or array, default="auto"
        Sensitive columns by name or position; "auto" takes the names of common ones. Values, one a
        row, are beside X and no model is given them: twins are then equal by construction, groups
        are compared, and methods that change the columns do not apply.
    methods : "all", list of str, or dict of str to estimator, default="all"
        Names of methods, see the notes, or estimators of your own by their names, unfitted. The
        original is always there.
    cv : int or splitter, default=5
        Folds, stratified for a classifier and drawn with `random_state`, or a splitter that holds
        out each row once.
    scoring : str or callable, default=None
        Score in place of accuracy (R2 of a regressor), greater is better; it sees predictions, and
        not the rows.
    favourable : label or list of labels, default=None
        What counts as favourable in the rates of groups. None takes one whose word says it
        ("approved", "good"; or, of two, the other of "rejected", "bad"), else the last
        class, with a warning.
    threshold, response_method
        As for every auditor: what counts as different treatment.
    space : InputSpace, default=None
        Which inputs exist; None learns it from X.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows in training, scores and rates of groups. The shares are about inputs,
        which have none. The steps of a pipeline get them by metadata routing.
    n_inputs : int, default=10_000
        Inputs near the data, and uniform ones, over all folds; fewer where the sensitive columns
        have more than eight combinations.
    max_queries : int, default=20_000
        Budget of one audit of the retrainers.
    certify_time : float, default=2.0
        Seconds for the certificate of one model; 0 for none.
    confidence : float, default=0.95
        Confidence of the intervals.
    n_jobs : int, default=None
        Methods and folds that are worked on at the same time; None is 1, or what
        `joblib.parallel_config` says.
    random_state : int, RandomState or Generator, default=None
        Seed. The same seed gives the same table whatever `n_jobs`, but for the times, and for
        bounds whose time ran out.
    verbose : int, default=0
        1 prints a line for each method and fold.

    Returns
    -------
    DataFrame
        One row a method, "original" first. Columns, where ``*_low`` and ``*_high`` are the ends of
        intervals:

        - ``accuracy`` (``r2``, or the name of `scoring`) and ``auc`` of the out-of-fold
          predictions of all rows, with ``*_change``, the paired difference to the original
        - ``share_rows``, ``share_near``, ``share_uniform``: shares of inputs whose twins are
          treated differently, among rows held out, near them, in the whole domain. For a regressor
          without `threshold` ``difference_rows`` and so on: mean differences between twins.
        - ``degree``: the largest difference of twins found in any fold's model, in the units of
          ``degree_unit``; ``degree_bound``: a bound that none exceeds, NaN where the model cannot
          be read
        - ``demographic_parity_difference``, ``demographic_parity_ratio``,
          ``equalized_odds_difference``: between groups of at least 30 rows
        - ``worst_group``, ``worst_group_accuracy``, ``accuracy_spread``: the group whose
          predictions are worst, its score, and the best group's less the worst's
        - ``fit_seconds`` of one fold, ``predict_ratio`` (times of predictions as a multiple of the
          original's), ``queries`` of audits in one fold, where they are known
        - ``note``: why there are no figures, or in how many folds a retrainer kept the original

        ``.attrs`` has ``groups`` (by method and group: rows, rates, score, as dictionaries, of
        which ``pd.DataFrame.from_dict(..., orient="index")`` makes a frame), ``certificates`` (how
        each ended), ``warnings``, ``measure`` and ``settings``.

    Raises
    ------
    ValueError, TypeError
        For unknown methods, targets, folds and numbers that cannot be used, and a table without a
        sensitive column. If the original cannot be trained, its reason.

    See Also
    --------
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
    - ``"retrain twins"``, ``"retrain aequitas"``, ``"retrain groups"``, ``"retrain testsgd"``: the
      strategies of `FairnessRetrainer`.
    - ``"correlation remover"``: fairlearn's, for tables of numbers.
    - ``"exponentiated parity"``, ``"exponentiated odds"``: fairlearn's `ExponentiatedGradient`
      [2]_ for demographic parity and equalized odds, two classes. It is a mixture of classifiers
      that draws one at random. Here a person's draw is made once, and twins share it.

    A method that fails, does not apply, or needs what is not installed, has a row with the reason.
    A model that is not given an attribute may act on others that stand for it (proxies): the
    figures of groups show that, those of twins do not. Groups are the combinations of sensitive
    values; numbers with more than six values are cut at their quartiles.
    The rates are as fairlearn defines them [3]_.

    The intervals of the changes are those of a jackknife over 30 parts of the rows, those of the
    shares Wilson's. Both are about the rows and inputs, with the models of the folds as they are:
    models trained on other rows would differ more. Methods were not chosen here by anybody; who
    picks the best of ten rows has picked a lucky one, too.

    The table does not say which method is right. Twins that are treated alike are one aim, equal
    rates are another, and what lowers the one may raise the other.

    References
    ----------
    .. [1] Pope, D. G., & Sydnor, J. R. (2011). Implementing anti-discrimination policies in
       statistical profiling models. American Economic Journal: Economic Policy, 3(3), 206-231.
    .. [2] Agarwal, A., Beygelzimer, A., Dudík, M., Langford, J., & Wallach, H. (2018). A reductions
       approach to fair classification. ICML, 60-69.
    .. [3] Weerts, H., Dudík, M., Edgar, R., Jalali, A., Lutz, R., & Madaio, M. (2023). Fairlearn:
       assessing and improving fairness of AI systems. JMLR 24(257), 1-8.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skfairtest import compare_mitigations
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(n_samples=400, random_state=0)
    >>> X, y = data.data.select_dtypes("number"), data.target
    >>> X = X.assign(sex=data.data["sex"] == "male")
    >>> tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    >>> table = compare_mitigations(
    ...     tree, X, y, sensitive_features="sex", methods=["drop"], cv=3, n_inputs=1000,
    ...     certify_time=0, random_state=0)
    >>> table.index.tolist()
    ['original', 'drop']
    >>> bool(table.loc["original", "share_near"] > 0), float(table.loc["drop", "share_near"])
    (True, 0.0)
    """
    named = _named(methods)
    for name, value in (("n_inputs", n_inputs), ("max_queries", max_queries)):
        check_whole(name, value, 2)
    _check_numbers(certify_time, confidence)
    _check_estimator(estimator)
    template = BaseAuditor(space=space, threshold=threshold, estimator=estimator)
    template._check_params()
    X = check_table(template, X)
    sensitive = split_sensitive(X, sensitive_features)
    warn_of_target(X, y)
    y, classes = _targets(estimator, y, len(X))
    weights = None if sample_weight is None else check_weights(sample_weight, len(X))
    if weights is not None:
        for one in (estimator, *(own for own in named.values() if own is not None)):
            check_takes_weights(one)
    domain = template._make_space_of(sensitive)
    rng = make_generator(random_state)
    case = Case(
        estimator,
        X,
        domain,
        Groups(domain),
        classes,
        [] if classes is None else favourable_places(favourable, classes, estimator),
        {"threshold": threshold, "response_method": response_method},
        max_queries,
        weights is not None,
        sensitive.beside,
    )
    folds = _folds(case, y, cv, n_inputs, rng)
    results = _run_all(named, case, folds, y, weights, certify_time, n_jobs, verbose)
    scores = Scores(
        check_scoring(clone(estimator), scoring=scoring),
        _score_name(scoring, classes),
        confidence,
        rng,
    )
    measured = Measured(case, folds, results, y, weights, scores)
    table = make_table(measured, mean=classes is None and threshold is None)
    table.attrs["settings"] = {
        "n_folds": len(folds),
        "n_inputs": {place: sum(len(fold.inputs[place]) for fold in folds)
                     for place in folds[0].inputs},
        "max_queries": max_queries,
        "certify_time": certify_time,
        "confidence": confidence,
        "sensitive_features": [*domain.sensitive_features, *case.names_beside],
    }  # fmt: skip
    return table


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


def _check_numbers(certify_time: Any, confidence: Any) -> None:
    if not is_real(certify_time) or certify_time < 0:
        raise ValueError(
            f"certify_time must be a number of at least 0, in seconds; got "
            f"{certify_time!r}. 0 leaves certificates out."
        )
    if not is_real(confidence) or not 0 < confidence < 1:
        raise ValueError(f"confidence must be a number in (0, 1); got {confidence!r}.")


def _check_estimator(estimator: Any) -> None:
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"estimator must be an unfitted estimator, an instance; got {estimator!r}. Write "
            "compare_mitigations(LogisticRegression(), X, y, ...)."
        )


def _targets(estimator: Any, y: Any, n_rows: int) -> tuple[Any, Any]:
    if y is None:
        raise ValueError(
            "compare_mitigations requires y: every method is trained and scored. Pass the targets "
            "of the rows."
        )
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_consistent_length(np.empty(n_rows), y)
    if not is_classifier(estimator):
        return y.astype(np.float64), None
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes[0]!r}; a classifier needs two. Give other rows."
        )
    return y, classes


def _score_name(scoring: Any, classes: Any) -> str:
    if scoring is None:
        return "r2" if classes is None else "accuracy"
    return scoring if isinstance(scoring, str) else "score"


# Folds -------------------------------------------------------------------------------------------


def _folds(case: Case, y: Any, cv: Any, n_inputs: int, rng: np.random.Generator) -> list[Fold]:
    parts = _split(case, y, cv, rng)
    each = -(-affordable_inputs(case.space, n_inputs) // len(parts))
    folds = []
    for number, (training, held) in enumerate(parts):
        rows = case.space.data[held]
        inputs, homes = {}, None
        if case.has_twins:
            near = draw_crossings(case.space.with_codes(rows), each, rng)
            inputs = {
                "rows": rows,
                "near": near.rows,
                "uniform": draw_uniform(case.space, each, rng),
            }
            homes = near.homes
        folds.append(Fold(number, training, held, inputs, homes, int(rng.integers(2**31 - 1))))
    return folds


def _split(case: Case, y: Any, cv: Any, rng: np.random.Generator) -> list[tuple[Ints, Ints]]:
    if cv is None or is_real(cv):
        cv = 5 if cv is None else cv
        check_whole("cv", cv, 2)
        most = len(y)
        if case.classes is not None:
            most = min(int((y == label).sum()) for label in case.classes)
        if cv > most:
            what = "rows" if case.classes is None else "rows of the rarest class"
            raise ValueError(
                f"cv={cv} folds are too many for {most} {what}: each fold needs one. Give "
                f"cv={max(2, most)} or fewer, or more rows."
            )
        kind = KFold if case.classes is None else StratifiedKFold
        cv = kind(int(cv), shuffle=True, random_state=int(rng.integers(2**31 - 1)))
    splitter = check_cv(cv, y, classifier=case.classes is not None)
    parts = [
        (np.asarray(training, dtype=np.intp), np.asarray(held, dtype=np.intp))
        for training, held in splitter.split(case.X, y)
    ]
    times = np.bincount(np.concatenate([held for _, held in parts]), minlength=len(y))
    if (times != 1).any():
        raise ValueError(
            "cv must hold out each row once, so that all have one prediction; "
            f"{int((times != 1).sum())} of {len(y)} are held out {times.min()} to {times.max()} "
            "times. Take KFold, StratifiedKFold or GroupKFold with the groups split beforehand."
        )
    return parts


def _run_one(needed: tuple[Any, ...], name: str, fold: Fold) -> FoldResult:
    named, case, y, weights, certify_time = needed
    return run_fold(name, named[name], case, fold, y, weights, certify_time)


def _run_all(
    named: dict[str, Any],
    case: Case,
    folds: list[Fold],
    y: Any,
    weights: Any,
    certify_time: float,
    n_jobs: int | None,
    verbose: int,
) -> dict[str, list[FoldResult]]:
    tasks = [(name, fold) for name in named for fold in folds]
    needed = Broadcast((named, case, y, weights, certify_time))
    done = on_workers(_run_one, needed, tasks, n_jobs)
    results: dict[str, list[FoldResult]] = {name: [] for name in named}
    for (name, fold), result in zip(tasks, done, strict=True):
        results[name].append(result)
        if name == "original" and result.reason:
            raise ValueError(
                "The original could not be trained and measured, so there is nothing to compare "
                f"with. {result.reason}"
            )
        if verbose:
            outcome = result.reason or f"fitted in {result.fit_seconds:.2f} s"
            where = f"{name}, {fold.number + 1} of {len(folds)} folds"
            print(f"[compare_mitigations] {where}: {outcome}", flush=True)
    return results
