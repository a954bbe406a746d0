"""FairnessRetrainer: what falls, what is kept, and what is never touched."""

import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from callbacks import Ticks
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tiers import slow_sample, some

from skfairtest import (
    AequitasAuditor,
    FairnessRetrainer,
    RandomAuditor,
    TestSGDAuditor,
    ThemisAuditor,
    estimate_discrimination,
)
from skfairtest._progress import FIT_WRAPPERS, Progress
from skfairtest.exceptions import EstimatorFailedError, MitigationWarning
from skfairtest.mitigation._retraining.rounds import Rounds
from skfairtest.mitigation._retraining.stages import Stages

pytestmark = pytest.mark.usefixtures("few_inputs")
TWINS = RandomAuditor(sensitive_features=[0], max_queries=1000)
GROUPS = TestSGDAuditor(sensitive_features=[0])
COLUMNS = [
    "round", "n_added", "rows", "near", "near_low", "near_high", "uniform", "uniform_low",
    "uniform_high", "degree", "group", "group_low", "group_high", "left", "fold_score",
    "fold_score_drop", "kept", "reason",
]  # fmt: skip


def people(n=600, seed=0, strength=0):
    """The first column decides together with the third (and by itself); labels are noisy."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, 4)).astype(float)
    X[:, 0] %= 2
    y = X[:, 1] + 3 * X[:, 0] * (X[:, 2] > 6) + strength * X[:, 0] + rng.normal(size=n) > 7
    return X, y.astype(int)


def mitigate(estimator=None, auditor=TWINS, **settings):
    estimator = DecisionTreeClassifier(random_state=0) if estimator is None else estimator
    settings = {
        "max_score_drop": 0.05, "max_rounds": 2, "cv": 3, "random_state": 0
    } | settings  # fmt: skip
    return FairnessRetrainer(estimator, auditor, **settings)


def fell(mitigated, place="near"):
    return mitigated.after_[place]["value"] < mitigated.before_[place]["value"]


@pytest.fixture(scope="module")
def three_rounds():
    """Rows, and a retrainer of them after four rounds; tests leave both as they are."""
    X, y = people()
    forest = RandomForestClassifier(5, random_state=0)
    return X, y, mitigate(forest, max_rounds=4, max_score_drop=0.2).fit(X, y)


# What falls -------------------------------------------------------------------------------------


@slow_sample
@pytest.mark.parametrize(
    "strategy, n, most, limit", some([("twins", 600, 0.7, 0.2), ("aequitas", 3000, 1, 0.05)])
)
def test_share_of_discriminatory_inputs_falls_on_fresh_inputs(
    monkeypatch, strategy, n, most, limit
):
    # As many as by default: what "aequitas" lowers by a point, few inputs do not show.
    monkeypatch.setattr(FairnessRetrainer, "_n_estimates", 5_000)
    X, y = people(n)
    mitigated = mitigate(strategy=strategy, max_score_drop=limit, random_state=2, max_rounds=5).fit(
        X, y
    )
    shares = [
        estimate_discrimination(model, X, sensitive_features=[0], random_state=77)
        for model in (mitigated.original_estimator_, mitigated.estimator_)
    ]
    assert shares[1].rate < most * shares[0].rate
    assert mitigated.n_added_ > 0
    assert fell(mitigated, "uniform")


@slow_sample
def test_group_scores_fall_on_fresh_inputs():
    X, y = people(1500, strength=3)
    mitigated = mitigate(LogisticRegression(), GROUPS, strategy="testsgd", max_rounds=8).fit(X, y)
    scores = [
        TestSGDAuditor(m, sensitive_features=[0], random_state=55).fit(X).group_fairness_score_
        for m in (mitigated.original_estimator_, mitigated.estimator_)
    ]
    assert scores[1] < 0.95 * scores[0]
    assert fell(mitigated, "group")


@slow_sample
def test_regression_with_a_threshold_mitigates_the_rate():
    X, _ = people()
    y = X[:, 1] + 2 * X[:, 0] * (X[:, 2] > 6)
    auditor = clone(TWINS).set_params(threshold=1.0)
    tree = DecisionTreeRegressor(max_depth=6)
    mitigated = mitigate(tree, auditor, max_score_drop=0.2).fit(X, y)
    domain = {"sensitive_features": [0], "threshold": 1.0, "random_state": 5}
    before = estimate_discrimination(mitigated.original_estimator_, X, **domain)
    after = estimate_discrimination(mitigated.estimator_, X, **domain)
    assert after.rate < 0.7 * before.rate


@slow_sample
def test_regression_without_a_threshold_mitigates_the_mean_difference():
    X, _ = people()
    y = X[:, 1] + 2 * X[:, 0] * (X[:, 2] > 6)
    mitigated = mitigate(LinearRegression(), max_score_drop=0.2, max_rounds=10).fit(X, y)
    assert fell(mitigated)
    before = mitigated.before_["uniform"]
    # A line has one difference for all twins.
    assert before["low"] == pytest.approx(before["value"]) == pytest.approx(before["high"])
    weight = [abs(m.coef_[0]) for m in (mitigated.original_estimator_, mitigated.estimator_)]
    assert weight[1] < weight[0]


@slow_sample
def test_rows_that_say_what_the_model_says_teach_a_line_nothing():
    X, _ = people()
    y = X[:, 1] + 2 * X[:, 0]
    with pytest.warns(MitigationWarning, match="original model is kept"):
        mitigated = mitigate(LinearRegression(), GROUPS, strategy="testsgd").fit(X, y)
    assert mitigated.estimator_ is mitigated.original_estimator_


@slow_sample
@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [False, True], [-1, 1]],
)
def test_labels_of_any_kind(labels):
    X, y = people()
    y = np.array(labels)[y]
    mitigated = mitigate().fit(X, y)
    assert fell(mitigated)
    assert set(mitigated.predict(X)) <= set(labels)
    assert mitigated.predict(X).dtype == y.dtype


@slow_sample
def test_three_classes():
    X, y = people()
    y = y + (X[:, 3] > 8)
    mitigated = mitigate().fit(X, y)
    assert fell(mitigated)
    assert mitigated.classes_.tolist() == [0, 1, 2]


@slow_sample
@pytest.mark.parametrize("model", [KNeighborsClassifier(), LinearSVC()], ids=["knn", "svm"])
def test_models_without_sample_weight_or_probabilities(model):
    X, y = people()
    auditor = RandomAuditor(sensitive_features=[0], max_queries=3000)
    mitigated = mitigate(model, auditor, random_state=3, max_rounds=8).fit(X, y)
    assert fell(mitigated)


@slow_sample
def test_many_combinations_of_sensitive_values():
    X, y = people()
    auditor = RandomAuditor(sensitive_features=[0, 3], max_queries=1000)
    mitigated = mitigate(auditor=auditor).fit(X, y)
    assert fell(mitigated)


@pytest.mark.parametrize("kind", some(["pandas", "polars"]))
@slow_sample
def test_frames_and_pipelines(kind, mixed, pipeline_of):
    X, y = mixed
    y = (y > y.median()).to_numpy()
    model = pipeline_of(DecisionTreeClassifier(random_state=0))
    if kind == "polars":
        table = {"sex": X["sex"] == "male", "age": X["age"], "member": X["member"]}
        X = pytest.importorskip("polars").DataFrame({k: v.tolist() for k, v in table.items()})
        model = DecisionTreeClassifier(random_state=0)
    auditor = RandomAuditor(sensitive_features="sex", max_queries=400)
    mitigated = mitigate(model, auditor, max_score_drop=0.3).fit(X, y)
    assert fell(mitigated)
    assert len(mitigated.predict(X)) == len(y)
    assert mitigated.feature_names_in_.tolist() == list(X.columns)


# The rounds -------------------------------------------------------------------------------------


@slow_sample
def test_history_tells_the_rounds(three_rounds):
    *_, mitigated = three_rounds
    table = mitigated.history_
    assert table.columns.tolist() == COLUMNS
    assert table["round"].tolist() == list(range(len(table)))
    assert table["n_added"].iloc[0] == 0 and table["kept"].iloc[0]
    for place in ("near", "uniform"):
        low, value, high = (table[place + end] for end in ("_low", "", "_high"))
        assert ((low <= value) & (value <= high)).all() and (value > 0).any()
    # What is kept leaves less than all that was kept before, and is good enough.
    kept = table[table["kept"]]
    assert (kept["left"].diff().iloc[1:] < 0).all() and kept["left"].iloc[0] == 1
    assert (kept["fold_score_drop"] <= 0.2).all()
    scores = table["fold_score"]
    np.testing.assert_allclose(scores, scores.iloc[0] - table["fold_score_drop"])
    assert mitigated.n_added_ == kept["n_added"].iloc[-1]


@slow_sample
def test_the_papers_algorithm_stops_when_the_share_no_longer_falls():
    X, y = people()
    # Enough queries to find as many inputs as the last round adds, of a model that is nearly fair.
    auditor = RandomAuditor(sensitive_features=[0], max_queries=4000)
    table = mitigate(auditor=auditor, strategy="aequitas", max_rounds=20).fit(X, y).history_
    kept = table["kept"].tolist()
    assert all(kept[:-1])  # the first round that is not better is the last
    n_train = 600
    for number, n_added in zip(table["round"][1:], table["n_added"][1:], strict=True):
        low, high = 2.0 ** (number - 1), 2.0**number
        assert low * n_train / 100 - 1 <= n_added <= high * n_train / 100


@slow_sample
def test_the_papers_sizes_of_groups():
    X, y = people(1500)
    mitigated = mitigate(LogisticRegression(), GROUPS, strategy="testsgd", max_rounds=4).fit(X, y)
    assert mitigated.history_["n_added"].tolist() == [0, 50, 100, 150]  # a tenth of 1,500
    # What was tried is no claim about what was kept.
    assert mitigated.stop_reason_ == "rounds of up to 150 added rows were trained"


def test_one_more_round_adds_to_the_rows_of_the_last(three_rounds):
    table = three_rounds[-1].history_
    assert (table["n_added"].diff().iloc[1:] > 0).all()
    assert len(table) > 2


@slow_sample
@pytest.mark.parametrize(
    "backend", ["threading", pytest.param("loky", marks=pytest.mark.slow, id="processes")]
)
def test_same_seed_same_result(backend):
    X, y = people()
    with parallel_config(backend):
        first, second = (mitigate(n_jobs=n).fit(X, y) for n in (None, 2))
    pd.testing.assert_frame_equal(first.history_, second.history_)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    other = mitigate(random_state=1, max_rounds=1).fit(X, y)
    assert not other.history_.equals(first.history_)


@slow_sample
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning")
def test_models_without_a_seed_get_one():
    X, y = people()
    tree = DecisionTreeClassifier(max_features=1)
    first, second = (mitigate(tree).fit(X, y) for _ in range(2))
    pd.testing.assert_frame_equal(first.history_, second.history_)
    assert tree.random_state is None


def test_a_step_has_a_line_of_its_own_where_a_second_had_none(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("skfairtest._clock.now", lambda: now[0])
    stages = Stages(Progress(FairnessRetrainer(LogisticRegression()), None, 0), 1)
    stages.round(2, 8, 20)
    for seconds in (0.5, 0.6, 0.3, 0.8):
        now[0] += seconds
        stages.step("a model is trained")
    line = "[FairnessRetrainer] round 2 of up to 8: a model is trained"
    assert capsys.readouterr().out.splitlines() == [line, line]


@slow_sample
def test_verbose_prints_a_line_a_round(capsys):
    X, y = people()
    mitigated = mitigate(verbose=1).fit(X, y)
    lines = re.findall(r"\[FairnessRetrainer\] round \d+: ", capsys.readouterr().out)
    assert len(lines) == len(mitigated.history_)


@slow_sample
@pytest.mark.skipif(not FIT_WRAPPERS, reason="callbacks need scikit-learn 1.9")
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning")
def test_callbacks_see_the_rounds_and_may_stop_them():
    X, y = people()
    stop = Ticks(stop_at=1)
    mitigated = mitigate(max_rounds=4).set_callbacks(stop).fit(X, y)
    assert mitigated.stop_reason_ == "a callback asked to stop after round 1"
    assert len(mitigated.history_) == 2 and stop.ticks > 1


# What is never touched --------------------------------------------------------------------------


class Watched(ClassifierMixin, BaseEstimator):
    """A tree that notes the rows it was trained on."""

    seen: list = []

    def fit(self, X, y):
        Watched.seen.append(np.column_stack([X, y]))
        self.tree_ = DecisionTreeClassifier(random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


@slow_sample
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning")
def test_twins_of_all_rows_are_added():
    X, y = people()
    Watched.seen = []
    mitigate(Watched(), max_rounds=1).fit(X, y)
    # Four originals, four without the sensitive column, and the round without each of three folds.
    added = Watched.seen[11][600:]
    # All but the sensitive column is as in the rows, the target too, which comes last.
    np.testing.assert_array_equal(added[:, 1:], np.column_stack([X[:, 1:], y]))
    np.testing.assert_array_equal(added[:, 0], 1 - X[:, 0])


@slow_sample
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning")
@pytest.mark.parametrize("seed", range(4))
def test_never_worse_than_the_original_on_what_is_measured(seed):
    X, y = people(seed=seed)
    mitigated = mitigate(random_state=seed, max_rounds=3).fit(X, y)
    assert mitigated.after_["uniform"]["value"] <= mitigated.before_["uniform"]["value"]


def test_score_is_guarded():
    X, y = people(strength=6)
    with pytest.warns(MitigationWarning, match="The original model is kept"):
        mitigated = mitigate(max_score_drop=0).fit(X, y)
    assert mitigated.estimator_ is mitigated.original_estimator_
    assert mitigated.n_added_ == 0
    rounds = mitigated.history_.iloc[1:]
    assert not rounds["kept"].any() and rounds["reason"].str.contains("score|not lower").all()
    # What cannot be kept is not measured.
    lost = rounds["reason"].str.contains("score")
    assert lost.any() and (rounds["near"].isna() == lost).all()


class Moody(ClassifierMixin, BaseEstimator):
    """A tree at first, and one answer for everybody in later fits."""

    fits = 0

    def fit(self, X, y):
        Moody.fits += 1
        self.tree_ = DecisionTreeClassifier(random_state=0).fit(X, y)
        self.constant_ = (
            Moody.fits > 8
        )  # originals, and those without the column: of all rows, and of three folds
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int) if self.constant_ else self.tree_.predict(X)


@slow_sample
def test_rounds_of_one_answer_are_not_kept():
    X, y = people()
    Moody.fits = 0
    with pytest.warns(MitigationWarning, match="original model is kept"):
        mitigated = mitigate(Moody(), max_score_drop=1.0).fit(X, y)
    assert mitigated.estimator_ is mitigated.original_estimator_
    assert (mitigated.history_["reason"].iloc[1:] == "predicts the same for all rows").all()


# In scikit-learn --------------------------------------------------------------------------------


def test_is_the_mitigated_model(three_rounds):
    X, y, mitigated = three_rounds
    np.testing.assert_array_equal(mitigated.predict(X), mitigated.estimator_.predict(X))
    np.testing.assert_array_equal(mitigated.predict_proba(X), mitigated.estimator_.predict_proba(X))
    assert mitigated.score(X, y) == mitigated.estimator_.score(X, y)
    assert mitigated.estimator_ is not mitigated.original_estimator_
    assert not hasattr(mitigate(LinearSVC(), max_rounds=1).fit(X, y), "predict_proba")


@slow_sample
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning")
def test_in_pipeline_search_and_cross_validation():
    X, y = people(300)
    fast = mitigate(max_rounds=1, auditor=clone(TWINS).set_params(max_queries=200))
    assert make_pipeline(StandardScaler(), fast).fit(X, y).score(X, y) > 0.6
    assert (cross_val_score(fast, X, y, cv=2) > 0.6).all()
    search = GridSearchCV(
        fast, {"estimator__max_depth": [2, 6], "auditor__max_queries": [100]}, cv=2
    )
    assert search.fit(X, y).best_estimator_.n_added_ >= 0


@slow_sample
def test_sample_weights_are_extended():
    X, y = people()
    model = LogisticRegression()
    heavy = mitigate(model).fit(X, y, sample_weight=np.where(y == 1, 20.0, 1.0))
    plain = mitigate(model).fit(X, y)
    assert heavy.predict(X).mean() > plain.predict(X).mean()
    with pytest.raises(ValueError, match="one value per row, 600; got 3"):
        mitigate().fit(X, y, sample_weight=[1, 2, 3])


class WithGroups(DecisionTreeClassifier):
    # scikit-learn 1.6 wants a subclass to keep `check_input`.
    def fit(self, X, y, groups=None, check_input=True):
        return super().fit(X, y)


def test_other_metadata_of_rows_cannot_be_extended():
    X, y = people()
    with pytest.raises(ValueError, match="fit got groups with one entry a row"):
        mitigate(WithGroups()).fit(X, y, groups=np.arange(len(y)))


@slow_sample
def test_metadata_routing():
    X, y = people()
    settings = {"max_score_drop": 0.2}
    with sklearn.config_context(enable_metadata_routing=True):
        tree = DecisionTreeClassifier(random_state=0).set_fit_request(sample_weight=True)
        routed = mitigate(tree, **settings).fit(X, y, sample_weight=np.where(y == 1, 9.0, 1.0))
    plain = mitigate(**settings).fit(X, y, sample_weight=np.where(y == 1, 9.0, 1.0))
    np.testing.assert_array_equal(routed.predict(X), plain.predict(X))
    assert routed.n_added_ == plain.n_added_ > 0


@slow_sample
def test_weights_reach_a_pipeline_by_metadata_routing():
    X, y = people()
    weights, settings = np.where(y == 1, 9.0, 1.0), {"max_score_drop": 0.2}
    line = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0))
    with pytest.raises(ValueError, match="Pipeline.fit takes no sample_weight.*routing"):
        mitigate(line, **settings).fit(X, y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        line[0].set_fit_request(sample_weight=False)
        line[1].set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        with parallel_config("threading", n_jobs=2):  # threads do not know how scikit-learn is set
            routed = mitigate(line, **settings).fit(X, y, sample_weight=weights)
    tree = routed.original_estimator_[-1].tree_
    assert tree.weighted_n_node_samples[0] == weights.sum()


# Bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings, error, message",
    [
        ({"strategy": "magic"}, ValueError, "strategy must be one of"),
        ({"max_score_drop": -0.1}, ValueError, "max_score_drop must be"),
        ({"cv": "many"}, ValueError, "cv must be .auto."),
        ({"cv": 1}, ValueError, "cv must be .auto., a whole number"),
        ({"max_rounds": 0}, ValueError, "max_rounds must be .auto. or"),
        ({"max_rounds": "many"}, ValueError, "max_rounds must be .auto. or"),
        ({"strategy": "testsgd"}, TypeError, "RandomAuditor finds none"),
        ({"auditor": GROUPS}, TypeError, "TestSGDAuditor finds none"),
        ({"auditor": GROUPS, "strategy": "aequitas"}, TypeError, "TestSGDAuditor finds none"),
        ({"auditor": None}, ValueError, "Name the sensitive columns"),
        ({"auditor": None, "strategy": "testsgd"}, ValueError, "sensitive"),
    ],
)
def test_bad_parameters(settings, error, message):
    X, y = people(60)
    with pytest.raises(error, match=message):
        mitigate(**settings).fit(X, y)


def test_bad_estimators_and_targets():
    X, y = people(60)
    with pytest.raises(ValueError, match="must be an instance"):
        FairnessRetrainer(None, TWINS).fit(X, y)
    with pytest.raises(ValueError, match="must be an instance"):
        FairnessRetrainer(LogisticRegression, TWINS).fit(X, y)
    with pytest.raises(ValueError, match="FrozenEstimator, which is never trained"):
        mitigate(FrozenEstimator(LogisticRegression().fit(X, y))).fit(X, y)
    with pytest.raises(ValueError, match="requires y to be passed"):
        mitigate().fit(X)
    with pytest.raises(ValueError, match="y must have one value per row, 60; got 59"):
        mitigate().fit(X, y[:-1])
    with pytest.raises(ValueError, match="no rows to hold out"):
        mitigate(KNeighborsClassifier(1)).fit(X[:2], [0, 1])


@pytest.mark.parametrize("auditor", some([RandomAuditor, ThemisAuditor, AequitasAuditor]))
def test_nothing_to_find(auditor, recwarn):
    X, y = people()
    blind = mitigate(make_pipeline(StandardScaler(), Blind()), auditor(sensitive_features=[0]))
    blind.fit(X, y)
    assert blind.estimator_ is blind.original_estimator_
    assert blind.stop_reason_ == "nothing to mitigate was seen in the original"
    assert len(blind.history_) == 1 and blind.after_["uniform"]["value"] == 0
    assert not [w for w in recwarn if issubclass(w.category, MitigationWarning)]


class Blind(LogisticRegression):
    """Does not see the first column."""

    def fit(self, X, y):
        super().fit(X, y)
        self.coef_[:, 0] = 0
        return self


def test_too_small_an_audit_to_find_anything():
    X, y = people()
    auditor = RandomAuditor(sensitive_features=[0], max_queries=2)
    model = DecisionTreeClassifier(max_depth=4, random_state=0)
    with pytest.warns(MitigationWarning, match="the audit found nothing to add"):
        mitigated = mitigate(model, auditor, strategy="aequitas", random_state=3).fit(X, y)
    assert mitigated.estimator_ is mitigated.original_estimator_
    assert mitigated.before_["uniform"]["value"] > 0


@slow_sample
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning")
def test_few_finds_are_all_added():
    X, y = people()
    auditor = RandomAuditor(sensitive_features=[0], max_found=3, max_queries=1000)
    mitigated = mitigate(auditor=auditor, strategy="aequitas", max_rounds=1).fit(X, y)
    assert 1 <= mitigated.history_["n_added"].iloc[-1] <= 6


def fails(model, X, y):
    raise RuntimeError("no score today")


def test_scorer_that_fails_leaves_the_original():
    X, y = people()
    retrainer = mitigate(scoring=make_scorer(lambda y, p: fails(0, y, p)))
    with pytest.raises(RuntimeError, match="no score today"):
        retrainer.fit(X, y)
    assert retrainer.stop_reason_ == "failed: no score today"
    assert retrainer.estimator_ is retrainer.original_estimator_
    assert len(retrainer.predict(X)) == len(y)
    with pytest.raises(ValueError, match="one finite number"):
        mitigate(scoring=lambda model, X, y: np.nan).fit(X, y)


@pytest.fixture
def second_round(monkeypatch):
    """A list that holds something as soon as the second round has begun."""
    begun, whole = [], Rounds._round

    def watched(rounds, number, added):
        begun.extend([number] * (number == 2))
        return whole(rounds, number, added)

    monkeypatch.setattr(Rounds, "_round", watched)
    return begun


@slow_sample
def test_scorer_that_fails_in_a_round_ends_the_run(second_round):
    X, y = people()

    def tires(model, X, y):
        return fails(model, X, y) if second_round else 2 * model.score(X, y)

    with pytest.warns(MitigationWarning, match="round 2 failed: RuntimeError: no score today"):
        forest = RandomForestClassifier(5, random_state=0)
        mitigated = mitigate(forest, scoring=tires, max_score_drop=0.5).fit(X, y)
    assert len(mitigated.history_) == 2
    assert mitigated.stop_reason_.startswith("round 2 failed")
    assert mitigated.after_["uniform"]["value"] <= mitigated.before_["uniform"]["value"]


class FitsOnce(DecisionTreeClassifier):
    def fit(self, X, y, sample_weight=None, check_input=True):
        if len(X) > 600:
            raise MemoryError("too many rows")
        return super().fit(X, y)


def test_round_that_cannot_be_trained_leaves_the_original():
    X, y = people()
    with pytest.warns(MitigationWarning, match="round 1 failed: MemoryError"):
        mitigated = mitigate(FitsOnce(random_state=0)).fit(X, y)
    assert mitigated.estimator_ is mitigated.original_estimator_


class RefusesProbabilities(DecisionTreeClassifier):
    """Gives labels and refuses probabilities, so that every audit fails."""

    def predict_proba(self, X, check_input=True):
        raise EstimatorFailedError("never seen")


def test_audit_that_fails_keeps_the_original_with_a_warning():
    X, y = people()
    with pytest.warns(MitigationWarning, match="Not mitigated.*the audit failed.*never seen"):
        mitigated = mitigate(RefusesProbabilities(random_state=0)).fit(X, y)
    assert mitigated.estimator_ is mitigated.original_estimator_
    assert mitigated.stop_reason_.startswith("the audit failed")
    assert not hasattr(mitigated, "after_")


@slow_sample
def test_interrupted_fit_keeps_the_best_so_far(second_round):
    X, y = people()

    def stops(model, X, y):
        if second_round:
            raise KeyboardInterrupt
        return 2 * model.score(X, y)

    forest = RandomForestClassifier(5, random_state=0)
    retrainer = mitigate(forest, scoring=stops, max_score_drop=0.5)
    with pytest.raises(KeyboardInterrupt):
        retrainer.fit(X, y)
    assert len(retrainer.predict(X)) == len(y)
    assert len(retrainer.history_) == 2
    assert retrainer.stop_reason_ == "interrupted"


def test_history_before_fit():
    with pytest.raises(AttributeError, match="before fit"):
        mitigate().history_  # noqa: B018
