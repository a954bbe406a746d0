"""Oracle: asks the model, counts, compares, keeps what was found, and ends the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.oracle._archive import Archive, History
from skfairtest.oracle._budget import Budget, SubBudget
from skfairtest.oracle._cache import Answering
from skfairtest.oracle._compare import Comparison, compare
from skfairtest.oracle._judgement import Judgement, Worst, joined
from skfairtest.oracle._model import PROBE_ROWS, Labels, Model
from skfairtest.oracle._plausible_twins import PlausibleTwins
from skfairtest.oracle._row_hash import Keys, KeySet, distinct
from skfairtest.oracle._stagnation import NOTHING_ASKED, Stagnation
from skfairtest.oracle._stop import StopReason, StopSearch
from skfairtest.space._space import InputSpace
from skfairtest.space._valid_rows import Sample, ValidRows

#: One of so many queries at most goes into getting to know the model.
PROBE_SHARE = 20
#: Rows for that where no row of the data is valid.
FEW_PROBED = 8
#: Rows that are in memory at once.
MAX_ROWS = 200_000
#: Up to this many combinations of sensitive values all twins of an input are compared; beyond it,
#: two.
FEW_COMBINATIONS = 8


class Oracle:
    """The only place that calls the estimator.

    A search draws inputs (`sample`), has them judged (`judge`, or `disparity` where it says what
    to compare), and asks what it may spend on the next batch (`affordable`). The oracle counts,
    keeps what discriminates, and ends the run.

    Parameters
    ----------
    estimator : object
        A fitted estimator, or the `Model` that another oracle asks.
    space : InputSpace
        The inputs that exist. Where it says which inputs are plausible, one of two twins has to be,
        and an input with none is not asked about.
    threshold : float or None
        Disparity above which an input is discriminatory; None: labels differ, or, for a regressor,
        outputs differ.
    response_method : str
        How to ask.
    n_jobs : int or None
        Chunks of a batch that are asked at the same time.
    max_queries, max_time, max_found, max_inputs : number or None
        Budget: queries, seconds, unique discriminatory inputs, distinct inputs.
    progress : callable, default=None
        Called as ``progress(share, line)`` after each batch; True ends the run.
    clip : bool, default=True
        Move inputs into the domain; False for rows of data, which are judged as they are, and
        compared with themselves where their own sensitive values are no twin's.
    valid_rows : ValidRows, default=None
        What an earlier look at the constraint has learned.
    quoted : dict of str to number or None, default=None
        The limits that the user gave, where those above are a part of them: messages quote these.
    seconds_spent : float, default=0.0
        What of max_time was spent before.

    Attributes
    ----------
    measured : dict of str to object
        What else a search measures. It is filled by the search, travels with what was found, and
        comes to `BaseAuditor._own_results`.
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
        quoted: Mapping[str, float | None] | None = None,
        progress: Callable[[float, str], bool] | None = None,
        clip: bool = True,
        valid_rows: ValidRows | None = None,
        seconds_spent: float = 0.0,
    ) -> None:
        self.space = space
        self.clip = clip
        if isinstance(estimator, Model):
            self._model = estimator
        else:
            self._model = Model(estimator, space, response_method=response_method, n_jobs=n_jobs)
        self._budget = Budget(
            max_queries=max_queries,
            max_time=max_time,
            max_found=max_found,
            max_inputs=max_inputs,
            quoted=quoted,
            seconds_spent=seconds_spent,
        )
        self._answering = Answering(self._model, space, self._budget.took)
        # Rows of data are judged as they are: they need not be typical.
        judge = space.plausibility if clip else None
        self._plausible = None if judge is None else PlausibleTwins(judge)
        self._valid_rows = space.valid_rows() if valid_rows is None else valid_rows
        self.threshold = threshold
        self.progress = progress
        self._archive = Archive(space.n_features, len(space.sensitive))
        self.history = History()
        self.degree = 0.0
        self.worst: Worst | None = None
        self.n_inputs = 0
        self._stagnation = Stagnation()
        self.measured: dict[str, Any] = {}
        self._seen = KeySet()

    def fork(self, space: InputSpace, n_inputs: int) -> Oracle:
        """An oracle of the same model and budget, for another space on the same columns.

        `n_inputs` inputs count as judged already. The model goes on counting rows, and knows how
        it has to be asked. Ends the run where nothing of its budget is left.
        """
        limits = self._budget.limits
        left = limits["max_inputs"] - n_inputs
        if left <= 0:
            self.stop(StopReason.MAX_INPUTS)
        if self.seconds_left <= 0:
            self.stop(StopReason.MAX_TIME)
        return Oracle(
            self._model,
            space,
            threshold=self.threshold,
            max_queries=limits["max_queries"],
            max_time=limits["max_time"],
            max_inputs=left,
            quoted=self._budget.quoted,
            progress=self.progress,
            valid_rows=space.valid_rows(),
            seconds_spent=self.seconds,
        )

    # The model -----------------------------------------------------------------------------

    @property
    def estimator(self) -> Any:
        """What is asked."""
        return self._model.estimator

    @property
    def response(self) -> str:
        """How it is asked: "regression", "predict_proba", "decision_function" or "labels"."""
        return self._model.response

    @property
    def cost(self) -> int:
        """Queries that one row takes: 2 where labels have to be asked apart from scores."""
        return self._model.cost

    @property
    def infers_labels(self) -> bool:
        """Whether labels are read off the scores, as positions in ``classes_``."""
        return self._model.infers_labels

    def output_name(self, output: int) -> Any:
        """The class that an output is of; None for a regressor and for labels."""
        return self._model.output_name(output)

    # The cost ------------------------------------------------------------------------------

    @property
    def n_queries(self) -> int:
        """Queries so far."""
        return self._model.n_rows

    @property
    def n_found(self) -> int:
        """Unique discriminatory inputs found, kept or not."""
        return self._archive.n_found

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return self._budget.seconds

    @property
    def queries_left(self) -> float:
        """Queries that are left."""
        return self._budget.limits["max_queries"] - self.n_queries

    @property
    def inputs_left(self) -> float:
        """Distinct inputs that may still be judged."""
        return self._budget.limits["max_inputs"] - self.n_inputs

    @property
    def seconds_left(self) -> float:
        """Seconds until max_time; infinite without."""
        return self._budget.seconds_left

    def found(self) -> tuple[Floats, Floats, Floats]:
        """Discriminatory inputs, the sensitive codes of their twins, disparities; worst first."""
        return self._archive.rows()

    def keys(self) -> tuple[Keys, Keys, Keys]:
        """Keys of the inputs of `found`, of all that discriminate, and of all inputs."""
        return self._archive.keys(), self._archive.known.keys(), self._seen.keys()

    def affordable(
        self,
        *,
        batches: float = 1.0,
        price: float | None = None,
        least: float = 1.0,
        most: float = np.inf,
        whole: bool = False,
    ) -> int:
        """Size of a batch of which the rest of the budget holds so many; at least 1.

        Parameters
        ----------
        batches : float, default=1
            How many such batches the budget should hold.
        price : float, default=None
            Queries that one input of the batch needs; None: its twins in `judge`.
        least, most : float, default=1 and infinity
            Bounds of the size. Where the time is short, it may be less than `least`.
        whole : bool, default=False
            Share out the whole budget of queries and inputs, spent or not, so that the size is
            the same in every round.

        Returns
        -------
        int
            Inputs in the batch: by the queries and inputs left, and by the time left, at the
            measured time of a query.
        """
        price = self.n_compared if price is None else price
        limits = self._budget.limits
        queries = limits["max_queries"] if whole else self.queries_left
        inputs = limits["max_inputs"] if whole else self.inputs_left
        n = min(most, max(least, min(queries / (batches * price), inputs / batches)))
        return int(max(1, min(n, self._budget.queries_in_time(1 / batches, np.inf) / price)))

    def in_time(self, n: int, *, batches: float = 1.0) -> int:
        """Size of a batch by the time alone: n inputs, or fewer if so many such take too long.

        Before the first query of a run with max_time nobody knows, and a small batch finds out.
        """
        return int(max(1, min(n, self._budget.queries_in_time(1 / batches) / self.n_compared)))

    @property
    def ends_by_time_alone(self) -> bool:
        """Whether max_time is the only cost that is limited: no run of a seed repeats exactly."""
        limits = self._budget.limits
        counted = min(limits["max_queries"], limits["max_inputs"], limits["max_found"])
        return np.isinf(counted) and np.isfinite(limits["max_time"])

    @contextmanager
    def budget(
        self, *, max_queries: float = np.inf, max_time: float = np.inf, counts_as_idle: bool = True
    ) -> Iterator[SubBudget]:
        """A part of the run with so many queries and seconds at most, and not beyond the run's own.

        Whatever stops the part, the run goes on behind it: `SubBudget.stop` says what it was, for a
        caller to raise it again where that ends the run as well. A part that stalls counts as a
        tenth of a run that does; without `counts_as_idle`, what brought nothing new in a part does
        not count for the run at all.
        """
        part = SubBudget()
        before = self._stagnation.n_batches, self._stagnation.n_inputs
        with self._budget.narrowed(
            max_queries=self.n_queries + max_queries, max_time=self.seconds + max_time
        ):
            try:
                yield part
            except StopSearch as stop:
                part.stop = stop
        if not counts_as_idle:
            self._stagnation.go_back(before)
        elif part.stop is not None and part.stop.kind is StopReason.STALLED:
            self._stagnation.go_back(before, stalled_parts=1)

    # Drawing -------------------------------------------------------------------------------

    def sample(self, n: int, rng: np.random.Generator, *, uniform: bool = False) -> Floats:
        """Random valid inputs within max_time, shape (n, n_features); see `InputSpace.sample`.

        Near rows of the data where the user asked for it (``proposals="data"``). What one call
        learns about the constraint, the next one knows.
        """
        return self.draw_sample(n, rng, uniform=uniform).rows

    def crossings(self, n: int, rng: np.random.Generator) -> Floats:
        """Rows of the data crossed with neighbours, valid ones; shape (n or fewer, n_features).

        They need not be plausible: for searches that choose among many and ask the detector about
        few.
        """
        Z = self._valid_rows.crossings(n, rng, self._budget.deadline).rows
        if self._budget.seconds_left <= 0:
            self.stop(StopReason.MAX_TIME)
        return Z

    def draw_sample(self, n: int, rng: np.random.Generator, *, uniform: bool = False) -> Sample:
        """The same, and which of the rows are fresh draws, not steps from known ones."""
        sample = self._valid_rows.sample(n, rng, uniform=uniform, deadline=self._budget.deadline)
        if len(sample.rows) < n:
            self.stop(StopReason.MAX_TIME)
        return sample

    def fresh(self, Z: Floats) -> tuple[Bools, Keys]:
        """Which inputs of the domain could bring something new, and their keys.

        They are the first ones of each that is not known yet.

        Known are those that were judged or, where two of many twins are compared, that discriminate
        already: another pair may show what the first did not.
        """
        keys = self._answering.input_keys(Z)
        fresh = np.zeros(len(Z), dtype=bool)
        fresh[distinct(keys)[0]] = True
        known = self._seen if self.compares_all else self._archive.known
        return fresh & ~known.contains(keys), keys

    # Asking --------------------------------------------------------------------------------

    def begin(self, seeds: Floats, rng: np.random.Generator) -> None:
        """Get to know the model on a few rows of data (queries as any other).

        Only rows of inputs that exist are asked; where none of these does, others are drawn.
        """
        if not self._model.probe_cost:
            return
        if self.clip:
            seeds = self.space.domain.move_inside(seeds, rng)
        seeds = self.space.twins_.apply_dependents(np.array(seeds))
        seeds = seeds[self.space.valid(seeds)]
        if not len(seeds):
            seeds = self.space.twins_.apply_dependents(self.sample(FEW_PROBED, rng))
        affordable = self.queries_left / (PROBE_SHARE * self._model.probe_cost)
        self._model.probe(seeds[: int(min(PROBE_ROWS, max(1, affordable)))])

    def respond(self, Z: Floats) -> Floats:
        """Raw outputs of the rows as they are, (n, n_outputs); for gradients and explanations.

        A model that gives labels alone returns codes of them. Ends the run when the budget
        does not hold all rows.
        """
        Z = self.space.twins_.apply_dependents(np.array(Z, dtype=np.float64))
        if not len(Z):
            return np.zeros((0, 1))
        self._afford(len(Z))
        wanted = np.ones((len(Z), 1), dtype=bool)
        scores, labels = self._ask(Z, self._answering.row_keys(Z), wanted)
        if self.response == "labels":
            return labels.astype(np.float64)
        return scores[:, 0]

    def _ask(self, rows: Floats, keys: Keys, wanted: Bools) -> tuple[Floats, Labels]:
        """Scores (n, width, n_outputs) and labels (n, width) of the wanted ones of all rows.

        In parts that fit into the time left; ends the run when it is over before the last.
        """
        n, width = wanted.shape
        answered: list[tuple[Floats, Labels]] = []
        start = 0
        while start < n:
            if start and self._budget.seconds_left <= 0:
                self.stop(StopReason.MAX_TIME)
            most = min(n, self._budget.queries_in_time() / (width * self.cost))
            part = slice(start, start + max(1, int(most)))
            flat = slice(part.start * width, part.stop * width)
            answered.append(self._answering.ask_wanted(rows[flat], keys[flat], wanted[part]))
            start = part.stop
        # Parts in which nothing is wanted do not know how many outputs there are.
        n_outputs = max(scores.shape[2] for scores, _ in answered)
        scores = [np.broadcast_to(s, (*s.shape[:2], n_outputs)) for s, _ in answered]
        return np.concatenate(scores), np.concatenate([labels for _, labels in answered])

    @property
    def compares_all(self) -> bool:
        """Whether `judge` compares all twins of an input, as they are few."""
        return self.space.twins_.n_combinations <= FEW_COMBINATIONS

    @property
    def n_compared(self) -> int:
        """Twins of an input that `judge` compares."""
        return int(self.space.twins_.n_combinations) if self.compares_all else 2

    def draw_twins(self, Z: Floats, rng: np.random.Generator) -> Floats | None:
        """Sensitive codes of the twins that `judge` compares; None for all of them.

        Where sensitive values cannot be listed an input counts with its own, and is compared with a
        drawn one, so that rows of data are judged as the people that they are. So does an input
        that has to be plausible.
        """
        if self.compares_all:
            return None
        if self._plausible is not None and self.space.twins_.is_enumerable:
            own = self.space.twins_.clip_sensitive(Z[:, self.space.sensitive])
            pairs = self.space.twins_.draw_sensitive_pairs(len(Z), rng)
            same = (pairs[:, 0] == own).all(axis=1)
            return np.stack([own, np.where(same[:, None], pairs[:, 1], pairs[:, 0])], axis=1)
        if self.space.twins_.is_enumerable:
            return self.space.twins_.draw_sensitive_pairs(len(Z), rng)
        own = self.space.twins_.clip_sensitive(Z[:, self.space.sensitive])
        return np.stack([own, self.space.twins_.draw_sensitive(len(Z), rng)], axis=1)

    def judge(self, Z: Floats, rng: np.random.Generator) -> Judgement:
        """Judge inputs by all their twins where these are few, else by two random ones.

        See `disparity` for what is returned and raised.
        """
        return self.disparity(Z, self.draw_twins(Z, rng))

    def disparity(
        self, Z: Floats, values: Floats | None = None, keys: Keys | None = None
    ) -> Judgement:
        """Judge inputs by all sensitive combinations, or by the given values.

        Parameters
        ----------
        Z : ndarray of shape (n, n_features)
            Inputs as codes. What they hold in the sensitive columns does not matter, unless they
            are rows of data (``clip=False``), which count with their own values.
        values : ndarray of shape (n, k, n_sensitive), default=None
            Sensitive codes of the k >= 2 twins of each input; by default those of
            `InputSpace.twin_codes`: all combinations, or what stands in for them.
        keys : ndarray of shape (n,), default=None
            Keys of the inputs as `fresh` gave them, which saves making them again.

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
            Z = self.space.domain.clip(Z)
        if not len(Z):
            # A search whose steps all are invalid ends as well.
            if self._budget.seconds_left <= 0:
                self.stop(StopReason.MAX_TIME)
            self._stagnation.count(NOTHING_ASKED, news=False)
            self._check_stagnation()
            none = np.empty((0, len(self.space.sensitive)))
            return Judgement(np.empty(0), none, none, np.empty(0, dtype=bool))
        if values is None:
            values = self._twin_values(Z)
        elif self.clip:
            values = self.space.twins_.clip_sensitive(values)
        judged: list[Judgement] = []
        start = 0
        while start < len(Z):
            part = slice(start, start + self._part_size(values.shape[1]))
            known = None if keys is None else keys[part]
            judged.append(self._judge(Z[part], values[part], known))
            start = part.stop
        return joined(judged)

    def _twin_values(self, Z: Floats) -> Floats:
        """Sensitive codes of all twins of the inputs, of rows of data with their own among them."""
        codes = self.space.twins_.twin_codes
        values = np.broadcast_to(codes, (len(Z), *codes.shape))
        if self.clip:
            return values
        own = Z[:, self.space.sensitive]
        if self.space.twins_.is_enumerable and self.space.twins_.has_sensitive(own).all():
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
        return *self._ask(rows, keys, valid), valid

    def _afford(self, n_rows: int) -> None:
        """End the run if so many rows are too many."""
        if n_rows * self.cost > self.queries_left:
            self.stop(StopReason.MAX_QUERIES)

    def _price(self, width: int) -> int:
        """Queries that one input may need: its twins, and two to confirm a flip."""
        reserve = 2 if self.infers_labels and self.threshold is None else 0
        return width * self.cost + reserve

    def _part_size(self, width: int) -> int:
        # A many-valued attribute times a large batch would not fit into memory at once, and a
        # batch may run neither past the budget nor past the number of inputs that the user allows.
        price = self._price(width)
        in_time = self._budget.queries_in_time() / price
        return self.affordable(price=price, most=min(MAX_ROWS // max(1, width), in_time))

    def _judge(self, Z: Floats, values: Floats, keys_of_inputs: Keys | None) -> Judgement:
        before = (self.n_inputs, self.n_found, self.degree)
        n, width = values.shape[:2]
        inputs, rows, keys, valid = self._answering.twins(Z, values, keys_of_inputs)
        plausible = own = None
        if self._plausible is not None:
            plausible = self._plausible.of_twins(rows, keys, valid)
            valid &= plausible.any(axis=1, keepdims=True)
            own = (values == Z[:, None, self.space.sensitive]).all(axis=2)
        fits = self._fitting(keys.reshape(n, width), valid)
        counted = fits & (valid.sum(axis=1) > 1)
        # Of an input that cannot be compared, nothing is asked.
        valid &= counted[:, None]
        scores, labels = self._answering.ask_wanted(rows, keys, valid)
        shown = compare(
            scores,
            labels,
            valid,
            response=self.response,
            threshold=self.threshold,
            single=self._model.single,
            plausible=plausible,
            own=own,
        )
        verdict = self._confirm(Z, inputs, values, shown)
        self._record(Z, inputs, values, shown, verdict, counted)
        news = (self.n_inputs, self.n_found, self.degree) != before
        self._stagnation.count(n, news=news)
        self._end_of_batch(complete=bool(fits.all()))
        pair = np.take_along_axis(values, shown.pair[:, :, None], axis=1)
        return Judgement(shown.disparity, pair[:, 0], pair[:, 1], verdict)

    def _fitting(self, keys: Keys, allowed: Bools) -> Bools:
        """Which inputs the rest of the budget holds: a run of them from the first on."""
        n, width = keys.shape
        if n * self._price(width) <= self.queries_left:
            return np.ones(n, dtype=bool)
        needed = self._answering.n_new(keys, allowed) * self.cost
        needed += self._price(width) - width * self.cost
        return np.cumsum(needed) <= self.queries_left

    # Keeping -------------------------------------------------------------------------------

    def _confirm(self, Z: Floats, inputs: Keys, values: Floats, shown: Comparison) -> Bools:
        """Verdicts, after predict has confirmed the flips that were read off the scores."""
        if not self.infers_labels or self.threshold is not None:
            return shown.verdict
        flips = np.flatnonzero(shown.verdict)
        if not len(flips):
            return shown.verdict
        twins = np.take_along_axis(values[flips], shown.twins[flips][:, :, None], axis=1)
        verdict = np.zeros(len(Z), dtype=bool)
        verdict[flips] = self._answering.confirm(Z[flips], twins, inputs[flips])
        return verdict

    def _record(
        self, Z: Floats, inputs: Keys, values: Floats, shown: Comparison,
        verdict: Bools, counted: Bools,
    ) -> None:  # fmt: skip
        self.n_inputs += int(self._seen.add(inputs[counted]).sum())
        found = verdict & counted
        twins = np.take_along_axis(values[found], shown.twins[found][:, :, None], axis=1)
        self._archive.add(Z[found], twins, shown.gap[found], inputs[found])
        best = int(shown.disparity.argmax()) if len(Z) else 0
        if len(Z) and shown.disparity[best] > self.degree:
            self.degree = float(shown.disparity[best])
            first, second = values[best, shown.pair[best]]
            high, low = map(float, shown.outputs[best])
            at = (int(shown.output[best]), shown.labels[best])
            self.worst = Worst(Z[best].copy(), first, second, (high, low), *at)

    # Ending --------------------------------------------------------------------------------

    def stop(self, limit: StopReason) -> NoReturn:
        """End the run as at a limit, with what was asked since the last batch in its history."""
        self.note()
        raise self._budget.reached(limit)

    def note(self) -> None:
        """Write into the history what was spent and found so far."""
        self.history.add(self.n_queries, self.seconds, self.n_inputs, self.n_found, self.degree)

    def _end_of_batch(self, complete: bool = True) -> None:
        seconds = self.seconds
        spent = {
            "max_queries": self.n_queries,
            "max_time": seconds,
            "max_found": self.n_found,
            "max_inputs": self.n_inputs,
        }
        self.note()
        if self.progress is not None:
            line = (
                f"{self.n_queries} queries, {self.n_inputs} inputs, {self.n_found} found, "
                f"degree {self.degree:.4g}, {seconds:.1f} s"
            )
            if self.progress(self._budget.share_spent(spent), line):
                raise StopSearch(StopReason.CALLBACK)
        self._budget.check(spent)
        # Less than a pair is nothing left.
        if not complete or self.queries_left < 2 * self.cost:
            raise self._budget.reached(StopReason.MAX_QUERIES)
        self._check_stagnation()

    def _check_stagnation(self) -> None:
        # Where twins cannot be listed, a known input may still differ from one not yet drawn.
        seen = self.n_inputs >= self.space.n_inputs and self.space.twins_.is_enumerable
        if self.clip:
            self._stagnation.check(all_seen=seen)
