"""A model meets the same values in CSV, in Parquet and in memory, whatever these look like."""

from __future__ import annotations

import io
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, TargetEncoder
from sklearn.tree import DecisionTreeClassifier
from tiers import slow_sample

from skfairtest import MarginalizedClassifier, RandomAuditor, audit
from skfairtest.cli._data_file import DataTable, read_table
from skfairtest.cli._errors import CommandError

WORDS = [
    "NA", "None", "null", "nan", "inf", "1e3", "01", "1", "TRUE", " Yes", "", '"', "a,b",
    "new\nline", "Zürich", "<NA>", "2020-01-01", "-", "N/A",
]  # fmt: skip
LABELS = [("0", "1"), ("None", "some"), (" No", " Yes"), ("01", "1"), (False, True), (0, 1)]
TEXT = ["word", "code"]


def table(seed, missing=False):
    """A table with two columns of such words, and its labels."""
    rng = np.random.default_rng(seed)
    words = rng.choice(WORDS, 4, replace=False).tolist()
    frame = pd.DataFrame(
        {
            "word": rng.choice(words, 60),
            "code": rng.choice(["01", "02", "1e3"], 60),
            "flag": rng.random(60) < 0.5,
            "day": pd.Timestamp("2020-02-03") + pd.to_timedelta(rng.integers(0, 3, 60), unit="D"),
            "age": rng.integers(18, 70, 60),
            "income": rng.normal(30, 9, 60),
        }
    )
    if missing and "" not in words:
        frame.loc[:6, "word"] = None
        frame.loc[3, "income"] = np.nan
    labels = LABELS[seed % len(LABELS)]
    score = (frame["word"] == words[0]) + (frame["code"] == "01") + rng.normal(0, 0.3, 60)
    return frame, pd.Series(labels)[(score > score.median()).astype(int)].reset_index(drop=True)


def encoded(encoder, *more, columns=(*TEXT, "flag", "day")):
    """A step that encodes all but numbers."""
    return make_column_transformer(
        (encoder, list(columns)), (SimpleImputer(), ["income"]), *more, ("passthrough", ["age"]),
        sparse_threshold=0,
    )  # fmt: skip


def one_hot(columns=(*TEXT, "flag", "day")):
    """One column for each category, none for what was not seen."""
    return encoded(OneHotEncoder(handle_unknown="ignore", sparse_output=False), columns=columns)


def ordinal(columns=(*TEXT, "flag")):
    """A number for each category, one more for what was not seen."""
    return encoded(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1,
                       encoded_missing_value=-2),
        columns=columns,
    )  # fmt: skip


def as_they_are():
    """A step before the encoder, from which columns come by their names."""
    return FunctionTransformer(feature_names_out="one-to-one").set_output(transform="pandas")


LINEAR = LogisticRegression(max_iter=200)
IMPUTED = SimpleImputer(strategy="most_frequent")
MODELS = {
    "one-hot": lambda: make_pipeline(one_hot(), LINEAR),
    "ordinal": lambda: make_pipeline(ordinal(), DecisionTreeClassifier(random_state=0)),
    "target": lambda: make_pipeline(encoded(TargetEncoder(), columns=TEXT), GaussianNB()),
    "imputed": lambda: make_pipeline(
        encoded(make_pipeline(IMPUTED, OneHotEncoder(handle_unknown="ignore")), columns=TEXT),
        LINEAR,
    ),
    "named later": lambda: make_pipeline(as_they_are(), one_hot(), LINEAR),
    "union": lambda: make_pipeline(make_union(one_hot(), ordinal()), KNeighborsClassifier(3)),
    "search": lambda: GridSearchCV(make_pipeline(one_hot(), LINEAR), {}, cv=2),
    "calibrated": lambda: CalibratedClassifierCV(make_pipeline(ordinal(), GaussianNB()), cv=2),
    "voting": lambda: VotingClassifier([("a", make_pipeline(one_hot(), LINEAR))], voting="soft"),
    "averaged": lambda: MarginalizedClassifier(
        make_pipeline(one_hot(), LINEAR), sensitive_features=["word"]
    ),
    "forest": lambda: make_pipeline(ordinal(), RandomForestClassifier(3, random_state=0)),
    "text": lambda: make_pipeline(
        encoded(OneHotEncoder(), (HashingVectorizer(n_features=32), "word"), columns=["code"]),
        HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2),
    ),
}  # fmt: skip
OF_DATES = ["one-hot", "named later", "union", "search", "voting", "averaged"]


