"""What was asked about the rows of the data for one part is not asked again for another."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.tree import DecisionTreeClassifier

from skfairtest import InputSpace, RandomAuditor, audit
from skfairtest.report.parts.moved.results import MovedPart
from skfairtest.transports import QuantileTransport

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_maps")]
N = 120
RNG = np.random.default_rng(0)
X = pd.DataFrame({"sex": np.repeat(["f", "m"], N // 2), "income": RNG.normal(30, 10, N)})
X["age"] = RNG.integers(20, 60, N).astype("float32") + np.float32(0.1)
X["code"] = X["sex"] == "m"
RACE = pd.Series(RNG.permutation(np.repeat(["a", "b"], N // 2)), name="race")
Y = np.where(X["income"] + 9 * X["code"] > 33, "yes", "no")
NUMBERS = ["income", "age", "code"]


class Recorder(ClassifierMixin, BaseEstimator):
    """Answers as a model of the columns of numbers does, and keeps what it was asked."""

    def __init__(self, model):
        self.model, self.asked, self.is_fitted_ = model, Counter(), True
        self.classes_ = getattr(model, "classes_", None)
        self.feature_names_in_ = np.array(X.columns, dtype=object)

    def fit(self, X, y):
        raise AssertionError("the model is audited as it is")

    def __sklearn_tags__(self):
        return self.model.__sklearn_tags__()

    def _ask(self, method, table):
        self.asked.update((method, *row) for row in table.to_numpy().tolist())
        return getattr(self.model, method)(table[NUMBERS])

    def predict(self, table):
        return self._ask("predict", table)

    def __getattr__(self, name):
        if name in ("predict_proba", "decision_function") and hasattr(self.model, name):
            return lambda table: self._ask(name, table)
        raise AttributeError(name)

    def take_rows(self, table=X):
        """Return how often each row of the data was asked by each method, and forget it."""
        rows = set(map(tuple, table.to_numpy().tolist()))
        asked = Counter({one: n for one, n in self.asked.items() if one[1:] in rows})
        self.asked = Counter()
        return asked


class Raise(BaseEstimator):
    """Moves people by an income that nobody has."""

    def fit(self, X, groups):
        return self

    def transport(self, X, groups, to):
        return X.assign(income=X["income"] + 6.18)


def look(model, table=X, **params):
    return audit(
        model,
        table,
        sensitive_features=["sex", RACE],
        **{
            "auditor": RandomAuditor(max_queries=50), "certify": False, "groups": False,
            "moved": False, "max_time": None, "random_state": 0, "progress": False,
            "favourable": "yes" if hasattr(model.model, "classes_") else None, **params,
        },
    )  # fmt: skip


def moved_parts(report):
    return [replace(part, seconds=0.0, queries=0) for part in report.results(MovedPart)]


LOGISTIC = LogisticRegression().fit(X[NUMBERS], Y)
MODELS = {
    "regression": LinearRegression().fit(X[NUMBERS], X["income"] + 4 * X["code"]),
    "predict_proba": LOGISTIC,
    # Its labels do not follow from its scores, so that both are asked.
    "two methods": FixedThresholdClassifier(LOGISTIC, threshold=0.7).fit(X[NUMBERS], Y),
    "labels": LOGISTIC,
}


@pytest.mark.parametrize("kind", MODELS)
def test_no_row_is_asked_again_for_a_part_that_is_measured_later(kind):
    model = Recorder(MODELS[kind])
    method = "predict" if kind == "labels" else "auto"
    auditor = RandomAuditor(max_queries=50, response_method=method)
    report = look(model, auditor=auditor)
    before = model.take_rows()
    assert {one[1:] for one in before} == set(map(tuple, X.to_numpy().tolist()))
    later = report.measure("moved", moved=Raise(), progress=False)
    assert not model.take_rows()
    anew = look(model, auditor=auditor, moved=Raise(), report=report)
    assert not model.take_rows()
    parts = moved_parts(later)
    assert [part.status for part in parts] == ["done"] * 2 and parts[0].rate > 0
    whole = look(model, auditor=auditor, moved=Raise())
    assert parts == moved_parts(anew) == moved_parts(whole)
    # The parts count what they asked, and no part what another one did.
    model.asked.clear()
    more = report.measure("moved", moved=Raise(), progress=False)
    assert sum(part.queries for part in more.results(MovedPart)) == model.asked.total()


def test_a_map_asks_no_row_that_another_map_has_asked():
    # Nothing else is asked for the scores of a model that does not take the attribute.
    table = X[NUMBERS]
    model = Recorder(LOGISTIC)
    model.feature_names_in_ = table.columns.to_numpy(dtype=object)
    params = {
        "auditor": RandomAuditor(max_queries=50), "certify": False, "groups": False,
        "max_time": 1000, "random_state": 0, "progress": False, "favourable": "yes",
    }  # fmt: skip
    report = audit(model, table, sensitive_features=RACE, moved=[Raise(), Raise()], **params)
    of_scores = Counter(
        {one: n for one, n in model.take_rows(table).items() if one[0] == "predict_proba"}
    )
    # The first rows show how the model has to be asked.
    assert [part.status for part in report.results(MovedPart)] == ["done"] * 2
    assert len(of_scores) == N and of_scores.total() == N + 32


def test_outputs_of_later_parts_equal_those_of_rows_that_are_asked_alone():
    model = Recorder(DecisionTreeClassifier(random_state=0).fit(X[NUMBERS], Y))
    report = look(model, moved=QuantileTransport())
    answers = report.context.answers
    scores, labels = report.context.model.ask(report.context.space.data)
    assert answers.is_asked.all() and answers.is_predicted.all()
    np.testing.assert_array_equal(answers.scores, scores)
    np.testing.assert_array_equal(answers.labels, labels)


def test_rows_that_are_no_twins_of_themselves_are_asked_as_they_are():
    # What follows from the sex is written into twins, and three rows have something else.
    table = X.assign(code=X["code"].astype(int))
    table.loc[:2, "code"] = 1
    space = InputSpace(twins={"sex": {"f": {"code": 0}, "m": {"code": 1}}})
    model = Recorder(LOGISTIC)
    report = look(model, table, auditor=RandomAuditor(max_queries=50, space=space))
    np.testing.assert_array_equal(np.flatnonzero(~report.context.answers.is_asked), [0, 1, 2])
    model.take_rows(table)
    report.measure("moved", moved=Raise(), progress=False)
    asked = model.take_rows(table)
    assert {one[0] for one in asked} == {"predict_proba"} and set(asked.values()) == {1}


def test_another_method_is_asked_anew():
    model = Recorder(LOGISTIC)
    report = look(model, auditor=RandomAuditor(max_queries=50, response_method="predict"))
    assert report.context.response == "labels"
    other = look(model, report=report, moved=Raise())
    assert other.context.response == "predict_proba"
    assert moved_parts(other) == moved_parts(look(model, moved=Raise()))
