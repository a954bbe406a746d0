"""The score and the disparities of a model, of all rows and without each part of them.

A measure is asked for its value on a sample of the rows, and for its values without each part in
turn: all that intervals need, for any measure, and the same parts for all of them, so that what
goes together does so in the intervals, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.group._outcomes.outcomes import OUTCOMES, Read, read
from skfairtest.group._rules.sensitive_groups import (
    FEWEST_ROWS,
    MIN_SHARE,
    sensitive_attributes,
)
from skfairtest.mitigation._cached_predictions import CachedPredictions, score_of_rows
from skfairtest.mitigation._shares import judge
from skfairtest.model_selection._scorer import AuditScorer
from skfairtest.space._rows import take_rows
from skfairtest.space._sensitive_features import index_of
from skfairtest.space._space import InputSpace

#: Names of fairlearn's for what has another name here.
ALIASES = {
    "impact_ratio": "selection_rate_ratio",
    "demographic_parity_ratio": "selection_rate_ratio",
    "demographic_parity_difference": "selection_rate_difference",
}
#: Differences of several rates, of which the largest counts.
SEVERAL = {"equalized_odds": ("true_positive_rate", "false_positive_rate")}
#: Of a regressor a rate is the mean of its outputs, and has no ratio.
OF_REGRESSORS = {
    "selection_rate_ratio": "mean_prediction_difference",
    "selection_rate_difference": "mean_prediction_difference",
}


class Sample(NamedTuple):
    """Some rows of the table, in parts that are left out in turn."""

    rows: Ints  # which rows of the table
    y: NDArray[Any]  # their targets
    weights: Floats | None  # None where there are none
    parts: Ints  # the part of each, -2 for none

    @property
    def kept(self) -> Bools:
        """Which rows are left: all, and those without each part, shape (1 + n_parts, n)."""
        # Of rows that are in no part, in -2, nothing is left out.
        return np.asarray(self.parts != np.arange(-1, max(0, self.parts.max() + 1))[:, None])

    @property
    def subsets(self) -> list[Ints]:
        """Places of these rows."""
        return [np.flatnonzero(kept) for kept in self.kept]

    @property
    def replicates(self) -> Floats:
        """Weights of the rows, 0 for those that are left out."""
        return self.kept * (np.ones(len(self.rows)) if self.weights is None else self.weights)

    def whole(self, places: Ints) -> Sample:
        """Some of the rows, in no parts."""
        weights = None if self.weights is None else self.weights[places]
        return Sample(
            self.rows[places], self.y[places], weights, np.full(len(places), -2, dtype=np.intp)
        )


class ComparedGroups:
    """The groups whose rates are compared: those of each attribute, and of their intersections.

    Parameters
    ----------
    attributes : DataFrame
        Sensitive values of all rows.

    Attributes
    ----------
    names : list of tuple of str
        Attribute and group of each that is large enough, by attributes.
    left_out : list of str
        The others.
    """

    def __init__(self, attributes: pd.DataFrame) -> None:
        n = len(attributes)
        self.names: list[tuple[str, str]] = []
        self.left_out: list[str] = []
        self._spans: list[slice] = []
        columns = []
        for attribute in sensitive_attributes(attributes, n, True):
            sizes = np.bincount(attribute.codes + 1, minlength=len(attribute.groups) + 1)[1:]
            large = np.flatnonzero((sizes >= MIN_SHARE * n) & (sizes >= FEWEST_ROWS))
            self.left_out += [
                f"{attribute.name} = {group}"
                for code, group in enumerate(attribute.groups) if code not in large
            ]  # fmt: skip
            if len(large) < 2:
                continue  # nothing to compare with
            self._spans.append(slice(len(self.names), len(self.names) + len(large)))
            self.names += [(attribute.name, attribute.groups[code]) for code in large]
            columns.append(attribute.codes[:, None] == large)
        if not columns:
            raise ValueError(
                f"There are no two groups to compare: of {len(self.left_out)} groups of "
                f"{list(attributes)} fewer than two have {MIN_SHARE:.0%} of the {n:,} rows and "
                f"{FEWEST_ROWS} rows. Give other sensitive_features, merge their values, or "
                "choose a disparity that compares no groups, such as 'twins'."
            )
        self.members: Bools = np.hstack(columns)
        self.sizes: Ints = self.members.sum(axis=0)

    def rates(self, values: Floats, counts: Bools, sample: Sample) -> Floats:
        """Means of values over the rows that count, shape (1 + n_parts, n_groups)."""
        members, weights = self.members[sample.rows], sample.replicates
        with np.errstate(invalid="ignore", divide="ignore"):
            among = weights @ (members * counts[:, None])
            return np.asarray(weights @ (members * (values * counts)[:, None]) / among)

    def disparity(self, rates: Floats, *, ratio: bool) -> Floats:
        """The largest difference, or the smallest ratio, of two groups of one attribute."""
        worst = []
        for span in self._spans:
            of_one = rates[:, span]
            low, high = np.fmin.reduce(of_one, axis=1), np.fmax.reduce(of_one, axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                apart = low / high if ratio else high - low
            worst.append(np.where(np.isfinite(of_one).sum(axis=1) > 1, apart, np.nan))
        pick = np.fmin if ratio else np.fmax
        return np.asarray(pick.reduce(np.array(worst), axis=0))


@dataclass(frozen=True)
class Measured:
    """What all measures need to know of the table."""

    groups: ComparedGroups | None  # of all rows, where groups are compared
    sensitive: pd.DataFrame | None  # sensitive values of all rows
    not_in_model: pd.DataFrame | None  # those that the model does not take
    space: InputSpace | None  # the domain, for twins
    favourable: Any  # what is favourable: labels, a number, or "mean"
    classes: NDArray[Any] | None  # None for a regression


class Answers(NamedTuple):
    """What a model answers for the rows of a sample, in their order."""

    predictions: dict[str, NDArray[Any]]  # by the method that gave them
    own: dict[str, Floats]  # what measures asked it: for each row or subset


class Measure:
    """A number of a model; `higher_is_better` says which way is good."""

    name: str
    higher_is_better = False
    #: Whether the model itself is asked, on the worker that has trained it.
    asks = False

    def ask(self, model: Any, X: Any, sample: Sample) -> Floats:
        """What is to be asked of the model itself."""
        raise NotImplementedError

    def joined(self, own: list[Floats], places: list[Ints], n: int) -> Floats:
        """What was asked of the models of folds, which hold out these of n rows, as of one."""
        raise NotImplementedError

    def values(self, answers: Answers, sample: Sample) -> Floats:
        """The value on all rows and without each part, shape (1 + n_parts,)."""
        raise NotImplementedError

    @property
    def sign(self) -> int:
        """1 where more is better, else -1: a change times this is a gain."""
        return 1 if self.higher_is_better else -1


class Score(Measure):
    """A scorer, which looks at predictions alone."""

    higher_is_better = True

    def __init__(self, scorer: Any, name: str, measured: Measured, model: Any) -> None:
        self.scorer, self.name, self._measured, self._model = scorer, name, measured, model

    def values(self, answers: Answers, sample: Sample) -> Floats:
        """Score of all rows, and without each part; NaN where a part has none."""
        if self.name == "accuracy":
            right = answers.predictions["predict"] == sample.y
            weights = sample.replicates
            return np.asarray(weights @ right / weights.sum(axis=1))
        cached = CachedPredictions(
            self._model, known=answers.predictions, classes=self._measured.classes
        )
        score = score_of_rows(self.scorer, cached, sample.y, sample.weights)
        whole, *subsets = sample.subsets
        return np.array([score(whole), *(_or_nan(score, rows) for rows in subsets)])


class GroupRates(Measure):
    """The difference or the ratio of rates between groups."""

    def __init__(self, name: str, rates: tuple[str, ...], ratio: bool, measured: Measured) -> None:
        self.name, self.rates, self.higher_is_better = name, rates, ratio
        assert measured.groups is not None, "found where a disparity is of groups"
        self._measured, self.groups = measured, measured.groups

    def values(self, answers: Answers, sample: Sample) -> Floats:
        """The largest difference, or the smallest ratio."""
        found = [self.groups.disparity(rates, ratio=self.higher_is_better)
                 for rates in self.of_groups(answers, sample)]  # fmt: skip
        return np.asarray(np.fmax.reduce(np.array(found), axis=0))

    @property
    def needs_probabilities(self) -> bool:
        """Whether labels alone do not do."""
        return any(OUTCOMES[name].of == "probabilities" for name in self.rates)

    def of_groups(self, answers: Answers, sample: Sample) -> list[Floats]:
        """Each rate in each group, (1 + n_parts, n_groups)."""
        found = []
        for name in self.rates:
            outcome = OUTCOMES[name]
            made = outcome.rows(self._read(outcome.of, answers, sample))
            found.append(self.groups.rates(made.values, made.counts, sample))
        return found

    def _read(self, of: str, answers: Answers, sample: Sample) -> Read:
        measured = self._measured
        predicted = answers.predictions["predict"]
        if of == "probabilities":
            assert measured.classes is not None, "checked when it was made"
            favoured = np.isin(measured.classes, measured.favourable)
            predicted = answers.predictions["predict_proba"][:, favoured].sum(axis=1)
        return read(
            of, predicted, sample.y, measured.favourable, asked=f"disparity={self.name!r}",
            known=True, outputs=measured.classes is None,
        )  # fmt: skip


class Twins(Measure):
    """The share of rows whose twins are treated differently; of a regressor, their difference."""

    name, asks = "twins", True

    def __init__(self, measured: Measured) -> None:
        self._measured = measured

    def ask(self, model: Any, X: Any, sample: Sample) -> Floats:
        """Compare each row with its twins."""
        assert self._measured.space is not None, "made for twins"
        judged = judge(model, self._measured.space, X, {"threshold": None})
        return judged.values(mean=self._measured.classes is None)

    def joined(self, own: list[Floats], places: list[Ints], n: int) -> Floats:
        """A value for each row."""
        return in_place(own, places, n)

    def values(self, answers: Answers, sample: Sample) -> Floats:
        """Mean over the rows."""
        weights = sample.replicates
        return np.asarray(weights @ answers.own[self.name] / weights.sum(axis=1))


class Audited(Measure):
    """An audit scorer, whose score is turned round: 0 is the least disparity."""

    asks = True

    def __init__(self, scorer: AuditScorer, name: str, measured: Measured) -> None:
        self.scorer, self.name, self._measured = scorer, name, measured

    def ask(self, model: Any, X: Any, sample: Sample) -> Floats:
        """Audit the model on all rows, and without each part."""
        return np.array([0.0 - self._audit(model, X, sample, rows) for rows in sample.subsets])

    def _audit(self, model: Any, X: Any, sample: Sample, rows: Ints) -> float:
        extra: dict[str, Any] = {}
        X = take_rows(X, rows)
        if self._measured.not_in_model is not None:
            outside = self._measured.not_in_model.iloc[sample.rows[rows]]
            index = index_of(X)
            extra["sensitive_features"] = outside if index is None else outside.set_index(index)
        if sample.weights is not None:
            extra["sample_weight"] = sample.weights[rows]
        return self.scorer(model, X, sample.y[rows], **extra)

    def joined(self, own: list[Floats], places: list[Ints], n: int) -> Floats:
        """The mean over the folds, and without each of them: parts are folds there."""
        folds = np.concatenate(own)
        without = (folds.sum() - folds) / (len(folds) - 1)
        return np.concatenate([[folds.mean()], without])

    def values(self, answers: Answers, sample: Sample) -> Floats:
        """What the worker has found."""
        return answers.own[self.name]


class Metric(Measure):
    """A function of targets, predictions and groups, such as fairlearn's differences."""

    def __init__(self, function: Any, name: str, measured: Measured) -> None:
        self.function, self.name, self._measured = function, name, measured

    def values(self, answers: Answers, sample: Sample) -> Floats:
        """The function of all rows, and without each part; NaN where a part has no value."""
        sensitive, predicted = self._measured.sensitive, answers.predictions["predict"]
        assert sensitive is not None, "read where there are functions"

        def value(rows: Ints) -> float:
            extra: dict[str, Any] = (
                {} if sample.weights is None else {"sample_weight": sample.weights[rows]}
            )
            shown: Any = sensitive.iloc[sample.rows[rows]]
            shown = shown.iloc[:, 0] if shown.shape[1] == 1 else shown
            return float(
                self.function(sample.y[rows], predicted[rows], sensitive_features=shown, **extra)
            )

        whole, *subsets = sample.subsets
        return np.array([value(whole), *(_or_nan(value, rows) for rows in subsets)])


