"""One door: every entry point takes, or refuses in the same words, whatever is handed over."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tiers import SAMPLE

from skfairtest import (
    CertifiedAuditor,
    FairnessAugmenter,
    FairnessRetrainer,
    FlipTestAuditor,
    InputSpace,
    MarginalizedClassifier,
    RandomAuditor,
    SubgroupAuditor,
    TestSGDAuditor,
    audit,
    compare_mitigations,
    make_audit_scorer,
    selection_table,
)

SEX = {"sensitive_features": ["sex"]}
QUICK = {"max_queries": 60, "random_state": 0}
GROUPS = {"metric": "accuracy", "n_resamples": 39, "confidence": 0.9, **SEX}


def people(n=120):
    """A table with a sensitive column of text, and its labels."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 70, n),
            "income": rng.normal(30, 9, n).round(1),
        }
    )
    y = np.where((X["sex"] == "m") + X["income"] / 30 + rng.normal(0, 0.3, n) > 1.4, "yes", "no")
    return X, pd.Series(y, name="hired")


def untrained():
    """A model of such tables."""
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["sex"]),
                                      remainder="passthrough")  # fmt: skip
    return make_pipeline(columns, LogisticRegression(max_iter=200))


X, Y = people()
MODEL = untrained().fit(X, Y)


def run_scorer(auditor, X, y, w):
    """The score of an auditor, which is made anew."""
    return make_audit_scorer(auditor)(MODEL, X, y, sample_weight=w)


def weighted(w):
    """Weights as parameters of a model's fit, which a pipeline has none of."""
    return {} if w is None else {"sample_weight": w}


#: Each takes the table, and its labels and weights where there is a place for them.
ENTRIES = {
    "audit": lambda X, y, w: audit(
        MODEL, X, y, auditor=RandomAuditor(**QUICK), groups=False, moved=False, certify=False,
        favourable="yes", progress=False, **SEX,
    ),
    "auditor": lambda X, y, w: RandomAuditor(MODEL, **SEX, **QUICK).fit(X),
    "fitting auditor": lambda X, y, w: RandomAuditor(untrained(), **SEX, **QUICK).fit(
        X, y, **weighted(w)
    ),
    "certificate": lambda X, y, w: CertifiedAuditor(MODEL, **SEX).fit(X),
    "flip test": lambda X, y, w: FlipTestAuditor(MODEL, **SEX).fit(X),
    "TestSGD": lambda X, y, w: TestSGDAuditor(
        MODEL, favourable="yes", n_bins=2, min_support=0.2, **SEX
    ).fit(X),
    "subgroups": lambda X, y, w: SubgroupAuditor(MODEL, **GROUPS).fit(X, y, sample_weight=w),
    "confirm": lambda X, y, w: SubgroupAuditor(MODEL, **GROUPS).fit(*people()).confirm(
        X, y, sample_weight=w
    ),
    "selection_table": lambda X, y, w: selection_table(
        MODEL.predict(X), sensitive_features=X["sex"], y_true=y, sample_weight=w,
        favourable="yes",
    ),
    "compare_mitigations": lambda X, y, w: compare_mitigations(
        untrained(), X, y, methods=["drop"], cv=2, moved=False, sample_weight=w,
        favourable="yes", progress=False, **SEX,
    ),
    "retrainer": lambda X, y, w: FairnessRetrainer(
        untrained(), RandomAuditor(**SEX, **QUICK), cv=2, max_rounds=1
    ).fit(X, y, **weighted(w)),
    "augmenter": lambda X, y, w: FairnessAugmenter(
        untrained(), RandomAuditor(**SEX, **QUICK)
    ).fit_resample(X, y),
    "averaged": lambda X, y, w: MarginalizedClassifier(untrained(), **SEX).fit(
        X, y, sample_weight=w
    ),
    "scorer": lambda X, y, w: run_scorer(RandomAuditor(**SEX, **QUICK), X, y, w),
    "moved scorer": lambda X, y, w: run_scorer(FlipTestAuditor(**SEX), X, y, w),
}  # fmt: skip
WITHOUT_LABELS = {"auditor", "flip test", "TestSGD", "certificate"}
WITHOUT_WEIGHTS = WITHOUT_LABELS | {"audit", "augmenter"}


