"""Models whose answers vary: rows are asked again, and pairs confirmed by fresh answers.

The first pairs of twins that differ are asked again. Later, now and then, and when the search is
over, so are the one that differs most, since a search for large differences comes to where the
noise is, and those that are farthest from all others: where a difference is the model's own, a
search finds more beside it. Equal answers change nothing. Where they differ, the search proposes
candidates only, on half of the budget that is left. The other half asks them again: first to choose
among the candidates (sequential halving [1]_), then, of those chosen, with answers that played no
part in the choice. So neither the largest of many noisy differences nor the choice of it makes a
finding.

Each call asks the twins a, b of every candidate as a, b, b, a: two differences between the twins,
in which a steady drift cancels, and as many between an input and itself, which are the control arm.
Calls, not rows, are the repeats of the tests, as a model may draw its noise once a call.

References
----------
.. [1] Karnin, Z., Koren, T., & Somekh, O. (2013). Almost optimal exploration in multi-armed
   bandits. ICML.
.. [2] Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian
   Journal of Statistics 6, 65-70.
.. [3] Berger, R. L. (1982). Multiparameter hypothesis testing and acceptance sampling.
   Technometrics 24, 295-300. (A claim of two parts holds at the larger of their p-values.)
.. [4] Weinstein, A., Fithian, W., & Benjamini, Y. (2013). Selection adjusted confidence intervals
   with more power to determine the sign. Journal of the American Statistical Association 108,
   165-176.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.spatial.distance import cdist

from skfairtest._statistics import clopper_pearson
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.exceptions import EstimatorFailedError
from skfairtest.oracle._cached_model import CachedModel
from skfairtest.oracle._compare import ROUNDING_SINGLE
from skfairtest.oracle._judgement import Worst
from skfairtest.oracle._model import Labels
from skfairtest.oracle._record import Record
from skfairtest.oracle._row_hash import Keys, KeySet
from skfairtest.oracle._stopping import StoppingRules
from skfairtest.space._space import InputSpace

#: Queries that ask first pairs again, and the share of the budget that these may be. Labels need
#: more: that one changes now and then shows in many rows only, and each change makes a false pair.
MOST_AGAIN, SHARE_AGAIN = 10, 1 / 10
MOST_LABELS_AGAIN, SHARE_LABELS_AGAIN = 200, 1 / 3
#: Later, pairs are asked again whenever the queries have grown so many times, and no batch takes
#: more than a share of the budget.
GROWTH, SHARE_AT_ONCE = 2.0, 1 / 4
#: Share of the budget after which there is another look, while enough is left to confirm pairs.
LAST_LOOK = 9 / 10
#: How many then, and when the search is over, and the share of the budget that is kept for the end.
PAIRS_LATER, PAIRS_AT_END, SHARE_AT_END = 5, 20, 1 / 20
#: Pairs among which the most isolated ones are looked for.
COMPARED = 500
#: What of a pair's difference is too little to make one, and may be rounding in a larger batch.
NEGLIGIBLE = 1e-3
#: Queries of the first batch.
FIRST_BATCH = 64
#: Probability at most that any pair of a run is reported although its twins do not differ.
ERROR_RATE = 0.05
#: Calls for each candidate in the rounds of the choice; each round leaves half of them.
ROUNDS = (1, 2, 4)
#: Calls of the confirmation: fewer confirm nothing, and more are not needed. As many are meant as
#: make a difference so many standard errors.
LEAST_CALLS, MOST_CALLS = 6, 96
MEANT_ERRORS, FEW_CALLS = 5.0, 8
#: Share of the confirmation that the worst pair has for itself: its mean is the degree.
WORST_SHARE = 1 / 3
#: Queries without which nothing can be confirmed: one pair is chosen, and then confirmed.
LEAST_QUERIES = 4 * (1 + LEAST_CALLS)
#: Why something cannot be done, for messages.
VARIES = "the model's answers vary, and this needs a model that gives each row one answer"


class Repeats:
    """Asks rows again, and measures by how much two answers to one row differ.

    Parameters
    ----------
    model : CachedModel
        Is asked, past its cache.
    max_queries : float
        Budget of the search; may be infinite.

    Attributes
    ----------
    varies : bool
        Whether two answers to one row have differed by more than rounding.
    """

    def __init__(self, model: CachedModel, max_queries: float) -> None:
        self._model, self._budget = model, max_queries
        self.varies = False
        self._n_asked = 0.0
        self._next_look = float(FIRST_BATCH)
        self._asked = KeySet()
        self._n_compared, self._squares, self._n_changed = 0, np.zeros(1), 0
        self._n_fresh = self._n_changed_fresh = 0

    @property
    def noise(self) -> float:
        """Standard deviation of the answers to one row, of the output where it is largest.

        Where the model gives labels alone, how often two answers to one row differ. It is 0 as long
        as nothing has differed.
        """
        if not self.varies:
            return 0.0
        if self._model.response == "labels":
            # Pairs were found since their labels differed, which one of these often did by chance:
            # only later answers tell how often. That none of few has changed is no rate of 0.
            if self._n_fresh:
                return max(self._n_changed_fresh, 1 / 2) / self._n_fresh
            return self._n_changed / self._n_compared
        return float(np.sqrt(self._squares.max() / (2 * self._n_compared)))

    @property
    def n_left(self) -> float:
        """Queries that may still ask pairs again; 0 where these are less than a pair."""
        of_labels = self._model.response == "labels"
        left = min(MOST_LABELS_AGAIN if of_labels else MOST_AGAIN, self._most) - self._n_asked
        return 0.0 if self.varies or left < 2 * self._model.cost else left

    @property
    def _most(self) -> float:
        """Queries that may ask pairs again in the whole run."""
        return self._share * self._budget

    @property
    def _share(self) -> float:
        """Share of the queries that may ask pairs again."""
        return SHARE_LABELS_AGAIN if self._model.response == "labels" else SHARE_AGAIN

    @property
    def most_at_once(self) -> float:
        """Queries of a batch: most of the budget has to be left when the first pairs differ.

        The first batch is small, and others are as large as all before until the first pairs were
        asked again; later ones leave enough for another look.
        """
        if self.varies:
            return np.inf
        if not self.n_left:
            return SHARE_AT_ONCE * self._budget
        return max(min(FIRST_BATCH, SHARE_AGAIN * self._budget), self._model.n_queries)

    def to_ask_again(self, disparity: Floats, queries_left: float = np.inf) -> Ints:
        """Return which of some pairs to ask again: the first that differ."""
        n_pairs = int(min(self.n_left, queries_left) // (2 * self._model.cost))
        return np.flatnonzero(disparity > 0)[: max(0, n_pairs)]

    def look_at_first(
        self, Z: Floats, keys: Keys, values: Floats, pair: Ints, scores: Floats, labels: Labels
    ) -> None:
        """Ask the pairs of some inputs again, whose twins have just been asked."""
        here = np.arange(len(Z))[:, None]
        again = self._model.ask_again(self._model.space.twins_.of_each(Z, values[here, pair]))
        before = scores[here, pair].reshape(2 * len(Z), -1)
        self._asked.add(keys)
        self.note((before, labels[here, pair].ravel()), again)

    @property
    def is_time(self) -> bool:
        """Whether it is time to ask pairs again that have been found since the first ones."""
        return not (self.varies or self.n_left) and self._model.n_queries >= self._next_look

    def _set_next_look(self) -> None:
        """Set after how many queries it is time again."""
        while self._next_look <= self._model.n_queries < LAST_LOOK * self._budget:
            self._next_look = min(GROWTH * self._next_look, LAST_LOOK * self._budget)
        if self._model.n_queries >= LAST_LOOK * self._budget:
            self._next_look = np.inf

    def look(self, record: Record, queries_left: float, *, at_end: bool = False) -> None:
        """Ask pairs again that are to be reported, and were not asked again yet.

        They are the one that differs most, and those that are farthest from all others.
        """
        model = self._model
        self._set_next_look()
        # So far a share of the queries so far, so that a run with a smaller budget asks the same.
        most = self._most if at_end else self._share * model.n_queries
        # A label that has changed by chance may change so once more.
        n_times = 2 if at_end and model.response == "labels" else 1
        left = min(queries_left, most - self._n_asked) / (2 * model.cost)
        n_pairs = int(min(PAIRS_AT_END if at_end else PAIRS_LATER, left) / n_times)
        if n_pairs <= 0 or record.worst is None:
            return
        Z, pairs, keys = candidates(record, model, *record.some(COMPARED))
        _, rows, of_rows, _ = model.twins(Z, pairs, keys)
        rows, of_rows = rows.reshape(len(Z), 2, -1), of_rows.reshape(len(Z), 2)
        order = np.argsort(-_isolation(Z[:, model.space.free]), kind="stable")
        order = np.r_[0, order[order > 0]]
        # An answer that is forgotten cannot be compared.
        forgotten = model.unknown(of_rows.ravel()).reshape(len(Z), 2).any(axis=1)
        order = order[~(self._asked.contains(keys) | forgotten)[order]]
        if not len(order):
            return
        chosen = order[:n_pairs]
        self._asked.add(keys[chosen])
        asked = np.concatenate(rows[chosen])
        before = model.ask(asked, of_rows[chosen].ravel())
        for _ in range(n_times):
            self.note(before, model.ask_again(asked), NEGLIGIBLE * record.degree)

    def to_keep(self, record: Record) -> int:
        """Return how many queries the pairs need that are to be asked again at the end."""
        price = 2 * self._model.cost
        n_pairs = max(1, record.n_found - self._asked.size)  # the last batch may show the first
        affordable = min(SHARE_AT_END * self._budget, self._most - self._n_asked) / price
        return price * int(max(0, min(n_pairs, PAIRS_AT_END, affordable)))

    def needs_one_answer(self) -> None:
        """Raise an error where inputs are compared by single answers, and these vary.

        Raises
        ------
        EstimatorFailedError
            If two answers to one row have differed.
        """
        if self.varies:
            raise EstimatorFailedError(
                f"Rows cannot be compared with their twins: {VARIES}. An auditor's "
                "fairness_degree_ rests on repeated answers. To compare rows, fix what the answers "
                "are drawn from: a seed, dropout that is off, a temperature of 0."
            )

    def note(
        self,
        before: tuple[Floats, Labels],
        after: tuple[Floats, Labels],
        least: float = 0.0,
        *,
        fresh: bool = False,
    ) -> None:
        """Compare two answers to each of some rows; no scores differ by less than `least`.

        They are `fresh` if the rows were chosen without them.
        """
        self._n_asked += self._model.cost * len(before[0])
        gaps = np.abs(after[0] - before[0])
        changed = before[1] != after[1]
        # The last digits may depend on the rows beside; of labels read off scores so may a tie.
        scale = max(float(np.abs(before[0]).max()), float(np.abs(after[0]).max()))
        self.varies |= bool((gaps > max(ROUNDING_SINGLE * scale, least)).any())
        if not self._model.infers_labels:
            self.varies |= bool(changed.any())
        self._n_compared += len(gaps)
        self._squares = self._squares + (gaps**2).sum(axis=0)
        self._n_changed += int(changed.sum())
        if fresh:
            self._n_fresh += len(changed)
            self._n_changed_fresh += int(changed.sum())


class Candidates(NamedTuple):
    """Inputs, the sensitive codes of two twins of each, and the inputs' keys."""

    Z: Floats
    pairs: Floats
    keys: Keys


