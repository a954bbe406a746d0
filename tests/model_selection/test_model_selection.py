"""Audit scorers in all of scikit-learn's model selection, and which candidate is refitted."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from planted_proxies import with_proxies
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tiers import SAMPLE, slow_sample, some

from skfairtest import (
    FlipTestAuditor,
    InputSpace,
    RandomAuditor,
    SBFTAuditor,
    SubgroupAuditor,
    TestSGDAuditor,
    constrained_refit,
    make_audit_scorer,
    pareto_refit,
)
from skfairtest.datasets import make_biased_regression
from skfairtest.exceptions import EstimatorFailedError
from skfairtest.inspection._front import not_dominated
from skfairtest.model_selection import AuditScorer, ConstrainedRefit, ParetoRefit

GRID = {"max_depth": [1, 2, 8]}


@pytest.fixture(scope="module")
def people():
    """The first column is sensitive and decides for half of the rows."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 10, (240, 3)).astype(float)
    X[:, 0] %= 2
    y = (X[:, 1] + 4 * X[:, 0] * (X[:, 2] > 4) + rng.normal(size=240) > 6).astype(int)
    return X, y


@pytest.fixture
def scorer():
    return make_audit_scorer(RandomAuditor(sensitive_features=[0], max_queries=100), random_state=0)


def both(scorer):
    return {"accuracy": "accuracy", "degree": scorer}


# Scores -----------------------------------------------------------------------------------------


def test_score_is_the_degree_with_its_sign_turned(people, scorer):
    X, y = people
    model = DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, y)
    auditor = RandomAuditor(model, sensitive_features=[0], max_queries=100, random_state=0).fit(X)
    assert scorer(model, X) == scorer(model, X, y) == -auditor.fairness_degree_ < 0
    assert scorer.audit(model, X).n_found_ == auditor.n_found_


@pytest.mark.parametrize(
    "metric", ["fairness_degree", "discrimination_rate", "on_data_degree", "on_data_rate"]
)
def test_metrics_of_twins(people, metric):
    X, y = people
    model = DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, y)
    auditor = SBFTAuditor(sensitive_features=[0], max_queries=400)
    score = make_audit_scorer(auditor, metric, random_state=3)(model, X)
    same = auditor.set_params(estimator=model, random_state=3).fit(X)
    assert score == -getattr(same, f"{metric}_") < 0


@pytest.mark.parametrize(
    "auditor, metric",
    [
        (SubgroupAuditor(metric="accuracy", sensitive_features=[0]), "group_fairness_score"),
        (TestSGDAuditor(sensitive_features=[0], max_queries=3000), "group_fairness_score"),
        (RandomAuditor(sensitive_features=[0], max_queries=200), "fairness_degree"),
    ],
)
def test_without_a_metric_it_is_the_first_result_of_the_auditor(people, auditor, metric):
    X, y = people
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    scorer = make_audit_scorer(auditor, random_state=0)
    assert scorer.__name__ == f"neg_{metric}_0"
    assert scorer(model, X, y) == make_audit_scorer(auditor, metric, random_state=0)(model, X, y)
    found = cross_val_score(model, X, y, scoring=scorer, cv=2, error_score="raise")
    assert (found <= 0).all() and np.isfinite(found).all()


@slow_sample
@pytest.mark.parametrize(
    "alias, metric",
    some(
        [
            ("degree", "fairness_degree"),
            ("success_rate", "discrimination_rate"),
            ("share_rows", "on_data_rate"),
        ]
    ),
)
def test_names_of_the_tables_are_metrics(people, alias, metric):
    X, y = people
    model = DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, y)
    auditor = RandomAuditor(sensitive_features=[0], max_queries=300)
    one, other = (make_audit_scorer(auditor, name, random_state=0) for name in (alias, metric))
    assert one(model, X, y) == other(model, X, y) < 0
    assert one.metric == alias and one.__name__ == other.__name__ == f"neg_{metric}_0"
    weights = np.arange(len(X))
    assert one(model, X, y, weights) == other(model, X, y, weights)


