"""One method of mitigation on one fold: trained on the other rows, measured on those held out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from skfairtest import _clock
from skfairtest._typing import Floats, Ints
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.individual import RandomAuditor, SBFTAuditor
from skfairtest.mitigation._comparison.methods import Case, NotApplicableError, make_method
from skfairtest.mitigation._retraining.training import seeded
from skfairtest.mitigation._shares import PLACES, Judged, judge
from skfairtest.space._rows import take_rows
from skfairtest.space._sensitive_features import not_taken

#: Queries of the search for the largest difference of a fold's model.
DEGREE_QUERIES = 1_000
#: How often predictions are timed; the fastest counts.
TIMED = 3


@dataclass(frozen=True)
class Fold:
    """One part of the rows, and the inputs on which every model that did not see it is measured.

    Attributes
    ----------
    number : int
        Of the folds.
    training, held : ndarray of int
        Rows to train on, and rows held out.
    inputs : dict of str to ndarray
        Codes by place: the rows held out, inputs near them, and uniform ones.
    homes : ndarray of int or None
        The rows that inputs near them are near to; None where there are no twins to compare.
    seed : int
        Of everything that is trained; the same for all methods, so that what differs is the method.
    """

    number: int
    training: Ints
    held: Ints
    inputs: dict[str, Floats]
    homes: Ints | None
    seed: int


@dataclass
class FoldResult:
    """What a method did on a fold; `reason` says why there is nothing, or is empty."""

    reason: str = ""
    answers: dict[str, NDArray[Any]] = field(default_factory=dict)
    judged: dict[str, Judged] = field(default_factory=dict)
    degree: float = np.nan
    bound: float = np.nan
    certificate: str = ""
    response: str = ""
    fit_seconds: float = np.nan
    predict_seconds: float = np.nan
    queries: float = np.nan
    kept_original: bool = False
    warnings: list[str] = field(default_factory=list)


def run_fold(
    name: str, own: Any, case: Case, fold: Fold, y: Any, weights: Any, max_time: float
) -> FoldResult:
    """Train and measure; a failure is a result, too."""
    result = FoldResult()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _run(result, name, own, case, fold, y, weights, max_time)
        except NotApplicableError as error:
            result.reason = str(error)
        except Exception as error:
            first = str(error).strip().split("\n")[0]
            result.reason = f"fold {fold.number + 1}: {type(error).__name__}: {first}"
    # Deprecations are for those who write code; that nothing was found is in the figures.
    texts = [
        str(entry.message)
        for entry in caught
        if issubclass(entry.category, UserWarning)
        and not issubclass(entry.category, NoDisparityWarning)
    ]
    result.warnings = list(dict.fromkeys(texts))
    return result


def _run(
    result: FoldResult,
    name: str,
    own: Any,
    case: Case,
    fold: Fold,
    y: Any,
    weights: Any,
    max_time: float,
) -> None:
    estimator = seeded(make_method(name, own, case, fold.seed), fold.seed)
    X, X_held = take_rows(case.X, fold.training), take_rows(case.X, fold.held)
    extra: dict[str, Any] = {}
    if weights is not None:
        name_of = "sample_weight"
        routed = get_config()["enable_metadata_routing"]
        if type(estimator) is Pipeline and not routed:  # ours, around the user's estimator
            name_of = f"{estimator.steps[-1][0]}__{name_of}"
        extra[name_of] = weights[fold.training]
    start = _clock.now()
    model = estimator.fit(X, y[fold.training], **extra)
    result.fit_seconds = _clock.now() - start
    result.queries = float(getattr(model, "n_queries_", np.nan))
    if hasattr(model, "original_estimator_"):
        result.kept_original = model.estimator_ is model.original_estimator_
        # What is audited and certified is the model inside, and not how it came about.
        model = model.estimator_
    result.answers, result.predict_seconds = _answers(model, X_held, case.classes)
    if not case.has_twins:
        result.degree = result.bound = 0.0
        result.certificate = not_taken(case.names_beside)
        return
    whole = judge(
        model, case.space, np.concatenate([fold.inputs[place] for place in PLACES]), case.settings
    )
    start = 0
    for place in PLACES:
        end = start + len(fold.inputs[place])
        result.judged[place] = whole.part(start, end)
        start = end
    result.judged["near"] = result.judged["near"]._replace(homes=fold.homes)
    known = float(whole.disparity.max(initial=0.0))
    # Where thousands of inputs show nothing, a search that climbs has nowhere to begin.
    kind: Any = SBFTAuditor if known > 0 else RandomAuditor
    search = kind(
        FrozenEstimator(model),
        space=case.space,
        max_queries=DEGREE_QUERIES,
        random_state=fold.seed,
        **case.settings,
    ).fit(X_held)
    result.response = search.response_
    result.degree = max(known, float(search.fairness_degree_))
    if name == "drop" and own is None and case.space.twins_.dependents is None:
        result.bound, result.certificate = 0.0, "nothing else differs between twins"
    elif max_time > 0:
        _certify(result, model, search, max_time)


def _certify(result: FoldResult, model: Any, search: Any, max_time: float) -> None:
    # Its engines import numba, which takes longer than all of ours.
    from skfairtest.exact import CertifiedAuditor, certify

    try:
        certificate = certify(search, max_time=max_time)
    except ValueError as error:
        result.certificate = str(error).strip().split("\n")[0]
        if not CertifiedAuditor.supports(model):
            result.certificate = f"not supported: {result.certificate}"
        return
    result.degree = max(result.degree, certificate.fairness_degree)
    result.bound = max(result.degree, certificate.fairness_degree_upper_bound)
    result.certificate = certificate.stop_reason


def _answers(model: Any, X: Any, classes: Any) -> tuple[dict[str, NDArray[Any]], float]:
    """Predictions, probabilities and scores of rows, and the seconds that predictions take."""
    seconds = np.inf
    for _ in range(TIMED):
        start = _clock.now()
        predicted = np.asarray(model.predict(X))
        seconds = min(seconds, _clock.now() - start)
    answers = {"predict": predicted}
    if classes is None:
        return answers, seconds
    known = np.asarray(model.classes_)
    if hasattr(model, "predict_proba"):
        # A class that a fold's training part lacks has no probability.
        probabilities = np.zeros((len(predicted), len(classes)))
        probabilities[:, np.searchsorted(classes, known)] = model.predict_proba(X)
        answers["predict_proba"] = probabilities
    if hasattr(model, "decision_function") and len(known) == len(classes):
        answers["decision_function"] = np.asarray(model.decision_function(X))
    return answers, seconds
