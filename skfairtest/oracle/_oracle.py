"""Oracle: it judges inputs by their twins for a search, and ends the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.oracle._budget import Budget, SubBudget
from skfairtest.oracle._cached_model import CachedModel
from skfairtest.oracle._compare import Comparison, compare
from skfairtest.oracle._drawing import Draws
from skfairtest.oracle._judgement import Judgement, Worst, concatenated
from skfairtest.oracle._model import PROBE_ROWS, PROBE_SHARE, Labels, Model, probe_in_time
from skfairtest.oracle._plausible_twins import PlausibleTwins
from skfairtest.oracle._record import Record
from skfairtest.oracle._row_hash import Keys
from skfairtest.oracle._second_answers import NEGLIGIBLE, SecondAnswers
from skfairtest.oracle._stop import StopReason
from skfairtest.oracle._stopping import StoppingRules
from skfairtest.space._space import InputSpace
from skfairtest.space._valid_rows import ValidRows

#: Rows for that where no row of the data is valid.
FEW_PROBED = 8
#: Rows that are in memory at once.
MAX_ROWS = 200_000


class Oracle:
    """The only place that calls the estimator.

    A search draws inputs (`sample`), has them judged (`judge`, or `disparity` if it says which
    twins to compare), and asks how many it can afford in the next batch (`affordable`). The oracle
    counts queries, keeps discriminatory inputs, and ends the run. Each of these ideas has an
    object: `model` asks, `draws` draws, `record` keeps, and `stopping` ends the run.

    Parameters
    ----------
    estimator : object
        A fitted estimator, or the `Model` that another oracle asks.
    space : InputSpace
        The inputs that exist. If it says which inputs are plausible, one of two twins has to be,
        and the model is not asked about an input without a plausible twin.
    threshold : float or None
        Disparity above which an input is discriminatory. With None it is if the labels of its twins
        differ, or a regressor's outputs.
    response_method : str
        Method of a classifier that is called.
    n_jobs : int or None
        Number of parts of a batch that are predicted at the same time.
    max_queries, max_time, max_found, max_inputs : number or None
        Budget: queries, seconds, unique discriminatory inputs, distinct inputs.
    progress : callable, default=None
        Called as ``progress(share, line)`` after each batch; True ends the run.
    clip : bool, default=True
        Whether to move inputs into the domain. With False, for rows of data, they are judged as
        they are, and also compared with their own sensitive values if no twin has these.
    valid_rows : ValidRows, default=None
        Valid rows that an earlier oracle has learned about.
    quoted : dict of str to number or None, default=None
        The limits that the user gave, which messages quote, if those above are a part of them.
    seconds_spent : float, default=0.0
        Seconds of max_time that were spent before.

    Attributes
    ----------
    measured : dict of str to object
        Further results of a search. The search fills it, it travels with the findings, and
        `BaseAuditor._own_results` receives it.
    model : CachedModel
        The estimator, how it is asked, and its outputs so far.
    record : Record
        What was found so far.
    draws : Draws
        Where inputs and twins come from.
    stopping : StoppingRules
        What is left of the budget, and what ends the run.
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
        self.space, self.threshold = space, threshold
        self._clip = clip
        if not isinstance(estimator, Model):
            estimator = Model(estimator, space, response_method=response_method, n_jobs=n_jobs)
        budget = Budget(
            max_queries=max_queries,
            max_time=max_time,
            max_found=max_found,
            max_inputs=max_inputs,
            quoted=quoted,
            seconds_spent=seconds_spent,
        )
        self.model = CachedModel(estimator, space, budget.took)
        self.record = Record(space.n_features, len(space.sensitive))
        self.stopping = StoppingRules(
            budget, self.model, self.record, space, progress=progress, may_stagnate=clip
        )
        # Rows of data are judged as they are: they need not be typical.
        judge = space.plausibility if clip else None
        self._plausible = None if judge is None else PlausibleTwins(judge, self.model.row_keys)
        self.draws = Draws(
            space,
            space.valid_rows() if valid_rows is None else valid_rows,
            self.stopping,
            accepts=None if self._plausible is None else self._plausible.accepts,
        )
        self.measured: dict[str, Any] = {}
        self._second = SecondAnswers(estimator, budget.limits["max_queries"])

    def fork(self, space: InputSpace, n_inputs: int) -> Oracle:
        """Return an oracle of the same model and budget, for another space on the same columns.

        `n_inputs` inputs count as judged already. The model continues to count rows, and knows how
        it has to be asked. It ends the run if nothing of its budget is left.
        """
        budget = self.stopping.budget
        left = budget.limits["max_inputs"] - n_inputs
        if left <= 0:
            self.stopping.stop(StopReason.MAX_INPUTS)
        self.stopping.check_time()
        forked = Oracle(
            self.model.model,
            space,
            threshold=self.threshold,
            max_queries=budget.limits["max_queries"],
            max_time=budget.limits["max_time"],
            max_inputs=left,
            quoted=budget.quoted,
            progress=self.stopping.progress,
            valid_rows=space.valid_rows(),
            seconds_spent=budget.seconds,
        )
        forked._second = self._second
        return forked

    # The model, and what was found -----------------------------------------------------------

    @property
    def estimator(self) -> Any:
        """The estimator that is asked."""
        return self.model.estimator

    @property
    def response(self) -> str:
        """How the model is asked: "regression", "predict_proba", "decision_function", "labels"."""
        return self.model.response

    @property
    def n_queries(self) -> int:
        """Queries so far."""
        return self.model.n_queries

    @property
    def n_inputs(self) -> int:
        """Distinct inputs so far."""
        return self.record.n_inputs

    @property
    def n_found(self) -> int:
        """Unique discriminatory inputs so far."""
        return self.record.n_found

    @property
    def degree(self) -> float:
        """The largest disparity so far."""
        return self.record.degree

    @property
    def worst(self) -> Worst | None:
        """The pair of twins with the largest disparity."""
        return self.record.worst

    # The budget ------------------------------------------------------------------------------

    @property
    def queries_left(self) -> float:
        """Queries that are left."""
        return self.stopping.queries_left

    def affordable(
        self,
        *,
        batches: float = 1.0,
        price: float | None = None,
        least: float = 1.0,
        most: float = np.inf,
        whole: bool = False,
    ) -> int:
        """Return the size of a batch that fits so many times into the rest of the budget.

        Parameters
        ----------
        batches : float, default=1
            How many such batches the budget should hold.
        price : float, default=None
            Queries that one input of the batch needs. None means the number of its twins in
            `judge`.
        least, most : float, default=1 and infinity
            Bounds of the size. If the time is short, it may be less than `least`.
        whole : bool, default=False
            Share out the whole budget of queries and inputs, spent or not, so that the size is
            the same in every round.

        Returns
        -------
        int
            Number of inputs in the batch. It follows from the queries and inputs that are left, and
            from the time that is left and the measured time of a query.
        """
        price = self.draws.n_compared if price is None else price
        return self.stopping.affordable(
            batches=batches, price=price, least=least, most=most, whole=whole
        )

    def sub_budget(
        self,
        *,
        max_queries: float = np.inf,
        max_time: float = np.inf,
        counts_stagnation: bool = True,
    ) -> AbstractContextManager[SubBudget]:
        """Limit a part of the run to so many queries and seconds, within the limits of the run.

        Whatever stops the part, the run goes on after it. `SubBudget.stop` says what stopped it, so
        that a caller can raise it again if that ends the run as well. A part that stalls counts as
        a tenth of a run that does; without `counts_stagnation`, batches without new inputs in a
        part do not count for the run at all.
        """
        return self.stopping.sub_budget(
            max_queries=max_queries, max_time=max_time, counts_stagnation=counts_stagnation
        )

    # Drawing ---------------------------------------------------------------------------------

    def sample(self, n: int, rng: np.random.Generator, *, uniform: bool = False) -> Floats:
        """Draw random valid inputs within max_time; see `InputSpace.sample`.

        They are near rows of the data if the user asked for it (``proposals="data"``). Each call
        uses what earlier ones learned about the constraint.
        """
        return self.draws.sample(n, rng, uniform=uniform).rows

    def fresh(self, Z: Floats) -> tuple[Bools, Keys]:
        """Return which inputs are not known yet, and their keys.

        If an input occurs more than once, the first one is returned.

        An input is known if it was judged or, if two of many twins are compared, if it is known to
        discriminate: another pair may show what the first did not.
        """
        keys = self.model.input_keys(Z)
        return self.record.is_new(keys, may_differ_elsewhere=not self.draws.compares_all), keys

    # Asking --------------------------------------------------------------------------------

    def begin(self, seeds: Floats, rng: np.random.Generator) -> None:
        """Test the model on a few rows of data; these queries count like any others.

        The model is asked only about rows that exist as inputs; if none does, others are drawn.
        """
        model = self.model.model
        if not model.probe_cost:
            return
        if self._clip:
            seeds = self.space.domain.move_inside(seeds, rng)
        seeds = self.space.twins_.apply_dependents(np.array(seeds))
        seeds = seeds[self.space.valid(seeds)]
        if not len(seeds):
            seeds = self.space.twins_.apply_dependents(self.sample(FEW_PROBED, rng))
        affordable = self.queries_left / (PROBE_SHARE * model.probe_cost)
        n = int(min(PROBE_ROWS, max(1, affordable)))
        probe_in_time(self.model, seeds[:n], self.stopping.budget.seconds_left)

    def respond(self, Z: Floats) -> Floats:
        """Return the raw outputs of rows, (n, n_outputs), for gradients and explanations.

        For a model that gives labels alone these are codes of the labels. The run ends if the
        budget does not allow all rows.
        """
        Z = self.space.twins_.apply_dependents(np.array(Z, dtype=np.float64))
        if not len(Z):
            return np.zeros((0, 1))
        self.stopping.afford(len(Z))
        wanted = np.ones((len(Z), 1), dtype=bool)
        scores, labels = self._ask(Z, self.model.row_keys(Z), wanted)
        if self.response == "labels":
            return labels.astype(np.float64)
        return scores[:, 0]

    def _ask(self, rows: Floats, keys: Keys, wanted: Bools) -> tuple[Floats, Labels]:
        """Ask for the wanted rows; return scores (n, width, n_outputs) and labels (n, width).

        In parts that fit into the time left; ends the run when it is over before the last.
        """
        n, width = wanted.shape
        answered: list[tuple[Floats, Labels]] = []
        start = 0
        while start < n:
            if start:
                self.stopping.check_time()
            most = min(n, self.stopping.budget.queries_in_time() / (width * self.model.cost))
            part = slice(start, start + max(1, int(most)))
            flat = slice(part.start * width, part.stop * width)
            answered.append(self.model.ask_wanted(rows[flat], keys[flat], wanted[part]))
            start = part.stop
        # Parts in which nothing is wanted do not know how many outputs there are.
        n_outputs = max(scores.shape[2] for scores, _ in answered)
        scores = [np.broadcast_to(s, (*s.shape[:2], n_outputs)) for s, _ in answered]
        return np.concatenate(scores), np.concatenate([labels for _, labels in answered])

    def judge(self, Z: Floats, rng: np.random.Generator) -> Judgement:
        """Judge inputs by all their twins if these are few, and otherwise by two random ones.

        It returns and raises the same as `disparity`.
        """
        return self.disparity(Z, self.draws.twins(Z, rng))

    def disparity(
        self, Z: Floats, values: Floats | None = None, keys: Keys | None = None
    ) -> Judgement:
        """Judge inputs by all sensitive combinations, or by the given values.

        Parameters
        ----------
        Z : ndarray of shape (n, n_features)
            Inputs as codes. Their sensitive columns do not matter, unless they are rows of data
            (``clip=False``), which count with their own values.
        values : ndarray of shape (n, k, n_sensitive), default=None
            Sensitive codes of the k >= 2 twins of each input; by default those of
            `Twins.twin_codes`: all combinations, or values that represent them.
        keys : ndarray of shape (n,), default=None
            Keys of the inputs as `fresh` gave them, which saves making them again. Inputs with keys
            are inside of the domain.

        Returns
        -------
        Judgement
            Disparities, the pairs that show them, and verdicts; 0 and False if the constraint
            leaves no two rows to compare.

        Raises
        ------
        StopSearch
            If the budget is spent or nothing new is found. Inputs that the budget allowed are
            recorded.
        NonDeterministicModelError
            If the model was asked again about the first pairs that differ, or about the worst one,
            and gave other answers.
        """
        Z = np.asarray(Z, dtype=np.float64)
        if self._clip and keys is None:
            Z = self.space.domain.clip(Z)
        if not len(Z):
            # A search whose steps all are invalid ends as well.
            self.stopping.end_empty_batch()
            none = np.empty((0, len(self.space.sensitive)))
            return Judgement(np.empty(0), none, none, np.empty(0, dtype=bool))
        if values is None:
            values = self._twin_values(Z)
        elif self._clip:
            values = self.space.twins_.clip_sensitive(values)
        judged: list[Judgement] = []
        start = 0
        while start < len(Z):
            part = slice(start, start + self._part_size(values.shape[1]))
            known = None if keys is None else keys[part]
            judged.append(self._judge(Z[part], values[part], known))
            start = part.stop
        return concatenated(judged)

    @cached_property
    def _twin_codes(self) -> Floats:
        return self.space.twins_.twin_codes

    def _twin_values(self, Z: Floats) -> Floats:
        """Return the sensitive codes of all twins; those of a row of data include its own."""
        codes = self._twin_codes
        values = np.broadcast_to(codes, (len(Z), *codes.shape))
        if self._clip:
            return values
        own = Z[:, self.space.sensitive]
        if self.space.twins_.is_enumerable and self.space.twins_.has_sensitive(own).all():
            return values
        return np.concatenate([values, own[:, None]], axis=1)

    def answers(self, Z: Floats) -> tuple[Floats, Labels, Bools]:
        """Return scores (n, k, n_outputs), label codes (n, k) and validity (n, k) of all k twins.

        Twins are those of `Twins.twin_codes`. This is for measures other than the disparity;
        judging the same inputs next costs no query. The run ends if the budget does not allow all
        of them.
        """
        _, rows, keys, valid = self.model.twins(Z, self._twin_values(Z))
        self.stopping.afford(len(rows))
        valid &= valid.sum(axis=1, keepdims=True) > 1
        return *self._ask(rows, keys, valid), valid

    def _price(self, width: int) -> int:
        """Return the queries that one input may need: its twins, and two to confirm a flip."""
        confirms = self.model.infers_labels and self.threshold is None
        if self.response == "labels":
            confirms = self._second.n_left > 0
        reserve = 2 if confirms else 0
        return width * self.model.cost + reserve

    def _part_size(self, width: int) -> int:
        # A many-valued attribute times a large batch would not fit into memory at once, and a
        # batch may run neither past the budget nor past the number of inputs that the user allows.
        price = self._price(width)
        in_time = self.stopping.budget.queries_in_time() / price
        in_time = min(in_time, self._second.most_at_once / price)
        return self.affordable(price=price, most=min(MAX_ROWS // max(1, width), in_time))

    def _judge(self, Z: Floats, values: Floats, keys_of_inputs: Keys | None) -> Judgement:
        n, width = values.shape[:2]
        inputs, rows, keys, valid = self.model.twins(Z, values, keys_of_inputs)
        plausible = own = None
        if self._plausible is not None:
            own = (values == Z[:, None, self.space.sensitive]).all(axis=2)
            plausible = self._plausible.of_twins(rows, keys, valid, own)
            valid &= plausible.any(axis=1, keepdims=True)
        fits = self._fitting(keys.reshape(n, width), valid)
        counted = fits & (valid.sum(axis=1) > 1)
        # Of an input that cannot be compared, nothing is asked.
        valid &= counted[:, None]
        scores, labels = self.model.ask_wanted(rows, keys, valid)
        shown = compare(
            scores,
            labels,
            valid,
            response=self.response,
            threshold=self.threshold,
            single=self.model.model.single,
            plausible=plausible,
            own=own,
        )
        verdict = self._confirm(Z, inputs, values, shown)
        news = self.record.add(Z, inputs, values, shown, verdict, counted)
        self._ask_again(Z, values, shown, scores, labels)
        self.stopping.end_batch(n, n_twins=width, news=news, complete=bool(fits.all()))
        pair = np.take_along_axis(values, shown.pair[:, :, None], axis=1)
        return Judgement(shown.disparity, pair[:, 0], pair[:, 1], verdict)

    def _ask_again(
        self, Z: Floats, values: Floats, shown: Comparison, scores: Floats, labels: Labels
    ) -> None:
        """Ask the first pairs that differ again, and now and then the worst one.

        Raises
        ------
        NonDeterministicModelError
            If the answers are others than before.
        """
        left = min(self.queries_left, self.stopping.budget.queries_in_time(1.0))
        first, worst = self._second.first(shown.disparity, left), self.worst
        if len(first):
            at = first[:, None], shown.pair[first]
            rows = self.space.twins_.of_each(Z[first], values[at])
            before = scores[at].reshape(len(rows), -1), labels[at].ravel()
            self._second.compare(before, self.model.ask_again(rows))
        elif worst is not None and left >= 4 * self.model.cost and self._second.is_time():
            pair = np.stack([worst.first, worst.second])
            _, rows, keys, _ = self.model.twins(worst.z[None], pair[None])
            before = self.model.ask(rows, keys)  # costs queries where it was forgotten
            self._second.compare(before, self.model.ask_again(rows), NEGLIGIBLE * self.degree)

    def _fitting(self, keys: Keys, allowed: Bools) -> Bools:
        """Return which of the first inputs fit into the rest of the budget."""
        n, width = keys.shape
        if n * self._price(width) <= self.queries_left:
            return np.ones(n, dtype=bool)
        needed = self.model.n_new(keys, allowed) * self.model.cost
        needed += self._price(width) - width * self.model.cost
        return np.cumsum(needed) <= self.queries_left

    def _confirm(self, Z: Floats, inputs: Keys, values: Floats, shown: Comparison) -> Bools:
        """Confirm by `predict` the flips that were read off the scores; return the verdicts."""
        if not self.model.infers_labels or self.threshold is not None:
            return shown.verdict
        flips = np.flatnonzero(shown.verdict)
        if not len(flips):
            return shown.verdict
        twins = np.take_along_axis(values[flips], shown.twins[flips][:, :, None], axis=1)
        verdict = np.zeros(len(Z), dtype=bool)
        verdict[flips] = self.model.confirm(Z[flips], twins, inputs[flips])
        return verdict
