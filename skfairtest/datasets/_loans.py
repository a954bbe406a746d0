"""A made-up table of loan applications, decided by a known rule with planted effects."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Bunch

from ._planted import _generator
from ._response import NeedsNoFit, column

#: Values of the categorical columns, with the share of the rows that have each.
_COMMUNITIES = {"Alder": 0.5, "Birch": 0.3, "Cedar": 0.2}
_PURPOSES = {"business": 0.25, "car": 0.35, "education": 0.15, "home": 0.25}
_DISTRICTS = ("Harbour", "Hill", "Millside", "Station")
#: The share of a community that lives in Millside; the others spread evenly.
_IN_MILLSIDE = {"Alder": 0.15, "Birch": 0.7, "Cedar": 0.15}
_COLUMNS = (
    "community",
    "age",
    "income",
    "savings",
    "years_employed",
    "amount",
    "purpose",
    "district",
    "open_loans",
)

#: So many points multiply the odds by e.
_POINTS_PER_E = 8.0
_DEDUCTED = {"Birch": 8.0, "corner": 24.0, "Millside": 6.0}
_FOR_PURPOSE = {"business": -4.0, "car": 0.0, "education": 2.0, "home": 6.0}
_DEGREE = float(np.tanh((_DEDUCTED["Birch"] + _DEDUCTED["corner"]) / _POINTS_PER_E / 4))

_DESCR = f"""Made-up applications for loans, decided by a known rule.

A lender of an invented country gives points for what an applicant has, and grants a loan with a
probability that rises with the points. People belong to one of three invented communities. Incomes,
savings and all other columns but `district` are distributed alike in the three.

Planted effects:

- Birch, everywhere: an applicant of Birch has {_DEDUCTED["Birch"]:g} points less than one of
  Alder or Cedar with the same other columns.
- Birch, in a narrow corner: {_DEDUCTED["corner"]:g} points more are deducted for a business
  loan of at least 10,000 in the first three years of employment. There lies the worst case:
  {_DEGREE:.3f} between two probabilities.
- A proxy: in the district Millside all have {_DEDUCTED["Millside"]:g} points less. 70% of
  Birch live there, and 15% of each other community. Dropping `community` leaves this effect.
- None: Alder and Cedar are treated alike, and `age` has no effect of its own.

The people, the communities and the lender are invented.
"""


class _LoanRule(ClassifierMixin, NeedsNoFit):
    """The rule by which the loans are decided, as a classifier that needs no fitting."""

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The two decisions, in the order of the columns of `predict_proba`."""
        return np.array(["granted", "refused"])

    def fit(self, X: Any, y: Any = None) -> Any:
        """Record the columns; nothing is learnt."""
        return self._seen(X, _COLUMNS)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the known probabilities of the two decisions."""
        # With more than 20 points a loan is more likely granted than refused.
        refused = 1.0 / (1.0 + np.exp((_points(X) - 20.0) / _POINTS_PER_E))
        return np.column_stack([1.0 - refused, refused])

    def predict(self, X: Any) -> NDArray[np.str_]:
        """Return the more probable decision."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def _points(X: Any) -> NDArray[np.float64]:
    """Return the points of each application, planted effects included."""

    def number(name: str) -> NDArray[np.float64]:
        return np.asarray(column(X, name), dtype=np.float64)

    def is_value(name: str, value: str) -> NDArray[np.bool_]:
        return np.asarray(column(X, name), dtype=object) == value

    amount, years = number("amount"), number("years_employed")
    points = number("income") / 100.0 + number("savings") / 2000.0
    points += np.minimum(years, 10.0) - amount / 1000.0 - 6.0 * number("open_loans")
    for purpose, given in _FOR_PURPOSE.items():
        points += given * is_value("purpose", purpose)
    points -= _DEDUCTED["Millside"] * is_value("district", "Millside")
    corner = is_value("purpose", "business") & (amount >= 10_000) & (years < 3)
    deducted = _DEDUCTED["Birch"] + _DEDUCTED["corner"] * corner
    return points - deducted * is_value("community", "Birch")


