"""What `FairnessRetrainer(strategy="moved")` leaves of the moved flips, beside dropping the column.

Data of `make_proxy_classification` with the group in the table, which models may use. The original,
the model without the group ("drop") and the retrained model are measured on rows that none of them
has seen:

- "moved" is the share of these rows whose label changes when they are moved to the other group, by
  a `QuantileTransport` of the training rows. Errors of this map are part of it.
- "true" is the same share with the true counterfactuals of the rows, which the generator returns.

`max_score_drop` is large, so that the guard does not keep the original: the table shows the cost. A
column "guard 0.01" has the share that is left where accuracy may fall by a point (the default).

    python examples/benchmarks/bench_moved_retraining.py [--seeds 5] [--rows 1500] [--test 4000]
        [--direct 0.0] [--guard] [--models tree logistic boosting]
"""

import argparse
import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfairtest import AequitasAuditor, FairnessRetrainer, QuantileTransport
from skfairtest.datasets import make_proxy_classification

MODELS = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
}


def coded(table):
    """Return the table with numbers alone, the group among them."""
    regions = sorted(table["region"].unique())
    return table.assign(
        group=(table["group"] == "b").astype(int), region=table["region"].map(regions.index)
    )


class Data:
    """Rows to train on, and rows with their moved twins and true counterfactuals."""

    def __init__(self, n, n_test, direct, seed):
        data = make_proxy_classification(n + n_test, direct=direct, random_state=seed)
        X, y = coded(data.data), data.target.to_numpy()
        other = np.where(data.sensitive == "a", "b", "a")
        true = data.counterfactuals["a"].copy()
        true[other == "b"] = data.counterfactuals["b"][other == "b"]
        self.X, self.y = X.iloc[:n], y[:n]
        self.rows, self.target = X.iloc[n:].reset_index(drop=True), y[n:]
        self.true = coded(true).iloc[n:].reset_index(drop=True)
        transport = QuantileTransport(keep=["group"]).fit(self.X, self.X["group"])
        moved = transport.transport(self.rows, self.rows["group"])
        self.moved = moved.assign(group=1 - self.rows["group"])

    def measure(self, model, columns):
        """Return accuracy, and the shares of labels that change."""
        rows, moved, true = (
            model.predict(table[columns]) for table in (self.rows, self.moved, self.true)
        )
        return {
            "accuracy": (rows == self.target).mean(),
            "moved": (rows != moved).mean(),
            "true": (rows != true).mean(),
        }


def retrained(model, data, most, seed):
    """Return the mitigated model."""
    auditor = AequitasAuditor(sensitive_features="group")
    retrainer = FairnessRetrainer(
        model, auditor, strategy="moved", max_score_drop=most, random_state=seed, cv=3,
        max_rounds=4,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return retrainer.fit(data.X, data.y)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--test", type=int, default=4000)
    parser.add_argument("--direct", type=float, default=0.0)
    parser.add_argument("--guard", action="store_true", help="also with a drop of 0.01 at most")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    settings = parser.parse_args()
    lines = []
    for seed in range(settings.seeds):
        data = Data(settings.rows, settings.test, settings.direct, seed)
        everything = list(data.X.columns)
        for name in settings.models:
            model = MODELS[name]
            without = [column for column in everything if column != "group"]
            methods = {"original": everything, "drop": without}
            for method, columns in methods.items():
                start = time.perf_counter()
                fitted = clone(model).fit(data.X[columns], data.y)
                seconds = time.perf_counter() - start
                lines.append({"model": name, "method": method, "seed": seed, "seconds": seconds}
                             | data.measure(fitted, columns))  # fmt: skip
            limits = {"moved": 0.5} | ({"moved, guard 0.01": 0.01} if settings.guard else {})
            for method, most in limits.items():
                start = time.perf_counter()
                fitted = retrained(model, data, most, seed)
                seconds = time.perf_counter() - start
                lines.append({"model": name, "method": method, "seed": seed, "seconds": seconds,
                              "rounds": len(fitted.history_) - 1, "added": fitted.n_added_}
                             | data.measure(fitted, everything))  # fmt: skip
        print(f"seed {seed} is done", file=sys.stderr)
    table = pd.DataFrame(lines)
    means = table.groupby(["model", "method"], sort=False).mean(numeric_only=True)
    spread = table.groupby(["model", "method"], sort=False)[["accuracy", "moved", "true"]].std()
    shown = means.drop(columns="seed").join(spread.add_suffix("_sd"))
    print(f"means and standard deviations of {settings.seeds} seeds, {settings.rows} rows")
    print(shown.round(3).to_string(na_rep=""))


if __name__ == "__main__":
    main()