def read(name, seed, folder):
    """A model, and its table in memory, from CSV, from standard input and from Parquet."""
    X, y = table(seed, missing=name not in ("text", "averaged"))
    if name not in OF_DATES:  # nothing says that a text is a date
        X["day"] = X["day"].astype(str)
    model = MODELS[name]().fit(X, y)
    rows = X.assign(decision=y)
    rows.to_csv(folder / "rows.csv", index=False)
    rows.to_parquet(folder / "rows.parquet")
    files = [str(folder / "rows.csv"), str(folder / "rows.parquet")]
    told = {"sensitive": ["word"], "target": "decision"}
    return model, X, y, [read_table(where, model, **told) for where in files]


def check_same(name, seed, folder):
    """Check that a model says the same of the rows of all files."""
    model, X, y, tables = read(name, seed, folder)
    for found in tables:
        assert found.y.tolist() == y.tolist()
        assert [type(label) for label in found.y[:2]] == [type(label) for label in y[:2]]
        assert (model.predict_proba(found.X) == model.predict_proba(X)).all()
        for column in X:
            theirs, own = found.X[column], X[column]
            assert theirs.dropna().tolist() == own.dropna().tolist()
            assert (theirs.isna() == own.isna()).all()


@pytest.mark.parametrize("name", ["one-hot", "ordinal", "target", "averaged"])
def test_values_are_the_same_in_all_files(name, tmp_path):
    check_same(name, 7, tmp_path)


@slow_sample
@pytest.mark.parametrize("name", MODELS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(seed=st.integers(0, 10_000))
def test_values_of_any_table_are_the_same_in_all_files(name, seed, tmp_path):
    check_same(name, seed, tmp_path)


def figures_of(value):
    """All of a report but how long it took."""
    if isinstance(value, dict):
        kept = {
            key: part for key, part in value.items() if "seconds" not in key and key != "created"
        }
        return {key: figures_of(part) for key, part in kept.items()}
    return [figures_of(part) for part in value] if isinstance(value, list) else repr(value)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_figures_are_the_same_from_all_files(name, tmp_path):
    model, X, y, tables = read(name, 5, tmp_path)
    settings = {"auditor": RandomAuditor(max_queries=200), "random_state": 0, "max_time": None}
    told = [
        audit(model, found.X, found.y, sensitive_features="word", progress=False, **settings)
        for found in (DataTable(X, y, ["word"], None), *tables)
    ]
    figures = [figures_of(report.to_dict()) for report in told]
    assert figures[1] == figures[0] == figures[2]


@pytest.mark.parametrize("kind", ["csv", "-"])
def test_words_that_look_missing_are_told(kind, tmp_path, monkeypatch, capsys):
    X, y = table(0)
    model = make_pipeline(ordinal(TEXT), LINEAR).fit(X.assign(word="other"), y)
    X["word"], X["group"] = ["NA", "None", "x"] * 20, ["01", "1", "null"] * 20
    where = tmp_path / "rows.csv"
    X.to_csv(where, index=False)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(where.read_bytes())))
    told = {"sensitive": ["group"]}
    found = read_table("-" if kind == "-" else str(where), model, **told)
    said = capsys.readouterr().err
    assert "column 'word' holds 'NA', 'None' in 40 rows, which is read as text" in said
    assert "column 'group' holds 'null' in 20 rows" in said
    assert found.X["word"].tolist() == X["word"].tolist()
    assert found.not_in_model["group"].tolist() == X["group"].tolist()
    X[["group"]].to_csv(tmp_path / "groups.csv", index=False)
    X.drop(columns="group").to_csv(where, index=False)
    found = read_table(str(where), model, sensitive=[], sensitive_file=str(tmp_path / "groups.csv"))
    assert found.not_in_model["group"].tolist() == X["group"].tolist()
    X.astype({"age": object}).assign(age=["NA", 3, 4] * 20).to_csv(where, index=False)
    with pytest.raises(CommandError, match="Column 'age' holds 'NA' in 20 rows among numbers"):
        read_table(str(where), model, **told)


def test_an_empty_cell_is_what_the_encoder_knows(tmp_path, capsys):
    where = str(tmp_path / "rows.csv")
    for empty in ("", None):
        X, y = table(0)
        X["word"] = pd.Series([empty, "x"] * 30, dtype=object)
        model = make_pipeline(ordinal(TEXT), LINEAR).fit(X, y)
        X.to_csv(where, index=False)
        assert read_table(where, model, sensitive=["word"]).X["word"].tolist()[:2] == [empty, "x"]
    assert not capsys.readouterr().err
