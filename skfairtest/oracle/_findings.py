"""The findings of a search, without its model, so that they can be sent and combined."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skfairtest._typing import Floats
from skfairtest.oracle._archive import Archive, History
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._judgement import Worst
from skfairtest.oracle._model import named_labels
from skfairtest.oracle._row_hash import Keys, KeySet
from skfairtest.oracle._stop import StopSearch, stopped_by


@dataclass
class Findings:
    """Findings of one search, or of several together.

    Attributes
    ----------
    Z, pairs, disparities : ndarray
        Discriminatory inputs (n, n_features), the encoded sensitive values of the two twins of each
        (n, 2, n_sensitive), and their disparities (n,); worst first.
    history : dict of str to ndarray
        What was found with how many queries.
    degree : float
        The largest disparity.
    worst : Worst or None
        The pair that shows it.
    worst_class, worst_labels : object
        The class that its outputs are of, and its labels, as far as they are known.
    response : str
        How the model was asked.
    n_found, n_inputs, n_queries : int
        Unique discriminatory inputs, distinct inputs, queries.
    seconds : float
        How long it took.
    stop : StopSearch
        What ended it.
    keys, found, seen : ndarray of uint64
        Keys of the rows of `Z`, of all inputs that discriminate, and of all inputs; empty where
        nobody asked for them.
    reads_labels : bool
        Whether `predict` was asked about the first flips alone.
    measured : list of dict
        What else each search has measured: its `SearchHandle.measured`.
    error : BaseException or None
        What the search has raised, where that was no `StopSearch`.
    """

    Z: Floats
    pairs: Floats
    disparities: Floats
    history: dict[str, Floats]
    degree: float
    worst: Worst | None
    worst_class: Any
    worst_labels: Any
    response: str
    n_found: int
    n_inputs: int
    n_queries: int
    seconds: float
    stop: StopSearch
    keys: Keys
    found: Keys
    seen: Keys
    reads_labels: bool
    measured: list[dict[str, Any]]
    error: BaseException | None = None

    def __getstate__(self) -> dict[str, Any]:
        if self.error is not None and not hasattr(self.error, "__notes__"):
            # A traceback does not travel between processes; its words do.
            self.error.add_note("".join(traceback.format_exception(self.error)))
        return vars(self)


def findings_of(
    search: SearchHandle, ended: BaseException | None, *, keys: bool = False
) -> Findings:
    """Return the findings of a search.

    Parameters
    ----------
    search : SearchHandle
        That has ended.
    ended : BaseException or None
        What it has raised.
    keys : bool, default=False
        Whether keys of inputs are wanted: to join it with others.
    """
    record, model, so_far = search._record, search._model, search.so_far
    Z, pairs, disparities = record.found()
    worst, worst_class, worst_labels = record.worst, None, None
    if worst is not None:
        worst_class = model.output_name(worst.output)
        if model.response == "labels":
            worst_labels = named_labels(worst.labels, model.estimator)
    nothing = np.empty(0, dtype=np.uint64)
    own = record.keys() if keys else (nothing, nothing, nothing)
    return Findings(
        Z, pairs, disparities, record.history.arrays(), so_far.degree, worst, worst_class,
        worst_labels, model.response, so_far.found, so_far.inputs, so_far.queries, so_far.seconds,
        stopped_by(ended), *own, not model.flips_to_confirm, [search.measured], _error(ended),
    )  # fmt: skip


def _error(ended: BaseException | None) -> BaseException | None:
    return None if isinstance(ended, StopSearch) else ended


class JoinedFindings:
    """Combines independent searches of one model and domain, in the order they are added.

    Inputs found by several are there once; memory stays what one search may take.

    Parameters
    ----------
    n_features, n_sensitive : int
        Columns, and sensitive ones among them.

    Attributes
    ----------
    parts : list of Findings
        Of each search so far.
    n_found, n_inputs : int
        Unique discriminatory inputs and distinct inputs of all searches so far.
    """

    def __init__(self, n_features: int, n_sensitive: int) -> None:
        self.parts: list[Findings] = []
        self.n_found = self.n_inputs = 0
        self._archive = Archive(n_features, n_sensitive)
        self._found, self._seen = KeySet(), KeySet()

    @property
    def degree(self) -> float:
        """The largest disparity so far."""
        return max((part.degree for part in self.parts), default=0.0)

    def add(self, part: Findings) -> None:
        """Add the findings of one more search."""
        self.parts.append(part)
        self._archive.add(part.Z, part.pairs, part.disparities, part.keys)
        # Beyond what is remembered, an input may be counted twice, as in a search by itself.
        self.n_found += part.n_found - len(part.found) + int(self._found.add(part.found).sum())
        self.n_inputs += part.n_inputs - len(part.seen) + int(self._seen.add(part.seen).sum())

    def findings(self, ended: BaseException | None, clock: SearchHandle) -> Findings:
        """Return the findings of all searches together, with this stop and clock."""
        parts, seconds = self.parts, clock.so_far.seconds
        best = max(parts, key=lambda part: part.degree, default=None)
        Z, pairs, disparities = self._archive.rows()
        return Findings(
            Z, pairs, disparities, _joint_history(parts, self.n_inputs, self.n_found, seconds),
            self.degree,
            None if best is None else best.worst,
            None if best is None else best.worst_class,
            None if best is None else best.worst_labels,
            parts[0].response if parts else clock.response,
            self.n_found, self.n_inputs, sum(part.n_queries for part in parts), seconds,
            stopped_by(ended), self._archive.keys(), self._found.keys(), self._seen.keys(),
            any(part.reads_labels for part in parts),
            [one for part in parts for one in part.measured], _error(ended),
        )  # fmt: skip


def _joint_history(
    parts: Sequence[Findings], n_inputs: int, n_found: int, seconds: float
) -> dict[str, Floats]:
    """Return the joint history: what all searches had found after each share of their queries."""
    if not any(len(part.history["queries"]) for part in parts):
        return History().arrays()
    n_points = 500  # of the joint history
    shares = np.linspace(0.0, 1.0, n_points + 1)[1:]
    total = dict.fromkeys(History.names, np.zeros(n_points))
    for part in parts:
        history = part.history
        if not len(history["queries"]):
            continue
        at = np.searchsorted(history["queries"], shares * history["queries"][-1], side="right") - 1
        for name in History.names:
            reached = np.where(at >= 0, history[name][np.maximum(at, 0)], 0.0)
            if name == "degree":
                total[name] = np.maximum(total[name], reached)
            else:
                total[name] = total[name] + reached
    # What several have found counts once in the end, and seconds of workers pass side by side.
    total["inputs"] = np.minimum(total["inputs"], n_inputs)
    total["found"] = np.minimum(total["found"], n_found)
    whole = total["seconds"][-1]
    total["seconds"] = total["seconds"] * (seconds / whole if whole else 0.0)
    changed = np.r_[True, np.diff(total["queries"]) > 0]
    return {name: column[changed] for name, column in total.items()}
