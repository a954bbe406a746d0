"""AlternativesSearchCV: what it claims, what it refuses, and what it keeps."""

import pickle

import joblib
import msgspec
import numpy as np
import pandas as pd
import pytest
import sklearn
from callbacks import Ticks
from clocks import CLOCK
from conformance import assert_conforms
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from tiers import SAMPLE, slow_sample, some

from skfairtest import (
    AlternativesSearchCV,
    FlipTestAuditor,
    RandomAuditor,
    make_audit_scorer,
    selection_table,
)
from skfairtest.inspection import ParetoDisplay
from skfairtest.model_selection import AlternativesResult
from skfairtest.model_selection._alternatives import run
from skfairtest.model_selection._alternatives.judging import Criteria, changes_of


def people(n, seed=0, effect=0.8):
    """The column "club" carries the group, and the labels depend on the group a little."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(2, size=n)
    skill = rng.normal(size=(n, 2))
    X = pd.DataFrame(
        {"skill": skill[:, 0], "test": skill[:, 1], "club": sex + rng.normal(scale=0.3, size=n)}
    )
    y = (2 * skill.sum(axis=1) + effect * sex + rng.normal(size=n) > 0).astype(int)
    return X, y, pd.Series(np.where(sex, "male", "female"), name="sex")


def search(candidates, model=None, **settings):
    """Few folds, and a margin that is wide enough for few rows."""
    own = {"cv": 2, "margin": 0.1, "favourable": 1, "random_state": 0}
    return AlternativesSearchCV(model or GaussianNB(), candidates, **(own | settings))


class Shifted(ClassifierMixin, BaseEstimator):
    """Turns to a share of the people in a group, who are drawn by a seed, and else to a column."""

    def __init__(self, share=0.0, random_state=0):
        self.share, self.random_state = share, random_state

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        draws = np.random.default_rng([self.random_state, len(X)]).random(len(X))
        return ((X["skill"] > 0) | ((X["female"] == 1) & (draws < self.share))).astype(int)


@pytest.fixture(autouse=True)
def few_trainings(monkeypatch):
    """What is judged is trained four times, not eight."""
    monkeypatch.setattr(run, "N_REPEATS", 2)


@pytest.fixture(scope="module")
def found():
    X, y, sex = people(1500, effect=1.2)
    return search(["columns", {"var_smoothing": [1e-9]}], n_iter=1).fit(X, y, sex)


# Claims -----------------------------------------------------------------------------------------


def test_what_carries_the_group_is_found_away(found):
    assert (found.verdict_, found.best_params_) == ("found", {"column": "club"})
    best = found.result_[found.result_.best].judged
    assert best.gain["impact_ratio"].low > 0 and best.score_change.low >= -0.1
    assert found.rows_needed_ is None and found.sentence_.startswith("Found: without club.")
    table = found.alternatives_
    assert table.index[0] == "original" and table.loc["without club", "status"] == "judged"
    # What is worse by its estimates, or is the original's setting, promises nothing.
    assert table.loc["without skill", "status"] == "screened"
    assert table.loc["var_smoothing=1e-09", "status"] == "screened"
    assert set(found.front_.index) <= set(table.index)


def test_what_was_found_is_trained_on_all_rows_and_predicts(found):
    X, y, _ = people(1500, effect=1.2)
    held = X.assign(club=found.best_estimator_["hold"].values_[0])
    np.testing.assert_array_equal(found.predict(X), GaussianNB().fit(held, y).predict(held))
    np.testing.assert_array_equal(
        found.original_estimator_.predict(X), GaussianNB().fit(X, y).predict(X)
    )


def test_figures_of_the_original_are_those_of_its_predictions(found):
    """The disparity is that of `selection_table`, of out-of-fold predictions."""
    X, y, sex = people(1500, effect=1.2)
    screened = found.result_["original"].screened
    assert 0.5 < screened.disparity["impact_ratio"] < 0.9
    predicted = GaussianNB().fit(X, y).predict(X)
    table = selection_table(predicted, sensitive_features=sex, favourable=1)
    assert screened.disparity["impact_ratio"] == pytest.approx(table["impact_ratio"].min(), abs=0.1)
    groups = found.result_["without club"].groups
    assert [(one.group, one.change.value > 0) for one in groups] == [
        ("female", True), ("male", False),
    ]  # fmt: skip


@slow_sample
def test_the_luckiest_of_many_seeds_is_not_found():
    """The naive way takes it: on the rows that chose it, it gains."""
    X, y, sex = people(400, effect=0.5)
    tree = DecisionTreeClassifier(max_features=1, max_depth=4, random_state=0)
    lucky = search({"random_state": range(1, 25)}, tree, n_iter=24).fit(X, y, sex)
    assert lucky.verdict_ != "found"
    chosen = lucky.result_.judged[0].screened
    assert chosen.gain["impact_ratio"].value > 0.05 and chosen.score_change.value >= -0.1
    assert lucky.best_estimator_ is lucky.original_estimator_


@slow_sample
def test_none_is_claimed_of_candidates_that_are_alike():
    """A part of examples/benchmarks/bench_alternatives.py, which has three models and more rows."""
    tree = DecisionTreeClassifier(max_features=1, max_depth=4, random_state=0)
    verdicts = []
    for seed in range(6):
        X, y, sex = people(300, seed, effect=0.5)
        alike = search({"random_state": range(1, 21)}, tree, n_iter=20, random_state=seed)
        verdicts.append(alike.fit(X, y, sex).verdict_)
    assert verdicts.count("found") <= 1 and set(verdicts) - {"found"}


def test_what_more_rows_would_tell_is_said():
    X, y, sex = people(200, effect=0.5)
    few = search("columns").fit(X, y, sex)
    assert few.verdict_ == "cannot be told" and few.rows_needed_ > 200
    assert f"About {few.rows_needed_:,} rows" in few.sentence_


def test_nothing_better_says_what_is_not_excluded():
    X, y, sex = people(300, effect=0.0)
    worse = X.assign(female=(sex == "female").astype(int))
    none = search({"share": [0.0]}, Shifted(0.0), n_iter=1).fit(worse, y, sex)
    assert none.verdict_ == "not found" and none.result_.not_excluded == 0
    assert "do not exclude a gain in impact ratio of up to 0" in none.sentence_


def test_a_certain_gain_at_a_cost_that_is_not_leaves_it_open():
    X, y, sex = people(600, effect=0.0)
    female = (sex == "female").astype(int)
    less = X.assign(female=female, skill=X["skill"] - 0.8 * female)
    told, untold, dear = (
        search({"share": [share]}, Shifted(), n_iter=1, margin=margin).fit(less, y, sex).result_
        for margin, share in ((0.5, 0.25), (0.001, 0.25), (0.001, 0.4))
    )
    cost, too_much = (one.alternatives[1].screened.score_change for one in (untold, dear))
    assert cost.value < -0.001 < cost.high, "lower by its estimate alone"
    assert told.verdict == "found" and untold.verdict == "cannot be told"
    assert too_much.high < -0.001 and dear.verdict == "not found"
    (name,) = (one.name for one in untold.alternatives[1:])
    assert untold.nearest == name and untold.best == "original" and untold.rows_needed is None
    assert f"{name} has a gain" in untold.sentence and "not judged" in untold.to_markdown()


@slow_sample
def test_of_several_disparities_the_others_may_not_rise():
    X, y, sex = people(1500, effect=1.2)

    def against(y_true, y_pred, sensitive_features):
        rates = pd.Series(y_pred).groupby(sensitive_features.to_numpy()).mean()
        return 1 - (rates["male"] - rates["female"])  # rises where the first one falls

    both = {"ratio": "impact_ratio", "against": against}
    refused = search("columns", disparity=both).fit(X, y, sex)
    assert refused.verdict_ != "found"
    gain = refused.result_["without club"].figures.gain
    assert gain["ratio"].value > 0 > gain["against"].high


# Intervals --------------------------------------------------------------------------------------


def test_an_interval_of_one_change_is_students():
    rng = np.random.default_rng(0)
    values = rng.normal(size=40)
    without = (values.sum() - values) / 39
    gains = np.concatenate([[values.mean()], without]).reshape(1, 1, 1, -1)
    changes = changes_of(gains, np.random.default_rng(1))
    reach = 2.023 * values.std(ddof=1) / np.sqrt(40)
    assert changes.reach[0, 0] == pytest.approx(reach, rel=0.05)


@slow_sample
def test_the_spread_between_trainings_is_that_of_many_rows():
    """What trainings differ by because the rows are few is told from how they differ at all."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(100):
        rows = rng.normal(size=40) + rng.normal(size=(20, 40)) + 0.3 * rng.normal(size=(20, 1))
        without = (rows.sum(axis=1, keepdims=True) - rows) / 39
        gains = np.concatenate([rows.mean(axis=1, keepdims=True), without], axis=1)
        found.append(changes_of(gains[None, None], rng).spread[0, 0] ** 2)
    assert np.sqrt(np.mean(found)) == pytest.approx(0.3, abs=0.03)


