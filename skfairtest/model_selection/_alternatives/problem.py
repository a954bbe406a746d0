"""What a search is about: the table, its groups, what is measured, and how models are trained."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils.validation import column_or_1d

from skfairtest._typing import Floats, Ints
from skfairtest._validation import (
    check_table,
    check_takes_weights,
    check_target_values,
    check_weights,
    warn_of_target,
)
from skfairtest.base import BaseAuditor
from skfairtest.group._outcomes.outcomes import labels_taken
from skfairtest.group._rules.sensitive_groups import SensitiveGroups
from skfairtest.mitigation._cached_predictions import CachedPredictions
from skfairtest.mitigation._comparison.methods import (
    ComparisonContext,
    NotApplicableError,
    make_method,
)
from skfairtest.mitigation._held_columns import HeldColumns
from skfairtest.mitigation._retraining.guard import check_scorer_takes_weights
from skfairtest.model_selection._alternatives.candidates import (
    Candidate,
    Names,
    Space,
    carrying_columns,
    of_estimators,
    without_columns,
)
from skfairtest.model_selection._alternatives.measures import (
    ComparedGroups,
    GroupRates,
    Measure,
    Measured,
    Sample,
    Score,
    Wanted,
    make_measure,
)
from skfairtest.model_selection._alternatives.trainings import Work
from skfairtest.space._containers import make_container
from skfairtest.space._rows import take_rows
from skfairtest.space._sensitive_features import (
    rows_not_in_model,
    sensitive_values,
    split_sensitive,
)

#: Fewer rows cannot be dealt out.
LEAST_ROWS = 10
#: Rows by which columns are ranked, at most.
ROWS_TO_RANK = 2_000


class Problem(NamedTuple):
    """What a search is about."""

    estimator: Any  # the original, unfitted
    work: Work  # the table, and how models are trained
    measured: Measured  # groups, favourable labels and domain
    measures: list[Measure]  # the score, then the disparities

    @property
    def rates(self) -> GroupRates | None:
        """Rates of favourable predictions, or mean predictions; None without groups."""
        if self.measured.groups is None:
            return None
        name = "mean_prediction" if self.measured.favourable == "mean" else "selection_rate"
        return GroupRates(name, (name,), False, self.measured)

    @property
    def strata(self) -> Ints:
        """Rows of one class and one combination of sensitive values have one number."""
        columns = {}
        if self.work.classes is not None:
            columns["class"] = np.searchsorted(self.work.classes, self.work.y)
        if self.measured.groups is not None:
            packed = np.packbits(self.measured.groups.members, axis=1)
            columns |= {f"groups {k}": column for k, column in enumerate(packed.T)}
        if not columns:
            return np.zeros(len(self.work.y), dtype=np.intp)
        number = pd.DataFrame(columns).groupby(list(columns)).ngroup()
        return number.to_numpy().astype(np.intp)

    def fixed(self, space: Space, searches: Sample, names: Names, seed: int) -> list[Candidate]:
        """Candidates that are known before any is trained."""
        found = list(of_estimators(space, names))
        found += [self._method(method, names, seed) for method in space.methods]
        if space.columns:
            found += without_columns(self.estimator, self._carrying(searches, seed), names)
        return found

    def _method(self, method: str, names: Names, seed: int) -> Candidate:
        work, measured, name = self.work, self.measured, names.unique(method)
        assert measured.space is not None, "learned where there are methods"
        favourable: list[int] = []
        if work.classes is not None:
            favourable = np.flatnonzero(np.isin(work.classes, measured.favourable)).tolist()
        context = ComparisonContext(
            self.estimator, work.X, work.y, work.weights, measured.space,
            SensitiveGroups(measured.space), work.classes, favourable, None, measured.not_in_model,
        )  # fmt: skip
        try:
            made = make_method(method, None, context, seed)
        except NotApplicableError as error:
            return Candidate(name, "method", None, {}, reason=str(error))
        steps = ("model",) if method in ("drop", "correlation remover") else ()
        return Candidate(name, "method", made, {"method": method}, steps)

    def _carrying(self, searches: Sample, seed: int) -> list[tuple[str, int]]:
        """Columns that carry the difference between groups in a model of the rows that search."""
        work, groups = self.work, self.measured.groups
        if groups is None:
            raise ValueError(
                "candidates='columns' ranks columns by what they carry of the difference between "
                "groups, and no groups are compared. Choose a disparity such as 'impact_ratio', or "
                "pass sensitive_features."
            )
        model = work.train(Candidate("original", "original", self.estimator, {}),
                           np.sort(searches.rows), seed)  # fmt: skip
        few = searches.whole(np.arange(len(searches.rows))[:ROWS_TO_RANK])
        X = take_rows(work.X, few.rows)

        def difference(columns: list[int]) -> float:
            held = HeldColumns(columns).fit(X).transform(X)
            rates = groups.rates(self._outputs(model, held), np.ones(len(few.y), bool), few)
            return float(groups.disparity(rates, ratio=False)[0])

        names = make_container(work.X).names
        return [(str(names[j]), j) for j in carrying_columns(difference, len(names))]

    def _outputs(self, model: Any, X: Any) -> Floats:
        """Probabilities of what is favourable, or predictions."""
        measured = self.measured
        if measured.classes is None:
            return np.asarray(model.predict(X), dtype=np.float64)
        if hasattr(model, "predict_proba"):
            favoured = np.isin(model.classes_, measured.favourable)
            return np.asarray(model.predict_proba(X)[:, favoured].sum(axis=1))
        return np.isin(model.predict(X), measured.favourable).astype(np.float64)


def make_problem(
    owner: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    fit_params: dict[str, Any],
    wanted: list[Wanted],
    space: Space,
) -> Problem:
    """Read the table.

    Raises
    ------
    ValueError, TypeError
        For targets, weights and sensitive columns that cannot be used.
    """
    X = check_table(owner, X, {"y": y, **fit_params})
    warn_of_target(X, y)
    estimator, y = owner.estimator, _targets(owner, y)
    found = split_sensitive(X, sensitive_features)
    params = dict(fit_params)
    weights = params.pop("sample_weight", None)
    if weights is not None:
        weights = check_weights(weights, len(y))
        check_scorer_takes_weights(owner.scoring)
        for one in (estimator, *(own for _, own in space.estimators)):
            check_takes_weights(one)
        kept = np.flatnonzero(weights)
        params = {k: _kept(v, kept, len(y)) for k, v in params.items()}
        found = found._replace(
            X=take_rows(found.X, kept), not_in_model=rows_not_in_model(found.not_in_model, kept)
        )
        y, weights = y[kept], weights[kept]
    classes = np.unique(y) if is_classifier(estimator) else None
    if classes is not None and len(classes) < 2:
        raise ValueError(
            f"y must have at least 2 classes; got one class, {classes.tolist()[0]!r}"
            f"{'' if weights is None else ', in the rows with a positive sample_weight'}. Give "
            "rows of another class."
        )
    if len(y) < LEAST_ROWS:
        raise ValueError(
            f"Found array with {len(y)} sample(s) while a minimum of {LEAST_ROWS} is required: some"
            " rows search and others judge. Give more rows."
        )
    work = Work(found.X, y, weights, params, classes)
    measured = _measured(owner, found, work, wanted, space)
    return Problem(estimator, work, measured, [make_measure(one, measured) for one in wanted])


def _targets(owner: Any, y: Any) -> Any:
    if y is None:
        raise ValueError(
            f"{type(owner).__name__} requires y to be passed, but the target y is None."
        )
    return check_target_values(owner.estimator, column_or_1d(y, warn=True))


def _kept(value: Any, kept: Ints, n: int) -> Any:
    is_of_rows = np.ndim(value) > 0 and not isinstance(value, dict) and len(value) == n
    return take_rows(value, kept) if is_of_rows else value


def _measured(owner: Any, found: Any, work: Work, wanted: list[Wanted], space: Space) -> Measured:
    by_groups = any(one.of_groups for one in wanted)
    by_twins = any(one.given == "twins" for one in wanted if isinstance(one.given, str))
    functions = any(one.of_a_function for one in wanted)
    if not (by_groups or by_twins or functions or space.methods or space.columns):
        # Audit scorers know by themselves which columns are sensitive.
        return Measured(None, None, found.not_in_model, None, [], work.classes)
    domain = BaseAuditor(estimator=owner.estimator)._make_space_of(found)
    if by_twins and not len(domain.sensitive):
        raise ValueError(
            "disparity='twins' changes sensitive columns that the model takes, and it takes none "
            "of them: twins are equal by construction. Choose 'impact_ratio', say."
        )
    sensitive = sensitive_values(domain, np.arange(len(work.y)), found.not_in_model)
    groups, favourable = None, []
    try:
        groups = ComparedGroups(sensitive)
        favourable = _favourable(owner.favourable, work.classes)
    except ValueError:
        if by_groups or space.methods:
            raise
        groups = None
    return Measured(groups, sensitive, found.not_in_model, domain, favourable, work.classes)


def _favourable(given: Any, classes: Any) -> Any:
    if classes is None:
        return "mean" if given is None else given
    return labels_taken(given, classes.tolist(), are_all=True)


def with_score(problem: Problem, scoring: Any, model: Any) -> Problem:
    """Put the score first among the measures, as it is computed for the fitted original.

    Raises
    ------
    ValueError
        If the scorer gives no finite number, or looks at more than predictions.
    """
    work, classes = problem.work, problem.work.classes
    scorer = check_scoring(problem.estimator, scoring=scoring)
    rows = np.arange(len(work.y))
    cached = CachedPredictions(model, work.X)
    extra = {} if work.weights is None else {"sample_weight": work.weights}
    try:
        value = scorer(cached, rows, work.y, **extra)
    except Exception as error:
        raise ValueError(
            f"scoring must give a number from predictions, without looking at X; it failed: {error}"
        ) from error
    if not np.isscalar(value) or not np.isfinite(value):
        raise ValueError(
            f"scoring must give one finite number; got {value!r}. Choose another scoring=."
        )
    standard = "r2" if classes is None else "accuracy"
    name = standard if scoring is None else scoring if isinstance(scoring, str) else "score"
    needs = cached.asked != ["predict"] or any(
        isinstance(one, GroupRates) and one.needs_probabilities for one in problem.measures
    )
    score = Score(scorer, name, problem.measured, problem.estimator)
    asking = [one for one in problem.measures if one.asks]
    return problem._replace(
        measures=[score, *problem.measures],
        work=Work(work.X, work.y, work.weights, work.fit_params, classes, needs, asking),
    )
