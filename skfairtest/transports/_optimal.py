"""All columns are moved together, by an optimal plan between samples of the groups."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors

from skfairtest._parameters import check_real, checked, real, whole
from skfairtest._threads import one_thread
from skfairtest._typing import Floats, Ints
from skfairtest.space._columns import Column
from skfairtest.space._layout import Layout
from skfairtest.transports._base import LEAST_ROWS, BaseTransport
from skfairtest.transports._features import Feature
from skfairtest.transports._quantile import (
    categories,
    code_of_missing,
    codes_of,
    is_missing,
    move_missing,
    n_categories,
)
from skfairtest.transports._ranks import RowRanks

#: Categories up to which shares of the plan are kept for each row; of more, the commonest one.
MOST_SHARES = 200
#: Steps of the exact solver, which needs some hundred thousand for 5,000 rows.
MOST_STEPS = 10_000_000
#: Steps of the entropic solver.
MOST_SCALINGS = 2_000
#: Deviation of the entropic plan's shares of rows that is still called equal, as a share.
LEAST_MASS = 0.5

NO_POT = (
    "OptimalTransport needs POT, which comes with the extra `transport` (pip install "
    "'skfairtest[transport]'). QuantileTransport and SequentialTransport do without it."
)


class Sample(NamedTuple):
    """Different rows of a group, and their shares of its rows."""

    codes: Floats
    shares: Floats

    @classmethod
    def draw(cls, Z: Floats, most: int, rng: np.random.Generator) -> Sample:
        """Take all rows, or so many at random."""
        if len(Z) > most:
            Z = Z[np.sort(rng.choice(len(Z), most, replace=False))]
        rows, counts = np.unique(Z, axis=0, return_counts=True)
        return cls(rows, counts / len(Z))


class Projection(NamedTuple):
    """Where a plan sends one column of the rows in a group's sample.

    Attributes
    ----------
    means : ndarray of shape (n_rows,) or (0,)
        Of numbers, the mean of the present ones that a row is sent to.
    shares : ndarray of shape (n_rows, n_categories)
        Of a category the shares of its values that a row is sent to; of numbers those of present
        and missing ones.
    """

    means: Floats
    shares: Floats

    @classmethod
    def of(cls, plan: Floats, column: Column, codes: Floats, n: int) -> Projection:
        """Project on codes of the other group's sample by a plan whose rows sum to 1."""
        if column.is_category:
            other = categories(codes, n)
            if n <= MOST_SHARES:
                return cls(np.empty(0), plan @ np.eye(n)[other])
            # Names and the like: each row gets the one that the plan gives it most of.
            return cls(np.empty(0), other[plan.argmax(axis=1)][:, None].astype(float))
        absent = is_missing(column, codes)
        if not absent.any():
            return cls(plan @ codes, np.tile([1.0, 0.0], (len(plan), 1)))
        present = plan @ (~absent).astype(float)
        numbers = np.where(absent, 0.0, codes)
        mean = numbers.sum() / max(1, int((~absent).sum()))
        means = np.divide(
            plan @ numbers, present, out=np.full(len(plan), mean), where=present > 1e-12
        )
        present = np.clip(present, 0.0, 1.0)
        return cls(means, np.column_stack([present, 1 - present]))

    def move(
        self, column: Column, codes: Floats, like: Ints, sample: Floats, ranks: RowRanks, j: int
    ) -> Floats:
        """Move codes of rows as those are moved that they are like, by position in the sample."""
        if column.is_category:
            return self._recategorize(column, codes, like, ranks.uniform(2 * j))
        absent = is_missing(column, codes)
        eye = np.eye(2)[absent.astype(np.intp)]
        gone = move_missing(eye, self.shares[like], absent, ranks.uniform(2 * j + 1))
        theirs = sample[like]
        # As in domain adaptation, a row that is not in the sample is shifted as its neighbour is.
        shift = np.where(absent | is_missing(column, theirs), 0.0, codes - theirs)
        numbers = self.means[like] + shift
        if column.discrete:
            numbers = np.rint(numbers)
        numbers = np.clip(numbers, column.low, min(column.high, column.top))
        return np.where(gone, np.where(absent, codes, code_of_missing(column)), numbers)

    def _recategorize(self, column: Column, codes: Floats, like: Ints, uniform: Floats) -> Floats:
        if self.shares.shape[1] == 1:
            n = n_categories(column, np.append(codes, self.shares[:, 0]))
            here, there = categories(codes, n), self.shares[like, 0].astype(np.intp)
        else:
            n = self.shares.shape[1]
            here = categories(codes, n)
            shares = self.shares[like]
            # One's own category first, so that few change theirs; then the others in their order.
            rows = np.arange(len(here))
            stay = shares[rows, here]
            others = shares.copy()
            others[rows, here] = 0.0
            after = (np.cumsum(others, axis=1) <= (uniform - stay)[:, None]).sum(axis=1)
            last = n - 1 - np.argmax(others[:, ::-1] > 0, axis=1)
            is_own = (uniform < stay) | ~(others > 0).any(axis=1)
            there = np.where(is_own, here, np.minimum(after, last))
        return np.where(there == here, codes, codes_of(there, n))


def _check_reg(name: str, value: Any) -> None:
    if value is not None:
        hint = "Write 0.05, or None for the exact plan."
        check_real(name, value, "(0, inf)", hint)


class OptimalResults:
    """What `fit` sets, apart from parameters; `skfairtest.io` reads the types."""

    maps_: dict[str, list[Projection]]
    features_: list[Feature]
    levels_: list[int]
    samples_: list[Sample]