def candidates(record: Record, model: CachedModel, Z: Floats, pairs: Floats) -> Candidates:
    """Return a record's worst pair, and then those given, which discriminate, each input once."""
    if record.worst is not None:
        own = record.worst
        Z = np.concatenate([own.z[None], Z])
        pairs = np.concatenate([np.stack([own.first, own.second])[None], pairs])
    keys = model.input_keys(Z)
    # The worst pair may be one of the others.
    first = np.sort(np.unique(keys, return_index=True)[1])
    return Candidates(Z[first], pairs[first], keys[first])


class Confirmed(NamedTuple):
    """What fresh answers have confirmed.

    Attributes
    ----------
    Z, pairs, disparities, keys : ndarray
        Discriminatory inputs, the sensitive codes of their twins, the mean difference of these, and
        the inputs' keys; worst first.
    degree, worst : float, Worst or None
        The mean difference of the pair that seemed the worst when it was chosen; if it is not
        confirmed, of the one that seemed the worst of those that are.
    interval : tuple of float, or None
        Of this mean, chosen or not.
    n_candidates : int
        Pairs that were asked again to be confirmed.
    error : BaseException or None
        What the model raised meanwhile.
    """

    Z: Floats
    pairs: Floats
    disparities: Floats
    keys: Keys
    degree: float = 0.0
    worst: Worst | None = None
    interval: tuple[float, float] | None = None
    n_candidates: int = 0
    error: BaseException | None = None


