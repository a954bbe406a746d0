"""What a model sees of an input, attribute by attribute, behind the steps of a pipeline.

The steps that are understood (see `_steps`) work on single columns. So every number that the model
sees, a *feature*, is a function of one attribute of the input space: a table for an
attribute of finitely many values; for a real one a nondecreasing function, or one that rises or
falls between places that are known (see `_monotone_pieces`). The functions are never
computed anew: they are read off the steps' own ``transform``, bit for bit. Folding a scaler into a
threshold in real arithmetic gives thresholds that are off by a rounding error, and wrong bounds.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest._typing import Bools, Floats, Ints, Ints64
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._monotone_pieces import Breakpoints
from skfairtest.whitebox._steps import HINT, check_numbers, check_step, is_rounded, leaves
from skfairtest.whitebox._tables import as_numbers, column_codes, has_single, take_columns
from skfairtest.whitebox._unwrap import run_step, run_steps, unwrap
from skfairtest.whitebox._value_order import ValueOrder, first_changed, values_of_ranks

#: Places inside of a piece, and numbers from its ends, at which it is seen to rise or to fall.
SHARES = np.concatenate([8.0 ** -np.arange(1, 9), [0.5], 1 - 8.0 ** -np.arange(1, 9)])
NEXT = np.arange(4)


class Features:
    """The features that a model sees, each a function of one attribute.

    - `ValueError`: if a step is not understood, or a feature is a function of several attributes.

    - `source` (n_features,): the attribute that a feature is a function of; -1 where it is
      constant.
    - `continuous` (n_attributes,): attributes with too many values for a table; their features are
      nondecreasing.
    - `pieces`: the continuous attributes of which that does not hold: the first values of the
      pieces, the lower end of the domain among them, in each of which a feature never falls, or
      never rises. The encoded values that mean missing are a piece, in which nothing changes.
    - `grids`: encoded values of the other attributes, as in the tables; empty for continuous ones.
    - `rounded`: wide attributes of which a step makes functions that rise, or fall, up to rounding
      alone.
    - `is_single`: whether such a function is worked out in single precision.
    """

    def __init__(self, space: InputSpace, steps: list[Any]) -> None:
        self.steps = steps
        self._lie_in(space)
        self._tables: dict[int, Floats] = {}
        self.identity = not steps
        self.pieces: dict[int, Floats] = {
            j: _with_missing(space, j)
            for j in np.flatnonzero(self.continuous).tolist()
            if space.domain.largest_code[j] < space.domain.high[j]
        }
        self._single = False  # whether a step computes in single precision, or in less
        self.rounded: set[int] = set()
        self.is_single = False
        Z, self._blocks = self._probe()
        table = space.decode(Z)
        for k, step in enumerate(steps):
            table = run_step(step, self._cut_by(k, table))
        probed = as_numbers(table)
        self.source = np.full(probed.shape[1], -1, dtype=np.intp)
        for t, attributes in enumerate(self._sources(probed)):
            if len(attributes) > 1:
                names = [space.feature_names[j] for j in attributes]
                raise ValueError(f"A step mixes the columns {names!r} into one. {HINT}")
            self.source[t] = attributes[0] if attributes else -1
        self.origin = probed[0]
        self._probed = probed
        for t, j in enumerate(self.source):
            ends = probed[self._blocks[j]][[0, -1], t]
            if self.continuous[j] and j >= 0 and ends[1] < ends[0]:
                self.pieces.setdefault(int(j), np.array([space.domain.low[j]]))
        self._check()
        self._check_pieces()

    @property
    def read_of_steps(self) -> list[Features]:
        """The features, as they were read, that these are made of."""
        return [self]

    def _lie_in(self, space: InputSpace) -> None:
        """Take the attributes of a space, and the values of those that have few."""
        self.space, self.continuous = space, continuous_attributes(space)
        self.grids = [
            np.empty(0) if self.continuous[j] else attribute_grid(space, j)
            for j in range(space.n_features)
        ]

    def over(self, space: InputSpace) -> Features:
        """The same features over a part of the domain, or with other sensitive attributes.

        - `space`: has the same columns, whose ends may be others, inside of these.
        """
        own = copy.copy(self)
        own._lie_in(space)
        own._tables, few = {}, []
        for j in np.flatnonzero(~own.continuous).tolist():
            if self.continuous[j]:
                few += self.of(j).tolist()  # what had too many values for a table
                continue
            places = (own.grids[j] - self.grids[j][0]).astype(np.intp)
            own._tables |= {int(t): self.table(int(t))[places] for t in self.of(j)}
        encoded = [own.grids[self.source[t]] for t in few]
        if few:
            asked = np.repeat(few, [len(at) for at in encoded])
            seen = self.evaluate(asked, np.concatenate(encoded))
            ends = np.cumsum([len(at) for at in encoded])[:-1]
            own._tables |= dict(zip(few, np.split(seen, ends), strict=True))
        own.pieces = {}
        for j, first in self.pieces.items():
            low, high = space.domain.low[j], space.domain.high[j]
            if own.continuous[j]:
                after = np.append(first[1:], np.inf)
                own.pieces[j] = np.maximum(first, low)[(after > low) & (first <= high)]
        own.origin = self.origin.copy()
        wide = np.flatnonzero((self.source >= 0) & own.continuous[self.source])
        own.origin[wide] = self.evaluate(wide, space.domain.low[self.source[wide]])
        for t, values in own._tables.items():
            own.origin[t] = values[0]
        return own

    def _cut_by(self, k: int, table: Any) -> Any:
        """Cut real columns where a step changes direction; rows of the probe that reach it."""

        def reached(Z: Floats) -> Any:
            return run_steps(self.steps[:k], self.space.decode(Z))

        for leaf, reach in leaves(self.steps[k], table, lambda rows: rows):
            part = reach(table)
            sources = [[j for j in own if self.continuous[j]] for own in self._sources(part)]
            real = [t for t, own in enumerate(sources) if own]
            found = check_step(leaf, part, real)
            if found and self._cut(found, sources, _after(reached, reach)):
                Z, self._blocks = self._probe()
                table = reached(Z)
                part = reach(table)
            check_numbers(leaf, part, real)
            single = has_single(part) or has_single(run_step(leaf, part))
            self._single |= single
            if is_rounded(leaf):
                self.rounded |= {j for t in real for j in sources[t]}
                self.is_single |= single and bool(real)
        return table

    def _cut(
        self,
        breakpoints: list[Breakpoints],
        sources: list[list[int]],
        reached: Callable[[Floats], Any],
    ) -> bool:
        """Cut attributes where columns made of them change direction; whether any was."""
        cut = False
        searches = []
        for own in breakpoints:
            j = sources[own.column][0]
            number = np.concatenate([own.at, own.after])
            strictly = np.arange(len(number)) >= len(own.at)
            first, last = map(ValueOrder(self.space, j).rank, self.piece_ends(j))
            # Each number in each piece: where the column gets from one side of it to the other.
            n, m = len(number), len(first)
            searches.append(
                (np.full(n * m, j), np.full(n * m, own.column), np.tile(number, m),
                 np.tile(strictly, m), np.repeat(first, n), np.repeat(last, n))
            )  # fmt: skip
        attribute, column, number, strictly, low, high = map(
            np.concatenate, zip(*searches, strict=True)
        )
        (rounded,) = {own.rounded for own in breakpoints}

        def beyond(ranks: Ints64, of: Ints) -> Bools:
            encoded = values_of_ranks(self.space, attribute[of], ranks)
            seen = self._at(reached, column[of], attribute[of], encoded)
            seen = seen.astype(rounded).astype(np.float64)
            return np.where(strictly[of], seen > number[of], seen >= number[of])

        which, changed = first_changed(low, high, beyond)
        for j in np.unique(attribute).tolist():
            order = ValueOrder(self.space, j)
            starts = order.rank(self.piece_ends(j)[0])
            found = np.unique(np.concatenate([starts, changed[attribute[which] == j]]))
            # An attribute without breakpoints of its own is nondecreasing still.
            if len(found) > 1 or j in self.pieces:
                cut = cut or len(found) > len(starts)
                self.pieces[j] = order.value(found)
        return cut

    def _rows_of(self, attribute: int, encoded: Floats) -> Floats:
        """Rows in which one attribute varies."""
        Z = np.repeat(self._encoded_origin()[None], len(encoded), axis=0)
        Z[:, attribute] = encoded
        return Z

    def along(self, attribute: int, encoded: Floats) -> Floats:
        """All features at some encoded values of one attribute, (n, n_features)."""
        return self.transform(self._rows_of(attribute, encoded))

    def piece_ends(self, attribute: int) -> tuple[Floats, Floats]:
        """First and last encoded values of the pieces of a continuous attribute."""
        low, high = self.space.domain.low[attribute], self.space.domain.high[attribute]
        first = self.pieces.get(attribute, np.array([low]))
        order = ValueOrder(self.space, attribute)
        last = order.value(order.rank(first[1:]) - 1)
        return first, np.append(last, high)

    def _probe(self) -> tuple[Floats, list[slice]]:
        """A first row, and below it a block of rows an attribute in which it alone varies."""
        space = self.space
        values = [
            self._probed_values(j) if self.continuous[j] else self.grids[j]
            for j in range(space.n_features)
        ]
        ends = 1 + np.cumsum([len(v) for v in values])
        blocks = [slice(int(e - len(v)), int(e)) for e, v in zip(ends, values, strict=True)]
        if ends[-1] * len(values) > 2**27:  # a gigabyte, and the steps make tables as large of it
            raise ValueError(
                f"To be read, the model would have to transform {ends[-1]:,} rows of "
                f"{len(values):,} columns, one row for each value of a column. Pass fewer columns, "
                "or columns that are rounded to fewer values."
            )
        first = np.array([v[0] for v in values])
        Z = np.repeat(first[None], ends[-1], axis=0)
        for j, block in enumerate(blocks):
            Z[block, j] = values[j]
        return Z, blocks

    def _probed_values(self, attribute: int) -> Floats:
        """Encoded values of a continuous attribute: the ends of its pieces, and some between."""
        space = self.space
        encoded = np.linspace(space.domain.low[attribute], space.domain.high[attribute], 9)
        if space.domain.discrete[attribute]:
            encoded = np.floor(encoded)
        if attribute not in self.pieces:
            return encoded
        return np.unique(np.concatenate([encoded, *self.piece_ends(attribute)]))

    def _sources(self, table: Any) -> list[list[int]]:
        """For every column of a table of the probe, the attributes that change it."""
        # A function that rises or falls, with equal ends, is constant; a table is seen whole.
        if isinstance(table, np.ndarray) and table.dtype.kind == "f":
            first = table[0]
            changes = []
            for block in self._blocks:
                same = (table[block] == first) | (np.isnan(table[block]) & np.isnan(first))
                changes.append(~same.all(axis=0))
            return [np.flatnonzero(column).tolist() for column in np.array(changes).T]
        found = []
        for codes in column_codes(table):
            changed = codes != codes[0]
            found.append([j for j, block in enumerate(self._blocks) if changed[block].any()])
        return found

    def sizes(self) -> Floats:
        """The largest absolute values of the features, over the whole domain."""
        sizes, source, domain = np.abs(self.origin), self.source, self.space.domain
        continuous = np.flatnonzero((source >= 0) & self.continuous[np.maximum(source, 0)])
        # All of an attribute at once, as steps take long for a row, and little longer for many.
        ends = np.concatenate([domain.low[source[continuous]], domain.high[source[continuous]]])
        values = self.evaluate(np.tile(continuous, 2), ends).reshape(2, -1)
        sizes[continuous] = np.abs(values).max(axis=0)
        for t in np.setdiff1d(np.flatnonzero(source >= 0), continuous):
            sizes[t] = np.abs(self.table(int(t))).max()
        return np.asarray(sizes)

    def transform(self, Z: Floats) -> Floats:
        """The features of encoded rows, shape (n, n_features)."""
        if self.identity and self.plain:
            return np.asarray(Z, dtype=np.float64)
        return as_numbers(run_steps(self.steps, self.space.decode(Z)))

    @property
    def plain(self) -> bool:
        """Whether encoded values are the very numbers of the table."""
        return (
            self.space.layout.is_plain
            and all(column.is_plain for column in self.space.domain.columns)
            and not self.space.domain.single.any()
        )

    def table(self, feature: int) -> Floats:
        """Values of a feature along the grid of its attribute, shape (n_values,)."""
        if feature in self._tables:
            return self._tables[feature]
        return np.asarray(self._probed[self._blocks[self.source[feature]], feature])

    def of(self, attribute: int) -> Ints:
        """The features that are functions of an attribute."""
        return np.flatnonzero(self.source == attribute)

    def evaluate(self, features: Ints, encoded: Floats) -> Floats:
        """Features of continuous attributes at one value each, shape (n,)."""
        source = self.source[features]
        if self.identity:
            return self.space.layout.numbers(source, encoded)
        return self._at(self.transform, features, source, encoded)

    def _at(
        self, reach: Callable[[Floats], Any], columns: Ints, attributes: Ints, encoded: Floats
    ) -> Floats:
        """Columns of what becomes of rows, each at one value of its attribute, shape (n,)."""
        # Rows carry one value of every attribute, so that few rows serve many columns.
        row = np.empty(len(encoded), dtype=np.intp)
        different = {}
        for j in np.unique(attributes).tolist():
            own = attributes == j
            different[j], row[own] = np.unique(encoded[own], return_inverse=True)
        n = max(map(len, different.values()), default=0)
        if n == 0:
            return np.empty(0)
        Z = np.repeat(self._encoded_origin()[None], n, axis=0)
        for j, values in different.items():
            Z[: len(values), j] = values
        asked, place = np.unique(columns, return_inverse=True)
        return as_numbers(take_columns(reach(Z), asked.tolist()))[row, place]

    def _encoded_origin(self) -> Floats:
        return np.array(
            [
                self.space.domain.low[j] if self.continuous[j] else self.grids[j][0]
                for j in range(self.space.n_features)
            ]
        )

    def _check(self) -> None:
        """See on 64 random rows that each feature really is a function of its attribute alone."""
        space = self.space
        rng = np.random.default_rng(0)
        Z = space.domain.draw(64, rng)
        places = [
            np.zeros(len(Z), dtype=np.intp) if w else rng.integers(len(grid), size=len(Z))
            for w, grid in zip(self.continuous, self.grids, strict=True)
        ]
        for j in np.flatnonzero(~self.continuous):
            Z[:, j] = self.grids[j][places[j]]
        seen = self.transform(Z)
        # Features of continuous attributes at once: a run of the steps costs more than its rows.
        of_continuous = np.flatnonzero((self.source >= 0) & self.continuous[self.source])
        alone = self.evaluate(
            np.repeat(of_continuous, len(Z)), Z[:, self.source[of_continuous]].T.ravel()
        )
        values = dict(zip(of_continuous.tolist(), alone.reshape(-1, len(Z)), strict=True))
        for t, j in enumerate(self.source):
            if j < 0:
                expected = np.full(len(Z), self.origin[t])
            elif self.continuous[j]:
                expected = values[t]
            else:
                expected = self.table(t)[places[j]]
            if not np.array_equal(seen[:, t], expected, equal_nan=True):
                raise ValueError(
                    f"Expected every number that the model sees to depend on one column; number "
                    f"{t} depends on more than {space.feature_names[j]!r}. {HINT}"
                )

    def _check_pieces(self) -> None:
        """See that features rise or fall all along each piece, at its ends above all."""
        looked_at = {int(j): self._inside(int(j)) for j in np.flatnonzero(self.continuous)}
        if self.identity or not looked_at:
            return
        Z = np.repeat(self._encoded_origin()[None], max(c.size for c in looked_at.values()), axis=0)
        for j, encoded in looked_at.items():
            Z[: encoded.size, j] = encoded.ravel()
        seen = self.transform(Z)
        # What rises may go back by what a step rounds, as a share of its largest number.
        share = 1e-5 if self._single else 1e-12
        for t in np.flatnonzero((self.source >= 0) & self.continuous[self.source]):
            j = int(self.source[t])
            encoded = looked_at[j]
            values = seen[: encoded.size, t].reshape(encoded.shape)
            missing = np.isnan(values)  # trees take what is missing as it is
            moves = np.diff(np.where(missing, 0.0, values), axis=1)
            both = np.minimum(-moves.min(axis=1), moves.max(axis=1))
            both[missing.any(axis=1) & ~missing.all(axis=1)] = np.inf
            if not (both <= share * np.abs(values[~missing]).max(initial=0.0)).all():
                low, high = encoded[int(np.argmax(both)), [0, -1]]
                raise ValueError(
                    f"Expected what the steps make of {self.space.feature_names[j]!r} to rise or "
                    f"to fall between the encoded values {low:.17g} and {high:.17g}; number {t} "
                    "that the model sees does both. Shift the column nearer to zero before the "
                    f"model is fitted, or narrow its domain by InputSpace(bounds=...). {HINT}"
                )

    def _inside(self, attribute: int) -> Floats:
        """Values of each piece of a continuous attribute, more at its ends; (n_pieces, n)."""
        order = ValueOrder(self.space, attribute)
        low, high = self.piece_ends(attribute)
        first, last = order.rank(low), order.rank(high)
        between = low[:, None] + (high - low)[:, None] * SHARES
        if self.space.domain.discrete[attribute]:
            between = np.floor(between)
        ranks = np.concatenate(
            [first[:, None] + NEXT, order.rank(between), last[:, None] - NEXT], axis=1
        )
        ranks = np.clip(ranks, first[:, None], last[:, None])
        return order.value(np.sort(ranks, axis=1))


class SideBySide(Features):
    """The features behind several chains of steps, one after another.

    - `parts`: of one space.
    """

    def __init__(self, parts: list[Features]) -> None:
        self.parts = parts
        first = parts[0]
        self.space, self.continuous, self.grids = first.space, first.continuous, first.grids
        self.steps, self.identity, self.pieces = [], False, {}
        self.rounded = set().union(*(part.rounded for part in parts))
        self.is_single = any(part.is_single for part in parts)
        self.source = np.concatenate([part.source for part in parts])
        self.origin = np.concatenate([part.origin for part in parts])
        self._starts = np.cumsum([0, *(len(part.source) for part in parts)])

    @property
    def read_of_steps(self) -> list[Features]:
        return [read for part in self.parts for read in part.read_of_steps]

    def transform(self, Z: Floats) -> Floats:
        return np.hstack([part.transform(Z) for part in self.parts])

    def table(self, feature: int) -> Floats:
        k = int(np.searchsorted(self._starts, feature, side="right")) - 1
        return self.parts[k].table(feature - int(self._starts[k]))

    def evaluate(self, features: Ints, encoded: Floats) -> Floats:
        of = np.searchsorted(self._starts, features, side="right") - 1
        out = np.empty(len(features))
        for k, part in enumerate(self.parts):
            own = of == k
            if own.any():
                out[own] = part.evaluate(features[own] - self._starts[k], encoded[own])
        return out

    def piece_ends(self, attribute: int) -> tuple[Floats, Floats]:
        ends = [part.piece_ends(attribute) for part in self.parts]
        first, last = (np.unique(np.concatenate(side)) for side in zip(*ends, strict=True))
        return first, last


def _with_missing(space: InputSpace, attribute: int) -> Floats:
    """First values of the numbers and of what means missing, in the domain of an attribute."""
    order = ValueOrder(space, attribute)
    first = order.value(order.rank(space.domain.largest_code[[attribute]]) + 1)
    return np.unique(
        np.maximum(np.append(first, space.domain.low[attribute]), space.domain.low[attribute])
    )


def _after(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda rows: second(first(rows))


def continuous_attributes(space: InputSpace) -> NDArray[np.bool_]:
    """Attributes taken as continuous: real ones, and integers with too many values for a table."""
    # Integers with more values than 2000 are cut at thresholds instead of tabulated.
    many = np.where(
        space.domain.discrete,
        space.domain.high - space.domain.low >= 2000,
        space.domain.high > space.domain.low,
    )
    # The columns of a one-hot group do not grow with its code, however many they are.
    grouped = [group is not None for group in space.layout.groups]
    return np.asarray(many, dtype=bool) & ~np.array(grouped)


def attribute_grid(space: InputSpace, j: int) -> Floats:
    """Encoded values of an attribute of finitely many values, in their order."""
    if not space.domain.discrete[j]:
        return np.array([space.domain.low[j]])
    return np.arange(space.domain.low[j], space.domain.high[j] + 1)


class Chain:
    """The steps before a model, and the features behind them, made once."""

    def __init__(self, space: InputSpace, steps: Any = ()) -> None:
        self.space = space
        self.steps = list(steps)
        self._found: dict[str, Any] = {}

    def once(self, what: str, make: Callable[[], Any]) -> Any:
        """What is known of the steps: models behind the same chain share it."""
        if what not in self._found:
            self._found[what] = make()
        return self._found[what]

    @property
    def features(self) -> Features:
        """What a model behind the steps sees."""
        found: Features = self.once("features", lambda: Features(self.space, self.steps))
        return found

    def first_table(self) -> Any:
        """One row of the domain behind the steps, in the container that the model is shown."""
        return run_steps(self.steps, self.space.decode(self.space.domain.low[None]))

    def showing(self, features: Features) -> Chain:
        """The same steps, with other features that are made of theirs."""
        other = Chain(self.space, self.steps)
        other._found["features"] = features
        return other

    def then(self, *steps: Any) -> Chain:
        """A longer chain."""
        return Chain(self.space, [*self.steps, *steps])

    def open(self, estimator: Any) -> tuple[Chain, Any]:
        """Take a pipeline or a wrapper apart: the longer chain and the last step."""
        steps, model = unwrap(estimator, HINT)
        return (self.then(*steps) if steps else self), model
