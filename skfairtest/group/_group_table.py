"""The rows of a table of groups: those of one attribute, and of its groups within strata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from skfairtest._statistics import ratio_interval
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.group._inference.counting import GroupRows, Means, Repeats
from skfairtest.group._inference.ratios import Ratios, ratios_to_highest
from skfairtest.group._inference.strata import (
    Smallest,
    decomposed,
    pairs_in_strata,
    pooled_difference,
    pooled_ratio,
    smallest_within,
)
from skfairtest.group._outcomes.outcomes import MetricRows
from skfairtest.group._rules.sensitive_groups import FEWEST_ROWS, UNKNOWN, Grouping

#: How the note of rows with a missing sensitive value begins.
MISSING = "value missing"
#: Groups in strata, of which more are taken for a mistake.
MOST_CELLS = 5_000_000


class How(NamedTuple):
    """What the rows of a table are made of, whatever the attribute; the first rate has ratios."""

    rates: dict[str, MetricRows]
    weights: Floats | None
    confidence: float
    min_share: float = 0.0
    repeats: Repeats | None = None
    strata: Grouping | None = None

    @property
    def first(self) -> MetricRows:
        """The rate that groups are compared by."""
        return next(iter(self.rates.values()))


class Strata(NamedTuple):
    """Rates of groups in strata, and the weights of their rows; of shape (n_strata, n_groups)."""

    rates: Means
    weight: Floats
    reference: int


class Part(NamedTuple):
    """The table's rows of one attribute, and what they say of it."""

    name: str
    groups: list[str]
    table: pd.DataFrame
    highest: str | None
    rates: Means
    compared: Bools
    strata: Strata | None = None

    @property
    def reference(self) -> str | None:
        """The group that the others are compared with in the strata; None without strata."""
        return None if self.strata is None else self.groups[self.strata.reference]


def part_of(attribute: Grouping, how: How, reference: int | None = None) -> Part:
    """Make the table's rows of one attribute.

    `reference` is the group that others are compared with within strata; None takes the one with
    the highest rate.
    """
    n_groups, unknown = len(attribute.groups), bool((attribute.codes < 0).any())
    groups = [*attribute.groups, *[UNKNOWN] * unknown]
    codes = np.where(attribute.codes < 0, n_groups, attribute.codes)
    sums = GroupRows(codes, len(groups), how.weights, how.repeats)
    share, (columns, rates) = sums.n / sums.n.sum(), _rates_of(sums, how)
    compared = (np.arange(len(groups)) < n_groups) & (share >= how.min_share)
    compared &= np.isfinite(rates.value)
    notes: list[list[str]] = [[] for _ in groups]
    highest, ratios = None, None
    if how.first.binary:
        ratios = ratios_to_highest(rates, compared, how.confidence)
        _note_ratios(notes, compared, share < how.min_share, ratios, unknown, how.min_share)
        if np.isfinite(ratios.value).any():
            highest = groups[int(np.nanargmax(ratios.value))]
    elif unknown:
        notes[-1].append(MISSING)
    whole = {"n": sums.n, "share": share, **_with_ratios(columns, ratios)}
    part = Part(attribute.name, groups, pd.DataFrame(), highest, rates, compared)
    if how.strata is None:
        table = _framed(attribute.name, groups, whole, notes)
        return part._replace(table=table)
    if reference is None and compared.any():
        reference = int(np.argmax(np.where(compared, rates.value, -np.inf)))
    return _with_strata(part, codes, how, reference, (whole, notes))


def _rates_of(sums: GroupRows, how: How) -> tuple[dict[str, Any], Means]:
    """All rates of groups with their intervals and counts, and the first of them."""
    columns: dict[str, Any] = {}
    first = None
    for name, rate in how.rates.items():
        means = sums.mean(rate.values, rate.counts, name)
        interval = means.share_interval if rate.binary else means.mean_interval
        low, high = interval(how.confidence)
        columns |= {name: means.value, f"{name}_low": low, f"{name}_high": high}
        if first is None:
            first = means
        else:
            columns[f"{name}_n"] = means.n
    assert first is not None, "there is a rate"
    return columns, first


