"""Settings of the searches that bound networks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NetworkSearchSettings:
    """Sizes of the searches that bound networks: memory, batches, and how long local search tries.

    - `max_open_boxes`: open boxes of inputs beyond which the search ends with the bounds so far.
    - `max_bytes`: what the open nodes of a search on scores may take.
    - `max_pairs`: ordered pairs of combinations of sensitive values (times classes, of a softmax)
      beyond which there is no search on scores that lists them.
    - `max_classes`: classes beyond which a softmax has no such search.
    - `max_products`: products of widths in one go of a search on slopes.
    - `max_nodes`: nodes of one hidden layer that are bounded in one go.
    - `n_hints`: inputs of good multipliers that the local search goes on from, each time.

    - `n_candidates`: pairs of twins that the local search improves.
    - `n_rounds`: rounds over all attributes after a perturbation.
    - `max_perturbed`: attributes that one perturbation changes at most.
    - `max_stale`: perturbations without anything better after which a candidate begins anew.
    - `max_tried`: values of a tabulated attribute beyond which a sample of them is tried.
    - `n_places`: places of a variable that are tried before those around the best.
    """

    max_open_boxes: int = 200_000
    max_bytes: int = 1_000_000_000
    max_pairs: int = 20_000
    max_classes: int = 6
    max_products: int = 2_000_000
    max_nodes: int = 128
    n_hints: int = 8

    n_candidates: int = 32
    n_rounds: int = 8
    max_perturbed: int = 4
    max_stale: int = 15
    max_tried: int = 64
    n_places: int = 9


DEFAULTS = NetworkSearchSettings()
