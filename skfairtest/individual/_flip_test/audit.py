"""One audit of moved twins: the rows themselves, and the same again for intervals."""

from __future__ import annotations

import math
import warnings
from contextlib import AbstractContextManager, suppress
from typing import Any

import numpy as np

from skfairtest import _clock
from skfairtest._progress import Progress
from skfairtest._typing import Floats, Ints
from skfairtest.exceptions import ConstraintWarning, users_level
from skfairtest.individual._flip_test.columns import COLUMNS_EVERY, Explained, column_table
from skfairtest.individual._flip_test.flips import (
    Directions,
    Shares,
    flip_table,
    interval_of,
    shares_of,
)
from skfairtest.individual._flip_test.groups import Groups
from skfairtest.individual._flip_test.judge import ComparedGroup, Judge, Outputs
from skfairtest.individual._flip_test.maps import Map, Maps
from skfairtest.individual._flip_test.quality import quality_table
from skfairtest.individual._flip_test.rows import flips_by_row
from skfairtest.oracle._model import Model
from skfairtest.oracle._row_answers import RowAnswers
from skfairtest.oracle._stop import StopReason, StopSearch
from skfairtest.space._space import InputSpace
from skfairtest.transports._base import warn_of_single_values


class Audit:
    """One fit: what it knows, and what it has found so far.

    Parameters
    ----------
    auditor : FlipTestAuditor
        Its parameters.
    model : Model
        What is asked.
    space : InputSpace
        With the rows.
    groups : Groups
        Of the rows.
    rng : Generator
        Of all that is drawn.
    known : RowAnswers or None
        What the model, which was probed then, has answered to the rows before.
    deadline : float
        When it has to end, by `_clock.now`.

    Attributes
    ----------
    left_out : list of str
        What there was no time for, in words.
    """

    def __init__(
        self, auditor: Any, model: Model, space: InputSpace, groups: Groups,
        rng: np.random.Generator, known: RowAnswers | None, deadline: float,
    ) -> None:  # fmt: skip
        self.auditor, self.model, self.space, self.groups = auditor, model, space, groups
        self.rng, self.deadline = rng, deadline
        self.Z = space.data
        self.known, self.n_before = known, model.n_rows
        self.judge = Judge(model, auditor.threshold)
        self.maps = Maps(auditor.transport, space, groups)
        self.again: list[Shares] = []
        self.nulls: list[Shares] = []
        self.explained: dict[tuple[int, int], Explained] = {}
        self.columns_again: dict[tuple[int, int], list[Any]] = {}
        self.left_out: list[str] = []

    def first(self) -> dict[str, Any]:
        """Move all rows, and return what was found."""
        fitted = self.maps.learn(self.Z, self.groups.codes)
        others = np.setdiff1d(np.arange(self.Z.shape[1]), self.groups.columns)
        self.moving = getattr(fitted.transport, "moving_", others)
        known = self.known
        if known is None:
            self.judge.probe(self.Z)
            known = RowAnswers(len(self.Z))
        self.before = Outputs(*known.ask(self.model, self.Z, np.arange(len(self.Z))))
        moved = fitted.move_all(self.Z, self.groups.codes)
        parts = self.judge.compare_all(self.Z, self.before, moved, known)
        self.directions = Directions.of(self.judge, self.Z, self.before, parts)
        self.shares = self._shares(parts, self.groups.codes)
        order = self._order(fitted) if self.auditor.attribution == "order" else None
        with suppress(_clock.OutOfTime), self._half_of_time():
            for part in parts:
                one = Explained(self.judge, self.Z, part, order, self.rng)
                self.explained[part.own, part.to] = one
        with self._half_of_time():
            quality = quality_table(
                self.maps, self.Z, moved, self.space.layout, self.auditor.classifier, self.rng
            )
        if len(self.explained) < len(parts):
            self.left_out.append(
                f"what columns carry was measured for {len(self.explained)} of {len(parts)} moves"
            )
        if self._is_late() and quality["auc_after"].isna().any():
            self.left_out.append("the map was not judged")
        self.n_stay, self.n_moved = (
            sum(part.n_stay for part in moved),
            sum(len(part.rows) for part in moved),
        )
        found = flips_by_row(self.judge, self.Z, self.groups.labels, parts)
        return found | {"response_": self.model.response, "map_quality_": quality}

    def _half_of_time(self) -> AbstractContextManager[None]:
        """End what is done in a context when half of the time that is left is over."""
        self._until = self.deadline
        if self.deadline < math.inf:
            now = _clock.now()
            self._until = now + 0.5 * (self.deadline - now)
        return _clock.ending(self._until)

    def _is_late(self) -> bool:
        return self._until < math.inf and _clock.now() >= self._until

    def _shares(
        self, parts: list[ComparedGroup], codes: Ints, weights: Floats | None = None
    ) -> Shares:
        return shares_of(parts, self.directions, codes, len(self.groups), weights)

    def _order(self, fitted: Map) -> list[int]:
        """Return the order in which columns change: the sensitive ones, then the transport's."""
        own = [int(j) for j in getattr(fitted.transport, "sequence_", ())]
        first = [*self.groups.columns.tolist(), *own]
        return list(dict.fromkeys([*first, *range(self.Z.shape[1])]))

    def warn_of_moves(self) -> None:
        """Warn of columns that move at random, and of moved twins that cannot be."""
        warn_of_single_values(
            self.space.layout, self.Z, self.groups.codes, self.groups.labels, self.moving
        )
        if self.n_stay:
            warnings.warn(
                f"{self.n_stay} of {self.n_moved} moved twins break the constraint of space=, so "
                "that there are no such people. The model was not asked about them, and the output "
                "of their rows counts as one that stays. Name the columns of the constraint in "
                "keep= of the transport, or leave these rows out.",
                ConstraintWarning,
                stacklevel=users_level(),
            )

    # The same again ----------------------------------------------------------------------------

    def repeat(self, progress: Progress) -> BaseException | None:
        """Draw rows and learn maps again; return what ended it early."""
        n = self.auditor.n_bootstrap
        try:
            with _clock.ending(self.deadline):
                for k in range(n):
                    _clock.check_ending()
                    self._draw_again()
                    self._draw_null()
                    if progress.update((k + 1) / n, f"{k + 1} of {n} maps"):
                        return StopSearch(StopReason.CALLBACK)
        except _clock.OutOfTime:
            done = min(len(self.again), len(self.nulls))
            self.left_out.append(f"{done} of {n} maps were learned again")
        except BaseException as error:  # Ctrl-C, too: the caller raises it again
            return error
        if self.left_out:
            words = "; ".join(["max_time: all rows were moved", *self.left_out])
            return StopSearch(StopReason.MAX_TIME, words)
        return None

    def _draw_again(self) -> None:
        """Learn a map from rows drawn again within their groups, and move these rows."""
        codes = self.groups.codes
        own = [np.flatnonzero(codes == g) for g in range(len(self.groups))]
        drawn = np.concatenate([self.rng.choice(rows, size=len(rows)) for rows in own])
        rows, counts = np.unique(drawn, return_counts=True)
        weights = counts.astype(np.float64)
        fitted = self.maps.learn(self.Z[drawn], codes[drawn])
        Z, before = self.Z[rows], self.before.at(rows)
        parts = self.judge.compare_all(Z, before, fitted.move_all(Z, codes[rows]))
        shares = self._shares(parts, codes[rows], weights)
        means = {}
        # The first few, since an interval needs two, and then now and then.
        done = len(self.again)
        for part in parts if done < 3 or done % COLUMNS_EVERY == 0 else ():
            if (part.own, part.to) not in self.explained:
                continue
            kept = np.searchsorted(own[part.own], rows[part.rows])
            one = self.explained[part.own, part.to]
            means[part.own, part.to] = one.means_again(Z, part, kept, weights[part.rows])
        self.again.append(shares)
        for pair, mean in means.items():
            self.columns_again.setdefault(pair, []).append(mean)

    def _draw_null(self) -> None:
        """Learn a map between groups of the same sizes that chance has made, and move all rows."""
        codes = self.rng.permutation(self.groups.codes)
        moved = self.maps.learn(self.Z, codes).move_all(self.Z, codes, keeps=True)
        self.nulls.append(self._shares(self.judge.compare_all(self.Z, self.before, moved), codes))

    # Intervals ---------------------------------------------------------------------------------

    def intervals(self) -> dict[str, Any]:
        """Return the tables with intervals."""
        groups, confidence = self.groups, self.auditor.confidence
        n_done = min(len(self.again), len(self.nulls))
        again, nulls = self.again[:n_done], self.nulls[:n_done]
        sizes = np.bincount(groups.codes) / len(self.Z)
        # Rows drawn again keep the sizes of the groups; those of another sample do not.
        more = float((sizes * (self.shares.rates - self.shares.rate) ** 2).sum()) / len(self.Z)
        rate = interval_of(
            self.shares.rate,
            np.array([one.rate for one in again]),
            np.array([one.rate for one in nulls]),
            len(self.Z),
            confidence,
            both=True,
            more_variance=more,
        )
        outputs = [self.model.output_name(k) for k in range(self.before.scores.shape[1])]
        return {
            "flips_": flip_table(
                self.shares, again, nulls, groups, self.directions.names, confidence
            ),
            "columns_": column_table(
                self.explained,
                self.columns_again,
                groups.labels,
                [column.name for column in self.space.layout.columns],
                outputs,
                confidence,
            ),
            "moved_rate_interval_": [rate.low, rate.high],
            "null_rate_": rate.null_share,
            "n_queries_": self.model.n_rows - self.n_before,
        }
