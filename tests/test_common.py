"""What every public auditor promises: scikit-learn's checks and our own."""

import warnings

import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import skfairtest
from skfairtest import BaseAuditor, SBFTAuditor
from skfairtest.testing import auditor_checks

AUDITORS = sorted(
    (
        value
        for value in vars(skfairtest).values()
        if isinstance(value, type) and issubclass(value, BaseAuditor) and value is not BaseAuditor
    ),
    key=lambda cls: cls.__name__,
)
#: Checks that an auditor may fail, each with its reason. There are none.
EXPECTED_FAILURES: dict[str, str] = {}
SETTINGS = {"sensitive_features": [0], "max_queries": 120, "random_state": 0}

# The checks' models often ignore the first column, which is worth a warning to a user.
pytestmark = pytest.mark.filterwarnings("ignore::skfairtest.NoDisparityWarning")


#: With several classes a bracket may take all the time that it gets.
OWN_SETTINGS = {"CertifiedAuditor": {"max_time": 0.1}}


def instances(cls):
    settings = SETTINGS | OWN_SETTINGS.get(cls.__name__, {})
    return [cls(LogisticRegression(), **settings), cls(LinearRegression(), **settings)]


@parametrize_with_checks(
    [instance for cls in AUDITORS for instance in instances(cls)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", AUDITORS, ids=lambda cls: cls.__name__)
def test_at_least_ninety_checks_ran(cls):
    # A tag can make scikit-learn skip most of its checks without a word.
    passed = 0
    for instance in instances(cls):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = check_estimator(instance, on_fail=None, on_skip=None)
        passed += sum(result["status"] == "passed" for result in results)
    assert passed >= 90
    assert all(reason.strip() for reason in EXPECTED_FAILURES.values())


#: They look into the model; the models of our checks are black boxes. What the checks look at is
#: tested with models of their own in test_gradient.py and test_exact.py.
WHITE_BOX = {"ADFAuditor", "CertifiedAuditor", "EIDIGAuditor"}


def own_checks():
    for cls in AUDITORS:
        if cls.__name__ in WHITE_BOX:
            continue
        for check in auditor_checks(cls()):
            yield pytest.param(check, id=f"{cls.__name__}-{check.__name__}")
    for check in auditor_checks(SBFTAuditor(preset="paper")):
        yield pytest.param(check, id=f"SBFTAuditor(paper)-{check.__name__}")


@pytest.mark.parametrize("check", list(own_checks()))
def test_own_checks(check):
    check()


class Boaster(skfairtest.RandomAuditor):
    def _store(self, oracle, reason):
        super()._store(oracle, reason)
        self.fairness_degree_ *= 2


def test_own_checks_notice_a_tester_that_reports_too_much():
    failures = 0
    for check in auditor_checks(Boaster()):
        try:
            check()
        except AssertionError:
            failures += 1
    assert failures >= 2


def test_template_is_cloned_with_its_estimator_set():
    auditor = SBFTAuditor().set_params(estimator=DecisionTreeRegressor())
    assert auditor.get_params()["estimator__max_depth"] is None
