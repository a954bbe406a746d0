"""The guard of a mitigation: whether the score fell, by how much, and what the rows can tell.

Both models are scored on rows that neither has seen, out of fold. The mean difference of the scores
has an error from the rows: a jackknife that leaves out groups of rows, which holds for any score of
the rows' predictions and knows that the two models are wrong about mostly the same rows. And it is
a mean over the models of the folds, where the claim is about two models of all rows: how far a
single training lies from the mean adds to the error (see `judge`).

A third of the rows choose among rounds and methods, and the others judge what was chosen: the best
of some looks better than it is to the rows that it was chosen by.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import is_classifier

from skfairtest._typing import Floats, Ints, is_real
from skfairtest.finding._words import message_of
from skfairtest.mitigation._cached_predictions import CachedPredictions
from skfairtest.space._rows import take_rows

Values = NDArray[Any]


class Drop(NamedTuple):
    """How far a score fell: the estimate, its interval, and what it is at most.

    The interval holds on both sides at once at the guard's confidence; `at_most` is for those who
    ask for one side alone, and is a little less than `high`.
    """

    estimate: float
    low: float
    high: float
    at_most: float


NO_DROP = Drop(0.0, 0.0, 0.0, 0.0)


class Verdict(NamedTuple):
    """Whether a score was kept, and `confirmed` by the rows alone; at most how far it fell.

    `spread` is the standard deviation between trainings that the interval of the drop reckons with.
    """

    good: bool
    confirmed: bool
    drop: Drop
    bound: float = 0.0
    spread: float = 0.0


#: The verdict on the original, and on what failed.
KEPT_AS_IT_IS = Verdict(True, True, NO_DROP)
NOT_JUDGED = Verdict(False, False, Drop(np.nan, np.nan, np.nan, np.nan))


class HeldOut:
    """Rows of one fold that are held out, and how a model is scored on some of them.

    Parameters
    ----------
    scorer : callable
        Called as ``scorer(model, X, y)``, with ``sample_weight`` where there are weights.
    X, y, weights : table, ndarray, ndarray or None
        The rows.
    numbers : ndarray of int, default=None
        Which rows of the data they are: a row may be held out by several folds.
    """

    def __init__(
        self, scorer: Any, X: Any, y: Values, weights: Floats | None, numbers: Ints | None = None
    ) -> None:
        self.scorer = scorer
        self.X, self.y, self.weights = X, y, weights
        self.numbers = np.arange(len(y)) if numbers is None else numbers
        #: Whether the score follows from predictions alone; not known before the first model.
        self.by_predictions: bool | None = None
        #: Whether it is the share of predictions that are right.
        self.is_accuracy = False

    @property
    def size(self) -> float:
        """What the fold counts in the mean: its rows, or their weight."""
        return float(len(self.y)) if self.weights is None else float(self.weights.sum())

    def scores(self, model: Any, parts: list[Ints]) -> Floats:
        """Score on all rows, and on each part of them; NaN where a part has no score."""
        rows = np.arange(len(self.y))
        recorded = (
            model if isinstance(model, CachedPredictions) else CachedPredictions(model, self.X)
        )
        model = recorded.model
        if self.is_accuracy:
            right = np.asarray(recorded.predict(rows) == self.y, dtype=np.float64)
            weights = np.ones(len(right)) if self.weights is None else self.weights
            return np.array([_mean(right[part], weights[part]) for part in [rows, *parts]])
        if self.by_predictions:
            whole = self._check(self._score(recorded, rows, rows))
        else:
            whole = self._check(self._score(model, self.X, rows))
            if self.by_predictions is None:
                self._learn_kind(recorded, whole)
        scores = [whole]
        for part in parts:
            if not len(part):
                scores.append(np.nan)
                continue
            try:
                if self.by_predictions:
                    score = self._score(recorded, part, part)
                else:
                    score = self._score(model, take_rows(self.X, part), part)
                scores.append(float(score))
            except Exception:  # a part without one of the classes, say
                scores.append(np.nan)
        return np.array(scores)

    def _learn_kind(self, recorded: CachedPredictions, whole: float) -> None:
        """Note whether the scorer gives the same for predictions that are looked up by number.

        If so, also whether it asks for labels alone and counts the right ones; that is seen on all
        rows and on two halves of them.
        """
        rows = np.arange(len(self.y))
        try:
            score = self._score(recorded, rows, rows)
            self.by_predictions = bool(np.isclose(score, whole, rtol=1e-9))
            if not self.by_predictions or not is_classifier(recorded) or len(rows) < 4:
                return
            self.is_accuracy = all(
                np.isclose(self._score(recorded, part, part), recorded.score(part, self.y[part],
                           None if self.weights is None else self.weights[part]), rtol=1e-9)
                for part in (rows, rows[::2], rows[1::2])
            )  # fmt: skip
        except Exception:  # a scorer that looks at the columns fails in its own way
            self.by_predictions = bool(self.by_predictions)

    def _score(self, model: Any, X: Any, rows: Ints) -> Any:
        if self.weights is None:
            return self.scorer(model, X, self.y[rows])
        return self.scorer(model, X, self.y[rows], sample_weight=self.weights[rows])

    @staticmethod
    def _check(score: Any) -> float:
        if not is_real(score) or not np.isfinite(score):
            raise ValueError(
                f"scoring must give one finite number for the rows held out; got {score!r}. "
                "Choose another scoring=."
            )
        return float(score)


class Guard:
    """Compares the score of models with the original's, out of fold.

    Parameters
    ----------
    folds : list of HeldOut
        The rows of all folds.
    originals : list of estimator
        The original model of each fold, trained without its rows.
    classification : bool
        Whether rows are right or wrong: the score of few rows is then as coarse as they are.
    max_score_drop : float
        How far the score may fall.
    rng : Generator
        Deals the rows out to groups.

    Attributes
    ----------
    score : float
        The original's score out of fold, the mean over the folds by their sizes.
    unscored : str
        Which folds have no score of the original, and why.
    """

    def __init__(
        self,
        folds: list[HeldOut],
        originals: list[Any],
        *,
        classification: bool,
        max_score_drop: float,
        rng: np.random.Generator,
    ) -> None:
        #: Folds that have rows of this guard at all.
        self._places = [place for place, fold in enumerate(folds) if len(fold.y)]
        self.folds = folds = self._of(folds)
        originals = self._of(originals)
        self.classification = classification
        self.max_score_drop = max_score_drop
        self.confidence = 0.95
        # The first model that has a score tells how scores can be had.
        known = folds[_first_with_score(folds, originals)]
        for fold in folds:
            fold.by_predictions = known.by_predictions
            fold.is_accuracy = known.is_accuracy
        # Groups that are left out in turn: fewer where the score has to ask the model again.
        most = 20 if known.by_predictions else 8
        rows = np.unique(np.concatenate([fold.numbers for fold in folds]))
        self.n_rows = len(rows)
        self.n_groups = max(2, min(most, self.n_rows // 2))
        dealt = rng.permutation(self.n_rows) % self.n_groups
        # The rows of each fold that are left without each group: a row is in one group wherever it
        # is held out.
        self._parts = []
        for fold in folds:
            number = dealt[np.searchsorted(rows, fold.numbers)]
            self._parts.append([np.flatnonzero(number != g) for g in range(self.n_groups)])
        sizes = np.array([fold.size for fold in folds])
        self._shares = sizes / sizes.sum()
        self._original, self.unscored = self._scores_of(originals)
        self.score = float(self._mean(self._original)[0])
        #: The originals' predictions, where the score counts the right ones.
        self._predicted: list[Values] | None = None
        if known.is_accuracy:
            self._predicted = [
                np.asarray(model.predict(fold.X))
                for fold, model in zip(folds, originals, strict=True)
            ]

    def _of(self, things: list[Any]) -> list[Any]:
        return [things[place] for place in self._places if place < len(things)]

    def _scores_of(self, models: list[Any]) -> tuple[Floats, str]:
        """Scores of the folds, of all rows and without each group, and what failed.

        A fold without a score, as it has no row of one of the classes, say, has NaN; so have folds
        whose models are not there. What fails in all folds is an error.
        """
        table = np.full((len(self.folds), 1 + self.n_groups), np.nan)
        errors: list[Exception] = []
        for scores, fold, model, parts in zip(table, self.folds, models, self._parts, strict=False):
            try:
                scores[:] = fold.scores(model, parts)
            except Exception as error:
                errors.append(error)
        if not errors:
            return table, ""
        if len(errors) == min(len(models), len(self.folds)):
            raise errors[0]
        name = f"{type(errors[0]).__name__}: {message_of(errors[0])}"
        return table, f"{len(errors)} of {len(self.folds)} folds have no score ({name})"

    def _mean(self, table: Floats) -> Floats:
        """Mean over the folds by their sizes. A fold without a score has no say there."""
        share = self._shares[:, None] * np.isfinite(table)
        with np.errstate(invalid="ignore"):
            return np.asarray((np.nan_to_num(table) * share).sum(axis=0) / share.sum(axis=0))

    def drop(self, models: list[Any], spread: float | None = 0.0) -> Drop:
        """How far the score of the models lies below the originals'.

        Models are those of all folds, or of the first ones, which then have the say alone.
        `spread` is that between trainings, with which the interval is about one training and not
        about the mean of the folds; None takes how far the folds lie apart, which is more.
        """
        fell = self._original - self._scores_of(self._of(models))[0]
        if spread is None:
            apart = fell[np.isfinite(fell[:, 0]), 0]
            spread = float(np.std(apart, ddof=1)) if len(apart) > 1 else np.inf
        whole = self._mean(fell)
        return interval_of(
            whole[0],
            whole[1:],
            confidence=self.confidence,
            n_rows=self.n_rows if self.classification else None,
            spread=spread,
        )

    def look_at(self, models: list[Any], spread: float | None = 0.0) -> Verdict:
        """Whether the score is kept: what is known of its drop lies below the limit.

        Few rows know little. With a hundred of them, the drop seen out of fold has nothing to do
        with that of the model that is kept: both hang on which rows a model was given. What can be
        known is how many predictions changed, as accuracy falls by no more than that, and mostly
        by much less: some were wrong before. So of accuracy the interval of the rows is combined
        with that expectation, the one that knows more counting more.
        """
        cached = list(models)
        for place, fold in zip(self._places, self.folds, strict=True):
            if place < len(models):
                cached[place] = CachedPredictions(models[place], fold.X)
        drop = self.drop(cached, spread)
        confirmed = drop.at_most <= self.max_score_drop
        mean, above = drop.estimate, drop.at_most - drop.estimate
        if self._predicted is not None and np.isfinite(above):
            # One standard deviation of the accuracy that a model is expected to lose or win: rounds
            # on tables of 100 rows had 0.14 to 0.23 of the share of predictions that changed.
            expected = 0.2 * self._share_changed(self._of(cached))
            quantile = stats.norm.isf(1 - self.confidence)
            known = above / quantile
            total = expected**2 + known**2
            # Of two normal distributions, the expected drop being 0.
            mean = drop.estimate * expected**2 / total if total else 0.0
            above = quantile * (expected * known / np.sqrt(total) if total else 0.0)
        bound = min(drop.at_most, float(mean + above))
        return Verdict(bound <= self.max_score_drop, confirmed, drop, bound, spread or 0.0)

    def _share_changed(self, cached: list[CachedPredictions]) -> float:
        """Share of the rows held out whose prediction is not the original's."""
        assert self._predicted is not None, "asked for accuracy alone"
        changed = np.full((len(self.folds), 1), np.nan)
        for place, (model, fold, predicted) in enumerate(
            zip(cached, self.folds, self._predicted, strict=False)
        ):
            weights = np.ones(len(fold.y)) if fold.weights is None else fold.weights
            differs = model.predict(np.arange(len(fold.y))) != predicted
            changed[place] = _mean(np.asarray(differs, dtype=np.float64), weights)
        return float(self._mean(changed)[0])

    def too_low(self, verdict: Verdict) -> str:
        """Say why a score was not kept."""
        drop = verdict.drop
        if drop.estimate > self.max_score_drop:
            return f"score fell by {drop.estimate:.4g}"
        if not np.isfinite(verdict.bound):
            return "score is not known, as too few rows have one"
        return f"score may have fallen by {verdict.bound:.4g}"


