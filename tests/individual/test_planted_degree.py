"""SBFT finds the planted degree within the default budget, on five seeds of five."""

import pytest
from tiers import slow_sample, some

from skfairtest import PublishedSBFTAuditor, RandomAuditor, SBFTAuditor
from skfairtest.datasets import make_biased_classification, make_biased_regression

SEEDS = range(5)
MAKERS = [make_biased_regression, make_biased_classification]
VARIANTS = ["smooth", "narrow", "many-valued"]

makes = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
variants = pytest.mark.parametrize("variant", VARIANTS)


def found_share(auditor, make, variant, seed):
    """Degree found over the true one, on the known response."""
    data = make(variant=variant, random_state=seed)
    auditor.set_params(
        estimator=data.estimator, sensitive_features=data.sensitive_features, random_state=seed
    )
    auditor.fit(data.data)
    assert auditor.n_queries_ <= 20_000
    share = auditor.fairness_degree_ / data.fairness_degree
    assert share <= 1 + 1e-9
    return share


# The default tier has the first seed of one task.
@pytest.mark.parametrize(
    "make, variant",
    some([(MAKERS[1], "smooth"), (MAKERS[1], "narrow"), (MAKERS[0], "many-valued")]),
)
def test_sbft_finds_the_planted_degree(make, variant):
    assert found_share(SBFTAuditor(), make, variant, seed=0) >= 0.99


@pytest.mark.slow
@variants
@makes
def test_sbft_finds_every_planted_degree_on_every_seed(make, variant):
    shares = [found_share(SBFTAuditor(), make, variant, seed) for seed in SEEDS]
    assert min(shares) >= 0.99


@slow_sample
@variants
@makes
def test_sample_of_the_published_algorithm_finds_every_planted_degree(make, variant):
    shares = [found_share(PublishedSBFTAuditor(), make, variant, seed) for seed in SEEDS]
    assert min(shares) >= 0.99


@slow_sample
def test_random_testing_is_far_from_some_planted_degrees():
    assert found_share(RandomAuditor(), MAKERS[0], "narrow", seed=0) < 0.99
    assert found_share(RandomAuditor(), MAKERS[0], "smooth", seed=0) >= 0.95


@slow_sample
@makes
def test_random_testing_misses_what_is_narrow_or_many_valued_sample(make):
    # Otherwise the planted degrees would be too easy to tell a search from luck.
    for variant in ("narrow", "many-valued"):
        shares = [found_share(RandomAuditor(), make, variant, seed) for seed in SEEDS]
        assert max(shares) < 0.99


@slow_sample
@makes
def test_random_testing_comes_close_on_the_smooth_variant_sample(make):
    shares = [found_share(RandomAuditor(), make, "smooth", seed) for seed in SEEDS]
    assert min(shares) >= 0.95
