"""Models of trees, alone or averaged by Bagging and Voting, read as sums of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    VotingClassifier,
    VotingRegressor,
)

from skfairtest.whitebox._boosting_libraries import is_library_model, read_library
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._histogram_trees import HISTOGRAM, read_histogram
from skfairtest.whitebox._own_steps import TakeColumns
from skfairtest.whitebox._sklearn_trees import BOOSTED, FORESTS, TREES, read_average, read_boosting
from skfairtest.whitebox._tree_model import Output, constant, mixed

BAGGED = (BaggingClassifier, BaggingRegressor)
VOTING = (VotingClassifier, VotingRegressor)
ENSEMBLES = (*TREES, *FORESTS, *BOOSTED, *HISTOGRAM, *BAGGED, *VOTING)


def is_ensemble(model: Any) -> bool:
    """Whether a model is one of trees that is read, of whatever library."""
    return isinstance(model, ENSEMBLES) or is_library_model(model)


def read_ensemble(estimator: Any, chain: Chain, response: str) -> list[Output]:
    """Outputs of a model of trees as sums of trees.

    - `estimator`: a fitted tree, forest, boosted or averaged model, or a pipeline that ends in one.
    - `response` {"regression", "predict_proba", "decision_function"}: what is asked of it.
    - `ValueError`: if the model is no model of trees, or is asked for something else.
    """
    chain, model = chain.open(estimator)
    if isinstance(model, (*TREES, *FORESTS)) and response != "decision_function":
        return read_average(model, chain.features, response)
    if isinstance(model, BOOSTED):
        return read_boosting(model, chain.features, response)
    if isinstance(model, HISTOGRAM):
        return read_histogram(model, chain, response)
    if isinstance(model, BAGGED):
        return _read_bagging(model, chain, response)
    if isinstance(model, VOTING):
        return _read_voting(model, chain, response)
    if is_library_model(model):
        return read_library(model, chain, response)
    raise ValueError(
        f"{type(model).__name__} with response_method={response!r} is no sum of trees that can be "
        "certified. Expected trees, forests, gradient boosting, or Bagging and Voting of these; "
        "use SBFTAuditor for others."
    )


def _read_bagging(model: Any, chain: Chain, response: str) -> list[Output]:
    # Members that are shown the same columns share what is worked out of them.
    different: dict[bytes, Chain] = {}
    chains = []
    for columns in map(np.asarray, model.estimators_features_):
        own = different.setdefault(columns.tobytes(), chain.then(TakeColumns(columns)))
        chains.append(own)
    return _averaged(model, chains, [1.0 / len(chains)] * len(chains), response)


def _read_voting(model: Any, chain: Chain, response: str) -> list[Output]:
    if is_classifier(model) and response != "predict_proba":
        raise ValueError(
            f"{type(model).__name__} is certified by its probabilities: expected voting='soft'; "
            f"got response_method={response!r}."
        )
    return _averaged(model, [chain] * len(model.estimators_), voting_shares(model), response)


def _averaged(model: Any, chains: list[Chain], shares: list[float], response: str) -> list[Output]:
    """Averages of the outputs of the members, each behind its own steps."""
    read = []
    for member, chain in zip(model.estimators_, chains, strict=True):
        own = read_ensemble(member, chain, response)
        if response == "predict_proba":
            # Members are fitted on the numbers of the classes, some of which they may not see.
            own = _all_classes(own, member.classes_, np.arange(len(model.classes_)))
        read.append(own)
    return [mixed(list(outputs), shares) for outputs in zip(*read, strict=True)]


def voting_shares(model: Any) -> list[float]:
    """The share of each fitted member of a vote in its average.

    - `ValueError`: if its weights are not those of its fitted members, or add up to zero: then it
      cannot predict itself.
    """
    weights = [1.0] * len(model.estimators) if model.weights is None else model.weights
    named = zip(model.estimators, weights, strict=True)
    kept = [float(weight) for (_, member), weight in named if not isinstance(member, str)]
    if len(kept) != len(model.estimators_) or sum(kept) == 0:
        raise ValueError(
            f"{type(model).__name__} has {len(model.estimators_)} fitted members, and the weights "
            f"{kept} for those that were not dropped; expected one for each, and a sum other than "
            "zero. Set weights that fit, or fit it again."
        )
    return [weight / sum(kept) for weight in kept]


def _all_classes(outputs: list[Output], seen: NDArray[Any], classes: NDArray[Any]) -> list[Output]:
    """Probabilities of all classes from those that a member knows."""
    if len(seen) == len(classes):
        return outputs
    if len(outputs) == 1 and len(seen) == 2:
        outputs = [mixed([constant(1.0), outputs[0]], [1.0, -1.0]), outputs[0]]
    known = {int(c): output for c, output in zip(seen, outputs, strict=True)}
    every = [known.get(int(c), constant(0.0)) for c in classes]
    return every[1:] if len(classes) == 2 else every
