"""Seconds that TestSGD takes, beside its paper's; how often intervals within strata hold.

Adult (sex, race, age); communities, with five of its eleven continuous attributes and rules of
up to two conditions, and with all of them and up to two or any number of conditions; ten million
invented rows; 20,000 invented comments. Training is left out. Printed: frequent rules, rows asked
about, seconds of the whole audit, its seconds of CPU, those of the model's own prediction within
it, and of the rest; the largest reach of a simultaneous 95% interval; peak memory of the process so
far; and the paper's seconds with its number of rules.

The paper (Zhang et al., 2022, Table 5) used networks on another machine (3.1 GHz, one core, two
graphics cards), other cuts of the data and intervals for one rule at a time, so its column is a
reference for the order of magnitude and no race.

Needs the folder of SKFAIRTEST_DATA. Run with ``python examples/benchmarks/bench_groups.py``;
``--only within`` runs a part, here one without data, ``--quick`` takes fewer texts and rows.
"""

import argparse
import resource
import time
import warnings
from itertools import product

import numpy as np
import pandas as pd
from _shared import describe_machine, imputed, public
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from skfairtest import InputSpace
from skfairtest.datasets import make_identity_comments
from skfairtest.group import TestSGDAuditor, TextSGDAuditor
from skfairtest.group._inference.counting import Means
from skfairtest.group._inference.strata import pairs_in_strata, pooled_difference, pooled_ratio

#: Six layers, as in the paper.
LAYERS = (64, 32, 16, 8, 4)
PAPER = {"adult": (869.35, 880), "communities": (29_150.01, 13_282), "texts": (34_982.28, 732)}
COMMUNITIES = ("racepct", "racePct", "agePct")
#: Five of them have about as many rules of up to two conditions as the paper looked at.
FIVE = ["racepctblack", "racePctWhite", "MalePctDivorce", "FemalePctDiv", "agePct65up"]


class Timed(ClassifierMixin, BaseEstimator):
    """Passes on to a fitted classifier and notes the time that it takes."""

    def __init__(self, model=None):
        self.model = model
        self.seconds_ = 0.0

    @property
    def classes_(self):
        return self.model.classes_

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        start = time.perf_counter()
        answer = self.model.predict(X)
        self.seconds_ += time.perf_counter() - start
        return answer


def network():
    return MLPClassifier(LAYERS, max_iter=20, random_state=0)


def adult():
    X, income = public("adult")
    model = imputed(network()).fit(X, income)
    return X, model, {"sensitive_features": ["sex", "race", "age"]}


def communities(max_attributes, sensitive=None):
    X, crimes = public("communities")
    every = [name for name in X if name.startswith(COMMUNITIES) or "Div" in name]
    model = imputed(network()).fit(X, crimes > crimes.median())
    return X, model, {"sensitive_features": sensitive or every, "max_attributes": max_attributes}


class Cut(ClassifierMixin, BaseEstimator):
    """Cheap to ask, so that the time is that of the audit."""

    classes_ = np.array([0, 1])

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return (X["income"] + 5 * X["sex"] + 3 * (X["age"] > 50) > 33).astype(int).to_numpy()


def many_rows(n):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "sex": rng.integers(0, 2, n), "race": rng.integers(0, 5, n),
        "age": rng.integers(17, 91, n), "income": rng.normal(30, 9, n),
        "hours": rng.integers(0, 60, n),
    })  # fmt: skip
    space = InputSpace(categories={"race": list(range(5))})
    return X, Cut(), {"sensitive_features": ["sex", "race", "age"], "space": space}


def texts(n):
    comments = make_identity_comments(n, random_state=0)
    words = np.array("red tall slow warm wide calm neat pale dry mild".split())
    rng = np.random.default_rng(0)
    X = [f"{text} {' '.join(rng.choice(words, 50))}" for text in comments.data]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(X, comments.target)
    return X, model, {}


def run(name, X, model, settings, paper=None):
    timed = Timed(model)
    cls = TextSGDAuditor if isinstance(X, list) else TestSGDAuditor
    auditor = cls(timed, random_state=0, **settings)
    start, start_cpu = time.perf_counter(), time.process_time()
    auditor.fit(X)
    wall, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    rules = auditor.rules_[auditor.rules_["ranked"]]
    reach = np.maximum(rules["high"] - rules["score"], rules["score"] - rules["low"]).max()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    beside = "-" if paper is None else f"{paper[0]:,.0f} ({paper[1]:,})"
    print(
        f"{name:24}{auditor.n_rules_:13,}{auditor.n_queries_:11,}"
        f"{wall:9.2f}{cpu:9.2f}{timed.seconds_:9.2f}{wall - timed.seconds_:9.2f}{reach:8.3f}"
        f"{memory:8.2f}{beside:>18}",
        flush=True,
    )
    print(f"    {auditor.worst_rule_['rule']}: score {auditor.group_fairness_score_:.3f}")