def _with_ratios(columns: dict[str, Any], ratios: Ratios | None) -> dict[str, Any]:
    """The columns of rates, with those of ratios behind the three of the first rate."""
    if ratios is None:
        return columns
    names, made = list(columns), _three("impact_ratio", ratios)
    return {k: columns[k] for k in names[:3]} | made | {k: columns[k] for k in names[3:]}


def _three(name: str, figures: Sequence[Any]) -> dict[str, Any]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), figures, strict=False))


def _framed(
    name: str, groups: Any, columns: dict[str, Any], notes: list[list[str]]
) -> pd.DataFrame:
    for note, n in zip(notes, columns["n"].tolist(), strict=True):
        if n < FEWEST_ROWS:
            note.append(f"fewer than {FEWEST_ROWS} rows")
    text = ["; ".join(note) for note in notes]
    return pd.DataFrame({"attribute": name, "group": groups, **columns, "note": text})


def _note_ratios(
    notes: list[list[str]],
    compared: Bools,
    is_small: Bools,
    ratios: Ratios,
    unknown: bool,
    min_share: float,
) -> None:
    """Note why a group has no ratio."""
    for j, note in enumerate(notes):
        if unknown and j == len(notes) - 1:
            note.append(f"{MISSING}: no ratio")
        elif is_small[j]:
            note.append(f"under {100 * min_share:.4g}% of the rows: no ratio")
        elif not compared[j]:
            note.append("its rows have no weight")
        elif compared.sum() == 1:
            note.append("nothing to compare with: no ratio")
        elif not np.isfinite(ratios.value[j]):
            note.append("all rates are 0: no ratio")


# Within strata -----------------------------------------------------------------------------------


def _with_strata(
    part: Part,
    codes: Ints,
    how: How,
    reference: int | None,
    of_whole: tuple[dict[str, Any], list[list[str]]],
) -> Part:
    """Add the pooled figures of each group, and the rows of the groups in each stratum."""
    whole, notes = of_whole
    strata, n_groups = how.strata, len(part.groups)
    assert strata is not None, "who calls this has them"
    shape = len(strata.groups), n_groups
    if np.prod(shape) > MOST_CELLS:
        raise ValueError(
            f"control_features make {shape[0]:,} strata, {part.name!r} has {n_groups:,} groups; "
            f"expected at most {MOST_CELLS:,} groups in strata, because cells of few rows show "
            "nothing. Merge values, or name fewer control features."
        )
    sums = GroupRows(strata.codes * n_groups + codes, shape[0] * n_groups, how.weights, how.repeats)
    columns, flat = _rates_of(sums, how)
    weight = sums.weight(how.first.counts).reshape(shape)
    rates = Means._make(values.reshape(shape) for values in flat)
    share = sums.n / np.maximum(sums.n.reshape(shape).sum(axis=1), 1).repeat(n_groups)
    empty = np.full(shape, np.nan)
    ratios, rates_part, rest = Ratios(empty, empty, empty), empty, empty
    made = {column: np.full(n_groups, np.nan) for column in _columns_within(how.first.binary)}
    if reference is not None:
        part = part._replace(strata=Strata(rates, weight, reference))
        rates_part, rest = decomposed(rates.value, weight, reference)
        rates_part[:, ~part.compared] = rest[:, ~part.compared] = np.nan
        made |= _pooled(part, part.strata, how)
        ratios = _ratios_in_strata(rates, part.compared, reference, how.confidence)
    cells = {"n": sums.n, "share": share}
    cells |= _with_ratios(columns, Ratios(*map(np.ravel, ratios)) if how.first.binary else None)
    divided = {"from_rates": rates_part, "from_composition": rest}
    whole = {"stratum": "", **whole, **made, **{k: v.sum(axis=0) for k, v in divided.items()}}
    cells = {"stratum": np.repeat(np.array(strata.groups, dtype=object), n_groups), **cells}
    cells |= dict.fromkeys(made, np.nan) | {k: v.ravel() for k, v in divided.items()}
    why = _why_no_ratio(part, rates, reference) if how.first.binary else [[] for _ in sums.n]
    in_strata = _framed(part.name, part.groups * shape[0], cells, why)
    tables = [_framed(part.name, part.groups, whole, notes), in_strata[sums.n > 0]]
    return part._replace(table=pd.concat(tables, ignore_index=True))


