"""Generators of data in which a group moves its proxies, with counterfactuals that are known."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Bunch

from ._planted import _generator
from ._response import NeedsNoFit, _codes, _numbers

__all__ = ["make_proxy_classification", "make_proxy_regression"]

_Columns = dict[str, NDArray[Any]]

_GROUP = "group"
_FEWEST_ROWS = 20
_REGIONS = ("north", "south", "east")
_DISTRICTS = ("Hill", "Station", "River")
_LEVELS = {"region": _REGIONS, "district": _DISTRICTS}
_RESOLVING = ("hours",)
#: Depends on the group, but the score does not use it: it moves, and that changes no prediction.
_UNUSED = "distance"

#: What moves from group "a" (0) to group "b" (1); "c" is moved the other way.
_STRENGTHS = {"a": 0.0, "b": 1.0, "c": -0.6}
_SHARES = {2: {"a": 0.6, "b": 0.4}, 3: {"a": 0.5, "b": 0.3, "c": 0.2}}
_SHIFTS = {
    "hours": -3.0, "district": -1.2, "rating": -8.0, "income": -0.25, "late_payments": 0.3,
    "distance": 0.5,
}  # fmt: skip


class _Variant(NamedTuple):
    """What is special about a variant: its columns, and how often its shifts count."""

    about: str
    times: Mapping[str, float]
    n_groups: int = 2
    reverses: bool = False


_ALL = dict.fromkeys(("hours", "rating", "income", "late_payments", "distance"), 1.0)
_VARIANTS = {
    "monotone": _Variant("Every column grows with its noise in both groups.", _ALL),
    "no path": _Variant("Nothing depends on the group.", {}),
    "resolving": _Variant("The group moves the resolving column `hours` alone.", {"hours": 1.0}),
    "non-monotone": _Variant(
        "The ranks of `rating` are reversed from group to group.", _ALL, reverses=True
    ),
    "category": _Variant(
        "The group moves people between the categories of `district`.", _ALL | {"district": 1.0}
    ),
    "three groups": _Variant("There are three groups.", _ALL, n_groups=3),
    "thin overlap": _Variant(
        "`rating` and `income` hardly overlap between the groups.",
        _ALL | {"rating": 5.0, "income": 5.0},
    ),
}


def _graph(variant: str) -> dict[str, list[str]]:
    """Return the columns in their causal order, each with its parents."""
    parents = {
        "age": [],
        "region": [],
        "hours": ["age"],
        "district": ["age"],
        "rating": ["age"],
        # Nothing but the score is to depend on `hours`, where it is all that the group moves.
        "income": ["region", "rating"] if variant == "resolving" else ["region", "hours", "rating"],
        "late_payments": ["income"],
        "distance": ["region"],
    }
    times = _VARIANTS[variant].times
    if "district" not in times:
        del parents["district"]
    return {
        name: [_GROUP, *others] if name in times else others for name, others in parents.items()
    }


def _roles(graph: dict[str, list[str]]) -> dict[str, list[str]]:
    """Sort the columns by whether they descend from the group, and by what they are for."""
    moved = {_GROUP}
    for name, parents in graph.items():
        moved |= {name} if moved.intersection(parents) else set()
    proxies = [name for name in graph if name in moved and name not in _RESOLVING]
    return {
        "confounders": [name for name in graph if name not in moved],
        "resolving": [name for name in _RESOLVING if name in moved],
        "mediators": [name for name in proxies if name != _UNUSED],
        "proxies": proxies,
    }


def _solve(
    variant: str, strengths: _Columns, noise: _Columns, kept: Mapping[str, Any] | None = None
) -> _Columns:
    """Solve the equations in the causal order.

    `strengths` has the strength of the group that each column sees, so that a column can see
    another group than the next; `kept` has columns that keep their values.
    """
    times, reverses = _VARIANTS[variant].times, _VARIANTS[variant].reverses
    values: _Columns = {}
    for name, parents in _graph(variant).items():
        if kept and name in kept:
            values[name] = kept[name]
            continue
        u, g = noise[name], strengths[name] * (name in times)
        shift = _SHIFTS.get(name, 0.0) * times.get(name, 0.0) * g
        if name == "age":
            values[name] = np.floor(20.0 + 45.0 * u).astype(np.int64)
            z = (values["age"] - 42.0) / 13.0
        elif name == "region":
            values[name] = np.searchsorted([0.5, 0.8], u, side="right")
        elif name == "hours":
            values[name] = 36.0 + 2.0 * z + shift + 4.0 * (1.0 - 0.2 * g) * u
        elif name == "district":
            # One border moves: nobody changes the district that the shares do not force to.
            border = 0.8 / (1.0 + np.exp(-(0.5 + 0.3 * z + shift)))
            values[name] = (u >= border).astype(np.int64) + (u >= 0.8)
        elif name == "rating":
            sign = np.where(g == 1.0, -1.0, 1.0) if reverses else 1.0
            values[name] = 60.0 + 4.0 * z + shift + 10.0 * (1.0 - 0.2 * g) * sign * u
        elif name == "income":
            hours = values["hours"] - 36.0 if "hours" in parents else 0.0
            log = 3.0 + 0.03 * hours + 0.015 * (values["rating"] - 60.0)
            values[name] = np.exp(log + 0.1 * values["region"] + shift + 0.35 * u)
        elif name == "late_payments":
            log = 0.6 - 0.4 * (np.log(values["income"]) - 3.0) + shift + 0.7 * u
            values[name] = np.floor(np.exp(log)).astype(np.int64)
        else:
            values[name] = np.exp(1.0 + 0.2 * values["region"] + shift + 0.5 * u)
    return values


def _score(values: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return the score of rows whose categories are codes."""
    hours = values["hours"] - 36.0
    income = np.log1p(values["income"]) - 3.0
    score = 0.2 + 0.3 * (values["age"] - 42.0) / 13.0 + 0.2 * values["region"]
    score += 0.05 * hours + 0.04 * (values["rating"] - 60.0) + (1.2 + 0.03 * hours) * income
    score -= 0.2 * np.minimum(values["late_payments"], 8)
    if "district" in values:
        score += np.array([0.6, 0.0, -0.3])[values["district"]]
    return np.asarray(score, dtype=np.float64)


