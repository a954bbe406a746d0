"""Results are set in one go when a run has ended; a refused fit leaves those of the last one."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder

from skfairtest import (
    CertifiedAuditor,
    InputSpace,
    MAFTAuditor,
    RandomAuditor,
    SBFTAuditor,
    ThemisAuditor,
)
from skfairtest.exceptions import EstimatorFailedError

AUDITORS = [RandomAuditor, SBFTAuditor, MAFTAuditor, ThemisAuditor, CertifiedAuditor]


def tables():
    """A table to fit, and one with other values and another column."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], 200), "job": rng.choice(["cook", "nurse"], 200)}
    )
    return X, X.assign(job=rng.choice(["pilot", "welder"], 200), age=rng.integers(18, 80, 200))


def model_of(X):
    return make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(
        X, X["sex"] == "f"
    )


def interrupt(X):
    raise KeyboardInterrupt


def nothing(X):
    return np.zeros(len(X), dtype=bool)


#: What is wrong with the second fit: parameters, a change of its table, and the error.
REFUSED = {
    "response method": ({"response_method": "probs"}, None, ValueError),
    "threshold": ({"threshold": -1}, None, ValueError),
    "restarts": ({"max_queries": 0}, None, ValueError),
    "no estimator": ({"estimator": None}, None, ValueError),
    "table": ({}, lambda X: X[:0], ValueError),
    "names of columns": ({}, lambda X: X.rename(columns={"job": 3}), TypeError),
    "sensitive column": ({"sensitive_features": ["gender"]}, None, ValueError),
    "model": ({"estimator": LogisticRegression()}, None, NotFittedError),
    "no model": ({"estimator": OneHotEncoder()}, None, (TypeError, NotFittedError)),
    "space": ({"space": "all"}, None, TypeError),
    "constraint": ({"space": InputSpace(constraint=nothing)}, None, ValueError),
    "interrupted before the first query": (
        {"space": InputSpace(constraint=interrupt)}, None, KeyboardInterrupt,
    ),
}  # fmt: skip


def seen(auditor):
    """What a user reads of a fitted auditor."""
    worst, found = auditor.worst_case_, auditor.discriminatory_inputs_
    names = [name for name in vars(auditor) if name.endswith("_")]
    own = {name: repr(getattr(auditor, name)) for name in sorted(names)}
    return worst.to_dict(), found.to_dict(), own, auditor.predict(worst).tolist()


@pytest.fixture(scope="module", params=AUDITORS, ids=lambda cls: cls.__name__)
def fitted_once(request):
    X, _ = tables()
    auditor = request.param(
        model_of(X), sensitive_features=["sex"], max_queries=300, random_state=0
    )
    return auditor.fit(X)


@pytest.fixture
def fitted(fitted_once):
    return copy.deepcopy(fitted_once)


@pytest.mark.parametrize("why", REFUSED)
def test_a_refused_fit_leaves_the_results_of_the_last(fitted, why):
    params, changed, error = REFUSED[why]
    _, other = tables()
    before = seen(fitted)
    with pytest.raises(error):
        fitted.set_params(**params).fit(other if changed is None else changed(other))
    assert seen(fitted) == before


@pytest.mark.parametrize("why", REFUSED)
def test_a_first_fit_that_is_refused_leaves_nothing(why):
    params, changed, error = REFUSED[why]
    X, other = tables()
    auditor = RandomAuditor(model_of(X), sensitive_features=["sex"], random_state=0)
    with pytest.raises(error):
        auditor.set_params(**params).fit(other if changed is None else changed(other))
    assert not [name for name in vars(auditor) if name.endswith("_")]


def test_a_model_of_a_kind_that_is_not_understood_is_refused_before_the_first_query():
    X, _ = tables()
    good = model_of(X)
    auditor = CertifiedAuditor(good, sensitive_features=["sex"], random_state=0).fit(X)
    before = seen(auditor)
    steps = [OneHotEncoder(sparse_output=False), Normalizer(), LogisticRegression()]
    other = make_pipeline(*steps).fit(X, X["sex"] == "f")
    with pytest.raises(ValueError, match="Normalizer"):
        auditor.set_params(estimator=other).fit(X)
    assert seen(auditor.set_params(estimator=good)) == before


class Stops(RandomAuditor):
    """Is interrupted at the first batch."""

    def _run_search(self, search, rng):
        raise KeyboardInterrupt


@pytest.mark.parametrize("n_restarts", [1, 3])
def test_a_search_that_is_interrupted_before_it_asks_leaves_the_last_results(models, n_restarts):
    X = np.column_stack([np.arange(40) % 2, np.arange(40)])
    model = models.Regressor(lambda X: X[:, 0] * 2.0)
    auditor = Stops(model, sensitive_features=[0], n_restarts=n_restarts)
    with pytest.raises(KeyboardInterrupt):
        auditor.fit(X)
    assert not hasattr(auditor, "stop_reason_") and not hasattr(auditor, "space_")
    assert model.rows == 0


@pytest.mark.parametrize("n_restarts", [1, 3])
def test_a_model_that_fails_while_it_is_asked_leaves_what_was_found(models, n_restarts):
    X = np.column_stack([np.arange(40) % 2, np.arange(40)])
    model = models.Regressor(lambda X: X[:, 0] * 2.0)
    auditor = RandomAuditor(
        model,
        sensitive_features=[0],
        n_restarts=n_restarts,
        max_queries=600,
        random_state=0,
        space=InputSpace(bounds={1: (0, 10_000)}),
    )
    auditor.fit(X)

    def fails(X):
        if model.rows > 1000:
            raise RuntimeError("out of order")
        return X[:, 0] * 3.0

    model.function = fails
    with pytest.raises(EstimatorFailedError, match="out of order"):
        auditor.fit(X)
    assert auditor.stop_kind_ == "failed" and auditor.fairness_degree_ == 3
    assert 0 < auditor.n_queries_ < 600 and (auditor.disparities_ == 3).all()


def test_nothing_of_an_earlier_fit_stands_beside_the_results_of_a_later_one():
    X, _ = tables()
    auditor = SBFTAuditor(model_of(X), sensitive_features=["sex"], max_queries=300, random_state=0)
    auditor.fit(X)
    assert len(auditor.subpopulation_degrees_) and list(auditor.feature_names_in_) == ["sex", "job"]
    codes = X.apply(lambda column: column.factorize()[0]).to_numpy()
    numbers = LogisticRegression().fit(codes, codes[:, 0])
    auditor.set_params(estimator=numbers, sensitive_features=[0], max_queries=40).fit(codes)
    assert not hasattr(auditor, "feature_names_in_") and auditor.n_features_in_ == 2
    alone = clone(auditor).set_params(estimator=numbers).fit(codes)
    np.testing.assert_array_equal(auditor.subpopulation_degrees_, alone.subpopulation_degrees_)
    assert vars(auditor).keys() == vars(alone).keys()


def test_a_search_writes_nothing_on_the_auditor():
    X, _ = tables()

    class Watched(SBFTAuditor):
        def _run_search(self, search, rng):
            before = dict(vars(self))
            try:
                super()._run_search(search, rng)
            finally:
                search.measured["changed_"] = vars(self) != before

        def _own_results(self, found, space):
            return {"changed_": found.measured[0]["changed_"]}

    auditor = Watched(model_of(X), sensitive_features=["sex"], max_queries=300, random_state=0)
    assert auditor.fit(X).changed_ is False
    assert not hasattr(clone(auditor), "changed_")