def rules_in_strata(how: How, places: Ints, held: Sequence[Bools]) -> dict[str, Any]:
    """Rules compared with all other rows within strata.

    Parameters
    ----------
    how : How
        Of one rate, with strata.
    places : ndarray of int of shape (n_rules,)
        What the rules are known by.
    held : list of ndarray of bool of shape (n_rows,)
        Which rows each rule holds for.

    Returns
    -------
    dict of str to ndarray
        Columns of a table: the place of the rule, the stratum ("" where figures are pooled), and
        what `SubgroupAuditor.strata_` documents.
    """
    counts, strata = how.first.counts, how.strata
    assert strata is not None, "who calls this has them"
    # Only rows that count for the rate matter, as in the rules' own figures.
    first = MetricRows(how.first.values[counts], counts[counts], *how.first[2:])
    how = how._replace(
        rates={"value": first},
        weights=None if how.weights is None else how.weights[counts],
        strata=strata._replace(codes=strata.codes[counts]),
    )
    tables = [
        _rule_in_strata(one[counts], how).assign(place=place)
        for place, one in zip(places, held, strict=True)
    ]
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    arrays = {str(name): column.to_numpy() for name, column in table.items()}
    return arrays | {"stratum": arrays["stratum"].astype(str)} if tables else arrays


def _rule_in_strata(held: Bools, how: How) -> pd.DataFrame:
    sides = Grouping("rule", ["inside", "outside"], np.where(held, 0, 1))
    table = part_of(sides, how, reference=1).table
    assert how.strata is not None, "who calls this has them"
    inside, outside = (
        table[table["group"] == side].set_index("stratum").reindex(["", *how.strata.groups])
        for side in sides.groups
    )
    # In the rows of strata the ratio to the other side is by itself, in the first it is pooled.
    pooled = np.arange(len(inside)) == 0
    ends, columns = ("", "_low", "_high"), dict[str, Any](stratum=inside.index)
    for name in ("n", "value"):
        columns |= {f"{name}_inside": inside[name], f"{name}_outside": outside[name]}
    if how.first.binary:
        columns |= {
            f"ratio{end}": inside[f"ratio_within{end}"].where(pooled, inside[f"impact_ratio{end}"])
            for end in ends
        }
    columns |= {f"difference{end}": inside[f"difference_within{end}"] for end in ends}
    columns |= {"homogeneity": inside["homogeneity_difference"], "n_strata": inside["n_strata"]}
    columns |= {name: inside[name] for name in ("from_rates", "from_composition")}
    found = pd.DataFrame(columns).reset_index(drop=True)
    for name in ("n_inside", "n_outside"):
        found[name] = found[name].fillna(0).astype(np.int64)
    return found[(found["n_inside"] > 0) | (found["n_outside"] > 0)]


def _columns_within(binary: bool) -> list[str]:
    figures = ["ratio", "difference"] if binary else ["difference"]
    names = [f"{figure}_within{end}" for figure in figures for end in ("", "_low", "_high")]
    return [*names, *(f"homogeneity_{figure}" for figure in figures), "n_strata", "n_within"]


