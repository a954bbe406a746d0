"""What the auditors of groups find and what tables of groups say, as one file to compare later.

A change of the code's structure must not change its results. Before it, record the rules, counts
and intervals of every group auditor, the tables of rates, and what a report and a comparison of
mitigations say of groups; afterwards record again and compare. The tables have missing values,
dates, many categories, a column that is mostly 0, weights and several chunks. Nothing is timed.
``--quick`` records the tables and the report alone.

Run with ``python examples/benchmarks/record_groups.py record before.json``, change the code, run
``... record after.json``, and then ``... compare before.json after.json``.
"""

import json
import warnings

import msgspec
import numpy as np
import pandas as pd
from _shared import describe_machine
from record_results import main
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfairtest import audit, compare_mitigations
from skfairtest.datasets import make_biased_classification, make_identity_comments
from skfairtest.group import SubgroupAuditor, TestSGDAuditor, TextSGDAuditor, selection_table
from skfairtest.report.parts.errors import ErrorsPart

#: Rules of one run that are recorded.
RULES = 40
OF_LABELS = (
    "selection_rate", "accuracy", "false_positive_rate", "false_negative_rate",
    "true_positive_rate", "positive_predictive_value",
)  # fmt: skip
OF_PROBABILITIES = ("calibration", "log_loss")
OF_OUTPUTS = ("mean_prediction", "mean_error", "mean_absolute_error")


