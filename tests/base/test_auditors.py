"""Tests of both auditors from estimator to results: what may be audited, and what is shown."""

from __future__ import annotations

import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from callbacks import Ticks
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted
from tiers import slow_sample, some

from skfairtest import (
    AequitasAuditor,
    InputSpace,
    MAFTAuditor,
    PublishedSBFTAuditor,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    SymbolicAuditor,
    TestSGDAuditor,
    ThemisAuditor,
)
from skfairtest.datasets import make_biased_classification, make_biased_regression
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.oracle import _model

HAS_CALLBACKS = hasattr(sklearn, "__version__") and tuple(
    int(part) for part in sklearn.__version__.split(".")[:2]
) >= (1, 9)
needs_callbacks = pytest.mark.skipif(not HAS_CALLBACKS, reason="callbacks need scikit-learn 1.9")


def paper(estimator=None, **params):
    return PublishedSBFTAuditor(estimator, population_size=20, **params)


def tuned(estimator=None, **params):
    return SBFTAuditor(estimator, population_size=20, **params)


@pytest.fixture(
    params=[
        pytest.param(RandomAuditor, id="random"),
        pytest.param(tuned, id="tuned"),
        pytest.param(paper, id="paper", marks=pytest.mark.slow),
    ]
)
def make(request):
    def build(estimator=None, **params):
        params = {"max_queries": 600, "random_state": 0, **params}
        return request.param(estimator, **params)

    return build


def assert_same_results(first, second):
    assert first.fairness_degree_ == second.fairness_degree_
    assert (first.n_queries_, first.n_inputs_, first.n_found_, first.stop_reason_) == (
        second.n_queries_, second.n_inputs_, second.n_found_, second.stop_reason_)  # fmt: skip
    np.testing.assert_array_equal(first.disparities_, second.disparities_)
    for name in ("discriminatory_inputs_", "counterfactuals_", "worst_case_"):
        np.testing.assert_array_equal(
            np.asarray(getattr(first, name)), np.asarray(getattr(second, name))
        )


def toy(n=80):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 50, n), rng.random(n)])
    return X, X[:, 0] * 2 + X[:, 1] / 10


# What is audited ---------------------------------------------------------------------------


def test_fit_with_y_fits_a_clone_and_without_y_nothing(make):
    X, y = toy()
    given = LinearRegression()
    auditor = make(given, sensitive_features=[0]).fit(X, y)
    with pytest.raises(NotFittedError):
        check_is_fitted(given)
    assert auditor.estimator is given and auditor.estimator_ is not given
    assert auditor.fairness_degree_ == pytest.approx(2.0)
    fitted = LinearRegression().fit(X, -y)
    assert make(fitted, sensitive_features=[0]).fit(X).estimator_ is fitted
    with pytest.warns(UserWarning, match="fitted already"):
        assert make(fitted, sensitive_features=[0]).fit(X, y).estimator_ is not fitted


def test_a_frozen_estimator_is_never_refitted(make):
    X, y = toy()
    inner = LinearRegression().fit(X, 5 * y)
    auditor = make(FrozenEstimator(inner), sensitive_features=[0]).fit(X, y)
    assert auditor.fairness_degree_ == pytest.approx(10.0)


def test_a_plain_object_with_predict_can_be_audited(make):
    class Plain:
        def predict(self, X):
            return X[:, 0] * 3.5

    auditor = make(Plain(), sensitive_features=[0], max_queries=100).fit(toy()[0])
    assert auditor.fairness_degree_ == 3.5 and auditor.response_ == "regression"


@pytest.mark.parametrize(
    "model", some([LinearRegression(), RandomForestRegressor(3, random_state=0)])
)
def test_a_whole_pipeline_on_a_mixed_frame(make, mixed, pipeline_of, model):
    X, y = mixed
    auditor = make(pipeline_of(model), max_queries=400).fit(X, y)
    assert auditor.sensitive_features_ == ["sex", "age"]
    assert auditor.fairness_degree_ > 0
    worst = auditor.worst_case_
    assert isinstance(worst, pd.DataFrame) and (worst.dtypes == X.dtypes).all()
    high, low = auditor.predict(worst)
    assert high - low == pytest.approx(auditor.fairness_degree_)
    np.testing.assert_allclose(auditor.worst_case_outputs_, [high, low])


