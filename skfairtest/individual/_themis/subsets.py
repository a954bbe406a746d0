"""The search for minimal discriminating subsets of attributes; a part of Themis."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from skfairtest.exceptions import users_level
from skfairtest.individual._themis.measurement import Measurement
from skfairtest.space._column_names import resolve_columns
from skfairtest.space._space import InputSpace

#: Combinations of sensitive values beyond which an input cannot be compared with all its twins.
MAX_COMBINATIONS = 1000


class SubsetSearch:
    """Subsets of the candidates from small to large, each on its own input space.

    Parameters
    ----------
    columns : list of int
        Positions of the candidates.
    largest : int
        Size of the largest subsets.
    measure : {"causal", "group"}
        What decides.
    threshold : float
        Share above which a subset discriminates.

    Attributes
    ----------
    minimal : list of set
        Positions of the columns of each minimal discriminating subset.
    scores : list of dict
        What was measured of each subset.
    """

    def __init__(self, columns: list[int], largest: int, measure: str, threshold: float) -> None:
        self.columns = columns
        self.largest = largest
        self.measure = measure
        self.threshold = threshold
        self.minimal: list[set[int]] = []
        self.scores: list[dict[str, Any]] = []

    def subsets(self) -> Iterator[tuple[int, ...]]:
        """Subsets by size, without supersets of those that discriminate.

        A superset has all the twins of the subset and more, and its groups are parts of the
        subset's, so neither measure can be smaller.
        """
        for size in range(1, self.largest + 1):
            for subset in combinations(self.columns, size):
                if not any(minimal <= set(subset) for minimal in self.minimal):
                    yield subset

    def note(self, subset: tuple[int, ...], measured: Measurement, names: list[Any]) -> None:
        """Note what was measured of a subset."""
        causal, group = measured.causal(), measured.group()
        share = causal[0] if self.measure == "causal" else group[0]
        if share > self.threshold:
            self.minimal.append(set(subset))
        self.scores.append(
            {
                "subset": [names[j] for j in subset],
                "discriminates": bool(share > self.threshold),
                "causal": causal[0],
                "causal_interval": list(causal[1:]),
                "group": group[0],
                "group_interval": list(group[1:]),
            }
        )


def candidate_columns(names: list[Any], candidates: Any) -> list[int]:
    """Positions of the candidates, in the order of the table."""
    try:
        return sorted(resolve_columns(names, candidates))
    except ValueError as error:
        raise ValueError(str(error).replace("sensitive_features", "candidates")) from None


def check_candidates(space: InputSpace, columns: list[int]) -> None:
    """See that the subsets can be searched, before a query is spent.

    Raises
    ------
    ValueError
        If a candidate has one value only.

    Warns
    -----
    UserWarning
        Where larger subsets would have more twins than can be compared.
    """
    names = [space.feature_names[j] for j in columns]
    constant = [space.feature_names[j] for j in columns if space.domain.columns[j].n_values < 2]
    if constant:
        raise ValueError(
            f"candidates must have two values at least; {constant!r} have one. Leave them out, or "
            "give bounds or categories of InputSpace."
        )
    fits = largest_subset(space, columns)
    if fits < min(len(columns), space.n_features - 1):
        warnings.warn(
            f"Of the candidates {names!r}, subsets of up to {fits} columns are searched: larger "
            f"ones have more than {MAX_COMBINATIONS} combinations of values. Name fewer "
            "candidates, or narrow their domains, to search larger ones.",
            UserWarning,
            stacklevel=users_level(),
        )


def largest_subset(space: InputSpace, columns: list[int]) -> int:
    """The size up to which the subsets of the candidates are searched."""
    # Twins must have at least one attribute in common.
    largest = min(len(columns), space.n_features - 1)
    # Of columns with a real one among them no more twins are compared than can be.
    sizes = sorted(space.domain.columns[j].n_values for j in columns)
    listed = [int(size) for size in sizes if np.isfinite(size)]
    fits = [
        k for k in range(largest + 1)
        if math.prod(listed[len(listed) - min(k, len(listed)) :]) <= MAX_COMBINATIONS
    ]  # fmt: skip
    return max(fits)


def check_combinations(n: int, names: list[Any], remedy: str) -> None:
    """See that an input can be compared with all its twins."""
    if n > MAX_COMBINATIONS:
        raise ValueError(
            f"ThemisAuditor compares each input with all its twins, at most {MAX_COMBINATIONS}; "
            f"{names!r} have up to {n} combinations of values. {remedy} columns, narrow "
            "their domains by InputSpace(bounds=...), or categories= or steps= of it, or use "
            "RandomAuditor (two random twins of each input) or SBFTAuditor (the largest "
            "disparity)."
        )
