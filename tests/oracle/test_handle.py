"""Tests of the search: what it counts, remembers, judges, keeps, and how it ends a run."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from searches import get_to_know, handle_of
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from tiers import SAMPLE

from skfairtest import CertifiedAuditor, InputSpace, RandomAuditor, SBFTAuditor, TestSGDAuditor
from skfairtest.inspection import PairDisplay
from skfairtest.oracle._model import hash_labels
from skfairtest.oracle._stagnation import STALL, STALL_INPUTS
from skfairtest.oracle._stop import StopSearch


def tilted(X):
    """Three class probabilities that depend on every column of `small`."""
    X = np.asarray(X, dtype=float)
    scores = np.column_stack([X[:, 0] * X[:, 1], X[:, 2] - X[:, 0], 1.5 + 0 * X[:, 0]])
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def product_of(X):
    X = np.asarray(X, dtype=float)
    return X[:, 0] * X[:, 1] - X[:, 2] * (1 - X[:, 0])


def probability(X):
    return 1 / (1 + np.exp((1 - product_of(X)) / 2))


def make_search(estimator, X, **limits):
    return handle_of(estimator, InputSpace().fit(X, [0]), **limits)


def estimators(models):
    return {
        "regressor": models.Regressor(product_of),
        "two outputs": models.Regressor(lambda X: np.column_stack([product_of(X), X[:, 0] * 3])),
        "proba": models.Proba(probability),
        "cost 2": models.Proba(probability, cut=0.72),
        "three classes": models.Proba(tilted, classes=("a", "b", "c")),
        "decision": models.Decision(product_of),
        "many decisions": models.Decision(tilted, classes=(0, 1, 2)),
        "labels": models.LabelsOnly(lambda X: tilted(X).argmax(axis=1)),
    }


NAMES = ["regressor", "two outputs", "proba", "cost 2", "three classes", "decision",
         "many decisions", "labels"]  # fmt: skip


def scores_of(estimator, rows):
    for method in ("predict_proba", "decision_function", "predict"):
        if hasattr(estimator, method):
            answer = np.asarray(getattr(estimator, method)(rows), dtype=float)
            return answer.reshape(len(rows), -1)
    raise AssertionError


def judge(estimator, rows, labelled, threshold=None):
    """Disparity and verdict of one input from all its twins, one pair after another."""
    scores, labels = scores_of(estimator, rows), np.asarray(estimator.predict(rows))
    pairs = list(combinations(range(len(rows)), 2))
    if labelled == "labels":
        disparity = float(any(labels[i] != labels[j] for i, j in pairs))
    else:
        disparity = max(np.abs(scores[i] - scores[j]).max() for i, j in pairs)
    if threshold is not None:
        return disparity, disparity > threshold
    if labelled == "regressor":
        return disparity, disparity > 0
    return disparity, any(labels[i] != labels[j] for i, j in pairs)


def flat_kind(name):
    return "regressor" if name in ("regressor", "two outputs") else name


@pytest.mark.parametrize("threshold", [None, 0.29])
@pytest.mark.parametrize("sensitive", [[0], [1], [0, 2]])
@pytest.mark.parametrize("name", NAMES)
def test_disparity_and_verdict_equal_brute_force(models, small, name, sensitive, threshold):
    estimator = estimators(models)[name]
    space = InputSpace().fit(small, sensitive)
    search = handle_of(estimator, space, threshold=threshold)
    get_to_know(search, space.data, np.random.default_rng(0))
    judged = search.evaluate(space.data)
    shown = search.so_far.queries
    assert shown == estimator.rows
    values = list(product(*(sorted(set(small[:, j])) for j in sensitive)))
    for i, row in enumerate(small):
        twins = np.tile(row, (len(values), 1))
        twins[:, sensitive] = values
        disparity, verdict = judge(estimator, twins, flat_kind(name), threshold)
        assert judged.disparity[i] == pytest.approx(disparity, abs=1e-12)
        assert judged.verdict[i] == verdict
        if disparity > 0:  # the pair that is named shows it, the larger answer first
            named = np.tile(row, (2, 1))
            named[:, sensitive] = judged.first[i], judged.second[i]
            if name == "labels":
                assert estimator.predict(named)[0] != estimator.predict(named)[1]
            else:
                gaps = np.subtract(*scores_of(estimator, named))
                assert gaps.max() == pytest.approx(disparity)
    assert search.so_far.degree == pytest.approx(judged.disparity.max())


@pytest.mark.parametrize("name", NAMES)
def test_found_inputs_are_unique_in_the_domain_sorted_and_confirmed(models, small, name):
    estimator = estimators(models)[name]
    auditor = RandomAuditor(estimator, sensitive_features=[0], random_state=0, max_queries=600).fit(
        small
    )
    inputs, twins = auditor.discriminatory_inputs_, auditor.counterfactuals_
    assert auditor.n_found_ == len(inputs) == len(twins) > 0
    assert len(np.unique(inputs[:, 1:], axis=0)) == len(inputs)
    assert {tuple(row) for row in np.concatenate([inputs, twins])} <= {tuple(row) for row in small}
    np.testing.assert_array_equal(inputs[:, 1:], twins[:, 1:])
    assert (inputs[:, 0] != twins[:, 0]).all()
    assert (np.diff(auditor.disparities_) <= 0).all()
    if flat_kind(name) == "regressor":
        gaps = scores_of(estimator, inputs) - scores_of(estimator, twins)
        np.testing.assert_allclose(gaps.max(axis=1), auditor.disparities_)
    else:
        assert (estimator.predict(inputs) != estimator.predict(twins)).all()


@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning")
@pytest.mark.parametrize("auditor", [RandomAuditor, SBFTAuditor])
@pytest.mark.parametrize("budget", [2, 3, 7, 100, 1001])
@pytest.mark.parametrize("name", NAMES)
def test_the_query_count_is_what_the_estimator_was_shown(models, small, name, budget, auditor):
    estimator = estimators(models)[name]
    space_of_many = np.vstack([small, [0, 900, 900]])
    try:
        fitted = auditor(estimator, sensitive_features=[0], max_queries=budget, random_state=1).fit(
            space_of_many
        )
    finally:
        assert estimator.rows <= budget
    assert fitted.n_queries_ == estimator.rows
    assert fitted.stop_reason_ == f"max_queries={budget} reached"


def test_a_classifier_with_its_own_cut_is_judged_by_its_own_labels(small):
    y = (product_of(small) + small[:, 2] > 2).astype(int)
    inner = LogisticRegression().fit(small, y)
    estimator = FixedThresholdClassifier(inner, threshold=0.9).fit(small, y)
    auditor = RandomAuditor(
        estimator, sensitive_features=[0], max_queries=5000, random_state=0
    ).fit(small)
    flips = {
        tuple(row[1:])
        for row in small
        if len(set(estimator.predict([[v, *row[1:]] for v in (0, 1)]))) == 2
    }
    usual = {
        tuple(row[1:])
        for row in small
        if len(set(inner.predict([[v, *row[1:]] for v in (0, 1)]))) == 2
    }
    assert {tuple(row[1:]) for row in auditor.discriminatory_inputs_} == flips != usual


def test_repeats_are_answered_from_memory(models, small):
    estimator = models.Regressor(product_of)
    space = InputSpace().fit(small, [0])
    search = handle_of(estimator, space)
    first = search.evaluate(space.data)
    asked = estimator.rows
    # Every input comes twice in the data; the first five pairs are asked again.
    assert asked == len(small) + 10
    again = search.evaluate(space.data[::-1])
    assert estimator.rows == asked == search.so_far.queries
    np.testing.assert_array_equal(again.disparity, first.disparity[::-1])
    np.testing.assert_array_equal(search.respond(space.data).ravel(), product_of(small))
    assert estimator.rows == asked
    assert search.so_far.inputs == 20


def test_confirmed_flips_are_not_paid_again(models, small):
    estimator = models.Proba(probability)
    space = InputSpace().fit(small, [0])
    search = handle_of(estimator, space)
    get_to_know(search, space.data, np.random.default_rng(0))
    first = search.evaluate(space.data)
    assert first.verdict.any()
    asked = estimator.rows
    np.testing.assert_array_equal(search.evaluate(space.data).verdict, first.verdict)
    assert estimator.rows == asked


@pytest.mark.parametrize("auditor, shape", [
    (RandomAuditor, "regressor"),
    pytest.param(RandomAuditor, "proba", marks=SAMPLE, id="random"),
    pytest.param(SBFTAuditor, "proba", marks=SAMPLE, id="SBFT-proba"),
    pytest.param(SBFTAuditor, "regressor", marks=SAMPLE, id="SBFT"),
])  # fmt: skip
def test_a_small_space_is_exhausted_and_the_run_ends(models, auditor, shape):
    # 1500 inputs with two twins each, all told apart; there is nothing more to ask.
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 80), rng.integers(0, 30, 80), rng.integers(0, 50, 80)])
    X[:2] = [[0, 0, 0], [1, 29, 49]]

    def answer(X):
        return 0.2 + 0.6 * X[:, 0] + X[:, 1] / 1000

    estimator = models.Regressor(answer) if shape == "regressor" else models.Proba(answer)
    fitted = auditor(estimator, sensitive_features=[0], max_queries=9000, random_state=0).fit(X)
    assert fitted.stop_reason_.startswith(("exhausted: every input", f"stalled: {STALL} batches"))
    # Each row once; a classifier's flips once more to confirm them. Some are asked again
    # where the memory had no place for two.
    assert fitted.n_queries_ < 9000


@pytest.mark.parametrize("auditor", [RandomAuditor, SBFTAuditor])
def test_max_inputs_is_exact(models, auditor):
    X = np.column_stack([np.arange(50) % 2, np.arange(50), np.arange(50)])
    fitted = auditor(
        models.Regressor(product_of), sensitive_features=[0], max_inputs=137, random_state=0
    ).fit(X)
    assert fitted.n_inputs_ == 137
    assert fitted.stop_reason_ == "max_inputs=137 reached"


@pytest.mark.parametrize("auditor", [RandomAuditor, SBFTAuditor])
def test_max_found_and_max_time_end_the_run(models, auditor):
    X = np.column_stack([np.arange(50) % 2, np.arange(50), np.arange(50)])
    estimator = models.Regressor(product_of)
    kwargs = {"sensitive_features": [0], "random_state": 0, "max_queries": None}
    by_found = auditor(estimator, max_found=10, **kwargs).fit(X)
    assert by_found.n_found_ >= 10 and by_found.stop_reason_ == "max_found=10 reached"
    by_time = auditor(estimator, max_time=1e-9, **kwargs).fit(X)
    assert by_time.stop_reason_ == "max_time=1e-09 reached"
    assert by_time.seconds_ > 0 and len(by_time.history_) == 1


def test_a_whole_float_is_a_budget_too(models, small):
    estimator = models.Regressor(product_of)
    auditor = SBFTAuditor(
        estimator, sensitive_features=[0], max_queries=1e5, max_inputs=30.0, max_time=20
    )
    assert auditor.fit(small + [0, 0, 0]).n_queries_ <= 1e5


def test_given_pairs_are_what_is_compared(models, small):
    space = InputSpace().fit(small, [1])
    search = handle_of(models.Regressor(product_of), space)
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(5, 2, replace=False) for _ in small]).astype(float)
    judged = search.evaluate(space.data, pairs[:, :, None])
    sides = [small.copy(), small.copy()]
    for side, column in zip(sides, pairs.T, strict=True):
        side[:, 1] = column
    gap = product_of(sides[0]) - product_of(sides[1])
    np.testing.assert_allclose(judged.disparity, np.abs(gap))
    np.testing.assert_array_equal(judged.first[gap > 0, 0], pairs[gap > 0, 0])
    np.testing.assert_array_equal(judged.first[gap < 0, 0], pairs[gap < 0, 1])


def test_twins_that_the_constraint_forbids_are_never_asked(models, small):
    def allowed(X):
        return X[:, 1] + X[:, 2] <= 5

    estimator = models.Regressor(product_of)
    space = InputSpace(constraint=allowed).fit(small, [1])
    seen = []
    estimator.function = lambda X: seen.append(X) or product_of(X)
    judged = handle_of(estimator, space).evaluate(space.data)
    assert allowed(np.concatenate(seen)).all()
    for i, row in enumerate(small):
        answers = [product_of([[row[0], v, row[2]]])[0] for v in range(5) if v + row[2] <= 5]
        assert judged.disparity[i] == pytest.approx(np.ptp(answers))


def test_the_largest_of_several_outputs_counts(models, small):
    estimator = models.Regressor(lambda X: np.column_stack([X[:, 0], 7 * X[:, 0], X[:, 1]]))
    space = InputSpace().fit(small, [0])
    assert (handle_of(estimator, space).evaluate(space.data).disparity == 7).all()


def test_rounding_is_no_disparity(models, small):
    rng = np.random.default_rng(0)
    estimator = models.Regressor(lambda X: 1e6 + 1e-6 * rng.random(len(X)))
    space = InputSpace().fit(small, [0])
    judged = handle_of(estimator, space).evaluate(space.data)
    assert (judged.disparity == 0).all() and not judged.verdict.any()


def test_no_inputs_are_judged_as_none(models, small):
    space = InputSpace().fit(small, [0])
    search = handle_of(models.Regressor(product_of), space)
    assert search.evaluate(np.empty((0, 3))).disparity.shape == (0,)


def test_respond_ends_the_run_before_it_overdraws(models, small):
    estimator = models.Regressor(product_of)
    search = handle_of(estimator, InputSpace().fit(small, [0]), max_queries=10)
    with pytest.raises(StopSearch, match="max_queries=10 reached"):
        search.respond(small[:11])
    assert estimator.rows == 0
    assert search.respond(small[:10]).shape == (10, 1)


def test_a_label_has_one_code_whatever_stands_beside_it():
    assert hash_labels(np.array([1.0]))[0] == hash_labels(np.array([1.0, 0.5]))[0]
    assert hash_labels(np.array(["a"]))[0] == hash_labels(np.array(["bcd", "a"]))[1]
    assert hash_labels(np.array(["a"]))[0] == hash_labels(np.array(["a", "b"], dtype=object))[0]
    assert len(set(hash_labels(np.array([[0, 1], [1, 0], [1, 1]])))) == 3


def test_rows_asked_last_are_in_the_history(models, small):
    model = models.Regressor(product_of)
    search = make_search(model, small, max_queries=30)
    search.evaluate(small[:3])
    search.respond(small[30:40])
    with pytest.raises(StopSearch):
        search.respond(small)
    assert search._record.history.arrays()["queries"][-1] == search.so_far.queries == model.rows


def test_labels_are_answers_too(models, small):
    model = models.LabelsOnly(lambda X: np.where(X[:, 1] > 2, "high", "low"))
    answers = make_search(model, small).respond(small).ravel()
    assert len(np.unique(answers)) == 2
    assert len(np.unique(answers[small[:, 1] > 2])) == 1


def test_single_steps_do_not_stall_at_once(models, small):
    # A tester that asks input by input may come by known ones 200 times in a row.
    search = make_search(models.Regressor(product_of), small)
    for _ in range(STALL + 10):
        search.evaluate(small[:1])
    many = np.repeat(small[:1], 100, axis=0)
    with pytest.raises(StopSearch, match="stalled"):
        for _ in range(STALL_INPUTS // len(many)):
            search.evaluate(many)


def test_batches_in_which_nothing_could_be_asked_count_as_stagnation(models, small):
    search = make_search(models.Regressor(product_of), small)
    nothing = np.empty((0, small.shape[1]))
    for _ in range(STALL - 1):
        search.evaluate(nothing)
    search.evaluate(small[:1])  # something new
    with pytest.raises(StopSearch, match="stalled"):
        for _ in range(2 * STALL):
            search.evaluate(nothing)
    assert search.so_far.queries == 2


def two_labels(model):
    """A model of two labels at once, the first of which depends on the sensitive column."""
    rows = np.array(list(product([0, 1], range(4), range(4))))
    Y = np.column_stack([2 * rows[:, 0] + rows[:, 1] > 2, rows[:, 1] + rows[:, 2] > 3])
    return clone(model).fit(rows, Y.astype(int)), rows


@pytest.mark.parametrize(
    ("model", "certified"),
    [
        (OneVsRestClassifier(LogisticRegression()), True),
        (make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression())), True),
        (MLPClassifier((4,), max_iter=20, random_state=0), True),
        (ClassifierChain(LogisticRegression()), False),
        (GridSearchCV(OneVsRestClassifier(LogisticRegression()), {"n_jobs": [None]}, cv=2), False),
        (OneVsRestClassifier(LinearSVC()), True),
    ],
)
def test_two_labels_at_once_are_no_two_classes(model, certified):
    """Two columns of probabilities are those of two labels where `predict` gives two columns."""
    model, rows = two_labels(model)
    ask = getattr(model, "predict_proba", None) or model.decision_function
    largest = np.abs(ask(rows[:16]) - ask(rows[16:])).max(axis=0)
    auditors = [SBFTAuditor, CertifiedAuditor] if certified else [SBFTAuditor]
    for kind in auditors:
        auditor = kind(model, sensitive_features=[0], max_queries=300, random_state=0).fit(rows)
        assert auditor.fairness_degree_ == pytest.approx(largest.max(), rel=1e-9)
        if not isinstance(model.classes_, list):
            assert auditor.worst_case_class_ == largest.argmax()
        display = PairDisplay.from_auditor(auditor, place=0)
        assert display.pair.difference == pytest.approx(auditor.disparities_[0])
    with pytest.raises(ValueError, match="compared by one output"):
        TestSGDAuditor(model, sensitive_features=[0], max_queries=300).fit(rows)
