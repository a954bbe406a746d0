"""Turn models around sums of trees into one sum of trees, so that one search is enough."""

from __future__ import annotations

from collections.abc import Callable

from skfairtest.exact._expression import ModelOutput, MonotoneFunction, Node, Softmax, WeightedSum
from skfairtest.whitebox._tree_model import IDENTITY, SOFTMAX, Group, Output, Part, constant, mixed


def as_trees(node: Node, trees_of: Callable[[ModelOutput], Output | None]) -> Output | None:
    """Return a number as a sum of trees, or links of several; None if it is neither.

    - `node`: the number.
    - `trees_of`: the trees behind a model's output; None where there are none.
    """
    if isinstance(node, ModelOutput):
        return trees_of(node)
    if isinstance(node, WeightedSum):
        parts = [as_trees(part, trees_of) for part in node.of]
        found = [part for part in parts if part is not None]
        if len(found) < len(parts):
            return None
        return mixed([*found, constant(node.base)], [*node.weights, 1.0])
    if isinstance(node, MonotoneFunction) and node.link is not None:
        inner = as_trees(node.of, trees_of)
        whole = None if inner is None else _one_sum(inner)
        if whole is None:
            return None
        name, factor, shift = node.link
        trees = [(nodes, column, own * factor) for nodes, column, own in whole.trees]
        off = whole.rounding * abs(factor)
        return [Group(name, 1.0, [Part(whole.base * factor + shift, trees, off)])]
    if isinstance(node, Softmax):
        outputs = [as_trees(part, trees_of) for part in node.of]
        sums = [None if output is None else _one_sum(output) for output in outputs]
        known = [part for part in sums if part is not None]
        if len(known) < len(sums):
            return None
        k = node.which
        return [Group(SOFTMAX, 1.0, [known[k], *known[:k], *known[k + 1 :]])]
    return None


def _one_sum(output: Output) -> Part | None:
    """Return the one sum of trees that an output is."""
    if len(output) != 1 or output[0].link != IDENTITY:
        return None
    group = output[0]
    part = group.parts[0]
    trees = [(nodes, column, own * group.weight) for nodes, column, own in part.trees]
    off = part.rounding * abs(group.weight) + group.rounding
    return Part(part.base * group.weight, trees, off)
