"""What every public auditor promises: scikit-learn's checks and our own."""

import pytest
from conformance import assert_conforms
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor
from tiers import SAMPLE, slow_sample

import skfairtest
from skfairtest import RandomAuditor, SBFTAuditor
from skfairtest.base import BaseAuditor
from skfairtest.testing import auditor_checks

# By name, not from `vars`: what nobody has used yet is not imported.
PUBLIC = [getattr(skfairtest, name) for name in skfairtest.__all__]
AUDITORS = sorted(
    (
        value
        for value in PUBLIC
        if isinstance(value, type) and issubclass(value, BaseAuditor) and value is not BaseAuditor
    ),
    key=lambda cls: cls.__name__,
)
SETTINGS = {"sensitive_features": [0], "max_queries": 30, "random_state": 0}

# The checks' models often ignore the first column, which is worth a warning to a user.
pytestmark = pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning")


def test_all_auditors_are_found():
    # Rows that a map moves are no search; its own tests run scikit-learn's checks.
    exported = {*skfairtest.individual.__all__, "CertifiedAuditor"} - {"FlipTestAuditor"}
    assert {cls.__name__ for cls in AUDITORS} == exported


def conforming():
    """Each class on a classifier or a regressor, in turn; one is quick, the other ones are slow."""
    for k, cls in enumerate(AUDITORS):
        models = [LogisticRegression(), LinearRegression()]
        for slow, model in enumerate(models if k % 2 else reversed(models)):
            name = f"{cls.__name__}-{type(model).__name__}"
            marks = [pytest.mark.slow] if slow else [] if cls is RandomAuditor else SAMPLE
            yield pytest.param(cls, model, id=name, marks=marks)


@pytest.mark.parametrize("cls, model", list(conforming()))
def test_scikit_learn_checks(cls, model):
    assert_conforms(cls(model, **SETTINGS))


def own_checks():
    for k, cls in enumerate(AUDITORS):
        # The models of our checks are black boxes. What the checks look at is tested with models
        # that can be read in test_gradient.py and test_exact.py.
        if cls._is_white_box:
            continue
        yield from in_turn(cls.__name__, cls(), k)


def in_turn(name, auditor, first):
    """Every other check of a class, in turn on a regressor and on a classifier; the rest is slow.

    The next class has the checks that this one leaves out, so that each is made of several. Half of
    them belong to the sample of the slow ones.
    """
    for j, check in enumerate(auditor_checks(auditor)):
        slow = (j + 2 * first) % 4 != (j // 4) % 2
        sample = (j // 4 + first // 2) % 2
        marks = [pytest.mark.slow] if slow else SAMPLE if sample else []
        yield pytest.param(check, id=f"{name}-{check.__name__}", marks=marks)


@pytest.mark.parametrize("check", list(own_checks()))
def test_own_checks(check):
    check()


class Boaster(RandomAuditor):
    def _own_results(self, found, space):
        return {"fairness_degree_": 2 * found.degree}


@slow_sample
def test_own_checks_notice_a_tester_that_reports_too_much():
    failures = 0
    for check in auditor_checks(Boaster()):
        try:
            check()
        except AssertionError:
            failures += 1
        if failures == 2:
            return
    raise AssertionError(f"only {failures} checks failed")


def test_template_is_cloned_with_its_estimator_set():
    auditor = SBFTAuditor().set_params(estimator=DecisionTreeRegressor())
    assert auditor.get_params()["estimator__max_depth"] is None