class OptimalTransport(OptimalResults, BaseTransport):
    """Move all columns together, so that rows go as short a way as possible on the whole.

    The way between two rows is the squared Euclidean distance of their numbers, in standard
    deviations, plus a constant for each category that differs, and for each number that one of them
    lacks. Between samples of two groups the plan of least cost is worked out. A row's numbers go to
    the mean of what the plan sends it to, and its categories to one of those by their weights. Rows
    outside the sample move as the nearest row of their group's sample does.

    Parameters
    ----------
    keep : list of str or int, default=()
        Columns that must not move, by name or position.
    space : InputSpace, default=None
        How the columns are to be read: one-hot groups, steps, categories, constraints. It is copied
        and learned from the table; None reads them as an `InputSpace` does by default.
    random_state : int, default=0
        Seed of the ranks by which equal values are told apart, of samples, and of models without a
        seed of their own. Ranks belong to rows: the same row gets the same ones in every table.
    reg : float, default=None
        Strength of the entropic regularization, as a share of the mean cost: larger values spread a
        row over more rows of the other group, and pull numbers to the mean. None works out the
        exact plan.
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
    plan moves. Means of several rows vary less than the rows, so that with `reg`, and where equal
    rows are sent to several, the moved rows lie closer together than the other group. Columns with
    more than 30 categories do not count in the cost; columns in `keep` do.

    References
    ----------
    .. [1] Flamary, R., et al. (2021). POT: Python optimal transport. Journal of Machine Learning
       Research 22(78), 1-8.
    .. [2] Black, E., Yeom, S., & Fredrikson, M. (2020). FlipTest: fairness testing via optimal
       transport. FAT*, 111-121.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skfairtest import OptimalTransport
    >>> X = pd.DataFrame({"income": [10.0, 20.0, 30.0, 20.0, 40.0, 60.0]})
    >>> groups = np.array(["a", "a", "a", "b", "b", "b"])
    >>> transport = OptimalTransport().fit(X, groups)  # doctest: +SKIP
    >>> transport.transport(X.iloc[:3], "a", to="b")["income"].tolist()  # doctest: +SKIP
    [20.0, 40.0, 60.0]
    """

    reg: float | None = checked(default=None, check=_check_reg)
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
        self.samples_ = [Sample.draw(Z[groups == g], self.max_rows, rng) for g in range(n_groups)]
        return {}

    def _points(self, Z: Floats) -> Floats:
        """Return rows as points whose squared distances are costs."""
        parts = []
        for j, (feature, column) in enumerate(
            zip(self.features_, self.layout_.columns, strict=True)
        ):
            points = feature.encode(column, Z[:, j])
            if feature.levels:  # of two that differ, two of the 0/1 columns do
                parts.append(points * np.sqrt(self.weight / 2))
            elif not column.is_category:
                points[:, 1:] *= np.sqrt(self.weight)
                parts.append(points)
        return np.hstack(parts) if parts else np.zeros((len(Z), 1))

    def _plan(self, own: int, target: int) -> Floats:
        """Return which shares of each row in a sample are sent to which row of the other's."""
        ot = _pot()
        here, there = self.samples_[own], self.samples_[target]
        cost = ot.dist(self._points(here.codes), self._points(there.codes))
        if self.reg is None:
            plan = ot.emd(here.shares, there.shares, cost, numItermax=MOST_STEPS)
        else:
            scale = float(cost.mean()) or 1.0
            with np.errstate(all="ignore"), warnings.catch_warnings():
                # What POT warns of is refused below.
                warnings.simplefilter("ignore", UserWarning)
                plan = ot.sinkhorn(
                    here.shares, there.shares, cost / scale, self.reg,
                    numItermax=MOST_SCALINGS, warn=False,
                )  # fmt: skip
            sums = plan.sum(axis=1)
            if not np.isfinite(plan).all() or (sums < LEAST_MASS * here.shares).any():
                own_name, other_name = self.groups_[[own, target]].tolist()
                raise ValueError(
                    f"reg={self.reg!r} is too small: the entropic plan from group "
                    f"{own_name!r} to group {other_name!r} was not found. Give "
                    "a larger one, such as 0.05, or None for the exact plan."
                )
        plan = np.asarray(plan, dtype=np.float64)
        plan /= plan.sum(axis=1, keepdims=True)
        return plan

    def _projections(self, own: int, target: int) -> list[Projection]:
        key = f"{own},{target}"
        if key not in self.maps_:
            plan, codes = self._plan(own, target), self.samples_[target].codes
            self.maps_[key] = [
                Projection.of(plan, self.layout_.columns[j], codes[:, j], self.levels_[j])
                for j in self.moving_.tolist()
            ]
        return self.maps_[key]

    @one_thread()
    def _move(self, Z: Floats, own: int, target: int) -> Floats:
        projections, sample = self._projections(own, target), self.samples_[own].codes
        nearest = NearestNeighbors(n_neighbors=1).fit(self._points(sample))
        like = nearest.kneighbors(self._points(Z), return_distance=False)[:, 0]
        ranks, moved = RowRanks(Z, self.random_state or 0), Z.copy()
        for j, projection in zip(self.moving_.tolist(), projections, strict=True):
            moved[:, j] = projection.move(
                self.layout_.columns[j], Z[:, j], like, sample[:, j], ranks, j
            )
        return moved


def _pot() -> Any:
    try:
        import ot
    except ImportError as error:
        raise ImportError(NO_POT) from error
    return ot