class Answers:
    """Answers to the twins of some candidates: scores (calls, m, 4, n_outputs), labels likewise.

    The four are those of a, b, b, a.
    """

    def __init__(self, scores: Floats, labels: Labels) -> None:
        self.scores, self.labels = scores, labels

    def of(self, chosen: Ints | Bools) -> Answers:
        """Return the answers to some of the candidates."""
        return Answers(self.scores[:, chosen], self.labels[:, chosen])

    def and_then(self, later: Answers) -> Answers:
        """Return these answers and later ones to the same candidates."""
        return Answers(
            np.concatenate([self.scores, later.scores]), np.concatenate([self.labels, later.labels])
        )

    def with_labels_as_scores(self, usual: Labels) -> Answers:
        """Return 1 as the score of the usual label of a, else 0, for a model without scores."""
        is_usual = self.labels == usual[:, :1]
        return Answers(is_usual[..., None].astype(np.float64), self.labels)

    def usual(self) -> Labels:
        """Return the most frequent labels of a and of b, (m, 2)."""
        sides = self.labels[:, :, [0, 3]], self.labels[:, :, [1, 2]]
        return np.stack(
            [stats.mode(np.concatenate([s[..., 0], s[..., 1]]), axis=0).mode for s in sides], axis=1
        )

    def differences(self) -> Floats:
        """Return the mean difference a - b of each call, (calls, m, n_outputs)."""
        a, b, b2, a2 = np.moveaxis(self.scores, 2, 0)
        return ((a - b) + (a2 - b2)) / 2

    def controls(self) -> Floats:
        """Return the mean difference of each input from itself, (calls, m, n_outputs)."""
        a, b, b2, a2 = np.moveaxis(self.scores, 2, 0)
        return ((a - a2) + (b - b2)) / 2

    def shares(self, usual: Labels) -> Floats:
        """Return how many answers are the usual label of a and that of b, (m, 2 twins, 2)."""
        sides = self.labels[:, :, [0, 3]], self.labels[:, :, [1, 2]]
        return np.stack(
            [
                np.stack([(s == usual[:, [k]]).sum(axis=(0, 2)) for k in (0, 1)], axis=1)
                for s in sides
            ],
            axis=1,
        ).astype(np.float64)