def test_the_name_of_a_scorer_survives_clone_and_pickling():
    auditor = RandomAuditor(sensitive_features=["sex", "race"])
    scorer = make_audit_scorer(auditor, "degree", random_state=0)
    for again in (scorer, clone(scorer), pickle.loads(pickle.dumps(scorer))):
        assert again.__name__ == "neg_fairness_degree_sex_race"
    assert AuditScorer.__name__ == "AuditScorer"
    assert make_audit_scorer(RandomAuditor()).__name__ == "neg_fairness_degree"
    name = make_audit_scorer(TestSGDAuditor(), "group_fairness_score").__name__
    assert name == "neg_group_fairness_score"


def test_worst_group_fairness_score(people):
    X, y = people
    model = DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, y)
    auditor = TestSGDAuditor(sensitive_features=[0])
    score = make_audit_scorer(auditor, "group_fairness_score", random_state=0)(model, X)
    same = TestSGDAuditor(model, sensitive_features=[0], random_state=0).fit(X)
    assert score == -same.group_fairness_score_ < 0


def test_blind_model_scores_zero_without_a_warning(people, recwarn):
    X, y = people
    blind = LogisticRegression().fit(X * [0, 1, 1], y)
    blind.coef_[:, 0] = 0
    auditor = RandomAuditor(sensitive_features=[0], max_queries=100)
    score = make_audit_scorer(auditor, random_state=0)(blind, X)
    assert score == 0 and np.copysign(1, score) == 1
    assert not [w for w in recwarn if "disparity" in str(w.message)]


def test_audited_model_is_not_fitted_again(people, scorer, models):
    X, _ = people
    model = models.Regressor(lambda rows: rows[:, 0])
    assert scorer(model, X) == -1
    assert model.rows > 0


# The seed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seed", [None, 7, np.random.RandomState(0), np.random.default_rng(0)], ids=str
)
def test_every_call_has_the_same_seed(people, seed):
    X, y = people
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    auditor = RandomAuditor(sensitive_features=[0], max_queries=60, random_state=seed)
    scorer = make_audit_scorer(auditor, "discrimination_rate")
    assert scorer(model, X) == scorer(model, X) == clone(scorer)(model, X)


def test_different_seeds_differ(people):
    X, y = people
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    auditor = RandomAuditor(sensitive_features=[0], max_queries=60)
    scores = {
        make_audit_scorer(auditor, "discrimination_rate", random_state=seed)(model, X)
        for seed in range(6)
    }
    assert len(scores) > 1


# The space --------------------------------------------------------------------------------------


def test_fixed_space_is_that_of_every_audit(people):
    X, y = people
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    auditor = RandomAuditor(sensitive_features=[0], max_queries=200)
    space = InputSpace(bounds={1: (0, 3)}).fit(X, [0])
    fixed = make_audit_scorer(auditor, space=space, random_state=0)
    assert fixed(model, X) == fixed(model, X[:5])
    audited = fixed.audit(model)
    assert (audited.space_.domain.high == space.domain.high).all() and audited.space_.domain.high[
        1
    ] == 3
    assert audited.discriminatory_inputs_[:, 1].max() <= 3
    free = make_audit_scorer(auditor, random_state=0)
    assert free.audit(model, X).space_.domain.high[1] == 9


def test_the_auditor_of_a_fixed_space_can_audit_another_domain(people):
    X, y = people
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    auditor = RandomAuditor(
        sensitive_features=[0], max_queries=200, space=InputSpace(bounds={2: (0, 4)})
    )
    space = InputSpace(bounds={1: (0, 3)}).fit(X, [0])
    audited = make_audit_scorer(auditor, space=space, random_state=0).audit(model)
    np.testing.assert_array_equal(audited.space_.domain.high, [1, 3, 9])
    # The template's own parameters stand beside the results, so the next fit learns from its X.
    assert audited.space.bounds == {2: (0, 4)} and audited.sensitive_features == [0]
    assert audited.on_data_degree_ >= 0
    audited.fit(X * [1, 2, 1])
    np.testing.assert_array_equal(audited.space_.domain.high, [1, 18, 4])