@pytest.mark.parametrize("classes", some([3, 2]))
def test_classifiers_on_a_mixed_frame(make, mixed, pipeline_of, classes):
    X, y = mixed
    labels = np.array(["no", "perhaps", "yes"])[pd.qcut(y, classes, labels=False)]
    model = pipeline_of(DecisionTreeClassifier(max_depth=4, random_state=0))
    auditor = make(model, sensitive_features=["sex"]).fit(X, labels)
    assert auditor.response_ == "predict_proba"
    assert list(auditor.classes_) == sorted(set(labels))
    gap = np.abs(np.subtract(*auditor.predict_proba(auditor.worst_case_))).max()
    assert gap == pytest.approx(auditor.fairness_degree_)
    inputs, twins = auditor.discriminatory_inputs_, auditor.counterfactuals_
    assert len(inputs) > 0
    assert (auditor.predict(inputs) != auditor.predict(twins)).all()


def test_a_small_budget_leaves_queries_to_confirm_flips(models):
    X, _ = toy()
    model = models.Proba(lambda X: 0.2 + 0.6 * X[:, 0])
    auditor = RandomAuditor(model, sensitive_features=[0], max_queries=2000, random_state=0).fit(X)
    # Every input flips, so what was judged was found.
    assert auditor.discrimination_rate_ > 0.9


def test_several_sensitive_attributes_of_any_kind(make, mixed, pipeline_of):
    X, y = mixed
    auditor = make(
        pipeline_of(LinearRegression()),
        sensitive_features=["income", "sex", "age"],
        max_queries=400,
        space=InputSpace(steps={"income": 5.0}),
    ).fit(X, y)
    assert auditor.sensitive_features_ == ["sex", "age", "income"]
    inputs, twins = auditor.discriminatory_inputs_, auditor.counterfactuals_
    free = ["member", "region", "job"]
    pd.testing.assert_frame_equal(inputs[free], twins[free])
    np.testing.assert_allclose(
        auditor.predict(inputs) - auditor.predict(twins), auditor.disparities_
    )


def test_polars_in_polars_out(make, models):
    X = pl.DataFrame({"sex": ["f", "m"] * 20, "points": range(40)})
    model = models.Regressor(lambda X: (X["sex"] == "m").cast(pl.Float64).to_numpy() * 2)
    auditor = make(model).fit(X)
    assert auditor.fairness_degree_ == 2.0
    for table in (auditor.worst_case_, auditor.discriminatory_inputs_, auditor.counterfactuals_,
                  auditor.on_data_discriminatory_):  # fmt: skip
        assert isinstance(table, pl.DataFrame) and table.schema == X.schema
    assert auditor.worst_case_["sex"].to_list() == ["m", "f"]


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_the_last_step_of_a_pipeline(make, output):
    X, y = toy()
    X = pd.DataFrame(X, columns=["sex", "points", "rate"])
    sensitive = "auto" if output == "pandas" else [0]
    pipeline = Pipeline(
        [
            ("scale", StandardScaler()),
            ("audit", make(LinearRegression(), sensitive_features=sensitive)),
        ]
    ).set_output(transform=output)
    pipeline.fit(X, y)
    auditor = pipeline[-1]
    assert auditor.sensitive_features_ == (["sex"] if output == "pandas" else [0])
    assert auditor.fairness_degree_ == pytest.approx(2.0)
    plain = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
    np.testing.assert_allclose(pipeline.predict(X), plain.predict(X))
    assert pipeline.score(X, y) == pytest.approx(plain.score(X, y))


def test_auto_says_what_it_took(make, models, capsys):
    X = pd.DataFrame({"Gender": ["f", "m"] * 9, "points": range(18), "birth-year": range(18)})
    auditor = make(models.Regressor(lambda X: X["points"]), verbose=1, max_queries=200)
    with pytest.warns(NoDisparityWarning, match="Gender"):
        auditor.fit(X)
    assert auditor.sensitive_features_ == ["Gender", "birth-year"]
    printed = capsys.readouterr().out
    assert "['Gender', 'birth-year']" in printed and "% " in printed


