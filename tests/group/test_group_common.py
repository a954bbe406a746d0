"""What every group auditor promises to scikit-learn: its checks, clone, pickle, skops, routing."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from conformance import assert_conforms
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from tiers import SAMPLE

from skfairtest import SubgroupAuditor, TestSGDAuditor, TextSGDAuditor
from skfairtest.datasets import make_biased_classification, make_identity_comments

SETTINGS = {"sensitive_features": [0], "error_threshold": 0.4, "random_state": 0}

# The checks' models often answer everybody alike, which is worth a warning to a user.
pytestmark = pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning")


@pytest.mark.parametrize(
    "auditor",
    [
        pytest.param(TestSGDAuditor(LogisticRegression(), **SETTINGS), marks=SAMPLE),
        pytest.param(TestSGDAuditor(LinearRegression(), **SETTINGS), marks=pytest.mark.slow),
        pytest.param(
            SubgroupAuditor(LogisticRegression(), attributes="all", max_conditions=1),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            SubgroupAuditor(
                LinearRegression(), metric="mean_error", attributes="all", max_conditions=1
            ),
            marks=SAMPLE,
        ),
        pytest.param(
            SubgroupAuditor(LogisticRegression(), attributes="all"), marks=pytest.mark.slow
        ),
    ],
    ids=[
        "testsgd-classifier",
        "testsgd-regressor",
        "subgroup-classifier",
        "subgroup-regressor",
        "subgroup-of-any-length",
    ],
)
def test_scikit_learn_checks(auditor):
    assert_conforms(auditor)


@pytest.fixture(scope="module")
def table():
    bunch = make_biased_classification(600, random_state=0)
    return bunch.data, bunch.estimator


@pytest.fixture(scope="module")
def fitted(table):
    X, model = table
    return TestSGDAuditor(
        model, sensitive_features=["sex", "hours"], error_threshold=0.1, random_state=0
    ).fit(X)


@pytest.fixture(scope="module")
def fitted_text():
    comments = make_identity_comments(400, random_state=0)
    return TextSGDAuditor(
        comments.estimator, max_attributes=1, error_threshold=0.1, random_state=0
    ).fit(comments.data), comments.data


def same(first, second):
    pd.testing.assert_frame_equal(first.rules_, second.rules_)


def test_pickle_keeps_results(fitted, fitted_text, table):
    again = pickle.loads(pickle.dumps(fitted))
    same(again, fitted)
    assert again.matches(table[0], 0).sum() == fitted.matches(table[0], 0).sum()
    auditor, texts = fitted_text
    again = pickle.loads(pickle.dumps(auditor))
    same(again, auditor)
    assert (again.matches(texts, 0) == auditor.matches(texts, 0)).all()


def test_skops_keeps_results(fitted, fitted_text):
    io = pytest.importorskip("skops.io")
    for auditor in (fitted, fitted_text[0]):
        data = io.dumps(auditor)
        unknown = io.get_untrusted_types(data=data)
        assert all(name.startswith(("skfairtest.", "numpy.")) for name in unknown), unknown
        same(io.loads(data, trusted=unknown), auditor)


def test_fitted_state_is_small(fitted):
    # The rows of X are not carried about: a pickle of ten million rows would be no result.
    assert len(fitted.space_.data) == 0


def test_clone_is_unfitted_and_refits_alike(fitted, table):
    copy = clone(fitted)
    assert not hasattr(copy, "rules_") and not hasattr(copy, "stop_reason_")
    same(copy.fit(table[0]), fitted)


def test_n_jobs_does_not_change_results(fitted, table):
    same(clone(fitted).set_params(n_jobs=2).fit(table[0]), fitted)


def test_fit_with_targets_fits_a_clone(table):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.integers(0, 2, 300), "score": rng.normal(size=300)})
    model = LogisticRegression()
    y = X["score"] + X["sex"] > 0.5
    auditor = TestSGDAuditor(model, random_state=0).fit(X, y)
    assert not hasattr(model, "coef_")
    assert (auditor.predict(X) == auditor.estimator_.predict(X)).all()
    assert auditor.score(X, y) > 0.9 and auditor.classes_.tolist() == [False, True]


def test_text_estimator_is_fitted_on_texts():
    comments = make_identity_comments(300, random_state=0)
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    auditor = TextSGDAuditor(model, max_attributes=1, random_state=0)
    auditor.fit(comments.data, comments.target)
    assert auditor.predict(comments.data[:3]).shape == (3,)
    assert auditor.n_queries_ < 20_000


class Asks(LogisticRegression):
    """Notes the sensitive columns that its fit was given."""

    def fit(self, X, y, sample_weight=None, sensitive_features=None):
        self.seen_ = sensitive_features
        return super().fit(X, y, sample_weight)


def test_sensitive_features_are_routed(table):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    y = (X["a"] > 0).astype(int)
    sex = pd.Series(rng.choice(["f", "m"], 200), name="sex")
    settings = {"error_threshold": 0.1, "random_state": 0}
    with sklearn.config_context(enable_metadata_routing=True):
        auditor = TestSGDAuditor(LogisticRegression(), **settings)
        auditor.set_fit_request(sensitive_features=True)
        auditor.fit(X, y, sensitive_features=sex)
        assert auditor.sensitive_features_ == ["sex"]
        # A pipeline passes the columns on to the auditor at its end.
        pipe = make_pipeline(auditor).fit(X, y, sensitive_features=sex)
        same(pipe[-1], auditor)
        asks = Asks().set_fit_request(sensitive_features=True)
        auditor = TestSGDAuditor(asks, **settings).fit(X, y, sensitive_features=sex)
        assert auditor.estimator_.seen_ is sex
        # Fitted already, it is not fitted again, whatever it asked for.
        prefit = TestSGDAuditor(auditor.estimator_, **settings).fit(X, sensitive_features=sex)
        same(prefit, auditor)


def test_before_fit_results_are_absent():
    for auditor in (TestSGDAuditor(LogisticRegression()), TextSGDAuditor(LogisticRegression())):
        for name in ("rules_", "worst_rule_", "group_fairness_score_"):
            assert not hasattr(auditor, name)
        with pytest.raises(AttributeError, match="Call fit"):
            auditor.confirm(None)


def test_a_run_that_fails_leaves_the_results_of_the_fit_before(monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    bunch = make_biased_classification(300, random_state=0)
    comments = make_identity_comments(300, random_state=0)
    cases = [
        (SubgroupAuditor(bunch.estimator, n_resamples=19, random_state=0), bunch.data),
        (TextSGDAuditor(comments.estimator, max_attributes=1, random_state=0), comments.data),
    ]
    for auditor, X in cases:
        auditor.fit(X)
        before = {name: id(value) for name, value in vars(auditor).items()}
        with monkeypatch.context() as patch:
            patch.setattr("skfairtest.group._outcomes.answers.Answers.ask", interrupt)
            patch.setattr("skfairtest.oracle._model.Model.predict", interrupt)
            with pytest.raises(KeyboardInterrupt):
                auditor.fit(X[:200])
        assert {name: id(value) for name, value in vars(auditor).items()} == before
