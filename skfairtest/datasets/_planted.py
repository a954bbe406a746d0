"""Generators of data with a planted bias of exactly known degree."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from ._known import KnownClassifier, KnownRegressor
from ._response import (
    BOUNDS,
    INTEGERS,
    JOBS,
    MAX_PROBABILITY_DEGREE,
    REGIONS,
    check_degree,
    check_variant,
    feature_names,
    peak,
    sensitive_column,
    sensitive_values,
)


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    is_seed = isinstance(random_state, Integral) and int(random_state) >= 0
    if random_state is None or is_seed:
        return np.random.default_rng(random_state)
    msg = (
        "random_state must be None, an integer of at least 0, a numpy RandomState or a numpy"
        f" Generator, got {random_state!r}: pass an integer for reproducible data."
    )
    raise ValueError(msg)


def _domains(variant: str) -> dict[str, tuple[Any, ...]]:
    """Return what must occur in each column: its categories, or its two bounds."""
    bounds: dict[str, tuple[Any, ...]] = {name: BOUNDS[name] for name in BOUNDS}
    categories = {
        sensitive_column(variant): sensitive_values(variant)[0],
        "job": JOBS,
        "region": REGIONS,
        "owner": (False, True),
    }
    known = bounds | categories
    return {name: known[name] for name in feature_names(variant)}


def _check_n_samples(n_samples: Any, variant: str, minimum: int) -> int:
    is_integer = isinstance(n_samples, Integral) and not isinstance(n_samples, bool)
    if not is_integer or n_samples < minimum:
        msg = (
            f"n_samples must be an integer of at least {minimum} for variant {variant!r}, got"
            f" {n_samples!r}: with fewer rows not every category can occur, and the degree would"
            " not be exact over the domain seen in the data."
        )
        raise ValueError(msg)
    return int(n_samples)


def _draw(n_samples: Any, variant: str, rng: np.random.Generator) -> pd.DataFrame:
    domains = _domains(variant)
    n_rows = _check_n_samples(n_samples, variant, max(map(len, domains.values())))
    columns: dict[str, Any] = {}
    for name, domain in domains.items():
        values: Any
        if name in INTEGERS:
            values = rng.integers(int(domain[0]), int(domain[1]), size=n_rows, endpoint=True)
        elif name in BOUNDS:
            values = rng.uniform(domain[0], domain[1], size=n_rows)
        else:
            # Objects, so that strings become what the installed pandas makes of strings.
            pool = np.array(domain, dtype=bool if name == "owner" else object)
            values = pool[rng.integers(len(pool), size=n_rows)]
        # Auditors read the domain off the data: both bounds and every category have to be there.
        values[rng.permutation(n_rows)[: len(domain)]] = domain
        columns[name] = values
    return pd.DataFrame(columns)


def _worst_case(variant: str, data: pd.DataFrame) -> pd.DataFrame:
    levels, weights = sensitive_values(variant)
    name = sensitive_column(variant)
    pair = [levels[int(np.argmin(weights))], levels[int(np.argmax(weights))]]
    rows = [{name: value, **peak(variant)} for value in pair]
    return pd.DataFrame(rows, columns=list(data.columns)).astype(data.dtypes.to_dict())


_PLACES = {
    "smooth": "The effect of `sex` is a smooth bump in `income`, `hours` and `job`.",
    "narrow": (
        "The effect of `sex` grows with the number of six conditions that hold; all six hold in"
        " about one millionth of the domain."
    ),
    "many-valued": (
        "The effect of `country_of_birth`, of 293 values, is a smooth bump in `income`, `hours`"
        " and `job`; few pairs of countries are far apart."
    ),
}


def _bunch(variant: str, data: pd.DataFrame, target: pd.Series, estimator: Any, unit: str) -> Bunch:
    degree = float(estimator.degree)
    return Bunch(
        data=data,
        target=target,
        feature_names=list(data.columns),
        sensitive_features=[sensitive_column(variant)],
        fairness_degree=degree,
        worst_case=_worst_case(variant, data),
        estimator=estimator.fit(data, target),
        DESCR=(
            f"Synthetic data with a planted bias, variant {variant!r}.\n\n{_PLACES[variant]} The"
            f" largest difference that the sensitive column alone makes to the response of"
            f" `estimator` is exactly {degree!r} {unit}; the two rows of `worst_case` attain it."
            " The people are invented, and the direction and size of the effect say nothing"
            " about any real group.\n"
        ),
    )


def make_biased_regression(
    n_samples: int = 1000,
    *,
    variant: str = "smooth",
    degree: float = 10.0,
    noise: float = 1.0,
    random_state: Any = None,
) -> Bunch:
    """Generate a regression problem with a planted bias of exactly known degree.

    The response is ``f(x, s) = base(x) + degree * g(s) * e(x)`` with the sensitive column ``s``
    and the other columns ``x``. As ``g`` and ``e`` lie in [0, 1] and attain 0 and 1, the
    largest difference between two inputs that are equal but for ``s`` is `degree`, over the
    domain that the returned data span. The target adds Gaussian noise. All columns are drawn
    uniformly and independently.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows: at least 10, and at least 293 for "many-valued", so that every category
        and both bounds of every numeric column occur.
    variant : {"smooth", "narrow", "many-valued"}, default="smooth"
        Where the effect lies:

        - "smooth": ``e`` is a smooth bump in `income` and `hours`, scaled by `job`.
        - "narrow": ``e = (held / 6) ** 3``, where `held` counts which of six conditions hold,
          each true on about a tenth of its column. The full effect is confined to about one
          millionth of the domain, with a slope of steps towards it.
        - "many-valued": like "smooth", but the sensitive column is `country_of_birth` with 293
          values, few pairs of which are far apart.
    degree : float, default=10.0
        Exact fairness degree, in units of the target. Positive and finite.
    noise : float, default=1.0
        Standard deviation of the noise on the target, in units of the target.
    random_state : None, int, numpy RandomState or numpy Generator, default=None
        Source of randomness; pass an int for the same data at every call.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        With the attributes:

        - data : pandas DataFrame of shape (n_samples, 9), columns of strings, booleans,
          integers and floats
        - target : pandas Series of shape (n_samples,), floats
        - feature_names : list of the 9 column names
        - sensitive_features : list of the one sensitive column's name
        - fairness_degree : float, the exact degree
        - worst_case : pandas DataFrame of shape (2, 9), two rows that are equal but for the
          sensitive column and attain the degree, the lower prediction first
        - estimator : a regressor that is the noiseless response, ready to predict
        - DESCR : str, a description

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    make_biased_classification : Generates a classification problem.

    References
    ----------
    .. [1] S. Galhotra, Y. Brun and A. Meliou, "Fairness testing: testing software for
       discrimination", ESEC/FSE 2017.

    Examples
    --------
    >>> from skfairtest.datasets import make_biased_regression
    >>> bunch = make_biased_regression(200, degree=5.0, random_state=0)
    >>> bunch.data.shape, bunch.sensitive_features, bunch.fairness_degree
    ((200, 9), ['sex'], 5.0)
    >>> low, high = bunch.estimator.predict(bunch.worst_case)
    >>> round(float(high - low), 9)
    5.0
    """
    variant, degree = check_variant(variant), check_degree(degree)
    if not isinstance(noise, Real) or not np.isfinite(noise) or noise < 0:
        msg = f"noise must be a finite number of at least 0, got {noise!r}: use 0 for none."
        raise ValueError(msg)
    rng = _generator(random_state)
    data = _draw(n_samples, variant, rng)
    estimator = KnownRegressor(variant=variant, degree=degree)
    values = estimator.predict(data) + float(noise) * rng.standard_normal(len(data))
    target = pd.Series(values, name="target")
    return _bunch(variant, data, target, estimator, "units of the target")


def make_biased_classification(
    n_samples: int = 1000,
    *,
    variant: str = "smooth",
    degree: float = 0.6,
    random_state: Any = None,
) -> Bunch:
    """Generate a classification problem with a planted bias of exactly known degree.

    The probability of "yes" is ``0.15 + 0.1 * h(x) + degree * g(s) * e(x)`` with the sensitive
    column ``s`` and the other columns ``x``. As ``h``, ``g`` and ``e`` lie in [0, 1] and ``g``
    and ``e`` attain 0 and 1, the largest difference of a class probability between two
    inputs that are equal but for ``s`` is `degree`, over the domain that the returned data
    span. The target is drawn from these probabilities. All columns are drawn uniformly and
    independently.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows: at least 10, and at least 293 for "many-valued", so that every category
        and both bounds of every numeric column occur.
    variant : {"smooth", "narrow", "many-valued"}, default="smooth"
        Where the effect lies, see `make_biased_regression`.
    degree : float, default=0.6
        Exact fairness degree, a difference of probabilities in (0, 0.7].
    random_state : None, int, numpy RandomState or numpy Generator, default=None
        Source of randomness; pass an int for the same data at every call.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        With the attributes that `make_biased_regression` lists, but for these:

        - target : pandas Series of shape (n_samples,), the strings "no" and "yes"
        - worst_case : the lower probability of "yes" first
        - estimator : a classifier with these probabilities, ready to predict

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    make_biased_regression : Generates a regression problem.

    Examples
    --------
    >>> from skfairtest.datasets import make_biased_classification
    >>> bunch = make_biased_classification(300, variant="many-valued", random_state=0)
    >>> bunch.data["country_of_birth"].nunique(), bunch.fairness_degree
    (293, 0.6)
    >>> bunch.estimator.predict(bunch.worst_case).tolist()
    ['no', 'yes']
    """
    variant = check_variant(variant)
    degree = check_degree(degree, MAX_PROBABILITY_DEGREE)
    rng = _generator(random_state)
    data = _draw(n_samples, variant, rng)
    estimator = KnownClassifier(variant=variant, degree=degree)
    positive = rng.random(len(data)) < estimator.predict_proba(data)[:, 1]
    labels = estimator.classes_.astype(object)[positive.astype(np.intp)]
    target = pd.Series(labels, name="target").infer_objects()
    return _bunch(variant, data, target, estimator, "in probability")
