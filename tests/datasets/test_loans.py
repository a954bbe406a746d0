"""`load_loans`: the planted effects are as large, and lie where, its docstring says."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tiers import slow_sample

from skfairtest import RandomAuditor
from skfairtest.datasets import load_loans
from skfairtest.exceptions import NoDisparityWarning

LOANS = load_loans()
COMMUNITIES = ["Alder", "Birch", "Cedar"]


def granted(data):
    """The rule's probability of "granted"."""
    return LOANS.estimator.predict_proba(data)[:, 0]


def log_odds(data):
    probability = granted(data)
    return np.log(probability / (1 - probability))


def points_lost(data, **changed):
    """By how many points rows get less once columns are changed; 8 points multiply odds by e."""
    return 8 * (log_odds(data) - log_odds(data.assign(**changed)))


def in_the_corner(data):
    is_business = (data["purpose"] == "business").to_numpy()
    return is_business & (data["amount"] >= 10_000) & (data["years_employed"] < 3)


@pytest.fixture(scope="module")
def many():
    return load_loans(50_000, random_state=1)


@pytest.fixture(scope="module")
def anybody(many):
    """Rows whose columns are drawn independently: combinations that nobody has, too."""
    rng = np.random.default_rng(0)
    data = many.data.iloc[:5_000]
    return pd.DataFrame({name: rng.permutation(data[name]) for name in data}).astype(data.dtypes)


def test_birch_loses_8_points_and_32_in_the_corner(anybody):
    rows = anybody.assign(community="Alder")
    lost = points_lost(rows, community="Birch")
    corner = in_the_corner(rows)
    assert corner.any() and not corner.all()
    np.testing.assert_allclose(lost, np.where(corner, 32, 8), rtol=1e-6)


def test_alder_and_cedar_are_treated_alike(anybody):
    rows = anybody.assign(community="Alder")
    np.testing.assert_array_equal(granted(rows), granted(rows.assign(community="Cedar")))


def test_age_has_no_effect_of_its_own(anybody):
    np.testing.assert_array_equal(granted(anybody), granted(anybody.assign(age=75)))


def test_millside_costs_everybody_6_points(anybody):
    rows = anybody[anybody["district"] != "Millside"]
    np.testing.assert_allclose(points_lost(rows, district="Millside"), 6, rtol=1e-6)


def test_nothing_differs_by_more_than_the_degree(anybody):
    by_community = [granted(anybody.assign(community=name)) for name in COMMUNITIES]
    assert np.ptp(by_community, axis=0).max() <= LOANS.fairness_degree + 1e-12
    assert LOANS.fairness_degree == pytest.approx(0.7616, abs=1e-4)


def test_the_worst_case_is_a_pair_of_twins_that_attains_the_degree():
    low, high = granted(LOANS.worst_case)
    assert high - low == pytest.approx(LOANS.fairness_degree, rel=1e-12)
    assert LOANS.worst_case.drop(columns="community").nunique().max() == 1
    assert (LOANS.worst_case.dtypes == LOANS.data.dtypes).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_domain_of_the_smallest_table_holds_the_worst_case(seed):
    loans = load_loans(100, random_state=seed)
    for name, values in loans.data.items():
        if values.dtype == "category":
            assert set(values) == set(loans.data[name].cat.categories)
        else:
            assert loans.worst_case[name].between(values.min(), values.max()).all()


def test_rates_are_those_of_the_docstring(many):
    community = many.data["community"]
    rates = (many.target == "granted").groupby(community, observed=True).mean()
    np.testing.assert_allclose(rates[COMMUNITIES], [0.51, 0.33, 0.51], atol=0.015)
    as_alder = pd.Series(granted(many.data.assign(community="Alder")))
    rates = as_alder.groupby(community, observed=True).mean()
    np.testing.assert_allclose(rates[COMMUNITIES], [0.51, 0.46, 0.51], atol=0.01)
    decisions = [LOANS.estimator.predict(many.data.assign(community=name)) for name in COMMUNITIES]
    assert np.mean(decisions[0] != decisions[1]) == pytest.approx(0.17, abs=0.01)
    assert in_the_corner(many.data).mean() == pytest.approx(0.05, abs=0.005)


def test_communities_differ_in_district_alone(many):
    data = many.data
    millside = (data["district"] == "Millside").groupby(data["community"], observed=True).mean()
    np.testing.assert_allclose(millside[COMMUNITIES], [0.15, 0.7, 0.15], atol=0.015)
    for name in ("age", "income", "savings", "years_employed", "amount", "open_loans"):
        means = data.groupby("community", observed=True)[name].mean()
        np.testing.assert_allclose(means, data[name].mean(), rtol=0.05)


def test_nobody_has_worked_since_before_the_eighteenth_birthday(many):
    assert (many.data["years_employed"] <= many.data["age"] - 18).all()


@slow_sample
def test_an_auditor_finds_what_was_planted_and_no_effect_of_age():
    def audited(name):
        auditor = RandomAuditor(
            LOANS.estimator, sensitive_features=name, max_queries=2_000, random_state=0
        )
        return auditor.fit(LOANS.data).fairness_degree_

    assert 0.5 < audited("community") <= LOANS.fairness_degree + 1e-12
    with pytest.warns(NoDisparityWarning, match="age"):
        assert audited("age") == 0


def test_bunch():
    data, target = load_loans(return_X_y=True)
    pd.testing.assert_frame_equal(data, LOANS.data)
    pd.testing.assert_series_equal(target, LOANS.target)
    assert data.shape == (1000, 9) and list(data) == LOANS.feature_names
    assert target.name == "decision" and set(target) == {"granted", "refused"}
    assert set(LOANS.sensitive_features) <= set(data)
    for figure in ("8 points less", "24 points more", "0.762", "70%", "15%"):
        assert figure in LOANS.DESCR


def test_the_rule_is_a_classifier_that_needs_no_fitting():
    rule = clone(LOANS.estimator)
    assert rule.predict(LOANS.data).shape == (1000,)
    assert rule.score(LOANS.data, LOANS.target) > 0.75
    with pytest.raises(ValueError, match="Expected a column 'district'"):
        rule.predict(LOANS.data.drop(columns="district"))


def test_another_seed_gives_other_rows():
    assert not load_loans(random_state=1).data.equals(LOANS.data)
    generator = load_loans(random_state=np.random.default_rng(0))
    pd.testing.assert_frame_equal(generator.data, LOANS.data)


@pytest.mark.parametrize("n_samples", [99, 1000.0, True, "1000"])
def test_bad_number_of_rows(n_samples):
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 100, got"):
        load_loans(n_samples)


def test_bad_random_state():
    with pytest.raises(ValueError, match="random_state must be None, an integer"):
        load_loans(random_state=-1)
