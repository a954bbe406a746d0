"""Tables in chunks: the same results as for the table in memory, and errors that name the chunk."""

import os
import pickle
import tracemalloc
from functools import cache

import numpy as np
import pandas as pd
import pytest
from light_skops import skops
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from tiers import slow_sample, some

import skfairtest.oracle._rows as engine
import skfairtest.oracle._rows_audit as rows_audit
import skfairtest.space._summarize as summarize
from skfairtest import (
    InputSpace,
    RandomAuditor,
    TestSGDAuditor,
    estimate_discrimination,
    selection_table,
)
from skfairtest.datasets import make_biased_classification, make_biased_regression
from skfairtest.exceptions import ChunkFailedError, EstimatorFailedError
from skfairtest.io import TRUSTED_TYPES
from skfairtest.oracle._worst_rows import WorstRows
from skfairtest.space._chunks import as_chunks
from skfairtest.space._sample import sample_chunks

# Searches are short here: what they find is no matter.
pytestmark = pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning")

CLASSES = make_biased_classification(random_state=0)
NUMBERS = make_biased_regression(random_state=0)


def cut(table, size=150):
    return [table[start : start + size] for start in range(0, len(table), size)]


def audited(estimator, X, sensitive="sex", **params):
    settings = {"max_queries": 200, "random_state": 0, **params}
    return RandomAuditor(estimator, sensitive_features=sensitive, **settings).fit(X)


