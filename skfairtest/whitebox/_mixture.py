"""Models that average another model over values of some columns: how they say so, and who may.

An estimator of this package that predicts ::

    strength * sum_v weight_v * model(x with the columns set to v) + (1 - strength) * model(x)

has a method ``_as_mixture()`` that returns a `Mixture`. Certificates read it instead of the code:
the sum is the same for two inputs that differ in those columns alone, so that their outputs differ
by (1 - strength) times what those of the model do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._library_code import LIBRARIES, check_library_code
from skfairtest.whitebox._unsupported import Unsupported


class Mixture(NamedTuple):
    """What such an estimator predicts with.

    - `model`: what is averaged, fitted; unfitted before `fit`.
    - `strength`: share of the average in the outputs, in [0, 1].
    - `places`: positions of the columns that are averaged over, in the table that the estimator is
      shown; empty before `fit`.
    - `values` (n_values, n_places): what these columns are set to, in the container of `fit`; None
      before.
    """

    model: Any
    strength: float
    places: list[int]
    values: Any


def read_mixture(estimator: Any, hint: str) -> Mixture:
    """What such an estimator says of itself.

    - `ValueError`: if the estimator says so, and does not predict with the code of this package.
    """
    check_library_code(estimator, hint, (*LIBRARIES, "skfairtest"))
    mixture: Mixture = estimator._as_mixture()
    return mixture._replace(strength=float(np.float64(mixture.strength)))


def check_averaged(chain: Chain, mixture: Mixture) -> None:
    """See that a model averages over all that twins differ in.

    - `chain`: the steps before the model.
    - `mixture`: the model; its columns are those of the table that the last step makes.
    """
    own, space = set(mixture.places), chain.space
    features = chain.features if chain.steps else None
    rest = []
    for j in space.sensitive:
        behind = space.layout.places[j] if features is None else features.of(j).tolist()
        if not own.issuperset(behind):
            rest.append(space.feature_names[j])
    if rest:
        raise Unsupported(
            f"The model does not average over all of {rest!r}, in which twins differ.",
            "Audit only columns that it averages over, or search with SBFTAuditor, which needs no "
            "bound.",
        )
