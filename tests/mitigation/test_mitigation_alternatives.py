"""What the retrainer shows beside itself, drop and average, and what it keeps of all."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tiers import slow_sample

from skfairtest import FairnessRetrainer, MarginalizedClassifier, RandomAuditor, TestSGDAuditor
from skfairtest.exceptions import MitigationWarning
from skfairtest.mitigation._held_columns import HeldColumns

pytestmark = pytest.mark.usefixtures("few_inputs")
TWINS = RandomAuditor(sensitive_features=[0], max_queries=500)
FAST = {"cv": 3, "max_rounds": 1, "random_state": 0}
METHODS = ["original", "retrained", "drop", "average"]


def people(n=600, seed=0, effect=0.5):
    """The first column follows the second, and has an effect of its own."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 10, (n, 4)).astype(float)
    X[:, 0] = X[:, 1] + rng.normal(0, 3, n) > 5
    y = X[:, 1] + 0.5 * X[:, 2] + effect * X[:, 0] + rng.normal(size=n) > 7
    return X, y.astype(int)


def retrain(model=None, auditor=TWINS, **settings):
    model = LogisticRegression() if model is None else model
    retrainer = FairnessRetrainer(model, auditor, **{"max_score_drop": 0.05, **FAST, **settings})
    return retrainer


def quietly(retrainer, X, y, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MitigationWarning)
        return retrainer.fit(X, y, **params)


@pytest.fixture(scope="module")
def fitted(few_inputs):
    X, y = people()
    return X, y, quietly(retrain(), X, y)


def test_figures_of_all_methods_stand_side_by_side(fitted):
    *_, mitigated = fitted
    table = mitigated.alternatives_
    assert table.index.tolist() == METHODS
    assert table["kept"].tolist() == [False, True, False, False]
    for name, found in (("original", mitigated.before_), ("retrained", mitigated.after_)):
        assert table.loc[name, "rows"] == found["rows"]["value"]
        for place in ("unseen", "near", "uniform"):
            assert table.loc[name, place] == found[place]["value"]
            assert table.loc[name, f"{place}_high"] == found[place]["high"]
    assert table.loc["original", "left"] == 1 and table.loc["original", "score_drop"] == 0
    assert (table.loc[["drop", "average"], ["rows", "unseen", "near", "uniform", "left"]] == 0).all(
        axis=None
    )
    drops = table[["drop_low", "score_drop", "drop_high"]]
    assert (drops.diff(axis=1).iloc[:, 1:] >= 0).all(axis=None)
    assert (table.loc[["drop", "average"], "fit_seconds"] > 0).all()
    assert mitigated.score_drop_["value"] == table.loc["retrained", "score_drop"]


def test_scores_are_those_of_the_methods_trained_by_hand():
    X, y = people()
    folds = KFold(3, shuffle=True, random_state=0)
    # Every row judges: of those that choose nothing is reported.
    nobody = np.zeros(len(y), dtype=bool)
    with pytest.MonkeyPatch.context() as patch:
        module = "skfairtest.mitigation._retraining.retrainer"
        patch.setattr(f"{module}.rows_that_choose", lambda *args: nobody | (np.arange(600) == 0))
        mitigated = quietly(retrain(cv=folds), X, y)
    right = {"drop": [], "average": []}
    for rest, held in folds.split(X):
        average = MarginalizedClassifier(LogisticRegression(), sensitive_features=[0])
        right["average"] += (average.fit(X[rest], y[rest]).predict(X[held]) == y[held]).tolist()
        dropped = LogisticRegression().fit(X[rest][:, 1:], y[rest])
        right["drop"] += (dropped.predict(X[held][:, 1:]) == y[held]).tolist()
    scores = mitigated.alternatives_["fold_score"]
    assert scores["average"] == pytest.approx(np.mean(right["average"]), abs=0.002)
    # Trained with a column that never changes, which a solver may round otherwise.
    assert scores["drop"] == pytest.approx(np.mean(right["drop"]), abs=0.002)


@slow_sample
def test_a_simpler_method_that_leaves_less_at_no_more_cost_is_named():
    X, y = people(1500, effect=0.3)
    model = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
    published = retrain(model, max_score_drop=0.05, strategy="aequitas", random_state=3)
    with pytest.warns(MitigationWarning, match="simpler method leaves less at no more") as told:
        published.fit(X, y)
    assert len([w for w in told if issubclass(w.category, MitigationWarning)]) == 1
    named = "drop" if "'drop' leaves 0" in str(told[0].message) else "average"
    figures = published.alternatives_.loc[named]
    assert figures["score_drop"] <= published.score_drop_["value"]
    assert figures["near"] < published.after_["near"]["value"]


def test_best_keeps_the_simpler_method_where_it_leaves_less():
    X, y = people()
    best = quietly(
        retrain(DecisionTreeClassifier(random_state=0), strategy="best", max_score_drop=0.02), X, y
    )
    kept = best.alternatives_.index[best.alternatives_["kept"]].tolist()
    assert kept in (["drop"], ["average"]) and best.n_added_ == 0
    assert best.after_["near"]["value"] == 0 < best.before_["near"]["value"]
    twins = X.copy()
    twins[:, 0] = 1 - X[:, 0]
    np.testing.assert_array_equal(best.predict(X), best.predict(twins))
    assert f"Kept is {kept[0]}, which leaves 0 near the rows (original 0." in best.stop_reason_
    assert best.score_drop_["value"] == best.alternatives_.loc[kept[0], "score_drop"]


def test_best_says_what_may_cost_too_much():
    X, y = people(effect=6)
    best = quietly(retrain(DecisionTreeClassifier(max_depth=4), strategy="best"), X, y)
    assert best.estimator_ is best.original_estimator_
    assert "drop and average may cost more than max_score_drop" in best.stop_reason_
    assert "Kept is original" in best.stop_reason_


