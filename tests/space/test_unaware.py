"""Moved twins of a model that never takes the sensitive column: searches, certificates, scorers."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import skops.io
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import skfairtest
from skfairtest import (
    ADFAuditor,
    AequitasAuditor,
    CertifiedAuditor,
    EIDIGAuditor,
    InputSpace,
    MAFTAuditor,
    PublishedSBFTAuditor,
    QuantileTransport,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    SymbolicAuditor,
    ThemisAuditor,
    certify,
    make_audit_scorer,
)
from skfairtest.io import TRUSTED_TYPES

SPACE = InputSpace(twins=QuantileTransport())
SETTINGS = {"space": SPACE, "max_queries": 200, "random_state": 0}
SEARCHES = [
    RandomAuditor, SBFTAuditor, PublishedSBFTAuditor, SurrogateAuditor, AequitasAuditor,
    ThemisAuditor, MAFTAuditor, ADFAuditor, EIDIGAuditor, SymbolicAuditor,
]  # fmt: skip


def table(n=240, seed=0):
    """Numbers, categories and missing values, which all go along with the sex; it is beside."""
    rng = np.random.default_rng(seed)
    shift = rng.random(n) < 0.5
    X = pd.DataFrame({"years": rng.integers(0, 4, size=n) + shift})
    X["income"] = 20 + 10 * shift + rng.normal(0, 5, size=n)
    X["job"] = pd.Categorical(np.where(rng.random(n) < 0.3 + 0.3 * shift, "a", "b"))
    y = X["income"] + 5 * X["years"] + 4 * (X["job"] == "a") > 37
    X.loc[rng.random(n) < 0.1 + 0.1 * shift, "income"] = np.nan
    return X, y, pd.Series(np.where(shift, "m", "f"), name="sex")


def small_table(n=240, seed=0):
    """The same with few values, so that all inputs can be listed."""
    X, y, sex = table(n, seed)
    X["income"] = (X["income"] // 12).clip(1, 3)
    return X, y, sex


def pipeline(last):
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return make_pipeline(
        make_column_transformer((OneHotEncoder(), ["job"]), remainder=numbers), last
    )


def numbers(seed=0):
    """Numbers alone, which models take without steps before them; and such a model."""
    X, y, sex = table(seed=seed)
    X = X[["years", "income"]].fillna(20.0)
    return X, y, sex, LogisticRegression().fit(X, y)


LAST = [LogisticRegression(), RandomForestClassifier(3, max_depth=4, random_state=0)]


def enumerated(model, X, sex):
    """The largest difference between any input of a group and where it is moved; by the table."""
    whole = X.assign(sex=sex)
    transport = QuantileTransport(keep=["sex"]).fit(whole, sex)
    values = [pd.unique(X[name].astype(object)) for name in X]
    inputs = pd.DataFrame(list(itertools.product(*values)), columns=X.columns)
    inputs = inputs.astype(X.dtypes.to_dict())
    largest, shown = 0.0, None
    for own, other in (("f", "m"), ("m", "f")):
        rows = inputs.assign(sex=own)
        moved = transport.transport(rows, rows["sex"], to=other)
        gaps = np.abs(
            model.predict_proba(inputs)[:, 1] - model.predict_proba(moved[X.columns])[:, 1]
        )
        if gaps.max() > largest:
            largest, shown = gaps.max(), int(gaps.argmax())
    assert shown is not None
    return largest


@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_search_of_all_inputs_finds_what_brute_force_finds(last, seed):
    X, y, sex = small_table(seed=seed)
    model = pipeline(clone(last)).fit(X, y)
    expected = enumerated(model, X, sex)
    assert expected > 0.05
    auditor = SBFTAuditor(model, space=SPACE, max_queries=20_000, random_state=0)
    auditor.fit(X, sensitive_features=sex)
    assert auditor.fairness_degree_ == pytest.approx(expected, abs=1e-12)
    assert auditor.n_inputs_ == auditor.space_.n_inputs


@pytest.mark.parametrize(
    ("kind", "last"),
    [*((kind, LAST[0]) for kind in SEARCHES), (SBFTAuditor, LAST[1]), (ADFAuditor, LAST[1])],
)
def test_testers_find_moved_twins_of_a_model_without_the_column(kind, last):
    X, y, sex = table(120)
    model = pipeline(clone(last)).fit(X, y)
    auditor = kind(model, **SETTINGS)
    if kind is ADFAuditor and last is LAST[1]:
        auditor.set_params(gradient=lambda rows: np.ones((len(rows), rows.shape[1])))
    auditor.fit(X, sensitive_features=sex)
    assert auditor.fairness_degree_ > 0.05
    assert auditor.sensitive_features_ == ["sex"]
    # A reader sees who is compared with whom, and which columns moved.
    worst = auditor.worst_case_
    assert list(worst.columns) == ["years", "income", "job", "sex"]
    assert worst.dtypes[:3].equals(X.dtypes)
    assert sorted(worst["sex"]) == ["f", "m"]
    assert (worst.iloc[0, :3].astype(str) != worst.iloc[1, :3].astype(str)).any()
    said = model.predict_proba(worst[X.columns])[:, 1]
    assert said[0] - said[1] == pytest.approx(auditor.fairness_degree_)
    assert (auditor.discriminatory_inputs_["sex"] != auditor.counterfactuals_["sex"]).all()


@pytest.mark.parametrize("last", LAST)
def test_certificates_bound_a_model_without_the_column(last):
    X, y, sex = small_table()
    model = pipeline(clone(last)).fit(X, y)
    auditor = CertifiedAuditor(model, **SETTINGS).fit(X, sensitive_features=sex)
    assert auditor.certified_, auditor.stop_reason_
    # All ranks of rows, of which those of the table's rows are some.
    assert auditor.fairness_degree_upper_bound_ >= enumerated(model, X, sex) - 1e-9
    assert set(auditor.worst_case_["sex"]) == {"f", "m"}
    found = RandomAuditor(model, **SETTINGS).fit(X, sensitive_features=sex)
    certificate = certify(found)
    assert certificate.certified
    assert certificate.fairness_degree_upper_bound == pytest.approx(
        auditor.fairness_degree_upper_bound_
    )
    assert set(certificate.worst_case["sex"]) == {"f", "m"}


# Where the column may stand -----------------------------------------------------------------------


def audited(model, X, **beside):
    fit = {name: beside.pop(name) for name in ("sensitive_features", "y") if name in beside}
    params = {**SETTINGS, **beside.pop("params", {})}
    return RandomAuditor(model, **params).fit(X, **fit)


def test_all_ways_to_pass_the_column_give_the_same_result():
    X, y, sex, model = numbers()
    expected = audited(model, X, sensitive_features=sex)
    whole = X.assign(sex=sex)
    frame, space = sex.to_frame(), InputSpace(twins=QuantileTransport()).fit(whole, ["sex"])
    others = [
        audited(model, X, sensitive_features=frame),
        audited(model, X, sensitive_features=sex, params={"sensitive_features": "sex"}),
        audited(model, X, params={"sensitive_features": sex}),
        audited(model, whole),
        audited(model, whole[["sex", *X.columns]], params={"sensitive_features": ["sex"]}),
        audited(model, whole, params={"space": space}),
        audited(model, X, sensitive_features=sex, params={"space": space}),
        audited(clone(model), X, y=y, sensitive_features=sex),
        audited(model, [whole]),
    ]
    for other in others:
        assert other.fairness_degree_ == expected.fairness_degree_
        pd.testing.assert_frame_equal(other.worst_case_, expected.worst_case_)
        assert other.sensitive_features_ == ["sex"]


def test_values_without_a_name_and_several_columns():
    X, y, sex, model = numbers()
    unnamed = audited(model, X, sensitive_features=sex.to_numpy())
    assert unnamed.sensitive_features_ == ["sensitive feature"]
    two = sex.to_frame().assign(region=np.resize(["n", "s"], len(X)))
    both = audited(model, X, sensitive_features=two)
    assert both.sensitive_features_ == ["sex", "region"]
    assert len(both.space_.twins_.twin_codes) == 4
    # One that the model takes, and one that it does not take.
    seen = X.assign(region=two["region"] == "n")
    partly = LogisticRegression().fit(seen, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = audited(
            partly, seen, sensitive_features=sex, params={"sensitive_features": ["region"]}
        )
    assert found.sensitive_features_ == ["region", "sex"]
    assert found.estimator_.dropping.names == ["sex"]


class OfArrays(RegressorMixin, BaseEstimator):
    """Takes arrays of single precision alone, and says what it was shown."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        assert isinstance(X, np.ndarray) and X.dtype == np.float32 and X.shape[1] == 2
        return X.sum(axis=1)


