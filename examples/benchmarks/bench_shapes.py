"""The shapes of the papers' results, measured: who is ahead of whom, and by how much.

On the coded census and the coded german credit data, protected attribute sex:

1. Aequitas: success of the three strategies on five classifiers (Udeshi et al., 2018, Table 3).
2. SG against Themis: success with 1,000 inputs on logistic regression (Aggarwal et al., 2019).
3. MAFT against Aequitas and SG with 1,000 seeds and 1,000 local steps on a network of six layers;
   EIDIG and ADF from the same seeds (Wang et al., 2024).
4. SBFT against all others in degree on an attribute of 293 values (Perera et al., 2022).

Each table states what the paper found, and each line is the median of several runs. Needs the
folder of SKFAIRTEST_DATA. Run with ``python examples/benchmarks/bench_shapes.py``.
"""

import argparse
import time
import warnings

import numpy as np
from _machine import describe_machine
from bench_equal_time import BOUNDS
from scipy.stats import mannwhitneyu
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skfairtest import (
    ADFAuditor,
    AequitasAuditor,
    EIDIGAuditor,
    InputSpace,
    MAFTAuditor,
    PublishedSBFTAuditor,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    SymbolicAuditor,
    ThemisAuditor,
)
from skfairtest.datasets import fetch_adult, fetch_german_credit, make_biased_regression

STRATEGIES = ["fully-directed", "semi-directed", "random"]
SIX_LAYERS = (64, 32, 16, 8, 4)


def census():
    bunch = fetch_adult(coded=True)
    settings = {"sensitive_features": ["sex"], "space": InputSpace(bounds=BOUNDS)}
    return bunch.data, bunch.target, settings


def german():
    """Categories as whole numbers, as the papers have them."""
    bunch = fetch_german_credit()
    X = bunch.data.copy()
    for name in X.select_dtypes(exclude="number").columns:
        X[name] = X[name].astype("category").cat.codes.astype(int)
    return X, bunch.target, {"sensitive_features": ["sex"]}


DATA = {"census": census, "german": german}


def pipeline(model):
    """Numbers scaled, strings one-hot; the coded tables have numbers only."""
    coded = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(
        make_column_transformer(
            (StandardScaler(), make_column_selector(dtype_include="number")),
            (coded, make_column_selector(dtype_exclude="number")),
        ),
        model,
    )


def median(values):
    return float(np.median(values))


def strategies(n_repeats):
    print("\n1. Aequitas: success in 20,000 inputs (paper, census: fully above semi above random)")
    print(f"{'data':8}{'model':22}" + "".join(f"{name:>16}" for name in STRATEGIES))
    models = [
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(100, random_state=0),
        MLPClassifier(SIX_LAYERS, random_state=0),
        LogisticRegression(),
        LinearSVC(random_state=0),
    ]
    for data, load in DATA.items():
        X, y, settings = load()
        for model in models:
            fitted = pipeline(model).fit(X, y)
            shares = []
            for strategy in STRATEGIES:
                rates = [
                    AequitasAuditor(
                        fitted, strategy=strategy, max_queries=None, max_inputs=20_000,
                        random_state=seed, **settings,
                    ).fit(X).discrimination_rate_
                    for seed in range(n_repeats)
                ]  # fmt: skip
                shares.append(median(rates))
            line = "".join(f"{share:16.1%}" for share in shares)
            print(f"{data:8}{type(model).__name__:22}{line}", flush=True)


def symbolic(n_repeats):
    print("\n2. Success with 1,000 inputs, logistic regression (paper: SG 30.3%, Themis 6.4%)")
    print(f"{'data':8}{'SG':>9}{'Themis':>9}{'ratio':>9}")
    for data, load in DATA.items():
        X, y, settings = load()
        fitted = pipeline(LogisticRegression()).fit(X, y)
        settings |= {"max_queries": None, "max_inputs": 1000}
        rates = []
        for cls, own in ((SymbolicAuditor, {}), (ThemisAuditor, {"margin": 1e-4})):
            runs = [
                cls(fitted, random_state=seed, **own, **settings).fit(X).discrimination_rate_
                for seed in range(n_repeats)
            ]
            rates.append(median(runs))
        print(f"{data:8}{rates[0]:9.1%}{rates[1]:9.1%}{rates[0] / max(rates[1], 1e-9):9.1f}")


def one_round(fitted, X, settings):
    """Aequitas with 1,000 global inputs and 1,000 steps from each discriminatory one, once.

    The discriminatory ones among the first 1,000 say how many steps there are; revisited inputs do
    not count as new, so this gives Aequitas some steps more.
    """
    settings = settings | {"max_queries": None, "n_global": 1000}
    first = AequitasAuditor(fitted, max_inputs=1000, **settings).fit(X)
    n = 1000 * (1 + first.n_found_)
    return AequitasAuditor(fitted, max_inputs=n, **settings).fit(X)


