"""Retraining on moved twins: models learn to treat rows like their moved twins."""

import numpy as np
import pytest
from joblib import parallel_config
from planted_proxies import with_proxies
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tiers import slow_sample

from skfairtest import (
    AequitasAuditor,
    FairnessRetrainer,
    InputSpace,
    TestSGDAuditor,
    compare_mitigations,
)
from skfairtest.exceptions import MitigationWarning
from skfairtest.individual._flip_test.share import MovedTwins, MovedValues
from skfairtest.mitigation._retraining.moved_twins import MovedRetraining
from skfairtest.mitigation._retraining.training import Task, make_folds
from skfairtest.transports import QuantileTransport

LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())


@pytest.fixture(autouse=True)
def few_inputs(monkeypatch):
    """The shares of twins beside the moved ones are tested elsewhere."""
    monkeypatch.setattr(FairnessRetrainer, "_n_estimates", 200)


def coded(data):
    codes = {"a": 0, "b": 1, "c": 2}
    return data.data.drop(columns="region").assign(group=data.sensitive.map(codes).astype(int))


def mitigate(model, **settings):
    settings = {
        "strategy": "moved", "max_score_drop": 0.5, "cv": 2, "max_rounds": 2, "random_state": 0,
    } | settings  # fmt: skip
    return FairnessRetrainer(model, AequitasAuditor(sensitive_features="group"), **settings)


def moved_flips(model, X, rows):
    """Share of rows whose label changes under a map that was learned from X."""
    transport = QuantileTransport(keep=["group"]).fit(X, X["group"])
    rows = rows.reset_index(drop=True)
    moved = transport.transport(rows, rows["group"]).assign(group=1 - rows["group"])
    return (model.predict(rows) != model.predict(moved)).mean()


@pytest.fixture(scope="module")
def fitted():
    data = with_proxies(2500)
    X, y = coded(data), data.target.to_numpy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FairnessRetrainer, "_n_estimates", 200)
        return X, y, mitigate(clone(LOGISTIC)).fit(X[:600], y[:600])


@slow_sample
def test_moved_flips_fall_on_rows_that_no_model_has_seen(fitted):
    X, y, mitigated = fitted
    rows, target = X[600:], y[600:]
    before = moved_flips(mitigated.original_estimator_, X[:600], rows)
    after = moved_flips(mitigated.estimator_, X[:600], rows)
    assert before > 0.3 and after < 0.4 * before
    # Without the column they stay.
    without = [column for column in X if column != "group"]
    blind = clone(LOGISTIC).fit(X[without][:600], y[:600])
    transport = QuantileTransport().fit(X[without][:600], X["group"][:600])
    moved = transport.transport(rows[without], rows["group"])
    assert (blind.predict(rows[without]) != blind.predict(moved)).mean() > 0.7 * before
    cost = (mitigated.original_estimator_.predict(rows) == target).mean()
    assert cost - (mitigated.predict(rows) == target).mean() < 0.1


@slow_sample
def test_results_name_what_was_measured(fitted):
    _, _, mitigated = fitted
    before, after = mitigated.before_["moved"], mitigated.after_["moved"]
    assert (
        after["value"] < 0.5 * before["value"] and after["low"] <= after["value"] <= after["high"]
    )
    history, table = mitigated.history_, mitigated.alternatives_
    assert {"moved", "moved_low", "moved_high"} <= set(history) and "group" not in history
    assert history["moved"].iloc[0] > history["moved"].iloc[1]
    assert table.loc["retrained", "moved"] == after["value"]
    # What is simpler leaves the moved flips, which is measured and not taken for granted.
    assert table.loc["drop", "near"] == 0
    assert table.loc["drop", "moved"] > 0.5 * before["value"]
    card = mitigated._card()
    assert "moved twins" in card and "rows moved to another group" in card


@slow_sample
def test_the_same_seed_gives_the_same_model():
    data = with_proxies(300, random_state=1)
    X, y = coded(data), data.target
    with parallel_config("threading"):
        one, two = (
            mitigate(DecisionTreeClassifier(max_depth=3), n_jobs=n_jobs, max_rounds=1).fit(X, y)
            for n_jobs in (None, 2)
        )
    assert (one.history_["moved"] == two.history_["moved"]).all()
    assert (one.predict(X) == two.predict(X)).all()


@slow_sample
def test_a_cost_that_is_too_large_keeps_the_original():
    data = with_proxies(300)
    with pytest.warns(MitigationWarning, match="among moved twins: no round"):
        mitigated = mitigate(clone(LOGISTIC), max_score_drop=0.0, max_rounds=3).fit(
            coded(data), data.target
        )
    assert mitigated.estimator_ is mitigated.original_estimator_
    assert "the original model is kept" in mitigated._card().lower()


@slow_sample
def test_a_regressor_lowers_the_mean_difference():
    data = with_proxies(200, regression=True)
    mitigated = mitigate(LinearRegression(), max_score_drop=1.0).fit(coded(data), data.target)
    assert mitigated.after_["moved"]["value"] < 0.5 * mitigated.before_["moved"]["value"]


# What is added -----------------------------------------------------------------------------------