def in_place(of_folds: list[NDArray[Any]], places: list[Ints], n: int) -> NDArray[Any]:
    """What folds say of the rows that they hold out, in the order of the rows."""
    together = np.concatenate(of_folds)
    whole = np.empty((n, *together.shape[1:]), dtype=together.dtype)
    whole[np.concatenate(places)] = together
    return whole


def _or_nan(function: Any, rows: Ints) -> float:
    try:
        return float(function(rows))
    except (ValueError, ZeroDivisionError):  # without one of the classes, say
        return np.nan


# Names -----------------------------------------------------------------------------------------


class Wanted(NamedTuple):
    """A disparity that was asked for: its name, and what it stands for."""

    name: str
    given: Any

    @property
    def of_groups(self) -> bool:
        """Whether it is a name of rates of groups."""
        return isinstance(self.given, str) and self.given != "twins"

    @property
    def of_a_function(self) -> bool:
        """Whether it is a function of targets, predictions and groups."""
        return not isinstance(self.given, (str, AuditScorer))


def wanted_disparities(given: Any) -> list[Wanted]:
    """Read `disparity`: one, a list of them, or a dict by names.

    Raises
    ------
    ValueError, TypeError
        For unknown names, and what is no disparity.
    """
    if isinstance(given, Mapping):
        wanted = [Wanted(str(name), one) for name, one in given.items()]
    else:
        several = given if isinstance(given, (list, tuple)) else [given]
        wanted = [Wanted(_name_of(one), one) for one in several]
    names = [one.name for one in wanted]
    if not names or len(set(names)) < len(names) or "score" in names:
        raise ValueError(
            "disparity must name one measure or several different ones, none of them 'score'; got "
            f"{names}. Give a dict to name them: disparity={{'mine': ...}}."
        )
    for one in wanted:
        _check_disparity(one.given)
    return wanted