@pytest.mark.parametrize(
    "auditor, metric",
    [
        (RandomAuditor(sensitive_features=[0], max_queries=200), "on_data_rate"),
        (TestSGDAuditor(sensitive_features=[0]), "group_fairness_score"),
    ],
)
def test_a_table_is_a_space(people, auditor, metric):
    X, y = people
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    scorer = make_audit_scorer(auditor, metric, space=X, random_state=0)
    alone = make_audit_scorer(auditor, metric, random_state=0)
    assert scorer(model, X[:50]) == scorer(model, X) == alone(model, X)


# Searches ---------------------------------------------------------------------------------------


@slow_sample
@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=SAMPLE)])
def test_grid_search_prefers_the_tree_that_ignores_the_column(people, scorer, n_jobs):
    X, y = people
    tree = DecisionTreeClassifier(random_state=0)
    search = GridSearchCV(tree, GRID, scoring=scorer, cv=3, n_jobs=n_jobs).fit(X, y)
    assert search.best_params_ == {"max_depth": 1}
    assert search.best_score_ == 0 > search.cv_results_["mean_test_score"].min()
    again = GridSearchCV(tree, GRID, scoring=scorer, cv=3).fit(X, y)
    np.testing.assert_array_equal(
        again.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )


@slow_sample
def test_randomized_and_halving_search(people, scorer):
    X, y = people
    tree = DecisionTreeClassifier(random_state=0)
    wide = RandomizedSearchCV(tree, GRID, n_iter=3, scoring=scorer, cv=3, random_state=0)
    halving = HalvingGridSearchCV(
        tree, GRID, scoring=scorer, cv=3, random_state=0, min_resources=60
    )
    for search in (wide, halving):
        assert search.fit(X, y).best_params_["max_depth"] == 1


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=SAMPLE)])
def test_cross_validate_with_several_metrics(people, scorer, n_jobs):
    X, y = people
    tree = DecisionTreeClassifier(random_state=0)
    result = cross_validate(tree, X, y, scoring=both(scorer), cv=3, n_jobs=n_jobs)
    assert (result["test_degree"] < 0).all() and (result["test_accuracy"] > 0.5).all()


@slow_sample
def test_permutation_importance(people):
    X, y = people
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    auditor = RandomAuditor(sensitive_features=[0], max_queries=100)
    scorer = make_audit_scorer(auditor, "on_data_rate", random_state=0)
    result = permutation_importance(model, X, y, scoring=scorer, n_repeats=2, random_state=0)
    # Who is asked about changes with the other columns, never with the sensitive one.
    assert result.importances_mean[0] == 0
    assert np.abs(result.importances_mean[1:]).max() > 0


@slow_sample
def test_pipeline_on_a_mixed_frame(mixed, pipeline_of):
    X, y = mixed
    auditor = RandomAuditor(sensitive_features="sex", max_queries=200)
    scorer = make_audit_scorer(auditor, space=X, random_state=0)
    search = GridSearchCV(
        pipeline_of(Ridge()), {"ridge__alpha": [1, 1e5]}, scoring={"r2": "r2", "degree": scorer},
        refit="degree", cv=3,
    ).fit(X, y)  # fmt: skip
    assert search.best_params_ == {"ridge__alpha": 1e5}


# Weights and routing ----------------------------------------------------------------------------


def test_sample_weights_without_routing(people, scorer):
    X, y = people
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0), GRID, scoring=both(scorer), refit="degree", cv=3
    )
    search.fit(X, y, sample_weight=np.linspace(1, 2, len(y)))
    assert np.isfinite(search.cv_results_["mean_test_degree"]).all()


def test_weights_count_where_rows_count(people):
    X, y = people
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    auditor = RandomAuditor(sensitive_features=[0], max_queries=100)
    scorer = make_audit_scorer(auditor, "on_data_rate", random_state=0)
    flipped = scorer.audit(model, X).audit_rows(X).is_discriminatory
    assert 0 < flipped.mean() < 1
    assert scorer(model, X, y, sample_weight=flipped) == -1
    assert scorer(model, X, y, sample_weight=~flipped) == 0
    degree = make_audit_scorer(auditor, random_state=0)
    assert degree(model, X, y, sample_weight=flipped) == degree(model, X, y)


