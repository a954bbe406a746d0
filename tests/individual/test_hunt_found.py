"""What auditors find in random tables and models is true, by a checker that shares no code."""

from __future__ import annotations

import warnings

import pytest
from checker import (
    Question,
    Watched,
    check_found,
    check_rows,
    check_same,
    labels_rest_on_rounding,
)
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_cases import models, questions
from tiers import slow_sample

import skfairtest as sf

pytestmark = pytest.mark.filterwarnings("ignore")

common = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
    database=None,
)
sample = settings(common, derandomize=True)


def testers():
    """Name and settings of every tester of individual discrimination, and what small means."""
    small = {
        sf.PublishedSBFTAuditor: [{"population_size": 10}],
        sf.AequitasAuditor: [{"n_local": 5}, {"strategy": "random", "batch_size": 7}],
        sf.SymbolicAuditor: [{"batch_size": 8}],
        sf.SurrogateAuditor: [{"batch_size": 100}],
    }
    every = [sf.RandomAuditor, sf.SBFTAuditor, *small, sf.ThemisAuditor, sf.MAFTAuditor]
    return [(kind, params) for kind in every for params in small.get(kind, [{}])]


def run(kind, question, model, **params):
    """A fitted auditor, and the model that counted; None where the user's wish cannot be."""
    watched = Watched(model, question.table)
    auditor = kind(
        watched,
        sensitive_features=question.sensitive,
        threshold=question.threshold,
        response_method=question.response_method,
        space=sf.InputSpace(
            bounds=question.bounds, categories=question.categories, constraint=question.constraint
        ),
        **params,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            auditor.fit(question.table)
        except ValueError as error:
            # Said before the first query: a domain or a constraint without twins.
            if watched.rows or not any(text in str(error) for text in REFUSED):
                raise
            return None, watched
    return auditor, watched


#: What may be refused: settings of the hunt that leave nothing to compare.
REFUSED = (
    "has one value only",
    "leaves no twins",
    "constraint=: expected",
    "cannot hold the values",
    "compares each input with all its twins",
)


def hunt(question: Question, model, tester, seed, queries, others) -> None:
    assume(not labels_rest_on_rounding(model, question.table))
    kind, params = tester
    limits = {"max_queries": queries, "random_state": seed, **params, **others}
    auditor, watched = run(kind, question, model, **limits)
    if auditor is None:
        return
    check_found(auditor, question, model, watched.rows)
    again, _ = run(kind, question, model, **limits, n_jobs=2)
    check_same(auditor, again)


OTHERS = st.sampled_from([{}, {}, {"max_found": 5}, {"max_inputs": 40}])


@st.composite
def cases(draw):
    question = draw(questions())
    return question, draw(models(question.table))


# Few examples in the default tier: each fits a model and an auditor twice.
@slow_sample
@settings(sample, max_examples=4)
@given(cases(), st.sampled_from(testers()), st.integers(0, 99), st.integers(2, 600), OTHERS)
def test_finds_are_true(case, tester, seed, queries, others):
    hunt(*case, tester, seed, queries, others)


@slow_sample
@settings(sample, max_examples=5)
@given(cases(), st.integers(0, 99))
def test_rows_of_data_count_with_their_own_values(case, seed):
    audit_data(*case, seed)


def audit_data(question, model, seed):
    auditor, watched = run(sf.RandomAuditor, question, model, max_queries=60, random_state=seed)
    if auditor is None:
        return
    before = watched.rows
    audit = auditor.audit_rows(question.table)
    # The worst pair is asked again first, which no result counts: two rows, by one method or two.
    assert watched.rows - before - audit.n_queries in (0, 2, 4)
    check_rows(audit, question, model, question.table)
    before = watched.rows
    assert auditor.on_data_degree_ == audit.degree
    assert watched.rows - before - auditor.n_data_queries_ in (0, 2, 4)
    assert auditor.on_data_rate_ == audit.rate


@slow_sample
@settings(common, max_examples=60)
@given(cases(), st.sampled_from(testers()), st.integers(0, 99), st.integers(2, 3000), OTHERS)
def test_more_finds_are_true_sample(case, tester, seed, queries, others):
    hunt(*case, tester, seed, queries, others)


@pytest.mark.slow
@pytest.mark.parametrize("tester", testers(), ids=lambda tester: tester[0].__name__)
def test_thousands_of_finds_are_true(tester):
    @settings(common, max_examples=1000)
    @given(cases(), st.integers(0, 99), st.integers(2, 3000), OTHERS)
    def check(case, seed, queries, others):
        hunt(*case, tester, seed, queries, others)

    check()


@pytest.mark.slow
@settings(common, max_examples=2000)
@given(cases(), st.integers(0, 99))
def test_thousands_of_tables_are_audited_row_by_row(case, seed):
    audit_data(*case, seed)