class RefusesHeld(LogisticRegression):
    """Fails where the sensitive column has one value."""

    def fit(self, X, y, sample_weight=None):
        if (X[:, 0] == X[0, 0]).all():
            raise ValueError("a column is constant")
        return super().fit(X, y, sample_weight)


@slow_sample
def test_nothing_is_lost_when_a_method_fails():
    X, y = people()
    mitigated = quietly(retrain(RefusesHeld()), X, y)
    table = mitigated.alternatives_
    assert table.loc["drop", "note"] == "ValueError: a column is constant"
    assert np.isnan(table.loc["drop", "near"]) and not table.loc["drop", "kept"]
    assert table.loc["average", "near"] == 0 and mitigated.n_added_ == len(X)


@slow_sample
def test_regressors_and_groups_have_alternatives_too():
    X, y = people()
    line = quietly(retrain(LinearRegression()), X, X[:, 1] + X[:, 0])
    assert (line.alternatives_.loc[["drop", "average"], "near"] == 0).all()
    auditor = TestSGDAuditor(sensitive_features=[0])
    groups = quietly(retrain(auditor=auditor, strategy="testsgd"), *people(1000, effect=3))
    assert np.isfinite(groups.alternatives_.loc[["original", "drop", "average"], "group"]).all()


@slow_sample
def test_weights_go_the_same_way_to_all_methods():
    X, y = people()
    weights = np.where(y == 1, 9.0, 1.0)
    weighted = quietly(retrain(), X, y, sample_weight=weights)
    assert not weighted.alternatives_["note"].any()
    with sklearn.config_context(enable_metadata_routing=True):
        line = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            LogisticRegression()
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True),
        )
        routed = quietly(retrain(line), X, y, sample_weight=weights)
        assert not routed.alternatives_["note"].any()


def test_alternatives_before_fit():
    with pytest.raises(AttributeError, match="no alternatives_"):
        retrain().alternatives_  # noqa: B018


@slow_sample
def test_rounds_of_auto_end_at_eight_trainings_worth_of_rows(monkeypatch):
    monkeypatch.setattr("skfairtest.mitigation._retraining.rounds.FREE_ROWS", 0)
    X, y = people()
    tree = RandomForestClassifier(5, random_state=0)
    short = quietly(retrain(tree, max_rounds="auto", max_score_drop=0.5), X, y)
    assert len(short.history_) == 2  # the first round is made in any case
    assert short.stop_reason_.startswith("round 2 would have made more than 8 trainings' worth")
    asked = quietly(retrain(tree, max_rounds=2, max_score_drop=0.5), X, y)
    assert len(asked.history_) == 3


# Bad input --------------------------------------------------------------------------------------


def frame(n=120):
    X, y = people(n)
    return pd.DataFrame(X, columns=["sex", "a", "b", "c"]), y


NAMED = RandomAuditor(sensitive_features="sex", max_queries=200)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda X, y: (X, np.zeros(len(y), dtype=int)), "2 classes; got one class"),
        (lambda X, y: (X, np.where(y == 1, np.nan, 0)), "NaN"),
        (lambda X, y: (X.iloc[:1], y[:1]), "2 classes; got one class"),
        (lambda X, y: (X.iloc[:0], y[:0]), "0 sample|at least one row|no rows"),
        (lambda X, y: (X.set_axis(["sex", "a", "a", "c"], axis=1), y), "more than once|unique"),
        (
            lambda X, y: (
                X.set_axis(pd.MultiIndex.from_product([["x"], X.columns]), axis=1), y,
            ),
            "sex|MultiIndex",
        ),
    ],
    ids=["one class", "NaN targets", "one row", "no row", "duplicate names", "MultiIndex"],
)  # fmt: skip
def test_bad_input_is_one_clear_error(change, message):
    X, y = change(*frame())
    with pytest.raises((ValueError, TypeError), match=message):
        retrain(auditor=NAMED).fit(X, y)


def test_text_is_no_target_of_a_regressor():
    X, y = frame()
    with pytest.raises(ValueError, match="numbers as targets.*'yes'"):
        retrain(LinearRegression(), NAMED).fit(X, np.where(y == 1, "yes", "no"))


def test_sensitive_values_beside_the_table_cannot_be_varied():
    X, y = frame()
    values = pd.Series(np.arange(len(X)) % 2, index=X.index[::-1] + 1000, name="other")
    auditor = clone(NAMED).set_params(sensitive_features=values)
    with pytest.raises((ValueError, TypeError), match="sensitive_features"):
        retrain(auditor=auditor).fit(X, y)


class Constant(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_a_constant_model_leaves_nothing_to_mitigate():
    X, y = frame()
    with pytest.warns(MitigationWarning, match="original model is kept.*the same for all rows"):
        constant = retrain(Constant(), NAMED).fit(X, y)
    assert "which predicts the same for all rows" in constant.stop_reason_
    assert "which predicts the same for all rows" in constant._card()


@slow_sample
def test_names_that_are_no_strings():
    X, y = frame()
    numbered = X.set_axis([0, 1, 2, 3], axis=1)
    mitigated = quietly(retrain(), numbered, y)
    assert mitigated.after_["near"]["value"] <= mitigated.before_["near"]["value"]


@slow_sample
def test_ten_thousand_categories():
    n = 10_000
    X, y = people(n)
    X[:, 0] = np.arange(n)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    with pytest.raises(ValueError, match="nobody shares a value with anybody"):
        quietly(retrain(tree), X, y)


def test_held_columns_are_those_of_the_comparison():
    from skfairtest.mitigation._comparison import methods

    assert methods.HeldColumns is HeldColumns
