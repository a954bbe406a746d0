"""The baseline of the benchmarks: fictitious play of Kearns et al. 2018."""

import importlib.util

import numpy as np
import pandas as pd
import pytest
from places import TOP
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from tiers import slow_sample

PLACE = TOP / "examples" / "benchmarks" / "_fictitious_play.py"
SENSITIVE = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def play():
    spec = importlib.util.spec_from_file_location("_fictitious_play", PLACE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def attributes(n, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({name: rng.choice(["no", "yes"], n) for name in SENSITIVE})
    table["skill"] = rng.normal(size=n)
    return table, rng


def several(table):
    return (table[SENSITIVE] == "yes").sum(axis=1) >= 3


def gerrymandered(n, seed=0):
    """Labels that ask less of whoever says yes at least three times."""
    table, rng = attributes(n, seed)
    lead = table["skill"] + 1.5 * several(table) + 0.3 * rng.normal(size=n)
    return table, np.where(lead > 0.5, "good", "bad")


def test_the_auditor_finds_a_group_that_no_attribute_shows(play):
    table, _ = attributes(4000)
    inside = several(table)
    decisions = inside.astype(float)
    auditor = play.LinearGroupAuditor().fit(table[SENSITIVE], decisions)
    said = np.array(auditor.predict(table[SENSITIVE]), dtype=bool)
    marginal = max(
        abs(decisions[table[name] == "yes"].mean() - decisions[table[name] == "no"].mean())
        for name in SENSITIVE
    )
    assert marginal < 0.45
    assert abs(auditor.difference_) > marginal + 0.15
    share, rate = said.mean(), decisions[said].mean()
    assert auditor.violation_ == pytest.approx(share * abs(rate - decisions.mean()))
    assert auditor.difference_ == pytest.approx(rate - decisions[~said].mean())
    assert auditor.size_ == pytest.approx(share)
    assert np.mean(auditor.charge_ * decisions) == pytest.approx(auditor.violation_)
    assert auditor.measure(table[SENSITIVE], decisions)[0] == pytest.approx(auditor.violation_)


def test_a_linear_regression_does_not_see_blue_men_and_green_women(play):
    table, _ = attributes(4000)
    table = pd.concat([table.assign(a=a, b=b) for a in ("no", "yes") for b in ("no", "yes")])
    decisions = (table["a"] == table["b"]).to_numpy(dtype=float)
    linear = play.LinearGroupAuditor().fit(table[["a", "b"]], decisions)
    assert linear.violation_ < 1e-9
    products = play.LinearGroupAuditor(degree=2).fit(table[["a", "b"]], decisions)
    assert products.violation_ == pytest.approx(0.25)
    assert abs(products.difference_) == pytest.approx(1)


def test_false_positives_are_counted_among_negatives(play):
    table, rng = attributes(4000)
    inside, y = several(table), rng.integers(0, 2, 4000)
    decisions = np.where(y == 1, 1.0, inside)
    with pytest.raises(ValueError, match="give y"):
        play.LinearGroupAuditor("false_positive").fit(table[SENSITIVE], decisions)
    auditor = play.LinearGroupAuditor("false_positive").fit(table[SENSITIVE], decisions, y)
    said = np.array(auditor.predict(table[SENSITIVE]), dtype=bool)
    negative = y == 0
    expected = decisions[said & negative].mean() - decisions[~said & negative].mean()
    assert auditor.difference_ == pytest.approx(expected)
    assert np.all(auditor.charge_[y == 1] == 0)
    assert np.mean(auditor.charge_ * decisions) == pytest.approx(auditor.violation_)
    distance = abs(decisions[said & negative].mean() - decisions[negative].mean())
    assert auditor.violation_ == pytest.approx(np.mean(said & negative) * distance)


@slow_sample
@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_disparity_falls_with_the_rounds_and_accuracy_stays_sane(play, estimator):
    X, y = gerrymandered(1500)
    X_test, y_test = gerrymandered(3000, seed=1)
    model = play.FictitiousPlayClassifier(
        estimator, sensitive_features=SENSITIVE, gamma=0.02, charge=2.0, n_iterations=40
    )
    fitted = model.fit(X, y)
    history = fitted.history_["violation"]
    assert history[0] > 0.06
    assert history.iloc[-10:].mean() < 0.03
    share = fitted.predict_proba(X_test)
    assert share.shape == (len(X_test), 2)
    assert np.allclose(share.sum(axis=1), 1)
    worst = play.LinearGroupAuditor().fit(X_test[SENSITIVE], share[:, 1])
    first = fitted.learners_[0].predict(fitted.encoder_.transform(X_test))
    at_first = play.LinearGroupAuditor().fit(X_test[SENSITIVE], first)
    assert worst.violation_ < 0.6 * at_first.violation_
    right = np.where(y_test == "good", share[:, 1], share[:, 0]).mean()
    assert right > 0.7


def test_a_wide_gamma_leaves_the_model_as_it_is(play):
    X, y = gerrymandered(500)
    model = play.FictitiousPlayClassifier(sensitive_features=SENSITIVE, gamma=1, n_iterations=5)
    fitted = clone(model).fit(X, y)
    assert np.array_equal(fitted.predict_proba(X), model.fit(X, y).predict_proba(X))
    assert set(np.unique(fitted.predict_proba(X))) <= {0.0, 1.0}
    assert fitted.history_["violation"].nunique() == 1
    drawn = fitted.draw(X, random_state=0)
    assert np.array_equal(drawn, fitted.predict(X))
    assert set(drawn) == {"bad", "good"}


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"gamma": -1}, "gamma must be"),
        ({"n_iterations": 0}, "n_iterations must be"),
        ({"rate": "odds"}, "rate must be one of"),
    ],
)
def test_bad_settings(play, setting, says):
    X, y = gerrymandered(100)
    with pytest.raises(ValueError, match=says):
        play.FictitiousPlayClassifier(sensitive_features=SENSITIVE, **setting).fit(X, y)


def test_two_classes_are_asked_for(play):
    X, _ = gerrymandered(90)
    with pytest.raises(ValueError, match="two classes"):
        play.FictitiousPlayClassifier(sensitive_features=SENSITIVE).fit(X, np.arange(90) % 3)
