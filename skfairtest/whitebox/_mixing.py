"""Steps that mix columns by an affine map, before models whose first act is a linear map.

Of linear models and networks the map of such a step and that of the model are one: what is left
before it are steps on single columns. A branch of a `ColumnTransformer` or `FeatureUnion` may end
in such a step as well; then the branch is cut before it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    StandardScaler,
)

from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._layers import Affine, identity
from skfairtest.whitebox._monotone_features import MonotoneFeatures
from skfairtest.whitebox._own_steps import TakeColumns
from skfairtest.whitebox._steps import (
    BRANCHING,
    HINT,
    MIXING,
    SCALERS,
    SELECTORS,
    Branches,
    branches_of,
)
from skfairtest.whitebox._tables import column_places, has_single, take_columns
from skfairtest.whitebox._unsupported import Unsupported
from skfairtest.whitebox._unwrap import run_steps


class Unmixed(NamedTuple):
    """Steps on single columns, and the map from what they give to what the model is shown."""

    chain: Chain
    map: Affine


def unmixed(chain: Chain) -> Unmixed | None:
    """Take out of the steps what mixes columns or changes their direction; None where none does.

    - `ValueError`: if a step after one that mixes columns is no affine map.
    """
    found: Unmixed | None = chain.once("unmixed", lambda: _unmixed(chain))
    return found


def _unmixed(chain: Chain) -> Unmixed | None:
    before, after = _taken_apart(chain)
    features = before.features
    if features.pieces:
        monotone = MonotoneFeatures(features)
        own = monotone.map if after is None else monotone.map.then(after)
        return Unmixed(before.showing(monotone), own)
    return None if after is None else Unmixed(before, after)


def mixes_in_single(chain: Chain) -> bool:
    """Whether a step mixes columns in single precision, whatever the model computes in."""
    if not any(_mixes(step) for step in chain.steps):
        return False
    return has_single(chain.first_table())


def _taken_apart(chain: Chain) -> tuple[Chain, Affine | None]:
    """The chain up to a step that mixes columns, and the map of what is behind it."""
    first = next((k for k, step in enumerate(chain.steps) if _mixes(step)), None)
    if first is None:
        return chain, None
    before, own = chain.steps[:first], chain.steps[first]
    if isinstance(own, BRANCHING):
        cut, whole = _cut(own, Chain(chain.space, before).first_table())
        before = [*before, cut]
    else:
        whole = affine_of(own, own.n_features_in_)
    for step in chain.steps[first + 1 :]:
        whole = whole.then(affine_of(step, len(whole.base)))
    return Chain(chain.space, before), whole


def _mixes(step: Any) -> bool:
    """Whether a step, or a branch of it, mixes columns."""
    if not isinstance(step, BRANCHING):
        return type(step) in MIXING
    return any(_mixes(inner) for steps, _, _ in branches_of(step) for inner in steps)


def check_mixing(steps: list[Any]) -> None:
    """See that what comes after a step that mixes columns, fitted or not, is an affine map."""
    first = next((k for k, step in enumerate(steps) if _mixes(step)), None)
    if first is None:
        return
    own = steps[first]
    if isinstance(own, BRANCHING):
        for branch, columns, _ in branches_of(own):
            if np.size(columns):  # else it is not even fitted
                _check_branch(branch)
    for step in steps[first + 1 :]:
        check_affine(step)


def _check_branch(steps: list[Any]) -> int:
    """See that a branch mixes columns with a step of its own, and return where."""
    first = next((k for k, one in enumerate(steps) if _mixes(one)), len(steps))
    if first < len(steps) and type(steps[first]) not in MIXING:
        raise Unsupported(
            "A step mixes columns in a branch of a branch.",
            f"Put it into a branch of the outermost ColumnTransformer. {HINT}",
        )
    for one in steps[first + 1 :]:
        check_affine(one)
    return first


def check_affine(step: Any) -> None:
    """See that a step, fitted or not, is an affine map.

    - `Unsupported`: if it is none that is known.
    """
    kinds = (*MIXING, *SELECTORS, *SCALERS, TakeColumns)
    if type(step) not in kinds or getattr(step, "clip", False):
        raise Unsupported(
            f"The step {' '.join(repr(step).split()):.120} comes after one that mixes columns.",
            "Behind such a step, only scalers, selectors of columns and further steps that mix "
            f"columns can be read. {HINT}",
        )


def affine_of(step: Any, n: int) -> Affine:
    """The map of a fitted step, of `n` columns.

    - `ValueError`: if it is none that is known.
    """
    check_affine(step)
    kind = type(step)
    if kind in (PCA, IncrementalPCA):
        weights = np.asarray(step.components_, dtype=np.float64).T
        base = -np.asarray(step.mean_, dtype=np.float64) @ weights
        if step.whiten:
            scale = np.sqrt(np.asarray(step.explained_variance_, dtype=np.float64))
            scale = np.maximum(scale, np.finfo(step.explained_variance_.dtype).eps)
            weights, base = weights / scale, base / scale
        return Affine(weights, base)
    if kind is TruncatedSVD:
        weights = np.asarray(step.components_, dtype=np.float64).T
        return Affine(weights, np.zeros(weights.shape[1]))
    if kind in SELECTORS or kind is TakeColumns:
        taken = step.columns if kind is TakeColumns else step.get_support()
        return Affine(*(own[..., taken] for own in identity(n)))
    scale, base = np.ones(n), np.zeros(n)
    if kind is MinMaxScaler:
        scale, base = step.scale_, step.min_
    elif kind is MaxAbsScaler:
        scale = 1 / step.scale_
    elif kind is StandardScaler:
        scale = scale if step.scale_ is None else 1 / step.scale_
        base = -step.mean_ * scale if step.with_mean else base
    else:
        scale = scale if step.scale_ is None else 1 / step.scale_
        base = -step.center_ * scale if step.with_centering else base
    return Affine(np.diag(scale), np.asarray(base, dtype=np.float64))


def _cut(step: Any, table: Any) -> tuple[Branches, Affine]:
    """The branches of a step up to what mixes columns, and what all of them do from there."""
    branches, maps = [], []
    for steps, columns, factor in branches_of(step):
        places = None if columns is None else column_places(table, columns)
        if places == []:
            continue
        part = table if places is None else take_columns(table, places)
        first = _check_branch(steps)
        part = run_steps(steps[:first], part)
        own = identity(part.shape[1])
        for one in steps[first:]:
            own = own.then(affine_of(one, len(own.base)))
        own = Affine(own.weights * factor, own.base * factor)
        branches.append((columns, steps[:first]))
        maps.append(own)
    whole = linalg.block_diag(*(own.weights for own in maps))
    return Branches(branches), Affine(whole, np.concatenate([own.base for own in maps]))
