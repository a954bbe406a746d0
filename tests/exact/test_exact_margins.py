"""Linear models of several classes: boxes of leads bound what is there, and close the gap."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tiers import slow_sample, some
from verifiers import network_verifier

from skfairtest import CertifiedAuditor
from skfairtest.exact._networks.margin_search import MarginSearch
from skfairtest.exact._verifier import SolverLimits
from skfairtest.space._space import InputSpace

NO_LIMITS = SolverLimits(np.inf, 0.0)


def linear(seed, *, n_classes=3, n_real=0, steep=2.0):
    """A logistic regression with coefficients at random, its data and its verifier."""
    rng = np.random.default_rng(seed)
    n = 60
    frame = pd.DataFrame({"s": np.arange(n) % 3, "k": np.arange(n) % 5})
    frame["c"] = pd.Series(np.array(["u", "v", "w"], dtype=object)[np.arange(n) % 3], dtype=object)
    for k in range(n_real):
        frame[f"x{k}"] = rng.normal(size=n) * 10.0 ** rng.integers(-2, 3)
    numbers = [name for name in frame if name not in ("s", "c")]
    columns = make_column_transformer((OneHotEncoder(), ["s", "c"]), (StandardScaler(), numbers))
    model = make_pipeline(columns, LogisticRegression(max_iter=20))
    model.fit(frame, np.arange(n) % n_classes)
    own = model[-1]
    own.coef_ = rng.normal(size=own.coef_.shape) * steep
    own.intercept_ = rng.normal(size=own.intercept_.shape)
    space = InputSpace().fit(frame, sensitive_features="s")
    return model, frame, network_verifier(model, space, "predict_proba")


def largest_difference(model, frame):
    """The largest difference of a finite domain, by looking at all inputs."""
    values = [sorted(frame[name].unique()) for name in ("k", "c")]
    probabilities = [
        model.predict_proba(
            pd.DataFrame(
                [(s, k, c) for k, c in itertools.product(*values)], columns=["s", "k", "c"]
            )
        )
        for s in sorted(frame["s"].unique())
    ]
    return max(np.abs(a - b).max() for a, b in itertools.combinations(probabilities, 2))


@pytest.mark.parametrize("seed", some(range(60)))
@pytest.mark.parametrize("n_classes", some([3, 4, 5]))
def test_boxes_of_leads_are_never_below_the_truth(n_classes, seed):
    model, frame, verifier = linear(seed, n_classes=n_classes, steep=[0.1, 2.0, 30.0][seed % 3])
    truth = largest_difference(model, frame)
    search = MarginSearch.make(verifier.relaxation, NO_LIMITS)
    first = search.upper
    for _ in range(40):
        assert search.upper >= truth - 1e-12
        search.step(truth * 0.9)
    assert search.upper <= first


def test_boxes_that_no_inputs_reach_are_left_out():
    _, _, verifier = linear(1, n_real=3)
    search = MarginSearch.make(verifier.relaxation, NO_LIMITS)
    (_, _, box) = search.queue._heap[0]
    far = box._replace(low=box.high + 1.0, high=box.high + 2.0)
    assert search._bound(far)[0] == -np.inf
    assert np.isfinite(search._bound(box)[0])


@pytest.mark.parametrize("seed", some(range(40), 2))
def test_real_columns_close_the_gap_by_leads_alone(seed):
    _, _, verifier = linear(seed, n_real=3, steep=1.0)
    search = MarginSearch.make(verifier.relaxation, NO_LIMITS)
    result = verifier.solve(0.0, SolverLimits(np.inf, 1e-2))
    for _ in range(300):
        if search.queue.is_spent and search.queue.incumbent > 0:
            break
        search.step(result.lower * 1.02)
    assert result.lower - 1e-12 <= search.upper <= result.lower * 1.02 + 1e-9


@slow_sample
def test_bounds_by_leads_are_part_of_an_audit(monkeypatch):
    made = []
    make = MarginSearch.make.__func__

    def noted(cls, *args):
        made.append(make(cls, *args))
        return made[-1]

    monkeypatch.setattr(MarginSearch, "make", classmethod(noted))
    model, frame, _ = linear(0, n_real=3, steep=1.0)
    auditor = CertifiedAuditor(model, sensitive_features="s", rtol=1e-2, random_state=0).fit(frame)
    assert auditor.certified_
    assert made and all(search.queue.n_boxes > 0 for search in made)
