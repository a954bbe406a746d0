"""Linear models: closed forms.

The two twins' scores differ by the sensitive attributes' own parts alone, so the largest difference
is the sum of the ranges of these parts. A probability of two classes is a monotone function of the
score and steepest at even odds: the other attributes should bring the scores as close to the middle
as they can, which is a question of which sums of their parts can be reached.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import linear_model
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from skfairtest._space import InputSpace
from skfairtest.exact._bracket import Bracket
from skfairtest.exact._chains import Chain
from skfairtest.exact._effects import Effects
from skfairtest.exact._links import expit
from skfairtest.exact._reach import nearest_sum
from skfairtest.individual._gradients_of import _link

Floats = NDArray[np.float64]

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


def is_linear(model: Any, response: str) -> bool:
    """Whether a closed form holds: scores, or probabilities of two classes."""
    if not isinstance(model, LINEAR):
        return False
    return response != "predict_proba" or len(model.classes_) == 2


def linear_map(model: Any, response: str) -> tuple[Floats, Floats, float]:
    """Weights (n_features, n_scores), intercepts, and what the link multiplies scores with.

    Raises
    ------
    ValueError
        If the kernel is not linear, or the link is not understood.
    """
    name = type(model).__name__
    if isinstance(model, (SVC, SVR)):
        if model.kernel != "linear":
            raise ValueError(f"{name} is certified with kernel='linear'; got {model.kernel!r}.")
        if is_classifier(model) and len(model.classes_) > 2:
            raise ValueError(
                f"{name} votes among pairs of its {len(model.classes_)} classes, which is not "
                "understood. Use LinearSVC."
            )
    weights = model.coef_
    weights = np.asarray(weights.toarray() if hasattr(weights, "toarray") else weights)
    weights = np.atleast_2d(weights).astype(np.float64)
    if weights.ndim != 2:
        raise ValueError(f"{name} has coefficients of shape {weights.shape}; expected two axes.")
    base = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).ravel(), len(weights))
    factor = 1.0
    if response == "predict_proba":
        logistic = isinstance(model, (LogisticRegression, LogisticRegressionCV))
        sgd = isinstance(model, SGDClassifier) and model.loss == "log_loss"
        if not (logistic or sgd):
            raise ValueError(
                f"The probabilities of {name} are not understood. Use "
                "response_method='decision_function'."
            )
        factor = 2.0 if _link(model, len(weights)) == "softmax" and len(weights) == 1 else 1.0
    return weights.T, base.copy(), factor


class LinearFamily:
    """A linear model, read out.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    space : InputSpace
        The inputs that exist.
    response : {"regression", "predict_proba", "decision_function"}
        What is asked of it.
    """

    quick, loose = True, False

    def __init__(self, estimator: Any, space: InputSpace, response: str) -> None:
        chain, model = Chain(space).open(estimator)
        weights, base, self.factor = linear_map(model, response)
        self.space, self.features = space, chain.features
        self.effects = Effects(self.features, weights, base)
        self.weights, self.base = weights, base
        self.logistic = response == "predict_proba"
        single = np.asarray(model.coef_).dtype == np.float32 if not hasattr(
            model.coef_, "toarray"
        ) else False  # fmt: skip
        eps = float(np.finfo(np.float32 if single else np.float64).eps)
        error = 2 * eps * (len(weights) + 8) * self.effects.size
        self.rounding = min(1.0, self.factor * error / 4 + 8 * eps) if self.logistic else error

    def evaluate(self, Z: Floats) -> Floats:
        """Answers of the model as it was read, shape (n, n_outputs)."""
        scores = self.features.transform(Z) @ self.weights + self.base
        return _expit(self.factor * scores) if self.logistic else scores

    def rows(self, n: int, rng: np.random.Generator) -> Floats:
        """Random rows of codes; every fourth attribute at an end of its domain."""
        Z = self.space.draw(n, rng)
        ends = np.where(rng.random(Z.shape) < 0.5, self.space.low, self.space.high)
        return np.where(rng.random(Z.shape) < 0.25, ends, Z)

    def trivial(self) -> float:
        """The ranges of the sensitive parts; for a probability, the largest gap they allow."""
        ranges = self._ranges()
        most = float(ranges.max(initial=0.0))
        # Over a score difference D the logistic function rises by at most tanh(D / 4).
        return float(np.tanh(self.factor * most / 4)) if self.logistic else most

    def _ranges(self) -> Floats:
        parts = [np.ptp(self.effects.tables[j], axis=0) for j in self._sensitive()]
        return np.sum(parts, axis=0) if parts else np.zeros(len(self.base))

    def _sensitive(self) -> list[int]:
        return [int(j) for j in self.space.sensitive if int(j) in self.effects.tables]

    def solve(self, known: float, deadline: float, rtol: float) -> Bracket:
        """The largest difference, and a pair that shows it.

        Parameters
        ----------
        known : float
            A difference that is attained.
        deadline, rtol : float
            Not needed: a closed form takes next to no time.

        Returns
        -------
        Bracket
            Of the model as it was read.
        """
        o = int(self._ranges().argmax())
        first = self.space.clip(((self.space.low + self.space.high) / 2)[None])[0]
        first[self.space.sensitive] = self.space.low[self.space.sensitive]
        second = first.copy()
        for j in self._sensitive():
            part = self.effects.tables[j][:, o]
            first[j] = self.features.grids[j][part.argmax()]
            second[j] = self.features.grids[j][part.argmin()]
        upper = float(self._ranges()[o])
        if self.logistic:
            free, upper = self._towards_even_odds(o)
            first[self.space.free] = second[self.space.free] = free
        answers = self.evaluate(np.vstack([first, second]))[:, o]
        lower = abs(float(answers[0] - answers[1]))
        twins = (first, second) if lower > known else None
        return Bracket(max(lower, known), max(upper, lower, known), twins, 0, "closed")

    def _towards_even_odds(self, o: int) -> tuple[Floats, float]:
        """Free attributes that bring the two scores nearest to the middle; the gap there."""
        effects = self.effects
        tables = [effects.tables[j][:, o] for j in self._sensitive()]
        high = float(sum(part.max() for part in tables))
        low = float(sum(part.min() for part in tables))
        middle = -(high + low) / 2 - float(effects.base[o])
        free = [int(j) for j in self.space.free]
        discrete = {j: effects.tables[j][:, o] for j in free if j in effects.tables}
        limits = {j: effects.limits(j) for j in free if j in effects.wide}
        wide = {j: (float(low[o]), float(high[o])) for j, (low, high) in limits.items()}
        reached = nearest_sum(middle, discrete, wide)
        codes = self.space.clip(((self.space.low + self.space.high) / 2)[None])[0]
        for j, place in reached.places.items():
            codes[j] = self.features.grids[j][place]
        for j, share in reached.shares.items():
            rising = self.effects.at(j, np.array([self.space.low[j], self.space.high[j]]))[..., o]
            share = share if rising[1].sum() >= rising[0].sum() else 1 - share
            codes[j] = self.space.low[j] + share * (self.space.high[j] - self.space.low[j])
        codes = self.space.clip(codes[None])[0]
        # The gap falls evenly to both sides of the middle.
        off = reached.distance
        score = middle + float(effects.base[o]) + off
        gap = expit(self.factor * (score + high)) - expit(self.factor * (score + low))
        return codes[self.space.free], float(gap)


def _expit(scores: Floats) -> Floats:
    from scipy.special import expit as vector_expit

    return np.asarray(vector_expit(scores))
