"""Bound the domain box by box in rounds on workers, and save the state on disk.

The domain is cut into a fixed number of boxes, whatever the number of workers. In a round each open
box is bounded by itself for some seconds, on the workers of joblib's context, and the best pair
that is known is sent round. A box that was not closed is cut in two. Between rounds everything that
is known fits into a small file, from which a later call goes on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from skfairtest import _clock
from skfairtest._typing import Floats
from skfairtest.exact._bracket import Bracket, Limits
from skfairtest.exact._bracketing import Family
from skfairtest.exact._checkpoint import Checkpoint
from skfairtest.exact._constrained import narrowed
from skfairtest.exact._dispatch import read_family
from skfairtest.exact._identity import identity
from skfairtest.space._space import InputSpace
from skfairtest.workers._sending import Broadcast, is_cluster, n_workers, on_workers

#: Boxes that the domain is cut into, and that a round bounds at most.
N_ROOTS = 64
#: Seconds that the whole is tried for first.
IN_ONE_PIECE = 5.0
#: Why a search ended that may be gone on with, on smaller boxes.
OPEN = ("time", "memory")
#: Seconds that one box is bounded for in the first round; doubled in each further one, up to most.
FIRST_SECONDS, MOST_SECONDS = 2.0, 60.0
#: Open boxes beyond which none is cut any more.
MOST_OPEN = 100_000
#: Inputs that show where a box is worth cutting, and twins of each that are compared.
N_SHOWN, N_TWINS = 2_000, 8
#: Valid ones among them that show enough.
N_VALID = 100


class Boxes(NamedTuple):
    """Open boxes, largest bounds first: ends of codes (n, n_features), and bounds (n,)."""

    low: Floats
    high: Floats
    upper: Floats

    def pick(self, which: Any) -> Boxes:
        """Return some of the boxes."""
        return Boxes(self.low[which], self.high[which], self.upper[which])


def _joined(parts: list[Boxes]) -> Boxes:
    return Boxes(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def in_rounds(
    family: Family,
    asked: tuple[Any, InputSpace, str, Any],
    n_jobs: int | None,
    twins: tuple[Floats, Floats] | None,
    kept: Checkpoint | None = None,
) -> Family:
    """Return a model that is bounded box by box, where a file is kept or the context is a cluster.

    On one machine, and where a bracket takes next to no time, the model as it is.

    Parameters
    ----------
    family : Family
        The model over the whole domain.
    asked : tuple
        As in `RoundsFamily`.
    n_jobs : int or None
        As everywhere in scikit-learn.
    twins : tuple of ndarray, or None
        The best pair that is known, which a file keeps, too.
    kept : Checkpoint or None, default=None
        Where the state is kept between rounds.
    """
    if kept is None and (family.quick or not is_cluster()):
        return family
    return RoundsFamily(family, asked, n_jobs, twins, kept)


def checkpoint_of(
    path: Path | None, family: Family, asked: tuple[Any, InputSpace, str, Any]
) -> Checkpoint | None:
    """Return the file of a search, told from those of other models and domains by what was read.

    Parameters
    ----------
    path : Path or None
        Of the file, which need not be there yet.
    family : Family
        The model, read out.
    asked : tuple
        As in `RoundsFamily`.

    Raises
    ------
    ValueError
        If there is a file that cannot be gone on with.
    """
    return None if path is None else Checkpoint(path, identity(family, asked[1], asked[2]))


class RoundsFamily:
    """Model as it was read, bounded box by box on workers.

    Parameters
    ----------
    base : Family
        The model over the whole domain.
    asked : tuple
        What workers need to read it for a box: the estimator, the space, how it is asked, whether
        to use compiled code.
    n_jobs : int or None
        As everywhere in scikit-learn.
    twins : tuple of ndarray, or None
        The best pair that is known, as codes.
    kept : Checkpoint or None
        Where the state is kept between rounds.
    """

    def __init__(
        self,
        base: Family,
        asked: tuple[Any, InputSpace, str, Any],
        n_jobs: int | None,
        twins: tuple[Floats, Floats] | None,
        kept: Checkpoint | None,
    ) -> None:
        self.quick = base.quick
        self.base, self.asked, self.n_jobs = base, asked, n_jobs
        self.space = asked[1]
        self.twins, self.kept = twins, kept
        self.rounding: float = base.rounding

    def evaluate(self, Z: Floats) -> Floats:
        """Return outputs of the model as it was read, shape (n, n_outputs)."""
        return self.base.evaluate(Z)

    def rows(self, n: int, rng: np.random.Generator) -> Floats:
        """Return rows of codes on which a model that was read wrongly would show."""
        return self.base.rows(n, rng)

    def trivial(self) -> float:
        """Return a bound that takes little time."""
        return self.base.trivial()

    def single_room(self, top: float) -> float:
        """Width at which a bracket of a single-precision model is closed; 0 for other models."""
        room = getattr(self.base, "single_room", None)
        return 0.0 if room is None else float(room(top))

    def solve(self, known: float, limits: Limits) -> Bracket:
        """Return the bracket of the largest difference.

        Parameters
        ----------
        known : float
            A difference that is attained.
        limits : Limits
            When to stop, and the relative width of the bracket that is narrow enough.

        Returns
        -------
        Bracket
            Of the model as it was read. A search that is interrupted leaves its state on disk.
        """
        return _Rounds(self, known, limits).run()


class _Rounds:
    """One search in rounds."""

    def __init__(self, family: RoundsFamily, known: float, limits: Limits) -> None:
        self.family, self.limits = family, limits
        self.known = known
        self.twins = family.twins
        self.n_boxes, self.n_rounds = 0, 0
        nothing = np.empty((0, family.space.n_features))
        # Boxes that are done may show more than the best pair, by no more than `rtol`: they are
        # kept, for a search that goes on with a smaller one.
        self.open = self.done = Boxes(nothing, nothing, np.empty(0))
        #: The `rtol` that the boxes that are done were bounded with; the largest one.
        self.rtol = limits.rtol
        #: What kept boxes that no cut helps from being closed.
        self.hindrance = "rounding"
        self.broadcast = Broadcast(_Asked(family.asked, family.base))

    @property
    def enough(self) -> float:
        """A bound that closes the bracket."""
        return self.known / (1 - self.limits.rtol) if self.limits.rtol < 1 else np.inf

    def run(self) -> Bracket:
        """Run one round after another."""
        kept, start = self.family.kept, self.known
        if kept is not None and kept.state is not None:
            self._restore(kept.state)
        else:
            self._begin()
        while True:
            self._sort_out()
            self.limits.note(self.known, self._upper, self.n_boxes)
            if not len(self.open.upper) or self.limits.is_late:
                break
            self._round()
            if kept is not None:
                self._sort_out()
                kept.save(self._state())
        upper = self._upper
        reason = "time" if len(self.open.upper) else "closed"
        if reason == "closed" and upper > self.enough:
            reason = self.hindrance
        twins = self.twins if self.known > start else None
        return Bracket(self.known, upper, twins, self.n_boxes, reason)

    @property
    def _upper(self) -> float:
        """No difference is larger."""
        parts = (float(boxes.upper.max(initial=0.0)) for boxes in (self.done, self.open))
        return max(self.known, *parts)

    def _begin(self) -> None:
        """Search in one piece for some seconds, which is enough for most models; then in boxes."""
        deadline = min(self.limits.deadline, _clock.now() + IN_ONE_PIECE)
        whole = self.family.base.solve(self.known, self.limits._replace(deadline=deadline))
        self.n_boxes = whole.n_boxes
        if whole.twins is not None and whole.lower > self.known:
            self.known, self.twins = whole.lower, whole.twins
        upper = min(whole.upper, self.family.trivial())
        space = self.family.space
        root = Boxes(space.domain.low[None], space.domain.high[None], np.array([upper]))
        if whole.reason not in OPEN:
            self._is_settled(whole.reason)
            self.done = root
        else:
            late = self.limits.is_late or upper <= self.enough
            self.open = root if late else self._cut(root, N_ROOTS)

    def _is_settled(self, reason: str) -> bool:
        """Return whether a box is not worth a cut, by what ended its search."""
        if reason in OPEN:
            return False
        if reason != "closed":
            self.hindrance = reason
        return True

    def _sort_out(self) -> None:
        """Close boxes whose bound the best pair attains, and drop boxes that cannot exceed it."""
        closed = self.open.upper <= self.enough
        done = _joined([self.done, self.open.pick(closed)])
        self.done = done.pick(done.upper > self.known)
        left = self.open.pick(~closed)
        self.open = left.pick(np.argsort(-left.upper, kind="stable"))

    def _round(self) -> None:
        """Bound the boxes with the largest bounds, and cut those that were not closed."""
        now, n = self.open.pick(slice(N_ROOTS)), n_workers(self.family.n_jobs)
        later = self.open.pick(slice(N_ROOTS, None))
        seconds = min(MOST_SECONDS, FIRST_SECONDS * 2.0**self.n_rounds)
        left = self.limits.deadline - _clock.now()
        seconds = min(seconds, left / -(-len(now.upper) // n)) if np.isfinite(left) else seconds
        tasks = [
            (low, high, self.known, max(0.0, seconds), self.limits.rtol)
            for low, high in zip(now.low, now.high, strict=True)
        ]
        uppers, reasons = now.upper.copy(), []
        brackets = on_workers(_bound, self.broadcast, tasks, self.family.n_jobs)
        for k, bracket in enumerate(brackets):
            self.n_boxes += bracket.n_boxes
            reasons.append(bracket.reason)
            uppers[k] = min(uppers[k], bracket.upper)
            if bracket.twins is not None and bracket.lower > self.known:
                self.known, self.twins = bracket.lower, bracket.twins
        settled = np.array([self._is_settled(reason) for reason in reasons])
        now = now._replace(upper=uppers)
        # What is settled stays open by its rounding alone: no cut helps.
        self.done = _joined([self.done, now.pick(settled)])
        again = now.pick(~settled)
        parts = [later]
        for k in range(len(again.upper)):
            one = again.pick(slice(k, k + 1))
            room = len(self.open.upper) < MOST_OPEN and not self.limits.is_late
            parts.append(self._cut(one, 2) if room and one.upper[0] > self.enough else one)
        self.open = _joined(parts)
        self.n_rounds += 1

    # Cutting ---------------------------------------------------------------------------------

    def _cut(self, box: Boxes, n: int) -> Boxes:
        """Return a box in up to n, where the difference between twins changes most."""
        space = narrowed(self.family.space, box.low[0], box.high[0])
        rng = np.random.default_rng(0)
        Z = space.domain.draw(N_SHOWN, rng)
        valid = space.valid(Z)
        # A box may have few valid rows, or none; where to cut it does not matter then.
        Z = Z[valid] if valid.sum() >= N_VALID else Z
        free = space.free
        tree = DecisionTreeRegressor(max_leaf_nodes=n, random_state=0)
        tree.fit(Z[:, free], self._gaps(Z, rng))
        low, high = [], []
        inner, stack = tree.tree_, [(0, box.low[0].copy(), box.high[0].copy())]
        while stack:
            node, below, above = stack.pop()
            if inner.children_left[node] < 0:
                low.append(below)
                high.append(above)
                continue
            j, at = int(free[inner.feature[node]]), float(inner.threshold[node])
            if space.domain.discrete[j]:
                at = float(np.floor(at))
            # Real boxes share the code between them.
            left_high, right_low = above.copy(), below.copy()
            left_high[j], right_low[j] = at, at + 1 if space.domain.discrete[j] else at
            stack.append((int(inner.children_right[node]), right_low, above))
            stack.append((int(inner.children_left[node]), below, left_high))
        return Boxes(np.array(low), np.array(high), np.full(len(low), box.upper[0]))

    def _gaps(self, Z: Floats, rng: np.random.Generator) -> Floats:
        """Return how far twins of some inputs differ."""
        space = self.family.space
        codes = space.twins_.twin_codes if space.twins_.n_combinations <= N_TWINS else None
        if codes is None:
            codes = space.twins_.draw_sensitive_pairs(N_TWINS // 2, rng).reshape(N_TWINS, -1)
        said = [
            self.family.evaluate(space.twins_.with_sensitive(Z, np.tile(own, (len(Z), 1))))
            for own in codes
        ]
        return np.asarray(np.ptp(np.stack(said), axis=0).max(axis=1))

    # The state -------------------------------------------------------------------------------

    def _state(self) -> dict[str, Floats]:
        twins = np.empty((0, self.family.space.n_features))
        boxes = {
            f"{name}_{end}": codes
            for name, kept in (("open", self.open), ("done", self.done))
            for end, codes in kept._asdict().items()
        }
        return boxes | {
            "numbers": np.array([self.known, self.rtol, self.n_boxes, self.n_rounds]),
            "twins": twins if self.twins is None else np.stack(self.twins),
        }

    def _restore(self, state: dict[str, Floats]) -> None:
        self.open, self.done = (
            Boxes(*(state[f"{name}_{end}"] for end in Boxes._fields)) for name in ("open", "done")
        )
        known, rtol = map(float, state["numbers"][:2])
        self.n_boxes, self.n_rounds = map(int, state["numbers"][2:])
        if len(state["twins"]) and known > self.known:
            self.known, self.twins = known, (state["twins"][0], state["twins"][1])
        if self.rtol < rtol:
            # They were wide enough at the time, and may not be any more.
            again = self.done.upper > self.enough
            self.open = _joined([self.open, self.done.pick(again)])
            self.done = self.done.pick(~again)
        else:
            self.rtol = max(self.rtol, rtol)


class _Asked:
    """All that workers need to bound boxes.

    Parameters
    ----------
    asked : tuple
        As in `RoundsFamily`.
    base : Family
        The model over the whole domain. It does not travel: a worker reads it once, if boxes need
        it, as those of trees do, which are parts of its cells.
    """

    def __init__(self, asked: tuple[Any, InputSpace, str, Any], base: Family) -> None:
        self.asked = asked
        self.base: Any = base
        self.has_parts = hasattr(base, "within")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "base": None}

    def part(self, low: Floats, high: Floats, seconds: float) -> tuple[Family, float]:
        """Return the model over one box, and when to stop, by `_clock.now`."""
        estimator, space, response, compiled = self.asked
        if self.has_parts and self.base is None:
            rng = np.random.default_rng(0)
            self.base = read_family(estimator, space, response, compiled, rng, 1)[0]
        deadline = _clock.now() + seconds
        if self.has_parts:
            return self.base.within(low, high), deadline
        family, _ = read_family(
            estimator, narrowed(space, low, high), response, compiled, np.random.default_rng(0), 1,
            deadline,
        )  # fmt: skip
        return family, deadline


def _bound(
    asked: _Asked,
    low: Floats,
    high: Floats,
    known: float,
    seconds: float,
    rtol: float,
) -> Bracket:
    """Return one box, on a worker."""
    family, deadline = asked.part(low, high, seconds)
    upper = family.trivial()
    if upper <= known:
        return Bracket(known, upper, None, 1, "closed")
    return family.solve(known, Limits(deadline, rtol))