@slow_sample
def test_metadata_routing(people):
    X, y = people
    weights = np.linspace(1, 2, len(y))
    auditor = RandomAuditor(sensitive_features=[0], max_queries=100)
    with sklearn.config_context(enable_metadata_routing=True):
        tree = DecisionTreeClassifier(random_state=0).set_fit_request(sample_weight=True)
        wants = make_audit_scorer(auditor, "on_data_rate", random_state=0)
        wants.set_score_request(sample_weight=True)
        plain = make_audit_scorer(auditor, "on_data_rate", random_state=0)
        plain.set_score_request(sample_weight=False)
        accuracy = make_scorer(accuracy_score).set_score_request(sample_weight=False)
        search = GridSearchCV(
            tree, GRID, scoring={"w": wants, "p": plain, "a": accuracy}, refit="p", cv=3
        ).fit(X, y, sample_weight=weights)
    table = search.cv_results_
    assert np.isfinite(table["mean_test_w"]).all()
    assert (table["mean_test_w"] != table["mean_test_p"]).any()


# Failures ---------------------------------------------------------------------------------------


class Broken(DecisionTreeClassifier):
    def predict_proba(self, X, check_input=True):
        raise RuntimeError("out of order")


def test_failing_audit_is_told_or_becomes_the_error_score(people, scorer):
    X, y = people
    with pytest.raises(EstimatorFailedError, match="out of order"):
        scorer(Broken().fit(X, y), X)
    with pytest.warns(UserWarning, match="[Ss]coring failed"):
        result = cross_validate(Broken(), X, y, scoring=scorer, cv=2)
    assert np.isnan(result["test_score"]).all()


def test_bad_arguments():
    auditor = RandomAuditor()
    with pytest.raises(TypeError, match="must be an instance of an auditor"):
        make_audit_scorer(RandomAuditor)
    with pytest.raises(ValueError, match="fairness_degree.*got 'accuracy'"):
        make_audit_scorer(auditor, "accuracy")
    with pytest.raises(ValueError, match="'degree'.*got 'degre'"):
        make_audit_scorer(auditor, "degre")
    with pytest.raises(ValueError, match="or a result of RandomAuditor"):
        make_audit_scorer(auditor, ["degree"])
    with pytest.raises(ValueError, match="result of RandomAuditor"):
        make_audit_scorer(auditor, "group_fairness_score")
    with pytest.raises(ValueError, match="result of TestSGDAuditor"):
        make_audit_scorer(TestSGDAuditor(), "fairness_degree")


# Refit ------------------------------------------------------------------------------------------


def results(objective, unfair, **more):
    return {"mean_test_r2": np.array(objective), "mean_test_degree": -np.array(unfair)} | more


def test_constrained_refit_takes_the_best_within_the_limit():
    table = results([0.9, 0.8, 0.7, 0.8], [0.5, 0.2, 0.1, 0.15])
    assert constrained_refit("r2", 0.5)(table) == 0
    assert constrained_refit("r2", 0.3)(table) == 3  # as good as 1, and less unfair
    assert constrained_refit("r2", 0.1)(table) == 2


def test_constrained_refit_when_none_is_within_the_limit():
    table = results([0.9, 0.8, 0.9], [0.5, 0.2, 0.2])
    with pytest.raises(ValueError, match="limit=0.1; the least of 3 is 0.2.*least_unfair"):
        constrained_refit("r2", 0.1)(table)
    assert constrained_refit("r2", 0.1, when_none="least_unfair")(table) == 2


