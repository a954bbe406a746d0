"""Every public estimator goes to disk and comes back, trusting our own types alone."""

import importlib
import inspect
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import sklearn
from imblearn.pipeline import make_pipeline as make_sampler_pipeline
from light_skops import skops
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skops.io.exceptions import UntrustedTypesFoundException
from tiers import slow_sample

import skfairtest
from skfairtest import (
    FairnessAugmenter,
    FairnessRetrainer,
    FlipTestAuditor,
    MarginalizedClassifier,
    MarginalizedRegressor,
    RandomAuditor,
    SubgroupAuditor,
    TestSGDAuditor,
    TextSGDAuditor,
    make_audit_scorer,
)
from skfairtest.base import BaseAuditor
from skfairtest.datasets import make_identity_comments
from skfairtest.io import TRUSTED_TYPES, without_requests
from skfairtest.model_selection import AuditScorer, ConstrainedRefit, ParetoRefit
from skfairtest.transports import QuantileTransport

pytestmark = [
    pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning"),
    pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

PUBLIC = {
    name: value
    for module in (skfairtest, skfairtest.model_selection, skfairtest.transports)
    for name in dir(module)
    if inspect.isclass(value := getattr(module, name))
    if issubclass(value, BaseEstimator) and not name.startswith("_") and value is not BaseAuditor
}
TWINS = [name for name, value in PUBLIC.items() if issubclass(value, BaseAuditor)]
#: Estimators that are tested one by one below; transports in tests/transports, and the search for
#: alternatives in tests/model_selection.
OTHERS = {
    "AlternativesSearchCV", "AuditScorer", "ConstrainedRefit", "FairnessAugmenter",
    "FairnessRetrainer", "InputSpace",
    "MarginalizedClassifier", "MarginalizedRegressor", "ParetoRefit", "SubgroupAuditor",
    "TestSGDAuditor", "TextSGDAuditor", "OptimalTransport", "QuantileTransport",
    "SequentialTransport", "FlipTestAuditor",
}  # fmt: skip


def round_trip(thing, model=None):
    """To the file format and back; nothing but our own types may be asked for.

    Apart from what the user's own model asks for, were it stored alone.
    """
    data = skops.io.dumps(thing)
    asked = skops.io.get_untrusted_types(data=data)
    trusted = [*TRUSTED_TYPES, *skops.io.get_untrusted_types(data=skops.io.dumps(model))]
    assert set(asked) <= set(trusted), sorted(set(asked) - set(trusted))
    return skops.io.loads(data, trusted=trusted)


@pytest.fixture(scope="module")
def people():
    """Whole numbers; sex decides for those above 4."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 10, (300, 3)), columns=["points", "hours", "sex"])
    X["sex"] %= 2
    y = np.where(X["points"] + 3 * X["sex"] * (X["points"] > 4) + X["hours"] / 5 > 7, "yes", "no")
    return X, y


def test_every_public_estimator_is_tested_here():
    assert set(PUBLIC) == set(TWINS) | OTHERS


def test_the_list_holds_our_own_types_and_they_exist():
    assert len(set(TRUSTED_TYPES)) == len(TRUSTED_TYPES) > 10
    for name in TRUSTED_TYPES:
        module, _, attribute = name.rpartition(".")
        assert module.startswith("skfairtest") or name == "imblearn.pipeline.Pipeline"
        thing = getattr(importlib.import_module(module), attribute)
        assert thing.__module__ == module


def test_nobody_can_widen_what_all_others_trust():
    trusted = skfairtest.io.TRUSTED_TYPES
    trusted += ("my_package.MyModel",)
    assert "my_package.MyModel" in trusted
    assert "my_package.MyModel" not in skfairtest.io.TRUSTED_TYPES
    with pytest.raises(AttributeError):
        skfairtest.io.TRUSTED_TYPES.append("my_package.MyModel")


@pytest.mark.parametrize("name", TWINS)
def test_auditors_of_twins(name, people):
    X, y = people
    model = LogisticRegression()  # has a gradient; a network's optimizer skops does not trust
    if not PUBLIC[name]._is_white_box:
        model = make_pipeline(StandardScaler(), LogisticRegression())
    auditor = PUBLIC[name](model, sensitive_features="sex", max_queries=60, random_state=0)
    auditor.fit(X, y)
    again = round_trip(auditor)
    assert again.fairness_degree_ == auditor.fairness_degree_
    assert again.stop_reason_ == auditor.stop_reason_
    assert_frame_equal(again.discriminatory_inputs_, auditor.discriminatory_inputs_)
    assert_frame_equal(again.history_, auditor.history_)
    assert_array_equal(again.predict(X), auditor.predict(X))
    assert again.audit_rows(X[:60]).rate == auditor.audit_rows(X[:60]).rate
    assert again.fit(X, y).fairness_degree_ == auditor.fairness_degree_


@pytest.mark.parametrize("container", ["array", "mixed", "polars"])
def test_containers(container, mixed, people, pipeline_of):
    (X, y), columns, model = people, "sex", LogisticRegression()
    if container == "array":
        X, columns = X.to_numpy(dtype=float), [2]
    elif container == "polars":
        X = pytest.importorskip("polars").DataFrame(X.to_dict("list"))
    else:
        X, y, model = mixed[0], mixed[1] > 8, pipeline_of(model)
    auditor = RandomAuditor(model, sensitive_features=columns, max_queries=200, random_state=0)
    auditor.fit(X, y)
    again = round_trip(auditor, auditor.estimator_)
    assert again.fairness_degree_ == auditor.fairness_degree_
    assert type(again.discriminatory_inputs_) is type(auditor.discriminatory_inputs_)


def test_auditor_of_groups(people):
    X, y = people
    for auditor in (
        TestSGDAuditor(LogisticRegression(), sensitive_features="sex", random_state=0),
        SubgroupAuditor(LogisticRegression(), attributes="all"),
    ):
        check_rules(auditor.fit(X, y), X)


def check_rules(auditor, X):
    again = round_trip(auditor)
    assert_frame_equal(again.rules_, auditor.rules_)
    assert_array_equal(again.matches(X, 0), auditor.matches(X, 0))


@slow_sample
def test_auditor_of_moved_twins(people):
    X, y = people
    auditor = FlipTestAuditor(
        make_pipeline(StandardScaler(), LogisticRegression()), transport=QuantileTransport(),
        sensitive_features="sex", classifier=LogisticRegression(), n_bootstrap=2, random_state=0,
    ).fit(X, y)  # fmt: skip
    again = round_trip(auditor)
    for name in ("flips_", "columns_", "map_quality_", "flipset_", "worst_case_", "moved_twins_"):
        assert_frame_equal(getattr(again, name), getattr(auditor, name))
    assert again.moved_rate_interval_ == auditor.moved_rate_interval_
    assert_array_equal(again.groups_, auditor.groups_)
    assert_frame_equal(again.fit(X, y).flips_, auditor.flips_)


def test_auditor_of_texts():
    data = make_identity_comments(n_samples=200, random_state=0)
    auditor = TextSGDAuditor(data.estimator, random_state=0).fit(data.data)
    assert_frame_equal(round_trip(auditor, data.estimator).rules_, auditor.rules_)


def test_scorer(people):
    X, y = people
    model = LogisticRegression().fit(X, y)
    auditor = RandomAuditor(sensitive_features="sex", max_queries=300)
    scorer = make_audit_scorer(auditor, space=X, random_state=0)
    assert round_trip(scorer)(model, X) == scorer(model, X) < 0


def test_scorer_with_a_space(people):
    X, y = people
    model = LogisticRegression().fit(X, y)
    space = skfairtest.InputSpace(bounds={"points": (0, 20)}).fit(X, ["sex"])
    scorer = AuditScorer(RandomAuditor(max_queries=300), space=space)
    assert round_trip(scorer)(model, X) == scorer(model, X) < 0


@pytest.mark.parametrize("rule", [ConstrainedRefit("a", 0.3), ParetoRefit("a")])
def test_refit_rules(rule):
    results = {"mean_test_a": [0.9, 0.8], "mean_test_b": [-0.5, -0.1]}
    assert round_trip(rule)(results) == rule(results)


@slow_sample
@pytest.mark.parametrize("strategy", ["twins", "best"])
def test_retrainer(people, strategy, few_inputs):
    X, y = people
    auditor = RandomAuditor(sensitive_features="sex", max_queries=300)
    mitigated = FairnessRetrainer(
        LogisticRegression(), auditor, strategy=strategy, max_rounds=1, random_state=0
    ).fit(X, y)  # fmt: skip
    again = round_trip(mitigated)
    assert_array_equal(again.predict(X), mitigated.predict(X))
    assert_array_equal(again.predict_proba(X), mitigated.predict_proba(X))
    assert_frame_equal(again.history_, mitigated.history_)
    assert_frame_equal(again.alternatives_, mitigated.alternatives_)
    assert (again.n_added_, again.after_) == (mitigated.n_added_, mitigated.after_)
    assert_array_equal(again.original_estimator_.coef_, mitigated.original_estimator_.coef_)


@slow_sample
def test_augmenter(people):
    X, y = people
    auditor = RandomAuditor(sensitive_features="sex", max_queries=600)
    augmenter = FairnessAugmenter(LogisticRegression(), auditor, random_state=0)
    X_more, y_more = augmenter.fit_resample(X, y)
    again = round_trip(augmenter)
    assert again.n_added_ == augmenter.n_added_ > 0
    assert_frame_equal(again.fit_resample(X, y)[0], X_more)
    assert Counter(again.fit_resample(X, y)[1]) == Counter(y_more)


def test_a_model_that_was_routed_weights_is_written_without_requests(people):
    X, y = people
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        coder = ColumnTransformer([("scale", scaler, ["hours"])], remainder="passthrough")
        last = LogisticRegression().set_fit_request(sample_weight=True)
        line = make_pipeline(coder, last).fit(X, y, sample_weight=X["points"])
        search = GridSearchCV(line, {}, cv=2).fit(X, y, sample_weight=X["points"])
    for model in (line, search.best_estimator_):
        assert_array_equal(
            round_trip(without_requests(model)).predict_proba(X), model.predict_proba(X)
        )
    assert last.get_metadata_routing().consumes("fit", ["sample_weight"])


def test_a_pipeline_with_an_augmenter(people):
    X, y = people
    auditor = RandomAuditor(sensitive_features="sex", max_queries=100)
    augmenter = FairnessAugmenter(LogisticRegression(), auditor, random_state=0)
    line = make_sampler_pipeline(augmenter, StandardScaler(), LogisticRegression()).fit(X, y)
    assert_array_equal(round_trip(line).predict_proba(X), line.predict_proba(X))


@pytest.mark.parametrize("container", ["array", "frame", "polars"])
@pytest.mark.parametrize("strength", [0.5, 1.0])
def test_marginalized(people, container, strength):
    X, y = people
    settings = {"sensitive_features": [1, 2], "strength": strength, "max_values": 9}
    if container == "array":
        X = X.to_numpy(dtype=float)
    elif container == "polars":
        X = pytest.importorskip("polars").DataFrame(X.to_dict("list"))
    model = MarginalizedClassifier(LogisticRegression(), **settings).fit(X, y)
    again = round_trip(model)
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_frame_equal(again.values_, model.values_)
    model = MarginalizedRegressor(Ridge(), **settings).fit(X, y == "yes")
    assert_array_equal(round_trip(model).predict(X), model.predict(X))


def test_marginalized_categories(mixed, pipeline_of):
    X, y = mixed
    X = X.assign(team_a=X["age"] % 3 == 0, team_b=X["age"] % 3 == 1, team_c=X["age"] % 3 == 2)
    sensitive = ["sex", "member", "region", "team"]
    model = MarginalizedRegressor(pipeline_of(Ridge()), sensitive_features=sensitive).fit(X, y)
    again = round_trip(model, model.estimator_)
    assert_array_equal(again.predict(X), model.predict(X))
    assert_frame_equal(again.values_, model.values_)
    assert again.one_hot_ == {"team": ["team_a", "team_b", "team_c"]}


class Foreign(LogisticRegression):
    """A type that is not ours."""


def test_foreign_types_are_refused(people):
    X, y = people
    auditor = RandomAuditor(Foreign(), sensitive_features="sex", max_queries=200).fit(X, y)
    with pytest.raises(UntrustedTypesFoundException, match="Foreign"):
        skops.io.loads(skops.io.dumps(auditor), trusted=TRUSTED_TYPES)


@pytest.mark.parametrize("how", [pickle, skops.io], ids=["pickle", "skops"])
def test_what_another_version_saved_is_one_error(monkeypatch, people, how):
    X, y = people
    model = LogisticRegression().fit(X, y)
    auditor = RandomAuditor(model, sensitive_features="sex", max_queries=200, random_state=0)
    with monkeypatch.context() as before:
        before.setattr("skfairtest._delegation.FORMAT", 0)
        saved = how.dumps(auditor.fit(X))
    trusted = {} if how is pickle else {"trusted": TRUSTED_TYPES}
    with pytest.raises(ValueError, match=r"another version of skfairtest.* fit it again"):
        how.loads(saved, **trusted)
