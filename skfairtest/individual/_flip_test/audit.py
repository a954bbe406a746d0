"""One audit of moved twins: the rows themselves, and the same again for intervals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from skfairtest import _clock
from skfairtest._progress import Progress, tell
from skfairtest._typing import Floats, Ints
from skfairtest.exceptions import ConstraintWarning, users_level
from skfairtest.individual._flip_test.columns import (
    COLUMNS_EVERY,
    Again,
    Explained,
    column_table,
)
from skfairtest.individual._flip_test.flips import (
    Directions,
    Shares,
    flip_table,
    rate_interval,
    shares_of,
)
from skfairtest.individual._flip_test.groups import Groups
from skfairtest.individual._flip_test.judge import ComparedGroup, Judge, Outputs
from skfairtest.individual._flip_test.maps import Drawn, Map, Maps, MovedRows, RepeatedMaps
from skfairtest.individual._flip_test.quality import distances, held_out_aucs, quality_table
from skfairtest.individual._flip_test.rows import flips_by_row
from skfairtest.oracle._model import Model
from skfairtest.oracle._row_answers import RowAnswers
from skfairtest.oracle._stop import StopReason, StopSearch, stopped_by
from skfairtest.space._space import InputSpace
from skfairtest.transports._base import warn_of_single_values
from skfairtest.workers._sending import n_workers


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

    auc_before : dict
        AUCs between rows as they are, by pairs of groups, which all maps of the same rows share.

    Attributes
    ----------
    left_out : list of str
        What there was no time for, in words.
    missing : dict of str
        What there is not yet, in words, by the names of the stages that have not ended.
    """

    def __init__(
        self, auditor: Any, model: Model, space: InputSpace, groups: Groups,
        rng: np.random.Generator, known: RowAnswers | None, deadline: float,
        auc_before: dict[tuple[Any, Any], float],
    ) -> None:  # fmt: skip
        self.auditor, self.model, self.space, self.groups = auditor, model, space, groups
        self.rng, self.deadline, self.auc_before = rng, deadline, auc_before
        self.Z = space.data
        self.known, self.n_before = known, model.n_rows
        self.judge = Judge(model, auditor.threshold)
        self.maps = Maps(auditor.transport, space, groups)
        self.again: list[Shares] = []
        self.nulls: list[Shares] = []
        self.aucs: dict[tuple[int, int], tuple[float, float]] = {}
        self.explained: dict[tuple[int, int], Explained] = {}
        self.kept: dict[tuple[int, int], Ints] = {}
        self.columns_again: list[dict[tuple[int, int], Again]] = []
        self.left_out: list[str] = []
        n = auditor.n_bootstrap
        self.missing = {
            "intervals": f"0 of {n} maps were learned again" if n else "",
            "quality": "the map was not judged",
            "columns": "what columns carry was not measured",
        }

    def first(self) -> dict[str, Any]:
        """Move all rows, and return what was found."""
        tell(None, "learning the map")
        self.fitted = self.maps.learn(self.Z, self.groups.codes)
        others = np.setdiff1d(np.arange(self.Z.shape[1]), self.groups.columns)
        self.moving = getattr(self.fitted.transport, "moving_", others)
        known = self.known
        if known is None:
            self.judge.probe(self.Z)
            known = RowAnswers(len(self.Z))
        self.before = Outputs(*known.ask(self.model, self.Z, np.arange(len(self.Z))))
        tell(None, f"moving {len(self.Z):,} rows")
        moved = self.fitted.move_all(self.Z, self.groups.codes)
        parts = self.judge.compare_all(self.Z, self.before, moved, known)
        self.directions = Directions.of(self.judge, self.Z, self.before, parts)
        self.shares = self._shares(parts, self.groups.codes)
        self.parts, self.distances = parts, distances(self.maps, self.Z, parts, self.space.layout)
        self.n_stay, self.n_moved = (
            sum(part.n_stay for part in moved),
            sum(len(part.rows) for part in moved),
        )
        found = flips_by_row(self.judge, self.Z, self.groups.labels, parts)
        return found | {"response_": self.model.response}

    def rest(self, progress: Progress) -> Iterator[tuple[str, BaseException | None]]:
        """Do what follows, and yield the name of each stage that is over and what ended it early.

        Intervals have two thirds of the time that is left, and the map's quality half of what is
        left then.
        """
        stages = (
            ("intervals", 2 / 3, self._repeat),
            ("quality", 1 / 2, self._judge_maps),
            ("columns", 1.0, self._explain),
        )
        for place, (name, share, do) in enumerate(stages):
            self._report = partial(_report, progress, place, len(stages))
            error: BaseException | None = None
            until = self.deadline
            if until < math.inf:
                now = _clock.now()
                until = now + share * (until - now)
            try:
                with _clock.ending(until):
                    do()
            except BaseException as raised:  # Ctrl-C, too: the caller raises it again
                error = raised
            self.missing.pop(name)
            yield name, error
            if error is not None:
                return

    def ended(self, error: BaseException | None) -> StopSearch | None:
        """Return why the run has ended, by an error or for lack of time; None where it is whole."""
        left_out = [*self.left_out, *filter(None, self.missing.values())]
        if error is None and left_out:
            words = "; ".join(["max_time: all rows were moved", *left_out])
            return StopSearch(StopReason.MAX_TIME, words)
        return None if error is None else stopped_by(error)

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

    def _repeat(self) -> None:
        """Draw rows and learn maps again, as many at a time as there are workers."""
        n, n_jobs = self.auditor.n_bootstrap, self.auditor.n_jobs
        if not n:
            return
        try:
            repeated = RepeatedMaps(self.maps, self.fitted, self.Z)
            self.kept = self._looked_at_again()
            at_once = n_workers(n_jobs)
            for start in range(0, n, at_once):
                _clock.check_ending()
                draws = [repeated.draw(self.rng) for _ in range(start, min(n, start + at_once))]
                drawn = [one for both in draws for one in both]
                for one, rows in zip(drawn, repeated.move_each(drawn, n_jobs), strict=True):
                    self._compare_again(one, rows)
                    done = len(self.nulls)
                    self._report(done / n, f"{done} of {n} maps")
        except _clock.OutOfTime:
            done = min(len(self.again), len(self.nulls))
            self.left_out.append(f"{done} of {n} maps were learned again")

    def _looked_at_again(self) -> dict[tuple[int, int], Ints]:
        """Draw, for each pair, up to 200 rows whose columns are looked at again for intervals."""
        times = min(self.auditor.n_bootstrap, 3 + self.auditor.n_bootstrap // COLUMNS_EVERY)
        # All that is kept of them takes 64 megabytes at most, unless there are very many groups.
        room = 2**22 // (times * len(self.parts) * self.Z.shape[1])
        most = min(200, max(20, room))
        return {
            (part.own, part.to): np.sort(self.rng.permutation(part.rows)[:most])
            for part in self.parts
        }

    def _compare_again(self, drawn: Drawn, moved: list[MovedRows]) -> None:
        """Compare rows with their moved twins under a map that was learned again."""
        parts = self.judge.compare_all(self.Z, self.before, moved)
        shares = self._shares(parts, drawn.codes, drawn.counts.astype(np.float64))
        if drawn.keeps:
            self.nulls.append(shares)
            return
        # The first few, since an interval needs two, and then now and then.
        done = len(self.again)
        if done < 3 or done % COLUMNS_EVERY == 0:
            again = {(part.own, part.to): part for part in parts}
            self.columns_again.append(
                {
                    pair: Again.of(self.Z, part, self.kept[pair], drawn.counts)
                    for pair, part in again.items()
                }
            )
        self.again.append(shares)

    # What follows ------------------------------------------------------------------------------

    def _judge_maps(self) -> None:
        """See how well a classifier tells moved rows from real ones."""
        try:
            for pair, aucs in held_out_aucs(
                self.maps, self.Z, self.auditor.classifier, self.rng, self.auc_before
            ):
                self.aucs[pair] = aucs
                n_judged = len(self.aucs)
                n = len(self.parts)
                self._report(n_judged / n, f"{n_judged} of {n} moves judged")
        except _clock.OutOfTime:
            n, done = len(self.parts), len(self.aucs)
            if not done:
                self.left_out.append("the map was not judged")
            elif done < n:
                self.left_out.append(f"the map was judged for {done} of {n} moves")

    def _explain(self) -> None:
        """See what columns carry, and then the same again for intervals."""
        order = self._order(self.fitted) if self.auditor.attribution == "order" else None
        done = 0
        try:
            for part in self.parts:
                kept = self.kept.get((part.own, part.to), part.rows[:0])
                one = Explained(self.judge, self.Z, part, kept, order, self.rng)
                self.explained[part.own, part.to] = one
                n, n_parts = len(self.parts), len(self.explained)
                self._report(n_parts / n, f"columns of {n_parts} of {n} moves")
            for again in self.columns_again:
                for pair, of in again.items():
                    self.explained[pair].look_again(of)
                done += 1
        except _clock.OutOfTime:
            words = "what columns carry was measured for "
            if len(self.explained) < len(self.parts):
                words += f"{len(self.explained)} of {len(self.parts)} moves"
            else:
                words += f"{done} of {len(self.columns_again)} maps that were learned again"
            self.left_out.append(words)

    # Tables ------------------------------------------------------------------------------------

    def tables(self) -> dict[str, Any]:
        """Return the tables, as far as they are known."""
        groups, confidence = self.groups, self.auditor.confidence
        n_done = min(len(self.again), len(self.nulls))
        again, nulls = self.again[:n_done], self.nulls[:n_done]
        rate = rate_interval(
            self.shares.rate,
            self.shares.rates,
            np.bincount(groups.codes),
            np.array([one.rate for one in again]),
            np.array([one.rate for one in nulls]),
            confidence,
            n=len(self.Z),
        )
        outputs = [self.model.output_name(k) for k in range(self.before.scores.shape[1])]
        return {
            "flips_": flip_table(
                self.shares, again, nulls, groups, self.directions.names, confidence
            ),
            "columns_": column_table(
                self.explained,
                groups.labels,
                [column.name for column in self.space.layout.columns],
                outputs,
                confidence,
            ),
            "map_quality_": quality_table(groups.labels, self.distances, self.aucs),
            "moved_rate_interval_": [rate.low, rate.high],
            "null_rate_": rate.null_share,
            "n_queries_": self.model.n_rows - self.n_before,
        }


def _report(progress: Progress, place: int, n_stages: int, share: float, line: str) -> None:
    """Tell what is done of one of several stages; an error where a callback asks to stop."""
    if progress.update((place + share) / n_stages, line):
        raise StopSearch(StopReason.CALLBACK)
