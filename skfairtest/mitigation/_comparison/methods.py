"""The methods of mitigation that `compare_mitigations` knows by name: an estimator for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import has_fit_parameter

from skfairtest.group import TestSGDAuditor
from skfairtest.group._rules.sensitive_groups import Groups
from skfairtest.individual import AequitasAuditor
from skfairtest.mitigation._averaging.averages import last_step
from skfairtest.mitigation._averaging.marginalized import (
    MarginalizedClassifier,
    MarginalizedRegressor,
)
from skfairtest.mitigation._comparison.with_fairlearn import (
    RandomizedClassifier,
    correlation_remover,
    has_fairlearn,
)
from skfairtest.mitigation._held_columns import HeldColumns
from skfairtest.mitigation._retraining.retrainer import OF_GROUPS, FairnessRetrainer
from skfairtest.space._sensitive_features import not_taken
from skfairtest.space._space import InputSpace


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
    space : InputSpace
        The domain, learned from all rows.
    groups : Groups
        Groups of people by sensitive values.
    classes : ndarray or None
        Class labels; None for a regression.
    favourable : list of int
        Places of the favourable classes.
    settings : dict
        `threshold` and `response_method` of audits.
    max_queries : int
        Budget of one audit of a retrainer.
    weighted : bool
        Whether the rows have weights.
    beside : DataFrame or None
        Sensitive columns that the models are not given.
    """

    estimator: Any
    X: Any
    space: InputSpace
    groups: Groups
    classes: NDArray[Any] | None
    favourable: list[int]
    settings: dict[str, Any]
    max_queries: int
    weighted: bool
    beside: pd.DataFrame | None = None

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
        layout = self.space.layout
        return [place for j in self.space.sensitive for place in layout.places[j]]


def _original(case: Case, seed: int) -> Any:
    return case.estimator


def _drop(case: Case, seed: int) -> Any:
    return Pipeline([("hold", HeldColumns(case.places)), ("model", case.estimator)])


def _marginalize(case: Case, seed: int) -> Any:
    kind: Any = MarginalizedRegressor if case.classes is None else MarginalizedClassifier
    # A rare value may be missing from the training part of a fold: it changes no prediction.
    return kind(
        case.estimator,
        sensitive_features=case.space.sensitive_features,
        unseen="ignore",
        one_hot=case.space.layout.one_hot or None,
    )


def _retrain(strategy: str) -> Callable[[Case, int], Any]:
    def make(case: Case, seed: int) -> Any:
        auditor: Any
        if strategy in OF_GROUPS:
            favourable = None
            if case.classes is not None:
                favourable = case.classes[case.favourable].tolist()
            auditor = TestSGDAuditor(
                sensitive_features=case.space.sensitive_features, favourable=favourable
            )
        else:
            auditor = AequitasAuditor(
                space=case.space, max_queries=case.max_queries, **case.settings
            )
        return FairnessRetrainer(
            case.estimator,
            auditor,
            strategy=strategy,
            random_state=seed,
        )

    return make


def _correlation_remover(case: Case, seed: int) -> Any:
    _need_fairlearn()
    try:
        check_array(case.X)
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
        if case.weighted:
            raise NotApplicableError("ExponentiatedGradient takes no weights of rows")
        return RandomizedClassifier(
            case.estimator, constraint, case.groups, case.places, case.favourable[0]
        )

    return make


def _need_fairlearn() -> None:
    if not has_fairlearn():
        raise NotApplicableError("fairlearn is not installed")


METHODS: dict[str, Callable[[Case, int], Any]] = {
    "original": _original,
    "drop": _drop,
    "marginalize": _marginalize,
    "retrain twins": _retrain("twins"),
    "retrain aequitas": _retrain("aequitas"),
    "retrain groups": _retrain("groups"),
    "retrain testsgd": _retrain("testsgd"),
    "correlation remover": _correlation_remover,
    "exponentiated parity": _exponentiated("parity"),
    "exponentiated odds": _exponentiated("odds"),
}


def make_method(name: str, own: Any, case: Case, seed: int) -> Any:
    """An unfitted estimator of the named method; `own` is the user's, or None for one of ours.

    Raises
    ------
    NotApplicableError
        If the method does not suit the case.
    """
    if own is not None:
        return clone(own)
    of_groups = name.startswith("exponentiated")
    if case.names_beside and name != "original" and (of_groups or not case.has_twins):
        raise NotApplicableError(
            f"{not_taken(case.names_beside)}; {name!r} works on columns that the model takes"
        )
    return METHODS[name](case, seed)
