"""All columns are moved together, by an optimal plan between samples of the groups."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from skfairtest import _clock
from skfairtest._parameters import check_real, checked, real, whole
from skfairtest._threads import one_thread
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.exceptions import users_level
from skfairtest.space._columns import Column
from skfairtest.space._layout import Layout
from skfairtest.space._numbers import Real
from skfairtest.transports._base import LEAST_ROWS, BaseTransport
from skfairtest.transports._features import Feature
from skfairtest.transports._quantile import (
    ColumnMap,
    becomes_missing,
    categories,
    encoded_categories,
    encoded_missing,
    is_missing,
    move_category,
    n_categories,
    within,
)
from skfairtest.transports._ranks import RowRanks
from skfairtest.transports._settings import SETTINGS

#: Numbers that a plan sends rows to, before they are rounded and cut off at a column's bounds; NaN
#: where one is missing.
UNBOUNDED = Real("unrounded", -np.inf, np.inf)

NO_POT = (
    "OptimalTransport needs POT, which comes with the extra `transport` (pip install "
    "'skfairtest[transport]'). QuantileTransport and SequentialTransport do without it."
)


class GroupSample(NamedTuple):
    """Different rows of a group, and how often each occurs."""

    encoded: Floats
    counts: Ints

    @classmethod
    def draw(cls, Z: Floats, most: int, rng: np.random.Generator) -> GroupSample:
        """Take all rows, or so many at random."""
        if len(Z) > most:
            Z = Z[np.sort(rng.choice(len(Z), most, replace=False))]
        return cls(*np.unique(Z, axis=0, return_counts=True))

    @property
    def shares(self) -> Floats:
        """Shares of the rows, which sum to 1."""
        return self.counts / self.counts.sum()


class Projection(NamedTuple):
    """Where a plan sends one column of the rows in a group's sample.

    Attributes
    ----------
    means : ndarray of shape (n_rows,) or (0,)
        Of numbers, the mean of the present ones that a row is sent to; of all where it is sent to
        missing ones alone.
    shares : ndarray of shape (n_rows, n_categories)
        Of a category the shares of its values that a row is sent to; of numbers those of present
        and missing ones. Of names and the like, the one that a row is sent to most.
    """

    means: Floats
    shares: Floats

    @classmethod
    def of(cls, plan: Floats, column: Column, encoded: Floats, n: int) -> Projection:
        """Return where a plan, whose rows sum to 1, sends rows: to these values of a sample."""
        if column.is_category:
            other = categories(encoded, n)
            if n <= SETTINGS.planned_categories:
                return cls(np.empty(0), plan @ np.eye(n)[other])
            return cls(np.empty(0), other[plan.argmax(axis=1)][:, None].astype(float))
        absent = is_missing(column, encoded)
        present = np.clip(plan @ (~absent).astype(float), 0.0, 1.0)
        numbers = np.where(absent, 0.0, encoded)
        means = np.full(len(plan), numbers.sum() / max(1, int((~absent).sum())))
        np.divide(plan @ numbers, present, out=means, where=present > 1e-12)
        return cls(means, np.column_stack([present, 1 - present]))

    def averaged(self, weights: Floats) -> Projection:
        """Return means over rows, by weights that sum to 1 in each row; names stay as they are."""
        if self.shares.shape[1] == 1:
            return self
        shares, means = weights @ self.shares, self.means
        if len(means):
            present = self.shares[:, 0]
            means = means.copy()
            np.divide(weights @ (self.means * present), shares[:, 0], out=means,
                      where=shares[:, 0] > 1e-12)  # fmt: skip
        return Projection(means, shares)


def kinds(column: Column, encoded: Floats, n: int) -> Ints:
    """Return the category of each value; of a number 0 if it is present, 1 if it is missing."""
    if column.is_category:
        return categories(encoded, n)
    return np.asarray(is_missing(column, encoded)).astype(np.intp)


class ColumnPlan(NamedTuple):
    """How one column of the rows in a group's sample is moved to another group.

    Both kinds of plan blur: an entropic one sends a row to the mean of many, also within its own
    group, and an exact one is averaged over rows that are near each other. What the blurred places
    differ by is how far the row itself is moved; and what shares of values this leaves wrong is put
    right in the end, each column by itself.

    Attributes
    ----------
    seen : ndarray of bool of shape (n_categories,)
        Of a category, which of its values the sample has; of numbers, whether it has present and
        missing ones. What it has not stays as it is.
    there : Projection
        Where the plan between the groups sends rows.
    here : Projection
        Where the plan within the own group sends them.
    rounds : bool
        Whether numbers in steps are rounded before they get ranks, so that chance tells equal ones
        apart. Where an exact plan sends a row is chance enough, and says more. By an entropic plan
        rows with one number would be put in an order that a classifier sees.
    last : ColumnMap or None
        Distributions of the column in the moved sample, and in the other group's.
    """

    seen: Bools
    there: Projection
    here: Projection
    rounds: bool
    last: ColumnMap | None = None

    def ending(
        self, column: Column, own: GroupSample, other: GroupSample, ranks: RowRanks, j: int
    ) -> ColumnPlan:  # fmt: skip
        """Return the plan with distributions by which the shares of values are put right."""
        every, encoded = np.arange(len(own.encoded)), own.encoded[:, j]
        sent = np.repeat(self._sent(column, encoded, every, ranks, j), own.counts)
        wanted = np.repeat(other.encoded[:, j], other.counts)
        if not column.is_category:
            wanted = np.where(is_missing(column, wanted), np.nan, wanted)
        return self._replace(last=ColumnMap.learn(_unrounded(column), [sent, wanted]))

    def move(
        self, column: Column, encoded: Floats, like: Ints, ranks: RowRanks, j: int
    ) -> Floats:  # fmt: skip
        """Move encoded rows as those of the sample, at positions `like`, are moved."""
        assert self.last is not None
        sent = self._sent(column, encoded, like, ranks, j)
        moved = self.last.move(_unrounded(column), sent, 0, 1, ranks, -1 - j)
        if not column.is_category:
            missing = np.where(is_missing(column, encoded), encoded, encoded_missing(column))
            moved = np.where(np.isnan(moved), missing, within(column, moved))
        return np.where(self.seen[kinds(column, encoded, len(self.seen))], moved, encoded)

    def _sent(
        self, column: Column, encoded: Floats, like: Ints, ranks: RowRanks, j: int
    ) -> Floats:  # fmt: skip
        """Return where the plan sends encoded values, NaN for missing numbers."""
        if column.is_category:
            return self._recategorize(column, encoded, like, ranks.uniform(2 * j))
        absent = is_missing(column, encoded)
        own = self._own_shares(absent.astype(np.intp), 2, like)
        gone = becomes_missing(own, self.there.shares[like], absent, ranks.uniform(2 * j + 1))
        # As in domain adaptation, a row that is not in the sample is shifted as its neighbour is.
        away = np.where(absent, 0.0, encoded - self.here.means[like])
        sent = within(column if self.rounds else UNBOUNDED, self.there.means[like] + away)
        return np.where(gone, np.nan, sent)

    def _recategorize(self, column: Column, encoded: Floats, like: Ints, uniform: Floats) -> Floats:
        shares = self.there.shares
        if shares.shape[1] == 1:  # of names and the like
            n = n_categories(column, np.append(encoded, shares[:, 0]))
            return encoded_categories(shares[like, 0].astype(np.intp), n)
        n = shares.shape[1]
        own = self._own_shares(categories(encoded, n), n, like)
        return move_category(encoded, own, shares[like], uniform)

    def _own_shares(self, here: Ints, n: int, like: Ints) -> Floats:
        itself, shares = np.eye(n)[here], self.here.shares[like]
        # None of those that the row is like has its value, which so is all that is known of it.
        is_seen = shares[np.arange(len(here)), here] > 0
        return np.where(is_seen[:, None], shares, itself)


def _unrounded(column: Column) -> Column:
    return column if column.is_category else UNBOUNDED


def _check_reg(name: str, value: Any) -> None:
    if value is not None:
        hint = "Write 0.05, or None for the exact plan."
        check_real(name, value, "(0, inf)", hint)


class OptimalResults:
    """What `fit` sets, apart from parameters; `skfairtest.io` reads the types."""

    maps_: dict[str, list[ColumnPlan]]
    features_: list[Feature]
    levels_: list[int]
    samples_: list[GroupSample]


class OptimalTransport(OptimalResults, BaseTransport):
    """Move all columns together, so that rows go as short a way as possible on the whole.

    The way between two rows is the squared Euclidean distance of their numbers, in standard
    deviations, plus a constant for each category that differs, and for each number that one of them
    lacks. Between samples of two groups the plan of least cost is worked out. A row's numbers go to
    the mean of what the plan sends it to, and its categories to one of those by their weights. Rows
    outside the sample move as the nearest row of their group's sample does. A category that no row
    of this sample has, and a missing value of a column without any, stay.

    A plan depends much on which rows happened to be sampled, the more so the more columns there
    are. The entropic plan, the default, blurs this away, and the exact one is averaged over the
    nearest rows: a row is moved by the difference between where the plan sends it and where the
    same blur within its own group would, and each column then gets the values of the other group by
    its ranks.

    Parameters
    ----------
    reg : float, default=0.05
        Strength of the entropic regularization, as a share of the mean cost. Larger values depend
        less on the sample, and follow less what columns have to do with each other in one group
        and not in the other. None works out the exact plan, which follows that more closely. Where
        it is too small for rows far from all others, a larger one is taken, with a warning.
    weight : float, default=1.0
        Cost of a category that differs or of a number that is missing, in squared standard
        deviations.
    max_rows : int, default=5000
        Rows of each group that plans are worked out for; of more, a sample is drawn. Memory and
        time grow with its square and beyond.

    Attributes
    ----------
    groups_ : ndarray of shape (n_groups,)
        The groups, sorted.
    moving_ : ndarray of int
        Positions of the attributes that may move.
    maps_ : dict
        Where plans send the rows of samples, by pair of groups; a pair is worked out when it is
        first asked for.
    space_ : InputSpace
        How the columns are read; after `fit` alone.

    Raises
    ------
    ImportError
        In `fit`, if POT is not installed.

    See Also
    --------
    QuantileTransport : Moves each column by itself.
    SequentialTransport : Moves each column given the columns before it.

    Notes
    -----
    The plan is worked out by POT [1]_. FlipTest [2]_ asks what a model does to rows that such a
    plan moves. What the entropic plan does within a group is taken off, as in Sinkhorn divergences
    [3]_, so that rows are not drawn to the mean. The exact plan is estimated as a regression [4]_:
    of n rows in d columns, it is averaged over the n^(2 / (d + 2)) nearest ones [5]_, but over five
    at most, since where a plan parts neighbours a mean lies between the parts. Columns with more
    than 30 categories do not count in the cost; columns in `keep` do.

    References
    ----------
    .. [1] Flamary, R., et al. (2021). POT: Python optimal transport. Journal of Machine Learning
       Research 22(78), 1-8.
    .. [2] Black, E., Yeom, S., & Fredrikson, M. (2020). FlipTest: fairness testing via optimal
       transport. FAT*, 111-121.
    .. [3] Feydy, J., et al. (2019). Interpolating between optimal transport and MMD using Sinkhorn
       divergences. AISTATS, 2681-2690.
    .. [4] Deb, N., Ghosal, P., & Sen, B. (2021). Rates of estimation of optimal transport maps
       using plug-in estimators via barycentric projections. NeurIPS 34, 29736-29753.
    .. [5] Györfi, L., Kohler, M., Krzyżak, A., & Walk, H. (2002). A distribution-free theory of
       nonparametric regression. Springer, chapter 6.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skfairtest.transports import OptimalTransport
    >>> X = pd.DataFrame({"income": [10.0, 20.0, 30.0, 20.0, 40.0, 60.0]})
    >>> groups = np.array(["a", "a", "a", "b", "b", "b"])
    >>> transport = OptimalTransport().fit(X, groups)  # doctest: +SKIP
    >>> transport.transport(X.iloc[:3], "a", to="b")["income"].tolist()  # doctest: +SKIP
    [20.0, 40.0, 60.0]
    """

    reg: float | None = checked(default=0.05, check=_check_reg)
    weight: float = real(default=1.0, interval="[0, inf)")
    max_rows: int = whole(default=5000, least=LEAST_ROWS)

    def _learn(self, layout: Layout, Z: Floats, groups: Ints, n_groups: int) -> Any:
        _pot()
        rng = np.random.default_rng(self.random_state or 0)
        self.features_ = [Feature.learn(column, Z[:, j]) for j, column in enumerate(layout.columns)]
        self.levels_ = [
            n_categories(column, Z[:, j]) if column.is_category else 0
            for j, column in enumerate(layout.columns)
        ]
        self.samples_ = [
            GroupSample.draw(Z[groups == g], self.max_rows, rng) for g in range(n_groups)
        ]
        return {}

    def _measured(self) -> list[tuple[int, Feature, Column]]:
        """Return the columns that count in the cost: all but categories of very many values."""
        pairs = zip(self.features_, self.layout_.columns, strict=True)
        return [
            (j, feature, column)
            for j, (feature, column) in enumerate(pairs)
            if feature.levels or not column.is_category
        ]

    def _points(self, Z: Floats) -> Floats:
        """Return rows as points whose squared distances are costs."""
        parts = []
        for j, feature, column in self._measured():
            points = feature.encode(column, Z[:, j])
            if feature.levels:  # of two that differ, two of the 0/1 columns do
                points *= np.sqrt(self.weight / 2)
            else:
                points[:, 1:] *= np.sqrt(self.weight)
            parts.append(points)
        return np.hstack(parts) if parts else np.zeros((len(Z), 1))

    def _plan(self, own: int, target: int, cost: Floats, reg: float | None) -> Floats | None:
        """Return which shares of each row in a sample are sent to which row of the other's.

        None if the entropic plan was not found.
        """
        _clock.check_ending()
        ot = _pot()
        here, there = self.samples_[own], self.samples_[target]
        if reg is None:
            plan = ot.emd(here.shares, there.shares, cost, numItermax=SETTINGS.exact_steps)
        else:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                # What POT warns of is refused below.
                warnings.simplefilter("ignore", UserWarning)
                plan = ot.sinkhorn(
                    here.shares, there.shares, cost, reg, numItermax=SETTINGS.entropic_steps,
                    stopThr=SETTINGS.entropic_error * float(np.linalg.norm(there.shares)),
                    warn=False,
                )  # fmt: skip
            sums = plan.sum(axis=1)
            # Of a row of which less than half arrives, the plan does not say where it goes.
            if not np.isfinite(plan).all() or (sums < 0.5 * here.shares).any():
                return None
        plan = np.asarray(plan, dtype=np.float64)
        plan /= plan.sum(axis=1, keepdims=True)
        return plan

    def _plans(self, own: int, target: int) -> tuple[Floats, Floats]:
        """Return the plan to the other group, and what blurs alike within the own one."""
        # One scale and one regularization for both plans.
        cost = self._costs(own, target)
        scale = float(cost.mean()) or 1.0
        if self.reg is None:
            exact = self._plan(own, target, cost / scale, None)
            assert exact is not None, "an exact plan is always found"
            return exact, self._nearest(own)
        within = self._costs(own, own) / scale
        names = "from group {!r} to group {!r}".format(*self.groups_[[own, target]].tolist())
        for doubled in range(SETTINGS.n_doublings + 1):
            reg = self.reg * 2**doubled
            there = self._plan(own, target, cost / scale, reg)
            here = None if there is None else self._plan(own, own, within, reg)
            if there is not None and here is not None:
                break
        else:
            raise ValueError(
                f"reg={self.reg!r} is too small: the entropic plan {names} was not found. Give a "
                "larger one, such as 0.1, or None for the exact plan."
            )
        if doubled:
            warnings.warn(
                f"reg={self.reg!r} is too small for the plan {names}, as some rows lie far from "
                f"all others; reg={reg:g} was taken, which follows less closely how columns go "
                "together. Give a larger one, None for the exact plan, or logarithms of columns "
                "with long tails.",
                UserWarning,
                stacklevel=users_level(),
            )
        return there, here

    def _costs(self, own: int, target: int) -> Floats:
        points = [self._points(self.samples_[g].encoded) for g in (own, target)]
        return np.asarray(_pot().dist(*points), dtype=np.float64)

    def _projections(self, plan: Floats, target: int) -> list[Projection]:
        encoded = self.samples_[target].encoded
        return [
            Projection.of(plan, self.layout_.columns[j], encoded[:, j], self.levels_[j])
            for j in self.moving_.tolist()
        ]

    def _nearest(self, own: int) -> Floats:
        """Return weights of the nearest rows of each row in a sample, by how often they occur."""
        sample = self.samples_[own]
        n, points = len(sample.encoded), self._points(sample.encoded)
        d = len(self._measured())
        k = min(SETTINGS.n_nearest, round(n ** (2 / (d + 2))))
        from sklearn.neighbors import NearestNeighbors

        near = NearestNeighbors(n_neighbors=k).fit(points)
        like = near.kneighbors(points, return_distance=False)
        weights = np.zeros((n, n))
        np.put_along_axis(weights, like, sample.counts[like].astype(np.float64), axis=1)
        weights /= weights.sum(axis=1, keepdims=True)
        return weights

    def _column_plans(self, own: int, target: int) -> list[ColumnPlan]:
        key = f"{own},{target}"
        if key not in self.maps_:
            to_other, within_own = self._plans(own, target)
            there = self._projections(to_other, target)
            if self.reg is None:
                there = [projection.averaged(within_own) for projection in there]
            here = self._projections(within_own, own)
            mine, other = self.samples_[own], self.samples_[target]
            ranks = RowRanks(mine.encoded, self.random_state or 0)
            plans = []
            for k, j in enumerate(self.moving_.tolist()):
                column, n = self.layout_.columns[j], self.levels_[j] or 2
                seen = np.bincount(kinds(column, mine.encoded[:, j], n), minlength=n) > 0
                plan = ColumnPlan(seen, there[k], here[k], self.reg is not None)
                plans.append(plan.ending(column, mine, other, ranks, j))
            self.maps_[key] = plans
        return self.maps_[key]

    @one_thread()
    def _move(self, Z: Floats, own: int, target: int) -> Floats:
        plans, sample = self._column_plans(own, target), self.samples_[own].encoded
        from sklearn.neighbors import NearestNeighbors

        nearest = NearestNeighbors(n_neighbors=1).fit(self._points(sample))
        like = nearest.kneighbors(self._points(Z), return_distance=False)[:, 0]
        ranks, moved = RowRanks(Z, self.random_state or 0), Z.copy()
        for j, plan in zip(self.moving_.tolist(), plans, strict=True):
            column = self.layout_.columns[j]
            moved[:, j] = plan.move(column, Z[:, j], like, ranks, j)
        return moved


def _pot() -> Any:
    try:
        import ot
    except ImportError as error:
        raise ImportError(NO_POT) from error
    return ot
