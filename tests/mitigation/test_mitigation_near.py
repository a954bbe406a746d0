"""Mitigation near the data: twins of rows, inputs near them, and who is held out of what."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier
from tiers import slow_sample

from skfairtest import FairnessRetrainer, InputSpace, Order, RandomAuditor
from skfairtest.mitigation._retraining.near_rows import MOST_TWINS, other_twins, with_twins
from skfairtest.mitigation._retraining.training import (
    Task,
    held_out,
    make_folds,
    rows_that_choose,
)
from skfairtest.mitigation._retraining.twin_strategies import TwinRetraining
from skfairtest.mitigation._shares import draw_crossings, draw_uniform, judge

TWINS = RandomAuditor(sensitive_features=[0], max_queries=500)
FAST = {"cv": 3, "random_state": 0}
pytestmark = pytest.mark.usefixtures("few_inputs")


def people(n=600, seed=0):
    """The first column follows the second, and the target the second: a proxy, no effect."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 10, (n, 4)).astype(float)
    X[:, 0] = X[:, 1] + rng.normal(0, 3, n) > 5
    y = X[:, 1] + 0.5 * X[:, 2] + rng.normal(size=n) > 7
    return X, y.astype(int)


def biased(n=800, seed=0):
    """The first column decides by itself as well, so that giving it up costs accuracy."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, 4)).astype(float)
    X[:, 0] %= 2
    y = X[:, 1] + 6 * X[:, 0] * (X[:, 2] > 6) + rng.normal(size=n) > 7
    return X, y.astype(int)


def folds_of(X, y, sensitive=(0,), n_folds=3, **settings):
    rng = np.random.default_rng(0)
    task = Task(
        DecisionTreeClassifier(), X, y, scorer=None, fit_params=settings.pop("fit_params", {}),
        rng=rng,
    )  # fmt: skip
    space = InputSpace(**settings).fit(X, list(sensitive))
    held_rows = held_out(task.y, task.classes, n_folds, rng)
    folds = make_folds(task, space, held_rows, rng)
    for fold in folds:
        fold.model = task.train(fold.rows)
    return task, folds


# What falls -------------------------------------------------------------------------------------


@slow_sample
@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), DecisionTreeClassifier(min_samples_leaf=3, random_state=0)],
    ids=["logistic", "tree"],
)
def test_nothing_is_left_of_a_column_that_need_not_matter(model):
    X, y = people()
    mitigated = FairnessRetrainer(model, TWINS, max_score_drop=0.03, **FAST).fit(X, y)
    for place in ("rows", "near", "uniform"):
        assert mitigated.before_[place]["value"] > 0.005
        assert mitigated.after_[place]["value"] <= 0.2 * mitigated.before_[place]["value"]
    assert mitigated.n_added_ >= len(y)
    assert mitigated.score_drop_["high"] <= 0.03 and mitigated.score_drop_["confirmed"]


@slow_sample
def test_forest_leaves_little_near_the_data_and_in_the_domain():
    X, y = people(1500)
    forest = RandomForestClassifier(10, random_state=0)
    settings = FAST | {"max_score_drop": 0.03, "max_rounds": 3}
    mitigated = FairnessRetrainer(forest, TWINS, **settings).fit(X, y)
    fresh, _ = people(4000, seed=7)
    space = InputSpace().fit(X, [0])
    rates = [
        judge(m, space, space.encode(fresh), {}).differs.mean()
        for m in (mitigated.original_estimator_, mitigated.estimator_)
    ]
    assert rates[1] < 0.5 * rates[0]


@slow_sample
def test_line_loses_the_sensitive_column():
    X, y = people()
    target = X[:, 1] + 0.5 * X[:, 2] + 0.3 * X[:, 0]
    mitigated = FairnessRetrainer(LinearRegression(), TWINS, max_score_drop=0.1, **FAST).fit(
        X, target
    )
    assert abs(mitigated.original_estimator_.coef_[0]) > 0.25
    assert abs(mitigated.estimator_.coef_[0]) < 1e-9
    assert mitigated.stop_reason_.startswith("nothing is left")


@slow_sample
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning")
def test_where_the_column_is_worth_something_the_rounds_go_little_by_little():
    X, y = biased()
    tree = DecisionTreeClassifier(random_state=0)
    mitigated = FairnessRetrainer(tree, TWINS, max_score_drop=0.02, **FAST).fit(X, y)
    table = mitigated.history_
    assert not table["kept"].iloc[1] and "score" in table["reason"].iloc[1]
    # All twins cost too much, and so may those of half and a quarter of the rows; then shares of
    # the rows that double, from one or two in a hundred.
    added = table["n_added"].tolist()
    assert added[1:3] == [len(y), len(y) // 2]
    if not table["kept"].iloc[2:4].any():
        assert added[3] == len(y) // 4
        assert added[4] < 0.04 * len(y) < added[6]
    assert (table.loc[table["kept"], "fold_score_drop"] <= 0.02).all()


# Twins ------------------------------------------------------------------------------------------


def test_rows_have_all_other_twins_with_their_own_target():
    X, y = people(50)
    X[:, 3] = np.arange(50)
    task, folds = folds_of(X, y)
    added = other_twins(folds[0])
    assert len(added.labels) == 50
    order = np.argsort(added.rows[:, 3])
    np.testing.assert_array_equal(added.rows[order][:, 1:], X[:, 1:])
    np.testing.assert_array_equal(added.rows[order][:, 0], 1 - X[:, 0])
    np.testing.assert_array_equal(added.labels[order], y)


def test_half_of_the_rows_are_those_that_flip_and_others():
    X, y = people(200)
    X[:, 3] = np.arange(200)
    task, folds = folds_of(X, y)
    strategy = TwinRetraining(task, TWINS, np.random.default_rng(0))
    chosen = strategy._choose_rows(folds[0], 0.5)
    flips = np.flatnonzero(judge(folds[0].model, folds[0].space, folds[0].encoded, {}).differs)
    assert len(chosen) == 100 and 0 < len(flips) < 100 and set(flips) <= set(chosen)
    added = other_twins(folds[0], chosen)
    assert set(added.rows[:, 3].astype(int)) == set(chosen)
    np.testing.assert_array_equal(added.labels, y[added.rows[:, 3].astype(int)])


def test_of_many_values_each_row_has_some():
    X, y = people(200)
    X[:, 0] = np.arange(200) % 40
    task, folds = folds_of(X, y)
    added = other_twins(folds[0])
    assert (MOST_TWINS - 1) * 200 <= len(added.labels) <= MOST_TWINS * 200
    # All values are about equally frequent.
    counts = np.bincount(added.rows[:, 0].astype(int), minlength=40)
    assert counts.min() > 0 and counts.max() < 4 * counts.mean()


def test_twins_satisfy_the_constraint():
    X = pd.DataFrame({"sex": [0, 1] * 50, "a": np.arange(100) % 10, "b": np.arange(100) % 10 + 1})
    y = (X["a"] > 4).to_numpy().astype(int)
    rule = [Order("sex", "<=", "a")]
    task, folds = folds_of(X, y, sensitive=["sex"], constraint=rule)
    added = other_twins(folds[0])
    assert (added.rows["sex"] <= added.rows["a"]).all() and len(added.labels) < 100


def test_inputs_near_the_data_have_one_label_for_all_twins():
    X, y = people(300)
    task, folds = folds_of(X, y)
    rng = np.random.default_rng(1)
    Z = draw_crossings(folds[0].space, 40, rng).rows

    added = with_twins(folds[0], Z)
    first, second = added.rows[::2], added.rows[1::2]
    np.testing.assert_array_equal(first[:, 1:], second[:, 1:])
    assert (first[:, 0] != second[:, 0]).all()
    np.testing.assert_array_equal(added.labels[::2], added.labels[1::2])
    # The label is what the model says to both on average.
    said = folds[0].model.predict_proba(first) + folds[0].model.predict_proba(second)
    np.testing.assert_array_equal(added.labels[::2], said.argmax(axis=1))


# Who is held out --------------------------------------------------------------------------------


class Named(ClassifierMixin, BaseEstimator):
    """A tree that notes which rows, known by their last column, it was trained on."""

    seen: list = []

    def fit(self, X, y):
        Named.seen.append(np.asarray(X)[:, 3])
        self.tree_ = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


@slow_sample
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning")
def test_no_row_is_scored_by_a_model_that_has_seen_it_or_anything_made_from_it():
    X, y = people(300)
    X[:, 3] = np.arange(300)
    y = (X[:, 1] + 4 * X[:, 0] > 7).astype(int)
    Named.seen = []
    scored = []

    def note(model, X, y):
        scored.append((set(X[:, 3]), set(Named.seen[-1])))
        return model.score(X, y)

    FairnessRetrainer(Named(), TWINS, scoring=note, max_rounds=2, max_score_drop=1.0, **FAST).fit(
        X, y
    )
    models = Named.seen
    # The originals, those without the sensitive column, and the rounds, whose folds come first.
    assert len(models) in (12, 16)
    for start in range(0, len(models), 4):
        four = [set(rows) for rows in models[start : start + 4]]
        everything, *folds = four if start < 8 else [four[3], *four[:3]]
        assert everything == set(X[:, 3])
        held = [everything - fold for fold in folds]
        # Rows of a fold, their twins and their crossings: nothing of them in the fold's model.
        assert [len(part) for part in held] == [100, 100, 100]
        assert set().union(*held) == everything


@pytest.mark.parametrize("cv", [4, KFold(4)])
def test_folds_hold_out_every_row_once(cv):
    y = np.arange(40) % 2
    held_rows = held_out(y, np.unique(y), cv, np.random.default_rng(0))
    assert len(held_rows) == 4
    np.testing.assert_array_equal(np.sort(np.concatenate(held_rows)), np.arange(40))


@pytest.mark.parametrize("n, repeats", [(60, 3), (1500, 2), (5000, 1)])
def test_few_rows_are_held_out_again_by_other_folds(n, repeats):
    y = np.arange(n) % 2
    held_rows = held_out(y, np.unique(y), "auto", np.random.default_rng(0))
    assert len(held_rows) == 5 * repeats
    assert (np.bincount(np.concatenate(held_rows)) == repeats).all()
    chooses = rows_that_choose(y, np.unique(y), held_rows, np.random.default_rng(1))
    assert chooses.sum() == -(-n // 3) and abs(chooses[y == 1].sum() - n / 6) <= 1


def test_rows_that_choose_are_held_out_by_some_fold():
    y = np.arange(90) % 2
    held = [np.arange(10), np.arange(10, 20)]
    chooses = rows_that_choose(y, np.unique(y), held, np.random.default_rng(1))
    assert not chooses[20:].any() and 6 <= chooses.sum() <= 8


def test_class_of_one_row_is_never_held_out_and_small_classes_are_spread():
    y = np.array([0] * 20 + [1] + [2, 2])
    held_rows = held_out(y, np.unique(y), 5, np.random.default_rng(0))
    assert 20 not in np.concatenate(held_rows)
    for fold in held_rows:
        assert set(np.delete(y, fold)) == {0, 1, 2}


@slow_sample
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning")
def test_class_that_a_fold_lacks_is_an_error_with_its_name_or_no_matter():
    X, y = people(60)
    y[:3] = 2  # three rows, five folds
    mitigated = FairnessRetrainer(
        LogisticRegression(), TWINS, **(FAST | {"cv": 5, "max_rounds": 2})
    ).fit(X, y)
    assert mitigated.classes_.tolist() == [0, 1, 2]


# Weights ----------------------------------------------------------------------------------------


class Weighed(LogisticRegression):
    """Notes the weights that it was given."""

    seen: list = []

    def fit(self, X, y, sample_weight=None):
        Weighed.seen.append(sample_weight)
        return super().fit(X, y, sample_weight=sample_weight)


@slow_sample
def test_a_twin_weighs_as_much_as_its_row():
    X, y = people(200)
    weights = np.linspace(1, 3, 200)
    Weighed.seen = []
    FairnessRetrainer(Weighed(), TWINS, max_rounds=1, **FAST).fit(X, y, sample_weight=weights)
    first = Weighed.seen[11]  # after the originals, those without the column, and three folds
    np.testing.assert_array_equal(first[:200], weights)
    np.testing.assert_array_equal(np.sort(first[200:]), weights)


@slow_sample
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning")
def test_rows_of_weight_zero_count_for_nothing():
    X, y = people(300)
    more_X = np.concatenate([X, np.tile(X[:1], (100, 1))])
    more_y = np.concatenate([y, 1 - np.tile(y[:1], 100)])
    weights = np.array([1.0] * 300 + [0.0] * 100)
    retrainer = FairnessRetrainer(LogisticRegression(), TWINS, max_rounds=3, **FAST)
    with_zeros = clone(retrainer).fit(more_X, more_y, sample_weight=weights)
    without = clone(retrainer).fit(X, y, sample_weight=np.ones(300))
    pd.testing.assert_frame_equal(with_zeros.history_, without.history_)


def test_weights_that_leave_nothing():
    X, y = people(100)
    retrainer = FairnessRetrainer(LogisticRegression(), TWINS, **FAST)
    with pytest.raises(ValueError, match="not zero everywhere"):
        retrainer.fit(X, y, sample_weight=np.zeros(100))
    with pytest.raises(ValueError, match="but those of one class"):
        retrainer.fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match="must be finite, at least 0"):
        retrainer.fit(X, y, sample_weight=np.full(100, -1.0))
    with pytest.raises(ValueError, match="scoring= has to take it"):
        FairnessRetrainer(LogisticRegression(), TWINS, scoring=lambda model, X, y: 0.5, **FAST).fit(
            X, y, sample_weight=np.ones(100)
        )


# Shares -----------------------------------------------------------------------------------------


def test_crossings_are_made_of_rows_and_uniform_inputs_fill_the_domain():
    X, y = people(400)
    space = InputSpace().fit(X, [0])
    rng = np.random.default_rng(0)
    near, uniform = draw_crossings(space, 500, rng).rows, draw_uniform(space, 500, rng)
    values = [set(column) for column in space.data.T]
    assert all(set(near[:, j]) <= values[j] for j in range(4))
    # The first column follows the second in the data, and not in the domain.
    assert np.corrcoef(near[:, 0], near[:, 1])[0, 1] > 0.4
    assert abs(np.corrcoef(uniform[:, 0], uniform[:, 1])[0, 1]) < 0.2


def test_share_is_that_of_a_naive_loop():
    X, y = people(300)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    space = InputSpace().fit(X, [0])
    judged = judge(tree, space, space.data, {})
    flipped = X.copy()
    flipped[:, 0] = 1 - flipped[:, 0]
    expected = tree.predict(X) != tree.predict(flipped)
    np.testing.assert_array_equal(judged.differs, expected)
    measure = judged.measure(mean=False)
    assert measure.value == expected.mean() and measure.low < measure.value < measure.high


def test_of_thousands_of_twins_a_hundred_are_compared_the_same_for_every_model():
    X, y = people(400)
    X[:, 0], X[:, 1] = np.arange(400) % 80, np.arange(400) % 50
    space = InputSpace().fit(X, [0, 1])
    assert space.twins_.n_twins == 4000

    class Counts(LinearRegression):
        asked = 0

        def predict(self, X):
            Counts.asked += len(X)
            return super().predict(X)

    line = Counts().fit(X, X[:, 0] + X[:, 1])
    judged = [judge(line, space, space.data[:50], {"threshold": 60.0}) for _ in range(2)]
    assert Counts.asked < 2 * 50 * 100 + 1000
    np.testing.assert_array_equal(judged[0].disparity, judged[1].disparity)
    # Nearly as far apart as any two twins are, and never farther.
    assert (judged[0].disparity > 60).all() and (judged[0].disparity <= 128 + 1e-6).all()


@slow_sample
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning")
def test_every_row_flips():
    X, _ = people(300)
    y = X[:, 0].astype(int)
    tree = DecisionTreeClassifier(random_state=0)
    mitigated = FairnessRetrainer(tree, TWINS, max_rounds=3, **FAST).fit(X, y)
    assert mitigated.before_["rows"]["value"] == mitigated.before_["near"]["value"] == 1
    # Nothing but the sensitive column tells the target: all twins cost all there is to know.
    assert (mitigated.history_["fold_score"].iloc[:2] < [1.01, 0.7]).all()
    assert (mitigated.predict(X) == y).mean() > 0.98


@slow_sample
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning")
def test_three_hundred_sensitive_values():
    X, y = people(900)
    X[:, 0] = np.arange(900) % 300
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    mitigated = FairnessRetrainer(tree, TWINS, max_rounds=1, max_score_drop=0.2, **FAST).fit(X, y)
    assert mitigated.history_["n_added"].iloc[1] <= MOST_TWINS * 900


def test_several_outputs_are_refused():
    X, y = people(100)
    with pytest.raises(ValueError, match="1d array"):
        FairnessRetrainer(LinearRegression(), TWINS, **FAST).fit(X, np.column_stack([y, y]))


class Locked(LogisticRegression):
    """Changes a parameter when it is made, so that it cannot be cloned."""

    def __init__(self, C=1.0):
        super().__init__(C=[C])


def test_estimator_that_cannot_be_cloned():
    X, y = people(100)
    with pytest.raises((RuntimeError, TypeError), match="clone"):
        FairnessRetrainer(Locked(), TWINS, **FAST).fit(X, y)
