"""Estimates for small groups by structured regression over attributes and their interactions."""

from __future__ import annotations

from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from scipy import linalg, special, stats

from skfairtest._typing import Floats, Ints

#: Standard deviations that effects may have, in logits or in standard deviations of the outcome.
OF_ATTRIBUTES = (0.2, 0.6, 1.8)
OF_INTERACTIONS = (0.03, 0.1, 0.2, 0.4, 0.8)
OF_GROUPS = (0.03, 0.1, 0.2, 0.4, 0.8, 1.6)
#: The same where the outcomes are linearized for the first time.
FIRST = (1.8, 0.2, 0.4)
#: Terms of the regression beyond which further interactions are left to the groups' own effects.
MOST_TERMS = 200
#: Values of an attribute beyond which its effects are left to them as well.
MOST_VALUES = 500
#: Share of groups that are taken to be like no other, and the standard deviation of these.
UNLIKE, FAR = 0.1, 3.0
#: Variance of rows, of 1 in all, below which groups have none that matters.
LEAST_VARIANCE = 1e-4
#: Rows that the variance of other groups counts for in the variance of one.
POOLED_ROWS = 8.0
#: How often variances are divided among the values of attributes.
N_SWEEPS = 10
#: Size of the interactions that the test is best at.
TESTED = 0.5
#: Logits beyond which nothing is told apart.
MOST_LOGITS = 12.0
#: Standard deviations of effects that are left out: so much less likely than the likeliest.
NEGLIGIBLE = 1e-3
#: Logarithm of a density below its largest beyond which it is 0.
MATTERS = 25.0
#: Logits that a step of a linearized regression is long at most, how many steps there are, and
#: when they end.
STEP, MOST_STEPS, CLOSE = 2.0, 25, 1e-6
#: Points at which a density is known, and how often they are laid closer together.
N_POINTS, N_PASSES = 161, 4


class Estimates(NamedTuple):
    """What structured regression says of groups.

    Attributes
    ----------
    value, low, high : ndarray of float of shape (n_groups,)
        Posterior means, and the ends of equal-tailed intervals; NaN where nothing was observed in
        any group.
    interactions : float
        The p-value of the hypothesis that the effects of attributes add up. NaN where nothing
        could show that they do not.
    """

    value: Floats
    low: Floats
    high: Floats
    interactions: float


def structured_estimates(
    codes: Ints,
    mean: Floats,
    size: Floats,
    variance: Floats,
    *,
    is_share: bool,
    confidence: float,
) -> Estimates:
    """Estimate the mean of each intersection of attributes from its own rows and from the others.

    A group's mean is the sum of effects of its values, of effects of pairs of values and so on, and
    of an effect of its own; for shares the sum is a logit. Effects of one order are normal, with a
    standard deviation that is averaged over by its likelihood. What the other groups say of a group
    is the prior of that group, together with a wide component that keeps a group which is like no
    other from being pulled towards them. The likelihood of its own rows is binomial, or Student's.

    Parameters
    ----------
    codes : ndarray of int of shape (n_groups, n_attributes)
        The value of each attribute in each group; each row occurs once.
    mean : ndarray of shape (n_groups,)
        Observed means.
    size : ndarray of shape (n_groups,)
        Rows that count, or Kish's effective sizes. Groups of size 0 are estimated, too.
    variance : ndarray of shape (n_groups,)
        Of single rows of the population. Not looked at for shares, and in groups of one row.
    is_share : bool
        Whether the means are shares of rows.
    confidence : float
        Confidence of each interval by itself.

    References
    ----------
    .. [1] Herlihy, C., Truong, K., Chouldechova, A., & Dudik, M. (2024). A structured regression
       approach for evaluating model performance across intersectional subgroups. FAccT, 313-325.
    .. [2] Khodak, M., Mackey, L., Chouldechova, A., & Dudik, M. (2024). SureMap: simultaneous mean
       estimation for single-task and multi-task disaggregated evaluation. NeurIPS. (Normal effects
       with a variance for each order of interactions.)
    .. [3] Schmidli, H., et al. (2014). Robust meta-analytic-predictive priors in clinical trials
       with historical control information. Biometrics 70, 1023-1032. (The wide component.)
    """
    seen, nothing = size > 0, np.full(len(size), np.nan)
    if not seen.any():
        return Estimates(nothing, nothing, nothing, np.nan)
    size = np.where(seen, size, 0.0)
    mean = np.where(seen, mean, 0.0)
    outcome = (Shares if is_share else Numbers)(codes, mean, size, variance)
    if not is_share and outcome.spread == 0:
        # All rows are alike, and how far others may be from them cannot be told.
        return Estimates(np.full(len(size), outcome.overall), nothing, nothing, np.nan)
    terms = Terms(codes)
    effect = outcome.start
    for _ in range(outcome.n_steps):
        effect = near(effect, terms.fit(outcome.cells(effect)).effect)
    for _ in range(outcome.n_rounds):
        prior = terms.average(outcome.cells(effect))
        effect = near(effect, prior.effect)
    value, low, high = posterior(prior, outcome, confidence)
    if is_share:  # a rate may be 0 or 1, which no logit is, as long as no row says otherwise
        low = np.where(mean * size == 0, 0.0, low)
        high = np.where(mean * size == size, 1.0, high)
    return Estimates(value, low, high, interactions_p_value(terms, outcome))