def prepared(n=150, n_groups=2, weights=None, shuffled=False):
    """A strategy with its folds and their original models."""
    data = with_proxies(n, n_groups=n_groups)
    X, y = coded(data), data.target.to_numpy()
    rng = np.random.default_rng(0)
    if shuffled:  # nothing goes along with the group
        X["group"] = rng.permutation(X["group"])
    params = {} if weights is None else {"sample_weight": weights}
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    task = Task(tree, X, y, scorer=None, fit_params=params, rng=rng)
    auditor = AequitasAuditor(sensitive_features="group", space=InputSpace())
    strategy = MovedRetraining(task, auditor, rng)
    folds = make_folds(task, strategy.space, [np.arange(0, n, 3)], rng)
    for fold in folds:
        fold.model = task.train(fold.rows)
    return strategy, folds, X, y


def test_the_first_round_adds_a_moved_twin_of_each_row_with_its_own_target():
    strategy, folds, X, y = prepared(weights=np.linspace(1, 2, 150))
    assert strategy.prepare(1, folds) is None
    added = strategy.add(1, folds[1])
    rows = folds[1].rows
    assert (added.labels == y[rows]).all()
    assert (added.rows["group"].to_numpy() == 1 - X["group"].to_numpy()[rows]).all()
    assert (added.weights == np.linspace(1, 2, 150)[rows]).all()
    # The map is that of the rows trained on: it reaches no further than these.
    learned = X["income"].iloc[rows]
    assert added.rows["income"].between(learned.min(), learned.max()).all()
    # Half of them, where that costs too much.
    assert strategy.goes_on(False)
    strategy.prepare(2, folds)
    assert len(strategy.add(2, folds[1]).labels) == len(rows) // 2


def test_later_rounds_add_rows_and_moved_twins_under_one_label():
    strategy, folds, X, y = prepared()
    strategy.prepare(1, folds)
    first = len(strategy.add(1, folds[0]).labels)
    strategy.goes_on(True)
    strategy.prepare(2, folds)
    added = strategy.add(2, folds[0])
    labels = added.labels[first:].reshape(-1, 2)
    assert len(labels) == len(X) and (labels[:, 0] == labels[:, 1]).all()
    rows = added.rows.iloc[first::2].reset_index(drop=True)
    assert (rows["income"] == X["income"]).all()
    twins = added.rows.iloc[first + 1 :: 2].reset_index(drop=True)
    model = folds[0].model
    average = model.predict_proba(rows) + model.predict_proba(twins)
    assert (labels[:, 0] == model.classes_[average.argmax(axis=1)]).all()


def test_with_three_groups_each_row_has_a_twin_in_both_others():
    strategy, folds, X, _ = prepared(400, 3)
    strategy.prepare(1, folds)
    added = strategy.add(1, folds[0])
    groups = added.rows["group"].to_numpy().reshape(-1, 2)
    assert (np.sort(np.column_stack([X["group"], groups]), axis=1) == [0, 1, 2]).all()


def test_half_of_the_rows_play_no_part_in_the_choice(monkeypatch):
    strategy, folds, _, _ = prepared()
    models, asked, weights = [fold.model for fold in folds], [], []

    def interval(values, weight, *_):
        weights.append(weight)
        return 0.1, (0.0, 0.2)

    def ask(twins, model, settings, **how):
        asked.append(model)
        return MovedValues(np.zeros(len(twins.rows)), [], twins.groups.codes, False)

    monkeypatch.setattr(MovedValues, "interval", interval)
    monkeypatch.setattr(MovedTwins, "ask", ask)
    strategy.group(models, folds)
    strategy.group(models, folds, fresh=True)
    assert (weights[0] + weights[1] == 1).all() and weights[0].sum() == 75
    # The model of all rows alone chooses; those of the folds are asked about the other half.
    assert asked == [models[0], *models]


def test_no_path_from_the_group_is_within_the_interval_of_the_figure():
    strategy, folds, _, _ = prepared(300, shuffled=True)
    found = strategy.group([fold.model for fold in folds], folds, fresh=True)
    assert found.low == 0 < found.value < found.high


def test_what_cannot_be_moved_is_an_error_before_any_training():
    auditor = AequitasAuditor(sensitive_features="age")
    for n, told in (
        (60, "cannot move rows between groups: age is a number with .* values"),
        (2000, "age is a number with .* values"),
    ):
        data = with_proxies(n)
        X, y = coded(data), data.target
        with pytest.raises(ValueError, match=f"strategy='moved' .*{told}"):
            FairnessRetrainer(LOGISTIC, auditor, strategy="moved").fit(X, y)
    with pytest.raises(TypeError, match="TestSGDAuditor finds none"):
        FairnessRetrainer(LOGISTIC, TestSGDAuditor(), strategy="moved").fit(X, y)


@slow_sample
def test_a_column_with_one_value_in_a_group_is_warned_of():
    data = with_proxies(400)
    X = coded(data)
    X.loc[X["group"] == 0, "income"] = 1.0
    said = "Column 'income' has a single value in all .* rows of group 0"
    with pytest.warns(UserWarning, match=said), pytest.warns(MitigationWarning):
        mitigate(LOGISTIC, max_score_drop=0.0, max_rounds=1).fit(X, data.target.to_numpy())
    with pytest.warns(UserWarning, match=said):
        compare_mitigations(
            LOGISTIC, X, data.target, sensitive_features="group", methods=["drop"], cv=2,
            progress=False, random_state=0,
        )  # fmt: skip
