"""Tests of the planted data sets."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skfairtest import selection_table
from skfairtest.datasets import (
    _response,
    make_admissions,
    make_biased_classification,
    make_biased_regression,
)
from skfairtest.datasets._known import KnownClassifier, KnownRegressor

VARIANTS = ["smooth", "narrow", "many-valued"]
MAKERS = [make_biased_regression, make_biased_classification]


def response(estimator, data):
    if isinstance(estimator, KnownClassifier):
        return estimator.predict_proba(data)[:, 1]
    return estimator.predict(data)


def spread(bunch, contexts):
    """Return, per context, the difference between the extreme sensitive values."""
    (sensitive,) = bunch.sensitive_features
    answers = [
        response(bunch.estimator, contexts.assign(**{sensitive: value}))
        for value in bunch.worst_case[sensitive]
    ]
    return answers[1] - answers[0]


def uniform(bunch, n_rows, seed):
    """Draw contexts uniformly from the domain that the data span."""
    rng = np.random.default_rng(seed)
    columns = {}
    for name, column in bunch.data.items():
        if column.dtype.kind == "i":
            values = rng.integers(column.min(), column.max(), n_rows, endpoint=True)
        elif column.dtype.kind == "f":
            values = rng.uniform(column.min(), column.max(), n_rows)
        else:
            values = rng.choice(column.unique(), n_rows)
        columns[name] = values
    return pd.DataFrame(columns)


def grid(variant):
    """Return a grid of contexts, fine where the effect of the variant varies."""
    fixed = _response.peak(variant)
    if variant == "narrow":
        axes = {
            "points": range(18, 81, 3),
            "income": np.linspace(0, 100, 11),
            "hours": range(0, 61, 5),
            "experience": range(0, 41, 4),
            "region": ["region_0", "region_6"],
            "score": [0.0, 0.35, 1.0],
        }
    else:
        axes = {
            "income": np.linspace(0, 100, 101),
            "hours": range(61),
            "job": _response.JOBS,
            "owner": [False, True],
        }
    mesh = pd.MultiIndex.from_product(axes.values(), names=list(axes)).to_frame(index=False)
    return mesh.assign(**{name: value for name, value in fixed.items() if name not in axes})


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("make", MAKERS)
def test_degree_is_exact(make, variant):
    bunch = make(400, variant=variant, random_state=0)
    assert bunch.fairness_degree == bunch.estimator.degree
    differences = spread(bunch, grid(variant))
    assert np.max(np.abs(differences)) == pytest.approx(bunch.fairness_degree, rel=1e-12)
    assert np.max(np.abs(spread(bunch, uniform(bunch, 20_000, 1)))) <= bunch.fairness_degree + 1e-12

    low, high = response(bunch.estimator, bunch.worst_case)
    assert high - low == pytest.approx(bunch.fairness_degree, rel=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("make", MAKERS)
def test_worst_case_is_a_pair_of_twins_inside_the_domain(make, variant):
    bunch = make(300, variant=variant, random_state=0)
    assert bunch.worst_case.shape == (2, 9)
    assert bunch.worst_case.dtypes.equals(bunch.data.dtypes)
    changed = bunch.worst_case.nunique().loc[lambda counts: counts > 1].index.tolist()
    assert changed == bunch.sensitive_features
    for name, column in bunch.data.items():
        if column.dtype.kind in "if":
            assert bunch.worst_case[name].between(column.min(), column.max()).all()
        else:
            assert bunch.worst_case[name].isin(column.unique()).all()


def test_no_pair_of_countries_exceeds_the_degree():
    bunch = make_biased_regression(300, variant="many-valued", random_state=0)
    rows = pd.concat([bunch.worst_case.head(1)] * 293, ignore_index=True)
    rows["country_of_birth"] = list(_response.COUNTRIES)
    values = np.sort(bunch.estimator.predict(rows))
    assert values[-1] - values[0] == pytest.approx(bunch.fairness_degree)
    assert len(np.unique(_response.COUNTRY_WEIGHTS)) == 293
    # Few pairs are far apart: this is what makes a random choice of pairs a poor one.
    gaps = np.abs(values[:, None] - values[None, :])
    assert np.mean(gaps > 0.9 * bunch.fairness_degree) < 0.05


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", range(5))
def test_uniform_testing_misses_the_narrow_pocket(make, seed):
    bunch = make(200, variant="narrow", random_state=seed)
    found = np.max(np.abs(spread(bunch, uniform(bunch, 10_000, seed))))
    assert 0 < found < 0.9 * bunch.fairness_degree


def test_pocket_can_be_climbed_one_column_at_a_time():
    bunch = make_biased_regression(200, variant="narrow", random_state=0)
    start = bunch.worst_case.assign(
        points=60, income=10.0, hours=5, experience=30, region="region_0", score=0.9
    )
    steps = [spread(bunch, start.head(1))[0]]
    for name in ["points", "income", "hours", "experience", "region", "score"]:
        start[name] = bunch.worst_case[name]
        steps.append(spread(bunch, start.head(1))[0])
    assert steps[0] == pytest.approx(0)
    assert np.all(np.diff(steps) > 0)
    assert steps[-1] == pytest.approx(bunch.fairness_degree)


@pytest.mark.parametrize(("variant", "n_samples"), [("smooth", 10), ("many-valued", 293)])
@pytest.mark.parametrize("make", MAKERS)
def test_whole_domain_occurs_in_the_smallest_data(make, variant, n_samples):
    bunch = make(n_samples, variant=variant, random_state=3)
    assert bunch.data.shape == (n_samples, 9)
    for name, ends in _response.BOUNDS.items():
        assert (bunch.data[name].min(), bunch.data[name].max()) == ends
    assert set(bunch.data["job"]) == set(_response.JOBS)
    assert set(bunch.data["region"]) == set(_response.REGIONS)
    assert set(bunch.data["owner"]) == {False, True}
    levels, _ = _response.sensitive_values(variant)
    assert set(bunch.data[bunch.sensitive_features[0]]) == set(levels)
    with pytest.raises(ValueError, match=f"at least {n_samples}"):
        make(n_samples - 1, variant=variant)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("make", MAKERS)
def test_bunch(make, variant):
    bunch = make(300, variant=variant, random_state=0)
    assert bunch.feature_names == list(bunch.data.columns)
    assert len(bunch.sensitive_features) == 1
    assert [bunch.data[name].dtype.kind for name in bunch.feature_names[1:5]] == list("ifii")
    assert bunch.data["owner"].dtype == bool
    assert isinstance(bunch.target, pd.Series)
    assert bunch.target.index.equals(bunch.data.index)
    assert variant in bunch.DESCR
    if make is make_biased_classification:
        assert set(bunch.target) == {"no", "yes"}
        answers = set(bunch.estimator.predict(pd.concat([bunch.data, bunch.worst_case])))
        assert answers == {"no", "yes"}
    else:
        assert bunch.target.dtype == np.float64


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "source",
    [
        lambda: 7,
        lambda: np.int64(7),
        lambda: np.random.RandomState(7),
        lambda: np.random.default_rng(7),
    ],
    ids=["int", "numpy-int", "RandomState", "Generator"],
)
def test_same_seed_same_data(make, source):
    first, second = make(50, random_state=source()), make(50, random_state=source())
    pd.testing.assert_frame_equal(first.data, second.data)
    pd.testing.assert_series_equal(first.target, second.target)
    assert not first.data.equals(make(50, random_state=8).data)
    assert make(50, random_state=None).data.shape == (50, 9)


def test_noise_is_what_the_target_adds():
    quiet = make_biased_regression(100, noise=0.0, random_state=0)
    np.testing.assert_allclose(quiet.target, quiet.estimator.predict(quiet.data))
    loud = make_biased_regression(5000, noise=3.0, random_state=0)
    assert np.std(loud.target - loud.estimator.predict(loud.data)) == pytest.approx(3.0, rel=0.05)


def test_probabilities_are_probabilities():
    bunch = make_biased_classification(5000, degree=0.7, random_state=0)
    proba = bunch.estimator.predict_proba(pd.concat([bunch.data, bunch.worst_case]))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert proba.min() >= 0.0
    assert proba.max() <= 1.0
    expected = np.where(proba[:, 1] > 0.5, "yes", "no")
    assert (bunch.estimator.predict(pd.concat([bunch.data, bunch.worst_case])) == expected).all()
    rate = (bunch.target == "yes").mean()
    assert rate == pytest.approx(proba[:5000, 1].mean(), abs=0.03)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"variant": "wide"}, "smooth.*narrow.*many-valued"),
        ({"degree": 0.0}, "degree must be"),
        ({"degree": -1}, "degree must be"),
        ({"degree": np.nan}, "degree must be"),
        ({"degree": np.inf}, "degree must be"),
        ({"degree": "0.5"}, "degree must be"),
        ({"degree": True}, "degree must be"),
        ({"n_samples": 9}, "n_samples must be"),
        ({"n_samples": 100.0}, "n_samples must be"),
        ({"random_state": "seed"}, "random_state must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_bad_parameters(make, parameters, message):
    with pytest.raises(ValueError, match=message):
        make(**parameters)


def test_bad_parameters_of_one_task():
    with pytest.raises(ValueError, match=r"at most 0\.7"):
        make_biased_classification(100, degree=0.71)
    assert make_biased_regression(100, degree=500).fairness_degree == 500.0
    for noise in (-1.0, np.nan, "1"):
        with pytest.raises(ValueError, match="noise must be"):
            make_biased_regression(100, noise=noise)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("known", [KnownRegressor, KnownClassifier])
def test_containers_give_the_same_answers(known, variant):
    polars = pytest.importorskip("polars")
    data = make_biased_regression(300, variant=variant, random_state=0).data
    estimator = known(variant=variant, degree=0.5)
    expected = response(estimator, data)
    as_polars = polars.DataFrame({name: data[name].tolist() for name in data})
    texts = [name for name in data if data[name].dtype.kind not in "bif"]
    others = {
        "polars": as_polars,
        "polars categories": as_polars.with_columns(polars.col(texts).cast(polars.Categorical)),
        "categories": data.astype(dict.fromkeys(texts, "category")),
        "objects": data.astype(object),
        "reordered": data[data.columns[::-1]],
    }
    for name, other in others.items():
        np.testing.assert_array_equal(response(estimator, other), expected, err_msg=name)


@pytest.mark.parametrize("known", [KnownRegressor, KnownClassifier])
def test_known_estimators_follow_scikit_learn(known):
    bunch = make_biased_regression(100, random_state=0)
    estimator = known(variant="smooth", degree=0.4)
    check_is_fitted(estimator)
    assert estimator.get_params() == {"variant": "smooth", "degree": 0.4}
    expected = response(estimator, bunch.data)
    copies = [clone(estimator), pickle.loads(pickle.dumps(estimator))]
    for copy in [*copies, clone(estimator).fit(bunch.data, bunch.target)]:
        np.testing.assert_array_equal(response(copy, bunch.data), expected)
    fitted = clone(estimator).fit(bunch.data)
    assert list(fitted.feature_names_in_) == bunch.feature_names
    assert fitted.n_features_in_ == 9
    assert not fitted.__sklearn_tags__().requires_fit


@pytest.mark.parametrize("known", [KnownRegressor, KnownClassifier])
def test_known_estimators_reject_what_they_do_not_know(known):
    data = make_biased_regression(100, random_state=0).data
    with pytest.raises(ValueError, match="variant must be"):
        known("wide", 0.6).fit(data)
    with pytest.raises(ValueError, match="degree must be"):
        known("smooth", -1.0).predict(data)
    with pytest.raises(ValueError, match="column 'score'"):
        known("smooth", 0.6).fit(data.drop(columns="score"))
    with pytest.raises(ValueError, match="country_of_birth"):
        known("many-valued", 0.6).predict(data)
    with pytest.raises(ValueError, match="'astronaut'"):
        known("smooth", 0.6).predict(data.assign(job="astronaut"))
    with pytest.raises(TypeError, match="data frame"):
        known("smooth", 0.6).predict(data.to_numpy())


@pytest.mark.parametrize("ratio", [1.0, 0.7])
def test_admissions_have_the_ratios_that_they_state(ratio):
    bunch = make_admissions(200_000, ratio_within=ratio, random_state=0)
    X, admitted = bunch.data, bunch.target == "admitted"
    table = selection_table(
        admitted, sensitive_features=X["gender"], control_features=X["department"], favourable=True
    )
    women = table[(table["group"] == "woman") & (table["stratum"] == "")].iloc[0]
    assert women["impact_ratio"] == pytest.approx(bunch.ratio_overall, rel=0.02)
    assert women["ratio_within_low"] < bunch.ratio_within < women["ratio_within_high"]
    assert women["from_rates"] == pytest.approx(bunch.from_rates, abs=0.005)
    assert women["from_composition"] == pytest.approx(bunch.from_composition, abs=0.005)
    pd.testing.assert_frame_equal(make_admissions(9, random_state=1).data,
                                  make_admissions(9, random_state=1).data)  # fmt: skip


@pytest.mark.parametrize("wrong", [{"n_samples": 0}, {"ratio_within": 1.5}, {"ratio_within": 0}])
def test_admissions_that_cannot_be(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        make_admissions(**wrong)