@slow_sample
def test_intervals_of_many_changes_hold_at_once():
    rng = np.random.default_rng(0)
    held = []
    for _ in range(400):
        values = rng.normal(size=(10, 1, 40)) + rng.normal(size=40)
        without = (values.sum(axis=-1, keepdims=True) - values) / 39
        gains = np.concatenate([values.mean(axis=-1, keepdims=True), without], axis=-1)
        held.append(
            (np.abs(gains[..., 0]) <= changes_of(gains[:, :, None], rng).reach[..., 0:1]).all()
        )
    assert 0.92 < np.mean(held) < 0.98


def test_a_margin_of_nothing_needs_a_better_score():
    changes = changes_of(np.zeros((1, 2, 1, 41)), np.random.default_rng(0))
    changes.value[0, 1] = 0.1
    assert Criteria(0.0).for_certain(changes).all()  # it predicts the same, but for groups
    changes.reach[0, 0] = 0.01
    assert not Criteria(0.0).for_certain(changes).any()
    assert Criteria(0.01).for_certain(changes).all()


# Candidates and disparities -----------------------------------------------------------------------


@slow_sample
def test_all_kinds_of_candidates_together():
    X, y, sex = people(200)
    X = X.assign(sex=(sex == "male").astype(int))
    given = [
        {"var_smoothing": [1e-3, 1.0]},
        LogisticRegression(),
        {"naive": GaussianNB()},
        "drop",
        "columns",
    ]
    mixed = search(given, n_iter=2).fit(X, y, "sex")
    kinds = mixed.alternatives_["kind"].value_counts().to_dict()
    assert kinds == {"original": 1, "parameters": 2, "estimator": 2, "method": 1, "columns": 4}
    assert mixed.result_.settings.not_searched == []
    assert (mixed.alternatives_["status"] != "failed").all()
    results = mixed.cv_results_
    assert len(results["params"]) == 10 and results["param_var_smoothing"].mask[0]
    assert results["mean_test_score"][0] == np.mean(
        [results[f"split{k}_test_score"][0] for k in (0, 1)]
    )
    display = ParetoDisplay.from_cv_results(
        {k: v for k, v in results.items() if "impact" not in k}
        | {"mean_test_gap": results["mean_test_impact_ratio"] - 1}, x="gap", y="score",
    )  # fmt: skip
    assert len(display.table) == 10


