"""Oracle: asks the model, counts, judges, keeps finds and history, and ends the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest.oracle._archive import Archive, History
from skfairtest.oracle._cache import Answering
from skfairtest.oracle._compare import Comparison, compare
from skfairtest.oracle._model import PROBE_ROWS, Labels, Model
from skfairtest.oracle._row_hash import Keys, KeySet
from skfairtest.space._space import InputSpace
from skfairtest.space._valid_rows import Sample, ValidRows

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Batches in a row, and inputs in them, that brought nothing new before a run counts as stalled.
STALL = 200
STALL_INPUTS = 10_000
#: The same where every input of a finite domain has been seen.
FEW_IDLE = 20
#: Rows that are in memory at once.
MAX_ROWS = 200_000


class StopSearch(BaseException):
    """Ends a run; raised by the oracle and caught by `BaseAuditor.fit` alone.

    A `BaseException`, so that no search swallows it in an ``except Exception``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Judgement(NamedTuple):
    """What the oracle says of each input; arrays of length n.

    `first` and `second` are the sensitive codes of the two twins that show the disparity, shape
    (n, n_sensitive), those of the one with the larger answer first.
    """

    disparity: Floats
    first: Floats
    second: Floats
    verdict: Bools


class Worst(NamedTuple):
    """The worst pair of a run: an input, its twins' sensitive codes, their answers in one output.

    The twin with the larger answer comes first.
    """

    z: Floats
    first: Floats
    second: Floats
    outputs: tuple[float, float]
    output: int