def _name_of(one: Any) -> str:
    if isinstance(one, str):
        return one
    name = getattr(one, "__name__", type(one).__name__)
    return name.removeprefix("neg_") if isinstance(one, AuditScorer) else name


def _check_disparity(given: Any) -> None:
    if isinstance(given, str):
        if given == "twins" or _rates_of(given):
            return
        raise ValueError(
            f"disparity={given!r} is unknown. Expected 'impact_ratio', 'twins', "
            "'equalized_odds_difference', or the name of a rate with '_difference' or '_ratio': "
            f"{', '.join(OUTCOMES)}."
        )
    if not callable(given) or isinstance(given, type):
        raise TypeError(
            "disparity must be a name, an audit scorer, a function of (y_true, y_pred, "
            f"sensitive_features=), or several of these; got {given!r}."
        )
    if isinstance(given, AuditScorer):
        return
    taken = inspect.signature(given).parameters
    if "sensitive_features" not in taken and not any(
        p.kind is p.VAR_KEYWORD for p in taken.values()
    ):
        raise TypeError(
            "A function as disparity must take (y_true, y_pred, sensitive_features=) and return a "
            f"number that is smaller where there is less; {_name_of(given)} takes {list(taken)}. "
            "Make a scorer of audits with make_audit_scorer."
        )