@slow_sample
def test_names_of_disparities():
    X, y, sex = people(300)
    X = X.assign(sex=(sex == "male").astype(int))
    scorer = make_audit_scorer(RandomAuditor(sensitive_features=["sex"], max_queries=50))
    of_groups = ["demographic_parity", "equalized_odds", "calibration"]
    names = ["twins", *(f"{name}_difference" for name in of_groups), scorer]
    many = search("drop", LogisticRegression(), disparity=names).fit(X, y, "sex")
    table = many.alternatives_
    assert {"twins", "equalized_odds_difference", "fairness_degree_sex"} <= set(table)
    assert table.loc["drop", "twins"] == 0 < table.loc["original", "twins"]
    assert "mean_test_neg_twins" in many.cv_results_


@slow_sample
def test_scorers_of_moved_rows_take_columns_outside_the_model():
    X, y, sex = people(500)
    scorer = make_audit_scorer(FlipTestAuditor(), random_state=0)
    moved = search("columns", disparity=[scorer, "impact_ratio"]).fit(X, y, sex)
    assert moved.alternatives_.loc["original", "moved_rate"] > 0


@slow_sample
def test_regressors_are_compared_by_means():
    X, y, sex = people(300)
    y = X["skill"] + X["club"] + np.random.default_rng(0).normal(size=300)
    means = search({"alpha": [1.0, 1e3]}, Ridge(), n_iter=2, favourable=None).fit(X, y, sex)
    result = means.result_
    assert result.settings.disparity == ["mean_prediction_difference"]
    assert result.settings.score == "r2"
    gains = means.alternatives_["mean_prediction_difference_gain"]
    assert gains["alpha=1000"] > 0 > means.alternatives_.loc["alpha=1000", "score_change"]
    shares = search({"alpha": [1.0]}, Ridge(), n_iter=1, favourable=0.5).fit(X, y, sex)
    assert shares.result_.settings.disparity == ["impact_ratio"]