PLACES = [(name, "y") for name in ENTRIES if name not in WITHOUT_LABELS]
PLACES += [(name, "sample_weight") for name in ENTRIES if name not in WITHOUT_WEIGHTS]


@pytest.mark.parametrize("name, argument", PLACES)
def test_values_of_rows_in_another_order(name, argument):
    weights = pd.Series(np.linspace(0.5, 2, len(X)))
    of_rows = {"y": Y, "sample_weight": weights}
    others = of_rows[argument].iloc[::-1]
    told = "y_true" if (name, argument) == ("selection_table", "y") else argument
    for wrong, how in [(others, "in another order"),
                       (others.set_axis(range(100, 220)), "with other labels")]:  # fmt: skip
        y, w = (of_rows | {argument: wrong}).values()
        with pytest.raises(ValueError, match=rf"{told} has another index than \w+ \({how}\)"):
            ENTRIES[name](X, y, w)
    y, w = (of_rows | {argument: others.to_numpy()[:-1]}).values()
    with pytest.raises(ValueError, match=rf"{told} must have one value per row, 120; got 119"):
        ENTRIES[name](X, y, w)


def as_polars(X):
    """A table of polars, which the model can take."""
    return pytest.importorskip("polars").from_pandas(X)


FEW = "Found array with 0 "
#: What X is made of; the words of the refusal, or None where everything works with it.
KINDS = {
    "strings of pyarrow": (lambda X: X.convert_dtypes(dtype_backend="pyarrow"), None),
    "nullable": (lambda X: X.convert_dtypes(), None),
    "categories": (lambda X: X.astype({"sex": "category"}), None),
    "objects": (lambda X: X.astype(object), None),
    "bytes": (lambda X: X.assign(sex=X["sex"].map(str.encode)), None),
    "polars": (as_polars, None),
    "duplicate index": (lambda X: X.set_axis([0] * len(X)), None),
    "lazy": (lambda X: as_polars(X).lazy(), r"got LazyFrame\. Call X\.collect\(\) first"),
    "sparse": (lambda X: csr_array(X[["age", "income"]].to_numpy()), "X must be a dense table"),
    "dict": (lambda X: X.to_dict("list"), "X must be a NumPy array, a pandas .* got dict"),
    "none": (lambda X: None, "X must be a NumPy array, a pandas .* got NoneType"),
    "number": (lambda X: 3, "X must be a NumPy array, a pandas .* got int"),
    "duplicate names": (
        lambda X: X.set_axis(["sex", "age", "age"], axis=1), r"got \['age'\] more than once"
    ),
    "complex": (lambda X: X.assign(age=1j), "Column 'age' has dtype complex128"),
    "no rows": (lambda X: X[:0], FEW + "sample"),
    "no columns": (lambda X: X[[]], FEW + "feature"),
    "names of two types": (lambda X: X.set_axis(["sex", 1, "income"], axis=1), "string names"),
    "array": (lambda X: X.to_numpy(), "'sex', which is not a column of X"),
    "list": (lambda X: X.to_numpy().tolist(), "'sex', which is not a column of X"),
}  # fmt: skip
#: One takes a column of people, and one what was seen before.
NO_TABLE = {"selection_table", "confirm"}


#: The kinds that an entry point of its own refuses.
OWN = {("augmenter", "polars"): "imbalanced-learn returns no other tables"}
SLOW = {"flip test", "compare_mitigations", "retrainer", "certificate", "audit"}


def cells():
    """Entry points and kinds; refusals take no time, so that only some that work are slow."""
    for name in ENTRIES:
        for kind, (_, refused) in KINDS.items():
            works = refused is None and (kind, name) != ("strings of pyarrow", "audit")
            marks = SAMPLE if works and name in SLOW else []
            if name not in NO_TABLE:
                yield pytest.param(name, kind, marks=marks)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, kind", cells())
def test_tables_of_each_kind(name, kind):
    make, refused = KINDS[kind]
    refused, table = OWN.get((name, kind), refused), make(X)
    y = Y.to_numpy()[: 0 if kind == "no rows" else None]
    if refused is None:
        ENTRIES[name](table, y, None)
    else:
        with pytest.raises((ValueError, TypeError), match=refused):
            ENTRIES[name](table, y, None)