def _first_with_score(folds: list[HeldOut], models: list[Any]) -> int:
    """The first fold that has a score; the scorer's own error where none has."""
    errors = []
    for place, (fold, model) in enumerate(zip(folds, models, strict=True)):
        try:
            fold.scores(model, [])
            return place
        except Exception as error:
            errors.append(error)
    raise errors[0]


def _mean(values: Floats, weights: Floats) -> float:
    total = weights.sum()
    return float(values @ weights / total) if total else np.nan


def interval_of(
    estimate: float,
    without: Floats,
    *,
    confidence: float,
    n_rows: int | None = None,
    spread: float = 0.0,
) -> Drop:
    """Jackknife interval of a difference from its values without each group of rows.

    With `n_rows` two more rows about which the models disagree are reckoned with, one for either
    side: where none of n rows changed, a change of a few in n is still possible. With a `spread`
    between trainings the interval is one for a single training (a prediction interval).

    References
    ----------
    .. [1] Efron, B., & Stein, C. (1981). The jackknife estimate of variance. Annals of Statistics
       9(3), 586-596.
    .. [2] Bonett, D. G., & Price, R. M. (2012). Adjusted Wald confidence interval for a difference
       of binomial proportions based on paired data. Journal of Educational and Behavioral
       Statistics 37(4), 479-488.
    """
    n = len(without)
    if not np.isfinite(without).all():
        return Drop(float(estimate), -np.inf, np.inf, np.inf)
    variance = (n - 1) / n * float(((without - without.mean()) ** 2).sum())
    if n_rows is not None:
        variance += 2 / (n_rows + 2) ** 2
    variance += spread**2
    error = float(np.sqrt(variance))
    both, one = stats.t.isf([(1 - confidence) / 2, 1 - confidence], n - 1)
    low, high, at_most = (float(estimate + times * error) for times in (-both, both, one))
    return Drop(float(estimate), low, high, at_most)


def check_scorer_takes_weights(scorer: Any) -> None:
    """See that a scorer that was written by hand takes weights."""
    if not inspect.isfunction(scorer):
        return
    taken = inspect.signature(scorer).parameters
    if "sample_weight" in taken or any(p.kind is p.VAR_KEYWORD for p in taken.values()):
        return
    raise ValueError(
        "fit got sample_weight, so scoring= has to take it as well: expected a function of "
        f"(estimator, X, y, sample_weight); got {getattr(scorer, '__name__', scorer)} with "
        f"{list(taken)}."
    )
