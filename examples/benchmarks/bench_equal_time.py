"""Discriminatory inputs found by each tester in equal time, on the coded census data.

A tree, a forest of 100 trees and a network (64, 32, 16, 8, 4), protected attribute sex, the
domains of the papers. Batched random pairs stand beside every tester. Printed: distinct inputs,
unique discriminatory ones, success rate, how many for each row shown to the model, seconds to the
first 1,000 and 10,000, and the share of the wall time spent inside the model's own predict.
The last line of each model repeats what AFT, the strongest published tester (Zhao et al., 2024),
found in 31 s on another 2-core machine: a figure of ours, taken with its authors' code.

Needs the folder of SKFAIRTEST_DATA. Run with ``python examples/benchmarks/bench_equal_time.py``.
"""

import argparse
import time
import warnings

import numpy as np
from _machine import describe_machine
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import skfairtest
from skfairtest import InputSpace
from skfairtest.datasets import fetch_adult

BOUNDS = {
    "age": (1, 9),
    "workclass": (0, 7),
    "fnlwgt": (0, 39),
    "education": (0, 15),
    "marital_status": (0, 6),
    "occupation": (0, 13),
    "relationship": (0, 5),
    "race": (0, 4),
    "sex": (0, 1),
    "capital_gain": (0, 99),
    "capital_loss": (0, 39),
    "hours_per_week": (0, 99),
    "native_country": (0, 39),
}
AFT = {"tree": (221_394, 158_185), "forest": (13_881, 7_100), "network": (108_729, 6_893)}
TESTERS = {
    "random": ("RandomAuditor", {}),
    "surrogate": ("SurrogateAuditor", {}),
    "Aequitas fully-directed": ("AequitasAuditor", {"strategy": "fully-directed"}),
    "Aequitas semi-directed": ("AequitasAuditor", {"strategy": "semi-directed"}),
    "Aequitas random": ("AequitasAuditor", {"strategy": "random"}),
    "SG": ("SymbolicAuditor", {}),
    "MAFT": ("MAFTAuditor", {}),
    "EIDIG": ("EIDIGAuditor", {}),
    "ADF": ("ADFAuditor", {}),
    "SBFT paper": ("PublishedSBFTAuditor", {}),
    "SBFT tuned": ("SBFTAuditor", {}),
}
WHITE_BOX = {"EIDIG", "ADF"}


class Timed(ClassifierMixin, BaseEstimator):
    """Passes on to a fitted classifier and notes the time that it takes."""

    def __init__(self, model):
        self.model = model

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return self.model.classes_

    def _timed(self, method, X):
        start = time.perf_counter()
        try:
            return getattr(self.model, method)(X)
        finally:
            self.seconds_ = getattr(self, "seconds_", 0.0) + time.perf_counter() - start

    def predict(self, X):
        return self._timed("predict", X)

    def predict_proba(self, X):
        return self._timed("predict_proba", X)


def models(X, y):
    yield "tree", DecisionTreeClassifier(random_state=0).fit(X, y)
    yield "forest", RandomForestClassifier(n_estimators=100, random_state=0).fit(X, y)
    yield "network", MLPClassifier((64, 32, 16, 8, 4), random_state=0).fit(X, y)


def seconds_to(history, n_found):
    reached = history["found"] >= n_found
    return f"{history['seconds'][reached.idxmax()]:9.2f}" if reached.any() else f"{'-':>9}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=31.0)
    parser.add_argument("--only", nargs="*", help="testers to run")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    census = fetch_adult(coded=True)
    X, y = census.data.to_numpy(dtype=float), census.target.to_numpy()
    names = list(census.data.columns)
    settings = {
        "sensitive_features": [names.index("sex")],
        "space": InputSpace(bounds={names.index(name): ends for name, ends in BOUNDS.items()}),
        "max_queries": None,
        "max_time": options.seconds,
        "random_state": 0,
    }
    print(describe_machine())
    print(f"coded census, sex, {options.seconds:g} s a run, one run each\n")
    print(
        f"{'model':9}{'tester':25}{'inputs':>10}{'found':>9}{'success':>9}{'per row':>9}"
        f"{'s to 1k':>9}{'s to 10k':>9}{'predict':>9}"
    )
    for kind, model in models(X, y):
        for name, (cls, own) in TESTERS.items():
            unwanted = options.only and name not in options.only
            blind = name in WHITE_BOX and kind != "network"
            if unwanted or blind or not hasattr(skfairtest, cls):
                continue
            # A white-box tester has to see the model itself, so its time in predict is unknown.
            audited = model if name in WHITE_BOX else Timed(model)
            auditor = getattr(skfairtest, cls)(audited, **settings, **own)
            start = time.perf_counter()
            auditor.fit(X)
            wall = time.perf_counter() - start
            inside = getattr(audited, "seconds_", np.nan) / wall
            history = auditor.history_
            print(
                f"{kind:9}{name:25}{auditor.n_inputs_:10d}{auditor.n_found_:9d}"
                f"{auditor.discrimination_rate_:9.1%}{auditor.n_found_ / auditor.n_queries_:9.4f}"
                f"{seconds_to(history, 1000)}{seconds_to(history, 10_000)}{inside:9.0%}",
                flush=True,
            )
        inputs, found = AFT[kind]
        print(f"{kind:9}{'AFT, as published':25}{inputs:10d}{found:9d}{found / inputs:9.1%}")


if __name__ == "__main__":
    main()
