"""Each column is moved given its parents, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ks_2samp

from skfairtest import _clock
from skfairtest._parameters import check_methods, checked, whole
from skfairtest._threads import one_thread
from skfairtest._typing import Floats, Ints
from skfairtest.space._columns import Column
from skfairtest.space._layout import Layout
from skfairtest.transports._base import BaseTransport, named_columns
from skfairtest.transports._couplings import Quantiles
from skfairtest.transports._features import Feature
from skfairtest.transports._learners import (
    BoostedLine,
    Line,
    classifier_of,
    mean_and_spread,
    predicted,
    seeded,
)
from skfairtest.transports._quantile import (
    ColumnMap,
    categories,
    is_missing,
    move_category,
    move_missing,
    within,
)
from skfairtest.transports._ranks import RowRanks
from skfairtest.transports._settings import SETTINGS


class Residuals(NamedTuple):
    """Distribution of a column of numbers in one group, given its parents.

    Attributes
    ----------
    mean, spread : estimator
        Predict the mean, and the mean distance from it.
    least : float
        The least spread.
    own : Quantiles
        Standardised residuals of rows that the models have seen: what a row is ranked among.
    other : Quantiles
        Those of rows that the models have not seen, which are wider: what a rank is turned into.
    predicted : Quantiles or None
        The numbers that the models make of random ranks, if these are not those of the group.
    """

    mean: Line | BoostedLine | Any
    spread: Line | Any
    least: float
    own: Quantiles
    other: Quantiles
    predicted: Quantiles | None

    @classmethod
    def learn(
        cls, F: Floats, y: Floats, discrete: bool, regressor: Any, seed: int,
        rng: np.random.Generator,
    ) -> Residuals:  # fmt: skip
        """Learn from features of shape (n, n_features) and numbers of shape (n,)."""
        mean, spread, unseen = mean_and_spread(F, y, regressor, seed, rng)
        fitted, distance = y - predicted(mean, F), np.abs(unseen)
        # A spread that is predicted as less than a tenth of the mean one is not believed.
        least = 0.1 * float(distance.mean())
        # Of a constant column any spread will do.
        least = least if least > 0 else 1.0
        centre, around = predicted(mean, F), np.maximum(predicted(spread, F), least)
        own, other = (Quantiles.learn(away / around, False) for away in (fitted, unseen))
        # Five random ranks for each row show what numbers the models make of ranks.
        drawn = [centre + around * other.at(rng.random(len(y))) for _ in range(5)]
        made = np.concatenate(drawn)
        numbers = Quantiles.learn(made, False) if _differ(made, y, discrete) else None
        return cls(mean, spread, least, own, other, numbers)

    def ranks(self, F: Floats, y: Floats, uniform: Floats) -> Floats:
        """Return the ranks of numbers, given features."""
        around = np.maximum(predicted(self.spread, F), self.least)
        return self.own.ranks((y - predicted(self.mean, F)) / around, uniform)

    def at(self, F: Floats, ranks: Floats, group: Quantiles) -> Floats:
        """Return the numbers at ranks, given features, of a group with such numbers."""
        around = np.maximum(predicted(self.spread, F), self.least)
        numbers = predicted(self.mean, F) + around * self.other.at(ranks)
        if self.predicted is None:
            return numbers
        # Means and spreads know nothing of zeros that most rows have, nor of a last value: so what
        # they give are ranks in the whole group, and the group's own numbers stand at these.
        return group.at(self.predicted.ranks(numbers, np.full(len(numbers), 0.5)))


class Choice(NamedTuple):
    """Shares of categories in one group, given their parents.

    Attributes
    ----------
    model : estimator or None
        Predicts probabilities; without it the shares are those of the group.
    classes : ndarray of int
        The categories that the model knows.
    shares : ndarray of shape (n_categories,)
        Shares in the whole group.
    """

    model: Any
    classes: Ints
    shares: Floats

    @classmethod
    def learn(
        cls, F: Floats, y: Ints, classifier: Any, shares: Floats, seed: int,
        rng: np.random.Generator,
    ) -> Choice:  # fmt: skip
        """Learn from features and categories of rows of a group with these shares."""
        classes = np.unique(y)
        too_many = len(classes) > SETTINGS.one_hot_categories
        if too_many or len(classes) < 2 or not F.shape[1] or len(y) < SETTINGS.rows_to_learn:
            return cls(None, classes, shares)
        if classifier is None:
            model = classifier_of(F, y, seed, rng)
        else:
            model = classifier.fit(F, y)
        return cls(model, np.asarray(model.classes_, dtype=np.intp), shares)

    def given(self, F: Floats) -> Floats:
        """Return the shares for each row of features, shape (n, n_categories)."""
        if self.model is None:
            return np.broadcast_to(self.shares, (len(F), len(self.shares)))
        shares = np.zeros((len(F), len(self.shares)))
        shares[:, self.classes] = self.model.predict_proba(F)
        return shares


class Conditional(NamedTuple):
    """Distribution of one column in each group, given its parents.

    Attributes
    ----------
    parents : ndarray of int
        Positions of the columns that it is given.
    marginal : ColumnMap
        Its distribution where nothing is given.
    choices : list of Choice
        Of a category its values, of numbers what is missing; in each group.
    numbers : list of Residuals or None
        Of numbers, in each group; None where there are too few rows.
    """

    parents: Ints
    marginal: ColumnMap
    choices: list[Choice]
    numbers: list[Residuals | None]


def _check_regressor(name: str, value: Any) -> None:
    check_methods(name, value, ("fit", "predict"), "Give a LinearRegression(), or None.")


def _check_classifier(name: str, value: Any) -> None:
    hint = "Give a LogisticRegression(), or None."
    check_methods(name, value, ("fit", "predict_proba"), hint)


class SequentialResults:
    """What `fit` sets, apart from parameters; `skfairtest.io` reads the types."""

    maps_: list[Conditional]
    features_: list[Feature]
    sequence_: Ints


class SequentialTransport(SequentialResults, BaseTransport):
    """Move one column after the other: each given its parents, which have moved already.

    Within each group a model of every column given its parents is learned. A row's number gets the
    rank of its residual among those of its own group, and then the number that has this rank in the
    other group, given the row's moved parents. Categories are moved by the probabilities that a
    classifier gives, so that as few rows as possible change theirs.

    Parameters
    ----------
    order : list of str or int, default=None
        The columns in the order in which they are moved; the parents of a column are all columns
        before it. It names every column that moves. None takes the order of the table. Columns in
        `keep` that `order` does not name are parents of all others.
    graph : dict of str or int to list, default=None
        The parents of each column, in place of `order`. A column that is not named has none, and is
        moved by its ranks alone.
    regressor : estimator, default=None
        Learns means and spreads of numbers; it is cloned. None is a ridge regression, with a small
        `HistGradientBoostingRegressor` of what it leaves where a tree finds something there. Its
        features are numbers without gaps: columns scaled to mean 0 and standard deviation 1, and
        0/1 columns for categories and missing values.
    classifier : estimator, default=None
        Learns probabilities of categories and missing values by `predict_proba`. None is a logistic
        regression, or a small `HistGradientBoostingClassifier` where a tree finds something in what
        that leaves.
    max_rows : int, default=20_000
        Rows of each group that models are learned from; of more, a sample is drawn.

    Attributes
    ----------
    groups_ : ndarray of shape (n_groups,)
        The groups, sorted.
    moving_ : ndarray of int
        Positions of the attributes that may move.
    sequence_ : ndarray of int
        Positions of the same attributes in the order in which they are moved.
    space_ : InputSpace
        How the columns are read; after `fit` alone.

    Raises
    ------
    ValueError
        In `fit`, if `order` leaves out a column that moves or names one twice; if `graph` has a
        circle, or columns that are not there; or if both are given.

    See Also
    --------
    QuantileTransport : Moves each column by itself.
    OptimalTransport : Moves all columns together.

    Notes
    -----
    In the order of a causal graph, sequential transport [1]_ follows the graph; in another order it
    is another map, which also reaches the other group. What is moved are twins, and no
    counterfactuals, unless the graph is true and nothing is left out of it.

    References
    ----------
    .. [1] Fernandes Machado, A., Charpentier, A., & Gallic, E. (2025). Sequential conditional
       transport on probabilistic graphs for interpretable counterfactual fairness. AAAI 39,
       19358-19366.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skfairtest.transports import SequentialTransport
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat(["a", "b"], 500)
    >>> years = rng.normal(10, 2, 1000) + 3 * (groups == "b")
    >>> X = pd.DataFrame({"years": years, "pay": 5 * years + rng.normal(0, 1, 1000)})
    >>> transport = SequentialTransport(order=["years", "pay"]).fit(X, groups)
    >>> moved = transport.transport(X.iloc[:500], "a", to="b")
    >>> bool(abs((moved["pay"] - 5 * moved["years"]).mean()) < 0.5)
    True
    """

    order: Any = None
    graph: Any = None
    regressor: Any = checked(default=None, check=_check_regressor)
    classifier: Any = checked(default=None, check=_check_classifier)
    max_rows: int = whole(default=20_000, least=SETTINGS.rows_to_learn)

    @one_thread()
    def _learn(self, layout: Layout, Z: Floats, groups: Ints, n_groups: int) -> Any:
        parents = self._parents(layout)
        self.sequence_ = np.array(list(parents), dtype=np.intp)
        columns, seed = layout.columns, self.random_state or 0
        self.features_ = [Feature.learn(column, Z[:, j]) for j, column in enumerate(columns)]
        rng = np.random.default_rng(seed)
        every = [np.flatnonzero(groups == g) for g in range(n_groups)]
        some = [
            own if len(own) <= self.max_rows else rng.choice(own, self.max_rows, replace=False)
            for own in every
        ]
        rows = np.sort(np.concatenate(some))
        some = [np.flatnonzero(groups[rows] == g) for g in range(n_groups)]
        F, ranks = self._features(Z[rows], layout), RowRanks(Z[rows], seed)
        maps = []
        for j, own_parents in parents.items():
            column, encoded = columns[j], np.ascontiguousarray(Z[:, j])
            marginal = ColumnMap.learn(column, [encoded[own] for own in every])
            G, places = F[:, self._places(own_parents)], np.array(own_parents, dtype=np.intp)
            conditional = Conditional(places, marginal, [], [])
            # Ranks say where between two steps a row is taken to lie.
            uniform = ranks.uniform(2 * j)
            for own in some:
                _clock.check_ending()
                self._describe(conditional, column, G[own], encoded[rows[own]], uniform[own], rng)
            maps.append(conditional)
        return maps

    def _describe(
        self, conditional: Conditional, column: Column, G: Floats, encoded: Floats, uniform: Floats,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        """Add to a column's distributions that of one more group, given the parents."""
        shares = conditional.marginal.shares[len(conditional.choices)]
        absent = is_missing(column, encoded)
        y = categories(encoded, len(shares)) if column.is_category else absent.astype(np.intp)
        seed = self.random_state or 0
        classifier, regressor = seeded(self.classifier, seed), seeded(self.regressor, seed)
        conditional.choices.append(Choice.learn(G, y, classifier, shares, seed, rng))
        numbers, there = None, np.flatnonzero(~absent)
        enough = len(conditional.parents) and len(there) >= SETTINGS.rows_to_learn
        if enough and not column.is_category:
            spread_out = _between_steps(column, encoded[there], uniform[there])
            numbers = Residuals.learn(G[there], spread_out, column.discrete, regressor, seed, rng)
        conditional.numbers.append(numbers)

    # Order and graph ------------------------------------------------------------------------

    def _parents(self, layout: Layout) -> dict[int, list[int]]:
        """Return the parents of each column that moves, in the order of moves."""
        names = [column.name for column in layout.columns]
        moving = self.moving_.tolist()
        if self.graph is not None:
            if self.order is not None:
                raise ValueError(
                    "Both order= and graph= are given, and each says what the parents of a column "
                    "are. Give one of them."
                )
            return self._parents_in_graph(layout, names, moving)
        kept = [j for j in range(len(names)) if j not in moving]
        if self.order is None:
            sequence = moving
        else:
            sequence = named_columns(layout, self.order, "order=")
            left_out = [names[j] for j in moving if j not in sequence]
            if left_out:
                raise ValueError(
                    f"order= must name every column that moves; it leaves out {left_out!r}. Add "
                    "them where they belong, or name them in keep=."
                )
        sequence = [*(j for j in kept if j not in sequence), *sequence]
        return {j: sequence[:k] for k, j in enumerate(sequence) if j in moving}

    def _parents_in_graph(
        self, layout: Layout, names: list[Any], moving: list[int]
    ) -> dict[int, list[int]]:
        if not isinstance(self.graph, Mapping):
            raise TypeError(
                "graph= must be a dict of columns and the lists of their parents, such as "
                f'{{"pay": ["age", "hours"]}}; got {self.graph!r}.'
            )
        parents: dict[int, list[int]] = {j: [] for j in range(len(names))}
        seen: set[int] = set()
        for name, given in self.graph.items():
            j = layout.resolve([name], "graph=")[0]
            if j in seen:
                raise ValueError(
                    f"graph= has the parents of {names[j]!r} more than once. Name each column once."
                )
            seen.add(j)
            # Models are given the parents in the order of the table: a graph has no other.
            parents[j] = sorted(named_columns(layout, given, "graph="))
        try:
            sequence = list(TopologicalSorter(parents).static_order())
        except CycleError as error:
            circle = " -> ".join(repr(names[j]) for j in error.args[1])
            raise ValueError(
                f"graph= has a circle: {circle} (from parents to children). A column cannot be "
                "moved after itself; leave out one of these parents."
            ) from None
        return {j: parents[j] for j in sequence if j in moving}

    # Moves ----------------------------------------------------------------------------------

    def _features(self, Z: Floats, layout: Layout) -> Floats:
        """Return all columns as models see them."""
        parts = [
            feature.encode(column, Z[:, j])
            for j, (feature, column) in enumerate(zip(self.features_, layout.columns, strict=True))
        ]
        return np.hstack(parts)

    def _places(self, columns: Any) -> Ints:
        """Return the positions of some columns among the features."""
        stops = np.cumsum([feature.width for feature in self.features_])
        parts = [np.arange(stops[j] - self.features_[j].width, stops[j]) for j in columns]
        return np.concatenate([np.empty(0, dtype=np.intp), *parts]).astype(np.intp)

    @one_thread()
    def _move(self, Z: Floats, own: int, target: int) -> Floats:
        ranks = RowRanks(Z, self.random_state or 0)
        before = self._features(Z, self.layout_)
        after, moved = before.copy(), Z.copy()
        for j, conditional in zip(self.sequence_.tolist(), self.maps_, strict=True):
            _clock.check_ending()
            column = self.layout_.columns[j]
            encoded = np.ascontiguousarray(Z[:, j])
            if not len(conditional.parents):
                moved[:, j] = conditional.marginal.move(column, encoded, own, target, ranks, j)
            else:
                places = self._places(conditional.parents)
                given = before[:, places], after[:, places]
                moved[:, j] = _move_given(
                    conditional, column, encoded, own, target, given, ranks, j
                )
            after[:, self._places([j])] = self.features_[j].encode(column, moved[:, j])
        return moved


