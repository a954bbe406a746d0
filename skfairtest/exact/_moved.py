"""Which models are certified for moved twins, and why the others are not."""

from __future__ import annotations

from skfairtest.exact._bracket import Family
from skfairtest.exact._linear import LinearFamily
from skfairtest.exact._moved_linear import MovedLinear
from skfairtest.exact._moved_probabilities import MovedProbabilities
from skfairtest.exact._moved_trees import MovedTrees
from skfairtest.exact._support import SEARCH
from skfairtest.exact._trees.family import TreeFamily
from skfairtest.space._moved import MovedTwins
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._unsupported import Unsupported

#: What to do where there is no bound.
OTHERWISE = f"Use QuantileTransport(). {SEARCH}"
#: What can be certified.
MODELS = (
    f"Of moved twins trees, forests, boosting of trees and linear models are certified. {SEARCH}"
)


def check_moved(moved: MovedTwins | None) -> None:
    """Raise if a transport does not move each column by itself."""
    assert moved is not None
    transport, name = moved.transport, type(moved.transport).__name__
    if not getattr(transport, "is_columnwise", False):
        raise Unsupported(
            f"Twins that {name} moves cannot be certified: where a column goes depends on other "
            "columns, so that a box of inputs is not moved to a box.",
            OTHERWISE,
        )


def with_moved_twins(family: Family, space: InputSpace) -> Family:
    """Return a model, as it was read for the whole domain, with twins that a transport moves.

    Raises
    ------
    ValueError
        If there is no bound for such a model.
    """
    if isinstance(family, TreeFamily):
        return MovedTrees(family, space)
    if isinstance(family, LinearFamily):
        return MovedProbabilities(family, space) if family.logistic else MovedLinear(family, space)
    raise Unsupported("This model cannot be certified for moved twins.", MODELS)
