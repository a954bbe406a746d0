"""Bad input: each error says what was expected and got, and comes before the first query."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from spaces import in_space

from skfairtest import (
    InputSpace,
    PublishedSBFTAuditor,
    RandomAuditor,
    SBFTAuditor,
    SubgroupAuditor,
)
from skfairtest.exceptions import EstimatorFailedError, NoDisparityWarning

AUDITORS = [RandomAuditor, SBFTAuditor]


@pytest.fixture(params=AUDITORS, ids=lambda cls: cls.__name__)
def auditor(request):
    return request.param


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 40),
            "age": rng.integers(18, 80, 40),
            "income": rng.random(40),
            "job": rng.choice(["a", "b"], 40),
        }
    )


def by_sex(X):
    return np.asarray(X["sex"] == "m") * 1.0 + np.asarray(X["income"])


def refuse(auditor, models, X, error, message, **params):
    """The error is raised, says this, and the estimator was not asked before."""
    estimator = models.Regressor(by_sex)
    params = {"sensitive_features": ["sex"], **params}
    with pytest.raises(error, match=message):
        auditor(estimator, **params).fit(X)
    assert estimator.calls == 0


BAD_PARAMS = {
    "unknown column": ({"sensitive_features": ["sexx"]}, "'sexx'.*not a column.*'sex'"),
    "unknown position": ({"sensitive_features": [17]}, "17.*not a column"),
    "duplicate column": ({"sensitive_features": ["sex", "sex"]}, "'sex'.*more than once"),
    "name and position": ({"sensitive_features": ["sex", 0]}, "'sex'.*more than once"),
    "no column": ({"sensitive_features": []}, "empty"),
    "every column": (
        {"sensitive_features": ["sex", "age", "income", "job"]},
        "Every column is sensitive.*fewer",
    ),
    "boolean": ({"sensitive_features": [True]}, "boolean True"),
    "bounds exchanged": ({"bounds": {"age": (80, 18)}}, r"low <= high.*\(80, 18\).*Exchange"),
    "bounds of one": ({"bounds": {"age": 3}}, r"pair \(low, high\).*3"),
    "bounds of words": ({"bounds": {"age": ("a", "b")}}, "pair"),
    "infinite bounds": ({"bounds": {"age": (0, np.inf)}}, "finite"),
    "fractional bounds": ({"bounds": {"age": (0.5, 9)}}, "holds integers.*whole"),
    "bounds of strings": ({"bounds": {"job": (0, 9)}}, "not numeric.*categories="),
    "bounds and categories": (
        {"bounds": {"age": (18, 80)}, "categories": {"age": [18, 80]}},
        "both bounds= and categories=",
    ),
    "unknown bounds": ({"bounds": {"agee": (0, 1)}}, "bounds= names 'agee'"),
    "unknown categories": ({"categories": {"jobb": ["a"]}}, "categories= names 'jobb'"),
    "unknown steps": ({"steps": {"agee": 1}}, "steps= names 'agee'"),
    "same categories": ({"categories": {"job": ["a", "a"]}}, "different values"),
    "no categories": ({"categories": {"job": []}}, "at least one"),
    "categories in a word": ({"categories": {"job": "ab"}}, "list of values.*'ab'"),
    "one category of sex": ({"categories": {"sex": ["f"]}}, "'sex' has one value"),
    "zero step": ({"steps": {"income": 0}}, "positive number.*0"),
    "fractional step": ({"steps": {"age": 0.5}}, "positive whole number.*0.5"),
    "step of strings": ({"steps": {"job": 1}}, "categorical.*Leave it out"),
    "threshold below zero": ({"threshold": -0.1}, "threshold must be.*-0.1"),
    "threshold NaN": ({"threshold": np.nan}, "threshold must be.*nan"),
    "threshold word": ({"threshold": "high"}, "threshold must be.*'high'"),
    "response": ({"response_method": "guess"}, "response_method must be one of.*'guess'"),
    "no queries": ({"max_queries": 0}, "max_queries must be None or .* at least 2.*got 0"),
    "one query": ({"max_queries": 1}, "pair of twins.*got 1"),
    "fraction of queries": ({"max_queries": 10.5}, "max_queries.*whole number.*10.5"),
    "queries true": ({"max_queries": True}, "max_queries.*True"),
    "no time": ({"max_time": 0}, "max_time.*positive number of seconds.*0"),
    "time NaN": ({"max_time": np.nan}, "max_time.*nan"),
    "none found": ({"max_found": 0}, "max_found.*at least 1.*0"),
    "no inputs": ({"max_inputs": 0}, "max_inputs.*at least 1.*0"),
    "no budget at all": ({"max_queries": None}, "never end.*max_queries.*Set at least one"),
    "empty constraint": (
        {"constraint": lambda X: X["age"] > 1000},
        "constraint=: expected inputs that satisfy.*got none in.*bounds=",
    ),
    "twinless constraint": ({"constraint": lambda X: X["sex"] == "m"}, "no twins to compare"),
    "constraint of numbers": ({"constraint": lambda X: X["age"]}, "one boolean for each row"),
    "constraint of one": ({"constraint": lambda X: True}, "one boolean for each row"),
}


@pytest.mark.parametrize("name", BAD_PARAMS)
def test_bad_parameters_are_refused_before_the_first_query(auditor, models, frame, name):
    params, message = BAD_PARAMS[name]
    refuse(auditor, models, frame, ValueError, f"(?s){message}", **in_space(params))


BAD_TYPES = {
    "constraint": ({"constraint": "age > 3"}, "constraint= must be a callable.*str"),
    "bounds": ({"bounds": [(0, 1)]}, "bounds= must be a dict.*list"),
    "categories": ({"categories": ["a"]}, "categories= must be a dict.*list"),
    "no columns at all": ({"sensitive_features": None}, "sensitive_features.*None"),
    "missing method": (
        {"response_method": "predict_proba"},
        "'predict_proba'.*Regressor does not have",
    ),
}


@pytest.mark.parametrize("name", BAD_TYPES)
def test_parameters_of_a_wrong_type_are_refused(auditor, models, frame, name):
    params, message = BAD_TYPES[name]
    refuse(auditor, models, frame, (TypeError, ValueError), message, **in_space(params))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"population_size": 0}, "population_size.*None or a whole number of at least 1.*0"),
        ({"population_size": 2.5}, "population_size.*whole number.*2.5"),
        ({"crossover_proba": 1.5}, r"crossover_proba.*\[0, 1\].*1.5"),
    ],
)
def test_bad_parameters_of_sbft(models, frame, params, message):
    refuse(SBFTAuditor, models, frame, ValueError, message, **params)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"population_size": None}, "population_size.*whole number.*None"),
        ({"mutation_proba": -0.1}, r"mutation_proba.*\[0, 1\].*-0.1"),
        ({"newcomer_rate": "many"}, r"newcomer_rate.*\[0, 1\].*'many'"),
        ({"cache_proba": np.nan}, r"cache_proba.*\[0, 1\].*nan"),
    ],
)
def test_bad_parameters_of_published_sbft(models, frame, params, message):
    refuse(PublishedSBFTAuditor, models, frame, ValueError, message, **params)


BAD_TABLES = {
    "constant sex": (lambda X: X.assign(sex="f"), ValueError, "'sex' has one value only"),
    "no rows": (lambda X: X[:0], ValueError, "0 sample"),
    "complex numbers": (lambda X: X.assign(age=1j), TypeError, "complex"),
    "infinity": (
        lambda X: X.assign(income=np.r_[np.inf, np.arange(39)]),
        ValueError,
        "'income' contains inf.*Replace",
    ),
    "identifiers": (
        lambda X: X.assign(age=np.arange(40) + 2**60),
        ValueError,
        "'age'.*2\\*\\*53.*identifier",
    ),
    "same names": (
        lambda X: X.set_axis(["sex", "age", "age", "job"], axis=1),
        ValueError,
        "(?s)unique column names.*'age'|'age'.*more than once",
    ),
    "sparse column": (
        lambda X: X.assign(income=pd.arrays.SparseArray(np.arange(40.0))),
        TypeError,
        "Sparse",
    ),
    "lists in cells": (
        lambda X: X.assign(job=pd.Series([[1]] * 40)),
        TypeError,
        "'job'.*string or a number",
    ),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_frames_are_refused_before_the_first_query(auditor, models, frame, name):
    change, error, message = BAD_TABLES[name]
    refuse(auditor, models, change(frame), error, message)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (sparse.csr_matrix(np.eye(4)), TypeError, "sparse.*dense|dense.*sparse"),
        (sparse.csr_array(np.eye(4)), TypeError, "sparse.*dense|dense.*sparse"),
        (np.arange(4.0), ValueError, "2D array.*1D array"),
        (np.zeros((3, 3, 3)), ValueError, "dim"),
        (np.empty((0, 3)), ValueError, "0 sample"),
        (np.empty((3, 0)), ValueError, "0 feature"),
        (np.array([["2020-01-01", "2021-01-01"]], dtype="datetime64[D]"), TypeError, "datetime64"),
        (np.array([[0, 1, np.inf], [1, 2, 3]]), ValueError, "inf"),
    ],
)
def test_bad_arrays_are_refused_before_the_first_query(auditor, models, X, error, message):
    refuse(auditor, models, X, error, message, sensitive_features=[0])


def test_an_unfitted_estimator_without_y(auditor, frame):
    with pytest.raises(NotFittedError, match="unfitted LinearRegression.*fit\\(X, y\\)"):
        auditor(LinearRegression(), sensitive_features=["sex"]).fit(frame)


def test_a_template_a_class_and_what_cannot_predict(auditor, frame):
    with pytest.raises(ValueError, match="template.*Give an estimator"):
        auditor().fit(frame)
    with pytest.raises(TypeError, match="instance; got the class LinearRegression.*\\(\\)"):
        auditor(LinearRegression, sensitive_features=["sex"]).fit(frame)
    with pytest.raises(TypeError, match="must have predict.*object"):
        auditor(object(), sensitive_features=["sex"]).fit(frame)


def test_auto_without_a_protected_name(auditor, models, frame):
    X = frame.rename(columns={"sex": "group", "age": "points"})
    refuse(
        auditor, models, X, ValueError, "'auto' found no column.*Name", sensitive_features="auto"
    )


def test_results_before_fit_do_not_exist(auditor):
    unfitted = auditor(LinearRegression())
    for name in ("worst_case_", "history_", "discriminatory_inputs_", "on_data_degree_"):
        assert not hasattr(unfitted, name)
    with pytest.raises(NotFittedError):
        unfitted.predict([[1.0]])
    with pytest.raises(NotFittedError):
        unfitted.audit_rows([[1.0]])


# Failures of the model ---------------------------------------------------------------------


class Late:
    """A function that breaks from the given call on."""

    def __init__(self, good, bad, after):
        self.good, self.bad, self.left = good, bad, after

    def __call__(self, X):
        self.left -= 1
        return self.good(X) if self.left >= 0 else self.bad(X)


def fail(X):
    raise ZeroDivisionError("broken inside")


FAILURES = {
    "raises": (fail, "raised ZeroDivisionError.*broken inside"),
    "NaN": (lambda X: np.full(len(X), np.nan), "finite numbers.*NaN"),
    "infinite": (lambda X: np.full(len(X), np.inf), "finite numbers"),
    "too short": (lambda X: np.zeros(len(X) - 1), "one output for each of"),
    "too long": (lambda X: np.zeros(len(X) + 1), "one output for each of"),
    "scalar": (lambda X: np.float64(3), "one output for each of"),
    "words": (lambda X: np.full(len(X), "good"), "numbers"),
}


@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("name", FAILURES)
def test_a_failing_model_is_named_and_results_stay(auditor, models, frame, name, after):
    bad, message = FAILURES[name]
    estimator = models.Regressor(Late(by_sex, bad, after))
    fitted = auditor(estimator, sensitive_features=["sex"], random_state=0)
    with pytest.raises(EstimatorFailedError, match=f"Regressor.predict.*{message}") as caught:
        fitted.fit(frame)
    if name == "raises":
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert fitted.stop_reason_.startswith("failed: ")
    assert fitted.n_queries_ == estimator.rows
    if after:
        assert fitted.fairness_degree_ == pytest.approx(1.0)
        assert len(fitted.discriminatory_inputs_) == fitted.n_found_ > 0
        assert fitted.worst_case_["sex"].tolist() == ["m", "f"]
    else:
        assert fitted.fairness_degree_ == 0 and fitted.worst_case_ is None
        assert len(fitted.discriminatory_inputs_) == 0 == len(fitted.history_)


@pytest.mark.parametrize(
    "fails_where, advice",
    [
        (lambda X: True, "rows of the data, too"),
        (lambda X: X["sex"].nunique() > 1, "InputSpace"),  # all people are of one sex
        (lambda X: (X["age"] > 1e3).any(), "InputSpace"),
    ],
)
def test_advice_after_a_failure_follows_from_its_cause(models, frame, fails_where, advice):
    def answer(X):
        return fail(X) if fails_where(X) else by_sex(X)

    X = frame.assign(sex="f", age=frame["age"].astype(float))
    space = InputSpace(categories={"sex": ["f", "m"]}, bounds={"age": (0, 1e6)})
    auditor = RandomAuditor(models.Regressor(answer), sensitive_features=["sex"], space=space)
    with pytest.raises(EstimatorFailedError, match=advice) as caught:
        auditor.fit(X)
    assert ("data, too" in str(caught.value)) == (advice != "InputSpace")


def test_a_failure_on_given_rows_is_one_of_the_data(models, frame):
    auditor = SubgroupAuditor(
        models.Regressor(fail), metric="mean_prediction", sensitive_features=["sex"]
    )
    with pytest.raises(EstimatorFailedError, match="rows of the data, too"):
        auditor.fit(frame)


def test_missing_labels_and_wrong_numbers_of_labels(auditor, models, frame):
    for bad, message in [
        (lambda X: np.full(len(X), None, dtype=object), "missing labels"),
        (lambda X: np.zeros(len(X) + 2), "one output for each"),
    ]:
        fitted = auditor(models.LabelsOnly(bad), sensitive_features=["sex"])
        with pytest.raises(EstimatorFailedError, match=message):
            fitted.fit(frame)


def test_audit_rows_wants_the_columns_and_categories_of_fit(auditor, models, frame):
    fitted = auditor(models.Regressor(by_sex), sensitive_features=["sex"], max_queries=50).fit(
        frame
    )
    with pytest.raises(ValueError, match=r"lacks columns \['job'\]"):
        fitted.audit_rows(frame.drop(columns="job"))
    with pytest.raises(ValueError, match="'zzz'"):
        fitted.audit_rows(frame.assign(job="zzz"))
    with pytest.raises(TypeError, match="same kind of table"):
        fitted.audit_rows(frame.to_numpy())


def test_audit_of_no_rows(auditor, models, frame):
    estimator = models.Regressor(by_sex)
    fitted = auditor(estimator, sensitive_features=["sex"], max_queries=50).fit(frame)
    audit = fitted.audit_rows(frame[:0])
    assert (audit.degree, audit.rate, audit.n_queries) == (0.0, 0.0, 0)
    assert len(audit.discriminatory) == 0


def test_targets_of_other_rows(auditor, small):
    with pytest.raises(ValueError, match="y must have one value per row, [0-9]+; got 2"):
        auditor(LogisticRegression(), sensitive_features=[0]).fit(small, [0, 1])


def test_probabilities_that_do_not_sum_to_one(auditor, models):
    X = np.random.default_rng(0).integers(0, 5, size=(60, 3)).astype(float)
    model = models.Proba(lambda X: np.column_stack([0.5 + 0 * X[:, 0], 0.6 + X[:, 0] / 10]))
    with pytest.raises(EstimatorFailedError, match=r"add up to 1 in each row; got \[0\.5, "):
        auditor(model, sensitive_features=[0], max_queries=2000).fit(X)
    # Noticed on the rows of the first look, before the search spends its budget.
    assert model.rows <= 100


def two_columns(X):
    p = 0.2 + 0.4 * (X[:, 0] > 25)
    return np.column_stack([1 - p, p])


WRONG_PROBABILITIES = {
    "negative": (lambda X: two_columns(X) + [-0.7, 0.7], "must return probabilities; got a value"),
    "sums": (lambda X: two_columns(X) * 1.1, "add up to 1 in each row"),
    "one dimension": (lambda X: two_columns(X)[:, 1], r"for each class; got shape \(\d+,\)"),
    "complex": (lambda X: two_columns(X) + 0j, "real numbers; got complex"),
    "columns": (lambda X: np.column_stack([two_columns(X), 0 * X[:, 0]]), "columns.*2 so far"),
}


@pytest.mark.parametrize("after", [0, 4])
@pytest.mark.parametrize("name", WRONG_PROBABILITIES)
def test_every_batch_of_probabilities_is_checked(auditor, name, after):
    bad, message = WRONG_PROBABILITIES[name]
    answer = Late(two_columns, bad, after)

    class Probabilities(ClassifierMixin, BaseEstimator):
        classes_ = np.array([0, 1])

        def fit(self, X, y=None):
            return self

        def __sklearn_is_fitted__(self):
            return True

        def predict_proba(self, X):
            return answer(X)

        def predict(self, X):
            return two_columns(X).argmax(axis=1)

    X = np.random.default_rng(0).integers(0, 50, size=(60, 3)).astype(float)
    fitted = auditor(
        Probabilities(), sensitive_features=[0], random_state=0, max_queries=2000, threshold=0.1
    )
    if name == "columns" and not after:
        # Three classes from the first batch on are another model, not a failing one.
        assert fitted.fit(X).fairness_degree_ > 0
        return
    with pytest.raises(EstimatorFailedError, match=message):
        fitted.fit(X)
    assert fitted.fairness_degree_ == (pytest.approx(0.4) if after else 0)


def test_labels_of_another_shape_later_on(auditor, models):
    X = np.random.default_rng(0).integers(0, 50, size=(60, 3)).astype(float)

    def good(X):
        return np.where(X[:, 0] > 25, "yes", "no")

    bad = Late(good, lambda X: np.column_stack([good(X), good(X)]), 3)
    fitted = auditor(models.LabelsOnly(bad), sensitive_features=[0], max_queries=2000)
    with pytest.raises(EstimatorFailedError, match=r"LabelsOnly.predict.*columns.*1 so far"):
        fitted.fit(X)


def test_several_labels_at_once_are_no_wrong_sum(auditor):
    X = np.random.default_rng(0).integers(0, 5, size=(200, 3)).astype(float)
    Y = np.column_stack([X[:, 0] > 2, X[:, 0] + X[:, 1] > 3]).astype(int)
    model = OneVsRestClassifier(LogisticRegression()).fit(X, Y)
    assert np.abs(model.predict_proba(X).sum(axis=1) - 1).max() > 0.1
    fitted = auditor(model, sensitive_features=[0], max_queries=2000, random_state=0).fit(X)
    assert fitted.n_found_ > 0


def test_few_inputs_without_disparity_are_called_few(auditor, models):
    X = np.random.default_rng(0).integers(0, 50, size=(60, 3)).astype(float)
    model = models.Regressor(lambda X: X[:, 1])
    with pytest.warns(NoDisparityWarning, match="which are few.*Raise the budget"):
        auditor(model, sensitive_features=[0], max_queries=100).fit(X)


def test_a_constraint_is_tried_on_twins_whose_sensitive_values_exist(models):
    # Numbers of combinations, taken for codes, lay beyond the levels of the first column.
    frame = pd.DataFrame({"s": ["f", "m"] * 30, "t": np.arange(60) % 20, "x": np.arange(60.0) / 7})
    seen = []

    def constraint(rows):
        seen.append(rows[["s", "t"]])
        return rows["x"] > 1

    estimator = models.Regressor(lambda rows: rows["t"] * 1.0)
    RandomAuditor(
        estimator,
        sensitive_features=["s", "t"],
        max_queries=100,
        space=InputSpace(constraint=constraint),
    ).fit(frame)
    rows = pd.concat(seen)
    assert rows["s"].isin(["f", "m"]).all()
    assert rows["t"].between(0, 19).all()
