"""The methods of mitigation that `compare_mitigations` knows by name: an estimator for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import has_fit_parameter

from skfairtest._typing import Floats, Ints
from skfairtest.group import TestSGDAuditor
from skfairtest.group._rules.sensitive_groups import SensitiveGroups
from skfairtest.individual import AequitasAuditor
from skfairtest.individual._flip_test.share import MovedTwins
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


class ComparisonSettings(NamedTuple):
    """How thoroughly each method is measured: all methods take a minute or so on 1,000 rows.

    Attributes
    ----------
    n_inputs : int
        Inputs near the data, uniform ones, and rows at most.
    certify_time : float
        Seconds for the certificate of the model of all rows; 0 for none.
    degree_queries : int
        Queries of the search for its largest difference.
    n_parts : int
        Parts of the rows that the jackknife leaves out in turn.
    confidence : float
        Confidence of all intervals.
    """

    n_inputs: int = 5_000
    certify_time: float = 1.0
    degree_queries: int = 500
    n_parts: int = 30
    confidence: float = 0.95


class ShortRetrainer(FairnessRetrainer):
    """A retrainer that is judged on fewer inputs; what is simpler has rows of its own here."""

    _n_estimates = 300
    _simple_methods: ClassVar[dict[str, Any]] = {}


class NotApplicableError(Exception):
    """A method of mitigation does not suit the model or the table; the message says why."""


@dataclass(frozen=True)
class ComparisonContext:
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
    groups : SensitiveGroups
        Groups of people by sensitive values.
    classes : ndarray or None
        Class labels; None for a regression.
    favourable : list of int
        Places of the favourable classes.
    threshold : float or None
        What counts as different treatment.
    not_in_model : DataFrame or None
        Sensitive columns that the models are not given.
    callbacks : tuple
        Callbacks of the retrainers.
    transport : object or None
        Moves rows to other groups; None where no moved twins are measured.
    settings : ComparisonSettings
        How thoroughly methods are measured.
    inputs : dict of str to table
        What all models are asked about, by place: rows of the table, inputs near these, and uniform
        ones. Where there are no twins to compare, those near alone.
    near_rows : ndarray of int or None
        Which row each of the inputs near them is near to.
    moved : dict of str to MovedTwins
        Rows moved to other groups, by the attribute.
    """

    estimator: Any
    X: Any
    y: NDArray[Any]
    weights: Floats | None
    space: InputSpace
    groups: SensitiveGroups
    classes: NDArray[Any] | None
    favourable: list[int]
    threshold: float | None
    not_in_model: pd.DataFrame | None = None
    callbacks: tuple[Any, ...] = ()
    transport: Any = None
    settings: ComparisonSettings = ComparisonSettings()
    inputs: dict[str, Any] = field(default_factory=dict)
    near_rows: Ints | None = None
    moved: dict[str, MovedTwins] = field(default_factory=dict)

    @property
    def is_mean(self) -> bool:
        """Whether mean differences of twins are measured, of a regressor without a threshold."""
        return self.classes is None and self.threshold is None

    @property
    def has_twins(self) -> bool:
        """Whether the models take a sensitive column."""
        return len(self.space.sensitive) > 0

    @property
    def names_not_in_model(self) -> list[Any]:
        """Names of the sensitive columns that they are not given."""
        return [] if self.not_in_model is None else list(self.not_in_model.columns)

    def group_names(self) -> NDArray[Any]:
        """Name of each row's group, by the sensitive columns in the table and outside it."""
        parts = [self.groups.names(self.X)] if self.has_twins else []
        if self.not_in_model is not None:
            space = InputSpace(one_hot=None).fit(self.not_in_model, None)
            everything = space.with_sensitive_features(range(len(self.not_in_model.columns)))
            parts.append(SensitiveGroups(everything).names(self.not_in_model))
        return np.array([", ".join(row) for row in zip(*parts, strict=True)], dtype=object)

    @property
    def places(self) -> list[int]:
        """Positions of the sensitive columns in the table."""
        return self.space.layout.places_of(self.space.sensitive)