def near(effect: Floats, aim: Floats) -> Floats:
    """A step towards the aim which is small enough for a linearization."""
    return effect + np.clip(aim - effect, -STEP, STEP)


# The outcomes ------------------------------------------------------------------------------------


class Linearized(NamedTuple):
    """Means on the scale of the regression, linearized, and the inverses of their variances."""

    z: Floats
    information: Floats


class Shares:
    """Binomial shares, on the scale of logits."""

    n_steps, n_rounds = 8, 2
    freedom = np.inf

    def __init__(self, codes: Ints, mean: Floats, size: Floats, variance: Floats) -> None:
        self.mean, self.size = mean, size
        events, n = float(mean @ size), float(size.sum())
        self.overall = events / n
        self.spread = float(np.sqrt(self.overall * (1 - self.overall)))
        common = (events + 0.5) / (n + 1)
        self.middle = float(special.logit(common))
        self.to_pooled = self.ratio = np.ones(len(size))
        #: Where the linearization begins.
        self.start: Floats = special.logit((mean * size + common) / (size + 1))

    def cells(self, effect: Floats) -> Linearized:
        """Linearize the logits at these effects."""
        effect = np.clip(effect, -MOST_LOGITS, MOST_LOGITS)
        share = special.expit(effect)
        slope = share * special.expit(-effect)
        return Linearized(effect + (self.mean - share) / slope, self.size * slope)

    def likelihood(self, effects: Floats) -> Floats:
        """Logarithm of the likelihood at effects of shape (n_groups, n_points)."""
        events, n = (self.mean * self.size)[:, None], self.size[:, None]
        return events * effects - n * np.logaddexp(0, effects)

    def fourth(self, cells: Linearized) -> Floats:
        """Fourth cumulants of the sums of a group's rows."""
        of_rows = np.where(self.size > 0, cells.information / np.maximum(self.size, 1e-300), 0)
        return cells.information * (1 - 6 * of_rows)

    def ends(self, mean: Floats, spread: Floats) -> tuple[Floats, Floats]:
        """Beyond which effects no group is."""
        return np.full(len(mean), -MOST_LOGITS), np.full(len(mean), MOST_LOGITS)

    def shown(self, effects: Floats) -> Floats:
        """Effects as shares."""
        return special.expit(effects)


