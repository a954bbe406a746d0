"""Every tester finds the planted pockets within a stated budget, on five seeds of five.

The default tier has the first seed of two quick testers (of SBFT in test_planted_degree.py); all
five, and the other testers, are slow.
A pocket is found when an input in it is reported with at least half the planted degree. In the
smooth and the many-valued variant such inputs are a few in a hundred; in the narrow one they are 55
in a million (five of its six conditions hold), and the innermost ones, with the whole degree, one
in a million. The testers look for many inputs, so each is told a threshold below what it shall
reach: the rim from which it has to find its way.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from tiers import SAMPLE, slow_sample, some

from skfairtest import (
    ADFAuditor,
    AequitasAuditor,
    EIDIGAuditor,
    MAFTAuditor,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    SymbolicAuditor,
    ThemisAuditor,
)
from skfairtest.datasets import make_biased_classification, make_biased_regression

MAKERS = [make_biased_regression, make_biased_classification]
BUDGET = 20_000


class Case(NamedTuple):
    """A tester, its settings for the narrow pocket, and the budget that it may spend there."""

    cls: Any
    rim: float = 0.25
    max_queries: int = BUDGET
    params: dict[str, Any] = {}


#: More seeds than the paper's thousand: the gradient testers stop when theirs are used up.
SEEDED = {"n_global": 5000}
DIRECTED = {
    "SBFT": Case(SBFTAuditor),
    "surrogate": Case(SurrogateAuditor),
    "Aequitas": Case(AequitasAuditor),
    "SG": Case(SymbolicAuditor, max_queries=100_000),
    "MAFT": Case(MAFTAuditor, max_queries=100_000, params=SEEDED),
    "EIDIG": Case(EIDIGAuditor, max_queries=100_000, params=SEEDED),
    "ADF": Case(ADFAuditor, max_queries=100_000, params=SEEDED),
}
BLIND = {"random": Case(RandomAuditor), "Themis": Case(ThemisAuditor, params={"margin": 1e-9})}
SLOW = ["SG", "MAFT", "EIDIG", "ADF"]


def differences(estimator):
    """The derivatives of the known response by its numbers, for the white-box testers."""
    method = getattr(estimator, "predict_proba", estimator.predict)

    def gradient(X):
        answer = np.asarray(method(X)).reshape(len(X), -1)[:, -1]
        columns = []
        for name in X.columns:
            change = np.zeros(len(X))
            if X[name].dtype.kind in "if":
                step = 1 if X[name].dtype.kind == "i" else 0.01
                moved = np.asarray(method(X.assign(**{name: X[name] + step})))
                change = (moved.reshape(len(X), -1)[:, -1] - answer) / step
            columns.append(change)
        return np.column_stack(columns)

    return gradient


def share_found(case, make, variant, seed, *, rim, max_queries):
    """Largest disparity found, over the planted degree."""
    data = make(variant=variant, random_state=seed)
    params = dict(case.params) if variant == "narrow" else {}
    if case.cls in (EIDIGAuditor, ADFAuditor):
        params["gradient"] = differences(data.estimator)
    if case.cls is ThemisAuditor:
        params = case.params
    auditor = case.cls(
        data.estimator,
        sensitive_features=data.sensitive_features,
        threshold=rim * data.fairness_degree,
        max_queries=max_queries,
        random_state=seed,
        **params,
    ).fit(data.data)
    assert auditor.n_queries_ <= max_queries
    return auditor.fairness_degree_ / data.fairness_degree


def shares(case, make, variant, seeds=range(5)):
    budget = case.max_queries if variant == "narrow" else BUDGET
    rim = case.rim if variant == "narrow" else 0.5
    return [share_found(case, make, variant, s, rim=rim, max_queries=budget) for s in seeds]


makes = pytest.mark.parametrize("make", MAKERS, ids=["regression", "classification"])
wide = pytest.mark.parametrize("variant", ["smooth", "many-valued"])


@pytest.mark.parametrize("name, variant, make", some([
    ("Themis", "smooth", make_biased_classification),
    ("random", "many-valued", make_biased_regression),
    ("surrogate", "many-valued", make_biased_classification),
    ("Aequitas", "many-valued", make_biased_regression),
]))  # fmt: skip
def test_wide_pockets(name, variant, make):
    assert min(shares((DIRECTED | BLIND)[name], make, variant, seeds=[0])) >= 0.5


@pytest.mark.slow
@makes
@wide
@pytest.mark.parametrize("name", [*DIRECTED, *BLIND])
def test_wide_pockets_on_every_seed(name, variant, make):
    assert min(shares((DIRECTED | BLIND)[name], make, variant)) >= 0.5


@pytest.mark.parametrize("name, make", some(zip(["surrogate", "Aequitas"], MAKERS, strict=True)))
def test_narrow_pocket(name, make):
    assert min(shares(DIRECTED[name], make, "narrow", seeds=[0])) >= 0.5


@pytest.mark.slow
@makes
@pytest.mark.parametrize("name", DIRECTED)
def test_narrow_pocket_on_every_seed(name, make):
    assert min(shares(DIRECTED[name], make, "narrow")) >= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("variant", [pytest.param("smooth", marks=SAMPLE), "narrow", "many-valued"])
@pytest.mark.parametrize("name", SLOW)
def test_pockets_by_slow_testers(name, variant):
    assert min(shares(DIRECTED[name], make_biased_regression, variant, seeds=[0])) >= 0.5


@slow_sample
def test_random_testing_never_sees_the_innermost_inputs_of_the_narrow_pocket():
    assert max(shares(BLIND["random"], make_biased_regression, "narrow", seeds=[0])) < 0.99


@slow_sample
@makes
@pytest.mark.parametrize("name", BLIND)
def test_blind_testers_miss_the_narrow_pocket_sample(name, make):
    # Not on every seed: one of five comes by it. The innermost inputs they never see.
    found = shares(BLIND[name], make, "narrow")
    assert sum(share >= 0.5 for share in found) <= 2
    assert max(found) < 0.99


@pytest.mark.slow
@makes
@pytest.mark.parametrize("name", ["SBFT", "surrogate"])
def test_the_innermost_inputs(name, make):
    case = DIRECTED[name]._replace(max_queries=100_000)
    assert min(shares(case, make, "narrow")) >= 0.99


@slow_sample
@pytest.mark.parametrize("name, make", [("surrogate", make_biased_classification)])
def test_the_innermost_inputs_on_one_seed(name, make):
    case = DIRECTED[name]._replace(max_queries=100_000)
    assert min(shares(case, make, "narrow", seeds=[0])) >= 0.99
