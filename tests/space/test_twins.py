"""`given`: columns that follow from a sensitive value, so that twins differ in them, too."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from tiers import SAMPLE, slow_sample

from skfairtest import (
    AequitasAuditor,
    CertifiedAuditor,
    InputSpace,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    ThemisAuditor,
    certify,
)
from skfairtest.transports import QuantileTransport

GIVEN = {"sex": {"male": {"pregnancies": 0}}}


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["female", "male"], size=n)
    return pd.DataFrame(
        {
            "sex": sex,
            "pregnancies": np.where(sex == "male", 0, rng.integers(0, 6, size=n)),
            "age": rng.integers(20, 60, size=n),
        }
    )


def by_function(rows):
    rows = rows.copy()
    rows.loc[rows["sex"] == "male", "pregnancies"] = 0
    return rows


class Watching(RegressorMixin, BaseEstimator):
    """Risk by pregnancies and sex; keeps the rows that it was asked about."""

    def __init__(self, log=None):
        self.log = log

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        if self.log is not None:
            self.log.append(X.copy())
        return X["pregnancies"] + 0.5 * (X["sex"] == "male") + 0.0 * X["age"].to_numpy()


AUDITORS = [RandomAuditor, SBFTAuditor, SurrogateAuditor, AequitasAuditor, ThemisAuditor]


#: A function takes a table apart for each batch, which is slow where batches are small.
PAIRS = [
    pytest.param(
        auditor, given, id=f"{auditor.__name__}-{name}",
        marks=SAMPLE if auditor is SBFTAuditor or name == "function" else [],
    )
    for auditor in AUDITORS
    for name, given in {"mapping": GIVEN, "function": by_function}.items()
]  # fmt: skip


@pytest.mark.parametrize("auditor, given", PAIRS)
def test_the_model_sees_only_rows_in_which_it_holds(auditor, given):
    log = []
    model = Watching(log).fit(table())
    audit = auditor(
        model,
        sensitive_features="sex",
        max_queries=2000,
        random_state=0,
        space=InputSpace(twins=given),
    ).fit(table())
    seen = pd.concat(log)
    assert (seen.loc[seen["sex"] == "male", "pregnancies"] == 0).all()
    assert (seen.loc[seen["sex"] == "female", "pregnancies"] > 0).any()
    # Five pregnancies against none and half a point; without `twins` it would be 0.5 everywhere.
    assert audit.fairness_degree_ == pytest.approx(4.5)


@slow_sample
def test_twins_are_shown_with_what_follows():
    model = Watching().fit(table())
    audit = SBFTAuditor(
        model,
        sensitive_features="sex",
        max_queries=2000,
        random_state=0,
        space=InputSpace(twins=GIVEN),
    ).fit(table())
    worst = audit.worst_case_.set_index("sex")
    assert worst.loc["female", "pregnancies"] == 5
    assert worst.loc["male", "pregnancies"] == 0
    both = pd.concat([audit.discriminatory_inputs_, audit.counterfactuals_])
    assert (both.loc[both["sex"] == "male", "pregnancies"] == 0).all()
    rows = audit.audit_rows(table())
    assert rows.disparities.max() == pytest.approx(4.5)


def enumerated(model, X):
    """Largest difference between a woman and the man that follows from her, one by one."""
    ages = np.arange(X["age"].min(), X["age"].max() + 1)
    grid = pd.MultiIndex.from_product([range(6), ages], names=["pregnancies", "age"])
    women = grid.to_frame(index=False)
    women.insert(0, "sex", 0)
    men = women.assign(sex=1, pregnancies=0)
    return np.abs(model.predict(women) - model.predict(men)).max()


#: Forests and linear models in turn.
@slow_sample
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))]
)
def test_a_certificate_holds_for_twins_that_differ_in_more(seed):
    X = table(seed=seed)
    X["sex"] = (X["sex"] == "male").astype(int)
    rng = np.random.default_rng(seed)
    y = X["pregnancies"] * rng.normal() + X["age"] / 20 + X["sex"] * rng.normal()
    model = (
        LinearRegression()
        if seed % 2
        else RandomForestRegressor(5, max_depth=4, random_state=seed, n_jobs=1)
    ).fit(X, y)
    given = {"sex": {1: {"pregnancies": 0}}}
    true = enumerated(model, X)
    audit = CertifiedAuditor(
        model, sensitive_features="sex", max_time=5, random_state=0, space=InputSpace(twins=given)
    ).fit(X)
    assert audit.fairness_degree_ <= true * (1 + 1e-9)
    assert audit.fairness_degree_upper_bound_ >= true * (1 - 1e-9)
    found = SBFTAuditor(
        model, sensitive_features="sex", random_state=0, space=InputSpace(twins=given)
    ).fit(X)
    assert found.fairness_degree_ == pytest.approx(true, rel=1e-6)
    assert certify(found).fairness_degree_upper_bound >= true * (1 - 1e-9)


def test_a_certificate_refuses_a_function():
    X = table().assign(sex=lambda t: (t["sex"] == "male").astype(int))
    model = LinearRegression().fit(X, X["age"])
    with pytest.raises(ValueError, match="to be a mapping; got a function"):
        CertifiedAuditor(
            model, sensitive_features="sex", space=InputSpace(twins=lambda rows: rows)
        ).fit(X)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gender": {"male": {"pregnancies": 0}}}, "'gender', which is not a column"),
        ({"age": {20: {"pregnancies": 0}}}, "'age', which is not sensitive"),
        ({"sex": {"men": {"pregnancies": 0}}}, "not among its 2 known ones: 'men'"),
        ({"sex": {"male": {"pregnancies": 9}}}, "value 9 of column 'pregnancies'"),
        ({"sex": {"male": {"sex": "female"}}}, "which is sensitive itself"),
        ({"sex": {"male": 0}}, "must be a mapping from column to value; got 0"),
        ({"sex": ["male"]}, "must be a mapping; got"),
    ],
)
def test_bad_mappings(given, message):
    with pytest.raises(ValueError, match=message):
        InputSpace(twins=given).fit(table(), ["sex"])


def test_bad_functions():
    with pytest.raises(
        TypeError, match="mapping, a function, or an object with fit and transform; got 3"
    ):
        InputSpace(twins=3).fit(table(), ["sex"])
    for transport in (QuantileTransport(), QuantileTransport):
        with pytest.raises(TypeError, match="which moves people to another group. Use FlipTestAud"):
            InputSpace(twins=transport).fit(table(), ["sex"])
    with pytest.raises(ValueError, match=r"changed the sensitive columns \['sex'\]"):
        InputSpace(twins=lambda rows: rows.assign(sex="male")).fit(table(), ["sex"])
    with pytest.raises(ValueError, match="expected 300 rows, got 5"):
        InputSpace(twins=lambda rows: rows.head()).fit(table(), ["sex"])
    with pytest.raises(ValueError, match="table like the one that it gets"):
        InputSpace(twins=lambda rows: rows[["sex"]]).fit(table(), ["sex"])


def test_rows_of_data_in_which_it_does_not_hold_are_counted():
    X = table()
    X.loc[[3, 7], ["sex", "pregnancies"]] = ["male", 2]
    with pytest.warns(UserWarning, match=r"in 2 of 300 rows of the data \(such as rows \[3, 7\]"):
        InputSpace(twins=GIVEN).fit(X, ["sex"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        InputSpace(twins=GIVEN).fit(table(), ["sex"])


@pytest.mark.filterwarnings("ignore:twins=")
def test_groups_follow_and_are_followed():
    X = pd.get_dummies(table().assign(job=["cook", "driver", "nurse"] * 100), columns=["job"])
    space = InputSpace(twins={"sex": {"male": {"job": "cook"}}}).fit(X, ["sex"])
    Z = space.twins_.with_sensitive(
        space.sample(50, np.random.default_rng(0)), space.twins_.sensitive_values[1]
    )
    assert space.decode(Z)["job_cook"].all()
    assert not space.decode(Z)[["job_driver", "job_nurse"]].any(axis=None)
    with pytest.raises(ValueError, match="a column of the one-hot group 'job'. Name the group"):
        InputSpace(twins={"sex": {"male": {"job_cook": 1}}}).fit(X, ["sex"])
