"""The attributes of a table, from its values and what the user says of its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfairtest.space._column_names import by_position
from skfairtest.space._columns import Column, describe_seen
from skfairtest.space._containers import Container
from skfairtest.space._layout import Layout
from skfairtest.space._one_hot import Group, as_dummy, find_groups, given_groups
from skfairtest.space._seen import Seen, look


class Wishes:
    """What the user says of columns and groups, by their positions.

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
        # What is said of a group by its name is no wish for a column.
        self._of_groups: dict[Any, Any] = {}
        own = categories
        if categories is not None:
            self._of_groups = _named_groups(categories, names, self.given, self.auto)
        if self._of_groups and categories is not None:
            own = {k: wish for k, wish in categories.items() if k not in self._of_groups}
        self._by_label = {
            label: by_position(names, mapping, label)
            for label, mapping in (("bounds", bounds), ("categories", own), ("steps", steps))
        }

    @property
    def named(self) -> set[int]:
        """Columns that the user says something of, which are in no group that is found."""
        return {place for mapping in self._by_label.values() for place in mapping}

    def layout(
        self,
        container: Container,
        seen: list[Seen],
        groups: dict[Any, list[int]],
        has_none: Callable[[Group], bool],
    ) -> Layout:
        """The attributes of a table of which so much was seen.

        `has_none` says of a group whether all of its columns are 0 in some row.
        """
        wishes, names = self._by_label, self.names
        _check_named(wishes, groups, names, self._of_groups)
        owner = {place: name for name, places in groups.items() for place in places}
        fields = [
            _dummy(name, seen[j], owner[j])
            if j in owner
            else describe_seen(
                name,
                seen[j],
                bounds=wishes["bounds"].get(j),
                categories=wishes["categories"].get(j),
                step=wishes["steps"].get(j),
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
                wanted = self._of_groups.get(name)
                any_missing = any(seen[place].any_missing for place in groups[name])
                column, group = _attribute(
                    name, groups[name], fields, has_none, wanted, any_missing
                )
                columns.append(column)
                all_places.append(group.places)
                all_groups.append(group)
        fields = [field.field() for field in fields]
        return Layout(container, fields, columns, all_places, all_groups)


def learn_layout(
    X: Any,
    container: Container,
    bounds: Mapping[Any, Any] | None,
    categories: Mapping[Any, Any] | None,
    steps: Mapping[Any, float] | None,
    one_hot: Any,
) -> tuple[Layout, list[NDArray[Any]]]:
    """Find the attributes of a table; also returns the values of its columns.

    Raises
    ------
    ValueError, TypeError
        For groups, domains and steps that cannot be.
    """
    wishes = Wishes(container.names, bounds, categories, steps, one_hot)
    values = [container.column_values(X, j) for j in range(len(container.names))]
    groups = wishes.given
    if wishes.auto:
        groups = find_groups(container.names, values, wishes.named)

    def has_none(group: Group) -> bool:
        return group.has_none([values[place] for place in group.places])

    return wishes.layout(container, [look(own) for own in values], groups, has_none), values


def _named_groups(
    categories: Any, names: list[Any], given: dict[Any, list[int]], auto: bool
) -> dict[Any, Any]:
    """Wishes for whole groups, by their names."""
    if not isinstance(categories, Mapping):
        return {}
    known = [name for name in categories if name not in names]
    return {name: categories[name] for name in known if auto or name in given}


def _check_named(
    wishes: dict[str, dict[int, Any]],
    groups: dict[Any, list[int]],
    names: list[Any],
    of_groups: dict[Any, Any],
) -> None:
    unknown = [name for name in of_groups if name not in groups]
    if unknown:
        by_position(names, {unknown[0]: of_groups[unknown[0]]}, "categories")
    for label, mapping in wishes.items():
        for name, places in groups.items():
            both = [names[place] for place in places if place in mapping]
            if both:
                raise ValueError(
                    f"{label}= names {both!r} of the one-hot group {name!r}; a column of a group "
                    "has no domain of its own. Name the group in categories= with the categories "
                    "that it may take, or leave it out of one_hot=."
                )


def _dummy(name: Any, seen: Seen, group: Any) -> Column:
    """One column of a group, which can be 0 and 1 whatever the data hold."""
    values = seen.present
    if values.dtype.kind == "f":
        return Column(name, "integer", 0, 1, 1.0)
    if as_dummy(values) is None:
        raise ValueError(
            f"one_hot= names column {name!r} in the group {group!r}; expected a column of 0 and 1 "
            f"or of booleans, got values such as {list(values[:5])}."
        )
    column = Column(name, "categorical", 0, 1, 1.0)
    column.levels = np.array([False, True], dtype=object)  # codes are 0 and 1 as well
    if values.dtype.kind == "O":
        column.nan_is_missing = seen.nan_is_missing
    return column


def _attribute(
    name: Any,
    places: list[int],
    fields: list[Column],
    has_none: Callable[[Group], bool],
    wanted: Any,
    any_missing: bool,
) -> tuple[Column, Group]:
    """A group as one categorical attribute; missing is one of its values, or those are given."""
    members = [fields[place].name for place in places]
    group = Group(name, places, members)
    if wanted is None:
        n_domain = len(places) + int(has_none(group))
    else:
        n_domain = _restrict(group, wanted)
    column = Column(name, "categorical", 0, n_domain - 1, 1.0)
    n_levels = n_domain if wanted is None else len(group.order)
    levels = [group.categories[state] for state in group.order[:n_levels]]
    if wanted is None and any_missing:
        levels.append(None)
        column.top, column.high = column.high, float(n_domain)
        column.missing = n_domain
    column.levels = np.empty(len(levels), dtype=object)
    column.levels[:] = levels
    return column, group


def _restrict(group: Group, wanted: Any) -> int:
    """Let the categories that a user lists be the domain, in their order; how many they are."""
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
