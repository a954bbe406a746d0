"""The attributes of a table, from its values and what the user says of its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest.exceptions import ChunkFailedError
from skfairtest.space._chunks import Chunks
from skfairtest.space._column_names import by_position
from skfairtest.space._columns import Categorical, Column
from skfairtest.space._containers import Container, make_container
from skfairtest.space._kinds import describe_column
from skfairtest.space._layout import Layout
from skfairtest.space._numbers import Integer
from skfairtest.space._one_hot import Dummies, Group, as_dummy, given_groups, in_prefixes
from skfairtest.space._sample import SAMPLE_ROWS, Reservoir
from skfairtest.space._summarize import NumbersSummarizer, ObjectsSummarizer, summarizer
from skfairtest.space._summary import ColumnSummary


class ColumnSettings:
    """Settings of the user for columns and groups, by position.

    Parameters
    ----------
    names : list
        Names of the columns.
    bounds, categories, steps, one_hot : object
        As the user gave them.
    """

    def __init__(
        self,
        names: list[Any],
        bounds: Mapping[Any, Any] | None,
        categories: Mapping[Any, Any] | None,
        steps: Mapping[Any, float] | None,
        one_hot: Any,
    ) -> None:
        self.names = names
        self.auto = isinstance(one_hot, str) and one_hot == "auto"
        no_groups = self.auto or one_hot is None
        #: Groups that the user names.
        self.given = {} if no_groups else given_groups(one_hot, names)
        # What is said of a group by its name is no setting of a column.
        self._of_groups: dict[Any, Any] = {}
        own = categories
        if categories is not None:
            self._of_groups = _named_groups(categories, names, self.given, self.auto)
        if self._of_groups and categories is not None:
            own = {k: setting for k, setting in categories.items() if k not in self._of_groups}
        self._by_label = {
            label: by_position(names, mapping, label)
            for label, mapping in (("bounds", bounds), ("categories", own), ("steps", steps))
        }

    def of(self, place: int) -> dict[str, Any]:
        """Return the settings of one column, as `ColumnFacts` takes them."""
        said = {label: mapping.get(place) for label, mapping in self._by_label.items()}
        return {"bounds": said["bounds"], "categories": said["categories"], "step": said["steps"]}

    def of_group(self, name: Any) -> Any:
        """Return the categories that the user lists for a group, or None."""
        return self._of_groups.get(name)

    def check_groups(self, groups: dict[Any, list[int]]) -> None:
        """Check that the settings are possible with these groups."""
        unknown = [name for name in self._of_groups if name not in groups]
        if unknown:
            by_position(self.names, {unknown[0]: self._of_groups[unknown[0]]}, "categories")
        for label, mapping in self._by_label.items():
            for name, places in groups.items():
                both = [self.names[place] for place in places if place in mapping]
                if both:
                    raise ValueError(
                        f"{label}= names {both!r} of the one-hot group {name!r}; a column of a "
                        "group has no domain of its own. Name the group, with the categories that "
                        "it may take, in InputSpace(categories=...), or leave the group out of "
                        "InputSpace(one_hot=...)."
                    )

    @property
    def named(self) -> set[int]:
        """Columns that the user has set, which are then in no group that is found."""
        return {place for mapping in self._by_label.values() for place in mapping}


class TableSummary:
    """Summary of a table in memory or in chunks, from which its attributes are learned.

    Columns are described by their different values and how often each occurs, one-hot groups by the
    rows of the first chunk or, of several, by how often each two columns are 1 at once.

    Parameters
    ----------
    settings : tuple
        Bounds, categories, steps and one-hot groups, as the user gave them.
    """

    def __init__(self, settings: Any) -> None:
        self._given_settings = settings
        self.n_rows = 0
        self.container: Container
        self.settings: ColumnSettings

    def ordered(self, X: Any) -> Any:
        """Return a table, or a chunk of it, with its columns in the order of the first."""
        container = make_container(X)
        if not self.n_rows:
            self._begin(container)
            return X
        X = self.container.check_names(X)
        self.container.learn_levels(container)
        return X

    def _begin(self, container: Container) -> None:
        self.container = container
        names = container.names
        self.settings = ColumnSettings(names, *self._given_settings)
        #: Of the last chunk: the values of its columns.
        self.values: list[NDArray[Any]] = []
        self._columns: list[NumbersSummarizer | ObjectsSummarizer] = []
        self._dummies = Dummies(in_prefixes(names) if self.settings.auto else [])
        self._given = {
            name: Group(name, places, [names[place] for place in places])
            for name, places in self.settings.given.items()
        }
        self._has_none = dict.fromkeys(self._given, False)

    def add(self, X: Any) -> None:
        """Look at a table that is in order."""
        container, names = self.container, self.container.names
        self.values = values = container.all_values(X)
        for j, own in enumerate(values):
            holds_objects = container.holds_objects(j)
            if j == len(self._columns):
                dtype = container.rounds_to(j)
                self._columns.append(
                    summarizer(names[j], own, dtype=dtype, holds_objects=holds_objects)
                )
            if holds_objects:  # all of it will tell whether these are numbers
                own = np.asarray(_take_column(X, names[j], j), dtype=object)
            self._columns[j].add(own)
        for name, group in self._given.items():
            for place in group.places:
                _check_dummy(names[place], values[place], name)
            self._has_none[name] |= group.has_none([values[place] for place in group.places])
        self._dummies.add(values)
        self.n_rows += len(values[0])

    def layout(self) -> Layout:
        """Return the attributes of the table."""
        names, settings, container = self.container.names, self.settings, self.container
        groups = settings.given
        if settings.auto:
            groups = self._dummies.groups(names, settings.named)
        settings.check_groups(groups)
        summaries = [column.summary() for column in self._columns]
        owner = {place: name for name, places in groups.items() for place in places}
        fields = [
            _dummy(name, summaries[j])
            if j in owner
            else describe_column(
                name,
                summaries[j],
                **settings.of(j),
                integral=container.is_integral(j),
                order=container.level_order(j),
                dtype=container.rounds_to(j),
                dates=container.dates_of(j),
            )
            for j, name in enumerate(names)
        ]
        columns: list[Column] = []
        all_places: list[list[int]] = []
        all_groups: list[Group | None] = []
        for j, field in enumerate(fields):
            if j not in owner:
                columns.append(field)
                all_places.append([j])
                all_groups.append(None)
            elif j == min(groups[owner[j]]):
                name = owner[j]
                places = groups[name]
                group = Group(name, places, [names[place] for place in places])
                any_missing = any(summaries[place].any_missing for place in places)
                columns.append(
                    _attribute(group, self._is_none, settings.of_group(name), any_missing)
                )
                all_places.append(places)
                all_groups.append(group)
        fields = [field.field() for field in fields]
        return Layout(container, fields, columns, all_places, all_groups)

    def _is_none(self, group: Group) -> bool:
        """Return whether all columns of a group are 0 in some row."""
        if group.name in self._has_none:
            return self._has_none[group.name]
        return self._dummies.has_none(group.places)


def learn(X: Any, settings: Any) -> tuple[Layout, list[NDArray[Any]], int]:
    """Return the attributes of a table, the values of its columns, and the number of rows.

    A table in memory is one chunk; of one in several chunks, which are gone through once and in
    bounded memory, the values are those of a sample of its rows.

    Parameters
    ----------
    X : table or Chunks
        All rows, or chunk after chunk.
    settings : tuple
        Bounds, categories, steps and one-hot groups, as the user gave them.

    Raises
    ------
    ValueError, TypeError
        For groups, domains and steps that cannot be.
    ChunkFailedError
        For a chunk that cannot be read or does not go with those before it.
    """
    summary = TableSummary(settings)
    if not isinstance(X, Chunks):
        summary.add(summary.ordered(X))
        layout = summary.layout()
        return layout, summary.values, summary.n_rows
    # A fixed seed: which rows stand for all is no matter of chance.
    reservoir = Reservoir(SAMPLE_ROWS, np.random.default_rng(0))
    for chunk in X:
        table = summary.ordered(chunk.table)
        try:
            summary.add(table)
        except (TypeError, ValueError) as error:
            raise ChunkFailedError(
                f"{chunk.name[:1].upper()}{chunk.name[1:]} (rows from {chunk.start} on): {error}",
                chunk=chunk.name,
            ) from error
        reservoir.add(chunk._replace(table=table))
    layout, rows = summary.layout(), reservoir.rows()
    places = range(len(layout.fields))
    return layout, [layout.container.column_values(rows, place) for place in places], summary.n_rows


def _take_column(X: Any, name: Any, j: int) -> Any:
    """Return a column of an array or a pandas frame."""
    return X[:, j] if isinstance(X, np.ndarray) else X[name]


def _named_groups(
    categories: Any, names: list[Any], given: dict[Any, list[int]], auto: bool
) -> dict[Any, Any]:
    """Return what is said of whole groups, by their names."""
    if not isinstance(categories, Mapping):
        return {}
    known = [name for name in categories if name not in names]
    return {name: categories[name] for name in known if auto or name in given}


def _check_dummy(name: Any, values: NDArray[Any], group: Any) -> None:
    """Check that a column can be in a group; numbers are checked later."""
    if values.dtype.kind != "f" and as_dummy(values) is None:
        raise ValueError(
            f"one_hot= names column {name!r} in the group {group!r}; expected a column of 0 and 1 "
            f"or of booleans, got values such as {list(values[:5])}."
        )


def _dummy(name: Any, summary: ColumnSummary) -> Column:
    """Return one column of a group, which can be 0 and 1 whatever the data hold."""
    if summary.distinct.dtype.kind == "f":
        return Integer(name, 0, 1)
    # Encoded values are 0 and 1 as well.
    column = Categorical(name, 2, np.array([False, True], dtype=object))
    column.nan_is_missing = summary.nan_is_missing
    return column


def _attribute(
    group: Group, has_none: Callable[[Group], bool], wanted: Any, any_missing: bool
) -> Column:
    """A group as one categorical attribute; missing is one of its values, or those are given."""
    if wanted is None:
        n_domain = len(group.places) + int(has_none(group))
    else:
        n_domain = _restrict(group, wanted)
    n_levels = n_domain if wanted is None else len(group.order)
    levels = [group.categories[state] for state in group.order[:n_levels]]
    is_missing = wanted is None and any_missing
    listed = np.empty(n_levels + is_missing, dtype=object)
    listed[:] = [*levels, None] if is_missing else levels
    column = Categorical(group.name, n_domain + is_missing, listed)
    if is_missing:
        column.missing, column.largest_code = float(n_domain), float(n_domain - 1)
    return column


def _restrict(group: Group, wanted: Any) -> int:
    """Make the listed categories the domain of a group, in their order; return their number."""
    if isinstance(wanted, str) or not hasattr(wanted, "__iter__"):
        raise ValueError(
            f"categories= of the one-hot group {group.name!r} must be a list; got {wanted!r}."
        )
    states = []
    for value in wanted:
        if value in group.categories:
            states.append(group.categories.index(value))
        elif value in group.members:
            states.append(group.members.index(value))
        elif value is None:
            states.append(len(group.members))
        else:
            raise ValueError(
                f"categories= names {value!r}, which is no category of the one-hot group "
                f"{group.name!r}. Expected some of {group.categories!r} or of its columns."
            )
    if not states or len(set(states)) < len(states):
        raise ValueError(
            f"categories= of the one-hot group {group.name!r} must be different categories, at "
            f"least one; got {list(wanted)!r}."
        )
    rest = [state for state in range(len(group.categories)) if state not in states]
    group.order = np.array(states + rest)
    return len(states)