def test_refit_leaves_nan_out():
    table = results([np.nan, 0.9, 0.8], [0.1, np.nan, 0.2])
    assert constrained_refit("r2", 0.5)(table) == 2
    assert constrained_refit("r2", 0.0, when_none="least_unfair")(table) == 2
    assert pareto_refit("r2")(table) == 2
    nothing = results([np.nan, 0.9], [0.1, np.nan])
    for rule in (constrained_refit("r2", 0.5), pareto_refit("r2")):
        with pytest.raises(ValueError, match="All 2 candidates have a NaN"):
            rule(nothing)


def test_pareto_refit_weighs_objective_and_unfairness():
    table = results([0.9, 0.88, 0.5, 0.4], [0.5, 0.1, 0.05, 0.3])
    assert pareto_refit("r2")(table) == 1
    assert pareto_refit("r2", weight=1)(table) == 0
    assert pareto_refit("r2", weight=0)(table) == 2


def test_the_front_is_what_nothing_beats():
    values = np.array([[0.7, -0.1], [0.9, -0.5], [0.8, -0.5], [0.7, -0.1], [0.6, -0.2]])
    assert np.flatnonzero(not_dominated(values)).tolist() == [0, 1, 3]
    assert np.flatnonzero(not_dominated(values[:, 1:])).tolist() == [0, 3]
    values[0, 0] = np.nan
    assert np.flatnonzero(not_dominated(values)).tolist() == [1, 3]


@slow_sample
def test_refit_in_a_search(people, scorer):
    X, y = people
    tree = DecisionTreeClassifier(random_state=0)
    search = GridSearchCV(
        tree, GRID, scoring=both(scorer), refit=constrained_refit("accuracy", 0), cv=3
    ).fit(X, y)
    assert search.best_estimator_.max_depth == 1
    free = GridSearchCV(tree, GRID, scoring=both(scorer), refit=pareto_refit("accuracy", weight=1))
    table = free.fit(X, y).cv_results_
    assert free.best_index_ == int(table["mean_test_accuracy"].argmax())


@slow_sample
def test_refit_in_a_search_that_cannot_meet_the_limit(people, scorer):
    X, y = people
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0), {"max_depth": [6, 8]}, scoring=both(scorer),
        refit=constrained_refit("accuracy", 0), cv=3,
    )  # fmt: skip
    with pytest.raises(ValueError, match="No candidate"):
        search.fit(X, y)


def test_bad_refit_arguments():
    for limit in (-1, np.nan, np.inf, "low", None, True):
        with pytest.raises(ValueError, match="limit must be"):
            constrained_refit("r2", limit)
        with pytest.raises(ValueError, match="limit must be"):
            ConstrainedRefit("r2", limit)(results([1.0], [0.5]))
    with pytest.raises(ValueError, match="when_none"):
        constrained_refit("r2", 1, when_none="skip")
    for weight in (-0.1, 1.1, np.nan, "half"):
        with pytest.raises(ValueError, match="weight must be"):
            pareto_refit("r2", weight=weight)
        with pytest.raises(ValueError, match="weight must be"):
            ParetoRefit("r2", weight=weight)(results([1.0], [0.5]))
    table = results([1.0], [0.5])
    with pytest.raises(ValueError, match="no metric 'accuracy'; it has"):
        constrained_refit("accuracy", 1, unfairness="degree")(table)
    with pytest.raises(ValueError, match="exactly one metric beside"):
        constrained_refit("r2", 1)(table | {"mean_test_f1": [0.5]})
    with pytest.raises(ValueError, match="those of an audit scorer, at most 0"):
        constrained_refit("degree", 1, unfairness="r2")(table)


@slow_sample
def test_regression_degree_has_the_units_of_the_target():
    data = make_biased_regression(random_state=0)
    scorer = make_audit_scorer(SBFTAuditor(), random_state=0)
    # The units are the point; a search comes near to a peak of a smooth model, not onto it.
    assert scorer(data.estimator, data.data) == pytest.approx(-data.fairness_degree, rel=1e-4)


def test_weights_that_count_for_nobody_are_refused(people):
    X, y = people
    scorer = make_audit_scorer(
        RandomAuditor(sensitive_features=[0], max_queries=50), "on_data_rate", random_state=0
    )
    model = LogisticRegression().fit(X, y)
    for weights in (np.zeros(len(X)), np.ones(3), -np.ones(len(X))):
        with pytest.raises(ValueError, match="sample_weight must"):
            scorer(model, X, y, sample_weight=weights)


