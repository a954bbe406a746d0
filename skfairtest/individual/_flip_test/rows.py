"""What is reported of single rows: whose output changes, with their moved twins and outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.individual._flip_test.judge import ComparedGroup, Judge


def flips_by_row(
    judge: Judge, Z: Floats, labels: Any, parts: list[ComparedGroup]
) -> dict[str, Any]:
    """Return the results that are about single rows.

    Parameters
    ----------
    judge : Judge
        Names the labels.
    Z : ndarray of shape (n_rows, n_features)
        All rows.
    labels : ndarray of shape (n_groups,)
        The groups.
    parts : list of ComparedGroup
        The rows of each group, moved to each other group.
    """
    flips = [np.flatnonzero(part.shown.verdict) for part in parts]
    gap = _of_flips([part.shown.gap for part in parts], flips)
    order = np.argsort(-gap, kind="stable")  # the largest difference first
    position = _of_flips([part.rows for part in parts], flips)[order]
    twins = _of_flips([part.Z for part in parts], flips)[order]
    pair = np.repeat(np.arange(len(parts)), [len(own) for own in flips])[order]
    # A row that changes in several groups is reported once: as where it differs most.
    chosen = np.sort(np.unique(position, return_index=True)[1])
    own, to = (np.array([getattr(part, name) for part in parts])[pair] for name in ("own", "to"))
    degree, worst = _worst(judge, Z, parts)
    return {
        "_state": {
            **worst,
            "flip_rows": Z[position],
            "flip_twins": twins,
            "rows": Z[position[chosen]],
            "twins": twins[chosen],
            "cases": {
                "position": position.tolist(),
                "group": labels[own].tolist(),
                "to": labels[to].tolist(),
            },
            "outputs": _outputs(judge, Z[position], twins, parts, flips, order),
        },
        "fairness_degree_": degree,
        "disparities_": gap[order][chosen],
        "n_found_": len(chosen),
        "n_inputs_": len(Z),
        "moved_rate_": len(chosen) / len(Z),
    }


def _of_flips(values: list[Any], flips: list[Ints]) -> Any:
    return np.concatenate([part[rows] for part, rows in zip(values, flips, strict=True)])


def _worst(judge: Judge, Z: Floats, parts: list[ComparedGroup]) -> tuple[float, dict[str, Any]]:
    """Return the largest difference, and the row and the moved twin that show it."""
    part = max(parts, key=lambda part: float(part.shown.disparity.max()))
    shown, k = part.shown, int(part.shown.disparity.argmax())
    if not shown.disparity[k] > 0:
        return 0.0, {}
    larger_first = shown.pair[k]
    twins = np.stack([Z[part.rows[k]], part.Z[k]])[larger_first]
    worst = {
        "worst": twins,
        "worst_outputs": shown.outputs[k].copy(),
        "worst_class": judge.model.output_name(int(shown.output[k])),
    }
    if judge.model.response == "labels":
        codes = np.array([part.before.labels[k], part.after.labels[k]])[larger_first]
        named = judge.names(codes, twins)
        worst["worst_labels"] = np.array([named[int(code)] for code in codes])
    return float(shown.disparity[k]), worst


def _outputs(
    judge: Judge, rows: Floats, twins: Floats, parts: list[ComparedGroup], flips: list[Ints],
    order: Ints,
) -> dict[str, list[Any]]:  # fmt: skip
    """Return the outputs of the rows that flip and of their moved twins."""
    table: dict[str, list[Any]] = {}
    sides = {
        "before": [part.before for part in parts],
        "after": [part.after for part in parts],
    }
    if judge.model.response != "labels":
        for side, outputs in sides.items():
            of_most = [
                given.scores[np.arange(len(part.rows)), part.shown.output]
                for given, part in zip(outputs, parts, strict=True)
            ]
            table[side] = _of_flips(of_most, flips)[order].tolist()
    gap = _of_flips([part.shown.gap for part in parts], flips)
    table["difference"] = gap[order].tolist()
    if judge.by_labels:
        codes = [
            _of_flips([given.labels for given in outputs], flips)[order]
            for outputs in sides.values()
        ]
        names = _names(judge, np.concatenate(codes), np.concatenate([rows, twins]))
        for side, own in zip(sides, codes, strict=True):
            table[f"label {side}"] = [names[code] for code in own.tolist()]
    return table


def _names(judge: Judge, codes: Any, Z: Floats) -> dict[int, Any]:
    """Return the names of all labels; `Z` has the row that each is of."""
    if not len(codes):
        return {}
    known, first = np.unique(codes, return_index=True)
    return judge.names(known.tolist(), Z[first])
