"""What draws the settings that are tried: at random, by halving, or by Optuna."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler

from skfairtest._typing import Bools, Floats
from skfairtest.inspection._front import not_dominated

Params = dict[str, Any]
#: Of the candidates that halving looks at, one in so many goes on, with so many times the rows.
FACTOR = 3
#: Rows that a rung of halving trains on at least.
LEAST_ROWS = 200
#: Settings that Optuna proposes at a time; not as many as there are workers, of which no result
#: depends.
AT_ONCE = 5


class Asked(NamedTuple):
    """Settings to try, on a share of the rows that are trained on."""

    params: list[Params]
    share: float = 1.0


class Sampler(Protocol):
    """Proposes settings, and hears how good the last ones were."""

    def ask(self, values: Floats | None, /) -> Asked | None:
        """Return what to try next, or None at the end.

        `values` are scores and gains of what was proposed last, one row each, NaN where it failed;
        None at first.
        """


def make_sampler(
    given: Any, distributions: list[Params], n_iter: int, n_rows: int, seed: int
) -> Sampler:
    """The sampler that is meant.

    Raises
    ------
    TypeError, ValueError
        For what is no sampler, and distributions that it cannot draw from.
    """
    if given is None or (isinstance(given, str) and given == "halving"):
        return _Rungs(_drawn(distributions, n_iter, seed), 0 if given is None else n_rows)
    if hasattr(given, "sample_relative") and hasattr(given, "sample_independent"):
        return _ByOptuna(given, distributions, n_iter)
    raise TypeError(
        "sampler must be None (at random), 'halving', or a sampler of Optuna such as "
        f"optuna.samplers.NSGAIISampler(seed=0); got {given!r}."
    )


def _drawn(distributions: list[Params], n_iter: int, seed: int) -> list[Params]:
    lists = all(not hasattr(v, "rvs") for one in distributions for v in one.values())
    if lists:  # there may be fewer than were asked for, which ParameterSampler warns of
        n_iter = min(n_iter, len(ParameterGrid(distributions)))
    return list(ParameterSampler(distributions, n_iter, random_state=seed))


class _Rungs:
    """Looks at all on few rows, and at the better third of them on three times as many.

    Better are those that fewer others beat in both score and gain: fronts are peeled off. With no
    rows to divide it looks at all of them on all rows.

    References
    ----------
    .. [1] Jamieson, K., & Talwalkar, A. (2016). Non-stochastic best arm identification and
       hyperparameter optimization. AISTATS, 240-248.
    """

    def __init__(self, params: list[Params], n_rows: int) -> None:
        self._params = params
        rungs = int(np.floor(np.log(max(1.0, n_rows / LEAST_ROWS)) / np.log(FACTOR)))
        while rungs and len(params) < FACTOR**rungs:
            rungs -= 1
        self._shares = [float(FACTOR) ** -k for k in range(rungs, -1, -1)]

    def ask(self, values: Floats | None) -> Asked | None:
        if values is not None and self._shares:
            order = np.lexsort((-values[:, 1], peeled(values)))
            self._params = [self._params[k] for k in order[: -(-len(order) // FACTOR)]]
        return Asked(self._params, self._shares.pop(0)) if self._shares else None


def peeled(values: Floats) -> Floats:
    """The number of the front of each row: 0 for the first, infinity for what failed."""
    number = np.full(len(values), np.inf)
    front = 0
    left: Bools = np.asarray(np.isfinite(values).all(axis=1))
    while left.any():
        places = np.flatnonzero(left)
        best = places[not_dominated(values[places])]
        number[best], left[best] = front, False
        front += 1
    return number


class _ByOptuna:
    """Lets Optuna maximize score and gain together.

    References
    ----------
    .. [1] Akiba, T., Sano, S., Yanase, T., Ohta, T., & Koyama, M. (2019). Optuna: A
       next-generation hyperparameter optimization framework. KDD, 2623-2631.
    """

    def __init__(self, sampler: Any, distributions: list[Params], n_iter: int) -> None:
        import optuna

        if len(distributions) != 1:
            raise ValueError(
                f"Optuna draws from one dict of distributions; candidates has {len(distributions)}."
            )
        shown = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._study = optuna.create_study(directions=["maximize"] * 2, sampler=sampler)
        optuna.logging.set_verbosity(shown)
        self._space = {name: _of_optuna(name, one) for name, one in distributions[0].items()}
        self._left = n_iter
        self._trials: list[Any] = []
        self._lists = {k: v for k, v in distributions[0].items() if isinstance(v, Sequence)}

    def ask(self, values: Floats | None) -> Asked | None:
        import optuna

        for trial, value in zip(self._trials, [] if values is None else values, strict=True):
            if np.isfinite(value).all():
                self._study.tell(trial, value.tolist())
            else:
                self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        n = min(AT_ONCE, self._left)
        self._left -= n
        self._trials = [self._study.ask(self._space) for _ in range(n)]
        return Asked([self._params(trial) for trial in self._trials]) if n else None

    def _params(self, trial: Any) -> Params:
        """Settings of a trial; of lists it knows the places."""
        return {
            name: self._lists[name][value] if name in self._lists else value
            for name, value in trial.params.items()
        }


def _of_optuna(name: str, given: Any) -> Any:
    """A distribution of Optuna for one that scikit-learn's searches take."""
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if isinstance(given, BaseDistribution):
        return given
    if isinstance(given, Sequence):
        return CategoricalDistribution(list(range(len(given))))
    kind = getattr(getattr(given, "dist", None), "name", "")
    low, high = given.support() if hasattr(given, "support") else (np.nan, np.nan)
    if kind == "randint":
        return IntDistribution(int(low), int(high))
    if kind in ("uniform", "loguniform", "reciprocal"):
        return FloatDistribution(float(low), float(high), log=kind != "uniform")
    raise ValueError(
        f"Optuna cannot draw {name!r} from {given!r}. Give a list, scipy.stats.uniform, loguniform "
        "or randint, or a distribution of optuna.distributions."
    )