@slow_sample
def test_scores_of_probabilities():
    X, y, sex = people(200)
    scored = search(DecisionTreeClassifier(max_depth=2), scoring="roc_auc").fit(X, y, sex)
    assert scored.score(X, y) == pytest.approx(
        sklearn.metrics.roc_auc_score(y, scored.predict_proba(X)[:, 1])
    )
    assert scored.alternatives_["score"].between(0.5, 1).all()


@slow_sample
def test_three_classes():
    X, y, sex = people(300)
    three = np.array(["low", "middle", "high"])[y + (X["skill"] > 1)]
    with pytest.raises(ValueError, match="cannot be told which of them are favourable"):
        search("columns", favourable=None).fit(X, three, sex)
    named = search("columns", favourable=["middle", "high"]).fit(X, three, sex)
    assert named.result_.settings.favourable == "middle, high"


# Bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"candidates": []}, "candidates is empty"),
        ({"candidates": "droop"}, "unknown name, 'droop'"),
        ({"candidates": 3}, "candidates must be"),
        ({"margin": -0.1}, r"margin must be a number in \[0, inf\)"),
        ({"held_out": 0}, r"held_out must be a number in \(0, 1\)"),
        ({"disparity": "impact"}, "disparity='impact' is unknown"),
        ({"disparity": ["twins"]}, "takes none of them"),
        ({"disparity": len}, "must take"),
        ({"disparity": "mean_prediction_difference"}, "no measure of a classifier"),
        ({"cv": 1}, "cv must be a whole number of at least 2"),
        ({"cv": ShuffleSplit(4, test_size=0.5)}, "hold out no row twice"),
        ({"sampler": "lucky"}, "sampler must be None"),
        ({"scoring": lambda model, X, y: X["skill"].mean()}, "without looking at X"),
    ],
)
def test_bad_parameters(settings, words):
    X, y, sex = people(90)
    given = {"candidates": {"var_smoothing": [1e-3]}, "n_iter": 1} | settings
    with pytest.raises((ValueError, TypeError), match=words):
        search(**given).fit(X, y, sex)


def test_groups_that_cannot_be_compared():
    X, y, _ = people(1000)
    names = pd.Series(np.arange(1000) % 500, name="branch").astype(str)
    with pytest.raises(ValueError, match="no two groups to compare: of 500 groups"):
        search("columns").fit(X, y, names)
    with pytest.raises(ValueError, match="one class"):
        search("columns").fit(X, np.ones(1000), names)
    with pytest.raises(ValueError, match="requires y"):
        search("columns").fit(X)


