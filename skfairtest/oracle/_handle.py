"""The handle that a searcher gets: it draws inputs, has them judged, and ends the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.oracle._budget import Budget, SubBudget
from skfairtest.oracle._cached_model import CachedModel
from skfairtest.oracle._evaluator import Evaluator
from skfairtest.oracle._judgement import Judgement, Worst, concatenated
from skfairtest.oracle._model import Labels, Model
from skfairtest.oracle._plausible_twins import PlausibleTwins
from skfairtest.oracle._record import Record
from skfairtest.oracle._row_hash import Keys
from skfairtest.oracle._second_answers import NEGLIGIBLE, SecondAnswers
from skfairtest.oracle._stop import StopReason
from skfairtest.oracle._stop_policy import Left, SoFar, StopPolicy
from skfairtest.space._space import InputSpace
from skfairtest.space._valid_rows import DrawnRows, ValidRows


class SearchHandle:
    """What a searcher draws inputs with, and has them judged by.

    A searcher draws inputs (`sample`), chooses which of their twins to compare (`pairs`), and has
    them judged (`evaluate`), as many at a time as it can afford (`affordable`). What it finds is
    recorded, and a `StopSearch` ends the run. An `Evaluator` judges, a `StopPolicy` ends, and a
    `Record` keeps; a searcher reaches into none of them.

    Parameters
    ----------
    model : Model
        The fitted estimator, and how it is asked.
    space : InputSpace
        The inputs that exist. If it says which inputs are plausible, one of two twins has to be,
        and the model is not asked about an input without a plausible twin.
    threshold : float or None
        Disparity above which an input is discriminatory. With None it is if the labels of its twins
        differ, or a regressor's outputs.
    budget : Budget, default=None
        The limits of the run; None sets none.
    progress : callable, default=None
        Called as ``progress(share, line)`` after each batch; True ends the run.
    valid_rows : ValidRows, default=None
        Valid rows that are known before.

    Attributes
    ----------
    space : InputSpace
        The inputs that exist.
    measured : dict of str to object
        Further results. The search fills it, it travels with the findings, and
        `BaseAuditor._own_results` receives it.
    """

    def __init__(
        self,
        model: Model,
        space: InputSpace,
        *,
        threshold: float | None = None,
        budget: Budget | None = None,
        progress: Callable[[float, str], bool] | None = None,
        valid_rows: ValidRows | None = None,
    ) -> None:
        self.space, self.measured = space, dict[str, Any]()
        self._budget = budget = Budget() if budget is None else budget
        self._model, self._cache = model, CachedModel(model, space, budget.took)
        plausibility = space.plausibility
        row_keys = self._cache.row_keys
        self._plausible = None if plausibility is None else PlausibleTwins(plausibility, row_keys)
        self._evaluator = Evaluator(
            self._cache, space, threshold=threshold, plausible=self._plausible
        )
        self._record = Record(space.n_features, len(space.sensitive))
        self._policy = StopPolicy(budget, model, self._record, space, progress=progress)
        self._valid_rows = space.valid_rows() if valid_rows is None else valid_rows
        self._second = SecondAnswers(model, budget.limits["max_queries"])

    # What is audited, and the run so far --------------------------------------------------------

    @property
    def estimator(self) -> Any:
        """The fitted estimator, for searches that read its attributes."""
        return self._model.estimator

    @property
    def response(self) -> str:
        """How the model is asked: "regression", "predict_proba", "decision_function", "labels"."""
        return self._model.response

    @property
    def threshold(self) -> float | None:
        """Disparity above which an input is discriminatory; None where labels decide."""
        return self._evaluator.threshold

    @property
    def cost(self) -> int:
        """Queries that a row costs: 2 if labels and scores are asked separately."""
        return self._model.cost

    @property
    def so_far(self) -> SoFar:
        """Queries, seconds, inputs, discriminatory inputs and the degree so far."""
        return self._policy.so_far

    @property
    def left(self) -> Left:
        """Queries, seconds, inputs and discriminatory inputs that are left; maybe infinite."""
        return self._policy.left

    @property
    def worst(self) -> Worst | None:
        """The pair of twins with the largest disparity so far."""
        return self._record.worst

    # The budget ---------------------------------------------------------------------------------

    def affordable(
        self,
        *,
        batches: float = 1.0,
        cost_of_input: float | None = None,
        least: float = 1.0,
        most: float = np.inf,
        whole: bool = False,
    ) -> int:
        """Return the size of a batch that fits so many times into the rest of the budget.

        Parameters
        ----------
        batches : float, default=1
            How many such batches the budget should hold.
        cost_of_input : float, default=None
            Queries that one input of the batch needs. None means the number of its twins that
            `pairs` compares.
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
        cost_of_input = self.space.twins_.n_compared if cost_of_input is None else cost_of_input
        return self._policy.affordable(
            batches=batches, cost_of_input=cost_of_input, least=least, most=most, whole=whole
        )

    def afford(self, n_rows: int) -> None:
        """End the run if it cannot afford so many rows."""
        self._policy.afford(n_rows)

    def sub_budget(
        self,
        *,
        max_queries: float = np.inf,
        max_time: float = np.inf,
        counts_stagnation: bool = True,
    ) -> AbstractContextManager[SubBudget]:
        """Limit a part of the run to so many queries and seconds, within the limits of the run.

        If these stop the part, or nothing new comes in it, the run goes on after it, and
        `SubBudget.stop` says what stopped it. What ends the run ends it in a part, too: its own
        limits, a callback, a domain of which every input was judged. A part that stalls counts as a
        tenth of a run that does; without `counts_stagnation`, batches without new inputs in a part
        do not count for the run at all.
        """
        return self._policy.sub_budget(
            max_queries=max_queries, max_time=max_time, counts_stagnation=counts_stagnation
        )

    def fork(self, space: InputSpace, n_inputs: int) -> SearchHandle:
        """Return a search with the same model and budget in another space on the same columns.

        `n_inputs` inputs count as judged already. The model continues to count rows, and knows how
        it has to be asked. It ends the run if nothing of its budget is left.
        """
        limits = self._budget.limits
        left = limits["max_inputs"] - n_inputs
        if left <= 0:
            self._policy.stop(StopReason.MAX_INPUTS)
        self._policy.check_time()
        budget = Budget(
            max_queries=limits["max_queries"],
            max_time=limits["max_time"],
            max_inputs=left,
            quoted=self._budget.quoted,
            seconds_spent=self._budget.seconds,
        )
        forked = SearchHandle(
            self._model, space, threshold=self.threshold, budget=budget,
            progress=self._policy.progress,
        )  # fmt: skip
        forked._second = self._second
        return forked

    # Drawing ------------------------------------------------------------------------------------

    def sample(self, n: int, rng: np.random.Generator, *, uniform: bool = False) -> DrawnRows:
        """Draw random valid inputs within max_time; see `InputSpace.sample`.

        They are near rows of the data if the user asked for it (``proposals="data"``). Each call
        uses what earlier ones learned about the constraint. `DrawnRows.rows` are the inputs,
        `DrawnRows.uniform` says which of them are fresh draws.
        """
        accepts = None if self._plausible is None else self._plausible.accepts
        sample = self._valid_rows.sample(
            n, rng, uniform=uniform, deadline=self._budget.deadline, accepts=accepts
        )
        if len(sample.rows) < n:
            self._policy.stop(StopReason.MAX_TIME)
        return sample

    def crossover(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw valid crossovers of data rows with neighbours, shape (n or fewer, n_features).

        They need not be plausible: for searches that choose among many and ask the detector about
        few.
        """
        Z = self._valid_rows.crossover(n, rng, self._budget.deadline).rows
        self._policy.check_time()
        return Z

    def data_rows(self, rng: np.random.Generator) -> Floats:
        """Return rows of the data inside of the domain, which `crossover` are made of."""
        return self._valid_rows.neighbours(rng).rows

    def pairs(self, Z: Floats, rng: np.random.Generator) -> Floats | None:
        """Return the encoded sensitive values of two twins of each input; None if all are compared.

        All are where they are few. Where sensitive values cannot be listed an input counts with its
        own, and is compared with a drawn one, so that rows of data are judged as the people that
        they are. So does an input that has to be plausible.
        """
        twins = self.space.twins_
        if twins.compares_all:
            return None
        if twins.is_enumerable and self._plausible is None:
            return twins.draw_sensitive_pairs(len(Z), rng)
        own = twins.clip_sensitive(Z[:, self.space.sensitive])
        if not twins.is_enumerable:
            return np.stack([own, twins.draw_sensitive(len(Z), rng)], axis=1)
        pairs = twins.draw_sensitive_pairs(len(Z), rng)
        same = (pairs[:, 0] == own).all(axis=1)
        return np.stack([own, np.where(same[:, None], pairs[:, 1], pairs[:, 0])], axis=1)

    def fresh(self, Z: Floats) -> tuple[Bools, Keys]:
        """Return which inputs are not known yet, and their keys.

        If an input occurs more than once, the first one is returned.

        An input is known if it was judged or, if two of many twins are compared, if it is known to
        discriminate: another pair may show what the first did not.
        """
        keys = self._cache.input_keys(Z)
        differs = not self.space.twins_.compares_all
        return self._record.is_new(keys, may_differ_elsewhere=differs), keys

    def accepts(self, Z: Floats) -> Bools:
        """Return which inputs are plausible as they stand; all where the space does not say."""
        if self._plausible is None:
            return np.ones(len(Z), dtype=bool)
        return self._plausible.accepts(Z)

    # Asking -------------------------------------------------------------------------------------

    def evaluate(
        self, encoded: Floats, pairs: Floats | None = None, keys: Keys | None = None
    ) -> Judgement:
        """Judge inputs by some of their twins, and record what they show.

        Parameters
        ----------
        encoded : ndarray of shape (n, n_features)
            Inputs, which are moved into the domain. Their sensitive columns do not matter.
        pairs : ndarray of shape (n, k, n_sensitive), default=None
            Sensitive values of the k >= 2 twins of each input; by default those of
            `Twins.twin_values`: all combinations, or values that represent them.
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
        Z = np.asarray(encoded, dtype=np.float64)
        if keys is None:
            Z = self.space.domain.clip(Z)
        if not len(Z):
            # A search whose steps all are invalid ends as well.
            self._policy.end_empty_batch()
            return Judgement.of_none(len(self.space.sensitive))
        if pairs is None:
            pairs = self._evaluator.all_twins(len(Z))
        else:
            pairs = self.space.twins_.clip_sensitive(pairs)
        judged = []
        for part, n in self._parts(Z, pairs, keys):
            known = None if keys is None else keys[part]
            one = self._evaluator.evaluate(Z[part], pairs[part], known)
            news = self._record.add(Z[part], one)
            self._ask_again(Z[part], one)
            complete = part.stop - part.start == n
            self._policy.end_batch(n, n_twins=pairs.shape[1], news=news, complete=complete)
            judged.append(one)
        return concatenated(judged)

    def respond(self, Z: Floats) -> Floats:
        """Return the raw outputs of rows, (n, n_outputs), for gradients and explanations.

        For a model that gives labels alone these are codes of the labels. The run ends if the
        budget does not allow all rows.
        """
        Z = self.space.twins_.apply_descendants(np.array(Z, dtype=np.float64))
        if not len(Z):
            return np.zeros((0, 1))
        self.afford(len(Z))
        answered = []
        for part in self._parts_in_time(len(Z)):
            scores, labels = self._cache.ask(Z[part], self._cache.row_keys(Z[part]))
            if self.response == "labels":
                scores = labels[:, None].astype(np.float64)
            answered.append(scores)
        return np.concatenate(answered)

    def answers(self, rows: Floats) -> tuple[Floats, Labels]:
        """Return scores (n, n_outputs) and label codes (n,) of rows, valid or not.

        This is for measures other than the disparity. Judging the same rows next costs no query.
        The run ends if the budget does not allow all of them.
        """
        self.afford(len(rows))
        answered = []
        for part in self._parts_in_time(len(rows)):
            answered.append(self._cache.ask(rows[part], self._cache.row_keys(rows[part])))
        scores, labels = zip(*answered, strict=True)
        return np.concatenate(scores), np.concatenate(labels)

    # Parts of a batch ---------------------------------------------------------------------------

    def _parts_in_time(self, n: int) -> Iterator[slice]:
        """Yield parts of n rows, such that each fits into the time left.

        It ends the run when the time is over before the last.
        """
        start = 0
        while start < n:
            if start:
                self._policy.check_time()
            most = min(n, self._budget.queries_in_time() / self.cost)
            part = slice(start, min(n, start + max(1, int(most))))
            yield part
            start = part.stop

    def _parts(self, Z: Floats, pairs: Floats, keys: Keys | None) -> Iterator[tuple[slice, int]]:
        """Yield parts of a batch, and how many inputs each would have if the budget allowed all.

        A many-valued attribute times a large batch would not fit into memory at once, and a batch
        may run neither past the budget nor past the number of inputs that the user allows.
        """
        start, width = 0, pairs.shape[1]
        while start < len(Z):
            cost_of_input = width * self.cost + self._reserve
            in_time = min(self._budget.queries_in_time(), self._second.most_at_once) / cost_of_input
            # At most 200,000 rows are in memory at once.
            most = min(200_000 // max(1, width), in_time)
            n = min(len(Z) - start, self.affordable(cost_of_input=cost_of_input, most=most))
            part, left = slice(start, start + n), self.left.queries
            if n * cost_of_input > left:
                known = None if keys is None else keys[part]
                n_within = self._evaluator.n_within(
                    Z[part], pairs[part], known, left, self._reserve
                )
                part = slice(start, start + n_within)
            yield part, n
            start += n

    @property
    def _reserve(self) -> int:
        """Queries that an input may need besides its twins: `predict`, or second answers."""
        again = self._evaluator.asks_predict
        if self.response == "labels":
            again = self._second.n_left > 0
        return 2 if again else 0

    def _ask_again(self, Z: Floats, judged: Judgement) -> None:
        """Ask the first pairs that differ again, and now and then the worst one.

        Raises
        ------
        NonDeterministicModelError
            If the answers are others than before.
        """
        left = min(self.left.queries, self._budget.queries_in_time(1.0))
        first, worst = self._second.first(judged.disparity, left), self.worst
        if len(first):
            pairs = np.stack([judged.first[first], judged.second[first]], axis=1)
            rows = self.space.twins_.of_each(Z[first], pairs)
            scores, labels = self._cache.ask_again(rows)
            again = scores[np.arange(len(rows)), np.repeat(judged.output[first], 2)]
            before = judged.outputs[first].ravel()
            if self.response == "labels":
                before = again  # the outputs of a judgement say which labels differ
            known = before[:, None], judged.labels[first].ravel()
            self._second.compare(known, (again[:, None], labels))
        elif worst is not None and left >= 4 * self.cost and self._second.is_time():
            pair = np.stack([worst.first, worst.second])
            rows = self.space.twins_.of_each(worst.z[None], pair[None])
            known = self._cache.ask(rows, self._cache.row_keys(rows))  # costs if forgotten
            least = NEGLIGIBLE * self._record.degree
            self._second.compare(known, self._cache.ask_again(rows), least)