def test_delegation_follows_the_estimator(make):
    X, y = toy()
    regressor = make(LinearRegression(), sensitive_features=[0])
    assert hasattr(regressor, "predict") and not hasattr(regressor, "predict_proba")
    regressor.fit(X, y)
    assert regressor.score(X, y) == regressor.estimator_.score(X, y)
    assert not hasattr(regressor, "classes_")
    labels = (y > 3).astype(int)
    classifier = make(LogisticRegression(), sensitive_features=[0]).fit(X, labels)
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        np.testing.assert_array_equal(
            getattr(classifier, name)(X), getattr(classifier.estimator_, name)(X)
        )
    assert classifier.n_features_in_ == 3 and list(classifier.classes_) == [0, 1]


# The same again ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seed",
    some([7, np.random.RandomState, np.random.default_rng]),
    ids=["int", "RandomState", "Generator"],
)
def test_same_seed_same_result(make, seed):
    X, y = toy()
    model = RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, y)
    runs = [
        make(model, sensitive_features=[0], random_state=seed if seed == 7 else seed(7)).fit(X)
        for _ in range(2)
    ]
    assert_same_results(*runs)
    other = make(model, sensitive_features=[0], random_state=8).fit(X)
    assert not np.array_equal(other.discriminatory_inputs_, runs[0].discriminatory_inputs_)


@pytest.mark.parametrize("auditor", some([RandomAuditor, PublishedSBFTAuditor]))
def test_one_job_and_two_give_the_same_bits(models, auditor):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    X[:, 0] = rng.integers(0, 8, 300)
    W = rng.normal(size=(6, 3))
    model = models.Regressor(lambda X: np.tanh(X @ W))  # last bits depend on how rows are cut
    params = {"sensitive_features": [0], "max_queries": 40_000, "random_state": 3}
    if auditor is PublishedSBFTAuditor:
        params |= {"population_size": 3000}  # batches beyond one chunk
    sizes = []
    model.function = lambda X: sizes.append(len(X)) or np.tanh(X @ W)
    runs = [auditor(model, n_jobs=n_jobs, **params).fit(X) for n_jobs in (None, 1, 2)]
    assert max(sizes) <= 4096
    assert auditor is RandomAuditor or sizes.count(4096) >= 3
    assert_same_results(runs[0], runs[1])
    assert_same_results(runs[0], runs[2])


def test_clone_and_pickle(make):
    data = make_biased_classification(n_samples=200, random_state=0)
    auditor = make(data.estimator).fit(data.data)
    again = pickle.loads(pickle.dumps(auditor))
    assert_same_results(auditor, again)
    np.testing.assert_array_equal(again.predict(data.data), auditor.predict(data.data))
    pd.testing.assert_frame_equal(again.history_, auditor.history_)
    assert again.on_data_degree_ == auditor.on_data_degree_
    copy = clone(auditor)
    assert not hasattr(copy, "stop_reason_")
    assert_same_results(copy.fit(data.data), auditor)


# The data at hand --------------------------------------------------------------------------


def test_rows_of_data_are_flipped_one_by_one(make):
    data = make_biased_regression(n_samples=150, random_state=1)
    (sensitive,) = data.sensitive_features
    auditor = make(data.estimator, max_queries=200, threshold=2.0).fit(data.data)
    n_queries = auditor.n_queries_
    flips = np.array(
        [data.estimator.predict(data.data.assign(**{sensitive: v})) for v in ("male", "female")]
    )
    gaps = np.abs(flips[0] - flips[1])
    assert auditor.on_data_degree_ == pytest.approx(gaps.max())
    assert auditor.on_data_rate_ == pytest.approx((gaps > 2).mean())
    pd.testing.assert_frame_equal(
        auditor.on_data_discriminatory_.reset_index(drop=True),
        data.data[gaps > 2].reset_index(drop=True),
    )
    assert auditor.n_queries_ == n_queries
    audit = auditor.audit_rows(data.data[::-1][:60])
    np.testing.assert_allclose(audit.disparities, gaps[::-1][:60])
    np.testing.assert_array_equal(audit.is_discriminatory, gaps[::-1][:60] > 2)
    free = [name for name in data.data if name != sensitive]
    pd.testing.assert_frame_equal(audit.discriminatory[free], audit.counterfactuals[free])
    assert (audit.discriminatory[sensitive] != audit.counterfactuals[sensitive]).all()


