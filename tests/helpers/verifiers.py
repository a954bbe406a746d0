"""What bounds models of one kind, from the models as they are read."""

from __future__ import annotations

from skfairtest.exact._dispatch import softmax_verifier
from skfairtest.exact._networks.verifier import NetworkVerifier
from skfairtest.exact._trees.verifier import TreeVerifier
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._readers import read_model


def tree_verifier(model, space, response, *settings, **named):
    """Bounds of a model of trees."""
    return TreeVerifier(
        space, read_model(model, Chain(space), response).outputs, *settings, **named
    )


def network_verifier(model, space, response):
    """Bounds of a network."""
    outputs = read_model(model, Chain(space), response).outputs
    if isinstance(outputs[0], list):
        return softmax_verifier(space, outputs)  # a linear model of several classes
    return NetworkVerifier(space, *outputs[0].network)
