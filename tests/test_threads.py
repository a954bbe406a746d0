"""Threads of OpenMP: one for what is small, and no result that depends on how many there are."""

import contextlib
import time
from functools import cache

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import ThreadpoolController, threadpool_limits

from skfairtest import InputSpace, RandomAuditor
from skfairtest._threads import (
    AGAIN,
    FEW_ROWS,
    FEW_TO_TRAIN,
    Threads,
    one_thread,
    threads_to_train,
)


@cache
def openmp():
    """The libraries of OpenMP, looked for once."""
    return ThreadpoolController().select(user_api="openmp")


def n_threads():
    """How many threads a loop of OpenMP would have."""
    return {library["num_threads"] for library in openmp().info()}


@pytest.fixture
def several():
    with threadpool_limits(2, user_api="openmp"):
        assert n_threads() == {2}
        yield


def test_one_thread_meanwhile(several):
    with one_thread():
        assert n_threads() == {1}
        with one_thread():
            assert n_threads() == {1}
        assert n_threads() == {1}
    assert n_threads() == {2}
    with contextlib.suppress(ValueError), one_thread():
        raise ValueError
    assert n_threads() == {2}


def test_few_rows_have_one_thread(several):
    threads = Threads()
    for _ in range(3):
        with threads.of(FEW_ROWS):
            assert n_threads() == {1}


@pytest.mark.parametrize("quicker", [1, 2])
def test_many_rows_have_what_was_quicker_of_late(quicker, several, monkeypatch):
    seconds = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: seconds[0])
    threads, had = Threads(), []
    for _ in range(4 * AGAIN):
        with threads.of(5000):
            (n,) = n_threads()
            seconds[0] += 1.0 if n == quicker else 30.0
        had.append(n)
    assert set(had) == {1, 2}
    assert had.count(quicker) == 4 * AGAIN - 1 - 4
    # Other work comes, and goes.
    for _ in range(8 * AGAIN):
        with threads.of(5000):
            (n,) = n_threads()
            seconds[0] += 1.0 if n != quicker else 30.0
        had.append(n)
    assert had[-2 * AGAIN :].count(quicker) <= 3


def test_training_has_as_many_threads_as_its_rows_say_however_long_it_takes(several):
    for n_rows, expected in ((FEW_TO_TRAIN, {1}), (FEW_TO_TRAIN + 1, {2})):
        for _ in range(3):
            with threads_to_train(n_rows):
                assert n_threads() == expected


class Noted(RegressorMixin, BaseEstimator):
    """Notes with how many threads it was asked about how many rows."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        self.asked_ = []
        return self

    def predict(self, X):
        self.asked_.append((len(X), *n_threads()))
        return X[:, 0] * X[:, 1]


def test_models_are_asked_for_few_rows_with_one_thread(several):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 50), rng.normal(size=50)])
    model = Noted().fit(X, X[:, 0])
    RandomAuditor(model, sensitive_features=[0], max_queries=300, random_state=0).fit(X)
    few = {n for rows, n in model.asked_ if rows <= FEW_ROWS}
    assert few == {1}
    asked = len(model.asked_)
    model.predict(X)
    assert model.asked_[asked:] == [(50, 2)]  # the user's own calls are as they were


def test_own_models_have_one_thread(several, monkeypatch):
    """Sums that several threads share would differ in their last bits from machine to machine."""
    had = []
    for method in ("fit", "decision_function"):
        own = getattr(HistGradientBoostingClassifier, method)

        def noted(model, *args, own=own, **params):
            had.append(*n_threads())
            return own(model, *args, **params)

        monkeypatch.setattr(HistGradientBoostingClassifier, method, noted)
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 2, 400), rng.normal(size=(400, 3)).round(2)])
    space = InputSpace(plausible=0.9).fit(X, [0])
    space.plausibility.score(space.domain.draw(2000, rng))
    assert len(had) > 3
    assert set(had) == {1}


def test_who_leaves_first_does_not_take_the_limit_of_others_along():
    blas = ThreadpoolController().select(user_api="blas")
    with threadpool_limits(2, user_api="blas"):
        before = {library["num_threads"] for library in blas.info()}
        assert before == {2}
        first, second = one_thread(), one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert {library["num_threads"] for library in blas.info()} == {1}
        second.__exit__(None, None, None)
        assert {library["num_threads"] for library in blas.info()} == {2}