def test_many_equal_rows_with_many_twins_are_all_audited(models):
    # Thousands of twins make parts of one row, and hundreds of parts bring nothing new.
    X = np.array([[0, 1]] * 300 + [[9999, 2]])
    model = models.Regressor(lambda X: X[:, 0] * 2.0)
    auditor = RandomAuditor(model, sensitive_features=[0], max_queries=50, random_state=0).fit(X)
    assert auditor.on_data_degree_ == 2 * 9999
    only_high = RandomAuditor(
        model,
        sensitive_features=[0],
        max_queries=50,
        random_state=0,
        space=InputSpace(constraint=lambda X: X[:, 1] > 1),
    )
    assert only_high.fit(X).on_data_rate_ == pytest.approx(1 / 301)


# Jobs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_no_number_of_jobs_is_that_of_joblib(n_jobs, models, monkeypatch):
    monkeypatch.setattr(_model, "CHUNK", 64)
    X, _ = toy()
    names = set()

    def function(rows):
        names.add(threading.current_thread().name)
        return rows[:, 0] * rows[:, 1]

    def run():
        names.clear()
        auditor = RandomAuditor(
            models.Regressor(function), sensitive_features=[0], n_jobs=n_jobs, random_state=0,
            max_queries=10_000,
        )  # fmt: skip
        return auditor.fit(X)

    alone = run()
    assert names == {"MainThread"}
    with parallel_config(backend="threading", n_jobs=2):
        together = run()
    assert (names == {"MainThread"}) == (n_jobs == 1)
    assert together.fairness_degree_ == alone.fairness_degree_
    assert together.n_queries_ == alone.n_queries_
    np.testing.assert_array_equal(together.disparities_, alone.disparities_)


# Narrow constraints ------------------------------------------------------------------------


def narrow_table():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 1000, (300, 2)), np.arange(300) % 2]).astype(float)
    X[:2, :2] = [[0, 0], [999, 999]]
    return X


@pytest.mark.parametrize(
    "make",
    [RandomAuditor, SBFTAuditor, SurrogateAuditor, SymbolicAuditor, ThemisAuditor, AequitasAuditor],
)
def test_slow_narrow_constraint_keeps_max_time(make, models, clock):
    clock.step = 1e-6  # what takes time is the constraint
    calls = []

    def slow(X):
        calls.append(len(X))
        clock.sleep(0.02)
        return (abs(X[:, 0] - X[:, 1] * 0.5) < 1) & (X[:, 0] % 17 == 3)

    model = models.Regressor(lambda X: X[:, 0] * X[:, 2])
    auditor = make(
        model,
        sensitive_features=[2],
        max_time=0.3,
        random_state=0,
        space=InputSpace(constraint=slow),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoDisparityWarning)
        auditor.fit(narrow_table())
    # Ten for what is on its way; the look at the constraint before the first query counts as well.
    assert len(calls) <= 0.3 / 0.02 + 10
    assert auditor.stop_reason_ == "max_time=0.3 reached"


def test_narrow_constraint_lets_the_budget_be_spent(models):
    seen = []

    def narrow(X):
        seen.append(len(X))
        return (abs(X[:, 0] - X[:, 1] * 0.5) < 1) & (X[:, 0] % 5 == 3)

    model = models.Regressor(lambda X: X[:, 0] * X[:, 2])
    auditor = RandomAuditor(
        model,
        sensitive_features=[2],
        max_queries=100,
        random_state=0,
        space=InputSpace(constraint=narrow),
    )
    auditor.fit(narrow_table())
    # Five pairs are asked again, to see whether the model is deterministic.
    assert auditor.n_queries_ == 100 and auditor.n_inputs_ == 45 and sum(seen) < 400_000


@slow_sample
def test_rate_of_a_narrow_constraint_is_that_of_uniform_draws(models):
    # The data know one island; another, three times as large, is full of holes.
    def islands(X):
        holes = (7 * X[:, 0] + 3 * X[:, 1]) % 10 > 0
        small = (X[:, 0] < 100) & (X[:, 1] < 100)
        return small | ((X[:, 0] >= 500) & (X[:, 1] >= 400) & ~holes)

    X = narrow_table()
    X[2:, :2] %= 100
    model = models.Regressor(lambda X: X[:, 2] * (X[:, 0] < 100))
    auditor = RandomAuditor(
        model,
        sensitive_features=[2],
        max_queries=20_000,
        random_state=0,
        space=InputSpace(constraint=islands),
    )
    auditor.fit(X)
    assert abs(auditor.discrimination_rate_ - 0.25) < 0.06
    assert auditor.n_found_ / auditor.n_inputs_ > 0.35  # what steps from the data would make of it


# The course and the end of a run -----------------------------------------------------------


