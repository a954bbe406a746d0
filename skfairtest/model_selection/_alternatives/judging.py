"""Paired changes to the original, with intervals that hold for all candidates and measures at once.

Two errors are reckoned with. The rows: a jackknife that leaves out parts of the rows, which holds
for any measure, and in which candidates and measures share the rows. And the training: what is
judged are several models of a candidate, and what is handed over is another one, of all rows. How
far single trainings lie from their mean is seen on the same rows; the interval is one for a single
training (a prediction interval). The fewest rows and trainings have their say in Student's t.

How many standard errors the intervals reach is the largest deviation of all candidates and measures
in 95% of joint draws: parts of the rows, and trainings, times normal numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skfairtest._statistics import rounded_up
from skfairtest._typing import Bools, Floats

#: Of all intervals together.
CONFIDENCE = 0.95
#: Joint draws that say how far the intervals reach.
N_DRAWS = 4_000


class Changes(NamedTuple):
    """Changes of several candidates in several measures, for the better where they are above 0.

    Attributes
    ----------
    value, error : ndarray of shape (n_candidates, n_measures)
        Estimates, and their standard errors.
    reach : ndarray of shape (n_candidates, n_measures)
        Half the width of the intervals.
    spread : ndarray of shape (n_candidates, n_measures), or None
        Standard deviation between trainings.
    """

    value: Floats
    error: Floats
    reach: Floats
    spread: Floats | None

    @property
    def low(self) -> Floats:
        """Lower bounds; minus infinity where there are none."""
        return np.where(np.isfinite(self.reach), self.value - self.reach, -np.inf)

    @property
    def high(self) -> Floats:
        """Upper bounds; infinity where there are none."""
        return np.where(np.isfinite(self.reach), self.value + self.reach, np.inf)


def changes_of(gains: Floats, rng: np.random.Generator) -> Changes:
    """Estimate changes with simultaneous intervals.

    Parameters
    ----------
    gains : ndarray of shape (n_candidates, n_measures, n_trainings, 1 + n_parts)
        Gain of each training against the original on all rows, and without each part of them. One
        training is taken as it is.
    rng : Generator
        Draws how far the largest of all deviations is.

    References
    ----------
    .. [1] Efron, B., & Stein, C. (1981). The jackknife estimate of variance. Annals of Statistics
       9(3), 586-596.
    .. [2] Chernozhukov, V., Chetverikov, D., & Kato, K. (2013). Gaussian approximations and
       multiplier bootstrap for maxima of sums of high-dimensional random vectors. Annals of
       Statistics 41, 2786-2819.
    .. [3] Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance
       components. Biometrics Bulletin 2(6), 110-114.
    """
    n, n_parts = gains.shape[2], gains.shape[3] - 1
    mean = gains.mean(axis=2)
    parts = _around(mean[..., 1:]) * np.sqrt((n_parts - 1) / n_parts)
    rows = (parts**2).sum(axis=-1)
    deviations, spread, between, by_rows = [parts], None, np.zeros_like(rows), np.zeros_like(rows)
    if n > 1:
        of_trainings = _around(gains[..., 0])
        between = (of_trainings**2).sum(axis=-1) / (n - 1)
        # Trainings differ on few rows more than they would on many: what differs because of the
        # rows is left out, where that is known well enough.
        of_rows = _around((gains - mean[:, :, None])[..., 1:])
        by_rows = (of_rows**2).sum(axis=(2, 3)) * (n_parts - 1) / n_parts / (n - 1)
        deviations.append(of_trainings * np.sqrt((1 + 1 / n) / (n - 1)))
        spread = np.sqrt(np.maximum(0.0, between - by_rows))
    error = np.sqrt(rows + between * (1 + 1 / n))
    known = np.isfinite(error) & (error > 0)
    level = _level(np.concatenate([part[known] for part in deviations], axis=-1), error[known], rng)

    def reach(of_training: Floats) -> Floats:
        # Welch and Satterthwaite: variances that are known badly make the interval longer.
        variance = rows + of_training * (1 + 1 / n)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = (rows / variance) ** 2 / (n_parts - 1)
            shares += (between * (1 + 1 / n) / variance) ** 2 / max(1, n - 1)
            return np.sqrt(variance) * stats.t.isf(level / 2, np.maximum(1.0, 1 / shares))

    whole = np.fmin(reach(between), reach(np.maximum(0.0, between - by_rows)))
    return Changes(mean[..., 0], error, np.where(error == 0, 0.0, whole), spread)


def _around(values: Floats) -> Floats:
    """Deviations from the mean of the last axis."""
    return values - values.mean(axis=-1, keepdims=True)


def _level(deviations: Floats, error: Floats, rng: np.random.Generator) -> float:
    """The level at which each of the intervals has to hold so that all do at once."""
    if not len(error):
        return 1 - CONFIDENCE
    draws = rng.standard_normal((N_DRAWS, deviations.shape[-1])) @ (deviations / error[:, None]).T
    largest = float(np.quantile(np.abs(draws).max(axis=1), CONFIDENCE))
    return float(2 * stats.norm.sf(largest))


class Criteria(NamedTuple):
    """What makes a candidate an alternative. The score is the first measure, disparities follow.

    The first disparity has to fall, the score may fall by `margin` at most, and no other disparity
    may be higher for certain.
    """

    margin: float

    def by_estimate(self, changes: Changes) -> Bools:
        """Whether estimates alone say so."""
        value, others = changes.value, changes.high[:, 2:] >= 0
        kept = value[:, 0] >= -self.margin - 1e-12
        return np.asarray((value[:, 1] > 0) & kept & others.all(axis=1))

    def for_certain(self, changes: Changes) -> Bools:
        """Whether the intervals say so."""
        low = changes.low
        kept = low[:, 0] >= -self.margin - 1e-12
        return np.asarray((low[:, 1] > 0) & kept & self.by_estimate(changes))

    def left_open(self, changes: Changes) -> Bools:
        """Whether the gain is certain, and the score too low by its estimate alone."""
        kept = changes.high[:, 0] >= -self.margin
        others = (changes.high[:, 2:] >= 0).all(axis=1)
        return np.asarray((changes.low[:, 1] > 0) & kept & others)

    def not_excluded(self, changes: Changes) -> float:
        """The largest gain that the intervals leave to a candidate that is as good."""
        kept = changes.high[:, 0] >= -self.margin
        return max(0.0, float(np.max(changes.high[kept, 1], initial=0.0)))

    def promise(self, changes: Changes) -> Floats:
        """By how many standard errors each candidate meets the worse of both conditions."""
        apart = changes.value[:, :2] + [self.margin, 0.0]
        with np.errstate(invalid="ignore", divide="ignore"):
            errors = apart / changes.error[:, :2]
        errors = np.where(changes.error[:, :2] == 0, np.where(apart >= 0, np.inf, -np.inf), errors)
        able = self.by_estimate(changes) & np.isfinite(changes.error[:, :2]).all(axis=1)
        return np.where(able, errors.min(axis=1), -np.inf)

    def short_list(self, changes: Changes, most: int, alike: Any) -> list[int]:
        """The candidates that are judged: those with most promise, of equal ones the first.

        Parameters
        ----------
        changes : Changes
            Of all candidates, on the rows that search.
        most : int
            How many are judged.
        alike : callable
            Called with two candidates: whether both predict the same.
        """
        promise = self.promise(changes)
        chosen: list[int] = []
        for place in np.argsort(-promise, kind="stable").tolist():
            if len(chosen) == most or promise[place] == -np.inf:
                break
            if not any(alike(place, other) for other in chosen):
                chosen.append(place)
        return chosen

    def rows_needed(self, changes: Changes, n_rows: int) -> tuple[int, int | None]:
        """Which alternative by estimate needs fewest rows to be one for certain, and how many.

        Both errors fall as the root of the rows. None where no number does: the score is at the
        margin.
        """
        apart = changes.value[:, :2] + [self.margin, 0.0]
        with np.errstate(invalid="ignore", divide="ignore"):
            times = np.where(changes.reach[:, :2] == 0, 0.0, changes.reach[:, :2] / apart)
        needed = np.where(self.by_estimate(changes), times.max(axis=1), np.inf) ** 2 * n_rows
        needed = np.where(np.isnan(needed), np.inf, needed)
        nearest = int(needed.argmin())
        if not np.isfinite(needed[nearest]):
            return int(self.by_estimate(changes).argmax()), None
        rows = max(float(needed[nearest]), n_rows + 1)
        return nearest, int(rounded_up(rows))