@slow_sample
def test_a_small_group_is_left_out_and_named():
    X, y, sex = people(400)
    sex[:20] = "unknown"
    result = search("columns").fit(X, y, sex).result_
    assert result.settings.left_out == ["sex = unknown"]
    assert result.settings.groups == ["sex = female", "sex = male"]
    sex[:20] = None
    assert search("columns").fit(X, y, sex).result_.settings.left_out == []


def test_candidates_that_all_fail():
    X, y, sex = people(100)
    bad = search({"var_smoothing": [-1.0, "much"], "nothing": [1]}, n_iter=2)
    with pytest.warns(UserWarning, match="2 of 2 candidates failed"):
        bad.fit(X, y, sex)
    assert bad.verdict_ == "not found" and bad.alternatives_["note"].iloc[1:].all()
    assert bad.best_estimator_ is bad.original_estimator_
    with pytest.raises(ValueError):
        search("columns", GaussianNB(var_smoothing=-1.0)).fit(X, y, sex)


def test_an_undefined_disparity():
    X, y, sex = people(100)
    with pytest.raises(ValueError, match="original could not be .* undefined: impact_ratio"):
        search("columns", GaussianNB(priors=[1.0, 0.0])).fit(X, y, sex)


def test_a_fold_without_a_group():
    X, y, sex = people(300)
    order = np.argsort(sex.to_numpy())
    X, y, sex = X.iloc[order], y[order], sex.iloc[order]
    apart = search("columns", cv=KFold(2)).fit(X, y, sex)
    assert apart.alternatives_["impact_ratio"].notna().all()


# What goes with every estimator -------------------------------------------------------------------


@slow_sample
def test_weights_of_nothing_leave_rows_out():
    X, y, sex = people(300)
    weights = np.r_[np.ones(200), np.zeros(100)]
    settings = {"candidates": [LogisticRegression(), "columns"]}
    weighted = search(**settings).fit(X, y, sex, sample_weight=weights)
    fewer = search(**settings).fit(X[:200], y[:200], sex[:200])
    pd.testing.assert_frame_equal(weighted.alternatives_, fewer.alternatives_)


@slow_sample
def test_routing_and_nesting():
    X, y, sex = people(300)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = search("columns", LogisticRegression())
        inner.estimator.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        inner.set_fit_request(sensitive_features=True)
        given = {"sensitive_features": sex, "sample_weight": np.ones(300)}
        scores = cross_validate(inner, X, y, params=given, cv=2, return_estimator=True)
    assert [one.verdict_ for one in scores["estimator"]] and (scores["test_score"] > 0.5).all()


@pytest.mark.parametrize("how", some(["pickle", "skops"]))
def test_saved_and_loaded(found, how):
    if how == "pickle":
        again = pickle.loads(pickle.dumps(found))
    else:
        from light_skops import skops

        from skfairtest.io import TRUSTED_TYPES

        data = skops.io.dumps(found)
        again = skops.io.loads(data, trusted=TRUSTED_TYPES)
    X = people(50)[0]
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    pd.testing.assert_frame_equal(again.alternatives_, found.alternatives_)
    assert again.result_ == found.result_


def test_the_result_is_plain_data(found):
    data = msgspec.json.encode(found.result_)
    assert msgspec.json.decode(data, type=AlternativesResult) == found.result_
    assert not hasattr(clone(found), "result_")


@slow_sample
def test_workers_change_nothing():
    X, y, sex = people(200)
    alone = search(["columns", {"var_smoothing": [0.1, 1.0]}], n_iter=2).fit(X, y, sex)
    with joblib.parallel_config("threading", n_jobs=2):
        together = clone(alone).fit(X, y, sex)
    pd.testing.assert_frame_equal(alone.alternatives_, together.alternatives_)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(LogisticRegression(), marks=SAMPLE),
        pytest.param(LinearRegression(), marks=pytest.mark.slow),
    ],
)
def test_scikit_learns_checks(model, monkeypatch):
    for name in ("N_REPEATS", "N_PARTS_ASKED"):  # the checks fit a hundred times
        monkeypatch.setattr(run, name, 2)
    scorer = make_audit_scorer(RandomAuditor(sensitive_features=[0], max_queries=20))
    settings = {"disparity": scorer, "n_iter": 1, "cv": 2, "random_state": 0}
    assert_conforms(AlternativesSearchCV(model, {"fit_intercept": [False]}, **settings))


