"""The methods of mitigation that `compare_mitigations` knows by name: an estimator for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import has_fit_parameter

from skfairtest._typing import Floats, Ints
from skfairtest.group import TestSGDAuditor
from skfairtest.group._rules.sensitive_groups import Groups
from skfairtest.individual import AequitasAuditor
from skfairtest.mitigation._averaging.averages import last_step
from skfairtest.mitigation._averaging.marginalized import averaged
from skfairtest.mitigation._comparison.with_fairlearn import (
    RandomizedClassifier,
    correlation_remover,
    has_fairlearn,
)
from skfairtest.mitigation._held_columns import HeldColumns
from skfairtest.mitigation._retraining.retrainer import FairnessRetrainer
from skfairtest.mitigation._retraining.training import seeded
from skfairtest.space._rows import take_rows
from skfairtest.space._sensitive_features import not_taken
from skfairtest.space._space import InputSpace

#: What the retrainers are given here, where three of them are trained in every fold. The paper's
#: strategies end after one or two rounds by themselves; the first round of twins takes most away.
RETRAINER: dict[str, Any] = {
    "max_rounds": 2,
    "cv": 2,
}


class ShortRetrainer(FairnessRetrainer):
    """A retrainer that is judged on fewer inputs; what is simpler has rows of its own here."""

    _n_estimates = 300
    _simple_methods: ClassVar[dict[str, Any]] = {}


class NotApplicableError(Exception):
    """A method of mitigation does not suit the model or the table; the message says why."""


@dataclass(frozen=True)
class Case:
    """What is mitigated: a model, a table, and what counts as different treatment.

    Attributes
    ----------
    estimator : estimator
        Unfitted.
    X : table
        All rows.
    y : ndarray of shape (n_rows,)
        Their targets.
    weights : ndarray of shape (n_rows,), or None
        Their weights.
    space : InputSpace
        The domain, learned from all rows.
    groups : Groups
        Groups of people by sensitive values.
    classes : ndarray or None
        Class labels; None for a regression.
    favourable : list of int
        Places of the favourable classes.
    threshold : float or None
        What counts as different treatment.
    beside : DataFrame or None
        Sensitive columns that the models are not given.
    callbacks : tuple
        Callbacks of the retrainers.
    transport : object or None
        Moves rows to other groups; None where no moved twins are measured.
    """

    estimator: Any
    X: Any
    y: NDArray[Any]
    weights: Floats | None
    space: InputSpace
    groups: Groups
    classes: NDArray[Any] | None
    favourable: list[int]
    threshold: float | None
    beside: pd.DataFrame | None = None
    callbacks: tuple[Any, ...] = ()
    transport: Any = None

    @property
    def has_twins(self) -> bool:
        """Whether the models take a sensitive column."""
        return len(self.space.sensitive) > 0

    @property
    def names_beside(self) -> list[Any]:
        """Names of the sensitive columns that they are not given."""
        return [] if self.beside is None else list(self.beside.columns)

    def group_names(self) -> NDArray[Any]:
        """Name of each row's group, by the columns of the table and those beside it."""
        parts = [self.groups.names(self.X)] if self.has_twins else []
        if self.beside is not None:
            space = InputSpace(one_hot=None).fit(self.beside, None)
            everything = space.with_sensitive_features(range(len(self.beside.columns)))
            parts.append(Groups(everything).names(self.beside))
        return np.array([", ".join(row) for row in zip(*parts, strict=True)], dtype=object)

    @property
    def places(self) -> list[int]:
        """Positions of the sensitive columns in the table."""
        return self.space.layout.places_of(self.space.sensitive)


def _original(case: Case, seed: int) -> Any:
    return case.estimator


def _drop(case: Case, seed: int) -> Any:
    return Pipeline([("hold", HeldColumns(case.places)), ("model", case.estimator)])


def _marginalize(case: Case, seed: int) -> Any:
    return averaged(case.estimator, case.space, regression=case.classes is None)


def _retrain(strategy: str) -> Callable[[Case, int], Any]:
    def make(case: Case, seed: int) -> Any:
        auditor: Any
        if strategy == "testsgd":
            favourable = None
            if case.classes is not None:
                favourable = case.classes[case.favourable].tolist()
            auditor = TestSGDAuditor(
                sensitive_features=case.space.sensitive_features, favourable=favourable
            )
        else:
            auditor = AequitasAuditor(space=case.space, max_queries=2_000, threshold=case.threshold)
        return ShortRetrainer(
            case.estimator, auditor, strategy=strategy, random_state=seed, **RETRAINER
        )

    return make


def _correlation_remover(case: Case, seed: int) -> Any:
    _need_fairlearn()
    try:
        check_array(case.X, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise NotApplicableError(
            "CorrelationRemover takes tables of numbers without missing values only"
        ) from error
    return correlation_remover(case.estimator, case.X, case.places)


def _exponentiated(constraint: str) -> Callable[[Case, int], Any]:
    def make(case: Case, seed: int) -> Any:
        _need_fairlearn()
        if case.classes is None or len(case.classes) != 2:
            raise NotApplicableError("ExponentiatedGradient is compared for two classes only")
        if not has_fit_parameter(last_step(case.estimator), "sample_weight"):
            raise NotApplicableError(
                "ExponentiatedGradient needs an estimator whose fit takes sample_weight"
            )
        if case.weights is not None:
            raise NotApplicableError("ExponentiatedGradient takes no weights of rows")
        return RandomizedClassifier(
            case.estimator, constraint, case.groups, case.places, case.favourable[0]
        )

    return make


def _need_fairlearn() -> None:
    if not has_fairlearn():
        raise NotApplicableError("fairlearn is not installed")


#: The cheap methods first, so that a comparison that ends early has them.
METHODS: dict[str, Callable[[Case, int], Any]] = {
    "original": _original,
    "drop": _drop,
    "marginalize": _marginalize,
    "correlation remover": _correlation_remover,
    "exponentiated parity": _exponentiated("parity"),
    "exponentiated odds": _exponentiated("odds"),
    "retrain twins": _retrain("twins"),
    "retrain aequitas": _retrain("aequitas"),
    "retrain testsgd": _retrain("testsgd"),
}


def make_method(name: str, own: Any, case: Case, seed: int) -> Any:
    """An unfitted estimator of the named method, with seeds; `own` is the user's, None for ours.

    Raises
    ------
    NotApplicableError
        If the method does not suit the case.
    """
    if own is not None:
        return seeded(own, seed)
    of_groups = name.startswith("exponentiated")
    if case.names_beside and name != "original" and (of_groups or not case.has_twins):
        raise NotApplicableError(
            f"{not_taken(case.names_beside)}; {name!r} works on columns that the model takes"
        )
    estimator = seeded(METHODS[name](case, seed), seed)
    if case.callbacks and isinstance(estimator, FairnessRetrainer):
        estimator.set_callbacks(*case.callbacks)
    return estimator


def train(estimator: Any, case: Case, rows: Ints) -> Any:
    """The estimator, fitted on some of the rows with their weights."""
    extra: dict[str, Any] = {}
    if case.weights is not None:
        name = "sample_weight"
        if type(estimator) is Pipeline and not get_config()["enable_metadata_routing"]:
            # Ours, around the user's estimator, which takes weights as it was checked.
            name = f"{estimator.steps[-1][0]}__{name}"
        extra[name] = case.weights[rows]
    return estimator.fit(take_rows(case.X, rows), case.y[rows], **extra)
