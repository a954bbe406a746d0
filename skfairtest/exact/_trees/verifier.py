"""Certify models of trees; each output is one problem for the branch and bound."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from skfairtest import _clock
from skfairtest._clock import OutOfTime
from skfairtest._typing import Floats
from skfairtest.exact._compared_rows import rows_of_pieces
from skfairtest.exact._trees.covering_rows import covering_rows
from skfairtest.exact._trees.numpy_engine import ListSearch
from skfairtest.exact._trees.problem import Problem, range_bound
from skfairtest.exact._trees.tree_search import SETTINGS, TreeSearch
from skfairtest.exact._verifier import (
    NO_ENGINE,
    STALLED,
    Attained,
    Engine,
    Note,
    SolverLimits,
    SolverResult,
    Verifier,
    unattained,
)
from skfairtest.space._space import InputSpace
from skfairtest.whitebox.graph import (
    EPS,
    EXPONENTIAL,
    LOGISTIC,
    Output,
    all_nodes,
    evaluate,
    is_probability,
    is_single,
    link_rounding,
    output_bounds,
    sum_rounding,
)
from skfairtest.workers._sending import n_threads


class TreeVerifier(Verifier):
    """Model of trees as it was read.

    - `outputs`: sums of trees, or links of them.
    - `compiled`: whether to search with compiled code; None: where it is there, and NumPy has not
      closed the gap after a few seconds.
    - `n_jobs`: threads that take boxes apart, with numba; None is 1, -1 all cores.
    - `deadline`: when to stop cutting attributes into cells, by `_clock.now`. Without cells there
      is the bound of the ranges of the trees alone.

    - `quick`: whether a certificate takes next to no time: of a single tree.
    - `rounding`: outputs of the model may differ from the sums of its trees by this much, apart
      from sums in an exponent, whose rounding the bounds of `solve` contain.
    """

    # A search beforehand needs no more: the local search on cells finds the rest sooner.
    first_queries = 5_000.0
    settings = SETTINGS

    def __init__(
        self,
        space: InputSpace,
        outputs: list[Output],
        compiled: bool | None = None,
        n_jobs: int | None = None,
        deadline: float = np.inf,
    ) -> None:
        self.space, self.n_workers = space, n_threads(n_jobs)
        self.compiled, self.outputs = compiled, outputs
        self.quick = sum(len(nodes.roots) for nodes in all_nodes(self.outputs)) == 1
        self.problems: list[Problem] = []
        try:
            self.problems = [Problem(space, output, deadline) for output in self.outputs]
        except OutOfTime:
            self.problems = []  # a part of the outputs alone would bound nothing
        self.most = 1.0 if all(map(is_probability, outputs)) else np.inf
        self.rounding = max((self._rounding(o) for o in range(len(self.outputs))), default=0.0)

    def _rounding(self, o: int) -> float:
        # That of sums in an exponent depends on where they are: the search itself accounts for it.
        return sum(
            abs(group.weight) * link_rounding(group)
            for group in self.outputs[o]
            if group.link != EXPONENTIAL
        )

    def with_rounding(self, upper: float) -> float:
        if upper <= 0 or self._off_and_link is None:
            return super().with_rounding(upper)
        # Where the sums behind two probabilities that differ by d are moved apart by s each, their
        # difference rises by (1 - d**2) / 2 * ds at most: most around 0.5, little next to 0 and 1.
        off, link = self._off_and_link
        risen = math.tanh(math.atanh(upper) + off / 2) if upper < 1 else 1.0
        return min(1.0, risen + 2 * link)

    @cached_property
    def _off_and_link(self) -> tuple[float, float] | None:
        """How far rounding may carry the sums behind probabilities, and these; else None."""
        if not all(map(_is_logistic, self.outputs)):
            return None
        groups = [group for (group,) in self.outputs]
        off = max(sum_rounding(group.parts[0]) for group in groups)
        return off, max(8 * EPS + group.rounding for group in groups)

    def single_tolerance(self, top: float) -> float:
        groups = [group for output in self.outputs for group in output]
        if not any(map(is_single, self.outputs)):
            return 0.0
        # Each bound is off by the rounding of two outputs.
        slack = [sum_rounding(g.parts[0]) * abs(g.weight) for g in groups if g.link == EXPONENTIAL]
        return 4 * self.rounding + 8 * max(slack, default=0.0) * top

    def _single_share(self, o: int, incumbent: float, bound: float) -> float:
        """Relative width that a model of single precision leaves open anyway; else 0.

        A part of what `single_tolerance` allows to its rounding: there is no point in searching on.
        """
        group_rounding = [
            group.rounding + sum(part.rounding for part in group.parts) for group in self.outputs[o]
        ]
        if not any(group_rounding) or incumbent <= 0:
            return 0.0
        return 0.25 * (self.with_rounding(bound) - bound) / min(2 * incumbent, bound)

    def evaluate(self, Z: Floats) -> Floats:
        return evaluate(self.outputs, Z)

    def rows(self, n: int, rng: np.random.Generator) -> Floats:
        """Return random encoded rows, many of them at the very borders of cells."""
        Z = self.space.domain.draw(n, rng)
        of = rng.integers(max(1, len(self.problems)), size=n)
        for o, problem in enumerate(self.problems):
            own, grid = np.flatnonzero(of == o), problem.grid
            for j in grid.cells:
                some = own[rng.random(len(own)) < 0.8]
                cells = rng.integers(grid.n_cells(j), size=len(some))
                bounds = grid.encoded(j, cells, 0.0), grid.encoded(j, cells, 1.0)
                Z[some, j] = np.where(rng.random(len(some)) < 0.5, *bounds)
        return Z

    def through(self, rng: np.random.Generator, until: float = np.inf) -> Floats:
        features = {id(nodes.features): nodes.features for nodes in all_nodes(self.outputs)}
        parts = [np.empty((0, self.space.n_features))]
        if features:
            parts.append(rows_of_pieces(self.space, list(features.values()), rng))
        if self.problems:
            parts.append(covering_rows(self.problems, rng, until))
        return np.concatenate(parts)

    def ranges(self) -> tuple[Floats, Floats]:
        bounds = np.array([output_bounds(output) for output in self.outputs])
        return bounds[:, 0], bounds[:, 1]

    def root_bound(self) -> float:
        """Return a bound from the ranges of the trees alone."""
        return max(self._bounds, default=0.0)

    @cached_property
    def _bounds(self) -> list[float]:
        """Bounds of the outputs from the ranges of the trees."""
        if not self.problems:
            return [range_bound(self.space, output) for output in self.outputs]
        return [problem.root_bound() for problem in self.problems]

    def solve(self, incumbent: float, limits: SolverLimits) -> SolverResult:
        """Return bounds of the largest difference over all outputs."""
        deadline, rtol, note, stalls = limits
        if not self.problems:
            return SolverResult(incumbent, max(incumbent, self.root_bound()), None, 0, "time")
        uppers = dict(enumerate(self._bounds))
        searches: dict[int, TreeSearch] = {}
        lower, twins, closest = incumbent, None, 0.0
        reasons: dict[int, str] = {}
        counts: dict[int, int] = {}
        compiled, alone = bool(self.compiled), self.settings.numpy_seconds
        takes_over = self.compiled is None
        while True:
            open_ = [o for o in uppers if uppers[o] > lower and reasons.get(o, "time") == "time"]
            now = _clock.now()
            if not open_ or now >= deadline:
                break
            if takes_over and alone <= 0:
                # Numba is imported no sooner: that takes as long as many a search.
                from skfairtest.exact._trees.stored_code import is_compiled

                takes_over = False
                if is_compiled():
                    # Those of NumPy leave before others take their memory.
                    searches, compiled = {}, True
            # The largest bound is that of all. Time that an output leaves goes to the others.
            o = max(open_, key=lambda o: uppers[o])
            # An output is searched for a second at least before another one may be.
            until = min(deadline, now + max(1.0, (deadline - now) / len(open_)))
            if takes_over:
                until = min(until, now + alone)
            narrow = max(rtol, self._single_share(o, lower, uppers[o]))
            closest = max(closest, narrow)
            others = max([lower, *(uppers[other] for other in uppers if other != o)])
            n_others = sum(count for other, count in counts.items() if other != o)
            note_one = _note_of_one(note, lower, uppers[o], others, n_others)
            if o not in searches:
                searches[o] = self._search(o, lower, until, compiled)
            search = searches[o]
            search.incumbent = max(search.incumbent, lower)
            # While another search is to take over, this one does not end by itself.
            result = search.run(SolverLimits(until, narrow, note_one, stalls and not takes_over))
            alone -= _clock.now() - now
            counts[o], reasons[o] = result.n_boxes, result.reason
            uppers[o] = min(result.upper, uppers[o])
            if result.twins is not None and result.lower > lower:
                lower, twins = result.lower, result.twins
        upper = max([lower, *uppers.values()])
        ended = ["time"] if open_ else [r for r in reasons.values() if r not in ("closed", "time")]
        if not ended and upper - lower > max(rtol, closest) * upper:
            ended = ["rounding"]  # all boxes were looked into: nothing else is left
        n_boxes, reason = sum(counts.values()), ended[0] if ended else "closed"
        engine = NO_ENGINE
        if counts:
            advice = ""
            is_short = reason in ("time", "memory", STALLED)
            if self.compiled is None and not compiled and is_short:
                from skfairtest.exact._trees.stored_code import how_to_compile

                advice = how_to_compile()
            engine = Engine(next(iter(searches.values())).library, advice)
        return SolverResult(lower, upper, twins, n_boxes, reason, engine)

    def _search(self, o: int, incumbent: float, until: float, compiled: bool) -> TreeSearch:
        """Begin to search an output; that takes time, too."""
        problem, n = self.problems[o], len(self.problems)
        if not compiled:
            return ListSearch(problem, incumbent, until, n, self.settings)
        from skfairtest.exact._trees.driver import CompiledSearch, warm_up

        if self.compiled:
            warm_up()
        return CompiledSearch(problem, incumbent, self.n_workers, n, self.settings)


def _is_logistic(output: Output) -> bool:
    """Whether an output is the logistic function of a sum, or 1 minus that."""
    return len(output) == 1 and output[0].link == LOGISTIC and abs(output[0].weight) == 1


def _note_of_one(note: Note, lower: float, most: float, others: float, n_boxes: int) -> Note:
    """Return what takes the bounds of one output and notes those of all outputs.

    `most` bounds this output and `others` the other ones; `lower` is attained by one of them.
    """

    def note_one(low: float, high: float, n: int, twins: Attained = unattained, /) -> None:
        upper = max(others, min(high, most))
        note(max(lower, low), upper, n_boxes + n, twins if low > lower else unattained)

    return note_one