# Time and Ctrl-C --------------------------------------------------------------------------------


@slow_sample
def test_time_is_left_for_judging():
    X, y, sex = people(300, effect=1.2)
    many = {"var_smoothing": list(np.logspace(-3, 0, 40))}
    settings = {"candidates": ["columns", many], "n_iter": 40}
    CLOCK.begin()
    short = search(**settings, max_time=0.15).fit(X, y, sex)
    assert short.stop_reason_ == "max_time"
    assert set(short.alternatives_["status"].iloc[1:]) >= {"judged", "not reached"}
    with pytest.raises(ValueError, match="before the original was measured"):
        search(**settings, max_time=1e-3).fit(X, y, sex)


def test_ctrl_c_keeps_what_was_tried():
    X, y, sex = people(200)
    CLOCK.begin()
    CLOCK.interrupts_at = 60
    ended = search({"var_smoothing": list(np.logspace(-3, 0, 40))}, n_iter=40).fit(X, y, sex)
    assert ended.stop_reason_ == "interrupted" and ended.verdict_ == "cannot be told"
    assert 0 < (ended.alternatives_["status"] == "screened").sum() < 41
    assert "ended before one was judged (interrupted)" in ended.sentence_
    assert ended.best_estimator_ is ended.original_estimator_


@slow_sample
def test_a_callback_may_stop_it(capsys):
    X, y, sex = people(200)
    settings = {"candidates": {"var_smoothing": list(np.logspace(-3, 0, 20))}, "n_iter": 20}
    asked = search(**settings)
    asked.set_callbacks(Ticks(stop_at=30)).fit(X, y, sex)
    assert asked.stop_reason_ == "callback"
    search("columns", verbose=1).fit(X, y, sex)
    assert "[AlternativesSearchCV]  " in capsys.readouterr().out


# Samplers ---------------------------------------------------------------------------------------


@slow_sample
def test_halving_drops_the_worse_on_few_rows():
    X, y, sex = people(2000)
    halved = search(
        {"max_depth": range(1, 10)},
        DecisionTreeClassifier(random_state=0),
        n_iter=9,
        sampler="halving",
    ).fit(X, y, sex)
    status = halved.alternatives_["status"].value_counts()
    assert status["dropped"] == 6 and status.get("screened", 0) + status["judged"] == 4
    assert halved.alternatives_["note"].str.contains("% of the rows").sum() == 6


@slow_sample
@pytest.mark.parametrize("kind", ["NSGAIISampler", "TPESampler"])
def test_samplers_of_optuna(kind):
    optuna = pytest.importorskip("optuna")
    from scipy import stats

    X, y, sex = people(200)
    space = {
        "max_depth": [2, 3, None],
        "min_samples_leaf": stats.randint(1, 20),
        "ccp_alpha": stats.loguniform(1e-4, 1),
    }
    settings = {"candidates": space, "model": DecisionTreeClassifier(random_state=0), "n_iter": 12}
    one, other = (
        search(**settings, sampler=getattr(optuna.samplers, kind)(seed=0)).fit(X, y, sex)
        for _ in range(2)
    )
    assert len(one.alternatives_) == 13
    pd.testing.assert_frame_equal(one.alternatives_, other.alternatives_)
    with pytest.raises(ValueError, match="cannot draw 'max_depth'"):
        search(
            {"max_depth": stats.poisson(3)},
            DecisionTreeClassifier(),
            sampler=optuna.samplers.TPESampler(),
        ).fit(X, y, sex)
