"""People compared with moved twins: an attribute changed with what goes along with it."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from msgspec.structs import replace
from sklearn.base import clone

from skfairtest import _clock, transports
from skfairtest._clock import Deadline, ending
from skfairtest._typing import Ints
from skfairtest.individual._flip_test import people
from skfairtest.individual._flip_test.auditor import FlipTestAuditor
from skfairtest.individual._flip_test.columns import COLUMNS_EVERY, moved_columns
from skfairtest.individual._flip_test.groups import Groups
from skfairtest.individual._flip_test.maps import Maps, check_transport
from skfairtest.individual._flip_test.people import (
    in_proportion,
    large_groups,
    n_wanted,
    no_groups,
)
from skfairtest.report._context import AuditContext
from skfairtest.report.parts.moved.results import Flips, MapQuality, MovedColumn, MovedPart
from skfairtest.report.parts.rows.compare import PARTS_OF_SPREAD, SHOWN_PART, spread_of_predictions
from skfairtest.space._sensitive_features import rows_not_in_model
from skfairtest.transports import QuantileTransport


class ReportSettings(NamedTuple):
    """How many people a report moves by maps beside the first one, and with little time.

    Attributes
    ----------
    most_rows_of_others : int
        Rows that each other map moves at most: enough for shares within three points.
    most_queries : int
        Predictions that one map may take.
    least_rows : int
        Rows below which intervals, and what columns carry, are given up so that more are moved.
    n_trial : int
        Rows by which the time to learn a map is measured.
    """

    most_rows_of_others: int = 1_000
    most_queries: int = 300_000
    least_rows: int = 400
    n_trial: int = 300


SETTINGS = ReportSettings()


class NamedTransport(NamedTuple):
    """A map, and what it is called."""

    name: str
    transport: Any
    #: Whether it is learned again for intervals, which takes as long as it is slow to learn.
    has_intervals: bool = True

    @property
    def n_again(self) -> int:
        """How often it is learned again for intervals, if there is time."""
        return people.SETTINGS.n_again if self.has_intervals else 0

    @property
    def most_rows(self) -> int:
        """How many rows it moves, if there is time."""
        return people.SETTINGS.most_rows if self.has_intervals else SETTINGS.most_rows_of_others


def named_transports(given: Any) -> list[NamedTransport]:
    """Return the maps that are asked for, the one that limits are about first."""
    if given is False:
        return []
    known = [NamedTransport("quantile", QuantileTransport())]
    if given is True:
        return known
    if isinstance(given, str):  # all
        # The others show whether they agree with the first one: the slowest comes last,
        # where it has all the time that is left.
        if find_spec("ot") is not None:
            known.append(NamedTransport("joint", transports.OptimalTransport(), False))
        known.append(NamedTransport("sequential", transports.SequentialTransport(), False))
        return known
    every = list(given) if isinstance(given, (list, tuple)) else [given]
    names = [type(one).__name__.removesuffix("Transport").lower() for one in every]
    names = ["joint" if name == "optimal" else name for name in names]
    return [
        NamedTransport(name if names.count(name) == 1 else f"{name} {k}", one)
        for k, (name, one) in enumerate(zip(names, every, strict=True), 1)
    ]


def check_transports(given: Any) -> None:
    """Check what maps are asked for, before the first query.

    Raises
    ------
    ValueError, TypeError
        For what is neither a choice nor a transport.
    """
    if isinstance(given, bool) or (isinstance(given, str) and given == "all"):
        return
    every = given if isinstance(given, (list, tuple)) else [given]
    if isinstance(given, str) or not len(every):
        raise ValueError(
            "moved must be True, False, 'all', a transport such as QuantileTransport(), or a list "
            f"of transports; got {given!r}."
        )
    for one in every:
        if one is None:
            raise TypeError("moved must not hold None; give a transport or moved=True.")
        check_transport(one)


def measure_moved(
    context: AuditContext, blank: MovedPart, of: NamedTransport, deadline: Deadline
) -> MovedPart:
    """Move people of each group of an attribute to each other group, and see what changes.

    Where there are many rows, or predictions take long, a random sample of them is moved, which
    has each group as often as the data have it.
    """
    name, n_rows, before = blank.attribute, blank.n_rows, context.n_queries
    left_out = replace(blank, status="left out")
    values = context.sensitive_values(np.arange(n_rows))[name]
    if why := no_groups(values, name):
        return replace(left_out, applies=False, reason=why)
    n_groups = values.iloc[large_groups(values, np.arange(n_rows))[0]].nunique()
    above = _counts_above(context)
    each = _queries_a_row(n_groups, context.space.n_features, of.n_again)
    wanted = n_wanted(values, of.most_rows)
    budget = SETTINGS.most_queries
    most = n = int(min(n_rows, wanted, _rows_in_time(budget / each, budget / n_groups)))
    order = in_proportion(values, context.shuffled())
    if deadline < math.inf:
        # Half of its time is for predictions: classifiers judge the map in the rest.
        budget = _affordable(context, order, 0.5 * deadline.left)
        n = min(most, _rows_in_time(budget / each, budget / n_groups))
    rows, left = large_groups(values, np.sort(order[:n]))
    groups = values.iloc[rows]
    is_slow = n > SETTINGS.n_trial and type(of.transport) is not QuantileTransport
    if deadline < math.inf and is_slow and groups.nunique() > 1:
        place = groups.groupby(groups, observed=True).cumcount().to_numpy()
        few = rows[place < SETTINGS.n_trial // n_groups]
        with ending(deadline):
            n = min(n, _learnable(context, name, of, few, deadline))
        rows, left = large_groups(values, np.sort(order[:n]))
    order = order[:n]
    if values[rows].nunique() < 2:
        limit = "the time allows to move" if n < most else "there are predictions to move"
        why = f"{limit} {n:,} people, too few of each group"
        return replace(left_out, reason=why, early=f"0 of {n_rows:,} rows" if n < most else "")
    auditor = _auditor(context, name, of, above)
    usable = context.space._is_decoded(rows)
    known = context.answers.part(rows, usable)
    table, beside = context.rows_of(rows)[0], _not_in_model(context, name, rows)
    auditor.set_params(max_time=deadline.seconds)
    shared = context.aucs_before.setdefault(name, {})
    auditor._fit(table, None, beside, {}, context.model, known, auc_before=shared)
    context.answers.learn(known, rows, usable)
    context.auditors[blank.name] = auditor
    low, high = (float(end) for end in auditor.moved_rate_interval_)
    sample = context.sampled(order) if n < most else ""
    return replace(
        blank,
        not_moved=left,
        without_value=int(values.isna().sum()),
        n=len(rows),
        rate=float(auditor.moved_rate_),
        low=low,
        high=high,
        counts_above=above,
        flips=_listed(Flips, auditor.flips_),
        columns=_listed(MovedColumn, moved_columns(auditor)),
        maps=_listed(MapQuality, auditor.map_quality_),
        queries=context.n_queries - before,
        early="; ".join(filter(None, [sample, _left_out(auditor)])),
    )


def _auditor(
    context: AuditContext, name: str, of: NamedTransport, above: float | None
) -> FlipTestAuditor:
    """An unfitted auditor of one attribute, which the model may take or not."""
    return FlipTestAuditor(
        context.estimator,
        transport=clone(of.transport),
        sensitive_features=_taken(context, name),
        threshold=above,
        response_method=context.template.response_method,
        space=context.space,
        n_bootstrap=of.n_again,
        # The mean over all orders of the columns takes many more predictions.
        attribution="order",
        n_jobs=context.n_jobs,
        random_state=context.seed,
    )


def _taken(context: AuditContext, name: str) -> list[Any]:
    """The attribute as a column of the model's table; none where the model does not take it."""
    return [one for one in context.space.sensitive_features if str(one) == name]