class ReadsAnyTable(ClassifierMixin, BaseEstimator):
    """A model that takes tables of pyarrow, which scikit-learn's own do not."""

    classes_ = np.array(["no", "yes"])

    def fit(self, X, y=None):
        """Learn nothing."""
        self.fitted_ = True
        return self

    def predict_proba(self, X):
        """Probabilities that depend on sex."""
        yes = np.where(np.asarray(nw.from_native(X)["sex"]) == "m", 0.7, 0.4)
        return np.column_stack([1 - yes, yes])

    def predict(self, X):
        """Labels."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.filterwarnings("ignore")
def test_tables_of_pyarrow():
    table, model = pytest.importorskip("pyarrow").table(X), ReadsAnyTable().fit(X)
    settings = {"auditor": RandomAuditor(**QUICK), "favourable": "yes", "progress": False}
    report = audit(model, table, Y.to_numpy(), groups=False, moved=False, **settings, **SEX)
    assert set(report.parts["status"]) == {"done", "left out"}
    assert report.fairness_degree == pytest.approx(0.3)
    beside = table.select(["sex"])
    rates = selection_table(Y.to_numpy(), sensitive_features=beside, favourable="yes")
    assert rates["n"].tolist() == X["sex"].value_counts().sort_index().tolist()


def test_strings_of_pyarrow_come_back_as_they_were():
    pa = pytest.importorskip("pyarrow")
    for text in (pa.string(), pa.large_string()):
        table = X.astype({"sex": pd.ArrowDtype(text)})
        table.loc[3, "sex"] = None
        space = InputSpace().fit(table, ["sex"])
        pd.testing.assert_frame_equal(space.decode(space.encode(table)), table)


class Answers(ClassifierMixin, BaseEstimator):
    """Says yes to men, in one of many ways."""

    def __init__(self, labels=("no", "yes"), as_given=np.asarray, writes=False, scale=1.0):
        self.labels = labels
        self.as_given = as_given
        self.writes = writes
        self.scale = scale

    def fit(self, X, y=None):
        """Learn nothing."""
        self.classes_ = np.array(self.labels)
        return self

    def _yes(self, X):
        yes = (np.asarray(X["sex"]) == "m") * 0.8 + 0.1
        if self.writes:
            X["age"] = 0
        return yes

    def predict_proba(self, X):
        """Probabilities."""
        yes = self._yes(X)
        return self.as_given(np.column_stack([1 - yes, yes * self.scale]))

    def predict(self, X):
        """Labels."""
        return self.as_given(self.classes_[(self._yes(X) > 0.5).astype(int)])


#: As `QUICK` has it, with all parts that need no time.
BRIEF = {
    "auditor": RandomAuditor(**QUICK), "moved": False, "certify": False, "progress": False, **SEX,
}  # fmt: skip
ANSWERS = {
    "bytes": {"labels": (b"no", b"yes")},
    "strings of NumPy": {"labels": (np.str_("no"), np.str_("yes"))},
    "floats": {"labels": (0.0, 1.0)},
    "frames": {"as_given": pd.DataFrame},
    "lists": {"as_given": np.ndarray.tolist},
    "writes into X": {"writes": True},
}


@pytest.mark.parametrize("settings", ANSWERS.values(), ids=ANSWERS)
def test_answers_of_each_kind_are_the_same_finding(settings):
    X = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(20, 60)})
    model, before = Answers(**settings).fit(X), X.copy()
    report = audit(model, X, favourable=model.classes_[1], **BRIEF)
    assert report.selection_table["selection_rate"].tolist() == [0.0, 1.0]
    assert report.fairness_degree == pytest.approx(0.8)
    assert "All 40 people in the table would get another decision" in " ".join(str(report).split())
    pd.testing.assert_frame_equal(X, before)


def test_probabilities_that_do_not_add_up_are_named():
    X = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(20, 60)})
    report = audit(Answers(scale=1.5).fit(X), X, favourable="yes", **BRIEF)
    assert report.status == "failed"
    assert "must return probabilities that add up" in " ".join(str(report).split())
