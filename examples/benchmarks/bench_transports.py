"""Intervals of `FlipTestAuditor` where the shares are known; what maps move, and how fast.

* "intervals": two groups are drawn from distributions between which the map of each column by its
  ranks is known, and the model is fixed. "covers" is the share of the runs whose interval holds the
  true value: of the share of rows that flip in each direction, of `moved_rate_`, of the change that
  each column carries, and, where the groups are alike in all that the model looks at, of 0 for the
  share beyond the null.
* "hiring": the synthetic case of FlipTest (Black, Yeom & Fredrikson, FAT* 2020), after Lipton,
  McAuley & Chouldechova (NeurIPS 2018): what moves in rows that lose and that gain the job, in
  standard deviations, beside what the notebooks of FlipTest's repository print. "AUC" is that of a
  classifier that tells moved rows from rows of the other group that the map has not seen (0.5: it
  cannot).
* "speed": seconds of processor time for a million rows of 12 columns (quantile), 100,000
  (sequential) and 10,000 (joint), beside the prediction of a logistic regression.

Run with ``python examples/benchmarks/bench_transports.py``; ``--only`` and ``--cases`` choose
parts, and ``--quick`` takes few runs and rows. The joint maps need POT.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from _shared import describe_machine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from skfairtest import FlipTestAuditor
from skfairtest.transports import OptimalTransport, QuantileTransport, SequentialTransport

# Intervals ---------------------------------------------------------------------------------------


class Case:
    """Rows of two groups, a fixed model, and the map between the groups."""

    def __init__(self, weights, shift, cut, share=0.5, columns="normal", in_table=False):
        self.weights, self.shift = np.array(weights, dtype=float), np.array(shift, dtype=float)
        self.share, self.columns, self.in_table = share, columns, in_table
        weights = [*self.weights, 0.8] if in_table else self.weights
        model = LogisticRegression()
        model.classes_, model.n_features_in_ = np.array([0, 1]), len(weights)
        model.coef_, model.intercept_ = np.array([weights], dtype=float), np.array([-cut])
        self.model = model

    def draw(self, n, rng):
        """Return rows, and the group of each."""
        group = (rng.random(n) < self.share).astype(int)
        return self.rows_of(group, rng), group

    def rows_of(self, group, rng):
        """Return rows of these groups."""
        Z = rng.normal(size=(len(group), len(self.weights)))
        if self.columns == "skewed":
            Z = np.exp(0.5 * Z)
        moved = group[:, None] * self.shift
        Z = Z * np.exp(moved) if self.columns == "skewed" else Z + moved
        return np.column_stack([Z, group]) if self.in_table else Z

    def move(self, Z, own):
        """Return rows of one group where the other group has the same ranks."""
        sign = 1 - 2 * own
        Z = Z.copy()
        d = len(self.weights)
        by = sign * self.shift
        Z[:, :d] = Z[:, :d] * np.exp(by) if self.columns == "skewed" else Z[:, :d] + by
        if self.in_table:
            Z[:, d] = 1 - own
        return Z

    def truth(self, own, rng, n=400_000):
        """Return the shares of rows that get 1 in place of 0, and 0 in place of 1; and the change
        that the first column carries on average, in a model of two columns."""
        Z = self.rows_of(np.full(n, own), rng)
        moved = self.move(Z, own)
        before, after = self.model.predict(Z), self.model.predict(moved)
        up, down = float((before < after).mean()), float((before > after).mean())
        first = np.nan
        if Z.shape[1] == 2:
            one, other = Z.copy(), moved.copy()
            one[:, 0], other[:, 0] = moved[:, 0], Z[:, 0]
            p = [self.model.predict_proba(rows)[:, 1] for rows in (Z, one, other, moved)]
            first = float(((p[1] - p[0] + p[3] - p[2]) / 2).mean())
        return up, down, first


CASES = {
    "shift": Case([1.0, 0.5], [0.8, 0.4], 0.5),
    "small shift": Case([1.0, 0.5], [0.15, 0.1], 0.5),
    "opposite shifts": Case([1.0, 0.8], [0.8, -0.6], 0.3),
    "skewed": Case([1.0, 0.5], [0.4, 0.2], 2.2, columns="skewed"),
    "in the table": Case([1.0, 0.5], [0.5, 0.2], 0.8, share=0.3, in_table=True),
    "no path": Case([1.0, 0.5], [0.0, 0.0], 0.5),
    "no path, 8 columns": Case([1, -1, 0.5, 0.5, 0.3, 0.3, 0.2, 0.2], [0.0] * 8, 0.2),
    "no path, others differ": Case([1.0, 0.5, 0.0], [0.0, 0.0, 1.5], 0.5),
    "no path, small group": Case([1.0, 0.5], [0.0, 0.0], 0.5, share=0.1),
}


def intervals(case, first, runs, rows, bootstrap):
    """Return for each figure its name, true value, mean, mean width, coverage, and the runs."""
    rng = np.random.default_rng(1)
    truths = [case.truth(own, rng) for own in (0, 1)]
    rate = (1 - case.share) * sum(truths[0][:2]) + case.share * sum(truths[1][:2])
    found = {}
    for run in range(first, first + runs):
        rng = np.random.default_rng([run, 2])
        X, group = case.draw(rows, rng)
        auditor = FlipTestAuditor(
            case.model, n_bootstrap=bootstrap, classifier=LogisticRegression(), random_state=run,
            sensitive_features=[X.shape[1] - 1] if case.in_table else "auto",
        )  # fmt: skip
        auditor.fit(X, sensitive_features=None if case.in_table else group)

        def note(name, truth, value, low, high):
            found.setdefault((name, truth), []).append((value, low, high))

        for line in auditor.flips_.itertuples():
            up, down, _ = truths[int(line.group)]
            truth = {"any": up + down, "0 -> 1": up, "1 -> 0": down}[line.direction]
            name = f"{line.group}: {line.direction}"
            note(name, truth, line.share, line.low, line.high)
            if not case.shift[case.weights != 0].any() and not case.in_table:
                note(f"{name}, beyond", 0.0, line.beyond, line.beyond_low, line.beyond_high)
        note("moved_rate_", rate, auditor.moved_rate_, *auditor.moved_rate_interval_)
        if X.shape[1] == 2:
            columns = auditor.columns_
            for line in columns[columns["column"] == 0].itertuples():
                truth = truths[int(line.group)][2]
                note(f"{line.group}: change by column 0", truth, line.change, line.low, line.high)
    for (name, truth), values in found.items():
        table = np.array(values)
        covers = (table[:, 1] <= truth + 1e-12) & (truth - 1e-12 <= table[:, 2])
        width = (table[:, 2] - table[:, 1]).mean()
        yield name, truth, table[:, 0].mean(), width, covers.mean(), len(table)


# Maps --------------------------------------------------------------------------------------------


def maps(**params):
    """The maps that are compared; parameters are those of the sequential one."""
    return {
        "quantile": QuantileTransport(),
        "sequential": SequentialTransport(**params),
        "joint": OptimalTransport(),
        "joint, exact": OptimalTransport(reg=None),
    }


def told_apart(moved, real):
    """How well a classifier tells two tables apart, out of fold."""
    both = pd.concat([moved, real], ignore_index=True)
    of = np.repeat([1, 0], [len(moved), len(real)])
    model = HistGradientBoostingClassifier(random_state=0)
    return roc_auc_score(of, cross_val_predict(model, both, of, cv=5, method="predict_proba")[:, 1])


#: What the notebooks of FlipTest print of its own map, which a generative network learned: mean
#: changes of experience and hair length in rows that lose and that gain, and the mean way.
PUBLISHED = {
    "men": ((-1.466, 0.542), (-0.700, 1.610), 2.195),
    "women": ((0.585, -1.643), (1.375, -0.496), 2.091),
}


def hiring(n):
    """The table of FlipTest's synthetic case."""
    rng = np.random.default_rng(0)
    groups = np.repeat(["men", "women"], n)
    men = groups == "men"
    X = pd.DataFrame({
        "experience": rng.poisson(np.where(men, 31, 25)) - rng.normal(20, 0.2, 2 * n),
        "hair": 35 * rng.beta(2, np.where(men, 7, 2)),
    })  # fmt: skip
    X = (X - X.mean()) / X.std()

    def hired(X):  # a model with equal shares of both groups, as FlipTest's code states it
        return X["experience"] * 1.2956 + X["hair"] * 1.0862 > 0.8668

    print("\n| from | map | lose | experience, hair | gain | experience, hair | way | AUC | s |")
    print("| --- " * 9 + "|")
    some = rng.permutation(2 * n) < n  # what maps learn from; the others judge them
    for own, (lost, gained, way) in PUBLISHED.items():
        for name, transport in maps(order=["experience", "hair"]).items():
            began = time.perf_counter()
            transport.fit(X[some], groups[some])
            rows = X[some & (groups == own)]
            moved = transport.transport(rows, own)
            seconds = time.perf_counter() - began
            before, after, change = hired(rows), hired(moved), moved - rows
            cells = []
            for flipped in (before & ~after, ~before & after):
                means = change[flipped].mean()
                cells += [f"{flipped.mean():.1%}", ", ".join(f"{x:+.2f}" for x in means)]
            auc = told_apart(moved, X[~some & (groups != own)])
            cells += [f"{change.abs().sum(axis=1).mean():.2f}", f"{auc:.2f}", f"{seconds:.1f}"]
            print(f"| {own} | {name} | {' | '.join(cells)} |", flush=True)
        told = [", ".join(f"{x:+.2f}" for x in pair) for pair in (lost, gained)]
        print(f"| {own} | FlipTest's | | {told[0]} | | {told[1]} | {way:.2f} | | |", flush=True)