def test_arrays_become_frames_with_the_column_and_the_model_is_shown_arrays():
    X, _, sex = table()
    rows = X[["years", "income"]].fillna(20.0).to_numpy(dtype=np.float32)
    model = OfArrays().fit(rows)
    auditor = audited(model, rows, sensitive_features=sex)
    assert list(auditor.worst_case_.columns) == ["x0", "x1", "sex"]
    assert auditor.fairness_degree_ > 5
    np.testing.assert_array_equal(auditor.predict(rows), model.predict(rows))
    worst = auditor.predict(auditor.worst_case_)
    assert worst[0] - worst[1] == pytest.approx(auditor.fairness_degree_)


def test_frames_of_polars_stay_frames_of_polars():
    X, _, sex = table()
    frame = pl.DataFrame(
        {"years": X["years"].to_numpy(), "income": X["income"].fillna(20).to_numpy()}
    )

    class Model:
        def predict(self, rows):
            assert isinstance(rows, pl.DataFrame) and rows.columns == ["years", "income"]
            return rows["years"].to_numpy() + rows["income"].to_numpy()

    auditor = audited(Model(), frame, sensitive_features=sex)
    assert isinstance(auditor.worst_case_, pl.DataFrame)
    assert set(auditor.worst_case_["sex"]) == {"f", "m"}


