"""What benchmarks share: the machine, the public data, mixed tables, and what models stand behind.

The public data are CSV files in the folder that the environment variable SKFAIRTEST_DATA names:
adult.csv.gz and german.csv (UCI's, with the names of columns that `FILES` needs), and the integer
codings of the papers of adult and bank, census-coded.csv.gz and bank-coded.csv.gz;
communities.csv.gz has the columns of UCI that predict.
"""

import importlib
import os
import platform
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import skfairtest

#: The file of each public table, and its target.
FILES = {
    "adult": ("adult.csv.gz", "income"),
    "census": ("census-coded.csv.gz", "income"),
    "german": ("german.csv", "class"),
    "bank": ("bank-coded.csv.gz", "subscribed"),
    "communities": ("communities.csv.gz", "ViolentCrimesPerPop"),
}


def describe_machine():
    """One line: processor count, load, Python and library versions."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{os.cpu_count()} cores, {platform.machine()}{load}, Python {platform.python_version()}, "
        f"scikit-learn {sklearn.__version__}, numpy {np.__version__}, "
        f"pandas {pd.__version__}, skfairtest {skfairtest.__version__}"
    )


def has_public(name):
    """Whether the file of a public table is there."""
    return (Path(os.environ.get("SKFAIRTEST_DATA", ".")) / FILES[name][0]).is_file()


def public(name):
    """Features and target of a public table."""
    file, target = FILES[name]
    if not has_public(name):
        msg = (
            f"Expected {file} in the folder that SKFAIRTEST_DATA names, got "
            f"{os.environ.get('SKFAIRTEST_DATA')!r}: set the variable, or choose other cases."
        )
        raise SystemExit(msg)
    frame = pd.read_csv(Path(os.environ.get("SKFAIRTEST_DATA", ".")) / file)
    return frame.drop(columns=target), frame[target]


def as_categories(X):
    """The table with words as categories, of which missing ones are one."""
    words = X.select_dtypes(exclude="number").columns
    X = X.astype(dict.fromkeys(words, "category"))
    for name in words[X[words].isna().any()]:
        X[name] = X[name].cat.add_categories("missing").fillna("missing")
    return X


def as_it_is(model):
    """The model by itself."""
    return model


def as_codes(model):
    """The model behind ordinal codes of the categories."""
    codes = (OrdinalEncoder(), make_column_selector(dtype_include="category"))
    return make_pipeline(make_column_transformer(codes, remainder="passthrough"), model)


def one_hot(model):
    """The model behind one-hot words and scaled numbers."""
    hot = (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number"))
    return make_pipeline(make_column_transformer(hot, remainder=StandardScaler()), model)


def imputed(model):
    """The same, where numbers may be missing; the table that comes out is dense."""
    hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_column_selector(dtype_exclude="number")
    return make_pipeline(make_column_transformer((hot, words), remainder=numbers), model)


def boosted(library, kind, **settings):
    """A model of a library that may be missing."""
    return getattr(importlib.import_module(library), kind)(random_state=0, **settings)


def mixed_table(n_columns, n_rows, seed):
    """Columns of many kinds, a number that depends on them, and moderately on `sex`."""
    rng = np.random.default_rng(seed)
    effect = np.zeros(n_rows)
    columns = {"sex": rng.choice(["female", "male"], n_rows)}
    makers = [_category, _whole_number, _real, _skewed, _real]
    for k in range(n_columns - 1):
        name, values, adds = makers[k % len(makers)](rng, n_rows)
        columns[f"{name}_{k}"] = values
        effect += rng.normal() * adds
    X = as_categories(pd.DataFrame(columns))
    male = (X["sex"] == "male").to_numpy()
    noise = effect.std() * rng.normal(size=n_rows)
    sometimes = X[X.columns[3]].to_numpy() > 0
    return X, effect + effect.std() * (0.3 * male + 0.3 * male * sometimes) + 0.3 * noise


def _category(rng, n):
    levels = rng.integers(3, 10)
    codes = rng.choice(levels, n, p=rng.dirichlet(np.full(levels, 3.0)))
    names = np.array([f"level {k}" for k in range(levels)], dtype=object)
    return "category", names[codes], rng.normal(size=levels)[codes]


def _whole_number(rng, n):
    if rng.random() < 0.5:
        ages = rng.integers(18, 80, n)
        return "age", ages, np.sin(ages / 10)
    counts = rng.poisson(rng.uniform(0.5, 6), n)
    return "count", counts, np.sqrt(counts)


def _real(rng, n):
    values = rng.normal(size=n)
    return "real", values, values if rng.random() < 0.7 else np.maximum(values, 0.5)


def _skewed(rng, n):
    amounts = rng.lognormal(7, 1, n).round(2)
    return "amount", amounts, np.log(amounts) - 7
