"""Where the public data sets come from: a folder of files, or OpenML, made alike."""

from __future__ import annotations

import os
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

ENVIRONMENT_VARIABLE = "SKFAIRTEST_DATA"

ADULT_COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status"),
    *("occupation", "relationship", "race", "sex", "capital_gain", "capital_loss"),
    *("hours_per_week", "native_country", "income"),
]
ADULT_CODED_COLUMNS = [name for name in ADULT_COLUMNS if name != "education_num"]
GERMAN_COLUMNS = [
    *("status", "duration", "credit_history", "purpose", "amount", "savings", "employment"),
    *("installment_rate", "personal_status", "other_debtors", "residence_since", "property"),
    *("age", "other_installment_plans", "housing", "existing_credits", "job", "dependents"),
    *("telephone", "foreign_worker", "class", "sex"),
]
BANK_COLUMNS = [
    *("age", "job", "marital", "education", "default", "balance", "housing", "loan", "contact"),
    *("day", "month", "duration", "campaign", "pdays", "previous", "poutcome", "subscribed"),
]
COMMUNITIES_TARGET = "ViolentCrimesPerPop"
# UCI lists these five as "not predictive": names and numbers of places, and a fold number.
COMMUNITIES_IDENTIFIERS = ["state", "county", "community", "communityname", "fold"]

_GERMAN_NAMES = {
    "checking_status": "status",
    "credit_amount": "amount",
    "savings_status": "savings",
    "installment_commitment": "installment_rate",
    "other_parties": "other_debtors",
    "property_magnitude": "property",
    "other_payment_plans": "other_installment_plans",
    "num_dependents": "dependents",
    "own_telephone": "telephone",
}

_NO_YES = ("no", "yes")
# The position is the code. This is the order of UCI's description of the data, not the alphabet.
_BANK_LEVELS: dict[str, tuple[str, ...]] = {
    "job": (
        *("admin.", "unknown", "unemployed", "management", "housemaid", "entrepreneur"),
        *("student", "blue-collar", "self-employed", "retired", "technician", "services"),
    ),
    "marital": ("married", "divorced", "single"),
    "education": ("unknown", "secondary", "primary", "tertiary"),
    "default": _NO_YES,
    "housing": _NO_YES,
    "loan": _NO_YES,
    "contact": ("unknown", "telephone", "cellular"),
    "month": (
        *("jan", "feb", "mar", "apr", "may", "jun"),
        *("jul", "aug", "sep", "oct", "nov", "dec"),
    ),
    "poutcome": ("unknown", "other", "failure", "success"),
}


#: OpenML's numbers of the data sets.
ADULT_ID, GERMAN_ID, BANK_ID, COMMUNITIES_ID = 1590, 31, 1461, 42730


def data_folder(data_home: Any) -> Path | None:
    """Return the folder to look in first, or None where none was given."""
    given = data_home if data_home is not None else os.environ.get(ENVIRONMENT_VARIABLE)
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        name = "data_home" if data_home is not None else f"The variable {ENVIRONMENT_VARIABLE}"
        msg = f"{name} must be an existing folder, got {str(given)!r}: create it, or correct it."
        raise FileNotFoundError(msg)
    return folder


def read_files(
    data_home: Any, names: list[str], columns: list[str], *, only: bool = True
) -> pd.DataFrame | None:
    """Return the rows of the named files, one below the other, or None if one is not there."""
    folder = data_folder(data_home)
    if folder is None or not all((folder / name).is_file() for name in names):
        return None
    frame = pd.concat([pd.read_csv(folder / name) for name in names], ignore_index=True)
    required = require(frame, columns, "The files " + ", ".join(names))
    return required if only else frame


def require(frame: pd.DataFrame, columns: list[str], origin: str) -> pd.DataFrame:
    """Return the columns asked for, or say which ones are missing."""
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        msg = (
            f"{origin} should hold the columns {columns}, but these are missing: {missing}."
            " Replace the data by the version that the documentation of the fetcher describes."
        )
        raise ValueError(msg)
    return frame[columns]


def openml_frame(data_id: int, data_home: Any, files: list[str]) -> tuple[pd.DataFrame, pd.Series]:
    """Return data and target of an OpenML data set, categories turned into plain strings."""
    from sklearn.datasets import fetch_openml  # its import takes as long as all of ours

    try:
        bunch = fetch_openml(
            data_id=data_id, as_frame=True, parser="auto", cache=True, data_home=data_home
        )
    except (OSError, HTTPException) as error:
        msg = (
            f"Expected to download data set {data_id} from OpenML, got {error!r}. Retry with a"
            f" network, or give a folder that holds {', '.join(files)} as `data_home` or in the"
            f" environment variable {ENVIRONMENT_VARIABLE}."
        )
        raise ConnectionError(msg) from error
    data = bunch.data.reset_index(drop=True)
    data = pd.DataFrame({str(name).replace("-", "_"): _plain(data[name]) for name in data})
    return data, _plain(bunch.target.reset_index(drop=True))


