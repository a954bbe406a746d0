"""What scikit-learn and imbalanced-learn ask of the retrainer and the augmenter."""

import pytest
from counted_checks import CountedChecks
from imblearn.utils.estimator_checks import (
    parametrize_with_checks as parametrize_with_sampler_checks,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from skfairtest import FairnessAugmenter, FairnessRetrainer, RandomAuditor

pytestmark = [
    pytest.mark.filterwarnings("ignore::skfairtest.NoDisparityWarning"),
    pytest.mark.filterwarnings("ignore::skfairtest.MitigationWarning"),
]
SETTINGS = {"max_rounds": 2, "n_estimates": 100, "random_state": 0}


def twins():
    return RandomAuditor(sensitive_features=[0], max_queries=120)


def retrainers():
    return [
        FairnessRetrainer(LogisticRegression(), twins(), **SETTINGS),
        FairnessRetrainer(LinearRegression(), twins(), **SETTINGS),
    ]


#: imbalanced-learn's checks that the sampler may fail, each with its reason.
SAMPLER_FAILURES = {
    "check_samplers_pandas_sparse": "a sparse column has no domain of values to draw twins from",
}


# No check may fail: none is listed as expected to.
CHECKS = CountedChecks(parametrize_with_checks(retrainers()))


@CHECKS.parametrize
def test_scikit_learn_checks(estimator, check):
    CHECKS.run(estimator, check)


def test_at_least_ninety_checks_ran():
    CHECKS.assert_passed("FairnessRetrainer", 90)


@parametrize_with_sampler_checks(
    [FairnessAugmenter(LogisticRegression(), twins(), random_state=0)],
    expected_failed_checks=lambda estimator: SAMPLER_FAILURES,
)
def test_imbalanced_learn_checks(estimator, check):
    check(estimator)