def _pooled(part: Part, strata: Strata | None, how: How) -> dict[str, Floats]:
    """The pooled figures of each group; those of the reference are 1 and 0."""
    assert strata is not None, "who calls this has them"
    rates, weight, reference = strata
    others = np.flatnonzero(part.compared & (np.arange(len(part.groups)) != reference))
    second = np.full(len(others), reference)
    cells = pairs_in_strata(rates, weight, others, second, binary=how.first.binary)
    found = {"difference": (pooled_difference(cells, how.confidence), 0.0)}
    if how.first.binary:
        found["ratio"] = pooled_ratio(cells, how.confidence), 1.0
    held = rates.size > 0
    both = held & held[:, reference, None]
    figures: dict[str, tuple[Any, float]] = {
        "n_strata": (both[:, others].sum(axis=0), np.nan),
        "n_within": (((rates.n + rates.n[:, [reference]]) * both)[:, others].sum(axis=0), np.nan),
    }
    for figure, (pooled, own) in found.items():
        figures |= {k: (v, own) for k, v in _three(f"{figure}_within", pooled).items()}
        figures[f"homogeneity_{figure}"] = pooled.homogeneity, np.nan
    columns = {}
    for name, (values, own) in figures.items():
        columns[name] = np.full(len(part.groups), np.nan)
        columns[name][others], columns[name][reference] = values, own
    return columns


def _ratios_in_strata(rates: Means, compared: Bools, reference: int, confidence: float) -> Ratios:
    """The ratio of each group to the reference in each stratum, each by itself."""
    z, own = float(stats.norm.isf((1 - confidence) / 2)), [reference]
    share, size, other, n_other = (
        rates.value, rates.size, rates.value[:, own], rates.size[:, own],
    )  # fmt: skip
    known = compared & (size > 0) & (n_other > 0) & (other > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        figures = share / other, *ratio_interval(share, size, other, n_other, z)
    ratios = Ratios(*(np.where(known, figure, np.nan) for figure in figures))
    for figure in ratios:  # a group's ratio to itself is 1, whatever chance does
        figure[:, reference] = np.where(known[:, reference], 1.0, np.nan)
    return ratios


def _why_no_ratio(part: Part, rates: Means, reference: int | None) -> list[list[str]]:
    """Why a group that is compared has no ratio in a stratum, for each stratum and group."""
    notes: list[list[str]] = [[] for _ in range(rates.value.size)]
    if reference is None:
        return notes
    name, other = part.groups[reference], rates.value[:, reference]
    for stratum in np.flatnonzero(~(other > 0)):
        why = f"the rate of {name} is 0" if other[stratum] == 0 else f"no rows of {name} here"
        for group in np.flatnonzero(part.compared):
            notes[stratum * len(part.groups) + group].append(f"{why}: no ratio")
    return notes


def smallest_of_parts(parts: Sequence[Part], how: How) -> dict[str, Any] | None:
    """The smallest pooled ratio of a group to another one of its attribute, whichever it is.

    None where no two groups have rows in one stratum, or rates have no ratios.
    """
    known = [(part, part.strata) for part in parts if part.strata is not None and how.first.binary]
    chosen = [np.flatnonzero(part.compared) for part, _ in known]
    n_pairs = sum(len(groups) * (len(groups) - 1) for groups in chosen)
    at_once = 1 - (1 - how.confidence) / max(n_pairs, 1)
    found: list[tuple[Smallest, Part]] = []
    for (part, strata), groups in zip(known, chosen, strict=True):
        one = smallest_within(strata.rates, strata.weight, groups, how.confidence, at_once)
        found += [] if one is None else [(one, part)]
    if not found:
        return None
    (value, _, _, group, other), part = min(found, key=lambda one: one[0].value)
    low, high = (min(getattr(one, end) for one, _ in found) for end in ("low", "high"))
    return {
        "attribute": part.name, "group": part.groups[group], "to": part.groups[other],
        "value": value, "low": low, "high": high,
    }  # fmt: skip
