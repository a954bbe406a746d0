"""What may be an alternative: settings, other estimators, methods of mitigation, columns away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skfairtest.finding._words import shorten, value_text
from skfairtest.mitigation._comparison.methods import METHODS
from skfairtest.mitigation._held_columns import HeldColumns
from skfairtest.model_selection._alternatives.result import Kind

#: Columns of the original that are left out, one at a time.
MOST_COLUMNS = 10
COLUMNS = "columns"


class Candidate(NamedTuple):
    """Something that may be trained in place of the original."""

    name: str  # which no other has
    kind: Kind  # where it comes from
    estimator: Any  # unfitted; None where `reason` says why
    params: dict[str, Any]  # what was set in the original
    steps: tuple[str, ...] = ()  # of our own pipeline around the user's estimator
    reason: str = ""  # why it cannot be trained; else empty


class Space(NamedTuple):
    """All that is searched, in its four kinds."""

    distributions: list[dict[str, Any]]  # of parameters
    estimators: list[tuple[str, Any]]  # other models by their names
    methods: list[str]  # of mitigation
    columns: bool  # whether columns are left out

    @property
    def not_searched(self) -> list[str]:
        """What was not asked for, and could have been."""
        kinds = {
            "other settings": self.distributions, "other estimators": self.estimators,
            "methods of mitigation": self.methods, "columns left out": self.columns,
        }  # fmt: skip
        return [kind for kind, given in kinds.items() if not given]


def read_candidates(given: Any) -> Space:
    """Read `candidates` in each of its forms.

    Raises
    ------
    ValueError, TypeError
        For unknown names, and what is no candidate.
    """
    space = Space([], [], [], False)
    for one in given if isinstance(given, (list, tuple)) else [given]:
        if isinstance(one, str):
            space = _named(one, space)
        elif _is_estimator(one):
            space.estimators.append((type(one).__name__, one))
        elif isinstance(one, Mapping) and one and all(map(_is_estimator, one.values())):
            space.estimators.extend((str(name), model) for name, model in one.items())
        elif isinstance(one, Mapping) and one:
            space.distributions.append(dict(one))
        else:
            raise TypeError(
                "candidates must be distributions of parameters (a dict), unfitted estimators, "
                f"names of methods of mitigation, 'columns', or a list of these; got {one!r}."
            )
    if not (space.distributions or space.estimators or space.methods or space.columns):
        raise ValueError("candidates is empty. Give at least one, such as {'C': [0.1, 1, 10]}.")
    return space


def _named(name: str, space: Space) -> Space:
    if name == COLUMNS:
        return space._replace(columns=True)
    if name not in METHODS or name == "original":
        known = [COLUMNS, *(method for method in METHODS if method != "original")]
        raise ValueError(f"candidates has an unknown name, {name!r}. Known are {known}.")
    if name not in space.methods:
        space.methods.append(name)
    return space


def _is_estimator(one: Any) -> bool:
    return hasattr(one, "fit") and hasattr(one, "get_params") and not isinstance(one, type)


class Names:
    """Gives each candidate a name of its own."""

    def __init__(self) -> None:
        self._given: dict[str, int] = {"original": 1}

    def unique(self, name: str) -> str:
        """The name, with a number where another one has it."""
        times = self._given[name] = self._given.get(name, 0) + 1
        return name if times == 1 else self.unique(f"{name} ({times})")


def of_parameters(estimator: Any, params: Mapping[str, Any], names: Names) -> Candidate:
    """The original with other settings."""
    words = ", ".join(f"{name}={_text(value)}" for name, value in params.items())
    name = names.unique(shorten(words, 120))
    try:
        # Values that are estimators are cloned, as every search does: they would be shared.
        changed = clone(estimator).set_params(
            **{key: clone(value, safe=False) for key, value in params.items()}
        )
    except (ValueError, TypeError) as error:
        return Candidate(name, "parameters", None, dict(params), reason=str(error).split("\n")[0])
    return Candidate(name, "parameters", changed, dict(params))


def of_estimators(space: Space, names: Names) -> Iterator[Candidate]:
    """Other models."""
    for name, estimator in space.estimators:
        yield Candidate(names.unique(name), "estimator", clone(estimator), {})


def without_columns(
    estimator: Any, columns: list[tuple[str, int]], names: Names
) -> Iterator[Candidate]:
    """The original without each of some columns, which holds one and the same value."""
    for name, place in columns:
        held = Pipeline([("hold", HeldColumns([place])), ("model", clone(estimator))])
        made = names.unique(f"without {name}")
        yield Candidate(made, "columns", held, {"column": name}, ("model",))


def carrying_columns(difference: Callable[[list[int]], float], n: int) -> list[int]:
    """Columns of the table that carry most of the difference between groups, the first most.

    A column carries what is gone when all rows have one value in it.

    Parameters
    ----------
    difference : callable
        Called with columns that are held at one value; returns how far mean outputs of groups then
        differ.
    n : int
        Columns.
    """
    left = np.array([difference([column]) for column in range(n)])
    return np.argsort(left, kind="stable")[:MOST_COLUMNS].tolist()


def _text(value: Any) -> str:
    if isinstance(value, (str, int, float, np.number, bool)) or value is None:
        return value_text(value) if value is not None else "None"
    return repr(value).replace("\n", " ")
