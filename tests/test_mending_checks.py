"""What scikit-learn and imbalanced-learn ask of the retrainer and the augmenter."""

import warnings

import pytest
from imblearn.utils.estimator_checks import (
    parametrize_with_checks as parametrize_with_sampler_checks,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from skfairtest import FairnessAugmenter, FairnessRetrainer, RandomAuditor

pytestmark = [
    pytest.mark.filterwarnings("ignore::skfairtest.NoDisparityWarning"),
    pytest.mark.filterwarnings("ignore::skfairtest.MendingWarning"),
]
SETTINGS = {"max_rounds": 2, "n_estimates": 100, "random_state": 0}


def twins():
    return RandomAuditor(sensitive_features=[0], max_queries=120)


def retrainers():
    return [
        FairnessRetrainer(LogisticRegression(), twins(), **SETTINGS),
        FairnessRetrainer(LinearRegression(), twins(), **SETTINGS),
    ]


#: scikit-learn's checks that the retrainer may fail, each with its reason. There are none.
EXPECTED_FAILURES: dict[str, str] = {}
#: The same for imbalanced-learn's checks of a sampler.
SAMPLER_FAILURES = {
    "check_samplers_pandas_sparse": "a sparse column has no domain of values to draw twins from",
}


@parametrize_with_checks(retrainers(), expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_at_least_ninety_checks_ran():
    passed = 0
    for instance in retrainers():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = check_estimator(instance, on_fail=None, on_skip=None)
        passed += sum(result["status"] == "passed" for result in results)
    assert passed >= 90


@parametrize_with_sampler_checks(
    [FairnessAugmenter(LogisticRegression(), twins(), random_state=0)],
    expected_failed_checks=lambda estimator: SAMPLER_FAILURES,
)
def test_imbalanced_learn_checks(estimator, check):
    check(estimator)
