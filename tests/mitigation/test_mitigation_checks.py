"""What scikit-learn and imbalanced-learn ask of the retrainer and the augmenter."""

import pytest
from conformance import assert_conforms
from imblearn.utils.estimator_checks import (
    parametrize_with_checks as parametrize_with_sampler_checks,
)
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfairtest import FairnessAugmenter, FairnessRetrainer, RandomAuditor

pytestmark = [
    pytest.mark.filterwarnings("ignore::skfairtest.NoDisparityWarning"),
    pytest.mark.filterwarnings("ignore::skfairtest.MitigationWarning"),
]
SETTINGS = {"max_rounds": 2, "n_estimates": 100, "random_state": 0}


def twins():
    return RandomAuditor(sensitive_features=[0], max_queries=120)


#: imbalanced-learn's checks that the sampler may fail, each with its reason.
SAMPLER_FAILURES = {
    "check_samplers_pandas_sparse": "a sparse column has no domain of values to draw twins from",
}


@pytest.mark.parametrize(
    "model", [LogisticRegression(), pytest.param(LinearRegression(), marks=pytest.mark.slow)]
)
def test_scikit_learn_checks(model):
    assert_conforms(FairnessRetrainer(model, twins(), **SETTINGS))


@parametrize_with_sampler_checks(
    [FairnessAugmenter(LogisticRegression(), twins(), random_state=0)],
    expected_failed_checks=lambda estimator: SAMPLER_FAILURES,
)
def test_imbalanced_learn_checks(estimator, check):
    check(estimator)