def _rates_of(name: str) -> tuple[tuple[str, ...], bool] | None:
    """The rates that a name stands for, and whether their ratio is meant; None for no name."""
    name = ALIASES.get(name, name)
    for end, ratio in (("_difference", False), ("_ratio", True)):
        rate = name.removesuffix(end)
        if name.endswith(end) and (rate in OUTCOMES or (rate in SEVERAL and not ratio)):
            return SEVERAL.get(rate, (rate,)), ratio
    return None


def make_measure(wanted: Wanted, measured: Measured) -> Measure:
    """The measure that is meant.

    Raises
    ------
    ValueError
        For a rate that the model has not.
    """
    name, given = wanted
    if isinstance(given, AuditScorer):
        return Audited(given, name, measured)
    if not isinstance(given, str):
        return Metric(given, name, measured)
    if given == "twins":
        return Twins(measured)
    if measured.favourable == "mean":
        given = OF_REGRESSORS.get(ALIASES.get(given, given), given)
        name = given if name in ALIASES else name
    found = _rates_of(given)
    assert found is not None, "checked before"
    rates, ratio = found
    of = {OUTCOMES[rate].of for rate in rates}
    regresses = measured.favourable == "mean"
    if regresses != (of == {"outputs"}) or (ratio and regresses):
        kind = "a regressor" if regresses else "a classifier, or of favourable= as a threshold"
        raise ValueError(
            f"disparity={given!r} is no measure of {kind}. Choose another one, such as "
            f"{'mean_prediction_difference' if regresses else 'impact_ratio'!r}."
        )
    return GroupRates(name, rates, ratio, measured)