class Tested(NamedTuple):
    """Candidates tested by the same number of calls each; arrays have length m.

    Attributes
    ----------
    gap, error : ndarray
        Mean difference of the twins, the larger output (as the choice has told) first, and its
        standard error.
    n_calls : int
        Calls that these rest on.
    not_zero, differs, control : ndarray
        p-values: that the mean is not above 0, that the twins are not discriminatory, that the same
        input asked twice gets the same answer on average.
    outputs : ndarray of shape (m, 2)
        Mean outputs of the twins.
    shares : ndarray of shape (m, 2, 2), or None
        As of `Answers.shares`, where the model gives labels alone.
    """

    gap: Floats
    error: Floats
    n_calls: int
    not_zero: Floats
    differs: Floats
    control: Floats
    outputs: Floats
    shares: Floats | None

    def interval(
        self, at: int, error_rate: float, least: float, test_rate: float
    ) -> tuple[float, float]:
        """Return the ends of the interval of a difference that is reported as a test has found it.

        The test, at `test_rate`, is that the difference is above `least`. Small ones pass it where
        chance has made them larger, so the lower end is the mean of which, among the differences
        that pass, only `error_rate` / 2 are as large as this one [4]_.
        """
        if self.shares is not None:  # how often each twin gets the usual label of the first
            lows, highs = clopper_pearson(self.shares[at, :, 0], 2.0 * self.n_calls, error_rate / 2)
            return float(lows[0] - highs[1]), float(highs[0] - lows[1])
        gap, error, t = float(self.gap[at]), float(self.error[at]), stats.t(self.n_calls - 1)
        if error == 0:
            return gap, gap
        size, passed = gap / error, least / error + t.isf(test_rate)

        def excess(mean: float) -> float:
            return float(t.sf(size - mean) / t.sf(passed - mean)) - error_rate / 2

        low = 0.0 if excess(0.0) >= 0 else float(brentq(excess, 0.0, size))
        return low * error, float(size + t.isf(error_rate / 2)) * error