class Numbers:
    """Means of numbers, in standard deviations of all rows.

    The variance within a group is moderated: that of all groups together counts for some rows.

    Attributes
    ----------
    variance : ndarray of shape (n_groups,)
        Variance of rows within each group; that of all rows, wherever they are, is 1.
    to_pooled : ndarray of shape (n_groups,)
        The same in units of the one of all groups together.
    ratio : ndarray of shape (n_groups,)
        Again, but moderated by what the values of a group have in other groups: with shorter
        intervals than hold, and right on average, which a test needs.
    """

    middle = 0.0
    n_steps, n_rounds = 0, 1

    def __init__(self, codes: Ints, mean: Floats, size: Floats, variance: Floats) -> None:
        self.size = size
        self.overall = float(np.average(mean, weights=size))
        freedom = np.maximum(size - 1, 0.0)
        within = freedom * np.where(freedom > 0, variance, 0.0)
        total = float((within + size * (mean - self.overall) ** 2).sum() / size.sum())
        self.spread = float(np.sqrt(total))
        # What rounding leaves of a constant is none.
        if self.spread <= 1e-12 * abs(self.overall):
            self.spread = 0.0
            return
        self.start = self.z = (mean - self.overall) / self.spread
        self.freedom = float(freedom.sum())
        pooled = within.sum() / self.freedom / total if self.freedom > 0 else 1.0
        pooled = max(float(pooled), LEAST_VARIANCE)
        self.of_group = freedom + POOLED_ROWS
        within = within / total
        self.variance = np.maximum((POOLED_ROWS * pooled + within) / self.of_group, LEAST_VARIANCE)
        self.to_pooled = self.variance / pooled
        likely = np.full(len(size), pooled)
        for _ in range(N_SWEEPS):
            for column in codes.T:
                which = np.unique(column, return_inverse=True)[1].reshape(-1)
                seen = np.bincount(which, within / likely) + POOLED_ROWS
                likely *= (seen / (np.bincount(which, freedom) + POOLED_ROWS))[which]
        self.ratio = (POOLED_ROWS * likely + within) / self.of_group / pooled

    def cells(self, effect: Floats) -> Linearized:
        """The means, which need no linearization."""
        return Linearized(self.z, self.size / self.variance)

    def likelihood(self, effects: Floats) -> Floats:
        """Logarithm of Student's density at effects of shape (n_groups, n_points)."""
        square = (effects - self.z[:, None]) ** 2 * (self.size / self.variance)[:, None]
        freedom = self.of_group[:, None]
        likelihood: Floats = -(freedom + 1) / 2 * np.log1p(square / freedom)
        return likelihood

    def fourth(self, cells: Linearized) -> Floats:
        """Fourth cumulants, as of normal numbers."""
        return np.zeros(len(self.size))

    def ends(self, mean: Floats, spread: Floats) -> tuple[Floats, Floats]:
        """Beyond which effects no group is."""
        return np.minimum(mean, self.z) - 5 * spread, np.maximum(mean, self.z) + 5 * spread

    def shown(self, effects: Floats) -> Floats:
        """Effects in the unit of the outcome."""
        return self.overall + self.spread * effects


# The regression ----------------------------------------------------------------------------------


class Fit(NamedTuple):
    """Effects of groups, and what all other groups say of each; arrays of shape (n_groups,)."""

    effect: Floats
    mean: Floats
    variance: Floats


class Terms:
    """Which values, and combinations of values, each group has: the columns of the regression.

    Attributes
    ----------
    Z : ndarray of shape (n_groups, n_terms)
        1 where a group has the combination. The first column is the intercept.
    order : ndarray of int of shape (n_terms,)
        How many attributes a combination names. That of all attributes is the group itself, which
        has no column.
    is_additive : bool
        Whether the columns of order 1 hold every attribute, and there are several.
    """

    is_additive = False

    def __init__(self, codes: Ints, most: int = MOST_TERMS) -> None:
        n, n_attributes = codes.shape
        columns, order = [np.ones((n, 1))], [0]
        for k in range(1, n_attributes):
            found = [
                np.unique(codes[:, chosen], axis=0, return_inverse=True)
                for chosen in combinations(range(n_attributes), k)
            ]
            if k == 1:  # values as many as groups have no effects in common
                found = [one for one in found if len(one[0]) <= MOST_VALUES]
                self.is_additive = len(found) == n_attributes
            n_new = sum(len(values) for values, _ in found)
            if k > 1 and len(order) + n_new > most:
                break
            columns += [np.eye(len(values))[which.reshape(-1)] for values, which in found]
            order += [k] * n_new
        self.Z = np.hstack(columns)
        self.order = np.array(order)
        #: Standard deviations of effects of attributes and interactions, as far as there are any.
        self.grid = list(product(*(OF_ATTRIBUTES, OF_INTERACTIONS)[: self.order.max()]))

    def fit(self, cells: Linearized) -> Fit:
        """Fit effects with the first standard deviations."""
        *of_terms, of_groups = FIRST
        return Weighted(self, cells, of_groups).solve(tuple(of_terms)).fit()

    def average(self, cells: Linearized) -> Fit:
        """Average over the standard deviations, by how likely they make what was observed."""
        solved = []
        for of_groups in OF_GROUPS:
            weighted = Weighted(self, cells, of_groups)
            solved += [weighted.solve(of_terms) for of_terms in self.grid]
        weights = special.softmax([one.evidence for one in solved])
        kept = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
        weights = weights[kept] / weights[kept].sum()
        effect, mean, square = (np.zeros(len(self.Z)) for _ in range(3))
        for weight, k in zip(weights, kept, strict=True):
            fit = solved[k].fit()
            effect += weight * fit.effect
            mean += weight * fit.mean
            square += weight * (fit.variance + fit.mean**2)
        return Fit(effect, mean, square - mean**2)