def _original(context: ComparisonContext, seed: int) -> Any:
    return context.estimator


def _drop(context: ComparisonContext, seed: int) -> Any:
    return Pipeline([("hold", HeldColumns(context.places)), ("model", context.estimator)])


def _marginalize(context: ComparisonContext, seed: int) -> Any:
    return averaged(context.estimator, context.space, regression=context.classes is None)


def _retrain(strategy: str) -> Callable[[ComparisonContext, int], Any]:
    def make(context: ComparisonContext, seed: int) -> Any:
        auditor: Any
        if strategy == "testsgd":
            favourable = None
            if context.classes is not None:
                favourable = context.classes[context.favourable].tolist()
            auditor = TestSGDAuditor(
                sensitive_features=context.space.sensitive_features, favourable=favourable
            )
        else:
            auditor = AequitasAuditor(
                space=context.space, max_queries=2_000, threshold=context.threshold
            )
        # Three retrainers are trained in every fold. The paper's strategies end after one or two
        # rounds by themselves, and the first round of twins takes most away.
        return ShortRetrainer(
            context.estimator, auditor, strategy=strategy, random_state=seed, max_rounds=2, cv=2
        )

    return make


def _correlation_remover(context: ComparisonContext, seed: int) -> Any:
    _need_fairlearn()
    try:
        check_array(context.X, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise NotApplicableError(
            "CorrelationRemover takes tables of numbers without missing values only"
        ) from error
    return correlation_remover(context.estimator, context.X, context.places)


def _exponentiated(constraint: str) -> Callable[[ComparisonContext, int], Any]:
    def make(context: ComparisonContext, seed: int) -> Any:
        _need_fairlearn()
        if context.classes is None or len(context.classes) != 2:
            raise NotApplicableError("ExponentiatedGradient is compared for two classes only")
        if not has_fit_parameter(last_step(context.estimator), "sample_weight"):
            raise NotApplicableError(
                "ExponentiatedGradient needs an estimator whose fit takes sample_weight"
            )
        if context.weights is not None:
            raise NotApplicableError("ExponentiatedGradient takes no weights of rows")
        return RandomizedClassifier(
            context.estimator, constraint, context.groups, context.places, context.favourable[0]
        )

    return make


def _need_fairlearn() -> None:
    if not has_fairlearn():
        raise NotApplicableError("fairlearn is not installed")


#: The cheap methods first, so that a comparison that ends early has them.
METHODS: dict[str, Callable[[ComparisonContext, int], Any]] = {
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


def make_method(name: str, own: Any, context: ComparisonContext, seed: int) -> Any:
    """An unfitted estimator of the named method, with seeds; `own` is the user's, None for ours.

    Raises
    ------
    NotApplicableError
        If the method does not suit what is compared.
    """
    if own is not None:
        return seeded(own, seed)
    of_groups = name.startswith("exponentiated")
    left_out = context.names_not_in_model
    if left_out and name != "original" and (of_groups or not context.has_twins):
        raise NotApplicableError(
            f"{not_taken(left_out)}; {name!r} works on columns that the model takes"
        )
    estimator = seeded(METHODS[name](context, seed), seed)
    if context.callbacks and isinstance(estimator, FairnessRetrainer):
        estimator.set_callbacks(*context.callbacks)
    return estimator


def train(estimator: Any, context: ComparisonContext, rows: Ints) -> Any:
    """The estimator, fitted on some of the rows with their weights."""
    extra: dict[str, Any] = {}
    if context.weights is not None:
        name = "sample_weight"
        if type(estimator) is Pipeline and not get_config()["enable_metadata_routing"]:
            # Ours, around the user's estimator, which takes weights as it was checked.
            name = f"{estimator.steps[-1][0]}__{name}"
        extra[name] = context.weights[rows]
    return estimator.fit(take_rows(context.X, rows), context.y[rows], **extra)
