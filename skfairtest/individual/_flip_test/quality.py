"""How good a map is: whether moved rows can be told from real ones, how far and where they went."""

from __future__ import annotations

import itertools
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from skfairtest import _clock
from skfairtest._parameters import check_methods
from skfairtest._threads import one_thread
from skfairtest._typing import Floats, Ints
from skfairtest.exceptions import users_level
from skfairtest.individual._flip_test.judge import ComparedGroup
from skfairtest.individual._flip_test.maps import Map, Maps, differs
from skfairtest.space._layout import Layout
from skfairtest.transports._quantile import is_missing

#: Rows of either side that the classifier needs.
LEAST_SIDE = 20
#: Rows of either side that have to be unseen: so many tell an AUC within 0.03 (one standard error).
LEAST_UNSEEN = 200
#: One in so many rows is unseen.
N_FOLDS = 3


class Distance(NamedTuple):
    """How far rows were moved, and how many of them to where nobody is."""

    distance: float
    out_of_range: float


def distances(
    maps: Maps, Z: Floats, parts: list[ComparedGroup], layout: Layout
) -> dict[tuple[int, int], Distance]:
    """Return for each pair of groups how far its rows were moved."""
    groups, kept = maps.groups, kept_columns(maps, Z)
    return {
        (part.own, part.to): Distance(
            distance(Z, Z[part.rows], part.Z, kept, layout),
            float(outside(part.Z, Z[groups.codes == part.to], kept, layout).mean()),
        )
        for part in parts
    }


def kept_columns(maps: Maps, Z: Floats) -> Ints:
    """Return the positions of the columns that do not say the group."""
    return np.setdiff1d(np.arange(Z.shape[1]), maps.groups.columns)


def quality_table(
    labels: Any, moved: dict[tuple[int, int], Distance],
    aucs: dict[tuple[int, int], tuple[float, float]],
) -> pd.DataFrame:  # fmt: skip
    """Return the quality of the map of each pair of groups; AUCs that are not known are NaN.

    The table has a line for each pair, with `auc_before` and `auc_after`, `distance` and
    `out_of_range`.
    """
    lines = []
    for (own, to), known in moved.items():
        before, after = aucs.get((own, to), (np.nan, np.nan))
        line = {"group": labels[own], "to": labels[to], "auc_before": before, "auc_after": after}
        lines.append(line | known._asdict())
    return pd.DataFrame(lines)


def held_out_aucs(
    maps: Maps, Z: Floats, classifier: Any, rng: np.random.Generator,
    auc_before: dict[tuple[Any, Any], float],
) -> Iterator[tuple[tuple[int, int], tuple[float, float]]]:  # fmt: skip
    """Yield for each pair of groups how well rows, and moved rows, are told from real ones.

    A half of all groups is moved by a map that was learned from it, and compared with the other
    half of the other group. Of two groups with few rows the other half is as well, and the means of
    both are yielded in place of the first AUCs. What unmoved rows of two groups give does not
    depend on the map: it is measured once, and kept in `auc_before` by the labels of the groups,
    for other maps.
    """
    groups, kept = maps.groups, kept_columns(maps, Z)
    places, labels = range(len(groups)), groups.labels
    half = np.zeros(len(Z), dtype=bool)
    for g in places:
        rows = rng.permutation(np.flatnonzero(groups.codes == g))
        half[rows[: len(rows) // 2]] = True
    seed, halves = int(rng.integers(2**31)), (half, ~half)
    sides = [[_few(np.flatnonzero(h & (groups.codes == g)), rng) for g in places] for h in halves]
    least = min(len(rows) for rows in sides[0])
    n_halves = 2 if len(groups) == 2 and least < LEAST_UNSEEN * N_FOLDS else 1
    given, before, after = set(auc_before), defaultdict(list), defaultdict(list)
    for k in range(n_halves):
        fitted: Map | None = None
        for own, to in itertools.permutations(places, 2):
            rows, real = Z[sides[k][own]], Z[sides[1 - k][to]][:, kept]
            if min(len(rows), len(real)) < LEAST_SIDE:
                continue
            if fitted is None:
                fitted = maps.learn(Z[halves[k]], groups.codes[halves[k]])
            twins = fitted.move(rows, np.full(len(rows), own), np.full(len(rows), to))
            after[own, to].append(auc(twins[:, kept], real, classifier, seed))
            pair, other = (labels[own], labels[to]), (labels[to], labels[own])
            if pair not in given and other not in before:
                before[pair].append(auc(rows[:, kept], real, classifier, seed))
                auc_before[pair] = auc_before[other] = float(np.mean(before[pair]))
            yield (own, to), (auc_before[pair], float(np.mean(after[own, to])))


def _few(rows: Ints, rng: np.random.Generator) -> Ints:
    # The classifier is trained with so many rows of either side.
    most = 5_000
    return rows if len(rows) <= most else rng.permutation(rows)[:most]


def auc(rows: Floats, real: Floats, classifier: Any, seed: int) -> float:
    """Return the AUC of a classifier between two sets of rows, of which it has not seen a third.

    Of few rows each third is left unseen in turn, and the mean is returned.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold

    Z = np.concatenate([rows, real])
    is_real = np.repeat([0, 1], [len(rows), len(real)])
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    found = []
    with one_thread():  # so small a table takes longer on several
        for seen, unseen in folds.split(Z, is_real):
            _clock.check_ending()
            one = classifier
            if one is None:
                # Of few rows, leaves of 20 would leave nothing to tell. 15 trees tell as much as 50
                # at a third of their rate.
                least = int(np.clip(len(seen) // 12, 3, 20))
                one = HistGradientBoostingClassifier(
                    max_iter=15, max_leaf_nodes=15, learning_rate=0.3, min_samples_leaf=least,
                    early_stopping=False, random_state=0,
                )  # fmt: skip
            fitted = clone(one).fit(Z[seen], is_real[seen])
            predicted = fitted.predict_proba(Z[unseen])[:, 1]
            found.append(roc_auc_score(is_real[unseen], predicted))
            if np.bincount(is_real[unseen]).min() >= LEAST_UNSEEN:
                break
    return float(np.mean(found))


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