def by_errors(x, n, x_out, n_out, z=1.959964):
    """Intervals by the errors of Greenland and Robins (ratio) and of Sato (difference)."""
    both, cross = n + n_out, n * n_out
    top, bottom = (x * n_out / both).sum(1), (x_out * n / both).sum(1)
    spread = ((cross * (x + x_out) - x * x_out * both) / both**2).sum(1)
    reach, weight = np.exp(z * np.sqrt(spread / (top * bottom))), (cross / both).sum(1)
    p = ((n**2 * x_out - n_out**2 * x + cross * (n_out - n) / 2) / both**2).sum(1)
    q = ((x * (n_out - x_out) + x_out * (n - x)) / (2 * both)).sum(1)
    gap, ratio = (top - bottom) / weight, top / bottom
    error = z * np.sqrt(gap * p + q) / weight
    return (ratio / reach, ratio * reach), (gap - error, gap + error)


def within_strata(n_tables, rng):
    """Print how often 95% intervals of pooled ratios and differences hold the truth."""
    print("\n  strata    rows   share    rate  ratios   score  errors   score    Sato   p<.05")
    cases = product((2, 5, 20), (20, 200, 2000), (0.5, 0.1), (0.05, 0.3), (0.0, 0.3))
    for k, size, share, low, vary in cases:
        rate, ratio = np.linspace(low, low + 0.4, k), np.linspace(0.8 - vary, 0.8 + vary, k)
        n, n_out = (np.full((n_tables, k), size * one) for one in (share, 1 - share))
        x, x_out = (rng.binomial(m.astype(int), p) for m, p in ((n, ratio * rate), (n_out, rate)))
        rows = np.hstack([n.T, n_out.T])
        means = Means(np.hstack([x.T, x_out.T]) / rows, rows.astype(int), rows, rows * 0)
        cells = pairs_in_strata(means, rows, *np.arange(2 * n_tables).reshape(2, -1), binary=True)
        ours = pooled_ratio(cells, 0.95), pooled_difference(cells, 0.95)
        truths, told = ((ratio @ rate) / rate.sum(), ((ratio - 1) * rate).mean()), []
        for one, theirs, truth in zip(ours, by_errors(x, n, x_out, n_out), truths, strict=True):
            told.append(1 - np.mean((one.low > truth) | (one.high < truth)))
            told.append(np.mean((theirs[0] <= truth) & (truth <= theirs[1])))
        said = "".join(f"{100 * one:8.1f}" for one in [*told, (ours[0].homogeneity < 0.05).mean()])
        print(f"{k:8}{size:8}{share:8}{low:8}{'vary' if vary else 'same':>8}{said}", flush=True)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[""], help="beginnings of the parts to run")
    parser.add_argument("--quick", action="store_true", help="fewer texts and invented rows")
    asked = parser.parse_args()
    few = 100 if asked.quick else 1
    cases = {
        "adult": (adult, PAPER["adult"]),
        "communities, 5 columns": (lambda: communities(2, FIVE), PAPER["communities"]),
        "communities, up to 2": (lambda: communities(2), PAPER["communities"]),
        "communities, all": (lambda: communities(None), PAPER["communities"]),
        "texts": (lambda: texts(20_000 // few), PAPER["texts"]),
        "invented rows": (lambda: many_rows(10_000_000 // few), None),
    }
    warnings.simplefilter("ignore")
    print(describe_machine())
    print(
        f"\n{'data':24}{'rules':>13}{'rows asked':>11}{'all, s':>9}"
        f"{'CPU, s':>9}{'model, s':>9}{'rest, s':>9}{'reach':>8}{'GB':>8}{'paper, s (rules)':>18}"
    )
    for name, (make, paper) in cases.items():
        if name.startswith(tuple(asked.only)):
            run(name, *make(), paper=paper)
    if "within strata".startswith(tuple(asked.only)):
        np.seterr(invalid="ignore", divide="ignore")
        within_strata(4000 // few, np.random.default_rng(0))


if __name__ == "__main__":
    main()
