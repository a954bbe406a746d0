"""Bound linear models by closed forms.

The two twins' scores differ by the sensitive attributes' own parts alone, so the largest difference
is the sum of the ranges of these parts. A probability of two classes is a monotone function of the
score and steepest at even odds: the other attributes should bring the scores as close to the middle
as they can, which is a question of which sums of their parts can be reached.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn import linear_model
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from skfairtest._typing import Floats
from skfairtest.exact._bracket import Bracket, Family, Limits
from skfairtest.exact._compared_rows import middle_row, rows_of_pieces
from skfairtest.exact._support import SEARCH
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._additive import Effects, Extremes
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._layers import Affine
from skfairtest.whitebox._link import probability_link
from skfairtest.whitebox._mixing import mixes_in_single, unmixed
from skfairtest.whitebox._steps import HINT
from skfairtest.whitebox._unsupported import Unsupported

_NAMES = """
ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lars LarsCV Lasso LassoCV
LassoLars LassoLarsCV LassoLarsIC LinearRegression LogisticRegression LogisticRegressionCV
OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV PassiveAggressiveClassifier
PassiveAggressiveRegressor Perceptron QuantileRegressor Ridge RidgeCV RidgeClassifier
RidgeClassifierCV SGDClassifier SGDRegressor TheilSenRegressor
"""
LINEAR = (
    *(getattr(linear_model, name) for name in _NAMES.split() if hasattr(linear_model, name)),
    LinearSVC,
    LinearSVR,
    SVC,
    SVR,
)


#: Sums that are listed for each half of the sets.
MOST_SUMS = 300_000
#: Whole numbers of an attribute that are listed to find the sums that can be reached.
MOST_LISTED = 100_000
#: Halvings of an interval until it is as narrow as numbers are.
MOST_HALVINGS = 70


def is_linear(model: Any, response: str) -> bool:
    """Return whether a closed form holds: scores, or probabilities of two classes."""
    if not isinstance(model, LINEAR):
        return False
    return response != "predict_proba" or len(model.classes_) == 2


def check_linear(model: Any, response: str) -> None:
    """Check the settings of a linear model, fitted or not; of labels nothing is read."""
    name = type(model).__name__
    if isinstance(model, (SVC, SVR)):
        if model.kernel != "linear":
            raise Unsupported(
                f"{name} is certified with kernel='linear'; got {model.kernel!r}.",
                f"Use {name}(kernel='linear'), or gradient boosting, which is nonlinear, too. "
                f"{SEARCH}",
            )
        classes = getattr(model, "classes_", ())
        if len(classes) > 2 and response != "labels":
            raise Unsupported(
                f"{name} votes among pairs of its {len(classes)} classes, which is not understood.",
                "Use LinearSVC.",
            )
    logistic = isinstance(model, (LogisticRegression, LogisticRegressionCV))
    sgd = isinstance(model, SGDClassifier) and model.loss == "log_loss"
    if response == "predict_proba" and not (logistic or sgd):
        raise Unsupported(
            f"The probabilities of {name} are not understood.",
            "Use response_method='decision_function'.",
        )
    n = len(getattr(model, "classes_", ()))
    if response == "predict_proba" and n > 2 and probability_link(model, n, HINT) != "softmax":
        raise shares_of_classes(model)


def shares_of_classes(model: Any) -> Unsupported:
    """Return the error about several classes that have a probability each, divided by their sum."""
    return Unsupported(
        f"{type(model).__name__} divides the probabilities of several classes by their sum, of "
        "which no bound is known that says much.",
        "Use response_method='decision_function' where the model has it, or a model whose "
        f"probabilities are a softmax, such as LogisticRegression. {SEARCH}",
    )


def linear_map(model: Any, response: str) -> tuple[Floats, Floats, float]:
    """Return weights (n_features, n_scores), intercepts, and the factor of the link.

    - `ValueError`: if `check_linear` refuses it.
    """
    check_linear(model, response)
    name = type(model).__name__
    weights = model.coef_
    weights = np.asarray(weights.toarray() if hasattr(weights, "toarray") else weights)
    weights = np.atleast_2d(weights).astype(np.float64)
    if weights.ndim != 2:
        raise ValueError(f"{name} has coefficients of shape {weights.shape}; expected two axes.")
    base = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).ravel(), len(weights))
    factor = 1.0
    if response == "predict_proba":
        factor = (
            2.0
            if probability_link(model, len(weights), HINT) == "softmax" and len(weights) == 1
            else 1.0
        )
    return weights.T, base.copy(), factor


class LinearFamily(Family):
    """Linear model as it was read.

    Its parameters are those of `TreeFamily`.
    """

    quick = True

    def __init__(self, estimator: Any, space: InputSpace, response: str) -> None:
        chain, model = Chain(space).open(estimator)
        self.space = space
        weights, base, self.factor = linear_map(model, response)
        self._mixing = unmixed(chain)
        self.single = mixes_in_single(chain) or getattr(model.coef_, "dtype", None) == np.float32
        shown = chain.features if self._mixing is None else self._mixing.chain.features
        #: What rounding is measured by: the sums of absolute terms, mixed columns' own included.
        self._sizes = np.abs(weights), np.abs(base)
        if self._mixing is not None:
            mixing = self._mixing.map
            self._sizes = (
                np.abs(mixing.weights) @ self._sizes[0],
                np.abs(mixing.base) @ self._sizes[0] + self._sizes[1],
            )
            weights, base = mixing.then(Affine(weights, base))
        self.single |= shown.is_single
        self.features, self.effects = shown, Effects(shown, weights, base)
        self.weights, self.base = weights, base
        self.logistic = response == "predict_proba"
        used = {*self.effects.tables, *self.effects.continuous}
        self.sensitive = {
            int(j): self.effects.extremes(int(j)) for j in space.sensitive if int(j) in used
        }
        error = self._rounding(model)
        eps = float(np.finfo(np.float32 if self.single else np.float64).eps)
        self.rounding = min(1.0, self.factor * error / 4 + 8 * eps) if self.logistic else error

    def _rounding(self, model: Any) -> float:
        """Return how far rounding may carry a score: it grows with the terms that are added up."""
        n = len(self.weights) + 8
        if isinstance(model, (SVC, SVR)):
            # These predict with a sum over their support vectors, whose terms may cancel.
            vectors, dual = model.support_vectors_, model.dual_coef_
            if hasattr(vectors, "toarray"):
                vectors, dual = vectors.toarray(), dual.toarray()
            W, base = np.abs(vectors).T @ np.abs(dual).T, self._sizes[1]
            if self._mixing is not None:
                base = base + np.abs(self._mixing.map.base) @ W
                W = np.abs(self._mixing.map.weights) @ W
            size = Effects(self.features, W, base).size
            return float(np.finfo(np.float64).eps) * (n + len(vectors)) * size
        size = self.effects.size
        if self._mixing is not None:
            size, n = Effects(self.features, *self._sizes).size, n + self._sizes[0].shape[0]
        return 2 * float(np.finfo(np.float32 if self.single else np.float64).eps) * n * size

    def evaluate(self, Z: Floats) -> Floats:
        scores = self.features.transform(Z) @ self.weights + self.base
        return np.asarray(expit(self.factor * scores)) if self.logistic else scores

    def through(self, rng: np.random.Generator, until: float = np.inf) -> Floats:
        return rows_of_pieces(self.space, [self.features], rng)

    def ranges(self) -> tuple[Floats, Floats]:
        low = high = self.effects.base
        for j in (*self.effects.tables, *self.effects.continuous):
            found = self.effects.extremes(j)
            low, high = low + found.low, high + found.high
        if self.logistic:
            return expit(self.factor * low), expit(self.factor * high)
        return low, high

    def root_bound(self) -> float:
        """Bound by the ranges of the sensitive parts; for a probability, by their largest gap."""
        most = float(self._gaps().max(initial=0.0))
        # Over a score difference D the logistic function rises by at most tanh(D / 4).
        return float(np.tanh(self.factor * most / 4)) if self.logistic else most

    def _gaps(self) -> Floats:
        parts = [found.high - found.low for found in self.sensitive.values()]
        return np.sum(parts, axis=0) if parts else np.zeros(len(self.base))

    def solve(self, incumbent: float, limits: Limits) -> Bracket:
        """Return the largest difference, and a pair that shows it."""
        o = int(self._gaps().argmax())
        first, second = middle_row(self.space), middle_row(self.space)
        for j, found in self.sensitive.items():
            first[j], second[j] = found.at_high[o], found.at_low[o]
        upper = float(self._gaps()[o])
        pairs = [(first, second)]
        if self.logistic:
            pairs, upper = self._even_odds(o, first, second, limits)
        answers = self.evaluate(np.vstack([z for pair in pairs for z in pair]))[:, o]
        gaps = np.abs(answers[0::2] - answers[1::2])
        lower, twins = float(gaps.max()), pairs[int(gaps.argmax())]
        upper = max(upper, lower, incumbent)
        return Bracket(
            max(lower, incumbent), upper, twins if lower > incumbent else None, 0, "closed"
        )

    def _even_odds(
        self, o: int, first: Floats, second: Floats, limits: Limits
    ) -> tuple[list[tuple[Floats, Floats]], float]:
        """Return twins whose scores are nearest to the middle, and the largest possible gap."""
        pairs, upper = [], 1.0
        for listed in (False, True):
            free, bound = self._towards_even_odds(o, listed)
            one, two = first.copy(), second.copy()
            one[self.space.free] = two[self.space.free] = free
            pairs.append((one, two))
            upper = min(upper, bound)
            answers = self.evaluate(np.vstack([one, two]))[:, o]
            gap = abs(float(answers[0] - answers[1]))
            if limits.is_late or gap >= upper * (1 - limits.rtol / 2):
                break
        return pairs, upper

    def _towards_even_odds(self, o: int, listed: bool) -> tuple[Floats, float]:
        """Choose free attributes that bring the two scores nearest to the middle.

        Attributes of many values are taken as intervals first, which is quick and a bound. Where
        that leaves a gap, those of up to 100,000 whole numbers are `listed`.
        """
        effects = self.effects
        high = float(sum(found.high[o] for found in self.sensitive.values()))
        low = float(sum(found.low[o] for found in self.sensitive.values()))
        middle = -(high + low) / 2 - float(effects.base[o])
        sets, continuous, codes = {}, {}, middle_row(self.space)
        for j in (int(j) for j in self.space.free):
            if j in effects.tables:
                sets[j] = effects.tables[j][:, o]
            elif j in effects.continuous:
                found = effects.extremes(j)
                n = self.space.domain.high[j] - self.space.domain.low[j] + 1
                if listed and self.space.domain.discrete[j] and n <= MOST_LISTED:
                    sets[j] = effects.part(j, self.space.domain.low[j] + np.arange(n))[:, o]
                else:
                    continuous[j] = found
        ends = [(float(found.low[o]), float(found.high[o])) for found in continuous.values()]
        reached = nearest_sum(middle, sets, ends)
        for j, place in reached.places.items():
            listed_here = j not in effects.tables
            codes[j] = (
                self.space.domain.low[j] + place if listed_here else self.features.grids[j][place]
            )
        left = reached.left
        # Steps of whole numbers leave a rest: the finer ones, and real numbers, make up for it.
        rest_low, rest_high = sum(end[0] for end in ends), sum(end[1] for end in ends)
        for j in sorted(continuous, key=lambda j: -self._step(j, continuous[j], o)):
            found = continuous[j]
            rest_low, rest_high = rest_low - found.low[o], rest_high - found.high[o]
            codes[j] = self._code_of(j, o, found, left - (rest_low + rest_high) / 2)
            left -= float(effects.part(j, codes[[j]])[0, o])
        codes = self.space.domain.clip(codes[None])[0]
        # The gap falls evenly to both sides of the middle.
        score = middle + float(effects.base[o]) + reached.distance
        gap = expit(self.factor * (score + high)) - expit(self.factor * (score + low))
        return codes[self.space.free], float(gap)

    def _step(self, j: int, found: Extremes, o: int) -> float:
        """Return how much the part of a continuous attribute changes from one value to the next."""
        if not self.space.domain.discrete[j]:
            return 0.0
        return float(
            (found.high[o] - found.low[o]) / (self.space.domain.high[j] - self.space.domain.low[j])
        )

    def _code_of(self, j: int, o: int, found: Extremes, wanted: float) -> float:
        """Return a code of a continuous attribute at which its part is next to a number."""
        low, high = float(found.at_low[o]), float(found.at_high[o])
        under, over = float(found.low[o]), float(found.high[o])
        if not under < wanted < over:
            return low if wanted <= under else high
        enough = 1e-13 * (over - under)
        for turn in range(MOST_HALVINGS):
            # Most parts are straight lines, so that the first guess is nearly right.
            share = (wanted - under) / (over - under) if turn % 2 == 0 else 0.5
            middle = low + share * (high - low)
            middle = float(np.rint(middle)) if self.space.domain.discrete[j] else middle
            part = float(self.effects.part(j, np.array([middle]))[0, o])
            if abs(part - wanted) <= enough:
                return middle
            if middle in (low, high) and turn % 2:
                break
            if part <= wanted:
                low, under = middle, part
            else:
                high, over = middle, part
        return low if wanted - under <= over - wanted else high


# Which sums of one value from each of several sets come nearest to a target ----------------


class Reached(NamedTuple):
    """How near sums can come to a target.

    No sum is nearer than `distance`. `places` are positions in the sets of a sum that is that near,
    or nearly so where there are very many sums; `left` is what the intervals have to add to it.
    """

    distance: float
    places: dict[int, int]
    left: float


def nearest_sum(
    target: float, sets: dict[int, Floats], intervals: list[tuple[float, float]]
) -> Reached:
    """Return the sum nearest to the target of one value from every set and every interval.

    - `target`: where to come near to.
    - `sets`: values to choose from.
    - `intervals`: values may be anything between.
    - the result: exact where the sums of the sets are at most 9e10; else `distance` is a lower
      bound.
    """
    halves: list[list[int]] = [[], []]
    sizes = [1, 1]
    rest = []
    for j in sorted(sets, key=lambda j: len(sets[j])):
        half = 0 if sizes[0] <= sizes[1] else 1
        if sizes[half] * len(sets[j]) > MOST_SUMS:
            rest.append(j)
            continue
        halves[half].append(j)
        sizes[half] *= len(sets[j])
    low = sum(end[0] for end in intervals)
    high = sum(end[1] for end in intervals)
    # Sets beyond are taken as whole intervals, which can only come nearer.
    loose_low = low + sum(float(sets[j].min()) for j in rest)
    loose_high = high + sum(float(sets[j].max()) for j in rest)
    one, two = _sums([sets[j] for j in halves[0]]), _sums([sets[j] for j in halves[1]])
    order = np.argsort(two, kind="stable")
    distance, a, b = _nearest(target, one, two[order], loose_low, loose_high)
    places = _unpack(a, halves[0], sets) | _unpack(int(order[b]), halves[1], sets)
    left = target - float(one[a]) - float(two[order[b]])
    for k, j in enumerate(rest):
        # What the sets behind it and the intervals cannot make up, this one has to.
        behind = [sets[i] for i in rest[k + 1 :]]
        reach = (
            low + sum(float(s.min()) for s in behind),
            high + sum(float(s.max()) for s in behind),
        )
        off = left - sets[j]
        places[j] = int(np.maximum(off - reach[1], reach[0] - off).argmin())
        left -= float(sets[j][places[j]])
    return Reached(distance, places, left)


def _sums(sets: list[Floats]) -> Floats:
    total = np.zeros(1)
    for values in sets:
        total = (total[:, None] + values).ravel()
    return total


def _unpack(place: int, names: list[int], sets: dict[int, Floats]) -> dict[int, int]:
    if not names:
        return {}
    found = np.unravel_index(place, [len(sets[j]) for j in names])
    return {j: int(p) for j, p in zip(names, found, strict=True)}


def _nearest(
    target: float, one: Floats, two: Floats, low: float, high: float
) -> tuple[float, int, int]:
    """Return the distance of a target from sums a + b + [low, high], and where a and b are."""
    wanted = target - one
    after = np.clip(np.searchsorted(two, wanted - high), 0, len(two) - 1)
    before = np.clip(after - 1, 0, len(two) - 1)
    best = (np.inf, 0, 0)
    for b in (after, before):
        off = wanted - two[b]
        away = np.maximum(np.maximum(low - off, off - high), 0.0)
        a = int(away.argmin())
        if away[a] < best[0]:
            best = (float(away[a]), a, int(b[a]))
    return best