def _move_given(
    conditional: Conditional, column: Column, encoded: Floats, own: int, target: int,
    given: tuple[Floats, Floats], ranks: RowRanks, j: int,
) -> Floats:  # fmt: skip
    """Move one encoded column, given the features of parents before and after their move."""
    before, after = given
    here, there = conditional.choices[own].given(before), conditional.choices[target].given(after)
    if column.is_category:
        return move_category(encoded, here, there, ranks.uniform(2 * j))
    mine, other = conditional.numbers[own], conditional.numbers[target]
    if mine is None or other is None:
        return conditional.marginal.move(column, encoded, own, target, ranks, j)
    moved, stays, known = move_missing(column, encoded, here, there, ranks, 2 * j + 1)
    rows = np.arange(len(encoded))[stays]
    if not len(rows):
        return moved
    at = ranks.uniform(2 * j, rows)
    own_rows = rows[known]
    if len(own_rows):
        # A second number: the first one says where between two steps the row is taken to lie.
        among_equals = ranks.uniform(2 * j + 1, own_rows)
        numbers = _between_steps(column, encoded[own_rows], at[known])
        at[known] = mine.ranks(before[own_rows], numbers, among_equals)
    # A model may go on beyond all values that there are.
    numbers = other.at(after[rows], at, conditional.marginal.numbers[target])
    moved[rows] = within(column, numbers)
    return moved


def _differ(made: Floats, y: Floats, discrete: bool) -> bool:
    """Return whether the numbers that models make are others than those of the group.

    To follow the group's numbers where the models are right would add their chance. So models are
    taken to be wrong only if chance makes so large a difference in less than a tenth of cases; or,
    of the share of the commonest value, which models blur, in less than a hundredth.
    """
    if ks_2samp(made, y).pvalue < 0.1:
        return True
    made, y = (np.rint(made), np.rint(y)) if discrete else (made, y)
    values, counts = np.unique(y, return_counts=True)
    share = counts.max() / len(y)
    apart = abs(float((made == values[counts.argmax()]).mean()) - share)
    return bool(apart > 2.6 * np.sqrt(share * (1 - share) * (1 / len(y) + 1 / len(made))))


def _between_steps(column: Column, encoded: Floats, uniform: Floats) -> Floats:
    """Return encoded values spread evenly over their steps, so that rounding gives them back."""
    return np.rint(encoded) + (uniform - 0.5) if column.discrete else encoded