class Confirmation:
    """Asks candidates of a search again; see the module.

    Parameters
    ----------
    repeats : Repeats
        Measures the noise.
    model, record, stopping : CachedModel, Record, StoppingRules
        Of the search, which is over.
    space : InputSpace
        The inputs that exist.
    threshold : float or None
        As for the oracle.
    error_rate : float
        Probability at most that any pair is confirmed although its twins do not differ.
    """

    def __init__(
        self, repeats: Repeats, model: CachedModel, record: Record, stopping: StoppingRules,
        space: InputSpace, *, threshold: float | None, error_rate: float,
    ) -> None:  # fmt: skip
        self.repeats, self.model, self.stopping, self.space = repeats, model, stopping, space
        self.threshold, self.error_rate = threshold, error_rate
        self.by_labels = model.response == "labels" or (
            threshold is None and model.response != "regression"
        )
        self._price = 4 * model.cost
        self._most = np.inf
        self._error: BaseException | None = None
        self._has_just_failed = self._is_over = False
        self._Z, self._pairs, self._keys = candidates(record, model, *record.found()[:2])

    def nothing(self, n_candidates: int = 0) -> Confirmed:
        """Return that nothing was confirmed."""
        Z, pairs, keys = self._Z[:0], self._pairs[:0], self._keys[:0]
        return Confirmed(Z, pairs, np.empty(0), keys, n_candidates=n_candidates, error=self._error)

    def run(self) -> Confirmed:
        """Choose and confirm; without a budget of queries, by as many as the search has asked."""
        if np.isinf(self.stopping.queries_left):
            self._most = 2.0 * self.model.n_queries
        n_fours = int(self._affordable())
        if n_fours <= LEAST_CALLS or not len(self._Z):
            self._ask_for_noise()
            return self.nothing()
        chosen, before = self._choose(min(n_fours // 2, n_fours - LEAST_CALLS))
        if before is None or not len(chosen):
            self._ask_for_noise()
            return self.nothing()
        n_calls = int(min(MOST_CALLS, (1 - WORST_SHARE) * self._affordable() // len(chosen)))
        n_calls = max(n_calls, int(min(LEAST_CALLS, self._affordable() // len(chosen))))
        fresh = self._ask(chosen, n_calls) if n_calls >= LEAST_CALLS else None
        if fresh is None or len(fresh.scores) < LEAST_CALLS:
            return self.nothing(len(chosen))
        n_more = int(min(MOST_CALLS - n_calls, self._affordable()))
        more = self._ask(chosen[:1], n_more)
        worst = fresh.of(np.arange(1))
        return self._judge(chosen, before, fresh, worst if more is None else worst.and_then(more))

    def _ask_for_noise(self) -> None:
        """Ask candidates again and again where nothing else tells how often labels change."""
        n_fours = int(min(2 * PAIRS_AT_END, self._affordable()))
        n = min(len(self._Z), n_fours // 2)
        if n and self.model.response == "labels":
            self._ask(np.arange(n), n_fours // n)

    def _affordable(self) -> float:
        """Return how many times a pair can be asked in the queries and the time that are left."""
        in_time = self.stopping.budget.queries_in_time(1.0)
        left = min(self.stopping.queries_left, self._most - self.model.n_queries, in_time)
        return max(0.0, left / self._price)

    def _ask(self, chosen: Ints, n_calls: int) -> Answers | None:
        """Ask the twins of the candidates so many times; fewer where time or the model ends it.

        A call that fails is one answer less, as the next one may not; two in a row end it.
        """
        sides = [0, 1, 1, 0]
        rows = self.space.twins_.of_each(self._Z[chosen], self._pairs[chosen][:, sides])
        answers: list[tuple[Floats, Labels]] = []
        for _ in range(n_calls):
            if self.stopping.seconds_left <= 0 or self._is_over:
                break
            try:
                answer = self.model.ask_again(rows)
            except (EstimatorFailedError, KeyboardInterrupt) as error:
                self._is_over = self._has_just_failed or isinstance(error, KeyboardInterrupt)
                self._error, self._has_just_failed = error, True
                continue
            self._has_just_failed = False
            if answers:
                self.repeats.note(answers[-1], answer, fresh=True)
            answers.append(answer)
        if not answers:
            return None
        shape = (len(answers), len(chosen), 4)
        scores = np.stack([scores for scores, _ in answers]).reshape(*shape, -1)
        return Answers(scores, np.stack([labels for _, labels in answers]).reshape(shape))

    def _choose(self, n_fours: int) -> tuple[Ints, Answers | None]:
        """Return the candidates to confirm, and the answers that have chosen them."""
        chosen = np.arange(min(len(self._Z), max(1, n_fours // len(ROUNDS))))
        so_far: Answers | None = None
        for n_calls in ROUNDS:
            if n_calls * len(chosen) > n_fours or not len(chosen):
                break
            n_fours -= n_calls * len(chosen)
            new = self._ask(chosen, n_calls)
            if new is None:  # also where the only call has failed, but the next one may not
                n_fours -= n_calls * len(chosen)
                new = self._ask(chosen, n_calls)
            if new is None:
                return chosen[:0], so_far
            new = new if so_far is None else so_far.and_then(new)
            best, needed = self._best(new)
            n_fit = self._n_fit(needed)
            at_once = 2 * n_fit >= len(best) or n_calls == ROUNDS[-1]
            # Each kind of finding has a candidate at least: a difference, and other labels.
            n_kept = max(1 + self.by_labels, n_fit if at_once else len(chosen) // 2)
            chosen, so_far = chosen[best[:n_kept]], new.of(best[:n_kept])
            if at_once:
                break
        return chosen, so_far

    def _n_fit(self, needed: Floats) -> int:
        """Return how many of the first candidates the rest of the budget can confirm."""
        of_all = np.maximum.accumulate(needed) * np.arange(1, len(needed) + 1)
        room = (1 - WORST_SHARE) * self._affordable()
        return int(np.searchsorted(of_all, room, side="right"))

    def _best(self, answers: Answers) -> tuple[Ints, Floats]:
        """Return places of candidates, best first, and how many calls each needs to be confirmed.

        Those that the answers speak against are left out. Where labels decide, the candidate with
        the largest difference comes first nevertheless.
        """
        usual, is_label = answers.usual(), self.model.response == "labels"
        if is_label:
            answers = answers.with_labels_as_scores(usual)
        gaps = np.abs(answers.differences().mean(axis=0)).max(axis=1)
        if self.by_labels:
            # How much more of the answers to each twin are its own label than the other's.
            shares = answers.shares(usual) / (2 * len(answers.scores))
            clear = np.minimum(shares[:, 0, 0] - shares[:, 0, 1], shares[:, 1, 1] - shares[:, 1, 0])
            clear[usual[:, 0] == usual[:, 1]] = 0.0
            order = np.lexsort((-gaps, -clear))
            order = order[clear[order] > 0]
            # Each call has two answers, which are 1 or -1, to each twin.
            needed = _calls(np.sqrt((1 - clear[order] ** 2) / 2), clear[order])
            if is_label:
                return order, needed
            widest = int(gaps.argmax())
            needed = np.r_[_calls(self.repeats.noise, gaps[[widest]]), needed[order != widest]]
            return np.r_[widest, order[order != widest]], needed
        least = self.threshold or 0.0
        order = np.argsort(-gaps, kind="stable")
        order = order[(gaps[order] > least) | (order == order[0])]
        return order, _calls(self.repeats.noise, gaps[order] - least)

    def _judge(self, chosen: Ints, before: Answers, fresh: Answers, worst: Answers) -> Confirmed:
        """Test each candidate by fresh answers, and the first one by more of them, `worst`."""
        m, of_all, of_degree = len(chosen), self.error_rate / 2, self.error_rate / 2
        usual, output, sign = self._sides(before)
        every = self._tested(fresh, usual, output, sign)
        first = self._tested(worst, usual[:1], output[:1], sign[:1])
        # The first has more answers, and its verdict rests on all of them.
        control, differs = (
            np.append(ones, others[1:])
            for ones, others in ((first.control, every.control), (first.differs, every.differs))
        )
        confirmed = np.flatnonzero((control > of_all / m) & holm(differs, of_all))
        disparities = np.abs(np.r_[first.gap, every.gap[1:]])
        order = confirmed[np.argsort(-disparities[confirmed], kind="stable")]
        kept = chosen[order]
        found = Confirmed(
            self._Z[kept], self._pairs[kept], disparities[order], self._keys[kept],
            n_candidates=m, error=self._error,
        )  # fmt: skip
        place, tested, level = 0, first, self.error_rate
        least, test_rate = 0.0, of_degree
        if first.control[0] <= of_degree or first.not_zero[0] > of_degree:
            if not len(confirmed):
                return found
            # It has not held; of those that have, the one that the choice has put first.
            place, tested, level = int(confirmed[0]), every, self.error_rate / m
            # Where labels have confirmed it, no size was asked of its difference.
            least = -np.inf if self.by_labels else self.threshold or 0.0
            test_rate = of_all / m
        at = min(place, len(tested.gap) - 1)
        twins, labels = self._pairs[chosen[place]], usual[place]
        if sign[place] < 0:
            twins, labels = twins[::-1], labels[::-1]
        one, two = map(float, tested.outputs[at])
        own = Worst(
            self._Z[chosen[place]], twins[0], twins[1], (one, two), int(output[place]), labels
        )
        interval = tested.interval(at, level, least, test_rate)
        return found._replace(degree=float(tested.gap[at]), worst=own, interval=interval)

    def _sides(self, before: Answers) -> tuple[Labels, Ints, Floats]:
        """Return what the choice has told of each candidate, which fresh answers are to test.

        These are the usual labels of its twins, (m, 2), the output that differs most, and 1 where
        that of the first twin is larger, else -1.
        """
        usual = before.usual()
        if self.model.response == "labels":
            before = before.with_labels_as_scores(usual)
        means = before.differences().mean(axis=0)
        output = np.abs(means).argmax(axis=1)
        return usual, output, np.where(means[np.arange(len(means)), output] < 0, -1.0, 1.0)

    def _tested(self, fresh: Answers, usual: Labels, output: Ints, sign: Floats) -> Tested:
        """Test candidates by fresh answers."""
        n, here = len(fresh.scores), np.arange(len(usual))
        if is_label := self.model.response == "labels":
            fresh = fresh.with_labels_as_scores(usual)
        gaps = sign * fresh.differences()[:, here, output]
        gap, error = gaps.mean(axis=0), stats.sem(gaps, axis=0)
        shares = fresh.shares(usual)
        not_zero = differs = _labels_differ(shares, usual) if self.by_labels else np.empty(0)
        if not is_label:
            not_zero = _t_test(gap, error, n)
        if not self.by_labels:
            differs = _t_test(gap - (self.threshold or 0.0), error, n)
        if is_label and self.threshold is not None and self.threshold >= 1:
            differs = np.ones(len(usual))  # labels differ by 1 at most
        # What the same input asked twice shows as well is no difference of twins.
        control = fresh.controls()[:, here, output]
        alike = 2 * _t_test(np.abs(control.mean(axis=0)), stats.sem(control, axis=0), n)
        scores = fresh.scores[:, here, :, output].mean(axis=1)  # indexed so, calls come second
        outputs = (scores[:, [0, 1]] + scores[:, [3, 2]]) / 2
        outputs[sign < 0] = outputs[sign < 0][:, ::-1]
        return Tested(
            gap, error, n, not_zero, differs, alike, outputs, shares if is_label else None
        )


def _calls(noise: float | Floats, size: Floats) -> Floats:
    """Return how many calls are to confirm differences of such a size."""
    with np.errstate(divide="ignore"):
        needed = np.ceil((MEANT_ERRORS * noise / np.maximum(size, 0.0)) ** 2)
    return np.clip(needed, FEW_CALLS, MOST_CALLS)


def _t_test(mean: Floats, error: Floats, n: int) -> Floats:
    """Return one-sided p-values of means of n differences against 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / error)
    return np.asarray(stats.t.sf(t, n - 1))


def _labels_differ(shares: Floats, usual: Labels) -> Floats:
    """Return p-values of the claim that the usual labels of the twins are those two.

    A sign test for each twin: of its answers that are one of the two, are more its own? The claim
    needs both.
    """
    own = np.stack([shares[:, 0, 0], shares[:, 1, 1]], axis=1)
    p = stats.binom.sf(own - 1, shares.sum(axis=2), 0.5).max(axis=1)
    return np.where(usual[:, 0] == usual[:, 1], 1.0, p)


def _isolation(Z: Floats) -> Floats:
    """Return how far each row is from the nearest other one, each column on the same scale."""
    width = np.ptp(Z, axis=0)
    scaled = Z / np.where(width > 0, width, 1.0)
    apart = cdist(scaled, scaled)
    np.fill_diagonal(apart, np.inf)
    return apart.min(axis=1)


def holm(p: Floats, level: float) -> Bools:
    """Return which hypotheses Holm's procedure rejects."""
    order = np.argsort(p)
    ok = p[order] <= level / np.arange(len(p), 0, -1)
    rejected = np.zeros(len(p), dtype=bool)
    rejected[order] = np.logical_and.accumulate(ok)
    return rejected
