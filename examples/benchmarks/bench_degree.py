"""Fairness degree found by SBFT (tuned and as published) and by random testing at equal budgets.

Planted data with a known degree, and forests, boosting and a network on public data. Every entry
is the median of the seeds, with the smallest and the largest in brackets, in the model's own units
(the planted degrees are 10 and 0.6). The public sets are read from the folder in SKFAIRTEST_DATA,
else from OpenML; where neither is there, their rows are left out.

Run with ``python examples/benchmarks/bench_degree.py``.
"""

import argparse
import warnings

import numpy as np
from _machine import describe_machine
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfairtest import PublishedSBFTAuditor, RandomAuditor, SBFTAuditor
from skfairtest.datasets import (
    fetch_adult,
    fetch_german_credit,
    make_biased_classification,
    make_biased_regression,
)

AUDITORS = {
    "random": RandomAuditor(),
    "SBFT paper": PublishedSBFTAuditor(),
    "SBFT tuned": SBFTAuditor(),
}


def planted_cases():
    for make in (make_biased_regression, make_biased_classification):
        for variant in ("smooth", "narrow", "many-valued"):
            data = make(variant=variant, random_state=0)
            name = f"{make.__name__.removeprefix('make_biased_')}, {variant}"
            yield name, data.estimator, data.data, data.sensitive_features, 1.0


def trained_cases():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    forest = RandomForestRegressor(random_state=0).fit(X, y)
    yield "diabetes, forest, sex", forest, X, ["sex"], 1.0
    yield "diabetes, forest, age", forest, X, ["age"], 1.0
    boosted = GradientBoostingRegressor(random_state=0).fit(X, y)
    yield "diabetes, boosting, sex", boosted, X, ["sex"], 1.0
    try:
        german, adult = fetch_german_credit(), fetch_adult()
    except OSError as error:
        print(f"(no public data: {error})")
        return
    X, y = german.data, german.target
    yield (
        "german, forest, sex",
        encoded(RandomForestClassifier(random_state=0), X, y),
        X,
        ["sex"],
        1.0,
    )
    network = encoded(MLPClassifier(max_iter=200, random_state=0), X, y)
    yield "german, network, sex+age", network, X, ["sex", "age"], 1.0
    X, y = adult.data.iloc[:8000], adult.target.iloc[:8000]
    forest = encoded(RandomForestClassifier(30, random_state=0), X, y)
    yield "adult, forest, sex+race", forest, X, ["sex", "race"], 1.0
    boosted = encoded(GradientBoostingClassifier(random_state=0), X, y)
    yield "adult, boosting, country", boosted, X, ["native_country"], 1.0


def encoded(model, X, y):
    texts = X.select_dtypes(exclude="number").columns.tolist()
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), texts), remainder=StandardScaler()
    )
    return make_pipeline(encode, model).fit(X, y)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine())
    print(f"{options.queries} queries, median of {options.seeds} seeds [min, max]\n")
    print(f"{'case':28}" + "".join(f"{name:>28}" for name in AUDITORS) + "   on data")
    for cases in (planted_cases, trained_cases):
        for name, model, X, sensitive, unit in cases():
            entries = []
            for auditor in AUDITORS.values():
                degrees = []
                for seed in range(options.seeds):
                    auditor.set_params(
                        estimator=model,
                        sensitive_features=sensitive,
                        max_queries=options.queries,
                        random_state=seed,
                        # Verdicts are not the question here, and confirming them costs queries.
                        threshold=0.0,
                    )
                    degrees.append(auditor.fit(X).fairness_degree_ / unit)
                entries.append(
                    f"{np.median(degrees):10.4g} [{min(degrees):.4g}, {max(degrees):.4g}]"
                )
            print(
                f"{name:28}" + "".join(f"{entry:>28}" for entry in entries)
                + f"{auditor.on_data_degree_ / unit:10.4g}",
                flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