def speed(scale):
    """The table of seconds of processor time."""
    rng = np.random.default_rng(0)
    print("\n| map | rows | predict, s | fit, s | transport, s |\n" + "| --- " * 5 + "|")
    sizes = (1_000_000, 100_000, 10_000, 10_000)
    for (name, transport), n in zip(maps().items(), sizes, strict=True):
        groups = rng.integers(0, 2, int(n * scale))
        X = pd.DataFrame(rng.normal(size=(len(groups), 12)) + 0.5 * groups[:, None])
        X.columns = [f"x{j}" for j in range(12)]
        model = LogisticRegression().fit(X, (X.sum(axis=1) > 0).astype(int))
        seconds = [time.process_time()]
        for step, given in (
            (model.predict, (X,)), (transport.fit, (X, groups)), (transport.transport, (X, groups)),
        ):  # fmt: skip
            step(*given)
            seconds.append(time.process_time())
        cells = " | ".join(f"{took:.2f}" for took in np.diff(seconds))
        print(f"| {name} | {len(groups):,} | {cells} |", flush=True)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("intervals", "hiring", "speed")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--runs", type=int, default=200, help="of a case of intervals")
    parser.add_argument("--first", type=int, default=0, help="seed of the first run")
    parser.add_argument("--rows", type=int, default=1000, help="of a run")
    parser.add_argument("--bootstrap", type=int, default=100, help="maps learned again in a run")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine())
    runs, scale = (3, 0.05) if asked.quick else (asked.runs, 1.0)
    for name in asked.cases if "intervals" in asked.only else ():
        print(f"\n{name}\n{'figure':28}{'truth':>9}{'mean':>9}{'width':>9}{'covers':>9}{'runs':>6}")
        for line in intervals(CASES[name], asked.first, runs, asked.rows, asked.bootstrap):
            figures = "".join(f"{value:9.4f}" for value in line[1:-1])
            print(f"{line[0]:28}{figures}{line[-1]:6}", flush=True)
    if "hiring" in asked.only:
        hiring(int(10_000 * scale))
    if "speed" in asked.only:
        speed(scale)


if __name__ == "__main__":
    main()