def test_history_only_grows(make):
    X, y = toy()
    auditor = make(LinearRegression(), sensitive_features=[0], max_queries=2000).fit(X, y)
    history = auditor.history_
    assert list(history.columns) == ["queries", "seconds", "inputs", "found", "degree"]
    assert len(history) > 1 and (history.diff().dropna() >= 0).all(axis=None)
    last = history.iloc[-1]
    assert last["queries"] == auditor.n_queries_ and last["degree"] == auditor.fairness_degree_
    assert last["found"] == auditor.n_found_ and last["inputs"] == auditor.n_inputs_


@pytest.mark.parametrize("classify", [False, True])
def test_a_model_that_ignores_the_column_has_degree_zero(make, classify):
    X, y = toy()
    free = make_pipeline(StandardScaler(), LogisticRegression() if classify else LinearRegression())
    free.fit(X * [0, 1, 1], y > 3 if classify else y)
    free[-1].coef_[..., 0] = 0.0
    auditor = make(free, sensitive_features=[0], max_queries=1500)
    with pytest.warns(NoDisparityWarning, match="seems to ignore") as caught:
        auditor.fit(X)
    assert auditor.fairness_degree_ == 0 and auditor.worst_case_ is None
    assert auditor.n_found_ == 0 and len(auditor.discriminatory_inputs_) == 0
    assert [w.filename for w in caught if w.category is NoDisparityWarning] == [__file__]


def test_interruption_keeps_the_results(make, models):
    X, _ = toy()
    calls = []

    def interrupted(X):
        calls.append(len(X))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return X[:, 0] * 4.0

    auditor = make(models.Regressor(interrupted), sensitive_features=[0], max_queries=60_000)
    with pytest.raises(KeyboardInterrupt):
        auditor.fit(X)
    assert auditor.stop_reason_ == "interrupted" and auditor.fairness_degree_ == 4
    assert len(auditor.discriminatory_inputs_) == auditor.n_found_ > 0
    assert auditor.on_data_degree_ == 4


@needs_callbacks
def test_a_progress_bar_and_a_callback_that_stops(make, models):
    pytest.importorskip("rich", reason="ProgressBar needs rich")
    from sklearn.callback import ProgressBar

    X, _ = toy()
    model = models.Regressor(lambda X: X[:, 0] * 1.0)
    auditor = make(model, sensitive_features=[0]).set_callbacks(ProgressBar()).fit(X)
    assert auditor.stop_reason_ == "max_queries=600 reached"
    stopped = (
        make(model, sensitive_features=[0], max_queries=9000)
        .set_callbacks(Ticks(stop_at=10))
        .fit(X)
    )
    assert stopped.stop_reason_ == "a callback asked to stop"
    assert 0 < stopped.n_queries_ < 6000 and stopped.fairness_degree_ == 1


def test_sample_weights_are_routed(make):
    X, y = toy()
    weight = np.where(X[:, 1] > 25, 1.0, 0.0)
    expected = LinearRegression().fit(X, y**2, sample_weight=weight).coef_[0]
    with config_context(enable_metadata_routing=True):
        inner = LinearRegression().set_fit_request(sample_weight=True)
        routed = make(inner, sensitive_features=[0]).fit(X, y**2, sample_weight=weight)
    plain = make(LinearRegression(), sensitive_features=[0]).fit(X, y**2, sample_weight=weight)
    for auditor in (routed, plain):
        assert auditor.fairness_degree_ == pytest.approx(abs(expected))


def test_no_warning_where_something_is_found(make):
    X, y = toy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(LinearRegression(), sensitive_features=[0]).fit(X, y)


# Sensitive columns that cannot be gone through ---------------------------------------------


