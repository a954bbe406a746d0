"""What scikit-learn and imbalanced-learn ask of the retrainer and the augmenter."""

import pytest
from conformance import assert_conforms
from imblearn.utils.estimator_checks import (
    parametrize_with_checks as parametrize_with_sampler_checks,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from tiers import SAMPLE, slow_sample

from skfairtest import FairnessAugmenter, FairnessRetrainer, RandomAuditor

pytestmark = [
    pytest.mark.usefixtures("few_inputs"),
    pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning"),
    pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning"),
]
WHOLE = {"max_rounds": 2, "random_state": 0}
#: Two folds for fifteen, and one round: the checks are about `fit` and its input.
SETTINGS = {"max_rounds": 1, "cv": 2, "random_state": 0}


def twins(max_queries=120):
    return RandomAuditor(sensitive_features=[0], max_queries=max_queries)


#: imbalanced-learn's checks that the sampler may fail, each with its reason.
SAMPLER_FAILURES = {
    "check_samplers_pandas_sparse": "a sparse column has no domain of values to draw twins from",
}


@pytest.mark.parametrize("retrainer", [
    pytest.param(FairnessRetrainer(LogisticRegression(), twins(40), **SETTINGS), marks=SAMPLE),
    pytest.param(FairnessRetrainer(LogisticRegression(), twins(), **WHOLE), marks=pytest.mark.slow),
    pytest.param(FairnessRetrainer(LinearRegression(), twins(), **WHOLE), marks=pytest.mark.slow),
], ids=["in short", "classifier", "regressor"])  # fmt: skip
def test_scikit_learn_checks(retrainer):
    assert_conforms(retrainer)


def test_scikit_learn_checks_of_the_augmenter():
    # A sampler predicts nothing.
    assert_conforms(FairnessAugmenter(LogisticRegression(), twins(40), random_state=0), least=40)


@slow_sample
@parametrize_with_sampler_checks(
    [FairnessAugmenter(LogisticRegression(), twins(), random_state=0)],
    expected_failed_checks=lambda estimator: SAMPLER_FAILURES,
)
def test_imbalanced_learn_checks(estimator, check):
    check(estimator)