def _plain(column: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column):
        whole = column.notna().all() and bool((column == np.floor(column)).all())
        return column.astype(np.int64) if whole else column.astype(np.float64)
    stripped = [value.strip() if isinstance(value, str) else np.nan for value in column]
    plain = pd.Series(stripped, index=column.index, name=column.name, dtype=object)
    return plain.where(plain != "?", np.nan).infer_objects()


def adult_from_openml(data_home: Any, files: list[str], subset: str) -> pd.DataFrame:
    """Return the raw Adult data of a subset, as in the files."""
    data, target = openml_frame(ADULT_ID, data_home, files)
    frame = require(data.assign(income=target), ADULT_COLUMNS, "OpenML data set 1590")
    # OpenML's version begins with the 16,281 rows of UCI's test file.
    n_test = 16281
    test, train = frame.iloc[:n_test], frame.iloc[n_test:]
    parts = {"train": [train], "test": [test], "all": [train, test]}[subset]
    return pd.concat(parts, ignore_index=True)


def german_from_openml(data_home: Any, files: list[str]) -> pd.DataFrame:
    """Return the German Credit data, columns as in the file, values as in OpenML."""
    data, target = openml_frame(GERMAN_ID, data_home, files)
    frame = data.rename(columns=_GERMAN_NAMES).assign(**{"class": target})
    status = require(frame, ["personal_status"], "OpenML data set 31")["personal_status"]
    frame["sex"] = status.str.split().str[0]
    return require(frame, GERMAN_COLUMNS, "OpenML data set 31")


def bank_from_openml(data_home: Any, files: list[str]) -> pd.DataFrame:
    """Return the Bank Marketing data in the integer coding of the file."""
    data, target = openml_frame(BANK_ID, data_home, files)
    raw = require(data, [f"V{i}" for i in range(1, 17)], "OpenML data set 1461")
    raw = raw.set_axis(BANK_COLUMNS[:-1], axis="columns")
    coded = raw.copy()
    for name, levels in _BANK_LEVELS.items():
        coded[name] = _coded(raw[name], levels)
    coded["age"] = raw["age"] // 10
    # Floor division and these bounds reproduce the published coding, also below zero.
    coded["balance"] = (raw["balance"] // 50).clip(-20, 179)
    coded["duration"] = (raw["duration"] // 10).clip(upper=99)
    coded["pdays"] = raw["pdays"] == -1
    coded["previous"] = raw["previous"] > 0
    coded["subscribed"] = _coded(target.astype(str), ("1", "2"))
    return coded[BANK_COLUMNS].astype(np.int64)


def _coded(column: pd.Series, levels: tuple[str, ...]) -> pd.Series:
    codes = pd.Index(levels, dtype=object).get_indexer(pd.Index(column, dtype=object))
    if (codes < 0).any():
        unknown = column[codes < 0].iloc[0]
        msg = (
            f"Column {column.name!r} holds {unknown!r}, expected one of {list(levels)}: the data"
            " on OpenML have changed, read the coded file from a folder instead."
        )
        raise ValueError(msg)
    return pd.Series(codes, index=column.index)


def communities_from_openml(data_home: Any, files: list[str]) -> pd.DataFrame:
    """Return the Communities and Crime data as floats, missing values as NaN."""
    data, target = openml_frame(COMMUNITIES_ID, data_home, files)
    data = data.drop(columns=[name for name in COMMUNITIES_IDENTIFIERS if name in data.columns])
    frame = data.assign(**{COMMUNITIES_TARGET: target})
    return frame.apply(pd.to_numeric, errors="coerce").astype(np.float64)


def as_bunch(
    frame: pd.DataFrame, target: str, sensitive: list[str], description: str, source: str
) -> Bunch:
    """Split the target off and describe the rest."""
    data = frame.drop(columns=target)
    origin = "files of a folder" if source == "folder" else "OpenML"
    return Bunch(
        data=data,
        target=frame[target],
        feature_names=list(data.columns),
        sensitive_features=require(data, sensitive, "The data").columns.tolist(),
        DESCR=f"{description}\nThese rows were read from {origin}.\n",
        source=source,
    )