# Sensitive columns beside X -----------------------------------------------------------------------


def _of_groups(metric="selection_rate"):
    auditor = SubgroupAuditor(
        metric=metric, sensitive_features=None, correction="none", favourable=1
    )
    return make_audit_scorer(auditor, random_state=0)


@slow_sample
def test_sensitive_columns_are_routed_to_scorers_of_groups():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=240), "b": rng.normal(size=240)})
    group = pd.Series(rng.choice(["u", "v"], 240), name="group")
    X["a"] += group == "u"
    y = (X["a"] > 0.5).astype(int)
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    with sklearn.config_context(enable_metadata_routing=True):
        wants = _of_groups().set_score_request(sensitive_features=True)
        accuracy = make_scorer(accuracy_score)
        found = cross_validate(
            pipe, X, y, cv=3, scoring={"groups": wants, "accuracy": accuracy},
            params={"sensitive_features": group}, return_estimator=True, return_indices=True,
        )  # fmt: skip
        search = GridSearchCV(
            pipe, {"logisticregression__C": [0.001, 1.0]}, scoring=wants, cv=3
        ).fit(X, y, sensitive_features=group)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sensitive_features"):
            cross_validate(pipe, X, y, scoring=_of_groups(), params={"sensitive_features": group})
    for k, held in enumerate(found["indices"]["test"]):
        predicted = found["estimator"][k].predict(X.iloc[held])
        by = pd.Series(predicted).groupby(group.iloc[held].to_numpy()).mean()
        assert found["test_groups"][k] == pytest.approx(-abs(by["u"] - by["v"]))
    assert (search.cv_results_["mean_test_score"] < 0).all()
    # What was said of weights stays as it was.
    wants.set_score_request(sample_weight=True)
    requests = wants.get_metadata_routing().score.requests
    assert requests == {"sample_weight": True, "sensitive_features": True}


def test_sensitive_columns_are_of_no_use_to_scorers_of_twins(people):
    X, y = people
    model, beside = LogisticRegression().fit(X, y), np.resize(["a", "b"], len(y))
    scorer = make_audit_scorer(RandomAuditor(sensitive_features=[0], max_queries=50))
    with pytest.raises(ValueError, match="RandomAuditor compares twins, and twins in columns that"):
        scorer(model, X, y, sensitive_features=beside)
    with pytest.raises(ValueError, match="RandomAuditor compares twins"):
        scorer.set_score_request(sensitive_features=True)
    # What is routed to scorers of groups passes them by.
    request = scorer.set_score_request(sensitive_features=False, sample_weight=True)
    assert request.get_metadata_routing().score.requests["sample_weight"]
    routing = make_audit_scorer(scorer.auditor).get_metadata_routing()
    assert not routing.consumes("score", ["sensitive_features"])
    with pytest.raises(ValueError, match="one row for each row of X"):
        _of_groups()(model, X, y, sensitive_features=beside[:3])
    in_space = make_audit_scorer(TestSGDAuditor(sensitive_features=[0]), space=X, random_state=0)
    with pytest.raises(ValueError, match="Leave space=None"):
        in_space(model, X, y, sensitive_features=beside)


# Moved rows -------------------------------------------------------------------------------------

#: What a whole audit takes its time for, and the rate does not need.
QUICK = {
    "n_bootstrap": 0,
    "attribution": "order",
    "classifier": DecisionTreeClassifier(max_depth=3),
}


@pytest.fixture(scope="module")
def proxies():
    data = with_proxies(400)
    return data.data.drop(columns=["group", "region"]), data.target, data.sensitive


