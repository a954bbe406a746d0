"""Reading InterpretML's explainable boosting machines: sums of tables of scores, a tree each.

Checked against 0.6 and 0.7. A term of a model looks up the bins of its columns, one or several, in
a table of scores. Which bin a value has, also one that is missing or was not seen in training, is
asked of the model's own `eval_terms`: a copy whose scores are the numbers of the bins.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from skfairtest._typing import Floats
from skfairtest.whitebox._boosting_libraries import library_reader
from skfairtest.whitebox._features import Chain, continuous_attributes
from skfairtest.whitebox._fitted_trees import Split, Tree, grown, nodes_of
from skfairtest.whitebox._own_steps import OwnStep
from skfairtest.whitebox._tables import column_codes
from skfairtest.whitebox._unsupported import Unsupported
from skfairtest.whitebox._unwrap import run_steps
from skfairtest.whitebox.graph import (
    EXPONENTIAL,
    IDENTITY,
    LOGISTIC,
    SOFTMAX,
    Output,
    Part,
    linked,
)

#: What a model makes of its sums, by the library's name for it.
LINKS = {
    "identity": IDENTITY,
    "log": EXPONENTIAL,
    "logit": LOGISTIC,
    "vlogit": LOGISTIC,
    "mlogit": SOFTMAX,
}


def read_interpret(model: Any, chain: Chain, response: str) -> list[Output]:
    """ExplainableBoostingClassifier or ExplainableBoostingRegressor, also those with privacy.

    - `ValueError`: if `check_interpret` refuses it, or a column without order has too many values.
    """
    check_interpret(model, response)
    bins = _Bins(model)
    domain = chain.space.domain
    _check_listed(model, bins, chain, lambda j: np.array([domain.low[j], domain.high[j]]))
    features = chain.then(bins).features
    # The steps may have made a column rise and fall again: now it is known where.
    _check_listed(model, bins, chain, lambda j: np.concatenate(features.piece_ends(j)))
    bases = np.ravel(np.asarray(model.intercept_, dtype=np.float64))
    trees = [
        _tree(np.reshape(scores, (*np.shape(scores)[: len(own)], len(bases))), own)
        for scores, own in zip(model.term_scores_, bins.of_terms, strict=True)
    ]
    nodes = nodes_of(trees, features, type(model).__name__) if trees else None
    parts = [
        Part(float(base), [] if nodes is None else [(nodes, k, 1.0)])
        for k, base in enumerate(bases)
    ]
    return linked(parts, IDENTITY if response == "decision_function" else LINKS[model.link_])


def check_interpret(model: Any, response: str) -> None:
    """See that it is known what a model, fitted or not, makes of its sums.

    - `response` {"regression", "predict_proba", "decision_function"}: what is asked of it.
    """
    link = getattr(model, "link_", "identity")
    if link not in LINKS:
        raise Unsupported(
            f"{type(model).__name__} with the link {link!r} cannot be certified: it is not known "
            "how its outputs depend on the sums of its terms.",
            f"Expected one of {sorted(LINKS)}; 'monoclassification' is that of a model that was "
            "shown a single class.",
        )


def _check_listed(model: Any, bins: _Bins, chain: Chain, ends: Callable[[int], Floats]) -> None:
    """See that no column that the model takes for categories changes with a real attribute.

    Each number may be a category then, and no other number near to it would show that.

    - `ends`: values of such an attribute between which what the steps make of it rises or falls.
    """
    space = chain.space
    encoded = {int(j): ends(int(j)) for j in np.flatnonzero(continuous_attributes(space))}
    Z = np.repeat(space.domain.low[None], max(map(len, encoded.values()), default=1), axis=0)
    for j, own in encoded.items():
        Z[: len(own), j] = own
    table = run_steps(chain.steps, space.decode(Z))
    changed = [len(np.unique(column)) > 1 for column in column_codes(table)]
    names, kinds = model.feature_names_in_, model.feature_types_in_
    # Columns of a frame are found by their names, where these are the model's.
    order = [str(name) for name in getattr(table, "columns", [])]
    order = order if set(names) <= set(order) else names
    for column, _ in bins.columns:
        kind = kinds[column]
        if kind != "continuous" and changed[order.index(names[column])]:
            raise Unsupported(
                f"{type(model).__name__} takes the column {names[column]!r} for categories "
                f"({kind!r}), and it has too many values to be listed.",
                "Declare its values by InputSpace(categories=...), or fit the model with "
                "'continuous' in the feature_types of this column.",
            )


class _Bins(OwnStep):
    """The bins of the columns of a table, by number: 0 is that of missing values.

    - `columns`: column and resolution of each feature. Terms of several columns may have bins of
      their own.
    - `of_terms`: the features that each term looks at.
    """

    def __init__(self, model: Any) -> None:
        sizes: dict[tuple[int, int], int] = {}
        keys = []
        for columns, scores in zip(model.term_features_, model.term_scores_, strict=True):
            own = [(int(c), min(len(model.bins_[c]), len(columns))) for c in columns]
            sizes.update(zip(own, np.shape(scores), strict=False))
            keys.append(own)
        self.columns = sorted(sizes)
        self.of_terms = [[self.columns.index(key) for key in own] for own in keys]
        self.numbering = copy.copy(model)
        self.numbering.intercept_ = np.zeros(1)
        # A term that names a column twice is shown its bins for pairs.
        self.numbering.term_features_ = [(column,) * level for column, level in self.columns]
        self.numbering.term_scores_ = [
            np.broadcast_to(np.arange(sizes[key], dtype=np.float64), (sizes[key],) * key[1])
            for key in self.columns
        ]

    def transform(self, table: Any) -> Floats:
        """The numbers of the bins."""
        return np.asarray(self.numbering.eval_terms(table))


def _tree(scores: Floats, features: list[int]) -> Tree:
    """A table of scores as a tree that halves it, until all scores of a part are the same.

    - `scores` (n_bins of each feature, n_sums).
    """

    def read(part: tuple[tuple[int, int], ...]) -> Split | Floats:
        own = scores[tuple(slice(*bounds) for bounds in part)]
        # Along each feature, the bins after which some score changes.
        changes = [
            start + np.flatnonzero(np.diff(own, axis=a).any(axis=_others(own, a)))
            for a, (start, _) in enumerate(part)
        ]
        a = int(np.argmax([len(after) for after in changes]))
        if not len(changes[a]):
            return np.asarray(own[(0,) * len(part)])
        cut = int(changes[a][len(changes[a]) // 2])
        low, high = list(part), list(part)
        low[a], high[a] = (part[a][0], cut + 1), (cut + 1, part[a][1])
        return Split(features[a], cut + 0.5, False, tuple(low), tuple(high))

    return grown(tuple((0, n) for n in scores.shape[:-1]), read)


def _others(array: Floats, axis: int) -> tuple[int, ...]:
    return tuple(a for a in range(array.ndim) if a != axis)


WRAPPERS = (
    "ExplainableBoostingClassifier",
    "ExplainableBoostingRegressor",
    "DPExplainableBoostingClassifier",
    "DPExplainableBoostingRegressor",
)
READER = library_reader("interpret", WRAPPERS, "", check_interpret, read_interpret)