class Weighted:
    """Means weighted for one standard deviation of the groups' own effects."""

    def __init__(self, terms: Terms, cells: Linearized, of_groups: float) -> None:
        self.terms, self.cells, self.of_groups = terms, cells, of_groups
        self.weight = cells.information / (1 + cells.information * of_groups**2)
        weighted = terms.Z * self.weight[:, None]
        self.gram = terms.Z.T @ weighted
        self.moment = weighted.T @ cells.z

    def solve(self, of_terms: tuple[float, ...]) -> Solved:
        """Solve for the effects of terms with these standard deviations."""
        # Those of triples and beyond are as those of pairs.
        spread = np.array([FAR, *of_terms])[np.minimum(self.terms.order, len(of_terms))]
        return Solved(self, spread)


class Solved:
    """The regression for given standard deviations of all effects.

    Attributes
    ----------
    evidence : float
        Logarithm of the marginal likelihood, up to a constant.
    """

    def __init__(self, weighted: Weighted, spread: Floats) -> None:
        self.weighted = weighted
        self.factor = linalg.cholesky(weighted.gram + np.diag(spread**-2.0), lower=True)
        half = linalg.solve_triangular(self.factor, weighted.moment, lower=True)
        self.beta: Floats = linalg.solve_triangular(self.factor, half, lower=True, trans="T")
        seen = weighted.weight > 0
        z, weight = weighted.cells.z[seen], weighted.weight[seen]
        logs = np.log(weight).sum() - 2 * np.log(np.diag(self.factor) * spread).sum()
        self.evidence = float(logs - weight @ z**2 + half @ half) / 2

    def fit(self) -> Fit:
        """The effects of groups, and the prior of each without its own rows."""
        Z, cells, weight = self.weighted.terms.Z, self.weighted.cells, self.weighted.weight
        of_groups = self.weighted.of_groups**2
        structure = Z @ self.beta
        scaled = linalg.solve_triangular(self.factor, Z.T, lower=True)
        variance = (scaled**2).sum(axis=0)
        # What is known without the group's own mean, in closed form.
        others = np.maximum(1 - variance * weight, 1e-12)
        mean = (structure - cells.z * variance * weight) / others
        effect = structure + of_groups * weight * (cells.z - structure)
        return Fit(effect, mean, variance / others + of_groups)


# The groups ------------------------------------------------------------------------------------