# What else uses it --------------------------------------------------------------------------------


def test_without_a_transport_there_is_still_nothing_to_search():
    X, y, sex, model = numbers()
    with pytest.raises(ValueError, match=r"does not take sex.*InputSpace\(twins=Quantile"):
        RandomAuditor(model).fit(X, sensitive_features=sex)
    with pytest.raises(ValueError, match="one row for each row of X"):
        RandomAuditor(model, **SETTINGS).fit(X, sensitive_features=sex[:5])
    with pytest.raises(ValueError, match="chunks"):
        RandomAuditor(model, **SETTINGS).fit([X], sensitive_features=sex)


def test_an_error_of_the_model_names_the_model():
    X, _, sex = table()

    class Failing:
        def predict(self, rows):
            raise RuntimeError("no")

    with pytest.raises(skfairtest.exceptions.EstimatorFailedError, match=r"^Failing\.predict rais"):
        audited(Failing(), X, sensitive_features=sex)


def test_the_fitted_auditor_predicts_saves_and_shows():
    X, y, sex, model = numbers()
    auditor = audited(model, X, sensitive_features=sex)
    for rows in (X, X.assign(sex=sex)):
        np.testing.assert_array_equal(auditor.predict_proba(rows), model.predict_proba(X))
    assert auditor.score(X, y) == model.score(X, y)
    np.testing.assert_array_equal(auditor.classes_, model.classes_)
    assert auditor.audit_rows(X.assign(sex=sex)).degree == auditor.on_data_degree_ > 0
    for again in (
        pickle.loads(pickle.dumps(auditor)),
        skops.io.loads(skops.io.dumps(auditor), trusted=TRUSTED_TYPES),
    ):
        pd.testing.assert_frame_equal(again.worst_case_, auditor.worst_case_)
        assert again.predict(X).tolist() == model.predict(X).tolist()
    card = auditor._repr_html_()
    assert "LogisticRegression" in card and "moved twin" in card.lower()
    assert "identical but" not in card


def test_a_scorer_prefers_the_model_without_proxies():
    X, y, sex, model = numbers()
    scorer = make_audit_scorer(RandomAuditor(space=SPACE, max_queries=300), random_state=0)
    score = scorer(model, X, y, sensitive_features=sex)
    expected = RandomAuditor(model, space=SPACE, max_queries=300, random_state=0)
    assert score == -expected.fit(X, sensitive_features=sex).fairness_degree_
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            LogisticRegression(),
            {"C": [1e-6, 1.0]},
            scoring=scorer.set_score_request(sensitive_features=True),
            cv=2,
        ).fit(X, y, sensitive_features=sex)
    assert search.best_params_["C"] == 1e-6


def test_a_difference_that_the_map_does_not_make_is_none():
    X, y, sex, model = numbers()
    model.coef_[:] = 0.0
    with pytest.warns(skfairtest.exceptions.NoDisparityWarning, match="moved twins"):
        audited(model, X, sensitive_features=sex, params={"max_queries": 800})


def test_boosting_behind_nothing_is_certified_without_the_column():
    X, y, sex = small_table()
    rows = X[["years", "income"]].fillna(0.0)
    model = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(rows, y)
    auditor = CertifiedAuditor(model, **SETTINGS).fit(rows, sensitive_features=sex)
    assert auditor.certified_ and auditor.fairness_degree_ > 0