class Oracle:
    """The only place that calls the estimator.

    Parameters
    ----------
    estimator : object
        A fitted estimator.
    space : InputSpace
        The inputs that exist.
    threshold : float or None
        Disparity above which an input is discriminatory; None: labels differ, or, for a regressor,
        answers differ.
    response_method : str
        How to ask.
    n_jobs : int or None
        Chunks of a batch that are asked at the same time.
    max_queries, max_time, max_found, max_inputs : number or None
        Budget: rows shown to the model, seconds, unique finds, distinct inputs.
    progress : callable, default=None
        Called as ``progress(share, line)`` after each batch; True ends the run.
    clip : bool, default=True
        Move inputs into the domain; False for rows of data, which are judged as they are, and
        compared with themselves where their own sensitive values are no twin's.
    """

    def __init__(
        self,
        estimator: Any,
        space: InputSpace,
        *,
        threshold: float | None = None,
        response_method: str = "auto",
        n_jobs: int | None = None,
        max_queries: float | None = None,
        max_time: float | None = None,
        max_found: float | None = None,
        max_inputs: float | None = None,
        progress: Callable[[float, str], bool] | None = None,
        clip: bool = True,
    ) -> None:
        self.space = space
        self.clip = clip
        self.model = Model(estimator, space, response_method=response_method, n_jobs=n_jobs)
        self._answering = Answering(self.model, space)
        self._valid_rows = ValidRows(space)
        self.threshold = threshold
        self.limits = {
            "max_queries": (np.inf if max_queries is None else max_queries),
            "max_time": (np.inf if max_time is None else max_time),
            "max_found": (np.inf if max_found is None else max_found),
            "max_inputs": (np.inf if max_inputs is None else max_inputs),
        }
        self.progress = progress
        self.archive = Archive(space.n_features, len(space.sensitive))
        self.history = History()
        self.degree = 0.0
        self.worst: Worst | None = None
        self.n_inputs = 0
        self.n_idle = 0
        self.n_idle_inputs = 0
        self._seen = KeySet()
        self._start = time.perf_counter()

    def fork(self, space: InputSpace, n_inputs: int) -> Oracle:
        """An oracle of the same model, on the same bill, for another space on the same columns.

        `n_inputs` inputs count as judged already. The model goes on counting rows, and knows how
        it has to be asked.
        """
        part = Oracle(
            self.model.estimator,
            space,
            threshold=self.threshold,
            max_queries=self.limits["max_queries"],
            max_time=max(0.0, self.limits["max_time"] - self.seconds),
            max_inputs=max(0.0, self.limits["max_inputs"] - n_inputs),
            progress=self.progress,
        )
        part.model = self.model
        part._answering = Answering(self.model, space)
        return part

    # The bill ------------------------------------------------------------------------------

    @property
    def n_queries(self) -> int:
        """Rows shown to the model."""
        return self.model.n_rows

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._start

    @property
    def queries_left(self) -> float:
        """Rows that may still be shown to the model."""
        return self.limits["max_queries"] - self.n_queries

    # Drawing -------------------------------------------------------------------------------

    def sample(self, n: int, rng: np.random.Generator, *, uniform: bool = False) -> Floats:
        """Random valid inputs within max_time, shape (n, n_features); see `InputSpace.sample`.

        What one call learns about the constraint, the next one knows.
        """
        return self.draw_sample(n, rng, uniform=uniform).rows

    def draw_sample(self, n: int, rng: np.random.Generator, *, uniform: bool = False) -> Sample:
        """The same, and which of the rows are uniform draws."""
        end = self._start + self.limits["max_time"]
        deadline = end if np.isfinite(end) else None
        sample = self._valid_rows.sample(n, rng, uniform=uniform, deadline=deadline)
        if len(sample.rows) < n:
            self._note()
            raise StopSearch(self._spent("max_time"))
        return sample

    # Asking --------------------------------------------------------------------------------

    def begin(self, seeds: Floats) -> None:
        """Get to know the model on a few rows of data (billed as any other row)."""
        if not self.model.probe_cost:
            return
        n = int(
            min(PROBE_ROWS, len(seeds), max(1, self.queries_left / (20 * self.model.probe_cost)))
        )
        self.model.probe(seeds[:n])

    def respond(self, Z: Floats) -> Floats:
        """Raw answers of the rows as they are, (n, n_outputs); for gradients and explanations.

        A model that gives labels alone answers with codes of them. Ends the run when the budget
        does not hold all rows.
        """
        Z = np.asarray(Z, dtype=np.float64)
        if not len(Z):
            return np.zeros((0, 1))
        self._afford(len(Z))
        scores, labels = self._answering.ask(Z, self._answering.row_keys(Z))
        if self.model.response == "labels":
            return labels[:, None].astype(np.float64)
        return scores

    def disparity(self, Z: Floats, values: Floats | None = None) -> Judgement:
        """Judge inputs by all sensitive combinations, or by the given values.

        Parameters
        ----------
        Z : ndarray of shape (n, n_features)
            Inputs as codes. What they hold in the sensitive columns does not matter, unless they
            are rows of data (``clip=False``), which count with their own values.
        values : ndarray of shape (n, k, n_sensitive), default=None
            Sensitive codes of the k >= 2 twins of each input; by default those of
            `InputSpace.twin_codes`: all combinations, or what stands in for them.

        Returns
        -------
        Judgement
            Disparities, the pairs that show them, and verdicts; 0 and False where the constraint
            leaves no two rows to compare.

        Raises
        ------
        StopSearch
            When the budget is spent or nothing new comes; what fitted is recorded.
        """
        Z = np.asarray(Z, dtype=np.float64)
        if self.clip:
            Z = self.space.clip(Z)
        if not len(Z):
            none = np.empty((0, len(self.space.sensitive)))
            return Judgement(np.empty(0), none, none, np.empty(0, dtype=bool))
        if values is None:
            values = self._twin_values(Z)
        elif self.clip:
            values = self.space.clip_sensitive(values)
        judged: list[Judgement] = []
        start = 0
        while start < len(Z):
            part = slice(start, start + self._part_size(values.shape[1]))
            judged.append(self._judge(Z[part], values[part]))
            start = part.stop
        return Judgement(*(np.concatenate(arrays) for arrays in zip(*judged, strict=True)))

    def _twin_values(self, Z: Floats) -> Floats:
        """Sensitive codes of all twins of the inputs, of rows of data with their own among them."""
        codes = self.space.twin_codes
        values = np.broadcast_to(codes, (len(Z), *codes.shape))
        if self.clip:
            return values
        own = Z[:, self.space.sensitive]
        if self.space.is_enumerable and self.space.has_sensitive(own).all():
            return values
        return np.concatenate([values, own[:, None]], axis=1)

    def answers(self, Z: Floats) -> tuple[Floats, Labels, Bools]:
        """Scores (n, k, n_outputs), label codes (n, k) and validity (n, k) of all k twins.

        Twins are those of `InputSpace.twin_codes`. For measures other than the disparity; judging
        the same inputs next asks nothing new. Ends the run when the budget does not hold all of
        them.
        """
        _, rows, keys, valid = self._answering.twins(Z, self._twin_values(Z))
        self._afford(len(rows))
        valid &= valid.sum(axis=1, keepdims=True) > 1
        return *self._answering.ask_wanted(rows, keys, valid), valid

    def _afford(self, n_rows: int) -> None:
        """End the run, with the rows of the last steps in its history, if so many are too many."""
        if n_rows * self.model.cost > self.queries_left:
            self._note()
            raise StopSearch(self._spent("max_queries"))

    def _price(self, width: int) -> int:
        """Queries that one input may need: its twins, and two to confirm a flip."""
        reserve = 2 if self.model.infers_labels and self.threshold is None else 0
        return width * self.model.cost + reserve

    def _part_size(self, width: int) -> int:
        # A many-valued attribute times a large batch would not fit into memory at once, and a
        # batch may run neither past the budget nor past the number of inputs that the user allows.
        inputs_left = self.limits["max_inputs"] - self.n_inputs
        affordable = self.queries_left / self._price(width)
        return int(max(1, min(MAX_ROWS // max(1, width), inputs_left, affordable)))

    def _judge(self, Z: Floats, values: Floats) -> Judgement:
        before = (self.n_inputs, self.archive.n_found, self.degree)
        n, width = values.shape[:2]
        inputs, rows, keys, valid = self._answering.twins(Z, values)
        fits = self._fitting(keys.reshape(n, width), valid)
        counted = fits & (valid.sum(axis=1) > 1)
        # Of an input that cannot be compared, nothing is asked.
        valid &= counted[:, None]
        scores, labels = self._answering.ask_wanted(rows, keys, valid)
        shown = compare(
            scores,
            labels,
            valid,
            response=self.model.response,
            threshold=self.threshold,
            single=self.model.single,
        )
        verdict = self._confirm(Z, values, shown)
        self._record(Z, inputs, values, shown, verdict, counted)
        news = (self.n_inputs, self.archive.n_found, self.degree) != before
        self.n_idle = 0 if news else self.n_idle + 1
        self.n_idle_inputs = 0 if news else self.n_idle_inputs + n
        self._end_of_batch(complete=bool(fits.all()))
        pair = np.take_along_axis(values, shown.pair[:, :, None], axis=1)
        return Judgement(shown.disparity, pair[:, 0], pair[:, 1], verdict)

    def _fitting(self, keys: Keys, allowed: Bools) -> Bools:
        """Which inputs the rest of the budget holds: a run of them from the first on."""
        n, width = keys.shape
        if n * self._price(width) <= self.queries_left:
            return np.ones(n, dtype=bool)
        new = allowed.ravel() & self._answering.unknown(keys.ravel())
        # Of equal rows only the first is asked.
        first = np.zeros(len(new), dtype=bool)
        first[np.unique(np.where(new, keys.ravel(), 0), return_index=True)[1]] = True
        needed = (new & first).reshape(n, width).sum(axis=1) * self.model.cost
        needed += self._price(width) - width * self.model.cost
        return np.cumsum(needed) <= self.queries_left

    # Keeping -------------------------------------------------------------------------------

    def _confirm(self, Z: Floats, values: Floats, shown: Comparison) -> Bools:
        """Verdicts, after predict has confirmed the flips that were read off the scores."""
        if not self.model.infers_labels or self.threshold is not None:
            return shown.verdict
        flips = np.flatnonzero(shown.verdict)
        if not len(flips):
            return shown.verdict
        twins = np.take_along_axis(values[flips], shown.twins[flips][:, :, None], axis=1)
        verdict = np.zeros(len(Z), dtype=bool)
        verdict[flips] = self._answering.confirm(Z[flips], twins)
        return verdict

    def _record(
        self,
        Z: Floats,
        inputs: Keys,
        values: Floats,
        shown: Comparison,
        verdict: Bools,
        counted: Bools,
    ) -> None:
        self.n_inputs += int(self._seen.add(inputs[counted]).sum())
        found = verdict & counted
        twins = np.take_along_axis(values[found], shown.twins[found][:, :, None], axis=1)
        self.archive.add(Z[found], twins, shown.gap[found], inputs[found])
        best = int(shown.disparity.argmax()) if len(Z) else 0
        if len(Z) and shown.disparity[best] > self.degree:
            self.degree = float(shown.disparity[best])
            first, second = values[best, shown.pair[best]]
            high, low = (float(answer) for answer in shown.outputs[best])
            self.worst = Worst(Z[best].copy(), first, second, (high, low), int(shown.output[best]))

    # Ending --------------------------------------------------------------------------------

    def _spent(self, limit: str) -> str:
        return f"{limit}={self.limits[limit]:g} reached"

    def _note(self) -> None:
        self.history.add(
            self.n_queries, self.seconds, self.n_inputs, self.archive.n_found, self.degree
        )

    def _end_of_batch(self, complete: bool = True) -> None:
        seconds = self.seconds
        spent = {
            "max_queries": self.n_queries,
            "max_time": seconds,
            "max_found": self.archive.n_found,
            "max_inputs": self.n_inputs,
        }
        self._note()
        if self.progress is not None:
            share = max(spent[name] / self.limits[name] for name in spent)
            line = (
                f"{self.n_queries} queries, {self.n_inputs} inputs, {self.archive.n_found} finds, "
                f"degree {self.degree:.4g}, {seconds:.1f} s"
            )
            if self.progress(share, line):
                raise StopSearch("a callback asked to stop")
        for name, value in spent.items():
            if value >= self.limits[name]:
                raise StopSearch(self._spent(name))
        # Less than a pair is nothing left.
        if not complete or self.queries_left < 2 * self.model.cost:
            raise StopSearch(self._spent("max_queries"))
        # Where twins cannot be listed, a known input may still differ from one not yet drawn.
        seen = self.n_inputs >= self.space.n_inputs and self.space.is_enumerable
        if self.n_idle >= FEW_IDLE and self.clip and seen:
            raise StopSearch("exhausted: every input of the domain was judged")
        if self.n_idle >= STALL and self.n_idle_inputs >= STALL_INPUTS and self.clip:
            raise StopSearch(
                f"stalled: {self.n_idle} batches, {self.n_idle_inputs} inputs, none of them new"
            )