def gradients(n_repeats, seconds):
    testers = {
        "random": (RandomAuditor, seconds),
        "SG": (SymbolicAuditor, seconds),
        "Aequitas": (AequitasAuditor, 600.0),
        "MAFT": (MAFTAuditor, 600.0),
        "EIDIG": (EIDIGAuditor, 600.0),
        "ADF": (ADFAuditor, 600.0),
    }
    print(
        "\n3. 1,000 seeds and 1,000 local steps, six-layer network (paper: MAFT finds 14.69 times "
        "Aequitas,\n   32.6 times the speed of SG; as much as EIDIG, 1.7 times the speed "
        f"of ADF).\n   SG and random get {seconds:g} s a run; speed is distinct inputs a second"
    )
    print(f"{'data':8}{'tester':10}{'inputs':>10}{'found':>10}{'success':>9}{'per row':>9}"
          f"{'seconds':>9}{'inputs/s':>10}")  # fmt: skip
    for data, load in DATA.items():
        X, y, settings = load()
        fitted = pipeline(MLPClassifier(SIX_LAYERS, random_state=0)).fit(X, y)
        for name, (cls, limit) in testers.items():
            rows = [
                measure(cls, fitted, X, {"max_time": limit, "random_state": seed, **settings})
                for seed in range(n_repeats)
            ]
            inputs, found, rate, per_row, wall = np.median(rows, axis=0)
            print(
                f"{data:8}{name:10}{inputs:10.0f}{found:10.0f}{rate:9.1%}{per_row:9.4f}"
                f"{wall:9.1f}{inputs / wall:10.0f}",
                flush=True,
            )


def measure(cls, fitted, X, settings):
    """Inputs, discriminatory ones, success, those per row, and seconds of one run."""
    start = time.perf_counter()
    if cls is AequitasAuditor:
        run = one_round(fitted, X, settings)
    else:
        run = cls(fitted, max_queries=None, **settings).fit(X)
    wall = time.perf_counter() - start
    per_row = run.n_found_ / run.n_queries_
    return run.n_inputs_, run.n_found_, run.discrimination_rate_, per_row, wall


def degrees(n_repeats):
    print("\n4. Degree on 293 values, network regressor, 20,000 queries (paper: SBFT above all, "
          "large effect)")  # fmt: skip
    bunch = make_biased_regression(20_000, variant="many-valued", random_state=0)
    fitted = pipeline(
        MLPRegressor(hidden_layer_sizes=(64, 32), early_stopping=True, random_state=0)
    )
    fitted.fit(bunch.data, bunch.target)
    # For a tester that counts: half the planted degree is worth a report.
    common = {"sensitive_features": bunch.sensitive_features, "threshold": 5.0}
    auditors = {
        "SBFT": SBFTAuditor(**common),
        "SBFT paper": PublishedSBFTAuditor(**common),
        "random": RandomAuditor(**common),
        "Aequitas": AequitasAuditor(**common),
        "SG": SymbolicAuditor(**common),
        "MAFT": MAFTAuditor(**common),
        "EIDIG": EIDIGAuditor(**common),
        "ADF": ADFAuditor(**common),
        "surrogate": SurrogateAuditor(objective="degree", **common),
        "Themis": ThemisAuditor(margin=0.0001, **common),
    }
    found = {}
    print(f"{'tester':12}{'degree':>8}  A12 (p-value) of SBFT and of SBFT paper")
    for name, auditor in auditors.items():
        found[name] = [
            clone(auditor)
            .set_params(estimator=fitted, max_queries=20_000, random_state=seed)
            .fit(bunch.data)
            .fairness_degree_
            for seed in range(n_repeats)
        ]
        line = f"{name:12}{median(found[name]):8.3f}"
        for first in list(found)[: min(2, len(found) - 1)]:
            u, p = mannwhitneyu(found[first], found[name])
            line += f"  {u / n_repeats**2:.2f} ({p:.3f})"
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--only", nargs="*", type=int, default=[1, 2, 3, 4])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine())
    print(f"{options.repeats} runs each, medians; table 4: twice as many")
    if 1 in options.only:
        strategies(options.repeats)
    if 2 in options.only:
        symbolic(options.repeats)
    if 3 in options.only:
        gradients(options.repeats, options.seconds)
    if 4 in options.only:
        degrees(2 * options.repeats)


if __name__ == "__main__":
    main()