def _applications(n_samples: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw people and what they apply for."""

    def amounts(median: Any, spread: float, bounds: tuple[int, int], step: int) -> Any:
        drawn = median * np.exp(spread * rng.standard_normal(n_samples))
        return np.clip(step * np.round(drawn / step), *bounds).astype(np.int64)

    community = rng.choice(list(_COMMUNITIES), size=n_samples, p=list(_COMMUNITIES.values()))
    in_millside = rng.random(n_samples) < pd.Series(community).map(_IN_MILLSIDE).to_numpy()
    elsewhere = [name for name in _DISTRICTS if name != "Millside"]
    age = np.clip(np.round(18 + 57 * rng.beta(1.5, 2.2, n_samples)), 18, 75).astype(np.int64)
    # Nobody has worked since before the eighteenth birthday.
    years = np.floor((age - 17) * rng.beta(0.8, 2.0, n_samples)).astype(np.int64)
    income = amounts(2_400 + 40.0 * np.minimum(years, 20), 0.4, (800, 9_000), 10)
    savings = amounts(2.5 * income, 1.0, (0, 60_000), 100)
    amount = amounts(10_000, 0.7, (1_000, 40_000), 100)
    columns = {
        "community": pd.Categorical(community, categories=list(_COMMUNITIES)),
        "age": age,
        "income": income,
        "savings": savings,
        "years_employed": years,
        "amount": amount,
        "purpose": pd.Categorical(
            rng.choice(list(_PURPOSES), size=n_samples, p=list(_PURPOSES.values())),
            categories=list(_PURPOSES),
        ),
        "district": pd.Categorical(
            np.where(in_millside, "Millside", rng.choice(elsewhere, size=n_samples)),
            categories=list(_DISTRICTS),
        ),
        "open_loans": rng.choice(4, size=n_samples, p=[0.5, 0.3, 0.15, 0.05]),
    }
    return pd.DataFrame(columns, columns=list(_COLUMNS))


def _worst_case(data: pd.DataFrame) -> pd.DataFrame:
    """Return two twins between whose points the cutoff lies in the middle."""
    rows = [
        {
            "community": community,
            "age": 40,
            "income": 3_900,
            "savings": 20_000,
            "years_employed": 1,
            "amount": 10_000,
            "purpose": "business",
            "district": "Hill",
            "open_loans": 0,
        }
        for community in ("Birch", "Alder")
    ]
    return pd.DataFrame(rows, columns=list(data.columns)).astype(data.dtypes.to_dict())


def load_loans(n_samples: int = 1000, *, random_state: Any = 0, return_X_y: bool = False) -> Any:
    """Load a made-up table of loan applications with planted, known effects.

    A lender of an invented country grants or refuses loans. Each application has points, and the
    probability that it is granted is ``1 / (1 + exp(-(points - 20) / 8))``. The points are
    ``income / 100 + savings / 2000 + min(years_employed, 10) - amount / 1000 - 6 * open_loans``,
    with -4 for the purpose business, 2 for education, 6 for home, and the planted effects below.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows, at least 100.
    random_state : None, int, numpy RandomState or numpy Generator, default=0
        Source of randomness. The default gives the same rows at every call.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        With the attributes:

        - data : pandas DataFrame of shape (n_samples, 9): `community`, `age` in years, monthly
          `income` and `savings` in the country's money, `years_employed`, the `amount` applied
          for, its `purpose`, the `district` of the home, and the number of `open_loans`;
          `community`, `purpose` and `district` are categorical, the others integers
        - target : pandas Series of shape (n_samples,), `decision`: "granted" or "refused"
        - feature_names : list of the 9 column names
        - sensitive_features : ["community", "age"]
        - fairness_degree : float, the largest difference of two probabilities that the lender's
          rule gives to inputs that differ in the sensitive columns alone
        - worst_case : pandas DataFrame of shape (2, 9), two rows that differ in `community` alone
          and attain the degree, the lower probability of "granted" first
        - estimator : a classifier that is the lender's rule, ready to predict
        - DESCR : str, a description

    (data, target) : tuple if `return_X_y` is True
        The data frame and the series above.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    make_biased_classification : Generates data with a planted bias of a degree that you choose.

    Notes
    -----
    The planted effects are these:

    - *Birch, everywhere.* An applicant of the community Birch has 8 points less than one of Alder
      or Cedar whose other columns are the same.
    - *Birch, in a narrow corner.* For a business loan of at least 10,000 in the first three years
      of employment (5% of the rows), Birch has 24 points less on top of the 8. The worst case
      lies there: 0.762, which is ``tanh(32 / 8 / 4)``, between two probabilities.
    - *A proxy.* In the district Millside everybody has 6 points less. 70% of Birch live there, and
      15% of each other community. A model without `community` still has this effect.
    - *None.* Alder and Cedar are treated alike, and `age` has no effect of its own: two inputs
      that differ in `age` alone get the same probability.

    All other columns but `district` have the same distribution in the three communities, so that
    rates of the communities differ by the planted effects and by chance alone. In a large table the
    rule grants 51% in Alder and Cedar and 33% in Birch. If `community` were Alder for all, it would
    grant 46% in Birch: the rest of the difference comes from `district`. 17% of the rows would get
    another decision (the more probable one) if `community` alone were changed.

    Nobody in the data has more `years_employed` than years of `age` beyond 18. The people, the
    communities and the lender are invented, and say nothing about any real group.

    Examples
    --------
    >>> from skfairtest.datasets import load_loans
    >>> loans = load_loans()
    >>> loans.data[["community", "income", "purpose"]].head(2)
      community  income   purpose
    0     Birch    3260       car
    1     Alder    2620  business
    >>> loans.worst_case["community"].tolist(), round(loans.fairness_degree, 3)
    (['Birch', 'Alder'], 0.762)
    >>> low, high = loans.estimator.predict_proba(loans.worst_case)[:, 0]
    >>> round(float(high - low), 3)
    0.762
    """
    is_integer = isinstance(n_samples, Integral) and not isinstance(n_samples, bool)
    if not is_integer or n_samples < 100:
        msg = (
            f"n_samples must be an integer of at least 100, got {n_samples!r}: with"
            " fewer rows not every community has its usual purposes and districts."
        )
        raise ValueError(msg)
    rng = _generator(random_state)
    data = _applications(int(n_samples), rng)
    rule = _LoanRule().fit(data)
    granted = rng.random(len(data)) < rule.predict_proba(data)[:, 0]
    target = pd.Series(np.where(granted, *rule.classes_), name="decision").infer_objects()
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        feature_names=list(data.columns),
        sensitive_features=["community", "age"],
        fairness_degree=_DEGREE,
        worst_case=_worst_case(data),
        estimator=rule,
        DESCR=_DESCR,
    )