def _not_in_model(context: AuditContext, name: str, rows: Ints) -> pd.DataFrame | None:
    """Values of an attribute outside of the model; None of one that the model takes."""
    values = rows_not_in_model(context.not_in_model, rows)
    if values is None or _taken(context, name):
        return None
    return values[[one for one in values.columns if str(one) == name]]


# Time ------------------------------------------------------------------------------------------


def _queries_a_row(n_groups: int, n_columns: int, again: int) -> float:
    """Predictions that a row takes: moved to each other group, once and again, column by column."""
    columns_again = min(again, 2 - (-again // COLUMNS_EVERY)) * n_columns
    return 1 + (n_groups - 1) * (1 + n_columns + 2 * again + columns_again)


def _affordable(context: AuditContext, order: Ints, seconds: float) -> int:
    """How many predictions fit into so many seconds, by the pace of many rows at once.

    It is that of rows which have to be asked anyway, in this order, or that of all calls before.
    """
    model, answers, paces = context.model, context.answers, []
    new = order[~answers.is_asked[order] & context.space._is_decoded(order)]
    # A tenth of the time at most measures the pace, on up to a thousand rows.
    new = new[: context.affordable(0.1 * seconds, 1_000)]
    for places in np.array_split(new, 2):  # the first time, a model may have to warm up
        if len(places):
            began = _clock.now()
            answers.ask(model, context.space.data[places], places)
            paces.append((_clock.now() - began) / len(places))
    fitting = context.budget.calls.fitting(seconds) / model.cost
    if paces:
        fitting = seconds / min(paces) if min(paces) else np.inf
    return int(min(SETTINGS.most_queries, fitting))


def _rows_in_time(whole: float, moved: float) -> int:
    """How many rows, of which so many could be moved with all else, or moved alone, in time."""
    return int(max(whole, min(moved, SETTINGS.least_rows)))


def _left_out(auditor: FlipTestAuditor) -> str:
    """What the auditor had no time for, which it says after what it did."""
    return auditor.stop_reason_.partition("; ")[2] if auditor.stop_kind_ == "max_time" else ""


def _learnable(
    context: AuditContext, name: str, of: NamedTransport, rows: Ints, deadline: Deadline
) -> int:
    """Of how many rows a map can be learned in the time, by a trial with a few of them."""
    positions = context.space.layout.resolve(taken) if (taken := _taken(context, name)) else []
    space = context.space.with_encoded(context.space.data[rows]).with_sensitive_features(positions)
    groups = Groups.of(space, _not_in_model(context, name, rows))
    began = _clock.now()
    fitted = Maps(of.transport, space, groups).learn(space.data, groups.codes)
    fitted.move(space.data, groups.codes, (groups.codes + 1) % len(groups))
    spent = _clock.now() - began
    if not spent:
        return len(context.space.data)
    in_time = len(rows) * deadline.left / spent
    # Of all rows, of both halves for the quality, and of rows drawn again and groups of chance; or
    # of all rows in half of the time.
    return _rows_in_time(in_time / (2 + 2 * of.n_again), in_time / 2)


def _counts_above(context: AuditContext) -> float | None:
    """From which difference of outputs a decision counts as another one; None where labels do.

    Of a regressor without a threshold it is a tenth of the spread of its predictions.
    """
    if context.template.threshold is not None or context.response != "regression":
        return context.template.threshold
    return PARTS_OF_SPREAD[SHOWN_PART] * spread_of_predictions(context)


# Tables ----------------------------------------------------------------------------------------


def _listed(kind: Any, table: pd.DataFrame) -> list[Any]:
    """The rows of a table as parts of a report; names are words, figures are floats."""
    names = list(kind.__struct_fields__)
    return [
        kind(**{name: str(row[name]) if name in WORDS else row[name] for name in names})
        for row in table[names].to_dict("records")
    ]


WORDS = ("group", "to", "column", "direction")
