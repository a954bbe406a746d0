"""Discriminatory inputs found by each tester in equal time, on the coded census data.

A tree, a forest of 100 trees and a network (64, 32, 16, 8, 4), protected attribute sex, the
domains of the papers. Batched random pairs stand beside every tester. Printed: distinct inputs,
unique discriminatory ones, success rate, how many for each row shown to the model, seconds to the
first 1,000 and 10,000, and the share of the wall time spent inside the model's own predict.
The last line of each model repeats what AFT, the strongest published tester (Zhao et al., 2024),
found in 31 s on another 2-core machine: a figure of ours, taken with its authors' code.

Needs the folder of SKFAIRTEST_DATA. Run with ``python examples/benchmarks/bench_equal_time.py``;
``--seconds``, ``--models`` and ``--only`` choose parts.
"""

import argparse
import contextlib
import functools
import time
import warnings

import numpy as np
from _shared import describe_machine, public
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from skfairtest import InputSpace, individual

#: The last value of each column in the papers; the first is 0, of ages 1.
LAST = {
    "age": 9, "workclass": 7, "fnlwgt": 39, "education": 15, "marital_status": 6, "occupation": 13,
    "relationship": 5, "race": 4, "sex": 1, "capital_gain": 99, "capital_loss": 39,
    "hours_per_week": 99, "native_country": 39,
}  # fmt: skip
AFT = {"tree": (221_394, 158_185), "forest": (13_881, 7_100), "network": (108_729, 6_893)}
TESTERS = {
    "random": individual.RandomAuditor(),
    "surrogate": individual.SurrogateAuditor(),
    "Aequitas fully-directed": individual.AequitasAuditor(strategy="fully-directed"),
    "Aequitas semi-directed": individual.AequitasAuditor(strategy="semi-directed"),
    "Aequitas random": individual.AequitasAuditor(strategy="random"),
    "SG": individual.SymbolicAuditor(),
    "MAFT": individual.MAFTAuditor(),
    "EIDIG": individual.EIDIGAuditor(),
    "ADF": individual.ADFAuditor(),
    "SBFT paper": individual.PublishedSBFTAuditor(),
    "SBFT tuned": individual.SBFTAuditor(),
}
WHITE_BOX = {"EIDIG", "ADF"}


@contextlib.contextmanager
def timed(kind, calls):
    """Note the seconds of each `predict` and `predict_proba` of a class, which stays what it is."""
    own = {name: getattr(kind, name) for name in ("predict", "predict_proba")}
    open_calls = []

    def clocked(method, model, X):
        open_calls.append(method)
        start = time.perf_counter()
        try:
            return method(model, X)
        finally:
            open_calls.pop()
            if not open_calls:  # one may call the other
                calls.append(time.perf_counter() - start)

    for name, method in own.items():
        setattr(kind, name, functools.partialmethod(functools.partial(clocked, method)))
    try:
        yield
    finally:
        for name, method in own.items():
            setattr(kind, name, method)


MODELS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(n_estimators=100, random_state=0),
    "network": MLPClassifier((64, 32, 16, 8, 4), random_state=0),
}


def seconds_to(history, n_found):
    reached = history["found"] >= n_found
    return f"{history['seconds'][reached.idxmax()]:9.2f}" if reached.any() else f"{'-':>9}"


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=31.0)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--only", nargs="+", default=list(TESTERS), choices=list(TESTERS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = public("census")
    bounds = {j: (int(name == "age"), LAST[name]) for j, name in enumerate(X)}
    sex = list(X).index("sex")
    X, y = X.to_numpy(dtype=float), y.to_numpy()
    print(describe_machine())
    print(f"coded census, sex, {asked.seconds:g} s a run, one run each\n")
    print(
        f"{'model':9}{'tester':25}{'inputs':>10}{'found':>9}{'success':>9}{'per row':>9}"
        f"{'s to 1k':>9}{'s to 10k':>9}{'predict':>9}"
    )
    for kind in asked.models:
        model = MODELS[kind].fit(X, y)
        for name in asked.only:
            if name in WHITE_BOX and kind != "network":
                continue
            auditor = TESTERS[name].set_params(
                estimator=model, sensitive_features=[sex], space=InputSpace(bounds=bounds),
                max_queries=None, max_time=asked.seconds, random_state=0,
            )  # fmt: skip
            calls, start = [], time.perf_counter()
            # A white-box tester reads the class's own code, so its time in predict is unknown.
            with contextlib.nullcontext() if name in WHITE_BOX else timed(type(model), calls):
                auditor.fit(X)
            inside = sum(calls or [np.nan]) / (time.perf_counter() - start)
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
