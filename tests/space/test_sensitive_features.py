"""One resolver of `sensitive_features`: names in X, values beside it, what a model takes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skfairtest.space._sensitive_features import as_columns, split_sensitive

RACE = ["a", "b", None, "a"]
X = pd.DataFrame(
    {"sex": ["f", "m", "f", "m"], "age": [30, 40, 50, 60], "race": RACE},
    index=[7, 5, 3, 1],
)
INPUTS = X[["sex", "age"]]


class Takes:
    """A model that was fitted to some columns."""

    def __init__(self, *names):
        self.feature_names_in_ = np.array(names, dtype=object)


@pytest.mark.parametrize(
    "given",
    [
        X["race"], X[["race"]], {"race": X["race"]}, {"race": RACE},
        pl.Series("race", RACE), pl.DataFrame({"race": RACE}),
        X["race"].astype("category"), [X["race"]],
    ],
    ids=lambda given: type(given).__module__ + type(given).__name__,
)  # fmt: skip
def test_values_of_every_kind_are_one_named_column(given):
    found = split_sensitive(INPUTS, given)
    assert found.X is INPUTS and found.names is None and list(found.not_in_model) == ["race"]
    race = found.not_in_model["race"]
    assert race.astype(object).where(race.notna(), None).tolist() == ["a", "b", None, "a"]
    assert found.not_in_model.index.tolist() == [0, 1, 2, 3]


def test_columns_without_a_name_have_a_standard_one():
    values = X["race"].to_numpy()
    for given in (values, values.reshape(-1, 1), X["race"].rename(None), pl.Series(RACE)):
        assert list(split_sensitive(INPUTS, given).not_in_model) == ["sensitive feature"]
    for given in (np.column_stack([values, values]), pd.DataFrame([["a", "b"]] * 4, index=X.index)):
        names = ["sensitive feature 0", "sensitive feature 1"]
        assert list(split_sensitive(INPUTS, given).not_in_model) == names
    assert list(as_columns(["a", "b", None], 3)) == ["sensitive feature"]


def test_columns_that_the_model_does_not_take_are_taken_out():
    model = Takes("sex", "age")
    for names in ("race", ["race"], 2, [2], np.array(["race"])):
        found = split_sensitive(X, names, estimator=model)
        assert list(found.X) == ["sex", "age"] and found.names is None
        assert list(found.not_in_model) == ["race"]
    found = split_sensitive(X, "auto", estimator=model)
    assert found.names == ["sex", "age"] and list(found.not_in_model) == ["race"]
    found = split_sensitive(X, [2, 0], estimator=model)
    assert found.names == ["sex"] and list(found.not_in_model) == ["race"]
    # Nothing is known of a model that was fitted without names, or is not fitted.
    for model in (None, object()):
        found = split_sensitive(X, "race", estimator=model)
        assert found.X is X and found.names == "race" and found.not_in_model is None
    frame = pl.DataFrame({"sex": ["f", "m"], "race": ["a", "b"]})
    found = split_sensitive(frame, ["race"], estimator=Takes("sex"))
    assert found.X.columns == ["sex"] and found.not_in_model["race"].tolist() == ["a", "b"]


def test_some_in_the_table_and_some_beside_it():
    for given in (["sex", X["race"]], X[["sex", "race"]], [X[["race"]], "sex"]):
        found = split_sensitive(INPUTS, given)
        assert found.names == ["sex"] and list(found.not_in_model) == ["race"], given
    found = split_sensitive(INPUTS, "auto", values=X["race"])
    assert found.names == "auto" and list(found.not_in_model) == ["race"]
    # fairlearn's way to name a column of X.
    found = split_sensitive(X, X["race"])
    assert found.names == ["race"] and found.not_in_model is None
    found = split_sensitive(INPUTS, ["race"], values=X["race"])
    assert found.names is None and list(found.not_in_model) == ["race"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (X["race"][:3], "one row for each row of X, in the same order; got 3 rows for 4"),
        (np.array([["a"] * 3]), "got 1 rows for 4"),
        (X["race"].sort_index(), "another index than X .in another order."),
        (X["race"].reset_index(drop=True), "another index than X .with other labels.*to_numpy"),
        ([X["race"].sort_index()], "another index than X"),
        ({"race": X["race"].sort_index()}, "another index than X"),
        (X["sex"].map({"f": "m", "m": "f"}), "'sex', and X has another one of that name"),
        (X["age"].astype(str).rename("sex"), "Rename one of them"),
        (np.zeros((4, 1, 1)), "an array of 1 or 2 dimensions; got one of 3"),
        (np.array("a"), "an array of 1 or 2 dimensions; got one of 0"),
        (pd.DataFrame(index=X.index), "has no column"),
        ({"race": ["a"] * 4, "sex 2": ["a"]}, "must be of one length"),
        ([X["race"], X["race"]], "'race' more than once"),
    ],
)
def test_what_cannot_be_told_apart_is_one_error(given, says):
    with pytest.raises(ValueError, match=says):
        split_sensitive(INPUTS, given)