@slow_sample
def test_the_moved_rate_is_that_of_the_auditor(proxies):
    X, y, group = proxies
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    scorer = make_audit_scorer(FlipTestAuditor(**QUICK))
    assert scorer.__name__ == "neg_moved_rate" and scorer.metric == "auto"
    score = scorer(model, X, sensitive_features=group)
    audited = scorer.audit(model, X, sensitive_features=group)
    assert score == -audited.moved_rate_ < -0.1
    # In X the model is given the column, and its moved twins have that of the other group.
    both = X.assign(group=(group == "b").astype(int))
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(both, y)
    named = make_audit_scorer(
        FlipTestAuditor(sensitive_features="group", **QUICK),
        "share_moved",
    )
    assert named.__name__ == "neg_moved_rate_group"
    assert named(model, both) == -named.audit(model, both).moved_rate_ < 0
    assert make_audit_scorer(FlipTestAuditor(), "moved_rate").metric == "moved_rate"


@slow_sample
def test_weights_count_in_the_moved_rate_and_three_groups_count_rows_once():
    data = with_proxies(300, n_groups=3)
    X = data.data.drop(columns=["group", "region"])
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, data.target)
    scorer = make_audit_scorer(FlipTestAuditor(**QUICK))
    audited = scorer.audit(model, X, sensitive_features=data.sensitive)
    found = np.zeros(len(X), dtype=bool)
    found[audited.flipset_["case", "position"].to_numpy(dtype=int)] = True
    weights = np.linspace(1, 2, len(X))
    score = scorer(model, X, sample_weight=weights, sensitive_features=data.sensitive)
    assert score == pytest.approx(-np.average(found, weights=weights))
    assert 0 < found.mean() == audited.moved_rate_ < 1


@slow_sample
def test_a_search_takes_the_candidate_that_moved_rows_change_least(proxies):
    X, y, group = proxies
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    grid = {"logisticregression__C": [1e-6, 1.0]}
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_audit_scorer(FlipTestAuditor())
        wants = scorer.set_score_request(sensitive_features=True)
        search = GridSearchCV(pipe, grid, scoring=wants, cv=2, error_score="raise")
        search.fit(X, y, sensitive_features=group)
    constant, fitted = search.cv_results_["mean_test_score"]
    assert search.best_index_ == 0 and constant == 0 and fitted < -0.1


def test_a_search_with_the_group_in_the_table_needs_no_routing(proxies):
    X, y, group = proxies
    X = X.assign(group=(group == "b").astype(int))
    scorer = make_audit_scorer(FlipTestAuditor(sensitive_features=["group"]))
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0), {"max_depth": [1, 4]}, scoring=scorer, cv=2,
        error_score="raise",
    ).fit(X, y)  # fmt: skip
    assert (search.cv_results_["mean_test_score"] < 0).all()


def test_what_a_scorer_of_moved_rows_refuses(proxies):
    X, y, _ = proxies
    with pytest.raises(ValueError, match="moves the rows that are scored"):
        make_audit_scorer(FlipTestAuditor(), space=X)
    with pytest.raises(ValueError, match=r"one of \['moved_rate', 'share_moved'\]"):
        make_audit_scorer(FlipTestAuditor(), "on_data_rate")
    model = DecisionTreeClassifier(max_depth=1).fit(X, y)
    scorer = make_audit_scorer(FlipTestAuditor())
    with pytest.raises(ValueError, match="one sensitive value|rows"):
        scorer(model, X, sensitive_features=np.arange(3))
    with pytest.raises(ValueError, match="all people have the same"):
        scorer(model, X, sensitive_features=np.zeros(len(X)))


def test_a_group_of_few_rows_has_no_score_in_place_of_one_of_errors(proxies):
    X, y, _ = proxies
    few = np.where(np.arange(len(X)) < 12, "a", "b")
    scorer = make_audit_scorer(FlipTestAuditor())
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="two groups of 50 rows or more"):
        scorer(model, X, sensitive_features=few)
    # Beside two groups that are large enough its rows do not count.
    with_few = np.where(np.arange(len(X)) < 12, "c", np.where(np.arange(len(X)) % 2, "a", "b"))
    alone = scorer(model, X[12:], sensitive_features=with_few[12:])
    assert scorer(model, X, sensitive_features=with_few) == alone < 0