def table(n=3000, seed=0):
    """Columns of every kind."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "sex": rng.choice(["f", "m"], n),
        "race": pd.Categorical(rng.choice(list("cab"), n)),
        "rank": pd.Categorical(rng.choice(list("lmh"), n), categories=list("lmh"), ordered=True),
        "age": rng.integers(18, 90, n),
        "grade": rng.integers(10, 60, n) / 10,
        "income": rng.normal(0, 1, n),
        "cents": rng.integers(0, 10**6, n) / 100,
        "hundreds": rng.integers(0, 300, n) * 100,
        "flag": rng.random(n) < 0.3,
        "few": rng.choice([0.5, 1.5, 2.25], n),
        "gaps": np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 5, n)),
        "object": pd.Series(rng.choice([None, True, False], n), dtype=object),
        "mixed": pd.Series([1 if r < 0.5 else "one" for r in rng.random(n)], dtype=object),
        "boxed": pd.Series(rng.integers(0, 9, n).tolist(), dtype=object),
        "amount": rng.choice([0, 0, 0, 15024, 7688, 3103], n),
        "word": rng.choice([None, "x", "y"], n),
        "single": rng.integers(0, 40, n).astype("float32") / 4,
        "nullable": pd.array(rng.choice([1, 2, None], n), dtype="Int64"),
        "yes": pd.array(rng.choice([True, False, None], n), dtype="boolean"),
    })  # fmt: skip
    job, school = rng.integers(0, 4, n), rng.integers(0, 4, n)
    for j in range(4):
        X[f"job_{j}"] = (job == j).astype(int)
        if j:  # a dropped level
            X[f"school_{j}"] = school == j
    return X


def assert_same_space(one, other):
    assert one.kinds == other.kinds
    for name in ("low", "high", "steps"):
        np.testing.assert_array_equal(getattr(one.domain, name), getattr(other.domain, name))
    assert one.layout.one_hot == other.layout.one_hot
    for a, b in zip(one.domain.columns, other.domain.columns, strict=True):
        assert type(a) is type(b) and vars(a).keys() == vars(b).keys()
        assert list(map(str, vars(a).values())) == list(map(str, vars(b).values())), a.name
    np.testing.assert_array_equal(one.data, other.data)


# The description -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", some([333, 7, 5000]))
def test_the_description_is_that_of_the_whole_table(size):
    X = table(200 if size < 10 else 3000)
    whole = InputSpace().fit(X, ["sex"])
    if size > 10:
        assert set(whole.layout.one_hot) == {"job", "school"}
    assert_same_space(whole, InputSpace().fit(cut(X, size), ["sex"]))


def test_what_the_user_says_holds_as_well():
    X = table()
    settings = {
        "one_hot": {"job": [f"job_{j}" for j in range(4)]},
        "bounds": {"age": (0, 100)},
        "categories": {"race": ["b", "a"], "job": ["2", "0", "1", "3"]},
        "steps": {"income": 0.5},
    }
    expected = InputSpace(**settings).fit(X, ["sex"])
    assert_same_space(expected, InputSpace(**settings).fit(iter(cut(X)), ["sex"]))


@pytest.mark.parametrize("dtype", [float, "float32", int, object, "U4"])
def test_arrays_are_described_alike(dtype):
    A = table()[["age", "grade", "hundreds", "flag"]].to_numpy(dtype=float).astype(dtype)
    assert_same_space(InputSpace().fit(A, [3]), InputSpace().fit(cut(A), [3]))


def test_polars_frames_are_described_alike():
    pl = pytest.importorskip("polars")
    X = pl.from_pandas(table().drop(columns=["object", "mixed"]))
    assert_same_space(InputSpace().fit(X, ["sex"]), InputSpace().fit(cut(X), ["sex"]))


def test_many_numbers_are_in_steps_all_the_same(monkeypatch):
    monkeypatch.setattr(summarize, "MOST_DISTINCT", 50)
    rng = np.random.default_rng(0)
    A = np.column_stack([
        rng.integers(0, 2, 9000), rng.integers(0, 3000, 9000) * 5, rng.integers(0, 3000, 9000) / 10,
        rng.integers(0, 3000, 9000), rng.normal(size=9000),
    ])  # fmt: skip
    A[-1, 1] = 20_000  # the end comes last
    assert_same_space(InputSpace().fit(A, [0]), InputSpace().fit(cut(A), [0]))
    # A value that is between the steps, though it comes late.
    A[-2:, 1:3] = [[7, 0.05], [13, 4.75]]
    assert_same_space(InputSpace().fit(A, [0]), InputSpace().fit(cut(A), [0]))


def test_categories_of_chunks_are_put_together():
    parts = [pd.DataFrame({"sex": pd.Categorical(list(v)), "n": [1, 2]}) for v in ("ba", "cb")]
    space = InputSpace().fit(parts, ["sex"])
    assert space.domain.columns[0].levels.tolist() == ["a", "b", "c"]
    assert space.data[:, 0].tolist() == [1, 0, 2, 1]


def test_the_sample_is_bounded_and_repeats_whatever_the_chunks(monkeypatch):
    monkeypatch.setattr("skfairtest.space._learn.SAMPLE_ROWS", 200)
    X = table(1000)
    small = [InputSpace().fit(cut(X, size), ["sex"]) for size in (170, 1000)]
    assert small[0].data.shape == (200, small[0].n_features)
    np.testing.assert_array_equal(small[0].data, small[1].data)
    whole = InputSpace().fit(X, ["sex"])
    np.testing.assert_array_equal(small[0].domain.high, whole.domain.high)


def test_the_sample_is_uniform():
    rows = np.arange(2000.0)[:, None] * [1, 0] + [0, 1]
    rows[::2, 1] = 0
    found = np.zeros(2000)
    for seed in range(100):
        sample = sample_chunks(as_chunks(cut(rows, 300)), 200, np.random.default_rng(seed))
        values = sample[:, 0].astype(int)
        assert len(np.unique(values)) == 200 and (np.diff(values) > 0).all()
        found[values] += 1
    # 10,000 of 20,000 draws are expected in each half; five standard deviations of that.
    assert abs(found[:1000].sum() - 10_000) < 5 * 71


# The audit -------------------------------------------------------------------------------------


@cache
def models():
    X = CLASSES.data
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), ("passthrough", ["points"]))
    tree = make_pipeline(encode, DecisionTreeClassifier(max_depth=3, random_state=0))
    y = (X["sex"] == "male") & (X["points"] > 30)
    tree.fit(X, y)
    three = LogisticRegression(max_iter=1000).fit(X[["hours", "income"]], X["hours"] // 25)
    return {
        "probabilities": (CLASSES.estimator, {}),
        "threshold": (CLASSES.estimator, {"threshold": 0.1}),
        "labels": (CLASSES.estimator, {"response_method": "predict"}),
        "regressor": (NUMBERS.estimator, {}),
        "tree": (tree, {}),
        "tuned": (FixedThresholdClassifier(tree, threshold=0.4).fit(X, y), {}),
        "several classes": (three, {}),
    }


def data_of(name):
    if name == "several classes":
        return (
            CLASSES.data[["hours", "income"]],
            "hours",
            {"space": InputSpace(bounds={"hours": (20, 60)})},
        )
    return (NUMBERS if name == "regressor" else CLASSES).data, "sex", {}


NAMES = ["probabilities", "threshold", "labels", "regressor", "tree", "tuned", "several classes"]


@pytest.mark.parametrize("name", some(NAMES, 2))
def test_audit_of_chunks_is_that_of_the_table(name, monkeypatch):
    monkeypatch.setattr(engine, "CHUNK", 32)
    monkeypatch.setattr(engine, "CALL_ROWS", 64)
    model, params = models()[name]
    X, sensitive, domain = data_of(name)
    X = X[:400]
    auditor = audited(model, X, sensitive, max_queries=100, **params, **domain)
    whole = auditor.audit_rows(X)
    found = auditor.audit_rows(iter(cut(X)))
    assert whole.is_discriminatory.any()
    assert found.rate == whole.rate
    assert (found.n_rows, found.n_chunks) == (len(X), -(-len(X) // 150))
    assert found.n_discriminatory == found.n_kept == whole.is_discriminatory.sum()
    assert found.degree == pytest.approx(whole.degree, rel=1e-12)
    assert found.mean_disparity == pytest.approx(whole.disparities.mean(), rel=1e-9)
    assert sorted(found.kept_rows) == np.flatnonzero(whole.is_discriminatory).tolist()
    np.testing.assert_allclose(found.kept_disparities, whole.disparities[found.kept_rows])
    assert (np.diff(found.kept_disparities) <= 0).all()
    expected = X.iloc[found.kept_rows].reset_index(drop=True)
    pd.testing.assert_frame_equal(found.discriminatory, expected)
    # The counterfactuals are twins, and others than the row itself.
    others = expected.columns.drop(sensitive)
    pd.testing.assert_frame_equal(found.counterfactuals[others], expected[others])
    assert (found.counterfactuals[sensitive] != expected[sensitive]).all()
    assert found.disparities is None and found.is_discriminatory is None
    assert found.n_queries > 0


def test_arrays_are_audited_in_chunks_and_left_as_they_are():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(700, 4))
    A[:, 0] = rng.random(700) < 0.5
    model = LinearRegression().fit(A, A @ [2, 1, 0, -1])
    auditor = audited(model, A, [0])
    before = A.copy()
    found = auditor.audit_rows(cut(A))
    np.testing.assert_array_equal(A, before)
    assert found.degree == pytest.approx(2) and found.rate == 1.0


def test_rows_outside_the_domain_count_with_their_own_values():
    A = np.column_stack([np.arange(600) % 2, np.arange(600)]).astype(float)
    model = LinearRegression().fit(A, 3 * A[:, 0])
    auditor = audited(model, A, [0])
    B = A[:10].copy()
    B[3, 0] = 5.0
    for X in (A[:10], B):
        whole = auditor.audit_rows(X)
        found = auditor.audit_rows([X[:5], X[5:]])
        assert found.degree == pytest.approx(whole.degree)
    assert found.degree == pytest.approx(15)


@pytest.mark.parametrize("params", [
    {"constraint": lambda X: X["points"] > 30}, {"twins": {"sex": {"male": {"points": 40}}}},
], ids=["constraint", "twins"])  # fmt: skip
def test_constraints_and_consequences_hold(params):
    X = NUMBERS.data
    if "twins" in params:
        X = X.assign(points=X["points"].where(X["sex"] != "male", 40))
    auditor = audited(NUMBERS.estimator, X, space=InputSpace(**params))
    whole, found = auditor.audit_rows(X), auditor.audit_rows(cut(X))
    assert found.rate == whole.rate and found.degree == pytest.approx(whole.degree)


def test_polars_frames_are_audited_in_chunks():
    pl = pytest.importorskip("polars")
    X = pl.from_pandas(table()[["sex", "age", "grade"]])

    class Wage:
        def predict(self, rows):
            return rows["age"].to_numpy() + 2.0 * (rows["sex"].to_numpy() == "m")

    found = audited(Wage(), X).audit_rows(cut(X))
    assert found.n_discriminatory == len(X) and found.degree == 2.0


def test_jobs_change_nothing():
    X = NUMBERS.data
    alone, together = (
        audited(NUMBERS.estimator, X, n_jobs=n_jobs).audit_rows(cut(X)) for n_jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(alone.discriminatory, together.discriminatory)
    assert alone.degree == together.degree and alone.n_queries == together.n_queries


def test_only_the_worst_rows_are_kept(monkeypatch):
    monkeypatch.setattr(rows_audit, "WorstRows", lambda *nothing: WorstRows(nothing[0], 0))
    monkeypatch.setattr("skfairtest.oracle._worst_rows.MOST_KEPT", 20)
    X = NUMBERS.data
    auditor = audited(NUMBERS.estimator, X)
    found, whole = auditor.audit_rows(cut(X, 40)), auditor.audit_rows(X)
    assert (found.n_discriminatory, found.n_kept) == (len(X), 20)
    worst = np.sort(whole.disparities)[::-1][:20]
    np.testing.assert_allclose(found.kept_disparities, worst)


def test_a_table_in_memory_is_one_chunk():
    X = NUMBERS.data
    auditor = audited(NUMBERS.estimator, X, threshold=0.1)
    whole, found = auditor.audit_rows(X), auditor.audit_rows([X])
    assert (whole.n_rows, whole.n_chunks) == (found.n_rows, found.n_chunks) == (len(X), 1)
    assert whole.n_discriminatory == found.n_discriminatory == whole.is_discriminatory.sum()
    assert whole.mean_disparity == pytest.approx(whole.disparities.mean())
    assert whole.kept_rows.tolist() == np.flatnonzero(whole.is_discriminatory).tolist()
    assert whole.kept_disparities.tolist() == whole.disparities[whole.kept_rows].tolist()
    assert whole.n_kept == len(whole.discriminatory) == len(whole.counterfactuals)
    assert found.disparities is None and found.is_discriminatory is None
    # Audits are compared as objects: arrays have no truth value.
    assert whole == whole and whole != auditor.audit_rows(X)


def test_memory_is_that_of_a_chunk():
    def chunks():
        rng = np.random.default_rng(0)
        for _ in range(40):
            A = rng.normal(size=(20_000, 5))
            A[:, 0] = A[:, 0] > 0
            yield A

    first = next(chunks())
    model = LinearRegression().fit(first, first.sum(axis=1))
    auditor = audited(model, first, [0], threshold=2.0)
    tracemalloc.start()
    found = auditor.audit_rows(chunks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.n_rows == 800_000
    assert peak < 12 * first.nbytes  # all rows are 40 times as much


# Auditors and estimates --------------------------------------------------------------------------


@slow_sample
def test_an_auditor_is_fitted_on_chunks():
    X = CLASSES.data[:300]
    whole = audited(CLASSES.estimator, X)
    auditor = audited(CLASSES.estimator, lambda: iter(cut(X)))
    assert auditor.fairness_degree_ == whole.fairness_degree_
    assert auditor.on_data_degree_ == pytest.approx(whole.on_data_degree_)
    assert auditor.on_data_rate_ == whole.on_data_rate_
    assert len(auditor.on_data_discriminatory_) == len(whole.on_data_discriminatory_)
    one, other = auditor.domains_, whole.domains_
    pd.testing.assert_frame_equal(one.drop(columns="queries"), other.drop(columns="queries"))
    # Of rows in memory the worst pair is asked again now and then; that of chunks is not kept.
    again = other["queries"] - one["queries"]
    assert again.between(0, 10).all()
    assert auditor.n_features_in_ == X.shape[1]
    assert auditor.feature_names_in_.tolist() == list(X.columns)
    for again in (
        pickle.loads(pickle.dumps(auditor)),
        skops.io.loads(
            skops.io.dumps(audited(NUMBERS.estimator, cut(NUMBERS.data))), TRUSTED_TYPES
        ),
    ):
        assert again.fairness_degree_ > 0
    assert pickle.loads(pickle.dumps(auditor)).on_data_rate_ == whole.on_data_rate_


class OneWorstRow(ClassifierMixin, BaseEstimator):
    """Treats twins differently where the second column is 0.5, by `difference` in probability."""

    classes_ = np.array([0, 1])

    def __init__(self, difference=0.4):
        self.difference = difference

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, X):
        positive = 0.1 + self.difference * np.asarray(X)[:, 0] * (np.asarray(X)[:, 1] == 0.5)
        return np.column_stack([1 - positive, positive])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


# Whether the worst row flips the label or not: only rows that discriminate are kept.
@pytest.mark.parametrize("difference", [0.3, 0.7])
def test_a_domain_holds_the_one_before_it_where_the_sample_lacks_the_worst_row(difference):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 600), rng.random(600)]).astype(float)
    X[450, 1] = 0.5
    auditor = audited(OneWorstRow(difference), lambda: iter(cut(X)), [0])
    auditor.space_ = auditor.space_.with_data(X[:300])  # what is kept of more rows than a sample
    assert auditor.on_data_degree_ == pytest.approx(difference)
    assert len(auditor.on_data_discriminatory_) == (difference > 0.5)
    assert auditor.domains_.loc["rows", "degree"] == auditor.on_data_degree_
    assert auditor.domains_["degree"].is_monotonic_increasing
    assert auditor.domains_.loc["whole", "degree"] == auditor.on_data_degree_


def test_what_takes_a_second_pass_says_so():
    auditor = audited(CLASSES.estimator, iter(cut(CLASSES.data)))
    with pytest.raises(ValueError, match="second time.*callable that returns a fresh iterator"):
        _ = auditor.on_data_rate_
    with pytest.raises(ValueError, match="came in chunks and are not saved"):
        _ = pickle.loads(pickle.dumps(auditor)).on_data_rate_


def test_a_space_takes_chunks_as_its_data():
    X = CLASSES.data
    space = InputSpace().fit(X, ["sex"])
    auditor = audited(CLASSES.estimator, cut(X), "auto", space=space)
    assert auditor.on_data_rate_ == audited(CLASSES.estimator, X).on_data_rate_


def test_targets_beside_chunks_are_refused():
    auditor = RandomAuditor(LinearRegression(), sensitive_features="sex")
    with pytest.raises(ValueError, match="not fitted chunk by chunk"):
        auditor.fit(cut(NUMBERS.data), NUMBERS.target)


@pytest.mark.parametrize("near", [None, "data", "rows"])
def test_estimates_are_those_of_the_table_where_it_is_small(near):
    params = {"near": near, "n_samples": 300, "random_state": 0}
    whole = estimate_discrimination(CLASSES.estimator, CLASSES.data, **params)
    assert estimate_discrimination(CLASSES.estimator, iter(cut(CLASSES.data)), **params) == whole


# Bad input ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def auditor():
    return audited(CLASSES.estimator, CLASSES.data)


def broken(change):
    X = CLASSES.data
    yield X[:100]
    yield change(X[100:200])
    yield X[200:]


def fail(_):
    raise OSError("the disk is gone")


@pytest.mark.parametrize(
    ("change", "message"),
    [(lambda X: X.rename(columns={"sex": "gender"}), r"lacks columns \['sex'\].*'gender'"),
     (lambda X: X.assign(more=1), r"has others, \['more'\] \(got"),
     (lambda X: X.assign(hours=X["hours"].astype("int32")), "dtype int32 in column 'hours'"),
     (lambda X: X.assign(sex="x"), "Column 'sex' has values that are not among"),
     (lambda X: X[:0], "has no rows; those before it have 100"),
     (lambda X: X.to_numpy(), "is a numpy.ndarray, not a pandas.DataFrame"),
     (lambda X: "no table", "must be a NumPy array"),
     (fail, "could not be read; those before it have 100 rows. OSError: the disk is gone")],
    ids=["renamed", "more", "dtype", "category", "empty", "array", "string", "error"],
)  # fmt: skip
def test_a_chunk_that_does_not_fit_is_named(auditor, change, message):
    with pytest.raises(ChunkFailedError, match=f"(?s)Chunk 2.*{message}") as caught:
        auditor.audit_rows(broken(change))
    assert caught.value.chunk == "chunk 2"
    result = caught.value.result
    assert (result.n_rows, result.n_chunks) == (100, 1)
    assert result.rate == auditor.audit_rows(CLASSES.data[:100]).rate
    assert pickle.loads(pickle.dumps(caught.value)).chunk == "chunk 2"
    if change is not fail and "Column" not in message:
        with pytest.raises(ChunkFailedError, match=f"(?s)Chunk 2.*{message}"):
            InputSpace().fit(broken(change), ["sex"])


def test_ordered_categories_must_not_change():
    kinds = [pd.CategoricalDtype(list(order), ordered=True) for order in ("ab", "ba")]
    parts = [pd.DataFrame({"s": pd.Series(["a", "b"], dtype=k), "n": [1, 2]}) for k in kinds]
    with pytest.raises(ChunkFailedError, match="Chunk 2 has the ordered categories"):
        InputSpace().fit(parts, ["s"])


@pytest.mark.parametrize("nothing", [iter([]), lambda: iter([]), iter([CLASSES.data[:0]])])
def test_no_rows_at_all(auditor, nothing):
    with pytest.raises(ChunkFailedError, match="no rows[:;]"):
        auditor.audit_rows(nothing)


def test_a_model_that_fails_in_a_chunk_says_in_which():
    def wage(rows):
        if rows["age"].max() > 60:
            raise ValueError("too old")
        return rows["age"].to_numpy(dtype=float)

    class Wage:
        predict = staticmethod(wage)

    X = pd.DataFrame({"sex": ["f", "m"] * 10, "age": range(40, 60)})
    auditor = audited(Wage(), X, max_queries=20)
    with pytest.raises(
        EstimatorFailedError, match=r"(?s)Chunk 2 \(rows from 20 on\).*too old"
    ) as e:
        auditor.audit_rows([X, X.assign(age=70)])
    assert e.value.result.n_rows == 20


# Parquet and Dask ---------------------------------------------------------------------------------


@pytest.fixture
def parquet(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    CLASSES.data.to_parquet(path, row_group_size=300)
    return path


@pytest.mark.parametrize("as_text", [True, False])
def test_parquet_by_row_groups(auditor, parquet, as_text):
    found = auditor.audit_rows(str(parquet) if as_text else parquet)
    assert found.n_chunks == -(-len(CLASSES.data) // 300)
    assert found.rate == auditor.audit_rows(CLASSES.data).rate


def test_parquet_is_described_as_a_whole(tmp_path):
    pytest.importorskip("pyarrow")
    X = table().drop(columns=["mixed", "boxed"])
    X["late"] = pd.array([1] * 2999 + [None], dtype="Int64").astype(object)
    X.to_parquet(tmp_path / "x.parquet", row_group_size=700)
    expected = InputSpace().fit(pd.read_parquet(tmp_path / "x.parquet"), ["sex"])
    assert_same_space(expected, InputSpace().fit(tmp_path / "x.parquet", ["sex"]))


def test_a_folder_of_parquet_files(auditor, parquet):
    CLASSES.data[:50].to_parquet(parquet.parent / "a.parquet")
    assert auditor.audit_rows(parquet.parent).n_rows == len(CLASSES.data) + 50


def test_a_folder_of_more_files_than_may_be_open(tmp_path):
    resource = pytest.importorskip("resource")
    pytest.importorskip("pyarrow")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    for number in range(40):
        CLASSES.data[:2].to_parquet(tmp_path / f"{number}.parquet")
    n_open = os.dup(0)  # the next one that is free
    os.close(n_open)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (n_open + 30, limits[1]))
        n_rows = sum(len(chunk.table) for chunk in as_chunks(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert n_rows == 80


def test_a_parquet_file_that_is_cut_off_or_damaged(auditor, parquet):
    whole = parquet.read_bytes()
    parquet.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ChunkFailedError, match="rows.parquet.*cut off"):
        auditor.audit_rows(parquet)
    damaged = bytearray(whole)
    place = len(whole) // 3
    damaged[place : place + 400] = b"x" * 400
    parquet.write_bytes(damaged)
    with pytest.raises(ChunkFailedError, match="Row group 1 of .*rows.parquet") as caught:
        auditor.audit_rows(parquet)
    assert caught.value.result.n_rows == 300
    with pytest.raises(ChunkFailedError, match="leads to no Parquet file"):
        auditor.audit_rows(parquet.parent / "none.parquet")


def test_without_pyarrow_it_is_said(auditor, parquet, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises((ChunkFailedError, ImportError), match=r"skfairtest\[parquet\]"):
        auditor.audit_rows(parquet)


@pytest.mark.services("dask")
def test_dask_by_partitions(auditor):
    import dask.dataframe as dd

    X = CLASSES.data
    frame = dd.from_pandas(X, npartitions=4)
    found = auditor.audit_rows(frame)
    assert found.n_chunks == 4 and found.rate == auditor.audit_rows(X).rate
    # A filter leaves partitions without rows, which nobody can leave out beforehand.
    late = frame.map_partitions(lambda part: part[part.index >= len(X) // 2])
    assert auditor.audit_rows(late).n_rows == len(X) - len(X) // 2
    numbers = X.select_dtypes("number")
    expected = InputSpace().fit(numbers, [0])
    lazily = InputSpace().fit(dd.from_pandas(numbers, npartitions=4), [0])
    assert_same_space(expected, lazily)

    def spoil(part):
        if 0 in part.index:
            return part
        raise OSError("no such block")

    spoiled = frame.map_partitions(spoil, meta=frame._meta)
    with pytest.raises(ChunkFailedError, match="Partition 1 could not be computed.*no such bl"):
        auditor.audit_rows(spoiled)


# Tables of groups -------------------------------------------------------------------------------


def decisions(n=2000):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "sex": rng.choice(["f", "m", None], n),
        "race": pd.Categorical(rng.choice(list("cab"), n), categories=list("cba")),
        "age": rng.integers(18, 70, n),
        "label": rng.choice(["no", "yes"], n),
        "truth": rng.choice(["no", "yes"], n),
        "wage": rng.normal(100, 10, n),
        "target": rng.normal(100, 10, n),
        "weight": rng.uniform(0, 2, n),
    })  # fmt: skip
    X.loc[:3, "wage"] = 7.0  # the first chunk looks like labels
    return X


@pytest.mark.parametrize("weight", some(["weight", None]))
@pytest.mark.parametrize(
    ("pred", "truth", "favourable"),
    some([("wage", "target", None), ("label", None, ["no"]), ("label", "truth", None),
          ("wage", "target", 100.0), ("wage", None, "mean")], 2),
)  # fmt: skip
def test_selection_table_of_chunks_is_that_of_the_table(pred, truth, favourable, weight):
    X = decisions()
    of_table = selection_table(
        X[pred],
        sensitive_features=X[["sex", "race", "age"]],
        y_true=None if truth is None else X[truth],
        sample_weight=None if weight is None else X[weight],
        favourable=favourable,
    )
    parts = [X[:4], *(X[start : start + 400] for start in range(4, len(X), 400))]
    of_chunks = selection_table(
        pred, sensitive_features=["sex", "race", "age"], y_true=truth, sample_weight=weight,
        favourable=favourable, data=iter(parts),
    )  # fmt: skip
    pd.testing.assert_frame_equal(of_chunks, of_table, rtol=1e-9)
    ends = [table.attrs.pop("smallest_ratio") for table in (of_chunks, of_table)]
    assert of_chunks.attrs == of_table.attrs
    # Weights are added up in another order.
    assert [end or 0 for end in ends[0]] == pytest.approx([end or 0 for end in ends[1]])


@pytest.mark.parametrize(
    ("params", "message"),
    [({"y_pred": "none"}, r"Chunk 1.*no columns \['none'\]"), ({"y_score": "wage"}, "median"),
     ({"y_pred": [1, 2]}, "must be names of its columns"), ({"data": 3}, "must come in chunks")],
)  # fmt: skip
def test_selection_table_says_what_is_wrong_with_chunks(params, message):
    given = {"y_pred": "label", "data": cut(decisions(100)), **params}
    with pytest.raises((TypeError, ValueError), match=message):
        selection_table(sensitive_features="sex", **given)


def test_testsgd_counts_chunks_exactly_and_draws_from_all_rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "group": rng.choice(["A", "B", "C"], 4000), "age": rng.integers(20, 70, 4000),
        "income": rng.normal(30, 9, 4000),
    })  # fmt: skip

    class Model:
        classes_ = np.array([0, 1])

        def predict(self, rows):
            worse = (rows["group"] == "B") & (rows["age"] >= 50)
            return ((rows["income"] > 30) & ~worse).to_numpy().astype(int)

    settings = {"sensitive_features": ["group", "age"], "random_state": 0}
    whole = TestSGDAuditor(Model(), **settings).fit(X)
    auditor = TestSGDAuditor(Model(), **settings).fit(lambda: iter(cut(X, 300)))
    assert auditor.n_rules_ == whole.n_rules_
    assert auditor.n_queries_ == whole.n_queries_
    assert auditor.worst_rule_["rule"] == whole.worst_rule_["rule"] == "group = B and age >= 50"
    ours, theirs = (a.rules_.set_index("rule") for a in (auditor, whole))
    both = ours.index.intersection(theirs.index)
    assert len(both) > 10
    ours, theirs = ours.loc[both], theirs.loc[both]
    np.testing.assert_allclose(ours["support"], theirs["support"])
    # Two pools from one population: each interval has a confidence of 95% for all rules at once.
    assert ((ours["low"] <= theirs["high"]) & (theirs["low"] <= ours["high"])).all()
    np.testing.assert_array_equal(auditor.matches(X[:50], 0), whole.matches(X[:50], 0))


def test_testsgd_needs_two_passes():
    X = decisions(100)[["sex", "age"]].dropna()
    auditor = TestSGDAuditor(LinearRegression(), sensitive_features=["sex"])
    with pytest.raises(ValueError, match="TestSGDAuditor reads the chunks 2 times"):
        auditor.fit(iter([X]))
    with pytest.raises(ValueError, match="columns that are not in X"):
        auditor.fit([X], sensitive_features=X["sex"])
