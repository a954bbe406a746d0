"""How good a map is: whether moved rows can be told from real ones, how far and where they went."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from skfairtest import _clock
from skfairtest._parameters import check_methods
from skfairtest._threads import one_thread
from skfairtest._typing import Floats, Ints
from skfairtest.exceptions import users_level
from skfairtest.individual._flip_test.maps import Maps, MovedRows, differs
from skfairtest.space._layout import Layout
from skfairtest.transports._quantile import is_missing

#: Rows of either side that the classifier needs.
LEAST_SIDE = 20


def quality_table(
    maps: Maps, Z: Floats, moved: list[MovedRows], layout: Layout, classifier: Any,
    rng: np.random.Generator,
) -> pd.DataFrame:  # fmt: skip
    """Return the quality of the map of each pair of groups.

    The table has a line for each pair, with `auc_before` and `auc_after`, `distance` and
    `out_of_range`.
    """
    groups = maps.groups
    kept = np.setdiff1d(np.arange(Z.shape[1]), groups.columns)
    aucs: dict[tuple[int, int], tuple[float, float]] = {}
    with suppress(_clock.OutOfTime):
        aucs = held_out_aucs(maps, Z, kept, classifier, rng)
    lines = []
    for part in moved:
        others = Z[groups.codes == part.to]
        before, after = aucs.get((part.own, part.to), (np.nan, np.nan))
        lines.append(
            {
                "group": groups.labels[part.own],
                "to": groups.labels[part.to],
                "auc_before": before,
                "auc_after": after,
                "distance": distance(Z, Z[part.rows], part.Z, kept, layout),
                "out_of_range": float(outside(part.Z, others, kept, layout).mean()),
            }
        )
    return pd.DataFrame(lines)


def held_out_aucs(
    maps: Maps, Z: Floats, kept: Ints, classifier: Any, rng: np.random.Generator
) -> dict[tuple[int, int], tuple[float, float]]:
    """Return for each pair of groups how well rows, and moved rows, are told from real ones.

    A half of all groups is moved by a map that was learned from it, and compared with the other
    half of the other group. Of two groups, both halves are, and the means are returned.
    """
    groups = maps.groups
    half = np.zeros(len(Z), dtype=bool)
    for g in range(len(groups)):
        rows = rng.permutation(np.flatnonzero(groups.codes == g))
        half[rows[: len(rows) // 2]] = True
    found: dict[tuple[int, int], list[tuple[float, float]]] = {}
    sizes = np.bincount(groups.codes)
    seed = int(rng.integers(2**31))
    # Of more groups there are many pairs, and training the classifiers takes most of the time.
    for own_half in (half, ~half) if len(groups) == 2 else (half,):
        usable = sizes.min() // 2 >= 2
        fitted = maps.learn(Z[own_half], groups.codes[own_half]) if usable else None
        for own in range(len(groups)):
            rows = _few(np.flatnonzero(own_half & (groups.codes == own)), rng)
            for to in range(len(groups)):
                if to == own:
                    continue
                real = _few(np.flatnonzero(~own_half & (groups.codes == to)), rng)
                pair = (np.nan, np.nan)
                if fitted is not None and min(len(rows), len(real)) >= LEAST_SIDE:
                    here, there = np.full(len(rows), own), np.full(len(rows), to)
                    twins = fitted.move(Z[rows], here, there)
                    pair = (
                        auc(Z[rows][:, kept], Z[real][:, kept], classifier, seed),
                        auc(twins[:, kept], Z[real][:, kept], classifier, seed),
                    )
                found.setdefault((own, to), []).append(pair)
    return {
        pair: (float(np.mean([v[0] for v in values])), float(np.mean([v[1] for v in values])))
        for pair, values in found.items()
    }


def _few(rows: Ints, rng: np.random.Generator) -> Ints:
    # The classifier is trained with so many rows of either side.
    most = 5_000
    return rows if len(rows) <= most else rng.permutation(rows)[:most]


def auc(rows: Floats, real: Floats, classifier: Any, seed: int) -> float:
    """Return the AUC of a classifier between two sets of rows, out of fold."""
    if classifier is None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        classifier = HistGradientBoostingClassifier(
            max_iter=50, max_leaf_nodes=15, early_stopping=False, random_state=0
        )
    from sklearn.model_selection import StratifiedKFold

    Z = np.concatenate([rows, real])
    is_real = np.repeat([0, 1], [len(rows), len(real)])
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    predicted = np.empty(len(Z))
    with one_thread():  # so small a table takes longer on several
        for seen, unseen in folds.split(Z, is_real):
            _clock.check_ending()
            fitted = clone(classifier).fit(Z[seen], is_real[seen])
            predicted[unseen] = fitted.predict_proba(Z[unseen])[:, 1]
    return float(roc_auc_score(is_real, predicted))


def distance(Z: Floats, rows: Floats, moved: Floats, kept: Ints, layout: Layout) -> float:
    """Return how far rows moved: the mean over rows and columns, in standard deviations.

    Another category, and a value that is missing in one of the two, count as 1.
    """
    total = []
    for j in kept.tolist():
        column = layout.columns[j]
        if column.is_category:
            total.append(differs(rows[:, j], moved[:, j]).mean())
            continue
        gone = [is_missing(column, part[:, j]) for part in (rows, moved)]
        present = Z[:, j][~is_missing(column, Z[:, j])]
        scale = present.std() if len(present) else 0.0
        apart = np.abs(rows[:, j] - moved[:, j]) / (scale if scale > 0 else 1.0)
        total.append(np.where(gone[0] | gone[1], gone[0] != gone[1], apart).mean())
    return float(np.mean(total)) if total else 0.0


def outside(moved: Floats, others: Floats, kept: Ints, layout: Layout) -> Any:
    """Return which moved rows have a value that the other group has not, shape (n,).

    That is a number below its smallest or above its largest one, or a category that it lacks.
    """
    found = np.zeros(len(moved), dtype=bool)
    for j in kept.tolist():
        column, own, real = layout.columns[j], moved[:, j], others[:, j]
        gone, gone_real = is_missing(column, own), is_missing(column, real)
        found |= gone & ~gone_real.any()
        if column.is_category:
            found |= ~gone & ~np.isin(own, real)
        elif (~gone_real).any():
            present = real[~gone_real]
            found |= ~gone & ((own < present.min()) | (own > present.max()))
        else:
            found |= ~gone
    return found


def check_classifier(classifier: Any) -> None:
    """Check that a classifier can tell rows apart by probabilities."""
    hint = "Give a HistGradientBoostingClassifier(), or None."
    check_methods("classifier", classifier, ("fit", "predict_proba"), hint)


def warn_of_quality(table: pd.DataFrame, *, is_whole: bool = True) -> None:
    """Warn of maps that do not reach the other group or were not judged, and of groups apart.

    Of maps for which there was no time (not `is_whole`), what ended the run says so.
    """
    # The AUC above which a map does not reach the other group, and that of unmoved rows from which
    # on two groups have hardly any rows alike.
    most, no_overlap = 0.6, 0.995
    text, unjudged = "", table[table["auc_after"].isna()]
    if len(unjudged) and is_whole:
        own, to = (unjudged[name].tolist()[0] for name in ("group", "to"))
        more = f", nor could {len(unjudged) - 1} other maps" if len(unjudged) > 1 else ""
        unknown = (
            f"The map from {own!r} to {to!r} could not be judged{more}: a classifier that tells "
            f"moved rows from real ones needs {2 * LEAST_SIDE} rows of each group. Whether moved "
            "twins are like the other group is not known, and neither is how far what was found "
            "rests on errors of the map. Pass more rows."
        )
        warnings.warn(unknown, UserWarning, stacklevel=users_level())
    if (table["auc_after"] > most).any():
        worst, others = _largest(table, "auc_after", most)
        text = (
            f"The map from {worst['group']!r} to {worst['to']!r} does not reach the other group: a "
            "classifier tells moved rows from real ones with an AUC of "
            f"{worst['auc_after']:.2f} (0.5 is a perfect map; unmoved rows: "
            f"{worst['auc_before']:.2f})"
            + (f", and {others} other maps do not either" if others else "")
            + ". Read what was found with care. Try another transport, let more columns move "
            "(keep=), or pass more rows."
        )
    elif (table["auc_before"] > no_overlap).any():
        worst, _ = _largest(table, "auc_before", no_overlap)
        text = (
            f"Rows of {worst['group']!r} and of {worst['to']!r} hardly overlap: before they are "
            f"moved, a classifier tells them apart with an AUC of {worst['auc_before']:.3f}. So no "
            "rows of both groups are alike, and what a moved twin is rests on the map alone. Read "
            "what was found with care, and leave out columns that say the group."
        )
    if text:
        warnings.warn(text, UserWarning, stacklevel=users_level())


def _largest(table: pd.DataFrame, name: str, most: float) -> tuple[dict[str, Any], int]:
    """Return the line with the largest figure, and how many others are above `most`."""
    # By columns: a row of a table of numbers alone would make floats of the groups.
    place = int(table[name].argmax())
    line = {str(key): table[key].tolist()[place] for key in table}
    return line, int((table[name] > most).sum()) - 1