def made_up(n=3000, seed=0):
    """People with missing values, dates, a column that is mostly 0, labels and outputs."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["female", "male"], n),
            "race": rng.choice(["A", "B", "C", "D", "E"], n, p=[0.5, 0.25, 0.15, 0.07, 0.03]),
            "age": rng.integers(18, 80, n).astype(float),
            "income": rng.lognormal(3, 0.6, n).round(2),
            "since": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), "D"),
        }
    )
    X["gain"] = np.where(rng.random(n) < 0.92, 0.0, rng.lognormal(6, 1, n).round())
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    X.loc[rng.random(n) < 0.05, "race"] = None
    chance = 0.3 + 0.2 * (X["sex"] == "male") + 0.15 * (X["age"] > 50) - 0.2 * (X["race"] == "C")
    truth = np.where(rng.random(n) < chance, "good", "bad")
    kept = rng.random(n) < 0.8 - 0.3 * ((X["sex"] == "female") & (X["gain"] > 0))
    labels = np.where(kept, truth, np.where(truth == "good", "bad", "good"))
    shares = np.clip(chance + rng.normal(0, 0.1, n), 0.01, 0.99)
    outputs = rng.lognormal(0, 1, n) * (1 + 0.5 * (X["race"] == "B"))
    weights = rng.exponential(1, n) * (rng.random(n) > 0.02)
    return X, truth, labels, np.asarray(shares), np.asarray(outputs), np.asarray(weights)


def rows_of(table):
    """The rows of a table as plain values, each under its place."""
    names = [name for name in table.columns if name not in ("conditions", "error")]
    plain = table.reset_index(drop=True)[names].iloc[:RULES]
    plain = plain.rename(columns={"value_inside": "share_inside", "value_outside": "share_outside"})
    return json.loads(plain.to_json(orient="records", double_precision=15, default_handler=str))


def subgroups():
    X, truth, labels, shares, outputs, weights = made_up()
    what = {"favourable": "good", "attributes": "all", "random_state": 0, "n_resamples": 199}
    for weight in (None, weights):
        name = "weighted" if weight is not None else "plain"
        for metric in (*OF_LABELS, *OF_PROBABILITIES, *OF_OUTPUTS):
            predicted, target = labels, truth
            if metric in OF_PROBABILITIES:
                predicted = shares
            elif metric in OF_OUTPUTS:
                predicted, target = outputs, outputs[::-1].copy()
            for correction in ("resampling", "none"):
                params = what | {"metric": metric, "correction": correction}
                if metric in OF_OUTPUTS:
                    params["favourable"] = None
                auditor = SubgroupAuditor(**params)
                auditor.fit(X, target, y_pred=predicted, sample_weight=weight)
                yield f"subgroup {name} {metric} {correction}", auditor.rules_
                yield f"short list {name} {metric} {correction}", auditor.short_list_
    auditor = SubgroupAuditor(**what, against="whole", binning="uniform", max_conditions=2)
    auditor.fit(X, truth, y_pred=labels)
    yield "subgroup whole uniform", auditor.rules_
    again, truth2, labels2, *_ = made_up(seed=1)
    yield "subgroup confirm", auditor.confirm(again, truth2, y_pred=labels2)
    frame = load_breast_cancer(as_frame=True)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame.data, frame.target)
    auditor = SubgroupAuditor(
        tree, metric="accuracy", attributes=list(frame.data)[:6], random_state=0, bins=3
    )
    yield "subgroup asked", auditor.fit(frame.data, frame.target).rules_


def perturbed():
    data = make_biased_classification(n_samples=2000, random_state=0)
    X = data.data.select_dtypes("number").assign(sex=data.data["sex"] == "male")
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, data.target)
    number = [name for name in X.columns if name != "sex"][:2]
    what = {"sensitive_features": ["sex", *number], "random_state": 0, "favourable": 1}
    what["favourable"] = model.classes_[-1]
    for correction in ("bonferroni", "none"):
        for binning in ("uniform", "quantile"):
            auditor = TestSGDAuditor(model, correction=correction, binning=binning, **what).fit(X)
            yield f"testsgd {correction} {binning}", auditor.rules_
    yield "testsgd confirm", auditor.confirm(X.iloc[:700])
    auditor = TestSGDAuditor(model, response_method="predict_proba", n_bins=5, **what).fit(X)
    yield "testsgd probabilities", auditor.rules_
    chunks = [X.iloc[:700], X.iloc[700:1500], X.iloc[1500:]]
    yield "testsgd chunks", TestSGDAuditor(model, n_bins=4, **what).fit(chunks).rules_
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    auditor = TestSGDAuditor(forest, sensitive_features=["sex", "age", "bmi"], random_state=0)
    yield "testsgd regressor", auditor.fit(X).rules_
    comments = make_identity_comments(600, terms=["older", "canadian"], random_state=0)
    auditor = TextSGDAuditor(comments.estimator, random_state=0, max_queries=200_000)
    yield "textsgd", auditor.fit(comments.data).rules_


def tables():
    X, truth, labels, shares, outputs, weights = made_up()
    sensitive = X[["sex", "race", "age", "since"]]
    for name, weight in (("plain", None), ("weighted", weights)):
        what = {"sensitive_features": sensitive, "sample_weight": weight}
        yield f"rates {name}", selection_table(labels, y_true=truth, favourable="good", **what)
        yield f"means {name}", selection_table(outputs, y_true=outputs[::-1].copy(), **what)
        yield f"scores {name}", selection_table(None, y_score=shares, **what)
    whole = sensitive[["sex", "race"]].assign(truth=truth, labels=labels, weights=weights)
    chunks = [whole.iloc[:1000], whole.iloc[1000:]]
    yield (
        "rates chunks",
        selection_table(
            "labels", sensitive_features=["sex", "race"], y_true="truth", favourable="good",
            sample_weight="weights", data=chunks,
        ),
    )  # fmt: skip


def reports():
    X, truth, *_ = made_up(1200)
    table = X[["age", "income", "gain"]].fillna(0.0).assign(sex=(X["sex"] == "male").astype(int))
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, truth == "good")
    report = audit(
        model, table, truth == "good", sensitive_features=["sex", "age"], favourable=True,
        certify=False, auditor="random", max_time=None, random_state=0,
    )  # fmt: skip
    yield "report groups 0", report.group_rules
    yield "report selection 0", report.selection_table
    for number, part in enumerate(report.results(ErrorsPart)):
        yield f"report errors {number}", pd.DataFrame(map(msgspec.structs.asdict, part.rules))
    compared = compare_mitigations(
        LogisticRegression(), table, truth == "good", sensitive_features="sex", favourable=True,
        methods=["drop", "marginalize"], cv=5, random_state=0,
    )  # fmt: skip
    names = [
        "demographic_parity_difference", "demographic_parity_ratio", "equalized_odds_difference",
    ]  # fmt: skip
    yield "comparison", compared.table[names]
    for method, groups in compared.groups.groupby(level="method", sort=False):
        yield f"comparison {method}", groups.droplevel("method")


def record(path, quick):
    print(describe_machine())
    results = {}
    for make in (tables, reports) if quick else (subgroups, perturbed, tables, reports):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for case, table in make():
                for place, row in enumerate(rows_of(table)):
                    results[f"{case} | {place:02}"] = row
        print(f"{make.__name__}: done", flush=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1, default=float)
    print(f"{len(results)} lines written to {path}")


if __name__ == "__main__":
    main(__doc__.splitlines()[0], record)
