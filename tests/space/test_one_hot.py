"""Tests of one-hot groups: which columns are one attribute, and that inputs keep to it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal
from polars.testing import assert_frame_equal as assert_polars_equal
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tiers import some

from skfairtest import (
    CertifiedAuditor,
    EIDIGAuditor,
    InputSpace,
    RandomAuditor,
    SBFTAuditor,
    TestSGDAuditor,
    estimate_discrimination,
)
from skfairtest.group._pools.perturb import draw_near

N = 200
COUNTRIES = ["United_States", "Mexico", "Trinadad&Tobago"]


def people(seed=0, n=N):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "race": rng.choice(["White", "Black", "Other"], n),
            "sex": rng.choice(["f", "m"], n),
            "native_country": rng.choice(COUNTRIES, n),
            "income": rng.normal(30, 8, n),
        }
    )


def dummies(dtype=bool, n=N, seed=0, **wishes):
    return pd.get_dummies(
        people(seed, n), columns=["race", "sex", "native_country"], dtype=dtype, **wishes
    )


def groups_of(X, one_hot="auto", sensitive=None, **wishes):
    return InputSpace(one_hot=one_hot, **wishes).fit(X, sensitive).layout.one_hot


# Which columns are a group -----------------------------------------------------------------------


@pytest.mark.parametrize("separator", ["_", "=", ".", "-", ":", " ", "__"])
def test_get_dummies_is_found_with_any_separator(separator):
    X = dummies(prefix_sep=separator)
    found = groups_of(X)
    assert list(found) == ["race", "sex", "native_country"]
    assert found["race"] == [f"race{separator}{name}" for name in ("Black", "Other", "White")]
    # Categories may hold the separator themselves.
    assert len(found["native_country"]) == 3
    assert groups_of(X, one_hot=None) == {}


def test_names_of_encoders_are_found():
    X = people()
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["race", "sex"]), remainder="passthrough",
        verbose_feature_names_out=True,
    ).set_output(transform="pandas")  # fmt: skip
    table = encoder.fit_transform(X).drop(columns="remainder__native_country")
    found = groups_of(table)
    assert list(found) == ["onehotencoder__race", "onehotencoder__sex"]
    space = InputSpace().fit(table, "auto")
    assert space.sensitive_features == ["onehotencoder__race", "onehotencoder__sex",
                                        "remainder__age"]  # fmt: skip


def test_nested_prefixes_and_neighbours_with_the_same_prefix():
    rng = np.random.default_rng(0)
    lang, country = rng.integers(3, size=N), rng.integers(2, size=N)
    X = pd.DataFrame({f"native_lang_{k}": (lang == k) * 1 for k in range(3)})
    for k in range(2):
        X[f"native_country_{k}"] = (country == k) * 1
    X["native_speaker"] = rng.integers(0, 2, N)  # 0 and 1, in no group
    assert groups_of(X) == {
        "native_lang": [f"native_lang_{k}" for k in range(3)],
        "native_country": ["native_country_0", "native_country_1"],
    }
    # What a longer prefix takes leaves a group to the shorter one.
    Y = pd.DataFrame({"a_x": lang == 0, "a_y": lang != 0, "a_b_1": country == 0})
    Y["a_b_2"] = country == 1
    assert groups_of(Y) == {"a": ["a_x", "a_y"], "a_b": ["a_b_1", "a_b_2"]}


def test_a_dropped_level_needs_evidence():
    assert list(groups_of(dummies(drop_first=True, n=400))) == ["race", "native_country"]
    few = dummies(drop_first=True, n=20)
    assert groups_of(few) == {}  # that none of 20 rows has both may be chance
    space = InputSpace().fit(dummies(drop_first=True, n=400), None)
    column = space.domain.columns[space.feature_names.index("race")]
    assert column.levels.tolist() == ["Other", "White", "none of them"]
    assert space.kinds.count("integer") == 1  # the age; sex_m alone is a column of booleans


def test_what_is_no_group():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"q_1": rng.integers(0, 2, N), "q_2": rng.integers(0, 2, N)})
    assert groups_of(X) == {}  # answers to two questions
    Y = dummies(float)
    Y.loc[3, "race_White"] = np.nan
    assert "race" not in groups_of(Y)
    Y["race_White"] = Y["race_White"].map({0: False, 1: True}).astype("boolean")
    assert "race" not in groups_of(Y)
    scaled = dummies(float)
    scaled[["sex_f", "sex_m"]] -= 0.5
    assert "sex" not in groups_of(scaled)
    tiny = pd.DataFrame({"a_x": [0, 1, 0], "a_y": [1, 0, 1], "b": [1, 2, 3]})
    assert groups_of(tiny) == {}  # two columns of three rows sum to one by chance
    assert groups_of(dummies(int).to_numpy()) == {}  # no names
    named = dummies(int)
    assert "race" not in groups_of(named, bounds={"race_White": (0, 1)})
    assert "sex" not in groups_of(named, categories={"sex_f": [0, 1]})


def test_the_name_of_a_group_does_not_hide_a_column():
    X = dummies().assign(race=np.arange(N) % 20)
    assert "race (one-hot)" in groups_of(X)
    assert InputSpace().fit(X, ["race"]).kinds[-4:].count("integer") == 1


def test_an_array_has_groups_by_position():
    X = np.column_stack([np.arange(N), np.eye(3)[np.arange(N) % 3]])
    space = InputSpace(one_hot={"colour": [1, 2, 3]}).fit(X, ["colour"])
    assert space.layout.one_hot == {"colour": [1, 2, 3]}
    assert space.feature_names == [0, "colour"]
    assert space.sensitive_features == ["colour"]
    assert InputSpace(one_hot={"colour": [1, 2, 3]}).fit(X, [2]).sensitive.tolist() == [1]
    rows = space.decode(space.domain.draw(50, np.random.default_rng(0)))
    assert rows.dtype == X.dtype and (rows[:, 1:].sum(axis=1) == 1).all()


# There and back ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", [bool, np.uint8, int, float, np.float32, "boolean", "Int64", object]
)
def test_rows_come_back_as_they_were(dtype):
    X = dummies(bool)
    own = [name for name in X if "_" in name]
    X[own] = X[own].astype(int).astype(dtype) if dtype is object else X[own].astype(dtype)
    space = InputSpace().fit(X, ["race"])
    assert len(space.layout.one_hot) == 3
    assert_frame_equal(space.decode(space.encode(X)), X)
    Z = space.domain.draw(50, np.random.default_rng(0))
    np.testing.assert_array_equal(space.encode(space.decode(Z)), Z)
    assert list(space.decode(Z).dtypes) == list(X.dtypes)


def test_polars_rows_come_back_as_they_were():
    for dtype in (bool, np.uint8, float):
        X = pl.from_pandas(dummies(dtype))
        space = InputSpace().fit(X, ["race_White"])
        assert list(space.layout.one_hot) == ["race", "sex", "native_country"]
        assert_polars_equal(space.decode(space.encode(X)), X)


def test_columns_that_stand_apart_keep_their_places():
    X = dummies()
    X = X[[*X.columns[::2], *X.columns[1::2]]]
    space = InputSpace().fit(X, ["sex"])
    assert list(space.decode(space.data).columns) == list(X.columns)
    assert_frame_equal(space.decode(space.data), X)


def holds(table, space):
    table = pd.DataFrame(np.asarray(table), columns=list(table.columns))
    for name, members in space.layout.one_hot.items():
        total = table[members].astype(float).sum(axis=1)
        least = (
            1
            if space.domain.columns[space.feature_names.index(name)].n_values == len(members)
            else 0
        )
        if not total.between(least, 1).all():
            return False
    return True


@pytest.mark.parametrize("seed", range(5))
def test_every_input_has_one_category_of_each_group(seed):
    rng = np.random.default_rng(seed)
    X = dummies([bool, np.uint8, float][seed % 3], n=300, seed=seed, drop_first=seed % 2 == 0)
    space = InputSpace().fit(X, ["race"])
    assert space.layout.one_hot
    Z = space.domain.draw(100, rng)
    near = space.domain.neighbours(Z, space.non_sensitive).reshape(-1, space.n_features)
    moved = space.domain.clip(Z + rng.normal(0, 3, Z.shape))
    twins = np.concatenate(
        [space.twins_.with_sensitive(Z, encoded) for encoded in space.twins_.twin_values]
    )
    for encoded in (
        Z,
        near,
        moved,
        twins,
        draw_near(space, 200, rng)[1],
        space.domain.move_inside(Z - 5, rng),
    ):
        assert holds(space.decode(encoded), space)
    assert len(space.twins_.twin_values) == 3  # with or without a column for each


# Who is asked about ------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [["race"], ["race_White"], ["race_Black", "race_White"],
                                   ["race", "race_Other"], "race_Other", [2]])  # fmt: skip
def test_a_group_is_sensitive_by_its_name_and_by_its_columns(named):
    assert InputSpace().fit(dummies(), named).sensitive_features == ["race"]


def test_auto_finds_groups_by_their_names():
    space = InputSpace().fit(dummies(), "auto")
    assert space.sensitive_features == ["age", "race", "sex", "native_country"]


def test_categories_of_a_group_are_its_domain():
    X = dummies()
    for wanted in (["White", "Black"], ["race_White", "race_Black"]):
        space = InputSpace(categories={"race": wanted}).fit(X, ["race"])
        assert space.twins_.n_combinations == 2
        rows = space.decode(space.domain.draw(100, np.random.default_rng(0)))
        assert not rows["race_Other"].any() and rows["race_White"].any()
        assert_frame_equal(space.decode(space.encode(X)), X)  # rows outside it are as they were
    with_none = InputSpace(categories={"race": ["White", None]}).fit(X, ["race"])
    assert (with_none.decode(with_none.domain.draw(50, np.random.default_rng(0)))[
        ["race_Black", "race_Other"]].sum() == 0).all()  # fmt: skip


def test_a_group_that_later_data_lack():
    # Encoders with handle_unknown="ignore" write an unknown category as zeros.
    X = dummies(int)
    space = InputSpace().fit(X, ["sex"])
    later = X.head(10).copy()
    later.loc[2, ["race_White", "race_Black", "race_Other"]] = 0
    assert_frame_equal(space.decode(space.encode(later)), later)
    assert holds(
        space.decode(space.domain.move_inside(space.encode(later), np.random.default_rng(0))), space
    )


def test_missing_rows_of_a_group():
    X = dummies(float)
    own = ["race_Black", "race_Other", "race_White"]
    X.loc[[4, 7], own] = np.nan
    space = InputSpace(one_hot={"race": own, "sex": ["sex_f", "sex_m"]}).fit(X, ["sex"])
    assert_frame_equal(space.decode(space.encode(X)), X)
    X.loc[9, "race_White"] = np.nan
    with pytest.raises(ValueError, match="1 of 200 rows are missing in some of the columns.*9"):
        InputSpace(one_hot={"race": own}).fit(X, ["sex"])


# Audits ------------------------------------------------------------------------------------------


def target(X):
    score = 2.0 * X["race_White"].astype(float) - X["sex_f"].astype(float) + X["income"] / 10
    return (score > 3.3).astype(int)


def small_table(seed, dtype):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"race": rng.choice(list("abc"), 300), "job": rng.choice(list("wxyz"), 300),
         "age": rng.integers(20, 26, 300)}
    )  # fmt: skip
    y = (table["race"] == "a") & (table["job"] != "w") | (table["age"] > 23)
    noise = rng.random(300) < 0.1
    return pd.get_dummies(table, columns=["race", "job"], dtype=dtype), (y ^ noise).astype(int)


MODELS = {
    "forest": lambda: RandomForestClassifier(5, max_depth=5, random_state=0),
    "linear": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "network": lambda: make_pipeline(
        StandardScaler(), MLPClassifier((4,), max_iter=30, random_state=0)
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("sensitive", ["race", "age"])
@pytest.mark.parametrize("kind", some(MODELS))
def test_certificates_are_about_the_inputs_that_exist(kind, sensitive):
    X, y = small_table(1, [bool, float, np.uint8][len(kind) % 3])
    model = MODELS[kind]().fit(X, y)
    space = InputSpace().fit(X, [sensitive])
    rows = np.array(list(product(*[column.grid() for column in space.domain.columns])))
    p = pd.Series(model.predict_proba(space.decode(rows))[:, 1])
    gaps = p.groupby([rows[:, j] for j in space.non_sensitive]).agg(["min", "max"])
    auditor = CertifiedAuditor(
        model, sensitive_features=[sensitive], random_state=0, max_queries=500, max_time=60
    ).fit(X)
    assert auditor.stop_kind_ == "complete"
    assert auditor.fairness_degree_ == pytest.approx((gaps["max"] - gaps["min"]).max(), abs=1e-9)
    assert holds(auditor.worst_case_, space)


def test_results_show_the_columns_as_they_are(capsys):
    X = dummies()
    model = RandomForestClassifier(5, max_depth=5, random_state=0).fit(X, target(X))
    auditor = SBFTAuditor(model, sensitive_features=["race_White"], max_queries=600,
                          random_state=0, verbose=1).fit(X)  # fmt: skip
    assert auditor.sensitive_features_ == ["race"] and "race" in auditor.one_hot_
    assert "one-hot groups: {'race'" in capsys.readouterr().out
    assert list(auditor.worst_case_.columns) == list(X.columns)
    assert holds(auditor.worst_case_, auditor.space_)
    assert holds(auditor.discriminatory_inputs_, auditor.space_)
    audited = auditor.audit_rows(X.head(20))
    assert len(audited.disparities) == 20
    alone = SBFTAuditor(
        model,
        sensitive_features=["race_White"],
        max_queries=600,
        random_state=0,
        space=InputSpace(one_hot=None),
    ).fit(X)
    assert alone.one_hot_ == {}
    different = alone.worst_case_.iloc[0] != alone.worst_case_.iloc[1]
    assert different[different].index.tolist() == ["race_White"]


def test_rules_name_the_categories():
    X = dummies(n=600)
    model = RandomForestClassifier(5, max_depth=5, random_state=0).fit(X, target(X))
    auditor = TestSGDAuditor(model, sensitive_features=["race", "sex"], random_state=0,
                             error_threshold=0.1).fit(X)  # fmt: skip
    assert auditor.one_hot_["sex"] == ["sex_f", "sex_m"]
    assert "race = White" in auditor.rules_["rule"].tolist()
    matched = auditor.matches(X, "race = White")
    np.testing.assert_array_equal(matched, X["race_White"])


def test_estimates_and_gradients_of_a_group():
    X = dummies(float)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, target(X))
    near = estimate_discrimination(
        model, X, sensitive_features=["race"], near="data", n_samples=200
    )
    assert near.degree > 0
    weights = model[-1].coef_[0] / model[0].scale_

    def gradient(table):
        p = model.predict_proba(table)[:, 1]
        return (p * (1 - p))[:, None] * weights

    own = EIDIGAuditor(model, sensitive_features=["sex"], gradient=gradient, max_queries=50,
                       random_state=0).fit(X)  # fmt: skip
    assert own.fairness_degree_ > 0
    with pytest.raises(ValueError, match="finite numbers of shape .*, 10"):
        EIDIGAuditor(model, sensitive_features=["sex"], max_queries=50,
                     gradient=lambda table: np.zeros((len(table), 5))).fit(X)  # fmt: skip


# Bad input ---------------------------------------------------------------------------------------

RACE = ["race_White", "race_Black", "race_Other"]


@pytest.mark.parametrize(
    ("one_hot", "message"),
    [
        ({"race": RACE, "other": ["race_White", "sex_f"]}, "'race' and 'other'.*overlap"),
        ({"race": ["race_White", "race_Green"]}, "'race_Green'.*not a column"),
        ({"race": ["race_White"]}, "at least two different columns"),
        ({"race": ["race_White", "race_White"]}, "at least two different columns"),
        ({"race": "race_White"}, "must give a list of columns"),
        ({"odd": ["age", "sex_f"]}, "'odd'.*200 of 200 rows hold numbers other than 0 and 1 in"),
        ({"odd": ["race_White", "sex_f"]}, "'odd'.*of 200 rows sum to more than one.*rows "),
        ({"age": RACE}, "'age', which is the name of a column beside it"),
        ("yes", "'auto', None or a dict"),
        ([RACE], "'auto', None or a dict"),
    ],
)
def test_groups_that_cannot_be(one_hot, message):
    with pytest.raises(ValueError, match=message):
        InputSpace(one_hot=one_hot).fit(dummies(int), ["income"])


def test_a_column_of_words_is_no_column_of_a_group():
    X = people()
    with pytest.raises(ValueError, match="'race'.*expected a column of 0 and 1"):
        InputSpace(one_hot={"both": ["race", "sex"]}).fit(X, ["age"])


@pytest.mark.parametrize("wish", [{"bounds": {"race_White": (0, 1)}}, {"steps": {"race_White": 1}},
                                  {"categories": {"race_White": [0, 1]}}])  # fmt: skip
def test_a_column_of_a_given_group_has_no_domain_of_its_own(wish):
    with pytest.raises(ValueError, match="race_White.*of the one-hot group 'race'"):
        InputSpace(one_hot={"race": RACE}, **wish).fit(dummies(int), ["sex"])


def test_categories_that_a_group_lacks():
    with pytest.raises(ValueError, match="'Green', which is no category of the one-hot group"):
        InputSpace(categories={"race": ["White", "Green"]}).fit(dummies(), ["race"])
    with pytest.raises(ValueError, match="different categories, at least one"):
        InputSpace(categories={"race": []}).fit(dummies(), ["race"])
    with pytest.raises(ValueError, match="'rase', which is not a column"):
        InputSpace(categories={"rase": ["White"]}).fit(dummies(), ["race"])
    with pytest.raises(ValueError, match="names columns.*more than once"):
        InputSpace().fit(dummies(), ["race_White", "race_White"])


def test_rows_of_later_data_that_break_a_group_are_named():
    X = dummies(int)
    auditor = RandomAuditor(
        make_pipeline(StandardScaler(), LogisticRegression()), sensitive_features=["sex"],
        max_queries=200, random_state=0,
    ).fit(X, target(X))  # fmt: skip
    later = X.copy()
    later.loc[[5, 8], RACE] = 1
    with pytest.raises(ValueError, match=r"'race'.*2 of 200 rows sum to more than one \(rows 5, 8"):
        auditor.audit_rows(later)
