"""What a search found, apart from the model that it asked: it travels, and several become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skfairtest._typing import Floats
from skfairtest.oracle._archive import Archive, History
from skfairtest.oracle._judgement import Worst
from skfairtest.oracle._model import named_labels
from skfairtest.oracle._oracle import Oracle
from skfairtest.oracle._row_hash import Keys, KeySet
from skfairtest.oracle._stop import StopSearch

#: Points of the joint course of several searches.
COURSE = 500


@dataclass
class Findings:
    """What one search found, or several together.

    Attributes
    ----------
    Z, pairs, disparities : ndarray
        Discriminatory inputs (n, n_features), the sensitive codes of the two twins of each
        (n, 2, n_sensitive), and their disparities (n,); worst first.
    history : dict of str to ndarray
        The course.
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
    notes : list
        What else the auditor's class wants to know of each of the searches.
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
    notes: list[Any]


def findings_of(
    oracle: Oracle, stop: StopSearch, notes: list[Any], *, keys: bool = False
) -> Findings:
    """What a run has found.

    Parameters
    ----------
    oracle : Oracle
        Of the run.
    stop : StopSearch
        What ended it.
    notes : list
        What else the auditor's class wants to know.
    keys : bool, default=False
        Whether keys of inputs are wanted: to join it with others.
    """
    Z, pairs, disparities = oracle.found()
    worst, worst_class, worst_labels = oracle.worst, None, None
    if worst is not None:
        worst_class = oracle.output_name(worst.output)
        if oracle.response == "labels":
            worst_labels = named_labels(worst.labels, oracle.estimator)
    nothing = np.empty(0, dtype=np.uint64)
    own = oracle.keys() if keys else (nothing, nothing, nothing)
    return Findings(
        Z, pairs, disparities, oracle.history.arrays(), oracle.degree, worst, worst_class,
        worst_labels, oracle.response, oracle.n_found, oracle.n_inputs, oracle.n_queries,
        oracle.seconds, stop, *own, notes,
    )  # fmt: skip


def merged(parts: Sequence[Findings], stop: StopSearch, seconds: float, shape: Any) -> Findings:
    """Independent searches of one model on one domain as one.

    Parameters
    ----------
    parts : sequence of Findings
        In an order that does not depend on which was ready first.
    stop : StopSearch
        What ended the whole.
    seconds : float
        How long the whole took.
    shape : tuple of (int, int)
        Columns, and sensitive ones among them.

    Returns
    -------
    Findings
        Inputs found by several are there once; memory stays what one search may take.
    """
    archive, found, seen = Archive(*shape), KeySet(), KeySet()
    n_found = n_inputs = 0
    for part in parts:
        archive.add(part.Z, part.pairs, part.disparities, part.keys)
        # Beyond what is remembered, an input may be counted twice, as in a search by itself.
        n_found += part.n_found - len(part.found) + int(found.add(part.found).sum())
        n_inputs += part.n_inputs - len(part.seen) + int(seen.add(part.seen).sum())
    best = max(parts, key=lambda part: part.degree, default=None)
    worst = None if best is None else best.worst
    Z, pairs, disparities = archive.rows()
    return Findings(
        Z, pairs, disparities, _course(parts, n_inputs, n_found, seconds),
        0.0 if best is None else best.degree, worst,
        None if best is None else best.worst_class,
        None if best is None else best.worst_labels,
        parts[0].response if parts else "unknown",
        n_found, n_inputs, sum(part.n_queries for part in parts), seconds,
        stop, archive.keys(), found.keys(), seen.keys(),
        [note for part in parts for note in part.notes],
    )  # fmt: skip


def joint_stop(parts: Sequence[Findings]) -> StopSearch:
    """What ended several searches: what ended most of them, and how many."""
    kinds = [part.stop.kind for part in parts]
    kind = max(dict.fromkeys(kinds), key=kinds.count)
    texts = {part.stop.text for part in parts if part.stop.kind is kind}
    each = texts.pop() if len(texts) == 1 else kind.value
    return StopSearch(kind, f"{each} in {kinds.count(kind)} of {len(kinds)} restarts")


def _course(
    parts: Sequence[Findings], n_inputs: int, n_found: int, seconds: float
) -> dict[str, Floats]:
    """All searches side by side: after a share of each one's queries, what all had found."""
    if not any(len(part.history["queries"]) for part in parts):
        return History().arrays()
    shares = np.linspace(0.0, 1.0, COURSE + 1)[1:]
    total = dict.fromkeys(History.names, np.zeros(COURSE))
    for part in parts:
        course = part.history
        if not len(course["queries"]):
            continue
        at = np.searchsorted(course["queries"], shares * course["queries"][-1], side="right") - 1
        for name in History.names:
            reached = np.where(at >= 0, course[name][np.maximum(at, 0)], 0.0)
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
