"""Draw valid inputs, even if the constraint admits few of the domain, or near the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skfairtest import _clock
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.space._constraints.feasibility import Feasibility
from skfairtest.space._domain import Domain
from skfairtest.space._plausible.neighbours import Crossed, Neighbours
from skfairtest.space._plausible.plausibility import Plausibility

#: Draws of one sample before it gives up.
MAX_DRAWS = 100_000


class DrawnRows(NamedTuple):
    """Valid rows, and which of them are fresh draws: uniform ones, or crossings near the data.

    The others are steps from rows that are known. `cluster_ids` say which row of the data a
    crossing is near to.
    """

    rows: Floats
    uniform: Bools
    cluster_ids: Ints | None = None


class ValidRows:
    """Draws valid inputs of a space and remembers the ones that it has found.

    Uniform draws are kept where they are valid; constraint objects narrow the domain they come
    from. Where fewer than one in twenty is valid, half of the draws are steps from valid rows
    (those of the data and those found so far) and uniform draws, both repaired by the constraint
    objects. Such a sample is not uniform, but it fills up in a time that does not depend on how
    narrow the constraint is.

    Near the data each draw is a row of the data crossed with one of its neighbours. It is so with
    ``proposals="data"``, and in a space of plausible inputs in any case: there uniform draws are
    refused one and all.

    Parameters
    ----------
    domain : Domain
        The values of the attributes.
    feasibility : Feasibility
        What the constraints allow.
    data : ndarray of shape (n_rows, n_features)
        Codes of the data.
    plausibility : Plausibility or None
        Says which inputs look like the data.
    near_data : bool, default=False
        Whether new inputs are drawn near rows of the data.
    """

    def __init__(
        self, domain: Domain, feasibility: Feasibility, data: Floats,
        plausibility: Plausibility | None, *, near_data: bool = False,
    ) -> None:  # fmt: skip
        self.domain, self.feasibility, self.data = domain, feasibility, data
        self.plausibility = plausibility
        self.near_data = near_data or plausibility is not None
        self._neighbours: Neighbours | None = None
        self.n_drawn = 0
        self.n_valid = 0
        # Crossings that were drawn and those of them that were kept, as if there had been a few
        # before the first, and those that are left over.
        self._n_crossed, self._n_near = 6, 5
        self._stock = Crossed(np.empty((0, domain.n_features)), np.empty(0, dtype=np.intp))
        self.most_draws = MAX_DRAWS
        self._known = np.empty((0, domain.n_features))
        self._knows_data = False

    def neighbours(self, rng: np.random.Generator) -> Neighbours:
        """Return rows of the data and their neighbours; made at the first call."""
        if self._neighbours is None:
            self._neighbours = Neighbours(self.domain, self.data, rng)
        return self._neighbours

    @property
    def is_scarce(self) -> bool:
        """Whether too few uniform draws are valid to go on with them alone: one in twenty."""
        return self.n_drawn >= 2_000 and self.n_valid < 0.05 * self.n_drawn

    def sample(
        self,
        n: int,
        rng: np.random.Generator,
        *,
        uniform: bool = False,
        deadline: float | None = None,
        accepts: Callable[[Floats], Bools] | None = None,
    ) -> DrawnRows:
        """Draw n valid rows; see `InputSpace.sample`.

        `accepts` judges which rows are plausible, in place of `plausibility`.
        """
        if self.near_data:
            if accepts is None and self.plausibility is not None:
                accepts = self.plausibility.accepts
            return self._sample_near(n, rng, deadline, accepts)
        if not self.feasibility.rules:
            return DrawnRows(self.domain.draw(n, rng), np.ones(n, dtype=bool))
        kept, marks = [np.empty((0, self.domain.n_features))], [np.empty(0, dtype=bool)]
        n_kept = n_drawn = 0
        while n_kept < n and not is_late(deadline):
            size = max(n, 256)
            if self.is_scarce and not uniform:
                size = max(n, 2048)  # which cost a constraint on a table hardly more than one does
                batch = self._mixture(size, rng)
            else:
                batch = DrawnRows(self.feasibility.draw(size, rng), np.ones(size, dtype=bool))
            n_drawn += size
            valid = self._valid(batch.rows, deadline)
            looked_at = batch.uniform[: len(valid)]
            self.n_drawn += int(looked_at.sum())
            self.n_valid += int((looked_at & valid).sum())
            rows, mark = batch.rows[: len(valid)][valid], looked_at[valid]
            # Steps to rows that are known bring nothing; uniform draws may come again.
            wanted = self._remember(rows, rng) | mark
            rows, mark = rows[wanted], mark[wanted]
            n_kept += len(rows)
            kept.append(rows)
            marks.append(mark)
            none = n_kept == 0 and (uniform or not len(self._known))
            # Where all constraints repair rows, nearly all that are repaired are valid if any are:
            # half of the draws, once uniform ones have turned out to be too few.
            most = 6_000 if self.feasibility.knows_all and not uniform else MAX_DRAWS
            if n_drawn >= most and none and not is_late(deadline):
                raise self.feasibility.unsatisfied(n_drawn, batch.rows)
            if n_drawn >= max(self.most_draws, size) and n_kept < n and not uniform:
                # Few valid rows exist, or none within reach: those that are known come again.
                self.most_draws //= 2
                again = self._known[rng.integers(len(self._known), size=n - n_kept)]
                return DrawnRows(
                    np.concatenate([*kept, again]),
                    np.concatenate([*marks, np.zeros(len(again), dtype=bool)]),
                )
        return DrawnRows(np.concatenate(kept)[:n], np.concatenate(marks)[:n])

    def crossover(self, n: int, rng: np.random.Generator, deadline: float | None = None) -> Crossed:
        """Draw at most n valid crossings of rows with their neighbours, plausible or not."""
        crossed = self.neighbours(rng).crossover(n, rng)
        valid = self._valid(crossed.rows, deadline)
        return crossed.part(np.flatnonzero(valid))

    def _sample_near(
        self, n: int, rng: np.random.Generator, deadline: float | None,
        accepts: Callable[[Floats], Bools] | None,
    ) -> DrawnRows:  # fmt: skip
        """Draw crossings of rows with neighbours that are valid and, if asked for, plausible.

        Detectors take long for few rows: more are asked about than a small sample needs, and those
        that are left over are the first of the next sample.
        """
        n_drawn = 0
        while len(self._stock.rows) < n and not is_late(deadline):
            missing = n - len(self._stock.rows)
            # By the share that was kept so far, and a few more, so that once is mostly enough. The
            # more were kept before, the more are drawn ahead, up to 2048.
            wanted = 1.03 * missing * self._n_crossed / max(1, self._n_near)
            size = int(min(max(256, wanted, min(2048, self._n_near / 4)), MAX_DRAWS))
            batch = self.crossover(size, rng, deadline)
            if accepts is not None:
                batch = batch.part(accepts(batch.rows))
            self._stock = self._stock.and_also(batch)
            self._n_crossed, self._n_near = self._n_crossed + size, self._n_near + len(batch.rows)
            n_drawn += size
            if n_drawn >= MAX_DRAWS and not len(self._stock.rows):
                raise ValueError(
                    f"None of {n_drawn} inputs near the rows of X satisfies constraint= and "
                    "plausible= of the InputSpace, though rows of the data should. Loosen one of "
                    "the two."
                )
            if n_drawn >= max(MAX_DRAWS, 20 * n):
                # Few inputs near the data are left: they come again.
                n_known = len(self._stock.rows)
                again = rng.integers(n_known, size=max(0, n - n_known))
                self._stock = self._stock.part(np.concatenate([np.arange(n_known), again]))
        drawn, self._stock = self._stock.part(slice(n)), self._stock.part(slice(n, None))
        return DrawnRows(drawn.rows, np.ones(len(drawn.rows), dtype=bool), drawn.cluster_ids)

    def _valid(self, Z: Floats, deadline: float | None) -> Bools:
        """Return which rows are valid; it returns fewer rows if the time is up."""
        if deadline is None:
            return self.feasibility.valid(Z)
        verdicts = []
        for start in range(0, len(Z), 4096):  # between two looks at the clock
            part = slice(start, start + 4096)
            verdicts.append(self.feasibility.valid(Z[part]))
            if is_late(deadline):
                break
        return np.concatenate(verdicts)

    def _remember(self, rows: Floats, rng: np.random.Generator) -> Bools:
        """Add rows to those that are known; which of them are new."""
        new = np.zeros(len(rows), dtype=bool)
        most = 2_000
        if len(self._known) == most and not self.is_scarce:
            return new
        known, first = np.unique(np.concatenate([self._known, rows]), axis=0, return_index=True)
        new[first[first >= len(self._known)] - len(self._known)] = True
        if len(known) > most:
            known = known[rng.permutation(len(known))[:most]]
        self._known = known
        return new

    def _mixture(self, n: int, rng: np.random.Generator) -> DrawnRows:
        """Draw half of the rows uniformly, half as steps from valid rows."""
        if not self._knows_data:
            self._knows_data = True
            Z = self.data[rng.permutation(len(self.data))[:1_000]]  # a start, not all that is known
            Z = self.feasibility.repair(self.domain.move_inside(Z, rng), rng)
            self._remember(Z[self.feasibility.valid(Z)], rng)
        repairs = self.feasibility.repairs
        if not len(self._known) and not repairs:
            return DrawnRows(self.domain.draw(n, rng), np.ones(n, dtype=bool))
        drawn = self.feasibility.draw(n // 2, rng)
        n_others = n - len(drawn)
        n_anew = (n_others // 2 if len(self._known) else n_others) if repairs else 0
        others = (
            [self.feasibility.repair(self.feasibility.draw(n_anew, rng), rng)] if n_anew else []
        )
        if n_others > n_anew:
            others.append(self.feasibility.repair(self._moved(n_others - n_anew, rng), rng))
        moved = np.concatenate(others)
        uniform = np.arange(len(drawn) + len(moved)) < len(drawn)
        return DrawnRows(np.concatenate([drawn, moved]), uniform)

    def _moved(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw steps from valid rows, leaving out steps that have led nowhere.

        One column or several are drawn anew, taken from another valid row, or moved by a length on
        a logarithmic scale; or the row is moved by the difference of two others, which follows
        constraints that tie columns to each other.
        """
        domain = self.domain
        first, second, third = self._known[rng.integers(len(self._known), size=(3, n))]
        mask = rng.random(first.shape) < 1 / domain.n_features
        mask[np.arange(n), rng.integers(domain.n_features, size=n)] = True
        # At most 2 ** 6 steps of the column; of a real one at least 2 ** -6.
        scale = 2.0 ** rng.uniform(np.where(domain.discrete, 0.0, -6.0), 6.0, first.shape)
        sign = rng.choice([-1.0, 1.0], size=first.shape)
        kind = rng.integers(4, size=n)
        mask[kind == 3] = True
        proposals = (
            domain.draw(n, rng),
            second,
            first + sign * scale * domain.steps,
            first + second - third,
        )
        moved = domain.clip(np.where(mask, np.choose(kind[:, None], proposals), first))
        return moved[(moved != first).any(axis=1)]


def is_late(deadline: float | None) -> bool:
    """Return whether a time of `_clock.now` has passed."""
    return deadline is not None and _clock.now() >= deadline
