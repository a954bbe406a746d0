"""What bounds models of one kind, from the models as they are read."""

from __future__ import annotations

from skfairtest.exact._dispatch import softmax_family
from skfairtest.exact._networks.family import NetworkFamily
from skfairtest.exact._trees.family import TreeFamily
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._readers import read_model


def tree_family(model, space, response, *settings, **named):
    """Bounds of a model of trees."""
    return TreeFamily(space, read_model(model, Chain(space), response).outputs, *settings, **named)


def network_family(model, space, response):
    """Bounds of a network."""
    outputs = read_model(model, Chain(space), response).outputs
    if isinstance(outputs[0], list):
        return softmax_family(space, outputs)  # a linear model of several classes
    return NetworkFamily(space, *outputs[0].network)