def posterior(
    prior: Fit, outcome: Shares | Numbers, confidence: float
) -> tuple[Floats, Floats, Floats]:
    """Means, and ends of intervals, of each group by its own rows and what others say of it."""
    spread = np.sqrt(prior.variance)
    wide = np.sqrt(prior.variance + FAR**2)
    low, high = outcome.ends(prior.mean, wide)
    for _ in range(N_PASSES):
        points = np.linspace(low, high, N_POINTS, axis=1)
        away = points - prior.mean[:, None]
        density = outcome.likelihood(points) + np.logaddexp(
            np.log1p(-UNLIKE) + stats.norm.logpdf(away, scale=spread[:, None]),
            np.log(UNLIKE) + stats.norm.logpdf(away, scale=wide[:, None]),
        )
        matters = density > density.max(axis=1, keepdims=True) - MATTERS
        first = np.maximum(matters.argmax(axis=1) - 1, 0)
        last = N_POINTS - 1 - np.maximum(matters[:, ::-1].argmax(axis=1) - 1, 0)
        groups = np.arange(len(low))
        low, high = points[groups, first], points[groups, last]
    weight = special.softmax(density, axis=1)
    upto = np.cumsum(weight, axis=1) - weight / 2
    value = (weight * outcome.shown(points)).sum(axis=1)
    alpha = (1 - confidence) / 2
    ends = [
        np.array([np.interp(q, c, p) for c, p in zip(upto, points, strict=True)])
        for q in (alpha, 1 - alpha)
    ]
    return value, outcome.shown(ends[0]), outcome.shown(ends[1])


# The test --------------------------------------------------------------------------------------


def interactions_p_value(terms: Terms, outcome: Shares | Numbers) -> float:
    """Score test of additive effects against normal interactions; returns the p-value.

    The statistic is a sum of squared residuals of all groups, and of the groups of fewer attributes
    that have terms, with the weights that are best against interactions of the size `TESTED`. Its
    distribution is that of a scaled chi-squared with the same mean and variance, for which
    binomial outcomes of few rows have fourth cumulants.
    """
    additive, crossed = terms.Z[:, terms.order <= 1], terms.Z[:, terms.order > 1]
    seen = outcome.size > 0
    n_free = int(seen.sum()) - np.linalg.matrix_rank(additive[seen])
    if not terms.is_additive or n_free == 0 or outcome.spread == 0:
        return np.nan
    beta = np.zeros(additive.shape[1])
    beta[0] = outcome.middle
    for _ in range(MOST_STEPS):
        cells = outcome.cells(additive @ beta)
        # With weights from their own variances, groups of few rows would seem to differ.
        weight = cells.information * outcome.to_pooled
        gram = (additive.T * weight) @ additive + np.eye(len(beta)) / FAR**2
        aim = linalg.solve(gram, additive.T @ (weight * cells.z), assume_a="pos")
        length = float(np.abs(additive @ (aim - beta)).max())
        beta = beta + (aim - beta) * min(1.0, STEP / max(length, STEP))
        if length < CLOSE:
            break
    effect = additive @ beta
    cells = outcome.cells(effect)
    weight = cells.information * outcome.to_pooled
    residual = weight * (cells.z - effect)
    # Their covariance is that of the rows' sums, a diagonal, less what the regression has taken.
    diagonal = weight * outcome.ratio
    root = linalg.cholesky(gram, lower=True)
    taken = linalg.solve_triangular(root, additive.T * weight, lower=True).T
    known = linalg.solve_triangular(root, additive.T, lower=True)
    one = np.eye(len(beta))
    low_rank = np.hstack([taken, taken * outcome.ratio[:, None]])
    other = low_rank @ np.block([[(known * diagonal) @ known.T, -one], [-one, 0 * one]])
    of_groups = TESTED**2 / (1 + TESTED**2 * weight)
    crossed = crossed * (TESTED / np.sqrt(1 + TESTED**2 * (weight @ crossed)))
    statistic = of_groups @ residual**2 + ((residual @ crossed) ** 2).sum()
    both = diagonal[:, None] * crossed + other @ (low_rank.T @ crossed)
    among = crossed.T @ both
    lost = (other * low_rank).sum(axis=1)
    mean = float(of_groups @ (diagonal + lost) + np.trace(among))
    inner = (low_rank.T * of_groups) @ other
    square = of_groups**2 @ (diagonal**2 + 2 * diagonal * lost) + (inner * inner.T).sum()
    square += 2 * (of_groups @ both**2).sum() + (among**2).sum()
    fourth = (of_groups + (crossed**2).sum(axis=1)) ** 2 @ outcome.fourth(cells)
    freedom = 2 * mean**2 / float(2 * square + fourth)
    if np.isfinite(outcome.freedom):
        return float(stats.f.sf(statistic / mean, freedom, outcome.freedom))
    return float(stats.chi2.sf(statistic / mean * freedom, freedom))
