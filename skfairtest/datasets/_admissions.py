"""Made-up admissions, whose rates differ on the whole and, unless asked for, not in departments."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from ._planted import _generator

#: Departments, with the share that each admits of men, and how women and men spread over them.
DEPARTMENTS = ("Arts", "Biology", "Chemistry", "Design", "English", "Physics")
RATES = np.array([0.10, 0.30, 0.65, 0.35, 0.25, 0.70])
WOMEN = np.array([0.25, 0.20, 0.08, 0.20, 0.22, 0.05])
MEN = np.array([0.10, 0.12, 0.30, 0.15, 0.08, 0.25])


def make_admissions(
    n_samples: int = 4000, *, ratio_within: float = 1.0, random_state: Any = None
) -> Bunch:
    """Generate admissions in which groups differ on the whole, and by a known ratio within strata.

    Women apply more often to departments that admit few. In every department the share of women who
    are admitted is `ratio_within` times that of men, so that with 1 there is no difference within
    any department, and a large one on the whole: Simpson's paradox, for which the admissions of
    Berkeley in 1973 are the textbook's example [1]_. The people, departments and rates are made up.

    Parameters
    ----------
    n_samples : int, default=4000
        Number of applicants, at least 1.
    ratio_within : float, default=1.0
        The share of women who are admitted over that of men, in each department: above 0, and at
        most 1.4.
    random_state : None, int, numpy RandomState or numpy Generator, default=None
        Source of randomness; pass an int for the same data at every call.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        With the attributes:

        - data : pandas DataFrame of shape (n_samples, 2) with the columns `gender` and `department`
        - target : pandas Series of shape (n_samples,), "admitted" or "rejected"
        - sensitive_features, control_features : lists of the names of these columns
        - ratio_overall : float, the exact ratio of the rates in the population
        - ratio_within : float, that within each department
        - from_rates, from_composition : float, what the rates within departments and the choice of
          departments make of the difference, exactly
        - DESCR : str, a description

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    skfairtest.selection_table : Compares groups within strata, with `control_features`.

    References
    ----------
    .. [1] Bickel, P. J., Hammel, E. A., & O'Connell, J. W. (1975). Sex bias in graduate admissions:
       data from Berkeley. Science 187, 398-404.

    Examples
    --------
    >>> from skfairtest.datasets import make_admissions
    >>> bunch = make_admissions(random_state=0)
    >>> bunch.data.shape, bunch.ratio_within, round(bunch.ratio_overall, 2)
    ((4000, 2), 1.0, 0.61)
    """
    if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 1:
        raise ValueError(f"n_samples must be an integer of at least 1; got {n_samples!r}.")
    most = 1.4  # of which the highest rate is below 1
    if not isinstance(ratio_within, Real) or not 0 < ratio_within <= most:
        raise ValueError(
            f"ratio_within must be a number above 0 and at most {most}; got {ratio_within!r}."
        )
    rng, ratio = _generator(random_state), float(ratio_within)
    is_woman = rng.random(int(n_samples)) < 0.45
    spread = np.where(is_woman[:, None], WOMEN.cumsum(), MEN.cumsum())
    place = (rng.random(len(is_woman))[:, None] >= spread[:, :-1]).sum(axis=1)
    admitted = rng.random(len(is_woman)) < RATES[place] * np.where(is_woman, ratio, 1.0)
    data = pd.DataFrame(
        {
            "gender": np.where(is_woman, "woman", "man"),
            "department": np.array(DEPARTMENTS)[place],
        }
    )
    rates = ((WOMEN + MEN) / 2 * (ratio - 1) * RATES).sum()
    composition = ((WOMEN - MEN) * (1 + ratio) / 2 * RATES).sum()
    return Bunch(
        data=data,
        target=pd.Series(np.where(admitted, "admitted", "rejected"), name="decision"),
        sensitive_features=["gender"],
        control_features=["department"],
        ratio_overall=float(ratio * (WOMEN * RATES).sum() / (MEN * RATES).sum()),
        ratio_within=ratio,
        from_rates=float(rates),
        from_composition=float(composition),
        DESCR=(
            "Made-up applicants to six made-up departments. Women apply more often where few are "
            f"admitted; within each department their rate is {ratio:g} times that of men.\n"
        ),
    )
