"""One door: every entry point takes, or refuses in the same words, whatever is handed over."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest import (
    FairnessAugmenter,
    FairnessRetrainer,
    FlipTestAuditor,
    MarginalizedClassifier,
    RandomAuditor,
    SubgroupAuditor,
    TestSGDAuditor,
    audit,
    certify,
    compare_mitigations,
    make_audit_scorer,
    selection_table,
)

SEX = {"sensitive_features": ["sex"]}
QUICK = {"max_queries": 60, "random_state": 0}
LINEAR = LogisticRegression(max_iter=200)


def people(n=60):
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
    return make_pipeline(columns, LINEAR)


X, Y = people()
MODEL = untrained().fit(X, Y)


def run_scorer(auditor, X, y, w):
    """The score of an auditor, which is made anew."""
    return make_audit_scorer(auditor)(MODEL, X, y, sample_weight=w)


# Each takes the table, its labels and weights; weights are None where there is no place for them.
ENTRIES = {
    "audit": lambda X, y, w: audit(
        MODEL, X, y, auditor=RandomAuditor(**QUICK), groups=False, moved=False, certify=False,
        favourable="yes", progress=False, **SEX,
    ),
    "auditor": lambda X, y, w: RandomAuditor(MODEL, **SEX, **QUICK).fit(X),
    "fitting auditor": lambda X, y, w: RandomAuditor(
        LINEAR, sensitive_features=["age"], **QUICK
    ).fit(X[["age", "income"]], y, sample_weight=w),
    "flip test": lambda X, y, w: FlipTestAuditor(MODEL, **SEX, max_time=1).fit(X),
    "TestSGD": lambda X, y, w: TestSGDAuditor(MODEL, **SEX, favourable="yes", **QUICK).fit(X),
    "subgroups": lambda X, y, w: SubgroupAuditor(
        MODEL, metric="accuracy", n_resamples=39, confidence=0.9, **SEX
    ).fit(X, y, sample_weight=w),
    "confirm": lambda X, y, w: SubgroupAuditor(
        MODEL, metric="accuracy", n_resamples=39, confidence=0.9, **SEX
    ).fit(*people()).confirm(X, y, sample_weight=w),
    "selection_table": lambda X, y, w: selection_table(
        MODEL.predict(X), sensitive_features=X["sex"], y_true=y, sample_weight=w,
        favourable="yes",
    ),
    "compare_mitigations": lambda X, y, w: compare_mitigations(
        LINEAR, X.assign(sex=X["sex"] == "m"), y, methods=["drop"], cv=2, moved=False,
        sample_weight=w, favourable="yes", progress=False, **SEX,
    ),
    "retrainer": lambda X, y, w: FairnessRetrainer(
        LINEAR, RandomAuditor(sensitive_features=["age"], **QUICK), cv=2, max_rounds=1,
    ).fit(X[["age", "income"]], y, sample_weight=w),
    "augmenter": lambda X, y, w: FairnessAugmenter(
        LINEAR, RandomAuditor(sensitive_features=["age"], **QUICK)
    ).fit_resample(X[["age", "income"]], y),
    "averaged": lambda X, y, w: MarginalizedClassifier(LINEAR, sensitive_features=["age"]).fit(
        X[["age", "income"]], y, sample_weight=w
    ),
    "scorer": lambda X, y, w: run_scorer(RandomAuditor(**SEX, **QUICK), X, y, w),
    "moved scorer": lambda X, y, w: run_scorer(FlipTestAuditor(**SEX), X, y, w),
    "certify": lambda X, y, w: certify(MODEL, X, **SEX, max_time=1),
}  # fmt: skip
WITHOUT_LABELS = {"auditor", "flip test", "TestSGD", "certify"}
WITHOUT_WEIGHTS = WITHOUT_LABELS | {"audit", "augmenter"}


@pytest.mark.parametrize("argument", ["y", "sample_weight"])
@pytest.mark.parametrize("name", ENTRIES)
def test_values_of_rows_in_another_order(name, argument):
    if name in (WITHOUT_LABELS if argument == "y" else WITHOUT_WEIGHTS):
        pytest.skip("takes none")
    weights = pd.Series(np.linspace(0.5, 2, len(X)))
    of_rows = {"y": Y, "sample_weight": weights}
    others = of_rows[argument].iloc[::-1]
    told = "y_true" if (name, argument) == ("selection_table", "y") else argument
    for wrong, how in [(others, "in another order"),
                       (others.set_axis(range(100, 160)), "with other labels")]:  # fmt: skip
        y, w = (of_rows | {argument: wrong}).values()
        with pytest.raises(ValueError, match=rf"{told} has another index than \w+ \({how}\)"):
            ENTRIES[name](X, y, w)
    y, w = (of_rows | {argument: others.to_numpy()[:-1]}).values()
    with pytest.raises(ValueError, match=rf"{told} must have one value per row, 60; got 59"):
        ENTRIES[name](X, y, w)
