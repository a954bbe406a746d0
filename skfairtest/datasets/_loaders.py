"""Fetchers of public data sets of the fairness literature."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from . import _sources

__all__ = ["fetch_adult", "fetch_bank_marketing", "fetch_communities", "fetch_german_credit"]

_ADULT_FILES = {
    "train": ["adult.csv.gz"],
    "test": ["adult-test.csv.gz"],
    "all": ["adult.csv.gz", "adult-test.csv.gz"],
}
_ADULT_CODED_FILES = ["census-coded.csv.gz"]
_GERMAN_FILES = ["german.csv"]
_BANK_FILES = ["bank-coded.csv.gz"]
_COMMUNITIES_FILES = ["communities.csv.gz"]

#: Files and number on OpenML of what each fetcher reads; the coded version is in files only.
KNOWN: dict[str, tuple[list[str], int | None]] = {
    "fetch_adult()": (_ADULT_FILES["all"], _sources.ADULT_ID),
    "fetch_adult(coded=True)": (_ADULT_CODED_FILES, None),
    "fetch_german_credit()": (_GERMAN_FILES, _sources.GERMAN_ID),
    "fetch_bank_marketing()": (_BANK_FILES, _sources.BANK_ID),
    "fetch_communities()": (_COMMUNITIES_FILES, _sources.COMMUNITIES_ID),
}

_ADULT = """Adult (Becker and Kohavi, 1996), UCI, CC BY 4.0. Predict whether a person's income
exceeds 50,000 US dollars a year, from the 1994 US census. The columns record what the census
asked and what was decided then; `sex` has two values and `race` five."""
_ADULT_CODED = """Adult (Becker and Kohavi, 1996), UCI, CC BY 4.0, training rows in the integer
coding of the fairness-testing literature. `age` is in decades; 100 stands for a missing value
in `workclass`, `occupation` and `native_country`, and is no category of its own."""
_GERMAN = """Statlog German Credit (Hofmann, 1994), UCI, CC BY 4.0. Predict good and bad credits.
`sex` is derived from `personal_status`, whose coding is disputed, see the documentation; change
both columns together when `sex` is varied."""
_BANK = """Bank Marketing (Moro, Cortez and Rita, 2014), UCI, CC BY 4.0, in the integer coding of
the fairness-testing literature. Predict whether a client subscribes to a term deposit. `age` is
in decades, `pdays` is 1 for clients who had not been contacted before."""
_COMMUNITIES = """Communities and Crime (Redmond, 2009), UCI, CC BY 4.0. One row is a community
in the US; the features are scaled to [0, 1]. The sensitive columns describe the composition of
a community, not a person."""


def _answer(bunch: Bunch, return_X_y: bool) -> Any:
    return (bunch.data, bunch.target) if return_X_y else bunch


def fetch_adult(
    *,
    subset: str = "train",
    coded: bool = False,
    data_home: Any = None,
    return_X_y: bool = False,
) -> Any:
    """Load the Adult data set (classification of incomes).

    The files are looked for in the folder `data_home` or, without it, in the folder named by
    the environment variable ``SKFAIRTEST_DATA``: adult.csv.gz, adult-test.csv.gz and, for the
    coded version, census-coded.csv.gz. If they are not there, OpenML (data set 1590) is asked.
    Both give the same columns and values; missing values are NaN.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        UCI's training rows (32,561), test rows (16,281), or both in this order (48,842).
        OpenML lists the test rows first; the first 16,281 rows are taken to be these.
    coded : bool, default=False
        Whether to give the integer coding of the fairness-testing literature, which exists for
        the training rows, lacks `education_num`, and is read from a folder only. In it, `age`
        is in decades, and 100 stands for missing in `workclass`, `occupation` and
        `native_country`.
    data_home : str or path-like, default=None
        Folder of the files; also the cache of a download.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        With the attributes:

        - data : pandas DataFrame of shape (n_samples, 14), or (32561, 13) if coded
        - target : pandas Series of shape (n_samples,), `income`: "<=50K" or ">50K"; 0 or 1 if
          coded
        - feature_names : list of the column names
        - sensitive_features : ["sex", "race", "age"]
        - DESCR : str, a description
        - source : "folder" or "openml"

    (data, target) : tuple if `return_X_y` is True
        The data frame and the series above.

    Raises
    ------
    ValueError
        If `subset` is unknown, or `coded` is combined with another subset than "train".
    FileNotFoundError
        If the folder does not exist, or does not hold the coded file.
    ConnectionError
        If the files are not in the folder and OpenML cannot be reached.

    References
    ----------
    .. [1] B. Becker and R. Kohavi, "Adult", UCI Machine Learning Repository, 1996, CC BY 4.0.
       https://archive.ics.uci.edu/dataset/2/adult

    Examples
    --------
    >>> from skfairtest.datasets import fetch_adult
    >>> X, y = fetch_adult(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (32561, 14)
    """
    if subset not in _ADULT_FILES:
        msg = f"subset must be one of {list(_ADULT_FILES)}, got {subset!r}: choose one of these."
        raise ValueError(msg)
    sensitive = ["sex", "race", "age"]
    if coded:
        bunch = _coded_adult(subset, data_home, sensitive)
        return _answer(bunch, return_X_y)
    files, source = _ADULT_FILES[subset], "folder"
    frame = _sources.read_files(data_home, files, _sources.ADULT_COLUMNS)
    if frame is None:
        frame, source = _sources.adult_from_openml(data_home, files, subset), "openml"
    return _answer(_sources.as_bunch(frame, "income", sensitive, _ADULT, source), return_X_y)


def _coded_adult(subset: str, data_home: Any, sensitive: list[str]) -> Bunch:
    if subset != "train":
        msg = (
            f"coded=True expects subset='train', got subset={subset!r}: the coded file holds the"
            " training rows only."
        )
        raise ValueError(msg)
    columns = _sources.ADULT_CODED_COLUMNS
    frame = _sources.read_files(data_home, _ADULT_CODED_FILES, columns)
    if frame is None:
        msg = (
            f"coded=True expects the file {_ADULT_CODED_FILES[0]} in a folder, which is not"
            " there: give the folder as `data_home` or in the environment variable"
            f" {_sources.ENVIRONMENT_VARIABLE}, or use coded=False, which can be downloaded."
        )
        raise FileNotFoundError(msg)
    return _sources.as_bunch(frame, "income", sensitive, _ADULT_CODED, "folder")


def fetch_german_credit(*, data_home: Any = None, return_X_y: bool = False) -> Any:
    """Load the German Credit data set (classification of credits as good or bad).

    The file german.csv is looked for in the folder `data_home` or, without it, in the folder
    named by the environment variable ``SKFAIRTEST_DATA``. If it is not there, OpenML (data set
    31) is asked. The columns are the same; the categories are not: the file has UCI's codes
    ("A11", ..., "A202"), OpenML has words for them ("<0", ..., "no").

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the file; also the cache of a download.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        With the attributes:

        - data : pandas DataFrame of shape (1000, 21)
        - target : pandas Series of shape (1000,), `class`: "good" or "bad"
        - feature_names : list of the column names
        - sensitive_features : ["sex", "age"]; `age` is in years
        - DESCR : str, a description
        - source : "folder" or "openml"

    (data, target) : tuple if `return_X_y` is True
        The data frame and the series above.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    ConnectionError
        If the file is not in the folder and OpenML cannot be reached.

    Notes
    -----
    `sex` is no column of the original: it is derived from `personal_status`, as is usual
    (A92 and A95 are read as female, A91, A93 and A94 as male). Varying `sex` alone therefore
    gives combinations that contradict `personal_status`. Besides, [2]_ found the published
    meaning of these codes to be wrong, so that sex cannot be told from them for all persons:
    take findings about `sex` in these data as a demonstration.

    References
    ----------
    .. [1] H. Hofmann, "Statlog (German Credit Data)", UCI Machine Learning Repository, 1994,
       CC BY 4.0. https://doi.org/10.24432/C5NC77
    .. [2] U. Groemping, "South German Credit Data: Correcting a Widely Used Data Set", Beuth
       University of Applied Sciences Berlin, 2019.

    Examples
    --------
    >>> from skfairtest.datasets import fetch_german_credit
    >>> X, y = fetch_german_credit(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (1000, 21)
    """
    source = "folder"
    frame = _sources.read_files(data_home, _GERMAN_FILES, _sources.GERMAN_COLUMNS)
    if frame is None:
        frame, source = _sources.german_from_openml(data_home, _GERMAN_FILES), "openml"
    return _answer(_sources.as_bunch(frame, "class", ["sex", "age"], _GERMAN, source), return_X_y)


def fetch_bank_marketing(*, data_home: Any = None, return_X_y: bool = False) -> Any:
    """Load the Bank Marketing data set (classification of clients who subscribe or not).

    The file bank-coded.csv.gz is looked for in the folder `data_home` or, without it, in the
    folder named by the environment variable ``SKFAIRTEST_DATA``. If it is not there, OpenML
    (data set 1461) is asked and its raw values are brought into the same integer coding, that
    of the fairness-testing literature.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the file; also the cache of a download.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        With the attributes:

        - data : pandas DataFrame of shape (45211, 16), integers
        - target : pandas Series of shape (45211,), `subscribed`: 0 or 1
        - feature_names : list of the column names
        - sensitive_features : ["age"], in decades (1 to 9)
        - DESCR : str, a description
        - source : "folder" or "openml"

    (data, target) : tuple if `return_X_y` is True
        The data frame and the series above.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    ConnectionError
        If the file is not in the folder and OpenML cannot be reached.
    ValueError
        If OpenML's data hold a category that the coding does not know.

    Notes
    -----
    The coding: `age` in decades; categories numbered from 0 in the order of UCI's description
    (such as `marital`: married, divorced, single) and months from 0 to 11; `balance` in units
    of 50 euros, rounded down and limited to [-20, 179]; `duration` in units of 10 seconds,
    rounded down and limited to 99; `pdays` 1 for clients who had not been contacted before,
    else 0; `previous` 1 for clients who had, else 0; `day` and `campaign` as they are.

    References
    ----------
    .. [1] S. Moro, P. Cortez and P. Rita, "A data-driven approach to predict the success of
       bank telemarketing", Decision Support Systems 62, 2014. Data: UCI Machine Learning
       Repository, CC BY 4.0. https://doi.org/10.24432/C5K306

    Examples
    --------
    >>> from skfairtest.datasets import fetch_bank_marketing
    >>> X, y = fetch_bank_marketing(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (45211, 16)
    """
    source = "folder"
    frame = _sources.read_files(data_home, _BANK_FILES, _sources.BANK_COLUMNS)
    if frame is None:
        frame, source = _sources.bank_from_openml(data_home, _BANK_FILES), "openml"
    return _answer(_sources.as_bunch(frame, "subscribed", ["age"], _BANK, source), return_X_y)


def fetch_communities(*, data_home: Any = None, return_X_y: bool = False) -> Any:
    """Load the Communities and Crime data set: violent crimes per population.

    The file communities.csv.gz is looked for in the folder `data_home` or, without it, in the
    folder named by the environment variable ``SKFAIRTEST_DATA``. If it is not there, OpenML
    (data set 42730) is asked. Both have one row per community and the same scaling to [0, 1],
    but they can differ in the target and in missing values, see the notes.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the file; also the cache of a download.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        With the attributes:

        - data : pandas DataFrame of shape (1994, 122), floats
        - target : pandas Series of shape (1994,), `ViolentCrimesPerPop`, floats
        - feature_names : list of the column names
        - sensitive_features : ["racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"],
          shares of a community's population, scaled
        - DESCR : str, a description
        - source : "folder" or "openml"

    (data, target) : tuple if `return_X_y` is True
        The data frame and the series above.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    ConnectionError
        If the file is not in the folder and OpenML cannot be reached.

    Notes
    -----
    The original target is a rate, scaled to [0, 1]. A file in circulation holds it cut in two
    instead, as 0.0 and 1.0 (583 of the 1,994 communities, the upper 29 percent), with missing
    values replaced by 0 (1,675 communities have no figures about their police). The fetcher
    returns what the file holds; look at the target's values before choosing between a
    classification and a regression. What is missing in the source remains NaN. Names and
    numbers of places and the fold number are left out.

    References
    ----------
    .. [1] M. Redmond, "Communities and Crime", UCI Machine Learning Repository, 2009,
       CC BY 4.0. https://archive.ics.uci.edu/dataset/183/communities+and+crime

    Examples
    --------
    >>> from skfairtest.datasets import fetch_communities
    >>> X, y = fetch_communities(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (1994, 122)
    """
    sensitive = ["racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"]
    target, source = _sources.COMMUNITIES_TARGET, "folder"
    frame = _sources.read_files(data_home, _COMMUNITIES_FILES, [*sensitive, target], only=False)
    if frame is None:
        frame, source = _sources.communities_from_openml(data_home, _COMMUNITIES_FILES), "openml"
    binary = " The target is cut in two here: 0.0 and 1.0 (high)."
    description = _COMMUNITIES + (binary if frame[target].isin([0.0, 1.0]).all() else "")
    bunch = _sources.as_bunch(frame.astype(np.float64), target, sensitive, description, source)
    return _answer(bunch, return_X_y)