class _Scorer(NeedsNoFit):
    """The score, as an estimator that takes all columns but the group and `distance`."""

    variant: str

    def __init__(self, variant: str = "monotone") -> None:
        self.variant = variant

    def fit(self, X: Any, y: Any = None) -> Any:
        """Record the columns but the group, which is not looked at; nothing is learnt."""
        self._scores(X)
        self.feature_names_in_ = np.asarray(list(_graph(self.variant)), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def _scores(self, X: Any) -> NDArray[np.float64]:
        names = [name for name in _graph(self.variant) if name != _UNUSED]
        return _score(
            {
                name: _codes(X, name, _LEVELS[name]) if name in _LEVELS else _numbers(X, name)
                for name in names
            }
        )


class _ScoreRegressor(RegressorMixin, _Scorer):
    """Predicts the score."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the score."""
        return self._scores(X)


class _ScoreClassifier(ClassifierMixin, _Scorer):
    """Predicts "yes" where the score is above 0; the score is the log-odds of "yes"."""

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The two labels, in the order of the columns of `predict_proba`."""
        return np.array(["no", "yes"])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score."""
        return self._scores(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the known probabilities of "no" and "yes"."""
        positive = 1.0 / (1.0 + np.exp(-self._scores(X)))
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: Any) -> NDArray[np.str_]:
        """Return the more probable label."""
        return self.classes_[(self._scores(X) > 0.0).astype(np.intp)]


def _frame(values: _Columns, groups: Any, names: list[str]) -> pd.DataFrame:
    columns: dict[str, Any] = {_GROUP: pd.Categorical(groups, categories=names)}
    for name, column in values.items():
        columns[name] = column
        if name in _LEVELS:
            levels = np.array(_LEVELS[name], dtype=object)
            columns[name] = pd.Categorical(levels[column], categories=levels)
    return pd.DataFrame(columns)


def _path_effects(
    variant: str, groups: NDArray[Any], noise: _Columns, row: _Columns, direct: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Switch what one column after the other sees, or is, and average how the score changes."""
    order = list(_graph(variant))
    by_path: dict[tuple[str, str], list[float]] = {}
    by_column: dict[tuple[str, str], list[float]] = {}
    for start, end in permutations(_SHARES[_VARIANTS[variant].n_groups], 2):
        mine = groups == start
        own, u = ({n: v[mine] for n, v in table.items()} for table in (row, noise))
        ends = (np.full(mine.sum(), _STRENGTHS[name]) for name in (start, end))
        here, there = ends
        moved = _solve(variant, dict.fromkeys(order, there), u)
        paths, columns = [_score(own).mean()], [_score(own).mean()]
        for i in range(1, len(order) + 1):
            sees = {name: there if name in order[:i] else here for name in order}
            paths.append(_score(_solve(variant, sees, u)).mean())
            mixed = {name: (moved if name in order[:i] else own)[name] for name in order}
            columns.append(_score(mixed).mean())
        jump = direct * (_STRENGTHS[end] - _STRENGTHS[start]) if direct else 0.0
        for table, means in ((by_path, paths), (by_column, columns)):
            table[start, end] = [*np.diff(means), jump, means[-1] - means[0] + jump]
    labels = [*order, "direct", "total"]
    frames = [
        pd.DataFrame.from_dict(table, orient="index", columns=labels)
        for table in (by_path, by_column)
    ]
    for frame in frames:
        frame.index = pd.MultiIndex.from_tuples(by_path, names=["from", "to"])
    return frames[0], frames[1]


def _flips(estimator: Any, data: pd.DataFrame, moved: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the shares of a group's rows whose prediction rises and falls in another group."""
    rows = {}
    for start, end in permutations(moved, 2):
        mine = data[_GROUP] == start
        before, after = (estimator.predict(table[mine]) for table in (data, moved[end]))
        rows[start, end] = [np.mean(after > before), np.mean(after < before)]
    flips = pd.DataFrame.from_dict(rows, orient="index", columns=["up", "down"])
    flips.index = pd.MultiIndex.from_tuples(rows, names=["from", "to"])
    return flips


def _checked(n_samples: Any, variant: Any, direct: Any, noise: Any) -> tuple[int, float, float]:
    if not isinstance(variant, str) or variant not in _VARIANTS:
        msg = f"variant must be one of {list(_VARIANTS)}, got {variant!r}: choose one of these."
        raise ValueError(msg)
    is_integer = isinstance(n_samples, Integral) and not isinstance(n_samples, bool)
    if not is_integer or n_samples < _FEWEST_ROWS:
        msg = (
            f"n_samples must be an integer of at least {_FEWEST_ROWS}, got {n_samples!r}: with"
            " fewer rows a group has too few to be moved."
        )
        raise ValueError(msg)
    for name, value, least in (("direct", direct, -np.inf), ("noise", noise, 0.0)):
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not np.isfinite(value) or value < least:
            at_least = "" if np.isinf(least) else f" of at least {least:g}"
            msg = f"{name} must be a finite number{at_least}, got {value!r}: use 0 for none."
            raise ValueError(msg)
    return int(n_samples), float(direct), float(noise)


def _in_each_group(
    variant: str, names: list[str], draws: _Columns, kept: Mapping[str, Any]
) -> dict[str, pd.DataFrame]:
    """Return all rows as they would be in each group, but for the values that are kept."""
    found = {}
    for name in names:
        strengths = {column: np.full(len(u), _STRENGTHS[name]) for column, u in draws.items()}
        values = _solve(variant, strengths, draws, kept)
        found[name] = _frame(values, [name] * len(draws["age"]), names)
    return found


def _make(
    n_samples: Any, variant: Any, direct: Any, noise: Any, random_state: Any, *, classify: bool
) -> Bunch:
    n_rows, direct, noise = _checked(n_samples, variant, direct, noise)
    direct = 0.0 if variant == "no path" else direct
    rng = _generator(random_state)
    graph, shares = _graph(variant), _SHARES[_VARIANTS[variant].n_groups]
    names, order = list(shares), list(graph)
    # The sizes of the groups are fixed, so that none can be empty.
    places = np.searchsorted(np.cumsum(list(shares.values())), (np.arange(n_rows) + 0.5) / n_rows)
    groups = rng.permutation(np.array(names, dtype=object)[places])
    uniform = {"age", "region", "district"}
    draws = {
        name: (rng.random if name in uniform else rng.standard_normal)(n_rows) for name in order
    }

    own = np.array([_STRENGTHS[name] for name in groups])
    row = _solve(variant, dict.fromkeys(order, own), draws)
    data = _frame(row, groups, names)
    moved = _in_each_group(variant, names, draws, {})
    resolved = _in_each_group(variant, names, draws, {name: row[name] for name in _RESOLVING})

    estimator = (_ScoreClassifier if classify else _ScoreRegressor)(variant).fit(data)
    score = _score(row) + direct * own
    values: Any
    if classify:
        values = np.where(rng.random(n_rows) < 1.0 / (1.0 + np.exp(-score)), "yes", "no")
    else:
        values = score + noise * rng.standard_normal(n_rows)
    by_path, by_column = _path_effects(variant, groups, draws, row, direct)
    return Bunch(
        data=data,
        target=pd.Series(values.astype(object), name="target").infer_objects(),
        feature_names=list(data.columns),
        sensitive_features=[_GROUP],
        sensitive=data[_GROUP],
        order=order,
        graph=graph,
        **_roles(graph),
        estimator=estimator,
        counterfactuals=moved,
        counterfactuals_resolved=resolved,
        path_effects=by_path,
        column_effects=by_column,
        flips=_flips(estimator, data, moved),
        DESCR=(
            f"Synthetic data of a structural causal model, variant {variant!r}.\n\n"
            f"{_VARIANTS[variant].about} The equations and the noise of each row are known, and so"
            " is what each row would be in another group. The people are invented, and say nothing"
            " about any real group.\n"
        ),
    )


def make_proxy_regression(
    n_samples: int = 1000,
    *,
    variant: str = "monotone",
    direct: float = 0.0,
    noise: float = 0.5,
    random_state: Any = None,
) -> Bunch:
    """Generate a regression problem in which a group moves its proxies, as is exactly known.

    A structural causal model begins at the sensitive column `group`. As its equations and the
    noise of each row are known, so are the row's true counterfactuals, and the effect of the
    group on the score along each path. `estimator` predicts the score and does not see `group`:
    all that differs between the groups comes from columns that depend on it.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows, at least 20. 60% are of group "a" and 40% of "b"; for "three groups",
        50%, 30% and 20% are of "a", "b" and "c".
    variant : str, default="monotone"
        What the group moves:

        - "monotone": `hours`, `rating`, `income`, `late_payments` and `distance`. Given its
          parents and the group, every column grows with its noise (a count never falls).
        - "no path": nothing.
        - "resolving": `hours` alone, and no other column depends on `hours`.
        - "non-monotone": like "monotone", but the noise of `rating` has the opposite sign in
          group "b", so that a map which keeps ranks is wrong.
        - "category": like "monotone", with a further mediator `district`, a category.
        - "three groups": like "monotone", with a third group, which is moved the other way.
        - "thin overlap": like "monotone", but `rating` and `income` are moved five times as far,
          so that hardly any row of a group has values of the other.
    direct : float, default=0.0
        Effect of the group on the target past all columns, in units of the score: added in group
        "b", and -0.6 times as much in "c". The estimator does not have it. Nothing is added for
        "no path".
    noise : float, default=0.5
        Standard deviation of the noise on the target, in units of the target.
    random_state : None, int, numpy RandomState or numpy Generator, default=None
        Source of randomness; pass an int for the same data at every call.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        With the attributes:

        - data : pandas DataFrame of shape (n_samples, 8), or (n_samples, 9) for "category":
          `group` and the columns of `order`. ``data[order]`` leaves `group` out, and `estimator`
          takes both tables.
        - target : pandas Series of shape (n_samples,), floats
        - feature_names : list of the column names of `data`
        - sensitive_features : ["group"]
        - sensitive : pandas Series of shape (n_samples,), the group of each row
        - order : list of the columns but `group`, each after its parents
        - graph : dict from each column of `order` to the list of its parents, among them "group"
        - confounders : list of the columns that do not depend on the group
        - resolving : list of the columns that depend on the group in a way that is taken to be
          acceptable: `hours`, if it depends on the group
        - proxies : list of the other columns that depend on the group
        - mediators : list of the proxies that the score uses: all but `distance`
        - estimator : a regressor that predicts the score, ready to predict
        - counterfactuals : dict from each group to a pandas DataFrame like `data`: every row as it
          would be in that group, with its own noise. In its own group it is the row itself.
        - counterfactuals_resolved : the same, but the resolving columns keep their values, and so
          does what they alone would have moved
        - path_effects, column_effects : pandas DataFrames, see the notes
        - flips : pandas DataFrame, indexed by "from" and "to": the shares, in [0, 1], of the rows
          of a group whose prediction is higher ("up") and lower ("down") in the other group
        - DESCR : str, a description

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    make_proxy_classification : Generates a classification problem.
    make_biased_regression : Generates data with a bias that needs no proxy.

    Notes
    -----
    With ``g = 0`` in group "a", 1 in "b" and -0.6 in "c", ``z = (age - 42) / 13``, ``r`` = 0, 1,
    2 for the regions "north", "south" and "east" (50%, 30%, 20%) and a standard normal ``u`` of
    each column, the equations of "monotone" are:

    - ``age``: uniform on the integers from 20 to 64
    - ``hours = 36 + 2 z - 3 g + 4 (1 - 0.2 g) u``
    - ``rating = 60 + 4 z - 8 g + 10 (1 - 0.2 g) u``
    - ``log(income) = 3 + 0.03 (hours - 36) + 0.015 (rating - 60) + 0.1 r - 0.25 g + 0.35 u``
    - ``late_payments = floor(exp(0.6 - 0.4 (log(income) - 3) + 0.3 g + 0.7 u))``
    - ``log(distance) = 1 + 0.2 r + 0.5 g + 0.5 u``
    - ``score = 0.2 + 0.3 z + 0.2 r + 0.05 (hours - 36) + 0.04 (rating - 60) + (1.2 + 0.03
      (hours - 36)) (log(1 + income) - 3) - 0.2 min(late_payments, 8)``

    In "category", with a uniform ``u``, `district` is "Hill" (0.6 is added to the score) below
    ``0.8 / (1 + exp(-(0.5 + 0.3 z - 1.2 g)))``, "River" (-0.3) from 0.8 on, else "Station".

    Both tables of effects have a row for each pair of groups, indexed by "from" and "to", and a
    column for each one of `order`, for "direct" and for the "total". They hold mean changes of
    the score over the rows of the group "from" as these are moved to "to" in steps, one for each
    column along `order`, so that the steps and "direct" sum to the "total":

    - `path_effects`: a step lets one column more see the group "to", and all columns are
      computed anew from their parents. It is the effect of the paths that leave the group
      by the arrow to this column.
    - `column_effects`: a step replaces the value of one column more by its counterfactual. It is
      the effect of the paths that reach the score by the arrow from this column.

    References
    ----------
    .. [1] J. Pearl, "Direct and indirect effects", UAI 2001.
    .. [2] N. Kilbertus, M. Rojas-Carulla, G. Parascandolo, M. Hardt, D. Janzing and B. Schölkopf,
       "Avoiding discrimination through causal reasoning", NeurIPS 2017.
    .. [3] M. J. Kusner, J. Loftus, C. Russell and R. Silva, "Counterfactual fairness", NeurIPS
       2017.

    Examples
    --------
    >>> from skfairtest.datasets import make_proxy_regression
    >>> bunch = make_proxy_regression(500, variant="resolving", random_state=0)
    >>> bunch.graph["hours"], bunch.resolving, bunch.proxies
    (['group', 'age'], ['hours'], [])
    >>> moved = bunch.counterfactuals["b"]
    >>> [name for name in bunch.order if not moved[name].equals(bunch.data[name])]
    ['hours']
    >>> effects = bunch.path_effects.loc[("a", "b")]
    >>> bool(effects["hours"] < 0), bool(effects["hours"] == effects["total"])
    (True, True)
    """
    return _make(n_samples, variant, direct, noise, random_state, classify=False)


def make_proxy_classification(
    n_samples: int = 1000,
    *,
    variant: str = "monotone",
    direct: float = 0.0,
    random_state: Any = None,
) -> Bunch:
    """Generate a classification problem in which a group moves its proxies, as is exactly known.

    The columns are those of `make_proxy_regression`, and the score is the log-odds of "yes", from
    which the target is drawn. `estimator` does not see the column `group`, and predicts "yes" if
    the score is above 0.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows, at least 20. 60% are of group "a" and 40% of "b"; for "three groups",
        50%, 30% and 20% are of "a", "b" and "c".
    variant : str, default="monotone"
        What the group moves: "monotone", "no path", "resolving", "non-monotone", "category",
        "three groups" or "thin overlap", see `make_proxy_regression`.
    direct : float, default=0.0
        Effect of the group on the target past all columns, in log-odds: added in group "b", and
        -0.6 times as much in "c". The estimator does not have it. Nothing is added for "no path".
    random_state : None, int, numpy RandomState or numpy Generator, default=None
        Source of randomness; pass an int for the same data at every call.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        With the attributes that `make_proxy_regression` lists, but for these:

        - target : pandas Series of shape (n_samples,), the strings "no" and "yes"
        - estimator : a classifier whose log-odds are the score, ready to predict
        - flips : pandas DataFrame, indexed by "from" and "to": the shares, in [0, 1], of the rows
          of a group whose label becomes "yes" ("up") and "no" ("down") in the other group
        - path_effects, column_effects : mean changes of the score, in log-odds

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    make_proxy_regression : Generates a regression problem, and states the equations.
    make_biased_classification : Generates data with a bias that needs no proxy.

    References
    ----------
    .. [1] E. Black, S. Yeom and M. Fredrikson, "FlipTest: fairness testing via optimal
       transport", FAT* 2020.

    Examples
    --------
    >>> from skfairtest.datasets import make_proxy_classification
    >>> bunch = make_proxy_classification(500, random_state=0)
    >>> bunch.mediators, bunch.resolving, bunch.confounders
    (['rating', 'income', 'late_payments'], ['hours'], ['age', 'region'])
    >>> moved = bunch.counterfactuals["b"]
    >>> of_a = bunch.sensitive == "a"
    >>> before, after = (bunch.estimator.predict(X[of_a]) for X in (bunch.data, moved))
    >>> lost = ((before == "yes") & (after == "no")).mean()
    >>> bool(lost == bunch.flips.loc[("a", "b"), "down"]), bool(lost > 0.1)
    (True, True)
    """
    return _make(n_samples, variant, direct, 0.0, random_state, classify=True)