def pocket(models):
    """Data with a real sensitive column, and a model that differs in a pocket between its steps."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(0, 1000, 2000), "z": rng.integers(0, 5, 2000)})
    step = np.ptp(X["age"]) / 100
    centre = X["age"].min() + 50.5 * step

    def function(rows):
        return np.where(abs(rows["age"] - centre) < 0.3 * step, 50.0, 0.0) + rows["z"]

    return models.Regressor(function), X, abs(X["age"] - centre) < 0.3 * step


@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning")
def test_a_row_of_data_counts_with_its_own_real_sensitive_value(models):
    model, X, inside = pocket(models)
    auditor = RandomAuditor(model, sensitive_features="age", max_queries=100, random_state=0)
    auditor.fit(X)
    for own in (X[inside].iloc[:1], X[~inside].iloc[:3], X[inside].iloc[:1] + [2000.0, 0]):
        own = own.astype(X.dtypes)
        audit = auditor.audit_rows(own)
        assert (audit.disparities == 50).all() and audit.rate == 1
        # The counterfactual is a twin of the row, and is answered as differently as said.
        pd.testing.assert_frame_equal(audit.discriminatory, own.reset_index(drop=True))
        assert (audit.counterfactuals["z"].to_numpy() == own["z"].to_numpy()).all()
        assert (audit.counterfactuals["age"].to_numpy() != own["age"].to_numpy()).all()
    assert auditor.on_data_degree_ == 50 and auditor.on_data_rate_ == 1


@slow_sample
@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning")
def test_a_row_in_a_pocket_that_no_stand_in_falls_into_is_compared_with_itself(models):
    model, X, inside = pocket(models)
    auditor = RandomAuditor(model, sensitive_features="age", max_queries=100, random_state=0)
    auditor.fit(X[~inside])
    assert auditor.audit_rows(X[~inside]).degree == 0
    assert auditor.audit_rows(X[inside]).rate == 1


@pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning")
@pytest.mark.parametrize("sensitive", ["age", ["age", "group"]])
def test_a_row_outside_the_domain_counts_with_its_own_sensitive_values(models, sensitive):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 60, 300), "group": rng.integers(0, 2, 300),
                      "z": rng.integers(0, 9, 300)})  # fmt: skip
    model = models.Regressor(lambda rows: (rows["age"] > 50) * 3.0 + rows["group"] / 8)
    auditor = RandomAuditor(
        model,
        sensitive_features=sensitive,
        random_state=0,
        max_queries=500,
        space=InputSpace(bounds={"age": (20, 40)}),
    ).fit(X)
    audit = auditor.audit_rows(X)
    within = 0.125 if isinstance(sensitive, list) else 0.0
    # Twins lie in the domain, the row itself may not.
    own = model.function(X).to_numpy()
    reach = own - (0.0 if within else X["group"] / 8)
    expected = np.where(X["age"] > 50, reach, within)
    np.testing.assert_allclose(audit.disparities, expected)
    assert auditor.on_data_degree_ == expected.max()
    assert auditor.fairness_degree_ == within


@pytest.mark.parametrize(
    "auditor",
    some(
        [
            SBFTAuditor,
            RandomAuditor,
            AequitasAuditor,
            SymbolicAuditor,
            SurrogateAuditor,
            MAFTAuditor,
        ]
    ),
)
def test_searches_find_a_pocket_between_the_steps_of_a_real_sensitive_column(models, auditor):
    model, X, _ = pocket(models)
    fitted = auditor(model, sensitive_features="age", random_state=0, max_queries=8000).fit(X)
    assert fitted.fairness_degree_ == 50
    high, low = fitted.worst_case_outputs_
    np.testing.assert_array_equal(model.function(fitted.worst_case_), [high, low])
    assert fitted.worst_case_["z"].nunique() == 1


@pytest.mark.parametrize(
    "auditor, least", some([(SBFTAuditor, 0.9999), (PublishedSBFTAuditor, 0.9)])
)
def test_sbft_climbs_along_a_real_sensitive_column(models, auditor, least):
    # The largest answers lie in two narrow peaks that no row of the data and no step hits.
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 1, 60), rng.integers(0, 9, 60)])

    def function(rows):
        return 9 / (1 + (50 * (rows[:, 0] - 0.3141592)) ** 2) - 4 / (
            1 + (50 * (rows[:, 0] - 0.7182818)) ** 2
        )

    fitted = auditor(
        models.Regressor(function),
        sensitive_features=[0],
        max_queries=6000,
        random_state=0,
        space=InputSpace(bounds={0: (0, 1)}),
    ).fit(X)
    best = np.ptp(function(np.linspace(0, 1, 1_000_001)[:, None]))
    assert fitted.fairness_degree_ > least * best


@pytest.mark.parametrize("dtype", ["float16", "float32", "Float32"])
def test_found_inputs_are_unique_as_the_model_gets_them(models, dtype):
    rng = np.random.default_rng(0)
    numbers = {"x": rng.normal(size=200), "n": rng.integers(0, 9000, 200)}
    X = pd.DataFrame({"sex": rng.integers(0, 2, 200), **numbers})
    X = X.astype(dict.fromkeys(numbers, dtype))
    model = models.Regressor(lambda rows: rows["sex"] + 0.0 * rows["x"].astype(float))
    fitted = RandomAuditor(model, sensitive_features="sex", max_queries=20_000, random_state=0)
    inputs = fitted.fit(X).discriminatory_inputs_
    assert len(inputs) == fitted.n_found_ == fitted.n_inputs_
    assert len(inputs[["x", "n"]].drop_duplicates()) == fitted.n_found_
    codes = fitted.space_.sample(1000, rng)
    np.testing.assert_array_equal(fitted.space_.encode(fitted.space_.decode(codes)), codes)


# A space that is handed over ---------------------------------------------------------------


@pytest.mark.parametrize(
    "auditor",
    some([SBFTAuditor, SymbolicAuditor, SurrogateAuditor, AequitasAuditor, RandomAuditor,
          MAFTAuditor, ThemisAuditor]),
)  # fmt: skip
def test_a_space_is_handed_over(models, auditor):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], 99), "z": rng.integers(0, 9, 99)})
    model = models.Regressor(lambda rows: (rows["sex"] == "m") * (rows["z"] + 1.0))
    space = InputSpace(bounds={"z": (0, 19)}).fit(X, ["sex"])
    fitted = auditor(model, space=space, random_state=0, max_queries=1500)
    assert clone(fitted).get_params()["space"] is not None
    fitted.fit(X[:40])
    assert fitted.fairness_degree_ == 20
    assert fitted.sensitive_features_ == ["sex"]
    # The domain is the space's, the data are those of X.
    assert len(fitted.space_.data) == 40 and len(space.data) == 99
    assert fitted.on_data_degree_ == X["z"][:40].max() + 1
    # Other data, the same domain, as the parameter says.
    fitted.fit(X[40:].assign(z=3))
    assert fitted.space_.domain.high[1] == 19 and fitted.on_data_degree_ == 4
    alike = auditor(model, sensitive_features=["sex"], space=space, random_state=0)
    assert alike.set_params(max_queries=1500).fit(X[:40]).n_found_ > 0


@pytest.mark.parametrize(
    "params, message",
    [
        ({"sensitive_features": [1]}, r"sensitive_features=\[1\] are not those that space= has.*0"),
        ({"space": "all"}, "space must be an InputSpace or None; got str"),
    ],
)
def test_a_learned_space_for_other_columns_is_refused(models, small, params, message):
    space = InputSpace().fit(small, [0])
    auditor = RandomAuditor(models.Regressor(lambda X: X[:, 0]), **{"space": space, **params})
    with pytest.raises((ValueError, TypeError), match=message):
        auditor.fit(small)
    assert auditor.estimator.rows == 0


def test_a_space_without_sensitive_columns_or_with_other_columns_is_refused(models, small):
    model = models.Regressor(lambda X: X[:, 0])
    with pytest.raises(ValueError, match="no sensitive column"):
        RandomAuditor(model, space=InputSpace().fit(small, None)).fit(small)
    with pytest.raises(ValueError, match=r"shape \(n, 3\)"):
        RandomAuditor(model, space=InputSpace().fit(small, [0])).fit(small[:, :2])


@pytest.mark.parametrize("auditor", [RandomAuditor(max_queries=50), TestSGDAuditor()])
def test_a_fitted_model_that_would_be_trained_anew_is_a_warning(auditor):
    data = make_biased_classification(random_state=0)
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.integers(0, 2, 200), "income": rng.normal(0, 1, 200)})
    y = (X["sex"] + X["income"] > 0.5).to_numpy()
    fitted = LogisticRegression().fit(X, ~y)
    auditor = auditor.set_params(random_state=0, sensitive_features=["sex"])
    with pytest.warns(UserWarning, match=r"clone .* is audited.*call fit\(X\)") as caught:
        clone(auditor).set_params(estimator=fitted).fit(X, y)
    (ours,) = (w for w in caught if "is fitted already" in str(w.message))
    assert ours.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "(True|yes) taken as favourable")
        for model, target in [
            (fitted, None),
            (clone(fitted), y),
            (FrozenEstimator(fitted), y),
            (data.estimator, None),
        ]:
            table = X if model is not data.estimator else data.data
            auditor.set_params(estimator=model).fit(table, target)
